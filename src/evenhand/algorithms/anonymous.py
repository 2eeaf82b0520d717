"""Algorithms for rewards that come back as one anonymous sum: choices last, so that the sum is mostly their own."""

from __future__ import annotations

from evenhand.algorithms.registry import algorithm
from evenhand.core import validate
from evenhand.core.validate import PerArm
from evenhand.policy.composition import Policy
from evenhand.policy.fairness import DeficitFirst, Mixing
from evenhand.policy.hold import HoldFor, PowerSize, RandomEnds, RestartedHold, SizeLike
from evenhand.policy.index import UCB, EmpiricalMean
from evenhand.policy.mixing import DoubledHorizon, Doubling, ForChoices, OnePhase
from evenhand.policy.schedule import PhasedElimination
from evenhand.policy.selection import Categorical, TopM
from evenhand.policy.weights import ExponentialWeights, RestartedWeights, WindowWeights


@algorithm("wang2021")
def ars_ucb(*, size: SizeLike | None = None, exploration: float = 4.0, credit: str = "all") -> Policy:
    """ARS-UCB: the arm with the largest clipped upper confidence bound plays for more and more rounds.

    ``argmax min(S/N + sqrt(α ln t / N), 1)``, of equal ones the least played, for ``f(k)`` rounds, k being how often
    the arm was chosen

    Promise: none to the arms; regret O(K ln T) without knowing how long rewards take, for α > 4 (Theorem 1).

    The logarithm takes the rounds played so far. The last choice is cut at the horizon.

    Args:
        size: f, `evenhand.policy.hold.PowerSize`, `GeometricSize` or any rising function of k; None for k².
        exploration: α ≥ 0; 4 is the paper's choice, just below what its theorem asks for.
        credit: ``"all"``, or ``"second_half"``: what arrives in the first ⌊f(k)/2⌋ rounds of a choice counts for no
            arm, so that the bias of a round is at most what a profile has beyond f(k)/2 rounds. Ours, without a proof;
            with size k³ and exploration 2 fewer runs are stuck on a worse arm.

    Example:
        >>> ars_ucb().hold.size
        PowerSize(exponent=2.0)

    Source: Wang et al. 2021, Algorithm 1.
    """
    index = UCB(exploration, clip=True, clock="played")
    return Policy(index, selection=TopM(ties="fewest"), hold=HoldFor(_size(size), credit=credit), name="ars_ucb")


@algorithm("wang2021")
def ucb(*, exploration: float = 2.0) -> Policy:
    """UCB: the index of ARS-UCB, computed in every round; a baseline for ARS-UCB on anonymous sums.

    ``argmax min(S/N + sqrt(α ln t / N), 1)``, of equal ones the least played

    Promise: none to the arms; regret O(K ln T) where every reward is known at once, and none for anonymous sums.

    Where rewards spread, each is credited to the arm that plays as it arrives, and arms that take turns look alike.

    Args:
        exploration: α ≥ 0.

    Example:
        >>> ucb().index.clip
        True

    Source: Wang et al. 2021, Algorithm 1 with f(k) = 1; Auer, Cesa-Bianchi & Fischer 2002.
    """
    index = UCB(exploration, clip=True, clock="played")
    return Policy(index, selection=TopM(ties="fewest"), name="ucb")


@algorithm("wang2021")
def ars_fucb(
    fractions: PerArm,
    *,
    size: SizeLike | None = None,
    tolerance: float = 0.0,
    exploration: float = 4.0,
    credit: str = "all",
) -> Policy:
    """ARS-FUCB: FUCB's promise under anonymous sums, with choices that last for more and more rounds.

    ``A(t) = {i : r_i (t−1) − N_i > α}``; if A(t) is not empty ``argmax r_i (t−1) − N_i``, else ARS-UCB's choice; for
    ``f(k)`` rounds

    Promise: with all arms awake and Σ r ≤ 1, no arm is ever further behind than ``α + H Σ_{j<K} R_j/j``, H being the
        longest choice so far and R_j the sum of the j largest shares; so its share of the rounds tends to at least r_i
        wherever choices grow more slowly than time. Ours, not the paper's.

    Args:
        size: f, `evenhand.policy.hold.PowerSize`, `GeometricSize` or any rising function of k; None for k².
        exploration: α of ARS-UCB.
        credit: ``"all"`` or ``"second_half"``, as for ARS-UCB.

    Example:
        >>> ars_fucb([0.1, 0.1]).fractions
        array([0.1, 0.1])

    Source: ours; Wang et al. 2021, Algorithm 1, with Patil et al. 2019, section 5.
    """
    index = UCB(exploration, clip=True, clock="played")
    fairness = DeficitFirst(fractions, tolerance)
    return Policy(index, fairness, TopM(ties="fewest"), hold=HoldFor(_size(size), credit=credit), name="ars_fucb")


