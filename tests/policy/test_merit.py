"""Merit functions against fine grids: values, extremes, slopes, and where f(x)(x − λ) is largest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand import EvenhandError
from evenhand.core.state import Array
from evenhand.policy import custom_merit
from evenhand.policy.custom_merit import Custom, as_merit, largest_between
from evenhand.policy.fairness import MeritShares
from evenhand.policy.merit import Linear, Merit, Power, Softmax, Tabulated, Threshold, share_limit

GRID = np.linspace(0.0, 1.0, 2001)
LEVELS = np.linspace(0.0, 1.0, 51)
ROUNDING = 1e-13  # of a value, relative to the largest merit


def wiggle(mean: Array) -> Array:
    return 1.2 + np.sin(14.0 * mean)


def steep(mean: Array) -> Array:
    return 1.0 + 40.0 * mean**3 * (1.5 - mean)


# Beside each the largest slope of the function, inf where there is none; the sine's is 14.
RISING: dict[str, Merit] = {
    "power of the paper": Power(2.0, 4.0),
    "power of the conversion log": Power(3.5, 4.0),
    "power 8": Power(3.5, 8.0),
    "power 1": Power(1.0, 1.0),
    "power 2": Power(3.0, 2.0),  # on the border: β/3 = 1
    "power 1.5": Power(2.0, 1.5),
    "power without slope": Power(0.0, 0.5),
    "linear": Linear(1.0, 1.0),
    "linear falling a little": Linear(-0.5, 1.0),
    "linear flat": Linear(0.0, 2.0),
    "softmax": Softmax(1.0),
    "softmax, warm": Softmax(3.0),
    "threshold without a step": Threshold(0.5, 2.0, 2.0),
    "table": Tabulated([0.0, 0.5, 1.0], [1.0, 1.2, 1.5]),
    "table falling a little": Tabulated([0.0, 0.5, 1.0], [1.0, 0.9, 1.3]),
    "table of two": Tabulated([0.0, 1.0], [2.0, 3.0]),
}
PEAKED: dict[str, Merit] = {
    "power 50": Power(50.0, 4.0),
    "power 200": Power(200.0, 2.0),
    "power 9": Power(40.0, 9.0),
    "power 2.5": Power(30.0, 2.5),
    "power 1.3": Power(60.0, 1.3),
    "power just above the border": Power(3.2, 2.0),
    "power 1 steep": Power(5.0, 1.0),
    "power root": Power(3.0, 0.5),
    "power root steep": Power(80.0, 0.9),
    "power 70": Power(300.0, 70.0),  # no longer by multiplications
    "linear falling": Linear(-0.9, 1.0),
    "linear falling to nearly nothing": Linear(-4.999, 5.0),
    "linear steep": Linear(30.0, 1.0),
    "softmax 0.1": Softmax(0.1),
    "softmax 0.5": Softmax(0.5),
    "softmax 0.01": Softmax(0.01),
    "threshold rising": Threshold(0.6, 1.0, 5.0),
    "threshold falling": Threshold(0.4, 5.0, 1.0),
    "threshold at 1": Threshold(1.0, 5.0, 1.0),
    "table up and down": Tabulated([0.0, 0.2, 0.45, 0.7, 1.0], [1.0, 6.0, 0.5, 7.0, 2.0]),
    "table down and up": Tabulated([0.0, 0.3, 0.6, 1.0], [8.0, 1.0, 1.0, 9.0]),
    "table falling": Tabulated([0.0, 0.5, 1.0], [3.0, 2.0, 0.5]),
    "table convex": Tabulated([0.0, 0.8, 0.9, 1.0], [1.0, 1.0, 5.0, 20.0]),
}
KNOWN = RISING | PEAKED
CUSTOM: dict[str, Custom] = {
    "wiggle": Custom(wiggle, lipschitz=14.0, resolution=200),
    "steep": Custom(steep, resolution=200),
    "wiggle, coarse": Custom(wiggle, lipschitz=14.0, resolution=7),
    "wiggle, of two steps": Custom(wiggle, lipschitz=14.0, resolution=2),
}


def gain(merit: Merit, x: Array, level: Array | float) -> Array:
    return np.asarray(merit(x) * (x - level))


# --- Values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("merit", "at_0", "at_half", "at_1"),
    [
        (Power(2.0, 4.0), 1.0, 1.125, 3.0),
        (Power(3.5, 6.0), 1.0, 1.0 + 3.5 / 64.0, 4.5),
        (Power(2.0, 1.0), 1.0, 2.0, 3.0),
        (Power(2.0, 0.5), 1.0, 1.0 + 2.0 * math.sqrt(0.5), 3.0),
        (Power(2.0, 2.5), 1.0, 1.0 + 2.0 * 0.5**2.5, 3.0),
        (Power(1.0, 65.0), 1.0, 1.0 + 0.5**65, 2.0),
        (Linear(-0.5, 2.0), 2.0, 1.75, 1.5),
        (Softmax(0.5), 1.0, math.e, math.exp(2.0)),
        (Threshold(0.5, 1.0, 4.0), 1.0, 4.0, 4.0),
        (Threshold(0.6, 3.0, 2.0), 3.0, 3.0, 2.0),
        (Tabulated([0.0, 0.25, 1.0], [1.0, 4.0, 1.0]), 1.0, 3.0, 1.0),
        (Custom(wiggle), 1.2, 1.2 + math.sin(7.0), 1.2 + math.sin(14.0)),
    ],
    ids=repr,
)
def test_values(merit: Merit, at_0: float, at_half: float, at_1: float) -> None:
    assert merit(np.array([0.0, 0.5, 1.0])) == pytest.approx(np.array([at_0, at_half, at_1]), rel=1e-14)
    # Of any shape, place by place.
    square = np.array([[0.5, 0.0], [1.0, 0.5]])
    assert merit(square) == pytest.approx(np.array([[at_half, at_0], [at_1, at_half]]), rel=1e-14)


@pytest.mark.parametrize("exponent", [*range(1, 66), 100, 1.5, 3.25])
def test_powers_are_powers(exponent: float) -> None:
    exact = [1.0 + 2.0 * float(x) ** exponent for x in GRID[::100]]
    assert Power(2.0, float(exponent))(GRID[::100]) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("merit", [*KNOWN.values(), *CUSTOM.values()], ids=[*KNOWN, *CUSTOM])
def test_the_extremes_are_those_of_a_grid(merit: Merit) -> None:
    grid = merit._grid if isinstance(merit, Custom) else GRID
    values = merit(grid)
    # Every extreme of these functions lies at 0, at 1, at a step or at a point of a table, all on the grid.
    assert merit.minimum == pytest.approx(values.min(), rel=1e-14)
    assert merit.maximum == pytest.approx(values.max(), rel=1e-14)
    assert merit.minimum > 0.0


SMOOTH = {name: merit for name, merit in KNOWN.items() if math.isfinite(merit.lipschitz)}


@pytest.mark.parametrize("merit", SMOOTH.values(), ids=SMOOTH)
def test_the_lipschitz_constant_is_the_steepest_slope_of_a_grid(merit: Merit) -> None:
    # Secants never exceed it; where the slope is steepest, at 0 or at 1 or along a line, a short one comes near.
    secants = np.abs(np.diff(merit(GRID))) / np.diff(GRID)
    short = np.array([0.0, 1e-6, 1.0 - 1e-6, 1.0])
    ends = np.abs(np.diff(merit(short)))[[0, 2]] / 1e-6
    steepest = max(secants.max(), ends.max())
    # A secant of length 1e-6 is off by the rounding of the two values, 1e-16 f, divided by its length.
    noise = 1e-9 * merit.maximum
    assert steepest <= merit.lipschitz + noise
    assert steepest >= merit.lipschitz * (1.0 - 1e-4) - noise


@pytest.mark.parametrize("merit", [Power(3.0, 0.5), Power(80.0, 0.9), Threshold(0.6, 1.0, 5.0)], ids=repr)
def test_where_there_is_no_lipschitz_constant_slopes_grow_without_end(merit: Merit) -> None:
    assert merit.lipschitz == math.inf
    at = merit.at if isinstance(merit, Threshold) else 0.0
    slopes = []
    for width in (1e-3, 1e-6, 1e-9, 1e-12):
        pair = merit(np.array([max(at - width, 0.0), at + width]))
        slopes.append(float(pair[1] - pair[0]) / width)
    assert (np.diff(slopes) > 0.5 * np.array(slopes[:-1])).all()


def test_a_measured_lipschitz_constant_is_the_steepest_step_of_the_grid() -> None:
    # f = 1 + 2 μ on 4 steps: 2 everywhere. A chord of 1.2 + sin 14 μ over a step of 1/1000 has a slope of
    # 2000 sin(0.007) |cos| of its middle, and the first one that of 1000 sin(0.014).
    assert Custom(lambda mean: 1.0 + 2.0 * mean, resolution=4).lipschitz == pytest.approx(2.0, rel=1e-12)
    assert 1000.0 * math.sin(0.014) <= Custom(wiggle).lipschitz <= 2000.0 * math.sin(0.007)
    assert Custom(wiggle, lipschitz=20.0).lipschitz == 20.0


def test_a_custom_merit_is_any_merit() -> None:
    # From the grid the same as from the formula, for a function whose extremes are on the grid.
    plain, own = Power(3.0, 2.0), Custom(lambda mean: 1.0 + 3.0 * mean**2)
    assert (own.minimum, own.maximum) == (plain.minimum, plain.maximum)
    assert own.lipschitz == pytest.approx(plain.lipschitz, rel=1e-3)  # the last step: 6 − 3/1000


# --- Rising ----------------------------------------------------------------------------------------------------------


def falls_somewhere(merit: Merit) -> bool:
    """Whether f(x)(x − λ) falls between neighbours of a grid, for some λ of a grid."""
    allowed = ROUNDING * merit.maximum
    return any(bool((np.diff(gain(merit, GRID, level)) < -allowed).any()) for level in LEVELS)


@pytest.mark.parametrize("merit", RISING.values(), ids=RISING)
def test_what_is_said_to_rise_rises_for_every_level(merit: Merit) -> None:
    assert merit.rises
    assert not falls_somewhere(merit)


@pytest.mark.parametrize(
    "merit", [*PEAKED.values(), CUSTOM["wiggle"], CUSTOM["steep"]], ids=[*PEAKED, "wiggle", "steep"]
)
def test_what_is_not_said_to_rise_falls_for_some_level(merit: Merit) -> None:
    assert not merit.rises
    assert falls_somewhere(merit)


@pytest.mark.parametrize("exponent", [1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 20.0])
def test_the_border_of_powers_is_the_closed_form(exponent: float) -> None:
    # β ((c − 1)/(c + 1))^(c − 1) = 1: for c = 4 at (5/3)³ = 4.63.
    border = ((exponent + 1.0) / (exponent - 1.0)) ** (exponent - 1.0) if exponent > 1.0 else 1.0
    below, above = Power(border * 0.99, exponent), Power(border * 1.01, exponent)
    assert (below.rises, above.rises) == (True, False)
    assert (falls_somewhere(below), falls_somewhere(above)) == (False, True)


@pytest.mark.parametrize("exponent", [2.0, 4.0, 6.0, 8.0])
def test_the_papers_settings_lie_within_the_border(exponent: float) -> None:
    assert Power(2.0, exponent).rises
    assert exponent == 2.0 or Power(3.5, exponent).rises  # β = 3.5 goes with c = 4 there


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (Linear(0.999, 1.0), Linear(1.01, 1.0)),  # a + b(2x − λ) at x = 0, λ = 1: b ≤ a
        (Linear(-0.499, 1.0), Linear(-0.51, 1.0)),  # at x = 1, λ = 0: b ≥ −a/2
        (Softmax(1.001), Softmax(0.99)),
        # From (0, 1) to (0.1, 1 + d): f + f'(x − λ) at x = 0, λ = 1 is 1 − 10 d.
        (Tabulated([0.0, 0.1, 1.0], [1.0, 1.099, 2.0]), Tabulated([0.0, 0.1, 1.0], [1.0, 1.102, 2.0])),
        # From (0.5, 1) to (1, 1 − d): f + f'(x − λ) at x = 1, λ = 0 is 1 − d − 2 d.
        (Tabulated([0.0, 0.5, 1.0], [1.0, 1.0, 0.667]), Tabulated([0.0, 0.5, 1.0], [1.0, 1.0, 0.66])),
    ],
    ids=repr,
)
def test_the_border_of_the_others(inside: Merit, outside: Merit) -> None:
    assert (inside.rises, outside.rises) == (True, False)
    assert (falls_somewhere(inside), falls_somewhere(outside)) == (False, True)


@pytest.mark.parametrize("merit", KNOWN.values(), ids=KNOWN)
def test_of_any_function_the_grid_tells_whether_it_rises(merit: Merit) -> None:
    assert Custom(merit, resolution=2000).rises == merit.rises
    assert Custom(merit, resolution=1).rises  # from 0, or less, to f(1), and from −f(0) to 0


# --- Peaks -----------------------------------------------------------------------------------------------------------


def intervals(number: int, seed: int) -> tuple[Array, Array, Array]:
    """Lower ends, upper ends and levels: wide and narrow ones, points, and the ends 0 and 1."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.random((2, number)), axis=0)
    narrow = rng.random(number) < 0.3
    high = np.where(narrow, np.minimum(low + 0.05 * rng.random(number), 1.0), high)
    low = np.where(rng.random(number) < 0.2, 0.0, low)
    high = np.where(rng.random(number) < 0.2, 1.0, high)
    low = np.where(rng.random(number) < 0.1, high, low)
    level = np.where(rng.random(number) < 0.2, rng.integers(0, 2, number), rng.random(number))
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # 0 alone, 1 alone, everything
    low = np.concatenate([low, *([corners[:, 0]] * 3)])
    high = np.concatenate([high, *([corners[:, 1]] * 3)])
    level = np.concatenate([level, np.repeat([0.0, 0.5, 1.0], 3)])
    return low, high, level


