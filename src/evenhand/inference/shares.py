"""Intervals of a share that was counted once, after a number of trials that was fixed beforehand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE


def share_interval(hits: ArrayLike, trials: ArrayLike, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Clopper and Pearson's interval of the probability of a hit; from 0 to 1 without a trial.

    ``P(at least h hits; low) = P(at most h hits; high) = (1 − confidence)/2``

    The ends hold for trials of different probabilities, each given the past, too: the lower one where none was larger,
    the upper one where none was smaller. Counts that are no whole numbers lie between those that are.

    Source: Clopper and Pearson 1934, The use of confidence or fiducial limits illustrated in the case of the binomial.
    """
    from scipy.special import betaincinv

    found, count = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(trials, dtype=float))
    rest, tail = np.maximum(count - found, 0.0), (1.0 - confidence) / 2.0
    low = np.where(found > 0.0, betaincinv(np.maximum(found, 1e-9), rest + 1.0, tail), 0.0)
    high = np.where(rest > 0.0, betaincinv(found + 1.0, np.maximum(rest, 1e-9), 1.0 - tail), 1.0)
    return low, high
