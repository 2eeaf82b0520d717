"""The rules of names, numbers and keys, each with its sentence: the same in requests, in the store and in the client.

Annotated types say them; pydantic understands them at the border, and is not imported here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

from ..core.descriptions import texts

ALLOCATION = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
ARM = r"\S"
IDEMPOTENCY_KEY = r"^[!-~]{1,200}$"
# With \d, which has digits of all scripts, a server would take 40 ms longer to start.
SHARE = r"([01](\.[0-9]{1,20})?|\.[0-9]{1,20}%?|[0-9]{1,3}(\.[0-9]{1,20})?%)"
SHARES = rf"^{SHARE}(,{SHARE}){{0,19}}$"
MONTH = r"^[0-9]{4}-(0[1-9]|1[0-2])$"
#: What a string must be that matches a pattern.
SENTENCES = {
    ALLOCATION: "must be 1 to 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
    ARM: "must have a character other than spaces",
    IDEMPOTENCY_KEY: "must be 1 to 200 printable ASCII characters without spaces",
    SHARES: "must be at most 20 shares from 0 to 1 with commas between them, such as 0.05,0.1 or 5%,10%",
    MONTH: "must be a month as YYYY-MM, such as 2026-11",
}
MAX_LEASE = 1_000_000  # decisions of a lease
MAX_NESTING = 8  # levels of nested lists and objects per parameter
SLICE = 500  # entries that are checked at once: to describe 100,000 wrong ones takes 0.8 s, in which nothing else runs
MAX_LEASE_SECONDS = 86_400.0  # for which they may be played
SCOPES = ("administer", "decide", "reward", "read")  # of keys


def matches(pattern: str, text: object) -> bool:
    """Whether a value is a string that has the form of a name of an allocation or of an idempotency key."""
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


class Limit:
    """A limit of `annotated_types`, which is loaded where somebody asks: that takes a tenth of ``import Bandit``."""

    __is_annotated_types_grouped_metadata__ = True  # for which pydantic asks

    def __init__(self, kind: str, *values: float) -> None:
        self.kind, self.values = kind, values
        vars(self)[kind.lower()] = values[0]  # as there, for `ge` and `le`

    def __iter__(self) -> Iterator[Any]:
        import annotated_types

        yield getattr(annotated_types, self.kind)(*self.values)


Ge, Gt, Le, Lt = (partial(Limit, kind) for kind in ("Ge", "Gt", "Le", "Lt"))
Len, MaxLen, MinLen = (partial(Limit, kind) for kind in ("Len", "MaxLen", "MinLen"))


class Form:
    """What pydantic, or JSON Schema, is to know of a type where `annotated_types` has no word for it."""

    def __init__(self, json: dict[str, Any] | None = None, **rules: Any) -> None:
        self.json, self.rules = json or {}, rules

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = handler(source)
        return schema | self.rules

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = handler(core)
        return schema | self.json


def check_nesting(value: Any) -> Any:
    """Refuse a table with more than `MAX_NESTING` levels of nested lists and objects."""
    level: list[Any] = [value]
    for _ in range(MAX_NESTING + 1):
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for some in inside for one in some if isinstance(one, dict | list)]
        if not level:
            return value
    raise ValueError(f"must have at most {MAX_NESTING} levels of nested lists and objects")


class Shallow:
    """Of a table with at most `MAX_NESTING` levels."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        check = {"type": "no-info", "function": check_nesting}
        return {"type": "function-after", "function": check, "schema": handler(source)}


def in_slices(value: Any, check: Callable[[Any], Any]) -> Any:
    """Check a list or an object some entries at a time, up to the first slice in which some are wrong."""
    if not isinstance(value, list | dict) or len(value) <= SLICE:
        return check(value)
    parts = range(0, len(value), SLICE)
    if isinstance(value, dict):
        items = list(value.items())
        return {name: one for first in parts for name, one in check(dict(items[first : first + SLICE])).items()}
    checked: list[Any] = []
    for first in parts:
        try:
            checked += check(value[first : first + SLICE])
        except ValueError:
            check(value[: first + SLICE])  # again, for the places of what is wrong
            raise
    return checked


class Sliced:
    """Of a list or an object that may have many entries."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        check = {"type": "no-info", "function": in_slices}
        return {"type": "function-wrap", "function": check, "schema": handler(source)}


Flag = Annotated[bool, Form(strict=True)]  # strict: no value is converted to another type
Whole = Annotated[int, Form(strict=True)]
Number = Annotated[float, Form(strict=True, allow_inf_nan=False)]
Nonnegative = Annotated[Number, Ge(0.0)]
Share = Annotated[Number, Ge(0.0), Le(1.0)]
AllocationName = Annotated[str, Form(pattern=ALLOCATION)]
ArmName = Annotated[str, Form(pattern=ARM), MinLen(1), MaxLen(200)]
#: A list of many wrong names is refused for the first one: describing each takes longer than accepting them.
ArmNames = Annotated[list[ArmName], Form(fail_fast=True), MinLen(1)]
SLICED = Sliced()
NAMED = Form(json={"additionalProperties": False})  # no other names than valid names of arms
Table = Annotated[dict[str, Any], Shallow()]


class Described:
    """Base of records whose JSON Schema has the comments at the fields as their descriptions."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        described, known = handler.resolve_ref_schema(reference := handler(core)), texts(cls)
        for name, about in described.get("properties", {}).items():
            if name in known:
                about["description"] = known[name]
        return reference
