"""The chance with which every available arm was to play."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from evenhand.holds import RandomEnds
from evenhand.policy import Policy
from evenhand.records import Array, Decision, Mask, State, each_array

T = TypeVar("T")
LANES = 1000  # that decide from the same state, where there is no closed form


@dataclass(frozen=True)
class Propensities:
    """Inclusion probabilities of the available arms, by name.

    Attributes:
        chances: the probability of each.
        errors: its standard error; 0 where it is exact.
        exact: whether the policy has a closed form.
    """

    chances: Mapping[str, float]
    errors: Mapping[str, float]
    exact: bool


def draws(policy: Policy) -> bool:
    """Whether chance has a part in decisions beyond the selection: in the worth, or in how long a choice lasts."""
    return policy.index.random or isinstance(policy.cadence, RandomEnds)


def propensities(
    policy: Policy,
    before: State | None,
    mask: Mask | None,
    decision: Decision,
    places: Mapping[str, int],
    seed: Sequence[int],
    available: Sequence[str],
) -> Propensities:
    """The chances behind a decision.

    Args:
        policy: that made it.
        before: the state in which it was made, where the policy `draws`; else None.
        mask: who was available; None for all.
        decision: what came of it.
        places: of all arms, by name.
        seed: of the lanes.
        available: names of the available arms.
    """
    if before is None:
        chances, errors = np.asarray(decision.vector, dtype=float), np.zeros(len(places))
    else:
        chances = _shares(policy, before, mask, seed)
        # What happened had a chance, though no lane may have had it: about 1 in so many at most.
        chances[decision.played] = np.maximum(chances[decision.played], 1.0 / (LANES + 2.0))
        # Even what all lanes agree on is only known up to about 1 in so many.
        errors = np.sqrt(np.maximum(chances * (1.0 - chances), 1.0 / (LANES + 2.0)) / LANES)
    return Propensities(
        {name: float(chances[places[name]]) for name in available},
        {name: float(errors[places[name]]) for name in available},
        before is None,
    )


def _shares(policy: Policy, before: State, mask: Mask | None, seed: Sequence[int]) -> Array:
    """Mean selection vector of many lanes that decide from the same state; less noisy than who plays."""
    arms, done, total = before.arms, 0, np.zeros(before.arms)
    rng = np.random.default_rng([*seed, 1])
    size = max(1, min(LANES, math.ceil(2_000_000 / arms)))  # lanes at once, so that memory stays small
    while done < LANES:
        lanes = min(size, LANES - done)
        decided = policy.decide(_in_lanes(before, lanes), rng, mask)
        total += np.broadcast_to(decided.vector, (lanes, arms)).sum(axis=0)
        done += lanes
    return total / LANES


def copied(state: T) -> T:
    """A copy of a state: what `each_array` would make of it, but quicker, as it is taken before every draw."""
    if isinstance(state, np.ndarray):
        return state.copy()
    kind: Any = type(state)
    names = _names(kind)
    return kind(*[copied(getattr(state, name)) for name in names]) if names else state


@cache
def _names(kind: type) -> tuple[str, ...]:
    """The fields of a record, in order; none of what is no record."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def _in_lanes(state: State, lanes: int) -> State:
    """A copy of a single lane's state in every one of many."""
    return each_array(state, lambda array: np.repeat(array[np.newaxis], lanes, axis=0))
