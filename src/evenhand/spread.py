"""Rewards that spread over time and come back as one anonymous sum.

A play earns a total, which its profile spreads over the following steps; what is heard of in a step is the sum of all
parts that arrive in it, whichever plays they belong to. The sum is credited to the arm that plays in that step, since
nobody knows better (to equal parts where several play, to nobody where none does).

A profile is known by how it turns the totals x of all steps so far into the sum Y of this one, which costs the same
however long the profile is: a running sum for a constant part, a sum of sums for a linear one, a recursion for a
discounted one. Only a kernel of its own shape takes a convolution, in blocks of growing length.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.records import Array, Feedback, Mask, Shape
from evenhand.wheel import Wheel

DIRECT = 32  # steps of a kernel that are added one by one
PIECES = 8  # of one length; the next are as many times longer
TAIL = 1e-12  # part of a total that may be left out
OFTEN = 100  # steps after which sums are added up anew, at least


class Flow(Protocol):
    """A profile at work on some lanes."""

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        """The sum that arrives in this step, (lanes,).

        Args:
            earned: (lanes,), what the plays of this step earn in all, now or later; (lanes, arms) for a profile that is
                told by the arm.
            played: (lanes, arms), who plays.
            chance: (lanes, arms), uniform numbers in [0, 1); None for a profile without chance.
        """
        ...


class Spread(ABC):
    """A profile of rewards over time, and with it a feedback model: `evenhand.Environment` takes it as ``feedback``."""

    random: ClassVar[bool] = False  # whether chance has a part in it
    anonymous: ClassVar[bool] = True

    @property
    def by_arm(self) -> bool:
        """Whether the profile must be told what each arm earned."""
        return self.random

    @abstractmethod
    def flow(self, lanes: int, rounds: int) -> Flow:
        """The profile at work, with nothing under way."""

    @abstractmethod
    def check(self, arms: int) -> None:
        """Complain if a parameter is meant for another number of arms."""

    def open(self, shape: Shape, rounds: int) -> Sums:
        """A channel for lanes of the given shape (…, arms), with nothing under way."""
        return Sums(self.flow(math.prod(shape[:-1]), rounds), shape, self.by_arm)


class Sums:
    """The way from plays to an anonymous sum for one block of lanes."""

    def __init__(self, flow: Flow, shape: Shape, by_arm: bool) -> None:
        """Nothing is under way."""
        self._flow, self._shape, self._by_arm = flow, shape, by_arm
        self._under_way = np.zeros(math.prod(shape[:-1]))

    def send(self, played: Mask, earned: NDArray[Any], chance: Array | None) -> Feedback:
        """Take in a step's plays and totals, (…, arms); return the sum of the step, credited to who plays."""
        ones = np.ones(self._shape[-1])
        totals = np.reshape(earned @ ones, -1)
        arms = (-1, self._shape[-1])
        given = np.reshape(earned, arms) if self._by_arm else totals
        arrived = self._flow.step(given, played.reshape(arms), None if chance is None else chance.reshape(arms))
        self._under_way += totals
        self._under_way -= arrived
        share = arrived.reshape(self._shape[:-1]) / np.maximum(played @ ones, 1.0)
        return Feedback(received=played, rewards=played * share[..., np.newaxis])

    def under_way(self) -> Array:
        """What has been earned and has not arrived yet, (lanes,)."""
        return self._under_way.copy()


class _Past:
    """The totals of the last steps."""

    def __init__(self, lanes: int, length: int) -> None:
        self._rows, self._now = np.zeros((length + 1, lanes)), 0

    def add(self, totals: Array) -> None:
        """The totals of this step."""
        self._now += 1
        self._rows[self._now % len(self._rows)] = totals

    def ago(self, steps: int) -> Array:
        """The totals of so many steps ago, at most the length."""
        row: Array = self._rows[(self._now - steps) % len(self._rows)]
        return row


