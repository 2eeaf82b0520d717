"""What a decision and its report cost in one's own process, beside MABWiser and river, side by side in one run.

Every contender chooses an arm, receives a reward of 0 or 1 for it, and learns: `Bandit.decide` and `Bandit.observe`;
MABWiser's `predict` and `partial_fit` with one observation; river's `pull` and `update`. Before that each arm has been
played once. The contenders take turns, and medians are shown. Nothing is timed unless all find the best arm alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import typer
from rich.console import Console

from common import Repeats, apart, medians, stop_if
from evenhand.bandit import Bandit
from evenhand.core.state import Array
from report import BANDIT, Aim, AsJson, Table, Write, aims_table, publish

SIZES = (10, 50, 100, 1000, 100_000)  # arms
TURN = 0.3  # seconds that a contender has at least
RUNS, ROUNDS = 40, 500  # of the comparison beforehand
MEANS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # there
RIVALS = ("MABWiser", "river")
PACKAGES = ("evenhand", "numpy", "mabwiser", "river")
Step = Callable[[], int]  # a decision and its report; returns who played


@dataclass(frozen=True)
class Case:
    """A policy of Evenhand, and those that it is compared with."""

    name: str
    algorithm: str
    shares: float = 0.0  # of the rounds that are promised to all arms together
    mabwiser: str = ""
    river: str = ""
    same: bool = True  # whether all do the same; Evenhand has no ε-greedy, and shows what UCB1 takes in its place


CASES = (
    Case("ucb1", "ucb1", mabwiser="UCB1", river="UCB"),
    Case("thompson", "thompson", mabwiser="ThompsonSampling", river="ThompsonSampling"),
    Case("(ε-greedy)", "ucb1", mabwiser="EpsilonGreedy", river="EpsilonGreedy", same=False),
    Case("fucb", "fucb", shares=0.5),
)
GIVEN: dict[str, dict[str, Any]] = {
    "UCB1": {"alpha": 1.0},
    "UCB": {"delta": 1.0},
    "EpsilonGreedy": {"epsilon": 0.1},
}


class World:
    """Rewards of 0 and 1, drawn beforehand; the first of every arm is the same for all."""

    def __init__(self, means: Array, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.means = means.tolist()
        self.first: list[float] = (rng.random(len(means)) < means).astype(float).tolist()
        self._drawn, self._round = rng.random(4096).tolist(), 0

    def reward(self, arm: int) -> float:
        """What the arm earns now."""
        self._round = (self._round + 1) % 4096
        return float(self._drawn[self._round] < self.means[arm])


def evenhand(case: Case, world: World, seed: int) -> Step:
    """Evenhand's bandit; arms have names."""
    arms = len(world.means)
    names = [f"arm {place}" for place in range(arms)]
    places = {name: place for place, name in enumerate(names)}
    promise: dict[str, Any] = {"fractions": [case.shares / arms] * arms} if case.shares else {}
    bandit = Bandit(names, case.algorithm, seed=seed, **promise)
    tally = bandit._record.state.tally  # as after a play of each, which would take a while one by one
    tally.pulls += 1.0
    tally.received += 1.0
    tally.rewards += world.first
    bandit._record.state.round = arms
    if case.algorithm == "thompson":
        bandit._record.state.index.successes += world.first

    def step() -> int:
        choice = bandit.decide()
        arm = places[choice.names[0]]
        bandit.observe(choice.id, {choice.names[0]: world.reward(arm)})
        return arm

    return step


def mabwiser(case: Case, world: World, seed: int) -> Step:
    """MABWiser, as its documentation has it for one observation after the other; arms are numbers."""
    module = import_module("mabwiser.mab")
    policy = getattr(module.LearningPolicy, case.mabwiser)(**GIVEN.get(case.mabwiser, {}))
    arms = list(range(len(world.means)))
    bandit = module.MAB(arms, policy, seed=seed)
    bandit.fit(arms, world.first)

    def step() -> int:
        arm: int = bandit.predict()
        bandit.partial_fit([arm], [world.reward(arm)])
        return arm

    return step


