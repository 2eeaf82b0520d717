"""The figure and the table of an audit; they need matplotlib and pandas, which an audit itself does not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from evenhand.core.errors import number_of
from evenhand.messages.audit import Audit
from evenhand.messages.lines import COLUMNS, VALUES, Line
from evenhand.simulation.figures.style import COLOURS, STYLE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 60  # arms; of more, those furthest behind
LONGEST = 24  # characters of a name that are shown
FAULT = 380  # characters of a fault that are shown
TITLE = 95  # characters of the title per line
WIDTH = 130  # characters of it per line
ROWS = 3  # room for at least this many arms, so that the bars of fewer are not thicker


def audit_table(audit: Audit) -> pd.DataFrame:
    """The lines of an audit as a table.

    Args:
        audit: of a bandit or a service.

    Returns:
        A row per arm, with the columns of the audit's lines, in their units.

    Example:
        >>> from evenhand import Bandit
        >>> audit_table(Bandit(["tea", "coffee"], "fucb", fractions=[0.0, 0.5]).audit())[["arm", "promised", "plays"]]
              arm  promised  plays
        0     tea       0.0      0
        1  coffee       0.5      0
    """
    import pandas as pd

    return pd.DataFrame.from_records([VALUES(line) for line in audit.lines], columns=list(COLUMNS))


def audit_figure(audit: Audit) -> Figure:
    """The figure of an audit: shares beside promises on the left, estimated rewards on the right; one row per arm.

    Args:
        audit: of a bandit or a service.

    Returns:
        The figure; of more than 60 arms, those with the largest deficits are drawn.

    Example:
        >>> from evenhand import Bandit
        >>> [axes.get_xlabel() for axes in audit_figure(Bandit(["tea", "coffee"], "ucb1").audit()).axes]
        ['share of rounds since the promise began', 'estimated reward, 95% interval']
    """
    name = "" if audit.name is None else f"{audit.name}: "
    title = f"{name}{audit.algorithm} after {number_of(audit.rounds, 'round')}"
    return _drawn(audit.lines, audit.arms, title, audit.fault)


def _drawn(lines: Sequence[Line], arms: int, title: str, fault: str) -> Figure:
    from matplotlib.figure import Figure

    lines = sorted(lines, key=lambda line: -(line.deficit or 0.0))[:SHOWN] if len(lines) > SHOWN else list(lines)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 1.7 + 0.3 * max(len(lines), ROWS)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        rows = np.arange(len(lines))
        _shares(left, lines, rows)
        _rewards(right, lines, rows)
        left.set_yticks(
            rows, [_short(line.arm, LONGEST) + " (retired)" * line.retired for line in lines], parse_math=False
        )
        spare = max(ROWS - len(lines), 0) / 2.0
        left.set_ylim(len(lines) - 0.5 + spare, -0.5 - spare)
        right.tick_params(axis="y", left=False)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=3, frameon=False)
        more = f", {len(lines)} of {arms:,} arms" if len(lines) < arms else ""
        figure.suptitle(textwrap.fill(f"{title}{more}", TITLE), fontsize=11)
        if fault:
            wrapped = textwrap.fill(_short(fault, FAULT), WIDTH)
            left.set_title(wrapped, loc="left", fontsize=8, color=COLOURS[1], parse_math=False)
    return figure


def _short(text: str, longest: int) -> str:
    text = "".join(character if character.isprintable() else " " for character in text).strip()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _shares(axes: Axes, lines: list[Line], rows: np.ndarray) -> None:
    axes.barh(rows, [line.share or 0.0 for line in lines], color=COLOURS[5], height=0.62, label="share")
    intervals = [(row, line.low_share, line.high_share) for row, line in zip(rows, lines, strict=True) if line.rounds]
    if intervals:
        places, low, high = zip(*intervals, strict=True)
        axes.hlines(places, low, high, color="0.3", linewidth=1.2, label="95% interval")
    promised = [(row, line.promised) for row, line in zip(rows, lines, strict=True) if line.promised]
    if promised:
        at = np.array([row for row, _ in promised])
        axes.vlines(
            [share for _, share in promised], at - 0.42, at + 0.42, color="black", linewidth=2, label="promised"
        )
    furthest = max((max(line.high_share or 0.0, line.promised or 0.0) for line in lines), default=0.0)
    axes.set_xlim(0.0, 1.05 * furthest or 1.0)
    axes.set_xlabel("share of rounds since the promise began")
    axes.grid(axis="y", visible=False)


def _rewards(axes: Axes, lines: list[Line], rows: np.ndarray) -> None:
    for row, line in zip(rows, lines, strict=True):
        if line.estimate is None:
            continue
        if line.low is not None and line.high is not None:
            axes.hlines(row, line.low, line.high, color=COLOURS[1], linewidth=2)
        axes.plot(line.estimate, row, "o", color=COLOURS[1], markersize=4.5)
    axes.set_xlabel("estimated reward, 95% interval")
    axes.grid(axis="y", visible=False)
