"""Minimum shares when orders come back as one anonymous sum: a kernel and an adversary of your own.

A shop sends one of four catalogues a day. Orders follow for eight weeks, none of them on Sundays, and nobody can tell
which catalogue an order belongs to. Two catalogues have been promised a share of the days. One policy believes that a
day's orders are those of its catalogue, one stays with a choice for longer and longer, one does so and keeps the
promises. The same three then face an adversary: a warehouse that is slow to tell of a catalogue that was sent the day
before, too. The run shows which of the policies copes with what.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from evenhand import Environment, Results, check_environment, compare, figures
from evenhand.algorithms import ars_fucb, ars_ucb, fucb
from evenhand.feedback import Adversary, AnonymousFeedback, Kernel
from evenhand.rewards import Bernoulli

CATALOGUES = ("spring", "garden", "kitchen", "toys")
ORDERS = [0.9, 0.7, 0.5, 0.3]  # mean total of a day, unknown to the policies
PROMISED = [0.0, 0.0, 0.1, 0.1]
HORIZON, LANES = 5_000, 50


def eight_weeks(since: NDArray[Any]) -> NDArray[Any]:
    """Part of a catalogue's orders that comes in so many days later: fewer and fewer, and none every seventh day."""
    parts = np.where((since > 0) & (since % 7 > 0), np.maximum(57.0 - since, 0.0), 0.0)
    return np.asarray(parts / 1400.0)  # of eight weeks; the sum of the parts is 1


def warehouse(step: int, played: NDArray[Any], past: NDArray[Any]) -> NDArray[Any]:
    """Days until the orders of this day are known, lane by lane: an adversary that looks at the plays."""
    stays = (played == past[-1]).all(axis=-1) if len(past) else np.zeros(len(played), dtype=bool)
    return np.where(stays, 20.0, 1.0)


def run(feedback: AnonymousFeedback) -> Results:
    """The three policies with this feedback."""
    world = Environment(Bernoulli(ORDERS), feedback=feedback, names=CATALOGUES, fractions=PROMISED)
    check_environment(world)  # raises AssertionError with the rule that is broken
    policies = {"FUCB": fucb(PROMISED), "ARS-UCB": ars_ucb(), "ARS-FUCB": ars_fucb(PROMISED)}
    return compare(policies, world, HORIZON, LANES, seed=1, progress=False)


def main(folder: Annotated[Path | None, typer.Argument(help="Where the figure goes.")] = None) -> None:
    """Compare the policies under both kinds of feedback, draw who got how much."""
    folder = folder or Path(tempfile.mkdtemp(prefix="evenhand-"))
    folder.mkdir(parents=True, exist_ok=True)

    for title, feedback in (("eight weeks", Kernel(eight_weeks)), ("the warehouse", Adversary(warehouse))):
        results = run(feedback)
        print(f"{title}: after {HORIZON:,} days, mean of {LANES} lanes ± standard error\n")
        print(f"{'policy':<9} {'r-regret':>16} {'most days missing':>18}   " + " ".join(f"{n:>7}" for n in CATALOGUES))
        for label, found in results.final().items():
            regret, missing = found["r_regret"], found["max_violation"]
            cells = " ".join(f"{share:>7.3f}" for share in found["selection_fractions"]["mean"])
            print(f"{label:<9} {regret['mean']:>8.1f} ± {regret['stderr']:<5.1f} {missing['mean']:>18.1f}   {cells}")
        print()
        name = title.split()[-1]
        figures.save(figures.fractions(results, title=f"Days of each catalogue: {title}"), folder / name)
        print(f"wrote {name}.png and {name}.svg to {folder}\n")


if __name__ == "__main__":
    typer.run(main)
