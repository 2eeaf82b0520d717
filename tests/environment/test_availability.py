"""Availability models: what is drawn has the distribution that the model lists."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from evenhand import EvenhandError
from evenhand.core.state import Array, Mask
from evenhand.environment.availability import MAX_ENUMERATED, Always, Independent, Joint, Logged

ROUNDS, LANES = 4000, 5
SIGMAS = 5.0  # a frequency strays further than that from its probability once in 1.7 million times


def places(rounds: int) -> Any:
    return np.arange(rounds)[:, np.newaxis]


def near(found: Array, chance: Array, draws: int) -> None:
    """Frequencies within SIGMAS standard errors sqrt(p (1 − p)/n) of their probabilities; exact where p is 0 or 1."""
    error = np.sqrt(chance * (1.0 - chance) / draws)
    assert (np.abs(found - chance) <= SIGMAS * error + 1e-12).all(), (found, chance, error)


def frequencies(drawn: Mask, sets: Mask) -> Array:
    flat = drawn.reshape(-1, drawn.shape[-1])
    return np.array([(flat == row).all(axis=1).mean() for row in sets])


def test_always_is_everybody() -> None:
    assert Always().arms is None
    Always().draw(np.random.default_rng(0), places(3), 2)  # draws nothing: None stands for everybody
    sets, chance = Always().distribution(3)
    assert sets.tolist() == [[True, True, True]]
    assert chance.tolist() == [1.0]


def test_independent_arms_are_awake_as_often_as_they_should_be() -> None:
    chance = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
    drawn = Independent(chance).draw(np.random.default_rng(1), places(ROUNDS), LANES)
    assert drawn.shape == (ROUNDS, LANES, 5)
    assert drawn.dtype == np.bool_
    near(drawn.mean(axis=(0, 1)), chance, ROUNDS * LANES)


def test_independent_arms_are_independent_of_each_other_and_of_the_past() -> None:
    drawn = Independent([0.3, 0.6]).draw(np.random.default_rng(2), places(ROUNDS), LANES)
    both = np.array([(drawn[..., 0] & drawn[..., 1]).mean()])
    near(both, np.array([0.18]), ROUNDS * LANES)
    twice = np.array([(drawn[0::2, :, 1] & drawn[1::2, :, 1]).mean()])  # pairs that do not overlap
    near(twice, np.array([0.36]), ROUNDS * LANES // 2)
    neighbours = np.array([(drawn[:, 0, 1] & drawn[:, 1, 1]).mean()])
    near(neighbours, np.array([0.36]), ROUNDS)


def test_independent_distribution_is_the_product() -> None:
    chance = [0.3, 0.6, 1.0]
    listed = Independent(chance).distribution(3)
    assert listed is not None
    probability = {tuple(row): p for row, p in zip(listed[0].tolist(), listed[1].tolist(), strict=True)}
    assert len(probability) == 8
    for awake in itertools.product((False, True), repeat=3):
        expected = 1.0
        for on, p in zip(awake, chance, strict=True):
            expected *= p if on else 1.0 - p
        assert probability[awake] == pytest.approx(expected, abs=1e-15)


def test_independent_draws_follow_its_own_distribution() -> None:
    availability = Independent([0.3, 0.6, 0.9])
    listed = availability.distribution(3)
    assert listed is not None
    drawn = availability.draw(np.random.default_rng(3), places(ROUNDS), LANES)
    near(frequencies(drawn, listed[0]), listed[1], ROUNDS * LANES)


def test_independent_lists_its_sets_up_to_a_limit() -> None:
    for arms in (MAX_ENUMERATED, MAX_ENUMERATED + 1):
        listed = Independent(np.full(arms, 0.5)).distribution(arms)
        assert (listed is None) == (arms > MAX_ENUMERATED)
        if listed is not None:
            assert listed[0].shape == (2**arms, arms)
            assert listed[1].sum() == pytest.approx(1.0, abs=1e-12)


def test_joint_sets_are_drawn_as_often_as_they_should_be() -> None:
    joint = Joint([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]], [0.5, 0.3, 0.2, 0.0])
    drawn = joint.draw(np.random.default_rng(4), places(ROUNDS), LANES)
    assert drawn.shape == (ROUNDS, LANES, 3)
    near(frequencies(drawn, joint.sets), joint.probabilities, ROUNDS * LANES)
    # Arms 2 and 3 are awake together or not at all.
    assert (drawn[..., 1] == drawn[..., 2]).all()
    sets, chance = joint.distribution(3)
    assert sets.tolist() == [[True, False, False], [False, True, True], [False] * 3, [True] * 3]
    assert chance.tolist() == [0.5, 0.3, 0.2, 0.0]


def test_joint_takes_probabilities_that_sum_to_one_as_decimals_do() -> None:
    joint = Joint(np.eye(3, dtype=int), [0.333333, 0.333333, 0.333334])
    drawn = joint.draw(np.random.default_rng(5), places(ROUNDS), LANES)
    assert (drawn.sum(axis=-1) == 1).all()


def test_a_log_is_replayed_row_by_row_in_every_lane() -> None:
    table = [[1, 0], [1, 1], [0, 0], [1, 0]]
    log = Logged(table)
    drawn = log.draw(np.random.default_rng(6), places(4), 2)
    assert drawn[:, 0].astype(int).tolist() == table
    assert (drawn[:, 1] == drawn[:, 0]).all()
    assert log.draw(np.random.default_rng(6), np.array([[2], [1]]), 1)[:, 0].astype(int).tolist() == [[0, 0], [1, 1]]
    each_lane_its_own = log.draw(np.random.default_rng(6), np.array([[0, 1], [2, 3]]), 2)
    assert each_lane_its_own.astype(int).tolist() == [[[1, 0], [1, 1]], [[0, 0], [1, 0]]]


def test_the_distribution_of_a_log_counts_its_rows() -> None:
    sets, chance = Logged([[1, 0], [1, 1], [0, 0], [1, 0]]).distribution(2)
    probability = {tuple(row): p for row, p in zip(sets.astype(int).tolist(), chance.tolist(), strict=True)}
    assert probability == {(1, 0): 0.5, (1, 1): 0.25, (0, 0): 0.25}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Independent([0.5, 1.5]), r"probabilities\[1\] must be a number in \[0, 1\], got 1.5"),
        (lambda: Independent([float("nan")]), r"probabilities\[0\] must be a number in \[0, 1\], got nan"),
        (lambda: Independent(0.5), "probabilities must be a list with one number per arm, got 0.5"),  # type: ignore[arg-type]
        (lambda: Independent(["often"]), r"probabilities\[0\] must be a number, got 'often'"),  # type: ignore[list-item]
        (lambda: Joint([[1, 0]], [0.5, 0.5]), "there is 1 set but 2 probabilities"),
        (lambda: Joint([[1, 0], [0, 1]], [0.5, 0.4]), "probabilities must sum to 1, it sums to 0.9"),
        (lambda: Joint([[1, 0.5]], [1.0]), r"sets must contain 0 \(asleep\) or 1 \(available\)"),
        (lambda: Joint([[1, 0], [1]], [0.5, 0.5]), "sets must be rows of equal length"),
        (lambda: Joint([], []), "sets must be rows of equal length"),
        (lambda: Joint([[1, float("nan")]], [1.0]), r"sets\[0\]\[1\] must be a number in \[0, 1\], got nan"),
        (lambda: Logged([[1, 2]]), r"table\[0\]\[1\] must be a number in \[0, 1\], got 2.0"),
        (lambda: Logged([[1, 0.5]]), r"table must contain 0 \(asleep\) or 1 \(available\)"),
        (lambda: Logged([1, 0]), r"table must be rows of equal length, got shape \(2,\)"),  # type: ignore[list-item]
    ],
)
def test_wrong_models_are_refused(make: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()
