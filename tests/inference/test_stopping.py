"""Likelihood ratios of pairs against brute force, their threshold by its definition, and how often stopping errs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaln, xlogy
from scipy.stats import binom

from evenhand.inference.stopping import best_arms, divergence, farthest, likelihood_ratio, rounds_to_go, threshold


def known(count: int) -> np.ndarray:
    return np.full(count, True)


def published(count: float, delta: float, pairs: int = 1) -> float:
    """The threshold of Kaufmann and Koolen for two arms with so many rewards each, by the infima that define C."""
    x = math.log(pairs / delta) / 2.0
    weight, ratio = np.linspace(1e-4, 1.0 - 1e-4, 100_001), np.linspace(1.0 + 1e-6, 1.5, 200_001)
    several = ((x - np.log1p(-weight)) / weight).min()
    assert several == pytest.approx(brentq(lambda u: u - math.log(u) - 1.0 - x, 1.0, 1e3), rel=1e-6)  # h⁻¹(1 + x)
    chance = 2.0 * (ratio * ((several + math.log(math.pi**2 / 3.0)) / 2.0 - np.log(np.log(ratio)))).min()
    return float(6.0 * math.log1p(math.log(count)) + 2.0 * chance)


@pytest.mark.parametrize("count", [1, 2, 7, 100, 10_000, 10**7])
def test_the_loss_of_the_mixture_is_nowhere_larger_than_in_the_threshold(count: int) -> None:
    sums = np.linspace(0.0, count, 2001)
    loss = xlogy(sums, sums / count) + xlogy(count - sums, 1.0 - sums / count)
    loss -= betaln(sums + 0.5, count - sums + 0.5) - betaln(0.5, 0.5)
    bound = threshold(np.array([float(count)]), np.zeros(1), 0.5, 1)[0] - math.log(2.0)
    assert loss.max() == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("count", [10.0, 1e4, 1e12])
def test_the_threshold_is_below_the_published_ones(count: float, delta: float) -> None:
    ours = threshold(np.array([count]), np.array([count]), delta, 3)[0]
    assert ours <= published(count, delta, 3)
    assert ours <= math.log(2.0 * (2.0 * count) * 3 / delta)  # Garivier and Kaufmann 2016, Theorem 10


@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.4])
def test_the_likelihood_ratio_is_the_smallest_over_all_means(epsilon: float) -> None:
    rng = np.random.default_rng(0)
    levels = np.linspace(1e-6, 1.0 - epsilon - 1e-6, 100_001)
    for best, other in [*rng.random((10, 2)), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.9)]:
        many, number = rng.integers(1, 500, 2).astype(float)
        costs = divergence(many, best, levels) + divergence(number, other, levels + epsilon)
        expected = costs.min() if best + epsilon > other else 0.0
        found = likelihood_ratio(np.array([best]), np.array([many]), np.array([other]), np.array([number]), epsilon)
        assert found[0] == pytest.approx(expected, rel=1e-3, abs=1e-2)


def test_the_farthest_mean_is_where_the_ratio_reaches_the_threshold() -> None:
    other, number = np.array([0.3, 0.5, 0.55]), np.array([50.0, 400.0, 20.0])
    ends = farthest(np.array(0.5), np.array(200.0), other, number, 0.05, 3)
    at = likelihood_ratio(np.full(3, 0.5), np.full(3, 200.0), other, number, ends)
    assert at == pytest.approx(threshold(np.full(3, 200.0), number, 0.05, 3), rel=1e-3)


def test_arms_are_out_when_as_many_others_are_better() -> None:
    count = np.full(5, 2000.0)
    sums = np.array([0.9, 0.7, 0.5, 0.3, 0.1]) * count
    for best in range(1, 5):
        found = best_arms(sums, sums, count, 0.05, best, known(5))
        assert found.possible.tolist() == [place < best for place in range(5)]
        assert (found.chosen == found.possible).all()
        assert found.epsilon == 0.0


def test_unknown_rewards_leave_arms_possible_and_arms_without_any_are_never_out() -> None:
    sums, count = np.array([700.0, 200.0, 0.0]), np.array([1000.0, 1000.0, 0.0])
    found = best_arms(sums, sums, count, 0.05, 1, known(3))
    assert found.possible.tolist() == [True, False, True]
    assert found.epsilon == pytest.approx(0.36, abs=0.02)  # nothing is known of the third arm
    wide = best_arms(sums - np.array([300.0, 0.0, 0.0]), sums + np.array([0.0, 300.0, 0.0]), count, 0.05, 1, known(3))
    assert wide.possible.all()
    assert wide.epsilon > found.epsilon


def test_a_retired_arm_is_no_candidate_and_counts_as_a_comparison() -> None:
    sums, count = np.array([60.0, 20.0, 90.0]), np.full(3, 100.0)
    found = best_arms(sums, sums, count, 0.05, 1, np.array([True, True, False]))
    assert found.possible.tolist() == [True, False, False]


def test_all_arms_are_the_best_ones_where_no_others_are_left() -> None:
    found = best_arms(np.zeros(2), np.zeros(2), np.zeros(2), 0.05, 2, known(2))
    assert found.possible.all()
    assert found.epsilon == 0.0


def test_rounds_to_go_are_those_at_which_the_threshold_is_reached() -> None:
    means, count, pace = np.array([0.3, 0.5]), np.full(2, 50.0), np.full(2, 0.5)
    first, last = rounds_to_go(means, count, pace, 0.05, 1, known(2), 0.0, 1e5)
    assert 0.0 <= first < last < 1e5
    without = rounds_to_go(means, count, np.array([0.0, 0.5]), 0.05, 1, known(2), 0.0, 1e3)
    assert without[1] == np.inf
    assert rounds_to_go(np.full(2, 0.3), count, pace, 0.05, 1, known(2), 0.0, 1e5)[1] == np.inf
    assert rounds_to_go(np.full(2, 0.3), 10.0 * count, pace, 0.05, 1, known(2), 0.1, 1e5)[1] < 1e5


@pytest.mark.parametrize("values", ["binary", "low variance"])
def test_no_more_than_delta_of_many_runs_ever_err(values: str) -> None:
    delta, runs = 0.2, 1000
    rng, sums, count = np.random.default_rng(1), np.zeros((1000, 2)), np.zeros((1000, 2))
    wrong = np.zeros(runs, dtype=bool)
    for _ in range(400):
        arm = rng.beta(1.0 + sums, 1.0 + count - sums).argmax(axis=1)  # whoever looks better plays more
        reward = (rng.random(runs) < 0.3) * 1.0 if values == "binary" else 0.3 + 0.2 * (rng.random(runs) - 0.5)
        sums[np.arange(runs), arm] += reward
        count[np.arange(runs), arm] += 1.0
        means = sums / np.maximum(count, 1.0)
        apart = likelihood_ratio(means[:, 1], count[:, 1], means[:, 0], count[:, 0])
        wrong |= apart >= threshold(count[:, 1], count[:, 0], delta, 1)
    assert wrong.sum() <= binom.ppf(0.999, runs, delta)
    assert values != "binary" or wrong.any()  # it is no bound for its own sake
