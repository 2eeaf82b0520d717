"""Models of how long a reward takes to become known; see `evenhand.environment.late` for what they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, number_of, shown, there_are
from evenhand.core.frozen import field, fields, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, PerLane
from evenhand.core.validate import PerArm, Rows
from evenhand.environment.feedback import FeedbackRules, FeedbackTraits
from evenhand.environment.late import Arms, Delay, singly

DelayFunction = Callable[[Array, Arms, NDArray[Any]], Array | float]
Samples = Sequence[float] | Sequence[Sequence[float]] | NDArray[Any] | Sequence[NDArray[Any]]
BELOW_ONE = math.nextafter(1.0, 0.0)

# Converters of the parameters, in rounds or as probabilities.


def _rounds(value: PerArm) -> Array:
    """Whole rounds, one number or one per arm; inf for never."""
    return _whole_rounds(value, dimensions=1)


def _finite_rounds(value: PerArm) -> Array:
    """Whole rounds, one number or one per arm."""
    return _whole_rounds(value, dimensions=1, never=False)


def _rounds_by_value(value: Rows) -> Array:
    """Whole rounds, one row per arm or one for all; inf for never."""
    return _whole_rounds(value, dimensions=2)


def _whole_rounds(values: PerArm | Rows, dimensions: int, never: bool = True) -> Array:
    """Delays rounded down to whole rounds, with the given number of axes."""
    try:
        if isinstance(values, str | bool | PerLane):
            raise TypeError
        array = np.array(values, dtype=float, ndmin=dimensions)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"must be numbers of rounds, got {shown(values)}") from None
    wrong = ~(array >= 0.0) | (np.isinf(array) & (not never))
    if array.ndim != dimensions or array.size == 0 or wrong.any():
        limit = " or inf" if never else ""
        raise EvenhandError(f"must be numbers of rounds of at least 0{limit}, got {shown(values)}")
    return np.asarray(np.floor(array))


def _probability(value: PerArm) -> Array:
    """In [0, 1], one number or one per arm."""
    return validate.for_all_lanes("", validate.fractions(value))


def _positive_probability(value: PerArm) -> Array:
    """In (0, 1], one number or one per arm."""
    return _positive(value, 1.0)


def _tail(value: PerArm) -> Array:
    """Above 0, one number or one per arm."""
    return _positive(value, math.inf)


def _positive(value: PerArm, high: float) -> Array:
    array = validate.for_all_lanes("", validate.per_arm_or_one("", value, 0.0, high))
    if (array == 0.0).any():
        raise EvenhandError(f"must be above 0, got {shown(value)}")
    return array


def _rising(value: Sequence[float] | Array) -> Array:
    """Numbers in rising order."""
    values = validate.for_all_lanes("", validate.numbers(value))
    if (np.diff(values) <= 0.0).any():
        raise EvenhandError(f"must rise, got {np.asarray(value).tolist()}")
    return values


def _samples(value: Samples) -> tuple[Array, ...]:
    """Sorted samples in whole rounds, for each arm or for all."""
    if isinstance(value, str | PerLane) or not np.iterable(value):
        raise EvenhandError(f"must be a list of delays, or one list per arm, got {shown(value)}")
    lists: list[Any] = list(value)
    if not lists or all(np.ndim(one) == 0 for one in lists):
        lists = [lists]
    return tuple(np.sort(_sample(place, one)) for place, one in enumerate(lists))


def _sample(place: int, values: Sequence[float] | NDArray[Any]) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"the delays of arm {place + 1} must be numbers, got {shown(values)}") from None
    if array.ndim != 1 or array.size == 0:
        raise EvenhandError(f"arm {place + 1} needs a list of at least one delay, got {shown(values)}")
    wrong = ~(array >= 0.0)
    if wrong.any():
        row = int(wrong.argmax())
        raise EvenhandError(
            f"delay {row + 1} of arm {place + 1} is {float(array[row])!r}; "
            "a delay is a number of rounds of at least 0, or inf"
        )
    return np.asarray(np.floor(array))


def _function(value: DelayFunction) -> DelayFunction:
    if not callable(value):
        raise EvenhandError(f"must be a function of levels, arms and rewards, got {shown(value)}")
    return value


def _lift(values: Array) -> Array:
    """A whole number missed by a rounding error only is that number, so that ⌈·⌉ does not go one too far."""
    return np.asarray(values * (1.0 - 1e-14))


def _of(values: NDArray[Any], arm: Arms) -> NDArray[Any]:
    """The value of each play's arm, or the one for all."""
    chosen: NDArray[Any] = values if len(values) == 1 else values[arm]
    return chosen


@frozen(eq=False)
class _ByArm(Delay):
    """Delays with parameters of one number, or one per arm."""

    def check(self, arms: int) -> None:
        """One number, or one per arm."""
        for one in fields(type(self)):
            if isinstance(value := getattr(self, one.name), np.ndarray):
                validate.one_per_arm(one.name, value, arms)


