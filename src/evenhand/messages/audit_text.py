"""The lines of an audit as a table of text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from ..core.errors import number_of
from ..core.numbers import amount, percent, ranged
from .answers import CatchUp, Cost, MovedShare
from .lines import BoundLine, Line, PromiseLine, SegmentLine
from .words import Words

WIDTH = 80  # characters per line
NAMED = 10  # arms in a sentence
FOLDED = 9  # characters to which the first column can shrink, since its cells can be folded


def fitting(columns: Mapping[str, Sequence[str]], width: int, gap: int, dispensable: Sequence[str]) -> list[str]:
    """The columns that fit into a width; dispensable ones are left out in their order until the others fit."""
    widths = {name: max(map(cells_of, (name.strip(), *cells))) for name, cells in columns.items()}
    first, *_ = widths
    widths[first] = min(widths[first], FOLDED)
    for name in dispensable:
        if sum(widths.values()) + gap * (len(widths) - 1) <= width:
            break
        widths.pop(name, None)
    return list(widths)


#: Characters that a terminal executes or that change the direction of text; line feeds may stand in sentences.
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """A text in which characters that steer a terminal or the direction of letters are written as escapes."""
    return STEERING.sub(lambda match: repr(match[0])[1:-1], text)


def as_sentence(clause: str) -> str:
    """A clause as a harmless sentence, with a capital letter and a full stop."""
    return harmless(f"{clause[:1].upper()}{clause[1:]}{'.' * (not clause.endswith('.'))}")


def plain(name: str) -> str:
    """A name on one line, without control characters that a terminal would execute."""
    return name if name.isprintable() else repr(name)


def table(lines: Sequence[Line], words: Words = Words()) -> str:  # noqa: B008
    """Lines as text in 80 columns; columns that do not fit are left out."""
    cells = {
        "arm": [plain(line.arm) + (" (retired)" if line.retired else "") for line in lines],
        "promised": [_number(line.promised) for line in lines],
        "share": [_number(line.share) for line in lines],
        "plays": [f"{line.plays:,}" for line in lines],
        "deficit": [_number(line.deficit) for line in lines],
        "worst": [_number(line.worst) for line in lines],
        "estimate": [_estimate(line) for line in lines],
        "pending": [f"{line.pending:,}" for line in lines],
    }
    cells = {words.head(name): column for name, column in cells.items()}
    gap = 2 if len(fitting(cells, WIDTH, 2, ["pending"])) == len(cells) else 1
    names = fitting(cells, WIDTH, gap, ["pending", "worst", words.head("estimate")])
    room = WIDTH - sum(max(map(cells_of, (name, *cells[name]))) + gap for name in names[1:])
    rows = [names]
    for line, *numbers in zip(*(cells[name] for name in names), strict=True):
        first, *more = _folded(line, room)
        rows += [[first, *numbers], *([one] + [""] * len(numbers) for one in more)]
    return _aligned(rows, gap)


def cells_of(text: str) -> int:
    """The columns of a terminal that a text takes."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _folded(text: str, room: int) -> list[str]:
    """A text in pieces of at most so many columns."""
    pieces = [""]
    for letter in text:
        if cells_of(pieces[-1] + letter) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _aligned(rows: Sequence[Sequence[str]], gap: int) -> str:
    """Rows as lines: the first column to the left, the others to the right."""
    widths = [max(map(cells_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        padded = [first + " " * (widths[0] - cells_of(first))]
        padded += [" " * (width - cells_of(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
        lines.append((" " * gap).join(padded).rstrip())
    return "\n".join(lines)


def learned(lines: Sequence[Line]) -> str:
    """What the policy learned of arms beforehand, as a sentence; of the first ten."""
    known = [line for line in lines if line.learned_plays]
    parts = [f"{plain(one.arm)} {one.learned_plays:,} plays, mean {_number(one.learned_mean)}" for one in known]
    return _listed(parts) or "nothing of these arms"


def counted(lines: Sequence[Line], words: Words) -> str:
    """From when on plays and shares are counted, where that is not the first round, as a sentence; of the first ten."""
    later: dict[int, list[str]] = {}
    for line in lines:
        if line.since:
            later.setdefault(line.since, []).append(plain(line.arm))
    parts = []
    for since, names in later.items():
        some = ", ".join(names[:NAMED]) + ", …" * (len(names) > NAMED)
        parts.append(f"{'all' if len(names) == len(lines) else some} from round {since + 1:,} on")
    return (
        words.say(f"plays and shares count since a promise changed or an arm came: {_listed(parts)}") if parts else ""
    )


def memory(lines: Sequence[Line]) -> str:
    """On how many rewards estimates rest and which changes were found, as a sentence; of the first ten arms."""
    parts = []
    for one in lines:
        if one.counted is not None:
            found = f" since {one.changes} change{'' if one.changes == 1 else 's'} of its mean" if one.changes else ""
            parts.append(f"{plain(one.arm)} {one.counted:,.4g} of {one.received:,} rewards{found}")
    return _listed(parts)


def cost(cost: Cost | None, words: Words) -> str:
    """What the promises cost, as a sentence; empty where it is not known."""
    if cost is None or cost.per_round is None:
        return ""
    so_far = "what the promises have cost is not known yet"
    if cost.incurred is not None:
        amounts = (cost.incurred, cost.incurred_low, cost.incurred_high, cost.incurred_relative)
        so_far = f"the promises have cost {_money(words, *amounts, 'have been')}"
    price = _money(words, cost.per_round, cost.low, cost.high, cost.relative, "be")
    note = f". {cost.note}" if cost.note else ""
    return words.say(f"{so_far}; keeping them costs, per round, {price}") + note


def _money(
    words: Words, value: float, low: float | None, high: float | None, relative: float | None, could: str
) -> str:
    """A cost with its interval, such as "1.2 of reward (0.4 to 2.1), 3.1% of what could have been earned"."""
    between = f" ({ends})" if (ends := ranged(low, high)) else ""
    part = "" if relative is None else f", {percent(relative, 2)} of what could {could} earned"
    return f"{amount(value)} {words.unit or 'of reward'}{between}{part}"


def effect(
    cost: Cost | None,
    now: Cost | None,
    shares: Sequence[MovedShare],
    late: Sequence[CatchUp],
    within: Sequence[tuple[str, float]],
    owed_first: bool,
    words: Words,
) -> tuple[str, ...]:
    """What other promises would cost, who pays, and how long arrears last, in sentences."""
    parts = ["The promises would cost nothing." if cost is None else f"What the promises would cost: {cost.note}"]
    if cost is not None and cost.per_round is not None:
        price = _money(words, cost.per_round, None, None, cost.relative, "be")
        before = "" if now is None or now.per_round is None else f"; today it is {amount(now.per_round)}"
        sure = ""
        if cost.low is not None and cost.high is not None:
            sure = f" The cost then lies between {amount(cost.low)} and {amount(cost.high)} (95% interval)."
        parts = [f"Keeping the promises would cost, per round, {price}{before}.{sure}", cost.note]
    computed = "pay with rounds (best shares as computed now → then, not those received)"
    for less, verb in ((True, computed), (False, "get more rounds")):
        some = [one for one in shares if (one.then < one.now) is less]
        moved = [f"{plain(one.arm)} {percent(one.now)} → {percent(one.then)}" for one in some]
        parts.append(f"In the long run these {verb}: {_listed(moved)}." if moved else "")
    if late and not owed_first:
        parts.append(f"{plain(late[0].arm)} is owed {amount(late[0].owed)} plays; rewards can outweigh these for long.")
    elif late:
        never = "never, as seldom as it can play"
        times = [f"{plain(one.arm)} {never if one.rounds is None else f'{one.rounds:,} rounds'}" for one in late]
        parts.append(f"Arrears are made up, at the earliest, after: {_listed(times)}.")
    elif not within:
        parts.append("No arm is owed more than a play under a promise, so there is nothing to make up.")
    owed = [f"{plain(name)} {amount(plays)} plays" for name, plays in within]
    parts.append(f"In segments these are owed: {_listed(owed)}." if owed else "")
    return tuple(part for part in parts if part)


def bounds_rows(bounds: Sequence[BoundLine]) -> list[tuple[str, ...]]:
    """The heads and cells of the lines of groups and capped arms."""
    rows: list[tuple[str, ...]] = [("group or arm", "at least", "at most", "share", "plays", "owed", "excess")]
    for line in bounds:
        numbers = (line.at_least or None, line.at_most, line.share)
        counts = (f"{line.plays:,}", _number(line.owed) if line.at_least else "", _number(line.excess))
        rows.append((plain(line.name) + _in_segment(line.segment), *map(_number, numbers), *counts))
    return rows


def bounds_table(bounds: Sequence[BoundLine]) -> str:
    """The lines of groups and capped arms as text."""
    return _aligned(bounds_rows(bounds), 2)


def segment_lines(segments: Sequence[SegmentLine], arms: Sequence[str], words: Words) -> list[str]:
    """What the arms with the most plays got in each segment, a line for each."""
    lines = []
    for one in segments:
        rounds = words.say(number_of(one.rounds, "round"))
        order = sorted(range(len(arms)), key=lambda arm: -one.plays[arm])
        parts = [f"{plain(arms[arm])} {percent(one.plays[arm] / one.rounds)}" for arm in order if one.plays[arm]]
        lines.append(f"in {plain(one.segment)}, {rounds}" + (f": {', '.join(parts[:NAMED])}" if parts else ""))
        lines[-1] += ", …" * (len(parts) > NAMED)
    return lines


def ledger_rows(lines: Sequence[PromiseLine]) -> list[tuple[str, ...]]:
    """The heads and cells of promises that have ended, with the reasons for them; forgiven with what was capped."""
    heads = ("ended promise to", "share", "rounds", "plays", "owed", "carried", "forgiven", "lapsed", "why")
    rows: list[tuple[str, ...]] = [heads]
    for line in lines:
        of = plain(line.name) + _in_segment(line.segment) + " (at most)" * (line.kind in ("cap", "group_cap"))
        numbers = (line.owed, line.carried, line.forgiven + line.capped, line.lapsed)
        counts = (f"{line.share:.4g}", f"{line.since + 1:,}–{line.until or 0:,}", f"{line.plays:,}")
        why = "; ".join(filter(None, (line.reason, line.ended_why and f"ended: {line.ended_why}")))
        rows.append((of, *counts, *map(amount, numbers), why))
    return rows


def _in_segment(segment: str) -> str:
    return f" in {plain(segment)}" if segment else ""


def _listed(parts: Sequence[str]) -> str:
    return "; ".join(parts[:NAMED]) + "; …" * (len(parts) > NAMED)


def _number(value: float | None) -> str:
    return "" if value is None else amount(value)


def _estimate(line: Line) -> str:
    """The estimate with its interval."""
    ends = ranged(line.low, line.high)
    return f"{_number(line.estimate)} ({ends})" if ends else _number(line.estimate)
