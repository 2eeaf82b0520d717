"""The health of each allocation after its last event, kept for lists, which load none that has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import IntegrityError

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.computation import health
from evenhand.bandit.record import Record
from evenhand.core.version import __version__
from evenhand.messages.answers import AllocationHealth
from evenhand.service.json import encode
from evenhand.service.store import tables
from evenhand.service.store.allocation import ROWS, AllocationRow, row_of
from evenhand.service.store.checked import check, isolated
from evenhand.service.store.database import Chosen, Database, insert_rows
from evenhand.service.store.errors import DamagedAllocation, StoreUnavailable
from evenhand.service.store.reader import START

LISTED = 1000  # events that a page of a list checks after a start, in 25 ms; a thread checks the others
READER = TypeAdapter(AllocationHealth)
_ALL, _KEPT = tables.allocations, tables.summaries
KEPT = Chosen(
    ROWS.add_columns(_KEPT.c.chain, _KEPT.c.evenhand, _KEPT.c.body).join_from(
        _ALL, _KEPT, _KEPT.c.allocation == _ALL.c.id, isouter=True
    ),
    _ALL.c.name,
)


class Summary(NamedTuple):
    """What is kept of an allocation: what changes with every event, and its health if that is known."""

    id: int
    mark: str | None
    health: AllocationHealth | None


def mark(database: Database, name: str, now: float) -> str | None:
    """The mark of an allocation, which is not loaded."""
    with database.transaction(writes=False) as connection:
        return _mark(database, row_of(connection, name), now)


def _mark(database: Database, row: AllocationRow, now: float) -> str | None:
    """What changes with every event of an allocation; None where an event is due, or it is damaged."""
    due = row.due is not None and row.due <= now
    return None if due or database.fault_of(row.id) else str(row.chain)


def read(database: Database, names: Sequence[str], now: float) -> dict[str, Summary]:
    """The summaries of allocations, by name; those of damaged ones have no health."""
    left, found = LISTED, dict[str, Summary]()
    with database.transaction(writes=False) as connection:
        for *known, of, version, body in KEPT.rows(connection, [(name,) for name in names]):
            row = AllocationRow(*known)
            at = database.checked.get(row.id, (START, ""))[0]
            if left > 0 and at.sequence < row.sequence:
                with suppress(DamagedAllocation), isolated(database, row.name, row.id):
                    check(database.checked, connection, row, left)
                left -= database.checked[row.id][0].sequence - at.sequence
            present = _mark(database, row, now)
            latest = present is not None and (present, __version__) == (of, version)
            kept = latest and row.id not in database.without_part
            found[row.name] = Summary(row.id, present, parsed(body) if kept else None)
    return found


def parsed(body: str) -> AllocationHealth | None:
    """A health as it is kept; None where it cannot be read."""
    with suppress(ValidationError):
        return READER.validate_json(body)
    return None


def made(bandit: Record, closed: bool, now: float) -> AllocationHealth | None:
    """The health of a bandit to be kept; None where an event is due that may change it."""
    return None if bandit.due(now) else health(Account(bandit), closed, now)


def keep(database: Database, healths: Mapping[int, tuple[str, AllocationHealth]]) -> None:
    """Keep healths that were computed, so that the next list does not compute them."""
    with suppress(StoreUnavailable, IntegrityError), database.transaction(writes=True) as connection:
        write(connection, healths)


def write(connection: Connection, healths: Mapping[int, tuple[str, AllocationHealth]]) -> None:
    """Keep healths of allocations by id, each with the hash of the last event before, where that is the last still."""
    table, of = tables.summaries, tables.allocations.c
    query = select(of.id, of.chain).where(of.id.in_(healths)).with_for_update(key_share=True)
    ids = [id for id, chain in connection.execute(query) if chain == healths[id][0]]
    connection.execute(delete(table).where(table.c.allocation.in_(ids)))
    rows = [
        {"allocation": id, "chain": healths[id][0], "evenhand": __version__, "body": encode(healths[id][1]).decode()}
        for id in ids
    ]
    if rows:
        insert_rows(connection, table, rows)
