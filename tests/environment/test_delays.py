"""Delays: every quantile function against its distribution and against draws, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Environment, EvenhandError, PerLane, compare
from evenhand.algorithms import fair_random, ucb1
from evenhand.core.state import Array
from evenhand.delays import ByReward, Custom, Delay, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.environment.availability import Independent
from evenhand.environment.rewards import Bernoulli, Gaussian

DRAWS = 40_000
SIGMAS = 5.0  # a frequency is off by more with a chance below 1e-6
FOREVER = 2.0**60

# Delay and arm and reward → P(D ≤ d).
Distribution = Callable[[float, int, float], float]
SAMPLES = [[7.0, 0.0, 3.9, 3.1], [math.inf, 5.0, math.inf], [2.0]]


def at_least(d: float, value: float) -> float:
    return float(d >= value)


def geometric(d: float, success: float) -> float:
    return 1.0 - (1.0 - success) ** d if d >= 1.0 else 0.0


def pareto(d: float, tail: float) -> float:
    return 1.0 - (d + 1.0) ** -tail if d >= 1.0 else 0.0


def uniform(d: float, low: float, high: float) -> float:
    return min(max((d - low + 1.0) / (high - low + 1.0), 0.0), 1.0)


def empirical(d: float, arm: int) -> float:
    return sum(math.floor(x) <= d if x < math.inf else False for x in SAMPLES[arm]) / len(SAMPLES[arm])


def slow_losses(level: Array, arm: Any, reward: Any) -> Array:
    """Uniform on 0 … 9 for a loss, on 0 … 2 for anything else; a loss of the last arm takes twice as long."""
    return np.where(reward == 0.0, (10.0 * level) * (1.0 + (arm == 2)), 3.0 * level)


MODELS: dict[str, tuple[Delay, Distribution]] = {
    "fixed": (Fixed(3), lambda d, arm, x: at_least(d, 3)),
    "fixed, by arm": (Fixed([0, 7.9, math.inf]), lambda d, arm, x: at_least(d, (0, 7, math.inf)[arm])),
    "geometric": (Geometric(0.05), lambda d, arm, x: geometric(d, 0.05)),
    "geometric, by arm": (Geometric([0.3, 1.0, 1e-3]), lambda d, arm, x: geometric(d, (0.3, 1.0, 1e-3)[arm])),
    "pareto": (Pareto(1.0), lambda d, arm, x: pareto(d, 1.0)),
    "pareto, by arm": (Pareto([0.25, 3.0, 60.0]), lambda d, arm, x: pareto(d, (0.25, 3.0, 60.0)[arm])),
    "packet loss": (PacketLoss(0.35), lambda d, arm, x: 0.35),
    "packet loss, by arm": (PacketLoss([0.0, 1.0, 0.8]), lambda d, arm, x: (0.0, 1.0, 0.8)[arm]),
    "uniform": (Uniform(10, 19), lambda d, arm, x: uniform(d, 10, 19)),
    "uniform, high by arm": (Uniform(2, [2, 4, 90]), lambda d, arm, x: uniform(d, 2, (2, 4, 90)[arm])),
    "uniform, low by arm": (Uniform([0, 3, 8.5], 8), lambda d, arm, x: uniform(d, (0, 3, 8)[arm], 8)),
    "by reward": (ByReward([[2, 6000]]), lambda d, arm, x: at_least(d, 6000 if x else 2)),
    "by reward, by arm": (
        ByReward([[0, 5], [math.inf, 1], [4, 4]]),
        lambda d, arm, x: at_least(d, ((0, 5), (math.inf, 1), (4, 4))[arm][int(x)]),
    ),
    "empirical": (Empirical(SAMPLES[0]), lambda d, arm, x: empirical(d, 0)),
    "empirical, by arm": (Empirical(SAMPLES), lambda d, arm, x: empirical(d, arm)),
    "custom": (
        Custom(slow_losses),
        lambda d, arm, x: uniform(d, 0, 2) if x else uniform(d, 0, 19) if arm == 2 else uniform(d, 0, 9),
    ),
}
EVERY = pytest.mark.parametrize(("model", "distribution"), MODELS.values(), ids=MODELS)


def quantiles_of(model: Delay, level: Array, arm: int, reward: float) -> Array:
    return model.quantile(level, np.full(len(level), arm), np.full(len(level), reward))


# --- quantile functions -----------------------------------------------------------------------------------------------


@EVERY
@settings(derandomize=True, deadline=None, max_examples=60)
@given(level=st.floats(0.0, 1.0, exclude_max=True), arm=st.integers(0, 2), reward=st.sampled_from([0.0, 1.0]))
def test_the_quantile_is_the_first_delay_that_is_likely_enough(
    model: Delay, distribution: Distribution, level: float, arm: int, reward: float
) -> None:
    # A whole number missed by a rounding error counts as reached: levels are right to 1e-12.
    (found,) = quantiles_of(model, np.array([level]), arm, reward)
    assert found >= 0.0
    assert found == math.inf or found == math.floor(found)
    if found < math.inf:
        assert distribution(found, arm, reward) >= level - 1e-12
    before = FOREVER if found == math.inf else found - 1.0
    assert before < 0.0 or distribution(before, arm, reward) <= level + 1e-12


@EVERY
def test_draws_through_uniform_numbers_follow_the_distribution(model: Delay, distribution: Distribution) -> None:
    # The number of draws within d is binomial, with variance n F (1 − F).
    level = np.random.default_rng(0).random(DRAWS)
    for arm in range(3):
        for reward in (0.0, 1.0):
            drawn = quantiles_of(model, level, arm, reward)
            for d in (0, 1, 2, 3, 5, 8, 14, 30, 500, 5999, 6000, 1e9):
                share = distribution(d, arm, reward)
                assert abs((drawn <= d).mean() - share) <= SIGMAS * math.sqrt(share * (1.0 - share) / DRAWS)


@EVERY
def test_plays_of_all_arms_at_once_are_those_of_each(model: Delay, distribution: Distribution) -> None:
    rng = np.random.default_rng(1)
    level, arm, reward = rng.random(300), rng.integers(0, 3, 300), rng.integers(0, 2, 300).astype(float)
    found = model.quantile(level, arm, reward)
    assert found.shape == (300,)
    for place in range(300):
        (single,) = quantiles_of(model, level[place : place + 1], int(arm[place]), float(reward[place]))
        assert found[place] == single


@EVERY
def test_nobody_plays(model: Delay, distribution: Distribution) -> None:
    nothing = np.zeros(0)
    assert model.quantile(nothing, np.zeros(0, dtype=np.intp), nothing).shape == (0,)


@EVERY
def test_delays_rise_with_chance(model: Delay, distribution: Distribution) -> None:
    level = np.linspace(0.0, 1.0, 1001)[:-1]
    for arm in range(3):
        found = quantiles_of(model, level, arm, 1.0)
        assert (found[1:] >= found[:-1]).all()  # not their difference: inf − inf


@pytest.mark.parametrize(
    ("model", "first", "last"),
    [
        (Fixed(3), 3.0, 3.0),
        (Geometric(0.05), 1.0, math.inf),
        (Geometric(1), 1.0, 1.0),
        (Pareto(0.5), 1.0, math.inf),
        (PacketLoss(0.5), 0.0, math.inf),
        (PacketLoss(0.0), math.inf, math.inf),
        (PacketLoss(1.0), 0.0, 0.0),
        (Uniform(4, 9), 4.0, 9.0),
        (Uniform(4.8, 4.9), 4.0, 4.0),
        (Empirical([5.0, 2.5, 9.9]), 2.0, 9.0),
        (Empirical([5.0, math.inf]), 5.0, math.inf),
    ],
)
def test_the_support_begins_and_ends_where_it_should(model: Delay, first: float, last: float) -> None:
    assert quantiles_of(model, np.array([0.0, 1.0]), 0, 1.0).tolist() == [first, last]


def test_levels_that_are_reached_exactly() -> None:
    # P(D ≤ d) of these levels is d/n, however n and d round.
    for n in range(1, 60):
        level = np.arange(1, n + 1) / n
        assert quantiles_of(Uniform(0, n - 1), level, 0, 0.0).tolist() == list(range(n))
        assert quantiles_of(Empirical(np.arange(n)), level, 0, 0.0).tolist() == list(range(n))
    assert quantiles_of(Geometric(0.5), np.array([0.5, 0.75, 0.875]), 0, 0.0).tolist() == [1.0, 2.0, 3.0]
    assert quantiles_of(Pareto(1.0), np.array([0.5, 0.75, 0.9, 0.99]), 0, 0.0).tolist() == [1.0, 3.0, 9.0, 99.0]
    assert quantiles_of(PacketLoss(0.3), np.array([0.3, 0.3 + 1e-15]), 0, 0.0).tolist() == [0.0, math.inf]


def test_moments() -> None:
    # Geometric: mean 1/p, variance (1 − p)/p². Uniform on n values: variance (n² − 1)/12.
    level = np.random.default_rng(2).random(DRAWS)
    for model, mean, variance in (
        (Geometric(0.2), 5.0, 0.8 / 0.04),
        (Uniform(10, 30), 20.0, (21**2 - 1) / 12),
        (Empirical([1.0, 3.0, 8.0]), 4.0, (9 + 1 + 16) / 3),
    ):
        assert abs(quantiles_of(model, level, 0, 0.0).mean() - mean) < SIGMAS * math.sqrt(variance / DRAWS)


@pytest.mark.parametrize(
    ("model", "random", "biased"),
    [
        (Fixed(1), False, False),
        (Geometric(0.5), True, False),
        (Pareto(0.5), True, False),
        (PacketLoss(0.5), True, False),
        (Uniform(0, 1), True, False),
        (ByReward([[0, 1]]), False, True),
        (Empirical([1]), True, False),
        (Custom(slow_losses), True, True),
    ],
)
def test_what_has_a_part_in_a_delay(model: Delay, random: bool, biased: bool) -> None:
    assert (model.traits.random, model.traits.biased) == (random, biased)
    level = np.linspace(0.05, 0.95, 7)
    for arm in range(3):
        loss, win = (quantiles_of(model, level, arm, reward) for reward in (0.0, 1.0))
        assert (loss == win).all() == (not biased)
        assert random or (loss == loss[0]).all()


# --- rewards and their delays -----------------------------------------------------------------------------------------


def test_any_values_of_a_reward_may_have_delays() -> None:
    model = ByReward([[9, 5, 1], [0, 2, math.inf]], values=[-1.0, 0.25, 1.0])
    rewards = np.array([0.25, -1.0, 1.0, 1.0])
    assert model.quantile(np.zeros(4), np.array([0, 0, 0, 1]), rewards).tolist() == [5.0, 9.0, 1.0, math.inf]


def test_boolean_rewards_have_delays_too() -> None:
    model = ByReward([[9, 5]])
    assert model.quantile(np.zeros(2), np.array([0, 1]), np.array([True, False])).tolist() == [5.0, 9.0]


@pytest.mark.parametrize("reward", [0.5, -0.1, 1.5, math.nan])
def test_a_reward_without_a_delay_is_named(reward: float) -> None:
    with pytest.raises(EvenhandError, match=rf"^a reward of {reward} has no delay; .* for \[0\.0, 1\.0\]$"):
        ByReward([[0, 1]]).quantile(np.zeros(2), np.array([0, 0]), np.array([1.0, reward]))


def test_a_reward_without_a_delay_stops_a_simulation() -> None:
    world = Environment(Gaussian([0.5, 0.5], 1.0), feedback=ByReward([[0, 1]]))
    with pytest.raises(EvenhandError, match="has no delay; delays are given for"):
        compare([ucb1()], world, 5, 2, progress=False)


# --- quantiles of an arm's delay --------------------------------------------------------------------------------------


def test_quantiles_by_arm_and_level() -> None:
    model = Geometric([0.5, 0.05])
    assert model.quantiles(0.5, [0.1, 0.9]).tolist() == [1.0, 14.0]  # ln 0.5/ln 0.95 = 13.5
    assert model.quantiles([0.5, 1.0], [0.1, 0.9]).tolist() == [[1.0, 14.0], [math.inf, math.inf]]
    assert Fixed(2).quantiles([0.1, 0.2, 0.3], [0.5]).shape == (3, 1)
    assert Fixed(2).quantiles(1, [0.5] * 4).tolist() == [2.0] * 4


@EVERY
def test_means_matter_only_where_the_reward_decides(model: Delay, distribution: Distribution) -> None:
    level = [0.1, 0.5, 0.9]
    one, other = model.quantiles(level, [0.2, 0.3, 0.4]), model.quantiles(level, [0.8, 0.9, 1.0])
    assert model.traits.biased or (one == other).all()
    for arm in range(3):
        assert model.traits.biased or (one[:, arm] == quantiles_of(model, np.array(level), arm, 0.0)).all()


def by_brute_force(delays: list[float], chances: list[Fraction], level: Fraction) -> float:
    """The smallest of the delays within which enough of the chances lie."""
    for candidate in sorted(delays):
        if sum(chance for d, chance in zip(delays, chances, strict=True) if d <= candidate) >= level:
            return candidate
    raise AssertionError("the chances do not sum to 1")


TENTHS = [Fraction(k, 10) for k in range(11)]


@pytest.mark.parametrize("pair", [(0, 6000), (6000, 0), (3, math.inf), (math.inf, 2), (4, 4), (math.inf, math.inf)])
def test_quantiles_of_delays_by_reward(pair: tuple[float, float]) -> None:
    # A mean and a level that meet are met: at a mean of 0.9 a tenth of the rewards are 0.
    found = ByReward([pair]).quantiles([float(level) for level in TENTHS[1:]], [float(mean) for mean in TENTHS])
    for row, level in zip(found, TENTHS[1:], strict=True):
        for value, mean in zip(row, TENTHS, strict=True):
            assert value == by_brute_force(list(pair), [1 - mean, mean], level), (mean, level)


@pytest.mark.parametrize("seed", range(8))
def test_quantiles_of_mixtures(seed: int) -> None:
    # Equally likely delays of a loss and others of a win. No sum of their chances meets a level of k/97.
    rng = np.random.default_rng(seed)
    losses, wins = (
        rng.choice([0.0, 1.0, 4.0, 30.0, 6000.0, 1e6, math.inf], size).tolist() for size in rng.integers(1, 6, 2)
    )

    def either(chance: Array, arm: Any, reward: Any) -> Any:
        drawn = [np.sort(row)[(chance * (1 - 1e-12) * len(row)).astype(int)] for row in (losses, wins)]
        return np.where(reward == 0.0, *drawn)

    levels, means = [Fraction(k, 97) for k in range(1, 97, 5)], [Fraction(k, 16) for k in range(17)]
    found = Custom(either).quantiles([float(level) for level in levels], [float(mean) for mean in means])
    for column, win in enumerate(means):
        chances = [(1 - win) / len(losses)] * len(losses) + [win / len(wins)] * len(wins)
        for row, level in enumerate(levels):
            assert found[row, column] == by_brute_force(losses + wins, chances, level)


def test_quantiles_of_a_biased_model_fit_its_distribution() -> None:
    model, distribution = MODELS["custom"]
    levels = np.linspace(0.0, 1.0, 102)[1:]
    for mean in (0.0, 0.3, 1.0):
        for row, level in zip(model.quantiles(levels, [mean] * 3), levels, strict=True):
            for arm, found in enumerate(row.tolist()):
                within, before = (
                    (1.0 - mean) * distribution(d, arm, 0.0) + mean * distribution(d, arm, 1.0)
                    for d in (found, found - 1.0)
                )
                assert within >= level - 1e-11
                assert found == 0.0 or before <= level + 1e-11


@pytest.mark.parametrize(
    ("level", "means", "message"),
    [
        (1.5, [0.5], r"^level must be a number in \[0, 1\], got 1\.5$"),
        ([0.5, -0.1], [0.5], r"^level\[1\] must be a number in \[0, 1\], got -0\.1$"),
        (0.5, [0.5, 1.5], r"^means\[1\] must be a number in \[0, 1\], got 1\.5$"),
        (0.5, 0.5, "^means must be a list with one number per arm, got 0.5$"),
    ],
)
def test_levels_and_means_are_checked(level: Any, means: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Fixed(1).quantiles(level, means)


# --- what is refused --------------------------------------------------------------------------------------------------

BY_LANE = PerLane(np.array([[0.5, 0.5], [0.5, 0.5]]))
SAME = "must be the same in all lanes, one number per arm"
ROUNDS = "must be numbers of rounds of at least 0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fixed(-1), rf"^delay {ROUNDS} or inf, got -1$"),
        (lambda: Fixed([3, -0.5]), rf"^delay {ROUNDS} or inf, got \[3, -0\.5\]$"),
        (lambda: Fixed(math.nan), rf"^delay {ROUNDS} or inf, got nan$"),
        (lambda: Fixed("soon"), r"^delay must be numbers of rounds, got 'soon'$"),  # type: ignore[arg-type]
        (lambda: Fixed(None), rf"^delay {ROUNDS} or inf, got None$"),  # type: ignore[arg-type]
        (lambda: Fixed([]), rf"^delay {ROUNDS} or inf, got \[\]$"),
        (lambda: Fixed([[1, 2]]), rf"^delay {ROUNDS} or inf, got \[\[1, 2\]\]$"),  # type: ignore[list-item]
        (lambda: Fixed(BY_LANE), "^delay must be numbers of rounds, got PerLane"),
        (lambda: Geometric(0), "^success must be above 0, got 0$"),
        (lambda: Geometric([0.5, 0.0]), r"^success must be above 0, got \[0\.5, 0\.0\]$"),
        (lambda: Geometric(1.1), r"^success must be a number in \[0, 1\], got 1\.1$"),
        (lambda: Geometric([0.5, -0.1]), r"^success\[1\] must be a number in \[0, 1\], got -0\.1$"),
        (lambda: Geometric(math.nan), r"^success must be a number in \[0, 1\], got nan$"),
        (lambda: Geometric("often"), "^success must be numbers, one per arm, got 'often'$"),  # type: ignore[arg-type]
        (lambda: Geometric([]), r"^success must be a list with one number per arm, got \[\]$"),
        (lambda: Geometric(BY_LANE), rf"^success {SAME}, got shape \(2, 2\)$"),
        (lambda: Geometric([[0.5, 0.5]]), rf"^success {SAME}, got shape \(1, 2\)$"),  # type: ignore[list-item]
        (lambda: Pareto(0.0), "^tail must be above 0, got 0.0$"),
        (lambda: Pareto(-1), "^tail must be a number of at least 0, got -1$"),
        (lambda: Pareto([1.0, math.inf]), r"^tail\[1\] must be a number of at least 0, got inf$"),
        (lambda: Pareto(BY_LANE), rf"^tail {SAME}, got shape \(2, 2\)$"),
        (lambda: PacketLoss(1.5), r"^received must be a number in \[0, 1\], got 1\.5$"),
        (lambda: PacketLoss([0.1, math.nan]), r"^received\[1\] must be a number in \[0, 1\], got nan$"),
        (lambda: PacketLoss(BY_LANE), rf"^received {SAME}, got shape \(2, 2\)$"),
        (lambda: Uniform(-1, 3), f"^low {ROUNDS}, got -1$"),
        (lambda: Uniform(0, math.inf), f"^high {ROUNDS}, got inf$"),
        (lambda: Uniform(0, math.nan), f"^high {ROUNDS}, got nan$"),
        (lambda: Uniform(3, 2), r"^high must be at least low, got low = \[3\.0\], high = \[2\.0\]$"),
        (lambda: Uniform([0, 5], 4), r"^high must be at least low, got low = \[0\.0, 5\.0\], high = \[4\.0\]$"),
        (lambda: Uniform([1, 2], [3, 4, 5]), "^low has 2 entries, but there are 3 "),
        (lambda: Uniform(BY_LANE, 3), "^low must be numbers of rounds, got PerLane"),
        (lambda: Uniform(0, BY_LANE), "^high must be numbers of rounds, got PerLane"),
        (lambda: ByReward([[0, -1]]), rf"^delays {ROUNDS} or inf, got \[\[0, -1\]\]$"),
        (lambda: ByReward([[0, math.nan]]), f"^delays {ROUNDS} or inf"),
        (lambda: ByReward([[0, 1], [2]]), r"^delays must be numbers of rounds, got \[\[0, 1\], \[2\]\]$"),
        (lambda: ByReward([[0, 1, 2]]), "^delays must have one column for each of the 2 values of a reward, got 3$"),
        (lambda: ByReward([[0, 1]], [0, 0.5, 1]), "^delays must have one column for each of the 3 values .*, got 2$"),
        (lambda: ByReward([[0, 1]], [1, 0]), r"^values must rise, got \[1, 0\]$"),
        (lambda: ByReward([[0, 1]], [0, 0]), r"^values must rise, got \[0, 0\]$"),
        (lambda: ByReward([[0, 1]], [0, math.nan]), r"^values\[1\] must be a finite number, got nan$"),
        (lambda: ByReward(BY_LANE), "^delays must be numbers of rounds, got PerLane"),
        (lambda: Empirical([]), r"^samples: arm 1 needs a list of at least one delay, got \[\]$"),
        (lambda: Empirical([[1.0], []]), r"^samples: arm 2 needs a list of at least one delay, got \[\]$"),
        (lambda: Empirical([[1.0], [[2.0]]]), r"^samples: arm 2 needs a list of at least one delay, got \[\[2\.0\]\]$"),  # type: ignore[arg-type]
        (lambda: Empirical([[1.0], ["late"]]), r"^samples: the delays of arm 2 must be numbers, got \['late'\]$"),  # type: ignore[arg-type]
        (
            lambda: Empirical([[1.0], [2.0, -3.0]]),
            "^samples: delay 2 of arm 2 is -3.0; a delay .* at least 0, or inf$",
        ),
        (lambda: Empirical([math.nan, 1.0]), "^samples: delay 1 of arm 1 is nan; a delay is .* at least 0, or inf$"),
    ],
)
def test_what_is_no_delay_is_refused(make: Callable[[], Delay], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Empirical(5),  # type: ignore[arg-type]
        lambda: Empirical(None),  # type: ignore[arg-type]
        lambda: Empirical(BY_LANE),
        lambda: ByReward([[0, 1]], BY_LANE),
        lambda: Custom(3),  # type: ignore[arg-type]
    ],
    ids=["a number", "nothing", "samples by lane", "values by lane", "no function"],
)
def test_what_is_of_another_kind_is_refused_too(make: Callable[[], Delay]) -> None:
    with pytest.raises(EvenhandError):
        make()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Fixed([1, 2]), "delay has 2 entries, but there are 3 arms"),
        (Geometric([0.1, 0.2]), "success has 2 entries, but there are 3 arms"),
        (Pareto([1, 2, 3, 4]), "tail has 4 entries, but there are 3 arms"),
        (PacketLoss([0.1, 0.2]), "received has 2 entries, but there are 3 arms"),
        (Uniform([1, 2], 5), "low has 2 entries, but there are 3 arms"),
        (Uniform(1, [5, 6]), "high has 2 entries, but there are 3 arms"),
        (ByReward([[0, 1], [0, 1]]), "delays has 2 rows, but there are 3 arms"),
        (Empirical([[1], [2]]), "delays are given for 2 arms, but there are 3"),
    ],
)
def test_delays_of_another_number_of_arms_are_refused(model: Delay, message: str) -> None:
    with pytest.raises(EvenhandError, match=f"^{message}$"):
        model.check(3)
    with pytest.raises(EvenhandError, match=rf"^feedback(\.|: ){message}$"):
        Environment(Bernoulli([0.1, 0.2, 0.3]), feedback=model)


@EVERY
def test_delays_for_all_or_for_each_fit(model: Delay, distribution: Distribution) -> None:
    model.check(3)
    Environment(Bernoulli([0.1, 0.2, 0.3]), feedback=model)


# --- functions of one's own -------------------------------------------------------------------------------------------


def late_world(function: Any, **parts: Any) -> Environment:
    return Environment(Bernoulli([1.0, 0.0, 1.0]), feedback=Custom(function), **parts)


def second_only(value: float) -> Callable[[Array, Any, Any], Array]:
    return lambda level, arm, reward: np.where(arm == 1, value, 0.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (second_only(-1.0), "^the delay function returned -1.0 for arm 2; a delay is .* of at least 0, or inf$"),
        (second_only(-1e-9), "^the delay function returned -1e-09 for arm 2; "),
        (second_only(-math.inf), "^the delay function returned -inf for arm 2; "),
        (second_only(math.nan), "^the delay function returned nan for arm 2; "),
        (lambda level, arm, reward: -5, "^the delay function returned -5.0 for arm 1; "),
        (lambda level, arm, reward: np.zeros(7), r"^the delay function returned shape \(7,\) for 2 plays$"),
        (lambda level, arm, reward: np.zeros((2, 1)), r"^the delay function returned shape \(2, 1\) for 2 plays$"),
    ],
)
def test_what_a_function_returns_is_checked_in_a_simulation(function: Any, message: str) -> None:
    # Two lanes of UCB1: arm 1 in both, then arm 2.
    with pytest.raises(EvenhandError, match=message):
        compare([ucb1()], late_world(function), 5, 2, progress=False)


def test_a_function_gets_the_plays_only() -> None:
    calls: list[tuple[Any, ...]] = []

    def note(level: Array, arm: Any, reward: Any) -> float:
        calls.append((level.copy(), arm.tolist(), np.asarray(reward, dtype=float).tolist()))
        return 0.0

    compare([ucb1(plays=2)], late_world(note), 2, 2, progress=False)
    assert [arm for _, arm, _ in calls] == [[0, 1, 0, 1], [0, 2, 0, 2]]  # untried arm 3 first, then the best
    assert [reward for *_, reward in calls] == [[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    levels = np.concatenate([level for level, *_ in calls])
    assert ((levels >= 0.0) & (levels < 1.0)).all()
    assert len(np.unique(levels)) == 8


def test_a_function_copes_with_a_round_in_which_nobody_plays() -> None:
    world = late_world(slow_losses, availability=Independent([0.0, 0.0, 0.0]))
    results = compare([fair_random([0.0, 0.0, 0.0])], world, 5, 2, progress=False)
    assert not results.policies["fair_random"].pulls.any()


def test_a_function_never_sees_a_chance_of_1() -> None:
    # Exponential delays would be infinite there, with a warning.
    model = Custom(lambda level, arm, reward: -10.0 * np.log1p(-level))
    (found,) = model.quantiles(1.0, [0.5])
    assert 300.0 < found < math.inf
    assert quantiles_of(model, np.array([1.0]), 0, 0.0)[0] < math.inf


def test_a_function_may_return_one_number_or_fractions_or_infinity() -> None:
    plays = np.zeros(3), np.arange(3), np.zeros(3)
    assert Custom(lambda u, arm, x: 2).quantile(*plays).tolist() == [2.0] * 3
    assert Custom(lambda u, arm, x: np.add(arm, 0.9)).quantile(*plays).tolist() == [0.0, 1.0, 2.0]
    assert Custom(lambda u, arm, x: np.full(3, math.inf)).quantile(*plays).tolist() == [math.inf] * 3
