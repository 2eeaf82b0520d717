"""HTML that the report of the papers, the pages of runs and notebooks have in common; it loads nothing.

What is shown in a notebook has the colours of the page around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape

from .dataclasses import dataclass
from .numbers import amount

#: Okabe & Ito, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MOST = 24  # bars of a chart
NOTEBOOK = (
    "<style>.evenhand{max-width:48rem}.evenhand p{margin:.3em 0}.evenhand table{border-collapse:collapse;"
    "margin:.5em 0}.evenhand th,.evenhand td{text-align:right;padding:.15em .8em .15em 0}.evenhand th:first-child,"
    ".evenhand td:first-child{text-align:left}.evenhand svg text{fill:currentColor}</style>"
)


@dataclass(frozen=True)
class Bar:
    """A bar of a chart."""

    name: str
    value: float
    mark: float | None = None  # what was promised
    low: float | None = None  # of the interval
    high: float | None = None
    colour: int = 0

    @property
    def interval(self) -> tuple[float, ...]:
        """Its ends, where they are known."""
        known = tuple(end for end in (self.low, self.high) if end is not None and math.isfinite(end))
        return known if len(known) == 2 else ()


def page(title: str, main: str, aside: str = "", script: str = "") -> str:
    """A whole page; ``main``, ``aside`` and ``script`` are HTML already."""
    from importlib.resources import files

    style = (files(__package__ or "") / "page.css").read_text(encoding="utf-8")
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>",
        f"<body>\n<aside>\n{aside}</aside>" if aside else '<body class="single">',
        f"<main>\n{main}</main>",
        *([f"<script>\n{script}</script>"] if script else []),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def report(
    title: str,
    note: str,
    sentences: Iterable[str],
    tables: Mapping[str, str] = {},
    figures: Iterable[str] = (),
) -> str:
    """A page about a run or a study: what became of it in words, tables by heading, files of figures beside it."""
    parts = [f'<h1>{escape(title)}</h1>\n<p class="soft">{escape(note)}</p>', *map(paragraph, sentences)]
    for file in (one for one in figures if not one.endswith(".pdf")):
        text = file.rpartition(".")[0].replace("_", " ")
        image = f'<img src="{escape(file)}" alt="{escape(text)}">'
        parts.append(f'<figure><a href="{escape(file)}">{image}</a><figcaption>{escape(text)}</figcaption></figure>')
    parts += [f'<h2>{escape(heading)}</h2>\n<div class="scroll">{one}</div>' for heading, one in tables.items()]
    return page(title, "\n".join(parts) + "\n")


def notebook(*parts: str) -> str:
    """What a notebook shows of an object."""
    return f'<div class="evenhand">{NOTEBOOK}{"".join(parts)}</div>'


def paragraph(text: str, strong: bool = False) -> str:
    """A paragraph of plain text."""
    return f"<p><b>{escape(text)}</b></p>" if strong else f"<p>{escape(text)}</p>"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = True, texts: Collection[str] = ()
) -> str:
    """A table of texts, whose columns but the first, and those of some heads, are numbers."""
    number = ' class="n"' if numbers else ' style="text-align:left"'
    looks = [' class="t"' if head in texts else number if place else "" for place, head in enumerate(columns)]

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{look}>{escape(one)}</{tag}>" for one, look in zip(cells, looks, strict=True))

    head, *lines = [f"<tr>{one}</tr>" for one in (line(columns, "th"), *(line(row, "td") for row in rows))]
    return "\n".join(["<table>", f"<thead>{head}</thead>", "<tbody>", *lines, "</tbody>", "</table>"])


def chart(
    bars: Sequence[Bar], legend: Sequence[str] = (), caption: str = "", written: Callable[[float], str] = amount
) -> str:
    """Bars below each other as an inline SVG, with whiskers, a tick at what was promised, and the number as written."""
    shown = [bar for bar in bars if math.isfinite(bar.value)][:MOST]
    if not shown:
        return ""
    ends = [end for bar in shown for end in (bar.value, bar.mark, *bar.interval, 0.0) if end is not None]
    low, high = min(ends), max(ends)
    left = 12 + 7 * min(24, max(len(bar.name) for bar in shown))
    scale = 300.0 / ((high - low) or 1.0)
    lines = [_bar(bar, written(bar.value), left - low * scale, scale, 14 * row) for row, bar in enumerate(shown)]
    below = 14 * len(shown) + 14
    for place, name in enumerate(legend[: len(COLOURS)]):
        lines.append(f'<rect x="{left}" y="{below - 8}" width="10" height="8" fill="{COLOURS[place]}"/>')
        lines.append(f'<text x="{left + 14}" y="{below}">{escape(name)}</text>')
        below += 14
    if len(shown) < len(bars):
        caption = f"{caption}; " * bool(caption) + f"{len(shown)} of {len(bars)} bars"
    size = f'width="{left + 370:.0f}" height="{below - 6}" viewBox="0 0 {left + 370:.0f} {below - 6}"'
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} font-size="11">{"".join(lines)}</svg>'
    return drawn + _small(caption)


def _small(text: str) -> str:
    return f'<p style="font-size:.85em;opacity:.75">{escape(text)}</p>' if text else ""


def _bar(bar: Bar, number: str, zero: float, scale: float, top: int) -> str:
    name = bar.name if len(bar.name) <= 24 else f"{bar.name[:23]}…"
    x, wide = zero + min(bar.value, 0.0) * scale, abs(bar.value) * scale
    colour = COLOURS[bar.colour % len(COLOURS)]
    parts = [f'<text x="4" y="{top + 10}">{escape(name)}</text>']
    parts.append(f'<rect x="{x:.1f}" y="{top + 2}" width="{wide:.1f}" height="9" fill="{colour}"/>')
    end = max(bar.value, 0.0)
    if bar.interval:
        low, high = (f"{zero + one * scale:.1f}" for one in bar.interval)
        ends = f'x1="{low}" x2="{high}"'
        parts.append(f'<line {ends} y1="{top + 6.5}" y2="{top + 6.5}" stroke="currentColor"/>')
        end = max(end, *bar.interval)
    if bar.mark is not None:
        at = f"{zero + bar.mark * scale:.1f}"
        parts.append(f'<line x1="{at}" x2="{at}" y1="{top}" y2="{top + 13}" stroke="currentColor" stroke-width="2"/>')
        end = max(end, bar.mark)
    parts.append(f'<text x="{zero + end * scale + 6:.1f}" y="{top + 10}">{escape(number)}</text>')
    return "".join(parts)