@algorithm("auer2002nonstochastic")
def exp3(*, horizon: int, mixing: float | None = None) -> Policy:
    """EXP3: exponential weights for adversarial rewards.

    ``p_i = (1 − γ) w_i/Σw + γ/K``, ``w_i ← w_i exp(γ X/(K p_i))``

    Promise: none to the arms; regret O(sqrt(T K ln K)) against any rewards that are known at once.

    Args:
        mixing: γ in [0, 1]; None for ``min(1, sqrt(K ln K/((e − 1) T)))``.

    Example:
        >>> round(exp3(horizon=1000).fairness.mixing.mixing(round=1, arms=2), 4)
        0.0284

    Source: Auer, Cesa-Bianchi, Freund & Schapire 2002, section 3, Corollary 3.2.
    """
    gamma = ForChoices(validate.whole("horizon", horizon)) if mixing is None else mixing
    return Policy(ExponentialWeights(gamma), Mixing(gamma), Categorical(), name="exp3")


@algorithm("wang2021")
def ars_exp3(*, horizon: int, exponent: float = 0.5, mixing: float | None = None) -> Policy:
    """ARS-EXP3: exponential weights, with choices that last for more and more rounds.

    ``e_i = exp(w_i/g(K))``, ``p_i = (1 − γ) e_i/Σe + γ/N``; the k-th choice lasts ``g(k) = max(1, ⌊k^β⌋)`` rounds, and
    then ``w_i ← w_i + γ min(Z, g(k))/(N p_i)``

    Promise: none to the arms; regret O((d + sqrt(N ln N)) T^(2/3)) for β = 1/2, also against an adversary that chooses
        the delays knowing the plays (Theorem 2).

    K is the number of choices that fit into T. What is left after the K-th is one more choice, cut at the horizon.

    Args:
        exponent: β > 0.
        mixing: γ in [0, 1]; None for the theorem's ``min(1, sqrt(N ln N/((e − 1) ((β + 1) T)^(1/(β + 1)))))``.

    Example:
        >>> policy = ars_exp3(horizon=1000)
        >>> policy.index.scale, round(policy.fairness.mixing.mixing(round=1, arms=2), 4)
        (11.0, 0.0785)

    Source: Wang et al. 2021, Algorithm 2 and Theorem 2.
    """
    size, rounds = PowerSize(exponent), validate.whole("horizon", horizon)
    gamma = ForChoices(((exponent + 1.0) * rounds) ** (1.0 / (exponent + 1.0))) if mixing is None else mixing
    index = ExponentialWeights(gamma, scale=size.last(rounds))
    return Policy(index, Mixing(gamma), Categorical(), hold=HoldFor(size, count="all"), name="ars_exp3")


@algorithm("wang2021")
def ars_exp3_doubling(*, first_horizon: int = 1000, exponent: float = 0.5) -> Policy:
    """ARS-EXP3 without a known T: restarted in phases of doubled length, with the length of the phase as T.

    phase k plays as ARS-EXP3 with ``T = T_k = 2^(k−1) T_1``; all is forgotten where a phase begins

    Promise: none to the arms; for β = 1/2 the regret that Theorem 2 gives for T, times at most
        ``2^(2/3)/(2^(2/3) − 1) = 2.70``, as the phases' bounds add up.

    The last choice of a phase is cut at its end; what it earned is forgotten with the rest.

    Args:
        first_horizon: T_1 ≥ 1, rounds of the first phase; the paper gives none, 1000 is ours.
        exponent: β > 0, of the sizes of choices.

    Example:
        >>> ars_exp3_doubling().hold.phases.horizon_of(5000)
        4000

    Source: Wang et al. 2021, Algorithm 2 and section 3.1, which names the doubling and gives no details.
    """
    phases = DoubledHorizon(first_horizon, exponent)
    hold = RestartedHold(phases)
    return Policy(RestartedWeights(phases), Mixing(phases), Categorical(), hold=hold, name="ars_exp3_doubling")


