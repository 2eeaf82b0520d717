"""An allocation in memory: its bandit after some event, and the events that are not yet written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select

from evenhand.bandit import saved
from evenhand.bandit.changes import use_names
from evenhand.bandit.contexts import Pull
from evenhand.bandit.record import Record
from evenhand.bandit.replay import Recorder
from evenhand.bandit.rewards import close
from evenhand.core.errors import StateError
from evenhand.core.version import __version__
from evenhand.messages.rules import ALLOCATION, matches
from evenhand.service.priority import PRIORITY
from evenhand.service.store import seals, tables
from evenhand.service.store.arms import read_names, write_names
from evenhand.service.store.database import LOG, Chosen, Database, Statement, insert_rows
from evenhand.service.store.errors import UnknownAllocation
from evenhand.service.store.events import Event, bandit_from, elsewhere, fold
from evenhand.service.store.features import Sealed, find
from evenhand.service.store.features import write as write_features
from evenhand.service.store.reader import START, Place, linked, next_rows
from evenhand.service.store.snapshots import Snapshot, last_snapshot

NAMING = ("change", "state")  # kinds of events after which the names of arms may be others


class AllocationRow(NamedTuple):
    """What is stored of an allocation as a whole; its columns have the same names."""

    id: int
    sequence: int
    chain: str
    round: int
    due: float | None
    name: str
    named: int


_OF = tables.allocations.c
ROWS = select(*(_OF[name] for name in AllocationRow._fields))
_BY_NAME = ROWS.where(_OF.name == bindparam("name"))
ONE = Statement(_BY_NAME)
LOCKED = Statement(_BY_NAME.with_for_update(key_share=True))  # rows that refer to it, as snapshots, can be written
FREE = Chosen(ROWS.with_for_update(key_share=True, skip_locked=True), _OF.name)
GOING_ON = ("algorithm", "arms", "sequence", "chain", "round", "closed", "due")  # columns that events change
GONE_ON = Statement(seals.ADDED["answered"].values({name: bindparam(name) for name in GOING_ON}))


@dataclass(slots=True)
class Allocation:
    """An allocation in memory."""

    id: int
    name: str
    names: tuple[str, ...]
    bandit: Record
    sequence: int
    closed: bool
    chain: str
    versions: tuple[str, ...]
    snapshot: int = 0
    work: float = 0.0
    recorder: Recorder = field(init=False)
    unwritten: list[Event] = field(default_factory=list)
    features: dict[int, Sealed] = field(default_factory=dict)  # by round, that are not written yet
    rows: list[dict[str, Any]] = field(default_factory=list)
    flushed: bool = False
    wrote: bool = False

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.bandit)

    def record(
        self, kind: str, time: float, round: int | None, body: Mapping[str, Any], key: str | None = None
    ) -> None:
        """Record an event that the bandit has applied, and the id of the API key that caused it."""
        self.sequence += 1
        if self.recorder.slots and (memory := self.recorder.changes()):
            body = {**body, "memory": memory}
        self.unwritten.append(Event(self.sequence, time, kind, round, body, key=key))

    def keep(self, round: int, pull: Pull, features: object, arms: object) -> str:
        """Keep the features of a decision, to be written with its event; their seal."""
        assert self.bandit.contexts is not None
        self.features[round] = sealed = Sealed.of(pull, self.bandit.contexts, features, arms)
        return sealed.seal

    def fetch(self, connection: Connection, rounds: Iterable[int]) -> None:
        """Have the features of decisions at hand, whose rewards the policy is to learn from."""
        if self.bandit.contexts is not None:
            found = find(connection, self.id, rounds)
            elsewhere(self.bandit).update({round: one.pull() for round, one in found.items()})

    def expire(self, now: float, connection: Connection) -> None:
        """Close the decisions whose window has passed, and take back the leases whose time is over."""
        if self.bandit.due(now):
            self.fetch(connection, map(int, self.bandit.pending.overdue(now)))
            self.record("expire", now, None, close(self.bandit, now))

    def catch_up(self, connection: Connection, row: AllocationRow) -> None:
        """Replay the events up to those that the allocation's row says, which other processes have written."""
        if row.sequence > self.sequence:
            begun = time.thread_time()
            while rows := next_rows(connection, self.id, self.sequence, until=row.sequence):
                if any(one.kind in NAMING for one in rows):
                    self.names = read_names(connection, self.id)
                    use_names(self.bandit, self.names[: len(self.bandit.names)])
                for event in linked(rows, Place(self.sequence, self.chain), self.names):
                    self.bandit, self.closed = fold(self.bandit, event, self.closed)
                    self.sequence, self.chain = event.sequence, event.chain
            self.recorder = Recorder(self.bandit)
            self.work += time.thread_time() - begun
        if row.sequence != self.sequence:
            raise StateError(f"there should be {row.sequence} events, but only the first {self.sequence} exist")
        if row.chain != self.chain:
            raise StateError(f"event {self.sequence} has another checksum than the allocation's row records")

    def flush(self, connection: Connection) -> None:
        """Write the unwritten events before the end of the transaction."""
        write_events(connection, {self.id: self}, {})
        self.flushed = True

    def link(self) -> None:
        """Make the rows of the unwritten events, each with the checksum of the one before."""
        for event in self.unwritten:
            PRIORITY.pause()
            self.rows.append(event.row(self.id, self.chain, self.bandit.arms.place))
            self.chain = self.rows[-1]["chain"]
        self.unwritten = []

    def checksum(self) -> str:
        """Of the last event, also where it is not written yet."""
        chain = self.chain
        for event in self.unwritten:
            chain = str(event.row(self.id, chain, self.bandit.arms.place)["chain"])
        return chain

    def taken(self) -> Snapshot:
        """A snapshot; the next one counts from here."""
        self.snapshot, self.work = self.sequence, 0.0
        return Snapshot(self.sequence, self.chain, self.closed, saved.dump(self.bandit), self.versions)


