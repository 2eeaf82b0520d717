"""Inverse gap weighting: the best arm plays most, the others the less the further they are behind."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, FeatureShape, Mask, Observation, Shape, State
from evenhand.core.streams import over_arms
from evenhand.policy.claim import Claim, Shares
from evenhand.policy.groups import NEVER
from evenhand.policy.part import Composition, Traits
from evenhand.policy.selection import Categorical, Selected, Selection
from evenhand.policy.spread import Spread

Gamma = float | Literal["auto", "auto_spread"]
BY_SPREAD = "auto_spread"
#: Factors of γ. Of 1, 3, 10, 30 and 100, 30 is the best or nearly so at gaps of 0.73 and 0.15, for 1,000 to 20,000
#: rounds. By the spread, 10 does as much where the spread is a third of the range: with rewards of scale 1 and 0.02,
#: linear in six features, it lost 0.0151 and 0.0152 of the scale a round in 4,000 rounds, "auto" 0.0148 and 0.105.
FACTORS = {"auto": 30.0, BY_SPREAD: 10.0}


@dataclass(slots=True)
class Gaps:
    """What the gaps are measured by."""

    columns: int  # d
    spread: Spread  # of the scores


def _as_gamma(value: Any) -> Any:
    """A number above 0, or the name of a rule."""
    if isinstance(value, str):
        if value not in FACTORS:
            raise EvenhandError(f"must be a number above 0, {' or '.join(map(repr, FACTORS))}, got {shown(value)}")
        return value
    return validate.positive(value)


def _one_play(instance: object, parameter: object, value: int) -> None:
    """Refuse several plays."""
    if value != 1:
        raise EvenhandError(f"must be 1, as one arm is drawn, got {shown(value)}; use TopM(plays)", "plays")


@part("selection", "inverse_gap")
@frozen
class InverseGap(Selection):
    """One arm plays, drawn with a chance that falls with its gap to the best (SquareCB).

    ``p_a = 1/(K + γ (s* − s_a))``, the best arm a* takes the rest

    K counts the arms that can play, and gaps are parts of the range of scores, at most 1. The range is 1 wide, or
    ``1 + max D⁺/η`` where what is owed is added to scores, so that γ means the same in every round. All chances are
    exact and above 0, so that logs can be weighed; arms that go first for their promise (`DeficitFirst`) play for sure,
    and those whose cap is 0 never. ``γ = "auto"`` grows with the rounds,
    ``γ_t = 30 √(K t/(d ln(1 + t)))``, d being the number of features of an arm and its situation, 1 without any. For
    scores that estimate rewards, such as those of `EmpiricalMean`; bounds and draws explore a second time.

    Where rewards differ by a hundredth of their range, gaps are small, and most rounds explore for long: declare the
    range that rewards have, if it is known. ``"auto_spread"`` needs none: gaps are parts of ḡ_t in place of the range
    of rewards, the mean over the rounds so far of the largest less the smallest score, as ``VirtualQueue(eta="auto")``
    has it, with 10 in place of 30. It is not the default, as no theorem covers it, and while ḡ is mostly error, as with
    clicks at first, it follows differences that are chance.

    Args:
        gamma: γ > 0, ``"auto"`` or ``"auto_spread"``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.policy import EmpiricalMean, InverseGap, Ranking
        >>> policy = Policy(EmpiricalMean(), selection=InverseGap(gamma=4.0))
        >>> state, rng = policy.start(arms=3), np.random.default_rng(0)
        >>> InverseGap(gamma=4.0).select(Ranking(np.array([0.5, 0.75, 0.0])), state, Observation(), rng)[1].round(4)
        array([0.25  , 0.5833, 0.1667])

    Source: Foster and Rakhlin 2020, Algorithm 1; Abe and Long 1999. The anytime γ and the range with promises are ours.
    """

    gamma: Gamma = field(default="auto", converter=_as_gamma)
    plays: int = field(default=1, validator=_one_play)

    @property
    def traits(self) -> Traits:
        """By the spread of scores that lie in a range."""
        by_spread = self.gamma == BY_SPREAD
        return Traits(exact=not by_spread, scaled=by_spread, bounded=by_spread)

    def refuses(self, policy: Composition) -> str | None:
        """The spread of every round is needed."""
        if self.gamma == BY_SPREAD and not (policy.hold.traits.idle and policy.schedule.traits.idle):
            return f"gamma = '{BY_SPREAD}' compares scores in every round: use hold=EveryRound() and no schedule"
        return super().refuses(policy)

    def start(self, shape: Shape) -> int | Gaps | None:
        """d, for ``γ = "auto"``; by the spread also that of the scores."""
        columns = max(sum(shape.columns), 1) if isinstance(shape, FeatureShape) else 1
        if self.gamma == BY_SPREAD:
            return Gaps(columns, Spread.opened(shape, None))
        return columns if isinstance(self.gamma, str) else None

    def grow(self, memory: Any, arms: int) -> Any:
        """As it was."""
        return memory

    def after_decision(self, state: State, decision: Decision) -> None:
        """By the spread, count that of the round."""
        if isinstance(state.selection, Gaps):
            state.selection.spread.see(decision)

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """One arm, drawn with its chance, unless an arm has priority."""
        chance = self._chances(claim, state, observation.available)
        return Categorical().select(Shares(chance, claim.priority, claim.threshold), state, observation, rng)

    def _chances(self, claim: Claim, state: State, available: Mask | None) -> Array:
        """(…, arms), the chances; 0 for arms that cannot play, or whose cap is 0 while others can."""
        score = claim.score
        able = np.ones(score.shape, dtype=bool) if available is None else available
        willing = able & (score > NEVER)
        able = np.where(willing.any(axis=-1, keepdims=True), willing, able)
        score = np.where(able, score, -np.inf)
        best = score.argmax(axis=-1)[..., np.newaxis]
        highest = np.take_along_axis(score, best, axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):  # scores may be infinite
            gap = np.where(score < highest, np.minimum((highest - score) / _range(claim), 1.0), 0.0)
            if isinstance(state.selection, Gaps):
                mean = state.selection.spread.mean
                gap = np.where(mean > 0.0, gap * (_range(claim) / _range(claim, np.where(mean > 0.0, mean, 1.0))), 0.0)
        number = np.maximum(able.sum(axis=-1, keepdims=True), 1)
        chance = able / (number + self._gamma_in(state) * gap)
        np.put_along_axis(chance, best, 0.0, axis=-1)
        rest = np.maximum(1.0 - over_arms(chance)[..., np.newaxis], 0.0)
        np.put_along_axis(chance, best, rest, axis=-1)
        return np.asarray(chance * able)

    def _gamma_in(self, state: State) -> float:
        """γ in the round that is being decided."""
        if isinstance(self.gamma, str):
            columns = state.selection.columns if isinstance(state.selection, Gaps) else state.selection
            rounds = state.arms * state.clock / (columns * np.log1p(state.clock))
            return FACTORS[self.gamma] * float(np.sqrt(rounds))
        return self.gamma


def _range(claim: Claim, part: Array | float = 1.0) -> Array:
    """(…, 1) or one number, the largest difference of two scores within a part of their range; 1 where that is 0."""
    width = part * np.max(np.atleast_1d(claim.rate), axis=-1, keepdims=True)
    if claim.owed is not None:
        owed = claim.owed
        width = width + owed.max(axis=-1, keepdims=True, initial=0.0) - owed.min(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.where(width > 0.0, width, 1.0))
