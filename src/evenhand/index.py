"""What is each arm worth, as far as we know?

An index gives every arm a number, from the evidence in the tally and, for Thompson sampling, from chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.evidence import Evidence, Received
from evenhand.records import Array, Feedback, Mask, Shape, State, Tally
from evenhand.tuning import MixingRule, Tuning, mixing_of


class Index(Protocol):
    """A rule for the worth of arms."""

    @property
    def random(self) -> bool:
        """Whether the worth is drawn at random, given the past."""
        ...

    def start(self, shape: Shape) -> Any:
        """What the index remembers beyond the tally, before the first round; None for nothing."""
        ...

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The worth of every arm in the round that is being decided, (…, arms).

        Args:
            state: what is remembered.
            rng: the policy's random stream.
            available: (…, arms), True where an arm can play; None for all. The worth of a sleeping arm is never used.
        """
        ...

    def observe(self, memory: Any, feedback: Feedback, rng: np.random.Generator) -> None:
        """Take in what arrived at the end of a round."""
        ...


@runtime_checkable
class Heedful(Protocol):
    """An index that also takes notice of who plays."""

    def note(self, state: State, played: Mask, vector: NDArray[Any], chosen: Mask | None) -> None:
        """Take in who plays, (…, arms), with which chance, and which lanes chose anew, (…, 1); None for all."""
        ...


class Memoryless:
    """An index that needs nothing but the tally."""

    random: ClassVar[bool] = False

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def observe(self, memory: None, feedback: Feedback, rng: np.random.Generator) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True)
class UCB(Memoryless):
    """Upper confidence bound: ``S/M + sqrt(c ln t / max(M, 1))``, with t the round counted from 1.

    An arm that was never pulled has an infinite index, so that it goes first; one whose rewards are all still missing
    has a mean of 0. With ``clip`` the index is at most 1, also for an arm that was never pulled.

    Args:
        exploration: c ≥ 0; 2 is UCB1 (Auer et al. 2002), 1.5 is LFG (Li et al. 2019).
        clip: whether to cut the index at 1, the largest mean that a reward in [0, 1] can have.
        evidence: what to believe of rewards that have not arrived.
        clock: t in the logarithm: ``"round"`` for the round being decided, ``"played"`` for the rounds played so far.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import State, Tally
        >>> counts = np.array([4.0, 1.0, 0.0])
        >>> state = State(round=5, tally=Tally(counts, counts, np.array([2.0, 0.0, 0.0])))
        >>> UCB().worth(state, np.random.default_rng(0)).round(3)
        array([1.447, 1.893,   inf])

    Source: Patil et al. 2019, eq. (4); Huang et al. 2020 and Fang et al. 2022, section 3, for the clipped form.
    """

    exploration: float = 2.0
    clip: bool = False
    evidence: Evidence = Received()
    clock: str = "round"

    def __post_init__(self) -> None:
        validate.number("exploration", self.exploration, low=0.0)
        validate.one_of("clock", self.clock, ("round", "played"))

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The upper confidence bound of every arm, (…, arms)."""
        sums, counts = self.evidence.of(state.tally)
        counts = np.maximum(counts, 1.0)
        time = state.clock if self.clock == "round" else max(state.round, 1)
        index: Array = self.exploration * np.log(float(time)) / counts
        np.sqrt(index, out=index)
        index += np.divide(sums, counts, out=counts)
        unknown = state.tally.pulls == 0.0
        if np.count_nonzero(unknown):  # for few arms quicker than any()
            index[unknown] = np.inf
        return np.minimum(index, 1.0, out=index) if self.clip else index


@dataclass(frozen=True)
class EmpiricalMean(Memoryless):
    """The mean of the rewards: ``S/M``, and 0 for an arm without evidence.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import State, Tally
        >>> counts = np.array([4.0, 0.0])
        >>> EmpiricalMean().worth(State(4, Tally(counts, counts, np.array([2.0, 0.0]))), np.random.default_rng(0))
        array([0.5, 0. ])
    """

    evidence: Evidence = Received()

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The empirical mean of every arm, (…, arms)."""
        sums, counts = self.evidence.of(state.tally)
        return np.asarray(sums / np.maximum(counts, 1.0))


