"""Shares in proportion to weights, none above one: against exact fractions, and against a method that sorts."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand.core.state import Array
from evenhand.policy.merit import Power
from evenhand.policy.shares import proportional

ROUNDING = 1e-14  # of a share; sums of up to ten numbers, a quotient and a product


def filled(weights: list[Fraction], plays: int) -> list[Fraction]:
    """``min(c w, 1)`` with Σ = m: the largest weights are cut off one after the other, exactly.

    With the k largest at one the others share m − k; k is the first number for which none of them exceeds one.
    """
    order = sorted(range(len(weights)), key=lambda arm: -weights[arm])
    for k in range(min(plays, len(weights)) + 1):
        rest = order[k:]
        total = sum((weights[arm] for arm in rest), Fraction(0))
        shares = {arm: (plays - k) * weights[arm] / total for arm in rest}
        if all(share <= 1 for share in shares.values()):
            break
    return [shares.get(arm, Fraction(1)) for arm in range(len(weights))]


def close(found: Array, expected: list[Fraction]) -> bool:
    return all(abs(Fraction(float(a)) - b) <= Fraction(ROUNDING) for a, b in zip(found.ravel(), expected, strict=True))


WEIGHTS = st.one_of(
    st.integers(1, 12).map(float),  # small whole numbers, so that shares of exactly one and ties are common
    st.floats(1e-6, 1e6),
    st.floats(1.0, 51.0),
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(WEIGHTS, min_size=1, max_size=10), st.integers(1, 10))
@example([1.0, 1.0, 2.0], 2)
@example([1.0, 1.0, 8.0], 2)
@example([1.0, 1.0, 1.0, 3.0, 9.0], 3)  # 9 is cut first, and then 3 exceeds one
@example([1.0, 10.0, 100.0, 1000.0], 3)
@example([5.0], 1)
def test_shares_are_the_exact_ones(weights: list[float], plays: int) -> None:
    m = min(plays, len(weights))
    found = proportional(np.array(weights), m)
    assert close(found, filled([Fraction(w) for w in weights], m))
    assert (found >= 0.0).all()
    assert found.max() <= 1.0
    assert found.sum() == pytest.approx(m, rel=1e-14)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 60).map(float), min_size=2, max_size=9), st.integers(1, 9))
def test_shares_are_a_cut_proportion(weights: list[float], plays: int) -> None:
    # p = min(c w, 1) for one c: below one p/w is the same for all, and no arm at one has less than it.
    m = min(plays, len(weights))
    found = proportional(np.array(weights), m)
    rates = found / np.array(weights)
    below = found < 1.0 - 1e-12
    if below.any():
        assert rates[below] == pytest.approx(rates[below][0], rel=1e-12)
        assert (rates[~below] <= rates[below][0] * (1.0 + 1e-12)).all()
    else:
        assert m == len(weights)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.tuples(WEIGHTS, st.booleans()), min_size=1, max_size=8), st.integers(1, 8))
def test_sleeping_arms_have_no_share_and_leave_theirs_to_the_others(arms: list[tuple[float, bool]], m: int) -> None:
    weights, awake = (np.array(column) for column in zip(*arms, strict=True))
    found = proportional(weights, m, awake)
    expected = [Fraction(0)] * len(arms)
    places = np.flatnonzero(awake).tolist()
    if places:
        shares = filled([Fraction(float(weights[arm])) for arm in places], min(m, len(places)))
        for arm, share in zip(places, shares, strict=True):
            expected[arm] = share
    assert close(found, expected)
    assert (found[~awake] == 0.0).all()
    assert found.sum() == pytest.approx(min(m, len(places)), rel=1e-14, abs=0.0)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.tuples(WEIGHTS, st.booleans()), min_size=5, max_size=5), min_size=1, max_size=4),
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
)
def test_every_lane_is_shared_out_on_its_own(lanes: list[list[tuple[float, bool]]], plays: list[int]) -> None:
    # Also with a number of plays per lane, 0 among them.
    weights, awake = (np.array([[arm[i] for arm in lane] for lane in lanes]) for i in range(2))
    number = np.array(plays[: len(lanes)])[:, np.newaxis]
    for mask in (None, awake):
        together = proportional(weights, number, mask)
        for lane in range(len(lanes)):
            alone = proportional(weights[lane], int(number[lane, 0]), None if mask is None else mask[lane])
            assert together[lane] == pytest.approx(alone, rel=1e-13, abs=0.0)


def test_a_weight_for_all_lanes_meets_arms_that_sleep_in_some() -> None:
    found = proportional(np.array([1.0, 2.0, 3.0]), 1, np.array([[True, True, True], [True, False, True]]))
    assert found == pytest.approx(np.array([[1 / 6, 2 / 6, 3 / 6], [1 / 4, 0.0, 3 / 4]]), rel=1e-15)


@pytest.mark.parametrize("plays", [1, 2, 3, 7])
def test_where_few_are_awake_all_of_them_play(plays: int) -> None:
    weights, awake = np.array([1.0, 50.0, 3.0, 0.001]), np.array([False, True, False, True])
    found = proportional(weights, plays, awake)
    if plays == 1:
        assert found.tolist() == pytest.approx([0.0, 50.0 / 50.001, 0.0, 0.001 / 50.001], rel=1e-14)
    else:
        assert found.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert proportional(weights, plays, np.zeros(4, dtype=bool)).tolist() == [0.0] * 4


@pytest.mark.parametrize(("arms", "plays"), [(7, 3), (3, 2), (5, 5), (11, 6), (4, 3), (50, 8)])
def test_at_the_limit_of_merit_a_share_is_exactly_one(arms: int, plays: int) -> None:
    # f(1)/f(0) = (K − 1)/(m − 1): m r/(r + K − 1) = 1, and the others have (m − 1)/(K − 1) each.
    ratio = (arms - 1) / (plays - 1)
    merit = Power(beta=ratio - 1.0, exponent=4.0)
    for best in range(arms):
        means = np.eye(arms)[best]
        found = proportional(merit(means), plays)
        assert found[best] == pytest.approx(1.0, rel=1e-15)
        assert found[best] <= 1.0
        assert np.delete(found, best) == pytest.approx((plays - 1) / (arms - 1), rel=1e-14)


def test_the_papers_limit_has_no_rounding_error() -> None:
    # K = 7, m = 3, f = 1 + 2 μ⁴: 3 · 3/9.
    assert (
        proportional(Power(2.0)(np.array([0.0, 0, 0, 1.0, 0, 0, 0])), 3).tolist() == [1 / 3] * 3 + [1.0] + [1 / 3] * 3
    )


def test_the_order_of_the_arms_does_not_matter() -> None:
    weights = [1.0, 2.0, 4.0, 30.0]
    expected = dict(zip(weights, filled([Fraction(w) for w in weights], 2), strict=True))
    for turned in permutations(weights):
        assert close(proportional(np.array(turned), 2), [expected[w] for w in turned])


def test_by_hand() -> None:
    # 2 · 8/10 = 1.6: one, and the rest of one play is shared evenly.
    assert proportional(np.array([1.0, 1.0, 8.0]), 2).tolist() == [0.5, 0.5, 1.0]
    # 3 · (3, 9)/15 = (0.6, 1.8): 9 is cut, then 2 · 3/6 = 1 for the 3 and 1/3 for each of the others.
    assert proportional(np.array([1.0, 1.0, 1.0, 3.0, 9.0]), 3) == pytest.approx([1 / 3] * 3 + [1.0, 1.0], rel=1e-15)
    # The same number for all: nothing to cut.
    assert proportional(np.ones(4), 3).tolist() == [0.75] * 4


def test_what_comes_in_is_left_alone() -> None:
    weights, awake = np.array([1.0, 1.0, 8.0]), np.array([True, True, True])
    proportional(weights, 2, awake)
    assert (weights.tolist(), awake.tolist()) == ([1.0, 1.0, 8.0], [True] * 3)
