"""The store: allocations are made, listed, asked and verified."""

from __future__ import annotations

import json
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, select, text

from evenhand import __version__
from evenhand.bandit import Bandit
from evenhand.changes import AddArm, Close, Rename, Retire
from evenhand.core.errors import EvenhandError, InfeasiblePromise, StateError
from evenhand.messages.answers import Allocations, AllocationSummary, moment
from evenhand.messages.requests import Round
from evenhand.policy.custom_merit import Custom
from evenhand.service.store import Change, Decide, Describe, ReadAudit, Reward, Store, tables
from evenhand.service.store.arms import BANDIT, numbered
from evenhand.service.store.database import Database
from evenhand.service.store.errors import Conflict, StoreUnavailable, UnknownAllocation
from evenhand.service.store.verify import verify
from tests.service.store.kit import (
    START,
    Clock,
    Driven,
    body_of,
    change_rows,
    count,
    events_of,
    kinds,
    rebuilt,
    rechain,
    set_body,
    verified,
)

ARMS = ["tea", "coffee", "cocoa"]
SHARES: dict[str, Any] = {"fractions": {"coffee": 0.25}}

# --- Making allocations -----------------------------------------------------------------------------------------------


def test_the_first_event_makes_an_allocation(store: Store, lite: Database) -> None:
    new = store.create(
        "drinks", ARMS, "fucb", parameters=SHARES, plays=2, seed=7, window=60, missing="zero", rewards=(-1, 1)
    )
    assert new is True
    (event,) = events_of(lite, "drinks")
    assert event[:4] == (1, START, "create", None)
    assert event.body == {
        "algorithm": "fucb",
        "arms": ARMS,
        "plays": 2,
        "seed": 7,
        "window": 60.0,
        "missing": "zero",
        "rewards": [-1.0, 1.0],
        "parameters": {"fractions": [0.0, 0.25, 0.0]},
        "evenhand": __version__,
    }
    assert store.allocations().allocations == (AllocationSummary("drinks", "fucb", 3, 0, False, moment(START)),)


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("lfg", {"fractions": [0.25, 0.0, 0.0], "eta": float("inf")}),
        ("fcts_d", {"merit": {"kind": "power", "exponent": 2.0}}),
        ("thompson", {"evidence": "both"}),
        ("fair_learn", {"fractions": (0.25, 0, 0), "tolerance": np.float64(0.5)}),
    ],
)
def test_parameters_come_back_as_they_were(
    store: Store, lite: Database, algorithm: str, parameters: dict[str, Any]
) -> None:
    """Made from the event, the bandit decides as one that was made directly."""
    store.create("drinks", ARMS, algorithm, parameters=parameters, seed=2)
    bandit, _ = rebuilt(events_of(lite, "drinks"))
    assert bandit.dump() == Bandit(ARMS, algorithm, seed=2, **parameters).dump()


def test_without_a_seed_one_is_drawn(store: Store) -> None:
    for name in ("one", "two"):
        store.create(name, ARMS, "thompson")
    seeds = [store.run(name, Describe()).seed for name in ("one", "two")]
    assert seeds[0] != seeds[1]
    assert all(0 <= seed < 2**53 for seed in seeds)  # a number that JavaScript can tell from its neighbours


