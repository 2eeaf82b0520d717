"""What a plan says that a change would cost is what the audit says after it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evenhand.bandit import Bandit
from evenhand.changes import AddArm, BringBack, Erase, Promise, Rename, Retire

MEANS = {"tea": 0.2, "coffee": 0.5, "cocoa": 0.7, "mate": 0.4}
GROUPS = [{"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.3}]


def lived(algorithm: str, rounds: int = 400, **parameters: Any) -> Bandit:
    """A bandit in which tea could seldom play lately, with rewards between 0 and 10."""
    bandit = Bandit(list(MEANS), algorithm, seed=1, missing="never", rewards=(0.0, 10.0), **parameters)
    rng = random.Random(1)
    for now in range(rounds):
        able = [arm for arm in MEANS if arm != "tea" or now < rounds / 2 or now % 2]
        decision = bandit.decide(available=able, now=10.0 * now)
        rewards = {arm: 10.0 * (rng.random() < MEANS[arm]) for arm in decision.names}
        bandit.observe(decision.id, rewards, now=10.0 * now + 1.0)
    return bandit


@pytest.mark.parametrize(
    ("algorithm", "parameters", "change"),
    [
        ("fucb", {"fractions": [0.3, 0.2, 0, 0]}, Promise({"tea": 0.4})),
        ("fucb", {"fractions": [0.3, 0.2, 0, 0]}, Promise({"tea": 0.1, "mate": 0.2})),
        ("fucb", {"fractions": [0.3, 0.2, 0, 0]}, Promise({"tea": 0.4}, debt="forgive", reason="a new season")),
        ("fucb", {"fractions": [0.6, 0.1, 0, 0]}, Promise({"tea": 0.5}, debt="cap", limit=3.0)),
        ("fucb", {"fractions": [0.3, 0.2, 0, 0]}, Retire("coffee")),
        ("group_ucb", {"groups": GROUPS}, Promise(groups={"hot": {"at_least": 0.6}})),
        ("group_ucb", {"groups": GROUPS}, Promise({"tea": 0.1}, caps={"cocoa": 0.5})),
        ("lfg", {"fractions": [0.3, 0.2, 0, 0], "eta": 5.0}, Promise({"tea": 0.4})),
    ],
)
def test_the_plan_says_what_the_audit_says_afterwards(algorithm: str, parameters: Any, change: Any) -> None:
    bandit = lived(algorithm, **parameters)
    before, effect = bandit.audit(now=4000.0), bandit.plan(change).effect
    assert bandit.audit(now=4000.0) == before, "a plan changes nothing"
    assert effect is not None
    bandit.change(change, now=4000.0)
    after = bandit.audit(now=4000.0)
    for planned, made in ((effect.now, before.cost), (effect.cost, after.cost)):
        assert (planned is None) == (made is None)
        if planned is not None and made is not None:
            names = ("per_round", "low", "high", "relative", "note")
            assert [getattr(planned, name) for name in names] == [getattr(made, name) for name in names]
            assert planned.incurred is None
    late = {line.arm: line.catch_up_rounds for line in after.lines if line.promised and (line.deficit or 0.0) > 1.0}
    assert {one.arm: one.rounds for one in effect.catch_up} == late
    assert sum(one.then - one.now for one in effect.shares) == pytest.approx(0.0)
    assert [one.then - one.now for one in effect.shares] == sorted(one.then - one.now for one in effect.shares)


def test_who_pays() -> None:
    effect = lived("fucb", fractions=[0.3, 0.2, 0, 0]).plan(Promise({"tea": 0.4})).effect
    assert effect is not None
    assert [(one.arm, round(one.now, 9), round(one.then, 9)) for one in effect.shares] == [
        ("cocoa", 0.5, 0.4),
        ("tea", 0.3, 0.4),
    ]
    price, *others = effect.text
    assert effect.cost is not None
    assert effect.now is not None
    today = f"today it is {effect.now.per_round:.3g}."
    between = f"between {effect.cost.low:.3g} and {effect.cost.high:.3g} (95% interval)."
    assert f"{effect.cost.per_round:.3g} of reward" in price
    assert price.endswith(f"{today} The cost then lies {between}")
    computed = "(best shares as computed now → then, not those received)"
    assert f"In the long run these pay with rounds {computed}: cocoa 50% → 40%." in others
    assert "In the long run these get more rounds: tea 30% → 40%." in others


def test_arrears_of_a_policy_that_weighs_them() -> None:
    effect = lived("lfg", fractions=[0.5, 0.2, 0, 0], eta=500.0).plan(Promise({"tea": 0.6})).effect
    assert effect is not None
    assert all(one.rounds is None and one.seconds is None for one in effect.catch_up)
    assert effect.catch_up[0].arm == "tea"
    assert "rewards can outweigh these" in effect.text[-1]


def test_where_nothing_is_promised_there_is_no_effect() -> None:
    assert lived("fucb", 20, fractions=[0.3, 0.2, 0, 0]).plan(Rename("tea", "green tea")).effect is None
    assert lived("ucb1", 20).plan(AddArm("juice")).effect is None


@pytest.mark.parametrize("learned", [False, True])
def test_before_the_first_round(learned: bool) -> None:
    counts = {"tea": (2000, 14_000.0), "coffee": (700, 11_900.0)} if learned else None
    bandit = Bandit(["tea", "coffee"], "f_ts", fractions=0.0, rewards=(0, 80), seed=1, start_from=counts)
    effect = bandit.plan(Promise({"tea": 0.1})).effect
    assert effect is not None
    if not learned:
        assert effect.text[0] == "What the promises would cost: No reward of an arm is known yet."
        return
    assert effect.text[0].startswith("Keeping the promises would cost, per round, 0.99")
    computed = "(best shares as computed now → then, not those received)"
    assert effect.text[2] == f"In the long run these pay with rounds {computed}: coffee 100% → 90%."


def test_a_new_arm_and_one_that_is_erased_have_an_effect() -> None:
    bandit = lived("fucb", fractions=[0.3, 0.2, 0, 0])
    change = AddArm("juice", fraction=0.1)
    effect = bandit.plan(change).effect
    assert effect is not None
    assert effect.cost is not None
    bandit.change(change, now=4000.0)
    after = bandit.audit(now=4000.0).cost
    assert after is not None
    assert (effect.cost.per_round, effect.cost.high, effect.cost.note) == (after.per_round, after.high, after.note)
    assert [(one.arm, round(one.now, 9), round(one.then, 9)) for one in effect.shares][-1] == ("juice", 0.0, 0.1)
    erased = bandit.plan(Erase("tea")).effect
    assert erased is not None
    assert ("tea", 0.3, 0.0) in [(one.arm, one.now, one.then) for one in erased.shares]


def test_an_arm_without_rewards() -> None:
    """It counts with the whole range of rewards; the plan says so."""
    bandit = lived("fucb", fractions=[0.3, 0.2, 0, 0])
    bandit.add("juice")
    effect = bandit.plan(Promise({"tea": 0.1})).effect
    assert effect is not None
    assert effect.cost is not None
    assert effect.cost.per_round is not None
    assert "'juice' has no known reward" in effect.text[1]


def test_one_that_comes_back_has_what_waits_for_it() -> None:
    bandit = lived("fucb", fractions=[0.6, 0.1, 0, 0])
    bandit.retire("tea")
    effect = bandit.plan(BringBack("tea", 0.3)).effect
    assert effect is not None
    (late,) = effect.catch_up
    bandit.change(BringBack("tea", 0.3), now=4000.0)
    line = bandit.audit(now=4000.0).lines[0]
    assert late.owed == line.deficit
