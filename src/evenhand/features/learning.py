"""A declaration of features from a table: which kind each column is, and its range or its levels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evenhand.core.errors import EvenhandError, nearest, shown
from evenhand.features.kinds import Category, Faults, Feature, Flag, Number, Vector

REMEDY = "leave the column out"
KINDS = "must be numbers, names, true or false, or lists of numbers"


def declared(frame: pd.DataFrame, arms: Sequence[str], levels: int) -> tuple[dict[str, Feature], dict[str, Feature]]:
    """The features of the situation and those of the arms; see `Features.of`."""
    if not isinstance(frame, pd.DataFrame):
        raise EvenhandError(f"must be a table of pandas, a row per decision, got {shown(frame, 40)}", "frame")
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise EvenhandError(f"must be a list of columns, such as ['price'], got {shown(arms, 40)}", "arms")
    names = frame.columns.tolist()
    strange = next((name for name in names if not isinstance(name, str) or names.count(name) > 1), None)
    if strange is not None:
        raise EvenhandError(f"a table must have different texts as names of its columns, got {shown(strange)}")
    faults = [
        EvenhandError(f"the table has no column {name!r}{nearest(name, names)}", "arms")
        for name in arms
        if name not in names
    ]
    if not len(frame):
        faults.append(EvenhandError("the table has no rows"))
    found, wrong = kinds_of(frame, levels) if len(frame) else ({}, {})
    faults += [error.at(name) for name, error in wrong.items()]
    if faults:
        raise EvenhandError.together(faults)
    own = {name: one for name, one in found.items() if name not in arms}
    return own, {name: found[name] for name in arms}


def kinds_of(frame: pd.DataFrame, levels: int) -> tuple[dict[str, Feature], dict[str, EvenhandError]]:
    """The kind of every column, and what is wrong with the others."""
    found: dict[str, Feature] = {}
    wrong: dict[str, EvenhandError] = {}
    for name in frame.columns:
        try:
            kind = _kind_of(frame[name], levels)
        except EvenhandError as error:
            wrong[name] = error
            continue
        again = next((one for one in found if _same(frame[one], frame[name])), None)
        if again is None:
            found[name] = kind
        else:
            wrong[name] = EvenhandError(f"has the same values as {again!r} in every row: {REMEDY}")
    return found, wrong


def _kind_of(column: pd.Series[Any], levels: int) -> Feature:
    """The kind of a column."""
    values = column.dropna()
    if not len(values):
        raise EvenhandError(f"has no value: {REMEDY}")
    if isinstance(values.iloc[0], list | tuple | np.ndarray):
        return _vector(column)
    strange = next((one for one in values if not isinstance(one, Hashable)), None)
    if strange is not None:
        raise EvenhandError(f"{KINDS}, got {shown(strange)}")
    distinct = values.unique()
    if len(distinct) == 1 and len(values) == len(column):
        raise EvenhandError(f"is {shown(distinct.tolist()[0])} in every row, which says nothing: {REMEDY}")
    truths = all(isinstance(one, bool | np.bool_) for one in distinct)
    if truths and len(values) < len(column):
        raise EvenhandError("has blanks, and a flag cannot be missing: write names, such as 'yes' and 'no'")
    if truths or (len(values) == len(column) and set(distinct) <= {0, 1}):
        return Flag()
    if pd.api.types.is_numeric_dtype(column):
        return _number(column)
    if not all(isinstance(one, str) for one in distinct):
        strange = next(one for one in distinct if not isinstance(one, str))
        raise EvenhandError(f"{KINDS}, got {shown(strange)}")
    known = sorted(one for one in distinct if one not in ("", "other"))
    if len(known) > levels:
        raise EvenhandError(
            f"has {len(known):,} different names, more than {levels}: group rare ones, raise levels if none of them "
            f"names a person, or {REMEDY}"
        )
    return Category(known)


def _number(column: pd.Series[Any]) -> Number:
    """A number from the smallest to the largest."""
    numbers = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(numbers).any():
        raise EvenhandError("must be finite numbers, got inf")
    known = numbers[~np.isnan(numbers)]
    low, high = float(known.min()), float(known.max())
    if low == high:  # the rest is missing, which is all that it says
        raise EvenhandError(f"is {low:g} wherever it is known: declare a Flag of whether it is")
    return Number(low, high, missing=None if len(known) == len(numbers) else float(np.median(known)))


def _vector(column: pd.Series[Any]) -> Vector:
    """A vector of the length that all have."""
    if column.isna().any():
        raise EvenhandError("has rows without a list of numbers; a vector cannot be missing")
    lengths = sorted({np.size(one) for one in column})
    if len(lengths) > 1:
        raise EvenhandError(f"has lists of {lengths[0]:,} to {lengths[-1]:,} numbers; all must have as many")
    vector = Vector(lengths[0])
    wrong: Faults = []
    vector.put_all(column.tolist(), np.zeros((len(column), lengths[0])), 0, wrong)
    if wrong:
        raise wrong[0][1].at(wrong[0][0])
    return vector


def _same(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    """Whether two columns have the same values; of lists it is not asked."""
    return one.dtype == other.dtype and not isinstance(one.iloc[0], list | np.ndarray) and bool(one.equals(other))
