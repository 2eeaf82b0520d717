"""Each command is loaded when it is asked for, with what it needs and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.cli.commands import LINES, loaded
from evenhand.cli.help import _summary
from tests.thinned import thinned

STUDIES = {"cloudpickle", "joblib", "matplotlib", "numpy", "pandas", "pyarrow", "scipy"}
SERVICE = {"alembic", "fastapi", "sqlalchemy", "uvicorn"}
ALL = STUDIES | SERVICE | {"httpx", "jinja2", "numba"}
FILMS = str(Path(__file__).parents[2] / "examples" / "films.toml")
#: A small call of each command, and what it must not load; the help of any command loads nothing of these.
CALLS: dict[str, tuple[list[str], set[str]]] = {
    "algorithms": (["fucb"], SERVICE | {"httpx", "matplotlib", "pandas"}),
    "which": (["--promise", "none"], SERVICE | {"httpx", "matplotlib", "pandas"}),
    "kinds": (["selection"], SERVICE | {"httpx", "matplotlib", "pandas"}),
    "check": ([FILMS], SERVICE | {"httpx", "matplotlib", "numba"}),
    "simulate": ([FILMS, "--horizon", "4", "--lanes", "2"], SERVICE | {"httpx", "jinja2"}),  # it draws
    "sweep": (["status", "nowhere"], SERVICE | {"httpx", "jinja2"}),
    "table": (["nowhere"], SERVICE | {"httpx", "matplotlib"}),
    "figure": (["curves", "nowhere"], SERVICE | {"httpx"}),
    "reproduce": (["--list"], SERVICE | {"httpx"}),
    "glossary": (["lane"], ALL),
    "serve": (["--port", "none"], ALL),
    "demo": (["--port", "none"], ALL),
    "keys": (["list", "--database", "nowhere.db"], {"fastapi", "matplotlib", "pandas", "uvicorn"}),
    "client": (["list", "--url", "http://127.0.0.1:9", "--timeout", "0.1"], STUDIES | SERVICE),
    "db": (["compact", "--database", "nowhere.db"], {"fastapi", "matplotlib", "pandas", "uvicorn"}),
    "evaluate": (["nowhere.csv", "--policy", "nothing"], SERVICE | {"httpx", "matplotlib"}),
    "report": (["a.json"], {"fastapi", "matplotlib", "pandas", "uvicorn"}),
    "price": (["nowhere.csv", "--promise", "0.1"], SERVICE | {"httpx", "matplotlib"}),
    "export": (["a", "b.csv", "--database", "nowhere.db"], {"fastapi", "matplotlib", "uvicorn"}),
    "verify": (["--database", "nowhere.db"], {"fastapi", "matplotlib", "pandas", "uvicorn"}),
}


#: Makes a call in a copy of this process, which has loaded what every command needs, and what these all may load.
CODE = """
import os, sys
from evenhand.cli.main import run
{first}
for call in {calls!r}:
    print(flush=True)
    if not os.fork():
        for one in call:
            run(one)
        print()
        print("loaded", *sys.modules, flush=True)
        os._exit(0)
    os.wait()
"""


def loads(folder: Path, *calls: list[list[str]], first: str = "") -> list[set[str]]:
    """The packages that are loaded after each of some series of calls, and after some code before all of them."""
    command = [sys.executable, "-c", CODE.format(calls=calls, first=first)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded ")]
    return [{name.partition(".")[0] for name in line.split()} for line in lines]


def test_every_command_is_called_here() -> None:
    assert set(CALLS) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_the_line_of_a_command_is_its_summary(name: str) -> None:
    assert LINES[name] == _summary(loaded(name).help)


def test_help_loads_nothing_that_a_command_needs(tmp_path: Path) -> None:
    (after,) = loads(tmp_path, [["--help"], *([name, "--help"] for name in CALLS)])
    assert not after & ALL


@pytest.mark.parametrize("numerical", thinned([True, False], (False).__eq__))
def test_a_command_loads_what_it_needs(numerical: bool, tmp_path: Path) -> None:
    """Commands that may load NumPy begin with the policies, which most of them need, and load them once."""
    calls = {name: call for name, call in CALLS.items() if ("numpy" not in call[1]) == numerical}
    first = "import evenhand.algorithms, scipy.stats" if numerical else ""
    after = loads(tmp_path, *([[name, *arguments]] for name, (arguments, _) in calls.items()), first=first)
    for name, packages, (_, unneeded) in zip(calls, after, calls.values(), strict=True):
        assert not packages & unneeded, f"evenhand {name}"
