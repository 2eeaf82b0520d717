"""What it takes before anything happens: processor time of fresh interpreters, in milliseconds, from start to end.

Imports, commands and servers take turns, and medians are shown. A turn before those that count lets Python write its
compiled modules, and the operating system read the files. A server is stopped as soon as it says that it serves.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from report import AsJson, Table, Write, publish

MAIN = "import sys; from evenhand.cli.main import main; sys.argv = ['evenhand', *{words}]; main()"  # as installed
#: A command that asks a service for the same as the client does, by the same packages, and does nothing else.
LEAST = """
import typer

def ask(url: str = typer.Option()) -> None:
    import httpx

    print(httpx.get(f"{{url}}/v1/allocations", verify=False).json())

import sys; sys.argv = ["ask", "--url", {url!r}]; typer.run(ask)
"""
NOTHING, NUMPY, CLIENT = "Python, doing nothing", "`import numpy`", "`import typer, httpx`"
#: By what is measured, the most milliseconds that were aimed at, or the most times that of something else.
AIMS: dict[str, float | tuple[float, str]] = {
    "`import evenhand`": 300.0,
    "`evenhand --help`": 300.0,
    "`from evenhand import Bandit`": (1.5, NUMPY),
    "`evenhand client list`": (1.5, CLIENT),
    "`evenhand serve`, an existing database": 1500.0,
    "`evenhand serve`, a new database": 1500.0,
}
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Service(BaseHTTPRequestHandler):
    """A service without allocations."""

    def do_GET(self) -> None:
        """Answer any request."""
        body = json.dumps({"allocations": [], "next": None}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def run(code: str) -> None:
    """Run code in an interpreter of its own."""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def call(*words: str) -> None:
    """Run the command."""
    run(MAIN.format(words=list(words)))


def serve(database: Path | None) -> None:
    """Start a server and stop it; without a database it has a new one."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["serve", "--database", str(database or Path(folder) / "new.db"), "--port", "0", "--no-keys"]
        command = [sys.executable, "-c", MAIN.format(words=words)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
            assert process.stderr is not None
            assert "serves" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)


def milliseconds(work: Callable[[], None]) -> float:
    """Processor time of the processes that some work starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def medians(repeats: int) -> dict[str, float]:
    """Median milliseconds of each, taking turns."""
    server = HTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as folder:
        works: dict[str, Callable[[], None]] = {
            NOTHING: partial(run, "pass"),
            "`import evenhand`": partial(run, "import evenhand"),
            "`evenhand --help`": partial(call, "--help"),
            NUMPY: partial(run, "import numpy"),
            "`from evenhand import Bandit`": partial(run, "from evenhand import Bandit"),
            "`from evenhand import compare`": partial(run, "from evenhand import compare"),
            CLIENT: partial(run, "import typer, httpx"),
            "a command of Typer's that asks by httpx": partial(run, LEAST.format(url=url)),
            "`evenhand client list`": partial(call, "client", "list", "--url", url),
            "`evenhand serve`, an existing database": partial(serve, Path(folder) / "existing.db"),
            "`evenhand serve`, a new database": partial(serve, None),
        }
        turns = [{name: milliseconds(work) for name, work in works.items()} for _ in range(repeats + 1)][1:]
    server.shutdown()
    return {name: float(np.median([turn[name] for turn in turns])) for name in works}


def row(name: str, times: dict[str, float]) -> tuple[str, str, str, str]:
    """A line of the table."""
    aim = AIMS.get(name)
    if aim is None:
        return name, f"{times[name]:,.0f}", "", ""
    most = aim if isinstance(aim, float) else aim[0] * times[aim[1]]
    text = f"at most {most:,.0f}" if isinstance(aim, float) else f"at most {aim[0]:g} times {aim[1]}: {most:,.0f}"
    return name, f"{times[name]:,.0f}", text, "met" if times[name] <= most else "missed"


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each; the median counts.")] = 11,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure what imports, commands and a server take to start."""
    with Console(stderr=True).status("starting interpreters"):
        times = medians(repeats)
    columns = ("what starts", "ms", "aim", "result")
    publish(
        [Table("start", "milliseconds of processor time", columns, [row(name, times) for name in times])],
        {"milliseconds": times},
        packages=("evenhand", "numpy", "typer", "httpx", "fastapi", "sqlalchemy"),
        method=f"medians of {repeats} turns",
        code=("evenhand.cli.start:main",),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
