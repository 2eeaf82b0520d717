"""``evenhand serve``: answers over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import Database, Import


def serve(
    database: Database = "evenhand.db",
    host: Annotated[
        str,
        typer.Option(help="Host name or address to listen on; any but those of this computer require an API key."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free one.")] = 8000,
    max_body: Annotated[int, typer.Option(min=1, help="Largest size of a request's body, in bytes.")] = 8 * 2**20,
    max_batch: Annotated[int, typer.Option(min=1, help="Largest number of decisions or rewards per request.")] = 1000,
    max_arms: Annotated[int, typer.Option(min=1, help="Largest number of arms per allocation.")] = 100_000,
    log_level: Annotated[str, typer.Option(help="'error', 'warning', 'info' (every request) or 'debug'.")] = "warning",
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="First bring the tables of the database to this version.")
    ] = False,
    own: Import = None,
) -> None:
    """Serve allocations over HTTP: decisions, rewards and audits for programs, and a page for people.

    Without any API key it answers requests from this computer only. SIGTERM and SIGINT stop it after it has answered
    the requests in progress.

    Examples:

      evenhand serve

      evenhand serve --database postgresql://evenhand@db/evenhand --host 0.0.0.0
    """
    from evenhand.online.server import run as server
    from evenhand.online.server.settings import Settings

    server.serve(database, Settings(host, max_body, max_batch, max_arms), port, log_level, upgrade)
