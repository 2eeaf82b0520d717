"""Policies from tables: an algorithm with its parameters, or a table for each part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from attrs import field, frozen

from evenhand.algorithms.registry import Algorithm, find
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest, shown
from evenhand.core.imports import import_object
from evenhand.core.parts import build, class_of, kinds, parameters_of
from evenhand.core.state import Array
from evenhand.environment.world import Environment
from evenhand.messages.changes import VALUES
from evenhand.policy.composition import SLOTS, Policy
from evenhand.policy.groups import with_numbers
from evenhand.policy.prior import by_name

#: Parameters that a run or an environment may give for all policies.
SHARED = ("fractions", "penalties", "weights", "merit")


@frozen
class Surroundings:
    """What a table of a policy leaves to its surroundings."""

    arms: int
    plays: int = 1
    horizon: int | None = None
    shared: Mapping[str, Any] = field(factory=dict)
    means: Array | None = None
    importing: Callable[[str], Any] | None = None
    names: Sequence[str] = ()
    columns: tuple[int, int] | None = None  # of encoded features, of the situation and of every arm


PolicyLike: TypeAlias = Policy | str | Mapping[str, object]


def as_policy(value: PolicyLike, surroundings: Surroundings) -> Policy:
    """A policy, given as one, by the name of an algorithm, or by a table; see `build_policy`."""
    if isinstance(value, str):
        value = {"algorithm": value}
    return build_policy(value, surroundings) if isinstance(value, Mapping) else value


def surroundings_of(
    environment: Environment, horizon: int, plays: int = 1, importing: Callable[[str], Any] | None = None
) -> Surroundings:
    """What policies that face an environment leave to it."""
    shared = {name: getattr(environment, name) for name in SHARED}
    means, names = environment.means, environment.names
    return Surroundings(environment.arms, plays, horizon, shared, means, importing, names, environment.widths)


def build_policy(table: Mapping[str, object], surroundings: Surroundings) -> Policy:
    """The policy that a table describes: ``algorithm`` with its parameters, or a table for each slot."""
    policy = _by_algorithm(table, surroundings) if "algorithm" in table else _by_parts(table, surroundings)
    policy.start(surroundings.arms, columns=surroundings.columns)
    return policy


def half_range(means: Array) -> Array:
    """Half the distance between the best and the worst mean, (1,) or (lanes, 1)."""
    return np.asarray((means.max(axis=-1, keepdims=True) - means.min(axis=-1, keepdims=True)) / 2.0)


def _by_algorithm(table: Mapping[str, object], surroundings: Surroundings) -> Policy:
    parameters = {name: value for name, value in table.items() if name != "algorithm"}
    entry = entry_of(table["algorithm"], surroundings.importing)
    known = entry.parameters
    faults: list[EvenhandError] = [
        _unknown(entry.name, name, known) for name in parameters if name not in known or name == "plays"
    ]
    if "horizon" in parameters and surroundings.horizon is not None:
        faults.append(_unknown(entry.name, "horizon", known))
    if surroundings.plays > 1 and "plays" not in known:
        faults.append(ConfigurationError(f"{entry.name} plays one arm per round, but plays = {surroundings.plays}"))
    if faults:
        raise EvenhandError.together(faults)
    run = {"plays": surroundings.plays, "horizon": surroundings.horizon}
    given = {name: value for name, value in {**run, **surroundings.shared}.items() if value is not None}
    values = {name: value for name, value in given.items() if name in known} | parameters
    missing = [name for name, one in known.items() if one.default is one.empty and name not in values]
    if missing:
        raise EvenhandError.together([_missing(entry.name, name, surroundings) for name in missing])
    policy = entry.build(**{name: _value(name, value, surroundings) for name, value in values.items()})
    if not isinstance(policy, Policy):
        raise ConfigurationError(f"algorithm {entry.name!r} must return a Policy, got {shown(policy)}")
    return policy


def entry_of(name: object, importing: Callable[[str], object] | None = None) -> Algorithm:
    """The algorithm of a name, or the user's own function ``module:name``."""
    if not isinstance(name, str):
        raise ConfigurationError(f"must be a name such as 'fucb', got {shown(name)}", "algorithm")
    if ":" in name and importing is not None:
        function = importing(name)
        if not callable(function):
            raise ConfigurationError(
                f"algorithm {name!r} must be a function that returns a Policy, got {shown(function)}"
            )
        return Algorithm(name, function)
    return find(name)


