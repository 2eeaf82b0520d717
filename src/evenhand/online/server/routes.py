"""The routes of the API: allocations, their rounds and results, and the server itself."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Body, Header, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from evenhand.online.api import models
from evenhand.online.api.json import JsonResponse
from evenhand.online.api.problems import Refused
from evenhand.online.server.auth import Caller
from evenhand.online.server.limits import (
    Limited,
    check_arms,
    check_batch,
    check_new,
    check_propensities,
    check_rewards,
    check_rounds,
    values_of_arms,
    values_of_rewards,
    values_of_rounds,
)
from evenhand.online.server.quotas import LogDownload
from evenhand.online.server.routing import ANY_KEY, HEALTH, IdempotencyKey, Name, needs, router_of_scopes
from evenhand.online.server.service import service_of
from evenhand.online.store import Change, Decide, Describe, ReadAudit, Reward, Total
from evenhand.online.store.export import LogLimits, stream_log

TAGS = [
    {"name": "allocations", "description": "Create, list and change allocations."},
    {"name": "rounds", "description": "Request decisions and send their rewards."},
    {"name": "results", "description": "What each arm was promised and what it received."},
    {"name": "server", "description": "The access of a key, the health of the server, and its metrics."},
]
INFINITY = {"inf": math.inf, "-inf": -math.inf}  # JSON has no numbers for them
MAX_CHARACTERS = 2**28  # of available arms per log, which every row repeats
READY_TIMEOUT = 2.0  # seconds within which the database must answer

router = router_of_scopes()


# --- rounds -----------------------------------------------------------------------------------------------------------
# First, as routes are matched in order and these are requested most.


@router.post(
    "/v1/allocations/{name}/decisions",
    **needs("decide", "unknown_allocation", "closed", "key_reused", body=True),
    tags=["rounds"],
    response_model=models.Decisions,
)
async def decide(
    request: Request,
    name: Name,
    message: Annotated[models.DecisionRequest, Body(), Limited(values_of_rounds, check_rounds)],
    key: IdempotencyKey = None,
) -> Response:
    """Decide which arms play in the next rounds.

    Either `count` rounds with the same arms `available`, or a list of `rounds`. The decisions are durable when the
    answer is sent.
    """
    service = service_of(request)
    options: Any = {"propensities": message.propensities, "max_work": service.settings.max_work}
    options |= once(request, key)
    if isinstance(message, models.ListedRounds):
        command, number = Decide(rounds=message.rounds, **options), len(message.rounds)
    else:
        command, number = Decide(message.count, message.available, **options), message.count
    check_batch(service.settings, "decisions", number)
    if message.propensities:
        arms = len((await service.run(name, Describe()))["arms"])
        check_propensities(service.settings, number, arms)
    return JsonResponse(await service.run(name, command))


@router.post(
    "/v1/allocations/{name}/rewards",
    **needs("reward", "unknown_allocation", "key_reused", body=True),
    tags=["rounds"],
    response_model=models.RewardResults,
)
async def reward(
    request: Request,
    name: Name,
    message: Annotated[models.RewardRequest, Limited(values_of_rewards, check_rewards)],
    key: IdempotencyKey = None,
) -> Response:
    """Send the rewards of arms, at any time, in any order, one by one or together.

    Every reward has its own result: `accepted`; `duplicate`, received before; `late`, received after the window,
    recorded and not learned from; `conflict`, another reward was received before; `unknown`, there is no such decision,
    or the arm did not play in it; `invalid`, such as a reward out of range. Accepted rewards stand, whatever the
    results of the others.
    """
    service = service_of(request)
    rewards = tuple((entry.decision, entry.rewards) for entry in message.rewards)
    return JsonResponse(await service.run(name, Reward(rewards, **once(request, key))))


@router.post(
    "/v1/allocations/{name}/totals",
    **needs("reward", "unknown_allocation", "conflict", "key_reused", body=True),
    tags=["rounds"],
    response_model=models.TotalResult,
)
async def total(
    request: Request, name: Name, message: Annotated[models.TotalRequest, Limited()], key: IdempotencyKey = None
) -> Response:
    """Send the anonymous total of the round just decided: all rewards that arrived in it, of any arm.

    It is credited in equal parts to the arms that played in that round.
    """
    command = Total(message.value, message.round, **once(request, key))
    return JsonResponse(await service_of(request).run(name, command))


# --- allocations ------------------------------------------------------------------------------------------------------


@router.post(
    "/v1/allocations",
    **needs(
        "administer",
        "infeasible",
        "conflict",
        body=True,
        answers={200: {"model": models.Allocation, "description": "it exists with the same settings"}},
    ),
    tags=["allocations"],
    status_code=201,
    response_model=models.Allocation,
)
async def create(
    request: Request, message: Annotated[models.AllocationRequest, Limited(values_of_arms, check_new)]
) -> Response:
    """Create an allocation.

    If an allocation of that name exists with the same settings, nothing is created and the status is 200. Promised
    shares that cannot be kept are refused.
    """
    service, caller = service_of(request), caller_of(request)
    caller.check_allocation(message.name)
    options = message.model_dump()
    low, high = options.pop("rewards")
    options["parameters"] = {
        name: INFINITY.get(value, value) if isinstance(value, str) else value
        for name, value in options["parameters"].items()
    }
    new = await run_in_threadpool(partial(service.store.create, **options, rewards=(low, high), api_key=caller.id))
    return JsonResponse(await service.run(message.name, Describe()), 201 if new else 200)


@router.get("/v1/allocations", **needs("read"), tags=["allocations"], response_model=models.Allocations)
async def allocations(request: Request) -> Response:
    """List the allocations that the key is for, by name."""
    summaries, caller = await run_in_threadpool(service_of(request).store.allocations), caller_of(request)
    return JsonResponse({"allocations": [asdict(summary) for summary in summaries if caller.may_use(summary.name)]})


@router.get(
    "/v1/allocations/{name}",
    **needs("read", "unknown_allocation", "invalid"),
    tags=["allocations"],
    response_model=models.Allocation,
)
async def describe(request: Request, name: Name) -> Response:
    """Describe an allocation: its settings and its current round."""
    return JsonResponse(await service_of(request).run(name, Describe()))


@router.post(
    "/v1/allocations/{name}/changes",
    **needs("administer", "unknown_allocation", "infeasible", "conflict", "key_reused", body=True),
    tags=["allocations"],
    response_model=models.ChangeResult,
)
async def change(
    request: Request,
    name: Name,
    message: Annotated[models.ChangeRequest, Limited(values_of_arms)],
    key: IdempotencyKey = None,
) -> Response:
    """Change arms or promises, or close or reopen an allocation.

    What an arm is owed under a new promise counts from the next round. An arm that is promised the share that it has
    keeps what it is owed. Promised shares that cannot be kept are refused, and nothing changes.
    """
    service = service_of(request)
    values = message.model_dump(exclude={"change"}, exclude_none=True)
    if isinstance(message, models.Add):
        arms = (await service.run(name, Describe()))["arms"]
        if message.arm not in arms:  # an arm that exists is refused for that, unless the request is a repetition
            check_arms(service.settings, len(arms) + 1)
    return JsonResponse(await service.run(name, Change(message.change, values, **once(request, key))))


# --- results ----------------------------------------------------------------------------------------------------------


def _text(description: str, *media_types: str) -> dict[int, dict[str, Any]]:
    """The description of a successful answer that is not JSON."""
    return {
        200: {"description": description, "content": {kind: {"schema": {"type": "string"}} for kind in media_types}}
    }


UNCHANGED = {304: {"description": "nothing has happened since the answer with that ETag"}}


@router.get(
    "/v1/allocations/{name}/audit",
    **needs("read", "unknown_allocation", "invalid", answers=UNCHANGED),
    tags=["results"],
    response_model=models.Audit,
)
async def audit(
    request: Request,
    name: Name,
    limit: Annotated[int | None, Query(ge=1, lt=2**31, description="number of lines; default: all arms")] = None,
    seen: Annotated[str | None, Header(alias="If-None-Match", description="ETag of an earlier answer")] = None,
) -> Response:
    """Show what each arm was promised, and what it received.

    With a limit, the arms furthest behind their promise come first.
    """
    service, headers = service_of(request), {"cache-control": "private, no-cache"}
    etag = await service.etag(name, limit)
    if etag is not None:
        headers["etag"] = etag
        if seen is not None and {"*", etag} & {tag.strip() for tag in seen.split(",")}:
            return Response(status_code=304, headers=headers)
    return JsonResponse(await service.run(name, ReadAudit(limit)), headers=headers)


@router.get(
    "/v1/allocations/{name}/log",
    **needs("read", "unknown_allocation", "too_large", "invalid", answers=_text("the log", *models.LOG_TYPES.values())),
    tags=["results"],
    response_class=StreamingResponse,
)
async def log(
    request: Request,
    name: Name,
    format: Annotated[Literal["csv", "parquet"], Query(description="format of the file")] = "csv",
    since: Annotated[int, Query(ge=1, lt=2**53, description="first round")] = 1,
    until: Annotated[int | None, Query(ge=1, lt=2**53, description="last round; default: the last one decided")] = None,
    estimate: Annotated[
        bool, Query(description="whether to estimate propensities that have no closed form and were not requested")
    ] = False,
) -> Response:
    """Download the log of the decisions and rewards, in the columns that off-policy evaluation reads.

    Estimating propensities replays every event, which takes as long as it took to decide.
    """
    service = service_of(request)
    download = service.quotas.log(caller_of(request), estimate)
    limits = LogLimits(service.settings.max_work, MAX_CHARACTERS, download.proceed)
    begin = partial(stream_log, service.store.database, name, format, since, until, estimate, limits)
    try:
        pieces = await download.run(request, begin)
    except BaseException:
        download.end()
        raise
    headers = {"content-disposition": f'attachment; filename="{name}.{format}"'}
    return LogResponse(request, download, pieces, media_type=models.LOG_TYPES[format], headers=headers)


class LogResponse(StreamingResponse):
    """A log that is sent while it is written.

    Args:
        request: that asked for it.
        download: ends with the answer, however it ends.
        pieces: of the log.
        **options: of the answer.
    """

    def __init__(self, request: Request, download: LogDownload, pieces: Iterator[bytes], **options: Any) -> None:
        super().__init__(self._written(request, download, pieces), **options)
        self._download = download

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._download.end()

    @staticmethod
    async def _written(request: Request, download: LogDownload, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        while piece := await download.run(request, lambda: next(pieces, b"")):
            yield piece


# --- server -----------------------------------------------------------------------------------------------------------


@router.get("/v1/access", **needs(ANY_KEY), tags=["server"], response_model=models.AccessInfo)
async def access(request: Request) -> Response:
    """Show the access of the caller."""
    caller = caller_of(request)
    access = {"open": caller.name is None, "name": caller.name, "scopes": sorted(caller.scopes)}
    names = None if caller.allocations is None else sorted(caller.allocations)
    return JsonResponse(access | {"allocations": names, "expires": caller.expires})


@router.get("/healthz", **needs(HEALTH), tags=["server"], response_model=models.Health)
async def healthz() -> Response:
    """Whether the server is alive."""
    return JsonResponse({"status": "ok"})


@router.get("/readyz", **needs(HEALTH, "unavailable"), tags=["server"], response_model=models.Health)
async def readyz(request: Request) -> Response:
    """Whether the server is ready: alive, and its database can be reached."""
    try:
        await asyncio.wait_for(service_of(request).ready(), READY_TIMEOUT)
    except TimeoutError:
        raise Refused("unavailable", f"the database has not answered within {READY_TIMEOUT:g} seconds") from None
    return JsonResponse({"status": "ok"})


@router.get(
    "/metrics", **needs("read", answers=_text("the metrics", "text/plain")), tags=["server"], response_class=Response
)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus, of all allocations."""
    caller_of(request).check_all("reading metrics")
    content = await run_in_threadpool(service_of(request).metrics.exposition)
    return Response(content, media_type=CONTENT_TYPE_LATEST)


# --- callers and repetitions ------------------------------------------------------------------------------------------


def caller_of(request: Request) -> Caller:
    """The sender of a request."""
    caller: Caller = request.state.caller
    return caller


def once(request: Request, key: str | None) -> dict[str, Any]:
    """The options of a command with an idempotency key, which is recognised by route and body, and counted once."""
    received = key and [request.url.path.rpartition("/")[2], request.state.body]
    done = service_of(request).metrics.carried_out
    return {"key": key, "request": received, "api_key": caller_of(request).id, "done": done}
