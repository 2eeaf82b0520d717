"""What the compiled loop reads and counts: numbers for the parts of a policy and of its world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array, Mask, State
from evenhand.environment.feedback import FeedbackRules
from evenhand.policy.rules import HoldRules, PolicyRules
from evenhand.simulation.measures import MaxViolation
from evenhand.simulation.metrics import MetricRecorder

#: The score.
BOUND, BETA = range(2)
SCORES = ("bound", "beta", "mean")
#: What missing rewards count as: nothing, 1 or 0.
IGNORED, AS_ONE = range(2)
MISSING = ("nothing", "one", "zero")
#: What is owed, and the shapes of a bonus.
NOTHING, FIRST, LINEAR, HINGE, HARD, SOFT, WEIGHED, EXACT, RECURSIVE = range(9)
OWED = ("nothing", "first", "linear", "hinge", "hard", "soft", "weighed", "exact", "recursive")
#: Which of equal arms goes first.
LOWEST, FEWEST, RANDOM = range(3)
TIES = ("first", "fewest", "random")
#: How rewards arrive: at once, each by itself after a delay, or as anonymous sums by a profile.
AT_ONCE, SINGLY, BOUNDED, INCREASING, DECREASING, DISCOUNTED, RANDOM_DELAY = range(7)
ARRIVALS = ("at once", "singly", "bounded", "increasing", "decreasing", "discounted", "random")


class Rules(NamedTuple):
    """How arms are chosen; parameters of arms are (lanes × arms,)."""

    arms: int
    plays: int
    ties: int
    score: int
    missing: int
    clip: bool
    prior: Array  # (2, arms)
    owed: int
    fractions: Array
    rates: Array  # of a bonus; η times the weights for a queue
    tolerance: float


class Counts(NamedTuple):
    """What is counted in a strand, (lanes × arms,), updated in place; what is not needed is empty."""

    pulls: Array
    received: Array
    rewards: Array
    successes: Array
    queue_rounds: Array
    queue_plays: Array
    earned: Array
    worst: Array  # the most plays behind so far
    promised: Array  # the fractions by which that is measured
    best: Array  # (lanes,), the optimum so far
    best_fair: Array  # (lanes,), that with the promises kept
    by_set: Array  # (2, sets), the optima of every set of available arms


class Holds(NamedTuple):
    """What each lane is holding; see `evenhand.policy.hold.Held`. Empty where a choice lasts one round."""

    sizes: Array  # (k + 1,), rounds of the k-th hold
    by_arm: bool
    halved: bool  # whether only the second half of a hold counts
    held: Mask  # (lanes × arms,)
    times: Array  # (lanes × arms,)
    left: Array  # (lanes,)
    counted: Array  # (lanes,)


class Arrivals(NamedTuple):
    """How rewards arrive, and what is under way; what is not needed is empty."""

    kind: int
    first: int  # rounds of a profile
    last: int
    factor: float
    past: Array  # (rounds, lanes), totals of the last rounds; for random delays what arrives in the next ones
    total: Array  # (lanes,), a running sum
    weighted: Array  # (lanes,), a weighted running sum
    due: NDArray[np.int64]  # (rounds,), the first of the rewards that arrive in each round; −1 for none
    following: NDArray[np.int64]  # (rewards,), the next one of the same round, or the next free place
    places: NDArray[np.int64]  # (rewards,), lane × arms + arm
    won: Mask  # (rewards,), whether it is 1 or 0
    free: NDArray[np.int64]  # (2,), the first free place, and how many there are


class Draws(NamedTuple):
    """What does not depend on the plays, of some rounds."""

    growth: Array  # (rounds,), the exploration times ln t
    rewards: NDArray[Any]  # (rounds, lanes × arms), what each arm would earn
    available: Mask  # the same, who can play; without rounds where all can
    late: Array  # the same, the delay of each arm's reward, or the chance that decides it; without rounds where none


class Scratch(NamedTuple):
    """What the loop works with, (lanes × arms,)."""

    score: Array
    priority: Array
    drawn: Array  # by which equal arms are ordered
    can: Mask  # who can play
    taken: Mask  # who plays
    playing: NDArray[np.int64]  # (lanes, plays), the places of those who play; −1 for none


def rules_for(policy: PolicyRules, shape: tuple[int, ...], lanes: slice) -> Rules:
    """How a policy chooses in some lanes of a block of the shape (lanes, arms)."""
    index, fairness = policy.score, policy.fairness
    return Rules(
        arms=shape[-1],
        plays=policy.plays,
        ties=TIES.index(policy.ties),
        score=SCORES.index(index.kind),
        missing=MISSING.index(policy.missing),
        clip=index.clip,
        prior=np.array([_full(one, shape[-1:]) for one in index.prior]),
        owed=OWED.index(fairness.owed),
        fractions=_full(fairness.fractions, shape)[lanes].reshape(-1),
        rates=_full(fairness.rates, shape)[lanes].reshape(-1),
        tolerance=fairness.tolerance,
    )


def counts_of(state: State, recorder: MetricRecorder, lanes: slice) -> Counts:
    """The sums of a state and of its measures, in some lanes."""
    run, tally = recorder.run, state.tally
    worst = next((memory for metric, memory in recorder.metrics if type(metric) is MaxViolation), None)
    by_set = run.baseline.by_set
    return Counts(
        pulls=_strand(tally.pulls, lanes),
        received=_strand(tally.received, lanes),
        rewards=_strand(tally.rewards, lanes),
        successes=_strand(getattr(state.index, "successes", None), lanes),
        queue_rounds=_strand(getattr(state.fairness, "rounds", None), lanes),
        queue_plays=_strand(getattr(state.fairness, "plays", None), lanes),
        earned=_strand(run.earned, lanes),
        worst=_strand(worst, lanes),
        promised=_strand(None if worst is None else _full(run.baseline.fractions, tally.pulls.shape), lanes),
        best=run.optima[0, lanes],
        best_fair=run.optima[1, lanes],
        by_set=np.empty((0, 0)) if by_set is None else np.ascontiguousarray(by_set),
    )


def holds_of(hold: HoldRules, state: State, lanes: slice) -> Holds:
    """What some lanes hold, as views of the state; the sizes are still to come."""
    held = state.hold
    mask = np.empty(0, dtype=bool) if held is None else held.arms[lanes].reshape(-1)
    names = ("times", "left", "counted")
    values = (_strand(getattr(held, name, None), lanes) for name in names)
    return Holds(np.zeros(1), hold.by_arm, hold.halved, mask, *values)


def with_sizes(holds: Holds, hold: HoldRules, rounds: int) -> Holds:
    """The holds with sizes for those that can begin within so many rounds."""
    if hold.size is None:
        return holds
    needed = int(holds.times.max()) + rounds + 1
    if needed <= len(holds.sizes):
        return holds
    with np.errstate(over="ignore"):
        sizes = np.floor(hold.size(np.arange(1.0, 2.0 * needed)))
    return holds._replace(sizes=np.concatenate([[0.0], sizes]))


def arrivals_of(feedback: FeedbackRules, lanes: int, rounds: int) -> Arrivals:
    """How rewards arrive in some lanes of a run of so many rounds, with nothing under way."""
    kind = ARRIVALS.index(feedback.kind)
    return Arrivals(
        kind=kind,
        first=feedback.first,
        last=feedback.last,
        factor=feedback.factor,
        past=np.zeros((feedback.last + 2, lanes)),
        total=np.zeros(lanes),
        weighted=np.zeros(lanes),
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


def scratch_for(lanes: int, arms: int, plays: int) -> Scratch:
    """Room to work in."""
    size = lanes * arms
    masks = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
    return Scratch(np.empty(size), np.full(size, -np.inf), np.empty(size), *masks, np.full((lanes, plays), -1))


def _strand(values: Array | None, lanes: slice) -> Array:
    return np.empty(0) if values is None else values[lanes].reshape(-1)


def _full(values: Any, shape: tuple[int, ...]) -> Array:
    full: NDArray[np.float64] = np.array(np.broadcast_to(np.asarray(values, dtype=float), shape))
    return full
