"""Whose request is carried out next: keys have equal shares of the server, and so have the allocations of a key."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

AHEAD = 0.002  # seconds of work that a key may begin at once after a pause
RECENT = 1.0  # seconds for which a key counts as one that asks after its last request
HEAVY = 4.0  # times the recent work of another key from which on a key lets the requests of that one go first
YIELD = 0.01  # seconds for which it does so, at most, before it begins one of its own
TICK = 0.001  # seconds from one look at those that are early to the next; of less uvloop makes 0, and looks always
TINY = 1e-9  # seconds, for sums of rounded numbers


@dataclass(eq=False)
class Turn:
    """A request that is carried out, or waits for that."""

    key: str
    allocation: str
    cost: float
    granted: asyncio.Future[None] | None = None


@dataclass
class Queue:
    """The requests about an allocation that wait, and the work that those before them took."""

    had: float
    turns: deque[Turn] = field(default_factory=deque)


@dataclass
class Account:
    """A key: the work that its requests took, that of those under way, and its requests that wait, by allocation."""

    key: str
    had: float
    under_way: float = 0.0
    queues: dict[str, Queue] = field(default_factory=dict)
    begins: float = 0.0  # when its next request may begin, in seconds
    served: float = 0.0  # what the allocation had that was served last
    asked: float = 0.0  # when it asked last, in seconds
    lately: float = 0.0  # its work, of which an e-th is left after a second
    begun: float = -math.inf  # when its last request began, in seconds

    @property
    def is_here(self) -> bool:
        """Whether a request of it is under way or waits."""
        return self.under_way > TINY or bool(self.queues)

    def queue(self, allocation: str) -> Queue:
        """The requests about an allocation; a new one has had no less than the others, and makes up for no pause."""
        return self.queues.setdefault(allocation, Queue(self.served))

    def recent(self, now: float) -> float:
        """The work that it has begun lately."""
        return self.lately * math.exp(self.begun - now)

    def first(self) -> Queue:
        """The queue that has had least; of equals the one that came first."""
        return min(self.queues.values(), key=lambda queue: queue.had)


class Turns:
    """Requests take turns: of each key so much may be under way, and of all keys together; the others wait.

    The key is next that has had the least work since it began to ask, and of its allocations the one that has. While
    another asks, or did a second ago, only ``beside`` of a key may be under way instead of ``share``, and it begins no
    more than ``pace`` seconds of work per second, so that the threads of others find the interpreter free; one that has
    had much more lately begins nothing while a request of another is under way, for `YIELD` seconds at most.
    Keys that ask for turns ``before`` these are others, too: large requests let small ones go first.

    Source: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996), by estimated work, for keys and within them.
    """

    def __init__(
        self,
        share: float,
        beside: float,
        room: float,
        pace: float,
        clock: Callable[[], float] = time.monotonic,
        before: Turns | None = None,
    ) -> None:
        self._share, self._beside, self._room, self._pace, self._clock = share, beside, room, pace, clock
        self._under_way = self._served = 0.0
        self._accounts: dict[str, Account] = {}
        self._all: list[dict[str, Account]] = [self._accounts, *(before._all if before else ())]
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, turn: Turn) -> None:
        """Return when a request may be carried out; after it comes `leave`."""
        account = self._account(turn.key)
        turn.granted = asyncio.get_running_loop().create_future()
        account.queue(turn.allocation).turns.append(turn)
        self._waiting += 1
        self.serve()
        try:
            await turn.granted
        except asyncio.CancelledError:
            queue = account.queues.get(turn.allocation)
            if queue is not None and turn in queue.turns:
                self._take(account, queue, turn)
            else:
                self.leave(turn)
            raise

    def leave(self, turn: Turn) -> None:
        """A request was carried out; others have their turns."""
        size, account = min(turn.cost, self._share), self._accounts[turn.key]
        account.under_way -= size
        account.asked = self._clock()
        self._under_way -= size
        if self._waiting:
            self.serve()

    def serve(self) -> None:
        """Begin what may begin now; where the next has no room, no other overtakes it."""
        now = self._clock()  # once: a key that is early here is so in `_wake`, too
        while able := [one for one in self._accounts.values() if one.queues and self._may_begin(one, now)]:
            account = min(able, key=lambda one: one.had)
            queue = account.first()
            turn = queue.turns[0]
            size = min(turn.cost, self._share)
            if self._under_way + size > self._room + TINY:
                return
            account.served, self._served = queue.had, account.had
            queue.had += turn.cost
            account.had += turn.cost
            account.under_way += size
            self._under_way += size
            account.begins = max(account.begins, now - AHEAD) + turn.cost / self._pace
            account.lately, account.begun = account.recent(now) + turn.cost, now
            self._take(account, queue, turn)
            if turn.granted is not None and not turn.granted.done():  # else it is cancelled, and leaves
                turn.granted.set_result(None)
        self._wake(now)

    def _may_begin(self, account: Account, now: float) -> bool:
        """Whether a key may have its next request under way, too."""
        size = min(account.first().turns[0].cost, self._share)
        if account.under_way + size > self._share + TINY:
            return False
        if account.begins <= now and account.under_way + size <= max(size, self._beside) + TINY:
            return account.begun + YIELD <= now or not self._yields(account, now)
        return not self._has_others(account, now)

    def _yields(self, account: Account, now: float) -> bool:
        """Whether a request is under way of a key that has had much less work lately."""
        own = account.recent(now)
        return any(one.under_way > TINY and own > HEAVY * one.recent(now) for one in self._others(account))

    def _has_others(self, account: Account, now: float) -> bool:
        """Whether another key asks, or did so just now."""
        return any(one.is_here or one.asked > now - RECENT for one in self._others(account))

    def _others(self, account: Account) -> Iterator[Account]:
        """The accounts of other keys, with those that go before."""
        return (one for accounts in self._all for one in accounts.values() if one.key != account.key)

    def _wake(self, now: float) -> None:
        """See to it that those begin in time that have begun much, or let others go first."""
        waiting = [one for one in self._accounts.values() if one.queues]
        early = [when - now for one in waiting for when in (one.begins, one.begun + YIELD) if when > now]
        if early and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(max(min(early), TICK), self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self.serve()

    def _take(self, account: Account, queue: Queue, turn: Turn) -> None:
        """Take a request out of its queue."""
        queue.turns.remove(turn)
        self._waiting -= 1
        if not queue.turns:
            del account.queues[turn.allocation]

    def _account(self, key: str) -> Account:
        """The account of a key; after a pause it has had no less than others. Keys that pause long are forgotten."""
        account = self._accounts.get(key)
        if account is None:
            now, known = self._clock(), self._accounts.items()
            idle = [name for name, one in known if not one.is_here and max(one.begins, one.asked + RECENT) <= now]
            for name in idle:
                del self._accounts[name]
            account = self._accounts[key] = Account(key, self._served)
        elif not account.is_here:
            account.had = max(account.had, self._served)
        return account
