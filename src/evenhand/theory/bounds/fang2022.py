"""Bounds of Fang et al. 2022: policies that pay a penalty for missing plays.

``rounds`` is T, a number or an array of rounds; bounds have its shape. Logarithms are natural.
"""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.state import Array
from evenhand.theory.bounds.gaps import Numbers, gaps_of


def hard_threshold_regret(
    rounds: Numbers, means: Numbers, fractions: Numbers, penalties: Numbers, printed: bool = True
) -> Array:
    """Penalised regret of hard-threshold UCB, without its O(K) term.

    ``Σ_{non-critical} max(min(8 ln T/(Δ−A), (Δ−A) τ T), 8 ln T/Δ) + Σ_{critical} (8 ln T/Δ − τ T)_+``

    Critical arms have A_k ≥ Δ_k > 0, non-critical ones Δ_k > A_k. The last term as printed does not follow from part
    (b) of the theorem, which gives ``(8 ln T/Δ − Δ τ T)_+``; ``printed=False`` takes that one.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_k in [0, 1].
        fractions: (arms,), shares τ_k.
        penalties: A_k, one number or one per arm.
        printed: whether the last term is as printed.

    Example:
        >>> setting = [0.9, 0.8, 0.1], 0.2, 0.3
        >>> bool(hard_threshold_regret(5000, *setting) <= hard_threshold_regret(5000, *setting, printed=False))
        True

    Source: Fang et al. 2022, Theorem 4.2 (d).
    """
    _, gaps = gaps_of(means)
    time = np.asarray(rounds, dtype=float)[..., np.newaxis]
    share, price = (np.broadcast_to(np.asarray(v, dtype=float), gaps.shape) for v in (fractions, penalties))
    log = 8.0 * np.log(time)
    critical, hopeless = (price >= gaps) & (gaps > 0.0), gaps > price
    over = gaps[hopeless] - price[hopeless]
    left = np.maximum(np.minimum(log / over, over * share[hopeless] * time), log / gaps[hopeless])
    slope = 1.0 if printed else gaps[critical]
    kept = np.maximum(log / gaps[critical] - slope * share[critical] * time, 0.0)
    return np.asarray(left.sum(axis=-1) + kept.sum(axis=-1))


def max_violation_slopes(means: Numbers, penalties: Numbers) -> Array:
    """The slopes a in ``E max_t (τ_k t − N_k(t))_+ ≤ a_k ln T + O(1)`` of hard-threshold UCB, for optimal and
    critical arms.

    With the arms in falling order of A + μ, for the j-th one:
    ``a_j = 8 Σ_{d≤j} (j−d+1) {Σ_{m<d} (μ_d + A_d − μ_m)^−2 + Σ_{m>d} (μ_d + A_d − μ_m − A_m)^−2}``; inf where a
    difference is 0.

    Args:
        means: (arms,), μ_k in [0, 1].
        penalties: A_k, one number or one per arm.

    Returns:
        (arms,), in the order of the arms; NaN for non-critical arms, about which the theorem is silent.

    Example:
        >>> max_violation_slopes([0.9, 0.5], penalties=0.5).round(1)
        array([ 50., 900.])

    Source: Fang et al. 2022, Theorem 4.3, eq. (13).
    """
    means, gaps = gaps_of(means)
    price = np.broadcast_to(np.asarray(penalties, dtype=float), gaps.shape)
    order = np.argsort(-(price + means), kind="stable")
    mean, bonus = means[order], (price + means)[order]
    with np.errstate(divide="ignore"):
        ahead = np.tril(1.0 / (bonus[:, np.newaxis] - mean) ** 2, -1).sum(axis=1)
        behind = np.triu(1.0 / (bonus[:, np.newaxis] - bonus) ** 2, 1).sum(axis=1)
    slopes = np.empty_like(gaps)
    slopes[order] = 8.0 * np.cumsum(np.cumsum(ahead + behind))
    return np.where(price >= gaps, slopes, np.nan)


def hard_threshold_regret_gap_free(rounds: Numbers, fractions: Numbers, constant: float = 1.0) -> Array:
    """Penalised regret of hard-threshold UCB for any means.

    ``8 sqrt(T ln T) Σ sqrt(τ_k) + 8 sqrt((1 − τ_min) K T ln T) + C sqrt(K T ln T)``

    Args:
        rounds: T ≥ 1.
        fractions: (arms,), shares τ_k > 0.
        constant: the theorem's universal constant C, which the paper does not state.

    Example:
        >>> bool(hard_threshold_regret_gap_free(10_000, [0.1, 0.1]) < 10_000)
        True

    Source: Fang et al. 2022, Theorem 4.5.
    """
    share = validate.per_arm("fractions", fractions, 0.0, 1.0)
    time = np.asarray(rounds, dtype=float)
    scale = np.sqrt(time * np.log(time))
    spread = np.sqrt((1.0 - share.min()) * len(share)) * 8.0 + constant * np.sqrt(len(share))
    return np.asarray(scale * (8.0 * np.sqrt(share).sum() + spread))


def penalized_regret_lower(rounds: Numbers, fractions: Numbers, constant: float = 1.0) -> Array:
    """Penalised regret that no policy can stay below for all means: ``C (1 − Σ τ) sqrt((K − 1) T)``.

    Args:
        rounds: T ≥ 1.
        fractions: (arms,), shares τ_k with a sum below 1.
        constant: the theorem's universal constant C, which the paper does not state.

    Example:
        >>> float(penalized_regret_lower(100, [0.25, 0.25]))
        5.0

    Source: Fang et al. 2022, Theorem 4.8.
    """
    share = validate.per_arm("fractions", fractions, 0.0, 1.0)
    return np.asarray(constant * (1.0 - share.sum()) * np.sqrt((len(share) - 1) * np.asarray(rounds, dtype=float)))
