"""How long does a choice last?

Which lanes are in the middle of a hold is known here and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, build, part, rules_of
from evenhand.core.state import Array, Decision, Mask, Observation, Shape, State
from evenhand.policy.mixing import DoubledHorizon, Phases, as_doubled, as_phases
from evenhand.policy.part import Composition, PolicyPart, Traits
from evenhand.policy.rules import HoldRules


class Hold(PolicyPart):
    """A rule for how long a choice lasts. An own hold needs `continued`.

    Its traits: ``equal``, ``random``, ``closed``, ``halved`` and ``idle``; see `evenhand.policy.part.Traits`.
    """

    def refuses(self, policy: Composition) -> str | None:
        """Refuses features, shares that it could not keep, and counts by age where half of the rewards are dropped."""
        own = type(self).__name__
        if policy.contextual and not self.traits.idle:
            return f"{own} holds a choice whatever the features of its rounds are: use hold=EveryRound()"
        if policy.named and self.traits.halved:
            return (
                f"{own} with credit='second_half' needs anonymous sums, but counts by age need rewards that "
                "name their pull: use credit='all', or other evidence"
            )
        if not self.traits.equal and policy.fairness.promises and policy.fairness.traits.gives == "shares":
            return (
                f"{own} holds an arm for longer the more often it was chosen, so {type(policy.fairness).__name__} "
                "could not keep the promised shares: use HoldFor(size, count='all')"
            )
        return None

    def continued(self, state: State, observation: Observation, rng: np.random.Generator) -> tuple[Mask | None, Any]:
        """The arms that go on playing, (…, arms), none in a lane that chooses anew, or None where all lanes choose
        anew; and what chance decided, for ``Decision.hold``.

        Args:
            state: read, never changed.
            observation: who can play; in a lane where a held arm cannot, none goes on, so that it chooses anew.
            rng: the policy's random stream.
        """
        return None, None

    def propensity(self, state: State, observation: Observation, chosen: Array) -> Array | None:
        """The probability of each arm to play, before chance decides if the last choice ends; None: no closed form.

        Args:
            state: read, never changed.
            observation: what is known before the decision.
            chosen: (…, arms), the probability of each arm to be selected where a lane chooses anew.

        Returns:
            (…, arms), in [0, 1], or None. A hold that is random and defines this has the trait ``closed``.
        """
        return None if self.traits.random else chosen

    def credited(self, state: State) -> Mask | None:
        """The lanes in which what arrives at the end of this round counts, (…, 1); None for all lanes.

        Args:
            state: after the decision; read, never changed.
        """
        return None

    def longest(self, rounds: int) -> float:
        """The most rounds that a choice can last within so many rounds.

        Args:
            rounds: number of rounds.

        Returns:
            Rounds, at least 1.
        """
        return 1.0


@part("hold", "every_round")
@frozen
class EveryRound(Hold):
    """A choice lasts one round.

    Example:
        >>> EveryRound().longest(rounds=100)
        1.0
    """

    traits = Traits(idle=True)

    def rules(self) -> HoldRules:
        """A round."""
        return HoldRules()


class Size(Part, ABC):
    """How many rounds the k-th hold lasts; never fewer than the one before, and more in the long run."""

    @abstractmethod
    def __call__(self, hold: Array) -> Array:
        """The rounds of the holds of the given numbers, counted from 1; whole numbers in floats."""


@part("size", "power")
@frozen
class PowerSize(Size):
    """``f(k) = max(1, ⌊k^β⌋)``.

    Args:
        exponent: β > 0.

    Example:
        >>> import numpy as np
        >>> PowerSize(2.0)(np.array([1.0, 2.0, 3.0])), PowerSize(0.5)(np.array([3.0, 4.0]))
        (array([1., 4., 9.]), array([1., 2.]))
    """

    exponent: float = field(default=2.0, converter=validate.positive)

    def __call__(self, hold: Array) -> Array:
        """``max(1, ⌊k^β⌋)``; a billionth is a rounding error."""
        return np.asarray(np.maximum(np.floor(hold**self.exponent + 1e-9), 1.0))

    def last(self, rounds: int) -> float:
        """The size of the last hold that is complete after so many rounds, if there is one; else 1.

        Args:
            rounds: number of rounds.

        Returns:
            Rounds, at least 1.

        Example:
            >>> PowerSize(2.0).last(rounds=14), PowerSize(2.0).last(rounds=13)
            (9.0, 4.0)
        """
        holds = 1024
        while self(np.arange(1.0, holds + 1.0)).sum() <= rounds:
            holds *= 2
        ends = np.cumsum(self(np.arange(1.0, holds + 1.0)))
        complete = np.searchsorted(ends, rounds, side="right")
        return float(self(np.maximum(complete, 1.0)))


@part("size", "geometric")
@frozen
class GeometricSize(Size):
    """``f(k) = 2^(k+c)``, with ``f(1) = 2^(2+c)``.

    Args:
        offset: c ≥ 0.

    Example:
        >>> import numpy as np
        >>> GeometricSize(0)(np.array([1.0, 2.0, 3.0]))
        array([4., 4., 8.])

    Source: Wang et al. 2021, section 2.2.
    """

    offset: int = field(default=0, converter=validate.natural)

    def __call__(self, hold: Array) -> Array:
        """``2^(max(k, 2) + c)``."""
        return np.asarray(2.0 ** (np.maximum(hold, 2.0) + self.offset))


@frozen
class CustomSize(Size):
    """Any function of k that rises and is at least 1.

    Args:
        function: from an array of k = 1, 2, … to rounds.

    Raises:
        EvenhandError: the function falls somewhere, does not rise, or is below 1.

    Example:
        >>> import numpy as np
        >>> CustomSize(lambda k: 3.0 * k)(np.array([1.0, 2.0]))
        array([3., 6.])
    """

    function: Callable[[Array], Array]

    def __attrs_post_init__(self) -> None:
        _check_rises(self.function)

    def __call__(self, hold: Array) -> Array:
        """The function's values."""
        return np.asarray(self.function(hold), dtype=float)


