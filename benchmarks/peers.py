"""What a lane and step costs in other packages, in microseconds of processor time, side by side in one run.

UCB1 and Thompson sampling on ten Bernoulli arms. Evenhand by NumPy and compiled, with all its measures; a loop that was
written and compiled for the policy alone (`limit.py`); pymab, which simulates in Rust and records every step; and
SMPyBandits, river and MABWiser, which have one lane, on rewards drawn beforehand and free of charge. Nothing is timed
unless the mean reward of each is Evenhand's, as far as chance allows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import typer
from rich.console import Console

import online
import speed
from common import Repeats, apart, medians, stop_if
from evenhand.simulation.simulate import checkpoint_rounds
from report import SIMULATION, Aim, AsJson, Table, Write, aims_table, publish

SIZES = {1: 20_000, 100: 5_000, 1000: 2_000, 10_000: 500}  # lanes: rounds
ONE_LANE = 2_000  # rounds of the packages without lanes
CHECKED, CHECK_LANES = 500, {"pymab": 1000, "SMPyBandits": 100, "river": 60, "MABWiser": 30}  # rounds, and lanes
CASES = {"ucb1": online.CASES[0], "thompson": online.CASES[1]}
PACKAGES = ("evenhand", "numpy", "numba", "pymab", "SMPyBandits", "river", "mabwiser")


def pymab(name: str, lanes: int, rounds: int) -> np.ndarray:
    """Rewards of each lane by pymab's Rust core, (lanes,)."""
    module, policies = import_module("pymab"), import_module("pymab.policies")
    kind = {"ucb1": "UCBPolicy", "thompson": "BernoulliThompsonSamplingPolicy"}[name]
    experiment = module.Experiment(
        environment=module.BanditEnvironment(speed.MEANS, module.BernoulliReward()),
        policies={name: getattr(policies, kind)(n_arms=len(speed.MEANS))},
        config=module.ExperimentConfig(horizon=rounds, n_replicates=lanes, seed=1, backend="rust"),
    )
    earned: np.ndarray = np.asarray(experiment.run().rewards).reshape(lanes, rounds).sum(axis=-1)
    return earned


def stepwise(package: str, name: str, lanes: int, rounds: int) -> np.ndarray:
    """Rewards of each lane by a package that has one, (lanes,)."""
    earned = np.zeros(lanes)
    for lane in range(lanes):
        world = online.World(speed.MEANS, seed=lane)
        step = {"river": online.river, "MABWiser": online.mabwiser}[package](CASES[name], world, lane)
        earned[lane] = sum(world.means[step()] for _ in range(rounds))
    return earned


def smpybandits(policy: Any, lanes: int, rounds: int) -> np.ndarray:
    """Expected rewards of each lane by SMPyBandits, (lanes,)."""
    earned = np.zeros(lanes)
    for lane in range(lanes):
        drawn = np.random.default_rng(lane).random((rounds, len(speed.MEANS))) < speed.MEANS
        policy.startGame()
        with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 before the first play, as the package means it
            for rewards in drawn.astype(float).tolist():
                arm = policy.choice()
                policy.getReward(arm, rewards[arm])
                earned[lane] += speed.MEANS[arm]
    return earned


def disagreements(case: speed.Case, rival: Any) -> list[str]:
    """Packages whose mean reward is not Evenhand's."""
    ours = case.run(1000, checkpoint_rounds(CHECKED, 1), 1)
    expected, rewards = ours.pulls[-1] @ speed.MEANS, ours.curves["reward"][-1]
    theirs = {
        "pymab": pymab(case.name, CHECK_LANES["pymab"], CHECKED),
        "SMPyBandits": smpybandits(rival, CHECK_LANES["SMPyBandits"], CHECKED),
        "river": stepwise("river", case.name, CHECK_LANES["river"], CHECKED),
        "MABWiser": stepwise("MABWiser", case.name, CHECK_LANES["MABWiser"], CHECKED),
    }
    compared = {name: rewards if name == "pymab" else expected for name in theirs}
    return [f"{case.name}, {line}" for line in apart(compared, theirs)]


def measure(case: speed.Case, rival: Any, repeats: int) -> dict[int, dict[str, float]]:
    """Microseconds per lane and step, by lanes and contender."""
    alone: dict[str, Callable[[], object]] = {
        "SMPyBandits": partial(smpybandits, rival, 1, ONE_LANE),
        "river": partial(stepwise, "river", case.name, 1, ONE_LANE),
        "MABWiser": partial(stepwise, "MABWiser", case.name, 1, ONE_LANE),
    }
    single = {name: seconds / ONE_LANE * 1e6 for name, seconds in medians(alone, repeats).items()}
    found = {}
    for lanes, horizon in SIZES.items():
        rounds = checkpoint_rounds(horizon)
        contenders: dict[str, Callable[[], object]] = {
            "NumPy": partial(case.run, lanes, rounds, 0),
            "compiled": partial(case.run, lanes, rounds, 0, "compiled"),
            "loop": partial(case.run_loop, lanes, rounds, 0, everyone=True),
            "pymab": partial(pymab, case.name, lanes, horizon),
        }
        taken = medians(contenders, repeats)
        found[lanes] = {name: seconds / lanes / horizon * 1e6 for name, seconds in taken.items()} | single
    return found


def main(repeats: Repeats = 3, as_json: AsJson = False, write: Write = False) -> None:
    """Measure what a lane and step of a simulation costs in Evenhand and in other packages."""
    os.environ["OMP_NUM_THREADS"] = "1"
    notes = Console(stderr=True)
    cases = {case.name: case for case in speed.cases(speed.MEANS, speed.SLEEPING_MEANS) if case.name in CASES}
    rivals = {
        name: kind(len(speed.MEANS)) for name, kind in zip(("ucb1", "thompson"), speed.peers().values(), strict=True)
    }
    with notes.status("comparing what the packages earn"):
        stop_if([line for name, case in cases.items() for line in disagreements(case, rivals[name])], notes)
    for case in cases.values():  # compiles what is to be compiled
        case.run(1, checkpoint_rounds(10), 0, "compiled")
        case.run_loop(1, checkpoint_rounds(10), 0, everyone=True)
    found = {}
    for name, case in cases.items():
        with notes.status(f"timing {name}"):
            found[name] = measure(case, rivals[name], repeats)
    columns = ("policy", "lanes", "NumPy", "compiled", "loop", "pymab", "SMPyBandits", "river", "MABWiser")
    rows = [
        (f"`{name}`", f"{lanes:,}", *(f"{row[column]:.3g}" for column in columns[2:]))
        for name, sizes in found.items()
        for lanes, row in sizes.items()
    ]
    aims = []
    for name, sizes in found.items():
        for lanes, row in sizes.items():
            ratio = min(row[peer] for peer in CHECK_LANES) / row["compiled"]
            text = f"`{name}`, {lanes:,} {'lane' if lanes == 1 else 'lanes'}: no package is faster"
            aims.append(Aim(text, ratio, ratio >= 1.0))
    publish(
        [Table("peers", "microseconds per lane and step, one core", columns, rows), aims_table("peers-aims", aims)],
        {"rows": found, "aims": [vars(aim) for aim in aims]},
        packages=PACKAGES,
        method=f"medians of {repeats} turns",
        code=SIMULATION,
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
