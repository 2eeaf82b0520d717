"""Lower bounds of Fang et al. 2022 for hard-threshold UCB, each with the problem on which it is reached.

Rewards of these problems are constant: an arm earns its mean in every play. Logarithms are natural.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.theory.bounds.gaps import Numbers, for_arms, gaps_of, rounds_of


@dataclass(frozen=True, eq=False)
class HardProblem:
    """A problem on which a lower bound is reached.

    Example:
        >>> noncritical_problem(10_000, arms=3, gap=0.9, penalty=0.3, fraction=0.1).penalties
        array([0.3, 0.3, 0.3])
    """

    means: Array  # (arms,), μ_k in [0, 1], earned in every play
    fractions: Array  # (arms,), shares τ_k
    penalties: Array  # (arms,), A_k
    rounds: int  # T


def noncritical_regret_lower(rounds: Numbers, means: Numbers, fractions: Numbers, penalties: Numbers) -> Array:
    """Penalised regret that hard-threshold UCB reaches on `noncritical_problem`:
    ``Σ_{non-critical, τ_k > 0} ln T/(Δ_k − A_k)``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_k in [0, 1].
        fractions: (arms,), shares τ_k.
        penalties: A_k, one number or one per arm; non-critical arms have Δ_k > A_k.

    Returns:
        The shape of ``rounds``, in reward.

    Raises:
        EvenhandError: a mean is not a finite number.

    Example:
        >>> problem = noncritical_problem(10_000, arms=3, gap=0.9, penalty=0.3, fraction=0.1)
        >>> settings = problem.means, problem.fractions, problem.penalties
        >>> round(float(noncritical_regret_lower(problem.rounds, *settings)), 2)
        30.7

    Source: Fang et al. 2022, Theorem 4.6.
    """
    _, gaps = gaps_of(means)
    share, price = for_arms("fractions", fractions, gaps, 1.0), for_arms("penalties", penalties, gaps)
    counts = (gaps > price) & (share > 0.0)
    return np.asarray(np.log(rounds_of(rounds)) * (1.0 / (gaps - price)[counts]).sum())


def noncritical_problem(rounds: int, arms: int, gap: float, penalty: float, fraction: float) -> HardProblem:
    """The problem of Theorem 4.6: one arm earns Δ in every play, the others nothing, and all have the same A < Δ.

    Every worse arm is then played at least ``ln T/(Δ − A)²`` times.

    Args:
        rounds: T ≥ 2.
        arms: K ≥ 2.
        gap: Δ in (0, 1].
        penalty: A in [0, Δ).
        fraction: τ > 0 of every arm, ``K τ < 1``, ``τ < 1/2``.

    Raises:
        EvenhandError: a premise of the theorem or of its proof does not hold; it says by how much.

    Example:
        >>> noncritical_problem(10_000, arms=3, gap=0.9, penalty=0.3, fraction=0.1).means
        array([0.9, 0. , 0. ])

    Source: Fang et al. 2022, appendix B, proof of Theorem 4.6.
    """
    _check(rounds, arms, fraction)
    if not 0.0 <= penalty < validate.number("gap", gap, 0.0, 1.0):
        raise EvenhandError(f"the penalty must be at least 0 and below the gap, got {penalty!r} and {gap!r}")
    log, excess = math.log(rounds), gap - penalty
    _require("8 ln T/(Δ − A)²", 8.0 * log / excess**2, "τ T/2", fraction * rounds / 2.0)
    _require("(K − 1) 8 ln T/(Δ − A)²", (arms - 1) * 8.0 * log / excess**2, "T/2 − 1", rounds / 2.0 - 1.0)
    late, early = excess + _late_width(rounds), _early_width(excess, rounds)
    _require("Δ − A + sqrt(4 ln T/T)", late, "(Δ − A) sqrt(2 ln(T/2)/ln T)", early)
    means = np.zeros(arms)
    means[0] = gap
    return HardProblem(means, np.full(arms, fraction), np.full(arms, penalty), rounds)


def critical_regret_lower(rounds: Numbers, means: Numbers, fractions: Numbers, penalties: Numbers) -> Array:
    """Penalised regret that hard-threshold UCB reaches on `critical_problem`:
    ``Σ_{critical} Δ_k (ln T/Δ_k² − τ_k T)``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_k in [0, 1].
        fractions: (arms,), shares τ_k.
        penalties: A_k, one number or one per arm; critical arms have A_k ≥ Δ_k > 0.

    Returns:
        The shape of ``rounds``, in reward; it may be below 0, where it says nothing.

    Raises:
        EvenhandError: a mean is not a finite number.

    Example:
        >>> problem = critical_problem(20_000, gaps=(0.2, 0.8), penalties=(0.3, 0.1), fraction=0.005)
        >>> settings = problem.means, problem.fractions, problem.penalties
        >>> round(float(critical_regret_lower(problem.rounds, *settings)), 2)
        29.52

    Source: Fang et al. 2022, Theorem 4.7.
    """
    _, gaps = gaps_of(means)
    share, price = for_arms("fractions", fractions, gaps, 1.0), for_arms("penalties", penalties, gaps)
    critical = (price >= gaps) & (gaps > 0.0)
    time = rounds_of(rounds)[..., np.newaxis]
    delta = gaps[critical]
    return np.asarray((delta * (np.log(time) / delta**2 - share[critical] * time)).sum(axis=-1))


def critical_problem(
    rounds: int,
    gaps: tuple[float, float],
    penalties: tuple[float, float],
    fraction: float,
    arms: tuple[int, int] = (1, 1),
) -> HardProblem:
    """The problem of Theorem 4.7: one arm earns ``Δ_1 + Δ_2`` in every play, critical arms Δ_1, the others Δ_2.

    The gap of the critical arms is Δ_2, that of the others Δ_1. Every critical arm is then played at least
    ``ln T/Δ_2²`` times.

    Args:
        rounds: T ≥ 2.
        gaps: Δ_2 of the critical arms and Δ_1 of the others, each above 0, with a sum of at most 1.
        penalties: A_2 > Δ_2 of the critical arms and A_1 in [0, Δ_1) of the others, also the best arm's.
        fraction: τ of every arm, at most ``ln T/(Δ_2² T)``.
        arms: how many are critical, and how many of the others there are.

    Raises:
        EvenhandError: a premise of the theorem or of its proof does not hold; it says by how much.

    Example:
        >>> critical_problem(20_000, gaps=(0.2, 0.8), penalties=(0.3, 0.1), fraction=0.005).means
        array([1. , 0.8, 0.2])

    Source: Fang et al. 2022, appendix B, proof of Theorem 4.7.
    """
    (small, large), (high, low), (critical, others) = gaps, penalties, arms
    _check(rounds, 1 + critical + others, fraction)
    if not (small > 0.0 and large > 0.0 and small + large <= 1.0):
        raise EvenhandError(f"gaps must be above 0 and sum to at most 1, got {gaps!r}")
    if not (high > small and 0.0 <= low < large):
        raise EvenhandError(
            f"penalties must be above the gap of the critical arms and below that of the others, got {penalties!r} for "
            f"{gaps!r}"
        )
    log = math.log(rounds)
    spent = others * 8.0 * log / (large - low) ** 2 + critical * 8.0 * log / small**2
    _require("8 ln T (Σ 1/(Δ_1 − A_1)² + Σ 1/Δ_2²)", spent, "T/2", rounds / 2.0)
    _require("τ T", fraction * rounds, "ln T/Δ_2²", log / small**2)
    late, early = small + _late_width(rounds), _early_width(small, rounds)
    _require("Δ_2 + sqrt(4 ln T/T)", late, "Δ_2 sqrt(2 ln(T/2)/ln T)", early)
    means = np.array([large + small, *[large] * critical, *[small] * others])
    prices = np.array([low, *[high] * critical, *[low] * others])
    return HardProblem(means, np.full(len(means), fraction), prices, rounds)


def _check(rounds: int, arms: int, fraction: float) -> None:
    validate.whole("rounds", rounds, low=2)
    validate.whole("arms", arms, low=2)
    share = validate.number("fraction", fraction, 0.0, 1.0)
    if not (0.0 < share < 0.5 and arms * share < 1.0):
        raise EvenhandError(f"the fraction must be above 0, and below 1/2 and 1/{arms}, got {fraction!r}")


def _require(name: str, value: float, limit: str, most: float) -> None:
    if value > most:
        raise EvenhandError(f"{name} = {value:.6g} must be at most {limit} = {most:.6g}; use more rounds")


def _late_width(rounds: int) -> float:
    """The confidence width of the best arm after half of the rounds, at most."""
    return math.sqrt(4.0 * math.log(rounds) / rounds)


def _early_width(gap: float, rounds: int) -> float:
    """The confidence width after half of the rounds of an arm with ``ln T/gap²`` plays, at least."""
    return gap * math.sqrt(2.0 * math.log(rounds / 2.0) / math.log(rounds))
