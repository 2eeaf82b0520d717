"""The film experiment of Huang et al. 2020, section 6.3: its setup, and the ratings that the policies end with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import listing, validate
from evenhand.algorithms import find
from evenhand.bounds import balancing_eta
from evenhand.config import FiguresSection, Setup, build_policy
from evenhand.datasets import movielens
from evenhand.environment import Environment
from evenhand.errors import ConfigurationError
from evenhand.policy import Policy
from evenhand.results import Results, mean_and_error


def setup(
    folder: Path | None,
    films: Sequence[str] | None,
    plays: int,
    fractions: Sequence[float],
    algorithms: Sequence[str],
    etas: Sequence[float] | None,
    order: str,
    horizon: int | None,
    lanes: int,
    seed: int,
) -> Setup:
    """The experiment as a setup to run.

    Args:
        folder: with ``ratings.csv`` and ``movies.csv``; None for the figures that ship with the package.
        films: titles or ids; None for the paper's five.
        plays: m, films recommended to a user.
        fractions: one promised share for all films, or one each.
        algorithms: names in the registry.
        etas: η of those algorithms that have it; None for the paper's two, ``sqrt(KT/(m ln T))`` and inf.
        order: ``"log"`` or ``"shuffled"``.
        horizon: rounds; None for every user once.
        lanes: replications.
        seed: of all randomness.
    """
    validate.one_of("order", order, ("log", "shuffled"))
    if folder is None and films:
        raise ConfigurationError(
            "the figures that ship with Evenhand know the paper's five films only; give the folder of a MovieLens copy"
        )
    world = movielens.films() if folder is None else movielens.load(folder, films or movielens.FILMS).environment(order)
    rounds = horizon or world.rows() or 20_000
    world.check_horizon(rounds)
    shares = list(fractions) * (world.arms if len(fractions) == 1 else 1)
    if len(shares) != world.arms:
        raise ConfigurationError(f"{len(shares)} fractions for {world.arms} films; give one for all, or one each")
    judged = Environment(world.rewards, world.availability, world.feedback, world.names, fractions=shares)
    chosen = etas or [balancing_eta(max(rounds, 2), world.arms, plays), float("inf")]
    policies: dict[str, Policy] = {}
    for name in algorithms:
        own = chosen if "eta" in find(name).parameters else [None]
        for eta in own:
            label = name if eta is None else f"{name} η={eta:.4g}"
            policies[label] = build_policy(name, {} if eta is None else {"eta": eta}, plays, rounds, judged)
    return Setup(policies, judged, rounds, lanes, seed, 200, "even", FiguresSection())


def ratings(results: Results, setup: Setup) -> dict[str, Any]:
    """True ratings, and for each policy the mean rating and the index that it ends with, in stars; for ``--json``."""
    told = {
        label: {
            "mean_rating": _stars(record.estimate),
            "index": _stars(record.worth),
        }
        for label, record in results.records.items()
    }
    return {
        "ratings": {
            "films": list(results.names),
            "true": _stars(setup.environment.means[np.newaxis]),
            "policies": told,
        }
    }


def print_ratings(results: Results, setup: Setup) -> None:
    """True ratings against those that each policy ends with, in stars."""
    console = listing.console_for_tables()
    true = setup.environment.means * movielens.STARS
    for title, attribute in (
        ("mean rating received (stars)", "estimate"),
        ("index at the end (stars)", "worth"),
    ):
        table = listing.table_of(title, "true", *results.records, right=True)
        for arm, name in enumerate(results.names):
            cells = [
                mean_and_error(getattr(record, attribute)[:, arm] * movielens.STARS)
                for record in results.records.values()
            ]
            table.add_row(name, f"{true[arm]:.3f}", *(listing.plus_minus(float(m), float(e), 3) for m, e in cells))
        console.print(table)


def _stars(values: Any) -> list[float | None]:
    """Mean over lanes in stars; None for a film that no lane has a rating of."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(counts, 1) * movielens.STARS
    return [float(mean) if count else None for mean, count in zip(means, counts, strict=True)]
