"""The outside world: rewards, availability and feedback, put together and drawn from streams of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.availability import Always, Availability, Logged
from evenhand.errors import EvenhandError
from evenhand.feedback import FeedbackModel, Immediate
from evenhand.merit import as_merit
from evenhand.records import Array, Decision, Feedback, Mask, Outcome
from evenhand.rewards import Rewards, Table

DRAWN_AHEAD = 100_000  # numbers drawn at a time: enough to forget the cost of a call, few enough for the cache


@dataclass(frozen=True, eq=False)
class Environment:
    """What can happen outside, and by which promises a policy that makes none of its own is judged.

    Args:
        rewards: what a play can earn.
        availability: who can play.
        feedback: when rewards become known.
        names: (arms,) names of the arms; by default ``"1"``, ``"2"``, …
        fractions: (arms,) shares of the rounds to measure a policy against that promises none.
        penalties: price of a missing play for the penalised regret, one number or one an arm, for a policy without
            its own.
        weights: what a unit of reward of each arm counts, one number or one an arm, for a policy without its own.
        merit: a function of an arm's mean by which to measure a policy that promises no shares by merit.

    Example:
        >>> from evenhand import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> Environment(Bernoulli([0.9, 0.8]), names=("tea", "coffee")).arms
        2

    Raises:
        EvenhandError: the parts disagree on the number of arms, or two arms have the same name.
    """

    rewards: Rewards
    availability: Availability = Always()
    feedback: FeedbackModel = Immediate()
    names: tuple[str, ...] = ()
    fractions: Any = None
    penalties: Any = None
    weights: Any = None
    merit: Any = None
    arms: int = field(init=False)

    def __post_init__(self) -> None:
        validate.part("rewards", self.rewards, "draw", "Bernoulli([0.9, 0.5])")
        validate.part("availability", self.availability, "draw", "Always()")
        validate.part("feedback", self.feedback, "open", "Immediate() or Geometric(0.05)")
        if self.merit is not None:
            object.__setattr__(self, "merit", as_merit(self.merit))
        arms = int(self.rewards.means.shape[-1])
        object.__setattr__(self, "arms", arms)
        names = tuple(map(str, self.names)) or tuple(str(i + 1) for i in range(arms))
        if len(names) != arms:
            raise EvenhandError(f"there are {len(names)} names of arms, but rewards for {arms} arms")
        if len(set(names)) < arms:
            twice = next(name for name in names if names.count(name) > 1)
            raise EvenhandError(f"two arms are named {twice!r}; names must differ")
        object.__setattr__(self, "names", names)
        if self.availability.arms not in (None, arms):
            raise EvenhandError(f"availability is given for {self.availability.arms} arms, rewards for {arms}")
        if self.fractions is not None:
            object.__setattr__(self, "fractions", validate.per_arm("fractions", self.fractions, 0.0, 1.0))
        for name in ("penalties", "weights"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validate.per_arm_or_one(name, getattr(self, name), low=0.0))
        for name in ("fractions", "penalties", "weights"):
            value = getattr(self, name)
            if value is not None and (name == "fractions" or value.shape[-1] != 1):
                validate.one_an_arm(name, value, arms)
        self.feedback.check(arms)
        self._check_log()

    def _check_log(self) -> None:
        if not isinstance(self.rewards, Table):
            return
        unknown = np.isnan(self.rewards.values)
        if isinstance(self.availability, Logged) and self.availability.table.shape == unknown.shape:
            unknown &= self.availability.table
        elif isinstance(self.availability, Logged):
            rows, logged = len(unknown), len(self.availability.table)
            raise EvenhandError(f"the reward table has {rows} rows, the availability log has {logged}")
        if unknown.any():
            row, arm = (int(i) for i in np.argwhere(unknown)[0])
            raise EvenhandError(
                f"row {row + 1} of the reward table has no reward for arm {self.names[arm]!r}, which can play in that "
                "round: give a log in which it sleeps there (availability of kind 'log')"
            )

    @property
    def means(self) -> Array:
        """Expected reward of each arm, (arms,) or (lanes, arms)."""
        return np.asarray(getattr(self.rewards.means, "values", self.rewards.means))

    def rows(self) -> int | None:
        """Rounds that the log holds, if rewards or availability come from a log."""
        if isinstance(self.rewards, Table):
            return len(self.rewards.values)
        return len(self.availability.table) if isinstance(self.availability, Logged) else None

    def check_horizon(self, horizon: int) -> None:
        """Complain if a log holds fewer rounds than ``horizon``."""
        rows = self.rows()
        if rows is not None and rows < horizon:
            raise EvenhandError(f"horizon = {horizon}, but the log holds only {rows} rounds")

    def start(self, horizon: int, lanes: int, seed: np.random.SeedSequence) -> World:
        """The environment at work for one block of lanes.

        Raises:
            EvenhandError: a log holds fewer rounds than ``horizon``.
        """
        self.check_horizon(horizon)
        return World(self, horizon, lanes, seed)


class World:
    """An environment at work: its random streams, its place in time, and the rewards under way.

    Rewards and availability are drawn for all arms from streams that no policy touches, so the same seed gives every
    policy the same rewards and availability. Everything is drawn in stretches of rounds; how long they are changes
    nothing.
    """

    def __init__(self, environment: Environment, horizon: int, lanes: int, seed: np.random.SeedSequence) -> None:
        """See `Environment.start`."""
        self.environment = environment
        self.lanes = lanes
        self.horizon = horizon
        self.round = 0
        order, rewards, availability, feedback, free = (np.random.default_rng(s) for s in seed.spawn(5))
        self._rng_rewards, self._rng_availability, self._rng_feedback = rewards, availability, feedback
        self._rng_free = free
        self._rows = self._order(order)
        self._stretch = int(min(horizon, max(1, DRAWN_AHEAD // (lanes * environment.arms))))
        self._channel = environment.feedback.open((lanes, environment.arms), horizon)
        self._rewards: NDArray[Any] = np.empty(0)
        self._available: Mask | None = None
        self._chance: Array | None = None

    def _order(self, rng: np.random.Generator) -> NDArray[np.intp] | None:
        rewards = self.environment.rewards
        if not isinstance(rewards, Table) or rewards.order == "log":
            return None
        rows = np.broadcast_to(np.arange(len(rewards.values), dtype=np.int32), (self.lanes, len(rewards.values)))
        return rng.permuted(rows, axis=1).T

    def _draw(self) -> None:
        stop = self.round + self._stretch
        # A log is read to its end and no further; the last stretch may be short.
        rows = self.environment.rows()
        stop = stop if rows is None else min(stop, rows)
        places = np.arange(self.round, stop)[:, np.newaxis] if self._rows is None else self._rows[self.round : stop]
        self._rewards = self.environment.rewards.draw(self._rng_rewards, places, self.lanes)
        self._available = self.environment.availability.draw(self._rng_availability, places, self.lanes)
        if self.environment.feedback.random:
            self._chance = self._rng_feedback.random((stop - self.round, self.lanes, self.environment.arms))

    def free_pull(self) -> Feedback:
        """Every arm is pulled once before round 1; what becomes known of it before that round.

        Rewards and delays come from a stream of their own, so that those of the rounds stay the same.
        """
        environment, shape = self.environment, (self.lanes, self.environment.arms)
        if isinstance(environment.rewards, Table):
            raise EvenhandError("a log of rewards has no round before the first; run without free_start")
        self._channel = environment.feedback.open(shape, self.horizon + 1)
        earned = environment.rewards.draw(self._rng_free, np.zeros((1, 1), dtype=np.intp), self.lanes)[0]
        chance = self._rng_free.random(shape) if environment.feedback.random else None
        return self._channel.send(np.ones(shape, dtype=bool), earned, chance)

    def offer(self) -> Mask | None:
        """Who is available in the next round, (lanes, arms); None for everybody."""
        self._place = self.round % self._stretch
        if self._place == 0:
            self._draw()
        return None if self._available is None else self._available[self._place]

    def play(self, decision: Decision) -> Outcome:
        """The end of the round: what the played arms earned, and what becomes known of it."""
        self.round += 1
        earned = self._rewards[self._place] * decision.played
        chance = None if self._chance is None else self._chance[self._place]
        feedback = self._channel.send(decision.played, earned, chance)
        return Outcome(earned, feedback, self._rewards[self._place])
