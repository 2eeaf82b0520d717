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
    """The checked means, and ``Δ_i = max_j μ_j − μ_i``, both (arms,).

    Example:
        >>> gaps_of([0.75, 0.25])[1]
        array([0. , 0.5])
    """
    values = validate.per_arm("means", means)
    return values, values.max() - values


def rounds_of(rounds: Numbers) -> Array:
    """The checked numbers of rounds, in the shape in which they are given.

    Example:
        >>> rounds_of([10, 100])
        array([ 10., 100.])
    """
    try:
        values = np.asarray(rounds, dtype=float)
        fine = not isinstance(rounds, str | bytes) and bool((np.isfinite(values) & (values >= 1.0)).all())
    except (OverflowError, TypeError, ValueError):
        fine = False
    if not fine:
        raise EvenhandError(f"rounds must be numbers of at least 1, got {shown(rounds)}")
    return values


def for_arms(name: str, numbers: Numbers, gaps: Array, high: float = np.inf) -> Array:
    """Checked numbers in the shape of the gaps.

    Example:
        >>> import numpy as np
        >>> for_arms("fractions", 0.1, np.array([0.0, 0.4]), high=1.0)
        array([0.1, 0.1])
    """
    values = validate.per_arm_or_one(name, numbers, 0.0, high)
    validate.one_per_arm(name, values, gaps.shape[-1])
    return np.broadcast_to(values, gaps.shape)
