"""The confidence box against its formulas, and the best point in a box against brute force and another exact method."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Policy
from evenhand.algorithms import fcucb_d, op_fcucb_d, opse
from evenhand.core.state import ALL_AVAILABLE, Array, Mask, Observation, State, Tally
from evenhand.policy.confidence import ITERATIONS, ConfidenceIntervals, OptimisticShares, optimistic_means
from evenhand.policy.custom_merit import Custom
from evenhand.policy.evidence import Optimistic, Pessimistic
from evenhand.policy.merit import Linear, Merit, Power, Softmax, Tabulated, Threshold
from evenhand.policy.schedule import Elimination

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

ROUNDING = 1e-13  # of a ratio, which is at most 1


def wiggle(mean: Array) -> Array:
    return 1.2 + np.sin(14.0 * mean)


RISING: dict[str, Merit] = {
    "power of the paper": Power(2.0, 4.0),
    "power of the conversion log": Power(3.5, 4.0),
    "linear": Linear(1.0, 1.0),
    "linear falling a little": Linear(-0.5, 1.0),
    "softmax": Softmax(1.0),
    "table falling a little": Tabulated([0.0, 0.5, 1.0], [1.0, 0.9, 1.3]),
}
PEAKED: dict[str, Merit] = {
    "power 50": Power(50.0, 4.0),
    "power 200": Power(200.0, 2.0),
    "power 9": Power(40.0, 9.0),
    "power 1 steep": Power(5.0, 1.0),
    "power root": Power(3.0, 0.5),
    "linear falling": Linear(-0.9, 1.0),
    "linear steep": Linear(30.0, 1.0),
    "softmax 0.1": Softmax(0.1),
    "threshold rising": Threshold(0.6, 1.0, 5.0),
    "threshold falling": Threshold(0.4, 5.0, 1.0),
    "table up and down": Tabulated([0.0, 0.2, 0.45, 0.7, 1.0], [1.0, 6.0, 0.5, 7.0, 2.0]),
    "table convex": Tabulated([0.0, 0.8, 0.9, 1.0], [1.0, 1.0, 5.0, 20.0]),
}
EXACT = RISING | PEAKED
SEARCHED: dict[str, Merit] = {
    "wiggle": Custom(wiggle, lipschitz=14.0, resolution=200),
    "wiggle, coarse": Custom(wiggle, lipschitz=14.0, resolution=9),
    "power 50 as any function": Custom(lambda mean: 1.0 + 50.0 * mean**4, lipschitz=200.0, resolution=200),
}
ALL = EXACT | SEARCHED


def shortfall(merit: Merit) -> float:
    """How far the ratio may stay below the best there is: nothing but rounding, or the documented e / min f."""
    if not isinstance(merit, Custom):
        return ROUNDING
    return float((merit.lipschitz + merit.maximum) / (2.0 * merit.resolution) / merit.minimum)


def ratio(merit: Merit, means: Array) -> Array:
    """What a fair policy earns a play, ``Σ f x / Σ f``, over the last axis."""
    merits = merit(means)
    return np.asarray((merits * means).sum(axis=-1) / merits.sum(axis=-1))


def boxes(arms: int, number: int, seed: int) -> tuple[Array, Array]:
    """Wide and narrow ones; with sides from 0, up to 1, and of length 0."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.random((2, number, arms)), axis=0)
    high = np.where(rng.random(low.shape) < 0.3, np.minimum(low + 0.05, 1.0), high)
    low = np.where(rng.random(low.shape) < 0.2, 0.0, low)
    high = np.where(rng.random(low.shape) < 0.2, 1.0, high)
    return np.where(rng.random(low.shape) < 0.1, high, low), high


def within(means: Array, low: Array, high: Array) -> bool:
    return bool(((low <= means) & (means <= high)).all())


# --- The box ---------------------------------------------------------------------------------------------------------


