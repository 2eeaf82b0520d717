"""The statistical tests of claims: each must be able to be confirmed and not confirmed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evenhand import compare
from evenhand.algorithms import ucb1
from evenhand.core.state import Array
from evenhand.environment.rewards import Bernoulli
from evenhand.environment.world import Environment
from evenhand.judgement.claims import AGREES, CONTRADICTS, HIDDEN, OPEN, ClaimVerdict, Finding
from evenhand.papers import verdicts as claims
from evenhand.papers.experiment import CompletedRun
from evenhand.simulation.results import Results
from evenhand.simulation.setup import FiguresSettings, Setup
from evenhand.simulation.tables import PolicyResult

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


@pytest.mark.parametrize(("missing", "verdict"), [(0.0, AGREES), (20.0, AGREES), (21.0, CONTRADICTS)])
def test_promises_are_kept_up_to_what_the_judge_tolerates(missing: float, verdict: str) -> None:
    """Of 4,000 rounds the arms are due 2,000 and 80 plays; 20 may be missing, and a single one."""
    due, lanes = np.array([2000.0, 80.0]), np.zeros((LANES, 1))
    pulls = ROUNDS[:, np.newaxis, np.newaxis] / 4000.0 * (due - np.array([missing, 0.5]) + lanes)
    run = run_of({"it": {"regret": noisy(ROUNDS, 0.1)}}, pulls=pulls)
    run = replace(run, results=replace(run.results, promised={"it": due / 4000.0}))
    found = claims.arms_kept(run, "it")
    assert (found.effect, found.claimed[1]) == ((missing, 20.0) if missing else (0.5, 1.0))
    assert mark(found) == verdict


SHAPES = {"logarithm": np.log(ROUNDS), "power 0.6": ROUNDS**0.6, "power 0.9": ROUNDS**0.9, "line": 1.0 * ROUNDS}


@pytest.mark.parametrize("shape", SHAPES)
def test_growth_is_told_apart(shape: str) -> None:
    run = run_of({"it": {"regret": noisy(100.0 * SHAPES[shape], 0.01)}})
    assert mark(claims.logarithmic(run, "it", "regret")) == (AGREES if shape == "logarithm" else HIDDEN)
    assert mark(claims.sublinear(run, "it", "regret")) == (AGREES if shape != "line" else HIDDEN)
    assert mark(claims.linear(run, "it", "regret")) == (AGREES if shape == "line" else HIDDEN)


def test_a_square_root_hardly_ever_passes_for_a_logarithm() -> None:
    # Its growth is the end of the range, and above the whole interval in 2.5% of the runs, give or take four errors.
    runs = (run_of({"it": {"regret": noisy(100.0 * np.sqrt(ROUNDS), 0.01, seed)}}) for seed in range(300))
    passed = sum(claims.logarithmic(run, "it", "regret").holds for run in runs)
    assert passed <= 300 * 0.025 + 4 * math.sqrt(300 * 0.025 * 0.975)


def mark(finding: Finding) -> str:
    """What a number says of a claim that stands on it alone."""
    return ClaimVerdict("", "", "", (finding,)).marks[0]


def test_growth_can_be_judged_up_to_a_round() -> None:
    # Like ln t until round 2000, and then like t.
    curve = np.where(ROUNDS <= 2000, np.log(ROUNDS), np.log(2000.0) + 0.01 * (ROUNDS - 2000.0))
    run = run_of({"it": {"regret": noisy(100.0 * curve, 0.001)}})
    assert mark(claims.logarithmic(run, "it", "regret", round=2000)) == AGREES
    assert mark(claims.logarithmic(run, "it", "regret")) == HIDDEN
    line = run_of({"it": {"regret": noisy(np.minimum(ROUNDS, 2000.0), 0.001)}})
    assert mark(claims.linear(line, "it", "regret", round=2000)) == AGREES
    assert mark(claims.linear(line, "it", "regret")) == HIDDEN
    assert mark(claims.sublinear(line, "it", "regret")) == AGREES
    assert claims.linear(line, "it", "regret", round=2000).text == "growth exponent of the regret until round 2,000: it"


def test_a_wide_interval_around_the_claimed_value_decides_nothing() -> None:
    run = run_of({"it": {"regret": noisy(1.0 * ROUNDS, 0.9, seed=3) ** 2 + 1.0}})
    found = claims.linear(run, "it", "regret", since=0.9)
    assert found.low < claims.NEARLY < found.high
    assert mark(found) == OPEN


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
