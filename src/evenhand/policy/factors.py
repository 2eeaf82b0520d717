"""Roots of inverse matrices: a cache of the sums of a linear index, updated by ranks of one and renewed from the sums.

``T`` with ``(V + λI)⁻¹ = TᵀT`` takes the place of the inverse: a squared width is ``|Tφ|²``, so rounding cannot make it
negative, and a draw from ``N(0, (V + λI)⁻¹)`` is ``Tᵀζ``. The update is that of Sherman and Morrison, for a root
(Potter 1963): with ``u = Tφ``, ``s = |u|²`` and ``q = sqrt(1 + s)`` it is ``T − u (Tᵀu)ᵀ / (q (q + 1))``.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array

Places: TypeAlias = int | NDArray[np.intp]  # of one matrix in a stack, or of some, each once

RENEWAL = 512  # updates of a matrix after which its root is computed afresh: rounding errors stay below 1e-12
TOLERANCE = 1e-9  # relative error of a squared width, by the residual, above which a root is renewed at once
AT_ONCE = 1 << 22  # numbers in the matrices that are factored together


@dataclass(slots=True)
class Roots:
    """T of ``(V + λI)⁻¹ = TᵀT`` for each of a stack of matrices V."""

    root: Array  # (n, d, d)
    growth: Array  # (n,) ln(det(V + λI)/λ^d)
    age: NDArray[np.int64]  # (n,) updates since the root was computed

    @classmethod
    def of(cls, sums: Array, ridge: float) -> Roots:
        """The roots of matrices (n, d, d)."""
        number, width = sums.shape[:2]
        roots = cls(np.empty(sums.shape), np.zeros(number), np.zeros(number, dtype=np.int64))
        roots.root[:] = np.eye(width) / np.sqrt(ridge)  # arms without data need no factor
        roots.renew(np.flatnonzero(np.einsum("nii->n", sums)), sums, ridge)
        return roots

    def renew(self, places: NDArray[np.intp], sums: Array, ridge: float) -> None:
        """Compute the roots at some places afresh."""
        width = sums.shape[-1]
        step = max(AT_ONCE // width**2, 1)
        for first in range(0, len(places), step):
            some = places[first : first + step]
            self.root[some], self.growth[some] = _root(sums[some], ridge)
        self.age[places] = 0

    def add(self, places: Places, vectors: Array, sums: Array, ridge: float) -> tuple[Array, Array]:
        """Update some matrices by ``φφᵀ``, which their sums hold already.

        Args:
            places: of the matrices, each once.
            vectors: (k, d), φ of each; (d,) for one place.
            sums: (n, d, d), of all.
            ridge: λ.

        Returns:
            ``h = (V + λI)⁻¹φ`` before the update, (k, d) or (d,), and ``s = φᵀh``, (k,) or ().
        """
        root = self.root[places]  # a copy, or of one place a view
        u = times(root, vectors)
        h = times(root.swapaxes(-1, -2), u)
        s = dot(u, u)
        grown = 1.0 + s
        q = np.sqrt(grown)
        # (V + λI) h = φ; the product with h is how wrong s is. NaN fails the comparison, too.
        residual = times(sums[places], h)
        residual += ridge * h
        residual -= grown[..., np.newaxis] * vectors
        fine = np.abs(dot(h, residual)) <= TOLERANCE * s * grown
        root -= (u / (q * (q + 1.0))[..., np.newaxis])[..., np.newaxis] * h[..., np.newaxis, :]
        if vectors.ndim > 1:
            self.root[places] = root
        self.growth[places] += np.log1p(s)
        self.age[places] += 1
        due = np.logical_or(~fine, self.age[places] >= RENEWAL)
        if due.any():
            self.renew(np.atleast_1d(places)[np.atleast_1d(due)], sums, ridge)
        return h, s

    def spread(self, squares: Array, ridge: float) -> Roots:
        """W of ``V⁻¹ (S + λI) V⁻¹ = WᵀW``, where S (n, d, d) weighs plays by the square; growth is that of S + λI."""
        matrix = squares + ridge * np.eye(squares.shape[-1])
        lower = np.linalg.cholesky(matrix)
        inverse = np.matmul(self.root.swapaxes(-1, -2), self.root)
        diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
        growth = np.log(diagonal * diagonal / ridge).sum(axis=-1)
        return Roots(np.matmul(lower.swapaxes(-1, -2), inverse), growth, self.age)

    def solve(self, places: Places, right: Array) -> Array:
        """``(V + λI)⁻¹ b`` at some places, for b (k, d), or (d,) for one place."""
        return solved(self.root[places], right)


def times(matrix: Array, vector: Array) -> Array:
    """``M v`` for one matrix, or for each of a stack."""
    return matrix @ vector if vector.ndim == 1 else np.asarray(np.matmul(matrix, vector[..., np.newaxis])[..., 0])


def dot(one: Array, other: Array) -> Array:
    """``vᵀw`` for one pair, or for each of a stack; () or (…)."""
    return np.asarray(np.vecdot(one, other))


def solved(root: Array, right: Array) -> Array:
    """``TᵀT b``, for T (…, d, d) and b (…, d)."""
    return times(root.swapaxes(-1, -2), times(root, right))


def _root(sums: Array, ridge: float) -> tuple[Array, Array]:
    """T and ``ln(det(V + λI)/λ^d)`` of some matrices, (k, d, d) and (k,)."""
    matrix = sums + ridge * np.eye(sums.shape[-1])
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:  # rounding errors of the sum exceed the ridge, which bounds the true values below
        values, vectors = np.linalg.eigh(matrix)
        values = np.maximum(values, ridge)
        root = vectors.swapaxes(-1, -2) / np.sqrt(values)[..., np.newaxis]
        return root, np.log(values / ridge).sum(axis=-1)
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    return np.linalg.inv(lower), np.log(diagonal * diagonal / ridge).sum(axis=-1)


def exact_norm(sums: Array, ridge: float, vectors: Array) -> Array:
    """``sqrt(φᵀ(V + λI)⁻¹φ)`` by elimination, (k,), with the same digits on every machine.

    Products of matrices round by the processor; what is remembered of a round must not.
    """
    rest, right = sums + ridge * np.eye(sums.shape[-1]), vectors.copy()
    total = np.zeros(len(vectors))
    for column in range(sums.shape[-1]):
        pivot = np.maximum(rest[:, column, column], ridge)
        total += right[:, column] * right[:, column] / pivot
        after = slice(column + 1, None)
        factor = rest[:, after, column] / pivot[:, np.newaxis]
        right[:, after] -= factor * right[:, column, np.newaxis]
        rest[:, after, after] -= factor[:, :, np.newaxis] * rest[:, column, np.newaxis, after]
    return np.sqrt(total)
