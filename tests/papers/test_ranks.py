"""Rank within one's group: candidates, their ranks, and what is measured, at a small size."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenhand.papers.beyond import ranks
from evenhand.papers.experiment import CompletedRun, PaperClaim, Runs, experiments
from evenhand.simulation.simulate import run_setup
from evenhand.studies.configuration import load

FOLDER = Path(str(files("evenhand.papers.beyond")))


@pytest.fixture(scope="module")
def runs() -> Runs:
    setup = load(FOLDER / "ranks.toml", horizon=400, lanes=4)
    return {"ranks": CompletedRun(run_setup(setup, progress=False), setup)}


def test_a_candidate_has_the_columns_of_its_own_group_alone() -> None:
    contexts = ranks.Candidates(own=2, offsets=[0.0, 5.0, 9.0])
    assert contexts.widths == (1, 7)
    found = contexts.draw(np.random.default_rng(0), np.zeros((30, 1), dtype=int), lanes=4, arms=3)
    assert found.arms is not None
    assert found.situation.shape == (30, 4, 1)
    assert found.arms.shape == (30, 4, 3, 7)
    for group, offset in enumerate((0.0, 5.0, 9.0)):
        own = slice(2 * group, 2 * group + 2)
        assert (found.arms[:, :, group, own] > 0.0).all()
        assert (found.arms[:, :, group, own] < 1.0).all()
        assert (found.arms[:, :, group, 6] == offset).all()
        assert np.count_nonzero(np.delete(found.arms[:, :, group], np.r_[own, 6], axis=-1)) == 0


def test_missing_ranks_are_counted_in_ones_own_group() -> None:
    metric = ranks.FairPseudoRegret()
    law = np.array([[4.0, 30.0], [1.0, 10.0], [2.0, 40.0], [3.0, 20.0]])
    run: Any = SimpleNamespace(baseline=SimpleNamespace(in_context=SimpleNamespace(means=law)), lanes=2)
    memory = metric.start(run)
    run.outcome = SimpleNamespace(means=np.array([[4.0, 20.0], [1.5, 35.0]]))  # ranks 1 and 1/2, 1/4 and 3/4
    run.decision = SimpleNamespace(played=np.array([[False, True], [False, True]]))
    metric.see(memory, run)
    np.testing.assert_array_equal(metric.value(memory, run), [0.5, 0.0])
    run.decision = SimpleNamespace(played=np.array([[True, False], [True, False]]))
    metric.see(memory, run)
    np.testing.assert_array_equal(metric.value(memory, run), [0.5, 0.5])


def holds(claim: PaperClaim, runs: Runs) -> bool:
    return all(finding.holds for finding in claim.test(runs))


@pytest.mark.slow
def test_fair_greedy_is_told_from_the_others(runs: Runs) -> None:
    policies = runs["ranks"].results.policies
    root_of_time, _, less, for_ever = experiments()["X-R"].claims
    assert all(finding.holds for finding in less.test(runs))
    assert holds(root_of_time, runs)
    assert max(abs(finding.effect - 0.25) for finding in ranks.alike(runs)) < 0.03
    kept = policies["Fair-Greedy"]
    try:
        policies["Fair-Greedy"] = policies["uniform"]
        assert not any(finding.holds for finding in less.test(runs))
        assert not holds(root_of_time, runs)
        policies["Fair-Greedy"] = policies["OFUL"]
        assert not all(finding.holds for finding in ranks.alike(runs))
        policies["OFUL"] = kept
        assert not next(iter(for_ever.test(runs))).holds
    finally:
        policies |= {"OFUL": policies["Fair-Greedy"], "Fair-Greedy": kept}


def test_the_figure_and_the_table_have_every_policy(runs: Runs) -> None:
    assert len(ranks.of_ranks(runs).axes) == 2
    (table,) = ranks.numbers(runs)
    assert [*table.rows] == ["Fair-Greedy", "OFUL", "greedy", "uniform"]
