"""Bounds of Patil et al. 2019: UCB1, and policies that promise shares of the rounds."""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.descriptions import described_by
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.theory.bounds.gaps import Numbers, for_arms, gaps_of, rounds_of

#: Arguments that mean the same in several of these bounds, and what most of them return.
ARGUMENTS = {
    "rounds": "T ≥ 1.",
    "means": "(arms,), μ_i in [0, 1].",
    "fractions": "(arms,), promised shares r_i.",
    "alpha": "α > 1 of the proof.",
}
RETURNS = "Units of reward, in the shape of ``rounds``."


@described_by(ARGUMENTS, RETURNS)
def ucb1_regret(rounds: Numbers, means: Numbers) -> Array:
    """Regret of UCB1: ``Σ_{Δ_i>0} 8 ln T/Δ_i + (1 + π²/3) Σ Δ_i``.

    Example:
        >>> round(float(ucb1_regret(1000, [0.8, 0.3])), 2)
        112.67

    Source: Patil et al. 2019, Theorem 7 (Auer et al. 2002, Theorem 1).
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)
    return np.asarray(8.0 * np.log(time) * (1.0 / gaps[gaps > 0.0]).sum() + (1.0 + np.pi**2 / 3.0) * gaps.sum())


@described_by(ARGUMENTS, RETURNS)
def fucb_regret(rounds: Numbers, means: Numbers, fractions: Numbers) -> Array:
    """r-regret of FUCB: ``(1 + π²/3) Σ Δ_i + Σ_{i∈S(T)} Δ_i (8 ln T/Δ_i² − r_i T)``,
    ``S(T) = {i : r_i T < 8 ln T/Δ_i²}``.

    Example:
        >>> bool(fucb_regret(1000, [0.8, 0.3], [0.0, 0.0]) == ucb1_regret(1000, [0.8, 0.3]))
        True

    Source: Patil et al. 2019, Theorem 3.
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)[..., np.newaxis]
    worse = gaps > 0.0
    delta, share = gaps[worse], np.broadcast_to(fractions, gaps.shape)[worse]
    extra = np.maximum(8.0 * np.log(time) / delta**2 - share * time, 0.0)
    return np.asarray((delta * extra).sum(axis=-1) + (1.0 + np.pi**2 / 3.0) * gaps.sum())


@described_by(ARGUMENTS, RETURNS)
def t_fucb_regret(rounds: Numbers, means: Numbers, fractions: Numbers) -> Array:
    """r-regret of T-FUCB; the same expression as `fucb_regret`.

    Example:
        >>> bool(t_fucb_regret(1000, [0.8, 0.3], [0.1, 0.1]) == fucb_regret(1000, [0.8, 0.3], [0.1, 0.1]))
        True

    Source: Patil et al. 2019, Theorem 2.
    """
    return fucb_regret(rounds, means, fractions)


@described_by(ARGUMENTS, RETURNS)
def naive_regret(
    rounds: Numbers, means: Numbers, fractions: Numbers, epsilon: float = 0.1, alpha: float = 2.0
) -> Array:
    """r-regret of NAIVE: ``(m/K) εT Σ Δ_i + m T sqrt(α ln T/(2εT)) f + 2 m T^{1−α}``, m = 1 − Σ r.

    ``f = 1/sqrt(r'_1) + 1/sqrt(r'_j)`` with r'_i = r_i + m/K, 1 the best arm and j the chosen one. The theorem states
    the order O((T² ln T)^{1/3}) for the best ε, which `naive_epsilon` gives; this is the line of its proof that holds
    for any ε, with the worst j. What the rounding of the exploration plays may add is left out: at most one play per
    arm.

    Args:
        rounds: T ≥ 2.
        epsilon: ε in (0, 1].

    Example:
        >>> bool(naive_regret(10**6, [0.8, 0.3], [0.1, 0.1]) < 0.9 * 10**6)
        True

    Source: Patil et al. 2019, Theorem 1 and its proof.
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)
    rest, even = _even_shares(gaps, fractions)
    exploring = rest / len(gaps) * epsilon * time * gaps.sum()
    mistaken = rest * time * np.sqrt(alpha * np.log(time) / (2.0 * epsilon * time)) * _worst_radius(gaps, even)
    return np.asarray(exploring + mistaken + 2.0 * rest * time ** (1.0 - alpha))


@described_by(ARGUMENTS)
def naive_epsilon(rounds: Numbers, means: Numbers, fractions: Numbers, alpha: float = 2.0) -> Array:
    """The ε of NAIVE for which `naive_regret` is least: ``(K/2 · f · sqrt(α ln T/(2T)) / Σ Δ_i)^(2/3)``, at most 1.

    The bound is ``a ε + b/sqrt(ε)`` and a part without ε, with ``a = (m/K) T Σ Δ_i`` and
    ``b = m T sqrt(α ln T/(2T)) f``. Its derivative ``a − b/(2 ε^{3/2})`` is 0 at ``ε = (b/(2a))^(2/3)``, where the
    bound has the order of ``(T² ln T)^{1/3}``; f is that of `naive_regret`. It needs the means, which NAIVE does not
    know, and is 1 where all means are equal.

    Args:
        rounds: T ≥ 2.

    Returns:
        ε in [0, 1], in the shape of ``rounds``.

    Raises:
        EvenhandError: a mean is not a finite number.

    Example:
        >>> best = naive_epsilon(10**6, [0.8, 0.3], [0.1, 0.1])
        >>> round(float(best), 3)
        0.076
        >>> settings = 10**6, [0.8, 0.3], [0.1, 0.1]
        >>> bool(naive_regret(*settings, epsilon=float(best)) < naive_regret(*settings, epsilon=0.1))
        True

    Source: Patil et al. 2019, the proof of Theorem 1.
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)
    _, even = _even_shares(gaps, fractions)
    slope = len(gaps) / 2.0 * _worst_radius(gaps, even) * np.sqrt(alpha * np.log(time) / (2.0 * time))
    if not gaps.any():
        return np.ones_like(slope)
    return np.asarray(np.minimum((slope / gaps.sum()) ** (2.0 / 3.0), 1.0))


