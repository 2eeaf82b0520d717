"""The named arms of a bandit, and lists of those that can play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.arms import FEW, LISTINGS, Arms
from evenhand.core.errors import EvenhandError

NAMES = ("tea", "milk", "mate")


def test_a_list_is_looked_up_once_in_whatever_form_it_comes() -> None:
    arms = Arms(NAMES)
    first = arms.available(["tea", "mate"])
    assert arms.available(name for name in ("tea", "mate")) is first
    assert first.arms.tolist() == [True, False, True]
    assert np.array_equal(arms.available(["mate", "tea"]).arms, first.arms)
    assert arms.available(NAMES).mask is None
    with pytest.raises(ValueError, match="read-only"):
        first.arms[0] = False


def test_so_many_lists_are_remembered() -> None:
    many = Arms(tuple(f"arm {place}" for place in range(FEW + 1)))
    for place in range(LISTINGS + 1):
        assert many.available([f"arm {place}"]).arms.nonzero()[0].tolist() == [place]
    assert len(many._listed) == 1
    assert many.available(many.names).mask is None
    assert len(many._listed) == 1  # of a long list it would take longer to look it up


@pytest.mark.parametrize("listed", [["tea", "tea"], ["water"], [["tea"]], [], [None], "tea", 5, [1.0]])
def test_a_wrong_list_is_refused_every_time(listed: Any) -> None:
    arms = Arms(NAMES)
    for _ in range(2):
        with pytest.raises(EvenhandError):
            arms.available(listed)


def test_a_list_means_the_arms_of_now() -> None:
    bandit = Bandit(["tea", "milk"], "ucb1")
    assert bandit.decide(available=["milk"]).names == ("milk",)
    bandit.rename("tea", "chai")
    bandit.rename("milk", "tea")
    assert bandit.decide(available=["tea"]).names == ("tea",)
    assert bandit._record.state.tally.pulls.tolist() == [0.0, 2.0]
    bandit.retire("tea")
    with pytest.raises(EvenhandError, match="'tea' is retired"):
        bandit.decide(available=["tea"])
