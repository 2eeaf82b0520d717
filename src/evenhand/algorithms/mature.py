"""Shares by merit from late rewards of which the pull is known: pulls are counted by their age."""

from __future__ import annotations

from evenhand.algorithms.indices import beta_under
from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.policy.composition import Policy
from evenhand.policy.confidence import ConfidenceIntervals, OptimisticShares
from evenhand.policy.custom_merit import MeritLike
from evenhand.policy.doubt import IntervalsUntilDisproved, MatureIntervals, UntilDisproved
from evenhand.policy.fairness import MeritShares
from evenhand.policy.index import BetaSample, Index
from evenhand.policy.prior import UNIFORM, PriorLike
from evenhand.policy.schedule import ForcedStart, NoSchedule, Schedule
from evenhand.policy.selection import DependentRounding


@algorithm("chen2024")
def m_fcucb_d(merit: MeritLike, *, horizon: int, cap: bool = False, plays: int = 1) -> Policy:
    """M-FCUCB-D: OP-FCUCB-D with the best interval over all ages of pulls, so that a delay costs its length only.

    intervals ``[max_a y/n − c, min_a (y + n − f)/n + c]`` cut to [0, 1], ``c = sqrt(ln(6 m K T)/n)``, for the n pulls
    that are at least a rounds old, f of them with a reward, y the sum of these; then as FCUCB-D

    Promise: every arm plays in proportion to its merit in the long run, however delays depend on rewards, as far as
        rewards arrive at all; regret of order ``min_q m (1 − q) T + K sqrt(T) + m d(q)``, d(q) being the largest
        q-quantile of the delays: the delay is added, not multiplied. Ours, not the paper's.

    Needs feedback that names the pull of each reward. Ages are sums of 1, 1, 2, 2, 4, 4, … rounds, so that 41
    ages and three counters for each are enough for two million rounds; older pulls have one age.

    Example:
        >>> from evenhand.merit import Power
        >>> m_fcucb_d(Power(), horizon=1000).named
        True

    Source: ours; Chen et al. 2024, Algorithm 3 and Theorem 8, for pulls of every age.
    """
    index = OptimisticShares(_mature(plays, horizon), merit)
    return _by_merit("m_fcucb_d", index, merit, cap, plays, ForcedStart())


@algorithm("chen2024")
def m_fcts_d(merit: MeritLike, *, cap: bool = False, prior: PriorLike = UNIFORM, plays: int = 1) -> Policy:
    """M-FCTS-D: OP-FCTS-D from the pulls that are old enough, at the age of which most is known.

    ``p_i = m f(θ_i)/Σ f(θ_j)``, θ the mean of a draw from ``Beta(1 + y + n − f, 1 + f − y)`` and one from ``Beta(1 + y,
    1 + n − y)``, at the age with the smallest ``(n − f)/n + 1/sqrt(n)``

    Promise: every arm plays in proportion to its merit in the long run, however delays depend on rewards, as far as
        rewards arrive at all. Ours, and without a proof.

    Needs feedback that names the pull of each reward.

    Example:
        >>> from evenhand.merit import Power
        >>> m_fcts_d(Power(), plays=3).index
        MatureBeta(prior=(1.0, 1.0))

    Source: ours; Chen et al. 2024, Algorithm 4, for pulls of every age.
    """
    return _by_merit("m_fcts_d", beta_under("mature", prior), merit, cap, plays, NoSchedule())


@algorithm("chen2024")
def q_fcucb_d(
    merit: MeritLike, *, horizon: int, untestable: str = "trust", cap: bool = False, plays: int = 1
) -> Policy:
    """Q-FCUCB-D: FCUCB-D for every arm until its rewards are found to depend on their delay, then M-FCUCB-D.

    ``χ² = Σ_b (s_b − n_b ȳ)²/(n_b ȳ (1 − ȳ))`` over the delays 0, 1, 2 to 3, 4 to 7, … with 20 rewards or more,
    looked at whenever an arm's rewards have doubled, the j-th time at the level 0.01/2^j

    Promise: as FCUCB-D where delays do not depend on rewards, but for one run in a hundred per arm; as M-FCUCB-D where
        they do and it shows. Ours, not the paper's.

    Where rewards never arrive that would have been late, nothing shows: lost rewards and zeros that are never reported
    look alike, and ``untestable`` says which way to err.

    Args:
        untestable: ``"trust"`` (as FCUCB-D) or ``"doubt"`` (as M-FCUCB-D), while fewer than two delays have 20 rewards.

    Example:
        >>> from evenhand.merit import Power
        >>> q_fcucb_d(Power(), horizon=1000, untestable="doubt").index.confidence.untestable
        'doubt'

    Source: ours; Chen et al. 2024, Algorithms 1 and 3, and section 7 for the question.
    """
    trusting = ConfidenceIntervals(
        4.0
        * validate.whole("plays", plays, high=validate.MOST)
        * validate.whole("horizon", horizon, high=validate.MOST)
    )
    intervals = IntervalsUntilDisproved(trusting, _mature(plays, horizon), untestable)
    return _by_merit("q_fcucb_d", OptimisticShares(intervals, merit), merit, cap, plays, ForcedStart())


@algorithm("chen2024")
def q_fcts_d(
    merit: MeritLike, *, untestable: str = "trust", cap: bool = False, prior: PriorLike = UNIFORM, plays: int = 1
) -> Policy:
    """Q-FCTS-D: FCTS-D for every arm until its rewards are found to depend on their delay, then M-FCTS-D.

    ``p_i = m f(θ_i)/Σ f(θ_j)``, θ as in FCTS-D or as in M-FCTS-D, arm by arm; the test is that of Q-FCUCB-D

    Promise: as FCTS-D where delays do not depend on rewards, but for one run in a hundred per arm; as M-FCTS-D where
        they do and it shows. Ours, not the paper's.

    Args:
        untestable: ``"trust"`` (as FCTS-D) or ``"doubt"`` (as M-FCTS-D), while fewer than two delays have 20 rewards.

    Example:
        >>> from evenhand.merit import Power
        >>> q_fcts_d(Power(), plays=3).index.trusting
        BetaSample(evidence=Received(), prior=(1.0, 1.0))

    Source: ours; Chen et al. 2024, Algorithms 2 and 4, and section 7 for the question.
    """
    index = UntilDisproved(BetaSample(prior=prior), beta_under("mature", prior), untestable)
    return _by_merit("q_fcts_d", index, merit, cap, plays, NoSchedule())


def _mature(plays: int, horizon: int) -> MatureIntervals:
    """The intervals with ``ln(6 m K T)``."""
    return MatureIntervals(
        6.0
        * validate.whole("plays", plays, high=validate.MOST)
        * validate.whole("horizon", horizon, high=validate.MOST)
    )


def _by_merit(name: str, index: Index, merit: MeritLike, cap: bool, plays: int, schedule: Schedule) -> Policy:
    return Policy(index, MeritShares(merit, cap), DependentRounding(plays), schedule, name=name)
