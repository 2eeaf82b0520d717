"""The option ``--import``: parts and algorithms of the user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.cli import main as cli

COMMANDS = [
    ("algorithms",),
    ("check", "config.toml"),
    ("simulate", "config.toml"),
    ("evaluate", "log.csv", "--shares", "uniform"),
    ("price", "bandit.json"),
    ("serve",),
    ("export", "drinks", "log.csv"),
    ("sweep", "merge", "sweep"),
    ("verify",),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_DATABASE", raising=False)
    for name in ("mine", "broken"):
        monkeypatch.setitem(sys.modules, name, None)  # so that what the test imports is gone after it
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "mine.py").write_text("print('imported mine')\n")
    (tmp_path / "broken.py").write_text("raise RuntimeError('no licence')\n")
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_sources_are_imported_in_order_before_anything_else(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*words, "--import", "mine.py", "--import", "nowhere.py"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "imported mine\n"
    assert captured.err == "evenhand: there is no file nowhere.py\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.module", "there is no module 'nowhere.module'"),
        ("broken.py", "broken.py cannot be loaded: RuntimeError: no licence"),
    ],
)
def test_a_source_that_cannot_be_imported_is_one_line(
    source: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["verify", "--import", source]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("group", "entry", "words", "message"),
    [
        (
            "parts",
            "index.turns = plugged:Turn",
            ("kinds",),
            "cannot be loaded: AttributeError: module 'plugged' has no",
        ),
        (
            "parts",
            "index.turns = unplugged:Turns",
            ("kinds",),
            "cannot be loaded: ModuleNotFoundError: No module named",
        ),
        (
            "algorithms",
            "turns = plugged:Turn",
            ("algorithms",),
            "cannot be loaded: AttributeError: module 'plugged' has",
        ),
        ("algorithms", "turns = plugged", ("algorithms",), "must name a function, module:function"),
    ],
)
def test_an_entry_point_that_cannot_be_loaded_is_one_line(
    folder: Path, group: str, entry: str, words: tuple[str, ...], message: str
) -> None:
    shown = listed(folder, group, entry, *words)
    assert shown.returncode == 2
    assert shown.stderr.startswith(f"evenhand: the entry point {entry.partition(' ')[0]} = {entry.split()[-1]!r}")
    assert message in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_an_installed_package_adds_a_part_and_an_algorithm(folder: Path) -> None:
    assert "turns  " in listed(folder, "parts", "index.turns = plugged:Turns", "kinds", "index").stdout
    assert "In turn" in listed(folder, "algorithms", "turns = plugged:turns", "algorithms", "turns").stdout


PLUGGED = '''
import numpy as np
from evenhand import Policy
from evenhand.policy import Index

class Turns(Index):
    """Fewest plays first."""
    def score(self, state, observation, rng):
        return -state.tally.pulls

def turns(plays=1):
    """In turn."""
    return Policy(Turns())
'''


def listed(folder: Path, group: str, entry: str, *words: str) -> subprocess.CompletedProcess[str]:
    """What a command prints beside an installed package with that entry point."""
    facts = folder / "plugged-1.0.dist-info"
    facts.mkdir(exist_ok=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[evenhand.{group}]\n{entry}\n")
    (folder / "plugged.py").write_text(PLUGGED)
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "evenhand", *words]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
