"""How long one key waits for a decision while another key sends all that it is allowed, beside an earlier commit.

Both sides are measured by turns, each with a server on a new SQLite file. The one key asks for a decision 50 times a
second, whether or not the earlier ones are answered; the other, in a process of its own with a lower priority, sends to
allocations of its own, over as many connections as the table below says, and waits as an answer asks it to.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from load import serving
from load_beside import ROOT, source_of
from report import SERVICE, Aim, AsJson, Table, Write, aims_table, publish

EVERY = 0.02  # seconds between decisions of the one
AIM = 3.0  # times what it waits when nobody else asks, at the 99th percentile
LARGE, PATIENCE = 500, 120.0  # arms of the allocation of batches; seconds
SPAWN = multiprocessing.get_context("spawn")
SCOPES = ("administer", "decide", "reward", "read")


class Line:
    """A connection that is kept, to a server on this computer, with a key."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes, bytes]:
        """Status, headers and content of the answer."""
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"POST /v1/allocations{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        await self._writer.drain()
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        size = int(answer.partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        content = await self._reader.readexactly(size)
        if b"connection: close" in answer:
            self.close()
        return int(answer.split(b" ", 2)[1]), answer, content

    def close(self) -> None:
        """Close it; another one is opened when it is needed."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


@dataclass(frozen=True)
class Flood:
    """What the other key sends."""

    words: str
    lines: int
    path: str
    body: Callable[[], bytes]


def empty_entries(size: int) -> bytes:
    """A body of rewards without a decision, of that many bytes."""
    return b'{"rewards":[' + b",".join([b"{}"] * ((size - 14) // 3)) + b"]}"


def long_names(number: int) -> bytes:
    """So many names of 4,000 letters, which are parsed, as a list may have values of that size."""
    return b'{"available":[%s]}' % b",".join([b'"%s"' % (b"a" * 4_000)] * number)


def unknown_rewards() -> bytes:
    """1,000 rewards of arms that there are not, as many as allowed."""
    one = b'{"decision":"1","rewards":{"arm %d":1.0}}'
    return b'{"rewards":[' + b",".join(one % number for number in range(1_000)) + b"]}"


FLOODS = {
    "quiet": Flood("nothing", 0, "", bytes),
    "singles": Flood("single decisions", 200, "/small/decisions", lambda: b"{}"),
    "entries": Flood("bodies of 32 KiB with empty entries", 200, "/small/rewards", lambda: empty_entries(2**15 - 20)),
    "few": Flood("bodies of 8 KiB with empty entries", 200, "/small/rewards", lambda: empty_entries(2**13)),
    "rewards": Flood("1,000 rewards of unknown arms", 200, "/small/rewards", unknown_rewards),
    "names": Flood(
        "12,000 names that there are not", 20, "/small/decisions", lambda: b'{"available":[%s]}' % _names(12_000)
    ),
    "strings": Flood("8 MiB in a name", 20, "/small/decisions", lambda: b'{"available":["%s"]}' % (b"a" * 8_388_000)),
    "long": Flood("8 MiB in names of 4,000 letters", 20, "/small/decisions", lambda: long_names(2_090)),
    "batches": Flood("1,000 decisions among 500 arms", 20, "/large/decisions", lambda: b'{"count":1000}'),
    "leases": Flood("leases of one round", 50, "/small/leases", lambda: b'{"decisions":1,"seconds":3600}'),
}


def _names(number: int) -> bytes:
    return b",".join(b'"arm %d"' % place for place in range(number))


# --- who asks ---------------------------------------------------------------------------------------------------------


async def asks(port: int, key: str, seconds: float) -> list[float]:
    """How long the one waits for each decision, in seconds."""
    free: list[Line] = []
    waits: list[float] = []

    async def ask() -> None:
        line = free.pop() if free else Line(port, key)
        begun = time.perf_counter()
        status, _, content = await line.post("/one/decisions", b"{}")
        waits.append(time.perf_counter() - begun)
        if status != 200:
            raise SystemExit(f"the one was answered with {status}: {content[:500]!r}")
        free.append(line)

    begun, jobs = time.perf_counter(), []
    for number in range(int(seconds / EVERY)):
        await asyncio.sleep(max(0.0, begun + EVERY * number - time.perf_counter()))
        jobs.append(asyncio.create_task(ask()))
    await asyncio.gather(*jobs)
    for line in free:
        line.close()
    return waits


def flooding(name: str, port: int, key: str, seconds: float, begun: Any, answers: Any) -> None:
    """Send all that is allowed, for so many seconds, in a process of its own."""
    os.nice(5)
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    begun.set()
    answers.put(asyncio.run(_flooded(FLOODS[name], port, key, seconds)))


async def _flooded(flood: Flood, port: int, key: str, seconds: float) -> Counter[int]:
    body, end, counted = flood.body(), time.perf_counter() + seconds, Counter[int]()

    async def send() -> None:
        line = Line(port, key)
        while time.perf_counter() < end:
            try:
                status, headers, _ = await line.post(flood.path, body)
            except (OSError, asyncio.IncompleteReadError):
                status, headers = 0, b""
                line.close()
            counted[status] += 1
            if b"retry-after: " in headers:
                await asyncio.sleep(float(headers.partition(b"retry-after: ")[2].split(b"\r\n", 1)[0]))
        line.close()

    await asyncio.gather(*(send() for _ in range(flood.lines)))
    return counted


def turn(name: str, port: int, keys: Sequence[str], seconds: float) -> tuple[list[float], Counter[int]]:
    """How long the one waits while the other sends, and how the other was answered."""
    answers, begun = SPAWN.Queue(), SPAWN.Event()
    other = SPAWN.Process(target=flooding, args=(name, port, keys[1], seconds + 1.0, begun, answers))
    if FLOODS[name].lines:
        other.start()
        begun.wait(PATIENCE)  # until it has imported what it needs
        time.sleep(0.5)  # it sends for a while before
    waits = asyncio.run(asks(port, keys[0], seconds))
    if not FLOODS[name].lines:
        return waits, Counter()
    counted = answers.get(timeout=PATIENCE)
    other.join()
    time.sleep(0.5)
    return waits, counted


# --- the sides --------------------------------------------------------------------------------------------------------


@contextmanager
def side(place: Path, source: Path) -> Iterator[tuple[int, list[str]]]:
    """A server of a version on a new database with two keys and three allocations: its port and the secrets."""
    database, keys = str(place / "evenhand.db"), []
    for name in ("one", "other"):
        command = [sys.executable, "-m", "evenhand.cli.main", "keys", "create", name, "--database", database]
        command += [word for scope in SCOPES for word in ("--scope", scope)]
        environment = os.environ | {"PYTHONPATH": str(source)}
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        keys.append(next(word for word in said.split() if word.startswith("evh_")))
    with serving(database, source) as server:
        port = int(server.url.rpartition(":")[2])
        asyncio.run(_prepared(port, keys))
        yield port, keys


async def _prepared(port: int, keys: Sequence[str]) -> None:
    line = Line(port, keys[0])
    for name, arms, algorithm in (("one", 10, "fucb"), ("small", 10, "fucb"), ("large", LARGE, "thompson")):
        listed = ",".join(f'"arm {number}"' for number in range(arms))
        parameters = ',"parameters":{"fractions":0.05}' if algorithm == "fucb" else ""
        body = f'{{"name":"{name}","arms":[{listed}],"algorithm":"{algorithm}","missing":"never","seed":1{parameters}}}'
        status, _, content = await line.post("", body.encode())
        if status != 201:
            raise SystemExit(f"{name} was not created: {content!r}")
        await line.post(f"/{name}/decisions", b'{"count":10}')
    line.close()


def measured(
    sources: Sequence[Path], names: Sequence[str], rounds: int, seconds: float, folder: Path | None, notes: Console
) -> dict[str, Any]:
    """Waits and answers by what is sent: a list of rounds × sides."""
    found: dict[str, Any] = {name: [] for name in names}
    for number in range(rounds):
        for name in names:
            pair: dict[int, Any] = {}
            for which in range(len(sources))[:: 1 if number % 2 else -1]:
                with tempfile.TemporaryDirectory(dir=folder) as place, side(Path(place), sources[which]) as made:
                    port, keys = made
                    turn("quiet", port, keys, 1.0)  # warms up
                    pair[which] = turn(name, port, keys, seconds)
                waits = np.array(pair[which][0])
                quantiles = " / ".join(f"{1e3 * np.quantile(waits, part):.1f}" for part in (0.5, 0.99, 1.0))
                notes.print(f"round {number + 1}, {name}, {('now', 'before')[which]}: {quantiles} ms, {pair[which][1]}")
            found[name].append([pair[which] for which in range(len(sources))])
    return found


def percentile(found: Sequence[Any], which: int, part: float) -> float:
    """Milliseconds, of the waits of all rounds together."""
    return 1e3 * float(np.quantile(np.concatenate([turns[which][0] for turns in found]), part))


def main(
    beside: Annotated[str | None, typer.Option(help="A commit to compare with; left out: none.")] = None,
    flood: Annotated[list[str] | None, typer.Option(help=f"Repeat for more: {', '.join(FLOODS)}.")] = None,
    rounds: Annotated[int, typer.Option(min=1)] = 2,
    seconds: Annotated[float, typer.Option(min=1.0, help="For which each turn lasts.")] = 4.0,
    folder: Annotated[
        Path | None, typer.Option(help="For the SQLite files; in memory, such as /dev/shm, the disk does not count.")
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure."""
    names = list(dict.fromkeys(["quiet", *(flood or FLOODS)]))
    with ExitStack() as stack:
        sources = [ROOT / "src", *([stack.enter_context(source_of(beside))] if beside else [])]
        found = measured(sources, names, rounds, seconds, folder, Console(stderr=True))
    rows, aims = [], []
    for name in names:
        cells = [
            f"{percentile(found[name], which, part):.1f}" for which in (1, 0)[-len(sources) :] for part in (0.5, 0.99)
        ]
        rows.append([f"{FLOODS[name].words}, {FLOODS[name].lines}", *cells])
        times = percentile(found[name], 0, 0.99) / percentile(found["quiet"], 0, 0.99)
        aims.append(Aim(f"{FLOODS[name].words}: at most {AIM:g} times the quiet 99th percentile", times, times <= AIM))
    columns = ("the other sends, connections", *(["before: p50", "p99"] if beside else []), "now: p50", "p99")
    title = "milliseconds that a key waits for a decision" + (f", beside {beside}" if beside else "")
    publish(
        [Table("neighbours", title, columns, rows), aims_table("neighbours-aims", aims[1:])],
        {"beside": beside, "found": found},
        packages=("evenhand", "fastapi", "uvicorn", "sqlalchemy", "orjson"),
        method=f"{rounds} rounds of {seconds:g} seconds for each row and side",
        code=SERVICE,
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
