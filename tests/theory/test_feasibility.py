"""Which promises can be kept: the worst infeasible set, against all subsets, and the messages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, InfeasiblePromise
from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability, Independent, Joint, Logged
from evenhand.theory.achievable import TOLERANCE
from evenhand.theory.feasibility import check_shares, largest_excess
from tests.theory.availability_sets import listed

TENTHS = st.integers(0, 10).map(lambda n: n / 10.0)


def excess(group: tuple[int, ...], fractions: Array, plays: int, availability: Availability) -> float:
    """Σ_{i∈A} r_i − E[min(m, |A ∩ Z|)]."""
    reach = sum(p * min(plays, sum(z[arm] for arm in group)) for z, p in listed(availability, len(fractions)))
    return sum(float(fractions[arm]) for arm in group) - reach


def worst_excess(fractions: Array, plays: int, availability: Availability) -> float:
    arms = range(len(fractions))
    groups = [g for size in arms for g in itertools.combinations(arms, size + 1)]
    return max(excess(group, fractions, plays, availability) for group in groups)


def compare_with_all_subsets(fractions: Array, plays: int, availability: Availability) -> None:
    arms, asked, reach = largest_excess(fractions, plays, availability)
    assert asked - reach == pytest.approx(excess(tuple(arms), fractions, plays, availability), abs=1e-12)
    assert asked == pytest.approx(float(fractions[arms].sum()), abs=1e-12)
    worst = worst_excess(fractions, plays, availability)
    if worst > TOLERANCE:
        # The set is found from prices good to 1e-7 (HiGHS), but its excess is then worked out exactly.
        assert asked - reach == pytest.approx(worst, abs=1e-12)
        with pytest.raises(InfeasiblePromise):
            check_shares(fractions, plays, availability)
    else:
        assert asked - reach <= TOLERANCE
        check_shares(fractions, plays, availability)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(TENTHS, TENTHS), min_size=1, max_size=6), st.integers(1, 3))
def test_independent_against_all_subsets(arms: list[tuple[float, float]], plays: int) -> None:
    chance, fractions = zip(*arms, strict=True)
    compare_with_all_subsets(np.array(fractions) / 2.0, plays, Independent(chance))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_joint_and_logged_against_all_subsets(data: st.DataObject) -> None:
    arms = data.draw(st.integers(1, 5), label="arms")
    rows = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=arms, max_size=arms), min_size=1, max_size=6))
    fractions = np.array(data.draw(st.lists(TENTHS, min_size=arms, max_size=arms))) / 2.0
    plays = data.draw(st.integers(1, 3), label="plays")
    compare_with_all_subsets(fractions, plays, Logged(rows))
    weights = np.arange(1.0, len(rows) + 1.0)
    compare_with_all_subsets(fractions, plays, Joint(rows, weights / weights.sum()))


def test_many_arms_that_are_always_there_are_asked_at_once() -> None:
    """A group an arm would take a hundred gigabytes."""
    fractions = np.zeros(300_000)
    fractions[[7, 70_000, 299_999]] = 0.5, 0.75, 0.5
    assert largest_excess(fractions, 1, Always()) == ([7, 70_000, 299_999], 1.75, 1.0)
    assert largest_excess(fractions, 4, Always()) == ([70_000], 0.75, 1.0)  # a quarter is left; of three, 1.25


@settings(max_examples=40, deadline=None)
@given(st.lists(TENTHS, min_size=1, max_size=6), st.integers(1, 3))
def test_always_available_needs_a_sum_of_at_most_m(fractions: list[float], plays: int) -> None:
    compare_with_all_subsets(np.array(fractions), plays, Always())
    possible = sum(round(10 * f) for f in fractions) <= 10 * plays
    assert (worst_excess(np.array(fractions), plays, Always()) <= TOLERANCE) == possible


def test_what_every_order_reaches_can_be_promised_and_a_hair_more_cannot() -> None:
    # The border: arm 2 plays where it is awake and arm 1 is not.
    availability = Independent([0.5, 0.8])
    border = np.array([0.5, 0.4])
    check_shares(border, 1, availability)
    with pytest.raises(InfeasiblePromise):
        check_shares(border + np.array([0.0, 1e-6]), 1, availability)


def test_tenths_that_sum_to_one_are_not_refused_by_rounding() -> None:
    tenths = np.array([0.2, 0.4, 0.3, 0.1])
    assert tenths.sum() > 1.0
    check_shares(tenths, 1, Always())
    check_shares(tenths, 1, Independent(np.ones(4)))


# --- messages ---------------------------------------------------------------------------------------------------------


def refusal(fractions: Array, plays: int, availability: Availability, names: tuple[str, ...] = ()) -> str:
    with pytest.raises(InfeasiblePromise) as caught:
        check_shares(fractions, plays, availability, names)
    return str(caught.value)


def test_one_play() -> None:
    assert refusal(np.array([0.7, 0.5]), 1, Always(), ("tea", "coffee")) == (
        "the promised shares cannot be kept: arms 'tea', 'coffee' together are promised 1.2 of the rounds but can play "
        "in at most 1 (plays = 1); that is 0.2 too much"
    )


def test_several_plays() -> None:
    assert refusal(np.array([0.9, 0.8, 0.7]), 2, Always()) == (
        "the promised shares cannot be kept: arms 1, 2, 3 together are promised 2.4 of the rounds but can play in at "
        "most 2 (plays = 2); that is 0.4 too much"
    )


def test_one_sleeping_arm() -> None:
    assert refusal(np.array([0.1, 0.6]), 1, Independent([1.0, 0.5]), ("tea", "coffee")) == (
        "the promised shares cannot be kept: arm 'coffee' is promised 0.6 of the rounds but can play in at most 0.5 "
        "(plays = 1 and the given availability); that is 0.1 too much"
    )


def test_two_sleeping_arms_that_crowd_each_other() -> None:
    # Each is awake in half of the rounds, but only in 3/4 of them is either; arm 3 has nothing to do with it.
    text = refusal(np.array([0.4, 0.5, 0.1]), 1, Independent([0.5, 0.5, 1.0]), ("a", "b", "c"))
    assert "arms 'a', 'b' together are promised 0.9 of the rounds but can play in at most 0.75" in text
    assert text.endswith("that is 0.15 too much")


def test_arms_that_are_awake_together() -> None:
    # Both are awake in the same half of the rounds, with two plays each can have all of it; with one they share it.
    availability = Joint([[1, 1], [0, 0]], [0.5, 0.5])
    check_shares(np.array([0.5, 0.5]), 2, availability)
    assert "can play in at most 0.5 (plays = 1 and the given availability); that is 0.1 too much" in refusal(
        np.array([0.3, 0.3]), 1, availability
    )


def test_logged_availability() -> None:
    text = refusal(np.array([0.5, 0.5]), 1, Logged([[1, 1], [1, 0], [1, 0], [1, 0]]))
    assert "arm 2 is promised 0.5 of the rounds but can play in at most 0.25" in text


def test_many_arms_are_not_all_named() -> None:
    text = refusal(np.full(25, 0.1), 1, Always())
    assert "arms 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and 5 more together" in text
    assert text.endswith("that is 1.5 too much")


def test_arms_that_are_promised_nothing_are_not_named() -> None:
    text = refusal(np.array([0.0, 0.7, 0.5, 0.0]), 1, Always(), ("milk", "tea", "coffee", "cocoa"))
    assert "arms 'tea', 'coffee' together are promised 1.2 of the rounds but can play in at most 1 " in text


def test_whose_promise_it_is() -> None:
    with pytest.raises(InfeasiblePromise, match="the promised shares of 'FUCB' cannot be kept"):
        check_shares(np.array([0.7, 0.5]), 1, Always(), whose="'FUCB'")


def test_every_lane_is_checked() -> None:
    fractions = np.array([[0.5, 0.5], [0.2, 0.9], [0.1, 0.1]])
    with pytest.raises(InfeasiblePromise, match=r"promised 1\.1 of the rounds"):
        check_shares(fractions, 1, Always())
    check_shares(fractions[[0, 2]], 1, Always())


def test_thirty_sleeping_arms() -> None:
    # Ten arms awake half the time, together in 1 − 2^−10 of the rounds; twenty others are always there.
    chance, fractions = np.ones(30), np.zeros(30)
    chance[:10], fractions[:10] = 0.5, 0.1
    arms, asked, reach = largest_excess(fractions, 1, Independent(chance))
    assert arms == list(range(10))
    assert asked == pytest.approx(1.0, abs=1e-12)
    assert reach == pytest.approx(1.0 - 0.5**10, abs=1e-12)


def test_it_is_an_error_of_the_package() -> None:
    assert issubclass(InfeasiblePromise, EvenhandError)
    assert issubclass(EvenhandError, ValueError)
