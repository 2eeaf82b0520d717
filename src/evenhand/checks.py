"""Checks that users can run on their own parts: does a policy, or an environment, keep the rules that all rest on?

Both raise ``AssertionError`` with the name of the rule that is broken. ``POLICY_CHECKS`` and ``ENVIRONMENT_CHECKS``
list the single checks, to be run one by one: ``@pytest.mark.parametrize("check", POLICY_CHECKS)``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.describe import describe, rebuild, types_in
from evenhand.environment import Environment, World
from evenhand.errors import StateError
from evenhand.policy import Policy
from evenhand.records import Decision, Feedback, State, dump, restore
from evenhand.rewards import Bernoulli
from evenhand.simulation import compare

LANES, ROUNDS = 3, 60


def check_policy(policy: Policy, arms: int) -> None:
    """Run every check of `POLICY_CHECKS` on a policy.

    Args:
        policy: any composition of parts.
        arms: number of arms that it is meant for.

    Raises:
        AssertionError: a rule is broken; the message says which.

    Example:
        >>> from evenhand import check_policy
        >>> from evenhand.algorithms import fucb
        >>> check_policy(fucb([0.2, 0.1, 0.0]), arms=3)
    """
    for check in POLICY_CHECKS:
        check(policy, arms)


def check_environment(environment: Environment, horizon: int = ROUNDS) -> None:
    """Run every check of `ENVIRONMENT_CHECKS` on an environment.

    Args:
        environment: any rewards, availability and feedback.
        horizon: rounds to try; no more than its log holds.

    Raises:
        AssertionError: a rule is broken; the message says which.

    Example:
        >>> from evenhand import Environment, check_environment
        >>> from evenhand.rewards import Bernoulli
        >>> check_environment(Environment(Bernoulli([0.9, 0.5])))
    """
    for check in ENVIRONMENT_CHECKS:
        check(environment, horizon)


def decisions_are_sound(policy: Policy, arms: int) -> None:
    """Only available arms play, as many as can up to m, and the rounds count up from 1."""
    for place, (decision, _) in enumerate(_trial(policy, arms, sleeping=True)):
        assert decision.round == place + 1, f"round {place + 1} is numbered {decision.round}"
        assert decision.played.dtype == np.bool_, f"played is {decision.played.dtype}, not bool"
        assert decision.played.shape == (LANES, arms), f"played has shape {decision.played.shape}"
        assert decision.available is not None
        assert not (decision.played & ~decision.available).any(), "an arm plays that is not available"
        expected = np.minimum(policy.plays, decision.available.sum(axis=-1))
        assert (decision.played.sum(axis=-1) == expected).all(), "not as many arms play as can"


def probabilities_are_sound(policy: Policy, arms: int) -> None:
    """Selection vectors lie in [0, 1], sum to the number of arms played, and allow what was played; probabilities,
    where they are given, are no other."""
    for sleeping in (False, True):
        for decision, _ in _trial(policy, arms, sleeping):
            chance = np.asarray(decision.vector, dtype=float)
            assert chance.shape == decision.played.shape, f"the selection vector has shape {chance.shape}"
            if decision.probabilities is not None:
                assert np.array_equal(decision.probabilities, chance), "probabilities differ from the selection vector"
            assert (chance >= 0).all(), "a probability is negative"
            assert (chance <= 1 + 1e-12).all(), "a probability exceeds 1"
            played = decision.played.sum(axis=-1)
            assert np.allclose(chance.sum(axis=-1), played), "the probabilities do not sum to the number of arms played"
            assert (chance[decision.played] > 0).all(), "an arm of probability 0 plays"


def tallies_are_sound(policy: Policy, arms: int) -> None:
    """Pulls count the plays, and no more rewards are received than arms were pulled."""
    pulls = np.zeros((LANES, arms))
    for decision, state in _trial(policy, arms, sleeping=True):
        pulls += decision.played
        assert (state.tally.pulls == pulls).all(), "the pulls in the state are not the plays"
        assert (state.tally.received <= state.tally.pulls).all(), "more rewards were received than arms were pulled"


def one_lane_is_any_lane(policy: Policy, arms: int) -> None:
    """Without a lane axis a policy decides as it does with one lane."""
    single, lane = policy.start(arms), policy.start(arms, 1)
    rng_single, rng_lane, world = (np.random.default_rng(seed) for seed in (5, 5, 6))
    for _ in range(ROUNDS):
        rewards, available = world.random(arms) < 0.5, world.random(arms) < 0.8
        a, b = (
            policy.decide(single, rng_single, available),
            policy.decide(lane, rng_lane, available[np.newaxis]),
        )
        assert (a.played == b.played[0]).all(), f"round {a.round}: a single decision differs from a lane's"
        policy.observe(single, Feedback(a.played, rewards * a.played), rng_single)
        policy.observe(lane, Feedback(b.played, rewards * b.played), rng_lane)


def saved_state_continues(policy: Policy, arms: int) -> None:
    """A state that went through JSON continues exactly as the state itself, and so does a policy described and
    rebuilt."""
    state, rng = policy.start(arms, LANES), np.random.default_rng(3)
    world = np.random.default_rng(4)
    _play(policy, state, rng, world)
    copy = restore(policy.start(arms, LANES), json.loads(json.dumps(dump(state))))
    again = _rebuilt(policy)
    rng_copy, world_copy = np.random.default_rng(), np.random.default_rng()
    rng_copy.bit_generator.state = json.loads(json.dumps(rng.bit_generator.state))
    world_copy.bit_generator.state = world.bit_generator.state
    for _ in range(ROUNDS):
        here, there = _play(policy, state, rng, world), _play(again, copy, rng_copy, world_copy)
        assert (here.played == there.played).all(), f"round {here.round}: the saved state continues differently"


def same_seed_same_run(policy: Policy, arms: int) -> None:
    """The same seed gives the same run, whoever else runs and in however many processes."""
    world = Environment(Bernoulli(np.linspace(0.2, 0.8, arms)))
    alone = compare({"a": policy}, world, ROUNDS, LANES, seed=11, checkpoints=4, progress=False)
    other = compare({"b": Policy(), "a": policy}, world, ROUNDS, LANES, seed=11, checkpoints=4, jobs=2, progress=False)
    assert (alone.records["a"].pulls == other.records["a"].pulls).all(), "the same seed gives another run"


def same_world_for_all(environment: Environment, horizon: int) -> None:
    """The same seed gives every policy the same rewards and availability, whatever it plays."""
    first, second = (_world(environment, horizon) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(horizon):
        one, two = first.offer(), second.offer()
        assert (one is None) == (two is None), "arms are available to one policy only"
        if one is not None and two is not None:
            assert (one == two).all(), "availability differs between policies"
        a, b = _everyone(environment, one), rng.random((LANES, environment.arms)) < 0.5
        b &= a
        earned_a, earned_b = first.play(_decided(a, one)).earned, second.play(_decided(b, one)).earned
        assert (np.asarray(earned_a)[b] == np.asarray(earned_b)[b]).all(), "rewards depend on what is played"


def rewards_are_sound(environment: Environment, horizon: int) -> None:
    """Rewards are finite, and 0 for arms that do not play."""
    world = _world(environment, horizon)
    for _ in range(horizon):
        available = world.offer()
        played = _everyone(environment, available)
        earned = np.asarray(world.play(_decided(played, available)).earned, dtype=float)
        assert np.isfinite(earned).all(), "a reward is not finite"
        assert (earned[~played] == 0).all(), "an arm earns without playing"


def feedback_is_sound(environment: Environment, horizon: int) -> None:
    """No feedback arrives for what was not played, and none arrives twice."""
    world = _world(environment, horizon)
    pulls, received = np.zeros((LANES, environment.arms)), np.zeros((LANES, environment.arms))
    for _ in range(horizon):
        available = world.offer()
        played = _everyone(environment, available)
        feedback = world.play(_decided(played, available)).feedback
        pulls += played
        received += feedback.received
        assert (received <= pulls).all(), "more rewards arrived than arms were played"


def description_is_whole(environment: Environment, horizon: int) -> None:
    """An environment described and rebuilt gives the same rewards."""
    again = _rebuilt(environment)
    one, two = _world(environment, horizon), _world(again, horizon)
    for _ in range(horizon):
        available = one.offer()
        two.offer()
        played = _everyone(environment, available)
        earned = one.play(_decided(played, available)).earned, two.play(_decided(played, available)).earned
        assert (np.asarray(earned[0]) == np.asarray(earned[1])).all(), "the rebuilt environment gives other rewards"


#: The checks of `check_policy`, to be run one by one.
POLICY_CHECKS: tuple[Callable[[Policy, int], None], ...] = (
    decisions_are_sound,
    probabilities_are_sound,
    tallies_are_sound,
    one_lane_is_any_lane,
    saved_state_continues,
    same_seed_same_run,
)
#: The checks of `check_environment`, to be run one by one.
ENVIRONMENT_CHECKS: tuple[Callable[[Environment, int], None], ...] = (
    same_world_for_all,
    rewards_are_sound,
    feedback_is_sound,
    description_is_whole,
)


def _trial(policy: Policy, arms: int, sleeping: bool) -> list[tuple[Decision, State]]:
    state, rng, world = policy.start(arms, LANES), np.random.default_rng(1), np.random.default_rng(2)
    trial = []
    for _ in range(ROUNDS):
        decision = _play(policy, state, rng, world, sleeping)
        trial.append((decision, restore(policy.start(arms, LANES), dump(state))))
    return trial


def _play(
    policy: Policy, state: State, rng: np.random.Generator, world: np.random.Generator, sleeping: bool = True
) -> Decision:
    """One round with rewards that are no whole numbers, and now and then with nobody awake."""
    shape = (LANES, state.arms)
    rewards, awake = world.random(shape), world.random(shape) < world.choice([0.0, 0.5, 1.0])
    decision = policy.decide(state, rng, awake if sleeping else None)
    policy.observe(state, Feedback(decision.played, rewards * decision.played), rng)
    return decision


def _rebuilt(part: Any) -> Any:
    try:
        return rebuild(json.loads(json.dumps(describe(part))), types_in(part))
    except StateError as error:
        raise AssertionError(f"what is written down of it cannot be built again: {error}") from None


def _world(environment: Environment, horizon: int) -> World:
    return environment.start(horizon, LANES, np.random.SeedSequence(8))


def _everyone(environment: Environment, available: Any) -> Any:
    return np.ones((LANES, environment.arms), dtype=bool) if available is None else np.array(available)


def _decided(played: Any, available: Any) -> Decision:
    return Decision(1, played, None, available, played)
