"""What can be wrong with a request, and the one shape in which it is answered."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from evenhand.errors import EvenhandError, InfeasiblePromise, StateError
from evenhand.online.service.wire import Json
from evenhand.online.store.errors import Closed, Conflict, KeyReused, Overloaded, StoreUnavailable, UnknownAllocation

LOG = logging.getLogger("evenhand.service")
SHOWN = 20  # details that an answer has at most

#: The codes, each with its status and what it means.
CODES: dict[str, tuple[int, str]] = {
    "malformed": (400, "this is no HTTP"),
    "unauthenticated": (401, "the key is missing, unknown or revoked"),
    "forbidden": (403, "the key lacks the scope; or there are no keys and the request is not for this computer"),
    "not_found": (404, "there is no such page"),
    "unknown_allocation": (404, "there is no allocation of that name"),
    "method_not_allowed": (405, "the page is there, but not for this method"),
    "conflict": (409, "something else is there already: an allocation of that name, another total of that round"),
    "closed": (409, "the allocation is closed, and decides no more until it is opened again"),
    "key_reused": (409, "the idempotency key came with another request before"),
    "too_large": (413, "the body, the batch or the number of arms is over the limit"),
    "unsupported_media_type": (415, "the body must be application/json"),
    "invalid": (422, "the request says something that has no sense; `details` tells where"),
    "infeasible": (422, "the promised shares cannot be kept by anyone; nothing was changed"),
    "internal": (500, "a failure of the server, which its log explains"),
    "unavailable": (503, "the database cannot be reached; asking again is safe"),
}
MEANT: dict[type[Exception], str] = {
    UnknownAllocation: "unknown_allocation",
    Conflict: "conflict",
    Closed: "closed",
    KeyReused: "key_reused",
    Overloaded: "unavailable",
    StoreUnavailable: "unavailable",
    InfeasiblePromise: "infeasible",
    StateError: "internal",
    EvenhandError: "invalid",
}
INTERNAL = "something went wrong in the server; its log tells what"
#: What the database itself says names hosts and users, which is for the log.
AWAY = (
    "the database cannot be used just now, and the log of the server tells why; nothing that was answered is lost, and "
    "asking again is safe"
)


class Detail(BaseModel):
    """Where in a request something is wrong."""

    where: str = Field(description="such as `body.reports[0].rewards`")
    message: str


class Problem(BaseModel):
    """What is wrong."""

    code: str = Field(description="for programs", json_schema_extra={"enum": list(CODES)})
    message: str = Field(description="for people")
    details: list[Detail] = Field(description=f"every place where something is wrong, at most {SHOWN}")


class Fault(BaseModel):
    """The answer to a request that cannot be carried out."""

    error: Problem


class Refused(Exception):
    """A request that cannot be carried out.

    Args:
        code: one of `CODES`.
        message: what is wrong, and what would be right.
        details: where, as pairs of a place and a message.
        headers: of the answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.details, self.headers = code, message, details, headers


def answer(refused: Refused) -> Json:
    """The answer in the one shape.

    Example:
        >>> answer(Refused("closed", "allocation 'drinks' is closed")).status_code
        409
    """
    details = [{"where": where, "message": message} for where, message in refused.details[:SHOWN]]
    headers = dict(refused.headers or {}) | ({"retry-after": "1"} if refused.code == "unavailable" else {})
    error = {"code": refused.code, "message": refused.message, "details": details}
    return Json({"error": error}, CODES[refused.code][0], headers)


def documented(codes: Iterable[str]) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route as OpenAPI has them, by status.

    Example:
        >>> documented(["closed", "conflict"])[409]["description"]
        'closed, conflict'
    """
    found: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        status, meaning = CODES[code]
        value = {"error": {"code": code, "message": meaning, "details": []}}
        found.setdefault(status, {})[code] = {"summary": meaning, "value": value}
    return {
        status: {
            "model": Fault,
            "description": ", ".join(examples),
            "content": {"application/json": {"examples": examples}},
        }
        for status, examples in sorted(found.items())
    }


def refusal(error: Exception) -> Refused:
    """What any exception comes to."""
    if isinstance(error, Refused):
        return error
    code = next((code for kind, code in MEANT.items() if isinstance(error, kind)), "internal")
    if code == "unavailable" and not isinstance(error, Overloaded):
        return Refused(code, AWAY)
    if code != "internal":
        return Refused(code, str(error))
    LOG.error("%s: %s", type(error).__name__, error, exc_info=error)
    return Refused("internal", INTERNAL)


def handle(app: FastAPI) -> None:
    """Let an app answer all that its routes raise in the one shape."""

    async def known(_: Request, error: Exception) -> Json:
        return answer(refusal(error))

    async def plain(request: Request, error: Exception) -> Json:
        assert isinstance(error, HTTPException)
        return answer(_plain(error, allowed(request)))

    app.add_exception_handler(Refused, known)
    app.add_exception_handler(EvenhandError, known)
    app.add_exception_handler(HTTPException, plain)


def senseless(details: Sequence[tuple[str, str]], number: int) -> Refused:
    """A request that has no sense in so many places, of which the first are told: each a place and a message.

    Example:
        >>> senseless([("body.reports[0].decision", "must be given")], 3).message
        'body.reports[0].decision: must be given (2 more)'
    """
    where, message = details[0]
    more = f" ({number - 1:,} more)" if number > 1 else ""
    return Refused("invalid", f"{where}: {message}{more}", details)


def allowed(request: Request) -> list[str]:
    """The methods that the page of a request takes."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.path_regex.match(request.scope["path"]):
            found |= route.methods
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


def _plain(error: HTTPException, methods: Sequence[str]) -> Refused:
    """What the framework itself refuses."""
    if error.status_code == 404:
        return Refused("not_found", "there is no such page; /docs lists them")
    if error.status_code == 405:
        told = ", ".join(methods)
        return Refused("method_not_allowed", f"this page takes {told} only", headers={"allow": told})
    if error.status_code >= 500:
        return Refused("internal", INTERNAL)
    return Refused("invalid", str(error.detail or HTTPStatus(error.status_code).phrase))
