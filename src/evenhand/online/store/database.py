"""A database, SQLite or PostgreSQL: how it is opened, its transactions, and what can go wrong with them."""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, TimeoutError

from evenhand.errors import EvenhandError
from evenhand.online.store.errors import StoreUnavailable

LOG = logging.getLogger("evenhand.store")
LOG.addHandler(logging.NullHandler())  # else Python prints to standard error, where commands tell the same
PATIENCE = 10  # seconds that a transaction waits for a lock that another one holds
MIGRATING = 4_907_133_402  # number of the PostgreSQL lock under which one process at a time migrates
#: A server that is stopped dead in a transaction must not hold its allocation for ever.
POSTGRESQL = {
    "connect_timeout": 5,
    "options": f"-c lock_timeout={PATIENCE}s -c statement_timeout=60s -c idle_in_transaction_session_timeout=30s",
}


class Database:
    """An SQLite file, which needs no set-up, or a PostgreSQL database, which several servers can share.

    Args:
        name: a path, or a URL such as ``sqlite:///evenhand.db`` or ``postgresql://user@host/name``.

    Raises:
        EvenhandError: it names no database of these two kinds.
        StoreUnavailable: it cannot be opened, or not be brought up to date.

    Example:
        >>> Database("drinks.db").name, Database("drinks.db").there
        ('drinks.db', False)
        >>> Database("postgresql://evenhand:secret@db/evenhand").name
        'postgresql://evenhand:***@db/evenhand'
    """

    def __init__(self, name: str) -> None:
        self.url = _url(name)
        lite = self.url.get_backend_name() == "sqlite"
        shown = self.url.set(drivername=self.url.get_backend_name(), query={})
        self.name = str(self.url.database) if lite else shown.render_as_string(hide_password=True)
        options: dict[str, Any] = {"timeout": PATIENCE} if lite else POSTGRESQL
        self.engine = create_engine(
            self.url, connect_args=options, pool_size=8, max_overflow=8, pool_timeout=PATIENCE, pool_pre_ping=not lite
        )
        if lite:
            _prepare(self.engine)
        self._away = ""  # why it cannot be used just now, so that the log tells that once

    @property
    def there(self) -> bool:
        """Whether there is such a database; of a server's that is found out when it is used."""
        return self.url.get_backend_name() != "sqlite" or Path(str(self.url.database)).exists()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def transaction(self, writes: bool) -> Iterator[Connection]:
        """A transaction: all of it is kept, for good, or nothing."""
        try:
            with self.engine.connect() as connection:
                self._options(connection, writes)
                with connection.begin():
                    yield connection
        except (DataError, IntegrityError):  # the database is well; what it was asked is not
            raise
        except (DBAPIError, TimeoutError) as error:
            away = f"the database {self.name} cannot be used: {_reason(error)}"
            if away != self._away:
                LOG.error(away)
            self._away = away
            raise StoreUnavailable(away) from error
        if self._away:
            self._away = ""
            LOG.warning("the database %s can be used again", self.name)

    def _options(self, connection: Connection, writes: bool) -> None:
        connection.execution_options(writes=writes)
        if not writes and self.engine.dialect.name == "postgresql":  # SQLite's readers see one state anyway
            connection.execution_options(isolation_level="REPEATABLE READ")

    def ready(self) -> None:
        """Return if the database can be reached.

        Raises:
            StoreUnavailable: it cannot.
        """
        with self.transaction(writes=False) as connection:
            connection.execute(text("SELECT count(*) FROM allocations WHERE id = 0"))

    def migrate(self) -> None:
        """Bring the tables up to date; one process at a time does, the others wait."""
        config = Config()
        config.set_main_option("script_location", "evenhand.online.store:migrations")
        with self.transaction(writes=True) as connection:
            if self.engine.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATING})"))
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise EvenhandError(
                    f"the database {self.name} was made by another version of Evenhand, which may be newer: {error}"
                ) from None


def _url(name: str) -> URL:
    """What a name stands for; no message repeats it, as there may be a password in it."""
    if "://" not in name and not re.match(r"postgres\w*(\+\w+)?:", name):
        url = URL.create("sqlite", database=name)
    else:
        try:
            url = make_url(name)
        except (ArgumentError, ValueError):
            raise EvenhandError(
                "the database is neither a path nor a URL such as postgresql://user@host/name"
            ) from None
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        if "@" in (url.host or ""):
            raise EvenhandError("in the URL of the database, write a @ in the password as %40")
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise EvenhandError(f"the database must be SQLite or PostgreSQL, not {kind}")
    if url.database in (None, "", ":memory:"):
        raise EvenhandError("a database in memory would not outlive the process; name a file")
    if url.query or url.host:
        raise EvenhandError("an SQLite database is a path, or sqlite:/// and a path, and nothing else")
    return url.set(drivername="sqlite")


def _prepare(engine: Engine) -> None:
    """SQLite so that commits are durable, readers do not wait for the writer, and a writer locks from the start."""

    @event.listens_for(engine, "connect")
    def opened(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin when we say so
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _write_ahead(connection: Any) -> None:
    """Write ahead; to change over to that nobody else may be reading, for which SQLite does not wait by itself."""
    end = time.monotonic() + PATIENCE
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
    """What the database says, in a line."""
    told = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    return " ".join(told.split())
