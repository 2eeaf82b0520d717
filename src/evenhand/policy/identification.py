"""Shares with which the best arm is known soonest, while every arm keeps a minimum."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import InfeasiblePromise
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Feedback, Shape, State
from evenhand.policy.claim import Fairness, Ranking, Shares
from evenhand.policy.custom_merit import as_merit
from evenhand.policy.merit import Merit
from evenhand.policy.part import Places, Traits

EDGE, GAP = 0.002, 0.001  # how near to 0 and 1 a mean, and to the best one another, is taken to be at most
STEPS, INNER, ROOMS = 20, 8, 8  # halvings of the level, Newton's steps for a ratio and for the share of the best arm
OFTEN = 14.0  # how often shares are computed anew while the number of rewards doubles


def best_proportions(means: Array, floors: Array) -> Array:
    """The shares of the plays with which the best arm is known soonest, under minimum shares.

    ``w* = argmax over w ≥ p, Σ w = 1 of min over b ≠ a of w_a kl(μ_a, m_b) + w_b kl(μ_b, m_b)``, for the best
    arm a, and ``m_b = (w_a μ_a + w_b μ_b)/(w_a + w_b)``; kl is that of Bernoulli distributions

    With ``w_b = max(p_b, x_b(y) w_a)``, x_b(y) being the ratio for which arm b has the level y w_a, the minimum is a
    concave function of w_a, and its slope has the sign of ``Σ kl(μ_a, m_b)/kl(μ_b, m_b) − 1`` over the arms above their
    floor. So y is found by halving, x_b by Newton's method (the level is concave in it), and w_a from ``Σ w = 1``.

    Checked: against the two allocations that Garivier & Kaufmann print (section 6), a grid, SciPy's SLSQP with floors,
    and the bounds ``T* ≤ T*_p ≤ T*/(1 − Σ p)``. Russo & Vannella show theirs, for Gaussian rewards, in figures only.

    Args:
        means: (…, arms), in [0, 1]; equal ones are taken to differ by a thousandth.
        floors: (…, arms), minimum shares p, with a sum of at most 1.

    Returns:
        (…, arms), shares with a sum of 1.

    Source: Garivier & Kaufmann 2016, Theorem 5 (p = 0); Russo & Vannella 2024, Theorem 1 (minimum shares).
    """
    means, floors = np.clip(means, EDGE, 1.0 - EDGE), np.broadcast_to(floors, means.shape)
    lead = np.arange(means.shape[-1]) == means.argmax(axis=-1)[..., np.newaxis]
    top = means.max(axis=-1, keepdims=True)
    rest, least = np.where(lead, top - GAP, np.minimum(means, top - GAP)), np.where(lead, 0.0, floors)
    own = np.where(lead, floors, 0.0).sum(axis=-1, keepdims=True)
    low = np.zeros_like(top)
    high = np.where(lead, np.inf, divergence(top, rest)).min(axis=-1, keepdims=True)
    if means.shape[-1] == 1:
        return np.ones_like(means)
    for _ in range(STEPS):
        level = (low + high) / 2.0
        ratio, middle = _ratios(top, rest, level)
        share = _share_of_best(np.where(lead, 0.0, ratio), least)
        free = ~lead & (share * ratio > least)
        slope = np.where(free, divergence(top, middle) / np.maximum(divergence(rest, middle), validate.TINY), 0.0)
        beyond = (slope.sum(axis=-1, keepdims=True) > 1.0) | (share < own)
        low, high = np.where(beyond, low, level), np.where(beyond, level, high)
    ratio = np.where(lead, 0.0, _ratios(top, rest, low)[0])
    others = np.maximum(least, _share_of_best(ratio, least) * ratio)
    return np.where(lead, np.maximum(1.0 - others.sum(axis=-1, keepdims=True), 0.0), others)


def _ratios(top: Array, rest: Array, level: Array) -> tuple[Array, Array]:
    """The x with ``kl(μ_a, m) + x kl(μ_b, m) = level``, from below, and m."""
    ratio = level / divergence(rest, top)
    for _ in range(INNER):
        middle = (top + ratio * rest) / (1.0 + ratio)
        slope = np.maximum(divergence(rest, middle), validate.TINY)
        ratio = np.maximum(ratio + (level - divergence(top, middle) - ratio * slope) / slope, ratio)
    return ratio, (top + ratio * rest) / (1.0 + ratio)


def _share_of_best(ratio: Array, least: Array) -> Array:
    """The w with ``w + Σ max(p_b, w x_b) = 1``, by Newton's method from above, as the sum is convex."""
    share = np.ones((*ratio.shape[:-1], 1))
    for _ in range(ROOMS):
        free = share * ratio > least
        fixed = np.where(free, 0.0, least).sum(axis=-1, keepdims=True)
        share = (1.0 - fixed) / (1.0 + np.where(free, ratio, 0.0).sum(axis=-1, keepdims=True))
    return np.maximum(share, 0.0)


