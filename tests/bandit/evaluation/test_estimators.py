"""Estimates of a policy's value from another one's log: by hand, and where the truth is known."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from evenhand.bandit.evaluation import targets
from evenhand.bandit.evaluation.estimators import ESTIMATORS, Evaluation, evaluate
from evenhand.bandit.evaluation.log import Log, read_log
from evenhand.bandit.evaluation.targets import FixedShares, Learner, Target
from evenhand.cli import main as cli
from evenhand.core.errors import DataError, EvenhandError, InfeasiblePromise
from evenhand.core.state import Array, Mask

# --- logs -------------------------------------------------------------------------------------------------------------


def log_of(items: Any, rewards: Any, propensities: Any, **columns: Any) -> Log:
    """A log of one play per round, in memory."""
    rows = {"timestamp": range(len(items)), "item_id": items, "reward": rewards, "propensity_score": propensities}
    return Log.of(pd.DataFrame(rows | columns))


def drawn(rng: np.random.Generator, propensities: Array) -> Any:
    """One item per row, drawn with the row's propensities."""
    return (rng.random((len(propensities), 1)) < propensities.cumsum(axis=1)).argmax(axis=1)


def simulated(rng: np.random.Generator, rounds: int, means: Array, shares: Array, awake: Mask | None = None) -> Log:
    """A log of Bernoulli rewards; in each round the available items share in proportion."""
    sets = np.ones((1, len(means)), dtype=bool) if awake is None else awake
    available = rng.integers(len(sets), size=rounds)
    weights = sets[available] * shares
    propensities = weights / weights.sum(axis=1, keepdims=True)
    item = drawn(rng, propensities)
    rows = np.arange(rounds)
    reward = (rng.random(rounds) < means[item]).astype(float)
    names = tuple(map(str, range(len(means))))
    return Log("a simulation", names, item, reward, propensities[rows, item], rows, sets, available, awake is not None)


TINY = (["a", "b", "a"], [1, 0, 0], [0.5, 0.25, 0.5])
TARGET = {"a": 0.75, "b": 0.25}

# --- by hand ----------------------------------------------------------------------------------------------------------


def test_estimates_by_hand() -> None:
    evaluation = evaluate(log_of(*TINY), TARGET)
    # w = 1.5, 1, 1.5, so w r = 1.5, 0, 0
    ips, snips, dr = (evaluation.estimates[name] for name in ("ips", "snips", "dr"))
    assert (ips.value, snips.value) == pytest.approx((1.5 / 3, 1.5 / 4))
    assert ips.stderr == pytest.approx(np.std([1.5, 0, 0], ddof=1) / 3**0.5)
    # w (r − V) = 0.9375, −0.375, −0.5625, over Σw = 4
    assert snips.stderr == pytest.approx((3 / 2 * (0.9375**2 + 0.375**2 + 0.5625**2)) ** 0.5 / 4)
    # Round 1 knows nothing: 0 + 1.5 (1 − 0). Round 2 knows a mean of 1, also for b: 1 + 1 (0 − 1). Round 3 knows
    # a = 1 and b = 0: 0.75 + 1.5 (0 − 1).
    assert dr.value == pytest.approx((1.5 + 0.0 - 0.75) / 3)
    assert dr.stderr == pytest.approx(np.std([1.5, 0.0, -0.75], ddof=1) / 3**0.5)
    assert (evaluation.effective, evaluation.largest) == pytest.approx((16 / 5.5, 1.5))
    assert evaluation.mean_weight == pytest.approx(4 / 3)
    assert evaluation.shares == pytest.approx([0.75, 0.25])
    assert evaluation.logged_shares == pytest.approx([2 / 3, 1 / 3])
    assert (evaluation.logged.value, evaluation.logged.stderr) == pytest.approx(
        (1 / 3, np.std([1, 0, 0], ddof=1) / 3**0.5)
    )


def test_interval_is_normal() -> None:
    ips = evaluate(log_of(*TINY), TARGET).estimates["ips"]
    half = stats.norm.ppf(0.975) * ips.stderr
    assert (ips.low, ips.high) == pytest.approx((ips.value - half, ips.value + half))


def test_clipping_by_hand() -> None:
    evaluation = evaluate(log_of(*TINY), TARGET, clip=1.2)
    assert evaluation.estimates["ips"].value == pytest.approx(1.2 / 3)
    assert evaluation.estimates["snips"].value == pytest.approx(1.2 / 3.4)
    assert (evaluation.clipped, evaluation.largest) == (2, 1.5)
    assert "2 weights were clipped" in evaluation.warnings[-1]


