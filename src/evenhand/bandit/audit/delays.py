"""How long rewards took to arrive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.state import Array
from evenhand.messages.audit import DelaySummary

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


def summarise(delays: Sequence[float] | Array) -> DelaySummary:
    """The summary of some delays, at least one, in seconds."""
    delays = np.asarray(delays)
    edges = _growing(delays) if delays.max() >= SKEW * np.median(delays) > 0.0 else _even(delays)
    return DelaySummary(
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
