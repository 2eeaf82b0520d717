"""Bounds of Wang et al. 2021: rewards that come back as anonymous sums."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core import validate
from evenhand.core.state import Array
from evenhand.policy.hold import PowerSize, SizeLike, as_size
from evenhand.theory.bounds.gaps import Numbers, gaps_of, rounds_of

LONGEST = 1000  # holds of an arm that are looked at


def ars_ucb_regret(rounds: Numbers, means: Numbers, exploration: float = 4.0, constant: float = 0.0) -> Array:
    """Regret of ARS-UCB: ``Σ_{Δ_i>0} 8 α ln T/Δ_i + c*``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), s_i, mean total reward of a play, in [0, 1].
        exploration: α; the theorem asks for more than 4.
        constant: c* of `ars_ucb_constant`, which depends on how rewards spread and not on T; without it this is only
            the term that grows.

    Returns:
        The bound on the regret, in the shape of ``rounds``.

    Raises:
        EvenhandError: a mean is not a finite number.

    Example:
        >>> round(float(ars_ucb_regret(1000, [0.9, 0.4])), 1)
        442.1

    Source: Wang et al. 2021, Theorem 1.
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)
    return np.asarray(8.0 * exploration * np.log(time) * (1.0 / gaps[gaps > 0.0]).sum() + constant)


def ars_ucb_constant(
    arms: int, exploration: float, late_mean: float, late_variance: float, size: SizeLike | None = None
) -> float:
    """The constant of ARS-UCB's regret: ``c* = 2 T* + 8 N + N F(k_0)``.

    ``T* = max{exp((4 d_1/(sqrt(α) − 2))²), exp(N(d_2)/α) + N (F(k_0) + 2 N(d_2))}``

    F(k) is ``f(1) + … + f(k)``, k_0 that of `first_hold`, and N(d_2) the least number of plays of an arm beyond which
    ``12 d_2 k/F(k) ≤ ((sqrt(α) − 2)/2)²``. The exponential makes it larger than any horizon unless rewards come
    almost at once or α is large.

    Args:
        arms: N ≥ 1.
        exploration: α ≥ 0.
        late_mean: d_1 ≥ 0 in rounds, of `evenhand.environment.profiles.lateness`.
        late_variance: d_2 ≥ 0 in rounds, of `evenhand.environment.profiles.lateness_variance`.
        size: f, a rising function of k; None for k².

    Returns:
        c* ≥ 0, a regret; inf where the theorem says nothing: for α ≤ 4, where f breaks its condition (ii), or beyond
        the largest float.

    Example:
        >>> ars_ucb_constant(arms=3, exploration=5.0, late_mean=0.0, late_variance=0.0)
        152.0
        >>> ars_ucb_constant(arms=3, exploration=4.0, late_mean=0.0, late_variance=0.0)
        inf

    Source: Wang et al. 2021, appendix A (end of the proof of Theorem 1, and A.2).
    """
    validate.whole("arms", arms)
    for name, value in {"exploration": exploration, "late_mean": late_mean, "late_variance": late_variance}.items():
        validate.number(name, value, low=0.0, inf=True)
    holds = as_size(PowerSize(2.0) if size is None else size)
    first, slack = first_hold(holds), (math.sqrt(exploration) - 2.0) / 2.0
    if slack <= 0.0 or math.isinf(first) or math.isinf(late_variance):
        return math.inf
    played = np.cumsum(holds(np.arange(1.0, LONGEST + 1.0)))
    start = float(played[int(first) - 1]) if first else 0.0
    exceeded = 12.0 * late_variance * np.arange(1.0, LONGEST + 1.0) / played > slack**2
    needed = float(played[np.flatnonzero(exceeded)[-1]]) if exceeded.any() else 0.0
    with np.errstate(over="ignore"):
        by_mean = np.exp(np.square(2.0 * late_mean / slack))
        by_variance = np.exp(needed / exploration) + arms * (start + 2.0 * needed)
    return float(2.0 * max(by_mean, by_variance) + 8.0 * arms + arms * start)


