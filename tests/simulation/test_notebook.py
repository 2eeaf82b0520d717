"""What results, and others that end in an answer, show in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import Bandit, Environment, Policy, Results, compare, sweep
from evenhand.algorithms import fucb, tscsf_b, ucb1
from evenhand.evaluation import Log, evaluate
from evenhand.rewards import Bernoulli
from evenhand.simulation.verdicts import differences, verdicts

EVIL = "<script>"


@pytest.fixture(scope="module")
def results() -> Results:
    world = Environment(Bernoulli([0.9, 0.5]), names=("tea", EVIL), fractions=[0.0, 0.2])
    return compare({"FUCB": fucb([0.0, 0.2]), "UCB1": ucb1()}, world, horizon=1000, lanes=10)


def test_results_have_verdicts_and_differences(results: Results) -> None:
    assert results.verdicts == verdicts(results)
    (row,) = results.differences("FUCB", "reward").to_dict("records")
    one = next(one for one in differences(results, "FUCB") if one.measure == "reward")
    assert row == {"policy": "UCB1", "measure": "reward", "mean": one.mean, "low": one.low, "high": one.high}
    assert set(results.differences()["policy"]) == {"UCB1"}


def test_results_show_their_verdicts_and_shares(results: Results) -> None:
    shown = results._repr_html_()
    assert "FUCB kept its promise" in shown
    assert shown.count("<rect") == 4 + 2  # a bar for each arm and policy, and the legend
    assert EVIL not in shown
    assert len(shown) < 5000


def test_of_many_arms_those_behind_are_shown() -> None:
    shares = np.full(200, 0.002)
    shares[150] = 0.3
    world = Environment(Bernoulli(np.linspace(0.1, 0.9, 200)), fractions=shares)
    shown = compare(["ucb1"], world, horizon=400, lanes=1)._repr_html_()
    assert ">151</text>" in shown
    assert shown.count("<rect") == 8 + 1


def test_an_audit_shows_its_verdict_and_the_shares() -> None:
    bandit = Bandit(["tea", EVIL], "fucb", fractions=[0.0, 0.5])
    before: Any = bandit.audit()
    assert "0 rounds" in before._repr_html_()
    for _ in range(4):
        bandit.decide()
    audit: Any = bandit.audit()
    assert "The promise is kept." in audit._repr_html_()
    assert audit._repr_html_().count("<rect") == 2
    assert EVIL not in audit._repr_html_()


def test_an_evaluation_shows_its_estimates() -> None:
    times = pd.date_range("2026-01-01", periods=200, freq="min", tz="UTC")
    played = {"item_id": ["a", "b"] * 100, "reward": [1.0, 0.0] * 100, "propensity_score": 0.5, "timestamp": times}
    found: Any = evaluate(Log.of(pd.DataFrame(played), rounds="row"), {"a": 0.7, "b": 0.3})
    shown = found._repr_html_()
    assert "Yes: the log can say what fixed shares would earn; for that its 200 plays count as 172." in shown
    assert "fixed shares earns more than the log&#x27;s policy" in shown
    assert shown.count("<rect") == 1 + len(found.estimates)


def test_a_sweep_shows_its_answer() -> None:
    world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.2}
    config = {"horizon": 200, "lanes": 5, "environment": world, "policies": [{"algorithm": "lfg", "eta": 1}]}
    found: Any = sweep(config, {"policies[0].eta": [1, 2]})
    assert all(text.split(":")[0] in found._repr_html_() for text in found.answer)
    assert found._repr_html_().count("<rect") == 2


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (fucb([0.0, 0.2]), ("FUCB: ", "argmax", "Promise: ", "Source: Patil et al. 2019", "DeficitFirst")),
        (tscsf_b([0.1, 0.1], eta=10.0), ("TSCSF-B: ", "Promise: ", "Huang et al. 2020")),
        (Policy(), ("A policy of parts", "UCB(")),
    ],
)
def test_a_policy_shows_its_formula_promise_and_source(policy: Any, words: tuple[str, ...]) -> None:
    shown = policy._repr_html_()
    assert all(word in shown for word in words)
