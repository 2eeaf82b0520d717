"""An allocation in memory: its bandit after some event, and the events that are not yet written."""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from evenhand.core.errors import StateError
from evenhand.online.bandit.bandit import Bandit
from evenhand.online.bandit.memory import label_of
from evenhand.online.bandit.replay import Recorder
from evenhand.online.bandit.saving import DAMAGE
from evenhand.online.store import tables
from evenhand.online.store.database import Database
from evenhand.online.store.errors import UnknownAllocation
from evenhand.online.store.events import EVENTS, Event, bandit_from, encode, fold, linked

LOG = logging.getLogger("evenhand.store")
SNAPSHOT_EVERY = 20_000  # events, the most that a start has to replay
CHUNK = 5_000  # events per read
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # of an allocation


@dataclass(slots=True)
class Allocation:
    """An allocation in memory.

    Attributes:
        id: of the allocation in the database.
        name: of the allocation.
        bandit: after the event ``sequence``.
        sequence: of the last event.
        closed: whether it decides no more.
        snapshot: sequence of the event after which the last snapshot was written.
        chain: of the last event that is in the database; see `evenhand.online.store.events.chained`.
        recorder: says what events must record of the memories of the policy's parts.
        unwritten: events that are not yet in the database.
    """

    id: int
    name: str
    bandit: Bandit
    sequence: int
    closed: bool
    snapshot: int
    chain: str
    recorder: Recorder = field(init=False)
    unwritten: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.bandit)

    def record(
        self, kind: str, time: float, round: int | None, body: Mapping[str, Any], key: str | None = None
    ) -> None:
        """Record an event that the bandit has applied, and the id of the API key that caused it."""
        self.sequence += 1
        if memory := self.recorder.changes():
            body = {**body, "memory": memory}
        self.unwritten.append(Event(self.sequence, time, kind, round, body, key=key))

    def expire(self, now: float) -> None:
        """Close the decisions whose window has passed."""
        if self.bandit.due(now):
            self.record("expire", now, None, {"closed": self.bandit.expire(now)})

    def is_current(self, connection: Connection, id: int) -> bool:
        """Whether the last event is still in the database; it is not where the allocation was restored or erased."""
        table = tables.events.c
        where = (table.allocation == id, table.sequence == self.sequence)
        return connection.execute(select(table.chain).where(*where)).scalar() == self.chain

    def catch_up(self, connection: Connection, sequence: int) -> None:
        """Replay the events up to ``sequence`` that other processes have written."""
        if sequence > self.sequence:
            for event in read_events(connection, self.id, self.sequence, sequence, self.chain):
                self.closed = fold(self.bandit, event, self.closed)
                self.sequence, self.chain = event.sequence, event.chain
            self.recorder.mark()
        if sequence != self.sequence:
            raise StateError(f"there should be {sequence} events, but only the first {self.sequence} exist")

    def flush(self, connection: Connection) -> None:
        """Write the unwritten events."""
        if not self.unwritten:
            return
        rows = []
        for event in self.unwritten:
            rows.append(event.row(self.id, self.chain))
            self.chain = rows[-1]["chain"]
        connection.execute(insert(tables.events), rows)
        self.unwritten = []
        connection.execute(
            update(tables.allocations)
            .where(tables.allocations.c.id == self.id)
            .values(**row_values(self.bandit, self.sequence, self.closed))
        )

    def is_snapshot_due(self, every: int) -> bool:
        """Whether a snapshot is due; the more pending decisions it would hold, the rarer it is written."""
        return self.sequence - self.snapshot >= max(every, 2 * len(self.bandit.pending.waiting))

    def write_snapshot(self, connection: Connection) -> None:
        """Write the whole state of the bandit, in place of earlier snapshots."""
        state = {"bandit": self.bandit.dump(), "closed": self.closed}
        packed = zlib.compress(encode(state).encode(), level=1)
        connection.execute(delete(tables.snapshots).where(tables.snapshots.c.allocation == self.id))
        row = {"allocation": self.id, "sequence": self.sequence, "state": packed}
        connection.execute(insert(tables.snapshots), row)
        self.snapshot = self.sequence


