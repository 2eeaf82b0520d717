"""When and how a policy hears of what its plays earned.

A feedback model is given every round's plays and returns what becomes known at the end of that round. Models that keep
rewards back hold them in a queue of their own, one for each block of lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.records import Feedback, Mask, Shape


class Channel(Protocol):
    """The way from plays to feedback for one block of lanes."""

    def send(self, played: Mask, earned: NDArray[Any], rng: np.random.Generator) -> Feedback:
        """Take in a round's plays and rewards, (…, arms); return what becomes known at its end."""
        ...


class FeedbackModel(Protocol):
    """A model of when rewards become known."""

    def open(self, shape: Shape) -> Channel:
        """A channel for lanes of the given shape (…, arms), with nothing under way."""
        ...


@dataclass(frozen=True)
class Immediate:
    """Every reward is known at the end of its own round.

    Example:
        >>> import numpy as np
        >>> played, earned = np.array([True, False]), np.array([0.5, 0.0])
        >>> Immediate().open((2,)).send(played, earned, np.random.default_rng(0)).rewards
        array([0.5, 0. ])
    """

    def open(self, shape: Shape) -> Immediate:
        """Nothing is ever under way, so the model is its own channel."""
        return self

    def send(self, played: Mask, earned: NDArray[Any], rng: np.random.Generator) -> Feedback:
        """Everything that was earned, now."""
        return Feedback(received=played, rewards=earned)
