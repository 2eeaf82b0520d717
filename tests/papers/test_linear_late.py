"""Late rewards of a linear model: what waiting is made of, and what is measured, at a small size."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from evenhand.delays import Fixed, Geometric
from evenhand.papers.beyond import linear_late
from evenhand.papers.experiment import CompletedRun, Runs, experiments
from evenhand.rewards import Linear
from evenhand.simulation.simulate import run_setup
from evenhand.studies.configuration import load

FOLDER = Path(str(files("evenhand.papers.beyond")))
PARTS = experiments()["X-L"].parts


@pytest.fixture(scope="module")
def runs() -> Runs:
    setups = {part: load(FOLDER / f"{part}.toml", horizon=1000, lanes=4) for part in PARTS}
    return {part: CompletedRun(run_setup(setup, progress=False), setup) for part, setup in setups.items()}


def test_arms_are_new_vectors_of_length_1() -> None:
    contexts = linear_late.Directions(columns=5)
    found = contexts.draw(np.random.default_rng(0), np.zeros((20, 1), dtype=int), lanes=3, arms=10).arms
    assert found is not None
    assert found.shape == (20, 3, 10, 5)
    assert (found >= 0.0).all()
    np.testing.assert_allclose((found**2).sum(axis=-1), 1.0)
    assert len(np.unique(found)) == found.size


@pytest.mark.parametrize("window", linear_late.OTF)
def test_waiting_loses_what_comes_too_late_and_knows_the_rest_after_m_rounds(window: int) -> None:
    one, other = (load(FOLDER / f"{part}.toml").environment for part in ("linear-late", f"linear-late-wait-{window}"))
    assert isinstance(one.feedback, Geometric)
    assert isinstance(other.feedback, Fixed)
    assert isinstance(one.rewards, Linear)
    assert isinstance(other.rewards, Linear)
    assert (other.feedback.delay == window).all()
    within = linear_late.chance_within(window)
    latest = one.feedback.quantiles([within - 1e-6, within + 1e-6], [0.5])
    np.testing.assert_array_equal(latest[:, 0], [window, window + 1])
    assert one.rewards.shared is not None
    assert other.rewards.shared is not None
    np.testing.assert_allclose(other.rewards.shared, one.rewards.shared * within, atol=1e-8)


@pytest.mark.slow
def test_the_regret_of_waiting_is_in_units_of_all_rewards(runs: Runs) -> None:
    curve = runs["linear-late-wait-100"].results.policies["waiting, m = 100"].curves["regret"]
    np.testing.assert_allclose(linear_late.of_waiting(runs, 100), curve / (1.0 - 0.99**100))


def test_better_and_worse_are_told_apart(runs: Runs) -> None:
    curves = {label: one.curves["regret"] for label, one in runs["linear-late"].results.policies.items()}
    kept = {label: curve.copy() for label, curve in curves.items()}
    rounds = runs["linear-late"].results.rounds[:, np.newaxis]
    claims = experiments()["X-L"].claims
    try:
        for label in linear_late.OTF.values():
            curves[label][:] = np.sqrt(rounds) + np.linspace(0.0, 1.0, 4)
        curves["OTFLinUCB, m = 500"][:] *= 1.5
        curves["even choice"][:] = rounds
        curves["LinUCB, zeros reported"][:] = 1.0
        assert all(finding.holds for claim in claims for finding in claim.test(runs))
        for label in linear_late.OTF.values():
            curves[label][:] = 2.0 * rounds + np.linspace(0.0, 1.0, 4)
        curves["LinUCB, zeros reported"][:] = rounds + 10.0
        assert not any(finding.holds for claim in claims for finding in claim.test(runs))
    finally:
        for label, curve in kept.items():
            curves[label][:] = curve


def test_the_figure_has_every_policy(runs: Runs) -> None:
    figure = linear_late.of_delays(runs)
    assert len(figure.axes) == 2
    assert len(figure.axes[0].get_lines()) == 6
