"""Configuration files: TOML tables of the same parts that the Python interface takes, with the same names."""

from __future__ import annotations

import itertools
import math
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenhand.algorithms.build import SHARED, Surroundings, build_policy, importing_from
from evenhand.config.sources import RunSettings, environment
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest
from evenhand.core.parts import build
from evenhand.environment.environment import Environment
from evenhand.policy.policy import Policy
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.metrics import Metric, check_metrics
from evenhand.simulation.setup import CHECKPOINTS, FiguresSettings, Setup

Count = Annotated[int, Field(ge=1, strict=True)]


class Figures(BaseModel):
    """The section ``[figures]``."""

    model_config = ConfigDict(extra="forbid")

    bounds: bool = False
    log: Literal["", "x", "y", "xy"] = ""
    title: str = ""


class Config(BaseModel):
    """The run's own settings; the tables of the environment and of the policies are built from the registry."""

    model_config = ConfigDict(extra="forbid")

    horizon: Count
    lanes: Count = 100
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    plays: Count = 1
    checkpoints: Count | list[Count] = CHECKPOINTS
    spacing: Literal["even", "log"] = "even"
    environment: dict[str, Any]
    policies: Annotated[list[dict[str, Any]], Field(min_length=1)]
    metrics: list[str | dict[str, Any]] = []
    figures: Figures = Figures()


def load(path: str | os.PathLike[str], **overrides: int | None) -> Setup:
    """Read a configuration file.

    Parts and algorithms of one's own, ``module:name``, are imported from files beside it or from installed modules.

    Args:
        path: of a TOML file; paths in it are relative to its folder.
        overrides: ``seed``, ``lanes`` or ``horizon`` to put in place of the file's; None keeps the file's.

    Raises:
        ConfigurationError: the file is missing, is not TOML, or cannot be run; every fault has a line with its path.

    Example:
        >>> load("nowhere.toml")
        Traceback (most recent call last):
        ...
        evenhand.core.errors.ConfigurationError: there is no file nowhere.toml
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None
    try:
        return parse(data, path.parent, **overrides)
    except EvenhandError as error:
        raise error.within(str(path)) from None


def parse(data: Mapping[str, Any], folder: str | os.PathLike[str] = ".", **overrides: int | None) -> Setup:
    """The setup that a configuration, as nested dictionaries, describes; see `load`.

    Example:
        >>> setup = parse({
        ...     "horizon": 100,
        ...     "environment": {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}},
        ...     "policies": [{"algorithm": "fucb", "fractions": 0.1}],
        ... })
        >>> list(setup.policies)
        ['fucb']
    """
    config, faults = _settings({**data, **{key: value for key, value in overrides.items() if value is not None}})
    if config is None:
        raise _joined(faults)
    importing = importing_from(Path(folder))
    world: Environment | None = None
    policies: dict[str, Policy] = {}
    try:
        world = environment(config.environment, RunSettings(Path(folder), config.lanes, config.seed, importing))
    except EvenhandError as error:
        faults.append(error.at("environment"))
    if world is not None:
        shared = {name: getattr(world, name) for name in SHARED}
        around = Surroundings(world.arms, config.plays, config.horizon, shared, world.means, importing, world.names)
        policies, errors = _policies(config.policies, around)
        faults += errors
    metrics, errors = _metrics(config.metrics, importing)
    faults += errors
    if faults or world is None:
        raise _joined(faults)
    return Setup(
        policies=policies,
        environment=world,
        horizon=config.horizon,
        lanes=config.lanes,
        seed=config.seed,
        checkpoints=config.checkpoints,
        spacing=config.spacing,
        figures=FiguresSettings(**config.figures.model_dump()),
        metrics=metrics,
    )


def _settings(data: Mapping[str, Any]) -> tuple[Config | None, list[EvenhandError]]:
    """The run's own settings, or what is wrong with them."""
    try:
        return Config.model_validate(data), []
    except ValidationError as error:
        return None, [ConfigurationError(line) for line in dict.fromkeys(map(_sentence, error.errors()))]


def _joined(faults: list[EvenhandError]) -> EvenhandError:
    """All faults as one error; data that cannot be read and promises that cannot be kept stay such errors."""
    error = EvenhandError.together(faults)
    return ConfigurationError(str(error)) if type(error) is EvenhandError else error


def _metrics(
    tables: list[str | dict[str, Any]], importing: Callable[[str], Any]
) -> tuple[tuple[Metric, ...], list[EvenhandError]]:
    """The user's own metrics, and what is wrong with their tables."""
    metrics: list[Metric] = []
    faults: list[EvenhandError] = []
    for place, table in enumerate(tables):
        try:
            metrics.append(build("metric", table, importing))
            check_metrics(metrics, taken=MEASURES)
        except EvenhandError as error:
            faults.append(error.at(f"metrics[{place}]"))
    return tuple(metrics), faults


def _policies(tables: list[dict[str, Any]], around: Surroundings) -> tuple[dict[str, Policy], list[EvenhandError]]:
    """The policies by label, and what is wrong with their tables."""
    policies: dict[str, Policy] = {}
    faults: list[EvenhandError] = []
    for place, table in enumerate(tables):
        path = f"policies[{place}]"
        try:
            points = _grid(table)
        except EvenhandError as error:
            faults.append(error.at(path))
            continue
        for label, point in points:
            try:
                policy = build_policy(point, around)
            except EvenhandError as error:
                faults.append(error.at(path))
                continue
            if label in policies:
                faults.append(
                    ConfigurationError(f"{path}: two policies are labelled {label!r}; give each its own label")
                )
            policies[label] = policy
    return policies, faults


def _grid(table: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The tables of a policy by label: one, or one for every point of its grid."""
    given = {key: value for key, value in table.items() if key not in ("label", "grid")}
    grid = table.get("grid", {})
    label = table.get("label", given.get("algorithm", "policy"))
    if not isinstance(label, str):
        raise ConfigurationError(f"label must be a string, got {label!r}")
    if not isinstance(grid, Mapping):
        raise ConfigurationError(f"grid must be a table of lists, got {grid!r}")
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ConfigurationError(f"grid.{key} must be a list with at least one value, got {values!r}")
        if key in given:
            raise ConfigurationError(f"grid.{key} and the policy both give {key!r}")
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    return [
        (" ".join([label, *(f"{key}={_short(one)}" for key, one in point.items())]), given | point) for point in points
    ]


def _short(value: Any) -> str:
    """A value as part of a label."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key}={_short(part)}" for key, part in value.items() if key != "kind")
        return f"{value.get('kind', '')}({inner})"
    return f"{value:g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def _sentence(error: Any) -> str:
    """One of pydantic's errors in a line: where, and what would be right."""
    steps = [step for step in error["loc"] if not str(step).startswith(("list[", "constrained", "int"))]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    message = str(error["msg"])
    if error["type"] == "missing":
        message = "is missing"
    elif error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        fields = Figures.model_fields if len(steps) > 1 else Config.model_fields
        parent = place.rpartition(".")[0]
        return f"{parent}: ".lstrip(": ") + f"unknown key {key!r}{nearest(key, fields)}"
    else:
        message = f"{message[0].lower()}{message[1:]}, got {error['input']!r}".replace("input should", "should")
    return f"{place} {message}"
