"""Much rated films as arms, on small copies of MovieLens in all formats, with invented films."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand import check_environment
from evenhand.core.errors import ConfigurationError, DataError
from evenhand.datasets import popular, rows
from evenhand.datasets.popular import Histograms, count, shipped
from evenhand.environment.rewards import Categorical
from evenhand.simulation.setup import Setup
from evenhand.studies import configuration as config

# (user, film, rating): Amélie has 3, 5, 5 and 4 stars, Red 1 star, Blue 2 and 4; nobody rated Grey.
RATED = [(7, 12, 3), (7, 30, 1), (8, 12, 5), (9, 12, 5), (9, 4, 2), (10, 12, 4), (10, 4, 4)]
FILMS = {4: "Blue (2001)", 12: "Amélie (2001)", 30: "Red (2002)", 31: "Grey (2003)"}
SEPARATORS = {"csv": (",", ","), "1M": ("::", "::"), "100K": ("\t", "|")}
NAMES = {"csv": ("ratings.csv", "movies.csv"), "1M": ("ratings.dat", "movies.dat"), "100K": ("u.data", "u.item")}


def copy_of(form: str, folder: Path, encoding: str | None = None) -> Path:
    """A copy of MovieLens in a folder of its own."""
    (of_ratings, of_films), (rating_file, film_file) = SEPARATORS[form], NAMES[form]
    ratings = [of_ratings.join(map(str, (*row, 978300760))) for row in RATED]
    films = [of_films.join((str(film), title, "Drama")) for film, title in FILMS.items()]
    if form == "csv":
        ratings, films = ["userId,movieId,rating,timestamp", *ratings], ["movieId,title,genres", *films]
    folder.mkdir(exist_ok=True)
    (folder / rating_file).write_text("\n".join([*ratings, ""]), encoding="ascii")
    (folder / film_file).write_text(
        "\n".join([*films, ""]), encoding=encoding or ("utf-8" if form == "csv" else "latin-1")
    )
    return folder


def histogram(**stars: int) -> list[int]:
    """Counts on the scale of half stars, by whole stars."""
    return [stars.get(f"s{place // 2 + 1}", 0) if place % 2 else 0 for place in range(10)]


@pytest.mark.parametrize("form", NAMES)
def test_ratings_are_counted_in_every_format(form: str, tmp_path: Path) -> None:
    found = count(copy_of(form, tmp_path / form))
    assert found.films == ("Amélie (2001)", "Blue (2001)", "Red (2002)")
    assert found.counts.tolist() == [histogram(s3=1, s4=1, s5=2), histogram(s2=1, s4=1), histogram(s1=1)]
    assert found.source == str(tmp_path / form / NAMES[form][0])


@pytest.mark.parametrize("form", NAMES)
def test_parts_of_a_file_add_up(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = count(copy_of(form, tmp_path))
    monkeypatch.setattr(rows, "BLOCK", 2)
    parts = count(tmp_path)
    assert (parts.films, parts.counts.tolist()) == (whole.films, whole.counts.tolist())


def test_films_are_arms_with_the_histograms_of_their_ratings(tmp_path: Path) -> None:
    world = popular.popular(copy_of("1M", tmp_path), more_than=1)
    assert world.names == ("Amélie (2001)", "Blue (2001)")
    assert isinstance(world.rewards, Categorical)
    np.testing.assert_allclose(world.rewards.values, np.arange(1, 11) / 10)  # half stars over 5 stars
    assert world.rewards.probabilities.tolist() == [
        [part / 4 for part in histogram(s3=1, s4=1, s5=2)],
        [0.0] * 3 + [0.5] + [0.0] * 3 + [0.5, 0, 0],
    ]
    np.testing.assert_allclose(world.means, [17 / 20, 6 / 10])  # 3 + 4 + 5 + 5 of 20 stars, 2 + 4 of 10
    check_environment(world, horizon=30)


def test_half_stars_other_columns_and_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "movies.csv").write_text('\ufefftitle,movieId\n"Amélie, the second",3\n\n', encoding="utf-8")
    (tmp_path / "ratings.csv").write_text("movieId,when,rating\r\n3,x,0.5\r\n\r\n3,,4.5\r\n")
    found = count(tmp_path)
    assert found.films == ("Amélie, the second",)
    assert found.counts.tolist() == [[1, 0, 0, 0, 0, 0, 0, 0, 1, 0]]


@pytest.mark.parametrize("form", ["1M", "100K"])
def test_titles_in_another_encoding(form: str, tmp_path: Path) -> None:
    assert count(copy_of(form, tmp_path, encoding="utf-8")).films[0] == "Amélie (2001)"


def test_films_that_share_a_title_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "movies.dat").write_text("1::War (2005)::Drama\n2::War (2005)::Drama\n3::Peace::Drama\n")
    (tmp_path / "ratings.dat").write_text("1::3::5::0\n1::1::5::0\n2::1::5::0\n3::2::5::0\n")
    assert count(tmp_path).films == ("War (2005) [1]", "War (2005) [2]", "Peace")


# --- what is wrong is named -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "line", "message"),
    [
        ("csv", "9,4,five,0", r"ratings\.csv, row 9, column rating: 'five' is not a number"),
        ("csv", "9,4,,0", r"ratings\.csv, row 9, column rating: '' is not a number"),
        ("csv", "9,4,0,0", r"row 9, column rating: '0(\.0)?' is not one of 0\.5, 1, …, 5"),
        ("csv", "9,4,4.2,0", r"row 9, column rating: '4\.2' is not one of"),
        ("csv", "9,4.5,4,0", r"row 9, column movieId: '4\.5' is not a whole number"),
        ("csv", "9,5,4,0", r"row 9, column movieId: '5' is not the number of a film in movies\.csv"),
        ("csv", "9,4,4,0,1", r"ratings\.csv, row 9: 5 cells for 4 columns$"),
        ("csv", "9", r"row 9, column movieId: '' is not a number"),
        ("1M", "9::4::six::0", r"ratings\.dat, row 8, column rating: 'six' is not a number"),
        ("1M", "9::4::6::0", r"ratings\.dat, row 8, column rating: '6' is not one of"),
        ("1M", "9::40::5::0", r"ratings\.dat, row 8, column movieId: '40' is not the number of a film in movies\.dat"),
        ("1M", "9:4::5::0", r"ratings\.dat, row 8, column "),
        ("1M", "9::4::5::0::1", r"ratings\.dat, row 8: 5 cells for 4 columns$"),
        ("100K", "9\tx\t5\t0", r"u\.data, row 8, column movieId: 'x' is not a number"),
        ("100K", "9\t4\t7\t0", r"u\.data, row 8, column rating: '7' is not one of"),
        ("100K", "9 4 5 0", r"u\.data, row 8, column movieId: '' is not a number"),
        ("100K", "9\t4\t5\t0\t1", r"u\.data, row 8: 5 cells for 4 columns$"),
    ],
)
@pytest.mark.parametrize("chunk", [3, 1000])
def test_broken_ratings(
    form: str, line: str, message: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "BLOCK", chunk)
    path = copy_of(form, tmp_path) / NAMES[form][0]
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DataError, match=message):
        count(tmp_path)


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("csv", "", r"movies\.csv is empty$"),
        ("csv", "movieId,name\n1,Blue\n", r"movies\.csv has no column 'title'"),
        ("csv", "movieId,title\n", r"movies\.csv lists no films"),
        ("csv", "movieId,title\n1,Blue\n2\n", r"movies\.csv, row 3: 1 cell for 2 columns"),
        ("csv", "movieId,title\none,Blue\n", r"movies\.csv, row 2, column movieId: 'one' is not a whole number"),
        ("1M", "1::Blue\n1::Red\n", r"movies\.dat, row 2, column movieId: '1' is listed twice"),
        ("1M", "1|Blue\n", r"movies\.dat, row 1: 1 cell for 2 columns"),
        ("1M", "", r"movies\.dat lists no films"),
        ("100K", "1|Blue\n\n-2|Red\n", r"u\.item, row 3, column movieId: '-2' is not a whole number"),
    ],
)
def test_broken_films(form: str, text: str, message: str, tmp_path: Path) -> None:
    (copy_of(form, tmp_path) / NAMES[form][1]).write_text(text)
    with pytest.raises(DataError, match=message):
        count(tmp_path)


def test_films_of_a_csv_file_are_utf_8(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"movies\.csv cannot be read: its text is not UTF-8"):
        count(copy_of("csv", tmp_path, encoding="latin-1"))


@pytest.mark.parametrize("form", NAMES)
def test_files_that_are_missing(form: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is none of ratings\.csv, ratings\.dat, u\.data in "):
        count(tmp_path)
    copy_of(form, tmp_path)
    (tmp_path / NAMES[form][1]).unlink()
    with pytest.raises(
        DataError, match=rf"there is no file .*{NAMES[form][1]}; it must stand beside {NAMES[form][0]}$"
    ):
        count(tmp_path)


@pytest.mark.parametrize(("form", "line"), [("csv", "9,4,5,0,1"), ("1M", "9::4::5::0:1"), ("100K", "9\t4\t5\t0\t1")])
def test_every_row_has_a_cell_too_many(form: str, line: str, tmp_path: Path) -> None:
    # The first cell must not be taken for the name of the row, which would make the user a film.
    path = copy_of(form, tmp_path) / NAMES[form][0]
    header = "userId,movieId,rating,timestamp\n" if form == "csv" else ""
    path.write_text(header + f"{line}\n" * 3)
    with pytest.raises(DataError, match=r"every row has more cells than there are columns$"):
        count(tmp_path)


def test_ratings_without_a_column_or_anything(tmp_path: Path) -> None:
    path = copy_of("csv", tmp_path) / "ratings.csv"
    path.write_text("userId,film,rating\n1,4,5\n")
    with pytest.raises(DataError, match=r"ratings\.csv has no column 'movieId'; needed: movieId, rating"):
        count(tmp_path)
    path.write_text("")
    with pytest.raises(DataError, match=r"ratings\.csv is empty"):
        count(tmp_path)


def test_too_few_ratings(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no film in .*u\.data has more than 4 ratings; the most rated has 4"):
        popular.popular(copy_of("100K", tmp_path), more_than=4)
    with pytest.raises(
        DataError, match=r"no film in the figures that ship .* than 5000 ratings; the most rated has 329"
    ):
        popular.popular(more_than=5000)
    with pytest.raises(DataError, match=r"only films with more than 105 ratings: give more_than of at least 105"):
        popular.popular(more_than=104)


# --- thresholds -------------------------------------------------------------------------------------------------------


def test_thresholds_leave_as_many_films_as_ties_allow() -> None:
    # Totals of 9, 7, 7, 7 and 2 ratings: 0, 1, 4 or 5 films can exceed a number.
    counts = np.zeros((5, 10), dtype=np.int64)
    counts[:, 0] = [9, 7, 7, 7, 2]
    films = Histograms(tuple("abcde"), counts, "a cinema")
    assert [films.threshold(wanted) for wanted in (1, 2, 3, 4, 5, 9)] == [7, 7, 2, 2, 0, 0]
    assert [films.above(more_than) for more_than in (9, 8, 7, 6, 2, 1, 0)] == [0, 1, 1, 4, 4, 5, 5]


def test_the_figures_that_ship() -> None:
    films = shipped()
    totals = films.counts.sum(axis=1)
    assert len(films.films) == len(set(films.films)) == 118
    assert (np.diff(totals) <= 0).all()
    assert totals.min() > films.least == 105
    assert [films.threshold(wanted) for wanted in (13, 31, 118)] == [204, 177, 105]
    assert [films.environment(more_than).arms for more_than in (204, 177, 105)] == [13, 31, 118]


# --- in a configuration -----------------------------------------------------------------------------------------------


def of_dataset(dataset: object, folder: Path) -> Setup:
    run = {"horizon": 9, "lanes": 2, "policies": [{"algorithm": "ucb1"}]}
    return config.parse({**run, "environment": {"dataset": dataset}}, folder)


def test_a_configuration_names_a_copy_or_takes_what_ships(tmp_path: Path) -> None:
    copy_of("1M", tmp_path / "copy")
    dataset = {"kind": "popular", "path": "copy", "more_than": 0}  # relative to the file's folder
    assert of_dataset(dataset, tmp_path).environment.names == ("Amélie (2001)", "Blue (2001)", "Red (2002)")
    assert of_dataset({"kind": "popular", "more_than": 177}, tmp_path).environment.arms == 31


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("popular", "environment.dataset.more_than is missing"),
        ({"kind": "popular", "more_than": -1}, "environment.dataset.more_than must be at least 0, got -1"),
        ({"kind": "popular", "more_than": 2.5}, "environment.dataset.more_than must be a whole number, got 2.5"),
        ({"kind": "popular", "morethan": 2}, "unknown key 'morethan'; did you mean 'more_than'?"),
        ({"kind": "popula", "more_than": 2}, "unknown kind 'popula'; did you mean 'popular'?"),
    ],
)
def test_wrong_datasets(dataset: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        of_dataset(dataset, tmp_path)
    assert message in str(error.value)


def test_a_wrong_copy_in_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"environment\.dataset: there is none of "):
        of_dataset({"kind": "popular", "path": ".", "more_than": 1}, tmp_path)
