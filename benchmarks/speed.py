"""What a simulation costs, in microseconds of processor time per lane and step, side by side in one run.

Evenhand's whole loop (`run_block`: environment, policy, measures, 200 checkpoints), by NumPy of before the engine, by
NumPy and compiled, against the same simulation as a compiled loop that was written for the policy alone (`limit.py`)
and, for UCB1 and Thompson sampling, against SMPyBandits. Others of the five papers run by NumPy and compiled alone. The
contenders take turns, and medians are shown. Nothing is timed unless every loop computes what Evenhand computes.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import typer
from rich.console import Console

import limit
from common import ENGINELESS, Before, Repeats, Runner, Simulation, apart, medians, numpy_of, stop_if
from evenhand import Environment
from evenhand.algorithms import f_ts, fucb, glr_klucb, lfg, thompson, tscsf_b, ucb1
from evenhand.environment.availability import Independent
from evenhand.environment.rewards import Bernoulli
from evenhand.simulation.simulate import checkpoint_rounds
from evenhand.theory.baseline import baseline_of
from report import SIMULATION, Aim, AsJson, Table, Write, aims_table, names_of, publish

SIZES = {1: 50_000, 100: 10_000, 1000: 5_000, 10_000: 1_000}  # lanes: rounds
OTHER_SIZES = {1: 5000, 100: 1000, 1000: 500, 10_000: 100}  # `glr_klucb` looks at all rounds since a change in each
CHECK_LANES, CHECK_ROUNDS, CHECK_SEED = 1000, 1000, 1
MEANS = np.round(np.arange(0.80, 0.705, -0.01), 2)  # Patil et al. 2019, section 6
FRACTIONS = np.full(10, 0.05)
SLEEPING_MEANS = np.array([0.52, 0.51, 0.49, 0.48, 0.7, 0.8])  # Huang et al. 2020, section 6, the setting of six arms
AWAKE = np.array([0.7, 0.6, 0.7, 0.8, 0.7, 0.6])
OWED = np.array([0.4, 0.45, 0.3, 0.45, 0.3, 0.4])
ETA = 63.55
BEFORE = "import speed; cases = {case.name: case for case in speed.cases(speed.MEANS, speed.SLEEPING_MEANS)}"
FASTER_AIMS = {  # how many times faster compiled than by NumPy of before, with 1, 100 and 1,000 lanes
    "fucb": {1: 300.0, 100: 20.0, 1000: 8.0},
    "ucb1": {1: 300.0, 100: 12.0, 1000: 5.0},
    "thompson": {1: 100.0, 100: 4.0, 1000: 3.0},
    "tscsf_b": {1: 200.0, 100: 10.0, 1000: 4.0},
}
AIMED = 1000  # lanes of the other aims
LOOP_AIMS = {"UCB": 2.5, "Thompson": 1.5}  # at 1000 lanes, Evenhand's time in times of the compiled loop's
PEER_AIMS = {"UCB": 100.0, "Thompson": 30.0}  # at 1000 lanes, SMPyBandits' time in times of Evenhand's
PACKAGES = ("evenhand", "numpy", "scipy", "numba", "SMPyBandits")


@dataclass(frozen=True, eq=False)
class Case(Simulation):
    """A policy in an environment, and the compiled loop that simulates just that."""

    name: str
    family: str
    loop: Callable[..., limit.Kept]
    parameters: tuple[Any, ...]  # of the loop
    peer: str = ""  # SMPyBandits' name for the policy

    def run_loop(self, lanes: int, rounds: limit.Rounds, seed: int, everyone: bool) -> limit.Kept:
        """The simulation by the compiled loop."""
        return self.loop(rounds, lanes, everyone, np.random.default_rng(seed), *self.parameters)


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time per lane and step."""

    policy: str
    family: str
    lanes: int
    rounds: int
    before: float  # by NumPy of an earlier commit
    evenhand: float  # by NumPy
    compiled: float
    loop: float  # draws the rewards of all arms, as Evenhand does
    lean_loop: float  # draws the rewards of the played arms only
    smpybandits: float | None  # one lane, whatever ``lanes`` is


def cases(means: limit.Array, sleeping_means: limit.Array) -> list[Case]:
    """The policies in environments of ten arms and, where arms sleep, of six."""
    ten, fair, plain, sampled = Environment(Bernoulli(means)), fucb(FRACTIONS), ucb1(), thompson()
    six = Environment(Bernoulli(sleeping_means), Independent(AWAKE))
    queue = tscsf_b(OWED, eta=ETA, plays=3)
    baseline = baseline_of(queue, six)
    assert baseline.by_set is not None
    six_arms = (sleeping_means, AWAKE, baseline.by_set[1], OWED, ETA, 3)
    return [
        Case(fair, ten, baseline_of(fair, ten), "fucb", "UCB", limit.fucb, (means, 2.0, FRACTIONS)),
        Case(plain, ten, baseline_of(plain, ten), "ucb1", "UCB", limit.ucb1, (means, 2.0), "UCB"),
        Case(queue, six, baseline, "tscsf_b", "Thompson", limit.tscsf_b, six_arms),
        Case(sampled, ten, baseline_of(sampled, ten), "thompson", "Thompson", limit.thompson, (means,), "Thompson"),
    ]


