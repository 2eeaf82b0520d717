"""Rounding alone: Evenhand's two ways to draw m arms with given shares, against the textbooks' random pairs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console

import published
from common import LIMIT, medians
from evenhand.core.state import ALL_AVAILABLE, Array
from evenhand.policy.claim import Shares
from evenhand.policy.composition import Policy
from evenhand.policy.merit import Power
from evenhand.policy.selection import DependentRounding, SystematicSampling
from evenhand.policy.shares import proportional
from report import Table

PLAYS = {7: 3, 100: 30, 10_000: 3000}  # by the number of arms
LANES = (1, 1000)
MERIT = Power(beta=2.0, exponent=4.0)
CHECK_LANES = 4000
SECONDS = 0.2  # a turn lasts, at least


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time per lane."""

    arms: int
    plays: int
    lanes: int
    dependent: float
    systematic: float
    pairs: float  # the textbooks' loop; one lane, whatever ``lanes`` is


def merits(arms: int, lanes: int, rng: np.random.Generator) -> Array:
    """Merits of arms whose means are uniform, (lanes, arms)."""
    return MERIT(rng.random((lanes, arms)))


def disagreements() -> Iterator[str]:
    """Ways to draw under which an arm does not play as often as its share says, or not m arms play."""
    for arms, plays in list(PLAYS.items())[:2]:
        rng, dice = np.random.default_rng(1), random.Random(1)
        weights = merits(arms, 1, rng)[0]
        shares, claim = proportional(weights, plays), Shares(np.tile(weights, (CHECK_LANES, 1)))
        state = Policy().start(arms, CHECK_LANES)
        drawn = {
            "dependent": DependentRounding(plays).select(claim, state, ALL_AVAILABLE, rng)[0],
            "systematic": SystematicSampling(plays).select(claim, state, ALL_AVAILABLE, rng)[0],
            "pairs": np.zeros((CHECK_LANES, arms), dtype=bool),
        }
        for lane in range(CHECK_LANES):
            drawn["pairs"][lane, published.paired(shares.tolist(), dice)] = True
        for name, played in drawn.items():
            off = np.abs(played.mean(axis=0) - shares) > LIMIT * np.sqrt(shares * (1.0 - shares) / CHECK_LANES) + 1e-9
            if off.any() or (played.sum(axis=1) != plays).any():
                yield f"rounding, {name}, {arms} arms: arms do not play as often as their shares say"


def measure(arms: int, lanes: int, repeats: int) -> Row:
    """One row of the table."""
    plays, rng, dice = PLAYS[arms], np.random.default_rng(0), random.Random(0)
    weights = merits(arms, lanes, rng)
    claim, shares = Shares(weights), proportional(weights[0], plays).tolist()
    state = Policy().start(arms, lanes)
    found = medians(
        {
            "dependent": lambda: DependentRounding(plays).select(claim, state, ALL_AVAILABLE, rng),
            "systematic": lambda: SystematicSampling(plays).select(claim, state, ALL_AVAILABLE, rng),
            "pairs": lambda: published.paired(shares, dice),
        },
        repeats,
        SECONDS,
    )
    microseconds = {name: taken * 1e6 / (1 if name == "pairs" else lanes) for name, taken in found.items()}
    return Row(arms, plays, lanes, **microseconds)


def rows(repeats: int, notes: Console) -> list[Row]:
    """All rows of the table."""
    found = []
    for arms in PLAYS:
        for lanes in LANES:
            with notes.status(f"rounding, {arms} arms, {lanes} lanes"):
                found.append(measure(arms, lanes, repeats))
    return found


def table_of(found: list[Row]) -> Table:
    """Microseconds."""
    columns = ("arms", "plays", "lanes", "dependent", "systematic", "random pairs", "times slower")
    cells = []
    for row in found:
        sizes, slower = (f"{row.arms:,}", f"{row.plays:,}", f"{row.lanes:,}"), row.pairs / row.dependent
        times = (f"{row.dependent:,.2f}", f"{row.systematic:,.2f}", f"{row.pairs:,.1f}")
        cells.append((*sizes, *times, f"{slower:,.1f}"))
    return Table("merit-rounding", "rounding: microseconds per lane, shares included", columns, cells)
