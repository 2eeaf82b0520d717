"""Intervals of shares and of mean rewards that hold at all times at once, however often one looks."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE

TILTS = tuple(3.0**power for power in range(1, -7, -1))  # λ; the smallest serves up to ten million values


def mean_interval(least: Array, most: Array, count: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Intervals of the mean of the values that were to be expected, each given the past; NaN where there are none.

    ``μ̄ ≥ max over λ of (exp((λ S − ln(2·8/0.05))/N) − 1)/(exp(λ) − 1)``, and the upper end likewise from ``N − S``

    The N values X lie in [0, 1]; S is their sum, and ``μ = E[X | past]`` may change from one to the next. Since
    ``exp(λ X) ≤ 1 + X (exp(λ) − 1)``, the product of ``exp(λ X)/(1 + μ (exp(λ) − 1))`` is a supermartingale that begins
    at 1. By Ville's inequality it ever reaches 1/a with probability a at most, and by the concavity of the logarithm
    it is at least ``exp(λ S)/(1 + μ̄ (exp(λ) − 1))^N``. Solved for μ̄, that is the bound for one λ; each of eight λ
    and two ends has a = 0.05/16. So with probability 0.95 the interval of an arm contains μ̄ after every value,
    no matter how the arm was chosen or when one looks.

    Args:
        least: (arms,), the smallest that S may be, in [0, count].
        most: (arms,), the largest that it may be, in [least, count].
        count: (arms,), N.
        confidence: the probability with which the interval of an arm contains its mean at all times.

    Returns:
        (arms,), the lower and the upper ends, in [0, 1].

    Example:
        >>> low, high = mean_interval(np.array([0.0, 50.0]), np.array([0.0, 50.0]), np.array([10.0, 100.0]))
        >>> low.round(3), high.round(3)
        (array([0.   , 0.324]), array([0.461, 0.676]))

    Source: Howard et al. 2020, Time-uniform Chernoff bounds via nonnegative supermartingales, and 2021, Time-uniform,
    nonparametric, nonasymptotic confidence sequences (several λ at once).
    """
    count = np.where(count > 0.0, count, np.nan)
    return _lower(least, count, confidence), 1.0 - _lower(count - most, count, confidence)


def _lower(sums: Array, count: Array, confidence: float) -> Array:
    """(arms,), the lower ends."""
    threshold = math.log(2.0 * len(TILTS) / (1.0 - confidence))
    bounds = (np.expm1((tilt * sums - threshold) / count) / math.expm1(tilt) for tilt in TILTS)
    return reduce(np.maximum, bounds, np.zeros_like(sums))


def mean_rewards(
    plays: Array, certain: Array, sums: Array, limits: tuple[float, float], confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Intervals of mean rewards over all plays, whatever the rewards are that are not certain.

    For the lower end these are the smallest reward, for the upper end the largest. So the interval also holds where a
    reward's value decides whether and when it arrives, as where successes alone are reported.
    """
    smallest, largest = limits
    scaled = np.clip((sums - smallest * certain) / (largest - smallest), 0.0, certain)
    low, high = mean_interval(scaled, scaled + (plays - certain), np.where(certain > 0.0, plays, 0.0), confidence)
    ends = (smallest + (largest - smallest) * end for end in (low, high))
    low, high = (np.clip(end, smallest, largest) for end in ends)
    return low, high
