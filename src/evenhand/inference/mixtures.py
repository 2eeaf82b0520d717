"""Lower ends from a mixture of supermartingales: the one solver of all sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from evenhand.core.state import Array

#: λ of empirical Bernstein bounds, in (0, 1); the smallest serves up to a billion of summed squares.
TILTS: Array = 0.75 * 3.0 ** -np.arange(9.0)
REACHES = (0.25, 0.75)  # u: how far below 0 a tilted score may lie, where its largest weight was found from the rows
#: Logarithm of a mixture at x, and its slope, each (…,): convex and decreasing.
Evidence: TypeAlias = Callable[[Array], tuple[Array, Array]]
STEPS = 4  # of Newton's method


def psi(tilt: Array | float) -> Array:
    """``ψ(λ) = −ln(1 − λ) − λ``, for which ``exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ`` at every ``ξ ≥ −1`` (Fan et al. 2015)."""
    return np.asarray(-np.log1p(-np.asarray(tilt)) - tilt)


def mixed(values: Array, slopes: Array) -> tuple[Array, Array]:
    """Logarithm of the mean of the exponentials of values (components, …), and its slope."""
    top = values.max(axis=0)
    parts = np.exp(values - top)
    total = parts.sum(axis=0)
    return top + np.log(total / len(values)), (parts * slopes).sum(axis=0) / total


def root(start: Array, evidence: Evidence, threshold: float) -> Array:
    """Where evidence has fallen to the threshold, ``ln(1/α)``, by Newton's method from the left.

    No step goes beyond the root of a convex function, so the result is a valid lower end after any number of steps.
    """
    for _ in range(STEPS):
        value, slope = evidence(start)
        start = start + np.maximum(value - threshold, 0.0) / -slope
    return start


def linear(intercepts: Array, slopes: Array, threshold: float) -> Array:
    """(…,), the root for components ``exp(intercept − slope x)``, from that of the best one; slopes are above 0."""
    start = ((intercepts - threshold - np.log(len(intercepts))) / slopes).max(axis=0)
    return root(start, lambda x: mixed(intercepts - slopes * x, -slopes), threshold)


def least_sum(first: Evidence, second: Evidence, near: tuple[Array, Array], threshold: float) -> Array:
    """(…,), at most the smallest ``x + y`` in [0, 1]² at which ``F(x) + G(y)`` is not above the threshold.

    For every price k, ``(min (F + kx) + min (G + ky) − threshold)/k`` is a lower bound; the prices are those at two
    points near by, and one between. So the product of two supermartingales is used, which costs the level once.
    """
    one, other = -first(near[0])[1], -second(near[1])[1]
    found = np.full(np.shape(one), -np.inf)
    for price in (one, np.sqrt(one * other), other):
        lowest = _lowest(first, price) + _lowest(second, price)
        found = np.maximum(found, (lowest - threshold) / price)
    return found


def _lowest(evidence: Evidence, price: Array) -> Array:
    """(…,), the smallest ``F(x) + kx`` over [0, 1], by bisection of its slope; of a tangent, so never too large.

    F bends over lengths of about 1/k, so that a width of 1/(32 k) is enough.
    """
    left, width = np.zeros(np.shape(price)), np.ones(np.shape(price))
    while (wide := width * price > 1.0 / 32.0).any():
        width = np.where(wide, width / 2.0, width)
        left = np.where(wide & (evidence(left + width)[1] + price <= 0.0), left + width, left)
    value, slope = evidence(left)
    return value + price * left + np.minimum(slope + price, 0.0) * width
