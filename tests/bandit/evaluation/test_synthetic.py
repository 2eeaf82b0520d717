"""Bias, error and coverage on logs with a known truth, by size and overlap; run by itself, it prints the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand.bandit.evaluation.evaluation import evaluate
from evenhand.bandit.evaluation.log import Log
from tests.bandit.evaluation.logs import drawn, fixed, simulated

MEANS, TARGET = np.array([0.05, 0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3, 0.4])
OVERLAPS = {
    "even": np.full(4, 0.25),
    "some": np.array([0.6, 0.25, 0.1, 0.05]),
    "little": np.array([0.9, 0.08, 0.015, 0.005]),
}
WAYS: dict[str, dict[str, Any]] = {
    "ips": {"estimator": "ips"},
    "snips": {"estimator": "snips"},
    "dr": {"estimator": "dr"},
    "sndr": {"estimator": "sndr"},
    "dr, clip slope": {"estimator": "dr", "clip": "slope"},
    "sequence": {"estimator": "dr", "interval": "sequence"},
}


@dataclass(frozen=True)
class Cell:
    """What became of many logs."""

    bias: float
    error: float  # root of the mean squared error
    covered: float
    width: float  # the mean one
    answers: float  # part of the logs that could answer, with care or without


def learned(rng: np.random.Generator, rounds: int) -> Log:
    """A log of Thompson sampling in batches of 50, under which every item keeps a chance of 0.05."""
    wins, losses = np.ones(4), np.ones(4)
    rows: list[Any] = []
    for _ in range(rounds // 50):
        best = rng.beta(wins, losses, (200, 4)).argmax(axis=1)
        chance = 0.05 + 0.8 * np.bincount(best, minlength=4) / 200
        item = drawn(rng, np.broadcast_to(chance, (50, 4)))
        reward = (rng.random(50) < MEANS[item]).astype(float)
        wins += np.bincount(item, reward, 4)
        losses += np.bincount(item, 1.0 - reward, 4)
        rows.append((item, reward, chance[item]))
    item, reward, chance = (np.concatenate(column) for column in zip(*rows, strict=True))
    numbers, zeros = np.arange(len(item)), np.zeros(len(item), dtype=np.intp)
    return Log("", tuple("0123"), item, reward, chance, numbers, np.ones((1, 4), dtype=bool), zeros)


def logs(overlap: str, rounds: int, times: int) -> Iterator[Log]:
    """Logs of a policy with fixed shares, or of one that learned."""
    rng = np.random.default_rng(17)
    for _ in range(times):
        yield learned(rng, rounds) if overlap == "learned" else simulated(rng, rounds, MEANS, OVERLAPS[overlap])


def cells(overlap: str, rounds: int, times: int, ways: dict[str, dict[str, Any]] = WAYS) -> dict[str, Cell]:
    """What becomes of each way to estimate the same target."""
    truth = float(TARGET @ MEANS)
    found: dict[str, list[Any]] = {name: [] for name in ways}
    for log in logs(overlap, rounds, times):
        for name, way in ways.items():
            result = evaluate(log, {"t": fixed(TARGET)}, **({"interval": "normal"} | way))
            one = result.estimates["t"]
            inside = one.interval.low <= truth <= one.interval.high
            width = one.interval.high - one.interval.low
            found[name].append((one.value - truth, inside, width, result.grade.answer != "no"))
    table = {name: np.array(rows, dtype=float).T for name, rows in found.items()}
    return {
        name: Cell(missed.mean(), np.sqrt((missed**2).mean()), inside.mean(), width.mean(), able.mean())
        for name, (missed, inside, width, able) in table.items()
    }


def check(found: dict[str, Cell], times: int) -> None:
    """Coverage is not below 95% for sequences, 93% for normal intervals, but for a chance of one in a thousand."""
    for name, cell in found.items():
        if cell.answers < 0.9:
            continue
        least = 0.95 if name == "sequence" else 0.93  # normal intervals are right for many rounds only
        assert cell.covered > least - 3.1 * (least * (1 - least) / times) ** 0.5, name
        assert abs(cell.bias) < 4 * cell.error / times**0.5 + 0.003 * ("slope" in name), name


def test_one_cell_always() -> None:
    check(cells("some", 400, 60, {name: WAYS[name] for name in ("dr", "sequence")}), 60)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [500, 5000])
@pytest.mark.parametrize("overlap", [*OVERLAPS, "learned"])
def test_all_cells(overlap: str, rounds: int) -> None:
    found = cells(overlap, rounds, 1000)
    check(found if overlap != "learned" else {"sequence": found["sequence"]}, 1000)


if __name__ == "__main__":
    for size in (500, 5000):
        for kind in (*OVERLAPS, "learned"):
            for label, cell in cells(kind, size, 1000).items():
                numbers = (
                    f"{cell.bias:+.4f} | {cell.error:.4f} | {cell.covered:.1%} | {cell.width:.3f} | {cell.answers:.0%}"
                )
                print(f"| {size:,} | {kind} | {label} | {numbers} |", flush=True)
