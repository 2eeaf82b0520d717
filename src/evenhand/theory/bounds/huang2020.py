"""Bounds of Huang et al. 2020: virtual queues of missing plays, with arms that sleep."""

from __future__ import annotations

import numpy as np

from evenhand.core.descriptions import described_by
from evenhand.core.state import Array
from evenhand.theory.bounds.gaps import Numbers, rounds_of

#: Arguments that mean the same in several of these bounds, and what most of them return.
ARGUMENTS = {
    "rounds": "T > 1.",
    "arms": "K.",
    "plays": "m.",
    "eta": "η > 0; inf drops the first term.",
    "weight": "w, the largest weight of an arm.",
}
RETURNS = "Units of reward per round, in the shape of ``rounds``."


@described_by(ARGUMENTS, RETURNS)
def tscsf_b_regret(rounds: Numbers, arms: int, plays: int, eta: float, weight: float = 1.0) -> Array:
    """Time-averaged regret of TSCSF-B: ``K/(2η) + (4 w sqrt(m K T ln T) + 2.51 w K)/T``.

    Example:
        >>> round(float(tscsf_b_regret(20_000, arms=6, plays=3, eta=63.55)), 4)
        0.4256

    Source: Huang et al. 2020, Theorem 2.
    """
    time = rounds_of(rounds)
    learning = (4.0 * weight * np.sqrt(plays * arms * time * np.log(time)) + 2.51 * weight * arms) / time
    return np.asarray(arms / (2.0 * eta) + learning)


@described_by(ARGUMENTS, RETURNS)
def lfg_regret(rounds: Numbers, arms: int, plays: int, eta: float, weight: float = 1.0) -> Array:
    """Time-averaged regret of LFG: ``K/(2η) + (2 w sqrt(6 m K T ln T) + 5.11 w K)/T``.

    Huang et al. print the root without w; it belongs there for weights other than 1, as in the theorem that they quote.

    Example:
        >>> bool(lfg_regret(1000, 6, 3, 60.0) > tscsf_b_regret(1000, 6, 3, 60.0))
        True

    Source: Li et al. 2019, Theorem 2, as quoted in Huang et al. 2020, section 1.
    """
    time = rounds_of(rounds)
    learning = (2.0 * weight * np.sqrt(6.0 * plays * arms * time * np.log(time)) + 5.11 * weight * arms) / time
    return np.asarray(arms / (2.0 * eta) + learning)


@described_by(ARGUMENTS)
def balancing_eta(rounds: int, arms: int, plays: int) -> float:
    """The η from which TSCSF-B's regret has order sqrt(m K T)/T: ``η = sqrt(K T/(m ln T))``.

    Returns:
        η > 0, owed plays that outweigh one unit of reward.

    Example:
        >>> round(balancing_eta(20_000, arms=6, plays=3), 2)
        63.55

    Source: Huang et al. 2020, Corollary 1.
    """
    return float(np.sqrt(arms * rounds / (plays * np.log(rounds))))
