"""What tests of the store and the service share: databases, and the service in processes of its own."""

from __future__ import annotations

import compileall
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
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


#: Has the engine compiled, and kept for all processes.
COMPILE = """
from evenhand import Environment, compare
from evenhand.algorithms import ucb1
from evenhand.rewards import Bernoulli
compare([ucb1()], Environment(Bernoulli([0.5, 0.5])), 1, 1, progress=False)
"""


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once for all processes that tests start, also where PYTHONDONTWRITEBYTECODE is set.

    A run of all tests begins with the engine, too, which takes a minute: otherwise each worker would compile it.
    """
    gc.disable()  # until everything is collected
    if hasattr(config, "workerinput"):
        return
    compileall.compile_dir(Path(package.__file__).parent, quiet=2)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.getoption("numprocesses", None):
        environment = os.environ | {"EVENHAND_ENGINE": "compiled"}
        subprocess.run([sys.executable, "-c", COMPILE], env=environment, stderr=subprocess.DEVNULL, check=False)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Tests have no examples: to look for some takes ten times as long as to find the tests."""
    return [found for found in (yield) if type(found) is pytest.Module]


def pytest_collection_finish() -> None:
    """Modules and tests are never garbage: to look through them again and again takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # to look for it at every 700th object takes another tenth
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `covering` the main run takes combinations with every value of every parameter."""
    groups: dict[str, list[tuple[pytest.Item, set[tuple[str, int]]]]] = {}
    for item in items:
        call = vars(item).get("callspec")  # of a test with parameters
        if call and item.get_closest_marker("covering") and not item.get_closest_marker("slow"):
            values = {(name, id(value)) for name, value in call.params.items()}
            groups.setdefault(item.nodeid.partition("[")[0], []).append((item, values))
    for group in groups.values():
        open_values = set[tuple[str, int]]().union(*(values for _, values in group))
        while group:
            best = max(range(len(group)), key=lambda place: len(group[place][1] & open_values))
            item, values = group.pop(best)
            if not values & open_values:
                item.add_marker(pytest.mark.slow)
            open_values -= values


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
