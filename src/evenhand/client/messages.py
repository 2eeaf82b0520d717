"""Requests and answers of the service over HTTP, and the errors of either."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Hashable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from ..core.dataclasses import dataclass
from ..core.errors import EvenhandError
from ..messages.problem import Problem
from ..messages.rules import IDEMPOTENCY_KEY, SENTENCES, matches
from .errors import ServiceError, UnexpectedAnswer

Record = TypeVar("Record")

MAX_SHOWN = 200  # characters of an invalid answer
SECRET = r"[!-~]+"  # printable ASCII characters without spaces


@dataclass(frozen=True)
class Call:
    """A call of the service."""

    method: str
    url: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.url}"

    def request(self) -> dict[str, Any]:
        """The arguments of `httpx.Client.stream`."""
        headers, key = {}, self.idempotency_key
        if key is not None:
            if not matches(IDEMPOTENCY_KEY, key):
                raise EvenhandError(f"an idempotency key {SENTENCES[IDEMPOTENCY_KEY]}, got {key!r}")
            headers["Idempotency-Key"] = key
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        return {
            "method": self.method,
            "url": self.url,
            "params": {name: value for name, value in self.query.items() if value is not None},
            "headers": headers,
            "content": None if self.body is None else _encode(self.body),
        }


@dataclass(frozen=True)
class Download:
    """Where the answer to a call goes, in pieces, and its media type."""

    path: Path
    media_type: str


def address(url: str) -> str:
    """The validated address of a service."""
    rule = "must be the address of a service, such as 'http://127.0.0.1:8000'"
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise EvenhandError(f"url {rule}, got {url!r}: {error}") from None
    if parsed.userinfo:
        raise EvenhandError(f"url {rule}, without a user name and a password; the key is a separate argument")
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise EvenhandError(f"url {rule}, got {url!r}")
    return str(parsed).rstrip("/")


def path_to(name: str, *rest: str) -> str:
    """The path to an allocation, or to a part of it."""
    for what, part in zip(("an allocation", "a part", "an arm"), (name, *rest), strict=False):
        # Dots would change the path, and a lone surrogate cannot be encoded.
        if not isinstance(part, str) or part in ("", ".", "..") or any("\ud800" <= one <= "\udfff" for one in part):
            raise EvenhandError(f"the name of {what} must be a string such as 'drinks', got {part!r}")
    return "/".join(["/v1/allocations", *(quote(part, safe="") for part in (name, *rest))])


def bearer(key: str) -> str:
    """The header that carries an API key; no message shows the key."""
    if not isinstance(key, str) or not matches(SECRET, key.strip()):
        raise EvenhandError("the API key must be one line of printable ASCII characters; it is not shown here")
    return f"Bearer {key.strip()}"


def read(call: Call, response: httpx.Response, body: bytes, shape: type[Record]) -> Record:
    """The body of an answer as a record."""
    try:
        record: Record = _adapter(cast(Hashable, shape)).validate_json(body, strict=True)
    except ValidationError as error:
        first, *more = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise unexpected(call, response, body, reason + (f", and {len(more)} more" if more else "")) from None
    return record


def problem_in(body: bytes) -> Problem | None:
    """The problem that an answer describes; None if it is not in the service's format."""
    try:
        problem: Problem = _adapter(Problem).validate_json(body, strict=True)
    except ValidationError:
        return None
    return problem


def service_error(call: Call, response: httpx.Response, body: bytes) -> ServiceError:
    """The error for an answer that is not successful."""
    problem = problem_in(body)
    if problem is not None:
        return ServiceError(problem.detail, problem.code, problem.errors, response.status_code, problem.request_id)
    location = response.headers.get("Location")
    if response.is_redirect and location:
        return UnexpectedAnswer(
            f"{call} was answered with {status(response)}, a redirect to {location};\n"
            "redirects are not followed: use that address",
            status=response.status_code,
        )
    return unexpected(call, response, body)


def unexpected(call: Call, response: httpx.Response, body: bytes, reason: str = "") -> UnexpectedAnswer:
    """The error for an answer that is not one of an Evenhand service."""
    text = body.decode("utf-8", errors="replace")
    shown = repr(text[:MAX_SHOWN]) + "…" * (len(text) > MAX_SHOWN) if text else "the answer is empty"
    return UnexpectedAnswer(
        f"{call} was answered with {status(response)}, but not as an Evenhand service answers"
        f"{f' ({reason})' if reason else ''}:\n{shown}. "
        "Is this the address of the service, and does it have the version of this client?",
        status=response.status_code,
    )


def status(response: httpx.Response) -> str:
    """The status of an answer, in words."""
    try:
        return f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
    except ValueError:
        return str(response.status_code)


def retry_after(response: httpx.Response) -> float:
    """The seconds after which the service asks to retry; 0 if it does not."""
    header = response.headers.get("Retry-After", "").strip()
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        time = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return max((time - datetime.now(UTC)).total_seconds(), 0.0)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _encode(body: Mapping[str, Any]) -> bytes:
    """A body as JSON; NumPy's numbers and arrays are accepted, and parts, which have a plain form."""
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, default=_json_value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        strange = _not_finite(body)
        what = f"{strange}; leave out what is missing, or let it be None" if strange else str(error)
        raise EvenhandError(f"the arguments cannot be sent as JSON: {what}") from None


def _not_finite(value: Any, path: str = "") -> str:
    """The first number in a body that JSON does not have, with its path."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path[1:]} is {value}"
    found = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    return next(filter(None, (_not_finite(one, f"{path}.{name}") for name, one in found)), "")


def _json_value(value: Any) -> Any:
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "__attrs_attrs__") and (loaded := sys.modules.get("evenhand")):  # where parts are from
        return loaded.plain(value)
    raise TypeError(f"JSON has no {type(value).__name__}")
