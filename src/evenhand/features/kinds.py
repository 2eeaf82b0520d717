"""The kinds of features: how one value, or a column of them, becomes numbers.

How a value is scaled is fixed by the declaration: a scaler that keeps learning would give old and new rows different
meanings.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, number_of, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, part, plain
from evenhand.core.state import Array

#: What can happen to a value that is no fault: it was beyond the range, of no known level, or missing.
Note = Literal["cut", "unknown", "missing"]
LARGEST = 10_000  # columns of a declaration
LARGEST_ENTRY = 1e6  # of a vector: the sum of a million squares is still exact to four digits
MISSING = "is missing"
SHOWN = 100  # faults of many rows, or of a vector, that an error lists
PLAIN = {int, float, np.float64, np.int64, np.float32, np.int32}  # types of numbers that NumPy reads as they are

#: What is wrong, each with its row.
Faults = list[tuple[int, EvenhandError]]


class Feature(Part, ABC):
    """A kind of feature. An own kind needs `labels` and `put`; `read` where its values come as text."""

    __slots__ = ()
    many_columns: ClassVar[bool] = False  # whether a value is several numbers, each a column of an array of rows

    @abstractmethod
    def labels(self, name: str) -> tuple[str, ...]:
        """The names of the columns.

        Args:
            name: of the feature.

        Returns:
            One or more, different from each other.
        """

    def meanings(self, name: str) -> tuple[str, ...]:
        """How each column is encoded: where two declarations have an equal one, their numbers mean the same.

        Args:
            name: of the feature.

        Returns:
            A text per column; the default is the plain form of the feature with the column's name.
        """
        return tuple(f"{label} of {plain(self)}" for label in self.labels(name))

    @abstractmethod
    def put(self, value: Any, row: Array, at: int) -> Note | None:
        """Write one value into its columns.

        Args:
            value: as the caller gives it; None where it is missing.
            row: of numbers, 0 in the columns of the feature.
            at: the first of these.

        Returns:
            What is to be counted, or None.

        Raises:
            EvenhandError: the value is wrong; without a path.
        """

    def put_all(self, values: Any, table: Array, at: int, faults: Faults) -> Counter[Note]:
        """Write a column of values; the same as `put` row by row.

        Args:
            values: a sequence or an array, None where one is missing.
            table: (rows, columns), 0 in the columns of the feature.
            at: the first of these.
            faults: to which those of the values are added, with their rows.

        Returns:
            How often there was what `put` returns.
        """
        notes: Counter[Note] = Counter()
        for place, value in enumerate(values):
            try:
                note = self.put(value, table[place], at)
            except EvenhandError as error:
                faults.append((place, error))
            else:
                if note is not None:
                    notes[note] += 1
        return notes

    def segments(self, name: str, cuts: Sequence[float] = ()) -> tuple[str, ...]:
        """The names of the segments into which the values fall.

        Args:
            name: of the feature.
            cuts: of a number, in increasing order; each begins a segment.

        Returns:
            One or more.

        Raises:
            EvenhandError: the feature has no segments, or not with these cuts; the default.
        """
        raise EvenhandError(f"{name!r} has no segments: use a category, a flag, or a number with cuts")

    def segment(self, columns: Array, cuts: Sequence[float] = ()) -> Any:
        """The place of the segment of a value, or of each of many.

        Args:
            columns: (columns,), that `put` wrote; or (…, columns).
            cuts: as in `segments`.

        Returns:
            Its place among the names, from 0; (…,).

        Raises:
            EvenhandError: the feature has no segments; the default.
        """
        raise EvenhandError("has no segments")

    def read(self, text: str) -> Any:
        """The value that a cell of a file holds.

        Args:
            text: of the cell.

        Returns:
            What `put` takes; None for a blank.

        Raises:
            EvenhandError: it holds no such value; without a path.
        """
        return text or None


@part("feature", "number")
@frozen
class Number(Feature):
    """A number, x ↦ (x − low)/(high − low); a value beyond the range is cut to it, and counted.

    NaN and infinity are refused.

    Args:
        low: what becomes 0.
        high: what becomes 1; above ``low``.
        missing: in [low, high], what stands for a missing value; a second column is then 1. None: it is refused.

    Raises:
        EvenhandError: ``high`` is not above ``low``, or ``missing`` is not between them.

    Example:
        >>> from evenhand.features import Features
        >>> Features({"age": Number(0, 100, missing=40)}, intercept=False).encode([{"age": 25}, {"age": None}])
        array([[0.25, 0.  ],
               [0.4 , 1.  ]])
    """

    low: float = field(converter=validate.real)
    high: float = field(converter=validate.real)
    missing: float | None = field(default=None, converter=validate.real_or_none)

    def __attrs_post_init__(self) -> None:
        """Check that the range is one."""
        if not 0.0 < self.high - self.low < math.inf:
            raise EvenhandError(f"must be above low ({self.low:g}), by a finite number, got {self.high:g}", "high")
        if self.missing is not None:
            validate.number("missing", self.missing, self.low, self.high)

    def labels(self, name: str) -> tuple[str, ...]:
        """The name; and a second column for whether the value is missing, where ``missing`` is declared."""
        return (name,) if self.missing is None else (name, f"{name}=missing")

    def put(self, value: Any, row: Array, at: int) -> Note | None:
        """The number on the scale [0, 1]."""
        if (type(value) is float or type(value) is int) and self.low <= value <= self.high:
            row[at] = (value - self.low) / (self.high - self.low)
            return None
        if value is None:
            if self.missing is None:
                raise EvenhandError(MISSING)
            row[at], row[at + 1] = (self.missing - self.low) / (self.high - self.low), 1.0
            return "missing"
        number = validate.number("", value)
        inside = min(max(number, self.low), self.high)
        row[at] = (inside - self.low) / (self.high - self.low)
        return None if number == inside else "cut"

    def put_all(self, values: Any, table: Array, at: int, faults: Faults) -> Counter[Note]:
        """All at once where all are numbers, or missing as declared."""
        found = _numbers(values)
        if found is None or not np.isfinite(found[0][~found[1]]).all() or (self.missing is None and found[1].any()):
            return Feature.put_all(self, values, table, at, faults)
        numbers, blank = found
        inside = np.clip(numbers, self.low, self.high)
        if self.missing is not None:
            inside[blank] = self.missing
            table[:, at + 1] = blank
        table[:, at] = (inside - self.low) / (self.high - self.low)
        return _counted("cut", np.count_nonzero((inside != numbers) & ~blank), blank.sum())

    def segments(self, name: str, cuts: Sequence[float] = ()) -> tuple[str, ...]:
        """A range between two cuts each; a value that is missing falls into that of ``missing``."""
        numbers = [validate.number("cuts", one, self.low, self.high) for one in cuts]
        if not numbers or sorted(set(numbers)) != numbers or self.low in numbers or self.high in numbers:
            limits = f"{self.low:g} and {self.high:g}"
            raise EvenhandError(
                f"must be numbers between {limits} in increasing order, got {shown(list(cuts))}", "cuts"
            )
        between = [f"{name} {low:g} to {high:g}" for low, high in pairwise(numbers)]
        return (f"{name} below {numbers[0]:g}", *between, f"{name} {numbers[-1]:g} and above")

    def segment(self, columns: Array, cuts: Sequence[float] = ()) -> Any:
        """How many cuts are not above it."""
        value = columns[..., 0]
        return sum((cut - self.low) / (self.high - self.low) <= value for cut in cuts)

    def read(self, text: str) -> float | None:
        """The number."""
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            raise EvenhandError(f"must be a number, got {shown(text)}") from None


def _few(length: Any) -> int:
    """The length of a vector."""
    return validate.whole("", length, high=LARGEST)


def _length(value: Any) -> str:
    """How long a list is, or the shape of an array with several axes or none."""
    return f"an array of shape {value.shape}" if getattr(value, "ndim", 1) != 1 else f"{len(value):,}"


def _without_cuts(name: str, cuts: Sequence[float]) -> None:
    """Refuse cuts of what is not a number."""
    if cuts:
        raise EvenhandError(f"must be left out: {name!r} is not a number", "cuts")


def _counted(note: Note, times: Any, missing: Any) -> Counter[Note]:
    """How often there was something, and how often a value was missing; only what there was."""
    notes: Counter[Note] = Counter()
    notes[note], notes["missing"] = int(times), int(missing)
    return +notes


def _levels(levels: Any) -> tuple[str, ...]:
    """Names, each once."""
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise EvenhandError(f"must be a list of names, got {shown(levels)}")
    names = []
    for place, level in enumerate(levels):
        try:
            names.append(_name(level))
        except EvenhandError as error:
            raise error.at(place) from None
        if names[-1] in names[:-1]:
            raise EvenhandError(f"is {names[-1]!r} again; name each level once", place)
    if not names:
        raise EvenhandError("must have at least one level")
    return tuple(names)


def _name(value: Any) -> str:
    """A level; a whole number is its digits."""
    if isinstance(value, str) and value:
        return str(value)
    whole = isinstance(value, int | np.integer) or (
        isinstance(value, float | np.floating) and float(value).is_integer()
    )
    if not whole or isinstance(value, bool):
        flag = " (declare true and false as Flag)" if isinstance(value, bool | np.bool_) else ""
        raise EvenhandError(f"must be a name{flag}, got {shown(value)}")
    return str(int(value))


@part("feature", "category")
@frozen
class Category(Feature):
    """One of several names, one column each; no level is dropped.

    Args:
        levels: the names; whole numbers are taken as names.
        unknown: ``"other"`` gives names that are no level, blanks and missing values a column of their own;
            ``"error"`` refuses them.

    Raises:
        EvenhandError: there is no level, one is there twice, or one is called ``"other"`` beside ``unknown="other"``.

    Example:
        >>> from evenhand.features import Features
        >>> features = Features({"country": Category(["DE", "FR"])}, intercept=False)
        >>> features.columns, features.encode([{"country": "FR"}, {"country": "IT"}])
        (('country=DE', 'country=FR', 'country=other'), array([[0., 1., 0.],
               [0., 0., 1.]]))
    """

    levels: tuple[str, ...] = field(converter=_levels)
    unknown: str = field(default="other", validator=validate.choice("other", "error"))
    _places: dict[str, int] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Note where each level stands."""
        if self.unknown == "other" and "other" in self.levels:
            raise EvenhandError("must leave out 'other': names that are not listed have that column", "levels")
        object.__setattr__(self, "_places", {level: place for place, level in enumerate(self.levels)})

    def labels(self, name: str) -> tuple[str, ...]:
        """One per level, and one for others."""
        return tuple(f"{name}={level}" for level in self.levels + ("other",) * (self.unknown == "other"))

    def meanings(self, name: str) -> tuple[str, ...]:
        """A level means the same whatever others there are; what is other depends on them."""
        labels, known = self.labels(name), len(self.levels)
        return labels[:known] + tuple(f"{label} than {', '.join(self.levels)}" for label in labels[known:])

    def segments(self, name: str, cuts: Sequence[float] = ()) -> tuple[str, ...]:
        """The levels, and ``"other"`` where there are others."""
        _without_cuts(name, cuts)
        return self.levels + ("other",) * (self.unknown == "other")

    def segment(self, columns: Array, cuts: Sequence[float] = ()) -> Any:
        """The place of the level."""
        return columns.argmax(axis=-1)

    def level(self, value: Any) -> str:
        """The level to which a value belongs.

        Args:
            value: a name or a whole number; None where it is missing.

        Returns:
            One of ``levels``, or ``"other"``.

        Raises:
            EvenhandError: it is not a name, or it is unknown and ``unknown`` is ``"error"``; without a path.

        Example:
            >>> Category(["DE", "FR"]).level("IT")
            'other'
        """
        blank = value is None or (isinstance(value, str) and value == "")
        if blank and self.unknown == "error":
            raise EvenhandError(MISSING)
        name = "other" if blank else _name(value)
        if name in self._places:
            return name
        if self.unknown == "error":
            raise EvenhandError(f"must be {' or '.join(map(repr, self.levels[:SHOWN]))}, got {shown(value)}")
        return "other"

    def put(self, value: Any, row: Array, at: int) -> Note | None:
        """A 1 in the column of the level."""
        place = self._places.get(value) if type(value) is str else None
        if place is None:
            place = self._places.get(self.level(value), len(self.levels))
        row[at + place] = 1.0
        return None if place < len(self.levels) else "missing" if value in (None, "") else "unknown"

    def put_all(self, values: Any, table: Array, at: int, faults: Faults) -> Counter[Note]:
        """All at once where all are names."""
        if set(map(type, values)) - {str, type(None)}:
            return Feature.put_all(self, values, table, at, faults)
        last = len(self.levels)
        places = np.fromiter((self._places.get(value, last) for value in values), dtype=np.intp, count=len(values))
        others = np.flatnonzero(places == last)
        if len(others) and self.unknown == "error":
            return Feature.put_all(self, values, table, at, faults)
        table[np.arange(len(places)), at + places] = 1.0
        blank = sum(not values[place] for place in others)
        return _counted("unknown", len(others) - blank, blank)


