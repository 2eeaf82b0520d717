"""Routes that say who may use them, and read bodies strictly."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from evenhand.errors import nearest
from evenhand.online.service.access import SCOPES
from evenhand.online.service.context import service_of
from evenhand.online.service.faults import Refused, documented
from evenhand.online.service.wire import Unreadable, parsed

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


class Guarded(APIRoute):
    """A route that lets nobody in who may not, before anything of the request is read.

    A route that does not say who may use it cannot be made.
    """

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
        handle, scope = super().get_route_handler(), self.scope()
        has_body = self.body_field is not None
        known = {field.alias for field in self.dependant.query_params}

        async def guarded(request: Request) -> Response:
            access = service_of(request).access
            if scope == PUBLIC:
                await access.check_public(request.headers)
            elif scope != HEALTH:
                request.state.caller = await access.check(request.headers, None if scope == ANY_KEY else scope)
                _check_query(request, known)
            return await handle(await _read(request) if has_body else request)

        return guarded


def _check_query(request: Request, known: set[str]) -> None:
    """Refuse what the route would not heed, as it may be a slip of the pen."""
    for name in request.query_params if request.scope["query_string"] else ():
        if name not in known:
            message = f"there is no such parameter{nearest(name, known) if known else ''}"
            raise Refused("invalid", f"query.{name[:100]}: {message}", [(f"query.{name[:100]}", message)])


class _Read(Request):
    """A request whose body has been read."""

    def __init__(self, request: Request, body: bytes, value: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._bytes, self._value = body, value

    async def body(self) -> bytes:
        return self._bytes

    async def json(self) -> Any:
        return self._value


async def _read(request: Request) -> _Read:
    given = request.headers.getlist("content-type")
    if len(given) != 1 or not _is_json(given[0]):
        told = repr(given[0][:100]) if given else "nothing"
        raise Refused("unsupported_media_type", f"the body must be sent as Content-Type: application/json, got {told}")
    body = await request.body()
    try:
        return _Read(request, body, parsed(body))
    except Unreadable as error:
        raise Refused("invalid", str(error), [("body", str(error))]) from None


def _is_json(content_type: str) -> bool:
    kind, *options = (part.strip().lower() for part in content_type.split(";"))
    return kind == "application/json" and options in ([], [""], ["charset=utf-8"], ['charset="utf-8"'])
