"""``evenhand keys``: makes, lists and revokes keys."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.markup import escape

from evenhand import listing
from evenhand.online.store import Store
from evenhand.online.store.keys import Key, Keys


def make(database: str, name: str, scopes: Sequence[str], as_json: bool) -> None:
    """Make a key and print its secret.

    Raises:
        EvenhandError: the name or a scope is wrong.
    """
    with _kept(database) as keys:
        key, secret = keys.make(name, scopes)
    if as_json:
        _print(_plain(key) | {"secret": secret})
    else:
        print(secret)
        print(f"key {key.id} of {name} may {_may(key)}; this was its secret, which is kept nowhere", file=sys.stderr)


def show(database: str, as_json: bool) -> None:
    """List the keys."""
    with _kept(database) as keys:
        found = keys.list()
    if as_json:
        _print([_plain(key) for key in found])
        return
    if not found:
        print("there are no keys: the service answers this computer only")
        return
    table = listing.table_of("id", "name", "may", "made", "revoked")
    for key in found:
        revoked = "" if key.revoked is None else _date(key.revoked)
        table.add_row(key.id, escape(key.name), _may(key), _date(key.created), revoked)
    listing.console_for_tables().print(table)


def revoke(database: str, id: str, as_json: bool) -> None:
    """End a key.

    Raises:
        EvenhandError: there is no such key, or it was revoked before.
    """
    with _kept(database) as keys:
        key = keys.revoke(id)
    if as_json:
        _print(_plain(key))
    else:
        print(f"revoked key {key.id} of {key.name}")


@contextmanager
def _kept(database: str) -> Iterator[Keys]:
    store = Store.open(database)
    try:
        yield store.keys
    finally:
        store.close()


def _plain(key: Key) -> dict[str, Any]:
    return vars(key) | {"scopes": sorted(key.scopes)}


def _may(key: Key) -> str:
    return ", ".join(sorted(key.scopes))


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _print(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
