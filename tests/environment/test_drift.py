"""Rewards whose means change, and the regret against the best of every round."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, check_environment, compare
from evenhand.algorithms import fucb, ucb1
from evenhand.environment.drift import best_dynamic
from evenhand.rewards import Piecewise, Rewards, Sinusoidal, Varying
from evenhand.studies.configuration import parse

PIECES = Piecewise([[0.5, 0.3], [0.2, 0.9], [0.5, 0.3]], starts=[1, 301, 501])
SWING = Sinusoidal([0.5, 0.5], amplitudes=[0.4, 0.0], period=400)
TABLE = Varying(np.linspace([0.1, 0.9], [0.9, 0.1], 600))


def mean_at(model: Rewards, round: int) -> list[float]:
    """The means of a round, counted from 1, from their definition."""
    if model is PIECES:
        return [0.2, 0.9] if 301 <= round <= 500 else [0.5, 0.3]
    if model is SWING:
        return [0.5 + 0.4 * math.cos(2 * math.pi * round / 400), 0.5]
    part = (round - 1) / 599
    return [0.1 + 0.8 * part, 0.9 - 0.8 * part]


@pytest.mark.parametrize("model", [PIECES, SWING, TABLE], ids=["piecewise", "sinusoidal", "varying"])
def test_rewards_have_the_means_of_their_rounds(model: Piecewise | Sinusoidal | Varying) -> None:
    rows = np.arange(600)
    expected = [mean_at(model, round) for round in range(1, 601)]
    np.testing.assert_allclose(model.means_at(rows), expected, atol=1e-12)
    drawn = model.draw(np.random.default_rng(0), rows[:, np.newaxis], lanes=1000)
    error = drawn.mean(axis=1) - expected
    assert np.abs(error).max() < 5.0 * math.sqrt(0.25 / 1000)  # 1200 means, five standard deviations
    check_environment(Environment(model))


@pytest.mark.parametrize("model", [PIECES, SWING, TABLE], ids=["piecewise", "sinusoidal", "varying"])
def test_dynamic_regrets_are_sums_over_the_rounds(model: Rewards) -> None:
    world = Environment(model, fractions=[0.2, 0.1])
    results = compare([ucb1(), fucb([0.2, 0.1])], world, 400, lanes=1, seed=3, checkpoints=400, progress=False)
    for label in ("ucb1", "fucb"):
        result = results.policies[label]
        plays = np.diff(result.pulls, axis=0, prepend=0)
        means = np.array([mean_at(model, round) for round in range(1, 401)])[:, np.newaxis]
        earned = (plays * means).sum(axis=-1)
        fair = 0.2 * means[..., 0] + 0.1 * means[..., 1] + 0.7 * means.max(axis=-1)
        np.testing.assert_allclose(result.curves["dynamic_regret"], np.cumsum(means.max(axis=-1) - earned, axis=0))
        np.testing.assert_allclose(result.curves["dynamic_r_regret"], np.cumsum(fair - earned, axis=0), atol=1e-9)
        assert "regret" not in result.curves
        assert "means change over time" in results.omitted[label]["regret"]


def test_best_of_a_round_with_shares_is_that_of_a_linear_program() -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(4)
    for _ in range(5):
        gains, shares = rng.random(5), rng.dirichlet(np.ones(5)) * rng.uniform(0.0, 2.0)
        shares = np.minimum(shares, 1.0)
        found = linprog(-gains, A_eq=np.ones((1, 5)), b_eq=[2.0], bounds=[(share, 1.0) for share in shares])
        assert best_dynamic(gains, 2, shares) == pytest.approx(-float(found.fun or 0.0))


def test_arms_that_sleep_are_not_the_best() -> None:
    assert best_dynamic(np.array([0.9, 0.5]), 1, available=np.array([False, True])) == 0.5


def test_a_configuration_has_them_all(tmp_path: object) -> None:
    for table in (
        {"kind": "piecewise", "pieces": [[0.5, 0.3], [0.2, 0.9]], "starts": [1, 11]},
        {"kind": "sinusoidal", "centers": [0.5, 0.5], "amplitudes": [0.4, 0.0], "period": 10, "phases": 0.5},
        {"kind": "varying", "probabilities": [[0.5, 0.3]] * 20},
    ):
        setup = parse({"horizon": 20, "environment": {"rewards": table}, "policies": [{"algorithm": "ucb1"}]})
        results = compare(setup.policies, setup.environment, 20, lanes=2, progress=False)
        assert "dynamic_regret" in results.policies["ucb1"].curves


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Piecewise([[0.5]], [2]), "starts must ascend from 1, got .2."),
        (lambda: Piecewise([[0.5], [0.4]], [1]), "starts has 1 entry for 2 pieces"),
        (lambda: Piecewise([[0.5], [1.4]], [1, 5]), r"pieces\[1\]\[0\] must be a number in \[0, 1\]"),
        (lambda: Sinusoidal([0.5], 0.6, 10), "take smaller amplitudes"),
        (lambda: Sinusoidal([0.5], 0.1, 0), "period must be above 0"),
        (lambda: Environment(TABLE).check_horizon(601), "the log has only 600 rounds"),
    ],
)
def test_wrong_arguments_are_refused(make: object, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()  # type: ignore[operator]
