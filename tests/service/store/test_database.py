"""Databases: which are taken, how their tables come about, and that no message shows a password."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, make_url, text
from sqlalchemy.exc import IntegrityError

from evenhand.core.errors import EvenhandError
from evenhand.service.store import Store, tables
from evenhand.service.store.allocation import FREE
from evenhand.service.store.database import LOCK_TIMEOUT, TOGETHER, Chosen, Database, _write_ahead, insert_rows
from evenhand.service.store.errors import StoreUnavailable
from evenhand.service.store.summaries import KEPT
from evenhand.service.store.transaction import ANSWERS
from tests.service.store.kit import change_rows, count

TABLES = {
    "allocations",
    "arms",
    "webhooks",
    "deliveries",
    "owed",
    "events",
    "features",
    "snapshots",
    "summaries",
    "answers",
    "keys",
}


def names(url: str) -> set[str]:
    """The tables of a database."""
    engine = create_engine(make_url(url).set(drivername=Database(url).url.drivername))
    try:
        return set(inspect(engine).get_table_names())
    finally:
        engine.dispose()


def rows(url: str, table: str) -> int:
    database = Database(url)
    try:
        return count(database, table)
    finally:
        database.close()


# --- Tables -----------------------------------------------------------------------------------------------------------


def test_opening_makes_the_tables_and_again_changes_nothing(database: str) -> None:
    for _ in range(2):
        store = Store.open(database)
        store.database.ready()
        assert names(database) == TABLES | {"alembic_version"}
        assert store.create("drinks", ["tea"], "ucb1", seed=1) == (_ == 0)
        store.close()


def test_the_migrations_come_to_the_tables_of_the_code(either: Database) -> None:
    """Alembic compares columns, types, keys and indexes; and the names of all must be the same."""
    with either.transaction(writes=False) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.metadata) == []
        inspector = inspect(connection)
        for table in tables.metadata.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in inspector.get_columns(table.name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            keys = inspector.get_pk_constraint(table.name)["constrained_columns"]
            assert keys == [column.name for column in table.primary_key.columns]
            unique = {tuple(one["column_names"]) for one in inspector.get_unique_constraints(table.name)}
            assert unique == {(column.name,) for column in table.columns if column.unique}
            indexes = {one["name"] for one in inspector.get_indexes(table.name) if not one["unique"]}
            assert indexes == {index.name for index in table.indexes}
            foreign = {tuple(one["constrained_columns"]) for one in inspector.get_foreign_keys(table.name)}
            assert foreign == {(column.name,) for column in table.columns if column.foreign_keys}


def test_a_comparison_that_finds_nothing_would_find_something(lite: Database) -> None:
    change_rows(lite, "DROP INDEX events_by_round")
    with lite.transaction(writes=False) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        (difference,) = compare_metadata(context, tables.metadata)
    assert difference[0] == "add_index"


def test_sqlite_keeps_events_by_their_key(lite: Database) -> None:
    """Without a row id, so that an event is written once and not twice; alembic does not see that."""
    with lite.transaction(writes=False) as connection:
        chosen = text("SELECT name FROM sqlite_schema WHERE sql LIKE '%WITHOUT ROWID%'")
        assert set(connection.execute(chosen).scalars()) == {"arms", "events", "features", "answers"}


@pytest.mark.parametrize("chosen", [FREE, KEPT, ANSWERS])
def test_sqlite_finds_chosen_rows_by_their_key_however_many_there_are(lite: Database, chosen: Chosen) -> None:
    with lite.transaction(writes=False) as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {chosen._statement._lite}", ("[]",)).all()
    steps = [row.detail for row in plan]
    assert [step for step in steps if step.startswith("SCAN")] == ["SCAN anon_1 VIRTUAL TABLE INDEX 1:"], steps
    assert all("=?" in step for step in steps if step.startswith("SEARCH")), steps
    assert chosen is not ANSWERS or "allocation=? AND key=?" in steps[1], steps


@pytest.mark.parametrize("values", [[], [(1, "a")], [(1, "a"), (1, "b"), (2, "b"), (3, "\"'é\\")]])
def test_chosen_rows_are_those_with_the_values(either: Database, values: list[tuple[int, str]]) -> None:
    keys = [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "\"'é\\")]
    rows = [{"allocation": id, "key": key, "digest": "", "time": 0.0, "body": ""} for id, key in keys]
    with either.transaction(writes=True) as connection:
        connection.execute(tables.answers.insert(), rows)
        found = [(allocation, key) for allocation, key, *_ in ANSWERS.rows(connection, values)]
    assert sorted(found) == values


def test_several_that_come_at_once_make_the_tables_once(database: str) -> None:
    """One makes them, the others wait; one makes the allocation, the others find it."""
    ready = threading.Barrier(4)

    def opened(_: int) -> bool:
        ready.wait()
        store = Store.open(database)
        new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        store.close()
        return new

    with ThreadPoolExecutor(4) as together:
        assert sorted(together.map(opened, range(4))) == [False, False, False, True]
    assert rows(database, "events") == 1


def test_a_database_of_a_newer_version_is_refused(database: str) -> None:
    Store.open(database).close()
    opened = Database(database)
    change_rows(opened, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(EvenhandError, match="later than 0005 of this Evenhand: use a later version") as refused:
        Store.open(database)
    assert "\n" not in str(refused.value)
    assert "9999" in str(refused.value)
    change_rows(opened, "UPDATE alembic_version SET version_num = '0005'")
    Store.open(database).close()
    opened.close()


def test_tables_of_somebody_else_are_left_alone(database: str) -> None:
    opened = Database(database)
    change_rows(opened, "CREATE TABLE events (mine INTEGER)")
    with pytest.raises(StoreUnavailable, match="already exists") as refused:
        Store.open(database)
    assert "\n" not in str(refused.value)
    assert names(database) == {"events"}
    opened.close()


def test_a_failed_migration_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic.operations import Operations

    make = Operations.create_table

    def fails(operations: Any, name: str, *columns: Any, **options: Any) -> Any:
        if name == "answers":
            raise KeyboardInterrupt
        return make(operations, name, *columns, **options)

    monkeypatch.setattr(Operations, "create_table", fails)
    monkeypatch.setattr("alembic.op.create_table", lambda *given, **options: fails(_operations(), *given, **options))
    with pytest.raises(KeyboardInterrupt):
        Store.open(database)
    assert names(database) == set()
    monkeypatch.undo()
    Store.open(database).close()
    assert names(database) > TABLES


def _operations() -> Any:
    from alembic import op

    return op._proxy  # type: ignore[attr-defined]


# --- Transactions -----------------------------------------------------------------------------------------------------

ROW = "INSERT INTO allocations VALUES (:id, :name, 'ucb1', 1, 0.0, 1, '', 0, {}, NULL, 0, 0, 0)"


def insert(database: Database, id: int, name: str) -> None:
    false = "false" if database.engine.dialect.name == "postgresql" else "0"
    change_rows(database, ROW.format(false), id=id, name=name)


def test_a_transaction_is_kept_whole_or_not_at_all(either: Database) -> None:
    insert(either, 1, "a")
    with contextlib.suppress(ZeroDivisionError), either.transaction(writes=True) as connection:
        connection.execute(text("DELETE FROM allocations"))
        raise ZeroDivisionError
    assert count(either, "allocations") == 1


def test_a_wrong_statement_is_not_a_database_that_fails(either: Database) -> None:
    insert(either, 1, "a")
    with pytest.raises(IntegrityError):
        insert(either, 2, "a")
    with pytest.raises(StoreUnavailable, match="no_such_table"):
        change_rows(either, "DELETE FROM no_such_table")
    assert count(either, "allocations") == 1


@pytest.mark.parametrize("number", [1, TOGETHER - 1, TOGETHER, 2 * TOGETHER + 3])
def test_rows_are_inserted_in_their_order_however_many_there_are(either: Database, number: int) -> None:
    inserted = [{"work": f"work {place}", "since": 0.1 * place} for place in range(number)]
    with either.transaction(writes=True) as connection:
        insert_rows(connection, tables.owed, inserted)
    with either.transaction(writes=False) as connection:
        found = connection.execute(text("SELECT work, since FROM owed ORDER BY since")).all()
    assert [one._asdict() for one in found] == inserted


def test_a_reader_sees_one_state(either: Database) -> None:
    """Whatever others write meanwhile."""
    insert(either, 1, "a")
    with either.transaction(writes=False) as connection:
        chosen = text("SELECT count(*) FROM allocations")
        assert connection.execute(chosen).scalar_one() == 1
        insert(either, 2, "b")
        assert connection.execute(chosen).scalar_one() == 1
    assert count(either, "allocations") == 2


def test_commits_of_sqlite_are_durable_and_readers_do_not_wait(lite: Database) -> None:
    for writes in (False, True):
        with lite.transaction(writes) as connection:
            pragmas = {
                name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys")
            }
            assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


class Reading:
    """A connection to a database that others read a few times more."""

    def __init__(self, times: int, code: int = sqlite3.SQLITE_BUSY) -> None:
        self.times, self.code = times, code

    def execute(self, statement: str) -> None:
        assert statement == "PRAGMA journal_mode = WAL"
        self.times -= 1
        if self.times >= 0:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = self.code
            raise error


def test_changing_over_to_writing_ahead_waits_for_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself does not wait then; where several open a new database at once, all but one may have to."""
    now = [0.0]
    monkeypatch.setattr("time.sleep", lambda seconds: now.append(now.pop() + seconds))
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    readers = Reading(5)
    _write_ahead(readers)
    assert readers.times == -1
    with pytest.raises(sqlite3.OperationalError):
        _write_ahead(Reading(10**6))
    assert now[0] == pytest.approx(LOCK_TIMEOUT, abs=0.1)
    failing = Reading(2, sqlite3.SQLITE_CANTOPEN)
    with pytest.raises(sqlite3.OperationalError):
        _write_ahead(failing)
    assert failing.times == 1


