"""Leases: the table against enumeration, promises against deciding one by one, and the account after returns."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit, lease_rounds
from evenhand.bandit.lease_reports import LeaseError
from evenhand.bandit.leases import golden_step
from evenhand.bandit.pending import RewardError
from evenhand.changes import Promise
from evenhand.client.leases import LeasedDecisions, LeaseOver, column_of
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Lease
from tests.bandit.test_bandit import ORDERED, PARAMETERS, bandit_of

ARMS = ("red", "green", "blue", "black")
SHARES = {"red": 0.1, "green": 0.2, "black": 0.15}
#: Algorithms whose parts remember single rounds, beside those that learn in order.
BY_ROUND = {"ars_fucb", "ars_ucb", "explore_then_commit", "lfg", "naive", "odaaf", "opse", "tscsf_b"} | {
    *("m_fcts_d", "m_fcucb_d", "q_fcts_d", "q_fcucb_d"),  # these count plays by their age
    *("d_ts", "d_ucb", "fair_glr", "glr_klucb", "sw_ucb"),  # these forget, or begin anew
    *("group_ts", "group_ucb"),  # these promise to groups
    "f_tas_tracking",  # plays what is furthest behind its shares, which move
}


def fair(**options: Any) -> Bandit:
    return Bandit(ARMS, "fucb", fractions=SHARES, seed=3, **options)


def drawn(lease: Lease) -> list[tuple[str, ...]]:
    return [decision.names for decision in LeasedDecisions(lease).draw_many(lease.decisions)]


@pytest.mark.parametrize(
    ("counts", "plays"), [([5, 2], 1), ([1, 0, 9], 1), ([6, 6, 4, 2], 3), ([3, 3, 3], 3), ([1], 1), ([7, 4, 2, 1], 2)]
)
def test_the_table_by_enumeration(counts: list[int], plays: int) -> None:
    """Whatever the start, every arm plays as often as counted; over all starts, in every round equally often."""
    bandit, size = Bandit([str(place) for place in range(len(counts))], "ucb1", plays=plays), sum(counts) // plays
    by_position: list[Counter[str]] = [Counter() for _ in range(size)]
    for start in range(size):
        bandit = Bandit(bandit.names, "ucb1", plays=plays)
        facts = {
            "decisions": size,
            "arms": [name for name, count in zip(bandit.names, counts, strict=True) if count],
            "counts": [count for count in counts if count],
            **{"plays": plays, "start": start, "step": golden_step(size), "salt": None},
            **{"expires": 60.0, "report_by": 120.0},
        }
        lease = lease_rounds.record_lease(bandit._record, facts, bandit._record.arms.all, 0.0)
        rounds = drawn(lease_rounds.answer_of(bandit._record, lease, 60.0))
        assert [[bandit.names[place] for place in row] for row in lease.arms_of(np.arange(size)).tolist()] == [
            list(names) for names in rounds
        ]
        assert all(len(set(names)) == plays for names in rounds)
        assert Counter(name for names in rounds for name in names) == {
            name: count for name, count in zip(bandit.names, counts, strict=True) if count
        }
        for position, names in enumerate(rounds):
            by_position[position].update(names)
    for counter in by_position:  # of size starts, an arm plays in count: with probability count/size
        assert [counter[name] for name in bandit.names] == counts


def test_counts_are_rounded_without_bias() -> None:
    expected = np.array([2.25, 0.5, 3.0, 0.75, 5.5, 0.0])
    draws = (np.arange(400) + 0.5) / 400
    counts = np.array([lease_rounds._rounded(expected, size=12, plays=1, draw=draw) for draw in draws])
    assert (counts.sum(axis=1) == 12).all()
    assert (np.abs(counts - expected) < 1.0).all()
    np.testing.assert_allclose(counts.mean(axis=0), expected, atol=1e-12)


def test_arms_are_spread_evenly_over_the_rounds() -> None:
    """Any first part of a lease has each arm's share of it, up to some plays: what is returned is like the rest."""
    lease = fair().lease(10_000)
    names, worst = [names[0] for names in drawn(lease)], 0.0
    for arm in lease.arms:
        played = np.cumsum([name == arm.arm for name in names])
        worst = max(worst, np.abs(played - arm.propensity * np.arange(1, 10_001)).max())
    assert worst < 6.0  # drawn independently, it would be about 50


