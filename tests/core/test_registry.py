"""The registry: kinds have one name in one slot, and tables build parts or say everything that is wrong with them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import attrs
import numpy as np
import pytest
from attrs import field, frozen, validators

from evenhand import EvenhandError, PerLane
from evenhand.algorithms.build import Surroundings, as_policy
from evenhand.core import validate
from evenhand.core.errors import ConfigurationError, StateError
from evenhand.core.parts import build, kinds, part, plain, register
from evenhand.core.state import Array, Observation, State
from evenhand.policy.confidence import ConfidenceIntervals
from evenhand.policy.custom_merit import Custom
from evenhand.policy.fairness import DeficitFirst
from evenhand.policy.hold import CustomSize, HoldFor
from evenhand.policy.index import UCB, Index

LANES = [[0.1, 0.2], [0.3, 0.05]]
POWER = {"kind": "power", "beta": 1.5, "exponent": 2.0}
HOEFFDING = {
    "kind": "hoeffding",
    "inside": 50.0,
    "scale": 0.5,
    "per_arm": False,
    "anytime": True,
    "lower": {"kind": "pessimistic"},
    "upper": {"kind": "optimistic"},
}
MATURE = {"kind": "mature", "inside": 30.0}
DOUBT = {"kind": "until_disproved", "trusting": HOEFFDING, "doubting": MATURE, "untestable": "doubt"}
#: A full plain form of every kind of the slots of a policy, every argument away from its default.
FULL: dict[str, list[dict[str, Any]]] = {
    "index": [
        {"kind": "ucb", "exploration": 0.3, "clip": True, "evidence": {"kind": "optimistic"}, "clock": "played"},
        {"kind": "empirical_mean", "evidence": {"kind": "pessimistic"}},
        {"kind": "kl_ucb", "exploration": 3.0, "evidence": {"kind": "optimistic"}, "clock": "played"},
        {"kind": "beta_sample", "evidence": {"kind": "optimistic"}, "prior": [2.0, 8.0]},
        {
            "kind": "mean_of",
            "first": {"kind": "beta_sample", "evidence": {"kind": "optimistic"}, "prior": [2.0, 8.0]},
            "second": {"kind": "beta_sample", "evidence": {"kind": "pessimistic"}, "prior": [2.0, 8.0]},
        },
        {"kind": "exploring", "index": {"kind": "empirical_mean", "evidence": {"kind": "optimistic"}}, "epsilon": 0.2},
        {
            "kind": "committed",
            "index": {"kind": "empirical_mean", "evidence": {"kind": "received"}},
            "quotas": [3.0, 1.0],
        },
        {"kind": "optimistic_shares", "confidence": HOEFFDING, "merit": POWER},
        {"kind": "optimistic_shares", "confidence": DOUBT, "merit": POWER},
        {"kind": "mature_beta", "prior": [[2.0, 8.0], [1.0, 1.0]]},
        {
            "kind": "until_disproved",
            "trusting": {"kind": "beta_sample", "evidence": {"kind": "optimistic"}, "prior": [2.0, 8.0]},
            "doubting": {"kind": "mature_beta", "prior": [[2.0, 8.0], [1.0, 1.0]]},
            "untestable": "doubt",
        },
        {"kind": "best_chance", "evidence": {"kind": "optimistic"}, "prior": [2.0, 8.0]},
        {"kind": "reward_rates", "rates": [0.2, 0.1], "weight": 30.0},
        {
            "kind": "lin_ucb",
            "model": "shared",
            "ridge": 0.5,
            "evidence": {"kind": "pessimistic"},
            "delta": 0.1,
            "radius": "theorem",
            "norm": 2.0,
            "cutoff": 20,
        },
        {
            "kind": "lin_ts",
            "model": "shared",
            "ridge": 0.5,
            "evidence": {"kind": "forgetting", "evidence": {"kind": "received"}, "discount": 0.9, "window": None},
            "delta": 0.1,
            "scale": 0.25,
        },
        {"kind": "logistic_ts", "model": "shared", "ridge": 0.5, "scale": 0.25},
        {
            "kind": "chain",
            "index": {
                "kind": "lin_ucb",
                "model": "shared",
                "ridge": 0.5,
                "evidence": {"kind": "received"},
                "delta": 0.1,
                "radius": "theorem",
                "norm": 2.0,
                "cutoff": None,
            },
        },
        {"kind": "exponential_weights", "mixing": {"kind": "constant", "gamma": 0.25}, "scale": 3.5},
        {
            "kind": "window_weights",
            "phases": {"kind": "doubling", "first_horizon": 64, "exponent": 0.5},
            "style": "gain",
        },
        {
            "kind": "restarted_weights",
            "phases": {"kind": "doubled_horizon", "first_horizon": 64, "exponent": 0.4},
        },
    ],
    "evidence": [
        {"kind": "received"},
        {"kind": "optimistic"},
        {"kind": "pessimistic"},
        {"kind": "mature", "missing": "pessimistic"},
        {"kind": "forgetting", "evidence": {"kind": "optimistic"}, "discount": 0.9, "window": None},
        {"kind": "forgetting", "evidence": {"kind": "received"}, "discount": None, "window": 7},
        {"kind": "since_change", "evidence": {"kind": "optimistic"}, "delta": 0.1, "scope": "all", "points": 9},
    ],
    "confidence": [HOEFFDING, MATURE, DOUBT],
    "fairness": [
        {"kind": "none"},
        {"kind": "deficit_first", "fractions": [0.1, 1 / 3], "tolerance": 1.5},
        {"kind": "deficit_first", "fractions": {"per_lane": LANES}, "tolerance": 0.0},
        {"kind": "deficit_bonus", "fractions": [0.1, 0.2], "rate": {"per_lane": LANES}, "shape": "soft"},
        {"kind": "virtual_queue", "fractions": [0.1], "eta": "inf", "weights": [1.0, 2.0], "queue": "recursive"},
        {"kind": "virtual_queue", "fractions": [0.1, 0.2], "eta": 2.5, "weights": [0.5], "queue": "exact"},
        {"kind": "virtual_queue", "fractions": [0.1], "eta": "auto_sqrt", "weights": [1.0], "queue": "recursive"},
        {"kind": "guaranteed_shares", "fractions": [0.1, 0.2], "rest": "all"},
        {"kind": "merit_shares", "merit": POWER, "cap": True},
        {"kind": "group_rank", "window": 50},
        {"kind": "mixing", "mixing": {"kind": "for_choices", "choices": 77.0}},
        {"kind": "floor_shares", "fractions": [0.1, 0.2], "rule": "clip"},
        {"kind": "identifying_shares", "fractions": [0.1, 0.2], "mixing": 0.4, "power": 0.3},
        {"kind": "tracked_shares", "fractions": [0.1, 0.2], "mixing": 0.4, "power": 0.3},
        {"kind": "identifying_merit", "floor_merit": POWER, "part": 0.4, "mixing": 0.2, "power": 0.1},
        {
            "kind": "bounded_shares",
            "fractions": [0.1, 0.2],
            "caps": [0.5, 0.9],
            "groups": [{"name": "hot", "arms": [0, 1], "at_least": 0.4, "at_most": None}],
            "eta": 2.5,
        },
    ],
    "merit": [
        POWER,
        {"kind": "linear", "slope": -0.25, "intercept": 1.5},
        {"kind": "softmax", "temperature": 0.75},
        {"kind": "threshold", "at": 0.25, "below": 2.0, "above": 1.25},
        {"kind": "table", "means": [0.0, 1 / 3, 1.0], "merits": [1.0, 0.7, 1.5]},
    ],
    "selection": [
        {"kind": "top_m", "plays": 3, "ties": "fewest"},
        {"kind": "inverse_gap", "gamma": "auto", "plays": 1},
        {"kind": "inverse_gap", "gamma": 7.5, "plays": 1},
        {"kind": "categorical", "plays": 1},
        {
            "kind": "exploration_floor",
            "floor": 0.05,
            "selection": {"kind": "top_m", "plays": 2, "ties": "random"},
        },
        {"kind": "dependent_rounding", "plays": 2},
        {"kind": "systematic", "plays": 4},
    ],
    "schedule": [
        {"kind": "none"},
        {"kind": "quotas", "quotas": [2.0, 0.0], "promised": [0.2, 0.1]},
        {"kind": "quotas", "quotas": {"per_lane": [[1.0, 2.0], [3.0, 4.0]]}, "promised": None},
        {"kind": "forced_start", "free": True},
        {"kind": "periodic_exploration", "share": 0.2},
        {"kind": "elimination", "confidence": HOEFFDING},
        {
            "kind": "phased_elimination",
            "horizon": 500,
            "rule": "variance",
            "mean_delay": 2.5,
            "max_delay": 7.0,
            "variance": 1.5,
        },
    ],
    "hold": [
        {"kind": "every_round"},
        {"kind": "hold_for", "size": {"kind": "power", "exponent": 0.5}, "count": "all", "credit": "all"},
        {
            "kind": "hold_for",
            "size": {"kind": "geometric", "offset": 2},
            "count": "arm",
            "credit": "second_half",
        },
        {"kind": "random_ends", "phases": {"kind": "one_phase", "longest": 3, "horizon": 90}},
        {"kind": "restarted", "phases": {"kind": "doubled_horizon", "first_horizon": 64, "exponent": 0.4}},
    ],
    "size": [{"kind": "power", "exponent": 1.5}, {"kind": "geometric", "offset": 3}],
    "mixing": [
        {"kind": "constant", "gamma": 0.5},
        {"kind": "for_choices", "choices": 12.5},
        {"kind": "one_phase", "longest": 4, "horizon": 50},
        {"kind": "doubling", "first_horizon": 32, "exponent": 0.4},
        {"kind": "doubled_horizon", "first_horizon": 32, "exponent": 0.4},
    ],
}
TABLES = [(slot, table) for slot, tables in FULL.items() for table in tables]


@pytest.mark.parametrize(
    ("slot", "table"), TABLES, ids=[f"{slot}-{n}-{t['kind']}" for n, (slot, t) in enumerate(TABLES)]
)
def test_a_table_becomes_a_part_and_the_same_table_again(slot: str, table: dict[str, Any]) -> None:
    one = build(slot, json.loads(json.dumps(table)))
    again = json.loads(json.dumps(plain(one), allow_nan=False))
    assert again == table
    assert plain(build(slot, again)) == table
    assert type(one) is kinds(slot)[table["kind"]]


def test_no_kind_is_left_out() -> None:
    for slot, tables in FULL.items():
        own = {kind for kind, cls in kinds(slot).items() if cls.__module__.startswith("evenhand.")}
        assert {table["kind"] for table in tables} == own, slot


def test_no_argument_is_at_its_default_everywhere() -> None:
    for slot, tables in FULL.items():
        for kind in {table["kind"] for table in tables}:
            used = [table for table in tables if table["kind"] == kind]
            required = {p.alias for p in attrs.fields(kinds(slot)[kind]) if p.init and p.default is attrs.NOTHING}
            if kind == "forgetting":  # needs one of two arguments; both are above
                continue
            for name in set(used[0]) - {"kind"} - required:
                default = plain(getattr(build(slot, {key: used[0][key] for key in ("kind", *required)}), name))
                assert any(table[name] != default for table in used) or (
                    name == "plays" and kind in ("categorical", "inverse_gap")
                )


def test_rows_of_lanes_and_infinity_come_back_as_what_they_were() -> None:
    queue = build("fairness", {"kind": "virtual_queue", "fractions": {"per_lane": LANES}, "eta": "inf"})
    assert (type(queue.fractions), queue.fractions.tolist(), queue.eta) == (PerLane, LANES, math.inf)
    assert plain(DeficitFirst(PerLane(LANES)))["fractions"] == {"per_lane": LANES}
    assert type(build("fairness", {"kind": "deficit_first", "fractions": LANES[0]}).fractions) is np.ndarray


# --- What is wrong with a table --------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[str, Any, str]] = {
    "an unknown kind": ("index", {"kind": "ucbb"}, "unknown kind 'ucbb'; did you mean 'ucb'?"),
    "a name alone": ("evidence", "optimstic", "unknown kind 'optimstic'; did you mean 'optimistic'?"),
    "no kind": (
        "evidence",
        {},
        "needs a kind; known: received, optimistic, pessimistic, mature, forgetting, since_change",
    ),
    "a number as kind": ("index", {"kind": 3}, "unknown kind 3"),
    "no profile": ("feedback", {"kind": "spread"}, "needs a profile; known: "),
    "an unknown profile": (
        "feedback",
        {"kind": "spread", "profile": "randm"},
        "unknown profile 'randm'; did you mean 'random'?",
    ),
    "an unknown key": (
        "index",
        {"kind": "ucb", "exploraton": 2},
        "unknown key 'exploraton'; did you mean 'exploration'?",
    ),
    "a key where there is none": ("evidence", {"kind": "received", "x": 1}, "unknown key 'x'; known: kind"),
    "a missing argument": ("fairness", {"kind": "deficit_first"}, "fractions is missing"),
    "an entry": (
        "fairness",
        {"kind": "deficit_first", "fractions": [0.1, 2]},
        "fractions[1] must be a number in [0, 1], got 2.0",
    ),
    "a choice": (
        "selection",
        {"kind": "top_m", "ties": "last"},
        "ties must be 'first' or 'random' or 'fewest', got 'last'",
    ),
    "a part inside": (
        "index",
        {"kind": "ucb", "evidence": "recieved"},
        "evidence: unknown kind 'recieved'; did you mean 'received'?",
    ),
    "an argument of a part inside": (
        "hold",
        {"kind": "hold_for", "size": {"kind": "power", "exponent": 0}},
        "size.exponent must be above 0, got 0",
    ),
    "deep inside": (
        "index",
        {"kind": "exploring", "epsilon": 0.1, "index": {"kind": "exploring", "epsilon": 2, "index": "ucb"}},
        "index.epsilon must be a number in [0, 1], got 2",
    ),
    "four faults": (
        "fairness",
        {"kind": "virtual_queue", "eta": -1, "weights": [1, -2], "queue": "long", "size": 2},
        "fractions is missing\n"
        "eta must be a number of at least 0 or inf, got -1\n"
        "weights[1] must be a number of at least 0, got -2.0\n"
        "queue must be 'exact' or 'recursive', got 'long'\n"
        "unknown key 'size'; known: kind, fractions, eta, weights, queue",
    ),
    "code": (
        "index",
        {"kind": "os:system"},
        "unknown kind 'os:system': register your own parts first, with evenhand.part, and give their name",
    ),
    "code inside": (
        "index",
        {"kind": "ucb", "evidence": {"kind": "os:system"}},
        "evidence: unknown kind 'os:system': register your own parts first, with evenhand.part, and give their name",
    ),
}


@pytest.mark.parametrize(("slot", "table", "message"), FAULTS.values(), ids=list(FAULTS))
def test_faults_are_named_with_the_remedy(slot: str, table: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build(slot, table)
    assert str(caught.value) == message or (message.endswith("known: ") and str(caught.value).startswith(message))


def test_a_constructor_names_all_wrong_arguments() -> None:
    with pytest.raises(EvenhandError) as caught:
        ConfidenceIntervals(0.5, scale=-1, per_arm="yes", lower="hopeful")  # type: ignore[arg-type]
    assert str(caught.value).split("\n") == [
        "inside must be a number of at least 1, got 0.5",
        "scale must be a number of at least 0, got -1",
        "per_arm must be true or false, got 'yes'",
        "lower: unknown kind 'hopeful'; known: received, optimistic, pessimistic, mature, forgetting, since_change; "
        "your own: import its module first, on the command line with --import FILE",
    ]


@part("index", "heated")
@frozen
class Heated(Index):
    """One whose validator fails in a comparison, which names no argument."""

    heat: float = field(default=1.0, validator=validators.ge(0))

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return state.tally.rewards


def test_a_comparison_that_fails_names_its_argument() -> None:
    message = r"^index\.heat is of the wrong type, got 'hot': '>=' not supported"
    with pytest.raises(ConfigurationError, match=message):
        as_policy({"index": {"kind": "heated", "heat": "hot"}}, Surroundings(2))
    with pytest.raises(EvenhandError, match=r"^'heat' must be >= 0: -1$"):
        Heated(-1)


def test_what_is_no_table_is_left_to_the_part() -> None:
    index = UCB()
    assert build("index", index) is index
    assert build("index", 3) == 3


# --- Parts of one's own ----------------------------------------------------------------------------------------------


@frozen
class Own(Index):
    """Scores of one's own."""

    level: float = field(default=0.5, converter=validate.unit)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return np.full(state.tally.pulls.shape, self.level)


