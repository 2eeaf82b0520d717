"""Which allocations are damaged: how far the events of each were checked, and what is wrong with the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, select

from evenhand.core.errors import EvenhandError, MissingPart, StateError
from evenhand.service.store import seals, tables
from evenhand.service.store.allocation import AllocationRow, row_of
from evenhand.service.store.database import LOG, Database
from evenhand.service.store.errors import DamagedAllocation, UnknownAllocation
from evenhand.service.store.reader import CHUNK, START, Place, damage_as_state_error, has_event, next_rows, places

RENAMED = "its name or the names of its arms were edited, added or removed"
FEW = 100  # events whose check takes as long as looking for them
#: By the ids of allocations, the place up to which their events were checked, and what is wrong with the next one.
Checked = dict[int, tuple[Place, str]]


@contextmanager
def isolated(database: Database, name: str, id: int | None = None) -> Iterator[None]:
    """Raise errors `as_reported`."""
    try:
        yield
    except (MissingPart, StateError) as error:
        raise as_reported(database, error, name, id) from error


def as_reported(database: Database, error: EvenhandError, name: str, id: int | None) -> EvenhandError:
    """An error, or for one about what is stored of an allocation, that it is damaged, and what is to be done."""
    if isinstance(error, MissingPart):
        if id is not None:
            database.without_part.add(id)
        return MissingPart(f"allocation {name!r} {error}")
    if not isinstance(error, StateError):
        return error
    if id is not None and not database.fault_of(id):
        database.checked[id] = START, str(error)
        LOG.error("allocation %s is damaged: %s", name, error)
    return DamagedAllocation(damaged(name, str(error)))


def damaged(name: str, fault: str) -> str:
    """What is said of a damaged allocation."""
    remedy = f"`evenhand db restore {name}` or `evenhand db erase {name}`"
    return f"allocation {name!r} is damaged, and answers nothing until {remedy}: {fault}"


def check(checked: Checked, connection: Connection, row: AllocationRow, limit: int | None = CHUNK) -> None:
    """Check the names and the events of an allocation that were not checked before, so many events; None for all."""
    at, fault = checked.get(row.id, (START, ""))
    if not fault and at == (row.sequence, row.chain):
        return
    left = row.sequence if fault or limit is None else limit  # what is damaged is checked until it is in order again
    try:
        if at == START and seals.named(connection, row.id, row.name) != row.named:
            raise StateError(RENAMED)
        while at.sequence < row.sequence and left > 0:
            size = 1 if fault else min(CHUNK, left)  # often it is still there
            rows, fault = next_rows(connection, row.id, at.sequence, size, row.sequence), ""
            if not rows:
                raise StateError(f"there should be {row.sequence} events, but only the first {at.sequence} exist")
            for _, after in places(rows, at):
                at, left = after, left - 1
        if at.sequence > row.sequence or (at.sequence == row.sequence and at.chain != row.chain):
            raise StateError(f"event {row.sequence} has another checksum than the allocation's row records")
    except StateError as error:
        if at != START and not has_event(connection, row.id, at):  # it was restored or compacted meanwhile
            del checked[row.id]
            check(checked, connection, row, limit)
            return
        checked[row.id] = at, str(error)
        raise
    checked[row.id] = at, ""


@contextmanager
def intact(database: Database, name: str, limit: int | None = CHUNK) -> Iterator[tuple[Connection, AllocationRow]]:
    """A transaction that reads an allocation whose events are checked; errors are raised `as_reported`."""
    with database.transaction(writes=False) as connection:
        row = row_of(connection, name)
        with isolated(database, name, row.id), damage_as_state_error():
            check(database.checked, connection, row, limit)
            yield connection, row


def check_all(database: Database, stop: Callable[[], bool]) -> None:
    """Check all events of all allocations anew, until ``stop()`` is true, which is asked after each some thousands."""
    with database.transaction(writes=False) as connection:
        names = [str(name) for (name,) in connection.execute(select(tables.allocations.c.name))]
    left = CHUNK
    for name in names:
        anew: Checked = {}
        more = True
        while more:
            if left <= 0:
                if stop():
                    return
                left = CHUNK
            more = False
            with suppress(DamagedAllocation, UnknownAllocation), database.transaction(writes=False) as connection:
                row = row_of(connection, name)
                before = anew.get(row.id, (START, ""))[0].sequence
                with isolated(database, name, row.id):
                    check(anew, connection, row, left)
                after = anew[row.id][0].sequence
                left -= max(after - before, FEW)
                more = after < row.sequence
                if not more:
                    database.checked.setdefault(row.id, anew[row.id])
