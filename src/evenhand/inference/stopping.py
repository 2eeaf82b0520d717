"""Which arms can still be the best, at any time: generalised likelihood ratios of pairs and their proved threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array, Mask
from evenhand.inference.sequences import mean_interval

STEPS = 40  # halvings of an interval within [0, 1]
RIVALS = 50  # arms with the largest lower ends that the others are compared with; fewer only leave more arms possible
FARTHEST = 10.0  # times the rounds so far within which an answer is foreseen
BETWEEN = 5  # arms with a share between their smallest and their largest up to which all corners are tried
EXACT = 1e-7  # of shares
LIKELY = 1.2815515655446004  # standard errors of a difference on either side of which 10% lie


def threshold(first: Array, second: Array, delta: float, pairs: int) -> Array:
    """What the likelihood ratio of one of so many pairs of arms exceeds at any time with a probability of δ at most.

    ``ln(pairs/δ) + R(N_a) + R(N_b)``, ``R(N) = ln(√π Γ(N + 1)/Γ(N + 1/2))``, about ``ln(π N)/2``

    For a mean μ and every θ, ``Π (θ/μ)^X ((1 − θ)/(1 − μ))^(1 − X)`` is a supermartingale, as ``a^X b^(1 − X)`` is
    convex in X, so that rewards in [0, 1] have no larger expectation of it than those of 0 and 1. So is its mixture by
    Beta(1/2, 1/2), which is at least ``exp(N kl(μ̂, μ) − R(N))``, and so is the product of those of two arms, however it
    is decided which one plays. By Ville's inequality the product ever reaches pairs/δ with probability δ/pairs at most.

    Checked: R bounds the mixture's loss for all sums, whole numbers or not (attained where all rewards are equal), and
    no more than δ of many runs exceed it. The threshold of Kaufmann & Koolen (2021, JMLR 22(246)), ``3 ln(1 + ln N_a) +
    3 ln(1 + ln N_b) + 2 C(ln(pairs/δ)/2)`` with their exact C, grows more slowly, but is larger up to 10¹² rewards: 30
    in place of 9 for two arms of 100 rewards and δ = 0.05.

    Args:
        first: (…), number of rewards of the one arm.
        second: (…), of the other one.
        delta: δ in (0, 1).
        pairs: number of pairs of which none may err; K − 1 where one of K arms is the best.

    Returns:
        (…), in units of the logarithm of a likelihood.

    Source: Garivier & Kaufmann 2016, Optimal best arm identification with fixed confidence, Theorem 10, whose threshold
    ``ln(2 t (K − 1)/δ)`` bounds this one; Krichevsky & Trofimov 1981 (the mixture).
    """
    from scipy.special import gammaln  # slow to import

    losses = (gammaln(number + 1.0) - gammaln(number + 0.5) + math.log(math.pi) / 2.0 for number in (first, second))
    return np.asarray(math.log(pairs / delta) + sum(losses))


def likelihood_ratio(best: Array, many: Array, other: Array, number: Array, epsilon: Array | float = 0.0) -> Array:
    """How far rewards contradict that another arm is better by ε or more, as a logarithm.

    ``Z = inf over λ' ≥ λ + ε of N kl(μ̂, λ) + N' kl(μ̂', λ')``; with ε = 0 both are the mean of all rewards together

    kl is that of Bernoulli distributions; as ``E exp(λX) ≤ 1 − μ + μ e^λ`` for every X in [0, 1], it serves all rewards
    in [0, 1].

    Args:
        best: (…), mean reward μ̂ of an arm, in [0, 1].
        many: (…), number of its rewards N.
        other: (…), mean reward μ̂' of the other arm.
        number: (…), number of its rewards N'.
        epsilon: ε in [0, 1), one or (…).

    Returns:
        (…), at least 0; 0 where the other arm looks better by ε or more.

    Source: Garivier & Kaufmann 2016, Optimal best arm identification with fixed confidence, section 2.
    """
    if not np.any(epsilon):
        both = (many * best + number * other) / np.maximum(many + number, 1.0)
        return np.where(best > other, divergence(many, best, both) + divergence(number, other, both), 0.0)
    low, high = np.maximum(other - epsilon, 0.0), np.minimum(best, 1.0 - epsilon)
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        above = middle + epsilon
        slope = many * (middle - best) * above * (1.0 - above) + number * (above - other) * middle * (1.0 - middle)
        low, high = np.where(slope > 0.0, low, middle), np.where(slope > 0.0, middle, high)
    middle = (low + high) / 2.0
    apart = divergence(many, best, middle) + divergence(number, other, np.minimum(middle + epsilon, 1.0))
    return np.where(best + epsilon > other, apart, 0.0)


def divergence(number: Array, mean: Array, other: Array) -> Array:
    """``N kl(p, q) = N (p ln(p/q) + (1 − p) ln((1 − p)/(1 − q)))``, 0 without rewards."""
    from scipy.special import rel_entr  # slow to import

    return np.asarray(rel_entr(number * mean, number * other) + rel_entr(number * (1.0 - mean), number * (1.0 - other)))


@dataclass(frozen=True, eq=False)
class BestArms:
    """The arms that can still be among the best ones."""

    possible: Mask  # (arms,)
    chosen: Mask  # (arms,), those to take if one stopped now
    epsilon: float  # by how much another arm may be better than one of these; of shares, what they may miss per round
    certain: bool  # whether no other arms are possible


def best_arms(least: Array, most: Array, count: Array, delta: float, best: int, active: Mask) -> BestArms:
    """The arms that can still be among the m best ones, and how far off one could be if one stopped now.

    An arm is out once m others are better than it beyond doubt: ``Z > threshold`` for m(K − m) pairs. At any time, or
    at all of them, one of the m best arms is out with a probability of δ at most, and likewise the chosen arms are
    worse than the m-th best one by more than ε.

    Premises: every arm's rewards lie in [0, 1] and have the same mean at all times, given all that came before.

    Args:
        least: (arms,), the smallest that the sum of an arm's rewards can be, in [0, count].
        most: (arms,), the largest that it can be.
        count: (arms,), number of rewards.
        delta: δ in (0, 1).
        best: m, from 1 to the number of active arms.
        active: (arms,), the arms that are asked about; each of the others is a comparison that may err, too.

    Returns:
        Which arms are possible, which to choose, and ε.

    Source: Garivier & Kaufmann 2016; Kaufmann & Koolen 2021, JMLR 22(246); Kalyanakrishnan et al. 2012 (m best arms).
    """
    pairs = max(best * (len(count) - best), 1)
    some = np.maximum(count, 1.0)
    low, high = least / some, np.where(count > 0.0, most / some, 1.0)
    surest = np.where(active, np.nan_to_num(mean_interval(least, most, count, 1.0 - delta)[0]), -1.0)
    order = np.lexsort((-low, -surest))
    rivals = order[: min(max(RIVALS, 2 * best), int(np.count_nonzero(active)))]
    apart = likelihood_ratio(low[rivals, np.newaxis], count[rivals, np.newaxis], high, count)
    beaten = apart >= threshold(count[rivals, np.newaxis], count, delta, pairs)
    possible = active & (beaten.sum(axis=0) < best)
    chosen = np.zeros(len(count), dtype=bool)
    if np.count_nonzero(possible) <= best:
        return BestArms(possible, possible, 0.0, True)
    chosen[order[:best]] = True
    others = np.flatnonzero(active & ~chosen)
    ends = [farthest(low[one], count[one], high[others], count[others], delta, pairs) for one in np.flatnonzero(chosen)]
    return BestArms(possible, chosen, float(np.max(ends)), False)


def farthest(best: Array, many: Array, other: Array, number: Array, delta: float, pairs: int) -> Array:
    """(…), by how much the other arms may be better at most: the ε from which the ratio is not below the threshold."""
    limit = threshold(np.broadcast_to(many, number.shape), number, delta, pairs)
    low, high = np.zeros(number.shape), np.ones(number.shape)
    for _ in range(STEPS // 2):  # to a millionth
        middle = (low + high) / 2.0
        clear = likelihood_ratio(best, many, other, number, middle) >= limit
        low, high = np.where(clear, low, middle), np.where(clear, middle, high)
    return high


def rounds_to_go(
    means: Array, count: Array, pace: Array, delta: float, best: int, active: Mask, epsilon: float, limit: float
) -> tuple[float, float]:
    """Rounds until the m best arms are likely known at the present pace, as a range; infinite beyond the limit.

    At the ends all differences are 1.28 standard errors larger or smaller than estimated, so that the answer comes
    before the range with a chance of about 10%, and after it likewise. It is a forecast, no promise.

    Args:
        means: (arms,), mean rewards so far, in [0, 1].
        count: (arms,), numbers of rewards.
        pace: (arms,), rewards per round lately.
        delta: δ in (0, 1).
        best: m.
        active: (arms,).
        epsilon: by how much the chosen arms may be worse.
        limit: rounds, beyond which nothing is foreseen.

    Returns:
        The first and the last number of rounds, or infinity.
    """
    order = np.flatnonzero(active)[np.argsort(-means[active], kind="stable")]
    top, rest = order[:best, np.newaxis], order[best:]
    pairs = max(best * (len(count) - best), 1)
    noise = np.maximum(means * (1.0 - means), 0.25 / np.maximum(count, 1.0)) / np.maximum(count, 1.0)
    reach = LIKELY / np.sqrt(noise[top] + noise[rest])

    def ready(rounds: Array, way: float) -> Mask:
        first, second = means[top] + way * reach * noise[top], means[rest] - way * reach * noise[rest]
        many, number = count[top] + rounds * pace[top], count[rest] + rounds * pace[rest]
        clipped = (np.clip(one, 0.0, 1.0) for one in (first, second))
        better, worse = np.broadcast_arrays(*clipped)
        return likelihood_ratio(better, many, worse, number, epsilon) >= threshold(many, number, delta, pairs)

    ends = []
    for way in (1.0, -1.0):
        low, high = np.zeros(reach.shape), np.full(reach.shape, limit)
        possible = ready(high, way)
        for _ in range(STEPS // 2):
            middle = (low + high) / 2.0
            clear = ready(middle, way)
            low, high = np.where(clear, low, middle), np.where(clear, middle, high)
        ends.append(float(np.where(possible, high, np.inf).max(initial=0.0)))
    return ends[0], ends[1]


def gaining(low: Array, high: Array, shares: Callable[[Array], Array], least: Array, most: Array) -> BestArms:
    """The arms to which the best shares of the rounds give more than their minimum, for all means in intervals.

    The largest reward V(μ) is convex in the means, so what shares x may miss, ``V(μ) − μ·x``, is largest at a corner:
    with the upper end for an arm that can only have more, the lower one for one that can only have less, and either for
    others. Whether an arm can have more is seen where it has its upper end and all others their lower ones, and whether
    it can fall to its minimum the other way round; for groups that overlap in part, whose arms may help each other,
    that is a heuristic.

    Args:
        low: (arms,), lower ends of the means.
        high: (arms,), upper ends.
        shares: the best shares for given means, (arms,) to (arms,).
        least: (arms,), the smallest share of each arm by itself.
        most: (arms,), its largest.

    Returns:
        Which arms may gain; those that do for the means in the middle, and the reward per round that these may miss.
    """
    given = shares((low + high) / 2.0)
    chosen = given > least + EXACT
    free = np.flatnonzero(chosen & (given < most - EXACT))
    missed = [float(high @ shares(high) - low @ given)]
    if len(free) <= BETWEEN:
        corners = np.repeat(np.where(chosen, low, high)[np.newaxis], 2 ** len(free), axis=0)
        corners[:, free] = np.where(list(product((False, True), repeat=len(free))), high[free], low[free])
        missed = [float(means @ (shares(means) - given)) for means in corners]
    own = np.eye(len(low), dtype=bool)
    rises, stays = (
        np.array([shares(np.where(one, *ends))[one].item() for one in own]) > least + EXACT
        for ends in ((high, low), (low, high))
    )
    certain = bool((chosen | ~rises).all() and (stays | ~chosen).all())
    return BestArms(chosen | rises, chosen, max(*missed, 0.0), certain)
