"""Weights that are limited: less variance, for a bias that has a bound."""

from __future__ import annotations

import math

import numpy as np

from evenhand.bandit.evaluation.estimators import ESTIMATORS, Scores, mean
from evenhand.bandit.evaluation.followed import Followed
from evenhand.core.state import Array

SLOPE = "slope"  # in place of a clip
PART = 5  # SLOPE chooses on the first fifth of the rounds


def limited(target: Followed, clip: float | None, estimator: str) -> Followed:
    """The target with no weight above the clip; for SWITCH such weights are 0."""
    if clip is None or not (above := target.weight > clip).any():
        return target
    return target.with_weights(np.where(above, 0.0 if estimator == "switch" else clip, target.weight))


def bias_bound(used: Followed, estimator: str, limits: tuple[float, float]) -> Scores:
    """The most that limited weights w' can move an estimate, either way: ``(1 − E[w']) (high − low)``.

    The weights have the mean 1, so that ``1 − E[w']`` is the part of the target's plays that is cut off, or never in
    the log. For IPS it is ``(1 − E[w']) max(|low|, |high|)``, since what is cut off counts as 0; for the others it
    counts as other rewards of the range. The ends of an interval add the bound to the estimate round by round.
    """
    low, high = limits
    return mean((1.0 - used.weights) * (max(abs(low), abs(high)) if estimator == "ips" else high - low))


def slope(target: Followed, estimator: str) -> float | None:
    """The clip with nearly the least error, by SLOPE; None clips nothing.

    Candidates are the largest weight, half of it, and so on down to 1. Their variance falls and their bias grows. The
    last one is taken whose estimate agrees with that of each before it: ``|V_j − V_i| ≤ c_i + (√6 − 1) c_j``, with c
    two standard errors.

    Source: Su, Srinath & Krishnamurthy, Adaptive estimator selection for off-policy evaluation, ICML 2020.
    """
    largest = float(target.weight.max())
    clips = [largest / 2.0**power for power in range(max(1, math.ceil(math.log2(max(largest, 1.0)))))]
    chosen, before = None, np.zeros((0, 2))
    for clip in clips:
        scores = ESTIMATORS[estimator][0](limited(target, clip, estimator))
        one: Array = np.array([scores.value, 2.0 * scores.stderr])
        if not (np.abs(before[:, 0] - one[0]) <= before[:, 1] + (math.sqrt(6.0) - 1.0) * one[1]).all():
            break
        chosen, before = None if clip == largest else clip, np.vstack([before, one])
    return chosen
