"""Estimates of a policy's value from another one's log: by hand, and where the truth is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evenhand.bandit.evaluation import targets
from evenhand.bandit.evaluation.estimators import ESTIMATORS
from evenhand.bandit.evaluation.evaluation import evaluate
from evenhand.bandit.evaluation.followed import Model, followed
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.targets import FixedShares, as_target
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from tests.bandit.evaluation.logs import (
    AWAKE,
    MEANS,
    TARGET,
    TINY,
    USED,
    WANTED,
    adaptive,
    drawn,
    fixed,
    log_of,
    simulated,
)

# --- by hand ----------------------------------------------------------------------------------------------------------


def found(log: Log, target: Any, name: str, **options: Any) -> Any:
    """The estimate of a single target."""
    return next(iter(evaluate(log, target, estimator=name, **options).estimates.values()))


def test_estimates_by_hand() -> None:
    evaluation = evaluate(log_of(*TINY), TARGET)
    # w = 1.5, 1, 1.5, so w r = 1.5, 0, 0
    ips, snips, dr, sndr, switch = (found(log_of(*TINY), TARGET, name, clip=9.0) for name in ESTIMATORS)
    assert (ips.value, snips.value) == pytest.approx((1.5 / 3, 1.5 / 4))
    assert ips.stderr == pytest.approx(np.std([1.5, 0, 0], ddof=1) / 3**0.5)
    # w (r − V) = 0.9375, −0.375, −0.5625, over Σw = 4
    assert snips.stderr == pytest.approx((3 / 2 * (0.9375**2 + 0.375**2 + 0.5625**2)) ** 0.5 / 4)
    # Round 1 knows nothing: 0 + 1.5 (1 − 0). Round 2 knows a mean of 1, also for b: 1 + 1 (0 − 1). Round 3 knows
    # a = 1 and b = 0: 0.75 + 1.5 (0 − 1).
    assert dr.value == pytest.approx((1.5 + 0.0 - 0.75) / 3)
    assert dr.stderr == pytest.approx(np.std([1.5, 0.0, -0.75], ddof=1) / 3**0.5)
    assert sndr.value == pytest.approx((0.0 + 1.0 + 0.75) / 3 + (1.5 - 1.0 - 1.5) / 4)
    assert switch == dr
    assert evaluation.shares["fixed shares"] == pytest.approx([0.75, 0.25])
    assert evaluation.logged_shares == pytest.approx([2 / 3, 1 / 3])
    assert (evaluation.logged.value, evaluation.logged.stderr) == pytest.approx(
        (1 / 3, np.std([1, 0, 0], ddof=1) / 3**0.5)
    )
    grade = evaluation.grade
    assert (grade.effective, grade.largest, grade.mean_weight) == pytest.approx((16 / 5.5, 1.5, 4 / 3))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_interval_is_normal(confidence: float) -> None:
    ips = found(log_of(*TINY), TARGET, "ips", confidence=confidence)
    half = stats.norm.ppf(0.5 + confidence / 2) * ips.stderr
    assert (ips.interval.low, ips.interval.high) == pytest.approx((ips.value - half, ips.value + half))


def test_clipping_by_hand() -> None:
    # w = 1.2, 1, 1.2 in place of 1.5, 1, 1.5; SWITCH leaves the model alone in rounds 1 and 3.
    for name, value in {"ips": 1.2 / 3, "snips": 1.2 / 3.4, "switch": (0.0 + 0.0 + 0.75) / 3}.items():
        one = found(log_of(*TINY), TARGET, name, clip=1.2)
        assert one.value == pytest.approx(value)
        assert one.bias == pytest.approx(1 - 1 / 3 if name == "switch" else 0.0)


def test_several_plays_a_round_by_hand() -> None:
    """Σ w r of the round's plays is one number; the target plays a single item."""
    log = log_of(["a", "b", "a", "c"], [1, 0, 1, 1], [0.5, 0.8, 0.5, 0.7], decision_id=["x", "x", "y", "y"])
    target = {"a": 0.5, "b": 0.4, "c": 0.1}
    evaluation = evaluate(log, target)
    estimates = {name: found(log, target, name) for name in ("ips", "snips", "dr")}
    weights = np.array([1.0, 0.5, 1.0, 1 / 7])
    by_round = np.array([1.0, 1.0 + 1 / 7])
    snips = (2 + 1 / 7) / weights.sum()
    assert (evaluation.rounds, evaluation.rows) == (2, 4)
    assert estimates["ips"].value == pytest.approx(by_round.mean())
    assert estimates["ips"].stderr == pytest.approx(by_round.std(ddof=1) / 2**0.5)
    assert estimates["snips"].value == pytest.approx(snips)
    rests = np.array([1 - snips - 0.5 * snips, (1 + 1 / 7) * (1 - snips)])
    assert estimates["snips"].stderr == pytest.approx((2 * rests @ rests) ** 0.5 / weights.sum())
    # Round 1 knows nothing. Round 2 knows a = 1, b = 0 and takes their mean of 1/2 for c.
    second = 0.5 + 0.1 * 0.5 + (1 / 7) * (1 - 0.5)
    assert estimates["dr"].value == pytest.approx((1.0 + second) / 2)
    assert evaluation.grade.mean_weight == pytest.approx(weights.sum() / 2)


