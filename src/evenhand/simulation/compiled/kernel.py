"""The rounds of a strand as one compiled loop. The formulas are those of the parts, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.source import Root
from evenhand.simulation.compiled import rules as codes
from evenhand.simulation.compiled.arrivals import deliver
from evenhand.simulation.compiled.choice import FEW, by_bounds, choose_all, choose_anew
from evenhand.simulation.compiled.earnings import earn, earn_at_once, look_back, try_rewards, wake
from evenhand.simulation.compiled.generator import called, lasting, leap
from evenhand.simulation.compiled.holds import begin, end_holds, go_by_plan
from evenhand.simulation.compiled.kept import version_of
from evenhand.simulation.compiled.scores import count_queues, learn_all, learn_bounds
from evenhand.simulation.compiled.shares import choose_by_merit, regret
from evenhand.simulation.compiled.weights import draw_by_weights, hear


@called
def keep(rules, world, counts, kept, row, rounds):  # type: ignore[no-untyped-def]
    """What there is at a checkpoint."""
    lanes = counts.pulls.shape[1]
    for arm in range(rules.arms):
        for lane in range(lanes):
            kept.pulls[row, arm, lane] = int(counts.pulls[arm, lane])
        for lane in range(lanes):
            kept.earned[row, arm, lane] = counts.earned[arm, lane]
        if counts.potential.size:
            for lane in range(lanes):
                kept.potential[row, arm, lane] = counts.potential[arm, lane]
        if counts.worst.size:
            for lane in range(lanes):
                behind = world.promised[arm, lane] * rounds - counts.pulls[arm, lane]
                counts.worst[arm, lane] = max(counts.worst[arm, lane], behind)
            for lane in range(lanes):
                kept.worst[row, 0, lane] = max(kept.worst[row, 0, lane] if arm else -np.inf, counts.worst[arm, lane])
    for one in range(2):
        for lane in range(lanes):
            kept.optima[one, row, lane] = counts.optima[one, lane]
            kept.regrets[one, row, lane] = counts.regrets[one, lane]


def loop(name: str, version: str, whole: bool = False, bounds: bool = False) -> Any:
    """The loop over rounds and lanes, which is kept compiled while no code that it uses has changed.

    It plays some rounds in the lanes of a strand, after so many before, and returns the next checkpoint. Unless it is
    the ``whole`` one, a choice lasts a round and goes by scores, and each reward is known at once; what only the whole
    one reads is None then. With ``bounds`` it plays nothing but what `by_bounds` names, which takes a fifth less time:
    UCB1 19 instead of 24 ns a lane and step with 100 lanes.
    """

    def play(  # type: ignore[no-untyped-def]
        rules, world, counts, holds, memory, phase, plans, arrivals, draws, scratch, kept, streams, marks, row, before
    ):
        version  # noqa: B018
        if not (whole or counts.at_once) or (bounds and not by_bounds(rules, world.sleeping)):
            return row  # so the compiler knows it from here on
        lanes, own = counts.pulls.shape[1], streams[codes.POLICY]
        high, low = streams[codes.REWARDS, 0], streams[codes.REWARDS, 1]
        awake, awake_low = streams[codes.AWAKE, 0], streams[codes.AWAKE, 1]
        more, less = streams[codes.AWAKE, 2], streams[codes.AWAKE, 3]
        holding, late, late_low = whole and len(holds.left) > 0, streams[codes.LATE, 0], streams[codes.LATE, 1]
        if before == 0:
            learn_all(rules, counts)
        for place in range(len(draws.growth)):
            done, growth = before + place, draws.growth[place]
            if world.sleeping:
                awake, awake_low = wake(rules, world, counts, draws, scratch, place, awake, awake_low, more, less)
            if whole and counts.potential.size:
                look_back(rules, world, counts, draws, scratch, place)
            if whole and holding:
                end_holds(rules, world, holds, phase, place == 0, scratch, own)
            if whole and plans.lengths.size:
                go_by_plan(rules, counts, plans, scratch)
            elif whole and rules.owed == codes.MIXED:
                draw_by_weights(rules, memory, phase, place == 0, scratch, done, own)
            elif whole and rules.owed == codes.MERIT:
                choose_by_merit(rules, world, counts, scratch, done, growth, own)
            elif whole and holding:
                choose_anew(rules, world, counts, scratch, done, growth, own)
            else:
                choose_all(rules, world, counts, scratch, done, growth, own)
            if whole and world.deserved.size:
                regret(rules, world, counts, scratch)
            slot = (done + 1) % len(arrivals.past) if whole else 0
            for lane in range(lanes):
                if rules.owed == codes.RECURSIVE:
                    count_queues(rules, counts, scratch, lane)
                if whole:
                    if holding and not holds.coins:
                        if scratch.anew[lane]:
                            begin(rules, holds, scratch, lane)
                        holds.left[lane] -= 1.0
                    at = place, done, slot, lane
                    earn(rules, world, counts, holds, memory, arrivals, draws, scratch, at, high, low, late, late_low)
                else:
                    earn_at_once(rules, world, counts, draws, scratch, place, done, lane, high, low)
                high, low = leap(high, low, world.steps, rules.arms)
                if whole and arrivals.kind == codes.RANDOM_DELAY:
                    late, late_low = leap(late, late_low, world.late_steps, rules.arms)
            if whole:
                if arrivals.kind == codes.SINGLY:
                    deliver(rules, counts, holds, memory, arrivals, done)
                if memory.heard.size:
                    hear(memory, phase, done)
                if counts.trials:
                    try_rewards(rules, counts, scratch, own)
            elif rules.score == codes.BOUND and lanes >= FEW:
                learn_bounds(rules, counts, scratch)
            if row < len(marks) and marks[row] == done + 1:
                keep(rules, world, counts, kept, row, done + 1)
                row += 1
        streams[codes.REWARDS, 0], streams[codes.REWARDS, 1] = high, low
        streams[codes.AWAKE, 0], streams[codes.AWAKE, 1] = awake, awake_low
        streams[codes.LATE, 0], streams[codes.LATE, 1] = late, late_low
        return row

    play.__qualname__ = f"loop.{name}"  # by which what is kept compiled is found
    return lasting(play)


_version = version_of(Root(__name__, "loop"))
play, play_plainly = loop("play", _version, whole=True), loop("play_plainly", _version)
play_by_bounds = loop("play_by_bounds", _version, bounds=True)
