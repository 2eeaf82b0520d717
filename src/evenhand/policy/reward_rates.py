"""Guaranteed rates of reward: what an arm must earn per round, not how often it must play."""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Feedback, Mask, Observation, Shape, State
from evenhand.policy.index import Index
from evenhand.policy.part import Traits


@dataclass(slots=True)
class RewardQueues:
    """What each arm is owed in reward, and what has been learned of the surrogate rewards."""

    owed: Array  # (…, arms) Q, reward owed
    losses: Array  # (…, arms) sum of the estimated losses
    squares: Array  # (…, 1) sum of the squared ranges of the surrogate rewards so far
    arms: Mask  # (…, arms) who plays
    propensity: Array  # (…, arms) with which probability


@part("index", "reward_rates")
@frozen(eq=False)
class RewardRates(Index):
    """Exponential weights of surrogate rewards that grow with what an arm is owed: ``r'_i = (Q_i(t−1) + V) r_i``.

    ``Q_i(t) = max(Q_i(t−1) + λ_i − r_i(t) 1(i plays), 0)``;  ``w_i = exp(−η_t Σ_s ℓ_i(s))``, where
    ``ℓ_i = (B − r'_i) 1(i plays)/p_i``, ``B = V + max_j Q_j(t−1)`` and ``η_t = sqrt(ln K/(K Σ_{s≤t} B_s²))``

    The paper hands the surrogate rewards to a published scale-free bandit. Ours is EXP3 on losses, with the rate for
    the ranges so far: the range B is known before each round.

    Args:
        rates: (arms,), guaranteed rewards per round λ_i, on the scale [0, 1]; one number for all arms.
        weight: V > 0, the weight of the rewards beside what is owed.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> index = RewardRates(rates=[0.2, 0.1], weight=10.0)
        >>> index.score(Policy(index).start(arms=2), Observation(), np.random.default_rng(0))
        array([1., 1.])

    Source: Sinha 2023, section 3 (queues, surrogate rewards); the weights are EXP3's.
    """

    rates: Array = field(converter=validate.fractions)
    weight: float = field(converter=validate.positive)
    traits = Traits(gives="weights", in_order=True, bounded=True)

    def start(self, shape: Shape) -> RewardQueues:
        """Nothing is owed, and all weights are 1."""
        validate.one_per_arm("rates", self.rates, shape[-1])
        zeros = np.zeros(shape)
        return RewardQueues(zeros, zeros.copy(), np.zeros((*shape[:-1], 1)), zeros > 0.0, np.ones(shape))

    def grow(self, memory: RewardQueues, arms: int) -> RewardQueues:
        """New arms start with the largest weight."""
        new: RewardQueues = super().grow(memory, arms)
        new.losses[len(memory.losses) :] = memory.losses.min()
        return new

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The weights relative to the largest, (…, arms)."""
        memory: RewardQueues = state.index
        squares = memory.squares + self._range(memory) ** 2
        losses = memory.losses - memory.losses.min(axis=-1, keepdims=True)
        return np.asarray(np.exp(-np.sqrt(np.log(state.arms) / (state.arms * squares)) * losses))

    def after_decision(self, state: State, decision: Decision) -> None:
        """Remember who plays, and with which probability."""
        memory: RewardQueues = state.index
        np.copyto(memory.arms, decision.played)
        np.copyto(memory.propensity, np.where(decision.played, decision.inclusion, 1.0))

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Learn from what the round has earned, and count what is owed."""
        memory: RewardQueues = state.index
        largest = self._range(memory)
        memory.squares += largest**2
        surrogate = (memory.owed + self.weight) * np.clip(feedback.rewards, 0.0, 1.0)
        memory.losses += np.where(memory.arms, (largest - surrogate) / memory.propensity, 0.0)
        np.maximum(memory.owed + self.rates - feedback.rewards, 0.0, out=memory.owed)

    def _range(self, memory: RewardQueues) -> Array:
        return np.asarray(self.weight + memory.owed.max(axis=-1, keepdims=True))
