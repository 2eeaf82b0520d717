"""Runs of bandits that somebody watches: many at once, with the sums that sequences are computed from at every look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array
from evenhand.inference import Scores, Sums

LEVELS: dict[str, tuple[str, ...]] = {
    "policy": ("Thompson with floors", "greedy with floors", "softmax", "UCB1"),
    "arms": ("3", "10"),
    "means": ("equal", "close", "far"),
    "feedback": ("immediate", "late", "lost", "drifting"),
    "rewards": ("binary", "low variance", "scaled"),
}
FLOORS = {"Thompson with floors": 0.3, "greedy with floors": 0.1}  # of all arms together
LATEST = 100  # rounds after which the last of the late rewards comes


@dataclass(frozen=True)
class Cell:
    """One combination of the design."""

    policy: str
    arms: str
    means: str
    feedback: str
    rewards: str

    def __str__(self) -> str:
        return f"{self.policy}; {self.arms} arms, {self.means}; {self.feedback}; {self.rewards}"

    @property
    def chances_known(self) -> bool:
        """Whether every arm has a chance above 0 in every round."""
        return self.policy != "UCB1"

    def at(self, time: int, rounds: int) -> Array:
        """(arms,), the mean rewards in a round."""
        count = int(self.arms)
        spread = {"equal": 0.0, "close": 0.03, "far": 0.5}[self.means]
        base = 0.12 if self.rewards == "scaled" else 0.1
        scale = 0.6 if self.rewards == "scaled" else 1.0  # its means are at most 0.6
        means = base + scale * spread * np.arange(count) / (count - 1)
        if self.feedback != "drifting":
            return means
        waves = 0.03 * np.sin(2.0 * np.pi * (time / rounds * 3.0 + np.arange(count) / count))
        return means + scale * (0.3 * (time > rounds // 3) + waves * (self.means != "equal"))


def design(cells: int = 40, seed: int = 0) -> list[Cell]:
    """Combinations that contain every pair of levels, and as many triples as can be."""
    rng = np.random.default_rng(seed)
    sizes = [len(values) for values in LEVELS.values()]
    everything = np.array(list(np.ndindex(*sizes)))
    triples = [(a, b, c) for a in range(5) for b in range(a) for c in range(b)]
    keys = [np.ravel_multi_index(everything[:, three].T, [sizes[one] for one in three]) for three in triples]
    seen = [np.zeros(int(key.max()) + 1, dtype=bool) for key in keys]
    chosen: list[int] = []
    for _ in range(cells):
        new = np.sum([~known[key] for known, key in zip(seen, keys, strict=True)], axis=0)
        best = int(np.argmax(new + rng.random(len(everything))))
        chosen.append(best)
        for known, key in zip(seen, keys, strict=True):
            known[key[best]] = True
    names = list(LEVELS.values())
    return [Cell(*(names[place][level] for place, level in enumerate(everything[one]))) for one in sorted(chosen)]


@dataclass
class Run:
    """Sums of many runs, each (runs, arms), and the rows, each (rounds, runs)."""

    shape: tuple[int, int]
    rounds: int
    time: int = 0
    known: dict[str, Array] = field(default_factory=dict)
    plays: Array = field(init=False)
    expected: Array = field(init=False)  # Σ of the means of the plays
    all_plays: Array = field(init=False)  # Σ 1/p over all plays
    all_squared: Array = field(init=False)
    least: Array = field(init=False)
    means: Array = field(init=False)  # (arms,), Σ over rounds
    chances: Array = field(init=False)  # (rounds, runs), of the played arm
    played: NDArray[np.intp] = field(init=False)
    rewards: Array = field(init=False)
    arrival: Array = field(init=False)
    first: Array = field(init=False)  # chances of the first arm
    centres: Array = field(init=False)

    def __post_init__(self) -> None:
        names = ("count", "total", "spread", "plays", "rewards", "plays_squared", "rewards_squared", "squares")
        self.known = {name: np.zeros(self.shape) for name in names}
        self.plays, self.expected, self.all_plays, self.all_squared = (np.zeros(self.shape) for _ in range(4))
        self.least, self.means = np.ones(self.shape), np.zeros(self.shape[1])
        rows = (self.rounds, self.shape[0])
        self.chances, self.rewards, self.centres, self.arrival, self.first = (np.zeros(rows) for _ in range(5))
        self.played = np.zeros(rows, dtype=np.intp)

    def sums(self, spread: bool = True) -> Sums:
        """Of the known rewards."""
        return Sums(self.known["count"], self.known["total"], self.known["spread"] if spread else None)

    def scores(self, arm: int) -> Scores:
        """Of one arm, each (runs,)."""
        names = ("plays", "rewards", "plays_squared", "rewards_squared", "squares")
        known = [self.known[name][:, arm] for name in names]
        rest = self.all_plays[:, arm] - known[0], self.all_squared[:, arm] - known[2]
        return Scores(known[0], known[1], known[2], known[3], known[4], *rest, self.least[:, arm])


def looks(rounds: int, step: float = 1.06) -> set[int]:
    """Every round at first, and then every so many percent."""
    found, at = set(range(1, min(17, rounds))), 16.0
    while at < rounds:
        found.add(int(at))
        at *= step
    return found | {rounds}


def watch(cell: Cell, runs: int, rounds: int, seed: int = 0, step: float = 1.06) -> Iterator[Run]:
    """The runs at every look."""
    rng = np.random.default_rng(seed)
    run, when, lanes = Run((runs, int(cell.arms)), rounds), looks(rounds, step), np.arange(runs)
    for time in range(rounds):
        means = cell.at(time, rounds)
        chances = chances_of(cell.policy, run, rng)
        arm = np.minimum((chances.cumsum(axis=1) < rng.random((runs, 1))).sum(axis=1), int(cell.arms) - 1)
        reward = drawn(cell.rewards, means[arm], rng)
        count, total = run.known["count"][lanes, arm], run.known["total"][lanes, arm]
        run.played[time], run.rewards[time], run.chances[time] = arm, reward, chances[lanes, arm]
        run.centres[time] = (total + 0.5) / (count + 1.0)
        run.first[time] = chances[:, 0]
        run.arrival[time] = time + delays(cell.feedback, reward, rng)
        run.plays[lanes, arm] += 1.0
        run.expected[lanes, arm] += means[arm]
        run.all_plays[lanes, arm] += 1.0 / run.chances[time]
        run.all_squared[lanes, arm] += run.chances[time] ** -2
        run.least, run.means, run.time = np.minimum(run.least, chances), run.means + means, time + 1
        arrive(run, time - LATEST if cell.feedback == "late" else time)
        if run.time in when:
            yield run


def arrive(run: Run, oldest: int) -> None:
    """Add the rewards that arrive now."""
    first, now = max(oldest, 0), run.time - 1
    row, lane = np.nonzero(run.arrival[first : now + 1] == now)
    row = row + first
    arm, reward, inverse = run.played[row, lane], run.rewards[row, lane], 1.0 / run.chances[row, lane]
    squared = inverse**2
    values = {
        "count": np.ones(len(row)),
        "total": reward,
        "spread": (reward - run.centres[row, lane]) ** 2,
        "plays": inverse,
        "rewards": reward * inverse,
        "plays_squared": squared,
        "rewards_squared": reward * squared,
        "squares": reward**2 * squared,
    }
    flat, size = lane * run.shape[1] + arm, run.shape[0] * run.shape[1]
    for name, value in values.items():
        run.known[name] += np.bincount(flat, weights=value, minlength=size).reshape(run.shape)


def chances_of(policy: str, run: Run, rng: np.random.Generator) -> Array:
    """(runs, arms), the chance of every arm, given what was drawn for the choice."""
    count, arms = run.known["count"], run.shape[1]
    means = (run.known["total"] + 0.5) / (count + 1.0)
    if policy == "softmax":
        weights = np.exp(10.0 * (means - means.max(axis=1, keepdims=True)))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    if policy == "UCB1":
        score = means + np.sqrt(np.log(run.time + 1.0) / (run.plays + 1e-9))
    else:
        score = means + rng.standard_normal(run.shape) * (0.5 / np.sqrt(count + 1.0) if policy[0] == "T" else 1e-6)
    floor = FLOORS.get(policy, 0.0)
    best = np.zeros(run.shape)
    best[np.arange(run.shape[0]), score.argmax(axis=1)] = 1.0
    return floor / arms + (1.0 - floor) * best


def drawn(rewards: str, means: Array, rng: np.random.Generator) -> Array:
    """Rewards on the scale [0, 1]; scaled are euros from -5 to 45: nothing, or between 5 and 45 where somebody buys."""
    chance = rng.random(means.shape)
    if rewards == "binary":
        return (chance < means).astype(float)
    if rewards == "low variance":
        return np.clip(means + 0.1 * (chance - 0.5), 0.0, 1.0)
    return np.where(chance < 2.0 * (means - 0.1), 0.2 + 0.8 * rng.random(means.shape), 0.1)


def delays(feedback: str, reward: Array, rng: np.random.Generator) -> Array:
    """Rounds until a reward is known, infinite where it is lost; both depend on the reward."""
    chance = rng.random(reward.shape)
    if feedback == "late":
        return np.floor(chance * np.where(reward > 0.25, LATEST / 5, LATEST))
    if feedback == "lost":
        return np.where(chance < np.where(reward > 0.25, 0.05, 0.2), np.inf, 0.0)
    return np.zeros(reward.shape)
