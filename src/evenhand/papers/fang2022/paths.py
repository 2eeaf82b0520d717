"""Setting 2: plays missing to each arm over the scale η, from which every policy takes its parameter."""

from __future__ import annotations

import numpy as np

from evenhand.papers.experiment import Run
from evenhand.papers.fang2022.frontier import FAIR_LEARN, LFG, grid
from evenhand.records import Array, Mask

#: The configurations by the number of their case.
CASES = {1: "f2-case1", 2: "f2-case2"}
HORIZON = 10_000  # the rounds that the grids refer to
UNFAIR = 0.05  # part of the promised plays that is missing to an arm which is called unfair
STEP = 0.1  # of η in the grids that all three policies have
FINE = 0.05  # of η in the grid of the hard threshold


def promised(run: Run) -> Array:
    """The plays that each arm is promised in the end, (arms,); the same by all policies."""
    shares = np.asarray(next(iter(run.results.promised.values())))
    return np.asarray(shares * run.results.rounds[-1])


def missing(run: Run, name: str) -> dict[float, Array]:
    """The part of its promised plays that is missing to each arm in the end, (lanes, arms), by η, from 1 down."""
    owed = promised(run)
    largest = {FAIR_LEARN: owed[0] / run.results.rounds[-1] * HORIZON, LFG: float(HORIZON)}  # α and η_0 at η = 0
    found = {}
    for label in grid(run, name):
        value = float(label.partition("=")[2])
        eta = 1.0 - value / largest[name] if name in largest else value
        found[round(eta, 4)] = np.maximum(owed - run.results.records[label].pulls[-1], 0.0) / owed
    return dict(sorted(found.items(), reverse=True))


def worse(run: Run) -> Mask:
    """Every arm but the best, (arms,)."""
    means = run.setup.environment.means
    return np.asarray(means < means.max())


def fair_down_to(run: Run, name: str, step: float) -> Array:
    """The length of η over which an arm stays fair, from 1 down to the first step that leaves it unfair, (lanes, arms).

    An arm that is fair at 1, 0.9 and 0.8, unfair at 0.7 and fair at 0.6 has 0.3 with steps of 0.1.
    """
    steps = [part for eta, part in missing(run, name).items() if eta > 0.0 and _is_step(eta, step)]
    fair = np.array(steps) <= UNFAIR
    return np.asarray(step * np.cumprod(fair, axis=0).sum(axis=0))


def _is_step(eta: float, step: float) -> bool:
    return abs(eta / step - round(eta / step)) < 1e-3
