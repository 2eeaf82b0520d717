"""Films and their ratings: the experiment of Huang et al. 2020, section 6.3, on MovieLens.

Every user who rated at least one of the chosen films is a round, the films that the user rated are available, and the
reward is the rating divided by 5. MovieLens: F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and
Context. ACM Transactions on Interactive Intelligent Systems 5(4), 2015.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.availability import Joint, Logged
from evenhand.environment import Environment
from evenhand.errors import DataError, nearest
from evenhand.records import Array
from evenhand.rewards import Categorical, Table

if TYPE_CHECKING:
    import pandas as pd

FILMS = (
    "Toy Story (1995)",
    "Braveheart (1995)",
    "Pulp Fiction (1994)",
    "Godfather, The (1972)",
    "Alien (1979)",
)  # Huang et al. 2020, section 6.3.1
STARS = 5.0  # the best rating
CHUNK = 1_000_000  # ratings read at a time


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated which of the chosen films, and how."""

    films: tuple[str, ...]
    stars: Array  # (users, films), NaN where the user did not rate the film; users in the order of the file

    def environment(self, order: str = "log") -> Environment:
        """The log as an environment: a user a round.

        Args:
            order: ``"log"`` for the order of the file in every lane, ``"shuffled"`` for each lane's own.
        """
        return Environment(Table(self.stars / STARS, order), Logged(~np.isnan(self.stars)), names=self.films)

    def figures(self) -> dict[str, Any]:
        """What can be told of the log without the log: rating counts a film, and how often each set of films was
        rated."""
        scale = np.arange(0.5, STARS + 0.1, 0.5)
        sets, users = np.unique(~np.isnan(self.stars), axis=0, return_counts=True)
        return {
            "films": list(self.films),
            "ratings": scale.tolist(),
            "counts": [[int((column == rating).sum()) for rating in scale] for column in self.stars.T],
            "sets": sets.astype(int).tolist(),
            "users": users.tolist(),
        }


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
    counts, users = np.array(table["counts"], dtype=float), np.array(table["users"], dtype=float)
    rewards = Categorical(np.array(table["ratings"]) / STARS, counts / counts.sum(axis=1, keepdims=True))
    return Environment(rewards, Joint(table["sets"], users / users.sum()), names=tuple(table["films"]))


def load(folder: str | os.PathLike[str], chosen: Sequence[str] = FILMS) -> Ratings:
    """The ratings of the chosen films from ``ratings.csv`` and ``movies.csv``, in the format of MovieLens 20M, 25M
    and latest.

    Args:
        folder: where the two files are.
        chosen: titles as in ``movies.csv``, or film ids.

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
    folder = Path(folder)
    ids = _film_ids(folder / "movies.csv", chosen)
    rated = _ratings(folder / "ratings.csv", list(ids.values()))
    if rated.empty:
        raise DataError(f"nobody in {folder / 'ratings.csv'} rated any of the chosen films")
    # The last rating counts where a user rated a film twice.
    wide = rated.pivot_table("rating", "userId", "movieId", aggfunc="last", sort=False, dropna=False)
    order = rated["userId"].drop_duplicates()
    stars = wide.reindex(index=order, columns=list(ids.values())).to_numpy(dtype=float)
    return Ratings(tuple(ids), stars)


def _film_ids(path: Path, chosen: Sequence[str]) -> dict[str, int]:
    movies = _csv(path, {"movieId": "Int64", "title": "string"})
    title_of = dict(zip(movies["movieId"], movies["title"], strict=True))
    id_of = {title: film for film, title in title_of.items()}
    found: dict[str, int] = {}
    for film in chosen:
        number = int(film) if str(film).isdecimal() else id_of.get(film)
        if number is None or number not in title_of:
            raise DataError(f"there is no film {film!r} in {path}{nearest(film, id_of)[:300]}")
        title = title_of[number]
        if title in found:
            raise DataError(f"the film {title!r} is chosen twice")
        found[title] = int(number)
    return found


def _ratings(path: Path, ids: list[int]) -> pd.DataFrame:
    columns = {"userId": "Int64", "movieId": "Int64", "rating": "float64"}
    rated = _csv(path, columns, lambda part: part[part["movieId"].isin(ids)])
    wrong = ~rated["rating"].between(0.5, STARS)
    if wrong.any():
        place = int(rated.index[wrong][0])
        rating, user = float(rated["rating"][place]), int(rated["userId"][place])
        raise DataError(f"{path}, row {place + 2}: rating {rating} of user {user} is not in 0.5 to 5")
    return rated


def _csv(
    path: Path, columns: dict[str, str], keep: Callable[[pd.DataFrame], pd.DataFrame] = lambda part: part
) -> pd.DataFrame:
    """What ``keep`` keeps of the columns of a CSV file, read in parts; a row's index is its place in the file."""
    import pandas as pd

    options: dict[str, Any] = {
        "dtype": "string",
        "on_bad_lines": "error",
        "skip_blank_lines": False,
        "index_col": False,
    }
    try:
        # Of rows that all have a cell too many, pandas would drop the last one, with a warning.
        with warnings.catch_warnings(), pd.read_csv(path, chunksize=CHUNK, **options) as parts:
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.concat([keep(_typed(path, part.dropna(how="all"), columns)) for part in parts])
    except FileNotFoundError:
        raise DataError(f"there is no file {path}: give the folder of a MovieLens copy") from None
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} is empty") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is broken: {str(error).strip()}") from None


def _typed(path: Path, part: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    missing = [name for name in columns if name not in part]
    if missing:
        raise DataError(f"{path} has no column {', '.join(map(repr, missing))}; needed: {', '.join(columns)}")
    part = part[list(columns)].copy()
    for name, kind in columns.items():
        if kind == "string":
            continue
        numbers = pd.to_numeric(part[name], errors="coerce").astype("Float64")
        values = numbers.to_numpy(float, na_value=np.nan)
        wrong = ~np.isfinite(values) | ((kind == "Int64") & (values != np.floor(values)))
        if wrong.any():
            row = part.index[wrong][0]
            meant = "number" if not np.isfinite(values[wrong][0]) else "whole number"
            raise DataError(f"{path}, row {row + 2}, column {name}: {part.loc[row, name]!r} is not a {meant}")
        part[name] = numbers.astype(pd.api.types.pandas_dtype(kind))
    return part
