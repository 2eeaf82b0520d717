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
    """
    tried = merit(low + (high - low) * np.linspace(0.0, 1.0, POINTS)[:, np.newaxis])
    worst, best = tried.min(axis=0), tried.max(axis=0)
    least = plays * worst / (worst + best.sum() - best)
    most = plays * best / (best + worst.sum() - worst)
    excess = np.maximum(most - 1.0, 0.0).sum()  # which goes to the other arms
    return np.minimum(least, 1.0), np.minimum(most + excess, 1.0)
