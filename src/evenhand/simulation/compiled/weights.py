"""Arms by exponential weights, see `evenhand.policy.weights`."""

from __future__ import annotations

import numpy as np

from evenhand.core import exponential
from evenhand.core.validate import TINY
from evenhand.policy import fairness, weights
from evenhand.simulation.compiled.generator import compiled, step, uniform

exp = compiled(exponential.formula(*exponential.TABLES, int, max))
grown, mixed = compiled(weights.grown), compiled(fairness.mixed)


@compiled
def settle_weight(memory, phase, done, lane):  # type: ignore[no-untyped-def]
    """What the last choice of a lane earned goes into the weight of its arm; see `evenhand.policy.weights`."""
    arm, credit = memory.arm[lane], min(memory.earned[lane], memory.rounds[lane])
    if phase.window:
        credit = 0.0
        for ago in range(phase.window, 0, -1):
            if done >= ago:
                credit += memory.recent[(done - ago) % len(memory.recent), lane]
        credit = credit / (2.0 * phase.window) - phase.less
    if arm >= 0:
        memory.logs[arm, lane] = grown(memory.logs[arm, lane], phase.rate, credit, memory.propensity[lane])


@compiled
def mix(rules, memory, phase, scratch, lane):  # type: ignore[no-untyped-def]
    """The chance of every arm of a lane that can play, even where all are 0, and their sum."""
    chance, top, total, whole = scratch.priority, -np.inf, 0.0, 0.0
    for arm in range(rules.arms):
        top = max(top, memory.logs[arm, lane] / phase.scale)
    for arm in range(rules.arms):
        below = memory.logs[arm, lane] / phase.scale - top
        chance[arm, lane] = exp(below)
        total += chance[arm, lane]
    for arm in range(rules.arms):
        share = chance[arm, lane] / total if total > 0.0 else 1.0 / rules.arms
        asleep = scratch.score[arm, lane] == -np.inf
        chance[arm, lane] = 0.0 if asleep else mixed(share, phase.mixing, rules.arms)
        whole += chance[arm, lane]
    if not whole > 0.0:
        for arm in range(rules.arms):
            chance[arm, lane] = 0.0 if scratch.score[arm, lane] == -np.inf else 1.0
            whole += chance[arm, lane]
    return whole


@compiled
def draw_by_weights(rules, memory, phase, first, scratch, done, own):  # type: ignore[no-untyped-def]
    """The arms that play in the lanes whose holds are over, by their weights."""
    chance, forgets = scratch.priority, first and phase.forgets
    high, low = own[0], own[1]
    for lane in range(scratch.scale.size):
        memory.heard[lane] = 0.0
        if scratch.anew[lane] and not forgets:
            settle_weight(memory, phase, done, lane)
        if forgets and (scratch.anew[lane] or not phase.window):
            memory.logs[:, lane] = 0.0
        if not scratch.anew[lane]:
            continue
        total = mix(rules, memory, phase, scratch, lane)
        high, low = step(high, low, own[2], own[3])
        draw, place, ahead = uniform(high, low) * total, 0, 0.0
        for arm in range(rules.arms):
            ahead += chance[arm, lane]
            if ahead > draw:
                place = arm
                break
        arm = -1 if scratch.score[place, lane] == -np.inf else place
        scratch.playing[0, lane], memory.arm[lane] = arm, arm
        memory.propensity[lane] = 1.0 if arm < 0 else chance[arm, lane] / max(total, TINY)
        memory.earned[lane], memory.rounds[lane] = 0.0, 0.0
    own[0], own[1] = high, low


@compiled
def hear(memory, phase, done):  # type: ignore[no-untyped-def]
    """Remember the rewards of a round."""
    for lane in range(memory.heard.size):
        memory.earned[lane] += memory.heard[lane]
        memory.rounds[lane] += 1.0
        if phase.window:
            memory.recent[done % len(memory.recent), lane] = memory.heard[lane]
