"""JSON as it comes in, read strictly, and as it goes out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from starlette.responses import Response

LARGEST = 2**63  # numbers beyond are written with a fraction or an exponent


class Unreadable(ValueError):
    """A body that is no JSON, or not the JSON that all readers understand alike."""


class Json(Response):
    """An answer in JSON.

    Args:
        content: plain values.
        status_code: of the answer.
        headers: of the answer.
    """

    media_type = "application/json"

    def __init__(self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(content, status_code, headers)

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return orjson.dumps(content)


def parsed(body: bytes) -> Any:
    """The value of a JSON text.

    Names that come twice in an object, numbers that are not finite or have more than 64 bits, and texts that a database
    cannot keep are refused, as readers differ in what they make of them.

    Raises:
        Unreadable: with the reason.

    Example:
        >>> parsed(b'{"count": 1, "count": 2}')
        Traceback (most recent call last):
        ...
        evenhand.online.service.wire.Unreadable: the name 'count' comes twice in an object
    """
    if not body.strip():
        raise Unreadable("the body is empty; it must be a JSON object")
    try:
        value = DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable(f"the body is not UTF-8: byte {error.start} is {body[error.start]:#04x}") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"the body is no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Unreadable("the body has too many objects and arrays within each other") from None
    if b"\\u" in body:  # other ways to write what cannot be kept are no JSON or no UTF-8
        for text in _texts(value):
            if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
                raise Unreadable(
                    f"a text has a character that cannot be kept, NUL or half a surrogate pair: {_short(text)}"
                )
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Unreadable(f"the name {_short(twice)} comes twice in an object")
    return made


def _whole(text: str) -> int:
    value = int(text) if len(text) <= 20 else LARGEST
    if not -LARGEST <= value < LARGEST:
        raise Unreadable(f"the number {_short(text)} has more than 64 bits")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Unreadable(f"the number {_short(text)} is too large")
    return value


def _no_number(text: str) -> float:
    raise Unreadable(f"{text} is no JSON number")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, also the names in objects."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += one
            waiting += one.values()


DECODER = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=_whole, parse_float=_number, parse_constant=_no_number, strict=True
)
