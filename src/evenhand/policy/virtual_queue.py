"""Queues of owed plays, weighed against the scores of the arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Shape, State
from evenhand.policy.accounts import BILLION, owed
from evenhand.policy.claim import Fairness, Ranking, deficits, weighed
from evenhand.policy.part import Places, Traits
from evenhand.policy.rules import FairnessRules
from evenhand.policy.spread import Eta, Spread, as_eta, spreads


@dataclass(slots=True)
class Queue:
    """The recursive virtual queues, each by what happened since it was last empty."""

    rounds: Array  # (…, arms) rounds since the queue was last empty, or its promise began
    plays: Array  # (…, arms) plays of the arm in those rounds
    carried: Array  # (…, arms) its length then, in whole billionths of a play


@part("fairness", "virtual_queue")
@frozen(eq=False)
class VirtualQueue(Fairness):
    """A queue of owed plays for each arm, weighed against its score: ``Q_i + η w_i score_i``.

    ============  ==========================================  =================================
    queue         length before round t (counted from 0)      used by
    ============  ==========================================  =================================
    recursive     ``Q(t) = max(Q(t−1) + r − d(t−1), 0)``      LFG (Li et al. 2019)
    exact         ``Q(t) = max(t r − Σ d, 0)``                TSCSF-B (Huang et al. 2020, eq. (5))
    ============  ==========================================  =================================

    d is 1 in a round in which the arm plays. The recursive queue forgets a surplus, the exact one sets it against
    later claims. Huang et al. print ``Q_i/η + w_i score_i``, which orders the arms alike; η = ∞ leaves ``w_i score_i``.

    What a number η does depends on the scale of the rewards: with η = 20 an arm whose score is 0.7 below the best waits
    until it is owed 14 plays, one whose chance of a click is 0.014 lower is paid at once, wherever that costs most.
    ``eta="auto"`` follows the scores, cut to the range of rewards: ``η_t = c/ḡ_t``, c = 20, ḡ_t being the mean, over
    the rounds so far, of the largest less the smallest score that were compared. While ḡ is 0, the longest queue plays,
    and the best score where all are empty. ``"auto_sqrt"`` has ``c = √t``: nearer to the best reward in the long run,
    while arrears grow.

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1].
        eta: η ≥ 0 or inf, the plays owed that outweigh one unit of reward; or ``"auto"`` or ``"auto_sqrt"``.
        weights: w_i ≥ 0, what a unit of reward of each arm counts; one number or one per arm.
        queue: ``"recursive"`` or ``"exact"``.

    Example:
        >>> import numpy as np
        >>> from evenhand import State
        >>> from evenhand.typing import Tally
        >>> pulls = np.array([4.0, 0.0])
        >>> queue = VirtualQueue([0.5, 0.5], eta=10.0)
        >>> queue.claim(np.array([0.9, 0.5]), State(4, Tally(pulls, pulls, pulls))).score
        array([9., 7.])
    """

    fractions: Array = field(converter=validate.fractions)
    eta: Eta = field(converter=as_eta)
    weights: Array = field(default=1.0, converter=validate.nonnegatives)
    queue: str = field(default="exact", validator=validate.choice("exact", "recursive"))

    def __attrs_post_init__(self) -> None:
        validate.same_length("weights", self.weights, self.fractions, "fractions")
        if isinstance(self.eta, str) and (self.weights != 1.0).any():
            raise EvenhandError(
                f"must be 1 with eta = '{self.eta}', which takes its scale from the scores: give eta a number",
                "weights",
            )

    @property
    def traits(self) -> Traits:
        """Queues follow from plays alone; the scale of scores does not, and their range must be known."""
        auto = isinstance(self.eta, str)
        alone = self.queue == "exact" and self.promises
        return Traits(exact=not auto, arrears="eta", scaled=auto, bounded=auto, segmented=alone)

    @property
    def promises(self) -> bool:
        """Whether the queue counts at all: it does not where η is infinite."""
        return self.eta != np.inf

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``K (1 + η w (1 + sqrt(2 ln t)))``: what a queue must outweigh is no more than the largest score.

        For an η that follows the scores it is the least possible, ``K (1 + c)``; `allowed` knows the scores.
        """
        if isinstance(self.eta, str):
            return arms * (1.0 + spreads(self.eta, rounds))
        largest = 1.0 + float(np.sqrt(2.0 * np.log(max(rounds, 1))))
        return arms * (1.0 + self.eta * float(self.weights.max()) * largest)

    def allowed(self, memory: Any, arms: int, rounds: int, plays: int) -> float:
        """``K (1 + η_t · the largest difference of scores so far)`` where η follows the scores."""
        if not isinstance(memory, Spread) or not isinstance(self.eta, str):
            return self.allowance(arms, rounds, plays)
        return max(arms * (1.0 + memory.outweighed(self.eta, rounds)), self.allowance(arms, rounds, plays))

    def scale(self, state: State) -> float | None:
        """``c/ḡ_t``; 0 while no scores have differed."""
        return float(state.fairness.eta(self.eta, state.clock).item()) if isinstance(self.eta, str) else None

    def start(self, shape: Shape) -> Queue | Spread | None:
        """Empty queues; the exact queue needs nothing but the tally. Where η follows the scores, also these."""
        queue = Queue(*np.zeros((3, *shape))) if self.queue == "recursive" else None
        return Spread.opened(shape, queue) if isinstance(self.eta, str) else queue

    def begin(self, memory: Any, places: Places, carried: Array) -> Any:
        """Queues that are as long as what is carried: ``Q₀ = max(C, 0)``; the scale of scores stays."""
        if isinstance(memory, Spread):
            queue = self.begin(memory.queue, places, carried)
            return Spread(memory.rounds.copy(), memory.total.copy(), memory.largest.copy(), queue)
        if memory is None:
            return None
        rounds, plays, lengths = memory.rounds.copy(), memory.plays.copy(), memory.carried.copy()
        rounds[..., places] = plays[..., places] = 0.0
        lengths[..., places] = np.rint(np.maximum(carried[..., places], 0.0) * BILLION)
        return Queue(rounds, plays, lengths)

    def rules(self) -> FairnessRules | None:
        """The queue, or the weights alone; none where η follows the scores."""
        if isinstance(self.eta, str):
            return None
        if not self.promises:
            return FairnessRules("weighed", self.fractions, self.weights)
        return FairnessRules(self.queue, self.fractions, self.eta * self.weights)

    def advance(self, memory: Any, plays: Array, rounds: float) -> Any:
        """Refused where η follows the scores, or the queue is recursive."""
        if isinstance(memory, Spread):
            raise EvenhandError(f"takes eta = '{self.eta}' from the scores of single rounds; give a number for eta")
        return super().advance(memory, plays, rounds)

    def claim(self, score: Array, state: State) -> Ranking:
        """The queue and the score, weighed; weights multiply rewards in the user's unit, so its lower end is added."""
        if isinstance(self.eta, str):
            return self._by_spread(np.clip(score, 0.0, 1.0), state, state.fairness.eta(self.eta, state.clock))
        if state.unit is not None and self.weights.shape[-1] > 1:
            score = score + state.unit.low / state.unit.width
        if np.isinf(self.eta):
            return Ranking(weighed(self.weights, score), rate=self.weights)
        lengths, rate = self._lengths(state, state.fairness), self.eta * self.weights
        return Ranking(lengths + weighed(rate, score), owed=lengths, rate=rate)

    def _by_spread(self, score: Array, state: State, eta: Array) -> Ranking:
        """The queue and the score; in lanes where no scores have differed yet, the queue before the score."""
        lengths = self._lengths(state, state.fairness.queue)
        alone = eta == 0.0
        if not alone.any():
            return Ranking(lengths + eta * score, owed=lengths, rate=eta)
        weighed_up = np.where(alone, score, lengths + eta * score)
        return Ranking(weighed_up, np.where(alone, lengths, 0.0), owed=lengths * ~alone, rate=eta + alone)

    def _lengths(self, state: State, queue: Queue | None) -> Array:
        """(…, arms), the plays owed."""
        if queue is None:
            return np.maximum(deficits(self.fractions, state.round, state), 0.0)
        lengths: Array = owed(self.fractions, queue.rounds, queue.plays, queue.carried)
        return lengths

    def after_decision(self, state: State, decision: Decision) -> None:
        """Every queue grows by the arm's fraction and shrinks by one where it played; an empty one begins anew."""
        memory = state.fairness
        if isinstance(memory, Spread):
            memory.see(decision)
            memory = memory.queue
        if memory is None:
            return
        memory.rounds += 1.0
        memory.plays += decision.played
        waiting = owed(self.fractions, memory.rounds, memory.plays, memory.carried) > 0.0
        memory.rounds *= waiting
        memory.plays *= waiting
        memory.carried *= waiting
