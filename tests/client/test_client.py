"""The client: against answers that tests make up, where the waiting is made up, too."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import attrs
import httpx
import numpy as np
import pytest

from evenhand import plain
from evenhand.algorithms import fucb
from evenhand.bandit import Bandit
from evenhand.changes import AddArm, BringBack, Close, Erase, Promise, Rename, Reopen, Retire
from evenhand.client import Client, ServiceError, Unavailable, UnexpectedAnswer
from evenhand.core.errors import DataError, EvenhandError
from evenhand.features import Features, Flag, Number
from evenhand.messages.answers import (
    AccessInfo,
    Allocation,
    AllocationSummary,
    Arm,
    ArmPropensity,
    ChangeResult,
    Decision,
    Event,
    Plan,
    RewardResult,
    TotalResult,
    moment,
)
from evenhand.messages.changes import ChangeRecord
from evenhand.messages.problem import Detail
from evenhand.messages.requests import Round

SECRET = "evh_" + "s3cret" * 7 + "x"
URL = "http://decisions.test:8000"

DECIDED = {
    "id": "7",
    "round": 7,
    "time": "2026-09-21T14:13:20.500000Z",
    "arms": [{"arm": "tea", "propensity": 0.75, "stderr": 0.0}, {"arm": "mate", "propensity": 0.5, "stderr": 0.25}],
    "version": 2,
    "propensities": [{"arm": "tea", "propensity": 0.75, "stderr": 0.0}],
}
REPORTED = {"decision": "7", "arm": "tea", "status": "conflict", "message": "received a reward of 0 before"}
SUMMARY: dict[str, Any] = {"name": "drinks", "algorithm": "fucb", "arms": 2, "round": 7, "closed": False}
SUMMARY["created"] = "2026-09-21T14:13:20.000000Z"
DESCRIPTION = {
    "name": "drinks",
    "algorithm": "fucb",
    "arms": ["tea", "mate"],
    "retired": ["mate"],
    "parameters": {"fractions": [0.0, 0.25]},
    "plays": 1,
    "seed": 2**62,
    "window": None,
    "missing": "never",
    "rewards": [0, 1],
    "round": 7,
    "version": 2,
    "closed": True,
    "created": "2026-09-21T14:13:20.000000Z",
}
CHANGED = {"version": 3, "round": 120, "changed": True}

Answer = httpx.Response | Exception


def answer_of(status: int, body: Any, **headers: str) -> httpx.Response:
    """An answer in JSON."""
    return httpx.Response(status, json=body, headers=headers)


def refusal(status: int, code: str, message: str, **headers: str) -> httpx.Response:
    """An error of the service."""
    return answer_of(status, {"title": "No", "status": status, "detail": message, "code": code}, **headers)


def busy(**headers: str) -> httpx.Response:
    return refusal(503, "unavailable", "the database cannot be reached", **headers)


def decided(*changes: dict[str, Any]) -> httpx.Response:
    return answer_of(200, {"decisions": [DECIDED | change for change in changes or [{}]]})


@dataclass
class Outside:
    """A service that gives these answers in turn, and a clock that only waiting and answering move on.

    Args:
        answers: in turn; the last one again and again.
        takes: seconds that an answer takes.
    """

    answers: Sequence[Answer]
    takes: float = 0.0
    now: float = 0.0
    requests: list[httpx.Request] = field(default_factory=list)
    begun: list[float] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.begun.append(self.now)
        self.now += self.takes
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def client(self, **options: Any) -> Client:
        transport = httpx.MockTransport(self.answer)
        return Client(URL, SECRET, transport=transport, sleep=self.sleep, clock=lambda: self.now, **options)

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]

    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.requests]


def of(*answers: Answer, takes: float = 0.0) -> Outside:
    return Outside(answers, takes)


# --- what is asked, and what is answered ------------------------------------------------------------------------------


def test_decide_asks_and_reads() -> None:
    outside = of(decided())
    got = outside.client().decide("drinks", available=["tea", "mate"], propensities=True)
    tea, mate = ArmPropensity("tea", 0.75, 0.0), ArmPropensity("mate", 0.5, 0.25)
    assert got == Decision("7", 7, moment(1790000000.5), (tea, mate), 2, (tea,))
    assert got.names == ("tea", "mate")
    (request,) = outside.requests
    assert (request.method, str(request.url)) == ("POST", f"{URL}/v1/allocations/drinks/decisions")
    assert request.headers["Authorization"] == f"Bearer {SECRET}"
    assert request.headers["Content-Type"] == "application/json"
    assert outside.bodies() == [{"count": 1, "available": ["tea", "mate"], "propensities": True}]


def test_decide_many_takes_a_count_or_what_is_known_of_each_round() -> None:
    outside = of(decided({"id": "7"}, {"id": "8", "propensities": None}))
    client = outside.client()
    assert [one.id for one in client.decide_many("drinks", np.int64(2))] == ["7", "8"]
    client.decide_many("drinks", [Round(available=["tea"]), Round()])
    assert outside.bodies() == [
        {"count": 2, "propensities": False},
        {"rounds": [{"available": ["tea"]}, {}], "propensities": False},
    ]


def test_rewards_are_sent_and_read() -> None:
    outside = of(
        answer_of(200, {"results": [REPORTED, REPORTED | {"arm": "mate", "status": "accepted", "message": ""}]})
    )
    client = outside.client()
    rewards: dict[str, Any] = {"tea": 1.0, "mate": np.float32(0.5)}
    got = client.reward("drinks", "7", rewards)
    assert got == (
        RewardResult(decision="7", arm="tea", status="conflict", message="received a reward of 0 before"),
        RewardResult(decision="7", arm="mate", status="accepted", message=""),
    )
    assert [one.learned for one in got] == [False, True]
    client.reward_many("drinks", [("7", {"tea": 1}), ("8", {"mate": 0})])
    assert outside.bodies() == [
        {"rewards": [{"decision": "7", "rewards": {"tea": 1.0, "mate": 0.5}}]},
        {"rewards": [{"decision": "7", "rewards": {"tea": 1}}, {"decision": "8", "rewards": {"mate": 0}}]},
    ]


def test_total_asks_and_reads() -> None:
    outside = of(answer_of(200, {"round": 12, "status": "accepted"}))
    assert outside.client().total("drinks", 3.5, 12) == TotalResult(round=12, status="accepted")
    assert str(outside.requests[0].url) == f"{URL}/v1/allocations/drinks/totals"
    assert outside.bodies() == [{"value": 3.5, "round": 12}]


CHANGES: list[tuple[ChangeRecord, dict[str, Any]]] = [
    (AddArm("mate"), {"change": "add", "arm": "mate"}),
    (
        AddArm("iced tea/lemon", fraction=0.1, penalty=2.0, weight=0.0),
        {"change": "add", "arm": "iced tea/lemon", "fraction": 0.1, "penalty": 2.0, "weight": 0.0},
    ),
    (Retire("tea", reason="sold out"), {"change": "retire", "arm": "tea", "reason": "sold out"}),
    (Rename("tea", "Tee"), {"change": "rename", "arm": "tea", "new_name": "Tee"}),
    (Erase("tea"), {"change": "erase", "arm": "tea"}),
    (BringBack("tea"), {"change": "bring_back", "arm": "tea", "debt": "carry"}),
    (BringBack("tea", 0.5), {"change": "bring_back", "arm": "tea", "fraction": 0.5, "debt": "carry"}),
    (Promise({"tea": 0.25}), {"change": "promise", "fractions": {"tea": 0.25}, "debt": "carry"}),
    (Close(), {"change": "close"}),
    (Reopen(), {"change": "reopen"}),
]


@pytest.mark.parametrize(("change", "body"), CHANGES)
def test_changes_ask_and_read(change: ChangeRecord, body: dict[str, Any]) -> None:
    plan: dict[str, Any] = {
        "changed": True,
        "round": 7,
        "plays": 1,
        "promised": None,
        "arms": [],
        "groups": [],
        "begins": [],
    }
    outside = of(answer_of(200, CHANGED), answer_of(200, plan))
    client = outside.client()
    assert client.change("drinks", change, version=2) == ChangeResult(version=3, round=120, changed=True)
    assert client.plan("drinks", change) == Plan(True, 7, 1, None, (), (), ())
    assert [request.method for request in outside.requests] == ["POST", "POST"]
    paths = [request.url.raw_path.decode().removeprefix("/v1/allocations/drinks") for request in outside.requests]
    assert paths == ["/changes?version=2", "/changes?dry_run=true"]
    assert outside.bodies() == [body, body]
    changed, planned = (request.headers.get("Idempotency-Key") for request in outside.requests)
    assert changed is not None
    assert planned is None


def test_a_change_that_is_none() -> None:
    with pytest.raises(
        EvenhandError, match=r"must be a record of evenhand.changes, such as Retire\('tea'\), or its table"
    ):
        of().client().change("drinks", "close")  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"there is no change 'clos'; did you mean 'close'\?"):
        of().client().change("drinks", {"change": "clos"})


def test_a_change_by_its_table() -> None:
    outside = of(answer_of(200, CHANGED))
    outside.client().change("drinks", {"change": "promise", "fractions": {"tea": 0.2}})
    assert outside.bodies() == [Promise({"tea": 0.2}).to_json()]


def test_lists_are_read_page_by_page() -> None:
    arm = {"arm": "tea", "retired": False, "fraction": 0.5, "penalty": None, "weight": None, "cap": None, "rate": None}
    event = {
        "sequence": 1,
        "time": "2026-09-21T14:13:20.000000Z",
        "kind": "create",
        "round": None,
        "data": {"plays": 1},
        "key": None,
    }
    outside = of(
        answer_of(200, {"allocations": [SUMMARY], "next": "drinks"}),
        answer_of(200, {"allocations": [SUMMARY | {"name": "films"}], "next": None}),
        answer_of(200, {"arms": [arm], "next": "1"}),
        answer_of(200, {"arms": [arm | {"arm": "mate"}], "next": None}),
        answer_of(200, {"events": [event], "next": 1}),
        answer_of(200, {"events": [], "next": None}),
    )
    client = outside.client()
    assert [one.name for one in client.allocations()] == ["drinks", "films"]
    assert client.arms("drinks") == (Arm("tea", False, fraction=0.5), Arm("mate", False, fraction=0.5))
    assert list(client.events("drinks")) == [Event(1, moment(1790000000.0), "create", None, {"plays": 1}, None)]
    queries = [request.url.query.decode() for request in outside.requests]
    assert queries == [
        "limit=1000",
        "limit=1000&cursor=drinks",
        "limit=1000",
        "limit=1000&cursor=1",
        "after=0&limit=1000",
        "after=1&limit=1000",
    ]


@pytest.mark.parametrize(("status", "new"), [(201, True), (200, False)])
def test_create_returns_whether_it_is_new(status: int, new: bool) -> None:
    outside = of(answer_of(status, DESCRIPTION))
    shares = {"fractions": np.array([0.0, 0.25])}
    assert (
        outside.client().create(
            "drinks", ("tea", "mate"), "fucb", missing="never", parameters=shares, seed=3, rewards=(0, 5)
        )
        is new
    )
    assert outside.bodies() == [
        {
            "name": "drinks",
            "arms": ["tea", "mate"],
            "algorithm": "fucb",
            "parameters": {"fractions": [0.0, 0.25]},
            "plays": 1,
            "seed": 3,
            "window": None,
            "missing": "never",
            "rewards": [0, 5],
        }
    ]


def test_what_is_read_only() -> None:
    outside = of(
        answer_of(200, {"allocations": [SUMMARY], "next": None}),
        answer_of(200, DESCRIPTION),
        answer_of(200, {"open": False, "name": "reader", "scopes": ["read"], "allocations": None, "expires": None}),
    )
    client = outside.client()
    assert client.allocations() == (AllocationSummary(**SUMMARY | {"created": moment(1790000000.0)}),)
    assert client.describe("drinks") == Allocation(
        name="drinks",
        algorithm="fucb",
        arms=("tea", "mate"),
        retired=("mate",),
        parameters={"fractions": [0.0, 0.25]},
        plays=1,
        seed=2**62,
        window=None,
        missing="never",
        rewards=(0.0, 1.0),
        round=7,
        version=2,
        closed=True,
        created=moment(1790000000.0),
    )
    assert client.access() == AccessInfo(allocations=None, expires=None, open=False, name="reader", scopes=("read",))
    paths = ["/v1/allocations", "/v1/allocations/drinks", "/v1/access"]
    assert [(request.method, request.url.path) for request in outside.requests] == [("GET", path) for path in paths]


def test_audit_is_that_of_the_package() -> None:
    bandit = Bandit(["tea", "mate"], "fucb", fractions=[0.0, 0.25], window=2.5, missing="lost")
    for second in range(8):
        choice = bandit.decide(now=float(second))
        if second % 2:
            bandit.observe(choice.id, {choice.names[0]: 0.5}, now=second + 0.25)
    audit = bandit.audit(now=9.0)
    assert audit.delays is not None
    assert audit.deficit_history is not None
    outside = of(answer_of(200, audit.to_json()))
    got = outside.client().audit("drinks", limit=5)
    assert got == audit
    assert got.to_json() == audit.to_json()
    assert outside.requests[0].url.params == httpx.QueryParams({"limit": "5"})
    outside.client().audit("drinks")
    assert str(outside.requests[1].url) == f"{URL}/v1/allocations/drinks/audit"


def test_names_cannot_lead_elsewhere() -> None:
    outside = of(answer_of(200, DESCRIPTION))
    outside.client().describe("a/../b?c#d ü")
    assert outside.requests[0].url.raw_path == b"/v1/allocations/a%2F..%2Fb%3Fc%23d%20%C3%BC"
    for name in ("", ".", "..", "\udcff"):
        with pytest.raises(EvenhandError, match="the name of an allocation must be a string"):
            outside.client().describe(name)
    with pytest.raises(ServiceError, match="too long"):
        outside.client().describe("x" * 100_000)
    assert len(outside.requests) == 1


def test_service_below_a_path() -> None:
    outside = of(answer_of(200, {"allocations": [], "next": None}))
    transport = httpx.MockTransport(outside.answer)
    Client("https://example.test/evenhand/", transport=transport).allocations()
    assert str(outside.requests[0].url) == "https://example.test/evenhand/v1/allocations?limit=1000"


def test_one_pool_of_connections_is_closed_with_the_client() -> None:
    outside = of(answer_of(200, {"allocations": [], "next": None}))
    with outside.client() as client:
        client.allocations()
        client.allocations()
    with pytest.raises(RuntimeError, match="closed"):
        client.allocations()


# --- idempotency keys -------------------------------------------------------------------------------------------------

WRITES: list[Callable[..., Any]] = [
    lambda client, **key: client.decide("drinks", **key),
    lambda client, **key: client.decide_many("drinks", [Round()], **key),
    lambda client, **key: client.reward("drinks", "7", {"tea": 1.0}, **key),
    lambda client, **key: client.reward_many("drinks", [("7", {"tea": 1.0})], **key),
    lambda client, **key: client.total("drinks", 1.0, **key),
    lambda client, **key: client.change("drinks", Promise({"mate": 0.1}), **key),
]


@pytest.mark.parametrize("write", WRITES)
def test_key_is_kept_over_the_tries_of_a_call_and_fresh_for_the_next(write: Callable[..., Any]) -> None:
    outside = of(busy(), httpx.ConnectError("refused"), busy())
    client = outside.client(retries=2)
    for _ in range(2):
        with pytest.raises(Unavailable):
            write(client)
    keys = outside.keys()
    assert len(keys) == 6
    assert keys[0] == keys[1] == keys[2]
    assert keys[3] == keys[4] == keys[5]
    assert keys[0] != keys[3]
    assert {uuid.UUID(key).version for key in keys} == {4}
    assert len({request.content for request in outside.requests[:3]}) == 1


@pytest.mark.parametrize("write", WRITES)
def test_caller_may_give_the_key(write: Callable[..., Any]) -> None:
    outside = of(busy())
    with pytest.raises(Unavailable) as caught:
        write(outside.client(retries=1), idempotency_key="order-17")
    assert outside.keys() == ["order-17", "order-17"]
    assert caught.value.idempotency_key == "order-17"


def test_reading_has_no_key() -> None:
    outside = of(answer_of(200, {"allocations": [], "next": None}))
    outside.client().allocations()
    assert outside.keys() == [None]


@pytest.mark.parametrize("key", ["", "two words", "ü", "line\nbreak", "x" * 201])
def test_what_is_no_key_is_refused_before_anything_is_sent(key: str) -> None:
    outside = of(decided())
    with pytest.raises(EvenhandError, match="an idempotency key must"):
        outside.client().decide("drinks", idempotency_key=key)
    assert not outside.requests


# --- tries ------------------------------------------------------------------------------------------------------------

LOST = [
    httpx.ConnectError("refused"),
    httpx.ConnectTimeout("too slow"),
    httpx.ReadError("reset"),
    httpx.ReadTimeout("too slow"),
    httpx.WriteError("broken pipe"),
    httpx.WriteTimeout("too slow"),
    httpx.PoolTimeout("all in use"),
    httpx.RemoteProtocolError("disconnected without an answer"),
    httpx.ProxyError("no way"),
]


@pytest.mark.parametrize("failure", LOST, ids=lambda failure: type(failure).__name__)
def test_what_is_lost_on_the_way_is_sent_again(failure: Exception) -> None:
    outside = of(failure, failure, decided())
    assert outside.client().decide("drinks").id == "7"
    assert len(outside.requests) == 3


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("body", [b"", b"<html>a proxy</html>", b'{"code": "unavailable", "detail": "no"}'])
def test_busy_services_are_asked_again_whatever_they_say(status: int, body: bytes) -> None:
    outside = of(httpx.Response(status, content=body), decided())
    assert outside.client().decide("drinks").id == "7"
    assert len(outside.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 500, 501])
def test_other_errors_are_raised_at_once(status: int) -> None:
    outside = of(refusal(status, "some_code", "what is wrong", **{"Retry-After": "1"}))
    with pytest.raises(ServiceError, match=r"^what is wrong$") as caught:
        outside.client().decide("drinks")
    assert (caught.value.code, caught.value.status, caught.value.errors) == ("some_code", status, ())
    assert len(outside.requests) == 1
    assert outside.slept == []


def test_pauses_grow_and_differ_between_clients() -> None:
    pauses = []
    for _ in range(50):
        outside = of(busy())
        with pytest.raises(Unavailable):
            outside.client(retries=6, patience=1000.0).decide("drinks")
        pauses.append(outside.slept)
    # At random up to these; the largest of 50 exceeds half of it but for a chance of 2^-50.
    highest = np.max(pauses, axis=0)
    limits = np.array([0.2, 0.4, 0.8, 1.6, 3.2, 5.0])
    assert (highest <= limits).all()
    assert (highest > limits / 2).all()
    assert len({tuple(one) for one in pauses}) == 50


@pytest.mark.parametrize("ask", ["2", "3.5", "soon", "-4", "", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_services_are_left_alone_for_as_long_as_they_ask(ask: str) -> None:
    """Of what is no whole number of seconds, and no date to come, nothing is known."""
    outside = of(busy(**{"Retry-After": ask}), decided())
    outside.client().decide("drinks")
    (pause,) = outside.slept
    least = 2.0 if ask == "2" else 0.0
    assert least <= pause <= least + 0.2


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=2)), None], ids=str)
def test_services_may_ask_by_date(zone: timezone | None) -> None:
    when = datetime.now(UTC) + timedelta(seconds=100)
    header = format_datetime(when.astimezone(zone) if zone else when.replace(tzinfo=None))  # the latter is "-0000"
    outside = of(busy(**{"Retry-After": header}), decided())
    outside.client(patience=1000.0).decide("drinks")
    assert 90.0 < outside.slept[0] <= 100.2  # dates have whole seconds, and the test itself may be slow


@pytest.mark.parametrize("ask", ["30", "99999999999999999999", "9" * 400])
def test_who_asks_for_too_long_a_rest_is_not_waited_for(ask: str) -> None:
    outside = of(busy(**{"Retry-After": ask}))
    with pytest.raises(Unavailable, match="the patience of this client is 30 s"):
        outside.client(patience=30.0).decide("drinks")
    assert len(outside.requests) == 1
    assert outside.slept == []


def test_calls_end_in_time() -> None:
    outside = of(httpx.ReadTimeout("too slow"), takes=8.0)
    with pytest.raises(Unavailable) as caught:
        outside.client(timeout=8.0, retries=100, patience=30.0).decide("drinks")
    # Tries begin at 0, 8 and 16 s and a bit, and the fourth has what is left.
    assert caught.value.tries == len(outside.requests) == 4
    limits = [request.extensions["timeout"]["read"] for request in outside.requests]
    assert limits[:3] == [8.0, 8.0, 8.0]
    assert limits[3] == pytest.approx(30.0 - outside.begun[3])
    assert limits[3] < 8.0


def test_no_try_begins_when_the_time_is_over() -> None:
    outside = of(busy(), takes=30.0)
    with pytest.raises(Unavailable) as caught:
        outside.client(patience=30.0).decide("drinks")
    assert caught.value.tries == 1
    assert outside.slept == []


def test_last_error_says_what_was_tried_and_what_to_do() -> None:
    refused = httpx.ConnectError("[Errno 111] Connection refused")
    outside = of(httpx.ReadError("broken"), refused, takes=1.0)  # what was sent at first may have been done
    with pytest.raises(Unavailable) as caught:
        outside.client(retries=2).decide("drinks", idempotency_key="order-17")
    error = caught.value
    assert (error.code, error.status, error.tries, error.idempotency_key) == ("unavailable", None, 3, "order-17")
    assert error.seconds == outside.now
    for words in (
        f"POST {URL}/v1/allocations/drinks/decisions",
        f"in 3 tries and {error.seconds:.1f} s",
        "Connection refused",
        "evenhand serve",
        "order-17",
    ):
        assert words in str(error)


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), httpx.ConnectTimeout("too slow")])
def test_last_error_does_not_doubt_a_call_that_was_never_sent(failure: Exception) -> None:
    with pytest.raises(Unavailable, match="not sent, so nothing was changed") as caught:
        of(failure).client(retries=2).decide("drinks", idempotency_key="order-17")
    assert "is not known" not in str(caught.value)
    assert caught.value.idempotency_key == "order-17"


def test_a_refused_connection_fails_at_once_where_nothing_is_waited_for() -> None:
    outside = of(httpx.ConnectError("refused"))
    with pytest.raises(Unavailable, match=r"was not answered: no connection \(refused\)") as caught:
        outside.client(wait=False).decide("drinks")
    assert (caught.value.tries, outside.slept) == (1, [])


def test_without_waiting_an_answer_that_gets_lost_is_asked_for_again() -> None:
    outside = of(httpx.ReadError("broken"), busy(), decided())
    assert outside.client(wait=False).decide("drinks").names


def test_silence_is_noticed_once_and_an_answer_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Timer] = []

    class Timer:
        """A timer that never runs out by itself."""

        daemon = False

        def __init__(self, seconds: float, tell: Callable[[], object]) -> None:
            self.seconds, self.tell, self.state = seconds, tell, "new"
            timers.append(self)

        def start(self) -> None:
            self.state = "running"

        def cancel(self) -> None:
            self.state = "cancelled"

    monkeypatch.setattr(threading, "Timer", Timer)
    notices: list[float] = []
    outside = of(busy(), decided())
    states: list[str] = []
    answer = outside.answer

    def watched(request: httpx.Request) -> httpx.Response:
        states.append(timers[-1].state)
        return answer(request)

    client = Client(
        URL, transport=httpx.MockTransport(watched), sleep=outside.sleep, notice=lambda: notices.append(outside.now)
    )
    client.decide("drinks")
    assert (states, [timer.state for timer in timers]) == (["running", "running"], ["cancelled"])
    assert timers[0].seconds == 1.0
    timers[0].tell()
    assert len(notices) == 1


def test_what_is_said_twice_is_printed_once() -> None:
    detail = "index: unknown kind 'ubc'; did you mean 'ucb'?"
    twice = ServiceError(detail, "invalid", [Detail("body.algorithm.index", detail.removeprefix("index: "))], 422)
    assert str(twice) == detail
    place = Detail("body.rewards[1].reward", "must be a number")
    assert str(ServiceError("reward must be a number", "invalid", [place], 422)).endswith(f"\n{place}")


def test_last_error_has_what_the_service_said() -> None:
    outside = of(refusal(503, "unavailable", "the database cannot be reached"))
    with pytest.raises(
        Unavailable, match=r"was not answered: 503 Service Unavailable, the database cannot be reached"
    ) as caught:
        outside.client(retries=0).allocations()
    assert (caught.value.status, caught.value.idempotency_key) == (503, None)
    assert "dempotency" not in str(caught.value)


def test_interruption_is_no_failed_try() -> None:
    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Client(URL, transport=httpx.MockTransport(interrupted)).allocations()


# --- answers that break off, or make no sense -------------------------------------------------------------------------


class Broken(httpx.SyncByteStream):
    """Some bytes, and then no more, where more were announced."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


