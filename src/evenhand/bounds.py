"""What the theorems promise: bounds on regret and fairness, each a function with its theorem's number.

``rounds`` is T, a number or an array of rounds; bounds come back in its shape. Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand import validate
from evenhand.delays import Delay
from evenhand.merit import Merit
from evenhand.metrics import Yardstick
from evenhand.policy import Policy
from evenhand.records import Array

GRID = 200  # quantiles q to take a minimum over


def _gaps(means: Any) -> tuple[Array, Array]:
    means = validate.per_arm("means", means)
    return means, means.max() - means


def ucb1_regret(rounds: Any, means: Any) -> Array:
    """Regret of UCB1: ``Σ_{Δ_i>0} 8 ln T/Δ_i + (1 + π²/3) Σ Δ_i``.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1].

    Example:
        >>> round(float(ucb1_regret(1000, [0.8, 0.3])), 2)
        112.67

    Source: Patil et al. 2019, Theorem 7 (Auer et al. 2002, Theorem 1).
    """
    _, gaps = _gaps(means)
    time = np.asarray(rounds, dtype=float)
    return np.asarray(8.0 * np.log(time) * (1.0 / gaps[gaps > 0.0]).sum() + (1.0 + np.pi**2 / 3.0) * gaps.sum())


def fucb_regret(rounds: Any, means: Any, fractions: Any) -> Array:
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
    _, gaps = _gaps(means)
    time = np.asarray(rounds, dtype=float)[..., np.newaxis]
    worse = gaps > 0.0
    delta, share = gaps[worse], np.broadcast_to(fractions, gaps.shape)[worse]
    extra = np.maximum(8.0 * np.log(time) / delta**2 - share * time, 0.0)
    return np.asarray((delta * extra).sum(axis=-1) + (1.0 + np.pi**2 / 3.0) * gaps.sum())


def t_fucb_regret(rounds: Any, means: Any, fractions: Any) -> Array:
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


def naive_regret(rounds: Any, means: Any, fractions: Any, epsilon: float = 0.1, alpha: float = 2.0) -> Array:
    """r-regret of NAIVE: ``(m/K) εT Σ Δ_i + m T sqrt(α ln T/(2εT)) f + 2 m T^{1−α}``, m = 1 − Σ r.

    ``f = 1/sqrt(r'_1) + 1/sqrt(r'_j)`` with r'_i = r_i + m/K, 1 the best arm and j the chosen one. The theorem states
    the order O((T² ln T)^{1/3}) for the best ε; this is the line of its proof that holds for any ε, with the worst j.
    What the rounding of the exploration plays may add is left out: at most one play an arm.

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
    _, gaps = _gaps(means)
    time = np.asarray(rounds, dtype=float)
    share = np.broadcast_to(np.asarray(fractions, dtype=float), gaps.shape)
    rest = max(1.0 - share.sum(), 0.0)
    even = share + rest / len(gaps)
    worst = 1.0 / np.sqrt(even[gaps == 0.0].min()) + 1.0 / np.sqrt(even.min())
    exploring = rest / len(gaps) * epsilon * time * gaps.sum()
    mistaken = rest * time * np.sqrt(alpha * np.log(time) / (2.0 * epsilon * time)) * worst
    return np.asarray(exploring + mistaken + 2.0 * rest * time ** (1.0 - alpha))


def any_fair_regret(rounds: Any, means: Any, fractions: Any) -> Array:
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
    _, gaps = _gaps(means)
    share = np.broadcast_to(np.asarray(fractions, dtype=float), gaps.shape)
    return np.asarray(np.asarray(rounds, dtype=float) * gaps.max() * (1.0 - share.sum()))


def tscsf_b_regret(rounds: Any, arms: int, plays: int, eta: float, weight: float = 1.0) -> Array:
    """Time-averaged regret of TSCSF-B: ``K/(2η) + (4 w sqrt(m K T ln T) + 2.51 w K)/T``.

    Args:
        rounds: T > 1.
        arms: K.
        plays: m.
        eta: η > 0; inf drops the first term.
        weight: w, the largest weight of an arm.

    Example:
        >>> round(float(tscsf_b_regret(20_000, arms=6, plays=3, eta=63.55)), 4)
        0.4256

    Source: Huang et al. 2020, Theorem 2.
    """
    time = np.asarray(rounds, dtype=float)
    learning = (4.0 * weight * np.sqrt(plays * arms * time * np.log(time)) + 2.51 * weight * arms) / time
    return np.asarray(arms / (2.0 * eta) + learning)


