"""The loop of the code published with Chen et al. 2024, restated plainly: what it costs to do what that code does.

One lane. Every arm has a list of the rewards that are outstanding and one of the rounds that they are due in, and both
are looked through in every round. SciPy draws the posteriors, arm by arm, and its SLSQP looks for the optimistic share
from a random start in the box. Rounding pairs two fractional arms at random. As in that code every arm is pulled once
before round 1, and the radii are the narrower, anytime ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray

from evenhand.policy.confidence import optimistic_means
from evenhand.policy.merit import Power

Array = NDArray[np.float64]
DELTA = 0.01
SETTLED = 1e-9  # nearer to 0 or 1 than this, a share is no longer a fraction


@dataclass
class Arm:
    """What is known of an arm, and what is not known yet."""

    pulls: int = 0
    received: int = 0
    total: float = 0.0
    outstanding: list[float] = field(default_factory=list)  # rewards
    due: list[int] = field(default_factory=list)  # the round at the end of which each is known

    def pull(self, reward: float, due: int) -> None:
        """A reward that will be known later."""
        self.pulls += 1
        self.outstanding.append(reward)
        self.due.append(due)

    def hear(self, now: int) -> None:
        """Take in what is known at the start of a round."""
        rewards, rounds = [], []
        for reward, due in zip(self.outstanding, self.due, strict=True):
            if due < now:
                self.received += 1
                self.total += reward
            else:
                rewards.append(reward)
                rounds.append(due)
        self.outstanding, self.due = rewards, rounds


Guess = Callable[[list[Arm], int, np.random.Generator], Sequence[float]]  # what the arms are score in a round
Solver = Callable[[Power, Array, Array, np.random.Generator], Array]  # the optimistic means in a box


@dataclass(frozen=True)
class History:
    """One run."""

    plays: list[int]  # of each arm, without the pulls before round 1
    reward: float
    reward_regret: float
    fairness_regret: float


def simulate(
    guess: Guess, means: Sequence[float], success: float, merit: Power, plays: int, rounds: int, seed: int
) -> History:
    """One lane, rewards of 0 or 1, geometric delays."""
    rng, dice = np.random.default_rng(seed), random.Random(seed)
    deserved = shares(merit, means, plays)
    arms = [Arm() for _ in means]
    for arm, mean in zip(arms, means, strict=True):
        arm.pull(float(rng.random() < mean), int(rng.geometric(success)))
    reward = reward_regret = fairness_regret = 0.0
    for now in range(1, rounds + 1):
        for arm in arms:
            arm.hear(now)
        chances = shares(merit, guess(arms, now, rng), plays)
        gaps = [best - chance for best, chance in zip(deserved, chances, strict=True)]
        reward_regret += max(sum(gap * mean for gap, mean in zip(gaps, means, strict=True)), 0.0)
        fairness_regret += sum(abs(gap) for gap in gaps)
        for i in paired(chances, dice):
            gained = float(rng.random() < means[i])
            arms[i].pull(gained, now + int(rng.geometric(success)))
            reward += gained
    return History([arm.pulls - 1 for arm in arms], reward, reward_regret, fairness_regret)


def shares(merit: Power, score: Sequence[float], plays: int) -> list[float]:
    """``m f(x_i) / Σ f(x_j)``."""
    merits = [1.0 + merit.beta * x**merit.exponent for x in score]
    whole = sum(merits)
    return [plays * one / whole for one in merits]


def paired(chances: Sequence[float], dice: random.Random) -> list[int]:
    """Dependent rounding as in the textbooks: two fractional arms, picked at random, until none is left."""
    value = list(chances)
    open_ = [i for i, x in enumerate(value) if SETTLED < x < 1.0 - SETTLED]
    while len(open_) > 1:
        i, j = (open_.pop(dice.randrange(len(open_))) for _ in range(2))
        up, down = min(1.0 - value[i], value[j]), min(value[i], 1.0 - value[j])
        change = up if dice.random() * (up + down) < down else -down
        value[i] += change
        value[j] -= change
        open_ += [k for k in (i, j) if SETTLED < value[k] < 1.0 - SETTLED]
    return [i for i, x in enumerate(value) if x > 0.5]


def sampled(arms: list[Arm], now: int, rng: np.random.Generator) -> list[float]:
    """FCTS-D: a draw from every posterior."""
    return [_draw(arm.total, arm.received - arm.total, rng) for arm in arms]


def sampled_both_ways(arms: list[Arm], now: int, rng: np.random.Generator) -> list[float]:
    """OP-FCTS-D: the mean of a draw in which what is missing counts 1 and one in which it counts 0."""
    guesses = []
    for arm in arms:
        lost, missing = arm.received - arm.total, arm.pulls - arm.received
        guesses.append((_draw(arm.total + missing, lost, rng) + _draw(arm.total, lost + missing, rng)) / 2.0)
    return guesses


def _draw(won: float, lost: float, rng: np.random.Generator) -> float:
    return float(scipy.stats.beta.rvs(1.0 + won, 1.0 + lost, random_state=rng))


def in_box(merit: Power, solver: Solver) -> Guess:
    """FCUCB-D: the best point of the confidence box."""

    def interval(arm: Arm, growth: float) -> tuple[float, float]:
        counted = max(arm.received, 1)
        mean, width = arm.total / counted, math.sqrt(growth / counted)
        return max(mean - width, 0.0), min(mean + width, 1.0)

    return _best(merit, solver, 4.0, interval)


def in_wide_box(merit: Power, solver: Solver) -> Guess:
    """OP-FCUCB-D: the best point of the box that allows for any missing rewards."""

    def interval(arm: Arm, growth: float) -> tuple[float, float]:
        width, most = math.sqrt(growth / arm.pulls), arm.total + arm.pulls - arm.received
        return max(arm.total / arm.pulls - width, 0.0), min(most / arm.pulls + width, 1.0)

    return _best(merit, solver, 6.0, interval)


def _best(merit: Power, solver: Solver, factor: float, interval: Callable[[Arm, float], tuple[float, float]]) -> Guess:
    def guess(arms: list[Arm], now: int, rng: np.random.Generator) -> list[float]:
        growth = math.log(factor * len(arms) * now / DELTA) / 2.0
        low, high = zip(*(interval(arm, growth) for arm in arms), strict=True)
        found: list[float] = solver(merit, np.array(low), np.array(high), rng).tolist()
        return found

    return guess


def slsqp(merit: Power, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """What SciPy's solver finds from a random start."""

    def loss(x: Array) -> float:
        merits = merit(x)
        return -float((merits * x).sum() / merits.sum())

    bounds = scipy.optimize.Bounds(low, high)
    found: Any = scipy.optimize.minimize(loss, rng.uniform(low, high), method="SLSQP", bounds=bounds)
    return np.asarray(np.clip(found.x, low, high))


def exact(merit: Power, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """What Evenhand finds; nothing is left to chance."""
    return optimistic_means(merit, low, high)
