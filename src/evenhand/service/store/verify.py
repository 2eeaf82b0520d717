"""Whether a database holds what its events say; reads only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select, text

from evenhand.bandit import saved
from evenhand.bandit.decisions import decided_again
from evenhand.bandit.lease_rounds import planned
from evenhand.bandit.record import Record
from evenhand.bandit.saved import DAMAGE, FORMAT
from evenhand.core.errors import MissingPart, StateError
from evenhand.core.version import __version__
from evenhand.service.store import tables
from evenhand.service.store.allocation import row_values
from evenhand.service.store.arms import read_names
from evenhand.service.store.database import Database
from evenhand.service.store.errors import UnknownAllocation
from evenhand.service.store.events import Event, created_by, fold
from evenhand.service.store.reader import START, Place, found, linked, next_rows
from evenhand.service.store.snapshots import Snapshot, unpacked


@dataclass(frozen=True)
class Verification:
    """What was found."""

    events: dict[str, int]
    since: dict[str, int]
    faults: tuple[str, ...]


def verify(database: Database, names: Sequence[str] = (), redecide: bool = False) -> Verification:
    """Apply all events again, and compare the result with everything else that the database says.

    Args:
        database: is only read.
        names: of allocations; all, and the database's own consistency, where there is none.
        redecide: whether to decide every round again as well, and compare; equal decisions can be expected only of a
            computer with a like processor, the same NumPy, and the same version of Evenhand.

    Returns:
        The number of verified events by allocation, since which round each has its events, and the faults that were
            found.

    Raises:
        EvenhandError: it is not a database of the service, or one of a later version.
        UnknownAllocation: there is no allocation of a given name.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> answer = store.run("drinks", Decide(count=3))
        >>> verify(store.database)
        Verification(events={'drinks': 4}, since={'drinks': 1}, faults=())
        >>> store.close()
    """
    database.check_version()
    events: dict[str, int] = {}
    since: dict[str, int] = {}
    faults: list[str] = []
    with database.transaction(writes=False) as connection:
        if not names:
            faults += _database_faults(connection)
        for row in _rows(connection, names):
            replay = _Replay(connection, row, redecide)
            found = list(replay.faults())
            faults += [f"allocation {row.name!r}: {fault}" for fault in found]
            if not found:
                events[row.name], since[row.name] = replay.events, replay.since
    return Verification(events, since, tuple(faults))


def _rows(connection: Connection, names: Sequence[str]) -> list[Row[Any]]:
    rows = connection.execute(select(tables.allocations).order_by(tables.allocations.c.name)).all()
    known = {row.name: row for row in rows}
    for name in names:
        if name not in known:
            raise UnknownAllocation(f"there is no allocation {name!r}")
    return [known[name] for name in names] if names else list(rows)


def _database_faults(connection: Connection) -> Iterator[str]:
    """What is wrong with the file, and rows that belong to no allocation."""
    if connection.dialect.name == "sqlite":
        for (line,) in connection.execute(text("PRAGMA integrity_check(10)")):
            if line != "ok":
                yield f"SQLite reports that the file is damaged: {line}"
    known = select(tables.allocations.c.id)
    for table in (tables.arms, tables.events, tables.snapshots, tables.answers, tables.webhooks, tables.deliveries):
        count = connection.execute(
            select(func.count()).select_from(table).where(table.c.allocation.not_in(known))
        ).scalar_one()
        if count:
            yield f"{count:,} rows of {table.name} belong to no allocation"


class _Replay:
    """Applies the events of an allocation again, and compares."""

    def __init__(self, connection: Connection, row: Row[Any], redecide: bool) -> None:
        self._connection, self._row, self._redecide = connection, row, redecide
        self._stated = 0  # round up to which events were replaced by a state
        self.events, self.since = 0, 1

    def faults(self) -> Iterator[str]:
        """What is wrong; what follows from an earlier fault is left out."""
        table = tables.snapshots.c
        query = select(table.sequence, table.state).where(table.allocation == self._row.id)
        snapshots = {snapshot.sequence: snapshot.state for snapshot in self._connection.execute(query)}
        bandit: Record | None = None
        first: Event | None = None
        last: Event | None = None
        closed = False
        try:
            names = read_names(self._connection, self._row.id)
            for last in _events(self._connection, self._row.id, names):
                first = first or last
                if self._redecide and bandit is not None and last.kind in REDECIDED:
                    yield from REDECIDED[last.kind](bandit, last)
                bandit, closed = fold(bandit, last, closed)
                if last.kind == "state":
                    self._stated = int(bandit.state.round)
                if last.sequence in snapshots:
                    yield from _snapshot_faults(snapshots.pop(last.sequence), last, bandit, closed)
                self.events += 1
        except (MissingPart, StateError) as error:
            yield str(error)
            return
        if bandit is None or first is None or last is None:
            yield "it has no events"
            return
        self.since = (first.round or 0) + 1
        yield from _row_faults(self._row, bandit, first, last, closed)
        for sequence in snapshots:
            yield f"there is a snapshot after event {sequence}, but no such event"
        if bandit.names != names:
            yield f"{len(names):,} arms have a name, but its events result in {len(bandit.names):,} arms"
        yield from _answer_faults(self._connection, self._row.id, self._stated, names)


def _events(connection: Connection, id: int, names: Sequence[str]) -> Iterator[Event]:
    """All events of an allocation, each checked to follow the one before."""
    at = START
    while rows := next_rows(connection, id, at.sequence):
        for event in linked(rows, at, names):
            at = Place(event.sequence, event.chain)
            yield event


def _redecided(bandit: Record, event: Event) -> Iterator[str]:
    body = event.body
    decision = decided_again(bandit, body.get("available"), body.get("silent", False))
    arms = {bandit.names[place] for place in np.flatnonzero(decision.played).tolist()}
    if arms != set(body["arms"]):
        yield (
            f"event {event.sequence}: round {event.round} was decided for {', '.join(body['arms'])}, but this computer "
            f"and version decide for {', '.join(sorted(arms))}"
        )


def _leased_again(bandit: Record, event: Event) -> Iterator[str]:
    body = event.body
    plan = planned(bandit, body["decisions"], bandit.arms.available(body.get("available")))
    counts = {bandit.names[place]: count for place, count in enumerate(plan.counts.tolist()) if count}
    if counts != dict(zip(body["arms"], body["counts"], strict=True)) or plan.start != body["start"]:
        yield f"event {event.sequence}: the lease of round {event.round} is not the one that this computer grants"


REDECIDED = {"decide": _redecided, "lease": _leased_again}  # how events of a kind are decided again


def _snapshot_faults(packed: bytes, last: Event, bandit: Record, closed: bool) -> Iterator[str]:
    try:
        snapshot = unpacked(packed, bandit.names)
        if snapshot.bandit["format"] != FORMAT:  # of another version, which the events replace
            return
        restored = saved.dump(saved.restored(snapshot.bandit))
    except DAMAGE as error:
        yield f"the snapshot after event {last.sequence} is damaged: {error}"
        return
    if snapshot.versions != (__version__,):  # a later version may count otherwise, and go on from what was counted
        return
    expected = Snapshot(last.sequence, last.chain, closed, saved.dump(bandit), snapshot.versions)
    if replace(snapshot, bandit=restored) != expected:
        yield f"the snapshot after event {last.sequence} differs from the state that the events result in"


def _row_faults(row: Row[Any], bandit: Record, first: Event, last: Event, closed: bool) -> Iterator[str]:
    """Where the row of an allocation says something else than its events."""
    created = created_by(first)["created"]
    expected = row_values(bandit, last.sequence, last.chain, closed) | {"created": created}
    for name, value in expected.items():
        if getattr(row, name) != value:
            yield f"its {name} is recorded as {getattr(row, name)!r}, but its events result in {value!r}"


def _answer_faults(connection: Connection, id: int, stated: int, names: Sequence[str]) -> Iterator[str]:
    """Answers to idempotency keys that say something else than the events; not those of rounds without events."""
    answers = select(tables.answers.c.key, tables.answers.c.body).where(tables.answers.c.allocation == id)
    for key, body in connection.execute(answers.order_by(tables.answers.c.key)):
        try:
            wrong = list(_unfounded(connection, id, json.loads(body), stated, names))
        except DAMAGE as error:
            wrong = [f"it is damaged: {error!r}"]
        for what in wrong:
            yield f"the answer to the idempotency key {key!r} differs from the events: {what}"


def _unfounded(connection: Connection, id: int, answer: Any, stated: int, names: Sequence[str]) -> Iterator[str]:
    """The parts of an answer that no event bears out; up to the round ``stated`` there need not be any event."""
    if "step" in answer:
        yield from _unfounded_lease(connection, id, answer, stated, names)
        return
    for decision in answer.get("decisions", ()):
        found, arms = (
            _bodies(connection, id, names, "decide", decision["round"]),
            [one["arm"] for one in decision["arms"]],
        )
        if not found and decision["round"] <= stated:
            continue
        if [body["arms"] for body in found] != [arms] or decision["id"] != str(decision["round"]):
            yield f"decision {decision['id']}"
        elif [one["propensity"] for one in decision["arms"]] != found[0].get("propensity", [None] * len(arms)):
            yield f"the propensities of decision {decision['id']}"
    for result in answer.get("results", ()):
        if result["status"] in ("accepted", "late") and int(result["decision"]) > stated:
            found = _bodies(connection, id, names, "reward", int(result["decision"]))
            status = {arm: "late" if arm in body["late"] else "accepted" for body in found for arm in body["rewards"]}
            if status.get(result["arm"]) != result["status"]:
                yield f"the reward of arm {result['arm']!r} for decision {result['decision']}"
    if "status" in answer and answer["round"] > stated and not _bodies(connection, id, names, "total", answer["round"]):
        yield f"the total of round {answer['round']}"
    if (
        answer.get("changed")
        and answer["round"] > stated
        and not _bodies(connection, id, names, "change", answer["round"])
    ):
        yield f"the change after round {answer['round']}"


def _unfounded_lease(connection: Connection, id: int, lease: Any, stated: int, names: Sequence[str]) -> Iterator[str]:
    arms = [[one["arm"] for one in lease["arms"]], [one["count"] for one in lease["arms"]]]
    found = _bodies(connection, id, names, "lease", lease["round"])
    if found and [[body["arms"], body["counts"]] for body in found] != [arms]:
        yield f"the counts of lease {lease['id']}"
    elif not found and lease["round"] > stated:
        yield f"lease {lease['id']}"


def _bodies(connection: Connection, id: int, names: Sequence[str], kind: str, round: int) -> list[Any]:
    table = tables.events.c
    where = (table.allocation == id, table.round == round, table.kind == kind)
    return [event.body for event in found(connection, names, *where)]
