"""Optima of arms that are available independently, against the linear program and every set."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.errors import InfeasiblePromise
from evenhand.core.state import Array
from evenhand.environment.availability import Independent, Joint
from evenhand.theory.feasibility import check_shares, largest_excess
from evenhand.theory.independent import best_shares, tightest
from evenhand.theory.oracle import optimal_fair, optimal_penalized

CASE = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(0, 10**6))


def drawn(arms: int, plays: int, seed: int) -> tuple[Independent, Array, Array, Array]:
    """Availability, gains (some equal, some negative), promises (some none) and prices."""
    rng = np.random.default_rng(seed)
    chance = np.where(rng.random(arms) < 0.2, 1.0, rng.uniform(0.05, 1.0, arms))
    gains = rng.uniform(-0.5, 1.0, arms).round(int(rng.integers(1, 9)))
    fractions = rng.uniform(0.0, 1.2 * rng.random(), arms) * (rng.random(arms) < 0.8) * min(plays / arms, 1.0)
    return Independent(chance), gains, fractions, rng.uniform(0.0, 1.0, arms) * (rng.random(arms) < 0.8)


def possible(arms: tuple[int, ...], availability: Independent, plays: int) -> float:
    """What a set of arms can play together, by all sets of available arms."""
    total = 0.0
    for number in range(len(arms) + 1):
        for there in combinations(arms, number):
            chances = [
                p if arm in there else 1.0 - p for arm, p in enumerate(availability.probabilities) if arm in arms
            ]
            total += min(number, plays) * float(np.prod(chances))
    return total


def listed(availability: Independent) -> Joint:
    """The same availability as a table, to which nothing here applies."""
    return Joint(*availability.distribution(len(availability.probabilities)))  # type: ignore[misc]


@given(CASE)
@settings(deadline=None, max_examples=60)
def test_the_smallest_set_is_the_smallest_of_all(case: tuple[int, int, int]) -> None:
    arms, plays, seed = case
    availability, _, fractions, _ = drawn(*case)
    rng = np.random.default_rng(seed + 1)
    may = rng.random((3, arms)) < 0.7
    must = may & (rng.random((3, arms)) < 0.4)
    values, _ = tightest(fractions, plays, availability.probabilities, must, may)
    for value, least, most in zip(values, must, may, strict=True):
        free = np.flatnonzero(most & ~least).tolist()
        sets = chain.from_iterable(combinations(free, number) for number in range(len(free) + 1))
        every = [tuple(sorted([*np.flatnonzero(least).tolist(), *more])) for more in sets]
        expected = min(possible(one, availability, plays) - fractions[list(one)].sum() for one in every)
        assert value == pytest.approx(expected, abs=1e-12)


@given(CASE)
@settings(deadline=None, max_examples=100)
def test_the_optimum_is_that_of_the_linear_program(case: tuple[int, int, int]) -> None:
    availability, gains, fractions, _ = drawn(*case)
    plays = case[1]
    try:
        expected = optimal_fair(gains, fractions, plays, availability, method="reduced")
    except InfeasiblePromise:
        assert largest_excess(fractions, plays, availability)[1] > largest_excess(fractions, plays, availability)[2]
        with pytest.raises(InfeasiblePromise):
            check_shares(fractions, plays, listed(availability))
        return
    found = optimal_fair(gains, fractions, plays, availability, by_set=False)
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert (found.shares >= fractions - 1e-12).all()
    check_shares(found.shares, plays, availability)  # the shares can be had


@given(CASE)
@settings(deadline=None, max_examples=100)
def test_the_optimum_with_prices_is_that_of_the_linear_program(case: tuple[int, int, int]) -> None:
    availability, gains, fractions, penalties = drawn(*case)
    plays = case[1]
    fractions = np.minimum(2.0 * fractions, 1.0)  # prices are paid also where promises cannot be kept
    expected = optimal_penalized(gains, fractions, penalties, plays, listed(availability))
    found = optimal_penalized(gains, fractions, penalties, plays, availability)
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    check_shares(found.shares, plays, availability)


def test_many_arms_agree_with_the_cutting_planes() -> None:
    rng = np.random.default_rng(3)
    availability, gains = Independent(rng.uniform(0.5, 1.0, 60)), rng.uniform(-0.1, 1.0, 60)
    fractions = np.full(60, 0.7 * 3 / 60)
    expected = optimal_fair(gains, fractions, 3, availability, method="dual").value
    shares = best_shares(gains, fractions, None, 3, availability.probabilities)
    assert shares @ gains == pytest.approx(expected, rel=1e-7)


def test_an_arm_that_is_never_available_gets_nothing() -> None:
    availability = Independent([0.0, 0.8])
    shares = best_shares(np.array([0.9, 0.4]), np.array([0.0, 0.3]), None, 1, availability.probabilities)
    assert shares.tolist() == [0.0, 0.8]
    with pytest.raises(InfeasiblePromise, match=r"arm 1 is promised 0\.1 of the rounds but can play in at most 0 "):
        check_shares(np.array([0.1, 0.3]), 1, availability)
