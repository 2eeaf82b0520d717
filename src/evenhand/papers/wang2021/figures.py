"""The figures of Wang et al. 2021, in the paper's form, and what their claims need beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.state import Array
from evenhand.papers import panels
from evenhand.papers.experiment import CompletedRun, Runs
from evenhand.papers.verdicts import at, exponent
from evenhand.papers.wang2021.claims import (
    ALPHAS,
    ARS,
    BOUND_GIVEN,
    CASES,
    CHOICE,
    CLW,
    COMPOSITE,
    EXP3,
    GAINS,
    KEPT_BACK,
    MADE_UP,
    MEAN_GIVEN,
    NAMES,
    OBLIVIOUS,
    OTHERS,
    REGRET,
    SIZES,
    UCB,
    UCB1,
    VARIANCE_GIVEN,
    WRONG,
    lost,
    stuck_share,
)
from evenhand.papers.wang2021.together import DOUBLED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def spreads(parts: Sequence[str], informed: Sequence[str]) -> Callable[[Runs], Figure]:
    """One row per spread: over α, over f(k), and who is stuck in the end."""
    columns: Mapping[str, tuple[str, ...]] = {
        "f(k) = k², over α": (*ALPHAS[:2], CHOICE, ALPHAS[2], *informed),
        "α = 4, over f(k)": (CHOICE, UCB, UCB1, *SIZES, *informed),
        "stuck lanes": (CHOICE, UCB, UCB1, *informed),
    }
    first = columns["α = 4, over f(k)"]
    order = (*first, *ALPHAS)  # no colour comes twice in a panel

    def draw(runs: Runs) -> Figure:
        def panel(number: int, axes: Axes) -> None:
            part, (column, every) = parts[number // 3], list(columns.items())[number % 3]
            labels = [label for label in every if label in runs[part].results.policies]
            title = f"{NAMES[part]}: {column}"
            if column == "stuck lanes":
                _stuck_bars(axes, runs[part], labels, order, title)
                return
            panels.curves(axes, runs[part], REGRET, labels, log="x", title=title, order=order)
            axes.set_xlim(left=100.0)

        note = f"{panels.lanes_of(runs[parts[0]])}; stuck in the end, with 95% intervals"
        return panels.grid(3 * len(parts), panel, columns=3, note=note)

    return draw


def combinations(parts: Sequence[str]) -> Callable[[Runs], Figure]:
    """The regret and its standard deviation by combination of f and α, in times of the choice's, spread by spread."""
    views: Mapping[str, Callable[[Array], float]] = {
        "regret": lambda lanes: float(lanes.mean()),
        "standard deviation of the regret": lambda lanes: float(lanes.std(ddof=1)),
    }

    def draw(runs: Runs) -> Figure:
        def panel(number: int, axes: Axes) -> None:
            words, value = list(views.items())[number]
            labels = (CHOICE, *OTHERS)
            for place, label in enumerate(labels):
                times = [value(at(runs[p], label, REGRET)) / value(at(runs[p], CHOICE, REGRET)) for p in parts]
                marks = panels.line(place)["color"], panels.MARKERS[place]
                axes.plot(times, range(len(parts)), marks[1], color=marks[0], label=label, markersize=5)
            panels.finish(axes, f"{words}, in times of that of {CHOICE}", "", log="x", title=f"T: {words}")
            axes.set_yticks(range(len(parts)), [NAMES[part] for part in parts], fontsize=8)

        return panels.grid(2, panel, columns=2, note=panels.lanes_of(runs[parts[0]]))

    return draw


def _stuck_bars(axes: Axes, run: CompletedRun, labels: Sequence[str], order: Sequence[str], title: str) -> None:
    names = {CHOICE: "ARS-UCB k², α = 4", UCB: "UCB α = 4", UCB1: "UCB1", BOUND_GIVEN: "ODAAF, both given"}
    names |= {MEAN_GIVEN: "ODAAF, mean given", COMPOSITE: "ODAAF, composite", VARIANCE_GIVEN: "ODAAF, variance"}
    for place, label in enumerate(labels):
        share, low, high = stuck_share(run, label)
        colour = panels.line(order.index(label))["color"]
        axes.bar(place, share, 0.7, color=colour)
        axes.errorbar(place, share, [[share - low], [high - share]], color="black", capsize=3, linewidth=1)
    panels.finish(axes, "", "share of lanes stuck", title=title)
    axes.set_xticks(range(len(labels)), [names[label] for label in labels], fontsize=8, rotation=35, ha="right")
    axes.set_ylim(0.0, 1.03)


def clicks(runs: Runs) -> Figure:
    """The paper's four panels, the same for two arms, the made-up log, and the growth exponents."""
    order = (ARS, CLW, EXP3, "ARS-CLW", GAINS, *WRONG, DOUBLED)
    parts = [*CASES, *MADE_UP]

    def panel(number: int, axes: Axes) -> None:
        if number >= len(parts):
            _exponents(axes, runs, (KEPT_BACK, OBLIVIOUS)[number - len(parts)], order)
            return
        run = runs[parts[number]]
        panels.curves(axes, run, lost(run), title=NAMES[parts[number]], order=order)
        axes.set_ylabel("regret (reward)")

    note = f"{panels.lanes_of(runs[parts[0]])}; last row: 95% intervals of the exponent of t; grey: 2/3 and 1"
    return panels.grid(len(parts) + 2, panel, columns=2, note=note)


def _exponents(axes: Axes, runs: Runs, parts: Sequence[str], order: Sequence[str]) -> None:
    for level in (2 / 3, 1.0):
        axes.axhline(level, color="#999999", linewidth=0.8)
    labels = [label for label in order if label in runs[parts[0]].results.policies]
    for place, label in enumerate(labels):
        found = [exponent(runs[p], label, lost(runs[p])) for p in parts]
        means = [one.mean for one in found]
        reach = [[one.mean - one.low if one.lanes else 0.0 for one in found]] * 2
        x = np.arange(len(parts)) + 0.12 * (place - (len(labels) - 1) / 2)
        number = order.index(label)
        colour, marker = panels.line(number)["color"], panels.MARKERS[number]
        axes.errorbar(x, means, reach, label=label, fmt=marker, color=colour, markersize=4, capsize=2, linewidth=1)
    panels.finish(axes, "case", "growth exponent of the regret", title=NAMES[parts[0]].split(",")[0])
    axes.set_xticks(range(len(parts)), ["\n".join(NAMES[part].split(", ")[1:]) for part in parts], fontsize=8)
