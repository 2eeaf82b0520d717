"""Logs of Vowpal Wabbit: contextual decisions with action-dependent features, as JSON (dsjson) or as text (cb_adf)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from evenhand.bandit.evaluation.log import Log
from evenhand.core.errors import DataError, number_of
from evenhand.core.files import NOT_UTF8, path_of
from evenhand.features.declaration import Features
from evenhand.features.learning import kinds_of

LEVELS = 100  # names of a feature that is declared by itself
Values = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """A decision with its reward; features by name."""

    time: Any
    id: str
    situation: Values
    actions: dict[str, Values]
    played: str
    cost: float
    probability: float


def read_vowpal_wabbit(
    path: str | os.PathLike[str],
    *,
    names: str | None = None,
    features: Features | None = None,
    rewards: tuple[float, float] | None = None,
    unit: str = "",
) -> Log:
    """A log of decisions that Vowpal Wabbit wrote or reads: ``dsjson``, or text for ``--cb_adf``.

    Rewards are costs with the other sign. What is not in a line counts as Vowpal Wabbit counts it: a number as 0, a
    word as false. A feature of namespace N is called ``N.name``; ``name=value`` in text is one of several names. Lines
    without a cost, or with ``_skipLearn``, are left out and counted.

    Args:
        path: of the file; JSON if its first character is a brace.
        names: the feature that names an action, such as ``"Action.id"``. None: its tag, else its place, from 1.
        features: what is known before each decision. None: what `evenhand.Features.of` says of the file; features that
            say nothing, or have more than 100 names, are left out, and the log notes it.
        rewards: the smallest and the largest reward that can occur.
        unit: of the rewards.

    Returns:
        The log, whose ``reading.features`` is the declaration.

    Raises:
        DataError: there is no such file, or a line is neither; with the line.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
        >>> _ = file.write_text('''shared |User age:20 country=DE
        ... 0:-1:0.5 'tea|Action price:2
        ... 'mate|Action price:3
        ...
        ... shared |User age:40 country=FR
        ... 'tea|Action price:2.5
        ... 0:0:0.5 'mate|Action price:3
        ... ''')
        >>> log = read_vowpal_wabbit(file)
        >>> log.items, log.reward, log.reading.features.columns
        (('mate', 'tea'), array([1., 0.]), ('intercept', 'User.age', 'User.country=DE', 'User.country=FR',
         'User.country=other', 'Action.price'))

    Source: the wiki of Vowpal Wabbit, pages *DSJSON*, *Input format* and *Logged contextual bandit example*.
    """
    file = path_of(path)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise DataError(f"there is no file {file}") from None
    except (OSError, UnicodeError) as error:
        raise DataError(f"{file} cannot be read: {NOT_UTF8 if isinstance(error, UnicodeError) else error}") from None
    as_json = next((line for line in lines if line.strip()), "").lstrip().startswith("{")
    read, skipped = [], 0
    for event in (_of_json if as_json else _of_text)(lines, str(file), names):
        skipped += event is None
        read += [] if event is None else [event]
    if not read:
        raise DataError(f"{file} has no decision with a cost")
    notes = (f"{number_of(skipped, 'decision')} without a cost, or not to learn from, left out",) * bool(skipped)
    return _log(read, str(file), notes, features, rewards, unit)


def _log(
    events: Sequence[Event],
    source: str,
    notes: tuple[str, ...],
    features: Features | None,
    rewards: tuple[float, float] | None,
    unit: str,
) -> Log:
    """The log of some events."""
    situations = _filled([event.situation for event in events])
    pairs = [(row, name, values) for row, event in enumerate(events) for name, values in event.actions.items()]
    actions = _filled([values for *_, values in pairs])
    if features is None:
        own, without = kinds_of(situations, LEVELS)
        arms, others = kinds_of(actions[[name for name in actions if name not in own]], LEVELS)
        features = Features(own, arms)
        notes += tuple(f"{name} is not read, as it {fault}" for name, fault in [*without.items(), *others.items()])
    known = [name for name in actions if name in features.arms]
    table: list[dict[str, Values]] = [{} for _ in events]
    for (row, action, _), values in zip(pairs, actions[known].to_dict("records"), strict=True):
        table[row][action] = {
            str(key): None if isinstance(one, float) and math.isnan(one) else one for key, one in values.items()
        }
    frame = situations[[name for name in situations if name in features.situation]].assign(
        timestamp=[event.time for event in events],
        decision_id=[event.id for event in events],
        item_id=[event.played for event in events],
        reward=[0.0 - event.cost for event in events],
        propensity_score=[event.probability for event in events],
        available=pd.Series(table),
    )
    log = Log.of(frame, rewards=rewards, unit=unit, features=features, source=source)
    return replace(log, notes=notes + log.notes)


def _filled(rows: Sequence[Values]) -> pd.DataFrame:
    """A table in which numbers and flags that are not in a row are 0 and false."""
    frame = pd.DataFrame(rows, dtype=object)
    for name in frame:
        present = frame[name].dropna()
        kinds = set(map(type, present))
        if kinds <= {bool}:
            frame[name] = frame[name].fillna(False).astype(bool)
        elif kinds <= {bool, int, float}:
            frame[name] = frame[name].fillna(0.0).astype(float)
        elif str in kinds:
            frame[name] = frame[name].map(lambda one: str(one), na_action="ignore")
    return frame


# JSON


def _of_json(lines: Sequence[str], source: str, names: str | None) -> Iterator[Event | None]:
    """The decisions of dsjson; None for one that is left out."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            if not isinstance(found, dict):
                raise ValueError("it is not an object")
            yield _event(found, number, names)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            why = f"it has no {error}" if isinstance(error, KeyError) else error
            raise DataError(f"{source}, line {number} is not a decision in dsjson: {why}") from None


