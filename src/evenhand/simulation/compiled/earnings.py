"""Who can play, what the arms that play earn, and what becomes known of it."""

from __future__ import annotations

import numpy as np

from evenhand.environment import recursions
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.arrivals import around, arriving, credit, send
from evenhand.simulation.compiled.choice import FEW
from evenhand.simulation.compiled.generator import U, bits, called, compiled, leap, step, uniform
from evenhand.simulation.compiled.scores import learn, learn_ahead, learn_draw, learn_from, learn_played

evenly = compiled(recursions.evenly)


@compiled
def wake(rules, world, counts, draws, scratch, place, high, low, more, less):  # type: ignore[no-untyped-def]
    """Who can play: a score of −∞ for the others. The optima of those who can are counted."""
    drawn = world.awake.size > 0
    for lane in range(scratch.score.shape[1]):
        code = 0
        for arm in range(rules.arms):
            if drawn:
                high, low = step(high, low, more, less)
                can = (bits(high, low) >> U(11)) < world.awake[arm, lane]
            else:
                can = draws.available[place, lane, arm]
            scratch.score[arm, lane] = 0.0 if can else -np.inf
            code |= int(can) << arm
        if world.by_set.size:
            counts.optima[0, lane] += world.by_set[0, code]
            counts.optima[1, lane] += world.by_set[1, code]
    return high, low


@called
def look_back(rules, world, counts, draws, scratch, place):  # type: ignore[no-untyped-def]
    """Count what every arm that can play would earn."""
    for lane in range(scratch.scale.size):
        for arm in range(rules.arms):
            if not world.sleeping or scratch.score[arm, lane] > -np.inf:
                counts.potential[arm, lane] += draws.rewards[place, lane, arm]


@compiled
def take(rules, world, counts, draws, place, done, arm, lane, high, low):  # type: ignore[no-untyped-def]
    """An arm plays and earns; what it earns, and its plays and rewards so far."""
    pulls = counts.pulls[arm, lane]
    if counts.worst.size and done:  # an arm is furthest behind in the round before it plays
        counts.worst[arm, lane] = max(counts.worst[arm, lane], world.promised[arm, lane] * done - pulls)
    if world.limits.size:
        ahead, behind = leap(high, low, world.steps, arm)
        reward = 1.0 if (bits(ahead, behind) >> U(11)) < world.limits[arm, lane] else 0.0
    else:
        reward = draws.rewards[place, lane, arm]
    earned = counts.earned[arm, lane] + reward
    counts.pulls[arm, lane], counts.earned[arm, lane] = pulls + 1.0, earned
    return reward, pulls + 1.0, earned


@compiled
def earn_at_once(rules, world, counts, draws, scratch, place, done, lane, high, low):  # type: ignore[no-untyped-def]
    """The chosen arms of a lane play and earn what is known at once; bounds of many lanes are learned together."""
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm < 0:
            break
        reward, plays, total = take(rules, world, counts, draws, place, done, arm, lane, high, low)
        if rules.score == codes.BETA:
            learn_draw(rules, counts, arm, lane, reward, total, plays)
        elif rules.score == codes.BOUND and counts.pulls.shape[1] >= FEW:
            scratch.total[pick, lane], scratch.number[pick, lane] = total, plays
        elif rules.score == codes.BOUND:
            learn_ahead(counts.known, arm, lane, total, plays)
        else:
            learn_from(rules, counts, arm, lane, total, plays)


@compiled
def earn(rules, world, counts, holds, memory, arrivals, draws, scratch, at, high, low, late, late_low):  # type: ignore[no-untyped-def]
    """The chosen arms of a lane play and earn, and what becomes known of it is counted."""
    place, done, slot, lane = at
    total, number, streak, lanes = 0.0, 0, 0.0, counts.pulls.shape[1]
    if arrivals.kind == codes.HELD_BACK:
        streak, arrivals.streak[lane] = arrivals.streak[lane], 0.0
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm < 0:
            break
        reward, _, _ = take(rules, world, counts, draws, place, done, arm, lane, high, low)
        number += 1
        if arrivals.kind == codes.AT_ONCE:
            if not counts.at_once:
                seen = (reward - world.low) / world.width if world.scaled else reward
                scratch.arrived[pick, lane] = credit(rules, counts, holds, memory, arm, lane, seen)
        elif arrivals.kind == codes.SINGLY:
            send(arrivals, done + draws.late[place, lane, arm], arm * lanes + lane, reward > 0.0)
        elif arrivals.kind == codes.RANDOM_DELAY:
            ahead, behind = leap(late, late_low, world.late_steps, arm)
            delay = int(evenly(arrivals.first, arrivals.last, uniform(ahead, behind)))
            arrivals.past[around(slot + delay, len(arrivals.past)), lane] += reward
        elif arrivals.kind == codes.HELD_BACK:
            delay = 1
            if arm == arrivals.best[lane]:
                arrivals.streak[lane] = streak + 1.0
                delay = arrivals.last if streak + 1.0 >= 3 * arrivals.last else 1
            arrivals.past[around(slot + delay, len(arrivals.past)), lane] += reward
        else:
            total += reward
    if arrivals.kind > codes.SINGLY:
        share = arriving(arrivals, lane, done + 1, slot, total)
        share = share / number if number > 1 else share
        for pick in range(number):
            credit(rules, counts, holds, memory, scratch.playing[pick, lane], lane, share)
    if not len(holds.left):
        learn_played(rules, counts, scratch, lane)


@called
def try_rewards(rules, counts, scratch, own):  # type: ignore[no-untyped-def]
    """Trials of the rewards, in the order of the arms; see `evenhand.policy.index.BetaSample`."""
    high, low = own[0], own[1]
    for lane in range(scratch.scale.size):
        for arm in range(rules.arms):
            for pick in range(rules.plays):
                if scratch.playing[pick, lane] == arm:
                    reward = min(max(scratch.arrived[pick, lane], 0.0), 1.0)
                    whole = np.floor(reward)
                    if reward > whole:
                        high, low = step(high, low, own[2], own[3])
                        whole += 1.0 if uniform(high, low) < reward - whole else 0.0
                    counts.successes[arm, lane] += whole
                    learn(rules, counts, arm, lane)
    own[0], own[1] = high, low
