"""Feedback models: what becomes known, and when; channels against lists of what is due."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError
from evenhand.core.state import Feedback
from evenhand.delays import ByReward, Custom, Delay, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.environment.feedback import Immediate

# --- at once ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_immediate_feedback_is_all_that_was_earned(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    channel = Immediate().open(shape, 5)
    for _ in range(5):
        played = rng.random(shape) < 0.5
        earned = rng.random(shape) * played
        feedback = channel.send(played, earned, None)
        assert (feedback.received == played).all()
        assert (feedback.rewards == earned).all()


def test_immediate_feedback_leaves_nothing_to_chance_and_fits_any_arms() -> None:
    assert not Immediate().traits.random
    Immediate().check(1)
    Immediate().check(1000)


def test_a_play_without_reward_is_heard_of_too() -> None:
    feedback = Immediate().open((2,), 1).send(np.array([True, False]), np.zeros(2), None)
    assert feedback.received.tolist() == [True, False]
    assert feedback.rewards.tolist() == [0.0, 0.0]


# --- late -------------------------------------------------------------------------------------------------------------


def played_by(*arms: int, of: int = 3) -> Any:
    return np.isin(np.arange(of), arms)


def test_feedback_of_a_fixed_delay_by_hand() -> None:
    # Known at the end of round s + D: arm 1 at once, arm 2 two rounds later, arm 3 never.
    channel = Fixed([0, 2, math.inf]).open((3,), 5)
    heard = [
        channel.send(played_by(0, 1, 2), np.array([0.5, 0.25, 1.0]), None),
        channel.send(played_by(1), np.array([0.0, 0.75, 0.0]), None),
        channel.send(played_by(), np.zeros(3), None),
        channel.send(played_by(0), np.array([1.0, 0.0, 0.0]), None),
        channel.send(played_by(1), np.array([0.0, 1.0, 0.0]), None),
    ]
    assert [one.received.tolist() for one in heard] == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert [one.rewards[:2].tolist() for one in heard] == [[0.5, 0], [0, 0], [0, 0.25], [1, 0.75], [0, 0]]


def test_rewards_of_several_rounds_may_come_together() -> None:
    # A loss takes 1 round, a win 3: two of each arrive in the fourth round, with the sum of their rewards.
    channel = ByReward([[1, 3]]).open((1,), 4)
    heard = [channel.send(np.array([True]), np.array([x]), None) for x in (1.0, 0.0, 0.0, 0.0)]
    assert [int(one.received[0]) for one in heard] == [0, 0, 1, 2]
    assert [float(one.rewards[0]) for one in heard] == [0.0, 0.0, 0.0, 1.0]


def test_what_is_under_way_is_what_can_still_arrive() -> None:
    channel = Fixed([0, 2, math.inf]).open((3,), 4)
    assert channel.under_way() == 0
    left = []
    for _ in range(4):
        channel.send(played_by(0, 1, 2), np.ones(3), None)
        left.append(channel.under_way())
    # In rounds 3 and 4 arm 2's reward would come in rounds 5 and 6, after the horizon.
    assert left == [1, 2, 1, 0]


def test_channels_know_nothing_of_each_other() -> None:
    model = Fixed(1)
    one, other = model.open((2,), 3), model.open((2,), 3)
    one.send(np.array([True, True]), np.ones(2), None)
    assert (one.under_way(), other.under_way()) == (2, 0)
    assert not other.send(np.array([False, False]), np.zeros(2), None).received.any()


class Lists:
    """A channel by hand: for every round a list of who hears what in it."""

    def __init__(self, model: Delay, shape: tuple[int, ...]) -> None:
        self.model, self.shape, self.round = model, shape, 0
        self.due: dict[float, list[tuple[tuple[int, ...], float]]] = defaultdict(list)

    def send(self, played: Any, earned: Any, chance: Any) -> Feedback:
        self.round += 1
        for place in map(tuple, np.argwhere(played).tolist()):
            level = 0.0 if chance is None else chance[place]
            delay = self.model.quantile(np.array([level]), np.array([place[-1]]), np.array([earned[place]]))
            self.due[self.round + float(delay[0])].append((place, float(earned[place])))
        received, rewards = np.zeros(self.shape, dtype=int), np.zeros(self.shape)
        for place, reward in self.due.pop(self.round, ()):
            received[place] += 1
            rewards[place] += reward
        return Feedback(received, rewards)


MODELS: dict[str, Delay] = {
    "fixed": Fixed([0, 3, 150, math.inf]),
    "geometric": Geometric([0.5, 0.05, 1.0, 0.01]),
    "pareto": Pareto([0.2, 1.0, 3.0, 0.5]),
    "packet loss": PacketLoss([0.3, 0.8, 0.0, 1.0]),
    "uniform": Uniform([0, 5, 40, 100], 130),
    "by reward": ByReward([[0, 60], [60, 0], [5, 5], [math.inf, 1]]),
    "empirical": Empirical([[0.0, math.inf, 7.0], [200.0, 100.0, 0.0], [1.0], [90.0, 80.5]]),
    "custom": Custom(lambda u, arm, reward: 40.0 * u * (1.0 + reward) * (arm + 1.0)),
}


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_model_against_lists(model: Delay, shape: tuple[int, ...]) -> None:
    rounds = 220  # several blocks of the wheel
    rng = np.random.default_rng(3)
    channel, lists = model.open(shape, rounds), Lists(model, shape)
    pulls, received = np.zeros(shape), np.zeros(shape)
    for _ in range(rounds):
        played = rng.random(shape) < 0.6
        earned: Any = played & (rng.random(shape) < 0.5)
        chance = rng.random(shape) if model.traits.random else None
        feedback, expected = channel.send(played, earned, chance), lists.send(played, earned, chance)
        assert feedback.received.tolist() == expected.received.tolist()
        assert feedback.rewards.tolist() == expected.rewards.tolist()
        pulls += played
        received += feedback.received
        assert (received <= pulls).all()
    assert channel.under_way() == 0
    assert (pulls - received).sum() == sum(map(len, lists.due.values()))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.booleans(),
                st.integers(0, 8).map(lambda n: n / 8),
                st.one_of(st.integers(0, 30), st.just(math.inf)),
            ),
            min_size=6,
            max_size=6,
        ),
        min_size=1,
        max_size=30,
    )
)
def test_any_plays_and_delays_against_lists(history: list[list[tuple[bool, float, float]]]) -> None:
    # Two lanes of three arms; the delay of a play is smuggled in with its reward.
    shape = (2, 3)
    model = Custom(lambda u, arm, reward: np.where(reward >= 1e6, np.inf, np.floor(reward / 1000.0)))
    channel, lists = model.open(shape, len(history)), Lists(model, shape)
    for cells in history:
        played = np.array([one for one, _, _ in cells]).reshape(shape)
        rewards = np.array([1e6 if delay == math.inf else 1000.0 * delay + x for _, x, delay in cells])
        earned = rewards.reshape(shape) * played
        feedback, expected = channel.send(played, earned, np.zeros(shape)), lists.send(played, earned, np.zeros(shape))
        assert feedback.received.tolist() == expected.received.tolist()
        assert feedback.rewards.tolist() == expected.rewards.tolist()


def test_an_error_on_the_way_names_the_arm() -> None:
    channel = Custom(lambda u, arm, reward: np.where(arm == 2, -1.0, 0.0)).open((2, 3), 5)
    channel.send(np.array([[True, True, False]] * 2), np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(EvenhandError, match=r"returned -1\.0 for arm 3"):
        channel.send(np.array([[True, False, False], [False, False, True]]), np.zeros((2, 3)), np.zeros((2, 3)))
