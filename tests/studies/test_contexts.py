"""Contexts in configurations and studies: kinds, features of a log, faults, and settings of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, Policy, sweep
from evenhand.contexts import Log
from evenhand.policy import LinTS, TopM, VirtualQueue
from evenhand.rewards import Linear
from evenhand.simulation.simulate import compare, run_setup
from evenhand.studies.configuration import load, parse

TOML = """
horizon = 40
lanes = 3
checkpoints = 2

[environment]
rewards = { kind = "linear", coefficients = [[0.2, 0.1, 0.3, 0.2], [0.4, 0.0, 0.1, 0.1]] }
contexts = { kind = "log", path = "log.csv", order = "drawn" }

[features.situation]
country = { kind = "category", levels = ["DE", "FR"], unknown = "error" }
age = { kind = "number", low = 0, high = 100, missing = 50 }

[[policies]]
label = "queue"
index = { kind = "lin_ts", model = "disjoint" }
fairness = { kind = "virtual_queue", fractions = 0.2, eta = "auto" }
selection = "top_m"
"""
LOG = "age,note,country\n20,a,DE\n,b,FR\n90,c,FR\n"


def write(folder: Path, log: str = LOG, toml: str = TOML) -> Path:
    (folder / "log.csv").write_text(log)
    path = folder / "run.toml"
    path.write_text(toml)
    return path


def test_a_configuration_with_a_log_of_features_is_that_of_python(tmp_path: Path) -> None:
    text = TOML.replace("0.3, 0.2]", "0.3, 0.2, 0.0]").replace("0.1, 0.1]", "0.1, 0.1, 0.0]")  # with one for the blanks
    setup = load(write(tmp_path, toml=text))
    contexts: Any = setup.environment.contexts
    assert contexts.columns == ("intercept", "country=DE", "country=FR", "age", "age=missing")
    rows = [{"country": "DE", "age": 20.0}, {"country": "FR", "age": None}, {"country": "FR", "age": 90.0}]
    rewards = Linear([[0.2, 0.1, 0.3, 0.2, 0.0], [0.4, 0.0, 0.1, 0.1, 0.0]])
    same = Environment(rewards, contexts=Log(rows, contexts.features, order="drawn"))
    policy = Policy(LinTS(), VirtualQueue(0.2, eta="auto"), TopM())
    one = run_setup(setup, progress=False).policies["queue"].pulls
    np.testing.assert_array_equal(one, compare({"queue": policy}, same, 40, 3, checkpoints=2).policies["queue"].pulls)
    again = run_setup(setup, progress=False)
    kept: Any = again.setup().environment.contexts
    np.testing.assert_array_equal(kept.law(2)[0].situation, contexts.law(2)[0].situation)


@pytest.mark.parametrize(
    ("log", "toml", "message"),
    [
        ("age,nation\n1,DE\n", TOML, "has no column for the feature 'country'"),
        ("age,country\nold,DE\n", TOML, "column age: 'old' is wrong: it must be a number"),
        ("age,country\n", TOML, "has a header but no rows"),
        (
            LOG,
            TOML.replace('kind = "log", path = "log.csv", order = "drawn"', 'kind = "normal", situation = 3'),
            "[features] declares",
        ),
        (LOG, TOML.replace('"drawn"', '"random"'), "environment.contexts.order must be 'log' or 'shuffled' or 'drawn'"),
        (LOG, TOML.replace("contexts = {", "context = {"), "did you mean 'contexts'?"),
        (LOG, TOML.replace('"category"', '"categories"'), "did you mean 'category'?"),
        (LOG, TOML, "rewards have 4 coefficients for them"),
    ],
)
def test_faults_are_named(tmp_path: Path, log: str, toml: str, message: str) -> None:
    with pytest.raises(EvenhandError) as error:
        load(write(tmp_path, log, toml))
    assert message in str(error.value)


def test_a_log_without_a_declaration_has_numbers(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b\n1,2\n3,4.5\n")
    config: dict[str, Any] = {
        "horizon": 2,
        "environment": {
            "rewards": {"kind": "logistic", "coefficients": [[1, 0], [0, 1]]},
            "contexts": {"kind": "log", "path": "log.csv"},
        },
        "policies": [{"label": "ucb", "index": "lin_ucb"}],
    }
    contexts: Any = parse(config, tmp_path).environment.contexts
    np.testing.assert_array_equal(contexts.law(2)[0].situation, [[1.0, 2.0], [3.0, 4.5]])
    (tmp_path / "log.csv").write_text("a,b\n1,x\n")
    with pytest.raises(EvenhandError, match="column b: 'x' is wrong"):
        parse(config, tmp_path)


def test_a_sweep_goes_over_contexts(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "horizon": 30,
        "lanes": 3,
        "environment": {
            "rewards": {"kind": "linear", "coefficients": [[0.5, 0.1], [0.5, -0.1]]},
            "contexts": {"kind": "normal", "situation": 1, "sd": 1.0},
        },
        "policies": [{"label": "ts", "index": {"kind": "lin_ts", "scale": 0.1}}, "ucb1"],
    }
    results = sweep(config, {"environment.contexts.sd": [0.0, 2.0]}, progress=False)
    assert len(results.summary("regret")) == 4
