"""Anonymous sums of rewards: every profile against a plain convolution, every part against a list of arrivals."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Environment, EvenhandError, check_environment
from evenhand.core.errors import StateError
from evenhand.core.parts import build, plain
from evenhand.core.state import Array, Decision, Mask
from evenhand.environment.availability import Independent
from evenhand.environment.profiles import Profile, lateness, lateness_variance
from evenhand.environment.rewards import Bernoulli, Beta, Winners
from evenhand.feedback import (
    Adversary,
    AnonymousFeedback,
    Bounded,
    Decreasing,
    Discounted,
    Increasing,
    Kernel,
    NonOblivious,
    Polynomial,
    RandomDelay,
)

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

SIGMAS = 5.0  # a frequency is off by more with a chance below 1e-6
LANES, ARMS = 3, 4
LAST = float(np.nextafter(1.0, 0.0))  # the largest number that chance can give


# --- a plain reference ------------------------------------------------------------------------------------------------


def parts(profile: AnonymousFeedback, steps: int) -> list[float]:
    """The part of a total that arrives 0, 1, 2, … steps later, from the formulas of the paper."""
    tau = range(steps)
    if isinstance(profile, Bounded):
        return [float(profile.start <= t < profile.stop) / (profile.stop - profile.start) for t in tau]
    if isinstance(profile, Decreasing | Increasing):
        d, falls = profile.length, isinstance(profile, Decreasing)
        return [2 * (d + 1 - t if falls else t) / (d * (d + 1)) if 1 <= t <= d else 0.0 for t in tau]
    if isinstance(profile, Discounted):
        return [(1 - profile.factor) * profile.factor ** (t - 1) if t else 0.0 for t in tau]
    if isinstance(profile, Polynomial):
        return [float(t) ** -profile.exponent / zeta(profile.exponent) if t else 0.0 for t in tau]
    assert isinstance(profile, Kernel)
    weights = profile.weights(np.arange(steps)) if callable(profile.weights) else profile.weights
    given = [float(w) for w in np.asarray(weights, dtype=float)]
    return (given + [0.0] * steps)[:steps]


@functools.cache
def zeta(exponent: float) -> float:
    """``Σ n^−γ``: 2000 terms, and Euler and Maclaurin's rest to order n^−(γ+3)."""
    n = 2000.0
    rest = n ** (1 - exponent) / (exponent - 1) - n**-exponent / 2 + exponent * n ** (-exponent - 1) / 12
    return float(math.fsum(float(k) ** -exponent for k in range(1, 2001)) + rest)


def precision(profile: AnonymousFeedback) -> float:
    """Rounding errors of some running sums of order 1; a power is a sum of exponentials to twelve digits."""
    return 1e-12 if isinstance(profile, Polynomial) else 1e-13


def naive(totals: Array, kernel: list[float]) -> Array:
    """``Y(t) = Σ_τ k_τ x(t − τ)``, term by term, for totals (steps, lanes)."""
    sums = np.zeros(totals.shape)
    for now in range(len(totals)):
        for tau, part in enumerate(kernel[: now + 1]):
            sums[now] += part * totals[now - tau]
    return sums


def plays(rng: np.random.Generator, steps: int, most: int = ARMS, lanes: int = LANES) -> Mask:
    """Random plays, (steps, lanes, arms), of up to ``most`` arms a step."""
    ranks = rng.random((steps, lanes, ARMS)).argsort(axis=-1).argsort(axis=-1)
    return np.asarray(ranks < rng.integers(0, most + 1, (steps, lanes, 1)))


def run(
    model: AnonymousFeedback, played: Mask, earned: Any, chance: Any = None, rounds: int | None = None
) -> tuple[Array, Array]:
    """What a channel gives each arm in every step, (steps, …, arms), and what is under way after it, (steps, lanes)."""
    channel = model.open(played.shape[1:], rounds or len(played))
    heard, waiting = [], []
    for step, who in enumerate(played):
        feedback = channel.send(who, earned[step], None if chance is None else chance[step])
        assert (feedback.received == who).all()
        heard.append(np.array(feedback.rewards))
        waiting.append(np.array(channel.under_way()))
    return np.array(heard), np.array(waiting)


def shared(sums: Array, played: Mask) -> Array:
    """The sums of each step in equal parts for those who play."""
    shares = np.zeros(played.shape)
    for step, lane in np.ndindex(sums.shape):
        who = np.flatnonzero(played[step, lane])
        for arm in who:
            shares[step, lane, arm] = sums[step, lane] / len(who)
    return shares


def impulse(model: AnonymousFeedback, steps: int) -> Array:
    """What comes of a total of 1 in the first step."""
    flow, one = model.flow(lanes=1, rounds=steps), np.ones((1, 1), dtype=bool)
    shape = (1, 1) if model.by_arm else (1,)
    return np.array([flow.step(np.full(shape, float(step == 0)), one, None).item() for step in range(steps)])


# --- profiles ---------------------------------------------------------------------------------------------------------


def triangle(steps: Array) -> Array:
    """A kernel without an end of its own: 0, then 1/(τ (τ + 1))."""
    return np.where(steps > 0, 1.0 / np.maximum(steps * (steps + 1.0), 1.0), 0.0)


