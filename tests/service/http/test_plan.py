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
#: Changes of an allocation that are accepted, with the arms and groups whose promise begins.
CHANGES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (DRINKS, {"change": "promise", "fractions": {"coffee": 0.5}}, ["coffee"]),
    (DRINKS, {"change": "promise", "fractions": {"coffee": 0.2}}, []),
    (DRINKS, {"change": "close"}, []),
    (DRINKS, {"change": "reopen"}, []),
    (DRINKS, {"change": "add", "arm": "mate", "fraction": 0.1}, ["mate"]),
    (DRINKS, {"change": "add", "arm": "tea"}, []),
    (DRINKS, {"change": "retire", "arm": "coffee", "reason": "sold out"}, []),  # its promise ends
    (DRINKS, {"change": "bring_back", "arm": "coffee"}, []),
    (DRINKS, {"change": "bring_back", "arm": "coffee", "fraction": 0.2}, []),
    (DRINKS, {"change": "rename", "arm": "coffee", "new_name": "mate"}, []),
    (DRINKS, {"change": "rename", "arm": "coffee", "new_name": "coffee"}, []),
    (DRINKS, {"change": "erase", "arm": "coffee"}, []),
    (GROUPED, {"change": "rename", "arm": "tea", "new_name": "mate"}, []),
    (
        GROUPED,
        {"change": "promise", "groups": {"hot": {"at_least": 0.6}, "x": {"arms": ["tea"], "at_most": 0.5}}},
        ["hot", "x"],
    ),
    (GROUPED, {"change": "promise", "groups": {"hot": None}, "caps": {"tea": 0.3}}, ["tea"]),  # that of the group ends
    (GROUPED, {"change": "promise", "groups": {"hot": None, "tea": {"arms": ["tea"], "at_most": 0.5}}}, ["tea"]),
    (GROUPED, {"change": "promise", "fractions": {"coffee": 0.6}, "caps": {"coffee": 0.7}}, ["coffee"]),
    (GROUPED, {"change": "retire", "arm": "cocoa"}, []),
]
#: Requests that are refused.
REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"change": "promise", "fractions": {"coffee": 0.9}}, 422, "infeasible"),
    ({"change": "promise", "fractions": {"mate": 0.9}}, 404, "unknown_arm"),
    ({"change": "promise", "fractions": {"coffee": 1.2}}, 422, "invalid"),
    ({"change": "promise", "fractions": {"coffee": 0.1}, "debt": "forgive"}, 422, "invalid"),
    ({"change": "promise", "fractions": {"coffee": 0.1}, "limit": 3.0}, 422, "invalid"),
    ({"change": "promise", "groups": {"hot": {"arms": ["tea"], "at_least": 0.1}}}, 422, "invalid"),
    ({"change": "add", "arm": "mate", "fraction": 0.7}, 422, "infeasible"),
    ({"change": "add", "arm": "coffee", "fraction": 0.3}, 409, "conflict"),
    ({"change": "add", "arm": "mate", "penalty": 0.3}, 422, "invalid"),
    ({"change": "bring_back", "arm": "coffee", "fraction": 0.1}, 422, "invalid"),
    ({"change": "retire", "arm": "mate"}, 404, "unknown_arm"),
    ({"change": "rename", "arm": "coffee", "new_name": "tea"}, 409, "conflict"),
    ({"change": "rename", "arm": "mate", "new_name": "tea"}, 404, "unknown_arm"),
]


def everything(ask: Asking) -> list[Any]:
    """All that is known of the allocation."""
    return [ask.get(f"{ONE}{path}").json() for path in ("", "/arms", "/events?limit=1000")]


@pytest.mark.parametrize(("body", "change", "begins"), CHANGES)
def test_a_plan_is_what_the_change_then_does(
    ask: Asking, body: dict[str, Any], change: dict[str, Any], begins: list[str]
) -> None:
    assert ask.post(ALL, body).status_code == 201
    ask.store.run("drinks", Decide(count=7))
    before = everything(ask)
    answer = ask.post(f"{ONE}/changes", change, params=DRY, headers={"Idempotency-Key": "once"})
    assert (answer.status_code, everything(ask)) == (200, before), answer.text
    plan = answer.json()
    assert plan["begins"] == begins
    real = ask.post(f"{ONE}/changes", change, headers={"Idempotency-Key": "once"})  # a key that is not used up
    assert (real.json()["changed"], real.json()["round"]) == (plan["changed"], plan["round"])
    assert ask.get(f"{ONE}/arms").json()["arms"] == plan["arms"]
    lines = ask.get(f"{ONE}/audit").json()
    assert [line["promised"] for line in lines["lines"]] == [arm["fraction"] for arm in plan["arms"]]
    assert plan["promised"] == pytest.approx(sum(arm["fraction"] for arm in plan["arms"]))
    bounds = [(one["name"], one["arms"], one["at_least"]) for one in lines["bounds"] if one["kind"] == "group"]
    assert [(one["name"], one["arms"], one["at_least"]) for one in plan["groups"]] == bounds
    if plan["changed"]:
        assert lines["changes_made"][-1]["reason"] == change.get("reason", "")
        assert ask.get(f"{ONE}/events?limit=1000").json()["events"][-1]["data"].get("reason") == change.get("reason")