@part("feedback", "fixed")
@frozen(eq=False)
class Fixed(_ByArm):
    """The same delay for every play.

    Args:
        delay: rounds ≥ 0 or inf, one number or one per arm.

    Raises:
        EvenhandError: a delay is negative or not a number.

    Example:
        >>> Fixed(3).quantiles(0.9, [0.5])
        array([3.])
    """

    delay: Array = field(converter=_rounds)

    rules = singly

    traits = FeedbackTraits()

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The arm's delay."""
        return np.broadcast_to(_of(self.delay, arm), arm.shape)


@part("feedback", "geometric")
@frozen(eq=False)
class Geometric(_ByArm):
    """The number of trials up to the first success: 1, 2, …; ``P(D = d) = p (1 − p)^(d−1)``.

    Args:
        success: p in (0, 1], one number or one per arm; the mean delay is 1/p, so 0.005 for a mean of 200 rounds.

    Raises:
        EvenhandError: a probability is not in (0, 1].

    Example:
        >>> Geometric(success=0.5).quantiles(0.75, [0.5])
        array([2.])
    """

    success: Array = field(converter=_positive_probability)

    rules = singly

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """``max(⌈ln(1 − u)/ln(1 − p)⌉, 1)``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            trials = np.log1p(-level) / _of(np.log1p(-self.success), arm)
        return np.fmax(np.ceil(_lift(trials)), 1.0)  # NaN, ∞/∞, where success is certain


@part("feedback", "pareto")
@frozen(eq=False)
class Pareto(_ByArm):
    """α-Pareto of type I with minimum 1, rounded down to whole rounds: ``P(D ≥ d) = d^−α``.

    Args:
        tail: α > 0, one number or one per arm; for α ≤ 1 the mean delay is infinite.

    Raises:
        EvenhandError: a tail is not above 0.

    Example:
        >>> Pareto(tail=[1.0, 0.5]).quantiles(0.9, [0.5, 0.5])
        array([ 9., 99.])
    """

    tail: Array = field(converter=_tail)

    rules = singly

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """``max(⌈(1 − u)^(−1/α)⌉ − 1, 1)``."""
        with np.errstate(divide="ignore", over="ignore"):
            edge = np.exp(np.log1p(-level) * _of(-1.0 / self.tail, arm))
        return np.maximum(np.ceil(_lift(edge)) - 1.0, 1.0)


@part("feedback", "packet_loss")
@frozen(eq=False)
class PacketLoss(_ByArm):
    """A reward is known at once, or never.

    Args:
        received: probability of the former in [0, 1], one number or one per arm.

    Raises:
        EvenhandError: a probability is not in [0, 1].

    Example:
        >>> PacketLoss(received=[0.3, 0.8]).quantiles(0.5, [0.5, 0.5])
        array([inf,  0.])
    """

    received: Array = field(converter=_probability)

    rules = singly

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """0 up to the probability, inf beyond."""
        received = _of(self.received, arm)
        return np.where((level <= received) & (received > 0.0), 0.0, np.inf)


@part("feedback", "uniform")
@frozen(eq=False)
class Uniform(_ByArm):
    """Any whole number of rounds from ``low`` to ``high``, all equally likely.

    Args:
        low: rounds ≥ 0, one number or one per arm.
        high: rounds ≥ low, one number or one per arm.

    Raises:
        EvenhandError: a number of rounds is negative or infinite, or ``high`` is below ``low``.

    Example:
        >>> Uniform(low=10, high=19).quantiles(0.5, [0.5])
        array([14.])
    """

    low: Array = field(converter=_finite_rounds)
    high: Array = field(converter=_finite_rounds)

    rules = singly

    def __attrs_post_init__(self) -> None:
        validate.same_length("low", self.low, self.high, "high")
        if (self.high < self.low).any():
            raise EvenhandError(
                f"must be at least low, got low = {self.low.tolist()}, high = {self.high.tolist()}", "high"
            )

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """``low + ⌈u n⌉ − 1`` with n the number of values."""
        low, number = _of(self.low, arm), _of(self.high - self.low + 1.0, arm)
        return low + np.maximum(np.ceil(_lift(level * number)) - 1.0, 0.0)


@part("feedback", "by_reward")
@frozen(eq=False)
class ByReward(Delay):
    """A delay that depends on the reward alone.

    Args:
        delays: rounds ≥ 0 or inf, one row per arm (or one row for all), one column for each value of the reward.
        values: (values,), the rewards that can occur, in the user's unit and in rising order; by default 0 and 1.

    Raises:
        EvenhandError: a parameter is out of range; also when a reward occurs that is not among the values.

    Example:
        >>> import numpy as np
        >>> biased = ByReward([[0, 6000], [6000, 0]])  # the first arm's ones are late, the second arm's zeros
        >>> biased.quantile(np.zeros(2), np.array([0, 1]), np.array([1.0, 1.0]))
        array([6000.,    0.])

    Source: Chen et al. 2024, section 6 (biased delays).
    """

    delays: Array = field(converter=_rounds_by_value)
    values: Array = field(default=(0.0, 1.0), converter=_rising)

    traits = FeedbackTraits(biased=True)

    def __attrs_post_init__(self) -> None:
        if self.delays.shape[1] != len(self.values):
            raise EvenhandError(
                f"must have one column for each of the {len(self.values)} values of a reward, "
                f"got {self.delays.shape[1]}",
                "delays",
            )

    def rules(self) -> FeedbackRules | None:
        """Each by itself, if rewards of 0 and 1 have delays: the compiled engine asks for those of all arms."""
        return singly(self) if np.isin([0.0, 1.0], self.values).all() else None

    def check(self, arms: int) -> None:
        """One row, or one per arm."""
        if len(self.delays) not in (1, arms):
            raise EvenhandError(f"has {number_of(len(self.delays), 'row')}, but {there_are(arms, 'arm')}", "delays")

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The delay of the arm's reward."""
        column = np.searchsorted(self.values, reward)
        known = self.values[np.minimum(column, len(self.values) - 1)] == reward
        if not known.all():
            value = float(np.asarray(reward, dtype=float)[~known][0])
            raise EvenhandError(f"a reward of {value!r} has no delay; delays are given for {self.values.tolist()}")
        return np.asarray(self.delays[arm if len(self.delays) > 1 else np.zeros_like(arm), column])


