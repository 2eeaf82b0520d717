"""What the tests of the store share: a clock that they set, workers that wait, and looks into the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event, func, select, text, update
from sqlalchemy.exc import OperationalError

from evenhand.bandit import Bandit, saved
from evenhand.core.errors import StateError
from evenhand.messages.answers import Answer
from evenhand.service.store import tables
from evenhand.service.store.allocation import all_events, row_of
from evenhand.service.store.api_keys import Key, Keys, hash_of
from evenhand.service.store.commands import Command
from evenhand.service.store.database import Database
from evenhand.service.store.events import Event, chained, fold
from evenhand.service.store.transaction import Observer
from evenhand.service.store.verify import verify
from evenhand.service.store.writer import SNAPSHOT_EVERY, Committer, Writer

START = 1_800_000_000.0  # seconds since the epoch
Outcome = Any  # an answer, or an exception


@dataclass
class Clock:
    """A clock that stands still until a test moves it."""

    now: float = START

    def __call__(self) -> float:
        return self.now


@dataclass
class Held(Executor):
    """Workers that do nothing until the test runs them, so that a test decides what comes into a group."""

    jobs: list[Callable[[], Any]] = field(default_factory=list)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.jobs.append(lambda: fn(*args, **kwargs))
        return Future()

    def run(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()


@dataclass
class Driven:
    """A writer whose groups are made by the test."""

    database: Database
    name: str = "drinks"
    clock: Clock = field(default_factory=Clock)
    observer: Observer | None = None
    snapshot: int = SNAPSHOT_EVERY

    def __post_init__(self) -> None:
        self.held = Held()
        self.committer = Committer(self.database, self.held, self.clock, self.observer)
        self.writer = Writer(self.name, self.committer, self.snapshot)

    def group(self, commands: Sequence[Command[Any]]) -> list[Outcome]:
        """What comes of commands that are carried out together; an exception where one is refused."""
        futures = [self.writer.submit(command) for command in commands]
        self.held.run()
        return [future.exception(timeout=0) or future.result(timeout=0) for future in futures]

    def run(self, command: Command[Any]) -> Any:
        """The answer to a command by itself."""
        (outcome,) = self.group([command])
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def refused(self, command: Command[Any]) -> BaseException:
        """Why a command is refused."""
        (outcome,) = self.group([command])
        assert isinstance(outcome, BaseException), outcome
        return outcome

    def events(self) -> list[Event]:
        """All that has been written down."""
        return events_of(self.database, self.name)

    def rebuilt(self) -> tuple[Bandit, bool]:
        """The bandit that the events come to, and whether it is closed."""
        return rebuilt(self.events())


def events_of(database: Database, name: str) -> list[Event]:
    """All events of an allocation."""
    with database.transaction(writes=False) as connection:
        id = row_of(connection, name).id
    return list(all_events(database, id))


def rebuilt(events: Sequence[Event]) -> tuple[Bandit, bool]:
    """The bandit that events come to, and whether it is closed."""
    bandit, closed = fold(None, events[0], closed=False)
    for one in events[1:]:
        bandit, closed = fold(bandit, one, closed)
    return Bandit.restored(saved.dump(bandit)), closed


def verified(database: Database, name: str) -> int:
    """The number of events of an allocation in which verifying finds no fault.

    Raises:
        StateError: there is a fault.
    """
    found = verify(database, [name])
    if found.faults:
        raise StateError("\n".join(found.faults))
    return found.events[name]


def rechain(database: Database) -> None:
    """Make the hashes fit rows that were changed, so that only what the events say can be at fault."""
    with database.transaction(writes=True) as connection:
        rows = connection.execute(select(tables.events).order_by(tables.events.c.allocation, tables.events.c.sequence))
        before: dict[int, str] = {}
        for row in rows.all():
            previous = before.get(row.allocation, "")
            chain = chained(previous, row.sequence, row.time, row.kind, row.round, row.version, row.body, row.key)
            where = (tables.events.c.allocation == row.allocation, tables.events.c.sequence == row.sequence)
            connection.execute(update(tables.events).where(*where).values(chain=chain))
            before[row.allocation] = chain
        for id, chain in before.items():
            table = tables.allocations
            connection.execute(update(table).where(table.c.id == id).values(chain=chain))


def kinds(events: Sequence[Event]) -> list[str]:
    """What kinds of events there are, in order."""
    return [one.kind for one in events]


def answered(outcome: Outcome) -> Any:
    """An outcome that is an answer."""
    assert isinstance(outcome, Answer), outcome
    return outcome


def count(database: Database, table: str) -> int:
    """How many rows a table has."""
    with database.transaction(writes=False) as connection:
        rows = connection.execute(select(func.count()).select_from(tables.metadata.tables[table])).scalar_one()
    return int(rows)


def change_rows(database: Database, statement: str, **values: Any) -> None:
    """Change something behind the store's back."""
    with database.transaction(writes=True) as connection:
        connection.execute(text(statement), values)


def body_of(database: Database, sequence: int) -> Any:
    """The body of an event of the only allocation."""
    with database.transaction(writes=False) as connection:
        chosen = select(tables.events.c.body).where(tables.events.c.sequence == sequence)
        return json.loads(connection.execute(chosen).scalar_one())


def set_body(database: Database, sequence: int, body: Any) -> None:
    """Another body for an event of the only allocation; a text stands as it is."""
    plain = body if isinstance(body, str) else json.dumps(body)
    change_rows(database, "UPDATE events SET body = :body WHERE sequence = :sequence", body=plain, sequence=sequence)


def found(keys: Keys, secret: str) -> Key | None:
    """The key with a secret, if it is valid now."""
    key = keys.by_hash().get(hash_of(secret))
    return key if key is not None and key.valid(keys._clock()) else None


@contextmanager
def failing(database: Database, after: bool = False) -> Iterator[list[int]]:
    """A database whose commits fail, before or after they have taken effect; the list has an entry for each.

    Only those of transactions that write.
    """
    failed: list[int] = []
    dialect: Any = database.engine.dialect

    def gone() -> OperationalError:
        failed.append(1)
        return OperationalError("COMMIT", {}, dialect.loaded_dbapi.OperationalError("the disk is gone"))

    def fail(connection: Any) -> None:
        if connection.info["writes"]:
            if after:
                dialect.do_commit(connection.connection)
            raise gone()

    event.listen(database.engine, "commit", fail)
    try:
        yield failed
    finally:
        event.remove(database.engine, "commit", fail)
