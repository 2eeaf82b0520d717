"""Feedback models: what becomes known, and when."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.feedback import Immediate


@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_immediate_feedback_is_all_that_was_earned(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    channel = Immediate().open(shape)
    for _ in range(5):
        played = rng.random(shape) < 0.5
        earned = rng.random(shape) * played
        feedback = channel.send(played, earned, rng)
        assert (feedback.received == played).all()
        assert (feedback.rewards == earned).all()


def test_immediate_feedback_draws_nothing() -> None:
    # Policies' and environments' streams must not move for a feedback that leaves nothing to chance.
    rng, untouched = np.random.default_rng(1), np.random.default_rng(1)
    Immediate().open((2,)).send(np.array([True, False]), np.array([1.0, 0.0]), rng)
    assert rng.random() == untouched.random()


def test_a_play_without_reward_is_heard_of_too() -> None:
    feedback = Immediate().open((2,)).send(np.array([True, False]), np.zeros(2), np.random.default_rng(0))
    assert feedback.received.tolist() == [True, False]
    assert feedback.rewards.tolist() == [0.0, 0.0]
