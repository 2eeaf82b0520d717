"""Features of decisions in the store: apart from the events, sealed by them, and erased without a trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import text

from evenhand import EvenhandError, Features
from evenhand.bandit import Bandit
from evenhand.bandit.evaluation.log import read_log
from evenhand.changes import AddArm
from evenhand.core.parts import build
from evenhand.features import Category, Number
from evenhand.messages.requests import Round
from evenhand.service.priority import LONG
from evenhand.service.store import Change, Decide, Describe, ReadAudit, Reward, Store, commands
from evenhand.service.store.commands import PRODUCT
from evenhand.service.store.compaction import compact
from evenhand.service.store.database import Database
from evenhand.service.store.errors import DamagedAllocation, TooMuchWork
from evenhand.service.store.export import write_log
from evenhand.service.store.repair import export_events, import_events
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock, change_rows, count

FEATURES: dict[str, Any] = {
    "situation": {
        "age": {"kind": "number", "low": 0, "high": 100},
        "country": {"kind": "category", "levels": ["DE", "FR"]},
    },
    "arms": {"price": {"kind": "number", "low": 0, "high": 50}},
}
POLICY = {"index": {"kind": "lin_ts", "model": "hybrid"}, "selection": {"kind": "exploration_floor", "floor": 0.1}}
PRICES = {"tea": {"price": 2.0}, "coffee": {"price": 3.0}}
SETTINGS: dict[str, Any] = {"missing": "zero", "window": 60.0, "features": FEATURES, "arm_features": PRICES, "seed": 1}


@pytest.fixture
def shop(store: Store) -> Store:
    """A store with an allocation by features."""
    assert store.create("shop", ["tea", "coffee"], POLICY, **SETTINGS)
    return store


@pytest.fixture
def again(lite: Database, clock: Clock) -> Iterator[Any]:
    """Opens the database anew, in which nothing is in memory."""
    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(Store(Database(str(lite.url.database)), clock=clock))
        return opened[-1]

    yield open_again
    for one in opened:
        one.close()


def seen(number: int) -> Round:
    return Round({"age": 20.0 + number, "country": "DE" if number % 3 else "FR"})


def play(store: Store, clock: Clock, rounds: range) -> None:
    """Decisions whose rewards arrive late, some of them never."""
    for number in rounds:
        (decision,) = store.run("shop", Decide(rounds=[seen(number)])).decisions
        clock.now += 10.0
        late = number - 2
        if late > 0 and late % 4:
            (arm,) = decision.names
            store.run("shop", Reward([(decision.id, {arm: float(number % 2)})]))


def bodies(database: Database) -> str:
    """All that is stored but for the features."""
    with database.transaction(writes=False) as connection:
        rows = [
            connection.execute(text(f"SELECT * FROM {table}")).all() for table in ("events", "answers", "summaries")
        ]
    return str(rows)


def test_an_allocation_by_features_is_described_and_made_once(shop: Store) -> None:
    assert not shop.create("shop", ["tea", "coffee"], POLICY, **SETTINGS)
    described = shop.run("shop", Describe())
    assert described.features is not None
    assert set(described.features["situation"]) == {"age", "country"}
    assert described.arm_features == PRICES


def test_the_store_learns_what_a_bandit_learns(shop: Store, clock: Clock) -> None:
    bandit = Bandit(["tea", "coffee"], POLICY, **SETTINGS)
    for number in range(40):
        now, one = clock.now, seen(number)
        mine = bandit.decide(one.features, now=now)
        (theirs,) = shop.run("shop", Decide(rounds=[one])).decisions
        assert mine.arms == theirs.arms
        clock.now += 25.0  # the window of the decision before the last passes
        if number % 3 == 0:
            rewards = {mine.names[0]: 1.0}
            bandit.observe(mine.id, rewards, now=clock.now)
            assert [one.status for one in shop.run("shop", Reward([(theirs.id, rewards)])).results] == ["accepted"]
    assert verify(shop.database, redecide=True).faults == ()


def test_replay_and_snapshots_have_the_same_state(shop: Store, clock: Clock, again: Any) -> None:
    play(shop, clock, range(30))
    one = again().run("shop", Decide(features={"age": 50, "country": "FR"})).decisions[0]
    change_rows(shop.database, "DELETE FROM snapshots")
    assert verify(shop.database, redecide=True).faults == ()
    assert one.round == shop.run("shop", ReadAudit()).round


def test_values_stand_in_their_table_alone(shop: Store, clock: Clock) -> None:
    shop.run("shop", Decide(features={"age": 33.25, "country": "FR"}, key="once"))
    assert "33.25" not in bodies(shop.database)
    assert "FR" not in bodies(shop.database).replace(str(FEATURES["situation"]["country"]["levels"]), "").replace(
        json.dumps(["DE", "FR"], separators=(",", ":")), ""
    )
    with shop.database.transaction(writes=False) as connection:
        ((salt, body),) = connection.execute(text("SELECT salt, body FROM features")).all()
    assert len(salt) == 32
    assert json.loads(body)[-2:] == [{"age": 33.25, "country": "FR"}, None]


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE features SET body = replace(body, '20.0', '21.0') WHERE round = 1", "the features of decision 1 were"),
        ("UPDATE features SET salt = 'ff' WHERE round = 1", "the features of decision 1 were edited"),
        ("UPDATE features SET salt = 'xx' WHERE round = 1", "the features of decision 1 were edited"),
        ("DELETE FROM features WHERE round = 1", "its features are erased"),
        ("INSERT INTO features VALUES (1, 999, 'ff', '[]')", "features of decision 999, but no event has a seal"),
    ],
)
def test_what_is_edited_is_found(shop: Store, clock: Clock, statement: str, fault: str) -> None:
    play(shop, clock, range(4))
    change_rows(shop.database, statement)
    assert any(fault in one for one in verify(shop.database).faults)


def test_old_features_are_erased_with_their_answers(shop: Store, clock: Clock, again: Any) -> None:
    play(shop, clock, range(20))
    shop.run("shop", Decide(features={"age": 33.25, "country": "FR"}, key="once"))
    (waiting,) = shop.run("shop", Decide(features={"age": 44.0, "country": "DE"})).decisions
    clock.now += 30.0
    before = count(shop.database, "features")
    compact(shop.database, "shop", clock.now)
    left = count(shop.database, "features")
    assert 1 <= left < before
    assert count(shop.database, "answers") == 0
    assert verify(shop.database).faults == ()
    # The reward of a decision that waits meets its features, which were kept.
    (result,) = shop.run("shop", Reward([(waiting.id, {waiting.names[0]: 1.0})])).results
    assert result.status == "accepted"
    play(shop, clock, range(20, 24))
    assert verify(shop.database, redecide=True).faults == ()
    change_rows(shop.database, f"UPDATE features SET body = replace(body, '44.0', '45.0') WHERE round = {waiting.id}")
    assert any(f"features of decision {waiting.id} were edited" in one for one in verify(shop.database).faults)


def test_the_log_has_features_only_when_asked(shop: Store, clock: Clock, tmp_path: Path) -> None:
    play(shop, clock, range(6))
    shop.run("shop", Decide(rounds=[Round({"age": 7, "country": "=1+1"}, {"tea": {"price": 9.5}})]))
    write_log(shop.database, "shop", tmp_path / "plain.csv")
    assert "age" not in pd.read_csv(tmp_path / "plain.csv").columns
    for name in ("log.csv", "log.parquet"):
        write_log(shop.database, "shop", tmp_path / name, features=True)
    table = pd.read_csv(tmp_path / "log.csv", dtype=str)
    assert table["age"].tolist()[:2] == ["20.0", "21.0"]
    assert table["country"].iloc[-1] == "'=1+1"
    assert json.loads(table["available"].iloc[-1]) == {"tea": {"price": 9.5}, "coffee": {"price": 3.0}}
    for name in ("log.csv", "log.parquet"):
        log = read_log(tmp_path / name, features=FEATURES, missing="zero")
        assert log.known is not None
        assert log.known.situation[:2, 1].tolist() == [0.2, 0.21]


def test_numbers_below_0_and_names_like_formulas_come_back_from_a_csv_file(shop: Store, tmp_path: Path) -> None:
    for age, country in ((-7.5, "=1+1"), (-1e30, "-DE"), (-1e-7, "'=1")):
        shop.run("shop", Decide(features={"age": age, "country": country}))
    write_log(shop.database, "shop", tmp_path / "log.csv", features=True)
    table = pd.read_csv(tmp_path / "log.csv", dtype=str)
    assert table["age"].tolist() == ["-7.5", "-1e+30", "-1e-07"]  # spreadsheets take these for numbers
    assert table["country"].tolist() == ["'=1+1", "'-DE", "''=1"]
    declared = Features({"age": Number(-10, 0), "country": Category(["=1+1", "-DE", "'=1"], unknown="error")})
    log = read_log(tmp_path / "log.csv", features=declared, missing="zero")
    assert log.known is not None
    assert log.known.situation.round(3).tolist() == [[1, 0.25, 1, 0, 0], [1, 0, 0, 1, 0], [1, 1, 0, 0, 1]]


def test_a_log_of_an_allocation_without_features_has_none(drinks: Any, lite: Database, tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="has no features; export its log without them"):
        write_log(lite, "drinks", tmp_path / "log.csv", features=True)


def test_events_go_to_a_file_with_their_features_and_back(shop: Store, clock: Clock, tmp_path: Path) -> None:
    play(shop, clock, range(8))
    with pytest.raises(EvenhandError, match="may be personal: add --features"):
        export_events(shop.database, "shop", tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()
    export_events(shop.database, "shop", tmp_path / "all.jsonl", personal=True)
    with closing(Database(str(tmp_path / "other.db"))) as other:
        other.migrate()
        assert import_events(other, tmp_path / "all.jsonl", "copy") > 8
        assert verify(other, redecide=True).faults == ()
        assert count(other, "features") == count(shop.database, "features")


def test_rounds_of_a_batch_are_all_checked_first(shop: Store) -> None:
    wrong = [Round({"age": 3, "country": "DE"}), Round({"age": "x"}, {"tea": {"prize": 1}}), Round({"agee": 3})]
    with pytest.raises(EvenhandError) as refused:
        shop.run("shop", Decide(rounds=wrong))
    paths = [".".join(map(str, fault.path)) for fault in refused.value.faults]
    assert paths == [
        "rounds.1.features.age",
        "rounds.1.arms.tea.prize",
        "rounds.2.features.age",
        "rounds.2.features.agee",
    ]
    assert count(shop.database, "features") == 0
    assert shop.run("shop", Describe()).round == 0


def test_an_arm_without_features_is_refused_and_nothing_is_stored(shop: Store, clock: Clock, lite: Database) -> None:
    play(shop, clock, range(3))
    before = bodies(lite)
    with pytest.raises(EvenhandError, match=r"features.price is missing, and every other arm has it"):
        shop.run("shop", Change(AddArm("mate")))
    assert bodies(lite) == before
    play(shop, clock, range(3, 6))
    shop.run("shop", Change(AddArm("mate", features={"price": 4})))
    play(shop, clock, range(6, 9))


def test_a_reward_for_erased_features_counts_and_the_event_says_that_nothing_was_learned(
    shop: Store, again: Any, lite: Database
) -> None:
    (decision,) = shop.run("shop", Decide(rounds=(seen(1),))).decisions
    shop.close()
    change_rows(lite, "DELETE FROM features")
    store = again()
    answer = store.run("shop", Reward([(decision.id, {decision.names[0]: 1.0})]))
    assert [one.status for one in answer.results] == ["accepted"]
    assert sum(line.received for line in store.run("shop", ReadAudit()).lines) == 1
    with lite.transaction(writes=False) as connection:
        (body,) = connection.execute(text("SELECT body FROM events WHERE kind = 'reward'")).scalars()
    assert json.loads(body)["unlearned"] is True


def test_vectors_are_stored_once_and_come_back(store: Store, tmp_path: Path) -> None:
    declared = {"situation": {"query": {"kind": "vector", "length": 3}, "age": FEATURES["situation"]["age"]}}
    assert store.create("search", ["a", "b"], {"index": "lin_ts"}, features=declared, missing="never", seed=1)
    rounds = [Round({"query": [0.1, -0.25, number / 8], "age": 40.0}) for number in range(6)]
    store.run("search", Decide(rounds=rounds))
    with store.database.transaction(writes=False) as connection:
        (body,) = connection.execute(text("SELECT body FROM features WHERE round = 1")).scalars()
    assert json.loads(body)[-2] == {"age": 40.0}
    assert verify(store.database, redecide=True).faults == ()
    write_log(store.database, "search", tmp_path / "log.csv", features=True)
    assert json.loads(pd.read_csv(tmp_path / "log.csv")["query"].iloc[-1]) == [0.1, -0.25, 0.625]


def test_damaged_features_are_damage_and_no_error_of_the_server(shop: Store, clock: Clock) -> None:
    (decision,) = shop.run("shop", Decide(rounds=[seen(1)])).decisions
    change_rows(shop.database, "UPDATE features SET body = 'x'")
    with pytest.raises(DamagedAllocation, match="the features of a decision are damaged"):
        shop.run("shop", Reward([(decision.id, {decision.names[0]: 1.0})]))


def test_wide_features_take_a_turn_of_their_own(store: Store) -> None:
    """So that short commands of other allocations do not wait for them."""
    declared = {"situation": {"query": {"kind": "vector", "length": 384}}}
    assert store.create("search", ["a", "b", "c"], {"index": "lin_ts"}, features=declared, missing="never", seed=1)
    store.run("search", Decide(features={"query": [0.1] * 384}))
    store.run("search", Describe())  # begins when what the first leaves in memory is kept
    arms, features = store.size("search")
    assert arms == 3
    assert Decide(rounds=[Round()] * 12).work(arms, features) > LONG > Decide(rounds=[Round()] * 12).work(arms)
    assert Reward([("1", {"a": 1.0})] * 30).work(arms, features) > LONG > Reward([("1", {"a": 1.0})] * 30).work(arms)


def test_decisions_whose_features_take_too_long_are_refused_with_the_number_that_is_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {"situation": {"query": {"kind": "vector", "length": 3}}}
    assert store.create("search", ["a", "b"], {"index": "lin_ts"}, features=declared, missing="never", seed=1)
    rounds = [Round({"query": [0.1] * 3})] * 5
    monkeypatch.setattr(commands, "ENCODING", 0.6)
    with pytest.raises(TooMuchWork, match=r"take about 3.0 seconds; a request may take 2; request at most 3 at a time"):
        store.run("search", Decide(rounds=rounds, max_work=500_000))
    assert store.run("search", Describe()).round == 0
    assert len(store.run("search", Decide(rounds=rounds[:3], max_work=500_000)).decisions) == 3
    assert len(store.run("search", Decide(rounds=rounds)).decisions) == 5
    monkeypatch.setattr(commands, "ENCODING", 2.1)
    with pytest.raises(TooMuchWork, match="declare fewer columns, or have fewer arms"):
        store.run("search", Decide(rounds=rounds[:1], max_work=500_000))


def test_the_time_of_features_goes_by_the_model() -> None:
    """A matrix for every arm, or one product of matrices for all: a decision may take two seconds."""
    arms, columns = 10_000, (50, 350)

    def seconds(index: dict[str, Any]) -> tuple[float, float]:
        decision, reward = build("index", index).products(arms, columns)
        return PRODUCT * decision, PRODUCT * reward

    shared = seconds({"kind": "lin_ucb", "model": "shared"})
    assert 0.05 < shared[0] < 0.5
    assert shared[1] == PRODUCT * 400**2
    few = (arms, (5, 5))
    assert build("index", "lin_ts").products(*few) == (arms * 100.0, 100.0)
    assert build("index", {"kind": "lin_ts", "model": "hybrid"}).products(*few)[0] > arms * 50.0
    assert build("index", "logistic_ts").products(*few) == (arms * 10.0, 10.0)
    assert build("index", "ucb").products(*few) == (0.0, 0.0)
