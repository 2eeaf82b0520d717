"""Who plays this round?

A selection turns a `Ranking` or `Shares` into the arms that play. Unavailable arms never play; where fewer arms are
available than plays, all available arms play.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask, Observation, State
from evenhand.policy.claim import Claim
from evenhand.policy.part import Composition, PolicyPart, Traits
from evenhand.policy.shares import proportional, require_finite

PASSES = 2  # plays for which a pass over the arms each is quicker than sorting them, also where arms are few
ROUNDING = 1e-9  # by which a sum of shares may miss the whole number that it is
Selected = tuple[Mask, NDArray[Any]]


class Selection(PolicyPart, ABC):
    """A rule for who plays. An own rule needs `select`, and the trait ``takes="shares"`` if it takes no ranking."""

    @by_default
    def plays(self) -> int:
        """m, arms played per round."""
        return 1

    @by_default
    def floor(self) -> float:
        """The least probability of an available arm in every round, whatever is claimed."""
        return 0.0

    def exploring(self, arms: int) -> float:
        """The part of the rounds in which arms are drawn evenly, whatever is claimed.

        Args:
            arms: K.

        Returns:
            In [0, 1].
        """
        return 0.0

    def in_place(self, other: str) -> str:
        """How another selection is written that takes the place of this one, for messages.

        Args:
            other: such as ``"TopM(plays=1)"``.
        """
        return other

    def refuses(self, policy: Composition) -> str | None:
        """Claims of another kind than it takes."""
        gives, takes = policy.fairness.traits.gives or "ranking", self.traits.takes or "ranking"
        if gives == takes:
            return None
        remedy = f"TopM(plays={self.plays})" if gives == "ranking" else "DependentRounding(plays)"
        fairness, own = type(policy.fairness).__name__, type(self).__name__
        given, taken = (f"{'a ' * (one == 'ranking')}{one}" for one in (gives, takes))
        return f"{fairness} gives {given}, {own} takes {taken}: use selection={self.in_place(remedy)}"

    @abstractmethod
    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """The arms that play, and the probability with which each was chosen given the claim, both (…, arms).

        Args:
            claim: a ranking or shares, as the trait ``takes`` says.
            state: of the policy.
            observation: what is known of the round.
            rng: for what is drawn.

        Returns:
            Who plays, and probabilities in [0, 1].
        """


@part("selection", "top_m")
@frozen
class TopM(Selection):
    """The m arms with the largest score play, those with priority before the others.

    Args:
        plays: m ≥ 1, arms played per round.
        ties: of equal arms ``"first"`` plays the lowest index, ``"random"`` any of them alike, ``"fewest"`` the one
            with the fewest plays.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.policy import Ranking
        >>> state, rng = Policy().start(arms=3), np.random.default_rng(0)
        >>> observation = Observation(np.array([True, False, True]))
        >>> TopM(plays=2).select(Ranking(np.array([0.2, 0.9, 0.5])), state, observation, rng)[0]
        array([ True, False,  True])

    Source: Patil et al. 2019, section 5 (several plays per round); Huang et al. 2020, eq. (6).
    """

    plays: int = field(default=1, converter=validate.count)
    ties: str = field(default="first", validator=validate.choice("first", "random", "fewest"))

    def rules(self) -> str:
        """Which of equal arms goes first."""
        return self.ties

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """The m arms that are ranked first."""
        score, first, available = claim.score, claim.priority, observation.available
        if available is not None:
            score, first = _awake(score, available), None if first is None else _awake(first, available)
        if self.ties == "first" and (self.plays <= PASSES or self.plays <= score.shape[-1] // 5):
            played = _largest(score, first, claim.threshold, self.plays)
            if self.plays == 1 or np.count_nonzero(played) * score.shape[-1] == self.plays * score.size:
                if available is not None:
                    played &= available
                return played, played
        keys = _keys(score, first, claim.threshold)
        if self.ties == "fewest":
            keys = [state.tally.pulls, *keys]
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


def _one_play(instance: object, parameter: object, value: int) -> None:
    if value != 1:
        raise EvenhandError(
            f"must be 1 for a categorical draw, got {shown(value)}; use DependentRounding(plays)", "plays"
        )


@part("selection", "categorical")
@frozen
class Categorical(Selection):
    """One arm plays, drawn with the probabilities that the claim gives.

    Where arms sleep, the draw is among the available arms in proportion to their probabilities, and evenly
    if those are all 0; a guaranteed share is then a share of the rounds only as far as the arm is available.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import Shares
        >>> state, rng = Policy().start(arms=2), np.random.default_rng(0)
        >>> Categorical().select(Shares(np.array([0.0, 1.0])), state, Observation(), rng)
        (array([False,  True]), array([0., 1.]))

    Source: Patil et al. 2019, section 4, Algorithm 1, line 9.
    """

    plays: int = field(default=1, validator=_one_play)
    traits = Traits(takes="shares")

    def rules(self) -> str:
        """An arm is drawn."""
        return "drawn"

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """One arm drawn from the claim's probabilities, unless an arm has priority."""
        chance, available = claim.score, observation.available
        if available is not None:
            chance = np.where(available, chance, 0.0)
            whole = chance.sum(axis=-1, keepdims=True)
            require_finite(whole)
            chance = np.where(whole > 0.0, chance, available)
        total = np.cumsum(chance, axis=-1)
        require_finite(total[..., -1])
        draw = rng.random(chance.shape[:-1]) * total[..., -1]
        arm = (total > draw[..., np.newaxis]).argmax(axis=-1)
        probabilities = chance / np.maximum(total[..., -1:], validate.TINY)
        if claim.priority is not None:
            first = _awake(claim.priority, available)
            lead = first.argmax(axis=-1)
            leads = _at(first, lead) > claim.threshold
            arm = np.where(leads, lead, arm)
            probabilities = np.where(leads[..., np.newaxis], _hot(arm, chance.shape), probabilities)
        return _among(_hot(arm, chance.shape), available), probabilities


