"""The chance with which every available arm was to play."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.policy import Policy
from evenhand.records import Array, Decision, Mask, State

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


def propensities(
    policy: Policy,
    before: State | None,
    mask: Mask | None,
    decision: Decision,
    available: Sequence[str],
    names: Sequence[str],
    seed: Sequence[int],
) -> Propensities:
    """The chances behind a decision.

    Args:
        policy: that made it.
        before: the state in which it was made, where the policy draws beyond its selection.
        mask: who was available; None for all.
        decision: what came of it.
        available: names of the available arms.
        names: of all arms.
        seed: of the lanes.
    """
    if decision.probabilities is not None:
        chances, errors = np.asarray(decision.probabilities, dtype=float), np.zeros(len(names))
    else:
        assert before is not None
        chances = _shares(policy, before, mask, seed)
        # Even what all lanes agree on is only known up to about 1 in so many.
        errors = np.sqrt(np.maximum(chances * (1.0 - chances), 1.0 / (LANES + 2.0)) / LANES)
    known = {name: place for place, name in enumerate(names)}
    return Propensities(
        {name: float(chances[known[name]]) for name in available},
        {name: float(errors[known[name]]) for name in available},
        decision.probabilities is not None,
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


def _in_lanes(record: Any, lanes: int) -> Any:
    """A copy of a single lane's record in every one of many."""
    if isinstance(record, np.ndarray):
        return np.repeat(record[np.newaxis], lanes, axis=0)
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        fields = {f.name: _in_lanes(getattr(record, f.name), lanes) for f in dataclasses.fields(record)}
        return type(record)(**fields)
    return record