SizeLike = Size | Callable[[Array], Array] | Mapping[str, object]


def as_size(value: SizeLike) -> Size:
    """A size, given as one, by its plain form, or as any function of k."""
    size = build("size", value)
    if isinstance(size, Size):
        return size
    if isinstance(size, type) or not callable(size):
        raise EvenhandError(f"must be a function such as PowerSize(2), got {shown(value)}")
    return CustomSize(size)


@dataclass(slots=True)
class Held:
    """What each lane is holding."""

    arms: Mask  # (…, arms) True for the arms that are held
    left: Array  # (…, 1) rounds that they still play
    times: Array  # (…, arms) holds begun with each arm, or with any, so far
    counted: Array  # (…, 1) rounds at the end of the hold in which what arrives counts


@part("hold", "hold_for")
@frozen
class HoldFor(Hold):
    """A choice lasts for more and more rounds: the k-th for f(k).

    k counts the choices of the same arm (of several that play together, the one chosen least often counts), or all
    choices. Where a held arm is not available, the hold ends and the lane chooses anew.

    Args:
        size: f, rising and at least 1: `PowerSize`, `GeometricSize`, or any function from an array of k to rounds.
        count: ``"arm"`` or ``"all"``, what k counts.
        credit: ``"all"``, or ``"second_half"`` where what arrives in the first ⌊f(k)/2⌋ rounds of a choice, much of
            which other arms may have earned, counts for none.

    Raises:
        EvenhandError: the function does not rise, or is below 1 somewhere.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import UCB, TopM
        >>> policy = Policy(UCB(4.0, clip=True), selection=TopM(ties="fewest"), hold=HoldFor(PowerSize(2.0)))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(10)]
        [0, 1, 0, 0, 0, 0, 1, 1, 1, 1]

    Source: Wang et al. 2021, Algorithms 1 and 2; ``"second_half"`` is ours.
    """

    size: Size = field(converter=as_size, metadata={"slot": "size"})
    count: str = field(default="arm", validator=validate.choice("arm", "all"))
    credit: str = field(default="all", validator=validate.choice("all", "second_half"))

    @property
    def traits(self) -> Traits:
        """Equal where all choices count, so that arms chosen often are held no longer than others."""
        return Traits(equal=self.count == "all", halved=self.credit == "second_half")

    def rules(self) -> HoldRules:
        """More and more rounds."""
        return HoldRules(self.size, self.count == "arm", self.credit == "second_half")

    def start(self, shape: Shape) -> Held:
        """Nothing is held."""
        lane = (*shape[:-1], 1)
        return Held(np.zeros(shape, dtype=bool), np.zeros(lane), np.zeros(shape), np.zeros(lane))

    def grow(self, memory: Held, arms: int) -> Held:
        """Where all choices count, new arms count them, too."""
        new: Held = super().grow(memory, arms)
        if self.count == "all":
            new.times[memory.times.size :] = memory.times[0]
        return new

    def credited(self, state: State) -> Mask | None:
        """All lanes, or those in the second half of their hold."""
        return None if self.credit == "all" else np.asarray(state.hold.left < state.hold.counted)

    def continued(self, state: State, observation: Observation, rng: np.random.Generator) -> tuple[Mask, None]:
        """The arms of lanes in the middle of a hold."""
        hold: Held = state.hold
        held = hold.arms & (hold.left > 0.0)
        available = observation.available
        if available is not None:
            held = held & ~(held & ~available).any(axis=-1, keepdims=True)
        return held, None

    def longest(self, rounds: int) -> float:
        """The size of the hold in which that many rounds end, if one arm played in all of them.

        Beyond the first 10,000 holds it is bounded: none of those that follow is shorter than the last of these.
        """
        if rounds < 1:
            return 1.0
        sizes, ends = self._first_holds
        hold = int(np.searchsorted(ends, rounds))
        if hold < len(ends):
            size = sizes.item(hold)
        else:
            number = len(ends) + np.ceil((rounds - ends[-1]) / sizes[-1])
            size = float(self.size(np.array([number]))[0])
        return min(size, float(rounds))

    @cached_property
    def _first_holds(self) -> tuple[Array, Array]:
        """(10000,), the sizes of the first holds, and the rounds after which they end."""
        with np.errstate(over="ignore"):
            sizes = np.asarray(self.size(np.arange(1.0, 10_001.0)), dtype=float)
            return sizes, np.cumsum(sizes)

    def after_decision(self, state: State, decision: Decision) -> None:
        """A round less to go, and a new hold where a lane chose anew."""
        hold: Held = state.hold
        lanes = np.arange(hold.left.size) if decision.chosen is None else np.flatnonzero(decision.chosen)
        if lanes.size:
            self._begin(hold, decision.played.reshape(-1, state.arms)[lanes], lanes)
        hold.left -= 1.0

    def _begin(self, hold: Held, played: Mask, lanes: NDArray[np.intp]) -> None:
        """A new hold in the given lanes; a lane in which everybody sleeps begins none."""
        arms, times, left, counted = (
            part.reshape(-1, part.shape[-1]) for part in (hold.arms, hold.times, hold.left, hold.counted)
        )
        begun = played.any(axis=-1, keepdims=True)
        number = np.asarray(times[lanes] + (played if self.count == "arm" else begun), dtype=float)
        arms[lanes], times[lanes] = played, number
        least = np.where(begun, np.where(played, number, np.inf).min(axis=-1, keepdims=True), 1.0)
        left[lanes] = np.where(begun, np.floor(self.size(least)), left[lanes])
        counted[lanes] = np.ceil(left[lanes] / 2.0)


