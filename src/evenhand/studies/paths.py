"""Values in nested tables by their path, such as ``policies[0].eta``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.errors import ConfigurationError, nearest, number_of

STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+)\]|\[\"([^\"]+)\"\]|\['([^']+)'\]")
POLICY = re.compile(r"policies\[[^\]]*\]")
Path = tuple[str | int, ...]


def steps(path: str) -> Path:
    """The names and numbers that a path consists of."""
    found: list[str | int] = []
    place = 0
    while place < len(path):
        match = STEP.match(path, place)
        if match is None or (place == 0) == path[place : place + 1].startswith((".", "[")) or not path[0].isalpha():
            raise ConfigurationError(
                f"{path!r} is not the path of a value; a path has the form policies[0].eta or environment.rewards.means"
            )
        name, number, *labels = match.groups()
        found.append(int(number) if number is not None else name or next(filter(None, labels)))
        place = match.end()
    if not found:
        raise ConfigurationError("a path must not be empty; a path has the form policies[0].eta")
    return tuple(found)


def put(tables: object, path: Path, value: object) -> Any:
    """A copy of nested tables and lists with another value at a path; what it does not lead to is shared."""
    return _put(tables, path, value, "")


def _put(tables: object, path: Path, value: object, before: str) -> Any:
    if not path:
        return value
    step, *others = path
    if isinstance(tables, str):  # a name stands for a table
        tables = {"algorithm" if POLICY.fullmatch(before) else "kind": tables}
    if isinstance(tables, list):
        place = _entry(tables, step, before)
        changed = list(tables)
        changed[place] = _put(tables[place], tuple(others), value, f"{before}[{step!r}]")
        return changed
    if not isinstance(tables, Mapping):
        raise ConfigurationError(f"{before or 'the configuration'} is {tables!r}: there is no {step!r} in it")
    if isinstance(step, int):
        raise ConfigurationError(f"{before or 'the configuration'} is a table, which has no entry number {step}")
    if others and step not in tables:
        raise ConfigurationError(f"{before or 'the configuration'} has no {step!r}{nearest(step, tables)}")
    inner = f"{before}.{step}".lstrip(".")
    return {**tables, step: _put(tables.get(step), tuple(others), value, inner)}


def _entry(entries: Sequence[object], step: str | int, before: str) -> int:
    """The number of an entry of a list, given by this number or by its label."""
    if isinstance(step, int):
        if step < len(entries):
            return step
        raise ConfigurationError(
            f"{before} has {number_of(len(entries), 'entry', 'entries')}, counted from 0: there is no {before}[{step}]"
        )
    tables = [{"algorithm": one} if isinstance(one, str) else one for one in entries]
    labels = [one.get("label", one.get("algorithm")) if isinstance(one, Mapping) else None for one in tables]
    if labels.count(step) == 1:
        return labels.index(step)
    if step in labels:
        count = labels.count(step)
        raise ConfigurationError(f"{before} has {count} entries {step!r}: use a number, as in {before}[0]")
    known = [label for label in labels if label is not None]
    raise ConfigurationError(f"{before} has no entry {step!r}{nearest(step, known)}")