def lfg_regret(rounds: Any, arms: int, plays: int, eta: float, weight: float = 1.0) -> Array:
    """Time-averaged regret of LFG: ``K/(2η) + (2 w sqrt(6 m K T ln T) + 5.11 w K)/T``.

    Huang et al. print the root without w; it belongs there for weights other than 1, as in the theorem that they quote.

    Args:
        rounds: T > 1.
        arms: K.
        plays: m.
        eta: η > 0; inf drops the first term.
        weight: w, the largest weight of an arm.

    Example:
        >>> bool(lfg_regret(1000, 6, 3, 60.0) > tscsf_b_regret(1000, 6, 3, 60.0))
        True

    Source: Li et al. 2019, Theorem 2, as quoted in Huang et al. 2020, section 1.
    """
    time = np.asarray(rounds, dtype=float)
    learning = (2.0 * weight * np.sqrt(6.0 * plays * arms * time * np.log(time)) + 5.11 * weight * arms) / time
    return np.asarray(arms / (2.0 * eta) + learning)


def balancing_eta(rounds: int, arms: int, plays: int) -> float:
    """The η from which TSCSF-B's regret has order sqrt(m K T)/T: ``η = sqrt(K T/(m ln T))``.

    Args:
        rounds: T > 1.
        arms: K.
        plays: m.

    Example:
        >>> round(balancing_eta(20_000, arms=6, plays=3), 2)
        63.55

    Source: Huang et al. 2020, Corollary 1.
    """
    return float(np.sqrt(arms * rounds / (plays * np.log(rounds))))


def hard_threshold_regret(rounds: Any, means: Any, fractions: Any, penalties: Any, printed: bool = True) -> Array:
    """Penalised regret of hard-threshold UCB, without its O(K) term.

    ``Σ_{non-critical} max(min(8 ln T/(Δ−A), (Δ−A) τ T), 8 ln T/Δ) + Σ_{critical} (8 ln T/Δ − τ T)_+``

    Critical arms have A_k ≥ Δ_k > 0, non-critical ones Δ_k > A_k. The last term as printed does not follow from part
    (b) of the theorem, which gives ``(8 ln T/Δ − Δ τ T)_+``; ``printed=False`` takes that one.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_k in [0, 1].
        fractions: (arms,), shares τ_k.
        penalties: A_k, one number or one an arm.
        printed: whether the last term is as printed.

    Example:
        >>> setting = [0.9, 0.8, 0.1], 0.2, 0.3
        >>> bool(hard_threshold_regret(5000, *setting) <= hard_threshold_regret(5000, *setting, printed=False))
        True

    Source: Fang et al. 2022, Theorem 4.2 (d).
    """
    _, gaps = _gaps(means)
    time = np.asarray(rounds, dtype=float)[..., np.newaxis]
    share, price = (np.broadcast_to(np.asarray(v, dtype=float), gaps.shape) for v in (fractions, penalties))
    log = 8.0 * np.log(time)
    critical, hopeless = (price >= gaps) & (gaps > 0.0), gaps > price
    over = gaps[hopeless] - price[hopeless]
    left = np.maximum(np.minimum(log / over, over * share[hopeless] * time), log / gaps[hopeless])
    slope = 1.0 if printed else gaps[critical]
    kept = np.maximum(log / gaps[critical] - slope * share[critical] * time, 0.0)
    return np.asarray(left.sum(axis=-1) + kept.sum(axis=-1))


