"""Whose request is next: the rule itself, with a clock that the test sets."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

import pytest

from evenhand.service.http.turns import AHEAD, RECENT, TICK, YIELD, Turn, Turns


class Served:
    """Turns, with the requests in the order in which they began."""

    def __init__(
        self, share: float = 10.0, room: float = 40.0, pace: float = math.inf, beside: float | None = None
    ) -> None:
        self.now, self.begun = 0.0, list[str]()
        self.turns = Turns(share, share if beside is None else beside, room, pace, lambda: self.now)
        self.tasks: dict[str, tuple[Turn, asyncio.Task[None]]] = {}

    async def ask(self, *names: str, cost: float = 1.0) -> None:
        """Requests, whose first letter is the key and whose second one the allocation."""
        for name in names:
            turn = Turn(name[0], name[1], cost)
            self.tasks[name] = turn, asyncio.create_task(self._asked(name, turn))
        await self.settle()

    async def done(self, name: str) -> None:
        """A request was carried out."""
        self.turns.leave(self.tasks.pop(name)[0])
        await self.settle()

    async def settle(self) -> None:
        """Let all that can go on do so."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def _asked(self, name: str, turn: Turn) -> None:
        await self.turns.enter(turn)
        self.begun.append(name)


def run(test: Callable[[Served], Awaitable[None]], served: Served) -> None:
    async def whole() -> None:
        await test(served)
        for _, task in served.tasks.values():
            task.cancel()
        await asyncio.gather(*(task for _, task in served.tasks.values()), return_exceptions=True)

    asyncio.run(whole())


def test_a_key_has_its_share_under_way_and_no_more() -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1", "ax2", "ax3", cost=4.0)
        assert served.begun == ["ax1", "ax2"]
        await served.ask("bx1", cost=4.0)
        assert served.begun == ["ax1", "ax2", "bx1"]  # another key waits for none of these
        await served.done("ax1")
        assert served.begun[3:] == ["ax3"]

    run(test, Served())


def test_a_request_that_is_more_than_a_share_is_alone() -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1")
        await served.ask("ax2", cost=1_000.0)
        await served.ask("ax3")
        assert served.begun == ["ax1"]
        await served.done("ax1")
        assert served.begun == ["ax1", "ax2"]
        await served.done("ax2")
        assert served.begun == ["ax1", "ax2", "ax3"]

    run(test, Served())


def test_while_another_key_asks_less_of_a_key_is_under_way() -> None:
    """Alone ten at a time; beside another key two, until that one has been silent for a while."""

    async def test(served: Served) -> None:
        await served.ask(*[f"ax{number}" for number in range(30)])
        assert len(served.begun) == 10
        await served.ask("bx1")
        await served.done("bx1")
        for number in range(8):
            await served.done(f"ax{number}")
        assert served.begun[10:] == ["bx1"]  # two are under way
        await served.done("ax8")
        assert served.begun[11:] == ["ax10"]
        served.now += RECENT
        await served.done("ax9")
        assert len(served.begun) == 11 + 10

    run(test, Served(beside=2.0))


def test_a_request_of_more_than_is_left_beside_another_key_is_alone() -> None:
    async def test(served: Served) -> None:
        await served.ask("bx1", "ax1", "ax2")
        await served.ask("ax3", cost=5.0)
        assert served.begun == ["bx1", "ax1", "ax2"]
        await served.done("ax1")
        assert served.begun == ["bx1", "ax1", "ax2"]  # one more would have room, and this one has not
        await served.done("ax2")
        assert served.begun[3:] == ["ax3"]

    run(test, Served(beside=2.0))


def test_without_room_the_key_is_next_that_has_had_least() -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1", "ax2", "ax3", "bx1", "bx2", cost=5.0)
        await served.ask("cx1", cost=1.0)
        assert served.begun == ["ax1", "bx1"]  # of two keys one each, and there is no room for more
        await served.done("ax1")
        assert served.begun[2:] == ["cx1"]  # as it has had nothing
        await served.done("bx1")
        await served.done("cx1")
        assert sorted(served.begun[3:]) == ["ax2", "bx2"]

    run(test, Served(share=5.0, room=10.0))