def others() -> list[Simulation]:
    """Policies without a loop of their own; arms sleep where `lfg` and `f_ts` choose."""
    ten = Environment(Bernoulli(MEANS))
    six = Environment(Bernoulli(SLEEPING_MEANS), Independent(AWAKE))
    pairs = ((lfg(OWED / 3.0, eta=ETA), six), (f_ts(OWED / 3.0), six), (glr_klucb(), ten))
    return [Simulation(policy, world, baseline_of(policy, world)) for policy, world in pairs]


def all_disagreements() -> list[str]:
    """What the compiled loops compute differently, in two worlds that tell policies apart better than the timed one.

    Where every reward is certain UCB leaves nothing to chance, and each figure must be the same in every lane.
    """
    certain, spread = (np.arange(10) % 3 == 1).astype(float), np.linspace(0.9, 0.1, 10)
    worlds = ((certain, certain[:6]), (spread, spread[:6]))
    return [line for world in worlds for case in cases(*world) for line in disagreements(case)]


def disagreements(case: Case) -> Iterator[str]:
    """Figures of a compiled loop whose mean over the lanes is not Evenhand's, as far as chance allows."""
    rounds = checkpoint_rounds(CHECK_ROUNDS, 20)
    record = case.run(CHECK_LANES, rounds, CHECK_SEED)
    ours = figures(case, record.pulls, record.curves["reward"], record.curves.get("max_violation"))
    ours["time_averaged_regret"] = record.curves["time_averaged_regret"][-1]
    for everyone in (True, False):
        pulls, rewards, violation, optimum = case.run_loop(CHECK_LANES, rounds, CHECK_SEED + 1, everyone)
        theirs = figures(case, pulls, rewards, violation)
        fair = case.baseline.best if case.baseline.best_fair is None else case.baseline.best_fair
        assert fair is not None
        prophet = fair * CHECK_ROUNDS if case.baseline.by_set is None else optimum[-1]
        theirs["time_averaged_regret"] = (prophet - pulls[-1] @ case.baseline.gains) / CHECK_ROUNDS
        kind = "loop" if everyone else "lean loop"
        yield from (f"{case.name}, {kind}, {line}" for line in apart(ours, theirs))


