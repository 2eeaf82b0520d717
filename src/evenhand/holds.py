"""Choices that last: for more and more rounds, until a coin says so, or for the phases of an elimination.

Which lanes are in the middle of a hold is known here and nowhere else.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.fairness import Claim
from evenhand.records import Array, Mask, Shape, State
from evenhand.tuning import Tuning


class Size(Protocol):
    """How many rounds the k-th hold lasts."""

    def __call__(self, hold: Array) -> Array:
        """The rounds of the holds of the given numbers, counted from 1; whole numbers in floats."""
        ...


@dataclass(frozen=True)
class PowerSize:
    """``f(k) = max(1, ⌊k^β⌋)``.

    Args:
        exponent: β > 0.

    Example:
        >>> import numpy as np
        >>> PowerSize(2.0)(np.array([1.0, 2.0, 3.0])), PowerSize(0.5)(np.array([3.0, 4.0]))
        (array([1., 4., 9.]), array([1., 2.]))
    """

    exponent: float = 2.0

    def __post_init__(self) -> None:
        if validate.number("exponent", self.exponent, low=0.0) == 0.0:
            raise EvenhandError("exponent must be above 0, got 0: holds must grow")

    def __call__(self, hold: Array) -> Array:
        """``max(1, ⌊k^β⌋)``; a billionth is a rounding error."""
        return np.asarray(np.maximum(np.floor(hold**self.exponent + 1e-9), 1.0))

    def last(self, rounds: int) -> float:
        """The size of the last hold that is complete after so many rounds, if there is one; else 1.

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


@dataclass(frozen=True)
class GeometricSize:
    """``f(k) = 2^(k+c)``, with ``f(1) = 2^(2+c)``.

    Args:
        offset: c ≥ 0.

    Example:
        >>> import numpy as np
        >>> GeometricSize(0)(np.array([1.0, 2.0, 3.0]))
        array([4., 4., 8.])

    Source: Wang et al. 2021, section 2.2.
    """

    offset: int = 0

    def __post_init__(self) -> None:
        validate.whole("offset", self.offset, low=0)

    def __call__(self, hold: Array) -> Array:
        """``2^(max(k, 2) + c)``."""
        return np.asarray(2.0 ** (np.maximum(hold, 2.0) + self.offset))


@dataclass(slots=True)
class Hold:
    """What each lane is holding."""

    arms: Mask  # (…, arms) True for the arms that are held
    left: Array  # (…, 1) rounds that they still play
    times: Array  # (…, arms) holds begun with each arm, or with any, so far


