"""The best expected rewards when the means are known: with and without promises, and with penalties.

Where arms are available always or independently, no program is needed (`evenhand.theory.independent`). Otherwise, with
few arms the program is solved in the variables y_{Z,i} (availability set, arm), with many in its dual;
`evenhand.theory.achievable` explains why both are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, Mask
from evenhand.environment.availability import Availability
from evenhand.policy.merit import Merit
from evenhand.policy.shares import proportional
from evenhand.theory.achievable import cutting_planes, inclusion_of, played_by
from evenhand.theory.feasibility import check_shares
from evenhand.theory.independent import best_shares

REDUCED_UP_TO = 2**10 * 10  # variables; beyond, the dual is far faster (15 arms: a minute and a half against 0.05 s)


@dataclass(frozen=True, eq=False)
class Optimum:
    """The largest expected reward, and how it is attained."""

    value: float  # largest expected reward per round
    shares: Array  # (arms,), share of the rounds in which each arm plays
    # (sets,), expected reward given each availability set of `Availability.distribution`; None where it is not known
    by_set: Array | None = None


def optimal(gains: Array, plays: int, availability: Availability) -> Optimum:
    """Opt-NF: the largest expected reward per round without promises.

    The m available arms of largest gains play; an arm of negative gains never does.

    Args:
        gains: (arms,), expected reward w_i μ_i of playing each arm.
        plays: m ≥ 1, arms played per round.
        availability: who can play.

    Returns:
        ``value``, reward per round, and ``shares`` (arms,), the share of the rounds in which each arm plays.

    Raises:
        UnknownDistribution: the available sets are neither listed nor given by a formula.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Independent
        >>> round(optimal(np.array([0.9, 0.5]), plays=1, availability=Independent([0.5, 1.0])).value, 3)
        0.7

    Source: Huang et al. 2020, section 6.1.1.
    """
    shares = inclusion_of(plays, availability, len(gains))(gains)
    listed = availability.distribution(len(gains))
    by_set = None
    if listed is not None:
        gainful = np.where(listed[0], np.maximum(gains, 0.0), 0.0)
        by_set = -np.sort(-gainful, axis=-1)[:, :plays].sum(axis=-1)
    return Optimum(float(shares @ gains), shares, by_set)


def optimal_fair(
    gains: Array,
    fractions: Array,
    plays: int,
    availability: Availability,
    method: str = "auto",
    by_set: bool = True,
) -> Optimum:
    """Opt-F: the largest expected reward per round among all policies that keep the promised shares.

    ``max Σ_Z P(Z) Σ_{i∈Z} y_{Z,i} w_i μ_i``  subject to  ``y ∈ [0,1]``, ``Σ_i y_{Z,i} ≤ m``, ``Σ_Z P(Z) y_{Z,i} ≥ r_i``

    This has the optimum of the program over all subsets: every y_Z within these bounds is a mixture of sets of at
    most m arms.

    Args:
        gains: (arms,), expected reward w_i μ_i of playing each arm.
        fractions: (arms,), promised shares r_i of the rounds.
        plays: m ≥ 1, arms played per round.
        availability: who can play.
        method: ``"reduced"`` for the program above; ``"dual"`` for
            ``min_{ν≥0} E[top-m of w_i μ_i + ν_i over Z] − Σ ν_i r_i`` by cutting planes; ``"auto"`` for the quickest:
            no program where arms are available always (the promised shares, and the rest to the best arms) or
            independently, else the reduced one while it is small.
        by_set: whether the reward given each availability set is asked for, where the sets can be listed.

    Returns:
        ``value``, reward per round, and ``shares`` (arms,), the share of the rounds in which each arm plays.

    Raises:
        UnknownDistribution: the available sets are neither listed nor given by a formula.
        InfeasiblePromise: no policy can keep the promised shares.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Always
        >>> optimum = optimal_fair(np.array([0.9, 0.5]), np.array([0.0, 0.25]), plays=1, availability=Always())
        >>> round(optimum.value, 3), optimum.shares.round(3).tolist()
        (0.8, [0.75, 0.25])

    Source: Huang et al. 2020, program (2); with m = 1 and all arms available it is Patil et al. 2019, Observation 1.
    """
    validate.one_of("method", method, ("auto", "reduced", "dual"))
    check_shares(fractions, plays, availability)
    if method == "auto" and not availability.traits.sleeping:
        promised = Optimum(float(fractions @ gains), fractions)
        best = _filled(promised, gains, 1.0 - fractions, plays - float(fractions.sum()))
        return Optimum(best.value, best.shares, np.array([best.value]))
    listed = availability.distribution(len(gains))
    if method == "auto" and availability.independent is not None and (listed is None or not by_set):
        best_of_all = best_shares(gains, fractions, None, plays, availability.independent)
        return Optimum(float(best_of_all @ gains), best_of_all)
    if method == "reduced" and listed is None:
        raise EvenhandError(f"the reduced program is too large for {len(gains)} arms; use method='dual'")
    if listed is not None and (method == "reduced" or (method == "auto" and listed[0].size <= REDUCED_UP_TO)):
        try:
            return _reduced(gains, fractions, plays, *listed)
        except EvenhandError:
            # Sets of tiny probability with promises on the border defeat the solver's tolerances; the dual has no
            # such rows.
            if method == "reduced":
                raise
    mixture = cutting_planes(gains, fractions, inclusion_of(plays, availability, len(gains)), _price_limit(gains))
    given = None
    if listed is not None:
        followed = zip(mixture.weights, mixture.orders, strict=True)
        given = sum(weight * (played_by(order, listed[0], plays) @ gains) for weight, order in followed)
    return Optimum(mixture.value, mixture.shares, given)


def optimal_penalized(
    gains: Array, fractions: Array, penalties: Array, plays: int, availability: Availability
) -> Optimum:
    """The largest expected reward per round, minus the penalties for missing plays.

    ``max Σ_i (μ_i x_i − A_i max(τ_i − x_i, 0))`` over all achievable shares x. With one play and all arms
    available, and Σ τ_i ≤ 1, it is ``μ* − Σ_i min(Δ_i, A_i) τ_i``.

    Args:
        gains: (arms,), expected reward of playing each arm.
        fractions: (arms,), shares τ_i of the rounds below which an arm is penalised.
        penalties: (arms,), price A_i ≥ 0 of one missing play.
        plays: m ≥ 1, arms played per round.
        availability: who can play.

    Returns:
        ``value``, reward per round less penalties, and ``shares`` (arms,), the share of the rounds in which each arm
        plays.

    Raises:
        UnknownDistribution: the available sets are neither listed nor given by a formula.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Always
        >>> gains, fractions, penalties = np.array([0.9, 0.8, 0.1]), np.full(3, 0.2), np.full(3, 0.3)
        >>> round(optimal_penalized(gains, fractions, penalties, 1, Always()).value, 6)
        0.82

    Source: Fang et al. 2022, eqs. (6) to (9).
    """
    if not availability.traits.sleeping:
        nothing = Optimum(-float(penalties @ fractions), np.zeros_like(gains))
        steps, room = np.concatenate([gains + penalties, gains]), np.concatenate([fractions, 1.0 - fractions])
        return _filled(nothing, steps, room, float(plays))
    if availability.independent is not None:
        shares = best_shares(gains, fractions, penalties, plays, availability.independent)
        return Optimum(float(shares @ gains - np.maximum(fractions - shares, 0.0) @ penalties), shares)
    listed = availability.distribution(len(gains))
    if listed is not None and listed[0].size <= REDUCED_UP_TO:
        return _reduced(gains, fractions, plays, *listed, penalties)
    best = cutting_planes(gains, fractions, inclusion_of(plays, availability, len(gains)), penalties)
    return Optimum(best.value, best.shares)


def merits_of(merit: Merit, means: Array) -> Array:
    """The merit of every arm, (…, arms)."""
    outside = ~((means >= 0.0) & (means <= 1.0))
    if outside.any():
        place = tuple(int(i) for i in np.argwhere(outside)[0])
        raise EvenhandError(
            f"merit is a function of mean rewards in [0, 1], but that of arm {place[-1] + 1} is {float(means[place]):g}"
        )
    return merit(means)


def fair_shares(merit: Merit, means: Array, plays: int, availability: Availability) -> Array | None:
    """The shares of the optimal fair policy: ``p*_i = m f(μ_i) / Σ_j f(μ_j)``.

    Where that exceeds one, the excess is shared among the other arms in proportion. Where arms sleep, the sum runs over
    the arms available in a round, and the shares are averages over the availability sets.

    Args:
        merit: f.
        means: (…, arms), mean rewards μ_i in [0, 1].
        plays: m ≥ 1, arms played per round.
        availability: who can play.

    Returns:
        (…, arms), or None where the availability sets are not listed, or means differ between lanes and arms sleep.

    Raises:
        EvenhandError: a mean is not in [0, 1].

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Always
        >>> from evenhand.merit import Power
        >>> fair_shares(Power(beta=2.0, exponent=4.0), np.array([0.0, 0.0, 1.0]), plays=1, availability=Always())
        array([0.2, 0.2, 0.6])

    Source: Chen et al. 2024, Theorem 3.
    """
    merits = merits_of(merit, means)
    if not availability.traits.sleeping:
        return proportional(merits, plays)
    listed = availability.distribution(merits.shape[-1])
    if listed is None or merits.ndim > 1:
        return None
    return np.asarray(listed[1] @ proportional(np.broadcast_to(merits, listed[0].shape), plays, listed[0]))


def _filled(start: Optimum, gains: Array, room: Array, plays: float) -> Optimum:
    """``start``, and the remaining plays for the largest gains first, as long as there is room and gain."""
    order = np.argsort(-gains, kind="stable")
    order = order[gains[order] > 0.0]
    before = np.cumsum(room[order]) - room[order]
    filled = np.zeros_like(room)
    filled[order] = np.clip(plays - before, 0.0, room[order])
    shares = start.shares + filled.reshape(-1, len(start.shares)).sum(axis=0)
    return Optimum(start.value + float(filled @ gains), shares)


def _price_limit(gains: Array) -> Array:
    """Prices that no optimum exceeds.

    An achievable promise is met at the latest when its arm is level with the best one (and with 0), so no higher price
    is needed; the margin keeps the limit itself from deciding.
    """
    top = max(float(gains.max()), 0.0)
    return np.asarray(top - gains + max(1.0, float(np.abs(gains).max())))


def _reduced(
    gains: Array, fractions: Array, plays: int, sets: Mask, chance: Array, penalties: Array | None = None
) -> Optimum:
    """The program in y_{Z,i}; with penalties also in missing shares s_i at a price of A_i, ``x_i + s_i ≥ r_i``."""
    from scipy.optimize import linprog  # slow to import, and not every run needs it
    from scipy.sparse import coo_array, hstack, vstack

    arms = len(gains)
    place, arm = np.nonzero(sets & (chance > 0.0)[:, np.newaxis])
    size, weight = place.size, chance[place]
    if size == 0:  # no arm is ever available
        lost = 0.0 if penalties is None else float(penalties @ fractions)
        return Optimum(-lost, np.zeros(arms), np.zeros(len(sets)))
    gain = weight * gains[arm]
    plays_of_set: Any = coo_array((np.ones(size), (place, np.arange(size))), shape=(len(sets), size))
    missed: Any = coo_array((-weight, (arm, np.arange(size))), shape=(arms, size))
    if penalties is not None:
        plays_of_set = hstack([plays_of_set, coo_array((len(sets), arms))])
        missed = hstack([missed, coo_array((-np.ones(arms), (np.arange(arms),) * 2), shape=(arms, arms))])
        gain = np.concatenate([gain, -penalties])
    limit = np.concatenate([np.full(len(sets), float(plays)), -fractions])
    bounds = [(0.0, 1.0)] * size + [(0.0, None)] * (len(gain) - size)
    solution = linprog(-gain, A_ub=vstack([plays_of_set, missed]), b_ub=limit, bounds=bounds, method="highs")
    if solution.status != 0 or solution.x is None:
        raise EvenhandError(f"the linear program of the optimum was not solved: {solution.message}")
    y = solution.x[:size]
    by_set: Array | None = None
    if penalties is None:
        by_set = np.asarray(np.bincount(place, gains[arm] * y, minlength=len(sets)), dtype=float)
    shares = np.asarray(np.bincount(arm, weight * y, minlength=arms), dtype=float)
    return Optimum(float(gain @ solution.x), shares, by_set)
