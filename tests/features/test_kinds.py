"""The kinds of features: what is taken, cut, counted and refused, one value at a time and by columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import EvenhandError
from evenhand.features import Category, Feature, Features, Flag, Number, Vector

TEXT: Any = "a"
AGE = Number(0, 100)
MAYBE = Number(-10, 10, missing=5)
OPEN = Category(["DE", "FR", "3"])
CLOSED = Category(["DE", "FR"], unknown="error")


def put(kind: Feature, value: Any) -> tuple[list[float], str | None]:
    row = np.zeros(len(kind.labels("x")))
    note = kind.put(value, row, 0)
    return row.tolist(), note


@pytest.mark.parametrize(
    ("kind", "value", "numbers", "note"),
    [
        (AGE, 25, [0.25], None),
        (AGE, 25.0, [0.25], None),
        (AGE, np.float32(25), [0.25], None),
        (AGE, 0, [0.0], None),
        (AGE, 130, [1.0], "cut"),
        (AGE, -1e300, [0.0], "cut"),
        (AGE, 10**300, [1.0], "cut"),
        (MAYBE, None, [0.75, 1.0], "missing"),
        (MAYBE, 5, [0.75, 0.0], None),
        (OPEN, "FR", [0, 1, 0, 0], None),
        (OPEN, 3, [0, 0, 1, 0], None),
        (OPEN, 3.0, [0, 0, 1, 0], None),
        (OPEN, np.str_("FR"), [0, 1, 0, 0], None),
        (OPEN, "IT", [0, 0, 0, 1], "unknown"),
        (OPEN, 0, [0, 0, 0, 1], "unknown"),
        (OPEN, "other", [0, 0, 0, 1], "unknown"),
        (OPEN, None, [0, 0, 0, 1], "missing"),
        (OPEN, "", [0, 0, 0, 1], "missing"),
        (CLOSED, "DE", [1, 0], None),
        (Flag(), True, [1], None),
        (Flag(), np.bool_(False), [0], None),
        (Flag(), 1, [1], None),
        (Vector(2), [0.5, -3], [0.5, -3], None),
        (Vector(2), np.array([1, 2]), [1, 2], None),
        (Vector(2), np.array([1, 2], dtype=object), [1, 2], None),
        (Vector(2), np.array([1, 2], dtype=np.float16), [1, 2], None),
        (Vector(1), (1e6,), [1e6], None),
    ],
)
def test_a_value_becomes_numbers(kind: Feature, value: Any, numbers: list[float], note: str | None) -> None:
    assert put(kind, value) == (numbers, note)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (AGE, None, "is missing"),
        (AGE, "25", "must be a number, got '25'"),
        (AGE, True, "must be a number, got True"),
        (AGE, math.nan, "must be a finite number, got nan"),
        (AGE, math.inf, "must be a finite number, got inf"),
        (AGE, 10**400, "must be at most 1.7977e+308, got 1"),
        (AGE, [1], "must be a number, got [1]"),
        (MAYBE, math.nan, "must be a finite number, got nan"),
        (CLOSED, "IT", "must be 'DE' or 'FR', got 'IT'"),
        (CLOSED, None, "is missing"),
        (OPEN, True, "must be a name (declare true and false as Flag), got True"),
        (OPEN, 1.5, "must be a name, got 1.5"),
        (OPEN, ["DE"], "must be a name, got ['DE']"),
        (OPEN, math.nan, "must be a name, got nan"),
        (Flag(), None, "is missing"),
        (Flag(), "true", "must be true or false, got 'true'"),
        (Flag(), 2, "must be true or false, got 2"),
        (Flag(), math.nan, "must be true or false, got nan"),
        (Vector(2), None, "is missing"),
        (Vector(2), [1], "must be a list of 2 numbers, got 1"),
        (Vector(2), [1, 2, 3], "must be a list of 2 numbers, got 3"),
        (Vector(2), "12", "must be a list of 2 numbers, got '12'"),
        (Vector(2), np.zeros((1, 2)), "must be a list of 2 numbers, got an array of shape (1, 2)"),
        (Vector(2), np.array(1.0), "must be a list of 2 numbers, got an array of shape ()"),
        (Vector(2), [[1, 2]], "must be a list of 2 numbers, got 1"),
        (Vector(2), [[1, 2], [3]], "[0] must be a number, got [1, 2]"),
        (Vector(2), np.ones(2, dtype=complex), "[0] must be a number, got"),
        (Vector(2), [1, "2"], "[1] must be a number, got '2'"),
        (Vector(2), [1, True], "[1] must be a number, got True"),
        (Vector(2), [1, None], "[1] must be a number, got None"),
        (Vector(2), [math.nan, 1], "[0] must be a number in [-1e+06, 1e+06], got nan"),
        (Vector(2), [1, 10**400], "[1] must be at most 1.7977e+308"),
        (Vector(2), [2e6, 1], "[0] must be a number in [-1e+06, 1e+06], got 2000000.0"),
    ],
)
def test_a_wrong_value_is_refused(kind: Feature, value: Any, message: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        put(kind, value)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number(1, 1), "high must be above low (1), by a finite number, got 1"),
        (lambda: Number(-1e308, 1e308), "high must be above low"),
        (lambda: Number(TEXT, math.nan), "low must be a number, got 'a'\nhigh must be a finite number, got nan"),
        (lambda: Number(0, 1, missing=2), "missing must be a number in [0, 1], got 2"),
        (lambda: Category([]), "levels must have at least one level"),
        (lambda: Category("DE"), "levels must be a list of names, got 'DE'"),
        (lambda: Category(["DE", "DE"]), "levels[1] is 'DE' again"),
        (lambda: Category([3, "3"]), "levels[1] is '3' again"),
        (lambda: Category(["DE", ""]), "levels[1] must be a name, got ''"),
        (lambda: Category(["other", "DE"]), "levels must leave out 'other'"),
        (lambda: Category(["DE"], unknown="ignore"), "unknown must be 'other' or 'error', got 'ignore'"),
        (lambda: Vector(0), "length must be at least 1, got 0"),
    ],
)
def test_a_declaration_without_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        make()
    assert str(caught.value).startswith(message)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-200, 200), st.floats(), st.sampled_from(["DE", "FR", "IT", "", "3"]),
    st.lists(st.floats(-1, 1), min_size=2, max_size=2), st.just(10**400),
)  # fmt: skip


@given(st.lists(VALUES, max_size=8), st.sampled_from([AGE, MAYBE, OPEN, CLOSED, Flag(), Vector(2)]))
def test_a_column_is_as_its_values_one_by_one(values: list[Any], kind: Feature) -> None:
    table = np.zeros((len(values), len(kind.labels("x"))))
    faults: list[tuple[int, EvenhandError]] = []
    notes = kind.put_all(values, table, 0, faults)
    wrong = {place: str(error) for place, error in faults}
    counted: dict[str, int] = {}
    for place, value in enumerate(values):
        if place in wrong:
            with pytest.raises(EvenhandError) as caught:
                put(kind, value)
            assert wrong.pop(place) == str(caught.value)
            continue
        numbers, note = put(kind, value)
        assert table[place].tolist() == numbers
        if note:
            counted[note] = counted.get(note, 0) + 1
    assert not wrong
    assert dict(notes) == counted


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (AGE, "2.5", 2.5),
        (AGE, "", None),
        (OPEN, "DE", "DE"),
        (OPEN, "", None),
        (Flag(), "True", True),
        (Flag(), "0.0", False),
        (Flag(), "", None),
        (Vector(2), "[0.5, 1]", [0.5, 1.0]),
        (Vector(2), "[0.5 1.]", [0.5, 1.0]),
        (Vector(2), "", None),
    ],
)
def test_a_cell_of_a_file_is_read(kind: Feature, text: str, value: Any) -> None:
    assert kind.read(text) == value


@pytest.mark.parametrize(("kind", "text"), [(AGE, "1,5"), (Flag(), "2"), (Vector(2), "[a, 1]")])
def test_a_cell_that_holds_something_else_is_refused(kind: Feature, text: str) -> None:
    with pytest.raises(EvenhandError, match=f"got '{text}'".replace("[", r"\[")):
        kind.read(text)


def test_a_level_is_found_as_it_is_encoded() -> None:
    assert [OPEN.level(one) for one in ("DE", 3, "IT", None, "")] == ["DE", "3", "other", "other", "other"]


def test_a_kind_of_ones_own_needs_two_members() -> None:
    class Hour(Feature):
        def labels(self, name: str) -> tuple[str, ...]:
            return (f"{name}=sin", f"{name}=cos")

        def put(self, value: Any, row: Any, at: int) -> None:
            row[at], row[at + 1] = math.sin(value / 12 * math.pi), math.cos(value / 12 * math.pi)

    kinds: dict[str, Any] = {"hour": Hour()}
    from evenhand.core.parts import register

    register("feature", "hour", Hour)
    features = Features(kinds, intercept=False)
    assert features.encode([{"hour": 6}, {"hour": 12}]).round(9).tolist() == [[1, 0], [0, -1]]
    table: Any = {"hour": {"kind": "hour"}}
    assert Features(table).widths == (3, 0)