def broken(*pieces: bytes, kind: str = "application/json") -> httpx.Response:
    return httpx.Response(200, stream=Broken(*pieces), headers={"Content-Type": kind})


def test_answer_that_breaks_off_is_asked_for_again_with_the_same_key() -> None:
    outside = of(broken(b'{"decisions": [{"id": "'), decided())
    assert outside.client().decide("drinks").id == "7"
    first, second = outside.keys()
    assert first == second


def test_answer_that_drips_is_given_up() -> None:
    outside = of(decided())

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(100):
                outside.now += 9.0
                yield b" "

    outside.answers = [httpx.Response(200, stream=Dripping())]
    with pytest.raises(Unavailable, match="the answer began, but was not complete in time"):
        outside.client(timeout=10.0, patience=30.0).decide("drinks")
    assert outside.now == 45.0  # the first piece after 30 s comes at 36 s, and more than that is not listened to


def test_answer_that_is_there_is_taken_however_late() -> None:
    assert of(decided(), takes=100.0).client(patience=30.0).decide("drinks").id == "7"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "EOF"),
        (b'{"decisions": [{"id": "7", "rou', "EOF"),
        (b"<html><title>Welcome</title></html>", "Welcome"),
        (b"\xff\xfe", "�"),
        (b"null", "an object"),
        (b"[]", "an object"),
        (b"{}", "decisions"),
        (b'{"decisions": null}', "decisions"),
        (b'{"decisions": [7]}', "decisions.0"),
        (json.dumps({"decisions": [DECIDED | {"id": 7}]}).encode(), "decisions.0.id"),
        (json.dumps({"decisions": [DECIDED | {"round": "7"}]}).encode(), "decisions.0.round"),
        (json.dumps({"decisions": [DECIDED | {"round": 7.5}]}).encode(), "decisions.0.round"),
        (json.dumps({"decisions": [DECIDED | {"arms": "tea"}]}).encode(), "decisions.0.arms"),
        (json.dumps({"decisions": [DECIDED | {"time": 5}]}).encode(), "decisions.0.time"),
        (json.dumps({"decisions": [DECIDED | {"propensities": {"tea": 0.5}}]}).encode(), "decisions.0.propensities"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_answers_of_another_shape_are_refused_as_such(body: bytes, where: str) -> None:
    outside = of(httpx.Response(200, content=body))
    with pytest.raises(UnexpectedAnswer) as caught:
        outside.client().decide("drinks")
    message = str(caught.value)
    assert where in message
    assert "was answered with 200 OK, but not as an Evenhand service answers" in message
    assert len(message) < 1000
    assert (caught.value.code, caught.value.status, len(outside.requests)) == ("unexpected", 200, 1)


def test_fields_that_are_not_known_yet_do_no_harm() -> None:
    assert of(decided({"mood": "good"})).client().decide("drinks").id == "7"


@pytest.mark.parametrize("count", [0, 2])
def test_number_of_decisions_must_be_that_asked_for(count: int) -> None:
    with pytest.raises(UnexpectedAnswer, match=f"1 decisions were requested.*{count}"):
        of(answer_of(200, {"decisions": [DECIDED] * count})).client().decide("drinks")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(404, html="<h1>Not here</h1>"), "404 Not Found, .*Not here"),
        (httpx.Response(404), "404 Not Found, .*the answer is empty"),
        (httpx.Response(500, json={"detail": "oops"}), "500 Internal Server Error, .*oops"),
        (httpx.Response(400, json={"error": "oops"}), "400 Bad Request, .*oops"),
        (httpx.Response(499, json={"code": 7, "detail": "oops"}), "answered with 499, .*oops"),
        (httpx.Response(308, headers={"Location": "https://other.test/v1"}), "a redirect to https://other.test/v1"),
        (httpx.Response(304), "304 Not Modified"),
    ],
)
def test_errors_of_something_else_are_refused_as_such(answer: httpx.Response, words: str) -> None:
    outside = of(answer)
    with pytest.raises(UnexpectedAnswer, match=f"(?s){words}"):
        outside.client().decide("drinks")
    assert len(outside.requests) == 1