def divergence(p: Array, q: Array) -> Array:
    """kl of Bernoulli distributions with means within (0, 1)."""
    return np.asarray(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)))


class Identifying(Fairness):
    """What the shares below have in common: best proportions for the means so far, mixed with an even part."""

    mixing: float  # c
    power: float  # a

    @abstractmethod
    def floors(self, means: Array) -> Array:
        """(…, arms), the minimum shares for these means."""

    def start(self, shape: Shape) -> Array:
        """Nothing is known: even shares."""
        return np.full(shape, 1.0 / shape[-1])

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Compute the proportions anew in the lanes in which enough has arrived since the last time."""
        now = state.tally.received.sum(axis=-1)
        before = now - feedback.received.sum(axis=-1)
        due = (now > before) & (_octave(now) > _octave(before))
        if due.any():
            kept = self._kept(state.fairness)
            means = _means(state.tally.rewards, state.tally.received)[due]
            kept[due] = best_proportions(means, self.floors(means))

    def learn(self, memory: Any, plays: Array, sums: Array) -> Any:
        """The proportions for what was learned elsewhere."""
        means = _means(sums, plays)
        self._kept(memory)[...] = best_proportions(means, self.floors(means))
        return memory

    def begin(self, memory: Any, places: Places, carried: Array) -> Any:
        """Unchanged: proportions are no account, and plays that a sum of shares lacks are made up for in any case."""
        return deepcopy(memory)

    def shares(self, state: State) -> Array:
        """``π_t``, at least the minimum shares of now, whatever the proportions were computed for."""
        floors = self.floors(_means(state.tally.rewards, state.tally.received))
        free = np.maximum(1.0 - floors.sum(axis=-1, keepdims=True), 0.0)
        above = np.maximum(self._kept(state.fairness) - floors, 0.0) + validate.TINY
        above /= above.sum(axis=-1, keepdims=True)
        even = self.mixing * float(state.clock) ** -self.power
        return np.asarray(floors + free * ((1.0 - even) * above + even / state.arms))

    def _kept(self, memory: Any) -> Array:
        """The proportions in what is remembered."""
        kept: Array = memory
        return kept


def _means(sums: Array, counts: Array) -> Array:
    """``(S + 1/2)/(M + 1)``, which is within (0, 1)."""
    return np.asarray((sums + 0.5) / (counts + 1.0))


def _octave(count: Array) -> Array:
    return np.floor(OFTEN * np.log2(np.maximum(count, 1.0)) + 1e-9)


def _check_sum(total: float) -> None:
    if total > 1.0 + 1e-9:
        raise InfeasiblePromise(f"fractions sum to {total:.6g}; minimum shares must not sum to more than 1")


@part("fairness", "identifying_shares")
@frozen(eq=False)
class IdentifyingShares(Identifying):
    """Arms play in the proportions with which the best one is known soonest, each at least with its minimum.

    ``π_t = (1 − c t^−a) w_t + c t^−a π_u``, with the best proportions w_t for the means so far, and
    ``π_u = p + (1 − Σ p)/K``

    The means are ``(S + 1/2)/(M + 1)`` of the rewards that have arrived; w is computed anew when their number has grown
    by 5%, a departure from the paper, which does so in every round.

    Args:
        fractions: (arms,), minimum shares p, in [0, 1], with a sum of at most 1; one number for all arms.
        mixing: c in [0, 1].
        power: a in [0, 1].

    Example:
        >>> from evenhand import Policy
        >>> shares = IdentifyingShares([0.5, 0.0, 0.0])
        >>> state = Policy(fairness=shares, selection="categorical").start(arms=3)
        >>> shares.claim(np.zeros(3), state).score.round(3)
        array([0.583, 0.208, 0.208])

    Source: Russo & Vannella 2024, Algorithm 1 (F-TaS), with c and a of the published code.
    """

    fractions: Array = field(converter=validate.fractions)
    mixing: float = field(default=0.5, converter=validate.unit)
    power: float = field(default=0.5, converter=validate.unit)
    traits = Traits(gives="shares", ignores_score=True, bounded=True)

    def check(self, arms: int, plays: int) -> None:
        """The minimum shares must not exceed one together."""
        _check_sum(float(np.broadcast_to(self.fractions, (*self.fractions.shape[:-1], arms)).sum(axis=-1).max()))

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``1 + 4 sqrt(t)``: eight standard deviations of plays that are drawn with the promised probability."""
        return 4.0 * float(np.sqrt(rounds)) + 1.0

    def floors(self, means: Array) -> Array:
        """The given ones."""
        return np.broadcast_to(self.fractions, means.shape)

    def claim(self, score: Array, state: State) -> Shares:
        """The probability of every arm."""
        return Shares(self.shares(state))


