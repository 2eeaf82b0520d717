"""Routes that declare the scope that they need, and check it before anything else of a request is read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from fastapi.routing import APIRoute

from evenhand.online.api.models import ALLOCATION, IDEMPOTENCY_KEY
from evenhand.online.api.problems import documented
from evenhand.online.server.arguments import Arguments
from evenhand.online.server.service import service_of
from evenhand.online.store.api_keys import SCOPES

SECURITY_SCHEME = "key"  # name of the kind of access in the OpenAPI description
SCOPE_FIELD = "x-scope"  # the field of a route's OpenAPI description with its scope
#: What a route can need instead of a scope: any key; no key, as it shows no data; no key and no database.
ANY_KEY, PUBLIC, HEALTH = "any key", "none", "none, ever"
ERRORS = {
    HEALTH: ("internal",),
    PUBLIC: ("forbidden", "internal"),
    ANY_KEY: ("unauthenticated", "forbidden", "too_many_requests", "internal", "unavailable"),
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


def needs(
    scope: str, *codes: str, body: bool = False, answers: Mapping[int, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """The options of a route: the scope that it needs, and the answers that it has beside its ordinary one.

    Args:
        scope: that of a key, `ANY_KEY`, `PUBLIC` or `HEALTH`.
        *codes: of errors, beyond those of all such routes.
        body: whether it takes a body.
        answers: descriptions of further answers, by status, in the terms of OpenAPI.

    Example:
        >>> needs("decide", "closed")["openapi_extra"]
        {'x-scope': 'decide', 'security': [{'key': ['decide']}]}
    """
    scopes: list[str] = [] if scope == ANY_KEY else [scope]
    security = [] if scope in (PUBLIC, HEALTH) else [{SECURITY_SCHEME: scopes}]
    errors = documented([*ERRORS.get(scope, ERRORS[ANY_KEY]), *(BODY_ERRORS if body else ()), *codes])
    return {"openapi_extra": {SCOPE_FIELD: scope, "security": security}, "responses": {**errors, **(answers or {})}}


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
            service = service_of(request)
            if scope == PUBLIC:
                await service.authenticator.check_public(request.headers)
            if scope in (PUBLIC, HEALTH):
                return await answer(request)
            required = None if scope == ANY_KEY else scope
            request.state.caller = caller = await service.authenticator.check(request.headers, required)
            if (name := request.path_params.get("name")) is not None:
                caller.check_allocation(name)
            with service.quotas.request(caller):
                arguments.check_query(request)
                return await answer(request)

        async def answer(request: Request) -> Response:
            response: Response = await endpoint(**await arguments.read(request))
            return response

        return handler
