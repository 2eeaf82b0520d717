"""Policies from tables: an algorithm with its parameters, or a table for each part."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from evenhand.algorithms.registry import Algorithm, find
from evenhand.core import validate
from evenhand.core.errors import ConfigurationError, EvenhandError, Faults, nearest, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import build, class_of, kinds, of_arms, parameters_of, several
from evenhand.core.state import Array
from evenhand.messages.changes import VALUES, in_order
from evenhand.policy.composition import SLOTS, Policy
from evenhand.policy.groups import with_numbers
from evenhand.policy.prior import by_name

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.environment.world import Environment

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
PoliciesLike: TypeAlias = PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike]


def as_policy(value: object, surroundings: Surroundings) -> Policy:
    """A policy, given as one, by the name of an algorithm, or by a table; see `build_policy`."""
    if isinstance(value, str):
        value = {"algorithm": value}
    if isinstance(value, Mapping):
        return build_policy(value, surroundings)
    if not isinstance(value, Policy):
        raise no_policy(value)
    return value


def no_policy(value: object) -> EvenhandError:
    """The error about a value that is not a policy, with what would be one."""
    slot = next((slot for slot, (base, _) in SLOTS.items() if isinstance(value, base)), "")
    remedy = f": Policy({slot}={type(value).__name__}(…)) is a policy with it" if slot else ""
    if isinstance(value, FunctionType):
        remedy = f": call it, as in {value.__name__}(…)"
    got = f"the function {value.__name__}" if isinstance(value, FunctionType) else shown(value)
    return ConfigurationError(
        "must be a policy such as fucb([0.1, 0.2]), the name of an algorithm such as 'fucb', or a table such as "
        f"{{'algorithm': 'fucb', 'fractions': 0.1}}, got {got}{remedy}"
    )


def policies_of(policies: PoliciesLike, surroundings: Surroundings, faults: Faults) -> dict[str, Policy]:
    """Policies by label, of all forms that `each_policy` takes; one that has a fault is left out."""
    found: dict[str, Policy] = {}
    with faults.at():
        for key, form in each_policy(policies):
            with faults.at("policies", key):
                for label, point in grid_points(form, key):
                    with faults.at("policies", key):
                        policy = as_policy(point, surroundings)
                        if label in found:
                            raise same_label(label)
                        found[label] = policy
    return found


def same_label(label: str) -> ConfigurationError:
    """The error about policies that cannot be kept apart."""
    return ConfigurationError(
        f"two policies are labelled {label!r}; give each its own label, as a key, {{'one': …, 'other': …}}, or as "
        "label in its table",
        key="label",
    )


def each_policy(policies: PoliciesLike) -> list[tuple[str | int, Any]]:
    """Policies with their labels, or with their places in a list; one alone is a list of one."""
    pairs: list[tuple[str | int, Any]] = list(enumerate(several(policies)))
    if isinstance(policies, Mapping) and not _is_table(policies):
        pairs = list(policies.items())
        for label in policies:
            if not isinstance(label, str):
                raise ConfigurationError(f"the label of a policy must be a string, got {shown(label)}", "policies")
    if not pairs:
        raise ConfigurationError("there is no policy to simulate; give at least one", "policies")
    return pairs


def _is_table(value: Mapping[str, object]) -> bool:
    """Whether a mapping describes one policy, and not several by label, which may be called like a slot."""
    by_label = (isinstance(one, Policy) or (isinstance(one, Mapping) and "algorithm" in one) for one in value.values())
    return bool({"algorithm", "kind", *SLOTS} & set(value)) and not any(by_label)


def grid_points(form: PolicyLike, key: str | int = 0) -> list[tuple[str, Any]]:
    """The forms of a policy by label: one, or one for every point of its grid.

    Its label is the key in a table of policies, or its own, or the name of its algorithm.
    """
    if isinstance(form, str):
        form = {"algorithm": form}
    if not isinstance(form, Mapping):
        return [(key if isinstance(key, str) else getattr(form, "name", "") or "policy", form)]
    given = {name: value for name, value in form.items() if name not in ("label", "grid")}
    grid: Any = form.get("grid", {})
    label = form.get(
        "label", key if isinstance(key, str) else str(given.get("algorithm") or given.get("name") or "policy")
    )
    if not isinstance(label, str):
        raise ConfigurationError(f"must be a string, got {label!r}", "label")
    if not isinstance(grid, Mapping):
        raise ConfigurationError(f"must be a table of lists, got {grid!r}", "grid")
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigurationError(f"must be a list with at least one value, got {values!r}", "grid", name)
        if name in given:
            raise ConfigurationError(
                f"{name!r} is set both in grid.{name} and in the policy: remove one of them", key=name
            )
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    return [
        (" ".join([label, *(f"{name}={short(one)}" for name, one in point.items())]), given | point) for point in points
    ]


def short(value: object) -> str:
    """A value as part of a label."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key}={short(part)}" for key, part in value.items() if key != "kind")
        return f"{value.get('kind', '')}({inner})"
    return f"{value:g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def surroundings_of(
    environment: Environment, horizon: int, plays: int = 1, importing: Callable[[str], Any] | None = None
) -> Surroundings:
    """What policies that face an environment leave to it."""
    shared = {name: getattr(environment, name) for name in SHARED}
    means, names = environment.means, environment.names
    return Surroundings(environment.arms, plays, horizon, shared, means, importing, names, environment.widths)


def build_policy(table: Mapping[str, object], surroundings: Surroundings) -> Policy:
    """The policy that a table describes: ``algorithm`` with its parameters, or a table for each slot."""
    for key in ("label", "grid"):
        if key in table:
            raise ConfigurationError(f"{key!r} belongs to lists of policies that are compared: leave it out", key=key)
    policy = _by_algorithm(table, surroundings) if "algorithm" in table else _by_parts(table, surroundings)
    if policy.fractions is not None:  # of a part of one's own nothing has checked them
        validate.per_arm("fractions", policy.fractions, 0.0, 1.0)
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
        kind = table.get("kind")
        slot = next((slot for slot in SLOTS if kind in kinds(slot)), "")
        remedy = f": kind {kind!r} is one of {slot}, so write {{'{slot}': {{'kind': {kind!r}, …}}}}" if slot else ""
        raise ConfigurationError(
            f"give an algorithm, or a table for one of {', '.join(SLOTS)}{remedy or _meant(table)}"
        )
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


def _meant(table: Mapping[str, object]) -> str:
    """A hint at the key that a misspelt one may mean, where there is one."""
    hints = {key: nearest(key, ("algorithm", *SLOTS)) for key in table}
    return next((f", not {key!r}{hint}" for key, hint in hints.items() if "did you mean" in hint), "")


def _part(slot: str, value: object, surroundings: Surroundings) -> Any:
    """A part of a policy, with what its table leaves to the surroundings."""
    if isinstance(value, str):
        value = {"kind": value}
    if isinstance(value, SLOTS[slot][0]):
        return value
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
    if name in VALUES and of_arms(value):
        return in_order(name, value, surroundings.names)
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


def importing_from(folder: Path | None) -> Callable[[str], object]:
    """How to find ``module:name`` beside a file of the user's own."""
    from evenhand.core.imports import import_object  # which loads what reads files

    return lambda name: import_object(name, folder)
