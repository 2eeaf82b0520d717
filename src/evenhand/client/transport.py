"""Connections to a service, with retries for a limited time."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx

from ..core.version import __version__
from .messages import Call, Download, bearer, read, unexpected
from .tries import Limits, Transient, Tries, failed, refused

Record = TypeVar("Record")
Result = TypeVar("Result")

#: Seconds without an answer after which ``notice`` is called.
NOTICE_AFTER = 1.0
#: Hosts for which the proxy of the environment is not used.
HOSTS = tuple(f"all://{host}" for host in ("localhost", "127.0.0.1", "[::1]"))
INCOMPLETE = "the answer began, but was not complete in time"


class Connection:
    """Connections to a service, kept open between calls; threads may share them."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        limits: Limits | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        notice: Callable[[], object] | None = None,
    ) -> None:
        self._limits, self._sleep, self._clock, self._notice = limits or Limits(), sleep, clock, notice
        self._http = httpx.Client(transport=transport, **_options(url, key))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call, shape: type[Record] | Download) -> tuple[int, Record | None]:
        """The status of the answer to a call, and the answer as a record; None where it was written to a file."""

        def use(response: httpx.Response, tries: Tries) -> tuple[int, Record | None]:
            if not isinstance(shape, Download):
                return response.status_code, read(call, response, _body(response, tries), shape)
            if (got := _other_type(response, shape.media_type)) is not None:
                raise unexpected(call, response, _body(response, tries), got)
            with shape.path.open("wb") as file:
                file.writelines(response.iter_bytes())
            return response.status_code, None

        return self._try(call, use)

    def _try(self, call: Call, use: Callable[[httpx.Response, Tries], Result]) -> Result:
        """The result of ``use`` on the answer, after as many tries as necessary and allowed."""
        tries = Tries(call, self._limits, self._clock)
        notice = threading.Timer(NOTICE_AFTER, self._notice or (lambda: None))
        notice.daemon = True
        if self._notice is not None:
            notice.start()
        try:
            while True:
                try:
                    return self._once(tries, use, notice)
                except Transient as error:
                    pause = tries.pause(error)
                self._sleep(pause)
        finally:
            notice.cancel()

    def _once(self, tries: Tries, use: Callable[[httpx.Response, Tries], Result], notice: threading.Timer) -> Result:
        try:
            with self._http.stream(**tries.request, timeout=tries.timeout) as response:
                if response.is_success:
                    notice.cancel()
                    return use(response, tries)
                body = _body(response, tries)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failed(tries.call, error) from None
        raise refused(tries.call, response, body)


class AsyncConnection:
    """Connections to a service for asyncio, kept open between calls."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        limits: Limits | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from asyncio import sleep as asleep  # a fifth of what the command line takes beyond its packages

        self._limits, self._sleep, self._clock = limits or Limits(), sleep or asleep, clock
        self._http = httpx.AsyncClient(transport=transport, **_options(url, key))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, call: Call, shape: type[Record] | Download) -> tuple[int, Record | None]:
        """Like `Connection.send`."""

        async def use(response: httpx.Response, tries: Tries) -> tuple[int, Record | None]:
            if not isinstance(shape, Download):
                return response.status_code, read(call, response, await _async_body(response, tries), shape)
            if (got := _other_type(response, shape.media_type)) is not None:
                raise unexpected(call, response, await _async_body(response, tries), got)
            with shape.path.open("wb") as file:
                async for piece in response.aiter_bytes():
                    file.write(piece)
            return response.status_code, None

        return await self._try(call, use)

    async def _try(self, call: Call, use: Callable[[httpx.Response, Tries], Awaitable[Result]]) -> Result:
        tries = Tries(call, self._limits, self._clock)
        while True:
            try:
                return await self._once(tries, use)
            except Transient as error:
                pause = tries.pause(error)
            await self._sleep(pause)

    async def _once(self, tries: Tries, use: Callable[[httpx.Response, Tries], Awaitable[Result]]) -> Result:
        try:
            async with self._http.stream(**tries.request, timeout=tries.timeout) as response:
                if response.is_success:
                    return await use(response, tries)
                body = await _async_body(response, tries)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failed(tries.call, error) from None
        raise refused(tries.call, response, body)


def _body(response: httpx.Response, tries: Tries) -> bytes:
    """The body of an answer, which is not read beyond the time for all tries."""
    pieces, late = [], False
    for piece in response.iter_bytes():
        if late:
            raise httpx.ReadTimeout(INCOMPLETE)
        pieces.append(piece)
        late = tries.late
    return b"".join(pieces)


async def _async_body(response: httpx.Response, tries: Tries) -> bytes:
    pieces, late = [], False
    async for piece in response.aiter_bytes():
        if late:
            raise httpx.ReadTimeout(INCOMPLETE)
        pieces.append(piece)
        late = tries.late
    return b"".join(pieces)


def _options(url: str, key: str | None) -> dict[str, Any]:
    """Those of both clients; authorities are loaded, which takes 25 ms, only where an address needs them."""
    headers = {"User-Agent": f"evenhand/{__version__}"} | ({} if key is None else {"Authorization": bearer(key)})
    verify = url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return {"headers": headers, "mounts": dict.fromkeys(HOSTS), "verify": verify}


def _other_type(response: httpx.Response, media_type: str) -> str | None:
    """What is wrong with the media type of an answer, whose parameters do not count; None if nothing is."""
    header = response.headers.get("Content-Type", "")
    got, expected = (text.partition(";")[0].strip() for text in (header, media_type))
    return None if got == expected else f"of the type {got or 'unknown'}"
