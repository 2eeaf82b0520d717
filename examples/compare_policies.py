"""Five policies in the same world: what does it cost to promise every arm a share of the rounds?

Ten arms that are hard to tell apart, each promised 5% of the rounds, as in Patil et al. 2019, section 6. UCB1 promises
nothing and is measured by the same promises. Every policy faces the same rewards, so differences are the policies' own.
The figure shows the r-regret: the reward lost against a prophet who keeps the promises too. It is negative for a policy
that earns more than any that keeps them could.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from evenhand import Environment, compare, figures
from evenhand.algorithms import eta_fucb, f_ts, fucb, lfg, ucb1
from evenhand.rewards import Bernoulli

HORIZON, LANES = 10_000, 100


def main(folder: Annotated[Path | None, typer.Argument(help="Where the figure goes.")] = None) -> None:
    """Compare the policies, print a summary, draw the r-regret."""
    folder = folder or Path(tempfile.mkdtemp(prefix="evenhand-"))
    folder.mkdir(parents=True, exist_ok=True)

    promised = np.full(10, 0.05)
    world = Environment(Bernoulli(np.linspace(0.80, 0.71, 10)), fractions=promised)
    policies = {
        "UCB1": ucb1(),
        "FUCB": fucb(promised),
        "F-TS": f_ts(promised),
        "η-FUCB": eta_fucb(promised, eta=0.001),
        "LFG": lfg(promised, eta=1000),
    }
    results = compare(policies, world, HORIZON, LANES, seed=1)

    print(f"after {HORIZON:,} rounds, mean ± standard error of {LANES} lanes\n")
    print(f"{'policy':<8} {'r-regret':>18} {'plays missing at worst':>24} {'share of the best arm':>24}")
    for label, found in results.final().items():
        regret, behind, shares = found["r_regret"], found["max_violation"], found["selection_fractions"]
        print(
            f"{label:<8} {regret['mean']:>10.1f} ± {regret['stderr']:<5.1f}"
            f" {behind['mean']:>16.2f} ± {behind['stderr']:<5.2f} {shares['mean'][0]:>24.3f}"
        )

    figure = figures.curves(results, "r_regret", title="Ten arms, each promised 5% of the rounds")
    figures.save(figure, folder / "r_regret")
    print(f"\nwrote r_regret.png and r_regret.svg to {folder}")


if __name__ == "__main__":
    typer.run(main)
