"""Composite anonymous feedback: rewards that spread over time and come back as one sum per round.

A play earns a total, which its profile spreads over the rounds that follow. What becomes known in a round is the sum of
all parts that arrive in it, whichever plays they belong to. The sum is credited to the arm that plays in that round,
in equal parts where several play, and to none where none does.

The profiles are in `evenhand.environment.profiles` and `evenhand.environment.kernel`, the adversaries in
`evenhand.environment.adversary`.

Source: Wang et al. 2021, section 3.1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.by_default import by_default
from evenhand.core.state import Array, Feedback, Mask, Shape
from evenhand.core.streams import over_arms
from evenhand.environment.feedback import FeedbackModel, FeedbackTraits
from evenhand.environment.timing_wheel import TimingWheel


class Flow(Protocol):
    """A profile at work on some lanes."""

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        """The sum that arrives in this round, (lanes,)."""
        ...


class AnonymousFeedback(FeedbackModel):
    """A profile of rewards over time, and with it a feedback model. A class of your own needs `flow`.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> class Lost(AnonymousFeedback):
        ...     def flow(self, lanes, rounds):
        ...         return self
        ...     def step(self, earned, played, chance):
        ...         return np.zeros(len(played))
        >>> Environment(Bernoulli([0.9, 0.8]), feedback=Lost()).feedback.traits.anonymous
        True
    """

    traits = FeedbackTraits(anonymous=True)

    @by_default
    def by_arm(self) -> bool:
        """Whether the profile needs the rewards of every arm, and not only their sum."""
        return self.traits.random

    @abstractmethod
    def flow(self, lanes: int, rounds: int) -> Flow:
        """The profile at work on so many lanes, with nothing under way.

        Args:
            lanes: number of lanes.
            rounds: number of rounds.

        Returns:
            What takes the totals earned in each round and gives the sums that arrive.
        """

    def open(self, shape: Shape, rounds: int) -> Sums:
        """A channel for lanes of the given shape (…, arms), with nothing under way."""
        return Sums(self.flow(math.prod(shape[:-1]), rounds), shape, self.by_arm)


class Sums:
    """The way from plays to anonymous sums for one block of lanes."""

    def __init__(self, flow: Flow, shape: Shape, by_arm: bool) -> None:
        """Nothing is under way."""
        self._flow, self._shape, self._by_arm = flow, shape, by_arm
        self._under_way = np.zeros(math.prod(shape[:-1]))

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take the plays and totals of a round, (…, arms); return the round's sum, credited to the arms that play."""
        totals = np.reshape(over_arms(earned), -1)
        arms = (-1, self._shape[-1])
        spread = np.reshape(earned, arms) if self._by_arm else totals
        arrived = self._flow.step(spread, played.reshape(arms), None if chance is None else chance.reshape(arms))
        self._under_way += totals
        self._under_way -= arrived
        share = arrived.reshape(self._shape[:-1]) / np.maximum(over_arms(played), 1.0)
        return Feedback(received=played, rewards=played * share[..., np.newaxis])

    def send_all(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Array:
        """What `send` returns as rewards, for rounds in which the same arms play."""
        totals = earned.sum(axis=-1, dtype=float)
        spread = earned if self._by_arm else totals
        chances = [None] * len(earned) if chance is None else chance
        arrived = np.array(
            [self._flow.step(*sent) for sent in zip(spread, [played] * len(earned), chances, strict=True)]
        )
        self._under_way += (totals - arrived).sum(axis=0)
        return np.asarray(played * (arrived / np.maximum(over_arms(played), 1.0))[..., np.newaxis])

    def under_way(self) -> Array:
        """What has been earned and has not arrived yet, (lanes,)."""
        return self._under_way.copy()


#: Delays of some plays, (n,): from their flat places (lane · arms + arm), the plays and the chance of the round.
Delays = Callable[[NDArray[np.intp], Mask, Array | None], Array]


class Delayed:
    """A flow in which every total arrives whole, after a delay."""

    def __init__(self, delays: Delays, lanes: int, rounds: int) -> None:
        """Nothing is under way."""
        self._delays, self._wheel = delays, TimingWheel(lanes, rounds, np.dtype(float))

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        """The sum that arrives in this round, (lanes,)."""
        plays = np.flatnonzero(earned)
        delays = self._delays(plays, played, chance)
        self._wheel.put(delays, plays // played.shape[1], earned.reshape(-1)[plays])
        return self._wheel.turn()[1]
