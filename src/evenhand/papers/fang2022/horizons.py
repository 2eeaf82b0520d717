"""Setting 1: the penalised regret at every horizon."""

from __future__ import annotations

import math

from evenhand.papers.claims import at
from evenhand.papers.experiment import Run
from evenhand.papers.fang2022.frontier import LFG, grid
from evenhand.records import Array

#: Number of arms and τ, by the name of the configuration.
SETTINGS = {f"f1-k{arms}-tau{tau:.1f}".replace(".", ""): (arms, tau) for arms in (5, 20) for tau in (0.2, 0.4, 0.8)}


def penalised_regret(run: Run, name: str, rounds: float) -> Array:
    """The penalised regret of a policy at T, (lanes,); LFG's parameter is √T, so that every T has an LFG of its own."""
    own = grid(run, LFG) if name == LFG else [name]
    label = min(own, key=lambda one: abs(float(one.partition("=")[2] or 0.0) - math.sqrt(rounds)))
    return at(run, label, "penalized_regret", rounds)
