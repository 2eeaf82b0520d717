"""What a policy is measured against: its promises, and the best that can be done when the means are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from attrs import frozen

from evenhand.core.errors import InfeasiblePromise
from evenhand.core.state import Array
from evenhand.environment.availability import MAX_ENUMERATED, Availability
from evenhand.environment.feedback import FeedbackModel
from evenhand.environment.rewards import Rewards
from evenhand.environment.world import Environment
from evenhand.policy.composition import Policy
from evenhand.policy.merit import Merit
from evenhand.policy.segments import infeasible
from evenhand.theory.achievable import UnknownDistribution
from evenhand.theory.bounded import Bounds, best_bounded, bounds_of, check_bounds
from evenhand.theory.contexts import InContext, in_context
from evenhand.theory.feasibility import check_shares
from evenhand.theory.oracle import Optimum, fair_shares, merits_of, optimal, optimal_fair, optimal_penalized

BY_LANE = ("best", "best_fair", "best_penalized")
BY_ARM = ("gains", "weights", "fractions", "penalties", "merits", "deserved")


@frozen(eq=False)
class Baseline:
    """The promises to measure a policy against, its own or else the environment's, and the optima.

    The optima and the (…, arms) arrays have one row per lane where the environment's means or the promises differ
    between lanes. Rewards are in the user's unit.
    """

    plays: int  # arms played per round
    gains: Array  # (…, arms) expected reward w_i μ_i of a play
    weights: Array  # (…, arms) factor of each arm's reward
    fractions: Array | None  # (…, arms) promised shares
    penalties: Array | None  # (…, arms) price of a missing play
    best: Array | None  # () or (lanes,) Opt-NF per round; None: `unknown` says why
    best_fair: Array | None  # () or (lanes,) Opt-F per round; None: nothing promised, or unknown
    best_penalized: Array | None  # () or (lanes,) penalised optimum per round; None: no penalties, or unknown
    by_set: Array | None  # (2, codes) Opt-NF and Opt-F by code Σ_{i∈Z} 2^i of the available set; None: not needed
    merits: Array | None  # (…, arms) merit f(μ_i) of each arm; None where shares are not measured by merit
    deserved: Array | None  # (…, arms) shares p* of the fair policy, averaged over the available sets; None: unknown
    by_merit: bool  # whether the promised shares are those by merit, and not the fractions
    sleeping: bool  # whether arms may be unavailable
    anonymous: bool  # whether rewards come back as anonymous sums
    in_hindsight: bool  # whether the best arm in hindsight is a reference: for logs and adversaries
    unknown: str = ""  # why the optima are not known
    drifting: Rewards | None = None  # the rewards, where their means change; None where they do not
    feedback: FeedbackModel | None = None  # how rewards come back
    bounds: tuple[Bounds, ...] = ()  # floors and caps of arms and groups, one set or one per lane; empty for none
    in_context: InContext | None = None  # the best policies that know every context's means; None without contexts
    within: Array | None = None  # (segments, arms), shares that are promised in each segment; None for none

    @property
    def promised(self) -> Array | None:
        """The shares that the policy promises by fractions or merit of its own, or else the environment, (…, arms)."""
        return self.deserved if self.by_merit else self.fractions

    @property
    def differs_by_lane(self) -> bool:
        """Whether means, weights, fractions or penalties differ between lanes."""
        values = (self.gains, self.weights, self.fractions, self.penalties)
        return any(one is not None and one.ndim > 1 for one in values)

    def for_lanes(self, lanes: slice) -> Baseline:
        """The rows of the given lanes.

        Args:
            lanes: the lanes to keep.
        """
        cut: dict[str, Any] = {}
        for names, axes in ((BY_ARM, 2), (BY_LANE, 1)):
            cut |= {name: getattr(self, name)[lanes] for name in names if np.ndim(getattr(self, name)) == axes}
        return attrs.evolve(self, **cut) if cut else self


def baseline_of(policy: Policy, environment: Environment, label: str = "", within: Array | None = None) -> Baseline:
    """The baseline of ``policy`` in ``environment``.

    Args:
        policy: its own fractions, penalties, weights and merit come before the environment's.
        environment: rewards and availability, and promises for policies without their own.
        label: the policy's name in messages.
        within: (segments, arms), shares that are promised in each segment; None for none.

    Raises:
        InfeasiblePromise: the promised shares cannot be kept.
        EvenhandError: shares are measured by merit, but a mean is not in [0, 1].

    Example:
        >>> from evenhand import Environment
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> round(float(baseline_of(fucb([0.1, 0.2]), Environment(Bernoulli([0.9, 0.4]))).best_fair), 3)
        0.8
    """
    arms, availability, plays = environment.arms, environment.availability, policy.plays
    own = policy.fairness
    fractions = _per_arm(environment.fractions if policy.fractions is None else policy.fractions, arms)
    penalties = _per_arm(environment.penalties if own.penalties is None else own.penalties, arms)
    weights = _per_arm(environment.weights if own.weights is None else own.weights, arms)
    weights = np.ones(arms) if weights is None else weights
    gains = environment.means * weights
    bounds = _bounds(policy, fractions, environment.names)
    _check_promises(policy, environment, fractions, bounds, within, repr(label) if label else "")
    merit = environment.merit if policy.merit is None else policy.merit
    drifting = environment.rewards if environment.rewards.traits.drifting else None
    if drifting is None and environment.contexts is not None:
        optima = _in_context(environment, plays, weights, fractions, penalties, bounds, merit, within)
    elif drifting is None:
        optima = _optima(environment, plays, gains, fractions, penalties)
    else:
        merit = None
        optima = _unknown("means change over time; the dynamic regret compares with the best arms of every round")
    if bounds and "unknown" not in optima and "in_context" not in optima:
        optima |= {"best_fair": _best_bounded(gains, bounds, plays, availability), "by_set": None}
    merits, deserved = _by_merit(merit, environment, plays)
    if merit is not None and (known := optima.get("in_context")) is not None:
        deserved = known.deserved
    return Baseline(
        plays=plays,
        gains=gains,
        weights=weights,
        fractions=fractions,
        penalties=penalties,
        merits=merits,
        deserved=deserved,
        by_merit=policy.fractions is None and merit is not None and (policy.merit is not None or fractions is None),
        sleeping=availability.traits.sleeping,
        anonymous=environment.feedback.traits.anonymous,
        in_hindsight=environment.rewards.traits.in_hindsight,
        drifting=drifting,
        feedback=environment.feedback,
        bounds=bounds,
        within=within,
        **optima,
    )


def _check_promises(
    policy: Policy,
    environment: Environment,
    fractions: Array | None,
    bounds: tuple[Bounds, ...],
    within: Array | None,
    label: str,
) -> None:
    """Refuse promises that cannot be kept."""
    for each in bounds:
        check_bounds(each, policy.plays, environment.availability, label)
    if fractions is not None and not bounds:
        owner = "[environment]" if policy.fractions is None else label
        check_shares(fractions, policy.plays, environment.availability, environment.names, owner)
    if within is not None:
        _check_within(policy, environment, fractions, within)


def _best_bounded(gains: Array, bounds: tuple[Bounds, ...], plays: int, availability: Availability) -> Array:
    """The best reward per round under bounds, one number, or one per lane."""
    rows = np.atleast_2d(gains)
    pairs = ((rows[at % len(rows)], bounds[at % len(bounds)]) for at in range(max(len(rows), len(bounds))))
    fair = np.array([best_bounded(row, each, plays, availability)[0] for row, each in pairs])
    return fair[0] if len(fair) == 1 else fair


def _check_within(policy: Policy, environment: Environment, fractions: Array | None, within: Array) -> None:
    """Refuse promises by segment that cannot be kept beside those for all rounds."""
    assert environment.partition is not None
    most, overall = float(policy.plays) if policy.repays else 1.0, np.zeros(1) if fractions is None else fractions
    for row in np.atleast_2d(overall):
        shares = np.broadcast_to(row, environment.arms)
        known = environment.frequencies, environment.partition.names
        if fault := infeasible(within, shares, most, *known, policy.repays, when=""):
            raise InfeasiblePromise(fault)


def _in_context(
    environment: Environment,
    plays: int,
    weights: Array,
    fractions: Array | None,
    penalties: Array | None,
    bounds: tuple[Bounds, ...],
    merit: Merit | None,
    within: Array | None,
) -> dict[str, Any]:
    """The optima where the mean rewards of every context are known."""
    given = environment.rewards.traits.contextual or environment.rewards.unknown is not None
    by_lane = len(bounds) > 1 or any(one is not None and one.ndim > 1 for one in (weights, fractions, penalties))
    if by_lane or (not given and environment.means.ndim > 1):
        return _unknown("means or promises differ between lanes, in an environment with contexts")
    if within is not None and environment.segment_of_law is None:
        return _unknown("rewards come from a log whose contexts are drawn apart from it")
    own = bounds[0] if bounds else bounds_of(environment.arms, fractions, None, (), environment.names)
    priced = None
    if penalties is not None and fractions is not None and not bounds:
        priced = penalties[np.flatnonzero(fractions > 0.0)]
    found, values = in_context(environment, plays, weights, own, priced, merit, within)
    fair = values[1] if fractions is not None or bounds or within is not None else None
    lax = None if priced is None else values[2]
    return {"best": values[0], "best_fair": fair, "best_penalized": lax, "by_set": None, "in_context": found}


def _optima(
    environment: Environment, plays: int, gains: Array, fractions: Array | None, penalties: Array | None
) -> dict[str, Any]:
    """The optima without promises, with them and with penalties, or the reason why they are not known."""
    availability = environment.availability
    try:
        free = _each_lane(lambda value: optimal(value, plays, availability), gains)
    except UnknownDistribution as reason:
        return _unknown(str(reason))
    fair = penalized = None
    if fractions is not None:
        by_set = np.ndim(gains) == np.ndim(fractions) == 1 and environment.arms <= MAX_ENUMERATED

        def best(value: Array, share: Array) -> Optimum:
            return optimal_fair(value, share, plays, availability, by_set=by_set)

        fair = _each_lane(best, gains, fractions)
        if penalties is not None:
            penalized = _each_lane(
                lambda value, share, price: optimal_penalized(value, share, price, plays, availability),
                gains,
                fractions,
                penalties,
            )
    return {
        "best": _values(free),
        "best_fair": None if fair is None else _values(fair),
        "best_penalized": None if penalized is None else _values(penalized),
        "by_set": _by_set(environment, free, free if fair is None else fair),
    }


def _unknown(reason: str) -> dict[str, Any]:
    """No optima."""
    return dict.fromkeys(("best", "best_fair", "best_penalized", "by_set")) | {"unknown": reason}


def _bounds(policy: Policy, fractions: Array | None, names: Sequence[str]) -> tuple[Bounds, ...]:
    """The floors and caps of a policy with caps or groups; one set for all lanes, or one for each."""
    if policy.caps is None or (not policy.groups and np.all(policy.caps == 1.0)):
        return ()
    floors, caps = np.atleast_2d(0.0 if fractions is None else fractions), np.atleast_2d(policy.caps)
    rows = max(len(floors), len(caps))
    pairs = zip(np.resize(floors, (rows, floors.shape[1])), np.resize(caps, (rows, caps.shape[1])), strict=True)
    return tuple(bounds_of(len(names), low, high, policy.groups, names) for low, high in pairs)


def _by_merit(merit: Merit | None, environment: Environment, plays: int) -> tuple[Array | None, Array | None]:
    """The merit of each arm and the fair shares; merit is a function of means on the scale [0, 1]."""
    if merit is None:
        return None, None
    means, unit = environment.means, environment.unit
    if unit is not None:
        means = (means - unit.low) / unit.width
    return merits_of(merit, means), fair_shares(merit, means, plays, environment.availability)


def _per_arm(values: Array | None, arms: int) -> Array | None:
    """One value per arm, whether one was given for all or one for each."""
    if values is None:
        return None
    array = np.asarray(values, dtype=float)
    return np.broadcast_to(array, (*array.shape[:-1], arms))


def _each_lane(optimum: Callable[..., Optimum], *arrays: Array) -> list[Optimum]:
    """The optimum of each row, where any of the arrays has one row per lane; else a single one."""
    lanes = max(len(array) if array.ndim == 2 else 1 for array in arrays)
    rows = (np.broadcast_to(array, (lanes, array.shape[-1])) for array in arrays)
    return [optimum(*row) for row in zip(*rows, strict=True)]


def _values(optima: list[Optimum]) -> Array:
    values = np.array([optimum.value for optimum in optima])
    return values[0] if len(values) == 1 else values


def _by_set(environment: Environment, free: list[Optimum], fair: list[Optimum]) -> Array | None:
    """The two optima given each set of available arms, where arms sleep in sets that can be listed."""
    arms, availability = environment.arms, environment.availability
    if not availability.traits.sleeping or arms > MAX_ENUMERATED or len(free) > 1 or len(fair) > 1:
        return None
    listed = availability.distribution(arms)
    if listed is None or free[0].by_set is None or fair[0].by_set is None:
        return None
    table = np.zeros((2, 2**arms))
    codes = listed[0] @ (1 << np.arange(arms))
    # The list may hold the same set more than once.
    total = np.bincount(codes, listed[1], minlength=2**arms)
    for place, optimum in enumerate((free[0], fair[0])):
        assert optimum.by_set is not None
        sums = np.bincount(codes, listed[1] * optimum.by_set, minlength=2**arms)
        table[place] = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return table