def test_allocations_of_a_key_take_turns() -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1", "ax2", "ax3", "ay1", "ay2")
        for name in ("ax1", "ax2", "ay1", "ax3"):
            assert served.begun[-1] == name
            await served.done(name)
        assert served.begun == ["ax1", "ax2", "ay1", "ax3", "ay2"]

    run(test, Served(share=1.0))


def test_work_counts_and_not_requests() -> None:
    """Of a key that asks for a tenth each time, ten requests begin for each of the other."""

    async def test(served: Served) -> None:
        await served.ask("cx0")  # takes the room
        await served.ask(*[f"ax{number}" for number in range(4)])
        await served.ask(*[f"bx{number}" for number in range(40)], cost=0.1)
        await served.done("cx0")
        while len(served.begun) < 23:
            await served.done(served.begun[-1])
        assert sum(name[0] == "a" for name in served.begun) in (2, 3)

    run(test, Served(share=0.1, room=0.1))  # one at a time


def test_a_pause_is_not_made_up_for() -> None:
    async def test(served: Served) -> None:
        for number in range(100):
            await served.ask(f"a{number}")
            await served.done(f"a{number}")
        await served.ask("cx1")
        await served.ask("ax1", "ax2", "bx1", "bx2")
        for _ in range(4):
            await served.done(served.begun[-1])
        assert [name[0] for name in served.begun[-4:]] in (["a", "b", "a", "b"], ["b", "a", "b", "a"])

    run(test, Served(share=1.0, room=1.0))


def test_a_key_keeps_its_pace_while_another_is_there() -> None:
    """Twice as much as it may: it waits until the work begun before is that of the time gone by."""

    async def test(served: Served) -> None:
        served.now = 100.0
        for name in ("ax1", "ax2"):  # nobody else is there
            await served.ask(name, cost=3.0)
            await served.done(name)
        await served.ask("bx1", "ax3", cost=3.0)
        assert served.begun == ["ax1", "ax2", "bx1"]
        served.now = 100.0 - AHEAD + 5.9
        served.turns.serve()
        await served.settle()
        assert served.begun[3:] == []
        served.now = 106.0
        served.turns.serve()
        await served.settle()
        assert served.begun[3:] == ["ax3"]

    run(test, Served(pace=1.0))


def test_requests_that_are_done_at_once_leave_time_in_between() -> None:
    """Each is done before the next one asks, so that never two are under way; yet not all begin at once."""

    async def test(served: Served) -> None:
        served.now = 100.0
        await served.ask("bx0")
        await served.done("bx0")
        served.now += RECENT / 2
        for number in range(20):
            await served.ask(f"ax{number}", cost=0.3 * AHEAD)
            if f"ax{number}" in served.begun:
                await served.done(f"ax{number}")
        assert len(served.begun) == 1 + 4  # as another key asked just now
        served.now += RECENT
        served.turns.serve()
        await served.settle()
        assert len(served.begun) == 1 + 20

    run(test, Served(share=1.0, room=1.0, pace=1.0))


async def one_had_much(served: Served) -> None:
    """A key has had much when another one's request begins, and asks again."""
    await served.ask("ax1", cost=8.0)
    await served.done("ax1")
    await served.ask("bx1")
    await served.ask("ax2", "ax3")


def test_a_key_that_had_much_lately_lets_the_requests_of_others_go_first() -> None:
    async def test(served: Served) -> None:
        await one_had_much(served)
        assert served.begun == ["ax1", "bx1"]
        await served.done("bx1")
        assert served.begun[2:] == ["ax2", "ax3"]

    run(test, Served())


