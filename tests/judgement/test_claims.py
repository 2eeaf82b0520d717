"""What becomes of a claim: each verdict can be reached, and none that cannot be."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evenhand.judgement import claims
from evenhand.judgement.claims import (
    AGREES,
    CONTRADICTS,
    HIDDEN,
    OPEN,
    STATUSES,
    ClaimVerdict,
    Finding,
    holm,
    interval,
    judged,
    lanes_to_decide,
    picked,
    ratio,
    widened,
)
from evenhand.simulation.files import without_infinities

BELOW_0 = (-math.inf, 0.0)


def below(values: Any, bound: float, limit: bool = False) -> Finding:
    """That the mean of values is below a bound."""
    return judged("it", interval(values), np.size(values), "below", (-math.inf, bound), touching=False, limit=limit)


def verdict(*findings: Finding, quick: bool = False) -> ClaimVerdict:
    return ClaimVerdict("Less.", "section 0", "", findings, quick=quick)


def test_an_interval_is_students() -> None:
    values = np.random.default_rng(3).normal(2.0, 1.0, 12)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert interval(values) == pytest.approx((values.mean(), low, high))
    assert widened(interval(values), 12, 0.999) == pytest.approx(interval(values, 0.999))


def test_a_ratio_s_interval_covers_the_ratio_as_often_as_it_says() -> None:
    # Means 3 and 2, deviations 0.1: the linearisation is nearly exact; 95%, give or take four standard errors of 0.49%.
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(2000):
        under = 2.0 + 0.1 * rng.standard_normal(20)
        _, low, high = ratio(1.5 * under + 0.1 * rng.standard_normal(20), under)
        covered += low <= 1.5 <= high
    assert abs(covered / 2000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_a_single_lane_proves_nothing() -> None:
    assert interval([3.0]) == (3.0, -math.inf, math.inf)
    for bound in (100.0, -100.0):
        assert verdict(below([3.0], bound)).status == "undecided"


@pytest.mark.parametrize("bound", [1.0, 1.9, 2.5, 4.0])
def test_a_p_value_is_that_of_student_s_test(bound: float) -> None:
    values = np.random.default_rng(4).normal(2.0, 1.0, 9)
    tested = stats.ttest_1samp(values, bound).pvalue
    found = below(values, bound)
    assert found.p_value == pytest.approx(tested if values.mean() > bound else 1.0)
    assert (found.p_value <= 0.05) is (found.low >= bound)


def test_equal_values_contradict_that_one_is_less() -> None:
    assert verdict(below(np.zeros(5), 0.0)).marks == (CONTRADICTS,)
    assert verdict(judged("it", (0.0, 0.0, 0.0), 5, "", (0.0, 1.0))).marks == (AGREES,)


def test_the_lanes_that_would_decide() -> None:
    # With n times as many lanes of the same kind the interval is sqrt(n) times narrower.
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.5])
    found = below(values, 2.5)
    assert found.lanes_needed is not None
    half = (found.high - found.low) / 2.0
    assert half * math.sqrt(5 / found.lanes_needed) == pytest.approx(2.5 - found.effect, rel=0.01)
    assert [below(values, bound).lanes_needed for bound in (9.0, -9.0)] == [None, None]
    assert below([2.0], 2.5).lanes_needed is None


def test_a_number_picked_as_the_worst_of_several_is_corrected_for_it() -> None:
    found = below([1.0, 2.0, 3.5], 0.0)
    assert picked(found, 4).p_value == pytest.approx(4 * found.p_value)
    assert picked(found, 10**6).p_value == 1.0


def test_no_number_both_agrees_and_contradicts() -> None:
    rng = np.random.default_rng(1)
    for _ in range(3000):
        mean, half = rng.normal(), rng.choice([0.0, rng.exponential()])
        least, most = sorted(rng.choice([-math.inf, -1.0, 0.0, mean, mean - half, mean + half, 1.0, math.inf], 2))
        ends = {"touching": bool(rng.integers(2)), "limit": bool(rng.integers(2))}
        found = judged("it", (mean, mean - half, mean + half), 10, "", (least, most), **ends)
        (mark,) = verdict(found).marks
        assert (mark == AGREES) == found.holds
        assert mark != CONTRADICTS or not found.limit
        assert found.p_value == 1.0 or not found.holds


def made(mark: str) -> Finding:
    """A number with a mark."""
    values = {AGREES: -1.0, CONTRADICTS: 1.0, HIDDEN: 1.0, OPEN: 0.0}[mark] + np.array([-0.1, 0.0, 0.1])
    return below(values, 0.0, limit=mark == HIDDEN)


@pytest.mark.parametrize(
    ("marks", "status"),
    [
        ([AGREES, AGREES], "confirmed"),
        ([AGREES, AGREES, AGREES, CONTRADICTS], "holds in part (3 of 4 numbers)"),
        ([AGREES, CONTRADICTS, OPEN, HIDDEN], "holds in part (1 of 4 numbers)"),
        ([CONTRADICTS, OPEN], "contradicted"),
        ([CONTRADICTS, HIDDEN], "contradicted"),
        ([AGREES, OPEN], "undecided"),
        ([AGREES, HIDDEN, OPEN], "not visible at this horizon"),
        ([HIDDEN], "not visible at this horizon"),
    ],
)
def test_a_verdict_follows_from_what_the_numbers_say(marks: list[str], status: str) -> None:
    found = verdict(*map(made, marks))
    assert list(found.marks) == marks
    assert found.words == status
    assert found.status in STATUSES
    quick = dataclasses.replace(found, quick=True)
    assert quick.status == ("confirmed" if status == "confirmed" else "too small to decide")
    missing = dataclasses.replace(found, findings=(), missing="No file.")
    assert missing.status == "not runnable here"


def test_an_open_number_leaves_a_claim_undecided_and_says_what_would_decide_it() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.5])
    sure, unsure = below(values, 9.0), below(values, 2.5)
    found = verdict(sure, unsure)
    assert (found.status, found.lanes_needed) == ("undecided", unsure.lanes_needed)
    assert verdict(sure).lanes_needed is None
    assert verdict(unsure, made(HIDDEN)).lanes_needed is None  # lanes do not decide what the horizon hides


def test_true_claims_are_hardly_ever_contradicted_however_many_numbers_they_stand_on() -> None:
    # 12 true numbers each, at their limit: uncorrected, some would contradict in 26% of the claims.
    rng = np.random.default_rng(8)
    contradicted = alone = 0
    for _ in range(1000):
        found = verdict(*(below(values, 0.0) for values in rng.standard_normal((12, 8))))
        contradicted += CONTRADICTS in found.marks
        alone += any(one.p_value <= 0.05 for one in found.findings)
    assert alone > 200
    assert contradicted <= 50 + 4 * math.sqrt(1000 * 0.05 * 0.95)


def test_a_false_number_contradicts_among_many_true_ones() -> None:
    rng = np.random.default_rng(9)
    true = [below(rng.standard_normal(8), 5.0) for _ in range(12)]
    assert verdict(*true, below(3.0 + rng.standard_normal(8), 0.0)).marks == (*[AGREES] * 12, CONTRADICTS)


def test_what_is_written_is_judged_again_as_before() -> None:
    endless = Finding("it", math.nan, -math.inf, math.inf, 0, "below 0", BELOW_0)
    for found in (verdict(made(AGREES), made(CONTRADICTS), endless), verdict(made(HIDDEN))):
        kept = without_infinities(found.as_dict)
        again = ClaimVerdict.of(json.loads(json.dumps(kept)))
        assert without_infinities(again.as_dict) == kept
        assert again.status == found.status


def test_the_smallest_level_at_which_intervals_contradict() -> None:
    assert claims.smallest_level(lambda level: level >= 0.3) == pytest.approx(0.3)
    assert claims.smallest_level(lambda level: True) == 1e-12


def test_p_values_are_corrected_by_holm() -> None:
    assert holm([0.01, 0.5, 0.02]) == pytest.approx([3 * 0.01, 0.5, 2 * 0.02])
    assert holm([0.4, 0.9]) == pytest.approx([0.8, 0.9])


def test_the_lanes_that_would_decide_grow_with_the_square_of_the_interval() -> None:
    assert lanes_to_decide((1.0, 0.0, 2.0), lanes=10, limits=[0.5]) == 10 * (1.0 / 0.5) ** 2
