"""Checks of parameters, with messages that say what is wrong, where, and what would be right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, number_of, shown, there_are
from evenhand.core.state import Array, PerLane

if TYPE_CHECKING:
    from attrs import Attribute

NO_NUMBER = (str, bytes, bool, np.bool_, np.complexfloating)  # though one could be made of it
PerArm = float | Sequence[float] | NDArray[Any]
Rows = Sequence[Sequence[float]] | NDArray[Any]
TINY = float(np.finfo(float).tiny)
LARGEST = float(np.finfo(float).max)
MOST = 2**63 - 1  # the largest whole number that an array holds

# Converters of the arguments of parts. Their messages lack the argument's name, which `evenhand.core.parts.part` adds.


def real(value: float) -> float:
    """A finite number."""
    return number("", value)


def real_or_none(value: float | None) -> float | None:
    """A finite number, or None."""
    return None if value is None else number("", value)


def unit(value: float) -> float:
    """A number in [0, 1]."""
    return number("", value, 0.0, 1.0)


def nonnegative(value: float) -> float:
    """A number of at least 0."""
    return number("", value, low=0.0)


def nonnegative_or_inf(value: float) -> float:
    """A number of at least 0, or infinity."""
    return number("", value, low=0.0, inf=True)


def positive(value: float) -> float:
    """A number above 0."""
    if number("", value, low=0.0) == 0.0:
        raise EvenhandError("must be above 0, got 0")
    return float(value)


def at_least_one(value: float) -> float:
    """A number of at least 1."""
    return number("", value, low=1.0)


def count(value: int) -> int:
    """A whole number of at least 1."""
    return whole("", value, high=MOST)


def count_or_none(value: int | None) -> int | None:
    """Like `count`, or None."""
    return None if value is None else count(value)


def natural(value: int) -> int:
    """A whole number of at least 0."""
    return whole("", value, low=0, high=MOST)


def truth(value: bool) -> bool:
    """True or False."""
    return boolean("", value)


def fractions(value: PerArm) -> Array:
    """(arms,) or (1,), in [0, 1]: one number per arm, or one for all."""
    return per_arm_or_one("", value, 0.0, 1.0)


def fractions_or_none(value: PerArm | None) -> Array | None:
    """Like `fractions`, or None."""
    return None if value is None else fractions(value)


def positives_or_none(value: Sequence[float] | Array | None) -> Array | None:
    """Like `positives`, or None."""
    return None if value is None else positives(value)


def units_or_none(value: Sequence[float] | Array | None) -> Array | None:
    """Like `units`, or None."""
    return None if value is None else units(value)


def numbers(value: Sequence[float] | Array) -> Array:
    """(arms,), one finite number per arm."""
    return per_arm("", value)


def units(value: Sequence[float] | Array) -> Array:
    """(arms,), one number in [0, 1] per arm."""
    return per_arm("", value, 0.0, 1.0)


def units_of_all_lanes(value: Sequence[float] | Array) -> Array:
    """(arms,), one number in [0, 1] per arm, the same in all lanes."""
    return for_all_lanes("", per_arm("", value, 0.0, 1.0))


def positives(value: Sequence[float] | Array) -> Array:
    """(arms,), one number above 0 per arm."""
    return per_arm("", value, low=TINY)


def nonnegatives(value: PerArm) -> Array:
    """(arms,) or (1,), at least 0: one number per arm, or one for all."""
    return per_arm_or_one("", value, low=0.0)


def whole_numbers(value: PerArm) -> Array:
    """(arms,) or (1,), whole numbers of at least 0: one per arm, or one for all."""
    array = nonnegatives(value)
    if (array != np.round(array)).any():
        raise EvenhandError(f"must be whole numbers, got {shown(value)}")
    return array


def choice(*options: str) -> Callable[[object, Attribute[str], str], None]:
    """A check that an argument is one of the options, for the ``validator`` of a field."""

    def check(instance: object, parameter: Attribute[str], value: str) -> None:
        one_of(parameter.name, value, options)

    return check


# Checks by name, for functions.


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, inf: bool = False) -> float:
    """``value`` as a float within [low, high]; infinity only where ``inf`` allows it."""
    if isinstance(value, NO_NUMBER):
        raise EvenhandError(f"must be a number, got {shown(value)}", name)
    try:
        result = float(value)
    except OverflowError:
        raise EvenhandError(f"must be at most {LARGEST:.5g}, got {shown(value, 40)}", name) from None
    except (TypeError, ValueError):
        raise EvenhandError(f"must be a number, got {shown(value)}", name) from None
    finite = math.isfinite(result) or (inf and result == math.inf)
    if not finite or not low <= result <= high:
        raise EvenhandError(f"must be {_range(low, high, inf)}, got {shown(value)}", name)
    return result


def whole(name: str, value: object, low: int = 1, high: int | None = None) -> int:
    """``value`` as an int within [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise EvenhandError(f"must be a whole number, got {shown(value)}", name)
    if value < low:
        raise EvenhandError(f"must be at least {low}, got {shown(value, 40)}", name)
    if high is not None and value > high:
        raise EvenhandError(f"must be at most {high}, got {shown(value, 40)}", name)
    return int(value)


def boolean(name: str, value: object) -> bool:
    """``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise EvenhandError(f"must be true or false, got {shown(value)}", name)
    return bool(value)


def part(name: str, value: object, base: type, example: str) -> None:
    """Complain unless ``value`` is an object of the base class of such parts."""
    if not isinstance(value, base):
        remedy = ""
        if isinstance(value, type) and issubclass(value, base):
            remedy = f"; make an object of it: {value.__name__}(…)"
        elif type(value).__module__ not in ("builtins", "numpy"):
            remedy = f"; {type(value).__name__} does not derive from {base.__name__}"
        raise EvenhandError(f"must be an object such as {example}, got {shown(value)}{remedy}", name)


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """``value`` if it is one of the ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise EvenhandError(f"must be {' or '.join(map(repr, choices))}, got {shown(value)}", name)
    return value


def per_arm(name: str, values: object, low: float = -math.inf, high: float = math.inf) -> Array:
    """``values``, one per arm, as an array within [low, high]; a `PerLane` stays one."""
    array = _floats(name, values)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise EvenhandError(f"must be a list with one number per arm, got {shown(values)}", name)
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise EvenhandError(f"must be {_range(low, high)}, got {float(array[place])!r}", name, place[-1])
    return PerLane(array) if isinstance(values, PerLane) else array


def _floats(name: str, values: object) -> Array:
    """``values`` as floats; strings, True and None are refused, although NumPy would make numbers of them."""
    try:
        array = np.asarray(values, dtype=object)
        odd = [(place, one) for place, one in np.ndenumerate(array) if one is None or isinstance(one, NO_NUMBER)]
        if not odd:
            return np.asarray(array, dtype=float)
    except (OverflowError, TypeError, ValueError):
        odd = []
    if odd and odd[0][0]:
        raise EvenhandError(f"must be a number, got {shown(odd[0][1])}", name, odd[0][0][-1])
    raise EvenhandError(f"must be numbers, one per arm, got {shown(values)}", name)


def per_arm_or_one(name: str, values: object, low: float = -math.inf, high: float = math.inf) -> Array:
    """Like `per_arm`, but a single number stands for every arm."""
    if isinstance(values, int | float | np.number) and not isinstance(values, bool):
        return np.asarray([number(name, values, low, high)])
    return per_arm(name, values, low, high)


def one_per_arm(name: str, values: Array, arms: int) -> None:
    """Complain unless ``values`` has one entry per arm, or a single one for all."""
    entries = values.shape[-1]
    if entries not in (arms, 1):
        raise EvenhandError(f"has {number_of(entries, 'entry', 'entries')}, but {there_are(arms, 'arm')}", name)


def for_all_lanes(name: str, values: Array) -> Array:
    """``values`` if they are the same in all lanes."""
    if values.ndim != 1:
        raise EvenhandError(f"must be the same in all lanes, one number per arm, got shape {values.shape}", name)
    return values


def same_length(name: str, values: Array, others: Array, of: str) -> None:
    """Complain if ``values`` and ``others`` both speak of single arms, but of different numbers of them."""
    entries, expected = values.shape[-1], others.shape[-1]
    if entries != expected and 1 not in (entries, expected):
        raise EvenhandError(f"has {entries} entries, but there are {expected} {of}", name)


def table(name: str, values: object, low: float = -math.inf, high: float = math.inf) -> Array:
    """``values`` as an array of rows within [low, high]."""
    try:
        array = np.asarray(values, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"must be rows of equal length, one number per column, got {shown(values)}", name) from None
    if array.ndim != 2 or array.size == 0:
        raise EvenhandError(f"must be rows of equal length, got shape {array.shape}", name)
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise EvenhandError(f"must be {_range(low, high)}, got {float(array[row, column])!r}", name, row, column)
    return array


def rows_sum_to_one(name: str, array: Array) -> None:
    """Complain unless every row sums to 1 (to a millionth, as decimals in a file do)."""
    sums = array.sum(axis=-1)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > 1e-6)
    if wrong.size:
        place = (int(wrong[0]),) if len(array) > 1 else ()
        raise EvenhandError(f"must sum to 1, it sums to {sums[wrong[0]]:.6g}", name, *place)


def _range(low: float, high: float, inf: bool = False) -> str:
    if low == -math.inf and high == math.inf:
        return "a finite number"
    if low == TINY:
        return "a number above 0" if high == math.inf else f"a number in (0, {high:g}]"
    if high == math.inf:
        return f"a number of at least {low:g}" + (" or inf" if inf else "")
    return f"a number in [{low:g}, {high:g}]"
