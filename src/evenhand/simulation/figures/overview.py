"""One figure of a run: shares against promises, missing plays, what was lost, and reward against missing plays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from evenhand.simulation.figures.comparison import draw_frontier, families_of
from evenhand.simulation.figures.lines import having
from evenhand.simulation.figures.panel import grid, line, mean_of
from evenhand.simulation.figures.shares import draw_shares
from evenhand.simulation.figures.style import LONGEST, plain, styled, thousands
from evenhand.simulation.results import Results
from evenhand.simulation.verdicts import main_measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def overview(results: Results, *, title: str = "", width: str = "") -> Figure:
    """A run in one figure: the shares against the promises, and over the rounds what was missing and what was lost.

    A fourth panel has reward against what was missing. Where nothing is promised there are shares and regret only.

    Returns:
        An ordinary figure of matplotlib; bands and whiskers are 95% intervals of the mean over lanes.

    Raises:
        EvenhandError: there is no such width.

    Example:
        >>> import evenhand as eh
        >>> world = eh.Environment(eh.rewards.Bernoulli([0.8, 0.2]), fractions=0.2)
        >>> results = eh.compare([eh.algorithms.fucb(0.2), "ucb1"], world, horizon=50, lanes=4)
        >>> [axes.get_title(loc="left") for axes in overview(results).axes]
        ['shares and promises', 'missing plays, all arms', 'r-regret', 'reward against missing plays']
    """
    lost, *found = main_measures(results.measures)
    missing = found[0] if found else ""
    panels: dict[str, Callable[[Axes], None]] = {
        "shares and promises" if any(one is not None for one in results.promised.values()) else "shares": partial(
            draw_shares, results, width=width or "text"
        )
    }
    panels |= {
        results.measures[name].label: partial(_over_rounds, results, name, width) for name in (missing, lost) if name
    }
    if missing and len(results.policies) > 1:
        label = "missing plays" if missing == "unfairness" else results.measures[missing].label
        panels[f"reward against {label}"] = partial(_frontier, results, missing, width)

    def draw(axes: Axes, name: str) -> None:
        panels[name](axes)
        axes.set_title(name, loc="left", fontsize="medium", fontweight="bold")

    note = mean_of(results.information["lanes"], "bands and whiskers: 95% confidence intervals")
    labels = [plain(label, LONGEST[width or "text"]) for label in results.policies]
    columns = 3 if len(panels) == 3 else 2
    return grid(list(panels), draw, columns, f"after {results.rounds[-1]:,} rounds, {note}", title, labels, width=width)


def _over_rounds(results: Results, measure: str, width: str, axes: Axes) -> None:
    places = list(results.policies)
    for label, values in having(results, measure).items():
        line(axes, places.index(label), plain(label, LONGEST[width or "text"]), results.rounds, values)
    axes.set_xlabel("round")
    axes.xaxis.set_major_formatter(thousands)
    axes.set_ylabel(results.measures[measure].axis)


def _frontier(results: Results, missing: str, width: str, axes: Axes) -> None:
    for family, points in families_of([results], missing, "reward", apart=True).items():
        draw_frontier(axes, list(results.policies).index(family), plain(family, LONGEST[width or "text"]), points)
    axes.set_xlabel(results.measures[missing].axis)
    axes.set_ylabel("reward, less that of the best")
