"""Which shares of the rounds can arms have at all, when at most m of the available arms play?

Exactly those vectors x for which

    ``Σ_{i∈A} x_i ≤ E[min(m, |A ∩ Z|)]``  for every set A of arms,

Z being the random set of available arms. This is a polymatroid, a sum of matroids weighted by the probability of each
Z. Its corners are the priority orders: always play the m available arms that come first in the order. So the largest
``Σ v_i x_i`` is attained by the order of v, and every question about shares is answered by orders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, Mask
from evenhand.environment.availability import Availability

TOLERANCE = 1e-9  # by which a share may miss its promise, for rounding
GAP = 1e-8  # between the bounds of an optimum, relative
STEP = 0.3  # of the way from the best prices so far to those of the linear program
Inclusion = Callable[[Array], Array]


class UnknownDistribution(EvenhandError):
    """An availability that neither lists its sets nor has a formula for them, so that no optimum is known."""


def inclusion_of(plays: int, availability: Availability, arms: int) -> Inclusion:
    """From priorities (arms,) to the chance of each arm to be among the m available arms of highest priority.

    Arms of priority 0 or less never play.
    """
    formula = availability.inclusion(plays)
    if formula is not None:
        return formula
    listed = availability.distribution(arms)
    if listed is None:
        raise UnknownDistribution(
            f"{type(availability).__name__} does not list the sets of available arms (Availability.distribution), "
            "so the best possible reward is not known"
        )
    return lambda priority: _listed_inclusion(priority, *listed, plays)


def _listed_inclusion(priority: Array, sets: Mask, chance: Array, plays: int) -> Array:
    return np.asarray(chance @ played_by(priority, sets, plays))


def played_by(priority: Array, sets: Mask, plays: int) -> Mask:
    """The arms that play in each availability set, (sets, arms), when the m available ones of highest priority do."""
    order = np.argsort(-priority, kind="stable")[: np.count_nonzero(priority > 0.0)]
    ordered = sets[:, order]
    played = np.zeros_like(sets)
    played[:, order] = ordered & (np.cumsum(ordered, axis=1) <= plays)
    return played


@dataclass(frozen=True, eq=False)
class Mixture:
    """Priority orders, each followed in a share of the rounds; `cutting_planes` finds the best one."""

    value: float  # of the optimum
    prices: Array  # (arms,) ν, cost of one more promised play
    orders: Array  # (orders, arms) priorities; the largest plays first, 0 or less never
    weights: Array  # (orders,) share of the rounds in which each order is followed
    shares: Array  # (arms,) share of the rounds in which each arm plays


def cutting_planes(gains: Array, fractions: Array, inclusion: Inclusion, limit: Array) -> Mixture:
    """``min_ν max_x Σ (g_i + ν_i) x_i − Σ ν_i r_i`` over prices 0 ≤ ν ≤ limit and achievable shares x.

    Each step finds the best order at some prices and adds it as a cut of a linear program (Kelley's method). The prices
    lie between the best ones so far and those of the program, which takes far fewer steps than the latter alone. It
    ends when the order for the program's own prices is known already, or the bounds meet within `GAP`.
    """
    prices = best = proposed = np.zeros_like(gains)
    orders: list[Array] = []
    cuts: dict[bytes, Array] = {}
    reached, bound, weights = np.inf, -np.inf, np.ones(1)
    while True:
        shares = inclusion(gains + prices)
        value = float(shares @ (gains + prices) - prices @ fractions)
        if value < reached:
            reached, best = value, prices
        if shares.tobytes() not in cuts:
            cuts[shares.tobytes()] = shares
            orders.append(gains + prices)
            bound, proposed, weights = _master(gains, fractions, np.array(list(cuts.values())), limit)
        elif prices is proposed:
            break
        else:
            prices = proposed
            continue
        if reached - bound <= GAP * max(1.0, abs(bound)):
            break
        prices = best + STEP * (proposed - best)
    shares = weights @ np.array(list(cuts.values()))
    return Mixture(bound, best, np.array(orders), weights, shares)


def _master(gains: Array, fractions: Array, cuts: Array, limit: Array) -> tuple[float, Array, Array]:
    """The smallest θ − Σ ν_i r_i with θ ≥ x·(gains + ν) for every cut x; also the mixture of cuts that attains it."""
    from scipy.optimize import linprog  # slow to import, and not every run needs it

    cost = np.concatenate([[1.0], -fractions])
    matrix = np.hstack([-np.ones((len(cuts), 1)), cuts])
    bounds = [(None, None), *((0.0, float(high)) for high in limit)]
    for method in ("highs", "highs-ipm"):  # the simplex method sometimes fails on nearly parallel cuts
        solution = linprog(cost, A_ub=matrix, b_ub=-(cuts @ gains), bounds=bounds, method=method)
        if solution.status == 0 and solution.fun is not None and solution.x is not None:
            weights = np.maximum(-np.asarray(solution.ineqlin.marginals), 0.0)
            return float(solution.fun), np.asarray(solution.x[1:]), weights / weights.sum()
    raise EvenhandError(f"a linear program over the shares was not solved: {solution.message}")
