"""Events: kinds, rows, what replaying returns, and that damage of any kind is reported and causes no other error."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert

from evenhand import __version__
from evenhand.bandit import Bandit, pending
from evenhand.bandit.saved import settings_of
from evenhand.changes import AddArm, BringBack, Close, Promise, Retire
from evenhand.core.errors import EvenhandError, StateError
from evenhand.messages.requests import Round
from evenhand.service.store import Change, Decide, LeaseRounds, ReadAudit, ReportLease, Reward, Store, Total, tables
from evenhand.service.store.commands import Judge
from evenhand.service.store.database import Database
from evenhand.service.store.events import KINDS, Event, bandit_from, fold
from evenhand.service.store.export import log
from evenhand.service.store.reader import event_of
from evenhand.service.store.snapshots import LINE, LONG, Snapshot, unpacked
from tests.service.store.kit import Clock, Driven, change_rows, events_of, kinds, rebuilt, verified

ARMS = ["tea", "coffee", "cocoa"]
NAMES = [*ARMS, "mate"]
PLACE = {name: number for number, name in enumerate(NAMES)}
HOSTILE = [
    "a|b",
    'say "hi"',
    "x,y",
    "line\nbreak",
    "a\rb",
    "\x00",
    "☕🫖",
    "\u202e",
    "%s",
    "'; DROP TABLE events; --",
    "nan",
]


LIVED = ("drinks", "sums", "leased")


def lived(database: Database, clock: Clock) -> None:
    """An allocation in whose life there are events of many kinds, one with totals, and one with leases."""
    store = Store(database, clock)
    shares = {"fractions": [0.0, 0.25, 0.125], "eta": 5.0}
    store.create("drinks", ARMS, "lfg", parameters=shares, plays=2, seed=1, window=60.0, missing="lost")
    drinks = Driven(database, clock=clock)
    drinks.run(Decide(count=2))
    drinks.run(Decide(rounds=[Round(available=["tea", "cocoa"]), Round()], propensities=True))
    for event in drinks.events()[1:4]:
        drinks.run(Reward(((str(event.round), {event.body["arms"][0]: 0.5}),)))
    drinks.run(Change(AddArm("mate", fraction=0.125)))
    clock.now += 60.0
    drinks.run(Reward((("1", {drinks.events()[1].body["arms"][1]: 1.0}),)))
    drinks.run(Reward((("4", {drinks.events()[4].body["arms"][1]: 1.0}),)))
    drinks.run(Change(Promise({"tea": 0.125})))
    drinks.run(Change(Retire("cocoa")))
    drinks.run(Decide(count=3))
    drinks.run(Change(BringBack("cocoa")))
    drinks.run(Change(Close()))
    store.create("sums", ARMS, "ars_ucb", seed=1, rewards=(0.0, 2.0))
    sums = Driven(database, "sums", clock)
    for _ in range(3):
        sums.run(Decide())
        sums.run(Total(1.5))
    store.create("leased", ARMS, "fucb", parameters={"fractions": 0.25}, seed=1, window=60.0, missing="zero")
    leased = Driven(database, "leased", clock)
    leased.run(LeaseRounds(4, available=["tea"]))
    leased.run(LeaseRounds(3, units=True))
    leased.run(ReportLease("1", 2, {"tea": ([0], [1.0])}))
    leased.run(ReportLease("5", 2, columns=[2, 2], finished=True))
    clock.now += 60.0
    leased.run(ReportLease("1", 3, {"tea": ([1], [0.5])}))
    leased.run(Reward([("5", dict.fromkeys(ARMS, 1.0))]))
    clock.now += 60.0
    leased.run(Decide())
    leased.run(LeaseRounds(3))
    leased.run(Decide(rounds=[Round(available=["tea"])] * 30))
    leased.run(Judge())


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A database with both, whose books know one settled decision."""
    path = tmp_path_factory.mktemp("events") / "evenhand.db"
    database = Database(str(path))
    database.migrate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pending, "REMEMBERED", 1)
        lived(database, Clock())
        database.close()
        yield path


