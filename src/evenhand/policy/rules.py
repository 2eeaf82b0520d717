"""What parts tell the compiled engine, as plain records; what is decided by a part without one is played by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array

#: The rounds up to a horizon in which phases begin; within a phase nothing that depends on the round changes.
Begins = Callable[[int], list[int]]


@dataclass(frozen=True)
class WeightRules:
    """Exponential weights, of which everything may change from phase to phase."""

    phases: Begins
    rate: Callable[[int, int], float]  # by which they grow, of a round and the number of arms
    scale: Callable[[int], float] | None = None  # by which logarithms are divided; None: 1
    begins: Callable[[int], bool] | None = None  # whether they are forgotten with a round; None: never
    window: Callable[[int], int] | None = None  # rounds of which the mean counts; None: what a choice has earned
    half: bool = False  # whether the mean counts less a half


@dataclass(frozen=True)
class IndexRules:
    """The score of an arm."""

    kind: str  # "bound", "interval", "beta", "both", "mean" or "weights"
    missing: str = "nothing"  # what missing rewards count as: "nothing", "one" or "zero"
    growth: Callable[[Array, int], Array] | None = None  # in the width of a bound, of rounds and the number of arms
    clip: bool = False  # whether scores are cut at 1
    prior: tuple[Any, Any] = (1.0, 1.0)  # numbers, or (arms,)
    epsilon: float = 0.0  # the chance that all scores are 0 instead
    weights: WeightRules | None = None


@dataclass(frozen=True)
class MeritRules:
    """What an arm deserves."""

    kind: str  # "power" or "linear"
    rate: float  # β, or the slope
    other: float  # the exponent, a whole number, or the intercept


@dataclass(frozen=True)
class FairnessRules:
    """What an arm is owed."""

    owed: str  # "nothing", "first", the shape of a bonus, a queue ("weighed", "exact", "recursive"), "merit" or "mixed"
    fractions: Array | float = 0.0
    rates: Array | float = 0.0  # of a bonus; η times the weights for a queue
    tolerance: float = 0.0
    merit: MeritRules | None = None
    mixing: Callable[[int, int], float] | None = None  # of a round and the number of arms
    phases: Begins | None = None  # of the mixing


@dataclass(frozen=True)
class HoldRules:
    """How long a choice lasts."""

    size: Callable[[Array], Array] | None = None  # of the k-th hold; None: a round
    by_arm: bool = False  # whether k counts the choices of an arm
    halved: bool = False  # whether only the second half of a hold counts
    phases: Begins | None = None
    begins: Callable[[int], bool] | None = None  # whether all holds end with a round, and k begins anew
    delay: Callable[[int], int] | None = None  # d of a round, where coins end a hold

    @property
    def lasts(self) -> bool:
        """Whether a choice can last for more than a round."""
        return self.size is not None or self.delay is not None


@dataclass(frozen=True)
class ScheduleRules:
    """Which rounds are planned: none, the first, or runs by phases (`evenhand.policy.schedule.PhasedElimination`)."""

    lengths: tuple[float, ...] = ()  # rounds of every arm still in at the end of each phase, from phase 0 on
    once: bool = False  # whether first every arm plays once


@dataclass(frozen=True)
class PolicyRules:
    """The rules of a whole policy."""

    score: IndexRules
    fairness: FairnessRules
    ties: str  # which of equal arms goes first: "first", "fewest" or "random"; or how shares are drawn from
    hold: HoldRules
    schedule: ScheduleRules
    plays: int
