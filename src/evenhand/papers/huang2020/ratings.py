"""The films: final ratings against the true ones, and a copy of MovieLens in place of the figures that ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from evenhand.bounds import balancing_eta
from evenhand.datasets import movielens
from evenhand.papers.experiment import Run
from evenhand.records import Array


def excess_stars(run: Run, label: str, attribute: str) -> Array:
    """The final ratings less the true ones, in stars, (lanes, films); NaN for films never rated.

    Args:
        run: on the films.
        label: of the policy.
        attribute: ``"worth"`` for the index in the end, ``"estimate"`` for the mean of the ratings received.
    """
    rating = getattr(run.results.records[label], attribute)
    return np.asarray((rating - run.setup.environment.means) * movielens.STARS)


def distance_in_stars(run: Run, label: str, attribute: str) -> Array:
    """Mean distance over the films of the final ratings from the true ones, (lanes,); films never rated are left out.

    Args:
        run: on the films.
        label: of the policy.
        attribute: ``"worth"`` for the index in the end, ``"estimate"`` for the mean of the ratings received.
    """
    return np.asarray(np.nanmean(np.abs(excess_stars(run, label, attribute)), axis=1))


def on_ratings(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The film experiment on a MovieLens copy: every user once, in the order of the file, and η for that many.

    Args:
        config: of the experiment on the figures that ship.
        folder: with ``ratings.csv`` and ``movies.csv``.
    """
    users, films = movielens.load(folder).stars.shape
    eta = balancing_eta(users, films, config["plays"])
    policies = [one if np.isinf(one["eta"]) else one | {"eta": eta} for one in config["policies"]]
    dataset = {"kind": "films", "path": str(folder)}
    environment = config["environment"] | {"dataset": dataset}
    return config | {"horizon": users, "environment": environment, "policies": policies}
