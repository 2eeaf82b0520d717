"""Logs as CSV files: a column an arm, a row a round or a sample."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from evenhand.errors import DataError
from evenhand.records import Array, Mask


def read_rewards(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Array]:
    """A reward log: the header names the arms, every row holds their rewards in one round; a blank is an unknown
    reward.

    Args:
        path: of a CSV file.

    Returns:
        The names of the arms, and the rewards (rows, arms) with NaN for a blank.

    Raises:
        DataError: the file is missing or empty, or a cell is not a number; names the row and the arm.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("tea,coffee\\n1,0.5\\n,1\\n")
        >>> read_rewards(file)
        (('tea', 'coffee'), array([[1. , 0.5],
               [nan, 1. ]]))
    """
    names, cells, numbers = _read(path)
    values = np.full(cells.shape, np.nan)
    for row, column in np.argwhere(cells != ""):
        values[row, column] = _number(cells[row, column])
        if not np.isfinite(values[row, column]):
            where = f"row {numbers[row]}, arm {names[column]!r}"
            raise DataError(
                f"{path}, {where}: {cells[row, column]!r} is not a finite number (leave unknown rewards blank)"
            )
    return names, values


def read_availability(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Mask]:
    """An availability log: the header names the arms, every row holds 1 (available) or 0 (asleep) for each.

    Args:
        path: of a CSV file.

    Returns:
        The names of the arms, and the availability (rows, arms).

    Raises:
        DataError: the file is missing or empty, or a cell is neither 0 nor 1; names the row and the arm.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("tea,coffee\\n1,0\\n")
        >>> read_availability(file)[1]
        array([[ True, False]])
    """
    names, cells, numbers = _read(path)
    wrong = ~np.isin(cells, ("0", "1"))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        where = f"row {numbers[row]}, arm {names[column]!r}"
        raise DataError(f"{path}, {where}: {str(cells[row, column])!r} is neither 1 (available) nor 0 (asleep)")
    return names, cells == "1"


def read_delays(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], list[Array]]:
    """A log of delays: the header names the arms, every column holds delays of that arm in rounds; blanks are skipped,
    and ``inf`` stands for a reward that never came.

    Args:
        path: of a CSV file; a single column holds the delays of all arms.

    Returns:
        The names of the arms, and for each its delays.

    Raises:
        DataError: the file is missing or empty, a cell is no number of rounds, or an arm has none; names the row and
            the arm.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "delays.csv"
        >>> _ = file.write_text("tea,coffee\\n3,0\\n,inf\\n")
        >>> read_delays(file)
        (('tea', 'coffee'), [array([3.]), array([ 0., inf])])
    """
    names, cells, numbers = _read(path)
    samples = []
    for column, name in enumerate(names):
        delays = []
        for number, cell in zip(numbers, cells[:, column], strict=True):
            if cell == "":
                continue
            value = _number(cell)
            if not value >= 0.0:
                raise DataError(
                    f"{path}, row {number}, arm {name!r}: {cell!r} is no delay; give rounds of at least 0, or inf"
                )
            delays.append(value)
        if not delays:
            raise DataError(f"{path} has no delay of arm {name!r}")
        samples.append(np.array(delays))
    return names, samples


def _number(cell: str) -> float:
    """The number in a cell; NaN where there is none."""
    try:
        return float(cell)
    except ValueError:
        return np.nan


def _read(
    path: str | os.PathLike[str],
) -> tuple[tuple[str, ...], np.ndarray[tuple[int, int], np.dtype[np.object_]], list[int]]:
    """The header and the cells, as text without blanks around it; row 1 of the file is the header."""
    import csv

    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            numbered = [(reader.line_num, [cell.strip() for cell in line]) for line in reader if line]
            lines = [line for _, line in numbered]
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a CSV file: {error}") from None
    if len(lines) < 2:
        raise DataError(f"{path} needs a header with the names of the arms and at least one row")
    for number, line in numbered[1:]:
        if len(line) != len(lines[0]):
            raise DataError(f"{path}, row {number}: {len(line)} cells for {len(lines[0])} arms")
    return tuple(lines[0]), np.array(lines[1:], dtype=object), [n for n, _ in numbered[1:]]
