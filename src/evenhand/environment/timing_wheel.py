"""Rewards under way, stored by the round in which they become known.

Time is divided into blocks. What is due in the present block or the next is in a ring of dense rows, one per round,
where adding it costs one addition and reading it nothing. What is due later waits unsorted until the present block
ends, is then put with the others of its block, and enters the ring when that block is next. So the work grows with
what arrives and the memory with what is under way, however long the delays are; what cannot arrive before the horizon
is dropped at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.cohorts import Answers

RING = 1_000_000  # numbers in the ring, about
LONGEST, SHORTEST = 64, 8  # rounds in a block

Parcel = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]  # round, place and reward of each


class TimingWheel:
    """Sums and counts of the rewards that become known in each round, for flat places (lane · arms + arm)."""

    def __init__(self, places: int, rounds: int, kind: np.dtype[Any]) -> None:
        """An empty wheel."""
        self._now, self._rounds = 0, rounds
        self._block = int(np.clip(2 ** int(np.log2(max(RING / (2 * places), 1))), SHORTEST, LONGEST))
        self._counts = np.zeros((2 * self._block, places), dtype=np.int32)
        self._sums = np.zeros(self._counts.shape, dtype=np.int32 if kind.kind == "b" else np.float64)
        self._inbox: list[Parcel] = []
        self._later: dict[int, list[Parcel]] = {}

    def put(self, delays: NDArray[np.float64], places: NDArray[np.intp], rewards: NDArray[Any]) -> int:
        """Rewards of the present round that become known after ``delays`` whole rounds; each place at most once.

        Returns how many of them become known before the horizon.
        """
        due = delays + self._now
        edge = (self._now // self._block + 2) * self._block
        near = due < min(edge, self._rounds)
        if near.all():
            self._add(due.astype(np.int32), places, rewards)
            return len(due)
        far = ~near & (due < self._rounds)
        self._add(due[near].astype(np.int32), places[near], rewards[near])
        if far.any():
            self._inbox.append((due[far].astype(np.int32), places[far].astype(np.int32), rewards[far]))
        return int(np.count_nonzero(near | far))

    def _add(self, due: NDArray[np.int32], places: NDArray[np.integer[Any]], rewards: NDArray[Any]) -> None:
        cells = due % (2 * self._block) * np.int64(self._counts.shape[1]) + places
        # A number of exactly this type: any other makes `add.at` thirty times as slow.
        np.add.at(self._counts.reshape(-1), cells, self._counts.dtype.type(1))
        np.add.at(self._sums.reshape(-1), cells, rewards.astype(self._sums.dtype, copy=False))

    def turn(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """End the present round: how many rewards become known in each place, and their sums."""
        row = self._now % (2 * self._block)
        counts, sums = self._counts[row].copy(), self._sums[row].copy()
        self._counts[row], self._sums[row] = 0, 0
        self._now += 1
        if self._now % self._block == 0:
            self._sort()
            for parcel in self._later.pop(self._now // self._block + 1, ()):
                self._add(*parcel)
        return counts, sums

    def _sort(self) -> None:
        """Put what came in during the present block with the others of its block."""
        if not self._inbox:
            return
        due, places, rewards = (np.concatenate(column) for column in zip(*self._inbox, strict=True))
        self._inbox.clear()
        block = due // self._block
        if block.min() < block.max():
            order = np.argsort(block, kind="stable")
            block, due, places, rewards = block[order], due[order], places[order], rewards[order]
        cuts = np.flatnonzero(np.diff(block)) + 1
        parts = zip(np.split(due, cuts), np.split(places, cuts), np.split(rewards, cuts), strict=True)
        for first, (a, b, c) in zip(block[np.concatenate([[0], cuts])].tolist(), parts, strict=True):
            # Copies, since a view would keep the whole array in memory.
            self._later.setdefault(first, []).append((a.copy(), b.copy(), c.copy()))

    def under_way(self) -> int:
        """Number of rewards that will become known before the horizon."""
        filed = (parcel for parcels in self._later.values() for parcel in parcels)
        return int(self._counts.sum()) + sum(len(due) for due, _, _ in (*self._inbox, *filed))


class NamedWheel(TimingWheel):
    """A wheel that also remembers to which pull each reward belongs."""

    def __init__(self, places: int, rounds: int, kind: np.dtype[Any]) -> None:
        """An empty wheel; see `TimingWheel`."""
        super().__init__(places, rounds, kind)
        self._parcel = np.dtype([("reward", kind), ("sent", np.int32)])
        self._filled = np.zeros(2 * self._block, dtype=np.intp)  # answers in each row
        self._rows = np.zeros((2 * self._block, 16), dtype=[("place", np.intp), ("sent", np.int64), ("reward", float)])
        self.answers = self._taken(0)

    def put(self, delays: NDArray[np.float64], places: NDArray[np.intp], rewards: NDArray[Any]) -> int:
        """Rewards of the present round that become known after ``delays`` whole rounds; each place at most once."""
        parcels = np.empty(len(rewards), dtype=self._parcel)
        parcels["reward"], parcels["sent"] = rewards, self._now
        return super().put(delays, places, parcels)

    def turn(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """End the present round: how many rewards become known in each place, and their sums; `answers` has each."""
        self.answers = self._taken(self._now % (2 * self._block))
        return super().turn()

    def _add(self, due: NDArray[np.int32], places: NDArray[np.integer[Any]], rewards: NDArray[Any]) -> None:
        super()._add(due, places, rewards["reward"])
        rows = due % (2 * self._block)
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        added = np.bincount(rows, minlength=2 * self._block)
        first = np.cumsum(added) - added
        columns = self._filled[rows] + np.arange(len(rows)) - first[rows]
        self._filled += added
        most = int(self._filled.max(initial=0))
        if most > self._rows.shape[1]:
            wider = np.zeros((len(self._rows), 2 * most), dtype=self._rows.dtype)
            wider[:, : self._rows.shape[1]] = self._rows
            self._rows = wider
        for name, values in (("place", places), ("sent", rewards["sent"]), ("reward", rewards["reward"])):
            self._rows[name][rows, columns] = values[order]

    def _taken(self, row: int) -> Answers:
        """The answers of a row, which is empty then."""
        taken = self._rows[row, : self._filled[row]]
        self._filled[row] = 0
        return Answers(taken["place"].copy(), self._now - taken["sent"], taken["reward"].copy())
