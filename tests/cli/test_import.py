"""The option ``--import``: parts and algorithms of the user's own."""

from __future__ import annotations

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
