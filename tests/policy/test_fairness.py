"""What each arm is owed: every rule against its formula, counted in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Policy
from evenhand.core.state import ALL_AVAILABLE, Array, Decision, Observation, State, Tally, Unit
from evenhand.policy.accounts import Accounts, owed
from evenhand.policy.claim import Fairness, Ranking, Shares, deficits
from evenhand.policy.custom_merit import Custom
from evenhand.policy.fairness import (
    DeficitBonus,
    DeficitFirst,
    GuaranteedShares,
    MeritShares,
    Mixing,
    NoPromise,
)
from evenhand.policy.index import BetaSample, Index
from evenhand.policy.merit import Linear, Merit, Power, Tabulated, Threshold
from evenhand.policy.mixing import Doubling, ForChoices
from evenhand.policy.selection import Categorical, DependentRounding, Selection, SystematicSampling
from evenhand.policy.virtual_queue import VirtualQueue

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
    assert owed(float(r), float(rounds), float(pulls)) == found  # of a single arm, without arrays


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


def begun(rounds: list[float], plays: list[float]) -> Accounts:
    return Accounts(np.array(rounds), np.array(plays), np.zeros(2), np.zeros(2))


def test_deficits_count_from_when_a_promise_began() -> None:
    # After 10 rounds; the second arm came after 8, with 4 plays before: 0.5 · 2 − 0 = 1.
    state = state_after(10, [6, 4])
    assert deficits(np.array([0.5, 0.5]), 10, state).tolist() == [-1.0, 1.0]
    state.begun = begun([0.0, 8.0], [0.0, 4.0])
    assert deficits(np.array([0.5, 0.5]), 10, state).tolist() == [-1.0, 1.0]
    state.begun = begun([0.0, 6.0], [0.0, 3.0])
    assert deficits(np.array([0.5, 0.5]), 10, state).tolist() == [-1.0, 1.0]
    state.begun = begun([4.0, 10.0], [0.0, 4.0])
    assert deficits(np.array([0.5, 0.5]), 10, state).tolist() == [-3.0, 0.0]


# --- Claims ----------------------------------------------------------------------------------------------------------

WORTH = np.array([0.9, 0.5, 0.7])
SHARES: Any = [0.5, 0.25, 0.0]


def score_of(fairness: Fairness, rounds: int, pulls: Any, score: Array = WORTH) -> list[float]:
    return list(fairness.claim(score, state_after(rounds, pulls)).score)


def test_no_promise_ranks_by_score() -> None:
    claim = NoPromise().claim(WORTH, state_after(3, [1, 1, 1]))
    assert claim.score is WORTH
    assert (type(claim), claim.priority) == (Ranking, None)


def test_deficit_first_claims_what_was_owed_after_the_last_round() -> None:
    claim = DeficitFirst(SHARES, tolerance=1.5).claim(WORTH, state_after(8, [3, 3, 2]))
    assert type(claim) is Ranking
    assert claim.priority is not None
    assert claim.priority.tolist() == [1.0, -1.0, -2.0]
    assert (claim.threshold, claim.score.tolist()) == (1.5, WORTH.tolist())


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
    assert score_of(DeficitBonus(SHARES, 2.0, shape), 8, [3, 2, 3]) == pytest.approx(expected, rel=1e-12)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(decimals(), st.integers(0, 60), st.floats(0, 3)), min_size=1, max_size=5),
    st.integers(0, 100),
    st.sampled_from(["linear", "hinge", "hard", "soft"]),
)
def test_bonuses_are_their_formulas(arms: list[tuple[Fraction, int, float]], rounds: int, shape: str) -> None:
    shares, pulls, rates = zip(*arms, strict=True)
    found = score_of(
        DeficitBonus(np.array([float(r) for r in shares]), rates, shape), rounds, pulls, np.zeros(len(arms))
    )
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
        assert score_of(DeficitBonus(np.array([0.07]), 1.0, shape), 99, [7], np.zeros(1)) == [0.0]


def test_only_thresholds_set_a_price() -> None:
    prices = {shape: DeficitBonus(SHARES, 0.3, shape).penalties for shape in ("linear", "hinge", "hard", "soft")}
    assert (prices["linear"], prices["hinge"]) == (None, None)
    assert np.asarray(prices["hard"]).tolist() == np.asarray(prices["soft"]).tolist() == [0.3]


def test_a_penalty_is_in_the_unit_of_the_rewards() -> None:
    state = state_after(10, [9.0, 1.0])
    state.unit = Unit(low=2.0, width=4.0)
    bonus = DeficitBonus([0.5, 0.5], 0.6, "hard")
    claim = bonus.claim(np.array([0.5, 0.25]), state)
    assert isinstance(claim, Ranking)
    np.testing.assert_allclose(claim.score, [0.5, 0.25 + 0.6 / 4.0])


def test_untried_arms_lead_whatever_their_surplus() -> None:
    score = np.array([math.inf, 0.5, math.inf])
    for shape in ("linear", "hinge", "hard", "soft"):
        found = score_of(DeficitBonus(SHARES, 2.0, shape), 8, [0, 2, 0], score)
        assert [math.isinf(value) for value in found] == [True, False, True]


# --- Queues ----------------------------------------------------------------------------------------------------------


def lengths(queue: VirtualQueue, plays: list[list[int]]) -> list[list[float]]:
    """The queue lengths after each round, which are the scores with η = 0."""
    policy = Policy(fairness=queue)
    state = policy.start(arms=len(plays[0]))
    score, found = np.zeros(len(plays[0])), []
    for played in plays:
        mask = np.array(played, dtype=bool)
        queue.after_decision(state, Decision(state.clock, mask, None, None, mask))
        state.round += 1
        state.tally.pulls += mask
        found.append([float(value) for value in queue.claim(score, state).score])
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
    found = score_of(VirtualQueue(SHARES, 10.0, weights=[1.0, 2.0, 0.5]), 8, [3, 2, 3])
    assert found == pytest.approx([1.0 + 10.0 * 0.9, 10.0 * 2.0 * 0.5, 10.0 * 0.5 * 0.7])
    unbound = score_of(VirtualQueue(SHARES, math.inf, weights=[1.0, 2.0, 0.5]), 8, [3, 2, 3])
    assert unbound == pytest.approx([0.9, 1.0, 0.35])


def test_a_sleeping_arm_keeps_its_place_in_the_recursive_queue() -> None:
    assert lengths(VirtualQueue(np.array([0.25]), 0.0, queue="recursive"), [[0]] * 5)[-1] == [1.25]


@pytest.mark.parametrize(("eta", "weights"), [(0.0, 1.0), (1.0, [0.0, 1.0, 1.0]), (math.inf, [0.0, 1.0, 1.0])])
def test_an_infinite_bound_of_no_weight_is_still_a_number(eta: float, weights: Any) -> None:
    # An arm never played has an infinite unclipped bound, and η or its weight may be 0.
    score = np.array([math.inf, 0.5, 0.7])
    with np.errstate(invalid="ignore"):
        found = score_of(VirtualQueue(SHARES, eta, weights), 8, [0, 2, 3], score)
    assert not np.isnan(found).any()


def test_weights_count_for_metrics() -> None:
    weights = VirtualQueue(SHARES, 1.0, weights=[1.0, 2.0, 0.5]).weights
    assert weights is not None
    assert weights.tolist() == [1.0, 2.0, 0.5]
    assert DeficitFirst(SHARES).weights is None
    assert VirtualQueue(SHARES, 1.0).penalties is None


# --- Guaranteed shares -----------------------------------------------------------------------------------------------


def test_shares_by_hand() -> None:
    assert score_of(GuaranteedShares(SHARES, "best"), 8, [3, 2, 3]) == pytest.approx([0.75, 0.25, 0.0])
    assert score_of(GuaranteedShares(SHARES, "all"), 8, [3, 2, 3]) == pytest.approx([0.5 + 0.25 / 3, 1.0 / 3, 0.25 / 3])
    # On a tie the lowest index is the best.
    assert score_of(GuaranteedShares(np.array([0.25, 0.25]), "best"), 0, [0, 0], np.array([0.5, 0.5])) == [0.75, 0.25]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=6), st.sampled_from(["best", "all"]))
def test_shares_are_kept_and_sum_to_one(arms: list[tuple[float, float]], rest: str) -> None:
    asked, score = (np.array(column) for column in zip(*arms, strict=True))
    fractions = asked / max(asked.sum(), 1.0)
    claim = GuaranteedShares(fractions, rest).claim(score, state_after(0, np.zeros(len(arms))))
    assert (claim.score >= fractions).all()
    assert claim.score.sum() == pytest.approx(1.0)


def test_even_shares_ignore_the_score() -> None:
    assert not GuaranteedShares(SHARES, "best").traits.ignores_score
    assert GuaranteedShares(SHARES, "all").traits.ignores_score


# --- Mixing ----------------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(any), st.integers(0, 8))
def test_mixing_is_its_formula(score: list[int], eighths: int) -> None:
    gamma, total = Fraction(eighths, 8), sum(score)
    claim = Mixing(float(gamma)).claim(np.array(score, dtype=float), state_after(3, [1.0] * len(score)))
    expected = [(1 - gamma) * Fraction(w, total) + gamma / len(score) for w in score]
    assert claim.score == pytest.approx([float(share) for share in expected])
    assert claim.score.sum() == pytest.approx(1.0)
    assert (type(claim), claim.priority, claim.threshold) == (Shares, None, 0.0)


def test_mixing_works_lane_by_lane() -> None:
    score = np.array([[3.0, 1.0], [0.0, 5.0]])
    claim = Mixing(0.5).claim(score, state_after(1, np.ones((2, 2))))
    assert claim.score.tolist() == [[0.625, 0.375], [0.25, 0.75]]


def test_mixing_may_change_with_the_round() -> None:
    # T_1 = 8, d = 2 and 2 = ⌊16^(1/3)⌋: γ = sqrt(2 · 2 · 2 ln 2/(8 + 2)) in round 8, with 16 + 2 from round 9 on.
    rule, score = Doubling(first_horizon=8), np.array([1.0, 0.0])
    for rounds, end in ((7, 8), (8, 16)):
        gamma = math.sqrt(8.0 * math.log(2.0) / (end + 2.0))
        shares = Mixing(rule).claim(score, state_after(rounds, [1.0, 1.0])).score
        assert shares == pytest.approx([1.0 - gamma / 2.0, gamma / 2.0])
    gamma = ForChoices(100).mixing(1, 2)
    assert Mixing(ForChoices(100)).claim(score, state_after(0, [0, 0])).score[1] == pytest.approx(gamma / 2.0)


@pytest.mark.parametrize(
    ("mixing", "message"),
    [
        (-0.1, r"^mixing must be a number in \[0, 1\], got -0\.1$"),
        (1.1, r"^mixing must be a number in \[0, 1\], got 1\.1$"),
        (math.nan, r"^mixing must be a number in \[0, 1\], got nan$"),
        (None, r"^mixing must be a number in \[0, 1\] or a rule such as ForChoices\(1000\), got None$"),
        (
            "much",
            "^mixing: unknown kind 'much'; known: constant, for_choices, one_phase, doubling, doubled_horizon; "
            "your own: import its module first, on the command line with --import FILE$",
        ),
    ],
)
def test_bad_mixing_is_refused(mixing: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
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
    # What was never played may have an infinite score, and Gaussian rewards may have a mean outside [0, 1].
    score = np.array([-0.3, 0.0, 0.5, 1.0, math.inf])
    assert score_of(MeritShares(merit), 3, [1, 1, 1, 1, 0], score) == pytest.approx(expected, rel=1e-14)
    assert score.tolist() == [-0.3, 0.0, 0.5, 1.0, math.inf]
    lanes = MeritShares(merit).claim(np.array([[0.0, 0.5], [1.0, 0.0]]), state_after(1, [[1, 0], [1, 0]])).score
    assert lanes == pytest.approx(np.array([[expected[1], expected[2]], [expected[3], expected[1]]]), rel=1e-14)


def test_shares_by_merit_put_no_arm_first() -> None:
    claim = MeritShares(Power()).claim(WORTH, state_after(3, [1, 1, 1]))
    assert (type(claim), claim.priority) == (Shares, None)


def test_shares_by_merit_promise_no_fraction_and_set_no_price() -> None:
    fairness = MeritShares(Linear(), cap=True)
    assert (fairness.fractions, fairness.penalties, fairness.weights) == (None, None, None)
    assert fairness.merit == Linear()
    assert Policy(fairness=fairness, selection=Categorical()).merit == Linear()
    assert (Policy().merit, Policy(fairness=DeficitFirst(SHARES)).merit) == (None, None)


def test_any_function_may_be_the_merit() -> None:
    assert score_of(MeritShares(lambda mean: 2.0 + mean), 3, [1, 1, 1]) == pytest.approx([2.9, 2.5, 2.7])
    with pytest.raises(EvenhandError, match=r"^merit must be a function such as Power\(beta=2, exponent=4\), got 2$"):
        MeritShares(2)  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"^merit: the merit function must be positive for every mean in \[0, 1\]"):
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


@frozen
class Constant(Index):
    """Scores that are the same in every round."""

    values: tuple[float, ...]

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return np.array(self.values)


@pytest.mark.parametrize(
    ("selection", "score", "awake", "expected"),
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
    selection: Selection, score: tuple[float, ...], awake: list[bool] | None, expected: list[float]
) -> None:
    policy = Policy(Constant(score), MeritShares(Power(2.0, 4.0), cap=True), selection)
    state, rng = policy.start(arms=3), np.random.default_rng(0)
    decision = policy.decide(state, Observation(None if awake is None else np.array(awake)), rng)
    assert decision.inclusion == pytest.approx(np.array(expected, dtype=float), rel=1e-14)
    assert decision.propensities is decision.inclusion  # the score is not drawn
    assert decision.played.sum() == round(sum(expected))


def test_where_the_score_is_drawn_only_the_inclusion_is_known() -> None:
    policy = Policy(BetaSample(), MeritShares(Power()), DependentRounding(2))
    decision = policy.decide(policy.start(arms=4), ALL_AVAILABLE, np.random.default_rng(0))
    assert decision.propensities is None
    assert decision.inclusion.sum() == pytest.approx(2.0)
    assert len(set(decision.inclusion.tolist())) == 4  # the draws differ, though nothing is known
