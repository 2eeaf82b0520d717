"""What another policy would have earned, from the rows of a log: a sequence, and an interval for one look."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE, student
from evenhand.inference.mixtures import TILTS, linear, psi

#: What models of the rewards add to the scores of either end, by the reach k.
Models: TypeAlias = Mapping[float, tuple[Array | float, Array | float]]
NO_MODEL: Models = {0.0: (0.0, 0.0)}
STEPS = (0.0, 2.0, 8.0, 32.0)  # k of a log of which nothing is known beforehand


def offpolicy(
    rewards: Array, weights: Array, models: Models = NO_MODEL, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Sequence of the mean value of a target policy over the rows of a log, whatever the log's policy learned.

    ``wR + m`` is at least −k, and its mean given the past is the value ν of the target in that row. With ĉ ≤ 1 the mean
    of the scores before, ``ξ = (wR + m − ĉ)/(1 + k)`` is at least −1, so that
    ``Π exp(λξ − ψ(λ)ξ² − λ(ν − ĉ)/(1 + k))`` is a supermartingale. The lower end is where the mean of these, nine λ for
    each k, falls to ``2/(1 − confidence)``; the upper end is that of ``w(1 − R) + m'``, below 1. It holds for every
    number of rows at once, for chances that change with what was learned, and without a bound on the weights; ν may
    change from row to row.

    Args:
        rewards: (…, rows), R, in [0, 1], in the order of the decisions; NaN where it may be anything.
        weights: (…, rows), w, the target's chance of what was played over that of the log's policy, given the past.
        models: m and m', each (…, rows), by k, from `controls`; by default inverse propensity scores, 0 and k = 0. A
            model makes it narrow where rewards vary less than weights; several k may be given, such as `STEPS`, chosen
            beforehand.
        confidence: with which the interval contains the mean value at all times.

    Returns:
        The lower and the upper ends, each (…,), in [0, 1].

    Raises:
        EvenhandError: a reward is outside [0, 1], or a weight is negative or infinite; with the first such row.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> played = rng.random(5000) < 0.2  # the second of two arms; the target plays both alike
        >>> rewards = (rng.random(5000) < np.where(played, 0.6, 0.2)).astype(float)
        >>> weights = np.where(played, 2.5, 0.625)
        >>> np.round(offpolicy(rewards, weights), 3)
        array([0.37 , 0.427])

    Source: Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2022, Anytime-valid off-policy inference for contextual
    bandits (arXiv:2210.10768), theorem 3, with a mixture of several λ and k.
    """
    _check(rewards, weights)
    low, high = (
        _lower([(np.nan_to_num(weights * one) + pair[end], reach) for reach, pair in models.items()], confidence)
        for end, one in enumerate((rewards, 1.0 - rewards))
    )
    return np.clip(low, 0.0, 1.0), 1.0 - np.clip(high, 0.0, 1.0)


