"""What was known before each decision of a log: the features of the situation and of the arms, as numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.bandit.evaluation.table import Index, Table, listing, text_of
from evenhand.core.errors import DataError, EvenhandError, number_of
from evenhand.core.state import Array, Mask
from evenhand.features.declaration import Features
from evenhand.features.encoding import Counts
from evenhand.features.kinds import Feature

FIRST = 10  # faults of cells that an error lists
MOST = 50_000_000  # numbers of the features of arms
OFTEN = 5  # plays of an item, on average, from which on it says something that a feature was always the same
COUNTED = {"cut": "beyond the range", "unknown": "of no declared level", "missing": "missing"}


@dataclass(frozen=True, eq=False)
class Known:
    """The features of the rounds of a log, encoded."""

    features: Features
    situation: Array  # (rounds, d)
    arms: Array | None  # (rounds, items, d_arm); None where no feature is of the arms

    def take(self, rounds: Any) -> Known:
        """Those of some rounds."""
        return Known(self.features, self.situation[rounds], None if self.arms is None else self.arms[rounds])

    def applied(self, weights: Array) -> Array:
        """(rounds, items), the features of each item times its weights (items, columns)."""
        d = self.features.widths[0]
        own = self.situation @ weights[:, :d].T
        return np.asarray(own if self.arms is None else own + np.einsum("rkc,kc->rk", self.arms, weights[:, d:]))

    def of_rows(self, weights: Array, round: Index, item: Index) -> Array:
        """(plays,), the features of each play times the weights of its item."""
        own, arms = self.of_plays(round, item)
        return np.asarray(np.einsum("rc,rc->r", own if arms is None else np.hstack([own, arms]), weights[item]))

    def of_plays(self, round: Index, item: Index) -> tuple[Array, Array | None]:
        """Of some plays the features of the situation and of the arm that played, (plays, d) and (plays, d_arm)."""
        return self.situation[round], None if self.arms is None else self.arms[round, item]


def known(table: Table, features: Features, round: Index, items: tuple[str, ...], item: Index) -> tuple[Known, Counts]:
    """The features of a log, whose rows are in the order of the rounds, and what was noted of their values."""
    first = np.flatnonzero(np.diff(round, prepend=-1))
    own = {name: _values(table, name, feature) for name, feature in features.situation.items()}
    for name, values in own.items():
        other = np.array([values[row] != values[first[place]] for row, place in enumerate(round)], dtype=bool)
        table.complain(other, name, "{} differs from the first row of the same decision")
    situations = [{name: values[row] for name, values in own.items()} for row in first]
    rows, available = _arms(table, features, round, items, item) if features.arms else (None, None)
    width = features.widths[1] * len(items) * len(first)
    if width > MOST:
        raise DataError(f"{table.source}: the features of arms would be {width:,} numbers; read fewer rows at a time")
    try:
        situation, arms, counts = features.observed_many(situations, rows, items, available)
    except EvenhandError as error:
        raise _located(table, first, error) from None
    return Known(features, situation, arms), counts


def notes_of(counts: Counts, known: Known, round: Index, item: Index) -> tuple[str, ...]:
    """What was noted of values, and of features of the situation that are the same in all rows of each item."""
    notes = [f"{name}: {number_of(times, 'value')} {COUNTED[what]}" for (name, what), times in counts.items()]
    items, first = np.unique(item, return_index=True)
    place = first[np.searchsorted(items, item)]
    for name in known.features.situation if len(item) >= OFTEN * len(items) else ():
        values = known.situation[round][:, list(known.features.places(name))]
        if (values == values[place]).all() and (values != values[0]).any():
            notes.append(
                f"{name} is the same in all rows of an item: if it is a feature of the items, declare it of the arms"
            )
    return tuple(notes)


def _values(table: Table, name: str, feature: Feature) -> list[Any]:
    """The values of a column, None for a blank; of text what it says."""
    faults: list[tuple[str, str]] = []
    values: list[Any] = []
    for row, (cell, blank) in enumerate(zip(table.cells(name).tolist(), table.blank(name).tolist(), strict=True)):
        try:
            values.append(None if blank else feature.read(cell.strip()) if isinstance(cell, str) else cell)
        except EvenhandError as error:
            faults.append((_place(table, row, name), error.faults[0].text))
            values.append(None)
    if faults:
        raise _first_of_each(faults)
    return values


def _arms(
    table: Table, features: Features, round: Index, items: tuple[str, ...], item: Index
) -> tuple[list[Mapping[str, Any]], Mask | None]:
    """The features of each item, or of each available item of every round, which are those."""
    cells = table.cells("available") if "available" in table.names else None
    first = np.flatnonzero(np.diff(round, prepend=-1))
    if cells is not None and listing(cells.iloc[0]).startswith("{"):
        places = {name: place for place, name in enumerate(items)}
        listed = [{text_of(name): one for name, one in json.loads(listing(cells.iloc[row])).items()} for row in first]
        available = np.zeros((len(first), len(items)), dtype=bool)
        for row, some in enumerate(listed):
            available[row, [places[name] for name in some]] = True
        return [
            some[items[place]] for some, on in zip(listed, available, strict=True) for place in np.flatnonzero(on)
        ], available
    lacking = [name for name in features.arms if name not in table.names]
    if lacking:
        remedy = 'add the column, or let available hold them, such as {"tea": {"price": 2.5}}'
        raise DataError(f"{table.source} has no column {lacking[0]!r}, a feature of the arms: {remedy}")
    own = {name: _values(table, name, feature) for name, feature in features.arms.items()}
    played = {place: row for row, place in reversed(list(enumerate(item.tolist())))}  # the first play of each
    for name, values in own.items():
        other = np.array([value != values[played[place]] for value, place in zip(values, item.tolist(), strict=True)])
        fault = "{} is another value than in an earlier row of the same item: let available hold those of all items in "
        table.complain(other, name, fault + 'every row, such as {{"tea": {{"price": 2.5}}}}')
    never = [name for place, name in enumerate(items) if place not in played]
    if never:
        raise DataError(f"{table.source} never plays {never[0]!r}, so that its features are not known")
    return [{name: values[played[place]] for name, values in own.items()} for place in range(len(items))], None


def _located(table: Table, first: Index, error: EvenhandError) -> DataError:
    """Faults of decisions as those of rows."""
    faults = []
    for fault in error.faults:
        if fault.path and isinstance(fault.path[0], int):
            faults.append((_place(table, int(first[fault.path[0]]), str(fault.path[-1])), fault.text))
        elif not faults:  # else it says how many more there are
            faults.append(("", str(fault)))
    return _first_of_each(faults)


def _first_of_each(faults: list[tuple[str, str]]) -> DataError:
    """Of faults, each its place and text, the first with each text in each column, and whether there are more."""
    alike: dict[tuple[str, str], str] = {}
    for where, text in faults:
        alike.setdefault((where.rpartition("column ")[2], text), f"{where} {text}".strip())
    said = list(alike.values())[:FIRST]
    more = ["and more cells like these"] if len(said) < len(faults) else []
    return DataError.together([DataError(one) for one in said + more])  # type: ignore[return-value]


def _place(table: Table, row: int, name: str) -> str:
    """A cell, in messages."""
    return f"{table.source}, row {table.numbers[row]}, column {table.names.get(name, name)!r}:"
