"""How a request to the API is let in and read: who calls, the body, and the key by which a repetition is recognised."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from inspect import signature
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Header, Path, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase

from evenhand.core.errors import nearest
from evenhand.messages.rules import ALLOCATION, ARM, IDEMPOTENCY_KEY
from evenhand.service.http import limits
from evenhand.service.http.auth import Caller
from evenhand.service.http.problems import Refused, documented
from evenhand.service.http.service import Service
from evenhand.service.json import InvalidJson, parse_json
from evenhand.service.priority import LONG, PRIORITY

ALL, ONE = "/v1/allocations", "/v1/allocations/{name}"  # the paths of allocations
IS_NAME, IS_KEY = re.compile(ALLOCATION).fullmatch, re.compile(IDEMPOTENCY_KEY).fullmatch
ALWAYS = ("unauthenticated", "forbidden", "too_many_requests", "internal", "unavailable")  # errors of routes with a key
BODY = ("too_large", "unsupported_media_type", "invalid")  # errors of routes with a body

Answering = Callable[[Request], Coroutine[Any, Any, Response]]
Responses = dict[int | str, dict[str, Any]]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def errors(*codes: str, body: bool = False) -> Responses:
    """The descriptions of the error answers of a route that needs a key, beyond those of all such routes."""
    unread = ("damaged", "missing_part") if "unknown_allocation" in codes else ()
    return documented([*ALWAYS, *(BODY if body else ()), *codes, *unread])


def text(description: str, *media_types: str) -> Responses:
    """The description of a successful answer that is not JSON."""
    return {
        200: {"description": description, "content": {kind: {"schema": {"type": "string"}} for kind in media_types}}
    }


# --- who calls --------------------------------------------------------------------------------------------------------


class ApiKey(SecurityBase):
    """Who sends a request; the route has let it in before."""

    scheme_name = "key"
    model = BearerScheme(description="An API key, `evh_…`.")

    async def __call__(self, request: Request) -> Caller:
        """The sender."""
        caller: Caller = request.state.caller
        return caller


api_key = ApiKey()
Administrator = Annotated[Caller, Security(api_key, scopes=["administer"])]
Decider = Annotated[Caller, Security(api_key, scopes=["decide"])]
Rewarder = Annotated[Caller, Security(api_key, scopes=["reward"])]
Reader = Annotated[Caller, Security(api_key, scopes=["read"])]
Anyone = Annotated[Caller, Security(api_key)]


async def public(request: Request) -> None:
    """Let any request in, unless another website has directed it here; for pages without data."""
    service: Service = request.app.state.service
    await service.authenticator.check_public(request.headers)


def check_query(request: Request) -> None:
    """Refuse a query with parameters that the route does not have, such as misspelt ones."""
    if not request.scope["query_string"]:
        return
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known:
            hint = nearest(name, known) if known else ""
            raise Refused.at(f"query.{name[:100]}", f"there is no such parameter{hint}")


# --- paths and headers ------------------------------------------------------------------------------------------------

Name = Annotated[str, Path(pattern=ALLOCATION, description="name of the allocation", examples=["drinks"])]
ArmPath = Annotated[
    str, Path(min_length=1, max_length=200, pattern=ARM, description="name of the arm", examples=["tea"])
]


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Services = Annotated[Service, Depends(_service)]


async def once(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            pattern=IDEMPOTENCY_KEY,
            description="any string of 1 to 200 characters, new for each request: a request sent again with the same "
            "key is not carried out again, and has the answer of the first time (for seven days at least)",
            examples=["7c1f2d90-order-17"],
        ),
    ] = None,
) -> dict[str, Any]:
    """The options of a command: its key, the request by which a repetition is recognised, and how it is counted."""
    received = key and [request.method, *request.url.path.split("/")[4:], getattr(request.state, "body", None)]
    done = request.app.state.service.metrics.carried_out
    return {"key": key, "request": received, "api_key": request.state.caller.id, "done": done}


Once = Annotated[dict[str, Any], Depends(once)]
DryRun = Annotated[
    bool, Query(description="whether to write nothing, and answer what the same request without it would do")
]


# --- routes -----------------------------------------------------------------------------------------------------------


class KeyRoute(APIRoute):
    """A route that needs a key: FastAPI reads a request only after its sender was let in and its body was looked at.

    By itself FastAPI would parse a body before it knows who sends it, and accept JSON that readers treat differently.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        # FastAPI would make a validator of every answer, a tenth of a start: they are described when somebody asks.
        self.described = partial(APIRoute, path, endpoint, **given)
        responses = {code: about | {"model": None} for code, about in given["responses"].items()}
        super().__init__(path, endpoint, **given | {"response_model": None, "responses": responses})

    def get_route_handler(self) -> Answering:
        """The function that answers a request."""
        answer, scopes = self._answer(), self.dependant.dependencies[0].own_oauth_scopes
        scope = scopes[0] if scopes else None

        async def handler(request: Request) -> Response:
            service: Service = request.app.state.service
            # Before it is refused, so that the line in the log names it.
            request.state.caller = caller = await service.authenticator.caller(request.headers)
            caller.check(scope, request.path_params.get("name"))
            place = service.quotas.place(caller, request.path_params.get("name", ""))
            try:
                with service.quotas.request(caller):
                    check_query(request)
                    if self.body_field is None:
                        await place.take(limits.OWN.get(self.name, limits.REQUEST))
                    else:
                        request = _Read(request.scope, request.receive)
                        await request.read(self, service, place)
                    return await answer(request)
            except Refused:
                await place.hold(limits.REQUEST)  # a refusal takes its turn, too
                raise
            finally:
                place.leave()

        return handler

    def _answer(self) -> Answering:
        """The answer to a request that was let in."""
        return super().get_route_handler()


