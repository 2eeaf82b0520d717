"""A reward model of your own: a frozen attrs class with ``means`` and ``draw``, registered under a name.

A café recommends drinks. A guest buys with some probability, and a guest who buys tips any amount up to 1, so that many
rewards are 0 and the others are spread out; no model that ships with Evenhand does that. Everything else works with it
at once: policies, measures, figures, several processes, and the check that it keeps the rules.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from attrs import frozen
from numpy.typing import NDArray

from evenhand import Environment, check_environment, compare, figures, part
from evenhand.algorithms import f_ts, fucb
from evenhand.rewards import Rewards


@part("rewards", "tips")
@frozen
class Tips(Rewards):
    """With probability b the guest buys and tips an amount from Beta(s, 1), else the reward is 0.

    Args:
        buys: (arms,) probability b of each arm.
        generosity: (arms,) s > 0; the larger, the nearer the tips are to 1.
    """

    buys: tuple[float, ...]
    generosity: tuple[float, ...]

    @property
    def means(self) -> NDArray[np.float64]:
        """Expected reward of each arm, ``b s/(s+1)``, (arms,)."""
        b, s = np.array(self.buys, dtype=float), np.array(self.generosity, dtype=float)
        return np.asarray(b * s / (s + 1.0))

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest reward; algorithms such as F-TS need it."""
        return 0.0, 1.0

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards of every arm for a stretch of rounds, (rounds, lanes, arms); the first axis is as long as ``rows``.

        All randomness comes from ``rng``, which no policy touches: that is how every policy faces the same rewards.
        """
        shape = (len(rows), lanes, len(self.buys))
        bought = rng.random(shape) < self.buys
        # By inversion: U^(1/s) has the distribution Beta(s, 1).
        return bought * rng.random(shape) ** (1.0 / np.array(self.generosity))


def main(folder: Annotated[Path | None, typer.Argument(help="Where the figure goes.")] = None) -> None:
    """Check the model, then run two policies on it."""
    folder = folder or Path(tempfile.mkdtemp(prefix="evenhand-"))
    folder.mkdir(parents=True, exist_ok=True)

    tips = Tips(buys=(0.9, 0.6, 0.5), generosity=(1.0, 2.0, 1.0))
    world = Environment(tips, names=("espresso", "tea", "cocoa"))
    check_environment(world)  # raises AssertionError with the rule that is broken
    # The means are stated, so they can be wrong; the draws are the judge.
    drawn = tips.draw(np.random.default_rng(0), np.zeros((1000, 1), dtype=np.intp), lanes=100).mean(axis=(0, 1))
    print("drink      mean stated  mean drawn")
    for name, stated, mean in zip(world.names, tips.means, drawn, strict=True):
        print(f"{name:<10} {stated:>11.3f} {mean:>11.3f}")

    promised = [0.0, 0.1, 0.2]
    results = compare([fucb(promised), f_ts(promised)], world, horizon=5_000, lanes=100, seed=1)
    print(f"\n{'policy':<8} {'r-regret':>16}   share of the rounds")
    for label, measures in results.final().items():
        regret, shares = measures["r_regret"], measures["selection_fractions"]["mean"]
        listed = ", ".join(f"{name} {share:.3f}" for name, share in zip(results.names, shares, strict=True))
        print(f"{label:<8} {regret['mean']:>8.1f} ± {regret['stderr']:<5.1f}   {listed}")

    figures.save(figures.curves(results, "r_regret", title="Tips"), folder / "tips")
    print(f"\nwrote tips.png and tips.svg to {folder}")


if __name__ == "__main__":
    typer.run(main)
