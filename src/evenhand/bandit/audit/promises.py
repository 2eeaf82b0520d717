"""The promises of a bandit as an audit shows them: those that have ended, those of today, groups, caps and segments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from evenhand.bandit.changes import promises_of
from evenhand.bandit.ledger import PLAY, Entry, InSegment, Kind, called, segment_of
from evenhand.bandit.record import Record
from evenhand.bandit.segments import Segments
from evenhand.judgement.sentences import WHOLE
from evenhand.messages.answers import moment
from evenhand.messages.lines import BoundLine, PromiseLine, SegmentLine
from evenhand.policy.accounts import Accounts
from evenhand.policy.groups import Bounds, caps_of, floors_of, membership
from evenhand.policy.part import Places

SHOWN = 1000  # promises that have ended, and as many of today
MEMORIES: dict[Kind, str] = {"cap": "caps", "group": "groups", "group_cap": "group_caps"}  # in `Bounds`


def ledger_of(record: Record) -> tuple[PromiseLine, ...]:
    """The last promises that have ended, and then those of today."""
    ends = {(change.round, change.time): change.reason for change in record.changes}
    ended = [
        _line(record, entry, entry.until, ends.get((entry.until, entry.ended), ""))
        for entry in record.ledger.entries[-SHOWN:]
    ]
    return (*ended, *[_line(record, entry, None) for entry in list(present(record))[-SHOWN:]])


def present(record: Record) -> Iterator[Entry]:
    """The promises of today, as they would be written down if they ended now and all went on."""
    state, groups = record.state, record.policy.groups
    for kind, promised in promises_of(record).items():
        if not promised:
            continue
        if kind == "segment" and record.segments is not None:
            yield from record.segments.entries(record.ledger)
            continue
        places, plays = [one for one in promised if isinstance(one, int)], state.tally.pulls
        if kind in ("group", "group_cap"):
            plays = plays @ membership(groups, len(record.names))
            places = [place for place, group in enumerate(groups) if group["name"] in promised]
        accounts = (getattr(state.fairness, MEMORIES[kind]) if kind in MEMORIES else state.begun).places(places)
        shares, sign = np.array(list(promised.values())), -1 if kind in ("cap", "group_cap") else 1
        owed = accounts.owed_exactly(shares, state.round, plays[places]).tolist()
        counts, since = (plays[places] - accounts.plays).tolist(), accounts.rounds.tolist()
        for (holder, share), behind, count, first in zip(promised.items(), owed, counts, since, strict=True):
            began = record.ledger.opening(kind, holder)
            made, at = int(count) - began.returned, (int(first), state.round, began.time, 0.0)
            owing = int(sign * behind)
            flow = (owing, owing, 0, 0, 0)
            yield Entry(kind, holder, share, *at, made, began.carried, *flow, began.reason, began.key, began.round)


def caused(record: Record) -> tuple[list[tuple[list[int], float]], list[tuple[list[int], float]]]:
    """For each group its arms and the plays that it was promised and got; for each cap that was used up its arms and
    the plays that it left to others.
    """
    groups = {group["name"]: group["arms"] for group in record.policy.groups}
    paid, due, barred = dict.fromkeys(groups, 0), dict.fromkeys(groups, 0), []
    for one in (*(entry for entry in record.ledger.entries if entry.share), *present(record)):
        if isinstance(one.holder, InSegment):
            continue
        places = groups.get(one.holder, []) if isinstance(one.holder, str) else [one.holder]
        if one.kind == "group" and places:
            paid[str(one.holder)] += one.plays
            due[str(one.holder)] += one.due
        elif one.kind in ("cap", "group_cap") and places and one.owed > -PLAY * record.plays:
            barred.append((places, float((one.until - one.since) * min(len(places), record.plays) - one.plays)))
    return [(groups[name], min(paid[name], due[name] / PLAY)) for name in groups], barred


def _line(record: Record, entry: Entry, until: int | None, ended_why: str = "") -> PromiseLine:
    """An entry in plays."""
    brought, owed, carried, forgiven, capped, lapsed = (one / PLAY for one in (entry.brought, *entry[9:14]))
    return PromiseLine(
        name=called(entry.holder, record.names),
        kind=entry.kind,
        share=entry.share,
        since=entry.since if entry.round is None or entry.kind == "segment" else entry.round,
        until=until,
        rounds=entry.until - entry.since,
        plays=entry.plays,
        brought=brought,
        owed=owed,
        carried=carried,
        forgiven=forgiven,
        capped=capped,
        lapsed=lapsed,
        began=None if entry.began is None else moment(entry.began),
        reason=entry.reason,
        key=entry.key,
        ended_why=ended_why,
        segment=segment_of(entry.holder),
    )


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
        yield _bound(record, group["name"], "group", arms, (least, most), accounts, place, plays, behind, excess)


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
        yield _bound(record, names[arm], "arm", (names[arm],), limit, accounts, arm, pulls, behind, -room.item(arm))


def _bound(
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
