"""Evidence that forgets, against plain loops over all that has happened."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import EvenhandError, Feedback, Policy
from evenhand.algorithms import d_ts, d_ucb, discount_for, fair_glr, fucb, glr_klucb, sw_ucb, window_for
from evenhand.core.state import ALL_AVAILABLE, State, Tally
from evenhand.policy.confidence import ConfidenceIntervals
from evenhand.policy.fairness import DeficitFirst
from evenhand.policy.forgetting import Forgetting
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean, Mean
from evenhand.policy.kl import kl_upper_bound
from evenhand.policy.schedule import Elimination, PeriodicExploration
from evenhand.policy.since_change import SinceLastChange, glr, threshold

ARMS, ROUNDS = 3, 60
History = list[tuple[int, float]]  # arm and reward of each round


def played(policy: Policy, rounds: int = ROUNDS) -> tuple[State, History]:
    """A policy that has been paid at once."""
    state, rng, world = policy.start(ARMS), np.random.default_rng(1), np.random.default_rng(2)
    history: History = []
    for _ in range(rounds):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        rewards = world.random(ARMS) * decision.played
        policy.observe(state, Feedback(decision.played, rewards), rng)
        arm = int(decision.played.argmax())
        history.append((arm, float(rewards[arm])))
    return state, history


def weighed(history: History, weights: list[float], arm: int) -> tuple[float, float]:
    """Weighted sum and number of an arm's rewards."""
    of_arm = [(weight, reward) for weight, (one, reward) in zip(weights, history, strict=True) if one == arm]
    return sum(weight * reward for weight, reward in of_arm), sum(weight for weight, _ in of_arm)


def test_d_ucb_is_the_papers_sum_over_all_rounds() -> None:
    policy = d_ucb(discount=0.9)
    state, history = played(policy)
    weights = [0.9 ** (ROUNDS - round) for round in range(1, ROUNDS + 1)]
    found = [weighed(history, weights, arm) for arm in range(ARMS)]
    total = sum(number for _, number in found)
    expected = [sums / number + 2.0 * math.sqrt(0.6 * math.log(total) / number) for sums, number in found]
    score = policy.index.score(state, ALL_AVAILABLE, np.random.default_rng(0))
    np.testing.assert_allclose(score, expected, rtol=1e-12)


def test_sw_ucb_is_the_papers_sum_over_the_window() -> None:
    policy = sw_ucb(window=20)
    state, history = played(policy)
    weights = [float(round > ROUNDS - 20) for round in range(1, ROUNDS + 1)]
    score = policy.index.score(state, ALL_AVAILABLE, np.random.default_rng(0))
    for arm in range(ARMS):
        sums, number = weighed(history, weights, arm)
        expected = sums / number + math.sqrt(0.6 * math.log(20) / number) if number else math.inf
        assert score[arm] == pytest.approx(expected, rel=1e-12)


def test_an_arm_that_left_the_window_goes_first() -> None:
    policy = Policy(EmpiricalMean(Forgetting(window=5)), DeficitFirst([0.0, 0.0]))
    state, rng = policy.start(2), np.random.default_rng(0)
    index = UCB(evidence=Forgetting(window=5), clock="evidence")
    for _ in range(7):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, decision.played * 0.5), rng)
    assert index.score(state, ALL_AVAILABLE, rng).tolist()[1] == math.inf
    assert state.evidence.pulls.tolist() == [5.0, 0.0]


def test_discounted_thompson_sampling_draws_from_the_discounted_counts() -> None:
    policy = d_ts(discount=0.8)
    state, history = played(policy)
    weights = [0.8 ** (ROUNDS - round) for round in range(1, ROUNDS + 1)]
    found = np.array([weighed(history, weights, arm) for arm in range(ARMS)])
    drawn = policy.index.score(state, ALL_AVAILABLE, np.random.default_rng(5))
    expected = np.random.default_rng(5).beta(1.0 + found[:, 0], 1.0 + found[:, 1] - found[:, 0])
    np.testing.assert_allclose(drawn, expected, rtol=1e-9)


