"""How much may be asked at once, and what is done with more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from evenhand.service.http.auth import Caller
from evenhand.service.http.limits import OWN, RECEIVED, REQUEST, SHARE, Place, Quotas, work_of
from evenhand.service.http.settings import Settings
from evenhand.service.priority import Priority
from evenhand.service.store import Decide, LeaseRounds, Store
from evenhand.service.store.commands import NO_FEATURES
from tests.service.http.asking import DRINKS, Asking, refused

ALL = "/v1/allocations"
ONE = f"{ALL}/drinks"


@pytest.fixture
def small(store: Store) -> Iterator[Asking]:
    """A client of a service with small limits, and an allocation of three arms."""
    with Asking(store, Settings(max_body=500, max_batch=3, max_arms=4)) as ask:
        assert ask.post(ALL, DRINKS).status_code == 201
        yield ask


def padded(size: int) -> bytes:
    """A body of that many bytes."""
    return b"{" + b" " * (size - 2) + b"}"


def test_a_body_up_to_the_limit_is_taken(small: Asking) -> None:
    assert small.send(f"{ONE}/decisions", padded(500)).status_code == 200
    answer = small.send(f"{ONE}/decisions", padded(501))
    assert "500 bytes" in refused(answer, 413, "too_large")["detail"]
    assert answer.headers["connection"] == "close"


def test_a_body_of_unknown_length_is_read_up_to_the_limit(small: Asking) -> None:
    read = 0

    async def pieces(number: int) -> AsyncIterator[bytes]:
        nonlocal read
        for piece in [b"{", *[b" " * 98] * number, b"}"]:
            read += len(piece)
            yield piece

    kind = {"Content-Type": "application/json"}
    assert small("POST", f"{ONE}/decisions", content=pieces(5), headers=kind).status_code == 200
    read = 0
    refused(small("POST", f"{ONE}/decisions", content=pieces(1000), headers=kind), 413, "too_large")
    assert read < 700  # the rest was not asked for


@pytest.mark.parametrize("length", ["501", "99999999999999999999999999"])
def test_a_length_over_the_limit_is_enough(small: Asking, length: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": length}
    refused(small("POST", f"{ONE}/decisions", content=b"{}", headers=headers), 413, "too_large")
    refused(small("GET", ALL, headers={"Content-Length": length}), 413, "too_large")


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("decisions", {"count": 4}),
        ("decisions", {"count": 10**15}),
        ("decisions", {"rounds": [{}] * 4}),
        ("rewards", {"rewards": [{"decision": "1", "rewards": {"tea": 1}}] * 4}),
    ],
)
def test_a_batch_over_the_limit_is_refused_whole(small: Asking, route: str, body: Any) -> None:
    assert "3" in refused(small.post(f"{ONE}/{route}", body), 413, "too_large")["detail"]
    assert small.get(ONE).json()["round"] == 0


def test_a_batch_up_to_the_limit_is_taken(small: Asking) -> None:
    assert len(small.post(f"{ONE}/decisions", {"count": 3}).json()["decisions"]) == 3
    assert len(small.post(f"{ONE}/decisions", {"rounds": [{}] * 3}).json()["decisions"]) == 3


def test_arms_up_to_the_limit(small: Asking) -> None:
    settings = {"name": "many", "missing": "never", "algorithm": "ucb1"}
    refused(small.post(ALL, settings | {"arms": list("abcde")}), 413, "too_large")
    assert small.post(ALL, settings | {"arms": list("abcd")}).status_code == 201
    assert small.put(f"{ONE}/arms/mate", {}).status_code == 201
    refused(small.put(f"{ONE}/arms/water", {}), 413, "too_large")
    assert small.put(f"{ONE}/arms/mate", {}).status_code == 200
    assert small.post(f"{ONE}/changes", {"change": "retire", "arm": "mate"}).status_code == 200


def test_a_repeated_request_for_the_last_arm_is_answered_again(small: Asking) -> None:
    key = {"Idempotency-Key": "mate"}
    once = small.put(f"{ONE}/arms/mate", {}, headers=key)
    again = small.put(f"{ONE}/arms/mate", {}, headers=key)
    assert (once.status_code, again.status_code) == (201, 201)
    assert once.json() == again.json()


def test_propensities_up_to_the_limit(small: Asking) -> None:
    """Four numbers may be asked for; each decision has three."""
    assert small.post(f"{ONE}/decisions", {"propensities": True}).status_code == 200
    refused(small.post(f"{ONE}/decisions", {"propensities": True, "count": 2}), 413, "too_large")
    assert small.get(ONE).json()["round"] == 1


def test_a_slow_sender_does_not_keep_others_waiting(drinks: Asking) -> None:
    """Half a body is all that has come when another request is answered."""
    order = []

    async def run() -> None:
        going = asyncio.Event()

        async def halves() -> AsyncIterator[bytes]:
            yield b"{"
            going.set()
            await done.wait()
            yield b"}"

        done = asyncio.Event()
        http = drinks._http
        slow = asyncio.create_task(
            http.post(f"{ONE}/decisions", content=halves(), headers={"Content-Type": "application/json"})
        )
        await going.wait()
        order.append((await http.post(f"{ONE}/decisions", json={})).json()["decisions"][0]["round"])
        done.set()
        order.append((await slow).json()["decisions"][0]["round"])

    drinks._loop.run(run())
    assert order == [1, 2]


def test_open_leases_up_to_the_limit(store: Store) -> None:
    with Asking(store, Settings(max_leases=2)) as ask:
        assert ask.post(ALL, DRINKS).status_code == 201
        one, _ = (ask.post(f"{ONE}/leases", {"decisions": 5}).json()["id"] for _ in range(2))
        told = refused(ask.post(f"{ONE}/leases", {"decisions": 5}), 413, "too_large")["detail"]
        assert told.startswith("allocation 'drinks' has 2 open leases; an allocation may have at most 2")
        assert ask.post(f"{ONE}/leases/{one}/reports", {"played": 5}).status_code == 200
        assert ask.post(f"{ONE}/leases", {"decisions": 5}).status_code == 200


def test_large_bodies_are_validated_where_they_are_parsed(drinks: Asking) -> None:
    """In lists longer than a slice, places count from the beginning of the list."""
    rewards = [{"decision": "1", "rewards": {"tea": 1.0}}] * 700 + [{"decision": 1, "rewards": {"tea": 1.0}}]
    told = refused(drinks.post(f"{ONE}/rewards", {"rewards": rewards}), 422, "invalid")
    assert told["errors"] == [{"where": "body.rewards[700].decision", "message": "must be a string"}]
    assert len(drinks.post(f"{ONE}/rewards", {"rewards": rewards[:700]}).json()["results"]) == 700
    lease = drinks.post(f"{ONE}/leases", {"decisions": 3000}).json()["id"]
    told = refused(drinks.post(f"{ONE}/leases/{lease}/reports", {"played": 1, "columns": ["x"] * 900}), 422, "invalid")
    assert told["errors"][0]["where"] == "body.columns[0]"
    large = {"played": 0, "rewards": {"tea": {"positions": [0] * 900, "values": [1.0] * 900}}}
    assert "but 0 decisions were played" in drinks.post(f"{ONE}/leases/{lease}/reports", large).json()["detail"]


@pytest.mark.parametrize("number", [1, 50, 1_000])
def test_what_a_request_counts_for_is_what_its_command_says(number: int) -> None:
    size = 10, NO_FEATURES
    assert work_of("decide", {"count": number}, lambda: size) == Decide(number).work(*size)
    assert work_of("lease", {"decisions": number, "seconds": 60}, lambda: size) == LeaseRounds(number, 60.0).work(*size)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The turns that are taken."""
    taken, take = list[float](), Place.take

    async def noted(self: Place, cost: float) -> None:
        taken.append(cost)
        await take(self, cost)

    monkeypatch.setattr(Place, "take", noted)
    return taken