def offpolicy_difference(
    rewards: Array, first: Array, second: Array, models: Models = NO_MODEL, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Sequence of the mean difference of the values of two targets on the same log, by the weights of each.

    The score ``w₁R + w₂(1 − R)`` is at least 0 and has the mean ``1 + ν₁ − ν₂``; the rest is as in `offpolicy`.

    Args:
        rewards: (…, rows), R, in [0, 1]; NaN where it may be anything.
        first: (…, rows), w₁.
        second: (…, rows), w₂.
        models: by k, the first target's m plus the second's m', and the second's m plus the first's m'; k is then the
            sum of both.
        confidence: with which the interval contains the mean difference at all times.

    Returns:
        The lower and the upper ends, each (…,), in [−1, 1].

    Example:
        >>> rng = np.random.default_rng(0)
        >>> played = rng.random(5000) < 0.5
        >>> rewards = (rng.random(5000) < np.where(played, 0.6, 0.2)).astype(float)
        >>> np.round(offpolicy_difference(rewards, 2.0 * played, 2.0 * ~played), 2)
        array([0.34, 0.44])
    """
    _check(rewards, first)
    _check(rewards, second)
    ends = []
    for end, (one, other) in enumerate(((first, second), (second, first))):
        scores = np.nan_to_num(one * rewards) + np.nan_to_num(other * (1.0 - rewards))
        ends.append(_lower([(scores + pair[end], reach) for reach, pair in models.items()], confidence) - 1.0)
    return np.clip(ends[0], -1.0, 1.0), -np.clip(ends[1], -1.0, 1.0)


def controls(
    weights: Array, target: Array, model: Array, played: NDArray[np.intp], reach: float
) -> tuple[Array, Array]:
    """What a model of the rewards adds to the scores of `offpolicy`, of mean 0 given the past: m and m', (rows,).

    ``m = Σ_a π(a) q(a) − w(A) q(A)`` with ``q(a) = min(r̂(a), k/w(a))``, and m' likewise from 1 − r̂; so the doubly
    robust score stays at or above −k.

    Args:
        weights: (rows, arms), w, of every arm; where that of other arms is unknown, the most that it can be.
        target: (rows, arms), π, the target's chances.
        model: (rows, arms), r̂, means of rewards in [0, 1] guessed before the row.
        played: (rows,), places of the arms that played; their weights must be exact.
        reach: k; 0 leaves nothing of the model.

    Example:
        >>> weights, target, model = np.array([[0.5, 2.0]]), np.array([[0.4, 0.6]]), np.array([[0.2, 0.3]])
        >>> [float(one[0].round(3)) for one in controls(weights, target, model, np.array([1]), 4.0)]
        [-0.34, -0.66]
    """
    most = np.divide(reach, weights, out=np.full(np.shape(weights), np.inf), where=weights > 0.0)
    rows = np.arange(len(played))
    first, second = (
        (target * one).sum(axis=1) - weights[rows, played] * one[rows, played]
        for one in (np.minimum(model, most), np.minimum(1.0 - model, most))
    )
    return first, second


def adaptive(scores: Array, chances: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Value of a target from the log of a policy that learns, and half the length of its interval, for one look.

    ``Q̂ = Σ hΓ/Σ h``, ``V̂ = Σ h²(Γ − Q̂)²/(Σ h)²`` with ``h = √p``. It holds for large T if T was fixed beforehand,
    chances fall no faster than ``t^(−a)``, a < 1, and converge or fall to 0. Intervals of the plain mean of rewards do
    not: an arm that began badly is played less. For a difference of two arms, take the root of the sum of the squares.

    Args:
        scores: (…, T), ``Γ = Σ_a π(a) r̂(a) + w (R − r̂(A))``, with r̂ from earlier rows only.
        chances: (…, T), p, of the one arm that is valued, and ``1/Σ_a (π(a)²/p(a))`` for a target over several.
        confidence: of the interval.

    Raises:
        EvenhandError: a chance is 0, where nothing can be said; with the first such row.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> chances = np.linspace(0.9, 0.1, 2000)
        >>> played = rng.random(2000) < chances
        >>> scores = 0.5 + played * ((rng.random(2000) < 0.3) - 0.5) / chances
        >>> [float(one.round(3)) for one in adaptive(scores, chances)]
        [0.294, 0.031]

    Source: Hadad, Hirshberg, Zhan, Wager and Athey 2021, Confidence intervals for policy evaluation in adaptive
    experiments, PNAS 118(15), theorem 2 and the weights of constant allocation.
    """
    if not (chances > 0.0).all():
        row = np.argwhere(~(chances > 0.0))[0][-1]
        raise EvenhandError(f"row {row} has a chance of 0: a value needs a chance above 0 in every row")
    root = np.sqrt(chances)
    total = root.sum(axis=-1)
    value = (root * scores).sum(axis=-1) / total
    error = np.sqrt((chances * (scores - value[..., None]) ** 2).sum(axis=-1)) / total
    return value, student(scores.shape[-1], confidence) * error


def _lower(parts: Sequence[tuple[Array, float]], confidence: float) -> Array:
    """(…,), the lower end of the mean of scores (…, rows), each at least −reach and given the past."""
    count = parts[0][0].shape[-1]
    intercepts, slopes = [], []
    for scores, reach in parts:
        total = scores.cumsum(axis=-1)
        centre = np.minimum((total - scores + 0.5) / np.arange(1.0, count + 1.0), 1.0)
        spread = ((scores - centre) ** 2).sum(axis=-1) / (1.0 + reach) ** 2
        tilts = np.reshape(TILTS, (-1, *(1,) * spread.ndim))
        few = tilts / (1.0 + reach)
        intercepts.append(few * scores.sum(axis=-1) - psi(tilts) * spread)
        slopes.append(few * np.full(spread.shape, max(count, 1e-9)))
    return linear(np.concatenate(intercepts), np.concatenate(slopes), math.log(2.0 / (1.0 - confidence)))


def _check(rewards: Array, weights: Array) -> None:
    """Refuse what makes a sequence void, with the first row of it."""
    if (bad := ~(np.isnan(rewards) | ((rewards >= 0.0) & (rewards <= 1.0)))).any():
        place = tuple(np.argwhere(bad)[0])
        raise EvenhandError(
            f"the reward of row {place[-1]} is {rewards[place]:g} on the scale [0, 1]: nothing holds from there on"
        )
    if (bad := ~((weights >= 0.0) & np.isfinite(weights))).any():
        place = tuple(np.argwhere(bad)[0])
        raise EvenhandError(
            f"the weight of row {place[-1]} is {weights[place]}: what was played needs a chance above 0 in the log"
        )
