"""Algorithms for arms whose means change: they forget, or notice the change."""

from __future__ import annotations

import math

from evenhand.algorithms.indices import beta_under
from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.validate import PerArm
from evenhand.policy.composition import Policy
from evenhand.policy.evidence import EvidenceLike
from evenhand.policy.fairness import DeficitFirst
from evenhand.policy.forgetting import Forgetting
from evenhand.policy.index import UCB
from evenhand.policy.kl import KLUCB
from evenhand.policy.prior import UNIFORM, PriorLike
from evenhand.policy.schedule import PeriodicExploration
from evenhand.policy.selection import TopM
from evenhand.policy.since_change import SinceLastChange


def discount_for(horizon: int, changes: int) -> float:
    """The discount for a number of changes in a known horizon: ``γ = 1 − sqrt(Υ/T)/4``.

    Args:
        horizon: T, rounds.
        changes: Υ ≥ 1, changes in these rounds.

    Returns:
        γ in [3/4, 1), by which every past reward counts less per round.

    Example:
        >>> discount_for(10_000, 1)
        0.9975

    Source: Garivier & Moulines 2011, section 3, for rewards up to B = 1.
    """
    return 1.0 - math.sqrt(_rate(horizon, changes)) / 4.0


def window_for(horizon: int, changes: int) -> int:
    """The window for a number of changes in a known horizon: ``τ = 2 sqrt(T ln T/Υ)``, rounded up.

    Args:
        horizon: T, rounds.
        changes: Υ ≥ 1, changes in these rounds.

    Returns:
        Rounds, at least 1.

    Example:
        >>> window_for(10_000, 1)
        607

    Source: Garivier & Moulines 2011, section 3, for rewards up to B = 1.
    """
    return max(1, math.ceil(2.0 * math.sqrt(math.log(horizon) / _rate(horizon, changes))))


@algorithm("garivier2011drift")
def d_ucb(*, discount: float, exploration: float = 2.4, evidence: EvidenceLike = "received", plays: int = 1) -> Policy:
    """D-UCB: the upper confidence bound of discounted rewards, for means that change.

    ``S_γ/N_γ + sqrt(c ln n_γ / N_γ)``, ``N_γ = Σ_s γ^(t−s) 1(a_s = i)``, ``n_γ = Σ_i N_γ``

    Promise: none. With Υ changes of the means in T rounds and the discount of `discount_for` the regret against the
        best arm of every round is O(sqrt(T Υ) ln T).

    Args:
        discount: γ in (0, 1), weight of a round in units of the next one; see `discount_for`.
        exploration: c = 4 ξ; the paper's experiments have ξ = 0.6, its theorem ξ > 1/2.

    Example:
        >>> d_ucb(discount=0.99).index.clock
        'evidence'

    Source: Garivier & Moulines 2011, section 2, D-UCB, and Theorem 1.
    """
    memory = Forgetting(evidence, discount=discount)
    return Policy(UCB(exploration, evidence=memory, clock="evidence"), selection=TopM(plays), name="d_ucb")


@algorithm("garivier2011drift")
def sw_ucb(*, window: int, exploration: float = 0.6, evidence: EvidenceLike = "received", plays: int = 1) -> Policy:
    """SW-UCB: the upper confidence bound of the rewards in a sliding window, for means that change.

    ``S_τ/N_τ + sqrt(c ln min(t, τ) / N_τ)``, with the plays and rewards of the last τ rounds

    Promise: none. With Υ changes of the means in T rounds and the window of `window_for` the regret against the best
        arm of every round is O(sqrt(T Υ ln T)).

    Args:
        window: τ, rounds that are remembered; see `window_for`.
        exploration: c = ξ; the paper's experiments have 0.6, its theorem more than 1/2.

    Example:
        >>> sw_ucb(window=500).index.evidence.window
        500

    Source: Garivier & Moulines 2011, section 2, SW-UCB, and Theorem 2.
    """
    memory = Forgetting(evidence, window=window)
    return Policy(UCB(exploration, evidence=memory, clock="evidence"), selection=TopM(plays), name="sw_ucb")


