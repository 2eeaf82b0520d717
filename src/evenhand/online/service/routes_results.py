"""Routes: what each arm got, and the log."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Annotated, Any, Literal

import orjson
from fastapi import Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from evenhand.online.service import messages
from evenhand.online.service.context import service_of
from evenhand.online.service.guard import needs, routes
from evenhand.online.service.logs import MEDIA, written
from evenhand.online.service.parameters import Name
from evenhand.online.service.wire import Json
from evenhand.online.store import Audited

router = routes("results")

_audit = needs("read", "unknown_allocation", "invalid")
_audit["responses"] |= {304: {"description": "nothing has happened since the answer with that ETag"}}
_log = needs("read", "unknown_allocation", "invalid")
_log["responses"] |= {
    200: {"description": "the log", "content": {kind: {"schema": {"type": "string"}} for kind in MEDIA.values()}}
}


@router.get("/v1/allocations/{name}/audit", **_audit, response_model=messages.Audit)
async def audit(
    request: Request,
    name: Name,
    limit: Annotated[int | None, Query(ge=1, lt=2**31, description="of the lines; left out: all arms")] = None,
    seen: Annotated[str | None, Header(alias="If-None-Match", description="ETag of an earlier answer")] = None,
) -> Response:
    """What each arm was promised, and what it got.

    With a limit those furthest behind their promise come first.
    """
    told = await service_of(request).ask(name, Audited(limit))
    headers = {"etag": _tag(told), "cache-control": "private, no-cache"}
    if seen is not None and {"*", headers["etag"]} & {one.strip() for one in seen.split(",")}:
        return Response(status_code=304, headers=headers)
    return Json(told, headers=headers)


@router.get("/v1/allocations/{name}/log", **_log, response_class=StreamingResponse)
async def log(
    request: Request,
    name: Name,
    format: Annotated[Literal["csv", "parquet"], Query(description="of the file")] = "csv",
    since: Annotated[int, Query(ge=1, lt=2**53, description="the first round")] = 1,
    until: Annotated[int | None, Query(ge=1, lt=2**53, description="the last round; left out: of all")] = None,
    estimate: Annotated[
        bool, Query(description="whether to estimate chances that have no closed form and were not asked for")
    ] = False,
) -> Response:
    """The log of the decisions and reports, in the columns that off-policy evaluation reads.

    Estimating chances replays all that happened, which takes as long as it took to decide.
    """
    store = service_of(request).store
    pieces = await run_in_threadpool(partial(written, store, name, format, since, until, estimate))
    headers = {"content-disposition": f'attachment; filename="{name}.{format}"'}
    return StreamingResponse(pieces, media_type=MEDIA[format], headers=headers)


def _tag(told: dict[str, Any]) -> str:
    """Names what an audit says, whenever it says it."""
    return f'W/"{hashlib.sha256(orjson.dumps(told | {"time": None})).hexdigest()[:32]}"'