def best_by_force(merit: Merit, low: Array, high: Array, level: Array) -> Array:
    """The largest f(x)(x − λ) on a grid of each interval, and on a finer one about the best point."""
    parts = np.linspace(0.0, 1.0, 401)
    values = np.full(low.shape, -np.inf)
    for _ in range(2):
        points = low[:, np.newaxis] + (high - low)[:, np.newaxis] * parts
        points = np.minimum(points, high[:, np.newaxis])  # low + (high − low) may exceed high by a rounding error
        found = gain(merit, points, level[:, np.newaxis])
        place = found.argmax(axis=-1)
        values = np.maximum(values, found.max(axis=-1))
        rows = np.arange(len(low))
        low, high = points[rows, np.maximum(place - 1, 0)], points[rows, np.minimum(place + 1, 400)]
    return values


@pytest.mark.parametrize("merit", KNOWN.values(), ids=KNOWN)
def test_no_point_of_the_interval_beats_the_peak(merit: Merit) -> None:
    low, high, level = intervals(400, seed=5)
    peak = merit.peak(low[:, np.newaxis], high[:, np.newaxis], level[:, np.newaxis])[:, 0]
    assert ((low <= peak) & (peak <= high)).all()
    missed = best_by_force(merit, low, high, level) - gain(merit, peak, level)
    assert missed.max() <= ROUNDING * merit.maximum