@part("hold", "restarted")
@frozen
class RestartedHold(Hold):
    """A choice lasts longer each time, ``g(k) = max(1, ⌊k^β⌋)`` rounds; with every phase k begins at 1 again.

    The last choice of a phase is cut at its end.

    Args:
        phases: where a phase begins, and β.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(hold=RestartedHold(DoubledHorizon(first_horizon=2, exponent=1.0)))
        >>> state, rng, sizes = policy.start(arms=2), np.random.default_rng(0), []
        >>> for _ in range(6):
        ...     _ = policy.decide(state, Observation(), rng)
        ...     sizes.append(state.hold.left.item())
        >>> sizes  # rounds still to go: 1, then 2 cut after 1; the second phase has 1, 2 and 1 of 3
        [0.0, 1.0, 0.0, 1.0, 0.0, 2.0]

    Source: Wang et al. 2021, Algorithm 2, with the doubling of its section 3.1.
    """

    phases: DoubledHorizon = field(converter=as_doubled, metadata={"slot": "mixing"})

    def rules(self) -> HoldRules:
        """More and more rounds, from 1 again with every phase."""
        begins, size = rules_of(self.phases), self._within.size
        return begins and HoldRules(size, phases=begins, begins=self.phases.begins)

    @property
    def _within(self) -> HoldFor:
        return HoldFor(PowerSize(self.phases.exponent), count="all")

    def start(self, shape: Shape) -> Held:
        """Nothing is held."""
        return self._within.start(shape)

    def continued(self, state: State, observation: Observation, rng: np.random.Generator) -> tuple[Mask, None]:
        """The arms of lanes in the middle of a hold; none where a phase begins."""
        if self.phases.begins(state.clock):
            return np.zeros_like(state.hold.arms), None
        return self._within.continued(state, observation, rng)

    def longest(self, rounds: int) -> float:
        """The size of the hold in which that many rounds end, if all were of one phase."""
        return self._within.longest(rounds)

    def after_decision(self, state: State, decision: Decision) -> None:
        """A round less to go, and a new hold where a lane chose anew."""
        if self.phases.begins(state.clock):
            state.hold.times[:] = 0.0
        self._within.after_decision(state, decision)


