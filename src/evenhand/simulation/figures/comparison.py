"""Policies against each other in the end: the spread over lanes, and reward against unfairness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.simulation.figures.lines import having
from evenhand.simulation.figures.panel import Sheet, mean_and_reach, mean_of, visible, whiskers
from evenhand.simulation.figures.style import LETTER, LONGEST, apart, extent, look, styled
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILY = re.compile(r"\s+\w+=.*$")  # the values of a grid, at the end of a label


@styled
def spread_over_lanes(results: Results, measure: str, *, title: str = "", width: str = "") -> Figure:
    """Every lane's value of a measure at the horizon, a row for each policy, with the median as a bar.

    Raises:
        EvenhandError: there is no such measure or width.

    Example:
        >>> import evenhand as eh
        >>> results = eh.simulate("ucb1", eh.Environment(eh.rewards.Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> len(spread_over_lanes(results, "regret").axes[0].collections[0].get_offsets())
        4
    """
    last = {label: curve[-1:] for label, curve in having(results, measure).items()}
    parts, lanes = visible(last), results.information["lanes"]
    rows = tuple(len(part) + 0.5 for part in parts)
    inches = 4.6 + LETTER * max(map(extent, apart([*last], LONGEST[width])))
    sheet = Sheet(title=title, width=width, parts=parts, heights=rows, inches=inches, sharex=False)
    sheet.figure.set_figheight(0.9 + (0.3 if width else 0.42) * sum(rows) + 0.4 * (len(parts) - 1))
    for axes, part in sheet.parts:
        rng = np.random.default_rng(0)  # so that points of equal value lie beside each other
        for row, (label, values) in enumerate(part.items()):
            shape = look(list(results.policies).index(label), 1)
            heights = row + rng.uniform(-0.24, 0.24, values.shape[1])
            axes.scatter(
                values[0], heights, s=10, alpha=0.45, linewidths=0, color=shape["color"], marker=shape["marker"]
            )
            axes.vlines(np.median(values), row - 0.34, row + 0.34, color="black", linewidth=1.8)
        axes.set_yticks(np.arange(len(part)), apart(list(part), LONGEST[width]))
        axes.set_ylim(len(part) - 0.5, -0.5)
    sheet.panels[-1].set_xlabel(results.measures[measure].axis)
    return sheet.finish(f"{lanes:,} lane{'s' * (lanes != 1)} after {results.rounds[-1]:,} rounds; bar: median")


@styled
def frontier(
    results: Results | Sequence[Results],
    *,
    unfairness: str = "unfairness",
    reward: str = "reward",
    title: str = "",
    width: str = "",
) -> Figure:
    """What fairness costs: reward against unfairness at the horizon, a point for each policy, with intervals.

    Policies of one grid, whose labels differ in what follows their names (``lfg eta=1``, ``lfg eta=10``), are joined.
    The reward is less that of the policy that earned most, lane by lane, so that whiskers show what is noise between
    policies; of several simulations, which may differ in their lanes, it is as it was earned.

    Args:
        results: of one simulation or several in the same environment.

    Returns:
        An ordinary figure of matplotlib; whiskers are 95% intervals of the means over lanes.

    Raises:
        EvenhandError: no policy has both measures, or there is no such width.

    Example:
        >>> import evenhand as eh
        >>> policies = {f"LFG eta={eta}": eh.algorithms.lfg([0.3, 0.3], eta=eta) for eta in (1, 10, 100)}
        >>> results = eh.compare(policies, eh.Environment(eh.rewards.Bernoulli([0.9, 0.5])), horizon=50, lanes=4)
        >>> frontier(results).axes[0].get_xlabel()
        'missing plays, all arms (plays)'
    """
    runs = [results] if isinstance(results, Results) else list(results)
    families = families_of(runs, unfairness, reward)
    if not families:
        raise EvenhandError(
            f"no policy has both {unfairness!r} and {reward!r}; these results have {', '.join(runs[0].measures)}"
        )
    ends = {family: np.array([point[:1] for point in points]) for family, points in families.items()}
    sheet = Sheet(families, title=title, width=width, parts=visible(ends), sharex=False)
    for axes, part in sheet.parts:
        for place, family in enumerate(families):
            if family in part:
                draw_frontier(axes, place, sheet.name(family), families[family])
        axes.margins(0.08, 0.18 if len(sheet.panels) > 1 else 0.1)  # so that markers are whole in a low panel
    sheet.panels[-1].set_xlabel(runs[0].measures[unfairness].axis)
    label = runs[0].measures[reward]
    sheet.panels[-1].set_ylabel(f"{label.label}, less that of the best" if len(runs) == 1 else label.axis)
    drawn = mean_of(runs[0].information["lanes"], "whiskers: 95% confidence intervals")
    return sheet.finish(f"after {runs[0].rounds[-1]:,} rounds, {drawn}")


def families_of(
    runs: Sequence[Results], unfairness: str, reward: str, apart: bool = False
) -> dict[str, list[tuple[float, ...]]]:
    """The points of each grid of policies, or of each policy ``apart``: x, half its interval, y, half its interval."""
    families: dict[str, list[tuple[float, ...]]] = {}
    for run in runs:
        known = {label: one.curves for label, one in run.policies.items() if {unfairness, reward} <= one.curves.keys()}
        most = max((curves[reward][-1] for curves in known.values()), key=np.mean, default=np.zeros(1))
        for label, curves in known.items():
            earned = curves[reward][-1] - (most if len(runs) == 1 else 0.0)
            x, y = mean_and_reach(curves[unfairness][-1]), mean_and_reach(earned)
            families.setdefault(label if apart else FAMILY.sub("", label), []).append((*map(float, x), *map(float, y)))
    return families


def draw_frontier(axes: Axes, place: int, name: str, points: Sequence[tuple[float, ...]]) -> None:
    """The points of a grid of policies, joined, with whiskers."""
    x, x_reach, y, y_reach = np.array(sorted(points)).T
    large = max(4.5, 8.0 - place)  # of points on each other both are seen
    whiskers(axes, place, name, x, y, y_reach, xerr=x_reach, markersize=large)
