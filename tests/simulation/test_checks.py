"""The checks that users run on their own parts: a breach is caught by the check named for it, what is sound passes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from attrs import field, frozen

from evenhand import Environment, Policy, check_environment, check_policy
from evenhand.algorithms import fucb, lfg, naive, tscsf_b
from evenhand.core.parts import part
from evenhand.core.state import ALL_AVAILABLE, Array, Decision, Feedback, Mask, Observation, Outcome, Shape, State
from evenhand.core.streams import Seeds
from evenhand.environment.availability import Independent, Logged
from evenhand.environment.delays import ByReward, Empirical, Geometric
from evenhand.environment.feedback import FeedbackModel, FeedbackTraits, Immediate
from evenhand.environment.late import Delay
from evenhand.environment.rewards import Bernoulli, Beta, Gaussian, Rewards, Table
from evenhand.environment.world import World
from evenhand.policy.claim import Claim, Fairness, Ranking, Shares
from evenhand.policy.hold import Hold
from evenhand.policy.index import UCB, Index
from evenhand.policy.merit import Merit, Power
from evenhand.policy.part import Traits
from evenhand.policy.selection import Categorical, Selected, Selection, TopM
from evenhand.simulation import checks
from evenhand.simulation.checks import ENVIRONMENT_CHECKS, POLICY_CHECKS
from evenhand.simulation.promises import promise_is_kept
from tests.thinned import thinned

ARMS = 4


# --- Policies that break a rule --------------------------------------------------------------------------------------

Change = Callable[[Mask, Any, Mask], Selected]


@frozen
class Altered(Selection):
    """The choice of `TopM`, changed afterwards."""

    change: Change
    plays: int = 2

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        played, probabilities = TopM(self.plays).select(claim, state, observation, rng)
        available = observation.available
        awake = np.ones(played.shape, dtype=bool) if available is None else available
        return self.change(played, probabilities, awake)


def altered(change: Change) -> Policy:
    return Policy(selection=Altered(change))


def first_arms(played: Mask, number: int) -> Mask:
    """The same arms in every lane, asleep or not."""
    return np.broadcast_to(np.arange(ARMS) < number, played.shape)


class Skipping(Policy):
    """Counts every round twice."""

    def apply(self, state: State, decision: Decision, given: Container[str] = ()) -> None:
        state.round += 1
        super().apply(state, decision, given)


class Modest(Policy):
    """Gives the propensities of others."""

    def choose(
        self, state: State, observation: Observation, rng: np.random.Generator, propensities: bool = True
    ) -> Decision:
        decision = super().choose(state, observation, rng)
        return dataclasses.replace(decision, propensities=np.roll(decision.played, 1, axis=-1))


class Boasting(Policy):
    """Counts every play twice."""

    def apply(self, state: State, decision: Decision, given: Container[str] = ()) -> None:
        super().apply(state, decision, given)
        state.tally.pulls += decision.played


class Hasty(Policy):
    """Counts the plays when they are chosen."""

    def choose(
        self, state: State, observation: Observation, rng: np.random.Generator, propensities: bool = True
    ) -> Decision:
        decision = super().choose(state, observation, rng)
        state.tally.pulls += decision.played
        return decision


class TwoWays(Policy):
    """Decides otherwise than it chooses."""

    def decide(
        self, state: State, observation: Observation, rng: np.random.Generator, propensities: bool = True
    ) -> Decision:
        rng.random()
        decision = self.choose(state, observation, rng)
        self.apply(state, decision)
        state.tally.received += 0.0 if state.round < 3 else decision.played
        return decision


class Overhearing(Policy):
    """Takes a reward for received from everybody."""

    def observe(self, state: State, feedback: Feedback, rng: np.random.Generator, given: Container[str] = ()) -> None:
        everybody = np.ones_like(state.tally.received)
        super().observe(state, Feedback(everybody, feedback.rewards), rng, given)


@frozen
class Mean(Index):
    """The empirical mean, as a user would write it; what others break below."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return np.asarray(state.tally.rewards / np.maximum(state.tally.received, 1.0))