def _event(found: Mapping[str, Any], number: int, names: str | None) -> Event | None:
    """A decision in dsjson."""
    if found.get("_skipLearn") or "_label_cost" not in found:
        return None
    context = found["c"]
    actions = [(one.get("_tag"), dict(_flat(one))) for one in context["_multi"]]
    played = found["_labelIndex"] if "_labelIndex" in found else found["a"][0] - 1
    if not 0 <= played < len(actions):
        raise ValueError(f"action {played + 1} of {len(actions)} was played")
    called = _called(actions, names)
    return Event(
        found.get("Timestamp", number), str(found.get("EventId", number)), dict(_flat(context)),
        dict(zip(called, (values for _, values in actions), strict=True)), called[played],
        float(found["_label_cost"]), float(found["_label_probability"]),
    )  # fmt: skip


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, Any]]:
    """Features by name, with those of the namespaces that they are in."""
    for key, value in table.items():
        for one in value if isinstance(value, list) and any(isinstance(each, dict) for each in value) else [value]:
            if key.startswith("_") or one is None:
                continue
            if isinstance(one, Mapping):
                yield from _flat(one, f"{before}{key}.")
            else:
                yield before + key, one


# text


def _of_text(lines: Sequence[str], source: str, names: str | None) -> Iterator[Event | None]:
    """The decisions of a text for --cb_adf, which blank lines separate; None for one that is left out."""
    group: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            group.append((number, line))
        elif group:
            yield _decision(group, source, names)
            group = []


def _decision(group: Sequence[tuple[int, str]], source: str, names: str | None) -> Event | None:
    """A decision in text: a line that is shared, and one for each action, of which one has a label."""
    shared: Values = {}
    actions: list[tuple[str | None, Values]] = []
    label, played = None, 0
    for number, line in group:
        try:
            head, _, rest = line.partition("|")
            words = head.split()
            tag = words.pop().lstrip("'") if words and (words[-1].startswith("'") or not head[-1:].isspace()) else None
            values = _words(rest)
            if tag == "shared" or words == ["shared"]:
                shared = values
                continue
            if words:
                _, cost, probability = map(float, words[0].split(":"))
                label, played = (cost, probability), len(actions)
            actions.append((tag, values))
        except ValueError:
            right = "such as 'shared |User age:20' or '0:-1:0.5 |Action price:2'"
            raise DataError(f"{source}, line {number} is not a line for --cb_adf, {right}: {line[:80]!r}") from None
    if label is None or not actions:
        return None
    try:
        called = _called(actions, names)
    except ValueError as error:
        raise DataError(f"{source}, line {group[0][0]}: {error}") from None
    arms = dict(zip(called, (values for _, values in actions), strict=True))
    return Event(group[0][0], str(group[0][0]), shared, arms, called[played], *label)


def _words(rest: str) -> Values:
    """The features of a line, behind its first bar."""
    values: Values = {}
    for space in rest.split("|"):
        words = space.split()
        before, scale = "", 1.0
        if words and not space[:1].isspace():
            before, _, weight = words.pop(0).partition(":")
            before, scale = f"{before}.", float(weight or 1.0)
        for word in words:
            name, _, value = word.partition(":")
            if value:
                try:
                    values[before + name] = scale * float(value)
                except ValueError:
                    values[before + name] = value
            elif "=" in name:
                name, _, value = name.partition("=")
                values[before + name] = value
            else:
                values[before + name] = True if scale == 1.0 else scale
    return values


def _called(actions: Sequence[tuple[str | None, Values]], names: str | None) -> list[str]:
    """The name of each action."""
    if names is None:
        called = [tag or str(place) for place, (tag, _) in enumerate(actions, start=1)]
    else:
        lacking = next((place for place, (_, one) in enumerate(actions, start=1) if names not in one), None)
        if lacking is not None:
            raise ValueError(f"action {lacking} has no feature {names!r}; it has {', '.join(actions[lacking - 1][1])}")
        called = [str(one.pop(names)) for _, one in actions]
    twice = next((one for place, one in enumerate(called) if one in called[:place]), None)
    if twice is not None:
        raise ValueError(f"two actions are called {twice!r}; give the feature that names them, names='Action.id'")
    return called
