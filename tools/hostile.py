"""Sends hostile and heavy requests to a server, and measures how long others wait meanwhile.

    python tools/hostile.py [NAME ...]

It starts `evenhand serve` on a new SQLite database with three keys and three allocations. While each attack runs with
the hostile key, two processes ask: `/healthz`, and decisions of another allocation with another key, one request every
20 ms each. It prints the answers to the attack and the 50th, 99th and largest percentile of the others' latency, as a
table in Markdown, and exits with 1 where a 99th percentile is 100 ms or more or a request of another key has failed.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAUSE = 0.02  # seconds between two requests of the same bystander
BEFORE, AFTER = 1.5, 2.0  # seconds for which the others are measured before and after an attack
ALLOWED = 0.1  # seconds, for the 99th percentile
SCOPES = ("administer", "decide", "reward", "read")
SPAWN = multiprocessing.get_context("spawn")
MANY = 100_000  # arms of the large allocation
START = "from evenhand.cli.main import main; main()"
Answers = Counter[str]


@dataclass
class Target:
    """A server with its keys.

    Attributes:
        port: that it listens on.
        keys: secrets by name.
    """

    port: int
    keys: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, body: bytes | None = None, key: str = "hostile") -> tuple[int, bytes]:
        """Status and content of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            headers = {"Authorization": f"Bearer {self.keys[key]}", "Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def answer(self, method: str, path: str, body: bytes | None = None) -> str:
        """The status, and the code of an error, of a hostile request."""
        try:
            status, content = self.send(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        try:
            return f"{status} {json.loads(content)['code']}"
        except (ValueError, KeyError, TypeError):
            return str(status)

    def connect(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)


# --- attacks ----------------------------------------------------------------------------------------------------------


def unknown_arms(target: Target) -> Answers:
    """60,000 unknown arms in one report"""
    rewards = {f"arm {number}": 1.0 for number in range(60_000)}
    body = json.dumps({"rewards": [{"decision": "1", "rewards": rewards}]}).encode()
    return Answers(target.answer("POST", "/v1/allocations/small/rewards", body) for _ in range(5))


def allowed_unknown_arms(target: Target) -> Answers:
    """1,000 unknown arms in each of ten reports, as many as allowed"""
    rewards = {f"arm {number}": 1.0 for number in range(1_000)}
    body = json.dumps({"rewards": [{"decision": "1", "rewards": rewards}]}).encode()
    return Answers(target.answer("POST", "/v1/allocations/small/rewards", body) for _ in range(10))


def estimates(target: Target) -> Answers:
    """45 log estimates of 10,000 rounds at once; the clients leave after 5 s"""

    def impatient() -> str:
        with target.connect() as line:
            line.settimeout(5.0)
            head = "GET /v1/allocations/random/log?estimate=true HTTP/1.1\r\nHost: a\r\n"
            line.sendall(f"{head}Authorization: Bearer {target.keys['hostile']}\r\n\r\n".encode())
            try:
                return line.recv(100).split(b" ", 2)[1].decode()
            except TimeoutError:
                return "left"

    with ThreadPoolExecutor(45) as pool:
        return Answers(pool.map(lambda _: impatient(), range(45)))


def endless_header(target: Target) -> Answers:
    """A header without an end"""
    with target.connect() as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        sent = 0
        try:
            while sent < 2**28:
                sent += line.send(b"x" * 65_536)
        except OSError:
            return Answers([f"closed after {sent // 2**10:,} KiB"])
    return Answers(["never refused"])


def half_requests(target: Target, number: int = 1_500) -> Answers:
    """1,500 half requests"""
    answers: Answers = Counter()
    with ExitStack() as stack:
        for _ in range(number):
            try:
                line = stack.enter_context(target.connect())
                line.sendall(b"POST /v1/allocations HTTP/1.1\r\nHost: a\r\n")
                answers["sent"] += 1
            except OSError as error:
                answers[type(error).__name__] += 1
        time.sleep(3.0)
    return answers


def connections(target: Target) -> Answers:
    """4,000 connections to a server that may have 1,024 files"""
    return half_requests(target, 4_000)


def broken_entries(target: Target) -> Answers:
    """A million broken entries"""
    body = b'{"rewards":[' + b",".join([b"{}"] * 1_000_000) + b"]}"
    return Answers(target.answer("POST", "/v1/allocations/small/rewards", body) for _ in range(5))


def allowed_values(target: Target) -> Answers:
    """100,000 numbers in place of names, as many values as allowed"""
    body = b'{"available":[' + b",".join([b"1"] * 100_000) + b"]}"
    return Answers(target.answer("POST", "/v1/allocations/small/decisions", body) for _ in range(3))


def unknown_fields(target: Target) -> Answers:
    """300,000 unknown fields"""
    body = json.dumps({f"field {number}": 1 for number in range(300_000)}).encode()
    return Answers(target.answer("POST", "/v1/allocations/small/decisions", body) for _ in range(3))


def large_batch(target: Target) -> Answers:
    """1,000 decisions of Thompson sampling over 100,000 arms"""
    return Answers(target.answer("POST", "/v1/allocations/large/decisions", b'{"count": 1000}') for _ in range(5))


def allowed_batches(target: Target) -> Answers:
    """5 such decisions per request, as many as allowed, for 5 s"""
    end, answers = time.monotonic() + 5.0, Answers()
    while time.monotonic() < end:
        answers[target.answer("POST", "/v1/allocations/large/decisions", b'{"count": 5}')] += 1
    return answers


def repeated_names(target: Target) -> Answers:
    """A CSV log that repeats 100,000 names per row"""
    return Answers(target.answer("GET", "/v1/allocations/large/log") for _ in range(5))


def wrong_keys(target: Target) -> Answers:
    """2,000 wrong keys"""
    wrong = Target(target.port, {"hostile": ""})
    answers: Answers = Counter()
    for number in range(2_000):
        wrong.keys["hostile"] = f"evh_{number:043d}"
        answers[wrong.answer("GET", "/v1/allocations")] += 1
    return answers


def nothing(target: Target) -> Answers:
    """none, for comparison"""
    time.sleep(5.0)
    return Answers()


ATTACKS: list[Callable[[Target], Answers]] = [
    nothing,
    unknown_arms,
    allowed_unknown_arms,
    estimates,
    endless_header,
    half_requests,
    connections,
    broken_entries,
    allowed_values,
    unknown_fields,
    large_batch,
    allowed_batches,
    repeated_names,
    wrong_keys,
]


# --- others meanwhile -------------------------------------------------------------------------------------------------


def bystander(target: Target, request: Callable[[Target], int], begun: Any, stop: Any, results: Any) -> None:
    """Send a request again and again, in a process of its own; the result is its times in seconds, and its answers."""
    seconds: list[float] = []
    answers: Answers = Counter()
    begun.wait()
    while not stop.is_set():
        start = time.perf_counter()
        try:
            answers[str(request(target))] += 1
        except (OSError, http.client.HTTPException) as error:
            answers[type(error).__name__] += 1
        seconds.append(time.perf_counter() - start)
        time.sleep(PAUSE)
    results.put((request.__name__, seconds, answers))


def measured(target: Target, attack: Callable[[Target], Answers]) -> bool:
    """Run an attack beside the others, and print a row; whether the others were answered in time."""
    begun, stop, results = SPAWN.Barrier(3), SPAWN.Event(), SPAWN.Queue()
    processes = [
        SPAWN.Process(target=bystander, args=(target, one, begun, stop, results)) for one in (health, decision)
    ]
    for process in processes:
        process.start()
    begun.wait()
    time.sleep(BEFORE)
    start = time.perf_counter()
    got = attack(target)
    took = time.perf_counter() - start
    time.sleep(AFTER)
    stop.set()
    found = {name: (seconds, answers) for name, seconds, answers in (results.get() for _ in processes)}
    for process in processes:
        process.join()
    cells = [" / ".join(f"{1e3 * percentile(found[name][0], part):.0f}" for part in (0.5, 0.99, 1.0)) for name in found]
    cells = cells if list(found) == ["health", "decision"] else cells[::-1]
    shown = ", ".join(f"{count:,} × {answer}" for answer, count in got.most_common(3))
    failed = sum(answers.total() - answers["200"] for _, answers in found.values())
    print(f"| {attack.__doc__} | {shown} | {took:.1f} | {cells[0]} | {cells[1]} | {failed} |", flush=True)
    return failed == 0 and all(percentile(seconds, 0.99) < ALLOWED for seconds, _ in found.values())


def health(target: Target) -> int:
    """Whether the server is alive."""
    return target.send("GET", "/healthz", key="other")[0]


def decision(target: Target) -> int:
    """A decision of another allocation, with another key."""
    return target.send("POST", "/v1/allocations/other/decisions", b"{}", key="other")[0]


def percentile(values: list[float], part: float) -> float:
    """The value below which a part of the values is."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


# --- the server -------------------------------------------------------------------------------------------------------


@contextmanager
def server(folder: Path) -> Iterator[Target]:
    """A server on a new database, with at most 1,024 open files."""
    from evenhand.service.store import Decide, Store  # not at the top: the others begin sooner without it

    database = str(folder / "hostile.db")
    store = Store.open(database)
    keys = {
        name: store.keys.create(name, ["administer", "decide", "reward", "read"])[1] for name in ("hostile", "other")
    }
    store.create("small", ["tea", "coffee"], "ucb1", seed=1)
    store.create("other", ["tea", "coffee"], "ucb1", seed=1)
    store.create("random", ["tea", "coffee", "cocoa"], "thompson", seed=1)
    store.create("large", [f"arm {number}" for number in range(MANY)], "thompson", seed=1)
    for _ in range(10):
        store.run("random", Decide(1_000))
    store.run("small", Decide())
    store.run("large", Decide(300))
    store.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", START, "serve", "--database", database, "--port", str(port)]
    process = subprocess.Popen(["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh", *command])
    target = Target(port, keys)
    try:
        while True:
            try:
                if target.send("GET", "/readyz")[0] == 200:
                    break
            except OSError:
                assert process.poll() is None, "the server has ended"
                time.sleep(0.1)
        target.send("POST", "/v1/allocations/large/decisions", b"{}")  # so that it is in memory
        yield target
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def main(names: list[str]) -> int:
    """Run the attacks of these names, or all; 1 if others had to wait."""
    attacks = [attack for attack in ATTACKS if not names or attack.__name__ in names]
    print("| hostile requests | answers | seconds | /healthz, ms | decisions, ms | failed |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as target:
        good = [measured(target, attack) for attack in attacks]
    return 0 if all(good) else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main(sys.argv[1:]))
