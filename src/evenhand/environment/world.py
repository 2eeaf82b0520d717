"""The environment: rewards, availability and feedback, put together and drawn from random streams of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.cohorts import Answers
from evenhand.core.errors import ConfigurationError, EvenhandError, number_of, shown, there_are
from evenhand.core.frozen import evolve, field, frozen
from evenhand.core.parts import Part, build, kinds, of_arms, part, rules_of
from evenhand.core.state import (
    ALL_AVAILABLE,
    Array,
    Decision,
    Feedback,
    Mask,
    Observation,
    Outcome,
    Unit,
    for_lanes,
)
from evenhand.core.streams import Seeds, spans, strand_sizes
from evenhand.core.validate import PerArm
from evenhand.environment.anonymous import Sums
from evenhand.environment.availability import Always, Availability
from evenhand.environment.contexts import Awaited, Context, Contexts, at
from evenhand.environment.contextual import ContextualRewards, check_fit
from evenhand.environment.feedback import Channel, FeedbackModel, Immediate
from evenhand.environment.rewards import Rewards
from evenhand.features.partition import Partition
from evenhand.messages.changes import in_order
from evenhand.policy.custom_merit import MeritLike, as_merit
from evenhand.policy.merit import Merit
from evenhand.policy.part import built

#: The random streams of a strand.
ORDER, REWARDS, AVAILABLE, LATE, FREE, CONTEXTS = range(6)
DRAWN_AHEAD = 100_000  # numbers drawn at a time: enough to make calls cheap, few enough for the cache


def _rewards(value: Rewards | str | Mapping[str, object]) -> Rewards:
    return built("rewards", value, Rewards, "Bernoulli([0.9, 0.5])")


def _names(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str | bytes) or not np.iterable(value) or np.ndim(value) > 1:
        raise EvenhandError(f"must be a list with one name per arm, got {shown(value)}")
    names = tuple(map(str, value))
    for name, number in Counter(names).items():
        if number > 1:
            raise EvenhandError(f"two arms are named {name!r}; names must differ")
    return names


def _nonnegatives(value: PerArm | None) -> Array | None:
    return None if value is None else validate.nonnegatives(value)


def _merit(value: MeritLike | None) -> Merit | None:
    return None if value is None else as_merit(value)


def _availability(value: Availability | str | Mapping[str, object]) -> Availability:
    return built("availability", value, Availability, "Always()")


def _feedback(value: FeedbackModel | str | Mapping[str, object]) -> FeedbackModel:
    return built("feedback", value, FeedbackModel, "Immediate() or Geometric(0.05)")


def _contexts(value: Contexts | str | Mapping[str, object] | None) -> Contexts | None:
    return None if value is None else built("contexts", value, Contexts, "Normal(situation=5)")


def _range(value: Sequence[float] | None) -> tuple[float, float] | None:
    if value is None:
        return None
    limits = validate.for_all_lanes("", validate.numbers(value)).tolist()
    if len(limits) != 2 or limits[0] >= limits[1]:
        raise EvenhandError(f"must be the smallest and the largest reward, such as (0, 5), got {shown(value)}")
    return limits[0], limits[1]


def partition_of(segments: Any, contexts: Contexts | None) -> Partition | None:
    """The segments of the rounds by a feature that contexts declare; None where none are asked for."""
    if segments is None:
        return None
    features = getattr(contexts, "features", None)
    if features is None:
        raise EvenhandError("needs contexts with declared features: of kind 'categories' or 'log'", "segments")
    return Partition(segments, features)


#: What can be given by the names of arms, too.
BY_ARM = ("fractions", "penalties", "weights")


@part("environment", "environment")
@frozen(eq=False)
class Environment(Part):
    """Rewards, availability and feedback of the arms, and the shares that are promised where a policy promises none.

    Rewards may be in any unit. Where their range is known and goes beyond [0, 1], policies get them on the scale
    [0, 1], ``(x − low)/(high − low)``, and results are in the user's unit.

    Each part is an object, the name of a kind, or a table such as ``{"kind": "geometric", "success": 0.05}``.

    Args:
        rewards: what a play can earn.
        availability: which arms can play.
        feedback: when rewards become known.
        names: (arms,) names of the arms; by default ``"1"``, ``"2"``, …
        fractions: in [0, 1], promised shares of the rounds for a policy that promises none; one number, or one per arm.
        penalties: ≥ 0, price of a missing play for the penalized regret, for a policy without its own; one number, or
            one per arm.
        weights: ≥ 0, value of a unit of reward, for a policy without its own; one number, or one per arm.
        merit: a function of an arm's mean, for a policy that promises no shares by merit.
        reward_range: (low, high), the smallest and the largest reward that can occur; by default what the reward model
            says.
        contexts: what is known of the situation and the arms before each decision; None for nothing.
        segments: the feature of the situation by whose values shares can be promised and plays are counted: the name of
            a category or flag, or ``{"feature": "age", "cuts": [18, 65]}`` for a number; None for none.

    Raises:
        EvenhandError: the parts differ in their number of arms, a parameter is out of range, or two arms have the same
            name.

    Example:
        >>> from evenhand import Environment
        >>> from evenhand.rewards import Bernoulli, Gaussian
        >>> Environment(Bernoulli([0.9, 0.8]), names=("tea", "coffee")).arms
        2
        >>> Environment(Gaussian([15.0, 14.0], sd=0.5), reward_range=(12, 18)).unit
        Unit(low=12.0, width=6.0)
    """

    rewards: Rewards = field(converter=_rewards, metadata={"slot": "rewards"})
    availability: Availability = field(default=Always(), converter=_availability, metadata={"slot": "availability"})
    feedback: FeedbackModel = field(default=Immediate(), converter=_feedback, metadata={"slot": "feedback"})
    names: tuple[str, ...] = field(converter=_names)
    fractions: Array | None = field(default=None, converter=validate.fractions_or_none)
    penalties: Array | None = field(default=None, converter=_nonnegatives)
    weights: Array | None = field(default=None, converter=_nonnegatives)
    merit: Merit | None = field(default=None, converter=_merit, metadata={"slot": "merit"})
    reward_range: tuple[float, float] | None = field(default=None, converter=_range)
    contexts: Contexts | None = field(default=None, converter=_contexts, metadata={"slot": "contexts"})
    segments: str | Mapping[str, Any] | None = None

    @names.default
    def _numbered(self) -> tuple[str, ...]:
        return tuple(str(arm + 1) for arm in range(self.arms))

    def __attrs_post_init__(self) -> None:
        if len(self.names) != self.arms:
            raise EvenhandError(
                f"{there_are(len(self.names), 'name')} of arms, but rewards for {number_of(self.arms, 'arm')}"
            )
        if self.availability.arms not in (None, self.arms):
            raise EvenhandError(
                f"is given for {number_of(self.availability.arms, 'arm')}, rewards for {self.arms}", "availability"
            )
        for name, values in (("fractions", self.fractions), ("penalties", self.penalties), ("weights", self.weights)):
            if values is not None:
                validate.one_per_arm(name, values, self.arms)
        try:
            self.feedback.check(self.arms)
        except EvenhandError as error:
            raise error.at("feedback") from None
        check_fit(self.rewards, self.contexts, self.arms)
        partition_of(self.segments, self.contexts)  # refuses what names no segments
        self._check_log()

    def _check_log(self) -> None:
        """Refuse a log without the reward of an arm that can play."""
        unknown, available = self.rewards.unknown, self.availability.logged
        if unknown is None:
            return
        if available is not None and len(available) != len(unknown):
            raise EvenhandError(
                f"the reward table has {number_of(len(unknown), 'row')}, the availability log has {len(available)}; "
                "they must be equally long"
            )
        missing = np.argwhere(unknown if available is None else unknown & available)
        if missing.size:
            row, arm = missing[0].tolist()
            raise EvenhandError(
                f"row {row + 1} of the reward table has no reward for arm {self.names[arm]!r}, which can play in that "
                "round: give a log in which it sleeps there (availability of kind 'log')"
            )

    @cached_property
    def arms(self) -> int:
        """Number of arms."""
        return self.rewards.arms

    @property
    def widths(self) -> tuple[int, int] | None:
        """How many columns the situation has, and how many each arm; None without contexts."""
        return None if self.contexts is None else self.contexts.widths

    @cached_property
    def means(self) -> Array:
        """Expected reward of each arm, (arms,) or (lanes, arms), in the user's unit; by context their mean over all."""
        if self.rewards.traits.contextual:
            means, chances = self.law
            return np.asarray((means * chances[:, np.newaxis]).sum(axis=0))
        return np.asarray(self.rewards.means)

    @cached_property
    def partition(self) -> Partition | None:
        """The segments of the rounds; None where there are none."""
        return partition_of(self.segments, self.contexts)

    @cached_property
    def frequencies(self) -> Array:
        """(segments,), the part of the rounds that each segment has."""
        assert self.contexts is not None
        assert self.partition is not None
        context, chances = self.contexts.law(self.arms)
        places = self.partition.of(context.situation)
        return np.asarray(np.bincount(places, chances, len(self.partition.names)), dtype=float)

    @cached_property
    def segment_of_law(self) -> NDArray[np.intp] | None:
        """The segment of each of the contexts of `law`, (contexts,); None where that is not known."""
        if self.contexts is None or self.partition is None:
            return None
        places = self.partition.of(self.contexts.law(self.arms)[0].situation)
        drawn = self.rewards.unknown is not None and self.contexts.rows != self.rewards.rows
        return None if drawn else np.asarray(places, dtype=np.intp)

    @cached_property
    def law(self) -> tuple[Array, Array]:
        """Expected rewards in contexts that stand for all, (contexts, arms), and their probabilities, (contexts,)."""
        if isinstance(self.rewards, ContextualRewards) and self.contexts is not None:
            context, chances = self.contexts.law(self.arms)
            return self.rewards.means_given(context), chances
        if self.rewards.unknown is not None and self.rewards.rows is not None:
            rows = np.arange(self.rewards.rows)
            known = self.rewards.draw(np.random.default_rng(0), rows[:, np.newaxis], 1)[:, 0]
            return np.asarray(known, dtype=float), np.full(len(rows), 1.0 / len(rows))
        if self.contexts is not None and self.partition is not None and self.means.ndim == 1:
            chances = self.contexts.law(self.arms)[1]
            return np.broadcast_to(self.means, (len(chances), self.arms)), chances
        return self.means[np.newaxis], np.ones(1)

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest reward that can occur; None if there is no such limit, or none is known."""
        return self.rewards.range if self.reward_range is None else self.reward_range

    @property
    def bounded(self) -> bool:
        """Whether rewards have a finite range."""
        return self.range is not None

    @cached_property
    def unit(self) -> Unit | None:
        """The user's unit of reward; None if rewards are in [0, 1] already, or their range is not known."""
        if self.range is None or (self.range[0] >= 0.0 and self.range[1] <= 1.0):
            return None
        low, high = self.range
        return Unit(low, high - low or 1.0)

    @property
    def rows(self) -> int | None:
        """Rounds that the log holds, if rewards, contexts or availability come from a log."""
        known = self.rewards.rows, None if self.contexts is None else self.contexts.rows, self.availability.rows
        return next((rows for rows in known if rows is not None), None)

    def check_horizon(self, horizon: int) -> None:
        """Refuse a horizon beyond the end of the log.

        Args:
            horizon: T, rounds of the run.

        Raises:
            EvenhandError: the log holds fewer rounds than ``horizon``.
        """
        if self.rows is not None and self.rows < horizon:
            raise EvenhandError(
                f"horizon = {horizon}, but the log has only {number_of(self.rows, 'round')}; use a horizon of at most "
                f"{self.rows}"
            )

    def start(self, horizon: int, lanes: int, seed: Seeds) -> World:
        """Start the environment for one block of lanes.

        Args:
            horizon: T ≥ 1, rounds.
            lanes: number of replications.
            seed: of all its randomness; or one for each strand of `evenhand.core.streams.STRAND` lanes.

        Raises:
            EvenhandError: a log holds fewer rounds than ``horizon``.
        """
        self.check_horizon(horizon)
        return World(self, horizon, lanes, seed)


