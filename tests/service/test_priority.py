"""Long work lets short requests go first, with a clock that the test sets."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from evenhand.service import Decide, Reward, Store
from evenhand.service.http.dependencies import _read
from evenhand.service.priority import STEP, Priority


class Pauses(Priority):
    """A priority whose pauses end at once, and are counted."""

    def __init__(self) -> None:
        self.now, self.number = 0.0, 0
        super().__init__(clock=lambda: self.now)
        self._none = self  # type: ignore[assignment]

    def wait(self, longest: float) -> None:
        self.number += 1

    def set(self) -> None:
        """Nobody waits."""

    clear = set


def test_long_work_goes_on_when_short_requests_are_done() -> None:
    order, begun, priority = list[str](), Event(), Priority(longest=60.0)

    def work() -> None:
        with priority.long():
            begun.set()
            priority.pause()
            order.append("long")

    priority.begin()
    priority.begin()
    thread = Thread(target=work)
    thread.start()
    begun.wait(10.0)
    for name in ("short", "another"):
        order.append(name)
        priority.end()
    thread.join(10.0)
    assert order == ["short", "another", "long"]


def test_nothing_else_pauses() -> None:
    priority = Pauses()
    priority.begin()
    priority.pause()
    assert priority.number == 0
    with priority.long():
        priority.pause()
        assert priority.number == 1
    priority.pause()
    priority.end()
    with priority.long():
        priority.pause()
    assert priority.number == 1


def test_a_request_that_waits_for_the_work_itself_is_paused_for_once() -> None:
    priority = Pauses()
    priority.begin()
    with priority.long():
        for _ in range(10):
            priority.pause()
            priority.now += 2 * STEP
        assert priority.number == 1
        priority.begin()
        priority.pause()
        assert priority.number == 2


def test_work_goes_on_for_a_step_between_pauses() -> None:
    """However many requests come: ten of them within two steps are paused for twice."""
    priority = Pauses()
    with priority.long():
        for _ in range(10):
            priority.begin()
            priority.pause()
            priority.end()
            priority.now += STEP / 5 + 1e-9
    assert priority.number == 2


class Counted(Priority):
    """Counts how often long work lets others go first."""

    number = 0

    def pause(self) -> None:
        """Once more, unless the work is short."""
        self.number += "since" in vars(self._own)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Those of everything in this process."""
    found = Counted()
    for name in ("json", "store.commands", "store.allocation", "store.transaction", "http.dependencies"):
        monkeypatch.setattr(f"evenhand.service.{name}.PRIORITY", found)
    return found


def test_batches_and_reports_pause_and_single_decisions_do_not(tmp_path: Path, pauses: Counted) -> None:
    store = Store.open(str(tmp_path / "drinks.db"))
    store.create("drinks", ["tea", "coffee"], "ucb1", missing="never", seed=1)
    store.run("drinks", Decide())
    assert pauses.number == 0
    store.run("drinks", Decide(1_000))
    assert pauses.number == 2 * 1_000  # when each is decided, and when its event is made
    store.run("drinks", Reward([("1", {"tea": 1.0})]))
    assert pauses.number == 2 * 1_000
    store.run("drinks", Reward([("none", {"tea": 1.0})] * 1_000))
    assert pauses.number == 3 * 1_000
    store.close()


def test_large_bodies_are_read_with_pauses(pauses: Counted) -> None:
    class Field:
        """Takes everything."""

        def validate(self, value: Any, loc: tuple[str, ...]) -> tuple[Any, None]:
            return value, None

    text = b'{"rewards":[{},{},{}]}'
    assert _read(Field(), text, nullcontext())[0] == {"rewards": [{}, {}, {}]}
    assert pauses.number == 0
    value, _ = _read(Field(), text, pauses.long())
    assert value == {"rewards": [{}, {}, {}]}
    assert pauses.number == 4  # one for each object