def test_it_does_so_for_a_while_only() -> None:
    async def test(served: Served) -> None:
        await one_had_much(served)
        for waited in (["ax2"], ["ax2", "ax3"]):
            served.now += 1.01 * YIELD
            served.turns.serve()
            await served.settle()
            assert served.begun[2:] == waited

    run(test, Served())


def test_keys_with_about_as_much_work_do_not_wait_for_each_other() -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1", cost=3.0)
        await served.done("ax1")
        await served.ask("bx1", "ax2")
        assert served.begun == ["ax1", "bx1", "ax2"]

    run(test, Served())


def test_large_requests_keep_their_pace_beside_small_ones_of_another_key() -> None:
    async def test(served: Served) -> None:
        small = Turns(10.0, 10.0, 40.0, math.inf, lambda: served.now)
        served.turns = Turns(10.0, 10.0, 20.0, 1.0, lambda: served.now, before=small)
        for key, begun in (("a", ["ax1", "ax2"]), ("b", ["ax1", "ax2"])):
            await small.enter(turn := Turn(key, "x", 0.001))
            small.leave(turn)
            for number in range(1, 3):
                await served.ask(f"ax{number}", cost=0.3)
                if f"ax{number}" in served.begun:
                    await served.done(f"ax{number}")
            assert served.begun == begun  # one's own are no others
        served.now += 0.61
        served.turns.serve()
        await served.settle()
        assert served.begun == ["ax1", "ax2", "ax1"]

    run(test, Served())


def test_a_key_whose_time_comes_while_it_is_looked_at_is_not_forgotten() -> None:
    """Between two readings of the clock the time comes; nothing else happens that would have it served."""

    async def test(served: Served) -> None:
        await served.ask("bx1")
        for number in range(20):
            await served.ask(f"ax{number}", cost=0.001 * number)
            await asyncio.wait_for(served.tasks[f"ax{number}"][1], 5.0)
            await served.done(f"ax{number}")

    class Late(Served):
        """Each reading of the clock is later by as much as a request costs."""

        def read(self) -> float:
            self.now += 0.001
            return self.now

    served = Late()
    served.turns = Turns(10.0, 10.0, 40.0, 1.0, served.read)
    run(test, served)


def test_those_that_are_early_are_not_looked_at_all_the_time() -> None:
    """A timer of less than a millisecond is one of none with uvloop: nothing else would be done meanwhile."""

    async def test(served: Served) -> None:
        served.now = 100.0
        await served.ask("bx1")
        await served.ask("ax1", cost=AHEAD + 1e-5)
        await served.ask("ax2", cost=AHEAD)
        assert served.begun == ["bx1", "ax1"]
        timer = served.turns._timer
        assert timer is not None
        assert timer.when() - asyncio.get_running_loop().time() > TICK / 2
        served.now += TICK
        await asyncio.wait_for(served.tasks["ax2"][1], 5.0)

    run(test, Served(pace=1.0))


def test_a_request_that_is_given_up_leaves_its_place() -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1", "ax2", "ax3", cost=10.0)
        served.tasks.pop("ax2")[1].cancel()
        await served.done("ax1")
        assert served.begun == ["ax1", "ax3"]
        _, task = served.tasks["ax3"]
        assert task.done()

    run(test, Served())


@pytest.mark.parametrize("late", [False, True])
def test_a_turn_is_not_lost_with_a_request_that_is_given_up_as_it_begins(late: bool) -> None:
    async def test(served: Served) -> None:
        await served.ask("ax1", "ax2", "ax3", cost=10.0)
        _, task = served.tasks.pop("ax2")
        if late:
            served.turns.leave(served.tasks.pop("ax1")[0])  # it has its turn, and does not know
            task.cancel()
        else:
            task.cancel()
            served.turns.leave(served.tasks.pop("ax1")[0])
        await served.settle()
        assert served.begun == ["ax1", "ax3"]

    run(test, Served())
