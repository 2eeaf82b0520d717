"""Every published algorithm keeps every rule, in all its variants, and is told about in full."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import evenhand.algorithms  # fills the registry
from evenhand import Policy
from evenhand.algorithms import find
from evenhand.checks import POLICY_CHECKS
from evenhand.errors import ConfigurationError, nearest
from evenhand.registry import ALGORITHMS

ARMS = 4
SHARES = [0.24, 0.07, 0.0, 0.04]
UNEQUAL = [1.0, 0.5, 2.0, 0.0]

# Name → the parameters to try, each with one play and, where it is offered, with several.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "ucb1": [{}, {"exploration": 0.5}],
    "thompson": [{}],
    "fair_random": [{"fractions": SHARES}, {"fractions": [0.25] * ARMS}, {"fractions": [0.0] * ARMS}],
    "naive": [
        {"fractions": SHARES, "horizon": 60},
        {"fractions": SHARES, "horizon": 60, "epsilon": 0.5},
        {"fractions": [0.0] * ARMS, "horizon": 60, "epsilon": 0.0},
    ],
    "t_fucb": [{"fractions": SHARES, "horizon": 60}, {"fractions": SHARES, "horizon": 500, "exploration": 0.5}],
    "fucb": [{"fractions": SHARES}, {"fractions": [0.25] * ARMS, "tolerance": 1.5}, {"fractions": [0.0] * ARMS}],
    "f_ts": [{"fractions": SHARES}, {"fractions": [0.25] * ARMS, "tolerance": 1.5}],
    "eta_fucb": [{"fractions": SHARES, "eta": 0.5}, {"fractions": SHARES, "eta": 0.5, "surplus": "ignored"}],
    "fair_learn": [{"fractions": SHARES, "tolerance": 3.0}, {"fractions": SHARES}],
    "lfg": [
        {"fractions": SHARES, "eta": 10.0},
        {"fractions": SHARES, "eta": 0.0},
        {"fractions": SHARES, "eta": math.inf, "ties": "first"},
        {"fractions": SHARES, "eta": 2.0, "weights": UNEQUAL, "queue": "exact"},
        {"fractions": SHARES, "eta": 2.0, "clip": False, "exploration": 2.0},
    ],
    "tscsf_b": [
        {"fractions": SHARES, "eta": 10.0},
        {"fractions": SHARES, "eta": 0.0},
        {"fractions": SHARES, "eta": math.inf},
        {"fractions": SHARES, "eta": 2.0, "weights": UNEQUAL, "queue": "recursive"},
    ],
    "hard_threshold_ucb": [
        {"fractions": SHARES, "penalties": 0.3},
        {"fractions": SHARES, "penalties": [0.3, 0.0, 2.0, 0.1]},
    ],
    "soft_threshold_ucb": [
        {"fractions": SHARES, "penalties": 0.3},
        {"fractions": SHARES, "penalties": [0.3, 0.0, 2.0, 0.1]},
    ],
    "explore_then_commit": [{"pulls": 1}, {"pulls": 20}],
}


def builds() -> dict[str, Callable[[], Policy]]:
    """Test id → a policy to be made."""
    found: dict[str, Callable[[], Policy]] = {}
    for name, variants in VARIANTS.items():
        several = "plays" in ALGORITHMS[name].parameters
        for number, options in enumerate(variants):
            for plays in (1, 3) if several else (1,):
                chosen = options | {"plays": plays} if several else options
                found[f"{name}-{number}-plays={plays}"] = partial(ALGORITHMS[name].build, **chosen)
    return found


BUILDS = builds()


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=[check.__name__ for check in POLICY_CHECKS])
@pytest.mark.parametrize("build", BUILDS.values(), ids=list(BUILDS))
def test_check(build: Callable[[], Policy], check: Callable[[Policy, int], None]) -> None:
    check(build(), ARMS)


def test_no_algorithm_is_missing_here() -> None:
    assert set(VARIANTS) == set(ALGORITHMS)


def test_every_parameter_is_tried_somewhere() -> None:
    for name, algorithm in ALGORITHMS.items():
        tried = {parameter for options in VARIANTS[name] for parameter in options}
        left_out = set(algorithm.parameters) - tried - {"plays"}
        # Those of UCB1 inside: its exploration is tried with ucb1, t_fucb and lfg.
        assert left_out <= {"exploration"}, name


# --- What is told of them --------------------------------------------------------------------------------------------

EVERY = pytest.mark.parametrize("name", list(ALGORITHMS))


@EVERY
def test_the_name_is_the_functions_and_the_policys(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert algorithm.build is getattr(evenhand.algorithms, name)
    assert algorithm.build.__name__ == algorithm.name == name
    assert algorithm.build(**VARIANTS[name][0]).name == name


@EVERY
def test_the_summary_is_one_sentence(name: str) -> None:
    summary = ALGORITHMS[name].summary
    assert "\n" not in summary
    assert re.fullmatch(r".{20,120}\.", summary)


@EVERY
def test_the_rule_is_a_formula(name: str) -> None:
    equation = ALGORITHMS[name].equation
    assert "`" not in equation
    assert re.search(r"[=~]|argmax|/|\+", equation)


@EVERY
def test_the_promise_and_the_source_are_told(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert algorithm.promise.endswith(".")
    assert re.search(r"\b(19|20)\d\d\b", algorithm.source), "the source names no year"


@EVERY
def test_the_source_names_the_paper(name: str) -> None:
    algorithm = ALGORITHMS[name]
    author, year = re.fullmatch(r"([a-z]+)(\d+)", algorithm.paper.key).groups()  # type: ignore[union-attr]
    assert re.search(rf"{author}.*{year}", algorithm.source, flags=re.IGNORECASE)


@EVERY
def test_there_is_a_bibtex_entry(name: str) -> None:
    paper = ALGORITHMS[name].paper
    entry = paper.bibtex()
    assert re.match(rf"@\w+{{{paper.key},\n", entry)
    assert entry.endswith("}")
    assert entry.count("{") == entry.count("}")
    for field in ("title", "author", "year"):
        assert re.search(rf"^  {field}\s+= {{.+}},$", entry, flags=re.MULTILINE), field
    year = re.search(r"year\s+= {(\d+)}", entry)
    assert year is not None
    assert year[1] in paper.citation


@EVERY
def test_every_parameter_has_help_and_no_other(name: str) -> None:
    algorithm = ALGORITHMS[name]
    told = algorithm.parameter_help()
    assert list(told) == list(algorithm.parameters)
    for words in told.values():
        assert words.endswith(".")


@EVERY
def test_only_what_says_what_is_owed_comes_by_position(name: str) -> None:
    for parameter in ALGORITHMS[name].parameters.values():
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (parameter.name != "fractions")


# --- Found by name ---------------------------------------------------------------------------------------------------


@EVERY
def test_found_by_name(name: str) -> None:
    assert find(name) is ALGORITHMS[name]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fcub", "fucb"),
        ("FUCB", "fucb"),
        ("tscsfb", "tscsf_b"),
        ("hard_threshold", "hard_threshold_ucb"),
        ("ucb", "ucb1"),
    ],
)
def test_the_nearest_name_is_offered(typed: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^there is no algorithm '{typed}'; did you mean '{meant}'\\?$"):
        find(typed)


def test_where_none_is_near_all_are_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        find("xyzzy")
    assert str(caught.value) == f"there is no algorithm 'xyzzy'; known: {', '.join(ALGORITHMS)}"


def test_nearest() -> None:
    assert nearest("fraction", ["fractions", "eta"]) == "; did you mean 'fractions'?"
    assert nearest("q", ["fractions", "eta"]) == "; known: fractions, eta"
    assert nearest(3, ["fractions"]) == "; known: fractions"  # type: ignore[arg-type]
