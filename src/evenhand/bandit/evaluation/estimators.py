"""Estimators of a target's mean reward per round from the log of another policy, one function each.

With the weight ``w = π(i)/p`` of a play of item i, its propensity under the target over that in the log, and sums over
the T rounds and their plays. q_t(i) is a model of the mean reward of item i, from the rounds before t only, so that it
does not depend on round t. In a round of several plays each has the propensity of being among those played, and the
sums estimate the reward of the one play of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evenhand.bandit.evaluation.followed import Followed
from evenhand.core.state import Array


@dataclass(frozen=True, eq=False)
class Scores:
    """An estimate, and by how much each round moves it: its error is that of the mean of ``parts``."""

    value: float
    parts: Array  # (rounds,), with the sum 0

    @property
    def stderr(self) -> float:
        """The standard error of a mean over rounds that are independent given the past; NaN for one round."""
        rounds = len(self.parts)
        if rounds < 2 or not math.isfinite(self.value):
            return math.nan
        return math.sqrt(float(self.parts @ self.parts) / (rounds * (rounds - 1)))

    def __add__(self, other: Scores) -> Scores:
        """The sum of two estimates from the same rounds."""
        return Scores(self.value + other.value, self.parts + other.parts)

    def __sub__(self, other: Scores) -> Scores:
        """Their paired difference."""
        return Scores(self.value - other.value, self.parts - other.parts)


def ratio(over: Array, under: Array) -> Scores:
    """``V = Σ y/Σ x`` over rounds, with the parts ``(y − V x)/x̄`` of its linearisation; NaN where ``Σ x = 0``."""
    scale = float(under.mean())
    if not scale > 0.0:
        return Scores(math.nan, np.full(len(over), math.nan))
    value = float(over.mean()) / scale
    return Scores(value, (over - value * under) / scale)


def mean(scores: Array) -> Scores:
    """A mean over rounds."""
    value = float(scores.mean())
    return Scores(value, scores - value)


def ips(target: Followed) -> Scores:
    """Inverse propensity scores: ``(1/T) Σ w r``; unbiased.

    Source: Horvitz & Thompson, A generalization of sampling without replacement from a finite universe, JASA 1952.
    """
    return mean(target.sums(target.weight * target.log.reward))


def snips(target: Followed) -> Scores:
    """Self-normalised: ``Σ w r/Σ w``; a bias of order 1/T, often a much smaller variance; follows shifted rewards.

    Source: Swaminathan & Joachims, The self-normalized estimator for counterfactual learning, NIPS 2015.
    """
    return ratio(target.sums(target.weight * target.log.reward), target.weights)


def dr(target: Followed) -> Scores:
    """Doubly robust: ``(1/T) Σ_t [Σ_i π_t(i) q_t(i) + Σ w (r − q_t(i))]``; unbiased, and the narrower the better q is.

    Source: Dudík, Langford & Li, Doubly robust policy evaluation and learning, ICML 2011.
    """
    return mean(target.model + target.sums(target.weight * (target.log.reward - target.guess)))


def sndr(target: Followed) -> Scores:
    """Self-normalised doubly robust: ``(1/T) Σ_t Σ_i π_t(i) q_t(i) + Σ w (r − q_t(i))/Σ w``.

    Source: Thomas & Brunskill, Data-efficient off-policy policy evaluation for reinforcement learning, ICML 2016
    (weighted doubly robust, for one step).
    """
    rests = target.sums(target.weight * (target.log.reward - target.guess))
    return mean(target.model) + ratio(rests, target.weights)


def switch(target: Followed) -> Scores:
    """SWITCH: doubly robust where ``w ≤ τ``, the model alone where it is larger; `evaluate` sets such weights to 0.

    Source: Wang, Agarwal & Dudík, Optimal and adaptive off-policy evaluation in contextual bandits, ICML 2017.
    """
    return dr(target)


#: By name, with what tables say of them.
ESTIMATORS: dict[str, tuple[Callable[[Followed], Scores], str]] = {
    "ips": (ips, "inverse propensity scores"),
    "snips": (snips, "self-normalised inverse propensity scores"),
    "dr": (dr, "doubly robust"),
    "sndr": (sndr, "self-normalised doubly robust"),
    "switch": (switch, "doubly robust, the model alone for large weights"),
}


SLOPE = "slope"  # in place of a clip
PART = 5  # SLOPE chooses on the first fifth of the rounds


def limited(target: Followed, clip: float | None, estimator: str) -> Followed:
    """The target with no weight above the clip; for SWITCH such weights are 0."""
    if clip is None or not (above := target.weight > clip).any():
        return target
    return replace(target, weight=np.where(above, 0.0 if estimator == "switch" else clip, target.weight))


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
