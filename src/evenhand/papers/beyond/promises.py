"""Promises to groups of arms, and floors of chances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.state import Array
from evenhand.judgement.claims import Finding
from evenhand.papers.experiment import CompletedRun, Experiment, Runs, of_runs, ours
from evenhand.papers.panels import lanes_of, name_arms
from evenhand.papers.verdicts import KEPT, above, at, kept, shares, within
from evenhand.simulation.figures.panel import bars, grid, mean_and_reach
from evenhand.simulation.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS, ARMS, FREE = "floors for groups", "floors for arms", "Thompson"
BRANDS = {"A": slice(0, 2), "B": slice(2, 5), "C": slice(5, 8)}  # the best arm of each comes first
PROMISED = 0.3  # of B and of C
MIX, CLIP = "mix", "clip"
FLOOR = 0.1


def missing(run: CompletedRun, label: str) -> Array:
    """Plays that each brand with a promise misses in the end, (lanes, brands)."""
    plays = run.results.policies[label].pulls[-1]
    sums = np.stack([plays[:, BRANDS[brand]].sum(axis=-1) for brand in "BC"], axis=-1)
    return np.asarray(PROMISED * run.setup.horizon - sums)


def brands_kept(runs: Runs) -> list[Finding]:
    """The promises to the brands are kept."""
    text, due = "missing plays of the brand furthest behind", np.full(2, PROMISED * runs["g"].setup.horizon)
    return [kept(f"{text}: {label}", missing(runs["g"], label), due) for label in (GROUPS, ARMS)]


def paid_by_the_best(runs: Runs) -> Iterator[Finding]:
    """The best arm of a brand has most of its plays."""
    found = shares(runs["g"], GROUPS)
    for brand in "BC":
        part = found[:, BRANDS[brand].start] / found[:, BRANDS[brand]].sum(axis=-1)
        yield above(f"fraction of the plays of brand {brand} that its best arm has", part, 0.9)


def dearer(runs: Runs) -> list[Finding]:
    """What floors for the arms cost, in times of what the floors for the groups cost."""
    run = runs["g"]
    lost = at(run, ARMS, "regret") - 2.0 * at(run, GROUPS, "regret")
    return [above(f"regret: {ARMS} minus twice {GROUPS}", lost, 0.0)]


def broken(runs: Runs) -> list[Finding]:
    """Thompson sampling leaves the brands with next to nothing."""
    missed = missing(runs["g"], FREE).max(axis=-1) / (PROMISED * runs["g"].setup.horizon)
    return [above("fraction of its promise that the brand furthest behind misses: Thompson", missed, 0.5)]


def late_shares(run: CompletedRun, label: str) -> Array:
    """Shares of the second half of the rounds, (lanes, arms)."""
    rounds, pulls = run.results.rounds, run.results.policies[label].pulls
    half = int(np.searchsorted(rounds, rounds[-1] // 2))
    return np.asarray((pulls[-1] - pulls[half]) / (rounds[-1] - rounds[half]))


@of_runs
def of_the_worse(runs: Runs, label: str, least: float, most: float) -> list[Finding]:
    """The share of the second half of the rounds that each of the four worse arms got, on average."""
    mean = late_shares(runs["v"], label)[:, 1:].mean(axis=-1)
    return [within(f"share of a worse arm, of the second half of the rounds: {label}", mean, least, most)]


def of_brands(runs: Runs) -> Figure:
    """The share of every arm, a panel a policy."""
    run, labels = runs["g"], (GROUPS, ARMS, FREE)

    def panel(axes: Axes, label: str) -> None:
        bars(axes, 0, 1, *mean_and_reach(shares(run, label).T), color=COLOURS[labels.index(label)])
        name_arms(axes, run, title=label)
        axes.set_ylim(0.0, 1.0)

    return grid(labels, panel, note=lanes_of(run, "whiskers"))


def of_floors(runs: Runs) -> Figure:
    """The share of every arm in the second half of the rounds, and the floor."""

    def panel(axes: Axes, run: CompletedRun) -> None:
        for place, label in enumerate((MIX, CLIP)):
            bars(axes, place, 2, *mean_and_reach(late_shares(run, label).T), label=label)
        axes.axhline(FLOOR, color="black", linewidth=0.8, label="promised floor")
        name_arms(axes, run, "share of the second half of the rounds")

    return grid([runs["v"]], panel, note=lanes_of(runs["v"], "whiskers"))


EXPERIMENTS = (
    Experiment(
        id="X-G",
        title="A promise to a group is kept mostly by its best arm",
        figure="no figure: no paper has it",
        setting="Eight Bernoulli arms of three brands: A with means 0.9 and 0.6, B with 0.8, 0.5 and 0.4, C with 0.7, "
        "0.3 and 0.2; 20,000 rounds. Group-TS with a floor of 0.3 for B and for C, with a floor of 0.1 for each of "
        "their arms instead, and Thompson sampling without a promise.",
        parts=("g",),
        claims=(
            ours("The floors are kept, for groups and for arms.", brands_kept, KEPT),
            ours(
                "A group's promise is kept mostly by its best arm.",
                paid_by_the_best,
                "mostly: the best arm has more than nine tenths of the group's plays",
            ),
            ours("Equal floors for a group's arms cost more than twice as much as a floor for the group.", dearer),
            ours(
                "Without a promise a group misses most of the share that it would be promised.",
                broken,
                "most: more than half",
            ),
        ),
        draw=of_brands,
    ),
    Experiment(
        id="X-V",
        title="A floor of chances: mixed in, or clipped and divided",
        figure="no figure: no paper has it",
        setting="Five Bernoulli arms with means 0.7, 0.4, 0.3, 0.2 and 0.1, a floor of 0.1 for each, 4,000 rounds. "
        "Floor-TS adds the floor to what is left of Thompson sampling's chances (mix), or raises chances to the floor "
        "and divides them by their sum (clip), as GrowthBook's contextual bandits do in 2026.",
        parts=("v",),
        claims=(
            ours(
                "If chances are clipped and divided by their sum, arms that are clearly worse get 7.1%, not the floor "
                "of 10%.",
                of_the_worse(CLIP, 0.07, 0.0725),
                "from 7% to 7.25%: 0.1/1.4 is 7.14%",
            ),
            ours(
                "If the floor is mixed in, arms that are clearly worse get 10%.",
                of_the_worse(MIX, 0.0985, 0.1015),
                "from 9.85% to 10.15%",
            ),
        ),
        draw=of_floors,
    ),
)