def wavy(length: int) -> Array:
    """A kernel of no particular shape, with a sum of 1."""
    weights = 1.0 + np.sin(np.arange(length)) + np.arange(length) % 3
    return np.asarray(weights / weights.sum())


PROFILES: dict[str, AnonymousFeedback] = {
    "bounded at once": Bounded(0, 1),
    "bounded from 0": Bounded(0, 7),
    "bounded": Bounded(3, 8),
    "bounded, one step": Bounded(5, 6),
    "bounded, beyond the horizon": Bounded(90, 95),
    "decreasing, one step": Decreasing(1),
    "decreasing": Decreasing(6),
    "decreasing, long": Decreasing(200),
    "increasing, one step": Increasing(1),
    "increasing": Increasing(6),
    "increasing, long": Increasing(200),
    "discounted by 0": Discounted(0.0),
    "discounted": Discounted(0.8),
    "discounted, slow": Discounted(0.999),
    "polynomial, slow": Polynomial(1.2),
    "polynomial": Polynomial(2.0),
    "polynomial, fast": Polynomial(3.0),
    "kernel": Kernel([0.1, 0.0, 0.3, 0.25]),
    "kernel, all zero": Kernel([0.0, 0.0]),
    "kernel, long": Kernel(wavy(70)),
    "kernel, beyond the horizon": Kernel(wavy(500)),
    "kernel, function": Kernel(triangle),
}
REWARDS: dict[str, Callable[[np.random.Generator, Mask], Any]] = {
    "bool": lambda rng, played: (rng.random(played.shape) < 0.6) & played,
    "float": lambda rng, played: rng.random(played.shape) * played,
    "negative": lambda rng, played: rng.normal(0.3, 1.0, played.shape) * played,
}


@pytest.mark.parametrize("kind", REWARDS)
@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_a_convolution(name: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    played = plays(rng, 90)
    earned = REWARDS[kind](rng, played)
    sums = naive(earned.sum(axis=-1).astype(float), parts(PROFILES[name], 90))
    heard, _ = run(PROFILES[name], played, earned)
    # Totals of a step are below 10, and the parts sum to 1.
    most = 10.0 * precision(PROFILES[name])
    np.testing.assert_allclose(heard, shared(sums, played), rtol=0.0, atol=most)


@pytest.mark.parametrize("name", PROFILES)
def test_a_single_lane_is_the_only_lane_of_a_block(name: str) -> None:
    rng = np.random.default_rng(2)
    played = plays(rng, 40, lanes=1)
    earned = rng.random(played.shape) * played
    one, one_waits = run(PROFILES[name], played, earned)
    single, single_waits = run(PROFILES[name], played[:, 0], earned[:, 0])
    assert single.shape == (40, ARMS)
    assert (single == one[:, 0]).all()
    assert (single_waits == one_waits).all()


@settings(max_examples=60, deadline=None)
@given(
    model=st.one_of(
        st.integers(0, 9).flatmap(lambda a: st.builds(Bounded, st.just(a), st.integers(a + 1, a + 12))),
        st.builds(Decreasing, st.integers(1, 50)),
        st.builds(Increasing, st.integers(1, 50)),
        st.builds(Discounted, st.floats(0.0, 0.99)),
        st.builds(Polynomial, st.floats(1.05, 6.0)),
        st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).map(lambda w: Kernel(np.array(w) / max(sum(w), 1.0))),
    ),
    totals=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=45),
)
def test_any_profile_is_a_convolution(model: AnonymousFeedback, totals: list[float]) -> None:
    played, earned = np.ones((len(totals), 1, 1), dtype=bool), np.array(totals)[:, None, None]
    heard, _ = run(model, played, earned)
    expected = naive(earned[..., 0], parts(model, len(totals)))
    np.testing.assert_allclose(heard[..., 0], expected, rtol=0.0, atol=precision(model))


@pytest.mark.parametrize("exponent", [1.01, 1.5, 2.0, 3.0, 8.0])
def test_a_power_is_followed_over_a_long_time(exponent: float) -> None:
    steps = 50_000
    found, tau = impulse(Polynomial(exponent), steps), np.arange(1.0, steps)
    assert found[0] == 0.0
    expected = tau**-exponent / zeta(exponent)
    np.testing.assert_allclose(found[1:], expected, rtol=0.0, atol=1e-12)
    # Relative to a part, factors that are rounded to 1e-16 and applied 50 000 times cost up to 5.5e-12.
    np.testing.assert_allclose(found[1:], expected, rtol=1e-11, atol=0.0)


@pytest.mark.parametrize("rounds", [1, 2, 100, 10**7])
def test_the_horizon_does_not_change_the_first_parts_of_a_power(rounds: int) -> None:
    flow, one = Polynomial(1.5).flow(lanes=1, rounds=rounds), np.ones((1, 1), dtype=bool)
    found = [flow.step(np.array([float(step == 0)]), one, None).item() for step in range(min(rounds, 1000))]
    expected = [0.0, *(t**-1.5 / zeta(1.5) for t in range(1, 1000))][: len(found)]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=0.0)


