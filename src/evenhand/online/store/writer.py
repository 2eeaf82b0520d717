"""The one writer of an allocation: takes what is asked of it in groups, each committed before it is answered."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import DBAPIError, TimeoutError

from evenhand.errors import EvenhandError
from evenhand.online.store import tables
from evenhand.online.store.commands import Answer, Command, Desk
from evenhand.online.store.database import Database
from evenhand.online.store.errors import KeyReused, Overloaded, StoreUnavailable
from evenhand.online.store.events import quickly
from evenhand.online.store.live import SNAPSHOT, Live, recalled, row_of

GROUP = 500  # commands that are committed together at most
TURN = 0.1  # seconds after which a group is committed, though it may not be done, so that other processes can write
QUEUE = 10_000  # commands that wait at most; more are refused
KEPT = 7 * 86_400.0  # seconds for which an answer is kept under its idempotency key


class Observer(Protocol):
    """Whoever wants to know of commits."""

    def committed(self, events: int, seconds: float) -> None:
        """So many events were committed, in so many seconds."""


@dataclass(frozen=True)
class Asked:
    """A command, and where its answer is waited for."""

    command: Command
    future: Future[Answer]


class Torn(Exception):
    """A command failed half way: the bandit in memory is not to be trusted any more."""

    def __init__(self, asked: Asked, cause: Exception) -> None:
        super().__init__(str(cause))
        self.asked, self.cause = asked, cause


class Writer:
    """Carries out the commands of one allocation, one after the other.

    A group of commands is a transaction, in which the allocation's row is locked: of several processes one writes at a
    time, after it has gone through what the others wrote. Nobody sees a state that is not committed.

    Args:
        name: of the allocation.
        database: where it is.
        workers: threads that do the work.
        clock: tells the time, in seconds since the epoch.
        observer: hears of commits; None for nobody.
        snapshot: events after which the bandit is written down whole.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        workers: Executor,
        clock: Callable[[], float] = time.time,
        observer: Observer | None = None,
        snapshot: int = SNAPSHOT,
    ) -> None:
        self.name = name
        self._database, self._workers, self._clock, self._observer = database, workers, clock, observer
        self._every = snapshot
        self._live: Live | None = None
        self._waiting: deque[Asked] = deque()
        self._busy = False
        self._lock = Lock()  # of the two above

    def submit(self, command: Command) -> Future[Answer]:
        """Ask for something; the answer comes when what it did is committed."""
        asked = Asked(command, Future())
        with self._lock:
            if len(self._waiting) >= QUEUE:
                asked.future.set_exception(Overloaded(f"{QUEUE:,} requests wait for {self.name!r}; ask later"))
                return asked.future
            self._waiting.append(asked)
            if not self._busy:
                try:
                    self._workers.submit(self._work)
                except RuntimeError:
                    self._waiting.clear()
                    asked.future.set_exception(StoreUnavailable("the store is closed"))
                    return asked.future
                self._busy = True
        return asked.future

    def write_snapshot(self) -> None:
        """Write the bandit down whole, if it has gone on since that was done; for the time when nothing is asked."""
        if self._live is not None and self._live.sequence > self._live.snapshot:
            with self._database.transaction(writes=True) as connection:
                self._current(connection).write_snapshot(connection)

    def _work(self) -> None:
        """Carry out a group; then the other allocations have their turn."""
        with self._lock:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP))]
        self._carry_out([asked for asked in group if asked.future.set_running_or_notify_cancel()])
        with self._lock:
            busy = self._busy = bool(self._waiting)
        if busy:  # as it was then: where it was not, somebody else may have begun in the meantime
            try:
                self._workers.submit(self._work)
            except RuntimeError:  # the store is closing, and takes no more turns
                self._work()

    def _carry_out(self, group: Sequence[Asked]) -> None:
        """Do what is asked in transactions, and then answer; or tell everybody what went wrong."""
        while group:
            try:
                outcomes = self._committed(group)
            except Torn as torn:  # nothing of the group is in the database; the others go on without it
                self._live = None
                torn.asked.future.set_exception(torn.cause)
                group = [asked for asked in group if asked is not torn.asked]
            except Exception as error:  # whatever it is, nobody may wait for ever
                self._live = None
                _tell(group, [error] * len(group))
                break
            else:
                _tell(group[: len(outcomes)], outcomes)
                group = group[len(outcomes) :]

    def _committed(self, group: Sequence[Asked]) -> list[Answer | Exception]:
        """What came of each command, or of the first ones where they take long; what they did is in the database."""
        begun, live = time.perf_counter(), self._live
        due = live is not None and live.bandit.due(self._clock())
        writes = due or not all(asked.command.reads for asked in group)
        with self._database.transaction(writes) as connection:
            live = self._current(connection)
            before = live.sequence
            desk = Desk(live, self._clock(), connection)
            if writes:
                live.expire(desk.now)
            answered = self._answered(desk, group)
            outcomes: list[Answer | Exception] = []
            turn = time.perf_counter()  # not from the start, as the wait for the row can have been long
            for asked in group:
                outcomes.append(self._outcome(desk, asked, answered))
                if time.perf_counter() - turn > TURN:
                    break
            live.flush(connection)
            if desk.keyed:
                connection.execute(insert(tables.answers), desk.keyed)
            if writes and live.wants_snapshot(self._every):
                live.write_snapshot(connection)
                old = tables.answers.c.time < desk.now - KEPT
                connection.execute(delete(tables.answers).where(tables.answers.c.allocation == live.id, old))
        if self._observer is not None and live.sequence > before:
            self._observer.committed(live.sequence - before, time.perf_counter() - begun)
        return outcomes

    def _current(self, connection: Connection) -> Live:
        """The allocation after its last event, whoever wrote that; nobody else writes until the transaction ends."""
        row = row_of(connection, self.name, lock=connection.get_execution_options()["writes"])
        if self._live is None:
            self._live = recalled(connection, row.id, self.name, row.sequence)
        self._live.catch_up(connection, row.sequence)
        return self._live

    def _answered(self, desk: Desk, group: Sequence[Asked]) -> dict[str, tuple[str, Answer]]:
        """The digests of the requests that came with the keys of this group before, and their answers."""
        keys = {asked.command.key for asked in group if asked.command.key is not None and not asked.command.reads}
        if not keys:
            return {}
        table = tables.answers.c
        where = (table.allocation == desk.live.id, table.key.in_(keys))
        rows = desk.connection.execute(select(table.key, table.digest, table.time, table.body).where(*where)).all()
        if any(row.time < desk.now - KEPT for row in rows):  # these keys are free again
            desk.connection.execute(delete(tables.answers).where(*where, table.time < desk.now - KEPT))
        return {row.key: (row.digest, json.loads(row.body)) for row in rows if row.time >= desk.now - KEPT}

    def _outcome(self, desk: Desk, asked: Asked, answered: dict[str, tuple[str, Answer]]) -> Answer | Exception:
        """What comes of a command: an answer, or the reason why it was refused."""
        before = desk.live.sequence
        try:
            return self._answer(desk, asked.command, answered)
        except (DBAPIError, TimeoutError):  # not the command's fault
            raise
        except EvenhandError as error:
            if desk.live.sequence == before:
                return error
            raise Torn(asked, error) from error
        except Exception as error:
            raise Torn(asked, error) from error

    def _answer(self, desk: Desk, command: Command, answered: dict[str, tuple[str, Answer]]) -> Answer:
        """The answer to a command: the one that its key had before, or a new one."""
        if command.key is None or command.reads:
            return command.run(desk)
        digest = command.digest()
        if command.key in answered:
            known, answer = answered[command.key]
            if digest != known:
                raise KeyReused(f"the idempotency key {command.key!r} came with another request before")
            return answer
        answer = command.run(desk)
        answered[command.key] = digest, answer
        row = {"allocation": desk.live.id, "key": command.key, "digest": digest, "time": desk.now}
        desk.keyed.append(row | {"body": quickly(answer)})
        return answer


def _tell(group: Sequence[Asked], outcomes: Sequence[Answer | Exception]) -> None:
    for asked, outcome in zip(group, outcomes, strict=True):
        if isinstance(outcome, Exception):
            asked.future.set_exception(outcome)
        else:
            asked.future.set_result(outcome)
