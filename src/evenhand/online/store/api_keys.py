"""API keys: which scopes a caller has over HTTP."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import insert, select, update

from evenhand.core.errors import EvenhandError, nearest
from evenhand.online.store import tables
from evenhand.online.store.database import Database

SCOPES = ("administer", "decide", "reward", "read")


@dataclass(frozen=True)
class Key:
    """A key, without its secret.

    Attributes:
        id: identifies it in lists and when it is revoked.
        name: of its user.
        scopes: some of ``administer``, ``decide``, ``reward``, ``read``.
        created: seconds since the epoch.
        revoked: when it was revoked; None while it is valid.
    """

    id: str
    name: str
    scopes: frozenset[str]
    created: float
    revoked: float | None


class Keys:
    """The keys in a database, which has only the SHA-256 of each secret, as secrets are random and long.

    Args:
        database: that has them.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> key, secret = store.keys.create("shop", ["decide", "reward"])
        >>> store.keys.find(secret) == key, store.keys.find("evh_something else")
        (True, None)
        >>> revoked = store.keys.revoke(key.id)
        >>> store.keys.find(secret), store.keys.any()
        (None, True)
        >>> store.close()
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, scopes: Collection[str]) -> tuple[Key, str]:
        """A new key and its secret, which cannot be shown again.

        Raises:
            EvenhandError: the name is blank, or a scope is unknown or missing.
        """
        if not name.strip() or len(name) > 100 or not name.isprintable():
            raise EvenhandError(f"the name of a key must be 1 to 100 printable characters, got {name!r}")
        for scope in scopes:
            if scope not in SCOPES:
                raise EvenhandError(f"there is no scope {scope!r}{nearest(scope, SCOPES)}")
        if not scopes:
            raise EvenhandError(f"a key needs at least one scope: {', '.join(SCOPES)}")
        secret = "evh_" + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(4), name, frozenset(scopes), time.time(), None)
        row = vars(key) | {"scopes": " ".join(sorted(key.scopes)), "hash": hash_of(secret)}
        with self._database.transaction(writes=True) as connection:
            connection.execute(insert(tables.keys), row)
        return key, secret

    def list(self) -> list[Key]:
        """All keys, the oldest first, with those that were revoked."""
        with self._database.transaction(writes=False) as connection:
            rows = connection.execute(select(tables.keys).order_by(tables.keys.c.created, tables.keys.c.id))
            return [_key(row) for row in rows]

    def revoke(self, id: str) -> Key:
        """Revoke a key.

        Raises:
            EvenhandError: there is no such key, or it is already revoked.
        """
        with self._database.transaction(writes=True) as connection:
            row = connection.execute(select(tables.keys).where(tables.keys.c.id == id)).one_or_none()
            if row is None:
                raise EvenhandError(f"there is no key with the id {id!r}; `evenhand keys list` shows them")
            if row.revoked is not None:
                raise EvenhandError(f"the key {id} ({row.name}) is already revoked")
            now = time.time()
            connection.execute(update(tables.keys).where(tables.keys.c.id == id).values(revoked=now))
        return replace(_key(row), revoked=now)

    def find(self, secret: str) -> Key | None:
        """The key with this secret; None if there is none, or it was revoked."""
        with self._database.transaction(writes=False) as connection:
            query = select(tables.keys).where(tables.keys.c.hash == hash_of(secret), tables.keys.c.revoked.is_(None))
            row = connection.execute(query).one_or_none()
        return None if row is None else _key(row)

    def by_hash(self) -> dict[str, Key]:
        """All keys, with those that were revoked, by the hashes of their secrets."""
        with self._database.transaction(writes=False) as connection:
            return {row.hash: _key(row) for row in connection.execute(select(tables.keys))}

    def any(self) -> bool:
        """Whether a key was ever created; a server whose keys are all revoked accepts no requests."""
        with self._database.transaction(writes=False) as connection:
            return connection.execute(select(tables.keys.c.id).limit(1)).first() is not None


def hash_of(secret: str) -> str:
    """The hash under which a secret is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(row: Any) -> Key:
    return Key(row.id, row.name, frozenset(row.scopes.split()), row.created, row.revoked)
