"""A request with `dry_run` writes nothing, and answers what the same request without it would do."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.service.store import Decide, Store
from evenhand.service.store.api_keys import SCOPES
from tests.service.http.asking import DRINKS, Asking, refused

ALL, ONE = "/v1/allocations", "/v1/allocations/drinks"
DRY = {"dry_run": "true"}
GROUPED = {
    **DRINKS,
    "algorithm": "group_ucb",
    "parameters": {
        "fractions": {"coffee": 0.2},
        "groups": [{"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.4}],
    },
}
#: Changes of an allocation that are accepted: the path after it, the method, and the body.
CHANGES = [
    (DRINKS, "PATCH", "", {"fractions": {"coffee": 0.5}}, ["coffee"]),
    (DRINKS, "PATCH", "", {"fractions": {"coffee": 0.2}, "closed": True}, []),
    (DRINKS, "PATCH", "", {"closed": False}, []),
    (DRINKS, "PUT", "/arms/mate", {"fraction": 0.1}, ["mate"]),
    (DRINKS, "PUT", "/arms/tea", {}, []),
    (DRINKS, "PATCH", "/arms/coffee", {"retired": True}, []),  # its promise ends
    (DRINKS, "PATCH", "/arms/coffee", {"fraction": 0.3}, ["coffee"]),
    (DRINKS, "PATCH", "/arms/coffee", {"retired": False}, []),
    (DRINKS, "PATCH", "/arms/coffee", {"name": "mate"}, []),
    (DRINKS, "PATCH", "/arms/coffee", {"name": "coffee"}, []),
    (GROUPED, "PATCH", "/arms/tea", {"name": "mate"}, []),
    (
        GROUPED,
        "PATCH",
        "",
        {"groups": {"hot": {"at_least": 0.6}, "x": {"arms": ["tea"], "at_most": 0.5}}},
        ["hot", "x"],
    ),
    (GROUPED, "PATCH", "", {"groups": {"hot": None}, "caps": {"tea": 0.3}}, ["tea"]),  # that of the group ends
    (GROUPED, "PATCH", "", {"groups": {"hot": None, "tea": {"arms": ["tea"], "at_most": 0.5}}}, ["tea"]),
    (GROUPED, "PATCH", "/arms/cocoa", {"retired": True}, []),
]
#: Requests that are refused.
REFUSED = [
    ("PATCH", "", {"fractions": {"coffee": 0.9}}, 422, "infeasible"),
    ("PATCH", "", {"fractions": {"mate": 0.9}}, 404, "unknown_arm"),
    ("PATCH", "", {"fractions": {"coffee": 1.2}}, 422, "invalid"),
    ("PATCH", "", {"groups": {"hot": {"arms": ["tea"], "at_least": 0.1}}}, 422, "invalid"),
    ("PUT", "/arms/mate", {"fraction": 0.7}, 422, "infeasible"),
    ("PUT", "/arms/coffee", {"fraction": 0.3}, 409, "conflict"),
    ("PUT", "/arms/mate", {"penalty": 0.3}, 422, "invalid"),
    ("PATCH", "/arms/coffee", {"fraction": 0.9}, 422, "infeasible"),
    ("PATCH", "/arms/coffee", {"retired": True, "fraction": 0.1}, 422, "invalid"),
    ("PATCH", "/arms/mate", {"retired": True}, 404, "unknown_arm"),
    ("PATCH", "/arms/coffee", {"name": "tea"}, 409, "conflict"),
    ("PATCH", "/arms/mate", {"name": "tea"}, 404, "unknown_arm"),
]


def everything(ask: Asking) -> list[Any]:
    """All that is known of the allocation."""
    return [ask.get(f"{ONE}{path}").json() for path in ("", "/arms", "/events?limit=1000")]


@pytest.mark.parametrize(("body", "method", "path", "change", "begins"), CHANGES)
def test_a_preview_is_what_the_change_then_does(
    ask: Asking, body: dict[str, Any], method: str, path: str, change: dict[str, Any], begins: list[str]
) -> None:
    assert ask.post(ALL, body).status_code == 201
    ask.store.run("drinks", Decide(count=7))
    before = everything(ask)
    answer = ask(method, ONE + path, params=DRY, json=change, headers={"Idempotency-Key": "once"})
    assert (answer.status_code, everything(ask)) == (200, before), answer.text
    preview = answer.json()
    assert preview["begins"] == begins
    real = ask(method, ONE + path, json=change, headers={"Idempotency-Key": "once"})  # a key that is not used up
    assert (real.json()["changed"], real.json()["round"]) == (preview["changed"], preview["round"] == 7 and 7)
    assert ask.get(f"{ONE}/arms").json()["arms"] == preview["arms"]
    lines = ask.get(f"{ONE}/audit").json()
    assert [line["promised"] for line in lines["lines"]] == [arm["fraction"] for arm in preview["arms"]]
    assert preview["promised"] == pytest.approx(sum(arm["fraction"] for arm in preview["arms"]))
    bounds = [(one["name"], one["arms"], one["at_least"]) for one in lines["bounds"] if one["kind"] == "group"]
    assert [(one["name"], one["arms"], one["at_least"]) for one in preview["groups"]] == bounds


@pytest.mark.parametrize(("method", "path", "change", "status", "code"), REFUSED)
def test_a_preview_is_refused_as_the_change_is(
    drinks: Asking, method: str, path: str, change: dict[str, Any], status: int, code: str
) -> None:
    before = everything(drinks)
    preview = refused(drinks(method, ONE + path, params=DRY, json=change), status, code)
    real = refused(drinks(method, ONE + path, json=change), status, code)
    assert {**preview, "request_id": ""} == {**real, "request_id": ""}
    assert everything(drinks) == before


def test_a_retired_arm_that_would_be_brought_back(drinks: Asking) -> None:
    drinks.patch(f"{ONE}/arms/coffee", {"retired": True})
    before = everything(drinks)
    for fraction in (0.0, 0.4):
        change = {"retired": False} | ({"fraction": fraction} if fraction else {})
        preview = drinks("PATCH", f"{ONE}/arms/coffee", params=DRY, json=change).json()
        arm = preview["arms"][1]
        assert (arm["arm"], arm["retired"], arm["fraction"]) == ("coffee", False, fraction)
        assert (preview["changed"], preview["begins"]) == (True, ["coffee"])
    over = {"retired": False, "fraction": 0.9}
    refused(drinks("PATCH", f"{ONE}/arms/coffee", params=DRY, json=over), 422, "infeasible")
    assert everything(drinks) == before


def test_a_new_allocation(ask: Asking) -> None:
    for seed in ({"seed": 1}, {"seed": None}):
        preview = ask.post(f"{ALL}?dry_run=true", {**DRINKS, **seed}).json()
        assert (preview["changed"], preview["round"], preview["promised"], preview["begins"]) == (True, 0, 0.4, [])
        assert [(one["arm"], one["fraction"]) for one in preview["arms"]] == [
            ("tea", 0.0),
            ("coffee", 0.2),
            ("cocoa", 0.2),
        ]
    assert ask.get(ALL).json()["allocations"] == []
    assert ask.post(ALL, DRINKS).status_code == 201
    assert ask.post(f"{ALL}?dry_run=true", DRINKS).json()["changed"] is False
    refused(ask.post(f"{ALL}?dry_run=true", {**DRINKS, "plays": 2}), 409, "conflict")
    over = {**DRINKS, "parameters": {"fractions": 0.4}}
    problems = [
        refused(ask.post(f"{ALL}{query}", {**over, "name": "new"}), 422, "infeasible")
        for query in ("?dry_run=true", "")
    ]
    assert problems[0]["detail"] == problems[1]["detail"]
    assert "1.2 of the rounds" in problems[0]["detail"]
    wrong = refused(ask.post(f"{ALL}?dry_run=true", {**DRINKS, "arms": []}), 422, "invalid")
    assert wrong["errors"][0]["where"] == "body.arms"


def test_shares_by_merit_have_no_promise_that_is_known_before(ask: Asking) -> None:
    body = {**DRINKS, "algorithm": "fcts_d", "parameters": {"merit": {"kind": "linear"}}}
    preview = ask.post(f"{ALL}?dry_run=true", body).json()
    assert (preview["promised"], {one["fraction"] for one in preview["arms"]}) == (None, {None})


def test_a_preview_needs_the_scope_of_the_request(drinks: Asking, store: Store) -> None:
    drinks.key = store.keys.create("all but", [scope for scope in SCOPES if scope != "administer"])[1]
    drinks.now = 2.0
    refused(drinks.post(f"{ALL}?dry_run=true", {**DRINKS, "name": "new"}), 403, "forbidden")
    refused(drinks.patch(f"{ONE}?dry_run=true", {"closed": True}), 403, "forbidden")
    refused(drinks.put(f"{ONE}/arms/mate?dry_run=true", {}), 403, "forbidden")
    drinks.key = store.keys.create("other", SCOPES, allocations=["films"])[1]
    drinks.now = 4.0
    refused(drinks.post(f"{ALL}?dry_run=true", DRINKS), 403, "forbidden")
    start = {**DRINKS, "name": "films", "start_from": "drinks"}
    refused(drinks.post(f"{ALL}?dry_run=true", start), 403, "forbidden")
    refused(drinks.patch(f"{ONE}?dry_run=true", {"closed": True}), 403, "forbidden")
