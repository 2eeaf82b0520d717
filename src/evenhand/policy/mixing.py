"""How much exponential weights mix in, how fast they learn, and which delay they assume, phase by phase."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, build, part
from evenhand.policy.part import built
from evenhand.policy.rules import Begins


def at_once(rounds: int) -> list[int]:
    """Only the first round begins a phase."""
    return [1]


def _doubled(length: int, rounds: int) -> list[int]:
    """The rounds after ``length``, twice as many, four times as many, …"""
    return [(length << place) + 1 for place in range(rounds.bit_length()) if (length << place) < rounds]


class MixingRule(Part, ABC):
    """A mixing for every round."""

    @abstractmethod
    def mixing(self, round: int, arms: int) -> float:
        """γ in [0, 1] of a round, counted from 1.

        Args:
            round: t ≥ 1.
            arms: K, number of arms.

        Returns:
            γ.
        """


@part("mixing", "constant")
@frozen
class Constant(MixingRule):
    """The same mixing in every round.

    Args:
        gamma: γ in [0, 1].

    Example:
        >>> Constant(0.1).mixing(round=1, arms=5)
        0.1
    """

    gamma: float = field(converter=validate.unit)

    def rules(self) -> Begins:
        """One phase."""
        return at_once

    def mixing(self, round: int, arms: int) -> float:
        """γ."""
        return self.gamma


@part("mixing", "for_choices")
@frozen
class ForChoices(MixingRule):
    """The mixing of EXP3 for a known number of choices: ``γ = min(1, sqrt(K ln K/((e − 1) n)))``.

    Args:
        choices: n > 0.

    Example:
        >>> round(ForChoices(1000).mixing(round=1, arms=2), 4)
        0.0284

    Source: Auer, Cesa-Bianchi, Freund & Schapire 2002, Corollary 3.2.
    """

    choices: float = field(converter=validate.positive)

    def rules(self) -> Begins:
        """One phase."""
        return at_once

    def mixing(self, round: int, arms: int) -> float:
        """γ."""
        return min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1.0) * self.choices)))


class Phases(MixingRule):
    """A delay, a mixing and a learning rate for every round, in phases that begin anew."""

    @abstractmethod
    def delay(self, round: int) -> int:
        """d ≥ 1 of a round, counted from 1.

        Args:
            round: t ≥ 1.

        Returns:
            d, in rounds.
        """

    @abstractmethod
    def horizon_of(self, round: int) -> int:
        """T of the phase that a round is in, the one by which its rates are set.

        Args:
            round: t ≥ 1.

        Returns:
            T, in rounds.
        """

    @abstractmethod
    def begins(self, round: int) -> bool:
        """Whether a phase begins with the round, and everything that was learned is forgotten.

        Args:
            round: t ≥ 1.
        """

    def delay_after(self, round: int) -> int:
        """The delay of the phase after the one that a round is in.

        Args:
            round: t ≥ 1.

        Returns:
            d, in rounds.
        """
        return self.delay(self.horizon_of(round) + 1)

    def mixing(self, round: int, arms: int) -> float:
        """``γ = min(1, sqrt(2 d K ln K/(T + d)))`` for the phase.

        Source: Wang et al. 2021, Algorithm 3, line 3.
        """
        delay, rounds = self.delay(round), self.horizon_of(round)
        return min(1.0, math.sqrt(2.0 * delay * arms * math.log(arms) / (rounds + delay)))

    def loss_rate(self, round: int, arms: int) -> float:
        """``η = sqrt(2 ln K/(K n))`` for the ``n = T q (1 − q)^(2d−1)`` updates to be expected, ``q = 1/(2d)``.

        An update needs a marker (probability q) after 2d − 1 rounds without one. η balances the terms ``ln K/η`` and
        ``η K n/2`` of the regret of exponential weights on losses.

        Args:
            round: t ≥ 1.
            arms: K, number of arms.

        Returns:
            η > 0.

        Source: Cesa-Bianchi, Gentile & Mansour 2018, section 3.
        """
        delay = self.delay(round)
        chance = 1.0 / (2.0 * delay)
        updates = self.horizon_of(round) * chance * (1.0 - chance) ** (2 * delay - 1)
        return math.sqrt(2.0 * math.log(arms) / (arms * updates))


@part("mixing", "one_phase")
@frozen
class OnePhase(Phases):
    """One phase, with a known delay and a known horizon.

    Args:
        longest: d ≥ 1.
        horizon: T, rounds.

    Example:
        >>> OnePhase(longest=20, horizon=1000).delay(7)
        20
    """

    longest: int = field(converter=validate.count)
    horizon: int = field(converter=validate.count)

    def rules(self) -> Begins:
        """One phase."""
        return at_once

    def delay(self, round: int) -> int:
        """d."""
        return self.longest

    def horizon_of(self, round: int) -> int:
        """T."""
        return self.horizon

    def begins(self, round: int) -> bool:
        """Only the first round."""
        return round == 1


@part("mixing", "doubling")
@frozen
class Doubling(Phases):
    """Phases that end at ``T_k = 2^(k−1) T_1``, each with a guess ``d_k = max(1, ⌊T_k^h⌋)`` of the delay.

    Args:
        first_horizon: T_1 ≥ 1.
        exponent: h in (0, 1).

    Raises:
        EvenhandError: the exponent is 0 or 1.

    Example:
        >>> phases = Doubling(first_horizon=1000)
        >>> [phases.delay(t) for t in (1, 1000, 1001, 2001, 4001)], [phases.begins(t) for t in (1, 1000, 1001)]
        ([10, 10, 12, 15, 20], [True, False, True])

    Source: Wang et al. 2021, appendix C, Algorithm 3.
    """

    first_horizon: int = field(default=1000, converter=validate.count)
    exponent: float = field(default=1.0 / 3.0, converter=validate.unit)

    def __attrs_post_init__(self) -> None:
        if not 0.0 < self.exponent < 1.0:
            raise EvenhandError(f"must be between 0 and 1, got {self.exponent!r}", "exponent")

    def rules(self) -> Begins:
        """Phases that end at T_1, 2 T_1, 4 T_1, …"""
        return lambda rounds: [1, *_doubled(self.first_horizon, rounds)]

    def horizon_of(self, round: int) -> int:
        """T_k of the phase that the round is in."""
        doublings = ((round - 1) // self.first_horizon).bit_length()
        return self.first_horizon * (1 << doublings)

    def delay(self, round: int) -> int:
        """``max(1, ⌊T_k^h⌋)``; a billionth is a rounding error."""
        return max(1, math.floor(math.pow(self.horizon_of(round), self.exponent) + 1e-9))

    def begins(self, round: int) -> bool:
        """The first round of a phase."""
        return round == 1 or self.horizon_of(round) > self.horizon_of(round - 1)


@part("mixing", "doubled_horizon")
@frozen
class DoubledHorizon(MixingRule):
    """The mixing of ARS-EXP3 where T is unknown: phase k lasts ``T_k = 2^(k−1) T_1`` rounds and begins anew.

    ``γ = min(1, sqrt(K ln K/((e − 1) ((β + 1) T_k)^(1/(β + 1)))))``

    Args:
        first_horizon: T_1 ≥ 1, rounds of the first phase.
        exponent: β > 0, of the sizes of choices.

    Example:
        >>> phases = DoubledHorizon(first_horizon=1000)
        >>> [phases.horizon_of(t) for t in (1, 1000, 1001, 3000, 3001)], [phases.begins(t) for t in (1, 1000, 1001)]
        ([1000, 1000, 2000, 2000, 4000], [True, False, True])

    Source: the doubling that Wang et al. 2021, section 3.1, refer to where T is unknown; T_1 is ours.
    """

    first_horizon: int = field(default=1000, converter=validate.count)
    exponent: float = field(default=0.5, converter=validate.positive)

    def rules(self) -> Begins:
        """Phases of T_1, 2 T_1, 4 T_1, … rounds."""
        first = self.first_horizon
        return lambda rounds: [start - first for start in _doubled(first, rounds + first)]

    def horizon_of(self, round: int) -> int:
        """T_k of the phase that a round is in, counted from 1.

        Args:
            round: t ≥ 1.

        Returns:
            T_k, in rounds.
        """
        return self.first_horizon << self._doublings(round)

    def begins(self, round: int) -> bool:
        """Whether a phase begins with the round, and everything that was learned is forgotten.

        Args:
            round: t ≥ 1.
        """
        return round - 1 == ((1 << self._doublings(round)) - 1) * self.first_horizon

    def mixing(self, round: int, arms: int) -> float:
        """γ of the phase."""
        power = self.exponent + 1.0
        return ForChoices((power * self.horizon_of(round)) ** (1.0 / power)).mixing(round, arms)

    def _doublings(self, round: int) -> int:
        return ((round - 1) // self.first_horizon + 1).bit_length() - 1


def as_doubled(value: DoubledHorizon | Mapping[str, object]) -> DoubledHorizon:
    """Phases of doubled length, given as such or by their plain form."""
    return built("mixing", value, DoubledHorizon, "DoubledHorizon(first_horizon=1000)")


def as_mixing(value: MixingRule | float | Mapping[str, object]) -> MixingRule:
    """A mixing rule, given as one, as a number in [0, 1], or by its plain form."""
    if isinstance(value, int | float):
        return Constant(validate.unit(value))
    rule = build("mixing", value)
    if not isinstance(rule, MixingRule):
        raise EvenhandError(f"must be a number in [0, 1] or a rule such as ForChoices(1000), got {shown(value)}")
    return rule


def as_phases(value: Phases | Mapping[str, object]) -> Phases:
    """Phases, given as such or by their plain form."""
    return built("mixing", value, Phases, "OnePhase(longest=10, horizon=1000)")
