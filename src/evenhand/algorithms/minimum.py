"""Algorithms that promise every arm a share of the rounds, or set a price on what it misses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.algorithms.indices import beta_under, ucb_under
from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.validate import PerArm
from evenhand.policy.composition import Policy
from evenhand.policy.evidence import EvidenceLike
from evenhand.policy.fairness import DeficitBonus, DeficitFirst, GuaranteedShares, NoPromise
from evenhand.policy.index import UCB, Committed, EmpiricalMean
from evenhand.policy.prior import UNIFORM, PriorLike
from evenhand.policy.schedule import Quotas
from evenhand.policy.selection import Categorical, TopM
from evenhand.policy.spread import Eta
from evenhand.policy.virtual_queue import VirtualQueue
from evenhand.theory import bounds


@algorithm("patil2019")
def fair_random(fractions: PerArm) -> Policy:
    """The trivial fair policy: every arm plays with its fraction and an even part of the rest.

    ``p_i = r_i + (1 − Σr)/K``

    Promise: every arm's expected share of the rounds is at least r_i at any time; regret grows linearly.

    Args:
        fractions: (arms,), promised shares r_i of the rounds, Σ r ≤ 1.

    Example:
        >>> fair_random([0.2, 0.3]).fractions
        array([0.2, 0.3])

    Source: Patil et al. 2019, section 3.1.
    """
    shares = GuaranteedShares(fractions, rest="all")
    return Policy(index=EmpiricalMean(), fairness=shares, selection=Categorical(), name="fair_random")


@algorithm("patil2019", bound=bounds.NAIVE)
def naive(fractions: PerArm, *, horizon: int, epsilon: float = 0.1) -> Policy:
    """NAIVE: explores for εT rounds, then gives the rest of the rounds to the arm that looked best.

    ``n_i = (r_i + (1 − Σr)/K) εT`` plays each, then ``p_i = r_i + (1 − Σr) 1(i = best)``

    Promise: every arm's expected number of plays at T is at least r_i T; regret O((T² ln T)^{1/3}) for the right ε.

    The paper leaves the rounding of n_i open: see `naive_quotas`. Its ε has no default either; 0.1 is ours. That of
    the theorem depends on the means: see `evenhand.theory.bounds.naive_epsilon`.

    Args:
        fractions: (arms,), promised shares r_i of the rounds, Σ r ≤ 1.
        epsilon: ε in [0, 1], share of the rounds for exploration.

    Example:
        >>> naive([0.2, 0.2], horizon=100, epsilon=0.2).schedule.quotas
        array([10., 10.])

    Source: Patil et al. 2019, section 4, Algorithm 1.
    """
    quotas = naive_quotas(fractions, horizon, epsilon)
    if len(quotas) == 1:
        raise EvenhandError(
            f"must have one number per arm, since the quotas depend on K, got {shown(fractions)}", "fractions"
        )
    shares = GuaranteedShares(fractions, rest="best")
    return Policy(Committed(EmpiricalMean(), quotas), shares, Categorical(), Quotas(quotas), name="naive")


@algorithm("patil2019", bound=bounds.T_FUCB)
def t_fucb(fractions: PerArm, *, horizon: int, exploration: float = 2.0) -> Policy:
    """T-FUCB: every arm first plays what it is owed until the horizon, then UCB1 decides.

    ``n_i = max(1, r_i T)`` plays each, then ``argmax S/N + sqrt(2 ln t / N)``

    Promise: every arm has its r_i T plays long before T; regret as FUCB (Theorem 2).

    The paper leaves the rounding of n_i open: see `t_fucb_quotas`.

    Args:
        fractions: (arms,), promised shares r_i of the rounds, Σ r ≤ 1.

    Example:
        >>> t_fucb([0.25, 0.0], horizon=10).schedule.quotas
        array([3., 1.])

    Source: Patil et al. 2019, section 4, Algorithm 2.
    """
    fractions = validate.per_arm("fractions", fractions, 0.0, 1.0)
    quotas = Quotas(t_fucb_quotas(fractions, horizon), promised=fractions)
    return Policy(UCB(exploration), NoPromise(), schedule=quotas, name="t_fucb")


@algorithm("patil2019", bound=bounds.FUCB)
def fucb(
    fractions: PerArm,
    *,
    tolerance: float = 0.0,
    exploration: float = 2.0,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """FUCB: the arm with the largest deficit goes first, the others go by UCB1.

    ``A(t) = {i : r_i (t−1) − N_i > α}``; if A(t) is not empty ``argmax_{i∈A(t)} r_i (t−1) − N_i``, else
    ``argmax S/N + sqrt(2 ln t / N)``

    Promise: with equal fractions below 1/K no arm is ever a whole play behind, in any round of any run (Theorem 4);
        r-regret O(ln T) (Theorem 3).

    Args:
        evidence: what to believe of rewards that have not arrived: ``"received"`` (nothing), ``"optimistic"`` (they
            are 1, so that the bound holds however delays depend on rewards), ``"pessimistic"`` (they are 0) or
            ``"mature"`` (they are 1, and only pulls count that are old enough; needs feedback that names its pulls).
        plays: m, arms played per round; up to m arms of A(t) go first, UCB1 fills the other plays.

    Example:
        >>> fucb([0.1, 0.1, 0.1]).fairness.tolerance
        0.0

    Source: Patil et al. 2019, section 5, Algorithm 3.
    """
    return Policy(ucb_under(exploration, evidence), DeficitFirst(fractions, tolerance), TopM(plays), name="fucb")


@algorithm("patil2019")
def f_ts(
    fractions: PerArm,
    *,
    tolerance: float = 0.0,
    evidence: EvidenceLike = "received",
    prior: PriorLike = UNIFORM,
    plays: int = 1,
) -> Policy:
    """F-TS: the arm with the largest deficit goes first, the others go by Thompson sampling.

    ``A(t) = {i : r_i (t−1) − N_i > α}``; if A(t) is not empty ``argmax_{i∈A(t)} r_i (t−1) − N_i``, else
    ``argmax θ_i, θ ~ Beta(1 + S, 1 + N − S)``

    Promise: as FUCB, since what is owed does not depend on how the other rounds are used (Theorem 4).

    Args:
        evidence: what to believe of rewards that have not arrived: ``"received"``, ``"optimistic"`` (they are 1),
            ``"pessimistic"`` (they are 0), ``"both"``, the mean of an optimistic and a pessimistic draw, or
            ``"mature"``, that mean for the pulls that are old enough, which needs feedback that names its pulls.

    Example:
        >>> f_ts([0.1, 0.1], plays=2).plays
        2

    Source: Patil et al. 2019, section 5.
    """
    return Policy(beta_under(evidence, prior), DeficitFirst(fractions, tolerance), TopM(plays), name="f_ts")


@algorithm("patil2019")
def eta_fucb(
    fractions: PerArm,
    *,
    eta: float,
    surplus: str = "counted",
    exploration: float = 2.0,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """η-FUCB: what an arm is owed is added to its upper confidence bound.

    ``argmax S/N + sqrt(2 ln t / N) + η (r_i (t−1) − N_i)``

    Promise: none in numbers; the larger η, the nearer the fractions and the larger the regret.

    Args:
        eta: η ≥ 0, reward that one owed play is worth.
        surplus: ``"counted"`` as printed, so that the best arm's surplus counts against it; ``"ignored"`` adds only
            what is owed.

    Example:
        >>> eta_fucb([0.1, 0.1], eta=0.5).fairness.shape
        'linear'

    Source: Patil et al. 2019, section 5, Algorithm 4.
    """
    validate.one_of("surplus", surplus, ("counted", "ignored"))
    bonus = DeficitBonus(fractions, validate.number("eta", eta, low=0.0), "linear" if surplus == "counted" else "hinge")
    return Policy(ucb_under(exploration, evidence), bonus, TopM(plays), name="eta_fucb")


@algorithm("fang2022")
def fair_learn(
    fractions: PerArm,
    *,
    tolerance: float = 0.0,
    exploration: float = 2.0,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """Fair-Learn: FUCB with a tolerance, under the name of Fang et al.

    ``A(n) = {k : τ_k (n−1) − N_k > α}``; if A(n) is not empty ``argmax τ_k (n−1) − N_k``, else
    ``argmax S/N + sqrt(2 ln n / N)``

    Promise: with α = 0 that of FUCB; with α > 0 an arm may fall α plays behind.

    Args:
        fractions: (arms,), promised shares τ_k of the rounds.

    Example:
        >>> fair_learn([0.1, 0.1], tolerance=5.0).fairness.tolerance
        5.0

    Source: Fang et al. 2022, section 3; Patil et al. 2019, section 5.
    """
    return Policy(ucb_under(exploration, evidence), DeficitFirst(fractions, tolerance), TopM(plays), name="fair_learn")


@algorithm("li2019", bound=bounds.LFG)
def lfg(
    fractions: PerArm,
    *,
    eta: Eta,
    weights: PerArm = 1.0,
    queue: str = "recursive",
    exploration: float = 1.5,
    clip: bool = True,
    ties: str = "random",
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """LFG: a virtual queue of owed plays against a clipped upper confidence bound.

    ``Q(t) = max(Q(t−1) + r − d(t−1), 0)``; the m largest ``Q_i + η w_i min(S/N + sqrt(c ln t / N), 1)`` play

    Promise: every arm's share of the rounds is at least r_i in the long run, for any finite η and feasible r; the
        time-averaged regret has order K/(2η) + sqrt(m K ln T / T).

    Fang et al. 2022 use it with c = 2. Clipped bounds tie for hundreds of rounds, so ties go to any of the tied arms
    alike. The logarithm takes the rounds counted from 1.

    Args:
        queue: ``"recursive"`` as printed, or ``"exact"`` as in TSCSF-B.
        exploration: c ≥ 0.
        clip: whether to cut the bound at 1.
        ties: ``"random"`` or ``"first"`` (lowest index).

    Example:
        >>> lfg([0.5, 0.6, 0.4], eta=10.0, plays=2).selection
        TopM(plays=2, ties='random')

    Source: Li et al. 2019, Algorithm 1, as given in Huang et al. 2020, section 4, and Fang et al. 2022, section 3.
    """
    return Policy(
        index=ucb_under(exploration, evidence, clip),
        fairness=VirtualQueue(fractions, eta, weights, queue),
        selection=TopM(plays, ties),
        name="lfg",
    )


@algorithm("huang2020", bound=bounds.TSCSF_B)
def tscsf_b(
    fractions: PerArm,
    *,
    eta: Eta,
    weights: PerArm = 1.0,
    queue: str = "exact",
    evidence: EvidenceLike = "received",
    prior: PriorLike = UNIFORM,
    plays: int = 1,
) -> Policy:
    """TSCSF-B: a virtual queue of owed plays against Thompson sampling.

    ``Q(t) = max(t r − Σ d, 0)`` with t counted from 0; the m largest ``Q_i/η + w_i θ_i, θ ~ Beta(1 + S, 1 + N − S)``
    play

    Promise: every arm's share of the rounds is at least r_i in the long run, for any finite η and feasible r (Theorem
        1); the time-averaged regret is at most K/(2η) + (4 w sqrt(m K T ln T) + 2.51 w K)/T (Theorem 2).

    Args:
        queue: ``"exact"`` as printed, or ``"recursive"`` as in LFG.
        evidence: of missing rewards, as of `fucb` or ``"both"``; see `f_ts`.

    Example:
        >>> tscsf_b([0.5, 0.6, 0.4], eta=float("inf"), plays=2).plays
        2

    Source: Huang et al. 2020, Algorithm 1, eqs. (4) to (6).
    """
    return Policy(
        beta_under(evidence, prior), VirtualQueue(fractions, eta, weights, queue), TopM(plays), name="tscsf_b"
    )


@algorithm("fang2022", bound=bounds.HARD_THRESHOLD_UCB)
def hard_threshold_ucb(
    fractions: PerArm,
    *,
    penalties: PerArm,
    exploration: float = 2.0,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """Hard-threshold UCB: an arm below its share gets its whole penalty as a bonus.

    ``argmax S/N + A_k 1(N_k < τ_k n) + sqrt(2 ln n / N)``

    Promise: arms whose penalty exceeds their gap get their share up to a few plays (Theorems 4.1 to 4.3); the others
        may be left behind.

    The paper's eq. (11) and its listing differ by one round in the clock; round n itself is used.

    Args:
        fractions: (arms,), shares τ_k of the rounds below which an arm is penalised.

    Example:
        >>> hard_threshold_ucb([0.1, 0.1], penalties=0.3).fairness.shape
        'hard'

    Source: Fang et al. 2022, section 3, eq. (11) and Algorithm 1.
    """
    bonus = DeficitBonus(fractions, validate.per_arm_or_one("penalties", penalties, low=0.0), "hard")
    return Policy(ucb_under(exploration, evidence), bonus, TopM(plays), name="hard_threshold_ucb")


@algorithm("fang2022")
def soft_threshold_ucb(
    fractions: PerArm,
    *,
    penalties: PerArm,
    exploration: float = 2.0,
    evidence: EvidenceLike = "received",
    plays: int = 1,
) -> Policy:
    """Soft-threshold UCB: the bonus shrinks as an arm nears its share.

    ``argmax S/N + A_k max(τ_k n − N_k, 0)/(τ_k n) + sqrt(2 ln n / N)``

    Promise: none; the paper shows it as the variant that fails to be fair.

    Args:
        fractions: (arms,), shares τ_k of the rounds below which an arm is penalised.

    Example:
        >>> soft_threshold_ucb([0.1, 0.1], penalties=[0.3, 0.2]).fairness.rate
        array([0.3, 0.2])

    Source: Fang et al. 2022, section 5.
    """
    bonus = DeficitBonus(fractions, validate.per_arm_or_one("penalties", penalties, low=0.0), "soft")
    return Policy(ucb_under(exploration, evidence), bonus, TopM(plays), name="soft_threshold_ucb")


def naive_quotas(fractions: PerArm, horizon: int, epsilon: float = 0.1) -> NDArray[np.int64]:
    """NAIVE's exploration plays, rounded so that its promise survives.

    The expected plays at T are ``n_i + p_i (T − Σn) ≥ n_i + r_i (T − Σn)``, so the promise holds wherever
    ``n_i ≥ r_i Σn``. The phase has T' = ⌊εT⌋ rounds, or the fewest more that let every arm have ⌈r_i T'⌉ plays; every
    arm gets those, and what is left goes to the arms furthest below (r_i + (1 − Σr)/K) T'. Where no phase within T
    allows that, there is none.

    Args:
        fractions: (arms,), promised shares r_i of the rounds.
        horizon: T, rounds.
        epsilon: ε in [0, 1].

    Returns:
        (arms,), whole plays.

    Example:
        >>> naive_quotas([0.3, 0.3, 0.0], horizon=100, epsilon=0.1)
        array([5, 4, 1])
    """
    shares = validate.for_all_lanes("fractions", validate.per_arm("fractions", fractions, 0.0, 1.0))
    validate.whole("horizon", horizon)
    validate.number("epsilon", epsilon, 0.0, 1.0)
    wanted = shares + max(1.0 - shares.sum(), 0.0) / len(shares)
    for rounds in range(int(epsilon * horizon + 1e-9), horizon + 1):
        quotas = _up(shares * rounds)
        if quotas.sum() <= rounds:
            for _ in range(rounds - int(quotas.sum())):
                quotas[np.argmax(np.round(wanted * rounds - quotas, 9))] += 1
            return quotas
    return np.zeros(len(shares), dtype=np.int64)


def t_fucb_quotas(fractions: PerArm, horizon: int) -> NDArray[np.int64]:
    """T-FUCB's plays before UCB1 takes over, rounded so that the promise holds at T.

    ``n_i = max(1, ⌈r_i T⌉)``. Where those do not fit into T rounds, n_i = ⌈r_i T⌉; where not even those do, no whole
    numbers can keep the promise, and the T rounds are shared so that no arm misses a whole play: ⌊r_i T⌋, and one
    more for the largest remainders.

    Args:
        fractions: (arms,), promised shares r_i of the rounds, Σ r ≤ 1.
        horizon: T, rounds.

    Returns:
        (arms,), whole plays.

    Example:
        >>> t_fucb_quotas([0.07, 0.5, 0.0], horizon=100)
        array([ 7, 50,  1])
        >>> t_fucb_quotas([1 / 3, 1 / 3, 1 / 3], horizon=10)
        array([4, 3, 3])
    """
    shares = validate.for_all_lanes("fractions", validate.per_arm("fractions", fractions, 0.0, 1.0))
    due = shares * validate.whole("horizon", horizon)
    for whole in (np.maximum(_up(due), 1), _up(due)):
        if whole.sum() <= horizon:
            return whole
    quotas: NDArray[np.int64] = np.floor(due + 1e-9).astype(np.int64)
    for arm in np.argsort(np.round(quotas - due, 9), kind="stable")[: max(horizon - int(quotas.sum()), 0)]:
        quotas[arm] += 1
    return quotas


def _up(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rounded up to whole plays, a billionth being a rounding error: 0.07 · 100 is 7."""
    return np.asarray(np.ceil(values - 1e-9), dtype=np.int64)
