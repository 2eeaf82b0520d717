"""What tests of the store and the service share: databases, and the service in processes of its own."""

from __future__ import annotations

import compileall
import fcntl
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import evenhand as package
from evenhand.cli.main import run
from evenhand.core import parts
from evenhand.service.store.database import Database
from tests.service.databases import GIVEN, Postgres, drop_database, make_database
from tests.service.running import Launcher, Server

Evenhand = Callable[..., CompletedProcess[str]]


#: Has each loop of the engine compiled, and kept for all processes.
COMPILE = """
from evenhand import Environment, compare
from evenhand.algorithms import ars_ucb, thompson, ucb1
from evenhand.rewards import Bernoulli
compare([ucb1(), thompson(), ars_ucb()], Environment(Bernoulli([0.5, 0.5])), 1, 1, progress=False)
"""
#: The environment variable with the file that is locked while this goes on.
COMPILING = "EVENHAND_TESTS_COMPILING"
#: Folders of tests that simulate so much that the engine plays: they wait for it, so that it is compiled once.
SIMULATING = ("papers", "simulation", "studies")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once for all processes that tests start, also where PYTHONDONTWRITEBYTECODE is set.

    A run of all tests begins with the engine, too, which takes a minute or two: otherwise each worker would compile it.
    """
    gc.disable()  # until everything is collected
    if hasattr(config, "workerinput"):
        return
    compileall.compile_dir(Path(package.__file__).parent, quiet=2)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.getoption("numprocesses", None):
        config.add_cleanup(_compiling())


def _compiling() -> Callable[[], None]:
    """Begin to compile the engine, in a process that holds a lock until it ends; what waits for its end."""
    with tempfile.NamedTemporaryFile(prefix="evenhand-", delete=False) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.environ[COMPILING] = lock.name
        environment = os.environ | {"EVENHAND_ENGINE": "compiled"}
        command = [sys.executable, "-c", COMPILE]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, pass_fds=[lock.fileno()])

    def end() -> None:
        process.wait()
        Path(lock.name).unlink()

    return end


@cache
def await_engine() -> None:
    """Return when the engine is compiled, where that was begun."""
    if COMPILING in os.environ:
        with open(os.environ[COMPILING], "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that simulate wait for the engine."""
    if item.path.parent.parent.name in SIMULATING or item.path.parent.name in SIMULATING:
        await_engine()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Tests have no examples: to look for some takes ten times as long as to find the tests."""
    return [found for found in (yield) if type(found) is pytest.Module]


def pytest_collection_finish() -> None:
    """Modules and tests are never garbage: to look through them again and again takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # to look for it at every 700th object takes another tenth
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Mark what a test marked `covering` needs not, and make no slow case where only others run.

    To make 14,000 tests that do not run takes each process some seconds. Pytest has no public way: this
    works with 8.2 and 9.2.
    """
    calls, marks = metafunc._calls, {mark.name for mark in metafunc.definition.iter_markers()}
    if "covering" in marks and "slow" not in marks:
        needed = covering([call for call in calls if not is_slow(call)])
        slow = pytest.mark.slow.mark
        calls = [call if call.id in needed else replace(call, marks=[*call.marks, slow]) for call in calls]
    if metafunc.config.option.markexpr.startswith("not slow"):
        calls = [call for call in calls if not is_slow(call)] or calls[:1]  # of which none runs either
    metafunc._calls = calls


def is_slow(call: Any) -> bool:
    """Whether the parameters of a test are marked `slow`."""
    return any(mark.name == "slow" for mark in call.marks)


def covering(calls: list[Any]) -> set[str]:
    """The names of combinations with every value of every parameter."""
    left = [(call.id, {(name, id(value)) for name, value in call.params.items()}) for call in calls]
    open_values = set[tuple[str, int]]().union(*(values for _, values in left))
    chosen = set()
    while open_values:
        name, values = left.pop(max(range(len(left)), key=lambda place: len(left[place][1] & open_values)))
        chosen.add(name)
        open_values -= values
    return chosen


@pytest.fixture(autouse=True)
def registry_as_before() -> Iterator[None]:
    """Kinds that a test registers are forgotten after it."""
    known, names = {slot: set(own) for slot, own in parts._KINDS.items()}, set(parts._NAMES)
    yield
    for cls in set(parts._NAMES) - names:
        if not cls.__module__.startswith("evenhand."):  # a module of the package may have been loaded meanwhile
            del parts._NAMES[cls]
    for slot, own in parts._KINDS.items():
        for kind in set(own) - known[slot]:
            if not own[kind].__module__.startswith("evenhand."):
                del own[kind]
        for kind in [kind for kind in own if kind.startswith("evenhand.")]:  # what an experiment names by its module
            del parts._NAMES[own.pop(kind)]


@pytest.fixture
def evenhand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Evenhand:
    """Runs ``evenhand`` in an empty folder, in this process."""

    def call(*words: str | Path) -> CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        capsys.readouterr()
        status = run([*map(str, words)])
        shown = capsys.readouterr()
        return CompletedProcess(words, status, shown.out, shown.err)

    return call


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server where tests may make databases; they must not stop it."""
    if GIVEN in os.environ:
        yield os.environ[GIVEN]
        return
    with Postgres(fsync="off", full_page_writes="off") as server:  # nobody needs its data when this machine fails
        yield server.url()


@pytest.fixture
def postgresql(postgres: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    url = make_database(postgres)
    yield url
    drop_database(postgres, url)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with empty tables, to be copied: making them takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "evenhand.db"
    with closing(Database(str(path))) as database:
        database.migrate()
    return path


@pytest.fixture(scope="session")
def empty_postgresql(postgres: str) -> Iterator[str]:
    """The URL of a PostgreSQL database with empty tables, to be copied."""
    url = make_database(postgres)
    with closing(Database(url)) as database:
        database.migrate()
    yield url
    drop_database(postgres, url)


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The URL of an SQLite database that is not there yet."""
    return f"sqlite:///{tmp_path}/evenhand.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of either kind."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL server that the test may stop, crash and start again."""
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    """Starts processes of the service."""
    with Launcher() as started:
        yield started


@pytest.fixture
def serve(launcher: Launcher, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts the service on a database: the arguments are those of `Server` after the log."""
    with ExitStack() as running:

        def start(database: str, *options: str, **more: Any) -> Server:
            log = tmp_path / f"server-{len(list(tmp_path.glob('server-*.log')))}.log"
            log.touch()
            return running.enter_context(Server(launcher, database, log, *options, **more))

        yield start
