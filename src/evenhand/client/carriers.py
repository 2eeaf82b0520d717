"""The clients: one method per route of the service, for threads and for asyncio."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from functools import wraps
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from ..core.descriptions import complete, described
from ..core.errors import DataError
from ..core.files import whole
from ..messages.answers import Event
from . import operations
from .messages import Call, address
from .operations import Steps
from .transport import AsyncConnection, Connection
from .tries import Limits

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _method(operation: Callable[Arguments, Steps[Result]]) -> Callable[Concatenate[Client, Arguments], Result]:
    """The method of `Client` that carries out an operation."""

    @wraps(operation)
    def method(self: Client, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        steps = operation(*args, **kwargs)
        try:
            call, shape = next(steps)
            while True:
                call, shape = steps.send(self._connection.send(replace(call, url=self.url + call.url), shape))
        except StopIteration as end:
            result: Result = end.value
        return result

    return _described(method, operation)


def _async_method(
    operation: Callable[Arguments, Steps[Result]],
) -> Callable[Concatenate[AsyncClient, Arguments], Coroutine[Any, Any, Result]]:
    """The method of `AsyncClient` that carries out an operation."""

    @wraps(operation)
    async def method(self: AsyncClient, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        steps = operation(*args, **kwargs)
        try:
            call, shape = next(steps)
            while True:
                call, shape = steps.send(await self._connection.send(replace(call, url=self.url + call.url), shape))
        except StopIteration as end:
            result: Result = end.value
        return result

    return _described(method, operation)


Method = TypeVar("Method", bound=Callable[..., Any])


def _described(method: Method, operation: Callable[..., Steps[Any]]) -> Method:
    """The method with the signature that the operation has in the documentation: with ``self``, and without steps."""
    signature = inspect.signature(operation)
    result = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]")
    signature = signature.replace(parameters=[SELF, *signature.parameters.values()], return_annotation=result)
    vars(method)["__signature__"] = signature
    complete(method, operations.COMMON)
    return method


class Client:
    """A client of the HTTP service.

    A call is retried if the connection fails or the service is temporarily unavailable (429, 502, 503, 504), after a
    short, growing time or the one that the service asks for; every other error is raised at once. A call that changes
    something has an idempotency key, the same in all tries, so that it is carried out once; if the last try fails, the
    error has the key, with which the call can be repeated later.

    Connections are kept open; threads may share a client. Close it after use, or use it in a ``with`` statement.

    Args:
        url: address of the service.
        key: API key, if the service has keys; it is never shown.
        timeout: seconds per try.
        retries: further tries after one that failed and may succeed when repeated.
        patience: seconds per call, with all its tries.
        wait: whether a call is tried again where nothing accepts connections, as while a service restarts.
        transport: carries the calls; None for the network.
        sleep: waits for some seconds.
        clock: returns the time in seconds.
        notice: called once per call, from another thread, if it has no answer after a second.

    Raises:
        EvenhandError: an argument is out of range.

    Example:
        >>> def service(request):
        ...     decision = {"id": "1", "round": 1, "time": "2026-09-21T14:13:20.000000Z", "version": 0}
        ...     arms = [{"arm": "tea", "propensity": 1.0, "stderr": 0.0}]
        ...     return httpx.Response(200, json={"decisions": [decision | {"arms": arms, "propensities": None}]})
        >>> with Client("http://localhost:8000", transport=httpx.MockTransport(service)) as client:
        ...     client.decide("drinks").names
        ('tea',)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 10,
        patience: float = 30.0,
        wait: bool = True,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        notice: Callable[[], object] | None = None,
    ) -> None:
        self.url = address(url)
        given: Any = {"transport": transport, "sleep": sleep, "clock": clock, "notice": notice}
        self._connection = Connection(self.url, key, Limits(timeout, retries, patience, wait), **given)

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    create = _method(operations.create)
    allocations = _method(operations.allocations)
    describe = _method(operations.describe)
    arms = _method(operations.arms)
    decide = _method(operations.decide)
    decide_many = _method(operations.decide_many)
    decision = _method(operations.decision)
    reward = _method(operations.reward)
    reward_many = _method(operations.reward_many)
    lease = _method(operations.lease)
    report = _method(operations.report)
    report_by_id = _method(operations.report_by_id)
    total = _method(operations.total)
    change = _method(operations.change)
    plan = _method(operations.plan)
    add_webhook = _method(operations.add_webhook)
    webhooks = _method(operations.webhooks)
    remove_webhook = _method(operations.remove_webhook)
    audit = _method(operations.audit)
    differences = _method(operations.differences)
    stopping = _method(operations.stopping)
    price = _method(operations.price)
    access = _method(operations.access)
    algorithms = _method(operations.algorithms)

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """What happened to an allocation, in order, up to now.

        Args:
            name: of the allocation.
            after: sequence of the last event that is known; 0 for none.

        Returns:
            The events, in the order of their sequence; they are requested page by page while one goes through them.
        """
        following: int | None = after
        while following is not None:
            page = self._event_page(name, following)
            yield from page.events
            following = page.next

    def log(
        self,
        name: str,
        path: str | PathLike[str],
        *,
        since: int = 1,
        until: int | None = None,
        estimate: bool = False,
        features: bool = False,
    ) -> None:
        """Download the log of an allocation to a file, which is written whole or not at all.

        Args:
            name: of the allocation.
            path: of the file; its suffix, ``.csv`` or ``.parquet``, selects the format.
            since: the first round.
            until: the last round; None for the last one decided.
            estimate: whether to estimate propensities that have no closed form, which takes time.
            features: whether to add the features of the decisions, which may be personal.

        Raises:
            DataError: the file cannot be written.
        """
        self._save("log", *operations.log(name, path, since, until, estimate, features))

    def save_report(self, name: str, path: str | PathLike[str]) -> None:
        """Download a report on an allocation to an HTML file, to be handed on; it is written whole or not at all.

        Args:
            name: of the allocation.
            path: of the file.

        Raises:
            DataError: the file cannot be written.
        """
        self._save("report", *operations.report_page(name, path))

    def _save(self, what: str, target: Path, call: Call, media_type: str) -> None:
        try:
            with whole(target) as temporary:
                self._connection.download(replace(call, url=self.url + call.url), temporary, media_type)
        except OSError as error:
            raise DataError(f"the {what} could not be written to {target}: {error}") from None

    _event_page = _method(operations.event_page)


