"""The checks of a policy in a bandit notice parts of one's own that break a rule, and let sound ones pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evenhand import Policy, check_policy
from evenhand.bandit import checks
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, State
from evenhand.policy import LinTS, TopM, VirtualQueue
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.index import Index
from evenhand.policy.part import Traits


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


for kind, cls in (("debt", Debt), ("turned", Turned), ("shared", Shared)):
    part("fairness" if cls is Debt else "index", f"test_checks_{kind}")(cls)


def test_a_sound_part_passes() -> None:
    check_policy(Policy(fairness=Debt()), arms=3)


BREACHES: list[tuple[Callable[[], Policy], Callable[[Policy, int], None], str]] = [
    (lambda: Policy(Turned()), checks.arms_can_be_added, "an arm cannot be added: .* define Turned.grow"),
    (lambda: Policy(Shared()), checks.saved_bandit_continues, "the saved bandit decides otherwise"),
]


@pytest.mark.parametrize(("policy", "check", "message"), BREACHES, ids=[check.__name__ for _, check, _ in BREACHES])
def test_a_breach_is_noticed(policy: Callable[[], Policy], check: Callable[[Policy, int], None], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(policy(), 3)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_policies_that_go_by_features_are_checked_with_features(model: str) -> None:
    check_policy(Policy(LinTS(model), VirtualQueue([0.2, 0.1, 0.1], eta="auto"), TopM()), arms=3)