@dataclass(frozen=True)
class HoldFor:
    """A choice lasts for more and more rounds: the k-th for f(k).

    k counts the choices of the same arm (of several that play together, the one chosen least often counts), or all
    choices. Arms of equal claim are chosen by their number of plays, the fewest first. Where a held arm sleeps, the
    hold ends and the lane chooses anew.

    Args:
        size: f, rising and at least 1: `PowerSize`, `GeometricSize`, or any function from an array of k to rounds.
        count: ``"arm"`` or ``"all"``, what k counts.

    Raises:
        EvenhandError: the function does not rise, or is below 1 somewhere.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.index import UCB
        >>> policy = Policy(UCB(4.0, clip=True), cadence=HoldFor(PowerSize(2.0)))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, rng).played.argmax().item() for _ in range(10)]
        [0, 1, 0, 0, 0, 0, 1, 1, 1, 1]

    Source: Wang et al. 2021, Algorithms 1 and 2.
    """

    size: Any
    count: str = "arm"
    fractions: ClassVar[None] = None
    free_start: ClassVar[bool] = False
    holds: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.one_of("count", self.count, ("arm", "all"))
        if not callable(self.size):
            raise EvenhandError(f"size must be a function such as PowerSize(2), got {self.size!r}")
        if not isinstance(self.size, PowerSize | GeometricSize):
            _check_rises(self.size)

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def start(self, shape: Shape) -> Hold:
        """Nothing is held."""
        return Hold(np.zeros(shape, dtype=bool), np.zeros((*shape[:-1], 1)), np.zeros(shape))

    def held(self, state: State, available: Mask | None, rng: np.random.Generator) -> Mask:
        """The arms of lanes in the middle of a hold."""
        hold: Hold = state.cadence
        held = hold.arms & (hold.left > 0.0)
        if available is None:
            return held
        return held & ~(held & ~available).any(axis=-1, keepdims=True)

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth."""
        return worth

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """The claim as it is; of equal ones the arm with the fewest plays."""
        return dataclasses.replace(claim, tie=state.tally.pulls)

    def note(self, state: State, played: Mask, chosen: Mask | None) -> None:
        """A round less to go, and a new hold where a lane chose anew."""
        hold: Hold = state.cadence
        lanes = np.arange(hold.left.size) if chosen is None else np.flatnonzero(chosen)
        if lanes.size:
            self._begin(hold, played.reshape(-1, state.arms)[lanes], lanes)
        hold.left -= 1.0

    def _begin(self, hold: Hold, played: Mask, lanes: NDArray[np.intp]) -> None:
        """A new hold in the given lanes; a lane in which everybody sleeps begins none."""
        arms, times, left = (part.reshape(-1, part.shape[-1]) for part in (hold.arms, hold.times, hold.left))
        begun = played.any(axis=-1, keepdims=True)
        number = times[lanes] + (played if self.count == "arm" else begun)
        arms[lanes], times[lanes] = played, number
        number = np.where(begun, np.where(played, number, np.inf).min(axis=-1, keepdims=True), 1.0)
        left[lanes] = np.where(begun, np.floor(self.size(number)), left[lanes])


@dataclass(slots=True)
class Coins:
    """The arm that each lane plays, and its markers."""

    arms: Mask  # (…, arms) who plays
    quiet: Array  # (…, 1) rounds without a marker up to now


@dataclass(frozen=True)
class RandomEnds:
    """A choice lasts until a coin ends it, and never ends within 2d rounds of another end.

    Every round gets a marker with probability 1/(2d); a round with a marker ends the choice if the 2d − 1 rounds before
    have none. (Wang et al. look at the 2d − 1 rounds after it instead, which they draw in advance; the ends have the
    same law.) Markers go back before the first round, so that every round ends a choice with the same probability.

    Args:
        tuning: d of each round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.tuning import Known
        >>> policy = Policy(cadence=RandomEnds(Known(longest=2, horizon=1000)))
        >>> state, rng = policy.start(arms=3), np.random.default_rng(0)
        >>> bool(policy.decide(state, rng).played[0])
        True

    Source: Cesa-Bianchi, Gentile & Mansour 2018, section 3; Wang et al. 2021, Algorithm 3.
    """

    tuning: Tuning
    fractions: ClassVar[None] = None
    free_start: ClassVar[bool] = False
    holds: ClassVar[bool] = False

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def start(self, shape: Shape) -> Coins:
        """Nobody plays yet."""
        return Coins(np.zeros(shape, dtype=bool), np.zeros((*shape[:-1], 1)))

    def held(self, state: State, available: Mask | None, rng: np.random.Generator) -> Mask:
        """The arms of lanes whose choice has not ended."""
        coins: Coins = state.cadence
        delay = self.tuning.delay(state.clock)
        chance = 1.0 / (2.0 * delay)
        if self.tuning.begins(state.clock):
            past = rng.geometric(chance, coins.quiet.shape) - 1.0
            np.copyto(coins.quiet, np.minimum(past, 2.0 * delay - 1.0))
            return np.zeros_like(coins.arms)
        marked = rng.random(coins.quiet.shape) < chance
        ends = marked & (coins.quiet >= 2.0 * delay - 1.0)
        np.copyto(coins.quiet, np.where(marked, 0.0, coins.quiet + 1.0))
        if available is not None:
            ends = ends | (coins.arms & ~available).any(axis=-1, keepdims=True)
        return np.asarray(coins.arms & ~ends)

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth."""
        return worth

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """The claim as it is."""
        return claim

    def note(self, state: State, played: Mask, chosen: Mask | None) -> None:
        """Remember who plays."""
        np.copyto(state.cadence.arms, played)