@pytest.mark.parametrize("merit", CUSTOM.values(), ids=CUSTOM)
def test_the_peak_of_a_custom_merit_is_within_its_bound(merit: Custom) -> None:
    low, high, level = intervals(400, seed=6)
    peak = merit.peak(low[:, np.newaxis], high[:, np.newaxis], level[:, np.newaxis])[:, 0]
    assert ((low <= peak) & (peak <= high)).all()
    slope = 14.0 if merit.function is wiggle else 33.75  # 40 (4.5 x² − 4 x³) at x = 3/4
    most = merit(GRID).max()
    bound = (slope + most) / (2.0 * merit.resolution)
    missed = best_by_force(merit, low, high, level) - gain(merit, peak, level)
    assert missed.max() <= bound
    if merit.resolution == 200:
        # The grid is finer than the wiggles, so that golden sections end at the summit.
        assert missed.max() <= 1e-9


def spikes(mean: Array) -> Array:
    """Three peaks, each as wide as some twenty steps of the grid."""
    peaks = np.array([0.1503, 0.5, 0.8887])
    return np.asarray(1.0 + 5.0 * np.exp(-(((mean[..., np.newaxis] - peaks) / 0.01) ** 2)).sum(axis=-1))


def steps(mean: Array) -> Array:
    return np.where(mean < 0.377123, 5.0, 1.0) + np.where((mean > 0.6) & (mean < 0.6057), 9.0, 0.0)