def _by_parts(table: Mapping[str, object], surroundings: Surroundings) -> Policy:
    if not set(SLOTS) & set(table):
        raise ConfigurationError(f"give an algorithm, or a table for one of {', '.join(SLOTS)}")
    parts: dict[str, Any] = {}
    faults: list[EvenhandError] = []
    for slot, value in table.items():
        if slot not in SLOTS and slot not in ("kind", "name"):
            names = ("algorithm", *SLOTS)
            faults.append(ConfigurationError(f"unknown key {slot!r}{nearest(slot, names)}", key=slot))
            continue
        try:
            parts[slot] = _part(slot, value, surroundings) if slot in SLOTS else value
        except EvenhandError as error:
            faults.append(error.at(slot))
    if faults:
        raise EvenhandError.together(faults)
    parts.pop("kind", None)
    parts.setdefault("selection", build("selection", {"kind": "top_m", "plays": surroundings.plays}))
    return Policy(**parts)


def _part(slot: str, value: object, surroundings: Surroundings) -> Any:
    """A part of a policy, with what its table leaves to the surroundings."""
    if isinstance(value, str):
        value = {"kind": value}
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"must be a table such as {{ kind = '{next(iter(kinds(slot)))}' }}, got {shown(value)}"
        )
    filled = {name: _value(name, one, surroundings) for name, one in value.items()}
    cls, _ = class_of(slot, value, surroundings.importing)
    names = parameters_of(cls)
    if slot == "selection" and "plays" in names:
        filled.setdefault("plays", surroundings.plays)
    for name, default in surroundings.shared.items():
        if name in names and default is not None:
            filled.setdefault(name, default)
    return build(slot, filled, surroundings.importing)


def _value(name: str, value: object, surroundings: Surroundings) -> object:
    """A parameter as the algorithm or the part takes it."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in VALUES and number:  # one number stands for a list of equal ones
        return [value] * surroundings.arms
    if name == "prior" and isinstance(value, Mapping):
        return by_name(value, surroundings.names)
    if name == "groups" and isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        place = {arm: at for at, arm in enumerate(surroundings.names)}
        return [with_numbers(group, place) for group in value]
    if name == "penalties" and isinstance(value, Mapping) and value.get("kind") == "half_range":
        if surroundings.means is None:
            raise ConfigurationError(
                "penalties of kind 'half_range' need mean rewards, which are unknown here; give numbers instead"
            )
        return half_range(surroundings.means)
    return value


def _unknown(algorithm: str, name: str, known: Mapping[str, object]) -> EvenhandError:
    remedy = ": it is set for the whole run"
    if name not in ("plays", "horizon"):
        remedy = nearest(name, set(known) - {"plays", "horizon"})
    if name == "fractions":
        remedy = ": it takes none; a table of parts does, with fairness = {kind = 'deficit_first', fractions = 0.1}"
    return ConfigurationError(f"unknown parameter {name!r} of {algorithm}{remedy}", key=name)


def _missing(algorithm: str, name: str, surroundings: Surroundings) -> EvenhandError:
    if name == "horizon":
        return ConfigurationError(f"is missing: {algorithm} needs the number of rounds that it is meant for", name)
    here = ", here or in [environment]" if name in SHARED and surroundings.horizon else ""
    return ConfigurationError(f"is missing: {algorithm} needs it{here}", name)


def importing_from(folder: Path | None) -> Callable[[str], Any]:
    """How to find ``module:name`` beside a file of the user's own."""
    return lambda name: import_object(name, folder)
