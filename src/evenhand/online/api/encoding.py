"""Answers and facts as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from evenhand.online.api.answers import rfc3339

OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_SERIALIZE_NUMPY


def encode(value: Any) -> bytes:
    """The JSON of an answer: of strings, finite numbers of 64 bits, times and so on.

    Example:
        >>> from evenhand.online.api.answers import ArmPropensity
        >>> encode(ArmPropensity("tea", 1.0, 0.0))
        b'{"arm":"tea","propensity":1.0,"stderr":0.0}'
    """
    return orjson.dumps(value, _other, OPTIONS)


def _other(value: object) -> str:
    if isinstance(value, datetime):
        return rfc3339(value)
    raise TypeError(f"JSON has no {type(value).__name__}")
