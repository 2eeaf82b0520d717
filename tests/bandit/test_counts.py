"""Plays and rewards over time, and the changes of arms and promises."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.changes import AddArm
from evenhand.core.errors import EvenhandError, StateError
from evenhand.messages.lines import History


def history(bandit: Bandit, now: float | None = None) -> History:
    found = bandit.audit(now=now).history
    assert found is not None
    return found


def before_intervals(plain: dict[str, Any]) -> dict[str, Any]:
    """What was dumped, as it was up to format 4: each mark has all rewards so far."""
    history, sums = dict(plain["count_history"]), np.zeros((2, len(plain["arms"])))
    counts: list[Any] = [mark and [mark[0], *np.array(mark[1:])] for mark in history["counts"]]
    for mark in filter(None, counts):
        arms = len(mark[0])
        sums[:, :arms] += mark[1:]
        mark[1:] = sums[0, :arms].astype(int).tolist(), sums[1, :arms].tolist()
    del history["marked"]
    return plain | {"format": 4, "count_history": history | {"counts": counts}}


def test_every_mark_is_what_is_known_of_its_plays() -> None:
    """Zeros and successes of the same plays are counted at the same mark, whenever they become known."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.3, 0.1], rewards=(0.0, 2.0), window=50.0, missing="zero", seed=3)
    counted, expected = np.zeros((3, 2)), {}
    for round in range(1, 2001):
        decision = bandit.decide(now=float(round))
        counted[:, "ab".index(decision.names[0])] += 1.0, round % 2 or round <= 1950, 2.0 * (round % 2)
        expected[round] = counted.tolist()
        if round % 2:
            bandit.observe(decision.id, {decision.names[0]: 2.0}, now=round + 0.25)
    found = history(bandit, now=2000.0)
    assert (len(found.rounds), found.rounds[0], found.rounds[-1]) == (251, 8, 2000)
    for at, round in enumerate(found.rounds[:-1]):
        plays, known, sums = expected[round]
        assert [course[at] for course in found.plays] == plays
        assert [course[at] for course in found.known] == known
        assert [course[at] for course in found.rewards] == sums
        assert found.times[at].timestamp() == float(round)
    lines = bandit.audit().lines
    assert [course[-1] for course in found.plays] == [line.plays for line in lines]
    assert [course[-1] for course in found.rewards] == pytest.approx([2.0 * line.received for line in lines])
    assert found.times[-1].timestamp() == 2000.0


def test_rewards_of_a_lease_are_counted_from_its_rounds_on() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.3, 0.3], window=50.0, missing="zero")
    lease = bandit.lease(4, now=0.0)
    counts = {arm.arm: arm.count for arm in lease.arms}
    bandit.change(AddArm("c"), now=1.0)
    bandit.decide(now=2.0)
    first = bandit._record.leases[1].arms_of(np.arange(4))[:, 0].tolist().index(0)
    bandit.report(lease.id, 4, {"a": ([first], [1.0])}, now=3.0)
    bandit.expire(now=100.0)
    found = history(bandit)
    at = found.rounds.index(4)
    assert [course[at] for course in found.known] == [counts.get(arm, 0) for arm in found.arms]
    assert [course[at] for course in found.rewards] == [1.0, 0.0, 0.0]


