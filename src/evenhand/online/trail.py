"""How far behind arms were in the course of time: the largest deficits between some points, spaced evenly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand import validate
from evenhand.errors import StateError
from evenhand.records import Array, Mask

POINTS = 256  # kept at most
FOLLOWED = 200  # arms up to which the deficit of each is kept, beside the largest
SHOWN = 20  # arms in an excerpt


@dataclass(frozen=True)
class Excerpt:
    """A trail as an audit shows it.

    Attributes:
        rounds: at whose end the points stand.
        times: of the decisions in them, in seconds.
        arms: those with the largest worst deficit, at most 20; none where there are more than 200 arms in all.
        deficits: the largest of each of these at the end of any round since the point before, in plays; None where it
            had no promise.
        largest: of all arms; None where nobody had a promise.

    Example:
        >>> trail = Trail()
        >>> trail.mark(1, 60.0, np.array([0.5, 0.0]), np.array([True, False]))
        >>> trail.excerpt(["tea", "coffee"], np.array([0.5, -np.inf]))
        Excerpt(rounds=(1,), times=(60.0,), arms=('tea',), deficits=((0.5,),), largest=(0.5,))
    """

    rounds: tuple[int, ...]
    times: tuple[float, ...]
    arms: tuple[str, ...]
    deficits: tuple[tuple[float | None, ...], ...]
    largest: tuple[float | None, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        lists = {name: list(values) for name, values in vars(self).items()}
        return lists | {"deficits": [list(course) for course in self.deficits]}


@dataclass(slots=True)
class Trail:
    """The largest deficits in stretches of rounds that are as long as a stride.

    When 256 points have come together, each two become one, and the stride doubles. With more than 200 arms only the
    largest deficit of all is kept.

    Attributes:
        stride: rounds from one point to the next.
        rounds: with which the stretches end.
        times: of the decisions in them, in seconds; never falling, also where the clock jumps back.
        largest: deficit of any arm at the end of any round of the stretch; NaN where nobody had a promise.
        deficits: the same of each arm that there was, NaN without a promise; no point has any beyond 200 arms.
        peaks: the largest deficits in the stretch that has not ended yet, of arms that have played in it.

    Example:
        >>> trail, promised = Trail(), np.array([True, False])
        >>> for round in range(1, 1001):
        ...     if round == trail.next:
        ...         trail.mark(round, 60.0 * round, np.array([0.5 * (round % 3), 0.0]), promised)
        >>> len(trail.rounds), trail.rounds[:3], trail.largest[:3]
        (250, [4, 8, 12], [1.0, 1.0, 1.0])
    """

    stride: int = 1
    rounds: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    deficits: list[Array] = field(default_factory=list)
    peaks: dict[int, float] = field(default_factory=dict)
    next: int = field(init=False, default=1)  # the round to mark; all that is asked about in most rounds

    def __post_init__(self) -> None:
        last = self.rounds[-1] if self.rounds else 0
        self.next = (last // self.stride + 1) * self.stride

    def note(self, round: int, place: int, deficit: float) -> None:
        """The deficit of an arm at the end of a round, right before it plays: it is largest then."""
        if round > self.next - self.stride and deficit > self.peaks.get(place, -math.inf):
            self.peaks[place] = deficit

    def forget(self, places: Iterable[int]) -> None:
        """The promises to these arms begin anew."""
        for place in places:
            self.peaks.pop(place, None)

    def mark(self, round: int, time: float, deficits: Array, promised: Mask) -> None:
        """The end of a stretch, with the deficits then; what is not promised anything counts not."""
        known = np.where(promised, deficits, np.nan)
        for place, deficit in self.peaks.items():
            known[place] = np.maximum(known[place], deficit)  # NaN stays NaN
        self.peaks.clear()
        self.rounds.append(round)
        self.times.append(max(time, self.times[-1]) if self.times else time)
        self.largest.append(float(np.max(known, where=promised, initial=-np.inf)) if promised.any() else math.nan)
        if len(deficits) <= FOLLOWED:
            self.deficits.append(known)
        else:
            self.deficits.clear()
        if len(self.rounds) == POINTS:
            self._halve()
        self.next = (round // self.stride + 1) * self.stride

    def _halve(self) -> None:
        """Each two points become one."""
        del self.rounds[::2], self.times[::2]
        self.largest = [float(np.fmax(*two)) for two in zip(self.largest[::2], self.largest[1::2], strict=True)]
        self.deficits = [_larger(*two) for two in zip(self.deficits[::2], self.deficits[1::2], strict=True)]
        self.stride *= 2

    def tells(self) -> bool:
        """Whether anybody had a promise at any point."""
        return any(deficit == deficit for deficit in self.largest)

    def excerpt(self, names: Sequence[str], worst: Array) -> Excerpt:
        """The trail of the arms with the largest ``worst`` deficit, (arms,); those of −inf have no promise."""
        kept = bool(self.deficits) or not self.rounds
        order = np.argsort(-worst, kind="stable")[: SHOWN * kept].tolist()
        places = [place for place in order if worst[place] > -np.inf]
        courses = [[row[place] if place < len(row) else math.nan for row in self.deficits] for place in places]
        return Excerpt(
            tuple(self.rounds),
            tuple(self.times),
            tuple(names[place] for place in places),
            tuple(tuple(_plain(course)) for course in courses),
            tuple(_plain(self.largest)),
        )

    def dump(self) -> dict[str, Any]:
        """The trail as plain JSON values."""
        return {
            "stride": self.stride,
            "rounds": list(self.rounds),
            "times": list(self.times),
            "largest": _plain(self.largest),
            "deficits": [_plain(row.tolist()) for row in self.deficits],
            "peaks": [list(peak) for peak in self.peaks.items()],
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> Trail:
        """The trail that `dump` wrote.

        Raises:
            StateError: it is damaged.
        """
        try:
            stride = validate.whole("stride", plain["stride"])
            rounds = [validate.whole("a round", round) for round in plain["rounds"]]
            times = [validate.number("a time", time) for time in plain["times"]]
            largest, *deficits = (_numbers(row) for row in (plain["largest"], *plain["deficits"]))
            peaks = {
                validate.whole("a place", place, low=0): validate.number("a deficit", deficit)
                for place, deficit in plain["peaks"]
            }
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise StateError(f"the saved trail of deficits is damaged: {error}") from None
        if not len(rounds) == len(times) == len(largest) < POINTS or len(deficits) not in (0, len(rounds)):
            raise StateError("the saved trail of deficits is damaged: its parts are of different lengths")
        return cls(stride, rounds, times, largest, [np.array(row, dtype=float) for row in deficits], peaks)


def _larger(older: Array, newer: Array) -> Array:
    """The larger deficit of each arm; arms that came in between had none before."""
    made = newer.copy()
    made[: len(older)] = np.fmax(older, newer[: len(older)])
    return made


def _plain(numbers: Sequence[float]) -> list[float | None]:
    return [None if number != number else float(number) for number in numbers]


def _numbers(plain: Any) -> list[float]:
    return [math.nan if number is None else validate.number("a deficit", number) for number in plain]
