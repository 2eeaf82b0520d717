"""The clients: one method per route of the service, for threads and for asyncio."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from functools import wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from ..core.descriptions import complete, described
from ..messages.answers import Event
from . import operations
from .messages import address
from .operations import Steps
from .transport import Connection, at_once, options
from .tries import Limits

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Run = Callable[[Callable[..., Steps[Any]]], Callable[..., Any]]
SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


async def _carried_out(client: Client | AsyncClient, steps: Steps[Any]) -> Any:
    """The result of an operation."""
    try:
        call, shape = next(steps)
        while True:
            try:
                answer = await client._connection.send(replace(call, url=client.url + call.url), shape)
            except BaseException as error:
                call, shape = steps.throw(error)
            else:
                call, shape = steps.send(answer)
    except StopIteration as end:
        return end.value


def _at_once(operation: Callable[..., Steps[Any]]) -> Callable[..., Any]:
    """The method of `Client` that carries out an operation."""

    @wraps(operation)
    def method(self: Client, /, *args: Any, **kwargs: Any) -> Any:
        return at_once(_carried_out(self, operation(*args, **kwargs)))

    return method


def _awaited(operation: Callable[..., Steps[Any]]) -> Callable[..., Any]:
    """The method of `AsyncClient` that carries out an operation."""

    @wraps(operation)
    async def method(self: AsyncClient, /, *args: Any, **kwargs: Any) -> Any:
        return await _carried_out(self, operation(*args, **kwargs))

    return method


class _Method(Generic[Arguments, Result]):
    """An operation as a method of both clients: one returns its result, of the other it is awaited."""

    def __init__(self, operation: Callable[Arguments, Steps[Result]]) -> None:
        self._operation = operation

    @overload
    def __get__(self, client: Client, of: type) -> Callable[Arguments, Result]: ...
    @overload
    def __get__(self, client: AsyncClient, of: type) -> Callable[Arguments, Coroutine[Any, Any, Result]]: ...
    @overload
    def __get__(self, client: None, of: type) -> Callable[..., Any]: ...
    def __get__(self, client: object, of: type) -> Any:
        """For mypy: the clients have functions in its place."""
        return self

    def carried_out(self, run: Run) -> Callable[..., Any]:
        """The method, with the signature that is documented: with ``self``, and without steps."""
        method, signature = run(self._operation), inspect.signature(self._operation)
        result = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]").replace("answers.", "")
        parameters = [SELF, *signature.parameters.values()]
        vars(method)["__signature__"] = signature.replace(parameters=parameters, return_annotation=result)
        complete(method, operations.COMMON)
        return method


class _Methods:
    """The methods of both clients."""

    url: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __init_subclass__(cls, run: Run) -> None:
        for name, one in vars(_Methods).items():
            if isinstance(one, _Method):
                setattr(cls, name, one.carried_out(run))

    create = _Method(operations.create)
    allocations = _Method(operations.allocations)
    describe = _Method(operations.describe)
    arms = _Method(operations.arms)
    decide = _Method(operations.decide)
    decide_many = _Method(operations.decide_many)
    decision = _Method(operations.decision)
    reward = _Method(operations.reward)
    reward_many = _Method(operations.reward_many)
    lease = _Method(operations.lease)
    report = _Method(operations.report)
    report_by_id = _Method(operations.report_by_id)
    total = _Method(operations.total)
    change = _Method(operations.change)
    plan = _Method(operations.plan)
    add_webhook = _Method(operations.add_webhook)
    webhooks = _Method(operations.webhooks)
    remove_webhook = _Method(operations.remove_webhook)
    audit = _Method(operations.audit)
    differences = _Method(operations.differences)
    stopping = _Method(operations.stopping)
    price = _Method(operations.price)
    access = _Method(operations.access)
    algorithms = _Method(operations.algorithms)
    log = _Method(operations.log)
    save_report = _Method(operations.save_report)
    _event_page = _Method(operations.event_page)


class Client(_Methods, run=_at_once):
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
        limits = Limits(timeout, retries, patience, wait)
        http = httpx.Client(transport=transport, **options(self.url, key))
        self._connection = Connection(http, limits, sleep, clock, notice)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        at_once(self._connection.close())

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


class AsyncClient(_Methods, run=_awaited):
    """A client of the HTTP service for asyncio, with the methods of `Client`.

    Its calls are retried in the same way. Tasks of one event loop may share a client. Close it after use, or use it in
    an ``async with`` statement.

    Args:
        sleep: waits for some seconds; None for asyncio's.

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
        from asyncio import sleep as asleep  # a fifth of what the command line takes beyond its packages

        self.url = address(url)
        limits = Limits(timeout, retries, patience, wait)
        http = httpx.AsyncClient(transport=transport, **options(self.url, key))
        self._connection = Connection(http, limits, sleep or asleep, clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

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


complete(AsyncClient, described(Client))
complete(AsyncClient.events, described(Client.events))
