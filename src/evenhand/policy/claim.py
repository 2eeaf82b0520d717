"""What a fairness part gives, and the base class of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypedDict

import numpy as np

from evenhand.core.by_default import by_default
from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array, Mask, State
from evenhand.policy.accounts import owed
from evenhand.policy.merit import Merit
from evenhand.policy.part import Composition, PolicyPart


@dataclass(slots=True)  # frozen, it would take twice as long to make, and one is made in every round
class Claim:
    """What a fairness part gives; arms whose ``priority`` exceeds ``threshold`` play before all others."""

    score: Array  # (…, arms)
    priority: Array | None = None  # (…, arms), the largest goes first; None where no arm goes before the others
    threshold: float = 0.0
    owed: Array | None = None  # (…, arms), the part of the score that is for what is owed; None for none
    rate: Array | float = 1.0  # by which the scores of the index were multiplied


@dataclass(slots=True)
class Ranking(Claim):
    """An order of the arms: those with priority first, the largest score before the others.

    Example:
        >>> import numpy as np
        >>> Ranking(np.array([0.2, 0.9])).priority is None
        True
    """


@dataclass(slots=True)
class Shares(Claim):
    """Weights in proportion to which the arms play: ``score`` is positive and finite.

    Example:
        >>> import numpy as np
        >>> Shares(np.array([0.2, 0.8])).threshold
        0.0
    """


def deficits(fractions: Array, rounds: int, state: State, whole: bool = False) -> Array:
    """The plays owed to each arm, its deficit, after ``rounds`` rounds, counted from when its promise began."""
    account = owed if state.begun is None else state.begun.owed
    return account(fractions, rounds, state.tally.pulls, whole=whole)  # type: ignore[no-any-return]


def spread(score: Array, available: Mask | None) -> Array:
    """The largest score less the smallest of the arms that can play, each cut to [0, 1]; (…, 1)."""
    score = np.minimum(np.maximum(score, 0.0), 1.0)
    largest, smallest = score, score
    if available is not None:
        largest, smallest = np.where(available, score, -np.inf), np.where(available, score, np.inf)
    width = largest.max(axis=-1, keepdims=True) - smallest.min(axis=-1, keepdims=True)
    return np.asarray(np.maximum(width, 0.0))  # no arm may be available


def weighed(weights: Array, score: Array) -> Array:
    """``w_i score_i``, and 0 where the weight is 0, however large the score."""
    if np.all(weights > 0.0):
        return weights * score
    with np.errstate(invalid="ignore"):
        return np.where(weights > 0.0, weights * score, 0.0)


class Group(TypedDict):
    """Arms that are promised shares together."""

    name: str
    arms: list[int]  # their places, from 0
    at_least: float  # the floor, plays of these arms per round
    at_most: float | None  # the cap; None for none


class Fairness(PolicyPart, ABC):
    """A rule for what arms are owed. An own rule needs `claim`, and ``fractions`` if it promises shares.

    Its traits: ``gives`` (what `claim` returns), ``takes`` (the scores that it works with), ``bounded``,
    ``ignores_score``, ``exact``, ``limits``, ``arrears`` and ``idle``; see `evenhand.policy.part.Traits`.
    """

    @by_default
    def penalties(self) -> Array | None:
        """(arms,) or (1,), the price of a missing play of each arm; None where there is none."""
        return None

    @by_default
    def weights(self) -> Array | None:
        """(arms,) or (1,), what a unit of reward of each arm counts; None where all count alike."""
        return None

    @by_default
    def merit(self) -> Merit | None:
        """The function of an arm's mean to which its share is proportional; None where no such share is promised."""
        return None

    @by_default
    def caps(self) -> Array | None:
        """(arms,) or (1,), the largest share of the rounds that each arm may have; None where there is no limit."""
        return None

    @by_default
    def groups(self) -> tuple[Group, ...]:
        """The groups of arms that are promised shares together; see `evenhand.policy.groups`."""
        return ()

    @by_default
    def promises(self) -> bool:
        """Whether the plays of the arms are promised, and not only what the policy is measured against."""
        return self.fractions is not None or self.merit is not None

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """The most plays that an arm can be behind its promised share after so many rounds, all arms being available.

        The default allows for a promise that is kept in the long run only: K plays and 2% of the rounds.

        Args:
            arms: K, number of arms.
            rounds: number of rounds.
            plays: m, arms that play per round.

        Returns:
            Plays.
        """
        return arms + 0.02 * rounds

    def allowed(self, memory: Any, arms: int, rounds: int, plays: int) -> float:
        """As `allowance`, also from what the part remembers of a run.

        Args:
            memory: what the part remembers, of one lane or many.
            arms: K, number of arms.
            rounds: number of rounds.
            plays: m, arms that play per round.

        Returns:
            Plays.
        """
        return self.allowance(arms, rounds, plays)

    def scale(self, state: State) -> float | None:
        """The η of the round that is being decided, for a part whose η follows the scores.

        Args:
            state: of a single lane.

        Returns:
            Plays owed that outweigh one unit of score; None where it is a parameter, or there is none.
        """
        return None

    def check(self, arms: int, plays: int) -> None:
        """Refuse a number of arms or of plays per round for which the promise cannot be meant.

        Args:
            arms: K, number of arms.
            plays: m, arms that play per round.

        Raises:
            EvenhandError: the promise is for another number of arms, or cannot be kept.
        """

    def ahead(self, state: State) -> int | None:
        """The arm that `claim` would place before all others whatever the scores are, all arms being available.

        Args:
            state: of a single lane; read, never changed.

        Returns:
            Its place; None where the scores decide. A part that overrides `claim` overrides this with it, if it can.
        """
        return None

    @abstractmethod
    def claim(self, score: Array, state: State) -> Claim:
        """What the arms can claim in the round that is being decided.

        Args:
            score: (…, arms), of the index.
            state: read, never changed.
        """

    def due(self, state: State, rounds: int) -> Array | None:
        """The plays that the arms must have in the next rounds so that none is behind its promise after them.

        Args:
            state: of the policy; read, never changed.
            rounds: how many rounds, of a lease.

        Returns:
            (arms,), negative where an arm is ahead; None where no arm goes before the others for its promise.
        """
        return None

    def refuses(self, policy: Composition) -> str | None:
        """Refuses scores of another kind than the part works with, and rounds without scores."""
        if (self.traits.scaled or self.traits.scored) and not (policy.hold.traits.idle and policy.schedule.traits.idle):
            return f"{type(self).__name__} needs scores in every round: use hold=EveryRound() and no schedule"
        takes, gives = self.traits.takes, policy.index.traits.gives or "means"
        if takes in ("", gives):
            return None
        remedy = "UCB() or BetaSample()" if takes == "means" else "ExponentialWeights(mixing)"
        own, other = type(self).__name__, type(policy.index).__name__
        return f"{own} works with {takes}, {other} gives {gives}: use index={remedy}"