@pytest.mark.parametrize(("change", "status", "code"), REFUSED)
def test_a_plan_is_refused_as_the_change_is(drinks: Asking, change: dict[str, Any], status: int, code: str) -> None:
    before = everything(drinks)
    plan = refused(drinks.post(f"{ONE}/changes", change, params=DRY), status, code)
    real = refused(drinks.post(f"{ONE}/changes", change), status, code)
    assert {**plan, "request_id": ""} == {**real, "request_id": ""}
    assert everything(drinks) == before


def test_a_version_must_still_hold(drinks: Asking) -> None:
    close = {"change": "close"}
    for query in ("?version=1", "?version=1&dry_run=true"):
        error = refused(drinks.post(f"{ONE}/changes{query}", close), 409, "conflict")
        assert "has version 0, not 1" in error["detail"]
    share = {"change": "promise", "fractions": {"coffee": 0.3}}
    assert drinks.post(f"{ONE}/changes?version=0", share, headers={"Idempotency-Key": "a"}).json()["version"] == 1
    assert drinks.post(f"{ONE}/changes?version=0", share, headers={"Idempotency-Key": "a"}).json()["version"] == 1
    refused(drinks.post(f"{ONE}/changes?version=0", share), 409, "conflict")


@pytest.mark.parametrize("first", ["fractions", "caps"])
def test_a_share_is_raised_together_with_its_cap(ask: Asking, first: str) -> None:
    capped = {**GROUPED, "parameters": {"fractions": {"coffee": 0.2}, "caps": {"coffee": 0.3}}}
    assert ask.post(ALL, capped).status_code == 201
    shares = {"fractions": {"coffee": 0.5}, "caps": {"coffee": 0.6}}
    refused(ask.post(f"{ONE}/changes", {"change": "promise", "fractions": shares["fractions"]}), 422, "invalid")
    both = dict(sorted(shares.items(), reverse=first == "fractions"))
    assert ask.post(f"{ONE}/changes", {"change": "promise", **both}).json()["version"] == 1
    assert [one["kind"] for one in ask.get(f"{ONE}/events").json()["events"]] == ["create", "change"]


def test_a_retired_arm_that_would_be_brought_back(drinks: Asking) -> None:
    drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "coffee"})
    before = everything(drinks)
    for fraction in (0.0, 0.4):
        change = {"change": "bring_back", "arm": "coffee"} | ({"fraction": fraction} if fraction else {})
        plan = drinks.post(f"{ONE}/changes", change, params=DRY).json()
        arm = plan["arms"][1]
        assert (arm["arm"], arm["retired"], arm["fraction"]) == ("coffee", False, fraction)
        assert (plan["changed"], plan["begins"]) == (True, ["coffee"])
    over = {"change": "bring_back", "arm": "coffee", "fraction": 0.9}
    refused(drinks.post(f"{ONE}/changes", over, params=DRY), 422, "infeasible")
    assert everything(drinks) == before


def test_a_new_allocation(ask: Asking) -> None:
    for seed in ({"seed": 1}, {"seed": None}):
        plan = ask.post(f"{ALL}?dry_run=true", {**DRINKS, **seed}).json()
        assert (plan["changed"], plan["round"], plan["promised"], plan["begins"]) == (True, 0, 0.4, [])
        assert [(one["arm"], one["fraction"]) for one in plan["arms"]] == [
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
    plan = ask.post(f"{ALL}?dry_run=true", body).json()
    assert (plan["promised"], {one["fraction"] for one in plan["arms"]}) == (None, {None})


def test_a_plan_needs_the_scope_of_the_request(drinks: Asking, store: Store) -> None:
    drinks.key = store.keys.create("all but", [scope for scope in SCOPES if scope != "administer"])[1]
    drinks.now = 2.0
    refused(drinks.post(f"{ALL}?dry_run=true", {**DRINKS, "name": "new"}), 403, "forbidden")
    refused(drinks.post(f"{ONE}/changes?dry_run=true", {"change": "close"}), 403, "forbidden")
    drinks.key = store.keys.create("other", SCOPES, allocations=["films"])[1]
    drinks.now = 4.0
    refused(drinks.post(f"{ALL}?dry_run=true", DRINKS), 403, "forbidden")
    start = {**DRINKS, "name": "films", "start_from": "drinks"}
    refused(drinks.post(f"{ALL}?dry_run=true", start), 403, "forbidden")
    refused(drinks.post(f"{ONE}/changes?dry_run=true", {"change": "close"}), 403, "forbidden")
