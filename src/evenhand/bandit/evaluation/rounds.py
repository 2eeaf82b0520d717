"""The rounds of a log: which rows belong together, and who could have played in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.bandit.evaluation.table import Index, Table, names, text_of
from evenhand.core.state import Mask


def rounds_of(table: Table) -> Index:
    """(rows,), the round of each row, in order of their first rows."""
    if "decision_id" not in table.names:
        return np.arange(len(table.frame))
    return np.asarray(pd.factorize(names(table, "decision_id"))[0], dtype=np.intp)


def items_of(table: Table, round: Index) -> tuple[tuple[str, ...], Index, Mask, Index, bool]:
    """The names of all items; of each row its item; the sets of available items; of each row its set; whether listed.

    The rows of a round stand together.
    """
    played = names(table, "item_id")
    group, sets = _sets(table, played)
    items = in_order([*played.tolist(), *(name for listed in sets for name in listed)])
    places = {name: place for place, name in enumerate(items)}
    item = np.array([places[name] for name in played.tolist()], dtype=np.intp)
    masks = np.full((max(len(sets), 1), len(items)), not sets)
    for row, listed in enumerate(sets):
        masks[row, [places[name] for name in listed]] = True
    outside = ~masks[group, item]
    if outside.any():
        available = ", ".join(map(repr, sets[group[np.flatnonzero(outside)[0]]]))
        safe = available.replace("{", "{{").replace("}", "}}")
        table.complain(outside, "item_id", "{} was played, but is not among the available " + safe)
    first = np.flatnonzero(np.diff(round, prepend=-1))
    if len(first) < len(round):
        _check_rounds(table, round, item, group, first)
    return items, item, masks, group, bool(sets)


def in_order(found: Sequence[str]) -> tuple[str, ...]:
    """Every name once, sorted by number where all are whole numbers, else by name."""
    different = set(found)
    whole = all(name.isascii() and name.isdigit() for name in different)
    return tuple(sorted(different, key=lambda name: (int(name) if whole else 0, name)))


def _check_rounds(table: Table, round: Index, item: Index, group: Index, first: Index) -> None:
    """No item plays twice in a round, and all rows of a round have the same available items."""
    order = np.lexsort((item, round))
    twice = np.zeros(len(round), dtype=bool)
    twice[order[1:]] = (np.diff(round[order]) == 0) & (np.diff(item[order]) == 0)
    table.complain(twice, "item_id", "{} was played before in the same decision")
    if "available" in table.names:
        other = group != group[first][round]
        table.complain(other, "available", "{} differs from the first row of the same decision")


def _sets(table: Table, played: NDArray[Any]) -> tuple[Index, list[tuple[str, ...]]]:
    """The number of each row's set of available items, and the sets; none without such a column."""
    if "available" not in table.names:
        return np.zeros(len(played), dtype=np.intp), []
    cells = table.cells("available").map(listing).map(_without_features)
    codes, texts = pd.factorize(cells)
    sets: dict[tuple[str, ...], int] = {}
    group = np.zeros(len(texts) + 1, dtype=np.intp)
    for place, text in enumerate(texts):
        listed = _names(str(text))
        if listed is None:
            fault = '{} is not a list of different names, such as tea|mate or ["tea", "mate"]'
            table.complain(codes == place, "available", fault)
        else:
            group[place] = sets.setdefault(listed, len(sets))
    return group[codes], list(sets)


def _names(text: str) -> tuple[str, ...] | None:
    """The names in a cell, sorted; None where it is not a list of different names."""
    try:
        listed = json.loads(text) if text.startswith("[") else text.split("|")
    except ValueError:
        return None
    found = [text_of(name) for name in listed]
    if not all(found) or len(set(found)) < len(found) or not found:
        return None
    return tuple(sorted(found))


def _without_features(text: str) -> str:
    """The names alone, where a cell has the features of each item."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        found = None
    return json.dumps(list(found)) if isinstance(found, dict) else text


def listing(cell: object) -> str:
    """A cell of available items as a string; where it has their features, by item."""
    if isinstance(cell, dict):
        return json.dumps(cell)
    return json.dumps([text_of(one) for one in cell]) if isinstance(cell, np.ndarray | list | tuple) else text_of(cell)
