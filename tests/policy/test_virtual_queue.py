"""Queues whose weight follows the scores: the rule by hand, what it earns at every scale, and what may be owed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import eye, kron

from evenhand import Environment, EvenhandError, Feedback, Observation, Policy, compare, dump, restore
from evenhand.algorithms import eta_fucb, tscsf_b
from evenhand.bandit import Bandit
from evenhand.bandit.audit.account import Account
from evenhand.bandit.replay import recorded_slots
from evenhand.core.state import ALL_AVAILABLE, Array, State
from evenhand.environment.rewards import Bernoulli
from evenhand.judgement.keeping import keeping_of
from evenhand.policy.accounts import Accounts
from evenhand.policy.fairness import DeficitFirst
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean, Index
from evenhand.policy.part import Traits
from evenhand.policy.settlement import begin
from evenhand.policy.spread import Spread
from evenhand.policy.virtual_queue import VirtualQueue

SHARES = [0.3, 0.3]


class Known(Index):
    """The scores are known: the only feature of every arm."""

    traits = Traits(contextual=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        assert observation.arms is not None
        return np.asarray(observation.arms[..., 0])


def played(policy: Policy, scores: Array) -> tuple[State, list[int]]:
    """The state after rounds with these scores, (rounds, arms), and who played."""
    state, rng = policy.start(scores.shape[-1], columns=(0, 1)), np.random.default_rng(0)
    decisions = [policy.decide(state, Observation(arms=one[:, np.newaxis]), rng) for one in scores]
    return state, [int(decision.played.argmax()) for decision in decisions]


def test_the_weight_of_a_round_by_hand() -> None:
    fairness = VirtualQueue(SHARES, "auto")
    state, arms = played(Policy(Known(), fairness), np.array([[0.9, 0.8], [0.5, 0.2], [3.0, 0.4]]))
    # Differences .1, .3, .6: the mean is 1/3, and η is 60.
    assert arms == [0, 0, 0]
    claim = fairness.claim(np.array([0.7, -0.1]), state)
    assert claim.score == pytest.approx([0.7 * 60.0, 0.9])
    assert claim.owed == pytest.approx([0.0, 0.9])
    assert claim.rate == pytest.approx([60.0])
    assert claim.priority is None
    assert VirtualQueue(SHARES, "auto_sqrt").claim(np.array([0.7, 0.0]), state).score == pytest.approx([4.2, 0.9])


def test_while_no_scores_differ_the_queue_alone_decides_and_the_score_where_it_is_empty() -> None:
    _, arms = played(Policy(Known(), VirtualQueue([0.5, 0.5], "auto")), np.full((6, 2), 0.5))
    assert arms == [0, 1, 0, 1, 0, 1]
    assert played(Policy(Known(), VirtualQueue([0.5, 0.5], "auto")), np.array([[0.4, 0.5]]))[1] == [1]
    # Where scores differ by rounding errors only, they do not differ.
    _, arms = played(Policy(Known(), VirtualQueue([0.5, 0.5], "auto")), np.array([[0.5, 0.5 + 1e-16]] * 4))
    assert arms == [1, 0, 1, 0]


def test_lanes_in_which_no_scores_have_differed_stand_beside_others() -> None:
    policy, rng = Policy(Known(), VirtualQueue([0.5, 0.5], "auto")), np.random.default_rng(0)
    state = policy.start(2, 2, columns=(0, 1))
    for expected in ([0, 0], [1, 0], [0, 0], [1, 0]):
        scores = np.array([[0.5, 0.5], [0.9, 0.1]])[..., np.newaxis]
        assert policy.decide(state, Observation(arms=scores), rng).played.argmax(axis=-1).tolist() == expected


def world(seed: int = 2, rounds: int = 4000, spread: float = 0.73) -> NDArray[np.float64]:
    """(rounds, 5), chances by six features, the largest less the smallest .73 on average."""
    rng = np.random.default_rng(seed)
    coefficients, features = rng.normal(size=(5, 6)), rng.normal(size=(rounds, 6))
    features[:, 0] = 1.0
    low, high = 0.01, 20.0
    for _ in range(30):
        scale = (low + high) / 2.0
        chances = 1.0 / (1.0 + np.exp(-scale * features @ coefficients.T))
        wide = float(np.ptp(chances, axis=1).mean()) > spread
        low, high = (low, scale) if wide else (scale, high)
    return np.asarray(chances)


def best_with_promise(scores: Array, share: float) -> float:
    """The largest mean reward of a plan that gives every arm its share, by a linear program over the rounds."""
    rounds, arms = scores.shape
    per_arm, per_round = kron(np.ones((1, rounds)), eye(arms)), kron(eye(rounds), np.ones((1, arms)))
    limits: dict[str, Any] = {"A_ub": -per_arm, "b_ub": np.full(arms, -share * rounds), "A_eq": per_round}
    found = linprog(-scores.ravel(), **limits, b_eq=np.ones(rounds), bounds=(0, 1), method="highs")
    assert found.fun is not None
    return float(-found.fun / rounds)


def part_of_best(fairness: Any, scores: Array, best: float) -> tuple[float, float]:
    """The reward as a part of the best, and the most plays that an arm was owed."""
    _, arms = played(Policy(Known(), fairness), scores)
    plays = np.cumsum(np.eye(scores.shape[1])[arms], axis=0)
    owed = 0.15 * np.arange(1, len(scores) + 1)[:, np.newaxis] - plays
    return float(scores[np.arange(len(scores)), arms].mean()) / best, float(owed.max())


def test_the_promise_is_paid_where_it_costs_least_at_every_scale() -> None:
    wide = world()
    narrow = wide * (0.0145 / 0.73)
    best, shares = best_with_promise(wide, 0.15), [0.15] * 5
    found = {
        (name, scale): part_of_best(fairness, scores, best * scores[0, 0] / wide[0, 0])
        for scale, scores in (("wide", wide), ("narrow", narrow))
        for name, fairness in (
            ("at once", DeficitFirst(shares)),
            ("20", VirtualQueue(shares, 20.0)),
            ("auto", VirtualQueue(shares, "auto")),
        )
    }
    parts = {key: round(100.0 * part, 1) for key, (part, _) in found.items()}
    assert parts == {
        ("at once", "wide"): 92.2,
        ("20", "wide"): 99.6,
        ("auto", "wide"): 99.7,
        ("at once", "narrow"): 92.2,
        ("20", "narrow"): 95.0,
        ("auto", "narrow"): 99.7,
    }
    assert found["auto", "wide"][1] == found["auto", "narrow"][1] < 10.0


@pytest.mark.parametrize("index", [BetaSample(), UCB(), EmpiricalMean()], ids=["draws", "bounds", "means"])
@pytest.mark.parametrize("queue", ["exact", "recursive"])
def test_no_arm_is_owed_more_than_is_allowed_also_when_scores_change(index: Index, queue: str) -> None:
    policy, rng = Policy(index, VirtualQueue([0.15] * 4, "auto", queue=queue)), np.random.default_rng(3)
    state, worst = policy.start(4, 5), []
    for round in range(1, 1201):
        means = np.array([0.01, 0.012, 0.015, 0.02] if round <= 400 else [0.9, 0.5, 0.3, 0.1])
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, decision.played * (rng.random((5, 4)) < means)), rng)
        allowed = policy.allowance(4, round, state)
        assert allowed is not None
        worst.append(float((0.15 * round - state.tally.pulls).max()) / allowed)
    assert 0.0 < max(worst) < 1.0
    # The exact one: K (1 + η · the largest difference).
    spread: Spread = state.fairness
    widest = 20.0 * (spread.rounds / spread.total * spread.largest).max()
    assert policy.allowance(4, 1200, state) == pytest.approx(4.0 * (1.0 + widest))
    assert policy.allowance(4, 1200) == 4.0 * 21.0


def test_the_judge_of_a_run_knows_what_was_allowed_in_it() -> None:
    shares, environment = [0.15] * 3, Environment(Bernoulli([0.02, 0.01, 0.005]))
    policies = {"auto": tscsf_b(shares, eta="auto"), "20": tscsf_b(shares, eta=20.0)}
    results = compare(policies, environment, horizon=600, lanes=4, checkpoints=3, progress=False)
    rounds, allowed = np.array(results.information["promises"]["auto"]["allowed"]).T
    assert rounds.tolist() == [200.0, 400.0, 600.0]
    assert (allowed >= 3.0 * 21.0).all()
    assert results.verdicts["auto"].missed == ()
    assert results.information["promises"]["20"]["allowed"][0][0] == 600
    assert set(results.curves().columns).isdisjoint({"allowed"})
    assert keeping_of(policies["auto"], 3, 600).parameter == "eta = 'auto'"


def test_a_bandit_knows_what_is_allowed_and_logs_the_scale() -> None:
    bandit = Bandit(["a", "b", "c"], tscsf_b([0.2] * 3, eta="auto"), seed=1)
    for _ in range(40):
        decision = bandit.decide()
        bandit.observe(decision.id, {arm: float(arm == "a") for arm in decision.names})
    record = bandit._record
    assert "fairness" in recorded_slots(record)
    spread: Spread = record.state.fairness
    assert spread.rounds.tolist() == [40.0]
    eta = 20.0 * float(spread.rounds[0] / spread.total[0])
    assert Account(record).keeping.owed_at_most(40) == pytest.approx(3.0 * (1.0 + eta * float(spread.largest[0])))
    with pytest.raises(EvenhandError, match=r"takes eta = 'auto' from the scores of single rounds; give a number"):
        bandit.lease(10)
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    assert [again.decide().names for _ in range(5)] == [bandit.decide().names for _ in range(5)]


@pytest.mark.parametrize("queue", ["exact", "recursive"])
def test_the_scale_is_saved_and_stays_when_arms_are_added_and_promises_begin_anew(queue: str) -> None:
    policy, rng = tscsf_b([0.2], eta="auto", queue=queue), np.random.default_rng(0)
    state = policy.start(3)
    for _ in range(30):
        policy.observe(state, Feedback(policy.decide(state, ALL_AVAILABLE, rng).played, np.zeros(3)), rng)
    before: Spread = state.fairness
    again = restore(policy.start(3), json.loads(json.dumps(dump(state))))
    assert dump(again) == dump(state)
    larger = policy.grow(state, 4)
    assert larger.fairness.total.tolist() == before.total.tolist()
    assert larger.fairness.total is not before.total
    total = before.total.tolist()
    begin(policy, state, np.array([True, False, False]), Accounts.opened((3,)))
    assert state.fairness.total.tolist() == total
    if queue == "recursive":
        assert larger.fairness.queue.plays.shape == (4,)
        assert state.fairness.queue.plays[0] == 0.0


def test_it_runs_in_numpy_and_needs_rewards_of_a_known_range() -> None:
    policy = tscsf_b([0.2], eta="auto")
    assert policy.rules() is None
    assert tscsf_b([0.2], eta=20.0).rules() is not None
    assert policy.bounded


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"eta must be a number, 'auto' or 'auto_sqrt', got 'automatic'"):
        VirtualQueue([0.2], "automatic")
    with pytest.raises(EvenhandError, match="weights must be 1 with eta = 'auto', which takes its scale"):
        VirtualQueue([0.2], "auto", weights=[1.0, 2.0])
    with pytest.raises(EvenhandError, match="eta must be a number, got 'auto'"):
        eta_fucb([0.2], eta="auto")  # type: ignore[arg-type]
