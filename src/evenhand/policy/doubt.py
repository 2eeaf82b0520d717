"""Confidence intervals from pulls of every age, and rules that trust late rewards until they are found to mislead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask, Observation, Shape, State, Tally
from evenhand.core.streams import among
from evenhand.policy.confidence import Intervals, as_confidence
from evenhand.policy.evidence import Evidence, at_best_age, counts_by_age
from evenhand.policy.index import AroundIndex, Index, as_index
from evenhand.policy.part import Composition, PolicyPart, Traits
from evenhand.policy.prior import UNIFORM, Prior, as_prior, check_arms, shapes


@part("confidence", "mature")
@frozen
class MatureIntervals(Intervals):
    """An interval for the mean of every arm that holds however delays depend on rewards: the best over all ages.

    ``[max_a y/n − c, min_a (y + n − f)/n + c]`` cut to [0, 1], ``c = sqrt(ln(inside · K)/n)``; of the pulls of an arm n
    are at least a rounds old, f of these have a reward, and y is the sum of these rewards. For a = 0 alone it is the
    interval of OP-FCUCB-D. More ages do not cost a wider radius: the n pulls that are old enough are always the first
    n of their arm, so if the mean of the first n rewards is within c of μ for every n, all ages are right at once.

    Needs feedback that names the pull of each reward.

    Args:
        inside: number in the logarithm.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.merit import Power
        >>> from evenhand.policy import OptimisticShares
        >>> intervals = MatureIntervals(inside=1000.0)
        >>> intervals.of(Policy(OptimisticShares(intervals, Power())).start(arms=2))
        (array([0., 0.]), array([1., 1.]))

    Source: ours; Chen et al. 2024, Algorithm 3 and Theorem 8, for a = 0.
    """

    inside: float = field(converter=validate.at_least_one)

    traits = Traits(named=True)

    def of(self, state: State) -> tuple[Array, Array]:
        """The largest lower and the smallest upper end."""
        pulls, received, rewards = counts_by_age(state.tally)
        width = np.sqrt(pulls * np.log(self.inside * state.arms))
        least = np.maximum(pulls, 1.0)
        high = rewards + pulls
        high -= received
        high += width
        high /= least
        np.copyto(high, 1.0, where=pulls == 0.0)
        low = rewards - width
        low /= least
        return np.clip(low.max(axis=0), 0.0, 1.0), np.clip(high.min(axis=0), 0.0, 1.0)


@part("index", "mature_beta")
@frozen
class MatureBeta(Index):
    """Thompson sampling from old pulls: the mean of two draws, one with missing rewards as 1 and one with them as 0.

    ``Beta(a + y + n − f, b + f − y)`` and ``Beta(a + y, b + n − y)``, of the n pulls that are old enough, f of them
    with a reward, y the sum of these; old enough is the age with the smallest ``(n − f)/n + 1/sqrt(n)``. Rewards that
    are not 0 or 1 are summed as they are, without trials. Needs feedback that names the pull of each reward.

    Args:
        prior: a and b, above 0, of the prior ``Beta(a, b)``, or such a pair per arm.

    Example:
        >>> from evenhand import Policy
        >>> policy = Policy(MatureBeta())
        >>> draw = policy.index.score(policy.start(arms=3), Observation(), np.random.default_rng(0))
        >>> bool(((draw > 0) & (draw < 1)).all())
        True

    Source: ours; Chen et al. 2024, Algorithm 4, for pulls of every age.
    """

    prior: Prior = field(default=UNIFORM, converter=as_prior)

    traits = Traits(random=True, bounded=True, named=True)

    def start(self, shape: Shape) -> None:
        """Nothing to remember beside the tally."""
        check_arms(self.prior, shape[-1])

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The mean of two draws for every available arm, and 0 for a sleeping one, (…, arms)."""
        counts, available = at_best_age(state.tally), observation.available
        a, b = shapes(self.prior)
        if available is not None and isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            a, b = (np.broadcast_to(one, available.shape)[available] for one in (a, b))
        pulls, received, rewards = counts if available is None else counts[:, available]
        rewards = np.minimum(rewards, received)  # sums of fractions can exceed it by a rounding error
        missing = pulls - received
        drawn = rng if available is None else among(rng, available)
        draws: Array = drawn.beta(a + rewards + missing, b + received - rewards)
        draws += drawn.beta(a + rewards, b + received - rewards + missing)
        draws /= 2.0
        if available is None:
            return draws
        scores = np.zeros(state.tally.pulls.shape)
        scores[available] = draws
        return scores


