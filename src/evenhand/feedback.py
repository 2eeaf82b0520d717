"""When and how a policy hears of what its plays earned.

A feedback model is given every round's plays and returns what becomes known at the end of that round. Models that keep
rewards back (`evenhand.delays`) hold them in a channel of their own, one for each block of lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from evenhand.records import Array, Feedback, Mask, Shape


class Channel(Protocol):
    """The way from plays to feedback for one block of lanes."""

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take in a round's plays and rewards, (…, arms); return what becomes known at its end.

        Args:
            played: True where an arm plays.
            earned: what the played arms earned, 0 elsewhere.
            chance: uniform numbers in [0, 1) for every arm, whether it plays or not; None for a model without chance.
        """
        ...


class FeedbackModel(Protocol):
    """A model of when rewards become known."""

    @property
    def random(self) -> bool:
        """Whether chance has a part in it: a uniform number for every arm and round."""
        ...

    def check(self, arms: int) -> None:
        """Complain if a parameter is meant for another number of arms."""
        ...

    def open(self, shape: Shape, rounds: int) -> Channel:
        """A channel for lanes of the given shape (…, arms) and that many rounds, with nothing under way."""
        ...


@dataclass(frozen=True)
class Immediate:
    """Every reward is known at the end of its own round.

    Example:
        >>> import numpy as np
        >>> played, earned = np.array([True, False]), np.array([0.5, 0.0])
        >>> Immediate().open((2,), rounds=1).send(played, earned, None).rewards
        array([0.5, 0. ])
    """

    random: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def open(self, shape: Shape, rounds: int) -> Immediate:
        """Nothing is ever under way, so the model is its own channel."""
        return self

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Everything that was earned, now."""
        return Feedback(received=played, rewards=earned)
