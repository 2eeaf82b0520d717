"""The service in processes of its own, as `evenhand serve` runs it, for tests to ask, kill and start again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import httpx

from tests.service.databases import PATIENCE, free_port, until


class Launcher:
    """Starts processes of the service: see `launcher.py`. None of them runs longer than the ``with`` block."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", str(Path(__file__).with_name("launcher.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(PATIENCE) == 0

    def start(self, words: list[str], log: Path, first: str) -> int:
        """The number of the process."""
        started: int = self._ask({"words": words, "log": str(log), "first": first})
        return started

    def ended(self, process: int) -> int | None:
        """The exit code of a process, minus the signal that ended it; None while it runs."""
        code: int | None = self._ask(process)
        return code

    def _ask(self, request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Server:
    """`evenhand serve` on a database, in a process of its own that never runs longer than the ``with`` block.

    Args:
        launcher: that starts it.
        database: its path or URL.
        log: the file for what it says.
        options: more of the command line.
        first: Python code that the process runs before the service.
        wait: whether to begin with a service that is ready.
    """

    def __init__(
        self, launcher: Launcher, database: str, log: Path, *options: str, first: str = "", wait: bool = True
    ) -> None:
        self._launcher, self._log, self._first, self._wait = launcher, log, first, wait
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: int | None = None
        self._words = ["serve", "--database", database, "--host", "127.0.0.1", "--port", str(self.port), *options]
        self._words += [] if "--host" in options else ["--no-keys"]
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False)

    def __enter__(self) -> Self:
        try:
            self.launch()
            if self._wait:
                self.await_ready()
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def launch(self) -> None:
        """Start it, on the same port as before, and do not wait for it."""
        assert self.process is None
        self.process = self._launcher.start(self._words, self._log, self._first)

    def start(self) -> None:
        """Start it, on the same port as before; return when it is ready."""
        self.launch()
        self.await_ready()

    def await_ready(self) -> None:
        """Return when it is ready."""
        until(self.ready, lambda: "the service is not ready:\n" + self.log())

    def ready(self) -> bool:
        """Whether it says that it is."""
        assert self.process is not None
        assert self._launcher.ended(self.process) is None, "the service came to an end:\n" + self.log()
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        assert self._end(signal.SIGKILL) == -signal.SIGKILL

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        return self._end(signal.SIGTERM)

    def send(self, which: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        os.kill(self.process, which)

    def log(self) -> str:
        """What it has said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        """Ask it for something, as JSON."""
        return self.http.post(path, json=body, headers={} if key is None else {"Idempotency-Key": key})

    def _end(self, how: signal.Signals) -> int:
        assert self.process is not None
        process, self.process = self.process, None
        os.kill(process, how)
        try:
            until(
                lambda: self._launcher.ended(process) is not None, lambda: "the service does not stop:\n" + self.log()
            )
        finally:
            os.kill(process, signal.SIGKILL)
        code = self._launcher.ended(process)
        assert code is not None
        return code

    def _clear(self) -> None:
        self.http.close()
        if self.process is not None:
            self._end(signal.SIGKILL)
        print(f"--- what the service at {self.url} said ---\n{self.log()}")  # shown where the test fails
