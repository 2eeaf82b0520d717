"""Environments: the same world for every policy, logs, and what does not fit together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand import (
    Environment,
    EvenhandError,
    Feedback,
    Observation,
    PerLane,
    Policy,
    check_environment,
    compare,
)
from evenhand.algorithms import fair_random, fcts_d, fcucb_d, op_fcts_d, opse, tscsf_b, ucb1
from evenhand.availability import Always, Availability, Independent, Joint, Logged
from evenhand.core.state import State
from evenhand.datasets import movielens
from evenhand.delays import ByReward, Custom, Delay, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.environment.world import World
from evenhand.feedback import FeedbackModel, Immediate
from evenhand.policy.index import Index
from evenhand.policy.merit import Linear
from evenhand.policy.schedule import ForcedStart, NoSchedule
from evenhand.policy.selection import TopM
from evenhand.rewards import Bernoulli, Beta, Categorical, Gaussian, Rewards, Table
from evenhand.simulation.checks import ENVIRONMENT_CHECKS
from evenhand.simulation.measures import MEASURES
from evenhand.typing import Decision

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

BLANK = float("nan")
ROUNDS, LANES = 60, 3


def log(rows: int) -> Any:
    """A log of 3 arms in which about a third of the rewards are unknown, never all of a row's."""
    rng = np.random.default_rng(rows)
    values = np.round(rng.random((rows, 3)), 2)
    values[rng.random((rows, 3)) < 1 / 3] = BLANK
    values[:, 0] = np.nan_to_num(values[:, 0], nan=0.5)
    return values


def slow_losses(level: Any, arm: Any, reward: Any) -> Any:
    """A loss is known up to 40 rounds later, and later still of a later arm; a win at once."""
    return np.where(reward == 0.0, 40.0 * level + arm, 0.0)