@pytest.mark.parametrize("memory", [{"discount": 0.5}, {"window": 3}])
def test_missing_rewards_are_filled_in_up_to_the_plays_that_are_remembered(memory: dict[str, float]) -> None:
    evidence = Forgetting("optimistic", **memory)  # type: ignore[arg-type]
    policy = Policy(EmpiricalMean(evidence))
    state, rng = policy.start(1), np.random.default_rng(0)
    for _ in range(2):  # nothing comes back
        policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(np.zeros(1), np.zeros(1)), rng)
    assert policy.index.score(state, ALL_AVAILABLE, rng).tolist() == [1.0]
    policy.observe(state, Feedback(np.ones(1), np.zeros(1)), rng)  # one of the two, a 0
    sums, counts = evidence.of(evidence.tally(state))
    assert (sums[0], counts[0]) == (1.0, 2.0)
    for _ in range(30):  # the other one never comes, and is forgotten, as far as plays are
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, np.zeros(1)), rng)
    tally = evidence.tally(state)
    assert tally.received[0] <= tally.pulls[0] <= tally.received[0] + 1.0


def test_what_is_owed_never_fades() -> None:
    policy = fucb([0.3, 0.2, 0.1], evidence=Forgetting(window=2))
    state, _ = played(policy, 500)
    assert (state.tally.pulls >= 500 * np.array([0.3, 0.2, 0.1]) - 1).all()
    assert state.tally.pulls.sum() == 500


def test_sums_of_a_window_that_is_empty_are_exactly_zero() -> None:
    policy = Policy(EmpiricalMean(Forgetting(window=3)), DeficitFirst([0.05, 0.0, 0.0]))
    state, rng, world = policy.start(ARMS), np.random.default_rng(1), np.random.default_rng(2)
    for _ in range(400):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, world.random(ARMS) * decision.played), rng)
        memory = state.evidence
        assert (memory.rewards[memory.received == 0.0] == 0.0).all()
        np.testing.assert_allclose(memory.rewards, memory.earned.sum(axis=-2), atol=1e-12)


def test_what_counts_is_what_is_not_forgotten() -> None:
    policy = sw_ucb(window=20)
    state, history = played(policy)
    weights = [float(round > ROUNDS - 20) for round in range(1, ROUNDS + 1)]
    counted = [weighed(history, weights, arm)[1] for arm in range(ARMS)]
    assert counted != state.tally.received.tolist()
    evidence = getattr(policy.index, "evidence")  # noqa: B009
    assert evidence.counted(state).tolist() == counted


def test_the_recommended_settings_are_the_papers() -> None:
    assert discount_for(10_000, 4) == 1.0 - math.sqrt(4 / 10_000) / 4
    assert window_for(10_000, 4) == math.ceil(2 * math.sqrt(10_000 * math.log(10_000) / 4))


def test_kl_bound_is_that_of_bisection() -> None:
    rng = np.random.default_rng(3)
    means = np.concatenate([rng.random(2000), [0.0, 0.0, 1.0, 1e-9, 1.0 - 1e-9]])
    budget = np.concatenate(
        [rng.exponential(size=2000) * 10.0 ** rng.uniform(-5, 1.5, 2000), [0.1, 40.0, 1.0, 3.0, 0.2]]
    )
    low, high = means.copy(), np.ones_like(means)
    for _ in range(80):
        middle = (low + high) / 2.0
        with np.errstate(all="ignore"):
            won = np.where(means > 0.0, means * np.log(means / middle), 0.0)
            lost = np.where(means < 1.0, (1.0 - means) * np.log((1.0 - means) / (1.0 - middle)), 0.0)
        inside = won + lost <= budget
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    np.testing.assert_allclose(kl_upper_bound(means, budget), low, rtol=0.0, atol=1e-9)


def full_scan(rewards: np.ndarray, delta: float) -> int | None:
    """The number of rewards after which the test over every s finds a change."""
    for number in range(2, len(rewards) + 1):
        sums = np.cumsum(rewards[:number])
        places = np.arange(1.0, number)
        apart = [
            s * divergence(sums[s - 1] / s, sums[-1] / number)
            + (number - s) * divergence((sums[-1] - sums[s - 1]) / (number - s), sums[-1] / number)
            for s in range(1, number)
        ]
        whole = np.full(number - 1, float(number))
        np.testing.assert_allclose(glr(sums[:-1], places, np.full(number - 1, sums[-1]), whole), apart, atol=1e-9)
        if max(apart) >= threshold(np.array([float(number)]), delta)[0]:
            return number
    return None


