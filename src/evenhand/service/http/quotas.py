"""The limits per key: requests per second, requests at a time, and logs at a time."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from evenhand.service.http.auth import Caller
from evenhand.service.http.problems import Refused
from evenhand.service.http.settings import Settings
from evenhand.service.store.errors import TooMuchWork

Value = TypeVar("Value")
THREADS = {False: 4, True: 2}  # for logs without and with estimated propensities; as many are written at a time
LOOK = 0.2  # seconds between looks whether the client still waits
NO_KEY = "without a key"


class TokenBucket:
    """Allows a number of requests per second, and as many at once after a pause.

    Args:
        rate: requests per second.
        clock: returns the time in seconds.

    Example:
        >>> bucket = TokenBucket(2.0, clock=lambda: 0.0)
        >>> [bucket.take() for _ in range(4)]
        [0.0, 0.0, 0.5, 0.5]
    """

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._tokens, self._time = max(rate, 1.0), clock()

    def take(self) -> float:
        """Take a token; 0 if there is one, else the seconds until there is one."""
        now = self._clock()
        self._tokens = min(max(self._rate, 1.0), self._tokens + self._rate * (now - self._time))
        self._time = now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / self._rate
        self._tokens -= 1.0
        return 0.0


class Quotas:
    """What each key may request at a time; used by the thread of the event loop only.

    Args:
        settings: the limits.
        clock: returns the time in seconds.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._buckets: dict[str, TokenBucket] = {}
        self._requests: Counter[str] = Counter()
        self._logs: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._pools = {
            estimate: ThreadPoolExecutor(threads, thread_name_prefix="evenhand-log")
            for estimate, threads in THREADS.items()
        }

    @contextmanager
    def request(self, caller: Caller) -> Iterator[None]:
        """Count a request while it is carried out.

        Raises:
            Refused: the key has sent too many, or too many are carried out.
        """
        key = caller.id or NO_KEY
        if caller.id is not None:
            bucket = self._buckets.setdefault(key, TokenBucket(self._settings.max_rate, self._clock))
            wait = bucket.take()
            if wait > 0.0:
                raise _too_many(f"a key may send {self._settings.max_rate:g} requests per second", wait)
        if self._requests[key] >= self._settings.max_concurrent:
            raise _too_many(f"a key may have {self._settings.max_concurrent:,} requests at a time")
        self._requests[key] += 1
        try:
            yield
        finally:
            self._requests[key] -= 1

    def log(self, caller: Caller, estimate: bool) -> LogDownload:
        """Begin to write a log.

        Raises:
            Refused: the key, or all keys together, download too many.
        """
        logs, key = self._logs[estimate], caller.id or NO_KEY
        what, limit = ("log with estimates", 1) if estimate else ("logs", self._settings.max_logs)
        if logs[key] >= limit:
            raise _too_many(f"a key may download {limit:,} {what} at a time")
        if logs.total() >= THREADS[estimate]:
            raise Refused("unavailable", f"{logs.total():,} {what} are being written; retry when one is complete")
        logs[key] += 1
        return LogDownload(self._pools[estimate], self._settings.max_seconds, lambda: logs.subtract([key]))


class LogDownload:
    """A log that is written in a thread, until it is complete, the client is gone, or its time is over.

    Args:
        pool: of the thread.
        seconds: that it may take to write.
        release: called when it is complete, and its thread free.
    """

    def __init__(self, pool: ThreadPoolExecutor, seconds: float, release: Callable[[], object]) -> None:
        self._pool, self._seconds, self._release = pool, seconds, release
        self._left, self._stopped, self._started = seconds, Event(), 0.0
        self._task: asyncio.Future[Any] | None = None

    def proceed(self) -> None:
        """Called in the thread, often.

        Raises:
            TooMuchWork: the client is gone, or the time is over.
        """
        if self._stopped.is_set():
            raise TooMuchWork("the client is gone")
        if time.monotonic() - self._started > self._left:
            raise TooMuchWork(
                f"this log takes more than {self._seconds:g} seconds; request fewer rounds with since and until, or "
                "use `evenhand export`"
            )

    async def run(self, request: Request, function: Callable[[], Value]) -> Value:
        """The result of a function in the thread.

        Raises:
            ClientDisconnect: the client does not wait for it.
        """
        task = asyncio.get_running_loop().run_in_executor(self._pool, self._timed, function)
        self._task = task
        while not task.done():
            await asyncio.wait([task], timeout=LOOK)
            if not task.done() and await request.is_disconnected():
                self._stopped.set()
                task.add_done_callback(_seen)
                raise ClientDisconnect
        return task.result()

    def end(self) -> None:
        """Stop it; its place is free as soon as its thread is."""
        self._stopped.set()
        if self._task is None or self._task.done():
            self._release()
        else:
            self._task.add_done_callback(lambda _: self._release())

    def _timed(self, function: Callable[[], Value]) -> Value:
        self._started = time.monotonic()
        try:
            return function()
        finally:
            self._left -= time.monotonic() - self._started


def _too_many(limit: str, wait: float = 1.0) -> Refused:
    seconds = max(1, math.ceil(wait))
    message = f"{limit}; retry after {seconds:,} s"
    return Refused("too_many_requests", message, headers={"retry-after": str(seconds)})


def _seen(task: asyncio.Future[Value]) -> None:
    """Take note of an error that nobody waits for."""
    task.cancelled() or task.exception()