def test_several_plays_a_round_by_hand() -> None:
    """Σ w r of the round's plays is one number; the target plays a single item."""
    log = log_of(["a", "b", "a", "c"], [1, 0, 1, 1], [0.5, 0.8, 0.5, 0.7], decision_id=["x", "x", "y", "y"])
    evaluation = evaluate(log, {"a": 0.5, "b": 0.4, "c": 0.1})
    weights = np.array([1.0, 0.5, 1.0, 1 / 7])
    by_round = np.array([1.0, 1.0 + 1 / 7])
    snips = (2 + 1 / 7) / weights.sum()
    assert (evaluation.rounds, evaluation.rows) == (2, 4)
    assert evaluation.estimates["ips"].value == pytest.approx(by_round.mean())
    assert evaluation.estimates["ips"].stderr == pytest.approx(by_round.std(ddof=1) / 2**0.5)
    assert evaluation.estimates["snips"].value == pytest.approx(snips)
    rests = np.array([1 - snips - 0.5 * snips, (1 + 1 / 7) * (1 - snips)])
    assert evaluation.estimates["snips"].stderr == pytest.approx((2 * rests @ rests) ** 0.5 / weights.sum())
    # Round 1 knows nothing. Round 2 knows a = 1, b = 0 and takes their mean of 1/2 for c.
    second = 0.5 + 0.1 * 0.5 + (1 / 7) * (1 - 0.5)
    assert evaluation.estimates["dr"].value == pytest.approx((1.0 + second) / 2)
    assert evaluation.mean_weight == pytest.approx(weights.sum() / 2)


def test_shares_are_among_those_available() -> None:
    log = log_of(["a", "b", "c"], [1, 0, 1], 0.5, available=["a|b", "b|c", '["c"]'])
    shares = {"a": 0.5, "b": 0.5}
    assert np.vstack(list(FixedShares(shares).propensities(log))) == pytest.approx(
        np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    )
    assert evaluate(log, "uniform").shares == pytest.approx([0.5 / 3, 1 / 3, 1.5 / 3])


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    log = simulated(rng, 50, np.array([0.2, 0.5, 0.8]), np.array([0.5, 0.3, 0.2]))
    chosen: tuple[Target, ...] = (FixedShares(), Learner("thompson", lanes=5))
    whole = [evaluate(log, target).to_json() for target in chosen]
    monkeypatch.setattr(targets, "CELLS", 3 * 7)  # seven rounds at a time, and one left over
    for target, before in zip(chosen, whole, strict=True):
        assert len(list(target.propensities(log))) == 8
        after = evaluate(log, target).to_json()
        for name in ESTIMATORS:
            assert after["estimates"][name] == pytest.approx(before["estimates"][name])


# --- where the truth is known -----------------------------------------------------------------------------------------

MEANS, USED, WANTED = np.array([0.1, 0.5, 0.8]), np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
AWAKE = np.array([[True, True, True], [True, True, False], [False, True, True], [True, False, True]])


def fixed(shares: Array) -> dict[str, float]:
    return {str(place): share for place, share in enumerate(shares.tolist())}


def repeated(make: Callable[[], Evaluation], times: int) -> dict[str, tuple[Array, Array]]:
    """Values and standard errors of many logs, (times,), of each estimator."""
    evaluations = [make() for _ in range(times)]
    return {
        name: (
            np.array([one.estimates[name].value for one in evaluations]),
            np.array([one.estimates[name].stderr for one in evaluations]),
        )
        for name in ESTIMATORS
    }


@pytest.fixture(scope="module")
def sleeping() -> tuple[float, dict[str, tuple[Array, Array]]]:
    """The value of fixed shares where items sleep, and its estimates from a thousand logs of 500 rounds."""
    rng = np.random.default_rng(11)
    weights = AWAKE * WANTED
    truth = float((weights / weights.sum(axis=1, keepdims=True) @ MEANS).mean())
    return truth, repeated(lambda: evaluate(simulated(rng, 500, MEANS, USED, AWAKE), fixed(WANTED)), 1000)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimates_are_right_on_average(name: str, sleeping: tuple[float, dict[str, tuple[Array, Array]]]) -> None:
    truth, estimates = sleeping
    values, _ = estimates[name]
    # Four standard errors of the mean of a thousand; SNIPS has a bias of order 1/500, far below.
    assert abs(values.mean() - truth) < 4 * values.std() / 1000**0.5


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_cover(name: str, sleeping: tuple[float, dict[str, tuple[Array, Array]]]) -> None:
    truth, estimates = sleeping
    values, errors = estimates[name]
    covered = (np.abs(values - truth) <= stats.norm.ppf(0.975) * errors).mean()
    # Binomial of 1000, four standard errors.
    assert abs(covered - 0.95) < 4 * (0.95 * 0.05 / 1000) ** 0.5


def test_standard_errors_are_right(sleeping: tuple[float, dict[str, tuple[Array, Array]]]) -> None:
    for values, errors in sleeping[1].values():
        # The standard deviation of a thousand has a relative error of 1/sqrt(2000).
        assert errors.mean() == pytest.approx(values.std(), rel=4 / 2000**0.5)


def test_doubly_robust_is_narrower_where_the_model_is_good() -> None:
    """Rewards without noise: the mean of a past play is the reward, and only the first rounds are in error."""
    rng, means = np.random.default_rng(5), np.array([0.2, 0.5, 0.9])

    def once() -> Evaluation:
        item = drawn(rng, np.broadcast_to(USED, (200, 3)))
        log = log_of([str(one) for one in item], means[item], USED[item])
        return evaluate(log, fixed(WANTED))

    estimates = repeated(once, 200)
    assert estimates["dr"][0].std() < 0.5 * estimates["ips"][0].std()
    assert abs(estimates["dr"][0].mean() - WANTED @ means) < 4 * estimates["dr"][0].std() / 200**0.5


