"""Exponentials are right to the last digits, and the same for few numbers and for many."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from evenhand.core.exponential import FEW, FINE, PARTS, WHOLE, exp, powers

NUMBERS = np.concatenate(
    [-np.random.default_rng(1).exponential(scale, 500) for scale in (1e-6, 0.1, 1.0, 30.0, 200.0)]
    + [[0.0, -1.0, -0.5 / FINE, -(1.0 + 0.5 / FINE), -708.3, -745.1]]
)


def error(found: float, x: float) -> float:
    """Of a value of exp(x), in units in the last place."""
    right = Decimal(x).exp()
    return float(abs(Decimal(found) - right) / Decimal(math.ulp(float(right))))


def test_values_are_right_to_the_last_digits() -> None:
    getcontext().prec = 40
    assert max(map(error, exp(NUMBERS).tolist(), NUMBERS.tolist())) < 2.5


def test_tables_are_rounded_once() -> None:
    getcontext().prec = 40
    assert [float(Decimal(-place).exp()) for place in range(746)] == WHOLE[:746]
    assert [float((Decimal(-place) / FINE).exp()) for place in range(0, FINE, 37)] == PARTS[::37]
    assert powers(FINE, FINE, 200) == PARTS


def test_few_numbers_have_the_digits_of_many() -> None:
    many, places = exp(NUMBERS), range(0, len(NUMBERS), FEW)
    np.testing.assert_array_equal(many, np.concatenate([exp(NUMBERS[at : at + FEW]) for at in places]))
    np.testing.assert_array_equal(many[:400].reshape(20, 20), exp(NUMBERS[:400].reshape(20, 20)))


@pytest.mark.parametrize(("x", "value"), [(0.0, 1.0), (-0.0, 1.0), (-746.0, 0.0), (-np.inf, 0.0), (np.nan, 0.0)])
def test_the_ends(x: float, value: float) -> None:
    assert exp(np.array([x])).tolist() == exp(np.full((2, FEW), x))[0, :1].tolist() == [value]


def test_it_never_falls() -> None:
    numbers = -np.linspace(0.0, 3.0, 200_001)
    assert (np.diff(exp(numbers)) <= 0.0).all()
