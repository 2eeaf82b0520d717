"""Counts and histories: what is known of each arm now, and plays, rewards and deficits over time."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import StateError
from evenhand.core.state import Array, Mask
from evenhand.messages.answers import moment

if TYPE_CHECKING:
    from evenhand.messages.lines import DeficitExcerpt, History

MOST = 256  # intervals that are kept
FOLLOWED = 200  # arms up to which there are values for each arm


@dataclass(slots=True)
class Intervals:
    """Intervals of equally many rounds since the first; when there are 256, they are merged in pairs."""

    stride: int = 1
    rounds: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    next: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        last = self.rounds[-1] if self.rounds else 0
        self.next = (last // self.stride + 1) * self.stride

    def end(self, round: int, time: float) -> bool:
        """End an interval."""
        self.rounds.append(round)
        self.times.append(max(time, self.times[-1]) if self.times else time)
        merge = len(self.rounds) == MOST
        if merge:
            del self.rounds[::2], self.times[::2]
            self.stride *= 2
        self.next = (round // self.stride + 1) * self.stride
        return merge

    def dump_intervals(self) -> dict[str, Any]:
        """The intervals as plain JSON values."""
        return {"stride": self.stride, "rounds": list(self.rounds), "times": list(self.times)}


def restored_intervals(plain: Mapping[str, Any]) -> tuple[int, list[int], list[float]]:
    """Stride, rounds and times that `Intervals.dump_intervals` described."""
    stride = validate.whole("stride", plain["stride"])
    rounds = [validate.whole("a round", round) for round in plain["rounds"]]
    times = [validate.number("a time", time) for time in plain["times"]]
    if not len(rounds) == len(times) < MOST:
        raise ValueError("its lists have different lengths")
    return stride, rounds, times


LARGEST = 10**15  # a count, which as a float is exact
RECENT = 32  # marks that the present pace is taken from

Counts = tuple[Array, Array, Array]  # each (arms,): plays, known rewards and their sums


class Mark(NamedTuple):
    """What is kept at the end of an interval."""

    plays: Array  # (arms,), since the first round
    rewards: Array  # (2, arms), known rewards and their sums, of the rounds since the mark before


@dataclass(slots=True)
class CountHistory(Intervals):
    """The counts of each arm over time; a reward counts from its play on, in the interval of its round."""

    counts: list[Mark | None] = field(default_factory=list)  # at the end of each interval; None where left out
    played: list[int] = field(default_factory=list)  # rounds that count, without those that leases gave back
    decided: float | None = None
    received: float | None = None
    marked: Array = field(default_factory=lambda: np.zeros((2, 0)))  # (2, arms), the rewards of all marks together

    def mark(self, round: int, time: float, counts: Counts, returned: int = 0) -> None:
        """End an interval; ``returned`` of the rounds were given back by leases."""
        self.played.append(round - returned)
        self.counts.append(None)
        left, apart = list[Array](), True
        if self.end(round, time):
            left = self._leave_out(range(0, MOST, 2))
            del self.counts[::2], self.played[::2]
        if len(counts[0]) > FOLLOWED:
            crowded, apart = self._crowded(len(counts[0]))
            left += self._leave_out(crowded)
        if apart or left:
            marked = np.array(counts[1:])
            since = marked.copy()
            since[:, : self.marked.shape[1]] -= self.marked
            for rewards in left:
                since[:, : rewards.shape[1]] += rewards
            self.counts[-1], self.marked = Mark(counts[0].copy(), since), marked

    def credit(self, round: int, places: Any, known: Any = 1.0, sums: Any = 0.0) -> None:
        """Count rewards of a round, or of the rounds of a lease from this one on, in the interval of that round."""
        if self.rounds and round <= self.rounds[-1]:
            mark = next(filter(None, self.counts[bisect_left(self.rounds, round) :]), None)
            for rewards in () if mark is None else (mark.rewards, self.marked):
                rewards[0, places] += known
                rewards[1, places] += sums

    def _leave_out(self, places: Iterable[int]) -> list[Array]:
        """Leave out marks, whose rewards count in the next one that is there; those after which there is none."""
        left = []
        for place in places:
            mark, self.counts[place] = self.counts[place], None
            after = next(filter(None, self.counts[place + 1 :]), None)
            if mark is not None and after is not None:
                after.rewards[:, : len(mark.plays)] += mark.rewards
            elif mark is not None:
                left.append(mark.rewards)
        return left

    def _crowded(self, arms: int) -> tuple[list[int], bool]:
        """The marks that are too many, and whether the last is none of them: 400 arms keep half, 800 a fourth."""
        apart, last, many = self.stride << math.ceil(math.log2(arms / FOLLOWED)), 0, list[int]()
        for place, round in enumerate(self.rounds[:-1]):
            if self.counts[place] is not None:
                many += [place] * (round // apart == last)
                last = round // apart
        return many, self.rounds[-1] // apart != last

    def pace(self) -> float | None:
        """Seconds per round lately; None before the second mark."""
        if len(self.rounds) < 2:
            return None
        first = max(0, len(self.rounds) - RECENT)
        return (self.times[-1] - self.times[first]) / (self.rounds[-1] - self.rounds[first])

    def excerpt(self, names: Sequence[str], round: int, counts: Counts, behind: Array) -> History | None:
        """The history up to the last decision or reward; None where there is none."""
        from evenhand.messages.lines import History

        if not self.rounds:
            return None
        latest = max(time for time in (self.decided, self.received, self.times[-1]) if time is not None)
        known = [place for place, mark in enumerate(self.counts) if mark is not None]
        rounds = np.minimum.accumulate([round, *(self.played[place] for place in reversed(known))])[::-1].tolist()
        times = [*(self.times[place] for place in known), latest]
        marks, places = [*filter(None, self.counts)], _of_interest(counts[0], behind)
        plays = _courses([mark.plays for mark in marks] + [counts[0]], len(names))[places]
        since = [_courses([mark.rewards[row] for mark in marks], len(names)) for row in range(2)]
        rewards, sums = (
            np.column_stack([np.nancumsum(one, axis=1), now])[places]
            for one, now in zip(since, counts[1:], strict=True)
        )
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
        """Plain JSON values."""
        return {
            **self.dump_intervals(),
            "played": list(self.played),
            "counts": [mark and [_whole(mark.plays), *_plain_rewards(mark.rewards)] for mark in self.counts],
            "marked": _plain_rewards(self.marked),
            "decided": self.decided,
            "received": self.received,
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> CountHistory:
        """The history that `dump` described."""
        try:
            stride, rounds, times = restored_intervals(plain)
            counts = [
                None if mark is None else Mark(_counted(mark[0]), _rewards(*mark[1:])) for mark in plain["counts"]
            ]
            marked = _rewards(*plain["marked"])
            played = [validate.whole("a round", one, low=0) for one in plain["played"]]
            last = (plain["decided"], plain["received"])
            decided, received = (None if one is None else validate.number("a time", one) for one in last)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise StateError(f"the saved history of counts is damaged: {error}") from None
        wide = all(mark is None or len(mark.plays) == mark.rewards.shape[1] <= marked.shape[1] for mark in counts)
        if not (wide and len(counts) == len(played) == len(rounds)):
            raise StateError("the saved history of counts is damaged: its lists have different lengths")
        return cls(stride, rounds, times, counts, played, decided, received, marked)


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


def _plain_rewards(rewards: Array) -> list[list[Any]]:
    return [_whole(rewards[0]), np.nan_to_num(rewards[1]).tolist()]


def _rewards(known: Sequence[object], sums: Sequence[object]) -> Array:
    return np.array([_counted(known), [validate.number("a sum", one) for one in sums]])


def _counted(values: Sequence[object]) -> Array:
    return np.array([validate.whole("a count", one, 0, LARGEST) for one in values], dtype=float)


SHOWN = 20  # arms in an excerpt


@dataclass(slots=True)
class DeficitHistory(Intervals):
    """The largest deficits in intervals of equally many rounds."""

    largest: list[float] = field(default_factory=list)
    deficits: list[Array] = field(default_factory=list)
    peaks: dict[int, float] = field(default_factory=dict)

    def note(self, round: int, place: int, deficit: float) -> None:
        """Record the deficit of an arm at the end of a round, right before it plays or its promise ends."""
        if round > self.next - self.stride and deficit > self.peaks.get(place, -math.inf):
            self.peaks[place] = deficit

    def mark(self, round: int, time: float, deficits: Array) -> None:
        """End an interval, with the deficits then, (arms,); NaN for arms without a promise, which do not count."""
        for place, deficit in self.peaks.items():
            deficits[place] = np.maximum(deficits[place], deficit)  # NaN stays NaN
        self.peaks.clear()
        self.largest.append(float(np.fmax.reduce(deficits)))
        if len(deficits) <= FOLLOWED:
            self.deficits.append(deficits)
        else:
            self.deficits.clear()
        if self.end(round, time):
            self.largest = [float(np.fmax(*pair)) for pair in zip(self.largest[::2], self.largest[1::2], strict=True)]
            self.deficits = [_larger(*pair) for pair in zip(self.deficits[::2], self.deficits[1::2], strict=True)]

    def excerpt(self, names: Sequence[str], worst: Array) -> DeficitExcerpt:
        """The history of the arms with the largest worst deficits."""
        from evenhand.messages.lines import DeficitExcerpt

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
        """Plain JSON values."""
        return {
            **self.dump_intervals(),
            "largest": _plain(self.largest),
            "deficits": [_plain(row.tolist()) for row in self.deficits],
            "peaks": [list(peak) for peak in self.peaks.items()],
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> DeficitHistory:
        """The history that `dump` described."""
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


DELAYS = 1000  # delays that are kept, the last ones


@dataclass(slots=True)
class Statistics:
    """Counts per arm, and the last delays; rewards are in the user's unit."""

    received: Array  # (arms,) rewards received in time
    known: Array  # (arms,) known rewards: those received in time, and lost ones where these count as zero
    sums: Array  # (arms,) of the known rewards
    late: Array  # (arms,) rewards received after their window
    lost: Array  # (arms,) rewards missing when their window had passed
    missed: Array  # (arms,) rounds in which the arm was not available
    added: Array  # (arms,) rounds before the arm was added
    worst: Array  # (arms,) largest deficit right before a play or a reset, in plays; −inf for none
    learned_plays: Array  # (arms,) plays elsewhere whose rewards the policy learned from
    learned_sums: Array  # (arms,) of these rewards
    delays: Array  # (DELAYS,) seconds from decision to reward, a ring of the last ones; NaN where there is none yet
    count: int  # delays so far

    @classmethod
    def empty(cls, arms: int) -> Statistics:
        """Nothing has happened."""
        received, known, sums, late, lost, missed, added, plays, learned = np.zeros((9, arms))
        worst, delays = np.full(arms, -np.inf), np.full(DELAYS, np.nan)
        return cls(received, known, sums, late, lost, missed, added, worst, plays, learned, delays, count=0)

    def receive(self, place: int, reward: float, delay: float) -> None:
        """A reward of an arm has arrived in time, after a delay in seconds."""
        self.received[place] += 1.0
        self.known[place] += 1.0  # as `learn`
        self.sums[place] += reward
        self.delays[self.count % DELAYS] = delay
        self.count += 1

    def learn(self, place: int, reward: float) -> None:
        """A reward of an arm is known."""
        self.known[place] += 1.0
        self.sums[place] += reward

    def miss(self, available: Mask) -> None:
        """A round in which only these arms, (arms,), were available."""
        self.missed += np.logical_not(available)

    def note(self, place: int, deficit: float) -> None:
        """The deficit of an arm right before a play or a reset."""
        if deficit > self.worst.item(place):
            self.worst[place] = deficit
