"""What anonymous sums cost, in microseconds of processor time, side by side in one run (Wang et al. 2021).

Evenhand's whole loop (`run_block`) for four policies under random delays, by NumPy of before the engine, by NumPy and
compiled, ARS-UCB also against a loop written for it alone (`limit_anonymous.py`); and ARS-UCB under spreads of 10 steps
and of 10,000, with what the spread alone costs. The contenders take turns, and medians are shown. Nothing is timed
unless the compiled loop computes what Evenhand computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer
from rich.console import Console

import limit
import limit_anonymous
from common import ENGINELESS, Before, Repeats, Runner, Simulation, apart, medians, numpy_of, stop_if
from evenhand import Environment, Policy
from evenhand.algorithms import ars_exp3, ars_ucb, clw, odaaf
from evenhand.environment.rewards import Bernoulli
from evenhand.feedback import AnonymousFeedback, Bounded, Decreasing, Increasing, Kernel, RandomDelay
from evenhand.simulation.simulate import checkpoint_rounds
from evenhand.theory.baseline import baseline_of
from report import SIMULATION, Aim, AsJson, Table, Write, aims_table, names_of, publish

MEANS = np.round(np.arange(0.9, 0.05, -0.1), 1)  # Wang et al. 2021, section 4.1
DELAYS = (10, 30)
EXPLORATION = 4.0
JUDGED = ("reward", "composite_regret", "stuck")
SIZES = {1: 50_000, 100: 5000, 1000: 5000}  # lanes: rounds
CHECK_LANES, CHECK_ROUNDS, CHECK_SEED = 1000, 1000, 1
SHORT, LONG = 10, 10_000  # steps of a spread
LONG_ROUNDS = 2 * LONG  # so that a spread is at its full length for half of the time
LONG_SIZES = {100: 2, 1000: 1}  # lanes: turns at most
SPREADS: dict[str, Callable[[int], AnonymousFeedback]] = {
    "RandomDelay": lambda d: RandomDelay(1, d),
    "Bounded": lambda d: Bounded(1, d + 1),
    "Decreasing": Decreasing,
    "Increasing": Increasing,
    "Kernel": lambda d: Kernel(np.arange(d, 0, -1) * 2.0 / (d * (d + 1))),
}
SENT = 50  # different steps that are sent through a spread alone, over and over again
PACKAGES = ("evenhand", "numpy", "scipy", "numba")
BEFORE = """
import anonymous
of = {rounds: anonymous.cases(rounds) for rounds in anonymous.SIZES.values()}
cases = {f"{case.policy.name}/{rounds}": case for rounds in of for case in of[rounds]}
"""
FASTER_AIMS = {1: 300.0, 100: 20.0, 1000: 8.0}  # by lanes, NumPy's time before for ARS-UCB in times of the engine's
LONG_AIM = 2.0  # the time of a long spread in times of that of a short one


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time per lane and step."""

    policy: str
    lanes: int
    rounds: int
    before: float  # by NumPy of an earlier commit
    evenhand: float  # by NumPy
    compiled: float
    loop: float | None = None  # draws the rewards and delays of all arms, as Evenhand does
    lean_loop: float | None = None  # draws those of the played arm only


@dataclass(frozen=True)
class LongRow:
    """The same for short and long spreads: the whole loop, and the way from plays to sums alone."""

    spread: str
    lanes: int
    rounds: int
    short: float
    long: float
    short_alone: float
    long_alone: float


def case_of(policy: Policy, means: limit.Array, spread: AnonymousFeedback) -> Simulation:
    """A policy among arms with the given means."""
    environment = Environment(Bernoulli(means), feedback=spread)
    return Simulation(policy, environment, baseline_of(policy, environment))


def cases(rounds: int) -> list[Simulation]:
    """The four policies, each with what it has to know."""
    low, high = DELAYS
    policies = (
        ars_ucb(exploration=EXPLORATION),
        ars_exp3(horizon=rounds),
        odaaf(horizon=rounds, mean_delay=(low + high) / 2.0),
        clw(horizon=rounds, delay=high),
    )
    return [case_of(policy, MEANS, RandomDelay(low, high)) for policy in policies]


def run_loop(
    means: limit.Array, delays: tuple[int, int], lanes: int, rounds: limit.Rounds, everyone: bool
) -> limit_anonymous.Kept:
    """The simulation of ARS-UCB by the compiled loop."""
    rng = np.random.default_rng(CHECK_SEED + 1)
    return limit_anonymous.ars_ucb(rounds, lanes, everyone, rng, means, EXPLORATION, *delays)


