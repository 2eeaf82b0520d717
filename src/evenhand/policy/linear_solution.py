"""What is solved from the sums of a linear model: a cache, updated play by play.

V has the shape of an arrow: the own blocks meet in the common one alone. With ``A`` an own block and ``B`` its product
with the common one, ``C = λI + Σzzᵀ − Σ_a BᵀA⁻¹B`` is what is left of the common block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array
from evenhand.policy.factors import RENEWAL, Roots, solved, times
from evenhand.policy.linear_sums import At, Block, Blocks, Sums, flat


@dataclass(slots=True)
class Solved:
    """What is solved from the sums; lanes, or lanes and arms, on one axis."""

    own: Block = None  # Roots of A = own + λI
    own_solution: Block = None  # (lanes·arms, p) A⁻¹b_a
    own_spread: Block = None  # Roots whose root gives the widths; ``own`` where nothing fades
    common: Block = None  # Roots of C
    common_solution: Block = None  # (lanes, q) β
    common_spread: Block = None  # Roots whose root gives the widths; ``common`` where nothing fades
    loads: Block = None  # (lanes·arms, q, p) BᵀA⁻¹
    schur: Block = None  # (lanes, q, q) C − λI
    carried: Block = None  # (lanes, q) Σ_a BᵀA⁻¹b_a
    age: Block = None  # (lanes,) updates of loads, schur and carried since they were computed

    @classmethod
    def of(cls, blocks: Blocks, sums: Sums) -> Solved:
        """All that is solved from the sums."""
        self = cls()
        if sums.own is not None:
            self.own, self.own_spread = _roots(sums.own, sums.own_squares, blocks.ridge)
            self.own_solution = solved(self.own.root, flat(sums.own_rewards, 1))
        if sums.cross is not None:
            lanes, p, q = len(flat(sums.common, 2)), blocks.own, blocks.common
            self.loads, self.age = np.empty((lanes * blocks.arms, q, p)), np.zeros(lanes, dtype=np.int64)
            self.schur, self.carried = np.empty((lanes, q, q)), np.empty((lanes, q))
            self._eliminate(blocks, sums, np.arange(lanes))
        if sums.common is not None:
            matrix = sums.common if self.schur is None else self.schur
            self.common, self.common_spread = _roots(matrix, sums.common_squares, blocks.ridge)
            self.common_solution = solved(self.common.root, self._right(sums, slice(None)))
        return self

    def _right(self, sums: Sums, lanes: At) -> Array:
        """Cβ of some lanes."""
        right: Array = flat(sums.common_rewards, 1)[lanes]
        return right if self.carried is None else right - self.carried[lanes]

    def _eliminate(self, blocks: Blocks, sums: Sums, lanes: NDArray[np.intp]) -> None:
        """Solve the own blocks of some lanes for what they leave of the common one."""
        places = (lanes[:, np.newaxis] * blocks.arms + np.arange(blocks.arms)).ravel()
        root, cross = self.own.root[places], flat(sums.cross, 2)[places]
        half = np.matmul(root, cross)
        loads = np.matmul(half.swapaxes(-1, -2), root)
        carried = times(loads, flat(sums.own_rewards, 1)[places])
        taken = np.matmul(half.swapaxes(-1, -2), half)
        by_lane = (len(lanes), blocks.arms)
        self.loads[places], self.age[lanes] = loads, 0
        self.carried[lanes] = carried.reshape(*by_lane, -1).sum(axis=1)
        self.schur[lanes] = flat(sums.common, 2)[lanes] - taken.reshape(*by_lane, *taken.shape[1:]).sum(axis=1)

    def follow(self, blocks: Blocks, sums: Sums, lanes: At, places: At, x: Array, z: Array, counts: bool) -> None:
        """Update what is solved after plays that the sums hold already."""
        if self.own is not None:
            if counts:
                h, s = self.own.add(places, x, flat(sums.own, 2), blocks.ridge)
            if self.loads is not None:  # counts is true, as all evidence of this model adds plays and rewards at once
                z = self._load(lanes, places, x, z, h, s)
                self.carried[lanes] += times(self.loads[places], flat(sums.own_rewards, 1)[places])
            self.own_solution[places] = self.own.solve(places, flat(sums.own_rewards, 1)[places])
        if self.common is not None:
            matrix = flat(sums.common, 2) if self.schur is None else self.schur
            if counts:
                self.common.add(lanes, z, matrix, blocks.ridge)
            if self.age is not None and (due := np.atleast_1d(self.age[lanes] >= RENEWAL)).any():
                again = np.atleast_1d(lanes)[due]
                self._eliminate(blocks, sums, again)
                self.common.renew(again, matrix, blocks.ridge)
            self.common_solution[lanes] = self.common.solve(lanes, self._right(sums, lanes))

    def _load(self, lanes: At, places: At, x: Array, z: Array, h: Array, s: Array) -> Array:
        """Update loads and schur after plays; the vectors whose squares the plays add to the common block."""
        rest = z - times(self.loads[places], x)
        inverse = 1.0 / (1.0 + s)[..., np.newaxis]
        self.loads[places] += rest[..., np.newaxis] * (h * inverse)[..., np.newaxis, :]
        rest *= np.sqrt(inverse)
        self.schur[lanes] += rest[..., np.newaxis] * rest[..., np.newaxis, :]
        self.age[lanes] += 1
        return rest


def _roots(matrix: Array, squares: Array | None, ridge: float) -> tuple[Roots, Roots]:
    """The roots of a block, and those that give widths."""
    roots = Roots.of(flat(matrix, 2), ridge)
    return roots, roots if squares is None else roots.spread(flat(squares, 2), ridge)
