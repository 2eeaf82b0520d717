"""A database, SQLite or PostgreSQL: how it is opened, its transactions and its errors."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, TimeoutError

from evenhand.core.errors import EvenhandError
from evenhand.service.store.errors import StoreUnavailable
from evenhand.service.store.tables import owed

if TYPE_CHECKING:
    from alembic.config import Config

Query = sa.Select[*tuple[Any, ...]]
Runnable = Query | sa.Insert | sa.Update
#: Of a statement that is wrong, not of the database.
WRONG = (DataError, IntegrityError, sqlite3.DataError, sqlite3.IntegrityError)
FAILURES = (DBAPIError, TimeoutError, sqlite3.Error)  # of a database, not of what is asked of it
LOG = logging.getLogger("evenhand.store")
LOG.addHandler(logging.NullHandler())  # else Python prints to standard error, where commands print the same
HEAD = "0005"  # version of the tables
PURGE = "purge"  # work that is owed
PURGE_AGAIN = 30.0  # seconds until a purge that failed is tried again
TOGETHER = 50  # rows that SQLite is given at a time: for one by one, the thread needs the interpreter back 50 times
LOCK_TIMEOUT = 10  # seconds that a transaction waits for the lock of another one
MIGRATION_LOCK = 4_907_133_402  # number of the PostgreSQL lock under which one process at a time migrates
#: A server that stops within a transaction must not lock its allocation for ever.
POSTGRESQL = {
    "connect_timeout": 5,
    "options": f"-c lock_timeout={LOCK_TIMEOUT}s -c statement_timeout=60s -c idle_in_transaction_session_timeout=30s",
}


class Database:
    """An SQLite file, which needs no set-up, or a PostgreSQL database, which several servers can share."""

    def __init__(self, name: str, read_only: bool = False) -> None:
        self.url, self.read_only = _url(name), read_only
        lite = self.url.get_backend_name() == "sqlite"
        shown = self.url.set(drivername=self.url.get_backend_name(), query={})
        self.name = str(self.url.database) if lite else shown.render_as_string(hide_password=True)
        options: dict[str, Any] = {"timeout": LOCK_TIMEOUT} if lite else POSTGRESQL
        more: dict[str, Any] = {}
        if lite and read_only:
            address = _read_only_address(self.name)
            more["creator"] = lambda: sqlite3.connect(address, LOCK_TIMEOUT, check_same_thread=False, uri=True)
        self.engine = sa.create_engine(
            self.url,
            connect_args=options,
            pool_size=8,
            max_overflow=8,
            pool_timeout=LOCK_TIMEOUT,
            pool_pre_ping=not lite,
            **more,
        )
        if lite:
            _prepare(self.engine, read_only)
        self._turns = _Turns() if lite else None  # SQLite has one writer at a time
        self.checked: dict[int, Any] = {}  # how far the events of each allocation were; see `checked.py`
        self.without_part: set[int] = set()  # allocations that cannot be loaded, as a part of their own is missing
        self._failure = ""  # why it cannot be used at the moment, which is logged once
        self._writable = False  # whether the last write succeeded
        self._file: tuple[int, int] | None = None  # of SQLite, when it was used first: device and inode
        self._checks_file = lite and not read_only
        self._purging: Timer | None = None  # until a purge is tried again

    @property
    def exists(self) -> bool:
        """Whether there is such a database; one of PostgreSQL is assumed to exist until it is used."""
        return self.url.get_backend_name() != "sqlite" or Path(str(self.url.database)).exists()

    def close(self) -> None:
        """Close all connections."""
        if self._purging is not None:
            self._purging.cancel()
        self.engine.dispose()

    def fault_of(self, id: int) -> str:
        """What is known to be wrong with the events of an allocation; empty for nothing."""
        return str(self.checked[id][1]) if id in self.checked else ""

    @contextmanager
    def transaction(self, writes: bool) -> Iterator[sa.Connection]:
        """A transaction: all of it is committed durably, or nothing."""
        if self._checks_file:
            self._check_file()
        try:
            with self._turn(writes), self.engine.connect() as connection:
                connection.info["writes"] = writes
                driver = lite(connection)
                if driver is None and not writes:  # SQLite's readers see one state anyway
                    connection.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    if driver is not None:
                        driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                    yield connection
        except WRONG:
            raise
        except FAILURES as error:
            failure = f"the database {self.name} cannot be used: {_reason(error)}"
            if failure != self._failure:
                LOG.error(failure)
            self._failure = failure
            self._writable = self._writable and not writes
            raise StoreUnavailable(failure) from error
        self._writable = self._writable or writes
        if self._failure:
            self._failure = ""
            LOG.warning("the database %s can be used again", self.name)

    def _check_file(self) -> None:
        """Refuse to go on with a file that has no name any more: what is written to it is lost."""
        try:
            status = os.stat(self.name)
        except OSError:
            if self._file is None:  # it is yet to be created, or SQLite says why it cannot be
                return
            found = None
        else:
            found = status.st_dev, status.st_ino
        self._file = self._file or found
        if found != self._file:
            raise StoreUnavailable(
                f"the file {self.name} was moved away or replaced while it was in use: put it back, or stop the server"
            )

    def _turn(self, writes: bool) -> AbstractContextManager[None]:
        return nullcontext() if self._turns is None or not writes else self._turns.turn()

    def ready(self) -> None:
        """Return if the database can be read, and the last write succeeded; if not, another one is tried."""
        with self.transaction(writes=False) as connection:
            connection.execute(sa.text("SELECT count(*) FROM allocations WHERE id = 0"))
        if not self._writable:
            with self.transaction(writes=True) as connection:
                connection.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))

    def purge(self) -> None:
        """Write an SQLite file anew, so that nothing that was removed is left in unused parts of it or of its log.

        Since the commit that removed something this is owed (see `owe`), also if the process is killed, or while
        another one reads the file.
        """
        if self._turns is None:  # PostgreSQL does so by itself, by its autovacuum
            return
        try:
            with self._turn(writes=True), self.engine.connect() as connection:
                driver = lite(connection)
                assert driver is not None
                since = driver.execute("SELECT max(since) FROM owed WHERE work = ?", (PURGE,)).fetchone()
                driver.execute("VACUUM")
                (busy, *_) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:  # and nothing was erased by another process meanwhile
                    driver.execute("DELETE FROM owed WHERE work = ? AND since <= ?", (PURGE, *since))
        except (DBAPIError, sqlite3.Error) as error:
            self._not_purged(_reason(error))
        else:
            if busy:
                self._not_purged("another process reads it")

    def _not_purged(self, reason: str) -> None:
        again = (
            f"a running server tries again every {PURGE_AGAIN:g} seconds, and a stop of all that use the file ends it"
        )
        LOG.error("unused parts of %s may still hold what was erased (%s): %s", self.name, reason, again)
        self._purging = Timer(PURGE_AGAIN, self.purge)
        self._purging.daemon = True
        self._purging.start()

    def check_version(self) -> None:
        """Return if the tables are those of this version."""
        revision = self.revision()
        if revision == HEAD:
            return
        if revision is None:
            raise EvenhandError(f"the database {self.name} is empty; `evenhand serve` creates its tables")
        from alembic.script import ScriptDirectory

        if revision in {script.revision for script in ScriptDirectory.from_config(_migrations()).walk_revisions()}:
            raise EvenhandError(
                f"the database {self.name} has version {revision}, this version of Evenhand needs {HEAD}: "
                "back it up, and run `evenhand db upgrade`"
            )
        raise EvenhandError(
            f"the database {self.name} has version {revision}, which is later than {HEAD} of this Evenhand: "
            "use a later version of Evenhand"
        )

    def revision(self) -> str | None:
        """The version of the tables; None where there are none."""
        with self.transaction(writes=False) as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return None
            row = connection.execute(sa.text("SELECT version_num FROM alembic_version")).one_or_none()
        return None if row is None else str(row.version_num)

    def migrate(self) -> None:
        """Create the tables or bring them to this version; one process at a time does, the others wait."""
        from alembic import command  # not at the top: a server starts 0.2 s sooner without it

        if not self.exists:  # for its owner only; the journals of SQLite have the permissions of its file
            with suppress(OSError):  # which SQLite reports better
                os.close(os.open(str(self.url.database), os.O_CREAT | os.O_RDWR, 0o600))
        config = _migrations()
        with self.transaction(writes=True) as connection:
            if self.engine.dialect.name == "postgresql":
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def owe(connection: sa.Connection, work: str) -> None:
    """Write down, in the transaction that makes it necessary, what is to be done after it."""
    if work == PURGE and connection.dialect.name == "postgresql":  # which does so by itself
        return
    connection.execute(sa.delete(owed).where(owed.c.work == work))
    connection.execute(sa.insert(owed), {"work": work, "since": time.time()})


def lite(connection: sa.Connection) -> sqlite3.Connection | None:
    """The driver's connection to SQLite; None where it is PostgreSQL."""
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None


