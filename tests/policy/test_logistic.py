"""Logistic Thompson sampling against a general minimizer, in lanes, saved and grown."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit

from evenhand import EvenhandError, Feedback, Observation, Policy, dump, restore
from evenhand.core.cohorts import Answers
from evenhand.policy import LogisticTS
from evenhand.policy.logistic import _chance
from evenhand.policy.memories import learn


def told(
    policy: Policy, state: Any, places: list[int], rewards: list[float], x: Any, z: Any = None, lanes: int = 0
) -> None:
    """Rewards of some places, each with features of its own."""
    count = np.bincount(places, minlength=state.tally.pulls.size).reshape(state.tally.pulls.shape).astype(float)
    delays = np.zeros(len(places), dtype=np.int64)
    answers = Answers(np.array(places), delays, np.array(rewards), np.array(x), None if z is None else np.array(z))
    policy.observe(state, Feedback(count, count, answers), np.random.default_rng(0))


def minimized(mean: Any, precision: Any, phi: Any, reward: float) -> Any:
    """The weights after a reward, by a general method."""

    def loss(w: Any) -> float:
        logit = w @ phi
        return float(
            0.5 * precision @ (w - mean) ** 2 + reward * np.logaddexp(0, -logit) + (1 - reward) * np.logaddexp(0, logit)
        )

    return minimize(loss, mean, method="BFGS", options={"gtol": 1e-9}).x


def test_a_reward_moves_the_weights_to_the_minimum_and_adds_to_their_precision() -> None:
    rng = np.random.default_rng(1)
    policy = Policy(LogisticTS(ridge=0.7))
    state = policy.start(2, columns=(3, 0))
    mean, precision = np.zeros((2, 3)), np.full((2, 3), 0.7)
    for number in range(12):
        x, place, reward = rng.normal(size=3), number % 2, [0.0, 1.0, 0.25][number % 3]
        told(policy, state, [place], [reward], [x])
        mean[place] = minimized(mean[place], precision[place], x, reward)
        chance = 1.0 / (1.0 + np.exp(-mean[place] @ x))
        precision[place] += x * x * chance * (1.0 - chance)
    np.testing.assert_allclose(state.index.mean, mean, atol=1e-5)
    np.testing.assert_allclose(state.index.precision + 0.7, precision, atol=1e-5)


def equation(f: float, s: float, reward: float, x: float) -> float:
    """What is 0 at the logit after a reward."""
    return float(x - f + s * (expit(x) - reward))


def test_the_chance_solves_its_equation_also_far_out() -> None:
    logit, size = np.array([0.0, 30.0, -700.0, 5.0, 1e4]), np.array([1.0, 1e4, 1e6, 1e-9, 1e8])
    for reward in (0.0, 0.4, 1.0):
        chance = _chance(logit, size, np.full(5, reward))
        for f, s, p in zip(logit, size, chance, strict=True):  # by bisection of the equation of f
            found = brentq(partial(equation, f, s, reward), f + s * (reward - 1) - 1, f + s * reward + 1, xtol=1e-13)
            assert p == pytest.approx(expit(found), abs=1e-10)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_draws_have_the_law_of_the_weights(model: str) -> None:
    rng = np.random.default_rng(2)
    policy = Policy(LogisticTS(model, scale=0.5))
    state = policy.start(3, columns=(2, 2))
    for number in range(30):
        told(policy, state, [number % 3], [float(rng.random() < 0.5)], rng.random((1, 2)), rng.random((1, 2)))
    seen = Observation(situation=rng.random(2), arms=rng.random((3, 2)))
    draws = np.array([policy.index.score(state, seen, rng) for _ in range(8000)])
    logits = np.log(draws / (1 - draws))
    phi = np.concatenate((np.tile(np.asarray(seen.situation), (3, 1)), np.asarray(seen.arms)), axis=1)
    mean, variance = state.index.mean, 0.25 / (1.0 + state.index.precision)
    if model == "disjoint":
        expected, covariance = (mean * phi).sum(axis=1), np.diag((variance * phi**2).sum(axis=1))
    else:
        expected, covariance = phi @ mean, (phi * variance) @ phi.T
    assert np.abs(logits.mean(axis=0) - expected).max() < 5 * np.sqrt(covariance.max() / len(draws))
    np.testing.assert_allclose(np.cov(logits.T), covariance, atol=5 * covariance.max() * np.sqrt(2 / len(draws)))


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_lanes_do_as_each_lane_alone_and_rewards_of_a_round_are_learned_in_their_order(model: str) -> None:
    rng = np.random.default_rng(3)
    policy = Policy(LogisticTS(model))
    state = policy.start(2, lanes=2, columns=(2, 1))
    alone = [policy.start(2, columns=(2, 1)) for _ in range(2)]
    places, rewards = [0, 3, 0, 1, 2], [1.0, 0.0, 0.0, 1.0, 1.0]
    x, z = rng.random((5, 2)), rng.random((5, 1))
    told(policy, state, places, rewards, x, z)
    for place, reward, situation, arm in zip(places, rewards, x, z, strict=True):
        told(policy, alone[place // 2], [place % 2], [reward], [situation], [arm])
    for lane, one in enumerate(alone):
        np.testing.assert_allclose(state.index.mean[lane], one.index.mean, rtol=1e-14)
        np.testing.assert_allclose(state.index.precision[lane], one.index.precision, rtol=1e-14)


def test_it_is_saved_exactly_and_a_new_arm_starts_from_the_prior() -> None:
    rng = np.random.default_rng(4)
    policy = Policy(LogisticTS())
    state = policy.start(2, columns=(2, 0))
    told(policy, state, [0, 1, 1], [1.0, 0.0, 1.0], rng.random((3, 2)))
    text = json.dumps(dump(state))
    assert json.dumps(dump(restore(policy.start(2, columns=(2, 0)), json.loads(text)))) == text
    grown = policy.grow(state, 3)
    assert grown.index.mean[2].tolist() == grown.index.precision[2].tolist() == [0.0, 0.0]
    assert (grown.index.mean[:2] == state.index.mean).all()
    assert not policy.index.traits.exact  # what it remembers depends on the machine


def test_it_learns_which_arm_suits_whom() -> None:
    rng = np.random.default_rng(5)
    policy = Policy(LogisticTS())
    state = policy.start(2, columns=(2, 0))
    right = 0
    for number in range(600):
        x = np.eye(2)[number % 2]
        place = int(policy.decide(state, Observation(situation=x), rng).played.argmax())
        reward = float(rng.random() < (0.8 if place == number % 2 else 0.2))
        told(policy, state, [place], [reward], [x])
        right += number >= 300 and place == number % 2
    assert right > 250


def test_refusals() -> None:
    with pytest.raises(EvenhandError, match="model must be 'disjoint' or 'shared'"):
        LogisticTS("hybrid")
    with pytest.raises(EvenhandError, match="learns from features"):
        learn(Policy(LogisticTS()), Policy(LogisticTS()).start(2, columns=(1, 0)), np.ones(2), np.ones(2))
