"""How long reports took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.records import Array

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 12  # at most, and one more at either end of growing ones
SKEW = 30.0  # the largest delay in times of the median, from which on bins grow
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
#: Seconds that read well, as the width of a bin and as an edge.
LADDER = np.array(
    [
        *(part * unit for unit in (0.001, 0.01, 0.1) for part in (1.0, 2.0, 5.0)),
        *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
        *(part * MINUTE for part in (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)),
        *(part * HOUR for part in (1.0, 2.0, 3.0, 6.0, 12.0)),
        *(part * DAY for part in (1.0, 2.0, 7.0, 14.0, 30.0, 90.0, 180.0, 360.0)),
    ]
)


@dataclass(frozen=True)
class Waits:
    """How long the last reports took, in seconds.

    The bins begin at 0 and are even, of a width such as 5 seconds, 2 minutes or 6 hours, and at most twelve. Where the
    largest delay is 30 times the median or more, so that most would fall into the first bin, their edges grow instead,
    from one such time to a later one, about evenly on a logarithmic scale; what is too short or too long for these
    times has a bin of its own at the end.

    Attributes:
        count: reports, at most the last 1000.
        quantiles: of their delays, by probability.
        edges: of the bins; one more than there are bins.
        counts: delays in each bin; one on an edge belongs to the bin that begins there, the last one to the last bin.

    Example:
        >>> waits = Waits.of(np.array([3.0, 8.0, 9.0, 31.0, 55.0]))
        >>> waits.quantiles["0.5"], waits.edges, waits.counts
        (9.0, (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0), (1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1))
    """

    count: int
    quantiles: Mapping[str, float]
    edges: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, delays: Array) -> Waits:
        """What there is to tell of some delays, at least one."""
        edges = _growing(delays) if delays.max() >= SKEW * np.median(delays) > 0.0 else _even(delays)
        return cls(
            count=len(delays),
            quantiles=dict(zip(map(str, QUANTILES), np.quantile(delays, QUANTILES).tolist(), strict=True)),
            edges=tuple(edges.tolist()),
            counts=tuple(np.histogram(delays, edges)[0].tolist()),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "count": self.count,
            "quantiles": dict(self.quantiles),
            "bins": {"edges": list(self.edges), "counts": list(self.counts)},
        }


def _even(delays: Array) -> Array:
    """Edges from 0 on, the same distance apart."""
    last = float(delays.max())
    wide = LADDER[last / BINS <= LADDER]
    width = float(wide[0]) if len(wide) else last / BINS
    edges = np.round(width * np.arange(max(np.ceil(last / width), 1.0) + 1.0), 6)
    return np.append(edges[:-1], max(edges[-1], last))


def _growing(delays: Array) -> Array:
    """Edges from one rung of the ladder to a later one, each about the same number of times the one before."""
    first = max(int(np.searchsorted(LADDER, delays.min(), side="right")) - 1, 0)
    rungs = LADDER[first : int(np.searchsorted(LADDER, delays.max())) + 1]
    rungs = rungs[::-1][:: -(-len(rungs) // BINS)][::-1]  # the last one stays
    shorter = [0.0] if delays.min() < rungs[0] else []
    longer = [float(delays.max())] if delays.max() > rungs[-1] else []
    return np.array([*shorter, *rungs, *longer])
