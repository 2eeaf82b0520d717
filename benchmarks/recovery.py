"""How long the first decision takes after a kill with many pending decisions, and how long snapshots make others wait.

A process decides, mostly many rounds at once and at the end one by one, and kills itself. Another one opens the
database and decides; its time counts from the moment when the database is open. No reward arrives. In a database of its
own, many allocations are listed with their health after a start.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from evenhand.service.http.metrics import Metrics
from evenhand.service.http.service import Service
from evenhand.service.http.settings import Settings
from evenhand.service.json import encode
from evenhand.service.store import Decide, Reward, Store
from report import Aim, AsJson, Table, Write, aims_table, names_of, publish

BATCH = 500  # decisions at once
AIM = 1.0  # seconds until the first decision, and of processor time for a list
LISTED, PAGE = 2000, 1000  # allocations, and how many of them a request lists
ARMS = [f"arm {number}" for number in range(10)]
Json = dict[str, Any]


def live(database: str, pending: int, singles: int) -> None:
    """Decide, print how long the decisions one by one took, and be killed."""
    store = Store.open(database)
    store.create("load", ARMS, "fucb", parameters={"fractions": 0.05}, seed=1)
    for _ in range((pending - singles) // BATCH):
        store.run("load", Decide(count=BATCH))
    waits = []
    for _ in range(singles):
        begun = time.perf_counter()
        store.run("load", Decide())
        waits.append(time.perf_counter() - begun)
    print(json.dumps(waits), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def first(database: str) -> None:
    """Decide once, and print how long that took, and how many decisions are pending."""
    store = Store.open(database)
    begun = time.perf_counter()
    store.run("load", Decide())
    seconds = time.perf_counter() - begun
    print(json.dumps([seconds, store.gauges(10.0)["load"].pending]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def measured(kind: str, database: str, pending: int, singles: int, repeats: int) -> Json:
    """Figures of one database."""
    waits = np.array(_run("live", database, pending, singles)) * 1e3
    found = [_run("first", database) for _ in range(repeats)]
    if found[0][1] < pending - BATCH:
        raise SystemExit(f"{found[0][1]:,} decisions were pending")
    seconds = [second for second, _ in found]
    return {
        "database": kind,
        "first_seconds": float(np.median(seconds)),
        "slowest_seconds": max(seconds),
        "p50_ms": float(np.quantile(waits, 0.5)),
        "p99_ms": float(np.quantile(waits, 0.99)),
        "max_ms": float(waits.max()),
    }


def filled(database: str) -> None:
    """Many allocations, each with a few decisions and rewards."""
    store = Store.open(database)
    for number in range(LISTED):
        name = f"load-{number}"
        store.create(name, ARMS, "fucb", parameters={"fractions": 0.05}, seed=1)
        decisions = store.run(name, Decide(count=10)).decisions
        store.run(name, Reward([(one.id, dict.fromkeys(one.names, 0.5)) for one in decisions]))
    store.close()


def listed(database: str) -> Json:
    """Seconds of processor time of the first list and of the second one, and what was loaded for them."""

    async def lists() -> list[float]:
        seconds, service = [], Service(store, Settings(), Metrics())
        for _ in range(2):
            begun, cursor = time.process_time(), None
            for _ in range(LISTED // PAGE):
                page = store.allocations(PAGE, cursor)
                encode(await service.with_health(page.allocations))
                cursor = page.next
            seconds.append(time.process_time() - begun)
        return seconds

    store = Store.open(database)
    first, second = asyncio.run(lists())
    loaded = len(store.loaded())
    store.close()
    return {"first_seconds": first, "second_seconds": second, "loaded": loaded}


def _run(*arguments: object) -> Any:
    command = [sys.executable, __file__, *map(str, arguments)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if ended.returncode != -signal.SIGKILL:
        raise SystemExit("a process ended before it was killed")
    return json.loads(ended.stdout)


def table_of(runs: list[Json], pending: int) -> Table:
    """Seconds until the first decision, and milliseconds of decisions before the kill."""
    cells = [
        [run["database"], f"{run['first_seconds']:.2f}", f"{run['slowest_seconds']:.2f}"]
        + [f"{run[name]:.1f}" for name in ("p50_ms", "p99_ms", "max_ms")]
        for run in runs
    ]
    columns = ("database", "first decision, s", "slowest, s", "single p50, ms", "p99", "longest")
    return Table("recovery", f"after a kill with {pending:,} pending decisions", columns, cells)


def table_of_lists(lists: Json) -> Table:
    """Seconds of processor time for lists."""
    cells = [[f"{lists['first_seconds']:.2f}", f"{lists['second_seconds']:.2f}", f"{lists['loaded']:,}"]]
    columns = ("first list, s", "second, s", "allocations loaded")
    return Table("lists", f"{LISTED:,} allocations with their health, after a start", columns, cells)


def aims_of(runs: list[Json], lists: Json) -> list[Aim]:
    """What was aimed at, and whether it was reached."""
    return [
        Aim(f"{run['database']}: first decision under {AIM:g} s", run["first_seconds"], run["first_seconds"] < AIM)
        for run in runs
    ] + [Aim(f"list under {AIM:g} s of processor time", lists["first_seconds"], lists["first_seconds"] < AIM)]


def main(
    postgresql: Annotated[str | None, typer.Option(help="URL of an empty database; left out: SQLite only.")] = None,
    pending: Annotated[int, typer.Option(min=1, help="Pending decisions.")] = 200_000,
    singles: Annotated[int, typer.Option(min=1, help="Of these made one by one.")] = 20_000,
    repeats: Annotated[int, typer.Option(min=1, help="Starts; the median counts.")] = 3,
    folder: Annotated[Path | None, typer.Option(help="For the SQLite file; left out: a temporary one.")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure."""
    notes, runs = Console(stderr=True), []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for kind, database in {"SQLite": f"{place}/recovery.db", "PostgreSQL": postgresql}.items():
            if database is not None:
                notes.print(f"{kind} …")
                runs.append(measured(kind, database, pending, singles, repeats))
        notes.print("lists …")
        filled(f"{place}/lists.db")
        lists = listed(f"{place}/lists.db")
    publish(
        [table_of(runs, pending), table_of_lists(lists), aims_table("recovery-aims", aims_of(runs, lists))],
        {"runs": runs, "lists": lists},
        packages=("evenhand", "numpy", "sqlalchemy"),
        method=f"medians of {repeats} starts; {singles:,} decisions one by one",
        code=names_of(Service, Store),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["live"]:
        live(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["first"]:
        first(sys.argv[2])
    else:
        typer.run(main)
