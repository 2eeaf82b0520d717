"""What a part of one's own returns is checked where it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evenhand import EvenhandError, Policy, check_policy
from evenhand.core.state import ALL_AVAILABLE
from evenhand.policy.claim import Fairness, Ranking, Shares
from evenhand.policy.index import Index
from evenhand.policy.part import Traits
from evenhand.policy.selection import Categorical


def index(score: Callable[[Any], Any]) -> Policy:
    class Own(Index):
        def score(self, state: Any, observation: Any, rng: Any) -> Any:
            return score(state)

    return Policy(Own())


def fairness(claim: Callable[[Any, Any], Any], memory: Any = None) -> Policy:
    class Own(Fairness):
        def start(self, shape: Any) -> Any:
            return memory

        def claim(self, score: Any, state: Any) -> Any:
            return claim(score, state)

    return Policy(fairness=Own())


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            index(lambda state: 0.5),
            r"^Own.score must return an array .* per arm, shape \(3,\), got a float",
        ),
        (index(lambda state: [1, 2, 3]), r"^Own.score must return an array .* got a list"),
        (index(lambda state: np.zeros(2)), r"^Own.score must return an array .* got shape \(2,\)"),
        (fairness(lambda score, state: score), "^Own.claim must return Ranking, as its traits declare, got ndarray"),
        (fairness(lambda score, state: Shares(score)), "^Own.claim must return Ranking, .* got Shares"),
        (fairness(lambda score, state: Ranking(score), {}), "^Own.start must return an array, .*, got a dict"),
    ],
)
def test_what_is_not_one_number_per_arm_is_refused(policy: Policy, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        policy.decide(policy.start(3), ALL_AVAILABLE, np.random.default_rng(0))


def test_weights_that_are_no_numbers_are_refused() -> None:
    class Own(Fairness):
        traits = Traits(gives="shares")

        def claim(self, score: Any, state: Any) -> Shares:
            return Shares(score * np.nan)

    policy = Policy(fairness=Own(), selection=Categorical())
    with pytest.raises(EvenhandError, match="weights of the arms must be finite"):
        policy.decide(policy.start(3), ALL_AVAILABLE, np.random.default_rng(0))


def test_the_checks_find_scores_that_are_no_numbers() -> None:
    def ratio(state: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return state.tally.rewards / state.tally.received

    with pytest.raises(AssertionError, match="the score of an arm is NaN"):
        check_policy(index(ratio), arms=3)


def test_what_is_no_object_of_the_base_class_is_named() -> None:
    class Own: ...

    with pytest.raises(EvenhandError, match=r"; Own does not derive from Index$"):
        Policy(index=Own())  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"; make an object of it: Index\(.*\)$"):
        Policy(index=Index)  # type: ignore[arg-type]
