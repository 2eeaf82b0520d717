"""95 % confidence intervals of shares and of mean rewards."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from evenhand.core.state import Array

CONFIDENCE = 0.95


def wilson(successes: Array, count: Array) -> tuple[Array, Array]:
    """Wilson's intervals of the probabilities behind ``successes`` out of ``count``; NaN where the count is 0.

    Args:
        successes: (arms,), in [0, count].
        count: (arms,).

    Returns:
        (arms,), the lower and the upper ends, in [0, 1].

    Example:
        >>> low, high = wilson(np.array([0.0, 50.0]), np.array([10.0, 100.0]))
        >>> low.round(3), high.round(3)
        (array([0.   , 0.404]), array([0.278, 0.596]))

    Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.
    """
    square = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0) ** 2
    count = np.where(count > 0.0, count, np.nan)
    part = successes / count
    centre = (part + square / (2.0 * count)) / (1.0 + square / count)
    inside = np.maximum(part * (1.0 - part), 0.0) + square / (4.0 * count)
    reach = np.sqrt(square * inside / count) / (1.0 + square / count)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)


def mean_rewards(known: Array, sums: Array, limits: tuple[float, float]) -> tuple[Array, Array]:
    """Wilson's intervals of mean rewards, for rewards in a range.

    The interval treats the rewards as if they were all at the ends of the range, where their variance is largest
    for a given mean. So it is never too short for that reason, and does not shrink to a point where all rewards were
    equal.

    Args:
        known: (arms,), number of known rewards.
        sums: (arms,), their sums.
        limits: the smallest and the largest reward.

    Returns:
        (arms,), the lower and the upper ends, in the unit of the rewards; NaN where no reward is known.

    Example:
        >>> low, high = mean_rewards(np.array([100.0]), np.array([500.0]), (0.0, 10.0))
        >>> low.round(2), high.round(2)
        (array([4.04]), array([5.96]))
    """
    least, width = limits[0], limits[1] - limits[0]
    low, high = wilson((sums - least * known) / width, known)
    return least + width * low, least + width * high
