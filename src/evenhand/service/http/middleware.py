"""Middleware for every request: its id and size, headers of the answer, log, metrics, and unexpected errors."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.service.http.logs import REQUEST_ID, log_request, request_id
from evenhand.service.http.metrics import Metrics
from evenhand.service.http.problems import Refused, error_response, refusal

#: What a page may do in a browser: load its own files and send requests to this server, and nothing else.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
CLIENT_CLOSED = 499  # the status under which a request is counted whose client did not wait for the answer


class RequestMiddleware:
    """ASGI middleware around the app."""

    def __init__(self, app: ASGIApp, metrics: Metrics, max_body: int) -> None:
        self._app, self._metrics, self._max_body = app, metrics, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; everything else is passed to the app."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["request_id"] = id = request_id(scope["headers"])
        REQUEST_ID.set(id)  # not reset: uvicorn logs an error after this in the same context
        exchange = _Exchange(receive, send, self._max_body, id)
        # HEAD has the answer of GET without its body, which the server leaves out.
        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        start = time.perf_counter()
        try:
            _check_length(scope, self._max_body)
            await self._app(inner, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.status = exchange.status or CLIENT_CLOSED
        except Exception as error:
            if exchange.status:  # part of the answer has been sent: only a broken connection shows the error
                raise
            await error_response(refusal(error), scope)(scope, receive, exchange.send)
        finally:
            seconds, status = time.perf_counter() - start, exchange.status or 500
            key, client = getattr(state.get("caller"), "name", None), (scope.get("client") or [None])[0]
            self._metrics.request(scope["method"], getattr(inner.get("route"), "path", None), status, seconds, key)
            log_request(scope["method"], scope["path"], status, seconds=round(seconds, 6), key=key, client=client)


class _Exchange:
    """A request with its answer."""

    def __init__(self, receive: Receive, send: Send, max_body: int, id: str) -> None:
        self._receive, self._send, self._left, self._max_body = receive, send, max_body, max_body
        self._id = id.encode("ascii")
        self.status = 0

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise _too_large(self._max_body)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            _add_headers(message, self._id)
        await self._send(message)


def _add_headers(message: MutableMapping[str, Any], id: bytes) -> None:
    """Add the headers that every answer has, unless the answer has its own."""
    headers = list(message.get("headers", ()))
    names = {name for name, _ in headers}
    headers += [header for header in HEADERS if header[0] not in names]
    if b"cache-control" not in names:
        headers.append((b"cache-control", b"no-store"))
    headers.append((b"x-request-id", id))
    message["headers"] = headers


def _check_length(scope: Scope, max_body: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and (len(value) > 18 or (value.isdigit() and int(value) > max_body)):
            raise _too_large(max_body)


def _too_large(max_body: int) -> Refused:
    # The rest of the body is not read.
    message = f"the body of a request may have at most {max_body:,} bytes"
    return Refused("too_large", message, headers={"connection": "close"})
