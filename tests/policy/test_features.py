"""Features of a decision: they reach the index, and each reward comes back with those of its own pull."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from evenhand import EvenhandError, Feedback, Observation, Policy, State
from evenhand.core.cohorts import Answers
from evenhand.core.state import ALL_AVAILABLE, Array, FeatureShape, Shape, each_array
from evenhand.policy import DeficitFirst, HoldFor, Index, PowerSize, Traits
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.index import EmpiricalMean
from evenhand.policy.schedule import Quotas
from evenhand.typing import Decision


class Sums(Index):
    """Scores by the sum of the rewards' features, (…, arms, d), times those of the situation."""

    traits = Traits(contextual=True)

    def start(self, shape: Shape) -> Array:
        return np.zeros((*shape, shape.situation if isinstance(shape, FeatureShape) else 2))

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        answers = feedback.answers
        assert answers is not None
        assert answers.situation is not None
        flat = state.index.reshape(-1, state.index.shape[-1])
        np.add.at(flat, answers.places, answers.rewards[:, np.newaxis] * answers.situation)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        assert observation.situation is not None
        return np.asarray(np.einsum("...ad,...d->...a", state.index, observation.situation))


class Spreads(Fairness):
    """Remembers the spread of the scores of every round."""

    traits = Traits(scaled=True)
    seen: ClassVar[list[Array]] = []

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score)

    def after_decision(self, state: State, decision: Decision) -> None:
        assert decision.spread is not None
        self.seen.append(decision.spread)


@pytest.mark.parametrize("lanes", [None, 3])
def test_an_index_gets_the_features_of_the_decision_and_of_the_pull(lanes: int | None) -> None:
    policy, rng = Policy(Sums()), np.random.default_rng(0)
    state = policy.start(arms=2, lanes=lanes, columns=(2, 0))
    situation = np.array([1.0, 2.0]) if lanes is None else np.ones((lanes, 1)) * [1.0, 2.0]
    decision = policy.decide(state, Observation(situation=situation), rng)
    assert decision.situation is not None
    assert np.array_equal(decision.situation, situation)
    assert decision.arms is None
    places = np.flatnonzero(decision.played)
    told = Answers(places, np.zeros(len(places), int), np.full(len(places), 0.5), np.tile([1.0, 4.0], (len(places), 1)))
    policy.observe(state, Feedback(decision.played * 1.0, decision.played * 0.5, told), rng)
    assert np.array_equal(state.index, decision.played[..., np.newaxis] * [0.5, 2.0])
    assert policy.decide(state, Observation(situation=situation), rng).inclusion.max() == 1.0


def test_without_features_it_says_so() -> None:
    policy, rng = Policy(Sums()), np.random.default_rng(0)
    with pytest.raises(EvenhandError, match="Sums goes by features: declare them, or use another index"):
        policy.start(arms=2)
    state = policy.start(arms=2, columns=(2, 0))
    with pytest.raises(EvenhandError, match="features: the policy goes by features, and the observation has none"):
        policy.decide(state, ALL_AVAILABLE, rng)
    policy.decide(state, Observation(situation=np.ones(2)), rng)
    with pytest.raises(EvenhandError, match="give each reward those of its pull"):
        policy.observe(state, Feedback(np.array([1.0, 0.0]), np.array([1.0, 0.0])), rng)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"hold": HoldFor(PowerSize(2.0))}, "HoldFor holds a choice whatever the features of its rounds are"),
        ({"schedule": Quotas([1, 1])}, "Quotas plans rounds whatever their features are"),
    ],
)
def test_parts_that_decide_without_features_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(EvenhandError, match=said):
        Policy(Sums(), **parts)


def test_a_policy_without_features_plays_the_same_with_and_without_them() -> None:
    plain, rng = Policy(EmpiricalMean(), DeficitFirst([0.3, 0.3])), np.random.default_rng(0)
    decision = plain.decide(plain.start(2, columns=(2, 0)), Observation(situation=np.ones(2)), rng)
    assert decision.situation is None
    assert decision.spread is None
    mask = np.array([False, True])
    contextual = Policy(Sums())
    state = contextual.start(2, columns=(2, 0))
    seen = contextual.decide(state, Observation(mask * 1, situation=np.ones(2)), rng)
    assert seen.played.tolist() == [False, True]
    assert seen.situation is not None
    assert np.array_equal(seen.situation, np.ones(2))


def test_the_spread_is_of_cut_scores_of_arms_that_can_play() -> None:
    class Given(Index):
        def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
            return np.array([np.inf, 0.25, -3.0])

    fairness, rng = Spreads(), np.random.default_rng(0)
    policy = Policy(Given(), fairness)
    state = policy.start(3)
    for mask in (None, [True, True, False], [False, True, True], [False, True, False]):
        policy.decide(state, Observation(None if mask is None else np.array(mask)), rng)
    assert [one.tolist() for one in fairness.seen] == [[1.0], [0.75], [0.25], [0.0]]
    with pytest.raises(EvenhandError, match="Spreads needs scores in every round"):
        Policy(Given(), Spreads(), hold=HoldFor(PowerSize(2.0)))


def test_arms_that_are_added_begin_as_the_index_says() -> None:
    policy = Policy(Sums())
    state = policy.start(2, columns=(2, 0))
    with pytest.raises(EvenhandError, match="last axis is not the arms"):
        policy.grow(state, 3)
    cut = each_array(Observation(situation=np.ones((3, 2))), lambda one: one[[0]]).situation
    assert cut is not None
    assert cut.shape == (1, 2)
