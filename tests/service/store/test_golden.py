"""Databases that earlier versions wrote are opened, verify, and go on."""

from __future__ import annotations

import gzip
from pathlib import Path

import psycopg
import pytest

from evenhand.service.store import ReadAudit, Store
from evenhand.service.store.verify import verify
from tests.service.store.lives import LIVES, live
from tests.thinned import thinned

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = sorted(path.name.split(".")[0] for path in GOLDEN.glob("*.sqlite.gz"))


def check(database: str) -> None:
    """All allocations verify before and after, and decide on."""
    store = Store.open(database, new=False, upgrade=True)
    found = verify(store.database)
    assert found.faults == ()
    assert len(found.events) >= 37
    for name in found.events:
        audit = store.run(name, ReadAudit())
        assert audit.round == 36
        live(store, name, 37, 39)
    assert verify(store.database).faults == ()
    store.close()


@pytest.mark.parametrize("version", thinned(VERSIONS, lambda version: version == VERSIONS[0]))  # by all migrations
def test_golden_sqlite_opens(version: str, tmp_path: Path) -> None:
    path = tmp_path / "golden.db"
    path.write_bytes(gzip.decompress((GOLDEN / f"{version}.sqlite.gz").read_bytes()))
    check(str(path))


@pytest.mark.slow
@pytest.mark.parametrize("version", thinned(VERSIONS, lambda version: version == VERSIONS[-1]))  # by none
def test_golden_postgresql_opens(version: str, postgresql: str) -> None:
    statements = gzip.decompress((GOLDEN / f"{version}.postgresql.sql.gz").read_bytes()).decode().split("\n")
    with psycopg.connect(postgresql) as connection:
        for statement in statements:
            connection.execute(statement.encode())
    check(postgresql)


def test_there_is_a_golden_database_of_this_version() -> None:
    from evenhand.service.store.database import HEAD

    assert HEAD in VERSIONS
    assert set(LIVES) >= {"fcts_d-steep", "exp3", "late"}
