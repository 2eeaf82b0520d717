"""Lower ends from a mixture of supermartingales: the one solver of all sequences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.core.state import Array

#: λ of empirical Bernstein bounds, in (0, 1); the smallest serves up to a billion of summed squares.
TILTS: Array = 0.75 * 3.0 ** -np.arange(9.0)
STEPS = 4  # of Newton's method


def psi(tilt: Array | float) -> Array:
    """``ψ(λ) = −ln(1 − λ) − λ``, for which ``exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ`` at every ``ξ ≥ −1`` (Fan et al. 2015)."""
    return np.asarray(-np.log1p(-np.asarray(tilt)) - tilt)


def root(start: Array, exponents: Callable[[Array], tuple[Array, Array]], threshold: float) -> Array:
    """Where ``ln Σ exp(e_k(x))`` has fallen to the threshold, by Newton's method from the left.

    Each e_k is convex and decreasing, so that no step goes beyond the root: the result is a valid lower end after any
    number of steps, and never below the start.

    Args:
        start: (…,), at most the root.
        exponents: of x (…,), the values and the slopes of e_k, each (components, …).
        threshold: ``ln(1/α)``, for components whose weights sum to 1.
    """
    for _ in range(STEPS):
        values, slopes = exponents(start)
        top = values.max(axis=0)
        parts = np.exp(values - top)
        total = parts.sum(axis=0)
        excess = np.maximum(top + np.log(total) - threshold, 0.0)
        start = start + excess * total / -(parts * slopes).sum(axis=0)
    return start


def linear(intercepts: Array, slopes: Array, threshold: float) -> Array:
    """(…,), the same for ``e_k(x) = intercept_k − slope_k x``, from the union of the components; slopes are above 0."""
    start = ((intercepts - threshold) / slopes).max(axis=0)
    return root(start, lambda x: (intercepts - slopes * x, -slopes), threshold)
