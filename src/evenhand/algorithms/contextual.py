"""Algorithms that go by features of the situation and the arms."""

from __future__ import annotations

from typing import Literal

from evenhand.algorithms.registry import algorithm
from evenhand.policy.composition import Policy
from evenhand.policy.contextual import LinTS, LinUCB
from evenhand.policy.evidence import Evidence, Received
from evenhand.policy.forgetting import Forgetting
from evenhand.policy.logistic import LogisticTS
from evenhand.policy.selection import TopM


def _evidence(discount: float | None) -> Evidence:
    """What arrives, of which all counts less with every round where there is a discount."""
    return Received() if discount is None else Forgetting(discount=discount)


@algorithm("li2010")
def lin_ucb(
    *,
    model: str = "disjoint",
    ridge: float = 1.0,
    radius: float | Literal["theorem"] = 1.0,
    delta: float = 0.01,
    norm: float = 1.0,
    discount: float | None = None,
    plays: int = 1,
) -> Policy:
    """LinUCB: the largest upper confidence bound of a reward that is linear in features.

    ``θ̂ᵀφ + β sqrt(φᵀV⁻¹φ)``, ``V = λI + Σφφᵀ``, ``θ̂ = V⁻¹Σφr``

    Promise: none. With the radius of the theorem, and a θ for all arms, the regret is O(d sqrt(T) ln T) with
        probability 1 − δ (Abbasi-Yadkori et al. 2011, Theorem 3).

    Args:
        model: ``"disjoint"``, a θ for every arm; ``"shared"``, one θ for all arms, which have features; ``"hybrid"``,
            a θ of the situation for every arm and one of the arms' features for all.
        ridge: λ > 0.
        radius: β ≥ 0, or ``"theorem"`` for ``R sqrt(2 ln(1/δ) + ln(det V/λ^d)) + sqrt(λ) S``, R = 1/2.
        delta: δ in (0, 1], for ``"theorem"``.
        norm: S, a bound of the length of θ, for ``"theorem"``.
        discount: γ in (0, 1), weight of a round in units of the next one, for rewards that change (D-LinUCB, Russac
            et al. 2019); None to forget nothing. Not in the hybrid model.

    Example:
        >>> lin_ucb(model="shared").index.model
        'shared'

    Source: Li et al. 2010, Algorithms 1 and 2; the radius of the theorem: Abbasi-Yadkori et al. 2011, Theorem 2.
    """
    index = LinUCB(model, ridge, radius, evidence=_evidence(discount), delta=delta, norm=norm)
    return Policy(index, selection=TopM(plays), name="lin_ucb")


@algorithm("vernade2020")
def otf_lin_ucb(
    *,
    cutoff: int = 100,
    model: str = "disjoint",
    ridge: float = 1.0,
    radius: float | Literal["theorem"] = "theorem",
    delta: float = 0.01,
    norm: float = 1.0,
    plays: int = 1,
) -> Policy:
    """OTFLinUCB: LinUCB for rewards that come late or never, where no answer and no reward look the same.

    ``θ̂ᵀφ + (2β + Σ_s |φ_s|_{V⁻¹}) sqrt(φᵀV⁻¹φ)``, over the plays s of the last m rounds

    Every play counts in V at once, and its reward in θ̂ if it comes within m rounds. What is learned is τ θ, τ the
    chance of an answer within m rounds: the order of the arms is right only if τ is the same for all arms and features.
    The length of a play is taken when it is made, an upper bound of what it is later; β has the determinant of V, not
    the paper's bound of it.

    Promise: none. If τ is the same for all arms and features, the regret is O(d sqrt(T) ln T/τ), and the delay adds to
        it.

    Args:
        cutoff: m ≥ 1, rounds after which a reward is given up.
        model: ``"disjoint"`` or ``"shared"``, as in `lin_ucb`; disjoint arms have each their own sum of lengths.
        ridge: λ > 0.
        radius: ``"theorem"``, or a number that stands for 2β.
        delta: δ in (0, 1], for ``"theorem"``.
        norm: S, a bound of the length of θ, for ``"theorem"``.

    Example:
        >>> otf_lin_ucb(cutoff=50).index.cutoff
        50

    Source: Vernade et al. 2020, OTFLinUCB.
    """
    index = LinUCB(model, ridge, radius, evidence="pessimistic", cutoff=cutoff, delta=delta, norm=norm)
    return Policy(index, selection=TopM(plays), name="otf_lin_ucb")


@algorithm("agrawal2013")
def lin_ts(
    *,
    model: str = "disjoint",
    ridge: float = 1.0,
    scale: float | Literal["theorem"] = 1.0,
    delta: float = 0.01,
    discount: float | None = None,
    plays: int = 1,
) -> Policy:
    """LinTS: Thompson sampling of a reward that is linear in features.

    ``θ̃ᵀφ``, ``θ̃ ~ N(θ̂, v² V⁻¹)``, ``V = λI + Σφφᵀ``, ``θ̂ = V⁻¹Σφr``

    Promise: none. With the scale of the theorem, and a θ for all arms, the regret is O(d^1.5 sqrt(T) ln T) with
        probability 1 − δ.

    Args:
        model: ``"disjoint"``, ``"shared"`` or ``"hybrid"``, as in `lin_ucb`.
        ridge: λ > 0.
        scale: v ≥ 0, or ``"theorem"`` for ``R sqrt(9 d ln(t/δ))``, R = 1/2.
        delta: δ in (0, 1], for ``"theorem"``.
        discount: γ in (0, 1), weight of a round in units of the next one, for rewards that change (D-LinTS, Kim and
            Tewari 2020); None to forget nothing. Not in the hybrid model.

    Example:
        >>> lin_ts(scale=0.5).index.scale
        0.5

    Source: Agrawal & Goyal 2013, Algorithm 1.
    """
    index = LinTS(model, ridge, scale, evidence=_evidence(discount), delta=delta)
    return Policy(index, selection=TopM(plays), name="lin_ts")


@algorithm("chapelle2011")
def logistic_ts(*, model: str = "disjoint", ridge: float = 1.0, scale: float = 1.0, plays: int = 1) -> Policy:
    """Logistic Thompson sampling, of a reward whose chance is logistic in features.

    ``σ(w̃ᵀφ)``, ``w̃_j ~ N(m_j, v²/q_j)``, ``q_j = λ + Σ φ_j² p (1 − p)``

    Rewards that arrive together are learned from one after the other, in batches of one.

    Promise: none.

    Args:
        model: ``"disjoint"``, weights for every arm; ``"shared"``, weights for all arms, which have features.
        ridge: λ > 0, q before the first reward.
        scale: v ≥ 0; 1 for the posterior, less to explore less.

    Example:
        >>> logistic_ts(ridge=0.5).index.ridge
        0.5

    Source: Chapelle & Li 2011, Algorithm 3.
    """
    return Policy(LogisticTS(model, ridge, scale), selection=TopM(plays), name="logistic_ts")
