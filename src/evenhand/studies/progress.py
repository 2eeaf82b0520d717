"""The progress of a sweep on standard error: done, running, failed, and the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from evenhand.studies.units import Failure, Unit, UnitResult

WAIT = 1.0  # seconds before it appears


@dataclass
class Progress:
    """What has been done of a sweep.

    Args:
        total: units.
        kept: of which results were there before.
        work: of all units that are to be run, as `Unit.steps` estimates it.
    """

    total: int
    kept: int
    work: float
    done: int = 0
    failed: int = 0
    worked: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def see(self, unit: Unit, result: UnitResult | Failure) -> None:
        """Count a unit.

        Args:
            unit: that was run.
            result: of it.
        """
        self.done += 1
        self.failed += isinstance(result, Failure)
        self.worked += unit.steps

    def text(self, running: int) -> str:
        """One line on it.

        Args:
            running: units under way.

        Example:
            >>> Progress(total=40, kept=12, work=1.0).text(running=2)
            '12 of 40 done, 2 running'
        """
        parts = [f"{self.kept + self.done:,} of {self.total:,} done", f"{running:,} running"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.worked and self.worked < self.work:
            seconds = (time.monotonic() - self.began) * (self.work / self.worked - 1.0)
            parts.append(f"about {_duration(seconds)} left")
        return ", ".join(parts)


@contextmanager
def shown(progress: Progress, pool: object, show: bool | None) -> Iterator[None]:
    """Show a progress during the block.

    Args:
        progress: that changes meanwhile.
        pool: with the number of units ``under_way``.
        show: None for only where standard error is a terminal.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(progress, pool, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(progress: Progress, pool: object, over: threading.Event) -> None:
    if over.wait(WAIT):
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=progress.total)
        while not over.wait(0.2):
            running = int(getattr(pool, "under_way", 0))
            bar.update(task, completed=progress.kept + progress.done, description=progress.text(running))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
