"""Profiles of rewards over time: how the total of a play is spread over the rounds that follow.

A profile turns the totals x of all rounds so far into the sum Y of the present one, at a cost that does not grow with
its length: a running sum for a constant part, a sum of sums for a linear one, a recursion for a discounted one.

Source: Wang et al. 2021, section 4.1.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask
from evenhand.core.validate import PerArm
from evenhand.environment.anonymous import AnonymousFeedback, Delayed, Flow
from evenhand.environment.feedback import FeedbackRules, FeedbackTraits, Spread
from evenhand.environment.recursions import evenly, fading, running, slid

TAIL = 1e-12  # largest part of a total that may be left out
OFTEN = 100  # rounds after which sums are computed anew, at least


def _factor(value: float) -> float:
    if validate.unit(value) == 1.0:
        raise EvenhandError("must be below 1, got 1")
    return float(value)


def _exponent(value: float) -> float:
    if validate.at_least_one(value) == 1.0:
        raise EvenhandError("must be above 1, got 1: the parts would have no finite sum")
    return float(value)


class Profile(AnonymousFeedback):
    """A profile that neither the arm nor the plays change. A class of your own needs `flow`, `longest` and `tail`."""

    @by_default
    def spread(self) -> Profile:
        """The profile itself."""
        return self

    @by_default
    @abstractmethod
    def longest(self) -> float:
        """The last round after a play in which a part arrives; inf for a profile without an end."""

    @abstractmethod
    def tail(self, lags: Array) -> Array:
        """The part of a total that arrives after so many rounds (1, 2, …) or later, on average, in [0, 1].

        Args:
            lags: rounds, from 1 on.

        Returns:
            Of the shape of ``lags``.
        """

    def tail_sums(self) -> tuple[float, float]:
        """The sums over lags 1, 2, … of `tail` and of its square, in rounds; inf where a sum has no limit.

        Returns:
            ``Σ tail(l)`` and ``Σ tail(l)²``, each at least 0.
        """
        tails = self.tail(np.arange(1.0, self.longest + 1.0))
        return float(tails.sum()), float((tails**2).sum())


class _Past:
    """The totals of the last rounds."""

    def __init__(self, lanes: int, length: int) -> None:
        self._rows, self._now = np.zeros((length + 1, lanes)), 0

    def add(self, totals: Array) -> None:
        """The totals of this round."""
        self._now += 1
        self._rows[self._now % len(self._rows)] = totals

    def ago(self, steps: int) -> Array:
        """The totals of so many rounds ago, at most the length."""
        row: Array = self._rows[(self._now - steps) % len(self._rows)]
        return row


@part("feedback", "spread/random")
@frozen(eq=False)
class RandomDelay(Profile):
    """The whole total after a random number of rounds, uniform on ``low … high``; 0 is the same round.

    Args:
        low: rounds ≥ 0.
        high: rounds ≥ low.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = RandomDelay(low=1, high=2).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([[x]]), plays, np.array([[0.7]])).item() for x in (1.0, 0.5, 0.0, 0.0)]
        [0.0, 0.0, 1.0, 0.5]

    Source: Wang et al. 2021, section 4.1, random delay.
    """

    low: int = field(converter=validate.natural)
    high: int = field(converter=validate.natural)

    traits = FeedbackTraits(random=True, anonymous=True)

    def __attrs_post_init__(self) -> None:
        validate.whole("high", self.high, low=self.low)

    def rules(self) -> FeedbackRules:
        """Totals whole, after `low` to `high` rounds."""
        return FeedbackRules("random", first=self.low, last=self.high)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """Totals under way."""
        return Delayed(self.delays, lanes, rounds)

    @property
    def longest(self) -> float:
        """``high``."""
        return float(self.high)

    def tail(self, lags: Array) -> Array:
        """The probability of a delay of so many rounds or more."""
        return np.clip((self.high + 1.0 - lags) / (self.high - self.low + 1.0), 0.0, 1.0)

    def delays(self, plays: NDArray[np.intp], played: Mask, chance: Array | None) -> Array:
        """The delay of each of the given plays, (n,).

        Args:
            plays: (n,), places of the plays in (lanes, arms), counted flat.
            played: (lanes, arms), who plays.
            chance: (lanes, arms), uniform numbers in [0, 1).

        Returns:
            Rounds, from ``low`` to ``high``.
        """
        assert chance is not None
        return np.asarray(evenly(self.low, self.high, chance.reshape(-1)[plays]))


@part("feedback", "spread/bounded")
@frozen(eq=False)
class Bounded(Profile):
    """Equal parts over the rounds ``start … stop − 1`` after the play.

    Args:
        start: d_min ≥ 0, rounds until the first part.
        stop: d_max > start, rounds until no more parts arrive.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Bounded(start=1, stop=3).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([x]), plays, None).item() for x in (1.0, 0.0, 0.0, 0.0)]
        [0.0, 0.5, 0.5, 0.0]

    Source: Wang et al. 2021, section 4.1, bounded interval.
    """

    start: int = field(converter=validate.natural)
    stop: int = field(converter=validate.count)

    def __attrs_post_init__(self) -> None:
        validate.whole("stop", self.stop, low=self.start + 1)

    @property
    def longest(self) -> float:
        """``d_max − 1``."""
        return self.stop - 1.0

    def tail(self, lags: Array) -> Array:
        """``(d_max − l)/(d_max − d_min)``, at most 1."""
        return np.clip((self.stop - lags) / (self.stop - self.start), 0.0, 1.0)

    def rules(self) -> FeedbackRules:
        """A running sum."""
        return FeedbackRules("bounded", first=self.start, last=self.stop)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A running sum."""
        return _Level(self, lanes)


