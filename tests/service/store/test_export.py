"""The log: a row for every play, as off-policy evaluation reads it, and what becomes of it on the way."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from evenhand.bandit import Bandit, pending
from evenhand.bandit.evaluation.evaluation import evaluate
from evenhand.bandit.evaluation.log import read_log
from evenhand.bandit.evaluation.price import price
from evenhand.changes import AddArm, BringBack, Close, Promise, Reopen, Retire
from evenhand.core.errors import DataError, EvenhandError
from evenhand.messages.requests import Round
from evenhand.service.store import Change, Decide, Reward, Store, Total, export
from evenhand.service.store.database import Database
from evenhand.service.store.errors import UnknownAllocation
from evenhand.service.store.export import COLUMNS, as_csv, log, write_log
from tests.service.propensity import propensities as by_arm
from tests.service.store.kit import START, Clock, Driven, events_of

ARMS = ["tea", "coffee", "cocoa"]
ALL = json.dumps(ARMS)
FORMATS = ["csv", "parquet"]


def whole(database: Database, name: str = "drinks", **options: Any) -> pd.DataFrame:
    """The log in one piece."""
    return pd.concat(log(database, name, **options), ignore_index=True)


def lines(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns, row by row, with None for what is missing."""
    plain = frame[list(columns)].astype(object)
    return [tuple(row) for row in plain.where(plain.notna(), None).itertuples(index=False)]


def play(driven: Driven, rounds: int, reward: Callable[[int, str], float | None], **options: Any) -> None:
    """Rounds one after the other, each with its rewards; None is not sent."""
    for _ in range(rounds):
        decision = driven.run(Decide(**options)).decisions[0]
        rewards = {arm: reward(decision.round, arm) for arm in decision.names}
        driven.run(Reward(((decision.id, {arm: value for arm, value in rewards.items() if value is not None}),)))


# --- Columns ----------------------------------------------------------------------------------------------------------


def test_a_row_for_every_play(drinks: Driven, clock: Clock) -> None:
    """FUCB plays coffee in round 2, as it is owed a third."""
    drinks.run(Decide())
    clock.now += 0.25
    drinks.run(Decide(available=["coffee", "cocoa"]))
    drinks.run(Reward((("1", {"tea": 0.5}),)))
    frame = whole(drinks.database)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        name: str(kind) for name, kind in pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS).dtypes.items()
    }
    assert str(frame["timestamp"].dtype) == "datetime64[us, UTC]"
    assert frame["timestamp"].tolist() == [pd.Timestamp(START + step, unit="s", tz="UTC") for step in (0.0, 0.25)]
    assert lines(frame, *list(COLUMNS)[1:]) == [
        ("1", "tea", 1, 0.5, frame["timestamp"][1], 1.0, ALL, False),
        ("2", "coffee", 1, None, None, 1.0, '["coffee", "cocoa"]', False),
    ]


