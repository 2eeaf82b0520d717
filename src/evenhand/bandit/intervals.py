"""Intervals of equally many rounds, at most 256 of them however long a bandit runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.core import validate

MOST = 256  # intervals that are kept
FOLLOWED = 200  # arms up to which there are values for each arm


@dataclass(slots=True)
class Intervals:
    """Intervals of equally many rounds since the first; when there are 256, they are merged in pairs.

    Attributes:
        stride: rounds per interval.
        rounds: the last round of each interval.
        times: when those rounds were decided, in seconds; never decreasing, even where the clock jumps back.
        next: the last round of the current interval.

    Example:
        >>> intervals = Intervals()
        >>> ends = (round for round in range(1, 513) if round == intervals.next)
        >>> merged = [round for round in ends if intervals.end(round, 60.0 * round)]
        >>> merged, intervals.stride, len(intervals.rounds), intervals.rounds[:3]
        ([256, 512], 4, 128, [4, 8, 12])
    """

    stride: int = 1
    rounds: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    next: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        last = self.rounds[-1] if self.rounds else 0
        self.next = (last // self.stride + 1) * self.stride

    def end(self, round: int, time: float) -> bool:
        """End an interval.

        Args:
            round: the last of the interval.
            time: when it was decided, in seconds.

        Returns:
            Whether the intervals were merged in pairs: values kept for each interval must be, too.
        """
        self.rounds.append(round)
        self.times.append(max(time, self.times[-1]) if self.times else time)
        merge = len(self.rounds) == MOST
        if merge:
            del self.rounds[::2], self.times[::2]
            self.stride *= 2
        self.next = (round // self.stride + 1) * self.stride
        return merge

    def dump_intervals(self) -> dict[str, Any]:
        """The intervals as plain JSON values.

        Returns:
            ``stride``, ``rounds`` and ``times``.
        """
        return {"stride": self.stride, "rounds": list(self.rounds), "times": list(self.times)}


def restored_intervals(plain: Mapping[str, Any]) -> tuple[int, list[int], list[float]]:
    """Stride, rounds and times that `Intervals.dump_intervals` described.

    Args:
        plain: what it returned, perhaps with more entries.

    Returns:
        Rounds between two marks, the marked rounds, and their times in seconds since the epoch.

    Raises:
        KeyError, TypeError, ValueError: it is damaged.

    Example:
        >>> restored_intervals(Intervals(2, [2, 4], [60.0, 120.0]).dump_intervals())
        (2, [2, 4], [60.0, 120.0])
    """
    stride = validate.whole("stride", plain["stride"])
    rounds = [validate.whole("a round", round) for round in plain["rounds"]]
    times = [validate.number("a time", time) for time in plain["times"]]
    if not len(rounds) == len(times) < MOST:
        raise ValueError("its lists have different lengths")
    return stride, rounds, times