@pytest.mark.parametrize("exponent", [60.0, 200.0])
def test_a_steep_power_arrives_in_the_next_step(exponent: float) -> None:
    # 2^−60 is below the last digit of 1.
    np.testing.assert_allclose(impulse(Polynomial(exponent), 4), [0.0, 1.0, 0.0, 0.0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("profile", [Decreasing(2), Increasing(2), Bounded(1, 3)], ids=repr)
def test_rounding_errors_do_not_pile_up(profile: AnonymousFeedback) -> None:
    # The sum of a step depends on two totals below 1 only: after any number of steps it is right to some 1e-16, and
    # after two steps without plays nothing is left of it.
    steps, one = 20_000, np.ones((1, 1), dtype=bool)
    totals = np.append(np.random.default_rng(3).random(steps), np.zeros(steps))
    flow = profile.flow(lanes=1, rounds=len(totals))
    found = np.array([flow.step(totals[step : step + 1], one, None).item() for step in range(len(totals))])
    kernel = parts(profile, 3)
    expected = np.convolve(totals, kernel)[: len(totals)]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


# --- kernels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000])
def test_kernels_of_every_length(length: int) -> None:
    # A kernel of random weights, with a heavy last one: what is lost or comes twice at a border is seen.
    rng = np.random.default_rng(length)
    weights = rng.random(length)
    weights[-1] += 1.0
    weights /= weights.sum()
    totals = rng.random((2 * length + 70, 2))
    played = np.ones((len(totals), 2, 1), dtype=bool)
    heard, _ = run(Kernel(weights), played, totals[..., None])
    expected = np.array([np.convolve(totals[:, lane], weights)[: len(totals)] for lane in range(2)]).T
    np.testing.assert_allclose(heard[..., 0], expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 65, 1000])
def test_a_single_total_passes_every_border_of_blocks(length: int) -> None:
    weights = wavy(length)
    one = np.ones((1, 1), dtype=bool)
    for start in (0, 1, 30, 31, 32, 33, 63, 64, 65):
        flow = Kernel(weights).flow(lanes=1, rounds=start + length + 5)
        found = [flow.step(np.array([float(step == start)]), one, None).item() for step in range(start + length + 5)]
        expected = np.concatenate([np.zeros(start), weights, np.zeros(5)])
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("length", [5, 33, 100])
@pytest.mark.parametrize("kind", REWARDS)
def test_a_kernel_for_each_arm(length: int, kind: str) -> None:
    rng = np.random.default_rng(4)
    kernels = np.array([np.roll(wavy(length), 3 * arm) * (arm + 1) / ARMS for arm in range(ARMS)])
    model = Kernel(kernels)
    assert model.by_arm
    played = plays(rng, 150)
    earned = REWARDS[kind](rng, played)
    sums = sum(naive(earned[..., arm].astype(float), kernels[arm].tolist()) for arm in range(ARMS))
    heard, _ = run(model, played, earned)
    np.testing.assert_allclose(heard, shared(np.asarray(sums), played), rtol=0.0, atol=1e-12)


def test_a_function_is_evaluated_for_every_step_up_to_the_horizon() -> None:
    evaluated: list[list[int]] = []

    def kernel(steps: Array) -> Array:
        evaluated.append(steps.tolist())
        return np.full(len(steps), 1.0 / len(steps))

    model = Kernel(kernel)
    assert not model.by_arm
    assert evaluated == []
    np.testing.assert_allclose(impulse(model, 50), np.full(50, 0.02), atol=1e-16)
    assert evaluated == [list(range(50))]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, -0.1], r"^weights\[1\] must be a number of at least 0, got -0\.1$"),
        ([0.5, math.nan], r"^weights\[1\] must be a number of at least 0, got nan$"),
        ([math.inf], r"^weights\[0\] must be a number of at least 0, got inf$"),
        ([[0.5, 0.1], [0.5, -0.5]], r"^weights\[1\]\[1\] must be a number of at least 0, got -0\.5$"),
        ([0.5, 0.6], r"^weights must sum to at most 1, got a sum of 1\.1$"),
        ([[0.5, 0.4], [0.5, 0.75]], r"^weights must sum to at most 1, got a sum of 1\.25$"),
        ([], r"^weights must be of shape \(rounds,\) or \(arms, rounds\), got shape \(0,\)$"),
        (0.5, r"^weights must be of shape \(rounds,\) or \(arms, rounds\), got shape \(\)$"),
        ([[[0.5]]], r"^weights must be of shape \(rounds,\) or \(arms, rounds\), got shape \(1, 1, 1\)$"),
        (["x"], r"^weights must be numbers, one per round, or rows of equal length, one per arm, got \['x'\]$"),
        ([[0.5], [0.1, 0.2]], r"^weights .* or rows of equal length, one per arm, got \[\[0\.5\], \[0\.1, 0\.2\]\]$"),
    ],
)
def test_wrong_kernels_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Kernel(weights)
    if np.ndim(np.array(weights, dtype=object)) == 1 and not isinstance(weights[:1], str):
        with pytest.raises(EvenhandError, match=message):
            Kernel(lambda steps: weights).flow(lanes=1, rounds=9)


def test_a_function_that_returns_a_kernel_for_each_arm_is_refused() -> None:
    # The function form is one kernel for all; a table of kernels is given as it is.
    with pytest.raises(EvenhandError):
        Kernel(lambda steps: np.full((2, len(steps)), 0.01)).flow(lanes=1, rounds=9)


def test_a_kernel_may_sum_to_one_as_decimals_do() -> None:
    Kernel([0.1] * 10)
    Kernel(np.full(3, 0.33333333334))
    with pytest.raises(EvenhandError, match="sum to at most 1"):
        Kernel([0.1] * 9 + [0.1001])


