"""What a bandit counts beyond what its policy remembers, for audits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.state import Array, Mask

RECENT = 1000  # delays that are kept, the last ones


@dataclass(slots=True)
class Statistics:
    """Counts per arm, and the last delays; rewards are in the user's unit."""

    received: Array  # (arms,) rewards received in time
    known: Array  # (arms,) known rewards: those received in time, and lost ones where these count as zero
    sums: Array  # (arms,) of the known rewards
    late: Array  # (arms,) rewards received after their window
    lost: Array  # (arms,) rewards missing when their window had passed
    missed: Array  # (arms,) rounds in which the arm was not available
    worst: Array  # (arms,) largest deficit right before a play or a reset, in plays; −inf for none
    resets: Array  # (arms,) promises that have ended, so that the deficit began anew
    lapsed: Array  # (arms,) plays behind these promises when they ended, in sum; negative where ahead
    learned_plays: Array  # (arms,) plays elsewhere whose rewards the policy learned from
    learned_sums: Array  # (arms,) of these rewards
    delays: Array  # (RECENT,) seconds from decision to reward, a ring of the last ones; NaN where there is none yet
    count: int  # delays so far

    @classmethod
    def empty(cls, arms: int) -> Statistics:
        """Nothing has happened.

        Args:
            arms: number of arms.

        Returns:
            Counts and sums of 0, and worst deficits of −inf.
        """
        received, known, sums, late, lost, missed, resets, lapsed, plays, learned = np.zeros((10, arms))
        worst, delays = np.full(arms, -np.inf), np.full(RECENT, np.nan)
        return cls(received, known, sums, late, lost, missed, worst, resets, lapsed, plays, learned, delays, count=0)

    def receive(self, place: int, reward: float, delay: float) -> None:
        """A reward of an arm has arrived in time, after a delay in seconds.

        Args:
            place: of the arm, counted from 0.
            reward: in your unit.
            delay: seconds from the decision to its arrival.
        """
        self.received[place] += 1.0
        self.learn(place, reward)
        self.delays[self.count % RECENT] = delay
        self.count += 1

    def recent_delays(self) -> Array:
        """The last delays, in seconds; at most 1000, in no order.

        Returns:
            (rewards,), at least 0.
        """
        return self.delays[: self.count]

    def learn(self, place: int, reward: float) -> None:
        """A reward of an arm is known.

        Args:
            place: of the arm, counted from 0.
            reward: in your unit.
        """
        self.known[place] += 1.0
        self.sums[place] += reward

    def miss(self, available: Mask) -> None:
        """A round in which only these arms, (arms,), were available.

        Args:
            available: (arms,), whether each arm was available.
        """
        self.missed += np.logical_not(available)

    def note(self, place: int, deficit: float) -> None:
        """The deficit of an arm right before a play or a reset.

        Args:
            place: of the arm, counted from 0.
            deficit: plays; negative where it is ahead.
        """
        if deficit > self.worst.item(place):
            self.worst[place] = deficit
