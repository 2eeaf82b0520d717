"""Events before a time are replaced by their state, and everything goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.changes import Retire
from evenhand.service.store import Change, Decide, Reward, Store
from evenhand.service.store.compaction import Compacted, compact, resume
from evenhand.service.store.database import Database
from evenhand.service.store.errors import DamagedAllocation
from evenhand.service.store.export import log
from evenhand.service.store.repair import erase, export_events, import_events
from evenhand.service.store.verify import verify
from tests.service.store.kit import START, Clock, change_rows, count, events_of, rebuilt


@pytest.fixture
def used(either: Database, clock: Clock) -> Store:
    """A decision per second for ten seconds; the rewards of the even rounds arrive at once, of two arms in round 5."""
    store = Store(either, clock)
    store.create("drinks", ["tea", "coffee", "cocoa"], "thompson", seed=1)
    for round in range(1, 11):
        clock.now = START + round
        (decision,) = store.run("drinks", Decide(key=f"key-{round}")).decisions
        if round % 2 == 0:
            store.run("drinks", Reward([(decision.id, dict.fromkeys(decision.names, 0.5))]))
        if round == 5:
            store.run("drinks", Change(Retire("tea")))
    return store


def test_events_before_a_time_are_replaced_by_their_state(
    used: Store, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rounds 1 to 7: creation, 7 decisions, 3 rewards, a change. They go in pieces of two, the last ones first."""
    monkeypatch.setattr("evenhand.service.store.compaction.CHUNK", 2)
    monkeypatch.setattr("evenhand.service.store.reader.CHUNK", 3)
    before = events_of(used.database, "drinks")
    assert compact(used.database, "drinks", START + 8) == Compacted(removed=12, since=8)
    assert compact(used.database, "drinks", START + 8) == Compacted(removed=0, since=8)
    events = events_of(used.database, "drinks")
    assert [event.kind for event in events] == ["state", "decide", "reward", "decide", "decide", "reward"]
    assert events[1:] == before[12:]
    assert rebuilt(events)[0].dump() == rebuilt(before)[0].dump()
    assert verify(used.database).since == {"drinks": 8}
    file = tmp_path / "drinks.jsonl"
    assert export_events(used.database, "drinks", file) == (6, "")

    def goes_on(store: Store) -> None:
        """What waits still waits, what is settled is known, and what was answered is answered again."""
        five = before[7].body["arms"][0]
        rewards = [("5", {five: 1.0}), ("4", {before[5].body["arms"][0]: 0.5})]
        assert [one.status for one in store.run("drinks", Reward(rewards)).results] == ["accepted", "duplicate"]
        assert store.run("drinks", Decide()).decisions[0].round == 11
        assert verify(store.database).faults == ()

    assert used.run("drinks", Decide(key="key-2")).decisions[0].id == "2"
    goes_on(used)
    again = Store(used.database, clock)
    assert again.run("drinks", Decide()).decisions[0].round == 12
    [frame] = log(used.database, "drinks", estimate=True)
    assert frame["decision_id"].tolist() == ["8", "9", "10", "11", "12"]
    assert frame["available"].tolist() == ['["coffee", "cocoa"]'] * 5
    assert not again.create("drinks", ["tea", "coffee", "cocoa"], "thompson", seed=1)
    erase(used.database, "drinks")
    import_events(used.database, file, "drinks")
    goes_on(again)


def test_compacting_stops_anywhere_and_can_be_repeated(used: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends while events are removed leaves the first ones and the state, which verify accepts."""
    monkeypatch.setattr("evenhand.service.store.compaction.CHUNK", 4)
    monkeypatch.setattr("evenhand.service.store.compaction._remove_before", lambda *_: 0)
    compact(used.database, "drinks", START + 8)
    change_rows(used.database, "DELETE FROM events WHERE sequence IN (8, 9, 10, 11)")
    assert verify(used.database).faults == ()
    assert Store(used.database).run("drinks", Decide()).decisions[0].round == 11
    monkeypatch.undo()
    assert compact(used.database, "drinks", START + 8) == Compacted(removed=8, since=8)
    assert verify(used.database).since == {"drinks": 8}


def test_a_process_that_lags_behind_goes_on_from_the_state(used: Store, clock: Clock) -> None:
    other = Store(used.database, clock)
    assert other.run("drinks", Decide()).decisions[0].round == 11
    used.run("drinks", Decide(count=2))
    compact(used.database, "drinks", START + 99)
    assert other.run("drinks", Decide()).decisions[0].round == 14
    assert verify(used.database).since == {"drinks": 14}


def test_a_store_compacts_what_is_older_than_its_retention(used: Store, clock: Clock) -> None:
    """A damaged allocation stays as it is, and the others have their turn."""
    used.create("coffees", ["tea"], "ucb1", seed=1)
    used.run("coffees", Decide())
    change_rows(used.database, "UPDATE events SET time = time + 0.1 WHERE allocation = 2 AND sequence = 1")
    clock.now = START + 18
    used.compact(retention=10.5)
    assert [event.kind for event in events_of(used.database, "drinks")][:3] == ["state", "decide", "reward"]
    assert used.run("drinks", Decide()).decisions[0].round == 11
    assert len(verify(used.database).faults) == 1


def test_damaged_events_are_not_thrown_away(used: Store) -> None:
    change_rows(used.database, "UPDATE events SET time = time + 0.1 WHERE sequence = 3")
    with pytest.raises(DamagedAllocation, match=r"event 3 .* was edited"):
        compact(used.database, "drinks", START + 8)
    assert len(verify(used.database).faults) == 1


def test_nothing_is_replaced_where_nothing_is_older(used: Store) -> None:
    assert compact(used.database, "drinks", START) == Compacted(removed=0, since=1)


def test_a_compaction_that_was_killed_is_finished_by_the_next_start(
    used: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.service.store.compaction._remove_before", lambda *_: 0)  # it is killed before
    compact(used.database, "drinks", START + 8)
    monkeypatch.undo()
    before = count(used.database, "events")
    resume(used.database)
    assert count(used.database, "events") < before
    assert count(used.database, "owed") == 0
    assert verify(used.database).faults == ()
