"""How fast could it be? The same simulations as single compiled loops, each written for one policy and nothing else.

Every loop does what `run_block` does for that policy: it draws who is available, chooses, draws
rewards, updates the tallies, and keeps the plays, the rewards, the largest violation so far and (where arms sleep) the
prophet's reward at every checkpoint. With ``everyone`` it draws the rewards of all arms, as Evenhand's environments do
so that every policy faces the same world; without, only those of the arms that play, the least that will do. TSCSF-B
draws from the posteriors of the available arms only, as its paper has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
Array = NDArray[np.float64]
Rounds = NDArray[np.int64]
Kept = tuple[
    NDArray[np.int32], Array, Array, Array
]  # plays (checkpoints, lanes, arms), then three (checkpoints, lanes)

GRID = 2.0**30  # as in `evenhand.policy.claim.owed`
compiled = cast("Callable[[F], F]", numba.njit(error_model="numpy"))


@compiled
def room(checkpoints: int, lanes: int, arms: int) -> Kept:
    """Where plays, rewards, the largest violation and the prophet's reward are kept."""
    shape = (checkpoints, lanes)
    return np.zeros((checkpoints, lanes, arms), np.int32), np.zeros(shape), np.zeros(shape), np.zeros(shape)


@compiled
def largest(values: Array) -> int:
    """The first arm with the largest value."""
    best, top = 0, values[0]
    for arm in range(1, len(values)):
        if values[arm] > top:
            best, top = arm, values[arm]
    return best


@compiled
def fill_bounds(bounds: Array, pulls: Array, sums: Array, growth: float) -> None:
    """The upper confidence bounds of one lane."""
    for arm in range(len(bounds)):
        unknown = pulls[arm] == 0.0
        bounds[arm] = np.inf if unknown else sums[arm] / pulls[arm] + math.sqrt(growth / pulls[arm])


@compiled
def fill_rewards(rewards: Array, means: Array, everyone: bool, rng: np.random.Generator) -> None:
    """The rewards of all arms in one round of one lane, if they are wanted."""
    if everyone:
        for arm in range(len(rewards)):
            rewards[arm] = rng.random() < means[arm]


@compiled
def earned(arm: int, rewards: Array, means: Array, everyone: bool, rng: np.random.Generator) -> float:
    """What a play earns."""
    if everyone:
        return float(rewards[arm])
    return 1.0 if rng.random() < means[arm] else 0.0


@compiled
def ucb1(
    rounds: Rounds, lanes: int, everyone: bool, rng: np.random.Generator, means: Array, exploration: float
) -> Kept:
    """UCB1, one play per round."""
    arms = len(means)
    kept, total, violation, optimum = room(len(rounds), lanes, arms)
    pulls, sums, bounds, rewards = np.zeros((lanes, arms)), np.zeros((lanes, arms)), np.zeros(arms), np.zeros(arms)
    start = 0
    for place in range(len(rounds)):
        for t in range(start + 1, rounds[place] + 1):
            growth = exploration * math.log(t)
            for lane in range(lanes):
                fill_rewards(rewards, means, everyone, rng)
                fill_bounds(bounds, pulls[lane], sums[lane], growth)
                arm = largest(bounds)
                pulls[lane, arm] += 1.0
                sums[lane, arm] += earned(arm, rewards, means, everyone, rng)
        start = rounds[place]
        kept[place] = pulls.astype(np.int32)
        total[place] = sums.sum(axis=1)
    return kept, total, violation, optimum


