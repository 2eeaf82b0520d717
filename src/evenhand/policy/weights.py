"""Indexes of exponential weights, for adversarial rewards and for anonymous sums."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.exponential import exp
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part, rules_of
from evenhand.core.state import Array, Decision, Feedback, Mask, Observation, Shape, State, each_array
from evenhand.core.streams import over_arms
from evenhand.policy.hold import PowerSize
from evenhand.policy.index import Index
from evenhand.policy.mixing import DoubledHorizon, MixingRule, Phases, as_doubled, as_mixing, as_phases
from evenhand.policy.part import Traits
from evenhand.policy.rules import IndexRules, WeightRules


@dataclass(slots=True)
class Credit:
    """The logarithms of the weights, and what the present choice has earned since it was made."""

    logs: Array  # (…, arms) logarithm of each arm's weight, times the scale
    arms: Mask  # (…, arms) who was chosen
    propensity: Array  # (…, arms) with which probability
    earned: Array  # (…, 1) rewards credited since
    rounds: Array  # (…, 1) rounds since


def mean_weight(logs: Array, arms: int, scale: float = 1.0) -> Array:
    """The logarithms of weights, times the scale, with those of new arms: the mean weight, and so an equal share."""
    top, new = logs.max(), np.zeros(arms)
    new[: len(logs)] = logs
    new[len(logs) :] = top + scale * np.log(np.exp((logs - top) / scale).mean())
    return new


def grown(log: Any, rate: float, credit: Any, propensity: Any) -> Any:
    """The logarithm of a chosen arm's weight, with its credit."""
    return log + rate * credit / propensity


@part("index", "exponential_weights")
@frozen
class ExponentialWeights(Index):
    """Exponential weights: ``exp(w_i / scale)``, where w_i grows by ``γ/K · min(Z, n)/p_i`` with every choice.

    Z is what the choice earned in its n rounds, p_i the probability with which the arm was chosen. Weights are kept as
    logarithms, and returned relative to the largest of the lane, so that they stay finite for any number of rounds.

    Args:
        mixing: γ in [0, 1], or a rule that gives one for the number of arms; the weights grow at the rate γ/K.
        scale: > 0, the most that one choice can earn; 1 for choices of one round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> index = ExponentialWeights(mixing=0.1)
        >>> index.score(Policy(index).start(arms=2), Observation(), np.random.default_rng(0))
        array([1., 1.])

    Source: Auer et al. 2002, section 3; Wang et al. 2021, Algorithm 2.
    """

    mixing: MixingRule = field(converter=as_mixing, metadata={"slot": "mixing"})
    scale: float = field(default=1.0, converter=validate.positive)
    traits = Traits(gives="weights", in_order=True, bounded=True)

    def start(self, shape: Shape) -> Credit:
        """All weights are 1."""
        lane = (*shape[:-1], 1)
        return Credit(np.zeros(shape), np.zeros(shape, dtype=bool), np.ones(shape), np.zeros(lane), np.zeros(lane))

    def grow(self, memory: Credit, arms: int) -> Credit:
        """New arms start with the mean weight."""
        new: Credit = super().grow(memory, arms)
        new.logs = mean_weight(memory.logs, arms, self.scale)
        return new

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The weights relative to the largest, (…, arms)."""
        logs = self._settled(state) / self.scale
        return np.asarray(exp(logs - logs.max(axis=-1, keepdims=True)))

    def rules(self) -> IndexRules | None:
        """Weights, where it is known when the mixing changes."""
        phases = rules_of(self.mixing)
        return phases and IndexRules("weights", weights=WeightRules(phases, self._rate, lambda round: self.scale))

    def _rate(self, round: int, arms: int) -> float:
        return self.mixing.mixing(round, arms) / arms

    def _settled(self, state: State) -> Array:
        memory: Credit = state.index
        logs, rate = memory.logs, self._rate(state.clock, memory.logs.shape[-1])
        gain = grown(logs, rate, np.minimum(memory.earned, memory.rounds), memory.propensity)
        return np.asarray(np.where(memory.arms, gain, logs))

    def after_decision(self, state: State, decision: Decision) -> None:
        """Settle what the last choice earned, and open a new account where a lane chose anew."""
        memory: Credit = state.index
        new = np.ones(memory.earned.shape, dtype=bool) if decision.chosen is None else decision.chosen
        if not new.any():
            return
        np.copyto(memory.logs, self._settled(state), where=new)
        np.copyto(memory.arms, decision.played, where=new)
        np.copyto(memory.propensity, np.where(decision.played, decision.inclusion, 1.0), where=new)
        np.copyto(memory.earned, 0.0, where=new)
        np.copyto(memory.rounds, 0.0, where=new)

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Credit the present choice with what arrived in the round."""
        state.index.earned += feedback.rewards.sum(axis=-1, keepdims=True)
        state.index.rounds += 1.0