@dataclass(frozen=True)
class RandomDelay(Spread):
    """The whole total after a random number of steps: one of ``low … high``, all alike; 0 is the same step.

    Args:
        low: steps ≥ 0.
        high: steps ≥ low.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = RandomDelay(low=1, high=2).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([[x]]), plays, np.array([[0.7]])).item() for x in (1.0, 0.5, 0.0, 0.0)]
        [0.0, 0.0, 1.0, 0.5]

    Source: Wang et al. 2021, section 4.1, random delay.
    """

    low: int
    high: int
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate.whole("low", self.low, low=0)
        validate.whole("high", self.high, low=self.low)

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A wheel of sums to come."""
        return _Delayed(self.delays, lanes, rounds)

    def delays(self, plays: NDArray[np.intp], played: Mask, chance: Array | None) -> Array:
        """The delay of each of the given plays, (n,)."""
        assert chance is not None
        return np.asarray(self.low + np.floor(chance.reshape(-1)[plays] * (self.high - self.low + 1)))


Delays = Callable[[NDArray[np.intp], Mask, Array | None], Array]


class _Delayed:
    """Every total arrives whole, after a delay."""

    def __init__(self, delays: Delays, lanes: int, rounds: int) -> None:
        self._delays, self._wheel = delays, Wheel(lanes, rounds, np.dtype(float))

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        plays = np.flatnonzero(earned)
        delays = self._delays(plays, played, chance)
        self._wheel.put(delays, plays // played.shape[1], earned.reshape(-1)[plays])
        return self._wheel.turn()[1]


@dataclass(frozen=True)
class Bounded(Spread):
    """Equal parts over the steps ``start … stop − 1`` after the play.

    Args:
        start: d_min ≥ 0, steps until the first part.
        stop: d_max > start, steps until there is none any more.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Bounded(start=1, stop=3).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([x]), plays, None).item() for x in (1.0, 0.0, 0.0, 0.0)]
        [0.0, 0.5, 0.5, 0.0]

    Source: Wang et al. 2021, section 4.1, bounded interval.
    """

    start: int
    stop: int

    def __post_init__(self) -> None:
        validate.whole("start", self.start, low=0)
        validate.whole("stop", self.stop, low=self.start + 1)

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A running sum."""
        return _Level(self, lanes)


class _Level:
    def __init__(self, profile: Bounded, lanes: int) -> None:
        self._profile, self._past, self._sum = profile, _Past(lanes, profile.stop), np.zeros(lanes)

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        profile, past = self._profile, self._past
        past.add(earned)
        self._sum += past.ago(profile.start)
        self._sum -= past.ago(profile.stop)
        return self._sum / (profile.stop - profile.start)


@dataclass(frozen=True)
class Decreasing(Spread):
    """Parts over the steps 1 … d after the play, falling in a line: ``2 (d + 1 − τ)/(d (d + 1))``.

    Args:
        length: d ≥ 1.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Decreasing(length=2).flow(lanes=1, rounds=5)
        >>> [round(flow.step(np.array([x]), plays, None).item(), 3) for x in (3.0, 0.0, 0.0, 0.0)]
        [0.0, 2.0, 1.0, 0.0]

    Source: Wang et al. 2021, section 4.1, linearly decreasing reward.
    """

    length: int

    def __post_init__(self) -> None:
        validate.whole("length", self.length)

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A sum of sums."""
        return _Line(self.length, lanes, rising=False)


@dataclass(frozen=True)
class Increasing(Spread):
    """Parts over the steps 1 … d after the play, rising in a line: ``2 τ/(d (d + 1))``.

    Args:
        length: d ≥ 1.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Increasing(length=2).flow(lanes=1, rounds=5)
        >>> [round(flow.step(np.array([x]), plays, None).item(), 3) for x in (3.0, 0.0, 0.0, 0.0)]
        [0.0, 1.0, 2.0, 0.0]

    Source: Wang et al. 2021, section 4.1, linearly increasing reward.
    """

    length: int

    def __post_init__(self) -> None:
        validate.whole("length", self.length)

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A sum of sums."""
        return _Line(self.length, lanes, rising=True)


class _Line:
    """``Σ_τ w_τ x(t − τ)`` with w a line over τ = 1 … d: every step all weights move by one."""

    def __init__(self, length: int, lanes: int, rising: bool) -> None:
        self._length, self._rising, self._past = length, rising, _Past(lanes, length + 1)
        self._plain, self._weighed, self._steps = np.zeros(lanes), np.zeros(lanes), 0

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        self._past.add(earned)
        self._steps += 1
        if self._steps % max(self._length, OFTEN) == 0:
            self._anew()
        else:
            self._move(self._past.ago(1), self._past.ago(self._length + 1))
        return self._weighed * (2.0 / (self._length * (self._length + 1)))

    def _move(self, new: Array, old: Array) -> None:
        if self._rising:
            self._plain += new - old
            self._weighed += self._plain - self._length * old
        else:
            self._weighed += self._length * new - self._plain
            self._plain += new - old

    def _anew(self) -> None:
        """The sums from the past itself, now and then, so that rounding errors do not pile up."""
        self._plain, self._weighed = np.zeros_like(self._plain), np.zeros_like(self._weighed)
        for ago in range(1, self._length + 1):
            self._plain += self._past.ago(ago)
            self._weighed += (ago if self._rising else self._length + 1 - ago) * self._past.ago(ago)