@dataclass(slots=True)
class Trials:
    """The Bernoulli trials that Thompson sampling has seen."""

    successes: Array  # (…, arms) trials won, between 0 and received


@dataclass(frozen=True)
class BetaSample:
    """Thompson sampling with a uniform prior: one draw from ``Beta(1 + S, 1 + M − S)``.

    S counts the successes of Bernoulli trials. A reward of 0 or 1 is its own trial. Any other reward x in [0, 1] first
    goes through a trial that succeeds with probability x (Agrawal & Goyal 2012, Algorithm 2).

    Departures from the paper, where it says nothing: a reward outside [0, 1], which only a Gaussian reward can be, is
    cut to [0, 1] before its trial; when several rewards of an arm arrive in one round only their sum s is known, and
    ⌊s⌋ + Bernoulli(s − ⌊s⌋) successes are counted, which has the same mean and is the same trial for one reward.

    Args:
        evidence: what to believe of rewards that have not arrived.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(index=BetaSample())
        >>> draw = policy.index.worth(policy.start(arms=3), np.random.default_rng(0))
        >>> bool(((draw > 0) & (draw < 1)).all())
        True

    Source: Agrawal & Goyal 2012; Huang et al. 2020, Algorithm 1 and eq. (4).
    """

    evidence: Evidence = Received()
    random: ClassVar[bool] = True

    def start(self, shape: Shape) -> Trials:
        """No trials yet."""
        return Trials(np.zeros(shape))

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """One posterior draw for every available arm, and 0 for a sleeping one, (…, arms)."""
        tally = state.tally
        sums, counts = self.evidence.of(Tally(tally.pulls, tally.received, state.index.successes))
        if available is None:
            return rng.beta(1.0 + sums, 1.0 + counts - sums)
        draws = np.zeros(sums.shape)
        won, lost = sums[available], (counts - sums)[available]
        draws[available] = rng.beta(1.0 + won, 1.0 + lost)
        return draws

    def observe(self, memory: Trials, feedback: Feedback, rng: np.random.Generator) -> None:
        """Count the successes among the rewards that arrived."""
        rewards = feedback.rewards
        if rewards.dtype.kind == "f":
            rewards = np.minimum(np.maximum(rewards, 0.0), feedback.received)
            whole = np.floor(rewards)
            rest = rewards - whole
            rewards = whole + (rng.random(rest.shape) < rest) if np.count_nonzero(rest) else whole
        memory.successes += rewards


