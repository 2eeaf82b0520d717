"""Rounds in which everybody plays on are played many at a time, with the results of playing them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import Environment, Policy, compare
from evenhand.algorithms import ars_ucb, fucb
from evenhand.availability import Independent
from evenhand.delays import Fixed
from evenhand.feedback import (
    Bounded,
    Decreasing,
    Discounted,
    FeedbackModel,
    Immediate,
    Increasing,
    Polynomial,
    RandomDelay,
)
from evenhand.policy.fairness import DeficitFirst
from evenhand.policy.hold import GeometricSize, HoldFor, PowerSize
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean
from evenhand.policy.selection import TopM
from evenhand.rewards import Bernoulli, Beta, Gaussian
from evenhand.simulation import held
from evenhand.simulation.compiled.engine import CHOICE
from evenhand.simulation.tables import PolicyResult

MEANS = [0.3, 0.9, 0.5, 0.7]
POLICIES: dict[str, Policy] = {
    "ars_ucb": ars_ucb(),
    "halves": ars_ucb(size=PowerSize(3.0), credit="second_half"),
    "several": Policy(UCB(), selection=TopM(2, ties="random"), hold=HoldFor(GeometricSize(), count="all")),
    "mean": Policy(EmpiricalMean(), hold=HoldFor(PowerSize(1.5))),
}
FEEDBACK: dict[str, FeedbackModel] = {
    "at once": Immediate(),
    "bounded": Bounded(0, 7),
    "increasing": Increasing(5),
    "decreasing": Decreasing(120),
    "discounted": Discounted(0.9),
    "polynomial": Polynomial(2.0),
    "random": RandomDelay(0, 30),
}


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rounds after which some were played together."""
    monkeypatch.setenv(CHOICE, "numpy")
    found: list[int] = []

    def play_on(policy, world, recorder, state, stop):  # type: ignore[no-untyped-def]
        played = _play_on(policy, world, recorder, state, stop)
        if played:
            found.append(state.round)
        return played

    _play_on = held.play_on
    monkeypatch.setattr(held, "play_on", play_on)
    return found


def run(policy: Policy, world: Environment, lanes: int = 3) -> PolicyResult:
    """A simulation."""
    options = {"horizon": 2000, "lanes": lanes, "seed": 4, "checkpoints": 7}
    return compare({"it": policy}, world, progress=False, **options).policies["it"]  # type: ignore[arg-type]


@pytest.mark.covering
@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("rewards", [Bernoulli(MEANS), Beta(MEANS, [0.7, 0.3, 0.5, 0.3])])
def test_rounds_together_are_rounds_one_by_one(
    name: str, feedback: str, rewards: Bernoulli | Beta, monkeypatch: pytest.MonkeyPatch, together: list[int]
) -> None:
    policy, world = POLICIES[name], Environment(rewards, feedback=FEEDBACK[feedback])
    ours = run(policy, world)
    sums_in_order = feedback == "at once" or name != "several" or isinstance(rewards, Bernoulli)
    assert bool(together) == sums_in_order
    monkeypatch.setattr(held, "applies", lambda policy, world, recorder: False)
    one_by_one = run(policy, world)
    for key, values in one_by_one.arrays.items():
        np.testing.assert_array_equal(ours.arrays[key], values, err_msg=key)


@pytest.mark.parametrize(
    ("policy", "world"),
    [
        (fucb([0.1, 0.1]), Environment(Bernoulli([0.3, 0.9]))),
        (ars_ucb(), Environment(Bernoulli([0.3, 0.9]), availability=Independent([0.9, 0.9]))),
        (ars_ucb(), Environment(Bernoulli([0.3, 0.9]), feedback=Fixed(3))),
        (ars_ucb(), Environment(Gaussian([0.3, 0.9], sd=0.1), reward_range=(-9.0, 9.0))),
        (Policy(BetaSample(), hold=HoldFor(PowerSize())), Environment(Bernoulli([0.3, 0.9]))),
        (Policy(UCB(), DeficitFirst([0.1, 0.1]), hold=HoldFor(PowerSize())), Environment(Bernoulli([0.3, 0.9]))),
    ],
)
def test_where_a_single_round_matters_rounds_are_played_one_by_one(
    policy: Policy, world: Environment, together: list[int]
) -> None:
    run(policy, world)
    assert not together
