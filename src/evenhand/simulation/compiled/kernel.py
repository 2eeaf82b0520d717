"""The rounds of a simulation as one compiled loop. The formulas are those of the parts, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from evenhand.core.source import Root, digest_of
from evenhand.environment import recursions
from evenhand.environment.profiles import OFTEN
from evenhand.policy import accounts, evidence, fairness, index
from evenhand.simulation.compiled.rules import (
    AS_ONE,
    AT_ONCE,
    BETA,
    BOUND,
    BOUNDED,
    DISCOUNTED,
    EXACT,
    FEWEST,
    FIRST,
    HARD,
    HINGE,
    IGNORED,
    INCREASING,
    LINEAR,
    LOWEST,
    NOTHING,
    RANDOM,
    RANDOM_DELAY,
    RECURSIVE,
    SINGLY,
    SOFT,
)

#: Without counting references: to read an array from a tuple would cost more than the arithmetic. So nothing is
#: allocated in here.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

compiled = njit(inline="always", **OPTIONS)
upper_bound, owed, at_best = compiled(index.upper_bound), compiled(accounts.owed), compiled(evidence.at_best)
hinge, hard, soft = compiled(fairness.hinge), compiled(fairness.hard), compiled(fairness.soft)
running, slid = compiled(recursions.running), compiled(recursions.slid)
fading, evenly = compiled(recursions.fading), compiled(recursions.evenly)


@compiled
def add_optima(rules, counts, scratch):  # type: ignore[no-untyped-def]
    """The optima of the set of arms that can play."""
    for lane in range(len(counts.best)):
        code = 0
        for arm in range(rules.arms):
            code += int(scratch.can[lane * rules.arms + arm]) << arm
        counts.best[lane] += counts.by_set[0, code]
        counts.best_fair[lane] += counts.by_set[1, code]


@compiled
def score_arms(rules, counts, scratch, start, stop, growth, rng):  # type: ignore[no-untyped-def]
    """The score of every arm from one place to another."""
    pulls, received = counts.pulls[start:stop], counts.received[start:stop]
    sums = counts.successes[start:stop] if rules.score == BETA else counts.rewards[start:stop]
    number = received if rules.missing == IGNORED else pulls
    scores, can = scratch.score[start:stop], scratch.can[start:stop]
    if rules.missing == AS_ONE:
        for place in range(len(scores)):
            scores[place] = at_best(sums[place], pulls[place], received[place])
        sums = scores
    if rules.score == BETA:
        for place in range(len(scores)):
            won, arm = sums[place], place % rules.arms
            scores[place] = 0.0
            if can[place]:
                scores[place] = rng.beta(rules.prior[0, arm] + won, rules.prior[1, arm] + number[place] - won)
    elif rules.score == BOUND:
        top = 1.0 if rules.clip else np.inf
        for place in range(len(scores)):
            bound = upper_bound(sums[place], number[place] if number[place] > 1.0 else 1.0, growth)
            bound = np.inf if pulls[place] == 0.0 else bound
            scores[place] = bound if bound < top else top
    else:
        for place in range(len(scores)):
            scores[place] = sums[place] / (number[place] if number[place] > 1.0 else 1.0)


@compiled
def claim(rules, counts, scratch, start, stop, done):  # type: ignore[no-untyped-def]
    """What every arm from one place to another is owed: added to its score, or its priority."""
    kind, fractions, rates = rules.owed, rules.fractions[start:stop], rules.rates[start:stop]
    pulls, scores, first = counts.pulls[start:stop], scratch.score[start:stop], scratch.priority[start:stop]
    if kind == FIRST:
        for place in range(len(scores)):
            first[place] = owed(fractions[place], done, pulls[place])
    elif kind in (LINEAR, HINGE):
        for place in range(len(scores)):
            deficit = owed(fractions[place], done, pulls[place])
            scores[place] += rates[place] * (hinge(deficit, 0.0) if kind == HINGE else deficit)
    elif kind in (HARD, SOFT):
        for place in range(len(scores)):
            due = fractions[place] * (done + 1)
            deficit = owed(fractions[place], done + 1, pulls[place])
            scores[place] += rates[place] * (hard(deficit, due) if kind == HARD else soft(deficit, due))
    elif kind != NOTHING:
        for place in range(len(scores)):
            length, rate = 0.0, rates[place]
            if kind == EXACT:
                length = max(owed(fractions[place], done, pulls[place]), 0.0)
            elif kind == RECURSIVE:
                length = owed(fractions[place], counts.queue_rounds[start + place], counts.queue_plays[start + place])
            scores[place] = length + (rate * scores[place] if rate > 0.0 else 0.0)


@compiled
def best_arm(rules, counts, scratch, values, start, stop):  # type: ignore[no-untyped-def]
    """The place of the largest of some values, of those that can play; −1 where none can."""
    best, largest = -1, -np.inf
    if rules.ties == LOWEST:  # without branches, which would be mispredicted, in half the time
        for place in range(start, stop):
            value = values[place] if scratch.can[place] else -np.inf
            larger = value > largest
            best, largest = place if larger else best, value if larger else largest
        return best
    order = counts.pulls if rules.ties == FEWEST else scratch.drawn
    for place in range(start, stop):
        if scratch.can[place]:
            value = values[place]
            if best < 0 or value > largest or (value == largest and order[place] < order[best]):
                best, largest = place, value
    return best


@compiled
def choose(rules, counts, scratch, lane):  # type: ignore[no-untyped-def]
    """The arms of a lane that play."""
    start, stop, playing, can = lane * rules.arms, lane * rules.arms + rules.arms, scratch.playing, scratch.can
    for pick in range(rules.plays):
        arm = -1
        if rules.owed == FIRST:
            arm = best_arm(rules, counts, scratch, scratch.priority, start, stop)
        if arm < 0 or not scratch.priority[arm] > rules.tolerance:
            arm = best_arm(rules, counts, scratch, scratch.score, start, stop)
        playing[lane, pick] = arm
        if arm >= 0:
            can[arm] = False
    for pick in range(rules.plays):
        if playing[lane, pick] >= 0:
            can[playing[lane, pick]] = True


@compiled
def mark(rules, scratch, lane):  # type: ignore[no-untyped-def]
    """Who plays in a lane, as a mask."""
    for place in range(lane * rules.arms, lane * rules.arms + rules.arms):
        scratch.taken[place] = False
    for pick in range(rules.plays):
        if scratch.playing[lane, pick] >= 0:
            scratch.taken[scratch.playing[lane, pick]] = True


@compiled
def queue(rules, counts, scratch, lane):  # type: ignore[no-untyped-def]
    """Every queue grows by the arm's fraction and shrinks by one where it plays; an empty one begins anew."""
    for place in range(lane * rules.arms, lane * rules.arms + rules.arms):
        rounds, plays = counts.queue_rounds[place] + 1.0, counts.queue_plays[place] + scratch.taken[place]
        waiting = owed(rules.fractions[place], rounds, plays) > 0.0
        counts.queue_rounds[place], counts.queue_plays[place] = rounds * waiting, plays * waiting


