"""How time and memory grow: of simulations with arms, groups, lanes, rounds and delays, of a store with its events.

Each simulation runs once, in a fresh interpreter that has imported everything: processor seconds of `simulate`, with
the optima and the measures at 10 checkpoints, and how far the peak of the process's memory rises. An exponent is the
slope of a straight line through the logarithms, fitted to the three largest sizes by least squares. All run by NumPy;
with ``--engine auto`` some would run compiled, and no line would go through the sizes on both sides.

The events of a store are decisions and rewards, one by one and written in groups. They are written, verified, and what
they make is loaded for a decision.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from evenhand import Environment, Policy, simulate
from evenhand.algorithms import clw, fucb, group_ucb, thompson
from evenhand.environment.delays import Geometric
from evenhand.environment.feedback import Immediate
from evenhand.environment.rewards import Bernoulli
from evenhand.service.store import Decide, Reward, Store
from evenhand.service.store.database import Database
from evenhand.service.store.verify import verify
from report import SIMULATION, AsJson, Table, Write, names_of, publish

LAST = 3  # sizes that an exponent is fitted to
CHECKPOINTS = 10
LEAST = 1.0  # MB; less may be chance, and counts as this much
GROUPED = 200  # commands of a store that wait together


@dataclass(frozen=True)
class Setting:
    """The size of a simulation, or of a store."""

    arms: int
    lanes: int
    rounds: int
    groups: int = 1
    events: int = 0
    delay: int = 0  # mean rounds until a reward arrives
    database: str = ""  # of the events

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


def grouped(setting: Setting) -> Policy:
    """Half of the rounds is promised to groups that share all arms."""
    places = np.array_split(np.arange(setting.arms), setting.groups)
    least = 0.5 / setting.groups
    return group_ucb(
        groups=[{"name": f"{one}", "arms": some.tolist(), "at_least": least} for one, some in enumerate(places)]
    )


def written(setting: Setting) -> None:
    """A store with so many events."""
    store = Store.open(setting.database)
    store.create("load", [f"arm {arm}" for arm in range(setting.arms)], "fucb", parameters={"fractions": 0.05}, seed=1)
    for _ in range(setting.events // (2 * GROUPED)):
        decided = [store.submit("load", Decide()) for _ in range(GROUPED)]
        played = [one for future in decided for one in future.result().decisions]
        rewarded = [store.submit("load", Reward([(one.id, dict.fromkeys(one.names, 0.5))])) for one in played]
        for future in rewarded:
            future.result()
    store.close()


def verified(setting: Setting) -> None:
    """All events are applied again."""
    found = verify(Database(setting.database, read_only=True))
    if found.faults:
        raise SystemExit(found.faults[0])


def loaded(setting: Setting) -> None:
    """The first decision after a start."""
    store = Store.open(setting.database)
    store.run("load", Decide())
    store.close()


WORKS: dict[str, Callable[[Setting], None]] = {"written": written, "verified": verified, "loaded": loaded}
POLICIES: dict[str, Callable[[Setting], Policy]] = {
    "fucb": lambda setting: fucb(0.5 / setting.arms),
    "thompson": lambda setting: thompson(),
    "group_ucb": grouped,
    "clw": lambda setting: clw(horizon=setting.rounds, delay=max(setting.delay, 1)),
}
AXES = {
    "arms": Axis("arms", [10, 100, 1000, 10_000, 100_000], Setting(arms=0, lanes=10, rounds=100)),
    "groups": Axis("groups", [1, 10, 25, 50, 100], Setting(arms=100, lanes=10, rounds=1000), ("group_ucb",)),
    "lanes": Axis("lanes", [10**power for power in range(7)], Setting(arms=3, lanes=0, rounds=100)),
    "rounds": Axis("rounds", [10**power for power in range(3, 8)], Setting(arms=2, lanes=1, rounds=0)),
    "delays": Axis(
        "delay", [0, 1, 10, 100, 1000, 10_000], Setting(arms=10, lanes=100, rounds=40_000), ("fucb", "thompson", "clw")
    ),
    "events": Axis("events", [10_000, 100_000, 1_000_000], Setting(arms=10, lanes=0, rounds=0), tuple(WORKS)),
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


def measured(name: str, setting: Setting) -> tuple[float, float]:
    """Processor seconds of a policy or a work, and megabytes beyond those of a small one before."""
    with tempfile.TemporaryDirectory() as folder:
        if name in WORKS:
            small = replace(setting, events=2 * GROUPED, database=f"{folder}/small.db")
            written(small)
            run: Callable[[], object] = partial(WORKS[name], setting)
            WORKS[name](replace(small, database=f"{folder}/other.db") if name == "written" else small)
        else:
            small = replace(setting, arms=2, lanes=2, rounds=2, groups=min(setting.groups, 2))
            simulate(POLICIES[name](small), small.environment(), 2, 2, progress=False)
            options: dict[str, Any] = {"checkpoints": CHECKPOINTS, "progress": False}
            sizes = (setting.rounds, setting.lanes)
            run = partial(simulate, POLICIES[name](setting), setting.environment(), *sizes, **options)
        before, start = peak(), time.process_time()
        run()
    return time.process_time() - start, peak() - before


def rows_of(name: str, notes: Console) -> list[Row]:
    """All simulations along an axis, one after another, each in a process of its own."""
    axis, fresh, rows = AXES[name], multiprocessing.get_context("spawn"), []
    with (
        ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes,
        tempfile.TemporaryDirectory() as folder,
    ):
        for size in axis.sizes:
            for policy in axis.policies:
                with notes.status(f"{policy}, {name} {size:,}"):
                    database = str(Path(folder) / f"{size}.db")
                    sizes: dict[str, Any] = {axis.of: size, "database": database}
                    setting = replace(axis.rest, **sizes)
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
        shown = policy if policy in WORKS else f"`{policy}`"
        columns += [f"{shown}, s", f"{shown}, MB"]
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
    """Measure how time and memory grow with arms, groups, lanes, rounds, delays and events."""
    notes = Console(stderr=True)
    os.environ["EVENHAND_ENGINE"] = engine
    rows = {name: rows_of(name, notes) for name in axes or AXES}
    publish(
        [table_of(f"growth-{name}", AXES[name].of, some) for name, some in rows.items()],
        {"rows": [vars(row) for name in rows for row in rows[name]]},
        packages=("evenhand", "numpy"),
        method=f"processor seconds of one run each, engine {engine}",
        code=SIMULATION + names_of(clw, fucb, group_ucb, thompson, Store, verify),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
