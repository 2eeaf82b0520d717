"""Logs with features: how they are read, and what evaluations, replays and models make of them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import frozen

from evenhand import Environment, EvenhandError, Features, InfeasiblePromise, Policy
from evenhand.algorithms import ucb1
from evenhand.bandit.evaluation.followed import Model
from evenhand.bandit.evaluation.known import Known
from evenhand.bandit.evaluation.priced_by_features import of_log
from evenhand.changes import Promise
from evenhand.cli.main import run
from evenhand.contexts import Categories, Normal
from evenhand.core.errors import DataError
from evenhand.evaluation import FixedShares, Log, estimated, evaluate, grade, price, read_log, replay
from evenhand.features import Category, Flag, Number, Vector
from evenhand.policy import Index, Traits
from evenhand.rewards import Linear
from evenhand.theory.baseline import baseline_of

FEATURES = Features(
    {"country": Category(["DE", "FR"]), "age": Number(0, 100, missing=40), "new": Flag(), "query": Vector(2)},
    {"price": Number(0, 50)},
    [("country", "price")],
)
CSV = """timestamp,item_id,click,propensity_score,country,user_age,new,query,price
1,tea,1,0.5,DE,20,true,"[1, 0]",5
2,mate,0,0.5,FR,,false,"[0 1.]",20
3,tea,0,0.5,IT,120,1,"[0,0]",5
"""


def written(folder: Path, text: str = CSV) -> Path:
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_with_features_and_says_so_the_next_time(tmp_path: Path) -> None:
    path = written(tmp_path)
    log = read_log(path, {"age": "user_age"}, features=FEATURES)
    known = log.known
    assert known is not None
    assert known.arms is not None
    values: list[dict[str, Any]] = [
        {"country": "DE", "age": 20, "new": True, "query": [1, 0]},
        {"country": "FR", "age": None, "new": False, "query": [0, 1]},
        {"country": "IT", "age": 120, "new": True, "query": [0, 0]},
    ]
    for row, (situation, arm) in enumerate(zip(known.situation, log.item, strict=True)):
        value = values[row]
        own, arms = FEATURES.observed(value, {"tea": {"price": 5}, "mate": {"price": 20}}, log.items)
        assert situation.tolist() == own.tolist()
        assert arms is not None
        assert known.arms[row].tolist() == arms.tolist()
        assert known.of_plays(np.array([row]), np.array([arm]))[1].tolist() == [arms[arm].tolist()]  # type: ignore[union-attr]
    assert log.notes == (
        "country: 1 value of no declared level",
        "age: 1 value beyond the range",
        "age: 1 value missing",
    )
    again = read_log(path)
    assert again.reading.features == FEATURES
    assert again.known is not None
    assert again.known.situation.tolist() == known.situation.tolist()


def test_features_of_all_available_items_stand_with_them() -> None:
    cells = [
        {"tea": {"price": 5}, "mate": {"price": 10}},
        {"mate": {"price": 50}},
        {"tea": {"price": 25}, "mate": {"price": 0}},
    ]
    rows = {"timestamp": range(3), "item_id": ["tea", "mate", "tea"], "reward": [1, 0, 1], "propensity_score": 0.5}
    features = Features(arms={"price": Number(0, 50)}, intercept=False)
    texts = [json.dumps(one) for one in cells]
    for available in (texts, cells):
        log = Log.of(pd.DataFrame({**rows, "available": available}), features=features)
        assert log.known is not None
        assert log.known.arms is not None
        assert log.items == ("mate", "tea")
        assert log.known.arms[..., 0].tolist() == [[0.2, 0.1], [1.0, 0.0], [0.0, 0.5]]
        assert log.sets[log.available].tolist() == [[True, True], [True, False], [True, True]]
    with pytest.raises(DataError, match=r"the log, row 2, column 'price': must be a number, got 'x'"):
        Log.of(pd.DataFrame({**rows, "available": [cells[0], {"mate": {"price": "x"}}, cells[2]]}), features=features)


def test_rows_without_a_reward_are_left_out_with_their_features() -> None:
    text = CSV.replace("2,mate,0", "2,mate,")
    log = Log.of(pd.read_csv(written_text(text)), {"age": "user_age"}, missing="lost", features=FEATURES)
    assert log.known is not None
    assert len(log.known.situation) == log.rounds == 2
    assert log.known.situation[:, 1].tolist() == [1, 0]
    assert log.plays is not None
    assert log.plays.known is not None
    assert len(log.plays.known.situation) == 3


def written_text(text: str) -> Any:
    return io.StringIO(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("3,tea,0,0.5,IT,120", "3,tea,0,0.5,IT,x"), "log.csv, row 4, column 'user_age': must be a number, got 'x'"),
        (('1,"[0,0]"', '2,"[0,0]"'), "log.csv, row 4, column 'new': must be true or false, got '2'"),
        (("false,", ","), "log.csv, row 3, column 'new': is missing"),
        (("[0,0]", "[0,0,0]"), "log.csv, row 4, column 'query': must be a list of 2 numbers, got 3"),
        (('"[0,0]",5', '"[0,0]",6'), "log.csv, row 4, column 'price': '6' is another value than in an earlier row"),
        (("country,", "land,"), "log.csv has no column 'country', but 'land'"),
        (
            ("query,price", "query,preis"),
            "log.csv has no column 'price', a feature of the arms: add the column, or let",
        ),
    ],
)
def test_a_wrong_cell_is_named(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_log(written(tmp_path, CSV.replace(*change)), {"age": "user_age"}, features=FEATURES)
    assert message in str(caught.value)


def test_all_wrong_cells_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_log(written(tmp_path, CSV.replace("DE,20,true", "DE,inf,")), {"age": "user_age"}, features=FEATURES)
    assert [str(fault).rpartition("column ")[2] for fault in caught.value.faults] == [
        "'user_age': must be a finite number, got inf",
        "'new': is missing",
    ]


def test_cells_with_the_same_fault_are_said_once(tmp_path: Path) -> None:
    text = CSV.replace("true", "maybe").replace("false", "maybe")
    with pytest.raises(DataError) as caught:
        read_log(written(tmp_path, text), {"age": "user_age"}, features=FEATURES)
    first, more = map(str, caught.value.faults)
    assert "row 2, column 'new': must be true or false" in first
    assert more == "and more cells like these"


def test_a_feature_is_no_column_of_the_log_itself() -> None:
    with pytest.raises(EvenhandError, match=r"features.reward is a column of every log, and no feature"):
        Log.of(pd.DataFrame({"reward": [1]}), features=Features({"reward": Number(0, 1)}))


def test_what_is_known_after_the_decision_is_no_feature() -> None:
    frame = pd.DataFrame({"time": [1, 2], "arm": ["a", "b"], "click": [0, 1], "pscore": [0.5, 0.4]})
    for name in ("click", "pscore"):
        with pytest.raises(DataError, match=f"column '{name}' is the .*, which is not known before the decision"):
            Log.of(frame, features=Features.of(frame[[name]]))
    with pytest.raises(DataError, match="column 'click' is the reward"):
        Log.of(frame, {"liked": "click"}, features=Features({"liked": Flag()}))


def test_a_feature_of_items_is_noted_among_those_of_the_situation() -> None:
    rng = np.random.default_rng(0)
    item = rng.integers(3, size=60)
    frame = pd.DataFrame({"time": range(60), "item": np.array(["a", "b", "c"])[item], "reward": 0.5})
    frame["price"], frame["age"] = np.array([1.0, 2.0, 2.0])[item], rng.integers(2, size=60)
    features = Features({"price": Number(0, 2), "age": Number(0, 1)})
    (note,) = Log.of(frame, features=features).notes
    assert note == "price is the same in all rows of an item: if it is a feature of the items, declare it of the arms"
    assert Log.of(frame[:14], features=features).notes == ()  # too few to say
    assert Log.of(frame.assign(price=1.0), features=features).notes == ()
    assert Log.of(frame, features=Features({"age": Number(0, 1)}, {"price": Number(0, 2)})).notes == ()


def test_rows_of_a_decision_have_the_same_situation() -> None:
    rows = {"decision_id": [1, 1], "timestamp": [0, 0], "item_id": ["a", "b"], "reward": [0, 1], "age": [1, 2]}
    with pytest.raises(DataError, match="row 2, column 'age': 2 differs from the first row of the same decision"):
        Log.of(pd.DataFrame(rows), features=Features({"age": Number(0, 10)}))


def test_items_without_known_features_are_refused() -> None:
    rows = {
        "timestamp": [1, 2],
        "item_id": ["a", "a"],
        "reward": [1, 0],
        "price": 3,
        "available": "a|b",
        "propensity": 0.5,
    }
    features = Features(arms={"price": Number(0, 10)})
    with pytest.raises(DataError, match="the log never plays 'b', so that its features are not known"):
        Log.of(pd.DataFrame(rows), features=features)
    log = Log.of(pd.DataFrame({**rows, "available": "a"}), features=features)
    with pytest.raises(DataError, match="the features of 'b', which is not in the log, are not known"):
        evaluate(log, {"b": 1.0})


def crossed(rounds: int = 4000, seed: int = 1) -> tuple[Log, Any]:
    """A log by uniform chances, in which tea pays in one country and mate in the other."""
    rng = np.random.default_rng(seed)
    country, item = rng.integers(2, size=rounds), rng.integers(2, size=rounds)
    means = np.where(np.arange(2) == country[:, np.newaxis], 0.8, 0.2)
    reward = (rng.random(rounds) < means[np.arange(rounds), item]).astype(float)
    frame = pd.DataFrame({"time": range(rounds), "item": np.array(["mate", "tea"])[item], "reward": reward,
                          "propensity": 0.5, "country": np.array(["DE", "FR"])[country]})  # fmt: skip
    return Log.of(frame, features=Features({"country": Category(["DE", "FR"], unknown="error")})), means


def again(log: Log) -> pd.DataFrame:
    """Its rows."""
    items, country = np.array(log.items)[log.item], np.array(["DE", "FR"])[known_of(log).situation[:, 2].astype(int)]
    rows = {"time": range(log.rounds), "item": items, "reward": log.reward, "propensity": 0.5, "country": country}
    return pd.DataFrame(rows)


def known_of(log: Log) -> Known:
    assert log.known is not None
    return log.known


@pytest.mark.parametrize("price", [False, True])
def test_the_model_is_of_earlier_rounds_only_and_learns_what_features_say(price: bool) -> None:
    log, means = crossed()
    if price:  # the same, of an item's feature
        declared = Features(known_of(log).features.situation, {"price": Number(0, 1)}, [("country", "price")])
        log = Log.of(again(log).assign(price=log.item), features=declared)
    model = Model.of(log)
    found = model.expected(2000, 4000)
    assert np.abs(found - means[2000:4000]).max() < 0.1
    assert model.expected(0, 1).tolist() == [[0.0, 0.0]]
    changed = log.reward.copy()
    changed[1500:] = 0.0
    other = Model.of(replace(log, reward=changed))
    assert (other.expected(0, 1500) == model.expected(0, 1500)).all()


def test_estimates_with_features_are_unbiased_and_surer() -> None:
    log, _ = crossed()

    class Fitting:
        """Plays what fits the country."""

        name = "fitting"

        def items(self) -> tuple[str, ...]:
            return ()

        def propensities(self, log: Log) -> Any:
            assert log.known is not None
            yield log.known.situation[:, 1:]

    with_features = evaluate(log, Fitting(), interval="normal").estimates["fitting"]
    by_weights = evaluate(log, Fitting(), interval="normal", estimator="ips").estimates["fitting"]
    assert with_features.stderr < 0.75 * by_weights.stderr
    assert abs(with_features.value - 0.8) < 4 * with_features.stderr
    plain = replace(log, known=None)
    fixed, fixed_plain = (evaluate(one, FixedShares(), interval="normal").estimates["uniform"] for one in (log, plain))
    assert fixed.stderr < fixed_plain.stderr
    assert abs(fixed.value - 0.5) < 4 * fixed.stderr


def test_items_that_play_where_they_fit_do_not_drift() -> None:
    """From the middle of the log on each country mostly gets what it likes, so that the mean of every item rises."""
    rng, rounds = np.random.default_rng(0), 4000
    french, later = rng.random(rounds) < 0.5, np.arange(rounds) >= rounds // 2
    fits = rng.random(rounds) < np.where(later, 0.9, 0.5)
    rows = {"time": range(rounds), "item": np.where(fits == french, "tea", "mate")}
    rows |= {"reward": (rng.random(rounds) < np.where(fits, 0.8, 0.2)).astype(int)}
    rows |= {"propensity": np.where(later, np.where(fits, 0.9, 0.1), 0.5), "country": np.where(french, "FR", "DE")}
    frame, features = pd.DataFrame(rows), Features({"country": Category(["DE", "FR"], unknown="error")})
    with_features, without = (grade(Log.of(frame, features=one)) for one in (features, None))
    assert not any("differ between the first and the second half" in one for one in with_features.reasons)
    assert any("differ between the first and the second half" in one for one in without.reasons)


def test_propensities_that_depend_on_features_are_not_counted() -> None:
    with pytest.raises(DataError, match="was read with features, and chances that depend on them"):
        estimated(crossed(50)[0])


@frozen
class ByCountry(Index):
    """Rewards summed by situation and arm."""

    @property
    def traits(self) -> Traits:
        return Traits(contextual=True)

    def start(self, shape: Any) -> Any:
        return np.zeros((2, shape[-1], shape.situation))

    def after_feedback(self, state: Any, feedback: Any, rng: Any = None) -> None:
        answers = feedback.answers
        np.add.at(state.index[0], answers.places, answers.situation)
        np.add.at(state.index[1], answers.places, answers.situation * answers.rewards[:, np.newaxis])

    def score(self, state: Any, observation: Any, rng: Any) -> Any:
        plays, sums = state.index @ observation.situation
        return sums / np.maximum(plays, 1e-9) + 10.0 * (plays < 20)


def test_a_policy_that_goes_by_features_is_replayed_with_them() -> None:
    log, _ = crossed()
    found = replay(log, Policy(ByCountry()))
    assert found.reward > 0.72
    assert replay(log, "ucb1").reward < 0.6
    assert replay(log, {"index": {"kind": "lin_ucb", "radius": 0.2}}).reward > 0.72
    with pytest.raises(
        DataError, match=r"goes by features, and the log was read without: read_log\(path, features=…\)"
    ):
        replay(replace(log, known=None, plays=None), Policy(ByCountry()))
    for model in ("disjoint", "shared"):
        with pytest.raises(DataError, match=r"or a table \[features\] in the file .columns.toml beside it"):
            replay(replace(log, known=None, plays=None), {"index": {"kind": "lin_ucb", "model": model}})


def test_late_rewards_are_replayed_with_the_features_of_their_own_play() -> None:
    log, _ = crossed()
    late = np.random.default_rng(2).integers(0, 30, size=log.rounds)
    frame = again(log).assign(rewarded=np.arange(log.rounds) + late)
    delayed = Log.of(frame, features=log.reading.features)
    assert replay(delayed, Policy(ByCountry())).reward > 0.72


@pytest.mark.parametrize(
    ("promise", "cost"),
    [(0.3, 0.0), ({"fractions": {"tea": 0.7}}, 0.2 * 0.6), ({"caps": {"tea": 0.4}}, 0.1 * 0.6)],
)
def test_a_promise_is_paid_in_the_contexts_where_that_costs_least(promise: Any, cost: float) -> None:
    log, _ = crossed()
    found = price(log, promise)
    (point,) = found.curve
    assert point.low - 0.02 <= cost <= point.high + 0.02  # the two countries are not exactly as many
    assert abs(point.steady - cost) < 0.03
    assert abs(found.best - 0.8) < 0.03
    assert sum(point.shares.values()) == pytest.approx(1.0)
    assert found.rounds == 0
    assert found.premises[0] == "the propensities are right"


def test_a_price_of_nothing_has_an_interval_that_holds_where_the_model_may_be_wrong() -> None:
    """A promise of which the model has enough by itself, in a log of few rows and in one of many."""
    few, many = (price(crossed(rounds)[0], {"fractions": {"tea": 0.3}}).curve[0] for rounds in (60, 4000))
    assert (few.steady, few.low, many.steady, many.high) == (0.0, 0.0, 0.0, 0.0)
    assert few.high > 0.05


#: What the best linear choices earn in the log of `bent`, less what they earn where mate plays in half of all rounds.
BENT_PRICE = 0.6 * 0.2 / 1.26


def bent(rounds: int, seed: int = 0) -> Log:
    """Of uniform chances, with rewards far from linear: mate pays in 8 of 10 where x is above 0.7, else in 2, tea vice
    versa.

    By the best linear model mate earns ``0.38 + 0.756 (x − 0.5)``, more than tea from x = 0.66 on.
    """
    rng = np.random.default_rng(seed)
    x, mate = rng.random(rounds), rng.random(rounds) < 0.5
    reward = rng.random(rounds) < np.where(mate == (x > 0.7), 0.8, 0.2)
    rows = {"time": range(rounds), "item": np.where(mate, "mate", "tea"), "reward": reward.astype(int)}
    return Log.of(pd.DataFrame(rows | {"propensity": 0.5, "x": x}), features=Features({"x": Number(0, 1)}))


def test_a_price_is_right_where_the_model_is_not() -> None:
    """Its choices are judged by what they earn, not by what it expects."""
    found = price(bent(16_000), {"fractions": {"mate": 0.5}})
    (point,) = found.curve
    assert found.best == pytest.approx(0.8 - 0.6 * 0.2 + BENT_PRICE, abs=0.03)
    assert point.steady == pytest.approx(BENT_PRICE, abs=0.03)
    assert "The model itself expects 0.6" in found.sentences[0]
    assert {one.arm: round(one.mean, 1) for one in found.by_arm} == {"mate": 0.4, "tea": 0.6}


def test_without_propensities_a_price_rests_on_the_model_and_says_so() -> None:
    log = bent(16_000)
    found = price(replace(log, propensity=np.full(log.rows, np.nan)), {"fractions": {"mate": 0.5}})
    assert found.premises[0] == "rewards are linear in the features with noise of one size"
    assert "has no propensities, by which the choices of the model could be judged" in found.assumptions[-1]
    assert found.sentences[0].startswith("Without a promise the best would earn 0.6")
    assert found.curve[0].high < 0.8 * BENT_PRICE  # of the model alone, which is wrong


@pytest.mark.slow
def test_the_interval_of_a_price_covers_what_the_choices_lose_in_most_logs() -> None:
    """Of 40 logs; the expected number is more than 38, as it is one of four intervals that hold together."""
    inside = 0
    for seed in range(40):
        log, truth = bent(400, seed), []
        facts = of_log(log, known_of(log))
        for part in facts.parts:
            means = np.where((part.facts.known.situation[:, 1:] > 0.7) == [True, False], 0.8, 0.2)
            lost = part.facts.free() - part.facts.played({"fractions": [0.5, 0.0]})[0]
            truth.append((lost * means).sum(axis=1))
        (point,) = price(log, {"fractions": {"mate": 0.5}}).curve
        inside += point.low <= np.concatenate(truth).mean() <= point.high
    assert inside >= 38


def test_it_is_said_in_which_situations_a_promise_is_paid() -> None:
    log, _ = crossed()
    says = price(log, {"fractions": {"tea": 0.7}}).sentences
    assert says[-1] in ("The cost of fractions tea 0.7 by country: DE 100%, FR 0%.",
                        "The cost of fractions tea 0.7 by country: DE 0%, FR 100%.")  # fmt: skip
    mate = log.items.index("mate")
    best = "DE" if log.reward[(log.item == mate) & (known_of(log).situation[:, 1] == 1)].mean() > 0.5 else "FR"
    assert f"{best} 100%" in says[-1]  # where tea is not the best
    assert not any("by country" in one for one in price(log, 0.1).sentences)


def test_prices_of_many_contexts_and_of_features_of_arms_are_like_those_of_few() -> None:
    log, _ = crossed()
    rng = np.random.default_rng(5)
    declared = Features({**known_of(log).features.situation, "noise": Number(0, 1)}, {"price": Number(0, 1)})
    wide = Log.of(again(log).assign(noise=rng.random(log.rounds), price=log.item), features=declared)
    tables = {"fractions": {"tea": 0.7}}
    assert price(wide, tables).curve[0].steady == pytest.approx(price(log, tables).curve[0].steady, abs=0.02)


def test_nothing_is_simulated_from_a_log_with_features() -> None:
    for more in ({"policy": "f_ts"}, {"rounds": 100}):
        with pytest.raises(
            EvenhandError, match="nothing is simulated from a log with features: leave out policy or algorithm, and"
        ):
            price(crossed(100)[0], 0.1, **more)


def test_shares_by_merit_have_no_price_by_features() -> None:
    with pytest.raises(EvenhandError, match="shares by merit have no price where rewards go by features"):
        price(crossed(100)[0], {"merit": {"kind": "linear"}})


@pytest.mark.slow
def test_of_many_segments_only_those_that_pay_most_are_listed() -> None:
    rng, rounds = np.random.default_rng(0), 2000
    shop, item = rng.integers(30, size=rounds), rng.integers(2, size=rounds)
    rows = {"timestamp": range(rounds), "item_id": np.array(["tea", "mate"])[item], "propensity_score": 0.5}
    rewards = np.where(item == 0, 0.8, 0.2 + 0.01 * shop) + rng.normal(0.0, 0.01, rounds)
    frame = pd.DataFrame(rows | {"reward": rewards, "shop": [f"s{one}" for one in shop]})
    features = Features({"shop": Category(sorted(set(frame["shop"])))})
    log = Log.of(frame, features=features)
    within = price(log, 0.4, segments="shop")
    assert sum("In the segment s" in one for one in within.sentences) == 3
    assert "27 more segments add less; all are listed by segment." in within.sentences
    assert len(within.by_segment) == 30
    (said,) = (one for one in price(log, 0.4).sentences if "by shop" in one)
    assert said.count("%") == 22  # of the promise, of 20 segments and of the others
    assert said.endswith("%.")
    assert "all others" in said


# --- promises by segment ----------------------------------------------------------------------------------------------


def test_what_a_promise_costs_in_each_segment_adds_up_to_what_it_costs() -> None:
    log, _ = crossed()
    found, over = price(log, [0.1, 0.2], segments="country"), price(log, [0.1, 0.2])
    assert [(one.promise, one.segment) for one in found.by_segment] == [
        (share, country) for share in ("10%", "20%") for country in ("DE", "FR")
    ]
    assert found.best == over.best
    for point, overall in zip(found.curve, over.curve, strict=True):
        parts = [one for one in found.by_segment if one.promise == point.promise]
        assert sum(one.part for one in parts) == pytest.approx(1.0)
        assert sum(one.part * one.steady for one in parts) == pytest.approx(point.steady)
        assert all(one.low <= one.steady <= one.high for one in parts)
        assert all(min(one.shares.values()) >= float(point.promise[:-1]) / 100.0 - 1e-9 for one in parts)
        assert point.steady >= overall.steady - 1e-9  # what is promised in each segment cannot be paid elsewhere
    assert found.sentences[-1].startswith("Promised over all rounds and paid where it costs least, 20% would cost")
    assert over.sentences[1].rsplit("(95% interval", 1)[1] in found.sentences[-1]
    assert found.to_json()["by_segment"][0]["segment"] == "DE"
    assert over.by_segment == ()


def test_the_price_of_a_promise_in_a_segment_is_near_the_true_one() -> None:
    """As the optima of the environment have it, from which the log was drawn."""
    rng, number = np.random.default_rng(7), 8000
    country = rng.choice(["DE", "FR"], number, p=[0.7, 0.3])
    means = {"DE": np.array([0.8, 0.5, 0.3]), "FR": np.array([0.2, 0.6, 0.3])}
    item = rng.integers(3, size=number)
    reward = rng.random(number) < np.array([means[one][at] for one, at in zip(country, item, strict=True)])
    names = np.array(["tea", "coffee", "mate"])
    rows = {"time": range(number), "item": names[item], "reward": reward * 1, "propensity": 1 / 3, "country": country}
    declared = Features({"country": Category(["DE", "FR"], "error")})
    log = Log.of(pd.DataFrame(rows), features=declared)
    found = price(log, {"fractions": {"mate": 0.2}, "segment": "FR"}, segments="country")
    law = Categories({"country": {"DE": 0.7, "FR": 0.3}})
    world = Environment(Linear([[0.0, 0.8, 0.2], [0.0, 0.5, 0.6], [0.0, 0.3, 0.3]]), contexts=law, segments="country")
    known = baseline_of(ucb1(), world, within=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]]))
    true = float(np.asarray(known.best)) - float(np.asarray(known.best_fair))
    assert true == pytest.approx(0.3 * 0.2 * 0.3)
    assert found.curve[0].low <= true <= found.curve[0].high
    assert found.curve[0].steady == pytest.approx(true, abs=0.004)
    (one,) = found.by_segment
    assert one.segment == "FR"
    assert one.steady == pytest.approx(0.06, abs=0.015)
    assert "Promised over all rounds" not in str(found)


def test_a_replay_keeps_what_is_promised_in_a_segment() -> None:
    log, _ = crossed()
    fair = {"index": {"kind": "lin_ucb", "radius": 0.3}, "fairness": {"kind": "deficit_first", "fractions": 0.0}}
    promises: list[Any] = [{"fractions": {"tea": 0.25}, "segment": "DE"}, Promise({"mate": 0.1}, segment="FR")]
    found = replay(log, fair, segments="country", promises=promises)
    assert sum(one.rounds for one in found.segments) == found.rounds
    assert np.allclose(sum(one.plays for one in found.segments), found.shares * found.rounds)
    places = {one.segment: one for one in found.segments}
    for segment, item, share in (("DE", "tea", 0.25), ("FR", "mate", 0.1)):
        one, at = places[segment], log.items.index(item)
        assert one.promised[at] == share
        assert one.behind[at] == pytest.approx(share * one.rounds - one.plays[at])
        assert one.behind[at] < 1.0
    assert found.to_json()["segments"][0]["promised"].keys() == set(log.items)
    counted = replay(log, fair, segments="country")
    assert counted.reward == replay(log, fair).reward
    assert counted.segments


def test_promises_by_segment_need_segments_and_what_keeps_them() -> None:
    log, _ = crossed(300)
    fair = {"index": "lin_ucb", "fairness": {"kind": "deficit_first", "fractions": 0.0}}
    promise = {"fractions": {"tea": 0.2}, "segment": "DE"}
    with pytest.raises(EvenhandError, match=r"segment: needs segments, the feature by whose values"):
        price(log, promise)
    with pytest.raises(EvenhandError, match="segment: there is no segment 'IT'; known: DE, FR"):
        price(log, {**promise, "segment": "IT"}, segments="country")
    with pytest.raises(EvenhandError, match="segments needs a log with features"):
        price(Environment(Linear([[0.5], [0.4]]), contexts=Normal(0)), 0.1, segments="country")
    with pytest.raises(EvenhandError, match="promises by segment need the feature that makes them"):
        replay(log, fair, promises=[promise])
    with pytest.raises(EvenhandError, match=r"promises\[0\].segment: there is no segment 'IT'"):
        replay(log, fair, segments="country", promises=[{**promise, "segment": "IT"}])
    with pytest.raises(EvenhandError, match="NoPromise promises nothing by segment"):
        replay(log, "lin_ucb", segments="country", promises=[promise])
    with pytest.raises(InfeasiblePromise, match=r"promised in the segment 'DE' sum to 1.2"):
        replay(log, fair, segments="country", promises=[{"fractions": {"tea": 0.6, "mate": 0.6}, "segment": "DE"}])


def test_the_commands_have_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, _ = crossed()
    path = tmp_path / "log.csv"
    again(log).to_csv(path, index=False)
    read_log(path, features=known_of(log).features)
    assert run(["price", str(path), "--promise", "0.1", "--segments", "country"]) == 0
    assert "cost per round of it" in capsys.readouterr().out
    algorithm = "{index='lin_ucb', fairness={kind='deficit_first', fractions=0.0}}"
    promise = "{segment='DE', fractions={tea=0.2}}"
    asked = ["evaluate", str(path), "--algorithm", algorithm, "--segments", "country", "--promise", promise]
    assert run(asked) == 0
    assert "promised" in capsys.readouterr().out
    assert run(["evaluate", str(path), "--shares", "uniform", "--segments", "country"]) == 2


@pytest.mark.parametrize("part", [1.0, 0.98, 0.5])
def test_a_promise_near_all_that_availability_allows_has_a_price(part: float) -> None:
    """Of the rounds that are judged together some parts have the arm available less often than all have."""
    rng, rounds = np.random.default_rng(1), 400
    some, french = rng.random((2, rounds)) < 0.5
    tea = some & (rng.random(rounds) < 0.5)
    rows = {"time": range(rounds), "item": np.where(tea, "tea", "mate"), "propensity": np.where(some, 0.5, 1.0)}
    rows |= {"reward": (rng.random(rounds) < np.where(tea, 0.2, 0.8)).astype(int)}
    rows |= {"available": np.where(some, "tea|mate", "mate"), "country": np.where(french, "FR", "DE")}
    log = Log.of(pd.DataFrame(rows), features=Features({"country": Category(["DE", "FR"], unknown="error")}))
    (point,) = price(log, {"fractions": {"tea": part * float(some.mean())}}).curve
    assert point.low < 0.6 * part * some.mean() < point.high