@pytest.mark.parametrize(("path", "cost"), [("decisions", REQUEST), ("leases", OWN["lease"]), ("none", 0.0)])
def test_a_small_body_has_the_turn_of_its_route(drinks: Asking, taken: list[float], path: str, cost: float) -> None:
    drinks.post(f"{ONE}/{path}", {"decisions": 1} if path == "leases" else {})
    assert taken == [cost] * (cost > 0.0)


def test_names_count_for_less_than_rewards(drinks: Asking, taken: list[float]) -> None:
    bodies = {"decisions": {"available": ["tea"] * 900}, "rewards": {"rewards": [{}] * 900}}
    for path, body in bodies.items():
        assert drinks.post(f"{ONE}/{path}", body).status_code == 422
    _, _, names, _, _, rewards = taken
    assert 4 * (names - REQUEST) < rewards - REQUEST


def test_pieces_of_a_large_body_have_turns(drinks: Asking, taken: list[float]) -> None:
    """Three pieces of different sizes, the small one without: what comes last has the turn of the whole."""

    async def pieces() -> AsyncIterator[bytes]:
        for size in (5_000, 1_000, 3_000):
            yield b" " * size
        yield b"{}"

    kind = {"Content-Type": "application/json"}
    assert drinks("POST", f"{ONE}/decisions", content=pieces(), headers=kind).status_code == 200
    assert taken[:3] == [RECEIVED * 5_000, RECEIVED * 3_000, REQUEST]
    assert taken[3] > REQUEST


