"""Signals that wait until code is done that an exception must not leave halfway."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WAITING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Deliver signals that have a Python handler only at the end of the block.

    Numba and LLVM may not survive an exception that a signal handler raises while they are imported or compile: runs
    that were interrupted then have ended by a segmentation fault (seen twice, on a busy machine).
    """
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: handler for number in WAITING if callable(handler := signal.getsignal(number))}
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)
