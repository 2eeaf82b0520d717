"""Ways out for one damaged allocation: back to its last sound event, out to a file and in again, or erased."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from evenhand.core.errors import DataError, EvenhandError, StateError
from evenhand.core.files import write_whole
from evenhand.online.bandit.bandit import Bandit
from evenhand.online.store import tables
from evenhand.online.store.allocation import NAME, row_of, row_values
from evenhand.online.store.database import Database
from evenhand.online.store.errors import Conflict
from evenhand.online.store.events import EVENTS, Event, bandit_from, fold, linked

FORMAT = "evenhand events 1"  # first line of a file of events
FIELDS = tuple(column.name for column in EVENTS.selected_columns)


@dataclass
class _Sound:
    """An allocation as far as its events are in order."""

    bandit: Bandit
    closed: bool
    first: Event
    last: int = 1  # sequence of the last event in order

    def row(self) -> dict[str, Any]:
        """What the row of the allocation must say."""
        return row_values(self.bandit, self.last, self.closed) | {"created": self.first.time}


def restore(database: Database, name: str, removed: Path) -> tuple[int, int]:
    """Take an allocation back to the last event up to which all are in order; the later ones are moved to a file.

    Decisions and rewards after it are lost to the allocation: reports of such decisions are answered with ``unknown``.

    Args:
        database: of the service; a server may be running.
        name: of the allocation.
        removed: file to write, which must not exist: the events that are removed, as `export_events` writes them.

    Returns:
        The numbers of events kept and removed.

    Raises:
        UnknownAllocation: there is no allocation of that name.
        StateError: not even its first event is in order; it can only be erased.
        EvenhandError: the file exists or cannot be written.
    """
    with database.transaction(writes=True) as connection:
        id = row_of(connection, name, lock=True).id
        rows = _rows(connection, id)
        sound = _sound(rows)
        lost = [row for row in rows if row.sequence > sound.last]
        _write(removed, name, lost)
        for table in (tables.events, tables.snapshots):
            connection.execute(delete(table).where(table.c.allocation == id, table.c.sequence > sound.last))
        if lost:  # a snapshot of the time before, too, may rest on what was edited; answers may name what was removed
            connection.execute(delete(tables.snapshots).where(tables.snapshots.c.allocation == id))
            connection.execute(delete(tables.answers).where(tables.answers.c.allocation == id))
        connection.execute(update(tables.allocations).where(tables.allocations.c.id == id).values(**sound.row()))
    return sound.last, len(lost)


def erase(database: Database, name: str) -> int:
    """Erase an allocation with everything that is stored of it.

    Returns:
        The number of events that it had.

    Raises:
        UnknownAllocation: there is no allocation of that name.
    """
    with database.transaction(writes=True) as connection:
        id = row_of(connection, name, lock=True).id
        for table in (tables.answers, tables.snapshots):
            connection.execute(delete(table).where(table.c.allocation == id))
        events = connection.execute(delete(tables.events).where(tables.events.c.allocation == id)).rowcount
        connection.execute(delete(tables.allocations).where(tables.allocations.c.id == id))
    return int(events)


def export_events(database: Database, name: str, path: Path) -> int:
    """Write all events of an allocation to a file of JSON lines, as they are stored.

    Returns:
        Their number.

    Raises:
        UnknownAllocation: there is no allocation of that name.
        EvenhandError: the file exists or cannot be written.
    """
    with database.transaction(writes=False) as connection:
        rows = _rows(connection, row_of(connection, name).id)
    _write(path, name, rows)
    return len(rows)


def import_events(database: Database, path: Path, name: str) -> int:
    """Make an allocation from a file that `export_events` wrote.

    Args:
        database: of the service.
        path: of the file.
        name: of the new allocation.

    Returns:
        The number of events.

    Raises:
        Conflict: there is an allocation of that name.
        DataError: the file is missing or damaged.
    """
    if not NAME.fullmatch(name):
        raise EvenhandError(f"{name!r} cannot be the name of an allocation")
    rows = list(_read(path))
    try:
        sound = _sound(rows, whole=True)
    except StateError as error:
        raise DataError(f"{path}: {error}") from None
    with database.transaction(writes=True) as connection:
        table = tables.allocations
        if connection.execute(select(table.c.id).where(table.c.name == name)).first() is not None:
            raise Conflict(f"there is already an allocation {name!r}; erase it first, or import under another name")
        (id,) = connection.execute(insert(table).returning(table.c.id), sound.row() | {"name": name}).scalars()
        connection.execute(insert(tables.events), [vars(row) | {"allocation": id} for row in rows])
    return len(rows)


def _rows(connection: Connection, id: int) -> list[Any]:
    """The rows of all events, as they are stored."""
    table = tables.events.c
    found = connection.execute(EVENTS.where(table.allocation == id).order_by(table.sequence))
    return [SimpleNamespace(**row._mapping) for row in found]


def _sound(rows: list[Any], whole: bool = False) -> _Sound:
    """The allocation as far as its events are in order; with ``whole`` all of them must be."""
    sound: _Sound | None = None
    try:
        for event in linked(rows, 0, ""):
            if sound is None:
                sound = _Sound(bandit_from(event), False, event)
            else:
                sound.closed = fold(sound.bandit, event, sound.closed)
                sound.last = event.sequence
    except StateError:
        if sound is None or whole:
            raise
    if sound is None:
        raise StateError("there are no events")
    if sound.last < rows[-1].sequence:  # the bandit may have changed halfway through the damaged event
        return _sound([row for row in rows if row.sequence <= sound.last], whole=True)
    return sound


def _write(path: Path, name: str, rows: list[Any]) -> None:
    if path.exists():
        raise EvenhandError(f"{path} exists; name a new file")
    lines = [
        {"format": FORMAT, "allocation": name},
        *({field: getattr(row, field) for field in FIELDS} for row in rows),
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    try:
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise EvenhandError(f"the events could not be written to {path}: {error.strerror or error}") from None


def _read(path: Path) -> Iterator[SimpleNamespace]:
    try:
        header, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if header["format"] != FORMAT:
            raise DataError(f"{path} is not a file of events")
        for line in lines:
            yield SimpleNamespace(**{field: line[field] for field in FIELDS})
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not a file of events: {error!r}") from None
