"""What a configuration takes from files and from the run, before the parts are built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from attrs import frozen

from evenhand.algorithms.build import half_range
from evenhand.core import validate
from evenhand.core.errors import ConfigurationError, EvenhandError, Faults, MissingValue, nearest
from evenhand.core.parts import Part, build, plain
from evenhand.core.state import PerLane
from evenhand.datasets import clicks, conversions, logs, movielens, popular
from evenhand.environment.rewards import Rewards, Table
from evenhand.environment.world import Environment, apart, with_values


@frozen
class RunSettings:
    """What the tables may need of the run."""

    folder: Path
    lanes: int
    seed: int
    importing: Callable[[str], Any] | None = None


T = TypeVar("T")

KEYS = (
    *("arms", "rewards", "availability", "feedback", "contexts", "dataset"),
    *("fractions", "penalties", "weights", "merit", "reward_range", "segments"),
)


def environment(
    table: Mapping[str, object], run: RunSettings, features: Mapping[str, object] | None = None
) -> Environment:
    """The environment that the section ``[environment]`` describes; ``[features]`` declares those of a log."""
    _check_keys(table)
    values, table = apart(table)
    errors = Faults()
    parts: dict[str, Any] = {"names": None}
    if "dataset" in table:
        with errors.at("dataset"):
            world = dataset(table["dataset"], run)
            parts = {"rewards": world.rewards, "availability": world.availability, "names": world.names}
            parts["feedback"] = world.feedback
    else:
        with errors.at("arms"):
            if not isinstance(arms := table.get("arms"), list | tuple | None):
                raise EvenhandError(f"must be a list of names, got {arms!r}")
            parts["names"] = arms if arms is None else tuple(map(str, arms))
        with errors.at("rewards"):
            parts["rewards"], parts["names"] = rewards(table["rewards"], parts["names"], run)
        with errors.at("availability"):
            given = table.get("availability", {"kind": "always"})
            parts["availability"] = availability(given, parts.get("rewards"), parts["names"], run)
    with errors.at("feedback"):
        if "feedback" in table:
            parts["feedback"] = feedback(table["feedback"], parts["names"], run)
    with errors.at("contexts"):
        if features is not None or "contexts" in table:
            parts["contexts"] = contexts(table.get("contexts"), run, features)
    with errors.at("merit"):
        parts["merit"] = None if "merit" not in table else build("merit", _table(table["merit"]), run.importing)
    with errors.at("penalties"):
        parts["penalties"] = _penalties(table.get("penalties"), parts.get("rewards"))
    if errors:
        raise EvenhandError.together(errors)
    for name in ("fractions", "weights", "reward_range", "segments"):
        parts[name] = table.get(name)
    return with_values(Environment(**parts), values)


def _check_keys(table: Mapping[str, object]) -> None:
    """Refuse keys that are unknown, missing, or not beside a data set."""
    faults = [
        ConfigurationError(f"unknown key {key!r}{nearest(key, KEYS)}", key=key) for key in table if key not in KEYS
    ]
    if ("rewards" in table) == ("dataset" in table):
        faults.append(ConfigurationError("give either rewards or a dataset"))
    if "dataset" in table and {"arms", "availability"} & set(table):
        faults.append(ConfigurationError("a dataset has its own arms and availability: remove these keys"))
    if faults:
        raise EvenhandError.together(faults)


def arms_of(table: Mapping[str, Any], run: RunSettings) -> tuple[int | None, tuple[str, ...]]:
    """The number of arms and their names, as far as a table says them that has faults elsewhere."""
    given = table.get("arms")
    if isinstance(given, list) and given:
        return len(given), tuple(map(str, given))
    try:
        model, names = rewards(table.get("rewards"), None, run)
        return model.arms, names
    except EvenhandError:
        means = table["rewards"].get("means") if isinstance(table.get("rewards"), Mapping) else None
        return (len(means), ()) if isinstance(means, list) and means else (None, ())


def rewards(table: object, names: tuple[str, ...] | None, run: RunSettings) -> tuple[Rewards, tuple[str, ...]]:
    """Rewards and the names of the arms; means may be drawn, and a table may come from a CSV file."""
    values = _table(table)
    if isinstance(values.get("means"), Mapping):
        values["means"] = _drawn(values["means"], run)
    if values.get("kind") == "table" and "path" in values:
        headed, values["values"] = logs.read_rewards(_path(values, run))
        if names not in (None, headed):
            raise EvenhandError(f"must be the columns of the reward table, in this order: {', '.join(headed)}", "arms")
        names = headed
    if values.get("kind") == "varying" and "path" in values:
        headed, values["probabilities"] = logs.read_rewards(_path(values, run))
        names = names or headed
    model: Rewards = build("rewards", values, run.importing)
    return model, names or tuple(str(arm + 1) for arm in range(model.arms))


def availability(table: object, model: Rewards | None, names: tuple[str, ...] | None, run: RunSettings) -> Any:
    """Who can play; sets may name their arms, and a log may come from a CSV file or from a reward table's blanks."""
    values = _table(table)
    if values.get("kind") == "joint" and isinstance(values.get("sets"), list):
        values["sets"] = [_members(place, row, _known(names)) for place, row in enumerate(values["sets"])]
    if values.get("kind") == "log" and "table" not in values:
        if "path" in values:
            path = _path(values, run)
            headed, values["table"] = logs.read_availability(path)
            _check_arms("availability log", path.name, headed, _known(names))
        else:
            unknown = _known(model).unknown
            if unknown is None:
                raise EvenhandError("kind 'log' needs a path, unless the rewards are a table with blanks")
            values["table"] = ~unknown
    return build("availability", values, run.importing)


