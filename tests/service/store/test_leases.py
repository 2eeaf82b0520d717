"""Leases in the store: what is written, read back, replayed, exported and compacted."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from evenhand.bandit import saved
from evenhand.changes import AddArm, Close, Promise
from evenhand.client.leases import LeasedDecisions
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Lease
from evenhand.service.store import (
    Change,
    Decide,
    LeaseRounds,
    ReadAudit,
    ReadDecision,
    ReadGauges,
    ReportLease,
    Reward,
    Store,
)
from evenhand.service.store.compaction import compact
from evenhand.service.store.database import Database
from evenhand.service.store.errors import Closed, Conflict, LeaseOver, TooMuchWork, UnknownDecision, UnknownLease
from evenhand.service.store.export import log
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock, Driven, kinds, verified

ARMS = ("tea", "coffee", "mate")


def driven(database: Database, clock: Clock, algorithm: str = "fucb", **options: Any) -> Driven:
    store = Store(database, clock)
    parameters = options.pop("parameters", {"fractions": [0.1, 0.2, 0.0]})
    store.create("drinks", ARMS, algorithm, parameters=parameters, seed=1, **options)
    return Driven(database, clock=clock)


def played(lease: Lease, count: int) -> dict[str, list[int]]:
    """The positions of each arm in the first decisions of a lease."""
    positions: dict[str, list[int]] = {}
    for decision in LeasedDecisions(lease).draw_many(count):
        for name in decision.names:
            positions.setdefault(name, []).append(decision.position)
    return positions


def test_a_lease_and_its_reports_in_the_log(either: Database, clock: Clock) -> None:
    drinks = driven(either, clock)
    drinks.run(Decide())
    lease = drinks.run(LeaseRounds(6))
    drinks.run(Decide())
    arms = played(lease, 6)
    clock.now += 5.0
    drinks.run(ReportLease(lease.id, 3, {"tea": ([position for position in arms["tea"] if position < 3], [1.0] * 2)}))
    assert drinks.run(Reward([("2", {"tea": 1.0}), ("4", {"coffee": 0.5}), ("6", {"tea": 1.0})])).results[0].status
    (rows,) = log(either, "drinks")
    assert rows["decision_id"].tolist() == ["1", "2", "3", "4", "8"]
    assert rows["item_id"].tolist()[1:4] == [
        next(name for name, positions in arms.items() if position in positions) for position in range(3)
    ]
    shares = {arm.arm: arm.propensity for arm in lease.arms}
    assert rows["propensity_score"].tolist()[1:4] == [shares[name] for name in rows["item_id"][1:4]]
    assert [(time - rows["timestamp"][0]).total_seconds() for time in rows["timestamp"]] == [0.0, 5.0, 5.0, 5.0, 0.0]
    decision = drinks.run(ReadDecision("3"))
    assert decision.available == ARMS
    assert decision.arms[0].arm == rows["item_id"][2]
    with pytest.raises(UnknownDecision):
        drinks.run(ReadDecision("5"))
    assert verify(either, redecide=True).faults == ()


def test_answers_to_keys_and_errors(either: Database, clock: Clock) -> None:
    drinks = driven(either, clock)
    lease = drinks.run(LeaseRounds(10, seconds=100.0, key="lease-1"))
    assert drinks.run(LeaseRounds(10, seconds=100.0, key="lease-1")) == lease
    report = ReportLease(lease.id, 4, key="report-1")
    assert (drinks.run(report).added, drinks.run(report).added) == (4, 4)
    assert drinks.run(ReportLease(lease.id, 4)).added == 0
    assert kinds(drinks.events()) == ["create", "lease", "report"]
    assert isinstance(drinks.refused(ReportLease("7", 1)), UnknownLease)
    (result,) = drinks.run(Reward([("7", {"tea": 1.0})])).results
    assert result.message == "decision 7 is of lease 1, which did not report it as played"
    arm, positions = next(iter(played(lease, 4).items()))
    assert drinks.run(ReportLease(lease.id, 4, {arm: (positions[:1], [1.0])})).accepted == 1
    assert isinstance(drinks.refused(ReportLease(lease.id, 4, {arm: (positions[:1], [0.5])})), Conflict)
    assert isinstance(drinks.refused(LeaseRounds(10, max_work=20)), TooMuchWork)
    assert "has 1 open leases; an allocation may have at most 1" in str(drinks.refused(LeaseRounds(10, max_leases=1)))
    clock.now += 200.0
    assert isinstance(drinks.refused(ReportLease(lease.id, 5)), LeaseOver)
    assert drinks.events()[-1].body == {"closed": {}, "returned": ["1"]}
    drinks.run(Change(Close()))
    assert isinstance(drinks.refused(LeaseRounds(10)), Closed)
    assert verified(either, "drinks") == len(drinks.events())


def test_a_killed_server_keeps_its_leases(either: Database, clock: Clock) -> None:
    lease = driven(either, clock).run(LeaseRounds(100))
    again = Driven(either, clock=clock)  # which has nothing but the database
    assert again.run(ReadGauges()).leased == 100
    assert again.run(ReportLease(lease.id, 60, finished=True)).returned
    assert again.run(ReadGauges()).leased == 0
    audit = again.run(ReadAudit())
    counted = Counter({name: len(positions) for name, positions in played(lease, 60).items()})
    assert {line.arm: line.plays for line in audit.lines} == {arm: counted[arm] for arm in ARMS}
    for line in audit.lines:
        assert line.deficit is None or line.deficit == pytest.approx(line.promised * 60 - line.plays)


def test_forgotten_leases_and_compaction(either: Database, clock: Clock) -> None:
    drinks = driven(either, clock, window=60.0, missing="lost")
    done, open = drinks.run(LeaseRounds(20_000)), drinks.run(LeaseRounds(10))
    drinks.run(ReportLease(done.id, 20_000))
    drinks.run(ReportLease(open.id, 4))
    clock.now += 60.0
    drinks.run(Decide())
    (arm, positions) = next(iter(played(done, 20_000).items()))
    late = [(str(positions[0] + 1), {arm: 1.0})]
    assert drinks.run(Reward(late)).results[0].status == "late"  # by the events: it is forgotten
    assert drinks.run(Reward(late)).results[0].status == "duplicate"
    compact(either, "drinks", clock.now + 1.0)
    assert drinks.run(ReportLease(open.id, 9)).added == 5
    assert drinks.run(Reward(late)).results[0].status == "unknown"
    assert sum(map(len, log(either, "drinks"))) == 5
    assert verified(either, "drinks") == len(drinks.events())


def life(drinks: Driven, clock: Clock, chance: random.Random) -> None:
    """Something that can happen, at random."""
    leases: list[LeasedDecisions] = vars(drinks).setdefault("leases", [])
    names = drinks.writer._allocation.bandit.names if drinks.writer._allocation else ARMS
    match chance.choice(["decide", "lease", "report", "report", "report", "reward", "wait", "promise", "add"]):
        case "decide":
            drinks.run(Decide(count=chance.randint(1, 3)))
        case "lease":
            available = chance.sample(ARMS, 2) if chance.random() < 0.3 else None
            lease = drinks.run(
                LeaseRounds(chance.randint(1, 40), chance.uniform(10, 200), available, units=chance.random() < 0.4)
            )
            leases.append(LeasedDecisions(lease, clock=lambda: 0.0))
        case "report" if leases:
            leased = chance.choice(leases)
            count = chance.randint(0, leased.left)
            units = None if leased.lease.salt is None else [f"user-{chance.randint(1, 9)}" for _ in range(count)]
            for decision in leased.draw_many(count, units):
                for name in decision.names:
                    if chance.random() < 0.5:
                        leased.reward(decision.position, name, chance.randint(0, 8) / 8)
            body, _ = leased.body()
            rewards = {arm: (some["positions"], some["values"]) for arm, some in body["rewards"].items()}
            finished, columns = chance.random() < 0.2, body.get("columns")
            try:
                report = drinks.run(ReportLease(leased.lease.id, body["played"], rewards, columns, finished))
            except (LeaseOver, UnknownLease):
                leases.remove(leased)
            else:
                leased.reported(body, report)
        case "reward" if leases:
            leased = chance.choice(leases)
            if leased.played:
                id = str(leased.lease.round + chance.randrange(leased.played))
                drinks.run(Reward([(id, {arm: chance.randint(0, 8) / 8}) for arm in names]))
        case "wait":
            clock.now += chance.choice([1.0, 20.0, 70.0])
        case "promise":
            drinks.run(Change(Promise({"tea": chance.choice([0.05, 0.1, 0.3])})))
        case "add" if len(names) < 6:
            drinks.run(Change(AddArm(f"arm-{len(names)}", fraction=0.05)))


@pytest.mark.parametrize("missing", ["never", "zero"])
@pytest.mark.parametrize(("algorithm", "plays"), [("fucb", 1), ("fucb", 2), ("f_ts", 1)])
def test_replaying_is_what_happened(lite: Database, clock: Clock, algorithm: str, plays: int, missing: str) -> None:
    """Whatever happens: events, snapshots and memory agree, and the account adds up."""
    window, chance = None if missing == "never" else 60.0, random.Random(plays)
    drinks = driven(lite, clock, algorithm, plays=plays, window=window, missing=missing)
    for _ in range(60):
        life(drinks, clock, chance)
    allocation = drinks.writer._allocation
    assert allocation is not None
    bandit, tally = allocation.bandit, allocation.bandit.state.tally
    assert drinks.rebuilt()[0].dump() == saved.dump(bandit)
    assert verified(lite, "drinks") == len(drinks.events())
    assert (tally.received <= tally.pulls).all()
    rows = sum(map(len, log(lite, "drinks")))
    assert tally.pulls.sum() == rows + plays * bandit.leases.open
    for lease in vars(drinks)["leases"]:
        with suppress(UnknownLease):
            drinks.run(ReportLease(lease.lease.id, 0, finished=True))
    after = drinks.writer._allocation
    assert after is not None
    assert after.bandit.state.tally.pulls.sum() == rows
    restarted = Driven(lite, clock=clock)
    assert restarted.run(ReadAudit()) == drinks.run(ReadAudit())


def test_what_cannot_be_leased(either: Database, clock: Clock) -> None:
    drinks = driven(either, clock, "lfg", parameters={"fractions": [0.1, 0.2, 0.0], "eta": 5.0})
    with pytest.raises(EvenhandError, match="remembers who played in each round: request decisions"):
        drinks.run(LeaseRounds(10))
    assert kinds(drinks.events()) == ["create"]
