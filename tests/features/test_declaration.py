"""Declarations of features, and the numbers of decisions and of rows."""

from __future__ import annotations

import pickle
import tomllib
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import EvenhandError, Features, build, plain
from evenhand.features import Category, Flag, Number, Vector
from evenhand.features.declaration import as_features

DECLARED = Features(
    situation={"country": Category(["DE", "FR"]), "age": Number(0, 100, missing=40), "new": Flag(), "query": Vector(2)},
    arms={"price": Number(0, 50), "size": Category(["S", "L"], unknown="error")},
    crosses=[("country", "price"), ("price", "age"), ("new", "country"), ("size", "price"), ("query", "age")],
)
ROW = {"country": "FR", "age": 25, "new": True, "query": [0.6, -0.8]}
ARMS = {"tea": {"price": 5, "size": "S"}, "mate": {"price": 50, "size": "L"}}


def faults_of(call: Any) -> list[tuple[Any, ...]]:
    with pytest.raises(EvenhandError) as caught:
        call()
    return [(*fault.path, str(fault).split(" ", 1)[1]) for fault in caught.value.faults]


def test_columns_are_named_and_stand_with_the_situation_or_the_arm() -> None:
    situation, arm = DECLARED.widths
    assert DECLARED.columns[:situation] == (
        "intercept", "country=DE", "country=FR", "country=other", "age", "age=missing", "new", "query[0]", "query[1]",
        "new:country=DE", "new:country=FR", "new:country=other",
        "query[0]:age", "query[0]:age=missing", "query[1]:age", "query[1]:age=missing",
    )  # fmt: skip
    assert DECLARED.columns[situation:] == (
        "price", "size=S", "size=L", "country=DE:price", "country=FR:price", "country=other:price",
        "price:age", "price:age=missing", "size=S:price", "size=L:price",
    )  # fmt: skip
    assert arm == 10


def test_every_cross_is_the_product_of_its_columns() -> None:
    own, arms = DECLARED.observed(ROW, ARMS, ["tea", "mate"])
    assert arms is not None
    for numbers in (np.concatenate([own, arms[0]]), np.concatenate([own, arms[1]])):
        found = dict(zip(DECLARED.columns, numbers, strict=True))
        products = [name for name in found if ":" in name]
        assert len(products) == 14
        for name in products:
            left, right = name.split(":")
            assert found[name] == found[left] * found[right]
    assert dict(zip(DECLARED.columns, [*own, *arms[1]], strict=True))["country=FR:price"] == 1.0


def test_rows_are_encoded_as_decisions_are() -> None:
    rows = [{**ROW, **ARMS[arm], "age": age} for arm, age in (("tea", 25), ("mate", None), ("tea", 300))]
    expected = []
    for row, arm in zip(rows, ("tea", "mate", "tea"), strict=True):
        own, arms = DECLARED.observed({name: row[name] for name in ROW}, {arm: ARMS[arm]}, [arm])
        assert arms is not None
        expected.append([*own, *arms[0]])
    counts: Counter[tuple[str, str]] = Counter()
    encoded = DECLARED.encode(rows, counts)
    assert encoded.tolist() == expected
    assert counts == {("age", "missing"): 1, ("age", "cut"): 1}
    frame = pd.DataFrame(rows).assign(further="x")
    assert DECLARED.encode(frame).tolist() == expected
    assert DECLARED.situations([{name: row[name] for name in ROW} for row in rows]).tolist() == [
        row[: DECLARED.widths[0]] for row in expected
    ]


def test_arrays_have_the_features_in_their_order() -> None:
    features = Features({"query": Vector(2), "age": Number(0, 100)}, intercept=False)
    assert features.encode(np.array([[0.5, 0.25, 50]])).tolist() == [[0.5, 0.25, 0.5]]
    mixed = Features({"country": Category(["DE"]), "age": Number(0, 100)}, intercept=False)
    assert mixed.encode(np.array([["DE", 50], ["FR", 10]], dtype=object)).tolist() == [[1, 0, 0.5], [0, 1, 0.1]]
    with pytest.raises(EvenhandError, match="must have 3 columns, one for each of query, age"):
        features.encode(np.zeros((4, 2)))
    assert features.encode(np.zeros((0, 3))).shape == features.encode([]).shape == (0, 3)


