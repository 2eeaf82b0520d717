"""A log of decisions: who was chosen with which chance, and what came of it."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyarrow import ArrowException

from evenhand import validate
from evenhand.errors import DataError, EvenhandError, nearest
from evenhand.records import Array, Mask

#: The names under which a column is looked for, the first that is there; those of `OPTIONAL` may be missing.
COLUMNS = {
    "timestamp": ("timestamp",),
    "decision_id": ("decision_id",),
    "item_id": ("item_id",),
    "position": ("position",),
    "reward": ("reward", "click"),
    "propensity_score": ("propensity_score",),
    "available": ("available",),
}
OPTIONAL = ("decision_id", "position", "available")
LARGEST_CELL = 2**31 - 1  # characters; Python's own limit is less than the names of 20,000 arms
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Log:
    """A log of decisions, in the order of time.

    A round is a decision; where the log has no ids of decisions, it is a row. The rows of a round stand together.

    Attributes:
        source: what messages call the log.
        items: names of all items that the log knows, by number or by name.
        item: (rows,), the place in ``items`` of the item that was played.
        reward: (rows,), what came of it.
        propensity: (rows,), the chance with which the item was among those played in its round.
        round: (rows,), the round of the row, counted from 0.
        sets: (sets, items), the different sets of available items.
        available: (rounds,), the row of ``sets`` that holds in each round.
        told: whether the log tells who was available; else all items always are.
        position: (rows,), where the item was shown; None where the log does not say.
        notes: what was done to the rows on the way.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2], "item_id": ["tea", "mate"], "click": [0, 1], "propensity_score": [0.5, 0.25]}
        >>> log = Log.of(pd.DataFrame(rows))
        >>> log.items, log.item, log.rounds
        (('mate', 'tea'), array([1, 0]), 2)
    """

    source: str
    items: tuple[str, ...]
    item: Index
    reward: Array
    propensity: Array
    round: Index
    sets: Mask
    available: Index
    told: bool = False
    position: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Plays in the log."""
        return len(self.item)

    @property
    def rounds(self) -> int:
        """Decisions in the log."""
        return len(self.available)

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        columns: Mapping[str, str] | None = None,
        missing: str | None = None,
        rounds: str = "decision",
        source: str = "the log",
    ) -> Log:
        """A log from a table in memory; see `read_log`, whose arguments these are.

        Rows are counted from 1 in messages.
        """
        return _made(frame, columns or {}, missing, rounds, source, np.arange(1, len(frame) + 1))

    def knowing(self, names: Iterable[str]) -> Log:
        """The log with further items, which it never plays; available if it does not tell who was."""
        more = tuple(dict.fromkeys(name for name in names if name not in self.items))
        if not more:
            return self
        wider = np.full((len(self.sets), len(more)), not self.told)
        return replace(self, items=self.items + more, sets=np.hstack([self.sets, wider]))

    def by_position(self) -> dict[str, Log]:
        """A log for each position, of its rows alone.

        Raises:
            DataError: there are no positions, or a round has several rows: their propensities are those of being
                played at all, and not of being played in a position.
        """
        if self.position is None:
            raise DataError(f"{self.source} has no column of positions")
        if self.rows > self.rounds:
            raise DataError(
                f"{self.source} has decisions with several rows, whose propensities are for being played at all; if "
                "they are for being played in that position, say that every row is a round of its own"
            )
        return {position: self._only(self.position == position) for position in _in_order(self.position.tolist())}

    def _only(self, kept: Mask) -> Log:
        """The log of some of the rounds; every round has one row."""
        return replace(
            self,
            item=self.item[kept],
            reward=self.reward[kept],
            propensity=self.propensity[kept],
            round=np.arange(int(kept.sum())),
            available=self.available[kept],
            position=None if self.position is None else self.position[kept],
            notes=(),
        )


