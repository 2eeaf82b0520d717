"""What is each arm's score, as far as we know?

An index gives every arm a number, from the evidence in the tally and, for Thompson sampling, from chance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import sqrt
from typing import Any, TypeAlias, cast

import numpy as np

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part, rules_of
from evenhand.core.state import ALL_AVAILABLE, Array, Decision, Feedback, Mask, Observation, Shape, State, Tally
from evenhand.core.streams import among
from evenhand.policy.evidence import Evidence, Received, as_evidence, shared_evidence
from evenhand.policy.part import Around, Composition, PolicyPart, Traits, built, of_inner
from evenhand.policy.prior import UNIFORM, Prior, as_prior, check_arms, shapes
from evenhand.policy.rules import IndexRules

Chance: TypeAlias = Callable[[Array], Array]
ZERO, ONE = np.zeros(()), np.ones(())  # arrays, as numbers would be made such in every round
FEW = 14  # arms up to which single draws take less time than an array of them, 3 and 8 µs for five


class Index(PolicyPart, ABC):
    """A rule for the scores of arms. An own index needs `score` only.

    Its traits: ``gives`` (means on the scale [0, 1], or positive, finite weights), ``random``, ``bounded``, ``named``,
    ``tests_delays`` and ``in_order``; see `evenhand.policy.part.Traits`.
    """

    @by_default
    def evidence(self) -> Evidence | None:
        """What to believe of rewards that are missing or old; None where the index uses no evidence."""
        return None

    @by_default
    def rates(self) -> Array | None:
        """(arms,) or (), reward per round that each arm is guaranteed, on the scale [0, 1]; None for none."""
        return None

    def products(self, arms: int, columns: tuple[int, int]) -> tuple[float, float]:
        """About how many products of two numbers features take, for estimates of time; here a matrix for every arm.

        Args:
            arms: K.
            columns: of the situation, and of every arm.

        Returns:
            Those of a decision, and of the reward of an arm.
        """
        width = sum(columns) if self.traits.contextual else 0
        return float(arms * width * width), float(width * width)

    def learn(self, memory: Any, plays: Array, sums: Array) -> Any:
        """Refused where it remembers anything, unless it defines what counts mean to it."""
        if memory is None:
            return None
        raise EvenhandError(f"it has an index ({type(self).__name__}) that remembers more than counts")

    def propensity(self, state: State, observation: Observation, chance: Chance) -> Array | None:
        """The probability of each arm to be selected, before the score is drawn; None: it has no closed form.

        Args:
            state: read, never changed.
            observation: what is known before the decision.
            chance: the probability of each arm to be selected with given scores, (…, arms) to (…, arms).

        Returns:
            (…, arms), in [0, 1], or None. An index that is random and defines this has the trait ``closed``.
        """
        if self.traits.random:
            return None
        return chance(self.score(state, observation, np.random.default_rng(0)))

    @abstractmethod
    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The score of every arm in the round that is being decided, (…, arms).

        Args:
            state: read, never changed.
            observation: what is known before the decision; the score of an unavailable arm is not used.
            rng: the policy's random stream.
        """

    def expected(self, state: State, observation: Observation) -> Array | None:
        """The reward that its model expects of each arm, without bonus or draw, (…, arms); None: it has no model.

        Args:
            state: of the policy.
            observation: what is known before the decision.
        """
        return None

    def leading(self, state: State, observation: Observation, rng: np.random.Generator, plays: int) -> Array:
        """The scores of a single lane where nothing but the largest of them counts.

        Args:
            state: read, never changed.
            observation: what is known before the decision.
            rng: the policy's random stream.
            plays: m.

        Returns:
            (arms,), the scores of the m arms that lead among the available ones, and of those whose score is the same
            as the last of theirs; of others any that are smaller. An index overrides this where that is quicker.
        """
        return self.score(state, observation, rng)

    def best(self, state: State) -> int | None:
        """The arm with the largest score of a single lane, the lowest of equal ones, where all can play.

        Args:
            state: read, never changed.

        Returns:
            Its place; None where `leading` is as quick. An index overrides this where that is quicker for few arms.
        """
        return None


