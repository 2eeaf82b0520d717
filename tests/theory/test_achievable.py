"""Shares within reach: inclusion probabilities and the cutting planes, against listing every set."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability, Independent, Joint, Logged
from evenhand.theory.achievable import GAP, TOLERANCE, cutting_planes, inclusion_of, played_by
from tests.theory.availability_sets import listed

CHANCES = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.001, 0.999))


def slow_inclusion(priority: Array, availability: Availability, plays: int) -> Array:
    """In every set the m awake arms of largest positive priority play, the lowest index first on a tie."""
    shares = np.zeros(len(priority))
    for awake, chance in listed(availability, len(priority)):
        candidates = [arm for arm, on in enumerate(awake) if on and priority[arm] > 0.0]
        for arm in sorted(candidates, key=lambda arm: (-priority[arm], arm))[:plays]:
            shares[arm] += chance
    return shares


def models(arms: int, seed: int) -> dict[str, Availability]:
    rng = np.random.default_rng(seed)
    chance = rng.integers(0, 11, arms) / 10.0
    sets = rng.integers(0, 2, (5, arms))
    sets[0], sets[1] = 0, 1  # nobody awake, and everybody
    return {
        "always": Always(),
        "independent": Independent(chance),
        "joint": Joint(sets, rng.dirichlet(np.ones(5))),
        "logged": Logged(rng.integers(0, 2, (12, arms))),
    }


SOLVER = 1e-7  # feasibility tolerance of HiGHS, to which every constraint of a linear program is met
KINDS = ["always", "independent", "joint", "logged"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CHANCES, st.integers(-1, 4)), min_size=1, max_size=6), st.integers(1, 4))
def test_poisson_binomial_inclusion_is_the_sum_over_all_sets(arms: list[tuple[float, int]], plays: int) -> None:
    availability = Independent([chance for chance, _ in arms])
    priority = np.array([float(value) for _, value in arms])
    found = inclusion_of(plays, availability, len(arms))(priority)
    # Sums of at most 64 products of probabilities: rounding only.
    np.testing.assert_allclose(found, slow_inclusion(priority, availability, plays), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_inclusion_of_every_kind_is_the_sum_over_its_sets(kind: str, plays: int) -> None:
    for seed in range(5):
        availability = models(5, seed)[kind]
        priority = np.random.default_rng(seed).integers(-1, 4, 5).astype(float)
        found = inclusion_of(plays, availability, 5)(priority)
        np.testing.assert_allclose(found, slow_inclusion(priority, availability, plays), atol=1e-13)


@pytest.mark.parametrize("plays", [1, 2, 5])
def test_independent_inclusion_is_that_of_its_list_of_sets(plays: int) -> None:
    availability = Independent([0.9, 0.0, 0.5, 1.0, 0.25])
    sets, chance = zip(*listed(availability, 5), strict=True)
    joint = Joint(np.array(sets, dtype=int), chance)
    priority = np.array([0.3, 0.9, 0.3, -0.5, 0.1])
    one, other = (inclusion_of(plays, model, 5)(priority) for model in (availability, joint))
    np.testing.assert_allclose(one, other, atol=1e-13)


def test_with_twenty_arms_inclusion_is_that_of_the_binomial_distribution() -> None:
    # Arm 20 plays if it is awake and at most one of the 19 ahead is: 0.5 (0.5^19 + 19 · 0.5^19).
    found = inclusion_of(2, Independent(np.full(20, 0.5)), 20)(np.arange(20.0, 0.0, -1.0))
    assert found[0] == 0.5
    assert found[19] == pytest.approx(0.5 * 20 * 0.5**19, rel=1e-12)
    # Two play unless fewer are awake.
    assert found.sum() == pytest.approx(2 - 2 * 0.5**20 - 20 * 0.5**20, rel=1e-12)


def test_arms_of_priority_zero_or_less_never_play() -> None:
    found = inclusion_of(3, Independent([0.5, 0.5, 0.5]), 3)(np.array([0.0, -1.0, 0.2]))
    assert found.tolist() == [0.0, 0.0, 0.5]


def test_ties_go_to_the_lowest_index() -> None:
    assert inclusion_of(1, Independent([0.5, 0.5]), 2)(np.ones(2)).tolist() == [0.5, 0.25]
    assert played_by(np.ones(3), np.array([[True, True, True], [False, True, True]]), 1).tolist() == [
        [True, False, False],
        [False, True, False],
    ]


def test_played_by_takes_the_first_awake_arms_of_the_order() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        sets, priority = rng.random((6, 5)) < 0.5, rng.integers(-1, 3, 5).astype(float)
        played = played_by(priority, sets, 2)
        for row, awake in zip(played, sets, strict=True):
            candidates = [arm for arm in range(5) if awake[arm] and priority[arm] > 0.0]
            expected = sorted(candidates, key=lambda arm: (-priority[arm], arm))[:2]
            assert np.flatnonzero(row).tolist() == sorted(expected)


def border(availability: Availability, plays: int, arms: int, rng: np.random.Generator) -> Array:
    """Shares on the border of what is within reach: a mixture of three orders in which every arm may play."""
    orders = [slow_inclusion(rng.random(arms) + 0.1, availability, plays) for _ in range(3)]
    return np.asarray(rng.dirichlet(np.ones(3)) @ np.array(orders))


def polymatroid_optimum(gains: Array, fractions: Array, plays: int, availability: Availability) -> float:
    """max gains·x over the shares x ≥ r with Σ_{i∈A} x_i ≤ E[min(m, |A ∩ Z|)] for every set A: a listed program."""
    arms = len(gains)
    groups = [np.array(g, dtype=float) for g in itertools.product((0, 1), repeat=arms) if any(g)]
    reach = [sum(p * min(plays, float(g @ np.array(z))) for z, p in listed(availability, arms)) for g in groups]
    bounds: Any = [(float(r), None) for r in fractions]
    solution = linprog(-gains, A_ub=np.array(groups), b_ub=np.array(reach) + 1e-12, bounds=bounds)
    assert solution.fun is not None
    return -float(solution.fun)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_cutting_planes_find_the_optimum_over_the_polymatroid(kind: str, plays: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng((seed, plays))
        availability = models(4, seed)[kind]
        gains = np.round(rng.normal(0.3, 0.5, 4), 1)
        fractions = border(availability, plays, 4, rng) * (1.0 if seed % 2 else rng.random(4))
        limit = np.full(4, 3.0 * np.abs(gains).max() + 1.0)  # more than twice the range of the gains
        found = cutting_planes(gains, fractions, inclusion_of(plays, availability, 4), limit)
        # GAP is what it promises; a constraint missed by SOLVER costs at most its price.
        expected = polymatroid_optimum(gains, fractions, plays, availability)
        assert found.value == pytest.approx(expected, abs=GAP + SOLVER * limit.max())
        assert found.shares @ gains == pytest.approx(expected, abs=GAP + SOLVER * limit.max())
        assert (found.shares >= fractions - SOLVER).all()
        assert (found.prices >= 0.0).all()
        assert (found.prices <= limit).all()


def test_the_mixture_is_what_its_orders_and_weights_say() -> None:
    availability = Independent([0.9, 0.8, 0.7])
    gains, fractions = np.array([0.4, 0.5, 0.7]), np.array([0.5, 0.6, 0.4])
    inclusion = inclusion_of(2, availability, 3)
    found = cutting_planes(gains, fractions, inclusion, np.full(3, 5.0))
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.weights >= 0.0).all()
    mixed = sum(
        w * slow_inclusion(order, availability, 2) for w, order in zip(found.weights, found.orders, strict=True)
    )
    np.testing.assert_allclose(found.shares, mixed, atol=1e-12)


def test_a_promise_that_costs_nothing_has_no_price() -> None:
    # The best arm plays anyway; the second one owes nothing.
    found = cutting_planes(
        np.array([0.9, 0.2]), np.array([0.5, 0.0]), inclusion_of(1, Independent([1.0, 1.0]), 2), np.ones(2)
    )
    assert found.prices.tolist() == [0.0, 0.0]
    assert found.value == pytest.approx(0.9, abs=GAP)


def test_a_promise_costs_the_gap_to_the_arm_it_displaces() -> None:
    # One play: a promised play of arm 2 displaces one of arm 1, at a price of 0.9 − 0.2 = 0.7; V = 0.9 − 0.7 · 0.3.
    found = cutting_planes(
        np.array([0.9, 0.2]), np.array([0.0, 0.3]), inclusion_of(1, Independent([1.0, 1.0]), 2), np.full(2, 9.0)
    )
    assert found.value == pytest.approx(0.9 - 0.7 * 0.3, abs=GAP)
    # Both orders are best at that price alone: off it by d, the value is off by 0.3 d or 0.7 d.
    assert found.prices[1] == pytest.approx(0.7, abs=GAP / 0.3)


def test_prices_stop_at_their_limit() -> None:
    # The price 0.7 is above the limit: at 0.4 arm 1 still goes first, V = 0.9 − 0.4 · 0.3.
    limit = np.array([0.0, 0.4])
    found = cutting_planes(np.array([0.9, 0.2]), np.array([0.0, 0.3]), inclusion_of(1, Always(), 2), limit)
    assert found.value == pytest.approx(0.9 - 0.4 * 0.3, abs=GAP)
    assert found.prices[1] == pytest.approx(0.4, abs=SOLVER)


@pytest.mark.parametrize("arms", [30, 60])
def test_many_arms_meet_their_promises(arms: int) -> None:
    rng = np.random.default_rng(arms)
    availability = Independent(rng.uniform(0.2, 0.9, arms))
    inclusion = inclusion_of(3, availability, arms)
    gains = rng.random(arms)
    fractions = 0.9 * (inclusion(rng.random(arms) + 0.1) + inclusion(rng.random(arms) + 0.1)) / 2.0
    found = cutting_planes(gains, fractions, inclusion, np.full(arms, 3.0))
    assert (found.shares >= fractions - SOLVER).all()
    # Weak duality closes the bracket: no shares within reach that keep the promise do better than the dual value.
    dual = float(inclusion(gains + found.prices) @ (gains + found.prices) - found.prices @ fractions)
    assert found.shares @ gains <= dual + SOLVER * found.prices.sum()
    assert dual - found.value <= GAP * max(1.0, dual) + SOLVER
    # The shares lie within reach: the sums over the level sets that bind hold with the reach of those sets.
    order = np.argsort(-found.shares)
    for size in (1, 5, arms // 2, arms):
        group = np.zeros(arms)
        group[order[:size]] = 1.0
        assert found.shares @ group <= inclusion(group).sum() + TOLERANCE
