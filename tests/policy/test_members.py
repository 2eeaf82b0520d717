"""What parts answer for themselves: safe defaults, and wrappers that ask what they wrap."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from attrs import frozen

from evenhand import EvenhandError, Policy
from evenhand.core.state import Array, Decision, State
from evenhand.policy.accounts import owed
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.doubt import UntilDisproved
from evenhand.policy.exploration_floor import ExplorationFloor
from evenhand.policy.fairness import DeficitFirst, MeritShares
from evenhand.policy.hold import HoldFor, PowerSize
from evenhand.policy.index import UCB, EmpiricalMean, Exploring, Index, Mean
from evenhand.policy.merit import Power
from evenhand.policy.part import PolicyPart, Traits
from evenhand.policy.reward_rates import RewardRates
from evenhand.policy.selection import DependentRounding, Selection, TopM
from evenhand.policy.virtual_queue import VirtualQueue
from evenhand.policy.weights import ExponentialWeights

ARMS = np.arange(3)


@frozen
class Mine(Index):
    """An index of one's own that remembers who played last."""

    traits = Traits(in_order=True)

    def start(self, shape: Any) -> Array:
        return np.zeros(shape)

    def score(self, state: State, observation: Any, rng: Any) -> Array:
        return np.zeros(state.tally.pulls.shape)

    def after_decision(self, state: State, decision: Decision) -> None:
        state.index[:] = decision.played


@frozen
class First(Selection):
    """A selection of one's own."""

    def select(self, claim: Any, state: State, observation: Any, rng: Any) -> Any:
        played = np.arange(state.arms) == 0
        return played, played


WRAPPERS: dict[str, tuple[Callable[[Any], PolicyPart], type[PolicyPart], type[PolicyPart]]] = {
    "mean": (lambda one: Mean(one, one), Index, Mine),
    "exploring": (lambda one: Exploring(one, 0.1), Index, Mine),
    "until disproved": (lambda one: UntilDisproved(one, one), Index, Mine),
    "exploration floor": (lambda one: ExplorationFloor(0.1, one), Selection, First),
}
#: Members that a wrapper answers by itself, from what it wraps or not at all.
OWN = {"traits", "score", "select", "propensity", "fractions", "promises", "rules", "floor", "exploring", "in_place"}
OWN |= {"leading", "best", "after_reward"}  # quicker ways to what others do


def members(base: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(base) if not name.startswith("_") and name not in OWN]


@pytest.mark.parametrize(
    ("name", "member"), [(name, member) for name, (_, base, _) in WRAPPERS.items() for member in members(base)]
)
def test_wrappers_ask_what_they_wrap(monkeypatch: pytest.MonkeyPatch, name: str, member: str) -> None:
    wrap, _, inner = WRAPPERS[name]
    whole = wrap(inner())
    policy = Policy(UCB(evidence="mature"))
    asked = Mock(return_value=None if member == "refuses" else "answer")
    if not inspect.isfunction(inspect.getattr_static(inner, member)):
        monkeypatch.setattr(inner, member, property(lambda self: asked()))
        assert getattr(whole, member) == "answer"
        return
    monkeypatch.setattr(inner, member, lambda self, *arguments: asked(*arguments))
    names = inspect.signature(getattr(whole, member)).parameters
    given: list[Any] = [policy if one == "policy" else np.ones(3) for one in names]
    if member == "start":
        given = [(3,)]
    answer = getattr(whole, member)(*given)
    assert asked.called
    if not member.startswith(("after_", "learn_pulls")):  # which return nothing
        assert answer == asked.return_value


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_have_the_traits_of_what_they_wrap(name: str) -> None:
    wrap, _, inner = WRAPPERS[name]
    assert wrap(inner()).traits.in_order == inner().traits.in_order


# --- Defaults --------------------------------------------------------------------------------------------------------


@dataclass
class Account:
    """What a fairness part of one's own remembers."""

    owed: Array  # (…, arms)
    rounds: Array  # (…, 1)


@frozen
class Own(Fairness):
    """A fairness part of one's own with memory."""

    @property
    def fractions(self) -> Array:
        return np.array([0.2])

    def start(self, shape: Any) -> Account:
        return Account(np.zeros(shape), np.zeros((*shape[:-1], 1)))

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score, state.fairness.owed)


def test_new_arms_begin_as_at_the_start_and_the_others_go_on() -> None:
    grown = Own().grow(Account(np.array([1.0, 2.0]), np.array([9.0])), 3)
    assert grown.owed.tolist() == [1.0, 2.0, 0.0]
    assert grown.rounds.tolist() == [9.0]


