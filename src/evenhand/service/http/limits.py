"""The limits of a request, and those of a key: looked at before any work is done."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

import numpy as np
from fastapi import Request
from starlette.requests import ClientDisconnect

from evenhand.bandit.lease_rounds import STEPS
from evenhand.service.http.auth import Caller
from evenhand.service.http.problems import Refused
from evenhand.service.http.settings import Settings
from evenhand.service.http.turns import Turn, Turns
from evenhand.service.priority import LONG, PRIORITY
from evenhand.service.store.commands import NO_FEATURES, FeatureSeconds, decision_seconds
from evenhand.service.store.errors import TooMuchWork

Value = TypeVar("Value")

MAX_UNKNOWN = 20  # unknown fields that are described; more are refused without looking at them
REPORTED = 100  # rewards in a report of a lease for each that another request may have
NO_KEY = "without a key"
THREADS = {False: 4, True: 2}  # for logs without and with estimated propensities; as many are written at a time
LOOK = 0.2  # seconds between looks whether the client still waits
SMALL = 2**11  # bytes of a body that is read at once; of 680 empty entries that takes 2 ms
PIECE = 2**18  # bytes in which values are counted before others have their turn

# What requests take, in seconds of processor time, as measured with ten arms and SQLite:
REQUEST = 5e-4
RECEIVED = 3e-9  # of a byte of a body until it is there
BYTE, VALUE = 2e-8, 6e-6  # of a body; 1,000 rewards of unknown arms, 4,000 values, take 21 ms
NAME = 1e-6  # of a value where these are names of arms: 12,000 of them take 5 ms
OWN = {"audit": 4e-3, "events": 4e-3, "allocations": 4e-3, "arms": 2e-3, "metrics": 4e-3, "lease": 2e-3}
SHARE = 0.016  # of a key under way at a time: 32 single decisions, or one larger request
BESIDE = SHARE / 8  # the same while another key asks: 4 single decisions
ROOM = 4 * SHARE  # of all keys
LARGE_ROOM = 2 * SHARE  # two requests of more than a share
PACE = 0.5  # seconds of work that a key may begin per second, while others ask
MOST = 2.0  # seconds that a request takes, whatever it asks for: more is refused then

NAMING = ("decide", "lease")  # routes whose bodies name arms, and little else
FEW, LENGTH = 100, 4_096  # values; bytes of a value of a long body, on average, at most
#: The largest number of names, numbers and so on in the bodies of routes, by their names; others have few.
VALUES: dict[str, Callable[[Settings, float], float]] = {
    # all arms are named, with four parameters by name
    **dict.fromkeys(("create", "change"), lambda settings, names: 5 * settings.max_arms + 100),
    **dict.fromkeys(NAMING, lambda settings, names: min(settings.max_arms, names) + 2 * settings.max_batch + 100),
    "reward": lambda settings, names: 5 * settings.max_batch + 100,  # each of its own decision
    "price_log": lambda settings, names: settings.max_body,  # commas of a file; their number still counts as work
    "report": lambda settings, names: 3 * REPORTED * settings.max_batch + 100,  # a position and a value for each
}


async def check_values(
    route: str, settings: Settings, body: bytes, size: Callable[[], tuple[int, FeatureSeconds]]
) -> int:
    """The number of values of a body, about; refuses more than a route can need, and long strings, without parsing."""
    arms, features = size()  # no arms where it is not in memory
    names = arms * settings.max_batch if arms and features == NO_FEATURES else math.inf
    limit, number = VALUES[route](settings, names) if route in VALUES else FEW, 0
    letters = np.frombuffer(body, np.uint8)  # counted in a tenth of the time of `bytes.count`
    for first in range(0, len(body), PIECE):
        piece = letters[first : first + PIECE]
        found = sum(int(np.count_nonzero(piece == mark)) for mark in b",[{")
        number += found
        if number > limit:
            raise Refused("too_large", f"this body may have at most {limit:,} values, got at least {number:,}")
        if len(piece) == PIECE:
            if found < PIECE // LENGTH and route != "price_log":
                message = f"{PIECE:,} bytes of this body have {found:,} values, which may have {LENGTH:,} bytes each"
                raise Refused("too_large", message)
            await asyncio.sleep(0)
    return number


def check_fields(body: Any) -> None:
    """Refuse objects with so many fields that most are unknown, without describing each."""
    _check_fields("body", body)
    for name, value in body.items() if isinstance(body, dict) else ():
        for place, one in enumerate(value) if isinstance(value, list) else ():
            if isinstance(one, dict):
                _check_fields(f"body.{name}[{place}]", one)


def _check_fields(where: str, value: Any) -> None:
    if isinstance(value, dict) and len(value) > MAX_UNKNOWN:
        raise Refused.at(where, f"has {len(value):,} fields; no message has more than {MAX_UNKNOWN}, see /docs")


def work_of(route: str, body: Any, size: Callable[[], tuple[int, FeatureSeconds]]) -> float:
    """Seconds that the decisions in a body take, as estimated, in an allocation of that size."""
    if route not in NAMING or not isinstance(body, dict):
        return 0.0
    rounds, count = body.get("rounds"), body.get("count" if route == "decide" else "decisions", 1)
    number = len(rounds) if isinstance(rounds, list) else count if isinstance(count, int) else 1
    number = number if route == "decide" else min(number, STEPS)
    return decision_seconds(number, *size(), body.get("propensities") is True)


def check_number(of: str, limit: int, what: str, number: int) -> None:
    """Refuse more than the server's limit of what something has."""
    if number > limit:
        raise Refused("too_large", f"{of} may have at most {limit:,} {what}, got {number:,}")