@dataclass(frozen=True)
class Discounted(Spread):
    """Parts that shrink by a factor for ever, from the step after the play on: ``(1 − γ) γ^(τ−1)``. Nothing is cut off.

    Args:
        factor: γ in [0, 1).

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Discounted(factor=0.5).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([x]), plays, None).item() for x in (1.0, 0.0, 0.0, 0.0)]
        [0.0, 0.5, 0.25, 0.125]

    Source: Wang et al. 2021, section 4.1, discounted reward.
    """

    factor: float

    def __post_init__(self) -> None:
        if validate.number("factor", self.factor, 0.0, 1.0) == 1.0:
            raise EvenhandError("factor must be below 1, got 1")

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A recursion."""
        return _Decays(np.array([1.0 - self.factor]), np.array([self.factor]), lanes)


@dataclass(frozen=True)
class Polynomial(Spread):
    """Parts that shrink as a power of time for ever, from the step after the play on: ``τ^−γ / ζ(γ)``.

    The power is a sum of exponentials, ``τ^−γ = Σ_k w_k e^(−s_k τ)``, by the trapezoidal rule on its integral
    ``1/Γ(γ) ∫ e^(γu − e^u τ) du``: right to 1e-12 of the total in every step up to the horizon. Nothing is cut off.

    Args:
        exponent: γ > 1.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Polynomial(exponent=2.0).flow(lanes=1, rounds=5)
        >>> [round(flow.step(np.array([x]), plays, None).item(), 4) for x in (1.0, 0.0, 0.0, 0.0)]
        [0.0, 0.6079, 0.152, 0.0675]

    Source: Wang et al. 2021, section 4.1, polynomially decreasing reward.
    """

    exponent: float

    def __post_init__(self) -> None:
        if validate.number("exponent", self.exponent, low=1.0) == 1.0:
            raise EvenhandError("exponent must be above 1, got 1: the parts would have no finite sum")

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """Recursions side by side."""
        from scipy.special import gamma, zeta

        if 2.0**-self.exponent < TAIL:  # nothing to speak of after the first step
            return _Decays(np.ones(1), np.zeros(1), lanes)
        rates, weights = _exponentials(self.exponent, rounds)
        return _Decays(weights * np.exp(-rates) / (gamma(self.exponent) * zeta(self.exponent)), np.exp(-rates), lanes)


def _exponentials(exponent: float, rounds: int) -> tuple[Array, Array]:
    """Rates s and weights w with ``Σ w e^(−s τ) ≈ Γ(γ) τ^−γ`` for τ = 1 … rounds."""
    step = 0.3
    # The error of the rule, relative to the power: it falls faster than any power of the step.
    while math.exp(-(math.pi**2) / step) * (2.0 * math.pi / step) ** (exponent - 0.5) > 0.1 * TAIL:
        step *= 0.95
    low, high = -math.log(max(rounds, 2)) - 30.0 / exponent, math.log(36.0 + 6.0 * exponent)
    places = np.arange(low, high + step, step)
    return np.exp(places), step * np.exp(exponent * places)


class _Decays:
    """``Σ_k w_k Σ_τ q_k^(τ−1) x(t − τ)``."""

    def __init__(self, weights: Array, factors: Array, lanes: int) -> None:
        self._weights, self._factors = weights, factors[:, np.newaxis]
        self._sums, self._last = np.zeros((len(weights), lanes)), np.zeros(lanes)

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        self._sums *= self._factors
        self._sums += self._last
        self._last = np.array(earned)
        return np.asarray(self._weights @ self._sums)


@dataclass(frozen=True, eq=False)
class Kernel(Spread):
    """Parts of any shape: a play's total times ``weights[τ]`` arrives τ steps later.

    Steps up to 31 are added one by one; the rest of the kernel is cut into seven pieces of 32 steps, seven of 256,
    seven of 2048, …, and whenever a block of so many steps is full, what the last seven send through their pieces is
    added to the sums to come, by fast Fourier transforms. So a step costs of order log² of the length, whatever has
    been played.

    Args:
        weights: (steps,), or (arms, steps) for a kernel an arm, from τ = 0 on; each ≥ 0, with a sum of at most 1. Or a
            function from an array of steps τ to weights, which is asked for every step up to the horizon.

    Raises:
        EvenhandError: a weight is negative or no number, or the weights sum to more than 1.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Kernel([0.0, 0.25, 0.75]).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([x]), plays, None).item() for x in (1.0, 0.0, 0.0, 0.0)]
        [0.0, 0.25, 0.75, 0.0]
    """

    weights: Any

    def __post_init__(self) -> None:
        if not callable(self.weights):
            object.__setattr__(self, "weights", _kernel(self.weights))

    @property
    def by_arm(self) -> bool:
        """Whether there is a kernel an arm."""
        return not callable(self.weights) and np.ndim(self.weights) > 1

    def check(self, arms: int) -> None:
        """One kernel, or one an arm."""
        if self.by_arm and len(self.weights) != arms:
            raise EvenhandError(f"kernels are given for {len(self.weights)} arms, but there are {arms}")

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A convolution."""
        weights = self.weights
        if callable(weights):
            weights = _kernel(weights(np.arange(rounds)))
            if weights.shape != (rounds,):
                raise EvenhandError(
                    f"the function of a kernel must return one weight for each of {rounds} steps, it returned shape "
                    f"{weights.shape}"
                )
        return _Convolution(np.atleast_2d(weights)[:, :rounds], lanes)


