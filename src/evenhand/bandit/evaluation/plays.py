"""All plays of a log, also those that cannot be judged, with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.evaluation.columns import Reading
from evenhand.bandit.evaluation.known import Known
from evenhand.bandit.evaluation.table import Index
from evenhand.core.state import Array, Mask

FEWEST = 30.0  # plays below which nothing is concluded from a normal distribution
FEW = 0.1  # part of a squared error that is of a single play, above which too few rewards decide


@dataclass(frozen=True, eq=False)
class Plays:
    """All plays of a log in the order of time, also those whose reward is not known; one entry for each row."""

    source: str  # name of the log in messages
    items: tuple[str, ...]
    item: Index  # the place in ``items``
    reward: Array  # NaN where none came, or it came after the window
    propensity: Array  # NaN where the log has none
    round: Index
    decided: Array  # time of the decision; of dates, seconds
    rewarded: Array  # time of the reward; NaN where the log does not say it
    open: Mask  # whether the reward may still come, or the play is younger than the window
    sets: Mask  # (sets, items), the different sets of available items
    available: Index  # (rounds,), the row of ``sets`` of each round
    listed: bool  # whether the log has available items
    reading: Reading  # how the log was read
    position: NDArray[Any] | None = None  # where the item was shown; None where the log has no positions
    known: Known | None = None  # features of every round; None where none were read
    unsaid: bool = False  # whether propensities are blank in some rows, as where a learning policy has no closed form

    @property
    def end(self) -> float:
        """The last time in the log."""
        return float(np.nanmax(np.maximum(self.decided, np.nan_to_num(self.rewarded, nan=-np.inf))))

    @property
    def has_propensities(self) -> bool:
        """Whether the log says with which propensity items were played."""
        return not np.isnan(self.propensity).any()
