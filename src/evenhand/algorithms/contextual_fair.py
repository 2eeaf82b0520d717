"""Algorithms that are fair in every situation: by merit, by rank in one's group, or by never preferring the worse."""

from __future__ import annotations

from typing import Literal

from evenhand.algorithms.registry import algorithm
from evenhand.policy.chain import Chain
from evenhand.policy.composition import Policy
from evenhand.policy.contextual import LinTS, LinUCB
from evenhand.policy.custom_merit import MeritLike
from evenhand.policy.fairness import MeritShares, Mixing
from evenhand.policy.group_rank import GroupRank
from evenhand.policy.selection import Categorical, DependentRounding, TopM


@algorithm("wang2021fairx")
def fairx_lin_ts(
    merit: MeritLike,
    *,
    model: str = "disjoint",
    ridge: float = 1.0,
    scale: float | Literal["theorem"] = 1.0,
    cap: bool = False,
    plays: int = 1,
) -> Policy:
    """FairX-LinTS: in every round shares by merit, at a draw from the posterior of a linear model.

    ``p_a = m f(θ̃ᵀφ_a) / Σ f(θ̃ᵀφ_b)``, ``θ̃ ~ N(θ̂, v² V⁻¹)``

    Promise: in every round every arm plays in proportion to its merit in that situation, as it is known by then; reward
        and fairness regret are at most of order d sqrt(T) where the reward is linear.

    Several plays, and rewards that arrive late, are as in `fcts_d`; the paper has one play and no delay.

    Args:
        model: ``"disjoint"``, ``"shared"`` or ``"hybrid"``, as in `evenhand.policy.LinTS`.
        ridge: λ > 0.
        scale: v ≥ 0, or ``"theorem"``.

    Example:
        >>> from evenhand.merit import Power
        >>> fairx_lin_ts(Power(), plays=2).selection
        DependentRounding(plays=2)

    Source: Wang et al. 2021, Algorithm 4 (FairX-LinTS).
    """
    return Policy(LinTS(model, ridge, scale), MeritShares(merit, cap), DependentRounding(plays), name="fairx_lin_ts")


@algorithm("grazzi2022")
def fair_greedy(*, model: str = "disjoint", ridge: float = 1.0, window: int = 1000) -> Policy:
    """Fair-Greedy: the candidate plays that ranks highest within its own group.

    ``argmax F̂_a(θ̂ᵀφ_a)``, F̂_a the distribution of the scores of the arm's candidates so far

    Promise: where candidates of a group are independent over rounds and their scores have no ties, every arm is as
        likely to play as any other, however low the scores of its group are; the regret in ranks is of order sqrt(T).

    Each arm is a group, whose candidate of the round has the arm's features. The paper adds a little noise to θ̂ and
    scores past candidates anew; here ties are drawn, and scores stay as they were (`evenhand.policy.GroupRank`).

    Args:
        model: ``"disjoint"``, a θ for every arm, or ``"shared"``, one θ for all, as in the paper, whose arms have
            features.
        ridge: λ > 0.
        window: rounds whose scores are remembered.

    Example:
        >>> fair_greedy(window=500).fairness
        GroupRank(window=500)

    Source: Grazzi et al. 2022, Algorithm 1.
    """
    return Policy(LinUCB(model, ridge, 0.0), GroupRank(window), TopM(ties="random"), name="fair_greedy")


@algorithm("joseph2018")
def ridge_fair(*, model: str = "disjoint", ridge: float = 1.0, delta: float = 0.05, norm: float = 1.0) -> Policy:
    """RidgeFair: in no round is an arm more likely to play than one whose expected reward is larger.

    ``p_a = 1{a ∈ C}/|C|``, C the chain of intervals ``θ̂ᵀφ ± β |φ|_{V⁻¹}`` that begins with the highest upper end

    Promise: if the reward is linear with a θ of length at most S, then with probability 1 − δ no arm is in any round
        more likely to play than a better one. The price is that nearly all arms play alike for long.

    The radius β is the theorem's of `evenhand.policy.LinUCB`, which is narrower than the paper's.

    Args:
        model: ``"disjoint"``, a θ for every arm, or ``"shared"``, one θ for all, as in the later paper, whose arms have
            features.
        ridge: λ > 0.
        delta: δ in (0, 1], the probability with which the promise may fail.
        norm: S, a bound of the length of θ.

    Example:
        >>> ridge_fair(delta=0.1).selection
        Categorical(plays=1)

    Source: Joseph et al. 2018, section 3 (RidgeFair, one play); Joseph et al. 2016 (chained intervals).
    """
    bounds = LinUCB(model, ridge, "theorem", delta=delta, norm=norm)
    return Policy(Chain(bounds), Mixing(0.0), Categorical(), name="ridge_fair")
