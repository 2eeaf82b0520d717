"""The chance of each arm to be the best, which is what Thompson sampling plays by, in numbers instead of draws."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from evenhand.core.parts import part
from evenhand.core.state import Array, Feedback, Mask, Observation, Shape, State
from evenhand.policy.evidence import Evidence, Received, as_evidence
from evenhand.policy.index import BetaSample, Index, Trials
from evenhand.policy.part import Traits
from evenhand.policy.prior import UNIFORM, Prior, as_prior, check_arms, shapes

#: Standard deviations from each arm's mean at which the panels of the quadrature begin and end.
EDGES = np.array([-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
SMALLEST = 1e-300


@part("index", "best_chance")
@frozen
class BestChance(Index):
    """The probability that an arm is the best: ``w_i = ∫ f_i(x) Π_{j≠i} F_j(x) dx``.

    f and F are the density and the distribution function of ``Beta(a + S, b + M − S)``, from which Thompson sampling
    draws. So arms that play in proportion to w play as often as under Thompson sampling, and their propensities are
    known exactly. Among the available arms only; 0 for a sleeping one.

    The integrals are sums over panels between the points m_i + z σ_i of all arms, z = −8, …, 8, with six nodes of
    Gauss and Legendre each, divided by their sum. Their error is below 10⁻⁶ for up to 10⁵ rewards.

    Args:
        evidence: what to believe of rewards that have not arrived.
        prior: a and b, above 0, of the prior ``Beta(a, b)``, or such a pair per arm.

    Example:
        >>> import numpy as np
        >>> from evenhand import ALL_AVAILABLE, Policy
        >>> policy = Policy(BestChance())
        >>> state = policy.start(arms=2)
        >>> state.tally.pulls[:], state.tally.received[:], state.index.successes[:] = [3, 1], [3, 1], [2, 0]
        >>> policy.index.score(state, ALL_AVAILABLE, np.random.default_rng(0)).round(4)
        array([0.8, 0.2])

    Source: Thompson 1933; the quadrature is ours.
    """

    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    prior: Prior = field(default=UNIFORM, converter=as_prior)
    traits = Traits(gives="weights", bounded=True)

    def start(self, shape: Shape) -> Trials:
        """No trials yet."""
        check_arms(self.prior, shape[-1])
        return Trials(np.zeros(shape))

    def learn(self, memory: Trials, plays: Array, sums: Array) -> Trials:
        """The sum of the rewards is the number of successes."""
        return Trials(memory.successes + sums)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The chance of every arm to be the best, (…, arms)."""
        sums, counts = BetaSample(self.evidence).successes(state)
        a, b = shapes(self.prior)
        return best_chances(a + sums, b + counts - sums, observation.available)

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Count the successes among the rewards that arrived, as Thompson sampling does."""
        BetaSample(self.evidence).after_feedback(state, feedback, rng)


def best_chances(a: Array, b: Array, available: Mask | None = None) -> Array:
    """The probability that each of some independent ``Beta(a_i, b_i)`` variables is the largest, (…, arms)."""
    from scipy.special import betainc, betaln  # slow to import, and few policies need it

    mean = a / (a + b)
    deviation = np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    edges = mean[..., np.newaxis] + deviation[..., np.newaxis] * EDGES
    lowest = edges[..., 0] if available is None else np.where(available, edges[..., 0], 0.0)
    # Below the lowest end of any arm, that arm is larger.
    start = np.clip(lowest.max(axis=-1), 0.0, 1.0)[..., np.newaxis]
    points = np.clip(edges.reshape(*a.shape[:-1], -1), start, 1.0)
    points = np.sort(np.concatenate([start, points, np.ones_like(start)], axis=-1), axis=-1)
    half = np.diff(points, axis=-1)[..., np.newaxis] / 2.0
    at = (points[..., :-1, np.newaxis] + half + half * NODES).reshape(*a.shape[:-1], 1, -1)
    weight = (half * WEIGHTS).reshape(*a.shape[:-1], 1, -1)
    first, second = a[..., np.newaxis], b[..., np.newaxis]
    inside = np.clip(at, SMALLEST, 1.0 - 1e-16)
    density = (first - 1.0) * np.log(inside) + (second - 1.0) * np.log1p(-inside) - betaln(first, second)
    below = np.log(np.maximum(betainc(first, second, inside), SMALLEST))
    if available is not None:
        below = np.where(available[..., np.newaxis], below, 0.0)
    others = below.sum(axis=-2, keepdims=True) - below
    chance: Array = (np.exp(density + others) * weight).sum(axis=-1)
    if available is not None:
        chance = np.where(available, chance, 0.0)
    total = chance.sum(axis=-1, keepdims=True)
    return np.asarray(chance / np.where(total > 0.0, total, 1.0))