def fucb_alpha(fraction: float, arms: int, tolerance: float = 0.0) -> float:
    """The α with which FUCB is α-fair when every arm is promised the same: ``r − N_i(t)/t ≤ t^{−α}`` at all t.

    ``1`` where ``c + K r ≤ 1``, else ``ln(1/r) / ln(K + c/r)``, c the tolerance

    Without a tolerance this is Theorem 4. With one, the proof of its Lemma 1 goes through for the deficits less c, so
    that ``r t − N_i(t) < c + K r`` in every run; it is at most ``r t`` besides. Both are at most ``t^{1−α}`` for all t
    if they are where they meet, at ``t = K + c/r``, which gives α. It holds for every policy that serves the largest
    deficit above c first, whatever it does otherwise.

    Args:
        fraction: r in (0, 1/K), the share promised to every arm.
        arms: K.
        tolerance: c ≥ 0, plays that an arm may be behind before it goes first.

    Returns:
        α in (0, 1].

    Raises:
        EvenhandError: the fraction is not in (0, 1/K), or the tolerance is below 0.

    Example:
        >>> fucb_alpha(0.05, arms=10)
        1.0
        >>> round(fucb_alpha(0.05, arms=10, tolerance=50.0), 3)
        0.433

    Source: Patil et al. 2019, Definition 3 and Theorem 4; for tolerances above 0 ours.
    """
    arms = validate.whole("arms", arms)
    if not 0.0 < validate.number("fraction", fraction) < 1.0 / arms:
        raise EvenhandError(f"fraction must be above 0 and below 1/{arms}, got {fraction!r}")
    behind = validate.number("tolerance", tolerance, low=0.0) + arms * fraction
    return 1.0 if behind <= 1.0 else float(np.log(1.0 / fraction) / np.log(behind / fraction))


@described_by(ARGUMENTS, RETURNS)
def any_fair_regret(rounds: Numbers, means: Numbers, fractions: Numbers) -> Array:
    """r-regret of any policy that is fair: ``T Δ_K (1 − Σ r)``, Δ_K being the largest gap.

    Example:
        >>> float(any_fair_regret(100, [0.75, 0.25], [0.25, 0.25]))
        25.0

    Source: Patil et al. 2019, Theorem 5.
    """
    _, gaps = gaps_of(means)
    share = for_arms("fractions", fractions, gaps, 1.0)
    return np.asarray(rounds_of(rounds) * gaps.max() * (1.0 - share.sum()))


def _even_shares(gaps: Array, fractions: Numbers) -> tuple[float, Array]:
    """What is not promised, m, and ``r'_i = r_i + m/K``, (arms,): NAIVE's shares while it explores."""
    share = for_arms("fractions", fractions, gaps, 1.0)
    rest = max(1.0 - float(share.sum()), 0.0)
    return rest, share + rest / len(gaps)


def _worst_radius(gaps: Array, even: Array) -> float:
    """``f = 1/sqrt(r'_1) + 1/sqrt(r'_j)`` with the worst j, in which NAIVE's confidence radii come."""
    return float(1.0 / np.sqrt(even[gaps == 0.0].min()) + 1.0 / np.sqrt(even.min()))