class AroundIndex(Around, Index):
    """An index around another one."""

    __slots__ = ()

    @property
    def evidence(self) -> Evidence | None:
        """That of the inner index."""
        inner: Index = getattr(self, self.inside)
        return inner.evidence

    @property
    def rates(self) -> Array | None:
        """Those of the inner index."""
        inner: Index = getattr(self, self.inside)
        return inner.rates

    products = of_inner(Index, "products")
    expected = of_inner(Index, "expected")


def as_index(value: Index | str | Mapping[str, object]) -> Index:
    """An index, given as one, by its kind, or by its plain form."""
    return built("index", value, Index, "UCB()")


@part("index", "ucb")
@frozen
class UCB(Index):
    """Upper confidence bound: ``S/M + sqrt(c ln t / max(M, 1))``, with t the round counted from 1.

    An arm that was never pulled has an infinite index, so that it goes first; one whose rewards are all still missing
    has a mean of 0. With ``clip`` the index is at most 1, also for an arm that was never pulled.

    Args:
        exploration: c ≥ 0; 2 is UCB1 (Auer et al. 2002), 1.5 is LFG (Li et al. 2019).
        clip: whether to cut the index at 1, the largest mean that a reward in [0, 1] can have.
        evidence: what to believe of rewards that have not arrived.
        clock: t in the logarithm: ``"round"`` for the round being decided, ``"played"`` for the rounds played so far,
            ``"evidence"`` for the number of rewards in the evidence per play, which does not grow for ever where
            evidence is forgotten.

    Example:
        >>> import numpy as np
        >>> from evenhand import State
        >>> from evenhand.typing import Tally
        >>> counts = np.array([4.0, 1.0, 0.0])
        >>> state = State(round=5, tally=Tally(counts, counts, np.array([2.0, 0.0, 0.0])))
        >>> UCB().score(state, Observation(), np.random.default_rng(0)).round(3)
        array([1.447, 1.893,   inf])

    Source: Patil et al. 2019, eq. (4); Huang et al. 2020 and Fang et al. 2022, section 3, for the clipped form.
    """

    exploration: float = field(default=2.0, converter=validate.nonnegative)
    clip: bool = field(default=False, converter=validate.truth)
    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    clock: str = field(default="round", validator=validate.choice("round", "played", "evidence"))

    def rules(self) -> IndexRules | None:
        """A bound, by a clock that ticks with the rounds."""
        missing = rules_of(self.evidence)
        if missing is None or self.clock == "evidence":
            return None
        ahead = float(self.clock == "played")
        return IndexRules(
            "bound", missing, lambda times, arms: self.exploration * np.log(np.maximum(times - ahead, 1.0)), self.clip
        )

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The upper confidence bound of every arm, (…, arms)."""
        tally = self.evidence.tally(state)
        sums, counts = self.evidence.of(tally)
        growth = self.exploration * log_time(self.clock, state, counts)
        counts = at_least_one(counts, tally, state)
        index: Array = upper_bound(sums, counts, growth)
        if np.count_nonzero(tally.pulls) < tally.pulls.size:  # for few arms quicker than a mask
            index[tally.pulls == 0.0] = np.inf
        return np.minimum(index, 1.0, out=index) if self.clip else index

    def best(self, state: State) -> int | None:
        """As `score`: `upper_bound` and `at_least_one` without arrays, which take long for few arms."""
        tally = self.evidence.tally(state)
        if tally is not state.tally or self.clip or self.clock == "evidence" or len(tally.pulls) > FEW:
            return None
        sums, counts = self.evidence.of(tally)
        growth, counted = self.exploration * float(log_time(self.clock, state, counts)), counts.tolist()
        if min(counted) < 1.0:
            pulls, counted = tally.pulls.tolist(), [max(count, 1.0) for count in counted]
            if 0.0 in pulls:
                return pulls.index(0.0)  # type: ignore[no-any-return]
        scores = [sqrt(growth / count) + total / count for total, count in zip(sums.tolist(), counted)]  # noqa: B905
        return scores.index(max(scores))


def upper_bound(sums: Any, counts: Any, growth: Any) -> Any:
    """``S/M + sqrt(g/M)``, elementwise, for arrays and numbers alike."""
    return np.sqrt(growth / counts) + sums / counts


def log_time(clock: str, state: State, counts: Array) -> Any:
    """``ln t`` by a clock; see `UCB`. A number, or (…, 1)."""
    if clock == "evidence":
        return np.log(np.maximum(counts.sum(axis=-1, keepdims=True) / state.plays, 1.0))
    return np.log(float(state.time if clock == "round" else max(state.time - 1.0, 1.0)))


def at_least_one(counts: Array, tally: Tally, state: State) -> Array:
    """The number of rewards to divide by: at least 1, or what is left of a play that is partly forgotten, (…, arms)."""
    if tally is state.tally:
        return np.maximum(counts, ONE)
    return np.maximum(counts, np.where(tally.pulls > 0.0, np.minimum(tally.pulls, 1.0), 1.0))


@part("index", "empirical_mean")
@frozen
class EmpiricalMean(Index):
    """The mean of the rewards: ``S/M``, and 0 for an arm without evidence.

    Example:
        >>> import numpy as np
        >>> from evenhand import State
        >>> from evenhand.typing import Tally
        >>> counts = np.array([4.0, 0.0])
        >>> state = State(4, Tally(counts, counts, np.array([2.0, 0.0])))
        >>> EmpiricalMean().score(state, Observation(), np.random.default_rng(0))
        array([0.5, 0. ])
    """

    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})

    def rules(self) -> IndexRules | None:
        """A mean."""
        missing = rules_of(self.evidence)
        return None if missing is None else IndexRules("mean", missing)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The empirical mean of every arm, (…, arms)."""
        tally = self.evidence.tally(state)
        sums, counts = self.evidence.of(tally)
        return np.asarray(sums / at_least_one(counts, tally, state))


