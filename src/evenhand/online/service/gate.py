"""What every request passes, whatever page it is for: limits, headers of the answer, the last resort against errors."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.online.service.faults import Refused, answer, refusal
from evenhand.online.service.telemetry import Telemetry

#: What a page may do in a browser: load its own files and ask this server, and nothing else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Gate:
    """Around the app, as ASGI has it.

    Args:
        app: inside.
        telemetry: counts the requests.
        max_body: bytes of a request's body.
    """

    def __init__(self, app: ASGIApp, telemetry: Telemetry, max_body: int) -> None:
        self._app, self._telemetry, self._most = app, telemetry, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; all else is the app's."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(receive, send, self._most)
        # What GET says, HEAD says without a body, which the server leaves out.
        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        begun = time.perf_counter()
        try:
            _check_length(scope, self._most)
            await self._app(inner, passage.receive, passage.send)
        except ClientDisconnect:
            passage.status = passage.status or 499  # nobody is there to be answered
        except Exception as error:
            if passage.status:  # half of the answer is on its way: only a connection that breaks can tell
                raise
            await answer(refusal(error))(scope, receive, passage.send)
        finally:
            route = getattr(inner.get("route"), "path", None)
            self._telemetry.requested(scope["method"], route, passage.status or 500, time.perf_counter() - begun)


class _Passage:
    """One request on its way in, and its answer on the way out."""

    def __init__(self, receive: Receive, send: Send, most: int) -> None:
        self._receive, self._send, self._left, self._most = receive, send, most, most
        self.status = 0

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise _too_long(self._most)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            _complete(message)
        await self._send(message)


def _complete(message: MutableMapping[str, Any]) -> None:
    """Add the headers that every answer has, and those that an answer without its own has."""
    headers = list(message.get("headers", ()))
    given = {name for name, _ in headers}
    headers += [header for header in HEADERS if header[0] not in given]
    if b"cache-control" not in given:
        headers.append((b"cache-control", b"no-store"))
    message["headers"] = headers


def _check_length(scope: Scope, most: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and (len(value) > 18 or (value.isdigit() and int(value) > most)):
            raise _too_long(most)


def _too_long(most: int) -> Refused:
    # The rest of the body is not waited for.
    return Refused("too_large", f"the body of a request may have {most:,} bytes", headers={"connection": "close"})
