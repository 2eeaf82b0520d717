"""What an arm deserves: merit functions from an arm's mean reward in [0, 1] to a positive number.

A fair policy plays arm i with probability ``p_i = m f(μ_i) / Σ_j f(μ_j)`` (Chen et al. 2024, Theorem 3). f must be
positive. Its Lipschitz constant and its minimum enter the bounds on regret, and with several plays per round
``max f / min f ≤ (K − 1)/(m − 1)`` keeps every share at one or below.

For the optimistic share (`evenhand.policy.confidence`) a merit function also knows where ``f(x)(x − λ)`` is largest on
an interval.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, part
from evenhand.core.state import Array
from evenhand.policy.rules import MeritRules

WHOLE = frozenset(map(float, range(1, 65)))  # exponents of which powers are products
ROOT_STEPS = 60  # halvings that bring an interval of length 1 to its last bit; Newton's steps need far fewer


class Merit(Part, ABC):
    """A positive function of the mean reward."""

    @abstractmethod
    def __call__(self, mean: Array) -> Array:
        """The merit of mean rewards in [0, 1], of any shape."""

    @property
    @abstractmethod
    def minimum(self) -> float:
        """The smallest merit on [0, 1], λ in the paper."""

    @property
    @abstractmethod
    def maximum(self) -> float:
        """The largest merit on [0, 1]."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The Lipschitz constant on [0, 1], M in the paper; inf where there is none."""

    @property
    @abstractmethod
    def rises(self) -> bool:
        """Whether ``f(x)(x − λ)`` is known to rise on [0, 1] for all λ in [0, 1], so that its peak needs no search."""

    @abstractmethod
    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """Where ``f(x)(x − λ)`` is largest on [low, high].

        Args:
            low: (…, arms), in [0, 1].
            high: (…, arms), in [0, 1], at least ``low``.
            level: (…, 1), λ in [0, 1].

        Returns:
            (…, arms), in [low, high].
        """


def better(merit: Merit, level: Array, *candidates: Array) -> Array:
    """The candidate at which ``f(x)(x − λ)`` is largest, place by place."""
    best = candidates[0]
    value = merit(best) * (best - level)
    for other in candidates[1:]:
        reached = merit(other) * (other - level)
        larger = reached > value
        best, value = np.where(larger, other, best), np.where(larger, reached, value)
    return best


