"""What all figures share: colours, dashes and markers, sizes for papers, names that can be drawn, captions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import EvenhandError, nearest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito: colour-blind readers can distinguish them; dashes, markers and hatches repeat the distinction in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5C5C5C", "#8C6D31")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")  # one more than a multiple would repeat with COLOURS
HATCHES = ("", "///", "...", "xxx")  # for more policies than colours
#: Widths of a figure in inches: a column, or the text of a page of two columns.
WIDTHS = {"column": 3.35, "text": 6.9}
#: Families that have the letters which matplotlib's own has not; those that are installed are used.
FAMILIES = (
    *("Noto Sans CJK JP", "Noto Sans JP", "IPAexGothic", "Hiragino Sans", "Yu Gothic", "Microsoft YaHei"),
    *("WenQuanYi Micro Hei", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Arial Unicode MS"),
)
LONGEST = {"": 40, "text": 28, "column": 16}  # letters of a name, by the width of the figure
LETTER = 0.085  # inches of a letter, about
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "evenhand",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
}
SMALL = {"font.size": 8, "lines.linewidth": 1.2, "axes.linewidth": 0.6, "xtick.major.width": 0.6}  # text in a paper


def look(place: int, points: int) -> dict[str, Any]:
    """Colour, dashes and sparse markers of the curve at a place; two curves that lie on each other show both.

    Args:
        place: of the policy, from 0.
        points: of the curve.

    Returns:
        Keyword arguments of matplotlib's ``Axes.plot``.

    Example:
        >>> look(1, 100)["linestyle"], look(1, 100)["marker"], look(1, 100)["markevery"]
        ('--', 's', (3, 12))
    """
    step = max(min(points, 3), points // 8)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[(place + place // len(COLOURS)) % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)],
        "markevery": (place * max(1, step // 4) % step, step),
        "markersize": 4.5,
        "markerfacecolor": "white" if place // len(COLOURS) % 2 else COLOURS[place % len(COLOURS)],
    }


def style_for(width: str) -> dict[Any, Any]:
    """The settings of matplotlib for a figure of a width.

    Args:
        width: ``"column"``, ``"text"``, or ``""`` for the screen.

    Returns:
        Values by the names of matplotlib's ``rcParams``.

    Raises:
        EvenhandError: there is no such width.

    Example:
        >>> style_for("column")["font.size"], style_for("")["font.size"]
        (8, 10)
    """
    if width and width not in WIDTHS:
        raise EvenhandError(f"must be 'column', 'text' or '', got {width!r}{nearest(width, WIDTHS)}", "width")
    families = {"font.family": ["DejaVu Sans", *installed()]}
    return STYLE | families | (SMALL if width else {})


@cache
def installed() -> tuple[str, ...]:
    """The families of `FAMILIES` that this computer has."""
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    return tuple(name for name in FAMILIES if name in there)


def plain(name: str, longest: int = LONGEST[""]) -> str:
    """A name as it can be drawn: in one line, not too long, without letters that no installed font has.

    Letters that steer the direction of text become blanks, as a name must not look like another one; a letter that no
    font has is drawn as a box.

    Args:
        name: of an arm or a policy.
        longest: number of letters.

    Example:
        >>> plain("tea\\u202e of the\\nhouse"), plain("a" * 50, longest=8)
        ('tea of the house', 'aaaaaaa…')
    """
    drawn = _drawable(name)
    if extent(drawn) > longest:
        while extent(drawn) > longest - 1:
            drawn = drawn[:-1]
        drawn = drawn.rstrip() + "…"
    return drawn.replace("$", r"\$")


def apart(names: Sequence[str], longest: int = LONGEST[""]) -> list[str]:
    """Names like `plain`; those that would look the same are cut in the middle instead of at the end.

    Args:
        names: of arms or policies.
        longest: number of letters.

    Returns:
        A text for each.

    Example:
        >>> apart(["drama 1", "drama 2", "a comedy"], longest=6)
        ['dra… 1', 'dra… 2', 'a com…']
    """
    shown = [plain(name, longest) for name in names]
    return [
        _without_middle(name, longest) if shown.count(text) > 1 else text
        for name, text in zip(names, shown, strict=True)
    ]


def _without_middle(name: str, longest: int) -> str:
    drawn, tail = _drawable(name), ""
    while drawn and extent(drawn[-1] + tail) <= longest / 3.0:
        drawn, tail = drawn[:-1], drawn[-1] + tail
    while drawn and extent(f"{drawn}…{tail}") > longest:
        drawn = drawn[:-1]
    return f"{drawn}…{tail}".replace("$", r"\$") if extent(_drawable(name)) > longest else plain(name, longest)


def _drawable(name: str) -> str:
    """A name in one line, with a box for each letter that no installed font has."""
    letters = STEERING.sub(" ", name).strip() or "(blank)"
    letters = " ".join(letters.split())
    return "".join(letter if letter.isascii() or _is_there(letter) else "□" for letter in letters)


def extent(text: str) -> float:
    """The width of a text in letters of the Latin alphabet, about.

    Args:
        text: the text.

    Returns:
        Letters.

    Example:
        >>> extent("tea"), extent("□□")
        (3.0, 3.2)
    """
    return sum(1.6 if letter > "\u2000" and letter != "…" else 1.0 for letter in text)


@cache
def _is_there(letter: str) -> bool:
    return any(ord(letter) in charmap for charmap in _charmaps())


@cache
def _charmaps() -> tuple[frozenset[int], ...]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    families = ("DejaVu Sans", *installed())
    return tuple(frozenset(get_font(findfont(FontProperties(family=name))).get_charmap()) for name in families)


def new_figure(
    labels: Iterable[str],
    *,
    width: str = "",
    panels: tuple[float, ...] = (1.0,),
    inches: float = 6.4,
    sharex: bool = True,
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels below each other, with room for a legend beside them, or below in a paper.

    Args:
        labels: of the legend.
        width: ``"column"``, ``"text"`` or ``""``.
        panels: relative heights.
        inches: width without the legend where ``width`` is empty.
        sharex: whether all panels have the same x axis.

    Returns:
        The figure, and its panels from the top.

    Example:
        >>> figure, panels = new_figure(["FUCB", "UCB1"], width="column", panels=(1.0, 1.4))
        >>> float(figure.get_figwidth()), len(panels)
        (3.35, 2)
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = style_for(width)
    shown = [plain(label, LONGEST[width]) for label in labels]
    with mpl.rc_context(style):
        if width:
            size = (WIDTHS[width], 0.62 * min(WIDTHS[width], 5.2) * (0.6 + 0.4 * len(panels)))
        else:
            size = (inches + _beside(shown), max(4.0 if len(panels) == 1 else 5.4, 0.9 + 0.24 * len(shown)))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(panels), 1, sharex=sharex, height_ratios=panels, squeeze=False)
        return figure, list(axes[:, 0])


def _columns(labels: Sequence[str], width: str) -> int:
    """Columns of a legend below the panels."""
    letters = WIDTHS[width] / 0.068 - 2  # that fit beside each other in small text
    return max(1, min(4, len(labels), int(letters / (6 + max(map(extent, labels), default=1)))))


def finish(figure: Figure, panels: list[Axes], title: str, note: str, width: str = "") -> None:
    """Add the legend outside the panels, thousands on the axes, title and caption.

    Args:
        figure: with a legend for what is labelled in its first panel.
        panels: from the top.
        title: above the figure; empty for none.
        note: the caption, above the first panel.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Example:
        >>> figure, panels = new_figure(["UCB1"])
        >>> line = panels[0].plot([1, 2], [0.0, 3000.0], label="UCB1")
        >>> finish(figure, panels, "Regret", "mean of 5 lanes")
        >>> [text.get_text() for text in figure.legends[0].get_texts()]
        ['UCB1']
    """
    import matplotlib as mpl

    with mpl.rc_context(style_for(width)):
        handles, labels = panels[0].get_legend_handles_labels()
        beside = _beside(labels) if handles and not width else 0.0
        room = figure.get_figwidth() - beside - 0.2
        large, small = (9, 6) if width else (11, 8)
        above, caption = wrapped(title, room, large), wrapped(note, room - _names(panels[0], width), small)
        columns = _columns(labels, width) if width else 1
        more = above.count("\n") * large + caption.count("\n") * small + (large if width and title else 0)
        tall = figure.get_figheight() / len(panels) - 0.2
        below = 0.16 * -(-len(labels) // columns) if width else 0.0
        figure.set_figheight(figure.get_figheight() + 1.3 * more / 72.0 + below)
        for axes in panels:
            _numbers(axes, room if width else 99.0)
            axes.set_xlabel(wrapped(axes.get_xlabel(), room - 0.4, mpl.rcParams["font.size"]))
            axes.set_ylabel(wrapped(axes.get_ylabel(), tall, mpl.rcParams["font.size"]))
        place: Any = "outside lower center" if width else "outside right upper"
        if handles:
            figure.legend(handles, labels, loc=place, ncols=columns, frameon=False)
        if title:
            figure.suptitle(above, fontsize=large, x=0.5 * (1.0 - beside / figure.get_figwidth()))
        panels[0].set_title(caption, fontsize=small, color="#555555", loc="left")


def _numbers(axes: Axes, room: float) -> None:
    """Thousands on the axes, and no more numbers below than there is room for, in inches."""
    from matplotlib.ticker import MaxNLocator

    widest = max(map(abs, axes.get_xlim()))
    if axes.get_xscale() == "linear" and (axes.get_xlabel() == "round" or widest >= 1000):
        axes.xaxis.set_major_formatter(thousands)
        number = 0.075 * len(thousands(widest)) + 0.12
        if (room - _names(axes, "column")) / number < 6:
            axes.xaxis.set_major_locator(
                MaxNLocator(max(1, int((room - _names(axes, "column")) / number) - 1), steps=[1, 2, 5, 10])
            )
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


def mean_of(lanes: int, interval: str = "") -> str:
    """What a curve is the mean of, for a caption; a single lane has no interval.

    Args:
        lanes: of the run.
        interval: what shows the uncertainty, such as ``"band: 95% confidence interval"``; empty for nothing.

    Example:
        >>> mean_of(100, "band: standard error"), mean_of(1, "band: standard error")
        ('mean of 100 lanes; band: standard error', 'mean of 1 lane')
    """
    if lanes == 1:
        return "mean of 1 lane"
    return f"mean of {lanes:,} lanes{'; ' * bool(interval)}{interval}"


def wrapped(text: str, inches: float, points: float) -> str:
    """A text in lines that are no longer than the inches, about; words are not broken.

    Args:
        text: words with spaces between them.
        inches: width of the space.
        points: size of the letters.

    Returns:
        The lines, with line feeds between them.

    Example:
        >>> wrapped("what the policies did", inches=1.0, points=10)
        'what the\\npolicies did'
    """
    most = 72.0 * inches / (0.54 * points)
    lines = [""]
    for word in text.split():
        if lines[-1] and extent(f"{lines[-1]} {word}") > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def thousands(value: float, position: Any = None) -> str:
    """A number of an axis.

    Args:
        value: the number.
        position: is not used; matplotlib gives it.

    Returns:
        The number with commas.

    Example:
        >>> thousands(12000.0)
        '12,000'
    """
    return f"{value:,.0f}"
