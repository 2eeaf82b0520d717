"""HTTP connections: how many there may be, and how long and how large an incomplete request may be.

No kept server does the same. While `tools/hostile.py` opened 1,500 half requests, and then 4,000 connections to a
server that may have 1,024 files, uvicorn with httptools read a header without an end for minutes, and with h11 and its
limits it refused some 300 requests of others; hypercorn failed 100, and granian let them wait for up to 10 s. With the
classes below none failed, and they waited 21 and 57 ms at the 99th percentile.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenhand.service.http.logs import log_request, request_id
from evenhand.service.http.problems import Refused, error_response

LOG = logging.getLogger("evenhand.service")
MAX_HEAD = 2**16  # bytes of the first line and the headers of a request
HEAD_TIMEOUT = 10.0  # seconds within which they must be complete
BODY_TIMEOUT = 60.0  # seconds within which the body must be complete, and within which an answer must be read on
BACKLOG = 2048  # connections that wait to be accepted
REASONS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
RESERVED = 128  # file descriptors for the database and files
TOO_LARGE = Refused("headers_too_large", f"the headers of a request may have at most {MAX_HEAD:,} bytes")
NOT_HTTP = Refused("malformed", "the request is not HTTP")


class Connections:
    """The open connections of a server, of which those that wait for a request are closed first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: set[Connection] = set()
        self._waiting: OrderedDict[Connection, None] = OrderedDict()  # the one that waits longest first
        self._full = False

    def opened(self, connection: Connection) -> None:
        """Add a connection; if there are too many, the one that has waited longest for a request is closed."""
        self._open.add(connection)
        self._waiting[connection] = None
        if len(self._open) > self.limit:
            if not self._full:
                LOG.warning("there are %s connections; those without a complete request are closed", f"{self.limit:,}")
            self._full = True
            next(iter(self._waiting)).drop()

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._full = self._full and len(self._open) >= self.limit // 2

    def waits(self, connection: Connection) -> None:
        """A connection waits for its next request."""
        if connection in self._open:
            self._waiting[connection] = None

    def works(self, connection: Connection) -> None:
        """A connection has a complete request."""
        self._waiting.pop(connection, None)


class Connection(HttpToolsProtocol):
    """A connection; invalid, endless and incomplete requests are answered in the format of all errors, too."""

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._all = connections
        self._head = 0  # bytes of an incomplete head; −1 while the body is read
        self._completed = False  # whether the last bytes had the end of a request
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None  # closes it if the client reads nothing

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It must send a request in time."""
        super().connection_made(transport)
        self._expect(HEAD_TIMEOUT)
        self._all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is expected of it any more."""
        super().connection_lost(exc)
        self._expect(None)
        if self._stalled is not None:
            self._stalled.cancel()
        self._all.closed(self)

    def data_received(self, data: bytes) -> None:
        """Read on, up to the limit of the headers."""
        if self.transport.is_closing():
            return
        if self._deadline is None and self._head == 0:  # the first bytes of a further request
            self._expect(HEAD_TIMEOUT)
        self._completed = False
        super().data_received(data)
        if self._head >= 0 and not self._completed:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self._refuse(TOO_LARGE)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, which may have come with the bytes that end the headers."""
        super().on_header(name, value)
        if len(name) + len(value) > MAX_HEAD:
            raise ValueError("the header is too long")

    def on_headers_complete(self) -> None:
        """The body must be complete in time."""
        self._head = -1
        self._expect(BODY_TIMEOUT)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """From now on the client waits for the server."""
        self._head, self._completed = 0, True
        self._expect(None)
        self._all.works(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """From now on the server waits for the client."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._all.waits(self)

    def pause_writing(self) -> None:
        """The client must read on in time."""
        super().pause_writing()
        self._stalled = self.loop.call_later(BODY_TIMEOUT, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(NOT_HTTP)

    def drop(self) -> None:
        """Close it at once, without an answer."""
        self._all.closed(self)
        self.transport.abort()

    def _expect(self, seconds: float | None) -> None:
        """Refuse the request if it is not complete by then."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._late, seconds)

    def _late(self, seconds: float) -> None:
        self._refuse(Refused("timeout", f"the request was not complete within {seconds:g} seconds"))

    def _request_id(self) -> str:
        """The id of the request that is being read; a new one if its headers are not complete."""
        if self._head >= 0:
            return request_id(())
        id: str | None = self.scope["state"].get("request_id")  # from the app
        return id or request_id(self.headers)

    def _refuse(self, refused: Refused) -> None:
        """Answer, unless an earlier request is being answered, and close the connection."""
        self._expect(None)
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            id = self._request_id()
            response = error_response(refused, {"state": {"request_id": id}})
            status, body = response.status_code, bytes(response.body)
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
                b"x-request-id: %s\r\nconnection: close\r\n\r\n%s"
                % (status, REASONS[status], len(body), id.encode("ascii"), body)
            )
            client = self.client[0] if self.client else None
            log_request("-", "-", status, request_id=id, client=client)
        self.transport.close()


def connection_limit(limit: int) -> tuple[int, int]:
    """How many connections this process can have, at most the given limit, and how many can wait to be accepted."""
    try:
        import resource
    except ImportError:  # Windows
        return limit, BACKLOG
    wanted = limit + BACKLOG + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    free = wanted - RESERVED if soft == resource.RLIM_INFINITY else max(2, soft - RESERVED)
    backlog = min(BACKLOG, free // 2)  # all of which can be accepted before the oldest connections are closed
    possible = min(limit, free - backlog)
    if possible < limit:
        LOG.warning("%s open files allow %s connections only; raise the limit of files (ulimit -n)", soft, possible)
    return possible, backlog