def test_answer_that_cannot_be_unpacked() -> None:
    def damaged(request: httpx.Request) -> httpx.Response:
        stream = httpx.ByteStream(b"no gzip")
        return httpx.Response(200, stream=stream, headers={"Content-Encoding": "gzip"})

    with pytest.raises(ServiceError, match="failed"):
        Client(URL, transport=httpx.MockTransport(damaged)).allocations()


def test_details_are_printed_once() -> None:
    details = [{"where": "body.plays", "message": "too few"}, {"where": "body.arms[1]", "message": "twice"}]
    problem = {"title": "No", "status": 422, "detail": "body.plays: too few (1 more)", "code": "invalid"}
    with pytest.raises(ServiceError) as caught:
        of(answer_of(422, problem | {"errors": details, "request_id": "r-1"})).client().allocations()
    assert caught.value.errors == (
        Detail(where="body.plays", message="too few"),
        Detail(where="body.arms[1]", message="twice"),
    )
    assert str(caught.value) == "body.plays: too few (1 more)\nbody.arms[1]: twice"
    assert caught.value.request_id == "r-1"


@pytest.mark.parametrize(
    "error",
    [
        ServiceError("no", "closed", [Detail(where="body", message="why")], 409),
        Unavailable("no", tries=3, seconds=2.5, idempotency_key="order-17"),
        UnexpectedAnswer("no", status=200),
    ],
)
def test_errors_pass_between_processes(error: ServiceError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


# --- what is refused before anything is sent --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host", "http://", "http://host:80a", "http://[::1", "http://host?a=b", 7, None]
)
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(EvenhandError, match="url must be the address of a service"):
        Client(url)


