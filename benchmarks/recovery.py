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

from evenhand.messages.requests import Round
from evenhand.service.http.metrics import Metrics
from evenhand.service.http.service import Service
from evenhand.service.http.settings import Settings
from evenhand.service.json import encode
from evenhand.service.store import Decide, Reward, Store
from report import Aim, AsJson, Table, Write, aims_table, names_of, publish

BATCH = 500  # decisions at once
AIM = 1.0  # seconds until the first decision, and of processor time for a list
PACKAGES = ("evenhand", "numpy", "sqlalchemy")
LISTED, PAGE = 2000, 1000  # allocations, and how many of them a request lists
ARMS = [f"arm {number}" for number in range(10)]
FEW = 5  # arms with features
LEARNED = {"index": "lin_ts", "selection": {"kind": "exploration_floor", "floor": 0.02}}
Json = dict[str, Any]


def live(database: str, pending: int, singles: int, columns: int) -> None:
    """Decide, print how long the decisions one by one took, and be killed."""
    store, rng = Store.open(database), np.random.default_rng(1)
    if columns:
        declared = {"situation": {"query": {"kind": "vector", "length": columns}}}
        store.create("load", ARMS[:FEW], LEARNED, seed=1, features=declared, missing="lost", window=1e6)
    else:
        store.create("load", ARMS, "fucb", parameters={"fractions": 0.05}, seed=1)
    for _ in range((pending - singles) // BATCH):
        store.run("load", some(BATCH, columns, rng))
    waits = []
    for _ in range(singles):
        command, begun = some(1, columns, rng), time.perf_counter()
        store.run("load", command)
        waits.append(time.perf_counter() - begun)
    print(json.dumps(waits), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def some(number: int, columns: int, rng: np.random.Generator) -> Decide:
    """So many decisions, by features where there are columns."""
    if not columns:
        return Decide(count=number)
    vectors = rng.normal(size=(number, columns)) / np.sqrt(columns)
    return Decide(rounds=[Round({"query": one}) for one in vectors.tolist()])


def first(database: str, columns: int) -> None:
    """Decide once, and print how long that took, with the processor time, and how many decisions are pending."""
    store, command = Store.open(database), some(1, columns, np.random.default_rng(2))
    begun, spent = time.perf_counter(), time.process_time()
    store.run("load", command)
    seconds, spent = time.perf_counter() - begun, time.process_time() - spent
    print(json.dumps([seconds, spent, store.gauges(10.0)["load"].pending]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def measured(kind: str, database: str, pending: int, singles: int, repeats: int, columns: int = 0) -> Json:
    """Figures of one database."""
    waits = np.array(_run("live", database, pending, singles, columns)) * 1e3
    found = [_run("first", database, columns) for _ in range(repeats)]
    if found[0][2] < pending - BATCH:
        raise SystemExit(f"{found[0][2]:,} decisions were pending")
    seconds = [second for second, _, _ in found]
    return {
        "database": kind,
        "first_seconds": float(np.median(seconds)),
        "processor_seconds": float(np.median([spent for _, spent, _ in found])),
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
        [run["database"], *(f"{run[name]:.2f}" for name in ("first_seconds", "slowest_seconds", "processor_seconds"))]
        + [f"{run[name]:.1f}" for name in ("p50_ms", "p99_ms", "max_ms")]
        for run in runs
    ]
    columns = ("database", "first decision, s", "slowest, s", "processor, s", "single p50, ms", "p99", "longest")
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
    columns: Annotated[
        list[int] | None, typer.Option(min=1, help="Only SQLite, decisions by vectors of so many numbers; repeatable.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="For the SQLite file; left out: a temporary one.")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure."""
    notes, runs = Console(stderr=True), []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        if columns:
            by_features = [
                measured(f"SQLite, {one} columns", f"{place}/{one}.db", pending, singles, repeats, one)
                for one in columns
            ]
            publish(
                [table_of(by_features, pending)],
                {"runs": by_features},
                packages=PACKAGES,
                method=f"medians of {repeats} starts; {singles:,} decisions one by one",
                code=names_of(Service, Store),
                as_json=as_json,
            )
            return
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
        packages=PACKAGES,
        method=f"medians of {repeats} starts; {singles:,} decisions one by one",
        code=names_of(Service, Store),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["live"]:
        live(sys.argv[2], *map(int, sys.argv[3:6]))
    elif sys.argv[1:2] == ["first"]:
        first(sys.argv[2], int(sys.argv[3]))
    else:
        typer.run(main)