def test_a_promise_begins_as_at_the_start_at_its_places_only() -> None:
    memory = Account(np.array([1.0, 2.0, 3.0]), np.array([9.0]))
    begun = Own().begin(memory, np.array([1]), np.zeros(3))
    assert begun.owed.tolist() == [1.0, 0.0, 3.0]
    assert begun.rounds.tolist() == [9.0]
    assert memory.owed.tolist() == [1.0, 2.0, 3.0]


def test_plays_that_are_carried_are_refused_by_parts_with_an_account_of_their_own() -> None:
    with pytest.raises(EvenhandError, match=r"forgive what is owed, or define .*\.begin\(memory, places, carried\)$"):
        Own().begin(Own().start((3,)), np.array([1]), np.array([0.0, 2.0, 0.0]))


def test_recursive_queues_begin_with_what_is_carried() -> None:
    part = VirtualQueue(0.1, 10.0, queue="recursive")
    memory = part.begin(part.start((3,)), np.array([0, 1]), np.array([-0.5, 2.25, 7.0]))
    assert memory is not None
    assert owed(0.1, memory.rounds, memory.plays, memory.carried).tolist() == [0.0, 2.25, 0.0]


def test_plays_that_are_carried_count_where_the_state_keeps_the_account() -> None:
    policy = Policy(fairness=DeficitFirst(0.5))
    state = policy.grow(policy.start(2), 3)
    assert state.begun is None
    assert policy.fairness.begin(None, np.array([1]), np.array([0.0, 2.0, 0.0])) is None


@frozen
class Square(Index):
    """An index that remembers a table of arms by something else."""

    def start(self, shape: Any) -> Array:
        return np.zeros((*shape, 4))

    def score(self, state: State, observation: Any, rng: Any) -> Array:
        return np.zeros(state.tally.pulls.shape)


def test_a_memory_without_arms_on_the_last_axis_needs_a_growth_of_its_own() -> None:
    with pytest.raises(EvenhandError, match=r"shape \(3, 4\), whose last axis is not the arms: define Square\.grow"):
        Square().grow(Square().start((3,)), 5)


def test_a_part_that_records_decisions_sees_single_rounds_unless_it_says_otherwise() -> None:
    with pytest.raises(EvenhandError, match=r"^Mine remembers who played in each round$"):
        Mine().advance(np.zeros(3), np.ones(3), 3.0)
    assert EmpiricalMean().advance(None, np.ones(3), 3.0) is None


def test_new_arms_start_with_the_mean_weight() -> None:
    index = ExponentialWeights(0.1, scale=2.0)
    memory = index.start((2,))
    memory.logs[:] = 2.0 * np.log([1.0, 3.0])
    grown = index.grow(memory, 3)
    assert np.exp(grown.logs / 2.0) == pytest.approx([1.0, 3.0, 2.0])
    rates = RewardRates(0.1, 1.0)
    queues = rates.start((2,))
    queues.losses[:] = [4.0, 3.0]
    assert rates.grow(queues, 3).losses.tolist() == [4.0, 3.0, 3.0]


def test_new_arms_count_all_choices_where_all_are_counted() -> None:
    for count, times in (("all", 5.0), ("arm", 0.0)):
        hold = HoldFor(PowerSize(2.0), count=count)
        memory = hold.start((2,))
        memory.times[:] = 5.0
        assert hold.grow(memory, 3).times.tolist() == [5.0, 5.0, times]


# --- What does not fit -----------------------------------------------------------------------------------------------


def test_a_remedy_keeps_the_floor() -> None:
    with pytest.raises(EvenhandError, match=r"use selection=ExplorationFloor\(0\.05, DependentRounding\(plays\)\)$"):
        Policy(fairness=MeritShares(Power()), selection=ExplorationFloor(0.05))
    with pytest.raises(EvenhandError, match=r"use selection=ExplorationFloor\(0\.05, TopM\(plays=2\)\)$"):
        Policy(selection=ExplorationFloor(0.05, DependentRounding(2)))


def test_delays_are_tested_only_where_something_counts_plays_by_their_age() -> None:
    with pytest.raises(EvenhandError, match=r"^UntilDisproved tests delays by the age .* UCB\(evidence=\"mature\"\)$"):
        Policy(UntilDisproved(UCB(), UCB(evidence="optimistic")))
    Policy(UntilDisproved(UCB(), UCB(evidence="mature")))


def test_a_part_of_ones_own_refuses_what_it_cannot_do() -> None:
    class Alone(Index):
        def score(self, state: State, observation: Any, rng: Any) -> Array:
            return np.zeros(state.tally.pulls.shape)

        def refuses(self, policy: Any) -> str | None:
            return "Alone plays one arm: use TopM(plays=1)" if policy.plays > 1 else None

    assert Policy(Alone()).plays == 1
    with pytest.raises(EvenhandError, match=r"^Alone plays one arm: use TopM"):
        Policy(Mean(Alone(), Alone()), selection=TopM(2))
