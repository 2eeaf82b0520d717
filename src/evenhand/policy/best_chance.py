"""The chance of each arm to be the best, which is what Thompson sampling plays by, in numbers instead of draws."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Feedback, Mask, Observation, Shape, State
from evenhand.policy.evidence import Evidence, Received, as_evidence
from evenhand.policy.index import BetaSample, Index, Trials
from evenhand.policy.part import Traits
from evenhand.policy.prior import UNIFORM, Prior, as_prior, check_arms, shapes

#: Logarithms by which an arm's density has fallen from its mode where the first panels begin and end.
FALLS = np.array([6.0, 24.0])
MOST_PANELS = 32
#: Largest difference between the sum over a panel and the known probability that the maximum is in it.
TOLERANCE = 1e-8
FARTHEST = 700.0  # a larger |y| leaves the range of exp


@cache
def _lobatto(count: int) -> tuple[Array, Array]:
    """Nodes, with both ends, and weights of Gauss and Lobatto on [−1, 1]; they load NumPy's polynomials."""
    legendre = np.polynomial.Legendre.basis(count - 1)
    nodes = np.concatenate([[-1.0], legendre.deriv().roots().real, [1.0]])  # they are real; NumPy 2.5 has them complex
    return nodes, 2.0 / (count * (count - 1) * legendre(nodes) ** 2)


PANEL = 10  # nodes


@part("index", "best_chance")
@frozen
class BestChance(Index):
    """The probability that an arm is the best: ``w_i = ∫ f_i(x) Π_{j≠i} F_j(x) dx``.

    f and F are the density and the distribution function of ``Beta(a + S, b + M − S)``, from which Thompson sampling
    draws. So arms that play in proportion to w play as often as under Thompson sampling, and their propensities are
    known exactly. Only available arms compete; a sleeping one has 0.

    The integrals are over ``y = ln(x/(1 − x))``, where the densities have no poles, by Gauss and Lobatto on panels
    of ten nodes. The sum of all integrands has the integral ``Π_j F_j``, so the error of each panel is known; a panel
    is halved until it is below 10⁻⁸. The error of each w_i is below 10⁻⁶, for any prior and any number of rewards.

    Args:
        evidence: what to believe of rewards that have not arrived.
        prior: a and b, above 0, of the prior ``Beta(a, b)``, or such a pair per arm.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(BestChance())
        >>> state = policy.start(arms=2)
        >>> state.tally.pulls[:], state.tally.received[:], state.index.successes[:] = [3, 1], [3, 1], [2, 0]
        >>> policy.index.score(state, Observation(), np.random.default_rng(0)).round(4)
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
    a, b = np.broadcast_arrays(a, b)
    first, second = a.reshape(-1, a.shape[-1]), b.reshape(-1, a.shape[-1])
    awake = np.broadcast_to(True if available is None else available, a.shape).reshape(first.shape)
    chance = np.zeros(first.shape)
    lane, low, high = _panels(first, second, awake)
    while lane.size:
        parts, error = _inside(first[lane], second[lane], awake[lane], low, high)
        good = error <= TOLERANCE
        np.add.at(chance, lane[good], parts[good])
        lane, low, high = lane[~good], low[~good], high[~good]
        middle = (low + high) / 2.0
        lane, low, high = np.tile(lane, 2), np.concatenate([low, middle]), np.concatenate([middle, high])
    total = chance.sum(axis=-1, keepdims=True)
    return np.asarray(chance / np.where(total > 0.0, total, 1.0)).reshape(a.shape)


def _panels(a: Array, b: Array, awake: Mask) -> tuple[NDArray[np.intp], Array, Array]:
    """The lane, the lower and the upper end of each first panel; they cover the places where the maximum can be."""
    # A density is log-concave in y, its curvature ab/(a + b), so it falls at least so fast (as a Gamma's does in ln x).
    spread = np.sqrt(2.0 * FALLS * (1.0 / a + 1.0 / b)[..., np.newaxis])
    mode = np.log(a / b)[..., np.newaxis]
    left, right = (spread + FALLS / one[..., np.newaxis] for one in (a, b))
    edges = np.concatenate([mode - left[..., ::-1], mode, mode + right], axis=-1)
    lowest = np.where(awake, edges[..., 0], -np.inf).max(axis=-1)
    start = np.where(awake.any(axis=-1), lowest, 0.0)[:, np.newaxis]
    points = np.maximum(np.where(awake[..., np.newaxis], edges, -np.inf).reshape(len(a), -1), start)
    points.sort(axis=-1)
    if points.shape[-1] > MOST_PANELS + 1:
        points = points[:, np.linspace(0, points.shape[-1] - 1, MOST_PANELS + 1).astype(int)]
    lane, place = np.nonzero(np.diff(points, axis=-1) > 0.0)
    return lane, points[lane, place], points[lane, place + 1]


def _inside(a: Array, b: Array, awake: Mask, low: Array, high: Array) -> tuple[Array, Array]:
    """The probability that each arm is the largest and in the panel, (panels, arms), and the error of their sum."""
    from scipy.special import betainc, betaln, expit  # slow to import, and few policies need it

    nodes, weights = _lobatto(PANEL)
    half = (high - low)[:, np.newaxis] / 2.0
    y = ((low[:, np.newaxis] + half) + half * nodes)[:, np.newaxis, :]
    a, b, awake = a[..., np.newaxis], b[..., np.newaxis], awake[..., np.newaxis]
    constant, size, negative = betaln(a, b), np.abs(y), y < 0.0
    near = np.where(negative, a, b)  # the exponent of the nearer end, 0 or 1
    tail = betainc(near, np.where(negative, b, a), expit(-size))
    if size.max() > FARTHEST:
        tail = np.where(size > FARTHEST, np.exp(-near * size - np.log(near) - constant), tail)
    with np.errstate(divide="ignore"):
        below = np.where(awake, np.maximum(np.log(np.where(negative, tail, 1.0 - tail)), -FARTHEST), 0.0)
    together = below.sum(axis=1, keepdims=True)
    density = -np.where(negative, a, b) * size - (a + b) * np.log1p(np.exp(-size)) - constant
    parts = (np.where(awake, np.exp(density + together - below), 0.0) * (half * weights)[:, np.newaxis, :]).sum(axis=-1)
    ends = np.exp(together[:, 0, [0, -1]])
    return parts, np.abs(parts.sum(axis=-1) - (ends[:, 1] - ends[:, 0]))