def test_the_pace_is_that_of_late_rounds() -> None:
    """Seven seconds a round, long after the epoch."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.3, 0.3])
    for round in range(60):
        bandit.decide(available=["a"] if 40 <= round < 58 else None, now=1e6 + 7.0 * round)
    late = bandit.audit(now=1e6 + 420.0).lines[1]
    assert late.catch_up_rounds == 8
    assert late.catch_up_seconds == pytest.approx(56.0)


def test_a_reward_after_the_last_decision_is_in_the_last_mark() -> None:
    bandit = Bandit(["a", "b"], "ucb1")
    decision = bandit.decide(now=5.0)
    bandit.observe(decision.id, {decision.names[0]: 0.5}, now=9.0)
    found = history(bandit)
    assert (found.rounds, [time.timestamp() for time in found.times]) == ((1, 1), [5.0, 9.0])
    assert found.rewards == ((0.5, 0.5), (0.0, 0.0))


def test_added_arms_and_returned_leases() -> None:
    bandit = Bandit(["a"], "ucb1")
    bandit.decide()
    bandit.add("b")
    bandit.decide()
    assert history(bandit).plays == ((1, 1, 1), (0, 1, 1))
    leased = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    lease = leased.lease(100, seconds=1.0, now=0.0)
    leased.report(lease.id, played=10, finished=True, now=0.5)
    found = history(leased)
    assert sum(course[-1] for course in found.plays) == 10
    assert all(np.diff(course).min() >= 0 for course in found.plays)


def test_many_arms_have_counts_at_fewer_times() -> None:
    """800 arms, of which the first is promised a share: marks at every fourth of at most 256 rounds, 200 arms shown."""
    fractions = {"arm 0": 0.5, "arm 799": 0.25}
    many = Bandit([f"arm {place}" for place in range(800)], "fucb", fractions=fractions, seed=1)
    for number in range(300):
        decision = many.decide(now=float(number))
        many.observe(decision.id, {decision.names[0]: 1.0}, now=float(number))
    found = history(many)
    assert found.rounds == (*range(8, 304, 8), 300)  # 300 rounds are kept in intervals of 2
    assert len(found.arms) == 200
    assert {"arm 0", "arm 799"} <= set(found.arms)
    assert found.plays[found.arms.index("arm 0")] == (*range(4, 152, 4), 150)
    assert found.plays[found.arms.index("arm 799")][-1] == 75
    assert history(Bandit.restored(many.dump())) == found


@pytest.mark.parametrize("arms", [3, 500])
def test_late_rewards_count_from_their_rounds_on(arms: int) -> None:
    """The rewards of a thousand rounds arrive in any order and between decisions; an arm is added on the way."""
    bandit, rng = Bandit([f"arm {place}" for place in range(arms)], "ucb1", seed=4), np.random.default_rng(4)
    known, rewards, waiting = np.zeros((1001, arms + 1)), np.zeros((1001, arms + 1)), list[tuple[int, str]]()
    for round in range(1, 1001):
        decision = bandit.decide(now=float(round))
        waiting.append((round, decision.names[0]))
        while len(waiting) > 300 or (waiting and rng.random() < 0.5):
            one, arm = waiting.pop(int(rng.integers(len(waiting))))
            reward = float(rng.random())
            bandit.observe(str(one), {arm: reward}, now=float(round))
            known[one:, bandit.names.index(arm)] += 1.0
            rewards[one:, bandit.names.index(arm)] += reward
        if round == 500:
            bandit.add("another")
        if round == 750:
            bandit = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    found = history(bandit)
    assert len(found.rounds) > 50
    rounds, places = np.ix_(found.rounds, [bandit.names.index(name) for name in found.arms])
    assert np.array_equal(np.transpose(found.known), known[rounds, places])
    assert np.transpose(found.rewards) == pytest.approx(rewards[rounds, places], abs=1e-9)
    assert history(Bandit.restored(before_intervals(bandit.dump()))).known == found.known


def test_a_late_reward_costs_no_more_where_there_are_many_marks() -> None:
    """As many arrays change for the first round as for the last."""
    bandit = Bandit(["a", "b"], "ucb1")
    for _ in range(255):
        bandit.decide(now=0.0)
    before = bandit.dump()["count_history"]["counts"]
    bandit.observe("1", {"a": 1.0}, now=1.0)
    after = bandit.dump()["count_history"]["counts"]
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_arms_added_beyond_200_keep_their_past() -> None:
    bandit = Bandit([f"arm {place}" for place in range(200)], "ucb1")
    for _ in range(100):
        bandit.decide()
    before = history(bandit)
    for place in range(200, 250):
        bandit.add(f"arm {place}")
    bandit.decide()
    after = history(bandit)
    assert after.rounds == (*range(2, 102, 2), 101)
    assert after.plays[after.arms.index("arm 7")][:50] == before.plays[7][1::2][:50]


def test_changes_are_told_with_the_present_names() -> None:
    bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.1, 0.2])
    bandit.decide(now=1.0)
    bandit.add("mate", fraction=0.3, now=2.0)
    bandit.promise({"tea": 0.15, "coffee": 0.2}, now=3.0)
    bandit.promise({"tea": 0.15}, now=4.0)  # nothing changes
    bandit.retire("tea", now=5.0)
    bandit.bring_back("tea", 0.05, now=6.0)
    bandit.rename("coffee", "Kaffee", now=7.0)
    made = bandit.audit().changes_made
    assert [(one.time.timestamp(), one.round) for one in made] == [(at, 1) for at in (2.0, 3.0, 5.0, 6.0, 7.0)]
    assert [one.text for one in made] == [
        "mate was added, with a promised share of 30%",
        "the promised share of tea changed from 10% to 15%",
        "tea was retired",
        "tea was brought back, with a promised share of 5%",
        "the arm Kaffee received this name",
    ]
    with pytest.raises(EvenhandError, match="there is no arm 'water'"):
        bandit.promise({"water": 0.1})
    assert bandit.audit().changes_made == made


def test_long_changes_and_many_are_cut() -> None:
    names = [f"arm {place}" for place in range(9)]
    bandit = Bandit(names, "group_ucb", groups=[{"name": "g", "arms": names[:2], "at_least": 0.1}])
    bandit.promise(dict.fromkeys(names, 0.01), caps={names[0]: 0.5}, groups={"g": {"at_least": 0.2}}, now=0.0)
    (one,) = bandit.audit().changes_made
    assert one.text.startswith("the promised share of arm 0 changed from 0% to 1%; the promised share of arm 1")
    assert one.text.endswith("the promise to the group g changed; 4 more changed")
    for round in range(120):
        bandit.promise({names[0]: 0.001 * (round + 11)}, now=float(round))
    made = bandit.audit().changes_made
    assert (len(made), made[-1].time.timestamp()) == (100, 119.0)


def test_both_are_saved_and_damage_is_found() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.1, 0.2])
    for round in range(10):
        decision = bandit.decide(now=float(round))
        bandit.observe(decision.id, {decision.names[0]: 0.25}, now=round + 0.5)
    bandit.promise({"a": 0.3}, now=20.0)
    plain = json.loads(json.dumps(bandit.dump()))
    again = Bandit.restored(plain)
    assert again.audit(now=30.0).to_json() == bandit.audit(now=30.0).to_json()

    def damaged(part: str, **values: Any) -> dict[str, Any]:
        changed: dict[str, Any] = json.loads(json.dumps(plain))
        target = changed[part][0] if isinstance(changed[part], list) else changed[part]
        target.update(values)
        return changed

    for wrong in (
        damaged("count_history", times=[1.0]),
        damaged("count_history", counts=[[[1], [1], [1, 2]]] * 10),
        damaged("count_history", decided="yesterday"),
        damaged("changes", shares=[[2, 0.1, 0.3]]),
        damaged("changes", round=-1),
    ):
        with pytest.raises(StateError, match="damaged"):
            Bandit.restored(wrong)
