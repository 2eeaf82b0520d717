"""What shares by merit cost, in microseconds of processor time, side by side in one run (Chen et al. 2024).

Evenhand's whole loop (`run_block`) for the paper's four policies, by NumPy of before the engine, by NumPy and compiled,
against FCTS-D as a compiled loop (`limit_merit.py`) and against a plain restatement of the published loop
(`published.py`); the optimistic share alone against SLSQP (`solver.py`); rounding alone (`rounding.py`). The contenders
take turns, and medians are shown. Nothing is timed unless all of them agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer
from rich.console import Console

import limit
import limit_merit
import published
import rounding
import solver
from common import ENGINELESS, Before, Repeats, Runner, Simulation, apart, medians, numpy_of, stop_if
from evenhand import Environment
from evenhand.algorithms import fcts_d, fcucb_d, op_fcts_d, op_fcucb_d
from evenhand.environment.delays import Geometric
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.merit import Power
from evenhand.simulation.simulate import checkpoint_rounds
from evenhand.theory.baseline import baseline_of
from report import SIMULATION, Aim, AsJson, Table, Write, aims_table, names_of, publish

PAPER, STEEP = solver.KINDS  # merit and plays of the experiments, and a merit under which the share must be searched
SIZES = {PAPER: {1: 5000, 100: 10_000, 1000: 5000}, STEEP: {1: 1000, 1000: 1000}}  # lanes: rounds
RESTATED_ROUNDS = 300
CHECK_LANES, CHECK_ROUNDS, CHECK_SEED = 1000, 1000, 1
RESTATED_LANES, RESTATED_CHECK_ROUNDS = 60, 150
RIVALS = {"fcucb_d": "fcts_d", "op_fcucb_d": "op_fcts_d"}  # with a box, and sampling
JUDGED = ("reward", "reward_regret", "fairness_regret")
SUCCESS = 0.05  # of the geometric delay
PACKAGES = ("evenhand", "numpy", "scipy", "numba")
LOOP_AIM = 1.0  # at 1000 lanes, FCTS-D's time in times of the compiled loop's
BEFORE = """
import merit
listed = [case for kind in merit.SIZES for case in merit.cases(*kind)]
cases = {f"{case.policy.name}/{case.merit.beta:g}": case for case in listed}
"""
FASTER_AIMS = {
    1: 50.0,
    100: 4.0,
    1000: 2.0,
}  # by lanes, NumPy's time before for FCTS-D in times of the compiled engine's
PUBLISHED = {"fcts_d": 1200.0, "fcucb_d": 2000.0}  # microseconds per step of the code published with the paper, about
PUBLISHED_AIM = 500.0  # at 1000 lanes, these in times of Evenhand's


@dataclass(frozen=True, eq=False)
class Case(Simulation):
    """A policy in its environment, and the plain loop that does the same."""

    merit: Power
    guess: published.Guess  # as published
    exact: published.Guess  # the same with the exact share in place of SLSQP's

    def run_loop(self, lanes: int, rounds: limit.Rounds, seed: int, everyone: bool) -> limit.Kept:
        """The simulation by the compiled loop, which is FCTS-D."""
        parameters: tuple[Any, ...] = (self.environment.means, SUCCESS, self.merit.beta)
        parameters += (self.policy.plays, self.baseline.deserved)
        return limit_merit.fcts_d(rounds, lanes, everyone, np.random.default_rng(seed), *parameters)

    def run_restated(self, guess: published.Guess, rounds: int, seed: int) -> published.History:
        """One lane by the plain loop."""
        means, plays = self.environment.means.tolist(), self.policy.plays
        return published.simulate(guess, means, SUCCESS, self.merit, plays, rounds, seed)


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time per lane and step."""

    policy: str
    beta: float
    plays: int
    lanes: int
    rounds: int
    before: float  # by NumPy of an earlier commit
    numpy: float
    evenhand: float  # compiled, where the engine can
    restated: float  # one lane, whatever ``lanes`` is
    restated_exact: float  # the same with the exact share in place of SLSQP's, where a share is looked for
    loop: float | None = None  # draws the rewards and delays of all arms, and an order to round in, as Evenhand does
    lean_loop: float | None = None  # draws those of the played arms only, and no order


def cases(merit: Power, plays: int, as_published: bool = False) -> list[Case]:
    """The four policies; ``as_published`` with the radius of the published code and a pull of every arm in advance."""
    environment = Environment(Bernoulli(solver.MEANS), feedback=Geometric(SUCCESS))
    start: dict[str, Any] = {"plays": plays, "free_start": as_published}
    boxed = start | {"horizon": 10_000, "radius": "code" if as_published else "theorem"}
    slsqp, exact = published.slsqp, published.exact
    both_ways = published.sampled_both_ways
    policies = (
        (fcts_d(merit, **start), published.sampled, published.sampled),
        (fcucb_d(merit, **boxed), published.in_box(merit, slsqp), published.in_box(merit, exact)),
        (op_fcucb_d(merit, **boxed), published.in_wide_box(merit, slsqp), published.in_wide_box(merit, exact)),
        (op_fcts_d(merit, **start), both_ways, both_ways),
    )
    return [Case(policy, environment, baseline_of(policy, environment), merit, *plain) for policy, *plain in policies]


