"""Configuration files: TOML data for the same objects that the Python interface takes, with the same names."""

from __future__ import annotations

import itertools
import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evenhand.algorithms import find
from evenhand.environment import Environment
from evenhand.errors import ConfigurationError, EvenhandError, nearest
from evenhand.policy import Policy
from evenhand.rewards import Bernoulli
from evenhand.sections import (
    KINDS,
    UNIONS,
    AnyMerit,
    AnySize,
    EnvironmentSection,
    HalfRange,
    RunContext,
    Section,
    half_range,
)


class FiguresSection(Section):
    """The section ``[figures]``."""

    bounds: bool = False
    log: Literal["", "x", "y", "xy"] = ""
    title: str = ""


class PolicySection(BaseModel):
    """One ``[[policies]]``; the other keys are the algorithm's parameters."""

    model_config = ConfigDict(extra="allow")

    algorithm: str
    label: str | None = None
    grid: dict[str, list[Any]] = {}


class Config(Section):
    """A whole configuration file."""

    horizon: Annotated[int, Field(ge=1, strict=True)]
    lanes: Annotated[int, Field(ge=1, strict=True)] = 100
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    plays: Annotated[int, Field(ge=1, strict=True)] = 1
    checkpoints: Annotated[int, Field(ge=1)] | list[int] = 200
    spacing: Literal["even", "log"] = "even"
    environment: EnvironmentSection
    policies: Annotated[list[PolicySection], Field(min_length=1)]
    figures: FiguresSection = FiguresSection()


#: Errors that say no more than that another kind of value stands here.
UNFIT = ("model_type", "dict_type", "list_type")


@dataclass(frozen=True, eq=False)
class Setup:
    """What a configuration describes, ready to run."""

    policies: dict[str, Policy]
    environment: Environment
    horizon: int
    lanes: int
    seed: int
    checkpoints: int | list[int]
    spacing: str
    figures: FiguresSection


