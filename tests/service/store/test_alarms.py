"""Alarms are events: stated once, as the judge finds, through restarts and changes, and by one of two servers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from evenhand.bandit import saved
from evenhand.changes import BringBack, Close, Promise, Rename, Reopen, Retire
from evenhand.core.errors import StateError
from evenhand.service.store import Change, Decide, ReadAudit, ReadGauges, Store
from evenhand.service.store.compaction import compact
from evenhand.service.store.database import Database
from evenhand.service.store.events import fold
from evenhand.service.store.export import read_event_page
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock, events_of, rebuilt

ARMS = ("tea", "coffee", "milk")
HALF_DAY = 43_200.0


def opened(database: Database, clock: Clock) -> Store:
    """A store of its own, as of another process."""
    return Store(database, clock)


def brewed(store: Store, algorithm: str = "fucb", **parameters: Any) -> None:
    """An allocation that promises a quarter of the rounds to coffee, unless it is given other promises."""
    store.create("drinks", ARMS, algorithm, parameters=parameters or {"fractions": {"coffee": 0.25}}, seed=1)


def starved(store: Store, rounds: int = 30) -> None:
    """Rounds in which only tea can play."""
    store.run("drinks", Decide(count=rounds, available=["tea"]))


def told(store: Store) -> list[tuple[str, list[str]]]:
    """What alarms have said, in order, each with its arms and groups."""
    events = read_event_page(store.database, "drinks", limit=10_000).events
    alarms = [one.data for one in events if one.kind == "alarm"]
    return [(one["alarm"], [it.get("arm") or it["group"] for it in one["promises"]]) for one in alarms]


BEHIND, AGAIN, ENDED = (("promise." + one, ["coffee"]) for one in ("behind", "kept_again", "ended"))


def test_a_promise_is_stated_to_be_behind_once_and_kept_again_once(store: Store, clock: Clock) -> None:
    brewed(store)
    store.judge()
    assert told(store) == []
    starved(store)
    for _ in range(3):
        store.judge()
        store.run("drinks", Decide(available=["tea"]))
    assert told(store) == [BEHIND]
    store.run("drinks", Decide(count=100))
    store.judge()
    store.judge()
    assert told(store) == [BEHIND, AGAIN]
    starved(store)
    store.judge()
    assert told(store) == [BEHIND, AGAIN, BEHIND]


def test_an_alarm_has_the_figures_of_the_judge_and_a_sentence(store: Store) -> None:
    brewed(store)
    starved(store)
    store.judge()
    store.run("drinks", Change(Rename("coffee", "café")))
    event = next(one for one in read_event_page(store.database, "drinks", 30).events if one.kind == "alarm")
    assert event.round == 30
    figures = {"share": 0.25, "behind": 7.5, "low": 7.5, "high": 7.5, "tolerance": 1.0}
    text = "café is 7.5 plays behind the 25% that it was promised"
    promise = {"promise": "share", "arm": "café", **figures, "text": text}
    assert event.data == {"alarm": "promise.behind", "promises": [promise]}


def test_what_is_undecided_changes_nothing(store: Store) -> None:
    """With η = 1 a group may be behind for a while by the rule of the policy: there is no alarm, and none ends."""
    floors = {"name": "white", "arms": ["milk", "coffee"], "at_least": 0.5}
    brewed(store, "group_ucb", groups=[floors], caps={"tea": 0.4})

    def verdicts() -> list[str | None]:
        return [one.verdict for one in store.run("drinks", ReadAudit()).bounds]

    starved(store)
    store.judge()
    assert (verdicts(), told(store)) == (["undecided", "undecided"], [])
    starved(store, 140)
    store.judge()
    behind = [("promise.behind", ["white", "tea"])]
    assert (verdicts(), told(store)) == (["missed", "missed"], behind)
    store.run("drinks", Decide(count=140))
    store.judge()
    assert (verdicts(), told(store)) == (["undecided", "missed"], behind)
    store.run("drinks", Decide(count=80))
    store.judge()
    assert (verdicts(), told(store)) == (["kept", "undecided"], [*behind, ("promise.kept_again", ["white"])])
    assert [one.kind for one in store.run("drinks", ReadAudit()).alarms] == ["cap"]
    store.run("drinks", Decide(count=40))
    store.judge()
    assert (verdicts(), told(store)[2:]) == (["kept", "kept"], [("promise.kept_again", ["tea"])])
    assert verify(store.database, redecide=True).faults == ()


def test_no_restart_repeats_an_alarm_or_loses_one(either: Database, clock: Clock) -> None:
    """A store that is not closed is one that was killed."""
    killed = opened(either, clock)
    brewed(killed)
    starved(killed)
    second = opened(either, clock)  # killed before it looked
    second.judge()
    assert told(second) == [BEHIND]
    for _ in range(2):
        with closing(opened(Database(either.url.render_as_string(hide_password=False)), clock)) as store:
            store.judge()
            starved(store, 5)
            store.judge()
            assert told(store) == [BEHIND]
    third = opened(either, clock)
    third.run("drinks", Decide(count=100))
    with closing(opened(either, clock)) as store:
        store.judge()
        assert told(store) == [BEHIND, AGAIN]
        assert verify(either, redecide=True).faults == ()


def test_of_two_servers_one_states_it(either: Database, clock: Clock) -> None:
    servers = [opened(either, clock) for _ in range(2)]
    brewed(servers[0])
    for rounds, available in ((30, ["tea"]), (100, None)) * 3:
        for one in servers:
            one.run("drinks", Decide(count=rounds, available=available))
        with ThreadPoolExecutor() as both:
            list(both.map(Store.judge, servers))
    assert told(servers[0]) == [BEHIND, AGAIN] * 3


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Promise({"coffee": 0.2}, debt="forgive", reason="a new season"), [AGAIN]),
        (Promise({"coffee": 0.2}), []),
        (Promise({"coffee": 0.0}), [ENDED]),
        (Retire("coffee"), [ENDED]),
    ],
    ids=["forgiven", "carried", "none", "retired"],
)
def test_a_change_of_the_promise(store: Store, change: Any, expected: list[Any]) -> None:
    """What is forgiven is owed no more; what is carried still is, and so no alarm ends."""
    brewed(store)
    starved(store)
    store.judge()
    store.run("drinks", Change(change))
    audit = store.run("drinks", ReadAudit())
    assert len(audit.alarms) == (not expected)  # the page says nothing that the next look takes back
    store.judge()
    assert told(store) == [BEHIND, *expected]
    if isinstance(change, Retire):
        store.run("drinks", Change(BringBack("coffee", fraction=0.25, debt="carry")))
        starved(store, 1)
        store.judge()
        assert told(store) == [BEHIND, ENDED, BEHIND]


def test_a_group_that_there_is_no_more(store: Store) -> None:
    floors = {"name": "white", "arms": ["milk", "coffee"], "at_least": 0.5}
    brewed(store, "group_ucb", groups=[floors])
    starved(store, 200)
    store.judge()
    store.run("drinks", Change(Promise(groups={"white": None})))
    store.judge()
    assert told(store) == [("promise.behind", ["white"]), ("promise.ended", ["white"])]


def test_a_closed_allocation_states_nothing(store: Store) -> None:
    brewed(store)
    starved(store)
    store.run("drinks", Change(Close()))
    store.judge()
    assert told(store) == []
    store.run("drinks", Change(Reopen()))
    store.judge()
    assert told(store) == [BEHIND]


def test_only_what_has_changed_is_looked_at(either: Database, clock: Clock) -> None:
    with closing(opened(either, clock)) as store:
        brewed(store)
        store.judge()
    with closing(opened(Database(either.url.render_as_string(hide_password=False)), clock)) as store:
        store.judge()
        assert store.loaded() == []
        store.run("drinks", Decide())
        store.leave_idle(-1.0)
        store.judge()
        assert store.loaded() == ["drinks"]


def test_alarms_stand_in_audits_gauges_and_saves(store: Store, clock: Clock) -> None:
    brewed(store)
    starved(store)
    store.judge()
    clock.now += HALF_DAY
    (alarm,) = store.run("drinks", ReadAudit()).alarms
    assert (alarm.name, alarm.kind, alarm.round) == ("coffee", "share", 30)
    assert alarm.since.timestamp() == clock.now - HALF_DAY
    assert alarm.text == "coffee is 7.5 plays behind the 25% that it was promised."
    assert store.run("drinks", ReadGauges()).behind == 1
    bandit, _ = rebuilt(events_of(store.database, "drinks"))
    assert bandit.audit().alarms == (alarm,)
    compact(store.database, "drinks", clock.now)
    assert [one.kind for one in events_of(store.database, "drinks")] == ["state"]
    starved(store)
    store.judge()
    assert told(store) == []
    assert store.run("drinks", ReadAudit()).alarms[0].since == alarm.since
    assert verify(store.database, redecide=True).faults == ()


def test_a_replay_refuses_an_alarm_that_was_stated_before(store: Store) -> None:
    brewed(store)
    starved(store)
    store.judge()
    events = events_of(store.database, "drinks")
    bandit, closed = None, False
    for one in events:
        bandit, closed = fold(bandit, one, closed)
    with pytest.raises(StateError, match=r"it says promise\.behind of a promise of which that was said before"):
        fold(bandit, events[-1], closed)
    assert bandit is not None
    assert saved.restored(saved.dump(bandit)).alarms == bandit.alarms


def test_redeciding_finds_an_alarm_that_the_judge_does_not(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    brewed(store)
    starved(store)
    store.judge()
    monkeypatch.setattr("evenhand.service.store.verify.due", lambda account: {})
    (fault,) = verify(store.database, redecide=True).faults
    assert "event 32: promise.behind of round 30 is not what this computer finds" in fault
    assert verify(store.database).faults == ()
