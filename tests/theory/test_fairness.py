"""Fairness in expectation (Patil et al. 2019, Definitions 2 and 3), measured and proved."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import Environment, simulate
from evenhand.algorithms import f_ts, fucb, t_fucb
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.composition import Policy
from evenhand.theory.bounds import fucb_alpha
from evenhand.theory.fairness import ExpectedFairness, expected_fairness
from tests.thinned import thinned

ROUNDS = np.array([1, 10, 100, 1000])


def plays(deficit: Array, r: float = 0.5, lanes: int = 4) -> Array:
    """Plays of two arms of which the second is behind by as much, in every lane."""
    due = r * ROUNDS
    return np.repeat(np.stack([due, due - deficit], axis=-1)[:, np.newaxis], lanes, axis=1)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0])
def test_a_known_power_is_found(alpha: float) -> None:
    found = expected_fairness(ROUNDS, plays(ROUNDS ** (1.0 - alpha)), 0.5)
    assert found.alpha == pytest.approx(alpha, rel=1e-12)
    assert found.low == pytest.approx(found.high, rel=1e-12)
    assert found.arm == 1


def test_the_round_that_is_furthest_off_decides() -> None:
    # Behind by 100^0.9 at 100 and by no more than a play elsewhere.
    deficit = np.array([0.5, 1.0, 100**0.9, 1.0])
    found = expected_fairness(ROUNDS, plays(deficit), 0.5)
    assert (found.round, round(found.alpha, 9)) == (100, 0.1)
    assert found.holds(0.1 - 1e-9)
    assert found.holds(0.2) is False


def test_where_nothing_is_missing_every_power_holds() -> None:
    found = expected_fairness(ROUNDS, plays(np.zeros(4)), 0.5)
    assert found.alpha == math.inf
    assert found.holds(5.0)


def test_it_is_about_the_mean_of_the_plays_and_not_about_single_lanes() -> None:
    # Half of the lanes are 30 plays behind at every round, the other half 32 ahead.
    pulls = np.repeat((0.5 * ROUNDS)[:, np.newaxis, np.newaxis], 500, axis=1)
    pulls[:, ::2] -= 30.0
    pulls[:, 1::2] += 32.0
    found = expected_fairness(ROUNDS, pulls, [0.5])
    assert found.alpha == math.inf
    assert math.isfinite(found.low)
    assert found.holds(1.0) is None


def test_the_interval_covers_the_truth_for_all_looks_together() -> None:
    # Binomial plays with a mean deficit of exactly sqrt(t): the interval must hold 1/2, in 95% of the draws at least.
    rng, rounds = np.random.default_rng(5), np.array([100, 400, 1600])
    missed = 0
    for _ in range(200):
        pulls = rng.binomial(rounds[:, None, None], (0.3 - rounds**-0.5)[:, None, None], (3, 30, 5))
        found = expected_fairness(rounds, pulls, 0.3)
        missed += not found.low <= 0.5 <= found.high
    assert missed <= 20  # Bonferroni errs on the safe side; 21 of 200 have a chance of 0.1% at 5%


@pytest.mark.parametrize(
    ("rounds", "pulls", "confidence", "message"),
    [
        ([1, 10], np.ones((3, 4, 2)), 0.95, r"pulls must have shape \(2, lanes, arms\), got \(3, 4, 2\)"),
        ([1], np.ones((1, 4, 2)), 0.95, "needs two lanes and a round after the first"),
        ([10], np.ones((1, 1, 2)), 0.95, "needs two lanes"),
        ([10], np.ones((1, 4, 2)), 1.0, "confidence must be between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(rounds: list[int], pulls: Array, confidence: float, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        expected_fairness(rounds, pulls, 0.1, confidence)


# --- FUCB with a tolerance: ours, after Lemma 1 -----------------------------------------------------------------------


def measured(policy: Policy, r: float, arms: int) -> tuple[ExpectedFairness, float]:
    """α over every round, and the most plays that any arm was behind in any run."""
    world = Environment(Bernoulli(np.linspace(0.9, 0.1, arms)))
    results = simulate(policy, world, 1000, lanes=5, seed=3, checkpoints=1000)
    record = next(iter(results.policies.values()))
    behind = r * results.rounds[:, np.newaxis, np.newaxis] - record.pulls
    return expected_fairness(results.rounds, record.pulls, r), float(behind.max())


@pytest.mark.parametrize("tolerance", thinned([0.0, 0.5, 4.0, 20.0], [0.0, 4.0].__contains__))
@pytest.mark.parametrize(("arms", "r"), [(3, 0.3), (5, 0.05), (10, 0.0999)])
def test_fucb_is_as_fair_as_its_tolerance_says(arms: int, r: float, tolerance: float) -> None:
    for build in (fucb, f_ts):
        found, most = measured(build([r] * arms, tolerance=tolerance), r, arms)
        assert most < tolerance + arms * r + 1e-9  # in every run, not only on average
        assert found.alpha >= fucb_alpha(r, arms, tolerance) - 1e-9


def test_the_power_of_a_tolerance_is_nearly_reached() -> None:
    # An arm that nobody wants is left until it is c behind, at t = c/r, where r t = t^(1−α) with α = ln(1/r)/ln(c/r).
    found, most = measured(fucb([0.3] * 3, tolerance=40.0), 0.3, 3)
    assert most > 40.0
    assert fucb_alpha(0.3, 3, 40.0) <= found.alpha < fucb_alpha(0.3, 3, 40.0) + 0.05
    assert found.holds(1.0) is False
    # Theorem 4 is about policies that look after what is missing at all times: T-FUCB does at the horizon only.
    found, _ = measured(t_fucb([0.3] * 3, horizon=1000), 0.3, 3)
    assert found.holds(fucb_alpha(0.3, 3)) is False


def test_the_power_by_hand() -> None:
    assert fucb_alpha(0.05, 10, 0.5) == 1.0  # c + K r = 1
    assert fucb_alpha(0.1, 5, 9.5) == pytest.approx(0.5, rel=1e-12)  # ln 10 / ln 100


@pytest.mark.parametrize(("fraction", "tolerance"), [(0.2, 0.0), (0.0, 0.0), (0.1, -1.0)])
def test_shares_outside_of_the_theorem_are_refused(fraction: float, tolerance: float) -> None:
    with pytest.raises(EvenhandError, match=r"fraction must be above 0 and below 1/5|tolerance must be"):
        fucb_alpha(fraction, 5, tolerance)