def test_a_database_that_is_locked_for_long_is_unavailable(lite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here after no time; reading goes on, and afterwards all is well."""
    monkeypatch.setattr("evenhand.service.store.database.LOCK_TIMEOUT", 0)
    hasty = Database(lite.name)
    with lite.transaction(writes=True):
        with pytest.raises(StoreUnavailable, match="database is locked"):
            insert(hasty, 1, "a")
        assert count(hasty, "allocations") == 0
    insert(hasty, 1, "a")
    hasty.close()


def test_ready_checks_whether_the_database_can_be_used(either: Database) -> None:
    either.ready()
    change_rows(either, "DROP TABLE snapshots")
    either.ready()
    change_rows(either, "DROP TABLE allocations")
    with pytest.raises(StoreUnavailable, match="allocations"):
        either.ready()


def test_a_file_that_was_moved_away_or_replaced_is_not_written_to(lite: Database, tmp_path: Path) -> None:
    """What is written to it would be lost; put back, it is used again."""
    path = Path(lite.name)
    lite.ready()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StoreUnavailable, match="was moved away or replaced while it was in use"):
        insert(lite, 1, "a")
    Path(shutil.copy(tmp_path / "moved.db", path))
    with pytest.raises(StoreUnavailable, match="was moved away or replaced while it was in use"):
        lite.ready()
    (tmp_path / "moved.db").replace(path)
    lite.ready()
    insert(lite, 1, "a")


def test_it_is_not_ready_while_writes_fail(lite: Database) -> None:
    """Reading works all the time; readiness tries a write itself as long as the last one has failed."""
    lite.ready()
    with contextlib.closing(sqlite3.connect(lite.name)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    with lite.transaction(writes=True) as connected:
        connected.execute(text(f"PRAGMA max_page_count = {pages}"))  # the disk is full
    with pytest.raises(StoreUnavailable, match="database or disk is full"), lite.transaction(writes=True) as connected:
        connected.execute(text("CREATE TABLE large AS SELECT randomblob(100000) AS one"))
    with lite.transaction(writes=False) as connected:
        assert connected.execute(text("SELECT count(*) FROM events")).scalar_one() == 0
    assert not lite._writable
    lite.ready()  # a write of that size succeeds
    assert lite._writable


# --- What is no database ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "in memory"),
        (":memory:", "in memory"),
        ("sqlite://", "in memory"),
        ("sqlite:///", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:///x.db?mode=memory&uri=true", "followed by a path"),
        ("sqlite:///x.db?timeout=abc", "followed by a path"),
        ("sqlite://x.db", "in memory"),
        ("sqlite://host/x.db", "followed by a path"),
        ("mysql://user@host/x", "must be SQLite or PostgreSQL, not mysql"),
        ("http://127.0.0.1:8000", "must be SQLite or PostgreSQL, not http"),
        ("://", "must be a path or a URL"),
        ("postgresql://host:port/x", "must be a path or a URL"),
        ("postgresql:/user:secret@host/x", "must be a path or a URL"),
        ("postgres+psycopg:user:secret@host/x", "must be a path or a URL"),
    ],
)
def test_what_names_no_database_is_refused(
    name: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvenhandError, match=fault) as refused:
        Store.open(name)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("{}", "evenhand.db"),
        ("{}", "postgres.db"),
        ("{}", "postgresql"),
        ("{}", "a%20b?c=1.db"),
        ("./{}", "a b'c.db"),
        ("sqlite:///{}", "ünïcode.db"),
        ("sqlite:///{}", "a b'c.db"),
        ("sqlite+pysqlite:///{}", "sqlite.db"),
    ],
)
def test_a_path_is_a_database(form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    database = form.format(name)
    assert not Database(database).exists
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Store.open(database).close()
    assert Database(database).exists
    assert (tmp_path / name).is_file()


def test_what_is_no_database_is_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, and longer than the header of one " * 100)
    (tmp_path / "short.db").write_text("no")
    (tmp_path / "folder.db").mkdir()
    broken = tmp_path / "broken.db"
    Store.open(str(broken)).close()
    broken.write_bytes(broken.read_bytes()[:4096] + b"\xff" * 4096 * 12)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    for name, fault in [
        ("text.db", "file is not a database"),
        ("short.db", "file is not a database"),
        ("folder.db", "unable to open database file"),
        ("missing/evenhand.db", "unable to open database file"),
        ("broken.db", "malformed|not a database"),
    ]:
        with pytest.raises(StoreUnavailable, match=fault) as refused:
            Store.open(str(tmp_path / name))
        assert "\n" not in str(refused.value)
        assert str(tmp_path / name) in str(refused.value)
    for name in ("text.db", "short.db", "broken.db"):
        assert (tmp_path / name).read_bytes() == before[name]


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "evenhand.db").touch()
    Store.open(str(tmp_path / "evenhand.db")).close()
    assert rows(str(tmp_path / "evenhand.db"), "events") == 0


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing may be written; root may, so that a link into /proc has to do."""
    place = tmp_path / "locked"
    if os.geteuid() == 0:
        place.symlink_to("/proc/self")
    else:
        place.mkdir(mode=0o500)
    yield place
    if not place.is_symlink():
        place.chmod(0o700)


def test_a_folder_that_may_not_be_written_to_is_named(locked: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open database file"):
        Store.open(str(locked / "evenhand.db"))


# --- Passwords --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://tests:{}@127.0.0.1:1/evenhand",
        "postgres://tests:{}@127.0.0.1:1/evenhand",
        "postgresql+psycopg://tests:{}@127.0.0.1:1/evenhand",
        "postgresql+asyncpg://tests:{}@127.0.0.1:1/evenhand?connect_timeout=3",
        "postgresql://tests@127.0.0.1:1/evenhand?password={}",
        "postgresql://tests:{}@127.0.0.1:1/evenhand?no_such_option=1",
        "postgresql://tests:x@{}@127.0.0.1:1/evenhand",
        "postgresql://tests:{}@127.0.0.1:one/evenhand",
        "postgresql:/tests:{}@127.0.0.1:1/evenhand",
    ],
)
def test_no_message_shows_a_password(form: str) -> None:
    with pytest.raises(EvenhandError) as refused:
        Store.open(form.format("geheim"))
    cause: BaseException | None = refused.value
    assert "geheim" not in str(cause)
    assert "geheim" not in repr(cause)
    assert "\n" not in str(cause)