@contextmanager
def copied(kept: Path) -> Iterator[Database]:
    """A copy of a database, to be damaged."""
    with TemporaryDirectory() as folder:
        database = Database(str(shutil.copy(kept, folder)))
        try:
            yield database
        finally:
            database.close()


@pytest.fixture
def copy(kept: Path) -> Iterator[Database]:
    with copied(kept) as database:
        yield database


@pytest.fixture(scope="module")
def lives(kept: Path) -> dict[str, list[Event]]:
    """All events of all."""
    with copied(kept) as database:
        return {name: events_of(database, name) for name in LIVED}


def test_every_kind_is_looked_at(lives: dict[str, list[Event]], copy: Database) -> None:
    drinks = lives["drinks"]
    assert {kind for events in lives.values() for kind in kinds(events)} == set(KINDS) - {
        "state"
    }  # see test_compaction
    assert any(event.body.get("late") for event in lives["leased"])
    expired = [event.body for event in lives["leased"] if event.kind == "expire"]
    assert [sorted(body) for body in expired] == [["closed", "leases"], ["closed", "leases", "returned"]]
    assert any("forgotten" in event.body for event in drinks)
    assert any(event.body.get("late") and "forgotten" not in event.body for event in drinks)
    changes = {event.body["change"] for event in drinks if event.kind == "change"}
    assert changes == {"add", "retire", "bring_back", "promise", "close"}
    store = Store(copy)
    assert {name: verified(store.database, name) for name in lives} == {
        name: len(events) for name, events in lives.items()
    }
    store.close()


def test_an_event_and_its_row_are_the_same(lives: dict[str, list[Event]]) -> None:
    for event in lives["drinks"]:
        row = event.row(7, before="", place=PLACE)
        assert row["allocation"] == 7
        assert not any(name in row["body"] for name in NAMES)
        assert event_of(SimpleNamespace(**row), NAMES) == event._replace(chain=row["chain"])


def test_replaying_returns_whether_it_is_closed(lives: dict[str, list[Event]]) -> None:
    first, *events = lives["drinks"]
    bandit, closed = bandit_from(first), [False]
    for event in events:
        closed.append(fold(bandit, event, closed[-1])[1])
    assert closed == [False] * len(events) + [True]
    again = Event(99, 0.0, "change", bandit.state.round, {"change": "reopen"})
    assert fold(bandit, again, closed=True) == (bandit, False)


def test_a_bandit_is_made_from_its_first_event(lives: dict[str, list[Event]]) -> None:
    for first, *_ in lives.values():
        assert settings_of(bandit_from(first)) | {"evenhand": __version__} == first.body


def test_hostile_names_are_written_and_read_back(either: Database, clock: Clock) -> None:
    store = Store(either, clock)
    shares = {"fractions": dict.fromkeys(HOSTILE, 0.0625)}
    store.create("odd", HOSTILE, "fucb", parameters=shares, seed=1, plays=2)
    odd = Driven(either, "odd", clock, snapshot=5)
    for round in range(1, 12):
        arms = odd.run(Decide(available=HOSTILE[round - 11 :])).decisions[0].names
        answers = odd.run(Reward(((str(round), dict.fromkeys(arms, 1.0)),))).results
        assert {answer.status for answer in answers} == {"accepted"}
    odd.run(Change(Retire("\x00"), key="'\";--"))
    odd.run(Change(Promise({"☕🫖": 0.125})))
    again = Driven(either, "odd", clock)
    assert again.run(Decide(key="DROP_TABLE")).decisions[0].round == 12
    assert verified(store.database, "odd") == 26
    assert odd.rebuilt()[0].names == tuple(HOSTILE)
    store.close()


# --- Damage -----------------------------------------------------------------------------------------------------------


SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([10**30, 10**400, -1e300, 0.5, 1e-300]),
    st.sampled_from(
        ["tea", "coffee", "mate", "", "close", "inf", "nan", "type", "lfg", "evenhand.policy.merit:Power", "\x00"]
    ),
)
PLAIN = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ARMS, "type", "arm"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a plain value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def mutated(data: st.DataObject, value: Any) -> Any:
    """A plain value in which something is replaced, added or left out; never the size of anything."""
    value = deepcopy(value)
    path = data.draw(st.sampled_from(sorted(places(value), key=repr)))
    if not path:
        return data.draw(PLAIN)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    match data.draw(st.sampled_from(["replace", "replace", "remove", "add"])):
        case "replace":
            holder[path[-1]] = data.draw(PLAIN)
        case "remove":
            del holder[path[-1]]
        case "add" if isinstance(holder, dict):
            holder[data.draw(st.sampled_from(["change", "forgotten", "late", "arms", "spoon", "", "seed"]))] = (
                data.draw(PLAIN)
            )
        case "add":
            holder.append(data.draw(PLAIN))
    return value


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_event_is_reported_or_does_no_harm(lives: dict[str, list[Event]], data: st.DataObject) -> None:
    """Replayed by itself, whatever is changed in it: there is a bandit in the end, or an error names the damage."""
    events = list(lives[data.draw(st.sampled_from(["drinks", "leased", "sums"]))])
    place = data.draw(st.integers(0, len(events) - 1))
    event = events[place]
    match data.draw(st.sampled_from(["body", "body", "body", "kind", "round", "time"])):
        case "body":
            body = json.dumps(mutated(data, event.body))
            row = event.row(1, before="", place=PLACE) | {"body": body}
        case "kind":
            row = event.row(1, before="", place=PLACE) | {"kind": data.draw(st.sampled_from([*KINDS, "sleep", ""]))}
        case "round":
            row = event.row(1, before="", place=PLACE) | {
                "round": data.draw(st.none() | st.integers(-2, 12) | st.just(2**62))
            }
        case "time":
            row = event.row(1, before="", place=PLACE) | {"time": data.draw(st.floats(allow_nan=False))}
    with suppress(StateError):
        events[place] = event_of(SimpleNamespace(**row), NAMES)
        bandit, closed = rebuilt(events)
        assert isinstance(closed, bool)
        json.dumps(bandit.dump(), allow_nan=False)
        bandit.audit()


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_database_is_reported_or_does_no_harm(
    kept: Path, lives: dict[str, list[Event]], data: st.DataObject
) -> None:
    """By verify, by the log with estimates and without, and by commands."""
    name = data.draw(st.sampled_from(["drinks", "leased", "sums"]))
    event = data.draw(st.sampled_from(lives[name]))
    body = json.dumps(mutated(data, event.body))
    if data.draw(st.integers(0, 4)) == 0:
        cut = data.draw(st.integers(0, len(body)))
        body = (
            body[:cut] + data.draw(st.sampled_from(["", "[", '"', "\\", "{" * 3000, "[" * 200_000])) + body[cut + 1 :]
        )
    where = {"allocation": LIVED.index(name) + 1, "sequence": event.sequence, "body": body}
    with copied(kept) as database:
        change = "UPDATE events SET body = :body WHERE allocation = :allocation AND sequence = :sequence"
        change_rows(database, change, **where)
        store = Store(database, Clock())
        for look in (
            lambda: verified(store.database, name),
            lambda: list(log(database, name)),
            lambda: list(log(database, name, estimate=True)),
            lambda: store.run(name, Reward((("1", {"tea": 1.0, "coffee": 0.5}), ("2", {"tea": 1.0})))),
        ):
            with suppress(EvenhandError):
                look()
        store.close()


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_snapshot_is_ignored_or_reported_or_does_no_harm(
    kept: Path, lives: dict[str, list[Event]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["drinks", "leased"]))
    events = lives[name]
    sequence = data.draw(st.integers(1, len(events)))
    bandit, closed = rebuilt(events[:sequence])
    rest = {"sequence": sequence, "chain": events[sequence - 1].chain, "versions": [__version__]}
    state: Any = {"bandit": bandit.dump(), "closed": closed, **rest}
    match data.draw(st.sampled_from(["inside", "inside", "inside", "outside", "bytes"])):
        case "inside":
            part = data.draw(st.sampled_from(sorted(state["bandit"])))
            state["bandit"][part] = mutated(data, state["bandit"][part])
            packed = zlib.compress(json.dumps(state).encode())
        case "outside":
            packed = zlib.compress(json.dumps(mutated(data, state)).encode())
        case "bytes":
            whole = bytearray(zlib.compress(json.dumps(state).encode()))
            for _ in range(data.draw(st.integers(1, 3))):
                whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
            packed = bytes(whole)
    with copied(kept) as database:
        put(database, sequence, packed, name)
        store = Store(database, Clock())
        with suppress(StateError):
            assert verified(store.database, name) == len(events)
            assert store.run(name, ReadAudit()).sequence == len(events)
        store.close()


