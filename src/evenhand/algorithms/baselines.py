"""Algorithms that promise nothing to the arms: what a promise is measured against."""

from __future__ import annotations

from evenhand.algorithms.indices import beta_under, ucb_under
from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.policy.composition import Policy
from evenhand.policy.confidence import ConfidenceIntervals
from evenhand.policy.evidence import EvidenceLike
from evenhand.policy.index import UCB, BetaSample, Committed, EmpiricalMean
from evenhand.policy.prior import UNIFORM, PriorLike
from evenhand.policy.schedule import Elimination, Quotas
from evenhand.policy.selection import TopM
from evenhand.theory import bounds


@algorithm("auer2002", bound=bounds.UCB1)
def ucb1(*, exploration: float = 2.0, evidence: EvidenceLike = "received", plays: int = 1) -> Policy:
    """UCB1: the arms with the largest upper confidence bound play.

    ``S/N + sqrt(c ln t / N)``

    Promise: none. Its expected regret is at most Σ 8 ln T/Δ + (1 + π²/3) Σ Δ (Patil et al. 2019, Theorem 7).

    Args:
        exploration: c ≥ 0.

    Example:
        >>> ucb1().name
        'ucb1'

    Source: Auer et al. 2002, section 2; Patil et al. 2019, eq. (4).
    """
    return Policy(index=ucb_under(exploration, evidence), selection=TopM(plays), name="ucb1")


@algorithm("agrawal2012")
def thompson(*, evidence: EvidenceLike = "received", prior: PriorLike = UNIFORM, plays: int = 1) -> Policy:
    """Thompson sampling: the arms with the largest draw from their posterior play.

    ``θ ~ Beta(1 + S, 1 + N − S)``

    Promise: none.

    Args:
        evidence: of missing rewards, as of `fucb` or ``"both"``; see `f_ts`.

    Example:
        >>> thompson(plays=2).plays
        2

    Source: Agrawal & Goyal 2012, Algorithms 1 and 2.
    """
    return Policy(index=beta_under(evidence, prior), selection=TopM(plays), name="thompson")


@algorithm("garivier2016")
def explore_then_commit(*, pulls: int) -> Policy:
    """Explore then commit: every arm plays equally often, then the best arm plays in all remaining rounds.

    ``n_i = pulls``, then ``argmax S/N`` as of then

    Promise: none.

    Args:
        pulls: plays of each arm before the choice is made, ≥ 1.

    Example:
        >>> explore_then_commit(pulls=20).schedule.quotas
        array([20.])

    Source: Garivier et al. 2016; Fang et al. 2022, section 5.
    """
    validate.whole("pulls", pulls)
    return Policy(Committed(EmpiricalMean(), pulls), schedule=Quotas(pulls), name="explore_then_commit")


@algorithm("chen2013")
def cucb_d(*, radius: str = "paper", plays: int = 1) -> Policy:
    """CUCB-D: the m arms with the largest upper confidence bound on what has arrived play.

    ``S/M + sqrt(3 ln t / (2 max(M, 1)))``

    Promise: none; the baseline that earns most and is not fair.

    Args:
        radius: ``"paper"`` as above, or ``"code"`` for the ``sqrt((m + 1) ln t / max(M, 1))`` of the code published
            with Chen et al. 2024.

    Example:
        >>> cucb_d(plays=3).index.exploration, cucb_d(plays=3, radius="code").index.exploration
        (1.5, 4.0)

    Source: Chen et al. 2013, Algorithm 1; Chen et al. 2024, section 6.
    """
    validate.one_of("radius", radius, ("paper", "code"))
    return Policy(UCB(1.5 if radius == "paper" else plays + 1.0), selection=TopM(plays), name="cucb_d")


@algorithm("komiyama2015")
def mp_ts_d(*, prior: PriorLike = UNIFORM, plays: int = 1) -> Policy:
    """MP-TS-D: the m arms with the largest draw from the posterior of what has arrived play.

    ``θ ~ Beta(1 + S, 1 + M − S)``

    Promise: none; a baseline that earns much and is not fair.

    Example:
        >>> mp_ts_d(plays=3).plays
        3

    Source: Komiyama et al. 2015, Algorithm 1; Chen et al. 2024, section 6.
    """
    return Policy(BetaSample(prior=prior), selection=TopM(plays), name="mp_ts_d")


@algorithm("lancewicki2021")
def opse(*, horizon: int, plays: int = 1) -> Policy:
    """OPSE: arms play in turn, and an arm is eliminated once it is worse for all values of the missing rewards.

    arm i goes if ``(S_i + N_i − M_i)/N_i + c_i < S_j/N_j − c_j`` for m arms j, ``c = sqrt(2 ln T / N)``

    Promise: none; its regret survives delays that depend on the reward, and the arms that it drops get nothing.

    For several plays, which the paper does not have, an arm must be surely worse than m others.

    Example:
        >>> opse(horizon=1000).schedule.confidence.scale
        2.0

    Source: Lancewicki et al. 2021, Algorithm 3.
    """
    rounds = float(validate.whole("horizon", horizon))
    intervals = ConfidenceIntervals(rounds, scale=2.0, per_arm=False, lower="pessimistic", upper="optimistic")
    return Policy(EmpiricalMean(), selection=TopM(plays), schedule=Elimination(intervals), name="opse")
