"""Every answer has the fields that its description has, and no others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import httpx
import jsonschema_rs
import pytest

from evenhand.service.http.app import ROUTERS
from evenhand.service.http.dependencies import KeyRoute
from evenhand.service.store import Store
from tests.service.http.asking import DRINKS, Asking

ALL, ONE = "/v1/allocations", "/v1/allocations/drinks"
ROUTE = f"{ALL}/{{name}}"


def requests(ask: Asking) -> dict[tuple[str, str], list[Callable[[], httpx.Response]]]:
    """Requests to every route, by method and path, in the order in which they are made."""
    rewards = [{"decision": "1", "rewards": {"tea": 1.0, "coffee": 0.0}}, {"decision": "99", "rewards": {"tea": 7.0}}]
    tea = {"tea": {"positions": [0], "values": [1.0]}}
    limits = DRINKS | {"name": "films", "algorithm": "ars_ucb", "parameters": {}}
    return {
        ("post", ALL): [
            lambda: ask.post(f"{ALL}?dry_run=true", DRINKS),
            lambda: ask.post(ALL, DRINKS),
            lambda: ask.post(ALL, DRINKS),
            lambda: ask.post(ALL, limits),
            lambda: ask.post(ALL, {}),
            lambda: ask.post(ALL, DRINKS | {"plays": 2}),
        ],
        ("post", f"{ROUTE}/decisions"): [
            lambda: ask.post(f"{ONE}/decisions", {}),
            lambda: ask.post(f"{ONE}/decisions", {"rounds": [{"available": ["tea"]}, {}], "propensities": True}),
            lambda: ask.post(f"{ONE}/decisions", {"available": ["mate"]}),
            lambda: ask.post(f"{ALL}/films/decisions", {}),
        ],
        ("post", f"{ROUTE}/leases"): [
            lambda: ask.post(f"{ONE}/leases", {"decisions": 10}),
            lambda: ask.post(f"{ONE}/leases", {"decisions": 10, "units": True, "available": ["tea"]}),
            lambda: ask.post(f"{ONE}/leases", {"decisions": 0}),
        ],
        ("post", f"{ROUTE}/leases/{{id}}/reports"): [
            lambda: ask.post(f"{ONE}/leases/4/reports", {"played": 2}),
            lambda: ask.post(f"{ONE}/leases/14/reports", {"played": 1, "columns": [3], "rewards": tea}),
            lambda: ask.post(f"{ONE}/leases/14/reports", {"played": 1, "finished": True}),
            lambda: ask.post(f"{ONE}/leases/14/reports", {"played": 2, "columns": [4]}),
            lambda: ask.post(f"{ONE}/leases/99/reports", {"played": 2}),
        ],
        ("post", f"{ROUTE}/rewards"): [lambda: ask.post(f"{ONE}/rewards", {"rewards": rewards})],
        ("post", f"{ROUTE}/totals"): [
            lambda: ask.post(f"{ALL}/films/totals", {"value": 1.0}),
            lambda: ask.post(f"{ALL}/films/totals", {"value": 1.0, "round": 9}),
        ],
        ("put", f"{ROUTE}/arms/{{arm}}"): [
            lambda: ask.put(f"{ONE}/arms/mate", {}),
            lambda: ask.put(f"{ONE}/arms/mate", {}),
            lambda: ask.put(f"{ONE}/arms/mate", {"fraction": 0.1}),
        ],
        ("delete", f"{ROUTE}/arms/{{arm}}"): [
            lambda: ask("DELETE", f"{ONE}/arms/mate"),
            lambda: ask("DELETE", f"{ONE}/arms/mate"),
        ],
        ("post", f"{ROUTE}/webhooks"): [
            lambda: ask.post(f"{ONE}/webhooks", {"url": "https://example.org/hook", "kinds": ["decide"]}),
            lambda: ask.post(f"{ONE}/webhooks", {"url": "http://example.org/hook"}),
            lambda: ask.post(f"{ONE}/webhooks", {"url": "https://example.org/hook", "kinds": ["sleep"]}),
        ],
        ("get", f"{ROUTE}/webhooks"): [lambda: ask.get(f"{ONE}/webhooks")],
        ("delete", f"{ROUTE}/webhooks/{{id}}"): [
            lambda: ask("DELETE", f"{ONE}/webhooks/{ask.get(f'{ONE}/webhooks').json()['webhooks'][0]['id']}"),
            lambda: ask("DELETE", f"{ONE}/webhooks/none"),
        ],
        ("post", f"{ROUTE}/changes"): [
            lambda: ask.post(f"{ONE}/changes", {"change": "retire", "arm": "mate"}),
            lambda: ask.post(f"{ONE}/changes", {"change": "retire", "arm": "water"}),
            lambda: ask.post(f"{ONE}/changes?dry_run=true", {"change": "promise", "fractions": {"coffee": 0.3}}),
            lambda: ask.post(f"{ONE}/changes", {"change": "promise", "fractions": {"coffee": 0.2}}),
            lambda: ask.post(f"{ONE}/changes", {"change": "promise", "fractions": {"coffee": 0.3}}),
        ],
        ("get", f"{ROUTE}/arms"): [lambda: ask.get(f"{ONE}/arms"), lambda: ask.get(f"{ONE}/arms?limit=1")],
        ("get", f"{ROUTE}/events"): [lambda: ask.get(f"{ONE}/events"), lambda: ask.get(f"{ONE}/events?limit=1")],
        ("get", f"{ROUTE}/decisions/{{id}}"): [
            lambda: ask.get(f"{ONE}/decisions/1"),
            lambda: ask.get(f"{ALL}/films/decisions/1"),
            lambda: ask.get(f"{ONE}/decisions/99"),
        ],
        ("get", ALL): [lambda: ask.get(ALL)],
        ("get", ROUTE): [lambda: ask.get(ONE), lambda: ask.get(f"{ALL}/none")],
        ("get", f"{ROUTE}/audit"): [lambda: ask.get(f"{ONE}/audit"), lambda: ask.get(f"{ALL}/films/audit?limit=1")],
        ("get", f"{ROUTE}/differences"): [
            lambda: ask.get(f"{ONE}/differences?control=tea&assume=lost%20independently&confidence=0.9"),
            lambda: ask.get(f"{ALL}/films/differences"),
            lambda: ask.get(f"{ONE}/differences?control=none"),
            lambda: ask.get(f"{ONE}/differences?month=2026-13"),
            lambda: ask.get(f"{ONE}/differences?assume=nothing"),
        ],
        ("get", f"{ROUTE}/stopping"): [
            lambda: ask.get(f"{ONE}/stopping?delta=0.1&epsilon=0.05&best=promises"),
            lambda: ask.get(f"{ALL}/films/stopping?best=1"),
            lambda: ask.get(f"{ONE}/stopping?delta=1"),
            lambda: ask.get(f"{ONE}/stopping?best=9"),
        ],
        ("post", "/v1/price"): [
            lambda: ask.post("/v1/price", {"log": "time,item,click\n1,tea,1\n2,mate,0\n", "promises": [0.1, 0.2]}),
            lambda: ask.post("/v1/price", {"log": "time,item,click\n1,tea,1\n2,mate,0\n", "promises": [0.9]}),
            lambda: ask.post("/v1/price", {"log": "time,item,euros\n1,tea,1\n"}),
        ],
        ("get", f"{ROUTE}/price"): [
            lambda: ask.get(f"{ONE}/price?promise=0.1,20%"),
            lambda: ask.get(f"{ONE}/price?promise=5%25,1.5"),
            lambda: ask.get(f"{ONE}/price?promise=10"),
            lambda: ask.get(f"{ALL}/none/price"),
        ],
        ("get", f"{ROUTE}/log"): [lambda: ask.get(f"{ONE}/log")],
        ("get", f"{ROUTE}/audit.csv"): [lambda: ask.get(f"{ONE}/audit.csv"), lambda: ask.get(f"{ALL}/none/audit.csv")],
        ("get", f"{ROUTE}/audit.svg"): [lambda: ask.get(f"{ONE}/audit.svg"), lambda: ask.get(f"{ALL}/none/audit.svg")],
        ("get", f"{ROUTE}/report"): [lambda: ask.get(f"{ONE}/report"), lambda: ask.get(f"{ALL}/none/report")],
        ("get", "/v1/algorithms"): [lambda: ask.get("/v1/algorithms")],
        ("get", "/v1/access"): [lambda: ask.get("/v1/access")],
        ("get", "/healthz"): [lambda: ask.get("/healthz")],
        ("get", "/readyz"): [lambda: ask.get("/readyz")],
        ("get", "/metrics"): [lambda: ask.get("/metrics")],
    }


def closed(description: dict[str, Any]) -> dict[str, Any]:
    """The description with all objects that have named fields closed: no other fields are allowed."""
    description = copy.deepcopy(description)
    for schema in description["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return description


def faults(description: dict[str, Any], method: str, path: str, answer: httpx.Response) -> list[str]:
    """What of an answer is not as described."""
    told = description["paths"][path][method]["responses"][str(answer.status_code)]
    kind = answer.headers["content-type"]
    if kind not in ("application/json", "application/problem+json"):
        return []
    schema = told["content"][kind]["schema"] | {"components": description["components"]}
    return [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(answer.json())]


def test_no_answer_has_a_field_that_its_description_lacks(ask: Asking) -> None:
    description = closed(ask.app.openapi())
    made = requests(ask)
    assert set(made) == {(method, path) for path, methods in description["paths"].items() for method in methods}
    for (method, path), sent in made.items():
        for send in sent:
            assert faults(description, method, path, send()) == [], (method, path)


@pytest.mark.parametrize("path", [ONE, f"{ONE}/audit"])
def test_such_a_field_is_found(drinks: Asking, path: str) -> None:
    answer = drinks.get(path)
    more = httpx.Response(200, json=answer.json() | {"more": 1})
    where = path.replace("/drinks", "/{name}")
    assert len(faults(closed(drinks.app.openapi()), "get", where, more)) == 1


def test_repetitions_are_counted_once(store: Store, drinks: Asking) -> None:
    """Five requests with one key are one decision, and their rewards are one reward."""
    key = {"Idempotency-Key": "order-17"}
    told = {"rewards": [{"decision": "1", "rewards": {"tea": 1.0}}]}
    for _ in range(5):
        drinks.post(f"{ONE}/decisions", {}, headers=key)
    for _ in range(5):
        drinks.post(f"{ONE}/rewards", told, headers={"Idempotency-Key": "reward-17"})
    text = drinks.get("/metrics").text
    assert "evenhand_decisions_total 1.0" in text
    assert 'evenhand_rewards_total{status="accepted"} 1.0' in text


def test_a_repetition_is_recognised_by_the_request_as_received(drinks: Asking) -> None:
    """Not by Python's values: the order of names and the form of whole numbers are no difference, a field more is."""
    key = {"Idempotency-Key": "order-17", "Content-Type": "application/json"}
    bodies = [b'{"count": 2, "available": ["tea"]}', b'{ "available":["tea"],"count":2}']
    first, again = (drinks("POST", f"{ONE}/decisions", content=body, headers=key) for body in bodies)
    assert (first.status_code, again.json()) == (200, first.json())
    for body in (b'{"count": 3, "available": ["tea"]}', b'{"count": 2, "available": ["tea"], "propensities": false}'):
        other = drinks("POST", f"{ONE}/decisions", content=body, headers=key)
        assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert drinks("POST", f"{ONE}/totals", content=bodies[0], headers=key).status_code == 422
    assert drinks.get(ONE).json()["round"] == 2


