"""Runs units of work here or in several processes, and shows how far they are."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

R = TypeVar("R")
PATIENCE = 1.0  # seconds before a progress bar appears


def run(
    function: Callable[..., R],
    units: Sequence[tuple[Any, ...]],
    steps: Sequence[int],
    jobs: int,
    progress: bool | None,
) -> list[R]:
    """``function(*unit, tick)`` for every unit, in order; ``tick(done)`` tells how many of its steps a unit has done.

    Args:
        function: what to run; with several jobs it must be importable.
        units: arguments of each call.
        steps: steps of each unit, for the progress bar.
        jobs: processes; 1 runs everything in this one, −1 takes every core.
        progress: whether to show a bar on standard error; None for only where that is a terminal.

    Raises:
        KeyboardInterrupt: interrupted, with a message that says how much was done.
    """
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        path = Path(folder) / "done"
        done: NDArray[np.int64] = np.memmap(path, dtype=np.int64, mode="w+", shape=(len(units),))
        try:
            with _bar(done, steps, sys.stderr.isatty() if progress is None else progress):
                return _run_all(function, units, jobs, path)
        except KeyboardInterrupt:
            finished = sum(int(d) >= s for d, s in zip(done, steps, strict=True))
            raise KeyboardInterrupt(
                f"interrupted: {finished} of {len(units)} parts of the work were done "
                f"({int(done.sum()):,} of {sum(steps):,} rounds)"
            ) from None
        finally:
            del done  # the file must be free before its folder goes


def carry(types: Iterable[type | FunctionType]) -> None:
    """Send the code of types that are not Evenhand's along to other processes, which may not be able to import them.

    Parts of one's own stand in scripts, notebooks and test modules, of which other processes know nothing.

    Args:
        types: of what will be sent, and functions in it.

    Example:
        >>> from fractions import Fraction
        >>> carry([Fraction])
    """
    from cloudpickle import register_pickle_by_value

    for module in {kind.__module__ for kind in types}:
        if module.split(".")[0] != "evenhand" and module in sys.modules:
            register_pickle_by_value(sys.modules[module])


def _run_all(function: Callable[..., R], units: Sequence[tuple[Any, ...]], jobs: int, path: Path) -> list[R]:
    calls = [(function, unit, path, len(units), number) for number, unit in enumerate(units)]
    if jobs == 1 or len(units) == 1:
        return [_run_one(*call) for call in calls]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=jobs, batch_size=1)(delayed(_run_one)(*call) for call in calls))


def _run_one(function: Callable[..., R], unit: tuple[Any, ...], path: Path, units: int, number: int) -> R:
    # On another machine of a cluster the file is not there, and nobody watches.
    done = np.memmap(path, dtype=np.int64, mode="r+", shape=(units,)) if path.exists() else np.zeros(units)

    def tick(steps: int) -> None:
        done[number] = steps

    return function(*unit, tick)


@contextmanager
def _bar(done: NDArray[np.int64], steps: Sequence[int], show: bool) -> Iterator[None]:
    """A progress bar that looks at ``done`` from a thread of its own, so that the work need not know of it."""
    if not show:
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(done, sum(steps), over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(done: NDArray[np.int64], total: int, over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        while not over.wait(0.2):
            bar.update(task, completed=int(done.sum()))