def max_violation_slopes(means: Any, penalties: Any) -> Array:
    """The slopes a in ``E max_t (τ_k t − N_k(t))_+ ≤ a_k ln T + O(1)`` of hard-threshold UCB, for optimal and
    critical arms.

    With the arms in falling order of A + μ, for the j-th one:
    ``a_j = 8 Σ_{d≤j} (j−d+1) {Σ_{m<d} (μ_d + A_d − μ_m)^−2 + Σ_{m>d} (μ_d + A_d − μ_m − A_m)^−2}``; inf where a
    difference is 0.

    Args:
        means: (arms,), μ_k in [0, 1].
        penalties: A_k, one number or one an arm.

    Returns:
        (arms,), in the order of the arms; NaN for non-critical arms, about which the theorem is silent.

    Example:
        >>> max_violation_slopes([0.9, 0.5], penalties=0.5).round(1)
        array([ 50., 900.])

    Source: Fang et al. 2022, Theorem 4.3, eq. (13).
    """
    means, gaps = _gaps(means)
    price = np.broadcast_to(np.asarray(penalties, dtype=float), gaps.shape)
    order = np.argsort(-(price + means), kind="stable")
    mean, bonus = means[order], (price + means)[order]
    with np.errstate(divide="ignore"):
        ahead = np.tril(1.0 / (bonus[:, np.newaxis] - mean) ** 2, -1).sum(axis=1)
        behind = np.triu(1.0 / (bonus[:, np.newaxis] - bonus) ** 2, 1).sum(axis=1)
    slopes = np.empty_like(gaps)
    slopes[order] = 8.0 * np.cumsum(np.cumsum(ahead + behind))
    return np.where(price >= gaps, slopes, np.nan)


def hard_threshold_regret_gap_free(rounds: Any, fractions: Any, constant: float = 1.0) -> Array:
    """Penalised regret of hard-threshold UCB for any means.

    ``8 sqrt(T ln T) Σ sqrt(τ_k) + 8 sqrt((1 − τ_min) K T ln T) + C sqrt(K T ln T)``

    Args:
        rounds: T ≥ 1.
        fractions: (arms,), shares τ_k > 0.
        constant: the theorem's universal constant C, which the paper does not give.

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


def penalized_regret_lower(rounds: Any, fractions: Any, constant: float = 1.0) -> Array:
    """Penalised regret that no policy can stay below for all means: ``C (1 − Σ τ) sqrt((K − 1) T)``.

    Args:
        rounds: T ≥ 1.
        fractions: (arms,), shares τ_k with a sum below 1.
        constant: the theorem's universal constant C, which the paper does not give.

    Example:
        >>> float(penalized_regret_lower(100, [0.25, 0.25]))
        5.0

    Source: Fang et al. 2022, Theorem 4.8.
    """
    share = validate.per_arm("fractions", fractions, 0.0, 1.0)
    return np.asarray(constant * (1.0 - share.sum()) * np.sqrt((len(share) - 1) * np.asarray(rounds, dtype=float)))


def fcucb_d_regret(
    rounds: Any, means: Any, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Reward and fairness regret of FCUCB-D when delays do not depend on rewards, up to a constant and to logarithms.

    ``C min_q {K/q sqrt(T) + m d*(q)}``, and ``M m/λ`` times that; d*(q) is the largest of the arms' q-quantiles.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1].
        plays: m.
        merit: with its Lipschitz constant M and its minimum λ.
        delay: of the rewards.
        constant: C, in which the paper hides a power of ln T; it gives none.

    Returns:
        The bounds on reward regret and on fairness regret, in the shape of ``rounds``.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> reward, fairness = fcucb_d_regret(10_000, [0.9, 0.5], 1, Power(beta=2.0, exponent=4.0), Fixed(100))
        >>> float(reward), float(fairness)
        (300.0, 2400.0)

    Source: Chen et al. 2024, Theorem 6.
    """
    levels, late = _quantiles(means, delay)
    time = np.asarray(rounds, dtype=float)[..., np.newaxis]
    reward = constant * (np.size(means) / levels * np.sqrt(time) + plays * late).min(axis=-1)
    return reward, merit.lipschitz * plays / merit.minimum * reward


