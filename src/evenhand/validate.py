"""Checks of parameters, with messages that say what is wrong, where, and what would be right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.records import Array, PerLane

NO_NUMBER = (str, bytes, bool, np.bool_)  # though one could be made of it
PerArm = float | Sequence[float] | Array | PerLane


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, inf: bool = False) -> float:
    """``value`` as a float within [low, high]; infinity only where ``inf`` allows it."""
    if isinstance(value, NO_NUMBER):
        raise EvenhandError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except OverflowError:
        raise EvenhandError(f"{name} is too large for a number") from None
    except (TypeError, ValueError):
        raise EvenhandError(f"{name} must be a number, got {value!r}") from None
    finite = math.isfinite(result) or (inf and result == math.inf)
    if not finite or not low <= result <= high:
        raise EvenhandError(f"{name} must be {_range(low, high, inf)}, got {value!r}")
    return result


def whole(name: str, value: Any, low: int = 1) -> int:
    """``value`` as an int of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise EvenhandError(f"{name} must be a whole number, got {value!r}")
    if value < low:
        raise EvenhandError(f"{name} must be at least {low}, got {value}")
    return int(value)


def part(name: str, value: Any, method: str, example: str) -> None:
    """Complain unless ``value`` is an object with the method that makes it such a part."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise EvenhandError(f"{name} must be an object such as {example}, got {value!r}")


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """``value`` if it is one of the ``choices``."""
    if value not in choices:
        raise EvenhandError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    return value


def per_arm(name: str, values: Any, low: float = -math.inf, high: float = math.inf) -> Any:
    """``values``, one an arm, as an array within [low, high]; a `PerLane` is checked and passed on."""
    array = np.asarray(values.values if isinstance(values, PerLane) else values, dtype=object)
    try:
        array = array.astype(float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"{name} must be numbers, one an arm, got {values!r}") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise EvenhandError(f"{name} must be a list with one number an arm, got {values!r}")
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise EvenhandError(f"{name}[{place[-1]}] must be {_range(low, high)}, got {float(array[place])!r}")
    return PerLane(array) if isinstance(values, PerLane) else array


def per_arm_or_one(name: str, values: Any, low: float = -math.inf, high: float = math.inf) -> Any:
    """Like `per_arm`, but a single number stands for every arm."""
    if isinstance(values, int | float | np.number) and not isinstance(values, bool):
        return np.asarray([number(name, values, low, high)])
    return per_arm(name, values, low, high)


def one_an_arm(name: str, values: Any, arms: int) -> None:
    """Complain unless ``values`` has one entry an arm; a `PerLane` may have one for all arms of a lane."""
    found = values.shape[-1]
    if found != arms and not (found == 1 and len(values.shape) == 2):
        raise EvenhandError(f"{name} has {found} {'entry' if found == 1 else 'entries'}, but there are {arms} arms")


def for_all_lanes(name: str, values: Any) -> Array:
    """``values`` if they are the same in all lanes."""
    if isinstance(values, PerLane) or values.ndim != 1:
        raise EvenhandError(f"{name} must be the same in all lanes here")
    return np.asarray(values)


def same_length(name: str, values: Any, others: Any, of: str) -> None:
    """Complain if ``values`` and ``others`` both speak of single arms, but of different numbers of them."""
    found, there = values.shape[-1], others.shape[-1]
    if found != there and 1 not in (found, there):
        raise EvenhandError(f"{name} has {found} entries, but there are {there} {of}")


def _range(low: float, high: float, inf: bool = False) -> str:
    if low == -math.inf and high == math.inf:
        return "a finite number"
    if high == math.inf:
        return f"a number of at least {low:g}" + (" or inf" if inf else "")
    return f"a number in [{low:g}, {high:g}]"


def table(name: str, values: Any, low: float = -math.inf, high: float = math.inf) -> Array:
    """``values`` as an array of rows within [low, high]."""
    try:
        array = np.asarray(values, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"{name} must be rows of equal length, one number a column") from None
    if array.ndim != 2 or array.size == 0:
        raise EvenhandError(f"{name} must be rows of equal length, got shape {array.shape}")
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise EvenhandError(f"{name}[{row}][{column}] must be {_range(low, high)}, got {float(array[row, column])!r}")
    return array


def rows_sum_to_one(name: str, array: Array) -> None:
    """Complain unless every row sums to 1 (to a millionth, as decimals in a file do)."""
    sums = array.sum(axis=-1)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > 1e-6)
    if wrong.size:
        where = f"{name}[{wrong[0]}]" if len(array) > 1 else name
        raise EvenhandError(f"{where} must sum to 1, it sums to {sums[wrong[0]]:.6g}")