def test_each_arm_of_a_decision_has_a_row(store: Store, lite: Database) -> None:
    store.create("films", ARMS, "lfg", parameters={"fractions": [0.25, 0, 0], "eta": 5.0}, plays=2, seed=1)
    films = Driven(lite, "films")
    decisions = films.run(Decide(count=2)).decisions
    first, second = decisions[0].names
    films.run(Reward((("1", {second: 0.25}),)))
    films.run(Reward((("1", {first: 0.75}), ("2", {decisions[1].names[0]: 1.0}))))
    assert lines(whole(lite, "films"), "decision_id", "position", "item_id", "reward") == [
        ("1", 1, first, 0.75),
        ("1", 2, second, 0.25),
        ("2", 1, decisions[1].names[0], 1.0),
        ("2", 2, decisions[1].names[1], None),
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_an_empty_log_has_its_columns(store: Store, lite: Database, tmp_path: Path, ending: str) -> None:
    store.create("drinks", ARMS, "ucb1", seed=1)
    (frame,) = log(lite, "drinks")
    assert frame.empty
    assert list(frame.columns) == list(COLUMNS)
    path = tmp_path / f"log.{ending}"
    assert write_log(lite, "drinks", path) == 0
    if ending == "csv":
        assert path.read_text() == ",".join(COLUMNS) + "\n"
    else:
        schema = parquet.read_schema(path)
        assert schema.names == list(COLUMNS)
        assert "null" not in {str(kind) for kind in schema.types}
    with pytest.raises(DataError, match="has no rows"):
        read_log(path)


def test_parquet_has_the_same_types_in_all_logs(store: Store, drinks: Driven, tmp_path: Path) -> None:
    """Also where no reward was sent, and where nothing was decided."""
    drinks.run(Decide(count=2))
    store.create("empty", ARMS, "ucb1", seed=1)
    store.create("full", ARMS, "thompson", seed=1)
    full = Driven(drinks.database, "full")
    play(full, 3, lambda *_: 1.0)
    types = set()
    for name in ("drinks", "empty", "full"):
        write_log(drinks.database, name, tmp_path / f"{name}.parquet")
        types.add(str(parquet.read_schema(tmp_path / f"{name}.parquet").remove_metadata()))
    assert len(types) == 1


# --- Rewards ----------------------------------------------------------------------------------------------------------


def test_late_rewards_are_in_the_log_and_marked(drinks: Driven, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """In time, late, so late that the book has forgotten the decision, and never."""
    monkeypatch.setattr(pending, "REMEMBERED", 2)
    drinks.run(Decide(rounds=[Round(available=["tea"])] * 5))
    drinks.run(Reward((("2", {"tea": 1.0}),)))
    clock.now += 60.0
    drinks.run(Reward((("5", {"tea": 0.5}), ("1", {"tea": 0.25}), ("1", {"tea": 0.25}), ("1", {"tea": 1.0}))))
    assert any("forgotten" in event.body for event in drinks.events())
    assert lines(whole(drinks.database), "decision_id", "reward", "late") == [
        ("1", 0.25, True),
        ("2", 1.0, False),
        ("3", None, False),
        ("4", None, False),
        ("5", 0.5, True),
    ]


def test_totals_are_nobodys_reward(store: Store, lite: Database) -> None:
    store.create("sums", ARMS, "ars_ucb", seed=1)
    sums = Driven(lite, "sums")
    sums.run(Decide())
    sums.run(Total(3.0))
    assert lines(whole(lite, "sums"), "decision_id", "reward") == [("1", None)]


# --- Who was available ------------------------------------------------------------------------------------------------


def test_the_available_arms_follow_the_changes(drinks: Driven) -> None:
    """A change after round n concerns the rounds from n + 1 on; changes of promises concern nobody's presence."""
    drinks.run(Decide(count=2))
    drinks.run(Change(AddArm("mate")))
    drinks.run(Change(Promise({"tea": 0.125})))
    drinks.run(Decide())
    drinks.run(Change(Retire("tea")))
    drinks.run(Change(Retire("cocoa")))
    drinks.run(Decide())
    drinks.run(Decide(available=["mate"]))
    drinks.run(Change(Close()))
    drinks.run(Change(Reopen()))
    drinks.run(Change(BringBack("tea")))
    drinks.run(Decide(count=2))
    drinks.run(Change(Retire("mate")))
    wanted = [
        *[{"tea", "coffee", "cocoa"}] * 2,
        {"tea", "coffee", "cocoa", "mate"},
        {"coffee", "mate"},
        {"mate"},
        *[{"tea", "coffee", "mate"}] * 2,
    ]
    assert [set(json.loads(text)) for text in whole(drinks.database)["available"]] == wanted
    for first in range(1, 8):
        available = whole(drinks.database, since=first)["available"]
        assert [set(json.loads(text)) for text in available] == wanted[first - 1 :]


# --- Propensities -----------------------------------------------------------------------------------------------------

CLOSED: list[tuple[str, int, dict[str, Any]]] = [
    ("exp3", 1, {"horizon": 500}),
    ("fcucb_d", 2, {"merit": {"kind": "power"}, "horizon": 500, "cap": True}),
    ("fair_random", 1, {"fractions": [0.25, 0.125, 0.0]}),
    ("ucb1", 2, {}),
]
OPEN: list[tuple[str, int, dict[str, Any]]] = [
    ("thompson", 1, {}),
    ("f_ts", 1, {"fractions": [0.25, 0.125, 0.0]}),
    ("fcts_d", 2, {"merit": {"kind": "power"}, "cap": True}),
]


def propensities_of(events: list[Any], bandit: Bandit) -> list[float]:
    """The propensities of all plays in events, by a bandit in memory that replays them."""
    propensities: list[float] = []
    for event in events[1:]:
        if event.kind == "decide":
            choice = bandit.decide(available=event.body.get("available"), now=event.time, propensities=True)
            propensities += [by_arm(choice)[arm] for arm in choice.names]
        else:
            bandit.observe(str(event.round), event.body["rewards"], event.time)
    return propensities


@pytest.mark.parametrize(("algorithm", "plays", "parameters"), CLOSED)
def test_exact_propensities_are_those_of_the_bandit(
    store: Store, lite: Database, algorithm: str, plays: int, parameters: dict[str, Any]
) -> None:
    store.create("drinks", ARMS, algorithm, parameters=parameters, plays=plays, seed=3)
    drinks, rng = Driven(lite), np.random.default_rng(3)
    play(drinks, 25, lambda *_: float(rng.random()))
    play(drinks, 10, lambda *_: float(rng.random()), available=["tea", "cocoa"])
    wanted = propensities_of(drinks.events(), Bandit(ARMS, algorithm, plays=plays, seed=3, **parameters))
    assert whole(lite)["propensity_score"].tolist() == wanted
    assert whole(lite, estimate=True)["propensity_score"].tolist() == wanted
    assert len(wanted) == 35 * plays


@pytest.mark.parametrize(("algorithm", "plays", "parameters"), OPEN)
def test_estimated_propensities_are_those_of_the_bandit(
    store: Store, lite: Database, algorithm: str, plays: int, parameters: dict[str, Any]
) -> None:
    """Where nobody asked they are missing, unless the log is to estimate them: with the same numbers as at the time."""
    store.create("drinks", ARMS, algorithm, parameters=parameters, plays=plays, seed=3)
    drinks, rng = Driven(lite), np.random.default_rng(3)
    play(drinks, 6, lambda *_: float(rng.random()))
    play(drinks, 3, lambda *_: float(rng.random()), propensities=True)
    play(drinks, 6, lambda *_: float(rng.random()), available=["tea", "cocoa"])
    wanted = propensities_of(drinks.events(), Bandit(ARMS, algorithm, plays=plays, seed=3, **parameters))
    propensities = whole(lite)["propensity_score"]
    requested = slice(6 * plays, 9 * plays)
    assert propensities[requested].tolist() == wanted[requested]
    assert propensities.notna().sum() == 3 * plays
    assert whole(lite, estimate=True)["propensity_score"].tolist() == wanted
    assert whole(lite, estimate=True, since=5, until=13)["propensity_score"].tolist() == wanted[4 * plays : 13 * plays]


# --- Ranges and pieces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimate", [False, True])
def test_any_range_is_that_part_of_the_whole(
    store: Store, lite: Database, estimate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many pieces it comes in."""
    store.create("drinks", ARMS, "thompson", seed=1)
    drinks = Driven(lite)
    play(drinks, 4, lambda round, _: None if round % 2 else 1.0)
    drinks.run(Change(AddArm("mate")))
    play(drinks, 3, lambda *_: 0.0)
    wanted = whole(lite, estimate=estimate)
    for size in (1, 2, 3, 5000):
        monkeypatch.setattr(export, "MAX_ROUNDS", size)
        pieces = list(log(lite, "drinks", estimate=estimate))
        assert len(pieces) == math.ceil(7 / size)
        pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), wanted)
    monkeypatch.setattr(export, "MAX_ROUNDS", 3)
    for first in range(1, 9):
        for last in (None, *range(1, 9), 10**30):
            frame = whole(lite, since=first, until=last, estimate=estimate)
            part = wanted.iloc[first - 1 : 7 if last is None else min(last, 7)].reset_index(drop=True)
            pd.testing.assert_frame_equal(frame, part, check_dtype=bool(len(part)))
    assert whole(lite, since=10**30).empty


def test_pieces_of_many_arms_are_shorter(store: Store, lite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row has the names of all available arms, here 25 characters; 60 make two rows."""
    assert len(ALL) == 26
    store.create("drinks", ARMS, "ucb1", seed=1)
    Driven(lite).run(Decide(count=5))
    monkeypatch.setattr(export, "MAX_CHARACTERS", 60)
    assert [len(piece) for piece in log(lite, "drinks")] == [2, 2, 1]
    monkeypatch.setattr(export, "MAX_CHARACTERS", 1)
    assert [len(piece) for piece in log(lite, "drinks")] == [1] * 5


@pytest.mark.parametrize("wrong", [{"since": 0}, {"since": -1}, {"until": 0}, {"since": 1.5}, {"until": "2"}])
def test_rounds_are_counted_from_one(store: Store, drinks: Driven, wrong: dict[str, Any]) -> None:
    with pytest.raises(EvenhandError, match="must be"):
        log(drinks.database, "drinks", **wrong)


def test_an_unknown_allocation_has_no_log(either: Database, tmp_path: Path) -> None:
    for name in ["nobody", "", "a\x00b", "\ud800"]:
        with pytest.raises(UnknownAllocation):
            log(either, name)
        with pytest.raises(UnknownAllocation):
            write_log(either, name, tmp_path / "log.csv")
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".csv"] == []


def test_a_log_that_is_being_read_holds_nobody_up(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the round that was the last when it began."""
    monkeypatch.setattr(export, "MAX_ROUNDS", 2)
    drinks.run(Decide(count=4))
    pieces = log(drinks.database, "drinks")
    next(pieces)
    drinks.run(Decide(count=4))
    drinks.run(Reward((("4", {drinks.events()[4].body["arms"][0]: 1.0}),)))
    assert lines(next(pieces), "decision_id", "reward") == [("3", None), ("4", 1.0)]
    assert list(pieces) == []


# --- Files ------------------------------------------------------------------------------------------------------------

HOSTILE = [
    *("a|b", 'say "hi"', "x,y", "line\nbreak", "re\rturn", "two\r\nlines", "nul\x00l", "☕🫖", "\u202e", "%s"),
    *("=1+1", "nan", "None", "1.0", "1", "01", "[1]", '["tea"]', "null", "'", "\\", "a" * 500, "\u00e9", "e\u0301"),
]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_is_read_as_it_was(store: Store, lite: Database, tmp_path: Path, ending: str) -> None:
    """By the reader of logs: items, sets, rewards, propensities, positions."""
    parameters = {"merit": {"kind": "power"}, "horizon": 500, "cap": True}
    store.create("drinks", ARMS, "fcucb_d", parameters=parameters, plays=2, seed=3)
    drinks, rng = Driven(lite), np.random.default_rng(4)
    for round in range(30):
        drinks.clock.now += 1.5
        play(drinks, 1, lambda *_: float(rng.random()), available=ARMS if round % 3 else ARMS[1:])
    path = tmp_path / f"log.{ending}"
    assert write_log(lite, "drinks", path) == 60
    read, frame = read_log(path), whole(lite)
    assert (read.rounds, read.rows, read.has_available, read.notes) == (30, 60, True, ())
    assert [read.items[place] for place in read.item] == frame["item_id"].tolist()
    assert read.reward.tolist() == frame["reward"].tolist()
    assert read.propensity.tolist() == frame["propensity_score"].tolist()
    assert read.position is not None
    assert read.position.tolist() == ["1", "2"] * 30
    present = [{read.items[place] for place in np.flatnonzero(read.sets[row])} for row in read.available]
    assert present == [set(ARMS if round % 3 else ARMS[1:]) for round in range(30)]


@pytest.mark.parametrize("ending", FORMATS)
def test_hostile_names_survive_a_file(store: Store, lite: Database, tmp_path: Path, ending: str) -> None:
    store.create("odd", HOSTILE, "ucb1", seed=1)
    odd = Driven(lite, "odd")
    play(odd, len(HOSTILE), lambda round, _: round / 100)
    play(odd, 3, lambda *_: 1.0, available=HOSTILE[:4])
    path = tmp_path / f"log.{ending}"
    assert write_log(lite, "odd", path) == len(HOSTILE) + 3
    read = read_log(path)
    played = [event.body["arms"][0] for event in odd.events() if event.kind == "decide"]
    assert set(read.items) == set(HOSTILE)
    assert [read.items[place] for place in read.item] == played
    assert sorted(map(int, read.sets.sum(axis=1))) == [4, len(HOSTILE)]


def test_csv_in_pieces_is_the_csv_of_the_whole(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    drinks.run(Decide(count=5))
    text = b"".join(as_csv(log(drinks.database, "drinks"))).decode()
    monkeypatch.setattr(export, "MAX_ROUNDS", 2)
    pieces = list(as_csv(log(drinks.database, "drinks")))
    assert len(pieces) == 3
    assert b"".join(pieces).decode() == text
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert len(text.splitlines()) == 6
    assert text.endswith("\n")


@pytest.mark.parametrize("ending", FORMATS)
def test_without_propensities_the_evaluation_says_so(store: Store, lite: Database, tmp_path: Path, ending: str) -> None:
    store.create("drinks", ARMS, "thompson", seed=1)
    play(Driven(lite), 5, lambda *_: 1.0)
    path = tmp_path / f"log.{ending}"
    write_log(lite, "drinks", path)
    found = read_log(path)
    assert found.notes == ("5 of 5 rows have no propensity, so the log counts as one without propensities",)
    with pytest.raises(EvenhandError, match=r"blank 'propensity_score', which `evenhand export --estimate` estimates"):
        evaluate(found, {"even": "uniform"})
    write_log(lite, "drinks", path, estimate=True)
    assert read_log(path).has_propensities


def test_the_log_says_when_rewards_came_and_is_priced(store: Store, lite: Database, tmp_path: Path) -> None:
    store.create("drinks", ARMS, "thompson", seed=1)
    driven = Driven(lite)
    for _ in range(60):
        decision = driven.run(Decide()).decisions[0]
        driven.clock.now += 5.0
        driven.run(Reward(((decision.id, {decision.names[0]: 1.0 * (decision.names[0] == "tea")}),)))
    write_log(lite, "drinks", tmp_path / "log.csv")
    found = price(read_log(tmp_path / "log.csv"), [0.1], rounds=20)
    assert not any("when rewards came" in one for one in found.assumptions)
    assert not any("did not learn" in one for one in found.premises)
    assert found.curve[0].low <= 0.2 <= found.curve[0].high


def test_a_file_appears_whole_or_not_at_all(drinks: Driven, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drinks.run(Decide(count=3))
    monkeypatch.setattr(export, "MAX_ROUNDS", 1)
    place = tmp_path / "logs"
    place.mkdir()
    (place / "log.csv").write_text("what was there")
    rows, count = export._rows, 0

    def fails(*args: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(28, "No space left on device")
        return rows(*args)

    monkeypatch.setattr(export, "_rows", fails)
    with pytest.raises(EvenhandError, match=r"could not be written to .*log\.csv: No space left on device"):
        write_log(drinks.database, "drinks", place / "log.csv")
    assert [file.name for file in place.iterdir()] == ["log.csv"]
    assert (place / "log.csv").read_text() == "what was there"
    assert write_log(drinks.database, "drinks", place / "log.csv") == 3
    assert [file.name for file in place.iterdir()] == ["log.csv"]


@pytest.mark.parametrize("name", ["log", "log.txt", "log.CSV", ".csv", "log.parquet.gz"])
def test_a_file_ends_in_csv_or_parquet(drinks: Driven, tmp_path: Path, name: str) -> None:
    with pytest.raises(EvenhandError, match=r"must end in \.csv or \.parquet"):
        write_log(drinks.database, "drinks", tmp_path / name)


# --- What the log is for ----------------------------------------------------------------------------------------------

MEANS = {"tea": 0.2, "coffee": 0.5, "cocoa": 0.7}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "parameters", "rounds", "estimate"),
    [("exp3", {"horizon": 800}, 800, False), ("fcts_d", {"merit": {"kind": "linear"}}, 400, True)],
    ids=["exp3", "fcts_d"],
)
def test_ips_recovers_what_is_known(
    store: Store,
    lite: Database,
    tmp_path: Path,
    algorithm: str,
    parameters: dict[str, Any],
    rounds: int,
    estimate: bool,
) -> None:
    """Even shares would earn the mean of the means; the estimate's own 99.9% interval must have it, and be short.

    IPS is unbiased and its errors are those of a mean over rounds, so that 3.3 standard errors suffice but once in a
    thousand seeds; the one here is fixed. Neither policy has small propensities, whose weights would have heavy tails.
    """
    store.create("drinks", ARMS, algorithm, parameters=parameters, seed=5)
    drinks, rng = Driven(lite), np.random.default_rng(6)
    play(drinks, rounds, lambda _, arm: float(rng.random() < MEANS[arm]))
    path = tmp_path / "log.parquet"
    write_log(lite, "drinks", path, estimate=estimate)
    ips = evaluate(read_log(path), "uniform", estimator="ips").estimates["uniform"]
    truth = sum(MEANS.values()) / 3
    assert 0.0 < ips.stderr < 0.15
    assert abs(ips.value - truth) < 3.3 * ips.stderr
    assert evaluate(read_log(path), {"cocoa": 1.0}, estimator="ips").estimates["fixed shares"].value > truth


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A log as the bytes of either file."""
    folder, clock = tmp_path_factory.mktemp("logs"), Clock()
    database = Database(str(folder / "evenhand.db"))
    database.migrate()
    store = Store(database, clock)
    store.create("drinks", ['te"a', "coffee,", "☕"], "exp3", parameters={"horizon": 50}, seed=1)
    play(Driven(database, clock=clock), 12, lambda round, _: round / 12)
    contents = {}
    for ending in FORMATS:
        write_log(database, "drinks", folder / f"log.{ending}")
        contents[ending] = (folder / f"log.{ending}").read_bytes()
    store.close()
    return contents


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_file_is_refused_or_read(
    files: dict[str, bytes], tmp_path: Path, data: st.DataObject, ending: str
) -> None:
    """Bytes of it changed, cut out or put in: the evaluation works, or says in a line what is wrong."""
    content = bytearray(files[ending])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(len(content) - 1, 0)))
        match data.draw(st.sampled_from(["change", "cut", "insert", "end"])):
            case "change":
                content[place : place + 1] = data.draw(
                    st.sampled_from([b"\x00", b'"', b",", b"\n", b"-", b"\xff", b"9"])
                )
            case "cut":
                del content[place : place + data.draw(st.integers(1, 30))]
            case "insert":
                content[place:place] = data.draw(
                    st.sampled_from([b"nan", b"1e999", b'"', b"[", b"\r", b"\xf0\x9f", b"|"])
                )
            case "end":
                del content[place:]
    path = tmp_path / f"damaged.{ending}"
    path.write_bytes(bytes(content))
    with suppress(EvenhandError):
        evaluate(read_log(path, missing="zero"), "uniform")


def test_times_of_the_log_do_not_fall_where_the_clock_does_not(drinks: Driven, clock: Clock) -> None:
    for step in (0.0, 0.000001, 3600.0, 86_400.0 * 365):
        clock.now += step
        drinks.run(Decide())
    times = whole(drinks.database)["timestamp"].tolist()
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert [event.time for event in events_of(drinks.database, "drinks") if event.kind == "decide"] == pytest.approx(
        [time.timestamp() for time in times], abs=1e-6
    )


def test_rounds_stay_together_where_the_clock_jumps_back(drinks: Driven, clock: Clock, tmp_path: Path) -> None:
    """The log is in the order of rounds; its reader puts it in the order of time, and says so."""
    for step in (0.0, -30.0, 10.0):
        clock.now += step
        play(drinks, 1, lambda *_: 1.0)
    frame = whole(drinks.database)
    assert frame["decision_id"].tolist() == ["1", "2", "3"]
    write_log(drinks.database, "drinks", tmp_path / "log.csv")
    assert read_log(tmp_path / "log.csv").notes == ("the rows were not in order of time and have been sorted",)
