"""Sequences from sums, against the supermartingales of their derivation, row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.core.state import Array
from evenhand.inference import Scores, Sums, difference, mean, simultaneous, weighted
from evenhand.inference.mixtures import REACHES, TILTS, linear, psi
from evenhand.inference.sequences import mean_interval
from evenhand.inference.sums import CENTRES, _against

ROWS = 4000


def rows(seed: int = 0) -> tuple[Array, Array, Array]:
    """Who played, with which chance, and the reward: three arms, the third with a chance of 0.2."""
    rng = np.random.default_rng(seed)
    first = rng.choice([0.1, 0.3, 0.7], ROWS)
    chances = np.stack([first, 0.8 - first, np.full(ROWS, 0.2)], axis=1)
    played = (chances.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    return played, chances, (rng.random(ROWS) < np.array([0.5, 0.2, 0.9])[played]).astype(float)


def scores_of(arm: int, hidden: int = 0, seed: int = 0) -> Scores:
    """The sums of one arm; the rewards of the last rows may not be known."""
    played, chances, rewards = rows(seed)
    mine, known = (played == arm) / chances[:, arm], np.arange(ROWS) < ROWS - hidden
    sums = [
        float((one * known).sum()) for one in (mine, mine * rewards, mine**2, mine**2 * rewards, mine**2 * rewards**2)
    ]
    rest = [np.array((one * ~known).sum()) for one in (mine, mine**2)]
    a, b, c, d, e = map(np.array, sums)
    return Scores(a, b, c, d, e, rest[0], rest[1], chances[:, arm].min())


def test_the_inequality_behind_all_of_it() -> None:
    xi = np.concatenate([np.linspace(-1.0, 3.0, 500), np.geomspace(3.0, 1e6, 200)])
    for tilt in TILTS:
        assert (np.exp(tilt * xi - psi(tilt) * xi**2) <= (1.0 + tilt * xi) * (1 + 1e-12)).all()


def test_a_step_never_passes_the_root() -> None:
    rng = np.random.default_rng(0)
    intercepts, slopes = rng.normal(size=(5, 40)) * 10.0, np.exp(rng.normal(size=(5, 40)))
    found = linear(intercepts, slopes, 3.0)
    left = np.log(np.exp(intercepts - slopes * found).mean(axis=0))
    assert (left >= 3.0 - 1e-9).all()
    assert (left <= 3.001).mean() > 0.8
    assert (found >= ((intercepts - 3.0 - math.log(5.0)) / slopes).max(axis=0)).all()


@pytest.mark.parametrize("hidden", [0, 300])
def test_a_difference_is_where_the_supermartingales_of_its_rows_end(hidden: int) -> None:
    """Row by row, with the worst of what is not known: their mean at the lower end is 2/0.05."""
    played, chances, rewards = rows()
    known = np.arange(ROWS) < ROWS - hidden
    a, b = ((played == arm) / chances[:, arm] for arm in (0, 1))
    worst_a, worst_b = np.where(known, rewards, 0.0), np.where(known, rewards, 1.0)
    xi = a * worst_a + b * (1.0 - worst_b) - 1.0
    families = [(xi, tilt, psi(tilt), True) for tilt in TILTS]
    for centre in CENTRES:
        xi, below = a * (worst_a - centre) - b * (worst_b - centre), max(centre, 1.0 - centre) / chances[:, :2].min()
        for reach in REACHES:
            some = TILTS[reach >= TILTS]
            families += [(xi, one, psi(reach) * (one / reach) ** 2, one * below <= reach) for one in some]
    low, _ = weighted(scores_of(0, hidden), scores_of(1, hidden), np.array(float(ROWS)))
    logs = [float((tilt * (xi - low) - cost * xi**2).sum()) for xi, tilt, cost, valid in families if valid]
    assert np.logaddexp.reduce(logs) - math.log(len(families)) == pytest.approx(math.log(40.0), abs=0.01)


def test_exchanged_arms_have_the_negative_interval() -> None:
    low, high = weighted(scores_of(0, 50), scores_of(1, 50), np.array(float(ROWS)))
    assert weighted(scores_of(1, 50), scores_of(0, 50), np.array(float(ROWS))) == (-high, -low)
    assert low < 0.3 < high


def test_rewards_that_are_not_known_and_two_plays_a_round_widen() -> None:
    count = np.array(float(ROWS))
    narrow, late = (weighted(scores_of(0, one), scores_of(1, one), count) for one in (0, 400))
    both = weighted(scores_of(0), scores_of(1), count, together=True)
    assert late[1] - late[0] > 1.2 * (narrow[1] - narrow[0])
    assert 1.2 < (both[1] - both[0]) / (narrow[1] - narrow[0]) < 2.0


def test_known_chances_narrow_a_difference_of_rare_rewards() -> None:
    a, b, c, d = (np.array(one) for one in (2e4, 400.0, 4e4, 800.0))
    first, second = (Scores(a, b, c, d, d, least=least) for least in (0.0, 0.5))
    count = np.array(2e4)
    wide, narrow = (weighted(one, one, count) for one in (first, second))
    assert 2.0 * (narrow[1] - narrow[0]) < wide[1] - wide[0]


def test_a_chance_that_was_tiny_and_never_taken_tells_nothing() -> None:
    """An arm of mean 1 that plays in 500 of the first 1,000 rounds, and then has a chance of 1e-9 for 100,000."""
    zero, once = np.zeros(1), np.array([1000.0])
    never = Scores(zero, zero, zero, zero, zero, least=1.0)
    for least, right in ((1e-9, True), (0.5, False)):  # the second is what was played only
        arm = Scores(once, once, 2.0 * once, 2.0 * once, 2.0 * once, least=np.array([least]))
        _, high = weighted(arm, never, np.array([101_000.0]))
        assert (high[0] >= 1.0) == right


def test_a_mean_is_mirrored_and_never_much_wider_than_by_counts() -> None:
    count, total = np.geomspace(10.0, 1e6, 9), np.geomspace(10.0, 1e6, 9) * 0.05
    low, high = mean(Sums(count, total, total * 0.95))
    back = mean(Sums(count, count - total, total * 0.95))
    assert back[0] == pytest.approx(1.0 - high)
    today = mean_interval(total, total, count)
    assert ((high - low) <= 1.08 * (today[1] - today[0])).all()


def test_a_mean_is_narrow_where_values_vary_little() -> None:
    count = np.array([1e3, 1e4, 1e5])
    low, high = mean(Sums(count, 0.3 * count, 0.0025 * count))
    today = mean_interval(0.3 * count, 0.3 * count, count)
    assert ((high - low) < np.array([0.25, 0.2, 0.15]) * (today[1] - today[0])).all()


def test_unknown_values_may_be_anything() -> None:
    known = Sums(np.array(100.0), np.array(50.0), np.array(1.0))
    low, high = mean(known, unknown=100.0)
    assert low < 0.25
    assert high > 0.75
    assert low == pytest.approx(1.0 - high)


def test_nothing_is_known_of_nothing() -> None:
    nothing = np.zeros(2)
    assert np.array(mean(Sums(nothing, nothing, nothing))).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert np.array(mean(Sums(nothing, nothing))).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert np.array(difference(Sums(nothing, nothing), Sums(nothing, nothing))).tolist() == [[-1.0, -1.0], [1.0, 1.0]]
    empty = Scores(nothing, nothing, nothing, nothing, nothing)
    assert np.array(weighted(empty, empty, nothing)).tolist() == [[-1.0, -1.0], [1.0, 1.0]]


@pytest.mark.parametrize("counts", [(300.0, 300.0), (5000.0, 40.0), (30.0, 2e4)])
def test_a_difference_of_means_is_the_smallest_of_all_that_are_not_refuted(counts: tuple[float, float]) -> None:
    """Over a grid of both means: never above the smallest, and not far below it."""
    first, second = (
        Sums(np.full(2001, count), np.full(2001, count * part), np.full(2001, count * 0.05))
        for count, part in zip(counts, (0.3, 0.6), strict=True)
    )
    grid = np.linspace(0.0, 1.0, 2001)
    (below, _), (above, _) = _against(first, 0.0)[0], _against(second, 0.0)[1]
    left = below(grid)[0][:, None] + above(1.0 - grid)[0][None, :]
    smallest = (grid[:, None] - grid[None, :])[left <= math.log(40.0)].min()
    low, high = difference(first, second)
    assert smallest - 0.03 < low[0] < smallest + 0.001
    assert np.array(difference(second, first)) == pytest.approx(np.array((-high, -low)))
    parts = [mean(one, simultaneous(0.95, 2)) for one in (first, second)]
    assert (high - low < (0.85 if counts[0] == counts[1] else 1.1) * sum(most - least for least, most in parts)).all()


def test_many_arms_are_compared_with_one() -> None:
    many, one = Sums(np.array([50.0, 900.0]), np.array([9.0, 300.0])), Sums(np.array(400.0), np.array(90.0))
    low, high = difference(many, one)
    for place in range(2):
        alone = difference(Sums(many.count[place], many.total[place]), one)
        assert alone == pytest.approx((low[place], high[place]))


def test_several_at_once_have_a_smaller_level_each() -> None:
    assert simultaneous(0.95, 1) == 0.95
    assert simultaneous(0.9, 4) == pytest.approx(0.975)
