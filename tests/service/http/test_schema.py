"""Requests made up from the OpenAPI description: nothing fails, and every answer is as described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from evenhand.service.http.app import ROUTERS, create_app
from evenhand.service.http.settings import Settings
from evenhand.service.store import Store
from evenhand.service.store.api_keys import SCOPES

EXAMPLES, MORE = 5, 12  # requests of each kind for each route, in the main run and in `nox -s slow`
MODES = {"valid": GenerationMode.POSITIVE, "invalid": GenerationMode.NEGATIVE}
#: NUL is refused everywhere, which patterns would have to say everywhere; see `test_errors`.
CONFIG = SchemathesisConfig.from_dict({"generation": {"allow-x00": False}})
#: Routes that may refuse what the description allows: whether promises can be kept is no matter of form, nor whether an
#: address is public.
PARTS = ("arms", "arms/{arm}", "changes", "decisions", "leases", "leases/{id}/reports", "totals", "webhooks")
PARTICULAR = (
    "/v1/allocations",
    "/v1/allocations/{name}",
    *(f"/v1/allocations/{{name}}/{route}" for route in PARTS),
)

LOG = "/v1/allocations/{name}/log"  # its estimates take long after large leases


def kinds_of_requests() -> Iterator[tuple[str, str, str | None, str]]:
    """Method, path, name of the allocation (None for any) and mode of all requests that are made up."""
    for route in (route for router in ROUTERS for route in router.routes):
        assert isinstance(route, APIRoute)
        if route.include_in_schema:
            (method,) = route.methods or {""}
            for name in ("drinks", None) if "{name}" in route.path else (None,):
                takes = route.body_field or route.dependant.query_params or ("{name}" in route.path and name is None)
                for mode in MODES if takes else ("valid",):  # where nothing is taken, nothing can be invalid
                    yield method, route.path_format, name, mode


KINDS = list(kinds_of_requests())


class Described:
    """A service with an allocation, and its description as schemathesis reads it.

    Args:
        folder: for its database.
        keyed: whether others can reach it, with a key.
    """

    def __init__(self, folder: Path, keyed: bool) -> None:
        self.store = Store.open(str(folder / "evenhand.db"))
        self.store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": [0.1, 0.1]}, seed=1)
        self.headers: dict[str, str] = {}
        if keyed:
            self.headers["Authorization"] = f"Bearer {self.store.keys.create('all', SCOPES)[1]}"
        app = create_app(self.store, Settings(host="0.0.0.0" if keyed else "127.0.0.1"))
        self.schema: Any = schemathesis.openapi.from_dict(without_security(app.openapi()), config=CONFIG)
        self.schema.app = app


def without_security(description: dict[str, Any]) -> dict[str, Any]:
    """The description without the keys, which every request here has; `test_access` is about others."""
    paths = {
        path: {method: {**operation, "security": []} for method, operation in methods.items()}
        for path, methods in description["paths"].items()
    }
    return {**description, "paths": paths}


@pytest.fixture(scope="module", params=["open", "keyed"])
def described(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    """A service, with keys or without."""
    service = Described(tmp_path_factory.mktemp("described"), request.param == "keyed")
    yield service
    service.store.close()


EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=[" ".join(map(str, kind)) for kind in KINDS])


@pytest.mark.covering
@EVERY_KIND
def test_answers_are_as_described(described: Described, kind: tuple[str, str, str | None, str]) -> None:
    ask(described, kind, EXAMPLES)


@pytest.mark.slow
@EVERY_KIND
def test_more_answers_are_as_described(described: Described, kind: tuple[str, str, str | None, str]) -> None:
    ask(described, kind, MORE)


def ask(described: Described, kind: tuple[str, str, str | None, str], examples: int) -> None:
    """Ask for something in so many ways, and hold the answers against the description."""
    method, path, name, mode = kind
    excluded = [positive_data_acceptance] if path in PARTICULAR else []
    parameters = {"name": name} if name else {}
    requests = described.schema[path][method].as_strategy(MODES[mode], path_parameters=parameters)

    @settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(request=requests)
    def once(request: Any) -> None:
        answer = request.call(base_url="http://localhost", headers=described.headers)
        # No matter of form, either: a key used again, or estimates for more leased rounds than are made at once.
        codes = ("key_reused", "too_large") if path == LOG else ("key_reused",)
        refused = answer.status_code in (413, 422) and answer.json()["code"] in codes
        checks = [positive_data_acceptance] if refused else excluded
        request.validate_response(answer, excluded_checks=checks, headers=described.headers)

    once()
