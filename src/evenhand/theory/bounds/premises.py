"""The premises of theorems: a sentence, and whether it is true of a policy in an environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from evenhand.core.frozen import frozen
from evenhand.theory.bounds.wang2021 import first_hold

if TYPE_CHECKING:
    from evenhand.environment.world import Environment
    from evenhand.policy.composition import Policy
    from evenhand.theory.baseline import Baseline

    Test = Callable[[Policy, Environment, Baseline], bool]


@frozen
class Premise:
    """One condition of a theorem."""

    name: str
    sentence: str
    holds: Test


def premise(sentence: str) -> Callable[[Test], Premise]:
    """Turns a test into a premise, named after the function."""
    return lambda test: Premise(test.__name__, sentence, test)


def parameter(path: str, value: object, sentence: str) -> Premise:
    """The premise that a parameter of one of the policy's parts has a certain value."""
    get = attrgetter(path)

    def holds(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
        try:
            return bool(get(policy) == value)
        except AttributeError:  # another part, which has no such parameter
            return False

    return Premise(path.replace(".", "_"), sentence, holds)


def default_exploration(value: float) -> Premise:
    """The premise that the exploration of a UCB index is the theorem's."""
    return parameter("index.exploration", value, f"the exploration is {value:g}")


@premise("rewards are drawn at random and lie in [0, 1]")
def bounded_rewards(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """Neither a log nor an adversary nor by context, and a range within [0, 1]."""
    rewards, range = environment.rewards, environment.range
    if range is None or environment.contexts is not None or rewards.traits.in_hindsight or rewards.rows is not None:
        return False
    return range[0] >= 0.0 and range[1] <= 1.0


@premise("rewards are known at the end of their round")
def immediate_feedback(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """No delay, no loss, no sums."""
    return environment.feedback.traits.immediate


@premise("all arms are always available")
def always_available(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """No arm ever sleeps."""
    return not baseline.sleeping


@premise("the available arms are drawn anew in every round")
def drawn_availability(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """Not replayed from a log."""
    return environment.availability.rows is None


@premise("one arm plays per round")
def one_play(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """m = 1."""
    return policy.plays == 1


@premise("all weights are 1")
def unit_weights(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """The policy's, and the environment's."""
    return bool((baseline.weights == 1.0).all())


@premise("all lanes have the same means and promises")
def same_in_all_lanes(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """No parameter per lane: one bound cannot hold for different problems."""
    return not baseline.differs_by_lane


@premise("eta is above 0")
def positive_eta(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """Infinity included, where the term of the queues vanishes."""
    return getattr(policy.fairness, "eta", 0.0) > 0.0


@premise("some rounds are for exploration")
def some_exploration(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """The schedule has a phase of its own."""
    return policy.schedule.rounds(environment.arms) > 0.0


@premise("the exploration is above 4")
def exploration_above_4(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """α > 4: at 4 the theorem says nothing."""
    return float(getattr(policy.index, "exploration", 0.0)) > 4.0


@premise("no hold is longer than all holds of its arm before it, from some hold on")
def holds_at_most_double(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """``F(k) ≥ f(k + 1)`` for all k > k_0."""
    size = getattr(policy.hold, "size", None)
    return size is not None and math.isfinite(first_hold(size))


@premise("it is known how rewards spread, and the plays do not change it")
def known_spread(policy: Policy, environment: Environment, baseline: Baseline) -> bool:
    """Known at once, or a profile."""
    return environment.feedback.spread is not None


no_tolerance = parameter("fairness.tolerance", 0.0, "the tolerance is 0")
exact_queue = parameter("fairness.queue", "exact", "the queue is exact")
uniform_prior = parameter("index.prior", (1.0, 1.0), "the prior is uniform")
recursive_queue = parameter("fairness.queue", "recursive", "the queue is recursive")
clipped = parameter("index.clip", True, "the confidence bound is cut at 1")
not_clipped = parameter("index.clip", False, "the confidence bound is not cut")
