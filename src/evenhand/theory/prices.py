"""What promises cost in the long run, when the means are known, or known to lie in intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from evenhand.core.state import Array

BOUNDED = 500  # arms up to which programs with groups and caps, and the lower ends of intervals, are computed
PROGRAMS = 8  # linear programs for an end of the interval, at most
SETS = 1000  # of arms that may be the best ones, up to which all are tried


def cost_of_shares(means: Array, fractions: Array, plays: int) -> Array:
    """The largest expected reward per round without promised shares, less that with them."""
    best = -np.sort(-means, axis=1)[:, :plays]
    difference: Array = best.sum(axis=1) - (best_promised(means, fractions, plays) * means).sum(axis=1)
    return difference


def best_promised(means: Array, fractions: Array, plays: int) -> Array:
    """(rows, arms), what is promised, and all that is left to the best arms, as far as one can play in a round."""
    order = np.argsort(-means, axis=1, kind="stable")
    room = (1.0 - fractions)[order]
    before = np.cumsum(room, axis=1) - room
    shares = np.empty_like(means)
    np.put_along_axis(shares, order, np.clip(plays - fractions.sum() - before, 0.0, room), axis=1)
    return shares + fractions


def cost_interval(low: Array, high: Array, fractions: Array, plays: int) -> tuple[float, float]:
    """The range of `cost_of_shares` over all means within intervals.

    As the mean of one arm grows, the cost falls while the arm is not among the m best, and does not fall from then on.
    So the largest cost has every mean at an end of its interval, and the smallest has the means as equal as the
    intervals allow: ``μ_i = min(max(t, l_i), u_i)`` for some t. With one play the largest cost is
    ``max_j Σ_{i≠j} r_i (u_j − l_i)``. With m plays it is found by trying all sets of m arms while these are few; else
    ``Σ r_i (max_j u_j − l_i)`` without its m smallest terms bounds it.
    """
    largest = _largest_cost(low, high, fractions, plays)
    if len(low) > BOUNDED:
        return 0.0, largest
    levels = np.unique(np.concatenate([low, high]))
    equal = np.clip(levels[:, None], low, high)
    least = float(cost_of_shares(equal, fractions, plays).min())
    return least if least > 1e-12 else 0.0, max(0.0, largest)  # sums of shares are not exact


def bounded_interval(low: Array, high: Array, plays: int, best: Callable[[Array], Array]) -> tuple[float, float]:
    """The range of the price over all means within intervals, for any promises; ``best`` gives the best shares y ∈ K.

    Smallest: the sum of the m largest means is ``min_t m t + Σ (μ_i − t)⁺``, and given t and y every mean is best at
    ``min(max(t, l_i), u_i)``. Between two ends of intervals that is concave in t, and t lies between the m-th largest
    and the largest lower end; with one play only the latter is left.

    Largest: some set S of m arms has its upper ends and all others their lower ends, with the price
    ``min_{y ∈ K} Σ_S (u_i − (u_i − l_i) y_i) − l·y``. Any y bounds this for all sets at once, so that a few programs,
    each for the set with the largest bound, find the largest price, or a bound of it.
    """
    inner = np.sort(low)[-plays:]
    levels = np.unique(np.concatenate([low, high]))
    levels = levels[(levels >= inner[0]) & (levels <= inner[-1])]
    smallest = float(inner.sum() - high @ best(high)) if len(levels) > PROGRAMS else math.inf
    for level in levels if len(levels) <= PROGRAMS else ():
        means = np.clip(level, low, high)
        smallest = min(smallest, float(np.sort(means)[-plays:].sum() - means @ best(means)))
    smallest = smallest if smallest > 1e-12 else 0.0  # sums of shares are not exact
    return smallest, max(smallest, _largest_price(low, high, plays, best))


def _largest_price(low: Array, high: Array, plays: int, best: Callable[[Array], Array]) -> float:
    """The largest price, or a bound of it; see `bounded_interval`."""
    arms, width = len(low), high - low
    if math.comb(arms, plays) > SETS:
        some = (best(low), best((low + high) / 2.0))
        return min(float(np.sort(high - width * one)[-plays:].sum() - low @ one) for one in some)
    chosen = [list(one) for one in combinations(range(arms), plays)]
    bounds, solved, means = np.full(len(chosen), np.inf), set[int](), low
    for _ in range(PROGRAMS):
        shares = best(means)
        bounds = np.minimum(bounds, (high - width * shares)[chosen].sum(axis=1) - low @ shares)
        at = int(np.argmax(bounds))
        if at in solved:
            break
        solved.add(at)
        means = low.copy()
        means[chosen[at]] = high[chosen[at]]
    return float(bounds.max())


def _largest_cost(low: Array, high: Array, fractions: Array, plays: int) -> float:
    """The largest cost, or a bound of it; see `cost_interval`."""
    if plays == 1:
        return float((fractions.sum() * high - fractions @ low + fractions * (low - high)).max())
    if math.comb(len(low), plays) <= SETS:
        corners = np.array([low] * math.comb(len(low), plays))
        for row, best in zip(corners, combinations(range(len(low)), plays), strict=True):
            row[list(best)] = high[list(best)]
        return float(cost_of_shares(corners, fractions, plays).max())
    return float(np.sort(fractions * (high.max() - low))[plays:].sum())
