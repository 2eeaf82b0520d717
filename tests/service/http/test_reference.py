"""The page about HTTP lists every route, request, status and error, as the application has them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import Discriminator, TypeAdapter

from evenhand.messages import answers, requests
from evenhand.messages.changes import ArmValues, Change
from evenhand.messages.problem import CODES
from evenhand.service.http.metrics import Metrics
from evenhand.service.http.routes import DecisionRequest
from evenhand.service.http.settings import Settings
from evenhand.service.store import Decide, Store
from tests.service.http.asking import Asking
from tests.service.http.test_access import all_routes

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference/http.md").read_text(encoding="utf-8")
HOWTO = (DOCS / "howto/serve.md").read_text(encoding="utf-8")
MESSAGES: dict[str, Any] = {
    "an allocation": requests.AllocationRequest,
    "a decision": DecisionRequest,
    "decisions with different arms": DecisionRequest,
    "an allocation that goes by [features](../concepts/features.md)": requests.AllocationRequest,
    "a decision with features": requests.CountedRounds,
    "different decisions": requests.ListedRounds,
    "rewards": requests.RewardRequest,
    "a lease": requests.LeaseRequest,
    "a report of a lease": requests.ReportRequest,
    "a total": requests.TotalRequest,
    "an arm": ArmValues,
    "a change": Annotated[Change, Discriminator("change")],
    "a change of promises": Annotated[Change, Discriminator("change")],
    "a webhook": requests.WebhookRequest,
}


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table with that first column, without its head."""
    (table,) = re.findall(rf"^\| {heading} .*\n\| -.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def test_routes_and_scopes() -> None:
    documented = {tuple(route.strip("`").split()): scope.strip("`") for route, scope, _ in rows(PAGE, "route")}
    assert documented == {(method, path.replace(":path", "")): scope for method, path, scope in all_routes()}


def test_error_codes() -> None:
    documented = {code.strip("`"): (int(status), meaning) for code, status, meaning in rows(PAGE, "code")}
    assert documented == CODES


def test_statuses_of_rewards() -> None:
    assert [status.strip("`") for status, _ in rows(PAGE, "status")] == sorted(
        get_args(answers.RewardStatus), key=["accepted", "duplicate", "late", "conflict", "unknown", "invalid"].index
    )


@pytest.mark.parametrize(("kind", "cell"), rows(PAGE, "to make"))
def test_requests_are_as_shown(kind: str, cell: str) -> None:
    shown = [code for code in re.findall(r"`([^`]+)`", cell) if code.startswith("{")]
    assert shown
    for body in shown:
        TypeAdapter(MESSAGES[kind]).validate_python(json.loads(body))


def test_every_query_is_named(ask: Asking) -> None:
    for path, methods in ask.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    (cell,) = [cell for route, _, cell in rows(PAGE, "route") if route == f"`{method.upper()} {path}`"]
                    assert f"`{parameter['name']}`" in cell


def test_every_route_has_a_title(ask: Asking) -> None:
    """And not only the name of a function, such as `Healthz`."""
    described = ask.get("/openapi.json").json()["paths"].values()
    titles = [operation["summary"] for methods in described for operation in methods.values()]
    assert "Decide which arms play in the next rounds" in titles
    assert all(" " in title and not title.endswith(".") for title in titles), titles
    assert len(set(titles)) == len(titles)


def test_limits_are_documented() -> None:
    documented = {option.strip("`"): float(default.replace(",", "")) for option, default, _ in rows(HOWTO, "option")}
    limits = Settings()
    assert documented == {
        f"--{name.replace('_', '-')}": value for name, value in vars(limits).items() if name.startswith("max_")
    }


def test_scopes_are_documented() -> None:
    wanted = {scope for _, _, scope in all_routes()} - {"none", "none, ever", "any key"}
    assert {scope.strip("`") for scope, _ in rows(HOWTO, "scope")} == wanted


def test_metrics_are_documented(store: Store) -> None:
    metrics = Metrics()
    metrics.watch(store)
    store.create("drinks", ["tea"], "fucb", parameters={"fractions": [0.5]})
    store.run("drinks", Decide())
    documented = {re.sub(r"\{.*", "", metric.strip("`")) for metric, _ in rows(HOWTO, "metric")}
    exposed = set(
        re.findall(r"^# TYPE (\w+) (?:counter|histogram|gauge)$", metrics.exposition().decode(), re.MULTILINE)
    )
    assert documented == {name for name in exposed if not name.endswith("_created")}