def all_disagreements() -> list[str]:
    """What the contenders do differently."""
    loops = [line for kind in SIZES for line in loop_disagreements(cases(*kind)[0])]
    restated = [line for case in cases(*PAPER, as_published=True) for line in restated_disagreements(case)]
    return [*loops, *restated, *solver.disagreements(), *rounding.disagreements()]


def loop_disagreements(case: Case) -> Iterator[str]:
    """Figures of the compiled loop whose mean over the lanes is not Evenhand's, as far as chance allows."""
    rounds = checkpoint_rounds(CHECK_ROUNDS, 20)
    record = case.run(CHECK_LANES, rounds, CHECK_SEED)
    for everyone in (True, False):
        pulls, rewards, short, unfair = case.run_loop(CHECK_LANES, rounds, CHECK_SEED + 1, everyone)
        theirs = figures(pulls, {"reward": rewards, "reward_regret": short, "fairness_regret": unfair})
        kind = "loop" if everyone else "lean loop"
        yield from (
            f"{case.policy.name}, {kind}, {line}" for line in apart(figures(record.pulls, record.curves), theirs)
        )


def restated_disagreements(case: Case) -> Iterator[str]:
    """The same for the plain loop, with the exact share: what SLSQP finds is another matter."""
    record = case.run(CHECK_LANES, checkpoint_rounds(RESTATED_CHECK_ROUNDS, 1), CHECK_SEED)
    runs = [case.run_restated(case.exact, RESTATED_CHECK_ROUNDS, seed) for seed in range(RESTATED_LANES)]
    curves = {name: np.array([[getattr(run, name) for run in runs]]) for name in JUDGED}
    theirs = figures(np.array([[run.plays for run in runs]]), curves)
    yield from (f"{case.policy.name}, restated, {line}" for line in apart(figures(record.pulls, record.curves), theirs))


