"""What a server answers beside an earlier commit: both are measured by turns, so that other work hits both alike.

In every round each side has its turn in each part; the ratios of a round are those of its two turns. Beside the rates
stand the ratios of the processor time that the servers used per decision, which other work disturbs less.

- single: 32 clients request one decision after the other of one allocation; rewards one by one for these.
- batch: 8 clients request 100 at once; rewards 100 at once for these.
- many: 32 clients request one decision after the other, each of any of 1,000 allocations.

With several servers on one database, *many* is sent to any of them; *many routed* to the same for an allocation.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import numpy as np
import typer
from rich.console import Console
from scipy import stats

from load import BATCH, BATCHERS, CLIENTS, Generator, Json, Served, by_turns, created, serving
from report import SERVICE, AsJson, Table, Write, publish

ROOT = Path(__file__).parents[1]
PARTS = ("single", "single rewards", "batch", "batch rewards", "many", "many routed")


@dataclass
class Side:
    """A version of the package, with its servers on one database.

    Attributes:
        servers: of this version.
        one: the name of an allocation.
        many: the names of others.
        decided: decisions without rewards.
    """

    servers: Sequence[Served]
    one: str = ""
    many: Sequence[str] = ()
    decided: dict[str, list[list[Json]]] = field(default_factory=dict)

    async def prepare(self, session: aiohttp.ClientSession, allocations: int) -> None:
        """Create the allocations, and load them everywhere."""
        url = self.servers[0].url
        self.one, *self.many = [(await created(session, url, 10, "fucb"))[len(url) :] for _ in range(allocations + 1)]
        for path in (self.one, *self.many):
            for server in self.servers:
                await Generator(session, server.url + path).decide(1)

    async def turn(self, session: aiohttp.ClientSession, part: str, seconds: float) -> tuple[float, float, float]:
        """Decisions or rewards per second, processor time of the servers for each, and the 99th percentile of waits."""
        worked = sum(server.work() for server in self.servers)
        generators, clients, job = self._job(session, part, time.perf_counter() + seconds)
        taken = await by_turns(clients, job)
        items = sum(one.taken.items for one in generators)
        waits = np.concatenate([one.taken.waits for one in generators])
        worked = sum(server.work() for server in self.servers) - worked
        return items / taken, worked / items, float(np.quantile(waits, 0.99))

    def _job(
        self, session: aiohttp.ClientSession, part: str, end: float
    ) -> tuple[list[Generator], int, Callable[[], Awaitable[bool]]]:
        """The generators, the number of clients, and what each does over and over."""
        kind, _, about = part.partition(" ")
        clients, count = (BATCHERS, BATCH) if kind == "batch" else (CLIENTS, 1)
        if kind == "many":
            generators = [Generator(session, server.url) for server in self.servers]

            async def job() -> bool:
                number = random.randrange(len(self.many))
                chosen = generators[number % len(generators)] if about else random.choice(generators)
                await chosen.decide(1, self.many[number])
                return time.perf_counter() < end

            return generators, clients, job
        generator, waiting = Generator(session, self.servers[0].url + self.one), self.decided.setdefault(kind, [])

        async def decide() -> bool:
            waiting.append(await generator.decide(count))
            return time.perf_counter() < end

        async def reward() -> bool:
            if waiting:
                await generator.report(waiting.pop())
            return bool(waiting) and time.perf_counter() < end

        return [generator], clients, reward if about else decide


async def measured(
    sides: Sequence[Side], parts: Sequence[str], rounds: int, seconds: float, allocations: int, notes: Console
) -> dict[str, np.ndarray]:
    """The figures of all turns by part: an array of rounds × sides × figures."""
    figures: dict[str, list[Any]] = {part: [] for part in parts}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        for side in sides:
            await side.prepare(session, allocations)
        for number in range(rounds + 1):  # the first warms up
            for part in parts:
                order = (0, 1) if number % 2 else (1, 0)
                turns = {place: await sides[place].turn(session, part, seconds) for place in order}
                if number:
                    figures[part].append([turns[0], turns[1]])
            notes.print(f"round {number} of {rounds}")
    return {part: np.array(turns) for part, turns in figures.items()}


def ratio(turns: np.ndarray, figure: int) -> tuple[float, float, float]:
    """The ratio of the second side to the first and its 95% interval: mean and t interval of its logarithm."""
    logs = np.log(turns[:, 1, figure] / turns[:, 0, figure])
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    low, middle, high = np.exp(logs.mean() + np.array([-half, 0.0, half]))
    return float(middle), float(low), float(high)


@contextmanager
def source_of(commit: str) -> Iterator[Path]:
    """The source of a commit, in a worktree of its own."""
    with tempfile.TemporaryDirectory() as place:
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", f"{place}/tree", commit], check=True)
        try:
            yield Path(place) / "tree" / "src"
        finally:
            subprocess.run([*git, "remove", "--force", f"{place}/tree"], check=True)


def rows_of(kind: str, figures: dict[str, np.ndarray]) -> list[list[str]]:
    """Cells of the table: a row per part."""
    rows = []
    for part, turns in figures.items():
        old, new = np.median(turns, axis=0)
        faster, cheaper = ("{:.2f} ({:.2f} to {:.2f})".format(*ratio(turns, figure)) for figure in (0, 1))
        row = [f"{kind}, {part}", f"{old[0]:,.0f}", f"{new[0]:,.0f}", faster]
        rows.append([*row, f"{1e3 * old[1]:.3f}", f"{1e3 * new[1]:.3f}", cheaper, f"{1e3 * new[2]:.0f}"])
    return rows


def main(
    beside: Annotated[str, typer.Option(help="The commit to compare with.")],
    postgresql: Annotated[list[str] | None, typer.Option(help="URLs of two empty databases; else SQLite.")] = None,
    servers: Annotated[int, typer.Option(min=1, help="On each database, for *many*.")] = 1,
    part: Annotated[list[str] | None, typer.Option(help=f"Repeat for more: {', '.join(PARTS)}.")] = None,
    rounds: Annotated[int, typer.Option(min=2)] = 8,
    seconds: Annotated[float, typer.Option(min=0.5, help="For which each turn lasts.")] = 2.0,
    allocations: Annotated[int, typer.Option(min=1, help="For *many*.")] = 1_000,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure."""
    notes, parts = Console(stderr=True), part or [one for one in PARTS if servers > 1 or one != "many routed"]
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory())
        databases = postgresql or [f"{place}/{side}.db" for side in ("old", "new")]
        sides = []
        for database, source in zip(databases, (stack.enter_context(source_of(beside)), ROOT / "src"), strict=True):
            sides.append(Side([stack.enter_context(serving(database, source)) for _ in range(servers)]))
        figures = asyncio.run(measured(sides, parts, rounds, seconds, allocations, notes))
    kind = "PostgreSQL" if postgresql else "SQLite"
    columns = ("before", "now", "ratio (95%)", "ms of processor before", "now", "ratio (95%)", "p99 ms")
    table = Table("load-beside", f"per second, beside {beside}", ("database, part", *columns), rows_of(kind, figures))
    publish(
        [table],
        {"beside": beside, "turns": {part: turns.tolist() for part, turns in figures.items()}},
        packages=("evenhand", "fastapi", "uvicorn", "sqlalchemy", "aiohttp"),
        method=f"{rounds} rounds of {seconds:g} seconds per part and side, {servers} server(s) on each database",
        code=SERVICE,
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
