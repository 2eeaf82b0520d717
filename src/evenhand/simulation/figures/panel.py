"""What all figures are made of: sheets of panels with one legend; lines with bands, whiskers and bars; intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evenhand.core.state import Array
from evenhand.inference import means
from evenhand.inference.means import mean_and_error, student
from evenhand.simulation.figures.style import (
    COLOURS,
    HATCHES,
    LETTER,
    LONGEST,
    PALE,
    WIDTHS,
    extent,
    look,
    plain,
    styled,
    thousands,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

Item = TypeVar("Item")

#: Bands around a curve → their names in captions.
BANDS = {
    "95%": "95% confidence interval of the mean",
    "standard error": "± 1 standard error",
    "lanes": "10% to 90% of the lanes",
    "none": "",
}
HIDES = 6.0  # one curve hides the others where it reaches so many times as high
CELL = (4.1, 3.1)  # inches of a panel of a grid


class Sheet:
    """Panels below each other, with room for a legend beside them, or below in a paper."""

    def __init__(
        self,
        labels: Iterable[str] = (),
        *,
        title: str = "",
        width: str = "",
        parts: Sequence[Mapping[str, Any]] = ({},),
        heights: tuple[float, ...] = (),
        inches: float = 6.4,
        sharex: bool = True,
    ) -> None:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        self.title, self.width, self.shown = title, width, parts
        self.points: float = mpl.rcParams["font.size"]
        heights = heights or (1.0, 1.4)[: len(parts)]
        names = [self.name(label) for label in labels]
        if width:
            size = (WIDTHS[width], 0.62 * min(WIDTHS[width], 5.2) * (0.6 + 0.4 * len(heights)))
        else:
            size = (inches + _beside(names), max(4.0 if len(heights) == 1 else 5.4, 0.9 + 0.24 * len(names)))
        self.figure = Figure(figsize=size, layout="constrained")
        axes = self.figure.subplots(len(heights), 1, sharex=sharex, height_ratios=heights, squeeze=False)
        self.panels: list[Axes] = list(axes[:, 0])

    @property
    def parts(self) -> Iterable[tuple[Axes, Mapping[str, Any]]]:
        """Each panel with what it shows."""
        return zip(self.panels, self.shown, strict=True)

    def name(self, label: str) -> str:
        """A label as it is drawn."""
        return plain(label, LONGEST[self.width])

    def label(self, x: str, y: str) -> None:
        """Name the axes, y for all panels at once."""
        self.panels[-1].set_xlabel(x)
        if len(self.panels) == 1:
            self.panels[0].set_ylabel(y)
        else:
            self.figure.supylabel(y, fontsize=self.panels[0].yaxis.label.get_fontsize())

    def finish(self, note: str, above_name: bool = False) -> Figure:
        """The figure with its legend outside the panels, thousands on the axes, title, and a note as its caption."""
        figure, panels, width, points = self.figure, self.panels, self.width, self.points
        handles, labels = panels[0].get_legend_handles_labels()
        beside = _beside(labels) if handles and not width else 0.0
        room = figure.get_figwidth() - beside - 0.2
        large, small = (9, 6) if width else (11, 8)
        above, caption = wrapped(self.title, room, large), wrapped(note, room - _names(panels[0], width), small)
        caption += "\n" * above_name
        columns = _columns(labels, width) if width else 1
        more = above.count("\n") * large + caption.count("\n") * small + (large if width and above else 0)
        tall = figure.get_figheight() / len(panels) - 0.2
        below = 0.16 * -(-len(labels) // columns) if width else 0.0
        figure.set_figheight(figure.get_figheight() + 1.3 * more / 72.0 + below)
        for axes in panels:
            _numbers(axes, room if width else 99.0)
            axes.set_xlabel(wrapped(axes.get_xlabel(), room - 0.4, points))
            axes.set_ylabel(wrapped(axes.get_ylabel(), tall, points))
        place: Any = "outside lower center" if width else "outside right upper"
        if handles:
            figure.legend(handles, labels, loc=place, ncols=columns)
        if above:
            figure.suptitle(above, fontsize=large, x=0.5 * (1.0 - beside / figure.get_figwidth()))
        panels[0].set_title(caption, fontsize=small, color=PALE, loc="left")
        if len(self.shown) > 1:
            without = ", ".join(self.name(label) for label in self.shown[0] if label not in self.shown[1])
            panels[1].set_title(f"without {without}", fontsize=small, color=PALE, loc="left")
        return figure


def _columns(labels: Sequence[str], width: str) -> int:
    """Columns of a legend below the panels."""
    letters = WIDTHS[width] / 0.068 - 2  # that fit beside each other in small text
    return max(1, min(4, len(labels), int(letters / (6 + max(map(extent, labels), default=1)))))


def _numbers(axes: Axes, room: float) -> None:
    """Thousands on the axes, and no more numbers below than there is room for, in inches."""
    from matplotlib.ticker import MaxNLocator

    widest = max(map(abs, axes.get_xlim()))
    if axes.get_xscale() == "linear" and (axes.get_xlabel() == "round" or widest >= 1000):
        axes.xaxis.set_major_formatter(thousands)
        fit = (room - _names(axes, "column")) / (0.075 * len(thousands(widest)) + 0.12)
        if fit < 6:
            axes.xaxis.set_major_locator(MaxNLocator(max(1, int(fit) - 1), steps=[1, 2, 5, 10]))
    if axes.get_yscale() == "linear" and max(map(abs, axes.get_ylim())) >= 1000:
        axes.yaxis.set_major_formatter(thousands)


def _names(axes: Axes, width: str) -> float:
    """The inches that the names or numbers at the left take, about."""
    names = (label.get_text() for label in axes.get_yticklabels())
    letters = max((4.0 if "mathdefault" in name else extent(name) for name in names), default=0.0)
    return 0.45 + letters * (0.065 if width else LETTER)


def _beside(labels: Iterable[str]) -> float:
    """The inches of a legend beside the panels, about."""
    return max(2.2, 0.9 + LETTER * max(map(extent, labels), default=0.0))


@styled
def grid(
    items: Collection[Item],
    draw: Callable[[Axes, Item], None],
    columns: int = 3,
    note: str = "",
    title: str = "",
    labels: Sequence[str] = (),
    *,
    width: str = "",
) -> Figure:
    """A panel for each item, in rows, with one legend below for all of them and a note in small print above."""
    from matplotlib.figure import Figure

    across = 1 if width == "column" else min(columns, len(items))
    down = -(-len(items) // across)
    inches = WIDTHS[width] if width else max(across * CELL[0], 6.4)
    high = down * (0.7 * inches / across if width else CELL[1]) + 1.0
    figure = Figure(figsize=(inches, high), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    handles: dict[str, Any] = {}
    for item, one in zip(items, axes, strict=False):
        draw(one, item)
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    for one in axes[len(items) :]:
        one.set_axis_off()
    if handles:
        entries = min(4 if across > 2 else 3 if across > 1 else 2, len(handles))
        if labels:
            entries = max(1, min(4, len(handles), int(inches / (0.7 + LETTER * max(map(extent, handles))))))
        figure.set_figheight(high + 0.2 * max(0, -(-len(handles) // entries) - 2))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=entries)
    if note or title:
        text = wrapped(title, inches, 11) + "\n" * bool(title) + wrapped(note, inches, 8)
        figure.suptitle(text, fontsize=8, color=PALE, x=0.01, ha="left")
    return figure


def line(
    axes: Axes, place: int, name: str, x: Any, values: Array, band: str = "95%", log: str = "", **style: Any
) -> None:
    """The mean over the lanes, (points, lanes), with a band around it; a single lane has none."""
    style = {"linewidth": 1.6} | look(place, len(x), log) | style
    axes.plot(x, values.mean(axis=1), label=name, **style)
    if band != "none" and values.shape[1] > 1:
        shade(axes, x, *limits(values, band), style["color"])


def shade(axes: Axes, x: Any, low: ArrayLike, high: ArrayLike, colour: str) -> None:
    """A pale band between two lines."""
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def whiskers(axes: Axes, place: int, name: str, x: Any, y: Any, yerr: Any = None, **style: Any) -> None:
    """A line with a marker and whiskers at every point."""
    shape = look(place, 1) | {"markevery": None, "linewidth": 1.2, "elinewidth": 0.9} | style
    axes.errorbar(x, y, yerr, label=name, **shape)


def bars(
    axes: Axes, place: int, of: int, heights: Array, error: Array | None = None, group: float = 0.84, **style: Any
) -> NDArray[Any]:
    """A bar at each arm, the one of a place in a group of so many side by side; returns where they stand."""
    width = group / of
    middle = np.arange(len(heights)) - group / 2.0 + (place + 0.5) * width
    shape: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "hatch": HATCHES[place % len(HATCHES)]}
    shape |= {"edgecolor": "white", "linewidth": 0.0, "error_kw": {"linewidth": 0.8}} | style
    axes.bar(middle, heights, 0.92 * width, yerr=error, **shape)
    return middle


def scale(axes: Axes, log: str) -> None:
    """Logarithmic axes; where a line falls to 0 or below, linear within a hundredth of its largest value."""
    for letter in log:
        data = np.concatenate([np.asarray(one.get_data()[letter == "y"], dtype=float) for one in axes.lines])
        data = data[np.isfinite(data)]
        change: Any = getattr(axes, f"set_{letter}scale")
        if data.min() > 0:
            change("log")
        else:
            change("symlog", linthresh=max(float(np.abs(data).max()) / 100.0, np.finfo(float).tiny))


def limits(values: Array, band: str = "95%") -> tuple[Array, Array]:
    """The lower and the upper edge of a band of `BANDS` around the mean over lanes, (points, lanes)."""
    if band == "lanes":
        low, high = np.quantile(values, [0.1, 0.9], axis=1)
        return low, high
    mean, error = mean_and_error(values)
    reach = {"95%": student(values.shape[-1]), "standard error": 1.0, "none": 0.0}[band]
    return mean - reach * error, mean + reach * error


def mean_and_reach(values: NDArray[Any]) -> tuple[Array, Array]:
    """Mean over the last axis, the lanes, and half the length of its 95% interval, 0 for a single lane."""
    mean, reach = means.mean_and_reach(values)
    return mean, np.nan_to_num(reach)


def visible(shown: Mapping[str, Array]) -> list[Mapping[str, Array]]:
    """The parts of a sheet of curves, (points, lanes) by label: all, and then those that others would hide."""
    heights = {label: float(np.nanmax(np.abs(curve.mean(axis=1)))) for label, curve in shown.items()}
    ordered = sorted(heights, key=lambda label: heights[label])
    for place in range(len(ordered) - 1, 0, -1):
        if heights[ordered[place]] > HIDES * heights[ordered[place - 1]] > 0.0:
            return [shown, {label: curve for label, curve in shown.items() if label in ordered[:place]}]
    return [shown]


def mean_of(lanes: int, interval: str = "") -> str:
    """What a curve is the mean of, for a caption; a single lane has no interval."""
    if lanes == 1:
        return "mean of 1 lane"
    return f"mean of {lanes:,} lanes{'; ' * bool(interval)}{interval}"
