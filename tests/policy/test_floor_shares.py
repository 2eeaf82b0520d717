"""The chance to be the best, floors of chances, and guaranteed rates of reward."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta

from evenhand import Environment, Feedback, compare
from evenhand.algorithms import bandit_q, floor_ts, ldf, thompson
from evenhand.core.errors import InfeasiblePromise
from evenhand.core.state import ALL_AVAILABLE
from evenhand.environment.availability import Independent
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.best_chance import best_chances
from evenhand.policy.floor_shares import FloorShares
from evenhand.policy.reward_rates import RewardRates


def exceeds(a: int, b: int, c: int, d: int) -> float:
    """P(Beta(a, b) > Beta(c, d)) for whole numbers: that fewer than a of a + b − 1 uniform points lie below the c-th of
    c + d − 1 others, by counting the orders of all."""
    n, m = a + b - 1, c + d - 1
    return sum(comb(c + k - 1, k) * comb(n - k + m - c, n - k) for k in range(a)) / comb(n + m, n)


@pytest.mark.parametrize(("a", "b", "c", "d"), [(1, 1, 1, 1), (3, 2, 1, 2), (40, 60, 30, 70), (2, 9, 900, 100)])
def test_two_arms_by_counting(a: int, b: int, c: int, d: int) -> None:
    found = best_chances(np.array([a, c], dtype=float), np.array([b, d], dtype=float))
    assert found[0] == pytest.approx(exceeds(a, b, c, d), abs=1e-7)


def stepwise(prior: float, counts: tuple[int, int, int, int]) -> float:
    """P(X > Y), X and Y ~ Beta(prior + counts): from 1/2 for equal arms, one count at a time (Cook 2005)."""
    shapes, chance = [prior] * 4, 0.5
    for place, sign in enumerate((1, -1, -1, 1)):
        for _ in range(counts[place]):
            a, b, c, d = shapes
            chance += sign * float(np.exp(betaln(a + c, b + d) - betaln(a, b) - betaln(c, d))) / shapes[place]
            shapes[place] += 1.0
    return chance


@pytest.mark.parametrize("prior", [0.001, 0.01, 0.1, 0.5, 0.9, 1.0, 3.0, 100.0])
def test_any_prior_and_skewed_counts_by_a_recurrence(prior: float) -> None:
    rng = np.random.default_rng(0)
    drawn = (10.0 ** (rng.random((20, 4)) * rng.choice([0.5, 2.0, 3.5], (20, 1))) - 1.0).astype(int)
    for counts in [(0, 0, 0, 1), (1, 0, 0, 1), (3000, 0, 0, 2), (2, 1268, 18, 6426), *map(tuple, drawn.tolist())]:
        shapes = prior + np.array(counts, dtype=float)
        found = best_chances(shapes[[0, 2]], shapes[[1, 3]])[0]
        assert found == pytest.approx(stepwise(prior, counts), abs=1e-7), counts


@pytest.mark.parametrize("prior", [0.5, 1.0, 100.0])
def test_many_arms_by_adaptive_quadrature_over_the_quantiles_of_each(prior: float) -> None:
    a, b = prior + np.array([0.0, 3.0, 40.0, 1.0, 900.0]), prior + np.array([0.0, 0.0, 7.0, 9.0, 100.0])
    found = best_chances(np.repeat(a, [20, 1, 1, 1, 1]), np.repeat(b, [20, 1, 1, 1, 1]))[-5:]
    for arm in range(5):

        def others(level: float, arm: int = arm) -> float:
            power = np.where(np.arange(5) == arm, 0, 1) + np.where(np.arange(5) == 0, 19, 0)
            return float(np.prod(beta.cdf(beta.ppf(level, a[arm], b[arm]), a, b) ** power))

        ends = 1.0 - 10.0 ** -np.arange(1.0, 9.0)
        exact = quad(others, 0.0, 1.0, points=ends, limit=500, epsabs=1e-9)[0]
        assert found[arm] == pytest.approx(exact, abs=1e-6)


def test_many_arms_by_adaptive_quadrature_and_only_the_available_ones() -> None:
    a, b = np.array([30.0, 3.0, 500.0, 1.0]), np.array([20.0, 1.0, 400.0, 1.0])
    for awake in (np.ones(4, dtype=bool), np.array([True, False, True, True])):
        found = best_chances(a, b, awake)
        for arm in range(4):
            others = [one for one in range(4) if one != arm and awake[one]]

            def density(x: float, arm: int = arm, others: list[int] = others) -> float:
                return float(beta.pdf(x, a[arm], b[arm]) * np.prod(beta.cdf(x, a[others], b[others])))

            exact = quad(density, 0.0, 1.0, points=[0.5, 0.55, 0.6, 0.75], limit=200)[0] if awake[arm] else 0.0
            assert found[arm] == pytest.approx(exact, abs=1e-6)


def test_it_plays_as_thompson_sampling_does_without_floors() -> None:
    rng = np.random.default_rng(0)
    draws = rng.beta([4.0, 2.0, 9.0], [3.0, 1.0, 8.0], (200_000, 3)).argmax(axis=1)
    chances = best_chances(np.array([4.0, 2.0, 9.0]), np.array([3.0, 1.0, 8.0]))
    # Five standard errors of a share among 200,000 draws.
    np.testing.assert_allclose(np.bincount(draws) / 200_000, chances, atol=5 * 0.5 / np.sqrt(200_000))


@pytest.mark.parametrize(("rule", "expected"), [("mix", 0.1), ("clip", 0.1 / 1.4)])
def test_clipping_gives_7_percent_for_a_promised_10_percent(rule: str, expected: float) -> None:
    policy = floor_ts(0.1, rule=rule)
    state, rng = policy.start(5), np.random.default_rng(0)
    state.tally.pulls[:] = state.tally.received[:] = 10_000
    state.index.successes[:] = [9000, 1000, 1000, 1000, 1000]
    decision = policy.decide(state, ALL_AVAILABLE, rng)
    assert decision.propensities is not None
    np.testing.assert_allclose(decision.propensities[1:], expected, atol=1e-9)


def test_floors_hold_in_every_round_with_sleeping_arms_and_sum_to_one_at_most() -> None:
    policy = floor_ts([0.3, 0.0, 0.2])
    state, rng = policy.start(3), np.random.default_rng(1)
    for _ in range(50):
        observation = type(ALL_AVAILABLE)(rng.random(3) < 0.7)
        decision = policy.decide(state, observation, rng)
        assert decision.propensities is not None
        assert observation.available is not None
        assert (decision.propensities >= np.array([0.3, 0.0, 0.2]) * observation.available - 1e-12).all()
        policy.observe(state, Feedback(decision.played, decision.played * 0.5), rng)
    with pytest.raises(InfeasiblePromise, match=r"fractions sum to 1\.2"):
        floor_ts(0.4).start(3)
    assert not FloorShares(0.1, "clip").promises


def test_a_plain_loop_of_the_queues_and_the_losses_of_bandit_q() -> None:
    policy = bandit_q([0.2, 0.1], horizon=100)
    assert isinstance(policy.index, RewardRates)
    state, rng, world = policy.start(2), np.random.default_rng(3), np.random.default_rng(4)
    owed, losses, squares, weight = [0.0, 0.0], [0.0, 0.0], 0.0, 10.0
    for _ in range(40):
        largest = weight + max(owed)
        rate = np.sqrt(np.log(2) / (2 * (squares + largest**2)))
        chances = np.exp(-rate * (np.array(losses) - min(losses)))
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        np.testing.assert_allclose(decision.inclusion, chances / chances.sum())
        arm = int(decision.played.argmax())
        reward = float(world.random() < 0.5)
        losses[arm] += (largest - (owed[arm] + weight) * reward) / decision.inclusion[arm]
        squares += largest**2
        owed = [max(owed[i] + [0.2, 0.1][i] - reward * (i == arm), 0.0) for i in range(2)]
        policy.observe(state, Feedback(decision.played, decision.played * reward), rng)
    np.testing.assert_allclose(state.index.owed, owed)


def test_guaranteed_rewards_are_earned_which_thompson_sampling_does_not_give() -> None:
    world, rates = Environment(Bernoulli([0.9, 0.3])), np.array([0.0, 0.1])
    policies = {"q": bandit_q(rates, horizon=6000), "ts": thompson()}
    results = compare(policies, world, 6000, 10, seed=3, checkpoints=1, progress=False)
    earned = {label: (one.pulls[-1] * [0.9, 0.3] / 6000).mean(axis=0) for label, one in results.policies.items()}
    assert earned["q"][1] > 0.1 - 6000**-0.25 / 2  # the paper's rate of the missing reward, T^{3/4}, per round
    assert earned["q"][0] > 0.3
    assert earned["ts"][1] < 0.02


def test_ldf_is_never_far_behind_with_several_plays_and_sleeping_arms() -> None:
    shares = [0.5, 0.4, 0.3, 0.1]
    world = Environment(Bernoulli([0.1, 0.5, 0.6, 0.9]), Independent([0.9, 0.8, 0.9, 0.9]))
    results = compare({"ldf": ldf(shares, plays=2)}, world, 2000, 10, seed=1, progress=False)
    assert results.policies["ldf"].curves["max_violation"].max() < 12.0
