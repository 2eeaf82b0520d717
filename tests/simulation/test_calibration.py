"""The calibration of a model: what it expects of its plays beside what they earn, by arm and segment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, Policy
from evenhand.algorithms import ucb1
from evenhand.contexts import Categories, Normal
from evenhand.delays import Geometric
from evenhand.policy import LinTS, LinUCB, LogisticTS, TopM, VirtualQueue
from evenhand.rewards import Bernoulli, Linear, Logistic
from evenhand.simulation.calibration import calibration
from evenhand.simulation.simulate import compare

COUNTRIES = Categories({"country": {"DE": 0.5, "FR": 0.5}})
WORLD = Environment(Linear([[0.0, 0.9, 0.2], [0.0, 0.4, 0.6]], high=2.0), contexts=COUNTRIES, names=("tea", "mate"))


def queue(**options: Any) -> Policy:
    return Policy(LinTS(scale=0.1, **options), VirtualQueue(0.3, eta="auto"), TopM())


def test_a_model_that_has_learned_is_right_in_every_segment() -> None:
    found = calibration(queue(), WORLD, 600, lanes=10, segment="country").set_index(["segment", "arm"])
    assert [*found.index] == [(one, arm) for one in ("country=DE", "country=FR") for arm in ("tea", "mate")]
    np.testing.assert_allclose(found["mean"], [0.9, 0.4, 0.2, 0.6], atol=1e-9)
    assert found["plays"].sum() == 300 * 10
    often = found[found["plays"] > 500]
    assert len(often) >= 2
    np.testing.assert_allclose(often["expected"], often["mean"], atol=0.02)
    np.testing.assert_allclose(often["reward"], often["mean"], atol=0.02)
    assert (often["error"] < 0.05).all()


def test_a_model_without_the_right_columns_is_wrong_where_they_matter() -> None:
    """One θ for both arms cannot tell them apart: it expects too little of one and too much of the other."""
    contexts = Normal(1, arms=[[0.1], [0.1]])
    world = Environment(Linear([[0.8, 0.0], [0.2, 0.0]], shared=[0.0]), contexts=contexts)
    found = calibration(queue(model="shared"), world, 300, lanes=5)
    assert found["expected"][0] < 0.7 < found["mean"][0]
    assert found["expected"][1] > 0.3 > found["mean"][1]
    assert (found["error"] > 0.1).all()


def test_numbers_are_cut_into_segments() -> None:
    world = Environment(Linear([[0.5, 0.1], [0.5, -0.1]]), contexts=Normal(1))
    found = calibration(Policy(LinUCB()), world, 400, lanes=5, segment="x1", cuts=[-1.0, 1.0], after=0.5)
    assert [*found["segment"].unique()] == ["x1 < -1", "x1 ≥ -1", "x1 ≥ 1"]
    assert found["plays"].sum() == 1000
    low, high = found[found["segment"] == "x1 < -1"], found[found["segment"] == "x1 ≥ 1"]
    assert low["plays"].idxmax() != low.index[0]
    assert high["plays"].idxmax() == high.index[0]


def test_it_is_the_run_of_the_same_seed() -> None:
    late = Environment(WORLD.rewards, contexts=COUNTRIES, feedback=Geometric(0.2, named=True))
    plays = compare({"q": queue()}, late, 50, 5, seed=3, checkpoints=1, progress=False).policies["q"].pulls[-1]
    found = calibration(queue(), late, 50, 5, seed=3, after=0.0)
    np.testing.assert_array_equal(found["plays"], plays.sum(axis=0))


@pytest.mark.parametrize(
    ("policy", "world", "options", "message"),
    [
        (ucb1(), WORLD, {}, "UCB has no model of rewards: use lin_ucb, lin_ts or logistic_ts"),
        (queue(), Environment(Bernoulli([0.5, 0.5])), {}, "the environment has none: give it contexts"),
        (ucb1(), Environment(Bernoulli([0.5, 0.5])), {}, "environment has no contexts"),
        (queue(), WORLD, {"segment": "contry"}, "did you mean 'country'?"),
        (queue(), WORLD, {"segment": "intercept", "cuts": [2.0, 1.0]}, "cuts must ascend"),
    ],
)
def test_what_cannot_be_compared_is_refused(policy: Policy, world: Environment, options: Any, message: str) -> None:
    with pytest.raises(EvenhandError) as error:
        calibration(policy, world, 20, lanes=2, **options)
    assert message in str(error.value)


def test_a_logistic_model_expects_chances() -> None:
    world = Environment(Logistic([[0.5, 1.0], [-0.5, -1.0]]), contexts=Normal(1))
    found = calibration(Policy(LogisticTS()), world, 2000, lanes=10)
    np.testing.assert_allclose(found["expected"], found["mean"], atol=0.05)
    np.testing.assert_allclose(found["reward"], found["mean"], atol=0.05)