def one_point(mean: Array) -> Array:
    return np.where(mean == 0.5, 50.0, 1.0)


# Beside each the largest slope; None where it jumps. That of a spike is 5 sqrt(2/e)/0.01.
HARD = {
    "spikes": (spikes, 429.0),
    "many modes": (lambda mean: 2.0 + np.sin(400.0 * mean), 400.0),
    "many equal peaks": (lambda mean: 1.0 + np.round(mean * 1000.0) % 2.0, None),
    "steps": (steps, None),
    "one point": (one_point, None),
    "falling": (lambda mean: 1.0 - 0.9 * mean, 0.9),
    "falling steeply": (lambda mean: 0.01 + np.exp(-50.0 * mean), 50.0),
    "rising steeply": (lambda mean: 1.0 + 40.0 * mean**80, 3200.0),
}


@pytest.mark.parametrize(("function", "slope"), HARD.values(), ids=HARD)
def test_no_point_of_the_grid_beats_the_peak_of_a_hard_function(function: Any, slope: float | None) -> None:
    merit = Custom(function)
    assert not merit.rises
    low, high, level = intervals(2000, seed=8)
    peak = merit.peak(low[:, np.newaxis], high[:, np.newaxis], level[:, np.newaxis])[:, 0]
    assert ((low <= peak) & (peak <= high)).all()
    reached = gain(merit, peak, level)
    grid = np.linspace(0.0, 1.0, 1001)
    inside = (grid >= low[:, np.newaxis]) & (grid <= high[:, np.newaxis])
    on_grid = np.where(inside, gain(merit, grid, level[:, np.newaxis]), -np.inf).max(axis=1)
    assert (reached >= np.maximum(on_grid, np.maximum(gain(merit, low, level), gain(merit, high, level)))).all()
    if slope is not None:
        missed = best_by_force(merit, low, high, level) - reached
        assert missed.max() <= (slope + merit.maximum) / (2.0 * merit.resolution)


