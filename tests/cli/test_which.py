"""``evenhand which``."""

from __future__ import annotations

import json

import pytest

from evenhand.cli.main import run


def test_it_says_what_to_start_with_and_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "share", "--rewards", "dependent", "--explainable"]) == 0
    *reason, python, command, more = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in reason)
    assert reason[0].startswith("fucb: The arm that is furthest behind goes first")
    assert " ".join(reason).endswith("(experiments: P-2b, C-2d)")
    assert python.strip().startswith('Bandit(["tea", "coffee", "cocoa"], "fucb", ')
    assert "--set 'evidence=\"optimistic\"'" in command
    assert more.strip() == "evenhand algorithms fucb"


def test_json_has_the_lines_to_start_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "none", "--rewards", "sums", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["algorithm"], one["python"]) == ("ars_ucb", 'Bandit(["tea", "coffee", "cocoa"], "ars_ucb")')


def test_nothing_that_suits_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "merit", "--rewards", "sums"]) == 0
    assert "no published policy is made for all of this" in capsys.readouterr().err


def test_a_terminal_is_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([2, 1, 1, 2, 2])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, value_proc, **__: value_proc(str(next(given))))
    assert run(["which"]) == 0
    shown = capsys.readouterr().out
    assert "What do you promise?\n  1  a minimum share" in shown
    assert "\nlfg: Queues of owed plays" in shown
    assert "\ntscsf_b: " not in shown


def test_another_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    from evenhand.cli.which import _number

    with pytest.raises(typer.BadParameter, match="from 1 to 3, got '9'"):
        _number("9", 3)
