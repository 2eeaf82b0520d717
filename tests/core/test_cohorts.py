"""Counts by age, against a list of all pulls."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from evenhand.core.cohorts import BINS, HALVING, LEVEL, LEVELS, SEGMENTS, Answers, Cohorts, Delays, ages
from evenhand.core.errors import EvenhandError
from evenhand.core.state import dump, restore


@dataclass
class Pull:
    """A pull, and what is known of it."""

    round: int
    place: int
    reward: float | None = None


def history(shape: tuple[int, ...], rounds: int, seed: int) -> tuple[Cohorts, list[Pull]]:
    """Random pulls, answered at random times."""
    rng, cohorts, pulls = np.random.default_rng(seed), Cohorts.empty(shape), list[Pull]()
    for round in range(1, rounds + 1):
        played = rng.random(shape) < 0.5
        cohorts.pull(played)
        pulls += [Pull(round, place) for place in np.flatnonzero(played).tolist()]
        answered = [pull for pull in pulls if pull.reward is None and rng.random() < 0.03]
        for pull in answered:
            pull.reward = float(rng.random())
        places, delays = [pull.place for pull in answered], [round - pull.round for pull in answered]
        rewards = [pull.reward for pull in answered]
        cohorts.receive(Answers(np.array(places, int), np.array(delays, int), np.array(rewards, float)), np.ones(shape))
    return cohorts, pulls


@pytest.mark.parametrize(("shape", "rounds"), [((2,), 1), ((2,), 2), ((3,), 97), ((2, 2), 64), ((2, 2), 90)])
def test_counts_are_those_of_the_pulls_that_are_old_enough(shape: tuple[int, ...], rounds: int) -> None:
    cohorts, pulls = history(shape, rounds, seed=rounds)
    found, edges = cohorts.by_age(), ages(rounds).tolist()
    assert edges[-1] == rounds  # every round is in a segment
    for number, age in enumerate([0, *edges[:-1]]):
        expected = np.zeros((3, int(np.prod(shape))))
        for pull in pulls:
            if rounds - pull.round >= age:
                expected[:, pull.place] += 1.0, pull.reward is not None, pull.reward or 0.0
        assert found[:, number].reshape(3, -1) == pytest.approx(expected)


def test_ages_at_most_double_and_few_are_enough() -> None:
    for rounds in (1, 7, 100, 12_345, 10**6):
        edges = np.unique(ages(rounds))
        assert (edges[1:-1] <= 2 * edges[:-2] + 1).all()
        assert len(ages(rounds)) <= 2 * np.log2(rounds + 1) + 1
    assert len(ages(10**9)) == SEGMENTS  # what is older than two million rounds is one segment
    assert np.diff(ages(10**9))[-1] > 2**LEVELS


def test_a_saved_copy_goes_on_alike() -> None:
    cohorts, _ = history((3,), 40, seed=5)
    copy = restore(Cohorts.empty((3,)), json.loads(json.dumps(dump(cohorts))))
    for one in (cohorts, copy):
        one.pull(np.array([True, False, True]))
        one.receive(Answers(np.array([2]), np.array([30]), np.array([0.5])), np.ones(3))
    assert dump(copy) == dump(cohorts)


def test_rewards_without_their_pull_are_refused() -> None:
    with pytest.raises(EvenhandError, match="names its pulls"):
        Answers.at_once(np.array([2, 0]), np.array([1.0, 0.0]))
    cohorts = Cohorts.empty((1,))
    cohorts.pull(np.array([True]))
    with pytest.raises(EvenhandError, match="5 rounds late, but only 1"):
        cohorts.receive(Answers(np.array([0]), np.array([5]), np.ones(1)), np.ones(1))


def looked_at(delays: np.ndarray, rewards: np.ndarray) -> Delays:
    """A test of one arm with these rewards, the first."""
    found = Delays.empty((1,))
    found.add(Answers(np.zeros(len(delays), int), delays, rewards.astype(float)), np.array([float(len(delays))]))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_the_test_is_pearsons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    delays = rng.choice([0, 1, 3, 6, 100], 400)
    rewards = rng.random(400) < np.where(delays > 2, 0.5 + 0.01 * seed, 0.5)
    table = [
        [np.sum(rewards[b == k]), np.sum(~rewards[b == k])] for b in [np.frexp(delays)[1]] for k in set(b.tolist())
    ]
    statistic, free = chi2_contingency(table, correction=False)[0], len(table) - 1
    x = LEVEL + HALVING
    assert looked_at(delays, rewards).disproved.item() == (statistic > free + 2.0 * np.sqrt(free * x) + 2.0 * x)


def test_what_cannot_be_compared_is_not_disproved() -> None:
    once = looked_at(np.zeros(100, int), np.arange(100) % 2)
    assert not once.testable.item()
    assert not once.disproved.item()
    few = looked_at(np.array([0] * 81 + [50] * 19), np.array([0] * 81 + [1] * 19))  # 19 late ones do not count
    assert not few.disproved.item()
    assert looked_at(np.array([0] * 80 + [50] * 20), np.array([0] * 80 + [1] * 20)).disproved.item()
    assert np.frexp(2**30)[1] > BINS - 1  # and no delay is too long
    assert looked_at(np.full(100, 2**30), np.ones(100)).counts[-1, 0] == 100.0


def test_independent_rewards_are_disproved_as_seldom_as_the_level_says() -> None:
    rng, lanes = np.random.default_rng(3), 2000
    found = Delays.empty((lanes, 1))
    for batch in range(1, 21):  # 40, 80, …, 800 rewards each, looked at five times
        places = np.repeat(np.arange(lanes), 40)
        answers = Answers(places, rng.geometric(0.1, len(places)), (rng.random(len(places)) < 0.3).astype(float))
        found.add(answers, np.full((lanes, 1), 40.0 * batch))
    assert found.tests.max() == 5.0
    assert found.disproved.sum() <= 20  # 1% of the arms over all tests