def fcts_d_regret(
    rounds: Any, means: Any, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Expected reward and fairness regret of FCTS-D over means drawn uniformly; the expressions of `fcucb_d_regret`.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1]; the bound is on the average over them.
        plays: m.
        merit: with its Lipschitz constant M and its minimum λ.
        delay: of the rewards.
        constant: C.

    Returns:
        The bounds on reward regret and on fairness regret, in the shape of ``rounds``.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> float(fcts_d_regret(10_000, [0.9, 0.5], 1, Power(), Fixed(100))[0])
        300.0

    Source: Chen et al. 2024, Theorem 7.
    """
    return fcucb_d_regret(rounds, means, plays, merit, delay, constant)


def op_fcucb_d_regret(
    rounds: Any, means: Any, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Reward and fairness regret of OP-FCUCB-D when delays may depend on rewards, up to a constant and to logarithms.

    ``C min_q {m (1 − q) T + K d*(q) sqrt(T)}`` and ``C (M m K/λ) min_q {(1 − q) T + d*(q) sqrt(T)}``

    Taken literally a delay of 0 makes the second term vanish; d*(q) counts as 1 at least.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1].
        plays: m.
        merit: with its Lipschitz constant M and its minimum λ.
        delay: of the rewards.
        constant: C, in which the paper hides a power of ln T; it gives none.

    Returns:
        The bounds on reward regret and on fairness regret, in the shape of ``rounds``.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> reward, fairness = op_fcucb_d_regret(10_000, [0.9, 0.5], 1, Power(beta=2.0, exponent=4.0), Fixed(10))
        >>> float(reward), float(fairness)
        (2000.0, 16000.0)

    Source: Chen et al. 2024, Theorem 8.
    """
    levels, late = _quantiles(means, delay)
    time, arms = np.asarray(rounds, dtype=float)[..., np.newaxis], np.size(means)
    lost, learning = (1.0 - levels) * time, np.maximum(late, 1.0) * np.sqrt(time)
    reward = constant * (plays * lost + arms * learning).min(axis=-1)
    return reward, _slope(merit, plays, arms) * constant * (lost + learning).min(axis=-1)


def op_fcts_d_regret(
    rounds: Any, means: Any, plays: int, merit: Merit, delay: Delay, constant: float = 1.0
) -> tuple[Array, Array]:
    """Expected reward and fairness regret of OP-FCTS-D over means drawn uniformly, up to a constant and to logarithms.

    Both: ``C (M m K/λ) min_q {(1 − q) T + d*(q)/q sqrt(T)}``

    Taken literally a delay of 0 makes the second term vanish; d*(q) counts as 1 at least.

    Args:
        rounds: T ≥ 1.
        means: (arms,), μ_i in [0, 1]; the bound is on the average over them.
        plays: m.
        merit: with its Lipschitz constant M and its minimum λ.
        delay: of the rewards.
        constant: C, in which the paper hides a power of ln T; it gives none.

    Returns:
        The bounds on reward regret and on fairness regret, in the shape of ``rounds``.

    Example:
        >>> from evenhand.delays import Fixed
        >>> from evenhand.merit import Power
        >>> float(op_fcts_d_regret(10_000, [0.9, 0.5], 1, Power(beta=2.0, exponent=4.0), Fixed(10))[0])
        16000.0

    Source: Chen et al. 2024, Theorem 9.
    """
    levels, late = _quantiles(means, delay)
    time = np.asarray(rounds, dtype=float)[..., np.newaxis]
    inner = (1.0 - levels) * time + np.maximum(late, 1.0) / levels * np.sqrt(time)
    bound = np.asarray(_slope(merit, plays, np.size(means)) * constant * inner.min(axis=-1))
    return bound, bound


def ars_ucb_regret(rounds: Any, means: Any, exploration: float = 4.0, constant: float = 0.0) -> Array:
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
    _, gaps = _gaps(means)
    time = np.asarray(rounds, dtype=float)
    return np.asarray(8.0 * exploration * np.log(time) * (1.0 / gaps[gaps > 0.0]).sum() + constant)


