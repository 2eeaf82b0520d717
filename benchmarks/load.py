"""Durable decisions and reports a second over HTTP, and how long each takes; the generator runs on the same cores.

A server is started for each database and number of arms. All traffic goes to the loopback address and stops by itself.

- single: 32 clients, each asks for one decision after the other.
- batch: 8 clients, each asks for 100 decisions at once, over and over.
- steady: 300 single decisions a second, at even intervals, whether or not the earlier ones are answered.
- report: 32 clients report the singles one by one; 8 clients report the batches, 100 at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import numpy as np
import typer
from rich.console import Console

from report import SERVICE, Aim, AsJson, Table, Write, aims_table, publish

CLIENTS, BATCHERS, BATCH, RATE = 32, 8, 100, 300
AIMS = {"single": 1_000.0, "batch": 20_000.0, "steady": 0.050}  # a second, a second, seconds at the 99th percentile
Json = dict[str, Any]


@dataclass
class Taken:
    """What a part took: requests, what they were about, and how long each was waited for."""

    seconds: float = 0.0
    items: int = 0
    waits: list[float] = field(default_factory=list)

    def figures(self) -> Json:
        """Rate and quantiles."""
        return {
            "per_second": self.items / self.seconds,
            "p50_ms": 1e3 * float(np.quantile(self.waits, 0.5)),
            "p99_ms": 1e3 * float(np.quantile(self.waits, 0.99)),
        }


@dataclass
class Generator:
    """Sends requests to one allocation."""

    session: aiohttp.ClientSession
    where: str
    taken: Taken = field(default_factory=Taken)

    async def send(self, what: str, body: bytes, items: int) -> Json:
        """One request, with a key of its own, timed."""
        begun = time.perf_counter()
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        async with self.session.post(f"{self.where}{what}", data=body, headers=headers) as answer:
            text = await answer.read()
        self.taken.waits.append(time.perf_counter() - begun)
        if answer.status != 200:
            raise SystemExit(f"{what} was answered with {answer.status}: {text[:500]!r}")
        self.taken.items += items
        found: Json = json.loads(text)
        return found

    async def decide(self, count: int, path: str = "") -> list[Json]:
        """So many decisions, of an allocation whose path may be given."""
        found: list[Json] = (await self.send(f"{path}/decisions", b'{"count":%d}' % count, count))["decisions"]
        return found

    async def report(self, decided: list[Json]) -> None:
        """A reward for each of these."""
        rewards = [{"decision": one["id"], "rewards": dict.fromkeys(_arms(one), 1.0)} for one in decided]
        found = await self.send("/rewards", json.dumps({"rewards": rewards}).encode(), len(decided))
        if any(answer["status"] != "accepted" for answer in found["results"]):
            raise SystemExit(f"a report was not accepted: {found}")


async def by_turns(clients: int, job: Callable[[], Awaitable[bool]]) -> float:
    """Seconds in which clients, each busy with a job over and over, are done: a job that returns False was the last."""

    async def client() -> None:
        while await job():
            pass

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - begun


async def measured(url: str, arms: int, algorithm: str, seconds: float) -> dict[str, Json]:
    """All parts, on an allocation of its own."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        where = await created(session, url, arms, algorithm)
        await Generator(session, where).decide(10)
        singles, batches = await decided(session, where, seconds)
        return singles | batches | {"steady": await steady(Generator(session, where), seconds)}


def _arms(decision: Json) -> list[str]:
    """Who plays; before a decision had a propensity for each, it had their names alone."""
    return [arm if isinstance(arm, str) else arm["arm"] for arm in decision["arms"]]


async def created(session: aiohttp.ClientSession, url: str, arms: int, algorithm: str) -> str:
    """The address of a new allocation."""
    name = f"load-{uuid.uuid4().hex[:8]}"
    body: Json = {"name": name, "arms": [f"arm {number}" for number in range(arms)], "algorithm": algorithm, "seed": 1}
    if algorithm == "fucb":
        body["parameters"] = {"fractions": [0.5 / arms] * arms}
    for more in ({"missing": "never"}, {}):  # which had another word before
        async with session.post(f"{url}/v1/allocations", json=body | more) as answer:
            if answer.status == 201:
                return f"{url}/v1/allocations/{name}"
    raise SystemExit(await answer.text())