# --- random delays ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 60), (10, 30), (5, 5), (1000, 1000), (10**6, 10**6 + 9)])
def test_the_ends_of_chance_are_the_ends_of_the_delays(low: int, high: int) -> None:
    played = np.ones((2, 1), dtype=bool)
    earned, chance = np.ones((2, 1)), np.array([[0.0], [LAST]])
    model = RandomDelay(low, high)
    delays = np.asarray(model.delays(np.arange(2), played, chance))
    assert delays.tolist() == [low, high]
    if high < 100:
        flow = model.flow(lanes=2, rounds=high + 2)
        came = [flow.step(earned * (step == 0), played, chance).tolist() for step in range(high + 2)]
        assert [step for step, sums in enumerate(came) if sums[0]] == [low]
        assert [step for step, sums in enumerate(came) if sums[1]] == [high]


def test_a_delay_of_none_arrives_in_the_same_step() -> None:
    rng = np.random.default_rng(5)
    played = plays(rng, 50)
    earned = rng.random(played.shape) * played
    heard, waiting = run(RandomDelay(0, 0), played, earned, rng.random(played.shape))
    np.testing.assert_allclose(heard, shared(earned.sum(axis=-1), played), atol=1e-15)
    np.testing.assert_allclose(waiting, 0.0, atol=1e-14)


@pytest.mark.parametrize("kind", REWARDS)
@pytest.mark.parametrize(("low", "high"), [(0, 4), (3, 9), (10, 30), (0, 200)])
def test_every_play_has_a_delay_of_its_own(low: int, high: int, kind: str) -> None:
    rng = np.random.default_rng(6)
    played, chance = plays(rng, 120), rng.random((120, LANES, ARMS))
    earned = REWARDS[kind](rng, played)
    sums = np.zeros((120, LANES))
    for step, lane, arm in zip(*np.nonzero(played), strict=True):
        due = step + low + int(chance[step, lane, arm] * (high - low + 1))
        if due < 120:
            sums[due, lane] += earned[step, lane, arm]
    heard, _ = run(RandomDelay(low, high), played, earned, chance)
    np.testing.assert_allclose(heard, shared(sums, played), rtol=0.0, atol=1e-13)


def test_delays_are_uniform() -> None:
    # In the first step 4000 lanes play both arms and earn 1 and 2 in
    # all: what arrives when tells both delays. Pearson's statistic of n draws over c cells has mean c − 1 and
    # variance at most 2 (c − 1) under uniformity.
    low, high, lanes = 2, 8, 4000
    both, nobody = np.ones((lanes, 2), dtype=bool), np.zeros((lanes, 2), dtype=bool)
    channel = RandomDelay(low, high).open((lanes, 2), high + 1)
    chance = np.random.default_rng(7).random((lanes, 2))
    came = np.zeros((high + 1, lanes))
    for step in range(high + 1):
        earned = np.array([1.0, 2.0]) * (both if step == 0 else nobody)
        # Those who play in a step are credited with its sum, whatever they earn.
        came[step] = channel.send(both, earned, chance).rewards.sum(axis=-1)
    assert (came[:low] == 0.0).all()
    first = ((came == 1.0) | (came == 3.0)).argmax(axis=0)
    second = ((came == 2.0) | (came == 3.0)).argmax(axis=0)
    cells = high - low + 1
    for delays in (first, second):
        assert delays.min() == low
        assert delays.max() == high
        counts = np.bincount(delays - low, minlength=cells)
        statistic = ((counts - lanes / cells) ** 2 / (lanes / cells)).sum()
        assert statistic <= cells - 1 + SIGMAS * math.sqrt(2 * (cells - 1))
    # Independent of each other: 7 · 7 cells.
    pairs = np.bincount((first - low) * cells + second - low, minlength=cells**2)
    statistic = ((pairs - lanes / cells**2) ** 2 / (lanes / cells**2)).sum()
    assert statistic <= cells**2 - 1 + SIGMAS * math.sqrt(2 * (cells**2 - 1))


def test_delays_of_steps_and_lanes_do_not_hang_together() -> None:
    # One arm that earns 1 in every step, delays of 0 … 9: what arrives in a step is a sum of ten trials with chance
    # q = 1/10, of variance 10 q (1 − q) and fourth moment 10 q (1 − q) (1 + 3 q (1 − q) 8), and steps ten apart have no
    # play in common.
    lanes, steps = 60, 400
    world = Environment(Bernoulli([1.0]), feedback=RandomDelay(0, 9)).start(steps, lanes, np.random.SeedSequence(8))
    one, came = np.ones((lanes, 1), dtype=bool), np.zeros((steps, lanes))
    for step in range(steps):
        available = world.observe().available
        came[step] = world.step(Decision(step + 1, one, None, available, one)).feedback.rewards[:, 0]
    apart = came[9::10] - 1.0
    variance, fourth = 0.9, 0.9 * (1 + 0.27 * 8)
    assert abs((apart**2).mean() - variance) <= SIGMAS * math.sqrt((fourth - variance**2) / apart.size)
    assert abs((apart[:, 0::2] * apart[:, 1::2]).mean()) <= SIGMAS * variance / math.sqrt(apart.size / 2)
    assert abs((apart[:-1] * apart[1:]).mean()) <= SIGMAS * variance / math.sqrt(apart[1:].size)


