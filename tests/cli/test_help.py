"""The help of every command has an example and loads none of the libraries that commands need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer

from evenhand.cli import main as cli

HEAVY = {
    *("attrs", "fastapi", "httpx", "joblib", "matplotlib", "numpy", "pandas", "pyarrow"),
    *("rich", "scipy", "sqlalchemy", "uvicorn"),
}
# One process prints the help of all commands, and after each of them the packages that are loaded by then.
CODE = """
import contextlib, io, json, sys
from evenhand.cli.main import run
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run([*words, "--help"]) == 0
    print(json.dumps([words, out.getvalue(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def paths(group: object, *path: str) -> Iterator[tuple[str, ...]]:
    """The words of every command and of every group of commands."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from paths(command, *path, name)


PATHS = list(paths(typer.main.get_command(cli.app)))


@pytest.fixture(scope="module")
def helps() -> dict[tuple[str, ...], tuple[str, set[str]]]:
    """The help of each command, and the packages that are loaded after it."""
    command = [sys.executable, "-c", CODE, json.dumps(PATHS)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {tuple(words): (text, set(loaded)) for words, text, loaded in map(json.loads, lines)}


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_is_light(helps: dict[tuple[str, ...], tuple[str, set[str]]], path: tuple[str, ...]) -> None:
    text, loaded = helps[path]
    assert text.startswith(f"Usage: {' '.join(('evenhand', *path))} ")
    assert not HEAVY & loaded
    if "Commands:" not in text:
        assert f"evenhand {' '.join(path)}" in text.partition("Examples:")[2]
