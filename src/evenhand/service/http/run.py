"""Running a server: opens the store, listens, and stops in an orderly way."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.service.http import logs
from evenhand.service.http.app import create_app
from evenhand.service.http.deliveries import Deliveries
from evenhand.service.http.metrics import Metrics
from evenhand.service.http.protocol import BACKLOG, Connection, Connections, connection_limit
from evenhand.service.http.settings import Settings, is_loopback
from evenhand.service.store import Store
from evenhand.service.store.database import Database
from evenhand.service.store.errors import StoreUnavailable

KEEP_ALIVE = 75  # seconds after which an idle connection is closed; longer than proxies use
SHUTDOWN = 25  # seconds that requests may take to be answered after a signal; with deliveries, it stops within 30
GC_THRESHOLD = 10_000  # objects between garbage collections; at Python's 700 the pending decisions are visited often
CHECK = 3600.0  # seconds between checks of all events
JUDGE = 5.0  # seconds between looks for alarms, each of which takes some 0.5 ms per allocation that has changed
WAIT = 60.0  # seconds to wait for PostgreSQL, which may recover; a file is there or not
WAIT_STEP = 0.5  # seconds between attempts to reach a database that is starting
SWITCH_INTERVAL = 0.001  # seconds between switches of the threads that write and the one that answers


@dataclass(frozen=True)
class Upkeep:
    """How a server opens its database and takes care of it."""

    upgrade: bool = False
    wait: float | None = None
    idle: float | None = None
    retention: float | None = None


DEFAULT_UPKEEP = Upkeep()


def serve(
    database: str,
    settings: Settings,
    port: int,
    log_level: str = "warning",
    log_format: str = "text",
    upkeep: Upkeep = DEFAULT_UPKEEP,
    ready: Callable[[str], object] | None = None,
) -> None:
    """Serve a database until a signal stops the server; `ready` is given the address that is listened on."""
    validate.one_of("log-level", log_level, logs.LEVELS)
    validate.one_of("log-format", log_format, logs.FORMATS)
    _addresses(settings.host, port)  # before a database is created
    if not Database(database).exists:
        check_keys(settings, has_keys=False)
    if upkeep.wait is None:
        upkeep = replace(upkeep, wait=WAIT if Database(database).engine.dialect.name == "postgresql" else 0.0)
    if upkeep.wait:
        logs.configure(log_level, log_format)  # otherwise an error on one line will do until it serves
    metrics = Metrics()
    store = _opened(database, upkeep, metrics)
    try:
        has_keys = store.keys.any()
        check_keys(settings, has_keys)
        sockets = listening_sockets(settings, port)
        logs.configure(log_level, log_format)
        server = uvicorn.Server(_uvicorn_config(create_app(store, settings, metrics), settings))
        access = "" if has_keys else ", to this computer only, as there are no keys"
        logs.announce(f"Evenhand serves {store.database.name} at {_url(settings, sockets)}{access}")
        sys.setswitchinterval(SWITCH_INTERVAL)
        gc.freeze()  # loaded modules are never garbage
        gc.set_threshold(GC_THRESHOLD)
        deliveries = Deliveries(store, settings.private_webhooks)
        deliveries.start()
        if ready is not None:
            ready(_url(settings, sockets))
        with _stopped_by_signals(server), closing(deliveries):
            server.run(sockets)
    finally:
        store.close()


def _opened(database: str, upkeep: Upkeep, metrics: Metrics) -> Store:
    """The store, as soon as its database can be reached."""
    end, reported = time.monotonic() + (upkeep.wait or 0.0), False
    given: Any = {"upgrade": upkeep.upgrade, "idle": upkeep.idle, "retention": upkeep.retention}
    while True:
        try:
            return Store.open(database, observer=metrics, check=CHECK, judge=JUDGE, **given)
        except StoreUnavailable as error:
            if time.monotonic() >= end:
                raise
            if not reported:
                logs.announce(f"{error}; Evenhand waits for it, at most {upkeep.wait:g} seconds")
                reported = True
        time.sleep(min(WAIT_STEP, max(0.0, end - time.monotonic())))


def check_keys(settings: Settings, has_keys: bool) -> None:
    """Refuse to serve without keys, unless this computer alone is served and that is what the user wants."""
    if has_keys or settings.open:
        return
    create = "create one first (evenhand keys create NAME --scope administer --scope read)"
    if settings.local:
        raise EvenhandError(
            f"there are no keys yet; {create}, or use --no-keys to answer requests from this computer without a key, "
            "which is not safe behind a proxy"
        )
    raise EvenhandError(
        f"other computers can reach a server on {settings.host}, and there are no keys yet; {create}, or omit --host "
        "to serve this computer only"
    )


def listening_sockets(settings: Settings, port: int) -> list[socket.socket]:
    """Sockets on all addresses of the host."""
    sockets: list[socket.socket] = []
    with ExitStack() as closed:
        try:
            for family, address in _addresses(settings.host, port):
                sockets.append(closed.enter_context(_bound_socket(family, (address, port))))
                port = sockets[0].getsockname()[1]
        except OSError as error:
            failure = f"cannot listen on {settings.host}, port {port}: {error.strerror or error}"
            raise EvenhandError(f"{failure}; see --host and --port") from None
        if settings.local and not all(is_loopback(one.getsockname()[0]) for one in sockets):
            raise EvenhandError(f"{settings.host} is not an address of this computer here; use one such as 127.0.0.1")
        closed.pop_all()
    return sockets


def _addresses(host: str, port: int) -> list[tuple[int, str]]:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:  # the latter for invalid names
        reason = getattr(error, "strerror", None) or str(error)
        raise EvenhandError(f"the host {host!r} is unknown to this computer ({reason}); see --host") from None
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in addresses))


def _bound_socket(family: int, address: tuple[str, int]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two servers use the same port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _uvicorn_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    limit, backlog = connection_limit(settings.max_connections)
    protocol: Any = partial(Connection, Connections(limit))
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http=protocol,
        backlog=backlog,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=SHUTDOWN,
    )


def _url(settings: Settings, sockets: Sequence[socket.socket]) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{sockets[0].getsockname()[1]}"


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Signals stop the server also before it listens for them, and not this process, which has a store to close."""
    previous = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