@compiled
def goes_on(rules, holds, scratch, lane):  # type: ignore[no-untyped-def]
    """Whether a lane plays on: the hold has rounds left, and everybody in it can play, and no one else could."""
    if not holds.left[lane] > 0.0:
        return False
    playing, awake = 0, 0
    for place in range(lane * rules.arms, lane * rules.arms + rules.arms):
        awake += scratch.can[place]
        playing += holds.held[place]
        if holds.held[place] and not scratch.can[place]:
            return False
    return playing > 0 and playing >= min(rules.plays, awake)


@compiled
def begin(rules, holds, scratch, lane):  # type: ignore[no-untyped-def]
    """A new hold in a lane; where everybody sleeps none begins."""
    start, stop, taken = lane * rules.arms, lane * rules.arms + rules.arms, scratch.taken
    begun, least = False, np.inf
    for place in range(start, stop):
        begun = begun or taken[place]
    for place in range(start, stop):
        holds.held[place] = taken[place]
        holds.times[place] += taken[place] if holds.by_arm else begun
        if taken[place] and holds.times[place] < least:
            least = holds.times[place]
    if begun:
        holds.left[lane] = holds.sizes[int(least)]
    holds.counted[lane] = np.ceil(holds.left[lane] / 2.0)


@compiled
def arriving(arrivals, lane, now, total):  # type: ignore[no-untyped-def]
    """The sum that arrives in a lane in a round, counted from 1, by the profile; ``total`` is what was earned in it."""
    kind, first, last, past = arrivals.kind, arrivals.first, arrivals.last, arrivals.past
    rows, sums, weighted = len(past), arrivals.total, arrivals.weighted
    if kind == RANDOM_DELAY:
        arrived = past[now % rows, lane]
        past[now % rows, lane] = 0.0
        return arrived
    if kind == DISCOUNTED:
        sums[lane] = fading(sums[lane], arrivals.factor, past[0, lane])
        past[0, lane] = total
        return (1.0 - arrivals.factor) * sums[lane]
    past[now % rows, lane] = total
    if kind == BOUNDED:
        sums[lane] = running(sums[lane], past[(now - first) % rows, lane], past[(now - last) % rows, lane])
        return sums[lane] / (last - first)
    if now % max(last, OFTEN) == 0:
        sums[lane], weighted[lane] = 0.0, 0.0
        for ago in range(1, last + 1):
            part = past[(now - ago) % rows, lane]
            sums[lane] += part
            weighted[lane] += (ago if kind == INCREASING else last + 1 - ago) * part
    else:
        new, old = past[(now - 1) % rows, lane], past[(now - last - 1) % rows, lane]
        sums[lane], weighted[lane] = slid(last, kind == INCREASING, sums[lane], weighted[lane], new, old)
    return weighted[lane] * (2.0 / (last * (last + 1)))


