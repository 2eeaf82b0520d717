"""A world at work: the order of observe and step, and rewards in the user's unit."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, Feedback, Observation
from evenhand.availability import Independent, Logged
from evenhand.core.state import Outcome, Unit
from evenhand.delays import ByReward, Custom, Fixed, Geometric
from evenhand.environment.world import World
from evenhand.feedback import Adversary, Bounded, FeedbackModel, Immediate, Kernel, NonOblivious, RandomDelay
from evenhand.rewards import Bernoulli, Beta, Categorical, Gaussian, Rewards, Table, Winners
from evenhand.typing import Decision

BLANK = float("nan")


def start(environment: Environment, rounds: int = 3, lanes: int = 1) -> World:
    return environment.start(rounds, lanes, np.random.SeedSequence(3))


def all_play(world: World, observation: Observation | None = None) -> Outcome:
    """The outcome of a round in which every available arm plays."""
    available = (world.observe() if observation is None else observation).available
    played = np.ones((world.lanes, world.environment.arms), dtype=bool) if available is None else available
    return world.step(Decision(world.round + 1, played, None, available, played))


# --- the order of calls -----------------------------------------------------------------------------------------------

COINS = Environment(Bernoulli([0.5, 0.5]))


def test_a_strand_leaves_the_memory_with_its_last_use() -> None:
    """Not when garbage is collected, which takes no notice of how large the rows of a log are."""
    world = start(COINS)
    world.observe()
    strand = weakref.ref(world.strands[0])
    gc.disable()
    try:
        del world
        assert strand() is None
    finally:
        gc.enable()


def decision(world: World) -> Decision:
    played = np.ones((world.lanes, 2), dtype=bool)
    return Decision(world.round + 1, played, None, None, played)


def test_a_step_needs_an_observation() -> None:
    world = start(COINS)
    message = r"^round 1 has not been observed; call observe\(\) before step\(decision\)$"
    with pytest.raises(EvenhandError, match=message):
        world.step(decision(world))
    world.observe()
    world.step(decision(world))
    with pytest.raises(EvenhandError, match=message.replace("round 1", "round 2")):
        world.step(decision(world))


def test_a_round_is_observed_once() -> None:
    world = start(COINS)
    world.observe()
    with pytest.raises(EvenhandError, match=r"^round 1 has already been observed; call step\(decision\) next$"):
        world.observe()


def test_a_call_out_of_order_changes_nothing() -> None:
    careful, careless = start(COINS), start(COINS)
    for _ in range(3):
        expected = all_play(careful)
        with pytest.raises(EvenhandError):
            careless.step(decision(careless))
        observation = careless.observe()
        with pytest.raises(EvenhandError):
            careless.observe()
        assert (all_play(careless, observation).earned == expected.earned).all()


def test_there_is_no_round_after_the_horizon() -> None:
    world = start(COINS, rounds=2)
    all_play(world)
    all_play(world)
    with pytest.raises(
        EvenhandError, match=r"^all 2 rounds have been played; start the environment again, or with a l"
    ):
        world.observe()
    with pytest.raises(EvenhandError, match=r"^round 3 has not been observed"):
        world.step(decision(world))


@pytest.mark.parametrize("steps", [0, 1])
def test_a_free_pull_comes_before_round_1(steps: int) -> None:
    world = start(COINS)
    world.observe()
    if steps:
        world.step(decision(world))
    with pytest.raises(
        EvenhandError, match=r"^free_pull must be called before round 1, which has begun; start the environment"
    ):
        world.free_pull()


# --- ranges -----------------------------------------------------------------------------------------------------------


class Euros(Rewards):
    """A model that names no range."""

    means = np.array([15.0, 2.0])

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return np.broadcast_to(self.means, (len(rows), lanes, 2))


@pytest.mark.parametrize(
    ("rewards", "limits"),
    [
        (Bernoulli([0.3, 0.6]), (0.0, 1.0)),
        (Beta([1.0, 2.0], [1.0, 1.0]), (0.0, 1.0)),
        (Beta(means=[0.2, 0.8]), (0.0, 1.0)),
        (Winners([0.5, 0.5]), (0.0, 1.0)),
        (Categorical([5.0, -1.0, 2.0], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]), (-1.0, 5.0)),
        (Table([[12.0, BLANK], [BLANK, 18.0], [13.0, 1.2]]), (1.2, 18.0)),
        (Table([[BLANK]]), None),
        (Gaussian([0.3, 0.6], 0.1), None),
        (Gaussian([0.3, 0.6], [0.0, 0.1]), None),
        (Gaussian([3.0, -6.0], 0.0), (-6.0, 3.0)),
        (Euros(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_range_of_rewards(rewards: Rewards, limits: tuple[float, float] | None) -> None:
    assert rewards.range == limits
    if not isinstance(rewards, Table):
        environment = Environment(rewards)
        assert environment.range == limits
        assert environment.bounded == (limits is not None)


@pytest.mark.parametrize(
    ("rewards", "given", "unit"),
    [
        (Bernoulli([0.3]), None, None),
        (Bernoulli([0.3]), (0, 1), None),
        (Bernoulli([0.3]), (0, 10), Unit(0.0, 10.0)),
        (Categorical([0.2, 0.8], [[0.5, 0.5]]), None, None),
        (Categorical([0.2, 1.8], [[0.5, 0.5]]), None, Unit(0.2, 1.6)),
        (Categorical([-0.5, 0.5], [[0.5, 0.5]]), None, Unit(-0.5, 1.0)),
        (Categorical([5.0], [[1.0]]), None, Unit(5.0, 1.0)),
        (Gaussian([0.3], 1.0), None, None),
        (Gaussian([0.3], 1.0), (-9, 9), Unit(-9.0, 18.0)),
        (Gaussian([0.3], 1.0), (0.1, 0.9), None),
        (Table([[12.0], [18.0]]), None, Unit(12.0, 6.0)),
        (Table([[12.0], [18.0]]), (10.0, 20.0), Unit(10.0, 10.0)),
    ],
)
def test_the_unit_of_an_environment(rewards: Rewards, given: Any, unit: Unit | None) -> None:
    environment = Environment(rewards, reward_range=given)
    assert environment.unit == unit
    assert environment.bounded == (rewards.range is not None or given is not None)


TABLE = np.array([[12.0, 1.2], [15.0, 3.0], [18.0, 2.0], [12.0, 1.2]])
SCALED = (TABLE - 1.2) / (18.0 - 1.2)


class Twice(FeedbackModel):
    """A feedback model of a user's own, which knows nothing of units."""

    def open(self, shape: tuple[int, ...], rounds: int) -> Twice:
        return self

    def send(self, played: Any, earned: Any, chance: Any) -> Feedback:
        return Feedback(played, 2.0 * earned)