class NoAttrs:
    """A class that takes anything."""

    def __init__(self, level: float) -> None:
        self.level = level


OBJECTS = {"mine:Own": Own, "mine:NoAttrs": NoAttrs, "mine:text": "Own"}


def test_an_own_class_is_found_only_where_that_is_allowed() -> None:
    table = {"kind": "mine:Own", "level": 0.25}
    with pytest.raises(ConfigurationError, match=r"^unknown kind 'mine:Own': register your own parts first"):
        build("index", table)
    own = build("index", table, OBJECTS.__getitem__)
    assert own == Own(0.25)
    assert plain(own) == table
    with pytest.raises(ConfigurationError, match=r"^level must be a number in \[0, 1\], got 2$"):
        build("index", {"kind": "mine:Own", "level": 2}, OBJECTS.__getitem__)
    inside = build("index", {"kind": "exploring", "index": table, "epsilon": 0.1}, OBJECTS.__getitem__)
    assert inside.index == Own(0.25)


def test_what_is_no_class_of_parameters_is_refused() -> None:
    for kind in ("mine:text", "mine:NoAttrs"):
        with pytest.raises(ConfigurationError, match=rf"^kind '{kind}' must "):
            build("index", {"kind": kind, "level": 2}, OBJECTS.__getitem__)