@dataclass(slots=True)
class Coins:
    """The arm that each lane plays, and its markers."""

    arms: Mask  # (…, arms) who plays
    quiet: Array  # (…, 1) rounds without a marker up to now


@part("hold", "random_ends")
@frozen
class RandomEnds(Hold):
    """A choice lasts until a coin ends it, and never ends within 2d rounds of another end.

    Every round gets a marker with probability 1/(2d); a round with a marker ends the choice if the 2d − 1 rounds before
    have none. (Wang et al. look at the 2d − 1 rounds after it instead, which they draw in advance; the ends have the
    same law.) Markers go back before the first round, so that every round ends a choice with the same probability.

    Args:
        phases: d of each round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import OnePhase
        >>> policy = Policy(hold=RandomEnds(OnePhase(longest=2, horizon=1000)))
        >>> state, rng = policy.start(arms=3), np.random.default_rng(0)
        >>> bool(policy.decide(state, Observation(), rng).played[0])
        True

    Source: Cesa-Bianchi, Gentile & Mansour 2018, section 3; Wang et al. 2021, Algorithm 3.
    """

    phases: Phases = field(converter=as_phases, metadata={"slot": "mixing"})
    traits = Traits(random=True, closed=True)

    def rules(self) -> HoldRules | None:
        """Coins, where it is known when phases begin."""
        begins = rules_of(self.phases)
        return begins and HoldRules(phases=begins, begins=self.phases.begins, delay=self.phases.delay)

    def start(self, shape: Shape) -> Coins:
        """Nobody plays yet."""
        return Coins(np.zeros(shape, dtype=bool), np.zeros((*shape[:-1], 1)))

    def continued(self, state: State, observation: Observation, rng: np.random.Generator) -> tuple[Mask, Array]:
        """The arms of lanes whose choice has not ended; and the rounds without a marker up to this one."""
        coins: Coins = state.hold
        delay = self.phases.delay(state.clock)
        chance = 1.0 / (2.0 * delay)
        if self.phases.begins(state.clock):
            past = rng.geometric(chance, coins.quiet.shape) - 1.0
            return np.zeros_like(coins.arms), np.minimum(past, 2.0 * delay - 1.0)
        marked = rng.random(coins.quiet.shape) < chance
        ends = marked & (coins.quiet >= 2.0 * delay - 1.0)
        quiet = np.where(marked, 0.0, coins.quiet + 1.0)
        if observation.available is not None:
            ends = ends | (coins.arms & ~observation.available).any(axis=-1, keepdims=True)
        return np.asarray(coins.arms & ~ends), quiet

    def propensity(self, state: State, observation: Observation, chosen: Array) -> Array:
        """``(1 − q) 1(held) + q p``: the choice ends with probability q, which is 0 right after another end."""
        coins: Coins = state.hold
        delay = self.phases.delay(state.clock)
        if self.phases.begins(state.clock):
            return chosen
        ends = np.where(coins.quiet >= 2.0 * delay - 1.0, 1.0 / (2.0 * delay), 0.0)
        if observation.available is not None:
            due = np.minimum(state.plays, observation.available.sum(axis=-1, keepdims=True))
            able = coins.arms & observation.available
            gone = (able != coins.arms).any(axis=-1, keepdims=True) | (able.sum(axis=-1, keepdims=True) < due)
            ends = np.where(gone, 1.0, ends)
        return np.asarray((1.0 - ends) * coins.arms + ends * chosen)

    def longest(self, rounds: int) -> float:
        """A choice may never end."""
        return float(max(rounds, 1))

    def after_decision(self, state: State, decision: Decision) -> None:
        """Remember who plays, and the markers."""
        np.copyto(state.hold.arms, decision.played)
        np.copyto(state.hold.quiet, decision.hold)


def _check_rises(size: Callable[[Array], Array]) -> None:
    """Refuse a function that does not rise over the first 1000 holds, or is below 1 somewhere."""
    with np.errstate(over="ignore"):
        sizes = np.asarray(size(np.arange(1.0, 1001.0)), dtype=float)
    if sizes.shape != (1000,) or not (sizes >= 1.0).all():
        raise EvenhandError("a size must return a number of rounds of at least 1 for every k")
    falls = np.flatnonzero(np.diff(sizes[np.isfinite(sizes)]) < 0.0)
    if falls.size or sizes[-1] <= sizes[0]:
        where = f"f({falls[0] + 2}) = {sizes[falls[0] + 1]:g} is below" if falls.size else "f(1000) is no more than"
        what = f"f({falls[0] + 1}) = {sizes[falls[0]]:g}" if falls.size else f"f(1) = {sizes[0]:g}"
        raise EvenhandError(f"the sizes of holds must increase, but {where} {what}")
