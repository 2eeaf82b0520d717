"""Databases of the store, open and with their tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evenhand.service.store import Store
from evenhand.service.store.database import Database
from tests.service.databases import drop_database, make_database
from tests.service.store.kit import Clock, Driven

ARMS = ("tea", "coffee", "cocoa")


@pytest.fixture
def lite(empty: Path, tmp_path: Path) -> Iterator[Database]:
    """An SQLite database with tables."""
    with closing(Database(str(shutil.copy(empty, tmp_path)))) as database:
        yield database


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database of either kind with tables."""
    if request.param == "sqlite":
        yield request.getfixturevalue("lite")
        return
    server = request.getfixturevalue("postgres")
    url = make_database(server, like=request.getfixturevalue("empty_postgresql"))
    with closing(Database(url)) as database:
        yield database
    drop_database(server, url)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(lite: Database, clock: Clock) -> Iterator[Store]:
    """A store on SQLite."""
    with closing(Store(lite, clock=clock)) as opened:
        yield opened


@pytest.fixture
def drinks(lite: Database, store: Store, clock: Clock) -> Driven:
    """An allocation on SQLite that promises a third of the rounds to coffee, in whose writer tests make the groups."""
    store.create(
        "drinks", ARMS, "fucb", parameters={"fractions": {"coffee": 1 / 3}}, seed=1, window=60.0, missing="lost"
    )
    return Driven(lite, clock=clock)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are not cut short because the computer is busy."""
    monkeypatch.setattr("evenhand.service.store.transaction.MAX_SECONDS", 60.0)
