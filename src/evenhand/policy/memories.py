"""What the parts of a policy remember, where it changes other than by single rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, State
from evenhand.policy.composition import Policy
from evenhand.policy.part import Places, PolicyPart


def recolumned(policy: Policy, state: State, columns: tuple[int, int], situation: Places, arms: Places) -> State:
    """The state of a single lane when other features are declared; see `PolicyPart.recolumn`."""
    new = memories(policy, state, lambda slot, one, memory: one.recolumn(memory, columns, situation, arms))
    return dataclasses.replace(state, **new)


def learn(policy: Policy, state: State, plays: Array, sums: Array) -> None:
    """Learn from plays elsewhere and their rewards, (arms,) each; in place. See `PolicyPart.learn`."""
    keep(state, memories(policy, state, lambda slot, one, memory: one.learn(memory, plays, sums)))


def advance(policy: Policy, state: State, plays: Array, rounds: float, begun: Sequence[int] = ()) -> None:
    """Count rounds of which only the plays of each arm are known, (arms,), before the tally counts them; in place.

    Arms whose promise began after these rounds, at the places ``begun``, are not charged with them.
    """
    promised = plays
    if begun:
        promised = plays.copy()
        promised[list(begun)] = 0.0

    def advanced(slot: str, one: PolicyPart, memory: Any) -> Any:
        try:
            return one.advance(memory, promised if slot == "fairness" or one.promises else plays, rounds)
        except EvenhandError as error:
            raise EvenhandError(f"its {slot} {error}") from None

    keep(state, memories(policy, state, advanced))


def keep(state: State, new: dict[str, Any]) -> None:
    """Put memories, by their slots, into a state."""
    for slot, memory in new.items():
        setattr(state, slot, memory)


def memories(policy: Policy, state: State, change: Callable[[str, PolicyPart, Any], Any]) -> dict[str, Any]:
    """The changed memory of every part, by its slot; where a part refuses, nothing has changed."""
    return {slot: change(slot, one, getattr(state, slot)) for slot, one in policy.parts.items()}
