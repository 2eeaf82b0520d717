"""Kullback–Leibler bounds for rewards in [0, 1]."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from evenhand.core import validate
from evenhand.core.parts import part
from evenhand.core.state import Array, Observation, State
from evenhand.policy.evidence import Evidence, Received, as_evidence
from evenhand.policy.index import Index, at_least_one, log_time
from evenhand.policy.part import Traits

STEPS = 12  # of Newton's iteration, which is then as exact as the numbers


def log_likelihood(sums: Array, counts: Array) -> Array:
    """``S ln(S/n) + (n − S) ln(1 − S/n)``, the largest log-likelihood of n trials with S successes; 0 where n = 0.

    Example:
        >>> log_likelihood(np.array([1.0, 0.0]), np.array([2.0, 5.0])).round(4)
        array([-1.3863,  0.    ])
    """
    rest = counts - sums
    with np.errstate(divide="ignore", invalid="ignore"):
        won = np.where(sums > 0.0, sums * np.log(sums / counts), 0.0)
        lost = np.where(rest > 0.0, rest * np.log(rest / counts), 0.0)
    return np.asarray(won + lost)


def kl_upper_bound(means: Array, budget: Array) -> Array:
    """The largest q in [0, 1] with ``kl(mean, q) ≤ budget``, kl being that of Bernoulli distributions.

    Newton's iteration from above, which stays above the bound since kl is convex: it begins at the smaller one of
    ``p + sqrt(d/2)`` (Pinsker) and ``1 − exp(−(d + h(p))/(1 − p))``, h being the entropy.
    """
    entropy = -log_likelihood(means, np.ones_like(means))
    rest = np.maximum(1.0 - means, 1e-200)
    limit = np.nextafter(1.0, 0.0)
    bound = np.minimum(means + np.sqrt(budget / 2.0), -np.expm1(-np.minimum((budget + entropy) / rest, 700.0)))
    bound = np.minimum(np.maximum(bound, validate.TINY), limit)
    for _ in range(STEPS):
        over = -entropy - means * np.log(bound) - (1.0 - means) * np.log1p(-bound) - budget
        slope = (bound - means) / (bound * (1.0 - bound))
        step = np.where(slope > 0.0, over / np.where(slope > 0.0, slope, 1.0), 0.0)
        bound = np.minimum(np.maximum(bound - np.maximum(step, 0.0), np.maximum(means, validate.TINY)), limit)
    return np.where(means >= 1.0, 1.0, bound)


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
        >>> from evenhand import ALL_AVAILABLE, Tally
        >>> counts = np.array([4.0, 1.0, 0.0])
        >>> state = State(round=5, tally=Tally(counts, counts, np.array([2.0, 0.0, 0.0])))
        >>> KLUCB().score(state, ALL_AVAILABLE, np.random.default_rng(0)).round(3)
        array([0.885, 0.833,   inf])

    Source: Garivier & Cappé 2011, Algorithm 1.
    """

    exploration: float = field(default=0.0, converter=validate.nonnegative)
    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    clock: str = field(default="round", validator=validate.choice("round", "played", "evidence"))
    traits = Traits(bounded=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The upper confidence bound of every arm, (…, arms)."""
        tally = self.evidence.tally(state)
        sums, counts = self.evidence.of(tally)
        growth = log_time(self.clock, state, counts)
        growth = growth + self.exploration * np.log(np.maximum(growth, 1.0))
        counts = at_least_one(counts, tally, state)
        index = kl_upper_bound(np.clip(sums / counts, 0.0, 1.0), growth / counts)
        return np.where(tally.pulls == 0.0, np.inf, index)