def doubted(tally: Tally, untestable: str) -> Mask:
    """The arms whose rewards may depend on their delay, (…, arms)."""
    if tally.cohorts is None or tally.cohorts.delays is None:
        raise EvenhandError("the tally has no rewards by delay; start the state with the policy that tests them")
    delays = tally.cohorts.delays
    return delays.disproved if untestable == "trust" else delays.disproved | ~delays.testable


def unnamed(part: PolicyPart, policy: Composition, remedy: str) -> str | None:
    """Why delays cannot be tested where nothing in a policy counts plays by their age; None where something does."""
    if policy.named:
        return None
    return f"{type(part).__name__} tests delays by the age of plays, which nothing in the policy counts: use {remedy}"


_UNTESTABLE = validate.choice("trust", "doubt")


@part("confidence", "until_disproved")
@frozen
class IntervalsUntilDisproved(Intervals):
    """Intervals that trust the rewards that have arrived, per arm, until these are found to depend on their delay.

    Args:
        trusting: the intervals until then.
        doubting: the intervals from then on.
        untestable: ``"trust"`` or ``"doubt"``, while too few delays are known to tell.

    Example:
        >>> from evenhand.policy import ConfidenceIntervals
        >>> IntervalsUntilDisproved(ConfidenceIntervals(400.0), MatureIntervals(600.0)).untestable
        'trust'

    Source: ours; the question is that of Chen et al. 2024, section 7.
    """

    trusting: Intervals = field(converter=as_confidence, metadata={"slot": "confidence"})
    doubting: Intervals = field(converter=as_confidence, metadata={"slot": "confidence"})
    untestable: str = field(default="trust", validator=_UNTESTABLE)

    traits = Traits(tests_delays=True)

    @property
    def evidence(self) -> Evidence | None:
        """The evidence that remembers for both."""
        return self.trusting.evidence

    def refuses(self, policy: Composition) -> str | None:
        """Where no evidence counts plays by their age, as either of the two does."""
        without = unnamed(self, policy, "doubting=MatureIntervals(inside)")
        return without or self.trusting.refuses(policy) or self.doubting.refuses(policy)

    def of(self, state: State) -> tuple[Array, Array]:
        """The intervals of the one rule or of the other, arm by arm."""
        low, high = self.trusting.of(state)
        doubt = doubted(state.tally, self.untestable)
        if not doubt.any():
            return low, high
        other = self.doubting.of(state)
        return np.where(doubt, other[0], low), np.where(doubt, other[1], high)


@part("index", "until_disproved")
@frozen
class UntilDisproved(AroundIndex):
    """An index that trusts the rewards that have arrived, per arm, until these are found to depend on their delay.

    If the second remembers anything, it is what the first remembers.

    Args:
        trusting: the index until then.
        doubting: the index from then on.
        untestable: ``"trust"`` or ``"doubt"``, while too few delays are known to tell.

    Raises:
        EvenhandError: the second remembers something else than the first.

    Example:
        >>> from evenhand.policy import UCB
        >>> UntilDisproved(UCB(), UCB(evidence="mature")).doubting.evidence
        Mature(missing='optimistic')

    Source: ours; the question is that of Chen et al. 2024, section 7.
    """

    inside = "trusting"
    trusting: Index = field(converter=as_index, metadata={"slot": "index"})
    doubting: Index = field(converter=as_index, metadata={"slot": "index"})
    untestable: str = field(default="trust", validator=_UNTESTABLE)

    def __attrs_post_init__(self) -> None:
        one, other = (type(index.start((1,))) for index in (self.trusting, self.doubting))
        if other not in (one, type(None)):
            raise EvenhandError(
                f"must not remember anything else than trusting, got {self.trusting!r} and "
                f"{self.doubting!r}: take one index under two kinds of evidence",
                "doubting",
            )

    @property
    def traits(self) -> Traits:
        """What holds for either, and that it tests delays."""
        return replace(self.trusting.traits.either(self.doubting.traits), tests_delays=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The score of the one index or of the other, arm by arm."""
        score = self.trusting.score(state, observation, rng)
        return np.where(doubted(state.tally, self.untestable), self.doubting.score(state, observation, rng), score)

    def refuses(self, policy: Composition) -> str | None:
        """Where no evidence counts plays by their age, and as either of the two does."""
        without = unnamed(self, policy, 'an index for doubting that does, such as UCB(evidence="mature")')
        return without or self.trusting.refuses(policy) or self.doubting.refuses(policy)
