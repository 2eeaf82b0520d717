"""Thompson sampling of a reward whose chance is logistic in features."""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.frozen import evolve, field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Feedback, Observation, Shape, State
from evenhand.policy.contextual import ByFeatures, grown_at, plays_of, shape_of
from evenhand.policy.linear import LinearModel, linear_model
from evenhand.policy.linear_sums import Plays, each_arm, taken, turns_of
from evenhand.policy.part import Places, Traits

STEPS = 100  # of Newton's method with bisection, which needs about six
CLOSE = 1e-15  # relative change at which it ends


@dataclass(slots=True)
class Posterior:
    """Independent normal laws of the weights, each after the last reward; they depend on the order of the rewards."""

    situation: int  # columns of the situation, d
    arm: int  # columns of every arm
    mean: Array  # (…, arms, d + d_arm), m; in the shared model (…, d + d_arm)
    precision: Array  # the same shape, q − λ


@part("index", "logistic_ts")
@frozen
class LogisticTS(ByFeatures):
    """Thompson sampling for rewards with ``P(1) = σ(wᵀφ)``: ``σ(w̃ᵀφ)`` with ``w̃_j ~ N(m_j, v²/q_j)``.

    A reward r moves m to ``argmin ½Σ q_j(w_j − m_j)² − r ln σ(wᵀφ) − (1 − r) ln(1 − σ(wᵀφ))``, found to the last digits
    along ``φ_j/q_j``, and then ``q_j`` grows by ``φ_j² p (1 − p)`` with the new p. Rewards that arrive together are
    learned from one after the other, in batches of one; a reward between 0 and 1 counts for both answers in part.

    The weights depend on the order of the rewards and round with the machine, so logs record them. In the disjoint
    model one number per arm is drawn in place of a vector, with the same law. The propensity has no closed form: play
    by `ExplorationFloor` to log an exact one. A reward counts when it comes.

    Args:
        model: ``"disjoint"``, weights for every arm; ``"shared"``, weights for all arms, needs features of the arms.
        ridge: λ > 0, q before the first reward.
        scale: v ≥ 0; 1 for the posterior, less to explore less.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(LogisticTS(scale=0.0))
        >>> seen = Observation(situation=np.array([1.0, 0.5]))
        >>> policy.index.score(policy.start(arms=2, columns=(2, 0)), seen, np.random.default_rng(0))
        array([0.5, 0.5])

    Source: Chapelle & Li 2011, Algorithm 3.
    """

    model: str = field(default="disjoint", validator=validate.choice("disjoint", "shared"))
    ridge: float = field(default=1.0, converter=validate.positive)
    scale: float = field(default=1.0, converter=validate.nonnegative)
    traits = Traits(contextual=True, random=True, bounded=True)

    def products(self, arms: int, columns: tuple[int, int]) -> tuple[float, float]:
        """A number for each column: it has no matrix."""
        return float(arms * sum(columns)), float(sum(columns))

    def start(self, shape: Shape) -> Posterior:
        """Means of 0 and the prior's precision."""
        shape = shape_of(shape)
        model = LinearModel(self.model, self.ridge, tuple(shape[:-1]), shape[-1], shape.columns)
        weights = (*shape, model.own) if model.own else (*shape[:-1], model.common)
        return Posterior(*shape.columns, np.zeros(weights), np.zeros(weights))

    def grow(self, memory: Posterior, arms: int) -> Posterior:
        """The prior for the new arms."""
        axes = {"mean": 2, "precision": 2} if self.model == "disjoint" else {}
        return grown_at(memory, arms, axes)

    def recolumn(self, memory: Posterior, columns: tuple[int, int], situation: Places, arms: Places) -> Posterior:
        """The prior for the new columns."""
        model = linear_model(self.model, self.ridge, (), 1, columns)  # refuses columns that it cannot have
        own, common = model.places(situation, arms, memory.situation)
        places = common if own is None else own
        return Posterior(*columns, taken(memory.mean, places), taken(memory.precision, places))

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Learn from the rewards that arrived, one after the other in each lane."""
        if feedback.answers is None or not len(feedback.answers.rewards):
            return
        memory: Posterior = state.index
        plays, _ = plays_of(feedback, (memory.situation, memory.arm), state.arms)
        self._linear(state).check(plays.situation, plays.features)
        turns = turns_of(plays.lanes)
        for turn in range(int(turns.max()) + 1):
            self._learn(state, plays.some(turns == turn))

    def _learn(self, state: State, plays: Plays) -> None:
        """Learn from rewards of which each lane has one at most."""
        memory: Posterior = state.index
        own, common = self._linear(state).split(plays.situation, plays.features)
        disjoint = self.model == "disjoint"
        phi, at = (own, plays.lanes * state.arms + plays.arms) if disjoint else (common, plays.lanes)
        width = phi.shape[-1]
        mean, precision = memory.mean.reshape(-1, width), memory.precision.reshape(-1, width)
        before = mean[at]
        direction = phi / (self.ridge + precision[at])
        chance = _chance((before * phi).sum(axis=-1), (direction * phi).sum(axis=-1), plays.rewards)
        mean[at] = before - (chance - plays.rewards)[:, np.newaxis] * direction
        precision[at] += phi * phi * (chance * (1.0 - chance))[:, np.newaxis]

    def expected(self, state: State, observation: Observation) -> Array:
        """The chance of a reward with the means of the weights."""
        return evolve(self, scale=0.0).score(state, observation, np.random.default_rng(0))

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """One draw of the chance of a reward for every arm, (…, arms)."""
        memory: Posterior = state.index
        phi = each_arm(*self._linear(state).observed(observation))
        mean, spread = memory.mean, self.scale / np.sqrt(self.ridge + memory.precision)
        if self.model == "disjoint":
            size = np.square(phi * spread).sum(axis=-1)
            logit = (phi * mean).sum(axis=-1) + np.sqrt(size) * rng.standard_normal(size.shape)
        else:
            weights = mean + spread * rng.standard_normal(mean.shape)
            logit = np.matmul(phi, weights[..., np.newaxis])[..., 0]
        return np.asarray(_sigmoid(logit))

    def _linear(self, state: State) -> LinearModel:
        memory, shape = state.index, state.tally.pulls.shape
        return linear_model(self.model, self.ridge, shape[:-1], shape[-1], (memory.situation, memory.arm))


def _sigmoid(logit: Array) -> Array:
    """``1/(1 + e^−x)``, without overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logit))


def _chance(logit: Array, size: Array, rewards: Array) -> Array:
    """The chance p after a reward: ``p = σ(f)`` with ``f = f₀ − s (σ(f) − r)``, for f₀, s and r (n,)."""
    low, high, now = logit + size * (rewards - 1.0), logit + size * rewards, logit
    for _ in range(STEPS):
        chance = _sigmoid(now)
        error = now - logit + size * (chance - rewards)
        low, high = np.where(error < 0.0, now, low), np.where(error > 0.0, now, high)
        moved = now - error / (1.0 + size * chance * (1.0 - chance))
        outside = ((moved <= low) | (moved >= high)) & (moved != now)
        moved = np.where(outside, (low + high) / 2.0, moved)
        close = np.abs(moved - now) <= CLOSE * (1.0 + np.abs(now))
        if close.all():
            break
        now = np.where(close, now, moved)  # the result does not depend on how many steps others need
    return _sigmoid(now)