class AsyncClient:
    """A client of the HTTP service for asyncio, with the methods of `Client`.

    Its calls are retried in the same way. Tasks of one event loop may share a client. Close it after use, or use it in
    an ``async with`` statement.

    Args:
        sleep: waits for some seconds; None for asyncio's.

    Raises:
        EvenhandError: an argument is out of range.

    Example:
        >>> import asyncio
        >>> def service(request):
        ...     return httpx.Response(200, json={"round": 7, "status": "accepted"})
        >>> async def main():
        ...     async with AsyncClient("http://localhost:8000", transport=httpx.MockTransport(service)) as client:
        ...         return await client.total("drinks", 3.5)
        >>> asyncio.run(main())
        TotalResult(round=7, status='accepted')
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 10,
        patience: float = 30.0,
        wait: bool = True,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = address(url)
        limits = Limits(timeout, retries, patience, wait)
        self._connection = AsyncConnection(self.url, key, limits, transport=transport, sleep=sleep, clock=clock)

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    create = _async_method(operations.create)
    allocations = _async_method(operations.allocations)
    describe = _async_method(operations.describe)
    arms = _async_method(operations.arms)
    decide = _async_method(operations.decide)
    decide_many = _async_method(operations.decide_many)
    decision = _async_method(operations.decision)
    reward = _async_method(operations.reward)
    reward_many = _async_method(operations.reward_many)
    lease = _async_method(operations.lease)
    report = _async_method(operations.report)
    report_by_id = _async_method(operations.report_by_id)
    total = _async_method(operations.total)
    change = _async_method(operations.change)
    plan = _async_method(operations.plan)
    add_webhook = _async_method(operations.add_webhook)
    webhooks = _async_method(operations.webhooks)
    remove_webhook = _async_method(operations.remove_webhook)
    audit = _async_method(operations.audit)
    differences = _async_method(operations.differences)
    stopping = _async_method(operations.stopping)
    price = _async_method(operations.price)
    access = _async_method(operations.access)
    algorithms = _async_method(operations.algorithms)

    async def events(self, name: str, after: int = 0) -> AsyncIterator[Event]:
        """Like `Client.events`.

        Returns:
            The events, in the order of their sequence.
        """
        following: int | None = after
        while following is not None:
            page = await self._event_page(name, following)
            for event in page.events:
                yield event
            following = page.next

    async def log(
        self,
        name: str,
        path: str | PathLike[str],
        *,
        since: int = 1,
        until: int | None = None,
        estimate: bool = False,
        features: bool = False,
    ) -> None:
        """Like `Client.log`."""
        await self._save("log", *operations.log(name, path, since, until, estimate, features))

    async def save_report(self, name: str, path: str | PathLike[str]) -> None:
        """Like `Client.save_report`."""
        await self._save("report", *operations.report_page(name, path))

    async def _save(self, what: str, target: Path, call: Call, media_type: str) -> None:
        try:
            with whole(target) as temporary:
                await self._connection.download(replace(call, url=self.url + call.url), temporary, media_type)
        except OSError as error:
            raise DataError(f"the {what} could not be written to {target}: {error}") from None

    _event_page = _async_method(operations.event_page)


complete(AsyncClient, described(Client))
for _own in ("events", "log", "save_report"):
    complete(getattr(AsyncClient, _own), described(getattr(Client, _own)))
