"""Copies of a database, and ways out for one damaged allocation: back to a sound event, to a file and in, or erased."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from evenhand.bandit import saved
from evenhand.bandit.record import Record
from evenhand.core.errors import DataError, EvenhandError, MissingPart, StateError
from evenhand.core.files import whole, write_text
from evenhand.messages.rules import ALLOCATION, matches
from evenhand.service.store import features, seals, tables
from evenhand.service.store.allocation import row_of, row_values, write_new
from evenhand.service.store.arms import read_names
from evenhand.service.store.database import PURGE, Database, delete_rows, owe
from evenhand.service.store.errors import Conflict
from evenhand.service.store.events import Event, created_by, fold, stated
from evenhand.service.store.reader import CHUNK, EVENTS, START, Place, linked, places
from evenhand.service.store.snapshots import last_snapshot

FORMAT = "evenhand events 1"  # first line of a file of events
FIELDS = tuple(column.name for column in EVENTS.selected_columns)


@dataclass
class _Sound:
    """An allocation as far as its events are in order."""

    bandit: Record
    closed: bool
    first: Event  # of the allocation
    last: Event  # in order

    def row(self) -> dict[str, Any]:
        """What the row of the allocation must say."""
        values = row_values(self.bandit, self.last.sequence, self.last.chain, self.closed)
        return values | {"created": created_by(self.first)["created"]}


@dataclass(frozen=True)
class Restored:
    """What became of a damaged allocation."""

    last: int
    removed: int


def restore(database: Database, name: str, removed: Path, from_snapshot: bool | None = None) -> Restored:
    """Bring a damaged allocation to a state in order; the events that are lost to it go to a file.

    There are two ways: *back* to the last event up to which all are in order, or, where there is a sound one after the
    damage, *from the snapshot*, for which an event ``state`` stands in the place of the events before it.
    """
    with database.transaction(writes=True) as connection:
        id = row_of(connection, name, lock=True).id
        rows, names = _rows(connection, id), read_names(connection, id)
        sound, state = _sound(name, rows, names), None
        kept = {row.sequence for row in rows if row.sequence <= sound.last.sequence}
        later = _after_snapshot(connection, id, rows, names, sound) if len(kept) < len(rows) else None
        if from_snapshot is None and later is not None:
            raise EvenhandError(
                f"allocation {name!r} can be restored in two ways: --back returns to event {sound.last.sequence:,} and "
                "loses everything after it; --from-snapshot continues from the snapshot after event "
                f"{later[0].sequence:,}, which keeps all decisions and rewards but not the record of the events between"
            )
        if from_snapshot:
            if later is None:
                raise StateError(f"allocation {name!r} has no sound snapshot after event {sound.last.sequence:,}")
            state, sound = later
            kept |= {row.sequence for row in rows if state.sequence < row.sequence <= sound.last.sequence}
        lost = [row for row in rows if row.sequence not in kept]
        _write(removed, name, names, lost, _fault(rows))
        _replace(connection, id, name, sound, [row.sequence for row in lost], state)
    return Restored(sound.last.sequence, len(lost))


def _replace(
    connection: Connection, id: int, name: str, sound: _Sound, lost: Sequence[int], state: Event | None
) -> None:
    """Remove events, and write a state in the place of some, if there is one."""
    for first in range(0, len(lost), CHUNK):
        delete_rows(connection, tables.events, id, tables.events.c.sequence.in_(lost[first : first + CHUNK]))
    if lost:  # a snapshot of the time before, too, may rest on what was edited
        delete_rows(connection, tables.snapshots, id)
    if state is not None:
        connection.execute(insert(tables.events), state.row(id, before="", place=sound.bandit.arms.place))
    # some may have been added by events that are lost
    delete_rows(connection, tables.arms, id, tables.arms.c.number >= len(sound.bandit.names))
    delete_rows(connection, tables.features, id, tables.features.c.round > int(sound.bandit.state.round))
    if any(sequence > sound.last.sequence for sequence in lost):  # answers may name what was removed
        delete_rows(connection, tables.answers, id)
    delete_rows(connection, tables.summaries, id)
    sums = {"named": seals.named(connection, id, name), "answered": seals.answered(connection, id)}
    connection.execute(update(tables.allocations).where(tables.allocations.c.id == id).values(**sound.row() | sums))


def _after_snapshot(
    connection: Connection, id: int, rows: list[Any], names: Sequence[str], sound: _Sound
) -> tuple[Event, _Sound] | None:
    """The state of the last snapshot after the events in order, and the allocation as far as it goes on from there."""
    try:
        snapshot = last_snapshot(connection, id, rows[-1].sequence, names)
        if snapshot is None or snapshot.sequence <= sound.last.sequence:
            return None
        bandit = saved.restored(snapshot.bandit)
    except StateError:
        return None
    last = Event(snapshot.sequence, sound.last.time, "state", None, {}, snapshot.chain)
    state = stated(bandit, snapshot.closed, last, sound.first, replaces=sound.last.sequence + 1)
    later = [row for row in rows if row.sequence > snapshot.sequence]
    return state, _folded(later, names, _Sound(bandit, snapshot.closed, sound.first, state))


def erase(database: Database, name: str) -> int:
    """Erase an allocation with everything that is stored of it."""
    with database.transaction(writes=True) as connection:
        id = row_of(connection, name, lock=True).id
        removed = {table: delete_rows(connection, table, id) for table in tables.OF_ALLOCATION}
        connection.execute(delete(tables.allocations).where(tables.allocations.c.id == id))
        owe(connection, PURGE)
    database.purge()
    return removed[tables.events]


def export_events(database: Database, name: str, path: Path, personal: bool = False) -> tuple[int, str]:
    """Write all events of an allocation to a file, with the features that they seal; how many, and what is damaged."""
    with database.transaction(writes=False) as connection:
        id = row_of(connection, name).id
        rows, names = _rows(connection, id), read_names(connection, id)
    if not personal and any(row.features for row in rows):
        raise EvenhandError(
            f"allocation {name!r} has features, which may be personal: add --features to write them, too, or erase "
            "them first with `evenhand db compact`"
        )
    _write(path, name, names, rows, fault := _fault(rows))
    return len(rows), fault


def import_events(database: Database, path: Path, name: str) -> int:
    """Make an allocation from a file that `export_events` wrote."""
    if not matches(ALLOCATION, name):
        raise EvenhandError(f"{name!r} cannot be the name of an allocation")
    names, rows = _read(path)
    try:
        sound = _sound(name, rows, names, whole=True)
    except StateError as error:
        raise DataError(f"{path}: {error}") from None
    with database.transaction(writes=True) as connection:
        table = tables.allocations.c
        if connection.execute(select(table.id).where(table.name == name)).first() is not None:
            raise Conflict(f"there is already an allocation {name!r}; erase it first, or import under another name")
        stored = [{field: getattr(row, field) for field in FIELDS} for row in rows]
        id = write_new(connection, sound.row() | {"name": name}, stored, sound.bandit.names)
        features.write(connection, id, {round: one for row in rows for round, one in row.features.items()})
    return len(rows)


def _rows(connection: Connection, id: int) -> list[Any]:
    """The rows of all events, as they are stored."""
    table = tables.events.c
    found = connection.execute(EVENTS.where(table.allocation == id).order_by(table.sequence)).all()
    return [
        row if isinstance(row, SimpleNamespace) else SimpleNamespace(**row._mapping, features={})
        for row in features.beside(connection, id, found)
    ]


def _sound(name: str, rows: list[Any], names: Sequence[str], whole: bool = False) -> _Sound:
    """The allocation as far as its events are in order; with ``whole`` all of them must be."""
    if not rows:
        raise StateError("there are no events")
    (first,) = linked(rows[:1], START, names)
    try:
        bandit, closed = fold(None, first, closed=False)
    except MissingPart as error:
        raise MissingPart(f"allocation {name!r} {error}") from None
    return _folded(rows[1:], names, _Sound(bandit, closed, first, first), whole)


def _folded(rows: list[Any], names: Sequence[str], start: _Sound, whole: bool = False) -> _Sound:
    """An allocation after the events that follow it, as far as they are in order; see `_sound`."""
    sound, plain = start, saved.dump(start.bandit)
    try:
        for event in linked(rows, Place(start.last.sequence, start.last.chain), names):
            bandit, closed = fold(sound.bandit, event, sound.closed)
            sound = replace(sound, bandit=bandit, closed=closed, last=event)
    except StateError:
        if whole:
            raise
        # The bandit may have changed halfway through the damaged event.
        sequence = sound.last.sequence
        again = replace(start, bandit=saved.restored(plain))
        return _folded([row for row in rows if row.sequence <= sequence], names, again, whole=True)
    return sound


def _fault(rows: list[Any]) -> str:
    """What is wrong with the first events that do not follow each other; empty for nothing."""
    try:
        for _ in places(rows, START):
            pass
    except StateError as error:
        return str(error)
    return ""


def _write(path: Path, name: str, names: Sequence[str], rows: list[Any], fault: str) -> None:
    if path.exists():
        raise EvenhandError(f"{path} already exists; give the path of a new file")
    lines = [
        {"format": FORMAT, "allocation": name, "arms": names} | ({"damaged": fault} if fault else {}),
        *(
            {field: getattr(row, field) for field in FIELDS}
            | ({"features": {str(round): list(one) for round, one in row.features.items()}} if row.features else {})
            for row in rows
        ),
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    try:
        write_text(path, text)
    except OSError as error:
        raise EvenhandError(f"the events could not be written to {path}: {error.strerror or error}") from None


def _row(line: dict[str, Any]) -> SimpleNamespace:
    """The row of an event, by a line of a file."""
    found = {int(round): features.Sealed(*one) for round, one in line.get("features", {}).items()}
    return SimpleNamespace(**{field: line[field] for field in FIELDS}, features=found)


def _read(path: Path) -> tuple[list[str], list[SimpleNamespace]]:
    """The names of the arms and the rows of a file that `_write` wrote."""
    try:
        header, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if header["format"] != FORMAT:
            raise DataError(f"{path} is not a file of events")
        return list(header["arms"]), [_row(line) for line in lines]
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not a file of events: {error!r}") from None


def backup(database: Database, path: Path) -> int:
    """Copy a database to a file as it is at one moment; servers go on writing meanwhile."""
    if database.url.get_backend_name() != "sqlite":
        raise EvenhandError(f"{database.name} is a database of PostgreSQL; back it up with pg_dump")
    if path.exists():
        raise EvenhandError(f"{path} already exists; give the path of a new file")
    try:
        with whole(path, private=True) as temporary:
            _copy(database, temporary)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise EvenhandError(f"the backup could not be written to {path}: {reason}") from None
    return path.stat().st_size


def _copy(database: Database, path: Path) -> None:
    with database.transaction(writes=False) as connection, closing(sqlite3.connect(path)) as copy:
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # so that it is one file
