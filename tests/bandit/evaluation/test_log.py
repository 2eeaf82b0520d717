"""Reading a log of decisions, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from evenhand.bandit.evaluation.evaluation import evaluate
from evenhand.bandit.evaluation.log import Log, read_log
from evenhand.core.errors import DataError, EvenhandError
from tests.bandit.evaluation.logs import (
    HEADER,
    ROWS,
    TINY,
    log_of,
    written,
)


def test_reading(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, HEADER + ROWS))
    assert log.items == ("mate", "tea")
    assert log.item.tolist() == [1, 0, 1]
    assert log.reward.tolist() == [1.0, 0.25, 0.0]
    assert log.propensity.tolist() == [0.5, 0.25, 1.0]
    assert log.sets[log.available].tolist() == [[True, True], [True, False], [True, True]]
    assert log.position is not None
    assert log.position.tolist() == ["1", "2", "1"]
    assert (log.rounds, log.notes) == (3, ())


def test_parquet_says_the_same(tmp_path: Path) -> None:
    read = read_log(written(tmp_path, HEADER + ROWS))
    table = pd.DataFrame(
        {
            "timestamp": pd.to_datetime(
                ["2026-01-01 00:00:00", "2026-01-01 00:00:05", "2026-01-01 00:00:07"], utc=True
            ),
            "decision_id": [1, 2, 3],
            "item_id": ["tea", "mate", "tea"],
            "position": [1.0, 2.0, 1.0],
            "reward": [1.0, 0.25, 0.0],
            "propensity_score": [0.5, 0.25, 1.0],
            "available": [["tea", "mate"], ["mate"], ["mate", "tea"]],
            "more": [None, None, None],
        }
    )
    table.to_parquet(tmp_path / "log.parquet")
    other = read_log(tmp_path / "log.parquet")
    assert evaluate(other, TARGET_OF_TEA).to_json() == evaluate(read, TARGET_OF_TEA).to_json()
    assert other.position is not None
    assert other.position.tolist() == ["1", "2", "1"]


TARGET_OF_TEA = {"tea": 0.5, "mate": 0.5}


def test_open_bandit_format(tmp_path: Path) -> None:
    text = (
        ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        "0,2019-11-24 00:00:01.5+00:00,14,3,0,0.25,c\n"
        "1,2019-11-24 00:00:02+00:00,2,1,1,0.25,c\n"
        "2,2019-11-24 00:00:02+00:00,14,1,1,0.5,d\n"
    )
    log = read_log(written(tmp_path, text))
    assert log.items == ("2", "14")  # by number
    assert evaluate(log, "uniform", estimator="ips").estimates["uniform"].value == pytest.approx((2 + 1) / 3)
    by = log.by_position()
    assert list(by) == ["1", "3"]
    assert [by[place].rounds for place in by] == [2, 1]
    assert evaluate(by["1"], "uniform", estimator="snips").estimates["uniform"].value == 1.0
    assert evaluate(by["3"], "uniform", estimator="ips").estimates["uniform"].stderr != 0.0  # unknown


def test_rows_are_put_in_order_of_time_and_ties_stay() -> None:
    log = log_of(["c", "b", "a", "d"], [3, 1, 2, 0], 0.5, timestamp=[9, 5, 9, 1])
    assert log.reward.tolist() == [0, 1, 3, 2]
    assert log.notes == ("the rows were not in order of time and have been sorted",)
    late = log_of(["a", "b"], [0, 1], 0.5, timestamp=["2026-01-01T01:00+02:00", "2025-12-31 22:59Z"])
    assert late.reward.tolist() == [1, 0]


def test_rows_of_a_decision_stand_together() -> None:
    log = log_of(["a", "b", "c"], [1, 2, 3], 0.5, decision_id=["x", "y", "x"])
    assert log.reward.tolist() == [1, 3, 2]
    assert log.round.tolist() == [0, 0, 1]
    rows = pd.DataFrame({"timestamp": 1, "item_id": ["a", "a"], "reward": 0, "propensity_score": 1, "decision_id": "x"})
    assert Log.of(rows, rounds="row").rounds == 2


def test_missing_rewards_are_a_choice(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + ROWS.replace("2,0.25,", "2,,"))
    with pytest.raises(DataError, match=r"row 3, column 'reward': the reward is missing, as in 1 of 3 rows; say"):
        read_log(path)
    zero, lost = read_log(path, missing="zero"), read_log(path, missing="lost")
    assert zero.reward.tolist() == [1, 0, 0]
    assert lost.reward.tolist() == [1, 0]
    assert lost.item.tolist() == [1, 1]
    assert zero.notes == ("1 of 3 rows have no reward, and count as 0",)
    assert lost.notes[0] == "1 of 3 rows have no reward, and were left out"
    nothing = pd.DataFrame({"timestamp": [1], "item_id": "a", "reward": [None], "propensity_score": 1.0})
    with pytest.raises(DataError, match="no rows with a reward"):
        Log.of(nothing, missing="lost")


def test_columns_by_other_names() -> None:
    rows = pd.DataFrame({"when": [1], "what": ["tea"], "sold": [1.0], "p": [0.5]})
    columns = {"timestamp": "when", "item_id": "what", "reward": "sold", "propensity_score": "p"}
    assert Log.of(rows, columns).reward.tolist() == [1.0]
    with pytest.raises(EvenhandError, match="unknown column 'prize'"):
        Log.of(rows, columns | {"prize": "sold"})
    with pytest.raises(
        DataError, match=r"has no column 'sould', but 'sold'; name what is missing with columns={'reward': 'sold'}$"
    ):
        Log.of(rows, columns | {"reward": "sould"})
    with pytest.raises(DataError, match="has no column 'where'"):
        Log.of(rows, columns | {"position": "where"})


GOOD = ["2026-01-01", "x", "tea", "1", "1", "0.5", "tea|mate"]


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        (0, "soon", "row 3, column 'timestamp': 'soon' is neither a number nor a date"),
        (0, "", "row 3, column 'timestamp': the cell is blank"),
        (1, "", "row 3, column 'decision_id': the cell is blank"),
        (2, "", "row 3, column 'item_id': the cell is blank"),
        (2, "coffee", "row 3, column 'item_id': 'coffee' was played, but is not among the available 'mate', 'tea'"),
        (3, "", "row 3, column 'position': the cell is blank"),
        (4, "yes", "row 3, column 'reward': 'yes' is not a finite number"),
        (4, "inf", "row 3, column 'reward': 'inf' is not a finite number"),
        (4, "0,5", r"row 3, column 'reward': '0,5' is not a finite number .* \(write 0\.5\)$"),
        (4, "1,000", r"row 3, column 'reward': '1,000' is not a finite number \(leave unknown rewards blank\)$"),
        (5, "50%", r"row 3, column 'propensity_score': '50%' is not a propensity above 0 and up to 1 \(write 0\.5\)$"),
        (5, "50", r"row 3, column 'propensity_score': '50' is not a propensity above 0 and up to 1 \(write 0\.5\)$"),
        (4, "nan", "row 3, column 'reward': the reward is missing"),
        (5, "0", "row 3, column 'propensity_score': '0' is not a propensity above 0 and up to 1"),
        (5, "1.01", "row 3, column 'propensity_score': '1.01' is not a propensity"),
        (5, "-0.5", "row 3, column 'propensity_score': '-0.5' is not a propensity"),
        (6, "", "row 3, column 'available': a blank cell is not a list of different names"),
        (6, "tea|tea", "row 3, column 'available': 'tea[|]tea' is not a list"),
        (6, "tea|", "row 3, column 'available': 'tea[|]' is not a list"),
        (6, "[tea]", r"row 3, column 'available': '\[tea\]' is not a list"),
        (6, "{x}|mate", "row 3, column 'item_id': 'tea' was played, but is not among the available 'mate', '{x}'"),
    ],
)
def test_wrong_cells_are_named(tmp_path: Path, column: int, cell: str, message: str) -> None:
    wrong = [*GOOD[:1], "y", *GOOD[2:]]
    wrong[column] = f'"{cell}"' if "," in cell else cell
    path = written(tmp_path, HEADER + ",".join(GOOD) + "\n" + ",".join(wrong) + "\n")
    with pytest.raises(DataError, match=rf"log\.csv, {message}"):
        read_log(path)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("1,x,tea,1,1,0.5,tea|mate", "row 3, column 'item_id': 'tea' was played before in the same decision"),
        ("1,x,mate,1,1,0.5,mate", "row 3, column 'available': 'mate' differs from the first row"),
        ("1,x,mate,1,1,0.5", "row 3: 6 cells for 7 columns"),
        ("1,x,mate,1,1,0.5,mate,8", "row 3: 8 cells for 7 columns"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, second: str, message: str) -> None:
    path = written(tmp_path, f"{HEADER}1,x,tea,1,1,0.5,tea|mate\n{second}\n")
    with pytest.raises(DataError, match=message):
        read_log(path)


def test_a_log_with_a_blank_propensity_is_one_without(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,item_id,click,propensity_score\n1,a,1,\n2,b,0,0.5\n")
    log = read_log(path)
    assert not log.has_propensities
    assert log.notes == ("1 of 2 rows have no propensity, so the log counts as one without propensities",)


def test_blank_lines_count_and_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,item_id,click,propensity_score\n1,a,1,0.5\n\n2,b,1,7\n\n")
    with pytest.raises(DataError, match="row 4, column 'propensity_score': '7'"):
        read_log(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log.csv is empty"),
        (
            "when,sku,sold,p\n",
            "has no column 'timestamp', 'item_id', 'reward', but 'when', 'sku', 'sold', 'p'; name what is missing with "
            "columns={'timestamp': '…', 'item_id': '…', 'reward': '…'}$",
        ),
        ("timestamp;item_id;click;propensity_score\n1;a;1;0,5\n", "the separator looks like ';'; save it with commas"),
        (
            "timestamp,items,click,propensity_score\n",
            "has no column 'item_id', but 'items'; .*columns={'item_id': 'items'}",
        ),
        ("timestamp,item_id,value,propensity_score\n", "has no column 'reward', but 'value'"),
        ("timestamp,item_id,click,click,propensity_score\n", "has several columns 'click'"),
        ("timestamp,item_id,click,propensity_score\n", "log.csv has no rows"),
        ('timestamp,item_id,click,propensity_score\n1,"a', "cannot be read as a CSV file"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_log(written(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_log(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="there is no file"):
        read_log(tmp_path / "nothing.parquet")
    with pytest.raises(DataError, match="cannot be read as a Parquet file"):
        read_log(written(tmp_path, HEADER, "log.parquet"))
    (tmp_path / "bad.csv").write_bytes(b"timestamp,\xff\xfe\n")
    with pytest.raises(DataError, match=r"cannot be read as a CSV file: its text is not UTF-8; save it as UTF-8$"):
        read_log(tmp_path / "bad.csv")
    with pytest.raises(DataError, match="cannot be read as a CSV file"):
        read_log(tmp_path)


def test_positions_need_their_own_propensities() -> None:
    with pytest.raises(DataError, match="has no column of positions"):
        log_of(*TINY).by_position()
    several = log_of(["a", "b"], [0, 1], 0.5, decision_id="x", position=[1, 2])
    with pytest.raises(DataError, match="read the log with rounds='row'"):
        several.by_position()


def test_positions_keep_what_was_available() -> None:
    log = log_of(["a", "b", "b"], [1, 0, 1], 0.5, position=[1, 2, 1], available=["a|b", "b|c", "b"])
    first = log.by_position()["1"]
    assert first.items == ("a", "b", "c")
    assert evaluate(first, "uniform").shares["uniform"] == pytest.approx([0.25, 0.75, 0.0])


def test_the_names_of_very_many_arms_fit_in_a_cell(tmp_path: Path) -> None:
    names = [f"arm {place}" for place in range(20_000)]
    file = tmp_path / "log.csv"
    row = {"timestamp": 1, "item_id": "arm 7", "reward": 1.0, "propensity_score": 0.5, "available": "|".join(names)}
    pd.DataFrame([row]).to_csv(file, index=False)
    assert len(read_log(file).items) == 20_000
