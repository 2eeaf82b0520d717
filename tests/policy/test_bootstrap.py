"""Bootstrap sampling against the law of resampled means, in lanes, in simulations, on logs, and refused in a bandit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from evenhand import Bandit, EvenhandError, Features, Feedback, Observation, Policy, check_policy
from evenhand.core.cohorts import Answers
from evenhand.core.state import Array
from evenhand.evaluation import Log, replay
from evenhand.features import Number
from evenhand.policy import Bootstrap, ExplorationFloor, LinTS
from tests.policy.situations import rounds_of


class Averaging:
    """The least that an estimator needs."""

    mean = 0.0

    def fit(self, features: Array, rewards: Array) -> Averaging:
        self.mean = float(rewards.mean())
        return self

    def predict(self, features: Array) -> Array:
        return np.full(len(features), self.mean)


def learned(policy: Policy, state: Any, places: list[int], rewards: list[float], x: Any, seed: int = 0) -> None:
    """Rewards of some places, each with the features of its situation."""
    count = np.zeros(state.tally.pulls.size)
    np.add.at(count, places, 1.0)
    count = count.reshape(state.tally.pulls.shape)
    answers = Answers(np.array(places), np.zeros(len(places), np.int64), np.array(rewards), np.asarray(x), None)
    policy.observe(state, Feedback(count, count, answers), np.random.default_rng(seed))


def crossed(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Ten lanes whose first arm is good where two numbers are on the same side of 1/2: no line separates these."""
    situation = rng.random((10, 2))
    same = (situation[:, 0] > 0.5) == (situation[:, 1] > 0.5)
    return situation, np.zeros((10, 2, 0)), np.where(same[:, np.newaxis], [[0.9, 0.1]], [[0.1, 0.9]])


def test_members_differ_as_means_of_resampled_rewards_do() -> None:
    rewards = np.random.default_rng(3).random(400)
    policy = Policy(Bootstrap(Averaging(), members=2000, prior=0.0))
    state = policy.start(2, columns=(1, 0))
    learned(policy, state, [0] * 400, list(rewards), np.ones((400, 1)))
    seen = Observation(situation=np.ones(1))
    rng = np.random.default_rng(4)
    scores = np.array([policy.index.score(state, seen, rng)[0] for _ in range(4000)])
    spread = rewards.std() / 20.0  # of a mean of 400
    assert abs(scores.mean() - rewards.mean()) < 4 * spread / np.sqrt(2000)
    assert scores.std() == pytest.approx(spread, rel=0.07)  # 4 standard errors of a spread of 2,000 members
    assert policy.index.expected(state, seen) == pytest.approx([rewards.mean(), 0.0], abs=4 * spread / np.sqrt(2000))


def test_the_prior_alone_is_uniform_and_counts_as_rewards() -> None:
    policy, seen = Policy(Bootstrap(Ridge(), members=2, prior=3.0)), Observation(situation=np.ones(1))
    state, rng = policy.start(1, columns=(1, 0)), np.random.default_rng(0)
    scores = np.array([policy.index.score(state, seen, rng)[0] for _ in range(2000)])
    assert abs(scores.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 2000)
    assert 0.0 < scores.min() < 0.01
    assert 0.99 < scores.max() < 1.0
    learned(policy, state, [0] * 5, [1.0] * 5, np.ones((5, 1)))
    sizes = state.index.times.sum(axis=-1)
    for _ in range(20):
        score = policy.index.score(state, seen, rng)[0]  # (m·1 + 3 u)/(m + 3)
        assert any(size / (size + 3.0) <= score <= 1.0 for size in sizes)
        assert score >= sizes.min() / (sizes.min() + 3.0)


@pytest.mark.slow
def test_trees_learn_what_no_line_separates() -> None:
    earned, estimator = {}, DecisionTreeClassifier(max_depth=4, random_state=0)
    for name, index in {"trees": Bootstrap(estimator, members=4, refit=0.3), "lines": LinTS(scale=0.1)}.items():
        rounds = list(rounds_of(Policy(index), crossed, 250))
        earned[name] = float(np.mean([(means * decision.played).sum(axis=-1) for _, decision, means in rounds[100:]]))
    assert earned["trees"] > 0.7  # of 0.9; chance gives 0.5
    assert earned["lines"] < 0.55


def test_each_lane_and_arm_learns_from_its_own_rewards() -> None:
    policy = Policy(Bootstrap(Averaging(), members=3, prior=0.0))
    state = policy.start(2, 2, columns=(1, 0))
    learned(policy, state, [0] * 20 + [3] * 20, [0.25] * 20 + [1.0] * 20, np.ones((40, 1)))
    seen = Observation(situation=np.ones((2, 1)))
    np.testing.assert_allclose(policy.index.score(state, seen, np.random.default_rng(0)), [[0.25, 0.0], [0.0, 1.0]])