@frozen
class Lopsided(Mean):
    """Prefers the last arm when there is no lane axis."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        score = Mean.score(self, state, observation, rng)
        return np.asarray(score + np.arange(state.arms)) if score.ndim == 1 else score


@frozen
class Laneless(Fairness):
    """Remembers one number for each arm, whatever the lanes."""

    def start(self, shape: Shape) -> Array:
        return np.zeros(shape[-1])

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score)


@frozen
class Moody(Mean):
    """Counts its calls in a place that is not saved."""

    calls: ClassVar[Any] = itertools.count()

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        favoured = next(self.calls) // 3 % state.arms
        return np.asarray(Mean.score(self, state, observation, rng) + (np.arange(state.arms) == favoured))


@frozen
class Blank(Mean):
    """Has no score for arms without a reward."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        score = Mean.score(self, state, observation, rng)
        return np.where(state.tally.received > 0, score, np.nan)


@frozen
class Undefined(Mean):
    """Has no score before the first round."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return np.asarray(Mean.score(self, state, observation, rng) + (np.nan if state.round == 0 else 0.0))


@frozen
class Noisy(Index):
    """Draws its scores now and then, and does not say so."""

    seldom: float = 0.0

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        noise = rng.random(state.tally.pulls.shape)
        return np.asarray(noise * (rng.random((*noise.shape[:-1], 1)) >= self.seldom))


@frozen
class NoisyAsDeclared(Noisy):
    """The same, and says so."""

    traits = Traits(random=True)


@frozen
class Tiring(Hold):
    """Holds the last choice in some lanes by chance, and does not say so."""

    def continued(self, state: State, observation: Observation, rng: np.random.Generator) -> tuple[Mask | None, Any]:
        arms = np.arange(state.arms) == 0
        held = arms & (rng.random((*state.tally.pulls.shape[:-1], 1)) < 0.5)
        return held & (True if observation.available is None else observation.available), None


def as_drawn(claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
    """Lots, of which each has the probability 1 once it is drawn."""
    played, _ = Lots(2).select(claim, state, observation, rng)
    return played, played.astype(float)


class Misspelt(Hold):
    """It would record decisions."""

    def after_decison(self, state: State, decision: Decision) -> None:
        pass


@dataclass
class Rounds:
    """A list of rounds."""

    rounds: list[int]


class Listing(Hold):
    """It remembers the rounds in a list."""

    def start(self, shape: Shape) -> Rounds:
        return Rounds([])

    def after_decision(self, state: State, decision: Decision) -> None:
        state.hold.rounds.append(state.round)


@frozen
class Sure(Selection):
    """Draws, and reports what was drawn."""

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        return as_drawn(claim, state, observation, rng)


def own_dice() -> Policy:
    """A policy that does not draw from the stream it is given. Local, so that other processes get it by value."""

    @frozen
    class OwnDice(Index):
        def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
            return np.random.default_rng().random(state.tally.pulls.shape)

    return Policy(index=OwnDice())


@frozen
class Ignoring(Fairness):
    """Reports promised shares and ranks the arms by score all the same."""

    fractions: Array = field(factory=lambda: np.full(ARMS, 0.2))

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score)


@frozen
class Even(Fairness):
    """Reports a promise and gives every arm the same share."""

    fractions: Array | None = None
    merit: Merit | None = None

    traits = Traits(gives="shares")

    def claim(self, score: Array, state: State) -> Shares:
        return Shares(np.ones_like(score))


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
    "counts rounds twice": (Skipping, checks.decisions_are_sound, "round 2 is numbered 3"),
    "probabilities of half": (
        lambda: altered(lambda played, chance, awake: (played, chance * 0.5)),
        checks.probabilities_are_sound,
        "the probabilities do not sum to the arms played",
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
        r"the inclusion probabilities have shape \(3, 3\)",
    ),
    "propensities that are not the inclusion probabilities": (
        Modest,
        checks.probabilities_are_sound,
        "propensities differ from the inclusion",
    ),
    "counts when choosing": (Hasty, checks.choosing_changes_nothing, "choosing changes the state"),
    "decides otherwise than it chooses": (TwoWays, checks.choosing_changes_nothing, "round 3: apply and decide give"),
    "counts plays twice": (Boasting, checks.tallies_are_sound, "the pulls in the state are not the plays"),
    "receives what was not played": (Overhearing, checks.tallies_are_sound, "more rewards were received"),
    "scores that are no numbers": (
        lambda: Policy(index=Blank()),
        checks.scores_are_sound,
        "after round 0: the score of an arm is NaN",
    ),
    "no scores before the first round": (
        lambda: Policy(index=Undefined()),
        checks.scores_are_sound,
        "after round 0: the score of an arm is NaN",
    ),
    "scores that are drawn": (
        lambda: Policy(index=Noisy()),
        checks.chance_is_declared,
        r"after round 0: Noisy.score draws from rng, and the index does not declare it: .* Traits\(random=True\)",
    ),
    "scores that are seldom drawn": (
        lambda: Policy(index=Noisy(seldom=0.98)),
        checks.chance_is_declared,
        "Noisy.score draws from rng, and the index does not declare it",
    ),
    "holds that are drawn": (
        lambda: Policy(index=Mean(), hold=Tiring()),
        checks.chance_is_declared,
        "Tiring.continued draws from rng, and the hold does not declare it",
    ),
    "a selection that is sure of what it drew": (
        lambda: Policy(selection=Sure()),
        checks.chance_is_declared,
        "the probabilities that Sure.select returns depend on what it draws from rng",
    ),
    "memory without lanes": (
        lambda: Policy(index=Mean(), fairness=Laneless()),
        checks.lanes_are_remembered,
        r"Laneless\.start must return arrays whose first axis is the lanes, such .* \(5, 4\) that it is given",
    ),
    "one lane is another matter": (
        lambda: Policy(index=Lopsided()),
        checks.one_lane_is_any_lane,
        "a single decision differs from a lane's",
    ),
    "a misspelt member": (
        lambda: Policy(hold=Misspelt()),
        checks.members_are_asked,
        "Misspelt.after_decison is never asked; did you mean 'after_decision'",
    ),
    "a list": (
        lambda: Policy(hold=Listing()),
        checks.memories_can_be_saved,
        r"what Listing remembers cannot be saved: 'rounds' is \[0, 1, .* and was \[\]",
    ),
    "hidden memory": (
        lambda: Policy(index=Moody()),
        checks.saved_state_continues,
        "the saved state continues differently",
    ),
    "dice of its own": (own_dice, checks.same_seed_same_run, "the same seed gives another run"),
    "promised shares of the rounds": (
        lambda: Policy(index=Mean(), fairness=Ignoring()),
        promise_is_kept,
        r"arm \d is .* plays behind the .* that it was promised; .* are allowed",
    ),
    "promised probabilities": (
        lambda: Policy(fairness=Even(fractions=np.array([0.6, 0.1, 0.1, 0.1])), selection=Categorical()),
        promise_is_kept,
        "round 1: an arm plays with less than its promised probability",
    ),
    "promised shares by merit": (
        lambda: Policy(index=Mean(), fairness=Even(merit=Power(beta=50.0, exponent=4.0)), selection=Categorical()),
        promise_is_kept,
        r"arm \d is .* plays behind the .* that it was promised, and at least .* by the interval",
    ),
}


@pytest.mark.parametrize(("build", "check", "message"), BREACHES.values(), ids=list(BREACHES))
def test_a_breach_is_caught_by_its_check(
    build: Callable[[], Policy], check: Callable[[Policy, int], None], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(build(), ARMS)


def test_every_policy_check_catches_something() -> None:
    assert {check for _, check, _ in BREACHES.values()} == set(POLICY_CHECKS)


@pytest.mark.parametrize("name", thinned(BREACHES, lambda name: name in list(BREACHES)[::7]))
def test_check_policy_catches_every_breach(name: str) -> None:
    with pytest.raises(AssertionError):
        check_policy(BREACHES[name][0](), ARMS)


@frozen
class Lots(Selection):
    """A selection of one's own: lots are drawn, whatever the claim."""

    plays: int = 2

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        available = observation.available
        awake = np.ones(claim.score.shape, dtype=bool) if available is None else available
        lot = np.where(awake, rng.random(awake.shape), 2.0)
        played = awake & (np.argsort(np.argsort(lot, axis=-1), axis=-1) < self.plays)
        return played, awake * np.minimum(self.plays / np.maximum(awake.sum(axis=-1, keepdims=True), 1), 1.0)


