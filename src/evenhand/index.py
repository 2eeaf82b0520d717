"""What is each arm worth, as far as we know?

An index gives every arm a number, from the evidence in the tally and, for Thompson sampling, from chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.evidence import Evidence, Received
from evenhand.records import Array, Feedback, Mask, Shape, State, Tally


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

    def __post_init__(self) -> None:
        validate.number("exploration", self.exploration, low=0.0)

    def worth(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Array:
        """The upper confidence bound of every arm, (…, arms)."""
        sums, counts = self.evidence.of(state.tally)
        counts = np.maximum(counts, 1.0)
        index = self.exploration * np.log(state.clock) / counts
        np.sqrt(index, out=index)
        index += sums / counts
        unknown = state.tally.pulls == 0
        if unknown.any():
            index[unknown] = np.inf
        return np.asarray(np.minimum(index, 1.0, out=index) if self.clip else index)


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
            rewards = np.clip(rewards, 0.0, feedback.received)
            whole = np.floor(rewards)
            rest = rewards - whole
            rewards = whole + (rng.random(rest.shape) < rest) if rest.any() else whole
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

    def observe(self, memory: Any, feedback: Feedback, rng: np.random.Generator) -> None:
        """Take in what arrived."""
        self.index.observe(memory, feedback, rng)
