"""The cells of a log: times, rewards, propensities and names, each checked, and which rows are a round."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def rounds_of(table: Table) -> Index:
    """(rows,), the round of each row, in order of their first rows."""
    if "decision_id" not in table.names:
        return np.arange(len(table.frame))
    return np.asarray(pd.factorize(names(table, "decision_id"))[0], dtype=np.intp)


def items_of(table: Table, round: Index) -> tuple[tuple[str, ...], Index, Mask, Index, bool]:
    """The names of all items; of each row its item; the sets of available items; of each row its set; whether listed.

    The rows of a round stand together.
    """
    played = names(table, "item_id")
    group, sets = _sets(table, played)
    items = in_order([*played.tolist(), *(name for listed in sets for name in listed)])
    places = {name: place for place, name in enumerate(items)}
    item = np.array([places[name] for name in played.tolist()], dtype=np.intp)
    masks = np.full((max(len(sets), 1), len(items)), not sets)
    for row, listed in enumerate(sets):
        masks[row, [places[name] for name in listed]] = True
    outside = ~masks[group, item]
    if outside.any():
        available = ", ".join(map(repr, sets[group[np.flatnonzero(outside)[0]]]))
        safe = available.replace("{", "{{").replace("}", "}}")
        table.complain(outside, "item_id", "{} was played, but is not among the available " + safe)
    first = np.flatnonzero(np.diff(round, prepend=-1))
    if len(first) < len(round):
        _check_rounds(table, round, item, group, first)
    return items, item, masks, group, bool(sets)


def in_order(found: Sequence[str]) -> tuple[str, ...]:
    """Every name once, sorted by number where all are whole numbers, else by name."""
    different = set(found)
    whole = all(name.isascii() and name.isdigit() for name in different)
    return tuple(sorted(different, key=lambda name: (int(name) if whole else 0, name)))


def _check_rounds(table: Table, round: Index, item: Index, group: Index, first: Index) -> None:
    """No item plays twice in a round, and all rows of a round have the same available items."""
    order = np.lexsort((item, round))
    twice = np.zeros(len(round), dtype=bool)
    twice[order[1:]] = (np.diff(round[order]) == 0) & (np.diff(item[order]) == 0)
    table.complain(twice, "item_id", "{} was played before in the same decision")
    if "available" in table.names:
        other = group != group[first][round]
        table.complain(other, "available", "{} differs from the first row of the same decision")


def _sets(table: Table, played: NDArray[Any]) -> tuple[Index, list[tuple[str, ...]]]:
    """The number of each row's set of available items, and the sets; none without such a column."""
    if "available" not in table.names:
        return np.zeros(len(played), dtype=np.intp), []
    cells = table.cells("available").map(listing).map(_without_features)
    codes, texts = pd.factorize(cells)
    sets: dict[tuple[str, ...], int] = {}
    group = np.zeros(len(texts) + 1, dtype=np.intp)
    for place, text in enumerate(texts):
        listed = _names(str(text))
        if listed is None:
            fault = '{} is not a list of different names, such as tea|mate or ["tea", "mate"]'
            table.complain(codes == place, "available", fault)
        else:
            group[place] = sets.setdefault(listed, len(sets))
    return group[codes], list(sets)


def _names(text: str) -> tuple[str, ...] | None:
    """The names in a cell, sorted; None where it is not a list of different names."""
    try:
        listed = json.loads(text) if text.startswith("[") else text.split("|")
    except ValueError:
        return None
    found = [text_of(name) for name in listed]
    if not all(found) or len(set(found)) < len(found) or not found:
        return None
    return tuple(sorted(found))


def _without_features(text: str) -> str:
    """The names alone, where a cell has the features of each item."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        found = None
    return json.dumps(list(found)) if isinstance(found, dict) else text


def listing(cell: object) -> str:
    """A cell of available items as a string; where it has their features, by item."""
    if isinstance(cell, dict):
        return json.dumps(cell)
    return json.dumps([text_of(one) for one in cell]) if isinstance(cell, np.ndarray | list | tuple) else text_of(cell)
