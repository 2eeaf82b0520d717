"""Fair in every situation: by merit, by rank in one's group, and by never preferring the worse."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenhand import EvenhandError, Observation, Policy, dump, restore
from evenhand.algorithms.contextual_fair import fair_greedy, fairx_lin_ts, ridge_fair
from evenhand.core.state import Array
from evenhand.merit import Power
from evenhand.policy import (
    Chain,
    ExplorationFloor,
    GroupRank,
    HoldFor,
    InverseGap,
    LinTS,
    LinUCB,
    PowerSize,
    VirtualQueue,
)
from evenhand.policy.chain import chained
from evenhand.policy.selection import DependentRounding
from evenhand.policy.shares import proportional
from tests.policy.situations import rounds_of

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

LANES = 20


def tilted(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Candidates of three groups with two features; the groups differ by what is added to the first."""
    arms = rng.random((LANES, 3, 2)) * 0.5
    arms[..., 0] += [0.0, 0.25, 0.5]
    return np.ones((LANES, 1)), arms, 0.1 + 0.5 * arms[..., 0] + 0.3 * arms[..., 1]


# --- Shares by merit --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plays", [1, 2])
def test_shares_follow_the_merit_in_each_round(plays: int) -> None:
    merit = Power(beta=1.0, exponent=2.0)
    policy, gaps = fairx_lin_ts(merit, model="shared", scale=0.3, plays=plays), []
    for state, decision, means in rounds_of(policy, tilted, 300):
        assert decision.propensities is None  # as the scores are drawn
        assert decision.inclusion.sum(axis=-1) == pytest.approx(plays)
        wanted = proportional(merit(means), plays)
        gaps.append(np.abs(decision.inclusion - wanted).max(axis=-1).mean())
        assert state.round <= 300
    assert np.mean(gaps[-30:]) < 0.5 * np.mean(gaps[:5])
    assert np.mean(gaps[-30:]) < 0.06


def test_within_a_floor_its_propensities_are_exact_given_the_draw() -> None:
    policy = Policy(
        LinTS("shared", scale=0.3),
        fairx_lin_ts(Power(1.0, 2.0)).fairness,
        ExplorationFloor(0.05, DependentRounding(1)),
    )
    weighed, means = np.zeros(3), np.zeros(3)
    for _, decision, expected in rounds_of(policy, tilted, 250):
        assert decision.propensities is not None
        assert (decision.propensities >= 0.05 - 1e-12).all()
        weighed += (decision.played * expected / decision.propensities).mean(axis=0)
        means += expected.mean(axis=0)
    assert weighed / 250 == pytest.approx(means / 250, rel=0.1)


# --- Rank in one's group ----------------------------------------------------------------------------------------------


def test_every_group_plays_alike_however_low_its_scores_are() -> None:
    plays, best = np.zeros(3), np.zeros(3)
    for state, decision, means in rounds_of(fair_greedy(model="shared"), tilted, 600):
        if state.round > 300:
            plays += decision.played.sum(axis=0)
            best += (means == means.max(axis=-1, keepdims=True)).sum(axis=0)
    shares = plays / plays.sum()
    assert np.abs(shares - 1 / 3).max() < 0.02
    assert best[0] < 0.1 * best.sum()  # it would hardly play by its reward


@pytest.mark.slow
def test_ranks_follow_the_true_distribution() -> None:
    """The rank regret per round falls: the chosen candidate is about the one with the largest true rank."""
    lost = []
    for _, decision, means in rounds_of(fair_greedy(model="shared"), tilted, 800):
        # Sums of two uniform numbers, 0.25 u + 0.15 v above the group's smallest: by their distribution function.
        offset = means - 0.1 - 0.5 * np.array([0.0, 0.25, 0.5])
        rank = trapezoid(offset, 0.25, 0.15)
        lost.append(float((rank.max(axis=-1) - (rank * decision.played).sum(axis=-1)).mean()))
    assert np.mean(lost[-100:]) < 0.35 * np.mean(lost[:20])
    assert np.mean(lost[-100:]) < 0.05


def trapezoid(x: Array, a: float, b: float) -> Array:
    """P(a U + b V ≤ x) for uniform U and V, a ≥ b."""
    pieces = [np.maximum(x - shift, 0.0) ** 2 for shift in (0.0, a, b, a + b)]
    return np.asarray((pieces[0] - pieces[1] - pieces[2] + pieces[3]) / (2.0 * a * b))


