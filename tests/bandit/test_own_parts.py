"""Parts of one's own are treated as shipped ones: when a promise changes, an arm is added, and rounds are leased."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import field, frozen

from evenhand import Bandit, EvenhandError, Policy, check_policy
from evenhand.bandit.replay import Recorder
from evenhand.core import validate
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Observation, State
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.fairness import DeficitFirst
from evenhand.policy.index import Index
from evenhand.policy.part import Traits
from evenhand.service import Store

ARMS = ["a", "b", "c"]


@part("fairness", "own_debt")
@frozen(eq=False)
class Debt(Fairness):
    """Plays owed, which are forgiven beyond 3."""

    fractions: Array = field(converter=validate.fractions)
    traits = Traits(exact=True)

    def start(self, shape: Any) -> Array:
        return np.zeros(shape)

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score, state.fairness)

    def after_decision(self, state: State, decision: Decision) -> None:
        state.fairness[:] = np.clip(state.fairness + self.fractions - decision.played, 0.0, 3.0)


def last_played(name: str, advance: bool) -> type[Index]:
    """An index of one's own of that name, which plays in turn and so remembers who played."""

    class Turns(Index):
        def start(self, shape: Any) -> Array:
            return np.zeros(shape)

        def score(self, state: State, observation: Any, rng: Any) -> Array:
            return np.asarray(-state.index)

        def after_decision(self, state: State, decision: Decision) -> None:
            state.index += decision.played

    def together(self: Any, memory: Array, plays: Array, rounds: float) -> Array:
        return memory + plays

    if advance:
        Turns.advance = together  # type: ignore[method-assign]
    Turns.__name__ = Turns.__qualname__ = name
    return part("index", f"own_{name.lower()}_{advance}")(Turns)