@part("merit", "power")
@frozen
class Power(Merit):
    """``f(μ) = 1 + β μ^c``.

    ``f(x)(x − λ)`` rises on [0, 1] for all λ ≤ 1 wherever ``β ((c−1)/(c+1))^(c−1) ≤ 1``, as in every experiment of the
    paper. Where it does not, it rises to a local maximum left of ``λ(c−1)/(c+1)``, falls, and rises again: the peak
    is that maximum, found by bisection, or an end of the interval.

    Args:
        beta: β ≥ 0.
        exponent: c > 0; below 1 the slope at 0 is infinite, and no Lipschitz constant exists.

    Example:
        >>> import numpy as np
        >>> merit = Power(beta=2.0, exponent=4.0)
        >>> merit(np.array([0.0, 0.5, 1.0])), merit.lipschitz, merit.minimum, merit.rises
        (array([1.   , 1.125, 3.   ]), 8.0, 1.0, True)

    Source: Chen et al. 2024, section 6.
    """

    beta: float = field(default=2.0, converter=validate.nonnegative)
    exponent: float = field(default=4.0, converter=validate.positive)

    def rules(self) -> MeritRules | None:
        """The function, for an exponent that takes multiplications only."""
        return MeritRules("power", self.beta, self.exponent) if self.exponent in WHOLE else None

    def __call__(self, mean: Array) -> Array:
        """``1 + β μ^c``."""
        exponent = self.exponent
        power = whole_power(mean, exponent) if exponent in WHOLE else np.power(mean, exponent)
        return np.asarray(1.0 + self.beta * power)

    @property
    def minimum(self) -> float:
        """``f(0) = 1``."""
        return 1.0

    @property
    def maximum(self) -> float:
        """``f(1) = 1 + β``."""
        return 1.0 + self.beta

    @property
    def lipschitz(self) -> float:
        """``β c``, the slope at 1; inf for an exponent below 1."""
        return self.beta * self.exponent if self.exponent >= 1.0 or self.beta == 0.0 else math.inf

    @property
    def rises(self) -> bool:
        """``β λ^c ((c−1)/(c+1))^(c−1) ≤ 1`` at λ = 1, for c ≥ 1."""
        c = self.exponent
        if c < 1.0:
            return self.beta == 0.0
        return bool(self.beta * ((c - 1.0) / (c + 1.0)) ** (c - 1.0) <= 1.0)

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """The upper end, the lower end, or the local maximum where that lies in the interval."""
        if self.rises:
            return high
        inner = low if self.exponent <= 1.0 else np.clip(self._summit(level), low, high)
        return better(self, level, high, inner)

    def _summit(self, level: Array) -> Array:
        """The local maximum, (…, 1), for an exponent above 1; where ``f(x)(x − λ)`` has none, 1."""
        c, beta = self.exponent, self.beta
        left, right = np.zeros_like(level), level * (c - 1.0) / (c + 1.0)
        rising = self._slope(right, level) >= 0.0
        x = right / 2.0
        for _ in range(ROOT_STEPS):
            slope = self._slope(x, level)
            left, right = np.where(slope > 0.0, x, left), np.where(slope > 0.0, right, x)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = x - slope / (beta * c * _power(x, c - 2.0) * ((c + 1.0) * x - (c - 1.0) * level))
            # Newton's step, and a halving where it leaves the interval; lanes that have arrived stay where they are.
            step = np.where((newton >= left) & (newton <= right), newton, (left + right) / 2.0)
            moving = ~rising & (np.abs(step - x) > 1e-14)
            if not moving.any():
                break
            x = np.where(moving, step, x)
        return np.where(rising, 1.0, x)

    def _slope(self, x: Array, level: Array) -> Array:
        """The slope of ``f(x)(x − λ)``, for an exponent above 1."""
        c = self.exponent
        return np.asarray(1.0 + self.beta * _power(x, c - 1.0) * ((c + 1.0) * x - c * level))


@part("merit", "linear")
@frozen
class Linear(Merit):
    """``f(μ) = a + b μ``.

    Args:
        slope: b, of either sign.
        intercept: a; a > 0 and a + b > 0.

    Example:
        >>> import numpy as np
        >>> Linear(slope=2.0)(np.array([0.0, 0.5]))
        array([1., 2.])
    """

    slope: float = field(default=1.0, converter=validate.real)
    intercept: float = field(default=1.0, converter=validate.real)

    def __attrs_post_init__(self) -> None:
        check_positive("a linear merit", self.minimum)

    def rules(self) -> MeritRules:
        """The function."""
        return MeritRules("linear", self.slope, self.intercept)

    def __call__(self, mean: Array) -> Array:
        """``a + b μ``."""
        return np.asarray(self.intercept + self.slope * mean)

    @property
    def minimum(self) -> float:
        """The smaller end."""
        return min(self.intercept, self.intercept + self.slope)

    @property
    def maximum(self) -> float:
        """The larger end."""
        return max(self.intercept, self.intercept + self.slope)

    @property
    def lipschitz(self) -> float:
        """``|b|``."""
        return abs(self.slope)

    @property
    def rises(self) -> bool:
        """Where ``a + b(2x − λ) ≥ 0`` for all x and λ."""
        return -self.intercept / 2.0 <= self.slope <= self.intercept

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """An end, or for falling merit the top of the parabola."""
        if self.rises:
            return high
        top = (level - self.intercept / self.slope) / 2.0
        return better(self, level, high, low if self.slope > 0.0 else np.clip(top, low, high))


