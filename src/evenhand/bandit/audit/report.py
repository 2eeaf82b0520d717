"""The report on an allocation, to be handed on: one page of its audit, which loads and runs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from operator import attrgetter as of
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from evenhand.bandit.audit.differences import LOST_ALIKE, MOST, REMEDY, differences
from evenhand.bandit.audit.stopping import stopping
from evenhand.bandit.record import Record
from evenhand.core import html
from evenhand.core.errors import number_of
from evenhand.core.intervals import Difference
from evenhand.core.numbers import amount, percent
from evenhand.judgement.differences import claimed
from evenhand.messages import audit_text as text
from evenhand.messages.answers import Stopping
from evenhand.messages.audit import CHART, Audit
from evenhand.messages.lines import BoundLine, Line

SHOWN = 200  # rows of a table
NAMED = 20  # promises that have ended, and of those that are not kept the ones that are explained
URGENCY = ("missed", "undecided", None, "kept")
NOT_YET = "too early to say"
TEXTS = ("verdict", "why", "note", "the first is", "does the interval hold?", "members")  # heads of texts
LOW, HIGH = "at least (95%)", "at most (95%)"
MEANS = "mean reward of all plays so far; line: 95% interval"
INTERVALS = (
    "The intervals hold at all times at once, so that one may look as often as one likes. That of a mean reward is of "
    "all plays of the arm so far, and holds "
)
AHEAD = "Plays owed are behind the promise; where the number is negative, the plays are ahead of it."
COST = (
    "So far: what the best arm would have brought more in the plays that promises asked for. From now on: the largest "
    "reward per round without promises less that with those of today, as if every arm were always available. Both are "
    "computed from estimates; their intervals hold at all times at once, "
)
NO_PROMISE = "Nothing is promised, or no promise has begun."
NO_COST = "No cost is stated: no share is promised, or nothing has been decided yet."
TOTALS = "Rewards arrive as totals that name no arm, so that none of them can be pending or lost by itself."
UNSTORED = "This allocation is in no database, so that its events cannot be replayed."
VERIFIED = (
    "Every event has a checksum, with which those of all events before it are hashed. This report is of event {:,}, "
    "whose checksum is {}. With the database one can replay all events, compare the result with what is stored, and "
    "find out whether they are still the events of this report:"
)
Columns = Mapping[str, Callable[[Any], object]]  # what stands in a row about something, by the heads
PROMISES: Columns = {
    "arm": lambda one: _name(one),
    "promised": lambda one: _part(one.promised),
    "got": lambda one: _part(one.share),
    "rounds": of("rounds"),
    "plays": of("plays"),
    "plays owed": of("deficit"),
    "most ever owed": of("worst"),
    "verdict": lambda one: one.standing or ("by merit" if one.deficit is None else NOT_YET),
}
REWARDS: Columns = {
    "arm": lambda one: _name(one),
    "plays": of("all_plays"),
    "received": of("received"),
    "reward": of("estimate"),
    LOW: of("low"),
    HIGH: of("high"),
    "note": lambda one: "" if one.trusted else "not to be trusted",
}
DIFFERENCES: Columns = {
    "compared": lambda one: f"{text.plain(one.first)} less {text.plain(one.second)}",
    "difference": of("value"),
    LOW: of("interval.low"),
    HIGH: of("interval.high"),
    "the first is": of("verdict"),
    "does the interval hold?": lambda one: claimed(one.interval),
}
MISSING: Columns = {
    "arm": lambda one: _name(one),
    "plays": of("all_plays"),
    **{name: of(name) for name in ("received", "pending", "lost", "late")},
}


class Reported(NamedTuple):
    """What a report says; of the differences all hold at once, also where not all are shown."""

    audit: Audit
    stopping: Stopping | None = None
    differences: tuple[Difference, ...] = ()


def reported(record: Record, audit: Audit) -> Reported:
    """What a report says beside the audit; before the first round, and of a single arm, nothing."""
    if not audit.round or np.count_nonzero(record.arms.active) <= record.plays:
        return Reported(audit)
    answer, pairs = stopping(record, 0.05, 0.0, None), math.comb(np.count_nonzero(record.arms.active), 2)
    return Reported(audit, answer, () if record.by_totals or pairs > MOST else differences(record))


def report(audit: Audit, stopping: Stopping | None = None, differences: Sequence[Difference] = ()) -> str:
    """The report on an allocation."""
    size = audit.words.say(f"{number_of(audit.rounds, 'round')}, {number_of(audit.arms, 'arm')}")
    closed = " The allocation is closed." * audit.closed
    note = f"As of {_cell(audit.time)}: {size}, decided by {text.harmless(audit.algorithm)}.{closed}"
    fault = f"A promise cannot be kept: {audit.fault}" * bool(audit.fault)
    alarms = f"{number_of(len(audit.alarms), 'alarm')}: see below" * bool(audit.alarms)
    said = (audit.verdict, fault, text.cost(audit.cost, audit.words), *audit.warnings, alarms)
    sections = {
        "What was promised, and what was kept": _promised(audit),
        "What the promises cost": _cost(audit),
        "How sure this is, and what it rests on": _sure(audit, stopping, differences),
        "Late and missing rewards": _missing(audit),
        "What was changed, with which key, and why": _changed(audit),
        "Alarms": _alarms(audit),
        "How to verify this report": _verified(audit),
    }
    tables = {head: "\n".join(filter(None, parts)) for head, parts in sections.items()}
    return html.report(
        f"Report on {audit.name or 'an allocation'}", note, [text.as_sentence(one) for one in said if one], tables
    )


def _promised(audit: Audit) -> Iterator[str]:
    """Shares of arms, of groups and of arms with a largest share, and what became of earlier promises."""
    lines = sorted((one for one in audit.lines if one.promised or one.verdict), key=_urgency)
    bars = [html.Bar(_name(one), one.share or 0.0, one.promised, colour=int(one.verdict == "missed")) for one in lines]
    yield html.chart(bars, (), audit.words.say(CHART), percent)
    yield _table(audit, PROMISES, lines)
    yield html.paragraph(AHEAD) if any(one.deficit is not None for one in lines) else ""
    for one in [line for line in lines if line.verdict != "kept" or line.promised is None][:NAMED]:
        yield html.paragraph(f"{text.plain(one.arm)}: {text.harmless(one.reason)}")
    bounds = sorted(audit.bounds, key=_urgency)
    heads, *rows = text.bounds_rows(bounds)
    yield "<h4>Promises to groups and in segments, and largest shares</h4>" if bounds else ""
    yield "" if lines or audit.bounds else html.paragraph(NO_PROMISE)
    verdicts = [one.standing or NOT_YET for one in bounds]
    names = {one.arm: _name(one) for one in audit.lines}
    members = [", ".join(names.get(arm, arm) for arm in one.arms) if one.kind == "group" else "" for one in bounds]
    cells = [(*row, *rest) for row, *rest in zip(rows, verdicts, members, strict=True)]
    yield _table(audit, _places(*heads, "verdict", "members"), cells)
    ended = [line for line in audit.ledger if line.until is not None]
    yield "<h4>Promises that have ended</h4>" if ended else ""
    heads, *rows = text.ledger_rows(ended[-NAMED:])
    yield _table(audit, _places(*heads), rows)
    if len(ended) > NAMED:
        yield html.paragraph(f"These are the last {NAMED} of {len(ended):,} promises that have ended.")


def _cost(audit: Audit) -> Iterator[str]:
    """As a table with intervals."""
    cost = audit.cost
    if cost is None or cost.per_round is None:
        yield html.paragraph(text.harmless(cost.note) if cost else NO_COST)
        return
    columns = _places("", "reward", LOW, HIGH, "of what could be earned")
    so_far = ("so far", cost.incurred, cost.incurred_low, cost.incurred_high, _part(cost.incurred_relative))
    onward = (audit.words.say("per round from now on"), cost.per_round, cost.low, cost.high, _part(cost.relative))
    yield _table(audit, columns, [row for row in (so_far, onward) if row[1] is not None])
    yield html.paragraph(audit.words.say(COST + _whatever(audit)))


def _sure(audit: Audit, stopping: Stopping | None, found: Sequence[Difference]) -> Iterator[str]:
    """Whether one may stop, what the intervals mean, what was learned elsewhere, mean rewards and their differences."""
    yield "<h4>May one stop?</h4>" if stopping else ""
    yield from (html.paragraph(text.harmless(one)) for one in (stopping.sentences if stopping else ()))
    notes = (one for one in audit.notes() if one != text.cost(audit.cost, audit.words))
    yield from (html.paragraph(text.as_sentence(one)) for one in notes)
    lines = sorted((one for one in audit.lines if one.estimate is not None), key=lambda one: -one.all_plays)
    yield "<h4>Mean rewards</h4>" if lines else html.paragraph("No reward of a single play is known.")
    yield html.paragraph(audit.words.say(INTERVALS + _whatever(audit))) if lines else ""
    bars = [html.Bar(_name(one), one.estimate or 0.0, None, one.low, one.high) for one in lines]
    yield html.chart(bars, caption=audit.words.say(MEANS))
    yield _table(audit, REWARDS, lines)
    best = stopping.chosen[:1] if stopping else ()
    yield "<h4>Differences of mean rewards</h4>" if found else ""
    which = f"those with {text.plain(best[0])}" if best else f"the first {NAMED}"  # by features there is no best
    with_best = [one for one in found if {one.first, one.second} & {*best}] if best else found[:NAMED]
    shown = with_best if len(found) > NAMED else found
    yield _table(audit, DIFFERENCES, shown)
    remarks = dict.fromkeys(text for one in shown for text in one.remarks)
    yield from (html.paragraph(text.as_sentence(audit.words.say(one))) for one in remarks)
    command = f'evenhand client differences {audit.name} --assume "{REMEDY.get(audit.missing, LOST_ALIKE)}"'
    yield f"<p><code>{escape(command)}</code></p>" if remarks and audit.name else ""
    yield (
        html.paragraph(f"All {len(found):,} differences hold at once; shown are {which}.")
        if len(shown) < len(found)
        else ""
    )


def _missing(audit: Audit) -> Iterator[str]:
    """What became of the rewards, and how long they took."""
    counts = ("all_plays", "received", "pending", "lost", "late")
    made, received, pending, lost, late = (sum(map(of(name), audit.lines)) for name in counts)
    parts = [f"Of {number_of(made, 'play')}, the rewards of {received:,} were received in time"]
    parts += [f"{pending:,} can still arrive"] if pending else []
    parts += (
        [f"{lost:,} were missing when their window had passed, of which {late:,} arrived afterwards"] if lost else []
    )
    yield html.paragraph(TOTALS if made and not received + pending + lost else f"{'; '.join(parts)}.")
    low, high = audit.rewards
    limits = f"rewards are between {low:g} and {audit.words.amount(f'{high:g}')}"
    yield html.paragraph(text.as_sentence(f"{limits}; {_meaning(audit)}"))
    if audit.delays is not None:
        half, most = (f"{audit.delays.quantiles[one]:,.3g} seconds" for one in ("0.5", "0.95"))
        last = number_of(audit.delays.count, "reward")
        yield html.paragraph(f"Of the last {last}, half took at most {half}, and 95% at most {most}.")
    lines = [one for one in audit.lines if one.pending + one.lost]
    lines.sort(key=lambda one: -one.pending - one.lost)
    zero = {"lost": "not reported (0)"} if audit.missing == "zero" else {}
    yield _table(audit, {zero.get(head, head): show for head, show in MISSING.items()}, lines, most=NAMED)


def _whatever(audit: Audit) -> str:
    """For which rewards an interval takes the worst, and what a missing one means."""
    unknown = "pending or late" if audit.missing == "zero" else "pending, lost or late"
    return f"whatever the rewards are that are {unknown}{f'; {_meaning(audit)}' * (audit.window is not None)}."


def _meaning(audit: Audit) -> str:
    if audit.window is None:
        return "a reward can always still arrive"
    counts = "counts as 0" if audit.missing == "zero" else "is lost, and counts for no estimate"
    return f"what has not arrived after {audit.window:,g} s {counts}"


def _changed(audit: Audit) -> Iterator[str]:
    """The changes, the last ones first."""
    by = {"API key": lambda one: audit.authors.get(one.key, one.key)}
    columns: Columns = {"when": of("time"), "after round": of("round"), "what": of("text"), "why": of("reason")}
    made = _table(audit, {**columns, **by}, audit.changes_made[::-1], numbers=False)
    yield made or html.paragraph(audit.words.say("No arm and no promise was changed."))


def _alarms(audit: Audit) -> Iterator[str]:
    """The promises that were found missed, and not kept since."""
    columns: Columns = {"missed since": of("since"), "after round": of("round"), "now": of("text")}
    yield _table(audit, columns, audit.alarms, numbers=False) or html.paragraph("No alarm stands.")


def _verified(audit: Audit) -> Iterator[str]:
    """The checksum of the last event, and how it is compared."""
    if audit.sequence is None or audit.checksum is None:
        yield html.paragraph(UNSTORED)
        return
    yield html.paragraph(VERIFIED.format(audit.sequence, audit.checksum))
    yield f"<p><code>{escape(f'evenhand verify {audit.name} --checksum {audit.checksum}')}</code></p>"


def _table(audit: Audit, columns: Columns, about: Sequence[object], numbers: bool = True, most: int = SHOWN) -> str:
    """A table without the columns in which nothing stands; empty without rows."""
    cells = {head: [_cell(show(one)) for one in about[:most]] for head, show in columns.items()}
    cells = {audit.words.head(head): column for head, column in cells.items() if any(column)}
    more = html.paragraph(f"And {len(about) - most:,} more.") if len(about) > most else ""
    return html.table([*cells], [*zip(*cells.values(), strict=True)], numbers, TEXTS) + more if about else ""


def _places(*heads: str) -> Columns:
    """Columns of rows that have their cells already."""
    return {head: itemgetter(place) for place, head in enumerate(heads)}


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(value, float):
        return amount(value)
    return f"{value:,}" if isinstance(value, int) else text.harmless(str(value or ""))


def _urgency(line: Line | BoundLine) -> tuple[int, float]:
    """Promises that are missed come first, and of these what is furthest behind."""
    owed = line.deficit if isinstance(line, Line) else line.owed
    return URGENCY.index(line.verdict), -(owed or 0.0)


def _name(line: Line) -> str:
    return text.plain(line.arm) + " (retired)" * line.retired


def _part(share: float | None) -> str:
    return "" if share is None else percent(share)
