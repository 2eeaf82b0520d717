"""How long rewards took to arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.core.state import Array
from evenhand.online.api.answers import Answer

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 12  # at most, plus one at either end where the edges grow
SKEW = 30.0  # largest delay over median from which on the edges grow
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
#: Round numbers of seconds, minutes, hours and days, for the widths and edges of bins.
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
class DelaySummary(Answer):
    """The delays of the last rewards, in seconds.

    The histogram begins at 0 and has at most twelve bins of equal width, such as 5 seconds, 2 minutes or 6 hours. Where
    the largest delay is at least 30 times the median, so that most delays would fall into the first bin, the edges grow
    about evenly on a logarithmic scale instead; shorter and longer delays have one bin each at the ends.

    Example:
        >>> summary = DelaySummary.of(np.array([3.0, 8.0, 9.0, 31.0, 55.0]))
        >>> summary.quantiles["0.5"], summary.edges, summary.counts
        (9.0, (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0), (1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1))
    """

    count: int
    """number of rewards, at most the last 1000"""
    quantiles: Mapping[str, float]
    """of their delays, by probability"""
    edges: tuple[float, ...]
    """of the bins of the histogram; one more than there are bins"""
    counts: tuple[int, ...]
    """delays per bin; a delay on an edge belongs to the bin that begins there, the largest to the last bin"""

    @classmethod
    def of(cls, delays: Array) -> DelaySummary:
        """The summary of some delays, at least one, in seconds."""
        edges = _growing(delays) if delays.max() >= SKEW * np.median(delays) > 0.0 else _even(delays)
        return cls(
            count=len(delays),
            quantiles=dict(zip(map(str, QUANTILES), np.quantile(delays, QUANTILES).tolist(), strict=True)),
            edges=tuple(edges.tolist()),
            counts=tuple(np.histogram(delays, edges)[0].tolist()),
        )


def _even(delays: Array) -> Array:
    """Evenly spaced edges from 0 on."""
    last = float(delays.max())
    wide_enough = LADDER[last / BINS <= LADDER]
    width = float(wide_enough[0]) if len(wide_enough) else last / BINS
    edges = np.round(width * np.arange(max(np.ceil(last / width), 1.0) + 1.0), 6)
    return np.append(edges[:-1], max(edges[-1], last))


def _growing(delays: Array) -> Array:
    """Edges from the ladder, spaced about evenly on a logarithmic scale."""
    first = max(int(np.searchsorted(LADDER, delays.min(), side="right")) - 1, 0)
    rungs = LADDER[first : int(np.searchsorted(LADDER, delays.max())) + 1]
    rungs = rungs[::-1][:: -(-len(rungs) // BINS)][::-1]  # the last one stays
    shorter = [0.0] if delays.min() < rungs[0] else []
    longer = [float(delays.max())] if delays.max() > rungs[-1] else []
    return np.array([*shorter, *rungs, *longer])
