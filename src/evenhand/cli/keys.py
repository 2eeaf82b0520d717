"""``evenhand keys``: creates, lists and revokes API keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import AsJson, Database
from evenhand.cli.output import note, print_json

if TYPE_CHECKING:
    from evenhand.online.store.api_keys import Key, Keys

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Create, list and revoke API keys, which define what a client of the service may do.",
)


@app.command()
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key's user, shown in lists.")],
    scope: Annotated[list[str], typer.Option(help="'administer', 'decide', 'reward' or 'read'; repeat for more.")],
    database: Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """Create a key and print its secret to standard output; it cannot be shown again.

    Examples:

      evenhand keys make shop --scope decide --scope reward
    """
    with _keys(database, new=True) as keys:
        key, secret = keys.create(name, scope)
    if as_json:
        print_json(_plain(key) | {"secret": secret})
    else:
        print(secret, flush=True)
        note(f"key {key.id} of {name} may {', '.join(sorted(key.scopes))}; its secret is shown only once")


@app.command("list")
def list_(database: Database = "evenhand.db", as_json: AsJson = False) -> None:
    """List the keys, including revoked ones.

    Examples:

      evenhand keys list --json
    """
    with _keys(database) as keys:
        found = keys.list()
    if as_json:
        print_json([_plain(key) for key in found])
    else:
        from evenhand.cli.tables import show_keys

        show_keys(found)


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `evenhand keys list` shows it.")],
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
    from evenhand.online.store import Store

    store = Store.open(database, new=new)
    try:
        yield store.keys
    finally:
        store.close()


def _plain(key: Key) -> dict[str, Any]:
    return vars(key) | {"scopes": sorted(key.scopes)}
