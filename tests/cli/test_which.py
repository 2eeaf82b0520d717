"""``evenhand which``."""

from __future__ import annotations

import io
import json

import pytest

from evenhand.cli.main import run


def test_it_says_what_to_start_with_and_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "share", "--rewards", "dependent", "--explainable"]) == 0
    assumed, *reason, python, command, more = capsys.readouterr().out.splitlines()
    assert assumed == "Assumed: means fixed, features no, several no, reported all."
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


def test_with_features_it_recommends_what_goes_by_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "long_run", "--features"]) == 0
    shown = capsys.readouterr().out
    assert "\nlin_ts + virtual_queue: A queue of owed plays is weighed" in shown
    assert "features={'situation':" in shown
    assert "--features '{situation = " in shown
    assert "evenhand algorithms" not in shown
    assert run(["algorithms", "--features", "--json"]) == 0
    listed = {one["name"] for one in json.loads(capsys.readouterr().out)}
    assert {"lin_ucb", "lin_ts", "fairx_lin_ts"} <= listed
    assert not {"fucb", "thompson"} & listed


def test_nothing_that_suits_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "merit", "--rewards", "sums"]) == 0
    assert "no published policy is made for all of this" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answers", "nearest"),
    [
        (["--promise", "share", "--rewards", "dependent", "--means", "drift"], "means fixed instead of drift: f_ts"),
        (
            ["--promise", "share", "--rewards", "dependent", "--means", "drift"],
            "rewards late instead of dependent: f_ts",
        ),
        (["--promise", "long_run", "--means", "jump"], "means fixed instead of jump: tscsf_b"),
        (["--promise", "chance", "--several"], "several no instead of yes: floor_ts"),
        (["--promise", "price", "--means", "drift"], "means fixed instead of drift: hard_threshold_ucb"),
    ],
)
def test_the_nearest_is_named_with_what_it_gives_up(
    answers: list[str], nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["which", *answers]) == 0
    assert f"\n  {nearest}\n" in capsys.readouterr().err


def test_what_does_not_report_failures_gets_a_window(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["which", "--promise", "none", "--reported", "successes"]) == 0
    shown = capsys.readouterr()
    assert 'window=86400, missing="zero")' in shown.out
    assert "--missing zero --window 86400" in shown.out
    assert "never" not in shown.out
    assert "no success is expected" in shown.err


def test_piped_answers_are_read_and_the_others_assumed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n\n1\n1\n2\n"))
    assert run(["which"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Assumed: rewards late, explainable no, reported all.\ntscsf_b: ")
    monkeypatch.setattr("sys.stdin", io.StringIO("9\n"))
    assert run(["which"]) == 2
    assert "promise must be a number from 1 to 8, got '9'" in " ".join(capsys.readouterr().err.split())


def test_a_terminal_is_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([2, 1, 1, 1, 2, 2, 2])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, value_proc, **__: value_proc(str(next(given))))
    assert run(["which"]) == 0
    shown = capsys.readouterr().out
    assert "What do you promise?\n  1  a minimum share" in shown
    assert "Assumed" not in shown
    assert "--missing zero --window" in shown
    assert "\nlfg: Queues of owed plays" in shown
    assert "\ntscsf_b: " not in shown
