"""The counts of a bandit over time: plays and rewards of each arm at evenly spaced rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.bandit.intervals import FOLLOWED, Intervals, restored_intervals
from evenhand.core import validate
from evenhand.core.errors import StateError
from evenhand.core.state import Array
from evenhand.messages.answers import moment
from evenhand.messages.lines import History

LARGEST = 10**15  # a count, which as a float is exact
RECENT = 32  # marks that the present pace is taken from

Counts = tuple[Array, Array, Array]  # each (arms,): plays, known rewards and their sums


@dataclass(slots=True)
class CountHistory(Intervals):
    """The counts of each arm since the first round, at the ends of intervals.

    With more than 200 arms there are counts at fewer of these rounds, so that they take no more memory.

    Attributes:
        counts: plays, known rewards and their sums at these times, each (arms at that time,); None where left out.
        decided: when the last round was decided, in seconds; None before the first.
        received: when the last reward was received, in time or late, in seconds; None before the first.

    Example:
        >>> history = CountHistory()
        >>> for round in range(1, 1001):
        ...     history.decided = 60.0 * round
        ...     if round == history.next:
        ...         history.mark(round, 60.0 * round, (np.array([round]), np.zeros(1), np.zeros(1)))
        >>> len(history.rounds), history.rounds[:3], history.pace()
        (250, [4, 8, 12], 60.0)
    """

    counts: list[Counts | None] = field(default_factory=list)
    decided: float | None = None
    received: float | None = None

    def mark(self, round: int, time: float, counts: Counts) -> None:
        """End an interval.

        Args:
            round: the last of the interval.
            time: when it was decided, in seconds.
            counts: plays, known rewards and their sums so far, each (arms,).
        """
        self.counts += [None] * (len(self.rounds) - len(self.counts))  # of a save that left out all of them
        self.counts.append((counts[0].copy(), counts[1].copy(), counts[2].copy()))
        if self.end(round, time):
            del self.counts[::2]
        if len(counts[0]) > FOLLOWED:
            self._thin(len(counts[0]))

    def _thin(self, arms: int) -> None:
        """Leave out the counts at all but evenly spaced rounds: at every second of 400 arms, every fourth of 800."""
        apart, last = self.stride << math.ceil(math.log2(arms / FOLLOWED)), 0
        for place, round in enumerate(self.rounds):
            if self.counts[place] is not None:
                if round // apart == last:
                    self.counts[place] = None
                last = round // apart

    def pace(self) -> float | None:
        """Seconds per round lately; None before the second mark.

        Returns:
            The mean over the most recent marks, at least 0.
        """
        if len(self.rounds) < 2:
            return None
        first = max(0, len(self.rounds) - RECENT)
        return (self.times[-1] - self.times[first]) / (self.rounds[-1] - self.rounds[first])

    def excerpt(self, names: Sequence[str], round: int, counts: Counts, behind: Array) -> History | None:
        """The history up to the last decision or reward; None where there is none.

        Args:
            names: of the arms.
            round: rounds decided.
            counts: plays, known rewards and their sums so far, each (arms,).
            behind: (arms,), by which of more than 200 arms half are chosen, the largest; the others by their plays.
        """
        if not self.rounds:
            return None
        latest = max(time for time in (self.decided, self.received, self.times[-1]) if time is not None)
        known = [place for place, mark in enumerate(self.counts) if mark is not None]
        rounds = [*(self.rounds[place] for place in known), round]
        times = [*(self.times[place] for place in known), latest]
        marks, places = [*filter(None, self.counts), counts], _of_interest(counts[0], behind)
        plays, rewards, sums = (_courses([mark[part] for mark in marks], len(names))[places] for part in range(3))
        return History(
            tuple(rounds),
            tuple(map(moment, times)),
            tuple(names[place] for place in places),
            # Rounds of a lease that were returned are taken out of the counts again.
            tuple(tuple(map(int, course)) for course in np.minimum.accumulate(plays[:, ::-1], axis=1)[:, ::-1]),
            tuple(tuple(map(int, course)) for course in rewards),
            tuple(tuple(course) for course in np.nan_to_num(sums).tolist()),
        )

    def dump(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            What `restored` takes: the marked rounds and times, the counts at each, and when a decision and a reward
            came last.
        """
        return {
            **self.dump_intervals(),
            "counts": [mark and [*map(_whole, mark[:2]), np.nan_to_num(mark[2]).tolist()] for mark in self.counts],
            "decided": self.decided,
            "received": self.received,
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> CountHistory:
        """The history that `dump` described.

        Args:
            plain: what `dump` returned.

        Raises:
            StateError: it is damaged.
        """
        try:
            stride, rounds, times = restored_intervals(plain)
            counts = [None if mark is None else _mark(*mark) for mark in plain["counts"]]
            decided, received = (_time(plain[name]) for name in ("decided", "received"))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise StateError(f"the saved history of counts is damaged: {error}") from None
        if len(counts) not in (0, len(rounds)):
            raise StateError("the saved history of counts is damaged: its lists have different lengths")
        return cls(stride, rounds, times, counts, decided, received)


def _of_interest(plays: Array, behind: Array) -> list[int]:
    """The places of the arms that are shown: all, or those with the most plays and those furthest behind."""
    if len(plays) <= FOLLOWED:
        return list(range(len(plays)))
    worst = set(np.argsort(-behind, kind="stable")[: FOLLOWED // 2].tolist())
    most = [place for place in np.argsort(-plays, kind="stable").tolist() if place not in worst]
    return sorted([*worst, *most[: FOLLOWED - len(worst)]])


def _courses(marks: Sequence[Array], arms: int) -> Array:
    """(arms, marks), the values over time; 0 before an arm was added."""
    courses = np.zeros((arms, len(marks)))
    for column, mark in enumerate(marks):
        courses[: len(mark), column] = mark
    return courses


def _whole(counts: Array) -> list[int]:
    return counts.astype(np.int64).tolist()  # type: ignore[no-any-return]


def _mark(plays: Sequence[Any], known: Sequence[Any], sums: Sequence[Any]) -> Counts:
    counts = [np.array([_count(one) for one in part], dtype=float) for part in (plays, known)]
    parts = [*counts, np.array([validate.number("a sum", one) for one in sums], dtype=float)]
    if not len(parts[0]) == len(parts[1]) == len(parts[2]):
        raise ValueError("a mark has different numbers of arms")
    return parts[0], parts[1], parts[2]


def _count(value: Any) -> int:
    if validate.whole("a count", value, low=0) > LARGEST:
        raise ValueError(f"a count is {value}")
    return int(value)


def _time(value: Any) -> float | None:
    return None if value is None else validate.number("a time", value)
