"""Who writes: for each allocation a writer with a queue of commands, and threads that commit those of many together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from threading import Lock

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from evenhand.core.errors import EvenhandError, StateError
from evenhand.messages.answers import AllocationHealth
from evenhand.service.priority import LONG, PRIORITY
from evenhand.service.store import seals, summaries, tables
from evenhand.service.store.allocation import Allocation, row_of
from evenhand.service.store.commands import NO_FEATURES, Answer, Command, FeatureSeconds, feature_seconds
from evenhand.service.store.database import LOG, Database, delete_rows
from evenhand.service.store.errors import Overloaded, StoreUnavailable
from evenhand.service.store.reader import Place, has_event
from evenhand.service.store.snapshots import Snapshot
from evenhand.service.store.transaction import ANSWER_LIFETIME, AnswerAge, Batch, Observer, QueuedCommand, commit

MAX_GROUP = 500  # commands per transaction
LANES = {"sqlite": 1, "postgresql": 2}  # transactions of many allocations at a time; SQLite has one writer at a time
MAX_QUEUE = 10_000  # commands that wait; more are refused
SNAPSHOT_EVERY = 20_000  # events between snapshots, at most
REPLAY_SECONDS = 0.3  # of processor time between snapshots, which a start may take to replay
SNAPSHOT_SHARE = 0.2  # of the processor time, at most, for snapshots


class Writer:
    """The commands of one allocation, which are carried out one after the other, and its snapshots."""

    def __init__(self, name: str, committer: Committer, snapshot: int = SNAPSHOT_EVERY) -> None:
        self.name, self._committer, self._snapshot_every = name, committer, snapshot
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
                    self._committer.schedule(self, self._joins())
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
    def size(self) -> tuple[int, FeatureSeconds]:
        """The number of its arms, and what its features take; 0 if it is not in memory."""
        allocation = self._allocation
        return (0, NO_FEATURES) if allocation is None else (len(allocation.names), feature_seconds(allocation.bandit))

    @property
    def waiting(self) -> int:
        """The number of commands that wait."""
        return len(self._queue)

    def _joins(self) -> bool:
        """Whether what comes next can be carried out with others: it is short, and nothing must be loaded."""
        return self._allocation is not None and not self._queue[0].command.reads and not self._is_long()

    def _is_long(self) -> bool:
        """Whether the next command is carried out by itself, as others would wait for it."""
        try:
            return self._queue[0].command.work(*self.size) > LONG
        except (TypeError, ValueError, OverflowError):  # it is refused when it is carried out
            return False

    def take(self, limit: int, writing: bool = False) -> Batch:
        """The next commands, at most so many, or a long one; if writing, up to the first that only reads."""
        group: list[QueuedCommand] = []
        with self._lock:
            long = bool(self._queue) and not writing and self._is_long()
            while self._queue and len(group) < (1 if long else limit):
                # the first one joins with others, if it is writing, or its length is known
                if group and (self._is_long() or (writing and self._queue[0].command.reads)):
                    break
                group.append(self._queue.popleft())
        queued = [queued for queued in group if queued.future.set_running_or_notify_cancel()]
        wrote = not all(one.command.reads for one in queued)
        return Batch(self.name, self._allocation, self._age, queued, long, wrote)

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
                self._committer.schedule(self, self._joins())
                return
        self._committer.run(self)  # the store is closing, and starts no more work

    def write_snapshot(self) -> None:
        """Write a snapshot, and the health for lists, if commands have written; for when no command is queued."""
        allocation = self._allocation
        if allocation is not None and allocation.wrote and allocation.sequence > allocation.snapshot:
            found = summaries.made(allocation.bandit, allocation.closed, self._committer.now())
            self._store_snapshot(allocation.id, allocation.taken(), found)

    def leave_if_idle(self, seconds: float) -> None:
        """Write a snapshot, and remove the allocation from memory, if no command came for so many seconds."""
        with self._lock:
            if self._busy or self._allocation is None or time.monotonic() - self._used < seconds:
                return
            with suppress(RuntimeError):  # the store is closing
                self._committer.workers.submit(self._leave)
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
                self._committer.workers.submit(self._store_snapshot, allocation.id, snapshot)

    def _store_snapshot(self, id: int, snapshot: Snapshot, found: AllocationHealth | None = None) -> None:
        """Write a snapshot, and remove old answers; if that fails, a start takes longer."""
        begun = time.thread_time()
        with PRIORITY.long():
            packed = snapshot.packed()
        self._snapshot_seconds += time.thread_time() - begun
        # the latter where it was erased, or another process writes one or has written this one
        failures = (EvenhandError, IntegrityError)
        with suppress(*failures), self._committer.database.transaction(writes=True) as connection:
            table, values = tables.snapshots, {"allocation": id, "sequence": snapshot.sequence, "state": packed}
            connection.execute(insert(table), values)
            # Not before: on PostgreSQL others decide meanwhile. And not later: all lock this row before they delete.
            row = row_of(connection, self.name, lock=True)
            if row.id != id or not has_event(connection, id, Place(snapshot.sequence, snapshot.chain)):
                raise StateError(f"allocation {self.name!r} was restored in the meantime; try again")
            delete_rows(connection, table, id, table.c.sequence != snapshot.sequence)
            if self._age is not None:
                seals.forget_answers(connection, id, self._age.time - ANSWER_LIFETIME)
            if found is not None:
                summaries.write(connection, {id: (snapshot.chain, found)})


class Committer:
    """Commits the commands of the allocations of a store."""

    def __init__(
        self,
        database: Database,
        workers: Executor,
        clock: Callable[[], float] = time.time,
        observer: Observer | None = None,
    ) -> None:
        self.database, self.workers, self.now, self._observer = database, workers, clock, observer
        self._free = LANES[database.engine.dialect.name]  # lanes in which nothing runs
        self._ready: deque[Writer] = deque()
        self._lock = Lock()  # of the two above

    def schedule(self, writer: Writer, joins: bool) -> None:
        """Let a writer have its turn soon, if it joins with commands of others; raises once the store is closed."""
        if not joins:
            self.workers.submit(self.run, writer)
            return
        with self._lock:
            if self._free:
                self.workers.submit(self._run_lane)
                self._free -= 1
            self._ready.append(writer)

    def run(self, writer: Writer) -> None:
        """Carry out commands of a writer by themselves, in this thread."""
        self._finish(writer, writer.take(MAX_GROUP))

    def _finish(self, writer: Writer, batch: Batch) -> None:
        """Carry out a batch in transactions of its own."""
        while batch.queued:
            self._commit([batch], alone=True)
        writer.finish(batch)

    def _run_lane(self) -> None:
        """Commit what waits, again and again, until nothing does."""
        while turns := self._next():
            self._commit([batch for _, batch in turns if batch.queued], alone=False)
            for writer, batch in turns:
                if not batch.queued:
                    writer.finish(batch)
                    continue
                try:
                    self.workers.submit(self._finish, writer, batch)
                except RuntimeError:  # the store is closing, and starts no more work
                    self._finish(writer, batch)

    def _next(self) -> list[tuple[Writer, Batch]]:
        """The writers of the next transaction, with their commands; if there are none, the lane is free."""
        writers: list[Writer] = []
        with self._lock:
            commands = 0
            while self._ready and commands < MAX_GROUP:
                writers.append(self._ready.popleft())
                commands += writers[-1].waiting
            self._free += not writers
        turns, left = [], MAX_GROUP
        for writer in writers:
            turns.append((writer, writer.take(max(left, 1), writing=True)))
            left -= len(turns[-1][1].queued)
        return turns

    def _commit(self, batches: list[Batch], alone: bool) -> None:
        """Carry out batches in one transaction, and answer; see `commit` for what is left then."""
        # Whatever the error, no future may stay without an outcome, and none may have one that is not committed.
        begun = time.perf_counter()
        try:
            events = commit(self.database, batches, self.now(), alone)
        except Exception as error:
            for batch in batches:
                if alone or isinstance(error, StoreUnavailable):
                    batch.fail(error)
                else:  # each has a transaction of its own next, in which it fails for itself
                    batch.discard()
            return
        try:
            self._tell(batches, events, time.perf_counter() - begun)
        except Exception:  # it is committed, and will be answered
            LOG.exception("an error after a commit")
        for batch in batches:
            batch.answer()

    def _tell(self, batches: list[Batch], events: int, seconds: float) -> None:
        """See to what follows from a commit, before its commands are answered."""
        if self._observer is not None and events:
            self._observer.committed(events, seconds)
        done = [pair for batch in batches if batch.context is not None for pair in batch.context.carried_out]
        if any(command.purges for command, _ in done):
            self.database.purge()
        for command, answer in done:
            if command.done is not None:
                command.done(answer)
