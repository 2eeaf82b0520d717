"""What a user gives a bandit, checked; and as plain JSON values, and back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand import validate
from evenhand.describe import describe, rebuild
from evenhand.errors import EvenhandError, StateError, nearest

HINTED = 100  # arms up to which an unknown name is answered by the nearest known one


def named(arms: Sequence[str]) -> tuple[str, ...]:
    """Names of arms, each once."""
    if isinstance(arms, str) or not np.iterable(arms):
        raise EvenhandError(f"arms must be a list of names, got {arms!r}")
    names = tuple(arms)
    if not names:
        raise EvenhandError("there must be at least one arm")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise EvenhandError(f"the name of an arm must be a text that is not blank, got {name!r}")
        if name != name.strip():  # tables of others drop the space, and take the names for the same
            raise EvenhandError(f"the name of an arm must not begin or end with white space, got {name!r}")
        if not name.isascii() and name.encode(errors="ignore").decode() != name:
            raise EvenhandError(f"the name of an arm must be a text that can be written down, got {name!r}")
    for name, times in Counter(names).items():
        if times > 1:
            raise EvenhandError(f"there are {times} arms named {name!r}; each needs a name of its own")
    return tuple(map(str, names))


def limits(rewards: Any) -> tuple[float, float]:
    """The smallest and the largest reward."""
    try:
        low, high = (validate.number("a limit", limit) for limit in rewards)
    except (TypeError, ValueError):
        raise EvenhandError(f"rewards must be the smallest and the largest one, got {rewards!r}") from None
    if low >= high:
        raise EvenhandError(f"rewards must be from a smaller to a larger number, got {rewards!r}")
    return low, high


def by_arm(name: str, value: Any, names: tuple[str, ...]) -> Any:
    """Values as a list in the order of the arms; those that a mapping leaves out are 0 (weights: 1)."""
    if isinstance(value, Mapping):
        known = set(names)
        for arm in value:
            if arm not in known:
                hint = nearest(str(arm), names) * (len(names) <= HINTED)
                raise EvenhandError(f"{name} names an unknown arm {arm!r}{hint}")
        default = 1.0 if name == "weights" else 0.0
        value = [value.get(arm, default) for arm in names]
    if isinstance(value, str | set) or not np.iterable(value):
        return value
    return [validate.number(f"{name}[{place}]", one) for place, one in enumerate(value)]


def as_plain(name: str, value: Any) -> Any:
    """A parameter as plain JSON values, in which infinity is a text."""
    if isinstance(value, Mapping):
        return {str(key): as_plain(name, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(name, item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
    try:
        rebuild(describe(value))
    except StateError:
        raise EvenhandError(f"a bandit cannot be saved with a {name} of one's own: {value!r}") from None
    return describe(value)


def from_plain(value: Any) -> Any:
    """The parameter that `as_plain` wrote down."""
    if isinstance(value, dict):
        return rebuild(value) if "type" in value else {name: from_plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value
