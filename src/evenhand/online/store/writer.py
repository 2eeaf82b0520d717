"""The one writer of an allocation: runs its commands in groups, each committed before it is answered."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any, Protocol

from pydantic import TypeAdapter
from sqlalchemy import Connection, delete, func, select
from sqlalchemy.exc import DBAPIError, IntegrityError, TimeoutError

from evenhand.core.errors import EvenhandError, StateError
from evenhand.online.api.encoding import encode
from evenhand.online.store import tables
from evenhand.online.store.allocation import Allocation, has_event, loaded, row_of
from evenhand.online.store.commands import Answer, Command, CommandContext
from evenhand.online.store.database import LOG, Database, insert_rows
from evenhand.online.store.errors import DamagedAllocation, KeyReused, Overloaded, StoreUnavailable
from evenhand.online.store.snapshots import Snapshot, write_snapshot

MAX_GROUP = 500  # commands per transaction
MAX_SECONDS = 0.1  # after which a group is committed though it is not complete, so that other processes can write
MAX_QUEUE = 10_000  # commands that wait; more are refused
SNAPSHOT_EVERY = 20_000  # events between snapshots, at most
REPLAY_SECONDS = 0.3  # of processor time between snapshots, which a start may take to replay
SNAPSHOT_SHARE = 0.2  # of the processor time, at most, for snapshots
ANSWER_LIFETIME = 7 * 86_400.0  # seconds for which an answer is kept under its idempotency key, at least
MAX_STEP = 86_400.0  # seconds by which answers grow older between two groups of commands, whatever the clock says


class Observer(Protocol):
    """Receives the commits of a store."""

    def committed(self, events: int, seconds: float) -> None:
        """A transaction wrote this number of events in this time."""


@dataclass(frozen=True)
class QueuedCommand:
    """A command, and the future of its answer."""

    command: Command[Any]
    future: Future[Any]


@dataclass
class AnswerAge:
    """The time by which answers grow old: it goes on with the clock, but by a day at most from one reading to the next.

    So a clock that jumps ahead, and back, makes no answer old; times in which nothing is read make them older by a day
    at most, and they are kept longer.

    Args:
        time: the first reading, in seconds since the epoch.

    Example:
        >>> age = AnswerAge(0.0)
        >>> age.read(60.0), age.read(1e9), age.read(120.0), age.read(180.0)
        (60.0, 86460.0, 86460.0, 86520.0)
    """

    time: float

    def __post_init__(self) -> None:
        self.last = self.time

    def read(self, now: float) -> float:
        """Go on with the clock, which says ``now``; returns the time by which answers are old or not."""
        self.time += min(max(now - self.last, 0.0), MAX_STEP)
        self.last = now
        return self.time


class PartialFailure(Exception):
    """A command failed after it had changed something: the bandit in memory must be discarded."""

    def __init__(self, queued: QueuedCommand, cause: Exception) -> None:
        super().__init__(str(cause))
        self.queued, self.cause = queued, cause


class Writer:
    """Runs the commands of one allocation, one after the other.

    A group of commands is a transaction, in which the allocation's row is locked: of several processes one writes at a
    time, after it has replayed what the others wrote. No uncommitted state is ever answered.

    Args:
        name: of the allocation.
        database: where it is.
        workers: threads that do the work.
        clock: returns the time, in seconds since the epoch.
        observer: receives the commits.
        snapshot: number of events between snapshots, at most.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        workers: Executor,
        clock: Callable[[], float] = time.time,
        observer: Observer | None = None,
        snapshot: int = SNAPSHOT_EVERY,
    ) -> None:
        self.name = name
        self._database, self._workers, self._clock, self._observer = database, workers, clock, observer
        self._snapshot_every = snapshot
        self._allocation: Allocation | None = None
        self._age: AnswerAge | None = None
        self._snapshot_seconds = 0.0  # that the last snapshot took
        self._used = time.monotonic()  # when the last command came
        self._queue: deque[QueuedCommand] = deque()
        self._busy = False
        self._lock = Lock()  # of the two above

    def submit(self, command: Command[Answer]) -> Future[Answer]:
        """Queue a command; its future has the answer when its events are committed."""
        queued = QueuedCommand(command, Future())
        with self._lock:
            if len(self._queue) >= MAX_QUEUE:
                overloaded = Overloaded(f"{MAX_QUEUE:,} requests wait for allocation {self.name!r}; retry later")
                queued.future.set_exception(overloaded)
                return queued.future
            self._queue.append(queued)
            self._used = time.monotonic()
            if not self._busy:
                try:
                    self._workers.submit(self._work)
                except RuntimeError:
                    self._queue.clear()
                    queued.future.set_exception(StoreUnavailable("the store is closed"))
                    return queued.future
                self._busy = True
        return queued.future

    @property
    def in_memory(self) -> bool:
        """Whether the allocation is in memory."""
        return self._allocation is not None

    def write_snapshot(self) -> None:
        """Write a snapshot if there are events since the last one; for the time when no command is queued."""
        allocation = self._allocation
        if allocation is not None and allocation.sequence > allocation.snapshot:
            self._store_snapshot(allocation.id, allocation.taken())

    def leave_if_idle(self, seconds: float) -> None:
        """Write a snapshot, and remove the allocation from memory, if no command came for so many seconds."""
        with self._lock:
            if self._busy or self._allocation is None or time.monotonic() - self._used < seconds:
                return
            self._busy = True
            try:
                self._workers.submit(self._leave)
            except RuntimeError:  # the store is closing
                self._busy = False

    def _leave(self) -> None:
        self.write_snapshot()
        self._allocation = None
        self._go_on()

    def _work(self) -> None:
        """Run a group; then the other allocations have their turn."""
        with self._lock:
            group = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_GROUP))]
        self._run([queued for queued in group if queued.future.set_running_or_notify_cancel()])
        if not all(queued.command.reads for queued in group):
            self._take_snapshot()
        self._go_on()

    def _go_on(self) -> None:
        """Run the next group, if commands wait."""
        with self._lock:
            busy = self._busy = bool(self._queue)
        if busy:  # the value under the lock: if it was false, another thread may have begun in the meantime
            try:
                self._workers.submit(self._work)
            except RuntimeError:  # the store is closing, and takes no more work
                self._work()

    def _run(self, group: Sequence[QueuedCommand]) -> None:
        """Run commands in transactions, and answer them; if a transaction fails, all of it has the error."""
        while group:
            try:
                outcomes = self._commit(group)
            except PartialFailure as failure:  # nothing of the group is in the database; the others run without it
                self._allocation = None
                failure.queued.future.set_exception(failure.cause)
                group = [queued for queued in group if queued is not failure.queued]
            except Exception as error:  # whatever the error, no future may stay without an outcome
                self._allocation = None
                _resolve(group, [error] * len(group))
                break
            else:
                _resolve(group[: len(outcomes)], outcomes)
                group = group[len(outcomes) :]

    def _commit(self, group: Sequence[QueuedCommand]) -> list[Any]:
        """The outcomes of the commands, or of the first ones if they take long; their events are committed."""
        start, allocation = time.perf_counter(), self._allocation
        due = allocation is not None and allocation.bandit.due(self._clock())
        writes = due or not all(queued.command.reads for queued in group)
        with self._database.transaction(writes) as connection:
            allocation = self._current_or_damaged(connection)
            before = allocation.sequence
            context = CommandContext(allocation, self._clock(), connection)
            self._age = self._age or _answer_age(context)
            age = self._age.read(context.now)
            if writes:
                allocation.expire(context.now)
            answered = self._answered(context, group)
            outcomes: list[Any] = []
            locked, worked = time.perf_counter(), time.thread_time()  # not the start, as the lock may be long in coming
            for queued in group:
                outcomes.append(self._outcome(context, queued, answered))
                if time.perf_counter() - locked > MAX_SECONDS:
                    break
            allocation.flush(connection)
            allocation.work += time.thread_time() - worked
            if context.answers:
                time_of_answers = {"time": max(context.now, age)}  # no younger ones than this where the clock went back
                insert_rows(connection, tables.answers, [row | time_of_answers for row in context.answers])
        if self._observer is not None and allocation.sequence > before:
            self._observer.committed(allocation.sequence - before, time.perf_counter() - start)
        if any(command.purges for command, _ in context.carried_out):
            self._database.purge()
        for command, answer in context.carried_out:
            command.done(answer)
        return outcomes

    def _take_snapshot(self) -> None:
        """Take a snapshot if a replay of the events since the last one would take long; another thread writes it."""
        allocation = self._allocation
        if allocation is None or allocation.sequence == allocation.snapshot:
            return
        enough = max(REPLAY_SECONDS, self._snapshot_seconds / SNAPSHOT_SHARE)
        if allocation.sequence - allocation.snapshot >= self._snapshot_every or allocation.work >= enough:
            begun = time.thread_time()
            snapshot = allocation.taken()
            self._snapshot_seconds = time.thread_time() - begun
            with suppress(RuntimeError):  # the store is closing, and writes one then
                self._workers.submit(self._store_snapshot, allocation.id, snapshot)

    def _store_snapshot(self, id: int, snapshot: Snapshot) -> None:
        """Write a snapshot, and remove old answers; if that fails, a start takes longer."""
        begun = time.thread_time()
        packed = snapshot.packed()
        self._snapshot_seconds += time.thread_time() - begun
        failures = (EvenhandError, IntegrityError)  # the latter where it was erased, or another process writes one
        with suppress(*failures), self._database.transaction(writes=True) as connection:
            write_snapshot(connection, id, snapshot.sequence, packed)
            if self._age is not None:
                old = tables.answers.c.time < self._age.time - ANSWER_LIFETIME
                connection.execute(delete(tables.answers).where(tables.answers.c.allocation == id, old))
            row = row_of(connection, self.name, lock=True)  # not before: on PostgreSQL others decide meanwhile
            if row.id != id or not has_event(connection, id, snapshot.sequence, snapshot.chain):
                raise StateError(f"allocation {self.name!r} was restored in the meantime")

    def _current_or_damaged(self, connection: Connection) -> Allocation:
        """The allocation after its last event.

        Raises:
            DamagedAllocation: its events cannot be read.
        """
        try:
            return self._current(connection)
        except StateError as error:
            LOG.error("allocation %s is damaged: %s", self.name, error)
            raise DamagedAllocation(
                f"allocation {self.name!r} is damaged, and answers nothing until `evenhand db` restores or erases it: "
                f"{error}"
            ) from error

    def _current(self, connection: Connection) -> Allocation:
        """The allocation after its last event, of any process; no other writes until the transaction ends."""
        row = row_of(connection, self.name, lock=connection.get_execution_options()["writes"])
        if self._allocation is not None and self._allocation.can_follow(row):
            try:
                self._allocation.catch_up(connection, row)
            except StateError:  # it may be restored: what is in memory is another history
                self._allocation = None
            else:
                return self._allocation
        self._allocation = loaded(connection, row, self.name)
        self._allocation.catch_up(connection, row)
        return self._allocation

    def _answered(self, context: CommandContext, group: Sequence[QueuedCommand]) -> dict[str, tuple[str, str]]:
        """The digests and answers of earlier commands with the idempotency keys of this group."""
        commands = [queued.command for queued in group]
        keys = {command.key for command in commands if command.key is not None and not command.reads}
        if not keys:
            return {}
        table = tables.answers.c
        where = (table.allocation == context.allocation.id, table.key.in_(keys))
        rows = context.connection.execute(select(table.key, table.digest, table.body).where(*where)).all()
        return {row.key: (row.digest, row.body) for row in rows}

    def _outcome(self, context: CommandContext, queued: QueuedCommand, answered: dict[str, tuple[str, str]]) -> Any:
        """The outcome of a command: an answer, or the error for which it was refused."""
        before = context.allocation.sequence
        try:
            return self._answer(context, queued.command, answered)
        except (DBAPIError, TimeoutError):  # not an error of the command
            raise
        except EvenhandError as error:
            if context.allocation.sequence == before:
                return error
            raise PartialFailure(queued, error) from error
        except Exception as error:
            raise PartialFailure(queued, error) from error

    def _answer(
        self, context: CommandContext, command: Command[Answer], answered: dict[str, tuple[str, str]]
    ) -> Answer:
        """The answer to a command: the earlier one of its key, or a new one."""
        if command.key is None or command.reads:
            return _carried_out(context, command)
        digest = command.digest()
        if command.key in answered:
            earlier, body = answered[command.key]
            if digest != earlier:
                raise KeyReused(f"the idempotency key {command.key!r} was used for another request; use a new one")
            again: Answer = _reader(command.answer).validate_json(body)
            return again
        answer = _carried_out(context, command)
        body = encode(answer).decode()
        answered[command.key] = digest, body
        row = {"allocation": context.allocation.id, "key": command.key, "digest": digest, "time": context.now}
        context.answers.append(row | {"body": body})
        return answer


def _carried_out(context: CommandContext, command: Command[Answer]) -> Answer:
    """The answer to a command that is carried out now, not a repetition."""
    answer = command.run(replace(context, api_key=command.api_key))
    context.carried_out.append((command, answer))
    return answer


@cache
def _reader(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _answer_age(context: CommandContext) -> AnswerAge:
    """The age of answers when a process begins: no answer is old then, whatever its clock says."""
    table = tables.answers.c
    oldest = select(func.min(table.time)).where(table.allocation == context.allocation.id)
    first = context.connection.execute(oldest).scalar_one()
    age = AnswerAge(context.now)
    if first is not None:
        age.time = min(max(context.now, first), first + ANSWER_LIFETIME)  # before the first: the clock went back
    return age


def _resolve(group: Sequence[QueuedCommand], outcomes: Sequence[Any]) -> None:
    for queued, outcome in zip(group, outcomes, strict=True):
        if isinstance(outcome, Exception):
            queued.future.set_exception(outcome)
        else:
            queued.future.set_result(outcome)
