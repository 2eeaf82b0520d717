"""Groups of commands: all of one that fails is undone, what was answered stays, and a key answers once."""

from __future__ import annotations

import gc
import sqlite3
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from evenhand.bandit import Bandit, changes, saved
from evenhand.bandit.record import Record
from evenhand.changes import AddArm, Close, Promise, Retire
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import ChangeResult, TotalResult
from evenhand.messages.requests import Round
from evenhand.service.store import (
    Change,
    Decide,
    Describe,
    ReadAudit,
    Reward,
    Store,
    Total,
    commands,
    events,
    tables,
    transaction,
)
from evenhand.service.store import allocation as live
from evenhand.service.store import writer as writers
from evenhand.service.store.allocation import row_of
from evenhand.service.store.commands import Command
from evenhand.service.store.database import Database, delete_rows
from evenhand.service.store.errors import Conflict, DamagedAllocation, KeyReused, StoreUnavailable, UnknownAllocation
from evenhand.service.store.events import Event
from evenhand.service.store.transaction import ANSWER_LIFETIME
from evenhand.service.store.writer import MAX_GROUP, MAX_QUEUE, Committer, Writer
from tests.service.store.kit import Clock, Driven, Held, Outcome, answered, change_rows, count, failing, kinds, verified

DAY = 86_400.0
WEEK = 7 * DAY


def rounds(outcome: Outcome) -> list[int]:
    return [one.round for one in answered(outcome).decisions]


class Commits(list[tuple[int, float]]):
    """Hears of commits."""

    def committed(self, events: int, seconds: float) -> None:
        self.append((events, seconds))


# --- Groups -----------------------------------------------------------------------------------------------------------


def test_a_group_is_one_transaction_in_the_order_of_asking(lite: Database, drinks: Driven) -> None:
    heard = Commits()
    driven = Driven(lite, clock=drinks.clock, observer=heard)
    group: list[Command[Any]] = [
        Decide(count=2),
        Reward((("1", {"tea": 1.0}),)),
        Change(Retire("cocoa")),
        Decide(),
    ]
    first, reward, change, second = driven.group(group)
    assert (rounds(first), rounds(second)) == ([1, 2], [3])
    assert answered(reward).results[0].status == "accepted"
    assert answered(change) == ChangeResult(1, 2, True)
    assert [events for events, _ in heard] == [5]
    assert all(0.0 < seconds < 60.0 for _, seconds in heard)
    assert kinds(driven.events()) == ["create", "decide", "decide", "reward", "change", "decide"]


def test_reading_is_no_commit(lite: Database, drinks: Driven) -> None:
    heard = Commits()
    driven = Driven(lite, clock=drinks.clock, observer=heard)
    driven.group([ReadAudit(), Describe(), ReadAudit(limit=1)])
    assert heard == []


def test_a_refused_command_does_not_disturb_the_others(drinks: Driven) -> None:
    outcomes = drinks.group([Decide(), Decide(available=["mate"]), Change(AddArm("tea", fraction=0.1)), Decide()])
    assert (rounds(outcomes[0]), rounds(outcomes[3])) == ([1], [2])
    assert isinstance(outcomes[1], EvenhandError)
    assert isinstance(outcomes[2], Conflict)