@part("merit", "softmax")
@frozen
class Softmax(Merit):
    """``f(μ) = exp(μ/τ)``: shares of a softmax.

    ``f(x)(x − λ)`` falls up to ``λ − τ`` and rises from there, so the peak is an end of the interval.

    Args:
        temperature: τ ≥ 1/700; a small one gives nearly all rounds to the best arms.

    Example:
        >>> import numpy as np
        >>> Softmax(temperature=0.5)(np.array([0.0, 0.5])).round(3)
        array([1.   , 2.718])
    """

    temperature: float = field(default=1.0, converter=validate.nonnegative)

    def __attrs_post_init__(self) -> None:
        if self.temperature < 1.0 / 700.0:
            raise EvenhandError(
                f"must be at least 1/700, got {self.temperature!r}: exp(1/τ) is too large", "temperature"
            )

    def __call__(self, mean: Array) -> Array:
        """``exp(μ/τ)``."""
        return np.asarray(np.exp(mean / self.temperature))

    @property
    def minimum(self) -> float:
        """``f(0) = 1``."""
        return 1.0

    @property
    def maximum(self) -> float:
        """``exp(1/τ)``."""
        return math.exp(1.0 / self.temperature)

    @property
    def lipschitz(self) -> float:
        """``exp(1/τ)/τ``, the slope at 1."""
        return self.maximum / self.temperature

    @property
    def rises(self) -> bool:
        """For τ ≥ 1."""
        return self.temperature >= 1.0

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """The better end."""
        return high if self.rises else better(self, level, high, low)


@part("merit", "threshold")
@frozen
class Threshold(Merit):
    """One merit below a mean, another from there on.

    ``f(μ) = below`` for μ < at, else ``above``. A jump has no Lipschitz constant, so the paper's bounds say nothing.
    Just below the jump ``f(x)(x − λ)`` may come arbitrarily near to a value that it does not reach: the largest number
    below ``at`` stands for it.

    Args:
        at: the mean at which the merit changes, in (0, 1].
        below: merit of smaller means, > 0.
        above: merit of this and larger means, > 0.

    Example:
        >>> import numpy as np
        >>> Threshold(at=0.5, above=3.0)(np.array([0.4, 0.5]))
        array([1., 3.])
    """

    at: float = field(default=0.5, converter=validate.unit)
    below: float = field(default=1.0, converter=validate.real)
    above: float = field(default=2.0, converter=validate.real)

    def __attrs_post_init__(self) -> None:
        if self.at == 0.0:
            raise EvenhandError("must be above 0, got 0: there are no means below it", "at")
        check_positive("a threshold merit", self.minimum)

    def __call__(self, mean: Array) -> Array:
        """``below`` or ``above``."""
        return np.where(np.asarray(mean) < self.at, self.below, self.above)

    @property
    def minimum(self) -> float:
        """The smaller of the two."""
        return min(self.below, self.above)

    @property
    def maximum(self) -> float:
        """The larger of the two."""
        return max(self.below, self.above)

    @property
    def lipschitz(self) -> float:
        """inf, unless the two are the same."""
        return 0.0 if self.below == self.above else math.inf

    @property
    def rises(self) -> bool:
        """Only where there is no jump."""
        return self.below == self.above

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """The upper end, or just below the jump."""
        return better(self, level, high, np.clip(math.nextafter(self.at, -1.0), low, high))


