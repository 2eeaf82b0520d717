"""What differences of mean rewards rest on: sums by month, by the arms that could play, and by arm.

Rewards x are on the scale [0, 1]. Where every arm that could play had a chance above 0, a play with chance p has the
weight ``w = 1/p``, elsewhere 0. A table has the rounds of a calendar month (UTC) in which the same arms could play, and
for each arm that played in them a row:

==========================  ====================================================================================
``KNOWN``, ``TOTAL``        rewards that are known, and ``Σ x``
``SPREAD``                  ``Σ (x − x̂)²``; x̂ was fixed when the arm was chosen
``WEIGHTS``, ``WEIGHTS2``   ``Σ w`` and ``Σ w²``
``REWARDS``, ``REWARDS2``   ``Σ w x`` and ``Σ w² x``
``SQUARES``                 ``Σ w² x²``
``LOST``                    plays whose reward is not known, without those decided here that wait for theirs
``OPEN``, ``OPEN2``         ``Σ w`` and ``Σ w²`` of these
``GUESS``                   the next x̂, ``(Σ x + 0.5)/(KNOWN + 1)``
==========================  ====================================================================================

The rounds of a lease are laid out when it is granted, so that given the first ones the others have no chance any more.
They count as if its arms had been drawn: with ``N_a ≤ n p_a`` plays of every arm in n rounds, those that are missing
being plays whose reward is not known. By Jensen's inequality that is valid if no mean changes within a lease.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import StateError

WIDTH = 12
KNOWN, TOTAL, SPREAD, WEIGHTS, REWARDS, WEIGHTS2, REWARDS2, SQUARES, LOST, OPEN, OPEN2, GUESS = range(WIDTH)
NOTHING = [0.0] * GUESS + [0.5]
SETS = 8  # sets of arms of a month in whose rounds rewards are weighted; rounds with others have no weights
MONTHS = 13  # calendar months that are kept apart
BEFORE = ""  # the months before them
FAINT = 1e-9  # a chance is above 0 where it is above this
UNCOUNTED = -1  # in the place of a table, of a round from before there were any
Kind = Literal["decided", "leased", "units"]  # leased for units, in which the arm follows from the unit


@dataclass(slots=True)
class Table:
    """Sums of rounds of a month."""

    month: str  # such as "2026-11"
    kind: Kind
    able: bytes | None  # the arms that could play, as packed bits; None where rewards have no weights
    rounds: float = 0.0  # n, where rewards have weights
    least: float = 1.0  # the smallest chance of any of these arms in any of them, also of arms that did not play
    rows: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(NOTHING.copy))

    def add(self, other: Table) -> None:
        """Count the rounds of another table, too."""
        self.rounds += other.rounds
        self.least = min(self.least, other.least)
        for place, row in other.rows.items():
            mine = self.rows[place] = [one + two for one, two in zip(self.rows[place], row, strict=True)]
            mine[GUESS] = (mine[TOTAL] + 0.5) / (mine[KNOWN] + 1.0)

    def dump(self) -> list[Any]:
        """Plain JSON values."""
        able = None if self.able is None else base64.b64encode(self.able).decode()
        rows = [[place, *row] for place, row in sorted(self.rows.items())]
        return [self.month, self.kind, able, self.rounds, self.least, rows]

    @classmethod
    def restored(
        cls, month: str, kind: Kind, able: str | None, rounds: float, least: float, rows: list[list[Any]]
    ) -> Table:
        """The table that `dump` described."""
        packed = None if able is None else base64.b64decode(able, validate=True)
        table = cls(month, kind, packed, validate.number("rounds", rounds, 0.0), validate.number("least", least, 0.0))
        for place, *row in rows:
            if len(row) != WIDTH:
                raise StateError(f"a saved row of sums has {len(row)} numbers")
            table.rows[validate.whole("a place", place, low=0)] = [validate.number("a sum", one) for one in row]
        return table


class Scores:
    """The tables of a bandit; those of the last 13 months apart."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.since: float | None = None  # when the first round was decided that counts, in seconds
        self.month, self.begins, self.ends = BEFORE, np.inf, -np.inf  # the present month, and its first seconds
        self.places: dict[tuple[Kind, bytes | None] | bytes | None, int] = {}  # of its tables
        self.apart = UNCOUNTED  # the place of that of rounds that were decided here and have no weights

    def turn(self, now: float) -> list[int]:
        """Go to the month of a time; which tables have become which, empty where all stay."""
        month = np.datetime64(int(now // 1), "s").astype("datetime64[M]")
        months = np.array([month, month + np.timedelta64(1, "M")], "datetime64[s]")
        self.begins, self.ends = months.astype(np.int64).astype(float).tolist()
        self.month = str(month)
        self.since = now if self.since is None else self.since
        moved = self._merged()
        self.places, self.apart = {}, UNCOUNTED
        for place, table in enumerate(self.tables):
            if table.month == self.month:
                self._remember(table, place)
        return moved

    def _remember(self, table: Table, place: int) -> int:
        """Find a table by its arms alone, if its rounds were decided here, which is quick."""
        self.places[table.able if table.kind == "decided" else (table.kind, table.able)] = place
        if table.kind == "decided" and table.able is None:
            self.apart = place
        return place

    def _merged(self) -> list[int]:
        """Put the tables of the oldest month into those of the months before, if there are too many months."""
        months = sorted({table.month for table in self.tables} - {BEFORE} | {self.month})
        if len(months) <= MONTHS:
            return []
        tables: dict[tuple[str, Kind, bytes | None], Table] = {}
        moved = []
        for table in self.tables:
            month = BEFORE if table.month in (BEFORE, months[0]) else table.month
            key = month, table.kind, self._room(tables, month, table)
            tables.setdefault(key, Table(*key)).add(table)
            moved.append(list(tables).index(key))
        self.tables = list(tables.values())
        return moved

    def _room(self, tables: Mapping[tuple[str, Kind, bytes | None], Table], month: str, table: Table) -> bytes | None:
        """The arms of a table, unless there are too many sets of them already in its month."""
        sets = {able for (one, kind, able) in tables if one == month and kind == table.kind and able is not None}
        return table.able if table.able in sets or len(sets) < SETS else None

    def opened(self, able: bytes | None, kind: Kind = "decided") -> int:
        """The place of this month's table of some rounds; where there are too many, of those without weights."""
        known = self.places.get(able if kind == "decided" else (kind, able))
        if known is not None:
            return known
        of_month = {(one.month, one.kind, one.able): one for one in self.tables if one.month == self.month}
        new = Table(self.month, kind, able)
        if able is not None and self._room(of_month, self.month, new) is None:
            return self.opened(None, kind)
        self.tables.append(new)
        return self._remember(new, len(self.tables) - 1)

    def learn(
        self, table: int, place: int, count: float, total: float, squares: float, spread: float, weight: float
    ) -> None:
        """Rewards of an arm are known: their number, ``Σ x``, ``Σ x²`` and ``Σ (x − x̂)²``, all with one weight.

        Where they turn out not to be known after all, each of these is below 0.
        """
        if table < 0:
            return
        row = self.tables[table].rows[place]
        row[KNOWN] += count
        row[TOTAL] += total
        row[SPREAD] += spread
        row[GUESS] = (row[TOTAL] + 0.5) / (row[KNOWN] + 1.0)
        if weight:
            square = weight * weight
            row[WEIGHTS] += weight * count
            row[REWARDS] += weight * total
            row[WEIGHTS2] += square * count
            row[REWARDS2] += square * total
            row[SQUARES] += square * squares

    def lose(self, table: int, place: int, count: float, weight: float) -> None:
        """So many plays are not known; below 0 where they are known after all."""
        if table < 0:
            return
        row = self.tables[table].rows[place]
        row[LOST] += count
        row[OPEN] += weight * count
        row[OPEN2] += weight * weight * count

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"since": self.since, "tables": [table.dump() for table in self.tables]}

    @classmethod
    def restored(cls, plain: Mapping[str, Any]) -> Scores:
        """The scores that `dump` described."""
        scores = cls()
        scores.since = None if plain["since"] is None else validate.number("a time", plain["since"])
        scores.tables = [Table.restored(*one) for one in plain["tables"]]
        return scores
