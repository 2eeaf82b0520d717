"""A bandit's memory for more arms than it began with."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.holds import HoldFor
from evenhand.index import Credit, Window
from evenhand.policy import Policy
from evenhand.records import State


def grown(old: Any, fresh: Any) -> Any:
    """A record with the values of ``old``, and those of ``fresh`` for arms that ``old`` does not have."""
    if isinstance(fresh, np.ndarray):
        if fresh.shape == old.shape:
            return old.copy()
        made = fresh.copy()
        made[..., : old.shape[-1]] = old
        return made
    if hasattr(fresh, "__dataclass_fields__"):
        return type(fresh)(
            **{name: grown(getattr(old, name), getattr(fresh, name)) for name in fresh.__dataclass_fields__}
        )
    return old


def welcome(state: State, policy: Policy, old: int) -> None:
    """What newcomers, the arms from place ``old`` on, need beyond a fresh start."""
    if isinstance(state.index, Credit | Window):  # the mean weight, and so an even share
        logs, scale = state.index.logs, getattr(policy.index, "scale", 1.0)
        top = logs[:old].max()
        logs[old:] = top + scale * np.log(np.exp((logs[:old] - top) / scale).mean())
    if isinstance(policy.cadence, HoldFor) and policy.cadence.count == "all":  # all arms know of all holds
        state.cadence.times[old:] = state.cadence.times[0]
