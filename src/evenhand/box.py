"""Between what and what does an arm's mean lie, and at which point in there would a fair policy earn most?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import validate
from evenhand.evidence import Evidence, Received
from evenhand.index import Memoryless
from evenhand.merit import Merit, as_merit
from evenhand.records import Array, Mask, State

ITERATIONS = 100  # of Dinkelbach's; five are usual, and each at least doubles the digits near the end


@dataclass(frozen=True)
class ConfidenceBox:
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
        >>> from evenhand.records import State, Tally
        >>> counts = np.array([400.0, 0.0])
        >>> low, high = ConfidenceBox(inside=1000.0).of(State(400, Tally(counts, counts, np.array([200.0, 0.0]))))
        >>> low.round(3), high.round(3)
        (array([0.362, 0.   ]), array([0.638, 1.   ]))

    Source: Chen et al. 2024, Algorithms 1 and 3, Theorems 6 and 8; Lancewicki et al. 2021, Algorithm 3.
    """

    inside: float
    scale: float = 1.0
    per_arm: bool = True
    anytime: bool = False
    lower: Evidence = Received()
    upper: Evidence = Received()

    def __post_init__(self) -> None:
        validate.number("inside", self.inside, low=1.0)
        validate.number("scale", self.scale, low=0.0)

    def of(self, state: State) -> tuple[Array, Array]:
        """The lower and the upper end, each (…, arms)."""
        inside = self.inside * (state.arms if self.per_arm else 1) * (state.clock if self.anytime else 1)
        growth = self.scale * np.log(inside)
        sums, counts = self.upper.of(state.tally)
        counts = np.maximum(counts, 1.0)
        width = np.sqrt(growth / counts)
        high = np.clip(sums / counts + width, 0.0, 1.0)
        if self.lower != self.upper:
            sums, counts = self.lower.of(state.tally)
            counts = np.maximum(counts, 1.0)
            width = np.sqrt(growth / counts)
        return np.clip(sums / counts - width, 0.0, 1.0), high


def best_in_box(merit: Merit, low: Array, high: Array, available: Mask | None = None) -> Array:
    """The means in a box at which the fair policy earns most: ``argmax Σ f(x_i) x_i / Σ f(x_j)``, exactly.

    Numerator and denominator are sums over the arms, so Dinkelbach's iteration leaves one small problem an arm: for
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
        >>> best_in_box(Power(beta=2.0), low, high)
        array([0.9, 0.4])
        >>> best_in_box(Power(beta=50.0), low, high).round(3)
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


@dataclass(frozen=True)
class BestInBox(Memoryless):
    """The worth of arms under which a fair policy would earn most, among all that the evidence allows.

    ``μ~ = argmax over the box of Σ f(x_i) x_i / Σ f(x_j)``

    Where arms sleep, the maximum is over the available ones. Where shares are capped at one (`MeritShares`), the
    maximum is still that of the ratio, which knows no cap.

    Args:
        box: an interval for every arm.
        merit: f.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.merit import Power
        >>> policy = Policy(index=BestInBox(ConfidenceBox(inside=1000.0), Power()))
        >>> policy.index.worth(policy.start(arms=2), np.random.default_rng(0))
        array([1., 1.])

    Source: Chen et al. 2024, Algorithm 1, line 9, and Algorithm 3.
    """

    box: ConfidenceBox
    merit: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "merit", as_merit(self.merit))

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """μ~, (…, arms)."""
        low, high = self.box.of(state)
        return best_in_box(self.merit, low, high, available)