def test_the_same_can_be_created_again(either: Database, clock: Clock) -> None:
    store = Store(either, clock)
    settings: dict[str, Any] = {"parameters": SHARES, "window": 60.0, "missing": "lost", "seed": 7}
    assert store.create("drinks", ARMS, "fucb", **settings)
    clock.now += 5.0
    assert not store.create("drinks", ARMS, "fucb", **settings)
    assert not store.create("drinks", ARMS, "fucb", **settings | {"parameters": {"fractions": (0, 0.25, 0)}})
    assert not store.create("drinks", ARMS, "fucb", **settings | {"seed": None})
    store.run("drinks", Decide(count=3))
    store.run("drinks", Change(Retire("cocoa")))
    assert not store.create("drinks", tuple(ARMS), "fucb", **settings)
    assert kinds(events_of(either, "drinks")) == ["create", *["decide"] * 3, "change"]
    assert [one.created for one in store.allocations().allocations] == [moment(START)]
    store.close()


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("arms", {"arms": ["coffee", "tea", "cocoa"], "parameters": {"fractions": [0.0, 0.25, 0.0]}}),
        ("algorithm", {"algorithm": "ars_fucb"}),
        ("parameters", {"parameters": {"fractions": {"coffee": 0.3}}}),
        ("plays", {"plays": 2}),
        ("seed", {"seed": 8}),
        ("window", {"window": 61.0}),
        ("window, missing", {"window": None, "missing": "never"}),
        ("missing", {"missing": "zero"}),
        ("rewards", {"rewards": (-1.0, 1.0)}),
        ("rewards", {"rewards": (0.0, 2.0)}),
        ("plays, seed, window", {"plays": 2, "seed": 0, "window": 1.0, "missing": "lost"}),
    ],
)
def test_another_of_the_name_is_a_conflict(store: Store, part: str, other: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        "arms": ARMS,
        "algorithm": "fucb",
        "parameters": SHARES,
        "window": 60.0,
        "missing": "lost",
        "seed": 7,
    }
    store.create("drinks", **settings)
    with pytest.raises(Conflict, match=f"there is already an allocation 'drinks' with other {part}$"):
        store.create("drinks", **settings | other)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "-a", ".a", "_a", "a/b", "é", "a\n", "\na", "a\x00", "\ud800", "x" * 101, "../drinks"]
)
def test_names_that_would_make_trouble_are_refused(store: Store, lite: Database, name: str) -> None:
    with pytest.raises(EvenhandError, match="1 to 100 letters, digits"):
        store.create(name, ARMS, "ucb1")
    assert count(lite, "allocations") == count(lite, "events") == 0


@pytest.mark.parametrize("name", ["a", "7", "A.b-c_d", "x" * 100, "drinks", "Drinks", "NULL", "0"])
def test_other_names_are_taken(store: Store, name: str) -> None:
    assert store.create(name, ARMS, "ucb1")
    assert store.run(name, Describe()).name == name


@pytest.mark.parametrize(
    ("wrong", "error", "fault"),
    [
        ({"parameters": {"fractions": {"coffee": 0.6, "tea": 0.6}}}, InfeasiblePromise, "cannot be kept"),
        ({"parameters": {"fractions": {"mate": 0.6}}}, EvenhandError, "unknown arm 'mate'"),
        ({"parameters": {}}, EvenhandError, "fractions"),
        ({"parameters": {"fractions": {}, "plays": 2}}, EvenhandError, "'plays' is not a parameter"),
        ({"parameters": {"fractions": {}, "self": 2}}, EvenhandError, "'self' is not a parameter"),
        ({"parameters": {"fractions": {}, "spoon": 2}}, EvenhandError, "spoon"),
        ({"parameters": {5: 2}}, EvenhandError, "5 is not a parameter"),
        ({"algorithm": "fcub"}, EvenhandError, "did you mean 'fucb'"),
        ({"arms": []}, EvenhandError, "at least one arm"),
        ({"arms": ["tea", "tea"]}, EvenhandError, "2 arms have the name 'tea'"),
        ({"arms": ["tea", "\ud800"]}, EvenhandError, "encodable as UTF-8"),
        ({"plays": 4}, EvenhandError, "plays"),
        ({"plays": 0}, EvenhandError, "plays must be at least 1"),
        ({"seed": -1}, EvenhandError, "seed must be at least 0"),
        ({"window": 0.0}, EvenhandError, "window must be above 0"),
        ({"missing": "mean"}, EvenhandError, "missing must be 'never' or 'lost' or 'zero'"),
        ({"rewards": (1.0, 0.0)}, EvenhandError, "a smaller and a larger"),
    ],
)
def test_what_cannot_be_made_leaves_nothing(
    store: Store, lite: Database, wrong: dict[str, Any], error: type[EvenhandError], fault: str
) -> None:
    settings: dict[str, Any] = {"arms": ARMS, "algorithm": "fucb", "parameters": SHARES}
    with pytest.raises(error, match=fault):
        store.create("drinks", **settings | wrong)
    assert count(lite, "allocations") == count(lite, "events") == 0
    assert store.create("drinks", **settings)