def read_log(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    missing: str | None = None,
    rounds: str = "decision",
) -> Log:
    """A log of decisions from a CSV or a Parquet file.

    It has a row for every play, with the columns

    ====================  ==============================================================================================
    ``timestamp``         when: numbers, or dates as in ISO 8601 (without a zone: UTC). Rows that are not in order of
                          time are put in order; rows of the same time stay as they stand, and the log notes it.
    ``decision_id``       may be missing; rows with the same id are the plays of one round
    ``item_id``           what was played
    ``position``          may be missing; where it was shown
    ``reward``            or ``click``; blank where it was never reported
    ``propensity_score``  with which chance the item was among those played in the round, in (0, 1]
    ``available``         may be missing, and then all items of the log always are; names joined by ``|``, or a JSON
                          list
    ====================  ==============================================================================================

    Further columns are not read.

    Args:
        path: of the file; one that ends in ``.parquet`` is Parquet.
        columns: names of columns that are called otherwise, such as ``{"reward": "bought"}``.
        missing: what to do with plays whose reward was never reported: ``"drop"`` leaves their rows out, as if nothing
            had been played, which is sound only where reports are lost whatever the reward is; ``"zero"`` takes it for
            0, which is right where only successes are reported. None refuses such a log.
        rounds: ``"decision"``, or ``"row"`` for a log in which rows of the same decision have propensities of their
            own, each for being played in its position: then every row is a round.

    Raises:
        DataError: the file or a column is missing, or a cell is wrong; names the file, the row and the column. Row 1 of
            a CSV file is its header; in Parquet the first row is row 1.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("timestamp,item_id,click,propensity_score\\n1,tea,1,0.5\\n2,mate,,0.25\\n")
        >>> read_log(file, missing="zero").reward
        array([1., 0.])
    """
    path, columns = Path(path), columns or {}
    parquet = path.suffix == ".parquet"
    try:
        frame, numbers = _parquet(path, columns) if parquet else _csv(path, columns)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, UnicodeError, csv.Error, ArrowException) as error:
        raise DataError(f"{path} cannot be read as a {'Parquet' if parquet else 'CSV'} file: {error}") from None
    return _made(frame, columns, missing, rounds, str(path), numbers)


def _csv(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, Index]:
    """The columns that are used, as text, and the line in which each row ends."""
    numbers: list[int] = []
    csv.field_size_limit(LARGEST_CELL)
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        header = [name.strip() for name in next(reader, [])]
        names = list(dict.fromkeys(_named(header, columns, str(path)).values()))
        places = [header.index(name) for name in names]
        cells: list[list[str]] = [[] for _ in names]
        for line in reader:
            if not any(line):
                continue
            if len(line) != len(header):
                raise DataError(f"{path}, row {reader.line_num}: {len(line)} cells for {len(header)} columns")
            numbers.append(reader.line_num)
            for column, place in zip(cells, places, strict=True):
                column.append(line[place].strip())
    return pd.DataFrame(dict(zip(names, cells, strict=True)), dtype=object), np.array(numbers, dtype=np.intp)


def _parquet(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, Index]:
    """The columns that are used, and the numbers of the rows."""
    from pyarrow import parquet

    names = _named(parquet.read_schema(path).names, columns, str(path))
    frame = parquet.read_table(path, columns=list(dict.fromkeys(names.values()))).to_pandas(ignore_metadata=True)
    return frame, np.arange(1, len(frame) + 1)


# --- from a table to a log --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """The columns that are read, and where they come from."""

    source: str
    frame: pd.DataFrame
    names: Mapping[str, str]
    numbers: Index  # of the rows, in messages

    def cells(self, role: str) -> pd.Series[Any]:
        return self.frame[self.names[role]]

    def complain(self, wrong: Mask, role: str, fault: str) -> None:
        """Name the first row that is wrong, if there is any."""
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            where = f"{self.source}, row {self.numbers[row]}, column {self.names[role]!r}"
            raise DataError(f"{where}: " + fault.format(_shown(self.cells(role).iloc[row])))

    def take(self, rows: Index | Mask) -> _Table:
        return replace(self, frame=self.frame.iloc[rows], numbers=self.numbers[rows])