def test_in_the_shared_model_a_lane_has_one_estimator_of_the_features_of_arms() -> None:
    policy = Policy(Bootstrap(Ridge(alpha=1e-6), members=3, prior=0.0, model="shared"))
    state = policy.start(3, columns=(0, 1))
    rng, z = np.random.default_rng(1), np.array([[0.1], [0.5], [0.9]])
    places = rng.integers(2, size=60)
    answers = Answers(places, np.zeros(60, np.int64), 1.0 - z[places, 0], np.zeros((60, 0)), z[places])
    count = np.bincount(places, minlength=3) * 1.0
    policy.observe(state, Feedback(count, count, answers), rng)
    scores = policy.index.score(state, Observation(arms=z), rng)  # the third arm was never played
    np.testing.assert_allclose(scores, [0.9, 0.5, 0.1], atol=1e-4)


def test_estimators_are_fitted_anew_as_rewards_grow_and_not_with_each() -> None:
    fits = []

    class Counting(Averaging):
        def fit(self, features: Array, rewards: Array) -> Averaging:
            fits.append(len(rewards))
            return super().fit(features, rewards)

    policy = Policy(Bootstrap(Counting(), members=2, refit=0.5))
    state, seen = policy.start(1, columns=(1, 0)), Observation(situation=np.ones(1))
    for number in range(200):
        learned(policy, state, [0], [number % 2 * 1.0], np.ones((1, 1)), number)
        policy.index.expected(state, seen)
    assert 2 * 8 <= len(fits) <= 2 * (np.log(200) / np.log(1.5) + 3)  # growth by half: 13 times a member


def test_it_keeps_the_rules_of_policies() -> None:
    check_policy(Policy(Bootstrap(Averaging(), members=2)), arms=3)


def test_played_by_a_floor_it_has_an_exact_propensity() -> None:
    policy = Policy(Bootstrap(Ridge(), members=2), selection=ExplorationFloor(floor=0.1))
    state = policy.start(4, columns=(1, 0))
    choice = policy.choose(state, Observation(situation=np.ones(1)), np.random.default_rng(0))
    assert choice.propensities is not None
    assert sorted(choice.propensities.round(12)) == [0.1, 0.1, 0.1, 0.7]


def test_a_log_is_replayed_with_it() -> None:
    rng = np.random.default_rng(2)
    age, arms = rng.random(600), rng.integers(2, size=600)
    chance = np.where((age > 0.3) & (age < 0.7), [[0.9], [0.1]], [[0.1], [0.9]])[arms, np.arange(600)]
    features = Features({"age": Number(0, 1)})
    frame = pd.DataFrame(
        {"time": range(600), "arm": np.array(["a", "b"])[arms], "reward": (rng.random(600) < chance) * 1.0, "age": age}
    )
    frame["propensity"] = 0.5
    log = Log.of(frame, features=features)
    tree = Policy(Bootstrap(DecisionTreeClassifier(max_depth=3, random_state=0), members=4))
    assert replay(log, tree, seed=1).reward > 0.65  # of 0.9; chance gives 0.5


@pytest.mark.parametrize("estimator", [Ridge, "ridge", object(), None])
def test_what_is_no_estimator_is_refused(estimator: Any) -> None:
    with pytest.raises(EvenhandError, match=r"must be an object with fit and predict, such as Ridge\(\)"):
        Bootstrap(estimator)


def test_faults_name_their_argument() -> None:
    with pytest.raises(EvenhandError, match="members must be at least 1, got 0"):
        Bootstrap(Ridge(), members=0)
    with pytest.raises(EvenhandError, match="model='shared' gives all arms the same score where arms have no features"):
        Policy(Bootstrap(Ridge(), model="shared")).start(2, columns=(1, 0))


def test_a_bandit_refuses_it_with_what_to_use_instead() -> None:
    with pytest.raises(
        EvenhandError, match=r"Bootstrap is for simulations and logs only.* use LinUCB, LinTS or Logist"
    ):
        Bandit(["a", "b"], Policy(Bootstrap(Ridge())), features=Features({"age": Number(0, 1)}))


def test_rewards_that_are_no_classes_are_named_with_the_estimator() -> None:
    policy = Policy(Bootstrap(LogisticRegression(), members=2))
    state = policy.start(1, columns=(1, 0))
    learned(policy, state, [0] * 30, list(np.linspace(0.0, 1.0, 30)), np.ones((30, 1)))
    with pytest.raises(EvenhandError, match=r"estimator: LogisticRegression\(\) cannot be fitted to \d+ rewards"):
        policy.index.score(state, Observation(situation=np.ones(1)), np.random.default_rng(0))
