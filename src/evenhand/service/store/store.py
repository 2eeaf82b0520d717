"""The store: allocations in a database, each a bandit whose events are committed before they are answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Event as Signal
from threading import Lock, Thread
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.exc import IntegrityError

from evenhand.bandit.bandit import Bandit
from evenhand.bandit.changes import planned
from evenhand.bandit.history import as_counts, learn_counts
from evenhand.bandit.record import Record
from evenhand.bandit.saved import DAMAGE, settings_of
from evenhand.core.descriptions import complete, described
from evenhand.core.errors import EvenhandError
from evenhand.core.version import __version__
from evenhand.messages.answers import Allocations, AllocationSummary, Plan, moment
from evenhand.messages.rules import ALLOCATION, SENTENCES, matches
from evenhand.messages.words import Words
from evenhand.service.store import summaries, tables
from evenhand.service.store.allocation import first_event, row_values, write_new
from evenhand.service.store.api_keys import Keys
from evenhand.service.store.arms import read_names
from evenhand.service.store.checked import check_all, damaged, isolated
from evenhand.service.store.commands import NO_FEATURES, Answer, Command, FeatureSeconds, Judge
from evenhand.service.store.compaction import compact, resume
from evenhand.service.store.database import LOG, Database
from evenhand.service.store.errors import Conflict, StoreUnavailable, UnknownAllocation
from evenhand.service.store.events import Event, created_by
from evenhand.service.store.reading import Gauges, ReadEvidence, ReadGauges
from evenhand.service.store.transaction import Observer
from evenhand.service.store.writer import SNAPSHOT_EVERY, Committer, Writer

#: Arguments of `Bandit`.
RESERVED = ("self", "arms", "algorithm", "plays", "seed", "missing", "rewards", "start_from", "words")
WORKERS = 8  # transactions at the same time
IDLE_CHECK = 15.0  # seconds between looks for idle allocations, at most
RETENTION_CHECK = 3600.0  # seconds between looks for old events
CHECK_PAUSE = 0.2  # seconds after some thousands of events that were checked, which takes some 0.03 s


def _exists(
    connection: Connection, name: str, settings: Mapping[str, object], learned: Mapping[str, object], any_seed: bool
) -> bool:
    """Whether there is an allocation of that name."""
    table = tables.allocations.c
    existing = connection.execute(select(table.id).where(table.name == name)).scalar()
    if existing is None:
        return False
    body = created_by(first_event(connection, existing, read_names(connection, existing)))["create"]
    differ = [key for key in settings if body.get(key) != settings[key] and not (any_seed and key == "seed")]
    same = body.get("source") == learned.get("source")
    if not same or (learned.get("source") == "counts" and body["learned"] != learned["learned"]):
        differ.append("evidence to start from")
    if differ:
        raise Conflict(f"there is already an allocation {name!r} with other {', '.join(differ)}")
    return True


def _summary(row: Any, fault: str) -> AllocationSummary:
    """What a list says of an allocation."""
    try:
        created = moment(row.created)
    except DAMAGE:
        created, fault = moment(0.0), f"it was created at {row.created!r}, which is no time"
    damage = damaged(row.name, fault) if fault else None
    return AllocationSummary(row.name, row.algorithm, row.arms, row.round, row.closed, created, damaged=damage)


class Store:
    """Allocations in a database.

    Args:
        database: where they are; its tables are up to date.
        clock: returns the time, in seconds since the epoch.
        observer: receives the commits.
        snapshot: number of events between snapshots of a bandit, at most.
        idle: seconds without a command after which an allocation leaves memory; None for never.
        retention: seconds for which events are kept, at least; None for ever. See
            `evenhand.service.store.compaction.compact`.
        check: seconds between checks of all events, in a thread of its own; None for none.
        judge: seconds between looks for alarms, in a thread of its own; None for none.

    Attributes:
        keys: the API keys.
        clock: as given.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Reward, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.2}}, seed=1)
        True
        >>> (decision,) = store.run("drinks", Decide()).decisions
        >>> decision.id, decision.names
        ('1', ('tea',))
        >>> store.run("drinks", Reward([("1", {"tea": 1.0})])).results[0].status
        'accepted'
        >>> store.close()
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] = time.time,
        observer: Observer | None = None,
        snapshot: int = SNAPSHOT_EVERY,
        idle: float | None = None,
        retention: float | None = None,
        check: float | None = None,
        judge: float | None = None,
    ) -> None:
        self.database, self.keys = database, Keys(database, clock)
        self.clock, self._snapshot_every = clock, snapshot
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="evenhand-writer")
        self._committer = Committer(database, self._workers, clock, observer)
        self._writers: dict[str, Writer] = {}
        self._gauges: dict[str, tuple[str, Gauges]] = {}  # by name, with the chain of the event after which they hold
        self._lock = Lock()  # of the writers
        self._closing = Signal()
        if idle is not None:
            self._repeat("idle", min(idle / 4, IDLE_CHECK), lambda: self.leave_idle(idle))
        if check is not None:
            self._repeat("check", check, lambda: check_all(database, lambda: self._closing.wait(CHECK_PAUSE)), 0.0)
        if judge is not None:
            self._repeat("judge", judge, self.judge)
        if retention is not None:
            self._repeat("retention", RETENTION_CHECK, lambda: self.compact(retention))

    @classmethod
    def open(cls, database: str = "evenhand.db", new: bool = True, upgrade: bool = False, **options: Any) -> Store:
        """The store in a database.

        Args:
            database: a path to an SQLite file, or a URL such as ``postgresql://user@host/name``.
            new: whether to create the tables if there are none.
            upgrade: whether to bring tables of an earlier version to this one.
            **options: further arguments of the class.

        Returns:
            The store, to be closed with `close`.

        Raises:
            EvenhandError: it is not such a database, its tables are of another version, or it does not exist and must
                not be created.
            StoreUnavailable: it cannot be reached.
        """
        opened = Database(database)
        if not new and not opened.exists:
            raise EvenhandError(f"there is no database {opened.name}; `evenhand keys create` creates one")
        try:
            if upgrade or (new and (not opened.exists or opened.revision() is None)):
                opened.migrate()
            opened.check_version()
            resume(opened)
        except BaseException:
            opened.close()
            raise
        return cls(opened, **options)

    def close(self) -> None:
        """Finish the queued commands, write snapshots, and close the database."""
        self._closing.set()
        self._workers.shutdown(wait=True)
        for writer in self._writers.values():
            with suppress(EvenhandError):  # a snapshot only makes the next start faster
                writer.write_snapshot()
        self.database.close()

    # --- allocations --------------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        arms: Sequence[str],
        algorithm: str | Mapping[str, object],
        *,
        parameters: Mapping[str, object] | None = None,
        plays: int = 1,
        seed: int | None = None,
        window: float | None = None,
        missing: str | None = None,
        rewards: tuple[float, float] = (0.0, 1.0),
        start_from: str | Mapping[str, object] | None = None,
        words: Words | Mapping[str, object] | None = None,
        features: Mapping[str, object] | None = None,
        arm_features: Mapping[str, Mapping[str, object]] | None = None,
        segments: str | Mapping[str, object] | None = None,
        api_key: str | None = None,
    ) -> bool:
        """Create an allocation; see `evenhand.bandit.Bandit` for the arguments.

        Args:
            name: 1 to 100 letters, digits and ``._-``, the first a letter or digit.
            algorithm: a name of `evenhand.algorithms`, or a table for each part of a policy.
            parameters: the algorithm's.
            plays: arms that play per round.
            seed: of all randomness; None draws one.
            start_from: the name of another allocation whose evidence the policy learns from, or counts by arm; what
                the arms are owed, pending decisions and keys are not taken over.
            api_key: id of the API key that the request was sent with, which the event names; None for none.

        Returns:
            Whether it is new; False if it exists with the same settings.

        Raises:
            Conflict: there is one of that name with other settings.
            UnknownAllocation: there is no allocation to start from.
            EvenhandError: an argument is invalid, or the promises cannot be kept.
        """
        options: dict[str, Any] = {"plays": plays, "window": window, "missing": missing, "rewards": rewards}
        options |= {"words": words, "features": features, "arm_features": arm_features, "segments": segments}
        bandit, learned = self._made(name, arms, algorithm, parameters, seed, start_from, **options)
        try:
            return self._create(name, bandit, learned, seed is None, api_key)
        except IntegrityError:  # another process created one of that name at the same time
            return self._create(name, bandit, learned, seed is None, api_key)

    def plan(self, name: str, arms: Sequence[str], algorithm: str | Mapping[str, object], **options: Any) -> Plan:
        """What `create` would do with the same arguments, and write nothing.

        Returns:
            What the promises mean for each arm, and whether the allocation would be new.

        Raises:
            EvenhandError: what `create` would raise.

        Example:
            >>> import tempfile
            >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
            >>> plan = store.plan("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.2}})
            >>> plan.changed, plan.promised, [(one.arm, one.fraction) for one in plan.arms]
            (True, 0.2, [('tea', 0.0), ('coffee', 0.2)])
            >>> store.allocations().allocations
            ()
            >>> store.close()
        """
        bandit, learned = self._made(name, arms, algorithm, **options)
        with self.database.transaction(writes=False) as connection, isolated(self.database, name):
            exists = _exists(connection, name, settings_of(bandit), learned, options.get("seed") is None)
        return planned(bandit.plays, bandit.arms, bandit.policy, bandit.parameters, changed=not exists)

    def _made(
        self,
        name: str,
        arms: Sequence[str],
        algorithm: str | Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        seed: int | None = None,
        start_from: str | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Record, dict[str, Any]]:
        """A new bandit, and what its first event says of the evidence that it starts from."""
        if not matches(ALLOCATION, name):
            raise EvenhandError(f"the name of an allocation {SENTENCES[ALLOCATION]}; got {name!r}")
        drawn = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        for parameter in parameters or {}:
            if not isinstance(parameter, str) or parameter in RESERVED:
                raise EvenhandError(
                    f"{parameter!r} is not a parameter of an algorithm; `evenhand algorithms` shows them"
                )
        bandit = Record(arms, algorithm, seed=drawn, parameters=parameters or {}, **options)
        bandit.check_taken()
        return bandit, self._start(name, bandit, start_from)

    def _start(self, name: str, bandit: Record, start_from: str | Mapping[str, object] | None) -> dict[str, Any]:
        """What the first event says of the evidence that the bandit starts from, and lets it learn from that."""
        if start_from is None:
            return {}
        if not isinstance(start_from, str):
            counts, source = as_counts(start_from, bandit.names, bandit.reward_range), "counts"
        elif name in {one.name for one in self.allocations(names=[name]).allocations}:
            return {"source": f"allocation {start_from}"}  # it exists, and has learned what there was to learn then
        else:
            found = self.run(start_from, ReadEvidence(bandit.names, bandit.reward_range))
            counts, source = found.counts, found.source
        learn_counts(bandit, counts, source)
        return {"learned": {arm: list(one) for arm, one in counts.items()}, "source": source}

    def _create(
        self, name: str, bandit: Record, learned: Mapping[str, object], any_seed: bool, api_key: str | None
    ) -> bool:
        settings, found = settings_of(bandit), summaries.made(bandit, False, self.clock())
        with self.database.transaction(writes=True) as connection, isolated(self.database, name):
            if _exists(connection, name, settings, learned, any_seed):
                return False
            now, body = self.clock(), settings | {"evenhand": __version__} | dict(learned)
            event = Event(1, now, "create", None, body, key=api_key).row(0, before="", place=bandit.arms.place)
            row = row_values(bandit, 1, event["chain"], closed=False) | {"name": name, "created": now}
            id = write_new(connection, row, [event], bandit.names)
            if found is not None:
                summaries.write(connection, {id: (event["chain"], found)})
        return True

    def allocations(
        self, limit: int | None = None, cursor: str | None = None, names: Collection[str] | None = None
    ) -> Allocations:
        """A page of the allocations, by name.

        Args:
            limit: allocations at most; None for all.
            cursor: `next` of the page before; None for the first page.
            names: of those that are listed; None for all.
        """
        table = tables.allocations.c
        query = select(table.id, table.name, table.algorithm, table.arms, table.round, table.closed, table.created)
        query = query.order_by(table.name).limit(None if limit is None else limit + 1)
        if cursor is not None:
            query = query.where(table.name > cursor)
        if names is not None:
            query = query.where(table.name.in_(names))
        with self.database.transaction(writes=False) as connection:
            rows = connection.execute(query).all()
        page = [_summary(row, self.database.fault_of(row.id)) for row in rows[:limit]]
        return Allocations(tuple(page), page[-1].name if len(page) < len(rows) else None)

    # --- commands -----------------------------------------------------------------------------------------------------

    def submit(self, name: str, command: Command[Answer]) -> Future[Answer]:
        """Queue a command of an allocation; the future has its answer when its events are committed.

        The future raises `UnknownAllocation`, `StoreUnavailable`, or the error for which the command was refused.
        """
        with self._lock:
            writer = self._writers.get(name)
            if writer is None:
                writer = self._writers[name] = Writer(name, self._committer, self._snapshot_every)
        future = writer.submit(command)
        if not writer.in_memory:  # else there is such an allocation, or was when its last command came
            future.add_done_callback(lambda done: self._forget(name, done))
        return future

    def run(self, name: str, command: Command[Answer]) -> Answer:
        """Run a command of an allocation, and wait for its answer.

        Raises:
            UnknownAllocation: there is no allocation of that name.
            StoreUnavailable: the database cannot be used.
            EvenhandError: the command was refused; nothing has changed then.
        """
        return self.submit(name, command).result()

    def loaded(self) -> list[str]:
        """The allocations that are in memory.

        Returns:
            Their names.
        """
        with self._lock:
            return [name for name, writer in self._writers.items() if writer.in_memory]

    def size(self, name: str) -> tuple[int, FeatureSeconds]:
        """The number of arms of an allocation that is in memory, and the processor time that its features take.

        Returns:
            Both; 0 if it is not in memory.
        """
        writer = self._writers.get(name)
        return (0, NO_FEATURES) if writer is None else writer.size

    def gauges(self, timeout: float) -> dict[str, Gauges]:
        """The gauges of the allocations that had a command here; those that do not answer in time are left out.

        They are read again only where something has happened, and then only if the allocation is in memory. There are
        none while the database cannot be used.

        Args:
            timeout: seconds to wait.

        Returns:
            Gauges by the names of allocations.
        """
        table = tables.allocations.c
        try:
            with self.database.transaction(writes=False) as connection:
                chains = {row.name: row.chain for row in connection.execute(select(table.name, table.chain))}
        except StoreUnavailable:
            return {}
        with self._lock:
            writers = {name: writer for name, writer in self._writers.items() if name in chains}
            known = {name: self._gauges[name] for name in writers if name in self._gauges}
        changed = [name for name in writers if known.get(name, ("",))[0] != chains[name]]
        futures = {name: self.submit(name, ReadGauges()) for name in changed if writers[name].in_memory}
        done = wait(futures.values(), timeout).done
        for name in changed:
            known.pop(name, None)
            if name in futures and futures[name] in done and futures[name].exception() is None:
                known[name] = chains[name], futures[name].result()
        self._gauges = known
        return {name: gauges for name, (_, gauges) in known.items()}

    # --- upkeep -------------------------------------------------------------------------------------------------------

    def leave_idle(self, idle: float) -> None:
        """Let allocations leave memory to which no command came for so many seconds.

        Args:
            idle: seconds.
        """
        with self._lock:
            writers = list(self._writers.values())
        for writer in writers:
            writer.leave_if_idle(idle)

    def judge(self) -> None:
        """Look for alarms in the allocations in which something has happened since this was done last; see `Judge`."""
        table = tables.allocations.c
        query = select(table.id, table.name).where(table.sequence != table.judged, table.closed.is_(False))
        with self.database.transaction(writes=False) as connection:
            rows = connection.execute(query.order_by(table.id)).all()
        looked = []
        for id, name in rows:
            if self._closing.is_set():
                return
            if not self.database.fault_of(id) and id not in self.database.without_part:
                with suppress(EvenhandError):  # the next look tries again
                    looked.append({"of": id, "last": self.run(name, Judge())})
        if looked:
            with self.database.transaction(writes=True) as connection:
                values = update(tables.allocations).where(table.id == bindparam("of"))
                connection.execute(values.values(judged=bindparam("last")), looked)

    def compact(self, retention: float) -> None:
        """Replace the events of all allocations that are older than so many seconds by their state.

        Args:
            retention: seconds.
        """
        for name in [summary.name for summary in self.allocations().allocations]:
            if self._closing.is_set():
                return
            try:
                found = compact(self.database, name, self.clock() - retention)
            except EvenhandError as error:
                LOG.warning("the events of %s were not compacted: %s", name, error)
            else:
                LOG.info("%d events of %s were replaced by their state", found.removed, name)

    def _repeat(self, name: str, seconds: float, work: Callable[[], None], first: float | None = None) -> None:
        """Do something every so many seconds in a thread of its own, until the store is closed."""

        def repeat() -> None:
            pause = seconds if first is None else first
            while not self._closing.wait(pause):
                with suppress(StoreUnavailable):
                    work()
                pause = seconds

        Thread(target=repeat, name=f"evenhand-{name}", daemon=True).start()

    def _forget(self, name: str, done: Future[Any]) -> None:
        """Forget a name of no allocation, so that such names do not fill the memory."""
        if not done.cancelled() and isinstance(done.exception(), UnknownAllocation):
            with self._lock:
                self._writers.pop(name, None)


for _one in (Store.submit, Store.run, Store.size):
    complete(_one, {"name": "of the allocation.", "command": "such as `Decide` or `Reward`."})
complete(
    Store.create, described(Bandit) | {"name": "1 to 100 letters, digits and ``._-``, the first a letter or digit."}
)
complete(Store.plan, described(Store.create) | {"options": "further arguments of `create`."})