def test_what_cannot_be_written_down_is_refused(store: Store, lite: Database) -> None:
    """A merit of one's own cannot be made again from an event."""
    with pytest.raises(EvenhandError, match="cannot be saved"):
        store.create("drinks", ARMS, "fcts_d", parameters={"merit": Custom(lambda score: 1.0 + score)})
    assert count(lite, "events") == 0


def test_many_that_make_the_same_at_once_make_it_once(either: Database, clock: Clock) -> None:
    stores = [Store(either, clock), Store(Database(either.url.render_as_string(hide_password=False)), clock)]
    with ThreadPoolExecutor(8) as together:
        new = list(together.map(lambda number: stores[number % 2].create("drinks", ARMS, "thompson"), range(16)))
    assert sorted(new) == [False] * 15 + [True]
    assert kinds(events_of(either, "drinks")) == ["create"]
    for store in stores:
        store.close()


def test_one_that_comes_first_is_found(postgresql: str, clock: Clock) -> None:
    """Another process makes it between looking for it and making it, which a lock prevents on SQLite."""
    store, other = Store.open(postgresql, clock=clock), Store.open(postgresql, clock=clock)

    def first(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO allocations"):
            name = f"drinks-{len(other.allocations().allocations)}"
            assert other.create(name, ARMS, "ucb1", seed=1)

    event.listen(store.database.engine, "before_cursor_execute", first)
    assert not store.create("drinks-0", ARMS, "ucb1", seed=1)
    with pytest.raises(Conflict, match="with other seed"):
        store.create("drinks-1", ARMS, "ucb1", seed=2)
    assert kinds(events_of(store.database, "drinks-1")) == ["create"]
    store.close()
    other.close()


def test_of_many_that_differ_one_is_made(either: Database, clock: Clock) -> None:
    store = Store(either, clock)

    def make(seed: int) -> str:
        try:
            return str(store.create("drinks", ARMS, "ucb1", seed=seed))
        except Conflict as conflict:
            return str(conflict)

    with ThreadPoolExecutor(4) as together:
        outcomes = sorted(together.map(make, range(8)))
    assert outcomes == ["True"] + ["there is already an allocation 'drinks' with other seed"] * 7
    store.close()


# --- Listing and asking -----------------------------------------------------------------------------------------------


def test_allocations_are_listed_by_name(store: Store, clock: Clock) -> None:
    for name, arms in (("b", ARMS), ("a", ["x"]), ("c", ARMS)):
        store.create(name, arms, "ucb1", seed=1)
        clock.now += 1.0
    store.run("c", Decide(count=4))
    store.run("c", Change(Retire("tea")))
    store.run("b", Change(Close()))
    assert store.allocations().allocations == (
        AllocationSummary("a", "ucb1", 1, 0, False, moment(START + 1.0)),
        AllocationSummary("b", "ucb1", 3, 0, True, moment(START)),
        AllocationSummary("c", "ucb1", 2, 4, False, moment(START + 2.0)),
    )


def test_an_empty_store_has_no_allocations(either: Database) -> None:
    store = Store(either)
    assert store.allocations() == Allocations((), None)
    assert store.loaded() == []
    store.close()


def test_allocations_do_not_know_of_each_other(store: Store) -> None:
    for name in ("one", "two"):
        store.create(name, ARMS, "thompson", seed=3)
    first = [store.run("one", Decide()).decisions[0].names for _ in range(5)]
    store.run("one", Reward((("1", {first[0][0]: 1.0}),)))
    assert [store.run("two", Decide()).decisions[0].names for _ in range(5)] == first
    assert store.run("two", Reward((("6", {"tea": 1.0}),))).results[0].status == "unknown"
    assert sorted(store.loaded()) == ["one", "two"]


def test_an_unknown_allocation_is_refused_and_forgotten(either: Database) -> None:
    store = Store(either)
    asks = (lambda name: store.run(name, Decide()), lambda name: store.run(name, ReadAudit()))
    for name, ask in product(["nobody", "", "a b", "x" * 5000, "a\x00b", "\ud800", "' OR '1'='1"], asks):
        with pytest.raises(UnknownAllocation) as unknown:
            ask(name)
        assert str(unknown.value) == f"there is no allocation {name!r}"
    assert store.loaded() == []
    store.close()


def test_a_store_finishes_what_was_asked_before_it_closes(lite: Database, clock: Clock) -> None:
    store = Store(lite, clock)
    store.create("drinks", ARMS, "ucb1", seed=1)
    futures = [store.submit("drinks", Decide()) for _ in range(2000)]
    store.close()
    assert sorted(future.result(timeout=0).decisions[0].round for future in futures) == list(range(1, 2001))
    with pytest.raises(StoreUnavailable, match="the store is closed"):
        store.run("drinks", Decide())
    with pytest.raises(StoreUnavailable, match="the store is closed"):
        store.run("drinks", ReadAudit())
    store.close()


def test_the_computers_clock_is_used_where_none_is_given(lite: Database) -> None:
    store, begun = Store(lite), datetime.now(UTC)
    store.create("drinks", ARMS, "ucb1", seed=1)
    decided = store.run("drinks", Decide()).decisions[0].time
    assert begun <= store.allocations().allocations[0].created <= decided <= datetime.now(UTC)
    store.close()


def test_a_store_that_is_not_to_be_made_is_not(sqlite: str, tmp_path: Any) -> None:
    with pytest.raises(EvenhandError, match=r"there is no database .*evenhand\.db; `evenhand keys create` creates one"):
        Store.open(sqlite, new=False)
    assert list(tmp_path.iterdir()) == []
    Store.open(sqlite).close()
    Store.open(sqlite, new=False).close()


# --- Verifying --------------------------------------------------------------------------------------------------------


@pytest.fixture
def used(drinks: Driven, clock: Clock) -> Driven:
    """Decisions, rewards, a late one, a change, and a snapshot after event 9 of 11.

    1 create, 2-4 decide, 5 reward of 1, 6 change, 7 expire of 2 and 3, 8 late reward of 2, 9 decide, 10 decide, 11
    reward of 5.
    """
    drinks.run(Decide(rounds=[Round(available=["tea"])] * 3))
    drinks.run(Reward((("1", {"tea": 0.5}),)))
    drinks.run(Change(AddArm("mate", fraction=0.125)))
    clock.now += 60.0
    drinks.run(Reward((("2", {"tea": 1.0}),)))
    drinks.run(Decide())
    drinks.writer.write_snapshot()
    drinks.run(Decide())
    drinks.run(Reward((("5", {drinks.events()[-1].body["arms"][0]: 1.0}),)))
    assert kinds(drinks.events()) == [
        *("create", "decide", "decide", "decide", "reward", "change"),
        *("expire", "reward", "decide", "decide", "reward"),
    ]
    return drinks


def test_what_has_happened_comes_to_the_same(used: Driven, store: Store) -> None:
    assert verified(store.database, "drinks") == 11
    assert count(used.database, "snapshots") == 1


def test_verify_can_be_asked_of_an_allocation_in_use(either: Database, clock: Clock) -> None:
    store = Store(either, clock, snapshot=20)
    store.create("drinks", ARMS, "lfg", parameters={"fractions": [0.25, 0, 0], "eta": 5.0}, plays=2, seed=1)
    with ThreadPoolExecutor(1) as other:
        futures = [other.submit(store.run, "drinks", Decide()) for _ in range(60)]
        counts = [verified(store.database, "drinks") for _ in range(5)]
        assert all(future.result() for future in futures)
    assert counts == sorted(counts)
    assert verified(store.database, "drinks") == 61
    store.close()


#: What is changed, and what verifying says even where the hashes were made to fit; empty where only they show it.
DAMAGE: list[tuple[str, dict[str, Any], str]] = [
    ("another arm played", {"sequence": 3, "arms": [2]}, r"event 3 \(decide\) .* cannot have played"),
    ("nobody played", {"sequence": 3, "arms": []}, r"event 7 \(expire\)"),
    ("an unknown arm played", {"sequence": 3, "arms": [3]}, r"event 3 \(decide\)"),
    ("too many played", {"sequence": 9, "arms": [0, 1, 2]}, r"event 9 \(decide\) .* too many"),
    ("others were available", {"sequence": 3, "available": [2]}, r"event 3 \(decide\) .* cannot have played"),
    ("another propensity", {"sequence": 10, "propensity": [0.5]}, ""),
    ("no propensity", {"sequence": 10, "propensity": None}, ""),
    ("more propensities", {"sequence": 10, "propensity": [1.0, 1.0]}, r"event 10 \(decide\)"),
    ("another reward", {"sequence": 5, "rewards": {"0": 0.25}}, "the snapshot after event 9 differs"),
    ("a reward that is no number", {"sequence": 5, "rewards": {"0": "much"}}, r"event 5 \(reward\) is damaged"),
    ("of an arm that did not play", {"sequence": 5, "rewards": {"2": 0.5}}, r"event 5 \(reward\)"),
    ("late in time", {"sequence": 5, "late": [0]}, r"event 5 \(reward\) .* does not wait"),
    ("in time when late", {"sequence": 8, "late": []}, r"event 8 \(reward\) .* does not wait"),
    ("another promise", {"sequence": 6, "fraction": 0.5}, "the snapshot after event 9 differs"),
    ("another change", {"sequence": 6, "change": "retire", "fraction": None}, r"event 6 \(change\)"),
    ("an unknown change", {"sequence": 6, "change": "sell"}, r"event 6 \(change\) is damaged: .*change"),
    ("a field too many", {"sequence": 6, "colour": "red"}, r"event 6 \(change\) is damaged: add\.colour"),
    ("other windows closed", {"sequence": 7, "closed": {"2": [0]}}, r"event 8 \(reward\)|snapshot"),
    ("another seed", {"sequence": 1, "seed": 99}, "the snapshot after event 9 differs"),
    ("another algorithm", {"sequence": 1, "algorithm": "ars_fucb"}, "event|snapshot"),
    ("made of nothing", {"sequence": 1, "arms": None}, r"event 1 \(create\) is damaged: arms"),
]


@pytest.mark.parametrize(("_", "damage", "fault"), DAMAGE, ids=[name for name, _, _ in DAMAGE])
def test_events_that_were_changed_are_found(
    used: Driven, store: Store, _: str, damage: dict[str, Any], fault: str
) -> None:
    body = body_of(used.database, damage["sequence"])
    changed = {name: value for name, value in (body | damage).items() if name != "sequence" and value is not None}
    set_body(used.database, damage["sequence"], changed)
    with pytest.raises(StateError, match=rf"allocation 'drinks': event {damage['sequence']} .* was edited"):
        verified(store.database, "drinks")
    rechain(used.database)
    if fault:
        with pytest.raises(StateError, match=fault):
            verified(store.database, "drinks")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("kind = 'total' WHERE sequence = 5", r"event 5 \(total\) is damaged"),
        ("kind = 'sleep' WHERE sequence = 5", r"event 5 \(sleep\) has an unknown kind"),
        ("kind = 'decide' WHERE sequence = 1", r"event 1 \(decide\) is damaged"),
        ("round = 2 WHERE sequence = 5", "event 7 .* decision 2 does not wait for rewards of tea"),
        ("round = 99 WHERE sequence = 3", "it is of round 99, which should be 2"),
        ("round = 7 WHERE sequence = 6", "it is of round 7, which should be 3"),
        ("time = time + 100 WHERE sequence = 4", "snapshot"),
        ("version = 99 WHERE sequence = 4", "event 4 .* has version 99; this version of Evenhand reads up to 2"),
        ("body = 'no JSON' WHERE sequence = 11", r"event 11 \(reward\) is damaged"),
        ("body = '[]' WHERE sequence = 11", r"event 11 \(reward\) is damaged"),
        ("body = 'null' WHERE sequence = 1", r"event 1 \(create\) is damaged"),
    ],
)
def test_rows_that_were_changed_are_found(used: Driven, store: Store, change: str, fault: str) -> None:
    change_rows(used.database, f"UPDATE events SET {change}")
    with pytest.raises(StateError, match="was edited"):
        verified(store.database, "drinks")
    rechain(used.database)
    with pytest.raises(StateError, match=fault):
        verified(store.database, "drinks")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("DELETE FROM events WHERE sequence = 1", "event 1 is missing; event 2 comes next"),
        ("DELETE FROM events WHERE sequence = 5", "event 5 is missing; event 6 comes next"),
        ("DELETE FROM events WHERE sequence = 11", "its sequence is recorded as 11, but its events result in 10"),
        ("DELETE FROM events", "it has no events"),
        ("UPDATE events SET sequence = 12 WHERE sequence = 11", "event 11 is missing; event 12 comes next"),
        (
            "INSERT INTO events SELECT allocation, 12, time, kind, round, version, body, key, chain FROM events "
            "WHERE sequence = 11",
            r"event 12 \(reward\) was edited",
        ),
        ("UPDATE events SET chain = '' WHERE sequence = 4", r"event 4 \(decide\) was edited"),
        ("UPDATE allocations SET sequence = 10", "its sequence is recorded as 10, but its events result in 11"),
        ("UPDATE allocations SET round = 9", "its round is recorded as 9, but its events result in 5"),
        ("UPDATE allocations SET arms = 9", "its arms is recorded as 9, but its events result in 4"),
        ("UPDATE allocations SET closed = TRUE", "its closed is recorded as True, but its events result in False"),
        ("UPDATE allocations SET algorithm = 'ucb1'", "its algorithm is recorded as 'ucb1'"),
        ("UPDATE allocations SET created = created + 1", "its created is recorded as"),
        ("DELETE FROM arms WHERE number = 1", "arm 1 has no name"),
        ("DELETE FROM arms WHERE number = 3", r"event 6 \(change\) is damaged: it refers to an arm beyond the 3 arms"),
        ("UPDATE arms SET name = 'tea'", "the name of an arm is damaged"),
        ("UPDATE arms SET allocation = 99", "event 1 .* is damaged"),
        ("INSERT INTO arms SELECT allocation, 4, name FROM arms WHERE number = 3", "5 arms have a name"),
        ("UPDATE snapshots SET sequence = 8", "the snapshot after event 8 differs"),
        ("UPDATE snapshots SET sequence = 99", "there is a snapshot after event 99, but no such event"),
        ("UPDATE snapshots SET state = X'00'", "the snapshot after event 9 is damaged"),
    ],
)
def test_damage_beyond_the_bodies_is_found(used: Driven, store: Store, change: str, fault: str) -> None:
    if "X'00'" in change and used.database.engine.dialect.name == "postgresql":
        change = change.replace("X'00'", r"'\x00'")
    change_rows(used.database, change)
    with pytest.raises(StateError, match=fault):
        verified(store.database, "drinks")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE allocations SET name = 'other'",
        "UPDATE arms SET name = '\"cacao\"' WHERE number = 1",
        "DELETE FROM answers WHERE key = 'one'",
        "UPDATE answers SET key = 'three' WHERE key = 'one'",
        "UPDATE answers SET digest = 'x' WHERE key = 'one'",
        "UPDATE answers SET time = time + 1 WHERE key = 'one'",
        """UPDATE answers SET body = replace(body, '"arm":"tea"', '"arm":"mate"') WHERE key = 'one'""",
        "INSERT INTO answers SELECT allocation, 'three', digest, time, body FROM answers WHERE key = 'one'",
    ],
)
def test_names_and_answers_that_somebody_changed_are_found(used: Driven, store: Store, change: str) -> None:
    """Also where no event has them, and whether there are others or none."""
    for key in ("one", "two"):
        used.run(Decide(available=["tea"], key=key))
    used.run(Change(Rename("coffee", "green tea"), key="rename"))
    used.writer.write_snapshot()
    assert verified(store.database, "drinks")
    change_rows(used.database, change)
    (fault,) = verify(used.database).faults
    what = "its answers to idempotency keys" if "answers" in change else "its name or the names of its arms"
    assert fault.endswith(f": {what} were edited, added or removed")


