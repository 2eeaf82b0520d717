"""The cells of a log: times, rewards, propensities and names, each checked; a fault is named with its row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.core.errors import DataError, number_hint
from evenhand.core.state import Array, Mask

Index = NDArray[np.intp]
BLANK = ("", "nan", "NaN", "NAN", "NaT")
KINDS = ("a number", "a date without a time zone", "a date with a time zone")
ZONE = r":\d\d.*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"  # of a time in ISO 8601


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that are read, and their source."""

    source: str
    frame: pd.DataFrame
    names: Mapping[str, str]
    numbers: Index  # of the rows, in messages

    def cells(self, role: str) -> pd.Series[Any]:
        """The cells of a column."""
        return self.frame[self.names[role]]

    def complain(self, wrong: Mask, role: str, fault: str) -> None:
        """Raise an error about the first row that is wrong, if any."""
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            where = f"{self.source}, row {self.numbers[row]}, column {self.names[role]!r}"
            cell = self.cells(role).iloc[row]
            number = role in ("reward", "propensity_score")
            hint = number_hint(text_of(cell), role == "propensity_score") if number else ""
            raise DataError(f"{where}: {fault.format(_shown(cell))}{hint}")

    def take(self, rows: Index | Mask) -> Table:
        """Some of the rows."""
        return replace(self, frame=self.frame.iloc[rows], numbers=self.numbers[rows])

    def blank(self, role: str) -> Mask:
        """Where a column has nothing."""
        cells = self.cells(role)
        return np.asarray(cells.isna() | (cells.isin(BLANK) if cells.dtype == object else False))


def times(table: Table, role: str, optional: bool = False) -> tuple[Array, str]:
    """Times as numbers, of dates the seconds since 1970, NaN for a blank one; and their kind, one of `KINDS`."""
    cells, blank = table.cells(role), table.blank(role)
    if not optional:
        table.complain(blank, role, "the cell is blank")
    if not pd.api.types.is_datetime64_any_dtype(cells) and np.isfinite(_numbers(cells[~blank].iloc[:1])).all():
        numbers = _numbers(cells)  # a million dates are not tried as numbers
        fault = "{} is not a number, and times before it are; let all be numbers, or all dates"
        table.complain(~np.isfinite(numbers) & ~blank, role, fault)
        return np.where(blank, np.nan, numbers), KINDS[0]
    texts = cells.where(cells.notna(), "")
    found = pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce")
    fault = "{} is neither a number nor a date such as 2019-11-24 00:03:13"
    table.complain(np.asarray(found.isna()) & ~blank, role, fault)
    if pd.api.types.is_datetime64_any_dtype(cells):
        bare = np.full(len(cells), cells.dt.tz is None)
    else:
        number = texts.astype(str).str.fullmatch(r"\d+(?:\.\d*)?").to_numpy(dtype=bool)
        table.complain(number, role, "{} is a number, and times before it are dates; let all be numbers, or all dates")
        bare = ~texts.astype(str).str.contains(ZONE).to_numpy(dtype=bool) & ~blank
        if not (bare | blank).all():
            table.complain(bare, role, "{} has no time zone, and other rows have one; add it, such as +00:00")
    seconds = found.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9
    return np.where(blank, np.nan, seconds), KINDS[1 if bare.any() else 2]


def rewards(table: Table) -> Array:
    """Rewards, NaN where they are missing."""
    numbers = _numbers(table.cells("reward"))
    wrong = ~table.blank("reward") & ~np.isfinite(numbers)
    table.complain(wrong, "reward", "{} is not a finite number (leave unknown rewards blank)")
    return numbers


def propensities(table: Table) -> Array:
    """Propensities; NaN where there is no such column, or nothing in it."""
    if "propensity_score" not in table.names:
        return np.full(len(table.frame), np.nan)
    numbers = _numbers(table.cells("propensity_score"))
    fault = "{} is not a propensity above 0 and up to 1"
    wrong = ~((numbers > 0.0) & (numbers <= 1.0) | table.blank("propensity_score"))
    table.complain(wrong, "propensity_score", fault)
    return numbers


def names(table: Table, role: str) -> NDArray[Any]:
    """Names as strings; a whole number with a decimal point loses it."""
    codes, different = pd.factorize(table.cells(role))
    texts = np.array([*map(text_of, different.tolist()), ""], dtype=object)[codes]
    table.complain(texts == "", role, "the cell is blank")
    return texts


def text_of(value: object) -> str:
    """A cell as a string."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _numbers(cells: pd.Series[Any]) -> Array:
    """The numbers in cells, NaN where a cell holds none; of strings every digit counts, which pandas 2 rounds away."""
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan, copy=True)
    if not pd.api.types.is_numeric_dtype(cells):
        places = np.flatnonzero(np.isfinite(numbers))
        numbers[places] = [float(cell) for cell in cells.iloc[places]]
    return numbers


def _shown(cell: object) -> str:
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return "a blank cell" if text_of(cell) == "" and not isinstance(cell, np.ndarray) else repr(plain)
