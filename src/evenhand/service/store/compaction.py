"""Retention: the events of an allocation before a time are replaced by one that holds the state after them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from evenhand.bandit.record import Record
from evenhand.core.errors import StateError
from evenhand.service.store import features, seals, tables
from evenhand.service.store.allocation import all_events, first_event, row_of
from evenhand.service.store.arms import read_names
from evenhand.service.store.checked import isolated
from evenhand.service.store.database import PURGE, Database, delete_rows, owe
from evenhand.service.store.events import Event, fold, stated
from evenhand.service.store.reader import CHUNK, Place, damage_as_state_error, has_event

COMPACT = "compact"  # work that is owed, with the id of an allocation and the sequence of its state


@dataclass(frozen=True)
class Compacted:
    """What became of the events of an allocation."""

    removed: int
    since: int


def compact(database: Database, name: str, before: float) -> Compacted:
    """Replace the events of an allocation before a time by one that holds the state after them.

    Rewards of the decisions that it has are taken as before, those of earlier ones are answered with ``unknown``; their
    features are erased, and so are answers of that time. Events are replayed first, so that no damaged one is removed.
    """
    with database.transaction(writes=False) as connection, isolated(database, name):
        row = row_of(connection, name)
        last = _last_before(connection, row.id, before)
        first = first_event(connection, row.id, read_names(connection, row.id))
    if last <= first.sequence:
        return Compacted(0, (first.round or 0) + 1 if first.kind == "state" else 1)
    with isolated(database, name, row.id), damage_as_state_error():
        bandit, state = _state_after(database, row.id, last)
    waiting = list(map(int, bandit.pending.waiting))
    with database.transaction(writes=True) as connection:
        same = row_of(connection, name, lock=True).id == row.id
        if not same or not has_event(connection, row.id, Place(state.sequence, state.chain)):
            raise StateError(f"allocation {name!r} was restored or erased in the meantime; try again")
        delete_rows(connection, tables.events, row.id, tables.events.c.sequence == last)
        connection.execute(insert(tables.events), state.row(row.id, before="", place=bandit.arms.place))
        delete_rows(connection, tables.snapshots, row.id, tables.snapshots.c.sequence < last)
        owe(connection, f"{COMPACT} {row.id} {last}")
        if bandit.contexts is not None:
            features.erase(connection, row.id, state.round or 0, waiting)
            seals.forget_answers(connection, row.id, before)
            owe(connection, PURGE)
    if bandit.contexts is not None:
        database.purge()
    return Compacted(_remove_before(database, row.id, last) + 1, (state.round or 0) + 1)


def _last_before(connection: Connection, id: int, time: float) -> int:
    """The sequence of the last event before the first one at a time or later; 0 for none."""
    table = tables.events.c
    later = select(table.sequence).where(table.allocation == id, table.time >= time)
    first = connection.execute(later.order_by(table.sequence).limit(1)).scalar()
    if first is not None:
        return int(first) - 1
    return int(connection.execute(select(func.max(table.sequence)).where(table.allocation == id)).scalar_one())


def _state_after(database: Database, id: int, last: int) -> tuple[Record, Event]:
    """The bandit after an event, and the event that replaces all events up to it."""
    bandit: Record | None = None
    first: Event | None = None
    event: Event | None = None
    closed, sealed = False, dict[int, str]()
    for event in all_events(database, id, until=last):
        first = first or event
        bandit, closed = fold(bandit, event, closed)
        sealed |= features.seals_in(event)
    if bandit is None or first is None or event is None or event.sequence != last:
        raise StateError(f"event {last} is missing")
    kept = {round: sealed[round] for round in map(int, bandit.pending.waiting) if round in sealed}
    return bandit, stated(bandit, closed, event, first, 1, kept)


def _remove_before(database: Database, id: int, sequence: int) -> int:
    """Remove the events before one, the last ones first, so that those which are there always follow each other."""
    table, removed = tables.events.c, 0
    while True:
        with database.transaction(writes=True) as connection:
            query = select(table.sequence).where(table.allocation == id, table.sequence < sequence)
            last = query.order_by(table.sequence.desc()).offset(CHUNK - 1).limit(1)
            first = connection.execute(last).scalar() or 0
            found = delete_rows(connection, tables.events, id, table.sequence < sequence, table.sequence >= first)
            if found < CHUNK:
                done = tables.owed.c.work == f"{COMPACT} {id} {sequence}"
                connection.execute(delete(tables.owed).where(done))
        removed += found
        if found < CHUNK:
            return removed


def resume(database: Database) -> None:
    """Do what another process has left undone after a commit: remove replaced events, and purge the file."""
    with database.transaction(writes=False) as connection:
        left = [str(work) for (work,) in connection.execute(select(tables.owed.c.work))]
    for work in left:
        if work == PURGE:
            database.purge()
        else:
            _, id, sequence = work.split()
            _remove_before(database, int(id), int(sequence))