@compiled
def fucb(
    rounds: Rounds,
    lanes: int,
    everyone: bool,
    rng: np.random.Generator,
    means: Array,
    exploration: float,
    fractions: Array,
) -> Kept:
    """FUCB without tolerance, one play per round."""
    arms = len(means)
    kept, total, violation, optimum = room(len(rounds), lanes, arms)
    pulls, sums, bounds, rewards = np.zeros((lanes, arms)), np.zeros((lanes, arms)), np.zeros(arms), np.zeros(arms)
    worst, due = np.full((lanes, arms), -np.inf), np.zeros(arms)
    start = 0
    for place in range(len(rounds)):
        for t in range(start + 1, rounds[place] + 1):
            growth = exploration * math.log(t)
            for lane in range(lanes):
                fill_rewards(rewards, means, everyone, rng)
                chosen, owed = -1, 0.0
                for arm in range(arms):
                    deficit = due[arm] - pulls[lane, arm]
                    if deficit > owed:
                        chosen, owed = arm, deficit
                if chosen < 0:
                    fill_bounds(bounds, pulls[lane], sums[lane], growth)
                    chosen = largest(bounds)
                pulls[lane, chosen] += 1.0
                sums[lane, chosen] += earned(chosen, rewards, means, everyone, rng)
                for arm in range(arms):
                    worst[lane, arm] = max(worst[lane, arm], fractions[arm] * t - pulls[lane, arm])
            due = np.rint(fractions * t * GRID) / GRID
        start = rounds[place]
        kept[place] = pulls.astype(np.int32)
        for lane in range(lanes):
            total[place, lane], violation[place, lane] = sums[lane].sum(), worst[lane].max()
    return kept, total, violation, optimum


@compiled
def thompson(rounds: Rounds, lanes: int, everyone: bool, rng: np.random.Generator, means: Array) -> Kept:
    """Thompson sampling, one play per round."""
    arms = len(means)
    kept, total, violation, optimum = room(len(rounds), lanes, arms)
    pulls, sums, draws, rewards = np.zeros((lanes, arms)), np.zeros((lanes, arms)), np.zeros(arms), np.zeros(arms)
    start = 0
    for place in range(len(rounds)):
        for _ in range(start, rounds[place]):
            for lane in range(lanes):
                fill_rewards(rewards, means, everyone, rng)
                for arm in range(arms):
                    won = sums[lane, arm]
                    draws[arm] = rng.beta(1.0 + won, 1.0 + pulls[lane, arm] - won)
                arm = largest(draws)
                pulls[lane, arm] += 1.0
                sums[lane, arm] += earned(arm, rewards, means, everyone, rng)
        start = rounds[place]
        kept[place] = pulls.astype(np.int32)
        total[place] = sums.sum(axis=1)
    return kept, total, violation, optimum


@compiled
def tscsf_b(
    rounds: Rounds,
    lanes: int,
    everyone: bool,
    rng: np.random.Generator,
    means: Array,
    awake: Array,
    given: Array,
    fractions: Array,
    eta: float,
    plays: int,
) -> Kept:
    """TSCSF-B with the exact queue; arms sleep independently, ``awake`` being their chances to be available.

    ``given`` holds the prophet's reward for every set Z of available arms, by its code ``Σ_{i∈Z} 2^i``.
    """
    arms = len(means)
    kept, total, violation, optimum = room(len(rounds), lanes, arms)
    pulls, sums, claims, rewards = np.zeros((lanes, arms)), np.zeros((lanes, arms)), np.zeros(arms), np.zeros(arms)
    worst, due, prophet = np.full((lanes, arms), -np.inf), np.zeros(arms), np.zeros(lanes)
    start = 0
    for place in range(len(rounds)):
        for t in range(start + 1, rounds[place] + 1):
            for lane in range(lanes):
                fill_rewards(rewards, means, everyone, rng)
                code, available = 0, 0
                for arm in range(arms):
                    claims[arm] = -np.inf
                    if rng.random() < awake[arm]:
                        code |= 1 << arm
                        available += 1
                        won, played = sums[lane, arm], pulls[lane, arm]
                        claims[arm] = max(due[arm] - played, 0.0) + eta * rng.beta(1.0 + won, 1.0 + played - won)
                prophet[lane] += given[code]
                for _ in range(min(plays, available)):
                    arm = largest(claims)
                    claims[arm] = -np.inf
                    pulls[lane, arm] += 1.0
                    sums[lane, arm] += earned(arm, rewards, means, everyone, rng)
                for arm in range(arms):
                    worst[lane, arm] = max(worst[lane, arm], fractions[arm] * t - pulls[lane, arm])
            due = np.rint(fractions * t * GRID) / GRID
        start = rounds[place]
        kept[place] = pulls.astype(np.int32)
        optimum[place] = prophet
        for lane in range(lanes):
            total[place, lane], violation[place, lane] = sums[lane].sum(), worst[lane].max()
    return kept, total, violation, optimum
