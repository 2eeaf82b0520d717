"""Rewards of 0 and 1 whose means change over the rounds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, number_of
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array
from evenhand.core.validate import PerArm, Rows
from evenhand.environment.rewards import UNIT, Rewards, RewardTraits


class DriftingRewards(Rewards):
    """Rewards of 0 and 1 with means that depend on the round. An own model needs ``means`` and `means_at`."""

    traits = RewardTraits(in_hindsight=True, binary=True, drifting=True)

    range = UNIT

    @abstractmethod
    def means_at(self, rows: NDArray[np.intp]) -> Array:
        """The means in some rounds, (rounds, arms).

        Args:
            rows: (rounds,), counted from 0.
        """

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """0/1 rewards as booleans, (rounds, lanes, arms)."""
        means = self.means_at(rows[:, 0])
        return np.asarray(rng.random((len(rows), lanes, means.shape[-1])) < means[:, np.newaxis])


def _table(value: Rows) -> Array:
    return validate.table("", value, 0.0, 1.0)


@part("rewards", "piecewise")
@frozen(eq=False)
class Piecewise(DriftingRewards):
    """Reward 1 with a probability that jumps: the means of a piece hold until the next one starts.

    Args:
        pieces: (pieces, arms), the means of each piece, in [0, 1].
        starts: (pieces,), the round in which each piece starts, ascending; the first is 1.

    Raises:
        EvenhandError: the starts do not ascend from 1, or there is not one per piece.

    Example:
        >>> rewards = Piecewise([[0.5, 0.4], [0.5, 0.9]], starts=[1, 4])
        >>> rewards.means_at(np.array([0, 2, 3])).tolist()  # of rounds 1, 3 and 4
        [[0.5, 0.4], [0.5, 0.4], [0.5, 0.9]]
    """

    pieces: Array = field(converter=_table)
    starts: Array = field(converter=validate.whole_numbers)

    def __attrs_post_init__(self) -> None:
        starts = self.starts.tolist()
        if len(starts) != len(self.pieces):
            raise EvenhandError(
                f"has {number_of(len(starts), 'entry', 'entries')} for {number_of(len(self.pieces), 'piece')}", "starts"
            )
        if starts[0] != 1 or (np.diff(starts) <= 0).any():
            raise EvenhandError(f"must ascend from 1, got {[int(start) for start in starts]}", "starts")

    @property
    def means(self) -> Array:
        """The means of the first piece, (arms,)."""
        return np.asarray(self.pieces[0])

    def means_at(self, rows: NDArray[np.intp]) -> Array:
        """The means of the pieces that the rounds are in, (rounds, arms)."""
        return np.asarray(self.pieces[np.searchsorted(self.starts, rows + 1, side="right") - 1])


@part("rewards", "sinusoidal")
@frozen(eq=False)
class Sinusoidal(DriftingRewards):
    """Reward 1 with a probability that swings: ``c_i + a_i cos(2π (t/T_i + φ_i))``.

    Args:
        centers: c_i, (arms,), the means about which they swing.
        amplitudes: a_i ≥ 0, one number or one per arm; 0 for an arm whose mean stays.
        period: T_i > 0, rounds; one number or one per arm.
        phases: φ_i, in periods; one number or one per arm.

    Raises:
        EvenhandError: a mean would leave [0, 1], or the numbers of arms differ.

    Example:
        >>> rewards = Sinusoidal([0.5, 0.5], amplitudes=[0.4, 0.0], period=4)
        >>> rewards.means_at(np.arange(4)).round(3)[:, 0]  # of rounds 1 to 4
        array([0.5, 0.1, 0.5, 0.9])
    """

    centers: Array = field(converter=validate.units_of_all_lanes)
    amplitudes: Array = field(converter=validate.nonnegatives)
    period: Array = field(converter=validate.nonnegatives)
    phases: Array = field(default=0.0, converter=validate.nonnegatives)

    def __attrs_post_init__(self) -> None:
        for name in ("amplitudes", "period", "phases"):
            validate.same_length(name, getattr(self, name), self.centers, "centers")
        if (self.period <= 0.0).any():
            raise EvenhandError("must be above 0", "period")
        if (self.centers + self.amplitudes > 1.0 + 1e-12).any() or (self.centers - self.amplitudes < -1e-12).any():
            raise EvenhandError("centers and amplitudes must keep the means in [0, 1]; take smaller amplitudes")

    @property
    def means(self) -> Array:
        """The centers, (arms,)."""
        return self.centers

    def means_at(self, rows: NDArray[np.intp]) -> Array:
        """The means, (rounds, arms)."""
        angle = 2.0 * np.pi * ((rows[:, np.newaxis] + 1.0) / self.period + self.phases)
        return np.asarray(np.clip(self.centers + self.amplitudes * np.cos(angle), 0.0, 1.0))


@part("rewards", "varying")
@frozen(eq=False)
class Varying(DriftingRewards):
    """Reward 1 with a probability of each round's own, from a table.

    Args:
        probabilities: (rows, arms), the means in each round, in [0, 1].

    Example:
        >>> Varying([[0.2, 0.8], [0.6, 0.4]]).means
        array([0.4, 0.6])
    """

    probabilities: Array = field(converter=_table)

    @property
    def means(self) -> Array:
        """The means over the rounds, (arms,)."""
        return np.asarray(self.probabilities.mean(axis=0))

    @property
    def rows(self) -> int:
        """Rounds that the table holds."""
        return len(self.probabilities)

    def means_at(self, rows: NDArray[np.intp]) -> Array:
        """The rows of the table, (rounds, arms)."""
        return np.asarray(self.probabilities[rows])


def best_dynamic(gains: Array, plays: int, fractions: PerArm | None = None, available: Any = None) -> Array:
    """The largest expected reward of a round in which the means are known, (…,).

    Without promises the m largest gains; with promised shares each arm first plays with its share, and what is left
    goes to the largest gains, no arm above one.
    """
    if fractions is None:
        worth = gains if available is None else np.where(available, gains, 0.0)
        return np.asarray(np.sort(worth, axis=-1)[..., ::-1][..., :plays].sum(axis=-1))
    shares = np.broadcast_to(np.asarray(fractions, dtype=float), gains.shape)
    order = np.argsort(-gains, axis=-1, kind="stable")
    sorted_gains, floor = np.take_along_axis(gains, order, -1), np.take_along_axis(shares, order, -1)
    left = plays - floor.sum(axis=-1, keepdims=True)
    room = 1.0 - floor
    more = np.clip(left - (np.cumsum(room, axis=-1) - room), 0.0, room)
    return np.asarray(((floor + more) * sorted_gains).sum(axis=-1))
