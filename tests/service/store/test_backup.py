"""A backup is a copy of one moment, whole and private, whatever others write meanwhile."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.service.store import Decide, Store
from evenhand.service.store.database import Database
from evenhand.service.store.repair import backup
from evenhand.service.store.verify import verify
from tests.service.store.kit import verified


def test_a_copy_is_of_one_moment_while_others_write(sqlite: str, tmp_path: Path) -> None:
    store, copy = Store.open(sqlite), tmp_path / "copy.db"
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    store.run("drinks", Decide(count=3))
    writer = sqlite3.connect(store.database.name, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE allocations SET round = 99")
    assert backup(Database(sqlite, read_only=True), copy) == copy.stat().st_size
    writer.execute("ROLLBACK")
    writer.close()
    store.run("drinks", Decide())
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert verified(Database(str(copy), read_only=True), "drinks") == 4
    assert verified(store.database, "drinks") == 5
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db"]
    store.close()
    again = Store.open(str(copy))
    assert again.run("drinks", Decide()).decisions[0].round == 4
    again.close()
    assert verify(Database(str(copy)), ["drinks"]).faults == ()


def test_what_cannot_be_backed_up(sqlite: str, tmp_path: Path) -> None:
    Store.open(sqlite).close()
    with pytest.raises(EvenhandError, match="already exists; give the path of a new file"):
        backup(Database(sqlite), Path(Database(sqlite).name))
    with pytest.raises(EvenhandError, match=r"could not be written to .*: No such file"):
        backup(Database(sqlite), tmp_path / "none" / "copy.db")
    with pytest.raises(EvenhandError, match="back it up with pg_dump"):
        backup(Database("postgresql://nobody@localhost/none"), tmp_path / "copy.db")
