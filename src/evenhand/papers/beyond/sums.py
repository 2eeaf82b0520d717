"""Anonymous sums: choices of which the first half does not count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from evenhand.judgement.claims import Finding
from evenhand.papers.claims import named
from evenhand.papers.experiment import Experiment, Runs, of_runs, ours
from evenhand.papers.verdicts import above, at, below, count_lanes, ratio_below
from evenhand.simulation.figures.panel import bars, grid, mean_and_reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGRET = "composite_regret"
PUBLISHED, HALF = "ARS-UCB", "second half"
LATE = {
    "h-delay-10-30": "delay of 10 to 30",
    "h-delay-0-60": "delay of 0 to 60",
    "h-bounded-30-40": "equal parts, 30 to 40",
    "h-bounded-10-20": "equal parts, 10 to 20",
    "h-decreasing-100": "decreasing over 100",
    "h-decreasing-50": "decreasing over 50",
    "h-increasing-100": "increasing over 100",
    "h-increasing-50": "increasing over 50",
}
SOON = {
    "h-discounted-08": "discounted, γ = 0.8",
    "h-discounted-09": "discounted, γ = 0.9",
    "h-polynomial-3": "polynomial, γ = 3",
    "h-polynomial-2": "polynomial, γ = 2",
}
LONG = {"h-increasing-500": "increasing over 500", "h-increasing-1000": "increasing over 1000"}
NAMES = LATE | SOON | LONG


@of_runs
def regret_below(runs: Runs, parts: Mapping[str, str], bound: float) -> Iterator[Finding]:
    """Less than a multiple of the regret of ARS-UCB as published, in every spread."""
    text = f"composite regret, relative to that of {PUBLISHED}"
    for part, name in parts.items():
        yield named(name, ratio_below(text, at(runs[part], HALF, REGRET), at(runs[part], PUBLISHED, REGRET), bound))


@of_runs
def stuck(runs: Runs, parts: Mapping[str, str], judge: Callable[..., Finding], bound: float) -> list[Finding]:
    """How many lanes play a worse arm most in the end, in every spread."""
    text = "share of lanes on a worse arm"
    return [named(name, judge(text, at(runs[part], HALF, "stuck"), bound)) for part, name in parts.items()]


@of_runs
def fewer_stuck(runs: Runs, parts: Mapping[str, str]) -> Iterator[Finding]:
    """Fewer lanes play a worse arm most in the end than with ARS-UCB as published."""
    text = f"lanes on a worse arm, minus those of {PUBLISHED}"
    for part, name in parts.items():
        yield named(name, below(text, at(runs[part], HALF, "stuck") - at(runs[part], PUBLISHED, "stuck"), 0.0))


def over_spreads(runs: Runs) -> Figure:
    """Regret in the end and stuck lanes, a pair of bars for each spread."""
    measures = {REGRET: "composite regret in the end", "stuck": "share of lanes on a worse arm"}

    def panel(axes: Axes, measure: str) -> None:
        for place, label in enumerate((PUBLISHED, HALF)):
            ends = [mean_and_reach(at(runs[part], label, measure)) for part in NAMES]
            bars(axes, place, 2, *np.array(ends, dtype=float).T, label=label)
        axes.set_xticks(np.arange(len(NAMES)), NAMES.values(), rotation=60, ha="right", fontsize=8)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(measures[measure])

    some = runs["h-delay-10-30"]
    note = f"after {some.setup.horizon:,} rounds; means of {count_lanes(some)} lanes with their 95% intervals"
    return grid(measures, panel, columns=2, note=note)


EXPERIMENTS = (
    Experiment(
        id="X-H",
        title="Anonymous sums: the first half of a choice does not count",
        figure="no figure: no paper has it",
        setting="The twelve spreads of Wang et al. 2021 and two longer ones; nine Bernoulli arms with means 0.9, 0.8, "
        "…, 0.1; 100,000 steps, 40 lanes. ARS-UCB as published (α = 4, k²), and with α = 2 and k³, where what arrives "
        "in the first half of a choice counts for no arm.",
        parts=tuple(NAMES),
        claims=(
            ours("No lane is stuck on a worse arm in any of the twelve spreads.", stuck(LATE | SOON, below, 0.001)),
            ours(
                "Regret is at or below that of ARS-UCB as published where rewards come late.",
                regret_below(LATE, 1.05),
                "late: ten steps or more on average; at or below: surely less than 5% more, in every spread",
            ),
            ours(
                "Regret is at most 20% above that of ARS-UCB as published where rewards come within a few steps.",
                regret_below(SOON, 1.2),
                "in every spread",
            ),
            ours("If rewards are spread over 500 or over 1000 steps, some lanes are stuck.", stuck(LONG, above, 0.0)),
            ours(
                "If rewards are spread over 500 or over 1000 steps, fewer lanes are stuck than with ARS-UCB as "
                "published.",
                fewer_stuck(LONG),
            ),
        ),
        draw=over_spreads,
        choices=(
            "k³ and α = 2 were chosen among k², k³ and α = 2, 3, 4 after runs of prototypes had been seen; so were the "
            "bounds of the claims about the twelve spreads.",
        ),
    ),
)