def test_a_name_is_given_once() -> None:
    @part("index", "own_of_this_test")
    @frozen
    class First(Index):
        def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
            return np.zeros(state.tally.pulls.shape)

    assert kinds("index")["own_of_this_test"] is First
    assert plain(build("index", "own_of_this_test")) == {"kind": "own_of_this_test"}
    register("index", "own_of_this_test", First)  # once more is fine: a module may be loaded again
    with pytest.raises(
        EvenhandError,
        match=r"^two classes are registered as index 'own_of_this_test': .*First and .*Own; rename one of them$",
    ):
        register("index", "own_of_this_test", Own)
    with pytest.raises(EvenhandError, match=r"^there is no slot 'indx'; did you mean 'index'\?$"):
        part("indx", "own")(Own)


@pytest.mark.parametrize("table", ["regret", {"kind": "regret"}, {"name": "regret"}, {"kind": 3}])
def test_a_part_of_an_unknown_slot_is_refused_with_the_nearest_one(table: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^there is no slot 'metrics'; did you mean 'metric'\?$"):
        build("metrics", table)


def test_an_unregistered_part_and_a_function_have_no_plain_form() -> None:
    with pytest.raises(
        StateError, match=r"Own is not registered: decorate it with @evenhand\.part\('index', 'a_name_of_its_own'\)$"
    ):
        plain(Own())
    with pytest.raises(StateError):
        plain(HoldFor(lambda k: 2.0 * k))
    for value in (CustomSize(lambda k: k), Custom(lambda mean: 1.0 + mean)):
        with pytest.raises(StateError):
            plain(value)


# --- Modules that the user names -------------------------------------------------------------------------------------


def test_kinds_load_their_modules_by_themselves() -> None:
    code = "from evenhand.core.parts import build; print(build('selection', 'top_m'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "TopM(plays=1, ties='first')"
