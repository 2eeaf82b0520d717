"""The checks that users run on their own parts: a breach is caught by the check named for it, what is sound passes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from evenhand import Environment, Policy, check_environment, check_policy, checks
from evenhand.algorithms import fucb, lfg, naive, tscsf_b
from evenhand.availability import Independent, Logged
from evenhand.checks import ENVIRONMENT_CHECKS, POLICY_CHECKS
from evenhand.delays import ByReward, Empirical, Geometric
from evenhand.environment import World
from evenhand.fairness import Claim
from evenhand.feedback import Immediate
from evenhand.index import UCB
from evenhand.records import Array, Decision, Feedback, Mask, Outcome, Shape, State
from evenhand.rewards import Bernoulli, BetaMeans, Gaussian, Table
from evenhand.selection import Chosen, TopM

ARMS = 4


# --- Policies that break a rule --------------------------------------------------------------------------------------

Change = Callable[[Mask, Any, Mask], Chosen]


@dataclass(frozen=True)
class Altered:
    """The choice of `TopM`, changed afterwards."""

    change: Change
    plays: int = 2

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        played, probabilities = TopM(self.plays).select(claim, available, rng)
        awake = np.ones(played.shape, dtype=bool) if available is None else available
        return self.change(played, probabilities, awake)


def altered(change: Change) -> Policy:
    return Policy(selection=Altered(change))


def first_arms(played: Mask, number: int) -> Mask:
    """The same arms in every lane, asleep or not."""
    return np.broadcast_to(np.arange(ARMS) < number, played.shape)


class Skipping(Policy):
    """Counts every round twice."""

    def decide(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Decision:
        state.round += 1
        return super().decide(state, rng, available)


class Modest(Policy):
    """Tells the probabilities of others."""

    def decide(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Decision:
        decision = super().decide(state, rng, available)
        return dataclasses.replace(decision, probabilities=np.roll(decision.played, 1, axis=-1))


class Boasting(Policy):
    """Counts every play twice."""

    def decide(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Decision:
        decision = super().decide(state, rng, available)
        state.tally.pulls += decision.played
        return decision


class Overhearing(Policy):
    """Takes a reward for received from everybody."""

    def observe(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        everybody = np.ones_like(state.tally.received)
        super().observe(state, Feedback(everybody, feedback.rewards), rng)


@dataclass(frozen=True)
class Mean:
    """The empirical mean, as one would write it oneself; what others break below."""

    random: ClassVar[bool] = False

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        return np.asarray(state.tally.rewards / np.maximum(state.tally.received, 1.0))

    def observe(self, memory: None, feedback: Feedback, rng: np.random.Generator) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True)
class Lopsided(Mean):
    """Prefers the last arm when there is no lane axis."""

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        worth = super().worth(state, rng)
        return np.asarray(worth + np.arange(state.arms)) if worth.ndim == 1 else worth


@dataclass(frozen=True)
class Moody(Mean):
    """Counts its calls in a place that is not saved."""

    calls: ClassVar[Any] = itertools.count()

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        favoured = next(self.calls) // 3 % state.arms
        return np.asarray(super().worth(state, rng) + (np.arange(state.arms) == favoured))


def own_dice() -> Policy:
    """A policy that does not draw from the stream it is given. Local, so that other processes get it by value."""

    @dataclass(frozen=True)
    class OwnDice(Mean):
        def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
            return np.random.default_rng().random(state.tally.pulls.shape)

    return Policy(index=OwnDice())


Breach = tuple[Callable[[], Policy], Callable[[Policy, int], None], str]
BREACHES: dict[str, Breach] = {
    "plays a sleeping arm": (
        lambda: altered(lambda played, chance, awake: (first_arms(played, 2), chance)),
        checks.decisions_are_sound,
        "an arm plays that is not available",
    ),
    "plays too few": (
        lambda: altered(lambda played, chance, awake: (played & first_arms(played, 1), chance)),
        checks.decisions_are_sound,
        "not as many arms play as can",
    ),
    "plays too many": (
        lambda: altered(lambda played, chance, awake: (awake, chance)),
        checks.decisions_are_sound,
        "not as many arms play as can",
    ),
    "plays numbers": (
        lambda: altered(lambda played, chance, awake: (played.astype(float), chance)),
        checks.decisions_are_sound,
        "played is float64, not bool",
    ),
    "counts rounds twice": (Skipping, checks.decisions_are_sound, "round 1 is numbered 2"),
    "probabilities of half": (
        lambda: altered(lambda played, chance, awake: (played, chance * 0.5)),
        checks.probabilities_are_sound,
        "the probabilities do not sum to the number of arms played",
    ),
    "negative probabilities": (
        lambda: altered(lambda played, chance, awake: (played, chance * 3.0 - 1.0)),
        checks.probabilities_are_sound,
        "a probability is negative",
    ),
    "probabilities above 1": (
        lambda: altered(lambda played, chance, awake: (played, chance * 1.5)),
        checks.probabilities_are_sound,
        "a probability exceeds 1",
    ),
    "the probabilities of others": (
        lambda: altered(lambda played, chance, awake: (played, np.roll(chance, 1, axis=-1))),
        checks.probabilities_are_sound,
        "an arm of probability 0 plays",
    ),
    "a selection vector of another shape": (
        lambda: altered(lambda played, chance, awake: (played, chance[..., :-1])),
        checks.probabilities_are_sound,
        r"the selection vector has shape \(3, 3\)",
    ),
    "probabilities that are not the selection vector": (
        Modest,
        checks.probabilities_are_sound,
        "probabilities differ from the selection vector",
    ),
    "counts plays twice": (Boasting, checks.tallies_are_sound, "the pulls in the state are not the plays"),
    "receives what was not played": (Overhearing, checks.tallies_are_sound, "more rewards were received"),
    "one lane is another matter": (
        lambda: Policy(index=Lopsided()),
        checks.one_lane_is_any_lane,
        "a single decision differs from a lane's",
    ),
    "hidden memory": (
        lambda: Policy(index=Moody()),
        checks.saved_state_continues,
        "the saved state continues differently",
    ),
    "dice of its own": (own_dice, checks.same_seed_same_run, "the same seed gives another run"),
}


@pytest.mark.parametrize(("build", "check", "message"), BREACHES.values(), ids=list(BREACHES))
def test_a_breach_is_caught_by_its_check(
    build: Callable[[], Policy], check: Callable[[Policy, int], None], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(build(), ARMS)


def test_every_policy_check_catches_something() -> None:
    assert {check for _, check, _ in BREACHES.values()} == set(POLICY_CHECKS)


@pytest.mark.parametrize("name", list(BREACHES))
def test_check_policy_catches_every_breach(name: str) -> None:
    with pytest.raises(AssertionError):
        check_policy(BREACHES[name][0](), ARMS)


@dataclass(frozen=True)
class Lots:
    """A selection of one's own: lots are drawn, whatever the claim."""

    plays: int = 2

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        awake = np.ones(claim.score.shape, dtype=bool) if available is None else available
        lot = np.where(awake, rng.random(awake.shape), 2.0)
        played = awake & (np.argsort(np.argsort(lot, axis=-1), axis=-1) < self.plays)
        return played, awake * np.minimum(self.plays / np.maximum(awake.sum(axis=-1, keepdims=True), 1), 1.0)


