"""Figures of a sweep: a measure over one axis or two, and reward against unfairness along an axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_reach, student
from evenhand.simulation.figures.panel import Sheet, mean_of, shade, whiskers
from evenhand.simulation.figures.style import LONGEST, look, plain, styled, wrapped
from evenhand.simulation.verdicts import main_measures
from evenhand.studies.answer import GROUPS, less_than_best
from evenhand.studies.results import SweepResults

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MANY = 12  # rows or columns of a heat map up to which each cell has its number
GEOMETRIC = 20.0  # ratio of the largest and the smallest value from which an axis of positive numbers is logarithmic


@styled
def lines(
    results: SweepResults, measure: str | None = None, axis: str | None = None, *, title: str = "", width: str = ""
) -> Figure:
    """A measure at the horizon over one axis of a study, a line for each policy, with 95% intervals.

    Where the study has other axes, the line is the mean over their values, and the caption says so.

    Args:
        results: of a sweep.
        measure: on the y axis; None for what was lost, r-regret where there are promises.
        axis: on the x axis; None for the first.

    Raises:
        EvenhandError: there is no such axis, measure or width, or no result.

    Example:
        >>> from evenhand import sweep
        >>> world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.2}
        >>> config = {"horizon": 50, "lanes": 4, "environment": world, "policies": [{"algorithm": "eta_fucb"}]}
        >>> results = sweep(config, {"policies[0].eta": [1, 10, 100]})
        >>> lines(results).axes[0].get_xlabel()
        'η'
    """
    name, measure = _axis(results, axis, 0), measure or main_measures(results.measures)[0]
    rows = results.last(measure)
    sheet = Sheet(dict.fromkeys(rows["policy"]), title=title, width=width)
    (axes,) = sheet.panels
    places, ticks = _places(results.settings()[name])
    places = _grouped(places) if results.study.mode == "random" and ticks is None else places
    for place, (label, group) in enumerate(rows.groupby("policy", sort=False)):
        points, style = _mean_over(group, name, places), look(place, 1) | {"markevery": None}
        shade(axes, points["place"], points["mean"] - points["reach"], points["mean"] + points["reach"], style["color"])
        axes.plot(points["place"], points["mean"], label=sheet.name(str(label)), **style)
    _scale(axes, ticks, places)
    sheet.label(_name(results, name), results.measure(measure).axis)
    return sheet.finish(f"{_caption(results, rows, [name])}; band: 95% confidence interval")


@styled
def heatmap(
    results: SweepResults,
    measure: str | None = None,
    x: str | None = None,
    y: str | None = None,
    *,
    title: str = "",
    width: str = "",
) -> Figure:
    """A measure at the horizon over two axes of a study, a map for each policy, all with the same colours.

    Args:
        results: of a sweep.
        measure: that the colours show; None for what was lost, r-regret where there are promises.
        x: axis of the study; None for the first.
        y: axis of the study; None for the second.

    Raises:
        EvenhandError: the study has no two axes, there is no such axis, measure or width, or no result.

    Example:
        >>> from evenhand import sweep
        >>> world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.2}
        >>> config = {"horizon": 50, "lanes": 4, "environment": world, "policies": [{"algorithm": "eta_fucb"}]}
        >>> results = sweep(config, {"policies[0].eta": [1, 10], "horizon": [50, 100]})
        >>> heatmap(results).axes[0].get_ylabel()
        'horizon'
    """
    columns, rows, measure = _axis(results, x, 0), _axis(results, y, 1), measure or main_measures(results.measures)[0]
    if columns == rows:
        raise EvenhandError(f"a heat map needs two different axes, got {columns!r} twice")
    found = results.last(measure)
    policies = list(dict.fromkeys(found["policy"]))
    values = [_ordered(results.settings()[name]) for name in (columns, rows)]
    maps = {label: _grid(found[found["policy"] == label], columns, rows, values) for label in policies}
    filled = np.concatenate([one[np.isfinite(one)] for one in maps.values()])
    sheet = Sheet(title=title, width=width, heights=(1.0,) * len(policies), sharex=False)
    figure = sheet.figure
    figure.set_figheight((0.9 + max(1.2, 0.28 * len(values[1]))) * len(policies) + 0.5)
    for axes, (label, grid) in zip(sheet.panels, maps.items(), strict=True):
        image = axes.imshow(grid, aspect="auto", origin="lower", cmap="viridis", vmin=filled.min(), vmax=filled.max())
        _cells(axes, grid, filled, width)
        for side, names in ((axes.xaxis, values[0]), (axes.yaxis, values[1])):
            shown = np.unique(np.linspace(0, len(names) - 1, min(len(names), MANY)).round().astype(int))
            side.set_ticks(shown, [_text(names[place]) for place in shown])
        axes.set_ylabel(_name(results, rows))
        axes.grid(visible=False)
        axes.set_title(sheet.name(label), loc="right", fontsize="medium")
    sheet.panels[-1].set_xlabel(_name(results, columns))
    name = wrapped(results.measure(measure).axis, figure.get_figheight() - 0.8, sheet.points)
    figure.colorbar(image, ax=sheet.panels, label=name)
    return sheet.finish(_caption(results, found, [columns, rows]), above_name=width == "column")


@styled
def frontier(
    results: SweepResults,
    axis: str | None = None,
    *,
    unfairness: str = "unfairness",
    reward: str = "reward",
    title: str = "",
    width: str = "",
) -> Figure:
    """What fairness costs: reward against unfairness at the horizon, a line for each policy along an axis of a study.

    The reward is less that of the best policy in the same world (the values of all axes that are not the policies'),
    lane by lane, so that whiskers show what is noise between the policies.

    Args:
        results: of a sweep.
        axis: whose values are joined; None for the first.

    Returns:
        An ordinary figure of matplotlib; whiskers are 95% intervals, and the ends of a line have their values of the
        axis beside them.

    Raises:
        EvenhandError: there is no such axis, measure or width, or no result.

    Example:
        >>> from evenhand import sweep
        >>> world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.2}
        >>> config = {"horizon": 50, "lanes": 4, "environment": world, "policies": [{"algorithm": "lfg"}]}
        >>> results = sweep(config, {"policies[0].eta": [1, 10, 100]})
        >>> frontier(results).axes[0].get_xlabel()
        'missing plays, all arms (plays)'
    """
    name = _axis(results, axis, 0)
    across, up = results.last(unfairness), less_than_best(results, reward)
    places, _ = _places(results.settings()[name])
    sheet = Sheet(dict.fromkeys(up["policy"]), title=title, width=width)
    (axes,) = sheet.panels
    for place, label in enumerate(dict.fromkeys(up["policy"])):
        x, y = (_mean_over(table[table["policy"] == label], name, places) for table in (across, up))
        if len(x) != len(y) or not len(x):
            continue
        whiskers(axes, place, sheet.name(label), x["mean"], y["mean"], y["reach"], xerr=x["reach"])
        if float(np.ptp(x["mean"])) or float(np.ptp(y["mean"])):
            _label_ends(axes, x, y, look(place, 1)["color"])
    axes.margins(0.1)
    sheet.label(results.measure(unfairness).axis, f"{results.measure(reward).label}, less that of the best")
    ends = f"{_name(results, name)} at the ends of each line"
    return sheet.finish(f"{_caption(results, up, [name])}; whiskers: 95% confidence intervals, lane by lane; {ends}")


def _label_ends(axes: Axes, x: pd.DataFrame, y: pd.DataFrame, colour: str) -> None:
    """The values of the axis at the ends of a line, each on the side away from the other end."""
    from matplotlib.patheffects import withStroke

    points = np.column_stack([x["mean"], y["mean"]])
    first_lower = points[0] <= points[-1]
    for end, (right, above) in ((0, ~first_lower), (-1, first_lower)):
        axes.annotate(
            _text(x["value"].iloc[end]),
            points[end],
            xytext=(5 if right else -5, 4 if above else -4),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom" if above else "top",
            color=colour,
            fontsize="x-small",
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )


def _axis(results: SweepResults, name: str | None, place: int) -> str:
    """The name of an axis of the study, by default the one at a place."""
    if name is None:
        if place >= len(results.axes):
            raise EvenhandError(f"the figure needs a study with {place + 1} axes; it has {', '.join(results.axes)}")
        return results.axes[place]
    if name not in results.axes:
        raise EvenhandError(f"there is no axis {name!r}{nearest(name, results.axes)}")
    return name


def _mean_over(rows: pd.DataFrame, axis: str, places: Mapping[Any, float]) -> pd.DataFrame:
    """For each value of an axis its place, the mean over everything else, and half of the 95% interval."""
    import pandas as pd

    found = []
    for place, group in rows.groupby(rows[axis].map(places), sort=True):
        error = np.sqrt((group["stderr"] ** 2).sum()) / len(group)  # settings have the same random numbers or others
        reach = student(int(group["n"].iloc[0])) * error
        if group[axis].nunique() > 1:  # values that were drawn
            reach = mean_and_reach(group["mean"].to_numpy())[1]
        ends = {"value": group[axis].iloc[0], "mean": group["mean"].mean(), "reach": float(np.nan_to_num(reach))}
        found.append({"place": place} | ends)
    return pd.DataFrame(found)


def _grouped(places: Mapping[Any, float]) -> dict[Any, float]:
    """Many numbers that were drawn in groups of neighbours, each at the middle of its group."""
    if len(places) <= MANY:
        return dict(places)
    groups = np.array_split(sorted(places), GROUPS)
    return {value: float(np.median(group)) for group in groups for value in group.tolist()}


def _name(results: SweepResults, axis: str) -> str:
    """An axis as readers know it, as it can be drawn."""
    return plain(results.study.title(axis), LONGEST[""])


def _ordered(values: pd.Series) -> list[Any]:
    """The values of an axis once each: numbers by size, others in the order of the study."""
    once = list(dict.fromkeys(values))
    return sorted(once) if all(isinstance(one, int | float) for one in once) else once


def _places(values: pd.Series) -> tuple[dict[Any, float], list[Any] | None]:
    """Where the values of an axis lie: at themselves where they are finite numbers, otherwise one after the other."""
    once = _ordered(values)
    if all(isinstance(one, int | float) and not isinstance(one, bool) and np.isfinite(one) for one in once):
        return {one: float(one) for one in once}, None
    return {one: float(place) for place, one in enumerate(once)}, once


def _scale(axes: Axes, ticks: Sequence[object] | None, places: Mapping[Any, float]) -> None:
    from matplotlib.ticker import NullLocator

    numbers = np.unique(list(places.values()))
    if ticks is not None:
        axes.set_xticks(
            range(len(ticks)), [plain(_text(one), 16) for one in ticks], rotation=0 if len(ticks) < 6 else 30
        )
    elif numbers.min() > 0 and numbers.max() / numbers.min() >= GEOMETRIC:
        axes.set_xscale("log")
        shown = numbers[np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), 8)).round().astype(int))]
        axes.set_xticks(shown, [f"{one:,.3g}" if one < 1000 else f"{one:,.0f}" for one in shown])
        axes.xaxis.set_minor_locator(NullLocator())


def _grid(rows: pd.DataFrame, columns: str, lines: str, values: Sequence[list[Any]]) -> Array:
    """(rows, columns), the mean of each cell; NaN for those that were not run."""
    table = rows.groupby([lines, columns], sort=False, as_index=False)["mean"].mean()
    grid = np.full((len(values[1]), len(values[0])), np.nan)
    for line, column, mean in zip(table[lines], table[columns], table["mean"], strict=True):
        grid[values[1].index(line), values[0].index(column)] = mean
    return grid


def _cells(axes: Axes, grid: Array, filled: Array, width: str) -> None:
    """The number in each cell, where there are few."""
    if max(grid.shape) > (MANY if not width else 7):
        return
    middle, spread = (filled.min() + filled.max()) / 2, float(np.ptp(filled)) or 1.0
    decimals = max(0, 2 - math.floor(math.log10(spread)))  # of three digits of the whole range
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            colour = "white" if value < middle else "black"
            text = f"{np.round(value, decimals) + 0.0:.{decimals}f}"  # + 0.0 leaves no -0
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize="x-small")


def _caption(results: SweepResults, rows: pd.DataFrame, shown: Sequence[str]) -> str:
    if rows.empty:
        raise EvenhandError("there are no results to draw")
    rounds = rows["round"].unique()
    after = f"after {rounds[0]:,} rounds, " if len(rounds) == 1 else "at the horizon, "
    lanes = rows["n"].unique()
    mean = mean_of(lanes[0]) if len(lanes) == 1 else "mean over the lanes"
    others = [name for name in results.axes if name not in shown and results.settings()[name].nunique() > 1]
    over = f" and over {' and '.join(_name(results, one) for one in others)}" if others else ""
    return f"{after}{mean}{over}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
