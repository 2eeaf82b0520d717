"""Allocations of every algorithm, and a piece of the life of each.

``python -m tests.service.store.lives DATABASE FIRST LAST`` goes on with it as on another processor, with another NumPy.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.bandit.record import Chance
from evenhand.changes import AddArm
from evenhand.service.store import Change, Decide, Reward, Store, Total
from evenhand.service.store.database import Database
from evenhand.service.store.verify import verify
from tests.bandit.test_bandit import ARMS, FIXED, ORDERED, PARAMETERS

MERIT = {"kind": "power", "exponent": 3.3}
#: Every algorithm, and some with other parameters, by the name of its allocation.
LIVES: dict[str, dict[str, Any]] = {
    **{name: {"algorithm": name, "parameters": parameters} for name, parameters in PARAMETERS.items()},
    "fcts_d-steep": {"algorithm": "fcts_d", "parameters": {"merit": MERIT}, "plays": 2},
    "clw-gain": {"algorithm": "clw", "parameters": {**PARAMETERS["clw"], "style": "gain"}},
    "ars_exp3-totals": {"algorithm": "ars_exp3", "parameters": PARAMETERS["ars_exp3"]},
    "late": {"algorithm": "thompson", "parameters": {}, "window": 50.0, "missing": "zero"},
    "mature": {
        "algorithm": "f_ts",
        "parameters": {**PARAMETERS["f_ts"], "evidence": "mature"},
        "window": 50.0,
        "missing": "zero",
    },
    "euros": {"algorithm": "lfg", "parameters": PARAMETERS["lfg"], "rewards": (1.2, 18.0)},
    "features": {
        "algorithm": {
            "index": {"kind": "lin_ts"},
            "fairness": {"kind": "virtual_queue", "fractions": 0.1, "eta": "auto"},
            "selection": {"kind": "exploration_floor", "floor": 0.05},
        },
        "parameters": {},
        "window": 50.0,
        "missing": "zero",
        "features": {"situation": {"age": {"kind": "number", "low": 0, "high": 100, "missing": 40}}},
    },
}


def create(store: Store) -> None:
    """Make the allocations."""
    for name, settings in LIVES.items():
        store.create(name, ARMS, seed=5, **settings)


def known(name: str, chance: random.Random) -> dict[str, Any] | None:
    """The features of a round, where there are any."""
    return {"age": chance.choice([None, chance.uniform(-5.0, 105.0)])} if "features" in LIVES[name] else None


def live(store: Store, name: str, first: int, last: int) -> None:
    """Some rounds of an allocation; what is rewarded depends on the round alone."""
    settings = LIVES[name]
    low, high = settings.get("rewards", (0.0, 1.0))
    for round in range(first, last + 1):
        chance = random.Random(round)
        available = chance.sample(ARMS, 3) if chance.random() < 0.3 else None
        (decision,) = store.run(name, Decide(available=available, features=known(name, chance))).decisions
        if name.endswith("totals"):
            store.run(name, Total(chance.random()))
        elif chance.random() < 0.8:
            rewards = {arm: low + (high - low) * chance.random() for arm in decision.names}
            store.run(name, Reward([(decision.id, rewards)]))
        fixed = isinstance(settings["algorithm"], str) and settings["algorithm"] in FIXED | ORDERED
        if round == 30 and not fixed and "penalties" not in settings["parameters"]:
            store.run(name, Change(AddArm("white")))


def differ() -> None:
    """Round elementary functions differently, as other processors do, and draw other numbers, as another NumPy may."""

    def rounded(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: np.nextafter(function(*args, **options), np.inf)

    for name in ("exp", "log", "power"):
        setattr(np, name, rounded(getattr(np, name)))
    drawn = Chance.deciding
    other: Any = lambda chance, round: drawn(chance, round + 1_000_000)  # noqa: E731
    Chance.deciding = other  # type: ignore[method-assign]


def main(database: str, first: int, last: int) -> None:
    """A piece of the life of every allocation, and whether all of it verifies."""
    differ()
    store = Store.open(database)
    for name in LIVES:
        live(store, name, first, last)
    store.close()
    found = verify(Database(database, read_only=True))
    print("\n".join(found.faults))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
