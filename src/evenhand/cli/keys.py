"""``evenhand keys``: creates, rolls, lists and revokes API keys."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from evenhand.cli.help import App
from evenhand.cli.options import AsJson, Database
from evenhand.cli.output import note, print_json
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.service.store.api_keys import Key, Keys

TIME = re.compile(r"([0-9]{1,9})([smhd])")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}  # seconds
Expires = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="A time from now (12h, 90d) or a date (2026-12-31, UTC). Default: never."),
]

app = App("Create, roll, list and revoke the API keys of the service.")


@app.command()
def create(
    name: str,  # name of the key's user, shown in lists and logs
    scope: Annotated[list[str], Option()],  # 'administer', 'decide', 'reward' or 'read'; can be repeated
    # Allocation that the key is limited to; can be repeated. Default: all
    allocation: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    expires: Expires = None,
    database: Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """Create a key and print its secret to standard output; it cannot be shown again.

    Examples:
        evenhand keys create shop --scope decide --scope reward
        evenhand keys create dashboard --scope read --allocation drinks --expires 90d
    """
    with _keys(database, new=True) as keys:
        key, secret = keys.create(name, scope, allocations=allocation, expires=_moment(expires))
        missing = keys.not_there(key)
    _show_new(key, secret, as_json)
    for one in missing:
        note(one)


@app.command()
def roll(
    key: Annotated[str, Argument(metavar="NAME")],  # name or id of the key
    # how long the old secret is still accepted: 90s, 30m, 24h or 7d
    overlap: Annotated[str, Option(metavar="TIME")] = "24h",
    expires: Expires = None,
    database: Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """Replace a key by a new one, and print its secret; the old key expires after the overlap.

    The new key has the name, the scopes, the allocations and the lifetime of the old one.

    Examples:
        evenhand keys roll shop --overlap 24h
    """
    with _keys(database) as keys:
        old, new, secret = keys.roll(key, _seconds(overlap), _moment(expires))
    _show_new(new, secret, as_json)
    if not as_json:
        note(f"key {old.id} is accepted until {_shown(old.expires)}")


@app.command("list")
def list_(database: Database = "evenhand.db", as_json: AsJson = False) -> None:
    """List the keys, including expired and revoked ones.

    Examples:
        evenhand keys list --json
    """
    with _keys(database) as keys:
        found = keys.list()
    if as_json:
        print_json([_plain(key) for key in found])
    else:
        from evenhand.cli.answers import show_keys

        show_keys(found)


@app.command()
def revoke(
    id: str,  # id of the key, as `evenhand keys list` shows it
    database: Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """Revoke a key; servers refuse it within about a second.

    Examples:
        evenhand keys revoke 1f9c20ab
    """
    with _keys(database) as keys:
        key = keys.revoke(id)
    if as_json:
        print_json(_plain(key))
    else:
        print(f"revoked key {key.id} of {key.name}")


@contextmanager
def _keys(database: str, new: bool = False) -> Iterator[Keys]:
    from evenhand.service.store import Store

    with closing(Store.open(database, new=new)) as store:
        yield store.keys


def _show_new(key: Key, secret: str, as_json: bool) -> None:
    if as_json:
        print_json(_plain(key) | {"secret": secret})
        return
    print(secret, flush=True)
    what = f"may {', '.join(sorted(key.scopes))}"
    where = "" if key.allocations is None else f" for {', '.join(sorted(key.allocations))}"
    until = "" if key.expires is None else f" until {_shown(key.expires)}"
    note(f"key {key.id} of {key.name} {what}{where}{until}; its secret is shown only once")


def _plain(key: Key) -> dict[str, Any]:
    allocations = None if key.allocations is None else sorted(key.allocations)
    return vars(key) | {"scopes": sorted(key.scopes), "allocations": allocations}


def _moment(expires: str | None) -> float | None:
    """Seconds since the epoch at which a key expires, from a time to live or a date."""
    if expires is None:
        return None
    if TIME.fullmatch(expires):
        return time.time() + _seconds(expires)
    try:
        moment = datetime.fromisoformat(expires)
    except ValueError:
        raise EvenhandError(
            f"--expires must be a time such as 90d or 12h, or a date such as 2026-12-31, got {expires!r}"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _seconds(text: str) -> float:
    """A time in seconds."""
    match = TIME.fullmatch(text)
    if match is None:
        raise EvenhandError(f"a time must be a whole number with s, m, h or d, such as 24h, got {text!r}")
    return float(match[1]) * UNITS[match[2]]


def _shown(moment: float | None) -> str:
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
