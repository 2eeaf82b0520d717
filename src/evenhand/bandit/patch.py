"""What has changed in a record of arrays, as plain JSON values, and how to change another copy of it alike.

Floats are kept exactly, so that the changed copy is equal on every computer.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import StateError
from evenhand.core.state import dump

T = TypeVar("T")


def difference(old: Any, new: Any) -> dict[str, Any] | None:
    """How ``new`` differs from ``old``, a record of the same type; None where it does not.

    =========================  ===================================================
    form                       meaning
    =========================  ===================================================
    ``{"fields": {…}}``        the differences of the fields of a record
    ``{"at": […], "to": …}``   new values of an array at some places, counted flat
    ``{"shift": …}``           an array moved by one, with a new last value
    ``{"array": …}``           a whole array, as it may have another shape
    ``{"value": …}``           a number, a string, or None
    =========================  ===================================================

    Args:
        old: a record of arrays, or a value in one.
        new: another of the same type.

    Returns:
        The difference as JSON can hold it, or None.

    Example:
        >>> from evenhand import Tally
        >>> difference(Tally(*np.zeros((3, 2))), Tally(np.array([0.0, 1.0]), *np.zeros((2, 2))))
        {'fields': {'pulls': {'at': [1], 'to': {'dtype': 'float64', 'values': [1.0]}}}}
    """
    if isinstance(new, np.ndarray):
        return _array_difference(old, new)
    if is_dataclass(new) and type(old) is type(new):
        parts = {field.name: difference(getattr(old, field.name), getattr(new, field.name)) for field in fields(new)}
        changed = {name: part for name, part in parts.items() if part is not None}
        return {"fields": changed} if changed else None
    return None if type(old) is type(new) and old == new else {"value": new}


def _array_difference(old: Any, new: NDArray[Any]) -> dict[str, Any] | None:
    if not isinstance(old, np.ndarray) or old.shape != new.shape or old.dtype != new.dtype:
        return {"array": dump(new)}
    same = (old == new) | ((old != old) & (new != new))  # NaN is equal to NaN here
    if same.all():
        return None
    (places,) = np.logical_not(same).ravel().nonzero()
    if 2 * len(places) <= new.size or new.size <= 2:
        return {"at": places.tolist(), "to": dump(new.ravel()[places])}
    if new.ndim == 1 and np.array_equal(old[1:], new[:-1]):
        return {"shift": dump(new[-1:])}
    return {"array": dump(new)}


def changed(old: T, patch: Any) -> T:
    """The record that ``old`` becomes with a `difference`; arrays are changed in place.

    Args:
        old: a record of arrays, or a value in one.
        patch: what `difference` returned.

    Returns:
        The changed record, which is ``old`` itself where that is a record.

    Raises:
        StateError: the difference is not one of such a record.

    Example:
        >>> from evenhand import Tally
        >>> patch = {"fields": {"pulls": {"at": [1], "to": {"dtype": "float64", "values": [1.0]}}}}
        >>> changed(Tally(*np.zeros((3, 2))), patch).pulls
        array([0., 1.])
    """
    match patch:
        case None:
            return old
        case {"fields": dict(parts)} if is_dataclass(old):
            for name, part in parts.items():
                setattr(old, name, changed(getattr(old, name), part))
            return old
        case {"at": list(places), "to": values} if isinstance(old, np.ndarray):
            flat = old.reshape(-1)  # a view: the arrays of a state are contiguous
            flat[places] = _array(values)
            return old
        case {"shift": value} if isinstance(old, np.ndarray):
            old[:-1] = old[1:].copy()
            old[-1:] = _array(value)
            return old
        case {"array": values}:
            return _array(values)  # type: ignore[return-value]
        case {"value": value}:
            return value  # type: ignore[no-any-return]
    raise StateError(f"this is not a change of {type(old).__name__}: {patch!r}")


def _array(plain: Any) -> NDArray[Any]:
    return np.array(plain["values"], dtype=plain["dtype"])
