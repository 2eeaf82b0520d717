"""Arms that are renamed and erased: they stay the same arms, and an erased name is nowhere in the database."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from evenhand.bandit import Bandit
from evenhand.changes import AddArm, BringBack, Erase, Rename, Retire
from evenhand.core.errors import EvenhandError
from evenhand.service.store import Change, Decide, Describe, ReadArms, ReadAudit, ReadDecision, Reward, Store, tables
from evenhand.service.store.compaction import compact
from evenhand.service.store.database import Database
from evenhand.service.store.errors import Conflict, UnknownArm
from evenhand.service.store.export import log, read_event_page
from evenhand.service.store.repair import export_events, import_events
from evenhand.service.store.verify import verify
from tests.service.databases import until
from tests.service.store.kit import Clock, count, verified

ANN, CEM = 'Ann "A\'" Ünal\\%_', "Cem"
PEOPLE = [ANN, "Ben", CEM]


def opened(database: Database, clock: Clock) -> Store:
    """A store with people, some decisions, and answers to idempotency keys that name them."""
    store = Store(database, clock)
    shares = {"fractions": [0.25, 0.25, 0.125]}
    store.create("people", PEOPLE, "fucb", parameters=shares, seed=1, window=60.0, missing="lost")
    store.run("people", Decide(count=4, key="four"))
    store.run("people", Decide(available=[ANN], propensities=True, key="only"))
    store.run("people", Reward([("5", {ANN: 1.0, "Ben": 0.5})], key="rewards"))
    return store


def everything(database: Database) -> str:
    """All that the tables hold, as text."""
    with database.transaction(writes=False) as connection:
        rows = chain.from_iterable(connection.execute(select(table)) for table in tables.metadata.sorted_tables)
        return "\n".join(str(tuple(row)) for row in rows)


def test_a_renamed_arm_is_the_same_arm(either: Database, clock: Clock) -> None:
    store, other = opened(either, clock), Store(Database(str(either.url.render_as_string(hide_password=False))), clock)
    before = store.run("people", ReadAudit())
    assert other.run("people", ReadAudit()) == before
    assert store.run("people", Change(Rename(ANN, "Anna"), key="rename")).changed
    assert store.run("people", Change(Rename(ANN, "Anna"), key="rename")).changed
    assert not store.run("people", Change(Rename("Anna", "Anna"))).changed
    for one in (store, other):
        lines = one.run("people", ReadAudit()).lines
        assert [line.arm for line in lines] == ["Anna", "Ben", CEM]
        assert [line.plays for line in lines] == [line.plays for line in before.lines]
        assert one.run("people", ReadDecision("5")).available == ("Anna",)
    repeated = other.run("people", Decide(available=[ANN], propensities=True, key="only")).decisions[0]
    assert repeated.names == ("Anna",)
    assert repeated.propensities is not None
    assert repeated.propensities[0].arm == "Anna"
    results = store.run("people", Reward([("5", {ANN: 1.0, "Ben": 0.5})], key="rewards")).results
    assert [result.arm for result in results] == ["Anna", "Ben"]
    first = store.run("people", Decide(count=4, key="four")).decisions[0]
    assert first.names == ("Anna",)
    assert other.run("people", Reward([("1", {"Anna": 0.5})])).results[0].status == "accepted"
    another = Change(AddArm(ANN, fraction=0.0))  # with the name that is free again
    assert other.run("people", another).changed
    assert store.run("people", Describe()).arms == ("Anna", "Ben", CEM, ANN)
    assert verified(either, "people") == 10
    store.close()
    other.close()
    again = Store(either, clock)
    assert [arm.arm for arm in again.run("people", ReadArms()).arms] == ["Anna", "Ben", CEM, ANN]
    again.close()


def test_decisions_go_on_as_if_nothing_had_been_renamed(lite: Database, clock: Clock) -> None:
    store = opened(lite, clock)
    twin = Bandit(PEOPLE, "fucb", fractions=[0.25, 0.25, 0.125], seed=1, window=60.0, missing="lost")
    for available in [None] * 4 + [[ANN]]:
        twin.decide(available=available, now=clock.now)
    twin.observe("5", {ANN: 1.0}, clock.now)
    store.run("people", Change(Rename(CEM, "Cemal")))
    twin.rename(CEM, "Cemal")
    store.run("people", Change(Retire("Cemal")))
    twin.retire("Cemal")
    store.run("people", Change(Erase(ANN)))
    twin.retire(ANN)
    twin.rename(ANN, "erased-1")
    store.run("people", Change(BringBack("Cemal", 0.5)))
    twin.bring_back("Cemal", 0.5)
    decided = [decision.names for decision in store.run("people", Decide(count=30)).decisions]
    assert decided == [twin.decide(now=clock.now).names for _ in range(30)]
    assert store.run("people", ReadAudit()).lines == twin.audit(now=clock.now).lines
    store.close()


def test_an_erased_name_is_nowhere_in_the_database(either: Database, clock: Clock, tmp_path: Path) -> None:
    store = opened(either, clock)
    for number in range(300):  # pages are split and moved, and snapshots replaced
        store.run("people", Decide(key=f"{hash(str(number)):x}"))
    before = {line.arm: line for line in store.run("people", ReadAudit()).lines}
    store.run("people", Change(Erase(ANN)))
    after = {line.arm: line for line in store.run("people", ReadAudit()).lines}
    assert list(after) == ["erased-1", "Ben", CEM]
    assert after["erased-1"].retired
    for name in ("Ben", CEM):  # the reason compares it with arms that can play
        assert replace(after[name], reason="") == replace(before[name], reason="")
        assert "Ünal" not in after[name].reason
    assert after["erased-1"].all_plays == before[ANN].all_plays
    assert "Ünal" not in everything(either)
    page = read_event_page(either, "people", limit=1000)
    frames = list(log(either, "people", estimate=True))
    assert "Ünal" not in str(page) + "".join(frame.to_csv() for frame in frames)
    assert page.events[-1].data == {"change": "erase", "arm": "erased-1"}
    export_events(either, "people", tmp_path / "events")
    assert "Ünal" not in json.dumps(json.loads((tmp_path / "events").read_text().splitlines()[0]), ensure_ascii=False)
    import_events(either, tmp_path / "events", "again")
    assert verified(either, "again") == verified(either, "people")
    compact(either, "again", clock.now + 1.0)
    assert verified(either, "again") == 1
    if either.url.get_backend_name() == "sqlite":  # the server still runs
        files = list(Path(str(either.url.database)).parent.glob(Path(str(either.url.database)).name + "*"))
        assert len(files) > 1
        assert not any("Ünal".encode() in file.read_bytes() for file in files)
        assert any(b"erased-1" in file.read_bytes() for file in files)
    store.close()


def test_while_another_process_reads_the_file_the_erasure_is_tried_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("evenhand.service.store.database.LOCK_TIMEOUT", 0.1)
    monkeypatch.setattr("evenhand.service.store.database.PURGE_AGAIN", 0.1)
    file = tmp_path / "evenhand.db"
    Store.open(str(file)).close()  # which makes the tables
    store = opened(Database(str(file)), clock)
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM events").fetchone()

    def left() -> bool:
        return any("Ünal".encode() in one.read_bytes() for one in tmp_path.iterdir())

    store.run("people", Change(Erase(ANN)))
    assert left()
    assert "may still hold what was erased" in caplog.text
    reader.execute("COMMIT")
    until(lambda: not left(), lambda: caplog.text)
    reader.close()
    store.close()


@pytest.mark.parametrize("command", [Change(Rename("Dan", "Eve")), Change(Erase("Dan")), Change(Rename("Dan", "Ben"))])
def test_unknown_arms(lite: Database, clock: Clock, command: Any) -> None:
    store = opened(lite, clock)
    with pytest.raises(UnknownArm, match="has no arm 'Dan'"):
        store.run("people", command)
    store.close()


def test_what_is_refused_changes_nothing(lite: Database, clock: Clock) -> None:
    store = opened(lite, clock)
    store.run("people", Change(Erase("Ben")))
    with pytest.raises(Conflict, match="there is already an arm 'Cem'"):
        store.run("people", Change(Rename(ANN, CEM)))
    with pytest.raises(EvenhandError, match="must not begin or end with white space"):
        store.run("people", Change(Rename(CEM, " Cem")))
    store.run("people", Change(Erase(ANN)))
    with pytest.raises(EvenhandError, match="plays = 1 needs at least as many arms; give it a neutral name instead"):
        store.run("people", Change(Erase(CEM)))
    assert store.run("people", Describe()).arms == ("erased-1", "erased-2", CEM)
    store.run("people", Change(Rename("erased-1", "erased-3")))
    store.run("people", Change(AddArm("Dan")))
    store.run("people", Change(Erase(CEM)))
    assert store.run("people", Describe()).arms == ("erased-3", "erased-2", "erased-3-1", "Dan")
    assert verified(lite, "people") == 12
    store.close()


def test_a_purge_that_a_kill_prevented_is_done_by_the_next_start(
    lite: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of an erased arm is in the file after the commit, and is not once it was opened again."""
    path = Path(lite.name)
    store = Store(lite)
    store.create("people", ["Zarathustra", "coffee"], "ucb1", seed=1)
    store.run("people", Decide(count=2))
    monkeypatch.setattr(Database, "purge", lambda self: None)  # it is killed before
    store.run("people", Change(Erase("Zarathustra")))
    store.close()
    assert count(lite, "owed") == 1
    monkeypatch.undo()
    again = Store.open(str(path))
    assert b"Zarathustra" not in b"".join(one.read_bytes() for one in path.parent.glob(path.name + "*"))
    assert count(again.database, "owed") == 0
    assert verify(again.database).faults == ()
    again.close()