def test_passwords_in_addresses_are_refused_and_not_shown() -> None:
    with pytest.raises(EvenhandError, match="without a user name and a password") as caught:
        Client(f"http://user:{SECRET}@host")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"timeout": 0.0}, {"timeout": math.inf}, {"patience": -1.0}, {"retries": -1}, {"retries": 1.5}]
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(EvenhandError, match=next(iter(options))):
        Client(URL, **options)


def test_features_are_sent_in_their_plain_form() -> None:
    features = Features({"age": Number(0, 100), "new": Flag()})
    outside = of(answer_of(201, {}), answer_of(200, {}))
    client = outside.client()
    assert client.create("drinks", ["tea"], "lin_ucb", missing="never", features=features)
    assert not client.create("drinks", ["tea"], "lin_ucb", missing="never", features=features.to_json())
    assert [one["features"] for one in outside.bodies()] == [features.to_json()] * 2


def test_a_policy_is_sent_as_its_plain_form() -> None:
    outside = of(answer_of(201, {}), answer_of(201, {}))
    client, policy = outside.client(), fucb([0.1, 0.2])
    for form in (policy, plain(policy)):
        assert client.create("drinks", ["tea", "coffee"], form, missing="never")
    first, second = outside.bodies()
    assert first == second
    assert first["algorithm"]["fairness"] == {"kind": "deficit_first", "fractions": [0.1, 0.2], "tolerance": 0.0}


