"""The health of allocations in lists: kept with each, so that a list loads none, and never that of another time."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from evenhand.changes import Erase
from evenhand.service.store import Change, Decide, ReadHealth, Reward, Store, allocation, summaries, tables
from evenhand.service.store.database import Database
from tests.service.http.asking import Asking
from tests.service.store.kit import Clock, count

NAMES = ("cups", "drinks", "films")
ARMS = ["tea", "coffee"]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of allocations that are loaded."""
    names: list[str] = []
    original = allocation.loaded

    def loaded(connection: Any, row: Any) -> Any:
        names.append(row.name)
        return original(connection, row)

    monkeypatch.setattr("evenhand.service.store.transaction.loaded", loaded)
    return names


def filled(database: Database, clock: Clock) -> dict[str, Any]:
    """Their healths when they have left memory."""
    store = Store(database, clock)
    for name in NAMES:
        store.create(name, ARMS, "fucb", parameters={"fractions": {"coffee": 0.25}}, seed=1)
        for _ in range(5):
            (decision,) = store.run(name, Decide()).decisions
            store.run(name, Reward([(decision.id, dict.fromkeys(decision.names, 0.5))]))
    healths = {name: store.run(name, ReadHealth()).to_json() for name in NAMES}
    store.close()
    return healths


def listed(ask: Asking) -> dict[str, Any]:
    return {one["name"]: one["health"] for one in ask.get("/v1/allocations?health=true").json()["allocations"]}


def snapshots(database: Database) -> list[Any]:
    with database.transaction(writes=False) as connection:
        return [tuple(row) for row in connection.execute(select(tables.snapshots))]


def test_a_list_loads_no_allocation_and_writes_no_snapshot(either: Database, clock: Clock, loads: list[str]) -> None:
    healths = filled(either, clock)
    loads.clear()
    before = snapshots(either)
    store = Store(either, clock)
    with Asking(store) as ask:
        assert listed(ask) == healths
    assert loads == []
    store.close()
    assert snapshots(either) == before


def test_what_was_only_created_is_not_loaded_either(either: Database, clock: Clock, loads: list[str]) -> None:
    store = Store(either, clock)
    store.create("jobs", ARMS, "ucb1", seed=1)
    with Asking(store) as ask:
        assert listed(ask)["jobs"]["text"] == "Nothing has been decided yet."
    assert loads == []
    store.close()


def test_after_a_kill_those_are_loaded_once_that_have_changed(either: Database, clock: Clock, loads: list[str]) -> None:
    """And reading leaves no snapshot behind."""
    healths = filled(either, clock)
    killed = Store(either, clock)
    killed.run("drinks", Decide(count=200, available=["tea"]))
    loads.clear()
    before = snapshots(either)
    for expected in (["drinks"], []):
        store = Store(either, clock)
        with Asking(store) as ask:
            found = listed(ask)
        assert {name for name in NAMES if found[name] != healths[name]} == {"drinks"}
        assert loads == expected
        loads.clear()
        store.close()
    assert snapshots(either) == before


def test_what_is_due_is_computed_anew(either: Database, clock: Clock, loads: list[str]) -> None:
    store = Store(either, clock)
    store.create("jobs", ARMS, "ucb1", seed=1, window=10.0, missing="lost")
    store.run("jobs", Decide())
    store.close()
    store = Store(either, clock)
    with Asking(store) as ask:
        loads.clear()
        assert listed(ask)
        assert loads == []
        clock.now += 11.0
        assert listed(ask)
        assert loads == ["jobs"]
        loads.clear()
        assert listed(ask)  # the event that was due is written, and the health after it is kept
        assert [one.kind for one in events(store)] == ["create", "decide", "expire"]
    store.close()


def events(store: Store) -> tuple[Any, ...]:
    from evenhand.service.store.export import read_event_page

    return read_event_page(store.database, "jobs").events


def test_no_erased_name_comes_back(lite: Database, clock: Clock) -> None:
    """Not even by a health that was computed before, and is kept after."""
    filled(lite, clock)
    store = Store(lite, clock)
    kept = summaries.read(lite, ["drinks"], clock())["drinks"]
    assert kept.mark is not None
    assert kept.health is not None
    store.run("drinks", Change(Erase("coffee")))
    assert count(lite, "summaries") == 2
    summaries.keep(lite, {kept.id: (kept.mark, kept.health)})
    assert count(lite, "summaries") == 2
    store.close()


def test_damage_shows_in_the_first_list(lite: Database, clock: Clock, loads: list[str]) -> None:
    """The health that is kept was in order, and the events are not."""
    filled(lite, clock)
    loads.clear()
    with lite.transaction(writes=True) as connection:
        where = (tables.events.c.allocation == 2, tables.events.c.sequence == 3)
        connection.execute(tables.events.update().where(*where).values(body="{}"))
    lite.checked.clear()  # as in another process
    store = Store(lite, clock)
    with Asking(store) as ask:
        found = listed(ask)
        assert [found[name]["status"] for name in NAMES] == ["good", "bad", "good"]
        assert "allocation 'drinks' is damaged" in found["drinks"]["text"]
    store.close()
