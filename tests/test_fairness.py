"""What each arm is owed: every rule against its formula, counted in exact fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Policy
from evenhand.fairness import (
    DeficitBonus,
    DeficitFirst,
    Fairness,
    GuaranteedShares,
    MeritShares,
    Mixing,
    NoPromise,
    VirtualQueue,
    owed,
)
from evenhand.index import BetaSample
from evenhand.merit import Custom, Linear, Merit, Power, Tabulated, Threshold
from evenhand.records import Array, Mask, Shape, State, Tally
from evenhand.selection import Categorical, DependentRounding, Selection, SystematicSampling
from evenhand.tuning import Doubling, ForChoices

HORIZON = 1_000_000  # no round counted here is later


def state_after(rounds: int, pulls: Any) -> State:
    counts = np.asarray(pulls, dtype=float)
    return State(rounds, Tally(counts, counts, np.zeros_like(counts)))


def sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


@st.composite
def decimals(draw: st.DrawFn, digits: int = 4) -> Fraction:
    """A share with up to so many digits."""
    scale = 10 ** draw(st.integers(1, digits))
    return Fraction(draw(st.integers(0, scale)), scale)


# --- Owed ------------------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=400)
@given(decimals(), st.integers(0, HORIZON), st.integers(-2, 2))
@example(Fraction("0.07"), 100, 0)
@example(Fraction("0.29"), 100, 0)
@example(Fraction("0.57"), 100, 0)
def test_owed_is_right_to_a_billionth_and_has_the_right_sign(r: Fraction, rounds: int, off: int) -> None:
    pulls = max(int(r * rounds) + off, 0)
    exact = r * rounds - pulls
    found = float(owed(np.array([float(r)]), rounds, np.array([float(pulls)]))[0])
    assert abs(Fraction(found) - exact) <= Fraction(1, 10**9)
    assert sign(found) == sign(exact)


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 50), st.integers(1, 20_000))
def test_shares_that_no_decimal_holds_fall_due_exactly(parts: int, times: int) -> None:
    # 1/K of K n rounds is n plays.
    assert owed(np.array([1.0 / parts]), parts * times, np.array([float(times)]))[0] == 0.0


@settings(derandomize=True, deadline=None, max_examples=400)
@given(decimals(), decimals(), st.integers(1, 4000), st.sampled_from([2, 4, 5, 8, 10, 20, 25, 50, 100]))
@example(Fraction("0.24"), Fraction("0.04"), 5, 5)
@example(Fraction("0.3"), Fraction("0.1"), 1, 5)
@example(Fraction("0.571"), Fraction("0.946"), 11516, 8)  # round 92 128
@example(Fraction("0.5119"), Fraction("0.8869"), 11319, 8)
def test_deficits_compare_as_they_do_exactly(one: Fraction, two: Fraction, times: int, step: int) -> None:
    # Round n is a multiple of step, so that different shares often differ by a whole number of plays.
    rounds = times * step
    pulls = [int(one * rounds), int(two * rounds)]
    exact = [one * rounds - pulls[0], two * rounds - pulls[1]]
    found = owed(np.array([float(one), float(two)]), rounds, np.array(pulls, dtype=float))
    assert sign(found[0] - found[1]) == sign(exact[0] - exact[1])


def test_owed_is_worked_out_arm_by_arm_and_lane_by_lane() -> None:
    fractions, pulls = np.array([0.5, 0.25]), np.array([[1.0, 3.0], [5.0, 0.0]])
    assert owed(fractions, 8, pulls).tolist() == [[3.0, -1.0], [-1.0, 2.0]]
    assert owed(np.array([[0.5], [0.25]]), 8, pulls).tolist() == [[3.0, 1.0], [-3.0, 2.0]]


# --- Claims ----------------------------------------------------------------------------------------------------------

WORTH = np.array([0.9, 0.5, 0.7])
SHARES: Any = [0.5, 0.25, 0.0]


def score(fairness: Fairness, rounds: int, pulls: Any, worth: Array = WORTH) -> list[float]:
    return list(fairness.claim(worth, False, state_after(rounds, pulls)).score)


def test_no_promise_claims_by_worth() -> None:
    claim = NoPromise().claim(WORTH, True, state_after(3, [1, 1, 1]))
    assert claim.score is WORTH
    assert (claim.random, claim.first) == (True, None)


def test_deficit_first_claims_what_was_owed_after_the_last_round() -> None:
    claim = DeficitFirst(SHARES, tolerance=1.5).claim(WORTH, False, state_after(8, [3, 3, 2]))
    assert claim.first.tolist() == [1.0, -1.0, -2.0]
    assert (claim.above, claim.score.tolist()) == (1.5, WORTH.tolist())


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # After 8 rounds 4, 2 and 0 plays are due, in the 9th 4.5, 2.25 and 0; pulls are 3, 2 and 3.
        ("linear", [0.9 + 2.0 * 1.0, 0.5 + 2.0 * 0.0, 0.7 - 2.0 * 3.0]),
        ("hinge", [0.9 + 2.0 * 1.0, 0.5, 0.7]),
        ("hard", [0.9 + 2.0, 0.5 + 2.0, 0.7]),
        ("soft", [0.9 + 2.0 * 1.5 / 4.5, 0.5 + 2.0 * 0.25 / 2.25, 0.7]),
    ],
)
def test_bonuses_by_hand(shape: str, expected: list[float]) -> None:
    assert score(DeficitBonus(SHARES, 2.0, shape), 8, [3, 2, 3]) == pytest.approx(expected, rel=1e-12)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(decimals(), st.integers(0, 60), st.floats(0, 3)), min_size=1, max_size=5),
    st.integers(0, 100),
    st.sampled_from(["linear", "hinge", "hard", "soft"]),
)
def test_bonuses_are_their_formulas(arms: list[tuple[Fraction, int, float]], rounds: int, shape: str) -> None:
    shares, pulls, rates = zip(*arms, strict=True)
    found = score(DeficitBonus(np.array([float(r) for r in shares]), rates, shape), rounds, pulls, np.zeros(len(arms)))
    for value, (r, count, rate) in zip(found, arms, strict=True):
        last, now, due = r * rounds - count, r * (rounds + 1) - count, r * (rounds + 1)
        bonus = {
            "linear": last,
            "hinge": max(last, Fraction(0)),
            "hard": Fraction(1 if now > 0 else 0),
            "soft": max(now, Fraction(0)) / due if due else Fraction(0),
        }[shape]
        # What is due is right to a billionth of a play; the soft bonus divides that by what is due, here at least 1e-4.
        assert value == pytest.approx(rate * float(bonus), abs=rate * (1e-5 if shape == "soft" else 1e-9))


def test_a_share_that_is_exactly_filled_gets_no_threshold_bonus() -> None:
    # 0.07 · 100 is 7, though not in floats: round 100 with 7 pulls.
    for shape in ("hard", "soft"):
        assert score(DeficitBonus(np.array([0.07]), 1.0, shape), 99, [7], np.zeros(1)) == [0.0]


def test_only_thresholds_set_a_price() -> None:
    prices = {shape: DeficitBonus(SHARES, 0.3, shape).penalties for shape in ("linear", "hinge", "hard", "soft")}
    assert (prices["linear"], prices["hinge"]) == (None, None)
    assert prices["hard"].tolist() == prices["soft"].tolist() == [0.3]


def test_untried_arms_lead_whatever_their_surplus() -> None:
    worth = np.array([math.inf, 0.5, math.inf])
    for shape in ("linear", "hinge", "hard", "soft"):
        found = score(DeficitBonus(SHARES, 2.0, shape), 8, [0, 2, 0], worth)
        assert [math.isinf(value) for value in found] == [True, False, True]


# --- Queues ----------------------------------------------------------------------------------------------------------


def lengths(queue: VirtualQueue, plays: list[list[int]]) -> list[list[float]]:
    """The queue lengths after each round, which are the scores with η = 0."""
    policy = Policy(fairness=queue)
    state = policy.start(arms=len(plays[0]))
    worth, found = np.zeros(len(plays[0])), []
    for played in plays:
        state.round += 1
        state.tally.pulls += np.array(played)
        queue.note(state.fairness, np.array(played, dtype=bool))
        found.append([float(value) for value in queue.claim(worth, False, state).score])
    return found


def test_queues_by_hand() -> None:
    # r = 0.5. Recursive: max(0 + 0.5 − 1, 0) = 0, 0.5, 1, 0.5. Exact: max(t/2 − N, 0) = 0, 0, 0.5, 0.
    plays = [[1], [0], [0], [1]]
    assert lengths(VirtualQueue(np.array([0.5]), 0.0, queue="recursive"), plays) == [[0.0], [0.5], [1.0], [0.5]]
    assert lengths(VirtualQueue(np.array([0.5]), 0.0, queue="exact"), plays) == [[0.0], [0.0], [0.5], [0.0]]


@settings(derandomize=True, deadline=None)
@given(decimals(), st.lists(st.booleans(), min_size=1, max_size=60))
def test_queues_are_their_recursions(r: Fraction, plays: list[bool]) -> None:
    column = [[int(played)] for played in plays]
    recursive = lengths(VirtualQueue(np.array([float(r)]), 0.0, queue="recursive"), column)
    exact = lengths(VirtualQueue(np.array([float(r)]), 0.0, queue="exact"), column)
    length, pulls = Fraction(0), 0
    for t, played in enumerate(plays, start=1):
        length, pulls = max(length + r - int(played), Fraction(0)), pulls + int(played)
        assert recursive[t - 1][0] == pytest.approx(float(length), abs=1e-9)
        assert exact[t - 1][0] == pytest.approx(float(max(t * r - pulls, Fraction(0))), abs=1e-9)
        assert recursive[t - 1][0] >= exact[t - 1][0] - 1e-9  # what forgets surpluses is never shorter


def test_recursive_queues_of_equal_length_compare_equal() -> None:
    # r = (0.1, 0.3): three rounds without a play against one, after a play that emptied the second queue.
    found = lengths(VirtualQueue(np.array([0.1, 0.3]), 0.0, queue="recursive"), [[0, 0], [0, 1], [0, 0]])
    assert found[-1] == pytest.approx([0.3, 0.3])
    assert found[-1][0] == found[-1][1]


def test_the_queue_is_weighed_against_the_worth() -> None:
    # After 8 rounds with pulls (3, 2, 3) the queues are (1, 0, 0).
    found = score(VirtualQueue(SHARES, 10.0, weights=[1.0, 2.0, 0.5]), 8, [3, 2, 3])
    assert found == pytest.approx([1.0 + 10.0 * 0.9, 10.0 * 2.0 * 0.5, 10.0 * 0.5 * 0.7])
    unbound = score(VirtualQueue(SHARES, math.inf, weights=[1.0, 2.0, 0.5]), 8, [3, 2, 3])
    assert unbound == pytest.approx([0.9, 1.0, 0.35])


def test_a_sleeping_arm_keeps_its_place_in_the_recursive_queue() -> None:
    assert lengths(VirtualQueue(np.array([0.25]), 0.0, queue="recursive"), [[0]] * 5)[-1] == [1.25]


@pytest.mark.parametrize(("eta", "weights"), [(0.0, 1.0), (1.0, [0.0, 1.0, 1.0]), (math.inf, [0.0, 1.0, 1.0])])
def test_an_infinite_bound_of_no_weight_is_still_a_number(eta: float, weights: Any) -> None:
    # An arm never played has an infinite unclipped bound, and η or its weight may be 0.
    worth = np.array([math.inf, 0.5, 0.7])
    with np.errstate(invalid="ignore"):
        found = score(VirtualQueue(SHARES, eta, weights), 8, [0, 2, 3], worth)
    assert not np.isnan(found).any()


def test_weights_are_told_to_those_who_measure() -> None:
    assert VirtualQueue(SHARES, 1.0, weights=[1.0, 2.0, 0.5]).weights.tolist() == [1.0, 2.0, 0.5]
    assert DeficitFirst(SHARES).weights is None
    assert VirtualQueue(SHARES, 1.0).penalties is None


# --- Guaranteed shares -----------------------------------------------------------------------------------------------


def test_shares_by_hand() -> None:
    assert score(GuaranteedShares(SHARES, "best"), 8, [3, 2, 3]) == pytest.approx([0.75, 0.25, 0.0])
    assert score(GuaranteedShares(SHARES, "all"), 8, [3, 2, 3]) == pytest.approx([0.5 + 0.25 / 3, 1.0 / 3, 0.25 / 3])
    # On a tie the lowest index is the best.
    assert score(GuaranteedShares(np.array([0.25, 0.25]), "best"), 0, [0, 0], np.array([0.5, 0.5])) == [0.75, 0.25]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=6), st.sampled_from(["best", "all"]))
def test_shares_are_kept_and_sum_to_one(arms: list[tuple[float, float]], rest: str) -> None:
    asked, worth = (np.array(column) for column in zip(*arms, strict=True))
    fractions = asked / max(asked.sum(), 1.0)
    claim = GuaranteedShares(fractions, rest).claim(worth, False, state_after(0, np.zeros(len(arms))))
    assert (claim.score >= fractions).all()
    assert claim.score.sum() == pytest.approx(1.0)


def test_a_random_worth_makes_the_best_arm_random_and_even_shares_not() -> None:
    state = state_after(0, [0, 0, 0])
    assert GuaranteedShares(SHARES, "best").claim(WORTH, True, state).random
    assert not GuaranteedShares(SHARES, "all").claim(WORTH, True, state).random


# --- Mixing ----------------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(any), st.integers(0, 8))
def test_mixing_is_its_formula(worth: list[int], eighths: int) -> None:
    gamma, total = Fraction(eighths, 8), sum(worth)
    claim = Mixing(float(gamma)).claim(np.array(worth, dtype=float), False, state_after(3, [1.0] * len(worth)))
    expected = [(1 - gamma) * Fraction(w, total) + gamma / len(worth) for w in worth]
    assert claim.score == pytest.approx([float(share) for share in expected])
    assert claim.score.sum() == pytest.approx(1.0)
    assert (claim.first, claim.tie, claim.random) == (None, None, False)


def test_mixing_works_lane_by_lane_and_tells_of_chance() -> None:
    worth = np.array([[3.0, 1.0], [0.0, 5.0]])
    claim = Mixing(0.5).claim(worth, True, state_after(1, np.ones((2, 2))))
    assert claim.score.tolist() == [[0.625, 0.375], [0.25, 0.75]]
    assert claim.random


def test_mixing_may_change_with_the_round() -> None:
    # T_1 = 8, d = 2 and 2 = ⌊16^(1/3)⌋: γ = sqrt(2 · 2 · 2 ln 2/(8 + 2)) in round 8, with 16 + 2 from round 9 on.
    rule, worth = Doubling(first_horizon=8, horizon=100), np.array([1.0, 0.0])
    for rounds, end in ((7, 8), (8, 16)):
        gamma = math.sqrt(8.0 * math.log(2.0) / (end + 2.0))
        score = Mixing(rule).claim(worth, False, state_after(rounds, [1.0, 1.0])).score
        assert score == pytest.approx([1.0 - gamma / 2.0, gamma / 2.0])
    gamma = ForChoices(100).mixing(1, 2)
    assert Mixing(ForChoices(100)).claim(worth, False, state_after(0, [0, 0])).score[1] == pytest.approx(gamma / 2.0)


@pytest.mark.parametrize("mixing", [-0.1, 1.1, math.nan, "much"])
def test_bad_mixing_is_refused(mixing: Any) -> None:
    with pytest.raises(EvenhandError, match=r"^mixing must be a number"):
        Mixing(mixing)


# --- Shares by merit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("merit", "expected"),
    [
        (Power(2.0, 4.0), [1.0, 1.0, 1.125, 3.0, 3.0]),
        (Power(3.0, 0.5), [1.0, 1.0, 1.0 + 3.0 * math.sqrt(0.5), 4.0, 4.0]),
        (Linear(-0.5, 1.0), [1.0, 1.0, 0.75, 0.5, 0.5]),
        (Threshold(0.5, 1.0, 2.0), [1.0, 1.0, 2.0, 2.0, 2.0]),
        (Tabulated([0.0, 0.5, 1.0], [1.0, 5.0, 2.0]), [1.0, 1.0, 5.0, 2.0, 2.0]),
        (Custom(lambda mean: 1.0 + mean), [1.0, 1.0, 1.5, 2.0, 2.0]),
    ],
    ids=repr,
)
def test_the_claim_is_the_merit_of_the_worth_cut_to_the_unit_interval(merit: Merit, expected: list[float]) -> None:
    # What was never played may have an infinite worth, and Gaussian rewards may have a mean outside [0, 1].
    worth = np.array([-0.3, 0.0, 0.5, 1.0, math.inf])
    assert score(MeritShares(merit), 3, [1, 1, 1, 1, 0], worth) == pytest.approx(expected, rel=1e-14)
    assert worth.tolist() == [-0.3, 0.0, 0.5, 1.0, math.inf]
    lanes = MeritShares(merit).claim(np.array([[0.0, 0.5], [1.0, 0.0]]), False, state_after(1, [[1, 0], [1, 0]])).score
    assert lanes == pytest.approx(np.array([[expected[1], expected[2]], [expected[3], expected[1]]]), rel=1e-14)


def test_a_drawn_worth_makes_the_claim_random() -> None:
    state = state_after(3, [1, 1, 1])
    for random in (False, True):
        claim = MeritShares(Power()).claim(WORTH, random, state)
        assert (claim.random, claim.first) == (random, None)


def test_shares_by_merit_promise_no_fraction_and_set_no_price() -> None:
    fairness = MeritShares(Linear(), cap=True)
    assert (fairness.fractions, fairness.penalties, fairness.weights) == (None, None, None)
    assert fairness.merit == Linear()
    assert Policy(fairness=fairness).merit == Linear()
    assert (Policy().merit, Policy(fairness=DeficitFirst(SHARES)).merit) == (None, None)


def test_any_function_may_be_the_merit() -> None:
    assert score(MeritShares(lambda mean: 2.0 + mean), 3, [1, 1, 1]) == pytest.approx([2.9, 2.5, 2.7])
    with pytest.raises(EvenhandError, match=r"^merit must be a function such as Power\(beta=2, exponent=4\), got 2$"):
        MeritShares(2)
    with pytest.raises(EvenhandError, match=r"^the merit function must be positive for every mean in \[0, 1\], "):
        MeritShares(lambda mean: mean)


def test_merits_that_break_the_limit_are_refused_when_a_policy_starts_unless_shares_are_capped() -> None:
    def policy(beta: float, plays: int, cap: bool = False) -> Policy:
        return Policy(fairness=MeritShares(Power(beta), cap), selection=DependentRounding(plays))

    # (K − 1)/(m − 1) = 3 = 1 + β.
    policy(2.0, 3).start(arms=7)
    with pytest.raises(EvenhandError, match=r"the largest merit is 3\.5 times the smallest; with 7 arms and plays = 3"):
        policy(2.5, 3).start(arms=7)
    policy(2.5, 3).start(arms=8)
    policy(2.5, 3, cap=True).start(arms=7)
    # No share exceeds one with one play, or where all arms play anyway.
    policy(1000.0, 1).start(arms=7)
    policy(1000.0, 7).start(arms=7)


def test_other_promises_fit_any_number_of_arms_and_plays() -> None:
    for fairness in (NoPromise(), DeficitFirst(SHARES), VirtualQueue(SHARES, 1.0), GuaranteedShares(SHARES)):
        fairness.check(3, 2)
        assert fairness.merit is None


@dataclass(frozen=True)
class Told:
    """A worth that is told, whatever happens."""

    values: tuple[float, ...]
    random: ClassVar[bool] = False

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        return np.array(self.values)

    def observe(self, memory: None, feedback: Any, rng: np.random.Generator) -> None:
        """Nothing is remembered."""


@pytest.mark.parametrize(
    ("selection", "worth", "awake", "expected"),
    [
        # Merits 1 + 2 μ⁴ of 1, 0.5 and 0 are 3, 1.125 and 1.
        (Categorical(), (1.0, 0.5, 0.0), None, [3 / 5.125, 1.125 / 5.125, 1 / 5.125]),
        (Categorical(), (1.0, 0.5, 0.0), [True, False, True], [3 / 4, 0, 1 / 4]),
        (DependentRounding(2), (0.5, 0.5, 0.0), None, [2.25 / 3.25, 2.25 / 3.25, 2 / 3.25]),
        # 2 · 3/5 > 1: the excess goes to the others in proportion.
        (DependentRounding(2), (1.0, 0.0, 0.0), None, [1, 1 / 2, 1 / 2]),
        (SystematicSampling(2), (1.0, 0.5, 0.0), None, [1, 1.125 / 2.125, 1 / 2.125]),
        # Two of three awake: both play, whatever their merit, and nothing is refused.
        (DependentRounding(2), (1.0, 0.5, 0.0), [True, False, True], [1, 0, 1]),
        (DependentRounding(2), (1.0, 0.5, 0.0), [False, True, False], [0, 1, 0]),
        (DependentRounding(2), (1.0, 0.5, 0.0), [False, False, False], [0, 0, 0]),
    ],
)
def test_the_selection_vector_by_hand(
    selection: Selection, worth: tuple[float, ...], awake: list[bool] | None, expected: list[float]
) -> None:
    policy = Policy(Told(worth), MeritShares(Power(2.0, 4.0), cap=True), selection)
    state, rng = policy.start(arms=3), np.random.default_rng(0)
    decision = policy.decide(state, rng, None if awake is None else np.array(awake))
    assert decision.vector == pytest.approx(np.array(expected, dtype=float), rel=1e-14)
    assert decision.probabilities is decision.vector  # the worth is not drawn, so the claim leaves nothing open
    assert decision.played.sum() == round(sum(expected))


def test_of_a_drawn_worth_only_the_vector_is_told() -> None:
    policy = Policy(BetaSample(), MeritShares(Power()), DependentRounding(2))
    decision = policy.decide(policy.start(arms=4), np.random.default_rng(0))
    assert decision.probabilities is None
    assert decision.vector.sum() == pytest.approx(2.0)
    assert len(set(decision.vector.tolist())) == 4  # the draws differ, though nothing is known
