"""Differences of mean rewards that hold while one watches, from the sums that a bandit keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit import scores as kept
from evenhand.bandit.arms import available_sets
from evenhand.bandit.record import Record
from evenhand.bandit.scores import Kind, Table
from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.intervals import Claim, Difference, Interval
from evenhand.core.state import Array, Mask
from evenhand.inference import Scores, Sums, difference, mean, simultaneous, weighted, weighted_mean
from evenhand.judgement import comparing
from evenhand.judgement.differences import STEADY, compared, worst
from evenhand.judgement.sentences import listed
from evenhand.messages.audit_text import plain

MOST = 2_000  # comparisons at once
NAMED = 5  # arms that a sentence names
PART = 0.1  # of the rounds in which both had a known chance, from which on rewards are weighted
LOST_ALIKE, WINDOW_OVER = "lost independently", "the window is over"
ASSUMED = {
    LOST_ALIKE: "whether and when a reward arrives depends neither on it nor on the arm",
    WINDOW_OVER: "what has not arrived in its window, or is still awaited, counts as 0",
}
REMEDY = {"zero": WINDOW_OVER}  # what can be assumed of rewards that count as the worst; else that they are lost alike
SCORED = (kept.WEIGHTS, kept.REWARDS, kept.WEIGHTS2, kept.REWARDS2, kept.SQUARES, kept.OPEN, kept.OPEN2)
Places = NDArray[np.intp]


class Compared(NamedTuple):
    """Who is compared: each the mean of some arms."""

    names: Sequence[str]
    parts: Array  # (names, arms), what each arm counts for, with the sum 1
    pairs: Places  # (2, pairs)


def differences(
    record: Record,
    control: str | None = None,
    of: str = "arms",
    month: str | None = None,
    assume: str | None = None,
    confidence: float = 0.95,
) -> tuple[Difference, ...]:
    """See `evenhand.bandit.Bandit.differences`."""
    if record.by_totals:
        raise EvenhandError("totals name no arm, so that no arm's rewards are known: there are no differences")
    confidence = validate.number("confidence", confidence, 0.0, 1.0)
    if confidence in (0.0, 1.0):
        raise EvenhandError(f"confidence must be above 0 and below 1, such as 0.95, got {confidence:g}")
    _check_assumed(record, assume)
    who = _compared(record, control, validate.one_of("of", of, ("arms", "groups")))
    level = simultaneous(confidence, who.pairs.shape[1])
    tables = _tables(record, month, assume)
    rounds, kinds, found = _weighted(record, who, tables, level)
    contextual, every = record.policy.contextual, sum(table.rounds for table, _ in tables)
    apart = np.zeros(len(rounds), dtype=bool) if contextual else rounds <= PART * every  # own means say nothing
    if apart.any():
        found[:, apart] = _apart(who._replace(pairs=who.pairs[:, apart]), tables, level)
    common = [*([] if month is None else [f"{month} was chosen without looking at its rewards"])]
    common += [] if assume is None else [ASSUMED[assume]]
    changed, remarks, made = _changed(record), _remarks(record, who, tables, of), []
    for (one, two), (low, high, value), own, kind, weight in zip(
        who.pairs.T.tolist(), (found.T * record.reward_range.width).tolist(), apart, kinds.T, rounds, strict=True
    ):
        seen = [arm for arm, part in changed.items() if part @ who.parts[[one, two]].any(axis=0)]
        claim, premises = _claimed(own, kind, seen, common)
        if fault := comparing.fault(contextual, weight):
            claim, premises = "not_claimed", (fault,)
        elif contextual and weight < every:
            claim, premises = "holds_if", (*premises, comparing.ALIKE)
        interval = Interval(low, high, confidence, claim, premises)
        retired = [f"{name} is retired" for name in (who.names[one], who.names[two]) if name in record.retired]
        rest = (*(retired if of == "arms" else []), *remarks)
        made.append(compared(who.names[one], who.names[two], value, interval, rest))
    return tuple(made)


def _remarks(record: Record, who: Compared, tables: Sequence[tuple[Table, Array]], of: str) -> list[str]:
    """What is to be known of all differences: what stands for a group, and rewards that count as the worst."""
    said, compared_arms = [], (who.parts > 0.0).any(axis=0)
    if of == "groups":
        members = {arm for group in record.policy.groups if group["name"] in who.names for arm in group["arms"]}
        out = tuple(record.names[arm] for arm in sorted(members) if not record.arms.active[arm])
        without = f", without {named(out)}, which {'are' if len(out) > 1 else 'is'} retired" * bool(out)
        said.append(f"this is per arm of the group, whose arms count alike{without}")
    unknown = round(sum(float(rows[compared_arms, kept.LOST].sum()) for _, rows in tables))
    return said + [worst(unknown, REMEDY.get(record.missing, LOST_ALIKE))] * bool(unknown)


def named(names: tuple[str, ...]) -> str:
    """Names in a sentence, the first of many."""
    shown_names = [plain(name) for name in names[:NAMED]]
    more = len(names) - NAMED
    return listed([*shown_names, f"{more:,} more"] if more > 0 else shown_names) if names else "none"


def _check_assumed(record: Record, assume: str | None) -> None:
    """Refuse an assumption that is unknown, or says nothing here."""
    if assume is not None:
        validate.one_of("assume", assume, tuple(ASSUMED))
    if assume == WINDOW_OVER and record.missing != "zero":
        raise EvenhandError(
            f"assume={assume!r} is for a bandit with missing='zero', where it says that a reward is 0; this one has "
            f"missing={record.missing!r}: assume {LOST_ALIKE!r}, or nothing"
        )


def _compared(record: Record, control: str | None, of: str) -> Compared:
    """The arms or groups that are compared: those that can play, with the control."""
    active = record.arms.active
    if of == "arms":
        names = [name for name, plays in zip(record.names, active, strict=True) if plays or name == control]
        parts = np.eye(len(active))[[record.arms.place[name] for name in names]]
    else:
        groups = record.policy.groups
        if not groups:
            raise EvenhandError(f"must be 'arms', as {record.label} has no groups", "of")
        names, rows = [], []
        for group in groups:
            row = np.zeros(len(active))
            row[list(group["arms"])] = active[list(group["arms"])]
            if row.any():
                names.append(group["name"])
                rows.append(row / row.sum())
        parts = np.array(rows)
    if control is not None and control not in names:
        if of == "arms":
            record.arms.check(control)
        raise EvenhandError(f"control must be one of the groups {', '.join(names)}, got {control!r}")
    if len(names) < 2:
        raise EvenhandError(f"there must be at least two {of} to compare, there is {len(names)}")
    if control is None:
        pairs = np.array(list(combinations(range(len(names)), 2)), dtype=np.intp).T
    else:
        others = [place for place, name in enumerate(names) if name != control]
        pairs = np.array([others, [names.index(control)] * len(others)], dtype=np.intp)
    if pairs.shape[1] > MOST:
        raise EvenhandError(
            f"{len(names):,} {of} have {pairs.shape[1]:,} differences, more than {MOST:,}: name a control"
        )
    return Compared(names, parts, pairs)


def _tables(record: Record, month: str | None, assume: str | None) -> list[tuple[Table, Array]]:
    """The tables of a month or of all, with the sums of each, (arms, sums), and pending rewards among the unknown."""
    known = sorted({table.month for table in record.scores.tables if table.month})
    if month is not None and month not in known:
        such = f"the months with rounds are {', '.join(known)}" if known else "no month has rounds yet"
        if not isinstance(month, str) or re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month) is None:
            such = "a month (UTC) is written like '2026-11'"
        raise EvenhandError(f"month {month!r} cannot be compared: {such}")
    waiting, found = record.pending.unknown(), dict[tuple[Kind, bytes | None], tuple[Table, Array]]()
    for place, table in enumerate(record.scores.tables):
        if month is None or table.month == month:
            alike, sums = found.setdefault(
                (table.kind, table.able), (Table("", table.kind, table.able), np.zeros((len(record.arms), kept.WIDTH)))
            )
            alike.rounds += table.rounds
            some = list(table.rows)
            rows = np.array([table.rows[arm] for arm in some]).reshape(-1, kept.WIDTH)
            alike.least = min(alike.least, table.least)
            sums[some] += rows
            _with_waiting(sums, *(part[waiting[0] == place] for part in waiting[1:]))
    for table, sums in found.values():
        if table.able is None:
            table.rounds = float(sums[:, [kept.KNOWN, kept.LOST]].sum()) / record.plays
        _assumed(record, table, sums, assume)
    return list(found.values())


def _with_waiting(sums: Array, arms: NDArray[np.int64], weights: Array) -> None:
    """Add plays that wait for a reward to those whose reward is not known."""
    for column, some in ((kept.LOST, np.ones(len(arms))), (kept.OPEN, weights), (kept.OPEN2, weights**2)):
        sums[:, column] = np.maximum(sums[:, column] + np.bincount(arms, some, len(sums)), 0.0)


def _assumed(record: Record, table: Table, sums: Array, assume: str | None) -> None:
    """What is assumed of unknown rewards; of the weights of leased rounds always the worst, as some are not plays.

    If rewards are lost alike, the rounds with a known one are a fair part of all.
    """
    zero, decided = -record.reward_range.low / record.reward_range.width, table.kind == "decided"
    if assume == WINDOW_OVER:
        # A square is at most 1.
        sums[:, [kept.KNOWN, kept.TOTAL, kept.SPREAD]] += sums[:, [kept.LOST]] * [1.0, zero, 1.0]
        if decided:
            sums[:, [kept.WEIGHTS, kept.REWARDS]] += sums[:, [kept.OPEN]] * [1.0, zero]
            sums[:, [kept.WEIGHTS2, kept.REWARDS2, kept.SQUARES]] += sums[:, [kept.OPEN2]] * [1.0, zero, zero**2]
    elif assume == LOST_ALIKE and decided and record.plays == 1 and table.able is not None:
        table.rounds = float(sums[:, kept.KNOWN].sum())
    if assume is not None:
        sums[:, kept.LOST] = 0.0
        if decided and (assume == WINDOW_OVER or record.plays == 1):
            sums[:, [kept.OPEN, kept.OPEN2]] = 0.0


def _weighted(
    record: Record, who: Compared, tables: Sequence[tuple[Table, Array]], level: float
) -> tuple[Array, Mask, Array]:
    """From weighted scores: the rounds of each pair, whether some are leased, or leased for units, and the ends."""
    one, two = who.pairs
    rounds, sums, least = np.zeros(len(one)), np.zeros((2, kept.WIDTH, len(one))), np.ones(len(one))
    kinds, squares = np.zeros((2, len(one)), dtype=bool), [kept.WEIGHTS2, kept.REWARDS2, kept.SQUARES, kept.OPEN2]
    sizes = (who.parts > 0.0).sum(axis=1)
    for table, rows in tables:
        if table.able is None:
            continue
        (able,) = available_sets([table.able], who.parts.shape[1])
        there = (who.parts[:, ~able] == 0.0).all(axis=1)
        both = there[one] & there[two]
        rounds += both * table.rounds
        mixed = who.parts @ rows
        mixed[:, squares] = who.parts**2 @ rows[:, squares]
        for side, place in enumerate(who.pairs):
            sums[side] += (mixed[place] * both[:, np.newaxis]).T
        least[both] = np.minimum(least[both], table.least)
        kinds |= both & np.array([[table.kind != "decided"], [table.kind == "units"]])
    # Of at most so many scores in a round, the square of the sum is at most so many times the sum of the squares.
    scores = np.minimum(record.plays, sizes[one] + sizes[two])
    scores *= np.where((who.parts[one] * who.parts[two]).any(axis=1), 2, 1)
    sums[:, squares] *= scores
    first, second = (_scores(side, least * sizes[place] / scores) for side, place in zip(sums, who.pairs, strict=True))
    low, high = weighted(first, second, rounds, level)
    with np.errstate(invalid="ignore"):
        value = first.rewards / first.plays - second.rewards / second.plays
    return rounds, kinds, _with_value(low, high, value)


def weighted_means(record: Record, confidence: float) -> tuple[Array, Array]:
    """For each arm the rounds that count, in which every arm that could play had a known chance, and of its mean reward
    in them the value and the ends on the scale [0, 1], (3, arms); NaN where there are none.
    """
    arms = len(record.arms)
    rounds, sums, least = np.zeros(arms), np.zeros((kept.WIDTH, arms)), np.ones(arms)
    for table, rows in _tables(record, None, None):
        if table.able is not None:
            (able,) = available_sets([table.able], arms)
            rounds += able * table.rounds
            sums += able * rows.T
            least = np.where(able, np.minimum(least, table.least), least)
    low, high = weighted_mean(_scores(sums, least), rounds, confidence)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.clip(sums[kept.REWARDS] / sums[kept.WEIGHTS], low, high)
    return rounds, np.where(rounds > 0.0, [np.where(np.isnan(value), (low + high) / 2.0, value), low, high], np.nan)


def _scores(sums: Array, least: Array) -> Scores:
    """The sums of one side, (sums, pairs), as weighted scores."""
    plays, rewards, plays_squared, rewards_squared, squares, open, open_squared = sums[list(SCORED)]
    return Scores(plays, rewards, plays_squared, rewards_squared, squares, open, open_squared, least)


def _apart(who: Compared, tables: Sequence[tuple[Table, Array]], level: float) -> Array:
    """From each arm's own sequence: the ends, as of `_with_value`."""
    sums = sum((rows for _, rows in tables), np.zeros((who.parts.shape[1], kept.WIDTH)))
    (one, two), sizes = who.pairs, (who.parts > 0.0).sum(axis=1)
    own, unknown = Sums(sums[:, kept.KNOWN], sums[:, kept.TOTAL], sums[:, kept.SPREAD]), sums[:, kept.LOST]
    if (sizes == 1).all():
        first, second = (who.parts.argmax(axis=1)[place] for place in who.pairs)
        sides = [Sums(own.count[arms], own.total[arms], sums[arms, kept.SPREAD]) for arms in (first, second)]
        low, high = difference(sides[0], sides[1], level, (unknown[first], unknown[second]))
    else:
        low, high = np.zeros((2, len(one)))
        for number in np.unique(sizes[one] + sizes[two]).tolist():  # of arms whose intervals must hold at once
            least, most = (who.parts @ end for end in mean(own, simultaneous(level, number), unknown))
            mine = sizes[one] + sizes[two] == number
            low[mine], high[mine] = (least[one] - most[two])[mine], (most[one] - least[two])[mine]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(who.parts > 0.0, who.parts * (sums[:, kept.TOTAL] / sums[:, kept.KNOWN]), 0.0).sum(axis=1)
    return _with_value(low, high, means[one] - means[two])