class _Level:
    def __init__(self, profile: Bounded, lanes: int) -> None:
        self._profile, self._past, self._sum = profile, _Past(lanes, profile.stop), np.zeros(lanes)

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        profile, past = self._profile, self._past
        past.add(earned)
        self._sum = running(self._sum, past.ago(profile.start), past.ago(profile.stop))
        return self._sum / (profile.stop - profile.start)


@part("feedback", "spread/decreasing")
@frozen(eq=False)
class Decreasing(Profile):
    """Parts over the rounds 1 … d after the play, falling linearly: ``2 (d + 1 − τ)/(d (d + 1))``.

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

    length: int = field(converter=validate.count)

    def rules(self) -> FeedbackRules:
        """A sum of sums."""
        return FeedbackRules("decreasing", last=self.length)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A sum of sums."""
        return _Line(self.length, lanes, rising=False)

    @property
    def longest(self) -> float:
        """d."""
        return float(self.length)

    def tail(self, lags: Array) -> Array:
        """``(d + 1 − l)(d + 2 − l)/(d (d + 1))``."""
        left = np.maximum(self.length + 1.0 - lags, 0.0)
        return np.asarray(left * (left + 1.0) / (self.length * (self.length + 1.0)))


@part("feedback", "spread/increasing")
@frozen(eq=False)
class Increasing(Profile):
    """Parts over the rounds 1 … d after the play, rising linearly: ``2 τ/(d (d + 1))``.

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

    length: int = field(converter=validate.count)

    def rules(self) -> FeedbackRules:
        """A sum of sums."""
        return FeedbackRules("increasing", last=self.length)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A sum of sums."""
        return _Line(self.length, lanes, rising=True)

    @property
    def longest(self) -> float:
        """d."""
        return float(self.length)

    def tail(self, lags: Array) -> Array:
        """``1 − l (l − 1)/(d (d + 1))``."""
        return np.maximum(1.0 - lags * (lags - 1.0) / (self.length * (self.length + 1.0)), 0.0)


class _Line:
    """``Σ_τ w_τ x(t − τ)`` with w a line over τ = 1 … d: in every round all weights move by one."""

    def __init__(self, length: int, lanes: int, rising: bool) -> None:
        self._length, self._rising, self._past = length, rising, _Past(lanes, length + 1)
        self._sums, self._weighted, self._rounds = np.zeros(lanes), np.zeros(lanes), 0

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        self._past.add(earned)
        self._rounds += 1
        if self._rounds % max(self._length, OFTEN) == 0:
            self._recompute()
        else:
            new, old = self._past.ago(1), self._past.ago(self._length + 1)
            self._sums, self._weighted = slid(self._length, self._rising, self._sums, self._weighted, new, old)
        return self._weighted * (2.0 / (self._length * (self._length + 1)))

    def _recompute(self) -> None:
        """The sums computed from the past, now and then, so that rounding errors do not accumulate."""
        self._sums, self._weighted = np.zeros_like(self._sums), np.zeros_like(self._weighted)
        for ago in range(1, self._length + 1):
            self._sums += self._past.ago(ago)
            self._weighted += (ago if self._rising else self._length + 1 - ago) * self._past.ago(ago)


@part("feedback", "spread/discounted")
@frozen(eq=False)
class Discounted(Profile):
    """Parts that shrink by a factor per round, from the round after the play on: ``(1 − γ) γ^(τ−1)``, without an end.

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

    factor: float = field(converter=_factor)

    def rules(self) -> FeedbackRules:
        """A recursion."""
        return FeedbackRules("discounted", factor=self.factor)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A recursion."""
        return _Decay(self.factor, lanes)

    @property
    def longest(self) -> float:
        """Without an end."""
        return math.inf

    def tail(self, lags: Array) -> Array:
        """``γ^(l−1)``."""
        return np.asarray(self.factor ** (lags - 1.0))

    def tail_sums(self) -> tuple[float, float]:
        """``1/(1 − γ)`` and ``1/(1 − γ²)``."""
        return 1.0 / (1.0 - self.factor), 1.0 / (1.0 - self.factor**2)


class _Decay:
    """``(1 − q) Σ_τ q^(τ−1) x(t − τ)``."""

    def __init__(self, factor: float, lanes: int) -> None:
        self._factor, self._sum, self._last = factor, np.zeros(lanes), np.zeros(lanes)

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        self._sum = fading(self._sum, self._factor, self._last)
        self._last = np.array(earned)
        return (1.0 - self._factor) * self._sum


