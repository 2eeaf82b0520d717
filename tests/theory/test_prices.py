"""The range of the price of a promise over a box of means, and what one more promised play costs."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability, Joint
from evenhand.policy.claim import Group
from evenhand.theory.bounded import Bounds, best_bounded, bounds_of, price_of_bounds, range_of_price
from evenhand.theory.prices import cost_interval

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

NORTH = Group(name="north", arms=[0, 1], at_least=0.4, at_most=None)
SLEEPING = Joint([[1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 1]], [0.5, 0.3, 0.2])


def box(seed: int) -> tuple[Array, Array, Array]:
    """Ends of means of four arms, and means within."""
    rng = np.random.default_rng(seed)
    low = rng.random(4)
    high = low + 0.3 * rng.random(4)
    return low, high, low + (high - low) * rng.random((200, 4))


def price(means: Array, bounds: Bounds, plays: int, who: Availability) -> float:
    none = bounds_of(4, None, None, [])
    return best_bounded(means, none, plays, who)[0] - best_bounded(means, bounds, plays, who)[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("who", [Always(), SLEEPING])
@pytest.mark.parametrize("plays", [1, 2])
def test_no_price_in_the_box_is_outside_the_range(seed: int, who: Availability, plays: int) -> None:
    low, high, inside = box(seed)
    bounds = bounds_of(4, np.array([0.0, 0.0, 0.1, 0.2]), np.array([1.0, 1.0, 1.0, 0.6]), [NORTH])
    least, most = range_of_price(low, high, bounds, plays, who)
    prices = [price(means, bounds, plays, who) for means in inside[:25]]
    assert least - 1e-9 <= min(prices)
    assert max(prices) <= most + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_for_shares_of_arms_it_is_the_interval_of_the_audit(seed: int) -> None:
    low, high, _ = box(seed)
    shares = np.array([0.05, 0.1, 0.2, 0.1])
    least, most = range_of_price(low, high, bounds_of(4, shares, None, []), 1, Always())
    expected = cost_interval(low, high, shares, 1)
    assert most == pytest.approx(expected[1], abs=1e-9)
    assert least <= expected[0] + 1e-9


def test_a_further_promised_play_costs_what_the_dual_says() -> None:
    means, shares = np.array([0.9, 0.7, 0.4, 0.1]), np.array([0.0, 0.1, 0.1, 0.1])
    bounds = bounds_of(4, shares, None, [NORTH])
    duals = price_of_bounds(means, bounds, 1, Always())
    for place, arm in enumerate((1, 2, 3)):
        more = shares + 0.01 * (np.arange(4) == arm)
        change = price(means, bounds_of(4, more, None, [NORTH]), 1, Always()) - price(means, bounds, 1, Always())
        assert 0.01 * duals[place] == pytest.approx(change, abs=1e-9)
