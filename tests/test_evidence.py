"""What is believed about rewards that have not arrived."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.evidence import Received
from evenhand.index import UCB, BetaSample, EmpiricalMean, Trials
from evenhand.records import State, Tally

# Five pulls, of which two rewards have arrived, with a sum of 1.5; and an arm of which none has arrived.
TALLY = Tally(np.array([5.0, 3.0]), np.array([2.0, 0.0]), np.array([1.5, 0.0]))


def test_only_what_arrived_counts() -> None:
    sums, counts = Received().of(TALLY)
    assert (sums.tolist(), counts.tolist()) == ([1.5, 0.0], [2.0, 0.0])


def test_pulls_without_a_reward_change_nothing() -> None:
    more = Tally(TALLY.pulls + 7.0, TALLY.received, TALLY.rewards)
    for one, two in zip(Received().of(TALLY), Received().of(more), strict=True):
        assert (one == two).all()


def test_the_indices_ask_their_evidence() -> None:
    rng = np.random.default_rng(0)
    state = State(8, TALLY, index=Trials(np.array([1.0, 0.0])))
    assert EmpiricalMean().worth(state, rng).tolist() == [0.75, 0.0]
    # sqrt(2 ln 9 / 2) = sqrt(ln 9) on top of the mean of what arrived; nothing arrived of the other arm.
    assert UCB().worth(state, rng).tolist() == pytest.approx([0.75 + np.sqrt(np.log(9.0)), np.inf])
    # Beta(1 + 1, 1 + 2 − 1) and Beta(1, 1).
    same = np.random.default_rng(3).beta([2.0, 1.0], [2.0, 1.0])
    assert (BetaSample().worth(state, np.random.default_rng(3)) == same).all()


def test_a_belief_of_your_own_is_asked_as_well() -> None:
    class Hopeful:
        """Every missing reward is a 1."""

        def of(self, tally: Tally) -> tuple[np.ndarray, np.ndarray]:
            return tally.rewards + tally.pulls - tally.received, tally.pulls

    # (1.5 + 3)/5 and 3/3.
    worth = EmpiricalMean(Hopeful()).worth(State(8, TALLY), np.random.default_rng(0))
    assert worth.tolist() == pytest.approx([0.9, 1.0])
