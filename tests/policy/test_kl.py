"""Kullback–Leibler bounds of the arms that lead: the plays are those of all bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evenhand import Feedback, Observation, Policy
from evenhand.algorithms.drift import glr_klucb, kl_ucb
from evenhand.core.state import ALL_AVAILABLE, Array, State, Tally
from evenhand.policy import KLUCB, DeficitBonus, TopM
from evenhand.policy.kl import kl_upper_bound

ARMS, ROUNDS = 150, 400


def hard(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Means and budgets, many of them equal or at an end of what there can be."""
    counts = rng.integers(1, rng.choice([3, 30, 3000]), size).astype(float)
    sums = rng.binomial(counts.astype(int), rng.random()) * rng.choice([1.0, 0.7])
    return sums / counts, rng.choice([0.0, 1e-9, 0.3, 8.0, 900.0]) / counts


@pytest.mark.parametrize("leaders", [1, 2, 7])
@pytest.mark.parametrize("size", [7, 65, 1000])
def test_the_largest_bounds_are_exact_and_no_other_is_as_large(size: int, leaders: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(60):
        means, budget = hard(rng, size)
        exact, found = kl_upper_bound(means, budget), kl_upper_bound(means, budget, leaders)
        leads = exact >= np.sort(exact)[-leaders]
        np.testing.assert_array_equal(found[leads], exact[leads])
        assert (found[~leads] < exact[leads].min()).all()


def test_a_bound_does_not_depend_on_those_beside_it() -> None:
    means, budget = hard(np.random.default_rng(0), 300)
    alone = [kl_upper_bound(means[[arm]], budget[[arm]])[0] for arm in range(300)]
    np.testing.assert_array_equal(kl_upper_bound(means, budget), alone)
    lanes = kl_upper_bound(means.reshape(3, 100), budget.reshape(3, 100))
    np.testing.assert_array_equal(lanes.ravel(), alone)


def test_exploration_adds_to_what_kl_may_be() -> None:
    counts, sums = np.array([4.0, 9.0]), np.array([2.0, 7.0])
    state = State(round=50, tally=Tally(counts, counts, sums))
    growth = np.log(state.clock)
    score = KLUCB(exploration=3.0).score(state, ALL_AVAILABLE, np.random.default_rng(0))
    q, p = score, sums / counts
    divergence = p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
    np.testing.assert_allclose(counts * divergence, growth + 3.0 * np.log(growth), rtol=1e-9)


def plays_of(policy: Policy, lanes: int | None) -> Array:
    """(rounds, arms), who plays where some arms sleep; of one lane the largest bounds suffice, of a row of it not."""
    state, rng, world = policy.start(ARMS, lanes), np.random.default_rng(1), np.random.default_rng(2)
    means, rounds = np.linspace(0.1, 0.9, ARMS), []
    for _ in range(ROUNDS):
        available = world.random(ARMS) < 0.8
        played = policy.decide(state, Observation(available), rng).played
        rewards = np.where(played, world.random(ARMS) < means, 0.0)
        policy.observe(state, Feedback(played.astype(float), rewards), rng)
        rounds.append(played.reshape(-1))
    return np.array(rounds)


@pytest.mark.parametrize("plays", [1, 3])
@pytest.mark.parametrize("algorithm", [kl_ucb, glr_klucb])
def test_leaders_play_as_if_all_bounds_were_known(algorithm: Callable[..., Policy], plays: int) -> None:
    policy = algorithm(plays=plays)
    np.testing.assert_array_equal(plays_of(policy, None), plays_of(policy, 1))


class Doubtful(KLUCB):
    """A bound that adds to that of its base class, and so may not go its short way."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return super().score(state, observation, rng) + np.arange(state.arms)


def test_who_counts_other_scores_is_given_all_of_them() -> None:
    shares = DeficitBonus(0.001, rate=0.1)
    for policy in (Policy(KLUCB(), shares), Policy(Doubtful()), Policy(Doubtful(), selection=TopM(2))):
        np.testing.assert_array_equal(plays_of(policy, None), plays_of(policy, 1))
