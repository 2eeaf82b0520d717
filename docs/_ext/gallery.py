"""The figures of the gallery, each of one run of examples/coffee.toml or of a grid in the same world."""

from __future__ import annotations

from pathlib import Path

from evenhand import Environment, compare, figures
from evenhand.algorithms import f_ts, fucb, lfg, thompson, ucb1
from evenhand.environment.rewards import Bernoulli

SHARES = [0.0, 0.2, 0.2]
WORLD = Environment(Bernoulli([0.6, 0.55, 0.45]), names=("espresso", "tea", "cocoa"), fractions=SHARES)


def draw(folder: Path) -> None:
    """Draw every figure of the gallery into the folder."""
    policies = {"FUCB": fucb(SHARES), "F-TS": f_ts(SHARES), "UCB1": ucb1(), "Thompson": thompson()}
    results = compare(policies, WORLD, horizon=2000, lanes=100, seed=1, progress=False)
    few = compare(policies, WORLD, horizon=2000, lanes=100, seed=1, checkpoints=50, progress=False)  # a small file
    figures.save(figures.overview(few), folder / "overview")
    figures.save(figures.shares_over_time(results, "UCB1"), folder / "shares_over_time")
    figures.save(figures.arms_over_time(results, "F-TS"), folder / "arms_over_time")
    figures.save(figures.paired_differences(results, "reward", against="FUCB"), folder / "paired_differences")
    figures.save(figures.spread_over_lanes(results, "reward"), folder / "spread_over_lanes")
    grid = {f"LFG eta={eta}": lfg(SHARES, eta=eta) for eta in (1, 10, 30, 100, 300, 1000)}
    frontier = compare({**grid, **policies}, WORLD, horizon=2000, lanes=100, seed=1, progress=False)
    figures.save(figures.frontier(frontier), folder / "frontier")
