"""Intervals against SciPy's own, and against the probabilities that define them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.inference.means import mean_and_reach, ratio_and_reach, shrunk, student
from evenhand.inference.sequences import mean_rewards
from evenhand.inference.shares import share_interval


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("count", [2, 3, 10, 1000])
def test_student_is_that_of_scipy(count: int, confidence: float) -> None:
    assert student(count, confidence) == pytest.approx(float(stats.t.ppf(0.5 + confidence / 2, count - 1)))


def test_the_mean_of_lanes_is_that_of_a_t_test() -> None:
    values = np.random.default_rng(0).normal(size=(3, 7))
    mean, reach = mean_and_reach(values)
    for row, middle, half in zip(values, mean, reach, strict=True):
        ends = stats.ttest_1samp(row, 0.0).confidence_interval(0.95)
        assert (middle - half, middle + half) == pytest.approx((ends.low, ends.high))


def test_a_single_value_has_no_interval() -> None:
    assert np.isnan(mean_and_reach(np.array([2.0]))[1])
    assert np.isnan(ratio_and_reach(np.array([2.0]), np.array([0.0]))).all()


def test_a_ratio_covers_the_true_one() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        under = 10.0 + rng.normal(size=30)
        ratio, reach = ratio_and_reach(0.3 * under + rng.normal(size=30), under)
        hits += abs(ratio - 0.3) <= reach
    assert 0.935 <= hits / 2000 <= 0.965  # 0.95 and three standard errors


@pytest.mark.parametrize("hits", [0, 1, 7, 19, 20])
def test_shares_are_those_of_scipy(hits: int) -> None:
    ends = stats.binomtest(hits, 20).proportion_ci(0.9)
    low, high = share_interval(hits, 20, 0.9)
    assert (float(low), float(high)) == pytest.approx((ends.low, ends.high))


def test_no_trials_tell_nothing() -> None:
    low, high = share_interval([0.0, 0.5], [0.0, 0.5])
    assert (low.tolist()[0], high.tolist()) == (0.0, [1.0, 1.0])


def test_rewards_that_are_pending_may_be_the_smallest_or_the_largest() -> None:
    hundred, sums = np.array([100.0]), np.array([500.0])
    known = np.concatenate(mean_rewards(hundred, hundred, sums, (0.0, 10.0)))
    pending = np.concatenate(mean_rewards(hundred + 20.0, hundred, sums, (0.0, 10.0)))
    assert known == pytest.approx([3.24, 6.76], abs=0.005)
    assert pending == pytest.approx([2.59, 7.41], abs=0.005)


def test_means_of_few_values_are_drawn_to_the_common_mean() -> None:
    few, many = shrunk(np.array([0.2, 0.6]), np.array([5.0, 500.0]))
    assert (few, many) == pytest.approx((0.2482, 0.6), abs=0.001)


def test_an_arm_that_is_surely_apart_from_all_others_is_not_drawn_to_them() -> None:
    """199 arms of a mean of 30%, and one of 60%; with 200 values each nothing but the noise of the others goes."""
    rng = np.random.default_rng(0)
    means = np.array([0.6] + [0.3] * 199)
    seen = rng.binomial(200, means) / 200.0
    likely = shrunk(seen, np.full(200, 200.0))
    assert likely[0] == pytest.approx(seen[0], abs=0.001)
    assert likely[1:].std() < 0.5 * seen[1:].std()


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_equal_means_stay_as_they_are(value: float) -> None:
    assert shrunk(np.full(3, value), np.array([1e-9, 1.0, 1e9])) == pytest.approx(value)
    assert shrunk(np.array([value]), np.array([3.0])).tolist() == [value]
