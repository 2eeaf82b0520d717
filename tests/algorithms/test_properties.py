"""What is recommended for some feedback is right for it, with the parameters that are shown beside it."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.algorithms.properties import ANY_DELAY, feedback_of
from evenhand.algorithms.registry import SAMPLE, Algorithm, algorithms, find
from evenhand.typing import Tally

RECOMMENDED = {
    name: feedback_of(entry)["dependent"] for name, entry in algorithms().items() if "dependent" in feedback_of(entry)
}


def test_there_are_some_of_either_kind() -> None:
    assert {name for name, needed in RECOMMENDED.items() if not needed} == set(ANY_DELAY)
    assert {"f_ts", "fucb", "floor_ts", "thompson", "group_ts"} <= set(RECOMMENDED)


@pytest.mark.parametrize("name", [name for name, needed in RECOMMENDED.items() if needed])
def test_an_arm_whose_successes_are_late_is_not_thought_worse_than_it_is(name: str) -> None:
    """Of ten plays two are known, both failures, as failures come first: the mean is 0.8 if the others succeed."""
    assert believed(find(name), RECOMMENDED[name]) >= 0.8
    assert believed(find(name), {}) == 0.0, "the default needs no parameter"


def believed(entry: Algorithm, parameters: dict[str, str]) -> float:
    required = {name: SAMPLE[name] for name, one in entry.parameters.items() if one.default is one.empty}
    evidence = entry.build(**required, **parameters).evidence
    assert evidence is not None
    total, number = evidence.of(Tally(np.array([10.0]), np.array([2.0]), np.array([0.0])))
    return float(total[0] / number[0])