def test_requests_that_are_done_at_once_share_the_rounds_of_the_event_loop() -> None:
    """Each is done in one step; in a round are no more than may be under way."""

    async def run() -> list[int]:
        quotas, rounds, number = Quotas(Settings()), list[int](), 0

        async def one() -> None:
            nonlocal number
            place = quotas.place(Caller(None, frozenset()), "drinks")
            await place.take(REQUEST)
            number += 1
            place.leave()

        jobs = [asyncio.create_task(one()) for _ in range(200)]
        while not all(job.done() for job in jobs):
            before = number
            await asyncio.sleep(0)
            rounds.append(number - before)
        return rounds

    rounds = asyncio.run(run())
    assert max(rounds) == round(SHARE / REQUEST)
    assert sum(rounds) == 200


@pytest.mark.parametrize("others", [True, False])
def test_large_requests_of_a_key_leave_half_the_time_to_small_ones_of_another(others: bool) -> None:
    cost, begun = 2 * SHARE, list[float]()

    async def run() -> None:
        quotas = Quotas(Settings())
        for key in ("b", *"aaa") if others else "aaa":
            place = quotas.place(Caller(key, frozenset(), key), "drinks")
            await place.take(cost if key == "a" else REQUEST)
            begun.append(asyncio.get_running_loop().time())
            place.leave()

    asyncio.run(run())
    assert (begun[-1] - begun[-2] > cost) == others


def test_a_request_that_counts_as_short_does_not_pause_for_itself(
    drinks: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []

    class Noted(Priority):
        """Notes who pauses."""

        def pause(self) -> None:
            if self._short and "since" in vars(self._own):
                waits.append(self._short)

    noted = Noted()
    for name in ("json", "store.commands", "store.allocation", "store.transaction", "http.dependencies", "http.limits"):
        monkeypatch.setattr(f"evenhand.service.{name}.PRIORITY", noted)
    for number in (10, 100, 300, 450, 600, 900):
        drinks.post(f"{ONE}/rewards", {"rewards": [{"decision": "1", "rewards": {"tea": 1.0}}] * number})
        drinks.post(f"{ONE}/decisions", {"count": number})
    assert waits == []
    assert noted._begun >= 12
    assert noted._short == 0


def test_no_request_counts_for_more_than_it_may_take(drinks: Asking) -> None:
    """Else its key would wait for as long as the others ask."""
    for _ in range(2):
        refused(drinks.post(f"{ONE}/decisions", {"count": 10**15}), 413, "too_large")
    large = drinks.app.state.service.quotas._turns[1]
    (account,) = large._accounts.values()
    assert account.had <= 4.0
