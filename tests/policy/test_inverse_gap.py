"""Inverse gap weighting: chances by hand, as frequencies, and in logs that are weighed by them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Bandit, EvenhandError, Features, Feedback, Observation, Policy, check_policy
from evenhand.core.state import ALL_AVAILABLE, Array, State
from evenhand.features import Number
from evenhand.policy.claim import Ranking
from evenhand.policy.fairness import DeficitBonus, DeficitFirst, NoPromise
from evenhand.policy.groups import BoundedShares
from evenhand.policy.hold import HoldFor, PowerSize
from evenhand.policy.index import EmpiricalMean, Index
from evenhand.policy.inverse_gap import InverseGap
from evenhand.policy.part import Traits
from evenhand.policy.virtual_queue import VirtualQueue


class Given(Index):
    """Always the same scores."""

    traits = Traits(contextual=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        assert observation.arms is not None
        return np.asarray(observation.arms[..., 0])


def chances(score: list[float], gamma: Any = 10.0, available: list[bool] | None = None, **claim: Any) -> list[float]:
    policy = Policy(EmpiricalMean(), selection=InverseGap(gamma))
    seen = Observation(None if available is None else np.array(available))
    state = policy.start(len(score))
    _, found = policy.selection.select(Ranking(np.array(score), **claim), state, seen, np.random.default_rng(0))
    return [float(one) for one in found]


def test_the_chances_by_hand() -> None:
    assert chances([0.5, 0.9, 0.1]) == pytest.approx([1 / 7, 1 - 1 / 7 - 1 / 11, 1 / 11])
    assert chances([0.5, 0.9, 0.1], available=[True, False, True]) == pytest.approx([1 - 1 / 6, 0.0, 1 / 6])
    assert chances([0.4, 0.4]) == pytest.approx([0.5, 0.5])
    assert chances([0.5, 0.9], available=[False, False]) == [0.0, 0.0]


def test_infinite_scores_and_those_beyond_the_range_count_as_a_whole_range() -> None:
    assert chances([math.inf, 0.9, math.inf]) == pytest.approx([1 - 1 / 13 - 1 / 3, 1 / 13, 1 / 3])
    assert chances([7.0, 0.9]) == pytest.approx([1 - 1 / 12, 1 / 12])


def test_an_arm_that_goes_first_plays_for_sure() -> None:
    assert chances([0.5, 0.9], priority=np.array([2.0, 1.0]), threshold=1.5) == [1.0, 0.0]


def test_gaps_are_parts_of_the_range_of_score_and_debt() -> None:
    """With D/η of at most .5 beside scores in [0, 1] the range is 1.5, whatever the unit of the claim is."""
    debt = np.array([0.0, 0.5])
    expected = [1 - 1 / (2 + 10 * 0.3 / 1.5), 1 / (2 + 10 * 0.3 / 1.5)]
    for eta in (1.0, 20.0, 1379.0):
        scaled: dict[str, Any] = {"owed": eta * debt, "rate": np.array([eta])}
        assert chances([eta * 0.9, eta * (0.1 + 0.5)], **scaled) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("fairness", "score", "range_"),
    [
        (NoPromise(), [0.9, 0.1], 1.0),
        (VirtualQueue([0.5, 0.5], 4.0), [3.6, 0.4 + 3.0], 4.0 + 3.0),
        (VirtualQueue([0.5, 0.5], math.inf), [0.9, 0.1], 1.0),
        (DeficitBonus([0.5, 0.5], 0.2), [0.9 - 0.6, 0.1 + 0.6], 1.0 + 1.2),
        (BoundedShares([0.5, 0.5], eta=4.0), [3.6, 0.4 + 3.0], 4.0 + 3.0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_ranking_says_its_range(fairness: Any, score: list[float], range_: float) -> None:
    policy, rng = Policy(Given(), fairness, InverseGap(10.0)), np.random.default_rng(0)
    state = policy.start(2, columns=(0, 1))
    state.round, state.tally.pulls = 6, np.array([6.0, 0.0])
    found = policy.choose(state, Observation(arms=np.array([[0.9], [0.1]])), rng).propensities
    assert found is not None
    gap = abs(score[0] - score[1]) / range_
    assert float(found.min()) == pytest.approx(1 / (2 + 10 * gap))


def test_a_cap_of_zero_is_kept() -> None:
    policy = Policy(EmpiricalMean(), BoundedShares(caps=[1.0, 0.0, 1.0]), InverseGap(1.0))
    state, rng = policy.start(3), np.random.default_rng(0)
    found = policy.choose(state, ALL_AVAILABLE, rng).propensities
    assert found is not None
    assert found.tolist() == [0.5, 0.0, 0.5]
    only = policy.choose(state, Observation(np.array([False, True, False])), rng)
    assert only.played.tolist() == [False, True, False]


def test_gamma_grows_with_the_rounds_and_falls_with_the_features() -> None:
    for columns, features in (((3, 2), 5), ((0, 1), 1)):
        policy = Policy(Given(), selection=InverseGap())
        state = policy.start(4, columns=columns)
        state.round = 99
        scores = np.zeros((4, sum(columns)))
        scores[2, 0] = 0.25
        found = policy.choose(state, Observation(arms=scores), np.random.default_rng(0)).propensities
        gamma = 30.0 * math.sqrt(4 * 100 / (features * math.log(101)))
        assert found is not None
        assert found[0] == pytest.approx(1 / (4 + gamma * 0.25))
    assert Policy(EmpiricalMean(), selection=InverseGap()).start(4).selection == 1


def test_a_million_draws() -> None:
    policy = Policy(Given(), VirtualQueue([0.3, 0.3, 0.0], 2.0), InverseGap(8.0))
    lanes = 1_000_000
    state = policy.start(3, lanes, columns=(0, 1))
    state.round, state.tally.pulls = 5, np.broadcast_to([5.0, 0.0, 0.0], (lanes, 3))
    scores = np.broadcast_to(np.array([[0.9], [0.5], [0.1]]), (lanes, 3, 1))
    decision = policy.choose(state, Observation(arms=scores), np.random.default_rng(0))
    assert decision.propensities is not None
    expected = decision.propensities[0]
    assert expected.sum() == pytest.approx(1.0)
    error = np.abs(decision.played.mean(axis=0) - expected) / np.sqrt(expected * (1.0 - expected) / lanes)
    assert (error < 4.0).all()


@pytest.mark.parametrize("fairness", [NoPromise(), VirtualQueue([0.2] * 3, 5.0), VirtualQueue([0.2] * 3, "auto")])
def test_a_log_can_be_weighed(fairness: Any) -> None:
    policy, rng = Policy(EmpiricalMean(), fairness, InverseGap()), np.random.default_rng(1)
    state, means = policy.start(3, 4000), np.array([0.8, 0.5, 0.2])
    for _ in range(25):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        rewards = (rng.random((4000, 3)) < means) * decision.played
        policy.observe(state, Feedback(decision.played, rewards), rng)
    assert decision.propensities is not None
    assert (decision.propensities > 0.0).all()
    weighed = rewards / decision.propensities
    assert (np.abs(weighed.mean(axis=0) - means) < 5.0 * weighed.std(axis=0) / np.sqrt(4000)).all()


@pytest.mark.parametrize("fairness", [NoPromise(), DeficitFirst([0.2] * 3), VirtualQueue([0.2] * 3, "auto")])
def test_it_passes_the_checks(fairness: Any) -> None:
    check_policy(Policy(EmpiricalMean(), fairness, InverseGap()), 3)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"gamma must be a number above 0, 'auto' or 'auto_spread', got 'big'"):
        InverseGap("big")
    with pytest.raises(EvenhandError, match=r"gamma must be above 0, got 0"):
        InverseGap(0.0)
    with pytest.raises(EvenhandError, match=r"plays must be 1, as one arm is drawn, got 2; use TopM\(plays\)"):
        InverseGap(plays=2)


# --- gaps as parts of the spread of scores ----------------------------------------------------------------------------


def of_spread(fairness: Any = None, scale: float = 1.0, rounds: int = 60) -> tuple[list[list[float]], State]:
    """The chances of rounds with random scores of this scale."""
    policy = Policy(Given(), NoPromise() if fairness is None else fairness, InverseGap("auto_spread"))
    rng, scores = np.random.default_rng(0), np.random.default_rng(1).random((rounds, 4, 1))
    state, found = policy.start(4, columns=(0, 1)), []
    for row in scores:
        decision = policy.decide(state, Observation(arms=scale * row), rng)
        assert decision.propensities is not None
        found.append(decision.propensities.tolist())
    return found, state


def test_by_the_spread_the_chances_by_hand() -> None:
    found, state = of_spread(rounds=3)
    scores = np.random.default_rng(1).random((3, 4))
    assert found[0] == [0.25] * 4
    for round in (1, 2):
        mean = np.ptp(scores[:round], axis=1).mean()
        gamma = 10.0 * math.sqrt(4 * (round + 1) / math.log1p(round + 1))
        expected = 1.0 / (4.0 + gamma * (scores[round].max() - scores[round]) / mean)
        expected[scores[round].argmax()] = 0.0
        expected[scores[round].argmax()] = 1.0 - expected.sum()
        assert found[round] == pytest.approx(expected)
    assert state.selection.spread.rounds == 3.0


@pytest.mark.parametrize("fairness", [None, VirtualQueue([0.1] * 4, "auto"), DeficitFirst(0.1)])
@pytest.mark.parametrize("scale", [0.02, 1e-6])
def test_by_the_spread_the_scale_of_rewards_makes_no_difference(fairness: Any, scale: float) -> None:
    np.testing.assert_allclose(of_spread(fairness, scale)[0], of_spread(fairness)[0], rtol=1e-6)
    assert min(map(min, of_spread(scale=scale)[0])) > 0.0


def test_by_the_spread_equal_scores_are_drawn_evenly_and_infinite_ones_keep_their_chance() -> None:
    policy, rng = Policy(Given(), selection=InverseGap("auto_spread")), np.random.default_rng(0)
    state = policy.start(3, lanes=2, columns=(0, 1))
    for _ in range(3):
        decision = policy.decide(state, Observation(arms=np.full((2, 3, 1), 0.4)), rng)
        np.testing.assert_allclose(decision.inclusion, 1 / 3)
    seen = Observation(arms=np.array([[[math.inf], [0.2], [0.1]], [[0.4], [0.4], [0.3]]]))
    for _ in range(3):
        decision = policy.decide(state, seen, rng)
        assert (np.asarray(decision.inclusion) > 0.0).all()


def test_by_the_spread_it_needs_a_range_and_every_round() -> None:
    assert Policy(EmpiricalMean(), selection=InverseGap("auto_spread")).bounded
    with pytest.raises(EvenhandError, match="gamma = 'auto_spread' compares scores in every round"):
        Policy(EmpiricalMean(), selection=InverseGap("auto_spread"), hold=HoldFor(PowerSize(2.0)))
    with pytest.raises(EvenhandError, match="must be a number above 0, 'auto' or 'auto_spread', got 'spread'"):
        InverseGap("spread")


def test_a_saved_bandit_goes_on_with_its_spread(tmp_path: Path) -> None:
    table = {"index": "lin_ucb", "selection": {"kind": "inverse_gap", "gamma": "auto_spread"}}
    bandit = Bandit(["a", "b"], table, features=Features({"x": Number(0, 1)}), seed=1)
    rng = np.random.default_rng(0)
    for now in range(30):
        x = float(rng.random())
        decision = bandit.decide({"x": x}, now=float(now))
        bandit.observe(decision.id, {decision.names[0]: x if decision.names == ("a",) else 0.3}, now=float(now))
    bandit.save(tmp_path / "bandit.json")
    again = Bandit.load(tmp_path / "bandit.json")
    assert again._record.state.selection.spread.rounds == 30.0
    one, other = (each.decide({"x": 0.5}, now=30.0) for each in (bandit, again))
    assert one.names == other.names
    assert one.arms[0].propensity == pytest.approx(other.arms[0].propensity)
    bandit.add("c")
    assert bandit.decide({"x": 0.5}, now=31.0).arms[0].propensity is not None
