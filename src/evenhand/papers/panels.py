"""Panels in the form of the papers': the same policy has the same line in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from evenhand.core.state import Array
from evenhand.papers.experiment import ExperimentTable
from evenhand.papers.verdicts import count_lanes
from evenhand.simulation.figures.panel import line, scale
from evenhand.simulation.figures.style import thousands
from evenhand.simulation.measures import MEASURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenhand.papers.experiment import CompletedRun

SIZE = 9.5  # points of the title of a panel
THIN: dict[str, Any] = {"linewidth": 1.5, "markersize": 3.5}  # of lines


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
    """A measure over the rounds: means over the lanes with their 95% intervals as a band, one line per policy."""
    names = labels if isinstance(labels, Mapping) else {one: one for one in labels or run.results.policies}
    places = list(order or names.values())
    for label, name in names.items():
        values = run.results.policies[label].curves[measure]
        line(axes, places.index(name), name, run.results.rounds, values, log=log, **THIN)
    finish(axes, "round", MEASURES[measure].measure.axis, log, title)


def finish(axes: Axes, x: str, y: str, log: str = "", title: str = "") -> None:
    """Labels, logarithmic axes (around 0 where there are values below it) and numbers that can be read."""
    scale(axes, log)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=SIZE)
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "linear" and max(map(abs, ends)) >= 10_000:
            axis.set_major_formatter(thousands)
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))


def name_arms(axes: Axes, run: CompletedRun, y: str = "share of the rounds", title: str = "") -> None:
    """The arms' names below their places, long ones turned, and labels."""
    names = [name.split(" (")[0] for name in run.results.names]
    long = max(map(len, names)) > 6
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if long else {}
    axes.set_xticks(np.arange(len(names)), names, **turned)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("arm")
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=SIZE)


def averages(title: str, labels: Iterable[str], columns: Mapping[str, Callable[[str], Array]]) -> ExperimentTable:
    """A row for each policy: of each column's numbers, (lanes,), the mean and its standard error."""

    def cell(values: Array) -> tuple[float, float]:
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))

    rows = {label: tuple(cell(value(label)) for value in columns.values()) for label in labels}
    return ExperimentTable(title, tuple(columns), rows)


def lanes_of(run: CompletedRun, shown: str = "bands") -> str:
    """What the bands, bars or whiskers are, for the small print."""
    return f"means of {count_lanes(run)} lanes; {shown}: 95% confidence intervals"