def check_arms(settings: Settings, arms: Sequence[str] | None) -> None:
    """Refuse more arms per allocation than the server's limit."""
    check_number("an allocation", settings.max_arms, "arms", len(arms or ()))


def check_propensities(settings: Settings, decisions: int, arms: int) -> None:
    """Refuse more propensities per request than an allocation may have arms: each takes space in the answer."""
    if decisions * arms > settings.max_arms:
        these = f"{decisions:,} decisions among {arms:,} arms have {decisions * arms:,} propensities"
        raise Refused("too_large", f"{these}; a request may have at most {settings.max_arms:,}")


# --- per key ----------------------------------------------------------------------------------------------------------


class TokenBucket:
    """Allows a number of requests per second, and as many at once after a pause.

    By hand: the package `limits` counts windows, admits twice the rate around their borders, and takes 6 times as long.
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
    """What each key may request at a time; used by the thread of the event loop only."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._buckets: dict[str, TokenBucket] = {}
        self._requests: Counter[str] = Counter()
        small = Turns(SHARE, BESIDE, ROOM, PACE)
        self._turns = small, Turns(SHARE, SHARE, LARGE_ROOM, PACE, before=small)
        self._logs: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._pools = {
            kind: ThreadPoolExecutor(size, thread_name_prefix="evenhand-log") for kind, size in THREADS.items()
        }

    @contextmanager
    def request(self, caller: Caller) -> Iterator[None]:
        """Count a request while it is carried out, or refuse it where its key has too many."""
        key = caller.id or NO_KEY
        if caller.id is not None:
            bucket = self._buckets.setdefault(key, TokenBucket(self._settings.max_rate, self._clock))
            if (wait := bucket.take()) > 0.0:
                raise _too_many(f"a key may send {self._settings.max_rate:g} requests per second", wait)
        if self._requests[key] >= self._settings.max_concurrent:
            raise _too_many(f"a key may have {self._settings.max_concurrent:,} requests at a time")
        self._requests[key] += 1
        try:
            yield
        finally:
            self._requests[key] -= 1

    def place(self, caller: Caller, allocation: str) -> Place:
        """The place of a request among others, which it takes with `Place.take`."""
        return Place(self._turns, caller.id or NO_KEY, allocation)

    def log(self, caller: Caller, estimate: bool) -> LogDownload:
        """Begin to write a log, or refuse it where the key, or all keys together, download too many."""
        logs, key = self._logs[estimate], caller.id or NO_KEY
        what, limit = ("log with estimates", 1) if estimate else ("logs", self._settings.max_logs)
        if logs[key] >= limit:
            raise _too_many(f"a key may download {limit:,} {what} at a time")
        if logs.total() >= THREADS[estimate]:
            raise Refused("unavailable", f"{logs.total():,} {what} are being written; retry when one is complete")
        logs[key] += 1
        return LogDownload(self._pools[estimate], self._settings.max_seconds, lambda: logs.subtract([key]))


class Place:
    """The place of a request among those that are carried out."""

    def __init__(self, turns: tuple[Turns, Turns], key: str, allocation: str) -> None:
        self._turns, self._key, self._allocation = turns, key, allocation
        self._taken: tuple[Turns, Turn] | None = None
        self._is_short = False

    async def take(self, cost: float) -> None:
        """Wait until so much work may begin, in place of what was taken before."""
        self.leave()
        turns, turn = self._turns[cost > SHARE], Turn(self._key, self._allocation, min(cost, MOST))
        await turns.enter(turn)
        self._taken, self._is_short = (turns, turn), cost <= LONG
        if self._is_short:
            PRIORITY.begin()

    async def hold(self, cost: float) -> None:
        """Wait as `take` does, unless it has a turn."""
        if self._taken is None:
            await self.take(cost)

    def leave(self) -> None:
        """Let others have their turns, from the next round of the event loop on: a key would else have 200 in one."""
        if self._taken is not None:
            turns, turn = self._taken
            self._taken = None
            if self._is_short:
                PRIORITY.end()
            asyncio.get_running_loop().call_soon(turns.leave, turn)


class LogDownload:
    """A log that is written in a thread, until it is complete, the client is gone, or its seconds are over."""

    def __init__(self, pool: ThreadPoolExecutor, seconds: float, release: Callable[[], object]) -> None:
        self._pool, self._seconds, self._release = pool, seconds, release
        self._left, self._stopped, self._started = seconds, Event(), 0.0
        self._task: asyncio.Future[Any] | None = None

    def proceed(self) -> None:
        """Called in the thread, often; raises where the client is gone, or the time is over."""
        if self._stopped.is_set():
            raise TooMuchWork("the client is gone")
        if time.monotonic() - self._started > self._left:
            raise TooMuchWork(
                f"this log takes more than {self._seconds:g} seconds; request fewer rounds with since and until, or "
                "use `evenhand export`"
            )

    async def run(self, request: Request, function: Callable[[], Value]) -> Value:
        """The result of a function in the thread, for which the client must wait."""
        task = asyncio.get_running_loop().run_in_executor(self._pool, self._timed, function)
        self._task = task
        while not task.done():
            await asyncio.wait([task], timeout=LOOK)
            if not task.done() and await request.is_disconnected():
                self._stopped.set()
                task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for it
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
