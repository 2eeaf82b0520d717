"""Snapshots: the state of an allocation after some event, so that a start need not replay all events."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import Connection, select

from evenhand.bandit.saved import DAMAGE
from evenhand.core.errors import EvenhandError, StateError
from evenhand.service.priority import PRIORITY
from evenhand.service.store import tables
from evenhand.service.store.arms import BANDIT, named, numbered
from evenhand.service.store.events import encode

LONG = 2_000  # values of a list that is in a line of its own
LINE = "$line"  # the number of that line


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an allocation after an event."""

    sequence: int
    chain: str
    closed: bool
    bandit: dict[str, Any]
    versions: tuple[str, ...]  # of the package that have made the states up to it

    def packed(self) -> bytes:
        """Compressed lines of JSON: the last one has the fields, those before it the long lists in them."""
        lines: list[bytes] = []
        place = {name: number for number, name in enumerate(self.bandit["arms"])}
        plain = replace(self, bandit=numbered(BANDIT, self.bandit, place))
        fields = _without_long_lists({name: getattr(plain, name) for name in self.__slots__}, lines)
        try:
            lines.append(orjson.dumps(fields))
        except TypeError:  # a seed of more than 64 bits
            lines.append(encode(fields).encode())
        return zlib.compress(b"\n".join(lines), level=1)


_JSON = TypeAdapter(Snapshot)


def _without_long_lists(value: object, lines: list[bytes]) -> Any:
    """Plain values with the number of a line in the place of each long list; the lists are added to the lines."""
    if isinstance(value, dict):
        return {name: _without_long_lists(one, lines) for name, one in value.items()}
    PRIORITY.pause()
    if isinstance(value, list) and len(value) >= LONG:
        lines.append(orjson.dumps(value))
        return {LINE: len(lines) - 1}
    return value


def _with_long_lists(value: object, lines: list[bytes]) -> Any:
    """Plain values with the lists that `_without_long_lists` took out of them."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {LINE}:
        return from_json(lines[value[LINE]])
    return {name: _with_long_lists(one, lines) for name, one in value.items()}


def unpacked(packed: bytes, names: Sequence[str]) -> Snapshot:
    """The snapshot that was packed, of an allocation with arms of these names."""
    try:
        *lines, last = zlib.decompress(packed).split(b"\n")
        fields = _with_long_lists(from_json(last), lines)
        fields |= {"versions": tuple(fields["versions"]), "bandit": named(BANDIT, fields["bandit"], names)}
        return _JSON.validate_python(fields)
    except (*DAMAGE, EvenhandError, zlib.error) as error:
        raise StateError(" ".join(str(error).split()) or repr(error)) from None


def last_snapshot(connection: Connection, id: int, until: int, names: Sequence[str]) -> Snapshot | None:
    """The last snapshot of an allocation up to an event; None where there is none."""
    table = tables.snapshots.c
    query = select(table.sequence, table.state).where(table.allocation == id, table.sequence <= until)
    row = connection.execute(query.order_by(table.sequence.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    snapshot = unpacked(row.state, names)
    if snapshot.sequence != row.sequence:
        raise StateError(f"it is of event {snapshot.sequence}, not of event {row.sequence}")
    return snapshot