def figures(pulls: Any, curves: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared at the end and half-way, (lanes,) each."""
    found = {f"plays of arm {arm + 1}": pulls[-1, :, arm] for arm in range(pulls.shape[-1])}
    for name in JUDGED:
        found |= {name: curves[name][-1], f"{name} half-way": curves[name][len(curves[name]) // 2]}
    return found


def measure(case: Case, lanes: int, repeats: int, before: Runner) -> Row:
    """One row of the table."""
    policy, horizon = case.policy, SIZES[case.merit, case.policy.plays][lanes]
    rounds = checkpoint_rounds(horizon)
    contenders: dict[str, Callable[[], object]] = {
        "before": lambda: before(f"{policy.name}/{case.merit.beta:g}", lanes, horizon),
        "numpy": lambda: case.run(lanes, rounds, 0, "numpy"),
        "evenhand": lambda: case.run(lanes, rounds, 0, "compiled"),
        "restated": lambda: case.run_restated(case.guess, RESTATED_ROUNDS, 0),
        "restated_exact": lambda: case.run_restated(case.exact, RESTATED_ROUNDS, 0),
    }
    if policy.name == "fcts_d":
        contenders["loop"] = lambda: case.run_loop(lanes, rounds, 0, everyone=True)
        contenders["lean_loop"] = lambda: case.run_loop(lanes, rounds, 0, everyone=False)
    steps = {"restated": RESTATED_ROUNDS, "restated_exact": RESTATED_ROUNDS}
    found = {name: t / steps.get(name, lanes * horizon) * 1e6 for name, t in medians(contenders, repeats).items()}
    return Row(policy.name, case.merit.beta, policy.plays, lanes, horizon, **found)


def table_of(name: str, rows: list[Row]) -> Table:
    """Microseconds and ratios under one merit."""
    columns = (
        "policy",
        "lanes",
        "NumPy before",
        "NumPy",
        "compiled",
        "faster",
        "loop",
        "ratio",
        "lean loop",
        "ratio",
        "restated",
        "times slower",
        "exact",
    )
    cells = []
    for row in rows:
        loops = ["", "", "", ""]
        if row.loop is not None and row.lean_loop is not None:
            loops = [f"{row.loop:.3f}", f"{row.evenhand / row.loop:.2f}"]
            loops += [f"{row.lean_loop:.3f}", f"{row.evenhand / row.lean_loop:.2f}"]
        slower = (f"{row.restated:.0f}", f"{row.restated / row.evenhand:,.1f}", f"{row.restated_exact:.0f}")
        own = (f"{row.before:.3f}", f"{row.numpy:.3f}", f"{row.evenhand:.3f}", f"{row.before / row.evenhand:.1f}")
        cells.append((f"`{row.policy}`", f"{row.lanes:,}", *own, *loops, *slower))
    title = f"microseconds per lane and step, merit 1 + {rows[0].beta:g} μ⁴, {rows[0].plays} of 7 arms per round"
    return Table(name, title, columns, cells)


def running_times(rows: list[Row]) -> list[dict[str, Any]]:
    """How long the policies with a box take, in times of those that sample; in the paper it is longer (B.1)."""
    by_key = {(row.policy, row.beta, row.lanes): row for row in rows}
    results = []
    for beta, lanes in {(row.beta, row.lanes): None for row in rows}:
        loops = {"evenhand": f"Evenhand, {lanes} lane{'s' if lanes > 1 else ''}"}
        if lanes == 1:
            loops = {"restated": "restated, SLSQP", "restated_exact": "restated, exact share"} | loops
        for field, loop in loops.items():
            times = {name: getattr(by_key[name, beta, lanes], field) for pair in RIVALS.items() for name in pair}
            ratios = {box: times[box] / times[sampled] for box, sampled in RIVALS.items()}
            results.append({"beta": beta, "loop": loop} | ratios)
    return results


def running_times_table(ratios: list[dict[str, Any]]) -> Table:
    """Which takes longer."""
    columns = ("loop", "merit", "FCUCB-D / FCTS-D", "OP-FCUCB-D / OP-FCTS-D")
    title = "running time with intervals as a multiple of that with samples; in the paper above 1"
    cells = [
        (ratio["loop"], f"`1 + {ratio['beta']:g} μ⁴`", f"{ratio['fcucb_d']:.2f}", f"{ratio['op_fcucb_d']:.2f}")
        for ratio in ratios
    ]
    return Table("merit-running-times", title, columns, cells)


def aims(rows: list[Row]) -> list[Aim]:
    """What was aimed at, and whether it was reached."""
    widest = {row.policy: row for row in rows if row.beta == PAPER[0].beta and row.lanes == max(SIZES[PAPER])}
    sampled, boxed = widest["fcts_d"], widest["fcucb_d"]
    assert sampled.loop is not None
    ratio, rival = sampled.evenhand / sampled.loop, boxed.evenhand / sampled.evenhand
    results = [
        Aim("`fcts_d`, 1000 lanes: no slower than the loop", ratio, ratio <= LOOP_AIM),
        Aim("`fcucb_d`, 1000 lanes: no slower than `fcts_d`", rival, rival <= 1.0),
    ]
    for row in rows:
        if (row.policy, row.beta) == ("fcts_d", PAPER[0].beta):
            ratio, aim = row.before / row.evenhand, FASTER_AIMS[row.lanes]
            text = f"`fcts_d`, {row.lanes} lanes: compiled {aim:g} times faster than NumPy before"
            results.append(Aim(text, ratio, ratio >= aim))
    for name, published_time in PUBLISHED.items():
        faster = published_time / widest[name].evenhand
        text = (
            f"`{name}`, 1000 lanes: {PUBLISHED_AIM:g} times faster than the published code ({published_time:,.0f} µs)"
        )
        results.append(Aim(text, faster, faster >= PUBLISHED_AIM))
    return results


def main(repeats: Repeats = 3, beside: Before = ENGINELESS, as_json: AsJson = False, write: Write = False) -> None:
    """Measure what a lane and step of fair shares by merit costs, and its parts alone."""
    notes = Console(stderr=True)
    with notes.status("compiling the loop and comparing what all compute"):
        stop_if(all_disagreements(), notes)
    rows = []
    with numpy_of(beside, BEFORE) as before:
        for kind, sizes in SIZES.items():
            for case in cases(*kind):
                for lanes in sizes:
                    with notes.status(f"{case.policy.name}, β = {case.merit.beta:g}, {lanes} lanes"):
                        rows.append(measure(case, lanes, repeats, before))
    shares, rounded = solver.rows(repeats, notes), rounding.rows(repeats, notes)
    times = running_times(rows)
    publish(
        [
            table_of("merit", [row for row in rows if row.beta == PAPER[0].beta]),
            table_of("merit-steep", [row for row in rows if row.beta == STEEP[0].beta]),
            running_times_table(times),
            solver.table_of(shares),
            rounding.table_of(rounded),
            aims_table("merit-aims", aims(rows)),
        ],
        {
            "rows": [vars(row) for row in rows],
            "shares": [vars(row) for row in shares],
            "rounding": [vars(row) for row in rounded],
            "running_times": times,
            "aims": [vars(aim) for aim in aims(rows)],
        },
        packages=PACKAGES,
        method=f"medians of {repeats} turns; before: commit {beside}",
        code=SIMULATION + names_of(fcts_d, fcucb_d, op_fcts_d, op_fcucb_d),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