def test_the_largest_value_of_a_stretch_is_the_first_of_the_largest() -> None:
    rng = np.random.default_rng(9)
    for places in (1, 2, 3, 7, 8, 9, 64, 65, 100):
        for steps in (1, 3, 1_000_000):  # all equal, many equal, hardly any
            values = np.floor(steps * rng.random((4, places)))
            first, last = np.sort(rng.integers(0, places, (2, 4, 200)), axis=0)
            first[:, 0], last[:, 0] = 0, places - 1
            found = largest_between(values, first, last)
            for lane in range(4):
                for one, start, end in zip(found[lane], first[lane], last[lane], strict=True):
                    assert one == start + values[lane, start : end + 1].argmax()


def test_lanes_are_searched_apart_from_each_other_however_many_are_held_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    low, high, level = intervals(291, seed=10)
    ends = low.reshape(100, 3), high.reshape(100, 3), level[:100, np.newaxis]
    merit = CUSTOM["wiggle"]
    together = merit.peak(*ends)
    monkeypatch.setattr(custom_merit, "AT_A_TIME", 1)
    assert (merit.peak(*ends) == together).all()


def test_the_bound_of_a_custom_merit_is_needed() -> None:
    # On two steps summits are missed by far more than rounding errors.
    low, high, level = intervals(400, seed=6)
    merit = CUSTOM["wiggle, of two steps"]
    peak = merit.peak(low[:, np.newaxis], high[:, np.newaxis], level[:, np.newaxis])[:, 0]
    assert (best_by_force(merit, low, high, level) - gain(merit, peak, level)).max() > 0.01


