"""Whatever is wrong with a request, the answer has one shape, and nothing has changed."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from fastapi import Request
from fastapi.routing import APIRoute
from sqlalchemy import text

from evenhand.core.errors import EvenhandError, StateError
from evenhand.messages.problem import CODES
from evenhand.service.http.problems import documented
from evenhand.service.json import InvalidJson, parse_json
from evenhand.service.store import Store
from evenhand.service.store.commands import Decide
from evenhand.service.store.errors import StoreUnavailable
from tests.service.http.asking import DRINKS, Asking, refused

ALL = "/v1/allocations"
ONE = f"{ALL}/drinks"

#: Bodies that are no JSON, or not the JSON that all readers understand alike, and a word of what is said.
UNREADABLE = {
    b"": "empty",
    b" \n": "empty",
    b"{": "not JSON",
    b"{} {}": "not JSON",
    b"{'count': 1}": "not JSON",
    b"\xff\xfe": "UTF-8",
    b'{"available": ["\xc3\x28"]}': "UTF-8",
    b'\xef\xbb\xbf{"count": 1}': "not JSON",
    b'{"available": ["\xed\xa0\x80"]}': "UTF-8",  # half a surrogate pair
    b'{"available": ["\\ud800"]}': "surrogate",
    b'{"\\udfff": 1}': "surrogate",
    b'{"available": ["\\u0000"]}': "NUL",
    b'{"available": ["\x00"]}': "not JSON",
    b'{"count": 1, "count": 2}': "repeated",
    b'{"a": {"b": 1, "b": 1}}': "repeated",
    b'{"count": NaN}': "NaN",
    b'{"count": Infinity}': "Infinity",
    b'{"count": -Infinity}': "Infinity",
    b'{"count": 1e400}': "too large",
    b'{"count": -1e400}': "too large",
    b'{"count": 1' + b"0" * 400 + b"}": "64 bits",
    b'{"count": 1' + b"0" * 10_000 + b"}": "64 bits",
    b'{"count": 9223372036854775808}': "64 bits",
    b'{"count": -9223372036854775809}': "64 bits",
    b'{"a": ' * 100_000: "nested",
    b"[" * 100_000 + b"]" * 100_000: "nested",
    b'{"a": 01}': "not JSON",
    b'{"a": 1.}': "not JSON",
    b'{"a": "\n"}': "not JSON",
}


@pytest.mark.parametrize(("body", "message"), UNREADABLE.items(), ids=[repr(body[:40]) for body in UNREADABLE])
def test_unreadable_bodies(drinks: Asking, body: bytes, message: str) -> None:
    route = ALL if message == "nested" else f"{ONE}/decisions"  # where bodies may have so many values
    said = refused(drinks.send(route, body), 422, "invalid")
    assert message in said["detail"]
    assert said["errors"] == [{"where": "body", "message": said["detail"]}]
    assert len(said["detail"]) < 200
    assert drinks.get(ONE).json()["round"] == 0


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": 9223372036854775807, "b": -9223372036854775808}', {"a": 2**63 - 1, "b": -(2**63)}),
        (b'["\\ud83c\\udf75", "\\\\u0000", "\xf0\x9f\x8d\xb5"]', ["🍵", "\\u0000", "🍵"]),
        (b'{"a": {"a": 1}, "b": {"a": 1}}', {"a": {"a": 1}, "b": {"a": 1}}),
        (b" 1e308 ", 1e308),
        (b"-0.0", -0.0),
        (b"[" * 200 + b"]" * 200, json.loads("[" * 200 + "]" * 200)),
    ],
)
def test_readable_bodies(body: bytes, value: Any) -> None:
    assert parse_json(body) == value


def test_a_long_name_is_cut_in_messages() -> None:
    with pytest.raises(InvalidJson) as raised:
        parse_json(b'{"%s": 1, "%s": 2}' % (b"a" * 1000, b"a" * 1000))
    assert len(str(raised.value)) < 100


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json; charset=latin-1",
        "application/json; charset=utf-8; charset=utf-16",
        "application/json, text/plain",
        "",
    ],
)
def test_other_media_types(drinks: Asking, kind: str) -> None:
    refused(drinks.send(f"{ONE}/decisions", b"{}", kind), 415, "unsupported_media_type")


def test_no_media_type(drinks: Asking) -> None:
    refused(drinks("POST", f"{ONE}/decisions", content=b"{}"), 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_the_media_type_in_other_words(drinks: Asking, kind: str) -> None:
    assert drinks.send(f"{ONE}/decisions", b"{}", kind).status_code == 200


#: For each route bodies that say what has no sense, and where.
SENSELESS: list[tuple[str, Any, str]] = [
    ("decisions", [], "body"),
    ("decisions", None, "body"),
    ("decisions", "count", "body"),
    ("decisions", {"count": 0}, "body.count"),
    ("decisions", {"count": -1}, "body.count"),
    ("decisions", {"count": 1.5}, "body.count"),
    ("decisions", {"count": "1"}, "body.count"),
    ("decisions", {"count": True}, "body.count"),
    ("decisions", {"count": None}, "body.count"),
    ("decisions", {"Count": 1}, "body.Count"),
    ("decisions", {"available": []}, "body.available"),
    ("decisions", {"available": "tea"}, "body.available"),
    ("decisions", {"available": ["tea", ""]}, "body.available[1]"),
    ("decisions", {"available": [" "]}, "body.available[0]"),
    ("decisions", {"available": ["x" * 201]}, "body.available[0]"),
    ("decisions", {"available": [1]}, "body.available[0]"),
    ("decisions", {"propensities": 1}, "body.propensities"),
    ("decisions", {"rounds": []}, "body.rounds"),
    ("decisions", {"rounds": [{"available": []}]}, "body.rounds[0].available"),
    ("decisions", {"rounds": [{}, 5]}, "body.rounds[1]"),
    ("decisions", {"rounds": [{}], "count": 1}, "body.count"),
    ("decisions", {"rounds": None}, "body.rounds"),
    ("rewards", {}, "body.rewards"),
    ("rewards", {"rewards": []}, "body.rewards"),
    ("rewards", {"rewards": [{}]}, "body.rewards[0].decision"),
    ("rewards", {"rewards": [{"decision": 1, "rewards": {"tea": 1}}]}, "body.rewards[0].decision"),
    ("rewards", {"rewards": [{"decision": "", "rewards": {"tea": 1}}]}, "body.rewards[0].decision"),
    ("rewards", {"rewards": [{"decision": "1", "rewards": {}}]}, "body.rewards[0].rewards"),
    ("rewards", {"rewards": [{"decision": "1", "rewards": {"tea": None}}]}, "body.rewards[0].rewards.tea"),
    ("rewards", {"rewards": [{"decision": "1", "rewards": {"tea": "1"}}]}, "body.rewards[0].rewards.tea"),
    ("rewards", {"rewards": [{"decision": "1", "rewards": {"tea": True}}]}, "body.rewards[0].rewards.tea"),
    ("totals", {}, "body.value"),
    ("totals", {"value": "3"}, "body.value"),
    ("totals", {"value": 1, "round": 0}, "body.round"),
    ("totals", {"value": 1, "round": 2**53}, "body.round"),
    ("totals", {"value": 1, "round": 1.0}, "body.round"),
    ("arms/mate", [], "body"),
    ("arms/mate", {"fraction": 1.5}, "body.fraction"),
    ("arms/mate", {"fraction": -0.1}, "body.fraction"),
    ("arms/mate", {"share": 0.1}, "body.share"),
    ("arms/mate", {"arm": "mate"}, "body.arm"),
]


@pytest.mark.parametrize(("route", "body", "where"), SENSELESS, ids=[f"{one[0]} {one[1]!r:.60}" for one in SENSELESS])
def test_bodies_that_are_invalid(drinks: Asking, route: str, body: Any, where: str) -> None:
    send = drinks.put if route.startswith("arms/") else drinks.post
    error = refused(send(f"{ONE}/{route}", body), 422, "invalid")
    assert where in [detail["where"] for detail in error["errors"]], error
    assert error["detail"].startswith(error["errors"][0]["where"])
    for detail in error["errors"]:  # pydantic's own words begin with a capital
        assert not detail["message"][0].isupper(), detail
    assert drinks.get(ONE).json()["version"] == drinks.get(ONE).json()["round"] == 0


#: What is said of some of them, word for word.
SAID: list[tuple[str, Any, str]] = [
    ("decisions", [], "body: must be an object"),
    ("decisions", {"count": 0}, "body.count: must be at least 1"),
    ("decisions", {"count": 1.5}, "body.count: must be a whole number"),
    ("decisions", {"cuont": 1}, "body.cuont: there is no field 'cuont'; did you mean 'count'?"),
    *[
        (
            "decisions",
            {name: "x"},
            f"body.{name}: there is no field {name!r}; known: count, features, arms, available, propensities",
        )
        for name in ("context", "unit")
    ],
    ("decisions", {"features": "x"}, "body.features: must be an object"),
    ("decisions", {"arms": {"tea": 3}}, "body.arms.tea: must be an object"),
    ("decisions", {"rounds": [{}], "count": 1}, "body.count: give either 'count' or 'rounds', not both"),
    (
        "decisions",
        {"rounds": [{}], "available": ["tea"]},
        "body.available: give either 'available' or 'rounds', not both",
    ),
    (
        "decisions",
        {"rounds": [{}], "propensity": True},
        "body.propensity: there is no field 'propensity'; did you mean 'propensities'?",
    ),
    ("decisions", {"available": [" "]}, "body.available[0]: must have a character other than spaces"),
    ("decisions", {"available": ["x" * 201]}, "body.available[0]: must have at most 200 characters"),
    ("decisions", {"propensities": 1}, "body.propensities: must be true or false"),
    ("rewards", {"rewards": []}, "body.rewards: must not be empty"),
    ("rewards", {"rewards": {}}, "body.rewards: must be a list"),
    (
        "rewards",
        {"rewards": [{"decision": "1", "reward": {"tea": 1}, "rewards": {"tea": 1}}]},
        "body.rewards[0].reward: there is no field 'reward' here",
    ),
    (
        "rewards",
        {"rewards": [{"decision": "1", "rewards": {"": 1}}]},
        "body.rewards[0].rewards: the name '' must not be empty",
    ),
    (
        "rewards",
        {"rewards": [{"decision": "1", "rewards": {"[key]": "1"}}]},
        "body.rewards[0].rewards.[key]: must be a number",
    ),
    ("totals", {}, "body.value: is required"),
    ("totals", {"value": 1, "round": 2**53}, "body.round: must be less than 9,007,199,254,740,992"),
]


@pytest.mark.parametrize(("route", "body", "said"), SAID, ids=[f"{one[0]} {one[1]!r:.60}" for one in SAID])
def test_what_is_said_of_bodies_without_sense(drinks: Asking, route: str, body: Any, said: str) -> None:
    assert refused(drinks.post(f"{ONE}/{route}", body), 422, "invalid")["detail"] == said


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {},
            "body.change: is required, one of add, retire, bring_back, rename, erase, promise, redeclare, close, "
            "reopen, reword",
        ),
        ({"change": "clsoe"}, "body.change: there is no 'clsoe'; did you mean 'close'?"),
        ([], "body: must be an object"),
        ({"change": "promise"}, "body: a promise must have at least one of fractions, caps and groups"),
        ({"change": "close", "reason": 1}, "body.reason: must be a string"),
        ({"change": "promise", "fractions": {}}, "body.fractions: must not be empty"),
        ({"change": "promise", "fractions": {"tea": "0.1"}}, "body.fractions.tea: must be a number"),
        (
            {"change": "promise", "fractions": {" ": 0.1}},
            "body.fractions: the name ' ' must have a character other than spaces",
        ),
        (
            {"change": "promise", "groups": {"a": {"at_lest": 1}}},
            "body.groups.a.at_lest: there is no field 'at_lest'; did you mean 'at_least'?",
        ),
        ({"change": "retire", "amr": "x"}, "body.arm: is required (1 more)"),
        ({"change": "add", "arm": "x", "wieght": 2}, "body.wieght: there is no field 'wieght'; did you mean 'weight'?"),
        ({"change": "add", "arm": "x", "fraction": 2}, "body.fraction: must be at most 1"),
        (
            {"change": "promise", "fractions": {"tea": 0.1}, "debt": "forgive"},
            "body: debt 'forgive' needs a reason, which the ledger shows: what is owed is not paid",
        ),
        ({"change": "reword", "unit": "x" * 41}, "body.unit: must have at most 40 characters"),
        ({"change": "reword", "units": "x"}, "body.units: there is no field 'units'; did you mean 'unit'?"),
        (
            {"change": "reword", "arm_name": "a/b/c"},
            "body: arm_name must be a plural such as 'visitors', or 'person/people', got 'a/b/c'",
        ),
        ({"change": "retire", "arm": " "}, "body.arm: must have a character other than spaces"),
        ({"change": "retire", "arm": "x" * 201}, "body.arm: must have at most 200 characters"),
    ],
)
def test_what_is_said_of_changes_without_sense(drinks: Asking, body: Any, said: str) -> None:
    assert refused(drinks.post(f"{ONE}/changes", body), 422, "invalid")["detail"] == said
    assert drinks.get(ONE).json()["version"] == 0


FAIR = {"index": "ucb", "fairness": {"kind": "deficit_first", "fractions": [0.1, 1.5, 0.0]}}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"parameters": {"fractions": [0.1, 1.5, 0.0]}}, "fractions.coffee must be a number in [0, 1], got 1.5"),
        ({"parameters": {"fractions": [0.1, "x", 0.0]}}, "fractions.coffee must be a number, got 'x'"),
        ({"algorithm": FAIR, "parameters": {}}, "fairness.fractions.coffee must be a number in [0, 1], got 1.5"),
        (
            {"parameters": {"fractions": [0.9, 0.9, 0.0]}},
            "the promised shares cannot be kept: arms 'tea', 'coffee' together are promised 1.8 of the rounds but can "
            "play in at most 1 (plays = 1); that is 0.8 too much",
        ),
    ],
)
def test_what_is_wrong_with_an_arm_names_it(drinks: Asking, made: dict[str, Any], said: str) -> None:
    answer = drinks.post(ALL, DRINKS | {"name": "other"} | made)
    assert (answer.status_code, answer.json()["detail"]) == (422, said)


@pytest.mark.parametrize("name", ["", "a b", ".a", "a\n", "a" * 101])
def test_what_is_said_of_names_of_allocations(ask: Asking, name: str) -> None:
    """The same as the store says."""
    said = "must be 1 to 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit"
    assert refused(ask.post(ALL, DRINKS | {"name": name}), 422, "invalid")["detail"] == f"body.name: {said}"
    if name.strip():
        error = refused(ask.get(f"{ALL}/{name.replace(chr(10), '%0A')}"), 422, "invalid")
        assert error["detail"] == f"path.name: {said}"
    with pytest.raises(EvenhandError, match=said):
        ask.store.create(name, ["tea"], "ucb1")


def test_long_names_of_fields_are_cut(drinks: Asking) -> None:
    error = refused(drinks.post(f"{ONE}/decisions", {"x" * 10_000: 1}), 422, "invalid")
    assert len(error["detail"]) < 600


@pytest.mark.parametrize(
    "changed",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": ".a"},
        {"name": "a/b"},
        {"name": "ä"},
        {"name": "a\n"},
        {"name": "a" * 101},
        {"arms": []},
        {"arms": ["tea", "tea"]},
        {"arms": "tea"},
        {"arms": ["tea", " "]},
        {"arms": ["tea", None]},
        {"arms": ["x" * 201]},
        {"algorithm": "none"},
        {"algorithm": ""},
        {"parameters": []},
        {"parameters": {"fractions": [0.1]}},
        {"parameters": {"fractions": {"water": 0.1}}},
        {"parameters": {"fractions": "many"}},
        {"parameters": {"fractions": {"tea": {"tea": [0.1]}}}},
        {"parameters": {"nothing": 1}},
        {"parameters": {"fractions": [0.1, 0.1, -0.1]}},
        {"plays": 0},
        {"plays": 4},
        {"plays": 2**40},
        {"plays": 1.5},
        {"seed": -1},
        {"seed": 2**53},
        {"seed": "1"},
        {"window": 0},
        {"window": -5},
        {"window": 1e11},
        {"missing": "gone"},
        {"rewards": [1]},
        {"rewards": [1, 0]},
        {"rewards": [0, 0]},
        {"rewards": [0, 1, 2]},
        {"rewards": ["0", "1"]},
        {"more": 1},
    ],
    ids=repr,
)
def test_allocations_without_sense(ask: Asking, changed: dict[str, Any]) -> None:
    refused(ask.post(ALL, DRINKS | changed), 422, "invalid")
    assert ask.get(ALL).json()["allocations"] == []


@pytest.mark.covering
@pytest.mark.parametrize("algorithm", ["fucb", "lfg", "fcucb_d", "exp3", "thompson", "t_fucb", "clw"])
@pytest.mark.parametrize(
    "value",
    [None, True, "x", "inf", "-inf", [], {}, [[]], {"type": "Path"}, {"kind": "power"}, -1, 0, 2**62, 1e308, ["inf"]],
    ids=repr,
)
def test_strange_parameters_are_refused_and_not_failed_on(ask: Asking, algorithm: str, value: Any) -> None:
    """Whatever value a parameter has: it is taken, or refused."""
    for name in ("fractions", "eta", "merit", "horizon", "exploration", "evidence", "weights", "mixing"):
        answer = ask.post(ALL, {"name": "x", "arms": ["a", "b"], "algorithm": algorithm, "parameters": {name: value}})
        if answer.status_code != 201:
            assert answer.status_code in (409, 422), (name, answer.text)


def test_parameters_may_not_be_deep(ask: Asking) -> None:
    deep: Any = 1
    for _ in range(8):  # and the parameter's name makes one more
        deep = [deep]
    refused(ask.post(ALL, DRINKS | {"parameters": {"fractions": deep}}), 422, "invalid")
    error = refused(ask.post(ALL, DRINKS | {"parameters": {"fractions": [deep]}}), 422, "invalid")
    assert error["errors"][0]["where"] == "body.parameters"
    body = b'{"name": "x", "arms": ["a"], "algorithm": "ucb1", "parameters": {"a": %s%s}}' % (b"[" * 900, b"]" * 900)
    refused(ask.send(ALL, body), 422, "invalid")


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"parameters": {"fractions": {"tea": 0.1, "coffee": 1.2, "cocoa": 0}}}, "parameters.fractions.coffee"),
        ({"parameters": {"fractions": [0.1, 1.2, 0.0]}}, "parameters.fractions[1]"),
        ({"parameters": {"fractions": 1.2}}, "parameters.fractions"),
        ({"parameters": {"fraction": 0.1}}, "parameters.fraction"),
        ({"algorithm": "fucbs"}, "algorithm"),
        (
            {"algorithm": "fcts_d", "parameters": {"merit": {"kind": "power", "exponent": -1}}},
            "parameters.merit.exponent",
        ),
        ({"algorithm": "fcts_d", "parameters": {"merit": "powr"}}, "parameters.merit"),
        ({"algorithm": {"index": "ucbx"}, "parameters": {}}, "algorithm.index"),
        ({"algorithm": {"index": {"kind": "ucbx"}}, "parameters": {}}, "algorithm.index.kind"),
        (
            {
                "algorithm": {"index": "ucb", "fairness": {"kind": "deficit_first", "fractions": [0, 2, 0]}},
                "parameters": {},
            },
            "algorithm.fairness.fractions[1]",
        ),
        ({"segments": "age"}, "segments"),
        ({"arm_features": {"tea": {"price": 1}}}, "arm_features"),
    ],
)
def test_a_value_of_the_right_form_that_is_refused_has_its_place(ask: Asking, wrong: Any, where: str) -> None:
    for dry in ("", "?dry_run=true"):
        error = refused(ask.post(ALL + dry, DRINKS | wrong), 422, "invalid")
        assert [one["where"] for one in error["errors"]] == [f"body.{where}"], error
        assert error["detail"].endswith(error["errors"][0]["message"])


def test_what_is_wrong_with_the_whole_of_a_request_has_no_place(ask: Asking) -> None:
    shares = {"parameters": {"fractions": [0.6, 0.6, 0.0]}}
    assert refused(ask.post(ALL, DRINKS | shares), 422, "infeasible")["errors"] == []
    assert refused(ask.post(ALL, DRINKS | {"plays": 5}), 422, "invalid")["errors"] == []


def test_many_mistakes_are_not_all_listed(drinks: Asking) -> None:
    error = refused(drinks.post(f"{ONE}/rewards", {"rewards": [{}] * 500}), 422, "invalid")
    assert len(error["errors"]) == 20
    assert "(999 more)" in error["detail"]  # each lacks a decision and rewards


@pytest.mark.parametrize("name", ["%00", "a%00b", "a%20b", "%F0%9F%8D%B5", "-a", "x" * 101, "..%2e", "%ff"])
def test_names_that_no_allocation_can_have(drinks: Asking, name: str) -> None:
    for path in (f"{ALL}/{name}", f"{ALL}/{name}/audit", f"{ALL}/{name}/log"):
        error = refused(drinks.get(path), 422, "invalid")
        assert error["errors"][0]["where"] == "path.name"
    refused(drinks.post(f"{ALL}/{name}/decisions", {}), 422, "invalid")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("audit?limit=0", "query.limit"),
        ("audit?limit=x", "query.limit"),
        ("audit?limit=1e3", "query.limit"),
        ("audit?limit=99999999999999999999", "query.limit"),
        ("log?format=xml", "query.format"),
        ("log?since=0", "query.since"),
        ("log?since=99999999999999999999", "query.since"),
        ("log?until=-1", "query.until"),
        ("log?estimate=perhaps", "query.estimate"),
        ("log?form=csv", "query.form"),
        ("audit?since=1", "query.since"),
    ],
)
def test_queries_without_sense(drinks: Asking, query: str, where: str) -> None:
    assert refused(drinks.get(f"{ONE}/{query}"), 422, "invalid")["errors"][0]["where"] == where


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("differences?month=nov", "query.month: must be a month as YYYY-MM"),
        ("stopping?best=promise", "query.best: must be a number of arms or 'promises', got 'promise'; did you mean 'p"),
        ("stopping?best=2.5", "query.best: must be a number of arms or 'promises'"),
        ("stopping?delta=0", "delta must be between 0 and 1, such as 0.05, got 0.0: an answer that is never wrong"),
        ("stopping?delta=nan", "delta must be between 0 and 1"),
        ("differences?confidence=1", "confidence must be above 0 and below 1, such as 0.95, got 1"),
    ],
)
def test_what_is_said_of_questions_without_sense(drinks: Asking, query: str, said: str) -> None:
    assert said in refused(drinks.get(f"{ONE}/{query}"), 422, "invalid")["detail"]


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "\u00e9"])
def test_idempotency_keys_that_are_invalid(drinks: Asking, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    error = refused(drinks.post(f"{ONE}/decisions", {}, headers=headers), 422, "invalid")
    assert error["errors"][0]["where"] == "header.Idempotency-Key"
    assert drinks.get(ONE).json()["round"] == 0


def test_names_with_the_longest_and_strangest_arms(ask: Asking) -> None:
    arms = [
        "x" * 200,
        "🍵" * 200,
        "<script>alert(1)</script>",
        "'; DROP TABLE events; --",
        "\u202e",
        "a\tb",
        "\\u0000",
    ]
    assert ask.post(ALL, {"name": "x" * 100, "arms": arms, "missing": "never", "algorithm": "ucb1"}).status_code == 201
    path = f"{ALL}/{'x' * 100}"
    played = ask.post(f"{path}/decisions", {"count": len(arms)}).json()["decisions"]
    assert [one["arms"][0]["arm"] for one in played] == arms
    rewards = [{"decision": one["id"], "rewards": {one["arms"][0]["arm"]: 1}} for one in played]
    answer = ask.post(f"{path}/rewards", {"rewards": rewards})
    assert {one["status"] for one in answer.json()["results"]} == {"accepted"}
    assert [line["arm"] for line in ask.get(f"{path}/audit").json()["lines"]] == arms


# --- pages and methods ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1", "/v1/", "/v1/allocations/", "/v2/allocations", "/v1/allocations/drinks/audit/x"]
)
def test_other_pages(drinks: Asking, path: str) -> None:
    refused(drinks.get(path), 404, "not_found")
    refused(drinks.post(path, {}), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", ALL, "GET, HEAD, POST"),
        ("PUT", ONE, "GET, HEAD"),
        ("GET", f"{ONE}/arms/tea", "DELETE, PUT"),
        ("GET", f"{ONE}/decisions", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("OPTIONS", ALL, "GET, HEAD, POST"),
        ("BREW", "/", "GET, HEAD"),
    ],
)
def test_other_methods(drinks: Asking, method: str, path: str, allowed: str) -> None:
    answer = drinks(method, path)
    refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


def test_head_where_there_is_no_get(drinks: Asking) -> None:
    assert drinks("HEAD", f"{ONE}/decisions").status_code == 405


# --- the server's own -------------------------------------------------------------------------------------------------


@pytest.fixture
def failing(ask: Asking) -> tuple[Asking, list[Exception]]:
    """A client of a service with a page that raises what is in the list."""
    raised: list[Exception] = []

    async def fail(request: Request) -> NoReturn:
        raise raised[0]

    ask.app.router.routes.append(APIRoute("/fail", fail, response_model=None))
    return ask, raised


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("secret"), StateError("secret"), ExceptionGroup("secret", [OSError()])]
)
def test_a_failure_is_described_in_the_log_only(
    failing: tuple[Asking, list[Exception]], error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    ask, raised = failing
    raised.append(error)
    with caplog.at_level(logging.ERROR):
        answer = ask.get("/fail")
    refused(answer, 500, "internal")
    assert "secret" not in answer.text
    assert "secret" in caplog.text
    assert "Traceback" in caplog.text
    assert ask.get("/healthz").status_code == 200


def test_a_database_that_is_away(failing: tuple[Asking, list[Exception]]) -> None:
    ask, raised = failing
    raised.append(StoreUnavailable("the database cannot be used"))
    answer = ask.get("/fail")
    refused(answer, 503, "unavailable")
    assert answer.headers["retry-after"] == "1"


def test_a_server_whose_database_is_away_is_not_ready(store: Store, drinks: Asking) -> None:
    with store.database.transaction(writes=True) as connection:
        connection.execute(text("ALTER TABLE allocations RENAME TO lost"))
    refused(drinks.get("/readyz"), 503, "unavailable")
    refused(drinks.get(ALL), 503, "unavailable")
    refused(drinks.post(f"{ONE}/decisions", {}), 503, "unavailable")
    refused(drinks.post(ALL, DRINKS | {"name": "other"}), 503, "unavailable")
    assert drinks.get("/healthz").status_code == 200
    assert drinks.get("/metrics").status_code == 200


def test_a_server_whose_database_does_not_answer_is_not_ready(drinks: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from evenhand.service.http import routes

    end = threading.Event()
    monkeypatch.setattr(routes, "READY_TIMEOUT", 0.05)
    monkeypatch.setattr(drinks.store.database, "ready", end.wait)
    try:
        refused(drinks.get("/readyz"), 503, "unavailable")
    finally:
        end.set()


def test_a_store_that_is_closed_is_away(drinks: Asking) -> None:
    drinks.store.close()
    refused(drinks.post(f"{ONE}/decisions", {}), 503, "unavailable")


def test_a_log_that_breaks_off_is_not_whole(drinks: Asking, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the database goes away half way, the connection breaks: the file does not seem to be whole."""
    store.run("drinks", Decide(count=5_001))  # a piece is of 5,000 rounds
    from evenhand.service.store import export

    pieces = export.log

    def breaking(*args: Any) -> Iterator[Any]:
        yield next(pieces(*args))
        raise StoreUnavailable("the database cannot be used")

    monkeypatch.setattr(export, "log", breaking)
    with pytest.raises(RuntimeError) as raised:  # which the server of the network takes as the end of the connection
        drinks.get(f"{ONE}/log")
    assert isinstance(raised.value.__cause__, StoreUnavailable)


# --- what is documented -----------------------------------------------------------------------------------------------


def test_every_code_is_documented_with_its_status() -> None:
    answers = documented(CODES)
    for code, (status, meaning) in CODES.items():
        example = answers[status]["content"]["application/problem+json"]["examples"][code]["value"]
        assert (example["code"], example["status"], example["detail"], example["errors"]) == (code, status, meaning, [])
