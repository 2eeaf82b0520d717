"""What is said of a difference follows its interval and its claim."""

from __future__ import annotations

import pytest

from evenhand.core.intervals import Interval
from evenhand.judgement.differences import STEADY, compared, sentence
from evenhand.messages.words import Words


@pytest.mark.parametrize(
    ("low", "high", "verdict", "says"),
    [
        (0.01, 0.2, "larger", "a earns more than b"),
        (-0.2, -0.01, "smaller", "a earns less than b"),
        (0.0, 0.2, "undecided", "whether a or b earns more is undecided"),
        (-0.2, 0.0, "undecided", "whether a or b earns more is undecided"),
    ],
)
def test_a_verdict_needs_the_whole_interval(low: float, high: float, verdict: str, says: str) -> None:
    found = compared("a", "b", (low + high) / 2.0, Interval(low, high))
    assert found.verdict == verdict
    assert sentence(found).startswith(says)
    assert "however often one looks (95%)" in sentence(found)


def test_premises_are_said() -> None:
    found = compared("a", "b", 0.1, Interval(0.05, 0.15, claim="holds_if", premises=(STEADY,)))
    assert sentence(found).endswith(f"(95%), if {STEADY}")


def test_nothing_is_decided_where_nothing_is_claimed() -> None:
    found = compared("a", "b", 0.1, Interval(0.05, 0.15, claim="not_claimed", premises=("b changed",)))
    assert found.verdict == "undecided"
    assert sentence(found).endswith("for which no interval is claimed, since b changed")


def test_the_value_is_in_its_interval() -> None:
    assert compared("a", "b", 0.3, Interval(0.05, 0.15)).value == 0.15


def test_amounts_have_their_unit_and_remarks_follow() -> None:
    found = compared("a", "b", 2.0, Interval(1.0, 3.0), ("b is retired",))
    says = "a earns more than b: 2 € per play, between 1 and 3 € however often one looks (95%); b is retired"
    assert sentence(found, Words("€")) == says
