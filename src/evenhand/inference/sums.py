"""Sequences of means and of differences that hold at all times at once, from running sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE
from evenhand.inference.mixtures import REACHES, TILTS, Evidence, least_sum, linear, mixed, psi, root
from evenhand.inference.sequences import TILTS as CHERNOFF

Ends: TypeAlias = tuple[Array, Array]  # lower and upper
_Test: TypeAlias = tuple[Evidence, Callable[[float], Array]]
CENTRES: Array = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # c, from which rewards are counted


@dataclass(frozen=True, eq=False)
class Sums:
    """Running sums of values in [0, 1] that are known, each (…,).

    The spread is ``Σ (r − r̂)²``, where r̂ in [0, 1] was fixed before r was known, such as the mean of the values before
    (0.5 at first). Where a value's delay may depend on it, r̂ must have been fixed when the arm was chosen.
    """

    count: Array  # N
    total: Array  # S = Σ r
    spread: Array | None = None  # V; None where the order of the values is unknown


@dataclass(frozen=True, eq=False)
class Scores:
    """Running sums of an arm's plays, weighted by 1/p, over the rounds that count; each (…,).

    p is the chance of the played arm given the past. A round counts where every compared arm had a chance above 0, so
    that the sums of all compared arms are over the same rounds. Rewards R are scaled to [0, 1]. The first five are over
    plays whose reward is known. The smallest chance is over all rounds that count, also those in which the arm did not
    play: a chance that was tiny and never taken leaves no other trace.
    """

    plays: Array  # Σ 1/p
    rewards: Array  # Σ R/p
    plays_squared: Array  # Σ 1/p²
    rewards_squared: Array  # Σ R/p²
    squares: Array  # Σ R²/p²
    open: Array | float = 0.0  # Σ 1/p over plays whose reward is not known
    open_squared: Array | float = 0.0  # Σ 1/p² over these
    least: Array | float = 0.0  # smallest chance in any round that counts, played or not; 0 where unknown


def simultaneous(confidence: float, comparisons: int) -> float:
    """Confidence of each of several intervals, so that all cover at once with the given one (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / max(comparisons, 1)


def mean(sums: Sums, confidence: float = CONFIDENCE, unknown: Array | float = 0.0) -> Ends:
    """Sequence of the mean of values in [0, 1], each given the past; from 0 to 1 where there are none.

    The lower end is where the mean of 17 supermartingales falls to ``2/(1 − confidence)``: of the eight of
    `mean_interval`, ``exp(λS)/(1 + μ(e^λ − 1))^N``, and, where there is a spread, of nine of empirical Bernstein,
    ``exp(λ(S − Nμ) − ψ(λ)V)``. So it is narrow where values vary little as well as where they are rare.

    Args:
        sums: of the values that are known.
        confidence: with which the interval contains the mean at all times, no matter how arms were chosen.
        unknown: (…,), how many more values there are, each anything in [0, 1].

    Returns:
        The lower and the upper ends, each (…,), in [0, 1].

    Source: Howard, Ramdas, McAuliffe and Sekhon 2021, Time-uniform, nonparametric, nonasymptotic confidence sequences,
    theorem 4 (empirical Bernstein); Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by
    betting, theorem 2.
    """
    below, above = _against(sums, unknown)
    threshold = math.log(2.0 / (1.0 - confidence))
    return _low(*below, threshold), 1.0 - _low(*above, threshold)


def _against(sums: Sums, unknown: Array | float) -> tuple[_Test, _Test]:
    """What speaks against small means, and against small means of ``1 − r``."""
    count, spread = np.asarray(sums.count, dtype=float) + unknown, sums.spread
    spread = None if spread is None else spread + unknown
    return _test(sums.total, count, spread), _test(count - sums.total - unknown, count, spread)


def _test(total: Array, count: Array, spread: Array | None) -> _Test:
    """The evidence, and the largest of the roots of its components at a threshold."""
    shape, safe = np.shape(count), np.maximum(count, 1e-9)
    along = (-1, *(1,) * len(shape))
    tilts, few = np.reshape(CHERNOFF, along), np.reshape(TILTS if spread is not None else TILTS[:0], along)
    growth, squares = np.expm1(tilts), psi(few) * (0.0 if spread is None else spread)
    flat = np.broadcast_to(-few * safe, (len(few), *shape))

    def evidence(mean: Array) -> tuple[Array, Array]:
        odds = 1.0 + mean * growth
        values = np.concatenate([tilts * total - safe * np.log(odds), few * total - squares + flat * mean])
        return mixed(values, np.concatenate([-safe * growth / odds, flat]))

    def union(threshold: float) -> Array:
        one = threshold + math.log(len(tilts) + len(few))
        roots = [np.expm1((tilts * total - one) / safe) / growth, (total - (one + squares) / few) / safe]
        found: Array = np.maximum(np.concatenate(roots).max(axis=0), 0.0)
        return found

    return evidence, union


def _low(evidence: Evidence, union: Callable[[float], Array], threshold: float) -> Array:
    """(…,), a lower end in [0, 1]."""
    return np.clip(root(union(threshold), evidence, threshold), 0.0, 1.0)


def difference(
    first: Sums, second: Sums, confidence: float = CONFIDENCE, unknown: tuple[Array | float, Array | float] = (0.0, 0.0)
) -> Ends:
    """Sequence of the difference of two means, each from its own sums; it holds if nothing common changed over time.

    The product of the evidence against a small first mean and against a large second one is a supermartingale, too;
    the lower end is the smallest difference at which it is below ``2/(1 − confidence)``. That is narrower by a quarter
    than the difference of two intervals. It covers the difference between the mean of the first at the times when it
    was seen, and that of the second at the times when *it* was seen.

    Args:
        first: of the values that are known.
        second: the same.
        confidence: with which the interval contains the difference at all times.
        unknown: (…,) each, how many more values both have, each anything in [0, 1].

    Returns:
        The lower and the upper ends, each (…,), in [−1, 1].
    """
    nothing = np.zeros(np.broadcast_shapes(np.shape(first.count), np.shape(second.count)))
    (low, high), (least, most) = _against(first, nothing + unknown[0]), _against(second, nothing + unknown[1])
    threshold = math.log(2.0 / (1.0 - confidence))
    return _apart(low, most, threshold), -_apart(least, high, threshold)


def _apart(first: _Test, second: _Test, threshold: float) -> Array:
    """(…,), the lower end of ``x + y − 1``."""
    near = _low(*first, threshold / 2.0), _low(*second, threshold / 2.0)
    return np.clip(least_sum(first[0], second[0], near, threshold) - 1.0, -1.0, 1.0)


def weighted(
    first: Scores, second: Scores, rounds: Array, confidence: float = CONFIDENCE, *, together: bool = False
) -> Ends:
    """Sequence of the mean difference of two arms over all rounds that count, whatever changes over time.

    The score ``y = 1{A = a} R/p + 1{A = b} (1 − R)/p`` is at least 0, and ``E[y | past] = 1 + μ_a − μ_b``. So with
    ``ξ = y − 1``, ``Π exp(λξ − ψ(λ)ξ² − λ(μ_a − μ_b))`` is a supermartingale for every λ in (0, 1), without any bound
    on the weights. Where the chances were never below p₀, ``ξ = (1{A = a} − 1{A = b})(R − c)/p`` is at least
    ``−k = −max(c, 1 − c)/p₀``, and the same holds while ``λk`` is below 1, which is narrower where rewards are
    rare or vary little. p₀ need not be known beforehand: chances are known before rewards are, so a component whose λk
    exceeds its limit u (¼ or ¾) is 0 from there on; it has ``ψ(u)(λ/u)²`` in place of ψ(λ). The lower end is where the
    mean of all components falls to ``2/(1 − confidence)``, and the upper end that of the exchanged arms.

    A reward that is not known counts as 0 for a and as 1 for b. That is valid at all times, whatever decides when it
    comes: each component is at most ``1 + λξ``, which grows with ξ.

    Args:
        first: sums of a.
        second: sums of b, over the same rounds.
        rounds: (…,), that count, also those in which another arm played.
        confidence: with which the interval contains, at all times, ``Σ (μ_a − μ_b)/rounds``.
        together: whether both may play in one round, each with its own chance to be among those that play: then
            ``(x + y)² ≤ 2x² + 2y²`` bounds what is not in the sums, which costs a factor of about √2.

    Returns:
        The lower and the upper ends, each (…,), in [−1, 1].

    Source: Fan, Grama and Liu 2015, Exponential inequalities for martingales, lemma 4.1 (the inequality); Howard et al.
    2021 (the sequence); Waudby-Smith et al. 2022, Anytime-valid off-policy inference for contextual bandits.
    """
    return _above(first, second, rounds, confidence, together), -_above(second, first, rounds, confidence, together)


def weighted_mean(arm: Scores, rounds: Array, confidence: float = CONFIDENCE) -> Ends:
    """Sequence of the mean of one arm over all rounds that count, whatever changes over time; see `weighted`.

    The score ``y = 1{A = a} R/p`` is at least 0 with ``E[y | past] = μ_a``, so that ``ξ = y − 1`` serves as in
    `weighted`, and ``1{A = a} (R − c)/p`` as well; the upper end is from ``1 − R``. A reward that is not known is
    anything in [0, 1].

    Args:
        arm: its sums.
        rounds: (…,), that count, also those in which another arm played.
        confidence: with which the interval contains, at all times, ``Σ μ_a/rounds``.

    Returns:
        The lower and the upper ends, each (…,), in [0, 1].
    """
    plays, squares = arm.plays - arm.rewards, arm.plays_squared - 2.0 * arm.rewards_squared + arm.squares
    missed = replace(arm, rewards=plays, rewards_squared=arm.plays_squared - arm.rewards_squared, squares=squares)
    ends = [1.0 + _above(one, _none_of(arm), rounds, confidence, False, alone=True) for one in (arm, missed)]
    return np.asarray(ends[0]), np.asarray(1.0 - ends[1])


def _none_of(arm: Scores) -> Scores:
    """Sums of an arm that never plays."""
    nothing = np.zeros(np.shape(arm.plays))
    return Scores(nothing, nothing, nothing, nothing, nothing, least=1.0)


def _above(
    first: Scores, second: Scores, rounds: Array, confidence: float, together: bool, *, alone: bool = False
) -> Array:
    """The lower end of a difference of arms; ``alone`` that of the mean of the first, less 1."""
    shape = np.broadcast_shapes(np.shape(first.plays), np.shape(second.plays), np.shape(rounds))
    tilts, safe = np.reshape(TILTS, (-1, *(1,) * len(shape))), np.maximum(rounds, 1e-9)
    total = first.rewards + second.plays - second.rewards
    squares = first.squares + second.plays_squared - 2.0 * second.rewards_squared + second.squares
    spread = squares * (1.0 + together) - 2.0 * total + safe
    parts = [(tilts, tilts * (total - safe) - psi(tilts) * spread)]
    for centre in CENTRES:
        total, squares = _centred(first, second, centre)
        total = total - alone * (1.0 - centre) * safe
        spread = squares * (1.0 + together)
        below = 1.0 if together else max(centre, 1.0 - centre)
        for reach in REACHES:
            some = tilts[reach >= TILTS]
            valid = some * below <= reach * np.minimum(first.least, second.least)
            parts.append((some, np.where(valid, some * total - psi(reach) * (some / reach) ** 2 * spread, -np.inf)))
    slopes = np.concatenate([np.broadcast_to(some * safe, (len(some), *shape)) for some, _ in parts])
    threshold = math.log(2.0 / (1.0 - confidence))
    return np.clip(linear(np.concatenate([part for _, part in parts]), slopes, threshold), -1.0, 1.0)


def _centred(first: Scores, second: Scores, centre: float) -> Ends:
    """Sum and sum of squares of ``(1{A = a} − 1{A = b})(R − c)/p``, with the worst of what is not known."""
    total = first.rewards - second.rewards - centre * (first.plays - second.plays + first.open)
    total = total - (1.0 - centre) * second.open
    squares = first.squares + second.squares - 2.0 * centre * (first.rewards_squared + second.rewards_squared)
    squares = squares + centre**2 * (first.plays_squared + second.plays_squared + first.open_squared)
    return total, squares + (1.0 - centre) ** 2 * second.open_squared
