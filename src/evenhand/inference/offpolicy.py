"""What another policy would have earned, from the rows of a log: a sequence, and an interval for one look."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE, student
from evenhand.inference.mixtures import REACHES, TILTS, linear, psi

CENTRES = (0.0, 0.5, 1.0)  # c, of which each takes a pass over the rows


def offpolicy(
    rewards: Array, weights: Array, largest: float = math.inf, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Sequence of the mean value of a target policy over the rows of a log, whatever the log's policy learned.

    ``y = wR + c(1 − w)`` has the mean ν given the past, the value of the target in that row, for every c. With ĉ ≤ 1
    the mean of the y before, ``Π exp(λ(y − ĉ) − ψ(λ)(y − ĉ)² − λ(ν − ĉ))`` is a supermartingale for c = 0, without a
    bound on the weights; and for other c as in `weighted`, while ``λ (1 + c (largest − 1))`` is at most u. The lower
    end is where the mean of all falls to ``2/(1 − confidence)``, and the upper end that of ``w(1 − R)``, below 1. It
    holds for every number of rows at once, and for chances that change with what was learned; ν may change, too.

    Args:
        rewards: (…, rows), R, in [0, 1], in the order of the decisions; NaN where it may be anything.
        weights: (…, rows), w, the target's chance of what was played over that of the log's policy, given the past.
        largest: the largest weight that anything could have had in any row, played or not; infinite where that is not
            known. Then the end that is far from the value is wide where weights vary more than rewards.
        confidence: with which the interval contains the mean value at all times.

    Returns:
        The lower and the upper ends, each (…,), in [0, 1].

    Raises:
        EvenhandError: a reward is outside [0, 1], or a weight outside [0, largest]; with the first such row.

    Source: Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2022, Anytime-valid off-policy inference for contextual
    bandits (arXiv:2210.10768), theorem 3, with a mixture of several λ and c in place of a model of the rewards.
    """
    _check(rewards, weights, largest)
    ends = []
    for earned in (np.nan_to_num(weights * one) for one in (rewards, 1.0 - rewards)):
        centres = CENTRES if largest < math.inf else (0.0,)
        parts = [(earned + c * (1.0 - weights), 1.0 + c * (largest - 1.0) if c else 1.0) for c in centres]
        ends.append(np.clip(_lower(parts, confidence), 0.0, 1.0))
    return ends[0], 1.0 - ends[1]


def offpolicy_difference(
    rewards: Array, first: Array, second: Array, largest: float = math.inf, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Sequence of the mean difference of the values of two targets on the same log, by the weights of each.

    The score ``w₁R + w₂(1 − R)`` is at least 0 and has the mean ``1 + ν₁ − ν₂``; so has ``1 + (w₁ − w₂)(R − c)``. The
    rest is as in `offpolicy`.

    Args:
        rewards: (…, rows), R, in [0, 1]; NaN where it may be anything.
        first: (…, rows), w₁.
        second: (…, rows), w₂.
        largest: the largest of either weight that anything could have had in any row, played or not.
        confidence: with which the interval contains the mean difference at all times.

    Returns:
        The lower and the upper ends, each (…,), in [−1, 1].
    """
    _check(rewards, first, largest)
    _check(rewards, second, largest)
    ends = []
    for one, other in ((first, second), (second, first)):
        parts = [(np.nan_to_num(one * rewards) + np.nan_to_num(other * (1.0 - rewards)), 1.0)]
        for c in CENTRES if largest < math.inf else ():
            apart = one - other
            worst = np.where(np.isnan(rewards), apart < 0.0, rewards)
            parts.append((1.0 + apart * (worst - c), largest * max(c, 1.0 - c)))
        ends.append(_lower(parts, confidence) - 1.0)
    return np.clip(ends[0], -1.0, 1.0), -np.clip(ends[1], -1.0, 1.0)


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
    """(…,), the lower end of the mean of scores, given the past.

    Each part has scores (…, rows), and how far they may lie below their centre. For the first part that is 1, so that
    all λ serve, with half of the weight; of the other parts some λ may drop out.
    """
    count, intercepts, slopes = parts[0][0].shape[-1], [], []
    bounded = sum(np.count_nonzero(reach >= TILTS) for reach in REACHES) * (len(parts) - 1)
    for place, (scores, below) in enumerate(parts):
        total = scores.cumsum(axis=-1)
        centre = np.minimum((total - scores + 0.5) / np.arange(1.0, count + 1.0), 1.0)
        spread = ((scores - centre) ** 2).sum(axis=-1)
        weight = math.log((len(TILTS) + bounded) / (2.0 * (bounded if place else len(TILTS)))) if bounded else 0.0
        for reach in REACHES if place else (1.0,):
            tilts = np.reshape(TILTS[reach >= TILTS], (-1, *(1,) * spread.ndim))
            costs = psi(reach) * (tilts / reach) ** 2 if place else psi(tilts)
            gain = tilts * scores.sum(axis=-1) - costs * spread + weight
            intercepts.append(np.where(tilts * below <= reach, gain, -np.inf))
            slopes.append(tilts * np.full(spread.shape, max(count, 1e-9)))
    return linear(np.concatenate(intercepts), np.concatenate(slopes), math.log(2.0 / (1.0 - confidence)))


def _check(rewards: Array, weights: Array, largest: float) -> None:
    """Refuse what makes a sequence void, with the first row of it."""
    if (bad := ~(np.isnan(rewards) | ((rewards >= 0.0) & (rewards <= 1.0)))).any():
        place = tuple(np.argwhere(bad)[0])
        raise EvenhandError(
            f"the reward of row {place[-1]} is {rewards[place]:g} on the scale [0, 1]: nothing holds from there on"
        )
    if (bad := ~((weights >= 0.0) & np.isfinite(weights) & (weights <= largest * (1.0 + 1e-9)))).any():
        place = tuple(np.argwhere(bad)[0])
        why = "at most the largest" if np.isfinite(weights[place]) else "of a chance above 0 in the log"
        raise EvenhandError(f"the weight of row {place[-1]} is {weights[place]:g}: it must be 0 or more, and {why}")
