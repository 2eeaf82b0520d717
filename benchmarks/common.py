"""What the benchmarks share: taking turns, comparing before timing, tables, and where it was measured."""

from __future__ import annotations

import datetime
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

LIMIT = 5.0  # standard errors; about 200 figures are compared, so chance exceeds it for one seed in 10,000
Repeats = Annotated[int, typer.Option(min=1, help="Turns of each contender; the median counts.")]
AsJson = Annotated[bool, typer.Option("--json", help="Figures as JSON on standard output, all else on standard error.")]


def medians(contenders: Mapping[str, Callable[[], object]], repeats: int, seconds: float = 0.0) -> dict[str, float]:
    """Median seconds of processor time of a call of each, taking turns; a turn repeats the call for ``seconds``."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, call in contenders.items():
            taken[name].append(_a_call(call, seconds))
    return {name: float(np.median(times)) for name, times in taken.items()}


def _a_call(call: Callable[[], object], seconds: float) -> float:
    calls, spent, batch, start = 0, 0.0, 1, time.process_time()
    while not calls or spent < seconds:
        for _ in range(batch):
            call()
        calls, batch, spent = calls + batch, 2 * batch, time.process_time() - start
    return spent / calls


def apart(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """Figures, one value a lane, whose means over the lanes differ by more than chance allows."""
    for name, values in ours.items():
        gap = abs(values.mean() - theirs[name].mean())
        error = math.sqrt(sum(found.var(ddof=1) / len(found) for found in (values, theirs[name])))
        if gap > LIMIT * error + 1e-9:
            means = f"{theirs[name].mean():.6g}, Evenhand {values.mean():.6g}"
            yield f"{name}: {means}, standard error of the difference {error:.2g}"


def stop_if(wrong: list[str], notes: Console) -> None:
    """Time nothing where the contenders do not do the same."""
    if wrong:
        notes.print("[red bold]the contenders do not compute the same; nothing was timed[/red bold]", *wrong, sep="\n")
        raise typer.Exit(1)


def console_for_tables(stderr: bool) -> Console:
    """A console as wide as the terminal, or wide enough where there is none."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=120)


def table_of(title: str, columns: Iterable[str]) -> Table:
    """A table whose first column holds words, and the others numbers."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=True)
    return table


def print_aims(console: Console, told: list[dict[str, Any]]) -> None:
    """The aims, met or missed."""
    table = Table("aim at 1000 lanes", "measured", "", box=box.SIMPLE_HEAD)
    for aim in told:
        table.add_row(aim["aim"], f"{aim['measured']:.2f}", "met" if aim["met"] else "missed")
    console.print(table)


def surroundings(repeats: int, packages: Iterable[str]) -> dict[str, Any]:
    """Where and when it was measured."""
    return {
        "unit": "microseconds of processor time per lane and step",
        "date": datetime.date.today().isoformat(),
        "repeats": repeats,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
    }