SOUND: dict[str, Policy] = {
    "index": Policy(index=Mean()),
    "selection": Policy(selection=Lots(3)),
    "scores that are drawn": Policy(index=NoisyAsDeclared()),
}


# The other processes of `same_seed_same_run` cannot import a test module.
IN_PROCESS = [check for check in POLICY_CHECKS if check is not checks.same_seed_same_run]


@pytest.mark.parametrize("check", IN_PROCESS, ids=[check.__name__ for check in IN_PROCESS])
@pytest.mark.parametrize("policy", SOUND.values(), ids=list(SOUND))
def test_sound_parts_of_ones_own_pass(policy: Policy, check: Callable[[Policy, int], None]) -> None:
    # The checks are shipped for users, whose parts need not be registered.
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


@frozen(eq=False)
class Staged(Environment):
    """An environment that starts a world of another class."""

    world: type[World] = World

    def start(self, horizon: int, lanes: int, seed: Seeds) -> World:
        return self.world(self, horizon, lanes, seed)


class Tired(World):
    """An arm earns nothing right after a play."""

    def step(self, decision: Decision) -> Outcome:
        last = getattr(self, "last", np.zeros(decision.played.shape, dtype=bool))
        self.last = decision.played
        outcome = super().step(decision)
        return Outcome(outcome.earned * ~last, outcome.feedback)


