"""Errors of the API: every exception as an answer in one format."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from evenhand.core.errors import EvenhandError, InfeasiblePromise, StateError
from evenhand.messages.problem import CODES, MAX_DETAILS, MEDIA_TYPE, Detail, Problem
from evenhand.service.http.json import JsonResponse
from evenhand.service.http.validation import sentence, written_path
from evenhand.service.store.errors import (
    Closed,
    Conflict,
    DamagedAllocation,
    KeyReused,
    LeaseOver,
    Overloaded,
    StoreUnavailable,
    TooMuchWork,
    UnknownAllocation,
    UnknownArm,
    UnknownDecision,
    UnknownLease,
    UnknownWebhook,
)

LOG = logging.getLogger("evenhand.service")

CODE_OF: dict[type[Exception], str] = {
    UnknownAllocation: "unknown_allocation",
    UnknownArm: "unknown_arm",
    UnknownDecision: "unknown_decision",
    UnknownLease: "unknown_lease",
    LeaseOver: "lease_over",
    UnknownWebhook: "unknown_webhook",
    Conflict: "conflict",
    Closed: "closed",
    KeyReused: "key_reused",
    DamagedAllocation: "damaged",
    TooMuchWork: "too_large",
    StoreUnavailable: "unavailable",
    InfeasiblePromise: "infeasible",
    StateError: "internal",
    EvenhandError: "invalid",
}
INTERNAL = "an internal error occurred; the log of the server has its cause"
#: The database's own message names hosts and users; only the log has it.
UNAVAILABLE = (
    "the database cannot be used at the moment, and the log of the server has the cause; nothing that was answered is "
    "lost, and retrying is safe"
)


class Refused(Exception):
    """A request that cannot be carried out.

    Args:
        code: one of `CODES`.
        message: what is wrong, and the remedy.
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


def error_response(refused: Refused, scope: Mapping[str, Any] | None = None) -> JsonResponse:
    """The answer to a refused request.

    Args:
        refused: why.
        scope: of the request, as ASGI has it; None where there is none.

    Example:
        >>> error_response(Refused("closed", "allocation 'drinks' is closed")).status_code
        409
    """
    status, found = CODES[refused.code][0], scope or {}
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=refused.message,
        code=refused.code,
        errors=tuple(Detail(*detail) for detail in refused.details[:MAX_DETAILS]),
        instance=found.get("path"),
        request_id=found.get("state", {}).get("request_id"),
    )
    headers = dict(refused.headers or {}) | ({"retry-after": "1"} if refused.code == "unavailable" else {})
    return JsonResponse(problem, status, headers, MEDIA_TYPE)


def documented(codes: Iterable[str]) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route for OpenAPI, by status.

    Example:
        >>> documented(["closed", "conflict"])[409]["description"]
        'closed, conflict'
    """
    examples_of: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        status, meaning = CODES[code]
        value = Problem(HTTPStatus(status).phrase, status, meaning, code).to_json()
        examples_of.setdefault(status, {})[code] = {"summary": meaning, "value": value}
    return {
        status: {
            "description": ", ".join(examples),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
        }
        for status, examples in sorted(examples_of.items())
    }


def refusal(error: Exception) -> Refused:
    """Any exception as a refusal; unexpected ones are logged."""
    if isinstance(error, Refused):
        return error
    code = next((code for kind, code in CODE_OF.items() if isinstance(error, kind)), "internal")
    if code == "unavailable" and not isinstance(error, Overloaded):
        return Refused(code, UNAVAILABLE)
    if code != "internal":
        return Refused(code, str(error))
    LOG.error("%s: %s", type(error).__name__, error, exc_info=error)
    return Refused("internal", INTERNAL)


def add_exception_handlers(app: FastAPI) -> None:
    """Let an app answer every exception of its routes in the one format."""

    async def ours(request: Request, error: Exception) -> JsonResponse:
        return error_response(refusal(error), request.scope)

    async def framework(request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, HTTPException)
        return error_response(_framework_refusal(error, _allowed_methods(request)), request.scope)

    async def invalid(request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, RequestValidationError)
        found = error.errors()
        details = [(written_path(one["loc"]), sentence(one["type"], one.get("ctx", {}), one["msg"])) for one in found]
        return error_response(invalid_request(details, len(details)), request.scope)

    app.add_exception_handler(Refused, ours)
    app.add_exception_handler(EvenhandError, ours)
    app.add_exception_handler(HTTPException, framework)
    app.add_exception_handler(RequestValidationError, invalid)


def invalid_request(details: Sequence[tuple[str, str]], count: int) -> Refused:
    """The refusal of a request with errors in several places.

    Args:
        details: the first of them, each a place and a message.
        count: how many there are in all.

    Example:
        >>> invalid_request([("body.rewards[0].decision", "is required")], 3).message
        'body.rewards[0].decision: is required (2 more)'
    """
    where, message = details[0]
    more = f" ({count - 1:,} more)" if count > 1 else ""
    return Refused("invalid", f"{where}: {message}{more}", details)


def _allowed_methods(request: Request) -> list[str]:
    """The methods that the page of a request accepts."""
    methods: set[str] = set()
    for route in request.app.routes:
        if route.path_regex.match(request.scope["path"]):
            methods |= route.methods
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _framework_refusal(error: HTTPException, methods: Sequence[str]) -> Refused:
    """The refusal for an exception of the framework."""
    if error.status_code == 404:
        return Refused("not_found", "there is no such page; /docs lists them")
    if error.status_code == 405:
        allow = ", ".join(methods)
        return Refused("method_not_allowed", f"this page accepts {allow} only", headers={"allow": allow})
    if error.status_code >= 500:
        return Refused("internal", INTERNAL)
    return Refused("invalid", str(error.detail or HTTPStatus(error.status_code).phrase))