def test_what_json_cannot_say_is_refused() -> None:
    outside = of(decided())
    client = outside.client()
    with pytest.raises(EvenhandError, match="cannot be sent as JSON"):
        client.reward("drinks", "7", {"tea": math.nan})
    with pytest.raises(EvenhandError, match="JSON has no Client"):
        client.create("drinks", ["tea"], "ucb1", missing="never", parameters={"what": client})
    with pytest.raises(EvenhandError, match=r"JSON: .*:Unregistered is not registered: decorate it with"):
        client.create("drinks", ["tea"], attrs.make_class("Unregistered", ["size"])(1), missing="never")
    with pytest.raises(EvenhandError, match="features must be Features or their plain form, a table, got"):
        client.create("drinks", ["tea"], "ucb1", missing="never", features=["age"])
    with pytest.raises(EvenhandError, match="cannot be sent as JSON"):
        client.reward("drinks", "7", {"\udcff": 1.0})
    with pytest.raises(EvenhandError, match=r"JSON: rounds\.1\.features\.age is nan; leave out what is missing"):
        client.decide_many("drinks", rounds=[Round({"age": 1.0}), Round({"age": math.nan})])
    with pytest.raises(EvenhandError, match="'tea'"):
        client.decide("drinks", available="tea")
    wrong: Any = ["tea"]
    with pytest.raises(EvenhandError, match=r"features must be a table .*arms that can play are given as available="):
        client.decide("drinks", wrong)
    with pytest.raises(EvenhandError, match="a round must be a Round"):
        client.decide_many("drinks", [wrong])
    with pytest.raises(EvenhandError, match="not both"):
        client.decide_many("drinks", [Round()], available=["tea"])
    assert not outside.requests


