"""How long a reward takes to become known.

A delay model is its quantile function: from a chance u in [0, 1), the arm and the reward to a whole number of rounds,
which may be infinite. One uniform number for every arm and round, whoever plays, makes every policy face the same
delays. A play of round s with delay D is known at the end of round s + D.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.records import Array, Feedback, Mask, Shape
from evenhand.wheel import Wheel

Arms = NDArray[np.intp]
BELOW_ONE = math.nextafter(1.0, 0.0)
LATEST = 2.0**53  # whole numbers beyond are not told apart
BISECTIONS = 60
ROUNDING = 1e-12  # by which a level may be missed


class Delay(ABC):
    """A model of delays, and with it a feedback model: `evenhand.Environment` takes it as ``feedback``."""

    random: ClassVar[bool] = True  # whether chance has a part in it
    biased: ClassVar[bool] = False  # whether the reward has

    @abstractmethod
    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The smallest d with ``P(D ≤ d) ≥ level``, for each of n plays.

        Args:
            level: (n,), in [0, 1].
            arm: (n,), index of the arm.
            reward: (n,), what the play earned.

        Returns:
            (n,), whole rounds ≥ 0, or inf.
        """

    @abstractmethod
    def check(self, arms: int) -> None:
        """Complain if a parameter is meant for another number of arms."""

    def open(self, shape: Shape, rounds: int) -> Late:
        """A channel for lanes of the given shape (…, arms), with nothing under way."""
        return Late(self, shape, rounds)

    def quantiles(self, level: Any, means: Any) -> Array:
        """The quantile of every arm's delay, d_i(q), when rewards are 0 or 1 with the given means.

        Args:
            level: q in (0, 1], a number or (levels,).
            means: (arms,), probability of a reward of 1.

        Returns:
            (arms,) or (levels, arms), whole rounds, or inf.

        Example:
            >>> Geometric(success=0.05).quantiles(0.5, [0.3, 0.9])
            array([14., 14.])
            >>> ByReward([[0, 6000], [6000, 0]]).quantiles([0.5, 0.9], [0.3, 0.9])
            array([[   0.,    0.],
                   [6000.,    0.]])

        Source: Chen et al. 2024, section 3.
        """
        mean = validate.per_arm("means", means, 0.0, 1.0)
        asked = validate.per_arm_or_one("level", level, 0.0, 1.0)
        chance = np.repeat(asked, len(mean))
        draw = _Draw(self, np.tile(np.arange(len(mean)), len(asked)), np.tile(mean, len(asked)))
        found = draw.quantile(chance).reshape(len(asked), len(mean))
        return found if np.ndim(level) else found[0]


@dataclass(frozen=True, eq=False)
class _Draw:
    """A play of each of some arms, with a reward of 1 with a given chance, else 0."""

    delay: Delay
    arm: Arms  # (n,)
    mean: Array  # (n,)

    def quantile(self, level: Array) -> Array:
        """The smallest d with ``P(D ≤ d) ≥ level``, (n,)."""
        zero = self.delay.quantile(level, self.arm, np.zeros(len(level)))
        if not self.delay.biased:
            return zero
        one = self.delay.quantile(level, self.arm, np.ones(len(level)))
        low, high = np.minimum(zero, one) - 1.0, np.minimum(np.maximum(zero, one), LATEST)
        level = level - ROUNDING
        never = self._within(high) < level
        for _ in range(BISECTIONS):
            middle = np.floor((low + high) / 2.0)
            enough = self._within(middle) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(never, np.inf, high)

    def _within(self, rounds: Array) -> Array:
        """``P(D ≤ rounds)``, (n,)."""
        return (1.0 - self.mean) * self._given(rounds, 0.0) + self.mean * self._given(rounds, 1.0)

    def _given(self, rounds: Array, reward: float) -> Array:
        """``P(D ≤ rounds)`` given the reward, (n,): the largest level whose quantile is no later."""
        rewards = np.full(len(rounds), reward)
        low, high = np.zeros(len(rounds)), np.ones(len(rounds))
        sure = self.delay.quantile(high, self.arm, rewards) <= rounds
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            inside = self.delay.quantile(middle, self.arm, rewards) <= rounds
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.where(sure, 1.0, low)