@pytest.mark.parametrize("tolerance", [0.0, 3.0])
@pytest.mark.parametrize("size", [1, 7, 100, 600])
def test_promises_are_kept_as_by_single_decisions(size: int, tolerance: float) -> None:
    single, leased = (Bandit(ARMS, "fair_learn", fractions=SHARES, tolerance=tolerance, seed=3) for _ in range(2))
    chance = np.random.default_rng(5)
    worst = 0.0
    for _ in range(3):
        lease = leased.lease(size)
        rewards: dict[str, tuple[list[int], list[float]]] = {}
        for decision in LeasedDecisions(lease).draw_many(size):
            one = single.decide()
            single.observe(one.id, {one.names[0]: float(chance.random() < 0.5)})
            played = rewards.setdefault(decision.names[0], ([], []))
            played[0].append(decision.position)
            played[1].append(float(chance.random() < 0.5))
            worst = max(worst, float(single._record.owed().max()))
        leased.report(lease.id, size, rewards)
        assert leased._record.owed().max() <= max(worst, tolerance) + 1e-9
    assert leased._record.statistics.received.sum() == leased._record.state.tally.pulls.sum() == 3 * size
    assert leased._record.state.tally.received.sum() == 3 * size


def test_while_a_lease_is_open_deficits_exceed_by_at_most_its_decisions() -> None:
    bandit, size = fair(), 200
    for _ in range(5):
        lease = bandit.lease(size)
        played = dict.fromkeys(ARMS, 0)
        counted = {arm: float(bandit._record.state.tally.pulls[place]) for place, arm in enumerate(ARMS)}
        for arm in lease.arms:
            counted[arm.arm] -= arm.count
        for position, (name,) in enumerate(drawn(lease), start=1):
            played[name] += 1
            for label, share in SHARES.items():  # what is played in truth, all of the lease's rounds being due
                deficit = share * bandit._record.state.round - counted[label] - played[label]
                assert deficit <= 1.0 + (size - position)
        bandit.report(lease.id, size)


def test_many_arms_get_what_they_are_promised() -> None:
    arms = [f"arm {place}" for place in range(500)]
    bandit = Bandit(arms, "fucb", fractions=0.0015, plays=2, seed=1)
    for size in (3, 40, 1000, 9999):
        lease = bandit.lease(size)
        assert sum(arm.count for arm in lease.arms) == 2 * size
        assert max(arm.count for arm in lease.arms) <= size
    assert bandit._record.owed().max() <= 0.0


def test_promises_that_cannot_be_kept_in_a_lease_are_those_of_the_arms_furthest_behind() -> None:
    bandit = fair()
    for _ in range(100):
        bandit.decide(available=["blue"])
    counts = {arm.arm: arm.count for arm in bandit.lease(10).arms}
    # Behind by 11, 22 and 16.5 plays after 110 rounds: 10 plays for the level at which 22 and 16.5 meet.
    assert sum(counts.values()) == 10
    assert counts["green"] >= 7
    assert set(counts) <= {"green", "black"}


