"""The loader of conversion logs on small files in both formats, and the figures that ship."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, check_environment, compare
from evenhand.algorithms import op_fcts_d
from evenhand.core.errors import DataError, EvenhandError
from evenhand.datasets import conversions
from evenhand.datasets.conversions import WEEK, Conversions, load, named_rates, shipped, visits
from evenhand.environment.delays import Empirical
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.merit import Linear

# Sale, seconds to the conversion, clicks in the week before, title.
Click = tuple[Any, Any, Any, str]
CLICKS: list[Click] = [
    (0, -1, 300, "lamp"),
    (1, 3600, 8400, "lamp"),
    (0, -1, 20, "sofa"),
    (1, 7200, 4200, "lamp"),
    (1, -1, 10, "lamp"),  # a conversion of unknown delay
    (1, 86400, 70, "sofa"),
    (1, 60, -1, "sofa"),  # a conversion of an unknown number of clicks
    (0, -1, 5, "vase"),
    (1, 5, 5, ""),
    (1, 5, 5, "-1"),
    (0, -1, -1, "lamp"),
]


def five(click: Click) -> list[str]:
    sale, seconds, clicks, title = map(str, click)
    return [sale, seconds, clicks, "P7", title]


def twenty_three(click: Click) -> list[str]:
    """As published: sale, amount, seconds, time of the click, clicks in the week, … title (the 21st), …"""
    sale, seconds, clicks, title = map(str, click)
    row = [f"h{place}" for place in range(23)]
    row[0], row[1], row[2], row[3], row[4], row[20] = sale, "-1.0", seconds, "1598925284", clicks, title
    return row


FORMATS: dict[str, Callable[[Click], list[str]]] = {"5 columns": five, "23 columns": twenty_three}
both_formats = pytest.mark.parametrize("layout", FORMATS.values(), ids=FORMATS)


def written(tmp_path: Path, clicks: list[Click], layout: Callable[[Click], list[str]] = five) -> Path:
    return lines(tmp_path, ["\t".join(layout(click)) for click in clicks])


def lines(tmp_path: Path, rows: list[str], end: str = "\n") -> Path:
    path = tmp_path / "log.tsv"
    path.write_bytes("".join(row + end for row in rows).encode())
    return path


# --- what is read -----------------------------------------------------------------------------------------------------


@both_formats
def test_clicks_sales_and_delays_by_hand(layout: Callable[[Click], list[str]], tmp_path: Path) -> None:
    log = load(written(tmp_path, CLICKS, layout), ads=2)
    assert log.titles == ("lamp", "sofa")
    assert log.clicks.tolist() == [5.0, 3.0]
    assert log.sales.tolist() == [3.0, 2.0]
    assert [rows.tolist() for rows in log.delays] == [[[3600.0, 8400.0], [7200.0, 4200.0]], [[86400.0, 70.0]]]


def test_a_log_longer_than_any_buffer_is_read_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path, CLICKS * 1000)
    assert path.stat().st_size > 2**17
    log = load(path, ads=2)
    assert log.clicks.tolist() == [5000.0, 3000.0]
    assert log.sales.tolist() == [3000.0, 2000.0]
    assert [len(rows) for rows in log.delays] == [2000, 1000]
    path.write_text(path.read_text(encoding="utf-8") + "1\tsoon\t3\tP7\tlamp\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"log\.tsv, row 11001, column seconds: 'soon' is not a number of at least -1"):
        load(path, ads=1)


def test_the_most_clicked_come_first_and_the_earlier_of_two_alike(tmp_path: Path) -> None:
    names = ["c", "b", "a", "a", "b", "d", "d", "d"]
    log = load(written(tmp_path, [(1, 1, 1, name) for name in names]), ads=4)
    assert log.titles == ("d", "b", "a", "c")
    assert log.clicks.tolist() == [3.0, 2.0, 2.0, 1.0]


def test_titles_are_taken_as_they_stand(tmp_path: Path) -> None:
    # Quotation marks, spaces and words that elsewhere mean "missing".
    titles = ['the "big" lamp', '"', "NA", "nan", " ", "Ärmel ☕"]
    assert load(written(tmp_path, [(1, 1, 1, title) for title in titles]), ads=6).titles == tuple(titles)


def test_lines_may_end_as_on_other_systems(tmp_path: Path) -> None:
    rows = ["\t".join(five(click)) for click in CLICKS]
    log = load(lines(tmp_path, rows, end="\r\n"), ads=2)
    assert log.titles == ("lamp", "sofa")
    assert log.sales.tolist() == [3.0, 2.0]


# --- from seconds to visits -------------------------------------------------------------------------------------------


def test_visits_by_hand() -> None:
    # 8400 clicks a week at 0.05 clicks a visit are 168,000 visits a week, 1000 an hour.
    rows = np.array([[3600.0, 8400.0], [3599.0, 8400.0], [0.0, 8400.0], [WEEK, 70.0], [10 * WEEK, 1.0], [WEEK, 0.0]])
    assert visits(rows, 0.05).tolist() == [1000.0, 999.0, 0.0, 1400.0, 200.0, 0.0]
    assert visits(rows, 0.1).tolist() == [500.0, 499.0, 0.0, 700.0, 100.0, 0.0]
    assert visits(rows[:1]).tolist() == [1000.0]  # 0.05 unless said
    # So many clicks of its own week at any rate that divides evenly: 3/0.3 is 10, not 9.
    clicks = np.arange(1.0, 400.0)
    week = np.stack([np.full_like(clicks, WEEK), clicks], axis=1)
    for per_click in (1, 3, 10, 20, 100):
        assert (visits(week, 1.0 / per_click) == per_click * clicks).all()


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (0, "^click_rate must be above 0, got 0$"),
        (1.5, r"^click_rate must be a number in \[0, 1\], got 1\.5$"),
        (-0.1, r"^click_rate must be a number in \[0, 1\], got -0\.1$"),
        (math.nan, r"^click_rate must be a number in \[0, 1\], got nan$"),
        ("often", "^click_rate must be a number, got 'often'$"),
    ],
)
def test_click_rates_that_are_none(rate: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        visits(np.array([[3600.0, 8400.0]]), rate)
    with pytest.raises(EvenhandError, match=message):
        shipped(click_rate=rate)


# --- mean rewards -----------------------------------------------------------------------------------------------------

WHOLE = Conversions(
    ("a", "b", "c"),
    np.array([100.0, 50.0, 40.0]),
    np.array([20.0, 30.0, 10.0]),
    tuple(np.array([[WEEK, clicks]]) for clicks in (1.0, 2.0, 3.0)),
)
SALES_ONLY = Conversions(WHOLE.titles, WHOLE.sales, WHOLE.sales, WHOLE.delays)


@pytest.mark.parametrize(
    ("rates", "means"),
    [
        ("scaled_conversions", [0.5, 1.0, 0.0]),  # of 20, 30, 10
        ("rates", [0.2, 0.6, 0.25]),
        ("scaled_rates", [0.0, 1.0, 0.125]),  # (0.25 − 0.2)/0.4
        (None, [0.5, 1.0, 0.0]),
        ([0.1, 0.0, 1.0], [0.1, 0.0, 1.0]),
        ((0.1, 0.0, 1.0), [0.1, 0.0, 1.0]),
        (np.array([0.1, 0.0, 1.0]), [0.1, 0.0, 1.0]),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_rates_of_a_log_of_clicks(rates: Any, means: list[float]) -> None:
    world = WHOLE.environment(rates)
    assert isinstance(world.rewards, Bernoulli)
    np.testing.assert_allclose(world.means, means, rtol=1e-12)
    if isinstance(rates, str):
        np.testing.assert_allclose(named_rates(rates, WHOLE.sales, WHOLE.clicks), means, rtol=1e-12)


@pytest.mark.parametrize("rates", ["scaled_conversions", [0.1, 0.0, 1.0], np.array([0.1, 0.0, 1.0])])
def test_rates_of_a_log_of_conversions(rates: Any) -> None:
    expected = [0.5, 1.0, 0.0] if isinstance(rates, str) else [0.1, 0.0, 1.0]
    np.testing.assert_allclose(SALES_ONLY.environment(rates).means, expected, rtol=1e-12)


@pytest.mark.parametrize("rates", [None, "rates", "scaled_rates"])
def test_rates_a_click_need_the_clicks(rates: Any) -> None:
    message = "^this log holds conversions only, .* rates = 'scaled_conversions' to scale the numbers of conversions$"
    with pytest.raises(DataError, match=message):
        SALES_ONLY.environment(rates)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ("scaled", "^rates must be 'scaled_conversions' or 'scaled_rates' or 'rates', got 'scaled'$"),
        ([0.1, 0.2], "^rates has 2 entries, but there are 3 ads$"),
        ([0.1, 0.2, 1.2], r"^rates\[2\] must be a number in \[0, 1\], got 1\.2$"),
        (0.5, "^rates must be a list with one number per arm, got 0.5$"),
    ],
)
def test_rates_that_do_not_fit(rates: Any, message: str) -> None:
    for log in (WHOLE, SALES_ONLY):
        with pytest.raises(EvenhandError, match=message):
            log.environment(rates)


def test_what_is_all_alike_cannot_be_scaled() -> None:
    alike = Conversions(("a", "b"), np.array([10.0, 20.0]), np.array([5.0, 5.0]), WHOLE.delays[:2])
    with pytest.raises(DataError, match=r"^all ads convert alike, so their rates cannot be scaled"):
        alike.environment("scaled_conversions")
    np.testing.assert_allclose(alike.environment("scaled_rates").means, [1.0, 0.0])


# --- the environment of a log -----------------------------------------------------------------------------------------


def test_the_environment_of_a_log(tmp_path: Path) -> None:
    log = load(written(tmp_path, CLICKS), ads=2)
    world = log.environment("rates")
    assert world.names == ("ad 1", "ad 2")
    np.testing.assert_allclose(world.means, [3 / 5, 2 / 3])
    assert isinstance(world.feedback, Empirical)
    # Lamp: 3600 s at 168,000 visits a week, 7200 s at 84,000; sofa: a day at 1400 visits a week.
    assert [row.tolist() for row in world.feedback.samples] == [[1000.0, 1000.0], [200.0]]
    assert [row.tolist() for row in log.environment("rates", 0.1).feedback.samples] == [[500.0, 500.0], [100.0]]  # type: ignore[attr-defined]
    assert not world.feedback.traits.biased
    check_environment(world, horizon=30)


def test_the_figures_of_a_log_by_hand(tmp_path: Path) -> None:
    figures = load(written(tmp_path, CLICKS), ads=2).figures(points=3)
    # In clicks of its own week: 3600 s of 8400 a week and 7200 s of 4200 are 50; a day of 70 is 10.
    assert figures == {"clicks": [5, 3], "sales": [3, 2], "delays": [[50.0, 50.0, 50.0], [10.0, 10.0, 10.0]]}
    spread = [(1, 86400, clicks, "lamp") for clicks in (7, 70, 14, 700, 35)]
    figures = load(written(tmp_path, spread), ads=1).figures(points=3)
    assert figures["delays"] == [[1.0, 5.0, 100.0]]  # the ends and the median
    assert json.loads(json.dumps(figures)) == figures


# --- what is refused --------------------------------------------------------------------------------------------------


@both_formats
@pytest.mark.parametrize(
    ("click", "message"),
    [
        ((2, 60, 5, "lamp"), "row 3, column sale: '2' is not 0 or 1"),
        (("", 60, 5, "lamp"), "row 3, column sale: '' is not 0 or 1"),
        (("yes", 60, 5, "lamp"), "row 3, column sale: 'yes' is not 0 or 1"),
        ((1, "soon", 5, "lamp"), "row 3, column seconds: 'soon' is not a number of at least -1"),
        ((1, "", 5, "lamp"), "row 3, column seconds: '' is not a number of at least -1"),
        ((1, -2, 5, "lamp"), "row 3, column seconds: '-2' is not a number of at least -1"),
        ((1, "nan", 5, "lamp"), "row 3, column seconds: 'nan' is not a number of at least -1"),
        ((1, "inf", 5, "lamp"), "row 3, column seconds: 'inf' is not a number of at least -1"),
        ((1, 60, "many", "lamp"), "row 3, column clicks: 'many' is not a number of at least -1"),
        ((1, 60, -1.5, "lamp"), r"row 3, column clicks: '-1\.5' is not a number of at least -1"),
        ((0, 60, "x", "vase"), "row 3, column clicks: 'x' is not"),  # of ads that are not chosen too
        ((0, 60, "x", "-1"), "row 3, column clicks: 'x' is not"),  # and of none
    ],
)
def test_broken_rows_are_named(
    click: Click, message: str, layout: Callable[[Click], list[str]], tmp_path: Path
) -> None:
    path = written(tmp_path, [CLICKS[1], CLICKS[0], click, CLICKS[1]], layout)
    with pytest.raises(DataError, match=rf"log\.tsv, {message}"):
        load(path, ads=1)


def test_blank_lines_are_skipped_and_rows_count_as_in_the_file(tmp_path: Path) -> None:
    good, bad = "\t".join(five(CLICKS[1])), "\t".join(five((2, 60, 5, "lamp")))
    assert load(lines(tmp_path, [good, "", "", good, ""]), ads=1).clicks.tolist() == [2.0]
    with pytest.raises(DataError, match=r"log\.tsv, row 4, column sale: '2' is not 0 or 1"):
        load(lines(tmp_path, [good, "", "", bad]), ads=1)


@both_formats
@pytest.mark.parametrize("kept", [1, 2, 3, 4, -1])
def test_a_row_of_too_few_columns(kept: int, layout: Callable[[Click], list[str]], tmp_path: Path) -> None:
    # As where a file breaks off; also when all that matters is there.
    row = layout(CLICKS[1])
    path = lines(tmp_path, ["\t".join(row), "\t".join(row[:kept]), "\t".join(row)])
    cells = "1 cell" if kept == 1 else f"{len(row[:kept])} cells"
    message = rf"log\.tsv, row 2: {cells} for {len(row)} columns"
    with pytest.raises(DataError, match=message):
        load(path, ads=1)


@both_formats
def test_a_row_of_too_many_columns(layout: Callable[[Click], list[str]], tmp_path: Path) -> None:
    row = layout(CLICKS[1])
    with pytest.raises(DataError, match=rf"log\.tsv, row 2: {len(row) + 1} cells for {len(row)} columns"):
        load(lines(tmp_path, ["\t".join(row), "\t".join([*row, "more"])]), ads=1)


@pytest.mark.parametrize("columns", [1, 2, 4, 6, 22, 24])
def test_a_file_of_another_format(columns: int, tmp_path: Path) -> None:
    path = lines(tmp_path, ["\t".join(["1"] * columns)] * 3)
    found = "1 column" if columns == 1 else f"{columns} columns"
    message = rf"log\.tsv has {found} separated by tabs; a conversion log has 23, or 5: sale, seconds, clicks"
    with pytest.raises(DataError, match=message):
        load(path, ads=1)


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"log\.tsv is empty$"):
        load(lines(tmp_path, []), ads=1)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere\.tsv"):
        load(tmp_path / "nowhere.tsv")
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("before", [0, 3, 20_000])
def test_bytes_that_are_no_text(before: int, tmp_path: Path) -> None:
    path = written(tmp_path, [CLICKS[1]] * before)
    path.write_bytes(path.read_bytes() + "1\t60\t5\tP7\tcafé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"log\.tsv cannot be read: its text is not UTF-8"):
        load(path, ads=1)


def test_more_ads_than_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, CLICKS)
    with pytest.raises(DataError, match=r"log\.tsv holds clicks on 3 ads, fewer than ads = 4"):
        load(path, ads=4)
    with pytest.raises(DataError, match=r"holds clicks on 3 ads, fewer than ads = 10"):
        load(path)
    for ads, message in ((0, "^ads must be at least 1, got 0$"), (1.5, r"^ads must be a whole number, got 1\.5$")):
        with pytest.raises(EvenhandError, match=message):
            load(path, ads=ads)  # type: ignore[arg-type]


def test_an_ad_without_any_known_delay(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"log\.tsv holds no conversion of known delay of ad 'vase'; choose fewer ads"):
        load(written(tmp_path, CLICKS), ads=3)
    unknown: list[Click] = [(1, -1, 5, "lamp"), (1, 60, -1, "lamp"), (0, 60, 5, "lamp")]
    with pytest.raises(DataError, match="holds no conversion of known delay of ad 'lamp'"):
        load(written(tmp_path, unknown), ads=1)


# --- the figures that ship --------------------------------------------------------------------------------------------


def table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("evenhand.datasets") / "conversions.json").read_text(encoding="utf-8"))
    return found


def test_the_figures_that_ship_are_in_order() -> None:
    found = table()
    assert len(found["sales"]) == len(found["clicks"]) == len(found["delays"]) == conversions.ADS
    assert found["clicks"] == sorted(found["clicks"], reverse=True)
    assert all(0 < sales <= clicks for sales, clicks in zip(found["sales"], found["clicks"], strict=True))
    for row in found["delays"]:
        assert len(row) == 41
        assert row == sorted(row)
        assert row[0] >= 0.0


def test_the_environment_that_ships_is_that_of_the_figures() -> None:
    found, world = table(), shipped()
    least, most = min(found["sales"]), max(found["sales"])
    np.testing.assert_allclose(world.means, [(sales - least) / (most - least) for sales in found["sales"]], rtol=1e-12)
    assert world.names == tuple(f"ad {place}" for place in range(1, 11))
    assert isinstance(world.feedback, Empirical)
    for rate in (0.05, 0.1):
        samples = shipped(click_rate=rate).feedback.samples  # type: ignore[attr-defined]
        for row, clicks in zip(samples, found["delays"], strict=True):
            # A quantile is given to a thousandth of a click, so all but a millionth of a visit is exact.
            np.testing.assert_array_equal(row, [math.floor(x / rate + 1e-6) for x in clicks])


def test_other_rates_for_the_figures_that_ship() -> None:
    given = np.linspace(0.1, 1.0, 10)
    for rates in (given.tolist(), given):
        np.testing.assert_allclose(shipped(rates).means, given)
    with pytest.raises(EvenhandError, match=r"^rates has 9 entries, but there are 10 ads$"):
        shipped([0.1] * 9)
    with pytest.raises(DataError, match="this log holds conversions only"):
        shipped("rates")


def test_the_figures_that_ship_can_be_played_with() -> None:
    world: Environment = shipped()
    check_environment(world, horizon=30)
    results = compare([op_fcts_d(Linear(), plays=3, cap=True)], world, 50, 3, progress=False)
    assert (results.policies["op_fcts_d"].pulls[-1].sum(axis=-1) == 150).all()
