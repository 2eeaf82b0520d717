"""The asynchronous client: the same requests, answers and retries as those of the client."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenhand.changes import AddArm, Promise
from evenhand.client import AsyncClient, Client, ServiceError, Unavailable
from evenhand.client.leases import LeasedDecisions
from evenhand.core.errors import DataError, EvenhandError
from evenhand.messages.requests import Round
from tests.client.test_client import (
    CHANGED,
    DECIDED,
    DESCRIPTION,
    REPORTED,
    SECRET,
    SUMMARY,
    URL,
    Outside,
    answer_of,
    busy,
    decided,
    of,
    refusal,
)

WEBHOOK = {
    **{
        "id": "6f",
        "url": "https://example.org",
        "kinds": None,
        "sequence": 1,
        "created": "2026-01-01T00:00:00.000000Z",
    },
    **{"failing": None, "disabled": None, "error": None, "secret": None},
}
ARM = {"arm": "tea", "retired": False, "fraction": 0.5, "penalty": None, "weight": None, "cap": None, "rate": None}
PLAN = {
    **{"changed": True, "round": 7, "plays": 1, "promised": 0.5, "arms": [ARM]},
    **{"groups": [{"name": "hot", "arms": ["tea"], "at_least": 0.5, "at_most": None}], "begins": ["tea"]},
}
OUTCOME = {"id": "7", "round": 7, "time": DECIDED["time"], "arms": [], "available": ["tea"]}
LEASED_ARMS = [{"arm": "tea", "count": 2, "propensity": 2 / 3}, {"arm": "mate", "count": 1, "propensity": 1 / 3}]
LEASE = {
    **{"id": "L1", "round": 5, "decisions": 3, "plays": 1, "arms": LEASED_ARMS, "start": 1, "step": 2, "salt": None},
    **{"seconds": 60.0, "expires": DECIDED["time"], "report_by": DECIDED["time"], "version": 0},
}
LEASE_REPORT = {
    **{"id": "L1", "played": 1, "returned": True, "added": 1},
    **{"accepted": 0, "duplicate": 0, "late": 0},
}
STOPPING = {
    **{"stop": True, "candidates": ["tea"], "chosen": ["tea"], "epsilon_now": 0.0, "rounds": [0, None]},
    **{"claim": "holds_if", "premises": ["no reward is below 0"], "sentences": ["Yes: tea is the best arm."]},
}
INTERVAL = {"low": -1.0, "high": 0.5, "confidence": 0.95, "claim": "holds", "premises": []}
DIFFERENCE = {"first": "tea", "second": "coffee", "value": -0.25, "interval": INTERVAL, "verdict": "undecided"}
DIFFERENCES = {
    **{"of": "arms", "control": "coffee", "month": None, "assume": None, "since": "2026-09-21T14:13:20.000000Z"},
    **{"differences": [DIFFERENCE], "sentences": ["Whether tea or coffee earns more is undecided."]},
}
ACCESS = {"open": False, "name": "reader", "scopes": ["read"], "allocations": None, "expires": None}

PARAMETER = {"name": "fractions", "type": "per_arm", "required": True, "default": None, "description": "promised share"}
ALGORITHM = {
    **{
        "name": "fucb",
        "summary": "FUCB",
        "promises": "share",
        "promise": "its share",
        "made_for": {"dependent": {"evidence": "optimistic"}},
    },
    **{"parameters": [PARAMETER], "by_features": False},
}

Ask = Callable[[Any], Any]


def drawn() -> LeasedDecisions:
    """A lease of which one decision was drawn."""
    leased = of(answer_of(200, LEASE)).client().lease("drinks", 3)
    leased.draw()
    return leased


CALLS: list[tuple[str, Ask, list[Any]]] = [
    ("create", lambda c: c.create("drinks", ["tea"], "ucb1", missing="never", seed=3), [DESCRIPTION]),
    ("create", lambda c: c.create("drinks", ["tea"], "ucb1", missing="never", dry_run=True), [PLAN]),
    (
        "allocations",
        lambda c: c.allocations(),
        [{"allocations": [SUMMARY], "next": "drinks"}, {"allocations": [SUMMARY], "next": None}],
    ),
    ("describe", lambda c: c.describe("drinks"), [DESCRIPTION]),
    ("arms", lambda c: c.arms("drinks"), [{"arms": [ARM], "next": "1"}, {"arms": [ARM], "next": None}]),
    ("decide", lambda c: c.decide("drinks", available=["tea"], idempotency_key="a"), [{"decisions": [DECIDED]}]),
    (
        "decide_many",
        lambda c: c.decide_many("drinks", [Round(available=["tea"]), Round()], idempotency_key="a"),
        [{"decisions": [DECIDED] * 2}],
    ),
    ("decision", lambda c: c.decision("drinks", "7"), [OUTCOME]),
    ("reward", lambda c: c.reward("drinks", "7", {"tea": 1.0}, idempotency_key="a"), [{"results": [REPORTED]}]),
    (
        "reward_many",
        lambda c: c.reward_many("drinks", [("7", {"tea": 1.0})], idempotency_key="a"),
        [{"results": [REPORTED]}],
    ),
    ("report_by_id", lambda c: c.report_by_id("drinks", "2", 1, rewards={"tea": {0: 1.0}}), [LEASE_REPORT]),
    ("report", lambda c: c.report("drinks", drawn(), finished=True), [LEASE_REPORT]),
    ("total", lambda c: c.total("drinks", 3.5, 12, idempotency_key="a"), [{"round": 12, "status": "accepted"}]),
    (
        "change",
        lambda c: c.change("drinks", AddArm("mate", fraction=0.1), version=3, idempotency_key="a"),
        [CHANGED],
    ),
    ("plan", lambda c: c.plan("drinks", Promise({"tea": 0.2}, reason="as agreed")), [PLAN]),
    ("add_webhook", lambda c: c.add_webhook("drinks", "https://example.org", kinds=["decide"]), [WEBHOOK]),
    ("webhooks", lambda c: c.webhooks("drinks"), [{"webhooks": [WEBHOOK]}]),
    ("remove_webhook", lambda c: c.remove_webhook("drinks", "6f"), [WEBHOOK]),
    ("differences", lambda c: c.differences("drinks", "coffee", month="2026-09"), [DIFFERENCES]),
    ("stopping", lambda c: c.stopping("drinks", 0.1, best="promises"), [STOPPING]),
    ("access", lambda c: c.access(), [ACCESS]),
    ("algorithms", lambda c: c.algorithms(), [{"algorithms": [ALGORITHM]}]),
]


def asynchronous(outside: Outside, **options: Any) -> AsyncClient:
    async def sleep(seconds: float) -> None:
        outside.sleep(seconds)

    transport = httpx.MockTransport(outside.answer)
    return AsyncClient(URL, SECRET, transport=transport, sleep=sleep, clock=lambda: outside.now, **options)


def run(outside: Outside, ask: Callable[[AsyncClient], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with asynchronous(outside, **options) as client:
            return await ask(client)

    return asyncio.run(main())


@pytest.mark.parametrize(("name", "ask", "bodies"), CALLS)
def test_same_requests_and_answers(name: str, ask: Ask, bodies: list[Any]) -> None:
    first, second = (of(*(answer_of(200, body) for body in bodies)) for _ in range(2))
    assert run(second, ask) == ask(first.client())
    assert len(first.requests) == len(bodies)
    for one, other in zip(first.requests, second.requests, strict=True):
        assert (one.method, one.url, one.content) == (other.method, other.url, other.content)
        assert list(one.headers.raw) == list(other.headers.raw)


def test_a_lease_is_the_same() -> None:
    first, second = (of(answer_of(200, LEASE)) for _ in range(2))
    synchronous = first.client().lease("drinks", 3, idempotency_key="a")
    other = run(second, lambda client: client.lease("drinks", 3, idempotency_key="a"))
    assert synchronous.lease == other.lease
    assert [synchronous.draw().names for _ in range(3)] == [other.draw().names for _ in range(3)]
    assert first.requests[0].content == second.requests[0].content


def test_every_method_is_there_and_described() -> None:
    def methods(kind: type) -> dict[str, Any]:
        return {name: member for name, member in vars(kind).items() if not name.startswith("_")}

    synchronous, others = methods(Client), methods(AsyncClient)
    assert list(synchronous) == list(others)
    own = {"close", "audit", "events", "lease", "log", "price", "save_report"}
    assert {name for name, *_ in CALLS} == synchronous.keys() - own
    for name, method in synchronous.items():
        assert list(inspect.signature(method).parameters) == list(inspect.signature(others[name]).parameters)
        assert method.__doc__
    assert str(inspect.signature(Client.describe)) == "(self, name: 'str') -> 'Allocation'"
    parameters = ["name", "record", "version", "idempotency_key"]
    assert list(inspect.signature(Client(URL).change).parameters) == parameters
    assert all(inspect.iscoroutinefunction(others[name]) for name, *_ in CALLS)


def test_tries_have_one_key_and_wait_as_asked() -> None:
    outside = of(busy(**{"Retry-After": "7"}), httpx.ConnectError("refused"), decided())
    assert run(outside, lambda client: client.decide("drinks")).id == "7"
    assert len(set(outside.keys())) == 1
    assert outside.keys()[0] is not None
    first, second = outside.slept
    assert 7.0 <= first <= 7.2
    assert second <= 0.4


def test_errors_are_those_of_the_client() -> None:
    with pytest.raises(Unavailable, match="3 tries") as caught:
        run(of(busy()), lambda client: client.decide("drinks", idempotency_key="order-17"), retries=2)
    assert (caught.value.tries, caught.value.idempotency_key) == (3, "order-17")
    with pytest.raises(ServiceError, match="decides no more") as refused:
        run(of(refusal(409, "closed", "it decides no more")), lambda client: client.decide("drinks"))
    assert (refused.value.code, refused.value.status) == ("closed", 409)
    with pytest.raises(EvenhandError, match="must be a list of arms"):
        run(of(decided()), lambda client: client.decide("drinks", available="tea"))


def test_events_go_through_all_pages() -> None:
    event = {"sequence": 1, "time": DECIDED["time"], "kind": "create", "round": None, "data": {}, "key": None}
    outside = of(
        answer_of(200, {"events": [event, event | {"sequence": 2}], "next": 2}),
        answer_of(200, {"events": [event | {"sequence": 3}], "next": None}),
    )

    async def sequences(client: AsyncClient) -> list[int]:
        return [one.sequence async for one in client.events("drinks")]

    assert run(outside, sequences) == [1, 2, 3]
    assert [request.url.params["after"] for request in outside.requests] == ["0", "2"]


def test_log_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def log(content: bytes) -> httpx.Response:
        return httpx.Response(200, content=content, headers={"Content-Type": "text/csv; charset=utf-8"})

    path = tmp_path / "log.csv"
    run(of(busy(), log(b"round\n1\n")), lambda client: client.log("drinks", path))
    assert path.read_bytes() == b"round\n1\n"
    with pytest.raises(ServiceError):
        run(of(answer_of(200, {})), lambda client: client.log("drinks", path))
    with pytest.raises(DataError, match=r"\.csv or \.parquet"):
        run(of(log(b"")), lambda client: client.log("drinks", tmp_path / "log.txt"))
    assert [file.name for file in tmp_path.iterdir()] == ["log.csv"]
    assert path.read_bytes() == b"round\n1\n"
