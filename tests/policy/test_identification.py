"""Shares with which the best arm is known soonest: published ones, other solvers, floors, and what a part remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from evenhand import Environment, Policy, compare
from evenhand.algorithms import f_tas, f_tas_merit, f_tas_tracking
from evenhand.core.errors import InfeasiblePromise
from evenhand.core.state import ALL_AVAILABLE, Feedback
from evenhand.environment.rewards import Bernoulli
from evenhand.merit import Power
from evenhand.policy.identification import best_proportions


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.asarray(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)))


def level(shares: np.ndarray, means: np.ndarray) -> float:
    """What best proportions make as large as they can, by its definition."""
    best = int(means.argmax())
    others = np.arange(len(means)) != best
    middle = (shares[best] * means[best] + shares[others] * means[others]) / (shares[best] + shares[others] + 1e-12)
    return float((shares[best] * kl(means[best], middle) + shares[others] * kl(means[others], middle)).min())


@pytest.mark.parametrize(
    ("means", "published"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104]),
    ],
)
def test_the_proportions_that_garivier_and_kaufmann_print(means: list[float], published: list[float]) -> None:
    assert best_proportions(np.array(means), np.zeros(len(means))) == pytest.approx(published, abs=6e-4)


def test_no_other_solver_finds_better_ones() -> None:
    rng, compared = np.random.default_rng(0), 0
    for _ in range(15):
        arms = int(rng.integers(2, 6))
        means, floors = rng.uniform(0.05, 0.95, arms), rng.dirichlet(np.ones(arms)) * rng.choice([0.0, 0.3, 0.6, 0.9])
        found = best_proportions(means, floors)
        assert found.sum() == pytest.approx(1.0)
        assert (found >= floors - 1e-9).all()
        start = np.append(floors + (1.0 - floors.sum()) / arms, 0.0)
        solve: Any = minimize
        other = solve(
            lambda x: -x[-1],
            start,
            method="SLSQP",
            bounds=[*((floor, 1.0) for floor in floors), (0.0, 10.0)],
            constraints=[
                {"type": "ineq", "fun": lambda x, means=means: np.array([level(x[:-1], means) - x[-1]])},
                {"type": "eq", "fun": lambda x: x[:-1].sum() - 1.0},
            ],
            options={"maxiter": 300, "ftol": 1e-12},
        )
        compared += bool(other.success)
        theirs = np.maximum(other.x[:-1], floors)
        assert level(found, means) >= level(theirs / theirs.sum(), means) * (1.0 - 1e-5)
    assert compared > 5


def test_two_arms_by_a_grid_and_floors_that_leave_nothing() -> None:
    means, grid = np.array([0.2, 0.6]), np.linspace(0.001, 0.999, 9_999)
    best = grid[np.argmax([level(np.array([1.0 - share, share]), means) for share in grid])]
    assert best_proportions(means, np.zeros(2))[1] == pytest.approx(best, abs=2e-3)
    full = np.array([0.2, 0.3, 0.5])
    assert best_proportions(np.array([0.9, 0.1, 0.4]), full) == pytest.approx(full)
    assert best_proportions(np.array([0.4]), np.zeros(1)).tolist() == [1.0]


@pytest.mark.parametrize("means", [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.5, 0.5, 0.5], [1.0, 0.0, 1e-9]])
def test_equal_means_and_those_at_the_ends_have_proportions_too(means: list[float]) -> None:
    found = best_proportions(np.array(means), np.array([0.2, 0.0, 0.3]))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1.0)
    assert (found >= np.array([0.2, 0.0, 0.3]) - 1e-9).all()


def test_many_lanes_at_once_are_as_one_by_one() -> None:
    means = np.random.default_rng(1).random((7, 4))
    floors = np.array([0.1, 0.0, 0.2, 0.0])
    assert best_proportions(means, floors) == pytest.approx(np.array([best_proportions(row, floors) for row in means]))


FLOORS = [0.2, 0.0, 0.3]


@pytest.mark.parametrize("policy", [f_tas(FLOORS), f_tas_tracking(FLOORS), f_tas_merit(Power(), part=0.6)])
def test_every_round_has_the_minimum_shares(policy: Policy) -> None:
    state, rng = policy.start(arms=3), np.random.default_rng(0)
    fairness: Any = policy.fairness
    for round in range(200):
        claim = fairness.shares(state)
        floors = fairness.floors((state.tally.rewards + 0.5) / (state.tally.received + 1.0))
        assert claim.sum() == pytest.approx(1.0)
        assert (claim >= floors - 1e-12).all()
        assert (claim > 0.0).all()
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        assert decision.propensities is not None
        policy.observe(state, Feedback(decision.played, decision.played * (rng.random(3) < [0.2, 0.5, 0.4])), rng)
        if round > 20 and policy.name == "f_tas_tracking":
            assert (state.tally.pulls >= 0.999 * np.array(FLOORS) * state.round - 2.0).all()


@pytest.mark.slow
def test_plays_tend_to_the_best_proportions() -> None:
    means, floors = [0.3, 0.5, 0.2], [0.0, 0.1, 0.3]
    policies = {"draws": f_tas(floors), "tracks": f_tas_tracking(floors)}
    options: dict[str, Any] = {"seed": 1, "checkpoints": 1, "metrics": [], "progress": False}
    results = compare(policies, Environment(Bernoulli(means)), 2000, 8, **options)
    best = best_proportions(np.array(means), np.array(floors))
    for name in policies:
        assert results.policies[name].pulls[-1].mean(axis=0) / 2000 == pytest.approx(best, abs=0.06), name


def test_promises_that_exceed_one_and_arms_that_are_added() -> None:
    with pytest.raises(InfeasiblePromise, match=r"sum to 1\.2"):
        f_tas([0.6, 0.6]).start(arms=2)
    policy = f_tas_tracking(0.1)
    state = policy.start(arms=2)
    grown = policy.fairness.grow(state.fairness, 3)
    assert grown.target.tolist() == [0.0, 0.0, 0.0]
    begun = policy.fairness.begin(state.fairness, np.array([0]), np.array([1.0, 0.0]))
    assert begun is not state.fairness


def test_what_was_learned_elsewhere_decides_the_first_round() -> None:
    part = f_tas(0.0).fairness
    memory = part.learn(part.start((2,)), np.array([100.0, 100.0]), np.array([50.0, 5.0]))
    assert memory == pytest.approx(best_proportions(np.array([50.5, 5.5]) / 101.0, np.zeros(2)))
