"""Kullback–Leibler bounds for rewards in [0, 1]."""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Observation, State, Tally
from evenhand.policy.evidence import Evidence, Received, as_evidence
from evenhand.policy.index import Index, at_least_one, log_time
from evenhand.policy.part import Traits

STEPS = 12  # of Newton's iteration, which is then as exact as the numbers
FEW = 64  # bounds among which none is left out, as it would take longer than to go on with them


def log_likelihood(sums: Array, counts: Array) -> Array:
    """``S ln(S/n) + (n − S) ln(1 − S/n)``, the largest log-likelihood of n trials with S successes; 0 where n = 0."""
    rest = counts - sums
    with np.errstate(divide="ignore", invalid="ignore"):
        won = np.where(sums > 0.0, sums * np.log(sums / counts), 0.0)
        lost = np.where(rest > 0.0, rest * np.log(rest / counts), 0.0)
    return np.asarray(won + lost)


def kl_upper_bound(means: Array, budget: Array, leaders: int | None = None) -> Array:
    """The largest q in [0, 1] with ``kl(mean, q) ≤ budget``, kl being that of Bernoulli distributions.

    Newton's iteration from above, which stays above the bound since kl is convex: it begins at the smaller one of
    ``p + sqrt(d/2)`` (Pinsker) and ``1 − exp(−(d + h(p))/(1 − p))``, h being the entropy.

    With ``leaders`` only that many of the largest, and those equal to the last of them, are exact; others are any
    smaller numbers. This is right as no step makes a bound larger: one below the smallest of the leaders' stays
    below. A bound that a step does not change is final.
    """
    p, d = means.ravel(), np.broadcast_to(budget, means.shape).ravel()
    bound = np.where(p >= 1.0, 1.0, 0.0)
    found: Array = bound.reshape(means.shape)
    (at,) = (p < 1.0).nonzero()
    if leaders is not None and len(p) - len(at) >= leaders:  # enough arms have the largest bound possible
        return found
    p, d = p[at], d[at]
    wide = p + np.sqrt(d / 2.0)
    if leaders is not None and len(at) > max(FEW, leaders):
        kept = np.maximum(wide, validate.TINY) >= _last_of(wide, leaders, p, d)
        at, p, d, wide = at[kept], p[kept], d[kept], wide[kept]
    entropy, rest = -log_likelihood(p, np.ones_like(p)), 1.0 - p
    limit, lowest = np.nextafter(1.0, 0.0), np.maximum(p, validate.TINY)
    now = np.minimum(wide, -np.expm1(-np.minimum((d + entropy) / rest, 700.0)))
    now = np.minimum(np.maximum(now, lowest), limit)
    for _ in range(STEPS):
        over = -entropy - p * np.log(now) - rest * np.log1p(-now) - d
        slope = (now - p) / (now * (1.0 - now))
        step = np.where(slope > 0.0, over / np.where(slope > 0.0, slope, 1.0), 0.0)
        before, now = now, np.minimum(np.maximum(now - np.maximum(step, 0.0), lowest), limit)
        bound[at] = now
        moves = now < before
        if leaders is not None and len(now) > max(FEW, leaders):
            moves &= now >= _last_of(now, leaders, p, d)
        if 2 * np.count_nonzero(moves) < len(moves):
            at, p, d, entropy, now, rest, lowest = (one[moves] for one in (at, p, d, entropy, now, rest, lowest))
        if not len(at):
            break
    return found


def _last_of(high: Array, leaders: int, means: Array, budget: Array) -> float:
    """A number that all leaders' bounds reach: the smallest bound of the arms whose present values are largest."""
    first = np.argpartition(high, -leaders)[-leaders:]
    return float(kl_upper_bound(means[first], budget[first]).min())


@part("index", "kl_ucb")
@frozen
class KLUCB(Index):
    """Kullback–Leibler upper confidence bound: the largest q with ``M kl(S/M, q) ≤ ln t + c ln ln t``.

    An arm that was never pulled goes first; one whose rewards are all still missing has a mean of 0.

    Args:
        exploration: c ≥ 0; the theory has 3, its authors advise 0 in practice.
        evidence: what to believe of rewards that are missing or old.
        clock: t: ``"round"``, ``"played"`` or ``"evidence"``, as in `evenhand.policy.index.UCB`.

    Example:
        >>> from evenhand import Observation
        >>> from evenhand.typing import Tally
        >>> counts = np.array([4.0, 1.0, 0.0])
        >>> state = State(round=5, tally=Tally(counts, counts, np.array([2.0, 0.0, 0.0])))
        >>> KLUCB().score(state, Observation(), np.random.default_rng(0)).round(3)
        array([0.885, 0.833,   inf])

    Source: Garivier & Cappé 2011, Algorithm 1.
    """

    exploration: float = field(default=0.0, converter=validate.nonnegative)
    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    clock: str = field(default="round", validator=validate.choice("round", "played", "evidence"))
    traits = Traits(bounded=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The upper confidence bound of every arm, (…, arms)."""
        tally, means, budget = self._means(state)
        return np.where(tally.pulls == 0.0, np.inf, kl_upper_bound(means, budget))

    def leading(self, state: State, observation: Observation, rng: np.random.Generator, plays: int) -> Array:
        """The bounds, of the arms that lead; any smaller number for others."""
        tally, means, budget = self._means(state)
        unknown = tally.pulls == 0.0
        index = np.where(unknown, np.inf, -np.inf)
        known, awake = ~unknown, observation.available
        if awake is not None:
            known, unknown = known & awake, unknown & awake
        if np.count_nonzero(unknown) < plays:
            index[known] = kl_upper_bound(means[known], budget[known], plays)
        return index

    def _means(self, state: State) -> tuple[Tally, Array, Array]:
        """What the evidence goes by, and of each arm the mean and what kl may be."""
        tally = self.evidence.tally(state)
        sums, counts = self.evidence.of(tally)
        growth = log_time(self.clock, state, counts)
        growth = growth + self.exploration * np.log(np.maximum(growth, 1.0))
        counts = at_least_one(counts, tally, state)
        return tally, np.clip(sums / counts, 0.0, 1.0), growth / counts
