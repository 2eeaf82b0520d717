"""The rounds of a simulation as one compiled loop. The formulas are those of the parts, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from evenhand.core.code_version import code_version
from evenhand.core.state import Array, Mask
from evenhand.policy import fairness, index

#: Rules for the score.
UCB, BETA, MEAN = range(3)
#: Rules for what is owed.
NOTHING, FIRST, LINEAR, HINGE, HARD, SOFT, WEIGHED, EXACT, RECURSIVE = range(9)
#: Which of equal arms goes first.
LOWEST, FEWEST, RANDOM = range(3)

compiled = njit(nogil=True, error_model="numpy", inline="always")
upper_bound, owed = compiled(index.upper_bound), compiled(fairness.owed)
hinge, hard, soft = compiled(fairness.hinge), compiled(fairness.hard), compiled(fairness.soft)


class Rules(NamedTuple):
    """How arms are chosen; parameters of arms are (lanes × arms,)."""

    arms: int
    score: int
    clip: bool
    prior: Array  # (2, arms)
    owed: int
    fractions: Array
    rates: Array  # of a bonus; η times the weights for a queue
    tolerance: float
    plays: int
    ties: int


class Counts(NamedTuple):
    """What is counted, (lanes × arms,), updated in place; what is not needed is empty."""

    pulls: Array
    received: Array
    rewards: Array
    successes: Array
    queue_rounds: Array
    queue_plays: Array
    earned: Array
    worst: Array  # the most plays behind so far
    promised: Array  # the fractions by which that is measured
    optima: Array  # (2, lanes)
    by_set: Array  # (2, sets), the optima of every set of available arms


class Draws(NamedTuple):
    """What does not depend on the plays, of some rounds."""

    growth: Array  # (rounds,), the exploration times ln t
    rewards: NDArray[Any]  # (rounds, lanes × arms), what each arm would earn
    available: Mask  # the same, who can play; without rounds where all can


@compiled
def add_optima(optima, by_set, can, first, lanes, arms):  # type: ignore[no-untyped-def]
    """The optima of the set of arms that can play."""
    for lane in range(lanes):
        code = 0
        for arm in range(arms):
            code += int(can[lane * arms + arm]) << arm
        optima[0, first + lane] += by_set[0, code]
        optima[1, first + lane] += by_set[1, code]


@compiled
def score_arms(kind, clip, prior, pulls, received, rewards, successes, growth, first, arms, can, rng, score):  # type: ignore[no-untyped-def]
    """The score of every arm; ``first`` is the place of the first."""
    if kind == BETA:
        for place in range(len(score)):
            score[place] = 0.0
            if can[place]:
                won, arm = successes[first + place], place % arms
                score[place] = rng.beta(prior[0, arm] + won, prior[1, arm] + received[first + place] - won)
    elif kind == MEAN:
        for place in range(len(score)):
            count = received[first + place]
            score[place] = rewards[first + place] / (count if count > 1.0 else 1.0)
    else:
        top = 1.0 if clip else np.inf
        for place in range(len(score)):
            count = received[first + place]
            bound = upper_bound(rewards[first + place], count if count > 1.0 else 1.0, growth)
            bound = np.inf if pulls[first + place] == 0.0 else bound
            score[place] = bound if bound < top else top


@compiled
def claim(kind, fractions, rates, pulls, queue_rounds, queue_plays, done, first, score, priority):  # type: ignore[no-untyped-def]
    """What every arm is owed: added to its score, or its priority; ``first`` is the place of the first."""
    if kind == FIRST:
        for place in range(len(score)):
            priority[place] = owed(fractions[first + place], done, pulls[first + place])
    elif kind in (LINEAR, HINGE):
        for place in range(len(score)):
            deficit = owed(fractions[first + place], done, pulls[first + place])
            score[place] += rates[first + place] * (hinge(deficit, 0.0) if kind == HINGE else deficit)
    elif kind in (HARD, SOFT):
        for place in range(len(score)):
            due = fractions[first + place] * (done + 1)
            deficit = owed(fractions[first + place], done + 1, pulls[first + place])
            score[place] += rates[first + place] * (hard(deficit, due) if kind == HARD else soft(deficit, due))
    elif kind != NOTHING:
        for place in range(len(score)):
            length, rate = 0.0, rates[first + place]
            if kind == EXACT:
                length = max(owed(fractions[first + place], done, pulls[first + place]), 0.0)
            elif kind == RECURSIVE:
                length = owed(fractions[first + place], queue_rounds[first + place], queue_plays[first + place])
            score[place] = length + (rate * score[place] if rate > 0.0 else 0.0)


@compiled
def best_arm(values, start, stop, ties, pulls, first, drawn, can):  # type: ignore[no-untyped-def]
    """The place of the largest of some values, of those that can play; −1 where none can."""
    largest = -np.inf
    for place in range(start, stop):
        value = values[place] if can[place] else -np.inf
        largest = value if value > largest else largest
    best = -1
    for place in range(start, stop):
        if values[place] == largest and can[place]:
            if ties == LOWEST:
                return place
            fewer = best >= 0 and ties == FEWEST and pulls[first + place] < pulls[first + best]
            if best < 0 or fewer or (ties == RANDOM and drawn[place] < drawn[best]):
                best = place
    return best


@compiled
def queue(fractions, queue_rounds, queue_plays, first, taken):  # type: ignore[no-untyped-def]
    """Every queue grows by the arm's fraction and shrinks by one where it plays; an empty one begins anew."""
    for place in range(len(taken)):
        rounds, plays = queue_rounds[first + place] + 1.0, queue_plays[first + place] + taken[place]
        waiting = owed(fractions[first + place], rounds, plays) > 0.0
        queue_rounds[first + place], queue_plays[first + place] = rounds * waiting, plays * waiting


