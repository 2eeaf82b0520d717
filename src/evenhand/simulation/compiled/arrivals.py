"""How rewards arrive late: each by itself, or as anonymous sums by a profile."""

from __future__ import annotations

from evenhand.environment import recursions
from evenhand.environment.profiles import OFTEN
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.generator import compiled
from evenhand.simulation.compiled.scores import learn

running, slid, fading = map(compiled, (recursions.running, recursions.slid, recursions.fading))


@compiled
def around(place, rows):  # type: ignore[no-untyped-def]
    """A place less than once around a ring of rows: a remainder takes longer than all else of a late reward."""
    place = place - rows if place >= rows else place
    return place + rows if place < 0 else place


@compiled
def arriving(arrivals, lane, now, slot, total):  # type: ignore[no-untyped-def]
    """The sum that arrives in a lane in a round, counted from 1, by the profile; ``total`` was earned in it."""
    kind, first, last, past = arrivals.kind, arrivals.first, arrivals.last, arrivals.past
    rows, sums, weighted = len(past), arrivals.total, arrivals.weighted
    if kind >= codes.RANDOM_DELAY:
        arrived = past[slot, lane]
        past[slot, lane] = 0.0
        return arrived
    if kind == codes.DISCOUNTED:
        sums[lane] = fading(sums[lane], arrivals.factor, past[0, lane])
        past[0, lane] = total
        return (1.0 - arrivals.factor) * sums[lane]
    past[slot, lane] = total
    if kind == codes.BOUNDED:
        sums[lane] = running(sums[lane], past[around(slot - first, rows), lane], past[around(slot - last, rows), lane])
        return sums[lane] / (last - first)
    if now % max(last, OFTEN) == 0:
        sums[lane], weighted[lane] = 0.0, 0.0
        for ago in range(1, last + 1):
            part = past[around(slot - ago, rows), lane]
            sums[lane] += part
            weighted[lane] += (ago if kind == codes.INCREASING else last + 1 - ago) * part
    else:
        new, old = past[around(slot - 1, rows), lane], past[around(slot - last - 1, rows), lane]
        sums[lane], weighted[lane] = slid(last, kind == codes.INCREASING, sums[lane], weighted[lane], new, old)
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
def credit(rules, counts, holds, memory, arm, lane, reward):  # type: ignore[no-untyped-def]
    """A reward that arrives for an arm counts, unless its lane is in the half of a hold in which none does."""
    if holds.halved and not holds.left[lane] < holds.counted[lane]:
        return 0.0
    counts.received[arm, lane] += 1.0
    counts.rewards[arm, lane] += reward
    if memory.heard.size:
        memory.heard[lane] += reward
    return reward


@compiled
def deliver(rules, counts, holds, memory, arrivals, row):  # type: ignore[no-untyped-def]
    """What arrives at the end of a round."""
    spot, lanes = arrivals.due[row], counts.pulls.shape[1]
    while spot >= 0:
        place = arrivals.places[spot]
        credit(rules, counts, holds, memory, place // lanes, place % lanes, 1.0 * arrivals.won[spot])
        learn(rules, counts, place // lanes, place % lanes)
        following = arrivals.following[spot]
        arrivals.following[spot] = arrivals.free[0]
        arrivals.free[0] = spot
        arrivals.free[1] += 1
        spot = following
