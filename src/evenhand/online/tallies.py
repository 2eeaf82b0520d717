"""What a bandit counts beyond what its policy remembers: for the audit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.records import Array, Mask

RECENT = 1000  # delays and availabilities that are kept, the last ones
Places = NDArray[np.intp]


@dataclass(slots=True)
class Tallies:
    """Counts for each arm, and the last delays and availabilities."""

    reports: Array  # (arms,) rewards reported in time
    known: Array  # (arms,) rewards known: these, and zeros for reports that never came where that counts as zero
    sums: Array  # (arms,) of the rewards known
    spread: Array  # (arms,) sum of the squared distances of the rewards known from their mean
    late: Array  # (arms,) reports after the window
    lost: Array  # (arms,) reports missing when the window passed
    missed: Array  # (arms,) rounds in which the arm could not play
    worst: Array  # (arms,) largest deficit right before a play, in plays; −inf for none
    delays: Array  # (RECENT,) seconds from decision to report, the last ones in turn; NaN for none yet
    seen: int  # delays so far

    @classmethod
    def empty(cls, arms: int) -> Tallies:
        """Nothing has happened."""
        reports, known, sums, spread, late, lost, missed = np.zeros((7, arms))
        worst, delays = np.full(arms, -np.inf), np.full(RECENT, np.nan)
        return cls(reports, known, sums, spread, late, lost, missed, worst, delays, seen=0)

    def report(self, place: int, reward: float, delay: float) -> None:
        """A reward of an arm has come in time."""
        self.reports[place] += 1.0
        self.learn(place, reward)
        self.delays[self.seen % RECENT] = delay
        self.seen += 1

    def waited(self) -> Array:
        """The last delays."""
        return self.delays[: self.seen]

    def learn(self, place: int, reward: float) -> None:
        """A reward of an arm is known."""
        known, total = self.known.item(place), self.sums.item(place)
        before, after = total / max(known, 1.0), (total + reward) / (known + 1.0)
        self.known[place] = known + 1.0
        self.sums[place] = total + reward
        self.spread[place] += (reward - before if known else 0.0) * (reward - after)  # Welford's way

    def miss(self, available: Mask) -> None:
        """A round in which only these arms were available."""
        self.missed += np.logical_not(available)

    def note(self, place: int, deficit: float) -> None:
        """How far behind an arm is."""
        if deficit > self.worst.item(place):
            self.worst[place] = deficit
