"""The loader of ratings, on small files with invented films."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import check_environment, compare
from evenhand.algorithms import ucb1
from evenhand.core.errors import DataError
from evenhand.datasets import movielens, rows
from evenhand.typing import Decision

# --- ratings ----------------------------------------------------------------------------------------------------------

MOVIES = """movieId,title,genres
3,Red Lantern (2001),Drama
1,"Quiet River, The (1998)",Drama
7,Paper Moons (2010),Comedy|Drama
4,Nobody Saw It (1950),Drama
"""
RATINGS = """userId,movieId,rating,timestamp
12,1,4.0,100
5,3,0.5,101
12,3,2.5,102
5,4,5.0,103
8,7,5,104
12,7,3.0,105
5,3,4.5,106
9,4,3.5,107
"""
RED, RIVER, MOONS, NOBODY = (
    "Red Lantern (2001)",
    "Quiet River, The (1998)",
    "Paper Moons (2010)",
    "Nobody Saw It (1950)",
)


def folder(tmp_path: Path, ratings: str = RATINGS, movies: str = MOVIES) -> Path:
    (tmp_path / "movies.csv").write_text(movies, encoding="utf-8")
    (tmp_path / "ratings.csv").write_text(ratings, encoding="utf-8")
    return tmp_path


def test_ratings_by_user_and_film(tmp_path: Path) -> None:
    # Users in the order of the file: 12, 5, 8; user 9 rated none of the films. User 5 rated film 3 twice.
    found = movielens.load(folder(tmp_path), [RIVER, RED, MOONS])
    assert found.films == (RIVER, RED, MOONS)
    blank = math.nan
    np.testing.assert_array_equal(found.stars, [[4.0, 2.5, 3.0], [blank, 4.5, blank], [blank, blank, 5.0]])


def test_the_order_of_the_films_is_that_asked_for(tmp_path: Path) -> None:
    one, other = (movielens.load(folder(tmp_path), chosen) for chosen in ([RED, MOONS], [MOONS, RED]))
    assert other.films == (MOONS, RED)
    np.testing.assert_array_equal(one.stars, other.stars[:, ::-1])


def test_films_by_their_ids(tmp_path: Path) -> None:
    by_title = movielens.load(folder(tmp_path), [RIVER, RED])
    numbers: Any = [1, 3]
    for chosen in (["1", "3"], ["1", RED], numbers):
        by_id = movielens.load(folder(tmp_path), chosen)
        assert by_id.films == (RIVER, RED)
        np.testing.assert_array_equal(by_id.stars, by_title.stars)


def test_ratings_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = movielens.load(folder(tmp_path), [RIVER, RED, MOONS])
    monkeypatch.setattr(rows, "BLOCK", 2)
    np.testing.assert_array_equal(movielens.load(tmp_path, [RIVER, RED, MOONS]).stars, whole.stars)
    broken = RATINGS.replace("12,7,3.0", "12,7,three")
    with pytest.raises(DataError, match="row 7, column rating: 'three' is not a number"):
        movielens.load(folder(tmp_path, broken), [RED])


def test_two_films_of_the_same_title_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    movies = MOVIES + "9,Red Lantern (2001),Horror\n"
    ratings = RATINGS + "20,9,1.0,108\n"
    np.testing.assert_array_equal(movielens.load(folder(tmp_path, ratings, movies), ["9"]).stars, [[1.0]])
    np.testing.assert_array_equal(movielens.load(tmp_path, ["3"]).stars, [[4.5], [2.5]])


def test_the_environment_of_ratings(tmp_path: Path) -> None:
    found = movielens.load(folder(tmp_path), [RIVER, RED, MOONS])
    world = found.environment()
    assert world.names == (RIVER, RED, MOONS)
    assert world.rows == 3
    np.testing.assert_allclose(world.means, [0.8, (0.5 + 0.9) / 2, (0.6 + 1.0) / 2], rtol=1e-12)
    check_environment(world, horizon=3)
    check_environment(found.environment("shuffled"), horizon=3)
    # User 12 has rated all, user 5 the second film alone, user 8 the third.
    stream = world.start(3, 1, np.random.SeedSequence(0))
    offers: list[Any] = []
    for round in range(1, 4):
        awake = stream.observe().available
        assert awake is not None
        offers.append(awake[0].tolist())
        stream.step(Decision(round, awake, None, awake, awake))
    assert offers == [[True, True, True], [False, True, False], [False, False, True]]
    results = compare([ucb1()], world, 3, 1, checkpoints=1, progress=False)
    # Film 1 in round 1, then whichever is there.
    assert results.policies["ucb1"].curves["reward"][-1, 0] == pytest.approx(0.8 + 0.9 + 1.0)


def test_figures_are_counted_by_hand(tmp_path: Path) -> None:
    told = movielens.load(folder(tmp_path), [RIVER, RED, MOONS]).figures()
    assert told["films"] == [RIVER, RED, MOONS]
    assert told["ratings"] == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    assert told["counts"] == [
        [0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 1, 0, 0, 0, 1],
    ]
    assert dict(zip(map(tuple, told["sets"]), told["users"], strict=True)) == {
        (1, 1, 1): 1,
        (0, 1, 0): 1,
        (0, 0, 1): 1,
    }
    assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["Red Lanten (2001)"], r"there is no film 'Red Lanten \(2001\)' in .*movies\.csv; did you mean 'Red Lantern"),
        (["99"], r"there is no film '99' in .*movies\.csv; known: Red Lantern"),
        ([RED, RIVER, RED], r"the film 'Red Lantern \(2001\)' is chosen twice"),
        ([RED, "3"], r"the film 'Red Lantern \(2001\)' is chosen twice"),
    ],
)
def test_films_that_cannot_be_chosen(chosen: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        movielens.load(folder(tmp_path), chosen)


def test_films_that_nobody_rated(tmp_path: Path) -> None:
    alone = "\n".join(line for line in RATINGS.splitlines() if ",4," not in line)
    with pytest.raises(DataError, match=r"ratings\.csv has no rating of any of the chosen films; choose others$"):
        movielens.load(folder(tmp_path, alone), [NOBODY])
    with pytest.raises(DataError, match="has no rating of any"):
        movielens.load(folder(tmp_path, "userId,movieId,rating\n"), [RED])


HEAD = "userId,movieId,rating\n"


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (HEAD + "1,3,4\n2,3,5.5\n", r"ratings\.csv, row 3, column rating: '5\.5' is not one of 0\.5, 1, …, 5$"),
        (HEAD + "1,3,0\n", "row 2, column rating: '0' is not one of"),
        (HEAD + "1,3,-1\n", "row 2, column rating: '-1' is not one of"),
        (HEAD + "1,3,4\n1,3,good\n", "row 3, column rating: 'good' is not a number"),
        (HEAD + "1,3,4\nAnn,3,4\n", "row 3, column userId: 'Ann' is not a number"),
        (HEAD + "1,3,4\n1,three,4\n", "row 3, column movieId: 'three' is not a number"),
        (HEAD + "1,3,4\n1,3,\n", "row 3, column rating"),
        (HEAD + "1,3,4\n1,3\n", "row 3, column rating"),
        (HEAD + "1,3,4\n1,3,4,5,6\n", r"ratings\.csv, row 3: 5 cells for 3 columns$"),
        (HEAD + "1,3,4\n\n\n1,3,x\n", "row 5, column rating: 'x' is not a number"),  # rows count as in the file
        (HEAD + "1.5,3,4\n", "row 2, column userId"),
        (HEAD + "inf,3,4\n", "row 2, column userId"),
        ("userId,movieId\n1,3\n", r"ratings\.csv has no column .*rating.*; needed: movieId, rating, userId"),
        ("user,film,stars\n1,3,4\n", r"ratings\.csv has no column"),
        ("", r"ratings\.csv is empty"),
    ],
)
def test_broken_ratings(ratings: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        movielens.load(folder(tmp_path, ratings), [RED])


@pytest.mark.parametrize(
    ("movies", "message"),
    [
        ("movieId,name\n3,Red Lantern (2001)\n", r"movies\.csv has no column .*title.*; needed: movieId, title"),
        (
            "movieId,title\nthree,Red Lantern (2001)\n",
            "row 2, column movieId: 'three' is not a whole number of at least 0",
        ),
        ("", r"movies\.csv is empty"),
        ("movieId,title\n", r"movies\.csv lists no films$"),
    ],
)
def test_broken_films(movies: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        movielens.load(folder(tmp_path, movies=movies), [RED])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "movies.csv").write_bytes("movieId,title\n3,Café Rouge (2001)\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"movies\.csv cannot be read: "):
        movielens.load(tmp_path, ["3"])


def test_rows_with_a_cell_too_many_are_refused(tmp_path: Path) -> None:
    # Where all rows have one, pandas would drop it.
    (tmp_path / "movies.csv").write_text("movieId,title,genres\n3,Blue,Drama\n", encoding="utf-8")
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n7,3,4.5,0,9\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"ratings\.csv: every row has more cells than there are columns$"):
        movielens.load(tmp_path, ["3"])


def test_a_broken_row_of_another_film_is_found_too(tmp_path: Path) -> None:
    # Before the rows of the chosen films are picked out, every row must be one.
    with pytest.raises(DataError, match="row 3, column rating: 'x' is not a number"):
        movielens.load(folder(tmp_path, HEAD + "1,3,4\n1,7,x\n"), [RED])


def test_missing_files(tmp_path: Path) -> None:
    (folder(tmp_path) / "movies.csv").unlink()
    with pytest.raises(DataError, match=r"there is no file .*movies\.csv; it must stand beside ratings\.csv$"):
        movielens.load(tmp_path, [RED])
    (folder(tmp_path) / "ratings.csv").unlink()
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(DataError, match=rf"there is none of .* in {place}: give the folder of a MovieLens copy$"):
            movielens.load(place, [RED])


@pytest.mark.parametrize(
    ("names", "separators"), [(("ratings.dat", "movies.dat"), ("::", "::")), (("u.data", "u.item"), ("\t", "|"))]
)
def test_older_copies_hold_the_same(names: tuple[str, str], separators: tuple[str, str], tmp_path: Path) -> None:
    rows_of = [line.replace(",", separators[0]) for line in RATINGS.splitlines()[1:]]
    films = [
        separators[1].join((number, title, "Drama"))
        for number, title in (("3", RED), ("1", RIVER), ("7", MOONS), ("4", NOBODY))
    ]
    (tmp_path / names[0]).write_text("\n".join(rows_of) + "\n")
    (tmp_path / names[1]).write_text("\n".join(films) + "\n")
    (tmp_path / "csv").mkdir()
    newer = movielens.load(folder(tmp_path / "csv"), [RIVER, RED, MOONS])
    older = movielens.load(tmp_path, [RIVER, RED, MOONS])
    assert older.films == newer.films
    np.testing.assert_array_equal(older.stars, newer.stars)


# --- the figures that ship --------------------------------------------------------------------------------------------


def shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("evenhand.datasets") / "films.json").read_text(encoding="utf-8"))
    return found


def test_means_of_the_films_are_those_of_the_counts() -> None:
    table, world = shipped(), movielens.films()
    assert world.names == tuple(table["films"]) == movielens.FILMS
    for counts, mean in zip(table["counts"], world.means, strict=True):
        stars = sum(count * rating for count, rating in zip(counts, table["ratings"], strict=True))
        assert mean == pytest.approx(stars / sum(counts) / 5.0, rel=1e-12)


def test_sets_of_films_have_the_chances_of_the_counts() -> None:
    table = shipped()
    assert sum(table["users"]) == 471
    listed = movielens.films().availability.distribution(5)
    assert listed is not None
    assert listed[1].sum() == pytest.approx(1.0, abs=1e-12)
    assert listed[0].astype(int).tolist() == table["sets"]
    np.testing.assert_allclose(listed[1], [users / 471 for users in table["users"]], rtol=1e-12)
    assert len({tuple(row) for row in table["sets"]}) == len(table["sets"])


def test_as_many_ratings_as_users_who_gave_them() -> None:
    table = shipped()
    for film, counts in enumerate(table["counts"]):
        raters = sum(users for row, users in zip(table["sets"], table["users"], strict=True) if row[film])
        assert sum(counts) == raters
