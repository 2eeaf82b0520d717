"""The figures of Wang et al. 2021, in the paper's form, and what their claims need beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.state import Array
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.panels import curves, finish, lanes_of
from evenhand.papers.verdicts import at, exponent
from evenhand.papers.wang2021 import claims
from evenhand.papers.wang2021.together import DOUBLED
from evenhand.simulation.figures.panel import grid, whiskers
from evenhand.simulation.figures.style import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@of_runs
def spreads(runs: Runs, parts: Sequence[str], informed: Sequence[str]) -> Figure:
    """One row per spread: over α, over f(k), and who is stuck in the end."""
    columns: Mapping[str, tuple[str, ...]] = {
        "f(k) = k², over α": (*claims.ALPHAS[:2], claims.CHOICE, claims.ALPHAS[2], *informed),
        "α = 4, over f(k)": (claims.CHOICE, claims.UCB, claims.UCB1, *claims.SIZES, *informed),
        "stuck lanes": (claims.CHOICE, claims.UCB, claims.UCB1, *informed),
    }
    order = (*columns["α = 4, over f(k)"], *claims.ALPHAS)  # no colour comes twice in a panel

    def panel(axes: Axes, cell: tuple[str, str]) -> None:
        part, column = cell
        labels = [label for label in columns[column] if label in runs[part].results.policies]
        title = f"{claims.NAMES[part]}: {column}"
        if column == "stuck lanes":
            _stuck_bars(axes, runs[part], labels, order, title)
            return
        curves(axes, runs[part], claims.REGRET, labels, log="x", title=title, order=order)
        axes.set_xlim(left=100.0)

    note = f"{lanes_of(runs[parts[0]])}; stuck in the end, with 95% intervals"
    return grid(list(product(parts, columns)), panel, columns=3, note=note)


@of_runs
def combinations(runs: Runs, parts: Sequence[str]) -> Figure:
    """The regret and its standard deviation by combination of f and α, in times of the choice's, spread by spread."""
    views: Mapping[str, Callable[[Array], float]] = {
        "regret": lambda lanes: float(lanes.mean()),
        "standard deviation of the regret": lambda lanes: float(lanes.std(ddof=1)),
    }

    def panel(axes: Axes, words: str) -> None:
        value = views[words]
        for place, label in enumerate((claims.CHOICE, *claims.OTHERS)):
            times = [
                value(at(runs[p], label, claims.REGRET)) / value(at(runs[p], claims.CHOICE, claims.REGRET))
                for p in parts
            ]
            axes.plot(times, range(len(parts)), MARKERS[place], color=COLOURS[place], label=label, markersize=5)
        finish(axes, f"{words}, in times of that of {claims.CHOICE}", "", log="x", title=f"T: {words}")
        axes.set_yticks(range(len(parts)), [claims.NAMES[part] for part in parts], fontsize=8)

    return grid(views, panel, columns=2, note=lanes_of(runs[parts[0]]))


def _stuck_bars(axes: Axes, run: CompletedRun, labels: Sequence[str], order: Sequence[str], title: str) -> None:
    names = {
        claims.CHOICE: "ARS-UCB k², α = 4",
        claims.UCB: "UCB α = 4",
        claims.UCB1: "UCB1",
        claims.BOUND_GIVEN: "ODAAF, both given",
    }
    names |= {
        claims.MEAN_GIVEN: "ODAAF, mean given",
        claims.COMPOSITE: "ODAAF, composite",
        claims.VARIANCE_GIVEN: "ODAAF, variance",
    }
    for place, label in enumerate(labels):
        share, low, high = claims.stuck_share(run, label)
        axes.bar(place, share, 0.7, color=COLOURS[order.index(label)])
        axes.errorbar(place, share, [[share - low], [high - share]], color="black", capsize=3, linewidth=1)
    finish(axes, "", "share of lanes stuck", title=title)
    axes.set_xticks(range(len(labels)), [names[label] for label in labels], fontsize=8, rotation=35, ha="right")
    axes.set_ylim(0.0, 1.03)


def clicks(runs: Runs) -> Figure:
    """The paper's four panels, the same for two arms, the made-up log, and the growth exponents."""
    order = (claims.ARS, claims.CLW, claims.EXP3, claims.ARS_CLW, claims.GAINS, *claims.WRONG, DOUBLED)
    parts = [(part,) for part in (*claims.CASES, *claims.MADE_UP)]

    def panel(axes: Axes, shown: tuple[str, ...]) -> None:
        if len(shown) > 1:
            _exponents(axes, runs, shown, order)
            return
        run = runs[shown[0]]
        curves(axes, run, claims.lost(run), title=claims.NAMES[shown[0]], order=order)
        axes.set_ylabel("regret (reward)")

    note = f"{lanes_of(runs[parts[0][0]])}; last row: 95% intervals of the exponent of t; grey: 2/3 and 1"
    return grid([*parts, claims.KEPT_BACK, claims.OBLIVIOUS], panel, columns=2, note=note)


@of_runs
def regrets(runs: Runs, parts: Sequence[str], labels: Sequence[str], log: str = "") -> Figure:
    """A panel a case: the regrets."""

    def panel(axes: Axes, part: str) -> None:
        curves(axes, runs[part], claims.REGRET, labels, log=log, title=claims.NAMES[part])

    return grid(parts, panel, columns=2, note=lanes_of(runs[parts[0]]))


def _exponents(axes: Axes, runs: Runs, parts: Sequence[str], order: Sequence[str]) -> None:
    for level in (2 / 3, 1.0):
        axes.axhline(level, color="#999999", linewidth=0.8)
    labels = [label for label in order if label in runs[parts[0]].results.policies]
    for place, label in enumerate(labels):
        found = [exponent(runs[p], label, claims.lost(runs[p])) for p in parts]
        reach = [[one.mean - one.low if one.lanes else 0.0 for one in found]] * 2
        x = np.arange(len(parts)) + 0.12 * (place - (len(labels) - 1) / 2)
        whiskers(axes, order.index(label), label, x, [one.mean for one in found], reach, linestyle="", capsize=2)
    finish(axes, "case", "growth exponent of the regret", title=claims.NAMES[parts[0]].split(",")[0])
    axes.set_xticks(range(len(parts)), ["\n".join(claims.NAMES[part].split(", ")[1:]) for part in parts], fontsize=8)
