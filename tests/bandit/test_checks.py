"""The checks of a policy in a bandit notice parts of one's own that break a rule, and let sound ones pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from attrs import field, frozen

from evenhand import Policy, check_policy
from evenhand.bandit import checks
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, State
from evenhand.policy import EmpiricalMean, LinTS, TopM, VirtualQueue
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.index import Index
from evenhand.policy.part import Traits
from evenhand.simulation.checks import chance_is_declared, same_seed_same_run


class Debt(Fairness):
    """Plays owed, which are forgiven beyond 3."""

    traits = Traits(exact=True)

    @property
    def fractions(self) -> Array:
        return np.array([0.2])

    def start(self, shape: Any) -> Array:
        return np.zeros(shape)

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score, state.fairness)

    def after_decision(self, state: State, decision: Decision) -> None:
        state.fairness[:] = np.minimum(state.fairness + self.fractions - decision.played, 3.0)


class Turned(Index):
    """What each arm did, with the arms on the first axis."""

    def start(self, shape: Any) -> Array:
        return np.zeros((*shape, 2))

    def score(self, state: State, observation: Any, rng: Any) -> Array:
        return np.asarray(state.index.sum(axis=-1))


class Shared(Index):
    """Remembers in the part itself, which nothing saves."""

    def start(self, shape: Any) -> Array:
        self.__dict__["memory"] = np.zeros(shape)
        return np.zeros(shape)

    def score(self, state: State, observation: Any, rng: Any) -> Array:
        return np.asarray(-self.__dict__["memory"] * np.ones(state.tally.pulls.shape))

    def after_decision(self, state: State, decision: Decision) -> None:
        state.index[:] = self.__dict__["memory"][:] = self.__dict__["memory"] + decision.played * (1 + state.round % 3)


@dataclass
class Purse:
    """What `Tickets` remembers."""

    tickets: Array


@frozen(eq=False)
class Tickets(Fairness):
    """Each round an arm earns a part of a ticket, and a play costs one; what others break below."""

    fractions: Array = field(converter=np.array)

    def start(self, shape: Any) -> Purse:
        return Purse(np.zeros(shape))

    def claim(self, score: Array, state: State) -> Ranking:
        return Ranking(score, priority=state.fairness.tickets + self.fractions, threshold=1.0 - 1e-9)

    def after_decision(self, state: State, decision: Decision) -> None:
        state.fairness.tickets = state.fairness.tickets + self.fractions - decision.played

    def advance(self, memory: Purse, plays: Array, rounds: float) -> Purse:
        return Purse(memory.tickets + self.fractions * rounds - plays)

    def begin(self, memory: Purse, places: Any, carried: Array) -> Purse:
        tickets = memory.tickets.copy()
        tickets[..., places] = carried[..., places]
        return Purse(tickets)


class Idle(Tickets):
    """Does not count what is leased."""

    def advance(self, memory: Purse, plays: Array, rounds: float) -> Purse:
        return memory


class Backwards(Tickets):
    """Counts what is leased the wrong way."""

    def advance(self, memory: Purse, plays: Array, rounds: float) -> Purse:
        return Purse(memory.tickets - self.fractions * rounds + plays)


class Forgetful(Tickets):
    """Forgets what is owed where a promise changes."""

    def begin(self, memory: Purse, places: Any, carried: Array) -> Purse:
        return super().begin(memory, places, 0.0 * carried)


class InPlace(Tickets):
    """Begins within the memory that it is given."""

    def begin(self, memory: Purse, places: Any, carried: Array) -> Purse:
        memory.tickets[..., places] = carried[..., places]
        return memory


@frozen
class Noise(Index):
    """Draws its scores, and does not say so: a bandit reports a propensity of 1 for the arm that it drew."""

    def score(self, state: State, observation: Any, rng: np.random.Generator) -> Array:
        return rng.random(state.tally.pulls.shape)


for one in (Tickets, Idle, Backwards, Forgetful, InPlace, Noise):
    part("index" if one is Noise else "fairness", f"test_checks_{one.__name__.lower()}")(one)


for kind, cls in (("debt", Debt), ("turned", Turned), ("shared", Shared)):
    part("fairness" if cls is Debt else "index", f"test_checks_{kind}")(cls)


def test_a_sound_part_passes() -> None:
    check_policy(Policy(fairness=Debt()), arms=3)


# The other processes of `same_seed_same_run` cannot import a test module.
IN_PROCESS = [check for check in checks.POLICY_CHECKS if check is not same_seed_same_run]


@pytest.mark.parametrize("shares", [[0.1, 0.2, 0.2], [0.3, 0.3, 0.4], [0.0, 0.05, 0.0]], ids=str)
@pytest.mark.parametrize("check", IN_PROCESS, ids=[check.__name__ for check in IN_PROCESS])
def test_a_part_with_all_members_passes(check: Callable[[Policy, int], None], shares: list[float]) -> None:
    check(Policy(fairness=Tickets(shares)), 3)


SHARES = [0.1, 0.2, 0.2]
LEASED = r"after 6 leases arm \d is \d+ plays behind the 20% that it was promised; .* are allowed; advance"
OWED = r"with plays owed, they are not made up for: arm 2 is \d+ plays behind the 10% that it was promised; .*; begin"
BREACHES: list[tuple[Callable[[], Policy], Callable[[Policy, int], None], str]] = [
    (lambda: Policy(Turned()), checks.arms_can_be_added, "an arm cannot be added: .* define Turned.grow"),
    (lambda: Policy(Shared()), checks.saved_bandit_continues, "the saved bandit decides otherwise"),
    (lambda: Policy(Noise()), chance_is_declared, r"Noise.score draws from rng.* set traits = Traits\(random=True\)"),
    (lambda: Policy(fairness=Idle(SHARES)), checks.rounds_can_be_leased, LEASED),
    (lambda: Policy(EmpiricalMean(), Backwards(SHARES)), checks.rounds_can_be_leased, LEASED),
    (lambda: Policy(fairness=Forgetful(SHARES)), checks.promises_can_change, OWED),
    (lambda: Policy(EmpiricalMean(), Forgetful(SHARES)), checks.promises_can_change, OWED),
    (lambda: Policy(fairness=InPlace(SHARES)), checks.promises_can_change, "InPlace.begin changes the memory that it"),
]


@pytest.mark.parametrize(("policy", "check", "message"), BREACHES)
def test_a_breach_is_noticed(policy: Callable[[], Policy], check: Callable[[Policy, int], None], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(policy(), 3)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_policies_that_go_by_features_are_checked_with_features(model: str) -> None:
    check_policy(Policy(LinTS(model), VirtualQueue([0.2, 0.1, 0.1], eta="auto"), TopM()), arms=3)