def adaptive(rng: np.random.Generator, rounds: int, lanes: int) -> Iterator[Log]:
    """Logs of a policy that learns: it plays the best mean so far with chance 0.6, and any item with the rest."""
    counts, sums = np.zeros((lanes, 3)), np.zeros((lanes, 3))
    rows = np.arange(lanes)
    rows_of_lanes: list[tuple[Any, Any, Any]] = []
    for _ in range(rounds):
        propensity = np.full((lanes, 3), 0.4 / 3)
        propensity[rows, (sums / np.maximum(counts, 1)).argmax(axis=1)] += 0.6
        item = drawn(rng, propensity)
        reward = (rng.random(lanes) < MEANS[item]).astype(float)
        rows_of_lanes.append((item, reward, propensity[rows, item]))
        counts[rows, item] += 1
        sums[rows, item] += reward
    items, rewards, propensities = (np.array(column).T for column in zip(*rows_of_lanes, strict=True))
    one = np.ones((1, 3), dtype=bool)
    for lane in range(lanes):
        numbers, zeros = np.arange(rounds), np.zeros(rounds, dtype=np.intp)
        yield Log("", ("0", "1", "2"), items[lane], rewards[lane], propensities[lane], numbers, one, zeros)


def test_a_log_that_learned_is_no_trouble() -> None:
    evaluations = [evaluate(log, fixed(WANTED)) for log in adaptive(np.random.default_rng(8), 200, 500)]
    for name in ("ips", "dr"):
        values = np.array([one.estimates[name].value for one in evaluations])
        assert abs(values.mean() - WANTED @ MEANS) < 4 * values.std() / 500**0.5
    # Were propensities ignored, the mean of the log would be far off.
    assert np.mean([one.logged.value for one in evaluations]) > WANTED @ MEANS + 0.05


@pytest.mark.parametrize("target", [Learner("ucb1"), Learner("thompson", lanes=3)], ids=lambda target: target.name)
def test_value_of_a_learner_is_that_of_its_propensities(target: Learner) -> None:
    """Given the log, V = (1/T) Σ π_t μ is known; the estimates miss it by nothing on average."""
    misses: dict[str, list[float]] = {"ips": [], "dr": []}
    for log in adaptive(np.random.default_rng(21), 100, 100):
        truth = float((np.vstack(list(target.propensities(log))) @ MEANS).mean())
        evaluation = evaluate(log, target)
        for name, missed in misses.items():
            missed.append(evaluation.estimates[name].value - truth)
    for missed in misses.values():
        assert abs(np.mean(missed)) < 4 * np.std(missed) / 100**0.5