def test_health_that_somebody_changed_is_found(used: Driven, store: Store) -> None:
    used.run(Decide())
    used.writer.write_snapshot()
    assert verified(store.database, "drinks")
    change_rows(used.database, "UPDATE summaries SET body = replace(body, 'good', 'well')")
    with pytest.raises(StateError, match="the health that is kept for lists is not the one"):
        verified(store.database, "drinks")


def test_rows_of_no_allocation_are_found(used: Driven) -> None:
    change_rows(
        used.database,
        "INSERT INTO events SELECT 77, sequence, time, kind, round, version, body, key, chain FROM events",
    )
    assert verify(used.database).faults == ("11 rows of events belong to no allocation",)


def test_a_snapshot_that_disagrees_is_found(used: Driven, store: Store) -> None:
    """Of this format and whole, but with another count."""
    state = read_snapshot(used.database)
    state["bandit"]["statistics"]["late"]["values"][0] += 1.0
    write_snapshot(used.database, state)
    with pytest.raises(StateError, match="'drinks': the snapshot after event 9 differs from the state that the events"):
        verified(store.database, "drinks")
    state["bandit"]["statistics"]["late"]["values"][0] -= 1.0
    write_snapshot(used.database, state)
    assert verified(store.database, "drinks") == 11
    write_snapshot(used.database, state | {"closed": True})
    with pytest.raises(StateError, match="the snapshot after event 9 differs"):
        verified(store.database, "drinks")