class Resting(World):
    """An arm sleeps right after a play."""

    def observe(self) -> Observation:
        super().observe()
        return Observation(~getattr(self, "last", np.zeros((self.lanes, self.environment.arms), dtype=bool)))

    def step(self, decision: Decision) -> Outcome:
        self.last = decision.played
        return super().step(decision)


class Generous(World):
    """Everybody earns, also asleep."""

    def step(self, decision: Decision) -> Outcome:
        outcome = super().step(decision)
        return Outcome(np.ones(decision.played.shape), outcome.feedback)


@frozen(eq=False)
class Drawn(Rewards):
    """Rewards from a function of the shape."""

    means: Any
    rewards: Callable[[Shape], Array]

    def draw(self, rng: np.random.Generator, rows: np.ndarray, lanes: int) -> Array:
        return self.rewards((len(rows), lanes, len(self.means)))


class Again(FeedbackModel):
    """Every reward arrives twice."""

    def open(self, shape: Shape, rounds: int) -> Again:
        return self

    def send(self, played: Mask, earned: np.ndarray, chance: Array | None) -> Feedback:
        return Feedback(played * 2, earned * 2)


class Early(FeedbackModel):
    """Rewards arrive for all arms, whichever plays."""

    def open(self, shape: Shape, rounds: int) -> Early:
        return self

    def send(self, played: Mask, earned: np.ndarray, chance: Array | None) -> Feedback:
        return Feedback(np.ones(played.shape), earned)


@frozen(eq=False)
class BadNewsLate(Delay):
    """Failures take longer, which it does not say."""

    def quantile(self, level: Array, arm: Any, reward: Any) -> Array:
        return np.where(reward > 0.0, 0.0, 50.0)


@frozen(eq=False)
class PartlyLate(Delay):
    """Rewards between the smallest and the largest take longer, which it does not say."""

    def quantile(self, level: Array, arm: Any, reward: Any) -> Array:
        return np.where((reward > 0.2) & (reward < 0.8), 9.0, 3.0)


@frozen(eq=False)
class BadNewsLateAsDeclared(BadNewsLate):
    """The same, and says so."""

    traits = FeedbackTraits(random=True, biased=True)


@frozen(eq=False)
class OwnClock(Delay):
    """Draws beside the level."""

    def quantile(self, level: Array, arm: Any, reward: Any) -> Array:
        return np.floor(9.0 * np.random.default_rng().random(len(level)))


@frozen(eq=False)
class Certain(Rewards):
    """Rewards that always equal their means."""

    means: Any

    def draw(self, rng: np.random.Generator, rows: np.ndarray, lanes: int) -> Array:
        return np.broadcast_to(np.asarray(self.means), (len(rows), lanes, len(self.means)))


def doubled(size: float) -> float:
    return 2.0 * size


@part("rewards", "forgetful")
@frozen(eq=False)
class Forgetful(Certain):
    """Rewards of a size that a constructor changes every time."""

    size: float = field(default=1.0, converter=doubled)

    def draw(self, rng: np.random.Generator, rows: np.ndarray, lanes: int) -> Array:
        return self.size * Certain.draw(self, rng, rows, lanes)


def forgetful() -> Environment:
    return Environment(Forgetful(np.array(MEANS)))


def undefined(shape: Shape) -> Array:
    return np.full(shape, np.nan)


