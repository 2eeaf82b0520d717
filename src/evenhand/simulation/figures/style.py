"""What all figures share: colours, dashes and markers, sizes for papers, and names that can be drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from evenhand.core.descriptions import complete
from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.html import COLOURS as FIRST_COLOURS

Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")

# Okabe & Ito first: colour-blind readers can distinguish them; dashes, markers and hatches repeat the distinction.
COLOURS = (*FIRST_COLOURS, *("#5C5C5C", "#8C6D31"), *("#332288", "#882255", "#000000", "#B8C400", "#7B5CD6"))
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
HATCHES = ("", "///", "...", "xxx")
PALE = "#555555"  # of captions
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
SMALL: dict[Any, Any] = {"font.size": 8, "lines.linewidth": 1.2, "axes.linewidth": 0.6, "xtick.major.width": 0.6}
SMALL |= {"mathtext.fontset": "stix"}


def look(place: int, points: int, log: str = "") -> dict[str, Any]:
    """Colour, dashes and sparse markers of the curve at a place, counted from 0; curves on each other both show."""
    step = max(min(points, 3), points // 8)
    # On a logarithmic axis markers are spread by distance: rounds that are evenly spread are not so there.
    by_distance = (0.02 * (place % 6), 0.14)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[(place + 2 * (place // len(COLOURS))) % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)],
        "markevery": by_distance if "x" in log else (place * max(1, step // 4) % step, step),
        "markersize": 4.5,
        "markerfacecolor": "white" if place // len(COLOURS) % 2 else COLOURS[place % len(COLOURS)],
    }


def style_for(width: str) -> dict[Any, Any]:
    """The settings of matplotlib for a figure of a width: ``"column"``, ``"text"``, or ``""`` for the screen."""
    if width and width not in WIDTHS:
        raise EvenhandError(f"must be 'column', 'text' or '', got {width!r}{nearest(width, WIDTHS)}", "width")
    first = ["STIXGeneral", "DejaVu Sans"] if width else ["DejaVu Sans"]  # with serifs, as the text of papers is
    return STYLE | {"font.family": [*first, *installed()]} | (SMALL if width else {})


#: Arguments that mean the same for several figures, whose docstrings need not describe them again.
COMMON = {
    "results": "of a simulation.",
    "measure": 'name of a measure of the results, such as ``"regret"``.',
    "label": "of the policy; None for the first.",
    "unfairness": "measure on the x axis.",
    "reward": "measure on the y axis.",
    "title": "above the figure.",
    "width": '``"column"`` or ``"text"`` of a paper, with its size of text; empty for a screen.',
}


def styled(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
    """The function with matplotlib in the style for its ``width``, and as it was afterwards."""
    complete(draw, COMMON)

    @wraps(draw)
    def inside(*given: Given.args, **options: Given.kwargs) -> Drawn:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context(style_for(str(options.get("width", "")))):
            figure = draw(*given, **options)
            if isinstance(figure, Figure):  # letters are chosen when it is saved
                figure.set_label(str(options.get("width", "")))
            return figure

    return inside


@cache
def installed() -> tuple[str, ...]:
    """The families of `FAMILIES` that this computer has."""
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    return tuple(name for name in FAMILIES if name in there)


def plain(name: str, longest: int = LONGEST[""]) -> str:
    """A name as it can be drawn: in one line, not too long, without letters that no installed font has."""
    drawn = _drawable(name)
    if extent(drawn) > longest:
        while extent(drawn) > longest - 1:
            drawn = drawn[:-1]
        drawn = drawn.rstrip() + "…"
    return drawn.replace("$", r"\$")


def apart(names: Sequence[str], longest: int = LONGEST[""]) -> list[str]:
    """Names like `plain`; those that would look the same are cut in the middle instead of at the end."""
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
    """The width of a text in letters of the Latin alphabet, about."""
    return sum(1.6 if letter > "\u2000" and letter != "…" else 1.0 for letter in text)


@cache
def _is_there(letter: str) -> bool:
    return any(ord(letter) in charmap for charmap in _charmaps())


@cache
def _charmaps() -> tuple[frozenset[int], ...]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    families = ("DejaVu Sans", *installed())
    return tuple(frozenset(get_font(findfont(FontProperties(family=name))).get_charmap()) for name in families)


def wrapped(text: str, inches: float, points: float) -> str:
    """A text in lines that are no longer than the inches, about; words are not broken."""
    most = 72.0 * inches / (0.54 * points)
    lines = [""]
    for word in text.split():
        if lines[-1] and extent(f"{lines[-1]} {word}") > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def thousands(value: float, _: Any = None) -> str:
    """A number of an axis, with commas."""
    return f"{value:,.0f}"