@pytest.mark.parametrize("change", [{"format": 999}, {"evenhand": None}, {"arms": 1}])
def test_a_snapshot_that_cannot_be_used_is_replaced(used: Driven, store: Store, change: dict[str, Any]) -> None:
    """The events suffice; verifying complains of damage, but not of the format of another version."""
    state = read_snapshot(used.database)
    for name, value in change.items():
        if value is None:
            del state["bandit"][name]
        else:
            state["bandit"][name] = value
    write_snapshot(used.database, state)
    if "format" in change:
        assert verified(store.database, "drinks") == 11
    else:
        with pytest.raises(StateError, match="the snapshot after event 9 is damaged"):
            verified(store.database, "drinks")
    again = Driven(used.database, clock=used.clock)
    assert again.run(Decide()).decisions[0].round == 6
    again.writer.write_snapshot()
    bandit, _ = again.rebuilt()
    assert read_snapshot(used.database)["bandit"] == numbered(BANDIT, bandit.dump(), bandit._record.arms.place)


def read_snapshot(database: Database) -> Any:
    with database.transaction(writes=False) as connection:
        return json.loads(zlib.decompress(connection.execute(select(tables.snapshots.c.state)).scalar_one()))


def write_snapshot(database: Database, state: Any) -> None:
    packed = zlib.compress(json.dumps(state).encode())
    with database.transaction(writes=True) as connection:
        connection.execute(text("UPDATE snapshots SET state = :state"), {"state": packed})
