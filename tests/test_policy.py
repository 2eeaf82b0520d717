"""The composition: what decide and observe do to a state, and what start refuses."""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Feedback, Policy, dump
from evenhand.algorithms import (
    f_ts,
    fair_random,
    fcts_d,
    fcucb_d,
    fgreedy_d,
    fucb,
    hard_threshold_ucb,
    lfg,
    naive,
    op_fcts_d,
    t_fucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.cadence import QuotasThen
from evenhand.fairness import DeficitFirst, Mixing, VirtualQueue
from evenhand.holds import HoldFor, PowerSize
from evenhand.index import UCB, BetaSample, EmpiricalMean, ExponentialWeights
from evenhand.merit import Linear
from evenhand.records import Decision, State
from evenhand.selection import Categorical, TopM

SHARES: Any = [0.2, 0.1, 0.05]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- Start -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "arms", "lanes", "message"),
    [
        (ucb1(plays=3), 2, None, r"^plays = 3, but there are only 2 arms to play$"),
        (ucb1(), 0, None, r"^arms must be at least 1, got 0$"),
        (ucb1(), 2.0, None, r"^arms must be a whole number, got 2\.0$"),
        (ucb1(), 2, 0, r"^lanes must be at least 1, got 0$"),
        (fucb([0.1, 0.2]), 3, None, r"^fractions has 2 entries, but there are 3 arms$"),
        (t_fucb([0.1, 0.2], horizon=9), 3, None, r"^fractions has 2 entries, but there are 3 arms$"),
        (fair_random([0.1, 0.2]), 3, 4, r"^fractions has 2 entries, but there are 3 arms$"),
    ],
)
def test_start_refuses(policy: Policy, arms: Any, lanes: int | None, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        policy.start(arms, lanes)


def test_start_refuses_quotas_for_another_number_of_arms() -> None:
    with pytest.raises(EvenhandError, match=r"quotas has 2 entries, but there are 3 arms"):
        Policy(cadence=QuotasThen([2, 1])).start(3)


def test_start_refuses_one_share_for_several_arms() -> None:
    # NAIVE's shares of the rest and its quotas are worked out for one arm; they would not keep 0.2 for each of three.
    with pytest.raises(EvenhandError, match=r"fractions has 1 entr(y|ies), but there are 3 arms"):
        naive([0.2], horizon=100).start(3)


@pytest.mark.parametrize("lanes", [None, 1, 4])
def test_a_fresh_state_is_empty_and_of_the_right_shape(lanes: int | None) -> None:
    state = lfg(SHARES, eta=2.0).start(3, lanes)
    shape = (3,) if lanes is None else (lanes, 3)
    memories = [getattr(record, f.name) for record in (state.tally, state.fairness) for f in fields(record)]
    assert len(memories) > 3
    for array in memories:
        assert array.shape == shape
        assert not array.any()
    assert (state.round, state.clock, state.arms) == (0, 1, 3)


def test_every_start_is_a_state_of_its_own() -> None:
    policy = thompson()
    one, two = policy.start(3), policy.start(3)
    decision = policy.decide(one, rng())
    policy.observe(one, Feedback(decision.played, decision.played.astype(float)), rng())
    assert (one.round, two.round) == (1, 0)
    assert not two.tally.pulls.any()
    assert not two.index.successes.any()


# --- Decide and observe ----------------------------------------------------------------------------------------------


def test_decide_counts_the_round_and_the_plays_and_nothing_else() -> None:
    policy = ucb1(plays=2)
    state = policy.start(3)
    decision = policy.decide(state, rng(), np.array([True, False, True]))
    assert (state.round, decision.round) == (1, 1)
    assert decision.played.tolist() == [True, False, True]
    assert decision.available is not None
    assert decision.available.tolist() == [True, False, True]
    assert state.tally.pulls.tolist() == [1.0, 0.0, 1.0]
    assert not state.tally.received.any()
    assert not state.tally.rewards.any()


def test_observe_counts_what_arrived_and_nothing_else() -> None:
    policy = thompson()
    state = policy.start(2)
    policy.decide(state, rng())
    pulls = state.tally.pulls.copy()
    policy.observe(state, Feedback(np.array([0.0, 3.0]), np.array([0.0, 2.0])), rng())
    assert state.round == 1
    assert (state.tally.pulls == pulls).all()
    assert state.tally.received.tolist() == [0.0, 3.0]
    assert state.tally.rewards.tolist() == [0.0, 2.0]
    assert state.index.successes.tolist() == [0.0, 2.0]


def test_feedback_may_come_later() -> None:
    # Three plays without a word: each arm once, then both have the bound sqrt(2 ln 3) and the lowest index plays. Then
    # a reward of 1 arrives from the second arm, whose bound is now 1 + sqrt(2 ln 4) against sqrt(2 ln 4).
    policy = ucb1()
    state = policy.start(2)
    assert [policy.decide(state, rng()).played.argmax() for _ in range(3)] == [0, 1, 0]
    policy.observe(state, Feedback(np.array([0.0, 1.0]), np.array([0.0, 1.0])), rng())
    assert state.tally.received.tolist() == [0.0, 1.0]
    assert policy.decide(state, rng()).played.tolist() == [False, True]


def test_the_parts_hear_of_the_plays() -> None:
    policy = Policy(EmpiricalMean(), VirtualQueue(SHARES, 0.0, queue="recursive"))
    state = policy.start(3)
    policy.decide(state, rng())  # arm 0, the lowest index
    # Arm 0: max(0.2 − 1, 0); the others gain their share. Arm 1 has the longest queue.
    assert policy.decide(state, rng()).played.tolist() == [False, True, False]


def test_probabilities_are_those_at_the_time_of_the_decision() -> None:
    policy = fair_random(SHARES)
    state = policy.start(3)
    decision = policy.decide(state, rng())
    before = np.array(decision.probabilities)
    for _ in range(5):
        later = policy.decide(state, rng(1))
        policy.observe(state, Feedback(later.played, later.played * 1.0), rng())
    assert (np.array(decision.probabilities) == before).all()
    assert before == pytest.approx([0.2 + 0.65 / 3, 0.1 + 0.65 / 3, 0.05 + 0.65 / 3])


@pytest.mark.parametrize(
    "policy", [thompson(), f_ts([0.0, 0.0, 0.0]), fcts_d(Linear()), op_fcts_d(Linear()), fgreedy_d(Linear())]
)
def test_where_the_worth_is_drawn_only_the_selection_vector_is_told(policy: Policy) -> None:
    # It holds given the draw; the chance given the past would be its mean over all draws.
    decision = policy.decide(policy.start(3), rng())
    assert decision.probabilities is None
    assert decision.vector.shape == (3,)
    assert decision.vector.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("policy", [ucb1(), fucb(SHARES), fair_random(SHARES), fcucb_d(Linear(), horizon=50)])
def test_elsewhere_the_selection_vector_is_the_probabilities(policy: Policy) -> None:
    decision = policy.decide(policy.start(3), rng())
    assert decision.probabilities is decision.vector


POLICIES: dict[str, Policy] = {
    "ucb1": ucb1(plays=2),
    "f_ts": f_ts(SHARES),
    "hard": hard_threshold_ucb(SHARES, penalties=0.3),
    "lfg": lfg(SHARES, eta=3.0, plays=2),
    "tscsf_b": tscsf_b(SHARES, eta=3.0, plays=2),
    "naive": naive(SHARES, horizon=60),
    "fcucb_d": fcucb_d(Linear(), horizon=60, plays=2),
    "op_fcts_d": op_fcts_d(Linear(), plays=2),
}


def run(policy: Policy, seed: int, lanes: int | None, rounds: int = 40) -> tuple[list[Any], Any]:
    """Plays of every round and the state at the end, with rewards and availability that depend on the seed alone."""
    state, own, world = policy.start(3, lanes), rng(seed), rng(seed + 1)
    shape = (3,) if lanes is None else (lanes, 3)
    plays = []
    for _ in range(rounds):
        rewards, awake = world.random(shape), world.random(shape) < 0.8
        decision = policy.decide(state, own, awake)
        policy.observe(state, Feedback(decision.played, rewards * decision.played), own)
        plays.append(decision.played.tolist())
    return plays, dump(state)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
@pytest.mark.parametrize("lanes", [None, 3])
def test_a_policy_holds_parameters_only(policy: Policy, lanes: int | None) -> None:
    # What it did before leaves no trace, nor does a copy differ.
    first = run(policy, 4, lanes)
    run(policy, 9, lanes)
    assert run(policy, 4, lanes) == first
    assert run(copy.deepcopy(policy), 4, lanes) == first


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_nobody_awake_is_a_round_like_any_other(policy: Policy) -> None:
    state = policy.start(3, lanes=2)
    decision = policy.decide(state, rng(), np.zeros((2, 3), dtype=bool))
    assert state.round == 1
    assert not decision.played.any()
    assert not state.tally.pulls.any()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sampled_from(list(POLICIES)), st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
def test_tallies_stay_in_order(name: str, seed: int, lanes: int | None) -> None:
    policy = POLICIES[name]
    plays, state = run(policy, seed, lanes, rounds=25)
    pulls, received, rewards = (np.array(state["tally"][key]["values"]) for key in ("pulls", "received", "rewards"))
    assert (pulls == np.sum(plays, axis=0)).all()
    assert (received <= pulls).all()
    assert ((rewards >= 0) & (rewards <= received)).all()


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ucb1().index = BetaSample()  # type: ignore[misc]


# --- What is told of it ----------------------------------------------------------------------------------------------


def test_plays_and_fractions_come_from_the_parts() -> None:
    assert Policy(selection=TopM(3)).plays == 3
    assert Policy().fractions is None
    assert fucb(SHARES).fractions.tolist() == SHARES
    assert t_fucb(SHARES, horizon=10).fractions.tolist() == SHARES
    both = Policy(fairness=DeficitFirst(SHARES), cadence=QuotasThen([1, 1, 1], fractions=[0.0, 0.0, 0.1]))
    assert both.fractions.tolist() == SHARES  # the fairness part's promise comes first


def test_parts_have_defaults() -> None:
    assert Policy() == Policy(index=UCB(2.0), selection=TopM(1))
    assert Policy(index=EmpiricalMean()).name == ""


# --- Choices that last -----------------------------------------------------------------------------------------------

SQUARES = HoldFor(PowerSize(2.0))
HOLDS: dict[str, Policy] = {
    "bounds": Policy(UCB(4.0, clip=True, clock="played"), cadence=SQUARES),
    "owed first": Policy(UCB(), DeficitFirst(SHARES), cadence=SQUARES),
    "queue": Policy(UCB(0.1), VirtualQueue(SHARES, 1.0), TopM(2), cadence=SQUARES),
}


def step(policy: Policy, state: State, rewards: Any, available: Any = None) -> Decision:
    decision = policy.decide(state, rng(), available)
    policy.observe(state, Feedback(decision.played, decision.played * rewards), rng())
    return decision


@pytest.mark.parametrize("policy", HOLDS.values(), ids=list(HOLDS))
def test_a_lane_that_holds_does_as_it_would_alone(policy: Policy) -> None:
    chance = rng(3)
    together, alone = policy.start(3, lanes=4), [policy.start(3) for _ in range(4)]
    for _ in range(150):
        rewards = chance.integers(0, 9, (4, 3)) / 8.0
        decision = step(policy, together, rewards)
        for lane, state in enumerate(alone):
            single = step(policy, state, rewards[lane])
            assert (single.played == decision.played[lane]).all()
            assert (single.vector == decision.vector[lane]).all()
    states = dump(together)
    for lane, state in enumerate(alone):
        assert dump(state)["tally"]["rewards"]["values"] == states["tally"]["rewards"]["values"][lane]
        if state.fairness is not None:
            assert dump(state)["fairness"]["lengths"]["values"] == states["fairness"]["lengths"]["values"][lane]


def chances(policy: Policy, rounds: int) -> list[Decision]:
    """Decisions of two lanes, of which the second cannot play its arm of round 2 in round 3."""
    state = policy.start(2, lanes=2)
    found: list[Decision] = []
    for t in range(1, rounds + 1):
        awake = np.ones((2, 2), dtype=bool)
        if t == 3:
            awake[1] = ~found[-1].played[1]
        found.append(step(policy, state, 0.5, awake))
    return found


def test_what_is_told_of_a_hold() -> None:
    # f = 3, 6, … rounds for the choices of all arms: both lanes choose in round 1 and hold in round 2; in round 3 the
    # first holds and the second chooses its only arm awake; in round 4 the first chooses and the second holds.
    policy = Policy(ExponentialWeights(0.0), Mixing(1.0), Categorical(), HoldFor(lambda k: 3.0 * k, count="all"))
    first, second, third, fourth = chances(policy, 4)
    assert first.vector.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert second.vector.tolist() == second.played.tolist() == first.played.tolist()
    assert third.played[0].tolist() == third.vector[0].tolist() == first.played[0].tolist()
    assert third.vector[1].tolist() == (~first.played[1]).tolist()
    assert fourth.vector[0].tolist() == [0.5, 0.5]
    assert fourth.vector[1].tolist() == third.played[1].tolist()
    for decision in (first, second, third, fourth):
        assert decision.probabilities is decision.vector


def test_where_the_worth_is_drawn_only_a_hold_of_all_lanes_has_probabilities() -> None:
    policy = Policy(BetaSample(), cadence=HoldFor(lambda k: 3.0 * k, count="all"))
    first, second, third, fourth = chances(policy, 4)
    assert (first.probabilities, third.probabilities, fourth.probabilities) == (None, None, None)
    assert second.probabilities is not None
    assert second.probabilities.tolist() == first.played.tolist()
    assert third.vector.tolist() == third.played.tolist()


def test_a_hold_counts_plays_and_rounds_like_any_other() -> None:
    policy = HOLDS["queue"]
    state = policy.start(3)
    for t in range(1, 30):
        decision = step(policy, state, 0.5)
        assert (decision.round, state.round, state.clock) == (t, t, t + 1)
        assert state.tally.pulls.sum() == 2 * t
        assert (state.tally.received == state.tally.pulls).all()