@part("feedback", "empirical")
@frozen(eq=False)
class Empirical(Delay):
    """Delays drawn from samples, as from a log.

    Args:
        samples: a list of delays for each arm (rounds ≥ 0 or inf, rounded down), or one list for all arms.

    Raises:
        EvenhandError: a sample is negative or not a number; names the arm and the place.

    Example:
        >>> Empirical([[0, 10, 20.7], [5]]).quantiles(0.9, [0.5, 0.5])
        array([20.,  5.])
    """

    samples: tuple[Array, ...] = field(converter=_samples)
    _pool: Array = field(init=False, repr=False)  # (samples,), those of all arms one after the other
    _sizes: Arms = field(init=False, repr=False)  # (arms,), number of samples
    _starts: Arms = field(init=False, repr=False)  # (arms,), place of the first one in the pool

    rules = singly

    @_pool.default
    def _joined(self) -> Array:
        return np.concatenate(self.samples)

    @_sizes.default
    def _counted(self) -> Arms:
        return np.array([len(row) for row in self.samples])

    @_starts.default
    def _placed(self) -> Arms:
        return np.asarray(np.cumsum(self._sizes) - self._sizes)

    def check(self, arms: int) -> None:
        """One list, or one per arm."""
        if len(self.samples) not in (1, arms):
            raise EvenhandError(f"delays are given for {number_of(len(self.samples), 'arm')}, but there are {arms}")

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The ⌈u n⌉-th smallest of the arm's n samples."""
        place = np.maximum(np.ceil(_lift(level * _of(self._sizes, arm))) - 1.0, 0.0).astype(np.intp)
        return np.asarray(self._pool[_of(self._starts, arm) + place])


@frozen(eq=False)
class Custom(Delay):
    """Delays from any quantile function; it has no plain form.

    Args:
        function: takes levels u in [0, 1), indices of arms, and rewards in the user's unit, each (n,), and returns n
            delays: rounds ≥ 0 or inf, rounded down; or one number for all. `quantiles` needs it to rise in u.

    Raises:
        EvenhandError: when the function returns a negative delay, NaN, or another number of delays; names the arm.

    Example:
        >>> import numpy as np
        >>> slow_losses = Custom(lambda u, arm, reward: np.where(reward == 0.0, 100.0 * u, 0.0))
        >>> slow_losses.quantile(np.array([0.505, 0.505]), np.array([0, 0]), np.array([0.0, 1.0]))
        array([50.,  0.])
    """

    function: DelayFunction = field(converter=_function)

    traits = FeedbackTraits(random=True, biased=True)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """What the function returns, checked."""
        delays = np.asarray(self.function(np.minimum(level, BELOW_ONE), arm, reward), dtype=float)
        if delays.shape not in ((), level.shape):
            raise EvenhandError(f"the delay function returned shape {delays.shape} for {len(level)} plays")
        delays = np.broadcast_to(delays, level.shape)
        wrong = ~(delays >= 0.0)
        if wrong.any():
            place = int(wrong.argmax())
            raise EvenhandError(
                f"the delay function returned {float(delays[place])!r} for arm {int(arm[place]) + 1}; "
                "a delay is a number of rounds of at least 0, or inf"
            )
        return np.asarray(np.floor(delays))
