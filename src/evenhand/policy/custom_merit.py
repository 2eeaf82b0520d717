"""Merit given as any function of the mean: measured on a grid, its peaks found by search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import build, naming_arguments
from evenhand.core.state import Array
from evenhand.policy.merit import Merit, better, check_positive

SECTIONS = 20  # golden sections: to a ten-thousandth of the interval, and the value to its square
AT_A_TIME = 250_000  # numbers that are held at once, few enough for a processor's cache
MeritLike = Merit | Callable[[Array], Array] | Mapping[str, object]


@naming_arguments
@frozen(eq=False)
class Custom(Merit):
    """Any function of the mean.

    Its smallest and largest merit and its Lipschitz constant M are taken from a grid of ``resolution`` steps unless
    they are given. ``f(x)(x − λ)`` is searched on the same grid and then, by golden sections, between the neighbours of
    the best point. The peak found is at most ``e = (M + max f)/resolution`` below the true one, so the shares of
    `optimistic_means` earn at most ``e / min f`` per play less than the best.

    Args:
        function: takes an array of means in [0, 1] and returns their merits.
        lipschitz: M, or None to measure it.
        resolution: steps of the grid.

    Raises:
        EvenhandError: the function does not return one finite positive number per mean.

    Example:
        >>> import numpy as np
        >>> merit = Custom(lambda mean: 1.0 + np.sin(3.0 * mean) ** 2)
        >>> round(merit.lipschitz, 2), round(merit.minimum, 2)
        (3.0, 1.0)
    """

    function: Callable[[Array], Array] = field(repr=False)
    _lipschitz: float | None = field(default=None, repr=False)
    resolution: int = field(default=1000, converter=validate.count)

    def __attrs_post_init__(self) -> None:
        check_positive("the merit function", self.minimum)
        if self._lipschitz is not None:
            validate.number("lipschitz", self._lipschitz, low=0.0, inf=True)

    @cached_property
    def _grid(self) -> Array:
        return np.linspace(0.0, 1.0, self.resolution + 1)

    @cached_property
    def _merits(self) -> Array:
        """The function on the grid."""
        try:
            merits = np.asarray(self.function(self._grid), dtype=float)
        except (TypeError, ValueError) as error:
            raise EvenhandError(f"a merit function must take an array of means; this one raised: {error}") from None
        required = "a merit function must return one finite number for each mean in [0, 1]"
        if merits.shape != self._grid.shape:
            raise EvenhandError(f"{required}, got shape {merits.shape} for {self._grid.shape}")
        if not np.isfinite(merits).all():
            place = int(np.argmin(np.isfinite(merits)))
            raise EvenhandError(f"{required}, got {merits[place]:g} for the mean {self._grid[place]:g}")
        return merits

    @property
    def lipschitz(self) -> float:
        """As given, or measured on the grid."""
        if self._lipschitz is not None:
            return self._lipschitz
        return float(np.abs(np.diff(self._merits)).max() * self.resolution)

    def __call__(self, mean: Array) -> Array:
        """The function's value."""
        return np.asarray(self.function(mean), dtype=float)

    @property
    def minimum(self) -> float:
        """The smallest merit on the grid."""
        return float(self._merits.min())

    @property
    def maximum(self) -> float:
        """The largest merit on the grid."""
        return float(self._merits.max())

    @property
    def rises(self) -> bool:
        """Whether it rises on the grid for λ = 0 and λ = 1, and so for all λ between; right within the same error."""
        return bool(all((np.diff(self._merits * (self._grid - level)) >= 0.0).all() for level in (0.0, 1.0)))

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """The best point of the grid or end of the interval, then golden sections around it."""
        if self.rises:
            return high
        return self._refined(better(self, level, high, low, self._on_grid(low, high, level)), low, high, level)

    def _on_grid(self, low: Array, high: Array, level: Array) -> Array:
        """The best point of the grid in each interval, (…, arms); the lower end where none lies in it."""
        shape = np.broadcast_shapes(low.shape, level.shape)
        lows, highs = (np.broadcast_to(end, shape).reshape(-1, shape[-1]) for end in (low, high))
        levels = np.broadcast_to(level, (*shape[:-1], 1)).reshape(-1, 1)
        first = np.searchsorted(self._grid, lows)
        last = np.searchsorted(self._grid, highs, side="right") - 1
        best = lows.copy()
        lanes = max(1, AT_A_TIME // (self._grid.size * self._grid.size.bit_length()))
        for some in (slice(start, start + lanes) for start in range(0, len(best), lanes)):
            gains = self._merits * (self._grid - levels[some])
            place = largest_between(gains, np.minimum(first[some], last[some]), last[some])
            np.copyto(best[some], self._grid[place], where=first[some] <= last[some])
        return best.reshape(shape)

    def _refined(self, best: Array, low: Array, high: Array, level: Array) -> Array:
        step, ratio = 1.0 / self.resolution, (math.sqrt(5.0) - 1.0) / 2.0
        left, right = np.maximum(best - step, low), np.minimum(best + step, high)
        a, b = right - ratio * (right - left), left + ratio * (right - left)
        at_a, at_b = self(a) * (a - level), self(b) * (b - level)
        for _ in range(SECTIONS):
            up = at_a < at_b
            left, right = np.where(up, a, left), np.where(up, right, b)
            new = np.where(up, left + ratio * (right - left), right - ratio * (right - left))
            value = self(new) * (new - level)
            a, at_a, b, at_b = (
                np.where(up, b, new),
                np.where(up, at_b, value),
                np.where(up, new, a),
                np.where(up, value, at_a),
            )
        return better(self, level, best, a, b)


def largest_between(values: Array, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the largest value of each stretch stands, the first of equal ones.

    The largest values of all stretches of 1, 2, 4, … places are computed once per lane. Two of them cover a stretch,
    and halving the better one leads to the place. So a stretch costs as many steps as its length has binary digits.
    """
    doublings = np.frexp(last - first + 1.0)[1] - 1  # of the longest stretch that fits in
    largest = np.empty((int(doublings.max()) + 1, *values.shape))  # of 2^k places from each place on
    largest[0] = values
    for shorter, longer, width in zip(largest, largest[1:], 1 << np.arange(len(largest)), strict=False):
        np.maximum(shorter[:, :-width], shorter[:, width:], out=longer[:, :-width])
        longer[:, -width:] = shorter[:, -width:]
    lane = np.arange(len(values))[:, np.newaxis]
    other = last + 1 - (1 << doublings)
    most, others = largest[doublings, lane, first], largest[doublings, lane, other]
    place, most = np.where(others > most, other, first), np.maximum(most, others)
    for doubling in range(len(largest) - 2, -1, -1):
        in_second_half = (doubling < doublings) & (largest[doubling, lane, place] < most)
        place += in_second_half << doubling
    return place


def as_merit(value: MeritLike) -> Merit:
    """A merit function, given as one, by its plain form, or as any function of the mean (`Custom`)."""
    merit = build("merit", value)
    if isinstance(merit, Merit):
        return merit
    if isinstance(merit, type) or not callable(merit):
        raise EvenhandError(f"must be a function such as Power(beta=2, exponent=4), got {shown(value)}")
    return Custom(merit)
