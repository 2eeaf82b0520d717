"""By how much scores differ: the scale of ``VirtualQueue(eta="auto")`` and of ``InverseGap("auto_spread")``."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.state import Array, Decision, Shape

AUTO, ROOT = "auto", "auto_sqrt"
Eta = float | Literal["auto", "auto_sqrt"]
SPREADS = 20.0  # c, the mean differences of scores that are worth as many plays owed
NOISE = 1e-12  # a mean difference below which scores are equal, as sums are rounded


def as_eta(value: Any) -> Any:
    """A number of at least 0, infinity, or the name of a rule."""
    if isinstance(value, str):
        if value not in (AUTO, ROOT):
            raise EvenhandError(f"must be a number, '{AUTO}' or '{ROOT}', got {shown(value)}")
        return value
    return validate.nonnegative_or_inf(value)


def spreads(rule: str, round: int) -> float:
    """c in a round: 20, or ``√t``."""
    return SPREADS if rule == AUTO else float(np.sqrt(round))


@dataclass(slots=True)
class Spread:
    """The differences between the largest and the smallest score, cut to [0, 1], that were compared in a round."""

    rounds: Array  # (…, 1) in which scores were compared
    total: Array  # (…, 1) sum of the differences
    largest: Array  # (…, 1) of them
    queue: Any  # the memory of the queues themselves; None for none

    @classmethod
    def opened(cls, shape: Shape, queue: Any) -> Spread:
        """Nothing was compared yet."""
        rounds, total, largest = np.zeros((3, *shape[:-1], 1))
        return cls(rounds, total, largest, queue)

    def see(self, decision: Decision) -> None:
        """Count a round, unless it is read from a log that has no scores."""
        if decision.spread is not None:
            self.rounds += 1.0
            self.total += decision.spread
            np.maximum(self.largest, decision.spread, out=self.largest)

    @property
    def mean(self) -> Array:
        """(…, 1), ḡ; 0 where no scores differed."""
        known = self.total > NOISE * self.rounds
        return np.asarray(np.where(known, self.total / np.maximum(self.rounds, 1.0), 0.0))

    def eta(self, rule: str, round: int) -> Array:
        """(…, 1), ``c/ḡ`` in a round, c being 20 or ``√t``; 0 where no scores differed."""
        known = self.total > NOISE * self.rounds
        return np.asarray(np.where(known, spreads(rule, round) * self.rounds / np.where(known, self.total, 1.0), 0.0))

    def outweighed(self, rule: str, round: int) -> float:
        """The plays owed that the largest difference so far outweighs, in the lane where these are most."""
        return float((self.eta(rule, round) * self.largest).max())
