"""Linear models of the reward: two sums that are the state, and what is solved from them, which is a cache.

A score has two parts that are independent given the sums: with ``A`` an own block, ``B`` its product with the common
one, ``C`` what is left of that, and ``w = z − BᵀA⁻¹x``, its mean is ``xᵀA⁻¹b_a + wᵀβ`` and its squared width
``xᵀA⁻¹x + wᵀC⁻¹w``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array, Shape
from evenhand.policy.factors import dot, times
from evenhand.policy.linear_solution import Solved
from evenhand.policy.linear_sums import Block, Blocks, Plays, Runs, Sums, each_arm, flat, turns_of

BULK = 16  # plays of one lane that come together, from which on roots are computed afresh


class LinearModel(Blocks):
    """A model: its sums, what is solved from them, and scores. See `Blocks` for its arguments."""

    __slots__ = ()

    def add(self, sums: Sums, plays: Plays, counts: bool, pays: bool) -> None:
        """Add plays in their order.

        Args:
            sums: updated in place, and what is solved from them.
            plays: that count in V, or whose rewards count in b.
            counts: whether they count in V.
            pays: whether they count in b.
        """
        number = len(plays.rewards)
        if not number:
            return
        self.check(plays.situation, plays.features)
        if number == 1:
            self._add(sums, plays.some(0), counts, pays)
            return
        turns = turns_of(plays.lanes)
        if (last := int(turns.max())) < max(BULK, self.arms if self.own else 0):
            for turn in range(last + 1):
                self._add(sums, plays.some(turns == turn), counts, pays)
            return
        sums.solved = None  # to solve all anew costs less than so many updates
        x, z = self.split(plays.situation, plays.features)
        places = Runs(plays.lanes * self.arms + plays.arms)
        self.add_to(sums, Runs(plays.lanes), places, x, z, plays.rewards if pays else None, counts)

    def _add(self, sums: Sums, plays: Plays, counts: bool, pays: bool) -> None:
        """Add a single play, or plays of lanes of which each is there once."""
        x, z = self.split(plays.situation, plays.features)
        lanes, places = plays.lanes, plays.lanes * self.arms + plays.arms
        cache: Solved | None = sums.solved
        if sums.own_squares is not None or sums.common_squares is not None:
            cache = sums.solved = None  # everything is solved anew in every round
        if cache is not None and cache.loads is not None:
            cache.carried[lanes] -= times(cache.loads[places], flat(sums.own_rewards, 1)[places])
        self.add_to(sums, lanes, places, x, z, plays.rewards if pays else None, counts)
        if cache is not None:
            cache.follow(self, sums, lanes, places, x, z, counts)

    def solved(self, sums: Sums) -> Solved:
        """What is solved from the sums, from the cache or anew."""
        if sums.solved is None:
            sums.solved = Solved.of(self, sums)
        cache: Solved = sums.solved
        return cache

    def parts(self, sums: Sums, x: Array, z: Array) -> ScoreParts:
        """The features of a decision, set against what is solved from the sums."""
        cache, each = self.solved(sums), (*self.lead, self.arms)
        if cache.own is None:
            return ScoreParts(self, cache, None, x, z)
        if cache.common is not None:
            moved = times(cache.loads.reshape(*self.lead, self.arms * self.common, self.own), x)
            return ScoreParts(self, cache, x[..., np.newaxis, :], x[..., :0], z - moved.reshape(*each, self.common))
        own = each_arm(x, z) if self.columns[1] else x[..., np.newaxis, :]
        return ScoreParts(self, cache, own, None, None)


@dataclass(slots=True)
class ScoreParts:
    """The two independent parts of the scores of a decision: of the own blocks, and of the common one."""

    model: LinearModel
    solved: Solved
    own: Block  # (…, 1, p) or, where it differs between arms, (…, arms, p)
    situation: Block  # (…, q − r) the features of the common block that are the same for all arms
    arms: Block  # (…, arms, r) those that differ

    def means(self, common: Array | None = None) -> Array:
        """The estimated reward of every arm, (…, arms); with another solution (…, q) of the common block, if given."""
        model, total = self.model, None
        if self.own is not None:
            solution = self.solved.own_solution.reshape(*model.lead, model.arms, model.own)
            total = dot(solution, self.own)
        if self.arms is not None:
            solution = self.solved.common_solution if common is None else common
            rest = self._applied(solution.reshape(*model.lead, 1, model.common))[..., 0]
            total = rest if total is None else total + rest
        return np.asarray(total)

    def drawn(self, rng: np.random.Generator, scale: float) -> Array | None:
        """A draw from the law of the common solution, (…, q); None where there is none.

        By the triangular root, which is unique: other roots can differ by a rotation after a save or a renewal.
        """
        if self.arms is None:
            return None
        model, spread = self.model, self.solved.common_spread.root
        shape = (*model.lead, model.common)
        upper = np.linalg.qr(spread.reshape(*shape, model.common), mode="r")
        upper *= np.copysign(1.0, np.diagonal(upper, axis1=-2, axis2=-1))[..., np.newaxis]
        moved = times(upper.swapaxes(-1, -2), rng.standard_normal(shape))
        return np.asarray(self.solved.common_solution.reshape(shape) + scale * moved)

    def own_squares(self) -> Array | None:
        """The squared widths of the own parts, (…, arms); None where there are none."""
        if self.own is None:
            return None
        # Row by row: products of matrices round by the place of a row, and arms that know the same have the same score.
        model, root = self.model, self.solved.own_spread.root
        wide = dot(root.reshape(*model.lead, model.arms, model.own, model.own), self.own[..., np.newaxis, :])
        return dot(wide, wide)

    def squares(self) -> Array:
        """The squared widths of the whole scores, (…, arms)."""
        total, model = self.own_squares(), self.model
        if self.arms is not None:
            wide = self._applied(self.solved.common_spread.root.reshape(*model.lead, model.common, model.common))
            rest = dot(wide, wide)
            total = rest if total is None else total + rest
        return np.asarray(total)

    def growth(self) -> Array:
        """``ln(det V/λ^d)`` of the blocks that a score goes by, (…, arms) or (…, 1)."""
        model, own, common = self.model, None, None
        if self.own is not None:
            own = self.solved.own_spread.growth.reshape(*model.lead, model.arms)
        if self.arms is not None:
            common = self.solved.common_spread.growth.reshape(*model.lead, 1)
        if own is None or common is None:
            return np.asarray(common if own is None else own)
        return np.asarray(own.sum(axis=-1, keepdims=True) + common)

    def _applied(self, matrix: Array) -> Array:
        """``M v`` for the common features v of every arm and M (…, k, q): (…, arms, k)."""
        same = self.situation.shape[-1]
        wide: Array = np.matmul(self.arms, matrix[..., same:].swapaxes(-1, -2))
        if same:
            wide += times(matrix[..., :same], self.situation)[..., np.newaxis, :]
        return wide


@lru_cache(maxsize=64)
def linear_model(model: str, ridge: float, lead: Shape, arms: int, columns: tuple[int, int]) -> LinearModel:
    """The model, see `LinearModel`; kept, as every decision asks for it."""
    return LinearModel(model, ridge, lead, arms, columns)
