"""Memory of a bandit over a million decisions, whose reports come late, come too late, or never come.

A decision a second; a report takes five minutes on average and is waited for a quarter of an hour; one in ten never
comes. Printed each tenth of the way: the peak of the process's memory so far and the length of everything that is kept.
"""

from __future__ import annotations

import heapq
import json
import resource
import sys
import time
from typing import Annotated, Any

import numpy as np
import typer

from common import AsJson, console_for_tables, surroundings, table_of
from evenhand.online import Bandit

ARMS = tuple(f"arm {place}" for place in range(10))
WINDOW, DELAY, NEVER, OUTAGE = 900.0, 300.0, 0.1, 0.2  # seconds, seconds, shares of the reports and of the rounds
ROOM = 4.0  # bytes of every decision after the first tenth: half a place in a list, so nothing can be kept of each
Decisions = Annotated[int, typer.Option(min=10, help="How many.")]


def live(bandit: Bandit, rounds: int, rng: np.random.Generator, due: list[tuple[float, str, str]]) -> None:
    """Decisions, one a second, and the reports that come meanwhile."""
    for _ in range(rounds):
        now = float(bandit.state.round)
        while due and due[0][0] <= now:
            _, decision, arm = heapq.heappop(due)
            bandit.observe(decision, {arm: float(rng.random() < 0.5)}, now=now)
        choice = bandit.decide(available=ARMS[:5] if rng.random() < OUTAGE else None, now=now)
        if rng.random() >= NEVER:
            heapq.heappush(due, (now + rng.exponential(DELAY), choice.id, choice.arms[0]))


def kept(bandit: Bandit) -> dict[str, float]:
    """Lengths of what is kept for a while, and megabytes at most so far."""
    audit = bandit.audit(now=float(bandit.state.round))
    found: dict[str, float] = {
        "rounds": bandit.state.round,
        "waiting": len(bandit.book.waiting),
        "settled": len(bandit.book.settled),
        "available": len(bandit.dump()["available"]["rounds"]),
        "delays": len(bandit.tallies.delays),
        "trail": len(bandit.trail.rounds),
        "dumped kB": len(json.dumps(bandit.dump())) / 1000.0,
        "lost": sum(line.lost for line in audit.lines),
        "late": sum(line.late for line in audit.lines),
    }
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return found | {"peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit}


def main(decisions: Decisions = 1_000_000, algorithm: str = "fucb", as_json: AsJson = False) -> None:
    """Run a bandit for long and print what it keeps; status 1 if its memory grows."""
    console = console_for_tables(as_json)
    given: dict[str, Any] = {"fractions": [0.05] * len(ARMS)} if algorithm == "fucb" else {}
    bandit, rng = Bandit(ARMS, algorithm, window=WINDOW, **given), np.random.default_rng(1)
    due: list[tuple[float, str, str]] = []
    rows, started = [], time.perf_counter()
    for _ in range(10):
        live(bandit, decisions // 10, rng, due)
        rows.append(kept(bandit))
    table = table_of(f"{algorithm}, {time.perf_counter() - started:.0f} seconds", rows[0])
    for row in rows:
        table.add_row(*(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in row.values()))
    console.print(table)
    grown = 2**20 * (rows[-1]["peak MB"] - rows[0]["peak MB"]) / (0.9 * decisions)
    console.print(f"{grown:.2f} bytes a decision after the first tenth: {'flat' if grown <= ROOM else 'NOT flat'}")
    if as_json:
        print(json.dumps(surroundings(1, ("evenhand", "numpy")) | {"unit": "", "rows": rows}, indent=2))
    raise typer.Exit(int(grown > ROOM))


if __name__ == "__main__":
    typer.run(main)
