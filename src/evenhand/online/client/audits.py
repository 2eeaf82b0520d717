"""The audit as it comes over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.online.audit import Audit, Line
from evenhand.online.trail import Excerpt
from evenhand.online.waits import Waits


@dataclass(frozen=True)
class Bins:
    """How many delays there are from each edge to the next."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Delays:
    """How long the last reports took."""

    count: int
    quantiles: Mapping[str, float]
    bins: Bins

    def record(self) -> Waits:
        """The same as the record of the package."""
        return Waits(self.count, self.quantiles, self.bins.edges, self.bins.counts)


@dataclass(frozen=True)
class Audited:
    """An answer with an audit."""

    algorithm: str
    round: int
    version: int
    time: float
    arms: int
    fault: str
    lines: tuple[Line, ...]
    delays: Delays | None
    trail: Excerpt | None

    def record(self) -> Audit:
        """The same as the record of the package."""
        return Audit(**vars(self) | {"delays": None if self.delays is None else self.delays.record()})
