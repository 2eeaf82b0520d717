"""Errors of the API: every exception as an answer in one format."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from evenhand.core.errors import EvenhandError, Fault, InfeasiblePromise, Path, StateError, written
from evenhand.messages.problem import CODES, MAX_DETAILS, MEDIA_TYPE, Detail, Problem
from evenhand.service.http.validation import described
from evenhand.service.json import encode
from evenhand.service.store import errors

LOG = logging.getLogger("evenhand.service")

CODE_OF: dict[type[Exception], str] = {
    errors.UnknownAllocation: "unknown_allocation",
    errors.UnknownArm: "unknown_arm",
    errors.UnknownDecision: "unknown_decision",
    errors.UnknownLease: "unknown_lease",
    errors.LeaseOver: "lease_over",
    errors.UnknownWebhook: "unknown_webhook",
    errors.Conflict: "conflict",
    errors.Closed: "closed",
    errors.KeyReused: "key_reused",
    errors.DamagedAllocation: "damaged",
    errors.MissingPart: "missing_part",
    errors.TooMuchWork: "too_large",
    errors.StoreUnavailable: "unavailable",
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


class JsonResponse(Response):
    """An answer in JSON."""

    media_type = "application/json"
    render = staticmethod(encode)


WITH_FEATURES = ("rounds", "features", "arms", "arm_features", "segment")  # fields that a request may lack
TABLES = ("parameters", "algorithm")  # fields whose keys are named as if they were fields themselves


class Refused(Exception):
    """A request that cannot be carried out."""

    def __init__(
        self, code: str, message: str, details: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.details, self.headers = code, message, details, headers

    @classmethod
    def at(cls, place: str, message: str) -> Refused:
        """The refusal of an invalid request with an error in one place."""
        return cls.in_places([(place, message)], 1)

    @classmethod
    def in_places(cls, details: Sequence[tuple[str, str]], count: int) -> Refused:
        """The refusal of a request with errors in several places: the first of them, and how many there are."""
        where, message = details[0]
        more = f" ({count - 1:,} more)" if count > 1 else ""
        return cls("invalid", f"{where}: {message}{more}", details)


def error_response(refused: Refused, scope: Mapping[str, Any] | None = None) -> JsonResponse:
    """The answer to a refused request with this ASGI scope, if there is one."""
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
    """The error answers of a route for OpenAPI, by status."""
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


def refusal(error: Exception, request: Request | None = None) -> Refused:
    """Any exception as a refusal; unexpected ones are logged."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, HTTPException) and request is not None:
        return _framework_refusal(error, request)
    if isinstance(error, RequestValidationError) and request is not None:
        field, found = request.scope["route"].body_field, error.errors()
        first = described(found[:MAX_DETAILS], field and field.field_info.annotation, error.body)
        return Refused.in_places(first, len(found))
    code = next((code for kind, code in CODE_OF.items() if isinstance(error, kind)), "internal")
    if code == "unavailable" and not isinstance(error, errors.Overloaded):
        return Refused(code, UNAVAILABLE)
    if code != "internal":
        return Refused(code, str(error), _places(error, request and getattr(request.state, "body", None)))
    LOG.error("%s: %s", type(error).__name__, error, exc_info=error)
    return Refused("internal", INTERNAL)


def _places(error: Exception, body: Any) -> list[tuple[str, str]]:
    """Where the values of a request are wrong that have the right form, as far as the error knows the places."""
    found = [(_place(one, body if isinstance(body, dict) else {}), one.text) for one in getattr(error, "faults", ())]
    return [(f"body.{written(place)}", text) for place, text in found if place]


def _place(fault: Fault, body: Mapping[str, Any]) -> Path:
    """The place of a fault in the body of a request; empty where it is in none of its fields."""
    steps = (*fault.path, *filter(None, [fault.key]))
    if not steps or steps[0] in body:
        return _as_given(steps, body, body)
    for name in TABLES:
        if isinstance(body.get(name), dict) and steps[0] in body[name]:
            return _as_given((name, *steps), body, body)
    return fault.path if steps[0] in WITH_FEATURES else ()


def _as_given(steps: Path, value: Any, body: Mapping[str, Any]) -> Path:
    """Steps that a request has: by number where what belongs to the arms was given as a list."""
    place: list[str | int] = []
    for step in steps:
        arms = body.get("arms")
        if isinstance(value, list) and isinstance(arms, list) and len(arms) == len(value) and step in arms:
            step = arms.index(step)
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, {})
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            break
        place.append(step)
    return tuple(place)


def add_exception_handlers(app: FastAPI) -> None:
    """Let an app answer every exception of its routes in the one format."""

    async def answer(request: Request, error: Exception) -> JsonResponse:
        return error_response(refusal(error, request), request.scope)

    for kind in (Refused, EvenhandError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)


def _framework_refusal(error: HTTPException, request: Request) -> Refused:
    """The refusal for an exception of the framework."""
    if error.status_code == 404:
        return Refused("not_found", "there is no such page; /docs lists them")
    if error.status_code == 405:
        there = [route for route in request.app.routes if route.path_regex.match(request.scope["path"])]
        methods = {method for route in there for method in route.methods}
        allow = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
        return Refused("method_not_allowed", f"this page accepts {allow} only", headers={"allow": allow})
    if error.status_code >= 500:
        return Refused("internal", INTERNAL)
    return Refused("invalid", str(error.detail or HTTPStatus(error.status_code).phrase))