def first_hold(size: SizeLike) -> float:
    """The hold from which on none is longer than all before it: the least k_0 with ``F(k) ≥ f(k + 1)`` for all k > k_0.

    It is condition (ii) of Theorem 1, and looked at for the first 1000 holds, or as far as floats go.

    Args:
        size: f, a rising function of k.

    Returns:
        k_0 ≥ 0; inf where there is none, as for 3^k.

    Raises:
        EvenhandError: f does not rise, or is below 1.

    Example:
        >>> from evenhand.policy import GeometricSize
        >>> first_hold(PowerSize(2.0)), first_hold(GeometricSize(0)), first_hold(lambda k: 3.0**k)
        (3.0, 0.0, inf)

    Source: Wang et al. 2021, Theorem 1.
    """
    with np.errstate(over="ignore"):
        sizes = as_size(size)(np.arange(1.0, LONGEST + 1.0))
        played = np.cumsum(sizes)
    known = int(np.isfinite(played).sum())
    broken = np.flatnonzero(played[: known - 1] < sizes[1:known])
    if broken.size == 0:
        return 0.0
    last = int(broken[-1]) + 1
    return math.inf if last >= known - 1 else float(last)


def ars_exp3_regret(rounds: Numbers, arms: int, delay: float, exponent: float = 0.5) -> Array:
    """Regret of ARS-EXP3: ``3 g(K) sqrt(N K ln N) + 2 d K + g(K + 1)``.

    ``g(k) = max(1, ⌊k^β⌋)``, and K is the number of choices that fit into T.

    Args:
        rounds: T ≥ 1.
        arms: N ≥ 1.
        delay: d ≥ 0 in rounds, the longest that a reward takes.
        exponent: β > 0.

    Returns:
        The bound on the regret, in the shape of ``rounds``; it may exceed T, what no policy can lose.

    Example:
        >>> round(float(ars_exp3_regret(1000, arms=2, delay=10)), 1)  # 135 choices, the last of 11 rounds
        3162.4

    Source: Wang et al. 2021, appendix B.
    """
    validate.whole("arms", arms)
    validate.number("delay", delay, low=0.0)
    size, time = PowerSize(exponent), rounds_of(rounds)
    least = max(float(np.max(time)), 1.0)
    holds = size(np.arange(1.0, 3.0 + (2.0 * (exponent + 1.0) * least) ** (1.0 / (exponent + 1.0))))
    while holds.sum() <= least:
        holds = size(np.arange(1.0, 2.0 * len(holds)))
    complete = np.maximum(np.searchsorted(np.cumsum(holds), time, side="right"), 1).astype(float)
    learning = 3.0 * size(complete) * np.sqrt(arms * complete * math.log(arms))
    return np.asarray(learning + 2.0 * delay * complete + size(complete + 1.0))


def ars_exp3_doubling_regret(
    rounds: int, arms: int, delay: float, first_horizon: int = 1000, exponent: float = 0.5
) -> float:
    """Regret of ARS-EXP3 by doubling: the sum of `ars_exp3_regret` over the phases, the last one in full.

    Args:
        rounds: T ≥ 1.
        arms: N ≥ 1.
        delay: d ≥ 0 in rounds, the longest that a reward takes.
        first_horizon: T_1 ≥ 1, rounds of the first phase; each is twice as long as the one before.
        exponent: β > 0.

    Returns:
        The bound on the regret; it may exceed T, what no policy can lose.

    Example:
        >>> ars_exp3_doubling_regret(1000, arms=2, delay=10) == float(ars_exp3_regret(1000, arms=2, delay=10))
        True

    Source: the doubling of Wang et al. 2021, section 3.1; the sum is ours.
    """
    phases = (validate.whole("rounds", rounds) - 1) // validate.whole("first_horizon", first_horizon) + 1
    lengths = first_horizon * 2.0 ** np.arange(phases.bit_length())
    return float(ars_exp3_regret(lengths, arms, delay, exponent).sum())


def ars_clw_regret(
    rounds: Numbers, arms: int, delay: float, exponent: float = 1.0 / 3.0, constant: float = 1.0
) -> Array:
    """Regret of ARS-CLW up to a constant, for ``h(T) = T^x``: ``C (sqrt(T h(2T) N ln N) + d^(1/x))``.

    Args:
        rounds: T ≥ 1.
        arms: N.
        delay: d, the longest that a reward takes.
        exponent: x of the guess.
        constant: C, which the paper does not state.

    Returns:
        Units of reward, in the shape of ``rounds``.

    Example:
        >>> round(float(ars_clw_regret(4000, arms=2, delay=10, exponent=1 / 3)), 1)
        1333.0

    Source: Wang et al. 2021, Theorem 3.
    """
    time = rounds_of(rounds)
    learning = np.sqrt(time * (2.0 * time) ** exponent * arms * np.log(arms))
    return np.asarray(constant * (learning + delay ** (1.0 / exponent)))
