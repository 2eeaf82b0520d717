"""How long a choice lasts: holds, see `evenhand.policy.hold`, and planned runs, see `evenhand.policy.schedule`."""

from __future__ import annotations

import numpy as np

from evenhand.simulation.compiled.generator import called, compiled, step, uniform


@compiled
def goes_on(rules, world, holds, scratch, lane):  # type: ignore[no-untyped-def]
    """Whether a lane plays on: the hold has rounds left, and everybody in it can play, and no one else could."""
    if not (holds.coins or holds.left[lane] > 0.0):
        return False
    if not world.sleeping:
        return True
    playing, awake = 0, 0
    for arm in range(rules.arms):
        awake += int(scratch.score[arm, lane] > -np.inf)
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm >= 0:
            playing += 1
            if scratch.score[arm, lane] < 0.0:
                return False
    return playing > 0 and playing >= min(rules.plays, awake)


@compiled
def begin(rules, holds, scratch, lane):  # type: ignore[no-untyped-def]
    """A new hold in a lane; where everybody sleeps none begins."""
    begun = scratch.playing[0, lane] >= 0
    if begun and not holds.by_arm:
        for arm in range(rules.arms):
            holds.times[arm, lane] += 1.0
    least = np.inf
    for pick in range(rules.plays):
        arm = scratch.playing[pick, lane]
        if arm >= 0:
            if holds.by_arm:
                holds.times[arm, lane] += 1.0
            least = min(least, holds.times[arm, lane])
    if begun:
        holds.left[lane] = holds.sizes[int(least)]
    holds.counted[lane] = np.ceil(holds.left[lane] / 2.0)


@compiled
def end_holds(rules, world, holds, phase, first, scratch, own):  # type: ignore[no-untyped-def]
    """The lanes whose holds are over; where a phase begins, all are, and what ends later is already known."""
    marked = False
    high, low, chance = own[0], own[1], 1.0 / (2.0 * phase.delay) if holds.coins else 0.0
    if first and phase.restarts and not holds.coins:
        holds.times[:, :] = 0.0
    for lane in range(scratch.scale.size):
        ends = first and phase.restarts
        if holds.coins and not ends:
            high, low = step(high, low, own[2], own[3])
            marked, quiet = uniform(high, low) < chance, holds.left[lane]
            ends = marked and quiet >= 2.0 * phase.delay - 1.0
            holds.left[lane] = 0.0 if marked else quiet + 1.0
        scratch.anew[lane] = ends or not goes_on(rules, world, holds, scratch, lane)
    own[0], own[1] = high, low


@called
def advance(rules, counts, plans, lane):  # type: ignore[no-untyped-def]
    """The next run of a lane: the next arm still in, the bridge after the last, the next phase after the bridge."""
    arm, phase, bridge = plans.arm[lane], plans.phase[lane], plans.bridge[lane]
    if arm >= 0 and not bridge:
        plans.sums[arm, lane] += counts.rewards[arm, lane] - plans.before[lane]
    following, best, most, left = -1, -1, -np.inf, 0
    length = plans.lengths[phase]
    for other in range(rules.arms):
        if plans.alive[other, lane]:
            if following < 0 and (bridge or other > arm):
                following = other
            mean = plans.sums[other, lane] / length
            if mean > most:
                best, most = other, mean
    if bridge:
        phase += 1
    run = plans.lengths[phase] - plans.lengths[phase - 1]
    plans.phase[lane], plans.bridge[lane] = phase, following < 0
    if following < 0:
        for other in range(rules.arms):
            stays = plans.sums[other, lane] / length >= most - 2.0**-phase
            plans.alive[other, lane] = plans.alive[other, lane] and stays
            left += int(plans.alive[other, lane])
        run = run if left > 1 else np.inf
        following = best
    plans.arm[lane], plans.left[lane], plans.before[lane] = following, run, counts.rewards[following, lane]


@called
def go_by_plan(rules, counts, plans, scratch):  # type: ignore[no-untyped-def]
    """The arms that play in all lanes, by their phases."""
    for lane in range(scratch.scale.size):
        if plans.left[lane] <= 0.0:
            advance(rules, counts, plans, lane)
        plans.left[lane] -= 1.0
        scratch.playing[0, lane] = plans.arm[lane]
