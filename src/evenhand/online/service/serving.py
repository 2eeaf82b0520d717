"""``evenhand serve``: opens the store, listens, and stops in good order."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.online.service.app import create_app
from evenhand.online.service.faults import Refused, answer
from evenhand.online.service.settings import Settings, is_loopback
from evenhand.online.service.telemetry import Telemetry
from evenhand.online.store import Store
from evenhand.online.store.database import Database

LEVELS = ("error", "warning", "info", "debug")
WAITING = 2048  # connections that wait to be accepted
IDLE = 75  # seconds after which a connection on which nothing is asked is closed: later than proxies do
GRACE = 30  # seconds that requests may take to be answered when the server is to stop
YOUNG = 50_000  # objects made before rubbish is looked for; with Python's 700, pending decisions are gone through often
SWITCH = 0.001  # seconds after which the threads that write let the one that answers go on, and the other way round


def serve(database: str, settings: Settings, port: int, log_level: str = "warning") -> None:
    """Serve a database until a signal says to stop.

    Raises:
        EvenhandError: the database cannot be used, others could ask without a key, or the host or port cannot be had.
    """
    validate.one_of("log-level", log_level, LEVELS)
    _addresses(settings.host, port)  # before a database is made in vain
    if not Database(database).there:
        check_keys(settings, has_keys=False)
    telemetry = Telemetry()
    store = Store.open(database, observer=telemetry)
    try:
        has_keys = store.keys.any()
        check_keys(settings, has_keys)
        sockets = listening(settings, port)
        server = uvicorn.Server(_configured(create_app(store, settings, telemetry), log_level))
        print(
            f"Evenhand serves {store.database.name} at {_address(settings, sockets)}{_who(has_keys)}", file=sys.stderr
        )
        sys.setswitchinterval(SWITCH)
        gc.freeze()  # what is loaded stays
        gc.set_threshold(YOUNG)
        with _signals_end_it():
            server.run(sockets)
    finally:
        store.close()


def check_keys(settings: Settings, has_keys: bool) -> None:
    """Refuse to let others than this computer in without a key.

    Raises:
        EvenhandError: they could ask.

    Example:
        >>> check_keys(Settings(host="127.0.0.1"), has_keys=False)
    """
    if not has_keys and not settings.local:
        raise EvenhandError(
            f"others could reach a server on {settings.host}, and there are no keys yet; make one first "
            "(evenhand keys make NAME --scope administer --scope read), or leave --host out to serve this computer only"
        )


def listening(settings: Settings, port: int) -> list[socket.socket]:
    """Sockets on all addresses that the host has.

    Raises:
        EvenhandError: it has none here, or the port is taken.

    Example:
        >>> [one] = listening(Settings(), 0)
        >>> one.getsockname()[0]
        '127.0.0.1'
        >>> one.close()
    """
    sockets: list[socket.socket] = []
    try:
        for family, address in _addresses(settings.host, port):
            sockets.append(_bound(family, (address, port)))
            port = sockets[0].getsockname()[1]
    except OSError as error:
        for one in sockets:
            one.close()
        said = error.strerror or str(error)
        raise EvenhandError(f"cannot listen on {settings.host}, port {port}: {said}; see --host and --port") from None
    if settings.local and not all(is_loopback(one.getsockname()[0]) for one in sockets):
        for one in sockets:
            one.close()
        raise EvenhandError(f"{settings.host} does not stand for this computer here; name an address such as 127.0.0.1")
    return sockets


def _addresses(host: str, port: int) -> list[tuple[int, str]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:  # the latter for what can be no name at all
        said = getattr(error, "strerror", None) or str(error)
        raise EvenhandError(f"there is no host {host!r} that this computer knows of ({said}); see --host") from None
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _bound(family: int, address: tuple[str, int]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two servers have the same port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(WAITING)
    except OSError:
        made.close()
        raise
    return made


class _Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """HTTP, of which also what is none is answered in the one shape."""

    def send_400_response(self, msg: str) -> None:
        body = bytes(answer(Refused("malformed", "this is no HTTP request")).body)
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s" % (len(body), body)
        )
        self.transport.close()


def _configured(app: Any, log_level: str) -> uvicorn.Config:
    _log(log_level.upper())
    return uvicorn.Config(
        app,
        log_level=log_level,
        access_log=log_level in ("info", "debug"),
        lifespan="off",
        ws="none",
        http=_Protocol,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
    )


def _log(level: str) -> None:
    """Tell on standard error what the service and the store have to say."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    ours = logging.getLogger("evenhand")
    ours.handlers, ours.propagate = [handler], False
    ours.setLevel(level)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store tells what goes wrong there, once


def _address(settings: Settings, sockets: Sequence[socket.socket]) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{sockets[0].getsockname()[1]}"


def _who(has_keys: bool) -> str:
    return "" if has_keys else ", to this computer only, as there are no keys"


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """The server sends itself again the signal that has stopped it; the store is still to be closed then."""
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