class Late:
    """The way from plays to feedback for one block of lanes, under a delay model."""

    def __init__(self, delay: Delay, shape: Shape, rounds: int) -> None:
        """Nothing is under way."""
        self._delay, self._shape, self._rounds = delay, shape, rounds
        self._wheel: Wheel | None = None

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take in a round's plays and rewards, (…, arms); return what becomes known at its end."""
        if self._wheel is None:
            self._wheel = Wheel(math.prod(self._shape), self._rounds, earned.dtype)
        places = np.flatnonzero(played)
        rewards = earned.ravel()[places]
        level = np.zeros(len(places)) if chance is None else chance.ravel()[places]
        self._wheel.put(self._delay.quantile(level, places % self._shape[-1], rewards), places, rewards)
        counts, sums = self._wheel.turn()
        return Feedback(received=counts.reshape(self._shape), rewards=sums.reshape(self._shape))

    def under_way(self) -> int:
        """Rewards that are still to become known before the horizon."""
        return 0 if self._wheel is None else self._wheel.under_way()


@dataclass(frozen=True, eq=False)
class Fixed(Delay):
    """The same delay for every play.

    Args:
        delay: rounds ≥ 0 or inf, one number or one an arm.

    Example:
        >>> Fixed(3).quantiles(0.9, [0.5])
        array([3.])
    """

    delay: Any
    random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "delay", _rounds("delay", self.delay, dimensions=1))

    def check(self, arms: int) -> None:
        """One delay, or one an arm."""
        _fits("delay", self.delay, arms)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The arm's delay."""
        return np.broadcast_to(_of(self.delay, arm), arm.shape)


