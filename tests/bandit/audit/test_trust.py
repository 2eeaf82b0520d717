"""Estimates that cannot be trusted are said to be so, with the reason and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.core.errors import EvenhandError
from evenhand.service.store import Decide, Describe, ReadAudit, Reward, Store

CONVERSIONS = {"bad": 0.05, "good": 0.2}


def sold(report: str, rounds: int = 4000, **options: Any) -> Bandit:
    """A bandit over rounds of a second each, whose successes are reported, or all results."""
    bandit, world = Bandit(list(CONVERSIONS), "ucb1", seed=1, **options), np.random.default_rng(1)
    for now in range(rounds):
        choice = bandit.decide(now=float(now))
        (arm,) = choice.names
        success = float(world.random() < CONVERSIONS[arm])
        if success or report == "all":
            bandit.observe(choice.id, {arm: success}, now=now + 0.5)
    return bandit


def test_only_successes_without_a_window_are_noticed() -> None:
    audit = sold("successes").audit()
    assert [line.estimate for line in audit.lines] == [1.0, 1.0]
    assert [line.trusted for line in audit.lines] == [False, False]
    (warning,) = audit.warnings
    assert "the estimates of 'bad', 'good' are too high if failures are not reported" in warning
    assert "create it anew with a window and missing='zero'" in warning
    assert "warning: the estimates of 'bad', 'good'" in str(audit)
    assert audit.to_json()["warnings"] == [warning]


def test_with_a_window_and_zeros_the_good_arm_plays_most_rounds() -> None:
    audit = sold("successes", window=20.0, missing="zero").audit(now=4000.0)
    bad, good = audit.lines
    assert good.all_plays > 2600
    assert bad.estimate == pytest.approx(0.05, abs=0.03)
    assert good.estimate == pytest.approx(0.2, abs=0.03)
    assert audit.warnings == ()
    assert bad.trusted
    assert good.trusted


def test_lost_failures_are_noticed_too() -> None:
    audit = sold("successes", window=20.0, missing="lost").audit()
    assert [line.trusted for line in audit.lines] == [False, False]


def test_estimates_from_all_results_are_trusted() -> None:
    audit = sold("all").audit()
    assert audit.warnings == ()
    assert all(line.trusted for line in audit.lines)


def test_a_small_part_is_noticed_also_where_it_is_mixed() -> None:
    bandit = Bandit(["a", "b"], "ucb1", seed=1)
    for round in range(100):
        choice = bandit.decide()
        if round % 5 == 0:
            bandit.observe(choice.id, {choice.names[0]: round % 2 / 2})
    (warning,) = bandit.audit().warnings
    assert "from a small part of the rewards: 80% are unknown" in warning


REFUSED = [
    ({"window": 60.0}, "window needs missing"),
    ({"missing": "zero"}, "missing='zero' needs a window"),
    ({"missing": "never", "window": 60.0}, "missing='never' is without a window"),
    ({"missing": "gone"}, "'lost' or 'zero'"),
]


@pytest.mark.parametrize(("options", "fault"), REFUSED)
def test_what_a_missing_reward_means_must_be_said(sqlite: str, options: dict[str, Any], fault: str) -> None:
    store = Store.open(sqlite)
    with pytest.raises(EvenhandError, match=fault):
        Bandit(["a", "b"], "ucb1", **options)
    with pytest.raises(EvenhandError, match=fault):
        store.create("drinks", ["a", "b"], "ucb1", **options)
    store.close()


def test_rewards_in_euros_through_the_store(sqlite: str) -> None:
    """12 to 18 euros against 1.2 to 3: the dear arm plays nearly always, and estimates are in euros."""
    store, world = Store.open(sqlite), np.random.default_rng(1)
    ranges = {"dear": (12.0, 18.0), "cheap": (1.2, 3.0)}
    store.create("shop", list(ranges), "fucb", parameters={"fractions": 0.1}, rewards=(1.2, 18.0), seed=1)
    for _ in range(300):
        (decision,) = store.run("shop", Decide()).decisions
        rewards = {arm: float(world.uniform(*ranges[arm])) for arm in decision.names}
        (result,) = store.run("shop", Reward([(decision.id, rewards)])).results
        assert result.status == "accepted"
    dear, cheap = store.run("shop", ReadAudit()).lines
    assert dear.all_plays > 240
    assert dear.estimate == pytest.approx(15.0, abs=0.4)
    assert cheap.estimate == pytest.approx(2.1, abs=0.3)
    ends = [end for end in (1.2, cheap.low, cheap.estimate, cheap.high, dear.low, dear.high, 18.0) if end is not None]
    assert len(ends) == 7
    assert ends == sorted(ends)
    assert store.run("shop", Describe()).rewards == (1.2, 18.0)
    (decision,) = store.run("shop", Decide()).decisions
    (outside,) = store.run("shop", Reward([(decision.id, {decision.names[0]: 20.0})])).results
    assert outside.status == "invalid"
    store.close()
