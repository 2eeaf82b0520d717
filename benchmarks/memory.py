"""Memory of a bandit over a million decisions, whose reports come late, come too late, or never come.

A decision a second; a report takes five minutes on average and is waited for a quarter of an hour; one in ten never
comes. Printed each tenth of the way: the peak of the process's memory so far and the length of everything that is kept.
"""

from __future__ import annotations

import heapq
import json
import resource
import sys
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.bandit import Bandit
from report import BANDIT, AsJson, Table, Write, publish

ARMS = tuple(f"arm {place}" for place in range(10))
WINDOW, DELAY, NEVER, OUTAGE = 900.0, 300.0, 0.1, 0.2  # seconds, seconds, shares of the reports and of the rounds
ROOM = 4.0  # bytes of every decision after the first tenth: half a place in a list, so nothing can be kept of each
Decisions = Annotated[int, typer.Option(min=10, help="How many.")]


def live(bandit: Bandit, rounds: int, rng: np.random.Generator, due: list[tuple[float, str, str]]) -> None:
    """Decisions, one a second, and the reports that come meanwhile."""
    for _ in range(rounds):
        now = float(bandit._record.state.round)
        while due and due[0][0] <= now:
            _, decision, arm = heapq.heappop(due)
            bandit.observe(decision, {arm: float(rng.random() < 0.5)}, now=now)
        choice = bandit.decide(available=ARMS[:5] if rng.random() < OUTAGE else None, now=now)
        if rng.random() >= NEVER:
            heapq.heappush(due, (now + rng.exponential(DELAY), choice.id, choice.names[0]))


def kept(bandit: Bandit) -> dict[str, float]:
    """Lengths of what is kept for a while, and megabytes at most so far."""
    audit = bandit.audit(now=float(bandit._record.state.round))
    found: dict[str, float] = {
        "rounds": bandit._record.state.round,
        "waiting": len(bandit._record.pending.waiting),
        "settled": len(bandit._record.pending.settled),
        "available": len(bandit.dump()["available"]["rounds"]),
        "delays": len(bandit._record.statistics.delays),
        "deficits": len(bandit._record.deficit_history.rounds),
        "dumped kB": len(json.dumps(bandit.dump())) / 1000.0,
        "lost": sum(line.lost for line in audit.lines),
        "late": sum(line.late for line in audit.lines),
    }
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return found | {"peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit}


def main(
    decisions: Decisions = 1_000_000, algorithm: str = "fucb", as_json: AsJson = False, write: Write = False
) -> None:
    """Run a bandit for long and print what it keeps; status 1 if its memory grows."""
    parameters: dict[str, Any] = {"fractions": [0.05] * len(ARMS)} if algorithm == "fucb" else {}
    bandit, rng = Bandit(ARMS, algorithm, window=WINDOW, **parameters), np.random.default_rng(1)
    due: list[tuple[float, str, str]] = []
    rows = []
    for _ in range(10):
        live(bandit, decisions // 10, rng, due)
        rows.append(kept(bandit))
    cells = [[f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in row.values()] for row in rows]
    grown = 2**20 * (rows[-1]["peak MB"] - rows[0]["peak MB"]) / (0.9 * decisions)
    publish(
        [Table("memory", f"memory of {algorithm}", list(rows[0]), cells)],
        {"rows": rows, "bytes_per_decision": grown},
        packages=("evenhand", "numpy"),
        method=f"{grown:.2f} bytes per decision after the first tenth",
        code=BANDIT,
        as_json=as_json,
        write=write,
    )
    print(f"{grown:.2f} bytes per decision: {'flat' if grown <= ROOM else 'NOT flat'}", file=sys.stderr)
    raise typer.Exit(int(grown > ROOM))


if __name__ == "__main__":
    typer.run(main)
