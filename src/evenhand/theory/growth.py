"""Growth of a regret: the exponent of a power of time, fitted to a measured curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_reach


@dataclass(frozen=True)
class Exponent:
    """The fitted exponent of a curve, on average over the lanes."""

    mean: float  # b in ``curve ≈ a t^b``
    low: float  # lower end of the confidence interval
    high: float  # upper end
    lanes: int  # lanes that could be fitted


def growth_exponent(rounds: ArrayLike, curves: ArrayLike, since: float = 0.1, confidence: float = 0.95) -> Exponent:
    """The exponent b of ``curve ≈ a t^b``, by a straight line through the logarithms, lane by lane.

    Every lane is an independent replication and gives one slope (least squares, evenly weighted in ln t); the interval
    is Student's t for the mean of the slopes. A regret grows sublinearly where the interval lies below 1.

    Args:
        rounds: (checkpoints,), t.
        curves: (checkpoints, lanes), the measure, as in ``results.policies[label].curves[measure]``.
        since: in (0, 1), the part of the horizon from which on the curve is fitted, so that the start does not count.
        confidence: of the interval, in (0, 1).

    Raises:
        EvenhandError: fewer than two checkpoints or lanes are left; a lane whose curve is not positive throughout has
            no logarithm and is left out.

    Example:
        >>> import numpy as np
        >>> rounds = np.arange(1, 101)
        >>> curves = np.sqrt(rounds)[:, np.newaxis] * np.array([1.0, 2.0, 3.0])
        >>> round(growth_exponent(rounds, curves).mean, 6)
        0.5
    """
    validate.number("since", since, 0.0, 1.0)
    if not 0.0 < validate.number("confidence", confidence, 0.0, 1.0) < 1.0:
        raise EvenhandError(f"confidence must be between 0 and 1, got {confidence!r}")
    time, values = np.asarray(rounds, dtype=float), np.asarray(curves, dtype=float)
    late = time >= since * time[-1]
    values = values[late]
    values = values[:, (values > 0.0).all(axis=0)]
    if len(values) < 2 or values.shape[1] < 2:
        raise EvenhandError(
            f"an exponent needs two checkpoints and two lanes with a positive curve, there are {values.shape[0]} and "
            f"{values.shape[1]}"
        )
    slopes = _slopes(np.log(time[late]), np.log(values))
    mean, reach = (float(one) for one in mean_and_reach(slopes, confidence))
    return Exponent(mean, mean - reach, mean + reach, len(slopes))


def _slopes(time: Array, values: Array) -> Array:
    """Least squares slope of each lane; checkpoints count by the stretch of the axis that they stand for."""
    weights = np.gradient(time)
    weights = weights / weights.sum()
    centred = time - weights @ time
    return np.asarray((weights * centred) @ values / ((weights * centred) @ centred))
