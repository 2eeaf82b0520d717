"""How logs are read: columns by usual names or mapped once, times, blanks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand.bandit.evaluation.columns import Reading, kept_with
from evenhand.core.errors import DataError, EvenhandError
from evenhand.evaluation import Log, evaluate, read_log


def table(**columns: Any) -> pd.DataFrame:
    rows = {"time": [0, 10, 20, 30], "arm": ["a", "b", "a", "b"], "euros": [1.0, None, 3.0, None]}
    return pd.DataFrame(rows | columns)


EUROS = {"reward": "euros"}


def test_usual_names_are_recognised_in_any_case_and_two_of_them_are_a_question() -> None:
    frame = pd.DataFrame({"Time": [1], "Arm": ["tea"], "Revenue": [2.0]})
    log = Log.of(frame)
    assert (log.items, log.reward.tolist(), log.has_propensities) == (("tea",), [2.0], False)
    with pytest.raises(DataError, match=r"has 'Revenue', 'click': which is the reward\? Say so with columns={'reward'"):
        Log.of(frame.assign(click=1))
    assert Log.of(frame.assign(click=1, reward=3)).reward.tolist() == [3.0]


def test_only_evaluate_needs_propensities() -> None:
    with pytest.raises(EvenhandError, match="the log has no column 'propensity_score'"):
        evaluate(Log.of(table(euros=1.0), EUROS), "uniform")


def test_what_was_said_is_kept_beside_the_file_and_said_anew(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    table().to_csv(path, index=False)
    read_log(path, EUROS, missing="zero", rewards=(0, 80), unit="€")
    kept = Reading(EUROS, None, "zero", (0, 80), "€")
    assert kept_with(path) == kept
    again = read_log(path)
    assert again.reward.tolist() == [1.0, 0.0, 3.0, 0.0]
    assert again.notes[-1] == "read as sales.columns.toml says"
    assert read_log(path, missing="lost").reward.tolist() == [1.0, 3.0]
    assert kept_with(path) == kept.with_(missing="lost")
    (tmp_path / "sales.columns.toml").write_text("mising = 'zero'")
    with pytest.raises(DataError, match=r"sales\.columns\.toml does not say how .*sales\.csv is read: .*'mising'"):
        read_log(path)


def test_what_cannot_be_read_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    table().to_csv(path, index=False)
    with pytest.raises(DataError, match="as in 2 of 4 rows; say what that means"):
        read_log(path, EUROS)
    assert kept_with(path) == Reading()


@pytest.mark.parametrize(
    ("said", "rewards", "open", "note"),
    [
        ({"missing": "zero"}, [1, 0, 3, 0], 0, "2 of 4 rows have no reward, and count as 0"),
        ({"missing": "lost"}, [1, 3], 0, "2 of 4 rows have no reward, and were left out"),
        ({"missing": "never"}, [1, 3], 2, "2 of 4 rows have no reward yet, and were left out"),
        ({"missing": "zero", "window": 15}, [1, 0], 2, "2 of 4 rows are younger than the window, and were left out"),
        ({"missing": "lost", "window": 15}, [1], 2, "2 of 4 rows are younger than the window, and were left out"),
    ],
)
def test_a_blank_means_what_a_bandit_says(said: dict[str, Any], rewards: list[float], open: int, note: str) -> None:
    log = Log.of(table(), EUROS, **said)
    assert log.reward.tolist() == rewards
    assert log.plays is not None
    assert (int(log.plays.open.sum()), len(log.plays.item)) == (open, 4)
    assert log.notes[-1] == note


def test_a_reward_after_the_window_is_missing_and_one_before_the_decision_is_refused() -> None:
    late = table(euros=1.0, rewarded=[5, 30, None, 31])
    with pytest.raises(DataError, match="row 2, column 'euros': the reward came after the window, as in 1 of 4 rows"):
        Log.of(late, EUROS, window=15)
    log = Log.of(late, EUROS, window=11, missing="zero")
    assert log.reward.tolist() == [1.0, 0.0, 1.0]  # the last play is younger than the window
    with pytest.raises(DataError, match=r"row 2, column 'rewarded': 9\.0 is before the decision"):
        Log.of(table(euros=1.0, rewarded=[5, 9, None, 31]), EUROS)


@pytest.mark.parametrize(
    ("columns", "said", "message"),
    [
        ({"time": ["2026-01-01T00:00+01:00", "2026-01-01T00:00"] * 2}, {}, "row 2, .* has no time zone, and other"),
        ({"euros": [1, 2, 95, 200]}, {"rewards": (0, 80)}, r"row 3, .*: 95 is not within .* rewards=\(0, 200\)"),
        ({}, {"missing": "never", "window": 3}, "missing='never' is without a window"),
        ({}, {"missing": "drop"}, "missing must be 'never' or 'lost' or 'zero', got 'drop'"),
        ({"euros": None}, {"missing": "never"}, "has no rows with a reward that is final"),
        ({}, {"rewards": (1, 1)}, "the smallest and the largest reward"),
    ],
)
def test_what_is_refused(columns: dict[str, Any], said: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Log.of(table(**columns), EUROS, **said)


def test_what_is_noted() -> None:
    assert Log.of(table(euros=1.0, time=["2026-01-01"] * 4), EUROS).notes[-1] == (
        "times have no time zone, and are taken for UTC"
    )
    twice = pd.concat([table(euros=1.0)] * 2)
    assert Log.of(twice, EUROS).notes[0].startswith("4 of 8 rows repeat an earlier one in every column")
