"""Allocations that start from the evidence of others, and their events."""

import pytest

from evenhand.changes import AddArm, Erase
from evenhand.core.errors import EvenhandError
from evenhand.service.store import Change, Decide, Reward, Store
from evenhand.service.store.compaction import compact
from evenhand.service.store.errors import Conflict, UnknownAllocation
from evenhand.service.store.reading import ReadAudit
from tests.service.store.kit import START, Clock, events_of, verified

TASTE = {"tea": 1.0, "coffee": 0.0}


@pytest.fixture
def drinks(store: Store) -> Store:
    """A store with an allocation whose arms are tea, which always earns, and coffee, which never does."""
    store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.3}, seed=1)
    for decision in store.run("drinks", Decide(count=10)).decisions:
        store.run("drinks", Reward([(decision.id, {arm: TASTE[arm] for arm in decision.names})]))
    store.run("drinks", Decide(count=3))  # whose rewards are pending
    return store


def learned(store: Store, name: str) -> dict[str, tuple[int, float | None, int]]:
    lines = store.run(name, ReadAudit()).lines
    return {line.arm: (line.learned_plays, line.learned_mean, line.plays) for line in lines}


def test_the_evidence_is_taken_over_and_nothing_else(drinks: Store, clock: Clock) -> None:
    assert drinks.create("more", ["mate", "tea"], "thompson", seed=2, start_from="drinks")
    plays = sum("tea" in event.body["arms"] for event in events_of(drinks.database, "drinks") if event.kind == "decide")
    audit = drinks.run("more", ReadAudit())
    assert audit.sources == ("allocation drinks",)
    assert audit.round == 0
    mate, tea = learned(drinks, "more").values()
    assert mate == (0, None, 0)
    assert tea[1:] == (1.0, 0)
    assert 0 < tea[0] <= plays
    (created,) = events_of(drinks.database, "more")
    assert created.body["learned"] == {"tea": [float(tea[0]), float(tea[0])]}


def test_the_events_hold_the_evidence_through_everything(drinks: Store, clock: Clock) -> None:
    drinks.create("more", ["tea", "coffee", "mate"], "f_ts", parameters={"fractions": 0.2}, seed=2, start_from="drinks")
    drinks.run("more", Decide(count=5))
    before = learned(drinks, "more")
    drinks.run("more", Change(Erase("coffee")))
    drinks.run("more", Change(AddArm("cocoa", fraction=0.1)))
    assert verified(drinks.database, "more") == len(events_of(drinks.database, "more"))
    drinks.leave_idle(-1.0)
    after = learned(drinks, "more")
    assert after["tea"][:2] == before["tea"][:2]
    assert after["erased-2"][:2] == before["coffee"][:2]
    clock.now = START + 100.0
    drinks.run("more", Decide())
    compact(drinks.database, "more", START + 50.0)
    assert verified(drinks.database, "more") == 2
    drinks.leave_idle(-1.0)
    assert learned(drinks, "more")["tea"][0] == before["tea"][0]
    assert drinks.run("more", ReadAudit()).sources == ("allocation drinks",)


def test_creation_can_be_repeated_though_the_other_allocation_goes_on(drinks: Store) -> None:
    first = {"arms": ["tea"], "algorithm": "ucb1", "start_from": "drinks"}
    assert drinks.create("more", **first)  # type: ignore[arg-type]
    drinks.run("drinks", Reward([("11", {drinks.run("drinks", Decide()).decisions[0].names[0]: 1.0})]))
    assert not drinks.create("more", **first)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match="with other evidence to start from"):
        drinks.create("more", ["tea"], "ucb1")
    with pytest.raises(Conflict, match="with other evidence to start from"):
        drinks.create("more", ["tea"], "ucb1", start_from={"tea": (3, 1)})


def test_counts_and_what_is_refused(drinks: Store) -> None:
    counts = {"tea": (10, 4.0)}
    assert drinks.create("more", ["tea", "mate"], "ucb1", start_from=counts)
    assert not drinks.create("more", ["tea", "mate"], "ucb1", start_from=counts)
    assert learned(drinks, "more")["tea"] == (10, 0.4, 0)
    assert drinks.create("third", ["tea"], "ucb1", start_from="more")  # what was learned goes on
    assert learned(drinks, "third")["tea"] == (10, 0.4, 0)
    with pytest.raises(UnknownAllocation, match="there is no allocation 'drinksss'"):
        drinks.create("other", ["tea"], "ucb1", start_from="drinksss")
    with pytest.raises(EvenhandError, match="allocation drinks has none of these arms"):
        drinks.create("other", ["red"], "ucb1", start_from="drinks")
    with pytest.raises(EvenhandError, match="ars_ucb cannot start from counts: it holds a choice"):
        drinks.create("other", ["tea", "coffee"], "ars_ucb", start_from="drinks")
    assert {one.name for one in drinks.allocations().allocations} == {"drinks", "more", "third"}
