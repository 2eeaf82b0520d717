"""What the benchmarks share: taking turns, and comparing before timing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

LIMIT = 5.0  # standard errors; about 200 figures are compared, so chance exceeds it for one seed in 10,000
Repeats = Annotated[int, typer.Option(min=1, help="Turns of each contender; the median counts.")]


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
    """Figures, one value per lane, whose means over the lanes differ by more than chance allows."""
    for name, values in ours.items():
        gap = abs(values.mean() - theirs[name].mean())
        error = math.sqrt(sum(sample.var(ddof=1) / len(sample) for sample in (values, theirs[name])))
        if gap > LIMIT * error + 1e-9:
            means = f"{theirs[name].mean():.6g}, Evenhand {values.mean():.6g}"
            yield f"{name}: {means}, standard error of the difference {error:.2g}"


def stop_if(wrong: list[str], notes: Console) -> None:
    """Time nothing where the contenders do not do the same."""
    if wrong:
        notes.print("[red bold]the contenders do not compute the same; nothing was timed[/red bold]", *wrong, sep="\n")
        raise typer.Exit(1)
