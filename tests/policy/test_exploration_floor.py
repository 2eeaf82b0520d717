"""An exploration floor: exact and positive propensities, whatever the policy."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import EvenhandError, Feedback, InfeasiblePromise, Observation, Policy, check_policy
from evenhand.bandit import Bandit
from evenhand.core.state import ALL_AVAILABLE
from evenhand.policy.exploration_floor import ExplorationFloor
from evenhand.policy.fairness import DeficitFirst, MeritShares, Mixing
from evenhand.policy.index import BetaSample, EmpiricalMean
from evenhand.policy.merit import Power
from evenhand.policy.selection import Categorical, DependentRounding, TopM
from evenhand.policy.weights import ExponentialWeights


@pytest.mark.parametrize("plays", [1, 2])
def test_arms_play_as_often_as_their_propensities_say(plays: int) -> None:
    policy = Policy(EmpiricalMean(), selection=ExplorationFloor(0.1, TopM(plays)))
    lanes, available = 20_000, np.array([True, True, False, True])
    decision = policy.choose(policy.start(4, lanes), Observation(available), np.random.default_rng(0))
    epsilon = 0.1 * 4 / plays
    best = np.array([True, plays > 1, False, False])
    expected = (1.0 - epsilon) * best + epsilon * available * plays / 3
    assert decision.propensities is not None
    np.testing.assert_allclose(decision.propensities[0], expected)
    error = np.abs(decision.played.mean(axis=0) - expected)
    assert (error < 5.0 * np.sqrt(0.25 / lanes)).all()
    assert (decision.propensities[0][available] >= 0.1).all()
    assert (decision.played.sum(axis=-1) == plays).all()


def test_the_price_is_what_the_docstring_says() -> None:
    policy = Policy(EmpiricalMean(), selection=ExplorationFloor(0.1))
    state, rng, means = policy.start(4, 50), np.random.default_rng(0), np.array([0.9, 0.6, 0.3, 0.2])
    earned = 0.0
    for round in range(600):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, decision.played * means), rng)
        earned += float((decision.played @ means).mean()) * (round >= 100)
    price = 0.1 * (0.9 - means).sum()
    assert 0.9 - earned / 500 == pytest.approx(price, abs=5.0 * 0.4 / np.sqrt(500 * 50))


def test_promises_are_kept_beside_the_floor() -> None:
    check_policy(Policy(fairness=DeficitFirst([0.3, 0.3, 0.2]), selection=ExplorationFloor(0.05)), 3)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(BetaSample(), selection=ExplorationFloor(0.1)),
        Policy(BetaSample(), MeritShares(Power(1.0, 4.0)), ExplorationFloor(0.1, DependentRounding(2))),
        Policy(ExponentialWeights(0.1), Mixing(0.1), ExplorationFloor(0.1, Categorical())),
    ],
    ids=["Thompson", "merit", "weights"],
)
def test_every_log_can_be_weighed_by_its_propensities(policy: Policy) -> None:
    # Σ R 1{arm plays}/p has the mean of R, for each arm, as long as p is what it was drawn with.
    state, rng, means = policy.start(3, 4000), np.random.default_rng(1), np.array([0.9, 0.5, 0.1])
    for _ in range(30):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        rewards = (rng.random((4000, 3)) < means) * decision.played
        policy.observe(state, Feedback(decision.played, rewards), rng)
    assert decision.propensities is not None
    assert (decision.propensities >= 0.1 - 1e-12).all()
    np.testing.assert_allclose(decision.propensities.sum(axis=-1), policy.plays)
    weighed = rewards / decision.propensities
    error = weighed.std(axis=0) / np.sqrt(4000)
    assert (np.abs(weighed.mean(axis=0) - means) < 5.0 * error).all()


def test_it_serves_a_bandit() -> None:
    table = {"index": "ucb", "selection": {"kind": "exploration_floor", "floor": 0.1}}
    decision = Bandit(["tea", "coffee"], table, seed=1).decide(propensities=True)
    assert decision.propensities is not None
    assert sorted(one.propensity or 0.0 for one in decision.propensities) == pytest.approx([0.1, 0.9])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"selection is an exploration floor itself, .*: give one floor"):
        ExplorationFloor(0.1, ExplorationFloor(0.1))
    with pytest.raises(EvenhandError, match=r"floor = 0.4 for 3 arms is more than all rounds: at most 0.333333 each"):
        Policy(selection=ExplorationFloor(0.4)).start(3)
    with pytest.raises(InfeasiblePromise, match=r"take 1.2 plays per round, but plays = 1: lower the floor"):
        Policy(fairness=DeficitFirst([0.8, 0.1, 0.0]), selection=ExplorationFloor(0.2)).start(3)