def test_more_than_a_group_come_in_several(lite: Database, drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Commits()
    monkeypatch.setattr(writers, "MAX_GROUP", 3)
    driven = Driven(lite, clock=drinks.clock, observer=heard)
    assert [rounds(outcome) for outcome in driven.group([Decide()] * 7)] == [[number] for number in range(1, 8)]
    assert [events for events, _ in heard] == [3, 3, 1]
    assert MAX_GROUP >= 100


def test_a_group_that_takes_long_is_committed_early(
    lite: Database, drinks: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command takes longer than a turn of no time; each has a transaction of its own, and all are answered."""
    heard = Commits()
    monkeypatch.setattr(transaction, "MAX_SECONDS", -1.0)
    driven = Driven(lite, clock=drinks.clock, observer=heard)
    assert [rounds(outcome) for outcome in driven.group([Decide()] * 3)] == [[1], [2], [3]]
    assert [events for events, _ in heard] == [1, 1, 1]


def test_busy_allocations_take_turns(lite: Database, store: Store, clock: Clock) -> None:
    """With one worker, an allocation with much to do does not keep another one waiting: it goes to the end."""
    held = Held()
    committer, done = Committer(lite, held, clock), list[str]()
    for name in ("busy", "small"):
        store.create(name, ["a", "b"], "ucb1", seed=1)
        writer = Writer(name, committer)
        for _ in range(3 * MAX_GROUP if name == "busy" else 1):
            writer.submit(Decide()).add_done_callback(partial(lambda name, _: done.append(name), name))
    while held.jobs:
        held.jobs.pop(0)()
    assert len(done) == 3 * MAX_GROUP + 1
    assert done.index("small") <= MAX_GROUP


def test_a_cancelled_request_is_not_carried_out(drinks: Driven) -> None:
    first, second = drinks.writer.submit(Decide()), drinks.writer.submit(Decide())
    assert first.cancel()
    drinks.held.run()
    assert rounds(second.result(timeout=0)) == [1]
    assert kinds(drinks.events()) == ["create", "decide"]


def test_too_many_that_wait_are_refused(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MAX_QUEUE", 2)
    futures = [drinks.writer.submit(Decide()) for _ in range(3)]
    assert isinstance(futures[2].exception(timeout=0), StoreUnavailable)
    drinks.held.run()
    assert [rounds(future.result(timeout=0)) for future in futures[:2]] == [[1], [2]]
    assert MAX_QUEUE >= 1000


def test_an_allocation_that_is_not_there_is_unknown_to_all(lite: Database) -> None:
    driven = Driven(lite, "nobody")
    for outcome in driven.group([Decide(), ReadAudit()]):
        assert isinstance(outcome, UnknownAllocation)
        assert str(outcome) == "there is no allocation 'nobody'"


# --- Commands that fail half way --------------------------------------------------------------------------------------


def broken(method: Callable[..., Any], at: int) -> Callable[..., Any]:
    """A method that does its work, and then raises, at one of its calls."""
    calls = 0

    def call(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        result = method(*args, **options)
        if calls == at:
            raise ZeroDivisionError("a bug")
        return result

    return call


@pytest.mark.parametrize(
    ("method", "command"),
    [
        ("decide", Decide(count=3)),
        ("observe", Reward((("1", {"tea": 1.0}), ("2", {"coffee": 1.0}), ("1", {"tea": 1.0})))),
        ("observe_total", Total(1.0)),
        ("make", Change(Retire("cocoa"))),
        ("make", Change(Promise({"tea": 0.5}))),
    ],
)
@pytest.mark.parametrize("key", [None, "key"])
def test_a_command_that_fails_half_way_leaves_nothing_behind(
    drinks: Driven, monkeypatch: pytest.MonkeyPatch, method: str, command: Command[Any], key: str | None
) -> None:
    """The others of its group are answered as if it had not been there, and so is whatever comes later."""
    drinks.run(Decide(count=2))
    failing = replace(command, key=key)
    # Where the others of the group use the same method, the first call is theirs.
    at = 2 if method in ("decide", "observe") else 1
    others = [Decide(key="before"), failing, Reward((("2", {"coffee": 0.5}),))]
    with monkeypatch.context() as patch:
        owner: Any = changes if method == "make" else commands
        patch.setattr(owner, method, broken(getattr(owner, method), at))
        first, failed, second = drinks.group(others)
    assert isinstance(failed, ZeroDivisionError)
    assert rounds(first) == [3]
    assert answered(second).results[0].status == "accepted"
    assert kinds(drinks.events()) == ["create", "decide", "decide", "decide", "reward"]
    assert count(drinks.database, "answers") == 1
    assert rounds(drinks.run(Decide())) == [4]
    assert drinks.run(ReadAudit()).lines == drinks.rebuilt()[0].audit().lines


def test_several_that_fail_have_errors_and_the_rest_is_answered(
    drinks: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of as many as there can be in a group."""
    observe = vars(commands)["observe"]

    def fails(*args: Any) -> Any:
        observe(*args)
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(commands, "observe", fails)
    drinks.run(Decide())
    reward = Reward((("1", {"tea": 1.0}),))
    outcomes = drinks.group([Decide(), *[reward] * (MAX_GROUP - 2), Decide()])
    assert (rounds(outcomes[0]), rounds(outcomes[-1])) == ([2], [3])
    assert all(isinstance(outcome, ZeroDivisionError) for outcome in outcomes[1:-1])
    assert kinds(drinks.events()) == ["create", "decide", "decide", "decide"]


def test_a_refusal_after_something_was_done_is_undone(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a policy cannot go on in the middle of a batch."""
    decide = vars(commands)["decide"]

    def ends(bandit: Record, *args: Any) -> Any:
        if bandit.state.round == 2:
            raise EvenhandError("no more than two rounds")
        return decide(bandit, *args)

    monkeypatch.setattr(commands, "decide", ends)
    first, refused, second, third = drinks.group([Decide(), Decide(count=2, key="k"), Decide(), Decide()])
    assert (rounds(first), rounds(second)) == ([1], [2])
    assert str(refused) == str(third) == "no more than two rounds"
    assert kinds(drinks.events()) == ["create", "decide", "decide"]
    assert isinstance(drinks.refused(Decide(count=2, key="k")), EvenhandError)


def test_a_failure_that_cannot_be_assigned_concerns_nobody_else(drinks: Driven) -> None:
    """Names that cannot be put in order make no digest; an answer that is no JSON cannot be kept."""
    odd = Reward((("1", {1: 1.0, "a": 2.0}),), key="one")  # type: ignore[dict-item]
    strange = Reward(((object(), {"tea": 1.0}),), key="two")  # type: ignore[arg-type]
    shapeless = Reward((("1", 1.0),))  # type: ignore[arg-type]
    outcomes = drinks.group([Decide(), odd, strange, shapeless, Decide()])
    assert (rounds(outcomes[0]), rounds(outcomes[4])) == ([1], [2])
    assert isinstance(outcomes[1], TypeError)
    assert isinstance(outcomes[2], TypeError)
    assert isinstance(outcomes[3], AttributeError)


# --- The database fails -----------------------------------------------------------------------------------------------


def test_nothing_is_answered_that_is_not_committed(either: Database, clock: Clock) -> None:
    store = Store(either, clock)
    store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": [0, 0.25]}, seed=1)
    driven = Driven(either, clock=clock)
    driven.run(Decide(count=2))
    before = driven.rebuilt()[0].dump()
    with failing(either):
        outcomes = driven.group([Decide(key="k"), Reward((("1", {"tea": 1.0}),)), ReadAudit(), Change(Close())])
        assert len(outcomes) == 4
        for outcome in outcomes:
            assert isinstance(outcome, StoreUnavailable)
            assert "the disk is gone" in str(outcome)
            assert "\n" not in str(outcome)
        assert driven.run(ReadAudit()).round == 2
    assert driven.rebuilt()[0].dump() == before
    assert rounds(driven.run(Decide(key="k"))) == [3]
    assert kinds(driven.events()) == ["create", "decide", "decide", "decide"]
    store.close()


def test_what_was_committed_without_being_answered_is_there_once(either: Database, clock: Clock) -> None:
    """The connection is lost after the commit; a request with the same key gets the answer of then."""
    store = Store(either, clock)
    store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": [0, 0.25]}, seed=1)
    driven = Driven(either, clock=clock)
    with failing(either, after=True):
        (outcome,) = driven.group([Decide(count=2, key="k")])
    assert isinstance(outcome, StoreUnavailable)
    assert [event.round for event in driven.events()] == [None, 1, 2]
    assert rounds(driven.run(Decide(count=2, key="k"))) == [1, 2]
    assert rounds(driven.run(Decide())) == [3]
    store.close()


@pytest.mark.parametrize(
    "command", [Total(1.0, round=1), Describe(), Reward((("1", {"coffee": 1.0}),)), Decide(key="k")], ids=repr
)
def test_a_database_that_fails_in_the_middle_is_unavailable(
    drinks: Driven, monkeypatch: pytest.MonkeyPatch, command: Command[Any]
) -> None:
    """Commands that ask the database themselves are not to blame for it, and are not tried again one by one."""
    drinks.run(Decide())
    calls = []

    def full(*args: Any) -> Any:
        calls.append(args)
        raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    run = type(command).run
    monkeypatch.setattr(type(command), "run", lambda self, desk: (run(self, desk), full())[0])
    outcomes = drinks.group([ReadAudit(), command, ReadAudit()])
    assert len(calls) == 1
    for outcome in outcomes:
        assert isinstance(outcome, StoreUnavailable)
        assert "database or disk is full" in str(outcome)
    monkeypatch.undo()
    assert rounds(drinks.run(Decide())) == [2]


def test_no_error_leaves_anybody_waiting(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    drinks.run(Decide())

    def fails(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Event, "row", fails)
        outcomes = drinks.group([Decide(), Decide()])
        assert all(isinstance(outcome, MemoryError) for outcome in outcomes)
    assert rounds(drinks.run(Decide())) == [2]


# --- Keys -------------------------------------------------------------------------------------------------------------


KEYED: list[tuple[Command[Any], Command[Any]]] = [
    (Decide(count=2, propensities=True, key="k"), Decide(count=3, key="k")),
    (Reward((("1", {"tea": 1.0}), ("9", {"tea": 1.0})), key="k"), Reward((("1", {"tea": 0.5}),), key="k")),
    (Change(Retire("tea"), key="k"), Change(Retire("cocoa"), key="k")),
    (Change(Close(), key="k"), Decide(key="k")),
]


def test_the_same_key_has_the_same_answer(either: Database, clock: Clock) -> None:
    """At once in one group, later, and after a restart; and what it did is done once."""
    store = Store(either, clock)
    for number, (command, other) in enumerate(KEYED):
        name = f"drinks-{number}"
        store.create(name, ["tea", "coffee", "cocoa"], "thompson", seed=1)
        driven = Driven(either, name, clock)
        driven.run(Decide(available=["tea"]))
        first, again, refused = driven.group([command, command, other])
        events = driven.events()
        assert again == answered(first)
        assert isinstance(refused, KeyReused)
        assert str(refused) == "the idempotency key 'k' was used for another request; use a new one"
        for later in (driven, Driven(either, name, clock)):
            assert later.group([command, ReadAudit()])[0] == first
            assert isinstance(later.refused(other), KeyReused)
        assert driven.events() == events
        assert count(either, "answers") == number + 1
    store.close()


def test_totals_have_keys_too(store: Store, lite: Database) -> None:
    """The answer of then stands, also where the same total would be a conflict by now."""
    store.create("sums", ["a", "b"], "ars_ucb", seed=1)
    sums = Driven(lite, "sums")
    sums.run(Decide())
    assert sums.run(Total(1.0, key="k")) == TotalResult(1, "accepted")
    sums.run(Decide())
    assert sums.run(Total(1.0, key="k")) == TotalResult(1, "accepted")
    assert isinstance(sums.refused(Total(1.0, round=2, key="k")), KeyReused)
    assert kinds(sums.events()) == ["create", "decide", "total", "decide"]


def test_keys_belong_to_an_allocation(store: Store, lite: Database, drinks: Driven) -> None:
    store.create("films", ["heat"], "ucb1", seed=1)
    films = Driven(lite, "films")
    assert answered(drinks.run(Decide(key="k"))).decisions[0].names == ("tea",)
    assert answered(films.run(Decide(key="k"))).decisions[0].names == ("heat",)
    assert rounds(films.run(Decide(count=2, key="j"))) == [2, 3]
    assert isinstance(drinks.refused(Decide(count=2, key="k")), KeyReused)


def test_a_refused_request_leaves_its_key_free(drinks: Driven) -> None:
    assert isinstance(drinks.refused(Decide(available=["mate"], key="k")), EvenhandError)
    assert rounds(drinks.run(Decide(key="k"))) == [1]


def test_old_answers_make_room(lite: Database, store: Store, clock: Clock, drinks: Driven) -> None:
    """With the first snapshot after a week in which something happened every day; those of others stay."""
    assert ANSWER_LIFETIME == WEEK
    store.create("films", ["heat"], "ucb1", seed=1)
    films = Driven(lite, "films", clock)
    films.run(Decide(key="k"))
    driven = Driven(lite, clock=clock, snapshot=1)
    first = driven.run(Decide(key="k"))
    for _ in range(7):
        clock.now += DAY
        driven.run(Decide())
    assert driven.run(Decide(key="k")) == first
    clock.now += 1.0
    driven.run(Decide(key="j"))
    assert count(lite, "answers") == 2
    clock.now += DAY
    driven.run(Decide())
    assert count(lite, "answers") == 2
    assert rounds(driven.run(Decide(count=2, key="k"))) == [11, 12]
    assert rounds(driven.run(Decide(key="j"))) == [9]
    assert rounds(films.run(Decide(key="k"))) == [1]


@pytest.mark.parametrize("jump", [30 * DAY, -30 * DAY], ids=["ahead", "back"])
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.usefixtures("drinks")
def test_keys_survive_a_clock_that_jumps(lite: Database, clock: Clock, jump: float, restart: bool) -> None:
    """Of before, during and after the jump, also where snapshots are written and the process starts anew meanwhile."""
    driven, answers = Driven(lite, clock=clock, snapshot=1), {}

    def keyed(key: str) -> None:
        answers[key] = driven.run(Decide(key=key))
        assert {key: driven.run(Decide(key=key)) for key in answers} == answers

    keyed("before")
    clock.now += jump
    driven = Driven(lite, clock=clock, snapshot=1) if restart else driven
    keyed("during")
    driven.run(Decide())
    clock.now -= jump
    driven = Driven(lite, clock=clock, snapshot=1) if restart else driven
    keyed("after")
    driven.run(Decide())
    clock.now += 60.0
    keyed("later")
    driven.run(Decide())
    assert {key: driven.run(Decide(key=key)) for key in answers} == answers


def test_what_only_reads_needs_no_key(drinks: Driven) -> None:
    first = drinks.run(ReadAudit(key="k"))
    drinks.run(Decide())
    assert drinks.run(ReadAudit(key="k")).round == first.round + 1
    assert count(drinks.database, "answers") == 0


# --- Snapshots --------------------------------------------------------------------------------------------------------


def snapshots(database: Database) -> list[int]:
    """The events after which a bandit was written down."""
    with database.transaction(writes=False) as connection:
        return list(connection.execute(select(tables.snapshots.c.sequence)).scalars())


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The events that are replayed."""
    sequences: list[int] = []

    def noted(bandit: Record | None, event: Event, closed: bool) -> tuple[Record, bool]:
        sequences.append(event.sequence)
        return events.fold(bandit, event, closed)

    monkeypatch.setattr(live, "fold", noted)
    return sequences


def test_the_bandit_is_written_down_when_enough_has_happened(
    lite: Database, drinks: Driven, replayed: list[int]
) -> None:
    """The first event made the allocation; the 6th is the 5th after it. A start replays what came after."""
    driven = Driven(lite, clock=drinks.clock, snapshot=5)
    for round in range(1, 5):
        driven.run(Decide())
        driven.run(Reward(((str(round), {driven.events()[-1].body["arms"][0]: 1.0}),)))
        assert snapshots(lite) == ([6] if round >= 3 else [])
    driven.run(Decide())
    assert driven.events()[-1].sequence == 10
    assert snapshots(lite) == [6]
    again = Driven(lite, clock=drinks.clock, snapshot=5)
    assert again.run(ReadAudit()).round == 5
    assert replayed == [7, 8, 9, 10]
    assert again.writer._allocation is not None
    assert saved.dump(again.writer._allocation.bandit) == again.rebuilt()[0].dump()
    again.run(Decide())
    assert snapshots(lite) == [11]


def test_a_start_replays_little_however_much_is_pending(lite: Database, drinks: Driven, replayed: list[int]) -> None:
    """Whatever waits stands in the snapshot: of 390 pending decisions those after it are replayed."""
    driven = Driven(lite, clock=drinks.clock, snapshot=50)
    for _ in range(13):
        driven.run(Decide(count=30))
    again = Driven(lite, clock=drinks.clock, snapshot=50)
    assert rounds(again.run(Decide())) == [391]
    assert replayed == list(range(snapshots(lite)[0] + 1, 392))
    assert 0 < len(replayed) < 50
    assert again.writer._allocation is not None
    assert again.writer._allocation.bandit.pending.count == 391
    assert saved.dump(again.writer._allocation.bandit) == again.rebuilt()[0].dump()


def test_a_snapshot_is_taken_when_a_replay_would_take_long(
    lite: Database, drinks: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every 0.3 s of work, or five times as long as the last snapshot took; the clock of the thread stands still."""
    drinks.run(Decide())
    assert drinks.writer._allocation is not None
    work, taken = drinks.writer._allocation, []
    monkeypatch.setattr("evenhand.service.store.writer.time.thread_time", lambda: 0.0)
    for seconds, cost in ((0.1, 0.0), (0.29, 0.0), (0.3, 0.1), (0.49, 0.1), (0.5, 0.0)):
        work.work, drinks.writer._snapshot_seconds = seconds, cost
        drinks.run(Decide())
        taken.append(snapshots(lite))
    assert taken == [[], [], [], [], [7]]
    work.work, drinks.writer._snapshot_seconds = 0.3, 0.0
    drinks.run(Decide())
    assert snapshots(lite) == [8]


def test_an_idle_allocation_leaves_memory_and_comes_back(lite: Database, drinks: Driven, replayed: list[int]) -> None:
    drinks.run(Decide(count=3))
    drinks.writer.leave_if_idle(3600.0)
    assert drinks.held.jobs == []
    drinks.writer.leave_if_idle(0.0)
    ahead = drinks.writer.submit(Decide())  # which waits until it has left
    drinks.held.run()
    assert rounds(ahead.result(timeout=0)) == [4]
    drinks.writer.leave_if_idle(0.0)
    drinks.held.run()
    assert not drinks.writer.in_memory
    assert snapshots(lite) == [5]
    assert rounds(drinks.run(Decide())) == [5]
    assert replayed == []


def test_closing_writes_down_what_has_happened_since(lite: Database, clock: Clock, replayed: list[int]) -> None:
    store = Store(lite, clock)
    for name in ("used", "unused", "unchanged"):
        store.create(name, ["a", "b"], "ucb1", seed=1)
    store.run("used", Decide(count=3))
    store.run("unchanged", ReadAudit())
    store.close()
    assert snapshots(lite) == [4]
    again = Store(lite, clock)
    assert again.run("used", ReadAudit()).round == 3
    again.close()
    assert replayed == []
    assert snapshots(lite) == [4]


def test_a_read_writes_no_snapshot(lite: Database, drinks: Driven) -> None:
    """It has not locked the allocation, so others may be writing one."""
    drinks.run(Decide(count=10))
    drinks.run(Reward([(str(round), {"tea": 1.0}) for round in range(1, 11)]))
    reader = Driven(lite, clock=drinks.clock, snapshot=3)
    reader.run(ReadAudit())
    assert snapshots(lite) == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE snapshots SET state = x''",
        "UPDATE snapshots SET state = x'00'",
        "UPDATE snapshots SET state = substr(state, 1, length(state) / 2)",
        "UPDATE snapshots SET sequence = 99",
    ],
)
def test_a_snapshot_that_cannot_be_used_is_ignored(lite: Database, drinks: Driven, damage: str) -> None:
    drinks.run(Decide(count=5))
    drinks.writer.write_snapshot()
    change_rows(lite, damage)
    again = Driven(lite, clock=drinks.clock)
    assert rounds(again.run(Decide())) == [6]
    again.writer.write_snapshot()
    assert snapshots(lite) == [7]


def test_a_snapshot_and_a_restore_do_not_wait_for_each_other(
    either: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has locked the row of an allocation can delete its snapshots while a new one is being written."""
    with closing(Store(either, clock)) as store:
        store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    driven, reached = Driven(either, clock=clock), threading.Event()
    driven.run(Decide())
    driven.writer.write_snapshot()
    driven.run(Decide())

    def row(connection: Any, name: str, lock: bool = False) -> Any:
        reached.set()
        return row_of(connection, name, lock)

    monkeypatch.setattr(writers, "row_of", row)
    writing = threading.Thread(target=driven.writer.write_snapshot)
    with either.transaction(writes=True) as connection:
        allocation = row_of(connection, "drinks", lock=True)
        writing.start()
        if either.url.get_backend_name() != "sqlite":  # where one writes at a time
            assert reached.wait(10.0)
        assert delete_rows(connection, tables.snapshots, allocation.id) == 1
    writing.join()
    assert snapshots(either) == [3]


@pytest.mark.parametrize(
    ("sequence", "body"),
    [(3, '{"arms":["cocoa"],"propensity":[1.0]}'), (1, "no JSON"), (3, "[]"), (2, '{"arms":null}')],
)
def test_damaged_events_stop_an_allocation_and_no_other(
    lite: Database, store: Store, drinks: Driven, sequence: int, body: str
) -> None:
    drinks.run(Decide(count=3))
    store.create("films", ["heat"], "ucb1", seed=1)
    change = "UPDATE events SET body = :body WHERE sequence = :sequence AND allocation = 1"
    change_rows(lite, change, body=body, sequence=sequence)
    for _ in range(2):
        refused = store.submit("drinks", Decide()).exception()
        assert isinstance(refused, DamagedAllocation)
        assert "`evenhand db restore drinks` or `evenhand db erase drinks`" in str(refused)
    assert rounds(store.run("films", Decide())) == [1]


@pytest.mark.parametrize(
    "command",
    [Decide(available=("milk",)), Decide(rounds=[Round(), Round(available=["milk"])]), Change(Retire("milk"))],
)
def test_an_error_keeps_nothing_of_its_request_in_memory(drinks: Driven, command: Command[Any]) -> None:
    """It is not left to the garbage collection: bodies may be large, and there may be hundreds of them by then."""
    gc.collect()
    gc.disable()
    try:
        refused = weakref.ref(drinks.refused(command))
        assert refused() is None
    finally:
        gc.enable()


# --- Threads and processes --------------------------------------------------------------------------------------------


def test_two_writers_take_turns(either: Database, clock: Clock) -> None:
    """As two processes do: each goes through what the other one wrote before it goes on."""
    store = Store(either, clock)
    store.create("drinks", ["tea", "coffee"], "thompson", seed=3, window=60.0, missing="lost")
    one, two = Driven(either, clock=clock, snapshot=6), Driven(either, clock=clock, snapshot=1)
    twin = Bandit(["tea", "coffee"], "thompson", seed=3, window=60.0, missing="lost")
    for round in range(1, 31):
        driven, other = (one, two) if round % 3 else (two, one)
        twin.expire(clock.now)
        played = driven.run(Decide()).decisions[0].names
        assert tuple(played) == twin.decide(now=clock.now).names
        clock.now += 7.0
        if round % 4:
            twin.expire(clock.now)
            answer = other.run(Reward(((str(round), {played[0]: 0.5}),)))
            assert answer.results[0].status == "accepted"
            twin.observe(str(round), {played[0]: 0.5}, clock.now)
    audits = [driven.run(ReadAudit()) for driven in (one, two)]
    assert audits[0] == audits[1]
    assert one.rebuilt()[0].dump() == twin.dump()
    assert verified(store.database, "drinks") == audits[0].sequence
    store.close()


def test_two_stores_at_once_lose_and_double_nothing(either: Database, clock: Clock) -> None:
    """Each of two stores is asked by four threads; the rounds are 1 to n, each once, and both stores agree."""
    one = Store(either, clock, snapshot=40)
    other = Store(Database(either.url.render_as_string(hide_password=False)), clock, snapshot=60)
    one.create("drinks", ["tea", "coffee", "cocoa"], "fucb", parameters={"fractions": [0.25, 0.25, 0.0]}, seed=1)

    def client(number: int) -> list[tuple[int, str]]:
        store, pairs = (one, other)[number % 2], []
        for turn in range(12):
            for decision in store.run("drinks", Decide(count=1 + turn % 3, key=f"{number}-{turn}")).decisions:
                pairs.append((decision.round, decision.names[0]))
                answer = store.run("drinks", Reward(((decision.id, {decision.names[0]: 1.0}),)))
                assert answer.results[0].status == "accepted"
        return pairs

    with ThreadPoolExecutor(8) as clients:
        played = dict(pair for pairs in clients.map(client, range(8)) for pair in pairs)
    total = 8 * (1 + 2 + 3) * 4
    assert sorted(played) == list(range(1, total + 1))
    audits = [store.run("drinks", ReadAudit()) for store in (one, other)]
    assert audits[0] == audits[1]
    assert {line.arm: line.plays for line in audits[0].lines} == {
        arm: list(played.values()).count(arm) for arm in ("tea", "coffee", "cocoa")
    }
    assert verified(one.database, "drinks") == audits[0].sequence == 1 + 2 * total
    one.close()
    other.close()


def test_one_allocation_is_worked_for_by_one_thread_at_a_time(
    lite: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests come one by one from many threads, so that the writer runs out of work again and again."""
    store, at_work, crowded = Store(lite, clock), threading.Lock(), []
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)

    def by_itself(*args: Any) -> int:
        crowded.append(not at_work.acquire(blocking=False))
        try:
            return transaction.commit(*args)
        finally:
            at_work.release()

    monkeypatch.setattr(writers, "commit", by_itself)
    with ThreadPoolExecutor(6) as clients:
        futures = [clients.submit(store.run, "drinks", Decide()) for _ in range(300)]
        numbers = sorted(rounds(future.result())[0] for future in futures)
    assert numbers == list(range(1, 301))
    assert not any(crowded)
    store.close()


class LastMoment:
    """A lock after which somebody does something, once, as soon as the writer has no more to do."""

    def __init__(self, writer: Writer, something: Callable[[], Any]) -> None:
        self.writer, self.something, self.lock, self.done = writer, something, threading.Lock(), False

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()
        if not self.done and not self.writer._busy:
            self.done = True
            self.something()


def test_whoever_asks_in_the_last_moment_is_served_by_one(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between seeing that nothing waits and coming to an end: the request begins new work, and nobody else does."""
    late: list[Future[Any]] = []
    first = drinks.writer.submit(Decide())
    lock = LastMoment(drinks.writer, lambda: late.append(drinks.writer.submit(Decide())))
    monkeypatch.setattr(drinks.writer, "_lock", lock)
    drinks.held.jobs.pop(0)()
    assert rounds(first.result(timeout=0)) == [1]
    assert len(drinks.held.jobs) == 1
    drinks.held.run()
    assert rounds(late[0].result(timeout=0)) == [2]


def test_answers_come_after_the_commit(lite: Database, store: Store, drinks: Driven) -> None:
    """Whoever has an answer finds its events in the database, with any other connection."""
    seen: list[int] = []

    def look(future: Future[Any]) -> None:
        with lite.transaction(writes=False) as connection:
            seen.append(row_of(connection, "drinks").round)

    future = drinks.writer.submit(Decide(count=2))
    future.add_done_callback(look)
    drinks.held.run()
    assert seen == [2]


def test_times_of_events_are_those_of_the_clock_also_backwards(drinks: Driven, clock: Clock) -> None:
    begun = clock.now
    for step in (0.0, 10.0, -30.0, 5.0):
        clock.now += step
        drinks.run(Decide())
    assert [event.time - begun for event in drinks.events()[1:]] == [0.0, 10.0, -20.0, -15.0]
    assert all(later.sequence == earlier.sequence + 1 for earlier, later in pairwise(drinks.events()))
