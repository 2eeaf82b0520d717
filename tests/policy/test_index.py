"""The score of each arm: bounds against the formula, draws against the moments of the Beta distribution."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand import EvenhandError, Policy, dump, restore
from evenhand.algorithms import ars_clw, ars_exp3, ars_exp3_doubling, clw, exp3
from evenhand.core.errors import StateError
from evenhand.core.state import ALL_AVAILABLE, Array, Decision, Feedback, Mask, Observation, State, Tally
from evenhand.policy.evidence import Optimistic, Pessimistic, Received
from evenhand.policy.fairness import Mixing
from evenhand.policy.index import (
    FEW,
    UCB,
    BetaSample,
    Committed,
    EmpiricalMean,
    Exploring,
    Index,
    Mean,
    Trials,
)
from evenhand.policy.mixing import Doubling, ForChoices, OnePhase
from evenhand.policy.schedule import Quotas
from evenhand.policy.selection import Categorical, TopM
from evenhand.policy.weights import ExponentialWeights, WindowWeights

LANES = 40_000
SIGMAS = 5.0  # a mean of many draws is off by more with a chance below 1e-6


def state_of(pulls: Any, rewards: Any, round: int, received: Any = None) -> State:
    """A state with these counts; every reward received unless given otherwise."""
    counts = np.asarray(pulls, dtype=float)
    arrived = counts if received is None else np.asarray(received, dtype=float)
    return State(round, Tally(counts, arrived, np.asarray(rewards, dtype=float)))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- UCB and the empirical mean --------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), min_size=1, max_size=6),
    st.integers(0, 10**6),
    st.floats(0, 5),
    st.booleans(),
)
def test_ucb_is_its_formula(arms: list[tuple[int, float]], round: int, c: float, clip: bool) -> None:
    counts, means = zip(*arms, strict=True)
    score = UCB(c, clip).score(state_of(counts, np.multiply(counts, means), round), ALL_AVAILABLE, rng())
    for value, (count, mean) in zip(score, arms, strict=True):
        expected = mean + math.sqrt(c * math.log(round + 1) / count) if count else math.inf
        assert value == pytest.approx(min(expected, 1.0) if clip else expected, rel=1e-12, abs=1e-12)


def test_ucb_goes_by_what_arrived_and_by_the_round_being_decided() -> None:
    # Four pulls, one reward of 1 arrived: 1 + sqrt(2 ln 8 / 1) in round 8, after seven rounds.
    score = UCB().score(state_of([4.0], [1.0], 7, received=[1.0]), ALL_AVAILABLE, rng())
    assert score[0] == pytest.approx(1.0 + math.sqrt(2.0 * math.log(8.0)))


@pytest.mark.parametrize("pulls", [1.0, 2.0, 50.0])
def test_an_arm_of_which_nothing_has_arrived_counts_as_one_reward_of_0(pulls: float) -> None:
    # 0 + sqrt(2 ln 8 / 1) in round 8, however often it was pulled; only an arm never pulled is infinite.
    state = state_of([pulls, 0.0], [0.0, 0.0], 7, received=[0.0, 0.0])
    assert UCB().score(state, ALL_AVAILABLE, rng()).tolist() == [
        pytest.approx(math.sqrt(2.0 * math.log(8.0))),
        math.inf,
    ]
    assert UCB(0.01, clip=True).score(state, ALL_AVAILABLE, rng()).tolist() == [
        pytest.approx(math.sqrt(0.01 * math.log(8.0))),
        1.0,
    ]
    assert UCB(clip=True).score(state, ALL_AVAILABLE, rng()).tolist() == [1.0, 1.0]
    assert UCB(0.0).score(state, ALL_AVAILABLE, rng()).tolist() == [0.0, math.inf]


def test_an_arm_of_which_one_reward_of_0_has_arrived_has_the_same_bound() -> None:
    one, other = (state_of([3.0], [0.0], 7, received=[received]) for received in (0.0, 1.0))
    assert UCB().score(one, ALL_AVAILABLE, rng()).tolist() == UCB().score(other, ALL_AVAILABLE, rng()).tolist()


def test_without_exploration_ucb_is_the_mean_and_untried_arms_still_lead() -> None:
    state = state_of([4.0, 0.0], [3.0, 0.0], 4)
    assert UCB(0.0).score(state, ALL_AVAILABLE, rng()).tolist() == [0.75, math.inf]
    assert EmpiricalMean().score(state, ALL_AVAILABLE, rng()).tolist() == [0.75, 0.0]


def test_an_index_works_lane_by_lane() -> None:
    pulls, rewards = np.array([[3.0, 0.0], [2.0, 5.0]]), np.array([[1.0, 0.0], [2.0, 0.5]])
    for index in (UCB(), UCB(1.5, clip=True), EmpiricalMean()):
        both = index.score(state_of(pulls, rewards, 9), ALL_AVAILABLE, rng())
        for lane in range(2):
            assert (both[lane] == index.score(state_of(pulls[lane], rewards[lane], 9), ALL_AVAILABLE, rng())).all()


def test_worth_leaves_the_tally_as_it_was() -> None:
    state = state_of([2.0, 0.0], [1.0, 0.0], 2)
    for index in (UCB(), UCB(clip=True), EmpiricalMean()):
        index.score(state, ALL_AVAILABLE, rng())
    assert (state.tally.pulls.tolist(), state.tally.rewards.tolist()) == ([2.0, 0.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("exploration", "message"),
    [
        (-0.1, r"^exploration must be a number of at least 0, got -0\.1$"),
        (math.nan, "^exploration must be a number of at least 0, got nan$"),
        (math.inf, "^exploration must be a number of at least 0, got inf$"),
        ("much", "^exploration must be a number, got 'much'$"),
    ],
)
def test_ucb_refuses_bad_exploration(exploration: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        UCB(exploration)


def test_only_thompson_sampling_is_random() -> None:
    assert (UCB().traits.random, EmpiricalMean().traits.random, BetaSample().traits.random) == (False, False, True)


# --- Thompson sampling -----------------------------------------------------------------------------------------------


def draws(successes: float, received: float, seed: int = 0) -> Array:
    """One draw in each of many lanes of an arm with these counts."""
    state = state_of(np.full((LANES, 1), received), np.zeros((LANES, 1)), 10)
    state.index = Trials(np.full((LANES, 1), successes))
    return BetaSample().score(state, ALL_AVAILABLE, rng(seed))[:, 0]


@pytest.mark.parametrize(("successes", "received"), [(0, 0), (3, 3), (0, 7), (2, 9), (40, 50)])
def test_draws_have_the_moments_of_the_posterior(successes: int, received: int) -> None:
    # Beta(a, b): mean a/n, variance a b/(n² (n+1)), excess kurtosis as below, with n = a + b.
    a, b = 1 + successes, 1 + received - successes
    n = a + b
    mean, variance = a / n, a * b / (n**2 * (n + 1))
    excess = 6.0 * ((a - b) ** 2 * (n + 1) - a * b * (n + 2)) / (a * b * (n + 2) * (n + 3))
    drawn = draws(successes, received)
    assert abs(drawn.mean() - mean) < SIGMAS * math.sqrt(variance / LANES)
    # The variance of a sample variance is (fourth central moment − σ⁴)/lanes, which is σ⁴ (excess + 2)/lanes.
    assert abs(drawn.var() - variance) < SIGMAS * variance * math.sqrt((excess + 2.0) / LANES)


def test_draws_follow_the_posterior() -> None:
    # Kolmogorov–Smirnov: the largest gap exceeds 2.5/sqrt(n) with a chance of about 2 exp(−2 · 2.5²) < 1e-5.
    gap = stats.kstest(draws(2, 9), stats.beta(3, 8).cdf).statistic
    assert gap < 2.5 / math.sqrt(LANES)


def test_only_the_awake_are_drawn_and_that_changes_nothing_for_them() -> None:
    # Lanes of three arms: Beta(3, 2), Beta(1, 1) and Beta(1, 5), the second of them asleep in every other lane.
    shape = (LANES, 3)
    state = state_of(np.broadcast_to([3.0, 0.0, 4.0], shape), np.zeros(shape), 9)
    state.index = Trials(np.broadcast_to([2.0, 0.0, 0.0], shape).copy())
    awake = np.ones(shape, dtype=bool)
    assert (
        BetaSample().score(state, Observation(awake), rng(1)) == BetaSample().score(state, ALL_AVAILABLE, rng(1))
    ).all()
    awake[::2, 1] = False
    drawn = BetaSample().score(state, Observation(awake), rng(1))
    assert (drawn[~awake] == 0.0).all()
    for arm, (a, b) in enumerate([(3, 2), (1, 1), (1, 5)]):
        values = drawn[awake[:, arm], arm]
        sd = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
        assert abs(values.mean() - a / (a + b)) < SIGMAS * sd / math.sqrt(len(values))


@pytest.mark.parametrize("arms", [1, 5, FEW, FEW + 1])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 3.0)])
def test_arms_that_are_drawn_one_by_one_have_the_same_draws(arms: int, prior: tuple[float, float]) -> None:
    """Few arms of a single lane are; a lane of several is not."""
    received = rng(2).integers(0, 4, arms).astype(float)
    successes, chance = np.minimum(received, 1.0), [rng(7), rng(7)]
    single = state_of(received, np.zeros(arms), 10)
    lanes = state_of(received[np.newaxis], np.zeros((1, arms)), 10)
    single.index, lanes.index = Trials(successes), Trials(successes[np.newaxis])
    for _ in range(50):
        drawn = BetaSample(prior=prior).score(single, ALL_AVAILABLE, chance[0])
        assert np.array_equal(drawn[np.newaxis], BetaSample(prior=prior).score(lanes, ALL_AVAILABLE, chance[1]))


def observed(rewards: float, received: float, seed: int = 0) -> Array:
    """Successes counted in each of many lanes when these rewards arrive at once."""
    shape = (LANES, 1)
    arrived = Feedback(np.full(shape, received), np.full(shape, rewards))
    return counted(BetaSample(), arrived, seed)[:, 0]


def counted(index: Index, feedback: Feedback, seed: int = 0) -> Array:
    """The successes among what arrived, (…, arms)."""
    state = state_of(np.zeros(feedback.received.shape), np.zeros(feedback.received.shape), 0)
    state.index = index.start(feedback.received.shape)
    index.after_feedback(state, feedback, rng(seed))
    return np.asarray(state.index.successes)


@pytest.mark.parametrize("reward", [0.1, 0.25, 0.5, 0.9])
def test_a_reward_becomes_a_trial_of_the_same_mean(reward: float) -> None:
    successes = observed(reward, 1.0)
    assert set(successes) == {0.0, 1.0}
    assert abs(successes.mean() - reward) < SIGMAS * math.sqrt(reward * (1 - reward) / LANES)


def test_several_rewards_at_once_keep_their_mean() -> None:
    # Three rewards with sum 2.6 count as 2 or 3 successes, 2.6 on average.
    successes = observed(2.6, 3.0)
    assert set(successes) == {2.0, 3.0}
    assert abs(successes.mean() - 2.6) < SIGMAS * math.sqrt(0.6 * 0.4 / LANES)


@pytest.mark.parametrize(("rewards", "received", "counted"), [(1.0, 1.0, 1.0), (0.0, 1.0, 0.0), (3.0, 4.0, 3.0)])
def test_whole_rewards_are_their_own_trials(rewards: float, received: float, counted: float) -> None:
    assert (observed(rewards, received) == counted).all()


@pytest.mark.parametrize(("reward", "counted"), [(1.7, 1.0), (-0.4, 0.0)])
def test_rewards_outside_the_unit_interval_are_cut(reward: float, counted: float) -> None:
    assert (observed(reward, 1.0) == counted).all()


def test_nothing_received_counts_nothing() -> None:
    assert (observed(0.0, 0.0) == 0.0).all()


def test_boolean_rewards_count_like_numbers() -> None:
    played, won = np.array([True, True, False]), np.array([True, False, False])
    successes = counted(BetaSample(), Feedback(played, won))
    same = counted(BetaSample(), Feedback(played, won.astype(float)))
    assert successes.tolist() == same.tolist() == [1.0, 0.0, 0.0]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-2, 7)), min_size=1, max_size=5), st.integers(0, 99))
def test_successes_lie_between_nothing_and_all_received(arrivals: list[tuple[int, float]], seed: int) -> None:
    received, rewards = (np.array(column, dtype=float) for column in zip(*arrivals, strict=True))
    successes = counted(BetaSample(), Feedback(received, rewards), seed)
    cut = np.clip(rewards, 0.0, received)
    assert (successes >= np.floor(cut)).all()
    assert (successes <= np.ceil(cut)).all()


# --- The clock of the bounds -----------------------------------------------------------------------------------------


def test_the_clock_may_count_the_rounds_played() -> None:
    # Seven rounds are over: ln 8 for the round that is being decided, ln 7 for those played.
    state = state_of([4.0, 3.0], [2.0, 0.0], 7)
    assert UCB(3.0).score(state, ALL_AVAILABLE, rng())[0] == pytest.approx(0.5 + math.sqrt(3.0 * math.log(8.0) / 4.0))
    assert UCB(3.0, clock="played").score(state, ALL_AVAILABLE, rng())[0] == pytest.approx(
        0.5 + math.sqrt(3.0 * math.log(7.0) / 4.0)
    )
    # Before the first round as after it there is nothing to take the logarithm of: ln 1 = 0.
    for round in (0, 1):
        assert UCB(3.0, clock="played").score(state_of([2.0], [1.0], round), ALL_AVAILABLE, rng()).tolist() == [0.5]


def test_there_are_two_clocks() -> None:
    with pytest.raises(EvenhandError, match=r"^clock must be"):
        UCB(clock="wall")


# --- Exponential weights ---------------------------------------------------------------------------------------------


def weighed(index: Any, state: State, arm: int, chance: float, sums: list[float]) -> None:
    """A choice of an arm with this chance that lasts for the given sums, in a lane of two arms."""
    played = np.arange(2) == arm
    for place, sum_ in enumerate(sums):
        if place == 0:
            after_decision(index, state, played, np.where(played, chance, 1.0 - chance))
        else:
            after_decision(index, state, played, played, np.array([False]))
        state.round += 1
        index.after_feedback(state, Feedback(played, played * sum_), rng())


def after_decision(index: Index, state: State, played: Mask, inclusion: Any, chosen: Mask | None = None) -> None:
    index.after_decision(state, Decision(state.clock, played, inclusion, None, np.asarray(inclusion), chosen))


def fresh(index: Any) -> State:
    return Policy(index, Mixing(0.5), Categorical()).start(2)


def test_exponential_weights_by_hand() -> None:
    # γ/K = 0.1, g = 4. Arm 0 with chance 1/2 for three rounds that bring 0.5, 0, 1: w_0 = 0.1 · 1.5/0.5 = 0.3.
    index = ExponentialWeights(0.2, scale=4.0)
    state = fresh(index)
    weighed(index, state, 0, 0.5, [0.5, 0.0, 1.0])
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([1.0, math.exp(-0.3 / 4.0)])
    # Arm 1 with chance 1/4 for two rounds that bring 1.5 and 2: cut to 2, w_1 = 0.1 · 2/0.25 = 0.8.
    weighed(index, state, 1, 0.25, [1.5, 2.0])
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([math.exp((0.3 - 0.8) / 4.0), 1.0])
    # The cut is by the choice, not by the round: 2 and 0 in two rounds are 2.
    weighed(index, state, 0, 1.0, [2.0, 0.0])
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([math.exp((0.5 - 0.8) / 4.0), 1.0])


def test_a_choice_counts_when_it_is_over_and_meanwhile_as_far_as_it_has_come() -> None:
    index = ExponentialWeights(0.2)
    state = fresh(index)
    weighed(index, state, 0, 0.5, [1.0])
    assert state.index.logs.tolist() == [0.0, 0.0]
    weighed(index, state, 1, 0.5, [1.0])
    assert state.index.logs == pytest.approx([0.2, 0.0])


def test_lanes_that_hold_settle_nothing() -> None:
    index = ExponentialWeights(0.2)
    state = Policy(index, Mixing(0.5), Categorical()).start(2, lanes=2)
    played = np.array([[True, False], [False, True]])
    after_decision(index, state, played, np.full((2, 2), 0.5))
    index.after_feedback(state, Feedback(played, played * 1.0), rng())
    after_decision(index, state, ~played, np.full((2, 2), 0.25), np.array([[True], [False]]))
    index.after_feedback(state, Feedback(played, np.array([[0.0, 0.5], [0.0, 0.5]])), rng())
    # The first lane: 0.1 · 1/0.5 for arm 0, then 0.1 · 0.5/0.25 for arm 1 under way. The second: min(1.5, 2) for arm 1.
    assert state.index.logs == pytest.approx(np.array([[0.2, 0.0], [0.0, 0.0]]))
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx(np.array([[1.0, 1.0], [math.exp(-0.3), 1.0]]))


def test_the_weights_stay_finite_for_ten_million_rounds_of_reward_1() -> None:
    # EXP3: w grows by γ/(K p) each round with p near 1, so ln w comes to γ T/K = 1244 for γ of the horizon: exp of that
    # is infinite. A single choice of all rounds earns as much as they do one by one.
    horizon, arms = 10**7, 2
    gamma = ForChoices(horizon).mixing(1, arms)
    index = ExponentialWeights(ForChoices(horizon))
    state = Policy(index, Mixing(gamma), Categorical()).start(arms)
    state.round = horizon
    chance, played = 1.0 - gamma / arms, np.array([True, False])
    after_decision(index, state, played, np.array([chance, 1.0 - chance]))
    state.index.earned[:] = state.index.rounds[:] = horizon
    after_decision(index, state, played, np.array([chance, 1.0 - chance]))
    log = gamma / arms * horizon / chance
    assert log > 1000.0
    assert state.index.logs == pytest.approx([log, 0.0])
    score = index.score(state, ALL_AVAILABLE, rng())
    assert score.tolist() == [1.0, 0.0]  # e^−1420 is no number
    assert Mixing(gamma).claim(score, state).score == pytest.approx([chance, gamma / arms])


@pytest.mark.parametrize("best", [0, 1])
def test_ars_exp3_stays_finite_with_weights_of_ten_million_rounds(best: int) -> None:
    # Rewards all 1: after T rounds w is at most γ T/(N p) with p ≥ γ/N, that is T; and it goes on from there.
    policy = ars_exp3(horizon=10**7)
    state, chance = policy.start(2, lanes=3), rng(1)
    state.index.logs[:, best] = 1e7
    plays = np.zeros(2)
    for _ in range(400):
        decision = policy.decide(state, ALL_AVAILABLE, chance)
        assert np.isfinite(decision.inclusion).all()
        assert decision.inclusion.sum(axis=-1) == pytest.approx(1.0)
        policy.observe(state, Feedback(decision.played, decision.played * 1.0), chance)
        plays += decision.played.sum(axis=0)
    assert np.isfinite(policy.index.score(state, ALL_AVAILABLE, chance)).all()
    assert np.isfinite(state.index.logs).all()
    assert plays[best] > 0.9 * plays.sum()


# --- Weights of a window ---------------------------------------------------------------------------------------------


def test_weights_of_a_window_by_hand() -> None:
    # d = 2, γ given by T: X = (the last two sums)/4. Arm 0 with chance 1/2: 1, 1, 0.5, 0.25: X = 0.1875.
    tuning = OnePhase(longest=2, horizon=100)
    gain_rate = math.sqrt(2.0 * 2.0 * 2.0 * math.log(2.0) / 102.0) / 2.0
    # Losses: q = 1/4, n = 100 · 1/4 · (3/4)³ = 10.546875 updates to be expected, η = sqrt(2 ln 2/(2 n)) = 0.256360; the
    # mean losses of the last two rounds are (0.5 + 0.75)/4 and (0.5 + 0.5)/4.
    loss_rate = math.sqrt(math.log(2.0) / 10.546875)
    assert loss_rate == pytest.approx(0.256360, abs=1e-6)
    for style, rate, first, second in (("gain", gain_rate, 0.1875, 0.25), ("loss", loss_rate, -1.25 / 4, -1.0 / 4)):
        index = WindowWeights(tuning, style)
        state = fresh(index)
        weighed(index, state, 0, 0.5, [1.0, 1.0, 0.5, 0.25])
        # Arm 1 with chance 1/4 for five rounds of 0.5: X = 1/4.
        weighed(index, state, 1, 0.25, [0.5] * 5)
        one, other = rate * first / 0.5, rate * second / 0.25
        top = max(one, other)
        assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([math.exp(one - top), math.exp(other - top)])


def test_a_reward_of_1_a_round_is_no_loss() -> None:
    index = WindowWeights(OnePhase(longest=3, horizon=100), "loss")
    state = fresh(index)
    weighed(index, state, 0, 0.5, [1.0] * 3)
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([1.0, 1.0])


def test_sums_that_bunch_count_in_full() -> None:
    # d = 2: rewards of the 2d − 1 last rounds may all arrive in the last two; X = 3/(2d) = 3/4, not 1/2.
    index = WindowWeights(OnePhase(longest=2, horizon=100), "gain")
    rate = OnePhase(longest=2, horizon=100).mixing(1, 2) / 2.0
    state = fresh(index)
    weighed(index, state, 0, 0.5, [0.0, 1.0, 2.0])
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([1.0, math.exp(-rate * 0.75 / 0.5)])


@pytest.mark.parametrize("lanes", [None, 3])
def test_a_window_holds_the_sums_of_the_last_rounds_and_copies_of_it_go_their_own_way(lanes: int | None) -> None:
    # d = 4: after 50 rounds the window has moved through its room a dozen times.
    policy = Policy(WindowWeights(OnePhase(longest=4, horizon=100)), Mixing(0.5), Categorical())
    state, draw = policy.start(2, lanes), rng(1)
    shape = () if lanes is None else (lanes,)
    seen = [np.zeros(shape)] * 4
    for t in range(50):
        copied, window = copy.deepcopy(state), np.array(seen[-4:])
        seen.append(draw.random(shape))
        for each in (state, copied) if t % 2 else (copied, state):
            rewards = np.stack([seen[-1] if each is state else np.full(shape, 9.0), np.zeros(shape)], axis=-1)
            policy.index.after_feedback(each, Feedback(rewards > 0.0, rewards), draw)
        assert (np.moveaxis(state.index.recent, -1, 0) == np.array(seen[-4:])).all()
        assert (np.moveaxis(copied.index.recent, -1, 0)[:3] == window[1:]).all()
        assert (copied.index.recent[..., 3] == 9.0).all()


def test_only_the_lanes_that_choose_anew_are_settled() -> None:
    policy = Policy(WindowWeights(OnePhase(longest=2, horizon=100), "gain"), Mixing(0.5), Categorical())
    state = policy.start(2, lanes=2)
    played, share = np.array([[True, False]] * 2), np.full((2, 2), 0.5)
    after_decision(policy.index, state, played, share)
    state.round += 1
    policy.index.after_feedback(state, Feedback(played, np.array([[1.0, 0.0], [0.5, 0.0]])), rng())
    after_decision(policy.index, state, ~played, share, np.array([[False], [True]]))
    # X = 0.5/4 in the second lane, which chose anew, with p = 1/2.
    rate = OnePhase(longest=2, horizon=100).mixing(2, 2) / 2.0
    assert state.index.logs.tolist() == [[0.0, 0.0], [pytest.approx(rate * 0.125 / 0.5, rel=1e-14), 0.0]]
    assert state.index.arms.tolist() == [[True, False], [False, True]]


def test_all_is_forgotten_where_a_phase_begins() -> None:
    index = WindowWeights(Doubling(first_horizon=8), "gain")
    state = fresh(index)
    weighed(index, state, 0, 0.5, [1.0] * 7)
    assert index.score(state, ALL_AVAILABLE, rng())[1] < 1.0
    weighed(index, state, 0, 0.5, [1.0])
    assert index.score(state, ALL_AVAILABLE, rng()).tolist() == [1.0, 1.0]


def test_the_weights_of_a_window_stay_finite() -> None:
    tuning = OnePhase(longest=10, horizon=10**7)
    index = WindowWeights(tuning, "gain")
    state = fresh(index)
    state.round = 5
    state.index.logs[:] = [1e7, -1e7]
    score = index.score(state, ALL_AVAILABLE, rng())
    assert score.tolist() == [1.0, 0.0]


# --- What they remember ----------------------------------------------------------------------------------------------

WEIGHTS: dict[str, Policy] = {
    "exp3": exp3(horizon=60),
    "ars_exp3": ars_exp3(horizon=60),
    "clw": clw(horizon=60, delay=2),
    "ars_clw": ars_clw(first_horizon=16),
    "ars_exp3_doubling": ars_exp3_doubling(first_horizon=16),
}


@pytest.mark.parametrize("lanes", [None, 3])
@pytest.mark.parametrize("policy", WEIGHTS.values(), ids=list(WEIGHTS))
def test_weights_come_back_from_a_file(policy: Policy, lanes: int | None) -> None:
    state, chance, world = policy.start(3, lanes), rng(1), rng(2)
    for _ in range(23):
        decision = policy.decide(state, ALL_AVAILABLE, chance)
        policy.observe(state, Feedback(decision.played, decision.played * world.random(decision.played.shape)), chance)
    again = restore(policy.start(3, lanes), json.loads(json.dumps(dump(state), allow_nan=False)))
    one, other = rng(5), rng(5)
    for _ in range(37):
        first, second = policy.decide(state, ALL_AVAILABLE, one), policy.decide(again, ALL_AVAILABLE, other)
        assert (first.played == second.played).all()
        assert (first.inclusion == second.inclusion).all()
        rewards = first.played * world.random(first.played.shape)
        policy.observe(state, Feedback(first.played, rewards), one)
        policy.observe(again, Feedback(second.played, rewards), other)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ExponentialWeights(1.5), r"^mixing must be a number in \[0, 1\], got 1\.5$"),
        (lambda: ExponentialWeights(-0.1), r"^mixing must be a number in \[0, 1\], got -0\.1$"),
        (lambda: ExponentialWeights(0.1, scale=0.0), "^scale must be above 0, got 0$"),
        (lambda: ExponentialWeights(0.1, scale=-1.0), "^scale must be"),
        (lambda: ExponentialWeights("much"), "^mixing: unknown kind 'much'; known: constant, for_choices"),  # type: ignore[arg-type]
        (lambda: WindowWeights(OnePhase(1, 9), style="pain"), "^style must be"),
    ],
)
def test_bad_weights_are_refused(build: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build()


# --- The mean of two -------------------------------------------------------------------------------------------------

BOTH = Mean(BetaSample(Optimistic()), BetaSample(Pessimistic()))


def test_a_mean_is_half_the_sum_of_draws_one_after_the_other() -> None:
    # Five pulls, three rewards received, two of them won.
    state = state_of([5.0, 0.0], [2.0, 0.0], 9, received=[3.0, 0.0])
    state.index = Trials(np.array([2.0, 0.0]))
    stream = rng(4)
    first, second = stream.beta([5.0, 1.0], [2.0, 1.0]), stream.beta([3.0, 1.0], [4.0, 1.0])
    assert (BOTH.score(state, ALL_AVAILABLE, rng(4)) == (first + second) / 2.0).all()


def test_a_mean_has_the_moments_of_two_independent_draws() -> None:
    # The mean of Beta(5, 2) and Beta(3, 4): (5/7 + 3/7)/2, and a quarter of the sum of variances 10/392 and 12/392.
    state = state_of(np.full((LANES, 1), 5.0), np.zeros((LANES, 1)), 9, received=np.full((LANES, 1), 3.0))
    state.index = Trials(np.full((LANES, 1), 2.0))
    drawn = BOTH.score(state, ALL_AVAILABLE, rng(1))[:, 0]
    variance = (10.0 / 392.0 + 12.0 / 392.0) / 4.0
    assert abs(drawn.mean() - 4.0 / 7.0) < SIGMAS * math.sqrt(variance / LANES)
    # The fourth moment of a number in an interval of length 1 is at most its variance.
    assert abs(drawn.var() - variance) < SIGMAS * math.sqrt(variance / LANES)


def test_a_mean_of_bounds() -> None:
    state = state_of([5.0], [2.0], 9, received=[3.0])
    optimistic, pessimistic, received = UCB(evidence=Optimistic()), UCB(evidence=Pessimistic()), UCB()
    assert not Mean(optimistic, pessimistic).traits.random
    halves = (optimistic.score(state, ALL_AVAILABLE, rng()) + pessimistic.score(state, ALL_AVAILABLE, rng())) / 2.0
    assert (Mean(optimistic, pessimistic).score(state, ALL_AVAILABLE, rng()) == halves).all()
    assert (
        Mean(received, received).score(state, ALL_AVAILABLE, rng()) == received.score(state, ALL_AVAILABLE, rng())
    ).all()


@pytest.mark.parametrize("received", [1.0, 3.0])
def test_both_of_a_mean_see_the_same_trial(received: float) -> None:
    # A reward of 0.6 a piece: one Bernoulli trial for the two, so they never disagree on the number of successes.
    shape = (LANES, 1)
    state = Policy(BOTH).start(1, LANES)
    assert isinstance(state.index, Trials)
    arrived = Feedback(np.full(shape, received), np.full(shape, 0.6 * received))
    BOTH.after_feedback(state, arrived, rng(2))
    assert (state.index.successes == counted(BetaSample(), arrived, 2)).all()
    whole = math.floor(0.6 * received + 1e-9)
    assert set(state.index.successes[:, 0]) == {float(whole), whole + 1.0}
    rest = 0.6 * received - whole
    frequency = (state.index.successes[:, 0] - whole).mean()
    assert abs(frequency - rest) < SIGMAS * math.sqrt(rest * (1.0 - rest) / LANES)


def test_a_mean_is_of_one_kind() -> None:
    with pytest.raises(EvenhandError, match=r"^first and second must be indexes of one type, got UCB and BetaSample$"):
        Mean(UCB(), BetaSample())
    assert BOTH.traits.random


# --- Exploring -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.13, 0.5, 1.0])
@pytest.mark.parametrize("index", [EmpiricalMean(), BetaSample(), UCB(evidence=Optimistic())])
def test_so_many_lanes_explore_and_the_others_go_by_the_index(index: Index, epsilon: float) -> None:
    # The number of lanes that explore is binomial, with variance n ε (1 − ε).
    shape = (LANES, 3)
    state = state_of(np.full(shape, 4.0), np.broadcast_to([1.0, 2.0, 3.0], shape), 9, received=np.full(shape, 3.0))
    state.index = Trials(np.broadcast_to([1.0, 2.0, 3.0], shape).copy())
    score, plain = (
        Exploring(index, epsilon).score(state, ALL_AVAILABLE, rng(3)),
        index.score(state, ALL_AVAILABLE, rng(3)),
    )
    alike = (score == 0.0).all(axis=-1)
    assert (score[~alike] == plain[~alike]).all()
    assert float(plain.min()) > 0.0
    assert abs(alike.mean() - epsilon) <= SIGMAS * math.sqrt(epsilon * (1.0 - epsilon) / LANES)


def test_exploring_differs_from_round_to_round() -> None:
    state, stream = state_of([4.0, 4.0], [2.0, 1.0], 9), rng(0)
    index = Exploring(EmpiricalMean(), 0.5)
    seen = [bool(index.score(state, ALL_AVAILABLE, stream).any()) for _ in range(64)]
    assert abs(sum(seen) - 32) < SIGMAS * math.sqrt(64 * 0.25)


def test_exploring_is_random_and_remembers_what_its_index_does() -> None:
    index = Exploring(BetaSample(), 0.5)
    assert index.traits.random
    assert Exploring(EmpiricalMean(), 0.0).traits.random
    assert isinstance(index.start((2,)), Trials)
    assert counted(index, Feedback(np.array([1, 1]), np.array([1.0, 0.0]))).tolist() == [1.0, 0.0]
    assert Exploring(EmpiricalMean(), 0.5).start((2,)) is None


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, math.nan, "often"])
def test_how_often_to_explore_is_a_probability(epsilon: Any) -> None:
    with pytest.raises(EvenhandError, match=r"^epsilon must be a number"):
        Exploring(UCB(), epsilon)


# --- Beliefs about what is missing ------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 50), st.integers(0, 50), st.floats(0, 1), st.integers(0, 10**4))
def test_bounds_are_ordered_as_the_beliefs(pulls: int, received: int, mean: float, round: int) -> None:
    # With all N of them counted the radius is the same; the optimistic bound is the larger by (N − M)/N.
    received = min(received, pulls)
    state = state_of([float(pulls)], [received * mean], round, received=[float(received)])
    low, high = (UCB(evidence=belief).score(state, ALL_AVAILABLE, rng())[0] for belief in (Pessimistic(), Optimistic()))
    assert high - low == pytest.approx((pulls - received) / pulls, abs=1e-9)
    plain = UCB(evidence=Received()).score(state, ALL_AVAILABLE, rng())[0]
    assert low <= plain + 1e-9


# --- A memory that grows ---------------------------------------------------------------------------------------------


def through_json(policy: Policy, state: State, lanes: int | None) -> State:
    plain = json.loads(json.dumps(dump(state), allow_nan=False))
    return restore(policy.start(2, lanes), plain)


@pytest.mark.parametrize("lanes", [pytest.param(None, marks=pytest.mark.slow), 2])
def test_a_window_grows_with_the_phases_and_comes_back_from_a_file_in_each(lanes: int | None) -> None:
    # T_k = 8, 16, …, 4096 and d_k = ⌊sqrt T_k⌋ = 2, 4, 5, 8, …, 64: ten phases, with nothing said of a horizon.
    policy = ars_clw(first_horizon=8, exponent=0.5)
    state, again = policy.start(2, lanes), policy.start(2, lanes)
    one, other, world = rng(3), rng(3), rng(4)
    widths = []
    for t in range(1, 4001):
        first, second = policy.decide(state, ALL_AVAILABLE, one), policy.decide(again, ALL_AVAILABLE, other)
        assert (first.played == second.played).all()
        assert (first.inclusion == second.inclusion).all()
        feedback = Feedback(first.played, first.played * world.random(first.played.shape))
        policy.observe(state, feedback, one)
        policy.observe(again, feedback, other)
        widths.append(state.index.recent.shape[-1])
        if t & (t - 1) == 0 or (t - 1) & (t - 2) == 0 or t % 500 == 0:  # about where phases begin, and between
            again = through_json(policy, again, lanes)
            assert dump(again) == dump(state)
    delays = [math.isqrt(8 * 2**k) for k in range(11)]
    # Always room for the phase after the present one.
    ends = (1, 8, 9, 16, 17, 2048, 2049, 4000)
    assert [widths[t - 1] for t in ends] == [delays[k] for k in (1, 1, 2, 2, 3, 9, 10, 10)]
    assert (np.diff(widths) >= 0).all()


def test_the_weights_of_a_grown_window_are_those_of_the_last_rounds() -> None:
    # d = 2 until round 8, 4 until 16, 5 until 32: the window of the second phase has room for 5 and counts the last 4.
    index = WindowWeights(Doubling(first_horizon=8, exponent=0.5), "gain")
    state = fresh(index)
    for _ in range(8):
        weighed(index, state, 1, 0.5, [9.0])
    weighed(index, state, 0, 0.5, [8.0, 1.0, 1.0, 0.5, 0.25])
    rate = math.sqrt(2.0 * 4.0 * 2.0 * math.log(2.0) / 20.0) / 2.0
    assert state.index.recent.tolist() == [8.0, 1.0, 1.0, 0.5, 0.25]
    assert index.score(state, ALL_AVAILABLE, rng()) == pytest.approx([1.0, math.exp(-rate * 2.75 / 8.0 / 0.5)])


def test_what_does_not_grow_must_have_its_shape_and_what_grows_must_not_shrink() -> None:
    policy = ars_clw(first_horizon=8, exponent=0.5)
    for name, values in (("recent", [0.0]), ("logs", [0.0, 0.0, 0.0]), ("recent", [[0.0] * 9, [0.0] * 9])):
        plain = dump(policy.start(2))
        plain["index"][name]["values"] = values
        with pytest.raises(StateError, match=r"^a saved array has shape \(.*\), but this policy needs \(.\,\)$"):
            restore(policy.start(2), plain)


# --- A commitment ----------------------------------------------------------------------------------------------------


def test_a_commitment_is_to_the_scores_of_the_first_round_after_the_quotas() -> None:
    index = Committed(EmpiricalMean(), [1, 2])
    policy = Policy(index, schedule=Quotas([1, 2]))
    state, stream = policy.start(2), rng()
    for rewards in ([0.25, 0.0], [0.0, 0.5], [0.0, 1.0]):
        decision = policy.decide(state, ALL_AVAILABLE, stream)
        assert not state.index.made.any()
        policy.observe(state, Feedback(decision.played, decision.played * rewards), stream)
    assert policy.decide(state, ALL_AVAILABLE, stream).played.tolist() == [False, True]
    assert state.index.made.tolist() == [True]
    policy.observe(state, Feedback(np.array([1, 1]), np.array([1.0, 0.0])), stream)
    assert index.score(state, ALL_AVAILABLE, stream).tolist() == state.index.score.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("inner", [BetaSample(), Exploring(EmpiricalMean(), 0.1), ExponentialWeights(0.1)])
def test_a_commitment_depends_on_the_tally_alone(inner: Index) -> None:
    with pytest.raises(EvenhandError, match=r"^index must depend on the tally alone, such as EmpiricalMean\(\), got "):
        Committed(inner, 2)


def test_a_commitment_needs_a_quota_per_arm() -> None:
    with pytest.raises(EvenhandError, match=r"^quotas has 2 entries, but there are 3 arms$"):
        Policy(Committed(EmpiricalMean(), [1, 2])).start(3)


# --- What an index says of itself ------------------------------------------------------------------------------------


def test_which_indexes_need_rewards_of_a_finite_range() -> None:
    assert not any(Policy(one).bounded for one in (UCB(), EmpiricalMean(), Committed(EmpiricalMean(), 1)))
    assert all(Policy(one).bounded for one in (BetaSample(), UCB(evidence="optimistic"), EmpiricalMean("pessimistic")))
    assert Policy(Mean(UCB(), UCB(evidence="pessimistic"))).bounded
    assert Policy(Exploring(EmpiricalMean("optimistic"), 0.1)).bounded
    assert Policy(Committed(EmpiricalMean("optimistic"), 1)).bounded
    assert not Policy(Exploring(EmpiricalMean(), 0.1)).bounded


def test_what_the_scores_are() -> None:
    assert {one.traits.gives for one in (UCB(), BetaSample(), BOTH, Exploring(UCB(), 0.1))} == {""}  # means
    weights = ExponentialWeights(0.1)
    assert {one.traits.gives for one in (weights, Exploring(weights, 0.1), Mean(weights, weights))} == {"weights"}


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no kind of evidence": (lambda: UCB(evidence="hopeful"), r"^evidence: unknown kind 'hopeful'; known: .*received"),
    "no evidence": (
        lambda: UCB(evidence=3),  # type: ignore[arg-type]
        r"^evidence must be an object such as Received\(\) or 'received', got 3$",
    ),
    "no truth": (lambda: UCB(clip=1), r"^clip must be true or false, got 1$"),  # type: ignore[arg-type]
    "two faults": (
        lambda: UCB(-1.0, clip="no"),  # type: ignore[arg-type]
        "^exploration must be .*, got -1.0\nclip must be true or false, got 'no'$",
    ),
    "no index": (lambda: Exploring(3, 0.1), r"^index must be an object such as UCB\(\), got 3$"),  # type: ignore[arg-type]
    "no kind of index": (lambda: Exploring("ucbb", 0.1), r"^index: unknown kind 'ucbb'; did you mean 'ucb'\?$"),
    "no phases": (
        lambda: WindowWeights(0.1),  # type: ignore[arg-type]
        r"^phases must be an object such as OnePhase\(longest=10, horizon=1000\), got 0\.1$",
    ),
    "a fault deep inside": (
        lambda: Exploring({"kind": "exploring", "index": 3, "epsilon": 2.0}, 0.1),
        r"^index\.index must be an object such as UCB\(\), got 3\nindex\.epsilon must be a number in .*, got 2\.0$",
    ),
}


@pytest.mark.parametrize(("build", "message"), BAD.values(), ids=list(BAD))
def test_bad_arguments_of_an_index_are_named(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build()


@pytest.mark.parametrize("index", [UCB(), BetaSample(), BetaSample("optimistic", (2.0, 5.0))])
def test_rewards_counted_by_arm_are_those_of_a_feedback(index: Index) -> None:
    policy, places, world = Policy(index, selection=TopM(3)), [4, 0, 2], np.random.default_rng(3)
    assert policy.rounds.after_reward is not None
    one, other = policy.start(5), policy.start(5)
    for seed in range(200):
        rewards = world.choice([0.0, 1.0, 0.3, 0.9], 3)
        received, sums = np.zeros((2, 5))
        received[places], sums[places] = 1.0, rewards
        policy.observe(one, Feedback(received, sums), np.random.default_rng(seed))
        policy.rounds.count(other, places, rewards.tolist(), np.random.default_rng(seed))
    assert dump(one) == dump(other)


def test_an_index_that_learns_otherwise_is_shown_all_arms() -> None:
    class Halved(BetaSample):
        def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
            state.index.successes += feedback.rewards / 2.0

    assert Policy(Halved()).rounds.after_reward is None