TABLE = log(ROUNDS)
ENVIRONMENTS: dict[str, Environment] = {
    "bernoulli": Environment(Bernoulli([0.9, 0.5, 0.1])),
    "bernoulli, one arm": Environment(Bernoulli([0.3])),
    "gaussian, independent": Environment(Gaussian([0.9, -0.5], [0.1, 2.0]), Independent([0.9, 0.3])),
    "gaussian, nobody ever": Environment(Gaussian([0.9, 0.5], 1.0), Independent([0.0, 0.0])),
    "beta, joint": Environment(
        Beta([1.0, 2.0, 0.5], [1.0, 1.0, 3.0]), Joint([[1, 0, 1], [0, 0, 0], [1, 1, 1]], [0.5, 0.2, 0.3])
    ),
    "beta by means": Environment(Beta(means=[0.0, 0.3, 1.0])),
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
    "fixed delays": Environment(Bernoulli([0.9, 0.5, 0.1]), feedback=Fixed([0, 7, math.inf])),
    "geometric delays, some asleep": Environment(
        Gaussian([0.9, 0.5], 0.1), Independent([0.9, 0.3]), Geometric([0.5, 0.05])
    ),
    "pareto delays": Environment(Bernoulli([0.9, 0.5]), feedback=Pareto([0.3, 1.5])),
    "packets lost, joint": Environment(
        Beta([1.0, 2.0], [1.0, 1.0]), Joint([[1, 0], [1, 1]], [0.5, 0.5]), PacketLoss(0.4)
    ),
    "uniform delays, table": Environment(Table(TABLE), Logged(~np.isnan(TABLE)), Uniform([0, 5, 9], 30)),
    "uniform delays, table, shuffled": Environment(Table(np.nan_to_num(TABLE), "shuffled"), feedback=Uniform(0, 9)),
    "delays by reward": Environment(Bernoulli([0.9, 0.5]), feedback=ByReward([[0, 20], [20, 0]])),
    "delays of a log": Environment(Bernoulli([0.9, 0.5]), feedback=Empirical([[0.0, 9.0, math.inf], [4.0]])),
    "delays of one's own": Environment(Bernoulli([0.9, 0.5, 0.1]), feedback=Custom(slow_losses)),
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
class Restless(Rewards):
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
class Moody(Availability):
    """Availability that differs from run to run."""

    rng = np.random.default_rng(0)

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return self.rng.random((len(rows), lanes, 2)) < 0.5


@dataclass
class Twice(FeedbackModel):
    """Feedback that reports everything twice."""

    def open(self, shape: tuple[int, ...], rounds: int) -> Twice:
        return self

    def send(self, played: Any, earned: Any, chance: Any) -> Feedback:
        return Feedback(2 * played, 2 * earned)


FINE: Any = Bernoulli([0.9, 0.5])


@pytest.mark.parametrize(
    ("environment", "broken", "message"),
    [
        (Environment(Restless()), "same_world_for_all", "rewards depend on what is played"),
        (Environment(FINE, Moody()), "same_world_for_all", "availability differs between policies"),
        (Environment(FINE, feedback=Twice()), "feedback_is_sound", "more rewards arrived than arms were played"),
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
class Constant(Rewards):
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
        available = world.observe().available
        everybody = np.ones((world.lanes, world.environment.arms), dtype=bool)
        played = choose(round, everybody if available is None else available.copy())
        awake.append(None if available is None else available.copy())
        plays.append(played)
        earned.append(np.array(world.step(Decision(round, played, None, available, played)).earned, dtype=float))
    return awake, plays, earned


def start(environment: Environment, rounds: int = ROUNDS) -> World:
    return environment.start(rounds, LANES, np.random.SeedSequence(3))


def heard_in(world: World, rounds: int = ROUNDS) -> Any:
    """What becomes known in every round in which all that can play do: (rounds, 2, lanes, arms)."""
    heard = []
    for round in range(1, rounds + 1):
        available = world.observe().available
        played = np.ones((world.lanes, world.environment.arms), dtype=bool) if available is None else available
        feedback = world.step(Decision(round, played, None, available, played)).feedback
        heard.append(np.array([feedback.received, feedback.rewards], dtype=float))
    return np.array(heard)


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
    heard = heard_in(start(environment))
    monkeypatch.setattr("evenhand.environment.world.DRAWN_AHEAD", ahead)
    awake_too, _, rewards_too = through(start(environment), lambda _, available: available)
    for here, there in zip(awake, awake_too, strict=True):
        assert here is None or (here == there).all()
    assert (np.array(rewards) == np.array(rewards_too)).all()
    assert (heard == heard_in(start(environment))).all()


def test_a_longer_horizon_begins_as_a_shorter_one() -> None:
    for environment in ENVIRONMENTS.values():
        _, _, short = through(start(environment, 10), lambda _, available: available, 10)
        _, _, long = through(start(environment, ROUNDS), lambda _, available: available)
        assert (np.array(short) == np.array(long[:10])).all()
        short_heard, long_heard = heard_in(start(environment, 10), 10), heard_in(start(environment, ROUNDS))
        assert (short_heard == long_heard[:10]).all()


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
    one, other = (record.curves["reward"] for record in results.policies.values())
    assert (one == other).all()


def test_a_policys_own_draws_leave_the_world_alone() -> None:
    environment = Environment(Bernoulli([0.5, 0.5]))
    world, quiet = start(environment), start(environment)
    policy, rng = fair_random([0.0, 0.0]), np.random.default_rng(0)
    state = policy.start(2, LANES)
    _, _, rewards = through(quiet, lambda _, available: available)
    for expected in rewards:
        decision = policy.decide(state, world.observe(), rng)
        assert (world.step(decision).earned == expected * decision.played).all()


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
    assert world.observe().available is None
    played = np.array([[True, False, False], [False, True, True]])
    outcome = world.step(Decision(1, played, None, None, played))
    assert outcome.earned.tolist() == [[0.5, 0.0, 0.0], [0.0, 0.25, 1.0]]
    assert (outcome.feedback.received == played).all()
    assert outcome.feedback.rewards.tolist() == outcome.earned.tolist()
    world.observe()
    assert world.step(Decision(2, played, None, None, played)).earned.tolist() == [[0.75, 0.0, 0.0], [0.0, 0.0, 0.5]]


# --- when rewards become known ----------------------------------------------------------------------------------------

# A reward of round s is 2^s for every arm, so that a sum of rewards tells of which rounds they are.
STAMPS: Any = np.repeat(2.0 ** np.arange(1, 51)[:, np.newaxis], 3, axis=1)
DELAYS: dict[str, Delay] = {
    "fixed": Fixed([0, 4, math.inf]),
    "geometric": Geometric([0.5, 0.05, 1.0]),
    "pareto": Pareto([0.3, 1.0, 2.0]),
    "packet loss": PacketLoss([0.3, 0.8, 1.0]),
    "uniform": Uniform([0, 3, 7], 11),
    "empirical": Empirical([[0.0, 9.0, math.inf], [4.0], [1.0, 2.0, 30.0]]),
    "custom": Custom(lambda u, arm, reward: 20.0 * u * (arm + np.log2(reward) % 3)),
}


class Stamped(Table):
    """A log whose range is not known, so that its rewards arrive as they are."""

    @property
    def range(self) -> None:
        return None


def stamped(delay: Delay) -> Environment:
    return Environment(Stamped(STAMPS), feedback=delay)


def delays_in(delay: Delay, choose: Callable[[int, Any], Any], lanes: int = LANES) -> Any:
    """After how many rounds each play became known, (rounds, lanes, arms): −1 for never, −2 where nobody played."""
    world = stamped(delay).start(len(STAMPS), lanes, np.random.SeedSequence(3))
    found = np.full((len(STAMPS), lanes, 3), -2)
    for round in range(1, len(STAMPS) + 1):
        world.observe()
        played = choose(round, np.ones((lanes, 3), dtype=bool))
        found[round - 1][played] = -1
        feedback = world.step(Decision(round, played, None, None, played)).feedback
        bits = feedback.rewards.astype(np.int64) // 2 ** np.arange(1, 51)[:, np.newaxis, np.newaxis] % 2 == 1
        assert (bits.sum(axis=0) == feedback.received).all(), "as many rewards as are said to arrive"
        assert (found[bits] == -1).all(), "of plays, and none twice"
        sent, lane, arm = np.nonzero(bits)
        found[sent, lane, arm] = round - 1 - sent
    return found


def all_of_them(round: int, everybody: Any) -> Any:
    return everybody


def test_a_play_of_round_s_is_known_at_the_end_of_round_s_plus_its_delay() -> None:
    found = delays_in(Fixed([0, 4, math.inf]), all_of_them)
    assert (found[..., 0] == 0).all()
    assert (found[:-4, :, 1] == 4).all()
    assert (found[-4:, :, 1] == -1).all()  # after the horizon
    assert (found[..., 2] == -1).all()


@pytest.mark.parametrize("delay", DELAYS.values(), ids=DELAYS)
def test_delays_are_the_same_whatever_is_played(delay: Delay) -> None:
    rng = np.random.default_rng(5)
    whole = delays_in(delay, all_of_them)
    for share in (0.2, 0.7):
        some = delays_in(delay, lambda round, everybody: rng.random(everybody.shape) < share)  # noqa: B023
        played = some > -2
        assert (~played).any()
        assert (some[played] == whole[played]).all()


@pytest.mark.parametrize("delay", DELAYS.values(), ids=DELAYS)
def test_nothing_with_a_finite_delay_is_lost_before_the_horizon(delay: Delay) -> None:
    drawn = []

    def noting(level: Any, arm: Any, reward: Any) -> Any:
        drawn.append(delay.quantile(level, arm, reward).reshape(LANES, 3))
        return drawn[-1].ravel()

    found = delays_in(Custom(noting), all_of_them)
    expected = np.array(drawn)
    late = np.arange(len(STAMPS))[:, np.newaxis, np.newaxis] + expected >= len(STAMPS)
    assert late.any()
    assert (found == np.where(late, -1, expected)).all()


def test_every_play_of_every_arm_and_lane_has_a_delay_of_its_own() -> None:
    # Uniform on 0 … 9 in 40 rounds of 300 lanes and 3 arms: each value a tenth, and neighbours agree in a tenth.
    found = delays_in(Uniform(0, 9), all_of_them, lanes=300)[:40].astype(float)
    number = found.size
    assert set(np.unique(found)) == set(range(10))
    for value in range(10):
        assert abs((found == value).mean() - 0.1) < 5.0 * math.sqrt(0.09 / number)
    for axis in range(3):
        same = np.diff(found, axis=axis) == 0
        assert abs(same.mean() - 0.1) < 5.0 * math.sqrt(0.09 / same.size)


def test_delays_leave_rewards_and_availability_alone() -> None:
    asleep, means = Independent([0.5, 0.8]), Gaussian([0.5, 0.5], 1.0)
    runs = [
        through(start(Environment(means, asleep, feedback)), lambda _, a: a) for feedback in (Immediate(), Pareto(1))
    ]
    for one, other in zip(*runs, strict=True):
        assert (np.array(one) == np.array(other)).all()


@dataclass(frozen=True)
class Watching(Index):
    """Scores by chance alone; notes down the tally whenever a decision is due."""

    random = True
    seen: list[Any]

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Any:
        tally = state.tally
        self.seen.append(np.array([tally.pulls, tally.received, tally.rewards]))
        return rng.random(tally.pulls.shape)


@pytest.mark.parametrize("free_start", [False, True])
def test_a_decision_at_t_knows_the_plays_of_rounds_s_with_s_plus_their_delay_before_t(free_start: bool) -> None:
    delays, rounds = np.array([0.0, 3.0, 30.0, math.inf]), 50
    watching = Watching([])
    policy = Policy(watching, selection=TopM(2), schedule=ForcedStart(free=True) if free_start else NoSchedule())
    world = Environment(Bernoulli([1.0] * 4), feedback=Fixed(delays))
    compare([policy], world, rounds, 3, progress=False)
    pulls = np.array([tally[0] for tally in watching.seen])  # before rounds 1 … T, and after the last
    assert len(pulls) == rounds + 1
    assert (pulls[0] == free_start).all()
    plays = np.diff(pulls, axis=0)  # in round s = 1, 2, …
    assert (plays.sum(axis=-1) == 2).all()
    for t in range(1, rounds + 2):
        known = np.stack([plays[: max(t - 1 - int(d), 0), :, i].sum(axis=0) for i, d in enumerate(delays[:3])], axis=-1)
        known += free_start * (delays[:3] < t)  # the pull of round 0
        assert (watching.seen[t - 1][1, :, :3] == known).all()
        assert not watching.seen[t - 1][1, :, 3].any()
        assert (watching.seen[t - 1][2] == watching.seen[t - 1][1]).all()  # every reward is 1


@pytest.mark.parametrize(
    "policy",
    [
        ucb1(),
        ucb1(evidence="optimistic", plays=2),
        tscsf_b([0.2, 0.1, 0.1], eta=5.0, evidence="both"),
        fcucb_d(Linear(), horizon=ROUNDS, free_start=True),
        op_fcts_d(Linear(), free_start=True, plays=2),
        opse(horizon=ROUNDS),
    ],
    ids=["ucb1", "optimistic", "both", "free start", "free start, two plays", "opse"],
)
@pytest.mark.parametrize("delay", [*DELAYS.values()][:-1], ids=[*DELAYS][:-1])
def test_no_policy_ever_receives_more_than_it_pulled(policy: Policy, delay: Delay) -> None:
    world = Environment(Bernoulli([0.9, 0.5, 0.1]), feedback=delay).start(ROUNDS, LANES, np.random.SeedSequence(3))
    state, rng = policy.start(3, LANES), np.random.default_rng(0)
    if policy.schedule.traits.free:
        state.tally.pulls += 1.0
        policy.observe(state, world.free_pull(), rng)
    for _ in range(ROUNDS):
        policy.observe(state, world.step(policy.decide(state, world.observe(), rng)).feedback, rng)
        tally = state.tally
        assert ((tally.rewards >= 0.0) & (tally.rewards <= tally.received) & (tally.received <= tally.pulls)).all()
    assert state.tally.received.any()


@pytest.mark.parametrize("feedback", [Geometric([0.5, 0.05]), Custom(slow_losses)], ids=["geometric", "custom"])
def test_late_feedback_is_the_same_in_other_processes(feedback: Delay) -> None:
    # A function of one's own goes along.
    world = Environment(Bernoulli([0.9, 0.5]), feedback=feedback)
    policies = {"plain": ucb1(), "fair": op_fcts_d(Linear(), free_start=True)}
    here, there = (compare(policies, world, ROUNDS, LANES, jobs=jobs, progress=False) for jobs in (1, 2))
    for label, record in here.policies.items():
        assert (record.pulls == there.policies[label].pulls).all()
        assert (record.estimate == there.policies[label].estimate).all()


# --- a pull of every arm before round 1 -------------------------------------------------------------------------------


def with_free_pull(environment: Environment, rounds: int = ROUNDS) -> tuple[Feedback, Any, Any]:
    """What is known of the free pull before round 1, and what becomes known in the rounds if nobody, or all, play."""
    first, nobody = None, []
    world = start(environment, rounds)
    first = world.free_pull()
    for round in range(1, rounds + 1):
        nothing = np.zeros((LANES, environment.arms), dtype=bool)
        feedback = world.step(Decision(round, nothing, None, world.observe().available, nothing)).feedback
        nobody.append(np.array([feedback.received, feedback.rewards], dtype=float))
    again = start(environment, rounds)
    again.free_pull()
    return first, np.array(nobody), heard_in(again, rounds)


def test_the_delay_of_a_free_pull_counts_from_round_0() -> None:
    world = Environment(Bernoulli([1.0] * 5), feedback=Fixed([0, 1, 7, ROUNDS, ROUNDS + 1]))
    first, nobody, _ = with_free_pull(world)
    assert first.received.tolist() == first.rewards.tolist() == [[1, 0, 0, 0, 0]] * LANES
    expected = np.zeros((ROUNDS, 5))
    expected[1 - 1, 1] = expected[7 - 1, 2] = expected[ROUNDS - 1, 3] = 1.0
    for lane in range(LANES):
        assert (nobody[:, 0, lane] == expected).all()
        assert (nobody[:, 1, lane] == expected).all()


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if "table" not in name])
def test_a_free_pull_leaves_the_rounds_as_they_were(name: str) -> None:
    environment = ENVIRONMENTS[name]
    first, nobody, everybody = with_free_pull(environment)
    assert first.received.shape == first.rewards.shape == (LANES, environment.arms)
    # What becomes known if all play, less what would if nobody did, is what becomes known without a free pull.
    np.testing.assert_allclose(everybody - nobody, heard_in(start(environment)), rtol=0.0, atol=1e-12)


def test_free_pulls_have_rewards_and_delays_of_their_own() -> None:
    world = start(Environment(Gaussian([0.5, 0.5], 1.0), feedback=Immediate()))
    free = world.free_pull().rewards
    _, _, rewards = through(world, lambda _, available: available)
    assert len(np.unique(free)) == free.size
    assert not np.isin(free, np.array(rewards)).any()
    first, nobody, _ = with_free_pull(Environment(Bernoulli([0.5] * 20), feedback=Uniform(0, 9)))
    assert (first.received + nobody[:, 0].sum(axis=0) == 1).all()
    assert set(np.argwhere(nobody[:, 0])[:, 0] + 1) == set(range(1, 10))


def test_a_log_has_no_round_before_the_first() -> None:
    message = "^a log of rewards has no round before the first; run without free_start$"
    with pytest.raises(EvenhandError, match=message):
        start(ENVIRONMENTS["table"]).free_pull()
    with pytest.raises(EvenhandError, match=message):
        compare([fcts_d(Linear(), free_start=True)], ENVIRONMENTS["table"], ROUNDS, 2, progress=False)


def test_no_measure_sees_a_free_pull() -> None:
    # The policy does not look at rewards, so it plays the same arms with a free pull and without.
    stakes: Any = {"fractions": [0.2, 0.1, 0.3], "penalties": 0.3, "merit": Linear()}
    world = Environment(Bernoulli([0.9, 0.5, 0.1]), feedback=Geometric(0.3), **stakes)
    plain, free = (
        compare(
            [Policy(Watching([]), schedule=ForcedStart(free=True) if start else NoSchedule())],
            world,
            ROUNDS,
            LANES,
            progress=False,
        )
        for start in (False, True)
    )
    one, other = plain.policies["policy"], free.policies["policy"]
    assert (one.pulls == other.pulls).all()
    assert (other.pulls.sum(axis=-1) == plain.rounds[:, np.newaxis]).all()
    elsewhere = {
        "composite_regret",
        "adversarial_regret",
        "stuck",
        "dynamic_regret",
        "dynamic_r_regret",
    }  # other worlds
    elsewhere |= {"bound_violation", "segment_unfairness"}  # of other promises
    assert set(one.curves) == set(other.curves) == set(MEASURES) - elsewhere
    for name, curve in one.curves.items():
        assert (curve == other.curves[name]).all(), name
    assert (one.estimate != other.estimate).any()  # only what the policy knows differs


# --- what an environment is made of -----------------------------------------------------------------------------------


def test_arms_and_names() -> None:
    environment = Environment(Bernoulli([0.9, 0.5]))
    assert environment.arms == 2
    assert environment.names == ("1", "2")
    assert environment.rows is None
    assert Environment(Bernoulli([0.9, 0.5]), names=("tea", "coffee")).names == ("tea", "coffee")


def test_means_may_differ_between_lanes() -> None:
    environment = Environment(Bernoulli(PerLane(np.array([[0.9, 0.5], [0.1, 0.2], [0.3, 0.4]]))))
    assert environment.arms == 2
    assert environment.means.tolist() == [[0.9, 0.5], [0.1, 0.2], [0.3, 0.4]]


def test_rows_of_a_log() -> None:
    assert ENVIRONMENTS["table"].rows == ROUNDS
    assert ENVIRONMENTS["categorical, logged"].rows == ROUNDS


Parts = dict[str, Any]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"names": ("tea",)}, "there is 1 name of arms, but rewards for 2 arms"),
        ({"names": ("tea", "tea")}, "two arms are named 'tea'; names must differ"),
        ({"availability": Independent([0.5])}, "availability is given for 1 arm, rewards for 2"),
        ({"availability": Joint([[1, 1, 1]], [1.0])}, "availability is given for 3 arms, rewards for 2"),
        ({"fractions": [0.1, 0.1, 0.1]}, "fractions has 3 entries, but there are 2 arms"),
        ({"fractions": [0.1, 1.2]}, r"fractions\[1\] must be a number in \[0, 1\], got 1.2"),
        ({"fractions": "much"}, "fractions must be numbers, one per arm, got 'much'"),
        ({"names": ()}, "there are 0 names of arms, but rewards for 2 arms"),
        ({"merit": 3}, "merit must be a function such as .*, got 3"),
        ({"availability": Immediate()}, r"availability must be an object such as Always\(\), got Immediate\(\)"),
        ({"feedback": Always()}, r"feedback must be an object such as Immediate\(\) or Geometric\(0.05\), got Always"),
        ({"reward_range": 3}, "reward_range must be a list"),
        ({"reward_range": (3, 1)}, r"reward_range must be the smallest and the largest reward, .*, got \(3, 1\)"),
        ({"reward_range": (0, 1, 2)}, "reward_range must be the smallest and the largest reward"),
        ({"reward_range": (0, math.inf)}, r"reward_range\[1\] must be a finite number, got inf"),
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
    message = f"horizon = {ROUNDS + 1}, but the log has only {ROUNDS} rounds; use a horizon of at most {ROUNDS}"
    with pytest.raises(EvenhandError, match=message):
        start(environment, ROUNDS + 1)
    with pytest.raises(EvenhandError, match=message):
        compare([ucb1()], environment, ROUNDS + 1, 1)
    start(environment, ROUNDS)


def test_feedback_is_opened_anew_for_every_run() -> None:
    opened = []

    class Counting(Immediate):
        def open(self, shape: tuple[int, ...], rounds: int) -> Immediate:
            opened.append((shape, rounds))
            return self

    environment = Environment(Bernoulli([0.5, 0.5]), feedback=Counting())
    start(environment)
    start(environment)
    assert opened == [((LANES, 2), ROUNDS)] * 2