def contexts(table: object, run: RunSettings, features: Mapping[str, object] | None) -> Any:
    """What is known before a decision; rows of a log may come from a CSV file, with the columns that are declared."""
    values = {} if table is None else _table(table)
    if features is not None:
        if values.get("kind") != "log" or "features" in values:
            raise EvenhandError("[features] declares the columns of contexts of kind 'log', without features there")
        values["features"] = features
    if values.get("kind") == "log" and "path" in values:
        path = _path(values, run)
        declared = None if "features" not in values else build("features", {"kind": "features", **values["features"]})
        values["values"] = logs.read_contexts(path, None if declared is None else declared.situation)
    return build("contexts", values, run.importing)


def feedback(table: object, names: tuple[str, ...] | None, run: RunSettings) -> Any:
    """When rewards become known; delays may come from a CSV file."""
    values = _table(table)
    if values.get("kind") == "empirical" and "samples" not in values:
        path = _path(values, run)
        headed, values["samples"] = logs.read_delays(path)
        if len(headed) > 1:
            _check_arms("log of delays", path.name, headed, _known(names))
    return build("feedback", values, run.importing)


def dataset(table: object, run: RunSettings) -> Environment:
    """A data set: figures that ship with the package, or files of the user's own."""
    values = _table(table)
    kind = values.pop("kind", None)
    if kind is None:
        raise ConfigurationError(f"needs a kind{nearest('', DATASETS)}")
    if kind not in DATASETS:
        raise ConfigurationError(f"unknown kind {kind!r}{nearest(str(kind), DATASETS)}", key="kind")
    known: Mapping[str, Any] = inspect.signature(DATASETS[kind]).parameters
    faults = [
        ConfigurationError(f"unknown key {key!r}{nearest(key, known)}", key=key) for key in values if key not in known
    ]
    required = (name for name, one in known.items() if one.default is one.empty and name not in values)
    faults += [ConfigurationError("is missing", name) for name in required]
    if faults:
        raise EvenhandError.together(faults)
    if values.get("path") is not None:
        values["path"] = _path(values, run)
    return DATASETS[kind](**values)


def _films(path: Path | None = None, order: str = "log") -> Environment:
    validate.one_of("order", order, ("log", "shuffled"))
    if path is not None:
        return movielens.load(path).environment(order)
    if order != "log":
        raise EvenhandError("users can only be shuffled in a log: give its path")
    return movielens.films()


def _popular(more_than: int, path: Path | None = None) -> Environment:
    return popular.popular(path, more_than)


