"""What a study will be: how much work it is, how long it takes, and which of its units cannot be run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from evenhand.core.errors import EvenhandError
from evenhand.simulation.setup import Setup
from evenhand.simulation.simulate import check_can_run, checkpoint_rounds, compare
from evenhand.simulation.stages import drafts_of
from evenhand.studies.store import Store
from evenhand.studies.study import Study
from evenhand.studies.units import Builder, Unit, units_of

PILOT = 500  # rounds at most that a pilot plays


@dataclass(frozen=True)
class Plan:
    """A study before it is run."""

    settings: int
    units: int  # different ones
    kept: int  # of them have results in the folder already
    faults: list[dict[str, str]]  # the units that cannot be run, or whose promises cannot be kept
    seconds: float | None  # of processor time, about, for what is missing; None where something cannot be run


def plan(study: Study, store: Store | None = None) -> Plan:
    """What running a study would be; nothing is run but a pilot of each policy, for the time."""
    units = {unit.key: unit for unit in units_of(study)}
    kept = store.finished() & units.keys() if store is not None else set()
    builder = Builder(study.folder)
    faults = [fault for unit in units.values() for fault in _faults(unit, builder)]
    missing = [unit for key, unit in units.items() if key not in kept]
    return Plan(len(study), len(units), len(kept), faults, None if faults else _seconds(missing, builder))


def _faults(unit: Unit, builder: Builder) -> list[dict[str, str]]:
    """Why a unit cannot be run."""
    try:
        setup = builder.setup(unit)
        check_can_run(setup.environment, {unit.label: setup.policies[unit.label]}, setup.horizon, setup.lanes)
        checkpoint_rounds(setup.horizon, setup.checkpoints, setup.spacing)
        for draft in drafts_of(setup.policies[unit.label], setup.environment, setup.promises, unit.label):
            draft.checked(unit.label, setup.lanes)
    except EvenhandError as error:
        return [{"policy": unit.label, "setting": str(unit.setting), "error": str(error)}]
    return []


def _seconds(units: list[Unit], builder: Builder) -> float:
    """Processor time, by a pilot of the middle unit of each policy: what a unit takes, and each of its steps."""
    by_label: dict[str, list[Unit]] = {}
    for unit in units:
        by_label.setdefault(unit.label, []).append(unit)
    total = 0.0
    for found in by_label.values():
        middle = sorted(found, key=lambda unit: unit.steps)[len(found) // 2]
        fixed, step = _pilot(middle, builder)
        total += sum(fixed + step * unit.steps for unit in found)
    return total


def _pilot(unit: Unit, builder: Builder) -> tuple[float, float]:
    """Seconds that a unit takes however long it is, and for each of its steps."""
    began = time.process_time()
    setup = builder.setup(unit)
    built, whole = time.process_time() - began, setup.horizon
    many = min(PILOT, whole)
    few = max(1, many // 10)
    try:
        short, long = _timed(setup, few), _timed(setup, many)
    except EvenhandError:  # it can only be run as a whole
        return built, _timed(setup, whole) / unit.steps
    each = max(0.0, long - short) / max(1, many - few)
    return built + max(0.0, short - each * few), each * whole / unit.steps


def _timed(setup: Setup, rounds: int) -> float:
    """Processor time of so many rounds; the second time, since the first one compiles and loads."""
    promises = [change for change in setup.promises if change.round <= rounds]
    size = rounds, setup.lanes, setup.seed
    for _ in range(2):
        began = time.process_time()
        compare(setup.policies, setup.environment, *size, metrics=setup.metrics, promises=promises, progress=False)
    return time.process_time() - began
