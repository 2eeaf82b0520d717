"""The deficits of the arms over time: the largest ones between evenly spaced rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.bandit.intervals import FOLLOWED, Intervals, restored_intervals
from evenhand.core import validate
from evenhand.core.errors import StateError
from evenhand.core.state import Array, Mask
from evenhand.messages.answers import moment
from evenhand.messages.lines import DeficitExcerpt

SHOWN = 20  # arms in an excerpt


@dataclass(slots=True)
class DeficitHistory(Intervals):
    """The largest deficits in intervals of equally many rounds.

    With more than 200 arms only the largest deficit of all arms is kept.

    Attributes:
        largest: the largest deficit of any arm at the end of any round of each interval; NaN without any promise.
        deficits: the same for each arm, (arms at that time,), NaN without a promise; empty with more than 200 arms.
        peaks: the largest deficits in the current interval, by the places of the arms that have played in it.

    Example:
        >>> history, promised = DeficitHistory(), np.array([True, False])
        >>> for round in range(1, 1001):
        ...     if round == history.next:
        ...         history.mark(round, 60.0 * round, np.array([0.5 * (round % 3), 0.0]), promised)
        >>> len(history.rounds), history.rounds[:3], history.largest[:3]
        (250, [4, 8, 12], [1.0, 1.0, 1.0])
    """

    largest: list[float] = field(default_factory=list)
    deficits: list[Array] = field(default_factory=list)
    peaks: dict[int, float] = field(default_factory=dict)

    def note(self, round: int, place: int, deficit: float) -> None:
        """Record the deficit of an arm at the end of a round, right before it plays or its promise ends.

        Args:
            round: number of the round.
            place: of the arm, counted from 0.
            deficit: plays; negative where it is ahead.
        """
        if round > self.next - self.stride and deficit > self.peaks.get(place, -math.inf):
            self.peaks[place] = deficit

    def mark(self, round: int, time: float, deficits: Array, promised: Mask) -> None:
        """End an interval, with the deficits then; arms without a promise do not count.

        Args:
            round: the last of the interval.
            time: when it was decided, in seconds.
            deficits: (arms,), in plays.
            promised: (arms,), whether an arm has a promise.
        """
        known = np.where(promised, deficits, np.nan)
        for place, deficit in self.peaks.items():
            known[place] = np.maximum(known[place], deficit)  # NaN stays NaN
        self.peaks.clear()
        self.largest.append(float(np.max(known, where=promised, initial=-np.inf)) if promised.any() else math.nan)
        if len(deficits) <= FOLLOWED:
            self.deficits.append(known)
        else:
            self.deficits.clear()
        if self.end(round, time):
            self.largest = [float(np.fmax(*pair)) for pair in zip(self.largest[::2], self.largest[1::2], strict=True)]
            self.deficits = [_larger(*pair) for pair in zip(self.deficits[::2], self.deficits[1::2], strict=True)]

    def any_promise(self) -> bool:
        """Whether an arm had a promise in any interval."""
        return any(deficit == deficit for deficit in self.largest)

    def excerpt(self, names: Sequence[str], worst: Array) -> DeficitExcerpt:
        """The history of the arms with the largest worst deficits.

        Args:
            names: of the arms.
            worst: (arms,), their worst deficits in plays; −inf where nothing is promised.

        Example:
            >>> history = DeficitHistory()
            >>> history.mark(1, 60.0, np.array([0.5, 0.0]), np.array([True, False]))
            >>> excerpt = history.excerpt(["tea", "coffee"], np.array([0.5, -np.inf]))
            >>> excerpt.rounds, excerpt.arms, excerpt.deficits, excerpt.largest
            ((1,), ('tea',), ((0.5,),), (0.5,))
        """
        by_arm = bool(self.deficits) or not self.rounds
        order = np.argsort(-worst, kind="stable")[: SHOWN * by_arm].tolist()
        places = [place for place in order if worst[place] > -np.inf]
        courses = [[row[place] if place < len(row) else math.nan for row in self.deficits] for place in places]
        return DeficitExcerpt(
            tuple(self.rounds),
            tuple(map(moment, self.times)),
            tuple(names[place] for place in places),
            tuple(tuple(_plain(course)) for course in courses),
            tuple(_plain(self.largest)),
        )

    def dump(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            What `restored` takes: the marked rounds and times, the deficits at each, and the largest of every arm.
        """
        return {
            **self.dump_intervals(),
            "largest": _plain(self.largest),
            "deficits": [_plain(row.tolist()) for row in self.deficits],
            "peaks": [list(peak) for peak in self.peaks.items()],
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> DeficitHistory:
        """The history that `dump` described.

        Args:
            plain: what `dump` returned.

        Returns:
            The history.

        Raises:
            StateError: it is damaged.
        """
        try:
            stride, rounds, times = restored_intervals(plain)
            largest, *deficits = (_numbers(row) for row in (plain["largest"], *plain["deficits"]))
            peaks = {
                validate.whole("a place", place, low=0): validate.number("a deficit", deficit)
                for place, deficit in plain["peaks"]
            }
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise StateError(f"the saved deficit history is damaged: {error}") from None
        if len(largest) != len(rounds) or len(deficits) not in (0, len(rounds)):
            raise StateError("the saved deficit history is damaged: its lists have different lengths")
        return cls(stride, rounds, times, largest, [np.array(row, dtype=float) for row in deficits], peaks)


def _larger(older: Array, newer: Array) -> Array:
    """The larger deficit of each arm; arms that were added in between had none before."""
    larger = newer.copy()
    larger[: len(older)] = np.fmax(older, newer[: len(older)])
    return larger


def _plain(numbers: Sequence[float]) -> list[float | None]:
    return [None if number != number else float(number) for number in numbers]


def _numbers(plain: Any) -> list[float]:
    return [math.nan if number is None else validate.number("a deficit", number) for number in plain]
