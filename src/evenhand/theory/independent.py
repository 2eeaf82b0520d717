"""Optima and feasibility where arms are available independently: exact, and without a linear program.

Let ``f(B) = E[min(m, |B ∩ Z|)]`` be what the arms of B can play together. Three facts make all questions easy:

- What can be achieved is a polymatroid (`evenhand.theory.achievable`), so that by linear programming duality the
  optimum is an integral over thresholds t > 0 of ``s(t) = min f(B) − r(B)`` over the sets B that contain all arms of a
  gain above t and only arms of a gain plus price above t.
- An arm i outside B adds ``p_i G(B)`` to f, G(B) being the chance that fewer than m arms of B are available. So the
  best B has ``r_i / p_i ≥ G(B)`` for each arm that it contains without need, and ``r_j / p_j ≤ G(B)`` for each that it
  could contain and does not: those arms that come first in the order of ``r/p``.
- s changes only where t passes a gain, or a gain plus its price; by how much is the share that the arm gets there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array, Mask


def tightest(fractions: Array, plays: int, chance: Array, must: Mask, may: Mask) -> tuple[Array, NDArray[np.intp]]:
    """The smallest ``f(B) − r(B)`` over the sets B between two given ones; see the module."""
    rows = len(must)
    fewer = np.zeros((plays, rows))  # the chance that 0, 1, …, m − 1 arms of B are available
    fewer[0] = 1.0
    value = np.zeros(rows)

    def add(arm: int, here: Mask) -> None:
        p = chance[arm] * here
        value[:] += p * fewer.sum(axis=0) - fractions[arm] * here
        moved = fewer * p
        fewer[:] -= moved
        fewer[1:] += moved[:-1]

    for arm in np.flatnonzero(must.any(axis=0)).tolist():
        add(arm, must[:, arm])
    best, length = value.copy(), np.zeros(rows, dtype=np.intp)
    for place, arm in enumerate(by_ratio(fractions, chance).tolist()):
        add(arm, may[:, arm] & ~must[:, arm])
        length[value < best] = place + 1
        np.minimum(best, value, out=best)
    return best, length


def by_ratio(fractions: Array, chance: Array) -> NDArray[np.intp]:
    """The arms with a promise, in the order of ``r/p``, the largest first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(fractions > 0.0, fractions / chance, 0.0)
    return np.argsort(-ratio, kind="stable")[: np.count_nonzero(ratio)]


def best_shares(gains: Array, fractions: Array, penalties: Array | None, plays: int, chance: Array) -> Array:
    """The shares of the rounds of the best policy that keeps promises, or pays for what is missing.

    ``max Σ_i (g_i x_i − A_i max(r_i − x_i, 0))`` over all achievable x; without prices, over those with ``x ≥ r``.
    """
    arms = len(gains)
    limits = np.full(arms, np.inf) if penalties is None else gains + penalties
    thresholds = np.concatenate([limits, gains])
    events = np.argsort(-thresholds, kind="stable")  # of equal ones, an arm may be in B before it must
    events = events[thresholds[events] > 0.0]
    may = np.zeros((len(events) + 1, arms), dtype=bool)
    must = np.zeros_like(may)
    for place, event in enumerate(events.tolist(), start=1):
        may[place], must[place] = may[place - 1], must[place - 1]
        (may if event < arms else must)[place, event % arms] = True
    smallest, _ = tightest(fractions, plays, chance, must, may)
    changes = np.bincount(events % arms, np.diff(smallest), minlength=arms)
    return np.asarray(np.where(limits > 0.0, np.maximum(fractions + changes, 0.0), 0.0))
