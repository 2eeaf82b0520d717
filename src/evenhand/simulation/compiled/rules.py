"""What the compiled loop reads and counts in a strand: numbers for the parts of a policy and of its world.

Arrays of arms are (arms, lanes), so that the lanes, whose number is known, are beside each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array, Mask
from evenhand.environment.feedback import FeedbackRules
from evenhand.policy.accounts import BILLION
from evenhand.policy.rules import HoldRules, MeritRules, PolicyRules, ScheduleRules, WeightRules

#: The score.
BOUND, INTERVAL, BETA, BOTH, MEAN, WEIGHTS = range(6)
SCORES = ("bound", "interval", "beta", "both", "mean", "weights")
#: What missing rewards count as: nothing, 1 or 0.
IGNORED, AS_ONE, AS_ZERO = range(3)
MISSING = ("nothing", "one", "zero")
#: What is owed, and the shapes of a bonus.
NOTHING, FIRST, LINEAR, HINGE, HARD, SOFT, WEIGHED, EXACT, RECURSIVE, MERIT, MIXED = range(11)
OWED = ("nothing", "first", "linear", "hinge", "hard", "soft", "weighed", "exact", "recursive", "merit", "mixed")
#: The bonuses of which the rates are penalties, in the user's unit of reward.
PRICED = ("hard", "soft")
#: What an arm deserves by its mean.
POWER, STRAIGHT = range(2)
MERITS = ("power", "linear")
#: Which of equal arms goes first; or arms are drawn by their shares.
LOWEST, FEWEST, RANDOM, ROUNDING, DRAWN = range(5)
TIES = ("first", "fewest", "random", "rounding", "drawn")
#: How rewards arrive: at once, each by itself after a delay, or as anonymous sums by a profile.
AT_ONCE, SINGLY, BOUNDED, INCREASING, DECREASING, DISCOUNTED, RANDOM_DELAY, HELD_BACK = range(8)
ARRIVALS = ("at once", "singly", "bounded", "increasing", "decreasing", "discounted", "random", "held back")
#: The random streams that are drawn from in the loop.
POLICY, REWARDS, AWAKE, LATE = range(4)

Words = NDArray[np.uint64]


class Rules(NamedTuple):
    """How arms are chosen."""

    arms: int
    plays: int
    ties: int
    score: int
    missing: int
    clip: bool
    prior: Array  # (2, arms)
    owed: int
    fractions: Array  # (arms, lanes)
    alike: bool  # whether they are the same in all lanes
    rates: Array  # (arms, lanes), of a bonus; η times the weights for a queue
    tolerance: float  # in whole billionths of a play
    merit: int
    rate: float  # of merit, see `evenhand.policy.rules.MeritRules`
    other: float
    epsilon: float  # the chance that all scores are 0 instead
    once: int  # rounds in which first every arm plays once


class World(NamedTuple):
    """What arms earn, and which can play, drawn from the streams or read from tables; what is not needed is empty."""

    limits: Words  # (arms, lanes), the bits below which a reward is 1
    awake: Words  # (arms, lanes), the bits below which an arm can play
    steps: Words  # (arms + 1, 4), jumps of the stream of rewards to each arm and to the next lane
    late_steps: Words  # (arms + 1, 4), those of the stream of delays
    ties: Words  # (1, 4), the jump of the policy's stream to the next lane
    sleeping: bool
    scaled: bool  # whether the policy sees rewards on another scale
    low: float
    width: float
    by_set: Array  # (2, sets), the optima of every set of available arms
    promised: Array  # (arms, lanes), the fractions by which violations are measured
    deserved: Array  # (arms, lanes), the fair shares by merit
    gains: Array  # (arms, lanes), what a play is expected to earn


class Counts(NamedTuple):
    """What is counted, (arms, lanes), updated in place; what is not needed is empty.

    Where every reward is known at once, as it was earned, ``received`` is ``pulls`` and the sums are ``earned``; where
    every reward is 0 or 1, ``successes`` is the sum of them.
    """

    at_once: bool  # whether every reward is known at once, as it was earned
    trials: bool  # whether rewards become 0 or 1 by trials of their own
    pulls: Array
    received: Array
    rewards: Array
    successes: Array  # of trials
    earned: Array
    queue_rounds: Array
    queue_plays: Array
    potential: Array  # what each arm would have earned, where it could play
    worst: Array  # the most plays behind so far
    optima: Array  # (2, lanes), that so far, and that with the promises kept
    regrets: Array  # (2, lanes), of reward and of fairness, against fair shares by merit
    known: Array  # (4 or 8, arms, lanes), what scores are made from: mean and width of a bound, or constants of draws


class Weights(NamedTuple):
    """What exponential weights are made from; see `evenhand.policy.weights`. Empty where there are none."""

    logs: Array  # (arms, lanes)
    arm: NDArray[np.int64]  # (lanes,), who was chosen; −1 for none
    propensity: Array  # (lanes,), with which probability
    earned: Array  # (lanes,), rewards since the choice
    rounds: Array  # (lanes,), rounds since
    heard: Array  # (lanes,), rewards of the round
    recent: Array  # (rounds, lanes), those of the last ones


class Phase(NamedTuple):
    """What stays the same for some rounds."""

    forgets: bool  # whether the weights are forgotten with the first of them
    restarts: bool  # whether all holds end before it
    mixing: float
    rate: float
    scale: float
    window: int  # rounds of which the mean counts; 0: what a choice has earned
    less: float  # by which the mean counts less
    delay: float  # d, where coins end a hold; 0 where none do


class Holds(NamedTuple):
    """What each lane is holding; see `evenhand.policy.hold.Held`. Empty where a choice lasts one round."""

    coins: bool  # whether coins end it, with the number of quiet rounds in ``left``
    sizes: Array  # (k + 1,), rounds of the k-th hold
    by_arm: bool
    halved: bool  # whether only the second half of a hold counts
    times: Array  # (arms, lanes)
    left: Array  # (lanes,)
    counted: Array  # (lanes,)


class Plans(NamedTuple):
    """How far each lane is in its phases; see `evenhand.policy.schedule.Campaign`. Empty where nothing is planned."""

    lengths: Array  # (phases + 1,), rounds of every arm still in at the end of each phase
    alive: Mask  # (arms, lanes), arms that have not been eliminated
    phase: NDArray[np.int64]  # (lanes,), counted from 1
    arm: NDArray[np.int64]  # (lanes,), the arm that plays; −1 before the first
    left: Array  # (lanes,), rounds that it still plays
    bridge: Mask  # (lanes,), whether what comes in is thrown away
    before: Array  # (lanes,), rewards credited to the arm when it began to play
    sums: Array  # (arms, lanes), rewards credited to each arm in its plays outside the bridges


class Arrivals(NamedTuple):
    """How rewards arrive, and what is under way; what is not needed is empty."""

    kind: int
    first: int  # rounds of a profile
    last: int
    factor: float
    past: Array  # (rounds, lanes), totals of the last rounds; for random delays what arrives in the next ones
    total: Array  # (lanes,), a running sum
    weighted: Array  # (lanes,), a weighted running sum
    best: NDArray[np.int64]  # (lanes,), the arm whose rewards are held back
    streak: Array  # (lanes,), its plays in a row
    due: NDArray[np.int64]  # (rounds,), the first of the rewards that arrive in each round; −1 for none
    following: NDArray[np.int64]  # (rewards,), the next one of the same round, or the next free place
    places: NDArray[np.int64]  # (rewards,), arm · lanes + lane
    won: Mask  # (rewards,), whether it is 1 or 0
    free: NDArray[np.int64]  # (2,), the first free place, and how many there are


class Draws(NamedTuple):
    """What the loop reads of some rounds; tables are empty where it draws itself."""

    growth: Array  # (rounds,), the exploration times ln t
    rewards: Array  # (rounds, lanes, arms), what each arm would earn
    available: Mask  # (rounds, lanes, arms), who can play
    late: Array  # (rounds, lanes, arms), the delay of each arm's reward


class Scratch(NamedTuple):
    """What the loop works with."""

    score: Array  # (arms, lanes), −∞ for those that cannot play
    priority: Array  # (arms, lanes)
    playing: NDArray[np.int64]  # (plays, lanes), the arms that play; −1 for none
    arrived: Array  # (plays, lanes), the rewards that arrived for them
    total: Array  # (plays, lanes), the sum and the number of their rewards so far
    number: Array
    best: NDArray[np.int64]  # (lanes,), the arm with the largest value; −1 for none
    top: Array  # (lanes,), that value, and the second largest
    second: Array
    first: NDArray[np.int64]  # (lanes,), the arm that is furthest behind, of those that go first; −1 for none
    lead: Array  # (lanes,), by how much, and by how much the next one
    follow: Array
    scale: Array  # (lanes,), by which scores may be rounded differently
    cut: Array  # (lanes,), the least value that is near to the largest; −∞ where no second one is
    anew: Mask  # (lanes,), who chooses
    chance: Array  # (arms, lanes), with which each arm plays; empty where no share is looked at, as the next two are
    order: NDArray[np.int64]  # (arms, lanes), arms in the order of a draw
    value: Array  # (arms, lanes), what is left of their shares


class Kept(NamedTuple):
    """What is kept at the checkpoints, with the rounds and who has them."""

    pulls: NDArray[np.int32]  # (checkpoints, arms, lanes)
    earned: Array  # (checkpoints, arms, lanes)
    worst: Array  # (checkpoints, 1, lanes), plays that the arm furthest behind has been behind
    optima: Array  # (2, checkpoints, lanes)
    regrets: Array  # (2, checkpoints, lanes)
    potential: Array  # (checkpoints, arms, lanes)


def rules_for(policy: PolicyRules, block: tuple[int, int], width: float) -> Rules:
    """How a policy chooses in a block of the shape (lanes, arms), where a unit is so many of the user's.

    What is the same in all lanes takes no room before `for_strand`.
    """
    index, fairness = policy.score, policy.fairness
    merit = fairness.merit or MeritRules("power", 0.0, 1.0)
    return Rules(
        arms=block[1],
        plays=policy.plays,
        ties=TIES.index(policy.ties),
        score=SCORES.index(index.kind),
        missing=MISSING.index(index.missing),
        clip=index.clip,
        prior=np.array([np.broadcast_to(np.asarray(one, dtype=float), block[1:]) for one in index.prior]),
        owed=OWED.index(fairness.owed),
        fractions=np.broadcast_to(np.asarray(fairness.fractions, dtype=float), block).T,
        alike=np.ndim(fairness.fractions) < 2,
        rates=np.broadcast_to(fairness.rates / np.float64(width if fairness.owed in PRICED else 1.0), block).T,
        tolerance=billionths(fairness.tolerance),
        merit=MERITS.index(merit.kind),
        rate=merit.rate,
        other=merit.other,
        epsilon=index.epsilon,
        once=-(-block[1] // policy.plays) if policy.schedule.once else 0,
    )


def by_bounds(rules: Rules, sleeping: bool) -> bool:
    """Whether one arm plays, by its bound or because it is furthest behind: for these there is a loop of its own.

    The engine chooses the loop by it, and the loop asks it, compiled, so that the compiler knows it.
    """
    single = rules.plays == 1 and rules.ties == LOWEST and rules.alike and not sleeping
    return single and rules.score == BOUND and not rules.clip and rules.owed <= FIRST


def for_strand(rules: Rules, lanes: slice) -> Rules:
    """The rules in the lanes of a strand."""
    fractions, rates = own(rules.fractions[:, lanes]), own(rules.rates[:, lanes])
    return rules._replace(fractions=fractions, rates=rates)


def counts_for(rules: Rules, lanes: int, at_once: bool, trials: bool, violations: bool, hindsight: bool) -> Counts:
    """Nothing has happened."""
    size = rules.arms, lanes
    pulls, earned, none = np.zeros(size), np.zeros(size), (0, 0)
    rewards = earned if at_once else np.zeros(size)
    return Counts(
        at_once=at_once,
        trials=trials,
        pulls=pulls,
        received=pulls if at_once else np.zeros(size),
        rewards=rewards,
        successes=np.zeros(size) if trials else rewards,
        earned=earned,
        queue_rounds=np.zeros(size if rules.owed == RECURSIVE else none),
        queue_plays=np.zeros(size if rules.owed == RECURSIVE else none),
        potential=np.zeros(size if hindsight else none),
        worst=np.full(size if violations else none, -np.inf),
        optima=np.zeros((2, lanes)),
        regrets=np.zeros((2, lanes)),
        known=np.zeros((8 if rules.score == BOTH else 4, *size)),
    )


def holds_for(hold: HoldRules, arms: int, lanes: int) -> Holds:
    """Nothing is held; the sizes are still to come."""
    size, coins = (arms, lanes) if hold.lasts else (0, 0), hold.delay is not None
    left, counted = np.zeros((2, size[1]))
    return Holds(coins, np.zeros(1), hold.by_arm, hold.halved, np.zeros(size), left, counted)


def weights_for(weights: WeightRules | None, arms: int, lanes: int, rounds: int) -> Weights:
    """All weights are 1."""
    size = (arms, lanes) if weights is not None else (0, 0)
    longest = 0
    if weights is not None and weights.window is not None:
        longest = max(map(weights.window, [*weights.phases(rounds + 1), rounds + 1]))
    propensity, (earned, since, heard) = np.ones(size[1]), np.zeros((3, size[1]))
    recent = np.zeros((longest, size[1]))
    return Weights(np.zeros(size), np.full(size[1], -1), propensity, earned, since, heard, recent)


def phase_for(policy: PolicyRules, round: int, arms: int) -> Phase:
    """The phase that a round is in, and whether it begins with it."""
    weights, mixing, hold = policy.score.weights, policy.fairness.mixing, policy.hold
    return Phase(
        forgets=weights is not None and weights.begins is not None and weights.begins(round),
        restarts=hold.begins is not None and hold.begins(round),
        mixing=0.0 if mixing is None else mixing(round, arms),
        rate=0.0 if weights is None else weights.rate(round, arms),
        scale=1.0 if weights is None or weights.scale is None else weights.scale(round),
        window=0 if weights is None or weights.window is None else weights.window(round),
        less=0.5 if weights is not None and weights.half else 0.0,
        delay=0.0 if hold.delay is None else float(hold.delay(round)),
    )


def plans_for(schedule: ScheduleRules, arms: int, lanes: int) -> Plans:
    """Nobody has played."""
    size = (arms, lanes) if schedule.lengths else (0, 0)
    phase, arm = np.ones(size[1], dtype=np.int64), np.full(size[1], -1)
    left, before, bridge = np.zeros(size[1]), np.zeros(size[1]), np.zeros(size[1], dtype=bool)
    return Plans(
        np.array(schedule.lengths), np.ones(size, dtype=bool), phase, arm, left, bridge, before, np.zeros(size)
    )


def with_sizes(holds: Holds, hold: HoldRules, rounds: int, horizon: int) -> Holds:
    """The holds with sizes for those that can begin within so many rounds of a run."""
    if hold.size is None:
        return holds
    needed = int(holds.times.max()) + rounds + 1
    if needed <= len(holds.sizes):
        return holds
    with np.errstate(over="ignore"):
        sizes = np.floor(hold.size(np.arange(1.0, min(2 * needed, horizon + 2))))
    return holds._replace(sizes=np.concatenate([[0.0], sizes]))


def arrivals_for(feedback: FeedbackRules, best: NDArray[np.int64], rounds: int) -> Arrivals:
    """How rewards arrive in some lanes of a run of so many rounds, with nothing under way."""
    lanes = len(best)
    kind = ARRIVALS.index(feedback.kind)
    return Arrivals(
        kind=kind,
        first=feedback.first,
        last=feedback.last,
        factor=feedback.factor,
        past=np.zeros((feedback.last + 2, lanes)),
        total=np.zeros(lanes),
        weighted=np.zeros(lanes),
        best=best,
        streak=np.zeros(lanes),
        due=np.full(rounds if kind == SINGLY else 0, -1),
        following=np.empty(0, dtype=np.int64),
        places=np.empty(0, dtype=np.int64),
        won=np.empty(0, dtype=bool),
        free=np.array([-1, 0]),
    )


def with_room(arrivals: Arrivals, rewards: int) -> Arrivals:
    """The arrivals with free places for so many more rewards under way."""
    first, free = arrivals.free.tolist()
    if arrivals.kind != SINGLY or free >= rewards:
        return arrivals
    now, more = len(arrivals.places), max(rewards, len(arrivals.places))
    chain = np.append(np.arange(now + 1, now + more), first)
    return arrivals._replace(
        following=np.concatenate([arrivals.following, chain]),
        places=np.concatenate([arrivals.places, np.zeros(more, dtype=np.int64)]),
        won=np.concatenate([arrivals.won, np.zeros(more, dtype=bool)]),
        free=np.array([now, free + more]),
    )


def scratch_for(arms: int, lanes: int, plays: int, shares: bool) -> Scratch:
    """Room to work in, with that for shares or without."""
    score, priority = np.zeros((arms, lanes)), np.full((arms, lanes), -np.inf)
    arrived, total, number = np.zeros((3, plays, lanes))
    playing, (best, first) = np.full((plays, lanes), -1), np.full((2, lanes), -1)
    top, second, lead, follow, scale, cut = np.zeros((6, lanes))
    leaders = best, top, second, first, lead, follow
    size = (arms, lanes) if shares else (0, 0)
    chance, value, order = np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int64)
    anew = np.ones(lanes, dtype=bool)
    return Scratch(score, priority, playing, arrived, total, number, *leaders, scale, cut, anew, chance, order, value)


def kept_for(lanes: int, arms: int, checkpoints: int, hindsight: bool) -> Kept:
    """Room for what is kept."""
    size = checkpoints, arms, lanes
    optima, regrets = np.zeros((2, 2, checkpoints, lanes))
    potential, worst = np.zeros((checkpoints, arms * hindsight, lanes)), np.full((checkpoints, 1, lanes), -np.inf)
    return Kept(np.zeros(size, dtype=np.int32), np.zeros(size), worst, optima, regrets, potential)


def billionths(plays: float) -> float:
    """The most whole billionths of a play that are no more than some plays."""
    nearest = float(np.floor(plays * BILLION))
    return max(one for one in (nearest - 1.0, nearest, nearest + 1.0) if one / BILLION <= plays)


def by_arm(values: Any, block: tuple[int, int], lanes: slice = slice(None)) -> Array:
    """Values of arms, or of the lanes and arms of a block, as (arms, lanes)."""
    return own(np.broadcast_to(np.asarray(values, dtype=float), block)[lanes].T)


def own(values: NDArray[Any]) -> NDArray[Any]:
    """An array as the kernel takes all of them: contiguous, and not read-only, which would be compiled anew."""
    return np.require(values, requirements=["C", "W"])