def load(path: str | os.PathLike[str], **overrides: int | None) -> Setup:
    """Read a configuration file.

    Args:
        path: of a TOML file; paths in it are relative to its folder.
        overrides: ``seed``, ``lanes`` or ``horizon`` to put in place of the file's; None keeps the file's.

    Raises:
        ConfigurationError: the file is missing, is no TOML, or says something that cannot be run; names the place.

    Example:
        >>> load("nowhere.toml")
        Traceback (most recent call last):
        ...
        evenhand.errors.ConfigurationError: there is no file nowhere.toml
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
        raise type(error)(f"{path}: {error}") from None


def parse(data: Mapping[str, Any], folder: str | os.PathLike[str] = ".", **overrides: int | None) -> Setup:
    """The setup that a configuration, as nested dictionaries, describes; see `load`.

    Example:
        >>> setup = parse({
        ...     "horizon": 100,
        ...     "environment": {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}},
        ...     "policies": [{"algorithm": "fucb", "fractions": [0.1, 0.1]}],
        ... })
        >>> list(setup.policies)
        ['fucb']
    """
    try:
        config = Config.model_validate({**data, **{k: v for k, v in overrides.items() if v is not None}})
    except ValidationError as error:
        # Where one thing or another can stand, pydantic complains of both; a list that is wrong is no missing table.
        told = [_told(one) for one in error.errors() if one["type"] not in UNFIT]
        raise ConfigurationError("\n".join(told or [_told(one) for one in error.errors()])) from None
    run = RunContext(Path(folder), config.lanes, config.seed)
    try:
        environment = config.environment.build(run)
    except EvenhandError as error:
        raise type(error)(f"[environment] {error}") from None
    policies: dict[str, Policy] = {}
    for section in config.policies:
        for label, policy in _policies(section, config, environment):
            if label in policies:
                raise ConfigurationError(f"two policies are labelled {label!r}; give each a label of its own")
            policies[label] = policy
    return Setup(
        policies,
        environment,
        config.horizon,
        config.lanes,
        config.seed,
        config.checkpoints,
        config.spacing,
        config.figures,
    )


def _policies(section: PolicySection, config: Config, environment: Environment) -> list[tuple[str, Policy]]:
    """The policy of a section, or one for every point of its grid."""
    name = section.label or section.algorithm
    given = dict(section.model_extra or {})
    for key, values in section.grid.items():
        if not values or key in given:
            fault = "is empty" if not values else f"and the policy both give {key!r}"
            raise ConfigurationError(f"policy {name!r}: grid.{key} {fault}")
    points = [dict(zip(section.grid, point, strict=True)) for point in itertools.product(*section.grid.values())]
    made = []
    for point in points:
        label = " ".join([name, *(f"{key}={_short(value)}" for key, value in point.items())])
        try:
            made.append(
                (
                    label,
                    build_policy(section.algorithm, given | point, config.plays, config.horizon, environment),
                )
            )
        except EvenhandError as error:
            raise type(error)(f"policy {label!r}: {error}") from None
    return made


def build_policy(
    algorithm: str, given: Mapping[str, Any], plays: int, horizon: int, environment: Environment
) -> Policy:
    """The policy of an algorithm with the given parameters; what is not given comes from the run or the environment.

    Raises:
        ConfigurationError: the algorithm or a parameter is not known, or one is missing.
    """
    entry = find(algorithm)
    known = entry.parameters
    for key in given:
        if key not in known or key in ("plays", "horizon"):
            hint = (
                "; it is set for the whole run"
                if key in ("plays", "horizon")
                else nearest(key, set(known) - {"plays", "horizon"})
            )
            raise ConfigurationError(f"{algorithm} has no parameter {key!r}{hint}")
    if plays > 1 and "plays" not in known:
        raise ConfigurationError(f"{algorithm} plays one arm a round, but plays = {plays}")
    shared: dict[str, Any] = {"plays": plays, "horizon": horizon}
    shared |= {name: getattr(environment, name) for name in ("fractions", "penalties", "weights", "merit")}
    parameters = {name: value for name, value in shared.items() if name in known and value is not None} | dict(given)
    if isinstance(parameters.get("penalties"), Mapping):
        HalfRange.model_validate(parameters["penalties"])
        parameters["penalties"] = half_range(environment.rewards.means)
    for name, kinds in (("merit", AnyMerit), ("size", AnySize)):
        if isinstance(parameters.get(name), Mapping):
            parameters[name] = _built(name, kinds, parameters[name])
        elif isinstance(parameters.get(name), str | int | float):
            raise ConfigurationError(f"{name} must be a table such as {{ kind = 'power', … }}, got {given[name]!r}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in parameters:
            where = ", here or in [environment]" if name in ("fractions", "penalties", "merit") else ""
            raise ConfigurationError(f"{algorithm} needs {name!r}{where}")
    policy = entry.build(**parameters)
    policy.start(environment.arms)
    return policy


def policy_of(algorithm: str, parameters: Mapping[str, Any], plays: int, arms: int) -> Policy:
    """The policy of an algorithm with parameters of its own only: what a bandit in use is made of.

    Raises:
        ConfigurationError: the algorithm or a parameter is not known, or one is missing.

    Example:
        >>> policy_of("fucb", {"fractions": [0.1, 0.2]}, plays=1, arms=2).name
        'fucb'
    """
    own = find(algorithm).parameters
    horizon = parameters.get("horizon", 1)
    given = {name: value for name, value in parameters.items() if name != "horizon"}
    if "horizon" in own and "horizon" not in parameters:
        raise ConfigurationError(f"{algorithm} needs 'horizon', the rounds that it is meant for")
    if "horizon" in parameters and "horizon" not in own:
        raise ConfigurationError(f"{algorithm} has no parameter 'horizon'{nearest('horizon', own)}")
    return build_policy(algorithm, given, plays, horizon, Environment(Bernoulli(np.full(arms, 0.5))))


def _built(name: str, kinds: TypeAdapter[Any], data: Mapping[str, Any]) -> Any:
    """What a parameter that is a table stands for."""
    try:
        return kinds.validate_python(dict(data)).build()
    except ValidationError as error:
        raise ConfigurationError("; ".join(f"{name}: {_told(one)}" for one in error.errors())) from None
    except EvenhandError as error:
        raise type(error)(f"{name}: {error}") from None


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key}={_short(part)}" for key, part in value.items() if key != "kind")
        return f"{value.get('kind', '')}({inner})"
    return f"{value:g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def _told(error: Any) -> str:
    """One of pydantic's errors in a line: where, and what would be right."""
    # A step into a union is a kind or a type, and no key of the file.
    types = ("list[", "literal[", "int", "float")
    pairs = zip(("", *error["loc"]), error["loc"], strict=False)
    steps = [
        step
        for before, step in pairs
        if not (step in KINDS and before in ("", *UNIONS)) and not str(step).startswith(types)
    ]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        message = "is missing"
    elif error["type"] == "union_tag_invalid":
        known = [tag.strip(" '") for tag in error["ctx"]["expected_tags"].split(",")]
        message = f"unknown kind {error['ctx']['tag']!r}{nearest(error['ctx']['tag'], known)}"
    elif error["type"] == "union_tag_not_found":
        message = "needs a kind"
    elif error["type"] == "literal_error":
        known = re.findall("'([^']*)'", error["ctx"]["expected"])
        message = f"unknown value {error['input']!r}{nearest(str(error['input']), known)}"
    elif error["type"] not in ("value_error",):
        message = f"{message[0].lower()}{message[1:]}, got {error['input']!r}"
    return f"{place}: {message}" if place else message
