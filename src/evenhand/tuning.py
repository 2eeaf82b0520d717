"""How much exponential weights mix in, and how long a delay CLW reckons with: for good, or anew in every phase."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from evenhand import validate
from evenhand.errors import EvenhandError


class MixingRule(Protocol):
    """A mixing for every round."""

    def mixing(self, round: int, arms: int) -> float:
        """γ of a round, counted from 1."""
        ...


class Tuning(MixingRule, Protocol):
    """A mixing and a delay for every round."""

    @property
    def longest(self) -> int:
        """The longest delay of any round."""
        ...

    def delay(self, round: int) -> int:
        """d of a round, counted from 1."""
        ...

    def begins(self, round: int) -> bool:
        """Whether a phase begins with the round, and all that was learned is forgotten."""
        ...


def mixing_of(mixing: float | MixingRule, round: int, arms: int) -> float:
    """γ of a round, whether it is a number or a rule."""
    return mixing.mixing(round, arms) if hasattr(mixing, "mixing") else float(mixing)


@dataclass(frozen=True)
class ForChoices:
    """The mixing of EXP3 for a known number of choices: ``γ = min(1, sqrt(K ln K/((e − 1) n)))``.

    Args:
        choices: n > 0.

    Example:
        >>> round(ForChoices(1000).mixing(round=1, arms=2), 4)
        0.0284

    Source: Auer, Cesa-Bianchi, Freund & Schapire 2002, Corollary 3.2.
    """

    choices: float

    def __post_init__(self) -> None:
        if validate.number("choices", self.choices, low=0.0) == 0.0:
            raise EvenhandError("choices must be above 0, got 0")

    def mixing(self, round: int, arms: int) -> float:
        """γ."""
        return min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1.0) * self.choices)))


def balanced_mixing(delay: int, rounds: int, arms: int) -> float:
    """``γ = min(1, sqrt(2 d K ln K/(T + d)))``.

    Example:
        >>> round(balanced_mixing(delay=10, rounds=10_000, arms=2), 4)
        0.0526

    Source: Wang et al. 2021, Algorithm 3, line 3.
    """
    return min(1.0, math.sqrt(2.0 * delay * arms * math.log(arms) / (rounds + delay)))


@dataclass(frozen=True)
class Known:
    """One phase, with a known delay and a known horizon.

    Args:
        longest: d ≥ 1.
        horizon: T, rounds.

    Example:
        >>> Known(longest=20, horizon=1000).delay(7)
        20
    """

    longest: int
    horizon: int

    def __post_init__(self) -> None:
        validate.whole("longest", self.longest)
        validate.whole("horizon", self.horizon)

    def delay(self, round: int) -> int:
        """d."""
        return self.longest

    def mixing(self, round: int, arms: int) -> float:
        """γ for the horizon."""
        return balanced_mixing(self.longest, self.horizon, arms)

    def begins(self, round: int) -> bool:
        """Only the first round."""
        return round == 1


@dataclass(frozen=True)
class Doubling:
    """Phases that end at ``T_k = 2^(k−1) T_1``, each with a guess ``d_k = ⌊T_k^h⌋`` of the delay.

    Args:
        first_horizon: T_1 ≥ 1.
        exponent: h in (0, 1).
        horizon: T, rounds; it only says how much memory is needed.

    Example:
        >>> tuning = Doubling(first_horizon=1000, horizon=5000)
        >>> [tuning.delay(t) for t in (1, 1000, 1001, 2001, 4001)], [tuning.begins(t) for t in (1, 1000, 1001)]
        ([10, 10, 12, 15, 20], [True, False, True])

    Source: Wang et al. 2021, appendix C, Algorithm 3.
    """

    first_horizon: int = 1000
    exponent: float = 1.0 / 3.0
    horizon: int = 100_000

    def __post_init__(self) -> None:
        validate.whole("first_horizon", self.first_horizon)
        validate.whole("horizon", self.horizon)
        if not 0.0 < validate.number("exponent", self.exponent, 0.0, 1.0) < 1.0:
            raise EvenhandError(f"exponent must be between 0 and 1, got {self.exponent!r}")

    def _end(self, round: int) -> int:
        """T_k of the phase that the round is in."""
        doublings = ((round - 1) // self.first_horizon).bit_length()
        return self.first_horizon * (1 << doublings)

    @property
    def longest(self) -> int:
        """The guess of the last phase."""
        return self.delay(self.horizon)

    def delay(self, round: int) -> int:
        """``max(1, ⌊T_k^h⌋)``; a billionth is a rounding error."""
        return max(1, math.floor(math.pow(self._end(round), self.exponent) + 1e-9))

    def mixing(self, round: int, arms: int) -> float:
        """γ for the phase."""
        return balanced_mixing(self.delay(round), self._end(round), arms)

    def begins(self, round: int) -> bool:
        """The first round of a phase."""
        return round == 1 or self._end(round) > self._end(round - 1)
