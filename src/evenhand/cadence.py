"""How long does a choice last?

A cadence may hold the worth of the arms, or claim rounds for arms of its own schedule, lane by lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.fairness import Claim
from evenhand.records import Array, Mask, Shape, State


class Cadence(Protocol):
    """A rule for when to choose anew."""

    @property
    def fractions(self) -> Array | None:
        """The share of the rounds that the schedule promises to each arm, (…, arms); None for no promise."""
        ...

    @property
    def holds(self) -> bool:
        """Whether a worth outlives its round, so that sleeping arms need one too."""
        ...

    def check(self, arms: int) -> None:
        """Complain if a parameter is meant for another number of arms."""
        ...

    def start(self, shape: Shape) -> Any:
        """What the cadence remembers beyond the tally, before the first round; None for nothing."""
        ...

    def worth(self, worth: Array, state: State) -> Array:
        """The worth to go by, given today's worth (…, arms)."""
        ...

    def claim(self, claim: Claim, state: State) -> Claim:
        """The claim to go by, given the fairness part's claim."""
        ...


@dataclass(frozen=True)
class EveryRound:
    """A choice lasts one round."""

    fractions: None = None
    holds: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth."""
        return worth

    def claim(self, claim: Claim, state: State) -> Claim:
        """The claim as it is."""
        return claim


@dataclass(slots=True)
class Commitment:
    """What the arms were worth when a lane had filled its quotas."""

    worth: Array  # (…, arms) as of the first round after the quotas
    made: Mask  # (…, 1) True where the quotas are filled


@dataclass(frozen=True, eq=False)
class QuotasThen:
    """First every arm plays its quota, lowest index first; then the other parts decide.

    Where arms sleep, a round in which every arm with an open quota sleeps is left to the other parts.

    Args:
        quotas: (arms,) whole numbers, plays of each arm before anything else; one number stands for every arm.
        commit: hold the worth that the arms have when the quotas are filled, and never look at rewards again.
        fractions: (arms,), the share of the rounds that the quotas are there to keep, if any.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(cadence=QuotasThen([2, 1]))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, rng).played.argmax().item() for _ in range(3)]
        [0, 0, 1]

    Source: Patil et al. 2019, section 4, Algorithms 1 and 2.
    """

    quotas: Any
    commit: bool = False
    fractions: Any = None

    def __post_init__(self) -> None:
        quotas = validate.per_arm_or_one("quotas", self.quotas, low=0.0)
        plain = getattr(quotas, "values", quotas)
        if (plain != np.round(plain)).any():
            raise EvenhandError(f"quotas must be whole numbers, got {self.quotas!r}")
        object.__setattr__(self, "quotas", quotas)
        if self.fractions is not None:
            object.__setattr__(self, "fractions", validate.per_arm("fractions", self.fractions, 0.0, 1.0))

    def check(self, arms: int) -> None:
        """The quotas must be for that many arms, or one for all."""
        if self.quotas.shape[-1] != 1:
            validate.one_an_arm("quotas", self.quotas, arms)

    @property
    def holds(self) -> bool:
        """The worth committed to outlives its round."""
        return self.commit

    def start(self, shape: Shape) -> Commitment | None:
        """No commitment yet."""
        if not self.commit:
            return None
        return Commitment(np.zeros(shape), np.zeros((*shape[:-1], 1), dtype=bool))

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth, or the worth committed to."""
        if not self.commit:
            return worth
        memory: Commitment = state.cadence
        filled = (state.tally.pulls >= self.quotas).all(axis=-1, keepdims=True)
        np.copyto(memory.worth, worth, where=filled & ~memory.made)
        np.copyto(memory.made, filled)
        return np.where(filled, memory.worth, worth)

    def claim(self, claim: Claim, state: State) -> Claim:
        """Arms with an open quota go before all others."""
        others = -np.inf if claim.first is None else claim.first
        first = np.where(state.tally.pulls < self.quotas, np.inf, others)
        return Claim(claim.score, claim.random, first, claim.above)
