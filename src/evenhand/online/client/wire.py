"""What goes over the wire: requests written, answers read, and what is wrong with either."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from evenhand.errors import EvenhandError
from evenhand.online.client.answers import Fault, Refusal
from evenhand.online.client.errors import ServiceError, UnexpectedAnswer

Record = TypeVar("Record")

SHOWN = 200  # characters of an answer that makes no sense


@dataclass(frozen=True)
class Call:
    """What is asked of a service.

    Attributes:
        method: of HTTP.
        url: where.
        body: to be sent as JSON; None for none.
        query: after the URL; what is None is left out.
        idempotency_key: by which the service knows the call again; None for one that changes nothing.

    Example:
        >>> call = Call("GET", "http://localhost:8000/v1/allocations/tea/audit", query={"limit": 10})
        >>> print(call)
        GET http://localhost:8000/v1/allocations/tea/audit
    """

    method: str
    url: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.url}"

    def request(self) -> dict[str, Any]:
        """The arguments of `httpx.Client.stream`.

        Raises:
            EvenhandError: the body holds what JSON cannot say, or the key is none.
        """
        headers = {}
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = _checked_key(self.idempotency_key)
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        return {
            "method": self.method,
            "url": self.url,
            "params": {name: value for name, value in self.query.items() if value is not None},
            "headers": headers,
            "content": None if self.body is None else _encoded(self.body),
        }


def address(url: str) -> str:
    """The address of a service, checked.

    Raises:
        EvenhandError: it is none.

    Example:
        >>> address("http://localhost:8000/")
        'http://localhost:8000'
    """
    right = "must be the address of a service, such as 'http://127.0.0.1:8000'"
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise EvenhandError(f"url {right}, got {url!r}: {error}") from None
    if parsed.userinfo:
        raise EvenhandError(f"url {right}, without a user name and a password; the key is given apart from it")
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise EvenhandError(f"url {right}, got {url!r}")
    return str(parsed).rstrip("/")


def path_to(name: str, *rest: str) -> str:
    """The path to an allocation, or to something of it.

    Raises:
        EvenhandError: no allocation can have such a name.

    Example:
        >>> path_to("hot drinks", "audit")
        '/v1/allocations/hot%20drinks/audit'
    """
    # Dots would lead elsewhere, and half of a surrogate pair nowhere.
    if not isinstance(name, str) or name in ("", ".", "..") or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise EvenhandError(f"an allocation has a name such as 'drinks', got {name!r}")
    return "/".join(["/v1/allocations", quote(name, safe=""), *rest])


def bearer(key: str) -> str:
    """The header that carries an API key; no message shows the key.

    Raises:
        EvenhandError: the key has characters that no key has.

    Example:
        >>> bearer("evh_abc")
        'Bearer evh_abc'
    """
    if not isinstance(key, str) or not _plain(key.strip()):
        raise EvenhandError("the API key must be letters, digits and the like, in one line; it is not shown here")
    return f"Bearer {key.strip()}"


def read(call: Call, response: httpx.Response, body: bytes, shape: type[Record]) -> Record:
    """The body of an answer as a record.

    Raises:
        UnexpectedAnswer: it is of another shape.

    Example:
        >>> read(Call("GET", "http://localhost:8000/"), httpx.Response(200), b'{"round": 7}', dict[str, int])
        {'round': 7}
    """
    try:
        found: Record = _adapter(cast(Hashable, shape)).validate_json(body, strict=True)
    except ValidationError as error:
        first, *more = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        why = f"{where}: {first['msg']}" if where else first["msg"]
        raise unexpected(call, response, body, why + (f", and {len(more)} more" if more else "")) from None
    return found


def refusal(body: bytes) -> Fault | None:
    """What an answer says went wrong; None where it does not say so in the service's way.

    Example:
        >>> refusal(b'{"error": {"code": "closed", "message": "it decides no more", "details": []}}').code
        'closed'
    """
    try:
        found: Refusal = _adapter(Refusal).validate_json(body, strict=True)
    except ValidationError:
        return None
    return found.error


def refused(call: Call, response: httpx.Response, body: bytes) -> ServiceError:
    """The error that an answer is.

    Example:
        >>> answer = httpx.Response(301, headers={"Location": "https://example.org/"})
        >>> print(refused(Call("GET", "http://example.org/v1/access"), answer, b""))
        GET http://example.org/v1/access was answered with 301 Moved Permanently, which leads to https://example.org/;
        calls do not follow: give the address that it leads to
    """
    fault = refusal(body)
    if fault is not None:
        return ServiceError(fault.message, fault.code, fault.details, response.status_code)
    leads = response.headers.get("Location")
    if response.is_redirect and leads:
        return UnexpectedAnswer(
            f"{call} was answered with {status(response)}, which leads to {leads};\n"
            "calls do not follow: give the address that it leads to",
            status=response.status_code,
        )
    return unexpected(call, response, body)


def unexpected(call: Call, response: httpx.Response, body: bytes, why: str = "") -> UnexpectedAnswer:
    """The error for an answer that makes no sense.

    Example:
        >>> print(unexpected(Call("GET", "http://localhost/v1/access"), httpx.Response(200), b"<p>Welcome!</p>"))
        GET http://localhost/v1/access was answered with 200 OK, and not as an Evenhand service answers:
        '<p>Welcome!</p>'. Is the address that of the service, and is it of this version?
    """
    text = body.decode("utf-8", errors="replace")
    shown = repr(text[:SHOWN]) + "…" * (len(text) > SHOWN) if text else "there is nothing in it"
    return UnexpectedAnswer(
        f"{call} was answered with {status(response)}, and not as an Evenhand service answers"
        f"{f' ({why})' if why else ''}:\n{shown}. Is the address that of the service, and is it of this version?",
        status=response.status_code,
    )


def status(response: httpx.Response) -> str:
    """The status of an answer, in words.

    Example:
        >>> status(httpx.Response(503))
        '503 Service Unavailable'
    """
    try:
        return f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
    except ValueError:
        return str(response.status_code)


def asked(response: httpx.Response) -> float:
    """The seconds for which a service asks to be left alone; 0 where it does not.

    Example:
        >>> asked(httpx.Response(503, headers={"Retry-After": "2"}))
        2.0
    """
    told = response.headers.get("Retry-After", "").strip()
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        when = parsedate_to_datetime(told)
    except ValueError:
        return 0.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((when - datetime.now(UTC)).total_seconds(), 0.0)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON; numbers and arrays of NumPy are welcome."""
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, default=_plainly).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise EvenhandError(f"this cannot be sent as JSON: {error}") from None


def _plainly(value: Any) -> Any:
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"a {type(value).__name__} is no value of JSON")


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not _plain(key) or len(key) > 200:
        raise EvenhandError(f"an idempotency key must have 1 to 200 letters, digits and the like, got {key!r}")
    return key


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and bool(text) and " " not in text
