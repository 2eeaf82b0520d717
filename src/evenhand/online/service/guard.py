"""Routes that say who may use them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from evenhand.online.service.access import SCOPES
from evenhand.online.service.arguments import Arguments
from evenhand.online.service.context import service_of
from evenhand.online.service.faults import documented

SCHEME = "key"  # name of the kind of access in the OpenAPI description
TOLD = "x-scope"  # where the description says what a route needs
#: What a route can need beside a scope: any key; none, as it shows no data; none, also where the database is away.
ANY_KEY, PUBLIC, HEALTH = "any key", "none", "none, ever"
ERRORS = {
    HEALTH: ("internal",),
    PUBLIC: ("forbidden", "internal"),
    ANY_KEY: ("unauthenticated", "forbidden", "internal", "unavailable"),
}
BODY = ("too_large", "unsupported_media_type", "invalid")

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def needs(scope: str, *codes: str, body: bool = False) -> dict[str, Any]:
    """What a route is declared with: who may use it, and which errors it answers.

    Args:
        scope: that of a key, `ANY_KEY`, `PUBLIC` or `HEALTH`.
        *codes: of errors, beyond those that all such routes have.
        body: whether it takes a body.

    Example:
        >>> needs("decide", "closed")["openapi_extra"]
        {'x-scope': 'decide', 'security': [{'key': ['decide']}]}
    """
    rights: list[str] = [] if scope == ANY_KEY else [scope]
    security = [] if scope in (PUBLIC, HEALTH) else [{SCHEME: rights}]
    answers = documented([*ERRORS.get(scope, ERRORS[ANY_KEY]), *(BODY if body else ()), *codes])
    return {"openapi_extra": {TOLD: scope, "security": security}, "responses": answers}


def routes(tag: str, described: bool = True) -> APIRouter:
    """A router for routes that are declared with `needs`.

    Args:
        tag: of the group.
        described: whether they are in the description.

    Example:
        >>> @routes("drinks").get("/tea")
        ... async def tea() -> None: ...
        Traceback (most recent call last):
        ...
        ValueError: the route /tea does not say which scope it needs
    """
    return APIRouter(
        route_class=Guarded,
        tags=[tag],
        include_in_schema=described,
        generate_unique_id_function=lambda route: route.name,
    )


def title(endpoint: Callable[..., Any]) -> str:
    """The first line of an endpoint's text, up to a colon.

    Example:
        >>> async def brew() -> None:
        ...     '''Make tea: black or green.'''
        >>> title(brew)
        'Make tea'
    """
    first, *_ = (endpoint.__doc__ or endpoint.__name__).splitlines()
    return first.partition(":")[0].removesuffix(".")


class Guarded(APIRoute):
    """A route that lets nobody in who may not, before anything of the request is read.

    A route that does not say who may use it cannot be made. Its title is how the text of its endpoint begins.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["summary"] = options.get("summary") or title(endpoint)
        super().__init__(path, endpoint, **options)

    def scope(self) -> str:
        """The scope that it needs, `ANY_KEY`, `PUBLIC` or `HEALTH`.

        Raises:
            ValueError: it does not say.
        """
        scope: str = (self.openapi_extra or {}).get(TOLD, "")
        if scope not in (*SCOPES, *ERRORS):
            raise ValueError(f"the route {self.path} does not say which scope it needs")
        return scope

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        scope, endpoint = self.scope(), self.endpoint
        arguments = Arguments(endpoint, self.param_convertors)

        async def guarded(request: Request) -> Response:
            access = service_of(request).access
            if scope == PUBLIC:
                await access.check_public(request.headers)
            elif scope != HEALTH:
                request.state.caller = await access.check(request.headers, None if scope == ANY_KEY else scope)
                arguments.check_query(request)
            answer: Response = await endpoint(**await arguments.read(request))
            return answer

        return guarded
