"""Features over HTTP: declared with the allocation, sent with each decision, and never in a message that stays."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tests.service.http.asking import Asking
from tests.service.store.test_features import FEATURES, POLICY, PRICES

SHOP = "/v1/allocations/shop"
BODY: dict[str, Any] = {
    "name": "shop",
    "arms": ["tea", "coffee"],
    "algorithm": POLICY,
    "missing": "never",
    "features": FEATURES,
    "arm_features": PRICES,
    "seed": 1,
}


@pytest.fixture
def shop(ask: Asking) -> Asking:
    """A client of a service that has an allocation by features."""
    answer = ask.post("/v1/allocations", BODY)
    assert answer.status_code == 201, answer.text
    return ask


def test_an_allocation_says_what_is_declared(shop: Asking) -> None:
    assert shop.post("/v1/allocations", BODY).status_code == 200
    described = shop.get(SHOP).json()
    assert described["features"]["situation"]["age"] == {"kind": "number", "low": 0.0, "high": 100.0, "missing": None}
    assert described["arm_features"] == PRICES


def test_decisions_by_features(shop: Asking) -> None:
    one = shop.post(f"{SHOP}/decisions", {"features": {"age": 33, "country": "DE"}}).json()["decisions"]
    rounds = [
        {"features": {"age": 20, "country": "FR"}, "arms": {"tea": {"price": 9.9}}},
        {"features": {"age": 90, "country": "DE"}, "available": ["coffee"]},
    ]
    two = shop.post(f"{SHOP}/decisions", {"rounds": rounds}).json()["decisions"]
    assert [each["round"] for each in one + two] == [1, 2, 3]
    assert two[1]["arms"][0]["arm"] == "coffee"
    rewards = [{"decision": each["id"], "rewards": {each["arms"][0]["arm"]: 1.0}} for each in one + two]
    results = shop.post(f"{SHOP}/rewards", {"rewards": rewards}).json()["results"]
    assert [each["status"] for each in results] == ["accepted"] * 3


def test_all_faults_at_once_each_with_its_place(shop: Asking) -> None:
    rounds: list[dict[str, Any]] = [
        {"features": {"age": 20, "country": "FR"}},
        {"features": {"age": "x", "contry": "FR"}, "arms": {"tea": {"price": -1e400}}},
        {"features": {"age": None, "country": "FR"}, "arms": {"mate": {"price": 1}}},
    ]
    rounds[1]["arms"] = {"tea": {"price": "free"}}
    answer = shop.post(f"{SHOP}/decisions", {"rounds": rounds})
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["code"] == "invalid"
    assert [each["where"] for each in problem["errors"]] == [
        "body.rounds[1].features.age",
        "body.rounds[1].features.contry",
        "body.rounds[1].arms.tea.price",
        "body.rounds[2].features.age",
        "body.rounds[2].arms.mate",
    ]
    assert problem["errors"][0]["message"] == "must be a number, got 'x'"
    assert "did you mean 'country'" in problem["errors"][1]["message"]
    assert shop.get(SHOP).json()["round"] == 0


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"situation": {"age": {"kind": "number", "low": 9, "high": 1}}}, "features.situation.age.high"),
        ({"situation": {"age": {"kind": "nmber"}}}, "did you mean 'number'"),
        ({"situation": {}}, "features"),
        ({"situation": {"q": {"kind": "vector", "length": 10**9}}}, "features"),
    ],
)
def test_a_declaration_without_sense_is_refused(ask: Asking, features: Any, said: str) -> None:
    answer = ask.post("/v1/allocations", {**BODY, "features": features, "arm_features": None})
    assert answer.status_code == 422
    assert said in answer.text
    assert ask.get(SHOP).status_code == 404


#: What a value of a feature may not be, or only of some kinds.
ODD: list[Any] = [None, "x", "", 1e308, True, [], [1, 2], [1, "x"], [1, None], [1e7, 1], {}, {"a": 1}, "NaN", 5e-324]
ODD += [10**400, float("nan"), float("inf"), "DE\0"]


def test_no_odd_value_is_an_error_of_the_server(ask: Asking) -> None:
    own = {**FEATURES["situation"], "new": "flag", "query": {"kind": "vector", "length": 2}}
    features = {**FEATURES, "situation": own, "crosses": [["query", "price"]]}
    assert ask.post("/v1/allocations", BODY | {"features": features, "segments": "country"}).status_code == 201
    good: dict[str, Any] = {"age": 3, "country": "DE", "new": True, "query": [1, 2]}
    asked: list[tuple[str, Any]] = [("decisions", {"features": {**good, name: odd}}) for name in own for odd in ODD]
    for odd in ODD:
        asked += [("decisions", {"features": odd}), ("decisions", {"features": good, "arms": odd})]
        asked += [("decisions", {"rounds": [odd]}), ("decisions", {"features": good, "arms": {"tea": odd}})]
        asked += [("decisions", {"features": good, "arms": {"tea": {"price": odd}}})]
        asked += [("changes", {"change": "add", "arm": "mate", "features": odd})]
        asked += [("changes", {"change": "redeclare", "features": {"situation": {"query": odd}}})]
        asked += [("changes", {"change": "redeclare", "features": features, "arm_features": {"tea": odd}})]
    kind = {"Content-Type": "application/json"}
    found = [(body, ask("POST", f"{SHOP}/{what}", content=json.dumps(body), headers=kind)) for what, body in asked]
    assert [body for body, answer in found if answer.status_code >= 500 or "Traceback" in answer.text] == []
    assert sum(answer.status_code in (400, 422) for _, answer in found) > 100
    assert ask.post(f"{SHOP}/decisions", {"features": good, "arms": PRICES}).status_code == 200


def test_an_allocation_without_features_takes_none(drinks: Asking) -> None:
    answer = drinks.post("/v1/allocations/drinks/decisions", {"features": {"age": 3}})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == "body.features"


def test_leases_are_refused_with_the_remedy(shop: Asking) -> None:
    answer = shop.post(f"{SHOP}/leases", {"decisions": 10})
    assert answer.status_code == 422
    assert "depend on the features of each round" in answer.text


def test_no_value_is_logged_or_in_events_or_metrics(shop: Asking, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="evenhand"):
        shop.post(f"{SHOP}/decisions", {"features": {"age": 33.125, "country": "FR"}})
        shop.post(f"{SHOP}/decisions", {"features": {"age": 33.125, "country": 5.5}})
    assert "33.125" not in caplog.text
    for path in (f"{SHOP}/events", "/metrics", f"{SHOP}/audit", f"{SHOP}/decisions/1"):
        answer = shop.get(path)
        assert answer.status_code == 200
        assert "33.125" not in answer.text
    assert "33.125" not in shop.get(f"{SHOP}/log").text
    assert "33.125" in shop.get(f"{SHOP}/log?features=true").text


def test_a_promise_for_a_segment(ask: Asking) -> None:
    fair = {**POLICY, "fairness": {"kind": "virtual_queue", "fractions": 0.1, "eta": "auto"}}
    body = {**BODY, "algorithm": fair, "segments": "country"}
    assert ask.post("/v1/allocations", body).status_code == 201
    assert ask.get(SHOP).json()["segments"] == "country"
    change = {"change": "promise", "fractions": {"coffee": 0.4}, "segment": "DE"}
    answer = ask.post(f"{SHOP}/changes", change)
    assert answer.status_code in (200, 201), answer.text
    rounds = [{"features": {"age": 20, "country": "FR" if number % 2 else "DE"}} for number in range(60)]
    assert ask.post(f"{SHOP}/decisions", {"rounds": rounds}).status_code == 200
    audit = ask.get(f"{SHOP}/audit").json()
    (line,) = [one for one in audit["bounds"] if one["kind"] == "segment"]
    assert (line["segment"], line["rounds"], line["at_least"]) == ("DE", 30, 0.4)
    wrong = ask.post(f"{SHOP}/changes", {**change, "segment": "ES"})
    assert wrong.status_code == 422
    assert "there is no segment 'ES'" in wrong.text
    assert [one["where"] for one in wrong.json()["errors"]] == ["body.segment"]
    assert ask.post("/v1/allocations", {**body, "name": "other", "segments": "age"}).status_code == 422


def test_an_arm_without_its_features_is_refused_with_their_names(shop: Asking) -> None:
    refused = shop.post(f"{SHOP}/changes", {"change": "add", "arm": "mate"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["where"] == "body.features.price"
    assert "every other arm has it" in refused.json()["errors"][0]["message"]
    asked = {"features": {"age": 33, "country": "DE"}}
    assert shop.post(f"{SHOP}/decisions", asked).status_code == 200
    assert shop.post(f"{SHOP}/changes", {"change": "add", "arm": "mate", "features": {"price": 4}}).status_code == 200
    assert shop.post(f"{SHOP}/decisions", asked).status_code == 200
