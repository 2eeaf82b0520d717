"""The service as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from evenhand.core.version import __version__
from evenhand.messages.problem import Problem
from evenhand.service.http import algorithms, downloads, routes, static
from evenhand.service.http.dependencies import KeyRoute
from evenhand.service.http.metrics import Metrics
from evenhand.service.http.middleware import RequestMiddleware
from evenhand.service.http.problems import add_exception_handlers
from evenhand.service.http.service import Service
from evenhand.service.http.settings import Settings
from evenhand.service.store import Store

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

ROUTERS = (routes.direct, routes.router, routes.open_router, algorithms.router, downloads.router, static.router)
DESCRIPTION = """Fair sequential decisions: which arm gets the next opportunity, with a promised share for every arm.

Every decision and reward is durable before it is answered. Each route names the scope that it requires; as long as no
key was created, the server accepts requests from this computer only, without a key. All errors have the same format."""
#: FastAPI's own telemetry is off; `/metrics` is the only place that reports anything.
TELEMETRY_OFF: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(store: Store, settings: Settings | None = None, metrics: Metrics | None = None) -> FastAPI:
    """The service of a store.

    Args:
        store: whose allocations it serves.
        settings: keys, limits and times; None for the defaults.
        metrics: what it counts, for Prometheus; None for counts of its own.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> app = create_app(store)
        >>> app.title
        'Evenhand'
        >>> store.close()
    """
    service = Service(store, settings or Settings(), metrics or Metrics())
    service.metrics.watch(store)
    app = _App(
        title="Evenhand",
        version=__version__,
        description=DESCRIPTION,
        openapi_tags=routes.TAGS,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=TELEMETRY_OFF,
    )
    app.state.service = service
    add_exception_handlers(app)
    app.add_middleware(RequestMiddleware, metrics=service.metrics, max_body=service.settings.max_body)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # routes of an included router are found more slowly
    return app


class _App(FastAPI):
    """An application whose OpenAPI description has the titles, the bodies and the errors of the routes."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            self.openapi_schema = get_openapi(
                title=self.title,
                version=self.version,
                description=self.description,
                tags=self.openapi_tags,
                routes=[one.described() if isinstance(one, KeyRoute) else one for one in self.routes],
            )
            self._describe(self.openapi_schema)
        return self.openapi_schema

    def _describe(self, description: dict[str, Any]) -> None:
        problem = TypeAdapter(Problem).json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        details = problem.pop("$defs")
        description["components"]["schemas"] |= details | {"Problem": problem}
        for route in self.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                for method in route.methods or ():
                    description["paths"][route.path_format][method.lower()]["summary"] = title(route.endpoint)


def title(endpoint: Callable[..., Any]) -> str:
    """The first line of an endpoint's docstring, up to a colon."""
    first, *_ = (endpoint.__doc__ or endpoint.__name__).splitlines()
    return first.partition(":")[0].removesuffix(".")