def heard(environment: Environment, lanes: int = 1) -> tuple[Any, Any]:
    """What becomes known in each round, (rounds, arms): number and sum of rewards, in lane 1."""
    world = start(environment, rounds=len(TABLE), lanes=lanes)
    outcomes = [all_play(world) for _ in range(len(TABLE))]
    for outcome, row in zip(outcomes, TABLE, strict=True):
        assert outcome.potential_rewards is not None
        assert (outcome.earned == row).all()  # in the user's unit
        assert (outcome.potential_rewards == row).all()
    received = np.array([outcome.feedback.received[0] for outcome in outcomes], dtype=float)
    return received, np.array([outcome.feedback.rewards[0] for outcome in outcomes])


def test_policies_get_rewards_on_the_scale_from_0_to_1() -> None:
    received, rewards = heard(Environment(Table(TABLE)))
    assert (received == 1.0).all()
    assert (rewards == SCALED).all()
    assert rewards.min() == 0.0
    assert rewards.max() == 1.0


def test_delays_carry_scaled_rewards() -> None:
    received, rewards = heard(Environment(Table(TABLE), feedback=Fixed([0, 2])))
    assert received.tolist() == [[1, 0], [1, 0], [1, 1], [1, 1]]
    assert (rewards[:, 0] == SCALED[:, 0]).all()
    assert (rewards[:, 1] == [0.0, 0.0, *SCALED[:2, 1]]).all()


def test_delays_depend_on_rewards_in_the_users_unit() -> None:
    values = [1.2, 2.0, 3.0, 12.0, 15.0, 18.0]
    late = ByReward([[0, 0, 0, 0, 2, 1]], values)  # 15 is two rounds late, 18 is one
    received, rewards = heard(Environment(Table(TABLE), feedback=late))
    assert received[:, 0].tolist() == [1, 0, 0, 3]
    assert rewards[:, 0].tolist() == [SCALED[0, 0], 0.0, 0.0, pytest.approx(SCALED[1:, 0].sum(), rel=1e-15)]
    own = Custom(lambda u, arm, reward: np.where(reward == 15.0, 2.0, np.where(reward == 18.0, 1.0, 0.0)))
    again = heard(Environment(Table(TABLE), feedback=own))
    assert (again[0] == received).all()
    assert (again[1] == rewards).all()