def apart(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The shares, prices and weights of a table that are given by the names of arms, and the rest."""
    given = {name: table[name] for name in BY_ARM if of_arms(table.get(name))}
    return given, {name: one for name, one in table.items() if name not in given}


def with_values(environment: Environment, given: Mapping[str, Any]) -> Environment:
    """The environment with the values that `apart` has set aside."""
    named: dict[str, Any] = {name: in_order(name, one, environment.names) for name, one in given.items()}
    return evolve(environment, **named) if named else environment


EnvironmentLike: TypeAlias = Environment | Mapping[str, object]


def as_environment(value: object, importing: Callable[[str], object] | None = None) -> Environment:
    """An environment, given as one, or by a table of its parts."""
    table = {"kind": value} if isinstance(value, str) else value
    given: Mapping[str, object] = {}
    try:
        if isinstance(table, Mapping):
            table = {"kind": "environment", **table}
            if (kind := table["kind"]) in kinds("rewards"):
                remedy = f"{{'rewards': {{'kind': {kind!r}, …}}}}"
                raise ConfigurationError(f"kind {kind!r} is one of rewards: write {remedy}", key="kind")
            if "arms" in table:  # what configurations call the names
                table["names"] = table.pop("arms")
            given, table = apart(table)
        environment: Environment = build("environment", table, importing)
        validate.part("", environment, Environment, "Environment(Bernoulli([0.9, 0.5]))")
        return with_values(environment, given)
    except EvenhandError as error:
        raise error.at("environment") from None


class World:
    """A running environment: its random streams, its present round, and the rewards under way.

    Per round, `observe` comes first and `step` second. Rewards and availability are drawn for all arms from streams
    that no policy touches, so the same seed gives every policy the same rewards and availability. Several rounds are
    drawn at a time; how many makes no difference to the results.
    """

    def __init__(self, environment: Environment, horizon: int, lanes: int, seed: Seeds) -> None:
        """See `Environment.start`."""
        self.environment = environment
        self.lanes = lanes
        self.horizon = horizon
        self.round = 0
        seeds = [seed] if isinstance(seed, np.random.SeedSequence) else seed
        self.strands = [
            Strand(environment, lanes, seed)
            for lanes, seed in zip(spans(strand_sizes(lanes, len(seeds))), seeds, strict=True)
        ]
        numbers = environment.arms
        if environment.widths is not None:
            numbers = max(numbers, environment.widths[0] + environment.widths[1] * environment.arms)
        self._stretch = int(min(horizon, max(1, DRAWN_AHEAD // (lanes * numbers))))
        self._unit = environment.unit
        # The range to which rewards are held, where one is given or needed for scaling.
        scaled = self._unit is not None or environment.reward_range is not None
        self._limits = environment.range if scaled else None
        self._channel = self._open(horizon)
        self._observed = False
        self._place = 0
        self._rewards: NDArray[Any] = np.empty(0)
        self._available: Mask | None = None
        self._chance: Array | None = None
        self._contexts: Context | None = None
        self._means: Array | None = None
        self._awaited = Awaited(environment.arms, environment.widths or (0, 0))

    def free_pull(self) -> Feedback:
        """Every arm is pulled once before round 1; returns what becomes known of it before that round."""
        environment, shape = self.environment, (self.lanes, self.environment.arms)
        if environment.rewards.rows is not None:
            raise EvenhandError("a log of rewards has no round before the first; run without free_start")
        if self.round or self._observed:
            raise EvenhandError(
                "must be called before round 1, which has begun; start the environment again", "free_pull"
            )
        self._channel = self._open(self.horizon + 1)
        earned, chance = map(_side_by_side, zip(*(strand.free_pull() for strand in self.strands), strict=True))
        played = np.ones(shape, dtype=bool)
        self._check(earned[0], played)
        return self._channel.send(played, earned[0], None if chance is None else chance[0])

    def observe(self) -> Observation:
        """What is known before the next round: which arms are available, (lanes, arms), and the context."""
        if self._observed:
            raise EvenhandError(f"round {self.round + 1} has already been observed; call step(decision) next")
        if self.round == self.horizon:
            raise EvenhandError(
                f"all {self.horizon} rounds have been played; start the environment again, or with a longer horizon"
            )
        self._observed = True
        self._place = self.round % self._stretch
        if self._place == 0:
            self._draw()
        available = None if self._available is None else self._available[self._place]
        if self._contexts is not None:
            return Observation(available, *self._context)
        return ALL_AVAILABLE if available is None else Observation(available)

    @property
    def _context(self) -> Context:
        """The context of the present round."""
        assert self._contexts is not None
        situation, arms = self._contexts
        return Context(situation[self._place], None if arms is None else arms[self._place])

    def step(self, decision: Decision) -> Outcome:
        """The end of the round: what the played arms earned, in the user's unit, and the feedback, on [0, 1]."""
        if not self._observed:
            raise EvenhandError(f"round {self.round + 1} has not been observed; call observe() before step(decision)")
        self._observed = False
        self.round += 1
        potential = self._rewards[self._place]
        earned = potential * decision.played
        if self._limits is not None:
            self._check(earned, decision.played)
        chance = None if self._chance is None else self._chance[self._place]
        feedback = self._channel.send(decision.played, earned, chance)
        if self._contexts is None:
            return Outcome(earned, feedback, potential)
        means = None if self._means is None else self._means[self._place]
        return Outcome(earned, self._with_features(feedback), potential, means)

    def _with_features(self, feedback: Feedback) -> Feedback:
        """Feedback in which every reward that names its pull has the features of that pull."""
        model, context = self.environment.feedback, self._context
        answers = feedback.answers
        if model.traits.immediate:
            answers = Answers.at_once(feedback.received, feedback.rewards)
            found = at(answers.places, self.environment.arms, context)
        elif model.named and answers is not None:
            self._awaited.keep(self.round, context, getattr(self._channel, "awaited", len(feedback.received.flat)))
            found = self._awaited.take(self.round, answers.places, answers.delays)
        else:
            return feedback
        whole = Answers(answers.places, answers.delays, answers.rewards, *found)
        return Feedback(feedback.received, feedback.rewards, whole)

    @property
    def drawn_ahead(self) -> int:
        """How many rounds `hold` can play at most."""
        return self._stretch - self.round % self._stretch

    def hold(self, played: Mask, rounds: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Several rounds in which the same arms play, as if `observe` and `step` were called in each."""
        self.observe()
        self._observed = False
        rows = slice(self._place, self._place + rounds)
        self.round += rounds
        earned = self._rewards[rows] * played
        if not isinstance(self._channel, Sums):
            return earned, earned
        return earned, self._channel.send_all(played, earned, None if self._chance is None else self._chance[rows])

    def can_hold(self, plays: int) -> bool:
        """Whether `hold` gives what single rounds would, where so many arms play: whatever the order of a sum."""
        environment, channel = self.environment, type(self._channel)
        exact = plays == 1 or rules_of(environment.rewards) is not None
        sums = channel is Immediate or (channel is Sums and exact)
        return self.plain and sums and not environment.availability.traits.sleeping and environment.contexts is None

    @property
    def plain(self) -> bool:
        """Whether rewards are in [0, 1] and within their range whatever is drawn."""
        return self._limits is None

    @property
    def within(self) -> bool:
        """Whether rewards are within their range whatever is drawn, in the user's unit."""
        environment = self.environment
        return self.plain or (environment.reward_range is None and rules_of(environment.rewards) is not None)

    def _open(self, rounds: int) -> Channel:
        environment = self.environment
        return environment.feedback.open_for(environment.means, self._unit, (self.lanes, environment.arms), rounds)

    def _draw(self) -> None:
        """Rewards, availability and chance of the next rounds."""
        rows = self.environment.rows
        # A log is read to its end and no further; the last draw may be short.
        stop = self.round + self._stretch if rows is None else min(self.round + self._stretch, rows)
        drawn = zip(*(strand.draw(self.round, stop) for strand in self.strands), strict=True)
        self._rewards, self._available, self._chance, means, situation, arms = map(_side_by_side, drawn)
        self._means = means
        self._contexts = None if situation is None else Context(situation, arms)

    def _check(self, earned: NDArray[Any], played: Mask) -> None:
        """Refuse rewards of played arms outside the range."""
        if self._limits is None:
            return
        low, high = self._limits
        wrong = played & ~((earned >= low) & (earned <= high))
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            where = f"in round {self.round}" if self.round else "before round 1"
            raise EvenhandError(
                f"arm {self.environment.names[place[-1]]!r} earned {float(earned[place])!r} {where}, outside the range "
                f"of rewards [{low:g}, {high:g}]; give reward_range=(low, high) with every reward that can occur"
            )


class Strand:
    """Some lanes, which share random streams."""

    def __init__(self, environment: Environment, lanes: slice, seed: np.random.SeedSequence) -> None:
        self.lanes = lanes
        self.rewards = for_lanes(environment.rewards, lanes)
        self.availability = for_lanes(environment.availability, lanes)
        self._shape = lanes.stop - lanes.start, environment.arms
        self._random = environment.feedback.traits.random
        self._contexts = environment.contexts
        seeds = seed.spawn(6)
        self.stream = cache(lambda place: np.random.default_rng(seeds[place]))  # does not hold self
        self._rows = self._order()

    def draw(self, start: int, stop: int) -> tuple[NDArray[Any] | None, ...]:
        """Rewards, availability and chance of some rounds, each (rounds, lanes, arms), means and contexts."""
        rest = self.draw_available(start, stop), self.draw_chance(start, stop)
        if self._contexts is None:
            return self.draw_rewards(start, stop), *rest, None, None, None
        rows = self._places(start, stop)
        context = self._contexts.draw(self.stream(CONTEXTS), rows, *self._shape)
        rewards, means = self._given(self.stream(REWARDS), context, rows)
        return rewards, *rest, means, *context

    def _given(self, rng: np.random.Generator, context: Context, rows: NDArray[np.intp]) -> tuple[NDArray[Any], Array]:
        """Rewards in some contexts, and their means; those of a log are their own."""
        if isinstance(self.rewards, ContextualRewards):
            means = self.rewards.means_given(context)
            return self.rewards.draw_given(rng, means), means
        drawn = self.rewards.draw(rng, rows, self._shape[0])
        means = self.rewards.means
        if self.rewards.unknown is not None:
            means = drawn
        elif self.rewards.traits.drifting:
            means = self.rewards.means_at(rows[:, 0])[:, np.newaxis]
        return drawn, np.broadcast_to(np.asarray(means, dtype=float), drawn.shape)

    def draw_rewards(self, start: int, stop: int) -> NDArray[Any]:
        """What each arm would earn in some rounds, (rounds, lanes, arms)."""
        return self.rewards.draw(self.stream(REWARDS), self._places(start, stop), self._shape[0])

    def draw_available(self, start: int, stop: int) -> Mask | None:
        """Who can play in some rounds, (rounds, lanes, arms); None: all."""
        return self.availability.draw(self.stream(AVAILABLE), self._places(start, stop), self._shape[0])

    def draw_chance(self, start: int, stop: int) -> Array | None:
        """Uniform numbers for the feedback of some rounds, (rounds, lanes, arms); None: it needs none."""
        return self.stream(LATE).random((stop - start, *self._shape)) if self._random else None

    def _places(self, start: int, stop: int) -> NDArray[np.intp]:
        """The rows of the log that the rounds replay."""
        return np.arange(start, stop)[:, np.newaxis] if self._rows is None else self._rows[start:stop]

    def free_pull(self) -> tuple[NDArray[Any], Array | None]:
        """Rewards and chance of the pulls before round 1, each (1, lanes, arms)."""
        rows = np.zeros((1, 1), dtype=np.intp)
        if self._contexts is None:
            rewards = self.rewards.draw(self.stream(FREE), rows, self._shape[0])
        else:
            context = self._contexts.draw(self.stream(FREE), rows, *self._shape)
            rewards = self._given(self.stream(FREE), context, rows)[0]
        return rewards, self.stream(FREE).random((1, *self._shape)) if self._random else None

    def _order(self) -> NDArray[np.intp] | None:
        """The rows of the log in the order of each lane, (rows, lanes); None for all in the order of the log."""
        logs = [one for one in (self.rewards, self._contexts) if one is not None and one.rows is not None]
        number = logs[0].rows if logs else None
        if number is None or not any(log.shuffled for log in logs):
            return None
        rows = np.broadcast_to(np.arange(number, dtype=np.int32), (self._shape[0], number))
        return self.stream(ORDER).permuted(rows, axis=1).T


def _side_by_side(strands: Sequence[Any]) -> Any:
    """What strands have drawn, (rounds, lanes, arms); None where they draw nothing."""
    return strands[0] if len(strands) == 1 or strands[0] is None else np.concatenate(strands, axis=1)
