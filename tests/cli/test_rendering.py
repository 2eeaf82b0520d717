"""How commands print names that come from strangers."""

from __future__ import annotations

import pytest

from evenhand.cli import rendering


def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    rendering.show(rendering.table_of(":tea:", rows=[[":coffee:"], ["[red]milk"], ["a\x1b[31mb"]]))
    assert capsys.readouterr().out.replace("─", "").split() == [":tea:", ":coffee:", "[red]milk", r"a\x1b[31mb"]
