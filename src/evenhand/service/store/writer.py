"""The one writer of an allocation: its queue of commands, its state in memory, and its snapshots."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Executor, Future
from contextlib import suppress
from threading import Lock
from typing import Protocol

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from evenhand.core.errors import EvenhandError, StateError
from evenhand.service.store import tables
from evenhand.service.store.allocation import Allocation, has_event, row_of
from evenhand.service.store.commands import Answer, Command
from evenhand.service.store.database import LOG, Database
from evenhand.service.store.errors import Overloaded, StoreUnavailable
from evenhand.service.store.snapshots import Snapshot, write_snapshot
from evenhand.service.store.transaction import ANSWER_LIFETIME, AnswerAge, Batch, QueuedCommand

MAX_QUEUE = 10_000  # commands that wait; more are refused
SNAPSHOT_EVERY = 20_000  # events between snapshots, at most
REPLAY_SECONDS = 0.3  # of processor time between snapshots, which a start may take to replay
SNAPSHOT_SHARE = 0.2  # of the processor time, at most, for snapshots


class Turns(Protocol):
    """Carries out the commands of writers: calls `Writer.take` when it is the turn of one, and then `Writer.finish`."""

    def schedule(self, writer: Writer, joins: bool) -> None:
        """Let a writer have its turn soon.

        Args:
            writer: whose commands wait.
            joins: whether they can be carried out with those of other allocations.

        Raises:
            RuntimeError: the store is closed.
        """

    def run(self, writer: Writer) -> None:
        """Let a writer have its turn now, in this thread."""


class Writer:
    """The commands of one allocation, which are carried out one after the other.

    Args:
        name: of the allocation.
        database: where it is.
        workers: threads that write snapshots.
        turns: carries the commands out.
        snapshot: number of events between snapshots, at most.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        workers: Executor,
        turns: Turns,
        snapshot: int = SNAPSHOT_EVERY,
    ) -> None:
        self.name = name
        self._database, self._workers, self._turns = database, workers, turns
        self._snapshot_every = snapshot
        self._allocation: Allocation | None = None
        self._age: AnswerAge | None = None
        self._snapshot_seconds = 0.0  # that the last snapshot took
        self._used = time.monotonic()  # when the last command came
        self._queue: deque[QueuedCommand] = deque()
        self._busy = False
        self._lock = Lock()  # of the three above

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
                self._busy = True
                try:
                    self._turns.schedule(self, self._joins())
                except RuntimeError:
                    self._queue.clear()
                    self._busy = False
                    queued.future.set_exception(StoreUnavailable("the store is closed"))
        return queued.future

    @property
    def in_memory(self) -> bool:
        """Whether the allocation is in memory."""
        return self._allocation is not None

    @property
    def waiting(self) -> int:
        """The number of commands that wait."""
        return len(self._queue)

    def _joins(self) -> bool:
        """Whether what comes next can be carried out with commands of others: it writes, and nothing must be loaded."""
        return self._allocation is not None and not self._queue[0].command.reads

    def take(self, limit: int, writing: bool = False) -> Batch:
        """The next commands.

        Args:
            limit: of their number.
            writing: whether they end before the first that only reads, which may take long.
        """
        group: list[QueuedCommand] = []
        with self._lock:
            while self._queue and len(group) < limit and not (writing and self._queue[0].command.reads):
                group.append(self._queue.popleft())
        queued = [queued for queued in group if queued.future.set_running_or_notify_cancel()]
        return Batch(self.name, self._allocation, self._age, queued)

    def finish(self, batch: Batch) -> None:
        """Keep the allocation that commands have left in memory; see to what waits."""
        self._allocation, self._age = batch.allocation, batch.age
        if batch.wrote:
            try:
                self._take_snapshot()
            except Exception:  # whatever the error, commands may wait
                LOG.exception("no snapshot of %s can be taken", self.name)
        self._go_on()

    def _go_on(self) -> None:
        """Have another turn, if commands wait."""
        with self._lock:
            self._busy = bool(self._queue)
            if not self._busy:
                return
            with suppress(RuntimeError):
                self._turns.schedule(self, self._joins())
                return
        self._turns.run(self)  # the store is closing, and starts no more work

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
            with suppress(RuntimeError):  # the store is closing
                self._workers.submit(self._leave)
                self._busy = True

    def _leave(self) -> None:
        self.write_snapshot()
        self._allocation = None
        self._go_on()

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
                raise StateError(f"allocation {self.name!r} was restored in the meantime; try again")
