"""A name or a table stands wherever a part, a policy, a metric or an environment can stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, compare, simulate
from evenhand.algorithms import fucb, ucb1
from evenhand.core.parts import part
from evenhand.core.state import Array
from evenhand.environment.delays import Geometric
from evenhand.environment.rewards import Bernoulli
from evenhand.simulation.metrics import Metric

WORLD = Environment(Bernoulli([0.8, 0.4]), fractions=[0.1, 0.3])
SIZE: dict[str, Any] = {"horizon": 60, "lanes": 4, "seed": 1, "checkpoints": 3, "progress": False}


@part("metric", "test_gini")
class Gini(Metric):
    """How unevenly the arms play."""

    name, label, unit = "test_gini", "Gini", ""

    def value(self, memory: Any, run: Any) -> Array:
        plays = np.sort(run.pulls, axis=-1)
        ranks = np.arange(1, plays.shape[-1] + 1)
        return np.asarray((2 * ranks - plays.shape[-1] - 1) @ plays.T / (plays.shape[-1] * plays.sum(axis=-1)))


def test_policies_are_given_by_names_and_tables() -> None:
    named = compare(["fucb", {"algorithm": "ucb1"}], WORLD, **SIZE)
    made = compare([fucb([0.1, 0.3]), ucb1()], WORLD, **SIZE)
    for label in ("fucb", "ucb1"):
        assert (named.policies[label].pulls == made.policies[label].pulls).all()
    labelled = compare({"a": "fucb", "b": {"index": "empirical_mean"}}, WORLD, **SIZE)
    assert list(labelled.policies) == ["a", "b"]
    assert (simulate("fucb", WORLD, **SIZE).policies["fucb"].pulls == made.policies["fucb"].pulls).all()
    with pytest.raises(EvenhandError, match=r"^policies\[0\]: there is no algorithm 'fub'"):
        compare(["fub"], WORLD, **SIZE)


def test_parts_of_an_environment_are_given_by_names_and_tables() -> None:
    world = Environment({"kind": "bernoulli", "means": [0.8, 0.4]}, "always", {"kind": "geometric", "success": 0.5})
    assert isinstance(world.feedback, Geometric)
    with pytest.raises(EvenhandError, match=r"^feedback: unknown kind 'nothing'"):
        Environment(Bernoulli([0.8, 0.4]), feedback="nothing")
    given = {"kind": "environment", "rewards": {"kind": "bernoulli", "means": [0.8, 0.4]}, "fractions": [0.1, 0.3]}
    one, other = (compare(["fucb"], world, **SIZE).policies["fucb"].pulls for world in (given, WORLD))
    assert (one == other).all()


def test_metrics_are_given_by_their_kind() -> None:
    results = compare(["fucb"], WORLD, metrics=["test_gini"], **SIZE)
    assert "test_gini" in results.policies["fucb"].curves
    with pytest.raises(EvenhandError, match=r"^metrics\[0\].*unknown kind 'nothing'"):
        compare(["fucb"], WORLD, metrics=["nothing"], **SIZE)
