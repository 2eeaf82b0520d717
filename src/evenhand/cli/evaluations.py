"""How evaluations of logs and replays print."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evenhand.cli.rendering import console_for_tables, interval, plus_minus, table_of
from evenhand.core.intervals import Interval
from evenhand.core.state import Array

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.evaluation import Evaluation
    from evenhand.bandit.evaluation.grade import Grade
    from evenhand.bandit.evaluation.replay import Replay

MOST = 50  # items in the table of an evaluation
FEW = 10  # items that are listed for every segment
BESIDE = 3  # policies in a table of shares
COLOURS = {"yes": "green", "with care": "yellow", "no": "red"}


def show_evaluation(title: str, one: Evaluation, with_shares: bool) -> None:
    """Print whether a log can answer, then the estimates, their differences, and what they rest on."""
    from evenhand.bandit.evaluation import said

    _say(f"[bold]{escape(title)}[/bold]  {said.size_of(one)}")
    _show_grades(one.grades)
    level = f"{100 * one.logged.interval.confidence:.4g}% interval"
    estimates = {"the log's policy": one.logged, **one.estimates}.items()
    rows = [(name, *_estimate(found.value, found.stderr, found.interval)) for name, found in estimates]
    rows += [(f"{by.first} − {by.second}", *_estimate(by.value, math.nan, by.interval)) for by in one.differences]
    _say(table_of(said.measured(one), "estimate", level, right=True, rows=rows))
    _say(escape(said.claim(one)))
    if with_shares:
        _show_shares(one.items, {**one.shares, "the log's policy": one.logged_shares})
    _show_notes(one.notes)


def show_replay(title: str, one: Replay) -> None:
    """Print what a policy did in the rounds that it accepted."""
    _say(f"[bold]{escape(title)}[/bold]  {escape(one.sentence)}")
    _show_shares(one.items, {one.policy: one.shares})
    if one.segments:
        rows = []
        for part in one.segments:
            for place in [at for at in range(len(one.items)) if part.promised[at] > 0.0 or len(one.items) <= FEW]:
                owed = f"{part.promised[place]:.4g}", f"{part.behind[place]:.1f}"
                known = part.segment, f"{part.rounds:,}", one.items[place], f"{part.plays[place]:,.0f}"
                rows.append((*known, *(owed if part.promised[place] else ("", ""))))
        _say(table_of("segment", "rounds", "item", "plays", "promised", "behind", right=True, rows=rows))
    _show_notes(one.notes)


def _say(what: str | Table) -> None:
    """Print a text or a table, in 80 columns."""
    console = console_for_tables()
    console.print(what, highlight=False, width=min(80, console.width))


def _show_notes(notes: tuple[str, ...]) -> None:
    """Print how the log was changed."""
    for note in notes:
        _say(f"[dim]{escape(note)}[/dim]")


def _show_grades(grades: Mapping[str, Grade]) -> None:
    """Print whether the log can answer for each target, and by what that was judged."""
    from evenhand.bandit.evaluation.grade import GAMMA
    from evenhand.bandit.evaluation.said import ASKED, WARNING, answered

    (worst, text), *reasons = answered(grades)
    answer, mark, rest = text.partition(":" if ":" in text else ".")
    _say(f"[bold]{ASKED}[/bold] [{COLOURS[worst]}]{answer}[/]{mark}{escape(rest)}")
    for answer, reason in reasons:
        _say(f"[{COLOURS[answer]}]{WARNING}[/] {escape(reason)}")
    columns = ("worth", "max w", "mean w", "k", f"p off by {GAMMA:g}×")
    table = table_of("target", "answer", *columns, right=True)
    table.columns[1].justify = "left"
    for name, one in grades.items():
        weights = (f"{one.effective:,.0f}", f"{one.largest:.3g}", f"{one.mean_weight:.3g}")
        tail = "none" if one.tail == -math.inf else f"{one.tail:.2f}"
        answer = f"[{COLOURS[one.answer]}]{one.answer}[/]"
        table.add_row(escape(name), answer, *weights, tail, interval(*one.sensitivity))
    _say(table)


def _show_shares(items: tuple[str, ...], columns: Mapping[str, Array]) -> None:
    """Print how often each item plays, with so many policies in a table as fit."""
    names = list(columns)
    for start in range(0, len(names), BESIDE):
        _say(_shares(items, {name: columns[name] for name in names[start : start + BESIDE]}))


def _shares(items: tuple[str, ...], columns: Mapping[str, Array]) -> Table:
    """How often each item plays; of very many items those that the first policy plays most."""
    order, first = list(range(len(items))), next(iter(columns.values()))
    if len(order) > MOST:
        order = sorted(order, key=lambda place: -first[place])[:MOST]
    rows = [(items[place], *(f"{shares[place]:.4f}" for shares in columns.values())) for place in order]
    rows += [(f"and {len(items) - len(order):,} more", *("" for _ in columns))] * (len(order) < len(items))
    return table_of("item", *columns, right=True, rows=rows)


def _estimate(value: float, stderr: float, ends: Interval) -> tuple[str, str]:
    """An estimate, with the digits that its interval allows where its error is unknown, and the ends."""
    if not math.isfinite(value):
        return "unknown", ""
    if not math.isfinite(ends.high - ends.low):
        return plus_minus(value, stderr), "none"
    size = (ends.high - ends.low) / 4.0
    digits = None if math.isfinite(stderr) or size <= 0.0 else min(max(1 - math.floor(math.log10(size)), 0), 6)
    return plus_minus(value, stderr, digits), interval(ends.low, ends.high)
