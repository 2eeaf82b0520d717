"""Leased decisions per second of processor time, of client and store together, and how much larger deficits get.

A lease is granted, drawn and reported, with the rewards of one decision in twenty, on SQLite. The excess is the
largest deficit of what was played in truth, after every decision of a lease, beyond that of single decisions.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.bandit import Bandit
from evenhand.client.leases import LeasedDecisions
from evenhand.service.store import LeaseRounds, ReportLease, Store
from report import BANDIT, AsJson, Table, Write, names_of, publish

SIZES = (100, 1_000, 10_000, 100_000)  # decisions of a lease
ARMS, SHARE = 10, 0.05
REWARDED, BLOCK = 20, 1_000  # one decision in so many has a reward; decisions that are drawn at a time
Seconds = Annotated[float, typer.Option(min=0.1, help="For each size of a lease and form of units.")]


def speed(size: int, units: bool, seconds: float) -> tuple[float, float, float]:
    """Decisions per second in all, decisions per second of drawing alone, and milliseconds of the store per lease."""
    arms, leases, drawing, begin = [f"arm {place}" for place in range(ARMS)], 0, 0.0, time.process_time()
    names = [f"user-{place % 1000}" for place in range(size)] if units else None
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"{folder}/leases.db")
        store.create("ads", arms, "fucb", parameters={"fractions": SHARE}, seed=1)
        begin = time.process_time()
        while time.process_time() - begin < seconds:
            leased = LeasedDecisions(store.run("ads", LeaseRounds(size, units=units)))
            drawn = time.process_time()
            rewarded = [
                leased.draw_many(min(BLOCK, size), names and names[first : first + BLOCK])[::REWARDED]
                for first in range(0, size, BLOCK)
            ]
            drawing += time.process_time() - drawn
            for decision in itertools.chain.from_iterable(rewarded):
                leased.reward(decision.position, decision.names[0], 1.0)
            body, _ = leased.body()
            rewards = {arm: (some["positions"], some["values"]) for arm, some in body["rewards"].items()}
            store.run("ads", ReportLease(leased.lease.id, body["played"], rewards, body.get("columns")))
            leases += 1
        spent = time.process_time() - begin
        store.close()
    return leases * size / spent, leases * size / drawing, 1000.0 * (spent - drawing) / leases


def excess(size: int, rounds: int) -> float:
    """By how many plays the largest deficit is above that of single decisions."""
    arms = [f"arm {place}" for place in range(ARMS)]
    single, leased = (Bandit(arms, "fucb", fractions=SHARE, seed=1) for _ in range(2))
    place, plays, worst = {arm: number for number, arm in enumerate(arms)}, np.zeros(ARMS), -np.inf
    for first in range(0, rounds, size):
        lease = leased.lease(size)
        for position, decision in enumerate(LeasedDecisions(lease).draw_many(size), start=first + 1):
            plays[place[decision.names[0]]] += 1.0
            worst = max(worst, float((SHARE * position - plays).max()))
        leased.report(lease.id, size)
    largest = -np.inf
    for _ in range(rounds):
        single.decide()
        largest = max(largest, float(single._record.owed().max()))
    return worst - largest


def shown(value: float) -> str:
    """A figure for the table."""
    return f"{value:,.2f}" if isinstance(value, float) and abs(value) < 1000.0 else f"{value:,.0f}"


def main(seconds: Seconds = 3.0, as_json: AsJson = False, write: Write = False) -> None:
    """Time leases of several sizes, for units as well, and print the largest excess of a deficit."""
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        total, drawn, cost = speed(size, False, seconds)
        row = {"decisions": size, "per second": total, "drawn per second": drawn, "ms per lease": cost}
        row["per second, units"] = speed(size, True, seconds)[0]
        rows.append(row | {"excess": excess(size, max(size, 5_000))})
    cells = [[shown(value) for value in row.values()] for row in rows]
    publish(
        [Table("leases", "leased decisions", list(rows[0]), cells)],
        {"rows": rows},
        packages=("evenhand", "numpy"),
        method=f"processor time of one process, {seconds:g} s per figure; a reward for one decision in {REWARDED}",
        code=BANDIT + names_of(Store, LeasedDecisions),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
