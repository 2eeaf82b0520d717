"""How fast could anonymous sums be? ARS-UCB under random delays as one compiled loop, in the manner of `limit.py`.

It does what `run_block` does for that policy: it chooses where a hold has ended, draws rewards and
delays, keeps rewards back until they are due, credits what arrives to the arm that plays, and keeps the plays, the
rewards, the regret and whether the lane is stuck at every checkpoint. With ``everyone`` it draws a reward and the
chance of a delay for all arms, as Evenhand does; without, only for the arm that plays. One lane after the other: what a
lane remembers then stays in the cache.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenhand.simulation.measures import LATE
from limit import Array, Rounds, compiled, earned, fill_rewards, largest, room

# plays (checkpoints, lanes, arms), then (checkpoints, lanes): rewards, regret, whether stuck, what has arrived
Kept = tuple[NDArray[np.int32], Array, Array, Array, Array]


@compiled
def choice(pulls: Array, sums: Array, growth: float) -> int:
    """The arm with the largest clipped upper confidence bound, of equal ones the least played."""
    best, top = 0, -1.0
    for arm in range(len(pulls)):
        bound = 1.0
        if pulls[arm] > 0.0:
            bound = min(sums[arm] / pulls[arm] + math.sqrt(growth / pulls[arm]), 1.0)
        if bound > top or (bound == top and pulls[arm] < pulls[best]):
            best, top = arm, bound
    return best


@compiled
def late_best(kept: NDArray[np.int32], rounds: Rounds, place: int) -> int:
    """The arm that one lane played most since the last checkpoint up to 9/10 of the rounds so far."""
    late, past = kept[place].astype(np.float64), place
    while past >= 0 and rounds[past] > LATE * rounds[place]:
        past -= 1
    if past >= 0:
        late -= kept[past]
    return largest(late)


@compiled
def ars_ucb(
    rounds: Rounds,
    lanes: int,
    everyone: bool,
    rng: np.random.Generator,
    means: Array,
    exploration: float,
    low: int,
    high: int,
) -> Kept:
    """ARS-UCB whose k-th hold of an arm lasts k² rounds; a reward arrives after ``low … high`` rounds, all alike."""
    arms, best, slots, delays = len(means), means.max(), high + 1, high - low + 1
    kept, total, regret, stuck = room(len(rounds), lanes, arms)
    arrived = np.zeros_like(total)
    pulls, sums, holds = np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64)
    rewards, chances, coming = np.zeros(arms), np.zeros(arms), np.zeros(slots)
    for lane in range(lanes):
        pulls[:], sums[:], holds[:], coming[:] = 0.0, 0.0, 0, 0.0
        arm, left, income, start = 0, 0, 0.0, 0
        for place in range(len(rounds)):
            for t in range(start, rounds[place]):
                if left == 0:
                    arm = choice(pulls, sums, exploration * math.log(max(t, 1)))
                    holds[arm] += 1
                    left = holds[arm] ** 2
                left -= 1
                pulls[arm] += 1.0
                fill_rewards(rewards, means, everyone, rng)
                if everyone:
                    for other in range(arms):
                        chances[other] = rng.random()
                gained = earned(arm, rewards, means, everyone, rng)
                income += gained
                chance = chances[arm] if everyone else rng.random()
                coming[(t + low + int(chance * delays)) % slots] += gained
                sums[arm] += coming[t % slots]
                coming[t % slots] = 0.0
            start = rounds[place]
            kept[place, lane] = pulls.astype(np.int32)
            total[place, lane], arrived[place, lane] = income, sums.sum()
            regret[place, lane] = best * rounds[place] - (pulls * means).sum()
            stuck[place, lane] = means[late_best(kept[:, lane], rounds, place)] < best
    return kept, total, regret, stuck, arrived
