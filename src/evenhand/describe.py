"""Parts, policies and environments as plain JSON values, and back: so that a result file can be run again."""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Collection
from types import FunctionType
from typing import Any

import numpy as np

from evenhand.errors import StateError


def describe(part: Any) -> Any:
    """``part`` as plain JSON values: the type's name and every parameter; floats are kept exactly.

    A function is written down by its name. A part that is no dataclass is written down by its ``repr``: to be read by
    people, not to be rebuilt.

    Example:
        >>> from evenhand.index import UCB
        >>> describe(UCB(exploration=1.5))["exploration"]
        1.5
    """
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = {f.name: describe(getattr(part, f.name)) for f in dataclasses.fields(part) if f.init}
        return {"type": _name(part), **fields}
    if isinstance(part, np.ndarray):
        return {"type": "array", "dtype": str(part.dtype), "values": [describe(x) for x in part.tolist()]}
    if isinstance(part, list | tuple):
        return [describe(item) for item in part]
    if isinstance(part, float) and not math.isfinite(part):
        return {"type": "float", "value": repr(part)}  # JSON has no word for it
    if isinstance(part, np.generic):
        return describe(part.item())
    if part is None or isinstance(part, str | int | float | bool):
        return part
    if isinstance(part, FunctionType):
        return {"type": "function", "name": _name_of(part)}
    return {"type": _name(part), "repr": repr(part)}


def rebuild(plain: Any, own: Collection[type | FunctionType] = ()) -> Any:
    """The part that `describe` wrote down.

    Only types of Evenhand are built, and those that the caller vouches for: a file from elsewhere must not be able
    to run code.

    Args:
        plain: what `describe` returned.
        own: other types that may be built, and functions that may be used.

    Raises:
        StateError: the description is damaged, names a type that is neither Evenhand's nor among ``own``, or a function
            that is not among them.

    Example:
        >>> from evenhand.index import UCB
        >>> rebuild(describe(UCB(exploration=1.5)))
        UCB(exploration=1.5, clip=False, evidence=Received(), clock='round')
    """
    if isinstance(plain, list):
        return [rebuild(item, own) for item in plain]
    if not isinstance(plain, dict):
        return plain
    kind = plain.get("type")
    if not isinstance(kind, str):
        raise StateError(f"cannot build a {kind!r}: it is not a type of Evenhand's")
    try:
        if kind == "array":
            return np.array(rebuild(plain["values"], own), dtype=plain["dtype"])
        if kind == "float":
            return float(plain["value"])
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"a damaged {kind} in the description: {error}") from None
    given = {_name_of(one): one for one in own}
    if kind == "function":
        if plain.get("name") not in given:
            raise StateError(
                f"the function {plain.get('name')} is at hand only where it was defined: run it from there"
            )
        return given[plain["name"]]
    module, _, name = kind.partition(":")
    if kind not in given and (module.split(".")[0] != "evenhand" or not name.isidentifier()):
        raise StateError(f"cannot build a {kind!r}: it is not a type of Evenhand's")
    try:
        made = given[kind] if kind in given else getattr(importlib.import_module(module), name)
        if not dataclasses.is_dataclass(made) or not isinstance(made, type):
            raise TypeError(f"{name} is not a part")
        return made(**{key: rebuild(value, own) for key, value in plain.items() if key != "type"})
    except StateError:
        raise
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise StateError(f"cannot build a {kind!r}: {error}") from None


def _name(part: Any) -> str:
    return _name_of(type(part))


def _name_of(thing: type | FunctionType) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def types_in(part: Any) -> set[type | FunctionType]:
    """The dataclasses that a part consists of, and the functions in them."""
    if isinstance(part, FunctionType):
        return {part}
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return set()
    return {type(part)}.union(*(types_in(getattr(part, f.name)) for f in dataclasses.fields(part)))
