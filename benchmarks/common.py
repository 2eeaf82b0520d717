"""What the benchmarks share: a simulation by either engine or an earlier commit, taking turns, comparing first."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from evenhand import Environment, Policy
from evenhand.core.streams import strand_seeds
from evenhand.simulation.compiled.engine import CHOICE
from evenhand.simulation.simulate import run_block
from evenhand.simulation.tables import PolicyResult
from evenhand.theory.baseline import Baseline

LIMIT = 5.0  # standard errors; about 200 figures are compared, so chance exceeds it for one seed in 10,000
Repeats = Annotated[int, typer.Option(min=1, help="Turns of each contender; the median counts.")]
ENGINELESS = "31c9ca30"  # the last commit whose simulations ran by NumPy or by the compiled loops of then
Before = Annotated[str, typer.Option(help="The earlier commit whose NumPy takes part in the turns.")]
Runner = Callable[[str, int, int], float]  # policy, lanes and rounds → seconds of processor time
#: Plays what standard input names: policy, lanes, rounds.
WORKER = """
import sys, time
{cases}
from evenhand.simulation.simulate import checkpoint_rounds
for line in sys.stdin:
    name, lanes, horizon = line.split()
    start = time.process_time()
    cases[name].run(int(lanes), checkpoint_rounds(int(horizon)), 0)
    print(time.process_time() - start, flush=True)
"""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A policy in its environment."""

    policy: Policy
    environment: Environment
    baseline: Baseline

    def run(self, lanes: int, rounds: Any, seed: int, engine: str = "numpy") -> PolicyResult:
        """The simulation by Evenhand."""
        os.environ[CHOICE] = engine
        return run_block(self.policy, self.environment, self.baseline, lanes, rounds, strand_seeds(seed, lanes))


@contextmanager
def numpy_of(commit: str, cases: str) -> Iterator[Runner]:
    """What simulations took by NumPy at an earlier commit, which runs in an interpreter and a worktree of its own.

    Args:
        commit: whose package and benchmarks run.
        cases: Python that makes ``cases``, simulations by name, of its benchmarks.
    """
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        subprocess.run(["git", "-C", str(root), "worktree", "add", "-q", "--detach", str(tree), commit], check=True)
        try:
            code = WORKER.format(cases=cases)
            environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree / 'benchmarks'}", CHOICE: "numpy"}
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment, **pipes) as process:

                def run(*asked: object) -> float:
                    print(*asked, file=process.stdin, flush=True)
                    return float(process.stdout.readline())  # type: ignore[union-attr]

                yield run
                process.stdin.close()  # type: ignore[union-attr]
        finally:
            subprocess.run(["git", "-C", str(root), "worktree", "remove", "--force", str(tree)], check=True)


def medians(contenders: Mapping[str, Callable[[], object]], repeats: int, seconds: float = 0.0) -> dict[str, float]:
    """Median seconds of processor time of a call of each, taking turns; a turn repeats the call for ``seconds``.

    A call that returns a float has measured itself.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, call in contenders.items():
            taken[name].append(_a_call(call, seconds))
    return {name: float(np.median(times)) for name, times in taken.items()}


def _a_call(call: Callable[[], object], seconds: float) -> float:
    calls, spent, batch, start = 0, 0.0, 1, time.process_time()
    while not calls or spent < seconds:
        for _ in range(batch):
            if isinstance(found := call(), float):
                return found
        calls, batch, spent = calls + batch, 2 * batch, time.process_time() - start
    return spent / calls


def apart(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """Figures, one value per lane, whose means over the lanes differ by more than chance allows."""
    for name, values in ours.items():
        gap = abs(values.mean() - theirs[name].mean())
        error = math.sqrt(sum(sample.var(ddof=1) / len(sample) for sample in (values, theirs[name])))
        if gap > LIMIT * error + 1e-9:
            means = f"{theirs[name].mean():.6g}, Evenhand {values.mean():.6g}"
            yield f"{name}: {means}, standard error of the difference {error:.2g}"


def stop_if(wrong: list[str], notes: Console) -> None:
    """Time nothing where the contenders do not do the same."""
    if wrong:
        notes.print("[red bold]the contenders do not compute the same; nothing was timed[/red bold]", *wrong, sep="\n")
        raise typer.Exit(1)
