"""The propensities of a decision: the probability with which each available arm was to play."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evenhand.core.state import Array, Decision, Mask, Observation, State, each_array, remembered
from evenhand.messages.answers import ArmPropensity
from evenhand.policy.composition import Policy

if TYPE_CHECKING:
    from evenhand.bandit.arms import Available
    from evenhand.bandit.record import Record

T = TypeVar("T")
LANES = 1000  # that decide from the same state, where there is no closed form


Propensities = dict[str, ArmPropensity]  # by arm


def propensities(record: Record, before: State, able: Available, decision: Decision) -> Propensities:
    """The propensities of the available arms in a decision from a state, by name."""
    names = record.arms.names
    if decision.propensities is not None:
        values, stderr = np.asarray(decision.propensities, dtype=float), np.zeros(len(names))
    else:
        values = _mean_inclusion(record.policy, before, able.mask, (record.seed, decision.round))
        # An arm that played had a positive propensity, even if it plays in no lane; Laplace's rule bounds it.
        values[decision.played] = np.maximum(values[decision.played], 1.0 / (LANES + 2.0))
        # By the same rule, the error is positive even where all lanes agree.
        stderr = np.sqrt(np.maximum(values * (1.0 - values), 1.0 / (LANES + 2.0)) / LANES)
    return {
        names[place]: ArmPropensity(names[place], float(values[place]), float(stderr[place]))
        for place in np.flatnonzero(able.arms).tolist()
    }


def _mean_inclusion(policy: Policy, before: State, mask: Mask | None, seed: Sequence[int]) -> Array:
    """(arms,), mean inclusion vector of many lanes that decide from the same state; less noisy than their plays."""
    arms, decided, total = before.arms, 0, np.zeros(before.arms)
    rng = np.random.default_rng([*seed, 1])
    size = max(1, min(LANES, math.ceil(2_000_000 / arms)))  # lanes at once, so that memory stays small
    while decided < LANES:
        lanes = min(size, LANES - decided)
        decision = policy.choose(_in_lanes(before, lanes), Observation(mask), rng, propensities=False)
        total += np.broadcast_to(decision.inclusion, (lanes, arms)).sum(axis=0)
        decided += lanes
    return total / LANES


def copied(state: T) -> T:
    """A copy of a state, as `each_array` would make it, but faster, since one is made before every draw."""
    if isinstance(state, np.ndarray):
        return state.copy()
    kind: Any = type(state)
    names = remembered(kind)
    return kind(*[copied(getattr(state, name)) for name in names]) if names else state


def _in_lanes(state: State, lanes: int) -> State:
    """A state of many lanes, each a copy of a single one."""
    return each_array(state, lambda array: np.repeat(array[np.newaxis], lanes, axis=0))
