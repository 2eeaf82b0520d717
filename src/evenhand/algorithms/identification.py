"""Algorithms that find the best arm soon, with a minimum share for every arm, in place of earning on the way."""

from __future__ import annotations

from evenhand.algorithms.registry import algorithm
from evenhand.core.validate import PerArm
from evenhand.policy.composition import Policy
from evenhand.policy.custom_merit import MeritLike
from evenhand.policy.identification import IdentifyingMerit, IdentifyingShares, TrackedShares
from evenhand.policy.index import EmpiricalMean
from evenhand.policy.selection import Categorical


@algorithm("russo2024")
def f_tas(fractions: PerArm, *, mixing: float = 0.5, power: float = 0.5) -> Policy:
    """F-TaS: the proportions with which the best arm is known soonest, and a minimum probability for every arm.

    ``π_t = (1 − c t^−a) w_t + c t^−a π_u``, ``w_t = argmax over w ≥ p of min_b w_a kl(μ̂_a, m_b) + w_b kl(μ̂_b, m_b)``

    Promise: every available arm plays with a probability of at least p_i in every round, and each propensity is known
        exactly. The rounds until the best arm is known tend to the least that any policy with this promise needs.

    It explores as long as it runs: stop when `Bandit.stopping` says that one may, and let another policy earn. Ours is
    when w_t is computed anew: when 5% more rewards have arrived.

    Args:
        fractions: (arms,), minimum shares p_i, Σ p ≤ 1.
        mixing: c in [0, 1], of the shares that are mixed in; that of the published code.
        power: a in [0, 1], with which that part falls.

    Example:
        >>> f_tas([0.1, 0.2]).fractions
        array([0.1, 0.2])

    Source: Russo & Vannella 2024, Algorithm 1.
    """
    return Policy(EmpiricalMean(), IdentifyingShares(fractions, mixing, power), Categorical(), name="f_tas")


@algorithm("russo2024")
def f_tas_tracking(fractions: PerArm, *, mixing: float = 0.5, power: float = 0.5) -> Policy:
    """F-TaS with tracking: the arm that is furthest below the sum of its shares plays, without draws.

    ``argmax Σ_{s≤t} π_s − N``, π_t being the shares of F-TaS

    Promise: with all arms available, no arm is ever more than K − 1 plays behind p_i t. Ours, by the tracking lemma.

    The paper draws. Tracking keeps the promise as a count, and no decision has a probability between 0 and 1.

    Args:
        fractions: (arms,), minimum shares p_i, Σ p ≤ 1.
        mixing: c in [0, 1], as of `f_tas`.
        power: a in [0, 1].

    Example:
        >>> f_tas_tracking(0.1).fairness.traits.gives
        'ranking'

    Source: ours, after Russo & Vannella 2024, Algorithm 1, and Garivier & Kaufmann 2016, Lemma 7 (C-tracking).
    """
    return Policy(EmpiricalMean(), TrackedShares(fractions, mixing, power), name="f_tas_tracking")


@algorithm("russo2024")
def f_tas_merit(merit: MeritLike, *, part: float = 0.5, mixing: float = 0.5, power: float = 0.5) -> Policy:
    """F-TaS by merit: the minimum shares follow the means that are learned.

    ``π_t = (1 − c t^−a) w_t + c t^−a π_u`` of F-TaS with ``p_i = q f(μ̂_i)/Σ_j f(μ̂_j)``

    Promise: every available arm plays with a probability of at least the part q of the share that its estimate
        deserves, and each propensity is known exactly. An audit judges no promise, as none is a number.

    Args:
        merit: f, a positive function of the mean reward.
        part: q in [0, 1], of the rounds that are shared by merit.
        mixing: c in [0, 1], as of `f_tas`.
        power: a in [0, 1].

    Example:
        >>> from evenhand.merit import Power
        >>> f_tas_merit(Power(), part=0.3).fairness.part
        0.3

    Source: Russo & Vannella 2024, section 2 (model-dependent rates).
    """
    return Policy(EmpiricalMean(), IdentifyingMerit(merit, part, mixing, power), Categorical(), name="f_tas_merit")