@dataclass(frozen=True)
class Mean:
    """The mean of two indexes of one kind, as a rule under two kinds of evidence: ``(first + second)/2``.

    The two share one memory: of a reward that is not 0 or 1 both see the same trial.

    Args:
        first: an index.
        second: another of the same type.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.evidence import Optimistic, Pessimistic
        >>> index = Mean(BetaSample(Optimistic()), BetaSample(Pessimistic()))
        >>> draw = index.worth(Policy(index=index).start(arms=3), np.random.default_rng(0))
        >>> bool(((draw > 0) & (draw < 1)).all())
        True

    Source: Chen et al. 2024, Algorithm 4.
    """

    first: Index
    second: Index

    def __post_init__(self) -> None:
        if type(self.first) is not type(self.second):
            one, other = type(self.first).__name__, type(self.second).__name__
            raise EvenhandError(f"a mean is of two indexes of one kind, got {one} and {other}")

    @property
    def random(self) -> bool:
        """Whether either is drawn at random."""
        return self.first.random or self.second.random

    def start(self, shape: Shape) -> Any:
        """The memory that both read."""
        return self.first.start(shape)

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The mean of the two, (…, arms)."""
        total = self.first.worth(state, rng, available) + self.second.worth(state, rng, available)
        return total / 2.0

    def note(self, state: State, played: Mask, vector: NDArray[Any], chosen: Mask | None) -> None:
        """Take in who plays, once for both."""
        if isinstance(self.first, Heedful):
            self.first.note(state, played, vector, chosen)

    def observe(self, memory: Any, feedback: Feedback, rng: np.random.Generator) -> None:
        """Take in what arrived, once for both."""
        self.first.observe(memory, feedback, rng)


@dataclass(frozen=True)
class Exploring:
    """Now and then all arms look alike: with probability ε a lane gives every arm a worth of 0, else the index's own.

    Args:
        index: what the arms are worth otherwise.
        epsilon: ε in [0, 1].

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(index=Exploring(EmpiricalMean(), epsilon=1.0))
        >>> policy.index.worth(policy.start(arms=2), np.random.default_rng(0))
        array([0., 0.])

    Source: Chen et al. 2024, section 6, FGreedy-D.
    """

    index: Index
    epsilon: float
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate.number("epsilon", self.epsilon, 0.0, 1.0)

    def start(self, shape: Shape) -> Any:
        """What the index remembers."""
        return self.index.start(shape)

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The index, or 0 for all arms of a lane that explores, (…, arms)."""
        worth = self.index.worth(state, rng, available)
        exploring = rng.random((*worth.shape[:-1], 1)) < self.epsilon
        return np.where(exploring, 0.0, worth)

    def note(self, state: State, played: Mask, vector: NDArray[Any], chosen: Mask | None) -> None:
        """Take in who plays."""
        if isinstance(self.index, Heedful):
            self.index.note(state, played, vector, chosen)

    def observe(self, memory: Any, feedback: Feedback, rng: np.random.Generator) -> None:
        """Take in what arrived."""
        self.index.observe(memory, feedback, rng)


@dataclass(slots=True)
class Credit:
    """The logarithms of the weights, and what the choice that lasts has earned since it was made."""

    logs: Array  # (…, arms) logarithm of each arm's weight, times the scale
    arms: Mask  # (…, arms) who was chosen
    chance: Array  # (…, arms) with which chance
    earned: Array  # (…, 1) rewards credited since
    rounds: Array  # (…, 1) rounds since


