"""Errors: the path to a value stands in front of every line, and several faults are one error."""

from __future__ import annotations

import pickle

import pytest

from evenhand.core.errors import ConfigurationError, EvenhandError, StateError, nearest, number_hint

Path = tuple[str | int, ...]
PLACED: dict[str, tuple[str, Path, Path, str]] = {
    "no subject": ("must be a number, got 'a'", (), ("tolerance",), "tolerance must be a number, got 'a'"),
    "an entry": (
        "must be a number in [0, 1], got 2.0",
        (3,),
        ("fractions",),
        "fractions[3] must be a number in [0, 1], got 2.0",
    ),
    "a name": (
        "must be 1",
        ("fractions", 3),
        ("policies", 0, "fairness"),
        "policies[0].fairness.fractions[3] must be 1",
    ),
    "a path": ("must be 1", ("index", "index"), ("policies", 0), "policies[0].index.index must be 1"),
    "a path and a sentence": ("unknown kind 'x'", ("index",), ("policies", 0), "policies[0].index: unknown kind 'x'"),
    "missing": ("is missing", ("fractions",), ("policies", 2), "policies[2].fractions is missing"),
    "a kind": (
        "unknown kind 'ucbb'; did you mean 'ucb'?",
        (),
        ("index",),
        "index: unknown kind 'ucbb'; did you mean 'ucb'?",
    ),
    "no kind": ("needs a kind; known: ucb", (), ("index",), "index needs a kind; known: ucb"),
    "a sentence": (
        "MeritShares gives shares, TopM takes a ranking: use selection=DependentRounding(plays)",
        (),
        ("policies", 1),
        "policies[1]: MeritShares gives shares, TopM takes a ranking: use selection=DependentRounding(plays)",
    ),
    "nowhere": ("must be 1", (), (), "must be 1"),
    "a phrase": ("must be 1", ("an arm of the group 'n'",), ("groups",), "groups: an arm of the group 'n' must be 1"),
    "without a name": ("must be 1", ("",), ("a",), "a must be 1"),
}


@pytest.mark.parametrize(("message", "inner", "outer", "expected"), PLACED.values(), ids=list(PLACED))
def test_the_place_of_an_error(message: str, inner: Path, outer: Path, expected: str) -> None:
    error = EvenhandError(message, *inner).at(*outer)
    assert str(error) == expected
    assert [fault.path for fault in error.faults] == [
        outer + tuple(step for step in inner if " " not in str(step) and step)
    ]


def test_every_fault_of_an_error_has_its_place() -> None:
    both = EvenhandError.together([EvenhandError("must be 1", "a"), EvenhandError("unknown key 'b'", key="b")]).at("x")
    assert str(both) == "x.a must be 1\nx: unknown key 'b'"
    assert [(fault.path, fault.key) for fault in both.faults] == [(("x", "a"), ""), (("x",), "b")]


def test_an_error_travels_to_other_processes() -> None:
    error = pickle.loads(pickle.dumps(ConfigurationError("must be 1", "a", 0).at("b")))
    assert (type(error), str(error), error.faults[0].path) == (ConfigurationError, "b.a[0] must be 1", ("b", "a", 0))


def test_a_placed_error_is_of_the_same_type_and_the_first_is_as_it_was() -> None:
    for kind in (EvenhandError, ConfigurationError, StateError):
        first = kind("must be 1")
        placed = first.at("a").at("b")
        assert type(placed) is kind
        assert (str(first), str(placed)) == ("must be 1", "b.a must be 1")


def test_errors_together_have_a_line_each() -> None:
    one, two, same = ConfigurationError("a must be 1"), StateError("b must be 2"), EvenhandError("a must be 1")
    joined = EvenhandError.together([one, two, same])
    assert str(joined) == "a must be 1\nb must be 2"
    assert type(joined) is ConfigurationError
    assert EvenhandError.together([two]) is two
    assert str(one) == "a must be 1"


@pytest.mark.parametrize(
    ("text", "share", "number"),
    [
        ("50%", False, "0.5"),
        ("12,5 %", False, "0.125"),
        ("0,125", False, "0.125"),
        (".1", False, "0.1"),
        ("-.5", False, "-0.5"),
        ("%", True, None),
        ("", True, None),
        ("-1,5", False, "-1.5"),
        ("50", True, "0.5"),
        ("50", False, None),
        ("1.01", True, None),
        ("1,000", False, None),
        ("half", True, None),
    ],
)
def test_how_to_write_a_number(text: str, share: bool, number: str | None) -> None:
    assert number_hint(text, share) == ("" if number is None else f" (write {number})")


def test_nearest_names() -> None:
    assert nearest("ucbb", ["ucb", "thompson"]) == "; did you mean 'ucb'?"
    assert nearest("UCB", ["ucb", "thompson"]) == "; did you mean 'ucb'?"
    assert nearest("zzz", ["ucb", "thompson"]) == "; known: ucb, thompson"


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("context", ["count", "time"], None),
        ("unit", ["count"], None),
        ("unit", ["count", "available", "propensities"], None),
        ("cuont", ["count", "time"], "count"),
        ("explore", ["exploration", "plays"], "exploration"),
        ("tee", ["coffee", "tea"], "tea"),
    ],
)
def test_a_hint_names_nothing_unrelated(name: str, known: list[str], near: str | None) -> None:
    assert nearest(name, known) == (f"; did you mean {near!r}?" if near else f"; known: {', '.join(known)}")
