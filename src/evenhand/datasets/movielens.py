"""Films and their ratings: the experiment of Huang et al. 2020, section 6.3, on MovieLens.

Every user who rated at least one of the chosen films is a round, the films that the user rated are available, and the
reward is the rating divided by 5. MovieLens: F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and
Context. ACM Transactions on Interactive Intelligent Systems 5(4), 2015.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError, nearest
from evenhand.core.files import path_of
from evenhand.core.state import Array
from evenhand.datasets.rows import Block, Layout, Sheet
from evenhand.environment.availability import Joint, Logged
from evenhand.environment.rewards import Categorical, Table
from evenhand.environment.world import Environment

FILMS = (
    "Toy Story (1995)",
    "Braveheart (1995)",
    "Pulp Fiction (1994)",
    "Godfather, The (1972)",
    "Alien (1979)",
)  # Huang et al. 2020, section 6.3.1
STARS = 5.0  # the best rating
#: The ratings that there are, in stars; older copies have whole stars only.
SCALE = np.arange(0.5, STARS + 0.1, 0.5)


@dataclass(frozen=True)
class Copy:
    """The files of a copy of MovieLens.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "u.item").write_text("1|Blue (2001)|...\\n")
        >>> _ = (folder / "u.data").write_text("7\\t1\\t4\\t0\\n")
        >>> copy_in(folder).titles()
        {1: 'Blue (2001)'}
    """

    ratings: Sheet  # with the columns userId, movieId and rating
    films: Sheet  # with the columns movieId and title

    def titles(self) -> dict[int, str]:
        """The title of each film by its number.

        Returns:
            Titles as in the file, without surrounding white space, by the ``movieId``.

        Raises:
            DataError: the file or a column is missing, a row is broken, or a film is listed twice.
        """
        titles: dict[int, str] = {}
        for row, (cell, title) in self.films.rows("movieId", "title"):
            number = self.films.whole(row, "movieId", cell)
            if number in titles:
                raise self.films.fault(row, "movieId", cell, "listed twice")
            titles[number] = title.strip()
        if not titles:
            raise DataError(f"{self.films.path} lists no films")
        return titles

    def blocks(self, films: Collection[int], *columns: str) -> Iterator[tuple[NDArray[np.int64], Array, Block]]:
        """The films and the stars of some ratings at a time, (ratings,) each, and the rows they are in.

        Args:
            films: numbers of all films.
            columns: that are needed besides these two.

        Raises:
            DataError: the file or a column is missing, or a row is broken.
        """
        numbers = np.array(sorted(films), dtype=np.int64)
        for block in self.ratings.blocks("movieId", "rating", *columns):
            film, stars = block.whole("movieId"), block.numbers("rating")
            block.refuse("rating", ~np.isin(stars, SCALE), "not one of 0.5, 1, …, 5")
            block.refuse("movieId", ~np.isin(film, numbers), f"not the number of a film in {self.films.path.name}")
            yield film, stars, block


@dataclass(frozen=True)
class _Format:
    """How a copy of MovieLens is written: names of the two files, and the separators of their cells."""

    ratings: str
    films: str
    separators: tuple[str, str]
    header: bool = False

    def copy(self, folder: Path) -> Copy:
        """The files in a folder."""
        remedy = f"it must stand beside {self.ratings}"
        if self.header:
            return Copy(Sheet(folder / self.ratings), Sheet(folder / self.films, Layout(remedy=remedy)))
        path, (of_ratings, of_films) = folder / self.films, self.separators
        layout = Layout(of_films, ("movieId", "title"), more=True, encoding=_encoding(path), remedy=remedy)
        columns = ("userId", "movieId", "rating", "timestamp")
        return Copy(Sheet(folder / self.ratings, Layout(of_ratings, columns)), Sheet(path, layout))


_FORMATS = (
    _Format("ratings.csv", "movies.csv", (",", ","), header=True),  # 20M, 25M, latest
    _Format("ratings.dat", "movies.dat", ("::", "::")),  # 1M
    _Format("u.data", "u.item", ("\t", "|")),  # 100K
)


def copy_in(folder: str | os.PathLike[str]) -> Copy:
    """The copy of MovieLens in a folder.

    Args:
        folder: with ``ratings.csv`` and ``movies.csv`` (MovieLens 20M, 25M and latest), ``ratings.dat`` and
            ``movies.dat`` (1M), or ``u.data`` and ``u.item`` (100K).

    Raises:
        DataError: there is none.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / "ratings.csv").touch()
        >>> copy_in(folder).films.path.name
        'movies.csv'
    """
    folder = path_of(folder, "folder")
    for known in _FORMATS:
        if (folder / known.ratings).is_file():
            return known.copy(folder)
    names = ", ".join(known.ratings for known in _FORMATS)
    raise DataError(f"there is none of {names} in {folder}: give the folder of a MovieLens copy")


def _encoding(path: Path) -> str:
    """UTF-8 where a file is written in it, else Latin-1, as published."""
    try:
        path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return "latin-1"
    except OSError:
        pass  # reported when the file is read
    return "utf-8-sig"


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated which of the chosen films, and how."""

    films: tuple[str, ...]
    stars: Array  # (users, films), NaN where the user did not rate the film; users in the order of the file

    def environment(self, order: str = "log") -> Environment:
        """The log as an environment: one user per round.

        Args:
            order: ``"log"`` for the order of the file in every lane, ``"shuffled"`` for each lane's own.
        """
        return Environment(Table(self.stars / STARS, order), Logged(~np.isnan(self.stars)), names=self.films)

    def figures(self) -> dict[str, Any]:
        """A summary that stands for the log: rating counts per film, and how often each set of films was rated.

        Returns:
            ``films``, their titles; ``ratings``, the possible ones in stars; ``counts``, for each film how many users
            gave each rating; ``sets``, each a list of 0 and 1 per film; ``users``, how many rated exactly that set.
        """
        sets, users = np.unique(~np.isnan(self.stars), axis=0, return_counts=True)
        return {
            "films": list(self.films),
            "ratings": SCALE.tolist(),
            "counts": [[int((column == rating).sum()) for rating in SCALE] for column in self.stars.T],
            "sets": sets.astype(int).tolist(),
            "users": users.tolist(),
        }


