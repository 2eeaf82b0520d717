"""Leases: rounds that a client decides itself, and what it has reported of them.

A lease is a table with a column for each of its n rounds. The arms are laid into it one after another, each as often as
its count says, and from the last column on to the first again; as no count is above n, no arm is twice in a column.
The p-th round, counted from 0, plays the arms of column ``(start + p · step) mod n``. The start is drawn, so that every
round plays an arm with the probability ``count/n``. The step is near n divided by the golden ratio, so that the plays
of every arm are spread evenly over the rounds. In a lease for units the column comes from a hash of the unit instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.pending import REMEMBERED, Counting, RewardRecord, round_of
from evenhand.bandit.scores import UNCOUNTED
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import StateError
from evenhand.core.state import Array, Mask

Places = NDArray[np.int64]
GOLDEN = 0.6180339887498949  # the inverse of the golden ratio


@dataclass
class Report:
    """Rounds that were reported together."""

    until: int  # number of rounds reported up to then
    time: float  # in seconds
    missing: int  # rewards of these rounds that can still arrive
    table: int = UNCOUNTED  # of the sums in which these rounds count; see `evenhand.bandit.scores`


@dataclass
class Lease:
    """A lease, and what is known of its rounds.

    ``granted`` has the arms whose promise began after it, with the share that was in force when it was granted: 0 for
    none.
    """

    first: int
    size: int
    plays: int
    places: Places
    counts: Places
    start: int
    step: int
    salt: int | None
    expires: float
    report_by: float
    available: Mask
    granted: dict[int, float] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    closed: int = 0
    returned: bool = False
    rewards: Array = field(default_factory=lambda: np.empty((0, 0)))
    columns: Places = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    guesses: Array = field(default_factory=lambda: np.empty((0, 0)))  # as rewards, what was expected of them

    def __post_init__(self) -> None:
        self._ends = np.cumsum(self.counts)
        if len(self.rewards) == 0:
            self.rewards = self.guesses = np.empty((0, self.plays))

    @classmethod
    def of(cls, first: int, facts: Mapping[str, Any], places: Places, available: Mask) -> Lease:
        """The lease that an event grants, by the facts in it, of arms at these places."""
        same = {name: facts[name] for name in ("plays", "start", "step", "salt")}
        ends = {name: facts.get(name, 0.0) for name in ("expires", "report_by")}
        counts = np.array(facts["counts"], dtype=np.int64)
        return cls(first, facts["decisions"], places=places, counts=counts, available=available, **same, **ends)

    @property
    def last(self) -> int:
        """Its last round."""
        return self.first + self.size - 1

    @property
    def played(self) -> int:
        """The number of its rounds that were reported; they are its first ones."""
        return self.reports[-1].until if self.reports else 0

    @property
    def open(self) -> int:
        """The number of its rounds that are neither reported nor returned."""
        return 0 if self.returned else self.size - self.played

    @property
    def pending(self) -> int:
        """The number of its decisions with a pending reward."""
        if not any(report.missing for report in self.reports):
            return 0
        return int(np.isnan(self.rewards[self.closed :]).any(axis=1).sum())

    @property
    def settled(self) -> bool:
        """Whether nothing can change any more, save that late rewards arrive."""
        return self.open == 0 and not any(report.missing for report in self.reports)

    def arms_of(self, positions: Places) -> Places:
        """(positions, plays), the places of the arms of some rounds that were reported, or are to be."""
        cells = self.columns_of(positions)[:, np.newaxis] + self.size * np.arange(self.plays)
        found: Places = self.places[np.searchsorted(self._ends, cells, side="right")]
        return found

    def columns_of(self, positions: Places) -> Places:
        """(positions,), their columns: step by step, or as the hashes of units gave them; all else is alike."""
        return (self.start + positions * self.step) % self.size if self.salt is None else self.columns[positions]

    def entry(self, round: int, names: Sequence[str]) -> RewardRecord | None:
        """The rewards of one of its rounds; None where it was not reported."""
        position = round - self.first
        if position >= self.played:
            return None
        places = self.arms_of(np.array([position]))[0].tolist()
        rewards = [None if one != one else one for one in self.rewards[position].tolist()]
        arms = dict(zip([names[place] for place in places], rewards, strict=True))
        return RewardRecord(round, self._report(position).time, arms, position < self.closed)

    def write(self, round: int, place: int, reward: float) -> Counting:
        """Record a reward of one of its rounds; how it counts in differences."""
        position = round - self.first
        (columns,) = (self.arms_of(np.array([position]))[0] == place).nonzero()
        self.rewards[position, columns] = reward
        report = self._report(position)
        report.missing -= int(position >= self.closed)
        return report.table, self.weight(place), float(self.guesses[position, columns][0])

    def known(self, positions: Places, place: int) -> Array:
        """The rewards that are known of an arm at some positions; NaN where there is none."""
        known = np.full(len(positions), np.nan)
        inside = positions < len(self.rewards)
        known[inside] = self.rewards[positions[inside]][self.arms_of(positions[inside]) == place]
        return known

    def fill(self, place: int, positions: Places, rewards: Array) -> None:
        """Write rewards of an arm at some positions into the table."""
        rows, columns = (self.arms_of(positions) == place).nonzero()
        self.rewards[positions[rows], columns] = rewards

    def _report(self, position: int) -> Report:
        return next(report for report in self.reports if position < report.until)

    def tables_of(self, positions: Places) -> Places:
        """(positions,), the tables in which they count; see `evenhand.bandit.scores`."""
        ends, tables = np.array([(report.until, report.table) for report in self.reports]).reshape(-1, 2).T
        found: Places = tables[np.searchsorted(ends, positions, side="right")]
        return found

    def weight(self, place: int) -> float:
        """What a play of an arm weighs in differences, the inverse of its propensity."""
        return self.size / float(self.counts[self.places == place][0])

    def propensity(self, place: int) -> float:
        """The probability with which any of its rounds plays an arm."""
        return float(self.counts[self.places == place].sum()) / self.size

    def reserved(self, arms: int) -> Array:
        """(arms,), the plays that count as made.

        Of a lease for units, those that were reported, and the counts in proportion to the rounds that were not, the
        fractions of which go to the first arms.
        """
        reported = self.reported(arms)
        if self.returned:
            return reported
        planned = np.zeros(arms)
        if self.salt is None:
            planned[self.places] = self.counts
            return planned
        left = self.size - self.played
        whole, rest = np.divmod(self.counts * left, self.size)
        whole[np.argsort(-rest, kind="stable")[: left * self.plays - int(whole.sum())]] += 1
        planned[self.places] = whole
        return planned + reported

    def reported(self, arms: int) -> Array:
        """(arms,), the plays that were reported."""
        places = self.arms_of(np.arange(self.played))
        return np.bincount(places.ravel(), minlength=arms).astype(float)

    def missing(self, report: Report) -> int:
        """The number of rewards of a report that are missing."""
        before = [earlier.until for earlier in self.reports if earlier.until < report.until]
        return int(np.count_nonzero(np.isnan(self.rewards[max(before, default=0) : report.until])))

    def next_due(self, window: float | None) -> float | None:
        """When it is to be changed next, in seconds: its rounds return, or a window passes; None for never."""
        times = [self.report_by] if self.open else []
        if window is not None:
            times += [report.time + window for report in self.reports if report.missing][:1]
        return min(times, default=None)

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        (known,) = np.logical_not(np.isnan(self.rewards.ravel())).nonzero()
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "places": self.places.tolist(),
            "counts": self.counts.tolist(),
            "available": self.available.tolist(),
            "granted": [list(one) for one in self.granted.items()],
            "reports": [[report.until, report.time, report.missing, report.table] for report in self.reports],
            "known": known.tolist(),
            "rewards": self.rewards.ravel()[known].tolist(),
            "columns": self.columns.tolist(),
            "guesses": self.guesses[np.isnan(self.rewards)].tolist(),
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> Lease:
        """The lease that `dump` described."""
        numbers: dict[str, Any] = {
            name: np.array(plain[name], dtype=np.int64) for name in ("places", "counts", "columns")
        }
        reports = [Report(int(until), float(time), *map(int, rest)) for until, time, *rest in plain["reports"]]
        rewards = np.full((reports[-1].until if reports else 0) * plain["plays"], np.nan)
        rewards[np.array(plain["known"], dtype=np.int64)] = np.array(plain["rewards"], dtype=float)
        guesses = np.zeros(len(rewards))
        guesses[np.isnan(rewards)] = np.array(plain["guesses"], dtype=float)
        lease = cls(
            **{name: plain[name] for name in PLAIN},
            **numbers,
            available=np.array(plain["available"], dtype=bool),
            granted={int(place): float(share) for place, share in plain["granted"]},
            reports=reports,
            rewards=rewards.reshape(-1, plain["plays"]),
            guesses=guesses.reshape(-1, plain["plays"]),
        )
        if lease.counts.sum() != lease.size * lease.plays or np.any(lease.counts > lease.size):
            raise StateError("the counts of a saved lease do not fill its rounds")
        return lease


#: The fields of a lease that are plain JSON values.
PLAIN = ("first", "size", "plays", "start", "step", "salt", "expires", "report_by", "closed", "returned")


class Leases(dict[int, Lease]):
    """The leases of a bandit by their first rounds: those of which something is awaited, and the last of the others."""

    @property
    def open(self) -> int:
        """The number of rounds that are neither reported nor returned."""
        return sum(lease.open for lease in self.values())

    def named(self, id: str) -> Lease | None:
        """A lease by its id; None where there is none, or it is no longer remembered."""
        round = round_of(id)
        return None if round is None else self.get(round)

    def of(self, round: int) -> Lease | None:
        """The lease of a round."""
        for lease in self.values():
            if lease.first <= round <= lease.last:
                return lease
        return None

    def ahead(self, arms: int, shares: Mapping[Any, float]) -> Array:
        """(arms,), what open rounds may still give back: their plays, less what was due for them; at least 0."""
        ahead = np.zeros(arms)
        for lease in self.values():
            if lease.open:
                granted = np.array([lease.granted.get(place, shares.get(place, 0.0)) for place in range(arms)])
                plays = lease.reserved(arms) - lease.reported(arms)
                ahead += np.where(granted > 0.0, plays - granted * lease.open, 0.0)
        return np.maximum(ahead, 0.0)

    def begin_promises(self, places: Sequence[int], shares: Mapping[Any, float]) -> None:
        """Note that the promises to some arms begin after the leases that there are, granted at these shares."""
        for lease in self.values():
            for place in places:
                lease.granted.setdefault(place, shares.get(place, 0.0))

    def forget(self) -> None:
        """Forget leases of which nothing is awaited; of the last 10,000 rounds they stay, for repeated rewards."""
        remembered = 0
        for lease in [lease for lease in reversed(self.values()) if lease.settled]:
            remembered += lease.played
            if remembered > REMEMBERED or not lease.played:
                del self[lease.first]

    def dump(self) -> list[dict[str, Any]]:
        """Plain JSON values."""
        return [lease.dump() for lease in self.values()]

    @classmethod
    def restored(cls, plain: Sequence[Mapping[str, object]]) -> Leases:
        """The leases that `dump` described."""
        return cls((lease.first, lease) for lease in map(Lease.restored, plain))


def golden_step(size: int) -> int:
    """The number of columns from one round to the next: near ``size``/1.618, and without a common divisor with it."""
    near = round(size * GOLDEN)
    steps = (near + sign * away for away in range(size) for sign in (-1, 1))
    return next((step for step in steps if 0 < step < size and math.gcd(step, size) == 1), 1)
