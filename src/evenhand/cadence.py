"""How long does a choice last?

A cadence may hold the worth of the arms, or claim rounds for arms of its own schedule, lane by lane.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from evenhand import validate
from evenhand.box import ConfidenceBox
from evenhand.errors import EvenhandError
from evenhand.fairness import Claim
from evenhand.records import Array, Mask, Shape, State

OUT = 2.0**50  # more plays than anybody has


class Cadence(Protocol):
    """A rule for when to choose anew."""

    @property
    def fractions(self) -> Array | None:
        """The share of the rounds that the schedule promises to each arm, (…, arms); None for no promise."""
        ...

    @property
    def free_start(self) -> bool:
        """Whether a simulation pulls every arm once before round 1, free of charge."""
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

    def held(self, state: State, available: Mask | None, rng: np.random.Generator) -> Mask | None:
        """The arms that go on playing, (…, arms), none of them in a lane that chooses anew; None where all lanes do."""
        ...

    def worth(self, worth: Array, state: State) -> Array:
        """The worth to go by, given today's worth (…, arms)."""
        ...

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """The claim to go by, given the fairness part's claim and who is available, (…, arms); None for all."""
        ...

    def note(self, state: State, played: Mask, chosen: Mask | None) -> None:
        """Take in who plays, (…, arms), and which lanes chose anew, (…, 1); None for all."""
        ...


class ChooseAlways:
    """A cadence in which every lane chooses anew in every round."""

    def held(self, state: State, available: Mask | None, rng: np.random.Generator) -> None:
        """Nobody goes on playing by right."""

    def note(self, state: State, played: Mask, chosen: Mask | None) -> None:
        """Nothing to remember of who plays."""


@dataclass(frozen=True)
class EveryRound(ChooseAlways):
    """A choice lasts one round.

    Args:
        free_start: whether a simulation pulls every arm once before round 1. These pulls are no plays of a round: they
            count in the tally, and their rewards come as late as others, but no measure sees them.
        fewest_first: whether of equal claims the arm with the fewest plays goes first, and not the lowest index.

    Example:
        >>> EveryRound().free_start
        False
    """

    free_start: bool = False
    fewest_first: bool = False
    fractions: ClassVar[None] = None
    holds: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth."""
        return worth

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """The claim as it is, or with the plays to settle what is equal."""
        return dataclasses.replace(claim, tie=state.tally.pulls) if self.fewest_first else claim


@dataclass(slots=True)
class Commitment:
    """What the arms were worth when a lane had filled its quotas."""

    worth: Array  # (…, arms) as of the first round after the quotas
    made: Mask  # (…, 1) True where the quotas are filled


@dataclass(frozen=True, eq=False)
class QuotasThen(ChooseAlways):
    """First every arm plays its quota, lowest index first; then the other parts decide.

    Where arms sleep, a round in which every arm with an open quota sleeps is left to the other parts.

    Args:
        quotas: (arms,) whole numbers, plays of each arm before anything else; one number stands for every arm.
        commit: hold the worth that the arms have when the quotas are filled, and never look at rewards again.
        fill: in a round in which an available arm has an open quota, let the arms without one go next, lowest index
            first, rather than by the other parts.
        fractions: (arms,), the share of the rounds that the quotas are there to keep, if any.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(cadence=QuotasThen([2, 1]))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, rng).played.argmax().item() for _ in range(3)]
        [0, 0, 1]

    Source: Patil et al. 2019, section 4, Algorithms 1 and 2; Chen et al. 2024, Algorithm 1, lines 2 to 4.
    """

    quotas: Any
    commit: bool = False
    fractions: Any = None
    fill: bool = False
    free_start: ClassVar[bool] = False

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

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """Arms with an open quota go before all others."""
        due = state.tally.pulls < self.quotas
        if not due.any():
            return claim
        others = -np.inf if claim.first is None else claim.first
        if self.fill:
            awake = due if available is None else due & available
            others = np.where(awake.any(axis=-1, keepdims=True), np.finfo(float).max, others)
        return Claim(claim.score, claim.random, np.where(due, np.inf, others), claim.above)


@dataclass(slots=True)
class Contest:
    """Which arms are still in, and how often each of them has been played since the last cut."""

    alive: Mask  # (…, arms) True for arms that have not been eliminated
    passes: Array  # (…, 1) plays that every arm still in had when arms were last eliminated


@dataclass(frozen=True)
class Elimination(ChooseAlways):
    """Arms play in turn, and one that is surely worse than m others never plays again.

    Whenever every arm still in has been played once more, arm i is eliminated if the upper end of its interval lies
    below the lower ends of m others still in. The arms still in play by their number of plays, the fewest first. An arm
    that is out plays only where too few others are available.

    Args:
        box: an interval for the mean of every arm.
        plays: m, arms played a round; the paper has m = 1.

    Example:
        >>> import numpy as np
        >>> from evenhand import Feedback, Policy
        >>> from evenhand.box import ConfidenceBox
        >>> policy = Policy(cadence=Elimination(ConfidenceBox(inside=2.0, per_arm=False)))
        >>> state, rng, rewards = policy.start(arms=2), np.random.default_rng(0), np.array([1.0, 0.0])
        >>> for _ in range(20):
        ...     played = policy.decide(state, rng).played
        ...     policy.observe(state, Feedback(played, rewards * played), rng)
        >>> state.cadence.alive, state.tally.pulls
        (array([ True, False]), array([17.,  3.]))

    Source: Lancewicki et al. 2021, section 4, Algorithm 3.
    """

    box: ConfidenceBox
    plays: int = 1
    fractions: ClassVar[None] = None
    free_start: ClassVar[bool] = False
    holds: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def start(self, shape: Shape) -> Contest:
        """All arms are in."""
        return Contest(np.ones(shape, dtype=bool), np.zeros((*shape[:-1], 1)))

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth."""
        return worth

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """The arm still in with the fewest plays goes first; whoever is out, last."""
        contest: Contest = state.cadence
        pulls = state.tally.pulls
        passes = np.where(contest.alive, pulls, np.inf).min(axis=-1, keepdims=True)
        if (passes > contest.passes).any():
            self._cut(contest, state, passes)
        return Claim(-pulls - OUT * ~contest.alive, random=False)

    def _cut(self, contest: Contest, state: State, passes: Array) -> None:
        low, high = self.box.of(state)
        low = np.where(contest.alive, low, -np.inf)
        rivals = -np.sort(-low, axis=-1)[..., self.plays - 1, np.newaxis]  # the m-th largest lower end
        beaten = (high < rivals) & (passes > contest.passes)
        contest.alive &= ~beaten
        np.maximum(contest.passes, passes, out=contest.passes)
