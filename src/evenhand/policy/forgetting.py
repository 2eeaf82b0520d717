"""Evidence that forgets: rewards fade, or only those of the last rounds count.

What is promised is never forgotten: deficits come from the tally of the state, which counts all plays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Feedback, Mask, Shape, State, Tally
from evenhand.policy.evidence import Evidence, Received, Weighing, as_evidence
from evenhand.policy.part import Traits


@dataclass(slots=True)
class Faded:
    """Counts in which each round weighs γ times the one after it. They follow from plays and rewards by + and ×."""

    pulls: Array  # (…, arms) faded plays
    received: Array  # (…, arms) faded number of rewards, by their arrival
    rewards: Array  # (…, arms) faded sum of rewards


@dataclass(slots=True)
class Recent:
    """Counts of the last rounds, and what happened in each of them. They follow from plays and rewards by + and −."""

    pulls: Array  # (…, arms) plays in the window
    received: Array  # (…, arms) rewards that arrived in it
    rewards: Array  # (…, arms) their sum
    played: Mask  # (…, window, arms) who played in each round, a ring
    arrived: NDArray[np.uint16]  # (…, window, arms) rewards that arrived in each round
    earned: Array  # (…, window, arms) their sums


def _discount(value: float | None) -> float | None:
    if value is None:
        return None
    if not 0.0 < validate.number("", value) < 1.0:
        raise EvenhandError(f"must be between 0 and 1, got {shown(value)}")
    return float(value)


@part("evidence", "forgetting")
@frozen
class Forgetting(Evidence):
    """Old rewards count less, or not at all: for arms whose means change.

    With a discount γ, ``N = Σ_s γ^(t−s) 1(a_s = i)``, and alike for rewards; with a window τ only the last τ rounds
    count. A reward counts from the round in which it arrives. Missing rewards, for evidence that fills them in, are all
    that are missing, up to the plays that are not forgotten.

    Args:
        evidence: what to believe of rewards that have not arrived.
        discount: γ in (0, 1), weight of a round in units of the next one; 1/(1 − γ) rounds are remembered.
        window: τ ≥ 1, rounds that are remembered. Give one of the two.

    Raises:
        EvenhandError: both are given, or neither.

    Example:
        >>> import numpy as np
        >>> from evenhand import Feedback, Observation, Policy
        >>> from evenhand.policy import EmpiricalMean
        >>> policy, rng = Policy(EmpiricalMean(Forgetting(window=2))), np.random.default_rng(0)
        >>> state = policy.start(arms=1)
        >>> for reward in (1.0, 0.0, 0.5):
        ...     played = policy.decide(state, Observation(), rng).played
        ...     policy.observe(state, Feedback(played, np.array([reward])), rng)
        >>> policy.index.score(state, Observation(), rng), state.tally.pulls
        (array([0.25]), array([3.]))

    Source: Garivier & Moulines 2011, section 2.
    """

    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    discount: float | None = field(default=None, converter=_discount)
    window: int | None = field(default=None, converter=validate.count_or_none)

    def __attrs_post_init__(self) -> None:
        if (self.discount is None) == (self.window is None):
            raise EvenhandError(
                "needs a discount or a window, one of the two: discount=0.99 remembers about 100 rounds, "
                "window=100 the last 100",
                "forgetting",
            )
        refuse_memory(self.evidence)

    @property
    def traits(self) -> Traits:
        """Those of the inner evidence; what is remembered follows from plays and rewards."""
        return replace(self.evidence.traits, exact=True)

    def memory(self) -> object:
        """The discount and the window."""
        return "forgetting", self.discount, self.window

    def start(self, shape: Shape) -> Faded | Recent:
        """Nothing to remember yet."""
        sums = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        if self.window is None:
            return Faded(*sums)
        ring = (*shape[:-1], self.window, shape[-1])
        return Recent(*sums, np.zeros(ring, dtype=bool), np.zeros(ring, dtype=np.uint16), np.zeros(ring))

    def tally(self, state: State) -> Tally:
        """What is not forgotten."""
        return unforgotten(state)

    def counted(self, state: State) -> Array:
        """Rewards within the window, or by their weights."""
        return np.asarray(state.evidence.received)

    def weighing(self) -> Weighing | None:
        """Every play counts less per round; a window would need the features of all its rounds."""
        inner = self.evidence.weighing()
        return inner._replace(discount=self.discount) if self.discount is not None and inner == Weighing() else None

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """Sum and number by the inner evidence."""
        return self.evidence.of(tally)

    def after_decision(self, state: State, decision: Decision) -> None:
        """A round passes: everything fades, or the oldest round leaves the window."""
        memory: Faded | Recent = state.evidence
        if isinstance(memory, Faded):
            assert self.discount is not None
            for sums in (memory.pulls, memory.received, memory.rewards):
                sums *= self.discount
        else:
            place = state.round % memory.played.shape[-2]
            memory.pulls -= memory.played[..., place, :]
            memory.received -= memory.arrived[..., place, :]
            memory.rewards -= memory.earned[..., place, :]
            memory.rewards *= memory.received > 0.0  # so that rounding errors do not stay
            memory.played[..., place, :] = decision.played
            memory.arrived[..., place, :] = 0
            memory.earned[..., place, :] = 0.0
        memory.pulls += decision.played

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Count what arrived, in full."""
        memory: Faded | Recent = state.evidence
        memory.received += feedback.received
        memory.rewards += feedback.rewards
        if isinstance(memory, Recent):
            place = (state.round - 1) % memory.played.shape[-2]
            memory.arrived[..., place, :] += np.asarray(feedback.received).astype(np.uint16)
            memory.earned[..., place, :] += feedback.rewards


def unforgotten(state: State) -> Tally:
    """The tally of what ``state.evidence`` has not forgotten."""
    memory, tally = state.evidence, state.tally
    missing = np.minimum(tally.pulls - tally.received, memory.pulls)
    return Tally(memory.received + np.maximum(missing, 0.0), memory.received, memory.rewards)


def refuse_memory(evidence: Evidence | None) -> None:
    """Refuse inner evidence that remembers something itself."""
    if evidence is not None and evidence.memory() is not None:
        raise EvenhandError(
            f"must depend on the tally alone, such as Received() or Optimistic(), got {shown(evidence)}", "evidence"
        )