@algorithm("cesabianchi2018")
def clw(*, horizon: int, delay: int, style: str = "loss") -> Policy:
    """CLW: exponential weights, with choices of random length, at least 2d rounds, for a known delay d.

    a choice ends with a marker of probability ``q = 1/(2d)`` after 2d − 1 rounds without one; then ``ln w`` of its arm
    moves by ``−η/p · 1/(2d) Σ_{last d rounds} (1 − Y)``, ``p = w/Σw``, ``η = sqrt(2 ln K/(K n))`` for the
    ``n = T q (1 − q)^(2d−1)`` updates to be expected

    Promise: none to the arms; regret O(sqrt(d T K ln K)) if no reward takes longer than d, against an adversary that
        does not look at the plays.

    Args:
        delay: d ≥ 1, the longest that a reward takes.
        style: ``"loss"`` (as published, for losses: what is missing of a reward of 1 per round), or ``"gain"`` as
            Wang et al. restate it: ``ln w += γ/K · 1/(2d) Σ Y/p``, with the even chance γ mixed into p,
            ``γ = min(1, sqrt(2 d K ln K/(T + d)))``.

    Example:
        >>> clw(horizon=1000, delay=10).hold.phases.longest
        10

    Source: Cesa-Bianchi, Gentile & Mansour 2018, section 3; Wang et al. 2021, appendix C.
    """
    validate.one_of("style", style, ("loss", "gain"))
    phases = OnePhase(delay, horizon)
    mixing = Mixing(0.0 if style == "loss" else phases)
    return Policy(WindowWeights(phases, style), mixing, Categorical(), hold=RandomEnds(phases), name="clw")


@algorithm("wang2021")
def ars_clw(*, first_horizon: int = 1000, exponent: float = 1.0 / 3.0) -> Policy:
    """ARS-CLW: CLW without a known delay, in phases of doubled length with increasing guesses of the delay.

    phase k ends at ``T_k = 2^(k−1) T_1`` and guesses ``d_k = ⌊T_k^h⌋``; all is forgotten where a phase begins

    Promise: none to the arms; regret O(sqrt(T h(2T) N ln N)) once the guess exceeds the delay, against an adversary
        that does not look at the plays (Theorem 3).

    Args:
        first_horizon: T_1; the paper gives none, 1000 is ours.
        exponent: of the guess; the paper gives none, 1/3 is ours.

    Example:
        >>> ars_clw().index.style
        'gain'

    Source: Wang et al. 2021, appendix C, Algorithm 3.
    """
    phases = Doubling(first_horizon, exponent)
    return Policy(WindowWeights(phases, "gain"), Mixing(phases), Categorical(), hold=RandomEnds(phases), name="ars_clw")


@algorithm("pikeburke2018")
def odaaf(
    *, horizon: int, rule: str = "expected", mean_delay: float = 0.0, max_delay: float = 0.0, variance: float = 0.0
) -> Policy:
    """ODAAF: increasingly long runs of each arm, after which worse arms are eliminated, for a known delay.

    arm i goes if ``S_i/n_m < max_j S_j/n_m − 2^−m`` after ``n_m`` rounds of each

    Promise: none to the arms; those that are dropped get nothing. Regret O(Σ ln T/Δ_i + K E[τ]).

    Args:
        rule: ``"expected"`` (the mean delay is known), ``"bounded"`` (also the largest), ``"variance"`` (the mean and
            the variance), or ``"composite"`` (how long a reward is spread, after Garg & Akash).
        mean_delay: E[τ] ≥ 0, rounds.
        max_delay: d ≥ 0, rounds.
        variance: V[τ] ≥ 0, of the delay.

    Example:
        >>> odaaf(horizon=1000, rule="bounded", mean_delay=20, max_delay=30).schedule.rule
        'bounded'

    Source: Pike-Burke et al. 2018, Algorithm 1; Garg & Akash 2019.
    """
    schedule = PhasedElimination(horizon, rule, mean_delay, max_delay, variance)
    return Policy(EmpiricalMean(), schedule=schedule, name="odaaf")


def _size(size: SizeLike | None) -> SizeLike:
    return PowerSize(2.0) if size is None else size
