"""Configuration files: TOML data for the same objects that the Python interface takes, with the same names."""

from __future__ import annotations

import itertools
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evenhand import availability as avail
from evenhand import rewards as rew
from evenhand.algorithms import find
from evenhand.datasets import logs, movielens
from evenhand.environment import Environment
from evenhand.errors import ConfigurationError, EvenhandError, nearest
from evenhand.feedback import Immediate
from evenhand.policy import Policy
from evenhand.records import PerLane

Numbers = float | list[float]


class _Section(BaseModel):
    """A table of the file; keys that are not known are refused with the nearest known one."""

    model_config = ConfigDict(extra="forbid", strict=False, allow_inf_nan=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            kinds = get_args(cls.model_fields["kind"].annotation) if "kind" in cls.model_fields else ()
            if kinds and data.get("kind", kinds[0]) not in kinds:
                raise ValueError(f"unknown kind {data['kind']!r}{nearest(data['kind'], kinds)}")
            for key in data:
                if key not in cls.model_fields:
                    raise ValueError(f"unknown key {key!r}{nearest(key, cls.model_fields)}")
        return data


class Drawn(_Section):
    """Means drawn anew in every lane, uniformly; the same for all policies."""

    kind: Literal["uniform"]
    arms: Annotated[int, Field(ge=1)]
    low: float = 0.0
    high: float = 1.0

    def draw(self, lanes: int, seed: int) -> PerLane:
        """The means of every lane, from a stream of their own."""
        # A key that no block of lanes has.
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
        return PerLane(rng.uniform(self.low, self.high, (lanes, self.arms)))


class HalfRange(_Section):
    """Penalties of half the distance between the best and the worst mean, lane by lane."""

    kind: Literal["half_range"]


@dataclass(frozen=True)
class Run:
    """What a section may need to know of the run."""

    folder: Path
    lanes: int
    seed: int

    def means(self, value: list[float] | Drawn) -> Any:
        """Means as given, or drawn."""
        return value.draw(self.lanes, self.seed) if isinstance(value, Drawn) else value


class BernoulliRewards(_Section):
    """Reward 1 with probability μ."""

    kind: Literal["bernoulli"]
    means: list[float] | Drawn

    def build(self, run: Run) -> rew.Rewards:
        """The reward model."""
        return rew.Bernoulli(run.means(self.means))


class GaussianRewards(_Section):
    """Normal rewards."""

    kind: Literal["gaussian"]
    means: list[float] | Drawn
    sd: Numbers

    def build(self, run: Run) -> rew.Rewards:
        """The reward model."""
        return rew.Gaussian(run.means(self.means), self.sd)


class BetaRewards(_Section):
    """Beta rewards, by a and b or by their means."""

    kind: Literal["beta"]
    a: list[float] | None = None
    b: list[float] | None = None
    means: list[float] | Drawn | None = None

    @model_validator(mode="after")
    def _one_way(self) -> BetaRewards:
        by_shape, by_means = self.a is not None and self.b is not None, self.means is not None
        if by_shape == by_means or (by_means and (self.a is not None or self.b is not None)):
            raise ValueError("give either a and b, or means")
        return self

    def build(self, run: Run) -> rew.Rewards:
        """The reward model."""
        return rew.Beta(self.a, self.b) if self.means is None else rew.BetaMeans(run.means(self.means))


class CategoricalRewards(_Section):
    """Rewards from a list of values."""

    kind: Literal["categorical"]
    values: list[float]
    probabilities: list[list[float]]

    def build(self, run: Run) -> rew.Rewards:
        """The reward model."""
        return rew.Categorical(self.values, self.probabilities)


class TableRewards(_Section):
    """Rewards from a log: a CSV file with a column an arm and a row a round."""

    kind: Literal["table"]
    path: str
    order: Literal["log", "shuffled"] = "log"

    def build(self, run: Run) -> rew.Rewards:
        """The reward model."""
        return rew.Table(logs.read_rewards(run.folder / self.path)[1], self.order)


Rewards = BernoulliRewards | GaussianRewards | BetaRewards | CategoricalRewards | TableRewards


class AlwaysAvailable(_Section):
    """Every arm in every round."""

    kind: Literal["always"] = "always"

    def build(self, run: Run, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        return avail.Always()


class IndependentAvailability(_Section):
    """Each arm with its own probability."""

    kind: Literal["independent"]
    probabilities: list[float]

    def build(self, run: Run, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        return avail.Independent(self.probabilities)


class JointAvailability(_Section):
    """A table of sets: rows of 0 and 1, an entry an arm, or lists of names of arms."""

    kind: Literal["joint"]
    sets: list[list[int | str]]
    probabilities: list[float]

    def build(self, run: Run, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        rows = [self._row(place, members, names) for place, members in enumerate(self.sets)]
        return avail.Joint(rows, self.probabilities)

    def _row(self, place: int, members: list[int | str], names: tuple[str, ...]) -> list[float]:
        if all(isinstance(member, str) for member in members):
            for member in members:
                if member not in names:
                    raise EvenhandError(f"sets[{place}]: there is no arm {member!r}{nearest(str(member), names)}")
            return [float(name in members) for name in names]
        if len(members) != len(names) or any(member not in (0, 1) for member in members):
            raise EvenhandError(
                f"sets[{place}] must be {len(names)} entries of 0 or 1, or a list of names of arms, got {members}"
            )
        return [float(member) for member in members]


class LoggedAvailability(_Section):
    """A log: a CSV file of 0 and 1, or, without a path, the blanks of the reward table."""

    kind: Literal["log"]
    path: str | None = None

    def build(self, run: Run, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        if self.path is not None:
            logged, table = logs.read_availability(run.folder / self.path)
            if logged != names:
                raise EvenhandError(
                    f"the availability log {self.path} is headed {', '.join(logged)}; "
                    f"the arms are {', '.join(names)}, in this order"
                )
            return avail.Logged(table)
        if not isinstance(rewards, rew.Table):
            raise EvenhandError("availability of kind 'log' needs a path, unless the rewards are a table with blanks")
        return avail.Logged(~np.isnan(rewards.values))


Availability = AlwaysAvailable | IndependentAvailability | JointAvailability | LoggedAvailability


class ImmediateFeedback(_Section):
    """Every reward is known at the end of its round."""

    kind: Literal["immediate"] = "immediate"

    def build(self) -> Immediate:
        """The feedback model."""
        return Immediate()


class EnvironmentSection(_Section):
    """The section ``[environment]``."""

    dataset: Literal["films"] | None = None
    arms: list[str] | None = None
    rewards: Annotated[Rewards, Field(discriminator="kind")] | None = None
    availability: Annotated[Availability, Field(discriminator="kind")] = AlwaysAvailable()
    feedback: ImmediateFeedback = ImmediateFeedback()
    fractions: list[float] | None = None
    penalties: Numbers | HalfRange | None = None
    weights: Numbers | None = None

    @model_validator(mode="after")
    def _some_world(self) -> EnvironmentSection:
        if (self.dataset is None) == (self.rewards is None):
            raise ValueError("give either rewards or a dataset")
        if self.dataset is not None and {"arms", "availability"} & self.model_fields_set:
            raise ValueError("a dataset brings its own arms and availability")
        return self

    def build(self, run: Run) -> Environment:
        """The environment."""
        stakes: dict[str, Any] = {"fractions": self.fractions, "weights": self.weights}
        if self.rewards is None:
            world = movielens.films()
            parts: dict[str, Any] = {
                "rewards": world.rewards,
                "availability": world.availability,
                "names": world.names,
            }
        else:
            rewards = self.rewards.build(run)
            names = self._names(run, rewards)
            parts = {
                "rewards": rewards,
                "availability": self.availability.build(run, rewards, names),
                "names": names,
            }
        penalties = half_range(parts["rewards"].means) if isinstance(self.penalties, HalfRange) else self.penalties
        return Environment(**parts, feedback=self.feedback.build(), penalties=penalties, **stakes)

    def _names(self, run: Run, rewards: rew.Rewards) -> tuple[str, ...]:
        if isinstance(self.rewards, TableRewards):
            headed = logs.read_rewards(run.folder / self.rewards.path)[0]
            if self.arms is not None and tuple(self.arms) != headed:
                raise EvenhandError(
                    f"arms must be those that head the reward table, in this order: {', '.join(headed)}"
                )
            return headed
        if self.arms is not None:
            return tuple(self.arms)
        return tuple(str(arm + 1) for arm in range(rewards.means.shape[-1]))


def half_range(means: Any) -> Any:
    """Half the distance between the best and the worst mean, for each lane where means differ between lanes."""
    values = np.asarray(getattr(means, "values", means))
    half = (values.max(axis=-1, keepdims=True) - values.min(axis=-1, keepdims=True)) / 2.0
    return PerLane(half) if isinstance(means, PerLane) else half


class FiguresSection(_Section):
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


class Config(_Section):
    """A whole configuration file."""

    horizon: Annotated[int, Field(ge=1)]
    lanes: Annotated[int, Field(ge=1)] = 100
    seed: Annotated[int, Field(ge=0)] = 0
    plays: Annotated[int, Field(ge=1)] = 1
    checkpoints: Annotated[int, Field(ge=1)] | list[int] = 200
    spacing: Literal["even", "log"] = "even"
    environment: EnvironmentSection
    policies: Annotated[list[PolicySection], Field(min_length=1)]
    figures: FiguresSection = FiguresSection()

    @field_validator("horizon", "lanes", "seed", "plays", mode="before")
    @classmethod
    def _no_booleans(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("should be a whole number")
        return value


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
        # Where a list or a table can stand, pydantic complains of both; a list that is wrong is no missing table.
        told = [_told(one) for one in error.errors() if one["type"] not in ("model_type", "dict_type")]
        raise ConfigurationError("\n".join(told or [_told(one) for one in error.errors()])) from None
    run = Run(Path(folder), config.lanes, config.seed)
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
    shared |= {name: getattr(environment, name) for name in ("fractions", "penalties", "weights")}
    parameters = {name: value for name, value in shared.items() if name in known and value is not None} | dict(given)
    if isinstance(parameters.get("penalties"), Mapping):
        HalfRange.model_validate(parameters["penalties"])
        parameters["penalties"] = half_range(environment.rewards.means)
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in parameters:
            where = ", here or in [environment]" if name in ("fractions", "penalties") else ""
            raise ConfigurationError(f"{algorithm} needs {name!r}{where}")
    policy = entry.build(**parameters)
    policy.start(environment.arms)
    return policy


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def _told(error: Any) -> str:
    """One of pydantic's errors in a line: where, and what would be right."""
    kinds = {"bernoulli", "gaussian", "beta", "categorical", "table", "always", "independent", "joint", "log"}
    steps = [step for step in error["loc"] if step not in kinds and not str(step).startswith(("list[", "int", "float"))]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        message = "is missing"
    elif error["type"] == "union_tag_invalid":
        known = [tag.strip(" '") for tag in error["ctx"]["expected_tags"].split(",")]
        message = f"unknown kind {error['ctx']['tag']!r}{nearest(error['ctx']['tag'], known)}"
    elif error["type"] == "union_tag_not_found":
        message = "needs a kind"
    elif error["type"] not in ("value_error",):
        message = f"{message[0].lower()}{message[1:]}, got {error['input']!r}"
    return f"{place}: {message}" if place else message
