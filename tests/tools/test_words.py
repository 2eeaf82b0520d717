"""The check of wording finds what its list forbids, where it stands, and nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", TOOLS / "words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WORDS = loaded()
RULES = WORDS.rules(WORDS.LIST.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        ("Whoever asks gets it.", "Whoever"),
        ("fractions must be a text", "must be a text"),
        ("the very\nsame world", "the very same"),
        ("one number an arm", "number an arm"),
        ("two plays a round", "plays a round"),
        ("the measure has no sense here", "has no sense"),
        ("it came out", "came out"),
    ],
)
def test_forbidden_wording_is_found(text: str, wording: str) -> None:
    assert wording in [found for _, found, _ in WORDS.faults(text, RULES)]


@pytest.mark.parametrize(
    "text", ["one number per arm", "retold", "the same", "outcomes", "a round of golf", "a nonsense"]
)
def test_other_wording_passes(text: str) -> None:
    assert list(WORDS.faults(text, RULES)) == []


def test_the_line_and_the_remedy_are_given(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(WORDS.faults("fine\nfine\nin vain", RULES)) == (3, "in vain", "without effect")
    monkeypatch.setattr(WORDS, "files", lambda paths: [])
    assert WORDS.main([]) == 0
    assert capsys.readouterr().out == ""