@dataclass(slots=True)
class Tracked:
    """The proportions, and what they add up to."""

    proportions: Array  # (…, arms)
    target: Array  # (…, arms), the sum of the shares of all rounds so far


@part("fairness", "tracked_shares")
@frozen(eq=False)
class TrackedShares(IdentifyingShares):
    """The shares of `IdentifyingShares` without draws: the arm that is furthest below the sum of its shares plays.

    ``argmax Σ_{s≤t} π_s − N``

    With all arms available, N stays within K − 1 of the sum of the shares, and so of the promised plays. This is ours:
    the paper draws, so that every decision has a probability above 0.

    Args:
        fractions: (arms,), minimum shares p, in [0, 1], with a sum of at most 1; one number for all arms.
        mixing: c in [0, 1].
        power: a in [0, 1].

    Example:
        >>> from evenhand import Observation, Policy
        >>> policy, rng = Policy(fairness=TrackedShares([0.5, 0.0, 0.0])), np.random.default_rng(0)
        >>> state = policy.start(arms=3)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(6)]
        [0, 1, 0, 2, 0, 1]

    Source: Garivier & Kaufmann 2016, section 3.1 (C-tracking); Russo & Vannella 2024 (shares).
    """

    traits = Traits(gives="ranking", ignores_score=True, bounded=True)

    def start(self, shape: Shape) -> Any:
        """Even shares, and no rounds yet."""
        return Tracked(super().start(shape), np.zeros(shape))

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """K plays."""
        return float(arms)

    def after_decision(self, state: State, decision: Decision) -> None:
        """Add the shares of the round."""
        state.fairness.target += self.shares(state)

    def claim(self, score: Array, state: State) -> Any:
        """The arms by how far they are below their shares."""
        return Ranking(state.fairness.target + self.shares(state) - state.tally.pulls)

    def _kept(self, memory: Any) -> Array:
        return np.asarray(memory.proportions)


@part("fairness", "identifying_merit")
@frozen
class IdentifyingMerit(Identifying):
    """Like `IdentifyingShares`, with minimum shares that follow the means: ``p_i = q f(μ̂_i)/Σ_j f(μ̂_j)``.

    Args:
        floor_merit: f, one of `evenhand.policy.merit` or any function from an array of means to positive merits.
        part: q in [0, 1], the part of the rounds that is shared by merit.
        mixing: c in [0, 1].
        power: a in [0, 1].

    Example:
        >>> from evenhand import Policy
        >>> from evenhand.merit import Power
        >>> shares = IdentifyingMerit(Power(exponent=2.0), part=0.5)
        >>> shares.floors(np.array([0.0, 1.0])).round(3)
        array([0.125, 0.375])

    Source: Russo & Vannella 2024, section 2 (model-dependent rates, of which they use ``q μ_i/Σ μ_j``).
    """

    floor_merit: Merit = field(converter=as_merit)
    part: float = field(default=0.5, converter=validate.unit)
    mixing: float = field(default=0.5, converter=validate.unit)
    power: float = field(default=0.5, converter=validate.unit)
    traits = Traits(gives="shares", ignores_score=True, bounded=True)

    def floors(self, means: Array) -> Array:
        """Shares by merit."""
        merits = self.floor_merit(means)
        return np.asarray(self.part * merits / merits.sum(axis=-1, keepdims=True))

    def claim(self, score: Array, state: State) -> Shares:
        """The probability of every arm."""
        return Shares(self.shares(state))