def test_anonymous_sums_are_of_scaled_rewards() -> None:
    totals = SCALED.sum(axis=1)
    for late in (
        Bounded(1, 2),
        Kernel([0.0, 1.0]),
        NonOblivious(1, best=0),
        Adversary(lambda *_: 1),
        RandomDelay(1, 1),
    ):
        received, rewards = heard(Environment(Table(TABLE), feedback=late))
        assert (received == 1.0).all()
        np.testing.assert_allclose(rewards.sum(axis=1), [0.0, *totals[:-1]], rtol=0.0, atol=1e-14)
    # The best arm of the environment is the first one.
    rewards = heard(Environment(Table(TABLE), feedback=NonOblivious(1)))[1]
    np.testing.assert_allclose(rewards.sum(axis=1), [0.0, *totals[:-1]], rtol=0.0, atol=1e-14)


def test_own_feedback_gets_scaled_rewards() -> None:
    assert (heard(Environment(Table(TABLE), feedback=Twice()), lanes=2)[1] == 2.0 * SCALED).all()


def test_arms_that_do_not_play_earn_and_report_nothing() -> None:
    world = start(Environment(Table(TABLE), Logged([[1, 0], [0, 1], [1, 1], [0, 0]])), rounds=4)
    for row, mask in zip(SCALED, [[1, 0], [0, 1], [1, 1], [0, 0]], strict=True):
        outcome = all_play(world)
        assert outcome.feedback.rewards[0].tolist() == (row * mask).tolist()
        assert outcome.feedback.received[0].tolist() == [bool(one) for one in mask]


def test_unknown_rewards_of_sleeping_arms_are_not_outside_the_range() -> None:
    # The log holds no reward below 12; where nothing is known the arm sleeps.
    table = np.array([[12.0, BLANK], [BLANK, 18.0]])
    world = start(Environment(Table(table), Logged(~np.isnan(table))), rounds=2)
    assert all_play(world).feedback.rewards.tolist() == [[0.0, 0.0]]
    assert all_play(world).feedback.rewards.tolist() == [[0.0, 1.0]]


def test_a_free_pull_is_scaled_too() -> None:
    world = start(Environment(Gaussian([12.0, 18.0], 0.0), feedback=Immediate()))
    assert world.free_pull().rewards.tolist() == [[0.0, 1.0]]


def test_rewards_within_0_and_1_are_not_touched() -> None:
    for rewards in (Bernoulli([0.5, 0.9]), Beta(means=[0.2, 0.5]), Gaussian([0.5, 0.2], 3.0)):
        outcome = all_play(start(Environment(rewards)))
        assert outcome.feedback.rewards is outcome.earned
    assert outcome.earned.dtype == np.float64


@pytest.mark.parametrize(
    ("rewards", "given", "message"),
    [
        (Table(TABLE), (0, 15), r"^arm 'a' earned 18\.0 in round 3, outside the range of rewards \[0, 15\]; give rew"),
        (Table(TABLE), (2, 20), r"^arm 'b' earned 1\.2 in round 1, outside the range of rewards \[2, 20\]; give"),
        (Gaussian([0.5, 40.0], 0.01), (0, 1), r"^arm 'b' earned 4\d\.?.* in round 1|^arm 'b' earned 39\..* in round 1"),
        (Euros(), (0, 10), r"^arm 'a' earned 15\.0 in round 1, outside the range of rewards \[0, 10\]"),
    ],
)
def test_rewards_outside_the_range_are_refused(rewards: Rewards, given: Any, message: str) -> None:
    world = start(Environment(rewards, names=("a", "b"), reward_range=given))
    with pytest.raises(EvenhandError, match=message):
        [all_play(world) for _ in range(3)]


def test_a_free_pull_outside_the_range_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"^arm '1' earned 15\.0 before round 1, outside the range"):
        start(Environment(Euros(), reward_range=(0, 10))).free_pull()


def test_what_does_not_play_is_not_outside_the_range() -> None:
    world = start(Environment(Euros(), Independent([0.0, 1.0]), Geometric(0.5), reward_range=(0, 10)))
    for _ in range(3):
        assert math.isfinite(all_play(world).feedback.rewards.sum())