def test_a_password_may_have_any_character() -> None:
    url = make_url("postgresql://127.0.0.1:1/evenhand").set(username="tests", password="p@ss:w/rd?#%")
    database = Database(url.render_as_string(hide_password=False))
    assert database.url.password == "p@ss:w/rd?#%"
    assert "w/rd" not in database.name


def test_a_wrong_password_is_refused_without_showing_it(postgresql: str) -> None:
    wrong = make_url(postgresql).set(password="geheim").render_as_string(hide_password=False)
    with pytest.raises(StoreUnavailable, match="password authentication failed") as refused:
        Store.open(wrong)
    assert "geheim" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_database_that_is_missing_is_named(postgresql: str) -> None:
    missing = make_url(postgresql).set(database="no_such_database").render_as_string(hide_password=False)
    with pytest.raises(StoreUnavailable, match='database "no_such_database" does not exist') as refused:
        Store.open(missing)
    assert "\n" not in str(refused.value)


def test_a_user_without_the_right_to_create_tables_is_named(postgresql: str) -> None:
    database = Database(postgresql)
    change_rows(database, "CREATE ROLE visitor LOGIN PASSWORD 'geheim'")
    try:
        visitor = make_url(postgresql).set(username="visitor", password="geheim").render_as_string(hide_password=False)
        with pytest.raises(StoreUnavailable, match="permission denied for schema public") as refused:
            Store.open(visitor)
        assert "geheim" not in str(refused.value)
        assert "\n" not in str(refused.value)
    finally:
        change_rows(database, "DROP ROLE visitor")
        database.close()


def test_the_file_can_be_copied_while_it_is_used(lite: Database, tmp_path: Path) -> None:
    """SQLite's own backup has what was committed so far, in one file."""
    insert(lite, 1, "a")
    source, target = sqlite3.connect(lite.name), sqlite3.connect(tmp_path / "copy.db")
    with contextlib.closing(source), contextlib.closing(target):
        source.backup(target)
    insert(lite, 2, "b")
    assert rows(str(tmp_path / "copy.db"), "allocations") == 1