def write_events(connection: Connection, allocations: Mapping[int, Allocation], answered: Mapping[int, int]) -> None:
    """Write the unwritten events of allocations, by id, and what their rows say then; ``answered`` adds to the seal."""
    events, rows = [], []
    for id, one in allocations.items():
        one.flushed = False
        one.link()
        if one.features:
            write_features(connection, id, one.features)
            one.features = {}
        if one.bandit.contexts is not None:
            elsewhere(one.bandit).clear()
        if one.rows or id in answered:
            one.wrote = one.wrote or bool(one.rows)
            events += one.rows
            values = row_values(one.bandit, one.sequence, one.chain, one.closed)
            rows.append({"of": id, "by": answered.get(id, 0) % seals.LIMIT, **values})
            one.rows = []
        names = one.bandit.arms.names
        if len(one.names) < len(names):
            write_names(connection, id, len(one.names), names[len(one.names) :])
            one.names = names
    if events:
        insert_rows(connection, tables.events, events)
    if rows:
        GONE_ON.write(connection, rows)


def write_new(
    connection: Connection, row: Mapping[str, Any], events: Iterable[dict[str, Any]], names: Sequence[str]
) -> int:
    """Write a new allocation: its row, its events, and the names of its arms; its id."""
    table, named = tables.allocations, {"named": seals.of_name(row["name"])}
    (id,) = connection.execute(insert(table).returning(table.c.id), {**row, **named}).scalars()
    connection.execute(insert(tables.events), [one | {"allocation": id} for one in events])
    write_names(connection, id, 0, names)
    return int(id)


def row_values(bandit: Record, sequence: int, chain: str, closed: bool) -> dict[str, Any]:
    """What the row of an allocation says of its bandit after an event, beside its name and its time of creation."""
    return {
        "algorithm": bandit.label[:100],
        "arms": len(bandit.arms.names) - len(bandit.arms.retired),
        "sequence": sequence,
        "chain": chain,
        "round": int(bandit.state.round),
        "closed": closed,
        "due": bandit.next_due(),
    }


def all_events(database: Database, id: int, until: int | None = None) -> Iterator[Event]:
    """All events of an allocation so far, in order, read in short transactions, however long the reader takes."""
    table, at = tables.allocations.c, START
    with database.transaction(writes=False) as connection:
        names = read_names(connection, id)
        if until is None:
            until = connection.execute(select(table.sequence).where(table.id == id)).scalar_one()
    while at.sequence < until:
        with database.transaction(writes=False) as connection:
            rows = next_rows(connection, id, at.sequence, until=until)
        events = list(linked(rows, at, names))
        if not events:
            return
        yield from events
        at = Place(events[-1].sequence, events[-1].chain)


def row_of(connection: Connection, name: str, lock: bool = False) -> AllocationRow:
    """What is stored of an allocation as a whole; with a lock no other process can write."""
    if matches(ALLOCATION, name):  # not every string can be used in a query
        for row in (LOCKED if lock else ONE).rows(connection, {"name": name}):
            return AllocationRow(*row)
    raise UnknownAllocation(f"there is no allocation {name!r}")


def loaded(connection: Connection, row: AllocationRow) -> Allocation:
    """The allocation of a row after its last event: from its last snapshot on, or if there is none from the first."""
    allocation = _begun(connection, row, read_names(connection, row.id))
    allocation.catch_up(connection, row)
    return allocation


def _begun(connection: Connection, row: AllocationRow, names: tuple[str, ...]) -> Allocation:
    """An allocation at its last snapshot; without one that can be read, after its first event."""
    try:
        snapshot = last_snapshot(connection, row.id, row.sequence, names)
        if snapshot is not None:
            bandit, at = saved.restored(snapshot.bandit), snapshot.sequence
            versions = tuple(dict.fromkeys((*snapshot.versions, __version__)))
            return Allocation(row.id, row.name, names, bandit, at, snapshot.closed, snapshot.chain, versions, at)
    except StateError as error:  # the events suffice
        LOG.warning("the snapshot of %s is damaged; replaying all events: %s", row.name, error)
    first = first_event(connection, row.id, names)
    bandit, closed, at = bandit_from(first), bool(first.body.get("closed")), first.sequence
    return Allocation(row.id, row.name, names, bandit, at, closed, first.chain, (__version__,), at)


def first_event(connection: Connection, id: int, names: Sequence[str]) -> Event:
    """The first event that there is of an allocation, whose arms have these names."""
    for event in linked(next_rows(connection, id, 0, limit=1), START, names):
        return event
    raise StateError("it has no events")
