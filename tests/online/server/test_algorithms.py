"""The algorithms that the service lists are those that it accepts, as it describes them."""

from __future__ import annotations

from typing import Any

from evenhand.algorithms.registry import SAMPLE, algorithms
from tests.online.server.asking import DRINKS, Asking

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
            body = DRINKS | {"algorithm": one["name"], "parameters": parameters}
            assert (given := ask.post("/v1/allocations?dry_run=true", body)).status_code == 200, (one, given.text)
        for name in required:
            less = {other: value for other, value in required.items() if other != name}
            body = DRINKS | {"algorithm": one["name"], "parameters": less}
            assert ask.post("/v1/allocations?dry_run=true", body).json()["code"] == "invalid", (one, name)


def test_parameters_say_what_they_are(ask: Asking) -> None:
    by_name = {one["name"]: one for one in ask.get("/v1/algorithms").json()["algorithms"]}
    fucb = by_name["fucb"]
    assert fucb["summary"].startswith("FUCB: the arm with the largest deficit goes first")
    assert (fucb["promises"], fucb["made_for"]) == ("share", ["dependent"])
    types = {one["name"]: one["type"] for one in fucb["parameters"]}
    assert types == {"fractions": "per_arm", "tolerance": "number", "exploration": "number", "evidence": "value"}
    assert {one["type"] for one in by_name["lfg"]["parameters"] if one["name"] in ("clip", "ties")} == {
        "boolean",
        "string",
    }
    described = [one for algorithm in by_name.values() for one in algorithm["parameters"]]
    assert all(one["description"] and "``" not in one["description"] for one in described)