@part("selection", "dependent_rounding")
@frozen
class DependentRounding(Selection):
    """Arms play in proportion to their claim, none twice: exactly m of them, each with its exact share.

    ``p_i = m w_i / Σ_j w_j`` over the available arms, w being the score; where that exceeds one, the excess is shared
    among the others in proportion (`evenhand.policy.shares.proportional`). Arms with priority have ``p_i = 1``.

    Two arms with shares a and b settle at a time: with s = a + b ≤ 1 one of them gets s, the first with probability
    a/s, and the other 0; with s > 1 one of them gets 1, the first with probability (1 − b)/(2 − s), and the other
    s − 1. The arm that is not settled goes on to the next pair, as in a knock-out tournament whose order is drawn anew
    in every round. No pair of arms then plays together more often than if they played independently (negative
    correlation).

    The published code draws each pair from all that are left; the tournament's marginals and correlations hold in any
    order, and it settles all pairs of a level at once.

    Args:
        plays: m ≥ 1, arms played per round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import Shares
        >>> state, rng = Policy().start(arms=4), np.random.default_rng(1)
        >>> claim = Shares(np.array([1.0, 1.0, 1.0, 3.0]))
        >>> played, chance = DependentRounding(plays=2).select(claim, state, Observation(), rng)
        >>> int(played.sum()), chance.round(3)
        (2, array([0.333, 0.333, 0.333, 1.   ]))

    Source: Chen et al. 2024, section 4.1 (RRS); Gandhi et al. 2006; Srinivasan 2001 for the tournament.
    """

    plays: int = field(default=1, converter=validate.count)
    traits = Traits(takes="shares")

    def rules(self) -> str:
        """Arms are drawn."""
        return "rounding"

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """Exactly as many arms as can play up to m."""
        chance = _shares(claim, self.plays, observation.available)
        return _rounded(chance, rng), chance


