"""The best that can be done when the mean rewards in every context are known, with promises and without.

With a chance P(x) of every context x, means μ_i(x) and promises ``L_g ≤ Σ_{i∈g} x_i ≤ U_g`` the optimum over all shares
y_i(x) is a linear program. Its dual has one price for each promise,

    ``min_{ν≥0} E[the m largest μ_i(x) + q_i] − ν·(L, −U)``,  q_i the prices of the promises that arm i is in,

so the best policy plays, in each context, the arms of the largest ``μ_i(x) + q_i``: a promise is kept where that costs
least. What it earns in some contexts is measured by the expression in the brackets, whose mean is the optimum and which
is the same for every policy.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from evenhand.core.state import Array, Mask, Unit
from evenhand.environment.availability import Availability
from evenhand.environment.contexts import SAMPLE
from evenhand.environment.world import Environment
from evenhand.policy.merit import Merit
from evenhand.policy.shares import proportional
from evenhand.theory.achievable import cutting_planes
from evenhand.theory.bounded import Bounds, best_bounded_in, bounds_of
from evenhand.theory.oracle import REDUCED_UP_TO, merits_of

#: What was solved before: policies of one comparison mostly promise the same.
_KNOWN: WeakKeyDictionary[Environment, dict[Any, Any]] = WeakKeyDictionary()


@frozen(eq=False)
class InContext:
    """What the best policies add to the arms' gains in a context, and what their promises cost on average.

    The rows are for no promises, for the promises, and for the promises with penalties.
    """

    plays: int
    prices: Array  # (3, arms), or where promises are by segment (3, segments, arms)
    due: Array  # (3,) ``ν·(L, −U)``, reward per round
    means: Array  # (contexts, arms), of contexts that stand for all
    chances: Array  # (contexts,)
    available: Mask  # (contexts, arms)
    merit: Merit | None = None
    unit: Unit | None = None

    def best(self, gains: Array, available: Mask | None = None, segments: Any = None) -> Array:
        """What the three best policies earn in some contexts, (3, …), given the gains and who can play, (…, arms).

        Where promises are by segment, the segment of each context is given, (…,).
        """
        one = self.prices.reshape(3, *(1,) * (gains.ndim - 1), -1)
        if self.prices.ndim > 2:
            one = self.prices[:, segments]
        return np.asarray(_largest(gains + one, self.plays, available) - self.due.reshape(3, *(1,) * (gains.ndim - 1)))

    def fair_shares(self, means: Array, available: Mask | None = None) -> Array:
        """The shares by merit in some contexts, (…, arms), from means in the user's unit."""
        assert self.merit is not None
        if self.unit is not None:
            means = (means - self.unit.low) / self.unit.width
        return proportional(merits_of(self.merit, means), self.plays, available)

    @property
    def deserved(self) -> Array:
        """The shares by merit, averaged over the contexts, (arms,)."""
        return np.asarray((self.fair_shares(self.means, self.available) * self.chances[:, np.newaxis]).sum(axis=0))


def in_context(
    environment: Environment,
    plays: int,
    weights: Array,
    bounds: Bounds,
    penalties: Array | None,
    merit: Merit | None,
    within: Array | None = None,
) -> tuple[InContext, Array]:
    """The best policies in an environment with contexts, and the reward per round of each, (3,).

    Penalties, (arms,), are the prices of missing plays; within, (segments, arms), are shares promised in segments.
    """
    arrays = weights, bounds.members.toarray(), bounds.floors, bounds.caps, penalties, within
    key = plays, id(merit), *(None if one is None else one.tobytes() for one in arrays)
    known = _KNOWN.setdefault(environment, {})
    if key not in known:
        known[key] = _solved(environment, plays, weights, bounds, penalties, merit, within)
    found: tuple[InContext, Array] = known[key]
    return found


def _solved(
    environment: Environment,
    plays: int,
    weights: Array,
    bounds: Bounds,
    penalties: Array | None,
    merit: Merit | None,
    within: Array | None,
) -> tuple[InContext, Array]:
    """What `in_context` returns."""
    means, chances = environment.law
    rows, chances, available = _with_availability(means.shape, chances, environment.availability)
    means, segments = means[rows], None
    gains, able, shape = means * weights, available, means.shape[1:]
    if within is not None and environment.segment_of_law is not None:
        segments, shape = environment.segment_of_law[rows], within.shape
        gains, able, bounds = by_segment(gains, chances, bounds, available, segments, within)
    fair = best_prices(gains, chances, plays, bounds, able)
    lax = fair
    if penalties is not None:
        dear = np.full(len(bounds.names) - len(penalties), 1.0 + 4.0 * float(np.abs(gains).max()))
        lax = best_prices(gains, chances, plays, bounds, able, np.concatenate([penalties, dear]))
    found = InContext(
        plays,
        np.array([np.zeros(gains.shape[1]), fair[0], lax[0]]).reshape(3, *shape),
        np.array([0.0, fair[1], lax[1]]),
        means,
        chances,
        available,
        merit,
        environment.unit,
    )
    return found, np.asarray(found.best(means * weights, available, segments) @ chances)