SOUND: dict[str, Policy] = {"index": Policy(index=Mean()), "selection": Policy(selection=Lots(3))}


# The other processes of `same_seed_same_run` cannot import a test module.
IN_PROCESS = [check for check in POLICY_CHECKS if check is not checks.same_seed_same_run]


@pytest.mark.parametrize("check", IN_PROCESS, ids=[check.__name__ for check in IN_PROCESS])
@pytest.mark.parametrize("policy", SOUND.values(), ids=list(SOUND))
def test_sound_parts_of_ones_own_pass(policy: Policy, check: Callable[[Policy, int], None]) -> None:
    # The checks are shipped for users, whose parts are no types of Evenhand.
    check(policy, ARMS)


@pytest.mark.parametrize(
    "policy",
    [
        fucb([0.2, 0.1, 0.0, 0.1], plays=2),
        lfg([0.2] * 4, eta=5.0),
        tscsf_b([0.2] * 4, eta=5.0),
        naive([0.1] * 4, horizon=60),
    ],
    ids=lambda policy: policy.name,
)
def test_check_policy_lets_sound_policies_pass(policy: Policy) -> None:
    check_policy(policy, ARMS)


# --- Environments that break a rule ----------------------------------------------------------------------------------

MEANS = [0.8, 0.5, 0.3]
SLEEPY = Independent([0.7, 0.6, 0.9])


