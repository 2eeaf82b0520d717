"""Bounds of Wang et al. 2021: rewards that come back as anonymous sums.

``rounds`` is T, a number or an array of rounds; bounds have its shape. Logarithms are natural.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.state import Array
from evenhand.theory.bounds.gaps import Numbers, gaps_of


def ars_ucb_regret(rounds: Numbers, means: Numbers, exploration: float = 4.0, constant: float = 0.0) -> Array:
    """Regret of ARS-UCB: ``Σ_{Δ_i>0} 8 α ln T/Δ_i + c``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), s_i, mean total reward of a play, in [0, 1].
        exploration: α; the theorem asks for more than 4.
        constant: c, which depends on how rewards spread and not on T; the paper does not give it in closed form.

    Example:
        >>> round(float(ars_ucb_regret(1000, [0.9, 0.4])), 1)
        442.1

    Source: Wang et al. 2021, Theorem 1.
    """
    _, gaps = gaps_of(means)
    time = np.asarray(rounds, dtype=float)
    return np.asarray(8.0 * exploration * np.log(time) * (1.0 / gaps[gaps > 0.0]).sum() + constant)


def ars_exp3_regret(rounds: Numbers, arms: int, delay: float, exponent: float = 0.5, constant: float = 1.0) -> Array:
    """Regret of ARS-EXP3 up to a constant: ``C (sqrt(N ln N) T^((2β+1)/(2β+2)) + d T^(1/(β+1)))``.

    Args:
        rounds: T ≥ 1.
        arms: N.
        delay: d, the longest that a reward takes.
        exponent: β.
        constant: C, which the paper does not state.

    Example:
        >>> round(float(ars_exp3_regret(1000, arms=2, delay=10)), 1)
        1117.7

    Source: Wang et al. 2021, Theorem 2.
    """
    time = np.asarray(rounds, dtype=float)
    learning = np.sqrt(arms * np.log(arms)) * time ** ((2.0 * exponent + 1.0) / (2.0 * exponent + 2.0))
    return np.asarray(constant * (learning + delay * time ** (1.0 / (exponent + 1.0))))


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

    Example:
        >>> round(float(ars_clw_regret(4000, arms=2, delay=10, exponent=1 / 3)), 1)
        1333.0

    Source: Wang et al. 2021, Theorem 3.
    """
    time = np.asarray(rounds, dtype=float)
    learning = np.sqrt(time * (2.0 * time) ** exponent * arms * np.log(arms))
    return np.asarray(constant * (learning + delay ** (1.0 / exponent)))
