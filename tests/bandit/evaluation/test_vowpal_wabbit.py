"""Logs of Vowpal Wabbit, as JSON and as text; what a line means was compared with version 9.11.9 by its --audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import Features
from evenhand.core.errors import DataError
from evenhand.evaluation import read_vowpal_wabbit
from evenhand.features import Category, Flag, Number, Vector

TEXT = """shared |User age:20 country=DE new |Page:2 depth:1.5
0:-1:0.5 'tea|Action price:2 hot
'mate|Action price:3

shared |User age:40 country=FR |Page depth:1
tea|Action price:2.5 hot
0:0:0.25 mate|Action price:3
water|Action price:1

shared |User age:50
tea|Action price:2.5
"""


def event(cost: float | None, played: int, **more: Any) -> dict[str, Any]:
    tea: dict[str, Any] = {"_tag": "tea", "Action": {"price": 2.5, "kind": "hot", "id": "t"}}
    mate: dict[str, Any] = {"_tag": "mate", "Action": {"price": 3 + played, "kind": "cold", "id": "m"}}
    user = {"age": 30 + played, "country": "DE" if played else "FR", "code": [0.5 * played, 1], "none": None}
    found = {
        "_label_probability": 0.8, "_label_Action": played + 1, "_labelIndex": played,
        "Timestamp": f"2026-03-01T10:0{played}:00.0000000Z", "EventId": f"e{played}", "a": [played + 1, 2 - played],
        "c": {"User": user, "FromUrl": [{"device": {"new": bool(played)}}], "_multi": [tea, mate]}, "p": [0.8, 0.2],
    }  # fmt: skip
    return {**({} if cost is None else {"_label_cost": cost}), **found, **more}


def written(folder: Path, text: str) -> Path:
    path = folder / "train"
    path.write_text(text, encoding="utf-8")
    return path


def test_text_is_read_as_vowpal_wabbit_reads_it(tmp_path: Path) -> None:
    log = read_vowpal_wabbit(written(tmp_path, TEXT))
    assert log.reading.features == Features(
        {
            "User.age": Number(20, 40),
            "User.country": Category(["DE", "FR"]),
            "User.new": Flag(),
            "Page.depth": Number(1, 3),
        },
        {"Action.price": Number(1, 3), "Action.hot": Flag()},
    )
    assert log.notes == ("1 decision without a cost, or not to learn from, left out",)
    assert [log.items[one] for one in log.item] == ["tea", "mate"]
    assert log.reward.tolist() == [1.0, 0.0]
    assert log.propensity.tolist() == [0.5, 0.25]
    assert log.known is not None
    assert log.known.situation.tolist() == [[1, 0, 1, 0, 0, 1, 1], [1, 1, 0, 1, 0, 0, 0]]
    assert log.items == ("mate", "tea", "water")
    assert log.known.arms is not None
    assert log.known.arms.tolist() == [[[1, 0], [0.5, 1], [0, 0]], [[1, 0], [0.75, 1], [0, 0]]]
    assert log.sets[log.available].tolist() == [[True, True, False], [True, True, True]]


def test_json_is_read_with_its_namespaces(tmp_path: Path) -> None:
    lines = [event(-1.0, 1), event(0.25, 0), event(0.0, 0, _skipLearn=True), event(None, 1, EventId="dangling")]
    log = read_vowpal_wabbit(written(tmp_path, "\n".join(map(json.dumps, lines)) + "\n\n"))
    assert log.reading.features is not None
    assert dict(log.reading.features.situation) == {
        "User.age": Number(30, 31),
        "User.country": Category(["DE", "FR"]),
        "User.code": Vector(2),
        "FromUrl.device.new": Flag(),
    }
    assert log.notes[0] == "2 decisions without a cost, or not to learn from, left out"
    assert [log.items[one] for one in log.item] == ["tea", "mate"]  # in the order of time
    assert log.reward.tolist() == [-0.25, 1.0]
    assert set(log.reading.features.arms) == {"Action.price", "Action.kind", "Action.id"}


def test_names_of_actions_are_tags_or_a_feature_or_places(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(event(-1.0, 1)))
    features = Features({"User.age": Number(0, 100)}, {"Action.price": Number(0, 10)})
    assert read_vowpal_wabbit(path, names="Action.id", features=features).items == ("m", "t")
    without = json.dumps(event(-1.0, 1)).replace("_tag", "_other")
    assert read_vowpal_wabbit(written(tmp_path, without), features=features).items == ("1", "2")
    with pytest.raises(DataError, match=r"line 1 .* action 1 has no feature 'id'; it has Action.price, Action.kind"):
        read_vowpal_wabbit(path, names="id", features=features)
    twice = json.dumps(event(-1.0, 1)).replace('"mate"', '"tea"')
    with pytest.raises(DataError, match="two actions are called 'tea'; give the feature that names them"):
        read_vowpal_wabbit(written(tmp_path, twice), features=features)


def test_features_that_say_nothing_or_too_much_are_left_out_with_a_note(tmp_path: Path) -> None:
    lines = [event(-1.0, row % 2, EventId=str(row)) for row in range(210)]
    for row, one in enumerate(lines):
        one["c"]["User"] |= {"mail": f"{row}@example.org", "constant": 1}
    log = read_vowpal_wabbit(written(tmp_path, "\n".join(map(json.dumps, lines))))
    assert log.reading.features is not None
    assert "User.mail" not in log.reading.features.situation
    assert "User.mail is not read, as it has 210 different names, more than 100" in log.notes[0]
    assert "User.constant is not read, as it is 1" in log.notes[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no decision with a cost"),
        ('{"a": 1', "line 1 is not a decision in dsjson: Expecting"),
        ('{"_label_cost": 1}', "line 1 is not a decision in dsjson: it has no 'c'"),
        (json.dumps(event(1, 1)) + "\n" + json.dumps(event(1, 0, _labelIndex=7)), "line 2 .* action 8 of 2 was played"),
        ("shared |User a\n0:x:0.5 |Action b\n", "line 2 is not a line for --cb_adf, such as .*: '0:x:0.5 |Action b'"),
        ("1 |User a\n", "line 1 is not a line for --cb_adf"),
    ],
)
def test_a_line_that_is_something_else_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message.replace("|", r"\|")):
        read_vowpal_wabbit(written(tmp_path, text))


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_vowpal_wabbit(tmp_path / "none")