def _made(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    missing: str | None,
    rounds: str,
    source: str,
    numbers: Index,
) -> Log:
    validate.one_of("rounds", rounds, ("decision", "row"))
    if missing is not None:
        validate.one_of("missing", missing, ("drop", "zero"))
    names = _named([str(name) for name in frame.columns], columns, source)
    if rounds == "row":
        names.pop("decision_id", None)
    table, notes = _Table(source, frame[list(dict.fromkeys(names.values()))], names, numbers), []
    order = np.argsort(_times(table), kind="stable")
    if (np.diff(order) < 0).any():
        notes.append("the rows were not in order of time, and have been put in order")
        table = table.take(order)
    reward = _rewards(table)
    lost = np.isnan(reward)
    if lost.any():
        if missing is None:
            choices = "say whether such rows count as 0 (--missing zero) or are left out (--missing drop)"
            table.complain(lost, "reward", f"no reward; {choices}")
        reward = np.where(lost, 0.0, reward)
        count = f"{int(lost.sum()):,} of {len(lost):,} rows have no reward"
        notes.append(f"{count}, and " + ("count as 0" if missing == "zero" else "were left out"))
        if missing == "drop":
            table, reward = table.take(~lost), reward[~lost]
    if not len(reward):
        raise DataError(f"{source} has no rows" + (" with a reward" if lost.any() else ""))
    return _grouped(table, reward, tuple(notes))


def _named(known: Sequence[str], columns: Mapping[str, str], source: str) -> dict[str, str]:
    """The name of every column that is there, by what it is for."""
    names = {}
    for role in columns:
        if role not in COLUMNS:
            raise EvenhandError(f"there is no column for {role!r}{nearest(role, COLUMNS)}")
    for role, usual in COLUMNS.items():
        wanted = (columns[role],) if role in columns else usual
        found = [name for name in wanted if name in known]
        if not found and (role not in OPTIONAL or role in columns):
            raise DataError(f"{source} has no column {' or '.join(map(repr, wanted))}{nearest(wanted[0], known)}")
        if found:
            if known.count(found[0]) > 1:
                raise DataError(f"{source} has several columns {found[0]!r}")
            names[role] = found[0]
    return names


def _times(table: _Table) -> NDArray[Any]:
    """What rows are ordered by."""
    cells = table.cells("timestamp")
    if not pd.api.types.is_datetime64_any_dtype(cells):
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        if np.isfinite(numbers).all():
            return numbers
    times = pd.to_datetime(cells.where(cells.notna(), ""), utc=True, format="ISO8601", errors="coerce")
    table.complain(
        times.isna().to_numpy(), "timestamp", "{} is neither a number nor a date such as 2019-11-24 00:03:13"
    )
    return times.to_numpy()


def _rewards(table: _Table) -> Array:
    """Rewards, NaN where there is none."""
    cells = table.cells("reward")
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    told = cells.notna().to_numpy() & (cells.astype(str) != "").to_numpy()
    told &= (cells.astype(str).str.lower() != "nan").to_numpy()
    table.complain(told & ~np.isfinite(numbers), "reward", "{} is not a finite number (leave unknown rewards blank)")
    return numbers