# --- conservation -----------------------------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> tuple[AnonymousFeedback, Mask, Array, Array]:
    """A model, who plays when, what it earns, and chance."""
    steps, arms = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    low = draw(st.integers(0, 8))
    model = draw(
        st.sampled_from(
            [
                RandomDelay(low, low + draw(st.integers(0, 30))),
                Bounded(low, low + draw(st.integers(1, 30))),
                Decreasing(low + 1),
                Increasing(low + 1),
                Discounted(low / 9),
                Polynomial(1.1 + low),
                Kernel(wavy(1 + 9 * low) * 0.9),
                Kernel(np.array([wavy(1 + 9 * low)] * arms) / np.arange(1.0, arms + 1)[:, None]),
                NonOblivious(1 + low, best=arms - 1),
                Adversary(lambda step, played, past: step % 5),
            ]
        )
    )
    played = rng.random((steps, 2, arms)) < 0.7
    played[..., 0] |= ~played.any(axis=-1)  # somebody plays
    return model, played, rng.random(played.shape) * played, rng.random(played.shape)


def arrivals(model: AnonymousFeedback, played: Mask, earned: Array, chance: Array) -> list[tuple[int, int, float]]:
    """Every partial reward on its own: step (or beyond the horizon), lane, and size; the rest of an endless profile
    is one part beyond the horizon."""
    steps = len(played)
    found: list[tuple[int, int, float]] = []
    streak = np.zeros(played.shape[1])
    kernels: list[list[float]] = []
    if isinstance(model, Kernel) and model.by_arm:
        kernels = [parts(Kernel(weights), steps) for weights in np.asarray(model.weights)]
    elif not isinstance(model, RandomDelay | NonOblivious | Adversary):
        kernels = [parts(model, steps)]
    for now in range(steps):
        if isinstance(model, NonOblivious):
            streak = np.where(played[now, :, model.best], streak + 1, 0)
        for lane, arm in zip(*np.nonzero(played[now]), strict=True):
            total = float(earned[now, lane, arm])
            if isinstance(model, RandomDelay):
                late = model.low + int(chance[now, lane, arm] * (model.high - model.low + 1))
                found.append((now + late, int(lane), total))
            elif isinstance(model, NonOblivious):
                late = model.delay if arm == model.best and streak[lane] >= 3 * model.delay else 1
                found.append((now + late, int(lane), total))
            elif isinstance(model, Adversary):
                found.append((now + (now + 1) % 5, int(lane), total))
            else:
                kernel = kernels[arm if model.by_arm else 0][: steps - now]
                found += [(now + tau, int(lane), part * total) for tau, part in enumerate(kernel)]
                found.append((steps, int(lane), (1.0 - math.fsum(kernel)) * total))
    return found


@settings(max_examples=60, deadline=None)
@given(history=histories())
def test_every_part_arrives_once_at_its_step_or_lies_beyond_the_horizon(
    history: tuple[AnonymousFeedback, Mask, Array, Array],
) -> None:
    model, played, earned, chance = history
    heard, waiting = run(model, played, earned, chance if model.traits.random else None)
    seen = heard.sum(axis=-1)
    for lane in range(2):
        mine = [(step, size) for step, where, size in arrivals(model, played, earned, chance) if where == lane]
        for now in range(len(played)):
            assert seen[now, lane] == pytest.approx(math.fsum(x for step, x in mine if step == now), abs=1e-11)
        # At the end, what is under way are the parts that lie beyond the horizon, and nothing else.
        beyond = math.fsum(x for step, x in mine if step >= len(played))
        assert waiting[-1, lane] == pytest.approx(beyond, abs=1e-11)
    np.testing.assert_allclose(seen.cumsum(axis=0) + waiting, earned.sum(axis=-1).cumsum(axis=0), atol=1e-11)


def test_what_is_under_way_is_a_copy() -> None:
    channel = Bounded(1, 3).open((1, 2), rounds=9)
    one = np.array([[True, False]])
    before = channel.under_way()
    channel.send(one, np.array([[1.0, 0.0]]), None)
    after = channel.under_way()
    channel.send(one, np.array([[0.0, 0.0]]), None)
    assert before.tolist() == [0.0]
    assert after.tolist() == [1.0]
    assert channel.under_way().tolist() == [0.5]


# --- who is credited --------------------------------------------------------------------------------------------------


def test_the_sum_of_a_step_goes_to_who_plays_in_it() -> None:
    # Totals of 1, 0.5, … of arm 1, a step later: arm 2 is credited with arm 1's total.
    channel = Bounded(1, 2).open((1, 3), rounds=9)
    story: list[tuple[list[int], list[float], list[float]]] = [
        ([1, 0, 0], [1.0, 0, 0], [0, 0, 0]),
        ([0, 1, 0], [0, 0.5, 0], [0, 1.0, 0]),
        ([1, 0, 1], [0.25, 0, 0.75], [0.25, 0, 0.25]),  # equal parts
        ([1, 1, 1], [0.5, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]),
        ([0, 0, 0], [0, 0, 0], [0, 0, 0]),  # nobody: the sum of 1.5 is lost
        ([0, 0, 1], [0, 0, 0.5], [0, 0, 0]),
        ([0, 1, 0], [0, 0, 0], [0, 0.5, 0]),
    ]
    for played, earned, expected in story:
        feedback = channel.send(np.array([played], dtype=bool), np.array([earned]), None)
        assert feedback.received.tolist() == [[bool(x) for x in played]]
        np.testing.assert_allclose(feedback.rewards, [expected], rtol=1e-15)


