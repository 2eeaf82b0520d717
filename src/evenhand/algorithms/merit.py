"""Algorithms that promise every arm a share in proportion to its merit."""

from __future__ import annotations

from evenhand.algorithms.indices import beta_under
from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.core.errors import ConfigurationError
from evenhand.policy.composition import Policy
from evenhand.policy.confidence import ConfidenceIntervals, OptimisticShares
from evenhand.policy.custom_merit import MeritLike
from evenhand.policy.evidence import Evidence, Optimistic, Pessimistic, Received
from evenhand.policy.fairness import MeritShares
from evenhand.policy.index import BetaSample, EmpiricalMean, Exploring, Index
from evenhand.policy.prior import UNIFORM, PriorLike
from evenhand.policy.schedule import ForcedStart, NoSchedule, Schedule
from evenhand.policy.selection import Categorical, DependentRounding


@algorithm("chen2024")
def fcucb_d(
    merit: MeritLike,
    *,
    horizon: int,
    radius: str = "theorem",
    delta: float = 0.01,
    free_start: bool = False,
    cap: bool = False,
    plays: int = 1,
) -> Policy:
    """FCUCB-D: shares by merit at the point of the confidence intervals where a fair policy earns most.

    ``μ~ = argmax_{x ∈ C} Σ f(x_i) x_i / Σ f(x_j)``, ``p_i = m f(μ~_i) / Σ f(μ~_j)``, C being the
    intervals ``S/M ± c`` cut to [0, 1], ``c = sqrt(ln(4 m K T) / max(M, 1))``

    Promise: every arm plays in proportion to its merit in the long run; reward and fairness regret are at most of order
        sqrt(T) for delays that do not depend on the reward (Theorem 6).

    First every arm plays once, in ⌈K/m⌉ rounds in the order of the arms, the last round filled up from the start. The
    maximisation is exact (`evenhand.policy.confidence.optimistic_means`), not left to a solver.

    Args:
        radius: ``"theorem"`` as above, or ``"code"`` for the narrower ``sqrt(ln(4 K t / δ) / (2 max(M, 1)))`` that the
            paper's figures were drawn with.
        free_start: instead of the first rounds, one pull of every arm before round 1 that no measure sees, as in the
            published code.

    Example:
        >>> from evenhand.merit import Power
        >>> fcucb_d(Power(), horizon=1000, plays=3).selection
        DependentRounding(plays=3)

    Source: Chen et al. 2024, Algorithm 1 and Theorem 6.
    """
    intervals = _merit_intervals(4.0, radius, delta, plays, horizon, Received(), Received())
    return _by_merit("fcucb_d", OptimisticShares(intervals, merit), merit, cap, plays, _start(free_start))


@algorithm("chen2024")
def op_fcucb_d(
    merit: MeritLike,
    *,
    horizon: int,
    radius: str = "theorem",
    delta: float = 0.01,
    free_start: bool = False,
    cap: bool = False,
    plays: int = 1,
) -> Policy:
    """OP-FCUCB-D: FCUCB-D with intervals that allow for any missing rewards, however they depend on their delay.

    intervals ``[max(S/N − c, 0), min((S + N − M)/N + c, 1)]``, ``c = sqrt(ln(6 m K T) / N)``, then as FCUCB-D

    Promise: every arm plays in proportion to its merit in the long run, also when the delay depends on the reward, as
        far as rewards arrive at all (Theorem 8).

    Args:
        radius: ``"theorem"`` as above, or ``"code"`` for ``sqrt(ln(6 K t / δ) / (2 N))``.
        free_start: instead of the first rounds, one pull of every arm before round 1 that no measure sees, as in the
            published code.

    Example:
        >>> from evenhand.merit import Power
        >>> op_fcucb_d(Power(), horizon=1000).index.confidence.upper
        Optimistic()

    Source: Chen et al. 2024, Algorithm 3 and Theorem 8.
    """
    intervals = _merit_intervals(6.0, radius, delta, plays, horizon, Pessimistic(), Optimistic())
    return _by_merit("op_fcucb_d", OptimisticShares(intervals, merit), merit, cap, plays, _start(free_start))


@algorithm("chen2024")
def fcts_d(
    merit: MeritLike, *, free_start: bool = False, cap: bool = False, prior: PriorLike = UNIFORM, plays: int = 1
) -> Policy:
    """FCTS-D: shares by merit at a draw from the posterior of what has arrived.

    ``p_i = m f(θ_i) / Σ f(θ_j), θ ~ Beta(1 + S, 1 + M − S)``

    Promise: every arm plays in proportion to its merit in the long run; expected reward and fairness regret are at most
        of order sqrt(T) for delays that do not depend on the reward and means drawn uniformly (Theorem 7).

    Example:
        >>> from evenhand.merit import Power
        >>> fcts_d(Power(beta=2.0, exponent=4.0), plays=3).name
        'fcts_d'

    Source: Chen et al. 2024, Algorithm 2 and Theorem 7.
    """
    return _by_merit("fcts_d", BetaSample(prior=prior), merit, cap, plays, _free_start(free_start))