@dataclass(slots=True)
class Trials:
    """The Bernoulli trials that Thompson sampling has seen."""

    successes: Array  # (…, arms) trials won, between 0 and received


@part("index", "beta_sample")
@frozen
class BetaSample(Index):
    """Thompson sampling: one draw from ``Beta(a + S, b + M − S)``, with the prior ``Beta(a, b)``, by default uniform.

    S counts the successes of Bernoulli trials. A reward of 0 or 1 is its own trial. Any other reward x in [0, 1] first
    goes through a trial that succeeds with probability x (Agrawal & Goyal 2012, Algorithm 2).

    Where evidence is forgotten, S is the sum of the rewards that are not, without trials: what is left of a trial
    is no whole number anyway.

    A departure from the paper, where it says nothing: when several rewards of an arm arrive in one round only their
    sum s is known, and ⌊s⌋ + Bernoulli(s − ⌊s⌋) successes are counted: the same mean, for one reward the same trial.

    Args:
        evidence: what to believe of rewards that have not arrived.
        prior: a and b, above 0, or such a pair per arm: as if a − 1 successes and b − 1 failures were known before
            the first round. Its mean is a/(a + b).

    Raises:
        EvenhandError: the prior has pairs for another number of arms.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(index=BetaSample())
        >>> draw = policy.index.score(policy.start(arms=3), Observation(), np.random.default_rng(0))
        >>> bool(((draw > 0) & (draw < 1)).all())
        True

    Source: Agrawal & Goyal 2012; Huang et al. 2020, Algorithm 1 and eq. (4).
    """

    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"})
    prior: Prior = field(default=UNIFORM, converter=as_prior)
    traits = Traits(random=True, bounded=True)

    def start(self, shape: Shape) -> Trials:
        """No trials yet."""
        check_arms(self.prior, shape[-1])
        return Trials(np.zeros(shape))

    def learn(self, memory: Trials, plays: Array, sums: Array) -> Trials:
        """The sum of the rewards is the number of successes."""
        return Trials(memory.successes + sums)

    def successes(self, state: State) -> tuple[Array, Array]:
        """Successes and trials of every arm, as the evidence sees them; each (…, arms).

        Args:
            state: of the policy.

        Returns:
            Successes and trials, at least 0.
        """
        tally = self.evidence.tally(state)
        if tally is state.tally:
            return self.evidence.of(Tally(tally.pulls, tally.received, state.index.successes, tally.cohorts))
        return self.evidence.of(Tally(tally.pulls, tally.received, np.clip(tally.rewards, 0.0, tally.received)))

    def rules(self) -> IndexRules | None:
        """A draw."""
        missing = rules_of(self.evidence)
        return None if missing is None else IndexRules("beta", missing, prior=shapes(self.prior))

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """One posterior draw for every available arm, and 0 for a sleeping one, (…, arms)."""
        sums, counts = self.successes(state)
        available = observation.available
        a, b = shapes(self.prior)
        if sums.ndim == 1 and len(sums) <= FEW and isinstance(a, float):
            draw, awake = rng.beta, [True] * len(sums) if available is None else available.tolist()
            rows = zip(sums.tolist(), counts.tolist(), awake, strict=True)
            return np.array([draw(a + one, b + count - one) if able else 0.0 for one, count, able in rows])
        won, lost = a + sums, b + counts - sums
        if available is None:
            return rng.beta(won, lost)
        draws = np.zeros(sums.shape)
        draws[available] = among(rng, available).beta(won[available], lost[available])
        return draws

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Count the successes among the rewards that arrived."""
        rewards = feedback.rewards
        if rewards.dtype.kind == "f":
            rewards = np.minimum(np.maximum(rewards, ZERO), feedback.received)
            whole = np.floor(rewards)
            rest = rewards - whole
            rewards = whole
            if number := np.count_nonzero(rest):
                fractional = rest > 0.0
                rewards[fractional] += among(rng, fractional).random((number,)) < rest[fractional]
        state.index.successes += rewards

    def after_reward(self, state: State, place: int, reward: float, rng: np.random.Generator) -> None:
        """Count a success, or none."""
        reward = min(max(reward, 0.0), 1.0)
        whole = float(reward == 1.0)
        state.index.successes[place] += whole if reward == whole else float(rng.random() < reward)


@part("index", "mean_of")
@frozen
class Mean(AroundIndex):
    """The mean of two indexes of one kind, such as a rule under two kinds of evidence: ``(first + second)/2``.

    The two share one memory: of a reward that is not 0 or 1 both see the same trial.

    Args:
        first: an index.
        second: another of the same type.

    Raises:
        EvenhandError: the two are of different types, or go by features.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> index = Mean(BetaSample("optimistic"), BetaSample("pessimistic"))
        >>> draw = index.score(Policy(index).start(arms=3), Observation(), np.random.default_rng(0))
        >>> bool(((draw > 0) & (draw < 1)).all())
        True

    Source: Chen et al. 2024, Algorithm 4.
    """

    inside = "first"
    first: Index = field(converter=as_index, metadata={"slot": "index"})
    second: Index = field(converter=as_index, metadata={"slot": "index"})

    def __attrs_post_init__(self) -> None:
        if type(self.first) is not type(self.second):
            one, other = type(self.first).__name__, type(self.second).__name__
            raise EvenhandError(f"first and second must be indexes of one type, got {one} and {other}")
        if self.first.traits.contextual:
            raise EvenhandError(
                "must be an index of counts, as the two share one memory: use one with features", "first"
            )
        shared_evidence(self.first.evidence, self.second.evidence, "first and second")

    @property
    def traits(self) -> Traits:
        """What holds for either."""
        return self.first.traits.either(self.second.traits)

    def rules(self) -> IndexRules | None:
        """Two draws, of which one takes missing rewards for 1 and the other for 0."""
        first, second = rules_of(self.first), rules_of(self.second)
        if first is None or second is None or (first.kind, first.missing, second.missing) != ("beta", "one", "zero"):
            return None
        alike = all(np.array_equal(one, other) for one, other in zip(first.prior, second.prior, strict=True))
        return cast(IndexRules, replace(first, kind="both")) if alike else None

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The mean of the two, (…, arms)."""
        total = self.first.score(state, observation, rng) + self.second.score(state, observation, rng)
        return total / 2.0

    def refuses(self, policy: Composition) -> str | None:
        """As the first does."""
        return self.first.refuses(policy) or self.second.refuses(policy)


