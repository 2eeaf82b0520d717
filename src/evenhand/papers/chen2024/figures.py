"""The figures of Chen et al. 2024, in the paper's form: a policy has the same colour in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from evenhand.papers.chen2024.claims import CODE, MEASURES, POLICIES, TS
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.panels import SIZE, curves, finish, lanes_of, name_arms
from evenhand.papers.runner import TIMINGS, timed_rounds
from evenhand.papers.verdicts import at, shares
from evenhand.simulation import measures
from evenhand.simulation.figures.panel import bars, grid, mean_and_reach, whiskers
from evenhand.simulation.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RADII = {"": "radius of the theorem", CODE: "radius of the paper's code"}


@of_runs
def both_radii(runs: Runs, part: str, with_shares: bool = False) -> Figure:
    """The regrets, and before them the shares if asked for; a row a radius, policies without one stand in both."""
    run, row = runs[part], (*("shares",) * with_shares, *MEASURES)

    def panel(axes: Axes, cell: tuple[str, str]) -> None:
        radius, shown = cell
        names = names_of(run, radius)
        if shown == "shares":
            _shares(axes, run, names, RADII[radius])
        else:
            curves(axes, run, shown, names, log="xy", title=RADII[radius], order=POLICIES)

    return grid(list(product(RADII, row)), panel, len(row), lanes_of(run))


@of_runs
def side_by_side(runs: Runs, parts: Mapping[str, str]) -> Figure:
    """The regrets, a row a measure and a column a configuration, each with its title."""

    def panel(axes: Axes, cell: tuple[str, str]) -> None:
        measure, part = cell
        curves(axes, runs[part], measure, names_of(runs[part]), log="xy", title=parts[part], order=POLICIES)

    return grid(list(product(MEASURES, parts)), panel, len(parts), lanes_of(runs[next(iter(parts))]))


@of_runs
def over_delays(runs: Runs, parts: Sequence[str]) -> Figure:
    """The regrets in the end over the fixed delay."""
    first = runs[parts[0]]
    delays = [int(part.rpartition("-")[2]) for part in parts]

    def panel(axes: Axes, measure: str) -> None:
        for place, label in enumerate(first.results.policies):
            means, errors = zip(*(mean_and_reach(at(runs[part], label, measure)) for part in parts), strict=True)
            colour = _colour(label.removesuffix(CODE))
            whiskers(axes, place, label, delays, means, errors, color=colour, markerfacecolor=colour)
        axes.set_ylim(bottom=0.0)
        finish(axes, "fixed delay (rounds)", measures.MEASURES[measure].measure.axis)
        axes.set_xticks(delays)

    note = f"after {first.setup.horizon:,} rounds; means of {first.setup.lanes} lanes with their 95% intervals"
    return grid(MEASURES, panel, columns=2, note=note)


@of_runs
def times(runs: Runs, parts: dict[str, str]) -> Figure:
    """The processor time of every policy, a panel a merit."""

    def panel(axes: Axes, part: str) -> None:
        seconds = runs[part].seconds
        means, reaches = mean_and_reach(np.array(list(seconds.values())))
        found = axes.bar(list(seconds), means, 0.6, yerr=reaches, color=[_colour(name) for name in seconds])
        axes.bar_label(found, fmt="%.3g", padding=2, fontsize=9)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel("processor time (s)")
        axes.set_title(parts[part], fontsize=SIZE)
        axes.tick_params(axis="x", labelrotation=20)

    setup = next(iter(runs.values())).setup
    rounds = timed_rounds(setup)
    note = f"{rounds:,} rounds in {setup.lanes} lanes side by side; means of {TIMINGS} timings, whiskers: 95% intervals"
    return grid(parts, panel, columns=2, note=note)


def names_of(run: CompletedRun, radius: str = "") -> dict[str, str]:
    """The policies of a run with this radius and those that have none, and what the legend calls them."""
    labels = run.results.policies
    return {name + radius if name + radius in labels else name: name for name in POLICIES if name in labels}


def _shares(axes: Axes, run: CompletedRun, names: dict[str, str], title: str) -> None:
    """Bars of the shares, and last in each group those of the optimal fair policy."""
    of = len(names) + 1
    for place, (label, name) in enumerate(names.items()):
        bars(axes, place, of, shares(run, label).mean(axis=0), color=_colour(name))
    best = np.asarray(run.results.promised[TS])
    bars(axes, len(names), of, best, color="#111111", label="optimal fair policy")
    name_arms(axes, run, title=title)


def _colour(name: str) -> str:
    return COLOURS[POLICIES.index(name)]
