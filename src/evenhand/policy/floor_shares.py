"""Shares of chance with a floor for every arm."""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import InfeasiblePromise
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, State
from evenhand.policy import identification as identification  # parts with floors, too, whose home of kinds is this
from evenhand.policy.claim import Fairness, Shares
from evenhand.policy.part import Traits


@part("fairness", "floor_shares")
@frozen(eq=False)
class FloorShares(Fairness):
    """Arms play in proportion to their score, with a floor for every arm.

    With w_i the score as a part of the sum of all scores:

    =====  ==============================================  ========================================================
    rule   probability                                     what becomes of a floor
    =====  ==============================================  ========================================================
    mix    ``p_i = f_i + (1 − Σ f) w_i``                   kept in every round
    clip   ``p_i = max(w_i, f_i) / Σ_j max(w_j, f_j)``     broken: with one arm at 1, each other has ``f/(1 + (K−1) f)``
    =====  ==============================================  ========================================================

    So clipping gives 7.1% for a floor of 10% and five arms. It is here for comparison: services for experiments have
    shipped it.

    Args:
        fractions: (arms,), floors f_i, in [0, 1], with a sum of at most 1; one number for all arms.
        rule: ``"mix"`` or ``"clip"``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> sure, state = np.array([1.0, 0.0, 0.0, 0.0, 0.0]), Policy().start(arms=5)
        >>> [FloorShares(0.1, rule).claim(sure, state).score.round(4).tolist() for rule in ("mix", "clip")]
        [[0.6, 0.1, 0.1, 0.1, 0.1], [0.7143, 0.0714, 0.0714, 0.0714, 0.0714]]

    Source: ours (mix; GrowthBook's gbstats since June 2026, too); GrowthBook, banditWeights.ts, as of 2026 (clip).
    """

    fractions: Array = field(converter=validate.fractions)
    rule: str = field(default="mix", validator=validate.choice("mix", "clip"))

    @property
    def traits(self) -> Traits:
        """Shares in proportion to weights; floors that are kept in every round can also be those of a segment."""
        return Traits(gives="shares", takes="weights", bounded=True, segmented=self.rule == "mix")

    @property
    def promises(self) -> bool:
        """Whether the floors are kept: not where scores are clipped."""
        return self.rule == "mix"

    def check(self, arms: int, plays: int) -> None:
        """The floors must not exceed one together."""
        total = float(np.broadcast_to(self.fractions, (*self.fractions.shape[:-1], arms)).sum(axis=-1).max())
        if total > 1.0 + 1e-9:
            raise InfeasiblePromise(f"fractions sum to {total:.6g}; floors of chances must not sum to more than 1")

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``1 + 4 sqrt(t)``: eight standard deviations of plays that are drawn with the promised probability."""
        return 4.0 * float(np.sqrt(rounds)) + 1.0

    def claim(self, score: Array, state: State) -> Shares:
        """The probability of every arm."""
        total = score.sum(axis=-1, keepdims=True)
        chance = np.where(total > 0.0, score, 1.0) / np.where(total > 0.0, total, float(state.arms))
        if self.rule == "mix":
            floors = np.broadcast_to(self.fractions, score.shape)
            return Shares(floors + np.maximum(1.0 - floors.sum(axis=-1, keepdims=True), 0.0) * chance)
        clipped = np.maximum(chance, self.fractions)
        return Shares(clipped / clipped.sum(axis=-1, keepdims=True))