@part("index", "restarted_weights")
@frozen
class RestartedWeights(Index):
    """`ExponentialWeights` that begin anew with every phase, scaled by the largest choice that fits into the phase.

    Args:
        phases: T_k and γ of each round, and where a phase begins.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> index = RestartedWeights(DoubledHorizon(first_horizon=100))
        >>> index.score(Policy(index).start(arms=2), Observation(), np.random.default_rng(0))
        array([1., 1.])

    Source: Wang et al. 2021, Algorithm 2, with the doubling of its section 3.1.
    """

    phases: DoubledHorizon = field(converter=as_doubled, metadata={"slot": "mixing"})
    traits = Traits(gives="weights", in_order=True, bounded=True)

    def start(self, shape: Shape) -> Credit:
        """All weights are 1."""
        return ExponentialWeights(self.phases).start(shape)

    def grow(self, memory: Credit, arms: int) -> Credit:
        """New arms start with the mean weight."""
        new: Credit = super().grow(memory, arms)
        new.logs = mean_weight(memory.logs, arms)
        return new

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The weights relative to the largest, (…, arms)."""
        if self.phases.begins(state.clock):
            return np.ones_like(state.index.logs)
        return self._weights(state.clock).score(state, observation, rng)

    def after_decision(self, state: State, decision: Decision) -> None:
        """Settle what the last choice earned; forget it where a phase begins."""
        self._weights(state.clock).after_decision(state, decision)
        if self.phases.begins(state.clock):
            state.index.logs[:] = 0.0

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Credit the present choice with what arrived in the round."""
        self._weights(state.clock).after_feedback(state, feedback, rng)

    def rules(self) -> IndexRules | None:
        """Weights that are forgotten with every phase."""
        phases, rate = rules_of(self.phases), ExponentialWeights(self.phases)._rate
        return phases and IndexRules("weights", weights=WeightRules(phases, rate, self._scale, self.phases.begins))

    def _scale(self, round: int) -> float:
        return _largest(self.phases.exponent, self.phases.horizon_of(round))

    def _weights(self, round: int) -> ExponentialWeights:
        """The weights of the phase that a round is in."""
        return _scaled(self.phases, self._scale(round))


@cache
def _scaled(phases: DoubledHorizon, scale: float) -> ExponentialWeights:
    return ExponentialWeights(phases, scale)


@cache
def _largest(exponent: float, rounds: int) -> float:
    return PowerSize(exponent).last(rounds)


class Room:
    """The array in which a window moves; it is not saved, and without it the window begins a new one."""

    __slots__ = ("end", "room")

    def __init__(self) -> None:
        self.room: Array = np.empty(0)
        self.end = 0

    def moved(self, recent: Array, latest: Array) -> Array:
        """The window of a round later, as part of the room."""
        rounds = recent.shape[-1]
        if recent.base is not self.room or self.end == self.room.shape[-1]:
            self.room, self.end = np.empty((*recent.shape[:-1], 2 * rounds)), rounds
            self.room[..., :rounds] = recent
        self.room[..., self.end] = latest
        self.end += 1
        return self.room[..., self.end - rounds : self.end]


@dataclass(slots=True)
class Window(Room):
    """The logarithms of the weights, the present choice, and the sums of the last rounds."""

    grows: ClassVar[frozenset[str]] = frozenset({"recent"})

    logs: Array  # (…, arms) logarithm of each arm's weight
    arms: Mask  # (…, arms) who was chosen
    propensity: Array  # (…, arms) with which probability
    recent: Array  # (…, rounds) sums of the last rounds, the latest last; as many as the next phase needs

    def __post_init__(self) -> None:
        Room.__init__(self)