@part("selection", "systematic")
@frozen
class SystematicSampling(Selection):
    """Arms play in proportion to their claim: m equally spaced pointers on the line of the shares.

    The shares are those of `DependentRounding`, and so are the marginals; but one random number decides everything, and
    some pairs of arms never play together while others may play together more often than if independent.

    ``arm i plays if some u + k, k = 0, 1, …, lies in [Σ_{j<i} p_j, Σ_{j≤i} p_j)``

    Args:
        plays: m ≥ 1, arms played per round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import Shares
        >>> state, rng = Policy().start(arms=4), np.random.default_rng(1)
        >>> claim = Shares(np.array([1.0, 1.0, 1.0, 3.0]))
        >>> played, _ = SystematicSampling(plays=2).select(claim, state, Observation(), rng)
        >>> played
        array([False,  True, False,  True])

    Source: Madow 1949.
    """

    plays: int = field(default=1, converter=validate.count)
    traits = Traits(takes="shares")

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """Exactly as many arms as can play up to m."""
        chance = _shares(claim, self.plays, observation.available)
        ends = np.cumsum(chance, axis=-1)
        whole = np.rint(ends[..., -1:])
        ends = np.where(ends > whole - ROUNDING, whole, ends)  # else an arm of share 0 at the end might play
        # Of 32 bits, so that no difference is rounded to a whole number.
        start = np.floor(rng.random((*chance.shape[:-1], 1)) * 2.0**32) / 2.0**32
        pointers = np.ceil(ends - start)
        return np.diff(pointers, axis=-1, prepend=0.0) > 0.0, chance


def _shares(claim: Claim, plays: int, available: Mask | None) -> Array:
    """The selection vector of a draw in proportion to the score, after the arms that go first."""
    if claim.priority is None:
        return proportional(claim.score, plays, available)
    first = _awake(claim.priority, available)
    leads = first > claim.threshold
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
        first, second, here, there = value[:even:2], value[1:even:2], place[:even:2], place[1:even:2]
        total = first + second
        over = total > 1.0
        # The first gets the larger share with chance a/s or (1 − b)/(2 − s), by a coin that is the same at s = 1, often
        # the sum of the last pair: who plays must not depend on how that is rounded.
        coins = rng.random(total.shape[::-1]).T
        ahead = coins * np.where(over, 2.0 - total, total) < np.where(over, 1.0 - second, first)
        goes_on = np.where(ahead != over, here, there)
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
    """True at the given arms of each lane, (…, arms played), or at one in each, (…); by flat places, as is quickest."""
    hot = np.zeros(shape, dtype=bool)
    if len(shape) == 1:
        hot[arms] = True
    else:
        hot.reshape(-1)[(arms.reshape(shape[0], -1) + _starts(shape)[:, np.newaxis]).ravel()] = True
    return hot


def _starts(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The flat place of each lane's first arm."""
    return np.arange(0, shape[0] * shape[1], shape[1])


def _largest(score: Array, first: Array | None, above: float, plays: int) -> Mask:
    """The arms that go before all others in each lane, a pass each, of equal ones the lowest.

    An arm that is taken gets a score of −∞. So fewer than ``plays`` arms are found where others have −∞, too; otherwise
    they are those of a stable sort.
    """
    played = np.zeros(score.shape, dtype=bool)
    if score.ndim == plays == 1:  # usually online
        lead = None if first is None else first.argmax()
        played[score.argmax() if first is None or not first[lead] > above else lead] = True
        return played
    if plays > 1:
        score, first = score.copy(), None if first is None else first.copy()
    place: Any
    for left in range(plays - 1, -1, -1):
        if score.ndim == 1:  # a choice between two arrays takes long for a single lane
            lead = None if first is None else first.argmax()
            place = score.argmax() if first is None or not first[lead] > above else lead
            played[place] = True
        else:
            starts = _starts(score.shape)
            place = score.argmax(axis=-1) + starts
            if first is not None:
                lead = first.argmax(axis=-1) + starts
                place = np.where(first.reshape(-1)[lead] > above, lead, place)
            played.reshape(-1)[place] = True
        if left:
            score.reshape(-1)[place] = -np.inf
            if first is not None:
                first.reshape(-1)[place] = -np.inf
    return played
