"""Much rated films as arms: setting 3 of Fang et al. 2022, section 6.1, on any copy of MovieLens.

An arm is a film with more than a given number of ratings, and its rewards follow the film's rating histogram. Rewards
are ratings divided by 5, the best one: upper confidence bounds and clipping are made for rewards in [0, 1], which the
paper does not say how it came by. MovieLens: F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context.
ACM Transactions on Interactive Intelligent Systems 5(4), 2015.
"""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.datasets.movielens import CHUNK, STARS
from evenhand.environment import Environment
from evenhand.errors import DataError
from evenhand.rewards import Categorical

if TYPE_CHECKING:
    import pandas as pd

#: The ratings that there are, in stars; MovieLens 1M and 100K have whole stars only.
SCALE = np.arange(0.5, STARS + 0.1, 0.5)


@dataclass(frozen=True)
class _Format:
    """How a copy of MovieLens is written.

    Attributes:
        ratings: name of the file of ratings; its second column is the film, its third the rating.
        films: name of the file of films; its first column is the film, its second the title.
        separator: between the columns of both.
        columns: names of the columns of the ratings.
        headed: whether both files begin with a row of names.
    """

    ratings: str
    films: str
    separator: tuple[str, str]
    columns: tuple[str, ...] = ("userId", "movieId", "rating", "timestamp")
    headed: bool = False


_FORMATS = (
    _Format("ratings.csv", "movies.csv", (",", ","), headed=True),  # 20M, 25M, latest
    _Format("ratings.dat", "movies.dat", ("::", "::")),  # 1M
    _Format("u.data", "u.item", ("\t", "|")),  # 100K
)


@dataclass(frozen=True, eq=False)
class Histograms:
    """How often each film got each rating.

    Attributes:
        films: titles, the most rated first; where films share a title, their numbers follow it.
        counts: (films, ratings), how often each of `SCALE` was given.
        source: where they are from.
        least: films with no more ratings than this are not told.

    Example:
        >>> import numpy as np
        >>> counts = np.array([[0, 0, 0, 0, 0, 0, 0, 2, 0, 2], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]])
        >>> Histograms(("Red (2002)", "Blue (2001)"), counts, "a cinema").environment(more_than=1).means
        array([0.9])
    """

    films: tuple[str, ...]
    counts: NDArray[np.int64]
    source: str
    least: int = 0

    def environment(self, more_than: int) -> Environment:
        """The films with more ratings than ``more_than`` as arms.

        Raises:
            DataError: there is no such film, or not all of them are told.
        """
        validate.whole("more_than", more_than, low=0)
        if more_than < self.least:
            raise DataError(
                f"{self.source} tell of films with more than {self.least} ratings only: give more_than of at least "
                f"{self.least}, or the path of a copy of MovieLens"
            )
        arms = self.above(more_than)
        if arms == 0:
            most = 0 if not self.films else int(self.counts[0].sum())
            raise DataError(f"no film in {self.source} has more than {more_than} ratings; the most rated has {most}")
        counts = self.counts[:arms].astype(float)
        chances = counts / counts.sum(axis=1, keepdims=True)
        return Environment(Categorical(SCALE / STARS, chances), names=self.films[:arms])

    def above(self, more_than: int) -> int:
        """How many films have more ratings than that.

        Example:
            >>> shipped().above(177)
            31
        """
        return int((self.counts.sum(axis=1) > more_than).sum())

    def threshold(self, films: int) -> int:
        """The number of ratings that as near as possible to ``films`` films exceed; with ties, the larger number.

        Example:
            >>> shipped().threshold(13)
            204
        """
        totals = self.counts.sum(axis=1)
        choices = [int(total) for total in np.unique(totals)[::-1] if total >= self.least] + [self.least]
        return min(choices, key=lambda choice: abs(self.above(choice) - films))


