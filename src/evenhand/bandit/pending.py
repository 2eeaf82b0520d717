"""Pending rewards: which decisions lack rewards, which have them all, and which are closed."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.arms import Arms
from evenhand.bandit.scores import UNCOUNTED
from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.state import Array

#: Decisions without pending rewards that are remembered, so that a repeated reward is recognised.
REMEMBERED = 10_000
FORGOTTEN, WAITING, COMPLETE, CLOSED = range(4)  # the status of a decision
NOWHERE = -1  # the row of a round that is not remembered
NOBODY = -1  # in the place of an arm where fewer than all plays were used
SPARE = 100  # rows of forgotten decisions that are never worth removing
FLOATS = ("times", "rewards", "counting")
COLUMNS = ("rounds", "times", "places", "known", "rewards", "tables", "counting", "settled", "closed")
Counting = tuple[int, float, float]  # how a reward counts in differences: its table, its weight, what was expected


class RewardError(EvenhandError):
    """A reward that cannot be taken.

    Attributes:
        status: ``"unknown"`` where there is no such decision, or the arm did not play in it; ``"conflict"`` where
            another reward is known; ``"refused"`` where the bandit does not take such a reward, or not now.

    Example:
        >>> RewardError("there is no decision '7'", "unknown").status
        'unknown'
    """

    def __init__(self, message: str, status: str = "refused") -> None:
        super().__init__(message)
        self.status = status


def round_of(id: object) -> int | None:
    """The round of a decision or lease by its id; None for what is no id."""
    if isinstance(id, str) and id.isascii() and id.isdigit() and len(id) < 19 and id[0] != "0":
        return int(id)
    return None


@dataclass(slots=True)
class RewardRecord:
    """The rewards of one decision."""

    round: int
    time: float  # of the decision, in seconds
    rewards: dict[str, float | None]  # by the arms that played; None where missing
    closed: bool = False  # whether its window has passed


class PendingRewards:
    """The rewards of decisions: those with rewards that can still arrive, and the last 10,000 of the others."""

    def __init__(self, arms: Arms, plays: int, window: float | None = None) -> None:
        if window is not None:
            window = validate.number("window", window, low=0.0)
            if window == 0.0:
                raise EvenhandError("window must be above 0 seconds, got 0; None means that rewards never expire")
        self.arms, self.window, self.count = arms, window, 0
        self._width, self._unknown = plays, array("d", [np.nan] * plays)
        self._rounds, self._times, self._status = array("q"), array("d"), bytearray()  # (rows,)
        self._places, self._rewards = array("q"), array("d")  # (rows × width,); NaN where a reward is missing
        self._tables = array("q")  # (rows,), of the sums in which their rounds count
        self._counting = array("d")  # (rows × width × 2,), with which weight, and what was expected of a reward
        self._settled: deque[int] = deque()  # rounds of decisions that are complete or closed, in that order
        self._first = 0  # no row before this one waits
        self._latest = 0.0  # time of the last decision, while any waits

    @property
    def waiting(self) -> dict[str, RewardRecord]:
        """The decisions with pending rewards by id, the oldest first."""
        return {str(self._rounds[row]): self._entry(row) for row, s in enumerate(self._status) if s == WAITING}

    @property
    def settled(self) -> dict[str, RewardRecord]:
        """The last decisions that are complete or closed by id, in the order in which they became so."""
        return {str(round): self._entry(self._row(round)) for round in self._settled}

    def enter(
        self, round: int, places: list[int], time: float, table: int = UNCOUNTED, counting: list[float] | None = None
    ) -> None:
        """Add a decision; where the clock has jumped back, its time is that of the decision before.

        ``table`` and ``counting``, the weight of each play and what is expected of it, are how its rewards count; see
        `evenhand.bandit.scores`.
        """
        if time < self._latest and self.count:
            time = self._latest
        self._latest, cells, given = time, self._width, counting or []
        self._rounds.append(round)
        self._times.append(time)
        self._status.append(WAITING)
        self._places.fromlist(places)  # quicker than to extend it
        self._counting.fromlist(given)
        self._tables.append(table)
        if len(places) < cells:
            self._places.extend([NOBODY] * (cells - len(places)))
        if len(given) < 2 * cells:
            self._counting.extend([0.0] * (2 * cells - len(given)))
        self._rewards.extend(self._unknown)
        self.count += 1

    def find(self, id: str) -> RewardRecord | None:
        """The rewards of a decision; None where there is none, or it is no longer remembered."""
        round = round_of(id)
        if round is None:
            return None
        row = self._row(round)
        return None if row == NOWHERE or self._status[row] == FORGOTTEN else self._entry(row)

    def is_waiting(self, round: int) -> bool:
        """Whether the decision of a round has pending rewards."""
        row = self._row(round)
        return row != NOWHERE and self._status[row] == WAITING

    def write(self, round: int, place: int, reward: float) -> Counting:
        """Record a reward that is accepted or late; how it counts."""
        row = round - self._rounds[0]  # usually, as in `_row`
        if not 0 <= row < len(self._rounds) or self._rounds[row] != round:
            row = self._row(round)
        cell = row if self._width == 1 else self._places.index(place, row * self._width, (row + 1) * self._width)
        self._rewards[cell] = reward
        counting = self._tables[row], self._counting[2 * cell], self._counting[2 * cell + 1]
        if self._status[row] == WAITING and (self._width == 1 or not self._missing(row)):
            self._settle(row, COMPLETE)
        return counting

    def counting(self, round: int, place: int) -> Counting:
        """How the reward of an arm in a round counts."""
        row = self._row(round)
        cell = self._places.index(place, row * self._width, (row + 1) * self._width)
        return self._tables[row], self._counting[2 * cell], self._counting[2 * cell + 1]

    def unknown(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """The tables, the places of the arms, and the weights of plays that wait for a reward."""
        waiting = np.frombuffer(bytes(self._status), dtype=np.uint8) == WAITING
        places = self._by_row(self._places)
        missing = np.isnan(self._by_row(self._rewards)) & waiting[:, np.newaxis] & (places != NOBODY)
        tables = np.repeat(np.array(self._tables)[:, np.newaxis], self._width, axis=1)
        return tables[missing], places[missing], self._by_row(self._counting[::2])[missing]

    def move(self, moved: Sequence[int]) -> None:
        """Count rewards in other tables: in ``moved[table]`` in place of each."""
        self._tables = array("q", [moved[table] if table >= 0 else table for table in self._tables])

    def due(self, now: float) -> bool:
        """Whether the window of the oldest waiting decision has passed."""
        time = self.next_due()
        return time is not None and time <= now

    def next_due(self) -> float | None:
        """When the window of the oldest waiting decision passes, in seconds; None where none ever does."""
        if self.window is None or not self.count:
            return None
        while self._status[self._first] != WAITING:
            self._first += 1
        return self._times[self._first] + self.window

    def overdue(self, now: float) -> dict[str, list[str]]:
        """The decisions whose window has passed, each with the arms whose rewards are missing."""
        overdue: dict[str, list[str]] = {}
        if self.window is None or not self.due(now):
            return overdue
        for row in range(self._first, len(self._rounds)):
            if self._status[row] == WAITING:
                if self._times[row] + self.window > now:
                    break
                overdue[str(self._rounds[row])] = [self.arms.names[place] for place in self._missing(row)]
        return overdue

    def close(self, ids: Iterable[str]) -> None:
        """Close these decisions: a reward of theirs is late from now on."""
        for id in ids:
            self._settle(self._row(int(id)), CLOSED)

    def forget_waiting(self) -> None:
        """Forget all decisions with pending rewards."""
        for row in range(self._first, len(self._rounds)):
            if self._status[row] == WAITING:
                self._status[row] = FORGOTTEN
        self._first, self.count = len(self._rounds), 0
        self._remove_forgotten()

    def counts(self) -> Array:
        """(arms,), the number of pending rewards."""
        return np.bincount(self.unknown()[1], minlength=len(self.arms)).astype(float)

    # --- saving -------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Plain JSON values: columns with a row per decision, and the positions and values of the known rewards."""
        status = np.frombuffer(bytes(self._status), dtype=np.uint8)
        rows = status != FORGOTTEN
        rounds, rewards = np.array(self._rounds)[rows], self._by_row(self._rewards)[rows].ravel()
        missing = np.isnan(rewards)
        (known,) = np.logical_not(missing).nonzero()
        return {
            "rounds": rounds.tolist(),
            "times": np.array(self._times)[rows].tolist(),
            "places": self._by_row(self._places)[rows].ravel().tolist(),
            "known": known.tolist(),
            "rewards": rewards[known].tolist(),
            "tables": np.array(self._tables)[rows].tolist(),
            "counting": np.array(self._counting).reshape(-1, self._width, 2)[rows].reshape(-1, 2)[missing].tolist(),
            "settled": list(self._settled),
            "closed": rounds[status[rows] == CLOSED].tolist(),
            "latest": self._latest,
        }

    @classmethod
    def restored(cls, arms: Arms, plays: int, window: float | None, plain: Mapping[str, object]) -> PendingRewards:
        """The pending rewards that `dump` described, of a bandit with these arms."""
        pending = cls(arms, plays, window)
        try:
            columns = {name: np.array(plain[name], dtype=np.int64) for name in COLUMNS if name not in FLOATS}
            columns |= {name: np.array(plain[name], dtype=np.float64) for name in FLOATS}
            pending._fill(columns)
            pending._latest = validate.number("latest", plain["latest"])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise StateError(f"the saved pending rewards are damaged: {error}") from None
        return pending

    def _fill(self, columns: Mapping[str, NDArray[Any]]) -> None:
        rounds, times, places, known, values, tables, counting, settled, closed = (columns[name] for name in COLUMNS)
        rewards, status = np.full(len(rounds) * self._width, np.nan), np.full(len(rounds), WAITING, dtype=np.uint8)
        rewards[known] = values
        for ended, name in ((settled, COMPLETE), (closed, CLOSED)):
            rows = np.searchsorted(rounds, ended)
            if not np.array_equal(rounds[rows], ended):
                raise StateError("they name decisions that they do not have")
            status[rows] = name
        if np.any(np.diff(rounds) <= 0) or not np.isfinite(times).all() or len(times) != len(rounds):
            raise StateError("their rounds or times are inconsistent")
        if len(places) != len(rewards) or np.any(places < NOBODY) or np.any(places >= len(self.arms)):
            raise StateError("they name an unknown arm")
        missing = np.isnan(rewards)
        if len(tables) != len(rounds) or np.any(tables < UNCOUNTED) or len(counting) != missing.sum():
            raise StateError("they count in unknown sums")
        self._rounds, self._times = array("q", rounds.tobytes()), array("d", times.tobytes())
        self._tables = array("q", tables.tobytes())
        column = np.zeros((len(rewards), 2))
        column[missing] = counting.reshape(-1, 2)
        self._counting = array("d", column.tobytes())
        self._places, self._rewards = array("q", places.tobytes()), array("d", rewards.tobytes())
        self._status, self._settled = bytearray(status.tobytes()), deque(settled.tolist())
        self.count = int(np.count_nonzero(status == WAITING))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _row(self, round: int) -> int:
        """The row of a round, or `NOWHERE`; usually no round is missing between two."""
        rounds = self._rounds
        row = round - rounds[0] if rounds else NOWHERE
        if 0 <= row < len(rounds) and rounds[row] == round:
            return row
        row = bisect_left(rounds, round)
        return row if row < len(rounds) and rounds[row] == round else NOWHERE

    def _entry(self, row: int) -> RewardRecord:
        names, width = self.arms.names, self._width
        rewards: dict[str, float | None] = {}
        for cell in (row,) if width == 1 else range(row * width, (row + 1) * width):
            place, reward = self._places[cell], self._rewards[cell]
            if place != NOBODY:
                rewards[names[place]] = None if reward != reward else reward
        return RewardRecord(self._rounds[row], self._times[row], rewards, self._status[row] == CLOSED)

    def _missing(self, row: int) -> list[int]:
        """The places of the arms whose rewards are missing."""
        cells = range(row * self._width, (row + 1) * self._width)
        return [self._places[c] for c in cells if self._rewards[c] != self._rewards[c] and self._places[c] != NOBODY]

    def _settle(self, row: int, status: int) -> None:
        self._status[row] = status
        self.count -= 1
        self._settled.append(self._rounds[row])
        if len(self._settled) > REMEMBERED:
            self._status[self._row(self._settled.popleft())] = FORGOTTEN
            self._remove_forgotten()

    def _remove_forgotten(self) -> None:
        """Remove the rows of forgotten decisions, if they are more than the others."""
        if len(self._rounds) <= 2 * (self.count + len(self._settled)) + SPARE:
            return
        rows = np.frombuffer(bytes(self._status), dtype=np.uint8) != FORGOTTEN
        self._rounds = array("q", np.array(self._rounds)[rows].tobytes())
        self._times = array("d", np.array(self._times)[rows].tobytes())
        self._tables = array("q", np.array(self._tables)[rows].tobytes())
        self._counting = array("d", np.array(self._counting).reshape(-1, 2 * self._width)[rows].tobytes())
        self._places = array("q", self._by_row(self._places)[rows].tobytes())
        self._rewards = array("d", self._by_row(self._rewards)[rows].tobytes())
        self._status = self._status.replace(bytes([FORGOTTEN]), b"")
        self._first = 0

    def _by_row(self, column: array[Any]) -> NDArray[Any]:
        return np.array(column).reshape(-1, self._width)
