"""When and how a policy learns what its plays earned.

A feedback model takes the plays and rewards of every round and returns what becomes known at the end of that round.
Models that hold rewards back (`evenhand.environment.delays`, `evenhand.environment.profiles`) keep them in a channel,
one for each block of lanes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from attrs import frozen
from numpy.typing import NDArray

from evenhand.core.parts import Part, part
from evenhand.core.state import Array, Feedback, Mask, Shape, Unit


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


class FeedbackModel(Part, ABC):
    """A model of when rewards become known. A class of your own needs `open`; the other members have defaults.

    Example:
        >>> from evenhand import Environment
        >>> from evenhand.environment import Bernoulli
        >>> class Halved(FeedbackModel):
        ...     def open(self, shape, rounds):
        ...         return self
        ...     def send(self, played, earned, chance):
        ...         return Feedback(received=played, rewards=earned / 2)
        >>> Environment(Bernoulli([0.9, 0.8]), feedback=Halved()).feedback.random
        False
    """

    random: ClassVar[bool] = False  # whether it needs a uniform number for every arm and round
    anonymous: ClassVar[bool] = False  # whether rewards of different plays come back as one sum
    immediate: ClassVar[bool] = False  # whether every reward is known at the end of its own round
    named: bool = False  # whether each reward comes with the pull that it belongs to

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

        Returns:
            The channel.
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
    """A channel for rewards in another unit, which carries them on the scale [0, 1].

    Example:
        >>> import numpy as np
        >>> euros = Scaled(Immediate(), Unit(low=12.0, width=6.0))
        >>> euros.send(np.array([True, False]), np.array([15.0, 0.0]), None).rewards
        array([0.5, 0. ])
    """

    def __init__(self, channel: Channel, unit: Unit) -> None:
        self._channel, self._unit = channel, unit

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take rewards in the unit; return feedback on the scale [0, 1].

        Args:
            played: (…, arms), who plays.
            earned: (…, arms), rewards in the unit, 0 for arms that do not play.
            chance: (…, arms), uniform numbers in [0, 1); None where the model draws nothing.

        Returns:
            The feedback of the round.
        """
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

    immediate: ClassVar[bool] = True
    named: ClassVar[bool] = True  # type: ignore[misc]

    def open(self, shape: Shape, rounds: int) -> Immediate:
        """Nothing is ever under way, so the model is its own channel."""
        return self

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Everything that was earned, now.

        Args:
            played: (…, arms), who plays.
            earned: (…, arms), rewards, 0 for arms that do not play.
            chance: is not used.

        Returns:
            The feedback of the round.
        """
        return Feedback(received=played, rewards=earned)
