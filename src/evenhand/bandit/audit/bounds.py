"""The lines of groups, and of the arms with a cap, in an audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from evenhand.bandit.ledger import InSegment
from evenhand.bandit.record import Record
from evenhand.bandit.segments import Segments
from evenhand.judgement.sentences import WHOLE
from evenhand.messages.lines import BoundLine, SegmentLine
from evenhand.policy.accounts import Accounts
from evenhand.policy.groups import Bounds, caps_of, floors_of, membership
from evenhand.policy.part import Places


def bounds_of(record: Record) -> tuple[BoundLine, ...]:
    """A line for each group, for each arm that is not retired and has a cap, and for each share in a segment."""
    within = () if record.segments is None else tuple(_within(record, record.segments))
    if not record.policy.fairness.traits.limits:
        return within
    return (*_groups(record), *_caps(record), *within)


def _within(record: Record, segments: Segments) -> Iterator[BoundLine]:
    """A line for each share that is promised in a segment, of the rounds of that segment."""
    for holder, least in segments.held().items():
        assert isinstance(holder, InSegment)
        name, arm = holder
        row = segments.place(name)
        since = int(segments.accounts.rounds[row, arm])
        rounds = int(segments.rounds[row]) - since
        made = int(segments.plays[row, arm] - segments.accounts.plays[row, arm])
        owed, share = segments.owed(row).item(arm), made / rounds if rounds else None
        arms = (record.names[arm],)
        counts = (since, rounds, made, share, owed, None, segments.available(row, arm))
        yield BoundLine(arms[0], "segment", arms, least, None, *counts, segment=name)


def waiting_of(record: Record) -> Iterator[tuple[tuple[str, str], float]]:
    """More than a play that is owed to an arm in a segment where nothing is promised to it now."""
    segments = record.segments
    for row, name in enumerate(() if segments is None else segments.names):
        assert segments is not None
        owed = segments.owed(row)
        rests = record.arms.active[: len(owed)] & (segments.shares[row] == 0.0) & (owed > WHOLE)
        yield from (((record.names[arm], name), owed.item(arm)) for arm in np.flatnonzero(rests).tolist())


def segments_of(record: Record, places: Places) -> tuple[SegmentLine, ...]:
    """What some arms got in each segment."""
    segments = record.segments
    if segments is None:
        return ()
    counts = (segments.plays, segments.shares, segments.known, segments.sums)
    rows = zip(segments.names, segments.rounds, *(table[:, places].tolist() for table in counts), strict=True)
    return tuple(
        SegmentLine(name, int(rounds), tuple(map(int, plays)), tuple(shares), tuple(map(int, known)), tuple(sums))
        for name, rounds, plays, shares, known, sums in rows
    )


def _groups(record: Record) -> Iterator[BoundLine]:
    groups, state, names = record.policy.groups, record.state, record.names
    if not groups:
        return
    bounds: Bounds = state.fairness
    plays = state.tally.pulls @ membership(groups, len(names))
    owed = bounds.groups.owed(floors_of(groups), state.round, plays)
    room = bounds.group_caps.owed(caps_of(groups), state.round, plays)
    for place, group in enumerate(groups):
        arms, most = tuple(names[arm] for arm in group["arms"]), group["at_most"]
        excess = None if most is None else -room.item(place)
        accounts = [bounds.groups] * (group["at_least"] > 0.0) + [bounds.group_caps] * (most is not None)
        least, behind = group["at_least"], owed.item(place) if group["at_least"] else 0.0
        yield _line(record, group["name"], "group", arms, (least, most), accounts, place, plays, behind, excess)


def _caps(record: Record) -> Iterator[BoundLine]:
    names, caps, state = record.names, record.policy.caps, record.state
    if caps is None:
        return
    limits, bounds = np.broadcast_to(caps, len(names)), state.fairness
    pulls, owed, fractions = state.tally.pulls, record.owed(), record.fractions
    room = bounds.caps.owed(limits, state.round, pulls)
    for arm in np.flatnonzero((limits < 1.0) & record.arms.active).tolist():  # that of a retired arm rests
        floor = 0.0 if fractions is None else fractions.item(arm)
        accounts = [state.begun] * (floor > 0.0) + [bounds.caps]
        limit = (floor, limits.item(arm))
        behind = owed.item(arm) if floor else 0.0
        yield _line(record, names[arm], "arm", (names[arm],), limit, accounts, arm, pulls, behind, -room.item(arm))


def _line(
    record: Record,
    name: str,
    kind: Literal["group", "arm"],
    arms: tuple[str, ...],
    bounds: tuple[float, float | None],
    accounts: list[Accounts],
    place: int,
    plays: np.ndarray,
    owed: float,
    excess: float | None,
) -> BoundLine:
    """A line, counted since the last of its promises began."""
    begun = max(accounts, key=lambda account: account.rounds.item(place), default=None)
    since = 0 if begun is None else int(begun.rounds.item(place))
    rounds = record.state.round - since
    made = int(plays.item(place) - (0.0 if begun is None else begun.plays.item(place)))
    share = made / rounds if rounds else None
    return BoundLine(name, kind, arms, *bounds, since, rounds, made, share, owed, excess)
