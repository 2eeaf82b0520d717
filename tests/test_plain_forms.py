"""What a policy, an environment, metrics and promises can be given as: the same in every place that takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import Policy
from evenhand.algorithms.build import Surroundings, each_policy, grid_points, policies_of
from evenhand.bandit.evaluation.replay import policy_of
from evenhand.core.errors import ConfigurationError, Faults
from evenhand.core.parts import build, plain, several
from evenhand.environment.world import as_environment
from evenhand.evaluation import Log, price
from evenhand.policy import UCB, DeficitFirst, TopM
from evenhand.service import Store
from evenhand.simulation.metrics import Metric
from evenhand.studies.configuration import parse
from evenhand.studies.study import Study
from evenhand.studies.units import Builder, units_of

WORLD = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": [0.1, 0.1]}
RUN: dict[str, Any] = {"horizon": 20, "lanes": 2, "progress": False}
ROWS = {"timestamp": range(8), "item_id": ["a", "b"] * 4, "reward": [0, 1] * 4, "propensity_score": 0.5}
LOG = Log.of(pd.DataFrame(ROWS))
FUCB = eh.algorithms.fucb([0.1, 0.1])


def run(policies: Any = "ucb1", environment: Any = WORLD, **more: Any) -> Policy:
    """The first policy of a comparison."""
    return eh.compare(policies, environment, **RUN, **more).setup().policies.popitem()[1]


def read(policies: Any = "ucb1", environment: Any = WORLD, **more: Any) -> Policy:
    """The first policy of a configuration."""
    return parse({"horizon": 20, "environment": environment, "policies": policies, **more}).policies.popitem()[1]


def swept(policies: Any = "ucb1", environment: Any = WORLD, **more: Any) -> Policy:
    """The first policy of a sweep."""
    config = {"horizon": 20, "lanes": 2, "environment": environment, "policies": policies, **more}
    study = Study.of(config, {"horizon": [20]})
    (unit,) = units_of(Study.parse(json.loads(json.dumps(study.to_json()))))
    return Builder(Path()).setup(unit).policies.popitem()[1]


def varied(policy: Any) -> Policy:
    """The policy of a sweep in which it varies."""
    study = Study.of({"horizon": 20, "environment": WORLD, "policies": ["ucb1"]}, {"policies[0]": [policy]})
    (unit,) = units_of(study)
    return Builder(Path()).setup(unit).policies.popitem()[1]


def stored(policy: Any) -> Policy:
    """The policy of an allocation."""
    with TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{folder}/drinks.db")
        store.create("drinks", ["a", "b"], policy)
        store.close()
    return eh.Bandit(["a", "b"], policy)._record.policy


#: Where a policy is given, and how to come by what was made of it.
TAKES_A_POLICY: dict[str, Callable[[Any], Policy]] = {
    "compare, a list": lambda one: run([one]),
    "compare, one": run,
    "compare, by label": lambda one: run({"mine": one}),
    "simulate": lambda one: eh.simulate(one, WORLD, **RUN).setup().policies.popitem()[1],
    "configuration, a list": lambda one: read([one]),
    "configuration, one": read,
    "configuration, by label": lambda one: read({"mine": one}),
    "sweep": lambda one: swept([one]),
    "sweep, one": swept,
    "sweep, an axis": varied,
    "Bandit": lambda one: eh.Bandit(["a", "b"], one)._record.policy,
    "Store": stored,
    "replay": lambda one: policy_of(LOG, one, {}, 8)[1],
}
FAIRNESS = {"kind": "deficit_first", "fractions": [0.1, 0.1]}
FORMS: dict[str, Any] = {
    "a table of an algorithm": {"algorithm": "fucb", "fractions": [0.1, 0.1]},
    "one number for all arms": {"algorithm": "fucb", "fractions": 0.1},
    "a policy": FUCB,
    "its plain form": plain(FUCB),
    "a table of parts": {"index": {"kind": "ucb", "exploration": 2.0}, "fairness": FAIRNESS},
    "with names of kinds": {"index": "ucb", "fairness": FAIRNESS, "selection": "top_m"},
    "with its own kind": {"kind": "policy", "index": "ucb", "fairness": FAIRNESS},
    "with objects": {"index": UCB(), "fairness": DeficitFirst([0.1, 0.1]), "selection": TopM()},
    "with an object that stands for all arms": {"index": UCB(), "fairness": DeficitFirst(0.1)},
}


@pytest.mark.parametrize("place", TAKES_A_POLICY)
@pytest.mark.parametrize("form", FORMS)
def test_a_policy_is_given_in_every_form_in_every_place(form: str, place: str) -> None:
    made = TAKES_A_POLICY[place](FORMS[form])
    assert plain(made.index) == plain(UCB())
    assert isinstance(made.fairness, DeficitFirst)
    assert np.broadcast_to(made.fairness.fractions, 2).tolist() == [0.1, 0.1]


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_is_checked_in_every_form(form: str) -> None:
    eh.check_policy(FORMS[form], 2)


@pytest.mark.parametrize("place", TAKES_A_POLICY)
def test_a_policy_is_given_by_name_in_every_place(place: str) -> None:
    assert TAKES_A_POLICY[place]("ucb1").name == TAKES_A_POLICY[place]({"algorithm": "ucb1"}).name == "ucb1"


NO_POLICY: dict[str, tuple[Any, str]] = {
    "a pair": (("fucb", {"fractions": 0.1}), r"table such as {'algorithm': 'fucb', 'fractions': 0.1}, got [(\[]'fucb'"),
    "a number": (7, "the name of an algorithm such as 'fucb', or a table .*, got 7"),
    "nothing": (None, "the name of an algorithm such as 'fucb', or a table .*, got None"),
    "a part": (UCB(), r"\{'?index|Policy\(index=UCB\(…\)\) is a policy with it"),
    "the table of a part": ({"kind": "ucb"}, r"kind 'ucb' is one of index, so write {'index': {'kind': 'ucb', …}}"),
    "no name": ({"algorithm": 3}, "algorithm must be a name such as 'fucb', got 3"),
    "an unknown name": ("fub", "there is no algorithm 'fub'; did you mean 'fucb'"),
    "an unknown key": ({"indx": "ucb", "hold": "every_round"}, "unknown key 'indx'; did you mean 'index'"),
    "a function": (eh.algorithms.ucb1, r"the function ucb1(: call it, as in ucb1\(…\)| cannot be saved)"),
    "a number for a part": ({"index": 7}, "index must be a table such as { kind = 'ucb' }, got 7"),
}


@pytest.mark.parametrize(
    "place", [place for place in TAKES_A_POLICY if place not in ("compare, one", "configuration, one", "sweep, one")]
)
@pytest.mark.parametrize("form", NO_POLICY)
def test_what_is_no_policy_is_refused_with_what_would_be_one(form: str, place: str) -> None:
    value, message = NO_POLICY[form]
    with pytest.raises(eh.EvenhandError, match=message):
        TAKES_A_POLICY[place](value)
    with pytest.raises(eh.EvenhandError, match=message):
        eh.check_policy(value, 2)


@pytest.mark.parametrize(
    "make", [lambda given: list(given_by_compare(given)), lambda given: list(given_by_toml(given))]
)
def test_labels_and_grids_are_the_same_in_python_and_in_configurations(make: Callable[[Any], list[str]]) -> None:
    assert make(["fucb", {"algorithm": "ucb1", "label": "mine"}, FUCB.__class__(name="own")]) == ["fucb", "mine", "own"]
    assert make({"algorithm": "fucb", "grid": {"tolerance": [0, 5]}}) == ["fucb tolerance=0", "fucb tolerance=5"]
    assert make({"a": "fucb", "b": {"algorithm": "fucb", "grid": {"tolerance": (1,)}}}) == ["a", "b tolerance=1"]
    assert make(({"index": "ucb"}, {"index": "ucb", "name": "named"})) == ["policy", "named"]
    with pytest.raises(
        eh.EvenhandError,
        match=r"^policies\[1\]: two policies are labelled 'ucb1'; give each its own label, as a key, {'",
    ):
        make(["ucb1", "ucb1"])
    with pytest.raises(eh.EvenhandError, match=r"^policies\[0\]: there is no algorithm 'a'.*\npolicies\[2\]"):
        make(["a", "ucb1", 7])
    with pytest.raises(eh.EvenhandError, match="there is no policy to simulate"):
        make([])
    with pytest.raises(eh.EvenhandError, match=r"^policies: the label of a policy must be a string, got 3"):
        make({3: "ucb1"})


def given_by_compare(policies: Any) -> list[str]:
    return list(eh.compare(policies, WORLD, **RUN).policies)


def given_by_toml(policies: Any) -> list[str]:
    return list(parse({"horizon": 20, "environment": WORLD, "policies": policies}).policies)


@pytest.mark.parametrize("place", ["Bandit", "Store"])
def test_what_belongs_to_comparisons_is_refused_elsewhere(place: str) -> None:
    for key, value in (("label", "x"), ("grid", {"tolerance": [1]})):
        with pytest.raises(ConfigurationError, match=f"'{key}' belongs to lists of policies that are compared"):
            TAKES_A_POLICY[place]({"algorithm": "fucb", "fractions": 0.1, key: value})


def test_a_price_takes_an_algorithm_by_name_or_table() -> None:
    one, other = (price(WORLD, 0.1, policy=policy, rounds=50) for policy in ("fucb", {"algorithm": "fucb"}))
    assert one == other
    assert one.policy == "fucb"
    refused: list[tuple[Any, str]] = [
        (FUCB, "policy must be the name of an algorithm, or a table such as"),
        ({"index": "ucb"}, "policy must be the name of an algorithm"),
        ({"algorithm": "fucb", "fractions": 0.2}, "policy has fractions, which promises says: leave it out"),
    ]
    for policy, message in refused:
        with pytest.raises(eh.EvenhandError, match=message):
            price(WORLD, 0.1, policy=policy, rounds=50)


MADE = eh.Environment(eh.rewards.Bernoulli([0.9, 0.5]), fractions=[0.1, 0.1])
TAKES_A_WORLD: dict[str, Callable[[Any], object]] = {
    "compare": lambda one: run(environment=one),
    "simulate": lambda one: eh.simulate("ucb1", one, **RUN),
    "check_environment": lambda one: eh.check_environment(one, 20),
    "configuration": lambda one: read(environment=one),
    "sweep": lambda one: swept(environment=one),
    "price": lambda one: price(one, 0.1, rounds=20),
}
WORLDS: dict[str, Any] = {
    "an environment": MADE,
    "its plain form": plain(MADE),
    "a table": WORLD,
    "with its kind": {"kind": "environment", **WORLD},
    "with names of kinds": {**WORLD, "feedback": "immediate", "availability": "always"},
    "with tables": {**WORLD, "feedback": {"kind": "geometric", "success": 0.5}},
    "with objects": {"rewards": eh.rewards.Bernoulli([0.9, 0.5]), "feedback": eh.delays.Geometric(0.5)},
    "with names of arms": {**WORLD, "arms": ["tea", "mate"]},
}
NO_WORLD: dict[str, tuple[Any, str]] = {
    "rewards": ({"kind": "bernoulli", "means": [0.9, 0.5]}, r"^environment: kind 'bernoulli' is one of rewards: write"),
    "an unknown kind": ({"kind": "wold"}, "^environment: unknown kind 'wold'"),
    "an unknown key": ({**WORLD, "reward": 3}, "^environment: unknown key 'reward'; did you mean 'rewards'"),
    "a number": (7, r"^environment must be an object such as Environment\(Bernoulli\(\[0.9, 0.5\]\)\), got 7"),
    "nothing": (None, "^environment must be an object such as .* got None"),
    "a fault within": (
        {"rewards": {"kind": "bernoulli", "means": [2.0]}},
        r"^environment\.rewards\.means\[0\] must be",
    ),
}


@pytest.mark.parametrize("place", TAKES_A_WORLD)
@pytest.mark.parametrize("form", WORLDS)
def test_an_environment_is_given_in_every_form_in_every_place(form: str, place: str) -> None:
    TAKES_A_WORLD[place](WORLDS[form])


@pytest.mark.parametrize("place", TAKES_A_WORLD)
@pytest.mark.parametrize("form", NO_WORLD)
def test_what_is_no_environment_is_refused_with_what_would_be_one(form: str, place: str) -> None:
    value, message = NO_WORLD[form]
    with pytest.raises(eh.EvenhandError, match=message):
        TAKES_A_WORLD[place](value)


@eh.part("metric", "test_even")
class Even(Metric):
    """Nothing but a number."""

    name, label, unit = "test_even", "even", ""

    def value(self, memory: Any, run: Any) -> Any:
        return np.zeros(run.lanes)


PLACES: dict[str, Callable[..., Any]] = {"compare": run, "configuration": read, "sweep": swept}


@pytest.mark.parametrize("place", PLACES)
def test_metrics_are_given_alone_or_in_a_list_by_name_table_or_object(place: str) -> None:
    accepted: list[Any] = [
        "test_even",
        {"kind": "test_even"},
        Even(),
        ["test_even"],
        ({"kind": "test_even"},),
        [Even()],
    ]
    for metrics in accepted:
        PLACES[place](metrics=metrics)
    PLACES[place](metrics=["regret", "reward"])  # which every run takes
    refused: list[tuple[Any, str]] = [
        ("even", r"^metrics\[0\]: unknown kind 'even'; did you mean 'test_even'"),
        (["test_even", "test_even"], r"^metrics\[1\]: the name 'test_even' of Even is taken"),
        (7, r"^metrics\[0\] must be a Metric, or the name of a kind or its table, got 7"),
    ]
    for metrics, message in refused:
        with pytest.raises(eh.EvenhandError, match=message):
            PLACES[place](metrics=metrics)


def test_every_run_takes_its_measures_once() -> None:
    results = eh.compare("ucb1", WORLD, metrics=["regret", "test_even"], **RUN)
    assert list(results.own) == ["test_even"]
    assert {"regret", "test_even"} <= set(results.policies["ucb1"].curves)


@pytest.mark.parametrize("place", PLACES)
def test_promises_are_given_alone_or_in_a_list_by_table_or_object(place: str) -> None:
    change = eh.changes.From(11, eh.changes.Promise({"1": 0.2}))
    table = {"from": 11, "fractions": {"1": 0.2}}
    for promises in (change, table, [change], (table,)):
        PLACES[place]("fucb", promises=promises)
    with pytest.raises(eh.EvenhandError, match=r"^promises\[0\] must be a table such as .* got 7"):
        PLACES[place]("fucb", promises=7)


@pytest.mark.parametrize(
    ("slot", "form"),
    [
        ("index", "ucb"),
        ("index", {"kind": "ucb"}),
        ("fairness", {"kind": "deficit_first", "fractions": 0.1}),
        ("selection", "top_m"),
        ("schedule", "none"),
        ("hold", "every_round"),
    ],
)
def test_parts_of_a_policy_are_given_by_name_table_or_object(slot: str, form: Any) -> None:
    made = build(slot, form)
    assert plain(getattr(Policy(**{slot: form}), slot)) == plain(getattr(Policy(**{slot: made}), slot)) == plain(made)


@pytest.mark.parametrize("evidence", ["optimistic", {"kind": "optimistic"}, build("evidence", "optimistic")])
def test_arguments_of_algorithms_and_parts_are_given_by_name_table_or_object(evidence: Any) -> None:
    made = eh.algorithms.fucb([0.1, 0.1], evidence=evidence)
    assert plain(made.evidence)["kind"] == plain(UCB(evidence=evidence).evidence)["kind"] == "optimistic"
    bandit = eh.Bandit(["a", "b"], "fucb", fractions=0.1, evidence=evidence)
    assert plain(bandit._record.policy.evidence)["kind"] == "optimistic"


@pytest.mark.parametrize(
    ("given", "listed"),
    [("a", ["a"]), ({"kind": "a"}, [{"kind": "a"}]), (7, [7]), (None, [None]), ((1, 2), [1, 2]), ([], []), ("", [""])],
)
def test_what_stands_alone_is_a_list_of_one(given: Any, listed: list[Any]) -> None:
    assert several(given) == listed


def test_readers_of_policies_take_one_several_or_labelled_ones() -> None:
    assert each_policy("fucb") == [(0, "fucb")]
    assert each_policy({"a": "fucb"}) == [("a", "fucb")]
    assert each_policy({"index": FUCB, "hold": "ucb1"}) == [("index", FUCB), ("hold", "ucb1")]
    assert each_policy({"index": "ucb"}) == [(0, {"index": "ucb"})]
    assert grid_points({"algorithm": "fucb"}, "mine") == [("mine", {"algorithm": "fucb"})]
    faults = Faults()
    assert list(policies_of(["ucb1", "fub"], Surroundings(2), faults)) == ["ucb1"]
    assert [str(one).partition(";")[0] for one in faults] == ["policies[1]: there is no algorithm 'fub'"]


@pytest.mark.parametrize("place", [run, read, swept])
def test_values_are_given_by_the_names_of_arms(place: Callable[..., Policy]) -> None:
    rewards = {"kind": "bernoulli", "means": [0.9, 0.5]}
    world = {"arms": ["tea", "coffee"], "rewards": rewards, "fractions": {"coffee": 0.1}, "penalties": {"tea": 2.0}}
    shares = place("fucb", world).fractions
    assert shares is not None
    assert list(shares) == [0.0, 0.1]
    for form in ({"algorithm": "f_ts", "fractions": {"tea": 0.2}}, {"fairness": {"kind": "deficit_first"}}):
        shares = place(form, {**world, "fractions": {"tea": 0.2}}).fractions
        assert shares is not None
        assert list(shares) == [0.2, 0.0]
    with pytest.raises(eh.EvenhandError, match=r"policies\[0\]\.fractions has an unknown arm 'tee'; did you mean"):
        place([{"algorithm": "f_ts", "fractions": {"tee": 0.2}}], world)
    with pytest.raises(eh.EvenhandError, match=r"environment\.weights has an unknown arm 'tee'; did you mean 'tea'"):
        place("fucb", {**world, "weights": {"tee": 2.0}})


def test_arms_without_a_name_in_the_table_have_the_usual_value() -> None:
    rewards = {"kind": "bernoulli", "means": [0.9, 0.5]}
    table = {"rewards": rewards, "penalties": {"1": 2.0}, "weights": {"2": 3.0}}
    setup = parse({"horizon": 20, "environment": table, "policies": "ucb1"})
    for world in (setup.environment, as_environment(table)):
        assert world.penalties is not None
        assert world.weights is not None
        assert [list(world.penalties), list(world.weights)] == [[2.0, 0.0], [1.0, 3.0]]
