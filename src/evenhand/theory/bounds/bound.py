"""A theorem about an algorithm: which measure it bounds, by how much, and under which premises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.frozen import frozen
from evenhand.core.state import Array
from evenhand.theory.bounds.fang2022 import hard_threshold_regret
from evenhand.theory.bounds.gaps import Numbers, gaps_of
from evenhand.theory.bounds.huang2020 import lfg_regret, tscsf_b_regret
from evenhand.theory.bounds.patil2019 import fucb_regret, naive_regret, t_fucb_regret, ucb1_regret
from evenhand.theory.bounds.premises import (
    Premise,
    always_available,
    bounded_rewards,
    clipped,
    default_exploration,
    drawn_availability,
    exact_queue,
    exploration_above_4,
    holds_at_most_double,
    immediate_feedback,
    known_spread,
    no_tolerance,
    not_clipped,
    one_play,
    positive_eta,
    recursive_queue,
    same_in_all_lanes,
    some_exploration,
    uniform_prior,
    unit_weights,
)
from evenhand.theory.bounds.wang2021 import ars_ucb_constant, ars_ucb_regret

if TYPE_CHECKING:
    from evenhand.environment.world import Environment
    from evenhand.policy.composition import Policy
    from evenhand.theory.baseline import Baseline

    Function = Callable[[Array, Policy, Baseline], Array]


@frozen(kw_only=True)
class Bound:
    """The bound that a theorem gives for an algorithm.

    Args:
        measure: name of the measure that is bounded.
        source: paper and number of the theorem.
        function: the bound from rounds (checkpoints,), policy and baseline.
        holds_if: the premises, all of which must hold.
        at_horizon: whether it holds at the horizon only, for which the policy was made.

    Example:
        >>> from evenhand import Environment
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> from evenhand.theory import baseline_of
        >>> policy, world = fucb([0.1, 0.1]), Environment(Bernoulli([0.8, 0.3]))
        >>> round(float(FUCB.evaluate(policy, world, baseline_of(policy, world), 1000)), 2)
        62.67
        >>> tolerant = fucb([0.1, 0.1], tolerance=5.0)
        >>> FUCB.evaluate(tolerant, world, baseline_of(tolerant, world), 1000) is None
        True
        >>> [premise.sentence for premise in FUCB.violated(tolerant, world, baseline_of(tolerant, world))]
        ['the tolerance is 0']
    """

    measure: str
    source: str
    function: Function
    holds_if: tuple[Premise, ...]
    at_horizon: bool = False

    @property
    def text(self) -> str:
        """Measure, theorem and premises, as a sentence."""
        when = " at the horizon" if self.at_horizon else ""
        premises = "; ".join(premise.sentence for premise in self.holds_if)
        return f"bounds {self.measure}{when} ({self.source}) if {premises}"

    def violated(self, policy: Policy, environment: Environment, baseline: Baseline) -> list[Premise]:
        """The premises that do not hold.

        Args:
            policy: that the bound is for.
            environment: that it plays in.
            baseline: what it is measured against.

        Returns:
            The premises, in their order.
        """
        return [premise for premise in self.holds_if if not premise.holds(policy, environment, baseline)]

    def evaluate(self, policy: Policy, environment: Environment, baseline: Baseline, rounds: Numbers) -> Array | None:
        """The bound at ``rounds``, in its shape; None where a premise does not hold.

        Args:
            policy: of the algorithm that the bound is about.
            environment: in which the policy plays.
            baseline: of the two.
            rounds: T, a number or rising checkpoints, the last one the horizon; NaN before it where the bound holds at
                the horizon only.

        Returns:
            In the unit of the bound's measure; NaN before the horizon where the bound holds there only.
        """
        if self.violated(policy, environment, baseline):
            return None
        time = np.asarray(rounds, dtype=float)
        values = np.asarray(self.function(time, policy, baseline))
        return np.where(time == time.max(), values, np.nan) if self.at_horizon else values


_COMMON = (bounded_rewards, immediate_feedback, same_in_all_lanes)
_ONE_ARM = (*_COMMON, always_available, one_play, unit_weights)
_CLASSIC = (*_ONE_ARM, default_exploration(2.0), not_clipped)


def _weight(baseline: Baseline) -> float:
    return float(baseline.weights.max())


def _naive(rounds: Array, policy: Policy, baseline: Baseline) -> Array:
    """The bound of NAIVE with the ε that its exploration has, and a play of each arm for the rounding."""
    arms = baseline.gains.shape[-1]
    epsilon = policy.schedule.rounds(arms) / float(rounds.max())
    return np.asarray(
        naive_regret(rounds, baseline.gains, _fractions(baseline), epsilon) + gaps_of(baseline.gains)[1].sum()
    )


def _eta(policy: Policy) -> float:
    return float(getattr(policy.fairness, "eta"))  # noqa: B009  (of a virtual queue, which the premises ensure)


UCB1 = Bound(
    measure="regret",
    source="Patil et al. 2019, Theorem 7; Auer et al. 2002, Theorem 1",
    function=lambda rounds, policy, baseline: ucb1_regret(rounds, baseline.gains),
    holds_if=_CLASSIC,
)
FUCB = Bound(
    measure="r_regret",
    source="Patil et al. 2019, Theorem 3",
    function=lambda rounds, policy, baseline: fucb_regret(rounds, baseline.gains, _fractions(baseline)),
    holds_if=(*_CLASSIC, no_tolerance),
)
T_FUCB = Bound(
    measure="r_regret",
    source="Patil et al. 2019, Theorem 2",
    function=lambda rounds, policy, baseline: t_fucb_regret(rounds, baseline.gains, _fractions(baseline)),
    holds_if=_CLASSIC,
    at_horizon=True,
)
NAIVE = Bound(
    measure="r_regret",
    source="Patil et al. 2019, the proof of Theorem 1",
    function=_naive,
    holds_if=(*_ONE_ARM, some_exploration),
    at_horizon=True,
)
TSCSF_B = Bound(
    measure="time_averaged_regret",
    source="Huang et al. 2020, Theorem 2",
    function=lambda rounds, policy, baseline: tscsf_b_regret(
        rounds, baseline.gains.shape[-1], policy.plays, _eta(policy), _weight(baseline)
    ),
    holds_if=(*_COMMON, drawn_availability, positive_eta, exact_queue, uniform_prior),
)
LFG = Bound(
    measure="time_averaged_regret",
    source="Li et al. 2019, Theorem 2, as quoted in Huang et al. 2020, section 1",
    function=lambda rounds, policy, baseline: lfg_regret(
        rounds, baseline.gains.shape[-1], policy.plays, _eta(policy), _weight(baseline)
    ),
    holds_if=(*_COMMON, drawn_availability, positive_eta, recursive_queue, default_exploration(1.5), clipped),
)
HARD_THRESHOLD_UCB = Bound(
    measure="penalized_regret",
    source="Fang et al. 2022, Theorem 4.2 (d), without its O(K) term",
    function=lambda rounds, policy, baseline: hard_threshold_regret(
        rounds, baseline.gains, _fractions(baseline), _penalties(baseline)
    ),
    holds_if=_CLASSIC,
)
#: No registered algorithm has this bound: at ARS-UCB's own exploration of 4 it never holds.
ARS_UCB = Bound(
    measure="composite_regret",
    source="Wang et al. 2021, Theorem 1",
    function=lambda rounds, policy, baseline: _ars_ucb(rounds, policy, baseline),
    holds_if=(
        *(bounded_rewards, always_available, one_play, unit_weights, same_in_all_lanes),
        *(exploration_above_4, holds_at_most_double, known_spread),
    ),
)


def _ars_ucb(rounds: Array, policy: Policy, baseline: Baseline) -> Array:
    from evenhand.environment.profiles import lateness, lateness_variance

    late, variance = 0.0, 0.0
    spread = None if baseline.feedback is None else baseline.feedback.spread
    if spread is not None:
        late = lateness(spread, baseline.gains)
        # Of all totals in [0, 1] of a mean, those of 0 and 1 vary most.
        variance = lateness_variance(spread, baseline.gains)
    exploration = float(getattr(policy.index, "exploration"))  # noqa: B009
    size = getattr(policy.hold, "size")  # noqa: B009
    constant = ars_ucb_constant(baseline.gains.size, exploration, late, variance, size)
    return ars_ucb_regret(rounds, baseline.gains, exploration, constant)


def _fractions(baseline: Baseline) -> Array:
    assert baseline.fractions is not None, "the algorithm promises fractions"
    return baseline.fractions


def _penalties(baseline: Baseline) -> Array:
    assert baseline.penalties is not None, "the algorithm has penalties"
    return baseline.penalties
