"""What is measured in both claims and figures: which lanes are stuck, and what is lost against an adversary."""

from __future__ import annotations

from evenhand.papers.claims import CONFIDENCE, at, count_lanes
from evenhand.papers.experiment import Run
from evenhand.papers.wang2021.names import REGRET
from evenhand.rewards import Winners

Interval = tuple[float, float, float]  # mean, lower end, upper end


def stuck_share(run: Run, label: str) -> Interval:
    """The share of lanes that are stuck in the end, and Clopper and Pearson's 95 % interval."""
    from scipy.stats import binomtest

    stuck, lanes = int(at(run, label, "stuck").sum()), count_lanes(run)
    ends = binomtest(stuck, lanes).proportion_ci(confidence_level=CONFIDENCE)
    return stuck / lanes, float(ends.low), float(ends.high)


def by_chance(run: Run) -> bool:
    """Whether the arm that pays is drawn with fixed chances, and no log is replayed."""
    return isinstance(run.setup.environment.rewards, Winners)


def lost(run: Run) -> str:
    """The regret of an adversarial case: by expected rewards where these exist, else in hindsight."""
    return REGRET if by_chance(run) else "adversarial_regret"
