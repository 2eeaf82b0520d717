"""Connections to a service, with retries for a limited time."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine
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
    """Connections to a service, kept open between calls: of threads, or of the tasks of an event loop.

    Its methods are coroutines. Those of threads never wait, since all that they call is done when it returns: `at_once`
    has their results.
    """

    def __init__(
        self,
        http: httpx.Client | httpx.AsyncClient,
        limits: Limits,
        sleep: Callable[[float], object],
        clock: Callable[[], float],
        notice: Callable[[], object] | None = None,
    ) -> None:
        self._http: Any = http
        self._limits, self._sleep, self._clock, self._notice = limits, sleep, clock, notice

    async def close(self) -> None:
        """Close the connections."""
        await self._close(self._http)

    async def send(self, call: Call, shape: type[Record] | Download) -> tuple[int, Record | None]:
        """The status of the answer to a call, and the answer as a record; None where it was written to a file."""
        tries = Tries(call, self._limits, self._clock)
        notice = threading.Timer(NOTICE_AFTER, self._notice or (lambda: None))
        notice.daemon = True
        if self._notice is not None:
            notice.start()
        try:
            while True:
                try:
                    return await self._once(tries, shape, notice)
                except Transient as error:
                    pause = tries.pause(error)
                await _done(self._sleep(pause))
        finally:
            notice.cancel()

    async def _once(
        self, tries: Tries, shape: type[Record] | Download, notice: threading.Timer
    ) -> tuple[int, Record | None]:
        try:
            request = self._http.build_request(**tries.request, timeout=tries.timeout)
            response = await _done(self._http.send(request, stream=True))
            try:
                if response.is_success:
                    notice.cancel()
                    return response.status_code, await self._read(tries, response, shape)
                body = await self._body(tries, response)
            finally:
                await self._close(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failed(tries.call, error) from None
        raise refused(tries.call, response, body)

    async def _read(self, tries: Tries, response: httpx.Response, shape: type[Record] | Download) -> Record | None:
        """A successful answer as a record; None where it was written to a file."""
        if not isinstance(shape, Download):
            return read(tries.call, response, await self._body(tries, response), shape)
        if (got := _other_type(response, shape.media_type)) is not None:
            raise unexpected(tries.call, response, await self._body(tries, response), got)
        with shape.path.open("wb") as file:
            await self._each_piece(response, file.write)
        return None

    async def _body(self, tries: Tries, response: httpx.Response) -> bytes:
        """The body of an answer, which is not read beyond the time for all tries."""
        pieces, late = [], False

        def take(piece: bytes) -> None:
            nonlocal late
            if late:
                raise httpx.ReadTimeout(INCOMPLETE)
            pieces.append(piece)
            late = tries.late

        await self._each_piece(response, take)
        return b"".join(pieces)

    async def _each_piece(self, response: httpx.Response, take: Callable[[bytes], object]) -> None:
        if isinstance(self._http, httpx.Client):
            for piece in response.iter_bytes():
                take(piece)
        else:
            async for piece in response.aiter_bytes():
                take(piece)

    async def _close(self, what: Any) -> None:
        await _done(what.close() if isinstance(self._http, httpx.Client) else what.aclose())


async def _done(given: Any) -> Any:
    """What a client for threads returns, or one for asyncio when it is awaited."""
    return await given if isinstance(given, Awaitable) else given


def at_once(steps: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise RuntimeError("a client for threads has waited")


def options(url: str, key: str | None) -> dict[str, Any]:
    """Those of both clients; authorities are loaded, which takes 25 ms, only where an address needs them."""
    headers = {"User-Agent": f"evenhand/{__version__}"} | ({} if key is None else {"Authorization": bearer(key)})
    verify = url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return {"headers": headers, "mounts": dict.fromkeys(HOSTS), "verify": verify}


def _other_type(response: httpx.Response, media_type: str) -> str | None:
    """What is wrong with the media type of an answer, whose parameters do not count; None if nothing is."""
    header = response.headers.get("Content-Type", "")
    got, expected = (text.partition(";")[0].strip() for text in (header, media_type))
    return None if got == expected else f"of the type {got or 'unknown'}"
