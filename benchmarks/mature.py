"""What counts by age cost, in microseconds of processor time per lane and step, beside the policies without them.

Evenhand's whole loop (`run_block`) for M-FCUCB-D and Q-FCUCB-D beside OP-FCUCB-D, and for M-FCTS-D and Q-FCTS-D beside
OP-FCTS-D, in one world whose feedback names its pulls. The contenders take turns, and medians are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import typer
from rich.console import Console

import solver
from common import Repeats, medians
from evenhand import Environment, Policy
from evenhand.algorithms import m_fcts_d, m_fcucb_d, op_fcts_d, op_fcucb_d, q_fcts_d, q_fcucb_d
from evenhand.core.streams import strand_seeds
from evenhand.environment.delays import Geometric
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.merit import Power
from evenhand.simulation.simulate import checkpoint_rounds, run_block
from evenhand.theory.baseline import baseline_of
from report import SIMULATION, Aim, AsJson, Table, Write, aims_table, names_of, publish

SIZES = {1: 1000, 20: 1000, 1000: 100}  # lanes: rounds
AIM = 2.0  # M's time in times of OP's
MERIT, PLAYS, HORIZON = Power(beta=2.0, exponent=4.0), 3, 10_000


def families() -> tuple[tuple[Policy, ...], ...]:
    """The policy without counts by age, and those with them."""
    boxed = (make(MERIT, horizon=HORIZON, plays=PLAYS) for make in (op_fcucb_d, m_fcucb_d, q_fcucb_d))
    return tuple(boxed), tuple(make(MERIT, plays=PLAYS) for make in (op_fcts_d, m_fcts_d, q_fcts_d))


def run(policy: Policy, lanes: int, rounds: int) -> None:
    """A simulation with every step of the loop."""
    world = Environment(Bernoulli(solver.MEANS), feedback=Geometric(0.05, named=True))
    run_block(policy, world, baseline_of(policy, world), lanes, checkpoint_rounds(rounds), strand_seeds(0, lanes))


def main(repeats: Repeats = 3, as_json: AsJson = False, write: Write = False) -> None:
    """Measure what it costs to count pulls by their age."""
    cells, aims, figures = [], [], []
    for family in families():
        for lanes, rounds in SIZES.items():
            with Console(stderr=True).status(f"{family[0].name}, {lanes} lanes"):
                calls: dict[str, Callable[[], object]] = {one.name: partial(run, one, lanes, rounds) for one in family}
                times = {name: t / lanes / rounds * 1e6 for name, t in medians(calls, repeats).items()}
            figures.append({"lanes": lanes, "microseconds": times})
            first, *others = times
            row = [f"`{first}`", f"{lanes:,}", f"{times[first]:.3g}"]
            for other in others:
                row += [f"{times[other]:.3g}", f"{times[other] / times[first]:.2f}"]
            cells.append(row)
            ratio = times[others[0]] / times[first]
            aims.append(
                Aim(
                    f"`{others[0]}`, {lanes:,} lane{'s' * (lanes > 1)}: at most {AIM:g} times `{first}`",
                    ratio,
                    ratio <= AIM,
                )
            )
    columns = ("policy", "lanes", "without", "counts by age", "ratio", "until disproved", "ratio")
    title = "microseconds per lane and step, 3 of 7 arms per round, geometric delays"
    publish(
        [Table("mature", title, columns, cells), aims_table("mature-aims", aims)],
        {"rows": figures, "aims": [vars(aim) for aim in aims]},
        packages=("evenhand", "numpy"),
        method=f"medians of {repeats} turns",
        code=SIMULATION + names_of(m_fcts_d, m_fcucb_d, op_fcts_d, op_fcucb_d, q_fcts_d, q_fcucb_d),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
