"""Databases of the store, open and with their tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from evenhand.online.store import Store
from evenhand.online.store.database import Database
from tests.online.store.kit import Clock, Driven

ARMS = ("tea", "coffee", "cocoa")


def opened(url: str) -> Iterator[Database]:
    database = Database(url)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def lite(sqlite: str) -> Iterator[Database]:
    """An SQLite database with tables."""
    yield from opened(sqlite)


@pytest.fixture
def either(database: str) -> Iterator[Database]:
    """A database of either kind with tables."""
    yield from opened(database)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(lite: Database, clock: Clock) -> Iterator[Store]:
    """A store on SQLite."""
    with ExitStack() as ending:
        made = Store(lite, clock=clock)
        ending.callback(made.close)
        yield made


@pytest.fixture
def drinks(lite: Database, store: Store, clock: Clock) -> Driven:
    """An allocation on SQLite that promises a third of the rounds to coffee, in whose writer tests make the groups."""
    store.create("drinks", ARMS, "fucb", parameters={"fractions": {"coffee": 1 / 3}}, seed=1, window=60.0)
    return Driven(lite, clock=clock)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are not cut short because the computer is busy."""
    monkeypatch.setattr("evenhand.online.store.writer.TURN", 60.0)
