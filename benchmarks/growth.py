"""How the time and the memory of a simulation grow with its arms, lanes, rounds and delays.

Each simulation runs once, in a fresh interpreter that has imported everything: processor seconds of `simulate`, with
the optima and the measures at 10 checkpoints, and how far the peak of the process's memory rises. An exponent is the
slope of a straight line through the logarithms, fitted to the three largest sizes by least squares. All run by NumPy;
with ``--engine auto`` some would run compiled, and no line would go through the sizes on both sides.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from evenhand import Environment, Policy, simulate
from evenhand.algorithms import clw, fucb, thompson
from evenhand.environment.delays import Geometric
from evenhand.environment.feedback import Immediate
from evenhand.environment.rewards import Bernoulli
from report import SIMULATION, AsJson, Table, Write, names_of, publish

LAST = 3  # sizes that an exponent is fitted to
CHECKPOINTS = 10
LEAST = 1.0  # MB; less may be chance, and counts as this much


@dataclass(frozen=True)
class Setting:
    """The size of a simulation."""

    arms: int
    lanes: int
    rounds: int
    delay: int = 0  # mean rounds until a reward arrives

    def environment(self) -> Environment:
        """Arms with means from 0.9 to 0.1, and geometric delays."""
        feedback = Geometric(1.0 / self.delay) if self.delay else Immediate()
        return Environment(Bernoulli(np.linspace(0.9, 0.1, self.arms)), feedback=feedback)


@dataclass(frozen=True)
class Axis:
    """What grows, and what stays as it is."""

    of: str  # a field of the setting
    sizes: Sequence[int]
    rest: Setting
    policies: Sequence[str] = ("fucb", "thompson")


POLICIES: dict[str, Callable[[Setting], Policy]] = {
    "fucb": lambda setting: fucb(0.5 / setting.arms),
    "thompson": lambda setting: thompson(),
    "clw": lambda setting: clw(horizon=setting.rounds, delay=max(setting.delay, 1)),
}
AXES = {
    "arms": Axis("arms", [10, 100, 1000, 10_000, 100_000], Setting(arms=0, lanes=10, rounds=100)),
    "lanes": Axis("lanes", [10**power for power in range(7)], Setting(arms=3, lanes=0, rounds=100)),
    "rounds": Axis("rounds", [10**power for power in range(3, 8)], Setting(arms=2, lanes=1, rounds=0)),
    "delays": Axis(
        "delay", [0, 1, 10, 100, 1000, 10_000], Setting(arms=10, lanes=100, rounds=40_000), ("fucb", "thompson", "clw")
    ),
}


@dataclass(frozen=True)
class Row:
    """What one simulation took."""

    axis: str
    size: int
    policy: str
    seconds: float
    megabytes: float


def peak() -> float:
    """Megabytes of this process at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def measured(policy: str, setting: Setting) -> tuple[float, float]:
    """Processor seconds, and megabytes beyond those of a small simulation before."""
    small = replace(setting, arms=2, lanes=2, rounds=2)
    simulate(POLICIES[policy](small), small.environment(), 2, 2, progress=False)
    before, start = peak(), time.process_time()
    options: dict[str, Any] = {"checkpoints": CHECKPOINTS, "progress": False}
    simulate(POLICIES[policy](setting), setting.environment(), setting.rounds, setting.lanes, **options)
    return time.process_time() - start, peak() - before


def rows_of(name: str, notes: Console) -> list[Row]:
    """All simulations along an axis, one after another, each in a process of its own."""
    axis, fresh, rows = AXES[name], multiprocessing.get_context("spawn"), []
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        for size in axis.sizes:
            for policy in axis.policies:
                with notes.status(f"{policy}, {name} {size:,}"):
                    setting = replace(axis.rest, **{axis.of: size})
                    rows.append(Row(name, size, policy, *processes.submit(measured, policy, setting).result()))
    return rows


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the line through the logarithms of the last sizes."""
    return float(np.polyfit(np.log(sizes[-LAST:]), np.log(values[-LAST:]), 1)[0])


def table_of(name: str, what: str, rows: Sequence[Row]) -> Table:
    """Seconds and megabytes of each policy by size, with the exponents below them."""
    columns, last = [what], ["exponent"]
    cells = [["none" if what == "delay" and size == 0 else f"{size:,}"] for size in dict.fromkeys(r.size for r in rows)]
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        sizes, seconds = [row.size for row in own], [row.seconds for row in own]
        megabytes = [max(row.megabytes, LEAST) for row in own]
        columns += [f"`{policy}`, s", f"`{policy}`, MB"]
        last += [f"{exponent(sizes, seconds):.2f}", f"{exponent(sizes, megabytes):.2f}"]
        for cell, row in zip(cells, own, strict=True):
            cell += [f"{row.seconds:,.2f}", f"{row.megabytes:,.0f}" if row.megabytes >= LEAST else "< 1"]
    return Table(name, f"seconds and megabytes by {what}", columns, [*cells, last])


def main(
    axes: Annotated[list[str] | None, typer.Argument(help=f"Some of {', '.join(AXES)}; all by default.")] = None,
    engine: Annotated[str, typer.Option(help="EVENHAND_ENGINE of the simulations: numpy, compiled or auto.")] = "numpy",
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure how time and memory grow with arms, lanes, rounds and delays."""
    notes = Console(stderr=True)
    os.environ["EVENHAND_ENGINE"] = engine
    rows = {name: rows_of(name, notes) for name in axes or AXES}
    tables = {
        "arms": lambda: table_of("growth-arms", "arms", rows["arms"]),
        "lanes": lambda: table_of("growth-lanes", "lanes", rows["lanes"]),
        "rounds": lambda: table_of("growth-rounds", "rounds", rows["rounds"]),
        "delays": lambda: table_of("growth-delays", "delay", rows["delays"]),
    }
    publish(
        [tables[name]() for name in rows],
        {"rows": [vars(row) for name in rows for row in rows[name]]},
        packages=("evenhand", "numpy"),
        method=f"processor seconds of one run each, engine {engine}",
        code=SIMULATION + names_of(clw, fucb, thompson),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