@dataclass(frozen=True, eq=False)
class Staged(Environment):
    """An environment at whose work somebody else is."""

    world: type[World] = World

    def start(self, horizon: int, lanes: int, seed: np.random.SeedSequence) -> World:
        return self.world(self, horizon, lanes, seed)


class Tired(World):
    """An arm earns nothing right after a play."""

    def play(self, decision: Decision) -> Outcome:
        last = getattr(self, "last", np.zeros(decision.played.shape, dtype=bool))
        self.last = decision.played
        outcome = super().play(decision)
        return Outcome(outcome.earned * ~last, outcome.feedback)


class Resting(World):
    """An arm sleeps right after a play."""

    def offer(self) -> Mask:
        super().offer()
        return ~getattr(self, "last", np.zeros((self.lanes, self.environment.arms), dtype=bool))

    def play(self, decision: Decision) -> Outcome:
        self.last = decision.played
        return super().play(decision)


class Generous(World):
    """Everybody earns, also asleep."""

    def play(self, decision: Decision) -> Outcome:
        outcome = super().play(decision)
        return Outcome(np.ones(decision.played.shape), outcome.feedback)


@dataclass(frozen=True)
class Drawn:
    """Rewards from a function of the shape."""

    means: Any
    rewards: Callable[[Shape], Array]

    def draw(self, rng: np.random.Generator, rows: np.ndarray, lanes: int) -> Array:
        return self.rewards((len(rows), lanes, len(self.means)))


@dataclass(frozen=True)
class Again:
    """Every reward arrives twice."""

    random: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def open(self, shape: Shape, rounds: int) -> Again:
        return self

    def send(self, played: Mask, earned: np.ndarray, chance: Array | None) -> Feedback:
        return Feedback(played * 2, earned * 2)


@dataclass(frozen=True)
class Early:
    """Rewards arrive for everybody, whoever plays."""

    random: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def open(self, shape: Shape, rounds: int) -> Early:
        return self

    def send(self, played: Mask, earned: np.ndarray, chance: Array | None) -> Feedback:
        return Feedback(np.ones(played.shape), earned)


@dataclass(frozen=True)
class Certain:
    """Rewards that always equal their means."""

    means: Any

    def draw(self, rng: np.random.Generator, rows: np.ndarray, lanes: int) -> Array:
        return np.broadcast_to(np.asarray(self.means), (len(rows), lanes, len(self.means)))


def tampered() -> Environment:
    """Rewards that were changed after they were made, of which no description tells."""
    rewards = Bernoulli(MEANS)
    object.__setattr__(rewards, "draw", lambda rng, rows, lanes: np.ones((len(rows), lanes, 3)))
    return Environment(rewards)


def undefined(shape: Shape) -> Array:
    return np.full(shape, np.nan)


