"""Rounds until the best arm is known: definition, closed forms, and what minimum shares add."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from evenhand.core.errors import EvenhandError
from evenhand.theory import characteristic_rounds, rounds_until_known


def test_two_arms_are_known_after_the_rounds_of_their_chernoff_information() -> None:
    def kl(p: float, q: float) -> float:
        return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))

    middle = brentq(lambda q: kl(0.3, q) - kl(0.5, q), 0.3, 0.5)  # Garivier and Kaufmann 2016, section 2.2
    assert characteristic_rounds([0.3, 0.5]) == pytest.approx(1.0 / kl(0.3, middle), rel=1e-6)


def test_equal_small_gaps_have_the_closed_form_of_equal_variances() -> None:
    arms, gap = 5, 0.01
    means = np.full(arms, 0.5 - gap)
    means[2] = 0.5
    expected = 2.0 * 0.25 * (1.0 + math.sqrt(arms - 1.0)) ** 2 / gap**2  # of normal rewards with variance 1/4
    assert characteristic_rounds(means) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_the_price_of_a_promise_is_within_its_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    means, floors = rng.uniform(0.1, 0.9, 4), rng.dirichlet(np.ones(4)) * 0.7
    free, kept = characteristic_rounds(means), characteristic_rounds(means, floors)
    assert free * (1.0 - 1e-6) <= kept <= free / (1.0 - floors.sum()) * (1.0 + 1e-6)
    assert characteristic_rounds(means, 0.0) == free


def test_rounds_grow_with_certainty_and_are_endless_for_equal_arms() -> None:
    few, many = rounds_until_known([0.2, 0.4], 0.1), rounds_until_known([0.2, 0.4], 0.001)
    assert many / few == pytest.approx((0.998 * math.log(999.0)) / (0.8 * math.log(9.0)))
    assert rounds_until_known([0.4, 0.4, 0.1]) == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5],), "at least two"),
        (([0.5, 1.0],), "below 1"),
        (([0.5, 0.4], 0.0), "delta"),
        (([0.5, 0.4], 0.5), "delta"),
        (([0.5, 0.4], 0.1, [0.8, 0.3]), "sum to 1.1"),
    ],
)
def test_what_has_no_answer(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        rounds_until_known(*arguments)  # type: ignore[arg-type]