def _conversions(
    path: Path | None = None, rates: Any = None, ads: int | None = None, click_rate: float = conversions.CLICK_RATE
) -> Environment:
    if ads is not None:
        validate.whole("ads", ads)
    if path is not None:
        return conversions.load(path, ads or conversions.ADS).environment(rates, click_rate)
    if ads is not None:
        raise EvenhandError("ads can only be chosen from a log: give its path")
    return conversions.shipped(rates or "scaled_conversions", click_rate)


def _outbrain(path: Path, arms: int = 7, rows: int = 100_000) -> Environment:
    validate.whole("arms", arms, low=2)
    names, table = clicks.outbrain(path, arms, rows)
    return Environment(Table(table), names=names)


def _coupons(path: Path, rows: int = 100_000) -> Environment:
    names, table = clicks.coupons(path, rows)
    return Environment(Table(table), names=names)


def _synthetic(
    rows: int = 100_000, arms: int = 7, seed: int = 0, drift: float = 0.01, burst: float = 20.0
) -> Environment:
    validate.whole("rows", rows)
    return Environment(Table(clicks.synthetic(rows, arms, seed, drift, burst)))


#: The data sets by name.
DATASETS: dict[str, Callable[..., Environment]] = {
    "films": _films,
    "popular": _popular,
    "conversions": _conversions,
    "outbrain": _outbrain,
    "coupons": _coupons,
    "synthetic": _synthetic,
}


def _path(values: dict[str, Any], run: RunSettings) -> Path:
    """The path in a table, which is taken out of it; relative to the folder of the configuration."""
    path = values.pop("path", None)
    if not isinstance(path, str):
        raise ConfigurationError("is missing" if path is None else f"must be a string, got {path!r}", "path")
    return run.folder / path


def _table(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, Part):
        value = plain(value)
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"must be a table such as {{ kind = '…' }}, got {value!r}")
    return dict(value)


def _drawn(table: Mapping[str, object], run: RunSettings) -> PerLane:
    """Means drawn anew in every lane, uniformly; the same for all policies."""
    known = {"kind", "arms", "low", "high"}
    if table.get("kind") != "uniform" or set(table) - known or "arms" not in table:
        raise ConfigurationError(
            f"must be a list, or {{ kind = 'uniform', arms = 5, low = 0.0, high = 1.0 }}, got {dict(table)!r}", "means"
        )
    arms = validate.whole("means.arms", table["arms"])
    low = validate.number("means.low", table.get("low", 0.0))
    high = validate.number("means.high", table.get("high", 1.0), low)
    # A key that no block of lanes has.
    rng = np.random.default_rng(np.random.SeedSequence(run.seed, spawn_key=(2**31,)))
    return PerLane(rng.uniform(low, high, (run.lanes, arms)))


def _penalties(value: object, model: Rewards | None) -> Any:
    if not isinstance(value, Mapping):
        return value
    if dict(value) != {"kind": "half_range"}:
        raise ConfigurationError(f"must be a number, a list, or {{ kind = 'half_range' }}, got {dict(value)!r}")
    half = half_range(np.asarray(_known(model).means))
    return PerLane(half) if half.ndim == 2 else half


def _members(place: int, row: object, names: tuple[str, ...]) -> Any:
    """A set of arms as a row of 0 and 1."""
    if not isinstance(row, list):
        raise EvenhandError(f"must be a list, got {row!r}", "sets", place)
    if (row and all(isinstance(member, str) for member in row)) or not row:
        for member in row:
            if member not in names:
                raise EvenhandError(f"there is no arm {member!r}{nearest(str(member), names)}", "sets", place)
        return [float(name in row) for name in names]
    if len(row) != len(names) or any(member not in (0, 1) for member in row):
        raise EvenhandError(f"must be {len(names)} entries of 0 or 1, or a list of names, got {row}", "sets", place)
    return row


def _known(value: T | None) -> T:
    """The value of another table."""
    if value is None:
        raise MissingValue
    return value


def _check_arms(what: str, path: str, headed: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Refuse a file whose columns are not the arms."""
    if headed != names:
        raise EvenhandError(
            f"the columns of the {what} {path} are {', '.join(headed)}, but the arms are {', '.join(names)}: give "
            "both in the same order"
        )
