"""Algorithms for other promises than a share for each arm: groups, caps, fixed shares, rewards, floors of chances."""

from __future__ import annotations

import math
from collections.abc import Iterable

from evenhand.algorithms.indices import beta_under, ucb_under
from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.core.validate import PerArm
from evenhand.policy.best_chance import BestChance
from evenhand.policy.composition import Policy
from evenhand.policy.evidence import EvidenceLike
from evenhand.policy.fairness import DeficitFirst, Mixing
from evenhand.policy.floor_shares import FloorShares
from evenhand.policy.groups import BoundedShares, GroupLike
from evenhand.policy.mixing import Constant
from evenhand.policy.prior import UNIFORM, PriorLike
from evenhand.policy.reward_rates import RewardRates
from evenhand.policy.selection import Categorical, TopM


@algorithm("huang2020")
def group_ucb(
    fractions: PerArm = 0.0,
    *,
    caps: PerArm = 1.0,
    groups: Iterable[GroupLike] = (),
    eta: float = 1.0,
    exploration: float = 1.5,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """Group-UCB: floors and caps of arms and groups as exact queues, against a clipped upper confidence bound.

    ``η min(S/N + sqrt(c ln t / N), 1) + Σ_{g∋i} (max(L_g n − N_g, 0) − max(N_g − U_g n, 0))``; the m largest play

    Promise: every floor and every cap in the long run, for any η and promises that can be kept; a group's floor
        is kept mostly by the best of its arms, unless these have promises of their own. Ours: the queue of Huang et
        al. (Theorem 1) with a group or a cap in place of an arm.

    Args:
        fractions: (arms,), floors of the arms' shares of the rounds.
        eta: η ≥ 0, owed plays that outweigh one unit of reward.
        exploration: c ≥ 0.
        evidence: what to believe of rewards that have not arrived: ``"received"`` (nothing), ``"optimistic"`` (they
            are 1, so that the bound holds however delays depend on rewards) or ``"pessimistic"`` (they are 0).

    Example:
        >>> group_ucb(caps=[1.0, 0.3], groups=[{"name": "both", "arms": [0, 1], "exactly": 1.0}]).fairness.caps
        array([1. , 0.3])

    Source: ours, after Li et al. 2019 (index) and Huang et al. 2020, eqs. (5) and (6) (exact queue).
    """
    shares = BoundedShares(fractions, caps, groups, eta)
    return Policy(ucb_under(exploration, evidence, clip=True), shares, TopM(plays), name="group_ucb")


@algorithm("huang2020")
def group_ts(
    fractions: PerArm = 0.0,
    *,
    caps: PerArm = 1.0,
    groups: Iterable[GroupLike] = (),
    eta: float = 1.0,
    evidence: EvidenceLike = "received",
    prior: PriorLike = UNIFORM,
    plays: int = 1,
) -> Policy:
    """Group-TS: floors and caps of arms and groups as exact queues, against Thompson sampling.

    ``η θ_i + Σ_{g∋i} (max(L_g n − N_g, 0) − max(N_g − U_g n, 0)), θ ~ Beta(1 + S, 1 + N − S)``; the m largest play

    Promise: every floor and every cap in the long run, for any η and promises that can be kept; a group's floor is
        mostly kept by its best arm, unless these arms have promises of their own. Ours: TSCSF-B with groups and caps.

    Args:
        fractions: (arms,), floors of the arms' shares of the rounds.
        eta: η ≥ 0, owed plays that outweigh one unit of reward.
        evidence: what to believe of rewards that have not arrived: ``"received"``, ``"optimistic"`` (they are 1),
            ``"pessimistic"`` (they are 0), or ``"both"``, the mean of an optimistic and a pessimistic draw.

    Example:
        >>> group_ts(groups=[{"name": "north", "arms": [0], "at_least": 0.3}]).groups[0]["at_least"]
        0.3

    Source: ours, after Huang et al. 2020, Algorithm 1.
    """
    return Policy(
        beta_under(evidence, prior), BoundedShares(fractions, caps, groups, eta), TopM(plays), name="group_ts"
    )


@algorithm("steiger2022")
def ldf(fractions: PerArm, *, tolerance: float = 0.0, exploration: float = 1.5, plays: int = 1) -> Policy:
    """LDF: largest deficits first, then a clipped upper confidence bound of the rewards that have arrived.

    ``A(t) = {i : r_i (t−1) − N_i > α}``; up to m arms of A(t) by deficit, then
    ``argmax min(S/M + sqrt(1.5 ln t / M), 1)``

    Promise: each arm is a bounded number of plays behind in every round in which all can play (strong, short-term
        fairness), with sleeping arms, several plays and delayed rewards.

    Only the abstract could be read. It names the setting (delayed semi-bandit feedback, sleeping arms, a fairness that
    holds in the short term) and the algorithm, Learning with Delays under Fairness, but neither its listing nor
    its bound. What is here is derived from that: the deficits of Patil et al. go first, the largest before the others,
    and a combinatorial UCB of received rewards fills the other plays.

    Args:
        exploration: c ≥ 0.

    Example:
        >>> ldf([0.1, 0.2], plays=2).index.clip
        True

    Source: Steiger, Li & Lu 2022, abstract; the rule is derived.
    """
    index = ucb_under(exploration, "received", clip=True)
    return Policy(index, DeficitFirst(fractions, tolerance), TopM(plays), name="ldf")


@algorithm("sinha2023")
def bandit_q(rates: PerArm, *, horizon: int, weight: float | None = None) -> Policy:
    """BanditQ: every arm earns a guaranteed reward per round; EXP3 learns from rewards weighed by what is owed.

    ``r'_i = (Q_i(t−1) + V) r_i``, ``Q_i(t) = max(Q_i(t−1) + λ_i − r_i 1(i plays), 0)``, ``V = sqrt(T)``

    Promise: the reward per round of every arm is λ_i in the long run, for rates that can be kept
        (``Σ λ_i/μ_i ≤ 1``); regret and missing reward O(T^{3/4}) up to logarithms.

    The paper's scale-free bandit is replaced by EXP3 with the rate for the known ranges; see
    `evenhand.policy.reward_rates.RewardRates`. Rewards must be immediate, as in the paper.

    Args:
        rates: (arms,), guaranteed rewards per round λ_i, on the scale [0, 1].
        weight: V > 0, the weight of the rewards beside what is owed; None for sqrt(T).

    Example:
        >>> bandit_q([0.1, 0.2], horizon=10_000).index.weight
        100.0

    Source: Sinha 2023, section 3; V from the paper's Theorem on bandit feedback.
    """
    value = math.sqrt(validate.whole("horizon", horizon)) if weight is None else weight
    return Policy(RewardRates(rates, value), Mixing(Constant(0.0)), Categorical(), name="bandit_q")


@algorithm("agrawal2012")
def floor_ts(
    fractions: PerArm, *, rule: str = "mix", evidence: EvidenceLike = "received", prior: PriorLike = UNIFORM
) -> Policy:
    """Floor-TS: a minimum probability for every arm, and the rest as in Thompson sampling, with exact propensities.

    ``p_i = f_i + (1 − Σ f) w_i``, ``w_i = ∫ f_i(x) Π_{j≠i} F_j(x) dx``

    Promise: every available arm plays with a probability of at least f_i in every round, and each propensity is known
        exactly. With ``rule="clip"`` none.

    Args:
        fractions: (arms,), floors f_i of the chances, Σ f ≤ 1.
        rule: ``"mix"``, or ``"clip"``: chances are raised to the floor and divided by their sum, as in GrowthBook's
            contextual bandits (2026), which takes the floor away again: 7.1% for 10% with five arms.
        evidence: what to believe of rewards that have not arrived: ``"received"`` (nothing), ``"optimistic"`` (they
            are 1) or ``"pessimistic"`` (they are 0).

    Example:
        >>> floor_ts([0.1, 0.2]).fractions
        array([0.1, 0.2])

    Source: ours, after Agrawal & Goyal 2012 (Thompson sampling); GrowthBook, banditWeights.ts (clip).
    """
    return Policy(BestChance(evidence, prior), FloorShares(fractions, rule), Categorical(), name="floor_ts")
