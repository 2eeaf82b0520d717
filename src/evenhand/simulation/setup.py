"""A simulation ready to run, as a configuration or result file describes it, and its plain JSON values."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import MinLen
from attrs import field, frozen
from numpy.typing import NDArray

from evenhand.core.errors import ConfigurationError, EvenhandError, StateError
from evenhand.core.frozen import fields
from evenhand.core.parts import build, plain
from evenhand.core.state import PerLane, Unit
from evenhand.environment.world import Environment
from evenhand.judgement.keeping import keeping_of
from evenhand.messages.changes import From
from evenhand.policy.composition import Policy
from evenhand.simulation.files import FORMAT, read_table
from evenhand.simulation.kinds import FigureKind
from evenhand.simulation.metrics import Metric
from evenhand.simulation.stages import Draft, changes_of, drafts_of

#: Rounds at which measures are taken, unless said otherwise.
CHECKPOINTS = 200


@dataclass(frozen=True)
class FiguresSettings:
    """What the figures show: the section ``[figures]`` of a configuration, which pydantic reads."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    bounds: bool = False
    log: Literal["", "x", "y", "xy"] = ""
    title: str = ""
    band: Literal["95%", "standard error", "lanes", "none"] = "95%"
    width: Literal["", "column", "text"] = ""
    formats: Annotated[tuple[Literal["png", "svg", "pdf"], ...], MinLen(1)] = ("png", "svg")
    kinds: Annotated[tuple[FigureKind, ...], MinLen(1)] = ("overview", "curves")


@frozen(eq=False)
class Setup:
    """What a configuration or a result file describes, ready to run."""

    policies: dict[str, Policy]
    environment: Environment
    horizon: int
    lanes: int
    seed: int
    checkpoints: int | list[int] = CHECKPOINTS
    spacing: str = "even"
    figures: FiguresSettings = field(factory=FiguresSettings)
    metrics: tuple[Metric, ...] = ()
    promises: tuple[From, ...] = ()


def read_setup(path: Path, **overrides: int | None) -> Setup:
    """The setup of the simulation that wrote a result file."""
    information, _ = read_table(path)
    try:
        return setup_of(information, **overrides)
    except EvenhandError as error:
        raise type(error)(f"{path}: {error}") from None


def setup_of(information: Mapping[str, Any], **overrides: int | None) -> Setup:
    """The setup that `run_information` wrote down; see `evenhand.Results.setup`."""
    run = dict(information) | {name: value for name, value in overrides.items() if value is not None}
    environment = environment_of(information)
    policies = {label: _built("policy", repr(label), table) for label, table in information["policies"].items()}
    metrics = tuple(_built("metric", f"metric {place}", table) for place, table in enumerate(information["metrics"]))
    if run["lanes"] != information["lanes"] and lane_rows(environment, *policies.values()):
        raise ConfigurationError(
            f"its parameters are for {information['lanes']} lanes; run it with lanes = {information['lanes']}"
        )
    if run["horizon"] != information["horizon"]:
        for label, policy in policies.items():
            _check_horizon(label, policy, information["horizon"])
    return Setup(
        policies,
        environment,
        horizon=run["horizon"],
        lanes=run["lanes"],
        seed=run["seed"],
        checkpoints=[round for round in information["rounds"] if round <= run["horizon"]],
        metrics=metrics,
        promises=changes_of(information.get("changes", ()), environment.names, run["horizon"], shorter=True),
    )


def environment_of(information: Mapping[str, Any]) -> Environment:
    """The environment that `run_information` wrote down."""
    environment: Environment = _built("environment", "environment", information["environment"])
    return environment


def run_information(
    policies: Mapping[str, Policy],
    environment: Environment,
    lanes: int,
    seed: int,
    rounds: NDArray[np.int64],
    metrics: Sequence[Metric] = (),
    changes: Sequence[From] = (),
) -> dict[str, Any]:
    """All that is needed to run a simulation again, as plain JSON values."""
    import pandas
    import scipy

    from evenhand.core.version import __version__

    return {
        "format": FORMAT,
        "horizon": int(rounds[-1]),
        "lanes": lanes,
        "seed": seed,
        "rounds": rounds.tolist(),
        "environment": _plain(environment),
        "policies": {label: _plain(policy) for label, policy in policies.items()},
        "promises": {
            label: _promises(drafts_of(policy, environment, changes, label), int(rounds[-1]))
            for label, policy in policies.items()
        },
        "changes": [change.to_json() for change in changes],
        "metrics": [_plain(metric) for metric in metrics],
        "versions": {
            "evenhand": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "pandas": pandas.__version__,
        },
    }


def _promises(drafts: Sequence[Draft], horizon: int) -> dict[str, Any]:
    """How promises are kept, and what is promised besides shares of arms: floors and caps of groups, caps of arms."""
    policy, environment = drafts[-1].policy, drafts[-1].environment
    names, caps = environment.names, np.broadcast_to(1.0 if policy.caps is None else policy.caps, environment.arms)
    groups: list[dict[str, Any]] = [{**group, "name": f"the group {group['name']}"} for group in policy.groups]
    capped: list[dict[str, Any]] = [
        {"name": names[arm], "arms": [arm], "at_least": 0.0, "at_most": float(caps[arm])}
        for arm in np.flatnonzero(caps < 1.0).tolist()
    ]
    kept = {**keeping_of(policy, environment.arms, horizon).to_json(horizon), "bounds": groups + capped}
    if (rates := policy.index.rates) is not None:
        unit = environment.unit or Unit(0.0, 1.0)
        kept |= {"rates": np.broadcast_to(rates, environment.arms).tolist(), "unit": [unit.low, unit.width]}
    if environment.partition is not None:
        shares = np.zeros((len(environment.partition.names), environment.arms))
        promised = shares if drafts[-1].page.within is None else drafts[-1].page.within
        kept["segments"] = {"names": list(environment.partition.names), "shares": promised.tolist()}
    judged = policy.fractions is not None or (policy.merit is None and environment.fractions is not None)
    return kept | ({"pages": [draft.page.to_json() for draft in drafts]} if judged and len(drafts) > 1 else {})


def lane_rows(*parts: Any) -> list[int]:
    """The number of rows of every parameter that is given per lane, in parts and the parts within them."""
    rows: list[int] = []
    for part in parts:
        if isinstance(part, PerLane):
            rows.append(part.shape[0])
        else:
            rows += lane_rows(*(getattr(part, parameter.name) for parameter in fields(type(part))))
    return rows


def _plain(part: Any) -> Any:
    try:
        return plain(part)
    except StateError as error:
        return {"cannot_be_built": str(error)}


def _built(slot: str, name: str, table: Any) -> Any:
    if isinstance(table, Mapping) and "cannot_be_built" in table:
        raise ConfigurationError(f"{name} cannot be run again from this file: {table['cannot_be_built']}")
    try:
        return build(slot, table)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{name} cannot be built: {error} (a part of your own: load the module that registers it with --import)"
        ) from None


def _check_horizon(label: str, policy: Policy, horizon: int) -> None:
    """Refuse another horizon for a policy that was made for one."""
    from evenhand.algorithms.registry import ALGORITHMS

    if policy.name in ALGORITHMS and "horizon" in ALGORITHMS[policy.name].parameters:
        raise ConfigurationError(
            f"{label!r} is for a horizon of {horizon}; run it with horizon = {horizon}, or run its configuration"
        )
