"""Shares by merit in every situation: FairX on the Yeast data (Wang, Bai, Sun, Joachims 2021)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.state import Array
from evenhand.datasets.rows import Block, Sheet
from evenhand.judgement.claims import Finding
from evenhand.papers.beyond.linear_late import SEEN
from evenhand.papers.claims import each, less
from evenhand.papers.experiment import (
    CompletedRun,
    Data,
    Experiment,
    ExperimentTable,
    PaperClaim,
    QuickSize,
    Runs,
    of_runs,
    ours,
)
from evenhand.papers.panels import averages, curves, lanes_of
from evenhand.papers.verdicts import at, below, linear, sublinear
from evenhand.simulation.figures.panel import grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEATURES = tuple(f"Att{place + 1}" for place in range(103))
LABELS = tuple(f"Class{place + 1}" for place in range(14))
COMPONENTS = 10
PART = "yeast"
MEASURES = REWARD, FAIRNESS = ("reward_regret", "fairness_regret")
FAIR, GREEDY, BLIND = "FairX-LinTS", "FairX, greedy", "FairX-TS, no features"
REWARD_ONLY = ("LinTS", "LinUCB")
LATER = "over the last half of the rounds"


def load(path: Path) -> tuple[Array, Array]:
    """The features (rows, 103) and the labels (rows, 14), 0 or 1, of a file of the Yeast data."""
    blocks = list(Sheet(path).blocks(*FEATURES, *LABELS))
    features = np.concatenate([_numbers(block, FEATURES) for block in blocks])
    labels = np.concatenate([_numbers(block, LABELS) for block in blocks])
    for block in blocks:
        for label in LABELS:
            block.refuse(label, ~np.isin(block.numbers(label), (0.0, 1.0)), "not 0 or 1")
    return features, labels


def _numbers(block: Block, columns: tuple[str, ...]) -> Array:
    return np.stack([block.numbers(column) for column in columns], axis=1)


def situations(features: Array) -> Array:
    """An intercept and the first principal components, each with standard deviation 1, (rows, 1 + components)."""
    centred = features - features.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:COMPONENTS]
    axes *= np.sign(axes[np.arange(COMPONENTS), np.abs(axes).argmax(axis=1)])[:, np.newaxis]
    scores = centred @ axes.T
    return np.column_stack([np.ones(len(scores)), scores / scores.std(axis=0)])


def fitted(known: Array, labels: Array) -> Array:
    """The coefficients of least squares by which each label follows from the situation, (labels, columns)."""
    return np.asarray(np.linalg.lstsq(known, labels, rcond=None)[0].T)


def on_rows(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The rows of the data in place of drawn features, and their labels as rewards, as often as the horizon needs."""
    features, labels = load(path)
    passes = -(-config["horizon"] // len(labels)), 1
    contexts = {"kind": "log", "values": np.tile(situations(features), passes), "order": "shuffled"}
    rewards = {"kind": "table", "values": np.tile(labels, passes), "order": "shuffled"}
    return config | {"environment": config["environment"] | {"contexts": contexts, "rewards": rewards}}


def later(run: CompletedRun, label: str, measure: str) -> Array:
    """A measure per round over the last half of the rounds, (lanes,)."""
    half = run.setup.horizon // 2
    return np.asarray((at(run, label, measure) - at(run, label, measure, half)) / (run.setup.horizon - half))


@of_runs
def later_less(runs: Runs, other: str, measures: Iterable[str]) -> Iterator[Finding]:
    """FairX-LinTS loses less than another policy over the last half of the rounds."""
    for measure in measures:
        gap = later(runs[PART], FAIR, measure) - later(runs[PART], other, measure)
        yield below(f"{measure.replace('_', ' ')} per round, last half: {FAIR} minus {other}", gap, 0.0)


def of_regrets(runs: Runs) -> Figure:
    """Both regrets over the rounds."""
    run = runs[PART]

    def panel(axes: Axes, measure: str) -> None:
        curves(axes, run, measure, log="xy")

    return grid(MEASURES, panel, note=lanes_of(run))


def numbers(runs: Runs) -> list[ExperimentTable]:
    """What every policy lost against the fair shares, and what it earned."""
    run = runs[PART]
    cells = {one.replace("_", " "): partial(later, run, measure=one) for one in (*MEASURES, "reward")}
    return [averages("per round, over the last half of the rounds", run.results.policies, cells)]


THEORY = "Wang, Bai, Sun, Joachims 2021, abstract"

EXPERIMENTS = (
    Experiment(
        id="X-Y",
        title="Shares by merit in every situation: FairX on Yeast",
        figure="figures of Wang, Bai, Sun, Joachims 2021 on Yeast",
        setting="The 14 labels of the Yeast data are the arms, and a gene is a situation: an intercept and the first "
        "ten principal components of its 103 features (49% of their variance), each with standard deviation 1. The "
        "fair shares are proportional to exp(4 μ), μ the chance of a label. FairX-LinTS, the same at the estimate "
        "(greedy), FairX-TS without a look at the situation, and LinTS and LinUCB, which go by reward alone. 20,000 "
        "rounds, 20 lanes.",
        parts=(PART,),
        claims=(
            *(
                PaperClaim(
                    f"The {words} of FairX-LinTS grows sublinearly.", THEORY, each(sublinear, PART, (FAIR,), measure)
                )
                for words, measure in (("fairness regret", FAIRNESS), ("reward regret", REWARD))
            ),
            PaperClaim(
                "FairX-LinTS has less fairness regret than LinTS and LinUCB.",
                THEORY,
                less(PART, (FAIR,), REWARD_ONLY, (FAIRNESS,)),
            ),
            PaperClaim(
                "The fairness regret of LinTS and LinUCB grows linearly.",
                f"{THEORY} (winner takes all)",
                each(linear, PART, REWARD_ONLY, FAIRNESS),
            ),
            ours(
                "Once it has learned, FairX-LinTS has less of both regrets than FairX-TS, which does not look at the "
                "situation.",
                later_less(BLIND, MEASURES),
                LATER,
            ),
            ours(
                "Draws pay: FairX-LinTS has less of both regrets than the same at the estimate.",
                less(PART, (FAIR,), (GREEDY,), MEASURES),
            ),
            PaperClaim(
                "The same on MediaMill.",
                "Wang, Bai, Sun, Joachims 2021",
                each(sublinear, PART, (FAIR,), FAIRNESS),
                missing="The MediaMill data are not available: no package bundles them.",
            ),
        ),
        draw=of_regrets,
        quick=QuickSize(lanes=4, horizon=2_000),
        tables=numbers,
        choices=(
            "Principal components, merit, posterior scale 1/2, ridge 1, horizon and lanes are ours; the paper tunes "
            "its parameters on a fifth of the data.",
            "Without the data a label is drawn with the chance that least squares on the components gives it, cut to "
            "[0, 1] and fitted to all 2,417 rows, and the components are drawn from normal distributions. With the "
            "data the rewards are the labels; the fair shares are then those of who knows the labels, which no linear "
            "model does, so that no regret can become flat.",
            SEEN,
            "FairX-LinUCB is not run: Evenhand leaves it out.",
        ),
        data=(
            Data("yeast", on_rows, "The rows of Yeast do not ship; it runs on coefficients that were fitted to them."),
        ),
    ),
)
