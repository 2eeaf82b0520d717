"""The progress of a sweep on standard error: done, running, failed, and the time left."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from evenhand.simulation import parallel
from evenhand.studies.pool import Pool
from evenhand.studies.units import Failure, Result, Unit


@dataclass
class Progress:
    """What has been done of a sweep: of ``total`` units ``kept`` were there before; ``work`` sums their steps."""

    total: int
    kept: int
    work: float
    done: int = 0
    failed: int = 0
    worked: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def see(self, done: Iterable[tuple[Unit, Result]]) -> None:
        """Count units that are finished."""
        for unit, result in done:
            self.done += 1
            self.failed += isinstance(result, Failure)
            self.worked += unit.steps

    def text(self, running: int) -> str:
        """One line on it."""
        parts = [f"{self.kept + self.done:,} of {self.total:,} done", f"{running:,} running"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.worked and self.worked < self.work:
            seconds = (time.monotonic() - self.began) * (self.work / self.worked - 1.0)
            parts.append(f"about {duration(seconds)} left")
        return ", ".join(parts)

    def shown(self, pool: Pool, show: bool | None) -> AbstractContextManager[None]:
        """Shown during the block; ``show`` None for only where standard error is a terminal."""
        return parallel.bar(self.total, lambda: (self.kept + self.done, self.text(pool.under_way)), show)


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
