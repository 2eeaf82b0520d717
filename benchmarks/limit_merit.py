"""How fast could shares by merit be? FCTS-D under geometric delays as one compiled loop, in the manner of `limit.py`.

It does what `run_block` does for that policy: it draws the posterior of every arm, shares the plays
by merit, rounds, draws rewards and delays, keeps rewards back until they are due, and keeps the plays, the rewards and
both regrets at every checkpoint. With ``everyone`` it draws a reward and the chance of a delay for all arms and rounds
in a new order every time, as Evenhand does; without, it draws only for the arms that play and rounds in their order.
One lane after the other: what a lane remembers then stays in the cache.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from limit import Array, Kept, Rounds, compiled, earned, fill_rewards, room


@compiled
def shuffle(order: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Any order of the arms alike."""
    for place in range(len(order) - 1, 0, -1):
        other = int(rng.random() * (place + 1))
        order[place], order[other] = order[other], order[place]


@compiled
def settle(chance: Array, order: NDArray[np.int64], played: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Dependent rounding: an arm that is not settled meets the next one in the order."""
    carried, left = order[0], chance[order[0]]
    for arm in order[1:]:
        both = left + chance[arm]
        over = both > 1.0
        stays = rng.random() * (2.0 - both) < 1.0 - left if over else rng.random() * both < left
        if stays:
            played[arm] = over
        else:
            played[carried], carried = over, arm
        left = both - 1.0 if over else both
    played[carried] = left > 0.5


@compiled
def fcts_d(
    rounds: Rounds,
    lanes: int,
    everyone: bool,
    rng: np.random.Generator,
    means: Array,
    success: float,
    beta: float,
    plays: int,
    deserved: Array,
) -> Kept:
    """FCTS-D with the merit ``f(x) = 1 + β x⁴``; ``deserved`` are the shares of the fair policy that knows the means.

    The three figures kept beside the plays are the rewards, the reward regret and the fairness regret.
    """
    arms, horizon, rate = len(means), rounds[-1], 1.0 / math.log1p(-success)
    kept, total, short, unfair = room(len(rounds), lanes, arms)
    shape = (horizon, arms)
    coming, winning = np.zeros(shape, np.int32), np.zeros(shape, np.int32)  # rewards by the round that they are due in
    pulls, received, won = np.zeros(arms, np.int32), np.zeros(arms), np.zeros(arms)
    rewards, chances, shares, played = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms, np.bool_)
    order = np.arange(arms)
    for lane in range(lanes):
        pulls[:], received[:], won[:] = 0, 0.0, 0.0
        income, reward_regret, fairness_regret, start = 0.0, 0.0, 0.0, 0
        for place in range(len(rounds)):
            for t in range(start, rounds[place]):
                whole = 0.0
                for arm in range(arms):
                    square = rng.beta(1.0 + won[arm], 1.0 + received[arm] - won[arm]) ** 2
                    shares[arm] = 1.0 + beta * square * square
                    whole += shares[arm]
                worse, apart = 0.0, 0.0
                for arm in range(arms):
                    shares[arm] *= plays / whole
                    gap = deserved[arm] - shares[arm]
                    worse += gap * means[arm]
                    apart += abs(gap)
                reward_regret += max(worse, 0.0)
                fairness_regret += apart
                if everyone:
                    shuffle(order, rng)
                settle(shares, order, played, rng)
                fill_rewards(rewards, means, everyone, rng)
                if everyone:
                    for arm in range(arms):
                        chances[arm] = rng.random()
                for arm in range(arms):
                    if played[arm]:
                        pulls[arm] += 1
                        gained = earned(arm, rewards, means, everyone, rng)
                        income += gained
                        chance = chances[arm] if everyone else rng.random()
                        due = t + max(math.ceil(math.log1p(-chance) * rate), 1)
                        if due < horizon:
                            coming[due, arm] += 1
                            winning[due, arm] += int(gained)
                for arm in range(arms):
                    received[arm] += coming[t, arm]
                    won[arm] += winning[t, arm]
                    coming[t, arm], winning[t, arm] = 0, 0
            start = rounds[place]
            kept[place, lane] = pulls
            total[place, lane], short[place, lane], unfair[place, lane] = income, reward_regret, fairness_regret
    return kept, total, short, unfair
