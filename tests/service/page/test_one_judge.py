"""The page and the TypeScript client show what the service judged: they hold no number of plays against a limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = [*(ROOT / "src/evenhand/service/page").glob("*.js"), *(ROOT / "clients/typescript/src").rglob("*.ts")]
OWED = "deficit|worst|owed|excess|behind|carried|forgiven|allowed"
#: What is owed beside a sign of comparison, on either side; `=>` of a function is none.
COMPARED = re.compile(rf"\b({OWED})\b(\s*\?\?\s*\w+\)?)?\s*([<>]=?)(?!\w)|(?<![=<])([<>]=?)\s*[\w.]*\b({OWED})\b")


@pytest.mark.parametrize(
    "code",
    [
        "const behind = !line.retired && line.deficit > 1;",
        "deficit === null || deficit <= WITHIN",
        "lines.every((line) => (line.worst ?? 0) <= WITHIN)",
        "cap?.verdict === 'missed' && cap.excess > 0",
        "if (LIMIT < line.owed) return 'missed';",
    ],
)
def test_such_a_place_is_found(code: str) -> None:
    assert COMPARED.search(code)


@pytest.mark.parametrize("code", ["(line) => line.deficit", "({ owed }) => plays(owed)", "other.deficit - one.deficit"])
def test_others_are_not(code: str) -> None:
    assert not COMPARED.search(code)


def test_there_is_none() -> None:
    assert len(SOURCES) > 30
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCES
        for line in path.read_text(encoding="utf-8").splitlines()
        if COMPARED.search(line)
    ]
    assert found == []
