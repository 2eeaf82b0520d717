"""How many rounds it takes at least to know the best arm, and what minimum shares add to them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.core.validate import PerArm
from evenhand.policy.identification import best_proportions, divergence


def characteristic_rounds(means: Sequence[float] | Array, fractions: PerArm = 0.0) -> float:
    """``T*_p = 1/max over w ≥ p of min_b w_a kl(μ_a, m_b) + w_b kl(μ_b, m_b)``: rounds per unit of ``ln(1/δ)``.

    Args:
        means: (arms,), mean rewards in (0, 1), of Bernoulli distributions.
        fractions: (arms,) or one number, minimum shares p of the rounds, with a sum of at most 1.

    Returns:
        Rounds; infinite where two arms are the best.

    Raises:
        EvenhandError: there is one arm only, or the shares sum to more than 1.

    Example:
        >>> round(characteristic_rounds([0.5, 0.45, 0.43, 0.4]))
        990

    Source: Russo & Vannella 2024, Theorem 1; Garivier & Kaufmann 2016, Theorem 1 (p = 0).
    """
    mean = np.asarray(means, dtype=float)
    floors = np.broadcast_to(validate.fractions(fractions), mean.shape)
    if mean.ndim != 1 or len(mean) < 2 or not ((mean > 0.0) & (mean < 1.0)).all():
        raise EvenhandError(f"must be means of at least two arms, above 0 and below 1, got {means!r}", "means")
    if floors.sum() > 1.0 + 1e-9:
        raise EvenhandError(f"sum to {floors.sum():.6g}; minimum shares must not sum to more than 1", "fractions")
    best = int(mean.argmax())
    others = np.arange(len(mean)) != best
    if (mean[others] >= mean[best]).any():
        return math.inf
    shares = best_proportions(mean, floors)
    top, rest = shares[best], shares[others]
    middle = (top * mean[best] + rest * mean[others]) / np.maximum(top + rest, validate.TINY)
    least = float(
        (top * divergence(np.full(len(rest), mean[best]), middle) + rest * divergence(mean[others], middle)).min()
    )
    return 1.0 / least if least > 0.0 else math.inf


def rounds_until_known(means: Sequence[float] | Array, delta: float = 0.05, fractions: PerArm = 0.0) -> float:
    """Rounds that any policy with minimum shares needs on average to know the best arm with an error of δ at most.

    ``E[τ] ≥ T*_p kl(δ, 1 − δ)``; with a price of the promise in rounds of ``T*_p/T*``, at most ``1/(1 − Σ p)``

    Args:
        means: (arms,), mean rewards in (0, 1), of Bernoulli distributions.
        delta: δ in (0, 1/2).
        fractions: (arms,) or one number, minimum shares p of the rounds.

    Returns:
        Rounds.

    Example:
        >>> [round(rounds_until_known([0.3, 0.2, 0.1], 0.05, share)) for share in (0.0, 0.1, 0.3)]
        [420, 439, 565]

    Source: Russo & Vannella 2024, Theorem 1 and section 3 (price of fairness).
    """
    if not 0.0 < delta < 0.5:
        raise EvenhandError(f"must be above 0 and below 0.5, got {delta!r}", "delta")
    error = np.array([delta])
    return characteristic_rounds(means, fractions) * float(divergence(error, 1.0 - error)[0])