def ars_exp3_regret(rounds: Any, arms: int, delay: float, exponent: float = 0.5, constant: float = 1.0) -> Array:
    """Regret of ARS-EXP3 up to a constant: ``C (sqrt(N ln N) T^((2β+1)/(2β+2)) + d T^(1/(β+1)))``.

    Args:
        rounds: T ≥ 1.
        arms: N.
        delay: d, the longest that a reward takes.
        exponent: β.
        constant: C, which the paper does not give.

    Example:
        >>> round(float(ars_exp3_regret(1000, arms=2, delay=10)), 1)
        1117.7

    Source: Wang et al. 2021, Theorem 2.
    """
    time = np.asarray(rounds, dtype=float)
    learning = np.sqrt(arms * np.log(arms)) * time ** ((2.0 * exponent + 1.0) / (2.0 * exponent + 2.0))
    return np.asarray(constant * (learning + delay * time ** (1.0 / (exponent + 1.0))))


def ars_clw_regret(rounds: Any, arms: int, delay: float, exponent: float = 1.0 / 3.0, constant: float = 1.0) -> Array:
    """Regret of ARS-CLW up to a constant, for ``h(T) = T^x``: ``C (sqrt(T h(2T) N ln N) + d^(1/x))``.

    Args:
        rounds: T ≥ 1.
        arms: N.
        delay: d, the longest that a reward takes.
        exponent: x of the guess.
        constant: C, which the paper does not give.

    Example:
        >>> round(float(ars_clw_regret(4000, arms=2, delay=10, exponent=1 / 3)), 1)
        1333.0

    Source: Wang et al. 2021, Theorem 3.
    """
    time = np.asarray(rounds, dtype=float)
    learning = np.sqrt(time * (2.0 * time) ** exponent * arms * np.log(arms))
    return np.asarray(constant * (learning + delay ** (1.0 / exponent)))


def _quantiles(means: Any, delay: Delay) -> tuple[Array, Array]:
    """A grid of q in (0, 1], and d*(q) for each, as a row to take minima over."""
    levels = np.arange(1, GRID + 1) / GRID
    return levels, delay.quantiles(levels * (1.0 - 1e-12), means).max(axis=-1)


def _slope(merit: Merit, plays: int, arms: int) -> float:
    return merit.lipschitz * plays * arms / merit.minimum


def bound_for(policy: Policy, stick: Yardstick, rounds: Any) -> tuple[str, Array] | None:
    """The measure that a theorem bounds for this policy, and the bound at ``rounds``; None where there is none.

    Theorems that speak of one play a round, always available arms and weights of 1 are only used there.

    Args:
        policy: of the registry.
        stick: what it is judged by.
        rounds: T, a number or an array.

    Example:
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.environment import Environment
        >>> from evenhand.metrics import yardstick
        >>> from evenhand.rewards import Bernoulli
        >>> policy = fucb([0.1, 0.1])
        >>> bound_for(policy, yardstick(policy, Environment(Bernoulli([0.8, 0.3]))), 1000)[0]
        'r_regret'
    """
    by_lane = (
        np.ndim(values) > 1
        for values in (stick.worth, stick.weights, stick.fractions, stick.penalties)
        if values is not None
    )
    if any(by_lane):
        return None
    arms, plays, weight = stick.worth.shape[-1], policy.plays, float(stick.weights.max())
    eta = getattr(policy.fairness, "eta", np.inf)
    simple = plays == 1 and not stick.sleeping and bool((stick.weights == 1.0).all())
    known: dict[str, tuple[bool, str, Callable[[], Array]]] = {
        "ucb1": (simple, "regret", lambda: ucb1_regret(rounds, stick.worth)),
        "fucb": (simple, "r_regret", lambda: fucb_regret(rounds, stick.worth, stick.fractions)),
        "t_fucb": (simple, "r_regret", lambda: t_fucb_regret(rounds, stick.worth, stick.fractions)),
        "tscsf_b": (
            eta > 0,
            "time_averaged_regret",
            lambda: tscsf_b_regret(rounds, arms, plays, eta, weight),
        ),
        "lfg": (eta > 0, "time_averaged_regret", lambda: lfg_regret(rounds, arms, plays, eta, weight)),
        "hard_threshold_ucb": (
            simple,
            "penalized_regret",
            lambda: hard_threshold_regret(rounds, stick.worth, stick.fractions, stick.penalties),
        ),
    }
    holds, measure, value = known.get(policy.name, (False, "", lambda: np.array(np.nan)))
    return (measure, value()) if holds else None
