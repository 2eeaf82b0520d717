"""From values to numbers: of one decision, and of many rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, nearest, number_of, shown
from evenhand.core.state import Array
from evenhand.features.kinds import SHOWN, Faults, Feature

#: How often values of a feature were ``"cut"``, ``"unknown"`` or ``"missing"``.
Counts = Counter[tuple[str, str]]
Places = NDArray[np.intp]
LARGEST_CROSS = 1_000  # columns


class Block:
    """The columns of the features of the situation, or of an arm, without crosses."""

    __slots__ = ("columns", "features", "first", "puts", "template")

    def __init__(self, features: Mapping[str, Feature], before: tuple[str, ...] = ()) -> None:
        """Place the columns one after the other; ``before`` are the names of columns that are always 1."""
        columns, self.first, self.puts = list(before), {}, []
        for name, feature in features.items():
            self.first[name] = len(columns)
            self.puts.append((name, feature.put, len(columns)))
            columns += feature.labels(name)
        self.columns, self.features = tuple(columns), features
        self.template = np.zeros(len(columns))
        self.template[: len(before)] = 1.0

    def places(self, name: str) -> range:
        """The columns of a feature."""
        return range(self.first[name], self.first[name] + len(self.features[name].labels(name)))

    def meanings(self) -> tuple[str, ...]:
        """How each column is encoded."""
        own = tuple(meaning for name, one in self.features.items() for meaning in one.meanings(name))
        return self.columns[: len(self.columns) - len(own)] + own

    def one(
        self, values: Any, path: tuple[str, ...], faults: list[EvenhandError], notes: list[tuple[str, str]]
    ) -> Array:
        """The numbers of one situation or arm, (columns,)."""
        row = self.template.copy()
        if values is None:
            values = {}
        elif not isinstance(values, Mapping):
            faults.append(EvenhandError(f"must be a table of features by name, got {shown(values, 40)}", *path))
            return row
        for name, put, at in self.puts:
            try:
                note = put(values.get(name), row, at)
            except EvenhandError as error:
                faults.append(error.at(*path, name))
            else:
                if note is not None:
                    notes.append((name, note))
        if not values.keys() <= self.features.keys():
            faults += unknown(values, self.features, path)
        return row

    def many(self, values: Mapping[str, Any], rows: int, counts: Counts, faults: Faults) -> Array:
        """The numbers of many rows, (rows, columns)."""
        table = np.tile(self.template, (rows, 1))
        for name, feature in self.features.items():
            wrong: Faults = []
            for note, times in feature.put_all(values[name], table, self.first[name], wrong).items():
                counts[name, note] += times
            faults += [(row, error.at(name)) for row, error in wrong]
        return table


class Crosses:
    """Products of the columns of two features: of the situation, or with those of an arm."""

    __slots__ = ("arm", "arm_arm", "own_arm", "own_own", "situation")

    def __init__(self, own: Block, arm: Block, pairs: Sequence[tuple[str, str]]) -> None:
        """Note which columns are multiplied, and what the products are called."""
        found: dict[str, list[tuple[int, int, str]]] = {"own_own": [], "own_arm": [], "arm_arm": []}
        for place, (one, other) in enumerate(pairs):
            first, second = (own if name in own.features else arm for name in (one, other))
            products = [
                (i, j, f"{first.columns[i]}:{second.columns[j]}")
                for i in first.places(one)
                for j in second.places(other)
            ]
            if len(products) > LARGEST_CROSS:
                size = f"would have {len(products):,} columns, more than {LARGEST_CROSS:,}"
                raise EvenhandError(f"{size}: declare fewer levels, or a shorter vector", "crosses", place)
            if first is not own and second is own:
                products = [(j, i, name) for i, j, name in products]
            group = "own_own" if first is second is own else "arm_arm" if first is second else "own_arm"
            found[group] += products
        self.own_own, self.own_arm, self.arm_arm = map(_factors, found.values())
        self.situation = tuple(name for *_, name in found["own_own"])
        self.arm = tuple(name for group in ("own_arm", "arm_arm") for *_, name in found[group])

    def of_situation(self, own: Array) -> Array:
        """The columns (…, d) of the situation with its crosses."""
        if self.own_own is None:
            return own
        left, right = self.own_own
        return np.concatenate([own, own[..., left] * own[..., right]], axis=-1)

    def of_arms(self, own: Array, arm: Array) -> Array:
        """The columns (…, d_arm) of arms with their crosses; ``own`` has the same axes, or ones of length 1."""
        parts = [arm]
        if self.own_arm is not None:
            parts.append(own[..., self.own_arm[0]] * arm[..., self.own_arm[1]])
        if self.arm_arm is not None:
            parts.append(arm[..., self.arm_arm[0]] * arm[..., self.arm_arm[1]])
        return np.concatenate(parts, axis=-1) if len(parts) > 1 else arm


def _factors(products: Sequence[tuple[int, int, str]]) -> tuple[Places, Places] | None:
    """The columns on the left and on the right of some products."""
    left, right = (np.array([one[side] for one in products], dtype=np.intp) for side in (0, 1))
    return (left, right) if products else None


def columns_of(rows: Any, features: Mapping[str, Feature]) -> tuple[int, dict[str, Any], Faults]:
    """The number of rows, the values of each feature, None for a missing one, and names that are wrong."""
    if hasattr(rows, "columns") and hasattr(rows, "iloc"):
        return _of_frame(rows, features)
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        widths = [len(one.labels(name)) if one.many_columns else 1 for name, one in features.items()]
        if rows.shape[1] != sum(widths):
            raise EvenhandError(
                f"an array of rows must have {number_of(sum(widths), 'column')}, one for each of "
                f"{', '.join(features)} (a vector has one per number), got {rows.shape[1]:,}"
            )
        parts = np.split(rows, np.cumsum(widths)[:-1], axis=1)
        columns = zip(features.items(), parts, strict=True)
        return len(rows), {name: part if one.many_columns else part[:, 0] for (name, one), part in columns}, []
    if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
        known = features.keys()
        faults = [
            (place, error)
            for place, row in enumerate(rows)
            if not row.keys() <= known
            for error in unknown(row, features, ())
        ]
        return len(rows), {name: [row.get(name) for row in rows] for name in features}, faults
    right = "a table of pandas, a list of dictionaries or an array (rows, features)"
    raise EvenhandError(f"rows must be {right}, got {shown(rows, 40)}")


def _of_frame(frame: Any, features: Mapping[str, Feature]) -> tuple[int, dict[str, Any], Faults]:
    """As `columns_of`, of a table of pandas."""
    twice = [name for name in features if frame.columns.tolist().count(name) > 1]
    if twice:
        raise EvenhandError(f"there are several columns {twice[0]!r}")
    lacking = [name for name in features if name not in frame.columns]
    if lacking:
        others = [str(name) for name in frame.columns if name not in features]
        faults = [
            EvenhandError(f"there is no column {name!r}{nearest(name, others) if others else ''}") for name in lacking
        ]
        raise EvenhandError.together(faults)
    values: dict[str, Any] = {}
    for name in features:
        blank = frame[name].isna().to_numpy(dtype=bool)
        values[name] = frame[name].to_numpy()
        if blank.any():
            values[name] = values[name].astype(object)
            values[name][blank] = None
    return len(frame), values, []


def refuse(faults: Faults) -> None:
    """Raise an error with what is wrong in rows, if anything is."""
    if not faults:
        return
    faults = sorted(faults, key=lambda fault: fault[0])
    errors = [error.at(row) for row, error in faults[:SHOWN]]
    if len(faults) > SHOWN:
        errors.append(EvenhandError(f"and {len(faults) - SHOWN:,} more faults"))
    raise EvenhandError.together(errors)


def unknown(values: Mapping[Any, Any], features: Mapping[str, Feature], path: tuple[str, ...]) -> list[EvenhandError]:
    """A fault for each name that no feature has."""
    strange = [name for name in values if name not in features]
    hints = [nearest(name, features) if features else "; none is declared" for name in strange]
    return [
        EvenhandError(f"there is no such feature{hint}", *path, str(name))
        for name, hint in zip(strange, hints, strict=True)
    ]
