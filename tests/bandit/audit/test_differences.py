"""Differences of a real bandit: against brute force, their coverage, their claims, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from evenhand import Policy
from evenhand.bandit import Bandit
from evenhand.changes import AddArm, Retire
from evenhand.core.errors import EvenhandError
from evenhand.inference import Scores, Sums, difference, simultaneous, weighted
from evenhand.policy import ExplorationFloor, TopM

START = 1_763_000_000.0  # 13 November 2025
DAY = 86_400.0
Means = Callable[[int], Sequence[float]]


def played(bandit: Bandit, rounds: int, means: Means, seed: int = 0, *, known: float = 1.0) -> list[tuple[Any, ...]]:
    """Rounds with rewards of 0 and 1, a part of which is known; each round's arm, chance and reward, or none."""
    rng, seen = np.random.default_rng(seed), []
    for round in range(rounds):
        decision = bandit.decide(now=START + round)
        (one,) = decision.arms
        reward = float(rng.random() < means(round)[bandit.names.index(one.arm)])
        arrives = rng.random() < known
        if arrives:
            bandit.observe(decision.id, {one.arm: reward}, now=START + round)
        seen.append((one.arm, one.propensity, reward if arrives else None))
    return seen


def fair(**settings: Any) -> Bandit:
    return Bandit(["a", "b", "c"], "fair_random", fractions=0.1, seed=1, **settings)


def by_hand(seen: Sequence[tuple[Any, ...]], arms: Sequence[str], lost: bool = False) -> tuple[Any, Any]:
    """The sequence from the rounds themselves; they count where the arm had a chance below 1."""
    drawn = [(arm, 1.0 / p, x) for arm, p, x in seen if p < 1.0]
    drawn = [one for one in drawn if one[2] is not None] if lost else drawn
    sides = []
    for arm in arms:
        w, x = np.array([(w, x) for one, w, x in drawn if one == arm and x is not None]).T
        open = np.array([w for one, w, x in drawn if one == arm and x is None])
        sums = [w.sum(), (w * x).sum(), (w**2).sum(), (w**2 * x).sum(), (w**2 * x**2).sum()]
        least = min(1.0 / w for one, w, _ in drawn if one == arm)
        sides.append(Scores(*map(np.array, [*sums, open.sum(), (open**2).sum(), least])))
    return weighted(sides[0], sides[1], np.array(float(len(drawn))), simultaneous(0.95, 2))


@pytest.mark.parametrize(("known", "assume"), [(1.0, None), (0.8, None), (0.8, "lost independently")])
def test_a_difference_is_that_of_the_weighted_rounds(known: float, assume: Any) -> None:
    bandit = fair()
    seen = played(bandit, 400, lambda round: (0.7, 0.3, 0.5), known=known)
    found = bandit.differences("b", assume=assume)
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("c", "b")]
    for one in found:
        low, high = by_hand(seen, [one.first, one.second], assume is not None)
        assert (one.interval.low, one.interval.high) == pytest.approx((low, high))
        assert one.interval.claim == ("holds" if assume is None else "holds_if")
        assert one.interval.low <= one.value <= one.interval.high
    assert found[0].value == pytest.approx(0.4, abs=0.2)
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    assert again.differences("b", assume=assume) == found


def test_without_chances_it_is_that_of_two_sequences() -> None:
    bandit = Bandit(["a", "b"], "ucb1", rewards=(0.0, 10.0))
    rng, sums = np.random.default_rng(1), {arm: [0.0, 0.0, 0.0, 0.5] for arm in "ab"}
    for round in range(300):
        decision = bandit.decide(now=START + round)
        x = rng.random()
        own = sums[decision.names[0]]
        own[0], own[1], own[2] = own[0] + 1, own[1] + x, own[2] + (x - own[3]) ** 2
        own[3] = (own[1] + 0.5) / (own[0] + 1.0)
        bandit.observe(decision.id, {decision.names[0]: 10.0 * x}, now=START + round)
    (found,) = bandit.differences()
    first, second = (Sums(*map(np.array, sums[arm][:3])) for arm in "ab")
    low, high = difference(first, second)
    assert (found.interval.low, found.interval.high) == pytest.approx((10.0 * low, 10.0 * high))
    assert found.interval.premises == ("nothing common changed over time",)
    assert found.value == pytest.approx(10.0 * (sums["a"][1] / sums["a"][0] - sums["b"][1] / sums["b"][0]))


def test_nothing_is_claimed_where_a_change_was_seen() -> None:
    bandit = Bandit(["a", "b"], "glr_klucb")
    played(bandit, 1500, lambda round: (0.9, 0.1) if round < 500 else (0.1, 0.1))
    (found,) = bandit.differences()
    assert (found.interval.claim, found.verdict) == ("not_claimed", "undecided")
    assert "a change of the mean reward of a was found" in found.interval.premises


