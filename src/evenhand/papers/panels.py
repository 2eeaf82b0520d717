"""Figures of several panels, in the form of the papers': the same policy has the same line in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from evenhand.papers.verdicts import count_lanes
from evenhand.simulation.figures import style as styles
from evenhand.simulation.figures.lines import limits
from evenhand.simulation.figures.style import COLOURS, DASHES, HATCHES, look, style_for
from evenhand.simulation.measures import MEASURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from evenhand.core.state import Array
    from evenhand.papers.experiment import CompletedRun

WIDTH, HEIGHT = 4.1, 3.1  # inches of a panel
MARKERS = styles.MARKERS
#: Some figures have more policies than others have colours.
PALETTE = (*COLOURS, "#332288", "#882255", "#000000", "#B8C400", "#7B5CD6")


def grid(panels: int, draw: Callable[[int, Axes], None], columns: int = 3, note: str = "") -> Figure:
    """A figure of panels in rows, with one legend below for all of them.

    Args:
        panels: how many.
        draw: draws the panel of a number, counted from 0, on its axes.
        columns: in a row.
        note: a line in small print at the bottom.
    """
    from matplotlib.figure import Figure

    across = min(columns, panels)
    down = -(-panels // across)
    with mpl.rc_context(style_for("")):
        figure = Figure(figsize=(max(across * WIDTH, 6.4), down * HEIGHT + 1.0), layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).flat
        for number, ax in enumerate(axes):
            if number < panels:
                draw(number, ax)
            else:
                ax.set_axis_off()
        handles: dict[str, Any] = {}
        for ax in figure.axes:
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if handles:
            entries = min(4 if across > 2 else 3 if across > 1 else 2, len(handles))
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=entries, frameon=False)
        if note:
            figure.suptitle(note, fontsize=8, color="#555555", x=0.01, ha="left")
        return figure


def curves(
    axes: Axes,
    run: CompletedRun,
    measure: str,
    labels: Sequence[str] | Mapping[str, str] | None = None,
    *,
    log: str = "",
    title: str = "",
    order: Iterable[str] | None = None,
) -> None:
    """A measure over the rounds: means over the lanes with their 95% intervals as a band, one line per policy.

    Args:
        axes: to draw on.
        run: what to draw.
        measure: one of `evenhand.simulation.measures.MEASURES`.
        labels: which policies, or a mapping from their labels to what the legend calls them; None for all.
        log: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
        title: above the panel.
        order: names in the legend of the whole figure, where panels have different ones; it settles the colours.
    """
    names = _names(run, labels)
    place_of = {name: place for place, name in enumerate(order or names.values())}
    for label, name in names.items():
        values, place = run.results.policies[label].curves[measure], place_of[name]
        style: dict[str, Any] = look(place, len(run.results.rounds)) | {"markersize": 3.5} | line(place)
        style["markerfacecolor"] = style["color"]
        if "x" in log:
            style["markevery"] = (0.02 * (place % 6), 0.14)  # by distance, as the rounds are not evenly spread
        axes.plot(run.results.rounds, values.mean(axis=1), label=name, linewidth=1.5, **style)
        band(axes, run.results.rounds, *limits(values, "95%"), style["color"])
    finish(axes, "round", MEASURES[measure].measure.axis, log, title)


def mean_and_reach(values: NDArray[Any]) -> tuple[Array, Array]:
    """Mean over the last axis, the lanes, and half the length of its 95% interval."""
    by_row = np.atleast_2d(values)
    mean = values.mean(axis=-1)
    high = limits(by_row.reshape(-1, by_row.shape[-1]), "95%")[1].reshape(mean.shape)
    return mean, high - mean


def band(axes: Axes, x: Any, low: Array, high: Array, colour: str) -> None:
    """A pale band between two lines."""
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def points(axes: Axes, x: Any, y: Any, error: Any, name: str, place: int, **style: Any) -> None:
    """The line of a number, counted from 0, with a marker and an error bar at every point, unless ``error`` is None."""
    shape: dict[str, Any] = {"marker": MARKERS[place], "elinewidth": 0.9} | line(place) | style
    axes.errorbar(x, y, error, label=name, **shape)


def bars(
    axes: Axes,
    place: int,
    of: int,
    heights: Array,
    error: Array | None = None,
    *,
    group: float,
    fill: float,
    **style: Any,
) -> None:
    """One bar per arm, with whiskers unless ``error`` is None: the one of a number in a group of ``of`` side by side.

    Args:
        axes: to draw on.
        place: of the bar in its group, counted from 0.
        of: bars in a group.
        heights: (arms,).
        error: half the length of the whiskers, (arms,).
        group: width of a group; arms are 1 apart.
        fill: the part of its place that a bar fills.
        style: colour, and label if the legend has it.
    """
    width = group / of
    middle = np.arange(len(heights)) - group / 2.0 + (place + 0.5) * width
    shape: dict[str, Any] = {"hatch": HATCHES[place % len(HATCHES)], "edgecolor": "white", "linewidth": 0.0}
    axes.bar(middle, heights, fill * width, yerr=error, error_kw={"linewidth": 0.8}, **(shape | style))


def name_arms(axes: Axes, run: CompletedRun) -> None:
    """The arms' names below their places; long ones are turned."""
    names = [name.split(" (")[0] for name in run.results.names]
    long = max(map(len, names)) > 6
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if long else {}
    axes.set_xticks(np.arange(len(names)), names, **turned)
    axes.grid(axis="x", visible=False)


def finish(axes: Axes, x: str, y: str, log: str = "", title: str = "") -> None:
    """Labels, logarithmic axes (around 0 where there are values below it) and numbers that can be read."""
    for letter in log:
        limits = axes.get_ylim() if letter == "y" else axes.get_xlim()
        data = np.concatenate([np.asarray(line.get_data()[letter == "y"], dtype=float) for line in axes.lines])
        scale: Any = getattr(axes, f"set_{letter}scale")
        if data[np.isfinite(data)].min() > 0:
            scale("log")
        else:
            scale("symlog", linthresh=max(abs(limit) for limit in limits) / 1000.0)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=9.5)
    for letter, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        largest = max(abs(limit) for limit in (axes.get_xlim() if letter == "x" else axes.get_ylim()))
        if axis.get_scale() == "linear" and largest >= 10_000:
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))


def line(place: int) -> dict[str, Any]:
    """Colour and dashes of the line of a number, counted from 0."""
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": DASHES[(place + place // len(DASHES)) % len(DASHES)]}


def lanes_of(run: CompletedRun, shown: str = "bands") -> str:
    """What the bands, bars or whiskers are, for the small print."""
    return f"means of {count_lanes(run)} lanes; {shown}: 95% confidence intervals"


def _names(run: CompletedRun, labels: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    if isinstance(labels, Mapping):
        return dict(labels)
    return {label: label for label in (run.results.policies if labels is None else labels)}