@algorithm("chen2024")
def op_fcts_d(
    merit: MeritLike, *, free_start: bool = False, cap: bool = False, prior: PriorLike = UNIFORM, plays: int = 1
) -> Policy:
    """OP-FCTS-D: FCTS-D with the mean of an optimistic and a pessimistic draw.

    ``p_i = m f(θ_i) / Σ f(θ_j)``, θ the mean of a draw from ``Beta(1 + S + (N − M), 1 + M − S)`` and one from
    ``Beta(1 + S, 1 + N − S)``

    Promise: every arm plays in proportion to its merit in the long run, also when the delay depends on the reward, as
        far as rewards arrive at all (Theorem 9).

    Example:
        >>> from evenhand.merit import Power
        >>> op_fcts_d(Power(), plays=3).index.first.evidence
        Optimistic()

    Source: Chen et al. 2024, Algorithm 4 and Theorem 9.
    """
    return _by_merit("op_fcts_d", beta_under("both", prior), merit, cap, plays, _free_start(free_start))


@algorithm("chen2024")
def fgreedy_d(merit: MeritLike, *, epsilon: float = 0.13, cap: bool = False, plays: int = 1) -> Policy:
    """FGreedy-D: shares by merit at the mean of the received rewards, and sometimes equal shares for all arms.

    with probability ε ``p_i = m/K``, else ``p_i = m f(S_i/M_i) / Σ f(S_j/M_j)``

    Promise: none in numbers; it never stops to explore, so its regrets grow linearly.

    Args:
        epsilon: ε in [0, 1]; the paper gives none, 0.13 is the published code's.

    Example:
        >>> from evenhand.merit import Power
        >>> fgreedy_d(Power()).index.epsilon
        0.13

    Source: Chen et al. 2024, section 6.
    """
    return _by_merit("fgreedy_d", Exploring(EmpiricalMean(), epsilon), merit, cap, plays, NoSchedule())


@algorithm("wang2021fairx")
def fairx_ucb(merit: MeritLike, *, horizon: int) -> Policy:
    """FairX-UCB: shares by merit at the best point of the confidence intervals, one play per round.

    ``μ~ = argmax_{x ∈ C} Σ f(x_i) x_i / Σ f(x_j)``, ``p_i = f(μ~_i) / Σ f(μ~_j)``

    Promise: every arm plays in proportion to its merit in the long run, when no reward is late.

    It is FCUCB-D for one play, and takes its radius ``sqrt(ln(4 K T) / N)``; Wang et al. have
    ``sqrt(2 ln(4 K t / δ) / N)``.

    Example:
        >>> from evenhand.merit import Power
        >>> fairx_ucb(Power(), horizon=1000).plays
        1

    Source: Wang et al. 2021, Algorithm 1; Chen et al. 2024, section 4.
    """
    intervals = _merit_intervals(4.0, "theorem", 1.0, 1, horizon, Received(), Received())
    return Policy(
        OptimisticShares(intervals, merit), MeritShares(merit), Categorical(), ForcedStart(), name="fairx_ucb"
    )


@algorithm("wang2021fairx")
def fairx_ts(merit: MeritLike, *, prior: PriorLike = UNIFORM) -> Policy:
    """FairX-TS: shares by merit at a draw from the posterior, one play per round.

    ``p_i = f(θ_i) / Σ f(θ_j), θ ~ Beta(1 + S, 1 + N − S)``

    Promise: every arm plays in proportion to its merit in the long run, when no reward is late.

    Example:
        >>> from evenhand.merit import Power
        >>> fairx_ts(Power()).selection
        Categorical(plays=1)

    Source: Wang et al. 2021, Algorithm 2.
    """
    return Policy(BetaSample(prior=prior), MeritShares(merit), Categorical(), name="fairx_ts")


def _by_merit(name: str, index: Index, merit: MeritLike, cap: bool, plays: int, schedule: Schedule) -> Policy:
    return Policy(index, MeritShares(merit, cap), DependentRounding(plays), schedule, name=name)


def _merit_intervals(
    factor: float, radius: str, delta: float, plays: int, horizon: int, lower: Evidence, upper: Evidence
) -> ConfidenceIntervals:
    """The theorem's intervals, ``ln(factor m K T)``, or that of the published code, ``ln(factor K t / δ)/2``."""
    validate.one_of("radius", radius, ("theorem", "code"))
    validate.whole("horizon", horizon, high=validate.MOST)
    validate.whole("plays", plays, high=validate.MOST)
    if validate.number("delta", delta, 0.0, 1.0) == 0.0:
        raise ConfigurationError("must be above 0, got 0", "delta")
    if radius == "theorem":
        return ConfidenceIntervals(factor * plays * horizon, lower=lower, upper=upper)
    return ConfidenceIntervals(factor / delta, scale=0.5, anytime=True, lower=lower, upper=upper)


def _free_start(asked_for: bool) -> Schedule:
    """The free pull of every arm before round 1, if it is asked for."""
    return ForcedStart(free=True) if validate.boolean("free_start", asked_for) else NoSchedule()


def _start(free_start: bool) -> Schedule:
    """A pull of every arm, in the first rounds or free of charge before them."""
    return ForcedStart(validate.boolean("free_start", free_start))