def _with_value(low: Array, high: Array, value: Array) -> Array:
    """(3, pairs), the ends of differences, and their values; where there is none, the middle."""
    return np.array([low, high, np.where(np.isfinite(value), value, (low + high) / 2.0)])


def _changed(record: Record) -> dict[str, Mask]:
    """The arms of which a change of the mean was found, each with its place as a mask."""
    evidence = record.policy.evidence
    changes = None if evidence is None else evidence.changes(record.state)
    places = [] if changes is None else np.flatnonzero(np.asarray(changes) > 0.0).tolist()
    return {record.names[place]: np.arange(len(record.arms)) == place for place in places}


def _claimed(apart: bool, kinds: Mask, changed: Sequence[str], common: Sequence[str]) -> tuple[Claim, tuple[str, ...]]:
    """What is claimed of a difference, and its premises, or why nothing is claimed."""
    if apart and changed:
        return "not_claimed", tuple(f"a change of the mean reward of {arm} was found" for arm in changed)
    premises = [*common]
    if apart:
        premises.append(STEADY)
    else:
        premises += ["nothing common changed within a lease"] * bool(kinds[0])
        premises += ["a unit that comes again earns like a new one"] * bool(kinds[1])
    return ("holds_if" if premises else "holds"), tuple(premises)