def test_shares_are_among_those_available() -> None:
    log = log_of(["a", "b", "c"], [1, 0, 1], 0.5, available=["a|b", "b|c", '["c"]'])
    shares = {"a": 0.5, "b": 0.5}
    assert np.vstack(list(FixedShares(shares).propensities(log))) == pytest.approx(
        np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    )
    assert evaluate(log, "uniform").shares["uniform"] == pytest.approx([0.5 / 3, 1 / 3, 1.5 / 3])


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    log = simulated(rng, 50, np.array([0.2, 0.5, 0.8]), np.array([0.5, 0.3, 0.2]))
    whole = evaluate(log, "uniform").estimates["uniform"]
    monkeypatch.setattr(targets, "CELLS", 3 * 7)  # seven rounds at a time, and one left over
    assert len(list(FixedShares().propensities(log))) == 8
    assert evaluate(log, "uniform").estimates["uniform"].value == pytest.approx(whole.value)


def test_the_model_knows_earlier_rounds_only() -> None:
    """Also where it is computed for blocks of rounds."""
    log = simulated(np.random.default_rng(4), 3000, MEANS, USED)
    before = Model.of(log)
    for place in (60, 1500, 2999):
        log.reward[place] = 1.0 - log.reward[place]
        after = Model.of(log)
        same = slice(0, place + 1)
        assert (before.means[before.block[same]] == after.means[after.block[same]]).all()
        log.reward[place] = 1.0 - log.reward[place]
    assert len(before.means) < 350


NAMES = ("ips", "snips", "dr", "sndr")


def repeated(
    make: Callable[[], tuple[Log, Any]], times: int, names: Sequence[str] = NAMES
) -> dict[str, tuple[Array, Array]]:
    """Values and standard errors of many logs, (times,), of each estimator."""
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(times):
        log, target = make()
        one = followed(log, "target", as_target(target), Model.of(log))
        for name in names:
            scores = ESTIMATORS[name][0](one)
            rows[name].append((scores.value, scores.stderr))
    return {name: tuple(np.array(pairs).T) for name, pairs in rows.items()}


@pytest.fixture(scope="module")
def sleeping() -> tuple[float, dict[str, tuple[Array, Array]]]:
    """The value of fixed shares where items sleep, and its estimates from a thousand logs of 500 rounds."""
    rng = np.random.default_rng(11)
    weights = AWAKE * WANTED
    truth = float((weights / weights.sum(axis=1, keepdims=True) @ MEANS).mean())
    return truth, repeated(lambda: (simulated(rng, 500, MEANS, USED, AWAKE), fixed(WANTED)), 1000)