def by_segment(
    gains: Array, chances: Array, bounds: Bounds, available: Mask, segments: NDArray[np.intp], within: Array
) -> tuple[Array, Mask, Bounds]:
    """The problem in which an arm counts as another one in each segment, so that shares of segments are shares of arms.

    Given are arrays (contexts, arms), and the promised shares (segments, arms); the results have segments · arms arms.
    """
    from scipy.sparse import csr_array, hstack, kron

    number, arms = within.shape
    own = (segments[:, np.newaxis] == np.arange(number))[..., np.newaxis]
    due = within * np.bincount(segments, chances, number)[:, np.newaxis]
    more = bounds_of(number * arms, due.ravel(), None, ())
    copies = kron(np.ones((number, 1)), bounds.members)
    whole = Bounds(
        (*bounds.names, *more.names),
        csr_array(hstack([copies, more.members])),
        np.concatenate([bounds.floors, more.floors]),
        np.concatenate([bounds.caps, more.caps]),
    )
    able = (own & available[:, np.newaxis]).reshape(len(gains), -1)
    return np.tile(gains, (1, number)), able, whole


def best_prices(
    gains: Array, chances: Array, plays: int, bounds: Bounds, available: Mask, penalties: Array | None = None
) -> tuple[Array, float]:
    """What each arm's gain is raised by, (arms,), so that the promises are kept at the least cost, and ``ν·(L, −U)``.

    Gains and who is available: (contexts, arms); chances: (contexts,); penalties: (bounds,), None where every promise
    must be kept. A small program is solved as it is, a large one in its dual, by cutting planes.
    """
    count = len(bounds.names)
    if not count:
        return np.zeros(gains.shape[1]), 0.0
    limits = np.concatenate([bounds.floors, -bounds.caps])
    if penalties is None and gains.size <= REDUCED_UP_TO:
        prices = best_bounded_in(gains, chances, bounds, plays, available)
    else:
        top = np.full(count, 1.0 + 2.0 * float(np.ptp(gains)) + 2.0 * float(np.abs(gains).max()))
        most = np.concatenate([top if penalties is None else penalties, top, [0.0]])

        def follow(priority: Array) -> Array:
            """The plays of the promises, and the reward, of the policy with some prices."""
            played = _played(gains + bounds.members @ (priority[:count] - priority[count:-1]), plays, available)
            places, ranks = np.nonzero(played >= 0)
            arms, weights = played[places, ranks], chances[places]
            shares = bounds.members.T @ np.bincount(arms, weights, minlength=gains.shape[1])
            return np.concatenate([shares, -shares, [float(weights @ gains[places, arms])]])

        reward = np.concatenate([np.zeros(2 * count), [1.0]])
        prices = cutting_planes(reward, np.append(limits, 0.0), follow, most).prices[:-1]
    raised = bounds.members @ (prices[:count] - prices[count:])
    return np.asarray(raised), float(prices @ limits)


def _played(priority: Array, plays: int, available: Mask) -> NDArray[np.intp]:
    """The m available arms of the highest priority in each context, (contexts, m); −1 where there are fewer."""
    worth = np.where(available, priority, -np.inf)
    best = worth.argmax(axis=1)[:, np.newaxis] if plays == 1 else np.argsort(-worth, axis=1, kind="stable")[:, :plays]
    return np.where(np.take_along_axis(available, best, axis=1), best, -1)


def _largest(values: Array, plays: int, available: Mask | None) -> Array:
    """The sum of the m largest values of the available arms, (…,)."""
    worth = values if available is None else np.where(available, values, -np.inf)
    if plays == 1:
        top = worth.max(axis=-1)
        return top if available is None else np.where(np.isfinite(top), top, 0.0)
    top = -np.sort(-worth, axis=-1)[..., :plays]
    return np.asarray(np.where(np.isfinite(top), top, 0.0).sum(axis=-1))


def _with_availability(
    shape: tuple[int, ...], chances: Array, availability: Availability
) -> tuple[NDArray[np.intp], Array, Mask]:
    """The law of contexts, by their places, and available arms: exact where both can be listed, else by drawn sets."""
    number, arms = shape
    rows = np.arange(number)
    if not availability.traits.sleeping:
        return rows, chances, np.ones(shape, dtype=bool)
    logged = availability.logged
    if logged is not None and len(logged) == number:
        return rows, chances, logged
    listed = availability.distribution(arms) if logged is None else (logged, np.full(len(logged), 1.0 / len(logged)))
    if listed is not None and len(listed[0]) * number <= SAMPLE:
        every = np.repeat(rows, len(listed[0])), np.outer(chances, listed[1]).ravel()
        return *every, np.tile(listed[0], (number, 1))
    if logged is not None:
        return rows, chances, np.resize(logged, shape)
    times = -(-SAMPLE // number)
    rows, chances = np.tile(rows, times), np.tile(chances, times) / times
    drawn: Any = availability.draw(np.random.default_rng(1), np.arange(len(rows))[:, np.newaxis], 1)
    return rows, chances, np.broadcast_to(drawn, (len(rows), 1, arms))[:, 0]