@pytest.mark.parametrize("units", [False, True])
def test_what_was_not_played_is_taken_out_of_the_account(units: bool) -> None:
    bandit = fair(window=60.0, missing="lost")
    for _ in range(40):
        bandit.decide(now=0.0, available=["red", "blue"])
    before, deficits = bandit.dump(), bandit._record.owed()
    lease = bandit.lease(1000, seconds=10.0, available=["red", "green", "blue"], units=units, now=1.0)
    assert bandit._record.state.round == 1040
    assert bandit.expire(now=70.9) != {}  # the windows of the first decisions; the lease may still be reported
    assert bandit._record.leases.open == 1000
    bandit.expire(now=71.0)
    assert bandit._record.leases.open == 0
    np.testing.assert_array_equal(bandit._record.owed(), deficits)
    assert bandit.dump()["state"]["tally"]["pulls"] == before["state"]["tally"]["pulls"]
    assert bandit.dump()["statistics"]["missed"] == before["statistics"]["missed"]
    assert bandit._record.state.round == 1040  # its rounds are gone, and decisions go on after them
    assert bandit.decide(now=72.0).round == 1041
    with pytest.raises(LeaseError, match="there is no lease '41'"):
        bandit.report(lease.id, 1, now=72.0)


def test_rounds_that_are_returned_are_owed_at_the_shares_of_then_also_after_another_promise() -> None:
    bandit = fair()
    lease = bandit.lease(1000)
    bandit.promise({"red": 0.3})
    bandit.add("white", fraction=0.05)
    other = bandit.lease(100)
    bandit.report(other.id, 0, finished=True)
    for _ in range(10):
        bandit.decide()
    before = dict(zip(bandit.names, bandit._record.owed().tolist(), strict=True))
    black = bandit._record.state.tally.pulls[3]
    bandit.report(lease.id, 0, finished=True)
    after = dict(zip(bandit.names, bandit._record.owed().tolist(), strict=True))
    counts = {arm.arm: arm.count for arm in lease.arms}
    assert bandit._record.state.tally.pulls[3] == black - counts["black"]
    for arm, share in (("red", 0.1), ("black", 0.15)):
        assert after[arm] == pytest.approx(before[arm] - share * 1000 + counts[arm])
    assert after["white"] == before["white"]  # which came later
    for line in bandit.audit().lines:
        owed = line.paid + (line.deficit or 0.0) - line.lapsed
        assert line.due == pytest.approx(owed, abs=1e-8)
    assert {line.arm: line.due for line in bandit.audit().lines}["red"] == pytest.approx(0.3 * 10)


def test_part_of_a_lease() -> None:
    bandit = fair()
    lease = bandit.lease(100)
    names = [names[0] for names in drawn(lease)]
    bandit.report(lease.id, 37)
    assert bandit.report(lease.id, 30).played == 37  # an earlier report that arrives again
    bandit.report(lease.id, 0, finished=True)
    assert bandit._record.state.tally.pulls.tolist() == [names[:37].count(arm) for arm in ARMS]
    shares = np.array([0.1, 0.2, 0.0, 0.15])
    np.testing.assert_allclose(bandit._record.owed(), 37 * shares - bandit._record.state.tally.pulls)
    position = names.index("green")
    assert bandit.report(lease.id, 37, {"green": ([position], [1.0])}).accepted == 1  # rewards are still taken
    with pytest.raises(LeaseError, match="is over"):
        bandit.report(lease.id, 38)