def river(case: Case, world: World, seed: int) -> Step:
    """River; arms are numbers."""
    given = GIVEN.get(case.river, {})
    if case.river == "ThompsonSampling":
        given = {"reward_obj": import_module("river.proba").Beta()}
    policy = getattr(import_module("river.bandit"), case.river)(**given, seed=seed)
    arms = list(range(len(world.means)))
    for arm, reward in enumerate(world.first):
        policy.update(arm, reward)

    def step() -> int:
        arm: int = policy.pull(arms)
        policy.update(arm, world.reward(arm))
        return arm

    return step


def contenders(case: Case, means: Array, seed: int) -> dict[str, Step]:
    """Evenhand and the others that have such a policy, each in a world of its own with the same rewards."""
    found = {"Evenhand": evenhand(case, World(means, seed), seed)}
    if case.mabwiser:
        found["MABWiser"] = mabwiser(case, World(means, seed), seed)
    if case.river:
        found["river"] = river(case, World(means, seed), seed)
    return found


def disagreements() -> Iterator[str]:
    """Rivals that play the best of five arms more or less often than Evenhand does, as far as chance allows."""
    for case in CASES:
        if not case.same:
            continue
        plays: dict[str, list[float]] = {}
        for seed in range(RUNS):
            for name, step in contenders(case, MEANS, seed).items():
                chosen = [step() for _ in range(ROUNDS)]
                plays.setdefault(name, []).append(float(chosen.count(len(MEANS) - 1)))
        ours = {"plays of the best arm": np.array(plays["Evenhand"])}
        for name in plays.keys() & set(RIVALS):
            theirs = {"plays of the best arm": np.array(plays[name])}
            yield from (f"{case.name}, {name}, {line}" for line in apart(ours, theirs))


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time for a decision and its report."""

    policy: str
    arms: int
    evenhand: float
    mabwiser: float | None
    river: float | None


def measure(case: Case, arms: int, repeats: int) -> Row:
    """One row of the table."""
    means = np.linspace(0.2, 0.6, arms)
    found = {name: 1e6 * t for name, t in medians(contenders(case, means, 0), repeats, TURN).items()}
    return Row(case.name, arms, found["Evenhand"], found.get("MABWiser"), found.get("river"))


def table_of(rows: list[Row]) -> Table:
    """Microseconds and ratios."""
    cells = []
    for row in rows:
        times = [f"{row.evenhand:,.1f}"]
        for rival in (row.mabwiser, row.river):
            times += ["", ""] if rival is None else [f"{rival:,.1f}", f"{rival / row.evenhand:.2f}"]
        name = f"`{row.policy}`" if row.policy.isidentifier() else row.policy
        cells.append((name, f"{row.arms:,}", *times))
    columns = ("policy", "arms", "Evenhand", "MABWiser", "times slower", "river", "times slower")
    return Table("online", "microseconds for a decision and its reward, one core", columns, cells)


def aims(rows: list[Row]) -> list[Aim]:
    """What was aimed at, and whether it was reached."""
    results, alike = [], {case.name for case in CASES if case.same}
    ucb1 = {row.arms: row for row in rows if row.policy == "ucb1"}  # of the others, also beside `fucb`, which they lack
    for row in rows:
        beside = ucb1.get(row.arms, row) if row.policy == "fucb" else row
        if row.policy not in alike or beside.river is None or beside.mabwiser is None:
            continue
        where = f"`{row.policy}`, {row.arms:,} arms"
        if row.arms == 10:
            ratio = row.evenhand / beside.river
            results.append(Aim(f"{where}: at most 2 times river", ratio, ratio <= 2.0))
        else:
            faster = min(beside.river, beside.mabwiser) / row.evenhand
            results.append(Aim(f"{where}: faster than both", faster, faster > 1.0))
    return results


def main(repeats: Repeats = 5, as_json: AsJson = False, write: Write = False) -> None:
    """Measure what a decision and its reward cost: Evenhand, MABWiser, river."""
    notes = Console(stderr=True)
    with notes.status("comparing what they play"):
        stop_if(list(disagreements()), notes)
    rows = []
    for case in CASES:
        for arms in SIZES:
            with notes.status(f"{case.name}, {arms:,} arms"):
                rows.append(measure(case, arms, repeats))
    publish(
        [table_of(rows), aims_table("online-aims", aims(rows))],
        {"rows": [vars(row) for row in rows], "aims": [vars(aim) for aim in aims(rows)]},
        packages=PACKAGES,
        method=f"medians of {repeats} turns",
        code=BANDIT,
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