def test_a_large_snapshot_is_read_as_it_was() -> None:
    """With lists that are in lines of their own, an arm with a name as such a place has, and a seed of many bits."""
    bandit = Bandit([LINE, *map(str, range(LONG))], "fucb", fractions=1e-4, seed=2**70)
    bandit.decide(available=[LINE], now=0.0)
    snapshot = Snapshot(2, "c" * 32, False, bandit.dump(), ("0.1",))
    again = unpacked(snapshot.packed(), bandit.names)
    assert again == snapshot
    assert Bandit.restored(again.bandit).decide(now=1.0).arms == bandit.decide(now=1.0).arms


def put(database: Database, sequence: int, packed: bytes, name: str = "drinks") -> None:
    """A snapshot of an allocation, in place of others."""
    with database.transaction(writes=True) as connection:
        connection.execute(delete(tables.snapshots))
        connection.execute(
            insert(tables.snapshots), {"allocation": LIVED.index(name) + 1, "sequence": sequence, "state": packed}
        )


def test_a_deep_or_strange_snapshot_is_found_and_does_no_harm(lives: dict[str, list[Event]], copy: Database) -> None:
    for content in (b"[" * 100_000, b'{"bandit":' * 50_000, b"\xff" * 100, b"null", b"{}", b'{"bandit":{}}'):
        put(copy, 5, zlib.compress(content))
        with pytest.raises(StateError, match="the snapshot after event 5 is damaged"):
            verified(copy, "drinks")
        store = Store(copy, Clock())
        assert store.run("drinks", ReadAudit()).sequence == len(lives["drinks"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Event(2, 0.0, "decide", 1, {"arms": ["tea", "coffee"]}), "tea, coffee cannot have played"),
        (Event(2, 0.0, "decide", 1, {"arms": ["tea"], "available": ["coffee"]}), "tea cannot have played"),
        (Event(2, 0.0, "decide", 2, {"arms": ["tea"]}), "it is of round 2, which should be 1"),
        (Event(2, 0.0, "reward", 1, {"rewards": {"tea": 1.0}, "late": []}), "there is no decision '1'"),
        (Event(2, 0.0, "total", 1, {"value": 1.0}), "it is of round 1, which should be 0"),
        (Event(2, 0.0, "expire", None, {"closed": {"1": ["tea"]}}), "decision 1 does not wait for rewards of tea"),
        (Event(2, 0.0, "change", 0, {"change": "retire"}), "retire needs arm"),
        (Event(2, 0.0, "decide", 1, {"arms": ["tea"], "memory": {"index": {}}}), "has no memory to be recorded"),
    ],
)
def test_an_event_that_cannot_follow_is_found(wrong: Event, message: str) -> None:
    with pytest.raises(StateError, match=rf"event 2 \({wrong.kind}\) cannot be replayed: .*{message}"):
        fold(Bandit(ARMS, "ucb1", seed=1)._record, wrong, closed=False)