def test_rewards_of_leased_decisions() -> None:
    bandit = fair(window=60.0, missing="zero", rewards=(-1.0, 3.0))
    lease = bandit.lease(6, available=["blue"], now=0.0)
    with pytest.raises(RewardError, match="there is no decision '1'"):
        bandit.observe("1", {"blue": 1.0}, now=0.0)  # it was not reported
    report = bandit.report(lease.id, 4, {"blue": ([0, 2], [3.0, 1.0])}, now=10.0)
    assert (report.added, report.accepted, report.duplicate) == (4, 2, 0)
    assert bandit.observe("1", {"blue": 3.0}, now=10.0) == {"blue": "duplicate"}
    assert bandit.observe("2", {"blue": 2.0}, now=20.0) == {"blue": "accepted"}
    report = bandit.report(lease.id, 4, {"blue": ([0, 1], [3.0, 2.0])}, now=20.0)
    assert (report.added, report.accepted, report.duplicate) == (0, 0, 2)
    with pytest.raises(RewardError, match="position 0, arm 'blue': its reward is 3 and cannot change to 2"):
        bandit.report(lease.id, 5, {"blue": ([4, 0], [1.0, 2.0])}, now=20.0)
    assert bandit._record.leases.open == 2  # all of it is refused
    bandit.report(lease.id, 6, now=30.0)
    bandit.expire(now=70.0)  # 60 seconds after the first report: the reward of decision 4 is missing, and counts as 0
    place = bandit.names.index("blue")
    counts = bandit._record.statistics
    assert [one.item(place) for one in (counts.lost, counts.known, counts.sums)] == [1.0, 4.0, 6.0]
    assert bandit._record.state.tally.rewards.item(place) == 4 / 4 + 2 / 4 + 3 / 4 + 1 / 4
    assert bandit.report(lease.id, 6, {"blue": ([3, 5], [1.0, 0.5])}, now=71.0).late == 1
    assert bandit._record.pending_counts().sum() == 1.0


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({"played": 7}, "played must be at most 6, the decisions of lease 1, got 7"),
        ({"played": 2, "rewards": {"blue": ([2], [1.0])}}, "name position 2, but 2 decisions were played"),
        ({"played": 2, "rewards": {"blue": ([0, 0], [1.0, 1.0])}}, "name a position twice"),
        ({"played": 2, "rewards": {"blue": ([0], [1.0, 1.0])}}, "have 1 positions, but 2 values"),
        ({"played": 2, "rewards": {"blue": ([0], [1.5])}}, "the reward of 'blue' must be in"),
        ({"played": 2, "rewards": {"blue": ([0], [float("nan")])}}, "must be a finite number"),
        ({"played": 2, "rewards": {"red": ([0], [1.0])}}, "arm 'red' did not play in decision 1 of lease 1"),
        ({"played": 2, "rewards": {"pink": ([0], [1.0])}}, "there is no arm 'pink'"),
        ({"played": 2, "columns": [0, 1]}, "is not for units"),
    ],
)
def test_reports_that_are_refused_change_nothing(report: dict[str, Any], message: str) -> None:
    bandit = fair()
    lease = bandit.lease(6, available=["blue"], now=0.0)
    before = bandit.dump()
    with pytest.raises(EvenhandError, match=message):
        bandit.report(lease.id, now=1.0, **report)
    assert bandit.dump() == before


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_algorithms(name: str) -> None:
    """Each either leases rounds, and goes on as a saved copy does, or says what to do instead."""
    bandit = bandit_of(name)
    bandit.decide(now=0.0)
    if name in ORDERED:
        with pytest.raises(EvenhandError, match="request single decisions"):
            bandit.lease(10)
    elif name in BY_ROUND:
        with pytest.raises(EvenhandError, match="request decisions, of which a batch"):
            bandit.lease(10)
    else:
        lease = bandit.lease(50, now=0.0)
        bandit.report(lease.id, 20, now=1.0)
        again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
        assert again.lease(30, now=2.0) == bandit.lease(30, now=2.0)
        assert again.decide(now=3.0) == bandit.decide(now=3.0)
        assert (bandit._record.state.tally.received <= bandit._record.state.tally.pulls).all()