@dataclass(frozen=True)
class ExponentialWeights:
    """Exponential weights: ``exp(w_i / scale)``, where w_i grows by ``γ/K · min(Z, n)/p_i`` with every choice.

    Z is what the choice earned in its n rounds, p_i the chance with which the arm was chosen. Weights are kept as
    logarithms, and given out relative to the largest of the lane, so that they stay finite for any number of rounds.

    Args:
        mixing: γ in [0, 1], or a rule that gives one for the number of arms; the weights grow at the rate γ/K.
        scale: > 0, the most that one choice can earn; 1 for choices of one round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(index=ExponentialWeights(mixing=0.1))
        >>> policy.index.worth(policy.start(arms=2), np.random.default_rng(0))
        array([1., 1.])

    Source: Auer et al. 2002, section 3; Wang et al. 2021, Algorithm 2.
    """

    mixing: float | MixingRule
    scale: float = 1.0
    random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not hasattr(self.mixing, "mixing"):
            validate.number("mixing", self.mixing, 0.0, 1.0)
        if validate.number("scale", self.scale, low=0.0) == 0.0:
            raise EvenhandError("scale must be above 0, got 0")

    def start(self, shape: Shape) -> Credit:
        """All weights are 1."""
        lane = (*shape[:-1], 1)
        return Credit(np.zeros(shape), np.zeros(shape, dtype=bool), np.ones(shape), np.zeros(lane), np.zeros(lane))

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The weights relative to the largest, (…, arms)."""
        logs = self._settled(state) / self.scale
        return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))

    def _settled(self, state: State) -> Array:
        memory: Credit = state.index
        rate = mixing_of(self.mixing, state.clock, state.arms) / state.arms
        gain = rate * np.minimum(memory.earned, memory.rounds) / memory.chance
        return np.asarray(memory.logs + np.where(memory.arms, gain, 0.0))

    def note(self, state: State, played: Mask, vector: NDArray[Any], chosen: Mask | None) -> None:
        """Settle what the last choice earned, and begin a new account where a lane chose anew."""
        memory: Credit = state.index
        new = np.ones(memory.earned.shape, dtype=bool) if chosen is None else chosen
        if not new.any():
            return
        np.copyto(memory.logs, self._settled(state), where=new)
        np.copyto(memory.arms, played, where=new)
        np.copyto(memory.chance, np.where(played, vector, 1.0), where=new)
        np.copyto(memory.earned, 0.0, where=new)
        np.copyto(memory.rounds, 0.0, where=new)

    def observe(self, memory: Credit, feedback: Feedback, rng: np.random.Generator) -> None:
        """Credit the choice that lasts with what came in the round."""
        memory.earned += feedback.rewards.sum(axis=-1, keepdims=True)
        memory.rounds += 1.0


@dataclass(slots=True)
class Window:
    """The logarithms of the weights, the choice that lasts, and what came in the last rounds."""

    logs: Array  # (…, arms) logarithm of each arm's weight
    arms: Mask  # (…, arms) who was chosen
    chance: Array  # (…, arms) with which chance
    recent: Array  # (…, longest delay) what came in the last rounds, the latest last


@dataclass(frozen=True)
class WindowWeights:
    """Exponential weights that hear of a choice when it ends, from its last d rounds: ``X = 1/(2d) Σ Y(τ)``.

    =======  ==========================================================
    style    the arm that was chosen with chance p
    =======  ==========================================================
    gain     ``ln w += γ/K · X/p``
    loss     ``ln w −= γ/K · (1/2 − X)/p``, a reward of 1 a round being no loss
    =======  ==========================================================

    Args:
        tuning: d and γ of each round; all is forgotten where a phase begins.
        style: ``"loss"`` or ``"gain"``.

    Raises:
        EvenhandError: a policy is run so far beyond its horizon that the delay outgrows its memory.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.tuning import Known
        >>> policy = Policy(index=WindowWeights(Known(longest=2, horizon=1000)))
        >>> policy.index.worth(policy.start(arms=2), np.random.default_rng(0))
        array([1., 1.])

    Source: Cesa-Bianchi, Gentile & Mansour 2018, section 3 (loss); Wang et al. 2021, Algorithm 3 (gain).
    """

    tuning: Tuning
    style: str = "loss"
    random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.one_of("style", self.style, ("loss", "gain"))

    def start(self, shape: Shape) -> Window:
        """All weights are 1."""
        recent = np.zeros((*shape[:-1], self.tuning.longest))
        return Window(np.zeros(shape), np.zeros(shape, dtype=bool), np.ones(shape), recent)

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The weights relative to the largest, (…, arms)."""
        logs = self._settled(state.index, state.clock, state.arms)
        return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))

    def _settled(self, memory: Window, round: int, arms: int) -> Array:
        if self.tuning.begins(round):
            return np.zeros_like(memory.logs)
        delay, room = self.tuning.delay(round), memory.recent.shape[-1]
        if delay > room:
            raise EvenhandError(
                f"round {round} reckons with a delay of {delay}, there is memory for {room}: make the policy for a "
                "longer horizon"
            )
        came = memory.recent[..., -delay:].sum(axis=-1, keepdims=True) / (2.0 * delay)
        gain = came - (0.5 if self.style == "loss" else 0.0)
        rate = self.tuning.mixing(round, arms) / arms
        return np.asarray(memory.logs + np.where(memory.arms, rate * gain / memory.chance, 0.0))

    def note(self, state: State, played: Mask, vector: NDArray[Any], chosen: Mask | None) -> None:
        """Settle what the last choice earned where a lane chose anew."""
        memory: Window = state.index
        new = np.ones((*played.shape[:-1], 1), dtype=bool) if chosen is None else chosen
        if new.any():
            np.copyto(memory.logs, self._settled(memory, state.clock, state.arms), where=new)
            np.copyto(memory.arms, played, where=new)
            np.copyto(memory.chance, np.where(played, vector, 1.0), where=new)

    def observe(self, memory: Window, feedback: Feedback, rng: np.random.Generator) -> None:
        """Remember what came in the round."""
        memory.recent[..., :-1] = memory.recent[..., 1:].copy()
        memory.recent[..., -1] = feedback.rewards.sum(axis=-1)
