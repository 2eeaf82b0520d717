"""When and how a policy learns what its plays earned.

A feedback model takes the plays and rewards of every round and returns what becomes known at the end of that round.
Models that hold rewards back (`evenhand.environment.delays`, `evenhand.environment.profiles`) keep them in a channel,
one for each block of lanes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.by_default import by_default
from evenhand.core.frozen import frozen
from evenhand.core.parts import Part, part
from evenhand.core.state import Array, Feedback, Mask, Shape, Unit
from evenhand.environment.rewards import Rewards

Quantile = Callable[[Array, NDArray[np.intp], NDArray[Any]], Array]  # `Delay.quantile`
Steps = tuple[Array, Array]  # rounds after the play, rising, and the share that is known from each of them on


class Channel(Protocol):
    """The way from plays to feedback for one block of lanes."""

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take the plays and rewards of a round, (…, arms); return what becomes known at its end.

        Args:
            played: True where an arm plays.
            earned: what the played arms earned, 0 elsewhere.
            chance: uniform numbers in [0, 1) for every arm, whether it plays or not; None for a model that is not
                random.
        """
        ...


@frozen
class FeedbackTraits:
    """What is true of a feedback model, for those who combine it with others."""

    random: bool = False  # whether it needs a uniform number for every arm and round
    anonymous: bool = False  # whether rewards of different plays come back as one sum
    immediate: bool = False  # whether every reward is known at the end of its own round
    biased: bool = False  # whether the time that a reward takes depends on the reward


class FeedbackRules(NamedTuple):
    """How the compiled engine lets rewards arrive."""

    kind: str  # "at once", "singly", or the name of a profile
    quantile: Quantile | None = None  # of delays; where rewards arrive singly
    first: int = 0  # rounds of a profile
    last: int = 0
    factor: float = 0.0  # of a discounted one
    best: int | None = None  # the arm whose rewards are held back; None: that of the largest mean


class Spread(Protocol):
    """How the total of a play is spread over the rounds after it, where neither the arm nor the plays change it."""

    @property
    def traits(self) -> FeedbackTraits:
        """The traits of the feedback; a random spread sends each total whole."""
        ...

    @property
    def longest(self) -> float:
        """The last round after a play in which a part arrives; inf without an end."""
        ...

    def tail(self, lags: Array) -> Array:
        """The part of a total that arrives after so many rounds (1, 2, …) or later, on average, in [0, 1]."""
        ...

    def tail_sums(self) -> tuple[float, float]:
        """The sums over lags 1, 2, … of `tail` and of its square, in rounds; inf where a sum has no limit."""
        ...


class FeedbackModel(Part, ABC):
    """A model of when rewards become known. A class of your own needs `open`; the other members have defaults.

    Example:
        >>> from evenhand import Environment, Feedback
        >>> from evenhand.feedback import FeedbackModel
        >>> from evenhand.rewards import Bernoulli
        >>> class Halved(FeedbackModel):
        ...     def open(self, shape, rounds):
        ...         return self
        ...     def send(self, played, earned, chance):
        ...         return Feedback(received=played, rewards=earned / 2)
        >>> Environment(Bernoulli([0.9, 0.8]), feedback=Halved()).feedback.traits.random
        False
    """

    traits: ClassVar[FeedbackTraits] = FeedbackTraits()

    @by_default
    def named(self) -> bool:
        """Whether each reward comes with the pull that it belongs to; by default not."""
        return False

    @by_default
    def spread(self) -> Spread | None:
        """How totals are spread over time; None where the arm or the plays change it, or nothing is known of it."""
        return None

    def arrivals(self, latest: int, rewards: Rewards) -> list[Steps] | None:
        """The share of the rewards that is known so long after a play; None if that cannot be said.

        Args:
            latest: the last round after a play that is asked for.
            rewards: what the plays earn.

        Returns:
            For each arm, or once for all: rounds after the play, (rounds,), and the share known by then, in [0, 1].
        """
        if self.spread is None:
            return None
        rounds = np.arange(min(self.spread.longest, float(latest)) + 1.0)
        return [(rounds, 1.0 - self.spread.tail(rounds + 1.0))]

    def check(self, arms: int) -> None:
        """Raise `EvenhandError` if a parameter is for another number of arms; by default any number fits.

        Args:
            arms: number of arms of the environment.
        """

    @abstractmethod
    def open(self, shape: Shape, rounds: int) -> Channel:
        """A channel for lanes of the given shape (…, arms) and that many rounds, with nothing under way.

        Args:
            shape: (…, arms).
            rounds: number of rounds of the run.
        """

    def open_for(self, means: Array, unit: Unit | None, shape: Shape, rounds: int) -> Channel:
        """A channel for an environment: it takes rewards in the user's unit and returns them on the scale [0, 1].

        Args:
            means: expected rewards of the environment, (arms,) or (lanes, arms).
            unit: the unit of the rewards; None if they are in [0, 1] already.
            shape: (…, arms).
            rounds: number of rounds.
        """
        channel = self.open(shape, rounds)
        return channel if unit is None else Scaled(channel, unit)


class Scaled:
    """A channel for rewards in another unit, which carries them on the scale [0, 1]."""

    def __init__(self, channel: Channel, unit: Unit) -> None:
        self._channel, self._unit = channel, unit

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take rewards in the unit; return feedback on the scale [0, 1]."""
        return self._channel.send(played, (earned - self._unit.low * played) / self._unit.width, chance)


@part("feedback", "immediate")
@frozen(eq=False)
class Immediate(FeedbackModel):
    """Every reward is known at the end of its own round.

    Example:
        >>> import numpy as np
        >>> played, earned = np.array([True, False]), np.array([0.5, 0.0])
        >>> Immediate().open((2,), rounds=1).send(played, earned, None).rewards
        array([0.5, 0. ])
    """

    traits = FeedbackTraits(immediate=True)
    named = True
    longest = 0.0

    @property
    def spread(self) -> Spread:
        """All in the round of the play."""
        return self

    def tail(self, lags: Array) -> Array:
        """Nothing is left.

        Args:
            lags: rounds since the play, any shape.

        Returns:
            Zeros, as the lags.
        """
        return np.zeros_like(lags)

    def tail_sums(self) -> tuple[float, float]:
        """Nothing is left.

        Returns:
            The sums over all lags of the tail and of its squares, in rounds: zero.
        """
        return 0.0, 0.0

    def rules(self) -> FeedbackRules:
        """At once."""
        return FeedbackRules("at once")

    def open(self, shape: Shape, rounds: int) -> Immediate:
        """Nothing is ever under way, so the model is its own channel."""
        return self

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Everything that was earned, now.

        Args:
            played: (…, arms), who plays.
            earned: (…, arms), rewards, 0 for arms that do not play.
            chance: is not used.
        """
        return Feedback(received=played, rewards=earned)
