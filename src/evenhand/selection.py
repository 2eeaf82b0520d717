"""Who plays this round?

A selection turns a `Claim` into the arms that play. Sleeping arms never play; where fewer arms are available than
plays, all available arms play.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.fairness import Claim
from evenhand.records import Array, Mask

Chosen = tuple[Mask, NDArray[Any] | None]


class Selection(Protocol):
    """A rule for who plays."""

    @property
    def plays(self) -> int:
        """Arms played a round, m."""
        ...

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """The arms that play, and the probability with which each was chosen (None: no closed form)."""
        ...


@dataclass(frozen=True)
class TopM:
    """The m arms with the largest claim play.

    Args:
        plays: m ≥ 1, arms played a round.
        ties: ``"first"`` for the lowest index, ``"random"`` for any of the tied arms alike.

    Example:
        >>> import numpy as np
        >>> claim = Claim(score=np.array([0.2, 0.9, 0.5]), random=False)
        >>> TopM(plays=2).select(claim, np.array([True, False, True]), np.random.default_rng(0))[0]
        array([ True, False,  True])

    Source: Patil et al. 2019, section 5 (several plays a round); Huang et al. 2020, eq. (6).
    """

    plays: int = 1
    ties: str = "first"

    def __post_init__(self) -> None:
        validate.whole("plays", self.plays)
        validate.one_of("ties", self.ties, ("first", "random"))

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """The m largest claims, those with a right to go first before the others."""
        score = _awake(claim.score, available)
        first = None if claim.first is None else _awake(claim.first, available)
        if self.ties == "random":
            played = self._ranked(score, first, claim.above, rng.random(score.shape))
            known = first is None and not claim.random
            return _among(played, available), self._tied_probabilities(score, available) if known else None
        if self.plays == 1:
            played = _hot(_largest(score, first, claim.above)[..., np.newaxis], score.shape)
        else:
            played = self._ranked(score, first, claim.above)
        played = _among(played, available)
        return played, None if claim.random else played

    def _ranked(self, score: Array, first: Array | None, above: float, tie: Array | None = None) -> Mask:
        keys = [] if tie is None else [tie]
        if first is None:
            keys.append(-score)
        else:
            leads = first > above
            keys += [np.where(leads, 0.0, -score), -np.where(leads, first, -np.inf)]
        order = np.lexsort(keys, axis=-1)  # stable: equal keys stay in the order of the arms
        return _hot(order[..., : self.plays], score.shape)

    def _tied_probabilities(self, score: Array, available: Mask | None) -> Array:
        cut = -np.sort(-score, axis=-1)[..., : self.plays][..., -1:]
        above, tied = score > cut, score == cut
        share = (self.plays - above.sum(axis=-1, keepdims=True)) / tied.sum(axis=-1, keepdims=True)
        chance = np.where(above, 1.0, np.where(tied, share, 0.0))
        return chance if available is None else chance * available


@dataclass(frozen=True)
class Categorical:
    """One arm plays, drawn with the probabilities that the claim gives.

    Where arms sleep, the draw is among the available arms in proportion to their probabilities, and evenly
    if those are all 0; a guaranteed share is then a share of the rounds only as far as the arm is available.

    Example:
        >>> import numpy as np
        >>> claim = Claim(score=np.array([0.0, 1.0]), random=False)
        >>> Categorical().select(claim, None, np.random.default_rng(0))
        (array([False,  True]), array([0., 1.]))

    Source: Patil et al. 2019, section 4, Algorithm 1, line 9.
    """

    plays: int = 1

    def __post_init__(self) -> None:
        if self.plays != 1:
            raise EvenhandError(f"a categorical draw plays one arm a round, got plays = {self.plays!r}")

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """One arm drawn from the claim's probabilities, unless an arm has the right to go first."""
        chance = claim.score
        if available is not None:
            chance = chance * available
            chance = np.where(chance.sum(axis=-1, keepdims=True) > 0.0, chance, available)
        total = np.cumsum(chance, axis=-1)
        draw = rng.random(chance.shape[:-1]) * total[..., -1]
        arm = (total > draw[..., np.newaxis]).argmax(axis=-1)
        probabilities = chance / np.maximum(total[..., -1:], np.finfo(float).tiny)
        if claim.first is not None:
            first = _awake(claim.first, available)
            lead = first.argmax(axis=-1)
            leads = _at(first, lead) > claim.above
            arm = np.where(leads, lead, arm)
            probabilities = np.where(leads[..., np.newaxis], _hot(arm[..., np.newaxis], chance.shape), probabilities)
        return _among(_hot(arm[..., np.newaxis], chance.shape), available), None if claim.random else probabilities


def _awake(values: Array, available: Mask | None) -> Array:
    return values if available is None else np.where(available, values, -np.inf)


def _among(played: Mask, available: Mask | None) -> Mask:
    return played if available is None else played & available


def _at(values: Array, arm: NDArray[np.intp]) -> Array:
    """The value of one arm in each lane."""
    return np.asarray(values[arm] if values.ndim == 1 else values.reshape(-1)[arm + _starts(values.shape)])


def _hot(arms: NDArray[np.intp], shape: tuple[int, ...]) -> Mask:
    """True at the given arms (…, arms played) of each lane; in flat places, which is the quickest way to many lanes."""
    places = arms if len(shape) == 1 else arms + _starts(shape)[:, np.newaxis]
    hot = np.zeros(math.prod(shape), dtype=bool)
    hot[places.ravel()] = True
    return hot.reshape(shape)


def _starts(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The flat place of each lane's first arm."""
    return np.arange(0, shape[0] * shape[1], shape[1])


def _largest(score: Array, first: Array | None, above: float) -> NDArray[np.intp]:
    """The arm that goes before all others in each lane."""
    arm: NDArray[np.intp] = score.argmax(axis=-1)
    if first is None:
        return arm
    lead = first.argmax(axis=-1)
    return np.where(_at(first, lead) > above, lead, arm)