# --- adversaries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delay", "best"), [(1, 0), (2, 1), (3, 3), (5, 2)])
def test_the_non_oblivious_adversary_is_a_plain_loop(delay: int, best: int) -> None:
    rng = np.random.default_rng(9)
    steps = 200
    played = plays(rng, steps, most=2)
    # Now and then the best arm plays for 3d − 1, 3d or more steps in a row, in each lane at another time.
    for lane in range(LANES):
        for start, length in ((5 + lane, 3 * delay - 1), (40 + lane, 3 * delay), (90, 3 * delay + 7 + lane)):
            played[start - 1, lane, best] = played[start + length, lane, best] = False
            played[start : start + length, lane, best] = True
    earned = rng.random(played.shape) * played
    sums, kept_back = np.zeros((steps + delay + 1, LANES)), 0
    for lane in range(LANES):
        for now in range(steps):
            for arm in np.flatnonzero(played[now, lane]):
                last = played[max(now - 3 * delay + 1, 0) : now + 1, lane, arm]  # 3d steps, this one included
                settled = bool(arm == best and len(last) == 3 * delay and last.all())
                kept_back += settled
                sums[now + (delay if settled else 1), lane] += earned[now, lane, arm]
    assert kept_back > 0
    heard, _ = run(NonOblivious(delay, best), played, earned)
    np.testing.assert_allclose(heard, shared(sums[:steps], played), rtol=0.0, atol=1e-13)


def test_a_streak_counts_steps_without_reward() -> None:
    # d = 2: the sixth play in a row is the first to wait, though the five before it earned nothing.
    flow, one = NonOblivious(2, 0).flow(lanes=1, rounds=9), np.ones((1, 1), dtype=bool)
    found = [flow.step(np.array([[float(step == 5)]]), one, None).item() for step in range(9)]
    assert found == [0.0] * 7 + [1.0, 0.0]
    flow = NonOblivious(2, 0).flow(lanes=1, rounds=9)
    assert [flow.step(np.array([[float(step == 4)]]), one, None).item() for step in range(9)] == [0.0] * 5 + [1.0] + [
        0.0
    ] * 3


def test_an_adversary_gets_the_round_and_all_plays() -> None:
    rng = np.random.default_rng(10)
    played = plays(rng, 70, most=2)
    earned = rng.random(played.shape) * played
    rounds: list[int] = []

    def adversary(step: int, now: Mask, past: Mask) -> Array:
        rounds.append(step)
        assert past.shape == (step - 1, LANES, ARMS)
        assert past.dtype == np.bool_
        assert (past == played[: step - 1]).all()
        assert (now == played[step - 1]).all()
        return np.asarray(now[:, 0] + 0.9 * now[:, 1] + past[-3:].sum(axis=(0, 2)))

    heard, _ = run(Adversary(adversary), played, earned)
    assert rounds == list(range(1, 71))
    sums = np.zeros((100, LANES))
    for step, lane, arm in zip(*np.nonzero(played), strict=True):
        before = played[max(step - 3, 0) : step, lane].sum()
        sums[step + before + int(played[step, lane, 0] + 0.9 * played[step, lane, 1]), lane] += earned[step, lane, arm]
    np.testing.assert_allclose(heard, shared(sums[:70], played), rtol=0.0, atol=1e-13)


def test_an_adversary_may_keep_a_reward_for_ever() -> None:
    played, earned = np.ones((20, 2, 1), dtype=bool), np.ones((20, 2, 1))
    heard, waiting = run(Adversary(lambda step, now, past: np.array([math.inf, 0.0])), played, earned)
    assert (heard[:, 0] == 0.0).all()
    assert (heard[:, 1] == 1.0).all()
    assert waiting[-1].tolist() == [20.0, 0.0]


