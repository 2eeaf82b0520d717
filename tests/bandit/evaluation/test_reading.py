"""How logs are read: columns by usual names or mapped once, times, blanks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand.bandit.evaluation.columns import Reading, kept_with
from evenhand.bandit.evaluation.log import ONLY_SUCCESSES
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
    assert read_log(path, rewards=(0, 90), kept=False).reading.rewards == (0, 90)
    assert kept_with(path) == kept.with_(missing="lost")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mising = 'zero'", r"unknown key 'mising'; did you mean 'missing'\?"),
        ("rewards = [1]", r"rewards must be the smallest and the largest reward, such as 0, 80, got \[1\]"),
        ("rewards = 3", "rewards must be the smallest and the largest reward, .* got 3"),
        ("rewards = ['a', 2]", "rewards must be a number, got 'a'"),
        ("unit = 7", "unit must be a string, such as '€', got 7"),
        ("columns = 'a'", "columns must be a table of names by column, .*, got 'a'"),
        ("[columns]\nreward = 3", "columns.reward must be the name of a column in the log, got 3"),
        ("[columns]\nrward = 'x'", r"unknown column 'rward' in \[columns\]; did you mean 'reward'\?"),
        ("[columns]\narm = 'x'", r"unknown column 'arm' in \[columns\]; did you mean 'item_id'\?"),
        ("[columns]\nbought = 'reward'", r"unknown column 'bought' in \[columns\]; did you mean reward = 'bought'\?"),
        ("[columns]\nreward = 'x'\nitem_id = 'x'", "the columns 'reward' and 'item_id' are both 'x'"),
    ],
)
def test_a_damaged_file_beside_the_log_is_an_error_with_its_key_and_value(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "sales.csv"
    table().to_csv(path, index=False)
    (tmp_path / "sales.columns.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"sales\.columns\.toml does not say how .*sales\.csv is read: {message}"):
        read_log(path)


def test_the_plays_of_a_decision_may_share_the_time_that_is_its_id() -> None:
    frame = pd.DataFrame({"at": [1, 1], "item": ["a", "b"], "click": [1, 0]})
    assert Log.of(frame, {"timestamp": "at", "decision_id": "at"}).rounds == 1


def test_rows_as_rounds_are_kept_with_a_sentence_and_can_be_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "slots.csv"
    table(euros=1.0, decision_id=[1, 1, 2, 2]).to_csv(path, index=False)
    note = "every row is a round, as slots.columns.toml says; if not, remove rounds there or evaluate with --no-rows"
    for rounds in ("row", None):
        log = read_log(path, EUROS, rounds=rounds)
        assert (log.rounds, log.notes[-1]) == (4, note)
    assert read_log(path, rounds="decision").rounds == read_log(path).rounds == 2


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
        (
            {"rewarded": ["2026-01-01"] * 4, "euros": 1.0},
            {},
            "row 1, .*'2026-01-01' is a date without .* 'time' a number",
        ),
        (
            {"time": ["2026-01-01T00:00Z"] * 4, "rewarded": [None, "2026-01-01T01:00", None, None], "euros": 1.0},
            {},
            "row 2, column 'rewarded': .* is a date without a time zone, and 'time' a date with a time zone",
        ),
        ({"time": [0, 10, "2026-01-01", 30]}, {}, "row 3, column 'time': '2026-01-01' is not a number"),
        ({"time": ["2026-01-01", "2026-01-01", "2000", "2026-01-01"]}, {}, "row 3, column 'time': '2000' is a number"),
        ({"time": [0, 10, None, 30]}, {}, "row 3, column 'time': the cell is blank"),
        ({"euros": [1, 2, 95, 200]}, {"rewards": (0, 80)}, r"row 3, .*: 95 is not within .* rewards=\(0, 200\)"),
        ({}, {"missing": "never", "window": 3}, "missing='never' is without a window"),
        ({}, {"missing": "drop"}, "missing must be 'never' or 'lost' or 'zero', got 'drop'"),
        ({"euros": None}, {"missing": "never"}, "has no rows with a reward that is final"),
        ({}, {"missing": "lost", "window": 1e6}, "final: all are younger than the window, 1e\\+06"),
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
    assert Log.of(twice, EUROS).notes[0].startswith("4 of 8 rows repeat an earlier one in every column, first row 5:")
    once = pd.concat([table(euros=1.0, time=range(at, at + 4)) for at in range(0, 400, 4)] + [table(euros=1.0)[:1]])
    assert Log.of(once, EUROS).notes[0].startswith("1 of 401 rows repeat an earlier one in every column, first row 401")


def test_blanks_that_may_be_zeros_are_a_warning() -> None:
    for missing in ("never", "lost"):
        assert Log.of(table(), EUROS, missing=missing).notes[0] == ONLY_SUCCESSES
        assert ONLY_SUCCESSES not in Log.of(table(euros=[1.0, None, 0.0, None]), EUROS, missing=missing).notes
    assert ONLY_SUCCESSES not in Log.of(table(), EUROS, missing="zero").notes
    losses = table(euros=[1.0, None, -0.5, None])
    assert ONLY_SUCCESSES not in Log.of(losses, EUROS, missing="lost", rewards=(-1, 1)).notes


def test_a_log_is_printed_in_a_line() -> None:
    line = "the log: 4 plays of 2 items in 4 decisions, mean reward 1, propensities not known"
    assert str(Log.of(table(euros=1.0), EUROS)) == line
