"""How evaluations of logs and replays print."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.rendering import console_for_tables, interval, plus_minus, table_of
from evenhand.core.errors import number_of
from evenhand.core.intervals import Interval
from evenhand.core.state import Array

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.evaluation import Evaluation
    from evenhand.bandit.evaluation.grade import Grade
    from evenhand.bandit.evaluation.replay import Replay

MOST = 50  # items in the table of an evaluation
COLOURS = {"yes": "green", "with care": "yellow", "no": "red"}


def show_evaluation(title: str, one: Evaluation, with_shares: bool) -> None:
    """Print whether a log can answer, then the estimates, their differences, and what they rest on."""
    from evenhand.bandit.evaluation.estimators import ESTIMATORS

    console = console_for_tables()
    size = number_of(one.rounds, "round") + (f", {one.rows:,} plays" if one.rows > one.rounds else "")
    console.print(f"[bold]{escape(title)}[/bold]  {size}, {number_of(len(one.items), 'item')}", highlight=False)
    _show_grades(console, one.grades)
    level = f"{100 * one.logged.interval.confidence:.4g}% interval"
    table = table_of("reward per round", "estimate", level, right=True)
    for name, estimate in {"the log's policy": one.logged, **one.estimates}.items():
        table.add_row(escape(name), *_estimate(estimate.value, estimate.stderr, estimate.interval))
    for found in one.differences:
        name = f"{found.first} − {found.second}"
        table.add_row(escape(name), *_estimate(found.value, math.nan, found.interval))
    console.print(table)
    console.print(f"{ESTIMATORS[one.estimator][1]}; {_claim(one)}", highlight=False)
    if with_shares:
        console.print(_shares(one.items, {**one.shares, "the log's policy": one.logged_shares}))
    for note in one.notes:
        console.print(f"[dim]{escape(note)}[/dim]", highlight=False)


def show_replay(title: str, one: Replay) -> None:
    """Print what a policy did in the rounds that it accepted."""
    console = console_for_tables()
    console.print(f"[bold]{escape(title)}[/bold]  {escape(str(one))}", highlight=False)
    console.print(_shares(one.items, {one.policy: one.shares}))
    for note in one.notes:
        console.print(f"[dim]{escape(note)}[/dim]", highlight=False)


def _show_grades(console: Console, grades: Mapping[str, Grade]) -> None:
    """Print whether the log can answer for each target, and by what that was judged."""
    from evenhand.bandit.evaluation.grade import ANSWERS, GAMMA

    worst = max(grades.values(), key=lambda one: ANSWERS.index(one.answer))
    answer, rest = worst.sentence.split(":", 1) if len(grades) == 1 else (worst.answer.capitalize(), "")
    text = f"[{COLOURS[worst.answer]}]{answer}[/]" + (f":{escape(rest)}" if rest else ".")
    console.print(f"[bold]Can this log answer?[/bold] {text}", highlight=False)
    reasons = {reason: grade.answer for grade in grades.values() for reason in grade.reasons}
    for reason, answer in reasons.items():
        console.print(f"[{COLOURS[answer]}]warning:[/] {escape(reason)}", highlight=False)
    columns = ("worth", "max w", "mean w", "k", f"p off by {GAMMA:g}×")
    table = table_of("target", "answer", *columns, right=True)
    table.columns[1].justify = "left"
    for name, one in grades.items():
        weights = (f"{one.effective:,.0f}", f"{one.largest:.3g}", f"{one.mean_weight:.3g}")
        tail = "none" if one.tail == -math.inf else f"{one.tail:.2f}"
        answer = f"[{COLOURS[one.answer]}]{one.answer}[/]"
        table.add_row(escape(name), answer, *weights, tail, interval(*one.sensitivity))
    console.print(table)


def _claim(result: Evaluation) -> str:
    """What is claimed of the intervals."""
    known = [estimate.interval for estimate in result.estimates.values()]
    premises = next((found.premises for found in known if found.claim != "not_claimed"), None)
    refused = dict.fromkeys(one for found in known if found.claim == "not_claimed" for one in found.premises)
    said = ["the intervals hold if " + ", ".join(premises)] if premises else []
    more = [one for one in refused if not any(one in grade.reasons for grade in result.grades.values())]
    why = ": " + "; ".join(more) if more else ", as the warnings say"
    return "; ".join([*said, *([f"no interval is claimed{why}"] if refused else [])])


def _shares(items: tuple[str, ...], columns: Mapping[str, Array]) -> Table:
    """How often each item plays; of very many items those that the first policy plays most."""
    table, first = table_of("item", *columns, right=True), next(iter(columns.values()))
    order = list(range(len(items)))
    if len(order) > MOST:
        order = sorted(order, key=lambda place: -first[place])[:MOST]
    for place in order:
        table.add_row(escape(items[place]), *(f"{shares[place]:.4f}" for shares in columns.values()))
    if len(order) < len(items):
        table.add_row(f"and {len(items) - len(order):,} more", *("" for _ in columns))
    return table


def _estimate(value: float, stderr: float, ends: Interval) -> tuple[str, str]:
    """An estimate, with the digits that its interval allows where its error is unknown, and the ends."""
    if not math.isfinite(value):
        return "unknown", ""
    if not math.isfinite(ends.high - ends.low):
        return plus_minus(value, stderr), "none"
    size = (ends.high - ends.low) / 4.0
    digits = None if math.isfinite(stderr) or size <= 0.0 else min(max(1 - math.floor(math.log10(size)), 0), 6)
    return plus_minus(value, stderr, digits), interval(ends.low, ends.high)