def popular(folder: str | os.PathLike[str] | None = None, more_than: int = 2500) -> Environment:
    """Films with many ratings as arms whose rewards follow their rating histograms, divided by 5.

    Args:
        folder: of a copy of MovieLens, see `count`; None for the figures that ship with the package.
        more_than: ratings that a film must exceed.

    Raises:
        DataError: the data are wrong, or no film has so many ratings.

    Example:
        >>> world = popular(more_than=300)
        >>> world.names, world.means.round(3).tolist()
        (('Forrest Gump (1994)', 'Shawshank Redemption, The (1994)', 'Pulp Fiction (1994)'), [0.833, 0.886, 0.839])

    Source: Fang et al. 2022, section 6.1, setting 3.
    """
    return (shipped() if folder is None else count(folder)).environment(more_than)


def shipped() -> Histograms:
    """Rating histograms of 118 films, counted in MovieLens latest-small; the log itself does not ship.

    Example:
        >>> [shipped().above(more_than) for more_than in (204, 177, 105)]
        [13, 31, 118]
    """
    table = json.loads((files("evenhand.datasets") / "popular.json").read_text(encoding="utf-8"))
    counts = np.array(list(table["films"].values()), dtype=np.int64)
    return Histograms(tuple(table["films"]), counts, "the figures that ship with Evenhand", table["more_than"])


def count(folder: str | os.PathLike[str]) -> Histograms:
    """Count the ratings of a copy of MovieLens, in a stream.

    Args:
        folder: with ``ratings.csv`` and ``movies.csv`` (MovieLens 20M, 25M and latest), ``ratings.dat`` and
            ``movies.dat`` (1M), or ``u.data`` and ``u.item`` (100K).

    Raises:
        DataError: a file or a column is missing, or a row is broken; names the file, the row and the column.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "movies.dat").write_text("1::Blue (2001)::Drama\\n2::Red (2002)::Drama\\n")
        >>> _ = (folder / "ratings.dat").write_text("7::2::4::0\\n7::1::3::0\\n8::2::5::0\\n")
        >>> found = count(folder)
        >>> found.films, found.counts.sum(axis=1).tolist()
        (('Red (2002)', 'Blue (2001)'), [2, 1])
    """
    folder = Path(folder)
    form = next((form for form in _FORMATS if (folder / form.ratings).is_file()), None)
    if form is None:
        known = ", ".join(form.ratings for form in _FORMATS)
        raise DataError(f"there is none of {known} in {folder}: give the folder of a MovieLens copy")
    titles = _titles(folder / form.films, form)
    ids = np.array(sorted(titles), dtype=np.int64)
    counts = np.zeros((len(ids), len(SCALE)), dtype=np.int64)
    path = folder / form.ratings
    for part in _parts(path, form):
        film, stars = _whole(path, form, part, "movieId"), _numbers(path, form, part, "rating")
        _refuse(path, form, part, "rating", ~np.isin(stars, SCALE), "not one of 0.5, 1, …, 5")
        _refuse(path, form, part, "movieId", ~np.isin(film, ids), f"no film of {form.films}")
        codes = np.searchsorted(ids, film) * len(SCALE) + np.searchsorted(SCALE, stars)
        counts += np.bincount(codes, minlength=counts.size).reshape(counts.shape)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    order = order[counts[order].sum(axis=1) > 0]
    told = [titles[int(film)] for film in ids[order]]
    twice = {title for title in told if told.count(title) > 1} if len(set(told)) < len(told) else set()
    names = (f"{title} [{film}]" if title in twice else title for title, film in zip(told, ids[order], strict=True))
    return Histograms(tuple(names), counts[order], str(path))


def _titles(path: Path, form: _Format) -> dict[int, str]:
    """The title of each film by its number."""
    titles: dict[int, str] = {}
    for row, cells in _film_rows(path, form):
        if len(cells) < 2:
            raise DataError(f"{path}, row {row}: a film needs a number and a title, parted by {form.separator[1]!r}")
        number = cells[0].strip()
        if not number.isascii() or not number.isdecimal():
            raise DataError(f"{path}, row {row}, column 1: {cells[0]!r} is not a whole number")
        if int(number) in titles:
            raise DataError(f"{path}, row {row}: film {number} is there twice")
        titles[int(number)] = cells[1].strip()
    if not titles:
        raise DataError(f"{path} holds no films")
    return titles


