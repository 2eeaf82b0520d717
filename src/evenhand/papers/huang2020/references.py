"""What the regret is compared with: that of Opt-NF, which knows the means and promises nothing, and the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.bounds import lfg_regret, tscsf_b_regret
from evenhand.metrics import yardstick
from evenhand.papers.experiment import Run
from evenhand.records import Array

#: The η of a horizon, T → η = sqrt(K T/(m ln T)), as in the labels.
HORIZONS = {
    200: "8.69",
    500: "12.69",
    1000: "17.02",
    2000: "22.94",
    5000: "34.27",
    10_000: "46.6",
    20_000: "63.55",
}
ETA = HORIZONS[20_000]
BOUND_OF = {"TSCSF-B": tscsf_b_regret, "LFG": lfg_regret}


def opt_nf(run: Run) -> float:
    """Time-averaged regret of Opt-NF, which is negative: it earns more than Opt-F."""
    stick = yardstick(next(iter(run.setup.policies.values())), run.setup.environment)
    assert stick.best_fair is not None
    return float(stick.best_fair - stick.best)


def bound(run: Run, name: str, rounds: Any, eta: str = ETA) -> Array:
    """The bound on a policy's time-averaged regret at some rounds."""
    policy = run.setup.policies[f"{name} eta={eta}"]
    return BOUND_OF[name](rounds, run.setup.environment.arms, policy.plays, float(eta))


def bounded_rounds(run: Run) -> Array:
    """The checkpoints from round 2 on: at T = 1 the logarithm is 0."""
    return np.asarray(run.results.rounds[run.results.rounds >= 2], dtype=float)


def horizons(run: Run) -> dict[int, str]:
    """The horizons that the run reaches, and their η."""
    return {horizon: eta for horizon, eta in HORIZONS.items() if horizon <= run.results.rounds[-1]}
