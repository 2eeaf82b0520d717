"""The commands ``evenhand serve`` and ``evenhand keys``; what they need is loaded when they run."""

from __future__ import annotations

from typing import Annotated

import typer

Database = Annotated[
    str,
    typer.Option(envvar="EVENHAND_DATABASE", help="An SQLite file, or a URL such as postgresql://user@host/name."),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Machine-readable output on standard output, all else on standard error."),
]

keys = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make, list and revoke API keys, which say who may ask the service for what.",
)


def serve(
    database: Database = "evenhand.db",
    host: Annotated[
        str, typer.Option(help="Name or address to listen on; others than this computer's need a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request's body at most.")] = 8 * 2**20,
    max_batch: Annotated[int, typer.Option(min=1, help="Decisions or reports of a request at most.")] = 1000,
    max_arms: Annotated[int, typer.Option(min=1, help="Arms of an allocation at most.")] = 100_000,
    log_level: Annotated[str, typer.Option(help="'error', 'warning', 'info' (every request) or 'debug'.")] = "warning",
) -> None:
    """Serve allocations over HTTP: decisions, reports and audits for programs, and a page for people.

    Without any key it answers this computer only. It stops, when told to, after it has answered what was asked.

    Examples:

      evenhand serve

      evenhand serve --database postgresql://evenhand@db/evenhand --host 0.0.0.0
    """
    from evenhand.online.service import serving
    from evenhand.online.service.settings import Settings

    serving.serve(database, Settings(host, max_body, max_batch, max_arms), port, log_level)


@keys.command()
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of whoever uses it, for people.")],
    scope: Annotated[list[str], typer.Option(help="'administer', 'decide', 'report' or 'read'; repeat for more.")],
    database: Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """Make a key; standard output gets its secret, which cannot be shown again.

    Examples:

      evenhand keys make shop --scope decide --scope report
    """
    from evenhand.online.service import keeping

    keeping.make(database, name, scope, as_json)


@keys.command("list")
def list_(database: Database = "evenhand.db", as_json: AsJson = False) -> None:
    """List the keys, with those that were revoked.

    Examples:

      evenhand keys list --json
    """
    from evenhand.online.service import keeping

    keeping.show(database, as_json)


@keys.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `evenhand keys list` shows it.")],
    database: Database = "evenhand.db",
    as_json: AsJson = False,
) -> None:
    """End a key; servers refuse it within a second or so.

    Examples:

      evenhand keys revoke 1f9c20ab
    """
    from evenhand.online.service import keeping

    keeping.revoke(database, id, as_json)