def divergence(p: float, q: float) -> float:
    """Bernoulli's kl(p, q)."""
    won = p * math.log(p / q) if p > 0.0 else 0.0
    return won + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


def found_after(rewards: np.ndarray, evidence: SinceLastChange) -> int | None:
    state, rng = State(0, Tally.empty((1,))), np.random.default_rng(0)
    state.evidence = evidence.start((1,))
    for number, reward in enumerate(rewards, start=1):
        evidence.after_feedback(state, Feedback(np.ones(1), np.array([reward])), rng)
        if state.evidence.changes[0]:
            return number
    return None


@pytest.mark.parametrize("seed", range(3))
def test_a_change_is_found_when_the_full_scan_finds_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.concatenate([rng.random(60) < 0.2, rng.random(60) < 0.8]).astype(float)
    expected = full_scan(rewards, 0.01)
    assert expected is not None
    assert found_after(rewards, SinceLastChange(points=200)) == expected  # every moment is remembered
    few = found_after(rewards, SinceLastChange())
    assert few is not None
    assert expected <= few <= expected + 8


def test_after_a_change_the_arm_or_all_arms_begin_anew() -> None:
    for scope in ("arm", "all"):
        policy = glr_klucb(scope=scope, exploration_share=1.0)
        state, rng = policy.start(2), np.random.default_rng(0)
        for round in range(400):
            decision = policy.decide(state, ALL_AVAILABLE, rng)
            rewards = np.array([float(round >= 200), 0.5])  # only the first arm changes
            policy.observe(state, Feedback(decision.played, rewards * decision.played), rng)
        assert state.evidence.changes.tolist() == [1.0, 0.0]
        assert state.evidence.received[0] < 110.0
        assert (state.evidence.received[1] < 110.0) == (scope == "all")
        assert state.tally.pulls.tolist() == [200.0, 200.0]


def test_a_share_that_is_kept_finds_a_change_of_an_arm_that_looked_poor() -> None:
    """By ln(3 n sqrt(n)/δ)/(r kl) rounds and some, with kl > 2 Δ² of the change."""
    policy = fair_glr([0.1, 0.1])
    state, rng, world = policy.start(2, 5), np.random.default_rng(0), np.random.default_rng(1)
    for round in range(2000):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        means = [0.5, 0.1 if round < 1000 else 0.9]
        policy.observe(state, Feedback(decision.played, (world.random((5, 2)) < means) & decision.played), rng)
        if round == 1700:
            assert (state.evidence.changes[:, 1] >= 1.0).all()
    assert (state.tally.pulls > 199.0 - 1e-9).all()
    assert decision.played[:, 1].mean() > 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Forgetting(), "needs a discount or a window"),
        (lambda: Forgetting(discount=0.9, window=5), "needs a discount or a window"),
        (lambda: Forgetting(discount=1.0), "discount must be between 0 and 1, got 1.0"),
        (lambda: Forgetting(SinceLastChange(), window=5), "evidence must depend on the tally alone"),
        (lambda: SinceLastChange(delta=0.0), "delta must be between 0 and 1"),
        (
            lambda: Mean(BetaSample(Forgetting(window=5)), BetaSample("optimistic")),
            "first and second must forget in the same way.*: give both the same discount or window",
        ),
        (lambda: ConfidenceIntervals(9.0, lower=Forgetting(window=5)), "lower and upper must forget in the same way"),
        (
            lambda: Elimination(ConfidenceIntervals(9.0, lower=Forgetting(window=5), upper=Forgetting(window=5))),
            "evidence must depend on the tally alone",
        ),
        (
            lambda: Policy(fairness=DeficitFirst(0.1), schedule=PeriodicExploration(0.1)),
            "use no schedule, because promised shares also explore",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make: object, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()  # type: ignore[operator]


def test_optimists_and_pessimists_that_forget_alike_share_what_they_remember() -> None:
    both = Mean(BetaSample(Forgetting("optimistic", window=5)), BetaSample(Forgetting("pessimistic", window=5)))
    state, _ = played(Policy(both))
    assert state.evidence.pulls.sum() == 5.0
