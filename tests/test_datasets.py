"""Loaders of logs and of ratings, on small files with invented films."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Decision, Environment, check_environment, compare
from evenhand.algorithms import ucb1
from evenhand.availability import Logged
from evenhand.datasets import movielens
from evenhand.datasets.logs import read_availability, read_delays, read_rewards
from evenhand.delays import Empirical
from evenhand.errors import DataError
from evenhand.rewards import Bernoulli, Table

# --- reward and availability logs -------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def test_rewards(log: Path) -> None:
    log.write_text("tea,coffee\n1,0.5\n,-2e-1\n 0.25 , \n")
    names, values = read_rewards(log)
    assert names == ("tea", "coffee")
    np.testing.assert_array_equal(values, [[1.0, 0.5], [math.nan, -0.2], [0.25, math.nan]])


def test_availability(log: Path) -> None:
    log.write_text("tea,coffee\n1, 0\n0,1\n")
    names, awake = read_availability(str(log))
    assert names == ("tea", "coffee")
    assert awake.dtype == np.bool_
    assert awake.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("text", ['\ufeff"green tea",Kaffee ☕\r\n1,0\r\n', '"green tea", Kaffee ☕ \n1,0'])
def test_files_of_other_programs(text: str, log: Path) -> None:
    log.write_bytes(text.encode())
    names, samples = read_delays(log)
    assert (names, [column.tolist() for column in samples]) == (("green tea", "Kaffee ☕"), [[1.0], [0.0]])
    for read in (read_rewards, read_availability):
        names, values = read(log)
        assert names == ("green tea", "Kaffee ☕")
        assert np.asarray(values, dtype=float).tolist() == [[1.0, 0.0]]


def test_a_log_is_an_environment(log: Path) -> None:
    log.write_text("tea,coffee\n1,0.5\n,0.25\n0.5,\n")
    names, values = read_rewards(log)
    world = Environment(Table(values), Logged(~np.isnan(values)), names=names)
    assert world.means.tolist() == [0.75, 0.375]
    check_environment(world, horizon=3)


def test_a_blank_in_a_log_of_one_arm(log: Path) -> None:
    log.write_text('tea\n1\n""\n0\n')
    np.testing.assert_array_equal(read_rewards(log)[1], [[1.0], [math.nan], [0.0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tea,coffee\n1,0\n0,x\n", r"log\.csv, row 3, arm 'coffee': 'x' is not a finite number"),
        ("tea,coffee\nnan,0\n", r"row 2, arm 'tea': 'nan' is not a finite number \(leave unknown rewards blank\)"),
        ("tea,coffee\n1,-inf\n", "row 2, arm 'coffee': '-inf' is not a finite number"),
        ("tea,coffee\n1,0\n1\n", "row 3: 1 cells for 2 arms"),
        ("tea,coffee\n1,0,1\n", "row 2: 3 cells for 2 arms"),
        ("tea,coffee\n", "needs a header with the names of the arms and at least one row"),
        ("", "needs a header with the names of the arms and at least one row"),
        ("\n\n", "needs a header with the names of the arms and at least one row"),
        ("tea,coffee\n1,0\n\n\n0,x\n", "row 5, arm 'coffee'"),  # rows count as in the file
    ],
)
def test_broken_reward_logs(text: str, message: str, log: Path) -> None:
    log.write_text(text)
    with pytest.raises(DataError, match=message):
        read_rewards(log)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tea,coffee\n1,0\n1,2\n", "row 3, arm 'coffee': '2' is neither 1 .available. nor 0 .asleep."),
        ("tea,coffee\n1,\n", "row 2, arm 'coffee': '' is neither"),
        ("tea,coffee\nyes,no\n", "row 2, arm 'tea': 'yes' is neither"),
        ("tea,coffee\n1\n", "row 2: 1 cells for 2 arms"),
    ],
)
def test_broken_availability_logs(text: str, message: str, log: Path) -> None:
    log.write_text(text)
    with pytest.raises(DataError, match=message):
        read_availability(log)


# --- logs of delays ---------------------------------------------------------------------------------------------------


def test_delays(log: Path) -> None:
    log.write_text("tea,coffee\n3,0\n, inf \n 2.5 ,\n1e3,7\n")
    names, samples = read_delays(log)
    assert names == ("tea", "coffee")
    assert [column.tolist() for column in samples] == [[3.0, 2.5, 1000.0], [0.0, math.inf, 7.0]]


def test_a_single_column_of_delays(log: Path) -> None:
    log.write_text('delay\n3\n""\n0\n')
    names, samples = read_delays(str(log))
    assert names == ("delay",)
    assert [column.tolist() for column in samples] == [[3.0, 0.0]]


def test_a_log_of_delays_is_a_model(log: Path) -> None:
    log.write_text("tea,coffee\n3,0\n,inf\n5.9,\n")
    model = Empirical(read_delays(log)[1])
    assert model.quantiles([0.5, 0.51], [0.5, 0.5]).tolist() == [[3.0, 0.0], [5.0, math.inf]]
    check_environment(Environment(Bernoulli([0.5, 0.9]), feedback=model), horizon=30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "tea,coffee\n1,0\n0,x\n",
            r"log\.csv, row 3, arm 'coffee': 'x' is no delay; give rounds of at least 0",
        ),
        ("tea,coffee\n-1,0\n", "row 2, arm 'tea': '-1' is no delay"),
        ("tea,coffee\n1,nan\n", "row 2, arm 'coffee': 'nan' is no delay"),
        ("tea,coffee\n1,-inf\n", "row 2, arm 'coffee': '-inf' is no delay"),
        ("tea,coffee\n1,\n2,\n", r"log\.csv has no delay of arm 'coffee'"),
        ("tea,coffee\n1,0\n\n\n0,x\n", "row 5, arm 'coffee'"),  # rows count as in the file
        ("tea,coffee\n1,0,1\n", "row 2: 3 cells for 2 arms"),
        ("tea,coffee\n1\n", "row 2: 1 cells for 2 arms"),
        ("tea,coffee\n", "needs a header with the names of the arms and at least one row"),
        ("", "needs a header with the names of the arms and at least one row"),
    ],
)
def test_broken_logs_of_delays(text: str, message: str, log: Path) -> None:
    log.write_text(text)
    with pytest.raises(DataError, match=message):
        read_delays(log)


@pytest.mark.parametrize("read", [read_rewards, read_availability, read_delays])
def test_logs_that_cannot_be_read(read: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere\.csv"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="cannot be read as a CSV file"):
        read(tmp_path)
    (tmp_path / "latin.csv").write_bytes("café\n1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.csv cannot be read as a CSV file"):
        read(tmp_path / "latin.csv")


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
    monkeypatch.setattr(movielens, "CHUNK", 2)
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
    assert world.rows() == 3
    np.testing.assert_allclose(world.means, [0.8, (0.5 + 0.9) / 2, (0.6 + 1.0) / 2], rtol=1e-12)
    check_environment(world, horizon=3)
    check_environment(found.environment("shuffled"), horizon=3)
    # User 12 has rated all, user 5 the second film alone, user 8 the third.
    stream = world.start(3, 1, np.random.SeedSequence(0))
    offers: list[Any] = []
    for round in range(1, 4):
        awake = stream.offer()
        assert awake is not None
        offers.append(awake[0].tolist())
        stream.play(Decision(round, awake, None, awake, awake))
    assert offers == [[True, True, True], [False, True, False], [False, False, True]]
    results = compare([ucb1()], world, 3, 1, checkpoints=1, progress=False)
    # Film 1 in round 1, then whichever is there.
    assert results.records["ucb1"].curves["reward"][-1, 0] == pytest.approx(0.8 + 0.9 + 1.0)


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
    with pytest.raises(DataError, match=r"nobody in .*ratings\.csv rated any of the chosen films"):
        movielens.load(folder(tmp_path, alone), [NOBODY])
    with pytest.raises(DataError, match="nobody in"):
        movielens.load(folder(tmp_path, "userId,movieId,rating\n"), [RED])


HEAD = "userId,movieId,rating\n"


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (HEAD + "1,3,4\n2,3,5.5\n", r"ratings\.csv, row 3: rating 5.5 of user 2 is not in 0.5 to 5"),
        (HEAD + "1,3,0\n", "row 2: rating 0.0 of user 1 is not in 0.5 to 5"),
        (HEAD + "1,3,-1\n", "row 2: rating -1.0 of user 1 is not in 0.5 to 5"),
        (HEAD + "1,3,4\n1,3,good\n", "row 3, column rating: 'good' is not a number"),
        (HEAD + "1,3,4\nAnn,3,4\n", "row 3, column userId: 'Ann' is not a number"),
        (HEAD + "1,3,4\n1,three,4\n", "row 3, column movieId: 'three' is not a number"),
        (HEAD + "1,3,4\n1,3,\n", "row 3, column rating"),
        (HEAD + "1,3,4\n1,3\n", "row 3, column rating"),
        (HEAD + "1,3,4\n1,3,4,5,6\n", "row 3|line 3"),
        (HEAD + "1,3,4\n\n\n1,3,x\n", "row 5, column rating: 'x' is not a number"),  # rows count as in the file
        (HEAD + "1.5,3,4\n", "row 2, column userId"),
        (HEAD + "inf,3,4\n", "row 2, column userId"),
        ("userId,movieId\n1,3\n", r"ratings\.csv has no column .*rating.*; needed: userId, movieId, rating"),
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
        ("movieId,title\nthree,Red Lantern (2001)\n", "row 2, column movieId: 'three' is not a number"),
        ("", r"movies\.csv is empty"),
        ("movieId,title\n", "there is no film"),
    ],
)
def test_broken_films(movies: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        movielens.load(folder(tmp_path, movies=movies), [RED])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "movies.csv").write_bytes("movieId,title\n3,Café Rouge (2001)\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"movies\.csv is broken"):
        movielens.load(tmp_path, ["3"])


def test_rows_with_a_cell_too_many_are_refused(tmp_path: Path) -> None:
    # Where all rows have one, pandas would drop it.
    (tmp_path / "movies.csv").write_text("movieId,title,genres\n3,Blue,Drama\n", encoding="utf-8")
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n7,3,4.5,0,9\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"ratings\.csv is broken"):
        movielens.load(tmp_path, ["3"])


def test_a_broken_row_of_another_film_is_found_too(tmp_path: Path) -> None:
    # Before the rows of the chosen films are picked out, every row must be one.
    with pytest.raises(DataError, match="row 3, column rating: 'x' is not a number"):
        movielens.load(folder(tmp_path, HEAD + "1,3,4\n1,7,x\n"), [RED])


@pytest.mark.parametrize("missing", ["movies.csv", "ratings.csv"])
def test_missing_files(missing: str, tmp_path: Path) -> None:
    (folder(tmp_path) / missing).unlink()
    with pytest.raises(DataError, match=f"there is no file .*{missing}: give the folder of a MovieLens copy"):
        movielens.load(tmp_path, [RED])


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere"):
        movielens.load(tmp_path / "nowhere", [RED])


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
