"""An allocation in memory: its bandit after some event, and the events that are not yet written down."""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from evenhand.errors import StateError
from evenhand.online.bandit import DAMAGE, Bandit
from evenhand.online.store import tables
from evenhand.online.store.database import Database
from evenhand.online.store.errors import UnknownAllocation
from evenhand.online.store.events import Event, begun, event_of, replay, strictly

LOG = logging.getLogger("evenhand.store")
SNAPSHOT = 20_000  # events after which the bandit is written down whole, so that a start need not replay more
CHUNK = 5_000  # events that are read at once
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # of an allocation


@dataclass(slots=True)
class Live:
    """An allocation in memory.

    Attributes:
        id: of the allocation in the database.
        name: of the allocation.
        bandit: after the event ``sequence``.
        sequence: of the last event.
        closed: whether it decides no more.
        snapshot: the event after which the bandit was last written down whole.
        fresh: events that are not yet in the database.
    """

    id: int
    name: str
    bandit: Bandit
    sequence: int
    closed: bool
    snapshot: int
    fresh: list[Event] = field(default_factory=list)

    def happened(self, kind: str, time: float, round: int | None, body: Mapping[str, Any]) -> None:
        """An event, which the bandit has been through."""
        self.sequence += 1
        self.fresh.append(Event(self.sequence, time, kind, round, body))

    def expire(self, now: float) -> None:
        """Close the decisions whose window has passed."""
        if self.bandit.due(now):
            self.happened("expire", now, None, {"closed": self.bandit.expire(now)})

    def catch_up(self, connection: Connection, sequence: int) -> None:
        """Go through the events that others have written up to ``sequence``."""
        if sequence > self.sequence:
            for event in read_events(connection, self.id, self.sequence, sequence):
                if event.sequence != self.sequence + 1:
                    break
                self.closed = replay(self.bandit, event, self.closed)
                self.sequence = event.sequence
        if sequence != self.sequence:
            raise StateError(f"there should be {sequence} events, but only the first {self.sequence} are there")

    def flush(self, connection: Connection) -> None:
        """Write the fresh events down."""
        if not self.fresh:
            return
        connection.execute(insert(tables.events), [event.row(self.id) for event in self.fresh])
        self.fresh = []
        connection.execute(
            update(tables.allocations)
            .where(tables.allocations.c.id == self.id)
            .values(
                sequence=self.sequence,
                round=int(self.bandit.state.round),
                arms=len(self.bandit.names) - len(self.bandit.retired),
                closed=self.closed,
            )
        )

    def wants_snapshot(self, every: int) -> bool:
        """Whether it is time to write the bandit down; the more it holds, the longer that takes, and the rarer."""
        return self.sequence - self.snapshot >= max(every, 2 * len(self.bandit.book.waiting))

    def write_snapshot(self, connection: Connection) -> None:
        """Write the bandit down whole, in place of the snapshots before."""
        state = {"bandit": self.bandit.dump(), "closed": self.closed}
        packed = zlib.compress(strictly(state).encode(), level=1)
        connection.execute(delete(tables.snapshots).where(tables.snapshots.c.allocation == self.id))
        row = {"allocation": self.id, "sequence": self.sequence, "state": packed}
        connection.execute(insert(tables.snapshots), row)
        self.snapshot = self.sequence


def read_events(connection: Connection, id: int, after: int, until: int) -> Iterator[Event]:
    """The events of an allocation after one and up to another, in order."""
    table = tables.events.c
    chosen = select(table.sequence, table.time, table.kind, table.round, table.body).order_by(table.sequence)
    while after < until:
        end = min(after + CHUNK, until)
        where = (table.allocation == id, table.sequence > after, table.sequence <= end)
        for row in connection.execute(chosen.where(*where)).all():
            yield event_of(row)
        after = end


def all_events(database: Database, id: int) -> Iterator[Event]:
    """All events of an allocation so far, in order, in short transactions: whoever reads them may take his time."""
    table = tables.allocations.c
    with database.transaction(writes=False) as connection:
        last = connection.execute(select(table.sequence).where(table.id == id)).scalar_one()
    for after in range(0, last, CHUNK):
        with database.transaction(writes=False) as connection:
            events = list(read_events(connection, id, after, min(after + CHUNK, last)))
        yield from events


def row_of(connection: Connection, name: str, lock: bool = False) -> Row[int, int, int]:
    """The id of an allocation, its last event and its last round; with a lock nobody else writes meanwhile.

    Raises:
        UnknownAllocation: there is none of that name.
    """
    table = tables.allocations
    row = None
    if NAME.fullmatch(name):  # not every text can be asked for in a database
        chosen = select(table.c.id, table.c.sequence, table.c.round).where(table.c.name == name)
        row = connection.execute(chosen.with_for_update() if lock else chosen).one_or_none()
    if row is None:
        raise UnknownAllocation(f"there is no allocation {name!r}")
    return row


def recalled(connection: Connection, id: int, name: str, until: int) -> Live:
    """The allocation as its last snapshot up to an event has it; without one that can be read, as it began."""
    table = tables.snapshots.c
    where = (table.allocation == id, table.sequence <= until)
    chosen = select(table.sequence, table.state).where(*where).order_by(table.sequence.desc())
    row = connection.execute(chosen.limit(1)).one_or_none()
    if row is not None:
        try:
            state = json.loads(zlib.decompress(row.state))
            bandit = Bandit.restored(state["bandit"])
        except (*DAMAGE, zlib.error) as error:  # the events tell it all
            LOG.warning("the snapshot of %s is damaged, so all is replayed: %s: %s", name, type(error).__name__, error)
        else:
            return Live(id, name, bandit, row.sequence, bool(state["closed"]), row.sequence)
    return from_start(connection, id, name)


def from_start(connection: Connection, id: int, name: str) -> Live:
    """The allocation right after its first event, which made it."""
    first = next(read_events(connection, id, 0, 1), None)
    if first is None:
        raise StateError(f"allocation {name!r} has no events")
    return Live(id, name, begun(first), 1, False, 1)
