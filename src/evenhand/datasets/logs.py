"""Logs as CSV files: of rewards, of availability, of delays and of situations.

A log is wide, with one column per arm and one row per round, or long, with one row per round and arm::

    tea,coffee          round,arm,reward,available
    1,0.5               1,tea,1,1
    0,                  1,coffee,0.5,1
                        2,tea,0,1

A long log has at least the columns ``round``, ``arm`` and the value that is read: ``reward``, ``available`` or
``delay``. The arms are in the order in which they first appear, the rounds in ascending order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import DataError, EvenhandError, nearest
from evenhand.core.state import Array, Mask
from evenhand.datasets.rows import Sheet, number_or_nan
from evenhand.features.kinds import Feature


def read_rewards(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Array]:
    """A reward log: the reward of each arm per round; a blank, or a pair missing in a long log, is an unknown reward.

    Args:
        path: of a CSV file, wide or with the columns ``round``, ``arm`` and ``reward``.

    Returns:
        The names of the arms, and the rewards (rounds, arms) with NaN for an unknown one.

    Raises:
        DataError: the file is missing or empty, or a cell is not a number; names the row and the column.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("tea,coffee\\n1,0.5\\n,1\\n")
        >>> read_rewards(file)
        (('tea', 'coffee'), array([[1. , 0.5],
               [nan, 1. ]]))
        >>> _ = file.write_text("round,arm,reward\\n1,tea,1\\n1,coffee,0.5\\n2,coffee,1\\n")
        >>> read_rewards(file)[1]
        array([[1. , 0.5],
               [nan, 1. ]])
    """
    log = _read(path, "reward")
    rewards = log.numbers()
    log.refuse(log.filled & ~np.isfinite(rewards), "not a finite number (leave unknown rewards blank)")
    return log.arms, rewards


def read_availability(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Mask]:
    """An availability log: 1 (available) or 0 (asleep) for each arm per round; a pair missing in a long log is asleep.

    Args:
        path: of a CSV file, wide or with the columns ``round``, ``arm`` and ``available``.

    Returns:
        The names of the arms, and the availability (rounds, arms).

    Raises:
        DataError: the file is missing or empty, or a cell is neither 0 nor 1; names the row and the column.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("tea,coffee\\n1,0\\n")
        >>> read_availability(file)[1]
        array([[ True, False]])
    """
    log = _read(path, "available")
    log.refuse((log.rows > 0) & (log.cells != "0") & (log.cells != "1"), "neither 1 (available) nor 0 (asleep)")
    return log.arms, log.cells == "1"


def read_delays(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], list[Array]]:
    """A log of delays in rounds; blanks are skipped, and ``inf`` stands for a reward that never came.

    Args:
        path: of a CSV file, with one column of delays per arm or a single one for all arms, or with the columns
            ``round``, ``arm`` and ``delay``.

    Returns:
        The names of the arms, and for each its delays.

    Raises:
        DataError: the file is missing or empty, a cell is not a number of rounds, or an arm has none; names the row
            and the column.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "delays.csv"
        >>> _ = file.write_text("tea,coffee\\n3,0\\n,inf\\n")
        >>> read_delays(file)
        (('tea', 'coffee'), [array([3.]), array([ 0., inf])])
    """
    log = _read(path, "delay")
    delays = log.numbers()
    log.refuse(log.filled & ~(delays >= 0.0), "not a delay: give rounds of at least 0, or inf")
    samples = [column[known] for column, known in zip(delays.T, log.filled.T, strict=True)]
    for arm, sample in zip(log.arms, samples, strict=True):
        if not sample.size:
            raise DataError(f"{path} has no delay of arm {arm!r}")
    return log.arms, samples


def read_contexts(
    path: str | os.PathLike[str], kinds: Mapping[str, Feature] | None = None
) -> list[dict[str, Any]] | Array:
    """A log of situations: one row per round, one column for each feature; other columns are not read.

    Args:
        path: of a CSV file.
        kinds: the declared features by name; None for a file in which every column has numbers.

    Returns:
        The values by name of each row; or numbers, (rows, columns).

    Raises:
        DataError: the file is missing or empty, a column is missing, or a cell is not of its kind; names both.

    Example:
        >>> import tempfile, pathlib
        >>> from evenhand.features import Category, Flag
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("country,new,note\\nDE,yes,a\\nFR,no,b\\n")
        >>> read_contexts(file, {"country": Category(["DE", "FR"]), "new": Flag()})
        [{'country': 'DE', 'new': True}, {'country': 'FR', 'new': False}]
    """
    sheet = Sheet(path)
    header = [name.strip() for name in sheet.names()]
    read = dict.fromkeys(header, _finite) if kinds is None else {name: one.read for name, one in kinds.items()}
    for name in read:
        if name not in header:
            raise DataError(f"{path} has no column for the feature {name!r}{nearest(name, header)}")
    rows = []
    for row, cells in sheet.rows():
        found = {}
        for name, value in read.items():
            cell = cells[header.index(name)].strip()
            try:
                found[name] = value(cell)
            except EvenhandError as error:
                raise sheet.fault(row, name, cell, f"wrong: it {error}") from None
        rows.append(found)
    if not rows:
        raise DataError(f"{path} has a header but no rows")
    return rows if kinds is not None else np.array([list(found.values()) for found in rows])


def _finite(cell: str) -> float:
    return validate.number("", number_or_nan(cell))


@dataclass(frozen=True, eq=False)
class _Log:
    """The cells of a log."""

    sheet: Sheet
    value: str
    arms: tuple[str, ...]
    cells: NDArray[np.str_]
    rows: NDArray[np.int64]
    long: bool

    @property
    def filled(self) -> Mask:
        """(rounds, arms), whether a cell holds anything."""
        return np.asarray(self.cells != "")

    def numbers(self) -> Array:
        """The cells as numbers (rounds, arms), NaN where one holds none."""
        try:
            return np.asarray(np.where(self.filled, self.cells, "nan").astype(float))
        except ValueError:
            return np.array([[number_or_nan(cell) for cell in row] for row in self.cells])

    def refuse(self, wrong: Mask, why: str) -> None:
        """Raise an error for the first wrong cell, and show the layouts if the file seems to have another."""
        if not wrong.any():
            return
        place, arm = (int(i) for i in np.argwhere(wrong)[0])
        column = self.value if self.long else self.arms[arm]
        fault = self.sheet.fault(int(self.rows[place, arm]), column, str(self.cells[place, arm]), why)
        if not self.long and len(self.cells) > 1 and wrong.all(axis=0).any():
            raise DataError(f"{fault}. {_layouts(self.value)}")  # a whole column of something else
        raise fault


def _layouts(value: str) -> str:
    """The layouts that a log can have, with an example of the first."""
    return (
        "A log has one column per arm and one row per round, such as 'tea,coffee' and below it '1,0'; or the columns "
        f"round, arm and {value}"
    )


def _read(path: str | os.PathLike[str], value: str) -> _Log:
    """The cells of a wide or a long log."""
    sheet = Sheet(path)
    header = [name.strip() for name in sheet.names()]
    if {"round", "arm"} <= set(header):
        if value not in header:
            raise DataError(f"{path} has the columns round and arm, but no column {value!r}. {_layouts(value)}")
        return _long(sheet, header, value)
    numbered = [(row, list(map(str.strip, cells))) for row, cells in sheet.rows()]
    if not numbered:
        raise DataError(f"{path} has a header but no rows. {_layouts(value)}")
    rows = np.array([row for row, _ in numbered], dtype=np.int64)
    cells = np.array([cells for _, cells in numbered], dtype=np.str_)
    return _Log(sheet, value, tuple(header), cells, np.broadcast_to(rows[:, np.newaxis], cells.shape), long=False)


def _long(sheet: Sheet, header: Sequence[str], value: str) -> _Log:
    """The cells of a long log, pivoted: one row per round and one column per arm."""
    places = [header.index(name) for name in ("round", "arm", value)]
    found: dict[tuple[int, str], tuple[str, int]] = {}
    for row, cells in sheet.rows():
        number, arm, cell = (cells[place].strip() for place in places)
        pair = sheet.whole(row, "round", number), arm
        if pair in found:
            raise sheet.fault(row, "arm", arm, f"already in row {found[pair][1]} for round {pair[0]}")
        found[pair] = cell, row
    if not found:
        raise DataError(f"{sheet.path} has a header but no rows. {_layouts(value)}")
    arms = {arm: place for place, arm in enumerate(dict.fromkeys(arm for _, arm in found))}
    rounds = {number: place for place, number in enumerate(sorted({number for number, _ in found}))}
    places_of = [(rounds[number], arms[arm]) for number, arm in found]
    at = tuple(np.array(places_of).T)
    cells_of = np.array([cell for cell, _ in found.values()], dtype=np.str_)
    table = np.full((len(rounds), len(arms)), "", dtype=cells_of.dtype)
    table[at] = cells_of
    rows = np.zeros(table.shape, dtype=np.int64)
    rows[at] = [row for _, row in found.values()]
    return _Log(sheet, value, tuple(arms), table, rows, long=True)