@part("merit", "table")
@frozen(eq=False)
class Tabulated(Merit):
    """Merits given at some means, and straight lines between them.

    Args:
        means: (points,), rising, from 0 to 1.
        merits: (points,), merit at each, > 0.

    Example:
        >>> import numpy as np
        >>> Tabulated(means=[0.0, 0.5, 1.0], merits=[1.0, 1.0, 3.0])(np.array([0.25, 0.75]))
        array([1., 2.])
    """

    means: Array = field(converter=validate.units_of_all_lanes)
    merits: Array = field(converter=validate.numbers)

    def __attrs_post_init__(self) -> None:
        means, merits = self.means, self.merits
        if means.ndim != 1 or means.shape != merits.shape or len(means) < 2:
            raise EvenhandError(
                f"a tabulated merit needs as many merits as means, at least two, got {len(merits)} and {len(means)}"
            )
        if means[0] != 0.0 or means[-1] != 1.0 or (np.diff(means) <= 0.0).any():
            raise EvenhandError(f"the means of a tabulated merit must rise from 0 to 1, got {means.tolist()}")
        check_positive("a tabulated merit", self.minimum)

    def __call__(self, mean: Array) -> Array:
        """Interpolated."""
        return np.asarray(np.interp(mean, self.means, self.merits))

    @property
    def minimum(self) -> float:
        """The smallest merit in the table."""
        return float(self.merits.min())

    @property
    def maximum(self) -> float:
        """The largest merit in the table."""
        return float(self.merits.max())

    @property
    def lipschitz(self) -> float:
        """The steepest line."""
        return float(np.abs(np.diff(self.merits) / np.diff(self.means)).max())

    @property
    def rises(self) -> bool:
        """Where ``f + f' (x − λ) ≥ 0`` at both ends of every line, for λ = 0 and 1 (it is linear in both)."""
        slopes = np.diff(self.merits) / np.diff(self.means)
        ends = [(self.means[:-1], self.merits[:-1]), (self.means[1:], self.merits[1:])]
        return all(bool((f + slopes * (x - level) >= 0.0).all()) for x, f in ends for level in (0.0, 1.0))

    def peak(self, low: Array, high: Array, level: Array) -> Array:
        """An end, a point of the table, or the top of a parabola between two of them."""
        if self.rises:
            return high
        candidates = [high, low, *(np.clip(mean, low, high) for mean in self.means[1:-1])]
        slopes = np.diff(self.merits) / np.diff(self.means)
        for place in np.flatnonzero(slopes < 0.0):
            zero = self.means[place] - self.merits[place] / slopes[place]  # where the line meets the axis
            top = np.clip((level + zero) / 2.0, self.means[place], self.means[place + 1])
            candidates.append(np.clip(top, low, high))
        return better(self, level, *candidates)


def share_limit(merit: Merit, arms: int, plays: int) -> None:
    """Refuse a merit function under which a share could exceed one: ``max f / min f ≤ (K − 1)/(m − 1)``.

    Source: Chen et al. 2024, Theorem 3 and Assumption 1.
    """
    if plays <= 1 or plays >= arms:
        return
    ratio, limit = merit.maximum / merit.minimum, (arms - 1) / (plays - 1)
    if ratio > limit * (1.0 + 1e-9):
        raise EvenhandError(
            f"the largest merit is {ratio:.6g} times the smallest; with {arms} arms and plays = {plays} a share could "
            f"exceed one from a ratio of {limit:.6g} on ((K − 1)/(m − 1)): flatten the merit, or set cap = true to "
            "share the excess among the other arms"
        )


def _power(x: Array, exponent: float) -> Array:
    """``x^c``, by multiplications where c is a small whole number: ten times as fast."""
    return whole_power(x, exponent) if exponent in WHOLE else np.power(x, exponent)


def whole_power(x: Any, exponent: float) -> Any:
    """``x^c`` for a whole number c ≥ 1 by multiplications, elementwise."""
    left = exponent
    while left % 2 == 0:
        x, left = x * x, left // 2
    result = x
    while left > 1:
        x, left = x * x, left // 2
        if left % 2:
            result = result * x
    return result


def check_positive(what: str, smallest: float) -> None:
    """Refuse a merit function whose smallest value is not above 0."""
    if not smallest > 0.0:
        raise EvenhandError(f"{what} must be positive for every mean in [0, 1], its smallest value is {smallest:g}")
