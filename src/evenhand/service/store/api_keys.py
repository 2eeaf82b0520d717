"""API keys: which scopes a caller has over HTTP."""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert, or_, select, update

from evenhand.core.errors import HINTED, EvenhandError, nearest
from evenhand.messages.rules import ALLOCATION, matches
from evenhand.messages.rules import SCOPES as SCOPES
from evenhand.service.store import tables
from evenhand.service.store.database import Database


@dataclass(frozen=True)
class Key:
    """A key, without its secret."""

    id: str
    name: str
    scopes: frozenset[str]
    allocations: frozenset[str] | None
    created: float
    expires: float | None
    revoked: float | None

    def valid(self, now: float) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class Keys:
    """The keys in a database, which has only the SHA-256 of each secret, as secrets are random and long."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock

    def create(
        self,
        name: str,
        scopes: Collection[str],
        *,
        allocations: Collection[str] | None = None,
        expires: float | None = None,
    ) -> tuple[Key, str]:
        """A new key and its secret, which cannot be shown again."""
        of = None if allocations is None else frozenset(allocations)
        key = Key(secrets.token_hex(4), name, frozenset(scopes), of, self._clock(), expires, revoked=None)
        _check(key, scopes)
        with self._database.transaction(writes=True) as connection:
            return key, _insert(connection, key)

    def not_there(self, key: Key) -> list[str]:
        """A sentence for each allocation of a key that is not there, with the nearest name: it may be misspelt."""
        with self._database.transaction(writes=False) as connection:
            known = list(connection.execute(select(tables.allocations.c.name)).scalars())
        missing = sorted((key.allocations or frozenset()).difference(known))
        hinted = 0 < len(known) <= HINTED
        return [f"there is no allocation {name!r} yet{nearest(name, known) if hinted else ''}" for name in missing]

    def roll(self, which: str, overlap: float = 0.0, expires: float | None = None) -> tuple[Key, Key, str]:
        """A new key in place of one, which is valid for a while longer."""
        if not overlap >= 0.0:
            raise EvenhandError(f"the overlap must be at least 0 seconds, got {overlap:g}")
        with self._database.transaction(writes=True) as connection:
            old, now = self._one(connection, which), self._clock()
            if expires is None and old.expires is not None:
                expires = now + (old.expires - old.created)
            ends = now + overlap if old.expires is None else min(old.expires, now + overlap)
            new = replace(old, id=secrets.token_hex(4), created=now, expires=expires)
            _check(new, new.scopes)
            connection.execute(update(tables.keys).where(tables.keys.c.id == old.id).values(expires=ends))
            return replace(old, expires=ends), new, _insert(connection, new)

    def list(self) -> list[Key]:
        """All keys, the oldest first, with those that expired or were revoked."""
        with self._database.transaction(writes=False) as connection:
            rows = connection.execute(select(tables.keys).order_by(tables.keys.c.created, tables.keys.c.id))
            return [_key(row) for row in rows]

    def revoke(self, id: str) -> Key:
        """Revoke a key."""
        with self._database.transaction(writes=True) as connection:
            row = connection.execute(select(tables.keys).where(tables.keys.c.id == id)).one_or_none()
            if row is None:
                raise EvenhandError(f"there is no key with the id {id!r}; `evenhand keys list` shows them")
            if row.revoked is not None:
                raise EvenhandError(f"the key {id} ({row.name}) is already revoked")
            now = self._clock()
            connection.execute(update(tables.keys).where(tables.keys.c.id == id).values(revoked=now))
        return replace(_key(row), revoked=now)

    def by_hash(self) -> dict[str, Key]:
        """All keys, with those that expired or were revoked, by the hashes of their secrets."""
        with self._database.transaction(writes=False) as connection:
            return {row.hash: _key(row) for row in connection.execute(select(tables.keys))}

    def any(self) -> bool:
        """Whether a key was ever created; a server without a valid key accepts no requests."""
        with self._database.transaction(writes=False) as connection:
            return connection.execute(select(tables.keys.c.id).limit(1)).first() is not None

    def _one(self, connection: Connection, which: str) -> Key:
        """The one valid key with an id or a name."""
        now, table = self._clock(), tables.keys.c
        rows = connection.execute(select(tables.keys).where(or_(table.id == which, table.name == which)))
        found = [key for key in map(_key, rows) if key.valid(now)]
        found = [key for key in found if key.id == which] or found
        if not found:
            raise EvenhandError(f"there is no valid key with the id or name {which!r}; `evenhand keys list` shows all")
        if len(found) > 1:
            ids = ", ".join(key.id for key in found)
            raise EvenhandError(f"several valid keys have the name {which!r}; give the id of one: {ids}")
        return found[0]


def hash_of(secret: str) -> str:
    """The hash under which a secret is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check(key: Key, scopes: Collection[str]) -> None:
    """Refuse a new key that cannot be."""
    if not key.name.strip() or len(key.name) > 100 or not key.name.isprintable():
        raise EvenhandError(f"the name of a key must be 1 to 100 printable characters, got {key.name!r}")
    for scope in scopes:
        if scope not in SCOPES:
            raise EvenhandError(f"there is no scope {scope!r}{nearest(scope, SCOPES)}")
    if not scopes:
        raise EvenhandError(f"a key needs at least one scope: {', '.join(SCOPES)}")
    if key.allocations is not None and not key.allocations:
        raise EvenhandError("a key needs at least one allocation; without a list it is for all allocations")
    for name in key.allocations or ():
        if not matches(ALLOCATION, name):
            raise EvenhandError(f"{name!r} cannot be the name of an allocation")
    if key.expires is not None and not key.created < key.expires < math.inf:
        raise EvenhandError("a key must expire in the future; give a later time")


def _insert(connection: Connection, key: Key) -> str:
    """The secret of a new key."""
    secret = "evh_" + secrets.token_urlsafe(32)
    names = None if key.allocations is None else " ".join(sorted(key.allocations))
    plain = {"scopes": " ".join(sorted(key.scopes)), "allocations": names, "hash": hash_of(secret)}
    connection.execute(insert(tables.keys), vars(key) | plain)
    return secret


def _key(row: Any) -> Key:
    allocations = None if row.allocations is None else frozenset(row.allocations.split())
    return Key(row.id, row.name, frozenset(row.scopes.split()), allocations, row.created, row.expires, row.revoked)
