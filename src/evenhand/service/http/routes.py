"""The routes of the API: allocations, their rounds and results, and the server itself."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BeforeValidator, Discriminator, Tag
from starlette.concurrency import run_in_threadpool

from evenhand.core.numbers import shares_of
from evenhand.messages import answers, requests
from evenhand.messages.audit import Audit
from evenhand.messages.changes import AddArm, ArmValues, Change, Erase
from evenhand.messages.prices import LogPrice, Price
from evenhand.messages.rules import MONTH, SHARES
from evenhand.service import store
from evenhand.service.http.deliveries import check_registered
from evenhand.service.http.dependencies import (
    ALL,
    ONE,
    Administrator,
    Anyone,
    ArmPath,
    Decider,
    DirectRoute,
    DryRun,
    KeyRoute,
    Name,
    Once,
    Reader,
    Responses,
    Rewarder,
    Services,
    errors,
    route,
    text,
)
from evenhand.service.http.limits import REPORTED, check_arms, check_number, check_propensities
from evenhand.service.http.problems import JsonResponse, Refused, count_or_promises, documented
from evenhand.service.json import encode_by_pieces
from evenhand.service.store.export import read_event_page

TAGS = [
    {"name": "allocations", "description": "Create, list and change allocations."},
    {"name": "rounds", "description": "Request decisions and send their rewards."},
    {"name": "results", "description": "What each arm was promised and what it received."},
    {"name": "webhooks", "description": "Addresses to which events are sent."},
    {"name": "server", "description": "The access of a key, the health of the server, and its metrics."},
]
EXISTS = "it exists with the same settings; with `dry_run` what would be created"
INFINITY = {"inf": math.inf, "-inf": -math.inf}  # JSON has no numbers for them
READY_TIMEOUT = 2.0  # seconds within which the database must answer
PAGE, MAX_PAGE = 100, 1000  # entries of a page

direct = APIRouter(route_class=DirectRoute, generate_unique_id_function=lambda route: route.name)
router = APIRouter(route_class=KeyRoute, generate_unique_id_function=lambda route: route.name)
open_router = APIRouter(generate_unique_id_function=lambda route: route.name)
#: Which of the two it is, decides a field that one of them has.
DecisionRequest = Annotated[
    Annotated[requests.CountedRounds, Tag("CountedRounds")] | Annotated[requests.ListedRounds, Tag("ListedRounds")],
    Discriminator(lambda body: "ListedRounds" if isinstance(body, dict) and "rounds" in body else "CountedRounds"),
]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="entries at most")]
Cursor = Annotated[str | None, Query(max_length=1000, description="`next` of the page before; default: the first page")]


# --- rounds -----------------------------------------------------------------------------------------------------------
# First, as routes are matched in order and these are requested most.


@route(direct.post, ONE + "/decisions", "rounds", answers.Decisions, "closed")
async def decide(caller: Decider, service: Services, name: Name, message: DecisionRequest, once: Once) -> Response:
    """Decide which arms play in the next rounds.

    Either `count` rounds of which the same is known, or a list of `rounds`. The decisions are durable when the answer
    is sent.
    """
    if isinstance(message, requests.ListedRounds):
        number = len(message.rounds)
    else:
        number = message.count
        check_arms(service.settings, message.available)
    check_number("a request", service.settings.max_batch, "decisions", number)
    command = store.Decide(**vars(message), max_work=service.settings.max_work, **once)
    if message.propensities:
        check_propensities(service.settings, number, len((await service.run(name, store.Describe())).arms))
    return JsonResponse(await service.run(name, command))


@route(router.get, ONE + "/decisions/{id}", "rounds", answers.DecisionOutcome, "unknown_decision")
async def decision(caller: Reader, service: Services, name: Name, id: str) -> Response:
    """Show a decision: who could play, who played, and what came of it."""
    return JsonResponse(await service.run(name, store.ReadDecision(id)))


@route(direct.post, ONE + "/rewards", "rounds", answers.RewardResults)
async def reward(
    caller: Rewarder, service: Services, name: Name, message: requests.RewardRequest, once: Once
) -> Response:
    """Send the rewards of arms, at any time, in any order, one by one or together.

    Every reward has its own result: `accepted`; `duplicate`, received before; `late`, received after the window,
    recorded and not learned from; `conflict`, another reward was received before; `unknown`, there is no such decision,
    or the arm did not play in it; `invalid`, such as a reward out of range. Accepted rewards stand, whatever the
    results of the others.
    """
    rewards = tuple((entry.decision, entry.rewards) for entry in message.rewards)
    check_number("a request", service.settings.max_batch, "rewards", sum(len(some) for _, some in rewards))
    return JsonResponse(await service.run(name, store.Reward(rewards, **once)))


@route(router.post, ONE + "/leases", "rounds", answers.Lease, "closed")
async def lease(caller: Decider, service: Services, name: Name, message: requests.LeaseRequest, once: Once) -> Response:
    """Lease the next rounds: you decide them yourself, without asking again.

    How often each arm plays is decided now, with promised shares kept exactly, and counts as played until the lease is
    over. Report what was played; what is not reported in time is returned, as if there had been no such rounds.
    """
    options: Any = once | {"max_work": service.settings.max_work, "max_leases": service.settings.max_leases}
    check_arms(service.settings, message.available)
    command = store.LeaseRounds(message.decisions, message.seconds, message.available, message.units, **options)
    return JsonResponse(await service.run(name, command))


@route(
    router.post, ONE + "/leases/{id}/reports", "rounds", answers.LeaseReport, "unknown_lease", "lease_over", "conflict"
)
async def report(
    caller: Decider, service: Services, name: Name, id: str, message: requests.ReportRequest, once: Once
) -> Response:
    """Report the decisions of a lease that were played so far, and rewards, as often as you like.

    A report may be sent again: what is known already is not taken twice. With rewards it requires the scope `reward`,
    too. Rewards can also be sent one by one, as those of other decisions: position p has the id `round` + p.
    """
    if message.rewards:
        caller.check("reward")
    rewards = {arm: (some.positions, some.values) for arm, some in message.rewards.items()}
    limit = REPORTED * service.settings.max_batch
    check_number("a report", limit, "rewards", sum(len(positions) for positions, _ in rewards.values()))
    check_number("a report", limit, "columns", len(message.columns or ()))
    command = store.ReportLease(id, message.played, rewards, message.columns, message.finished, **once)
    return JsonResponse(await service.run(name, command))


@route(router.post, ONE + "/totals", "rounds", answers.TotalResult, "conflict")
async def total(
    caller: Rewarder, service: Services, name: Name, message: requests.TotalRequest, once: Once
) -> Response:
    """Send the anonymous total of the round just decided: all rewards that arrived in it, of any arm.

    It is credited in equal parts to the arms that played in that round.
    """
    return JsonResponse(await service.run(name, store.Total(message.value, message.round, **once)))


# --- allocations ------------------------------------------------------------------------------------------------------


@route(
    router.post,
    ALL,
    "allocations",
    answers.Allocation,
    "infeasible",
    "conflict",
    "unknown_allocation",
    status_code=201,
    also={200: {"model": answers.Allocation | answers.Plan, "description": EXISTS}},
)
async def create(
    caller: Administrator, service: Services, message: requests.AllocationRequest, dry_run: DryRun = False
) -> Response:
    """Create an allocation.

    If an allocation of that name exists with the same settings, nothing is created and the status is 200. Promised
    shares that cannot be kept are refused. With `dry_run` nothing is written: the answer is a plan of what each arm
    would be promised, or the error that the request itself would have.

    With `start_from` the policy learns beforehand from the evidence of another allocation, which the key must be
    allowed to read, or from counts. Its promises, its pending decisions and its keys are not taken over.
    """
    caller.check(None, message.name)
    if isinstance(message.start_from, str):
        caller.check("read", message.start_from)
    check_arms(service.settings, message.arms)
    options = dict(vars(message))
    low, high = options.pop("rewards")
    options["parameters"] = {
        name: INFINITY.get(value, value) if isinstance(value, str) else value
        for name, value in options["parameters"].items()
    }
    if dry_run:
        return await _planned(await run_in_threadpool(partial(service.store.plan, **options, rewards=(low, high))))
    new = await run_in_threadpool(partial(service.store.create, **options, rewards=(low, high), api_key=caller.id))
    return JsonResponse(await service.run(message.name, store.Describe()), 201 if new else 200)


@route(router.post, "/v1/price", "allocations", LogPrice, "infeasible")
async def price_log(caller: Administrator, service: Services, message: requests.PriceRequest) -> Response:
    """Say what promised shares would cost, by a log of decisions that is sent with the request and not kept.

    The answer has what a new allocation takes as `start_from`, too.
    """
    from evenhand.bandit.evaluation.price import priced_log  # which loads pandas

    return JsonResponse(await run_in_threadpool(priced_log, message))


async def _planned(plan: answers.Plan) -> Response:
    return Response(await run_in_threadpool(encode_by_pieces, plan, "arms"), media_type="application/json")


@route(router.get, ALL, "allocations", answers.Allocations)
async def allocations(
    caller: Reader,
    service: Services,
    limit: Limit = PAGE,
    cursor: Cursor = None,
    health: Annotated[bool, Query(description="whether to add the health of each, which loads them")] = False,
) -> Response:
    """List the allocations that the key is for, by name."""
    listed = await run_in_threadpool(service.store.allocations, limit, cursor, caller.allocations)
    if health:
        listed = replace(listed, allocations=await service.with_health(listed.allocations))
    return JsonResponse(listed)


@route(router.get, ONE, "allocations", answers.Allocation)
async def describe(caller: Reader, service: Services, name: Name) -> Response:
    """Describe an allocation: its settings and its current round."""
    return JsonResponse(await service.run(name, store.Describe()))


Version = Annotated[
    int | None, Query(ge=0, lt=2**63, description="that the allocation must have, so that no other change came between")
]


@route(
    router.post,
    ONE + "/changes",
    "allocations",
    answers.ChangeResult | answers.Plan,
    "unknown_arm",
    "conflict",
    "infeasible",
)
async def change(
    caller: Administrator,
    service: Services,
    name: Name,
    message: Annotated[Change, Discriminator("change")],
    once: Once,
    dry_run: DryRun = False,
    version: Version = None,
) -> Response:
    """Change arms or promises, or close or reopen an allocation.

    A change is made as a whole or not at all, and begins with the next round. Promises that cannot be kept are refused.
    With `dry_run` nothing is written: the answer is a plan of what each arm would be promised, or the error that the
    request itself would have.
    """
    options: Any = {} if dry_run else once
    command = store.Change(message, version, dry_run, max_arms=service.settings.max_arms, **options)
    result = await service.run(name, command)
    return await _planned(result) if dry_run else JsonResponse(result)


@route(router.get, ONE + "/arms", "allocations", answers.Arms)
async def arms(caller: Reader, service: Services, name: Name, limit: Limit = PAGE, cursor: Cursor = None) -> Response:
    """List the arms of an allocation, in their order."""
    return JsonResponse(await service.run(name, store.ReadArms(limit, cursor)))


@route(
    router.put,
    ONE + "/arms/{arm:path}",
    "allocations",
    answers.ChangeResult,
    "conflict",
    "infeasible",
    status_code=201,
    also={200: {"model": answers.ChangeResult, "description": "it is there with the same values"}},
)
async def add(
    caller: Administrator, service: Services, name: Name, arm: ArmPath, message: ArmValues, once: Once
) -> Response:
    """Add an arm, as the change `add`; if it is there with the same values, nothing changes and the status is 200."""
    command = store.Change(AddArm(arm=arm, **vars(message)), max_arms=service.settings.max_arms, **once)
    result = await service.run(name, command)
    return JsonResponse(result, 201 if result.changed else 200)


@route(router.delete, ONE + "/arms/{arm:path}", "allocations", answers.ChangeResult, "unknown_arm")
async def erase_arm(caller: Administrator, service: Services, name: Name, arm: ArmPath, once: Once) -> Response:
    """Erase the name of an arm, as the change `erase`: the arm is retired, and called `erased-3` or so.

    The name is then nowhere in the database, and in no later answer, export or log. What was played stays counted.
    """
    return JsonResponse(await service.run(name, store.Change(Erase(arm), **once)))


# --- results ----------------------------------------------------------------------------------------------------------


UNCHANGED: Responses = {304: {"description": "nothing has happened since the answer with that ETag"}}


@route(router.get, ONE + "/audit", "results", Audit, also=UNCHANGED)
async def audit(
    caller: Reader,
    service: Services,
    name: Name,
    limit: Annotated[int | None, Query(ge=1, lt=2**31, description="number of lines; default: all arms")] = None,
    seen: Annotated[str | None, Header(alias="If-None-Match", description="ETag of an earlier answer")] = None,
) -> Response:
    """Show what each arm was promised, and what it received.

    With a limit, the arms furthest behind their promise come first.
    """
    headers, etag = {"cache-control": "private, no-cache"}, await service.etag(name, limit)
    if etag is not None:
        headers["etag"] = etag
        if seen is not None and {"*", etag} & {tag.strip() for tag in seen.split(",")}:
            return Response(status_code=304, headers=headers)
    made = await service.with_authors(await service.run(name, store.ReadAudit(limit)))
    content = await run_in_threadpool(encode_by_pieces, made, "lines")
    return Response(content, headers=headers, media_type="application/json")


INSIDE: dict[str, Any] = {"exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0}  # which the bandit checks, and says why


@route(router.get, ONE + "/differences", "results", answers.Differences)
async def differences(
    caller: Reader,
    service: Services,
    name: Name,
    control: Annotated[
        str | None, Query(max_length=1000, description="with which all others are compared; default: all pairs")
    ] = None,
    of: Annotated[Literal["arms", "groups"], Query(description="what is compared")] = "arms",
    month: Annotated[
        str | None, Query(pattern=MONTH, description="in UTC, such as `2026-11`; default: all rounds")
    ] = None,
    assume: Annotated[
        answers.Assumption | None, Query(description="of rewards that are not known; default: the worst")
    ] = None,
    confidence: Annotated[
        float, Query(json_schema_extra=INSIDE, description="with which all intervals hold at once")
    ] = 0.95,
) -> Response:
    """Compare mean rewards of arms or groups, with intervals that hold however often one looks."""
    return JsonResponse(await service.run(name, store.ReadDifferences(control, of, month, assume, confidence)))


@route(router.get, ONE + "/stopping", "results", answers.Stopping)
async def stopping(
    caller: Reader,
    service: Services,
    name: Name,
    delta: Annotated[
        float, Query(json_schema_extra=INSIDE, description="probability with which the answer may be wrong")
    ] = 0.05,
    epsilon: Annotated[float, Query(ge=0.0, description="by how much another arm may be better, in reward")] = 0.0,
    best: Annotated[
        int | Literal["promises"] | None,
        BeforeValidator(count_or_promises),
        Query(
            description="how many best arms are to be known, or `promises` for those that the best shares under the "
            "promises give more than a minimum; default: as many as play in a round"
        ),
    ] = None,
) -> Response:
    """Say whether one may stop: the arms that can still be the best, and what this rests on.

    It may be asked as often as one likes: the error is at most `delta` over all times together.
    """
    return JsonResponse(await service.run(name, store.ReadStopping(delta, epsilon, best)))


@route(router.get, ONE + "/price", "results", Price)
async def price(
    caller: Reader,
    service: Services,
    name: Name,
    promise: Annotated[
        str | None,
        Query(
            pattern=SHARES,
            description="shares of the rounds, such as `0.05,0.1` or `5%,10%`, each for every active arm; "
            "default: 5, 10 and 15%",
        ),
    ] = None,
) -> Response:
    """Say what promised shares would cost in the long run, from the rewards so far, with an interval."""
    shares = None if promise is None else tuple(shares_of(promise, "promise"))
    return JsonResponse(await service.run(name, store.ReadPrice(shares)))


@route(router.get, ONE + "/events", "results", answers.Events)
async def events(
    caller: Reader,
    service: Services,
    name: Name,
    after: Annotated[int, Query(ge=0, lt=2**63, description="sequence of the last event that is known")] = 0,
    limit: Limit = PAGE,
) -> Response:
    """List what happened: decisions, rewards, and changes of arms and promises, in order."""
    return JsonResponse(await run_in_threadpool(read_event_page, service.store.database, name, after, limit))


@route(router.post, ONE + "/webhooks", "webhooks", answers.Webhook, "too_large", status_code=201)
async def add_webhook(
    caller: Administrator, service: Services, name: Name, message: requests.WebhookRequest
) -> Response:
    """Register an address to which events are sent, signed as Standard Webhooks has it.

    They are sent in order, each at least once; the answer has the secret with which a receiver verifies them.
    """
    await run_in_threadpool(check_registered, message.url, service.settings.private_webhooks)
    add = partial(service.webhooks.add, name, **vars(message))
    return JsonResponse(await run_in_threadpool(add), 201)


@route(router.get, ONE + "/webhooks", "webhooks", answers.Webhooks)
async def webhooks(caller: Administrator, service: Services, name: Name) -> Response:
    """List the addresses to which events are sent, how far each is, what is wrong with it, and its last deliveries."""
    return JsonResponse(await run_in_threadpool(service.webhooks.listed, name))


@route(router.delete, ONE + "/webhooks/{id}", "webhooks", answers.Webhook, "unknown_webhook")
async def remove_webhook(
    caller: Administrator,
    service: Services,
    name: Name,
    id: Annotated[str, Path(max_length=100, description="id of the webhook", examples=["6f1c2d90a1b2c3d4"])],
) -> Response:
    """Remove an address: nothing is sent to it any more."""
    return JsonResponse(await run_in_threadpool(service.webhooks.remove, name, id))


# --- server -----------------------------------------------------------------------------------------------------------


@router.get("/v1/access", responses=errors(), tags=["server"], response_model=answers.AccessInfo)
async def access(caller: Anyone) -> Response:
    """Show the access of the caller."""
    names = None if caller.allocations is None else tuple(sorted(caller.allocations))
    expires = None if caller.expires is None else answers.moment(caller.expires)
    scopes = tuple(sorted(caller.scopes))
    return JsonResponse(answers.AccessInfo(caller.name is None, caller.name, scopes, names, expires))


@open_router.get("/healthz", responses=documented(["internal"]), tags=["server"], response_model=answers.Health)
async def healthz() -> Response:
    """Whether the server is alive."""
    return JsonResponse(answers.Health())


@open_router.get(
    "/readyz", responses=documented(["internal", "unavailable"]), tags=["server"], response_model=answers.Health
)
async def readyz(service: Services) -> Response:
    """Whether the server is ready: alive, and its database can be reached."""
    try:
        await asyncio.wait_for(service.ready(), READY_TIMEOUT)
    except TimeoutError:
        raise Refused("unavailable", f"the database has not answered within {READY_TIMEOUT:g} seconds") from None
    return JsonResponse(answers.Health())


@router.get(
    "/metrics", responses={**errors(), **text("the metrics", "text/plain")}, tags=["server"], response_class=Response
)
async def metrics(caller: Reader, service: Services) -> Response:
    """Metrics for Prometheus, of all allocations."""
    caller.check_all("reading metrics")
    content = await run_in_threadpool(service.metrics.exposition)
    return Response(content, media_type=CONTENT_TYPE_LATEST)
