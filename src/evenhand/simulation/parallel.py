"""Runs units of work in this process or in several, with a progress bar."""

from __future__ import annotations

import copyreg
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core.frozen import fields
from evenhand.core.imports import is_installed, raised_by_own

R = TypeVar("R")
PATIENCE = 1.0  # seconds before a progress bar appears
COMPILING = -1  # in place of steps
Steps = NDArray[np.int64]
_METER: ContextVar[list[float] | None] = ContextVar("meter", default=None)
PLAIN = (str, bytes, int, float, complex, np.ndarray, np.generic, np.ufunc)  # values without code of the user's


def processes(jobs: int) -> int:
    """How many processes run at the same time."""
    if jobs == 1:
        return 1
    from joblib import effective_n_jobs

    return max(1, int(effective_n_jobs(jobs)))


def run(
    function: Callable[..., R],
    units: Sequence[tuple[Any, ...]],
    steps: Sequence[int],
    jobs: int,
    progress: bool | None,
    finished: Callable[[int, R], None],
) -> None:
    """``function(*unit, tick)`` for every unit; ``tick(done)`` reports how many of its steps a unit has done.

    ``tick(COMPILING)`` reports that the engine is being compiled.
    """
    total = sum(steps)
    with _counted(len(units), jobs == 1 or len(units) == 1) as (done, place):
        try:
            with bar(total, partial(_rounds, done, total), progress, left=True):
                seconds = _run_all(function, units, jobs, place, finished)
        except KeyboardInterrupt:
            whole = sum(int(d) >= s for d, s in zip(done, steps, strict=True))
            raise KeyboardInterrupt(
                f"interrupted: {whole} of {len(units)} parts of the work were done "
                f"({_total(done):,} of {total:,} rounds)"
            ) from None
    if (meter := _METER.get()) is not None:
        meter += seconds


@contextmanager
def _counted(units: int, alone: bool) -> Iterator[tuple[Steps, Steps | Path]]:
    """The steps that each unit has done, and where units write them: this array, or a file for other processes."""
    if alone:  # a folder would take a fifth of the time of a small run
        done: Steps = np.zeros(units, dtype=np.int64)
        yield done, done
        return
    with tempfile.TemporaryDirectory(prefix="evenhand-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "done"
        yield np.memmap(path, dtype=np.int64, mode="w+", shape=(units,)), path


@contextmanager
def metered() -> Iterator[list[float]]:
    """Processor seconds of the units that run within, in this process and in others: one number for each unit."""
    seconds: list[float] = []
    token = _METER.set(seconds)
    try:
        yield seconds
    finally:
        _METER.reset(token)


@cache
def end_with(parent: int) -> None:
    """End this process when its parent, which waits for its results, has been killed; not if another one started it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


def carry(*parts: object) -> None:
    """Send the code of the user's own classes and functions along to other processes, which may not find it."""
    from cloudpickle import Pickler, register_pickle_by_value

    Pickler.dispatch_table[np.ufunc] = _ufunc
    for module in {kind.__module__ for part in parts for kind in kinds_in(part)}:
        if module in sys.modules and not _installed(sys.modules[module]):
            register_pickle_by_value(sys.modules[module])


def kinds_in(part: object) -> set[type | FunctionType]:
    """The classes that a part consists of, and the functions in it."""
    if isinstance(part, FunctionType):
        return {part}
    if isinstance(part, list | tuple | set):
        return set().union(*map(kinds_in, part))
    if isinstance(part, dict):
        return set().union(*map(kinds_in, part.values()))
    if isinstance(part, type) or part is None or isinstance(part, PLAIN):
        return set()
    kind: type = type(part)
    names = [one.name for one in fields(kind)] or list(getattr(part, "__dict__", ()))
    return {kind}.union(*(kinds_in(getattr(part, name, None)) for name in names))


def _ufunc(function: np.ufunc) -> object:
    """A function such as ``scipy.special.rel_entr`` for pickling: by an installed module that has it.

    Such functions do not know their module; pickle would take the first that has one, which can be the user's own.
    """
    modules = [module for module in sys.modules.values() if isinstance(module, ModuleType)]
    for module in modules:
        if vars(module).get(function.__name__) is function and _installed(module):
            return getattr, (module, function.__name__)
    return copyreg.dispatch_table[np.ufunc](function)


def _installed(module: ModuleType) -> bool:
    """Whether other processes can import a module: those of Python and of installed packages."""
    return is_installed(module.__name__, getattr(module, "__file__", None))


def _run_all(
    function: Callable[..., R],
    units: Sequence[tuple[Any, ...]],
    jobs: int,
    place: Steps | Path,
    finished: Callable[[int, R], None],
) -> list[float]:
    """Processor seconds of each unit."""
    calls = [(function, unit, place, len(units), number, os.getpid()) for number, unit in enumerate(units)]
    seconds = []
    with closing(_results(calls, jobs)) as results:
        for number, result, took in results:
            finished(number, result)
            del result  # while the next one is computed, it would take room beside it
            seconds.append(took)
    return seconds


def _results(calls: Sequence[tuple[Any, ...]], jobs: int) -> Generator[tuple[int, Any, float]]:
    if jobs == 1 or len(calls) == 1:
        yield from (_run_one(*call) for call in calls)
        return
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    work = (delayed(_run_one)(*call) for call in calls)
    at_once = get_active_backend()[0].supports_return_generator
    as_it_is_done: dict[str, Any] = {"return_as": "generator_unordered"} if at_once else {}
    yield from Parallel(n_jobs=jobs, batch_size=1, **as_it_is_done)(work)


def _run_one(
    function: Callable[..., R], unit: tuple[Any, ...], place: Steps | Path, units: int, number: int, parent: int
) -> tuple[int, R, float]:
    done: NDArray[Any] = np.zeros(units)  # on another machine of a cluster the file does not exist, and there is no bar
    if isinstance(place, np.ndarray):
        done = place
    elif place.exists():
        done = np.memmap(place, dtype=np.int64, mode="r+", shape=(units,))
    end_with(parent)

    def tick(steps: int) -> None:
        done[number] = steps

    began = time.process_time()
    try:
        result = function(*unit, tick)
    except Exception as error:
        if os.getpid() != parent and (where := raised_by_own(error)):
            error.add_note(where)  # a traceback stays in its process
        raise
    return number, result, time.process_time() - began


def _rounds(done: Steps, total: int) -> tuple[int, str]:
    compiling = "; compiling the engine, once on this machine" * bool((done == COMPILING).any())
    return _total(done), f"{_total(done):,} of {total:,} rounds{compiling}"


def _total(done: Steps) -> int:
    return int(np.maximum(done, 0).sum())


@contextmanager
def bar(total: int, look: Callable[[], tuple[int, str]], show: bool | None, left: bool = False) -> Iterator[None]:
    """A progress bar in a thread of its own, which looks how much is done; ``left`` adds an estimate of the time."""
    if not (sys.stderr.isatty() if show is None else show):
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(total, look, left, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(total: int, look: Callable[[], tuple[int, str]], left: bool, over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), *((TimeRemainingColumn(),) if left else ()))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total)
        while not over.wait(0.2):
            completed, description = look()
            shown.update(task, completed=completed, description=description)
