"""Two servers with unlike processors share every algorithm; slow, so it is no test.

    python tools/processors.py [ROUNDS [DATABASE]]

It starts two `evenhand serve` on one database, a new SQLite file unless a URL of PostgreSQL is given. One of them must
not use the faster instructions of the processor, so that NumPy rounds powers, logarithms and exponentials differently.
Every algorithm decides ROUNDS rounds (default: 400), with rewards, in turns of random length at one server or the
other. It prints what `verify` finds, with and without deciding again, and exits with 1 if a request failed or the
stored facts do not give the stored state.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.bandit.test_bandit import ARMS  # noqa: E402
from tests.service.store.lives import LIVES, known  # noqa: E402

from evenhand.client import Client  # noqa: E402
from evenhand.service.store.database import Database  # noqa: E402
from evenhand.service.store.verify import verify  # noqa: E402

START = "from evenhand.cli.main import main; main()"
SLOWER = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}
LONGEST_TURN = 20  # rounds at one server


@contextmanager
def server(database: str, environment: Mapping[str, str]) -> Iterator[Client]:
    """A client of a server of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-c", START, "serve", "--database", database, "--no-keys"]
    process = subprocess.Popen([*command, "--port", str(port)], env=os.environ | environment)
    try:
        until_listening(process, port)
        with Client(f"http://127.0.0.1:{port}") as client:
            yield client
    finally:
        process.terminate()
        process.wait(60)


def until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Return when the server accepts connections."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            assert process.poll() is None, "the server has ended"
            time.sleep(0.1)


def live(clients: list[Client], name: str, rounds: int) -> None:
    """Decide and reward the rounds of an allocation, in turns at one server or the other."""
    settings: dict[str, Any] = {**LIVES[name], "parameters": plain(LIVES[name]["parameters"])}
    chance = random.Random(name)
    low, high = settings.get("rewards", (0.0, 1.0))
    clients[0].create(name, ARMS, settings.pop("algorithm"), seed=5, **{"missing": "never", **settings})
    client, left = clients[0], 0
    for _ in range(rounds):
        if not left:
            client, left = chance.choice(clients), chance.randint(1, LONGEST_TURN)
        left -= 1
        available = chance.sample(ARMS, 3) if chance.random() < 0.3 else None
        decision = client.decide(name, known(name, chance), available=available)
        if name.endswith("totals"):
            client.total(name, chance.random())
        elif chance.random() < 0.8:
            client.reward(name, decision.id, {arm: low + (high - low) * chance.random() for arm in decision.names})


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def main(rounds: int, database: str) -> int:
    """Run all algorithms; 1 if the facts do not give the stored state."""
    with ExitStack() as stack:
        clients = [stack.enter_context(server(database, environment)) for environment in ({}, SLOWER)]
        for number, name in enumerate(LIVES, 1):
            live(clients, name, rounds)
            print(f"{number}/{len(LIVES)} {name}", flush=True)
    stored = Database(database, read_only=True)
    facts, decisions = verify(stored), verify(stored, redecide=True)
    print(f"{len(LIVES)} allocations of {rounds} rounds; faults of the facts: {len(facts.faults)}")
    print(*facts.faults, sep="\n")
    print(f"decided again on this processor alone: {len(decisions.faults)} allocations differ, as is to be expected")
    print(*decisions.faults, sep="\n")
    return 1 if facts.faults else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[2] if len(sys.argv) > 2 else str(Path(folder) / "processors.db")
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, given))
