"""Bounds of Chen et al. 2024: shares by merit, with rewards that come late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.core import validate
from evenhand.core.descriptions import described_by
from evenhand.core.state import Array
from evenhand.policy.merit import Linear, Merit
from evenhand.theory.bounds.gaps import Numbers, rounds_of

if TYPE_CHECKING:
    from evenhand.environment.late import Delay

GRID = 200  # quantiles q to take a minimum over

#: Arguments that mean the same in several of these bounds, and what most of them return.
ARGUMENTS = {
    "rounds": "T ≥ 1.",
    "means": "(arms,), μ_i in [0, 1].",
    "plays": "m.",
    "merit": "with its Lipschitz constant M and its minimum λ.",
    "delay": "of the rewards.",
    "constant": "C, in which the paper hides a power of ln T; it gives none.",
}
RETURNS = "The bounds on reward regret and on fairness regret, in the shape of ``rounds``."


@described_by(ARGUMENTS, RETURNS)
def fcucb_d_regret(
    rounds: Numbers, means: Numbers, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Reward and fairness regret of FCUCB-D when delays do not depend on rewards, up to a constant and to logarithms.

    ``C min_q {K/q sqrt(T) + m d*(q)}``, and ``M m/λ`` times that; d*(q) is the largest of the arms' q-quantiles.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> reward, fairness = fcucb_d_regret(10_000, [0.9, 0.5], 1, Power(beta=2.0, exponent=4.0), Fixed(100))
        >>> float(reward), float(fairness)
        (300.0, 2400.0)

    Source: Chen et al. 2024, Theorem 6.
    """
    levels, late = _quantiles(means, delay)
    time = rounds_of(rounds)[..., np.newaxis]
    reward = constant * (np.size(means) / levels * np.sqrt(time) + plays * late).min(axis=-1)
    return reward, merit.lipschitz * plays / merit.minimum * reward


