"""Promises with contexts: who pays for them, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.state import Array
from evenhand.environment.world import Environment
from evenhand.judgement.claims import Finding
from evenhand.papers.experiment import CompletedRun, Experiment, ExperimentTable, QuickSize, Runs, of_runs, ours
from evenhand.papers.panels import SIZE, averages, lanes_of
from evenhand.papers.verdicts import above, at, below, count_lanes, within
from evenhand.policy.composition import Policy
from evenhand.simulation.figures.panel import bars, grid, mean_and_reach
from evenhand.theory.baseline import baseline_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = {"who-one": "scale 1", "who-clicks": "clicks", "who-euros": "euros"}
QUEUES = ("queue, LinTS", "queue, LinUCB")
GAPS, FIRST, FLOORS, BLIND = "queue, inverse gaps", "deficit first", "drawn floors", "without contexts"
LABELS = (*QUEUES, GAPS, FIRST, FLOORS, BLIND)
AIM = 0.97
#: How shares of the best are measured.
LAST = "over the last quarter of the rounds, when the model has learned"


@lru_cache(maxsize=len(PARTS))
def best_of(environment: Environment) -> float:
    """The reward per round of the best policy that keeps the environment's promises."""
    return float(np.asarray(baseline_of(Policy(), environment).best_fair))


def part_of_best(run: CompletedRun, label: str) -> Array:
    """What a policy earned in the last quarter, as a part of what the best with the promises earns there, (lanes,)."""
    rounds = run.setup.horizon // 4
    lost = at(run, label, "r_regret") - at(run, label, "r_regret", run.setup.horizon - rounds)
    return np.asarray(1.0 - lost / (best_of(run.setup.environment) * rounds))


def near_the_best(runs: Runs) -> Iterator[Finding]:
    """The queues earn nearly what is possible."""
    for (part, scale), label in product(PARTS.items(), QUEUES):
        yield above(f"part of the best: {label}, {scale}", part_of_best(runs[part], label), AIM)


@of_runs
def more_than(runs: Runs, other: str) -> Iterator[Finding]:
    """How much more of the best a queue earns than another policy."""
    for part, scale in PARTS.items():
        gap = part_of_best(runs[part], QUEUES[0]) - part_of_best(runs[part], other)
        yield above(f"part of the best, {scale}: {QUEUES[0]} minus {other}", gap, 0.0)


def as_owed(runs: Runs) -> Iterator[Finding]:
    """The most plays that an arm was ever behind, less what the queue allows at its longest."""
    for part, scale in PARTS.items():
        for label in (*QUEUES, GAPS):
            allowed = max(most for _, most in runs[part].results.information["promises"][label]["allowed"])
            behind = at(runs[part], label, "max_violation")
            yield below(f"plays behind at worst, less {allowed:.3g} allowed: {label}, {scale}", behind - allowed, 0.0)


def in_any_unit(runs: Runs) -> Iterator[Finding]:
    """The unit of rewards makes no difference."""
    for label in QUEUES:
        gap = part_of_best(runs["who-euros"], label) - part_of_best(runs["who-one"], label)
        yield within(f"part of the best: euros minus scale 1, {label}", gap, -0.005, 0.005)


def of_parts(runs: Runs) -> Figure:
    """What every policy earned of the best, a panel a scale."""

    def panel(axes: Axes, part: str) -> None:
        for place, label in enumerate(LABELS):
            mean, reach = mean_and_reach(part_of_best(runs[part], label)[np.newaxis])
            bars(axes, place, len(LABELS), mean, reach, label=label)
        axes.axhline(AIM, color="black", linewidth=0.8, label="97%")
        axes.set_xticks([])
        axes.set_ylabel("part of the best that the promise allows")
        axes.set_title(PARTS[part], fontsize=SIZE)
        axes.set_ylim(0.6, 1.0)

    clicks = count_lanes(runs["who-clicks"])
    note = lanes_of(runs["who-one"], "whiskers").replace("lanes", f"lanes (clicks: {clicks})", 1)
    return grid([*PARTS], panel, note=note)


def numbers(runs: Runs) -> list[ExperimentTable]:
    """Parts of the best, and the plays that an arm was behind at worst."""

    def table(title: str, value: Callable[[CompletedRun, str], Array]) -> ExperimentTable:
        return averages(title, LABELS, {scale: partial(value, runs[part]) for part, scale in PARTS.items()})

    return [
        table("part of the best that the promise allows, last quarter", part_of_best),
        table("plays that an arm was behind at worst", lambda run, label: at(run, label, "max_violation")),
    ]


EXPERIMENTS = (
    Experiment(
        id="X-W",
        title="Who pays for a promise where",
        figure="no figure: no paper has it",
        setting="Five arms, each promised 15% of the rounds, and situations of six normal features. The mean reward "
        "of each arm is linear in them, with a standard deviation of 0.15 at scale 1. The same at three scales: "
        "rewards of scale 1 and in euros from 0 to 40, 10,000 rounds, and clicks with a chance of 2%, 200,000 rounds. "
        "The best with the promises knows the means in every situation.",
        parts=tuple(PARTS),
        claims=(
            ours(
                "A queue that follows the scale of the scores earns nearly the best that the promise allows, at every "
                "scale.",
                near_the_best,
                f"nearly: more than 97%, {LAST}",
            ),
            ours("No arm is further behind than the queue allows.", as_owed),
            ours("To pay whatever is owed at once earns less.", more_than(FIRST), LAST),
            ours("To draw each arm with its share in every situation earns less.", more_than(FLOORS), LAST),
            ours("To keep the promise without a look at the situation earns less.", more_than(BLIND), LAST),
            ours("The unit of rewards makes no difference.", in_any_unit, "within half a percentage point"),
        ),
        draw=of_parts,
        quick=QuickSize(lanes=4, horizon=2000),
        tables=numbers,
    ),
)