def test_the_rank_by_hand_in_a_ring_with_absent_arms() -> None:
    fairness = GroupRank(window=2)
    policy = Policy(LinUCB("shared", radius=0.0), fairness)
    state, rng = policy.start(2, columns=(0, 1)), np.random.default_rng(0)
    assert fairness.claim(np.array([0.1, 0.1]), state).score.tolist() == [1.0, 1.0]
    state.index.common_rewards[:], state.index.common[:] = 1.0, 0.0  # θ̂ = 1
    for scores, available in (([0.3, 0.5], None), ([0.1, 0.9], [True, False]), ([0.2, 0.7], None)):
        seen = Observation(None if available is None else np.array(available), arms=np.array(scores)[:, np.newaxis])
        policy.decide(state, seen, rng)
    assert state.fairness.seen.tolist() == [3.0, 2.0]
    assert state.fairness.scores == pytest.approx(np.array([[0.2, 0.5], [0.1, 0.7]]))
    assert fairness.claim(np.array([0.15, 0.6]), state).score.tolist() == [0.5, 0.0]
    again = restore(policy.start(2, columns=(0, 1)), json.loads(json.dumps(dump(state))))
    assert dump(again.fairness) == dump(state.fairness)
    larger = policy.grow(state, 3).fairness
    assert larger.seen.tolist() == [3.0, 2.0, 0.0]
    assert larger.scores.shape == (2, 3)
    with pytest.raises(EvenhandError, match="GroupRank needs scores in every round: use hold=EveryRound"):
        Policy(fairness=fairness, hold=HoldFor(PowerSize(2.0)))


# --- Never prefer the worse -------------------------------------------------------------------------------------------


def test_a_chain_by_hand() -> None:
    low = np.array([[0.5, 0.35, 0.1, 0.0], [0.9, 0.0, 0.0, 0.0], [0.5, 0.65, 0.0, 0.68]])
    high = np.array([[0.8, 0.55, 0.36, 0.05], [1.0, 0.89, 0.9, 0.1], [0.6, 0.7, 0.2, 0.9]])
    expected = [[True, True, True, False], [True, True, True, True], [False, True, False, True]]
    assert chained(low, high).tolist() == expected
    # Of infinite intervals, as of arms that cannot play, none is linked to a finite one.
    assert chained(np.array([0.1, -np.inf]), np.array([0.2, -np.inf])).tolist() == [True, False]


def apart(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Three arms with one feature, by which they are far apart."""
    arms = (np.array([0.0, 0.4, 0.8]) + 0.1 * rng.random((LANES, 3)))[..., np.newaxis]
    return np.ones((LANES, 1)), arms, 0.05 + 0.9 * arms[..., 0]


def test_no_arm_is_more_likely_to_play_than_a_better_one() -> None:
    wrong, uneven = np.zeros(LANES, dtype=bool), 0
    for _, decision, means in rounds_of(ridge_fair(model="shared"), apart, 600):
        chance = decision.propensities
        assert chance is not None
        assert chance == pytest.approx(decision.inclusion)
        worse = means[:, :, np.newaxis] < means[:, np.newaxis, :]
        wrong |= (worse & (chance[:, :, np.newaxis] > chance[:, np.newaxis, :])).any(axis=(1, 2))
        uneven += int((chance.min(axis=-1) == 0.0).sum())
    assert wrong.mean() <= 0.05
    assert uneven > 0.2 * 600 * LANES  # it does learn who is worse


def test_absent_arms_are_in_no_chain() -> None:
    available = np.tile([False, True, True], (LANES, 1))
    for _, decision, _ in rounds_of(ridge_fair(model="shared"), tilted, 5, available=available):
        assert decision.propensities is not None
        assert decision.propensities[:, 0].max() == 0.0
        assert not decision.played[:, 0].any()
    with pytest.raises(EvenhandError, match=r"index must have intervals, got LinTS\(.*: use LinUCB"):
        Chain(LinTS())


# --- Shares in the long run


@pytest.mark.parametrize("scale", [1.0, 0.03])
@pytest.mark.parametrize(
    "policy",
    [
        Policy(LinTS("shared", scale=0.3), VirtualQueue([0.2] * 3, "auto")),
        Policy(LinUCB("shared", radius=0.3), VirtualQueue([0.2] * 3, "auto")),
        Policy(LinUCB("shared", radius=0.0), VirtualQueue([0.2] * 3, "auto"), InverseGap()),
        Policy(LinTS("shared", scale=0.3), VirtualQueue([0.2] * 3, "auto"), ExplorationFloor(0.05)),
    ],
    ids=["draws", "bounds", "inverse gaps", "draws within a floor"],
)
def test_queues_keep_shares_within_what_is_allowed_at_every_scale(policy: Policy, scale: float) -> None:
    def world(rng: np.random.Generator) -> tuple[Array, Array, Array]:
        situation, arms, means = tilted(rng)
        return situation, arms, means * scale

    worst, last, allowed = 0.0, np.inf, 0.0
    for state, _, _ in rounds_of(policy, world, 800):
        last = float((0.2 * state.round - state.tally.pulls).max())
        allowed = policy.allowance(3, state.round, state) or 0.0
        worst = max(worst, last / allowed)
    assert 0.0 < worst < 1.0
    assert last < 60.0
    assert allowed < 3.0 * (1.0 + 20.0 * 25.0)  # also with a floor, which adds what chance can do
