"""Snapshots: the state of an allocation after some event, so that a start need not replay all events."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Connection, delete, insert, select

from evenhand import __version__
from evenhand.core.errors import StateError
from evenhand.online.bandit.saving import DAMAGE
from evenhand.online.store import tables
from evenhand.online.store.events import encode


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an allocation after an event.

    Attributes:
        sequence: of that event.
        chain: of that event; see `evenhand.online.store.events.chained`.
        closed: whether the allocation decides no more.
        bandit: as `Bandit.dump` describes it.
        versions: of the package that have made this state, since all events were replayed.
    """

    sequence: int
    chain: str
    closed: bool
    bandit: dict[str, Any]
    versions: tuple[str, ...]

    def packed(self) -> bytes:
        """Compressed JSON."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        try:
            text = orjson.dumps(fields)
        except TypeError:  # a seed of more than 64 bits
            text = encode(fields).encode()
        return zlib.compress(text, level=1)

    def lineage(self) -> tuple[str, ...]:
        """The versions of the package that have made the states after it, if this one goes on from it."""
        return tuple(dict.fromkeys((*self.versions, __version__)))


_JSON = TypeAdapter(Snapshot)


def unpacked(packed: bytes) -> Snapshot:
    """The snapshot that was packed.

    Raises:
        StateError: it is damaged.
    """
    try:
        return _JSON.validate_json(zlib.decompress(packed), strict=True)
    except (*DAMAGE, zlib.error) as error:
        raise StateError(" ".join(str(error).split()) or repr(error)) from None


def last_snapshot(connection: Connection, id: int, until: int) -> Snapshot | None:
    """The last snapshot of an allocation up to an event; None where there is none.

    Raises:
        StateError: it is damaged.
    """
    table = tables.snapshots.c
    query = select(table.sequence, table.state).where(table.allocation == id, table.sequence <= until)
    row = connection.execute(query.order_by(table.sequence.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    snapshot = unpacked(row.state)
    if snapshot.sequence != row.sequence:
        raise StateError(f"it is of event {snapshot.sequence}, not of event {row.sequence}")
    return snapshot


def write_snapshot(connection: Connection, id: int, sequence: int, packed: bytes) -> None:
    """Write a snapshot in place of others."""
    table = tables.snapshots
    connection.execute(delete(table).where(table.c.allocation == id))
    connection.execute(insert(table), {"allocation": id, "sequence": sequence, "state": packed})