def figures(case: Case, pulls: Any, rewards: Any, violation: Any) -> dict[str, Any]:
    """What is compared at the end and half-way, (lanes,) each."""
    found = {"reward": rewards[-1], "reward half-way": rewards[len(rewards) // 2]}
    found |= {f"plays of arm {arm + 1}": pulls[-1, :, arm] for arm in range(case.environment.arms)}
    return found if case.baseline.fractions is None else found | {"max_violation": violation[-1]}


def peers() -> dict[str, Any]:
    """SMPyBandits' policies.

    SMPyBandits 0.9.7 imports ``scipy.special.btdtri``, which SciPy no longer has; ``betaincinv`` is the same function
    under its present name. That name is all that is put in; neither of the two policies calls it. What the package
    prints when it is imported, and its setting of NumPy's warnings, are kept from the rest.
    """
    import scipy.special

    vars(scipy.special).setdefault("btdtri", scipy.special.betaincinv)
    with contextlib.redirect_stdout(io.StringIO()), np.errstate():
        from SMPyBandits.Policies import UCB, Thompson
    return {"UCB": UCB, "Thompson": Thompson}


def run_peer(policy: Any, table: list[list[float]]) -> None:
    """One lane of SMPyBandits: its own loop without its records, on rewards drawn beforehand and free of charge."""
    policy.startGame()
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 before the first play, as the package means it
        for rewards in table:
            arm = policy.choice()
            policy.getReward(arm, rewards[arm])


def measure(case: Case, lanes: int, repeats: int, rivals: Mapping[str, Any], before: Runner) -> Row:
    """One row of the table."""
    horizon = SIZES[lanes]
    rounds = checkpoint_rounds(horizon)
    contenders: dict[str, Callable[[], object]] = {
        "before": lambda: before(case.name, lanes, horizon),
        "evenhand": lambda: case.run(lanes, rounds, 0),
        "compiled": lambda: case.run(lanes, rounds, 0, "compiled"),
        "loop": lambda: case.run_loop(lanes, rounds, 0, everyone=True),
        "lean_loop": lambda: case.run_loop(lanes, rounds, 0, everyone=False),
    }
    if case.peer:
        policy = rivals[case.peer](case.environment.arms)
        drawn = np.random.default_rng(0).random((SIZES[1], case.environment.arms)) < MEANS
        table = drawn.astype(float).tolist()
        contenders["smpybandits"] = lambda: run_peer(policy, table)
    steps = {"smpybandits": SIZES[1]}
    found = {name: t / steps.get(name, lanes * horizon) * 1e6 for name, t in medians(contenders, repeats).items()}
    return Row(
        case.name,
        case.family,
        lanes,
        horizon,
        found["before"],
        found["evenhand"],
        found["compiled"],
        found["loop"],
        found["lean_loop"],
        found.get("smpybandits"),
    )


def table_of(rows: list[Row]) -> Table:
    """Microseconds and ratios."""
    columns = ["policy", "lanes", "NumPy before", "NumPy", "compiled", "faster", "loop", "lean loop"]
    columns += ["SMPyBandits", "times slower"]
    cells = []
    for row in rows:
        ours = (f"{row.before:.3f}", f"{row.evenhand:.3f}", f"{row.compiled:.3f}", f"{row.before / row.compiled:.1f}")
        loops = (f"{row.loop:.3f}", f"{row.lean_loop:.3f}")
        peer = ("", "")
        if row.smpybandits is not None:
            peer = (f"{row.smpybandits:.1f}", f"{row.smpybandits / row.compiled:,.0f}")
        cells.append((f"`{row.policy}`", f"{row.lanes:,}", *ours, *loops, *peer))
    return Table("speed", "microseconds per lane and step, one core", columns, cells)


def others_table(repeats: int, notes: Console) -> Table:
    """NumPy and compiled, where there is no loop to compare with."""
    cells = []
    for one in others():
        for lanes, horizon in OTHER_SIZES.items():
            rounds = checkpoint_rounds(horizon, 20)
            with notes.status(f"{one.policy.name}, {lanes} lanes"):
                engines = {name: partial(one.run, lanes, rounds, 0, name) for name in ("numpy", "compiled")}
                one.run(1, rounds[:1], 0, "compiled")
                times = {name: t / lanes / rounds[-1] * 1e6 for name, t in medians(engines, repeats).items()}
            ours = (f"{times['numpy']:.3f}", f"{times['compiled']:.3f}", f"{times['numpy'] / times['compiled']:.1f}")
            cells.append((f"`{one.policy.name}`", f"{lanes:,}", *ours))
    return Table("speed-others", "others by both engines", ("policy", "lanes", "NumPy", "compiled", "faster"), cells)


def aims(rows: list[Row]) -> list[Aim]:
    """What was aimed at, and whether it was reached."""
    results = []
    for row in rows:
        lanes = f"{row.lanes:,} {'lane' if row.lanes == 1 else 'lanes'}"
        faster = FASTER_AIMS[row.policy].get(row.lanes)
        if faster is not None:
            ratio = row.before / row.compiled
            text = f"`{row.policy}`, {lanes}: compiled {faster:g} times faster than NumPy before"
            results.append(Aim(text, ratio, ratio >= faster))
        ratio = row.compiled / row.loop
        results.append(Aim(f"`{row.policy}`, {lanes}: compiled no slower than the loop", ratio, ratio <= 1.0))
        if row.lanes != AIMED:
            continue
        ratio, most = row.evenhand / row.loop, LOOP_AIMS[row.family]
        results.append(Aim(f"`{row.policy}`, 1,000 lanes: NumPy at most {most:g} times the loop", ratio, ratio <= most))
        if row.smpybandits is not None:
            ratio, least = row.smpybandits / row.evenhand, PEER_AIMS[row.family]
            text = f"`{row.policy}`, 1,000 lanes: NumPy {least:g} times faster than SMPyBandits"
            results.append(Aim(text, ratio, ratio >= least))
    return results


def main(repeats: Repeats = 3, beside: Before = ENGINELESS, as_json: AsJson = False, write: Write = False) -> None:
    """Measure what a lane and step of a simulation costs: Evenhand by NumPy and compiled, a loop, SMPyBandits."""
    notes = Console(stderr=True)
    listed, rivals = cases(MEANS, SLEEPING_MEANS), peers()
    with notes.status("compiling the loops and comparing what they compute"):
        stop_if(all_disagreements(), notes)
        for case in listed:  # which take different loops
            case.run(1, checkpoint_rounds(10), 0, "compiled")
    rows = []
    with numpy_of(beside, BEFORE) as before:
        for case in listed:
            for lanes in SIZES:
                with notes.status(f"{case.name}, {lanes} lanes"):
                    rows.append(measure(case, lanes, repeats, rivals, before))
    publish(
        [table_of(rows), others_table(repeats, notes), aims_table("speed-aims", aims(rows))],
        {"rows": [vars(row) for row in rows], "aims": [vars(aim) for aim in aims(rows)]},
        packages=PACKAGES,
        method=f"medians of {repeats} turns; before: commit {beside}",
        code=SIMULATION + names_of(f_ts, fucb, glr_klucb, lfg, thompson, tscsf_b, ucb1),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