def test_a_promise_that_changes_begins_anew_in_a_part_of_ones_own() -> None:
    bandit = Bandit(ARMS, Policy(fairness=Debt([0.3, 0.3, 0.3])))
    for _ in range(5):
        bandit.decide(available=["a"])
    memory = bandit._record.state.fairness
    assert memory == pytest.approx([0.0, 1.5, 1.5])
    with pytest.raises(EvenhandError, match=r"forgive what is owed, or define Debt.begin\(memory, places, carried\)$"):
        bandit.promise({"b": 0.2})
    bandit.promise({"b": 0.2}, debt="forgive", reason="a new season")
    assert bandit._record.state.fairness == pytest.approx([0.0, 0.0, 1.5])
    assert memory == pytest.approx([0.0, 1.5, 1.5])
    bandit.add("d", fraction=0.1)
    assert bandit._record.state.fairness == pytest.approx([0.0, 0.0, 1.5, 0.0])
    bandit.retire("c")
    assert bandit._record.state.fairness == pytest.approx([0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("name", ["Mine", "Mean", "Exploring"])
def test_an_index_of_ones_own_that_records_decisions_is_refused_a_lease(name: str) -> None:
    bandit = Bandit(ARMS, Policy(last_played(name, advance=False)()))
    with pytest.raises(EvenhandError, match=rf"as its index {name} remembers who played in each round: request dec"):
        bandit.lease(10, seconds=60)
    assert bandit.round == 0


@pytest.mark.parametrize("name", ["Mine", "Mean"])
def test_one_that_counts_rounds_together_is_leased_and_its_memory_goes_along(name: str) -> None:
    bandit = Bandit(ARMS, Policy(last_played(name, advance=True)()))
    lease = bandit.lease(300, seconds=60)
    assert [one.count for one in lease.arms] == pytest.approx([100, 100, 100], abs=3)
    assert bandit._record.state.index.tolist() == [one.count for one in lease.arms]
    bandit.report(lease.id, played=30, finished=True)
    assert bandit._record.state.index.sum() == 30.0


@part("index", "own_boosts")
@frozen(eq=False)
class Boosted(Index):
    """Has a value for each arm."""

    boosts: Any = field(converter=np.asarray)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return np.asarray(state.tally.rewards + self.boosts)


def test_an_arm_with_which_an_own_part_cannot_decide_is_refused() -> None:
    bandit = Bandit(["a", "b"], {"index": {"kind": "own_boosts", "boosts": [0.1, 0.2]}})
    bandit.decide()
    with pytest.raises(EvenhandError, match=r"cannot decide with the new arm 'c' .*a value for each arm"):
        bandit.add("c")
    assert bandit.names == ("a", "b")
    assert bandit.decide().names == ("b",)


def remembering(first: Any, then: Any) -> type[Fairness]:
    """A fairness part of one's own that remembers something, and something else after a decision."""

    @dataclass
    class Memory:
        noted: Any

    class Noting(Fairness):
        def start(self, shape: Any) -> Memory:
            return Memory(first(shape))

        def claim(self, score: Array, state: State) -> Ranking:
            return Ranking(score)

        def after_decision(self, state: State, decision: Decision) -> None:
            state.fairness.noted = then(state.fairness.noted)

    return Noting


@pytest.mark.parametrize(
    ("first", "then", "fault"),
    [
        (lambda shape: [], lambda noted: [*noted, 1], "'noted' is [1, 1, 1, 1, 1, 1, ...] and was []"),
        (lambda shape: set(), lambda noted: noted, "'noted' is set()"),
        (lambda shape: None, lambda noted: 1, "'noted' is 1 and was None"),
        (lambda shape: 1.0, lambda noted: np.inf, "'noted' is inf and was 1.0"),
        (
            lambda shape: np.zeros(shape, dtype=int),
            lambda noted: noted + 0.5,
            "is an array of float64 and was an array",
        ),
        (lambda shape: np.full(shape, None), lambda noted: noted, "'noted' is an array of object"),
    ],
)
def test_what_a_file_does_not_give_back_is_refused(first: Any, then: Any, fault: str) -> None:
    kind = part("fairness", "own_noting")(remembering(first, then))
    with pytest.raises(AssertionError, match=f"what Noting remembers cannot be saved: .*{re.escape(fault)}"):
        check_policy(Policy(fairness=kind()), arms=3)
    for ask in (Bandit.dump, lambda kept: kept.add("d")):
        with pytest.raises(EvenhandError, match="what Noting remembers cannot be saved: 'noted' is "):
            ask(decided("own_noting"))
    with pytest.raises(EvenhandError, match="what Noting remembers cannot be saved: 'noted' is "):
        recorded("own_noting")


def decided(kind: str) -> Bandit:
    """A bandit with a fairness part, after a decision."""
    bandit = Bandit(ARMS, {"fairness": kind})
    bandit.decide()
    return bandit


def recorded(kind: str) -> dict[str, Any]:
    """What a log records of a decision with a fairness part."""
    bandit = Bandit(ARMS, {"fairness": kind})
    recorder = Recorder(bandit._record)
    bandit.decide()
    return recorder.changes()


def test_a_number_of_numpy_is_a_number() -> None:
    kind = part("fairness", "own_noting")(remembering(lambda shape: 0, lambda noted: np.int64(noted + 1)))
    check_policy(Policy(fairness=kind()), arms=3)


@pytest.mark.parametrize(
    ("table", "parameters", "fault"),
    [
        (
            {"index": "ucb"},
            {"fractions": 0.3},
            r"fractions is taken by no part of ucb; its parts take none: with fairness = \{kind = 'deficit_first'\} "
            "one does",
        ),
        (
            {"index": "ucb", "fairness": {"kind": "own_debt", "fractions": 0.1}},
            {"caps": {"a": 0.5}},
            r"caps is taken by no part of ucb \+ own_debt; its parts take fractions",
        ),
    ],
)
def test_what_no_part_takes_is_refused_as_it_would_promise_nothing(
    table: dict[str, Any], parameters: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    with pytest.raises(EvenhandError, match=f"^{fault}$"):
        Bandit(ARMS, table, **parameters)
    store = Store.open(str(tmp_path / "own.db"))
    with pytest.raises(EvenhandError, match=f"^{fault}$"):
        store.create("own", ARMS, table, parameters=parameters, seed=1)
    store.close()


def test_what_is_none_is_not_given() -> None:
    plain = Bandit(ARMS, {"index": "ucb"})
    assert Bandit(ARMS, {"index": "ucb"}, fractions=None, caps=None).decide(now=0.0) == plain.decide(now=0.0)


def test_parameters_are_those_of_parts_in_slots() -> None:
    @part("fairness", "own_around")
    @frozen
    class Around(Fairness):
        inner: Fairness = field(factory=lambda: DeficitFirst(0.0))

        def claim(self, score: Array, state: State) -> Any:
            return self.inner.claim(score, state)

    with pytest.raises(EvenhandError, match=r"^fractions is taken by no part of own_around"):
        Bandit(ARMS, {"fairness": "own_around"}, fractions=0.2)