@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_right_on_average(name: str, sleeping: tuple[float, dict[str, tuple[Array, Array]]]) -> None:
    truth, estimates = sleeping
    values, _ = estimates[name]
    # Four standard errors of the mean of a thousand; SNIPS has a bias of order 1/500, far below.
    assert abs(values.mean() - truth) < 4 * values.std() / 1000**0.5


@pytest.mark.parametrize("name", NAMES)
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

    def once() -> tuple[Log, Any]:
        item = drawn(rng, np.broadcast_to(USED, (200, 3)))
        return log_of([str(one) for one in item], means[item], USED[item]), fixed(WANTED)

    estimates = repeated(once, 200)
    assert estimates["dr"][0].std() < 0.5 * estimates["ips"][0].std()
    assert abs(estimates["dr"][0].mean() - WANTED @ means) < 4 * estimates["dr"][0].std() / 200**0.5


def test_a_log_that_learned_is_no_trouble() -> None:
    logs = adaptive(np.random.default_rng(8), 200, 500)
    means = []

    def once() -> tuple[Log, Any]:
        log = next(logs)
        means.append(log.reward.mean())
        return log, fixed(WANTED)

    for values, _ in repeated(once, 500, ("ips", "dr")).values():
        assert abs(values.mean() - WANTED @ MEANS) < 4 * values.std() / 500**0.5
    # Were propensities ignored, the mean of the log would be far off.
    assert np.mean(means) > WANTED @ MEANS + 0.05


def test_several_plays_a_round_are_right_on_average() -> None:
    """Two of four items a round by systematic sampling, whose inclusion probabilities are those requested."""
    rng, means = np.random.default_rng(2), np.array([0.2, 0.4, 0.6, 0.9])
    inclusion, wanted = np.array([0.8, 0.6, 0.4, 0.2]), np.array([0.1, 0.2, 0.3, 0.4])
    ends = inclusion.cumsum()

    def once() -> tuple[Log, Any]:
        pointers = rng.random((300, 1, 1)) + np.arange(2)[:, np.newaxis]
        flat = (pointers >= ends).sum(axis=-1).reshape(-1)  # the item into whose share a pointer falls
        reward = (rng.random(600) < means[flat]).astype(float)
        zeros, one = np.zeros(300, dtype=np.intp), np.ones((1, 4), dtype=bool)
        log = Log("", tuple("0123"), flat, reward, inclusion[flat], np.arange(600) // 2, one, zeros)
        return log, fixed(wanted)

    for values, errors in repeated(once, 500).values():
        assert abs(values.mean() - wanted @ means) < 4 * values.std() / 500**0.5
        assert errors.mean() == pytest.approx(values.std(), rel=4 / 1000**0.5)


@pytest.mark.parametrize(
    ("chances", "fault"),
    [
        (np.full((3, 2), 1.0), "'mine' sum to 2 in round 1, and at most 1 can play"),
        (
            np.full((3, 3), 0.3),
            r"'mine' must have a column for each of \['a', 'b'\] and 3 rows in all, got .* \(3, 3\)",
        ),
        (np.full((4, 2), 0.5), r"and 3 rows in all, got an array of shape \(4, 2\) from row 0 on"),
        (np.full((2, 2), 0.5), "the target 'mine' gives the propensities of 2 of 3 rounds"),
        ([[0.5, 0.5], [np.nan, 0.5], [0.5, 0.5]], r"'mine' must be in \[0, 1\], got \[nan, 0.5\] in round 2"),
        ([[0.5, 0.5], [0.5, 0.5], [-0.5, 1.0]], r"'mine' must be in \[0, 1\], got \[-0.5, 1.0\] in round 3"),
        ("half", "'mine' must be numbers, got 'half'"),
        (None, r"got an array of shape \(\) from row 0 on"),
    ],
)
def test_propensities_of_a_target_of_ones_own_that_cannot_be_are_refused(chances: Any, fault: str) -> None:
    class Mine:
        name = "mine"

        def items(self) -> tuple[str, ...]:
            return ("a", "b")

        def propensities(self, log: Log) -> Any:
            yield chances

    with pytest.raises(EvenhandError, match=fault):
        evaluate(log_of(*TINY), Mine())