@pytest.mark.parametrize("answer", [0, 2, np.array(1.7), np.float64(3.0), [1, 1, 1]])
def test_one_number_of_an_adversary_is_for_all_lanes(answer: Any) -> None:
    flow = Adversary(lambda step, now, past: answer).flow(lanes=LANES, rounds=9)
    played = np.ones((LANES, 1), dtype=bool)
    late = int(np.max(answer))
    for step in range(5):
        sums = flow.step(np.full((LANES, 1), float(step == 0)), played, None)
        assert sums.tolist() == [float(step == late)] * LANES


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones(2), r"^the adversary returned shape \(2,\) in round 3; it must return one delay for all lanes, or"),
        (np.ones((3, 4)), r"^the adversary returned shape \(3, 4\) in round 3; it must return one delay for all lanes"),
        (np.ones((3, 1)), r"^the adversary returned shape \(3, 1\) in round 3; it must return one delay for all lanes"),
        (-1, r"^the adversary returned -1\.0 in round 3; delays must be at least 0$"),
        ([1.0, -0.5, 2.0], r"^the adversary returned \[1\.0, -0\.5, 2\.0\] in round 3; delays must be at least 0$"),
        (math.nan, r"^the adversary returned nan in round 3; delays must be at least 0$"),
        ([1.0, math.nan, 2.0], r"^the adversary returned \[1\.0, nan, 2\.0\] in round 3; delays must be at least 0$"),
    ],
)
def test_wrong_answers_of_an_adversary_are_named_with_the_step(answer: Any, message: str) -> None:
    model = Adversary(lambda step, now, past: answer if step == 3 else 1)
    played = np.ones((3, LANES, ARMS), dtype=bool)
    with pytest.raises(EvenhandError, match=message):
        run(model, played, np.ones(played.shape))
    # Nobody need have earned anything.
    with pytest.raises(EvenhandError, match=message):
        run(model, played, np.zeros(played.shape))


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomDelay(-1, 3), "^low must be at least 0, got -1$"),
        (lambda: RandomDelay(4, 3), "^high must be at least 4, got 3$"),
        (lambda: RandomDelay(1, 3.5), r"^high must be a whole number, got 3\.5$"),  # type: ignore[arg-type]
        (lambda: Bounded(-1, 3), "^start must be at least 0, got -1$"),
        (lambda: Bounded(3, 3), "^stop must be at least 4, got 3$"),
        (lambda: Bounded(3, 2), "^stop must be at least 4, got 2$"),
        (lambda: Bounded(True, 2), "^start must be a whole number, got True$"),
        (lambda: Decreasing(0), "^length must be at least 1, got 0$"),
        (lambda: Decreasing(2.0), r"^length must be a whole number, got 2\.0$"),  # type: ignore[arg-type]
        (lambda: Increasing(0), "^length must be at least 1, got 0$"),
        (lambda: Discounted(1), "^factor must be below 1, got 1$"),
        (lambda: Discounted(1.5), r"^factor must be a number in \[0, 1\], got 1\.5$"),
        (lambda: Discounted(-0.1), r"^factor must be a number in \[0, 1\], got -0\.1$"),
        (lambda: Discounted(math.nan), r"^factor must be a number in \[0, 1\], got nan$"),
        (lambda: Polynomial(1), "^exponent must be above 1, got 1: the parts would have no finite sum$"),
        (lambda: Polynomial(0.5), r"^exponent must be a number of at least 1, got 0\.5$"),
        (lambda: Polynomial(math.inf), "^exponent must be a number of at least 1, got inf$"),
        (lambda: NonOblivious(0), "^delay must be at least 1, got 0$"),
        (lambda: NonOblivious(1.5), r"^delay must be a whole number, got 1\.5$"),  # type: ignore[arg-type]
        (lambda: NonOblivious(1, -1), "^best must be at least 0, got -1$"),
    ],
)
def test_wrong_models_are_refused(make: Callable[[], AnonymousFeedback], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Kernel([[0.5, 0.5]] * 3), r"^feedback: kernels are given for 3 arms, but there are 2$"),
        (Kernel([[0.5, 0.5]]), r"^feedback: kernels are given for 1 arm, but there are 2$"),
        (NonOblivious(2, best=2), r"^feedback\.best is arm 3, but there are 2 arms$"),
    ],
)
def test_models_for_another_number_of_arms_are_refused(model: AnonymousFeedback, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Environment(Bernoulli([0.5, 0.4]), feedback=model)


# --- environments -----------------------------------------------------------------------------------------------------


def patient(step: int, played: Mask, past: Mask) -> Array:
    """Whoever has played arm 1 more often waits longer."""
    return np.asarray(past[:, :, 0].sum(axis=0) % 7)


MODELS: dict[str, AnonymousFeedback] = PROFILES | {
    "random delay": RandomDelay(0, 12),
    "random delay, later": RandomDelay(10, 30),
    "kernel, by arm": Kernel([wavy(40), np.roll(wavy(40), 5)]),
    "non-oblivious": NonOblivious(2, best=0),
    "adversary": Adversary(patient),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_keeps_the_rules_of_an_environment(name: str) -> None:
    check_environment(Environment(Bernoulli([0.9, 0.5]), feedback=MODELS[name]))
    check_environment(Environment(Beta([1.0, 2.0], [1.0, 1.0]), Independent([0.5, 0.8]), MODELS[name]))
    check_environment(Environment(Winners([0.7, 0.3]), feedback=MODELS[name]), horizon=9)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("adversary", "kernel, function")])
def test_a_model_of_a_plain_form_gives_the_same(name: str) -> None:
    model = MODELS[name]
    again = build("feedback", json.loads(json.dumps(plain(model))))
    assert type(again) is type(model)
    assert plain(again) == plain(model)
    rng = np.random.default_rng(11)
    played = rng.random((60, 2, 2)) < 0.6
    earned, chance = rng.random(played.shape) * played, rng.random(played.shape)
    given = chance if model.traits.random else None
    assert (run(model, played, earned, given)[0] == run(again, played, earned, given)[0]).all()


@pytest.mark.parametrize("name", ["adversary", "kernel, function"])
def test_a_function_has_no_plain_form(name: str) -> None:
    with pytest.raises(StateError, match=r"^the function .* cannot be saved: make it a registered part"):
        plain(MODELS[name])


