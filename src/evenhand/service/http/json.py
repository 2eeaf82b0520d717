"""JSON: strict parsing of requests, and answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.responses import Response

from evenhand.service.encoding import encode

INTEGER_LIMIT = 2**63  # integers have at most 64 bits


class InvalidJson(ValueError):
    """A body that is not JSON, or not JSON that all readers understand alike."""


class JsonResponse(Response):
    """An answer in JSON.

    Args:
        content: an answer, or plain values.
        status_code: of the answer.
        headers: of the answer.
        media_type: of the answer.
    """

    media_type = "application/json"

    def __init__(
        self,
        content: Any,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        super().__init__(content, status_code, headers, media_type)

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return encode(content)


def parse_json(body: bytes) -> Any:
    """The value of a JSON document.

    Repeated names in an object, numbers that are not finite or have more than 64 bits, and strings that a database
    cannot store are refused, as readers treat them differently.

    Raises:
        InvalidJson: with the reason.

    Example:
        >>> parse_json(b'{"count": 1, "count": 2}')
        Traceback (most recent call last):
        ...
        evenhand.service.http.json.InvalidJson: the name 'count' is repeated in an object
    """
    if not body.strip():
        raise InvalidJson("the body is empty; it must be a JSON object")
    try:
        value = DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidJson(f"the body is not UTF-8: byte {error.start} is {body[error.start]:#04x}") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise InvalidJson("the body has too many nested objects and arrays") from None
    if b"\\u" in body:  # without an escape, such characters are invalid JSON or invalid UTF-8
        for text in _strings(value):
            if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
                raise InvalidJson(
                    f"a string has a character that cannot be stored, NUL or a lone surrogate: {_short(text)}"
                )
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidJson(f"the name {_short(repeated)} is repeated in an object")
    return value


def _integer(text: str) -> int:
    value = int(text) if len(text) <= 20 else INTEGER_LIMIT
    if not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
        raise InvalidJson(f"the number {_short(text)} has more than 64 bits")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidJson(f"the number {_short(text)} is too large")
    return value


def _constant(text: str) -> float:
    raise InvalidJson(f"{text} is not a JSON number")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _strings(value: Any) -> Iterator[str]:
    """All strings in a value, including the names in objects."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            stack += part
            stack += part.values()


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_number, parse_constant=_constant, strict=True
)