@st.composite
def tallies(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, float]]]:
    """A round, and pulls, received feedbacks and their sum of some arms."""
    arms = draw(st.integers(1, 5))
    counts = []
    for _ in range(arms):
        pulls = draw(st.integers(0, 200))
        received = draw(st.integers(0, pulls))
        counts.append((pulls, received, received * draw(st.floats(0.0, 1.0))))
    return draw(st.integers(1, 1000)), counts


def box_of(policy: Policy) -> ConfidenceIntervals:
    assert isinstance(policy.index, OptimisticShares)
    assert isinstance(policy.index.confidence, ConfidenceIntervals)
    return policy.index.confidence


def state_of(clock: int, counts: list[tuple[int, int, float]]) -> State:
    pulls, received, sums = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    return State(clock - 1, Tally(pulls, received, sums))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(tallies(), st.integers(1, 5), st.integers(1, 100_000))
def test_the_box_of_the_sixth_theorem(given: tuple[int, list[tuple[int, int, float]]], m: int, horizon: int) -> None:
    clock, counts = given
    low, high = box_of(fcucb_d(Power(), horizon=horizon, plays=m)).of(state_of(clock, counts))
    for arm, (_, received, total) in enumerate(counts):
        c = math.sqrt(math.log(4 * m * len(counts) * horizon) / max(received, 1))
        mean = total / received if received else 0.0
        assert low[arm] == pytest.approx(max(mean - c, 0.0), rel=1e-12, abs=1e-12)
        assert high[arm] == pytest.approx(min(mean + c, 1.0), rel=1e-12)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(tallies(), st.integers(1, 5), st.integers(1, 100_000))
def test_the_box_of_the_eighth_theorem(given: tuple[int, list[tuple[int, int, float]]], m: int, horizon: int) -> None:
    clock, counts = given
    low, high = box_of(op_fcucb_d(Power(), horizon=horizon, plays=m)).of(state_of(clock, counts))
    for arm, (pulls, received, total) in enumerate(counts):
        if not pulls:  # nothing is known
            assert (low[arm], high[arm]) == (0.0, 1.0)
            continue
        c = math.sqrt(math.log(6 * m * len(counts) * horizon) / pulls)
        assert low[arm] == pytest.approx(max(total / pulls - c, 0.0), rel=1e-12, abs=1e-12)
        assert high[arm] == pytest.approx(min((total + pulls - received) / pulls + c, 1.0), rel=1e-12)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(tallies(), st.sampled_from([0.01, 0.1, 1.0]), st.booleans())
def test_the_boxes_of_the_published_code(
    given: tuple[int, list[tuple[int, int, float]]], delta: float, optimistic: bool
) -> None:
    clock, counts = given
    build = op_fcucb_d if optimistic else fcucb_d
    policy = build(Power(), horizon=1, radius="code", delta=delta, plays=3)  # neither T nor m is in it
    low, high = box_of(policy).of(state_of(clock, counts))
    for arm, (pulls, received, total) in enumerate(counts):
        number = max(pulls if optimistic else received, 1)
        c = math.sqrt(math.log((6 if optimistic else 4) * len(counts) * clock / delta) / (2 * number))
        missing = pulls - received if optimistic else 0
        assert low[arm] == pytest.approx(max(total / number - c, 0.0), rel=1e-12, abs=1e-12)
        assert high[arm] == pytest.approx(min((total + missing) / number + c, 1.0), rel=1e-12)


def test_the_box_of_opse() -> None:
    # c = sqrt(2 ln T/N) = 0.37.
    schedule = opse(horizon=1000).schedule
    assert isinstance(schedule, Elimination)
    low, high = schedule.confidence.of(state_of(7, [(100, 70, 60.0), (100, 100, 25.0)]))
    c = math.sqrt(2.0 * math.log(1000) / 100)
    assert low == pytest.approx([0.6 - c, 0.0], rel=1e-12)
    assert high == pytest.approx([1.0, 0.25 + c], rel=1e-12)  # 0.9 + c for the first