class Statement:
    """A statement that is made once, and run often: SQLite is given it as it is, in 3 µs where SQLAlchemy takes 20."""

    def __init__(self, statement: Runnable, lite: Runnable | None = None) -> None:
        compiled: Any = (statement if lite is None else lite).compile(dialect=sqlite.dialect())
        self._statement, self._lite, self._names = statement, compiled.string, compiled.positiontup
        before, values, row = self._lite.partition(" VALUES ")  # of an insertion
        self._many = f"{before}{values}{', '.join([row] * TOGETHER)}" if values else ""

    def rows(self, connection: sa.Connection, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """The rows that a query finds with these values."""
        driver = lite(connection)
        if driver is None:
            return connection.execute(self._statement, values).all()
        return driver.execute(self._lite, [values[name] for name in self._names]).fetchall()

    def write(self, connection: sa.Connection, rows: Sequence[Mapping[str, object]]) -> None:
        """Run it with the values of each row."""
        driver = lite(connection)
        if driver is None:
            connection.execute(self._statement, rows)
            return
        together = len(rows) // TOGETHER * TOGETHER if self._many else 0
        for first in range(0, together, TOGETHER):
            some = rows[first : first + TOGETHER]
            driver.execute(self._many, [row[name] for row in some for name in self._names])
        driver.executemany(self._lite, [[row[name] for name in self._names] for row in rows[together:]])


@cache
def _insertion(table: sa.Table, names: tuple[str, ...], many: bool) -> Statement:
    one = sa.insert(table).values({name: sa.bindparam(name) for name in names})
    if not many:
        return Statement(one)
    records = _records([table.c[name] for name in names], sa.bindparam("rows", type_=sa.Text))
    return Statement(sa.insert(table).from_select(names, records), one)


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows that all have the same columns; into PostgreSQL with one statement, whatever their number."""
    together = len(rows) > 1 and lite(connection) is None
    statement = _insertion(table, tuple(rows[0]), together)
    statement.write(connection, [{"rows": orjson.dumps(rows).decode()}] if together else rows)


def delete_rows(connection: sa.Connection, table: sa.Table, id: int, *where: sa.ColumnElement[bool]) -> int:
    """Delete rows of an allocation; how many there were."""
    return int(connection.execute(sa.delete(table).where(table.c.allocation == id, *where)).rowcount)


class Chosen:
    """A query for rows in which some columns have the values of one of a list, of which there may be hundreds."""

    def __init__(self, query: Query, *columns: sa.Column[Any]) -> None:
        rows = sa.bindparam("rows", type_=sa.Text)  # as JSON
        one = sa.func.json_each(rows).table_valued("value").c.value
        # SQLite would look at every row for `(a, b) IN (…)`, and so joins.
        fields = [(each, sa.func.json_extract(one, sa.literal_column(f"'$.{each.name}'"))) for each in columns]
        joined = query.where(*(each == value for each, value in fields))
        self._names = [str(each.name) for each in columns]
        self._statement = Statement(query.where(sa.tuple_(*columns).in_(_records(columns, rows))), joined)

    def rows(self, connection: sa.Connection, values: Iterable[Sequence[object]]) -> Sequence[Sequence[Any]]:
        """The rows for these values."""
        wanted = [dict(zip(self._names, one, strict=True)) for one in values]
        return self._statement.rows(connection, {"rows": orjson.dumps(wanted).decode()})


def _records(columns: Sequence[sa.Column[Any]], rows: sa.BindParameter[Any]) -> sa.Select[Any]:
    """Rows as a table of PostgreSQL, sent as JSON, which takes a tenth of the time of sending an array per column."""
    records = sa.func.json_to_recordset(sa.cast(rows, sa.JSON))
    typed = [sa.column(one.name, one.type) for one in columns]
    return sa.select(*records.table_valued(*typed).render_derived(with_types=True).c)


class _Turns:
    """Lets the threads of this process write in the order in which they come; SQLite's own lock has no order."""

    def __init__(self) -> None:
        self._lock = Lock()  # of the queue
        self._queue: deque[Lock] = deque()  # the first has its turn

    @contextmanager
    def turn(self) -> Iterator[None]:
        own = Lock()
        with self._lock:
            self._queue.append(own)
            if len(self._queue) > 1:
                own.acquire()
        with own:  # which the one before releases
            try:
                yield
            finally:
                with self._lock:
                    self._queue.popleft()
                    if self._queue:
                        self._queue[0].release()


def _migrations() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "evenhand.service.store:migrations")
    return config


