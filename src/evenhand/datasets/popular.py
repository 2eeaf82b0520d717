"""Much rated films as arms: setting 3 of Fang et al. 2022, section 6.1, on any copy of MovieLens.

An arm is a film with more than a given number of ratings, and its rewards follow the film's rating histogram. Rewards
are ratings divided by 5, the best one: upper confidence bounds and clipping are made for rewards in [0, 1]; the paper
does not say how it scaled them. MovieLens: F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context.
ACM Transactions on Interactive Intelligent Systems 5(4), 2015.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import DataError
from evenhand.datasets import movielens
from evenhand.datasets.movielens import SCALE
from evenhand.environment.world import Environment


@dataclass(frozen=True, eq=False)
class Histograms:
    """How often each film got each rating.

    Example:
        >>> import numpy as np
        >>> counts = np.array([[0, 0, 0, 0, 0, 0, 0, 2, 0, 2], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]])
        >>> Histograms(("Red (2002)", "Blue (2001)"), counts, "a cinema").environment(more_than=1).means
        array([0.9])
    """

    films: tuple[str, ...]  # titles, the most rated first; where films share a title, their numbers follow it
    counts: NDArray[np.int64]  # (films, ratings), how often each of `SCALE` was given
    source: str  # where they are from
    least: int = 0  # films with no more ratings than this are left out

    def environment(self, more_than: int) -> Environment:
        """The films with more ratings than ``more_than`` as arms.

        Args:
            more_than: ratings, at least 0.

        Raises:
            DataError: there is no such film, or not all of them have counts.
        """
        validate.whole("more_than", more_than, low=0)
        if more_than < self.least:
            raise DataError(
                f"{self.source} cover only films with more than {self.least} ratings: give more_than of at least "
                f"{self.least}, or the path of a copy of MovieLens"
            )
        arms = self.above(more_than)
        if arms == 0:
            most = 0 if not self.films else int(self.counts[0].sum())
            raise DataError(f"no film in {self.source} has more than {more_than} ratings; the most rated has {most}")
        return Environment(movielens.rewards_of(self.counts[:arms]), names=self.films[:arms])

    def above(self, more_than: int) -> int:
        """How many films have more ratings than that.

        Args:
            more_than: ratings.

        Returns:
            A number of films.

        Example:
            >>> shipped().above(177)
            31
        """
        return int((self.counts.sum(axis=1) > more_than).sum())

    def threshold(self, films: int) -> int:
        """The number of ratings that as near as possible to ``films`` films exceed; with ties, the larger number.

        Args:
            films: number of films that are wanted.

        Returns:
            A number of ratings.

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
        folder: of the copy, see `evenhand.datasets.movielens.copy_in`.

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
    copy = movielens.copy_in(folder)
    titles = copy.titles()
    numbers = np.array(sorted(titles), dtype=np.int64)
    counts = np.zeros((len(numbers), len(SCALE)), dtype=np.int64)
    for film, stars, _ in copy.blocks(titles):
        codes = np.searchsorted(numbers, film) * len(SCALE) + np.searchsorted(SCALE, stars)
        counts += np.bincount(codes, minlength=counts.size).reshape(counts.shape)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    order = order[counts[order].sum(axis=1) > 0]
    rated = [(titles[number], number) for number in numbers[order].tolist()]
    films = Counter(title for title, _ in rated)
    names = (f"{title} [{number}]" if films[title] > 1 else title for title, number in rated)
    return Histograms(tuple(names), counts[order], str(copy.ratings.path))