@pytest.mark.parametrize("merit", PEAKED.values(), ids=PEAKED)
def test_the_upper_end_is_not_always_the_peak(merit: Merit) -> None:
    # Otherwise the tests above would say nothing of a search.
    low, high, level = intervals(400, seed=5)
    peak = merit.peak(low[:, np.newaxis], high[:, np.newaxis], level[:, np.newaxis])[:, 0]
    assert (peak < high).sum() > 3


def test_peaks_by_hand() -> None:
    one = np.array([[0.0]]), np.array([[1.0]])
    # (1 − 0.9 x)(x − λ): roots 10/9 and λ, top half-way; λ = 0.3: 0.70556.
    assert Linear(-0.9, 1.0).peak(*one, np.array([[0.3]]))[0, 0] == pytest.approx((10 / 9 + 0.3) / 2, rel=1e-12)
    # (1 + 30 x)(x − 0.9) is −0.9 at 0 and 3.1 at 1; on [0, 0.8] −0.9 against −2.5.
    steep_line = Linear(30.0, 1.0)
    assert steep_line.peak(*one, np.array([[0.9]])).tolist() == [[1.0]]
    assert steep_line.peak(np.array([[0.0]]), np.array([[0.8]]), np.array([[0.9]])).tolist() == [[0.0]]
    # 1 + 200 x² and λ = 1: the slope 1 + 200 x (3 x − 2) is 0 at (1 − sqrt(1 − 0.015))/3.
    summit = (1.0 - math.sqrt(1.0 - 0.015)) / 3.0
    found = Power(200.0, 2.0).peak(np.array([[0.0]]), np.array([[0.9]]), np.array([[1.0]]))
    assert found[0, 0] == pytest.approx(summit, rel=1e-9)
    # Just below a falling step: 5 (0.4 − 0) against 1 (1 − 0).
    assert Threshold(0.4, 5.0, 1.0).peak(*one, np.array([[0.0]]))[0, 0] == math.nextafter(0.4, 0.0)
    # (3 − 2 x)(x − 0.5): top at (1.5 + 0.5)/2 = 1.
    assert Tabulated([0.0, 1.0], [3.0, 1.0]).peak(*one, np.array([[0.5]])).tolist() == [[1.0]]
    assert Tabulated([0.0, 1.0], [3.0, 1.0]).peak(*one, np.array([[0.1]]))[0, 0] == pytest.approx(0.8, rel=1e-12)


@pytest.mark.parametrize("merit", [*KNOWN.values(), CUSTOM["wiggle"]], ids=[*KNOWN, "wiggle"])
def test_every_place_is_searched_on_its_own(merit: Merit) -> None:
    # (lanes, arms) with a level a lane, against one interval at a time.
    low, high, level = (values.reshape(-1, 1) for values in intervals(31, seed=7))
    low, high, level = low.reshape(10, 4), high.reshape(10, 4), level[:10]
    together = merit.peak(low, high, level)
    for lane in range(10):
        for arm in range(4):
            alone = merit.peak(low[lane, arm : arm + 1], high[lane, arm : arm + 1], level[lane])
            assert abs(together[lane, arm] - alone[0]) <= ROUNDING


@pytest.mark.parametrize("merit", [*KNOWN.values(), *CUSTOM.values()], ids=[*KNOWN, *CUSTOM])
def test_of_a_point_the_peak_is_the_point(merit: Merit) -> None:
    points = np.array([0.0, 0.2, 0.4, 0.6, 1.0])
    for level in (0.0, 0.37, 1.0):
        assert merit.peak(points, points, np.array([level])).tolist() == points.tolist()


# --- The limit of shares ---------------------------------------------------------------------------------------------


def test_the_share_limit_and_its_border() -> None:
    # (K − 1)/(m − 1) = 6/2 = 3 = 1 + β for the paper's setting.
    share_limit(Power(2.0), arms=7, plays=3)
    share_limit(Power(2.0 * (1.0 + 1e-10)), arms=7, plays=3)  # a rounding error is none of the user's
    with pytest.raises(EvenhandError) as caught:
        share_limit(Power(2.001), arms=7, plays=3)
    assert str(caught.value) == (
        "the largest merit is 3.001 times the smallest; with 7 arms and plays = 3 a share could exceed one from a "
        "ratio of 3 on ((K − 1)/(m − 1)): flatten the merit, or set cap = true to share the excess among the other arms"
    )


