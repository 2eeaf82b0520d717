"""Confidence intervals for the arms' means, and the point in them at which a fair policy would earn most."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part, rules_of
from evenhand.core.state import Array, Mask, Observation, State
from evenhand.policy.custom_merit import as_merit
from evenhand.policy.evidence import Evidence, Received, as_evidence, shared_evidence
from evenhand.policy.index import Index, at_least_one
from evenhand.policy.merit import Merit
from evenhand.policy.part import Composition, PolicyPart, Traits, built
from evenhand.policy.rules import IndexRules

ITERATIONS = 100  # of Dinkelbach's; five are usual, and each at least doubles the digits near the end


class Intervals(PolicyPart, ABC):
    """A rule for an interval for the mean of every arm. An own rule needs `of`; it remembers nothing itself."""

    @by_default
    def evidence(self) -> Evidence | None:
        """The evidence that remembers for both ends; None where none does."""
        return None

    @abstractmethod
    def of(self, state: State) -> tuple[Array, Array]:
        """The lower and the upper end, each (…, arms), in [0, 1].

        Args:
            state: of the policy.

        Returns:
            The ends.
        """


@part("confidence", "hoeffding")
@frozen
class ConfidenceIntervals(Intervals):
    """An interval for the mean of every arm: ``[max(S/n − c, 0), min(S/n + c, 1)]``, both ends cut to [0, 1].

    ``c = sqrt(scale · ln(inside · K · t) / max(n, 1))``, the factors K (number of arms) and t (round counted from 1)
    each only where they are asked for. Sum S and number n are those of the evidence, which may differ between the two
    ends.

    Args:
        inside: number in the logarithm.
        scale: number before the logarithm.
        per_arm: whether the logarithm also has the factor K.
        anytime: whether the logarithm also has the factor t.
        lower: evidence of the lower end.
        upper: evidence of the upper end.

    Example:
        >>> import numpy as np
        >>> from evenhand import State
        >>> from evenhand.typing import Tally
        >>> counts = np.array([400.0, 0.0])
        >>> low, high = ConfidenceIntervals(inside=1000.0).of(State(400, Tally(counts, counts, np.array([200.0, 0.0]))))
        >>> low.round(3), high.round(3)
        (array([0.362, 0.   ]), array([0.638, 1.   ]))

    Source: Chen et al. 2024, Algorithms 1 and 3, Theorems 6 and 8; Lancewicki et al. 2021, Algorithm 3.
    """

    inside: float = field(converter=validate.at_least_one)
    scale: float = field(default=1.0, converter=validate.nonnegative)
    per_arm: bool = field(default=True, converter=validate.truth)
    anytime: bool = field(default=False, converter=validate.truth)
    lower: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    upper: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})

    def __attrs_post_init__(self) -> None:
        shared_evidence(self.lower, self.upper, "lower and upper")

    @property
    def evidence(self) -> Evidence:
        """The evidence that remembers for both ends."""
        return self.lower

    def growth(self, time: Any, arms: int) -> Any:
        """``scale · ln(inside · K · t)``, the logarithm in the widths.

        Args:
            time: t ≥ 1, of any shape.
            arms: K, number of arms.

        Returns:
            Of the shape of ``time``; a number where the logarithm has no t.
        """
        inside = self.inside * (arms if self.per_arm else 1)
        return self.scale * np.log(inside * time if self.anytime else inside)

    def rules(self) -> IndexRules | None:
        """Those of the upper ends."""
        missing = rules_of(self.upper)
        return None if missing is None else IndexRules("interval", missing, self.growth, clip=True)

    def of(self, state: State) -> tuple[Array, Array]:
        """The lower and the upper end, each (…, arms)."""
        growth = self.growth(state.round + 1 + state.rounds_before, state.tally.pulls.shape[-1])
        tally = self.upper.tally(state)
        sums, counts = self.upper.of(tally)
        counts = at_least_one(counts, tally, state)
        width = np.sqrt(growth / counts)
        high = (sums / counts + width).clip(0.0, 1.0)
        if self.lower != self.upper:
            sums, counts = self.lower.of(tally)
            counts = at_least_one(counts, tally, state)
            width = np.sqrt(growth / counts)
        return (sums / counts - width).clip(0.0, 1.0), high


def optimistic_means(merit: Merit, low: Array, high: Array, available: Mask | None = None) -> Array:
    """The means within intervals at which the fair policy earns most: ``argmax Σ f(x_i) x_i / Σ f(x_j)``, exactly.

    Numerator and denominator are sums over the arms, so Dinkelbach's iteration leaves one small problem per arm: for
    a given λ each arm takes the x that maximises ``f(x)(x − λ)`` on its interval (`Merit.peak`), and λ becomes the
    ratio reached. λ only grows, and the iteration ends when it no longer does, all lanes side by side. Where
    ``f(x)(x − λ)`` is known to rise, the upper ends are the answer.

    Args:
        merit: f.
        low: (…, arms), lower ends in [0, 1].
        high: (…, arms), upper ends in [0, 1].
        available: (…, arms), arms that count; None for all.

    Returns:
        (…, arms), the means; of sleeping arms any in their interval.

    Example:
        >>> import numpy as np
        >>> from evenhand.merit import Power
        >>> low, high = np.array([0.0, 0.1]), np.array([0.9, 0.4])
        >>> optimistic_means(Power(beta=2.0), low, high)
        array([0.9, 0.4])
        >>> optimistic_means(Power(beta=50.0), low, high).round(3)
        array([0.9, 0.2])

    Source: Chen et al. 2024, Algorithm 1, line 9, which leaves the maximisation to a solver; W. Dinkelbach: On
    Nonlinear Fractional Programming. Management Science 13(7), 1967.
    """
    if merit.rises:
        return high
    best = high
    level = _ratio(merit, best, available)
    for _ in range(ITERATIONS):
        best = merit.peak(low, high, level)
        reached = _ratio(merit, best, available)
        done = (reached <= level).all()
        level = np.maximum(reached, level)
        if done:
            break
    return best


def _ratio(merit: Merit, means: Array, available: Mask | None) -> Array:
    """``Σ f(x_i) x_i / Σ f(x_j)`` over the available arms, (…, 1)."""
    merits = merit(means) if available is None else merit(means) * available
    total = merits.sum(axis=-1, keepdims=True)
    return np.asarray((merits * means).sum(axis=-1, keepdims=True) / np.where(total > 0.0, total, 1.0))


def as_confidence(value: Intervals | Mapping[str, object]) -> Intervals:
    """Confidence intervals, given as such or by their plain form."""
    return built("confidence", value, Intervals, "ConfidenceIntervals(inside=1000)")


@part("index", "optimistic_shares")
@frozen
class OptimisticShares(Index):
    """The score of arms under which a fair policy would earn most, among all that the evidence allows.

    ``μ~ = argmax over the intervals of Σ f(x_i) x_i / Σ f(x_j)``

    Where arms sleep, the maximum is over the available ones. Where shares are capped at one (`MeritShares`), the
    maximum is still that of the ratio, which knows no cap.

    Args:
        confidence: an interval for the mean of every arm.
        merit: f.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.merit import Power
        >>> index = OptimisticShares(ConfidenceIntervals(inside=1000.0), Power())
        >>> index.score(Policy(index).start(arms=2), Observation(), np.random.default_rng(0))
        array([1., 1.])

    Source: Chen et al. 2024, Algorithm 1, line 9, and Algorithm 3.
    """

    confidence: Intervals = field(converter=as_confidence, metadata={"slot": "confidence"})
    merit: Merit = field(converter=as_merit, metadata={"slot": "merit"})
    traits = Traits(bounded=True)

    @property
    def evidence(self) -> Evidence | None:
        """That of the intervals."""
        return self.confidence.evidence

    def rules(self) -> IndexRules | None:
        """The upper ends, where these are the answer."""
        upper: IndexRules | None = rules_of(self.confidence) if self.merit.rises else None
        return upper

    def refuses(self, policy: Composition) -> str | None:
        """As the intervals do."""
        return self.confidence.refuses(policy)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """μ~, (…, arms)."""
        low, high = self.confidence.of(state)
        return optimistic_means(self.merit, low, high, observation.available)
