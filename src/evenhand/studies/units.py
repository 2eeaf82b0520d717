"""Units of a sweep: one policy in one setting, the smallest piece of work that is kept."""

from __future__ import annotations

import hashlib
import json
import re
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.algorithms.build import each_policy, grid_points, no_policy, same_label
from evenhand.core.errors import EvenhandError
from evenhand.core.imports import raised_by_own
from evenhand.environment.world import Environment
from evenhand.simulation.results import Results
from evenhand.simulation.setup import Setup
from evenhand.simulation.simulate import run_setup
from evenhand.simulation.tables import PolicyResult
from evenhand.studies.configuration import Config, parse
from evenhand.studies.study import Setting, Study

OWN = re.compile(r"([\w.]+):[\w.]+")  # a part or an algorithm of the user's own
#: Settings of a run that decide its results; what is left out has its default.
DECIDING = ("horizon", "lanes", "seed", "plays", "checkpoints", "spacing", "metrics", "promises")


@dataclass(frozen=True)
class Unit:
    """One policy in one setting."""

    key: str
    setting: Setting
    label: str
    table: dict[str, Any]

    @property
    def steps(self) -> float:
        """About how much work it is, for the estimate of the time left and for the order."""
        config = self.setting.config
        horizon, lanes = config.get("horizon", 1), config.get("lanes", 100)
        if not isinstance(horizon, int | float) or not isinstance(lanes, int | float):
            return 1.0
        return float(horizon * (1 + lanes / 500))  # the cost of a round hardly grows with the lanes before 500

    def config(self) -> dict[str, Any]:
        """The configuration with this policy alone."""
        return {**self.setting.config, "policies": [{**self.table, "label": self.label}]}


@dataclass(frozen=True, eq=False)
class Failure:
    """What a unit that failed says."""

    error: str
    trace: str = ""


@dataclass(frozen=True, eq=False)
class UnitResult:
    """The result of a unit."""

    results: Results
    seconds: float

    @property
    def policy(self) -> PolicyResult:
        """Plays and measures of the policy."""
        (policy,) = self.results.policies.values()
        return policy


def units_of(study: Study) -> Iterator[Unit]:
    """The units of every setting, in order; some may be equal."""
    digests = _Digests(study.folder)
    for setting in study.settings():
        shared = {name: setting.config.get(name) for name in (*DECIDING, "environment")}
        shared |= {name: setting.config[name] for name in ("features",) if name in setting.config}
        labels: set[str] = set()
        for key, table in each_policy(setting.config.get("policies", ())):
            try:
                points = grid_points(table, key)
            except EvenhandError as error:
                raise error.at("policies", key) from None
            for label, point in points:
                if not isinstance(point, dict):
                    raise no_policy(point).at("policies", key)
                if label in labels:
                    raise same_label(label)
                labels.add(label)
                yield Unit(digests.of({**shared, "policy": point}), setting, label, point)


class _Digests:
    """Digests of tables with the contents of the files that they name."""

    def __init__(self, folder: Path) -> None:
        self._of_file = cache(self._read)
        self._folder = folder

    def of(self, table: Mapping[str, object]) -> str:
        files = {text: self._of_file(text) for text in strings_in(table)}
        known = {text: digest for text, digest in files.items() if digest}
        text = json.dumps([table, known], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def _read(self, text: str) -> str:
        """The digest of the file that a string names: its path, or a module of the user's own; empty for others."""
        own = OWN.fullmatch(text)
        path = self._folder / (own[1].replace(".", "/") + ".py" if own else text)
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        except (OSError, ValueError):
            return ""


def strings_in(value: object) -> Iterator[str]:
    """The strings in plain values, other than keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from strings_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings_in(one)


class Builder:
    """Makes units ready to run, with the environment of the one before where it is the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: tuple[str, Environment] | None = None

    def setup(self, unit: Unit) -> Setup:
        """What a unit simulates."""
        config = {"checkpoints": 1, **unit.config()}
        fields = Config.model_fields
        lanes, seed = (config.get(name, fields[name].default) for name in ("lanes", "seed"))
        key = json.dumps([config.get("environment"), config.get("features"), lanes, seed], sort_keys=True, default=str)
        world = self._last[1] if self._last is not None and self._last[0] == key else None
        setup = parse(config, self._folder, world)
        self._last = key, setup.environment
        return setup


def run_unit(setup: Setup) -> UnitResult | Failure:
    """Run a unit; an error is returned, so that it stops no other unit."""
    began = time.process_time()
    try:
        results = run_setup(setup, progress=False)
    except EvenhandError as error:
        return Failure(str(error))
    except MemoryError as error:
        return Failure(f"not enough memory: {str(error) or 'the setting is too large'}; use fewer lanes or checkpoints")
    except Exception as error:
        return Failure(raised_by_own(error) or f"{type(error).__name__}: {error}", traceback.format_exc())
    return UnitResult(results, time.process_time() - began)
