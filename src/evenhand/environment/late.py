"""Delayed rewards: the base class of delay models, and the channel that holds rewards back.

A delay model is a quantile function: it takes a level u in [0, 1), the arm and the reward, and returns a whole number
of rounds, which may be infinite. One uniform number for every arm and round, whether the arm plays or not, makes every
policy face the same delays. A play of round s with delay D is known at the end of round s + D.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.state import Array, Feedback, Mask, Shape, Unit
from evenhand.core.validate import PerArm
from evenhand.environment.feedback import FeedbackModel, FeedbackRules, FeedbackTraits, Steps
from evenhand.environment.rewards import Rewards
from evenhand.environment.timing_wheel import NamedWheel, TimingWheel

Arms = NDArray[np.intp]
LATEST = 2.0**53  # larger whole numbers cannot be distinguished
BISECTIONS = 60
ROUNDING = 1e-12  # a level counts as reached if it is missed by no more
LEVELS = np.concatenate([np.linspace(0.0005, 0.999, 1000), np.linspace(0.999, 1.0, 101)[1:]])  # of `arrivals`


@frozen(eq=False)
class Delay(FeedbackModel):
    """A model of delays, and with it a feedback model. A class of your own needs `quantile`.

    Args:
        named: whether each reward comes with the pull that it belongs to, as in a service; only policies that go by
            the age of pulls need that.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.delays import Delay
        >>> from evenhand.rewards import Bernoulli
        >>> class SecondArmIsLate(Delay):
        ...     def quantile(self, level, arm, reward):
        ...         return np.where(arm == 1, 10.0, 0.0)
        >>> SecondArmIsLate().quantiles(0.5, means=[0.8, 0.5])
        array([ 0., 10.])
        >>> Environment(Bernoulli([0.8, 0.5]), feedback=SecondArmIsLate()).arms
        2
    """

    named: bool = field(default=False, kw_only=True, converter=validate.truth)

    traits = FeedbackTraits(random=True)

    @abstractmethod
    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The smallest d with ``P(D ≤ d) ≥ level``, for each of n plays.

        Args:
            level: (n,), in [0, 1].
            arm: (n,), index of the arm.
            reward: (n,), what the play earned, in the user's unit.

        Returns:
            (n,), whole rounds ≥ 0, or inf.
        """

    def open(self, shape: Shape, rounds: int) -> Late:
        """A channel for lanes of the given shape (…, arms), with nothing under way."""
        return Late(self, shape, rounds)

    def open_for(self, means: Array, unit: Unit | None, shape: Shape, rounds: int) -> Late:
        """A channel that draws delays by the reward in the user's unit and carries it on the scale [0, 1]."""
        return Late(self, shape, rounds, unit)

    def quantiles(self, level: PerArm, means: Sequence[float] | Array) -> Array:
        """The quantile of every arm's delay, d_i(q), when rewards are 0 or 1 with the given means.

        Args:
            level: q in (0, 1], a number or (levels,).
            means: (arms,), probability of a reward of 1.

        Returns:
            (arms,) or (levels, arms), whole rounds, or inf.

        Raises:
            EvenhandError: a level or a mean is not in [0, 1].

        Example:
            >>> from evenhand.delays import ByReward, Geometric
            >>> Geometric(success=0.05).quantiles(0.5, [0.3, 0.9])
            array([14., 14.])
            >>> ByReward([[0, 6000], [6000, 0]]).quantiles([0.5, 0.9], [0.3, 0.9])
            array([[   0.,    0.],
                   [6000.,    0.]])

        Source: Chen et al. 2024, section 3.
        """
        mean = validate.per_arm("means", means, 0.0, 1.0)
        levels = validate.per_arm_or_one("level", level, 0.0, 1.0)
        plays = _Plays(self, np.tile(np.arange(len(mean)), len(levels)), np.tile(mean, len(levels)))
        delays = plays.quantile(np.repeat(levels, len(mean))).reshape(len(levels), len(mean))
        return delays if np.ndim(level) else delays[0]

    def arrivals(self, latest: int, rewards: Rewards) -> list[Steps]:
        """For each arm by the quantiles of its delay; of a biased one where rewards are not coins, by drawn rewards."""
        means, traits = rewards.means, rewards.traits
        coins = traits.binary and not traits.drifting and means.ndim == 1
        if self.traits.biased and not coins:
            return [_of_levels(late) for late in self._drawn(rewards)]
        late = self.quantiles(LEVELS, means if coins else np.full(means.shape[-1], 0.5))
        return [_of_levels(each) for each in late.T]

    def _drawn(self, rewards: Rewards) -> Array:
        """The delays of each arm at `LEVELS`, from 400 of its rewards, (arms, levels)."""
        rng, shape = np.random.default_rng(0), rewards.means.shape
        number = shape[-1]
        drawn = rewards.draw(rng, rng.integers(0, rewards.rows or 1, (400, 1)), shape[0] if len(shape) == 2 else 1)
        earned = drawn.reshape(-1, number)[:, :, None]
        sizes = (*earned.shape[:2], len(LEVELS) // 4)
        chances = np.broadcast_to((np.arange(sizes[-1]) + 0.5) / sizes[-1], sizes)
        arms = np.broadcast_to(np.arange(number)[:, None], sizes)
        late = self.quantile(chances.ravel(), arms.ravel(), np.broadcast_to(earned, sizes).ravel())
        ordered = np.sort(late.reshape(sizes).swapaxes(0, 1).reshape(number, -1), axis=1)
        return ordered[:, np.ceil(LEVELS * ordered.shape[1]).astype(int) - 1]


def singly(delay: Delay) -> FeedbackRules | None:
    """Each reward arrives by itself; the compiled engine does not tell which pull it belongs to."""
    return None if delay.named else FeedbackRules("singly", delay.quantile)


def _of_levels(late: Array) -> Steps:
    """The distinct delays, and the largest level that each reaches."""
    known = np.isfinite(late)
    rounds, last = np.unique(late[known][::-1], return_index=True)
    return rounds, LEVELS[known][::-1][last]


@dataclass(frozen=True, eq=False)
class _Plays:
    """One play of each of some arms; its reward is 1 with the given probability, else 0."""

    delay: Delay
    arm: Arms  # (n,)
    mean: Array  # (n,), probability of a reward of 1

    def quantile(self, level: Array) -> Array:
        """The smallest d with ``P(D ≤ d) ≥ level``, (n,)."""
        zero = self.delay.quantile(level, self.arm, np.zeros(len(level)))
        if not self.delay.traits.biased:
            return zero
        one = self.delay.quantile(level, self.arm, np.ones(len(level)))
        low, high = np.minimum(zero, one) - 1.0, np.minimum(np.maximum(zero, one), LATEST)
        level = level - ROUNDING
        never = self._within(high) < level
        for _ in range(BISECTIONS):
            middle = np.floor((low + high) / 2.0)
            enough = self._within(middle) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(never, np.inf, high)

    def _within(self, rounds: Array) -> Array:
        """``P(D ≤ rounds)``, (n,)."""
        return (1.0 - self.mean) * self._given(rounds, 0.0) + self.mean * self._given(rounds, 1.0)

    def _given(self, rounds: Array, reward: float) -> Array:
        """``P(D ≤ rounds)`` given the reward, (n,): the largest level whose quantile is not above."""
        rewards = np.full(len(rounds), reward)
        low, high = np.zeros(len(rounds)), np.ones(len(rounds))
        always = self.delay.quantile(high, self.arm, rewards) <= rounds
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            inside = self.delay.quantile(middle, self.arm, rewards) <= rounds
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.where(always, 1.0, low)


class Late:
    """The way from plays to feedback for one block of lanes, under a delay model."""

    def __init__(self, delay: Delay, shape: Shape, rounds: int, unit: Unit | None = None) -> None:
        """Nothing is under way; rewards in a ``unit`` are carried on the scale [0, 1]."""
        self._delay, self._shape, self._rounds, self._unit = delay, shape, rounds, unit
        self._wheel: TimingWheel | None = None
        self.awaited = 0  # rewards of the last plays that are under way and will arrive before the horizon

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take the plays and rewards of a round, (…, arms); return what becomes known at its end."""
        places = np.flatnonzero(played)
        rewards = earned.ravel()[places]
        level = np.zeros(len(places)) if chance is None else chance.ravel()[places]
        arms = places % self._shape[-1]
        delays = self._checked(np.asarray(self._delay.quantile(level, arms, rewards)), arms)
        if self._unit is not None:
            rewards = (rewards - self._unit.low) / self._unit.width
        if self._wheel is None:
            kind = NamedWheel if self._delay.named else TimingWheel
            self._wheel = kind(math.prod(self._shape), self._rounds, rewards.dtype)
        self.awaited = self._wheel.put(delays, places, rewards)
        counts, sums = self._wheel.turn()
        answers = self._wheel.answers if isinstance(self._wheel, NamedWheel) else None
        return Feedback(counts.reshape(self._shape), sums.reshape(self._shape), answers)

    def _checked(self, delays: Array, arms: Arms) -> Array:
        """The delays, if there is one of at least 0 for each play."""
        if delays.shape != arms.shape:
            raise EvenhandError(
                f"{type(self._delay).__name__}.quantile returned shape {delays.shape} for {len(arms)} plays; "
                "it must return one delay for each"
            )
        valid = delays >= 0.0
        if not valid.all():
            place = int(valid.argmin())
            raise EvenhandError(
                f"{type(self._delay).__name__}.quantile returned {float(delays[place])!r} for arm "
                f"{int(arms[place]) + 1}; a delay is a number of rounds of at least 0, or inf"
            )
        return delays

    def under_way(self) -> int:
        """Number of rewards that will become known before the horizon."""
        return 0 if self._wheel is None else self._wheel.under_way()
