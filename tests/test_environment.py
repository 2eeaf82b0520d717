"""Environments: the same world for every policy, logs, and what does not fit together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand import Decision, Environment, EvenhandError, Feedback, PerLane, check_environment, compare
from evenhand.algorithms import fair_random, ucb1
from evenhand.availability import Always, Availability, Independent, Joint, Logged
from evenhand.checks import ENVIRONMENT_CHECKS
from evenhand.datasets import movielens
from evenhand.environment import World
from evenhand.feedback import Immediate
from evenhand.rewards import Bernoulli, Beta, BetaMeans, Categorical, Gaussian, Table

BLANK = float("nan")
ROUNDS, LANES = 60, 3


def log(rows: int) -> Any:
    """A log of 3 arms in which about a third of the rewards are unknown, never all of a row's."""
    rng = np.random.default_rng(rows)
    values = np.round(rng.random((rows, 3)), 2)
    values[rng.random((rows, 3)) < 1 / 3] = BLANK
    values[:, 0] = np.nan_to_num(values[:, 0], nan=0.5)
    return values


TABLE = log(ROUNDS)
ENVIRONMENTS: dict[str, Environment] = {
    "bernoulli": Environment(Bernoulli([0.9, 0.5, 0.1])),
    "bernoulli, one arm": Environment(Bernoulli([0.3])),
    "gaussian, independent": Environment(Gaussian([0.9, -0.5], [0.1, 2.0]), Independent([0.9, 0.3])),
    "gaussian, nobody ever": Environment(Gaussian([0.9, 0.5], 1.0), Independent([0.0, 0.0])),
    "beta, joint": Environment(
        Beta([1.0, 2.0, 0.5], [1.0, 1.0, 3.0]), Joint([[1, 0, 1], [0, 0, 0], [1, 1, 1]], [0.5, 0.2, 0.3])
    ),
    "beta by means": Environment(BetaMeans([0.0, 0.3, 1.0])),
    "categorical, logged": Environment(
        Categorical([0.0, 0.5, 1.0], [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]), Logged(np.eye(2)[np.arange(ROUNDS) % 2])
    ),
    "table": Environment(Table(np.nan_to_num(TABLE))),
    "table with blanks": Environment(Table(TABLE), Logged(~np.isnan(TABLE))),
    "table, shuffled": Environment(Table(TABLE, "shuffled"), Logged(~np.isnan(TABLE))),
    "table, some asleep": Environment(Table(np.nan_to_num(TABLE)), Independent([0.5, 0.9, 1.0])),
    "table, shuffled, some asleep": Environment(Table(np.nan_to_num(TABLE), "shuffled"), Joint([[1, 1, 0]], [1.0])),
    "films": movielens.films(),
    "twenty arms": Environment(Bernoulli(np.linspace(0.1, 0.9, 20)), Independent(np.full(20, 0.5))),
    "names and stakes": Environment(
        Bernoulli([0.9, 0.5]), names=("tea", "coffee"), fractions=[0.1, 0.2], penalties=0.3, weights=[1.0, 2.0]
    ),
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("check", ENVIRONMENT_CHECKS, ids=lambda check: check.__name__)
def test_check(check: Callable[[Environment, int], None], environment: Environment) -> None:
    check(environment, ROUNDS)


def test_all_checks_at_once() -> None:
    check_environment(ENVIRONMENTS["table with blanks"])
    check_environment(ENVIRONMENTS["films"], horizon=20)


# --- the checks find what is wrong ------------------------------------------------------------------------------------


@dataclass
class Restless:
    """Rewards from a stream that it shares with nobody knows whom."""

    means = np.array([0.5, 0.5])
    rng = np.random.default_rng(0)

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return self.rng.random((len(rows), lanes, 2))


@dataclass
class Overflowing(Restless):
    """Rewards that are not finite."""

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return np.full((len(rows), lanes, 2), math.inf)


@dataclass
class Moody:
    """Availability that differs from run to run."""

    arms = 2
    rng = np.random.default_rng(0)

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return self.rng.random((len(rows), lanes, 2)) < 0.5

    def distribution(self, arms: int) -> None:
        return None


@dataclass
class Chatty:
    """Feedback that tells everything twice."""

    def open(self, shape: tuple[int, ...]) -> Chatty:
        return self

    def send(self, played: Any, earned: Any, rng: np.random.Generator) -> Feedback:
        return Feedback(2 * played, 2 * earned)


FINE: Any = Bernoulli([0.9, 0.5])


@pytest.mark.parametrize(
    ("environment", "broken", "message"),
    [
        (Environment(Restless()), "same_world_for_all", "rewards depend on what is played"),
        (Environment(FINE, Moody()), "same_world_for_all", "availability differs between policies"),
        (Environment(FINE, feedback=Chatty()), "feedback_is_sound", "more rewards arrived than arms were played"),
    ],
)
def test_a_check_fails_where_its_rule_is_broken(environment: Environment, broken: str, message: str) -> None:
    check = next(check for check in ENVIRONMENT_CHECKS if check.__name__ == broken)
    with pytest.raises(AssertionError, match=message):
        check(environment, ROUNDS)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf · 0
def test_a_reward_that_is_not_finite_is_found() -> None:
    check = next(check for check in ENVIRONMENT_CHECKS if check.__name__ == "rewards_are_sound")
    with pytest.raises(AssertionError, match="a reward is not finite"):
        check(Environment(Overflowing()), ROUNDS)


@dataclass(frozen=True)
class Constant:
    """A reward model of a user's own."""

    value: float

    @property
    def means(self) -> Any:
        return np.full(2, self.value)

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return np.full((len(rows), lanes, 2), self.value)


def test_parts_of_a_users_own_can_be_checked() -> None:
    check_environment(Environment(Constant(0.5)))


# --- common random numbers and stretches ------------------------------------------------------------------------------


def through(
    world: World, choose: Callable[[int, Any], Any], rounds: int = ROUNDS
) -> tuple[list[Any], list[Any], list[Any]]:
    """Availability, plays and rewards of a run in which ``choose(round, available)`` decides who plays."""
    awake, plays, earned = [], [], []
    for round in range(1, rounds + 1):
        available = world.offer()
        everybody = np.ones((world.lanes, world.environment.arms), dtype=bool)
        played = choose(round, everybody if available is None else available.copy())
        awake.append(None if available is None else available.copy())
        plays.append(played)
        earned.append(np.array(world.play(Decision(round, played, None, available)).earned, dtype=float))
    return awake, plays, earned


def start(environment: Environment, rounds: int = ROUNDS) -> World:
    return environment.start(rounds, LANES, np.random.SeedSequence(3))


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_whatever_is_played_the_world_is_the_same(environment: Environment) -> None:
    rng = np.random.default_rng(5)
    awake, _, rewards = through(start(environment), lambda _, available: available)
    awake_too, played, earned = through(start(environment), lambda _, available: available & (rng.random() < 0.5))
    for here, there in zip(awake, awake_too, strict=True):
        assert (here is None) == (there is None)
        assert here is None or (here == there).all()
    for all_of_them, some, mask in zip(rewards, earned, played, strict=True):
        assert (some == all_of_them * mask).all()


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("ahead", [1, 7 * LANES * 3])
def test_drawing_in_stretches_changes_nothing(
    environment: Environment, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    awake, _, rewards = through(start(environment), lambda _, available: available)
    monkeypatch.setattr("evenhand.environment.DRAWN_AHEAD", ahead)
    awake_too, _, rewards_too = through(start(environment), lambda _, available: available)
    for here, there in zip(awake, awake_too, strict=True):
        assert here is None or (here == there).all()
    assert (np.array(rewards) == np.array(rewards_too)).all()


def test_a_longer_horizon_begins_as_a_shorter_one() -> None:
    for environment in ENVIRONMENTS.values():
        _, _, short = through(start(environment, 10), lambda _, available: available, 10)
        _, _, long = through(start(environment, ROUNDS), lambda _, available: available)
        assert (np.array(short) == np.array(long[:10])).all()


def test_rewards_do_not_depend_on_availability() -> None:
    # Each has a stream of its own: the same arms earn the same, whoever else sleeps.
    _, _, whole = through(start(Environment(Bernoulli([0.5, 0.5]))), lambda _, available: available)
    sleepy = Environment(Bernoulli([0.5, 0.5]), Independent([0.5, 0.5]))
    _, played, earned = through(start(sleepy), lambda _, available: available)
    assert (np.array(earned) == np.array(whole) * np.array(played)).all()


def test_every_policy_of_a_comparison_faces_the_same_rewards() -> None:
    # Both play both arms in every round, by different rules: they earn the same to the last bit.
    world = Environment(Gaussian([0.1, 0.9], 1.0))
    results = compare({"ucb": ucb1(plays=2), "ucb with another index": ucb1(exploration=0.1, plays=2)}, world, 50, 4)
    one, other = (record.curves["reward"] for record in results.records.values())
    assert (one == other).all()


def test_a_policys_own_draws_leave_the_world_alone() -> None:
    environment = Environment(Bernoulli([0.5, 0.5]))
    world, quiet = start(environment), start(environment)
    policy, rng = fair_random([0.0, 0.0]), np.random.default_rng(0)
    state = policy.start(2, LANES)
    _, _, rewards = through(quiet, lambda _, available: available)
    for expected in rewards:
        decision = policy.decide(state, rng, world.offer())
        assert (world.play(decision).earned == expected * decision.played).all()


def test_lanes_differ() -> None:
    _, _, rewards = through(start(Environment(Gaussian([0.5], 1.0))), lambda _, available: available)
    drawn = np.array(rewards)
    assert len(np.unique(drawn)) == ROUNDS * LANES


def test_blocks_of_another_seed_differ() -> None:
    environment = Environment(Gaussian([0.5], 1.0))
    runs = [
        np.array(through(environment.start(ROUNDS, LANES, np.random.SeedSequence(seed)), lambda _, a: a)[2])
        for seed in (1, 2)
    ]
    assert not np.isin(runs[0], runs[1]).any()


def test_outcome_and_feedback_of_a_round() -> None:
    environment = Environment(Table([[0.5, 0.25, 1.0], [0.75, 0.0, 0.5]]))
    world = environment.start(2, 2, np.random.SeedSequence(0))
    assert world.offer() is None
    played = np.array([[True, False, False], [False, True, True]])
    outcome = world.play(Decision(1, played, None, None))
    assert outcome.earned.tolist() == [[0.5, 0.0, 0.0], [0.0, 0.25, 1.0]]
    assert (outcome.feedback.received == played).all()
    assert outcome.feedback.rewards.tolist() == outcome.earned.tolist()
    world.offer()
    assert world.play(Decision(2, played, None, None)).earned.tolist() == [[0.75, 0.0, 0.0], [0.0, 0.0, 0.5]]


# --- what an environment is made of -----------------------------------------------------------------------------------


def test_arms_and_names() -> None:
    environment = Environment(Bernoulli([0.9, 0.5]))
    assert environment.arms == 2
    assert environment.names == ("1", "2")
    assert environment.rows() is None
    assert Environment(Bernoulli([0.9, 0.5]), names=("tea", "coffee")).names == ("tea", "coffee")


def test_means_may_differ_between_lanes() -> None:
    environment = Environment(Bernoulli(PerLane(np.array([[0.9, 0.5], [0.1, 0.2], [0.3, 0.4]]))))
    assert environment.arms == 2
    assert environment.means.tolist() == [[0.9, 0.5], [0.1, 0.2], [0.3, 0.4]]


def test_rows_of_a_log() -> None:
    assert ENVIRONMENTS["table"].rows() == ROUNDS
    assert ENVIRONMENTS["categorical, logged"].rows() == ROUNDS


Parts = dict[str, Any]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"names": ("tea",)}, "there are 1 names of arms, but rewards for 2 arms"),
        ({"names": ("tea", "tea")}, "two arms are named 'tea'; names must differ"),
        ({"availability": Independent([0.5])}, "availability is given for 1 arms, rewards for 2"),
        ({"availability": Joint([[1, 1, 1]], [1.0])}, "availability is given for 3 arms, rewards for 2"),
        ({"fractions": [0.1, 0.1, 0.1]}, "fractions has 3 entries, but there are 2 arms"),
        ({"fractions": [0.1, 1.2]}, r"fractions\[1\] must be a number in \[0, 1\], got 1.2"),
        ({"fractions": 0.1}, "fractions must be a list with one number an arm, got 0.1"),
        ({"fractions": [0.1, BLANK]}, r"fractions\[1\] must be a number in \[0, 1\], got nan"),
        ({"penalties": -1.0}, "penalties must be a number of at least 0, got -1.0"),
        ({"penalties": [0.1, 0.2, 0.3]}, "penalties has 3 entries, but there are 2 arms"),
        ({"penalties": [0.1, math.inf]}, r"penalties\[1\] must be a number of at least 0, got inf"),
        ({"weights": [1.0, -1.0]}, r"weights\[1\] must be a number of at least 0, got -1.0"),
        ({"weights": PerLane(np.ones((2, 3)))}, "weights has 3 entries, but there are 2 arms"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: Parts, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Environment(Bernoulli([0.9, 0.5]), **parts)


@pytest.mark.parametrize("availability", [Always(), Independent([1.0, 1.0]), Joint([[1, 1]], [1.0]), Logged([[1, 1]])])
def test_an_arm_that_can_play_needs_a_reward(availability: Availability) -> None:
    message = (
        r"row 1 of the reward table has no reward for arm 'coffee', which can play in that round: give a log in which "
        r"it sleeps there \(availability of kind 'log'\)"
    )
    with pytest.raises(EvenhandError, match=message):
        Environment(Table([[0.5, BLANK]]), availability, names=("tea", "coffee"))


def test_the_row_without_a_reward_is_named() -> None:
    table = Table([[0.5, 0.5], [BLANK, 0.5], [BLANK, 0.5]])
    with pytest.raises(EvenhandError, match="row 3 of the reward table has no reward for arm '1'"):
        Environment(table, Logged([[1, 1], [0, 1], [1, 1]]))
    Environment(table, Logged([[1, 1], [0, 1], [0, 1]]))


def test_logs_must_be_of_the_same_length() -> None:
    with pytest.raises(EvenhandError, match="the reward table has 2 rows, the availability log has 1"):
        Environment(Table([[0.5], [0.5]]), Logged([[1]]))


@pytest.mark.parametrize("name", ["table", "table with blanks", "table, shuffled", "categorical, logged"])
def test_a_horizon_beyond_the_log_is_refused(name: str) -> None:
    environment = ENVIRONMENTS[name]
    message = f"horizon = {ROUNDS + 1}, but the log holds only {ROUNDS} rounds"
    with pytest.raises(EvenhandError, match=message):
        start(environment, ROUNDS + 1)
    with pytest.raises(EvenhandError, match=message):
        compare([ucb1()], environment, ROUNDS + 1, 1)
    start(environment, ROUNDS)


def test_feedback_is_opened_anew_for_every_run() -> None:
    opened = []

    class Counting:
        def open(self, shape: tuple[int, ...]) -> Immediate:
            opened.append(shape)
            return Immediate()

    environment = Environment(Bernoulli([0.5, 0.5]), feedback=Counting())
    start(environment)
    start(environment)
    assert opened == [(LANES, 2), (LANES, 2)]