@pytest.mark.slow  # as `test_several_plays_per_round_cover_too`, with more arms and a jump
def test_all_intervals_cover_at_once_and_at_all_times() -> None:
    """Three arms of equal means, which jump from .2 to .7 while the shares of the policy are still wandering."""
    missed = 0
    for seed in range(25):
        bandit, wrong = Bandit(["a", "b", "c"], "floor_ts", fractions=0.1, seed=seed), False
        for part in range(5):
            means = [0.2 if part < 2 else 0.7] * 3
            played(bandit, 60, lambda round, means=means: means, seed=100 * seed + part)  # type: ignore[misc]
            found = bandit.differences()
            assert {one.interval.claim for one in found} == {"holds"}
            wrong |= any(one.verdict != "undecided" for one in found)
        missed += wrong
    assert missed <= 4  # at most 1.25 are to be expected, and more than 4 with a probability of 0.7 %


def test_a_large_difference_is_found() -> None:
    bandit = fair()
    played(bandit, 1500, lambda round: (0.9, 0.1, 0.1))
    assert [one.verdict for one in bandit.differences()] == ["larger", "larger", "undecided"]


def test_a_month_is_one_of_those_with_rounds() -> None:
    bandit = fair()
    played(bandit, 400, lambda round: (0.9, 0.1, 0.1))
    december = [bandit.decide(now=START + 30 * DAY) for _ in range(300)]
    assert bandit.differences(month="2025-11")[0].value != bandit.differences(month="2025-12")[0].value
    assert bandit.differences(month="2025-12")[0].interval.low == -1.0
    chosen = ("2025-11 was chosen without looking at its rewards",)
    assert bandit.differences(month="2025-11")[0].interval.premises == chosen
    for one in december:
        bandit.observe(one.id, {one.names[0]: 1.0}, now=START + 31 * DAY)
    second, both = (bandit.differences("c", month=month) for month in ("2025-12", None))
    assert second[0].interval.low > -1.0
    assert both[0].interval.low > second[0].interval.high
    for month, says in (("2026-01", "2025-11, 2025-12"), ("November", "written like '2026-11'")):
        with pytest.raises(EvenhandError, match=says):
            bandit.differences(month=month)


def test_missing_rewards_are_the_worst_unless_something_is_assumed() -> None:
    bandit = fair(window=10.0, missing="zero")
    played(bandit, 300, lambda round: (1.0, 1.0, 1.0), known=0.7)
    for waiting in (True, False):
        worst, alike, over = (
            bandit.differences("b", assume=what, now=START + 300)[0].interval
            for what in (None, "lost independently", "the window is over")
        )
        assert alike.high - alike.low <= worst.high - worst.low
        assert over.high - over.low <= worst.high - worst.low
        assert (worst == over) == (not waiting and over.claim == "holds")
        bandit.expire(now=START + 400)
    late = bandit.decide(now=START + 400)
    bandit.expire(now=START + 500)
    kept = bandit.differences("b", now=START + 500)[0].interval
    bandit.observe(late.id, {late.names[0]: 1.0}, now=START + 501)
    after = bandit.differences("b", now=START + 501)[0].interval
    assert after.low <= kept.low
    assert after.high >= kept.high
    assert after != kept


def test_added_and_retired_arms_are_compared_over_the_rounds_they_share() -> None:
    bandit = fair()
    played(bandit, 200, lambda round: (0.5, 0.5, 0.5))
    bandit.change(AddArm("d", fraction=0.1), now=START)
    played(bandit, 200, lambda round: (0.5, 0.5, 0.5, 0.5))
    before = bandit.differences("b")
    assert [one.first for one in before] == ["a", "c", "d"]
    assert before[2].interval.high - before[2].interval.low > before[0].interval.high - before[0].interval.low
    bandit.change(Retire("b"), now=START)
    assert [(one.first, one.second) for one in bandit.differences()] == [("a", "c"), ("a", "d"), ("c", "d")]
    assert [one.first for one in bandit.differences("b")] == ["a", "c", "d"]
    assert {one.remarks for one in bandit.differences("b")} == {("b is retired",)}


def test_rewards_that_count_as_the_worst_are_counted_with_the_remedy() -> None:
    for missing, remedy in (("lost", "lost independently"), ("zero", "the window is over")):
        bandit = fair(window=1e6, missing=missing)
        seen = played(bandit, 100, lambda round: (0.5, 0.5, 0.5), known=0.8)
        worst = f"{sum(one[2] is None for one in seen)} rewards that are not known in time count as the worst, unless "
        first, *_ = bandit.differences("b", now=START + 100)
        assert first.remarks == (f"{worst}one assumes {remedy!r} (assume, --assume)",)
        assert bandit.differences("b", assume=remedy, now=START + 100)[0].remarks == ()  # type: ignore[arg-type]