@dataclass(slots=True)
class Campaign:
    """How far each lane is in its phases."""

    alive: Mask  # (…, arms) arms that have not been eliminated
    phase: Array  # (…, 1) m, counted from 1
    arm: Array  # (…, 1) the arm that plays; −1 before the first
    left: Array  # (…, 1) rounds that it still plays
    bridge: Mask  # (…, 1) True while what comes in is thrown away
    before: Array  # (…, 1) rewards credited to the arm when it began to play
    sums: Array  # (…, arms) rewards credited to each arm in its plays outside the bridges


@dataclass(frozen=True)
class PhasedElimination:
    """Phases of longer and longer runs of each arm, after each of which the worse arms are dropped.

    In phase m, with tolerance ``Δ_m = 2^−m``, every arm still in plays until it has ``n_m`` rounds in all, without a
    break; then an arm goes if its mean is more than Δ_m below the largest; then the best arm still in plays for
    ``n_m − n_(m−1)`` rounds of which nothing is kept (the bridge), so that late rewards do not reach into the next
    phase. n_m makes the mean right to Δ_m/2, with ``L = max(ln(T Δ_m²), 1)``:

    =========  =====================================================================  ==========================
    rule       n_m                                                                    told
    =========  =====================================================================  ==========================
    expected   ``(sqrt(2L) + sqrt(2L + 8/3 Δ L + 6 Δ m E[τ]))²/Δ²``                   mean delay E[τ]
    bounded    ``max(m d, (sqrt(2L) + sqrt(2L + 8/3 Δ L + 6 Δ E[τ]))²/Δ²)``           mean and largest delay d
    composite  ``(sqrt(L/2) + sqrt(L/2 + 2 Δ m d))²/Δ²``                              length of the spread d
    =========  =====================================================================  ==========================

    The first two have the form of Pike-Burke et al.'s; we could not hold their constants against the text. The third is
    ours: Hoeffding's inequality, and a bias of at most ``m d/n``, since each of an arm's m runs can lose or win the
    rewards of d rounds at either end. It has the order of Garg & Akash's. While the arm of a run sleeps, the other
    parts decide, and the run waits.

    Args:
        horizon: T, rounds.
        rule: ``"expected"``, ``"bounded"`` or ``"composite"``.
        mean_delay: E[τ] ≥ 0.
        max_delay: d ≥ 0.

    Example:
        >>> PhasedElimination(horizon=10_000, rule="composite", max_delay=20).rounds(1)
        189

    Source: Pike-Burke et al. 2018, Algorithm 1; Garg & Akash 2019.
    """

    horizon: int
    rule: str = "expected"
    mean_delay: float = 0.0
    max_delay: float = 0.0
    fractions: ClassVar[None] = None
    free_start: ClassVar[bool] = False
    holds: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.whole("horizon", self.horizon)
        validate.one_of("rule", self.rule, ("expected", "bounded", "composite"))
        validate.number("mean_delay", self.mean_delay, low=0.0)
        validate.number("max_delay", self.max_delay, low=0.0)

    def rounds(self, phase: int) -> int:
        """n_m, the rounds that every arm still in has played at the end of phase m; 0 for m = 0."""
        if phase == 0:
            return 0
        gap = 2.0**-phase
        log = max(math.log(self.horizon * gap**2), 1.0)
        if self.rule == "composite":
            half, late = math.sqrt(log / 2.0), 2.0 * gap * phase * self.max_delay
            return math.ceil((half + math.sqrt(log / 2.0 + late)) ** 2 / gap**2)
        late = 6.0 * gap * self.mean_delay * (phase if self.rule == "expected" else 1)
        root = math.sqrt(2.0 * log) + math.sqrt(2.0 * log + 8.0 / 3.0 * gap * log + late)
        least = phase * self.max_delay if self.rule == "bounded" else 0.0
        return math.ceil(max(root**2 / gap**2, least))

    def check(self, arms: int) -> None:
        """Fits any number of arms."""

    def start(self, shape: Shape) -> Campaign:
        """All arms are in, nobody has played."""
        lane = (*shape[:-1], 1)
        none, bridge = np.zeros(lane), np.zeros(lane, dtype=bool)
        return Campaign(
            np.ones(shape, dtype=bool), none + 1.0, none - 1.0, none.copy(), bridge, none.copy(), np.zeros(shape)
        )

    def held(self, state: State, available: Mask | None, rng: np.random.Generator) -> Mask:
        """The arm of each lane; lanes that have come to the end of a run go on to the next."""
        campaign: Campaign = state.cadence
        over = np.flatnonzero(campaign.left.reshape(-1) <= 0.0)
        if over.size:
            rewards = state.tally.rewards.reshape(-1, state.arms)
            for lane in over.tolist():
                self._advance(_LaneOf(campaign, lane), rewards[lane])
        held: Mask = campaign.arm == np.arange(state.arms)
        return held if available is None else held & available

    def _advance(self, lane: _LaneOf, rewards: Array) -> None:
        """The next run of a lane: the next arm still in, the bridge after the last, the next phase after the bridge."""
        if lane.arm >= 0 and not lane.bridge:
            lane.sums[lane.arm] += rewards[lane.arm] - lane.before
        phase, alive = lane.phase, np.flatnonzero(lane.alive)
        later = alive[alive > lane.arm] if not lane.bridge else alive
        if lane.bridge:
            phase += 1
        run = self.rounds(phase) - self.rounds(phase - 1)
        if later.size:
            lane.go(int(later[0]), run, phase, bridge=False, before=rewards[later[0]])
            return
        means = lane.sums / self.rounds(phase)
        lane.alive &= means >= means[alive].max() - 2.0**-phase
        best = int(alive[means[alive].argmax()])
        lane.go(best, run if lane.alive.sum() > 1 else np.inf, phase, bridge=True, before=rewards[best])

    def worth(self, worth: Array, state: State) -> Array:
        """Today's worth."""
        return worth

    def claim(self, claim: Claim, state: State, available: Mask | None = None) -> Claim:
        """The claim as it is: it counts only while the arm of a run sleeps."""
        return claim

    def note(self, state: State, played: Mask, chosen: Mask | None) -> None:
        """A round less to go, unless the arm slept."""
        own = state.cadence.arm == np.arange(state.arms)
        state.cadence.left -= (played & own).any(axis=-1, keepdims=True)