# --- the key is a secret ----------------------------------------------------------------------------------------------


def test_rewards_and_shares_must_be_by_arm() -> None:
    wrong: Any = ("tea", 1)
    outside = of(decided())
    with pytest.raises(EvenhandError, match=r"rewards must be a mapping .* such as \{'tea': 1.0\}, got \('tea', 1\)"):
        outside.client().reward("drinks", "1", wrong)
    with pytest.raises(EvenhandError, match="fractions must be a mapping"):
        Promise(wrong)
    assert outside.requests == []


def test_key_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for answer in (httpx.ConnectError("refused"), busy(), refusal(401, "unauthenticated", "no such key")):
            client = of(answer).client(retries=1)
            with pytest.raises(ServiceError) as caught:
                client.decide("drinks")
            shown = [caught.value, caught.value.__cause__, caught.value.__context__, client, vars(client)]
            assert SECRET not in " ".join(map(repr, [*shown, str(caught.value), vars(caught.value)]))
    assert "HTTP Request: POST" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("key", ["", "two words", f"{SECRET}\nX-More: 1", f"{SECRET}ü", 7])
def test_what_is_no_api_key_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(EvenhandError, match="the API key must be") as caught:
        Client(URL, key)
    assert SECRET not in str(caught.value)


def test_white_space_around_a_key_is_no_part_of_it() -> None:
    outside = of(answer_of(200, {"allocations": [], "next": None}))
    Client(URL, f" {SECRET}\n", transport=httpx.MockTransport(outside.answer)).allocations()
    assert outside.requests[0].headers["Authorization"] == f"Bearer {SECRET}"


