"""Routes that declare their scope, the arguments of their endpoints, and the service that they serve."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Header, Path, Request, Response, params
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from evenhand.core.errors import nearest
from evenhand.online.api.json import InvalidJson, parse_json
from evenhand.online.api.models import ALLOCATION, IDEMPOTENCY_KEY, MAX_DETAILS
from evenhand.online.api.problems import Refused, describe_errors, documented, invalid_request
from evenhand.online.server.auth import Authenticator, Cached
from evenhand.online.server.metrics import Metrics
from evenhand.online.server.settings import Settings
from evenhand.online.store import Store
from evenhand.online.store.api_keys import SCOPES
from evenhand.online.store.commands import Answer, Command

SECURITY_SCHEME = "key"  # name of the kind of access in the OpenAPI description
SCOPE_FIELD = "x-scope"  # the field of a route's OpenAPI description with its scope
#: What a route can need instead of a scope: any key; no key, as it shows no data; no key and no database.
ANY_KEY, PUBLIC, HEALTH = "any key", "none", "none, ever"
ERRORS = {
    HEALTH: ("internal",),
    PUBLIC: ("forbidden", "internal"),
    ANY_KEY: ("unauthenticated", "forbidden", "internal", "unavailable"),
}
BODY_ERRORS = ("too_large", "unsupported_media_type", "invalid")

Name = Annotated[str, Path(pattern=ALLOCATION, description="name of the allocation", examples=["drinks"])]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=IDEMPOTENCY_KEY,
        description="any string, new for each request: a request sent again with the same key is not carried out "
        "again, and has the answer of the first time (for seven days at least)",
        examples=["7c1f2d90-order-17"],
    ),
]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Service:
    """What the routes of a server use.

    Attributes:
        store: the allocations.
        settings: the limits.
        authenticator: checks keys and scopes.
        metrics: counts requests, decisions and rewards.
    """

    def __init__(self, store: Store, settings: Settings, metrics: Metrics) -> None:
        self.store, self.settings, self.metrics = store, settings, metrics
        self.authenticator = Authenticator(store.keys, settings.local)
        self._ready: Cached[None] = Cached()

    async def run(self, name: str, command: Command) -> Answer:
        """The answer to a command of an allocation, after its events have been committed."""
        return await asyncio.wrap_future(self.store.submit(name, command))

    async def ready(self) -> None:
        """Return if the database can be reached; it is tried at most once per second.

        Raises:
            StoreUnavailable: it cannot be reached.
        """
        await self._ready(None, self.store.ready)


def service_of(request: Request) -> Service:
    """The service of the app that received a request."""
    service: Service = request.app.state.service
    return service


# --- declaring routes -------------------------------------------------------------------------------------------------


def needs(scope: str, *codes: str, body: bool = False) -> dict[str, Any]:
    """The options of a route: the scope that it needs, and the errors that it answers with.

    Args:
        scope: that of a key, `ANY_KEY`, `PUBLIC` or `HEALTH`.
        *codes: of errors, beyond those of all such routes.
        body: whether it takes a body.

    Example:
        >>> needs("decide", "closed")["openapi_extra"]
        {'x-scope': 'decide', 'security': [{'key': ['decide']}]}
    """
    scopes: list[str] = [] if scope == ANY_KEY else [scope]
    security = [] if scope in (PUBLIC, HEALTH) else [{SECURITY_SCHEME: scopes}]
    answers = documented([*ERRORS.get(scope, ERRORS[ANY_KEY]), *(BODY_ERRORS if body else ()), *codes])
    return {"openapi_extra": {SCOPE_FIELD: scope, "security": security}, "responses": answers}


def router_of_scopes(described: bool = True) -> APIRouter:
    """A router for routes that are declared with `needs`.

    Args:
        described: whether they are in the OpenAPI description.

    Example:
        >>> @router_of_scopes().get("/tea")
        ... async def tea() -> None: ...
        Traceback (most recent call last):
        ...
        ValueError: the route /tea does not declare its scope
    """
    return APIRouter(
        route_class=ScopedRoute,
        include_in_schema=described,
        generate_unique_id_function=lambda route: route.name,
    )


def title(endpoint: Callable[..., Any]) -> str:
    """The first line of an endpoint's docstring, up to a colon.

    Example:
        >>> async def brew() -> None:
        ...     '''Make tea: black or green.'''
        >>> title(brew)
        'Make tea'
    """
    first, *_ = (endpoint.__doc__ or endpoint.__name__).splitlines()
    return first.partition(":")[0].removesuffix(".")


class ScopedRoute(APIRoute):
    """A route that checks the key of a request before anything else of it is read.

    A route without a declared scope is refused when it is made. Its title is the beginning of its endpoint's docstring.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["summary"] = options.get("summary") or title(endpoint)
        super().__init__(path, endpoint, **options)

    def scope(self) -> str:
        """The scope that it needs, `ANY_KEY`, `PUBLIC` or `HEALTH`.

        Raises:
            ValueError: none is declared.
        """
        scope: str = (self.openapi_extra or {}).get(SCOPE_FIELD, "")
        if scope not in (*SCOPES, *ERRORS):
            raise ValueError(f"the route {self.path} does not declare its scope")
        return scope

    def get_route_handler(self) -> Handler:
        """The function that answers a request."""
        scope, endpoint = self.scope(), self.endpoint
        arguments = Arguments(endpoint, self.param_convertors)

        async def handler(request: Request) -> Response:
            authenticator = service_of(request).authenticator
            if scope == PUBLIC:
                await authenticator.check_public(request.headers)
            elif scope != HEALTH:
                request.state.caller = await authenticator.check(request.headers, None if scope == ANY_KEY else scope)
                arguments.check_query(request)
            answer: Response = await endpoint(**await arguments.read(request))
            return answer

        return handler


