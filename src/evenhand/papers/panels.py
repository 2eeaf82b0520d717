"""Figures of several panels, in the form of the papers': the same policy has the same line in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from evenhand.figures import COLOURS, DASHES, LABELS, STYLE
from evenhand.results import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.papers.experiment import Run

WIDTH, HEIGHT = 4.1, 3.1  # inches of a panel
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


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
    with mpl.rc_context(STYLE):
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
    run: Run,
    measure: str,
    labels: Sequence[str] | Mapping[str, str] | None = None,
    *,
    log: str = "",
    title: str = "",
    order: Iterable[str] | None = None,
) -> None:
    """A measure over the rounds: means over the lanes with a band of one standard error, a line a policy.

    Args:
        axes: to draw on.
        run: what to draw.
        measure: one of `evenhand.metrics.MEASURES`.
        labels: which policies, or a mapping from their labels to what the legend calls them; None for all.
        log: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
        title: above the panel.
        order: names in the legend of the whole figure, where panels have different ones; it settles the colours.
    """
    names = _names(run, labels)
    place_of = {name: place for place, name in enumerate(order or names.values())}
    for label, name in names.items():
        mean, error = mean_and_error(run.results.records[label].curves[measure])
        look = line(place_of[name])
        axes.plot(run.results.rounds, mean, label=name, linewidth=1.5, **look)
        band = {"color": look["color"], "alpha": 0.2, "linewidth": 0}
        axes.fill_between(run.results.rounds, mean - error, mean + error, **band)
    finish(axes, "round", LABELS[measure], log, title)


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
    dashes = DASHES[(place + place // len(COLOURS)) % len(DASHES)]  # others when the colours come round again
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": dashes}


def lanes_of(run: Run) -> str:
    """What the bands are, for the small print."""
    lanes = run.results.information["lanes"]
    return f"means of {lanes} lanes; bands: ± 1 standard error"


def _names(run: Run, labels: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    if isinstance(labels, Mapping):
        return dict(labels)
    return {label: label for label in (run.results.records if labels is None else labels)}
