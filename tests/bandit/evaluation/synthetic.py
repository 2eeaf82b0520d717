"""Logs of sales in euros from known laws: prices, chances of a sale, and delays that are longer for a sale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenhand.core.state import Array
from evenhand.evaluation import Log

PRICES, LIKES = np.array([20.0, 40.0, 15.0, 30.0]), np.array([0.10, 0.08, 0.20, 0.05])


@dataclass(frozen=True)
class Sales:
    """A log, and the true means of its arms."""

    log: Log
    means: Array


def sales(seed: int, rounds: int = 20_000, missing: str = "zero", *, dependent: bool = True) -> Sales:
    """A log of sales of one or two pieces; rewards come after 300 seconds on average, sales twice as late."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(4, 5.0)) * 0.8 + 0.05
    window = 2000.0
    decided = np.cumsum(rng.exponential(1.0, rounds))
    item = rng.choice(4, rounds, p=chances)
    sold = rng.random(rounds) < LIKES[item]
    reward = np.where(sold, PRICES[item] * rng.integers(1, 3, rounds), 0.0)
    scale = np.where(sold & dependent, 600.0, np.where(dependent, 60.0, 300.0))
    rewarded = decided + rng.exponential(scale)
    seen = rewarded <= decided[-1]
    if missing == "zero":
        seen &= sold & (rewarded - decided <= window)
    if missing == "lost":
        seen &= rng.random(rounds) < 0.7
    frame = pd.DataFrame(
        {
            "time": decided,
            "arm": np.array(["tea", "coffee", "cocoa", "mate"])[item],
            "euros": np.where(seen, reward, np.nan),
            "rewarded": np.where(seen, rewarded, np.nan),
            "propensity": chances[item],
        }
    )
    limit = None if missing == "never" else window
    log = Log.of(frame, {"reward": "euros"}, window=limit, missing=missing, rewards=(0.0, 80.0), unit="€")
    in_time = 1.0 - math.exp(-window / (600.0 if dependent else 300.0)) if missing == "zero" else 1.0
    order = [["tea", "coffee", "cocoa", "mate"].index(name) for name in log.items]
    return Sales(log, (PRICES * 1.5 * LIKES * in_time)[order])
