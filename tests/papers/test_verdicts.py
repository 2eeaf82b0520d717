"""The statistical tests of claims: each must be able to be confirmed and not confirmed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evenhand import compare
from evenhand.algorithms import ucb1
from evenhand.core.state import Array
from evenhand.environment.rewards import Bernoulli
from evenhand.environment.world import Environment
from evenhand.papers import verdicts as claims
from evenhand.papers.experiment import CompletedRun, Finding, PaperClaim
from evenhand.papers.judging import AGREES, CONTRADICTS, OPEN, ClaimVerdict
from evenhand.simulation.results import PolicyResult, Results
from evenhand.simulation.setup import FiguresSettings, Setup

ROUNDS = np.arange(1, 401) * 10  # up to 4000
LANES = 30


def run_of(curves: dict[str, dict[str, Any]], rounds: Any = ROUNDS, pulls: Any = None) -> CompletedRun:
    """A run with the given curves, (checkpoints, lanes), by label and measure."""
    records = {}
    for label, measured in curves.items():
        lanes = next(iter(measured.values())).shape[1]
        plays = np.ones((len(rounds), lanes, 2), dtype=np.int32) if pulls is None else pulls
        records[label] = PolicyResult(plays, measured, np.zeros((lanes, 2)), np.zeros((lanes, 2)))
    results = Results(records, np.asarray(rounds), ("1", "2"), dict.fromkeys(curves), {"lanes": LANES})
    return CompletedRun(
        results, Setup({}, Environment(Bernoulli([0.5, 0.5])), 4000, LANES, 0, 200, "even", FiguresSettings())
    )


def noisy(curve: Any, spread: float, seed: int = 0) -> Array:
    """The curve in each lane, times a factor of its own near 1 at every checkpoint."""
    factors = 1.0 + spread * np.random.default_rng(seed).standard_normal((len(curve), LANES))
    return np.asarray(curve, dtype=float)[:, np.newaxis] * factors


def test_an_interval_is_students() -> None:
    values = np.random.default_rng(3).normal(2.0, 1.0, 12)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert claims.interval(values) == pytest.approx((values.mean(), low, high))


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    # 2000 intervals of 5 normal numbers: 95% cover 0, give or take four standard errors of 0.49%.
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(2000):
        _, low, high = claims.interval(rng.standard_normal(5))
        covered += low <= 0.0 <= high
    assert abs(covered / 2000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_a_ratio_s_interval_covers_the_ratio_as_often_as_it_says() -> None:
    # Means 3 and 2, deviations 0.1: the linearisation is nearly exact. Four standard errors again.
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(2000):
        under = 2.0 + 0.1 * rng.standard_normal(20)
        _, low, high = claims.ratio(1.5 * under + 0.1 * rng.standard_normal(20), under)
        covered += low <= 1.5 <= high
    assert abs(covered / 2000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_a_single_lane_proves_nothing() -> None:
    assert claims.interval([3.0]) == (3.0, -math.inf, math.inf)
    assert not claims.below("", [3.0], 100.0).holds
    assert not claims.above("", [3.0], -100.0).holds


@pytest.mark.parametrize(
    ("values", "under", "over", "around"),
    [([1.0, 1.0], True, False, True), ([3.0, 3.0], False, True, False), ([1.9, 2.0, 2.1], False, False, False)],
)
def test_bounds_hold_for_the_whole_interval(values: list[float], under: bool, over: bool, around: bool) -> None:
    assert claims.below("", values, 2.0).holds is under
    assert claims.above("", values, 2.0).holds is over
    assert claims.within("", values, 0.5, 2.0).holds is around


def test_bounds_on_a_ratio_hold_for_the_whole_interval() -> None:
    # The ratio of the means is 2; lanes apart from it by a little.
    under = np.array([1.0, 2.0, 3.0])
    over = 2.0 * under + np.array([0.1, 0.0, -0.1])
    assert claims.ratio_below("", over, under, 2.5).holds
    assert not claims.ratio_below("", over, under, 2.0).holds
    assert claims.ratio_within("", over, under, 1.5, 2.5).holds
    assert not claims.ratio_within("", over, under, 2.0, 2.5).holds
    assert not claims.ratio_within("", over, under, 1.5, 2.0).holds
    exact = claims.ratio_within("", 2.0 * under, under, -math.inf, 2.0)
    assert (exact.holds, exact.expected, exact.effect, exact.lanes) == (True, "at most 2", 2.0, 3)
    assert not claims.ratio_below("", 2.0 * under, under, 2.0).holds  # the bound itself is not below


def test_policies_are_compared_lane_by_lane() -> None:
    # Lanes differ by thousands, the policies by 1 in each.
    base = noisy(ROUNDS, 0.3)
    run = run_of({"one": {"regret": base - 1.0}, "other": {"regret": base}})
    found = claims.lower(run, "regret", "one", "other")
    assert found.holds
    assert found.effect == pytest.approx(-1.0)
    assert not claims.lower(run, "regret", "other", "one").holds
    assert claims.lower(run, "regret", "one", "other", round=2005).text == "regret at round 2,005: one minus other"


def test_a_round_between_checkpoints_lies_on_a_straight_line() -> None:
    run = run_of({"it": {"regret": noisy(ROUNDS, 0.0)}})
    assert claims.at(run, "it", "regret", 2005) == pytest.approx(2005.0)
    assert claims.at(run, "it", "regret") == pytest.approx(4000.0)


def test_alike_is_up_to_a_part_of_the_other() -> None:
    run = run_of({"one": {"regret": noisy(1.04 * ROUNDS, 0.0)}, "other": {"regret": noisy(ROUNDS, 0.0)}})
    assert claims.alike(run, "regret", "one", "other", 0.05).holds
    assert not claims.alike(run, "regret", "one", "other", 0.03).holds


def test_promises_are_kept_up_to_a_play() -> None:
    behind = {"kept": 0.9, "missed": 1.1}
    run = run_of({label: {"violation": np.full((400, LANES), plays)} for label, plays in behind.items()})
    assert claims.kept(run, "kept").holds
    assert not claims.kept(run, "missed").holds


SHAPES = {"logarithm": np.log(ROUNDS), "root": np.sqrt(ROUNDS), "power 0.9": ROUNDS**0.9, "line": 1.0 * ROUNDS}


@pytest.mark.parametrize("shape", SHAPES)
def test_growth_is_told_apart(shape: str) -> None:
    run = run_of({"it": {"regret": noisy(100.0 * SHAPES[shape], 0.01)}})
    assert mark(claims.logarithmic(run, "it", "regret")) == (AGREES if shape == "logarithm" else CONTRADICTS)
    assert mark(claims.sublinear(run, "it", "regret")) == (AGREES if shape != "line" else OPEN)
    assert mark(claims.linear(run, "it", "regret")) == (AGREES if shape == "line" else CONTRADICTS)


def mark(finding: Finding) -> str:
    """What a number says of a claim that stands on it alone."""
    return ClaimVerdict(PaperClaim("", "", lambda runs: [finding]), (finding,)).marks[0]


def test_growth_can_be_judged_up_to_a_round() -> None:
    # Like ln t until round 2000, and then like t.
    curve = np.where(ROUNDS <= 2000, np.log(ROUNDS), np.log(2000.0) + 0.01 * (ROUNDS - 2000.0))
    run = run_of({"it": {"regret": noisy(100.0 * curve, 0.001)}})
    assert mark(claims.logarithmic(run, "it", "regret", round=2000)) == AGREES
    assert mark(claims.logarithmic(run, "it", "regret")) == CONTRADICTS
    line = run_of({"it": {"regret": noisy(np.minimum(ROUNDS, 2000.0), 0.001)}})
    assert mark(claims.linear(line, "it", "regret", round=2000)) == AGREES
    assert mark(claims.linear(line, "it", "regret")) == CONTRADICTS
    assert mark(claims.sublinear(line, "it", "regret")) == AGREES
    assert claims.linear(line, "it", "regret", round=2000).text == "growth exponent of the regret until round 2,000: it"


def test_a_wide_interval_around_the_claimed_value_decides_nothing() -> None:
    run = run_of({"it": {"regret": noisy(1.0 * ROUNDS, 0.9, seed=3) ** 2 + 1.0}})
    found = claims.linear(run, "it", "regret", since=0.9)
    assert found.low < claims.NEARLY < found.high
    assert mark(found) == OPEN


# --- what outside means -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1.0, 1.9, 2.5, 4.0])
def test_a_p_value_is_that_of_student_s_test(bound: float) -> None:
    values = np.random.default_rng(4).normal(2.0, 1.0, 9)
    tested = stats.ttest_1samp(values, bound).pvalue
    found = claims.below("", values, bound)
    assert found.p_value == pytest.approx(tested if values.mean() > bound else 1.0)
    assert (found.p_value <= 0.05) is (found.low >= bound)


def test_equal_policies_contradict_that_one_is_better() -> None:
    found = claims.below("", np.zeros(5), 0.0)
    assert (found.p_value, mark(found)) == (0.0, CONTRADICTS)
    assert mark(claims.within("", np.zeros(5), 0.0, 1.0)) == AGREES
    assert mark(claims.below("", [3.0], 2.0)) == OPEN  # a single lane


def test_the_lanes_that_would_decide() -> None:
    # With n times as many lanes of the same kind the interval is sqrt(n) times narrower.
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.5])
    found = claims.below("", values, 2.5)
    assert found.lanes_needed is not None
    half = (found.high - found.low) / 2.0
    assert half * math.sqrt(5 / found.lanes_needed) == pytest.approx(2.5 - found.effect, rel=0.01)
    assert claims.below("", values, 9.0).lanes_needed is None
    assert claims.below("", values, -9.0).lanes_needed is None
    assert claims.below("", [2.0], 2.5).lanes_needed is None


def test_a_number_picked_as_the_worst_of_several_is_corrected_for_it() -> None:
    found = claims.below("", [1.0, 2.0, 3.5], 0.0)
    assert claims.picked(found, 4).p_value == pytest.approx(4 * found.p_value)
    assert claims.picked(found, 10**6).p_value == 1.0


def test_a_wider_interval_is_student_s_too() -> None:
    values = np.random.default_rng(3).normal(2.0, 1.0, 12)
    wide = claims.widened(claims.interval(values), 12, 0.999)
    assert wide == pytest.approx(claims.interval(values, 0.999))


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_true_claims_are_hardly_ever_contradicted_however_many_numbers_they_stand_on() -> None:
    # 12 true numbers each, at their limit: uncorrected, some would contradict in 26% of the claims.
    rng = np.random.default_rng(8)
    contradicted = alone = 0
    for _ in range(1000):
        found = tuple(claims.below("", values, 0.0) for values in rng.standard_normal((12, 8)))
        contradicted += ClaimVerdict(PaperClaim("", "", lambda runs: []), found).status == "contradicted"
        alone += any(one.p_value <= 0.05 for one in found)
    assert alone > 200
    assert contradicted <= 50 + 4 * math.sqrt(1000 * 0.05 * 0.95)


def test_a_false_number_contradicts_among_many_true_ones() -> None:
    rng = np.random.default_rng(9)
    true = [claims.below("", rng.standard_normal(8), 5.0) for _ in range(12)]
    found = (*true, claims.below("", 3.0 + rng.standard_normal(8), 0.0))
    verdict = ClaimVerdict(PaperClaim("", "", lambda runs: found), found)
    assert verdict.status == "contradicted"
    assert verdict.marks == (*[AGREES] * 12, CONTRADICTS)
    assert ClaimVerdict(verdict.claim, found, quick=True).status == "too small to decide"


def test_an_open_number_leaves_a_claim_undecided_and_says_what_would_decide_it() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.5])
    sure, unsure = claims.below("", values, 9.0), claims.below("", values, 2.5)
    verdict = ClaimVerdict(PaperClaim("", "", lambda runs: []), (sure, unsure))
    assert (verdict.status, verdict.lanes_needed) == ("undecided", unsure.lanes_needed)
    assert ClaimVerdict(verdict.claim, (sure,)).lanes_needed is None


def test_growth_in_doublings_by_hand() -> None:
    found = claims.logarithmic(run_of({"it": {"regret": noisy(ROUNDS, 0.0)}}), "it", "regret")
    assert (found.effect, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_a_regret_that_is_not_positive_has_no_exponent_and_proves_nothing() -> None:
    run = run_of({"it": {"regret": noisy(-1.0 * ROUNDS, 0.0)}, "still": {"regret": np.zeros((400, LANES))}})
    for label in ("it", "still"):
        assert not claims.sublinear(run, label, "regret").holds
        assert not claims.linear(run, label, "regret").holds
    assert not claims.logarithmic(run, "still", "regret").holds


def test_shares_are_of_the_rounds() -> None:
    results = compare([ucb1()], Environment(Bernoulli([0.9, 0.1])), 50, 4, progress=False)
    setup = Setup({}, Environment(Bernoulli([0.9, 0.1])), 50, 4, 0, 200, "even", FiguresSettings())
    assert claims.shares(CompletedRun(results, setup), "ucb1").sum(axis=1) == pytest.approx(1.0)
