"""How long rewards took: quantiles by hand, bins that read well and hold everything."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.audit.delays import BINS, LADDER, summarise
from evenhand.bandit.counts import DELAYS
from evenhand.core.state import Array

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def test_nothing_by_hand() -> None:
    """Five delays: the median is the third, the 5% quantile a fifth of the way from the first to the second."""
    waits = summarise(np.array([100.0, 0.0, 500.0, 200.0, 300.0]))
    assert waits.count == 5
    assert waits.quantiles == pytest.approx({"0.05": 20.0, "0.25": 100.0, "0.5": 200.0, "0.75": 300.0, "0.95": 460.0})
    assert waits.edges == tuple(60.0 * edge for edge in range(10))  # a twelfth of 500 is 42 seconds
    assert waits.counts == (1, 1, 0, 1, 0, 1, 0, 0, 1)


@pytest.mark.parametrize(
    ("delays", "width"),
    [
        ([0.0], 0.001),
        ([1e-7, 3e-7], 0.001),
        ([0.06, 0.05], 0.005),
        ([60.0], 5.0),
        ([HOUR] * 3, 300.0),
        ([10 * HOUR, 11 * HOUR, 12 * HOUR], HOUR),
        ([DAY, 5 * DAY], 12 * HOUR),
        ([300 * DAY], 30 * DAY),
    ],
)
def test_even_bins(delays: list[float], width: float) -> None:
    edges = summarise(np.array(delays)).edges
    assert edges[0] == 0.0
    assert np.diff(edges) == pytest.approx(width)


def test_bins_grow_where_delays_span_decades() -> None:
    """From five seconds to a day, most within a minute: sixteen rungs of the ladder, so every other one."""
    waits = summarise(np.array([5.0, 8.0, 12.0, 30.0, 59.0, 70.0, 3 * HOUR, 20 * HOUR]))
    assert waits.edges[:4] == (0.0, 10.0, 30.0, 2 * MINUTE)
    assert waits.edges[-2:] == (6 * HOUR, DAY)
    assert set(waits.edges[1:]) <= set(LADDER.tolist())
    assert (waits.counts[0], waits.counts[1], waits.counts[-1]) == (2, 1, 1)
    grown = np.divide(waits.edges[2:], waits.edges[1:-1])
    assert 2.0 <= grown.min() <= grown.max() <= 6.0


def test_what_is_outside_the_ladder_has_a_bin() -> None:
    waits = summarise(np.array([0.0, 2e-5, 0.2, 0.2, 0.2, 2000 * DAY]))
    assert (waits.edges[0], waits.counts[0]) == (0.0, 2)
    assert (waits.edges[-1], waits.counts[-1]) == (2000 * DAY, 1)


def many() -> list[Array]:
    rng = np.random.default_rng(1)
    delays = [rng.lognormal(rng.uniform(-9.0, 20.0), rng.uniform(0.0, 4.0), rng.integers(1, 60)) for _ in range(500)]
    return [*delays, np.zeros(3), np.full(4, 0.3), np.array([0.0, 0.0, 2e15]), np.array([1.0, 1.0, 2e15])]


def test_every_delay_is_in_a_bin() -> None:
    """Counted by hand; as many bins as can be seen at a glance."""
    for delays in many():
        waits = summarise(delays)
        assert waits.edges[0] <= delays.min()
        assert len(waits.edges) == len(waits.counts) + 1 <= BINS + 3
        assert (np.diff(waits.edges) > 0.0).all()
        inside = [sum(low <= delay < high for delay in delays) for low, high in pairwise(waits.edges)]
        inside[-1] += sum(delay == waits.edges[-1] for delay in delays)
        assert waits.counts == tuple(inside)
        assert sum(waits.counts) == len(delays)
        json.dumps(waits.to_json(), allow_nan=False)


def test_only_the_last_thousand_count() -> None:
    bandit = Bandit(["a"], "ucb1")
    for place in range(DELAYS + 10):
        bandit.decide(now=float(place))
        bandit.observe(str(place + 1), {"a": 0.0}, now=float(place) + (500.0 if place < 10 else 2.0))
    waits = bandit.audit().delays
    assert waits is not None
    assert (waits.count, waits.quantiles["0.95"]) == (DELAYS, 2.0)


def test_a_clock_that_jumps_back_makes_no_delay_negative() -> None:
    bandit = Bandit(["a"], "ucb1")
    bandit.decide(now=100.0)
    bandit.observe("1", {"a": 0.0}, now=50.0)
    waits = bandit.audit().delays
    assert waits is not None
    assert waits.quantiles == dict.fromkeys(["0.05", "0.25", "0.5", "0.75", "0.95"], 0.0)
    assert math.isclose(sum(waits.counts), 1.0)
