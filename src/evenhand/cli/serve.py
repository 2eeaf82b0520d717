"""``evenhand serve`` and ``evenhand demo``: answer over HTTP."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from typer import Option

from evenhand.cli.options import Database, Import, Port
from evenhand.service.http.settings import Settings


def serve(
    database: Database = "evenhand.db",
    # host name or address to listen on; addresses other than those of this computer require an API key
    host: str = Settings.host,
    port: Port = 8000,
    # largest size of a request's body, in bytes
    max_body: Annotated[int, Option(min=1, metavar="BYTES")] = Settings.max_body,
    max_batch: Annotated[int, Option(min=1)] = Settings.max_batch,  # largest number of decisions or rewards per request
    max_arms: Annotated[int, Option(min=1)] = Settings.max_arms,  # largest number of arms per allocation
    max_work: Annotated[int, Option(min=1)] = Settings.max_work,  # largest number of decisions × arms per request
    max_leases: Annotated[int, Option(min=1)] = Settings.max_leases,  # largest number of open leases per allocation
    max_rate: Annotated[float, Option(min=0.01)] = Settings.max_rate,  # requests per second and key
    max_concurrent: Annotated[int, Option(min=1)] = Settings.max_concurrent,  # concurrent requests per key
    max_logs: Annotated[int, Option(min=1)] = Settings.max_logs,  # concurrent log downloads per key
    # time limit for writing a log, in seconds
    max_seconds: Annotated[float, Option(min=0.1, metavar="SECONDS")] = Settings.max_seconds,
    max_connections: Annotated[int, Option(min=1)] = Settings.max_connections,  # largest number of open connections
    # answer requests from this computer without a key while no key exists; do not use it behind a proxy
    no_keys: bool = False,
    # 'error', 'warning', 'info' (every request) or 'debug'
    log_level: Annotated[str, Option(metavar="LEVEL")] = "warning",
    log_format: Annotated[str, Option(metavar="FORMAT")] = "text",  # 'text', or 'json' with an object per line
    upgrade: bool = False,  # upgrade the tables of the database before starting
    # Seconds to wait for a database that is not reachable yet. Default: 60 for PostgreSQL, else 0
    wait: Annotated[float | None, Option(min=0, metavar="SECONDS")] = None,
    # seconds without a request after which an allocation is unloaded from memory
    idle: Annotated[float, Option(min=1, metavar="SECONDS")] = 600.0,
    # Days to keep events; older ones are replaced by their state. Default: forever
    retention: Annotated[float | None, Option(min=0.01, metavar="DAYS")] = None,
    private_webhooks: bool = False,  # also send webhooks to addresses of private networks, and without TLS
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

    settings = Settings(**{one.name: given[one.name] for one in fields(Settings)})
    upkeep = server.Upkeep(upgrade, wait, idle, None if retention is None else retention * 86_400.0)
    server.serve(database, settings, port, log_level, log_format, upkeep)


def demo(
    port: Port = 0,
    no_browser: bool = False,  # do not open the page in a browser
) -> None:
    """Serve three allocations with live traffic, and open the page that shows them.

    Rewards arrive some seconds late, or never. One arm is away for a while in every three minutes, is owed plays, and
    gets them when it is back. Ctrl-C ends the service and leaves nothing behind.

    Examples:
        evenhand demo
    """
    from evenhand.service.demo import demonstrate

    demonstrate(port, *[None] * no_browser)