@pytest.mark.parametrize(("arms", "plays"), [(7, 1), (2, 2), (5, 5), (1, 1)])
def test_one_play_or_all_arms_know_no_limit(arms: int, plays: int) -> None:
    share_limit(Power(1e6), arms, plays)


@pytest.mark.parametrize(("arms", "plays"), [(3, 2), (4, 3), (5, 2), (10, 7)])
def test_the_limit_is_where_one_arm_of_largest_merit_would_exceed_one(arms: int, plays: int) -> None:
    # p = m r/(r + K − 1), with one arm at r times the merit of the others.
    limit = (arms - 1) / (plays - 1)
    assert plays * limit / (limit + arms - 1) == pytest.approx(1.0, rel=1e-14)
    for merit in (Linear(limit - 1.0, 1.0), Threshold(0.5, limit, 1.0), Tabulated([0.0, 0.5, 1.0], [1.0, limit, 1.0])):
        share_limit(merit, arms, plays)
    more = limit * 1.001
    for merit in (Linear(more - 1.0, 1.0), Threshold(0.5, more, 1.0), Tabulated([0.0, 0.5, 1.0], [1.0, more, 1.0])):
        with pytest.raises(EvenhandError, match=f"from a ratio of {limit:.6g} on"):
            share_limit(merit, arms, plays)


# --- Bad parameters --------------------------------------------------------------------------------------------------


def jump(mean: Array) -> Array:
    return np.where(mean > 0.5, math.inf, 1.0)


