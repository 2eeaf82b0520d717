"""Counts by age: how many pulls are at least so many rounds old, and what is known of them by now.

Rounds are put into segments by their number alone, each as long as the next younger one or twice as long. So a pull
gets older whatever it earned, and the pulls up to a boundary between segments are a fair sample of an arm's rewards,
however delays depend on them. Everything is counted exactly, with +, −, ×, ÷ and comparisons in a fixed order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

LEVELS = 20  # of segments; those of level j have 2^j rounds, and what is older than 2^21 rounds is one segment
SEGMENTS = 2 * LEVELS + 1
PULLS, RECEIVED, REWARDS = range(3)
BINS = 22  # of delays: 0, 1, 2 to 3, 4 to 7, …
ENOUGH = 20.0  # rewards of a delay that is tested
FIRST_LOOK = 40.0  # rewards of an arm at its first test; the next is after twice as many
LEVEL = 4.605170185988091  # ln(1/δ) for δ = 0.01, over all tests of an arm
HALVING = 0.6931471805599453  # ln 2, since the j-th test has level δ/2^j


@dataclass(frozen=True, slots=True)
class Answers:
    """Rewards that arrived, each with the pull that it belongs to.

    Example:
        >>> import numpy as np
        >>> from evenhand.typing import Answers
        >>> answers = Answers(places=np.array([5]), delays=np.array([0]), rewards=np.array([0.5]))
        >>> np.divmod(answers.places, 3)  # the lane and the arm, where there are three arms
        (array([1]), array([2]))
    """

    places: NDArray[np.intp]  # (n,) flat place of the pull, lane · arms + arm
    delays: Numbers  # (n,) rounds since the pull; 0 for the round that ends now
    rewards: Array  # (n,) on the scale [0, 1]
    situation: Array | None = None  # (n, d) features of the situation at the pull; None: there are none
    arms: Array | None = None  # (n, d_arm) features of the pulled arm; None: there are none

    @classmethod
    def at_once(cls, received: NDArray[np.generic], rewards: NDArray[np.generic]) -> Answers:
        """Rewards of the round that ends now.

        Args:
            received: (…, arms), how many arrived of each arm, at most 1.
            rewards: (…, arms), their sum.

        Raises:
            EvenhandError: more than one arrived of an arm.

        Example:
            >>> import numpy as np
            >>> from evenhand.typing import Answers
            >>> Answers.at_once(np.array([0, 1]), np.array([0.0, 0.5])).places
            array([1])
        """
        if np.any(np.asarray(received, dtype=float) > 1.0):
            raise EvenhandError(
                "rewards arrived for pulls of earlier rounds, without their pulls: counts by age need feedback that "
                "names its pulls, Feedback(received, rewards, answers=...)"
            )
        places = np.flatnonzero(received)
        return cls(places, np.zeros(len(places), dtype=np.int64), np.ravel(rewards)[places].astype(float))


@dataclass(slots=True)
class Delays:
    """Rewards by their delay, and whether the two were found to depend on each other."""

    counts: Array  # (…, bins, arms) rewards that arrived after such a delay
    rewards: Array  # (…, bins, arms) their sum
    tests: Array  # (…, arms) tests so far
    next: Array  # (…, arms) rewards at which the next test is due
    testable: Mask  # (…, arms) True where the last test had two delays to compare
    disproved: Mask  # (…, arms) True where a test found that rewards depend on their delay

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Delays:
        """Nothing has arrived."""
        bins, no = (*shape[:-1], BINS, shape[-1]), np.zeros(shape, dtype=bool)
        return cls(np.zeros(bins), np.zeros(bins), np.zeros(shape), np.full(shape, FIRST_LOOK), no, no.copy())

    def add(self, answers: Answers, received: Array) -> None:
        """Count rewards, and test again the arms with twice as many as at their last test."""
        lanes, arms = np.divmod(answers.places, self.tests.shape[-1])
        bins = np.frexp(answers.delays)[1].clip(0, BINS - 1)
        np.add.at(_by_lane(self.counts, 2), (lanes, bins, arms), 1.0)
        np.add.at(_by_lane(self.rewards, 2), (lanes, bins, arms), answers.rewards)
        due = received >= self.next
        if due.any():
            self.tests += due
            self.next += self.next * due
            testable, differ = self._tested()
            np.copyto(self.testable, testable, where=due)
            self.disproved |= due & differ

    def _tested(self) -> tuple[Mask, Mask]:
        """Whether there are two delays to compare, and whether their mean rewards differ by more than chance allows.

        ``χ² = Σ (s_b − n_b ȳ)²/(n_b ȳ (1 − ȳ))`` over the delays with 20 rewards or more. With d + 1 of them, χ²
        exceeds ``d + 2 sqrt(d x) + 2 x`` with probability e^−x at most (Laurent & Massart 2000, Lemma 1).
        """
        enough = self.counts >= ENOUGH
        used = np.flatnonzero(enough.any(axis=tuple(i for i in range(enough.ndim) if i != enough.ndim - 2)))
        number, total, earned, misses = (np.zeros(self.tests.shape) for _ in range(4))
        for b in used:
            number += enough[..., b, :]
            total += self.counts[..., b, :] * enough[..., b, :]
            earned += self.rewards[..., b, :] * enough[..., b, :]
        mean = earned / np.maximum(total, 1.0)
        for b in used:
            miss = (self.rewards[..., b, :] - self.counts[..., b, :] * mean) * enough[..., b, :]
            misses += miss * miss / np.maximum(self.counts[..., b, :], 1.0)
        variance, free, x = mean * (1.0 - mean), np.maximum(number - 1.0, 0.0), LEVEL + self.tests * HALVING
        beyond = misses - (free + 2.0 * x) * variance
        differ = (number > 1.0) & (beyond > 0.0) & (beyond * beyond > 4.0 * free * x * variance * variance)
        return number > 1.0, differ


@dataclass(slots=True)
class Cohorts:
    """Pulls, rewards received and their sums, by segments of rounds."""

    counts: Array  # (…, segments, 3, arms) pulls, rewards received and their sum, the youngest segment first
    delays: Delays | None = None  # None where it is not asked whether rewards depend on their delay
    round: int = 0  # rounds up to now

    @classmethod
    def empty(cls, shape: tuple[int, ...], tested: bool = False) -> Cohorts:
        """Nothing has happened, for arrays of such a shape (…, arms)."""
        # Segments come first in memory, so that sums over them are fast for many lanes.
        counts = np.moveaxis(np.zeros((SEGMENTS, 3, *shape)), (0, 1), (-3, -2))
        return cls(counts, Delays.empty(shape) if tested else None)

    def pull(self, played: Mask) -> None:
        """Count the pulls of a new round, (…, arms); two old segments of one length become one."""
        counts, before, level = self.counts, self.round, 0
        self.round += 1
        carried = np.zeros(counts[..., 0, :, :].shape)
        carried[..., PULLS, :] = played
        while level < LEVELS:  # `before` is how often this level was added to
            new, old = counts[..., 2 * level, :, :], counts[..., 2 * level + 1, :, :]
            if before % 2 or not before:
                old[...] = new
                new[...] = carried
                return
            merged = new + old
            new[...], old[...] = carried, 0.0
            carried, before, level = merged, before // 2 - 1, level + 1
        counts[..., -1, :, :] += carried

    def receive(self, answers: Answers, received: Array) -> None:
        """Count rewards at the end of a round."""
        if not answers.places.size:
            return
        edges = ages(self.round)
        segments = np.searchsorted(edges, answers.delays, side="right")
        if segments.max() >= len(edges):
            raise EvenhandError(
                f"a reward is {answers.delays.max()} rounds late, but only {self.round} have been played"
            )
        lanes, arms = np.divmod(answers.places, self.counts.shape[-1])
        counts = _by_lane(self.counts, 3)
        np.add.at(counts[:, :, RECEIVED], (lanes, segments, arms), 1.0)
        np.add.at(counts[:, :, REWARDS], (lanes, segments, arms), answers.rewards)
        if self.delays is not None:
            self.delays.add(answers, received)

    def by_age(self) -> Array:
        """Pulls that are at least so old, those of them whose rewards have arrived, and the sum of these."""
        used = max(len(ages(self.round)), 1)
        counts = np.moveaxis(self.counts, (-3, -2), (0, 1))[:used]
        sums = np.add.accumulate(counts[::-1], axis=0)[::-1]
        return sums.swapaxes(0, 1)


@lru_cache(maxsize=4)
def ages(round: int) -> Numbers:
    """The age at which the pulls of each segment end, in rounds, (segments in use,): the sums of their lengths."""
    lengths, added, level = [], round, 0
    while added and level < LEVELS:
        double = added > 1 and added % 2 == 0
        lengths += [1 << level, (1 << level) * double]
        added, level = max((added - 1) // 2, 0), level + 1
    if added:
        lengths.append(added << LEVELS)
    while lengths and not lengths[-1]:
        lengths.pop()
    return np.cumsum(np.array(lengths, dtype=np.int64))


def _by_lane(array: Array, axes: int) -> Array:
    """The array with an axis of lanes before so many others, a view."""
    return array if array.ndim > axes else array[np.newaxis]
