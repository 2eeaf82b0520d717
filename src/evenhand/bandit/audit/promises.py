"""The ledger of a bandit as an audit shows it: the promises that have ended, and those of today."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand.bandit.changes import promises_of
from evenhand.bandit.ledger import PLAY, Entry, InSegment, Kind, called, segment_of
from evenhand.bandit.record import Record
from evenhand.messages.answers import moment
from evenhand.messages.lines import PromiseLine
from evenhand.policy.groups import membership

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
    """For each group its arms, and the plays that it was promised so far and got; for each largest share that was used
    up the arms, and the plays that it left to others.
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