def only_one(mean: Any) -> float:
    return 1.0 + float(mean)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Power(beta=-1.0), "beta must be a number of at least 0, got -1.0"),
        (lambda: Power(beta=math.nan), "beta must be a number of at least 0, got nan"),
        (lambda: Power(beta=math.inf), "beta must be a number of at least 0, got inf"),
        (lambda: Power(beta="2"), "beta must be a number, got '2'"),  # type: ignore[arg-type]
        (lambda: Power(exponent=0.0), "exponent must be above 0, got 0"),
        (lambda: Power(exponent=-2.0), "exponent must be a number of at least 0, got -2.0"),
        (lambda: Linear(slope=math.nan), "slope must be a finite number, got nan"),
        (lambda: Linear(intercept=math.inf), "intercept must be a finite number, got inf"),
        (
            lambda: Linear(slope=-1.0, intercept=1.0),
            "a linear merit must be positive for every mean in [0, 1], its smallest value is 0",
        ),
        (
            lambda: Linear(slope=3.0, intercept=-0.5),
            "a linear merit must be positive for every mean in [0, 1], its smallest value is -0.5",
        ),
        (lambda: Softmax(-0.5), "temperature must be a number of at least 0, got -0.5"),
        (lambda: Softmax(0.0), "temperature must be at least 1/700, got 0.0: exp(1/τ) is too large"),
        (lambda: Softmax(0.001), "temperature must be at least 1/700, got 0.001: exp(1/τ) is too large"),
        (lambda: Threshold(at=1.5), "at must be a number in [0, 1], got 1.5"),
        (lambda: Threshold(below=math.nan), "below must be a finite number, got nan"),
        (lambda: Threshold(above=math.inf), "above must be a finite number, got inf"),
        (
            lambda: Threshold(0.5, 0.0, 1.0),
            "a threshold merit must be positive for every mean in [0, 1], its smallest value is 0",
        ),
        (
            lambda: Threshold(0.5, 1.0, -2.0),
            "a threshold merit must be positive for every mean in [0, 1], its smallest value is -2",
        ),
        (
            lambda: Tabulated([0.0, 0.5, 1.0], [1.0, 2.0]),
            "a tabulated merit needs as many merits as means, at least two, got 2 and 3",
        ),
        (lambda: Tabulated([0.0], [1.0]), "a tabulated merit needs as many merits as means, at least two, got 1 and 1"),
        (
            lambda: Tabulated([0.1, 1.0], [1.0, 2.0]),
            "the means of a tabulated merit must rise from 0 to 1, got [0.1, 1.0]",
        ),
        (
            lambda: Tabulated([0.0, 0.5, 0.5, 1.0], [1.0] * 4),
            "the means of a tabulated merit must rise from 0 to 1, got [0.0, 0.5, 0.5, 1.0]",
        ),
        (
            lambda: Tabulated([0.0, 0.9], [1.0, 2.0]),
            "the means of a tabulated merit must rise from 0 to 1, got [0.0, 0.9]",
        ),
        (lambda: Tabulated([0.0, 1.5], [1.0, 2.0]), "means[1] must be a number in [0, 1], got 1.5"),
        (lambda: Tabulated([0.0, 1.0], [1.0, math.nan]), "merits[1] must be a finite number, got nan"),
        (lambda: Tabulated([0.0, 1.0], "12"), "merits must be numbers, one per arm, got '12'"),  # type: ignore[arg-type]
        (
            lambda: Tabulated([0.0, 1.0], [1.0, 0.0]),
            "a tabulated merit must be positive for every mean in [0, 1], its smallest value is 0",
        ),
        (
            lambda: Custom(lambda mean: mean),
            "the merit function must be positive for every mean in [0, 1], its smallest value is 0",
        ),
        (
            lambda: Custom(lambda mean: mean - 2.0),
            "the merit function must be positive for every mean in [0, 1], its smallest value is -2",
        ),
        (
            lambda: Custom(jump),
            "a merit function must return one finite number for each mean in [0, 1], got inf for the mean 0.501",
        ),
        (
            lambda: Custom(lambda mean: np.ones(3)),
            "a merit function must return one finite number for each mean in [0, 1], got shape (3,) for (1001,)",
        ),
        (lambda: Custom(wiggle, lipschitz=-1.0), "lipschitz must be a number of at least 0 or inf, got -1.0"),
        (lambda: Custom(wiggle, resolution=0), "resolution must be at least 1, got 0"),
        (lambda: Custom(wiggle, resolution=1.5), "resolution must be a whole number, got 1.5"),  # type: ignore[arg-type]
        (
            lambda: Power(beta=-1.0, exponent=0.0),
            "beta must be a number of at least 0, got -1.0\nexponent must be above 0, got 0",
        ),
    ],
)
def test_bad_parameters_are_refused(build: Any, message: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        build()
    assert str(caught.value) == message


def test_a_function_of_a_single_number_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"^a merit function must take an array of means; this one raised: "):
        Custom(only_one)  # type: ignore[arg-type]


# --- Any function ----------------------------------------------------------------------------------------------------


def test_any_function_serves_as_merit() -> None:
    own = as_merit(wiggle)
    assert isinstance(own, Custom)
    assert own(np.array([0.5])) == pytest.approx([1.2 + math.sin(7.0)], rel=1e-14)
    for merit in (*KNOWN.values(), *CUSTOM.values()):
        assert as_merit(merit) is merit


@pytest.mark.parametrize("nothing", [None, 2.0, [1.0, 2.0], Power])
def test_what_is_no_function_is_no_merit(nothing: Any) -> None:
    with pytest.raises(EvenhandError) as caught:
        MeritShares(nothing)
    assert str(caught.value) == f"merit must be a function such as Power(beta=2, exponent=4), got {nothing!r}"


def test_a_plain_form_serves_as_merit() -> None:
    assert as_merit({"kind": "power", "beta": 3, "exponent": 2}) == Power(3.0, 2.0)
    assert as_merit("softmax") == Softmax(1.0)  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"^merit: unknown kind 'powr'; did you mean 'power'\?$"):
        MeritShares("powr")  # type: ignore[arg-type]


def test_a_function_that_is_not_positive_is_no_merit() -> None:
    with pytest.raises(EvenhandError, match=r"^the merit function must be positive for every mean in \[0, 1\], "):
        as_merit(lambda mean: mean - 0.5)