def test_the_best_arm_is_that_of_the_largest_mean_unless_it_is_given() -> None:
    means, rng = np.array([0.3, 0.9, 0.5, 0.1]), np.random.default_rng(13)
    played = plays(rng, 80, most=3)
    played[20:50, :, 1] = True
    earned = rng.random(played.shape) * played
    found, given = (
        NonOblivious(2).open_for(means, None, (LANES, ARMS), 80),
        NonOblivious(2, best=1).open((LANES, ARMS), 80),
    )
    for who, rewards in zip(played, earned, strict=True):
        assert (found.send(who, rewards, None).rewards == given.send(who, rewards, None).rewards).all()


def test_the_best_arm_may_differ_between_lanes() -> None:
    means = np.array([[0.9, 0.1], [0.1, 0.9]])
    rng = np.random.default_rng(14)
    played = np.ones((30, 2, 2), dtype=bool)
    earned = rng.random(played.shape)
    both = NonOblivious(2).open_for(means, None, (2, 2), 30)
    single = [NonOblivious(2, best=lane).open((1, 2), 30) for lane in range(2)]
    for who, rewards in zip(played, earned, strict=True):
        sums = both.send(who, rewards, None).rewards
        for lane, channel in enumerate(single):
            assert (sums[lane] == channel.send(who[lane : lane + 1], rewards[lane : lane + 1], None).rewards[0]).all()


def test_without_an_environment_the_best_arm_must_be_given() -> None:
    with pytest.raises(EvenhandError, match=r"^best must be the index of an arm, because there is no environment"):
        NonOblivious(2).flow(lanes=1, rounds=5)


@pytest.mark.parametrize("name", MODELS)
def test_only_random_delays_take_chance(name: str) -> None:
    assert MODELS[name].traits.anonymous
    assert MODELS[name].traits.random == isinstance(MODELS[name], RandomDelay)
    expected = isinstance(MODELS[name], RandomDelay | NonOblivious | Adversary) or name == "kernel, by arm"
    assert MODELS[name].by_arm == expected


@pytest.mark.parametrize("name", MODELS)
def test_channels_do_not_share_what_is_under_way(name: str) -> None:
    model, rng = MODELS[name], np.random.default_rng(12)
    played = np.ones((30, 2, 2), dtype=bool)
    chance = rng.random(played.shape) if model.traits.random else None
    busy = run(model, played, rng.random(played.shape), chance)[0]
    assert busy.sum() > 0.0 or name in ("kernel, all zero", "bounded, beyond the horizon")
    assert (run(model, played, np.zeros(played.shape), chance)[0] == 0.0).all()


# --- How late rewards are ---------------------------------------------------------------------------------------------

SUMMABLE: dict[str, Profile] = {
    "bounded": Bounded(3, 7),
    "bounded from 0": Bounded(0, 2),
    "decreasing": Decreasing(9),
    "increasing": Increasing(9),
    "discounted": Discounted(0.8),
    "polynomial": Polynomial(6.0),
}


@pytest.mark.parametrize("profile", SUMMABLE.values(), ids=list(SUMMABLE))
def test_lateness_is_what_a_play_still_sends(profile: Profile) -> None:
    """What has not come before round l of a play's total of 1, summed over l."""
    left = 1.0 - np.cumsum(parts(profile, 400))[:-1]  # from round l on, l = 1, 2, …
    np.testing.assert_allclose(profile.tail(np.arange(1.0, 20.0)), left[:19], atol=1e-9)
    assert lateness(profile, [0.25, 0.75, 0.5]) == pytest.approx(0.75 * left.sum(), abs=1e-6)
    # Of 0 and 1: the largest variance is that of the mean 0.5.
    assert lateness_variance(profile, [0.25, 0.75, 0.5]) == pytest.approx(0.25 * (left**2).sum(), abs=1e-6)
    assert lateness_variance(profile, [0.25, 0.75], [0.01, 0.09]) == pytest.approx(0.09 * (left**2).sum(), abs=1e-6)


def test_lateness_of_a_random_delay() -> None:
    # Delays 1, 2, 3: W = 1, 2/3, 1/3. Means 0.5 and 0.9: Var of a 0 or 1 with chance s W.
    # l = 1: 0.25, 0.09; l = 2: 1/3 · 2/3, 0.6 · 0.4; l = 3: 1/6 · 5/6, 0.3 · 0.7.
    profile = RandomDelay(1, 3)
    assert lateness(profile, [0.5, 0.9]) == pytest.approx(0.9 * 2.0)
    assert lateness_variance(profile, [0.5, 0.9]) == pytest.approx(0.25 + 0.24 + 0.21)
    # A total that is 1/2 for sure and comes after l rounds or more with chance W: Var = W (1 − W)/4.
    assert lateness_variance(profile, [0.5], [0.0]) == pytest.approx((2 / 9 + 2 / 9) / 4)


@pytest.mark.parametrize(("exponent", "mean", "square"), [(2.0, math.inf, True), (1.5, math.inf, False)])
def test_some_powers_are_late_for_ever(exponent: float, mean: float, square: bool) -> None:
    profile = Polynomial(exponent)
    assert profile.tail_sums()[0] == mean
    assert math.isfinite(profile.tail_sums()[1]) is square


def test_the_squares_of_a_slow_power() -> None:
    # Σ (ζ(2, l)/ζ(2))²: 3 ζ(3)/ζ(2)² by summation by parts.
    assert Polynomial(2.0).tail_sums()[1] == pytest.approx(3.0 * 1.2020569031595942 / (math.pi**2 / 6) ** 2, rel=1e-9)