@dataclass(frozen=True, eq=False)
class Geometric(Delay):
    """The number of trials up to the first success: 1, 2, …; ``P(D = d) = p (1 − p)^(d−1)``.

    Args:
        success: p in (0, 1], one number or one an arm; the mean delay is 1/p.

    Example:
        >>> Geometric(success=0.5).quantiles(0.75, [0.5])
        array([2.])
    """

    success: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "success", _positive("success", self.success, 1.0))

    def check(self, arms: int) -> None:
        """One probability, or one an arm."""
        _fits("success", self.success, arms)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """``max(⌈ln(1 − u)/ln(1 − p)⌉, 1)``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            trials = np.log1p(-level) / _of(np.log1p(-self.success), arm)
        return np.fmax(np.ceil(_lift(trials)), 1.0)  # no number, ∞/∞, where success is certain


@dataclass(frozen=True, eq=False)
class Pareto(Delay):
    """α-Pareto of type I with minimum 1, rounded down to whole rounds: ``P(D ≥ d) = d^−α``.

    Args:
        tail: α > 0, one number or one an arm; for α ≤ 1 the mean delay is infinite.

    Example:
        >>> Pareto(tail=[1.0, 0.5]).quantiles(0.9, [0.5, 0.5])
        array([ 9., 99.])
    """

    tail: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "tail", _positive("tail", self.tail, math.inf))

    def check(self, arms: int) -> None:
        """One index, or one an arm."""
        _fits("tail", self.tail, arms)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """``max(⌈(1 − u)^(−1/α)⌉ − 1, 1)``."""
        with np.errstate(divide="ignore", over="ignore"):
            edge = np.exp(np.log1p(-level) * _of(-1.0 / self.tail, arm))
        return np.maximum(np.ceil(_lift(edge)) - 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class PacketLoss(Delay):
    """A reward is known at once, or never.

    Args:
        received: probability of the former in [0, 1], one number or one an arm.

    Example:
        >>> PacketLoss(received=[0.3, 0.8]).quantiles(0.5, [0.5, 0.5])
        array([inf,  0.])
    """

    received: Any

    def __post_init__(self) -> None:
        values = validate.per_arm_or_one("received", self.received, 0.0, 1.0)
        object.__setattr__(self, "received", validate.for_all_lanes("received", values))

    def check(self, arms: int) -> None:
        """One probability, or one an arm."""
        _fits("received", self.received, arms)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """0 up to the probability, inf beyond."""
        received = _of(self.received, arm)
        return np.where((level <= received) & (received > 0.0), 0.0, np.inf)


@dataclass(frozen=True, eq=False)
class Uniform(Delay):
    """Any whole number of rounds from ``low`` to ``high``, all alike.

    Args:
        low: rounds ≥ 0, one number or one an arm.
        high: rounds ≥ low, one number or one an arm.

    Example:
        >>> Uniform(low=10, high=19).quantiles(0.5, [0.5])
        array([14.])
    """

    low: Any
    high: Any

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _rounds(name, getattr(self, name), dimensions=1, never=False))
        validate.same_length("low", self.low, self.high, "high")
        if (self.high < self.low).any():
            raise EvenhandError(
                f"high must be at least low, got low = {self.low.tolist()}, high = {self.high.tolist()}"
            )

    def check(self, arms: int) -> None:
        """One range, or one an arm."""
        _fits("low", self.low, arms)
        _fits("high", self.high, arms)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """``low + ⌈u n⌉ − 1`` with n the number of values."""
        low, number = _of(self.low, arm), _of(self.high - self.low + 1.0, arm)
        return low + np.maximum(np.ceil(_lift(level * number)) - 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class ByReward(Delay):
    """A delay that the reward itself decides.

    Args:
        delays: rounds ≥ 0 or inf, a row an arm (or one row for all), a column for each value of the reward.
        values: the values that a reward can have, rising; 0 and 1 unless said.

    Raises:
        EvenhandError: also when a reward turns up that is not among the values.

    Example:
        >>> import numpy as np
        >>> biased = ByReward([[0, 6000], [6000, 0]])  # the first arm's ones are late, the second arm's zeros
        >>> biased.quantile(np.zeros(2), np.array([0, 1]), np.array([1.0, 1.0]))
        array([6000.,    0.])

    Source: Chen et al. 2024, section 6 (biased delays).
    """

    delays: Any
    values: Any = (0.0, 1.0)
    random: ClassVar[bool] = False
    biased: ClassVar[bool] = True

    def __post_init__(self) -> None:
        delays = _rounds("delays", self.delays, dimensions=2)
        values = validate.for_all_lanes("values", validate.per_arm("values", self.values))
        if values.ndim != 1 or (np.diff(values) <= 0.0).any():
            raise EvenhandError(f"values must rise, got {np.asarray(self.values).tolist()}")
        if delays.shape[1] != len(values):
            raise EvenhandError(
                f"delays must have a column for each of the {len(values)} values of a reward, got {delays.shape[1]}"
            )
        object.__setattr__(self, "delays", delays)
        object.__setattr__(self, "values", values)

    def check(self, arms: int) -> None:
        """One row, or one an arm."""
        if len(self.delays) not in (1, arms):
            raise EvenhandError(f"delays has {len(self.delays)} rows, but there are {arms} arms")

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The delay of the arm's reward."""
        column = np.searchsorted(self.values, reward)
        known = self.values[np.minimum(column, len(self.values) - 1)] == reward
        if not known.all():
            value = float(np.asarray(reward, dtype=float)[~known][0])
            raise EvenhandError(f"a reward of {value!r} has no delay; delays are given for {self.values.tolist()}")
        return np.asarray(self.delays[arm if len(self.delays) > 1 else np.zeros_like(arm), column])


