"""Declarations learned from tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import EvenhandError, Features
from evenhand.features import Category, Flag, Number, Vector

FRAME = pd.DataFrame(
    {
        "age": [20.0, None, 60.0, 30.0],
        "visits": [3, 1, 2, 2],
        "new": [True, False, True, True],
        "member": [0, 1, 1, 0],
        "country": ["FR", None, "DE", "other"],
        "query": [[0.5, 1.0], [0.25, 0.0], [0.0, 0.0], [0.0, 1.0]],
        "size": pd.Categorical(["S", "L", "L", "S"]),
        "price": [1, 2, 3, 4],
    }
)


def test_every_column_gets_its_kind() -> None:
    features = Features.of(FRAME, arms=["price"])
    assert features == Features(
        {
            "age": Number(20, 60, missing=30),
            "visits": Number(1, 3),
            "new": Flag(),
            "member": Flag(),
            "country": Category(["DE", "FR"]),
            "query": Vector(2),
            "size": Category(["L", "S"]),
        },
        {"price": Number(1, 4)},
    )
    assert features.encode(FRAME).shape == (4, sum(features.widths))
    later = {**FRAME.iloc[0].to_dict(), "age": 90, "country": "IT"}
    counts: Counter[tuple[str, str]] = Counter()
    features.encode([later], counts)
    assert counts == {("age", "cut"): 1, ("country", "unknown"): 1}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"mail": [f"{i}@example.org" for i in range(101)]}, "mail has 101 different names, more than 100: group"),
        ({"one": [1, 1]}, "one is 1 in every row, which says nothing: leave the column out"),
        ({"one": ["a", "a"]}, "one is 'a' in every row"),
        ({"one": [1.0, None]}, "one is 1 wherever it is known: declare a Flag of whether it is"),
        ({"none": [None, None]}, "none has no value"),
        ({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}, "when must be numbers, names, true or false, or"),
        ({"x": [True, None]}, "x has blanks, and a flag cannot be missing: write names, such as 'yes' and 'no'"),
        ({"x": pd.array([True, None], dtype="boolean")}, "x has blanks, and a flag cannot be missing"),
        ({"x": [1.0, np.inf]}, "x must be finite numbers, got inf"),
        ({"a": [1, 2], "b": [1, 2]}, "b has the same values as 'a' in every row: leave the column out"),
        ({"v": [[1.0], [1.0, 2.0]]}, "v has lists of 1 to 2 numbers; all must have as many"),
        ({"v": [[1.0], None]}, "v has rows without a list of numbers"),
        ({"v": [[1.0], ["a"]]}, "v[1][0] must be a number, got 'a'"),
        ({"v": ["a", 1]}, "v must be numbers, names, true or false, or lists of numbers, got 1"),
        ({"v": [{1}, {2}]}, "v must be numbers, names, true or false, or lists of numbers, got {1}"),
        ({"v": ["a", {"b": 1}]}, "v must be numbers, names, true or false, or lists of numbers, got {'b': 1}"),
        ({"v": []}, "the table has no rows"),
    ],
)  # fmt: skip
def test_a_column_that_says_nothing_or_too_much_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        Features.of(pd.DataFrame(columns))
    assert str(caught.value).startswith(message)


def test_all_faults_of_a_table_are_said_at_once() -> None:
    with pytest.raises(EvenhandError) as caught:
        Features.of(pd.DataFrame({"a": [1, 1], "b": ["x", "x"], "c": [1, 2]}), arms=["d"])
    assert [fault.path for fault in caught.value.faults] == [("arms",), ("a",), ("b",)]


def test_a_column_may_have_more_levels_where_that_is_said() -> None:
    names = pd.DataFrame({"code": [f"c{i:03}" for i in range(150)]})
    assert len(Features.of(names, levels=150).columns) == 152


@pytest.mark.parametrize("arms", [5, None, True, "price"])
def test_columns_of_arms_are_a_list(arms: Any) -> None:
    with pytest.raises(EvenhandError, match=rf"arms must be a list of columns, such as \['price'\], got {arms!r}"):
        Features.of(FRAME, arms=arms)


@pytest.mark.parametrize("names", [[0, 1], ["a", "a"]])
def test_columns_have_different_texts_as_names(names: list[Any]) -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=names)
    with pytest.raises(EvenhandError, match="a table must have different texts as names of its columns, got"):
        Features.of(frame)
    with pytest.raises(EvenhandError, match=r"there (are several columns|is no column) 'a'"):
        Features({"a": Number(0, 10)}).encode(frame)


def test_what_is_no_table_is_refused() -> None:
    rows: Any = [{"age": 20}]
    with pytest.raises(EvenhandError, match=r"frame must be a table of pandas, a row per decision, got \[\{'age': 20"):
        Features.of(rows)
