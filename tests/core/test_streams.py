"""Random streams of strands: each draws as it would alone, whatever runs beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Environment, Policy, simulate
from evenhand.core.state import Array, Observation, State
from evenhand.core.streams import (
    STRAND,
    NotByLaneError,
    Streams,
    among,
    joined,
    over_arms,
    spans,
    strand_seeds,
    strand_sizes,
)
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.index import Index

SIZES = [3, 3, 2]
ROWS = sum(SIZES)
Draw = Callable[[Any, int], Any]
A = np.linspace(0.5, 4.0, ROWS * 4).reshape(ROWS, 4)
DRAWS: dict[str, Callable[[Any, slice], Any]] = {
    "random": lambda rng, part: rng.random((part.stop - part.start, 4)),
    "beta": lambda rng, part: rng.beta(A[part], A[::-1][part]),
    "permuted": lambda rng, part: rng.permuted(A[part], axis=1),
    "normal of arrays": lambda rng, part: rng.normal(A[part], 2.0),
    "normal with a size": lambda rng, part: rng.normal(0.0, 1.0, size=(part.stop - part.start, 2)),
    "geometric with a size": lambda rng, part: rng.geometric(0.3, (part.stop - part.start, 1)),
    "integers": lambda rng, part: rng.integers(0, 5, (part.stop - part.start, 3), dtype=np.int32),
    "a column and a row": lambda rng, part: rng.gamma(A[part, :1], A[0]),
    "by name": lambda rng, part: rng.binomial(n=9, p=A[part] / 4.0),
}


def generators() -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(len(SIZES))]


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_each_strand_draws_as_it_would_alone(draw: Callable[[Any, slice], Any]) -> None:
    together, alone = Streams(generators(), SIZES), generators()
    for _ in range(2):
        drawn = draw(together, slice(0, ROWS))
        expected = [draw(rng, part) for rng, part in zip(alone, spans(SIZES), strict=True)]
        np.testing.assert_array_equal(drawn, np.concatenate(expected))
        assert drawn.dtype == expected[0].dtype


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.random((4, ROWS)),
        lambda rng: rng.random(()),
        lambda rng: rng.normal(),
        lambda rng: rng.normal(0.0, 1.0, ROWS),
        lambda rng: rng.beta(A[:2], A[:2]),
        lambda rng: rng.choice(3, size=(ROWS, 2)),
        lambda rng: rng.shuffle(A.copy()),
        lambda rng: rng.permuted(A, axis=0),
        lambda rng: rng.bit_generator,
    ],
)
def test_what_has_not_a_row_for_each_lane_is_refused(draw: Callable[[Any], Any]) -> None:
    with pytest.raises(NotByLaneError):
        draw(Streams(generators(), SIZES))


@pytest.mark.parametrize("lanes", [1, STRAND - 1, STRAND, STRAND + 1, 2 * STRAND, 3 * STRAND - 1])
def test_there_are_as_many_seeds_as_strands_with_lanes(lanes: int) -> None:
    sizes = strand_sizes(lanes, len(strand_seeds(7, lanes)))
    assert sum(sizes) == lanes
    assert min(sizes) > 0


def test_among_draws_as_many_as_each_strand_needs() -> None:
    mask = np.random.default_rng(5).random((ROWS, 4)) < 0.4
    drawn = among(joined_of(SIZES), mask).random((int(mask.sum()),))
    alone = [rng.random(int(mask[part].sum())) for rng, part in zip(generators(), spans(SIZES), strict=True)]
    assert drawn.tolist() == np.concatenate(alone).tolist()
    rng = np.random.default_rng(1)
    assert among(rng, mask) is rng


def joined_of(sizes: list[int]) -> Any:
    return Streams(generators(), sizes)


def test_one_strand_has_its_generator_and_all_lanes() -> None:
    rng = np.random.default_rng(1)
    assert joined([rng], lanes=1000) is rng
    assert strand_sizes(1000, 1) == [1000]
    assert strand_sizes(2 * STRAND + 1, 3) == [STRAND, STRAND, 1]


@given(lanes=st.integers(1, 350), arms=st.integers(1, 40), seed=st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_sums_over_arms_do_not_depend_on_the_lanes_beside(lanes: int, arms: int, seed: int) -> None:
    values, weights = np.random.default_rng(seed).random((lanes, arms)), np.random.default_rng(9).random(arms)
    whole = over_arms(values, weights)
    np.testing.assert_allclose(whole, (values * weights).sum(axis=1), rtol=1e-13)
    for start in range(0, lanes, STRAND):
        part = values[start : start + STRAND]
        assert over_arms(part, weights).tolist() == whole[start : start + STRAND].tolist()


@frozen
class DrawsItsOwnWay(Index):
    """One number for all arms and lanes, which cannot be divided among strands; counts are what it goes by."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """A choice among the arms, the same in all lanes."""
        return np.broadcast_to(rng.permutation(state.arms).astype(float), state.tally.pulls.shape)


def test_a_part_that_draws_its_own_way_runs_strand_by_strand() -> None:
    world, policy = Environment(Bernoulli([0.6, 0.5, 0.4])), Policy(DrawsItsOwnWay())
    few, many = (simulate(policy, world, 40, lanes, seed=2, progress=False) for lanes in (STRAND, 2 * STRAND + 5))
    found, expected = many.policies["policy"], few.policies["policy"]
    assert found.pulls.shape[1] == 2 * STRAND + 5
    np.testing.assert_array_equal(found.pulls[:, :STRAND], expected.pulls)
    # Lanes of one strand play alike, and those of another otherwise.
    assert (found.pulls[:, 0] == found.pulls[:, 1]).all()
    assert (found.pulls[:, 0] != found.pulls[:, STRAND]).any()