def rewards_of(counts: NDArray[np.int64]) -> Categorical:
    """Ratings divided by 5, each film's by how often each rating was given.

    Args:
        counts: (films, ratings), how often each of `SCALE` was given.

    Example:
        >>> rewards_of(np.eye(len(SCALE), dtype=int)[[1, 9]]).means.tolist()
        [0.2, 1.0]
    """
    return Categorical(SCALE / STARS, counts / counts.sum(axis=1, keepdims=True))


def films() -> Environment:
    """The five films of Huang et al. as an environment of figures that ship with the package.

    Rating histograms and the sets of films that users rated, counted in MovieLens latest-small (471 users rated at
    least one of the films). Ratings are drawn from the histograms, independently of the set; the log itself does not
    ship.

    Example:
        >>> films().names[0], films().means.round(3).tolist()
        ('Toy Story (1995)', [0.784, 0.806, 0.839, 0.858, 0.794])
    """
    table = json.loads((files("evenhand.datasets") / "films.json").read_text(encoding="utf-8"))
    counts, users = np.array(table["counts"]), np.array(table["users"], dtype=float)
    return Environment(rewards_of(counts), Joint(table["sets"], users / users.sum()), names=tuple(table["films"]))


def load(folder: str | os.PathLike[str], chosen: Sequence[str] = FILMS) -> Ratings:
    """The ratings of the chosen films from a copy of MovieLens.

    Args:
        folder: of the copy, see `copy_in`.
        chosen: titles as in the file of films, or film numbers.

    Raises:
        DataError: a file or column is missing, a film is unknown, or a row is broken; names it.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "movies.csv").write_text("movieId,title,genres\\n1,Blue (2001),Drama\\n")
        >>> _ = (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\\n7,1,4.5,0\\n")
        >>> load(folder, ["Blue (2001)"]).stars
        array([[4.5]])
    """
    copy = copy_in(folder)
    title_of = copy.titles()
    numbers = _numbers(chosen, title_of, copy.films.path)
    films, stars, users = [], [], []
    for film, given, block in copy.blocks(title_of, "userId"):
        user, wanted = block.whole("userId"), np.isin(film, list(numbers.values()))
        films.append(film[wanted])
        stars.append(given[wanted])
        users.append(user[wanted])
    if not any(part.size for part in users):
        raise DataError(f"{copy.ratings.path} has no rating of any of the chosen films; choose others")
    stars_of = _by_user(np.concatenate(users), np.concatenate(films), np.concatenate(stars), list(numbers.values()))
    return Ratings(tuple(numbers), stars_of)


def _numbers(chosen: Sequence[str], title_of: Mapping[int, str], path: Path) -> dict[str, int]:
    """The number of each chosen film by its title."""
    number_of = {title: number for number, title in title_of.items()}
    numbers: dict[str, int] = {}
    for film in chosen:
        number = int(film) if str(film).isdecimal() else number_of.get(film)
        if number is None or number not in title_of:
            raise DataError(f"there is no film {film!r} in {path}{nearest(film, number_of)[:300]}")
        title = title_of[number]
        if title in numbers:
            raise DataError(f"the film {title!r} is chosen twice")
        numbers[title] = number
    return numbers


def _by_user(users: NDArray[np.int64], films: NDArray[np.int64], stars: Array, columns: Sequence[int]) -> Array:
    """The stars by user, in the order of their first rating, and by film, NaN for none; the last rating counts."""
    _, first, place = np.unique(users, return_index=True, return_inverse=True)
    rows, places = np.argsort(np.argsort(first))[place], {film: place for place, film in enumerate(columns)}
    table = np.full((len(first), len(columns)), np.nan)
    for row, film, given in zip(rows.tolist(), films.tolist(), stars.tolist(), strict=True):
        table[row, places[film]] = given
    return table