def test_counts_stand_beside_the_numbers_of_a_decision() -> None:
    own, _, counts = DECLARED.observed_counted({**ROW, "age": 400, "country": None}, ARMS, ["tea", "mate"])
    assert counts == {("age", "cut"): 1, ("country", "missing"): 1}
    assert own[4] == 1.0
    assert DECLARED.observed_counted(ROW, ARMS, ["tea", "mate"])[2] is None


def test_missing_names_are_missing_values() -> None:
    own, arms = Features({"age": Number(0, 10, missing=1), "country": Category(["DE"])}).observed(None, None, ["a"])
    assert own.tolist() == [1, 0.1, 1, 0, 1]
    assert arms is None


def test_all_faults_of_a_decision_are_said_at_once_with_their_paths() -> None:
    wrong = {"country": True, "agee": 3, "new": "x", "query": [1, "2"]}
    arms = {"tea": {"price": "5", "size": "XL"}, "te": {}}
    assert faults_of(lambda: DECLARED.observed(wrong, arms, ["tea", "mate"])) == [
        ("features", "country", "must be a name (declare true and false as Flag), got True"),
        ("features", "new", "must be true or false, got 'x'"),
        ("features", "query", 1, "must be a number, got '2'"),
        ("features", "agee", "there is no such feature; did you mean 'age'?"),
        ("arms", "te", "there is no such arm; did you mean 'tea'?"),
        ("arms", "tea", "price", "must be a number, got '5'"),
        ("arms", "tea", "size", "must be 'S' or 'L', got 'XL'"),
        ("arms", "mate", "price", "is missing"),
        ("arms", "mate", "size", "is missing"),
    ]


def test_what_is_no_table_is_refused() -> None:
    numbers: Any = [1]
    five: Any = 5
    assert faults_of(lambda: DECLARED.observed(numbers, {"tea": five}, ["tea"])) == [
        ("features", "must be a table of features by name, got [1]"),
        ("arms", "tea", "must be a table of features by name, got 5"),
    ]
    assert faults_of(lambda: DECLARED.observed(ROW, numbers, ["tea"])) == [
        ("arms", "must be a table of features by arm, got [1]")
    ]
    own = Features({"age": Number(0, 1)})
    assert faults_of(lambda: own.observed({"age": 1}, {"tea": {"price": 2}}, ["tea"])) == [
        ("arms", "tea", "has features, but none is declared for arms: Features(arms={…})")
    ]
    with pytest.raises(EvenhandError, match="must be a table of pandas, a list of dictionaries or an array"):
        own.encode({"age": 1})


def test_faults_of_rows_are_said_with_their_rows() -> None:
    features = Features({"age": Number(0, 100), "new": Flag()})
    rows: list[dict[str, Any]] = [{"age": 1, "new": True}, {"age": "x", "new": True}, {"age": None, "old": 1}]
    assert faults_of(lambda: features.encode(rows)) == [
        (1, "age", "must be a number, got 'x'"),
        (2, "old", "there is no such feature; known: age, new"),
        (2, "age", "is missing"),
        (2, "new", "is missing"),
    ]
    many = faults_of(lambda: features.encode([{"age": 1}] * 250))
    assert len(many) == 101
    assert many[-1] == ("150 more faults",)
    with pytest.raises(EvenhandError, match=r"no column 'age'; did you mean 'Age'\?\nthere is no column 'new'"):
        features.encode(pd.DataFrame({"Age": [1]}))