class DirectRoute(KeyRoute):
    """A route whose parameters are the caller, the service, the name, the message and the options of a command.

    FastAPI takes 70 µs more to find out those of a decision, of some 400 µs in all; what is invalid is left to it.
    """

    def _answer(self) -> Answering:
        ordinary, endpoint, field = super()._answer(), self.endpoint, self.body_field
        assert field is not None

        async def answer(request: Request) -> Response:
            name, key = request.path_params["name"], request.headers.get("idempotency-key")
            if not (IS_NAME(name) and (key is None or IS_KEY(key))):
                return await ordinary(request)
            options, message = await once(request, key), request.state.message
            if message is None:
                message = _validated(field, request.state.body)
            response: Response = await endpoint(request.state.caller, request.app.state.service, name, message, options)
            return response

        return answer


def route(
    method: Callable[..., Callable[[Endpoint], Endpoint]],
    path: str,
    tag: str,
    answer: Any,
    *codes: str,
    also: Responses | None = None,
    **options: Any,
) -> Callable[[Endpoint], Endpoint]:
    """A route that needs a key, with its answer and the codes of its errors beyond those that follow from the rest."""

    def add(endpoint: Endpoint) -> Endpoint:
        takes = signature(endpoint).parameters
        named, body = ["unknown_allocation"] * ("{name}" in path), "message" in takes
        codes_of = [*named, *["invalid"] * (not body), *codes, *["key_reused"] * ("once" in takes)]
        responses = errors(*codes_of, body=body) | (also or {})
        return method(path, responses=responses, tags=[tag], response_model=answer, **options)(endpoint)

    return add


class _Read(Request):
    """A request with a body in JSON, as FastAPI takes it."""

    async def json(self) -> Any:
        """The message of a large body, which pydantic takes as it is, or the plain value."""
        return self.state.body if self.state.message is None else self.state.message

    async def read(self, route: KeyRoute, service: Service, place: limits.Place) -> None:
        """Parse the body when it is its turn; a large one in a thread, so that others are answered meanwhile."""
        types = self.headers.getlist("content-type")
        if len(types) != 1 or not _is_json(types[0]):
            got = repr(types[0][:100]) if types else "nothing"
            message = f"the body must be sent as Content-Type: application/json, got {got}"
            raise Refused("unsupported_media_type", message)
        body, self.state.message = await self._received(place), None
        size = partial(service.store.size, self.path_params.get("name", ""))
        if len(body) <= limits.SMALL:
            await place.take(cost := limits.OWN.get(route.name, limits.REQUEST))
            self.state.body = _parsed(body)
        else:
            await place.take(limits.REQUEST)
            values = await limits.check_values(route.name, service.settings, body, size)
            each = limits.NAME if route.name in limits.NAMING else limits.VALUE
            await place.take(cost := limits.REQUEST + limits.BYTE * len(body) + each * values)
            read = partial(_read, route.body_field, body, PRIORITY.long() if cost > LONG else nullcontext())
            parsed = asyncio.get_running_loop().run_in_executor(service.parsers, read)
            self.state.body, self.state.message = await parsed
        work = limits.work_of(route.name, self.state.body, size)
        if work > cost:
            await place.take(cost + work)

    async def _received(self, place: limits.Place) -> bytes:
        """The body; pieces of large ones have turns, so that nobody waits for many that come together."""
        body = bytearray()
        async for piece in self.stream():
            if len(piece) > limits.SMALL:
                await place.take(limits.RECEIVED * len(piece))
                place.leave()
            body += piece
        self._body = cast(bytes, body)  # for which FastAPI asks; a copy of 8 MiB takes some milliseconds
        return self._body


def _read(field: Any, body: bytes, how: AbstractContextManager[None]) -> tuple[Any, Any]:
    """The plain value of a body, and its message."""
    with how:
        value = _parsed(body)
        return value, _validated(field, value)


def _validated(field: Any, value: Any) -> Any:
    message, errors = field.validate(value, loc=("body",))
    if errors:
        raise RequestValidationError(errors, body=value)
    return message


def _parsed(body: bytes) -> Any:
    try:
        value = parse_json(body)
    except InvalidJson as error:
        raise Refused("invalid", str(error), [("body", str(error))]) from None
    limits.check_fields(value)
    return value


def _is_json(content_type: str) -> bool:
    if content_type == "application/json":
        return True
    kind, *options = (part.strip().lower() for part in content_type.split(";"))
    return kind == "application/json" and options in ([], [""], ["charset=utf-8"], ['charset="utf-8"'])