def all_disagreements() -> list[str]:
    """What the compiled loop computes differently, in the timed world and in two that leave less to chance.

    Where rewards and delays are certain, each figure must be the same in every lane; where only rewards are, what has
    arrived distinguishes the delays.
    """
    some, all_of_them = (np.arange(len(MEANS)) % 3 == 1).astype(float), np.ones(len(MEANS))
    worlds = ((MEANS, DELAYS), (all_of_them, DELAYS), (some, (DELAYS[0], DELAYS[0])))
    return [line for means, delays in worlds for line in disagreements(means, delays)]


def disagreements(means: limit.Array, delays: tuple[int, int]) -> Iterator[str]:
    """Figures of the compiled loop whose mean over the lanes is not Evenhand's, as far as chance allows."""
    rounds = checkpoint_rounds(CHECK_ROUNDS, 20)
    case = case_of(ars_ucb(exploration=EXPLORATION), means, RandomDelay(*delays))
    record = case.run(CHECK_LANES, rounds, CHECK_SEED)
    pulls = record.pulls[-1]
    arrived = np.where(pulls > 0, record.estimate * pulls, 0.0).sum(axis=-1)
    ours = figures(record.pulls, record.curves) | {"arrived": arrived}
    for everyone in (True, False):
        pulls, *curves, heard = run_loop(means, delays, CHECK_LANES, rounds, everyone)
        theirs = figures(pulls, dict(zip(JUDGED, curves, strict=True))) | {"arrived": heard[-1]}
        kind = "loop" if everyone else "lean loop"
        yield from (f"ars_ucb, {kind}, best mean {means.max():g}, {line}" for line in apart(ours, theirs))


