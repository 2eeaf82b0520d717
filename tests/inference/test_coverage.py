"""Sequences cover at all times: the design of `tests.inference.watched`, of which six cells run always."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.inference import difference, weighted
from evenhand.inference.shares import share_interval
from tests.inference.coverage import BEGIN, END, Missed, missed, of, row
from tests.inference.watched import LEVELS, Cell, design, watch

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "intervals.md"
CELLS = design()
FAST = [CELLS[place] for place in (0, 8, 20, 24, 28, 32)]


@pytest.mark.parametrize("cell", FAST, ids=str)
def test_six_cells_are_covered(cell: Cell) -> None:
    assert [one for one in missed(cell, runs=200, rounds=500, seed=1) if one.fails] == []


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_forty_cells_are_covered_as_the_page_says(cell: Cell) -> None:
    found = missed(cell)
    assert [one for one in found if one.fails] == []
    table = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    assert row(cell, found) in table


def test_the_design_has_every_pair_of_levels() -> None:
    names = list(LEVELS)
    pairs = {
        (one, getattr(cell, one), other, getattr(cell, other)) for cell in CELLS for one in names for other in names
    }
    assert len(CELLS) == len(set(CELLS)) == 40
    assert len(pairs) == sum(
        len(LEVELS[one]) * (len(LEVELS[other]) if one != other else 1) for one in names for other in names
    )


def test_an_interval_for_one_look_would_be_found_out() -> None:
    ever = np.zeros((200, 3), dtype=bool)
    for run in watch(Cell("Thompson, floors", "3", "equal", "immediate", "binary"), 200, 500):
        low, high = share_interval(run.known["total"], run.known["count"])
        ever |= (low > 0.1) | (high < 0.1)
    assert Missed("one look", float(ever.mean(axis=0).max()), 200, True).fails


class Step(Cell):
    """Two identical arms, whose rewards all rise from 0.3 to 0.6."""

    def at(self, time: int, rounds: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.full(2, 0.3 if time < rounds // 2 else 0.6)


def test_a_common_step_makes_identical_arms_different_by_two_sequences_only() -> None:
    """Thompson sampling with floors; with 20,000 rounds two sequences are wrong in about 95% of the runs."""
    cell, runs = Step("Thompson, floors", "2", "equal", "drifting", "binary"), 100
    two, chances = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
    for run in watch(cell, runs, 8000, step=1.2):
        low, high = difference(of(run, 0), of(run, 1))
        two |= (low > 0.0) | (high < 0.0)
        low, high = weighted(run.scores(0), run.scores(1), np.array(float(run.time)))
        chances |= (low > 0.0) | (high < 0.0)
    assert two.mean() > 0.7
    assert chances.mean() <= 0.05
