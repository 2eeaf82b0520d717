"""A copy of an SQLite database, made while it is in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.core.files import write_whole
from evenhand.service.store.database import Database


def backup(database: Database, path: Path) -> int:
    """Copy a database to a file as it is at one moment; servers go on writing meanwhile.

    Args:
        database: an SQLite file.
        path: of the copy, which must not exist; like every new database it is private to its owner.

    Returns:
        Bytes of the copy.

    Raises:
        EvenhandError: it is a database of PostgreSQL, or the file exists or cannot be written.
        StoreUnavailable: the database cannot be read.

    Example:
        >>> import tempfile
        >>> from evenhand.service.store import Store
        >>> folder = Path(tempfile.mkdtemp())
        >>> store = Store.open(str(folder / "drinks.db"))
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> copied = backup(store.database, folder / "copy.db")
        >>> store.close()
        >>> store = Store.open(str(folder / "copy.db"))
        >>> [allocation.name for allocation in store.allocations().allocations]
        ['drinks']
        >>> store.close()
    """
    if database.url.get_backend_name() != "sqlite":
        raise EvenhandError(f"{database.name} is a database of PostgreSQL; back it up with pg_dump")
    if path.exists():
        raise EvenhandError(f"{path} already exists; give the path of a new file")
    try:
        write_whole(path, lambda temporary: _copy(database, temporary), private=True)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise EvenhandError(f"the backup could not be written to {path}: {reason}") from None
    return path.stat().st_size


def _copy(database: Database, path: Path) -> None:
    with database.transaction(writes=False) as connection, closing(sqlite3.connect(path)) as copy:
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # so that it is one file
