"""Shares in proportion to weights, none above one: what arms deserve of the m plays per round."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, Mask
from evenhand.core.streams import over_arms


def proportional(weights: Array, plays: int | Array, available: Mask | None = None) -> Array:
    """The chance of each arm to play, in proportion to its weight: ``p_i = min(c w_i, 1)`` with ``Σ p = m``.

    Without arms at the limit this is ``m w_i / Σ_j w_j``. What would exceed one is shared among the others in
    proportion, again and again until nothing exceeds one; every pass puts at least one more arm at the limit, so the
    result is exact after at most K of them. Where no more than m arms are available, all of them play.

    Args:
        weights: (…, arms), positive.
        plays: m, arms played per round; one number, or one per lane, (…, 1).
        available: (…, arms), True where an arm can play; None for all.

    Returns:
        (…, arms), chances that sum to the number of arms that play.

    Raises:
        EvenhandError: the weight of an available arm is infinite or NaN.

    Example:
        >>> import numpy as np
        >>> proportional(np.array([1.0, 1.0, 2.0]), 2)
        array([0.5, 0.5, 1. ])
        >>> proportional(np.array([1.0, 1.0, 8.0]), 2)  # 1.6 for the last one would be too much
        array([0.5, 0.5, 1. ])
    """
    if available is not None:
        weights = np.where(available, weights, 0.0)
    total = _totals(weights)
    require_finite(total)
    chance = weights * (plays / np.where(total > 0.0, total, 1.0))
    if chance.max(initial=0.0) <= 1.0:
        return chance
    full = (chance >= 1.0) & (chance > 1.0).any(axis=-1, keepdims=True)
    while True:
        rest = np.where(full, 0.0, weights)
        left = plays - full.sum(axis=-1, keepdims=True)
        total = _totals(rest)
        chance = np.where(full, 1.0, rest * (left / np.where(total > 0.0, total, 1.0)))
        over = chance > 1.0
        if not over.any():
            return chance
        full |= over


def require_finite(totals: Array) -> None:
    """Refuse weights whose sum is infinite or NaN."""
    if not np.isfinite(totals).all():
        raise EvenhandError("the weights of the arms must be finite; a fairness part gave infinity or NaN")


def _totals(weights: Array) -> Array:
    """Sums over the arms, with the axis kept."""
    return over_arms(weights)[..., np.newaxis]