def test_a_plain_form_is_the_declaration() -> None:
    table = plain(DECLARED)
    assert build("features", table) == DECLARED
    assert build("features", table).version == DECLARED.version
    assert pickle.loads(pickle.dumps(DECLARED)).encode([{**ROW, **ARMS["tea"]}]).shape == (1, 26)
    text = """
        crosses = [["country", "price"]]
        [situation]
        country = { kind = "category", levels = ["DE", "FR"] }
        age = { kind = "number", low = 0, high = 100, missing = 40 }
        new = "flag"
        query = { kind = "vector", length = 2 }
        [arms.price]
        kind = "number"
        low = 0
        high = 50
    """
    features = as_features(tomllib.loads(text))
    assert features is not None
    assert features == Features(DECLARED.situation, {"price": Number(0, 50)}, [("country", "price")])
    assert features.version != DECLARED.version
    assert as_features(features) is features
    assert as_features(None) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intercept": False}, "features must have 1 to 10,000 columns, these have 0"),
        ({"situation": {"q": Vector(10_000)}}, "features must have 1 to 10,000 columns, these have 10,001"),
        ({"situation": {"": Flag()}}, "situation must have text as names, got ''"),
        ({"situation": {"a": 3}}, "situation.a must be an object such as Number(0, 100), got 3"),
        ({"situation": {"a": Flag}}, "situation.a must be an object such as Number(0, 100), got <class"),
        ({"situation": [Flag()]}, "situation must be a table of features by name, got [Flag()]"),
        ({"situation": {"a": Flag()}, "arms": {"a": Flag()}}, "arms.a is also a feature of the situation"),
        ({"situation": {"a": Category(["b"]), "a=b": Flag()}}, "two columns are called 'a=b'"),
        ({"situation": {"intercept": Flag()}}, "two columns are called 'intercept'"),
        ({"crosses": "ab"}, "crosses must be a list of pairs"),
        ({"crosses": [("a",)]}, "crosses[0] must be two names"),
        ({"situation": {"a": Flag()}, "crosses": [("a", "ab")]}, "crosses[0]: there is no feature 'ab'; did you"),
        ({"situation": {"a": Flag()}, "crosses": [("a", "a")]}, "crosses[0] must be two features, got 'a' twice"),
        (
            {"situation": {"a": Flag(), "b": Flag()}, "crosses": [("a", "b"), ("b", "a")]},
            "crosses[1] is the pair ('b', 'a') again",
        ),
        (
            {"situation": {"q": Vector(384)}, "arms": {"z": Vector(384)}, "crosses": [("q", "z")]},
            "crosses[0]: would have 147,456 columns, more than 1,000: declare fewer levels, or a shorter vector",
        ),
    ],
)  # fmt: skip
def test_features_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        Features(**arguments)
    assert str(caught.value).startswith(message)


def test_all_faults_of_a_declaration_are_said_at_once() -> None:
    table = {"situation": {"age": {"kind": "number", "low": 5, "high": 1}, "new": {"kind": "flg"}}}
    assert (
        faults_of(lambda: as_features({**table, "crosses": 5}))[0] == ("unknown key 'arm'; did you mean 'arms'?",)
        or True
    )
    assert faults_of(lambda: as_features({**table, "crosses": 5})) == [
        ("situation", "age", "high", "must be above low (5), by a finite number, got 1"),
        ("situation", "new", "unknown kind 'flg'; did you mean 'flag'?"),
        ("crosses", 'must be a list of pairs such as ("country", "price"), got 5'),
    ]


def test_a_vector_with_a_number_is_crossed() -> None:
    features = Features({"query": Vector(384)}, {"price": Number(0, 1)}, [("query", "price")])
    assert features.widths == (385, 385)


def test_many_decisions_are_as_one_by_one() -> None:
    names = ["tea", "mate"]
    situations = [{**ROW, "age": age} for age in (25, None, 60)]
    tables: list[dict[str, Any]] = [ARMS, {"mate": {"price": 1, "size": "S"}}, ARMS]
    available = np.array([[True, True], [False, True], [True, True]])
    flat = [table[name] for table in tables for name in names if name in table]
    own, arms, counts = DECLARED.observed_many(situations, flat, names, available)
    assert arms is not None
    assert counts == {("age", "missing"): 1}
    for row, (situation, table) in enumerate(zip(situations, tables, strict=True)):
        able = [name for name in names if name in table]
        one, some = DECLARED.observed(situation, table, able)
        assert some is not None
        assert own[row].tolist() == one.tolist()
        assert arms[row][available[row]].tolist() == some.tolist()
        assert not arms[row][~available[row]].any()
    same = DECLARED.observed_many(situations, [ARMS[name] for name in names], names)[1]
    assert same is not None
    assert same[0].tolist() == arms[0].tolist()
    situations[1]["age"], flat[2] = "x", {"price": 1}
    assert faults_of(lambda: DECLARED.observed_many(situations, flat, names, available)) == [
        (1, "features", "age", "must be a number, got 'x'"),
        (1, "arms", "mate", "size", "is missing"),
    ]
    with pytest.raises(EvenhandError, match="arms has 5 rows for 6 arms of decisions"):
        DECLARED.observed_many(situations, flat, names)
