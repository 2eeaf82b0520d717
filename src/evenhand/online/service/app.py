"""The service as an ASGI application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from evenhand import __version__
from evenhand.online.service import faults, pages, routes_allocations, routes_results, routes_rounds, routes_server
from evenhand.online.service.context import Service
from evenhand.online.service.gate import Gate
from evenhand.online.service.guard import SCHEME
from evenhand.online.service.settings import Settings
from evenhand.online.service.telemetry import Telemetry
from evenhand.online.store import Store

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

ROUTERS = (
    routes_rounds.router,  # first, as routes are looked through in order, and these are asked for most
    routes_allocations.router,
    routes_results.router,
    routes_server.router,
    pages.router,
)
TAGS = [
    {"name": "allocations", "description": "Make allocations, list them, and change them."},
    {"name": "rounds", "description": "Decide, and take in what came of it."},
    {"name": "results", "description": "What each arm was promised and got."},
    {"name": "server", "description": "What a key may do, whether the server is well, and its figures."},
]
ABOUT = """Fair sequential decisions: who gets the next opportunity, with promises kept to every arm.

Every decision and report is written down for good before it is answered. Each route names the scope that it needs;
without any key the server answers this computer only, and needs none. All errors have one shape."""
#: Nothing is told to anybody unless they ask `/metrics`.
SILENT: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(store: Store, settings: Settings | None = None, telemetry: Telemetry | None = None) -> FastAPI:
    """The service of a store.

    Args:
        store: the allocations; whoever opened it closes it.
        settings: where the server listens, and its limits.
        telemetry: what counts; the store may tell it of commits.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> app = create_app(store)
        >>> app.title
        'Evenhand'
        >>> store.close()
    """
    service = Service(store, settings or Settings(), telemetry or Telemetry())
    service.telemetry.watch(store)
    app = _App(
        title="Evenhand",
        version=__version__,
        description=ABOUT,
        openapi_tags=TAGS,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=SILENT,
    )
    app.state.service = service
    faults.handle(app)
    app.add_middleware(Gate, telemetry=service.telemetry, max_body=service.settings.max_body)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # routes of an included router are found more slowly
    return app


class _App(FastAPI):
    """An application that describes how keys are given."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            made = get_openapi(
                title=self.title,
                version=self.version,
                description=self.description,
                tags=self.openapi_tags,
                routes=self.routes,
            )
            made["components"]["securitySchemes"] = {
                SCHEME: {"type": "http", "scheme": "bearer", "description": "An API key, `evh_…`."}
            }
            self.openapi_schema = made
        return self.openapi_schema
