"""The store: allocations in a database, each a bandit whose every event is written down before it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from evenhand.errors import EvenhandError, StateError
from evenhand.online.bandit import Bandit
from evenhand.online.store import tables
from evenhand.online.store.commands import Answer, Command
from evenhand.online.store.database import Database
from evenhand.online.store.errors import Conflict, UnknownAllocation
from evenhand.online.store.events import Event, creation
from evenhand.online.store.keys import Keys
from evenhand.online.store.live import NAME, SNAPSHOT, from_start, read_events, recalled, row_of
from evenhand.online.store.writer import Observer, Writer

RESERVED = ("self", "arms", "algorithm", "plays", "seed", "window", "missing", "rewards")  # of a bandit's own
WORKERS = 8  # allocations that are written to at the same time


@dataclass(frozen=True)
class Overview:
    """An allocation in a list.

    Attributes:
        name: of the allocation.
        algorithm: that decides.
        arms: how many are not retired.
        round: rounds decided.
        closed: whether it decides no more.
        created: seconds since the epoch.
    """

    name: str
    algorithm: str
    arms: int
    round: int
    closed: bool
    created: float


class Store:
    """Allocations in a database.

    Args:
        database: where they are; its tables are up to date.
        clock: tells the time, in seconds since the epoch.
        observer: hears of commits.
        snapshot: events after which a bandit is written down whole.

    Attributes:
        keys: the API keys.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Decide, Report, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.2}}, seed=1)
        True
        >>> decision = store.ask("drinks", Decide())["decisions"][0]
        >>> decision["id"], decision["arms"], decision["propensities"]
        ('1', ['tea'], [1.0])
        >>> store.ask("drinks", Report([("1", {"tea": 1.0})]))["answers"][0]["status"]
        'accepted'
        >>> store.close()
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] = time.time,
        observer: Observer | None = None,
        snapshot: int = SNAPSHOT,
    ) -> None:
        self.database, self.keys = database, Keys(database)
        self._clock, self._observer, self._every = clock, observer, snapshot
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="evenhand-writer")
        self._writers: dict[str, Writer] = {}
        self._lock = Lock()  # of the writers

    @classmethod
    def open(cls, database: str = "evenhand.db", new: bool = True, **options: Any) -> Store:
        """The store in a database, whose tables are made or brought up to date.

        Args:
            database: a path to an SQLite file, or a URL such as ``postgresql://user@host/name``.
            new: whether to make it where there is none.
            **options: those of the class.

        Raises:
            EvenhandError: it is no such database, was made by a newer version, or is not there and must not be made.
            StoreUnavailable: it cannot be reached.
        """
        opened = Database(database)
        if not new and not opened.there:
            raise EvenhandError(f"there is no database {opened.name}; `evenhand serve` makes one")
        try:
            opened.migrate()
        except BaseException:
            opened.close()
            raise
        return cls(opened, **options)

    def close(self) -> None:
        """Finish what was asked, write the bandits down whole, and let go of the database."""
        self._workers.shutdown(wait=True)
        for writer in self._writers.values():
            with suppress(EvenhandError):  # a snapshot only makes the next start faster
                writer.write_snapshot()
        self.database.close()

    def ready(self) -> None:
        """Return if the database can be reached.

        Raises:
            StoreUnavailable: it cannot.
        """
        self.database.ready()

    # --- allocations --------------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        arms: Sequence[str],
        algorithm: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        plays: int = 1,
        seed: int | None = None,
        window: float | None = None,
        missing: str = "lost",
        rewards: tuple[float, float] | None = (0.0, 1.0),
    ) -> bool:
        """A new allocation; see `evenhand.online.Bandit` for the arguments.

        Args:
            name: 1 to 100 letters, digits and ``._-``, the first a letter or digit.
            arms: their names.
            algorithm: a name of `evenhand.algorithms`.
            parameters: the algorithm's.
            plays: arms that play a round.
            seed: of all randomness; None draws one.
            window: seconds for which a report is waited for.
            missing: what a report that never came counts as.
            rewards: the smallest and the largest.

        Returns:
            Whether it is new; False where the very same exists.

        Raises:
            Conflict: there is one of that name that was made otherwise.
            EvenhandError: an argument is wrong, or the promises cannot be kept.
        """
        if not NAME.fullmatch(name):
            raise EvenhandError(
                "the name of an allocation must be 1 to 100 letters, digits, dots, dashes and underscores, beginning "
                f"with a letter or digit; got {name!r}"
            )
        drawn = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        options: dict[str, Any] = {"plays": plays, "window": window, "missing": missing, "rewards": rewards}
        given = dict(parameters or {})
        for parameter in given:
            if not isinstance(parameter, str) or parameter in RESERVED:
                raise EvenhandError(f"{parameter!r} is no parameter of an algorithm")
        made = Bandit(arms, algorithm, seed=drawn, **options, **given)
        body = creation(made)
        try:
            return self._created(name, body, seed is None)
        except IntegrityError:  # another process made one of that name at the same time
            return self._created(name, body, seed is None)

    def _created(self, name: str, body: dict[str, Any], any_seed: bool) -> bool:
        table = tables.allocations
        with self.database.transaction(writes=True) as connection:
            known = connection.execute(select(table.c.id).where(table.c.name == name)).scalar()
            if known is not None:
                there = dict(next(read_events(connection, known, 0, 1)).body)
                differ = [part for part in body if there[part] != body[part] and not (any_seed and part == "seed")]
                if differ:
                    raise Conflict(f"there is an allocation {name!r} already, with other {', '.join(differ)}")
                return False
            now = self._clock()
            row = {"algorithm": body["algorithm"], "arms": len(body["arms"]), "created": now}
            row |= {"name": name, "sequence": 1, "round": 0, "closed": False}
            (made,) = connection.execute(insert(table).returning(table.c.id), row).scalars()
            connection.execute(insert(tables.events), Event(1, now, "create", None, body).row(made))
        return True

    def allocations(self) -> list[Overview]:
        """All allocations, by name."""
        table = tables.allocations.c
        chosen = select(table.name, table.algorithm, table.arms, table.round, table.closed, table.created)
        with self.database.transaction(writes=False) as connection:
            return [Overview(*row) for row in connection.execute(chosen.order_by(table.name))]

    def verify(self, name: str) -> int:
        """See that an allocation can be made again from its events alone, and is the same.

        Returns:
            How many events there are.

        Raises:
            UnknownAllocation: there is none of that name.
            StateError: an event is missing or damaged, or what it says does not come out again.
        """
        with self.database.transaction(writes=False) as connection:
            row = row_of(connection, name)
            try:
                made = from_start(connection, row.id, name)
                kept = recalled(connection, row.id, name, row.sequence)
                for live in (made, kept):
                    live.catch_up(connection, row.sequence)
            except StateError as error:
                raise StateError(f"allocation {name!r}: {error}") from None
        if (kept.closed, kept.bandit.dump()) != (made.closed, made.bandit.dump()):
            raise StateError(f"allocation {name!r}: the snapshot of its bandit is not what its events come to")
        return int(row.sequence)

    # --- what is asked of them ----------------------------------------------------------------------------------------

    def submit(self, name: str, command: Command) -> Future[Answer]:
        """Ask an allocation for something; the answer comes once all that it did is committed.

        The future raises what is wrong: `UnknownAllocation`, `StoreUnavailable`, or what the command was refused for.
        """
        with self._lock:
            writer = self._writers.get(name)
            if writer is None:
                writer = Writer(name, self.database, self._workers, self._clock, self._observer, self._every)
                self._writers[name] = writer
        future = writer.submit(command)
        future.add_done_callback(lambda done: self._forget(name, done))
        return future

    def ask(self, name: str, command: Command) -> Answer:
        """Ask an allocation for something, and wait for the answer."""
        return self.submit(name, command).result()

    def awake(self) -> list[str]:
        """The allocations that are in memory, as something has been asked of them."""
        with self._lock:
            return list(self._writers)

    def _forget(self, name: str, done: Future[Answer]) -> None:
        """Names of no allocation must not fill the memory."""
        if not done.cancelled() and isinstance(done.exception(), UnknownAllocation):
            with self._lock:
                self._writers.pop(name, None)
