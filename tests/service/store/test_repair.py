"""A damaged allocation is taken back, written out, read in and erased, and others go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evenhand.changes import Retire
from evenhand.core.errors import DataError, EvenhandError, StateError
from evenhand.service.store import Change, Decide, Describe, Reward, Store
from evenhand.service.store.database import Database
from evenhand.service.store.errors import Conflict, DamagedAllocation, UnknownAllocation
from evenhand.service.store.export import log
from evenhand.service.store.repair import Restored, erase, export_events, import_events, restore
from evenhand.service.store.verify import verify
from tests.service.store.kit import change_rows, count, events_of, rebuilt, verified

ARMS = ["tea", "coffee", "cocoa"]


@pytest.fixture
def store(either: Database) -> Iterator[Store]:
    """Ten decisions with their rewards, and another allocation."""
    store = Store(either, snapshot=8)
    store.create("drinks", ARMS, "thompson", seed=1)
    store.create("films", ARMS, "exp3", parameters={"horizon": 100}, seed=1)
    for number in range(1, 11):
        (decision,) = store.run("drinks", Decide(key=f"key-{number}")).decisions
        store.run("drinks", Reward([(decision.id, dict.fromkeys(decision.names, 0.5))]))
    store.run("films", Decide())
    with closing(store):
        yield store


def damage(store: Store, sequence: int) -> None:
    change_rows(
        store.database,
        "UPDATE events SET time = time + 1 WHERE allocation = 1 AND sequence = :sequence",
        sequence=sequence,
    )


def test_a_damaged_allocation_goes_back_to_its_last_sound_event(store: Store, tmp_path: Path) -> None:
    before = events_of(store.database, "drinks")
    damage(store, 14)
    again, removed = Store(store.database), tmp_path / "removed.jsonl"
    with pytest.raises(StateError, match=r"event 14 .* was edited"):
        verified(store.database, "drinks")
    change_rows(store.database, "DELETE FROM snapshots")
    with pytest.raises(DamagedAllocation, match="'drinks' is damaged, and answers nothing until `evenhand db"):
        again.run("drinks", Decide())
    assert again.run("films", Decide()).decisions
    assert restore(store.database, "drinks", removed) == Restored(13, len(before) - 13)
    assert verify(store.database).faults == ()
    assert events_of(store.database, "drinks") == before[:13]
    assert count(store.database, "answers") == 0
    header, *lines = map(json.loads, removed.read_text().splitlines())
    assert header["allocation"] == "drinks"
    assert [line["sequence"] for line in lines] == list(range(14, len(before) + 1))
    assert again.run("drinks", Decide()).decisions[0].round == 7
    assert verified(store.database, "drinks") == 14


def test_a_server_that_is_running_goes_on_after_a_restore(store: Store, tmp_path: Path) -> None:
    damage(store, 14)
    restore(store.database, "drinks", tmp_path / "removed.jsonl", from_snapshot=False)
    assert store.run("drinks", Decide()).decisions[0].round == 7
    assert verify(store.database).faults == ()


def test_an_allocation_can_go_on_from_a_later_snapshot(store: Store, tmp_path: Path) -> None:
    """Events 1 to 9 and those after the snapshot stay; those from 10 to the snapshot are lost from the record."""
    store.close()
    store = Store(store.database)
    for round in range(11, 14):
        store.run("drinks", Decide(key=f"key-{round}"))
    sound = rebuilt(events_of(store.database, "drinks"))[0].dump()
    damage(store, 10)
    with pytest.raises(EvenhandError, match=r"--back returns to event 9 and .*; --from-snapshot .* after event 21, "):
        restore(store.database, "drinks", tmp_path / "removed.jsonl")
    assert restore(store.database, "drinks", tmp_path / "removed.jsonl", from_snapshot=True) == Restored(24, 12)
    assert verify(store.database).faults == ()
    events = events_of(store.database, "drinks")
    assert [event.sequence for event in events] == [*range(1, 10), *range(21, 25)]
    assert events[9].kind == "state"
    assert rebuilt(events)[0].dump() == sound
    assert count(store.database, "answers") == 13
    assert store.run("drinks", Decide()).decisions[0].round == 14  # a server that is running
    again = Store(store.database)
    assert again.run("drinks", Reward([("13", {events[-1].body["arms"][0]: 1.0})])).results[0].status == "accepted"
    assert verify(store.database).faults == ()
    frames = list(log(store.database, "drinks"))
    assert frames[0]["decision_id"].tolist() == ["1", "2", "3", "4", "11", "12", "13", "14"]


def test_a_state_of_other_events_is_noticed(store: Store, tmp_path: Path) -> None:
    """Neither a state that was edited nor one that leaves a gap before it passes."""
    store.close()
    damage(store, 10)
    restore(store.database, "drinks", tmp_path / "removed.jsonl", from_snapshot=True)
    change_rows(store.database, "DELETE FROM events WHERE allocation = 1 AND sequence = 9")
    with pytest.raises(StateError, match="event 9 is missing; event 21 does not replace it"):
        verified(store.database, "drinks")
    damage(store, 21)
    change_rows(store.database, "DELETE FROM events WHERE allocation = 1 AND sequence < 21")
    with pytest.raises(StateError, match=r"event 21 \(state\) was edited"):
        verified(store.database, "drinks")


def test_there_must_be_a_snapshot_to_go_on_from(store: Store, tmp_path: Path) -> None:
    damage(store, 20)
    with pytest.raises(StateError, match="has no sound snapshot after event 19"):
        restore(store.database, "drinks", tmp_path / "removed.jsonl", from_snapshot=True)


def test_a_server_that_is_running_takes_over_what_was_imported(store: Store, tmp_path: Path) -> None:
    """Also where there are as many events as before."""
    file = tmp_path / "drinks.jsonl"
    export_events(store.database, "drinks", file)
    store.run("drinks", Change(Retire("tea")))
    erase(store.database, "drinks")
    import_events(store.database, file, "drinks")
    Store(store.database).run("drinks", Change(Retire("coffee")))
    assert store.run("drinks", Describe()).retired == ("coffee",)
    store.run("drinks", Decide())
    assert verify(store.database).faults == ()


def test_nothing_is_restored_where_nothing_is_sound(store: Store, tmp_path: Path) -> None:
    damage(store, 1)
    with pytest.raises(StateError, match=r"event 1 .* was edited"):
        restore(store.database, "drinks", tmp_path / "removed.jsonl")
    assert len(list(tmp_path.glob("*.jsonl"))) == 0
    assert count(store.database, "events") == 21 + 2


def test_a_sound_allocation_loses_nothing(store: Store, tmp_path: Path) -> None:
    assert restore(store.database, "drinks", tmp_path / "removed.jsonl") == Restored(21, 0)
    assert count(store.database, "answers") == 10
    with pytest.raises(EvenhandError, match="already exists; give the path of a new file"):
        restore(store.database, "drinks", tmp_path / "removed.jsonl")


def test_events_go_to_a_file_and_come_back(store: Store, tmp_path: Path) -> None:
    store.run("drinks", Change(Retire("tea")))
    file = tmp_path / "drinks.jsonl"
    assert export_events(store.database, "drinks", file) == (22, "")
    with pytest.raises(Conflict, match="already an allocation 'drinks'"):
        import_events(store.database, file, "drinks")
    assert import_events(store.database, file, "again") == 22
    assert verify(store.database, ["drinks", "again"]).events == {"drinks": 22, "again": 22}
    assert store.run("again", Decide()).decisions[0].names == store.run("drinks", Decide()).decisions[0].names
    assert erase(store.database, "drinks") == 23
    with pytest.raises(UnknownAllocation):
        erase(store.database, "drinks")
    assert verify(store.database).faults == ()
    assert import_events(store.database, file, "drinks") == 22


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "is not a file of events"),
        ("{}", "is not a file of events"),
        ('{"format": "other"}', "is not a file of events"),
        ('{"format": "evenhand events 1"}\n{"sequence": 1}', "is not a file of events"),
        ('{"format": "evenhand events 1", "arms": []}', "there are no events"),
    ],
)
def test_a_file_that_holds_no_events_is_refused(store: Store, tmp_path: Path, content: str, fault: str) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(content)
    with pytest.raises(DataError, match=fault):
        import_events(store.database, file, "again")


def test_an_edited_file_is_refused(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "drinks.jsonl"
    export_events(store.database, "drinks", file)
    file.write_text(file.read_text().replace('"round": 3', '"round": 4'))
    with pytest.raises(DataError, match=r"drinks.jsonl: event \d+ .* was edited"):
        import_events(store.database, file, "again")