def test_several_plays_a_round_are_right_on_average() -> None:
    """Two of four items a round by systematic sampling, whose inclusion probabilities are those requested."""
    rng, means = np.random.default_rng(2), np.array([0.2, 0.4, 0.6, 0.9])
    inclusion, wanted = np.array([0.8, 0.6, 0.4, 0.2]), np.array([0.1, 0.2, 0.3, 0.4])
    ends = inclusion.cumsum()

    def once() -> Evaluation:
        pointers = rng.random((300, 1, 1)) + np.arange(2)[:, np.newaxis]
        flat = (pointers >= ends).sum(axis=-1).reshape(-1)  # the item into whose share a pointer falls
        reward = (rng.random(600) < means[flat]).astype(float)
        zeros, one = np.zeros(300, dtype=np.intp), np.ones((1, 4), dtype=bool)
        log = Log("", tuple("0123"), flat, reward, inclusion[flat], np.arange(600) // 2, one, zeros)
        return evaluate(log, fixed(wanted))

    for values, errors in repeated(once, 500).values():
        assert abs(values.mean() - wanted @ means) < 4 * values.std() / 500**0.5
        assert errors.mean() == pytest.approx(values.std(), rel=4 / 1000**0.5)


# --- targets that learn -----------------------------------------------------------------------------------------------


def propensities_of(log: Log, algorithm: str, lanes: int = 100, **parameters: Any) -> Array:
    return np.vstack(list(Learner(algorithm, parameters, lanes=lanes).propensities(log)))


@pytest.fixture
def log() -> Log:
    return simulated(np.random.default_rng(1), 60, MEANS, USED, AWAKE)


def test_ucb_learns_from_the_log(log: Log) -> None:
    pulls, sums = np.zeros(3), np.zeros(3)
    propensities = propensities_of(log, "ucb1")
    for t in range(log.rounds):
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(pulls > 0, sums / pulls + np.sqrt(2 * np.log(t + 1) / pulls), np.inf)
        best = np.where(log.sets[log.available[t]], bound, -np.inf).argmax()
        assert propensities[t].tolist() == np.eye(3)[best].tolist()
        pulls[log.item[t]] += 1
        sums[log.item[t]] += log.reward[t]


def test_promises_are_reckoned_against_the_plays_of_the_log() -> None:
    log = log_of(["a", "a", "a", "b"], [0, 0, 0, 0], 0.5)
    # Owed before rounds 1 to 4: b 0, 0.4, 0.8, 1.2, and the log never lets it catch up.
    assert propensities_of(log, "fucb", fractions={"b": 0.4})[1:].tolist() == [[0, 1]] * 3


def test_thompson_is_drawn_in_lanes() -> None:
    rows = [("a", 1), ("a", 1), ("b", 0), ("b", 1), ("a", 0)]
    log = log_of([item for item, _ in rows], [reward for _, reward in rows], 0.5)
    last = propensities_of(log, "thompson", lanes=4000)[-1]
    # Before the last round: Beta(3, 1) against Beta(2, 2).
    truth = integrate.quad(lambda x: stats.beta.pdf(x, 3, 1) * stats.beta.cdf(x, 2, 2), 0, 1)[0]
    assert abs(last[0] - truth) < 4 * (truth * (1 - truth) / 4000) ** 0.5
    assert last.sum() == pytest.approx(1.0)


def test_exp3_weighs_by_the_propensities_of_the_log() -> None:
    log = log_of(["a", "b", "a"], [1.0, 0.5, 1.0], [0.5, 0.2, 0.9])
    gamma, logs, propensities = 0.3, np.zeros(2), propensities_of(log, "exp3", mixing=0.3)
    for t in range(3):
        weights = np.exp(logs)
        assert propensities[t] == pytest.approx((1 - gamma) * weights / weights.sum() + gamma / 2)
        logs[log.item[t]] += gamma / 2 * log.reward[t] / log.propensity[t]


@pytest.mark.parametrize("algorithm", ["ucb1", "thompson", "exp3"])
def test_propensities_know_nothing_of_their_own_round(algorithm: str) -> None:
    log = simulated(np.random.default_rng(4), 30, MEANS, USED)
    before = propensities_of(log, algorithm)
    log.reward[15:] = 1.0 - log.reward[15:]
    after = propensities_of(log, algorithm)
    assert (before[:16] == after[:16]).all()
    assert (before[16:] != after[16:]).any()


def test_several_plays_of_the_log_teach_together() -> None:
    log = log_of(["a", "b", "a", "c"], [1, 0, 1, 1], 0.5, decision_id=[1, 1, 2, 2])
    assert propensities_of(log, "ucb1").tolist() == [[1, 0, 0], [0, 0, 1]]


def test_a_horizon_left_out_is_that_of_the_log(log: Log) -> None:
    explicit = propensities_of(log, "naive", fractions=0.1, horizon=60)
    assert (propensities_of(log, "naive", fractions=0.1) == explicit).all()


@pytest.mark.parametrize("algorithm", ["ucb1", "exp3"])
def test_a_learner_learns_from_scaled_rewards(algorithm: str, log: Log) -> None:
    """Rewards of 8 and 12 euros in place of 0 and 1."""
    euros = replace(log, reward=8.0 + 4.0 * log.reward)
    learner = Learner(algorithm, rewards=(8.0, 12.0))
    assert (np.vstack(list(learner.propensities(euros))) == propensities_of(log, algorithm)).all()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Learner("ucb2"), "there is no algorithm 'ucb2'; did you mean 'ucb'"),
        (Learner("ucb1", {"explore": 1.0}), "has no parameter 'explore' here; did you mean 'exploration'"),
        (Learner("ucb1", {"plays": 2}), "one item per round is evaluated"),
        (Learner("ucb1", {"seed": 2}), "has no parameter 'seed'"),
        (Learner("fucb"), "fractions is missing: fucb needs it"),
        (Learner("fucb", {"fractions": {"7": 0.1}}), "unknown arm '7'"),
        (Learner({"index": "ucb", "selection": {"kind": "top_m", "plays": 2}}), "plays 2 items per round"),
        (Learner("mine:own"), "there is no algorithm 'mine:own'"),
        (Learner("ars_ucb"), "holds a choice for several rounds"),
        (Learner("odaaf", {"max_delay": 3}), "holds a choice for several rounds"),
    ],
)
def test_learners_that_cannot_follow(log: Log, target: Learner, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        evaluate(log, target)


def test_learner_refuses_infeasible_promises_and_rewards_out_of_range(log: Log) -> None:
    with pytest.raises(InfeasiblePromise):
        evaluate(log, Learner("fucb", {"fractions": 0.5}))
    log.reward[7] = 3.5
    with pytest.raises(EvenhandError, match=r"has rewards from 0 to 3\.5, not within 0 to 1: set rewards=\(0, 3\.5\)"):
        evaluate(log, Learner("ucb1"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda log: evaluate(log, {"0": 0.5, "1": 0.4}), r"shares must sum to 1, they sum to 0\.9"),
        (lambda log: evaluate(log, {"0": 1.5, "1": -0.5}), r"the share of '0' must be a number in \[0, 1\]"),
        (lambda log: evaluate(log, "even"), "target must be 'uniform'"),
        (lambda log: evaluate(log, "uniform", clip=0.0), "clip must be above 0"),
        (lambda log: evaluate(log, Learner("ucb1", lanes=0)), "lanes must be at least 1"),
    ],
)
def test_targets_that_make_no_sense(log: Log, make: Callable[[Log], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make(log)


# --- warnings ---------------------------------------------------------------------------------------------------------


def even(rounds: int = 200) -> Log:
    return simulated(np.random.default_rng(0), rounds, MEANS, np.ones(3) / 3)


def test_nothing_to_warn_of() -> None:
    assert evaluate(even(), "uniform").warnings == ()


def test_items_that_the_log_never_plays() -> None:
    evaluation = evaluate(even(), {"0": 0.5, "mate": 0.3, "tea": 0.2})
    assert "the log never plays 'mate', 'tea', to which the target gives 0.5 of the rounds" in evaluation.warnings[0]
    assert evaluation.items == ("0", "1", "2", "mate", "tea")
    assert evaluation.shares == pytest.approx([0.5, 0.0, 0.0, 0.3, 0.2])


def test_a_target_that_shares_nothing_with_the_log() -> None:
    evaluation = evaluate(even(), {"mate": 1.0})
    assert "its reward cannot be estimated" in evaluation.warnings[-1]
    assert np.isnan(evaluation.estimates["snips"].value)
    assert json.dumps(evaluation.to_json(), allow_nan=False)
    assert evaluation.to_json()["estimates"]["snips"]["value"] is None


def test_an_item_that_the_log_never_lists_is_not_available_where_it_lists_them(log: Log) -> None:
    evaluation = evaluate(log, {"0": 0.2, "1": 0.2, "2": 0.2, "mate": 0.4})
    assert evaluation.shares[3] == 0.0
    assert evaluation.warnings == ("'mate' is never available in the log; the others get its share",)


def test_a_single_heavy_play() -> None:
    log = even()
    log.propensity[3] = 0.001
    assert "a single play has" in evaluate(log, "uniform").warnings[0]
    assert "of all weight" in evaluate(log, "uniform").warnings[0]


def test_too_few_rewards() -> None:
    log = even(400)
    log.reward[:] = 0.0
    log.reward[:3] = 1.0
    assert "of the squared error" in evaluate(log, "uniform").warnings[0]


def test_uneven_weights() -> None:
    log = simulated(np.random.default_rng(0), 40_000, MEANS, np.array([0.999, 0.0005, 0.0005]))
    assert any("40,000 plays count as" in warning for warning in evaluate(log, fixed(WANTED)).warnings)


def test_propensities_that_do_not_fit() -> None:
    log = even()
    log.propensity[:] = 0.5
    # Every weight is 2/3, then 1.003, as rounded propensities make it.
    assert "the mean weight is 0.667 ± " in evaluate(log, "uniform").warnings[0]
    log.propensity[:] = 0.3323
    assert evaluate(log, "uniform").warnings == ()


# --- reading ----------------------------------------------------------------------------------------------------------

HEADER = "timestamp,decision_id,item_id,position,reward,propensity_score,available\n"
ROWS = (
    "2026-01-01T00:00:00Z,x,tea,1,1,0.5,tea|mate\n"
    "2026-01-01T00:00:05Z,y,mate,2,0.25,0.25,mate\n"
    '2026-01-01T00:00:07Z,z,tea,1,0,1,"[""tea"", ""mate""]"\n'
)


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_reading(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, HEADER + ROWS))
    assert log.items == ("mate", "tea")
    assert log.item.tolist() == [1, 0, 1]
    assert log.reward.tolist() == [1.0, 0.25, 0.0]
    assert log.propensity.tolist() == [0.5, 0.25, 1.0]
    assert log.sets[log.available].tolist() == [[True, True], [True, False], [True, True]]
    assert log.position is not None
    assert log.position.tolist() == ["1", "2", "1"]
    assert (log.rounds, log.notes) == (3, ())


def test_parquet_says_the_same(tmp_path: Path) -> None:
    read = read_log(written(tmp_path, HEADER + ROWS))
    table = pd.DataFrame(
        {
            "timestamp": pd.to_datetime(
                ["2026-01-01 00:00:00", "2026-01-01 00:00:05", "2026-01-01 00:00:07"], utc=True
            ),
            "decision_id": [1, 2, 3],
            "item_id": ["tea", "mate", "tea"],
            "position": [1.0, 2.0, 1.0],
            "reward": [1.0, 0.25, 0.0],
            "propensity_score": [0.5, 0.25, 1.0],
            "available": [["tea", "mate"], ["mate"], ["mate", "tea"]],
            "more": [None, None, None],
        }
    )
    table.to_parquet(tmp_path / "log.parquet")
    other = read_log(tmp_path / "log.parquet")
    assert evaluate(other, TARGET_OF_TEA).to_json() == evaluate(read, TARGET_OF_TEA).to_json()
    assert other.position is not None
    assert other.position.tolist() == ["1", "2", "1"]


TARGET_OF_TEA = {"tea": 0.5, "mate": 0.5}


def test_open_bandit_format(tmp_path: Path) -> None:
    text = (
        ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        "0,2019-11-24 00:00:01.5+00:00,14,3,0,0.25,c\n"
        "1,2019-11-24 00:00:02+00:00,2,1,1,0.25,c\n"
        "2,2019-11-24 00:00:02+00:00,14,1,1,0.5,d\n"
    )
    log = read_log(written(tmp_path, text))
    assert log.items == ("2", "14")  # by number
    assert evaluate(log, "uniform").estimates["ips"].value == pytest.approx((2 + 1) / 3)
    by = log.by_position()
    assert list(by) == ["1", "3"]
    assert [by[place].rounds for place in by] == [2, 1]
    assert evaluate(by["1"], "uniform").estimates["snips"].value == 1.0
    assert evaluate(by["3"], "uniform").estimates["ips"].to_json() == {
        "value": 0.0,
        "stderr": None,
        "low": None,
        "high": None,
    }


def test_rows_are_put_in_order_of_time_and_ties_stay() -> None:
    log = log_of(["c", "b", "a", "d"], [3, 1, 2, 0], 0.5, timestamp=[9, 5, 9, 1])
    assert log.reward.tolist() == [0, 1, 3, 2]
    assert log.notes == ("the rows were not in order of time and have been sorted",)
    late = log_of(["a", "b"], [0, 1], 0.5, timestamp=["2026-01-01T01:00+02:00", "2025-12-31 22:59Z"])
    assert late.reward.tolist() == [1, 0]


def test_rows_of_a_decision_stand_together() -> None:
    log = log_of(["a", "b", "c"], [1, 2, 3], 0.5, decision_id=["x", "y", "x"])
    assert log.reward.tolist() == [1, 3, 2]
    assert log.round.tolist() == [0, 0, 1]
    rows = pd.DataFrame({"timestamp": 1, "item_id": ["a", "a"], "reward": 0, "propensity_score": 1, "decision_id": "x"})
    assert Log.of(rows, rounds="row").rounds == 2


def test_missing_rewards_are_a_choice(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + ROWS.replace("2,0.25,", "2,,"))
    with pytest.raises(DataError, match=r"row 3, column 'reward': the reward is missing, as in 1 of 3 rows; say"):
        read_log(path)
    zero, lost = read_log(path, missing="zero"), read_log(path, missing="lost")
    assert zero.reward.tolist() == [1, 0, 0]
    assert lost.reward.tolist() == [1, 0]
    assert lost.item.tolist() == [1, 1]
    assert zero.notes == ("1 of 3 rows have no reward, and count as 0",)
    assert lost.notes[0] == "1 of 3 rows have no reward, and were left out"
    nothing = pd.DataFrame({"timestamp": [1], "item_id": "a", "reward": [None], "propensity_score": 1.0})
    with pytest.raises(DataError, match="no rows with a reward"):
        Log.of(nothing, missing="lost")


def test_columns_by_other_names() -> None:
    rows = pd.DataFrame({"when": [1], "what": ["tea"], "sold": [1.0], "p": [0.5]})
    columns = {"timestamp": "when", "item_id": "what", "reward": "sold", "propensity_score": "p"}
    assert Log.of(rows, columns).reward.tolist() == [1.0]
    with pytest.raises(EvenhandError, match="unknown column 'prize'"):
        Log.of(rows, columns | {"prize": "sold"})
    with pytest.raises(
        DataError, match=r"has no column 'sould', but 'sold'; name what is missing with columns={'reward': 'sold'}$"
    ):
        Log.of(rows, columns | {"reward": "sould"})
    with pytest.raises(DataError, match="has no column 'where'"):
        Log.of(rows, columns | {"position": "where"})


GOOD = ["2026-01-01", "x", "tea", "1", "1", "0.5", "tea|mate"]


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        (0, "soon", "row 3, column 'timestamp': 'soon' is neither a number nor a date"),
        (0, "", "row 3, column 'timestamp': a blank cell is neither"),
        (1, "", "row 3, column 'decision_id': the cell is blank"),
        (2, "", "row 3, column 'item_id': the cell is blank"),
        (2, "coffee", "row 3, column 'item_id': 'coffee' was played, but is not among the available 'mate', 'tea'"),
        (3, "", "row 3, column 'position': the cell is blank"),
        (4, "yes", "row 3, column 'reward': 'yes' is not a finite number"),
        (4, "inf", "row 3, column 'reward': 'inf' is not a finite number"),
        (4, "0,5", r"row 3, column 'reward': '0,5' is not a finite number .* \(write 0\.5\)$"),
        (4, "1,000", r"row 3, column 'reward': '1,000' is not a finite number \(leave unknown rewards blank\)$"),
        (5, "50%", r"row 3, column 'propensity_score': '50%' is not a propensity above 0 and up to 1 \(write 0\.5\)$"),
        (5, "50", r"row 3, column 'propensity_score': '50' is not a propensity above 0 and up to 1 \(write 0\.5\)$"),
        (4, "nan", "row 3, column 'reward': the reward is missing"),
        (5, "0", "row 3, column 'propensity_score': '0' is not a propensity above 0 and up to 1"),
        (5, "1.01", "row 3, column 'propensity_score': '1.01' is not a propensity"),
        (5, "-0.5", "row 3, column 'propensity_score': '-0.5' is not a propensity"),
        (5, "", "row 3, column 'propensity_score': a blank cell is not a propensity .*`evenhand export --estimate`"),
        (6, "", "row 3, column 'available': a blank cell is not a list of different names"),
        (6, "tea|tea", "row 3, column 'available': 'tea[|]tea' is not a list"),
        (6, "tea|", "row 3, column 'available': 'tea[|]' is not a list"),
        (6, "[tea]", r"row 3, column 'available': '\[tea\]' is not a list"),
        (6, "{x}|mate", "row 3, column 'item_id': 'tea' was played, but is not among the available 'mate', '{x}'"),
    ],
)
def test_wrong_cells_are_named(tmp_path: Path, column: int, cell: str, message: str) -> None:
    wrong = [*GOOD[:1], "y", *GOOD[2:]]
    wrong[column] = f'"{cell}"' if "," in cell else cell
    path = written(tmp_path, HEADER + ",".join(GOOD) + "\n" + ",".join(wrong) + "\n")
    with pytest.raises(DataError, match=rf"log\.csv, {message}"):
        read_log(path)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("1,x,tea,1,1,0.5,tea|mate", "row 3, column 'item_id': 'tea' was played before in the same decision"),
        ("1,x,mate,1,1,0.5,mate", "row 3, column 'available': 'mate' differs from the first row"),
        ("1,x,mate,1,1,0.5", "row 3: 6 cells for 7 columns"),
        ("1,x,mate,1,1,0.5,mate,8", "row 3: 8 cells for 7 columns"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, second: str, message: str) -> None:
    path = written(tmp_path, f"{HEADER}1,x,tea,1,1,0.5,tea|mate\n{second}\n")
    with pytest.raises(DataError, match=message):
        read_log(path)


