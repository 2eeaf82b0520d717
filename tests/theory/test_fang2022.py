"""Fang et al. 2022: Theorem 4.1, Lemma 4.4, the lower bounds with their problems, and the two rules for A."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, simulate
from evenhand.algorithms import fair_random, hard_threshold_ucb, soft_threshold_ucb
from evenhand.core.errors import EvenhandError
from evenhand.environment.rewards import Bernoulli, Gaussian
from evenhand.policy.composition import Policy
from evenhand.simulation.tables import PolicyResult
from evenhand.theory.bounds import (
    HardProblem,
    critical_problem,
    critical_regret_lower,
    fairness_margin,
    hard_threshold_regret,
    missing_plays,
    noncritical_problem,
    noncritical_regret_lower,
    penalty_for_arms,
    penalty_for_unfairness,
)


def run(policy: Policy, environment: Environment, rounds: int, lanes: int = 40) -> PolicyResult:
    results = simulate(policy, environment, rounds, lanes, seed=1, checkpoints=1)
    return next(iter(results.policies.values()))


# --- Theorem 4.1: every arm gets its share where the penalties exceed the gaps by a margin ----------------------------


def test_the_margin() -> None:
    log = math.log(10_000)
    expected = [math.sqrt(32 * log / 2000), math.sqrt(32 * log / 1000), 1.0]
    np.testing.assert_allclose(fairness_margin(10_000, [0.2, 0.1, 0.0]), expected, rtol=1e-12)
    assert fairness_margin([100, 10_000], [0.2, 0.1, 0.0]).shape == (2, 3)
    assert (fairness_margin(100, [0.2, 0.1, 0.0]) == 1.0).all()


@pytest.mark.parametrize(("means", "fractions"), [([0.9, 0.6, 0.3], [0.2] * 3), ([0.9, 0.7, 0.5, 0.3], [0.1] * 4)])
def test_theorem_4_1_every_arm_gets_its_share(means: list[float], fractions: list[float]) -> None:
    rounds = 2000
    gaps = max(means) - np.array(means)
    penalties = gaps + fairness_margin(rounds, fractions)
    world, due = Environment(Bernoulli(means)), np.floor(np.array(fractions) * rounds + 1e-9)

    def fair(build: Any, prices: Any) -> Any:
        return (run(build(fractions, penalties=prices), world, rounds).pulls[-1] >= due).all(axis=-1)

    assert fair(hard_threshold_ucb, penalties).all()
    # Neither a soft threshold nor penalties below the gaps do it (section 5, and Theorem 4.2 (c)).
    assert not fair(soft_threshold_ucb, penalties).any()
    assert not fair(hard_threshold_ucb, 0.2 * gaps).any()


# --- Lemma 4.4: what is missing to critical arms ----------------------------------------------------------------------


def test_missing_plays_by_hand() -> None:
    # K = 2, T = 100,000: the premise asks for A − Δ ≥ 0.0858.
    log = math.log(100_000)
    best = 0.1 * (2 + 64 * log / 0.5**2) / 0.7 + 1 + 0.4
    worse = 0.2 * (2 + 64 * log / 0.2**2) / 0.7 + 1 + 0.8
    found = missing_plays(100_000, [0.9, 0.6], [0.1, 0.2], 0.5)
    np.testing.assert_allclose(found, [best, worse], rtol=1e-12)
    # Below the premise the lemma says nothing, and neither where a penalty is below its gap.
    assert np.isnan(missing_plays(100_000, [0.9, 0.6], [0.1, 0.2], [0.5, 0.38])).tolist() == [False, True]
    assert np.isnan(missing_plays(100_000, [0.9, 0.6], [0.1, 0.2], [0.5, 0.1])).tolist() == [False, True]
    with pytest.raises(EvenhandError, match="fractions must sum to less than 1, got 1"):
        missing_plays(1000, [0.9, 0.6], 0.5, 0.5)


def test_lemma_4_4_bounds_what_is_missing() -> None:
    means, fractions, penalties, rounds = [0.9, 0.6, 0.3], [0.3, 0.3, 0.3], [0.8, 0.9, 1.2], 4000
    bound = missing_plays(rounds, means, fractions, penalties)
    assert np.isfinite(bound).all()

    def missing(policy: Policy) -> Any:
        pulls = run(policy, Environment(Bernoulli(means)), rounds).pulls[-1]
        return np.maximum(np.array(fractions) * rounds - pulls, 0.0).mean(axis=0)

    assert (missing(hard_threshold_ucb(fractions, penalties=penalties)) <= bound).all()
    # The bound is wide here: it still refuses a policy that plays nothing but the best arm.
    loose = missing_plays(100_000, means, fractions, penalties)
    assert (loose[1:] < 0.3 * 100_000).all()


# --- Theorems 4.6 and 4.7: how much hard-threshold UCB must lose ------------------------------------------------------

NONCRITICAL = [(5000, 3, 0.9, 0.3, 0.2), (8000, 5, 0.9, 0.5, 0.15), (3000, 2, 0.8, 0.0, 0.3)]
CRITICAL: list[tuple[int, tuple[float, float], tuple[float, float], float, tuple[int, int]]] = [
    (8000, (0.2, 0.8), (0.3, 0.1), 0.01, (1, 1)),
    (10_000, (0.2, 0.7), (0.3, 0.1), 0.001, (2, 3)),
    (4000, (0.3, 0.6), (0.4, 0.1), 0.001, (2, 0)),
]


def played(problem: HardProblem) -> tuple[Any, float]:
    """Plays and penalised regret of hard-threshold UCB; constant rewards, so that one lane is all."""
    policy = hard_threshold_ucb(problem.fractions, penalties=problem.penalties)
    record = run(policy, Environment(Gaussian(problem.means, sd=0.0)), problem.rounds, lanes=1)
    return record.pulls[-1, 0], float(record.curves["penalized_regret"][-1, 0])


@pytest.mark.parametrize("setting", NONCRITICAL)
def test_theorem_4_6_is_reached_on_its_problem(setting: Any) -> None:
    problem = noncritical_problem(*setting)
    settings = problem.rounds, problem.means, problem.fractions, problem.penalties
    least = math.log(problem.rounds) / (setting[2] - setting[3]) ** 2
    pulls, regret = played(problem)
    lower = float(noncritical_regret_lower(*settings))
    assert lower == pytest.approx((setting[1] - 1) * math.log(setting[0]) / (setting[2] - setting[3]), rel=1e-12)
    assert (pulls[1:] >= least).all()
    # "Nearly optimal up to a constant of 8": the upper bound of Theorem 4.2 (d) is eight times the lower one here.
    assert lower <= regret <= float(hard_threshold_regret(*settings)) == pytest.approx(8.0 * lower)


@pytest.mark.parametrize("setting", CRITICAL)
def test_theorem_4_7_is_reached_on_its_problem(setting: Any) -> None:
    problem = critical_problem(*setting)
    settings = problem.rounds, problem.means, problem.fractions, problem.penalties
    pulls, regret = played(problem)
    critical = slice(1, 1 + setting[4][0])
    assert (pulls[critical] >= math.log(problem.rounds) / setting[1][0] ** 2).all()
    lower = float(critical_regret_lower(*settings))
    assert 0.0 < lower <= regret <= float(hard_threshold_regret(*settings, printed=False))


def test_the_lower_bounds_are_about_the_proposed_algorithm_only() -> None:
    # A policy that knows the best arm has no regret there, as A < Δ: no bound for all policies could be so high.
    problem = noncritical_problem(*NONCRITICAL[0])
    world = Environment(Gaussian(problem.means, sd=0.0), fractions=problem.fractions, penalties=problem.penalties)
    best = run(fair_random([1.0, 0.0, 0.0]), world, problem.rounds, lanes=1)
    assert best.curves["penalized_regret"][-1, 0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (noncritical_problem, (5000, 3, 0.3, 0.3, 0.2), "penalty must be at least 0 and below the gap"),
        (noncritical_problem, (5000, 3, 0.9, 0.3, 0.5), "fraction must be above 0, and below 1/2 and 1/3"),
        (noncritical_problem, (500, 3, 0.9, 0.3, 0.2), r"8 ln T/\(Δ − A\)² = 138.1.* at most τ T/2 = 50"),
        (noncritical_problem, (5000, 30, 0.9, 0.3, 0.03), "T/2"),
        (critical_problem, (20_000, (0.2, 0.9), (0.3, 0.1), 0.005), "gaps must be above 0 and sum to at most 1"),
        (critical_problem, (20_000, (0.2, 0.8), (0.1, 0.1), 0.005), "penalties must be above the gap"),
        (critical_problem, (20_000, (0.2, 0.8), (0.3, 0.1), 0.05), r"τ T = 1000 must be at most ln T/Δ_2² = 247"),
        (critical_problem, (2000, (0.2, 0.8), (0.3, 0.1), 0.005), "must be at most T/2 = 1000"),
    ],
)
def test_problems_outside_of_the_theorems_are_refused(make: Any, arguments: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make(*arguments)


# --- section 5: the two rules for A -----------------------------------------------------------------------------------

MEANS = [0.5, 0.9, 0.3, 0.8, 0.7]


def test_the_penalty_for_a_number_of_arms() -> None:
    assert [round(penalty_for_arms(MEANS, arms), 9) for arms in range(1, 6)] == [0.0, 0.1, 0.2, 0.4, 0.6]
    with pytest.raises(EvenhandError, match="arms must be at most 5, the number of means, got 6"):
        penalty_for_arms(MEANS, 6)


def test_the_penalty_for_what_may_be_missing() -> None:
    # Shares by falling mean: 0.1, 0.2, 0.05, 0.15, 0.1; each step of A keeps one arm more.
    shares = [0.15, 0.1, 0.1, 0.2, 0.05]
    steps = [0.5, 0.3, 0.25, 0.1, 0.0]
    assert [round(penalty_for_unfairness(MEANS, shares, most), 9) for most in steps] == [0.0, 0.1, 0.2, 0.4, 0.6]
    # By its definition, over a grid: the least A at which the shares of the arms left out sum to what is tolerated.
    gaps = max(MEANS) - np.array(MEANS)
    for most in (0.05, 0.12, 0.29, 0.4):
        least = min(a for a in np.linspace(0.0, 0.7, 7001) if np.array(shares)[gaps > a + 1e-9].sum() <= most)
        assert penalty_for_unfairness(MEANS, shares, most) == pytest.approx(least, abs=1e-4)
    with pytest.raises(EvenhandError, match="tolerated must be"):
        penalty_for_unfairness(MEANS, shares, -0.1)


def test_as_printed_both_rules_are_no_rules() -> None:
    # The count and the sum grow with a, so that the infimum over those that are small enough is the least a of all.
    gaps = max(MEANS) - np.array(MEANS)
    counts = [int((gaps <= a).sum()) for a in (0.0, 0.1, 0.3, 0.7)]
    assert all(one <= other for one, other in itertools.pairwise(counts))


def test_just_above_the_penalty_so_many_arms_are_kept() -> None:
    means, fractions, rounds = [0.95, 0.85, 0.45, 0.15], [0.1] * 4, 4000
    for arms in (2, 3):
        price = penalty_for_arms(means, arms) + 0.1
        pulls = run(hard_threshold_ucb(fractions, penalties=price), Environment(Bernoulli(means)), rounds, 10).pulls[-1]
        kept = (pulls >= 0.1 * rounds).mean(axis=0)
        assert kept[:arms].tolist() == [1.0] * arms
        assert kept[arms:].max() == 0.0
