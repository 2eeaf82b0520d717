"""The report on a log, to be handed on: what promises would cost, and what other policies would have earned."""

from __future__ import annotations

import math
from collections.abc import Iterator

from evenhand.bandit.evaluation.evaluation import Evaluation
from evenhand.bandit.evaluation.followed import LOGGED
from evenhand.bandit.evaluation.said import measured
from evenhand.core import html
from evenhand.core.errors import number_of
from evenhand.core.numbers import amount, percent, ranged
from evenhand.judgement.differences import claimed, sentence
from evenhand.messages.audit_text import as_sentence, harmless
from evenhand.messages.prices import Price
from evenhand.messages.words import Words

TEXTS = ("does the interval hold?",)
ENDS = ("at least (95%)", "at most (95%)")


def report(name: str, found: Evaluation | None, price: Price) -> str:
    """The report on a log."""
    size = "" if found is None else f"{number_of(found.rounds, 'round')}, {number_of(len(found.items), 'item')}. "
    sections = {"What promises would cost": _cost(price), "What is known of the arms": _arms(price)}
    sections |= {} if found is None else {"What other policies would have earned": _earned(found)}
    rests = [*price.assumptions, *(found.notes if found else ())]
    rests += [price.holds] if price.premises else []
    sections |= {"What this rests on": iter(map(_said, rests))}
    sections |= {"What cannot be known from this log": iter(map(_said, price.unknown))}
    tables = {head: "\n".join(filter(None, parts)) for head, parts in sections.items()}
    note = f"{size}Nothing of this was decided yet: it is estimated from the past."
    return html.report(f"Report on {harmless(name)}", note, map(harmless, price.sentences), tables)


def _cost(price: Price) -> Iterator[str]:
    """By promise, as a chart and as a table."""
    bars = [html.Bar(one.promise, one.steady, None, one.low, one.high) for one in price.curve]
    yield html.chart(bars, caption=f"cost per round{price.unit and f' in {price.unit}'}; line: 95% interval")
    run = [f"in {price.rounds:,} rounds"] if price.rounds else []
    rows = [
        [one.promise, *map(_number, (one.steady, one.low, one.high)), ranged(one.run_low, one.run_high, 2)]
        for one in price.curve
    ]
    heads = ["promise to each arm", _with_unit("cost per round", price.unit), *ENDS, *run]
    yield html.table(heads, [row[: len(heads)] for row in rows])


def _arms(price: Price) -> Iterator[str]:
    """Mean rewards, the best shares under the largest promise, and what one more play costs."""
    largest = price.curve[-1]
    mean, share = _with_unit("likely mean", price.unit), f"share at {largest.promise}"
    numbers = [[*map(_number, (one.mean, one.low, one.high, one.dual / 100.0))] for one in price.by_arm]
    rows = [
        (harmless(one.arm), *row, percent(largest.shares[one.arm]))
        for one, row in zip(price.by_arm, numbers, strict=True)
    ]
    yield html.table(("arm", mean, *ENDS, _with_unit("one point costs", price.unit), share), rows)


def _earned(found: Evaluation) -> Iterator[str]:
    """Whether the log can answer, and the estimates with their differences."""
    yield from map(_said, map(str, found.grades.values()))
    known = {LOGGED: found.logged, **found.estimates}
    bars = [html.Bar(name, one.value, None, one.interval.low, one.interval.high) for name, one in known.items()]
    yield html.chart(bars, caption=f"mean {measured(found)}; line: interval")
    rows = [
        (harmless(name), *map(_number, (one.value, one.interval.low, one.interval.high)), claimed(one.interval))
        for name, one in known.items()
    ]
    yield html.table(("policy", measured(found), *ENDS, *TEXTS), rows, texts=TEXTS)
    yield from (_said(sentence(one, Words(found.unit))) for one in found.differences)


def _with_unit(head: str, unit: str) -> str:
    return f"{head}, {unit}" if unit else head


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else amount(value)


def _said(text: str) -> str:
    return html.paragraph(as_sentence(text))
