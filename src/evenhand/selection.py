"""Who plays this round?

A selection turns a `Claim` into the arms that play. Sleeping arms never play; where fewer arms are available than
plays, all available arms play.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.fairness import Claim
from evenhand.records import Array, Mask
from evenhand.shares import proportional

TINY = np.finfo(float).tiny
ROUNDING = 1e-9  # by which a sum of shares may miss the whole number that it is
Chosen = tuple[Mask, NDArray[Any]]


class Selection(Protocol):
    """A rule for who plays."""

    @property
    def plays(self) -> int:
        """Arms played a round, m."""
        ...

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """The arms that play, and the selection vector: with which probability each was chosen, given the claim."""
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
        if self.plays == 1 and self.ties == "first" and claim.tie is None:
            played = _among(_hot(_largest(score, first, claim.above), score.shape), available)
            return played, played
        keys = _keys(score, first, claim.above)
        if claim.tie is not None:
            keys = [claim.tie, *keys]
        drawn = [rng.random(score.shape)] if self.ties == "random" else []
        order = np.lexsort(drawn + keys, axis=-1)  # stable: equal keys stay in the order of the arms
        played = _among(_hot(order[..., : self.plays], score.shape), available)
        return played, self._shared(keys, order, available) if drawn else played

    def _shared(self, keys: list[Array], order: NDArray[np.intp], available: Mask | None) -> Array:
        """The chance of each arm when those tied for the last plays share them alike."""
        last = order[..., self.plays - 1, np.newaxis]
        ahead, tied = np.zeros(order.shape, dtype=bool), np.ones(order.shape, dtype=bool)
        for key in reversed(keys):
            cut = np.take_along_axis(key, last, axis=-1)
            ahead |= tied & (key < cut)
            tied &= key == cut
        share = (self.plays - ahead.sum(axis=-1, keepdims=True)) / tied.sum(axis=-1, keepdims=True)
        chance = np.where(ahead, 1.0, tied * share)
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
        probabilities = chance / np.maximum(total[..., -1:], TINY)
        if claim.first is not None:
            first = _awake(claim.first, available)
            lead = first.argmax(axis=-1)
            leads = _at(first, lead) > claim.above
            arm = np.where(leads, lead, arm)
            probabilities = np.where(leads[..., np.newaxis], _hot(arm, chance.shape), probabilities)
        return _among(_hot(arm, chance.shape), available), probabilities


@dataclass(frozen=True)
class DependentRounding:
    """Arms play in proportion to their claim, none twice: exactly m of them, each with its exact share.

    ``p_i = m w_i / Σ_j w_j`` over the available arms, w being the score; where that exceeds one, the excess is shared
    among the others in proportion (`evenhand.shares.proportional`). Arms with a right to go first have ``p_i = 1``.

    Two arms with shares a and b settle at a time: with s = a + b ≤ 1 one of them gets s, the first with probability
    a/s, and the other 0; with s > 1 one of them gets 1, the first with probability (1 − b)/(2 − s), and the other
    s − 1. The arm that is not settled goes on to the next pair, as in a knock-out tournament whose order is drawn anew
    in every round. No pair of arms then plays together more often than if they played independently (negative
    correlation).

    The published code draws each pair from all that are left; the tournament's marginals and correlations hold in any
    order, and it settles all pairs of a level at once.

    Args:
        plays: m ≥ 1, arms played a round.

    Example:
        >>> import numpy as np
        >>> claim = Claim(score=np.array([1.0, 1.0, 1.0, 3.0]), random=False)
        >>> played, chance = DependentRounding(plays=2).select(claim, None, np.random.default_rng(1))
        >>> int(played.sum()), chance.round(3)
        (2, array([0.333, 0.333, 0.333, 1.   ]))

    Source: Chen et al. 2024, section 4.1 (RRS); Gandhi et al. 2006; Srinivasan 2001 for the tournament.
    """

    plays: int = 1

    def __post_init__(self) -> None:
        validate.whole("plays", self.plays)

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """Exactly as many arms as can play up to m."""
        chance = _shares(claim, self.plays, available)
        return _rounded(chance, rng), chance


@dataclass(frozen=True)
class SystematicSampling:
    """Arms play in proportion to their claim: m equally spaced pointers on the line of the shares.

    The shares are those of `DependentRounding`, and so are the marginals; but one random number decides everything, and
    some pairs of arms never play together while others may play together more often than if independent.

    ``arm i plays if some u + k, k = 0, 1, …, lies in [Σ_{j<i} p_j, Σ_{j≤i} p_j)``

    Args:
        plays: m ≥ 1, arms played a round.

    Example:
        >>> import numpy as np
        >>> claim = Claim(score=np.array([1.0, 1.0, 1.0, 3.0]), random=False)
        >>> played, _ = SystematicSampling(plays=2).select(claim, None, np.random.default_rng(1))
        >>> played
        array([False,  True, False,  True])

    Source: Madow 1949.
    """

    plays: int = 1

    def __post_init__(self) -> None:
        validate.whole("plays", self.plays)

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """Exactly as many arms as can play up to m."""
        chance = _shares(claim, self.plays, available)
        ends = np.cumsum(chance, axis=-1)
        whole = np.rint(ends[..., -1:])
        ends = np.where(ends > whole - ROUNDING, whole, ends)  # else an arm of share 0 at the end might play
        # Of 32 bits, so that no difference is rounded to a whole number.
        start = np.floor(rng.random((*chance.shape[:-1], 1)) * 2.0**32) / 2.0**32
        pointers = np.ceil(ends - start)
        return np.diff(pointers, axis=-1, prepend=0.0) > 0.0, chance


def _shares(claim: Claim, plays: int, available: Mask | None) -> Array:
    """The selection vector of a draw in proportion to the score, after the arms that go first."""
    if claim.first is None:
        return proportional(claim.score, plays, available)
    first = _awake(claim.first, available)
    leads = first > claim.above
    if not leads.any():
        return proportional(claim.score, plays, available)
    places = np.argsort(np.argsort(-np.where(leads, first, -np.inf), axis=-1, kind="stable"), axis=-1)
    leads &= places < plays
    left = plays - leads.sum(axis=-1, keepdims=True)
    others = ~leads if available is None else available & ~leads
    return np.where(leads, 1.0, proportional(claim.score, left, others))


def _rounded(chance: Array, rng: np.random.Generator) -> Mask:
    """True for exactly ``Σ chance`` arms of each lane, each with its chance."""
    arms, lanes = chance.shape[-1], chance.size // chance.shape[-1]
    order = rng.permuted(np.broadcast_to(np.arange(arms), (lanes, arms)), axis=1)
    place = np.ascontiguousarray((order + _starts((lanes, arms))[:, np.newaxis]).T)  # a pair is two rows of lanes
    value = chance.reshape(-1)[place]
    played = np.zeros(chance.size, dtype=bool)
    while len(value) > 1:
        even = len(value) // 2 * 2
        first, here, there = value[:even:2], place[:even:2], place[1:even:2]
        total = first + value[1:even:2]
        over = total > 1.0
        # The first arm goes on with chance a/s, or else 1 − (1 − b)/(2 − s) = (1 − a)/(2 − s).
        stays = rng.random(total.shape) * np.abs(total - 2.0 * over) < np.abs(first - over)
        goes_on = np.where(stays, here, there)
        played[here + there - goes_on] = over
        value = np.concatenate([total - over, value[even:]])
        place = np.concatenate([goes_on, place[even:]])
    played[place] = value > 0.5
    return played.reshape(chance.shape)


def _keys(score: Array, first: Array | None, above: float) -> list[Array]:
    """What arms are ordered by, the smallest first, the last key before the others."""
    if first is None:
        return [-score]
    leads = first > above
    return [np.where(leads, 0.0, -score), -np.where(leads, first, -np.inf)]


def _awake(values: Array, available: Mask | None) -> Array:
    return values if available is None else np.where(available, values, -np.inf)


def _among(played: Mask, available: Mask | None) -> Mask:
    return played if available is None else played & available


def _at(values: Array, arm: NDArray[np.intp]) -> Array:
    """The value of one arm in each lane."""
    return np.asarray(values[arm] if values.ndim == 1 else values.reshape(-1)[arm + _starts(values.shape)])


def _hot(arms: NDArray[np.intp], shape: tuple[int, ...]) -> Mask:
    """True at the given arms (…, arms played) of each lane, or at one in each, (…); of many lanes in flat places, which
    is the quickest way.
    """
    hot = np.zeros(shape, dtype=bool)
    if len(shape) == 1:
        hot[arms] = True
    else:
        hot.reshape(-1)[(arms.reshape(shape[0], -1) + _starts(shape)[:, np.newaxis]).ravel()] = True
    return hot


def _starts(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The flat place of each lane's first arm."""
    return np.arange(0, shape[0] * shape[1], shape[1])


def _largest(score: Array, first: Array | None, above: float) -> NDArray[np.intp]:
    """The arm that goes before all others in each lane."""
    arm: NDArray[np.intp] = score.argmax(axis=-1)
    if first is None:
        return arm
    lead = first.argmax(axis=-1)
    leads = _at(first, lead) > above
    if score.ndim == 1:  # a choice between two arrays takes long for a single lane
        return lead if leads else arm
    return np.where(leads, lead, arm)
