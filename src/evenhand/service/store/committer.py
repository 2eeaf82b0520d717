"""The threads that commit: commands of many allocations in one transaction, or of one where it needs its own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from threading import Lock

from evenhand.service.store.database import LOG, Database
from evenhand.service.store.errors import StoreUnavailable
from evenhand.service.store.transaction import Batch, Observer, commit
from evenhand.service.store.writer import SNAPSHOT_EVERY, Writer

MAX_GROUP = 500  # commands per transaction
LANES = {"sqlite": 1, "postgresql": 2}  # transactions of many allocations at a time; SQLite has one writer at a time


class Committer:
    """Commits the commands of the allocations of a store.

    Whenever a thread is free, all that wait come into one transaction; those that have to be loaded, that only read, or
    to which another process writes, have one of their own, in which they may take as long as they need.

    Args:
        database: where they are.
        workers: threads that do the work.
        clock: returns the time, in seconds since the epoch.
        observer: receives the commits.
    """

    def __init__(
        self,
        database: Database,
        workers: Executor,
        clock: Callable[[], float] = time.time,
        observer: Observer | None = None,
    ) -> None:
        self._database, self._workers, self._clock, self._observer = database, workers, clock, observer
        self._free = LANES[database.engine.dialect.name]  # lanes in which nothing runs
        self._ready: deque[Writer] = deque()
        self._lock = Lock()  # of the two above

    def writer(self, name: str, snapshot: int = SNAPSHOT_EVERY) -> Writer:
        """The writer of an allocation, whose commands are committed here.

        Args:
            name: of the allocation.
            snapshot: number of events between snapshots, at most.
        """
        return Writer(name, self._database, self._workers, self, snapshot)

    def schedule(self, writer: Writer, joins: bool) -> None:
        """Let a writer have its turn; see `Turns`."""
        if not joins:
            self._workers.submit(self.run, writer)
            return
        with self._lock:
            if self._free:
                self._workers.submit(self._run_lane)
                self._free -= 1
            self._ready.append(writer)

    def run(self, writer: Writer) -> None:
        """Carry out commands of a writer by themselves."""
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
                    self._workers.submit(self._finish, writer, batch)
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
        """Carry out batches in one transaction, and answer; see `commit` for what is left then.

        Whatever the error, no future may stay without an outcome, and none may have one that is not committed.
        """
        begun = time.perf_counter()
        try:
            events = commit(self._database, batches, self._clock(), alone)
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
            self._database.purge()
        for command, answer in done:
            command.done(answer)
