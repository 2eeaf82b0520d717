"""Logs of rewards, availability and delays: wide and long files, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, check_environment
from evenhand.core.errors import DataError
from evenhand.datasets.logs import read_availability, read_delays, read_rewards
from evenhand.environment.availability import Logged
from evenhand.environment.delays import Empirical
from evenhand.environment.rewards import Bernoulli, Table

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
        ("tea,coffee\n1,0\n0,x\n", r"log\.csv, row 3, column coffee: 'x' is not a finite number"),
        ("tea,coffee\nnan,0\n", r"row 2, column tea: 'nan' is not a finite number \(leave unknown rewards blank\)"),
        ("tea,coffee\n1,-inf\n", "row 2, column coffee: '-inf' is not a finite number"),
        ("tea,coffee\n1,0\n1\n", "row 3: 1 cell for 2 columns"),
        ("tea,coffee\n1,0,1\n", "row 2: 3 cells for 2 columns"),
        ("tea,coffee\n", r"log\.csv has a header but no rows\. A log has one column per arm"),
        ("", r"log\.csv is empty"),
        ("tea;coffee\n1;0,5\n", r"log\.csv: the separator looks like ';'; save it with commas"),
        ("\n\n", r"log\.csv is empty"),
        ("tea,coffee\n1,0\n\n\n0,x\n", "row 5, column coffee"),  # rows count as in the file
    ],
)
def test_broken_reward_logs(text: str, message: str, log: Path) -> None:
    log.write_text(text)
    with pytest.raises(DataError, match=message):
        read_rewards(log)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tea,coffee\n1,0\n1,2\n", "row 3, column coffee: '2' is neither 1 .available. nor 0 .asleep."),
        ("tea,coffee\n1,\n", "row 2, column coffee: '' is neither"),
        ("tea,coffee\nyes,no\n", "row 2, column tea: 'yes' is neither"),
        ("tea,coffee\n1\n", "row 2: 1 cell for 2 columns"),
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
            r"log\.csv, row 3, column coffee: 'x' is not a delay: give rounds of at least 0",
        ),
        ("tea,coffee\n-1,0\n", "row 2, column tea: '-1' is not a delay"),
        ("tea,coffee\n1,nan\n", "row 2, column coffee: 'nan' is not a delay"),
        ("tea,coffee\n1,-inf\n", "row 2, column coffee: '-inf' is not a delay"),
        ("tea,coffee\n1,\n2,\n", r"log\.csv has no delay of arm 'coffee'"),
        ("tea,coffee\n1,0\n\n\n0,x\n", "row 5, column coffee"),  # rows count as in the file
        ("tea,coffee\n1,0,1\n", "row 2: 3 cells for 2 columns"),
        ("tea,coffee\n1\n", "row 2: 1 cell for 2 columns"),
        ("tea,coffee\n", r"log\.csv has a header but no rows\. A log has one column per arm"),
        ("", r"log\.csv is empty"),
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
    with pytest.raises(DataError, match="cannot be read: "):
        read(tmp_path)
    (tmp_path / "latin.csv").write_bytes("café\n1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.csv cannot be read: its text is not UTF-8; save it as UTF-8$"):
        read(tmp_path / "latin.csv")


# --- long files -------------------------------------------------------------------------------------------------------

WIDE = "tea,coffee,water\n1,0.5,\n,1,0\n0,,1\n"
LONG = """arm,round,price,available, reward
tea,3,x,1,0
coffee,20,x,1,1
coffee,3,x,0, 0.5
water,20,,1,0
water,100,,1,1
tea,100,x,0,0
"""


def test_a_long_log_holds_the_same_as_a_wide_one(log: Path, tmp_path: Path) -> None:
    log.write_text(LONG)
    wide = tmp_path / "wide.csv"
    wide.write_text(WIDE)
    names, values = read_rewards(log)
    expected = read_rewards(wide)
    assert names == expected[0]  # in the order in which they first appear
    np.testing.assert_array_equal(values[0], [0.0, 0.5, math.nan])  # rounds 3, 20, 100 in this order
    np.testing.assert_array_equal(values[1], [math.nan, 1.0, 0.0])
    np.testing.assert_array_equal(values[2], [0.0, math.nan, 1.0])
    assert read_availability(log)[0] == names
    assert read_availability(log)[1].tolist() == [[True, False, False], [False, True, True], [False, False, True]]


def test_any_order_of_the_rows_gives_the_same_rounds(log: Path) -> None:
    rows = [f"{round},{arm},{round + place / 10}" for round in range(1, 5) for place, arm in enumerate("ab")]
    log.write_text("\n".join(["round,arm,reward", *rows]))
    values = read_rewards(log)[1]
    assert values.tolist() == [[round, round + 0.1] for round in range(1, 5)]
    log.write_text("\n".join(["round,arm,reward", *rows[:1], *rows[:0:-1]]))
    np.testing.assert_array_equal(read_rewards(log)[1], values)


def test_a_long_log_of_delays(log: Path) -> None:
    log.write_text("round,arm,delay\n1,tea,3\n1,coffee,\n2,tea,inf\n3,coffee,0\n")
    names, samples = read_delays(log)
    assert (names, [sample.tolist() for sample in samples]) == (("tea", "coffee"), [[3.0, math.inf], [0.0]])


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (
            read_rewards,
            "round,arm,reward\n1,tea,1\n\n2,tea,x\n",
            r"log\.csv, row 4, column reward: 'x' is not",
        ),
        (
            read_rewards,
            "round,arm,reward\n1,tea,1\n1,tea,0\n",
            "column arm: 'tea' is already in row 2 for round 1",
        ),
        (
            read_rewards,
            "round,arm,reward\none,tea,1\n",
            "row 2, column round: 'one' is not a whole number",
        ),
        (read_rewards, "round,arm,reward\n1,tea\n", "row 2: 2 cells for 3 columns$"),
        (read_rewards, "round,arm,reward\n", r"has a header but no rows\. A log has one column per arm"),
        (
            read_rewards,
            "round,arm,click\n1,tea,1\n",
            r"no column 'reward'\. A log has one column per arm",
        ),
        (
            read_availability,
            "round,arm,reward\n1,tea,1\n",
            "the columns round, arm and available$",
        ),
        (read_availability, "round,arm,available\n1,tea,yes\n", "row 2, column available: 'yes' is neither 1"),
        (read_delays, "round,arm,delay\n1,tea,-1\n", "row 2, column delay: '-1' is not a delay"),
        (read_delays, "round,arm,delay\n1,tea,\n", "has no delay of arm 'tea'"),
        # Long, but with other names.
        (
            read_rewards,
            "t,item,r\n1,tea,1\n2,coffee,0\n",
            r"item: 'tea' is not a finite .*\. A log has one",
        ),
        (read_availability, "t,item,r\n1,tea,1\n2,coffee,0\n", "or the columns round, arm and available$"),
    ],
)
def test_long_logs_that_are_refused(read: Any, text: str, message: str, log: Path) -> None:
    log.write_text(text)
    with pytest.raises(DataError, match=message):
        read(log)


def test_a_single_wrong_cell_does_not_show_the_layouts(log: Path) -> None:
    log.write_text("tea,coffee\n1,0\n0,x\n")
    with pytest.raises(DataError, match=r"'x' is not a finite number \(leave unknown rewards blank\)$"):
        read_rewards(log)