class _LaneOf:
    """One lane of a campaign, to read and write."""

    def __init__(self, campaign: Campaign, lane: int) -> None:
        arms = campaign.alive.shape[-1]
        self._campaign, self._lane = campaign, lane
        self.alive, self.sums = campaign.alive.reshape(-1, arms)[lane], campaign.sums.reshape(-1, arms)[lane]
        self.phase, self.arm = int(campaign.phase.reshape(-1)[lane]), int(campaign.arm.reshape(-1)[lane])
        self.bridge, self.before = bool(campaign.bridge.reshape(-1)[lane]), float(campaign.before.reshape(-1)[lane])

    def go(self, arm: int, rounds: float, phase: int, bridge: bool, before: float) -> None:
        """Begin a run."""
        new = {"arm": arm, "left": rounds, "phase": phase, "bridge": bridge, "before": before}
        for name, value in new.items():
            getattr(self._campaign, name).reshape(-1)[self._lane] = value


def _check_rises(size: Size) -> None:
    """Refuse a function that does not rise over the first 1000 holds, or is below 1 somewhere."""
    with np.errstate(over="ignore"):
        sizes = np.asarray(size(np.arange(1.0, 1001.0)), dtype=float)
    if sizes.shape != (1000,) or not (sizes >= 1.0).all():
        raise EvenhandError("size must return a number of rounds of at least 1 for every k")
    falls = np.flatnonzero(np.diff(sizes[np.isfinite(sizes)]) < 0.0)
    if falls.size or sizes[-1] <= sizes[0]:
        where = f"f({falls[0] + 2}) = {sizes[falls[0] + 1]:g} is below" if falls.size else "f(1000) is no more than"
        what = f"f({falls[0] + 1}) = {sizes[falls[0]]:g}" if falls.size else f"f(1) = {sizes[0]:g}"
        raise EvenhandError(f"the sizes of holds must rise, but {where} {what}")
