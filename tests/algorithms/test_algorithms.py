"""Every published algorithm keeps every rule, in all its variants, and is documented in full."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

import evenhand.algorithms  # fills the registry
from evenhand import Policy
from evenhand.algorithms import find
from evenhand.algorithms.registry import ALGORITHMS
from evenhand.bandit.checks import POLICY_CHECKS
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest
from evenhand.core.parts import plain
from evenhand.policy.hold import GeometricSize, PowerSize
from evenhand.policy.merit import Linear, Power
from evenhand.simulation.promises import promise_is_kept
from tests.thinned import thinned

ARMS = 4
SHARES = [0.24, 0.07, 0.0, 0.04]
CAPS = [0.9, 1.0, 1.0, 0.3]
GROUPS = [{"name": "a", "arms": [1, 2], "at_least": 0.4}, {"name": "b", "arms": [0, 2], "at_least": 0.7}]
UNEQUAL = [1.0, 0.5, 2.0, 0.0]

MERIT = Linear(slope=0.5)  # of four arms with three plays no share exceeds one: max f/min f = 1.5 = (K − 1)/(m − 1)
STEEP = Power(beta=50.0, exponent=4.0)  # shares above one, for several plays only under cap


def evidence(*more: str, **given: Any) -> list[dict[str, Any]]:
    """The given parameters with each belief about what is missing, but for the usual one."""
    return [given | {"evidence": belief} for belief in ("optimistic", "pessimistic", "mature", *more)]


def forgotten(*more: str, **given: Any) -> list[dict[str, Any]]:
    """As `evidence`, without counts by age, which evidence that forgets does not take."""
    return [one for one in evidence(*more, **given) if one["evidence"] != "mature"]


def boxed() -> list[dict[str, Any]]:
    """The parameters to try of the algorithms that look for the best point of a box."""
    return [
        {"merit": MERIT, "horizon": 60},
        {"merit": MERIT, "horizon": 60, "radius": "code"},
        {"merit": MERIT, "horizon": 60, "radius": "code", "delta": 1.0, "free_start": True},
        {"merit": MERIT, "horizon": 60, "free_start": True},
        {"merit": STEEP, "horizon": 60, "cap": True},
        {"merit": STEEP, "horizon": 60, "cap": True, "radius": "code", "free_start": True},
    ]


# Name → the parameters to try, each with one play and, where it is offered, with several.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "ucb1": [{}, {"exploration": 0.5}, *evidence()],
    "thompson": [{}, *evidence("both")],
    "fair_random": [{"fractions": SHARES}, {"fractions": [0.25] * ARMS}, {"fractions": [0.0] * ARMS}],
    "naive": [
        {"fractions": SHARES, "horizon": 60},
        {"fractions": SHARES, "horizon": 60, "epsilon": 0.5},
        {"fractions": [0.0] * ARMS, "horizon": 60, "epsilon": 0.0},
    ],
    "t_fucb": [{"fractions": SHARES, "horizon": 60}, {"fractions": SHARES, "horizon": 500, "exploration": 0.5}],
    "fucb": [
        {"fractions": SHARES},
        {"fractions": [0.25] * ARMS, "tolerance": 1.5},
        {"fractions": [0.0] * ARMS},
        *evidence(fractions=SHARES),
    ],
    "f_ts": [
        {"fractions": SHARES},
        {"fractions": [0.25] * ARMS, "tolerance": 1.5},
        *evidence("both", fractions=SHARES),
    ],
    "eta_fucb": [
        {"fractions": SHARES, "eta": 0.5},
        {"fractions": SHARES, "eta": 0.5, "surplus": "ignored"},
        *evidence(fractions=SHARES, eta=0.5),
    ],
    "fair_learn": [{"fractions": SHARES, "tolerance": 3.0}, {"fractions": SHARES}, *evidence(fractions=SHARES)],
    "lfg": [
        {"fractions": SHARES, "eta": 10.0},
        {"fractions": SHARES, "eta": 0.0},
        {"fractions": SHARES, "eta": math.inf, "ties": "first"},
        {"fractions": SHARES, "eta": 2.0, "weights": UNEQUAL, "queue": "exact"},
        {"fractions": SHARES, "eta": 2.0, "clip": False, "exploration": 2.0},
        *evidence(fractions=SHARES, eta=2.0),
    ],
    "tscsf_b": [
        {"fractions": SHARES, "eta": 10.0},
        {"fractions": SHARES, "eta": 0.0},
        {"fractions": SHARES, "eta": math.inf},
        {"fractions": SHARES, "eta": 2.0, "weights": UNEQUAL, "queue": "recursive"},
        *evidence("both", fractions=SHARES, eta=2.0),
    ],
    "hard_threshold_ucb": [
        {"fractions": SHARES, "penalties": 0.3},
        {"fractions": SHARES, "penalties": [0.3, 0.0, 2.0, 0.1]},
        *evidence(fractions=SHARES, penalties=0.3),
    ],
    "soft_threshold_ucb": [
        {"fractions": SHARES, "penalties": 0.3},
        {"fractions": SHARES, "penalties": [0.3, 0.0, 2.0, 0.1]},
        *evidence(fractions=SHARES, penalties=0.3),
    ],
    "explore_then_commit": [{"pulls": 1}, {"pulls": 20}],
    "ucb": [{}, {"exploration": 0.5}],
    "ars_ucb": [
        {},
        {"size": PowerSize(3.0), "credit": "second_half"},
        {"size": GeometricSize(1)},
        {"size": PowerSize(1.0), "exploration": 0.5},
    ],
    "ars_fucb": [
        {"fractions": SHARES},
        {"fractions": [0.25] * ARMS, "tolerance": 1.5},
        {"fractions": [0.0] * ARMS, "size": PowerSize(1.0), "exploration": 0.5, "credit": "second_half"},
    ],
    "exp3": [{"horizon": 60}, *({"horizon": 60, "mixing": gamma} for gamma in (0.0, 0.3, 1.0))],
    "ars_exp3": [{"horizon": 60}, {"horizon": 500, "exponent": 1.5}, {"horizon": 60, "mixing": 0.3}],
    "ars_exp3_doubling": [{}, {"first_horizon": 8, "exponent": 1.5}],
    "clw": [{"horizon": 60, "delay": 3}, {"horizon": 500, "delay": 1, "style": "gain"}],
    "ars_clw": [{}, {"first_horizon": 8, "exponent": 0.6}],
    "odaaf": [
        {"horizon": 500},
        {"horizon": 10, "mean_delay": 2.0},
        {"horizon": 500, "rule": "bounded", "mean_delay": 3.0, "max_delay": 9.0},
        {"horizon": 500, "rule": "variance", "mean_delay": 3.0, "variance": 2.0},
        {"horizon": 60, "rule": "composite", "max_delay": 5.0},
    ],
    "fcucb_d": boxed(),
    "op_fcucb_d": boxed(),
    "fcts_d": [{"merit": MERIT}, {"merit": MERIT, "free_start": True}, {"merit": STEEP, "cap": True}],
    "op_fcts_d": [{"merit": MERIT}, {"merit": MERIT, "free_start": True}, {"merit": STEEP, "cap": True}],
    "m_fcucb_d": [{"merit": MERIT, "horizon": 60}, {"merit": STEEP, "horizon": 10_000, "cap": True}],
    "m_fcts_d": [{"merit": MERIT}, {"merit": STEEP, "cap": True}],
    "q_fcucb_d": [
        {"merit": MERIT, "horizon": 60},
        {"merit": STEEP, "horizon": 10_000, "cap": True, "untestable": "doubt"},
    ],
    "q_fcts_d": [{"merit": MERIT}, {"merit": STEEP, "cap": True, "untestable": "doubt"}],
    "fgreedy_d": [
        {"merit": MERIT},
        {"merit": MERIT, "epsilon": 0.0},
        {"merit": MERIT, "epsilon": 1.0},
        {"merit": STEEP, "cap": True},
    ],
    "fairx_ucb": [{"merit": STEEP, "horizon": 60}, {"merit": MERIT, "horizon": 10_000}],
    "fairx_ts": [{"merit": STEEP}, {"merit": MERIT}],
    "cucb_d": [{}, {"radius": "code"}],
    "mp_ts_d": [{}],
    "opse": [{"horizon": 60}, {"horizon": 10_000}],
    "d_ucb": [{"discount": 0.9}, *forgotten(discount=0.9)],
    "sw_ucb": [{"window": 7}, *forgotten(window=7)],
    "d_ts": [{"discount": 0.9}, *forgotten(discount=0.9)],
    "kl_ucb": [{}, {"exploration": 3.0}, *evidence()],
    "glr_klucb": [{}, {"exploration_share": 0.5, "delta": 0.1, "scope": "all"}, *forgotten()],
    "fair_glr": [
        {"fractions": SHARES},
        {"fractions": [0.25] * ARMS, "tolerance": 1.5, "delta": 0.1, "scope": "all"},
        *forgotten(fractions=SHARES),
    ],
    "group_ucb": [
        {"fractions": SHARES},
        {"fractions": SHARES, "caps": CAPS, "groups": GROUPS, "eta": 5.0},
        {"groups": GROUPS, "eta": 0.0, "exploration": 0.5},
        *evidence(groups=GROUPS),
    ],
    "group_ts": [
        {"groups": GROUPS},
        {"fractions": SHARES, "caps": CAPS, "eta": 5.0},
        *evidence("both", fractions=SHARES, groups=GROUPS),
    ],
    "ldf": [{"fractions": SHARES}, {"fractions": SHARES, "tolerance": 1.5, "exploration": 0.5}],
    "bandit_q": [{"rates": SHARES, "horizon": 60}, {"rates": 0.1, "horizon": 60, "weight": 1.0}],
    "floor_ts": [
        {"fractions": SHARES},
        {"fractions": [0.25] * ARMS},
        {"fractions": SHARES, "rule": "clip"},
        *evidence(fractions=SHARES),
    ],
    "f_tas": [{"fractions": SHARES}, {"fractions": [0.25] * ARMS}, {"fractions": 0.1, "mixing": 0.2, "power": 1.0}],
    "f_tas_tracking": [{"fractions": SHARES}, {"fractions": 0.1, "mixing": 1.0, "power": 0.2}],
    "lin_ucb": [
        {},
        {"model": "shared", "ridge": 0.1, "radius": "theorem", "delta": 0.1, "norm": 2.0},
        {"model": "hybrid"},
        {"discount": 0.9},
    ],
    "otf_lin_ucb": [
        {},
        {"model": "shared", "cutoff": 5, "ridge": 0.1, "radius": 1.0, "delta": 0.1, "norm": 2.0},
    ],
    "lin_ts": [
        {},
        {"model": "shared", "ridge": 0.1, "scale": "theorem", "delta": 0.1},
        {"model": "hybrid"},
        {"discount": 0.9},
    ],
    "fairx_lin_ts": [
        {"merit": MERIT},
        {"merit": STEEP, "model": "shared", "ridge": 0.1, "scale": "theorem", "cap": True},
    ],
    "fair_greedy": [{}, {"model": "shared", "ridge": 0.1, "window": 7}],
    "ridge_fair": [{}, {"model": "shared", "ridge": 0.1, "delta": 0.2, "norm": 2.0}],
    "logistic_ts": [{}, {"model": "shared", "ridge": 0.1, "scale": 0.5}],
    "f_tas_merit": [{"merit": MERIT}, {"merit": STEEP, "part": 1.0, "mixing": 0.0, "power": 0.3}],
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
#: Each algorithm once, those with several plays with one or several, in turn.
FIRST = {
    [key for key in BUILDS if key.startswith(f"{name}-0-")][-1 if place % 2 else 0]
    for place, name in enumerate(VARIANTS)
}


#: These solve the same program each time they learn, which takes a tenth of all: they take checks in turn.
IDENTIFYING = [key for key in BUILDS if key in FIRST and key.startswith("f_tas")]


def usual(case: tuple[str, Callable[[Policy, int], None]]) -> bool:
    """Each algorithm once with the check of its promise and every fourth other one, in turn; fewer that identify."""
    name, check = case
    turn = POLICY_CHECKS.index(check)
    if name in IDENTIFYING:
        return turn % len(IDENTIFYING) == IDENTIFYING.index(name)
    return name in FIRST and (check is promise_is_kept or turn % 4 == list(BUILDS).index(name) % 4)


@pytest.mark.parametrize(
    "case", thinned(product(BUILDS, POLICY_CHECKS), usual, lambda case: f"{case[0]}-{case[1].__name__}")
)
def test_check(case: tuple[str, Callable[[Policy, int], None]]) -> None:
    name, check = case
    check(BUILDS[name](), ARMS)


def test_no_algorithm_is_missing_here() -> None:
    assert set(VARIANTS) == set(ALGORITHMS)


def test_every_parameter_is_tried_somewhere() -> None:
    for name, algorithm in ALGORITHMS.items():
        tried = {parameter for options in VARIANTS[name] for parameter in options}
        left_out = set(algorithm.parameters) - tried - {"plays"}
        # Those of UCB1 inside: its exploration is tried with ucb1, t_fucb and lfg.
        # Priors: tests/policy/test_prior.py.
        assert left_out <= {"exploration", "prior"}, name


@pytest.mark.parametrize("name", [name for name in VARIANTS if "evidence" in ALGORITHMS[name].parameters])
def test_the_usual_evidence_is_what_was_received(name: str) -> None:
    given = VARIANTS[name][0]
    build = ALGORITHMS[name].build
    assert plain(build(**given)) == plain(build(**given, evidence="received"))
    assert plain(build(**given)) != plain(build(**given, evidence="optimistic"))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "ucb1",
            {"evidence": "both"},
            "^evidence: unknown kind 'both'; known: received, optimistic, pessimistic, mature, forgetting, "
            "since_change; your own: import its module first, on the command line with --import FILE$",
        ),
        (
            "thompson",
            {"evidence": "hopeful"},
            "^evidence: unknown kind .hopeful.; known: .*, both$",
        ),
        ("cucb_d", {"radius": "theorem"}, "^radius must be 'paper' or 'code', got 'theorem'$"),
        ("fcucb_d", {"radius": "paper"}, "^radius must be 'theorem' or 'code', got 'paper'$"),
        ("fcucb_d", {"radius": "code", "delta": 0.0}, "^delta must be above 0, got 0$"),
        ("op_fcucb_d", {"radius": "code", "delta": 1.5}, r"^delta must be a number in \[0, 1\], got 1\.5$"),
        ("op_fcucb_d", {"horizon": 0}, "^horizon must be at least 1, got 0$"),
        ("fcts_d", {"merit": 2.0}, "^merit must be .*, got 2.0$"),
        ("fcts_d", {"plays": 0}, "^plays must be at least 1, got 0$"),
        ("fgreedy_d", {"epsilon": 1.1}, r"^epsilon must be a number in \[0, 1\], got 1\.1$"),
        ("opse", {"horizon": 2.5}, r"^horizon must be a whole number, got 2\.5$"),
        ("fairx_ucb", {"horizon": 0}, "^horizon must be at least 1, got 0$"),
    ],
)
def test_bad_parameters_are_refused(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        ALGORITHMS[name].build(**VARIANTS[name][0] | given)


# --- What is shown of them --------------------------------------------------------------------------------------------

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
    # Where one author has two papers in a year, a word tells them apart.
    author, year = re.fullmatch(r"([a-z]+)(\d+)[a-z]*", algorithm.paper.key).groups()  # type: ignore[union-attr]
    assert re.search(rf"{author}.*{year}", algorithm.source.replace("-", ""), flags=re.IGNORECASE)


@EVERY
def test_there_is_a_bibtex_entry(name: str) -> None:
    paper = ALGORITHMS[name].paper
    assert paper is not None
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
    shown = algorithm.parameter_help()
    assert list(shown) == list(algorithm.parameters)
    for words in shown.values():
        assert words.endswith(".")


@EVERY
def test_only_what_says_what_is_owed_comes_by_position(name: str) -> None:
    for parameter in ALGORITHMS[name].parameters.values():
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (parameter.name not in ("fractions", "merit", "rates"))


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
        ("usb", "ucb"),
    ],
)
def test_the_nearest_name_is_offered(typed: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^there is no algorithm '{typed}'; did you mean '{meant}'\\?$"):
        find(typed)


def test_where_none_is_near_all_are_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        find("xyzzy")
    assert str(caught.value) == f"there is no algorithm 'xyzzy'; known: {', '.join(ALGORITHMS)}"


@pytest.mark.parametrize(("slot", "kind"), [("fairness", "deficit_first"), ("index", "beta_sample")])
def test_the_name_of_a_part_is_no_algorithm(slot: str, kind: str) -> None:
    message = f"there is no algorithm '{kind}'; it is a kind of {slot}: write {{'{slot}': '{kind}'}}"
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        find(kind)
    with pytest.raises(ConfigurationError, match=r"it is an algorithm: evenhand\.algorithms\.fucb"):
        Policy("fucb")


def test_nearest() -> None:
    assert nearest("fraction", ["fractions", "eta"]) == "; did you mean 'fractions'?"
    assert nearest("q", ["fractions", "eta"]) == "; known: fractions, eta"
    assert nearest(3, ["fractions"]) == "; known: fractions"  # type: ignore[arg-type]