class Coins(Drawn):
    """Rewards that are said to be between 0 and 1."""

    range = (0.0, 1.0)


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
    "one reward for all arms": (
        lambda: Environment(Drawn(np.array(MEANS), lambda shape: np.zeros((*shape[:2], 1)))),
        checks.draws_fit,
        r"the rewards: what is drawn has the shape \(60, 3, 1\), not",
    ),
    "rewards beyond their range": (
        lambda: Environment(Coins(np.array(MEANS), lambda shape: np.full(shape, 7.0))),
        checks.rewards_are_sound,
        "a reward is 7, outside the range from 0 to 1 that is stated",
    ),
    "means beyond the range": (
        lambda: Environment(Coins(np.array([0.5, 2.0]), lambda shape: np.zeros(shape))),
        checks.rewards_are_sound,
        "a mean is not between 0 and 1",
    ),
    "undefined means": (
        lambda: Environment(Drawn(np.array([0.5, np.nan]), lambda shape: np.zeros(shape))),
        checks.rewards_are_sound,
        "a mean is not finite",
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
    "delays by reward that are not declared": (
        lambda: Environment(Bernoulli(MEANS), SLEEPY, BadNewsLate()),
        checks.delays_are_declared,
        "BadNewsLate.quantile gives other delays for a reward of 1 than for one of 0, .* biased=True.* `quantiles`",
    ),
    "delays by rewards between 0 and 1": (
        lambda: Environment(Certain(np.array([0.0, 0.5, 1.0])), feedback=PartlyLate()),
        checks.delays_are_declared,
        r"PartlyLate.quantile gives other delays for a reward of 0\.5",
    ),
    "delays that are drawn elsewhere": (
        lambda: Environment(Bernoulli(MEANS), feedback=OwnClock()),
        checks.delays_are_declared,
        "OwnClock.quantile gives other delays for the same levels",
    ),
    "not as written down": (forgetful, checks.plain_form_is_whole, "has another plain form"),
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

        def observe(self) -> Observation:
            observation = super().observe()
            return ALL_AVAILABLE if self.number == 0 else observation

    with pytest.raises(AssertionError, match="arms are available to one policy only"):
        checks.same_world_for_all(Staged(Bernoulli(MEANS), SLEEPY, world=Partial), 60)


LOG = [[0.5, 0.2, 1.0], [0.0, 0.4, 0.3]] * 30
BITS = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]] * 30
SOUND_ENVIRONMENTS: dict[str, Environment] = {
    "bernoulli": Environment(Bernoulli(MEANS), SLEEPY),
    "gaussian": Environment(Gaussian(MEANS, 0.2)),
    "beta": Environment(Beta(means=MEANS), SLEEPY),
    "log": Environment(Table(LOG), Logged([[1, 0, 1], [1, 1, 1]] * 30)),
    "shuffled log": Environment(Table(LOG, order="shuffled")),
    "rewards of one's own": Environment(Certain(np.array(MEANS)), SLEEPY, Immediate()),
    "late feedback": Environment(Gaussian(MEANS, 0.2), SLEEPY, Geometric([0.2, 0.9, 0.05])),
    "late and lost": Environment(Bernoulli(MEANS), feedback=Empirical([[0.0, 7.0, math.inf], [3.0], [50.0, 80.0]])),
    "late by reward, as declared": Environment(Bernoulli(MEANS), SLEEPY, BadNewsLateAsDeclared()),
    "late by reward": Environment(Table(BITS), feedback=ByReward([[0.0, 9.0]])),
}


@pytest.mark.parametrize("environment", SOUND_ENVIRONMENTS.values(), ids=list(SOUND_ENVIRONMENTS))
def test_check_environment_lets_sound_environments_pass(environment: Environment) -> None:
    check_environment(environment)


@dataclass
class Called:
    """Notes that it was called."""

    calls: list[tuple[Any, int]] = dataclasses.field(default_factory=list)

    def __call__(self, part: Any, number: int) -> None:
        self.calls.append((part, number))


def test_the_checks_are_run_one_and_all(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Called(), Called()
    monkeypatch.setattr("evenhand.bandit.checks.POLICY_CHECKS", (one, one))
    monkeypatch.setattr(checks, "ENVIRONMENT_CHECKS", (two, two))
    policy, environment = Policy(index=UCB()), Environment(Bernoulli(MEANS))
    check_policy(policy, 3)
    check_environment(environment, horizon=7)
    assert one.calls == [(policy, 3)] * 2
    assert two.calls == [(environment, 7)] * 2


def test_helpers_of_a_member_may_have_nearly_its_name() -> None:
    class Helped(Mean):
        def scores(self, state: State) -> Array:
            return super().score(state, Observation(), np.random.default_rng(0))

        def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
            return self.scores(state)

    checks.members_are_asked(Policy(index=Helped()), 3)