def _read_only_address(path: str) -> str:
    """The address under which SQLite reads a file and writes nothing."""
    if not Path(path).is_file():
        return f"file:{quote(path)}?mode=rw"  # for which SQLite says that it cannot be opened
    # Without its log of writes, which only a server makes, it is read as it stands, also in a read-only folder.
    whole = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    return f"file:{quote(path)}?mode=ro{whole}"


def _url(name: str) -> sa.URL:
    """The URL of a name; no message repeats it, as it may contain a password."""
    if "://" not in name and not re.match(r"postgres\w*(\+\w+)?:", name):
        url = sa.URL.create("sqlite", database=name)
    else:
        try:
            url = sa.make_url(name)
        except (ArgumentError, ValueError):
            raise EvenhandError("the database must be a path or a URL such as postgresql://user@host/name") from None
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        if "@" in (url.host or ""):
            raise EvenhandError("write an @ in the password of the database's URL as %40")
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise EvenhandError(
            f"the database must be SQLite or PostgreSQL, not {kind}; give a file or postgresql://user@host/name"
        )
    if url.database in (None, "", ":memory:"):
        raise EvenhandError("a database in memory is lost with the process; use a file")
    if url.query or url.host:
        raise EvenhandError("an SQLite database must be a path, or sqlite:/// followed by a path")
    return url.set(drivername="sqlite")


def _prepare(engine: sa.Engine, read_only: bool) -> None:
    """Configure SQLite: commits are durable, and readers do not wait for the writer."""

    @sa.event.listens_for(engine.pool, "connect")  # listeners of the engine are looked for at every statement
    def opened(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin explicitly, and a writer locks from the start
        if read_only:
            return
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")


def _write_ahead(connection: Any) -> None:
    """Switch to write-ahead logging, when no other process reads, for which SQLite does not wait by itself."""
    end = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _reason(error: Exception) -> str:
    """The database's own message, in one line."""
    message = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    return " ".join(message.split())
