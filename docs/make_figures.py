"""The figures of the documentation, drawn anew with every build: ``python docs/make_figures.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand import Environment, Policy, compare, figures
from evenhand.algorithms import fucb, lfg, thompson, tscsf_b, ucb1
from evenhand.availability import Independent
from evenhand.bounds import bound_for
from evenhand.config import load
from evenhand.metrics import yardstick
from evenhand.results import Results
from evenhand.rewards import Bernoulli

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = Path(__file__).parents[1] / "examples"
THREE = Environment(Bernoulli([0.9, 0.5, 0.4]), fractions=[0.0, 0.02, 0.02])
SLEEPING = Environment(Bernoulli([0.4, 0.5, 0.7]), Independent([0.9, 0.8, 0.7]), fractions=[0.5, 0.6, 0.4])


def main(folder: Path) -> None:
    """Draw every figure into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    promises(folder)
    bounds(folder)
    sleeping(folder)


def promises(folder: Path) -> None:
    """Shares against promises, and how far arms fall behind: the tutorial's figures."""
    setup = load(EXAMPLES / "coffee.toml")
    results = compare(setup.policies, setup.environment, setup.horizon, setup.lanes, setup.seed, progress=False)
    figures.save(figures.fractions(results), folder / "shares")
    figures.save(figures.curves(results, "max_violation"), folder / "max_violation")


def bounds(folder: Path) -> None:
    """r-regret of FUCB under the bound of its theorem."""
    policies = {"FUCB": fucb(THREE.fractions), "UCB1": ucb1()}
    results = compare(policies, THREE, horizon=10_000, lanes=50, seed=7, spacing="log", progress=False)
    figures.save(with_bounds(results, policies, THREE, "r_regret", log="x"), folder / "bounds")


def sleeping(folder: Path) -> None:
    """Two plays a round, and arms that sleep: setting 1 of Huang et al. 2020."""
    shares = SLEEPING.fractions
    policies = {
        "TSCSF-B": tscsf_b(shares, eta=10.0, plays=2),
        "LFG": lfg(shares, eta=10.0, plays=2),
        "Thompson": thompson(plays=2),
    }
    results = compare(policies, SLEEPING, horizon=2000, lanes=50, progress=False)
    figures.save(figures.fractions(results), folder / "sleeping")


def with_bounds(results: Results, policies: dict[str, Policy], world: Environment, measure: str, log: str) -> Figure:
    """Curves of a measure with the bounds that theorems give for it."""
    found = {label: bound_for(policy, yardstick(policy, world), results.rounds) for label, policy in policies.items()}
    known = {label: bound[1] for label, bound in found.items() if bound is not None and bound[0] == measure}
    return figures.curves(results, measure, bounds=known, log=log)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