@dataclass(frozen=True, eq=False)
class Empirical(Delay):
    """Delays drawn from samples, as from a log.

    Args:
        samples: for each arm a list of delays (rounds ≥ 0 or inf, rounded down), or one list for all arms.

    Raises:
        EvenhandError: a sample is negative or no number; names the arm and the place.

    Example:
        >>> Empirical([[0, 10, 20.7], [5]]).quantiles(0.9, [0.5, 0.5])
        array([20.,  5.])
    """

    samples: Any

    def __post_init__(self) -> None:
        if isinstance(self.samples, str) or not np.iterable(self.samples):
            raise EvenhandError(f"samples must be a list of delays, or one an arm, got {self.samples!r}")
        lists = list(self.samples)
        if not lists or all(np.ndim(one) == 0 for one in lists):
            lists = [lists]
        rows = tuple(np.sort(_sample(place, one)) for place, one in enumerate(lists))
        object.__setattr__(self, "samples", rows)
        sizes = np.array([len(row) for row in rows])
        object.__setattr__(self, "_pool", np.concatenate(rows))
        object.__setattr__(self, "_sizes", sizes)
        object.__setattr__(self, "_starts", np.cumsum(sizes) - sizes)

    def check(self, arms: int) -> None:
        """One list, or one an arm."""
        if len(self.samples) not in (1, arms):
            raise EvenhandError(f"delays are given for {len(self.samples)} arms, but there are {arms}")

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The ⌈u n⌉-th smallest of the arm's n samples."""
        known: Any = self
        place = np.maximum(np.ceil(_lift(level * _of(known._sizes, arm))) - 1.0, 0.0).astype(np.intp)
        return np.asarray(known._pool[_of(known._starts, arm) + place])


@dataclass(frozen=True, eq=False)
class Custom(Delay):
    """Any quantile function.

    Args:
        function: takes chances u in [0, 1), indices of arms and rewards, each (n,), and returns n delays: rounds ≥ 0 or
            inf, rounded down; or one number for all. It should rise in u, if `quantiles` is to be right.

    Raises:
        EvenhandError: when the function returns a negative delay, NaN, or another number of delays; names the arm.

    Example:
        >>> import numpy as np
        >>> slow_losses = Custom(lambda u, arm, reward: np.where(reward == 0.0, 100.0 * u, 0.0))
        >>> slow_losses.quantile(np.array([0.505, 0.505]), np.array([0, 0]), np.array([0.0, 1.0]))
        array([50.,  0.])
    """

    function: Callable[[Array, Arms, NDArray[Any]], Array]
    biased: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise EvenhandError(
                f"a delay of one's own is a function of chances, arms and rewards, got {self.function!r}"
            )

    def check(self, arms: int) -> None:
        """The function must cope with any arm."""

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """What the function says, checked."""
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


def _lift(values: Array) -> Array:
    """A whole number missed by a rounding error only is that number, so that ⌈·⌉ does not go one too far."""
    return np.asarray(values * (1.0 - 1e-14))


def _of(values: NDArray[Any], arm: Arms) -> NDArray[Any]:
    """The value of each play's arm, or the one for all."""
    chosen: NDArray[Any] = values if len(values) == 1 else values[arm]
    return chosen


def _fits(name: str, values: NDArray[Any], arms: int) -> None:
    if len(values) != 1:
        validate.one_an_arm(name, values, arms)


def _positive(name: str, values: Any, high: float) -> Array:
    array = validate.for_all_lanes(name, validate.per_arm_or_one(name, values, 0.0, high))
    if (array == 0.0).any():
        raise EvenhandError(f"{name} must be above 0, got {values!r}")
    return array


def _rounds(name: str, values: Any, dimensions: int, never: bool = True) -> Array:
    """Delays in whole rounds, with the given number of axes."""
    try:
        array = np.array(values, dtype=float, ndmin=dimensions)
    except (TypeError, ValueError):
        raise EvenhandError(f"{name} must be numbers of rounds, got {values!r}") from None
    wrong = ~(array >= 0.0) | (np.isinf(array) & (not never))
    if array.ndim != dimensions or array.size == 0 or wrong.any():
        limit = " or inf" if never else ""
        raise EvenhandError(f"{name} must be numbers of rounds of at least 0{limit}, got {values!r}")
    return np.asarray(np.floor(array))


def _sample(place: int, values: Any) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise EvenhandError(f"the delays of arm {place + 1} must be numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise EvenhandError(f"arm {place + 1} needs a list of at least one delay")
    wrong = ~(array >= 0.0)
    if wrong.any():
        row = int(wrong.argmax())
        raise EvenhandError(
            f"delay {row + 1} of arm {place + 1} is {float(array[row])!r}; "
            "a delay is a number of rounds of at least 0, or inf"
        )
    return np.asarray(np.floor(array))
