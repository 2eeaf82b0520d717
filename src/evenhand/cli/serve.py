"""``evenhand serve``: answers over HTTP."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import typer

from evenhand.cli.options import Database, Import, Port


def serve(
    database: Database = "evenhand.db",
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help="Host name or address to listen on; addresses other than those of this computer require an API key.",
        ),
    ] = "127.0.0.1",
    port: Port = 8000,
    max_body: Annotated[
        int, typer.Option(min=1, metavar="BYTES", help="Largest size of a request's body, in bytes.")
    ] = 8 * 2**20,
    max_batch: Annotated[int, typer.Option(min=1, help="Largest number of decisions or rewards per request.")] = 1000,
    max_arms: Annotated[int, typer.Option(min=1, help="Largest number of arms per allocation.")] = 100_000,
    max_work: Annotated[int, typer.Option(min=1, help="Largest number of decisions × arms per request.")] = 500_000,
    max_leases: Annotated[int, typer.Option(min=1, help="Largest number of open leases per allocation.")] = 500,
    max_rate: Annotated[float, typer.Option(min=0.01, help="Requests per second and key.")] = 1000.0,
    max_concurrent: Annotated[int, typer.Option(min=1, help="Concurrent requests per key.")] = 200,
    max_logs: Annotated[int, typer.Option(min=1, help="Concurrent log downloads per key.")] = 2,
    max_seconds: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for writing a log, in seconds.")
    ] = 60.0,
    max_connections: Annotated[int, typer.Option(min=1, help="Largest number of open connections.")] = 1000,
    no_keys: Annotated[
        bool,
        typer.Option(
            "--no-keys",
            help="Answer requests from this computer without a key while no key exists; do not use it behind a proxy.",
        ),
    ] = False,
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="'error', 'warning', 'info' (every request) or 'debug'.")
    ] = "warning",
    log_format: Annotated[
        str, typer.Option(metavar="FORMAT", help="'text', or 'json' with an object per line.")
    ] = "text",
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Upgrade the tables of the database before starting.")
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Seconds to wait for a database that is not reachable yet. Default: 60 for PostgreSQL, else 0.",
        ),
    ] = None,
    idle: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Seconds without a request after which an allocation is unloaded from memory.",
        ),
    ] = 600.0,
    retention: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            metavar="DAYS",
            help="Days to keep events; older ones are replaced by their state. Default: forever.",
        ),
    ] = None,
    private_webhooks: Annotated[
        bool,
        typer.Option(
            "--private-webhooks", help="Also send webhooks to addresses of private networks, and without TLS."
        ),
    ] = False,
    own: Import = None,
) -> None:
    """Run the HTTP service, with decisions, rewards and audits for programs, and a web page.

    Every request needs an API key, except with --no-keys. SIGTERM and SIGINT stop the service after it has
    answered the requests in progress.

    Examples:
        evenhand serve --no-keys
        evenhand serve --database postgresql://evenhand@db/evenhand --host 0.0.0.0
    """
    given = locals()
    from evenhand.service.http import run as server
    from evenhand.service.http.settings import Settings

    settings = Settings(**{one.name: given[one.name] for one in fields(Settings)})
    upkeep = server.Upkeep(upgrade, wait, idle, None if retention is None else retention * 86_400.0)
    server.serve(database, settings, port, log_level, log_format, upkeep)