def _kernel(weights: Any) -> Array:
    try:
        array = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise EvenhandError(
            "weights of a kernel must be numbers, one a step, or rows of equal length, one an arm"
        ) from None
    if array.ndim not in (1, 2) or array.size == 0:
        raise EvenhandError(f"a kernel needs weights of shape (steps,) or (arms, steps), got {array.shape}")
    wrong = ~(np.isfinite(array) & (array >= 0.0))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"weights[{']['.join(map(str, place))}]"
        raise EvenhandError(f"{where} must be a number of at least 0, got {float(array[place])!r}")
    total = float(array.sum(axis=-1).max())
    if total > 1.0 + 1e-9:
        raise EvenhandError(f"the weights of a kernel must sum to at most 1, they sum to {total:.6g}")
    return array


class _Convolution:
    """``Σ_τ k_τ x(t − τ)``, a step at a time."""

    def __init__(self, kernels: Array, lanes: int) -> None:
        self._now, sources, steps = 0, *kernels.shape
        self._direct = np.ascontiguousarray(kernels[:, :DIRECT].T)  # (steps, sources)
        lengths = [DIRECT]
        while lengths[-1] * PIECES < steps:
            lengths.append(lengths[-1] * PIECES)
        self._levels = [_Pieces(kernels[:, n : n * PIECES], n) for n in lengths if n < steps]
        self._past = np.zeros((lengths[-1], sources, lanes))
        self._sums = np.zeros((2 * lengths[-1], lanes))

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        source = np.atleast_2d(earned.T) if earned.ndim > 1 else earned[np.newaxis]  # (sources, lanes)
        self._past[self._now % len(self._past)] = source
        self._add(self._direct @ source)
        row = self._sums[self._now % len(self._sums)]
        arrived: Array = row.copy()
        row[:] = 0.0
        self._now += 1
        for level in self._levels:
            if self._now % level.length:
                break
            start = (self._now - level.length) % len(self._past)
            self._add(level.sums(self._past[start : start + level.length]))
        return arrived

    def _add(self, sums: Array) -> None:
        """Add to the sums from now on."""
        start = self._now % len(self._sums)
        left = len(self._sums) - start
        self._sums[start : start + len(sums)] += sums[:left]
        if left < len(sums):
            self._sums[: len(sums) - left] += sums[left:]


class _Pieces:
    """Pieces of a kernel of one length, and the transforms of as many blocks of that length."""

    def __init__(self, kernels: Array, length: int) -> None:
        from scipy.fft import rfft

        self.length = length
        pieces = (kernels[:, n : n + length].T for n in range(0, kernels.shape[1], length))
        self._pieces = [rfft(piece, 2 * length, axis=0) for piece in pieces]  # the nearest first
        self._blocks: deque[Any] = deque(maxlen=len(self._pieces))  # the latest first

    def sums(self, block: Array) -> Array:
        """What the last blocks send to the steps from now on, given the latest, (steps, sources, lanes)."""
        from scipy.fft import irfft, rfft

        self._blocks.appendleft(rfft(block, 2 * self.length, axis=0))
        met = zip(self._pieces, self._blocks, strict=False)  # at first there are fewer blocks than pieces
        spectrum = sum(np.einsum("fs,fsl->fl", piece, block) for piece, block in met)
        return np.asarray(irfft(spectrum, 2 * self.length, axis=0))


