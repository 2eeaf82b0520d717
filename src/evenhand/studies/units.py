"""Units of a sweep: one policy in one setting, the smallest piece of work that is kept."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve

from evenhand.algorithms.build import each_policy, grid_points, no_policy, same_label
from evenhand.core.errors import EvenhandError
from evenhand.core.imports import raised_by_own
from evenhand.environment.world import Environment
from evenhand.simulation import parallel
from evenhand.simulation.setup import Setup
from evenhand.simulation.simulate import run_setup
from evenhand.studies.configuration import Config, parse
from evenhand.studies.packed import packed
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
    run: str  # the same for units that differ in their policies alone, and can be run together

    @property
    def steps(self) -> float:
        """About how much work it is, for the estimate of the time left and for the order."""
        config = self.setting.config
        horizon, lanes = config.get("horizon", 1), config.get("lanes", 100)
        if not isinstance(horizon, int | float) or not isinstance(lanes, int | float):
            return 1.0
        return float(horizon * (1 + lanes / 500))  # the cost of a round hardly grows with the lanes before 500


@dataclass(frozen=True, eq=False)
class Failure:
    """What a unit that failed says."""

    error: str
    trace: str = ""


Result: TypeAlias = bytes | Failure  # a result is packed
Work: TypeAlias = list[tuple[Setup, list[str]]]  # what is run together, with the labels of its policies


def units_of(study: Study) -> Iterator[Unit]:
    """The units of every setting, in order; some may be equal."""
    digests = _Digests(study.folder)
    for setting in study.settings():
        shared = {name: setting.config.get(name) for name in (*DECIDING, "environment")}
        shared |= {name: setting.config[name] for name in ("features",) if name in setting.config}
        run = digests.of(shared)
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
                yield Unit(digests.of({**shared, "policy": point}), setting, label, point, run)


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

    def setup(self, unit: Unit, *others: Unit) -> Setup:
        """What a unit simulates, or several of the same run, whose policies are numbered."""
        units = {unit.label: unit} if not others else {str(at): one for at, one in enumerate([unit, *others])}
        policies = [{**one.table, "label": label} for label, one in units.items()]
        config = {"checkpoints": 1, **unit.setting.config, "policies": policies}
        fields = Config.model_fields
        lanes, seed = (config.get(name, fields[name].default) for name in ("lanes", "seed"))
        key = json.dumps([config.get("environment"), config.get("features"), lanes, seed], sort_keys=True, default=str)
        world = self._last[1] if self._last is not None and self._last[0] == key else None
        setup = parse(config, self._folder, world)
        self._last = key, setup.environment
        return setup

    def setups(self, units: Sequence[Unit]) -> Iterator[tuple[list[Unit], Setup | Failure]]:
        """What units simulate, those of the same run together, or why one cannot be run."""
        for _, group in itertools.groupby(units, key=lambda unit: unit.run):
            yield from self._tried(list(group))

    def _tried(self, units: list[Unit]) -> Iterator[tuple[list[Unit], Setup | Failure]]:
        try:
            setup = self.setup(*units)
            parallel.carry(setup.environment, *setup.policies.values(), *setup.metrics)
        except EvenhandError as error:
            if len(units) == 1:
                yield units, Failure(str(error))
            else:  # one of them
                yield from (tried for unit in units for tried in self._tried([unit]))
        else:
            yield units, setup


def run_work(work: Work) -> tuple[list[Result], float]:
    """The result of every policy, and the processor seconds that all took."""
    began = time.process_time()
    return [result for setup, labels in work for result in _run(setup, labels)], time.process_time() - began


def _run(setup: Setup, labels: Sequence[str]) -> list[Result]:
    """Run policies together; an error is returned, by the policy that has it, and stops no other."""
    try:
        results = run_setup(setup, progress=False)
        return [packed(results, *pair) for pair in zip(results.policies, labels, strict=True)]
    except (Exception, SystemExit) as error:
        if len(labels) == 1:
            return [_failure(error)]
        alone = (({label: policy}, label) for label, policy in zip(labels, setup.policies.values(), strict=True))
        return [result for policies, label in alone for result in _run(evolve(setup, policies=policies), [label])]


def _failure(error: BaseException) -> Failure:
    if isinstance(error, EvenhandError):
        return Failure(str(error))
    if isinstance(error, MemoryError):
        return Failure(f"not enough memory: {str(error) or 'the setting is too large'}; use fewer lanes or checkpoints")
    trace = "".join(traceback.format_exception(error))
    return Failure(raised_by_own(error) or f"{type(error).__name__}: {error}", trace)
