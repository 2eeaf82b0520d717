"""Errors of the API: every exception as an answer in one format, pydantic's errors in this project's words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from http import HTTPStatus
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeGuard, get_args, get_origin, get_type_hints

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from typing_extensions import is_typeddict

from evenhand.core.errors import EvenhandError, Fault, InfeasiblePromise, Path, StateError, nearest, written
from evenhand.messages.problem import CODES, MAX_DETAILS, MEDIA_TYPE, Detail, Problem
from evenhand.messages.rules import SENTENCES as PATTERNS
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


MAX_NAME = 200  # letters of a name that are repeated in a message, as many as an arm's name can have
#: The message for each of pydantic's types of errors; the names in braces are those of its context.
SENTENCES: dict[str, str | Callable[[dict[str, Any]], str]] = {
    "missing": "is required",
    **dict.fromkeys(("dataclass_type", "model_attributes_type", "dict_type"), "must be an object"),
    "list_type": "must be a list",
    "string_type": "must be a string",
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "finite_number": "must be finite",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "must be a whole number"),
    "int_parsing_size": "has too many digits",
    "greater_than": lambda context: f"must be more than {_bound(context['gt'])}",
    "greater_than_equal": lambda context: f"must be at least {_bound(context['ge'])}",
    "less_than": lambda context: f"must be less than {_bound(context['lt'])}",
    "less_than_equal": lambda context: f"must be at most {_bound(context['le'])}",
    "string_too_short": lambda context: _at_least(context["min_length"], "characters"),
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": lambda context: PATTERNS.get(context["pattern"], "does not have the required format"),
    "too_short": lambda context: _at_least(context["min_length"], "entries"),
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def described(errors: Sequence[Mapping[str, Any]], request: Any = None, body: Any = None) -> list[tuple[str, str]]:
    """Where a request is invalid, and why, by pydantic's errors; a union of records has the name of one in a place."""
    records = [one for one in map(_bare, get_args(_bare(request))) if _is_record(one)]
    forms: dict[str, type] = {getattr(one, "change", one.__name__): one for one in records}
    details = []
    for one in errors:
        location, form = one["loc"], request
        if forms and location[1:] and location[1] in forms:
            location, form = (location[0], *location[2:]), forms[location[1]]
        if one["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            others = [fields_of(other) for other in records if not hasattr(other, "change") and other is not form]
            message = _unknown_field(str(location[-1]), _record_at(form, location[1:-1]), others, _at(body, location))
        else:
            message = sentence(one["type"], one.get("ctx", {}), one["msg"])
        if one["type"].startswith("union_tag"):  # the form is unknown, and the error is at the whole
            location = (*location, one["ctx"]["discriminator"].strip("'"))
            message = _unknown_form(one["ctx"].get("tag"), list(forms))
        if location[-1:] == ("[key]",) and location[-2] == one["input"]:
            location, message = location[:-2], f"the name {_short(location[-2])!r} {message}"
        details.append((written_path(location), message))
    return details


def sentence(kind: str, context: dict[str, Any], default: str) -> str:
    """The message for one of pydantic's types of errors and its context."""
    template = SENTENCES.get(kind, "{default}")
    return template(context) if callable(template) else template.format(**{"default": default} | context)


def written_path(location: Sequence[str | int]) -> str:
    """A place in a request, in the notation of programming languages."""
    first, *others = location
    return str(first) + "".join(f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in others)


def count_or_promises(text: Any) -> Any:
    """What may be asked for as the best arms: a number, or those that the promises prefer."""
    if isinstance(text, str) and text != "promises" and not text.strip().lstrip("+-").isdecimal():
        raise ValueError(f"must be a number of arms or 'promises', got {_short(text)!r}{nearest(text, ['promises'])}")
    return text


def fields_of(record: type) -> dict[str, Any]:
    """The types of a record's fields, by name."""
    hints = get_type_hints(record, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _is_record(hint: Any) -> TypeGuard[type]:
    return isinstance(hint, type) and (is_dataclass(hint) or is_typeddict(hint))


def _record_at(hint: Any, location: Sequence[str | int]) -> type:
    """The record of the object at a location."""
    for part in location:
        hint = _bare(hint)
        hint = fields_of(hint)[str(part)] if _is_record(hint) else get_args(hint)[-1]  # else of a list or an object
    record: type = _bare(hint)
    return record


def _bare(hint: Any) -> Any:
    """A type without its annotations, and without null."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    others = [one for one in get_args(hint) if one is not NoneType]
    optional = len(others) == 1 and NoneType in get_args(hint)
    return _bare(others[0]) if optional else hint


def _at(value: Any, location: Sequence[str | int]) -> Any:
    """The object in a body that has the last name of a location."""
    for part in location[1:-1]:
        value = value[part]
    return value


def _unknown_field(name: str, record: type, others: Sequence[dict[str, Any]], given: Any) -> str:
    """The message for an unknown field: one of another form of the request, or a misspelt one."""
    fields = fields_of(record)
    if any(name in other for other in others):
        own = next(field for field in fields if all(field not in other for other in others))
        return f"give either {name!r} or {own!r}, not both"
    free = [field for field in fields if field not in given]
    return f"there is no field {_short(name)!r}{nearest(_short(name), free) if free else ' here'}"


def _unknown_form(tag: str | None, tags: Sequence[str]) -> str:
    if tag is None:
        return f"is required, one of {', '.join(tags)}"
    return f"there is no {_short(tag)!r}{nearest(_short(tag), tags)}"


def _at_least(number: int, what: str) -> str:
    return "must not be empty" if number == 1 else f"must have at least {number} {what}"


def _bound(number: float) -> str:
    """A bound as text."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.12g}"


def _short(name: str | int) -> str:
    text = str(name)
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