@dataclass(frozen=True)
class NonOblivious(Spread):
    """An adversary that keeps back the best arm's rewards once the policy has settled on it.

    A total arrives whole after ``d`` steps if the arm is the best one and plays for at least the 3d-th time in a row,
    this step included; else after one step.

    Args:
        delay: d ≥ 1.
        best: index of the best arm; several are not told apart.

    Example:
        >>> import numpy as np
        >>> plays, flow = np.array([[True, False]]), NonOblivious(delay=1, best=0).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([[x, 0.0]]), plays, None).item() for x in (1.0, 0.0, 0.0)]
        [0.0, 1.0, 0.0]

    Source: Wang et al. 2021, section 4.2.
    """

    delay: int
    best: int = 0

    def __post_init__(self) -> None:
        validate.whole("delay", self.delay)
        validate.whole("best", self.best, low=0)

    @property
    def by_arm(self) -> bool:
        """The adversary sees who plays."""
        return True

    def check(self, arms: int) -> None:
        """The best arm must be one of them."""
        if self.best >= arms:
            raise EvenhandError(f"best is arm {self.best + 1}, but there are {arms} arms")

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A wheel of sums to come, and a count of the best arm's plays in a row."""
        return _Delayed(_Streak(self, lanes).delays, lanes, rounds)


class _Streak:
    def __init__(self, adversary: NonOblivious, lanes: int) -> None:
        self._adversary, self._length = adversary, np.zeros(lanes)

    def delays(self, plays: NDArray[np.intp], played: Mask, chance: Array | None) -> Array:
        best, delay = self._adversary.best, self._adversary.delay
        self._length = np.where(played[:, best], self._length + 1.0, 0.0)
        lanes, arms = np.divmod(plays, played.shape[1])
        late = (arms == best) & (self._length[lanes] >= 3 * delay)
        return np.where(late, float(delay), 1.0)


@dataclass(frozen=True, eq=False)
class Adversary(Spread):
    """Any adversary that sees all past plays: a total arrives whole, when the adversary says.

    Args:
        function: takes the number of the step, counted from 1, who plays in it (lanes, arms), and who played in each
            step before, (steps, lanes, arms); returns the delay of each lane's rewards in this step, (lanes,) or one
            number: steps ≥ 0 or inf, rounded down.

    Raises:
        EvenhandError: when the function returns another shape, a negative delay or NaN.

    Example:
        >>> import numpy as np
        >>> plays = np.array([[True, False]])
        >>> slower = Adversary(lambda step, played, past: past.shape[0])
        >>> flow = slower.flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([[x, 0.0]]), plays, None).item() for x in (1.0, 1.0, 0.0)]
        [1.0, 0.0, 1.0]

    Source: Wang et al. 2021, section 3.1.
    """

    function: Callable[[int, Mask, Mask], Any]

    @property
    def by_arm(self) -> bool:
        """The adversary sees who plays."""
        return True

    def check(self, arms: int) -> None:
        """The function must cope with any number of arms."""

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A wheel of sums to come, and all past plays."""
        return _Delayed(_Memory(self.function).delays, lanes, rounds)


class _Memory:
    def __init__(self, function: Callable[[int, Mask, Mask], Any]) -> None:
        self._function, self._step = function, 0
        self._past: Mask = np.zeros((0, 0, 0), dtype=bool)

    def delays(self, plays: NDArray[np.intp], played: Mask, chance: Array | None) -> Array:
        if self._step == len(self._past):  # room for as many steps again
            grown = np.zeros((2 * self._step + 1, *played.shape), dtype=bool)
            grown[: self._step] = self._past.reshape(self._step, *played.shape)
            self._past = grown
        told = np.asarray(self._function(self._step + 1, played, self._past[: self._step]), dtype=float)
        self._past[self._step] = played
        self._step += 1
        if told.shape not in ((), (len(played),)):
            raise EvenhandError(
                f"the adversary returned shape {told.shape} in step {self._step}; a delay for each of the "
                f"{len(played)} lanes is needed, or one for all"
            )
        if not (told >= 0.0).all():
            raise EvenhandError(f"the adversary returned {told.tolist()} in step {self._step}; a delay is at least 0")
        return np.asarray(np.floor(np.broadcast_to(told, len(played))[plays // played.shape[1]]))