def _film_rows(path: Path, form: _Format) -> Iterator[tuple[int, list[str]]]:
    """The cells of each film, with the number of its row; the first two are its number and its title."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}; {form.ratings} needs it beside it") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        if form.headed:
            raise DataError(f"{path} is not UTF-8: {error}") from None
        lines = text.decode("latin-1").split("\n")  # other line ends of this code may stand in titles
    if not form.headed:
        cells = ((row, line.rstrip("\r").split(form.separator[1])) for row, line in enumerate(lines, start=1))
        yield from ((row, found) for row, found in cells if found != [""])
        return
    reader = csv.reader(lines)
    try:
        header = next(reader, [])
        for name in ("movieId", "title"):
            if name not in header:
                raise DataError(f"{path} has no column {name!r}; needed: movieId, title")
        film, title = header.index("movieId"), header.index("title")
        for found in reader:
            if len(found) not in (0, len(header)):
                raise DataError(f"{path}, row {reader.line_num}: {len(found)} cells for {len(header)} columns")
            if found:
                yield reader.line_num, [found[film], found[title]]
    except csv.Error as error:
        raise DataError(f"{path}, row {reader.line_num}: {error}") from None


def _parts(path: Path, form: _Format) -> Iterator[pd.DataFrame]:
    """The ratings, some rows at a time; a row's index is its place in the file."""
    import pandas as pd

    # A single character is read in C, fifty times as fast; blank columns then stand between the others.
    gaps = len(form.separator[0]) - 1
    names = [name for column in form.columns for name in (column, *[f"blank after {column}"] * gaps)]
    names = names[: len(names) - gaps]
    options: dict[str, Any] = {"header": 0} if form.headed else {"header": None, "names": names}
    options |= {"sep": form.separator[0][0], "index_col": False, "skip_blank_lines": False, "low_memory": False}
    try:
        with pd.read_csv(path, chunksize=CHUNK, encoding="utf-8-sig", on_bad_lines="error", **options) as parts:
            while (part := _next(parts)) is not None:
                for name in ("movieId", "rating"):
                    if name not in part:
                        raise DataError(f"{path} has no column {name!r}; needed: movieId, rating")
                rows = part.dropna(how="all")
                for name in names[1::2] if gaps else ():
                    filled = rows[name].notna().to_numpy()
                    _refuse(path, form, rows, name, filled, f"not between {form.separator[0]!r}")
                yield rows
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} is empty") from None
    except pd.errors.ParserWarning:
        raise DataError(f"{path} is broken: its rows have more cells than there are columns") from None
    except (pd.errors.ParserError, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is broken: {str(error).strip()}") from None


def _next(parts: Iterator[pd.DataFrame]) -> pd.DataFrame | None:
    """The next part, or None; what pandas only warns of is an error: cells beyond the last column are lost."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return next(parts, None)


def _numbers(path: Path, form: _Format, part: pd.DataFrame, name: str) -> NDArray[np.float64]:
    import pandas as pd

    values = pd.to_numeric(part[name], errors="coerce").to_numpy(dtype=float)
    _refuse(path, form, part, name, ~np.isfinite(values), "not a number")
    return np.asarray(values)


def _whole(path: Path, form: _Format, part: pd.DataFrame, name: str) -> NDArray[np.int64]:
    values = _numbers(path, form, part, name)
    _refuse(path, form, part, name, (values != np.floor(values)) | (np.abs(values) >= 2**53), "not a whole number")
    return values.astype(np.int64)


def _refuse(path: Path, form: _Format, part: pd.DataFrame, name: str, wrong: NDArray[np.bool_], why: str) -> None:
    """Complain of the first row that is wrong."""
    if wrong.any():
        row = part.index[wrong][0]
        value = part[name].loc[row]
        told = "" if value != value else str(value)  # a blank is read as NaN
        raise DataError(f"{path}, row {row + 1 + form.headed}, column {name}: {told!r} is {why}")
