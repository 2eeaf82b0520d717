"""Routes: make allocations, list them, and change them."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from evenhand.online.service import messages
from evenhand.online.service.context import service_of
from evenhand.online.service.guard import needs, routes
from evenhand.online.service.limits import check_arms
from evenhand.online.service.parameters import Key, Name
from evenhand.online.service.wire import Json
from evenhand.online.store import Change, Described

router = routes("allocations")
INFINITE = {"inf": math.inf, "-inf": -math.inf}  # which JSON has no numbers for


@router.post(
    "/v1/allocations",
    **needs("administer", "infeasible", "conflict", body=True)
    | {"status_code": 201, "response_model": messages.Allocation},
)
async def create(request: Request, message: messages.Creation) -> Response:
    """Make an allocation.

    Asked again for the very same, nothing is made, and the status is 200. Promised shares that nobody can keep are
    refused.
    """
    service = service_of(request)
    check_arms(service.settings, len(message.arms))
    wanted = message.model_dump()
    rewards = wanted.pop("rewards")
    limits = None if rewards is None else (rewards[0], rewards[1])
    wanted["parameters"] = {
        name: INFINITE.get(value, value) if isinstance(value, str) else value
        for name, value in wanted["parameters"].items()
    }
    new = await run_in_threadpool(partial(service.store.create, **wanted, rewards=limits))
    return Json(await service.ask(message.name, Described()), 201 if new else 200)


@router.get("/v1/allocations", **needs("read"), response_model=messages.Allocations)
async def allocations(request: Request) -> Response:
    """List the allocations, by name."""
    found = await run_in_threadpool(service_of(request).store.allocations)
    return Json({"allocations": [asdict(one) for one in found]})


@router.get(
    "/v1/allocations/{name}", **needs("read", "unknown_allocation", "invalid"), response_model=messages.Allocation
)
async def describe(request: Request, name: Name) -> Response:
    """How an allocation is set up."""
    return Json(await service_of(request).ask(name, Described()))


@router.post(
    "/v1/allocations/{name}/changes",
    **needs("administer", "unknown_allocation", "infeasible", "conflict", "key_reused", body=True),
    response_model=messages.Changed,
)
async def change(request: Request, name: Name, message: messages.Changing, key: Key = None) -> Response:
    """Change arms or promises, or close or reopen an allocation.

    What an arm is owed under a new promise counts from the next round. Promised shares that nobody can keep are
    refused, and nothing changes then.
    """
    service = service_of(request)
    values = message.model_dump(exclude={"change"}, exclude_none=True)
    if isinstance(message, messages.Add):
        there = await service.ask(name, Described())
        if message.arm not in there["arms"]:  # which is refused for that, unless it is an old request again
            check_arms(service.settings, len(there["arms"]) + 1)
    return Json(await service.ask(name, Change(message.change, values, key=key)))