# --- the log ----------------------------------------------------------------------------------------------------------

CSV = "text/csv; charset=utf-8"


def test_a_client_for_threads_also_works_while_an_event_loop_runs(tmp_path: Path) -> None:
    answers = [httpx.Response(503), httpx.Response(200, json={"decisions": [DECIDED]}), httpx.Response(200, text="a,b")]
    answers[2].headers["Content-Type"] = "text/csv; charset=utf-8"

    async def main() -> str:
        transport = httpx.MockTransport(lambda _: answers.pop(0))
        with Client(URL, transport=transport, sleep=lambda _: None) as client:
            id = client.decide("drinks").id
            client.log("drinks", tmp_path / "log.csv")
            return id

    assert asyncio.run(main()) == "7"
    assert (tmp_path / "log.csv").read_text() == "a,b"


def test_what_waits_is_refused_by_a_client_for_threads() -> None:
    async def later(seconds: float) -> None:
        await asyncio.sleep(seconds)

    transport = httpx.MockTransport(lambda _: httpx.Response(503))
    with Client(URL, transport=transport, sleep=later) as client, pytest.raises(RuntimeError):  # type: ignore[arg-type]
        client.access()


def test_log_is_streamed_to_a_file(tmp_path: Path) -> None:
    outside = of(httpx.Response(200, content=iter([b"a,b\n", b"1,2\n"]), headers={"Content-Type": CSV}))
    outside.client().log("drinks", tmp_path / "log.CSV", since=3, until=9, estimate=True)
    assert (tmp_path / "log.CSV").read_bytes() == b"a,b\n1,2\n"
    assert str(outside.requests[0].url.copy_with(query=None)) == f"{URL}/v1/allocations/drinks/log"
    query = {"format": "csv", "since": "3", "until": "9", "estimate": "true"}
    assert outside.requests[0].url.params == httpx.QueryParams(query)


