"""What arms deserve by merit, as far as it follows from the intervals of their means."""

from __future__ import annotations

import numpy as np

from evenhand.core.state import Array
from evenhand.policy.merit import Merit

POINTS = 17  # in an interval, at which a merit is tried: its largest value may lie inside


def allowed_shares(merit: Merit, low: Array, high: Array, plays: int = 1) -> tuple[Array, Array]:
    """The smallest and the largest share of the rounds that each arm may deserve, (arms,).

    ``m f_i/(f_i + Σ_{j≠i} F_j)`` with the smallest merit f and the largest merit F of each interval, and the other way
    round; at most 1.

    Args:
        merit: f, of a mean in [0, 1].
        low: (arms,), lower ends of the means, on the scale [0, 1].
        high: (arms,), upper ends.
        plays: m, arms that play per round.

    Example:
        >>> from evenhand.merit import Linear
        >>> least, most = allowed_shares(Linear(1.0, 1.0), np.array([0.0, 0.5]), np.array([0.5, 1.0]))
        >>> least.round(3), most.round(3)
        (array([0.333, 0.5  ]), array([0.5  , 0.667]))
    """
    tried = merit(low + (high - low) * np.linspace(0.0, 1.0, POINTS)[:, np.newaxis])
    worst, best = tried.min(axis=0), tried.max(axis=0)
    least = plays * worst / (worst + best.sum() - best)
    most = plays * best / (best + worst.sum() - worst)
    excess = np.maximum(most - 1.0, 0.0).sum()  # which goes to the other arms
    return np.minimum(least, 1.0), np.minimum(most + excess, 1.0)
