"""Verification goes on from the last time, and by allocation in processes of its own, with the same result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.bandit.audit.report import report
from evenhand.changes import Rename
from evenhand.core.errors import StateError
from evenhand.service.store import Change, Decide, ReadAudit, Store
from evenhand.service.store import verify as verifying
from evenhand.service.store.allocation import row_of
from evenhand.service.store.compaction import compact
from evenhand.service.store.database import Database
from evenhand.service.store.events import fold
from evenhand.service.store.reading import ReadReport, stored_report
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock, change_rows

NAMES = ("cups", "drinks")


@pytest.fixture
def store(either: Database, clock: Clock) -> Store:
    store = Store(either, clock)
    for name in NAMES:
        store.create(name, ["tea", "coffee"], "f_ts", parameters={"fractions": 0.2}, seed=1)
        store.run(name, Decide(count=9))
    return store


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sequences of the events that are applied."""
    applied: list[int] = []

    def counted(bandit: Any, event: Any, closed: bool) -> Any:
        applied.append(event.sequence)
        return fold(bandit, event, closed)

    monkeypatch.setattr("evenhand.service.store.verify.fold", counted)
    return applied


def test_it_goes_on_after_the_events_of_the_last_time(store: Store, folds: list[int], tmp_path: Path) -> None:
    file = tmp_path / "verified.json"
    assert verify(store.database, onward=file).events == {"cups": 10, "drinks": 10}
    assert "coffee" not in file.read_text()  # no name that may have to be erased
    store.run("drinks", Change(Rename("tea", "green tea")))
    store.run("drinks", Decide(count=2))
    folds.clear()
    for applied in ([11, 12, 13], []):
        found = verify(store.database, onward=file)
        assert (found.events, found.faults) == ({"cups": 10, "drinks": 13}, ())
        assert folds == applied
        folds.clear()
    assert verify(store.database) == found
    assert verify(store.database, ["cups"], onward=file).events == {"cups": 10}
    assert "drinks" in file.read_text()
    store.close()


def test_what_is_not_there_any_more_is_not_gone_on_from(
    store: Store, folds: list[int], clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "verified.json"
    verify(store.database, onward=file)
    clock.now += 10.0
    store.run("drinks", Decide())
    compact(store.database, "drinks", clock.now)
    found = verify(store.database, ["drinks"], onward=file)
    assert (found.events, found.since, found.faults) == ({"drinks": 2}, {"drinks": 10}, ())
    change_rows(store.database, "UPDATE events SET time = time + 1 WHERE allocation = 1 AND sequence = 10")
    folds.clear()
    found = verify(store.database, onward=file)
    assert found.faults == ("allocation 'cups': event 10 (decide) was edited, or events before it were exchanged",)
    assert '"cups": ""' in file.read_text()
    store.close()


@pytest.mark.parametrize("content", ["", "[]", '{"format": "evenhand verified 2", "states": {}}'])
def test_a_file_of_something_else_is_refused_and_kept(store: Store, tmp_path: Path, content: str) -> None:
    file = tmp_path / "verified.json"
    file.write_text(content)
    with pytest.raises(StateError, match="is not a file of states that were verified"):
        verify(store.database, onward=file)
    assert file.read_text() == content
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("either", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_processes_find_the_same(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "MANY", 0)
    own = tmp_path / "own.py"
    own.write_text(f"from pathlib import Path\nPath({str(tmp_path)!r}, 'imported').touch()\n")
    change_rows(store.database, "DELETE FROM events WHERE allocation = 2 AND sequence = 5")
    alone = verify(store.database)
    assert alone.events == {"cups": 10}
    assert alone.faults == ("allocation 'drinks': event 5 is missing; event 6 comes next",)
    file = tmp_path / "verified.json"
    assert verify(store.database, jobs=2, sources=[str(own)], onward=file) == alone
    assert (tmp_path / "imported").exists()
    assert verify(store.database, jobs=2, onward=file) == alone
    store.close()


def test_a_checksum_is_that_of_an_event_or_a_fault(store: Store) -> None:
    store.run("drinks", Decide(count=1, available=["tea"]))
    reported = store.run("drinks", ReadAudit()).checksum
    store.run("drinks", Decide(count=3))
    assert store.run("drinks", ReadAudit()).checksum != reported
    assert verify(store.database, ["drinks"], checksum=reported).faults == ()
    (fault,) = verify(store.database, ["cups"], checksum=reported).faults
    assert f"no event has the checksum {reported!r}" in fault


def test_the_checksum_of_an_audit_is_that_of_its_last_event_also_where_that_is_not_written_yet(
    store: Store, clock: Clock
) -> None:
    store.create("short", ["tea", "coffee"], "ucb1", seed=1, window=5.0, missing="zero")
    store.run("short", Decide(count=2))
    clock.now += 10.0
    audit = store.run("short", ReadAudit())  # which finds that the windows have passed
    with store.database.transaction(writes=False) as connection:
        row = row_of(connection, "short")
    assert (row.sequence, row.chain) == (audit.sequence, audit.checksum)
    assert audit.sequence == 4
    assert stored_report(store.database, "short", clock.now) == report(*store.run("short", ReadReport()))
