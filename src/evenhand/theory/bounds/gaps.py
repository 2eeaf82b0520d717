"""The gaps between the means, on which most bounds depend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.state import Array

#: A number, or an array of them.
Numbers = float | Sequence[float] | NDArray[Any]


def gaps_of(means: Numbers) -> tuple[Array, Array]:
    """The checked means, and ``Δ_i = max_j μ_j − μ_i``, both (arms,).

    Args:
        means: (arms,), μ_i.

    Raises:
        EvenhandError: a mean is not a finite number.

    Example:
        >>> gaps_of([0.75, 0.25])[1]
        array([0. , 0.5])
    """
    values = validate.per_arm("means", means)
    return values, values.max() - values
