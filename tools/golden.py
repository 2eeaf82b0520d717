"""Writes the golden databases of this version of the tables: ``python tools/golden.py``.

Later versions must open them: run it once for each version of the tables, before the first release that has it.
"""

from __future__ import annotations

import gzip
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.service.store.lives import LIVES, create, known, live  # noqa: E402

from evenhand.service.store import Decide, Store, tables  # noqa: E402
from evenhand.service.store.database import HEAD  # noqa: E402

FOLDER = ROOT / "tests" / "service" / "store" / "golden"
ROUNDS = 35  # of each allocation; an arm is added after round 30


def main() -> None:
    """One for SQLite, and the same rows as statements for PostgreSQL."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.db"
        store = Store.open(str(path), snapshot=60)
        create(store)
        key, _ = store.keys.create("shop", ["decide", "reward"])
        for name in LIVES:
            live(store, name, 1, ROUNDS)
            features = known(name, random.Random(ROUNDS))
            store.run(name, Decide(features=features, key=f"key-of-{name}", api_key=key.id))
        store.close()
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        statements = "\n".join(dump(connection))
        connection.close()
        write(FOLDER / f"{HEAD}.sqlite.gz", path.read_bytes())
    write(FOLDER / f"{HEAD}.postgresql.sql.gz", statements.encode())


def write(path: Path, content: bytes) -> None:
    """A compressed file, the same for the same content."""
    path.write_bytes(gzip.compress(content, mtime=0))


def dump(connection: sqlite3.Connection) -> list[str]:
    """The statements that make the tables in PostgreSQL, with their rows; one a line."""
    dialect, lines = postgresql.dialect(), []  # type: ignore[no-untyped-call]
    for table in tables.metadata.sorted_tables:
        lines.append(" ".join(str(CreateTable(table).compile(dialect=dialect)).split()))
        lines += [str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes]
        names = ", ".join(column.name for column in table.columns)
        for row in connection.execute(f"SELECT {names} FROM {table.name}"):
            kinds = [column.type.python_type for column in table.columns]
            lines.append(f"INSERT INTO {table.name} VALUES ({', '.join(map(literal, row, kinds))})")
    lines.append("SELECT setval('allocations_id_seq', (SELECT max(id) FROM allocations))")
    lines.append("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)")
    lines.append(f"INSERT INTO alembic_version VALUES ('{HEAD}')")
    return lines


def literal(value: object, kind: type) -> str:
    """A value as PostgreSQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    if kind is bool:
        return "TRUE" if value else "FALSE"
    return repr(value) if kind in (int, float) else "'" + str(value).replace("'", "''") + "'"


if __name__ == "__main__":
    main()