def test_leased_rounds_hold_if_nothing_changed_within_a_lease() -> None:
    bandit = fair()
    for start in range(3):
        lease = bandit.lease(400, now=START + start)
        kept = bandit._record.leases.named(lease.id)
        assert kept is not None
        arms = kept.arms_of(np.arange(400))[:, 0]
        rewards = {arm: np.flatnonzero(arms == place) for place, arm in enumerate(bandit.names)}
        values = {arm: (at.tolist(), [float(arm == "a")] * len(at)) for arm, at in rewards.items()}
        bandit.report(lease.id, 400, values, now=START + start)
    found = bandit.differences()
    assert [one.verdict for one in found] == ["larger", "larger", "undecided"]
    assert found[0].interval.premises == ("nothing common changed within a lease",)
    assert found[0].interval.low > 0.8


def test_leases_for_units_have_a_premise_of_their_own() -> None:
    bandit = fair()
    lease = bandit.lease(90, now=START, units=True)
    columns = np.random.default_rng(3).permutation(90).tolist()
    bandit.report(lease.id, 60, {}, columns[:60], now=START)
    (table,) = bandit._record.scores.tables
    kept = bandit._record.leases.named(lease.id)
    assert kept is not None
    plays = np.bincount(kept.arms_of(np.arange(60)).ravel(), minlength=3)
    assert table.rounds == pytest.approx(max(plays[kept.places] * 90 / kept.counts))
    assert "a unit that comes again earns like a new one" in bandit.differences("b")[0].interval.premises


def test_several_plays_per_round_cover_too() -> None:
    """Four arms of which two play; a difference of means of .5 is found, and none where there is none."""
    wrong, found = 0, 0
    for seed in range(5):
        bandit = Bandit(list("abcd"), Policy(selection=ExplorationFloor(0.3, TopM(2))), seed=seed)
        rng = np.random.default_rng(seed)
        for round in range(1500):
            decision = bandit.decide(now=START + round)
            rewards = {arm: float(rng.random() < (0.9 if arm == "a" else 0.1)) for arm in decision.names}
            bandit.observe(decision.id, rewards, now=START + round)
        verdicts = [one.verdict for one in bandit.differences()]
        assert bandit.differences()[0].interval.claim == "holds"
        found += verdicts[:3].count("larger")
        wrong += len(verdicts[3:]) - verdicts[3:].count("undecided")
    assert (found, wrong) == (15, 0)


def groups() -> Bandit:
    hot, cold = {"arms": ["a", "b"], "at_least": 0.3}, {"arms": ["c"], "at_least": 0.2}
    return Bandit(["a", "b", "c"], "group_ucb", groups=[{"name": "hot", **hot}, {"name": "cold", **cold}], seed=3)


def test_groups_are_the_mean_of_their_arms() -> None:
    bandit = groups()
    played(bandit, 1500, lambda round: (0.9, 0.7, 0.1))
    (found,) = bandit.differences(of="groups")
    assert (found.first, found.second, found.verdict) == ("hot", "cold", "larger")
    by_arm = {one.first: one for one in bandit.differences("c")}
    assert found.value == pytest.approx((by_arm["a"].value + by_arm["b"].value) / 2.0, abs=1e-9)
    assert bandit.differences("cold", of="groups")[0].first == "hot"
    assert found.remarks == ("this is per arm of the group, whose arms count alike",)
    bandit.retire("a", now=START)
    (left,) = bandit.differences(of="groups")
    assert left.remarks == ("this is per arm of the group, whose arms count alike, without a, which is retired",)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"control": "x"}, "there is no arm 'x'"),
        ({"of": "months"}, "of must be"),
        ({"of": "groups"}, "has no groups"),
        ({"confidence": 1.0}, "above 0 and below 1"),
        ({"assume": "the best"}, "assume must be"),
        ({"assume": "the window is over"}, "missing='zero'"),
        ({"month": "2025-11"}, "no month has rounds yet"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: Any, says: str) -> None:
    with pytest.raises(EvenhandError, match=says):
        fair().differences(**arguments)


def test_more_reasons_to_refuse() -> None:
    with pytest.raises(EvenhandError, match="at least two arms"):
        Bandit(["a"], "ucb1").differences()
    with pytest.raises(EvenhandError, match="control must be one of the groups hot, cold"):
        groups().differences("a", of="groups")
    with pytest.raises(EvenhandError, match="2,016 differences, more than 2,000: name a control"):
        Bandit([f"arm {place}" for place in range(64)], "ucb1").differences()
    totals = Bandit(["a", "b"], "ars_ucb")
    totals.decide()
    totals.observe_total(0.5)
    with pytest.raises(EvenhandError, match="totals name no arm"):
        totals.differences()
