"""The optimistic share alone: `evenhand.policy.confidence.optimistic_means` against SciPy's SLSQP from a random start.

The boxes are those of FCUCB-D with the radius of the published code, from the first round to one at which arms have
thousands of plays: plays as in the fair shares, every reward known. Before anything is timed, Evenhand's answers must
be right: by Dinkelbach's criterion no point of a fine grid does better.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console

import published
from common import medians
from evenhand.algorithms import fcucb_d
from evenhand.core.state import Array, State, Tally
from evenhand.policy.confidence import OptimisticShares, optimistic_means
from evenhand.policy.merit import Power
from evenhand.policy.shares import proportional
from report import Table

MEANS = np.array([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4])  # Chen et al. 2024, section 6
KINDS = ((Power(beta=2.0, exponent=4.0), 3), (Power(beta=50.0, exponent=4.0), 1))  # merit, plays per round
LANES = {7: 1000, 100: 1000, 10_000: 100}  # boxes side by side, by the number of arms
ASKED = {7: 200, 100: 10, 10_000: 0}  # boxes for SLSQP: half a second each at 100 arms, and its work grows like K³
ALONE = 20  # boxes solved one by one
ROUNDS_AN_ARM = 6000.0  # of the latest box
STEPS = 2000  # of the grid
TOLERANCE = 1e-7  # by which a grid may miss what a share earns
MISSED = 1e-6  # what a share may earn less than the best and still count as found
SECONDS = 0.2  # a turn lasts, at least


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time per box, and what SLSQP and the upper ends of the box lose."""

    beta: float
    arms: int
    lanes: int
    alone: float
    side_by_side: float
    slsqp: float | None
    missed: float | None  # part of the boxes in which SLSQP misses the optimum
    loss: float | None  # of expected reward per play where it does, on average
    largest_loss: float | None
    corner_missed: float  # part of the boxes in which the upper ends are not the optimum
    corner_largest_loss: float


def boxes(merit: Power, plays: int, arms: int, number: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Lower and upper ends, (number, arms), at rounds spread evenly in the logarithm."""
    index = fcucb_d(merit, horizon=1, radius="code", cap=True, plays=plays).index
    assert isinstance(index, OptimisticShares)
    ends = []
    for t in np.geomspace(1.0, ROUNDS_AN_ARM * arms / plays, number).round().astype(int).tolist():
        means = MEANS if arms == len(MEANS) else rng.random(arms)
        known = rng.poisson(t * proportional(merit(means), plays))
        tally = Tally(known.astype(float), known.astype(float), rng.binomial(known, means).astype(float))
        ends.append(index.confidence.of(State(t, tally)))
    low, high = zip(*ends, strict=True)
    return np.stack(low), np.stack(high)


def earned(merit: Power, means: Array) -> Array:
    """``Σ f(x_i) x_i / Σ f(x_j)``, what a play earns under fair shares, (…,)."""
    merits = merit(means)
    return np.asarray((merits * means).sum(axis=-1) / merits.sum(axis=-1))


def disagreements() -> Iterator[str]:
    """Boxes in which a grid finds a better point: λ is the optimum if ``Σ max f(x)(x − λ) ≤ 0`` over the box."""
    rng = np.random.default_rng(1)
    for merit, plays in KINDS:
        for arms, number in ((7, 300), (100, 100), (10_000, 3)):
            for low, high in zip(*boxes(merit, plays, arms, number, rng), strict=True):
                found = optimistic_means(merit, low, high)
                level = float(earned(merit, found))
                grid = low + (high - low) * np.linspace(0.0, 1.0, STEPS + 1)[:, np.newaxis]
                gain = (merit(grid) * (grid - level)).max(axis=0).sum() / merit(found).sum()
                outside = (found < low).any() or (found > high).any()
                if outside or gain > TOLERANCE:
                    yield f"optimistic_means, β = {merit.beta:g}, {arms} arms: not the optimum, a grid gains {gain:.2g}"


def measure(merit: Power, plays: int, arms: int, repeats: int) -> Row:
    """One row of the table."""
    rng = np.random.default_rng(0)
    low, high = boxes(merit, plays, arms, LANES[arms], rng)
    single = list(zip(low, high, strict=True))[:: max(LANES[arms] // ALONE, 1)]
    found = medians(
        {
            "alone": lambda: [optimistic_means(merit, *box) for box in single],
            "side_by_side": lambda: optimistic_means(merit, low, high),
        },
        repeats,
        SECONDS,
    )
    corner = earned(merit, optimistic_means(merit, low, high)) - earned(merit, high)
    slsqp = missed = loss = largest = None
    if ASKED[arms]:
        low, high = boxes(merit, plays, arms, ASKED[arms], rng)
        start = time.process_time()
        guesses = [published.slsqp(merit, *box, rng) for box in zip(low, high, strict=True)]
        slsqp = (time.process_time() - start) / ASKED[arms] * 1e6
        losses = earned(merit, optimistic_means(merit, low, high)) - earned(merit, np.stack(guesses))
        wrong = losses > MISSED
        missed, largest = float(wrong.mean()), float(losses.max())
        loss = float(losses[wrong].mean()) if wrong.any() else 0.0
    return Row(
        beta=merit.beta,
        arms=arms,
        lanes=LANES[arms],
        alone=found["alone"] / len(single) * 1e6,
        side_by_side=found["side_by_side"] / LANES[arms] * 1e6,
        slsqp=slsqp,
        missed=missed,
        loss=loss,
        largest_loss=largest,
        corner_missed=float((corner > MISSED).mean()),
        corner_largest_loss=float(corner.max()),
    )


def rows(repeats: int, notes: Console) -> list[Row]:
    """All rows of the table."""
    found = []
    for merit, plays in KINDS:
        for arms in LANES:
            with notes.status(f"optimistic share, β = {merit.beta:g}, {arms} arms"):
                found.append(measure(merit, plays, arms, repeats))
    return found


def table_of(found: list[Row]) -> Table:
    """Microseconds and losses."""
    columns = ("merit", "arms", "alone", "side by side", "SLSQP", "times slower", "misses", "by", "up to")
    cells = []
    for row in found:
        slsqp = [""] * 5
        if row.slsqp is not None and row.missed is not None and row.loss is not None and row.largest_loss is not None:
            losses = (f"{row.missed:.0%}", f"{row.loss:.3f}", f"{row.largest_loss:.3f}")
            slsqp = [f"{row.slsqp:,.0f}", f"{row.slsqp / row.alone:,.0f}", *losses]
        sizes = (f"{row.arms:,}", f"{row.alone:,.1f}", f"{row.side_by_side:,.3f}")
        corner = (f"{row.corner_missed:.0%}", f"{row.corner_largest_loss:.3f}")
        cells.append((f"`1 + {row.beta:g} μ⁴`", *sizes, *slsqp, *corner))
    return Table("merit-share", "optimistic share: microseconds per box", (*columns, "corner misses", "up to"), cells)
