"""What a bandit counts beyond what its policy remembers: for the audit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.records import Array, Mask

RECENT = 1000  # delays and availabilities that are kept, the last ones


@dataclass(slots=True)
class Tallies:
    """Counts for each arm, and the last delays and availabilities."""

    reports: Array  # (arms,) rewards reported in time
    sums: Array  # (arms,) of these rewards
    squares: Array  # (arms,) of these rewards, squared
    late: Array  # (arms,) reports after the window
    lost: Array  # (arms,) reports missing when the window passed
    offered: Array  # (arms,) rounds in which the arm was available
    worst: Array  # (arms,) largest deficit so far, in plays; −inf before the first round
    delays: Array  # (RECENT,) seconds from decision to report, the last ones in turn; NaN for none yet
    seen: NDArray[np.int64]  # () delays so far

    @classmethod
    def empty(cls, arms: int) -> Tallies:
        """Nothing has happened."""
        counts = {name: np.zeros(arms) for name in ("reports", "sums", "squares", "late", "lost", "offered")}
        return cls(**counts, worst=np.full(arms, -np.inf), delays=np.full(RECENT, np.nan), seen=np.array(0))

    def report(self, place: int, reward: float, delay: float) -> None:
        """A reward of an arm has come in time."""
        self.reports[place] += 1.0
        self.sums[place] += reward
        self.squares[place] += reward * reward
        self.delays[int(self.seen) % RECENT] = delay
        self.seen += 1

    def offer(self, available: Mask) -> None:
        """A round in which these arms were available."""
        self.offered += available

    def note(self, deficit: Array) -> None:
        """How far each arm is behind now."""
        np.maximum(self.worst, deficit, out=self.worst)