EnvironmentBreach = tuple[Callable[[], Environment], Callable[[Environment, int], None], str]
ENVIRONMENT_BREACHES: dict[str, EnvironmentBreach] = {
    "rewards depend on the plays": (
        lambda: Staged(Bernoulli(MEANS), world=Tired),
        checks.same_world_for_all,
        "rewards depend on what is played",
    ),
    "availability depends on the plays": (
        lambda: Staged(Bernoulli(MEANS), world=Resting),
        checks.same_world_for_all,
        "availability differs between policies",
    ),
    "undefined rewards": (
        lambda: Environment(Drawn(np.array(MEANS), undefined)),
        checks.rewards_are_sound,
        "a reward is not finite",
    ),
    "infinite rewards of the sleeping": (
        lambda: Environment(Drawn(np.array(MEANS), lambda shape: np.full(shape, math.inf)), SLEEPY),
        checks.rewards_are_sound,
        "a reward is not finite",
    ),
    "rewards of the sleeping": (
        lambda: Staged(Bernoulli(MEANS), SLEEPY, world=Generous),
        checks.rewards_are_sound,
        "an arm earns without playing",
    ),
    "feedback twice": (
        lambda: Environment(Bernoulli(MEANS), SLEEPY, Again()),
        checks.feedback_is_sound,
        "more rewards arrived than arms were played",
    ),
    "feedback for nothing": (
        lambda: Environment(Bernoulli(MEANS), SLEEPY, Early()),
        checks.feedback_is_sound,
        "more rewards arrived than arms were played",
    ),
    "not as described": (tampered, checks.description_is_whole, "the rebuilt environment gives other rewards"),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply:RuntimeWarning")  # ∞ · 0, which is the point
@pytest.mark.parametrize(("build", "check", "message"), ENVIRONMENT_BREACHES.values(), ids=list(ENVIRONMENT_BREACHES))
def test_a_broken_environment_is_caught_by_its_check(
    build: Callable[[], Environment], check: Callable[[Environment, int], None], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(build(), 60)


def test_every_environment_check_catches_something() -> None:
    assert {check for _, check, _ in ENVIRONMENT_BREACHES.values()} == set(ENVIRONMENT_CHECKS)


def test_availability_for_one_policy_only_is_caught() -> None:
    started = itertools.count()

    class Partial(World):
        """The first world that is started knows no sleep."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.number = next(started)

        def offer(self) -> Mask | None:
            offered = super().offer()
            return None if self.number == 0 else offered

    with pytest.raises(AssertionError, match="arms are available to one policy only"):
        checks.same_world_for_all(Staged(Bernoulli(MEANS), SLEEPY, world=Partial), 60)


LOG = [[0.5, 0.2, 1.0], [0.0, 0.4, 0.3]] * 30
BITS = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]] * 30
SOUND_ENVIRONMENTS: dict[str, Environment] = {
    "bernoulli": Environment(Bernoulli(MEANS), SLEEPY),
    "gaussian": Environment(Gaussian(MEANS, 0.2)),
    "beta": Environment(BetaMeans(MEANS), SLEEPY),
    "log": Environment(Table(LOG), Logged([[1, 0, 1], [1, 1, 1]] * 30)),
    "shuffled log": Environment(Table(LOG, order="shuffled")),
    "rewards of one's own": Environment(Certain(np.array(MEANS)), SLEEPY, Immediate()),
    "late feedback": Environment(Gaussian(MEANS, 0.2), SLEEPY, Geometric([0.2, 0.9, 0.05])),
    "late and lost": Environment(Bernoulli(MEANS), feedback=Empirical([[0.0, 7.0, math.inf], [3.0], [50.0, 80.0]])),
    "late by reward": Environment(Table(BITS), feedback=ByReward([[0.0, 9.0]])),
}


@pytest.mark.parametrize("environment", SOUND_ENVIRONMENTS.values(), ids=list(SOUND_ENVIRONMENTS))
def test_check_environment_lets_sound_environments_pass(environment: Environment) -> None:
    check_environment(environment)


@dataclass
class Called:
    """Notes that it was called."""

    calls: list[tuple[Any, int]] = field(default_factory=list)

    def __call__(self, part: Any, number: int) -> None:
        self.calls.append((part, number))


def test_the_checks_are_run_one_and_all(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Called(), Called()
    monkeypatch.setattr(checks, "POLICY_CHECKS", (one, one))
    monkeypatch.setattr(checks, "ENVIRONMENT_CHECKS", (two, two))
    policy, environment = Policy(index=UCB()), Environment(Bernoulli(MEANS))
    check_policy(policy, 3)
    check_environment(environment, horizon=7)
    assert one.calls == [(policy, 3)] * 2
    assert two.calls == [(environment, 7)] * 2
