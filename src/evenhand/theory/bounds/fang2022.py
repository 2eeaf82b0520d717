"""Bounds of Fang et al. 2022: policies that pay a penalty for missing plays."""

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
    "means": "(arms,), μ_k in [0, 1].",
    "fractions": "(arms,), shares τ_k.",
    "penalties": "A_k, one number or one per arm.",
    "constant": "the theorem's universal constant C, which the paper does not state.",
}
RETURNS = "Units of reward, in the shape of ``rounds``."


@described_by(ARGUMENTS, RETURNS)
def hard_threshold_regret(
    rounds: Numbers, means: Numbers, fractions: Numbers, penalties: Numbers, printed: bool = True
) -> Array:
    """Penalised regret of hard-threshold UCB, without its O(K) term.

    ``Σ_{non-critical} max(min(8 ln T/(Δ−A), (Δ−A) τ T), 8 ln T/Δ) + Σ_{critical} (8 ln T/Δ − τ T)_+``

    Critical arms have A_k ≥ Δ_k > 0, non-critical ones Δ_k > A_k. The last term as printed does not follow from part
    (b) of the theorem, which gives ``(8 ln T/Δ − Δ τ T)_+``; ``printed=False`` takes that one.

    Args:
        printed: whether the last term is as printed.

    Example:
        >>> setting = [0.9, 0.8, 0.1], 0.2, 0.3
        >>> bool(hard_threshold_regret(5000, *setting) <= hard_threshold_regret(5000, *setting, printed=False))
        True

    Source: Fang et al. 2022, Theorem 4.2 (d).
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)[..., np.newaxis]
    share, price = for_arms("fractions", fractions, gaps, 1.0), for_arms("penalties", penalties, gaps)
    log = 8.0 * np.log(time)
    critical, hopeless = (price >= gaps) & (gaps > 0.0), gaps > price
    over = gaps[hopeless] - price[hopeless]
    left = np.maximum(np.minimum(log / over, over * share[hopeless] * time), log / gaps[hopeless])
    slope = 1.0 if printed else gaps[critical]
    kept = np.maximum(log / gaps[critical] - slope * share[critical] * time, 0.0)
    return np.asarray(left.sum(axis=-1) + kept.sum(axis=-1))


@described_by(ARGUMENTS)
def fairness_margin(rounds: Numbers, fractions: Numbers) -> Array:
    """By how much A_k must exceed Δ_k for every arm to get ⌊τ_k T⌋ plays, with a probability that goes to 1:
    ``min(sqrt(32 ln T/(τ_k T)), 1)``.

    The theorem asks it of all arms, the best one included, whose gap is 0.

    Args:
        fractions: (arms,), shares τ_k; where one is 0 nothing is owed, and the margin is 1.

    Returns:
        The shape of ``rounds`` and (arms,), in [0, 1].

    Raises:
        EvenhandError: a fraction is not in [0, 1].

    Example:
        >>> fairness_margin(100_000, [0.2, 0.1]).round(3)
        array([0.136, 0.192])

    Source: Fang et al. 2022, Theorem 4.1.
    """
    share = validate.per_arm("fractions", fractions, 0.0, 1.0)
    time = rounds_of(rounds)[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = np.sqrt(32.0 * np.log(time) / (share * time))
    return np.where(share > 0.0, np.minimum(margin, 1.0), 1.0)


@described_by(ARGUMENTS)
def missing_plays(rounds: Numbers, means: Numbers, fractions: Numbers, penalties: Numbers) -> Array:
    """Plays that hard-threshold UCB may leave missing to an arm, ``E (τ_k T − N_k(T))_+``:
    ``τ_k (K + 32 K ln T/(A_k − Δ_k)²)/c_0 + 1``, ``c_0 = 1 − Σ τ``.

    The lemma states the order ``τ_k K 32 ln T/(A_k − Δ_k)²``; these are the constants of the end of its proof, which
    holds but for an event of probability 2K/T, in which an arm misses at most τ_k T: that is 2K τ_k plays more.

    Args:
        fractions: (arms,), shares τ_k with a sum below 1.

    Returns:
        The shape of ``rounds`` and (arms,), in plays; NaN where ``A_k − Δ_k < sqrt(32 K ln T/T)``, about which the
        lemma is silent.

    Raises:
        EvenhandError: a mean is not a finite number, or the shares sum to 1 or more.

    Example:
        >>> missing_plays(100_000, [0.9, 0.6], [0.1, 0.1], penalties=[0.8, 0.3]).round()
        array([146.,  nan])

    Source: Fang et al. 2022, Lemma 4.4 and its proof.
    """
    _, gaps = gaps_of(means)
    time = rounds_of(rounds)[..., np.newaxis]
    share, price = for_arms("fractions", fractions, gaps, 1.0), for_arms("penalties", penalties, gaps)
    if share.sum() >= 1.0:
        raise EvenhandError(f"fractions must sum to less than 1, got {share.sum():g}")
    arms, over = len(gaps), price - gaps
    least = np.sqrt(32.0 * arms * np.log(time) / time)
    with np.errstate(divide="ignore"):
        missing = share * (arms + 32.0 * arms * np.log(time) / over**2) / (1.0 - share.sum()) + 1.0
    return np.where((over > 0.0) & (over >= least), missing + 2.0 * arms * share, np.nan)


@described_by(ARGUMENTS)
def max_violation_slopes(means: Numbers, penalties: Numbers) -> Array:
    """The slopes a in ``E max_t (τ_k t − N_k(t))_+ ≤ a_k ln T + O(1)`` of hard-threshold UCB, for optimal and
    critical arms.

    With the arms in falling order of A + μ, for the j-th one:
    ``a_j = 8 Σ_{d≤j} (j−d+1) {Σ_{m<d} (μ_d + A_d − μ_m)^−2 + Σ_{m>d} (μ_d + A_d − μ_m − A_m)^−2}``; inf where a
    difference is 0.

    Returns:
        (arms,), in the order of the arms; NaN for non-critical arms, about which the theorem is silent.

    Example:
        >>> max_violation_slopes([0.9, 0.5], penalties=0.5).round(1)
        array([ 50., 900.])

    Source: Fang et al. 2022, Theorem 4.3, eq. (13).
    """
    means, gaps = gaps_of(means)
    price = for_arms("penalties", penalties, gaps)
    order = np.argsort(-(price + means), kind="stable")
    mean, bonus = means[order], (price + means)[order]
    with np.errstate(divide="ignore"):
        ahead = np.tril(1.0 / (bonus[:, np.newaxis] - mean) ** 2, -1).sum(axis=1)
        behind = np.triu(1.0 / (bonus[:, np.newaxis] - bonus) ** 2, 1).sum(axis=1)
    slopes = np.empty_like(gaps)
    slopes[order] = 8.0 * np.cumsum(np.cumsum(ahead + behind))
    return np.where(price >= gaps, slopes, np.nan)


@described_by(ARGUMENTS, RETURNS)
def hard_threshold_regret_gap_free(rounds: Numbers, fractions: Numbers, constant: float = 1.0) -> Array:
    """Penalised regret of hard-threshold UCB for any means.

    ``8 sqrt(T ln T) Σ sqrt(τ_k) + 8 sqrt((1 − τ_min) K T ln T) + C sqrt(K T ln T)``

    Args:
        fractions: (arms,), shares τ_k > 0.

    Example:
        >>> bool(hard_threshold_regret_gap_free(10_000, [0.1, 0.1]) < 10_000)
        True

    Source: Fang et al. 2022, Theorem 4.5.
    """
    share = validate.per_arm("fractions", fractions, 0.0, 1.0)
    time = rounds_of(rounds)
    scale = np.sqrt(time * np.log(time))
    spread = np.sqrt((1.0 - share.min()) * len(share)) * 8.0 + constant * np.sqrt(len(share))
    return np.asarray(scale * (8.0 * np.sqrt(share).sum() + spread))


@described_by(ARGUMENTS, RETURNS)
def penalized_regret_lower(rounds: Numbers, fractions: Numbers, constant: float = 1.0) -> Array:
    """Penalised regret that no policy can stay below for all means: ``C (1 − Σ τ) sqrt((K − 1) T)``.

    Args:
        fractions: (arms,), shares τ_k with a sum below 1.

    Example:
        >>> float(penalized_regret_lower(100, [0.25, 0.25]))
        5.0

    Source: Fang et al. 2022, Theorem 4.8.
    """
    share = validate.per_arm("fractions", fractions, 0.0, 1.0)
    return np.asarray(constant * (1.0 - share.sum()) * np.sqrt((len(share) - 1) * rounds_of(rounds)))


def penalty_for_arms(means: Numbers, arms: int) -> float:
    """The smallest A, the same for all arms, with which ``arms`` arms are optimal or critical: the largest gap among
    the best ``arms``.

    The paper prints ``inf{a : #{k : a ≥ Δ_k} ≤ K_exploit − 1}``, which is 0 or below for any gaps, since the count
    grows with a. Its supremum is meant: the gap of the K_exploit-th arm. There that arm just counts as critical; to be
    sure that it gets its share A must exceed the gap by the margin of Theorem 4.1 (`fairness_margin`).

    Args:
        means: (arms,), what is thought of the means, from experience.
        arms: K_exploit, how many arms are to get their share, the best one among them, from 1 to K.

    Returns:
        A ≥ 0, in reward per missing play.

    Raises:
        EvenhandError: there are not so many arms.

    Example:
        >>> penalty_for_arms([0.75, 0.5, 0.25, 0.0], arms=3)
        0.5

    Source: Fang et al. 2022, section 5, "Practical choice of A_k", first rule.
    """
    _, gaps = gaps_of(means)
    if validate.whole("arms", arms) > len(gaps):
        raise EvenhandError(f"arms must be at most {len(gaps)}, the number of means, got {arms}")
    return float(np.sort(gaps)[arms - 1])


def penalty_for_unfairness(means: Numbers, fractions: Numbers, tolerated: float) -> float:
    """The least A, the same for all arms, at which the shares of non-critical arms sum to no more than is tolerated:
    ``inf{a ≥ 0 : Σ_{k : Δ_k > a} τ_k ≤ tol}``.

    Arms with a gap above A may get nothing of what they are promised, so the sum of their shares is the part of the
    rounds that may be missing in the long run. The paper prints ``a ≥ Δ_k`` under the sum, which makes the infimum 0 or
    below for any gaps; the arms that are left out are meant.

    Args:
        means: (arms,), what is thought of the means, from experience.
        fractions: (arms,), shares τ_k, or one number for all arms.
        tolerated: tol ≥ 0, the part of the rounds that may be missing to all arms together.

    Returns:
        A ≥ 0, in reward per missing play.

    Raises:
        EvenhandError: a mean is not a finite number, or what is tolerated is below 0.

    Example:
        >>> penalty_for_unfairness([0.75, 0.5, 0.25, 0.0], fractions=0.125, tolerated=0.125)
        0.5

    Source: Fang et al. 2022, section 5, "Practical choice of A_k", second rule.
    """
    _, gaps = gaps_of(means)
    share = for_arms("fractions", fractions, gaps, 1.0)
    most = validate.number("tolerated", tolerated, low=0.0) + 1e-12  # a rounding error, as 0.1 + 0.2 is not 0.3
    return float(min(gap for gap in (0.0, *gaps.tolist()) if share[gaps > gap].sum() <= most))