async def decided(
    session: aiohttp.ClientSession, where: str, seconds: float
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Decisions one by one and a hundred at once, and the reports of both."""
    results: list[dict[str, Json]] = []
    for part, clients, count in (("single", CLIENTS, 1), ("batch", BATCHERS, BATCH)):
        asking, made = Generator(session, where), list[list[Json]]()
        end = time.perf_counter() + seconds

        async def ask(
            asking: Generator = asking, made: list[list[Json]] = made, end: float = end, n: int = count
        ) -> bool:
            made.append(await asking.decide(n))
            return time.perf_counter() < end

        asking.taken.seconds = await by_turns(clients, ask)
        reporting, left = Generator(session, where), list(made)

        async def report(reporting: Generator = reporting, left: list[list[Json]] = left) -> bool:
            if left:
                await reporting.report(left.pop())
            return bool(left)

        reporting.taken.seconds = await by_turns(clients, report)
        results.append({part: asking.taken.figures(), f"{part} reports": reporting.taken.figures()})
    return results[0], results[1]


async def steady(generator: Generator, seconds: float) -> Json:
    """Decisions at even intervals; the wait of each counts from when it was due."""
    begun, jobs = time.perf_counter(), []
    for number in range(int(RATE * seconds)):
        await asyncio.sleep(max(0.0, begun + number / RATE - time.perf_counter()))
        jobs.append(asyncio.create_task(generator.decide(1)))
    await asyncio.gather(*jobs)
    generator.taken.seconds = time.perf_counter() - begun
    return generator.taken.figures()


# --- the server -------------------------------------------------------------------------------------------------------


@dataclass
class Served:
    """A server in a process of its own."""

    url: str
    process: subprocess.Popen[bytes]

    def work(self) -> float:
        """Seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(database: str, source: Path | None = None) -> Iterator[Served]:
    """A server on a database; of another version of the package if its source is given."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "evenhand.cli.main",
        "serve",
        "--database",
        database,
        "--port",
        str(port),
        "--no-keys",
    ]
    environment = os.environ if source is None else os.environ | {"PYTHONPATH": str(source)}
    server = subprocess.Popen([*command, "--log-level", "error"], stdout=subprocess.DEVNULL, env=environment)
    try:
        asyncio.run(_answers(f"http://127.0.0.1:{port}", server))
        yield Served(f"http://127.0.0.1:{port}", server)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


async def _answers(url: str, server: subprocess.Popen[bytes]) -> None:
    async with _session() as session:
        for _ in range(1200):
            if server.poll() is not None:
                raise SystemExit("the server ended")
            try:
                async with session.get(f"{url}/readyz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    raise SystemExit("the server does not answer")


@asynccontextmanager
async def _session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


# --- results ----------------------------------------------------------------------------------------------------------


def table_of(runs: list[Json]) -> Table:
    """Rates per second and milliseconds, a row per database, policy and number of arms."""
    cells = []
    for run in runs:
        row = [f"{run['database']}, `{run['algorithm']}`, {run['arms']:,}"]
        for part in ("single", "batch"):
            figures = run["parts"][part]
            row += [f"{figures['per_second']:,.0f}", f"{figures['p50_ms']:.0f}", f"{figures['p99_ms']:.0f}"]
            row.append(f"{run['parts'][f'{part} reports']['per_second']:,.0f}")
        steady = run["parts"]["steady"]
        cells.append([*row, f"{steady['p50_ms']:.1f}", f"{steady['p99_ms']:.1f}"])
    columns = ("single", "p50", "p99", "rewards", "batch", "p50", "p99", "rewards", "steady p50", "p99")
    title = "decisions and rewards per second, and milliseconds"
    return Table("load", title, ("database, policy, arms", *columns), cells)


def aims(runs: list[Json]) -> list[Aim]:
    """What was aimed at with ten arms, and whether it was reached."""
    results = []
    for run in (run for run in runs if run["arms"] == 10):
        for part, aim in AIMS.items():
            where, figures = f"{run['database']}, `{run['algorithm']}`, 10 arms: ", run["parts"][part]
            if part == "steady":
                text = f"{where}p99 under {aim * 1e3:.0f} ms at {RATE} per second"
                results.append(Aim(text, figures["p99_ms"], figures["p99_ms"] < aim * 1e3))
            else:
                text = f"{where}{aim:,.0f} decisions per second, {part}"
                results.append(Aim(text, figures["per_second"], figures["per_second"] >= aim))
    return results


def main(
    postgresql: Annotated[str | None, typer.Option(help="URL of an empty database; left out: SQLite only.")] = None,
    arms: Annotated[list[int] | None, typer.Option(help="Repeat for more; left out: 10, 1,000 and 100,000.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Repeat for more; left out: ucb1 and fucb.")] = None,
    seconds: Annotated[float, typer.Option(min=0.5, help="For which each part lasts.")] = 5.0,
    folder: Annotated[Path | None, typer.Option(help="For the SQLite file; left out: a temporary one.")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure."""
    notes, runs = Console(stderr=True), []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for kind, database in {"SQLite": f"{place}/load.db", "PostgreSQL": postgresql}.items():
            if database is None:
                continue
            with serving(database) as server:
                for many in arms or [10, 1_000, 100_000]:
                    for name in algorithm or ["ucb1", "fucb"]:
                        notes.print(f"{kind}, {name}, {many:,} arms …")
                        parts = asyncio.run(measured(server.url, many, name, seconds))
                        runs.append({"database": kind, "algorithm": name, "arms": many, "parts": parts})
    publish(
        [table_of(runs), aims_table("load-aims", aims(runs))],
        {"runs": runs, "aims": [vars(aim) for aim in aims(runs)]},
        packages=("evenhand", "fastapi", "uvicorn", "sqlalchemy", "aiohttp"),
        method=f"{seconds:g} seconds per part",
        code=SERVICE,
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
