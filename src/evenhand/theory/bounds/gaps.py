"""The gaps between the means, on which most bounds depend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.state import Array

#: A number, or an array of them.
Numbers = float | Sequence[float] | NDArray[Any]


def gaps_of(means: Numbers) -> tuple[Array, Array]:
    """The checked means, and ``Δ_i = max_j μ_j − μ_i``, both (arms,)."""
    values = validate.per_arm("means", means)
    return values, values.max() - values


def rounds_of(rounds: Numbers) -> Array:
    """The checked numbers of rounds, in the shape in which they are given."""
    try:
        values = np.asarray(rounds, dtype=float)
        fine = not isinstance(rounds, str | bytes) and bool((np.isfinite(values) & (values >= 1.0)).all())
    except (OverflowError, TypeError, ValueError):
        fine = False
    if not fine:
        raise EvenhandError(f"rounds must be numbers of at least 1, got {shown(rounds)}")
    return values


def for_arms(name: str, numbers: Numbers, gaps: Array, high: float = np.inf) -> Array:
    """Checked numbers in the shape of the gaps."""
    values = validate.per_arm_or_one(name, numbers, 0.0, high)
    validate.one_per_arm(name, values, gaps.shape[-1])
    return np.broadcast_to(values, gaps.shape)