def test_a_report_is_downloaded_to_a_file(tmp_path: Path) -> None:
    page = httpx.Response(200, content=b"<p>kept</p>", headers={"Content-Type": "text/html; charset=utf-8"})
    outside = of(page)
    outside.client().save_report("drinks", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == b"<p>kept</p>"
    assert str(outside.requests[0].url) == f"{URL}/v1/allocations/drinks/report"
    with pytest.raises(DataError, match="the report could not be written to"):
        outside.client().save_report("drinks", tmp_path / "nowhere" / "report.html")


def test_log_that_breaks_off_is_downloaded_again(tmp_path: Path) -> None:
    whole = httpx.Response(200, content=b"PAR1", headers={"Content-Type": "application/vnd.apache.parquet"})
    outside = of(broken(b"PAR1 and much more", kind="application/vnd.apache.parquet"), whole)
    outside.client().log("drinks", str(tmp_path / "log.parquet"))
    assert (tmp_path / "log.parquet").read_bytes() == b"PAR1"


@pytest.mark.parametrize(
    "answer",
    [
        broken(b"a,b\n", kind=CSV),
        refusal(404, "unknown_allocation", "there is no allocation 'drinks'"),
        httpx.Response(200, html="<p>Please log in</p>"),
    ],
)
def test_log_is_written_whole_or_not_at_all(answer: httpx.Response, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("as it was")
    with pytest.raises(ServiceError):
        of(answer).client(retries=0).log("drinks", tmp_path / "log.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
    assert (tmp_path / "log.csv").read_text() == "as it was"


def test_log_may_take_longer_than_a_call(tmp_path: Path) -> None:
    outside = of(decided())

    def slowly() -> Iterator[bytes]:
        for _ in range(100):
            outside.now += 9.0
            yield b"1,2\n"

    outside.answers = [httpx.Response(200, content=slowly(), headers={"Content-Type": CSV})]
    outside.client(patience=30.0).log("drinks", tmp_path / "log.csv")
    assert (tmp_path / "log.csv").stat().st_size == 400


def test_log_needs_a_place_and_a_form(tmp_path: Path) -> None:
    outside = of(decided())
    with pytest.raises(DataError, match=r"must end in \.csv or \.parquet"):
        outside.client().log("drinks", tmp_path / "log.txt")
    with pytest.raises(DataError, match="could not be written to"):
        outside.client().log("drinks", tmp_path / "nowhere" / "log.csv")
    assert not outside.requests
