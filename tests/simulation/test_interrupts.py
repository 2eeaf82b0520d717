"""Signals wait until the end of a block."""

from __future__ import annotations

import signal
import threading

import pytest

from evenhand.simulation.interrupts import interrupts_wait


def test_an_interrupt_comes_at_the_end_of_the_block() -> None:
    before, reached = signal.signal(signal.SIGINT, signal.default_int_handler), []

    def interrupted() -> None:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert reached
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_ignored_signals_stay_ignored_and_other_threads_change_nothing() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    seen: list[object] = []

    def elsewhere() -> None:
        with interrupts_wait():
            seen.append(signal.getsignal(signal.SIGINT))

    handler = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [handler]