@compiled
def send(arrivals, due, place, won):  # type: ignore[no-untyped-def]
    """A reward under way, unless it would arrive after the last round."""
    if due < len(arrivals.due):
        spot, row = arrivals.free[0], int(due)
        arrivals.free[0] = arrivals.following[spot]
        arrivals.free[1] -= 1
        arrivals.following[spot] = arrivals.due[row]
        arrivals.due[row], arrivals.places[spot], arrivals.won[spot] = spot, place, won


@compiled
def credit(rules, counts, holds, place, number, reward):  # type: ignore[no-untyped-def]
    """Rewards that arrive for an arm count, unless its lane is in the half of a hold in which none do."""
    if holds.halved:
        lane = place // rules.arms
        if not holds.left[lane] < holds.counted[lane]:
            return
    counts.received[place] += number
    counts.rewards[place] += reward
    if rules.score == BETA:
        counts.successes[place] += reward


@compiled
def deliver(rules, counts, holds, arrivals, row):  # type: ignore[no-untyped-def]
    """What arrives at the end of a round."""
    spot = arrivals.due[row]
    while spot >= 0:
        credit(rules, counts, holds, arrivals.places[spot], 1.0, 1.0 * arrivals.won[spot])
        following = arrivals.following[spot]
        arrivals.following[spot] = arrivals.free[0]
        arrivals.free[0] = spot
        arrivals.free[1] += 1
        spot = following


@compiled
def earn(rules, counts, holds, arrivals, draws, scratch, place, done, lane):  # type: ignore[no-untyped-def]
    """The chosen arms of a lane play and earn, and what becomes known of it is counted."""
    total, number = 0.0, 0
    for pick in range(rules.plays):
        arm = scratch.playing[lane, pick]
        if arm < 0:
            break
        if len(counts.worst) and done:  # an arm is furthest behind in the round before it plays
            counts.worst[arm] = max(counts.worst[arm], counts.promised[arm] * done - counts.pulls[arm])
        reward = 1.0 * draws.rewards[place, arm]
        counts.pulls[arm] += 1.0
        counts.earned[arm] += reward
        number += 1
        if arrivals.kind == AT_ONCE:
            credit(rules, counts, holds, arm, 1.0, reward)
        elif arrivals.kind == SINGLY:
            send(arrivals, done + draws.late[place, arm], arm, reward > 0.0)
        elif arrivals.kind == RANDOM_DELAY:
            delay = int(evenly(arrivals.first, arrivals.last, draws.late[place, arm]))
            arrivals.past[(done + 1 + delay) % len(arrivals.past), lane] += reward
        else:
            total += reward
    if arrivals.kind > SINGLY:
        share = arriving(arrivals, lane, done + 1, total) / max(number, 1)
        for pick in range(number):
            credit(rules, counts, holds, scratch.playing[lane, pick], 1.0, share)


def loop(version: str) -> Any:
    """The loop over rounds and lanes, compiled."""

    def play(rules, counts, holds, arrivals, draws, scratch, before, rng):  # type: ignore[no-untyped-def]
        version  # noqa: B018
        size, arms, holding = len(counts.pulls), rules.arms, len(holds.left) > 0
        width = arms if holding else size  # of what is scored together
        for place in range(len(draws.growth)):
            done = before + place
            if len(draws.available):
                for arm in range(size):
                    scratch.can[arm] = draws.available[place, arm]
                if counts.by_set.size:
                    add_optima(rules, counts, scratch)
            for block in range(size // width):
                low, high = block * width, (block + 1) * width
                anew = not (holding and goes_on(rules, holds, scratch, block))
                if anew:
                    score_arms(rules, counts, scratch, low, high, draws.growth[place], rng)
                    claim(rules, counts, scratch, low, high, done)
                if anew and rules.ties == RANDOM:
                    for arm in range(low, high):
                        scratch.drawn[arm] = rng.random()
                for lane in range(low // arms, high // arms):
                    if anew:
                        choose(rules, counts, scratch, lane)
                    if rules.owed == RECURSIVE or (holding and anew):
                        mark(rules, scratch, lane)
                    if holding and anew:
                        begin(rules, holds, scratch, lane)
                    if holding:
                        holds.left[lane] -= 1.0
                    if rules.owed == RECURSIVE:
                        queue(rules, counts, scratch, lane)
                    earn(rules, counts, holds, arrivals, draws, scratch, place, done, lane)
            if arrivals.kind == SINGLY:
                deliver(rules, counts, holds, arrivals, done)
        for own in range(len(counts.worst)):
            behind = counts.promised[own] * (before + len(draws.growth)) - counts.pulls[own]
            counts.worst[own] = max(counts.worst[own], behind)

    try:
        return njit(play, cache=True, **OPTIONS)
    except RuntimeError:  # no folder to keep it in can be written
        return njit(play, **OPTIONS)


#: Plays some rounds in the lanes of a strand, whose generator is ``rng``, after so many before.
play = loop(digest_of(frozenset({Root(__name__, "loop")})))
