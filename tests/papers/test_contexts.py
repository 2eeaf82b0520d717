"""Who pays for a promise where: what is measured, at a small size."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from evenhand.papers.beyond import contexts
from evenhand.papers.experiment import CompletedRun, Runs
from evenhand.simulation.simulate import run_setup
from evenhand.studies.configuration import load

FOLDER = Path(str(files("evenhand.papers.beyond")))


@pytest.fixture(scope="module")
def runs() -> Runs:
    """The run of scale 1 and that in euros, with that of scale 1 in place of the clicks."""
    sizes = {part: load(FOLDER / f"{part}.toml", horizon=1000, lanes=3) for part in ("who-one", "who-euros")}
    found = {part: CompletedRun(run_setup(setup, progress=False), setup) for part, setup in sizes.items()}
    return {**found, "who-clicks": found["who-one"]}


@pytest.mark.slow
def test_policies_differ_by_what_they_pay_where(runs: Runs) -> None:
    parts = [contexts.part_of_best(runs["who-one"], label).mean() for label in contexts.LABELS]
    queue, first, floors, blind = parts[0], *parts[3:]
    assert 0.98 < queue < 1.0
    assert queue - 0.02 > first > floors + 0.05
    assert floors > blind
    assert all(one.holds for one in contexts.near_the_best(runs))
    for other in (contexts.FIRST, contexts.FLOORS, contexts.BLIND):
        assert all(one.effect > 0.01 for one in contexts.more_than(other)(runs))


def test_a_queue_that_falls_behind_or_earns_too_little_is_noticed(runs: Runs) -> None:
    assert all(one.holds for one in contexts.as_owed(runs))
    label = contexts.QUEUES[0]
    curves = runs["who-one"].results.policies[label].curves
    kept = {name: curves[name].copy() for name in ("max_violation", "r_regret")}
    try:
        curves["max_violation"][-1] = 5000.0
        curves["r_regret"][-1] += 100.0
        assert not next(contexts.as_owed(runs)).holds
        assert not next(contexts.near_the_best(runs)).holds
    finally:
        curves.update(kept)


def test_the_unit_makes_no_difference(runs: Runs) -> None:
    assert all(one.holds for one in contexts.in_any_unit(runs))
    for label in contexts.LABELS[:2]:
        one, other = (contexts.part_of_best(runs[part], label) for part in ("who-one", "who-euros"))
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_the_figure_and_the_tables_have_every_policy_and_scale(runs: Runs) -> None:
    assert len(contexts.of_parts(runs).axes) == 3
    for table in contexts.numbers(runs):
        assert [*table.rows] == [*contexts.LABELS]
        assert all(len(cells) == 3 for cells in table.rows.values())
