"""Bounds of Patil et al. 2019: UCB1, and policies that promise shares of the rounds.

``rounds`` is T, a number or an array of rounds; bounds have its shape. Logarithms are natural.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.state import Array
from evenhand.theory.bounds.gaps import Numbers, gaps_of


def ucb1_regret(rounds: Numbers, means: Numbers) -> Array:
    """Regret of UCB1: ``Σ_{Δ_i>0} 8 ln T/Δ_i + (1 + π²/3) Σ Δ_i``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1].

    Example:
        >>> round(float(ucb1_regret(1000, [0.8, 0.3])), 2)
        112.67

    Source: Patil et al. 2019, Theorem 7 (Auer et al. 2002, Theorem 1).
    """
    _, gaps = gaps_of(means)
    time = np.asarray(rounds, dtype=float)
    return np.asarray(8.0 * np.log(time) * (1.0 / gaps[gaps > 0.0]).sum() + (1.0 + np.pi**2 / 3.0) * gaps.sum())


def fucb_regret(rounds: Numbers, means: Numbers, fractions: Numbers) -> Array:
    """r-regret of FUCB: ``(1 + π²/3) Σ Δ_i + Σ_{i∈S(T)} Δ_i (8 ln T/Δ_i² − r_i T)``,
    ``S(T) = {i : r_i T < 8 ln T/Δ_i²}``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1].
        fractions: (arms,), promised shares r_i.

    Example:
        >>> bool(fucb_regret(1000, [0.8, 0.3], [0.0, 0.0]) == ucb1_regret(1000, [0.8, 0.3]))
        True

    Source: Patil et al. 2019, Theorem 3.
    """
    _, gaps = gaps_of(means)
    time = np.asarray(rounds, dtype=float)[..., np.newaxis]
    worse = gaps > 0.0
    delta, share = gaps[worse], np.broadcast_to(fractions, gaps.shape)[worse]
    extra = np.maximum(8.0 * np.log(time) / delta**2 - share * time, 0.0)
    return np.asarray((delta * extra).sum(axis=-1) + (1.0 + np.pi**2 / 3.0) * gaps.sum())


def t_fucb_regret(rounds: Numbers, means: Numbers, fractions: Numbers) -> Array:
    """r-regret of T-FUCB; the same expression as `fucb_regret`.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1].
        fractions: (arms,), promised shares r_i.

    Example:
        >>> bool(t_fucb_regret(1000, [0.8, 0.3], [0.1, 0.1]) == fucb_regret(1000, [0.8, 0.3], [0.1, 0.1]))
        True

    Source: Patil et al. 2019, Theorem 2.
    """
    return fucb_regret(rounds, means, fractions)


def naive_regret(
    rounds: Numbers, means: Numbers, fractions: Numbers, epsilon: float = 0.1, alpha: float = 2.0
) -> Array:
    """r-regret of NAIVE: ``(m/K) εT Σ Δ_i + m T sqrt(α ln T/(2εT)) f + 2 m T^{1−α}``, m = 1 − Σ r.

    ``f = 1/sqrt(r'_1) + 1/sqrt(r'_j)`` with r'_i = r_i + m/K, 1 the best arm and j the chosen one. The theorem states
    the order O((T² ln T)^{1/3}) for the best ε; this is the line of its proof that holds for any ε, with the worst j.
    What the rounding of the exploration plays may add is left out: at most one play per arm.

    Args:
        rounds: T ≥ 2.
        means: (arms,), μ_i in [0, 1].
        fractions: (arms,), promised shares r_i.
        epsilon: ε in (0, 1].
        alpha: α > 1 of the proof.

    Example:
        >>> bool(naive_regret(10**6, [0.8, 0.3], [0.1, 0.1]) < 0.9 * 10**6)
        True

    Source: Patil et al. 2019, Theorem 1 and its proof.
    """
    _, gaps = gaps_of(means)
    time = np.asarray(rounds, dtype=float)
    share = np.broadcast_to(np.asarray(fractions, dtype=float), gaps.shape)
    rest = max(1.0 - share.sum(), 0.0)
    even = share + rest / len(gaps)
    worst = 1.0 / np.sqrt(even[gaps == 0.0].min()) + 1.0 / np.sqrt(even.min())
    exploring = rest / len(gaps) * epsilon * time * gaps.sum()
    mistaken = rest * time * np.sqrt(alpha * np.log(time) / (2.0 * epsilon * time)) * worst
    return np.asarray(exploring + mistaken + 2.0 * rest * time ** (1.0 - alpha))


def any_fair_regret(rounds: Numbers, means: Numbers, fractions: Numbers) -> Array:
    """r-regret of any policy that is fair: ``T Δ_K (1 − Σ r)``, Δ_K being the largest gap.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i.
        fractions: (arms,), promised shares r_i.

    Example:
        >>> float(any_fair_regret(100, [0.75, 0.25], [0.25, 0.25]))
        25.0

    Source: Patil et al. 2019, Theorem 5.
    """
    _, gaps = gaps_of(means)
    share = np.broadcast_to(np.asarray(fractions, dtype=float), gaps.shape)
    return np.asarray(np.asarray(rounds, dtype=float) * gaps.max() * (1.0 - share.sum()))
