"""Setting 4: the plays of an arm against its inverse gap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.papers.experiment import Run
from evenhand.papers.fang2022.frontier import HARD
from evenhand.records import Array

#: What plays are compared with, by the kind of the arms.
INVERSE = {"non-critical": "1/(Δ − A)²", "critical": "1/Δ²"}
#: Kind of the arms and number of the case, by the name of the configuration.
CASES = {f"f4-{kind.replace('-', '')}-{case}": (kind, case) for kind in INVERSE for case in (1, 2, 3)}
OFF = 0.01  # an arm whose plays are this part away from the fairness level is not at it
LEAST = 3  # arms that a line needs


def penalty(run: Run) -> float:
    """A, the same for all arms."""
    fairness: Any = run.setup.policies[HARD].fairness
    return float(np.max(fairness.penalties))


def arms_of(part: str, run: Run) -> tuple[NDArray[np.intp], Array]:
    """The arms of the kind that a case is about: their places, and their inverse gaps, both (arms,)."""
    gaps = run.setup.environment.means.max() - run.setup.environment.means
    if CASES[part][0] == "critical":
        places = np.flatnonzero((gaps > 0.0) & (gaps <= penalty(run)))
        return places, np.asarray(gaps[places] ** -2.0)
    places = np.flatnonzero(gaps > penalty(run))
    return places, np.asarray((gaps[places] - penalty(run)) ** -2.0)


def plays_of(run: Run, places: NDArray[np.intp]) -> Array:
    """Plays in the end, (lanes, arms)."""
    return np.asarray(run.results.records[HARD].pulls[-1][:, places], dtype=float)


def level_of(run: Run, places: NDArray[np.intp]) -> Array:
    """The fairness level τ T of some arms, (arms,)."""
    shares = np.asarray(run.results.promised[HARD])
    return np.asarray(shares[places] * run.results.rounds[-1])


def off_the_level(part: str, run: Run) -> tuple[Array, Array]:
    """Inverse gaps (arms,) and plays (lanes, arms) of the arms of which proportion is claimed.

    They are the non-critical ones short of the fairness level, and the critical ones beyond it.
    """
    places, inverse = arms_of(part, run)
    plays, level = plays_of(run, places), level_of(run, places)
    beyond = plays.mean(axis=0) / level - 1.0
    free = beyond > OFF if CASES[part][0] == "critical" else beyond < -OFF
    return inverse[free], plays[:, free]


def straightness(inverse: Array, plays: Array) -> Array:
    """The part of the variance over the arms that a straight line explains, (lanes,)."""
    return np.array([np.corrcoef(inverse, lane)[0, 1] ** 2 for lane in plays])


def power(inverse: Array, plays: Array) -> Array:
    """The power of the inverse gap that plays grow like, by least squares on logarithms, (lanes,)."""
    return np.asarray(np.polyfit(np.log(inverse), np.log(plays).T, 1)[0])


def bounds_of(part: str, run: Run) -> Array:
    """The bounds of Theorem 4.2 (b) and (c) on the plays of the arms that a case is about, without O(1), (arms,)."""
    places, inverse = arms_of(part, run)
    means = run.setup.environment.means
    log = 8.0 * math.log(run.results.rounds[-1])
    level = level_of(run, places)
    most = level if CASES[part][0] == "critical" else np.minimum(log * inverse, level)
    return np.asarray(np.maximum(log / (means.max() - means[places]) ** 2, most))
