"""The optima against brute force: every availability set, every subset that could play."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from evenhand import EvenhandError, InfeasiblePromise
from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability, Independent, Joint, Logged
from evenhand.policy.merit import Linear, Merit, Power, Threshold
from evenhand.theory.achievable import GAP
from evenhand.theory.oracle import fair_shares, merits_of, optimal, optimal_fair, optimal_penalized
from tests.theory.availability_sets import listed

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

KINDS = ["always", "independent", "joint", "logged"]
METHODS = ["auto", "reduced", "dual"]
# HiGHS meets every constraint to 1e-7; what missing it is gains is its price, and no price exceeds the range of the
# gains, which is at most 3 in these tests.
PRECISION = 3 * 1e-7


def models(arms: int, seed: int) -> dict[str, Availability]:
    rng = np.random.default_rng(seed)
    sets = rng.integers(0, 2, (5, arms))
    sets[0], sets[1] = 0, 1  # nobody awake, and everybody
    return {
        "always": Always(),
        "independent": Independent(rng.integers(0, 11, arms) / 10.0),
        "joint": Joint(sets, rng.dirichlet(np.ones(5))),
        "logged": Logged(rng.integers(0, 2, (12, arms))),
    }


def within_reach(availability: Availability, plays: int, arms: int, rng: np.random.Generator) -> Array:
    """Shares on the border: a mixture of three orders, in each of which the first m awake arms play."""
    shares = np.zeros(arms)
    for weight in rng.dirichlet(np.ones(3)):
        order = rng.permutation(arms)
        for awake, chance in listed(availability, arms):
            for arm in [a for a in order if awake[a]][:plays]:
                shares[arm] += weight * chance
    return np.asarray(np.minimum(shares, 1.0))


def program_two(
    gains: Array, fractions: Array, plays: int, availability: Availability, penalties: Array | None = None
) -> float:
    """Program (2) of Huang et al. in q_S(A); with penalties the missing shares s_i ≥ 0 cost A_i each."""
    arms = len(gains)
    gain: list[float] = []
    kept: list[NDArray[Any]] = []
    of_set: list[int] = []
    sets = listed(availability, arms)
    for place, (awake, chance) in enumerate(sets):
        members = [arm for arm in range(arms) if awake[arm]]
        for size in range(plays + 1):
            for chosen in itertools.combinations(members, size):
                plays_of = np.isin(np.arange(arms), chosen)
                gain.append(chance * float(gains[plays_of].sum()))
                kept.append(chance * plays_of)
                of_set.append(place)
    one_choice = (np.array(of_set) == np.arange(len(sets))[:, np.newaxis]).astype(float)
    shares = np.array(kept).T
    if penalties is not None:
        gain += (-penalties).tolist()
        shares = np.hstack([shares, np.eye(arms)])
        one_choice = np.hstack([one_choice, np.zeros((len(sets), arms))])
    # By 1e-12: shares on the very border must not fail by rounding.
    solution = linprog(-np.array(gain), A_ub=-shares, b_ub=1e-12 - fractions, A_eq=one_choice, b_eq=np.ones(len(sets)))
    assert solution.fun is not None, solution.message
    return -float(solution.fun)


# --- Opt-F ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("plays", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_opt_f_is_the_optimum_over_all_subsets(kind: str, plays: int, method: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng((seed, plays))
        arms = max(int(rng.integers(2, 5)), plays)
        availability = models(arms, seed)[kind]
        gains = np.round(rng.uniform(-0.5, 1.0, arms), 1)  # ties and negative means
        owed = rng.choice([0.0, 0.5, 1.0], arms) if seed % 2 else 1.0  # every other time on the border
        fractions = within_reach(availability, plays, arms, rng) * owed
        found = optimal_fair(gains, fractions, plays, availability, method)
        assert found.value == pytest.approx(program_two(gains, fractions, plays, availability), abs=PRECISION)
        assert (found.shares >= fractions - 1e-7).all()
        assert found.shares @ gains == pytest.approx(found.value, abs=PRECISION)


@pytest.mark.parametrize("plays", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_reduced_program_and_dual_agree(kind: str, plays: int) -> None:
    for seed in range(4):
        arms = 5 + seed
        rng = np.random.default_rng((seed, plays))
        availability = models(arms, seed)[kind]
        gains = rng.normal(0.4, 0.4, arms).clip(-1.0, 1.5)
        fractions = within_reach(availability, plays, arms, rng) * rng.choice([0.0, 0.7, 1.0], arms)
        reduced, dual = (optimal_fair(gains, fractions, plays, availability, method) for method in ("reduced", "dual"))
        assert reduced.value == pytest.approx(dual.value, abs=PRECISION)


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_conditional_values_average_to_the_value(kind: str, method: str, plays: int) -> None:
    for seed in range(4):
        arms = 3 + seed
        rng = np.random.default_rng((seed, plays))
        availability = models(arms, seed)[kind]
        gains = rng.uniform(-0.2, 1.0, arms)
        fractions = within_reach(availability, plays, arms, rng) * rng.choice([0.5, 1.0], arms)
        found = optimal_fair(gains, fractions, plays, availability, method)
        sets = availability.distribution(arms)
        assert sets is not None
        assert found.by_set is not None
        assert sets[1] @ found.by_set == pytest.approx(found.value, abs=PRECISION)
        # In no set can more be earned than by the awake arms of largest gains.
        for awake, value in zip(sets[0], found.by_set, strict=True):
            most = sum(sorted(np.maximum(gains[awake], 0.0), reverse=True)[:plays])
            assert value <= most + 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_one_play_always_available_is_the_fair_share_policy(method: str) -> None:
    # Patil et al. 2019, Observation 1: every arm plays its share, the best arm the rest.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        means, fractions = rng.random(6), rng.dirichlet(np.ones(7))[:6]
        found = optimal_fair(means, fractions, 1, Always(), method)
        expected = means.max() * (1.0 - fractions.sum()) + fractions @ means
        assert found.value == pytest.approx(expected, abs=PRECISION)
        shares = fractions + (1.0 - fractions.sum()) * (np.arange(6) == means.argmax())
        np.testing.assert_allclose(found.shares, shares, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_all_rounds_promised_leaves_no_choice(method: str) -> None:
    means, fractions = np.array([0.9, 0.3, 0.5]), np.array([0.2, 0.5, 0.3])
    assert optimal_fair(means, fractions, 1, Always(), method).value == pytest.approx(0.48, abs=PRECISION)


@pytest.mark.parametrize("method", METHODS)
def test_an_arm_of_negative_worth_plays_what_it_is_owed_and_no_more(method: str) -> None:
    # The round is left empty rather than filled: 0.5 (arm 1 when awake) − 0.2 · 0.3.
    found = optimal_fair(np.array([0.5, -0.2]), np.array([0.0, 0.3]), 2, Independent([1.0, 0.6]), method)
    assert found.value == pytest.approx(0.5 - 0.2 * 0.3, abs=PRECISION)
    np.testing.assert_allclose(found.shares, [1.0, 0.3], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_promise_is_kept_where_it_costs_least(method: str) -> None:
    # Arm 2 sleeps in half of the rounds, arm 3 never; arm 1 is awake with arm 3 alone. A play of arm 3 costs 0.8 where
    # arm 1 is awake and 0.3 where arm 2 is: its 0.5 all go to the rounds of arm 2.
    availability = Joint([[1, 0, 1], [0, 1, 1]], [0.5, 0.5])
    found = optimal_fair(np.array([0.9, 0.4, 0.1]), np.array([0.0, 0.0, 0.5]), 1, availability, method)
    assert found.value == pytest.approx(0.5 * 0.9 + 0.5 * 0.1, abs=PRECISION)
    assert found.by_set is not None
    np.testing.assert_allclose(found.by_set, [0.9, 0.1], atol=1e-6)


def test_fifty_arms_of_which_each_is_owed_the_same() -> None:
    # All awake: the m best by gains play, less what the 47 others displace: 0.02 each of the m-th.
    arms, plays = 50, 3
    gains = np.linspace(1.0, 0.02, arms)
    found = optimal_fair(gains, np.full(arms, 0.02), plays, Independent(np.ones(arms)))
    # The cheapest way: the first two always, the third gives up 47 · 0.02 of its rounds.
    expected = gains[:2].sum() + gains[2] * (1.0 - 47 * 0.02) + 0.02 * gains[3:].sum()
    assert found.value == pytest.approx(expected, abs=PRECISION)
    assert found.by_set is None


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 10), st.integers(1, 10), st.integers(0, 10)), min_size=2, max_size=4),
    st.integers(1, 2),
)
def test_promises_only_ever_cost(arms: list[tuple[int, int, int]], plays: int) -> None:
    gains, chance, part = (np.array(column) / 10.0 for column in zip(*arms, strict=True))
    availability = Independent(chance)
    # A part of what every arm has when the first m awake arms play is within reach.
    fractions = part * optimal(np.arange(len(arms), 0.0, -1.0), plays, availability).shares
    free = optimal(gains, plays, availability)
    half = optimal_fair(gains, fractions / 2.0, plays, availability)
    whole = optimal_fair(gains, fractions, plays, availability)
    assert free.value >= half.value - PRECISION
    # The value is concave in the promise: half the promise costs at most half as much.
    assert free.value - half.value <= (free.value - whole.value) / 2.0 + PRECISION


@pytest.mark.parametrize("method", ["auto", "dual"])  # the reduced program says that it cannot
def test_promises_on_the_border_with_arms_that_are_seldom_awake(method: str) -> None:
    # Some sets have a chance of 1e-9 and less. Every arm is owed exactly what it has when the first two awake arms of
    # an order play, so nothing is left to choose.
    availability = Independent([0.05, 0.5, 0.5, 0.5, 0.001, 0.5, 0.02, 0.01])
    fractions = optimal(np.array([6.0, 4.0, 7.0, 2.0, 3.0, 1.0, 5.0, 8.0]), 2, availability).shares
    gains = np.linspace(0.1, 0.8, 8)
    found = optimal_fair(gains, fractions, 2, availability, method)
    assert found.value == pytest.approx(float(fractions @ gains), abs=PRECISION)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("availability", [Joint([[0, 0]], [1.0]), Independent([0.0, 0.0]), Logged([[0, 0]])])
def test_where_nobody_is_ever_awake_nothing_is_earned(availability: Availability, method: str) -> None:
    found = optimal_fair(np.array([0.5, 0.2]), np.zeros(2), 1, availability, method)
    assert found.value == 0.0
    assert found.shares.tolist() == [0.0, 0.0]


def test_an_arm_that_never_wakes_has_no_share() -> None:
    found = optimal_fair(np.array([0.9, 0.2]), np.array([0.0, 0.4]), 1, Independent([0.0, 0.5]))
    assert found.value == pytest.approx(0.1, abs=PRECISION)
    assert found.shares[0] == 0.0


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(InfeasiblePromise, match=r"arms 1, 2 together are promised 1\.1"):
        optimal_fair(np.array([0.9, 0.2]), np.array([0.5, 0.6]), 1, Always())


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(EvenhandError, match="method must be 'auto' or 'reduced' or 'dual', got 'primal'"):
        optimal_fair(np.ones(1), np.zeros(1), 1, Always(), "primal")


def test_the_reduced_program_is_refused_where_sets_are_too_many() -> None:
    with pytest.raises(EvenhandError, match="too large for 16 arms; use method='dual'"):
        optimal_fair(np.ones(16), np.zeros(16), 1, Independent(np.full(16, 0.5)), "reduced")


def test_the_program_is_chosen_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def unused(*args: Any) -> None:
        raise RuntimeError("the dual was solved")

    monkeypatch.setattr("evenhand.theory.oracle.cutting_planes", unused)
    setting = np.array([0.4, 0.5, 0.7]), np.array([0.5, 0.6, 0.4]), 2, Independent([0.9, 0.8, 0.7])
    monkeypatch.setattr("evenhand.theory.oracle.REDUCED_UP_TO", 8 * 3)  # its sets × arms
    optimal_fair(*setting)
    monkeypatch.setattr("evenhand.theory.oracle.REDUCED_UP_TO", 8 * 3 - 1)
    with pytest.raises(RuntimeError, match="the dual was solved"):
        optimal_fair(*setting)


# --- Opt-NF -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plays", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_opt_nf_is_the_mean_of_the_best_awake_arms(kind: str, plays: int) -> None:
    for seed in range(5):
        gains = np.round(np.random.default_rng(seed).uniform(-0.5, 1.0, 5), 1)
        availability = models(5, seed)[kind]
        expected = 0.0
        for awake, chance in listed(availability, 5):
            best = sorted((max(w, 0.0) for w, on in zip(gains.tolist(), awake, strict=True) if on), reverse=True)
            expected += chance * sum(best[:plays])
        found = optimal(gains, plays, availability)
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert found.shares @ gains == pytest.approx(expected, abs=1e-12)
        sets = availability.distribution(5)
        assert sets is not None
        assert found.by_set is not None
        assert sets[1] @ found.by_set == pytest.approx(expected, abs=1e-12)


def test_opt_nf_of_many_arms_sums_without_listing() -> None:
    # All alike and awake half the time: 1 − 2^−20 of the rounds somebody earns 0.7.
    found = optimal(np.full(20, 0.7), 1, Independent(np.full(20, 0.5)))
    assert found.value == pytest.approx(0.7 * (1.0 - 0.5**20), rel=1e-12)
    assert found.by_set is None


def test_an_arm_of_negative_worth_never_plays() -> None:
    found = optimal(np.array([-0.1, 0.4, -0.3]), 3, Always())
    assert found.value == 0.4
    assert found.shares.tolist() == [0.0, 1.0, 0.0]


# --- under penalties --------------------------------------------------------------------------------------------------


def test_penalised_optimum_is_equation_nine() -> None:
    # Fang et al. 2022, eq. (9): the optimal policy loses Σ min(Δ, A) τ, so it earns μ* less that.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        means, fractions, penalties = rng.random(6), rng.dirichlet(np.ones(7))[:6], rng.random(6)
        gaps = means.max() - means
        expected = means.max() - sum(
            min(gap, price) * share for gap, price, share in zip(gaps, penalties, fractions, strict=True)
        )
        found = optimal_penalized(means, fractions, penalties, 1, Always())
        assert found.value == pytest.approx(expected, abs=PRECISION)


@pytest.mark.parametrize(
    ("means", "fractions", "penalties"),
    [
        ([0.9, 0.8, 0.1], [0.2, 0.2, 0.2], [0.3, 0.3, 0.3]),
        ([0.5, 0.5, 0.2], [0.3, 0.3, 0.3], [0.0, 0.2, 0.9]),
        ([0.2, 0.7, 0.4], [0.0, 0.1, 0.9], [0.5, 0.0, 0.3]),  # at its gap an arm is critical
        ([0.6, 0.5, 0.1], [0.6, 0.5, 0.4], [0.7, 0.6, 0.9]),  # more promised than there are rounds
    ],
)
def test_penalised_optimum_is_the_least_loss_on_a_grid(
    means: list[float], fractions: list[float], penalties: list[float]
) -> None:
    # Eq. (6) directly: y on the simplex in steps of 0.05; the loss is piecewise linear with its corners on this grid.
    steps = 20
    best = np.inf
    for first, second in itertools.product(range(steps + 1), repeat=2):
        if first + second > steps:
            continue
        shares = [first / steps, second / steps, (steps - first - second) / steps]
        loss = sum(
            (max(means) - mean) * y + price * max(share - y, 0.0)
            for mean, price, share, y in zip(means, penalties, fractions, shares, strict=True)
        )
        best = min(best, loss)
    found = optimal_penalized(np.array(means), np.array(fractions), np.array(penalties), 1, Always())
    assert found.value == pytest.approx(max(means) - best, abs=PRECISION)


@pytest.mark.parametrize("by", ["auto", "dual"])
@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_penalised_optimum_over_all_subsets(kind: str, plays: int, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "dual":
        monkeypatch.setattr("evenhand.theory.oracle.REDUCED_UP_TO", 0)
    for seed in range(5):
        rng = np.random.default_rng((seed, plays))
        availability = models(4, seed)[kind]
        gains, penalties = np.round(rng.uniform(-0.2, 1.0, 4), 1), np.round(rng.uniform(0.0, 1.2, 4), 1)
        fractions = within_reach(availability, plays, 4, rng)
        found = optimal_penalized(gains, fractions, penalties, plays, availability)
        expected = program_two(gains, fractions, plays, availability, penalties)
        assert found.value == pytest.approx(expected, abs=PRECISION)


@pytest.mark.parametrize("by", ["auto", "dual"])
def test_penalised_optimum_of_promises_out_of_reach(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Soft promises may ask for more than there is: the dearest ones are kept.
    if by == "dual":
        monkeypatch.setattr("evenhand.theory.oracle.REDUCED_UP_TO", 0)
    gains, fractions, penalties = np.array([0.5, 0.0, 0.0]), np.array([0.5, 0.5, 0.5]), np.array([0.0, 3.0, 4.0])
    dearer = np.array([2.5, 3.0, 4.0])
    for availability in (Always(), Independent(np.ones(3))):
        # Arms 2 and 3 share the rounds: nothing is earned and nothing that has a price is missed.
        found = optimal_penalized(gains, fractions, penalties, 1, availability)
        assert found.value == pytest.approx(0.0, abs=PRECISION)
        # Now the half of the rounds that arm 1 misses costs 2.5 · 0.5.
        found = optimal_penalized(gains, fractions, dearer, 1, availability)
        assert found.value == pytest.approx(-1.25, abs=PRECISION)


def test_without_penalties_the_penalised_optimum_is_opt_nf() -> None:
    gains, availability = np.array([0.3, 0.8, 0.5]), Independent([0.9, 0.5, 0.7])
    found = optimal_penalized(gains, np.full(3, 0.2), np.zeros(3), 2, availability)
    assert found.value == pytest.approx(optimal(gains, 2, availability).value, abs=PRECISION)


def test_under_high_penalties_the_penalised_optimum_is_opt_f() -> None:
    gains, fractions, availability = np.array([0.3, 0.8, 0.5]), np.array([0.4, 0.3, 0.2]), Independent([0.9, 0.5, 0.7])
    found = optimal_penalized(gains, fractions, np.full(3, 2.0), 1, availability)
    assert found.value == pytest.approx(optimal_fair(gains, fractions, 1, availability).value, abs=PRECISION)


def test_penalised_optimum_of_more_arms_than_can_be_listed() -> None:
    arms = 20
    gains, fractions = np.linspace(0.9, 0.1, arms), np.full(arms, 0.03)
    penalties = np.full(arms, 0.3)
    expected = 0.9 - sum(min(0.9 - w, 0.3) * 0.03 for w in gains.tolist())
    found = optimal_penalized(gains, fractions, penalties, 1, Independent(np.ones(arms)))
    assert found.value == pytest.approx(expected, abs=GAP + PRECISION)


# --- the fair shares by merit -----------------------------------------------------------------------------------------

MERITS: dict[str, Merit] = {
    "power": Power(2.0, 4.0),
    "steep": Power(50.0, 4.0),
    "falling": Linear(-0.9, 1.0),
    "a step": Threshold(0.5, 1.0, 7.0),
}


def water_filled(weights: list[Fraction], plays: int) -> list[Fraction]:
    """``min(c w, 1)`` with a sum of m, exactly: the k largest are cut off, for the smallest k that will do."""
    order = sorted(range(len(weights)), key=lambda arm: -weights[arm])
    for k in range(min(plays, len(weights)) + 1):
        total = sum((weights[arm] for arm in order[k:]), Fraction(0))
        shares = {arm: (plays - k) * weights[arm] / total for arm in order[k:]}
        if all(share <= 1 for share in shares.values()):
            break
    return [shares.get(arm, Fraction(1)) for arm in range(len(weights))]


def test_fair_shares_of_the_papers_setting() -> None:
    # 3 (1 + 2 μ⁴)/(7 + 2 Σ μ⁴), in ten-thousandths: Σ (10 μ)⁴ = 15 316.
    tenths = [3, 5, 7, 9, 8, 6, 4]
    expected = [3 * (10_000 + 2 * n**4) / (70_000 + 2 * 15_316) for n in tenths]
    found = fair_shares(Power(2.0, 4.0), np.array(tenths) / 10.0, 3, Always())
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)
    assert sum(expected) == pytest.approx(3.0)


@pytest.mark.parametrize("merit", MERITS.values(), ids=MERITS)
@pytest.mark.parametrize("plays", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_fair_shares_are_averages_over_the_available_sets(kind: str, plays: int, merit: Merit) -> None:
    for seed in range(4):
        arms = max(3 + seed, plays)
        availability = models(arms, seed)[kind]
        means = np.round(np.random.default_rng((seed, plays)).random(arms), 2)
        weights = [Fraction(float(f)) for f in merit(means)]
        expected = np.zeros(arms)
        for awake, chance in listed(availability, arms):
            members = [arm for arm in range(arms) if awake[arm]]
            shares = water_filled([weights[arm] for arm in members], plays)
            for arm, share in zip(members, shares, strict=True):
                expected[arm] += chance * float(share)
        found = fair_shares(merit, means, plays, availability)
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-14)
        number = sum(chance * min(sum(awake), plays) for awake, chance in listed(availability, arms))
        assert np.sum(np.asarray(found)) == pytest.approx(number)


def test_fair_shares_with_a_sleeping_arm_by_hand() -> None:
    # Merits 1 and 3; the second arm is awake in half of the rounds: 1/2 · 1 + 1/2 · 1/4, and 1/2 · 3/4.
    found = fair_shares(Power(2.0, 1.0), np.array([0.0, 1.0]), 1, Independent([1.0, 0.5]))
    assert np.asarray(found).tolist() == [0.625, 0.375]
    # With 2 plays and 3 arms 1.6 would be the third's share; the same set twice in the table counts twice.
    table = Joint([[1, 1, 1], [1, 0, 1], [1, 1, 1]], [0.25, 0.5, 0.25])
    found = fair_shares(Power(7.0, 1.0), np.array([0.0, 0.0, 1.0]), 2, table)
    assert np.asarray(found).tolist() == [0.75, 0.25, 1.0]


def test_fair_shares_of_lanes_with_different_means() -> None:
    means = np.array([[0.0, 0.5, 1.0], [1.0, 1.0, 0.0]])
    found = fair_shares(Linear(1.0, 1.0), means, 1, Always())
    np.testing.assert_allclose(np.asarray(found), [[2 / 9, 3 / 9, 4 / 9], [0.4, 0.4, 0.2]], rtol=1e-15)
    # Where they also sleep, or where sets are too many, nobody knows the average.
    assert fair_shares(Linear(1.0, 1.0), means, 1, Independent([0.5, 0.5, 0.5])) is None
    assert fair_shares(Linear(1.0, 1.0), np.full(16, 0.5), 1, Independent(np.full(16, 0.5))) is None


def test_merits_are_known_of_means_in_the_unit_interval_only() -> None:
    assert merits_of(Linear(1.0, 1.0), np.array([0.0, 0.25, 1.0])).tolist() == [1.0, 1.25, 2.0]
    assert merits_of(Linear(1.0, 1.0), np.array([[0.0], [1.0]])).tolist() == [[1.0], [2.0]]
    message = r"^merit is a function of mean rewards in \[0, 1\], but that of arm {} is {}$"
    for means, arm, value in (
        ([0.5, 1.25, -1.0], 2, "1.25"),
        ([-0.1], 1, "-0.1"),
        ([0.0, 0.0, np.nan], 3, "nan"),
        ([[0.5, 0.5], [0.5, 1.5]], 2, "1.5"),
    ):
        with pytest.raises(EvenhandError, match=message.format(arm, value)):
            merits_of(Linear(1.0, 1.0), np.array(means))
        with pytest.raises(EvenhandError, match=message.format(arm, value)):
            fair_shares(Linear(1.0, 1.0), np.array(means), 1, Always())
