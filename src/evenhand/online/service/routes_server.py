"""Routes: what a key may do, whether the server is well, and its figures."""

from __future__ import annotations

import asyncio

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool

from evenhand.online.service import messages
from evenhand.online.service.access import Caller
from evenhand.online.service.context import service_of
from evenhand.online.service.faults import Refused
from evenhand.online.service.guard import ANY_KEY, HEALTH, needs, routes
from evenhand.online.service.wire import Json

PATIENCE = 2.0  # seconds that a database has to answer in

router = routes("server")
_metrics = needs("read")
_metrics["responses"] |= {
    200: {"description": "the figures", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/v1/access", **needs(ANY_KEY), response_model=messages.Rights)
async def access(request: Request) -> Response:
    """What whoever asks may do."""
    caller: Caller = request.state.caller
    return Json({"open": caller.name is None, "name": caller.name, "scopes": sorted(caller.scopes)})


@router.get("/healthz", **needs(HEALTH), response_model=messages.Health)
async def healthz() -> Response:
    """Whether the server is alive."""
    return Json({"status": "ok"})


@router.get("/readyz", **needs(HEALTH, "unavailable"), response_model=messages.Health)
async def readyz(request: Request) -> Response:
    """Whether the server is ready: alive, and its database can be reached."""
    try:
        await asyncio.wait_for(service_of(request).ready(), PATIENCE)
    except TimeoutError:
        raise Refused("unavailable", f"the database has not answered for {PATIENCE:g} seconds") from None
    return Json({"status": "ok"})


@router.get("/metrics", **_metrics, response_class=Response)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    told = await run_in_threadpool(service_of(request).telemetry.exposition)
    return Response(told, media_type=CONTENT_TYPE_LATEST)
