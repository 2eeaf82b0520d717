"""Decisions of a lease, drawn by the client: without the service, and with exact propensities."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

from ..core.errors import EvenhandError
from ..messages.answers import Lease, LeaseReport

PRIME, MIX, MORE = 0x01000193, 0x85EBCA6B, 0xC2B2AE35  # of the hash
BITS = 0xFFFFFFFF


class LeaseOver(EvenhandError):
    """All decisions of a lease have been drawn, or its time is over: report it, and take another."""


class LeasedDecision(NamedTuple):
    """A decision that was drawn from a lease."""

    id: str  # identifies the decision when its rewards are sent, as that of any other decision
    position: int  # of the decision in the lease, counted from 0
    names: tuple[str, ...]  # of the arms that play


# A decision of its fields: what `LeasedDecision._make` does, in a third of the time.
_filled: Callable[[tuple[str, int, tuple[str, ...]]], LeasedDecision] = partial(tuple.__new__, LeasedDecision)


class LeasedDecisions:
    """The decisions of a lease, each drawn once; threads may share it.

    Every decision that is drawn counts as played. Rewards can be collected here, and go to the service with the next
    report.

    Args:
        lease: as the service answered it.
        clock: returns the time in seconds.
        begun: when it was requested, by that clock; None for now.

    Attributes:
        lease: as the service answered it.
        played: number of decisions drawn so far.

    Example:
        >>> from evenhand import Bandit
        >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.25}, seed=1)
        >>> leased = LeasedDecisions(bandit.lease(8))
        >>> [decision.names[0] for decision in leased.draw_many(8)]
        ['tea', 'tea', 'tea', 'coffee', 'tea', 'tea', 'coffee', 'tea']
        >>> leased.propensity("coffee"), leased.left
        (0.25, 0)
    """

    def __init__(self, lease: Lease, clock: Callable[[], float] = time.monotonic, begun: float | None = None) -> None:
        self.lease, self.played = lease, 0
        self._clock, self._lock = clock, Lock()
        self._end = (clock() if begun is None else begun) + lease.seconds
        self._arms = [one.arm for one in lease.arms]
        self._alone: list[tuple[str, ...]] = [(arm,) for arm in self._arms]
        self._ends = list(accumulate(one.count for one in lease.arms))
        self._column = lease.start % lease.decisions  # of the next decision
        self._columns: list[int] = []  # of the decisions drawn, where they follow units
        self._known = 0  # decisions of which the service has the columns
        self._rewards: dict[str, dict[int, float]] = {}  # by arm and position, to be reported

    @property
    def left(self) -> int:
        """The number of decisions that can be drawn; 0 where the time is over."""
        return 0 if self._clock() >= self._end else self.lease.decisions - self.played

    def propensity(self, arm: str) -> float:
        """The probability with which an arm plays in any decision of the lease.

        Args:
            arm: name of the arm.

        Returns:
            In [0, 1]; 0 for an arm that does not play in this lease.
        """
        return next((one.propensity for one in self.lease.arms if one.arm == arm), 0.0)

    def draw(self, unit: str | None = None) -> LeasedDecision:
        """The next decision.

        Args:
            unit: whose arm it is, such as the id of a user, in a lease for units; the same one has the same arms.

        Returns:
            The decision, with its position in the lease and the arms that play.

        Raises:
            LeaseOver: there is none left, or the time is over.
            EvenhandError: a unit is missing, or the lease is not for units.
        """
        (decision,) = self._drawn(1, None if unit is None else [unit])
        return decision

    def draw_many(self, count: int, units: Sequence[str] | None = None) -> list[LeasedDecision]:
        """The next decisions; as for `draw`, with a unit for each of them.

        Args:
            count: how many.
            units: (count,), the unit of each, in a lease for units; None otherwise.

        Returns:
            (count,), the decisions in their order.

        Raises:
            LeaseOver: there are not so many left, or the time is over.
            EvenhandError: units are missing, or the lease is not for units.
        """
        return self._drawn(count, units)

    def _drawn(self, count: int, units: Sequence[str] | None) -> list[LeasedDecision]:
        lease = self.lease
        if (units is None) != (lease.salt is None) or (units is not None and len(units) != count):
            rule = "is not for units: leave them out" if lease.salt is None else "is for units: give one per decision"
            raise EvenhandError(f"lease {lease.id} {rule}")
        if count < 1:
            return []
        with self._lock:
            if self._clock() >= self._end:
                raise LeaseOver(
                    f"the {lease.seconds:g} seconds of lease {lease.id} are over: report it, and take another"
                )
            if self.played + count > lease.decisions:
                raise LeaseOver(
                    f"lease {lease.id} has {lease.decisions - self.played:,} decisions left, and {count:,} were to be "
                    "drawn: report it, and take another"
                )
            first, size, step = self.played, lease.decisions, lease.step
            if units is not None:
                columns: Sequence[int] = [column_of(unit, lease.salt or 0, size) for unit in units]
                self._columns += columns
            else:
                begin = self._column
                columns = [(begin + step * place) % size for place in range(count)]
                self._column = (begin + step * count) % size
            self.played += count
        round, arms, ends = lease.round + first, self._alone, self._ends
        if lease.plays == 1:
            drawn = [arms[bisect_right(ends, column)] for column in columns]
        else:
            plays, names = range(lease.plays), self._arms
            drawn = [tuple([names[bisect_right(ends, column + size * at)] for at in plays]) for column in columns]
        positions = range(first, first + count)
        decisions = zip(map(str, range(round, round + count)), positions, drawn, strict=True)
        return list(map(_filled, decisions))

    def reward(self, position: int, arm: str, reward: float) -> None:
        """Collect a reward of a decision, for the next report.

        Args:
            position: of the decision.
            arm: that played in it.
            reward: in the unit of the allocation.
        """
        if not 0 <= position < self.played:
            raise EvenhandError(f"position must be one of the {self.played:,} decisions drawn, got {position!r}")
        with self._lock:
            self._rewards.setdefault(arm, {})[position] = reward

    def body(self, most: int = 1_000_000) -> tuple[dict[str, Any], bool]:
        """What is to be reported, as the service accepts it.

        Args:
            most: rewards, and columns, in a report.

        Returns:
            The decisions drawn, and rewards not yet reported; and whether that is all.
        """
        with self._lock:
            played, columns = self.played, {}
            if self.lease.salt is not None:
                columns = {"columns": self._columns[self._known : self._known + most]}
                played = self._known + len(columns["columns"])
            waiting = [
                (arm, position, value)
                for arm, by_position in self._rewards.items()
                for position, value in by_position.items()
                if position < played
            ]
            rewards: dict[str, dict[str, list[Any]]] = {}
            for arm, position, value in waiting[:most]:
                some = rewards.setdefault(arm, {"positions": [], "values": []})
                some["positions"].append(position)
                some["values"].append(value)
            return {"played": played, "rewards": rewards} | columns, played == self.played and len(waiting) <= most

    def reported(self, body: dict[str, Any], report: LeaseReport) -> None:
        """Take note that a body was reported: its rewards need not be reported again.

        Args:
            body: that was sent.
            report: the service's answer to it.
        """
        with self._lock:
            for arm, some in body["rewards"].items():
                for position, value in zip(some["positions"], some["values"], strict=True):
                    if self._rewards[arm].get(position) == value:
                        del self._rewards[arm][position]
                if not self._rewards[arm]:
                    del self._rewards[arm]
            self._known = max(self._known, report.played)
            if report.returned:
                self._end = self._clock()


def column_of(unit: str, salt: int, size: int) -> int:
    """The column of a unit in a lease of some decisions: FNV-1a of its UTF-8 bytes, mixed as in MurmurHash3, scaled."""
    value = salt
    for byte in unit.encode():
        value = ((value ^ byte) * PRIME) & BITS
    value = ((value ^ (value >> 16)) * MIX) & BITS
    value = ((value ^ (value >> 13)) * MORE) & BITS
    return ((value ^ (value >> 16)) * size) >> 32
