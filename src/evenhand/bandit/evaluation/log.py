"""A log of decisions: the items that were played, with which propensity, and their rewards."""

from __future__ import annotations

import csv
import difflib
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

from evenhand.core import validate
from evenhand.core.errors import DataError, EvenhandError, nearest, number_hint, number_of
from evenhand.core.files import NOT_UTF8, check_header, path_of
from evenhand.core.state import Array, Mask

#: The names of each column, of which the first that exists is read; those of `OPTIONAL` may be missing.
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
QUOTED = r"\A'(?='*[=+\-@\t\r])"  # the apostrophe with which `evenhand export` keeps spreadsheets from computing
LARGEST_CELL = 2**31 - 1  # characters; Python's default is too small for the names of 20,000 arms
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Log:
    """A log of decisions, in the order of time.

    A round is a decision, or a row where the log has no ids of decisions. The rows of a round are consecutive.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2], "item_id": ["tea", "mate"], "click": [0, 1], "propensity_score": [0.5, 0.25]}
        >>> log = Log.of(pd.DataFrame(rows))
        >>> log.items, log.item, log.rounds
        (('mate', 'tea'), array([1, 0]), 2)
    """

    source: str  # name of the log in messages
    items: tuple[str, ...]  # names of all items in the log, sorted by number or by name
    item: Index  # (rows,), the place in ``items`` of the item that was played
    reward: Array  # (rows,), its reward
    propensity: Array  # (rows,), the probability with which the item was among those played in its round, in (0, 1]
    round: Index  # (rows,), the round of the row, counted from 0
    sets: Mask  # (sets, items), the different sets of available items
    available: Index  # (rounds,), the row of ``sets`` of each round
    has_available: bool = False  # whether the log has available items; otherwise all items are available in every round
    position: NDArray[Any] | None = None  # (rows,), where the item was shown; None where the log has no positions
    notes: tuple[str, ...] = ()  # how the rows were changed when they were read

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

        Args:
            frame: one row per play.
            columns: other names of columns, such as ``{"reward": "bought"}``.
            missing: ``"drop"`` or ``"zero"`` for plays without a reward; None refuses them.
            rounds: ``"decision"``, or ``"row"`` where every row is a round.
            source: what messages call the log.

        Returns:
            The log.

        Raises:
            DataError: a column is missing, or a cell is wrong.
        """
        return _log(frame, columns or {}, missing, rounds, source, np.arange(1, len(frame) + 1))

    def with_items(self, names: Iterable[str]) -> Log:
        """The log with further items, which it never plays; available unless the log lists the available items.

        Args:
            names: of the items; those that the log has already are left out.

        Returns:
            A new log, or this one if it has all of them.
        """
        more = tuple(dict.fromkeys(name for name in names if name not in self.items))
        if not more:
            return self
        wider = np.full((len(self.sets), len(more)), not self.has_available)
        return replace(self, items=self.items + more, sets=np.hstack([self.sets, wider]))

    def by_position(self) -> dict[str, Log]:
        """One log per position, of its rows.

        Returns:
            The logs by position, in the order of the positions.

        Raises:
            DataError: there are no positions, or a round has several rows: their propensities are for being played at
                all, not for being played in a position.
        """
        if self.position is None:
            raise DataError(f"{self.source} has no column of positions; name it with columns={{'position': '…'}}")
        if self.rows > self.rounds:
            raise DataError(
                f"{self.source} has decisions with several rows, whose propensities are for being played at all; if "
                "they are for being played in that position, read the log with rounds='row'"
            )
        return {position: self._only(self.position == position) for position in _in_order(self.position.tolist())}

    def _only(self, rows: Mask) -> Log:
        """The log of some of the rounds; every round has one row."""
        return replace(
            self,
            item=self.item[rows],
            reward=self.reward[rows],
            propensity=self.propensity[rows],
            round=np.arange(int(rows.sum())),
            available=self.available[rows],
            position=None if self.position is None else self.position[rows],
            notes=(),
        )


def read_log(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    missing: str | None = None,
    rounds: str = "decision",
) -> Log:
    """A log of decisions from a CSV or a Parquet file.

    It has one row per play, with the columns

    ====================  ==============================================================================================
    ``timestamp``         numbers, or dates in ISO 8601 (without a time zone: UTC). Rows that are not in order of time
                          are sorted, stably, and the log notes it.
    ``decision_id``       optional; rows with the same id are the plays of one round
    ``item_id``           the item that was played
    ``position``          optional; where it was shown
    ``reward``            or ``click``; blank where it is missing
    ``propensity_score``  the probability with which the item was among those played in the round, in (0, 1]
    ``available``         optional; names of the available items joined by ``|``, or a JSON list; without it, all items
                          of the log are available in every round
    ====================  ==============================================================================================

    Further columns are not read. In a CSV file an apostrophe before an item that begins with ``=``, ``+``, ``-`` or
    ``@`` is not a part of its name: `evenhand export` writes it, so that spreadsheets compute nothing.

    Args:
        path: of the file; Parquet if it ends in ``.parquet``, else CSV.
        columns: other names of columns, such as ``{"reward": "bought"}``.
        missing: what to do with plays without a reward: ``"drop"`` leaves their rows out, which is sound only where
            rewards are lost independently of their values; ``"zero"`` takes them for 0, which is right where only
            successes are reported. None refuses such a log.
        rounds: ``"decision"``, or ``"row"`` for a log in which the rows of a decision have separate propensities, each
            for being played in its position: then every row is a round.

    Returns:
        The log, in the order of time.

    Raises:
        DataError: the file or a column is missing, or a cell is wrong; with the file, the row and the column. Row 1 of
            a CSV file is its header, row 1 of a Parquet file its first row.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("timestamp,item_id,click,propensity_score\\n1,tea,1,0.5\\n2,mate,,0.25\\n")
        >>> read_log(file, missing="zero").reward
        array([1., 0.])
    """
    path, columns = path_of(path), columns or {}
    parquet = path.suffix == ".parquet"
    try:
        frame, numbers = _parquet(path, columns) if parquet else _csv(path, columns)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, UnicodeError, csv.Error, ArrowException) as error:
        reason = NOT_UTF8 if isinstance(error, UnicodeError) else error
        raise DataError(f"{path} cannot be read as a {'Parquet' if parquet else 'CSV'} file: {reason}") from None
    if not parquet:
        item = columns.get("item_id", "item_id")
        frame[item] = frame[item].str.replace(QUOTED, "", regex=True)
    return _log(frame, columns, missing, rounds, str(path), numbers)


def _csv(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, Index]:
    """The columns that are read, as strings, and the line in which each row ends."""
    numbers: list[int] = []
    csv.field_size_limit(LARGEST_CELL)
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        header = [name.strip() for name in next(reader, [])]
        check_header(path, header)
        names = list(dict.fromkeys(_named(header, columns, str(path)).values()))
        places = [header.index(name) for name in names]
        cells: list[list[str]] = [[] for _ in names]
        for line in reader:
            if not any(line):
                continue
            if len(line) != len(header):
                sizes = f"{number_of(len(line), 'cell')} for {number_of(len(header), 'column')}"
                raise DataError(f"{path}, row {reader.line_num}: {sizes}")
            numbers.append(reader.line_num)
            for column, place in zip(cells, places, strict=True):
                column.append(line[place].strip())
    return pd.DataFrame(dict(zip(names, cells, strict=True)), dtype=object), np.array(numbers, dtype=np.intp)


def _parquet(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, Index]:
    """The columns that are read, and the numbers of the rows."""
    from pyarrow import parquet

    names = _named(parquet.read_schema(path).names, columns, str(path))
    table = parquet.read_table(path, columns=list(dict.fromkeys(names.values())))
    table.validate(full=True)  # else strings that are not UTF-8 are noticed only where they are used
    frame = table.to_pandas(ignore_metadata=True)
    return frame, np.arange(1, len(frame) + 1)


# --- from a table to a log --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """The columns that are read, and their source."""

    source: str
    frame: pd.DataFrame
    names: Mapping[str, str]
    numbers: Index  # of the rows, in messages

    def cells(self, role: str) -> pd.Series[Any]:
        return self.frame[self.names[role]]

    def complain(self, wrong: Mask, role: str, fault: str) -> None:
        """Raise an error about the first row that is wrong, if any."""
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            where = f"{self.source}, row {self.numbers[row]}, column {self.names[role]!r}"
            cell = self.cells(role).iloc[row]
            hint = (
                number_hint(_text(cell), role == "propensity_score") if role in ("reward", "propensity_score") else ""
            )
            raise DataError(f"{where}: {fault.format(_shown(cell))}{hint}")

    def take(self, rows: Index | Mask) -> _Table:
        return replace(self, frame=self.frame.iloc[rows], numbers=self.numbers[rows])


def _log(
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
        notes.append("the rows were not in order of time and have been sorted")
        table = table.take(order)
    reward = _rewards(table)
    lost = np.isnan(reward)
    if lost.any():
        if missing is None:
            choices = "count such rows as 0 (missing='zero') or leave them out (missing='drop')"
            table.complain(lost, "reward", f"the reward is missing; {choices}")
        reward = np.where(lost, 0.0, reward)
        count = f"{int(lost.sum()):,} of {len(lost):,} rows have no reward"
        notes.append(f"{count}, and " + ("count as 0" if missing == "zero" else "were left out"))
        if missing == "drop":
            table, reward = table.take(~lost), reward[~lost]
    if not len(reward):
        raise DataError(f"{source} has no rows" + (" with a reward" if lost.any() else ""))
    return _grouped(table, reward, tuple(notes))


def _named(known: Sequence[str], columns: Mapping[str, str], source: str) -> dict[str, str]:
    """The name of every column that exists, by its role."""
    names: dict[str, str] = {}
    for role, name in columns.items():
        if role not in COLUMNS:
            turned = f"; the name in the log comes second: columns={ {name: role} }"
            raise EvenhandError(f"unknown column {role!r}{turned if name in COLUMNS else nearest(role, COLUMNS)}")
    lacking: dict[str, tuple[str, ...]] = {}
    for role, usual in COLUMNS.items():
        wanted = (columns[role],) if role in columns else usual
        existing = [name for name in wanted if name in known]
        if not existing and (role not in OPTIONAL or role in columns):
            lacking[role] = wanted
        if existing:
            if known.count(existing[0]) > 1:
                raise DataError(f"{source} has several columns {existing[0]!r}")
            names[role] = existing[0]
    if lacking:
        free = [name for name in known if name not in names.values()]
        meant = {role: _meant(wanted[0], free) for role, wanted in lacking.items()}
        missing = ", ".join(" or ".join(map(repr, wanted)) for wanted in lacking.values())
        others = ", ".join(map(repr, free[:20])) or "no other"
        raise DataError(f"{source} has no column {missing}, but {others}; name what is missing with columns={meant}")
    return names


def _meant(usual: str, known: Sequence[str]) -> str:
    """The name among the known ones that is probably for a usual one; "…" where none suggests itself."""
    begins = [name for name in known if usual.startswith(name.lower())]
    return [*begins, *difflib.get_close_matches(usual, known, cutoff=0.5), "…"][0]


def _times(table: _Table) -> NDArray[Any]:
    """The times by which rows are sorted."""
    cells = table.cells("timestamp")
    if not pd.api.types.is_datetime64_any_dtype(cells):
        numbers = _numbers(cells)
        if np.isfinite(numbers).all():
            return numbers
    times = pd.to_datetime(cells.where(cells.notna(), ""), utc=True, format="ISO8601", errors="coerce")
    table.complain(
        times.isna().to_numpy(), "timestamp", "{} is neither a number nor a date such as 2019-11-24 00:03:13"
    )
    return times.to_numpy()


def _numbers(cells: pd.Series[Any]) -> Array:
    """The numbers in cells, NaN where a cell holds none; of strings every digit counts, which pandas 2 rounds away."""
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan, copy=True)
    if not pd.api.types.is_numeric_dtype(cells):
        places = np.flatnonzero(np.isfinite(numbers))
        numbers[places] = [float(cell) for cell in cells.iloc[places]]
    return numbers


def _rewards(table: _Table) -> Array:
    """Rewards, NaN where they are missing."""
    cells = table.cells("reward")
    numbers = _numbers(cells)
    filled = cells.notna().to_numpy() & (cells.astype(str) != "").to_numpy()
    filled &= (cells.astype(str).str.lower() != "nan").to_numpy()
    table.complain(filled & ~np.isfinite(numbers), "reward", "{} is not a finite number (leave unknown rewards blank)")
    return numbers


def _propensities(table: _Table) -> Array:
    numbers = _numbers(table.cells("propensity_score"))
    cells = table.cells("propensity_score")
    blank = np.isnan(numbers) & (cells.isna() | (cells.astype(str) == "")).to_numpy()
    if {"decision_id", "available"} <= set(table.names):  # as in what `evenhand export` writes
        hint = "; where the policy has no closed form for it, `evenhand export --estimate` estimates it"
        table.complain(blank, "propensity_score", "{} is not a propensity above 0 and up to 1" + hint)
    outside = ~((numbers > 0.0) & (numbers <= 1.0))
    table.complain(outside, "propensity_score", "{} is not a propensity above 0 and up to 1")
    return numbers


def _texts(table: _Table, role: str) -> NDArray[Any]:
    """Names as strings; a whole number with a decimal point loses it."""
    cells = table.cells(role)
    codes, names = pd.factorize(cells)
    texts = np.array([*map(_text, names.tolist()), ""], dtype=object)[codes]
    table.complain(texts == "", role, "the cell is blank")
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
        available = ", ".join(map(repr, sets[group[np.flatnonzero(outside)[0]]]))
        table.complain(outside, "item_id", "{} was played, but is not among the available " + _safe(available))
    first = np.flatnonzero(np.diff(round, prepend=-1))
    if len(first) < len(round):
        _check_rounds(table, round, item, group, first)
    position = _texts(table, "position") if "position" in table.names else None
    return Log(table.source, items, item, reward, propensity, round, masks, group[first], bool(sets), position, notes)


def _check_rounds(table: _Table, round: Index, item: Index, group: Index, first: Index) -> None:
    """No item plays twice in a round, and all rows of a round have the same available items."""
    order = np.lexsort((item, round))
    twice = np.zeros(len(round), dtype=bool)
    twice[order[1:]] = (np.diff(round[order]) == 0) & (np.diff(item[order]) == 0)
    table.complain(twice, "item_id", "{} was played before in the same decision")
    if "available" in table.names:
        other = group != group[first][round]
        table.complain(other, "available", "{} differs from the first row of the same decision")


def _sets(table: _Table, played: NDArray[Any]) -> tuple[Index, list[tuple[str, ...]]]:
    """The number of each row's set of available items, and the sets; none without such a column."""
    if "available" not in table.names:
        return np.zeros(len(played), dtype=np.intp), []
    cells = table.cells("available").map(_list)
    codes, texts = pd.factorize(cells)
    sets: dict[tuple[str, ...], int] = {}
    group = np.zeros(len(texts) + 1, dtype=np.intp)
    for place, text in enumerate(texts):
        names = _names(str(text))
        if names is None:
            fault = '{} is not a list of different names, such as tea|mate or ["tea", "mate"]'
            table.complain(codes == place, "available", fault)
        else:
            group[place] = sets.setdefault(names, len(sets))
    return group[codes], list(sets)


def _names(text: str) -> tuple[str, ...] | None:
    """The names in a cell, sorted; None where it is not a list of different names."""
    try:
        listed = json.loads(text) if text.startswith("[") else text.split("|")
    except ValueError:
        return None
    names = [_text(name) for name in listed]
    if not all(names) or len(set(names)) < len(names) or not names:
        return None
    return tuple(sorted(names))


def _list(cell: Any) -> str:
    """A cell of available items as a string."""
    return json.dumps([_text(name) for name in cell]) if isinstance(cell, np.ndarray | list | tuple) else _text(cell)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Every name once, sorted by number where all are whole numbers, else by name."""
    different = set(names)
    whole = all(name.isascii() and name.isdigit() for name in different)
    return tuple(sorted(different, key=lambda name: (int(name) if whole else 0, name)))


def _shown(cell: Any) -> str:
    return "a blank cell" if _text(cell) == "" and not isinstance(cell, np.ndarray) else repr(_plain(cell))


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell


def _safe(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
