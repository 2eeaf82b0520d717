"""The timing wheel against lists of what is due, round by round."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.environment import timing_wheel as module
from evenhand.environment.timing_wheel import TimingWheel

# What is put in a round: place → delay and reward.
Round = dict[int, tuple[float, Any]]


class Lists:
    """The same by hand: for every round a list of what is due in it."""

    def __init__(self, places: int, rounds: int) -> None:
        self.places, self.rounds, self.now = places, rounds, 0
        self.due: dict[float, list[tuple[int, float]]] = defaultdict(list)

    def put(self, sent: Round) -> None:
        for place, (delay, reward) in sent.items():
            if self.now + delay < self.rounds:
                self.due[self.now + delay].append((place, float(reward)))

    def turn(self) -> tuple[list[int], list[float]]:
        counts, sums = [0] * self.places, [0.0] * self.places
        for place, reward in self.due.pop(self.now, ()):
            counts[place] += 1
            sums[place] += reward
        self.now += 1
        return counts, sums

    def under_way(self) -> int:
        return sum(map(len, self.due.values()))


def put(wheel: TimingWheel, sent: Round, kind: np.dtype[Any]) -> None:
    delays = np.array([delay for delay, _ in sent.values()], dtype=float)
    rewards = np.array([reward for _, reward in sent.values()], dtype=kind)
    wheel.put(delays, np.array(list(sent), dtype=np.intp), rewards)


def agree(history: list[Round], places: int, rounds: int, kind: np.dtype[Any]) -> None:
    wheel, lists = TimingWheel(places, rounds, kind), Lists(places, rounds)
    for sent in history:
        put(wheel, sent, kind)
        lists.put(sent)
        counts, sums = wheel.turn()
        # Sums of a few eighths are exact in any order.
        assert (counts.tolist(), sums.tolist()) == lists.turn()
        assert wheel.under_way() == lists.under_way()


EIGHTHS = st.integers(-16, 16).map(lambda n: n / 8)
DELAYS = st.one_of(
    st.just(0), st.integers(0, 6), st.integers(0, 80), st.sampled_from([math.inf, 1e18, 2.0**31, 2.0**32 + 1, 2.0**53])
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Round], int, int, np.dtype[Any]]:
    places, rounds = draw(st.integers(1, 5)), draw(st.integers(1, 60))
    boolean = draw(st.booleans())
    reward = st.booleans() if boolean else EIGHTHS
    sent = st.dictionaries(st.integers(0, places - 1), st.tuples(DELAYS.map(float), reward), max_size=places)
    history = draw(st.lists(sent, min_size=rounds, max_size=rounds))
    return history, places, rounds, np.dtype(bool if boolean else float)


@pytest.mark.parametrize("block", [1, 3, *(pytest.param(block, marks=pytest.mark.slow) for block in (2, 8))])
@settings(derandomize=True, deadline=None, max_examples=60)
@given(case=histories())
def test_any_history_against_lists(block: int, case: tuple[list[Round], int, int, np.dtype[Any]]) -> None:
    # Short blocks, so that a few rounds go through many of them.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONGEST", block)
        patch.setattr(module, "SHORTEST", block)
        agree(*case)


@pytest.mark.parametrize(("places", "rounds"), [(1, 1000), (40, 700), (40_000, 40)])
@pytest.mark.parametrize("kind", [bool, float])
def test_long_histories_with_heavy_tails(places: int, rounds: int, kind: type) -> None:
    # Blocks of 64 rounds, and of 8 where there are many places. The reference is a table of all rounds.
    rng = np.random.default_rng(places)
    counts, sums = np.zeros((rounds, places), dtype=int), np.zeros((rounds, places))
    wheel = TimingWheel(places, rounds, np.dtype(kind))
    for now in range(rounds):
        chosen = np.flatnonzero(rng.random(places) < 0.7)
        delays = np.floor(rng.random(len(chosen)) ** -2.0) - 1.0  # P(D ≥ d) = (d + 1)^(−1/2)
        delays[rng.random(len(chosen)) < 0.1] = np.inf
        rewards: Any = (rng.integers(0, 9, len(chosen)) / 8.0).astype(kind)
        wheel.put(delays, chosen, rewards)
        seen = now + delays < rounds
        due = (now + delays[seen]).astype(int), chosen[seen]
        np.add.at(counts, due, 1)
        np.add.at(sums, due, rewards[seen].astype(float))
        received, total = wheel.turn()
        assert (received == counts[now]).all()
        assert (total == sums[now]).all()
        if now % 97 == 0:
            assert wheel.under_way() == counts[now + 1 :].sum()
    assert wheel.under_way() == 0


def test_every_delay_across_the_blocks() -> None:
    # Sent in rounds 0 and 63, the last of the first block; known in rounds D and 63 + D. The place is the delay.
    delays = np.arange(300)
    wheel = TimingWheel(300, 400, np.dtype(float))
    known = np.zeros((400, 300))
    for now in range(400):
        if now in (0, 63):
            wheel.put(delays.astype(float), delays, np.ones(300))
        known[now] = wheel.turn()[0]
    for delay in delays:
        assert np.flatnonzero(known[:, delay]).tolist() == [delay, 63 + delay]


def test_the_horizon() -> None:
    # In the last round but one: what takes one more round is known at the very end, what takes two is never known.
    wheel = TimingWheel(3, 2, np.dtype(float))
    wheel.put(np.array([0.0, 1.0, 2.0]), np.arange(3), np.ones(3))
    assert wheel.under_way() == 2
    assert wheel.turn()[0].tolist() == [1, 0, 0]
    assert wheel.under_way() == 1
    assert wheel.turn()[0].tolist() == [0, 1, 0]
    assert wheel.under_way() == 0


def test_rewards_of_nought_and_one_are_counted_in_whole_numbers() -> None:
    wheel = TimingWheel(2, 9, np.dtype(bool))
    wheel.put(np.array([0.0, 1.0]), np.array([0, 1]), np.array([True, False]))
    counts, sums = wheel.turn()
    assert counts.dtype.kind == sums.dtype.kind == "i"
    assert (counts.tolist(), sums.tolist()) == ([1, 0], [1, 0])
    counts, sums = wheel.turn()
    assert (counts.tolist(), sums.tolist()) == ([0, 1], [0, 0])


def test_what_was_told_does_not_change_later() -> None:
    wheel = TimingWheel(1, 400, np.dtype(float))
    turns = []
    for _ in range(300):
        wheel.put(np.zeros(1), np.array([0]), np.array([0.5]))
        turns.append(wheel.turn())
    assert all(counts.tolist() == [1] and sums.tolist() == [0.5] for counts, sums in turns)


# --- memory -----------------------------------------------------------------------------------------------------------


def test_what_cannot_arrive_is_forgotten_at_once() -> None:
    wheel = TimingWheel(10, 1000, np.dtype(float))
    size = len(pickle.dumps(wheel))
    for now in range(500):
        late = np.array([np.inf, 1e18, 1000.0, 1000.0 - now, 1001.0 - now])
        wheel.put(late, np.arange(5), np.ones(5))
        wheel.turn()
        assert wheel.under_way() == 0
        assert len(pickle.dumps(wheel)) < size + 100  # the number of the round has more digits


def test_memory_is_free_again_when_all_has_arrived() -> None:
    wheel = TimingWheel(10, 1000, np.dtype(float))
    size = len(pickle.dumps(wheel))
    for _ in range(100):
        wheel.put(np.full(10, 400.0), np.arange(10), np.ones(10))
        wheel.turn()
    assert len(pickle.dumps(wheel)) > size + 1000 * 16
    for _ in range(500):
        wheel.turn()
    assert len(pickle.dumps(wheel)) < size + 100


@pytest.mark.parametrize("stragglers", [0, 1])
def test_memory_is_that_of_what_is_under_way(stragglers: int) -> None:
    # A thousand rewards a round that take 150 rounds, and one of them that takes until the horizon. Each reward is two
    # numbers of 4 bytes and one of 8, for a moment twice; single ones cost three arrays of about 150 bytes more.
    places, rounds = 1000, 2000
    tracemalloc.start()
    try:
        wheel = TimingWheel(places, rounds, np.dtype(float))
        empty = tracemalloc.get_traced_memory()[0]
        for now in range(rounds // 2):
            delays = np.full(places, 150.0)
            delays[:stragglers] = rounds - 1 - now
            wheel.put(delays, np.arange(places), np.ones(places))
            wheel.turn()
        used = tracemalloc.get_traced_memory()[0] - empty
    finally:
        tracemalloc.stop()
    assert wheel.under_way() == 150 * places + stragglers * (rounds // 2 - 150)
    assert used < 2 * 16 * 150 * places + stragglers * rounds // 2 * (16 + 3 * 150)