def figures(pulls: Any, curves: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared at the end and half-way, (lanes,) each."""
    found = {f"plays of arm {arm + 1}": pulls[-1, :, arm] for arm in range(pulls.shape[-1])}
    for name in JUDGED:
        found |= {name: curves[name][-1], f"{name} half-way": curves[name][len(curves[name]) // 2]}
    return found


def measure(case: Simulation, lanes: int, repeats: int, before: Runner) -> Row:
    """One row of the first table."""
    horizon = SIZES[lanes]
    rounds = checkpoint_rounds(horizon)
    contenders: dict[str, Callable[[], object]] = {
        "before": lambda: before(f"{case.policy.name}/{horizon}", lanes, horizon),
        "evenhand": lambda: case.run(lanes, rounds, 0),
        "compiled": lambda: case.run(lanes, rounds, 0, "compiled"),
    }
    case.run(1, rounds[:1], 0, "compiled")
    if case.policy.name == "ars_ucb":
        contenders["loop"] = lambda: run_loop(MEANS, DELAYS, lanes, rounds, everyone=True)
        contenders["lean_loop"] = lambda: run_loop(MEANS, DELAYS, lanes, rounds, everyone=False)
    found = {name: taken / (lanes * horizon) * 1e6 for name, taken in medians(contenders, repeats).items()}
    return Row(case.policy.name, lanes, horizon, **found)


def measure_long(name: str, lanes: int, repeats: int) -> LongRow:
    """One row of the second table."""
    rounds, contenders = checkpoint_rounds(LONG_ROUNDS), dict[str, Callable[[], object]]()
    for kind, steps in {"short": SHORT, "long": LONG}.items():
        spread = SPREADS[name](steps)
        case = case_of(ars_ucb(exploration=EXPLORATION), MEANS, spread)
        contenders[kind] = lambda case=case: case.run(lanes, rounds, 0)  # type: ignore[misc]
        contenders[f"{kind}_alone"] = lambda spread=spread: send_through(spread, lanes)  # type: ignore[misc]
    times = medians(contenders, min(repeats, LONG_SIZES[lanes]))
    return LongRow(name, lanes, LONG_ROUNDS, **{kind: t / (lanes * LONG_ROUNDS) * 1e6 for kind, t in times.items()})


def send_through(spread: AnonymousFeedback, lanes: int) -> None:
    """A spread without a policy: in every step and lane some arm plays."""
    rng, shape = np.random.default_rng(0), (lanes, len(MEANS))
    played = rng.integers(len(MEANS), size=(SENT, lanes, 1)) == np.arange(len(MEANS))
    earned = played & (rng.random((SENT, *shape)) < MEANS)
    chances = rng.random((SENT, *shape)) if spread.traits.random else [None] * SENT
    channel = spread.open(shape, LONG_ROUNDS)
    for sent in itertools.islice(itertools.cycle(zip(played, earned, chances, strict=True)), LONG_ROUNDS):
        channel.send(*sent)


def table_of(rows: list[Row]) -> Table:
    """Microseconds, and how many times faster than by NumPy before."""
    cells = []
    for row in rows:
        loops = ["", ""] if row.loop is None else [f"{row.loop:.3f}", f"{row.lean_loop:.3f}"]
        ours = (f"{row.before:.3f}", f"{row.evenhand:.3f}", f"{row.compiled:.3f}", f"{row.before / row.compiled:.1f}")
        cells.append((f"`{row.policy}`", f"{row.lanes:,}", *ours, *loops))
    columns = ("policy", "lanes", "NumPy before", "NumPy", "compiled", "faster", "loop", "lean loop")
    return Table("anonymous", "microseconds per lane and step, delays of 10 to 30 steps", columns, cells)


def long_table(rows: list[LongRow]) -> Table:
    """Short and long spreads."""
    cells = []
    for row in rows:
        whole = (f"{row.short:.3f}", f"{row.long:.3f}", f"{row.long / row.short:.2f}")
        alone = (f"{row.short_alone:.3f}", f"{row.long_alone:.3f}", f"{row.long_alone / row.short_alone:.2f}")
        cells.append((f"`{row.spread}`", f"{row.lanes:,}", *whole, *alone))
    steps = (f"d = {LONG:,}", "ratio")
    columns = ("spread", "lanes", f"d = {SHORT}", *steps, f"alone, d = {SHORT}", *steps)
    return Table("anonymous-spreads", "microseconds per lane and step: ars_ucb; the spread alone", columns, cells)


def aims(rows: list[Row], long_rows: list[LongRow]) -> list[Aim]:
    """What was aimed at, and whether it was reached."""
    results = []
    for row in rows:
        if row.loop is None:
            continue
        least, ratio = FASTER_AIMS[row.lanes], row.before / row.compiled
        lanes = f"{row.lanes:,} {'lane' if row.lanes == 1 else 'lanes'}"
        text = f"`ars_ucb`, {lanes}: compiled {least:g} times faster than NumPy before"
        results.append(Aim(text, ratio, ratio >= least))
        ratio = row.compiled / row.loop
        results.append(Aim(f"`ars_ucb`, {lanes}: compiled no slower than the loop", ratio, ratio <= 1.0))
    for name in SPREADS:
        most = max(row.long / row.short for row in long_rows if row.spread == name)
        text = f"`{name}`, 100 and 1000 lanes: d = {LONG:,} at most {LONG_AIM:g} times d = {SHORT}"
        results.append(Aim(text, most, most <= LONG_AIM))
    return results


def main(repeats: Repeats = 3, beside: Before = ENGINELESS, as_json: AsJson = False, write: Write = False) -> None:
    """Measure what a lane and step of anonymous sums costs, and what long spreads do to it."""
    notes = Console(stderr=True)
    with notes.status("compiling the loop and comparing what both compute"):
        stop_if(all_disagreements(), notes)
    rows, long_rows = [], []
    with numpy_of(beside, BEFORE) as before:
        for place, name in enumerate(case.policy.name for case in cases(CHECK_ROUNDS)):
            for lanes, rounds in SIZES.items():
                with notes.status(f"{name}, {lanes} lanes"):
                    rows.append(measure(cases(rounds)[place], lanes, repeats, before))
    for name in SPREADS:
        for lanes in LONG_SIZES:
            with notes.status(f"{name}, {lanes} lanes"):
                long_rows.append(measure_long(name, lanes, repeats))
    results = aims(rows, long_rows)
    publish(
        [table_of(rows), long_table(long_rows), aims_table("anonymous-aims", results)],
        {
            "rows": [vars(row) for row in rows],
            "spreads": [vars(row) for row in long_rows],
            "aims": [vars(aim) for aim in results],
        },
        packages=PACKAGES,
        method=f"medians of {repeats} turns, of spreads of at most two; before: commit {beside}",
        code=SIMULATION + names_of(ars_exp3, ars_ucb, clw, odaaf),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
