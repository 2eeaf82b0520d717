"""Fairness in expectation: how fast what is missing to the promised shares vanishes, from measured plays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_reach


@dataclass(frozen=True)
class ExpectedFairness:
    """With which α a policy is α-fair, as far as measured plays say.

    Example:
        >>> ExpectedFairness(alpha=0.8, low=0.7, high=0.9, round=100, arm=0).holds(0.5)
        True
    """

    # the largest α for which the mean deficits keep ``r_i − E N_i(t)/t ≤ t^{−α}``; inf where no arm is ever behind on
    # average
    alpha: float
    low: float  # lower end of its confidence interval: for every α up to it the policy is α-fair
    high: float  # upper end: for no α above it
    round: int  # t of the mean deficit that sets α
    arm: int  # the arm whose deficit it is, counted from 0

    def holds(self, alpha: float) -> bool | None:
        """Whether the policy is α-fair; None where the interval leaves it open.

        Args:
            alpha: α, an exponent of at least 0.

        Example:
            >>> found = ExpectedFairness(alpha=0.8, low=0.7, high=0.9, round=100, arm=0)
            >>> found.holds(0.5), found.holds(1.0), found.holds(0.75)
            (True, False, None)
        """
        return True if alpha <= self.low else False if alpha > self.high else None


def expected_fairness(
    rounds: ArrayLike, pulls: ArrayLike, fractions: ArrayLike, confidence: float = 0.95
) -> ExpectedFairness:
    """The largest α with ``r_i − E N_i(t)/t ≤ t^{−α}`` for all arms i and all t ≥ 2 that were looked at.

    With ``D = r_i t − E N_i(t)`` the condition is ``D ≤ t^{1−α}``, so ``α ≤ 1 − ln D/ln t`` wherever D > 0; at t = 1
    every policy satisfies it. The interval comes from Student's intervals of the D over the lanes, corrected for their
    number (Bonferroni), so that it covers α for all arms and rounds together. Between the rounds that were looked at
    nothing is known: to look at all of them, simulate with ``checkpoints=horizon``.

    Args:
        rounds: (checkpoints,), t ≥ 1.
        pulls: (checkpoints, lanes, arms), plays, as in ``results.policies[label].pulls``.
        fractions: (arms,), promised shares r_i, or one number for all arms.
        confidence: of the interval, in (0, 1).

    Raises:
        EvenhandError: shapes do not fit, there are fewer than two lanes, or no round is later than the first.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(fucb([0.2, 0.3]), Environment(Bernoulli([0.8, 0.5])), 100, 400, checkpoints=100)
        >>> expected_fairness(results.rounds, results.policies["fucb"].pulls, [0.2, 0.3]).holds(1.0)
        True

    Source: Patil et al. 2019, Definitions 2 and 3.
    """
    if not 0.0 < validate.number("confidence", confidence, 0.0, 1.0) < 1.0:
        raise EvenhandError(f"confidence must be between 0 and 1, got {confidence!r}")
    time, plays = np.asarray(rounds, dtype=float), np.asarray(pulls, dtype=float)
    if plays.ndim != 3 or len(plays) != len(time):
        raise EvenhandError(f"pulls must have shape ({len(time)}, lanes, arms), got {plays.shape}")
    if plays.shape[1] < 2 or not (time > 1.0).any():
        raise EvenhandError(
            f"an interval needs two lanes and a round after the first, got pulls of shape {plays.shape} and rounds "
            f"{shown(rounds)}"
        )
    late = time > 1.0
    time, plays = time[late], plays[late]
    deficits = np.asarray(fractions, dtype=float) * time[:, np.newaxis, np.newaxis] - plays
    mean, reach = _mean_and_reach(deficits, confidence)
    powers = _powers(time, mean)
    worst, arm = np.unravel_index(int(powers.argmin()), powers.shape)
    low, high = (float(_powers(time, mean + side * reach).min()) for side in (1.0, -1.0))
    return ExpectedFairness(float(powers[worst, arm]), low, high, int(time[worst]), int(arm))


def _mean_and_reach(deficits: Array, confidence: float) -> tuple[Array, Array]:
    """Means over the lanes and half their intervals, (checkpoints, arms), all of which hold together."""
    looks = deficits.shape[0] * deficits.shape[2]
    return mean_and_reach(np.moveaxis(deficits, 1, -1), 1.0 - (1.0 - confidence) / looks)


def _powers(time: Array, deficits: Array) -> Array:
    """``1 − ln D/ln t``, (checkpoints, arms); inf where nothing is missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = 1.0 - np.log(np.maximum(deficits, 0.0)) / np.log(time)[:, np.newaxis]
    return np.asarray(np.where(deficits > 0.0, powers, np.inf))