# --- the arguments of an endpoint -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parameter:
    """An argument in the path, in the query or in a header."""

    name: str
    where: str
    alias: str
    hint: Any
    adapter: TypeAdapter[Any]
    default: Any

    def value(self, request: Request) -> str | None:
        """Its value in a request; None if it is not given."""
        value: str | None
        if self.where == "path":
            value = request.path_params[self.name]
        elif self.where == "header":
            value = request.headers.get(self.alias)
        else:
            value = request.query_params.get(self.alias)
        return value


class Arguments:
    """The arguments of an endpoint, by its signature in FastAPI's terms, read strictly from a request.

    FastAPI could read them, too; this takes less than half the time, and accepts no body that is not declared as JSON.

    Args:
        endpoint: takes the request, parameters of the path, the query and headers, and a message, which is the body.
        path: names of the parameters of the path.

    Example:
        >>> from pydantic import BaseModel
        >>> class Tea(BaseModel): ...
        >>> def brew(request: Request, name: str, tea: Tea) -> None: ...
        >>> arguments = Arguments(brew, ["name"])
        >>> arguments.has_body, [parameter.where for parameter in arguments.parameters]
        (True, ['path'])
    """

    def __init__(self, endpoint: Callable[..., Any], path: Collection[str]) -> None:
        hints, signature = get_type_hints(endpoint, include_extras=True), inspect.signature(endpoint).parameters
        self.parameters: list[_Parameter] = []
        self._request, self._body, self._hint, self._message = "", "", Any, TypeAdapter[Any](Any)
        for name, hint in ((name, hints[name]) for name in signature):
            kinds = (params.Header, params.Query)
            declared = next((part for part in getattr(hint, "__metadata__", ()) if isinstance(part, kinds)), None)
            if hint is Request:
                self._request = name
            elif name in path or declared is not None:
                where = "path" if name in path else "header" if isinstance(declared, params.Header) else "query"
                alias = name if declared is None else declared.alias or name
                default = signature[name].default
                self.parameters.append(_Parameter(name, where, alias, hint, TypeAdapter(hint), default))
            else:
                self._body, self._hint, self._message = name, hint, TypeAdapter(hint)
        self._queries = {parameter.alias for parameter in self.parameters if parameter.where == "query"}

    @property
    def has_body(self) -> bool:
        """Whether there is a message."""
        return bool(self._body)

    def check_query(self, request: Request) -> None:
        """Refuse a query with parameters that the endpoint does not have, such as misspelt ones.

        Raises:
            Refused: there is such a parameter.
        """
        for name in request.query_params if request.scope["query_string"] else ():
            if name not in self._queries:
                hint = nearest(name, self._queries) if self._queries else ""
                where, message = f"query.{name[:100]}", f"there is no such parameter{hint}"
                raise Refused("invalid", f"{where}: {message}", [(where, message)])

    async def read(self, request: Request) -> dict[str, Any]:
        """The arguments, by name.

        Raises:
            Refused: one of them is missing or invalid.
        """
        values: dict[str, Any] = {self._request: request} if self._request else {}
        details: list[tuple[str, str]] = []
        count = 0
        for parameter in self.parameters:
            value = parameter.value(request)
            try:
                valid = parameter.default if value is None else parameter.adapter.validate_python(value)
                values[parameter.name] = valid
            except ValidationError as error:
                place = (parameter.where, parameter.alias)
                details += describe_errors(error, parameter.hint, value, place, MAX_DETAILS)
                count += error.error_count()
        if self._body:
            body = request.state.body = await _json_body(request)
            try:
                values[self._body] = self._message.validate_python(body)
            except ValidationError as error:
                details += describe_errors(error, self._hint, body, ("body",), MAX_DETAILS)
                count += error.error_count()
        if details:
            raise invalid_request(details, count)
        return values


async def _json_body(request: Request) -> Any:
    types = request.headers.getlist("content-type")
    if len(types) != 1 or not _is_json(types[0]):
        got = repr(types[0][:100]) if types else "nothing"
        raise Refused("unsupported_media_type", f"the body must be sent as Content-Type: application/json, got {got}")
    try:
        return parse_json(await request.body())
    except InvalidJson as error:
        raise Refused("invalid", str(error), [("body", str(error))]) from None


def _is_json(content_type: str) -> bool:
    if content_type == "application/json":
        return True
    kind, *options = (part.strip().lower() for part in content_type.split(";"))
    return kind == "application/json" and options in ([], [""], ["charset=utf-8"], ['charset="utf-8"'])