@part("feedback", "spread/polynomial")
@frozen(eq=False)
class Polynomial(Profile):
    """Parts that shrink as a power of time, from the round after the play on: ``τ^−γ / ζ(γ)``, without an end.

    The power is a sum of exponentials, ``τ^−γ = Σ_k w_k e^(−s_k τ)``, by the trapezoidal rule on its integral
    ``1/Γ(γ) ∫ e^(γu − e^u τ) du``: accurate to 1e-12 of the total in every round up to the horizon.

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

    exponent: float = field(converter=_exponent)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """Recursions side by side."""
        from scipy.special import gamma, zeta

        if 2.0**-self.exponent < TAIL:  # everything but a part of 1e-12 arrives in the next round
            return _Decays(np.ones(1), np.zeros(1), lanes)
        rates, weights = _exponentials(self.exponent, rounds)
        return _Decays(weights * np.exp(-rates) / (gamma(self.exponent) * zeta(self.exponent)), np.exp(-rates), lanes)

    @property
    def longest(self) -> float:
        """Without an end."""
        return math.inf

    def tail(self, lags: Array) -> Array:
        """``ζ(γ, l)/ζ(γ)``, with Hurwitz's zeta function."""
        from scipy.special import zeta

        return np.asarray(zeta(self.exponent, lags) / zeta(self.exponent))

    def tail_sums(self) -> tuple[float, float]:
        """``ζ(γ − 1)/ζ(γ)``, inf for γ ≤ 2; and the sum of the squares, inf for γ ≤ 3/2.

        Beyond 10⁵ rounds ``ζ(γ, l)`` is ``(l − 1/2)^(1−γ)/(γ − 1)`` up to a part of 1e-10.
        """
        from scipy.special import zeta

        power, far = self.exponent, 1e5
        mean = float(zeta(power - 1.0) / zeta(power)) if power > 2.0 else math.inf
        if power <= 1.5:
            return mean, math.inf
        rest = float(zeta(2.0 * power - 2.0, far + 0.5)) / ((power - 1.0) * float(zeta(power))) ** 2
        return mean, float((self.tail(np.arange(1.0, far + 1.0)) ** 2).sum()) + rest


def lateness(profile: Spread, means: PerArm) -> float:
    """How much reward of a play is still to come, summed over the rounds after it: ``d_1 = Σ_{l≥1} max_i s_i W(l)``.

    W(l) is the part of a total that arrives l rounds after the play or later.

    Args:
        profile: W.
        means: (arms,), s_i, mean total reward of a play, in [0, 1].

    Returns:
        d_1 ≥ 0 in rounds; inf where the mean time that a reward takes is infinite.

    Raises:
        EvenhandError: a mean is not in [0, 1].

    Example:
        >>> lateness(Discounted(factor=0.5), [0.75, 0.25])
        1.5

    Source: Wang et al. 2021, Theorem 1.
    """
    return float(validate.per_arm("means", means, 0.0, 1.0).max()) * profile.tail_sums()[0]


def lateness_variance(profile: Spread, means: PerArm, variances: PerArm | None = None) -> float:
    """The variance of what is still to come, summed over the rounds: ``d_2 = Σ_{l≥1} max_i Var(Σ_{τ≥l} r_{i,τ})``.

    The variance is ``W(l)² σ_i²`` for a total that is spread, and ``W(l) (σ_i² + s_i²) − W(l)² s_i²`` for one that
    arrives whole after a random delay.

    Args:
        profile: W, the part of a total that arrives l rounds after the play or later.
        means: (arms,), s_i, mean total reward of a play, in [0, 1].
        variances: (arms,), σ_i² of the totals, in [0, 1/4]; None for totals of 0 and 1, ``s_i (1 − s_i)``.

    Returns:
        d_2 ≥ 0 in rounds; inf where the sum has no limit.

    Raises:
        EvenhandError: a mean is not in [0, 1], or a variance not in [0, 1/4].

    Example:
        >>> lateness_variance(Discounted(factor=0.5), [0.75, 0.25])
        0.25
        >>> lateness_variance(RandomDelay(low=1, high=1), [0.75, 0.25])
        0.1875

    Source: Wang et al. 2021, Theorem 1.
    """
    mean = validate.per_arm("means", means, 0.0, 1.0)
    spread = mean * (1.0 - mean) if variances is None else validate.per_arm("variances", variances, 0.0, 0.25)
    if not profile.traits.random:
        return float(spread.max()) * profile.tail_sums()[1]
    tails = profile.tail(np.arange(1.0, profile.longest + 1.0))[:, np.newaxis]
    return float((tails * (spread + mean**2) - (tails * mean) ** 2).max(axis=1).sum())


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
        self._weights, self._factors = weights[:, np.newaxis], factors[:, np.newaxis]
        self._sums, self._last = np.zeros((len(weights), lanes)), np.zeros(lanes)

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        self._sums *= self._factors
        self._sums += self._last
        self._last = np.array(earned)
        return np.asarray((self._weights * self._sums).sum(axis=0))  # a product of matrices rounds lanes differently
