"""Reads files of cells, such as CSV: every error names the file, the row and the column.

`Sheet.rows` reads a file row by row with the standard library, in a stream and without imports that take long.
`Sheet.blocks` reads numbers with pandas, a million rows at a time, for files of many million rows.
"""

from __future__ import annotations

import csv
import math
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError, number_of
from evenhand.core.files import NOT_UTF8, check_header, path_of

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 1_000_000  # rows read at a time


@dataclass(frozen=True)
class Layout:
    """How the cells of a file are written."""

    separator: str = ","
    columns: tuple[str, ...] | None = None
    more: bool = False
    encoding: str = "utf-8-sig"
    remedy: str = ""


class Sheet:
    """A file of cells in columns; rows are counted from 1 as in the file, with header and blank lines."""

    def __init__(self, path: str | os.PathLike[str], layout: Layout | None = None) -> None:
        self.path = path_of(path)
        self.layout = layout or Layout()

    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._named(self._numbered())

    def rows(self, *columns: str) -> Iterator[tuple[int, Sequence[str]]]:
        """The number and the cells of each row; blank lines are skipped."""
        numbered = self._numbered()
        names = self._named(numbered)
        self._check_columns(columns, names)
        width, more, places = len(names), self.layout.more, [names.index(name) for name in columns]
        for row, cells in numbered:
            if len(cells) != width and not (more and len(cells) > width):
                raise DataError(
                    f"{self.path}, row {row}: {number_of(len(cells), 'cell')} for {number_of(width, 'column')}"
                )
            yield row, [cells[place] for place in places] if places else cells

    def blocks(self, *columns: str) -> Iterator[Block]:
        """The rows in blocks of `BLOCK`, for numeric columns of large files; blank lines are skipped."""
        import pandas as pd

        header = self.layout.columns is None
        # Only a single character is parsed in C, fifty times as fast; blank columns then stand between the others.
        separator, blanks = self.layout.separator[0], len(self.layout.separator) - 1
        names = [name for column in self.layout.columns or () for name in (column, *[f"after {column}"] * blanks)]
        names = names[: len(names) - blanks]
        options: dict[str, Any] = {"header": 0} if header else {"header": None, "names": names}
        options |= {"index_col": False, "skip_blank_lines": False, "low_memory": False, "on_bad_lines": "error"}
        try:
            with pd.read_csv(
                self.path, sep=separator, chunksize=BLOCK, encoding=self.layout.encoding, **options
            ) as parts:
                while (part := _next(parts)) is not None:
                    self._check_columns(columns, [str(name) for name in part])
                    part.index += 1 + header
                    block = Block(self, part.dropna(how="all"))
                    for name in names[1::2] if blanks else ():
                        block.refuse(name, block.frame[name].notna().to_numpy(), f"not between {separator!r}")
                    yield block
        except pd.errors.EmptyDataError:
            raise DataError(f"{self.path} is empty") from None
        except pd.errors.ParserWarning:
            raise DataError(f"{self.path}: every row has more cells than there are columns") from None
        except pd.errors.ParserError as error:
            raise self._too_many(str(error), blanks + 1) from None
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from None

    def whole(self, row: int, column: str, cell: str) -> int:
        """The whole number of at least 0 in a cell."""
        text = cell.strip()
        if not (text.isascii() and text.isdecimal()):
            raise self.fault(row, column, cell, "not a whole number of at least 0")
        return int(text)

    def number(self, row: int, column: str, cell: str) -> float:
        """The finite number in a cell."""
        value = number_or_nan(cell)
        if not math.isfinite(value):
            raise self.fault(row, column, cell, "not a finite number")
        return value

    def fault(self, row: int, column: str, cell: str, why: str) -> DataError:
        """The error that a cell is wrong, to be raised."""
        return DataError(f"{self.path}, row {row}, column {column}: {cell!r} is {why}")

    def _numbered(self) -> Iterator[tuple[int, list[str]]]:
        """The number and all cells of each row that is not blank, the header among them."""
        separator = self.layout.separator
        try:
            with self.path.open(newline="" if separator == "," else None, encoding=self.layout.encoding) as file:
                if separator == ",":
                    reader = csv.reader(file)
                    for cells in reader:
                        if cells:
                            yield reader.line_num, cells
                    return
                for row, line in enumerate(file, start=1):
                    if line != "\n":
                        yield row, line.rstrip("\n").split(separator)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise self._unreadable(error) from None

    def _named(self, numbered: Iterator[tuple[int, list[str]]]) -> tuple[str, ...]:
        """The names of the columns; takes the header from the rows, if there is one."""
        if self.layout.columns is not None:
            return self.layout.columns
        header = next(numbered, (0, []))[1]
        check_header(self.path, header)
        return tuple(header)

    def _check_columns(self, columns: Sequence[str], names: Sequence[str]) -> None:
        missing = [name for name in columns if name not in names]
        if missing:
            raise DataError(f"{self.path} has no column {', '.join(map(repr, missing))}; needed: {', '.join(columns)}")

    def _unreadable(self, error: Exception) -> DataError:
        if isinstance(error, FileNotFoundError):
            remedy = f"; {self.layout.remedy}" if self.layout.remedy else ""
            return DataError(f"there is no file {self.path}{remedy}")
        reason = NOT_UTF8 if isinstance(error, UnicodeDecodeError) else error
        return DataError(f"{self.path} cannot be read: {reason}")

    def _too_many(self, message: str, each: int) -> DataError:
        """The error for a row with too many cells, from what pandas says; a cell is ``each`` cells for pandas."""
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
        if found is None:
            return DataError(f"{self.path} cannot be read: {message.strip()}")
        wanted, row, cells = (int(number) for number in found.groups())
        return DataError(
            f"{self.path}, row {row}: {number_of((cells - 1) // each + 1, 'cell')} for "
            f"{number_of((wanted - 1) // each + 1, 'column')}"
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a sheet."""

    sheet: Sheet
    frame: pd.DataFrame

    def numbers(self, column: str) -> NDArray[np.float64]:
        """The finite numbers of a column, (rows,)."""
        import pandas as pd

        values = np.asarray(pd.to_numeric(self.frame[column], errors="coerce").to_numpy(dtype=float))
        self.refuse(column, ~np.isfinite(values), "not a number")
        return values

    def whole(self, column: str) -> NDArray[np.int64]:
        """The whole numbers of a column, (rows,)."""
        values = self.numbers(column)
        self.refuse(column, (values != np.floor(values)) | (np.abs(values) >= 2**53), "not a whole number")
        return values.astype(np.int64)

    def refuse(self, column: str, wrong: NDArray[np.bool_], why: str) -> None:
        """Raise an error for the first of the rows (rows,) that are wrong."""
        if wrong.any():
            row = self.frame.index[wrong][0]
            value = self.frame[column].loc[row]
            raise self.sheet.fault(int(row), column, "" if value != value else str(value), why)  # NaN is a blank


def number_or_nan(cell: str) -> float:
    """The number in a cell; NaN where there is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _next(parts: Iterator[pd.DataFrame]) -> pd.DataFrame | None:
    """The next part, or None; pandas only warns where it drops cells beyond the last column, which is an error here."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return next(parts, None)
