"""What each arm is worth: bounds against the formula, draws against the moments of the Beta distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand import EvenhandError
from evenhand.index import UCB, BetaSample, EmpiricalMean, Trials
from evenhand.records import Array, Feedback, State, Tally

LANES = 40_000
SIGMAS = 5.0  # a mean of many draws is off by more with a chance below 1e-6


def state_of(pulls: Any, rewards: Any, round: int, received: Any = None) -> State:
    """A state with these counts; every reward received unless told otherwise."""
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
    worth = UCB(c, clip).worth(state_of(counts, np.multiply(counts, means), round), rng())
    for value, (count, mean) in zip(worth, arms, strict=True):
        expected = mean + math.sqrt(c * math.log(round + 1) / count) if count else math.inf
        assert value == pytest.approx(min(expected, 1.0) if clip else expected, rel=1e-12, abs=1e-12)


def test_ucb_goes_by_what_arrived_and_by_the_round_being_decided() -> None:
    # Four pulls, one reward of 1 arrived: 1 + sqrt(2 ln 8 / 1) in round 8, after seven rounds.
    worth = UCB().worth(state_of([4.0], [1.0], 7, received=[1.0]), rng())
    assert worth[0] == pytest.approx(1.0 + math.sqrt(2.0 * math.log(8.0)))


def test_without_exploration_ucb_is_the_mean_and_untried_arms_still_lead() -> None:
    state = state_of([4.0, 0.0], [3.0, 0.0], 4)
    assert UCB(0.0).worth(state, rng()).tolist() == [0.75, math.inf]
    assert EmpiricalMean().worth(state, rng()).tolist() == [0.75, 0.0]


def test_an_index_works_lane_by_lane() -> None:
    pulls, rewards = np.array([[3.0, 0.0], [2.0, 5.0]]), np.array([[1.0, 0.0], [2.0, 0.5]])
    for index in (UCB(), UCB(1.5, clip=True), EmpiricalMean()):
        both = index.worth(state_of(pulls, rewards, 9), rng())
        for lane in range(2):
            assert (both[lane] == index.worth(state_of(pulls[lane], rewards[lane], 9), rng())).all()


def test_worth_leaves_the_tally_as_it_was() -> None:
    state = state_of([2.0, 0.0], [1.0, 0.0], 2)
    for index in (UCB(), UCB(clip=True), EmpiricalMean()):
        index.worth(state, rng())
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
    assert (UCB().random, EmpiricalMean().random, BetaSample().random) == (False, False, True)


# --- Thompson sampling -----------------------------------------------------------------------------------------------


def draws(successes: float, received: float, seed: int = 0) -> Array:
    """One draw in each of many lanes of an arm with these counts."""
    state = state_of(np.full((LANES, 1), received), np.zeros((LANES, 1)), 10)
    state.index = Trials(np.full((LANES, 1), successes))
    return BetaSample().worth(state, rng(seed))[:, 0]


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
    assert (BetaSample().worth(state, rng(1), awake) == BetaSample().worth(state, rng(1))).all()
    awake[::2, 1] = False
    drawn = BetaSample().worth(state, rng(1), awake)
    assert (drawn[~awake] == 0.0).all()
    for arm, (a, b) in enumerate([(3, 2), (1, 1), (1, 5)]):
        values = drawn[awake[:, arm], arm]
        sd = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
        assert abs(values.mean() - a / (a + b)) < SIGMAS * sd / math.sqrt(len(values))


def observed(rewards: float, received: float, seed: int = 0) -> Array:
    """Successes counted in each of many lanes when these rewards arrive at once."""
    memory = Trials(np.zeros((LANES, 1)))
    shape = (LANES, 1)
    BetaSample().observe(memory, Feedback(np.full(shape, received), np.full(shape, rewards)), rng(seed))
    return memory.successes[:, 0]


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
    memory, same = Trials(np.zeros(3)), Trials(np.zeros(3))
    BetaSample().observe(memory, Feedback(played, won), rng())
    BetaSample().observe(same, Feedback(played, won.astype(float)), rng())
    assert memory.successes.tolist() == same.successes.tolist() == [1.0, 0.0, 0.0]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-2, 7)), min_size=1, max_size=5), st.integers(0, 99))
def test_successes_lie_between_nothing_and_all_received(arrivals: list[tuple[int, float]], seed: int) -> None:
    received, rewards = (np.array(column, dtype=float) for column in zip(*arrivals, strict=True))
    memory = BetaSample().start((len(arrivals),))
    BetaSample().observe(memory, Feedback(received, rewards), rng(seed))
    cut = np.clip(rewards, 0.0, received)
    assert (memory.successes >= np.floor(cut)).all()
    assert (memory.successes <= np.ceil(cut)).all()