@described_by(ARGUMENTS, RETURNS)
def fcts_d_regret(
    rounds: Numbers, means: Numbers, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Expected reward and fairness regret of FCTS-D over means drawn uniformly; the expressions of `fcucb_d_regret`.

    Args:
        means: (arms,), μ_i in [0, 1]; the bound is on the average over them.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> float(fcts_d_regret(10_000, [0.9, 0.5], 1, Power(), Fixed(100))[0])
        300.0

    Source: Chen et al. 2024, Theorem 7.
    """
    return fcucb_d_regret(rounds, means, plays, merit, delay, constant)


@described_by(ARGUMENTS, RETURNS)
def op_fcucb_d_regret(
    rounds: Numbers, means: Numbers, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Reward and fairness regret of OP-FCUCB-D when delays may depend on rewards, up to a constant and to logarithms.

    ``C min_q {m (1 − q) T + K d*(q) sqrt(T)}`` and ``C (M m K/λ) min_q {(1 − q) T + d*(q) sqrt(T)}``

    Taken literally a delay of 0 makes the second term vanish; d*(q) counts as 1 at least.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> reward, fairness = op_fcucb_d_regret(10_000, [0.9, 0.5], 1, Power(beta=2.0, exponent=4.0), Fixed(10))
        >>> float(reward), float(fairness)
        (2000.0, 16000.0)

    Source: Chen et al. 2024, Theorem 8.
    """
    levels, late = _quantiles(means, delay)
    time, arms = rounds_of(rounds)[..., np.newaxis], np.size(means)
    lost, learning = (1.0 - levels) * time, np.maximum(late, 1.0) * np.sqrt(time)
    reward = constant * (plays * lost + arms * learning).min(axis=-1)
    return reward, _slope(merit, plays, arms) * constant * (lost + learning).min(axis=-1)


@described_by(ARGUMENTS, RETURNS)
def op_fcts_d_regret(
    rounds: Numbers, means: Numbers, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Expected reward and fairness regret of OP-FCTS-D over means drawn uniformly, up to a constant and to logarithms.

    Both: ``C (M m K/λ) min_q {(1 − q) T + d*(q)/q sqrt(T)}``

    Taken literally a delay of 0 makes the second term vanish; d*(q) counts as 1 at least.

    Args:
        means: (arms,), μ_i in [0, 1]; the bound is on the average over them.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> float(op_fcts_d_regret(10_000, [0.9, 0.5], 1, Power(beta=2.0, exponent=4.0), Fixed(10))[0])
        16000.0

    Source: Chen et al. 2024, Theorem 9.
    """
    levels, late = _quantiles(means, delay)
    time = rounds_of(rounds)[..., np.newaxis]
    inner = (1.0 - levels) * time + np.maximum(late, 1.0) / levels * np.sqrt(time)
    bound = np.asarray(_slope(merit, plays, np.size(means)) * constant * inner.min(axis=-1))
    return bound, bound


class Instance(NamedTuple):
    """Bernoulli arms, two of which play per round, and what they deserve."""

    means: Array  # (3,) in [0, 1]
    merit: Merit


@described_by(ARGUMENTS)
def linear_fairness_instances(rounds: int, without: str = "minimum") -> tuple[Instance, Instance, float]:
    """Two instances on which no algorithm has a small fairness regret, for want of an assumption on the merit.

    Without a minimum: ``f(μ) = μ``, means (3η, 2η, 2η) and (2η, 2η, 2η), ``η = 1/(3T)``; together at least
    ``(2/21) exp(−ln 1.5) T``. Without a Lipschitz constant: ``f(μ) = 1 + T μ``, means (2η, η, η) and (η, η, η),
    ``η = 1/(2T)``; together at least ``(1/15) exp(−ln 2) T``. The instances look alike for T rounds, and deserve
    different shares.

    A merit must be positive, so ``f(μ) = μ`` stands here as ``μ + 10^−6 η``. The policies need ``cap=True``, as the
    largest merit is more than twice the smallest.

    Args:
        without: ``"minimum"`` (Assumption 1 (i)) or ``"lipschitz"`` (Assumption 2).

    Returns:
        The two instances, and the least that their expected fairness regrets over T rounds add up to, for two plays per
        round and without delay.

    Example:
        >>> one, other, least = linear_fairness_instances(100, "lipschitz")
        >>> one.means.round(3).tolist(), other.means.round(3).tolist(), round(least, 2)
        ([0.01, 0.005, 0.005], [0.005, 0.005, 0.005], 3.33)

    Source: Chen et al. 2024, Theorem 4 and appendix A.2.
    """
    validate.whole("rounds", rounds)
    validate.one_of("without", without, ("minimum", "lipschitz"))
    if without == "minimum":
        unit, first, least = 1.0 / (3.0 * rounds), 3.0, 2.0 / 21.0 / 1.5
        merit, other = Linear(slope=1.0, intercept=1e-6 * unit), 2.0
    else:
        unit, first, least = 1.0 / (2.0 * rounds), 2.0, 1.0 / 30.0
        merit, other = Linear(slope=float(rounds), intercept=1.0), 1.0
    differ, alike = (Instance(unit * np.array([best, other, other]), merit) for best in (first, other))
    return differ, alike, least * rounds


def _quantiles(means: Numbers, delay: Delay) -> tuple[Array, Array]:
    """A grid of q in (0, 1], and d*(q) for each, as a row to take minima over."""
    from evenhand.environment.late import Delay  # which needs the theory, too

    validate.part("delay", delay, Delay, "Geometric(0.05)")
    levels = np.arange(1, GRID + 1) / GRID
    return levels, delay.quantiles(levels * (1.0 - 1e-12), validate.per_arm("means", means)).max(axis=-1)


def _slope(merit: Merit, plays: int, arms: int) -> float:
    return merit.lipschitz * plays * arms / merit.minimum