def row_values(bandit: Bandit, sequence: int, closed: bool) -> dict[str, Any]:
    """What the row of an allocation says of its bandit after an event, beside its name and its time of creation."""
    return {
        "algorithm": label_of(bandit.algorithm)[:100],
        "arms": len(bandit.names) - len(bandit.retired),
        "sequence": sequence,
        "round": int(bandit.state.round),
        "closed": closed,
    }


def read_events(connection: Connection, id: int, after: int, until: int, chain: str = "") -> Iterator[Event]:
    """The events of an allocation from after one up to another, in order.

    Args:
        connection: of a transaction.
        id: of the allocation.
        after: the sequence of the event before the first.
        until: the sequence of the last.
        chain: of the event ``after``; empty for none.

    Raises:
        StateError: one is missing, edited or damaged.
    """
    table = tables.events.c
    query = EVENTS.order_by(table.sequence)
    while after < until:
        end = min(after + CHUNK, until)
        where = (table.allocation == id, table.sequence > after, table.sequence <= end)
        for event in linked(connection.execute(query.where(*where)).all(), after, chain):
            yield event
            chain = event.chain
        after = end


def all_events(database: Database, id: int) -> Iterator[Event]:
    """All events of an allocation so far, in order, read in short transactions, however long the reader takes."""
    table = tables.allocations.c
    with database.transaction(writes=False) as connection:
        last = connection.execute(select(table.sequence).where(table.id == id)).scalar_one()
    chain = ""
    for after in range(0, last, CHUNK):
        with database.transaction(writes=False) as connection:
            events = list(read_events(connection, id, after, min(after + CHUNK, last), chain))
        yield from events
        chain = events[-1].chain if events else chain


def row_of(connection: Connection, name: str, lock: bool = False) -> Row[int, int, int]:
    """The id of an allocation, its last event and its last round; with a lock no other process can write.

    Raises:
        UnknownAllocation: there is no allocation of that name.
    """
    table = tables.allocations
    row = None
    if NAME.fullmatch(name):  # not every string can be used in a query
        query = select(table.c.id, table.c.sequence, table.c.round).where(table.c.name == name)
        row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise UnknownAllocation(f"there is no allocation {name!r}")
    return row


def from_snapshot(connection: Connection, id: int, name: str, until: int) -> Allocation:
    """The allocation at its last snapshot up to an event; without one that can be read, after its first event."""
    table, events = tables.snapshots.c, tables.events.c
    same = (events.allocation == table.allocation) & (events.sequence == table.sequence)
    where = (table.allocation == id, table.sequence <= until)
    query = select(table.sequence, table.state, events.chain).join_from(tables.snapshots, tables.events, same)
    row = connection.execute(query.where(*where).order_by(table.sequence.desc()).limit(1)).one_or_none()
    if row is not None:
        try:
            state = json.loads(zlib.decompress(row.state))
            bandit = Bandit.restored(state["bandit"])
        except (*DAMAGE, zlib.error) as error:  # the events suffice
            LOG.warning(
                "the snapshot of %s is damaged; replaying all events: %s: %s", name, type(error).__name__, error
            )
        else:
            return Allocation(id, name, bandit, row.sequence, bool(state["closed"]), row.sequence, row.chain)
    return from_first_event(connection, id, name)


def from_first_event(connection: Connection, id: int, name: str) -> Allocation:
    """The allocation right after its first event, which created it."""
    first = next(read_events(connection, id, 0, 1), None)
    if first is None:
        raise StateError(f"allocation {name!r} has no events")
    return Allocation(id, name, bandit_from(first), 1, False, 1, first.chain)