def test_rewards_in_euros(ask: Asking) -> None:
    """The range of the request is the unit of answers; a reward outside it is invalid, and learned from is none."""
    shop = {
        "name": "shop",
        "arms": ["dear", "cheap"],
        "missing": "never",
        "algorithm": "ucb1",
        "rewards": [1.2, 18],
        "seed": 1,
    }
    assert ask.post(ALL, shop).json()["rewards"] == [1.2, 18.0]
    ask.post(f"{ALL}/shop/decisions", {"count": 2})
    rewards = [{"decision": "1", "rewards": {"dear": 17.4}}, {"decision": "2", "rewards": {"cheap": 20}}]
    results = ask.post(f"{ALL}/shop/rewards", {"rewards": rewards}).json()["results"]
    assert [result["status"] for result in results] == ["accepted", "invalid"]
    assert results[1]["message"] == "the reward of 'cheap' must be in [1.2, 18], got 20"
    dear, cheap = ask.get(f"{ALL}/shop/audit").json()["lines"]
    assert (dear["estimate"], cheap["estimate"]) == (17.4, None)
    assert 1.2 <= dear["low"] <= 17.4 <= dear["high"] <= 18.0


@pytest.mark.parametrize(
    ("options", "fault"),
    [({"window": 60}, "missing='never' is without a window"), ({"missing": "zero"}, "needs a window")],
)
def test_what_a_missing_reward_means_must_be_said(ask: Asking, options: dict[str, Any], fault: str) -> None:
    answer = ask.post(ALL, DRINKS | options)
    assert answer.status_code == 422
    assert fault in answer.json()["detail"]


def test_a_start_makes_no_descriptions_of_answers() -> None:
    """They take a tenth of it, and only a description of the API shows them."""
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, KeyRoute):
                assert (route.response_field, route.response_fields) == (None, {}), route.path
