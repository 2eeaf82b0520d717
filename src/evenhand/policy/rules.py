"""What parts tell the compiled engine, as plain records; what is decided by a part without one is played by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from evenhand.core.state import Array


class IndexRules(NamedTuple):
    """The score of an arm."""

    kind: str  # "bound", "beta" or "mean"
    exploration: float = 0.0
    played: bool = False  # whether time is the number of rounds played so far
    clip: bool = False  # whether scores are cut at 1
    prior: tuple[Any, Any] = (1.0, 1.0)  # numbers, or (arms,)


class FairnessRules(NamedTuple):
    """What an arm is owed."""

    owed: str  # "nothing", "first", the shape of a bonus, or a queue: "weighed", "exact" or "recursive"
    fractions: Array | float = 0.0
    rates: Array | float = 0.0  # of a bonus; η times the weights for a queue
    tolerance: float = 0.0


class HoldRules(NamedTuple):
    """How long a choice lasts."""

    size: Callable[[Array], Array] | None = None  # of the k-th hold; None: a round
    by_arm: bool = False  # whether k counts the choices of an arm
    halved: bool = False  # whether only the second half of a hold counts


class ScheduleRules(NamedTuple):
    """Which rounds are planned: none, or runs by phases; see `evenhand.policy.schedule.PhasedElimination`."""

    lengths: tuple[float, ...] = ()  # rounds of every arm still in at the end of each phase, from phase 0 on


class PolicyRules(NamedTuple):
    """All of it."""

    score: IndexRules
    missing: str  # what missing rewards count as: "nothing", "one" or "zero"
    fairness: FairnessRules
    ties: str  # which of equal arms goes first: "first", "fewest" or "random"
    hold: HoldRules
    schedule: ScheduleRules
    plays: int
