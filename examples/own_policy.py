"""A policy that no paper has, composed of parts: a price on missing plays, Thompson sampling, and arms that sleep.

A platform offers each order to two of five kinds of couriers, any of which may be off duty. Each kind is promised a
share of the orders, but a promise may be broken where keeping it costs more than the price of a missing order. Fang et
al. 2022 put such a price on missing plays for one play per round, arms that never sleep, and upper confidence bounds.
Here, a posterior draw replaces the bounds, and the two restrictions do not apply: no part depends on another.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from evenhand import Environment, Policy, check_policy, compare, figures
from evenhand.algorithms import f_ts, thompson
from evenhand.availability import Independent
from evenhand.policy import BetaSample, DeficitBonus, TopM
from evenhand.rewards import Bernoulli

COURIERS = ("bicycle", "scooter", "car", "van", "lorry")
PROMISED = np.array([0.3, 0.3, 0.3, 0.2, 0.1])
PRICE = 0.2  # reward that a missing play costs


def main(folder: Annotated[Path | None, typer.Argument(help="Where the figure goes.")] = None) -> None:
    """Check the policy, compare it with one that always keeps the promise and one that has none."""
    folder = folder or Path(tempfile.mkdtemp(prefix="evenhand-"))
    folder.mkdir(parents=True, exist_ok=True)

    own = Policy(index=BetaSample(), fairness=DeficitBonus(PROMISED, rate=PRICE, shape="hard"), selection=TopM(2))
    check_policy(own, arms=len(COURIERS))  # raises AssertionError if the parts do not go together
    print("the policy passes every check of evenhand.check_policy\n")

    world = Environment(
        Bernoulli([0.80, 0.75, 0.70, 0.60, 0.30]),
        Independent([0.9, 0.8, 0.9, 0.7, 0.5]),
        names=COURIERS,
        fractions=PROMISED,
        penalties=PRICE,
    )
    policies = {"own": own, "F-TS": f_ts(PROMISED, plays=2), "Thompson": thompson(plays=2)}
    results = compare(policies, world, horizon=5_000, lanes=100, seed=3)

    # The own policy leaves the lorry out: it earns so much less than the others that paying the price is cheaper. F-TS
    # keeps every promise at any cost, Thompson sampling leaves out the van as well. The penalised regret counts both.
    print(f"{'policy':<10} {'penalised regret':>18}   " + " ".join(f"{name:>8}" for name in COURIERS))
    print(f"{'promised':<10} {'':>18}   " + " ".join(f"{share:>8.2f}" for share in PROMISED))
    for label, measures in results.final().items():
        regret, shares = measures["penalized_regret"], measures["selection_fractions"]["mean"]
        cells = " ".join(f"{share:>8.3f}" for share in shares)
        print(f"{label:<10} {regret['mean']:>10.1f} ± {regret['stderr']:<5.1f}   {cells}")

    figures.save(figures.fractions(results, title="Orders to each kind of courier"), folder / "fractions")
    print(f"\nwrote fractions.png and fractions.svg to {folder}")


if __name__ == "__main__":
    typer.run(main)
