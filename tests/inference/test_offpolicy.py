"""Values of other policies from rows: coverage, models, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.inference import adaptive, offpolicy, offpolicy_difference
from tests.inference.watched import Cell, watch


def rows(count: int, seed: int = 0) -> tuple[Array, NDArray[np.intp], Array]:
    """Chances of two arms, who played, and rewards with means of 0.1 and 0.3."""
    rng = np.random.default_rng(seed)
    first = rng.choice([0.05, 0.5, 0.9], count)
    played = (rng.random(count) >= first).astype(np.intp)
    return np.stack([first, 1.0 - first], axis=1), played, (rng.random(count) < 0.1 + 0.2 * played).astype(float)


def test_a_known_largest_weight_narrows_and_covers() -> None:
    chances, played, rewards = rows(20_000)
    weights = 0.5 / chances[np.arange(len(played)), played]
    plain, known = offpolicy(rewards, weights), offpolicy(rewards, weights, 10.0)
    for low, high in (plain, known):
        assert low < 0.2 < high
    assert known[1] - known[0] < 0.75 * (plain[1] - plain[0])
    other = 0.9 * weights * (played == 1)
    other += 1.1 * weights * (played == 0)
    wide, narrow = (offpolicy_difference(rewards, weights, other, largest) for largest in (np.inf, 11.0))
    assert narrow[0] < 0.01 < narrow[1]
    assert narrow[1] - narrow[0] < 0.5 * (wide[1] - wide[0])


def test_a_difference_of_targets_is_narrower_than_that_of_their_intervals() -> None:
    chances, played, rewards = rows(20_000)
    weights = np.array([[0.5, 0.5], [0.45, 0.55]])[:, None, :] / chances
    first, second = weights[:, np.arange(len(played)), played]
    low, high = offpolicy_difference(rewards, second, first)
    (least, most), (fewest, largest) = offpolicy(rewards, second), offpolicy(rewards, first)
    assert low < 0.01 < high
    assert high - low < 0.9 * (most - fewest - least + largest)


def test_rewards_that_are_missing_widen_both_ends() -> None:
    _, played, rewards = rows(5000)
    weights = np.ones(5000)
    missing = np.where(np.arange(5000) % 10 == 0, np.nan, rewards)
    (low, high), (least, most) = offpolicy(rewards, weights), offpolicy(missing, weights)
    assert least < low - 0.01
    assert most > high + 0.05
    assert played.any()


@pytest.mark.parametrize(
    ("reward", "weight", "text"),
    [
        (1.5, 1.0, "the reward of row 3 is 1.5"),
        (0.5, np.inf, "the weight of row 3 is inf: it must be 0 or more, and of a chance above 0"),
        (0.5, -1.0, "the weight of row 3 is -1"),
        (0.5, 3.0, "the weight of row 3 is 3: it must be 0 or more, and at most the largest"),
    ],
)
def test_rows_that_make_it_void_are_named(reward: float, weight: float, text: str) -> None:
    rewards, weights = np.full(5, 0.5), np.ones(5)
    rewards[3], weights[3] = reward, weight
    with pytest.raises(EvenhandError, match=text):
        offpolicy(rewards, weights, 2.0)


def test_one_look_needs_chances_above_zero() -> None:
    with pytest.raises(EvenhandError, match="row 1 has a chance of 0"):
        adaptive(np.ones(3), np.array([0.5, 0.0, 0.5]))


def test_one_look_at_an_arm_of_a_learning_policy_covers_where_the_plain_mean_does_not() -> None:
    """Greedy with floors of 3.3%: an arm that began badly is played less, so its plain mean is too low."""
    cell, runs, rounds = Cell("greedy with floors", "3", "equal", "immediate", "binary"), 600, 1000
    *_, run = watch(cell, runs, rounds, seed=5, step=100.0)
    mine = (run.played == 0).astype(float)
    value, reach = adaptive((0.3 + mine * (run.rewards - 0.3) / run.first).T, run.first.T)
    plays = mine.sum(axis=0)
    plain = (mine * run.rewards).sum(axis=0) / plays
    error = np.sqrt(plain * (1.0 - plain) / plays)
    assert (np.abs(value - 0.1) <= reach).mean() > 0.92
    assert (np.abs(plain - 0.1) <= 1.96 * error).mean() < 0.91
