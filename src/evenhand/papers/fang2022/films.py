"""Setting 3: films with many ratings, and the fractions and grids that belong to their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.datasets import popular

FILMS = {13: 2500, 31: 2000, 118: 1250}  # films in MovieLens 1M with more ratings than that
SHARE = 0.8  # τ of setting 3, shared by all films: ours


def film_grids(config: dict[str, Any], films: int) -> dict[str, Any]:
    """A configuration of setting 3 with the fractions and the grids that belong to a number of films."""
    share = round(SHARE / films, 10)
    etas = config["policies"][0]["grid"]["penalties"]
    tails = [round((1.0 - eta) * SHARE / films * config["horizon"], 6) for eta in etas]
    grids: list[dict[str, Any]] = [{"penalties": etas}, {"tolerance": tails}, {"eta": tails}]
    policies = [policy | {"grid": grid} for policy, grid in zip(config["policies"], grids, strict=True)]
    environment = config["environment"] | {"fractions": [share] * films}
    return config | {"environment": environment, "policies": policies}


def on_films(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A configuration of setting 3 on a copy of MovieLens.

    The paper's number of ratings counts where it leaves as many films as in the paper, which it does in MovieLens 1M;
    elsewhere the number that leaves as near to it as ties allow.
    """
    found = popular.count(folder)
    films = len(config["environment"]["fractions"])
    more_than = FILMS[films] if found.above(FILMS[films]) == films else found.threshold(films)
    dataset = {"kind": "popular", "path": str(folder), "more_than": more_than}
    changed = film_grids(config, found.above(more_than))
    return changed | {"environment": changed["environment"] | {"dataset": dataset}}
