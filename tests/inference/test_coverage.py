"""Sequences cover at all times: the design of `tests.inference.watched`, of which six cells run always."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.inference import Scores, difference, offpolicy, offpolicy_difference, weighted
from evenhand.inference.shares import share_interval
from tests.inference.coverage import Missed, missed, of, row, widths, written
from tests.inference.watched import LEVELS, Cell, design, drawn, watch
from tests.thinned import thinned

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "intervals.md"
CELLS = design()
FAST = [CELLS[place] for place in (0, 8, 20, 24, 28, 32)]


@pytest.mark.parametrize("cell", thinned(FAST, lambda cell: cell in FAST[::3]))
def test_six_cells_are_covered(cell: Cell) -> None:
    assert [one for one in missed(cell, runs=200, rounds=500, seed=1) if one.fails] == []


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_forty_cells_are_covered_as_the_page_says(cell: Cell) -> None:
    found = missed(cell)
    assert [one for one in found if one.fails] == []
    assert row(cell, found) in written(PAGE, "coverage")


def test_widths_are_those_of_the_page() -> None:
    assert list(widths()) == written(PAGE, "widths")[2:]


def test_values_by_a_largest_weight_are_covered() -> None:
    """A log whose policy learns while all rewards rise, with chances of at least 5%; and its difference to one arm."""
    cell, runs, rounds = Cell("greedy with floors", "2", "far", "drifting", "binary"), 300, 600
    ever = np.zeros((runs, 2), dtype=bool)
    for run in watch(cell, runs, rounds, step=1.3):
        rows = slice(0, run.time)
        rewards, weights = run.rewards[rows].T, 1.0 / run.chances[rows].T
        first, half = weights * (run.played[rows].T == 0), 0.5 * weights
        truth, alone = run.means.mean() / run.time, run.means[0] / run.time
        low, high = offpolicy(rewards, half, 10.0)
        ever[:, 0] |= (low > truth) | (high < truth)
        low, high = offpolicy_difference(rewards, first, half, 20.0)
        ever[:, 1] |= (low > alone - truth) | (high < alone - truth)
    assert not Missed("value", float(ever.mean(axis=0).max()), runs, True).fails


def test_differences_of_arms_that_play_together_are_covered() -> None:
    """Two arms with the same rewards, which play at the same time in one round of six."""
    rng, runs, rounds = np.random.default_rng(3), 400, 400
    chances, ever = np.array([0.5, 1.0 / 3.0]), np.zeros(runs, dtype=bool)
    played = rng.random((runs, rounds, 2)) < chances
    rewards = (rng.random((runs, rounds, 1)) < 0.5).astype(float)
    once, twice = played / chances, played / chances**2
    each = [one.cumsum(axis=1) for one in (once, once * rewards, twice, twice * rewards, twice * rewards**2)]
    for time in range(10, rounds, 10):
        a, b = (Scores(*(one[:, time - 1, arm] for one in each), least=chances[arm]) for arm in range(2))  # type: ignore[misc]
        low, high = weighted(a, b, np.array(float(time)), together=True)
        ever |= (low > 0.0) | (high < 0.0)
    assert not Missed("together", float(ever.mean()), runs, True).fails


def test_the_design_has_every_pair_of_levels() -> None:
    names = list(LEVELS)
    pairs = {
        (one, getattr(cell, one), other, getattr(cell, other)) for cell in CELLS for one in names for other in names
    }
    assert len(CELLS) == len(set(CELLS)) == 40
    assert len(pairs) == sum(
        len(LEVELS[one]) * (len(LEVELS[other]) if one != other else 1) for one in names for other in names
    )


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_rewards_have_the_means_that_are_said(cell: Cell) -> None:
    """So none is beyond the range, where it would be cut."""
    means = np.concatenate([cell.at(time, 90) for time in range(90)])
    rewards = drawn(cell.rewards, np.repeat(means[:, None], 2000, axis=1), np.random.default_rng(0))
    assert rewards.mean(axis=1) == pytest.approx(means, abs=0.05)
    assert rewards.mean() == pytest.approx(means.mean(), abs=0.004)


def test_an_interval_for_one_look_would_be_found_out() -> None:
    ever = np.zeros((200, 3), dtype=bool)
    for run in watch(Cell("Thompson with floors", "3", "equal", "immediate", "binary"), 200, 500):
        low, high = share_interval(run.known["total"], run.known["count"])
        ever |= (low > 0.1) | (high < 0.1)
    assert Missed("one look", float(ever.mean(axis=0).max()), 200, True).fails


class Step(Cell):
    """Two identical arms, whose rewards all rise from 0.3 to 0.6."""

    def at(self, time: int, rounds: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.full(2, 0.3 if time < rounds // 2 else 0.6)


@pytest.mark.slow
def test_a_common_step_makes_identical_arms_different_by_two_sequences_only() -> None:
    """Thompson sampling with floors; with 20,000 rounds two sequences are wrong in about 95% of the runs."""
    cell, runs = Step("Thompson with floors", "2", "equal", "drifting", "binary"), 100
    two, chances = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
    for run in watch(cell, runs, 8000, step=1.2):
        low, high = difference(of(run, 0), of(run, 1))
        two |= (low > 0.0) | (high < 0.0)
        low, high = weighted(run.scores(0), run.scores(1), np.array(float(run.time)))
        chances |= (low > 0.0) | (high < 0.0)
    assert two.mean() > 0.7
    assert chances.mean() <= 0.05
