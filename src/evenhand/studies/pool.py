"""Runs the units of a sweep on an engine: makes them ready, and keeps count of those under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from evenhand.core.errors import EvenhandError
from evenhand.simulation import parallel
from evenhand.simulation.setup import Setup
from evenhand.studies.engines import Result, Task, engine
from evenhand.studies.units import Failure, Unit

Done = tuple[Unit, Result]


@dataclass
class Pool:
    """Where units run.

    Args:
        jobs: processes on this machine; −1 uses every core.
        backend: ``"local"``, ``"dask"`` or ``"ray"``.
        address: of the cluster's scheduler; empty for a cluster that is started on this machine.
    """

    jobs: int = 1
    backend: str = "local"
    address: str = ""
    _under_way: dict[str, Unit] = field(init=False, default_factory=dict)

    @property
    def under_way(self) -> int:
        """Units that have been handed out and are not finished."""
        return len(self._under_way)

    def run(self, units: list[Unit], build: Callable[[Unit], Setup]) -> Iterator[Done]:
        """Run units; yields each with its result as soon as it is there, in no fixed order.

        A unit whose configuration cannot be run fails, and one that ends its worker, too; the others are not touched.

        Args:
            units: to run.
            build: makes a unit ready to run, in this process.

        Raises:
            EvenhandError: the backend is unknown, the cluster cannot be reached, or workers end all the time.
        """
        faults: list[Done] = []

        def tasks() -> Iterator[Task]:
            for unit in units:
                try:
                    setup = build(unit)
                    parallel.carry(setup.environment, *setup.policies.values(), *setup.metrics)
                except EvenhandError as error:
                    faults.append((unit, Failure(str(error))))
                else:
                    self._under_way[unit.key] = unit
                    yield unit.key, setup

        with engine(self.backend, self.jobs, self.address) as run:
            for key, result in run(tasks()):
                while faults:
                    yield faults.pop()
                yield self._under_way.pop(key), result
        yield from faults