def test_units_keep_their_arms() -> None:
    bandit = fair()
    leases = [LeasedDecisions(bandit.lease(500, units=True)) for _ in range(2)]
    units = [f"user-{number}" for number in range(200)]
    first, again, second = ([one.names for one in leased.draw_many(200, units)] for leased in (leases[0], *leases))
    assert first == again
    shares = [{arm.arm: arm.propensity for arm in leased.lease.arms} for leased in leases]
    moved = sum(abs(shares[0].get(arm, 0.0) - shares[1].get(arm, 0.0)) for arm in ARMS) * len(ARMS)
    assert sum(one != other for one, other in zip(first, second, strict=True)) <= 200 * moved + 5
    body, _ = leases[0].body()
    assert body["played"] == len(body["columns"]) == 400
    assert bandit._record.state.tally.pulls.sum() == 1000
    bandit.report(leases[0].lease.id, 400, columns=body["columns"])
    counted = Counter(name for names in (*first, *again) for name in names)
    assert bandit._record.state.tally.pulls.sum() == 1000
    bandit.report(leases[0].lease.id, 0, finished=True)
    bandit.report(leases[1].lease.id, 0, finished=True)
    assert bandit._record.state.tally.pulls.tolist() == [counted[arm] for arm in ARMS]
    with pytest.raises(EvenhandError, match="is for units: columns must list those of the 1 decisions"):
        bandit.report(bandit.lease(5, units=True).id, 1)


def test_the_arm_of_a_unit_is_uniform_over_the_columns() -> None:
    """Chi-squared with 9 degrees of freedom: below 27.9 with probability 0.999."""
    columns = np.array([column_of(f"user {number}", salt=7, size=10) for number in range(20_000)])
    counts = np.bincount(columns, minlength=10)
    assert ((counts - 2000.0) ** 2 / 2000.0).sum() < 27.9


def test_a_heavy_unit_costs_the_promise() -> None:
    """The price of sticky units: all decisions are of one user, and so of one arm, whatever the counts are."""
    bandit = fair()
    leased = LeasedDecisions(bandit.lease(100, units=True))
    (names,) = {decision.names for decision in leased.draw_many(100, ["the only user"] * 100)}
    bandit.report(leased.lease.id, 100, columns=leased.body()[0]["columns"])
    assert bandit._record.state.tally.pulls[bandit.names.index(names[0])] == 100.0
    owed = {arm: 100 * share for arm, share in SHARES.items() if arm != names[0]}
    assert bandit._record.owed().max() == pytest.approx(max(owed.values()))  # a whole lease's
    counts = {arm.arm: arm.count for arm in bandit.lease(100).arms}
    assert all(counts[arm] >= 2 * plays for arm, plays in owed.items())  # and the next lease makes up for it


def test_a_lease_is_over_for_the_client() -> None:
    time = [0.0]
    leased = LeasedDecisions(fair().lease(10, seconds=60.0), clock=lambda: time[0])
    leased.draw_many(8)
    with pytest.raises(LeaseOver, match="has 2 decisions left, and 3 were to be drawn"):
        leased.draw_many(3)
    time[0] = 60.0
    assert leased.left == 0
    with pytest.raises(LeaseOver):
        leased.draw()


def test_totals_and_leases_exclude_each_other() -> None:
    bandit = Bandit(ARMS, "ucb1")
    lease = bandit.lease(5)
    bandit.decide()
    with pytest.raises(RewardError, match="return the leases first"):
        bandit.observe_total(0.5)
    bandit.report(lease.id, 0, finished=True)
    bandit.observe_total(0.5)
    with pytest.raises(EvenhandError, match="learns from totals"):
        bandit.lease(5)


def test_a_change_and_its_plan_begin_after_what_is_over_has_come_back() -> None:
    """As over HTTP: rounds that nobody reported are given back under the promise under which they were leased."""
    early, late = fair(window=5.0, missing="zero"), fair(window=5.0, missing="zero")
    change = Promise({"red": 0.3}, reason="as agreed")
    for bandit in (early, late):
        bandit.decide(now=0.0)
        bandit.lease(50, 10.0, now=0.0)
    early.expire(1000.0)
    assert late.plan(change, now=1000.0) == early.plan(change, now=1000.0)
    late = fair(window=5.0, missing="zero")
    late.decide(now=0.0)
    late.lease(50, 10.0, now=0.0)
    for bandit in (early, late):
        bandit.change(change, now=1000.0)
    assert late.dump() == early.dump()
    (ended, *_) = late.audit(now=1000.0).ledger
    assert (ended.name, ended.rounds) == ("red", 1)
