"""Policies against each other: paired differences, the spread over lanes, and reward against unfairness."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.simulation.figures.arms import policy_in
from evenhand.simulation.figures.lines import limits, name_left_out, not_hiding
from evenhand.simulation.figures.style import (
    COLOURS,
    LONGEST,
    MARKERS,
    apart,
    extent,
    finish,
    look,
    mean_of,
    new_figure,
    plain,
)
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILY = re.compile(r"\s+\w+=.*$")  # the values of a grid, at the end of a label


def paired_differences(
    results: Results, measure: str, against: str | None = None, *, title: str = "", width: str = ""
) -> Figure:
    """The difference of each policy to one of them over the rounds, lane by lane.

    All policies meet the same random numbers in a lane, so the differences vary less than the measure itself.

    Args:
        results: of a simulation.
        measure: name of a measure, such as ``"regret"``.
        against: label of the policy to compare with; None for the first.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib; bands are 95% intervals of the mean difference.

    Raises:
        EvenhandError: there is no such measure, policy or width.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import thompson, ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> results = compare([ucb1(), thompson()], Environment(Bernoulli([0.9, 0.5])), horizon=50, lanes=4)
        >>> [line.get_label() for line in paired_differences(results, "regret").axes[0].get_lines()][1:]
        ['thompson']
    """
    base = policy_in(results, against)
    known = _with(results, measure)
    if base not in known:
        raise EvenhandError(f"{base!r} has no measure {measure!r}")
    if len(known) == 1:
        raise EvenhandError(f"only {base!r} has the measure {measure!r}; a difference needs a second policy")
    shown = {label: curve - known[base] for label, curve in known.items() if label != base}
    low = not_hiding(shown)
    figure, panels = new_figure(shown, width=width, panels=(1.0, 1.4) if len(low) < len(shown) else (1.0,))
    for axes, part in zip(panels, (shown, low), strict=False):
        axes.axhline(0.0, color="black", linewidth=0.8, label="_")
        for label, values in part.items():
            style: dict[str, Any] = look(list(results.policies).index(label), len(results.rounds))
            axes.plot(results.rounds, values.mean(axis=1), label=plain(label, LONGEST[width]), linewidth=1.6, **style)
            axes.fill_between(results.rounds, *limits(values, "95%"), color=style["color"], alpha=0.2, linewidth=0)
    panels[-1].set_xlabel("round")
    panels[-1].set_ylabel(f"{results.measures[measure].axis}, less that of {plain(base, 20)}")
    caption = f"paired differences, {mean_of(results.information['lanes'], 'band: 95% confidence interval')}"
    finish(figure, panels, title, caption, width)
    name_left_out(panels, shown, low, width)
    return figure


def spread_over_lanes(results: Results, measure: str, *, title: str = "", width: str = "") -> Figure:
    """Every lane's value of a measure at the horizon, a row for each policy, with the median as a bar.

    Args:
        results: of a simulation.
        measure: name of a measure, such as ``"regret"``.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib.

    Raises:
        EvenhandError: there is no such measure or width.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> len(spread_over_lanes(results, "regret").axes[0].collections[0].get_offsets())
        4
    """
    shown = _with(results, measure)
    last = {label: curve[-1:] for label, curve in shown.items()}
    low = not_hiding(last)
    parts = [last, low] if len(low) < len(last) else [last]
    rows = tuple(len(part) + 0.5 for part in parts)
    letters = max(extent(plain(label, LONGEST[width])) for label in shown)
    figure, panels = new_figure([], width=width, inches=4.6 + 0.085 * letters, panels=rows, sharex=False)
    figure.set_figheight(0.9 + (0.3 if width else 0.42) * sum(rows) + 0.4 * (len(parts) - 1))
    for axes, part in zip(panels, parts, strict=True):
        _clouds(axes, part, list(results.policies))
        axes.set_yticks(np.arange(len(part)), apart(list(part), LONGEST[width]))
        axes.set_ylim(len(part) - 0.5, -0.5)
    panels[-1].set_xlabel(results.measures[measure].axis)
    lanes = results.information["lanes"]
    finish(
        figure,
        panels,
        title,
        f"{lanes:,} {'lane' if lanes == 1 else 'lanes'} after {results.rounds[-1]:,} rounds; bar: median",
        width,
    )
    name_left_out(panels, last, low, width)
    return figure


def _clouds(axes: Axes, shown: Mapping[str, Array], policies: Sequence[str]) -> None:
    """A row of points for each policy, and its median."""
    rng = np.random.default_rng(0)  # so that points of equal value lie beside each other
    for row, (label, values) in enumerate(shown.items()):
        place = policies.index(label)
        heights = row + rng.uniform(-0.24, 0.24, values.shape[1])
        style: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        axes.scatter(values[0], heights, s=10, alpha=0.45, linewidths=0, **style)
        axes.vlines(np.median(values), row - 0.34, row + 0.34, color="black", linewidth=1.8)


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

    Args:
        results: of one simulation or several of the same world.
        unfairness: measure on the x axis.
        reward: measure on the y axis.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib; whiskers are 95% intervals of the means over lanes.

    Raises:
        EvenhandError: no policy has both measures, or there is no such width.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import lfg
        >>> from evenhand.rewards import Bernoulli
        >>> policies = {f"LFG eta={eta}": lfg([0.3, 0.3], eta=eta) for eta in (1, 10, 100)}
        >>> results = compare(policies, Environment(Bernoulli([0.9, 0.5])), horizon=50, lanes=4)
        >>> frontier(results).axes[0].get_xlabel()
        'missing plays, all arms (plays)'
    """
    runs = [results] if isinstance(results, Results) else list(results)
    families: dict[str, list[tuple[float, float, float, float]]] = {}
    for run in runs:
        for label, record in run.policies.items():
            if unfairness in record.curves and reward in record.curves:
                point = (*_point(record.curves[unfairness]), *_point(record.curves[reward]))
                families.setdefault(FAMILY.sub("", label), []).append(point)
    if not families:
        raise EvenhandError(
            f"no policy has both {unfairness!r} and {reward!r}; these results have {', '.join(runs[0].measures)}"
        )
    ends = {family: np.array([[point[0]] for point in points]) for family, points in families.items()}
    low = not_hiding(ends)
    two = len(low) < len(ends)
    figure, panels = new_figure(families, width=width, panels=(1.0, 1.4) if two else (1.0,), sharex=False)
    for axes, part in zip(panels, (ends, low), strict=False):
        for place, (family, points) in enumerate(families.items()):
            if family in part:
                _whiskers(axes, points, plain(family, LONGEST[width]), place)
        axes.margins(0.08, 0.18 if two else 0.1)  # so that markers are whole in a low panel
    panels[-1].set_xlabel(runs[0].measures[unfairness].axis)
    panels[-1].set_ylabel(runs[0].measures[reward].axis)
    drawn = mean_of(runs[0].information["lanes"], "whiskers: 95% confidence intervals")
    caption = f"after {runs[0].rounds[-1]:,} rounds, {drawn}"
    finish(figure, panels, title, caption, width)
    name_left_out(panels, ends, low, width)
    return figure


def _whiskers(axes: Axes, points: Sequence[tuple[float, float, float, float]], label: str, place: int) -> None:
    x, x_reach, y, y_reach = np.array(sorted(points)).T
    style: dict[str, Any] = look(place, len(points)) | {"markevery": None, "linewidth": 1.2, "elinewidth": 0.9}
    style["markersize"] = max(4.5, 8.0 - place)  # of points on each other both are seen
    axes.errorbar(x, y, xerr=x_reach, yerr=y_reach, label=label, **style)


def _with(results: Results, measure: str) -> dict[str, Array]:
    shown = {label: one.curves[measure] for label, one in results.policies.items() if measure in one.curves}
    if not shown:
        raise EvenhandError(f"these results have no measure {measure!r}{nearest(measure, results.measures)}")
    return shown


def _point(values: Array) -> tuple[float, float]:
    """Mean at the horizon, and half the width of its interval."""
    mean = float(values[-1].mean())
    return mean, float(np.nan_to_num(mean - limits(values[-1:], "95%")[0][0]))