def test_the_hint_for_blank_propensities_is_for_exported_logs(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,item_id,click,propensity_score\n1,a,1,\n")
    with pytest.raises(DataError, match=r"a blank cell is not a propensity above 0 and up to 1$"):
        read_log(path)


def test_blank_lines_count_and_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,item_id,click,propensity_score\n1,a,1,0.5\n\n2,b,1,7\n\n")
    with pytest.raises(DataError, match="row 4, column 'propensity_score': '7'"):
        read_log(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log.csv is empty"),
        (
            "when,sku,sold,p\n",
            "has no column 'timestamp', 'item_id', 'reward', but 'when', 'sku', 'sold', 'p'; name what is missing with "
            "columns={'timestamp': '…', 'item_id': '…', 'reward': '…'}$",
        ),
        ("timestamp;item_id;click;propensity_score\n1;a;1;0,5\n", "the separator looks like ';'; save it with commas"),
        (
            "timestamp,items,click,propensity_score\n",
            "has no column 'item_id', but 'items'; .*columns={'item_id': 'items'}",
        ),
        ("timestamp,item_id,value,propensity_score\n", "has no column 'reward', but 'value'"),
        ("timestamp,item_id,click,click,propensity_score\n", "has several columns 'click'"),
        ("timestamp,item_id,click,propensity_score\n", "log.csv has no rows"),
        ('timestamp,item_id,click,propensity_score\n1,"a', "cannot be read as a CSV file"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_log(written(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_log(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="there is no file"):
        read_log(tmp_path / "nothing.parquet")
    with pytest.raises(DataError, match="cannot be read as a Parquet file"):
        read_log(written(tmp_path, HEADER, "log.parquet"))
    (tmp_path / "bad.csv").write_bytes(b"timestamp,\xff\xfe\n")
    with pytest.raises(DataError, match=r"cannot be read as a CSV file: its text is not UTF-8; save it as UTF-8$"):
        read_log(tmp_path / "bad.csv")
    with pytest.raises(DataError, match="cannot be read as a CSV file"):
        read_log(tmp_path)


def test_positions_need_their_own_propensities() -> None:
    with pytest.raises(DataError, match="has no column of positions"):
        log_of(*TINY).by_position()
    several = log_of(["a", "b"], [0, 1], 0.5, decision_id="x", position=[1, 2])
    with pytest.raises(DataError, match="read the log with rounds='row'"):
        several.by_position()


def test_positions_keep_what_was_available() -> None:
    log = log_of(["a", "b", "b"], [1, 0, 1], 0.5, position=[1, 2, 1], available=["a|b", "b|c", "b"])
    first = log.by_position()["1"]
    assert first.items == ("a", "b", "c")
    assert evaluate(first, "uniform").shares == pytest.approx([0.25, 0.75, 0.0])


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run ``evenhand evaluate log.csv …`` in a folder with a log; exit status and what was printed."""
    written(tmp_path, HEADER + ROWS)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evenhand", "evaluate", "log.csv", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        return int(left.value.code or 0), printed.out, printed.err

    return run


Command = Callable[..., tuple[int, str, str]]


def test_command_as_json(command: Command, tmp_path: Path) -> None:
    status, out, err = command("--shares", "tea=0.5,mate=0.5", "--json")
    printed = json.loads(out)
    assert (status, err) == (0, "")
    evaluation = evaluate(read_log(tmp_path / "log.csv"), TARGET_OF_TEA).to_json()
    assert printed == {"log": "log.csv", **evaluation}
    written(tmp_path, json.dumps(TARGET_OF_TEA), "shares.json")
    assert json.loads(command("--shares", "shares.json", "--json")[1]) == printed
    assert json.loads(command("--shares", "uniform", "--json")[1])["estimates"] == printed["estimates"]
    positions = json.loads(command("--shares", "uniform", "--by-position", "--json")[1])["positions"]
    assert {place: one["rounds"] for place, one in positions.items()} == {"1": 2, "2": 1}


def test_command_sets_parameters(command: Command, tmp_path: Path) -> None:
    words = ("--set", "fractions={tea=0.2, mate=0.3}", "--set", "evidence=optimistic", "--seed", "3", "--lanes", "7")
    printed = json.loads(command("--algorithm", "f_ts", *words, "--json")[1])
    parameters = {"fractions": {"tea": 0.2, "mate": 0.3}, "evidence": "optimistic"}
    evaluation = evaluate(read_log(tmp_path / "log.csv"), Learner("f_ts", parameters, seed=3, lanes=7))
    assert printed["estimates"] == evaluation.to_json()["estimates"]
    assert printed["shares"] == evaluation.to_json()["shares"]


def test_command_shows_tables(command: Command) -> None:
    status, out, err = command("--shares", "uniform", "--clip", "1.5", "--column", "reward=reward", "--rows")
    assert (status, err) == (0, "")
    for words in ("3 rounds, 2 items", "the log's policy", "uniform, SNIPS", "95% interval", "effective sample size"):
        assert words in out
    assert "warning: 1 weight was clipped" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "either --shares or --algorithm"),
        (("--shares", "uniform", "--algorithm", "ucb1"), "either --shares or --algorithm"),
        (("--shares", "uniform", "--set", "a=1"), "--set needs --algorithm"),
        (("--shares", "tea"), "--shares must have the form ITEM=SHARE,…, such as a=0.2,b=0.8; got 'tea'"),
        (("--shares", "tea=half"), "--shares must have the form"),
        (("--shares", "tea=10%,mate=0.9"), "got 'tea=10%' (write 0.1)"),
        (("--shares", "te=0.1,mate=0.9"), "'te' is not in log.csv; did you mean 'tea'?"),
        (("--shares", "uniform", "--column", "reward=sold"), "name what is missing with --column reward=…"),
        (("--shares", "uniform", "--column", "time=timestamp"), "comes second: --column timestamp=time"),
        (("--shares", "tea=0.5,tea=0.5"), "names 'tea' twice"),
        (("--shares", "tea=0.5"), "shares must sum to 1, they sum to 0.5"),
        (("--shares", "none.json"), "there is no file none.json"),
        (("--shares", "list.json"), "list.json must contain an object"),
        (("--shares", "text.json"), "text.json: the share of 'tea' must be a number"),
        (("--shares", "broken.json"), "broken.json cannot be read as JSON"),
        (
            ("--algorithm", "ucb1", "--set", "exploration"),
            "must have the form NAME=VALUE, such as exploration=2.0",
        ),
        (("--algorithm", "{ index = "), "is neither TOML nor JSON"),
        (("--algorithm", "none.toml"), "there is no file none.toml"),
        (("--algorithm", "list.json"), "list.json must be the table of one policy"),
        (("--algorithm", "nowhere:own"), "there is no module 'nowhere'"),
        (("--shares", "uniform", "--missing", "mean"), "missing must be 'never' or 'lost' or 'zero', got 'mean'"),
        (
            ("--shares", "uniform", "--column", "reward"),
            "must have the form COLUMN=NAME, such as reward=bought",
        ),
        (("--shares", "uniform", "--clip", "-1"), "clip must be a number of at least 0"),
    ],
)
def test_command_refuses(command: Command, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    written(tmp_path, "[1]", "list.json")
    written(tmp_path, '{"tea": "half"}', "text.json")
    written(tmp_path, "{", "broken.json")
    status, out, err = command(*words)
    assert (status, out) == (2, "")
    assert err.startswith("evenhand: ")
    assert message in err


def test_a_log_of_a_deterministic_policy_is_named() -> None:
    rows: dict[str, Any] = {"timestamp": [1, 2], "item_id": ["a", "b"], "reward": [1.0, 0.0]}
    rows["propensity_score"] = [1.0, 1.0]
    evaluation = evaluate(Log.of(pd.DataFrame(rows)), FixedShares(None))
    assert any("its policy was deterministic" in warning for warning in evaluation.warnings)
    rows["propensity_score"] = [1.0, 0.5]
    evaluation = evaluate(Log.of(pd.DataFrame(rows)), FixedShares(None))
    assert not any("its policy was deterministic" in warning for warning in evaluation.warnings)


def test_the_names_of_very_many_arms_fit_in_a_cell(tmp_path: Path) -> None:
    names = [f"arm {place}" for place in range(20_000)]
    file = tmp_path / "log.csv"
    row = {"timestamp": 1, "item_id": "arm 7", "reward": 1.0, "propensity_score": 0.5, "available": "|".join(names)}
    pd.DataFrame([row]).to_csv(file, index=False)
    assert len(read_log(file).items) == 20_000
