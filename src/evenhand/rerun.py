"""Runs again what made a result file."""

from __future__ import annotations

from pathlib import Path

from evenhand.config import FiguresSection, Setup
from evenhand.describe import rebuild
from evenhand.errors import ConfigurationError
from evenhand.records import PerLane
from evenhand.registry import ALGORITHMS
from evenhand.results import read_table


def load(path: Path, **overrides: int | None) -> Setup:
    """The setup of the simulation that wrote ``path``.

    Args:
        path: of a Parquet file that `Results.save` wrote.
        overrides: ``seed``, ``lanes`` or ``horizon`` to put in place of the file's; None keeps the file's.

    Raises:
        DataError: the file is missing, damaged or not Evenhand's.
        ConfigurationError: an override does not fit what was run.
    """
    information, _ = read_table(path)
    new = {name: value for name, value in overrides.items() if value is not None}
    environment = rebuild(information["environment"])
    if "lanes" in new and isinstance(environment.rewards.means, PerLane):
        raise ConfigurationError(f"{path}: its means were drawn for {information['lanes']} lanes; run it with as many")
    policies = {label: rebuild(plain) for label, plain in information["policies"].items()}
    if new.get("horizon", information["horizon"]) != information["horizon"]:
        for label, policy in policies.items():
            if policy.name in ALGORITHMS and "horizon" in ALGORITHMS[policy.name].parameters:
                raise ConfigurationError(
                    f"{path}: {label!r} was made for a horizon of {information['horizon']}; "
                    "run it with that, or from its configuration"
                )
    run = information | new
    return Setup(
        policies=policies,
        environment=environment,
        horizon=run["horizon"],
        lanes=run["lanes"],
        seed=run["seed"],
        checkpoints=[round for round in information["rounds"] if round <= run["horizon"]],
        spacing="even",
        figures=FiguresSection(),
    )
