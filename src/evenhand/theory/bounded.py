"""Floors and caps of arms and groups: whether they can be kept, and the best reward under them, by linear programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError, InfeasiblePromise
from evenhand.core.state import Array, Mask
from evenhand.environment.availability import Always, Availability
from evenhand.policy.claim import Group
from evenhand.policy.groups import caps_of, floors_of, membership
from evenhand.theory.achievable import TOLERANCE, played_by
from evenhand.theory.prices import bounded_interval

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SETS = 4096  # different sets of available arms in a program, at most; of more, all arms count as available
NAMED = 20  # arms and groups that an error names


@dataclass(frozen=True)
class Bounds:
    """Floors and caps of plays per round: of each arm, then of each group."""

    names: tuple[str, ...]
    members: csr_array
    floors: Array
    caps: Array


def bounds_of(
    arms: int, fractions: Array | None, caps: Array | None, groups: Sequence[Group], names: Sequence[str] = ()
) -> Bounds:
    """The bounds that a policy promises to keep; those of arms that cannot be broken are left out."""
    from scipy.sparse import csr_array, hstack

    low = np.broadcast_to(np.zeros(1) if fractions is None else np.asarray(fractions), arms)
    high = np.broadcast_to(np.ones(1) if caps is None else np.asarray(caps), arms)
    bounded = np.flatnonzero((low > 0.0) | (high < 1.0))
    single = csr_array((np.ones(len(bounded)), (bounded, np.arange(len(bounded)))), shape=(arms, len(bounded)))
    called = [f"arm {names[arm]!r}" if names else f"arm {arm + 1}" for arm in bounded.tolist()]
    members = hstack([single, csr_array(membership(groups, arms))], format="csr")
    return Bounds(
        names=(*called, *(f"the group {group['name']!r}" for group in groups)),
        members=csr_array(members),
        floors=np.concatenate([low[bounded], floors_of(groups)]),
        caps=np.concatenate([high[bounded], caps_of(groups)]),
    )


def check_bounds(bounds: Bounds, plays: int, availability: Availability, whose: str = "") -> None:
    """Refuse floors and caps that no policy can keep.

    Every round ``min(m, |Z|)`` of the available arms Z play. The program minimises the sum of what the floors lack and
    of what the caps have too much; the bounds with a price at its optimum are those that contradict each other. Where
    more sets of arms can be available than a program can hold, all arms count as available.
    """
    if not len(bounds.names):
        return
    solution = _program(bounds, plays, *_sets(availability, bounds.members.shape[0]), elastic=True)
    excess = float(solution.fun)
    if excess <= TOLERANCE * max(1.0, float(plays)):
        return
    prices = -np.asarray(solution.ineqlin.marginals).reshape(2, -1) > 1e-7
    parts = [f"{bounds.names[at]} at least {bounds.floors[at]:.6g}" for at in np.flatnonzero(prices[0])]
    parts += [f"{bounds.names[at]} at most {bounds.caps[at]:.6g}" for at in np.flatnonzero(prices[1])]
    if len(parts) > NAMED:
        parts = [*parts[:NAMED], f"{len(parts) - NAMED} more"]
    condition = " and the given availability" if availability.traits.sleeping else ""
    one = len(parts) == 1
    quoted = parts[0] if one else ", ".join(parts[:-1]) + " and " + parts[-1]
    fault = "is out of reach by" if one else "contradict each other by"
    raise InfeasiblePromise(
        f"the promises{whose and ' of ' + whose} cannot be kept: {quoted} of the plays per round {fault} {excess:.6g} "
        f"(plays = {plays}{condition})"
    )


def best_bounded(gains: Array, bounds: Bounds, plays: int, availability: Availability) -> tuple[float, Array]:
    """The largest reward per round of any policy that keeps the bounds, and its shares of the rounds.

    Args:
        gains: (arms,), mean rewards.
        bounds: of arms and groups, which can be kept.
        plays: m, arms played per round.
        availability: who can play.

    Returns:
        Reward per round, and (arms,), shares of the rounds.

    Example:
        >>> north = Group(name="north", arms=[1, 2], at_least=0.5, at_most=None)
        >>> value, shares = best_bounded(np.array([0.9, 0.4, 0.6]), bounds_of(3, None, None, [north]), 1, Always())
        >>> round(value, 3), shares.round(3)
        (0.75, array([0.5, 0. , 0.5]))
    """
    sets, chances = _sets(availability, len(gains))
    solution = _program(bounds, plays, sets, chances, gains=gains)
    shares = np.asarray(solution.x).reshape(sets.shape)
    return -float(solution.fun), np.asarray(chances @ shares)


def price_of_bounds(gains: Array, bounds: Bounds, plays: int, availability: Availability) -> Array:
    """What one more promised play costs: the dual prices of the floors, (bounds,), at least 0, in rewards per play."""
    solution = _program(bounds, plays, *_sets(availability, len(gains)), gains=gains)
    return np.asarray(np.maximum(-np.asarray(solution.ineqlin.marginals)[: len(bounds.names)], 0.0))


def best_bounded_in(gains: Array, chances: Array, bounds: Bounds, plays: int, available: Mask) -> Array:
    """The dual prices of floors and then of caps, (2 · bounds,), of the best policy that knows every context's gains.

    Gains and who is available: (contexts, arms); chances: (contexts,).
    """
    return best_shares_in(gains, chances, bounds, plays, available)[1]


def best_shares_in(gains: Array, chances: Array, bounds: Bounds, plays: int, available: Mask) -> tuple[Array, Array]:
    """What the best policy that knows every context's gains plays in each, (contexts, arms), and its dual prices.

    The arguments and the prices are those of `best_bounded_in`.
    """
    solution = _program(bounds, plays, available, chances, gains=gains)
    prices = np.maximum(-np.asarray(solution.ineqlin.marginals), 0.0)
    return np.asarray(solution.x).reshape(gains.shape), np.asarray(prices)


def range_of_price(
    low: Array, high: Array, bounds: Bounds, plays: int, availability: Availability
) -> tuple[float, float]:
    """The range of the price per round of floors and caps over all means within intervals, (arms,), or wider.

    The price is ``max_x min_y μ·(x − y)`` over all shares x and those y that keep the bounds. Where all arms are always
    available its range is `evenhand.theory.prices.bounded_interval`. Else, of an x at a corner the signs of x − y are
    known in each set of available arms, so that its smallest value is a linear program, and a lower bound; and one y
    bounds the largest value of all x.
    """
    if not availability.traits.sleeping:
        return bounded_interval(low, high, plays, lambda means: best_bounded(means, bounds, plays, availability)[1])
    sets, chances = _sets(availability, len(low))
    fair = np.asarray(_program(bounds, plays, sets, chances, gains=(low + high) / 2.0).x).reshape(sets.shape)
    gain = np.where(sets, high * (1.0 - fair) + low * fair, -np.inf)
    best = sets & (np.argsort(np.argsort(-gain, axis=1, kind="stable"), axis=1) < plays)
    most = float(chances @ (high * best - np.where(best, high, low) * fair).sum(axis=1))
    least = 0.0
    for order in (low, high, (low + high) / 2.0):
        one = played_by(order - order.min() + 1.0, sets, plays)
        kept = -float(_program(bounds, plays, sets, chances, gains=np.where(one, low, high)).fun)
        least = max(least, float(chances @ (low * one).sum(axis=1)) - kept)
    return least, max(least, most)


def _sets(availability: Availability, arms: int) -> tuple[Mask, Array]:
    """The sets of available arms that can occur, and their probabilities."""
    listed = availability.distribution(arms) if arms <= 20 or not hasattr(availability, "probabilities") else None
    if listed is None or len(listed[0]) > SETS:
        listed = Always().distribution(arms)
    sets, chances = np.asarray(listed[0], dtype=bool), np.asarray(listed[1], dtype=float)
    return sets[chances > 0.0], chances[chances > 0.0]


def _program(
    bounds: Bounds, plays: int, sets: Mask, chances: Array, gains: Array | None = None, elastic: bool = False
) -> Any:
    """The shares y[Z, i] of arm i given that Z is available, which keep the bounds; if elastic, and what is missing."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    solve: Any = linprog  # its stubs know no sparse matrices
    rows, arms = sets.shape
    count = len(bounds.names)
    taken = kron(csr_array(chances[np.newaxis]), bounds.members.T, format="csr")  # (bounds, sets · arms)
    matrix = vstack([-taken, taken], format="csr")
    cost = np.zeros(rows * arms) if gains is None else -(chances[:, np.newaxis] * gains).ravel()
    limits: list[tuple[float, float | None]] = [(0.0, float(able)) for able in sets.ravel()]
    due: Any = kron(eye_array(rows, format="csr"), np.ones((1, arms)), format="csr")
    if elastic:
        matrix = hstack([matrix, -eye_array(2 * count, format="csr")], format="csr")
        due = hstack([due, csr_array((rows, 2 * count))], format="csr")
        cost, limits = np.concatenate([cost, np.ones(2 * count)]), limits + [(0.0, None)] * (2 * count)
    solution = solve(
        cost,
        A_ub=matrix,
        b_ub=np.concatenate([-bounds.floors, bounds.caps]),
        A_eq=due,
        b_eq=np.minimum(sets.sum(axis=1), plays),
        bounds=limits,
        method="highs",
    )
    if solution.status == 2:  # what is promised within segments is not looked at before
        raise InfeasiblePromise("the promises cannot be kept together with the given availability")
    if solution.status != 0:
        raise EvenhandError(f"a linear program over the shares was not solved: {solution.message}")
    return solution
