"""The bounds of theorems that belong into figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from evenhand.core.state import Array
from evenhand.theory.baseline import baseline_of

if TYPE_CHECKING:
    from evenhand.environment.world import Environment
    from evenhand.policy.composition import Policy


def bounds_of(
    policies: Mapping[str, Policy], environment: Environment, rounds: NDArray[Any]
) -> dict[str, dict[str, Array]]:
    """The bounds of the policies' algorithms whose premises hold, by measure and label, for `draw_all`.

    Args:
        policies: by label.
        environment: what they face.
        rounds: (checkpoints,), the last one the horizon.

    Returns:
        For each measure and label an array (checkpoints,), in the unit of the measure; NaN where a bound holds at the
        horizon only.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> world = Environment(Bernoulli([0.8, 0.2]))
        >>> bounds = bounds_of({"FUCB": fucb(0.1), "other": fucb(0.1, exploration=1.0)}, world, np.array([100, 1000]))
        >>> {measure: list(by_label) for measure, by_label in bounds.items()}
        {'r_regret': ['FUCB']}
    """
    from evenhand.algorithms.registry import algorithms

    bounds: dict[str, dict[str, Array]] = {}
    known = algorithms()
    for label, policy in policies.items():
        bound = known[policy.name].bound if policy.name in known else None
        if bound is not None:
            values = bound.evaluate(policy, environment, baseline_of(policy, environment, label), rounds)
            if values is not None:
                bounds.setdefault(bound.measure, {})[label] = values
    return bounds
