"""Exponentials are right to the last digits, and the same for one number and for many."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from evenhand.core.exponential import FINE, TABLES, exp, formula, powers

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
    assert [float(Decimal(-place).exp()) for place in range(746)] == TABLES[0][:746].tolist()
    assert [float((Decimal(-place) / FINE).exp()) for place in range(0, FINE, 37)] == TABLES[1][::37].tolist()
    assert powers(FINE, FINE, 200) == TABLES[1].tolist()


def test_one_number_has_the_digits_of_many() -> None:
    one = formula(*TABLES, int, max)
    assert exp(NUMBERS).tolist() == [one(x) for x in NUMBERS.tolist()]


@pytest.mark.parametrize(("x", "value"), [(0.0, 1.0), (-0.0, 1.0), (-746.0, 0.0), (-np.inf, 0.0), (np.nan, 0.0)])
def test_the_ends(x: float, value: float) -> None:
    assert exp(np.array([x])).tolist() == exp(np.full((2, 20), x))[0, :1].tolist() == [value]
    assert formula(*TABLES, int, max)(x) == value


def test_it_never_falls() -> None:
    numbers = -np.linspace(0.0, 3.0, 200_001)
    assert (np.diff(exp(numbers)) <= 0.0).all()
