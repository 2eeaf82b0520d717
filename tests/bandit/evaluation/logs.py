"""Logs with a known truth, for the tests of evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evenhand.bandit.evaluation.log import Log
from evenhand.core.state import Array, Mask


def log_of(items: Any, rewards: Any, propensities: Any, **columns: Any) -> Log:
    """A log of one play per round, in memory."""
    rows = {"timestamp": range(len(items)), "item_id": items, "reward": rewards, "propensity_score": propensities}
    return Log.of(pd.DataFrame(rows | columns))


def drawn(rng: np.random.Generator, propensities: Array) -> Any:
    """One item per row, drawn with the row's propensities."""
    return (rng.random((len(propensities), 1)) < propensities.cumsum(axis=1)).argmax(axis=1)


def simulated(rng: np.random.Generator, rounds: int, means: Array, shares: Array, awake: Mask | None = None) -> Log:
    """A log of Bernoulli rewards; in each round the available items share in proportion."""
    sets = np.ones((1, len(means)), dtype=bool) if awake is None else awake
    available = rng.integers(len(sets), size=rounds)
    weights = sets[available] * shares
    propensities = weights / weights.sum(axis=1, keepdims=True)
    item = drawn(rng, propensities)
    rows = np.arange(rounds)
    reward = (rng.random(rounds) < means[item]).astype(float)
    names = tuple(map(str, range(len(means))))
    return Log("a simulation", names, item, reward, propensities[rows, item], rows, sets, available, awake is not None)


TINY = (["a", "b", "a"], [1, 0, 0], [0.5, 0.25, 0.5])
TARGET = {"a": 0.75, "b": 0.25}

MEANS, USED, WANTED = np.array([0.1, 0.5, 0.8]), np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
AWAKE = np.array([[True, True, True], [True, True, False], [False, True, True], [True, False, True]])


def fixed(shares: Array) -> dict[str, float]:
    return {str(place): share for place, share in enumerate(shares.tolist())}


def adaptive(rng: np.random.Generator, rounds: int, lanes: int) -> Iterator[Log]:
    """Logs of a policy that learns: it plays the best mean so far with chance 0.6, and any item with the rest."""
    counts, sums = np.zeros((lanes, 3)), np.zeros((lanes, 3))
    rows = np.arange(lanes)
    rows_of_lanes: list[tuple[Any, Any, Any]] = []
    for _ in range(rounds):
        propensity = np.full((lanes, 3), 0.4 / 3)
        propensity[rows, (sums / np.maximum(counts, 1)).argmax(axis=1)] += 0.6
        item = drawn(rng, propensity)
        reward = (rng.random(lanes) < MEANS[item]).astype(float)
        rows_of_lanes.append((item, reward, propensity[rows, item]))
        counts[rows, item] += 1
        sums[rows, item] += reward
    items, rewards, propensities = (np.array(column).T for column in zip(*rows_of_lanes, strict=True))
    one = np.ones((1, 3), dtype=bool)
    for lane in range(lanes):
        numbers, zeros = np.arange(rounds), np.zeros(rounds, dtype=np.intp)
        yield Log("", ("0", "1", "2"), items[lane], rewards[lane], propensities[lane], numbers, one, zeros)


def even(rounds: int = 200) -> Log:
    return simulated(np.random.default_rng(0), rounds, MEANS, np.ones(3) / 3)


HEADER = "timestamp,decision_id,item_id,position,reward,propensity_score,available\n"
ROWS = (
    "2026-01-01T00:00:00Z,x,tea,1,1,0.5,tea|mate\n"
    "2026-01-01T00:00:05Z,y,mate,2,0.25,0.25,mate\n"
    '2026-01-01T00:00:07Z,z,tea,1,0,1,"[""tea"", ""mate""]"\n'
)


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
