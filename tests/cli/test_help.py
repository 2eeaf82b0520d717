"""The help of every command has an example and loads none of the libraries that commands need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
import typer

from evenhand.cli import main as cli
from evenhand.cli.help import comments, sentence

HEAVY = {
    *("attrs", "fastapi", "httpx", "joblib", "matplotlib", "numpy", "pandas", "pyarrow"),
    *("rich", "scipy", "sqlalchemy", "uvicorn"),
}
P_2 = {"P-2a", "P-2b", "P-2c", "P-2d"}
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
    if path and "Commands:" not in text:
        assert f"evenhand {' '.join(path)}" in text.partition("Examples:")[2]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_examples_can_be_pasted(helps: dict[tuple[str, ...], tuple[str, set[str]]], path: tuple[str, ...]) -> None:
    examples = re.split(r"\n\w", helps[path][0].partition("Examples:\n")[2])[0]
    for example in filter(None, map(str.strip, examples.split("\n\n"))):
        *first, _ = example.split("\n")
        assert all(line.endswith(" \\") for line in first), f"a shell runs these lines one by one:\n{example}"


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_argument_and_option_says_what_it_means(path: tuple[str, ...]) -> None:
    command: Any = typer.main.get_command(cli.app)
    for name in path:
        command = command.commands[name]
    if hasattr(command, "explain"):
        command.explain()
    texts = {one.name: one.help for one in command.params}
    assert not [name for name, text in texts.items() if not (text and text[0] != " " and text.endswith("."))]


def test_what_a_parameter_means_stands_beside_it_or_above() -> None:
    def command(
        plain: str,
        beside: str = "a, b",  # what is beside it, with: a colon
        # A sentence. And another,
        # on two lines
        above: Annotated[int, "# no comment"] = 1,
    ) -> None: ...

    means = {
        "plain": "",
        "beside": "what is beside it, with: a colon",
        "above": "A sentence. And another, on two lines",
    }
    assert comments(command) == means
    assert [*map(sentence, means.values())][1:] == [
        "What is beside it, with: a colon.",
        "A sentence. And another, on two lines.",
    ]


def test_help_needs_no_sources(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def nothing(function: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr("inspect.getsource", nothing)
    assert cli.run(["glossary", "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_a_shell_shows_what_options_mean() -> None:
    asked = {"_EVENHAND_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "evenhand which --several"}
    command = [sys.executable, "-m", "evenhand.cli.main"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    assert "Several arms play per round, or arms are absent." in done.stdout


def test_no_summary_is_cut_and_values_are_called_as_people_call_them(
    helps: dict[tuple[str, ...], tuple[str, set[str]]],
) -> None:
    for text, _ in helps.values():
        assert not re.search(r"[a-z,;]\.\.\.$", text, flags=re.MULTILINE)
        assert not re.search(r"<|\bTEXT\b|\bINTEGER\b|x>=|\{[A-Z]", text.partition("Options:")[2].replace("{arms", ""))


def test_the_commands_are_grouped_by_what_they_are_for(helps: dict[tuple[str, ...], tuple[str, set[str]]]) -> None:
    text = helps[()][0]
    study, rest = text.partition("Study policies:")[2].split("Use a policy:")
    use, prove = rest.split("Evaluate logs and verify events:")
    for name, section in (("simulate", study), ("serve", use), ("db", use), ("verify", prove)):
        assert f"\n  {name} " in section


def test_a_short_option_asks_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["keys", "create", "-h"]) == 0
    assert capsys.readouterr().out.startswith("Usage: evenhand keys create [OPTIONS] NAME\n")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("evenhand algorithms fc", {"fcucb_d", "fcts_d"}),
        ("evenhand simu", {"simulate"}),
        ("evenhand reproduce P-2", P_2),
    ],
)
def test_a_shell_completes_commands_and_names(line: str, found: set[str]) -> None:
    asked = {"_EVENHAND_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    command = [sys.executable, "-m", "evenhand.cli.main"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == found