def loop(version: str) -> Any:
    """The loop over rounds and lanes, compiled.

    Args:
        version: of the code, by which Numba keeps the machine code: it would not notice that a formula has changed.
    """

    def play(rules, counts, draws, before, start, stop, rng):  # type: ignore[no-untyped-def]
        version  # noqa: B018
        arms, kind, clip, prior, owing, fractions, rates, above, plays, ties = rules
        pulls, received, rewards, successes, queue_rounds, queue_plays, earned, worst, promised, optima, by_set = counts
        growth, potential, available = draws
        lanes, limited, watched = stop - start, len(available) > 0, len(worst) > 0
        size, first = lanes * arms, start * arms
        score, priority, drawn = np.empty(size), np.full(size, -np.inf), np.empty(size)
        can, taken = np.ones(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
        chosen = np.empty(plays, dtype=np.int64)
        for place in range(len(growth)):
            done = before + place
            if limited:
                can[:] = available[place]
                if by_set.size:
                    add_optima(optima, by_set, can, start, lanes, arms)
            score_arms(
                kind, clip, prior, pulls, received, rewards, successes, growth[place], first, arms, can, rng, score
            )
            claim(owing, fractions, rates, pulls, queue_rounds, queue_plays, done, first, score, priority)
            if ties == RANDOM:
                for arm in range(size):
                    drawn[arm] = rng.random()
            for lane in range(lanes):
                low, high = lane * arms, lane * arms + arms
                for pick in range(plays):
                    arm = best_arm(priority, low, high, ties, pulls, first, drawn, can) if owing == FIRST else -1
                    if arm < 0 or not priority[arm] > above:
                        arm = best_arm(score, low, high, ties, pulls, first, drawn, can)
                    chosen[pick] = arm
                    if arm >= 0:
                        can[arm], taken[arm] = False, True
                if owing == RECURSIVE:
                    queue(fractions, queue_rounds, queue_plays, first + low, taken[low:high])
                for pick in range(plays):
                    arm = chosen[pick]
                    if arm < 0:
                        break
                    can[arm], taken[arm] = True, False
                    own = first + arm
                    if watched and done:  # an arm is furthest behind in the round before it plays
                        worst[own] = max(worst[own], promised[own] * done - pulls[own])
                    reward = 1.0 * potential[place, arm]
                    pulls[own] += 1.0
                    received[own] += 1.0
                    rewards[own] += reward
                    earned[own] += reward
                    if kind == BETA:
                        successes[own] += reward
        for own in range(first, first + size if watched else first):
            worst[own] = max(worst[own], promised[own] * (before + len(growth)) - pulls[own])

    try:
        return njit(play, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # no folder to keep it in can be written
        return njit(play, nogil=True, error_model="numpy")


#: Plays some rounds in the lanes ``start`` to ``stop`` of a strand, whose generator is ``rng``, after so many before.
play = loop(code_version())
