"""Differences of a durable allocation: the same after a replay of its events, whatever has happened in it."""

from __future__ import annotations

from evenhand.bandit import saved
from evenhand.changes import AddArm
from evenhand.service.store import Change, Decide, LeaseRounds, ReadDifferences, ReportLease, Reward, Store
from evenhand.service.store.allocation import all_events, row_of
from evenhand.service.store.database import Database
from evenhand.service.store.events import fold
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock

MONTH = 31 * 86_400.0


def test_they_are_the_same_after_a_replay(either: Database, clock: Clock) -> None:
    store, number = Store(either, clock), 0
    settings = {"parameters": {"fractions": 0.1}, "seed": 1, "window": 60.0, "missing": "zero", "rewards": (-1.0, 3.0)}
    store.create("drinks", ["tea", "coffee", "mate"], "fair_random", **settings)  # type: ignore[arg-type]
    for part in range(4):
        decided = store.run("drinks", Decide(count=30, available=["tea", "coffee"] if part == 1 else None))
        for one in decided.decisions:
            number += 1
            if number % 3:
                clock.now += 30.0 * (number % 4 == 0)
                store.run("drinks", Reward(((one.id, {one.names[0]: float(number % 4)}),)))
        lease = store.run("drinks", LeaseRounds(20, 100.0))
        rewards = {lease.arms[0].arm: (list[int](), list[float]())}
        store.run("drinks", ReportLease(lease.id, 10 + part, rewards))
        clock.now += MONTH
        if part == 2:
            store.run("drinks", Change(AddArm("cocoa", fraction=0.1)))
    found = store.run("drinks", ReadDifferences("tea"))
    assert [one.first for one in found.differences] == ["coffee", "mate", "cocoa"]
    assert len(found.sentences) == 3
    with either.transaction(writes=False) as connection:
        row = row_of(connection, "drinks")
    bandit, closed = None, False
    for event in all_events(either, row.id):
        bandit, closed = fold(bandit, event, closed)
    assert bandit is not None
    kept = bandit.scores.dump()
    assert {table[1] for table in kept["tables"]} == {"decided", "leased"}
    assert len({table[0] for table in kept["tables"]}) == 4
    store.close()
    again = Store(either, clock)
    assert again.run("drinks", ReadDifferences("tea")) == found
    again.close()
    assert saved.restored(saved.dump(bandit)).scores.dump() == kept
    assert verify(either).faults == ()