def test_boxes_of_several_lanes_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    pulls = rng.integers(0, 50, (4, 3)).astype(float)
    received = np.floor(pulls * rng.random((4, 3)))
    sums = received * rng.random((4, 3))
    for box in (
        ConfidenceIntervals(100.0),
        ConfidenceIntervals(9.0, 0.5, anytime=True, lower=Pessimistic(), upper=Optimistic()),
    ):
        low, high = box.of(State(5, Tally(pulls, received, sums)))
        for lane in range(4):
            alone = box.of(State(5, Tally(pulls[lane], received[lane], sums[lane])))
            assert low[lane].tolist() == alone[0].tolist()
            assert high[lane].tolist() == alone[1].tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inside": 0.5}, r"^inside must be a number of at least 1, got 0\.5$"),
        ({"inside": math.nan}, r"^inside must be a number of at least 1, got nan$"),
        ({"inside": 10.0, "scale": -1.0}, r"^scale must be a number of at least 0, got -1\.0$"),
    ],
)
def test_bad_boxes_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        ConfidenceIntervals(**parameters)


# --- The best point, by force ----------------------------------------------------------------------------------------


def best_by_force(merit: Merit, low: Array, high: Array, points: int) -> float:
    """The largest ratio on a product grid, and on a finer one about the best of its points."""
    best = -math.inf
    for _ in range(2):
        lines = [np.minimum(np.linspace(a, b, points), b) for a, b in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
        values = ratio(merit, grid)
        place = np.unravel_index(int(values.argmax()), values.shape)
        best = max(best, float(values[place]))
        low = np.array([line[max(int(i) - 1, 0)] for line, i in zip(lines, place, strict=True)])
        high = np.array([line[min(int(i) + 1, points - 1)] for line, i in zip(lines, place, strict=True)])
    return best


@pytest.mark.parametrize("merit", ALL.values(), ids=ALL)
@pytest.mark.parametrize(("arms", "points", "number"), [(2, 121, 20), (3, 31, 10)], ids=["2", "3"])
def test_no_point_of_a_grid_beats_the_best(merit: Merit, arms: int, points: int, number: int) -> None:
    low, high = boxes(arms, number, seed=arms)
    for place in range(number):
        found = optimistic_means(merit, low[place], high[place])
        assert within(found, low[place], high[place])
        most = best_by_force(merit, low[place], high[place], points)
        assert most - float(ratio(merit, found)) <= shortfall(merit)


# --- ... and by another exact method ---------------------------------------------------------------------------------


def by_bisection(merit: Merit, low: Array, high: Array, steps: int = 800) -> tuple[float, float]:
    """The largest ratio, from below and from above.

    It is the λ at which ``Σ max_x f(x)(x − λ)``, which falls in λ, is 0. The maxima are taken over one grid an arm,
    which misses each by at most (M + max f) h/2 with h the step: λ by that over min f.
    """
    lines = np.minimum(np.linspace(low, high, steps + 1), high)
    merits = merit(lines)
    left, right = 0.0, 1.0
    for _ in range(60):
        level = (left + right) / 2.0
        if (merits * (lines - level)).max(axis=0).sum() > 0.0:
            left = level
        else:
            right = level
    step = float((high - low).max()) / steps
    missed = (merit.lipschitz + merit.maximum) * step / 2.0 / merit.minimum if step > 0.0 else 0.0
    return left, right + missed


@pytest.mark.parametrize("merit", ALL.values(), ids=ALL)
@pytest.mark.parametrize("arms", [1, 2, 7, 50])
def test_the_best_is_the_root_of_the_sum_of_peaks(merit: Merit, arms: int) -> None:
    low, high = boxes(arms, 3, seed=100 + arms)
    for place in range(len(low)):
        found = optimistic_means(merit, low[place], high[place])
        assert within(found, low[place], high[place])
        least, most = by_bisection(merit, low[place], high[place])
        assert least - shortfall(merit) <= float(ratio(merit, found)) <= most + ROUNDING


def test_the_best_by_hand() -> None:
    # f = 1 + 5 x on [0, 0.3] beside an arm known to be 0.9, f = 5.5. The second arm at an end: x = 0.3 gives
    # (4.95 + 0.75)/8, and x = 0 gives 4.95/6.5.
    low, high = np.array([0.9, 0.0]), np.array([0.9, 0.3])
    assert optimistic_means(Power(5.0, 1.0), low, high).tolist() == [0.9, 0.0]
    assert 4.95 / 6.5 > 5.7 / 8
    # f = 5 below 0.4 and 1 from there on: just below the step for an arm that may be anything up to 0.5, beside one
    # that is surely 0: 5 · 0.4/(5 + 5) against 0.5/(1 + 5).
    found = optimistic_means(Threshold(0.4, 5.0, 1.0), np.array([0.0, 0.0]), np.array([0.5, 0.0]))
    assert found.tolist() == [math.nextafter(0.4, 0.0), 0.0]
    # Where f(x)(x − λ) rises, the upper ends.
    assert optimistic_means(Power(2.0, 4.0), np.array([0.1, 0.2]), np.array([0.5, 0.9])).tolist() == [0.5, 0.9]


# --- Where the upper ends are wrong ----------------------------------------------------------------------------------

C1 = np.array([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4])  # the means of Chen et al. 2024, section 6


@pytest.mark.parametrize(("radius", "margin"), [(0.05, 0.01), (0.1, 0.02), (0.2, 0.035), (0.3, 0.04), (0.4, 0.03)])
def test_at_a_steep_merit_the_exact_point_beats_the_upper_ends(radius: float, margin: float) -> None:
    # β = 50, c = 4: by 0.01 to 0.04 a play, of about 0.9.
    merit, low, high = Power(50.0, 4.0), np.maximum(C1 - radius, 0.0), np.minimum(C1 + radius, 1.0)
    found = optimistic_means(merit, low, high)
    assert float(ratio(merit, found)) - float(ratio(merit, high)) > margin
    # At the paper's β the upper ends are the best there is, whatever point is tried.
    plain, rng = Power(2.0, 4.0), np.random.default_rng(0)
    assert optimistic_means(plain, low, high).tolist() == high.tolist()
    tried = low + (high - low) * rng.random((20_000, 7)) ** 0.2
    assert ratio(plain, tried).max() < float(ratio(plain, high))


def test_a_steep_merit_has_its_peak_within_the_interval() -> None:
    # Neither end: of [0, 0.4] beside an arm that may reach 0.9.
    merit = Power(50.0, 4.0)
    found = optimistic_means(merit, np.array([0.0, 0.1]), np.array([0.9, 0.4]))
    assert found[0] == 0.9
    assert 0.11 < found[1] < 0.39
    # It is a stationary point of the ratio: f'(x)(x − λ) + f(x) = 0.
    level, x = float(ratio(merit, found)), float(found[1])
    assert 200.0 * x**3 * (x - level) + 1.0 + 50.0 * x**4 == pytest.approx(0.0, abs=1e-12)


# --- Lanes, sleeping arms, iterations --------------------------------------------------------------------------------


@pytest.mark.parametrize("merit", ALL.values(), ids=ALL)
def test_lanes_side_by_side_are_those_of_each(merit: Merit) -> None:
    # Lanes that are done early wait for the others without moving.
    low, high = boxes(7, 12, seed=3)
    together = optimistic_means(merit, low, high)
    for lane in range(12):
        # To the last digits, which a root that is found by Newton's method owes to the number of its steps.
        assert together[lane] == pytest.approx(optimistic_means(merit, low[lane], high[lane]), abs=1e-13)


@pytest.mark.parametrize("merit", ALL.values(), ids=ALL)
def test_sleeping_arms_do_not_count(merit: Merit) -> None:
    low, high = boxes(6, 8, seed=4)
    awake: Mask = np.random.default_rng(4).random((8, 6)) < 0.6
    awake[0], awake[1] = True, np.eye(6, dtype=bool)[2]
    together = optimistic_means(merit, low, high, awake)
    assert within(together, low, high)
    for lane in range(8):
        arms = awake[lane]
        alone = optimistic_means(merit, low[lane][arms], high[lane][arms])
        # The same sums but for zeros between the terms, so that levels may differ in their last digit.
        reached, expected = (float(ratio(merit, means)) for means in (together[lane][arms], alone))
        assert reached == pytest.approx(expected, rel=1e-13)
        assert together[lane][arms] == pytest.approx(alone, abs=1e-7)


def test_where_all_sleep_any_point_will_do() -> None:
    low, high = boxes(3, 1, seed=1)
    asleep = np.zeros((1, 3), dtype=bool)
    for merit in ALL.values():
        assert within(optimistic_means(merit, low, high, asleep), low, high)


class Counted(Merit):
    """A merit that counts how often it is asked for peaks, and never says that it rises."""

    rises = False
    minimum = maximum = lipschitz = 1.0  # the iteration asks for none of them

    def __init__(self, merit: Merit) -> None:
        self.merit, self.asked = merit, 0

    def __call__(self, mean: Array) -> Array:
        return self.merit(mean)

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        self.asked += 1
        return self.merit.peak(low, high, level)


@pytest.mark.parametrize("merit", EXACT.values(), ids=EXACT)
def test_few_iterations_are_needed(merit: Merit) -> None:
    for arms, lanes in product((1, 2, 7, 50), (1, 200)):
        low, high = boxes(arms, lanes, seed=arms)
        counted = Counted(merit)
        optimistic_means(counted, low, high)
        assert 1 <= counted.asked <= 10 < ITERATIONS


def test_levels_only_grow() -> None:
    # Dinkelbach's iteration: every level is the ratio reached before, and no lower than the one before it.
    class Noted(Counted):
        levels: list[float] = []  # noqa: RUF012

        def peak(self, low: Array, high: Array, level: Array) -> Array:
            self.levels.append(float(level[0]))
            return super().peak(low, high, level)

    low, high = boxes(7, 1, seed=9)
    noted = Noted(Power(50.0, 4.0))
    found = optimistic_means(noted, low[0], high[0])
    assert len(noted.levels) > 2
    assert noted.levels[0] == pytest.approx(float(ratio(noted.merit, high[0])), rel=1e-14)
    assert (np.diff(noted.levels) >= 0.0).all()
    assert noted.levels[-1] == pytest.approx(float(ratio(noted.merit, found)), rel=1e-14)


# --- As an index -----------------------------------------------------------------------------------------------------


def test_the_index_is_the_best_point_of_the_box() -> None:
    box, merit = ConfidenceIntervals(50.0, lower=Pessimistic(), upper=Optimistic()), Power(50.0, 4.0)
    index = OptimisticShares(box, merit)
    state = state_of(30, [(100, 90, 30.0), (900, 900, 800.0), (5, 0, 0.0)])
    low, high = box.of(state)
    rng = np.random.default_rng(0)
    assert index.score(state, ALL_AVAILABLE, rng).tolist() == optimistic_means(merit, low, high).tolist()
    awake = np.array([True, True, False])
    assert index.score(state, Observation(awake), rng).tolist() == optimistic_means(merit, low, high, awake).tolist()
    # Arm 3 may be 1 as far as is known; whether it counts changes the point for the first.
    assert index.score(state, ALL_AVAILABLE, rng)[0] != index.score(state, Observation(awake), rng)[0]
    assert not index.traits.random


def test_the_index_of_what_is_not_known_is_one() -> None:
    policy = Policy(index=OptimisticShares(ConfidenceIntervals(1000.0), Power(50.0, 4.0)))
    assert policy.index.score(policy.start(arms=4), ALL_AVAILABLE, np.random.default_rng(0)).tolist() == [1.0] * 4
