"""Rounds in which every lane plays on with its choice, many at a time, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.parts import rules_of
from evenhand.core.state import State
from evenhand.environment.world import World
from evenhand.policy.composition import Policy
from evenhand.policy.hold import Held
from evenhand.policy.rules import HoldRules
from evenhand.simulation.measures import by_sums
from evenhand.simulation.metrics import MetricRecorder

FEWEST = 4  # rounds that are worth playing at a time


def play_on(policy: Policy, world: World, recorder: MetricRecorder, state: State, stop: int) -> bool:
    """Play the rounds up to the next in which a lane chooses anew, with the results of playing them one by one."""
    hold: Held = state.hold
    rounds = min(int(hold.left.min()), stop - state.round, world.drawn_ahead)
    if rounds < FEWEST:
        return False
    earned, rewards = world.hold(hold.arms, rounds)
    left = hold.left - np.arange(1.0, rounds + 1.0)[:, np.newaxis, np.newaxis]  # (rounds, lanes, 1)
    hold.left -= rounds
    counted: Any = float(rounds)
    if policy.hold.traits.halved:
        credited = left < hold.counted
        rewards, counted = rewards * credited, credited.sum(axis=0)
    tally = state.tally
    tally.pulls += rounds * hold.arms
    tally.received += counted * hold.arms
    tally.rewards[:] = _added(tally.rewards, rewards)
    recorder.run.earned[:] = _added(recorder.run.earned, earned)
    state.round += rounds
    recorder.run.jump(state.round, tally.pulls)
    return True


def applies(policy: Policy, world: World, recorder: MetricRecorder) -> bool:
    """Whether rounds in which nobody chooses can be played many at a time: nothing else goes by single rounds."""
    rules: HoldRules | None = rules_of(policy.hold)
    known = rules is not None and rules.size is not None and rules.phases is None  # how long every choice lasts
    recording = {slot for slot, _ in (*policy.rounds.after_decision, *policy.rounds.after_feedback)}
    own = type(policy) is not Policy or policy.named or not policy.schedule.traits.idle or recording != {"hold"}
    summed = all(by_sums(metric) for metric, _ in recorder.metrics)
    return known and not own and summed and world.can_hold(policy.plays)


def _added(sums: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """The sums with the values of some rounds added one after another, as rounding depends on the order."""
    if more.dtype == bool:
        return np.asarray(sums + more.sum(axis=0))
    return np.asarray(np.add.reduce(np.concatenate([sums[np.newaxis], more]), axis=0))
