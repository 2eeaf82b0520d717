"""Shares by merit when orders come late: a merit function and a delay model of your own.

A shop shows two of six offers to every visitor. Who orders does so within some days; that nobody orders is known only
when the offer ends. So what has arrived looks better than it is. A merit function that levels off gives the good offers
more, but not all, of the places. One policy goes by what has arrived, another allows for anything that is missing, a
third takes the mean as it stands, a fourth knows of no merit. The run shows which of them copes best with this delay.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from evenhand import Environment, check_environment, compare, figures
from evenhand.algorithms import cucb_d, fcts_d, fgreedy_d, op_fcts_d
from evenhand.delays import Custom
from evenhand.policy import proportional
from evenhand.rewards import Bernoulli

OFFERS = ("boots", "kettle", "lamp", "rug", "tent", "vase")
BUY = np.array([0.7, 0.6, 0.5, 0.3, 0.2, 0.1])  # unknown to the policies
HORIZON, LANES, PLACES = 3_000, 50, 2
END = 300.0  # visitors until an offer ends


def worth_showing(mean: NDArray[Any]) -> NDArray[Any]:
    """The merit of an offer that is bought with this probability: it rises fast at first, and levels off."""
    return np.asarray(1.0 + 3.0 * mean / (mean + 0.5))


def until_known(u: NDArray[Any], arm: NDArray[Any], reward: NDArray[Any]) -> NDArray[Any]:
    """Visitors until it is known what came of an offer, from uniform numbers u: every delay model is such a function.

    Orders take up to 50 visitors, those of a tent (the fifth offer) up to 200; no order is known when the offer ends.
    """
    slowest = np.where(arm == OFFERS.index("tent"), 200.0, 50.0)
    return np.asarray(np.where(reward > 0.0, slowest * u, END))


def main(folder: Annotated[Path | None, typer.Argument(help="Where the figure goes.")] = None) -> None:
    """Look at the delays, compare the policies, draw who got how much."""
    folder = folder or Path(tempfile.mkdtemp(prefix="evenhand-"))
    folder.mkdir(parents=True, exist_ok=True)

    delay = Custom(until_known)
    world = Environment(Bernoulli(BUY), feedback=delay, names=OFFERS, merit=worth_showing)
    check_environment(world)  # raises AssertionError with the rule that is broken
    print("known after so many visitors, of each offer half and nine in ten of the answers:")
    for name, half, most in zip(OFFERS, *delay.quantiles([0.5, 0.9], BUY), strict=True):
        print(f"  {name:<7} {half:>4.0f} {most:>4.0f}")

    policies = {
        "FCTS-D": fcts_d(worth_showing, plays=PLACES),
        "OP-FCTS-D": op_fcts_d(worth_showing, plays=PLACES),
        "FGreedy-D": fgreedy_d(worth_showing, plays=PLACES),
        "CUCB-D": cucb_d(plays=PLACES),
    }
    results = compare(policies, world, HORIZON, LANES, seed=1)

    # The regrets go by the chances of every round; the shares at the right by what was shown in the end.
    fair = proportional(worth_showing(BUY), PLACES)
    print(f"\nafter {HORIZON:,} visitors, mean ± standard error of {LANES} lanes\n")
    print(f"{'policy':<10} {'fairness regret':>16} {'reward regret':>16}   " + " ".join(f"{n:>6}" for n in OFFERS))
    print(f"{'fair':<10} {'':>16} {'':>16}   " + " ".join(f"{share:>6.3f}" for share in fair))
    for label, found in results.final().items():
        regrets = (found[name] for name in ("fairness_regret", "reward_regret"))
        columns = " ".join(f"{regret['mean']:>8.1f} ± {regret['stderr']:<5.1f}" for regret in regrets)
        cells = " ".join(f"{share:>6.3f}" for share in found["selection_fractions"]["mean"])
        print(f"{label:<10} {columns}   {cells}")

    figures.save(figures.fractions(results, title="Places of each offer"), folder / "places")
    print(f"\nwrote places.png and places.svg to {folder}")


if __name__ == "__main__":
    typer.run(main)