@part("index", "window_weights")
@frozen
class WindowWeights(Index):
    """Exponential weights that are updated when a choice ends, from its last d rounds: ``X = 1/(2d) Σ Y(τ)``.

    =======  =====================================================================================
    style    update of the arm that was chosen with probability p
    =======  =====================================================================================
    gain     ``ln w += γ/K · X/p``
    loss     ``ln w −= η · (1/2 − X)/p``, since ``1/2 − X = 1/(2d) Σ (1 − Y(τ))`` is the mean loss
    =======  =====================================================================================

    Args:
        phases: d, γ and η of each round; everything is forgotten where a phase begins.
        style: ``"loss"`` or ``"gain"``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import OnePhase
        >>> index = WindowWeights(OnePhase(longest=2, horizon=1000))
        >>> index.score(Policy(index).start(arms=2), Observation(), np.random.default_rng(0))
        array([1., 1.])

    Source: Cesa-Bianchi, Gentile & Mansour 2018, section 3 (loss); Wang et al. 2021, Algorithm 3 (gain).
    """

    phases: Phases = field(converter=as_phases, metadata={"slot": "mixing"})
    style: str = field(default="loss", validator=validate.choice("loss", "gain"))
    traits = Traits(gives="weights", in_order=True, bounded=True)

    def start(self, shape: Shape) -> Window:
        """All weights are 1."""
        recent = np.zeros((*shape[:-1], self.phases.delay_after(1)))
        return Window(np.zeros(shape), np.zeros(shape, dtype=bool), np.ones(shape), recent)

    def grow(self, memory: Window, arms: int) -> Window:
        """New arms start with the mean weight."""
        new: Window = super().grow(memory, arms)
        new.logs = mean_weight(memory.logs, arms)
        return new

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The weights relative to the largest, (…, arms)."""
        logs = self._settled(state, state.index)
        return np.asarray(exp(logs - logs.max(axis=-1, keepdims=True)))

    def rules(self) -> IndexRules | None:
        """Weights that go by the mean of the last rounds, and are forgotten with every phase."""
        phases, own, loss = rules_of(self.phases), self.phases, self.style == "loss"
        weights = phases and WeightRules(phases, self._rate, None, own.begins, own.delay, loss)
        return IndexRules("weights", weights=weights) if weights else None

    def _rate(self, round: int, arms: int) -> float:
        return self.phases.loss_rate(round, arms) if self.style == "loss" else self.phases.mixing(round, arms) / arms

    def _settled(self, state: State, memory: Window) -> Array:
        """The logarithms of the weights after what the last choice earned, in the lanes of the memory."""
        clock = state.clock
        if self.phases.begins(clock):
            return np.zeros_like(memory.logs)
        delay = self.phases.delay(clock)
        credit = over_arms(memory.recent[..., -delay:])[..., np.newaxis] / (2.0 * delay)
        credit = credit - 0.5 if self.style == "loss" else credit
        logs, rate = memory.logs, self._rate(clock, memory.logs.shape[-1])
        return np.asarray(np.where(memory.arms, grown(logs, rate, credit, memory.propensity), logs))

    def after_decision(self, state: State, decision: Decision) -> None:
        """Settle what the last choice earned where a lane chose anew; a phase that begins may need a longer window."""
        memory: Window = state.index
        new = np.ones((*decision.played.shape[:-1], 1), dtype=bool) if decision.chosen is None else decision.chosen
        if new.any():
            lanes = new[..., 0]
            memory.logs[lanes] = self._settled(state, each_array(memory, lambda array: array[lanes]))
            np.copyto(memory.arms, decision.played, where=new)
            np.copyto(memory.propensity, np.where(decision.played, decision.inclusion, 1.0), where=new)
        more = self.phases.delay_after(state.clock) - memory.recent.shape[-1]
        if more > 0:
            memory.recent = np.concatenate([np.zeros((*memory.recent.shape[:-1], more)), memory.recent], axis=-1)

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Remember the sum of the round."""
        memory: Window = state.index
        memory.recent = memory.moved(memory.recent, feedback.rewards.sum(axis=-1))
