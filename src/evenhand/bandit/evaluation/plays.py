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
class Rows:
    """Plays in the order of time, one entry for each row of a log; the rows of a round are consecutive."""

    source: str  # name of the log in messages
    items: tuple[str, ...]  # names of all items in the log, sorted by number or by name
    item: Index  # (rows,), the place in ``items`` of the item that was played
    reward: Array  # (rows,), its reward; among all plays NaN where none came, or it came after the window
    propensity: Array  # (rows,), the probability with which it was among those played, in (0, 1]; NaN: not in the log
    round: Index  # (rows,), the round of the row, counted from 0
    sets: Mask  # (sets, items), the different sets of available items
    available: Index  # (rounds,), the row of ``sets`` of each round
    has_available: bool = False  # whether the log has available items; otherwise all items are available in every round
    position: NDArray[Any] | None = None  # (rows,), where the item was shown; None where the log has no positions
    reading: Reading = Reading()  # how they were read
    known: Known | None = None  # features of every round; None where none were read

    @property
    def has_propensities(self) -> bool:
        """Whether the log says with which propensity items were played."""
        return not np.isnan(self.propensity).any()


@dataclass(frozen=True, eq=False, kw_only=True)
class Plays(Rows):
    """All plays of a log, also those whose reward is not known."""

    decided: Array  # time of the decision; of dates, seconds
    rewarded: Array  # time of the reward; NaN where the log does not say it
    open: Mask  # whether the reward may still come, or the play is younger than the window
    unsaid: bool = False  # whether propensities are blank in some rows, as where a learning policy has no closed form

    @property
    def end(self) -> float:
        """The last time in the log."""
        return float(np.nanmax(np.maximum(self.decided, np.nan_to_num(self.rewarded, nan=-np.inf))))