@part("feature", "flag")
@frozen
class Flag(Feature):
    """True or false, also written 1 or 0; a missing value is refused.

    Example:
        >>> from evenhand.features import Features
        >>> Features({"new": Flag()}, intercept=False).encode([{"new": True}, {"new": False}])
        array([[1.],
               [0.]])
    """

    def labels(self, name: str) -> tuple[str, ...]:
        """The name."""
        return (name,)

    def put(self, value: Any, row: Array, at: int) -> Note | None:
        """1 or 0."""
        if value is not True and value is not False:
            if value is None:
                raise EvenhandError(MISSING)
            if not isinstance(value, bool | np.bool_ | int | float | np.number) or value not in (0, 1):
                raise EvenhandError(f"must be true or false, got {shown(value)}")
        row[at] = value
        return None

    def segments(self, name: str, cuts: Sequence[float] = ()) -> tuple[str, ...]:
        """``not NAME`` for false, ``NAME`` for true."""
        _without_cuts(name, cuts)
        return f"not {name}", name

    def segment(self, columns: Array, cuts: Sequence[float] = ()) -> Any:
        """0 or 1."""
        return columns[..., 0].astype(int)

    def read(self, text: str) -> bool | None:
        """Of ``true``, ``false``, ``yes``, ``no``, ``1`` or ``0``."""
        known = {"": None, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        plain = text.lower().removesuffix(".0")
        if plain not in known:
            raise EvenhandError(f"must be true or false, got {shown(text)}")
        return known[plain]


@part("feature", "vector")
@frozen
class Vector(Feature):
    """Numbers that belong together, such as an embedding; as they are, each within a million of 0.

    Args:
        length: how many, up to 10,000.

    Raises:
        EvenhandError: the length is not a whole number from 1 to 10,000.

    Example:
        >>> from evenhand.features import Features
        >>> Features({"query": Vector(2)}, intercept=False).encode([{"query": [0.6, -0.8]}])
        array([[ 0.6, -0.8]])
    """

    length: int = field(converter=_few)
    many_columns: ClassVar[bool] = True

    def labels(self, name: str) -> tuple[str, ...]:
        """The name with the place, counted from 0."""
        return tuple(f"{name}[{place}]" for place in range(self.length))

    def put(self, value: Any, row: Array, at: int) -> Note | None:
        """The numbers."""
        if value is None:
            raise EvenhandError(MISSING)
        row[at : at + self.length] = self._checked(value)
        return None

    def read(self, text: str) -> list[float] | None:
        """The numbers of a list, separated by commas or blanks."""
        if not text:
            return None
        try:
            return [float(one) for one in text.strip("[]() ").replace(",", " ").split()]
        except ValueError:
            raise EvenhandError(
                f"must be a list of {self.length} numbers such as [0.5, 1], got {shown(text, 40)}"
            ) from None

    def _checked(self, value: Any) -> Array:
        """The numbers of one vector, checked."""
        if not isinstance(value, list | tuple | np.ndarray):
            raise EvenhandError(f"must be a list of {number_of(self.length, 'number')}, got {shown(value, 40)}")
        if (value.shape if isinstance(value, np.ndarray) else (len(value),)) != (self.length,):
            raise EvenhandError(f"must be a list of {number_of(self.length, 'number')}, got {_length(value)}")
        array = value if isinstance(value, np.ndarray) else None
        if array is None and not set(map(type, value)) - PLAIN:
            with suppress(OverflowError):
                array = np.array(value, dtype=float)
        if (
            array is not None
            and array.dtype.kind in "iuf"
            and array.ndim == 1
            and (np.abs(array, dtype=float) <= LARGEST_ENTRY).all()
        ):
            return array
        faults = []
        for place, one in enumerate(value):
            try:
                validate.number("", one, -LARGEST_ENTRY, LARGEST_ENTRY)
            except EvenhandError as error:
                faults.append(error.at(place))
        if faults:
            raise EvenhandError.together(faults[:SHOWN])
        return np.array([float(one) for one in value])


def _numbers(values: Any) -> tuple[Array, NDArray[np.bool_]] | None:
    """The values as numbers, NaN where one is missing, and where that is; None where some are no numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(float), np.zeros(len(values), dtype=bool)
    if set(map(type, values)) - PLAIN - {type(None)}:
        return None
    blank = np.fromiter((value is None for value in values), dtype=bool, count=len(values))
    try:
        return np.array([math.nan if value is None else value for value in values], dtype=float), blank
    except OverflowError:
        return None
