"""Promises are judged wrongly in at most 5%, and are decided where there is enough to see."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

TRIALS = 2000
CHANCE = 3.0 * (0.05 * 0.95 / TRIALS) ** 0.5  # three standard errors of 5% of the trials


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("judge")


@pytest.mark.parametrize("kind", ["count", "watched", "chance", "learned"])
@pytest.mark.parametrize("missing", [0.0, 0.005, 0.01, 0.05, 0.2])
def test_at_most_5_percent_are_wrong(kind: str, missing: float, benchmark: Any) -> None:
    for place, (one, rounds, lanes) in enumerate(benchmark.cases()):
        if one == kind and rounds * lanes <= 100_000:
            kept, _, missed = benchmark.parts(benchmark.verdicts(one, rounds, lanes, missing, TRIALS, seed=place))
            tolerated = missing * 0.1 * rounds <= max(1.0, 0.001 * rounds) + 1e-9
            assert (missed if tolerated else kept) <= 0.05 + CHANCE


@pytest.mark.parametrize(
    ("kind", "lanes", "missing", "verdict"),
    [
        ("chance", 1, 0.2, 2),
        ("watched", 1, 0.2, 2),
        ("chance", 100, 0.05, 2),
        ("chance", 100, 0.0, 0),
        ("count", 1, 0.0, 0),
    ],
)
def test_after_ten_thousand_rounds_it_is_decided(
    kind: str, lanes: int, missing: float, verdict: int, benchmark: Any
) -> None:
    found = benchmark.parts(benchmark.verdicts(kind, 10_000, lanes, missing, TRIALS, seed=1))
    assert found[verdict] >= 0.95 - CHANCE


def test_exact_counts_are_never_wrong(benchmark: Any) -> None:
    for missing in (0.0, 0.01, 0.05):
        kept, undecided, missed = benchmark.parts(benchmark.verdicts("count", 10_000, 1, missing, 10, seed=0))
        assert (kept, undecided, missed) == ((1.0, 0.0, 0.0) if missing <= 0.01 else (0.0, 0.0, 1.0))
