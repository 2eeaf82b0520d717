"""Configuration files: TOML tables of the same parts that the Python interface takes, with the same names."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from evenhand.algorithms.build import Surroundings, importing_from, policies_of, surroundings_of
from evenhand.core.errors import ConfigurationError, EvenhandError, Faults, nearest
from evenhand.core.validate import MOST
from evenhand.environment.world import Environment, as_environment
from evenhand.messages.changes import From
from evenhand.policy.composition import Policy
from evenhand.policy.merit import Power
from evenhand.simulation.measures import metrics_of
from evenhand.simulation.setup import CHECKPOINTS, FiguresSettings, Setup
from evenhand.simulation.stages import changes_of, drafts_of
from evenhand.studies.faults import toml
from evenhand.studies.sources import RunSettings, arms_of, environment

#: What is right where pydantic finds something wrong, by its type of error.
RIGHT = {
    "int_type": "a whole number",
    "greater_than_equal": "at least {ge}",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a string",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "dataclass_type": "a table",
    "too_short": "a list with at least {min_length} entry",
    "literal_error": "{expected}",
}


def _whole(value: Any) -> Any:
    """A whole number that is written as 1e3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=1, le=MOST, strict=True), BeforeValidator(_whole)]


class Config(BaseModel):
    """The run's own settings; the tables of the environment and of the policies are built from the registry."""

    model_config = ConfigDict(extra="forbid")

    horizon: Count
    lanes: Count = 100
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    plays: Count = 1
    checkpoints: Count | list[Count] = CHECKPOINTS
    spacing: Literal["even", "log"] = "even"
    environment: Any
    features: dict[str, Any] | None = None
    policies: Any
    metrics: Any = ()
    promises: Any = ()
    figures: FiguresSettings = FiguresSettings()


def load(path: str | os.PathLike[str], **overrides: int | None) -> Setup:
    """Read a configuration file."""
    path = Path(path)
    with toml(path) as data:
        return parse(data, path.parent, None, **overrides)


def parse(
    data: Mapping[str, Any],
    folder: str | os.PathLike[str] = ".",
    world: Environment | None = None,
    **overrides: int | None,
) -> Setup:
    """The setup that a configuration, as nested dictionaries, describes; see `load`."""
    if "sweep" in data:
        raise ConfigurationError("this is a study of many settings; run it with `evenhand sweep`").at("sweep")
    config, faults = _settings({**data, **{key: value for key, value in overrides.items() if value is not None}})
    importing = importing_from(Path(folder))
    run = RunSettings(Path(folder), config.lanes, config.seed, importing)
    if world is None and "environment" in data:
        world = _environment(config, run, faults)
    around = _surroundings(config, world, run)
    policies = {} if around is None else policies_of(config.policies, around, faults)
    metrics = metrics_of(config.metrics, faults, importing)
    changes = _changes(config, world, policies, overrides.get("horizon") is not None, faults)
    if faults or world is None:
        # data that cannot be read and promises that cannot be kept stay such errors
        all_faults = EvenhandError.together(faults)
        raise ConfigurationError.together([all_faults]) if type(all_faults) is EvenhandError else all_faults
    return Setup(
        policies=policies,
        environment=world,
        horizon=config.horizon,
        lanes=config.lanes,
        seed=config.seed,
        checkpoints=config.checkpoints,
        spacing=config.spacing,
        figures=config.figures,
        metrics=metrics,
        promises=changes,
    )


def _environment(config: Config, run: RunSettings, faults: Faults) -> Environment | None:
    """The environment; None where it has faults."""
    as_written = isinstance(config.environment, Mapping) and "kind" not in config.environment  # or as Python has it
    with faults.at(*(["environment"] if as_written else [])):
        if not as_written:
            return as_environment(config.environment, run.importing)
        return environment(config.environment, run, config.features)
    return None


def _settings(data: Mapping[str, Any]) -> tuple[Config, Faults]:
    """The run's own settings, and what is wrong with them, which is left out so that the rest can be checked."""
    try:
        return Config.model_validate(data), Faults()
    except ValidationError as error:
        wrong = {one["loc"][0] for one in error.errors()}
        rest = {key: _whole(value) for key, value in data.items() if key not in wrong}
        config = Config.model_construct(**{"horizon": 1, "environment": None, "policies": [], **rest})
        # A tuple of which an entry is wrong is also said to be too short.
        return config, Faults(_fault(one) for one in error.errors() if one["type"] != "too_short" or not one["input"])


def _surroundings(config: Config, world: Environment | None, run: RunSettings) -> Surroundings | None:
    """What the policies leave to the run; where the environment has faults, something in its place that has none."""
    if world is not None:
        return surroundings_of(world, config.horizon, config.plays, run.importing)
    table = config.environment if isinstance(config.environment, Mapping) else {}
    arms, names = arms_of(table, run)
    if arms is None:
        return None
    harmless = {"fractions": np.zeros(arms), "penalties": np.zeros(arms), "weights": np.ones(arms), "merit": Power()}
    shared = {name: value for name, value in harmless.items() if name in table}
    means = np.full(arms, 0.5)
    columns = (1, 1) if "contexts" in table else None
    return Surroundings(arms, config.plays, config.horizon, shared, means, run.importing, names, columns)


def _changes(
    config: Config, world: Environment | None, policies: Mapping[str, Policy], shorter: bool, faults: Faults
) -> tuple[From, ...]:
    """The promises that begin within the run."""
    changes: tuple[From, ...] = ()
    if world is not None:
        with faults.at():
            changes = changes_of(config.promises, world.names, config.horizon, shorter)
            for label, policy in policies.items():
                drafts_of(policy, world, changes, label)
    return changes


def _fault(error: Any) -> EvenhandError:
    """One of pydantic's errors: where, and what would be right."""
    path = [step for step in error["loc"] if not str(step).startswith(("list[", "constrained", "int", "function"))]
    kind, got = error["type"], error["input"]
    if kind == "missing":
        return ConfigurationError("is missing", *path)
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        *path, key = path
        fields = [one.name for one in dataclasses.fields(FiguresSettings)] if path else Config.model_fields
        return ConfigurationError(f"unknown key {key!r}{nearest(str(key), fields)}", *path, key=str(key))
    right = RIGHT.get(kind, "").format(**error.get("ctx", {})) or f"{error['msg'][:1].lower()}{error['msg'][1:]}"
    return ConfigurationError(f"must be {right.removeprefix('input should be ')}, got {got!r}", *path)
