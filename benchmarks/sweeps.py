"""What a sweep costs besides its simulations, and that a large study has one result however it is run.

``units`` runs 10,000 settings of a round and a lane on each backend. ``study`` runs the 2,000 settings of
``examples/study.toml`` three times: on this machine's cores, on a Dask cluster of which a worker is killed midway, and
again on this machine, killed midway and resumed. The three tables must be equal to the last digit.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console

from evenhand import sweep
from evenhand.studies.store import Store
from evenhand.studies.study import Study
from report import AsJson, Table, Write, publish

STUDY = Path(__file__).parents[1] / "examples" / "study.toml"
SMALL: dict[str, Any] = {
    "horizon": 1,
    "lanes": 1,
    "environment": {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}},
    "policies": [{"algorithm": "lfg", "fractions": 0.1}],
}
BACKENDS: dict[str, dict[str, Any]] = {
    "one process": {"jobs": 1},
    "two processes": {"jobs": 2},
    "Dask, two workers": {"jobs": 2, "backend": "dask"},
    "Ray, two workers": {"jobs": 2, "backend": "ray"},
}
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
MIDWAY = 700  # units that are finished when something is killed


def small_units(number: int, notes: Console) -> list[tuple[str, ...]]:
    """Seconds of many small settings on each backend, and settings a second without its start."""
    cells: list[tuple[str, ...]] = []
    for name, options in BACKENDS.items():
        taken = []
        for settings in (1, number):
            study = Study.of(SMALL, {"policies[0].eta": list(range(1, settings + 1))})
            with tempfile.TemporaryDirectory() as folder, notes.status(f"{name}: {settings:,} settings"):
                start = time.perf_counter()
                results = sweep(study, out=folder, progress=False, **options)
                taken.append(time.perf_counter() - start)
                assert not results.failures
        cells.append((name, f"{taken[0]:.1f}", f"{taken[1]:.1f}", f"{(number - 1) / (taken[1] - taken[0]):,.0f}"))
    return cells


def on_two_cores(folder: Path) -> None:
    """The study in two processes."""
    sweep(STUDY, out=folder, jobs=2, progress=False)


def on_dask(folder: Path) -> None:
    """The study on a cluster of three workers, of which one is killed midway."""
    with dask_cluster(3) as (address, workers):
        killer = threading.Thread(target=kill_midway, args=(folder, workers[0]))
        killer.start()
        sweep(STUDY, out=folder, backend="dask", address=address, progress=False)
        killer.join()


def resumed(folder: Path) -> None:
    """The study on the command line, killed midway, and again."""
    command = [sys.executable, "-m", "evenhand.cli.main", "sweep", str(STUDY), "--out", str(folder), "--jobs", "2"]
    process = subprocess.Popen(command, **QUIET)
    kill_midway(folder, process)
    process.wait()
    subprocess.run(command, check=True, **QUIET)


RUNS: dict[str, Callable[[Path], None]] = {
    "two cores": on_two_cores,
    "Dask, one of three workers killed midway": on_dask,
    "two cores, killed midway and resumed": resumed,
}


def kill_midway(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """SIGKILL as soon as some units are finished."""
    while len(Store(folder).finished()) < MIDWAY:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)


@contextmanager
def dask_cluster(number: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler on the loopback, and workers, each a process of its own."""
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder:
        place = ["--scheduler-file", str(Path(folder) / "scheduler.json")]
        dask = [sys.executable, "-m", "dask"]
        scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *place]
        worker = [*dask, "worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *place]
        processes = [subprocess.Popen(command, **QUIET) for command in (scheduler, *[worker] * number)]
        try:
            with Client(scheduler_file=place[1], timeout=60, set_as_default=False) as client:
                client.wait_for_workers(number, timeout=60)
                address = client.scheduler.address
            yield address, processes[1:]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def study_runs(notes: Console) -> tuple[list[tuple[str, ...]], bool]:
    """Seconds of each way to run the study, and whether all tables are equal."""
    cells: list[tuple[str, ...]] = []
    tables = []
    for name, run in RUNS.items():
        with tempfile.TemporaryDirectory() as place, notes.status(f"{STUDY.name}: {name}"):
            folder = Path(place) / "out"
            start = time.perf_counter()
            run(folder)
            seconds = time.perf_counter() - start
            tables.append(
                pd.read_parquet(folder / "lanes").sort_values(["policy", "setting", "lane"], ignore_index=True)
            )
        cells.append((name, f"{seconds:.0f}", f"{len(tables[-1]):,}"))
    return cells, all(table.equals(tables[0]) for table in tables)


def main(
    part: Annotated[str, typer.Argument(help="units, study or both.")] = "both",
    settings: Annotated[int, typer.Option(min=2, help="Small settings of ``units``.")] = 10_000,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure what a sweep costs besides its simulations, and run a study of 2,000 settings in three ways."""
    notes, tables = Console(stderr=True), []
    figures: dict[str, Any] = {}
    if part != "study":
        rows = small_units(settings, notes)
        columns = ("backend", "1 setting, s", f"{settings:,} settings, s", "settings a second")
        tables.append(Table("sweeps-units", "settings of one round and one lane", columns, rows))
        figures["units"] = rows
    if part != "units":
        runs, equal = study_runs(notes)
        tables.append(Table("sweeps-study", "a study of 2,000 settings", ("run", "seconds", "rows"), runs))
        figures |= {"study": runs, "equal": equal}
        notes.print(f"the three tables are {'equal to the last digit' if equal else '[red bold]not equal[/red bold]'}")
        if not equal:
            raise typer.Exit(1)
    packages = ("evenhand", "numpy", "joblib", "distributed", "ray")
    code = ("evenhand.studies.sweep:sweep",)
    publish(tables, figures, packages=packages, method="one turn", code=code, as_json=as_json, write=write)


if __name__ == "__main__":
    typer.run(main)