def _propensities(table: _Table) -> Array:
    numbers = pd.to_numeric(table.cells("propensity_score"), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    cells = table.cells("propensity_score")
    blank = np.isnan(numbers) & (cells.isna() | (cells.astype(str) == "")).to_numpy()
    hint = "where the policy has no closed form for it, `evenhand export --estimate` works it out"
    table.complain(blank, "propensity_score", "{} is no chance above 0 and up to 1; " + hint)
    outside = ~((numbers > 0.0) & (numbers <= 1.0))
    table.complain(outside, "propensity_score", "{} is no chance above 0 and up to 1")
    return numbers


def _texts(table: _Table, role: str) -> NDArray[Any]:
    """Names as text; a whole number that was stored with a decimal point is told without."""
    cells = table.cells(role)
    codes, found = pd.factorize(cells)
    texts = np.array([*map(_text, found.tolist()), ""], dtype=object)[codes]
    table.complain(texts == "", role, "blank")
    return texts


def _grouped(table: _Table, reward: Array, notes: tuple[str, ...]) -> Log:
    """The log, with the rows of a round together."""
    if "decision_id" in table.names:
        codes = pd.factorize(_texts(table, "decision_id"))[0].astype(np.intp)  # in order of their first rows
        order = np.argsort(codes, kind="stable")
        table, reward, round = table.take(order), reward[order], codes[order]
    else:
        round = np.arange(len(reward))
    played, propensity = _texts(table, "item_id"), _propensities(table)
    group, sets = _sets(table, played)
    items = _in_order([*played.tolist(), *(name for names in sets for name in names)])
    places = {name: place for place, name in enumerate(items)}
    item = np.array([places[name] for name in played.tolist()], dtype=np.intp)
    masks = np.zeros((max(len(sets), 1), len(items)), dtype=bool)
    if not sets:
        masks[:] = True
    for row, names in enumerate(sets):
        masks[row, [places[name] for name in names]] = True
    outside = ~masks[group, item]
    if outside.any():
        there = ", ".join(map(repr, sets[group[np.flatnonzero(outside)[0]]]))
        table.complain(outside, "item_id", "{} was played, but is not among the available " + _safe(there))
    first = np.flatnonzero(np.diff(round, prepend=-1))
    if len(first) < len(round):
        _check_rounds(table, round, item, group, first)
    position = _texts(table, "position") if "position" in table.names else None
    return Log(table.source, items, item, reward, propensity, round, masks, group[first], bool(sets), position, notes)


def _check_rounds(table: _Table, round: Index, item: Index, group: Index, first: Index) -> None:
    """Nobody plays twice in a round, and all rows of a round tell of the same available items."""
    order = np.lexsort((item, round))
    twice = np.zeros(len(round), dtype=bool)
    twice[order[1:]] = (np.diff(round[order]) == 0) & (np.diff(item[order]) == 0)
    table.complain(twice, "item_id", "{} was played before in the same decision")
    if "available" in table.names:
        other = group != group[first][round]
        table.complain(other, "available", "{} differs from the first row of the same decision")


def _sets(table: _Table, played: NDArray[Any]) -> tuple[Index, list[tuple[str, ...]]]:
    """The number of each row's set of available items, and the sets; none where all always are."""
    if "available" not in table.names:
        return np.zeros(len(played), dtype=np.intp), []
    cells = table.cells("available").map(_told)
    codes, found = pd.factorize(cells)
    sets: dict[tuple[str, ...], int] = {}
    group = np.zeros(len(found) + 1, dtype=np.intp)
    for place, text in enumerate(found):
        names = _names(str(text))
        if names is None:
            fault = '{} is no list of different names, such as tea|mate or ["tea", "mate"]'
            table.complain(codes == place, "available", fault)
        else:
            group[place] = sets.setdefault(names, len(sets))
    return group[codes], list(sets)


def _names(text: str) -> tuple[str, ...] | None:
    """The names in a cell, in order; None where there is no list of different names."""
    try:
        given = json.loads(text) if text.startswith("[") else text.split("|")
    except ValueError:
        return None
    names = [_text(name) for name in given]
    if not all(names) or len(set(names)) < len(names) or not names:
        return None
    return tuple(sorted(names))


def _told(cell: Any) -> str:
    """A cell of available items as text."""
    return json.dumps([_text(name) for name in cell]) if isinstance(cell, np.ndarray | list | tuple) else _text(cell)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Every name once; by number where all are whole numbers, else by name."""
    found = set(names)
    whole = all(name.isascii() and name.isdigit() for name in found)
    return tuple(sorted(found, key=lambda name: (int(name) if whole else 0, name)))


def _shown(cell: Any) -> str:
    return "a blank cell" if _text(cell) == "" and not isinstance(cell, np.ndarray) else repr(_plain(cell))


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell


def _safe(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
