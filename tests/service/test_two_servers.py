"""Two processes of the service on one database, and clients that ask both at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import accumulate

import httpx
import pytest

from tests.service.crowd import Crowd, audit_of, check_events, check_kept, read_events, replayed
from tests.service.running import Server

Serve = Callable[..., Server]
SHARES = {"tea": "0.15", "coffee": "0.25", "cocoa": "0.3", "mate": "0"}
DRINKS = {
    "name": "drinks",
    "arms": list(SHARES),
    "missing": "never",
    "algorithm": "fucb",
    "parameters": {"fractions": {arm: float(share) for arm, share in SHARES.items()}},
    "seed": 3,
}
PAGE = "/v1/allocations/drinks"


@pytest.fixture
def pair(database: str, serve: Serve) -> tuple[Server, Server]:
    """Two servers on the same empty database, both of which want to make its tables."""
    first, second = serve(database, wait=False), serve(database, wait=False)
    for server in (first, second):
        server.await_ready()
    return first, second


def test_one_allocation_is_one(database: str, pair: tuple[Server, Server]) -> None:
    """Made on both at once, decided and rewarded on both at once: the rounds follow each other and keep the promises.

    FUCB owes an arm with share r less than one play after any number of rounds: r t − plays < 1.
    """
    with ThreadPoolExecutor(2) as both:
        statuses = list(both.map(lambda server: server.post("/v1/allocations", DRINKS).status_code, pair))
    assert sorted(statuses) == [200, 201]
    with Crowd([server.url for server in pair], "drinks", seed=1) as crowd:
        crowd.reach(400)
    events = read_events(database, "drinks")
    check_events(events, crowd.received)
    assert min(Counter(crowd.received.servers.values()).values()) > len(crowd.received.arms) / 10, (
        "one server was kept waiting"
    )
    played = [event.body["arms"][0] for event in events if event.kind == "decide"]
    for arm, share in SHARES.items():
        plays = accumulate(name == arm for name in played)
        assert max(Fraction(share) * round - had for round, had in enumerate(plays, 1)) < 1
    audits = [server.http.get(f"{PAGE}/audit").json() for server in pair]
    assert audit_of(audits[0]) == audit_of(audits[1])
    assert audit_of(audits[0]) == audit_of(replayed(events).audit().to_json())
    assert all(line["worst"] < 1 for line in audits[0]["lines"] if line["promised"])
    for server in pair:
        check_kept(database, "drinks", server)


def test_a_reward_goes_to_either(pair: tuple[Server, Server]) -> None:
    first, second = pair
    assert first.post("/v1/allocations", DRINKS).status_code == 201
    for _ in range(5):
        (decision,) = first.post(f"{PAGE}/decisions", {}).json()["decisions"]
        body = {"rewards": [{"decision": decision["id"], "rewards": {decision["arms"][0]["arm"]: 0.5}}]}
        for server, status in ((second, "accepted"), (first, "duplicate"), (second, "duplicate")):
            (answer,) = server.post(f"{PAGE}/rewards", body).json()["results"]
            assert answer["status"] == status
        first, second = second, first


def test_a_change_on_one_holds_on_the_other_at_once(pair: tuple[Server, Server]) -> None:
    first, second = pair
    assert first.post("/v1/allocations", DRINKS).status_code == 201
    assert second.post(f"{PAGE}/decisions", {}).status_code == 200  # it has the allocation in memory
    changed = first.http.put(f"{PAGE}/arms/juice", json={"fraction": 0.3})
    assert changed.json() == {"version": 1, "round": 1, "changed": True}
    (decision,) = second.post(f"{PAGE}/decisions", {"available": ["juice"]}).json()["decisions"]
    assert (decision["round"], decision["version"], decision["arms"][0]["arm"]) == (2, 1, "juice")
    assert second.http.post(f"{PAGE}/changes", json={"change": "close"}).status_code == 200
    refused = first.post(f"{PAGE}/decisions", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "closed")


def test_a_request_repeated_at_the_other_server_is_the_same_request(pair: tuple[Server, Server]) -> None:
    """Both are asked at the same time, again and again: one of them is first, and the other repeats its answer."""
    assert pair[0].post("/v1/allocations", DRINKS).status_code == 201
    with ThreadPoolExecutor(2) as both:
        for turn in range(20):

            def ask(server: Server, key: str = f"key-{turn}") -> httpx.Response:
                return server.post(f"{PAGE}/decisions", {"count": 2}, key)

            one, other = both.map(ask, pair)
            assert one.json() == other.json()
            assert [decision["round"] for decision in one.json()["decisions"]] == [2 * turn + 1, 2 * turn + 2]
    assert [server.http.get(PAGE).json()["round"] for server in pair] == [40, 40]


@pytest.mark.parametrize(
    "database", [pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"], indirect=True
)  # of one server on SQLite there are tests in `test_faults`
def test_one_goes_on_when_the_other_is_killed(database: str, pair: tuple[Server, Server]) -> None:
    first, second = pair
    assert first.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url for server in pair], "drinks", seed=2) as crowd:
        crowd.reach(60)
        first.kill()
        crowd.reach(60)
        first.start()
        second.kill()
        crowd.reach(60)
        second.start()
        crowd.reach(20)
    events = read_events(database, "drinks")
    check_events(events, crowd.received)
    audit = audit_of(replayed(events).audit().to_json())
    assert [audit_of(server.http.get(f"{PAGE}/audit").json()) for server in pair] == [audit, audit]