@algorithm("raj2017")
def d_ts(*, discount: float, evidence: EvidenceLike = "received", prior: PriorLike = UNIFORM, plays: int = 1) -> Policy:
    """Discounted Thompson sampling, for means that change.

    ``S ← γ S + r``, ``F ← γ F + 1 − r`` in every round, for all arms; ``θ ~ Beta(1 + S, 1 + F)``

    Promise: none.

    Args:
        discount: γ in (0, 1), weight of a round in units of the next one.

    Example:
        >>> d_ts(discount=0.99).index.evidence.discount
        0.99

    Source: Raj & Kalyani 2017, Algorithm 1, with rewards in [0, 1] counted as they are.
    """
    index = beta_under(Forgetting(evidence, discount=discount), prior)
    return Policy(index, selection=TopM(plays), name="d_ts")


@algorithm("garivier2011")
def kl_ucb(*, exploration: float = 0.0, evidence: EvidenceLike = "received", plays: int = 1) -> Policy:
    """KL-UCB: the upper confidence bound by the Kullback–Leibler divergence of Bernoulli rewards.

    ``max {q : N kl(S/N, q) ≤ ln t + c ln ln t}``

    Promise: none. Its regret is at most Σ Δ ln T / kl(μ, max μ) and lower terms, the least that any policy can have
        for Bernoulli rewards.

    Args:
        exploration: c ≥ 0; the theorem has 3, the paper advises 0 in practice.

    Example:
        >>> kl_ucb().bounded
        True

    Source: Garivier & Cappé 2011, Algorithm 1 and Theorem 1.
    """
    return Policy(KLUCB(exploration, evidence), selection=TopM(plays), name="kl_ucb")


@algorithm("besson2022")
def glr_klucb(
    *,
    exploration_share: float = 0.05,
    delta: float = 0.01,
    scope: str = "arm",
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """GLR-klUCB: KL-UCB that restarts when a likelihood-ratio test detects a change, with forced exploration.

    ``sup_s s kl(μ_{1:s}, μ) + (n − s) kl(μ_{s+1:n}, μ) ≥ ln(3 n sqrt(n)/δ)``; arms play in turn in a part α of the
    rounds

    Promise: none; a change by Δ is found after about ln T/(α Δ²/K) rounds.

    Args:
        exploration_share: α in [0, 1], share of the rounds in which the arms play in turn. The paper lets it depend on
            the horizon and the number of changes, ``α = sqrt(Υ K ln T/T)``.
        delta: δ, probability of a false alarm per arm; the paper has 1/sqrt(T).

    Example:
        >>> glr_klucb().schedule.share
        0.05

    Source: Besson, Kaufmann, Maillard & Seznec 2022, Algorithm 2; see `evenhand.policy.since_change`.
    """
    index = KLUCB(evidence=SinceLastChange(evidence, delta, scope), clock="evidence")
    schedule = PeriodicExploration(exploration_share)
    return Policy(index, selection=TopM(plays), schedule=schedule, name="glr_klucb")


@algorithm("besson2022")
def fair_glr(
    fractions: PerArm,
    *,
    delta: float = 0.01,
    scope: str = "arm",
    tolerance: float = 0.0,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """Fair GLR: KL-UCB that restarts when rewards change, with the promised shares as its exploration.

    ``sup_s s kl(μ_{1:s}, μ) + (n − s) kl(μ_{s+1:n}, μ) ≥ ln(3 n sqrt(n)/δ)``; arms behind their share
    ``r_i (t−1) − N_i > α`` go first

    Promise: as FUCB, since what is owed is never forgotten: with equal fractions below 1/K no arm is ever a whole play
        behind. A change by Δ of an arm is found after about ln T/(r Δ²) rounds at most, as the arm is played r of the
        time whatever it looks like.

    Args:
        fractions: (arms,), promised shares r_i of the rounds. An arm without one is not explored, and a change of it
            for the better not noticed.
        delta: δ, probability of a false alarm per arm.

    Example:
        >>> fair_glr([0.1, 0.1]).fractions
        array([0.1, 0.1])

    Source: ours, from Besson et al. 2022, Algorithm 2, and Patil et al. 2019, Algorithm 3.
    """
    index = KLUCB(evidence=SinceLastChange(evidence, delta, scope), clock="evidence")
    return Policy(index, DeficitFirst(fractions, tolerance), TopM(plays), name="fair_glr")


def _rate(horizon: int, changes: int) -> float:
    """Υ/T."""
    if validate.whole("changes", changes) > validate.whole("horizon", horizon):
        raise EvenhandError(f"changes = {changes} is more than horizon = {horizon}")
    return changes / horizon
