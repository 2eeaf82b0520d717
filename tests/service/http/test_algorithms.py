"""The algorithms that the service lists are those that it accepts, as it describes them."""

from __future__ import annotations

from typing import Any

from evenhand.algorithms.registry import SAMPLE, algorithms
from evenhand.core.parts import kinds
from tests.service.http.asking import DRINKS, Asking

FEATURES = {"situation": {"age": {"kind": "number", "low": 0, "high": 100}}}
VALUES: dict[str, Any] = SAMPLE | {"merit": {"kind": "linear"}, "fractions": 0.1, "rates": 0.1}


def test_every_algorithm_is_accepted_with_what_it_requires_and_with_its_defaults(ask: Asking) -> None:
    answer = ask.get("/v1/algorithms")
    assert answer.status_code == 200
    listed = answer.json()["algorithms"]
    assert [one["name"] for one in listed] == sorted(algorithms())
    for one in listed:
        required = {this["name"]: VALUES[this["name"]] for this in one["parameters"] if this["required"]}
        defaults = {this["name"]: this["default"] for this in one["parameters"] if this["default"] is not None}
        for parameters in (required, defaults | required):
            known = {"features": FEATURES} if algorithms()[one["name"]].example().contextual else {}
            body = DRINKS | known | {"algorithm": one["name"], "parameters": parameters}
            assert (given := ask.post("/v1/allocations?dry_run=true", body)).status_code == 200, (one, given.text)
        for name in required:
            less = {other: value for other, value in required.items() if other != name}
            body = DRINKS | {"algorithm": one["name"], "parameters": less}
            assert ask.post("/v1/allocations?dry_run=true", body).json()["code"] == "invalid", (one, name)


def test_parameters_say_what_they_are(ask: Asking) -> None:
    by_name = {one["name"]: one for one in ask.get("/v1/algorithms").json()["algorithms"]}
    fucb = by_name["fucb"]
    assert fucb["summary"].startswith("FUCB: the arm with the largest deficit goes first")
    assert (fucb["promises"], fucb["made_for"]) == ("share", {"dependent": {"evidence": "optimistic"}})
    types = {one["name"]: one["type"] for one in fucb["parameters"]}
    assert types == {"fractions": "per_arm", "tolerance": "number", "exploration": "number", "evidence": "value"}
    assert {one["type"] for one in by_name["lfg"]["parameters"] if one["name"] in ("clip", "ties")} == {
        "boolean",
        "string",
    }
    described = [one for algorithm in by_name.values() for one in algorithm["parameters"]]
    assert all(one["description"] and "``" not in one["description"] for one in described)


def test_a_merit_is_one_of_kinds_that_are_accepted_as_described(ask: Asking) -> None:
    values = {"number": 0.5, "numbers": [0.0, 1.0]}
    for one in ask.get("/v1/algorithms").json()["algorithms"]:
        with_kinds = [parameter for parameter in one["parameters"] if parameter["kinds"]]
        assert [parameter["name"] for parameter in with_kinds] == ["merit"] * (one["promises"] == "merit")
    [merit] = [parameter for parameter in described_parameters(ask, "fcts_d") if parameter["kinds"]]
    assert {kind["kind"] for kind in merit["kinds"]} == set(kinds("merit"))
    for kind in merit["kinds"]:
        parameters = kind["parameters"]
        assert kind["summary"]
        assert all(one["description"] for one in parameters)
        defaults = {one["name"]: one["default"] for one in parameters if not one["required"]}
        required = {one["name"]: values[one["type"]] for one in parameters if one["required"]}
        if kind["kind"] == "table":
            assert set(required) == {"means", "merits"}
            required["merits"] = [1.0, 2.0]
        for table in (required, defaults | required):
            body = {**DRINKS, "algorithm": "fcts_d", "parameters": {"merit": {"kind": kind["kind"], **table}}}
            assert (given := ask.post("/v1/allocations?dry_run=true", body)).status_code == 200, (kind, given.text)


def described_parameters(ask: Asking, name: str) -> list[dict[str, Any]]:
    """The parameters of an algorithm, as the service describes them."""
    [one] = [one for one in ask.get("/v1/algorithms").json()["algorithms"] if one["name"] == name]
    parameters: list[dict[str, Any]] = one["parameters"]
    return parameters


def test_the_first_recommendation_that_suits_every_answer_can_be_created(ask: Asking) -> None:
    answer = ask.get("/v1/algorithms").json()
    usual = {one["name"]: next(iter(one["options"])) for one in answer["questions"]}
    flags = {"features": "no", "several": "no", "explainable": "no"}
    assert usual == {"promise": "share", "rewards": "late", "means": "fixed", **flags}
    suiting = [one for one in answer["recommendations"] if all(usual[key] in one["when"][key] for key in usual)]
    assert [one["algorithm"] for one in suiting[:2]] == ["f_ts", "fucb"]
    for one in answer["recommendations"]:
        body = DRINKS | {
            "arms": ["tea", "coffee", "cocoa"],
            "algorithm": one["algorithm"],
            "parameters": one["parameters"],
        }
        if "index" in one["parameters"]:
            body |= {"algorithm": one["parameters"], "parameters": {}}
        if one["when"]["features"] == ["yes"]:
            body["features"] = {"situation": {"new": {"kind": "flag"}}}
        assert (given := ask.post("/v1/allocations?dry_run=true", body)).status_code == 200, (one, given.text)
