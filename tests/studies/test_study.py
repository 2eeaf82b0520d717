"""Paths into configurations, axes, and the settings that they make."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import sweep
from evenhand.algorithms import ucb1
from evenhand.core.errors import ConfigurationError, EvenhandError
from evenhand.simulation.metrics import Metric, Run
from evenhand.studies.paths import put, steps
from evenhand.studies.study import Study
from evenhand.studies.units import units_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("horizon", ("horizon",)),
        ("policies[0].eta", ("policies", 0, "eta")),
        ("policies[12].merit.exponent", ("policies", 12, "merit", "exponent")),
        ('policies["F-TS, η = 1"].tolerance', ("policies", "F-TS, η = 1", "tolerance")),
        ("policies['a'].x", ("policies", "a", "x")),
        ("environment.rewards.means[1]", ("environment", "rewards", "means", 1)),
    ],
)
def test_a_path_has_steps(path: str, expected: tuple[str | int, ...]) -> None:
    assert steps(path) == expected


@pytest.mark.parametrize("path", ["", ".", ".a", "a.", "a..b", "[0]", "a[", "a[x]", "a[-1]", "a b", "a[0]b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match="path"):
        steps(path)


def test_a_value_is_put_without_changing_the_original(config: dict[str, Any]) -> None:
    before = json.dumps(config)
    changed = put(config, steps("policies.UCB.exploration"), 3.0)
    assert changed["policies"][1] == {"label": "UCB", "algorithm": "ucb1", "exploration": 3.0}
    assert changed["policies"][0] is config["policies"][0]
    assert json.dumps(config) == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("policies[2].eta", r"policies has 2 entries, counted from 0: there is no policies\[2\]"),
        ("policies.TS.eta", "policies has no entry 'TS'"),
        ("enviroment.rewards", "the configuration has no 'enviroment'; did you mean 'environment'"),
        ("horizon.x", "horizon is 60: there is no 'x' in it"),
        ("environment[0]", "environment is a table, which has no entry number 0"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(config: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Study.of(config, {path: [1]})


def test_a_label_that_two_policies_have_is_refused(config: dict[str, Any]) -> None:
    config["policies"] = [{"algorithm": "ucb1"}, {"algorithm": "ucb1", "exploration": 1.0}]
    with pytest.raises(ConfigurationError, match=r"2 entries 'ucb1': use a number, as in policies\[0\]"):
        Study.of(config, {"policies.ucb1.exploration": [1]})


def test_full_is_the_product_in_order(config: dict[str, Any]) -> None:
    study = Study.of(config, {"policies[0].eta": [1, 2], "horizon": [50, 60, 70]})
    found = [tuple(one.values.values()) for one in study.settings()]
    assert found == list(itertools.product([1, 2], [50, 60, 70]))
    assert len(study) == 6
    assert [one.config["horizon"] for one in study.settings()] == [50, 60, 70] * 2
    assert [one.config["policies"][0]["eta"] for one in study.settings()] == [1, 1, 1, 2, 2, 2]


def test_paired_takes_values_together(config: dict[str, Any]) -> None:
    study = Study.of(config, {"policies[0].eta": [1, 2], "horizon": [50, 60]}, mode="paired")
    assert [one.values for one in study.settings()] == [{"eta": 1, "horizon": 50}, {"eta": 2, "horizon": 60}]
    with pytest.raises(ConfigurationError, match="equally many values: eta has 1, horizon has 2"):
        Study.of(config, {"policies[0].eta": [1], "horizon": [50, 60]}, mode="paired")


def test_a_list_sets_what_it_names(config: dict[str, Any]) -> None:
    study = Study.of(config, settings=[{"horizon": 50}, {"policies[0].eta": 3, "horizon": 70}])
    assert [one.values for one in study.settings()] == [{"horizon": 50}, {"eta": 3, "horizon": 70}]
    assert study.names == ["horizon", "eta"]


def test_random_settings_are_of_their_law_and_their_seed(config: dict[str, Any]) -> None:
    axes = {
        "eta": {"path": "policies[0].eta", "low": 1, "high": 1000, "spacing": "log"},
        "horizon": [50, 60],
        "tolerance": {"path": "policies[0].tolerance", "low": 0.0, "high": 2.0},
    }
    study = Study.of(config, axes, mode="random", points=4000, seed=3)
    etas, horizons, tolerances = (np.array([one.values[n] for one in study.settings()]) for n in axes)
    # Means of 4000 draws: the standard errors are 3/√12, 5 and 2/√12 over √4000; five of them are allowed.
    assert abs(np.log10(etas).mean() - 1.5) < 5 * 3 / np.sqrt(12 * 4000)
    assert abs(horizons.mean() - 55) < 5 * 5 / np.sqrt(4000)
    assert abs(tolerances.mean() - 1.0) < 5 * 2 / np.sqrt(12 * 4000)
    again = Study.of(config, axes, mode="random", points=4000, seed=3)
    assert [one.values for one in again.settings()] == [one.values for one in study.settings()]
    other = Study.of(config, axes, mode="random", points=4000, seed=4)
    assert [one.values for one in other.settings()] != [one.values for one in study.settings()]


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ({"low": 1, "high": 1000, "points": 4, "spacing": "log"}, (1, 10, 100, 1000)),
        ({"low": 0.0, "high": 1.0, "points": 3}, (0.0, 0.5, 1.0)),
        ({"low": 10, "high": 20, "points": 3}, (10, 15, 20)),
        ({"low": 0, "high": 1, "points": 3}, (0.0, 0.5, 1.0)),
    ],
)
def test_an_axis_can_be_spaced(config: dict[str, Any], axis: dict[str, Any], values: tuple[float, ...]) -> None:
    study = Study.of(config, {"eta": {"path": "policies[0].eta", **axis}})
    assert study.axes[0].values == pytest.approx(values)
    assert [type(one) for one in study.axes[0].values] == [type(one) for one in values]


def test_one_value_can_go_to_several_places(config: dict[str, Any]) -> None:
    study = Study.of(config, {"lanes": {"path": ["lanes", "horizon"], "values": [5]}})
    (setting,) = study.settings()
    assert (setting.config["lanes"], setting.config["horizon"]) == (5, 5)


def test_axes_of_one_last_key_have_longer_names(config: dict[str, Any]) -> None:
    study = Study.of(config, {"policies[0].eta": [1], "policies[1].eta": [1]})
    assert study.names == ["policies.0.eta", "policies.1.eta"]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (None, "sweep is missing"),
        ([], "sweep must be a table"),
        ({}, "sweep must have either axes or a list of settings"),
        ({"axis": {}}, "sweep: unknown key 'axis'; did you mean 'axes'"),
        ({"axes": {}}, "sweep.axes must be a table with at least one axis"),
        ({"axes": {"horizon": []}}, "sweep.axes.horizon must be a list with at least one value"),
        ({"axes": {"horizon": 5}}, "sweep.axes.horizon must be a list with at least one value, got 5"),
        ({"axes": {"horizon": "56"}}, "sweep.axes.horizon must be a list"),
        ({"axes": {"horizon": {"low": 5}}}, "sweep.axes.horizon.high must be a"),
        ({"axes": {"horizon": {"low": 5, "high": 5, "points": 2}}}, "low must be less than high, got 5 and 5"),
        ({"axes": {"horizon": {"low": 0, "high": 5, "points": 2, "spacing": "log"}}}, "and above 0"),
        ({"axes": {"horizon": {"low": 1, "high": 5}}}, "sweep.axes.horizon.points must be a whole number"),
        ({"axes": {"horizon": {"values": [1], "low": 1}}}, "give either values, or low and high"),
        ({"axes": {"horizon": {"value": [1]}}}, "unknown key 'value'; did you mean 'values'"),
        ({"axes": {"lane": {"path": "lanes", "values": [1]}}}, "the results have a column of this name"),
        ({"axes": {"horizon": [1]}, "mode": "product"}, "sweep.mode must be"),
        ({"axes": {"horizon": [1]}, "mode": "random"}, "points is the number of settings that mode 'random' draws"),
        ({"axes": {"horizon": [1]}, "points": 3}, "points is the number of settings"),
        ({"axes": {"horizon": [1]}, "settings": [{"horizon": 1}]}, "sweep must have either axes or a list of settings"),
        ({"settings": []}, "sweep.settings must be a list with at least one table"),
        ({"settings": [5]}, r"sweep.settings\[0\] must be a table"),
        ({"settings": [{"horizn.x": 5}]}, r"sweep.settings\[0\]: the configuration has no 'horizn'"),
    ],
)
def test_faults_of_a_study_are_named(config: dict[str, Any], sweep: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Study.parse(config if sweep is None else {**config, "sweep": sweep})


def test_a_path_that_leads_nowhere_is_pointed_at(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('horizon = 5\nenvironment = {}\npolicies = []\n[sweep.axes]\n"polices[0].eta" = [1]\n')
    with pytest.raises(
        EvenhandError, match=r"study.toml:5:20: sweep.axes.polices\[0\].eta: .* did you mean 'policies'"
    ):
        Study.load(path)


def test_a_fault_in_a_file_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    lines = ["horizon = 5", "[environment]", "[[policies]]", "algorithm = 'ucb1'", "[sweep]", "mode = 'ful'"]
    path.write_text("\n".join([*lines, "axes = { horizon = [1] }"]))
    with pytest.raises(EvenhandError, match=r"study.toml:6:8: sweep.mode must be .*got 'ful'"):
        Study.load(path)


@pytest.mark.parametrize("mode", ["full", "paired", "random", "list"])
def test_a_study_survives_its_plain_form(config: dict[str, Any], mode: str) -> None:
    if mode == "list":
        study = Study.of(config, settings=[{"horizon": 50}])
    elif mode == "random":
        study = Study.of(config, {"eta": {"path": "policies[0].eta", "low": 1.0, "high": 2.0}}, mode="random", points=3)
    else:
        study = Study.of(config, {"policies[0].eta": [1, float("inf")], "lanes": [2, 3]}, mode=mode)
    again = Study.parse(json.loads(json.dumps(study.to_json())))
    assert list(again.settings()) == list(study.settings())
    assert again.to_json() == study.to_json()


def test_units_that_do_not_have_what_varies_are_equal(config: dict[str, Any]) -> None:
    units = list(units_of(Study.of(config, {"policies[0].eta": [1, 2, 3]})))
    assert len(units) == 6
    assert len({unit.key for unit in units if unit.label == "UCB"}) == 1
    assert len({unit.key for unit in units if unit.label == "eta_fucb"}) == 3


def test_a_label_decides_no_result(config: dict[str, Any]) -> None:
    named = put(config, ("policies", 1, "label"), "other")
    first, second = ([unit.key for unit in units_of(Study.of(one, {"horizon": [50]}))] for one in (config, named))
    assert first == second


@pytest.mark.parametrize("path", ["seed", "lanes", "plays", "spacing", "environment.fractions"])
def test_what_decides_results_is_in_the_key(config: dict[str, Any], path: str) -> None:
    config["environment"]["fractions"] = 0.1
    first, second = (next(units_of(Study.of(config, {path: [value]}))).key for value in (1, 2))
    assert first != second


def test_the_contents_of_files_are_in_the_key(config: dict[str, Any], tmp_path: Path) -> None:
    config["environment"]["rewards"] = {"kind": "table", "path": "rewards.csv"}
    config["policies"] = [{"algorithm": "own:make"}]
    keys = []
    for rewards, own in (("a,b\n1,0\n", "x = 1"), ("a,b\n0,0\n", "x = 1"), ("a,b\n0,0\n", "x = 2")):
        (tmp_path / "rewards.csv").write_text(rewards)
        (tmp_path / "own.py").write_text(own)
        keys.append(next(units_of(Study.of(config, {"lanes": [5]}, folder=tmp_path))).key)
    assert len(set(keys)) == 3


def test_a_grid_of_a_policy_makes_units(config: dict[str, Any]) -> None:
    config["policies"] = [{"algorithm": "lfg", "grid": {"eta": [1, 2]}}]
    assert [one.label for one in units_of(Study.of(config, {"lanes": [5]}))] == ["lfg eta=1", "lfg eta=2"]


def test_two_policies_of_one_label_are_refused(config: dict[str, Any]) -> None:
    config["policies"] = [{"algorithm": "ucb1"}, {"algorithm": "ucb1"}]
    with pytest.raises(ConfigurationError, match=r"two policies are labelled 'ucb1'.* or as label in its table"):
        list(units_of(Study.of(config, {"lanes": [5]})))


def test_a_name_stands_for_a_table_also_where_a_path_leads_into_it() -> None:
    config = {"policies": ["fucb", {"algorithm": "ucb1"}], "environment": {"feedback": "fixed"}}
    changed = put(config, steps("policies['fucb'].tolerance"), 2)
    assert changed["policies"] == [{"algorithm": "fucb", "tolerance": 2}, {"algorithm": "ucb1"}]
    assert put(config, steps("environment.feedback.delay"), 3)["environment"]["feedback"] == {
        "kind": "fixed",
        "delay": 3,
    }
    world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.1}
    study = Study.of({"horizon": 9, "environment": world, "policies": ["fucb"]}, {"policies[0].tolerance": [0, 5]})
    tables = [unit.table for unit in units_of(study)]
    assert tables == [{"algorithm": "fucb", "tolerance": 0}, {"algorithm": "fucb", "tolerance": 5}]


class Unregistered(Metric):
    """A metric without a kind."""

    name, label, unit = "unregistered", "unregistered", ""

    def value(self, memory: Any, run: Run) -> Any:
        return np.zeros(run.lanes)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"metrics": [Unregistered()]}, r"metrics\[0\] must be what a file can keep: .*Unregistered is not registered"),
        ({"environment": {"merit": np.sqrt}}, r"environment\.merit must be what a file can keep: .* cannot be saved"),
        ({"policies": [ucb1]}, r"policies\[0\] must be what a file can keep: the function ucb1 cannot be saved"),
        ({"policies": []}, "policies: there is no policy to simulate"),
    ],
)
def test_what_a_study_cannot_keep_is_refused_before_it_runs(
    config: dict[str, Any], objects: dict[str, Any], message: str
) -> None:
    with pytest.raises(EvenhandError, match=f"^{message}"):
        sweep({**config, **objects}, {"horizon": [10, 20]})