@part("index", "exploring")
@frozen
class Exploring(AroundIndex):
    """An index that explores: with probability ε a lane gives every arm a score of 0, otherwise the index's own.

    Args:
        index: the scores otherwise.
        epsilon: ε in [0, 1].

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> index = Exploring(EmpiricalMean(), epsilon=1.0)
        >>> index.score(Policy(index).start(arms=2), Observation(), np.random.default_rng(0))
        array([0., 0.])

    Source: Chen et al. 2024, section 6, FGreedy-D.
    """

    inside = "index"
    index: Index = field(converter=as_index, metadata={"slot": "index"})
    epsilon: float = field(converter=validate.unit)

    @property
    def traits(self) -> Traits:
        """Those of the index, drawn at random; the probability of each arm is known where the index's own is."""
        inner = self.index.traits
        return replace(inner, random=True, closed=inner.closed or not inner.random)

    def propensity(self, state: State, observation: Observation, chance: Chance) -> Array | None:
        """``ε p_0 + (1 − ε) p``: p with the scores of the index, p_0 with scores of 0."""
        chosen = self.index.propensity(state, observation, chance)
        if chosen is None:
            return None
        even = chance(np.zeros(state.tally.pulls.shape))
        return np.asarray(self.epsilon * even + (1.0 - self.epsilon) * chosen)

    def rules(self) -> IndexRules | None:
        """Those of the scores, where these are not drawn, and the chance that they do not count."""
        inner: IndexRules | None = rules_of(self.index)
        return replace(inner, epsilon=self.epsilon) if inner is not None and inner.kind == "mean" else None

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The index, or 0 for all arms of a lane that explores, (…, arms)."""
        score = self.index.score(state, observation, rng)
        exploring = rng.random((*score.shape[:-1], 1)) < self.epsilon
        return np.where(exploring, 0.0, score)


@dataclass(slots=True)
class Commitment:
    """The scores that a lane has committed to."""

    score: Array  # (…, arms) as of the first round after the quotas
    made: Mask  # (…, 1) True where the quotas are filled


@part("index", "committed")
@frozen(eq=False)
class Committed(Index):
    """An index that never looks at rewards again once every arm has had its plays.

    The scores of the first round after that are kept for good: with `evenhand.policy.schedule.Quotas` this is
    explore-then-commit.

    Args:
        index: the scores until then; not a random one.
        quotas: (arms,) whole numbers, plays of each arm after which the scores are kept; one number for every arm.

    Raises:
        EvenhandError: the inner index is drawn at random, or remembers more than the tally.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> Committed(EmpiricalMean(), 20).quotas
        array([20.])

    Source: Garivier et al. 2016; Patil et al. 2019, section 4, Algorithm 1.
    """

    index: Index = field(converter=as_index, metadata={"slot": "index"})
    quotas: Array = field(converter=validate.whole_numbers)

    def __attrs_post_init__(self) -> None:
        if self.index.traits.random or self.index.start((1,)) is not None:
            raise EvenhandError(
                f"must depend on the tally alone, such as EmpiricalMean(), got {shown(self.index)}", "index"
            )

    @property
    def evidence(self) -> Evidence | None:
        """That of the inner index."""
        return self.index.evidence

    def refuses(self, policy: Composition) -> str | None:
        """As the inner index does."""
        return self.index.refuses(policy)

    def start(self, shape: Shape) -> Commitment:
        """No commitment yet."""
        validate.one_per_arm("quotas", self.quotas, shape[-1])
        return Commitment(np.zeros(shape), np.zeros((*shape[:-1], 1), dtype=bool))

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The scores of now, or those committed to, (…, arms)."""
        score = self.index.score(state, ALL_AVAILABLE, rng)
        return np.where(state.index.made, state.index.score, score)

    def after_decision(self, state: State, decision: Decision) -> None:
        """Commit where the quotas are filled, to the scores that were just used."""
        filled = (state.tally.pulls >= self.quotas).all(axis=-1, keepdims=True) & ~state.index.made
        if filled.any():
            score = self.index.score(state, ALL_AVAILABLE, np.random.default_rng(0))  # it draws nothing
            np.copyto(state.index.score, score, where=filled)
            state.index.made |= filled
