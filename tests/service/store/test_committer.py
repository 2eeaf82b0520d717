"""Transactions of many allocations: one commit, in which none is in the way of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import text

from evenhand.changes import Rename
from evenhand.service.store import Change, Decide, ReadAudit, Reward, Store, commands, transaction, writer
from evenhand.service.store.commands import Command
from evenhand.service.store.database import Database
from evenhand.service.store.errors import StoreUnavailable
from evenhand.service.store.events import Event
from evenhand.service.store.writer import Committer, Writer
from tests.service.store.kit import Clock, Held, Outcome, answered, count, events_of, failing, kinds, verified

NAMES = ("drinks", "films", "jobs")


@dataclass
class Three:
    """Three allocations in memory, in groups that the test makes, and the events of each commit."""

    database: Database
    commits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.held = Held()
        made = Committer(self.database, self.held, Clock(), self)
        self.writers = {name: Writer(name, made) for name in NAMES}
        self.group(dict.fromkeys(NAMES, Decide()))
        self.commits.clear()

    def committed(self, events: int, seconds: float) -> None:
        self.commits.append(events)

    def group(self, commands: dict[str, Command[Any]]) -> list[Outcome]:
        futures = [self.writers[name].submit(command) for name, command in commands.items()]
        self.held.run()
        return [future.exception(timeout=0) or future.result(timeout=0) for future in futures]

    def kinds(self) -> dict[str, list[str]]:
        return {name: kinds(events_of(self.database, name)) for name in NAMES}


@pytest.fixture
def three(either: Database) -> Iterator[Three]:
    store = Store(either, Clock())
    for name in NAMES:
        store.create(name, ["a", "b"], "fucb", parameters={"fractions": [0.0, 0.4]}, seed=1)
    made = Three(either)
    yield made
    for name in NAMES:
        verified(either, name)
    store.close()


def rounds(outcomes: list[Outcome]) -> list[int]:
    return [decision.round for outcome in outcomes for decision in answered(outcome).decisions]


def test_what_waits_is_one_commit(three: Three) -> None:
    """With the answers under their keys, which a repetition in a later group has."""
    commands: dict[str, Command[Any]] = {
        "drinks": Decide(key="k"),
        "films": Decide(count=2, key="k"),
        "jobs": Reward((("1", {"a": 1.0}),), key="k"),
    }
    first = three.group(commands)
    assert rounds(first[:2]) == [2, 2, 3]
    assert three.commits == [4]
    assert three.group(commands) == first
    assert three.commits == [4]
    assert count(three.database, "answers") == 3
    assert three.kinds() == {
        "drinks": ["create", "decide", "decide"],
        "films": ["create", "decide", "decide", "decide"],
        "jobs": ["create", "decide", "reward"],
    }


def test_what_only_reads_keeps_no_other_waiting(three: Three) -> None:
    outcomes = three.group({"drinks": Decide(), "films": ReadAudit(), "jobs": Decide()})
    assert rounds([outcomes[0], outcomes[2]]) == [2, 2]
    assert three.commits == [2]


def test_a_read_behind_a_write_is_a_transaction_of_its_own(three: Three) -> None:
    futures = [three.writers["drinks"].submit(command) for command in (Decide(), ReadAudit(), Decide())]
    three.writers["films"].submit(Decide())
    three.held.run()
    assert [futures[0].result(0).decisions[0].round, futures[1].result(0).round] == [2, 2]
    assert three.commits == [2, 1]


def test_one_that_fails_half_way_fails_alone(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(commands, "observe", fails)
    first, failed, second = three.group(
        {"drinks": Decide(), "films": Reward((("1", {"a": 1.0}),)), "jobs": Decide()},
    )
    assert isinstance(failed, ZeroDivisionError)
    assert rounds([first, second]) == [2, 2]
    assert three.commits == [2]
    assert rounds(three.group({"films": Decide()})) == [2]


def test_events_that_cannot_be_written_fail_alone(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is seen when the commands of all have been carried out: then each has a transaction of its own."""
    row = Event.row

    def fails(event: Event, *args: Any) -> dict[str, Any]:
        if len(event.body.get("available", "")) == 1:
            raise MemoryError
        return row(event, *args)

    monkeypatch.setattr(Event, "row", fails)
    first, failed, second = three.group({"drinks": Decide(), "films": Decide(available=["a"]), "jobs": Decide()})
    assert isinstance(failed, MemoryError)
    assert rounds([first, second]) == [2, 2]
    assert three.commits == [1, 1]
    assert rounds(three.group(dict.fromkeys(NAMES, Decide()))) == [3, 2, 3]


def test_a_database_that_fails_fails_all_once(three: Three) -> None:
    with failing(three.database) as failed:
        outcomes = three.group(dict.fromkeys(NAMES, Decide()))
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    assert len(failed) == 1
    assert rounds(three.group(dict.fromkeys(NAMES, Decide()))) == [2, 2, 2]


def test_time_that_is_over_leaves_the_others_for_later(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "MAX_SECONDS", -1.0)
    assert rounds(three.group(dict.fromkeys(NAMES, Decide()))) == [2, 2, 2]
    assert three.commits == [1, 1, 1]


def test_a_group_has_so_many_commands_at_most(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_GROUP", 2)
    assert rounds(three.group(dict.fromkeys(NAMES, Decide()))) == [2, 2, 2]
    assert three.commits == [2, 1]


@pytest.mark.parametrize("either", ["postgresql"], indirect=True)
def test_an_allocation_that_another_server_locks_keeps_no_other_waiting(three: Three) -> None:
    with three.database.transaction(writes=True) as other:
        other.execute(text("SELECT id FROM allocations WHERE name = 'films' FOR NO KEY UPDATE"))
        futures = {name: three.writers[name].submit(Decide()) for name in NAMES}
        lane = three.held.jobs.pop(0)
        lane()
        assert [name for name, future in futures.items() if future.done()] == ["drinks", "jobs"]
    three.held.run()
    assert rounds([future.result(0) for future in futures.values()]) == [2, 2, 2]


def test_others_may_have_written_since(three: Three) -> None:
    """A second server decides in between: little is replayed with the others, much by itself."""
    other = Three(three.database)
    other.group({"drinks": Decide(), "films": Decide(count=transaction.MAX_BEHIND + 1)})
    outcomes = three.group(dict.fromkeys(NAMES, Decide()))
    assert rounds(outcomes) == [4, transaction.MAX_BEHIND + 4, 3]
    assert three.commits == [2, 1]


def test_what_fails_after_it_wrote_is_undone(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new name is written at once; the other allocations get their answers all the same."""

    def fails(*_: Any) -> None:
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr("evenhand.service.store.arms.rename_in_answers", fails)
        first, failed, second = three.group({"drinks": Decide(), "films": Change(Rename("a", "b2")), "jobs": Decide()})
    assert isinstance(failed, ZeroDivisionError)
    assert rounds([first, second]) == [2, 2]
    assert three.group({"films": Decide(available=["a"])})[0].decisions[0].names == ("a",)
