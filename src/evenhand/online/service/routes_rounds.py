"""Routes: decide, and take in what came of it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import Body, Request, Response

from evenhand.online.service import messages
from evenhand.online.service.context import Service, service_of
from evenhand.online.service.guard import needs, routes
from evenhand.online.service.limits import check_batch, check_chances
from evenhand.online.service.parameters import Key, Name
from evenhand.online.service.wire import Json
from evenhand.online.store import Decide, Described, Report, Total

router = routes("rounds")


@router.post(
    "/v1/allocations/{name}/decisions",
    **needs("decide", "unknown_allocation", "closed", "key_reused", body=True),
    response_model=messages.Decisions,
)
async def decide(request: Request, name: Name, message: Annotated[messages.Wish, Body()], key: Key = None) -> Response:
    """Decide who plays in the next rounds.

    Either `count` rounds with the same arms `available`, or a list of `rounds`. When the answer comes, the decisions
    are written down for good.
    """
    service = service_of(request)
    if isinstance(message, messages.Listed):
        wish = Decide(rounds=message.rounds, propensities=message.propensities, key=key)
        number = len(message.rounds)
    else:
        wish = Decide(message.count, message.available, propensities=message.propensities, key=key)
        number = message.count
    check_batch(service.settings, "decisions", number)
    if message.propensities:
        await _check_chances(service, name, number)
    told = await service.ask(name, wish)
    service.telemetry.decisions.inc(number)
    return Json(told)


async def _check_chances(service: Service, name: str, number: int) -> None:
    check_chances(service.settings, number, len((await service.ask(name, Described()))["arms"]))


@router.post(
    "/v1/allocations/{name}/reports",
    **needs("report", "unknown_allocation", "key_reused", body=True),
    response_model=messages.Answers,
)
async def report(request: Request, name: Name, message: messages.Reports, key: Key = None) -> Response:
    """Tell what arms earned, at any time, in any order, one by one or together.

    Every reward has an answer of its own: `accepted`; `duplicate`, told before; `late`, after the window, written down
    and not learned from; `conflict`, another reward was told before; `unknown`, no such decision, or the arm did not
    play in it; `invalid`, such as a reward out of range. Those that are accepted stand, whatever becomes of the others.
    """
    service = service_of(request)
    check_batch(service.settings, "reports", len(message.reports))
    reports = tuple((one.decision, one.rewards) for one in message.reports)
    told = await service.ask(name, Report(reports, key=key))
    for status, times in Counter(one["status"] for one in told["answers"]).items():
        service.telemetry.reports.labels(status).inc(times)
    return Json(told)


@router.post(
    "/v1/allocations/{name}/totals",
    **needs("report", "unknown_allocation", "conflict", "key_reused", body=True),
    response_model=messages.Credited,
)
async def total(request: Request, name: Name, message: messages.Sum, key: Key = None) -> Response:
    """Tell the anonymous sum of the round just decided: all that arrived in it, whoever earned it.

    It is credited in equal parts to the arms that played in that round.
    """
    return Json(await service_of(request).ask(name, Total(message.value, message.round, key=key)))
