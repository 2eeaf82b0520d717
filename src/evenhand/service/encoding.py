"""Answers and facts as JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from evenhand.messages.answers import rfc3339

PIECE = 1_000  # entries
OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_SERIALIZE_NUMPY


def encode(value: Any) -> bytes:
    """The JSON of an answer: of strings, finite numbers of 64 bits, times and so on.

    Example:
        >>> from evenhand.messages.answers import ArmPropensity
        >>> encode(ArmPropensity("tea", 1.0, 0.0))
        b'{"arm":"tea","propensity":1.0,"stderr":0.0}'
    """
    return orjson.dumps(value, _other, OPTIONS)


def encode_by_pieces(answer: Any, field: str) -> bytes:
    """The JSON of an answer with a long list, of which some thousand entries are encoded at a time.

    In a thread of its own it keeps no other thread waiting.

    Args:
        answer: a dataclass.
        field: the name of its list.

    Example:
        >>> from evenhand.bandit import Bandit
        >>> audit = Bandit(["tea", "coffee"], "ucb1").audit(now=0.0)
        >>> encode_by_pieces(audit, "lines") == encode(audit)
        True
    """
    entries = getattr(answer, field)
    name = f'"{field}":['.encode()  # which cannot be in a string, where quotes are escaped
    before, after = encode(replace(answer, **{field: ()})).split(name, 1)
    pieces = [encode(entries[first : first + PIECE])[1:-1] for first in range(0, len(entries), PIECE)]
    return b"".join((before, name, b",".join(pieces), after))


def _other(value: object) -> str:
    if isinstance(value, datetime):
        return rfc3339(value)
    raise TypeError(f"JSON has no {type(value).__name__}")
