"""Which thread has the interpreter: long work pauses for short requests, as one thread runs Python at a time.

While another thread computes, each step of a short request waits to have the interpreter back: after every statement of
the database, every message between threads. `sys.setswitchinterval` changes little of that: with 1, 0.1 and 0.02 ms
decisions beside a thread that computes took 17, 15 and 17 ms (median; 2 alone), as the operating system has to wake a
thread each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, local

LONG = 0.01  # seconds of work, as estimated, from which on it is long; such a command is not carried out with others
STEP = 0.001  # seconds that long work goes on between pauses, at least
PAUSE = 0.01  # seconds of a pause, at most: a decision takes 3 to 5 ms, most of them for the disk


class Priority:
    """Lets short requests go before long work; those that are still there after a pause are no reason for another."""

    def __init__(self, longest: float = PAUSE, clock: Callable[[], float] = time.perf_counter) -> None:
        self._longest, self._clock = longest, clock
        self._lock, self._none, self._own = Lock(), Event(), local()
        self._short = self._begun = 0

    def begin(self) -> None:
        """A short request begins."""
        with self._lock:
            self._short += 1
            self._begun += 1
            self._none.clear()

    def end(self) -> None:
        """A short request is done."""
        with self._lock:
            self._short -= 1
            if not self._short:
                self._none.set()

    @contextmanager
    def long(self) -> Iterator[None]:
        """What this thread does is long, and pauses where it calls `pause`."""
        self._own.since, self._own.seen = self._clock() - STEP, 0
        try:
            yield
        finally:
            del self._own.since

    def pause(self) -> None:
        """Called often, between steps of work: lets short requests go first if the work is long."""
        if not self._short:
            return
        own = self._own.__dict__
        if "since" in own and self._begun > own["seen"] and self._clock() - own["since"] >= STEP:
            self._none.wait(self._longest)
            own["since"], own["seen"] = self._clock(), self._begun


PRIORITY = Priority()  # of this process, which has one interpreter
