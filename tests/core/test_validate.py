"""Bad input: every message says what is wrong, where, and what would be right."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, PerLane, algorithms
from evenhand.core import validate


def message_of(call: Callable[[], Any]) -> str:
    with pytest.raises(EvenhandError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("x", {}, "eta must be a number, got 'x'"),
        ("3", {}, "eta must be a number, got '3'"),
        (True, {}, "eta must be a number, got True"),
        (np.True_, {}, "eta must be a number, got np.True_"),
        (10**400, {}, "eta must be at most 1.7977e+308, got 1" + 38 * "0" + "…"),
        (None, {}, "eta must be a number, got None"),
        ([1.0], {}, "eta must be a number, got [1.0]"),
        (math.nan, {}, "eta must be a finite number, got nan"),
        (math.inf, {}, "eta must be a finite number, got inf"),
        (-1, {"low": 0.0}, "eta must be a number of at least 0, got -1"),
        (math.nan, {"low": 0.0, "inf": True}, "eta must be a number of at least 0 or inf, got nan"),
        (-math.inf, {"low": 0.0, "inf": True}, "eta must be a number of at least 0 or inf, got -inf"),
        (1.5, {"low": 0.0, "high": 1.0}, "eta must be a number in [0, 1], got 1.5"),
    ],
)
def test_number_refuses(value: Any, options: dict[str, Any], message: str) -> None:
    assert message_of(lambda: validate.number("eta", value, **options)) == message


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float64(0.25), np.int64(1)])
def test_number_accepts(value: Any) -> None:
    assert validate.number("eta", value, 0.0, 1.0) == float(value)


def test_number_accepts_infinity_only_on_request() -> None:
    assert validate.number("eta", math.inf, low=0.0, inf=True) == math.inf


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "plays must be at least 1, got 0"),
        (-3, "plays must be at least 1, got -3"),
        (2.0, "plays must be a whole number, got 2.0"),
        (True, "plays must be a whole number, got True"),
        ("2", "plays must be a whole number, got '2'"),
        (None, "plays must be a whole number, got None"),
    ],
)
def test_whole_refuses(value: Any, message: str) -> None:
    assert message_of(lambda: validate.whole("plays", value)) == message


@pytest.mark.parametrize("digits", [30, 400, 5000])
def test_whole_refuses_a_number_that_is_too_large(digits: int) -> None:
    message = message_of(lambda: validate.whole("plays", 10**digits, high=validate.MOST))
    got = {30: f"1{30 * '0'}", 400: f"1{38 * '0'}…", 5000: "int that cannot be shown"}[
        digits
    ]  # Python prints up to 4300
    assert message == f"plays must be at most 9223372036854775807, got {got}"
    assert validate.whole("since", 10**digits, low=0) == 10**digits


def test_whole_accepts_integers_of_either_kind() -> None:
    assert (validate.whole("plays", 3), validate.whole("plays", np.int32(3))) == (3, 3)
    assert validate.whole("seed", 0, low=0) == 0


def test_one_of() -> None:
    assert validate.one_of("ties", "first", ("first", "random")) == "first"
    message = message_of(lambda: validate.one_of("ties", "last", ("first", "random")))
    assert message == "ties must be 'first' or 'random', got 'last'"
    message = message_of(lambda: validate.one_of("ties", np.zeros(2), ("first", "random")))  # type: ignore[arg-type]
    assert message == "ties must be 'first' or 'random', got array([0., 0.])"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.1, math.nan], "fractions[1] must be a number in [0, 1], got nan"),
        ([-0.1, 0.2], "fractions[0] must be a number in [0, 1], got -0.1"),
        ([0.1, 0.2, 1.5], "fractions[2] must be a number in [0, 1], got 1.5"),
        ([0.1, math.inf], "fractions[1] must be a number in [0, 1], got inf"),
        (0.3, "fractions must be a list with one number per arm, got 0.3"),
        ([], "fractions must be a list with one number per arm, got []"),
        (["a", "b"], "fractions[0] must be a number, got 'a'"),
        ([0.1, "0.2"], "fractions[1] must be a number, got '0.2'"),
        ([0.1, True], "fractions[1] must be a number, got True"),
        ([0.1, 10**400], "fractions must be numbers, one per arm, got [0.1, 1" + 192 * "0" + "…"),
        ([0.1, None], "fractions[1] must be a number, got None"),
        ([[], []], "fractions must be a list with one number per arm, got [[], []]"),
        ([[0.1], [0.1, 0.2]], "fractions must be numbers, one per arm, got [[0.1], [0.1, 0.2]]"),
    ],
)
def test_per_arm_refuses(values: Any, message: str) -> None:
    assert message_of(lambda: validate.per_arm("fractions", values, 0.0, 1.0)) == message


def test_per_arm_checks_every_row_of_a_parameter_for_lanes() -> None:
    rows = PerLane(np.array([[0.1, 0.2], [0.3, 1.4]]))
    message = message_of(lambda: validate.per_arm("fractions", rows, 0.0, 1.0))
    assert message == "fractions[1] must be a number in [0, 1], got 1.4"
    assert isinstance(validate.per_arm("fractions", PerLane(np.array([[0.1, 0.2]])), 0.0, 1.0), PerLane)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_per_arm_keeps_the_numbers(values: list[float]) -> None:
    for form in (values, tuple(values), np.array(values)):
        assert validate.per_arm("fractions", form, 0.0, 1.0).tolist() == values


def test_per_arm_or_one() -> None:
    assert validate.per_arm_or_one("rate", 2, low=0.0).tolist() == [2.0]
    assert validate.per_arm_or_one("rate", np.float64(0.5), low=0.0).tolist() == [0.5]
    assert validate.per_arm_or_one("rate", [1, 2], low=0.0).tolist() == [1.0, 2.0]
    assert message_of(lambda: validate.per_arm_or_one("rate", -1.0, low=0.0)) == (
        "rate must be a number of at least 0, got -1.0"
    )
    assert message_of(lambda: validate.per_arm_or_one("rate", [1.0, -1.0], low=0.0)) == (
        "rate[1] must be a number of at least 0, got -1.0"
    )


def test_one_per_arm() -> None:
    for values in (np.zeros(3), np.zeros(1), PerLane(np.zeros((4, 3))), PerLane(np.zeros((4, 1)))):
        validate.one_per_arm("fractions", values, 3)
    for values in (np.zeros(2), np.zeros(4), PerLane(np.zeros((3, 2)))):
        message = message_of(lambda values=values: validate.one_per_arm("fractions", values, 3))  # type: ignore[misc]
        assert message == f"fractions has {values.shape[-1]} entries, but there are 3 arms"


def test_for_all_lanes() -> None:
    values = np.array([0.1, 0.2])
    assert validate.for_all_lanes("means", values) is values
    message = message_of(lambda: validate.for_all_lanes("means", PerLane([[0.1], [0.2]])))
    assert message == "means must be the same in all lanes, one number per arm, got shape (2, 1)"


CONVERTERS: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "real": (validate.real, math.inf, "must be a finite number, got inf"),
    "unit": (validate.unit, 1.5, "must be a number in [0, 1], got 1.5"),
    "nonnegative": (validate.nonnegative, math.inf, "must be a number of at least 0, got inf"),
    "nonnegative_or_inf": (validate.nonnegative_or_inf, math.nan, "must be a number of at least 0 or inf, got nan"),
    "positive": (validate.positive, 0, "must be above 0, got 0"),
    "at_least_one": (validate.at_least_one, 0.5, "must be a number of at least 1, got 0.5"),
    "count": (validate.count, 0, "must be at least 1, got 0"),
    "natural": (validate.natural, -1, "must be at least 0, got -1"),
    "truth": (validate.truth, 1, "must be true or false, got 1"),
    "fractions": (validate.fractions, [0.1, 2.0], "[1] must be a number in [0, 1], got 2.0"),
    "fractions_or_none": (validate.fractions_or_none, -1, "must be a number in [0, 1], got -1"),
    "numbers": (validate.numbers, [1.0, math.nan], "[1] must be a finite number, got nan"),
    "units": (validate.units, 0.5, "must be a list with one number per arm, got 0.5"),
    "units_of_all_lanes": (
        validate.units_of_all_lanes,
        [[0.1]],
        "must be the same in all lanes, one number per arm, got shape (1, 1)",
    ),
    "nonnegatives": (validate.nonnegatives, [-1], "[0] must be a number of at least 0, got -1.0"),
    "whole_numbers": (validate.whole_numbers, [1.5], "must be whole numbers, got [1.5]"),
}


@pytest.mark.parametrize(("convert", "value", "message"), CONVERTERS.values(), ids=list(CONVERTERS))
def test_converters_leave_the_name_to_the_part(convert: Callable[[Any], Any], value: Any, message: str) -> None:
    assert message_of(lambda: convert(value)) == message


def test_converters_convert() -> None:
    assert validate.fractions(0.5).tolist() == [0.5]
    assert validate.fractions_or_none(None) is None
    assert type(validate.count(np.int64(3))) is int  # type: ignore[arg-type]
    assert type(validate.unit(1)) is float
    assert validate.truth(np.True_) is True  # type: ignore[arg-type]
    assert validate.nonnegative_or_inf(math.inf) == math.inf
    assert validate.positives([1, 2]).tolist() == [1.0, 2.0]
    assert isinstance(validate.fractions(PerLane([[0.1], [0.2]])), PerLane)


def test_same_length() -> None:
    for one in (np.zeros(3), np.zeros(1), PerLane(np.zeros((4, 3))), PerLane(np.zeros((4, 1)))):
        validate.same_length("rate", one, np.zeros(3), "fractions")
        validate.same_length("rate", np.zeros(3), one, "fractions")
    for one in (np.zeros(2), PerLane(np.zeros((4, 2)))):
        message = message_of(lambda one=one: validate.same_length("rate", one, np.zeros(3), "fractions"))  # type: ignore[misc]
        assert message == "rate has 2 entries, but there are 3 fractions"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.1, 0.2], [0.3]], "sets must be rows of equal length, one number per column, got [[0.1, 0.2], [0.3]]"),
        ([0.1, 0.2], "sets must be rows of equal length, got shape (2,)"),
        ([[]], "sets must be rows of equal length, got shape (1, 0)"),
        ([[0.1, 0.2], [0.3, 2.0]], "sets[1][1] must be a number in [0, 1], got 2.0"),
        ([[math.nan, 0.2]], "sets[0][0] must be a number in [0, 1], got nan"),
        ([["a"]], "sets must be rows of equal length, one number per column, got [['a']]"),
        ([[10**400]], "sets must be rows of equal length, one number per column, got [[1" + 196 * "0" + "…"),
    ],
)
def test_table_refuses(values: Any, message: str) -> None:
    assert message_of(lambda: validate.table("sets", values, 0.0, 1.0)) == message


def test_rows_sum_to_one() -> None:
    validate.rows_sum_to_one("p", np.array([[0.5, 0.5], [0.3333333, 0.6666667]]))
    message = message_of(lambda: validate.rows_sum_to_one("p", np.array([[0.5, 0.5], [0.5, 0.4]])))
    assert message == "p[1] must sum to 1, it sums to 0.9"
    assert (
        message_of(lambda: validate.rows_sum_to_one("p", np.array([[0.7, 0.4]]))) == "p must sum to 1, it sums to 1.1"
    )


# --- From the algorithms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fucb", {"fractions": [0.1, -0.1]}, "fractions[1] must be a number in [0, 1], got -0.1"),
        ("fucb", {"fractions": [0.1], "tolerance": -1}, "tolerance must be a number of at least 0, got -1"),
        ("fucb", {"fractions": [0.1], "plays": 0}, "plays must be at least 1, got 0"),
        ("f_ts", {"fractions": 1.1}, "fractions must be a number in [0, 1], got 1.1"),
        ("f_ts", {"fractions": "0.1"}, "fractions must be numbers, one per arm, got '0.1'"),
        (
            "eta_fucb",
            {"fractions": [0.1], "eta": 1, "surplus": "kept"},
            "surplus must be 'counted' or 'ignored', got 'kept'",
        ),
        ("lfg", {"fractions": [0.1], "eta": math.nan}, "eta must be a number of at least 0 or inf, got nan"),
        (
            "lfg",
            {"fractions": [0.1], "eta": 1, "ties": "last"},
            "ties must be 'first' or 'random' or 'fewest', got 'last'",
        ),
        ("lfg", {"fractions": [0.1, 0.2], "eta": 1, "weights": [1, 1, 1]}, "weights has 3 entries"),
        (
            "tscsf_b",
            {"fractions": [0.1], "eta": 1, "queue": "long"},
            "queue must be 'exact' or 'recursive', got 'long'",
        ),
        ("hard_threshold_ucb", {"fractions": [0.1, 0.2], "penalties": [1, 2, 3]}, "has 3 entries"),
        ("soft_threshold_ucb", {"fractions": [0.1], "penalties": math.nan}, "must be a number of at least 0, got nan"),
        ("explore_then_commit", {"pulls": 0}, "pulls must be at least 1, got 0"),
        ("t_fucb", {"fractions": [0.1], "horizon": 0}, "horizon must be at least 1, got 0"),
        ("naive", {"fractions": [0.1], "horizon": 9, "epsilon": 1.1}, "epsilon must be a number in [0, 1], got 1.1"),
    ],
)
def test_algorithms_refuse(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=re.escape(message)):
        getattr(algorithms, name)(**options)


@pytest.mark.parametrize("name", ["eta_fucb", "hard_threshold_ucb", "soft_threshold_ucb"])
def test_a_parameter_is_called_by_the_name_it_was_given_under(name: str) -> None:
    # η or the penalties are the rate of the bonus inside, but that is not what was typed.
    parameter = "eta" if name == "eta_fucb" else "penalties"
    with pytest.raises(EvenhandError, match=f"^{parameter}"):
        getattr(algorithms, name)([0.1, 0.1], **{parameter: -1.0})


@pytest.mark.parametrize(
    ("name", "options", "parameter"),
    [
        ("lfg", {"fractions": [0.1, 0.1], "eta": "3"}, "eta"),
        ("eta_fucb", {"fractions": [0.1, 0.1], "eta": "3"}, "eta"),
        ("fucb", {"fractions": [0.1, 0.1], "tolerance": "3"}, "tolerance"),
        ("ucb1", {"exploration": "3"}, "exploration"),
    ],
)
def test_a_number_in_quotes_is_no_number(name: str, options: dict[str, Any], parameter: str) -> None:
    allowed = "a number, 'auto' or 'auto_sqrt'" if name == "lfg" else "a number"
    assert message_of(lambda: getattr(algorithms, name)(**options)) == f"{parameter} must be {allowed}, got '3'"
