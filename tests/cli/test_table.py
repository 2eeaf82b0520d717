"""``evenhand table``: names, choices, digits, the best in bold, and sweeps."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand import Environment, Results, compare
from evenhand.algorithms import fucb, ucb1
from evenhand.cli.main import run
from evenhand.cli.table import best
from evenhand.rewards import Bernoulli

STUDY = """
horizon = 300
lanes = 8
[environment]
rewards = { kind = "bernoulli", means = [0.9, 0.3] }
fractions = [0.0, 0.3]
[[policies]]
label = "LFG_1"
algorithm = "lfg"
eta = 1
[[policies]]
algorithm = "ucb1"
[sweep.axes]
"policies[0].eta" = [1, 1000]
"""


@pytest.fixture(scope="module")
def results() -> Results:
    world = Environment(Bernoulli([0.9, 0.5]), names=("tea", "milk_2"), fractions=[0.0, 0.2])
    policies = {"FUCB": fucb([0.0, 0.2]), "same": fucb([0.0, 0.2]), "UCB1": ucb1()}
    return compare(policies, world, horizon=1000, lanes=10)


@pytest.fixture
def folder(results: Results, tmp_path: Path) -> str:
    return str(results.save(tmp_path / "run"))


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]


def test_the_best_is_among_those_that_kept(results: Results) -> None:
    assert results.verdicts["UCB1"].missed
    assert best(results, "reward") == {"FUCB", "same"}  # though UCB1 earned more
    assert best(results, "r_regret") == {"FUCB", "same"}
    assert best(results, "unfairness") == {"FUCB", "same"}
    assert best(results, "of one's own") == set()


def test_a_table_has_names_even_digits_and_the_best_in_bold(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", folder, "--measure", "r_regret", "--measure", "unfairness"]) == 0
    head, _, regret, missing = cells(capsys.readouterr().out)
    assert head == ["measure", "FUCB", "same", "UCB1"]
    assert (regret[0], missing[0]) == ("r-regret", "missing plays, all arms")
    assert [cell.startswith("**") for cell in regret[1:]] == [True, True, False]
    for row in (regret, missing):
        decimals = {len(number.strip("*").partition(".")[2]) for cell in row[1:] for number in cell.split(" ± ")}
        assert len(decimals) == 1


def test_latex_has_intervals_and_no_letters_that_it_does_not_know(
    folder: str, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--interval", "--format", "latex", "--policy", "UCB1", "--policy", "FUCB"]
    assert run(["table", folder, *words]) == 0
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert r"\toprule" in shown
    assert r"\textbf{" in shown
    assert "same" not in shown
    values = results.policies["UCB1"].curves["reward"][-1]
    assert f"{values.mean():,.1f} (" in shown
    assert run(["table", folder, "--format", "latex", "--show", "shares"]) == 0
    assert r"milk\_2" in capsys.readouterr().out


def test_csv_has_keys_and_all_digits(folder: str, results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", folder, "--format", "csv", "--measure", "reward"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(found) == ["policy", "measure", "mean", "stderr", "low", "high"]
    np.testing.assert_allclose(found["mean"], [one.curves["reward"][-1].mean() for one in results.policies.values()])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--measure", "regrets"], "the table has no measure 'regrets'; did you mean 'regret'"),
        (["--policy", "ucb1"], "the table has no policy 'ucb1'"),
        (["--show", "choices"], "--show choices is of a sweep"),
        (["--show", "shares", "--measure", "regret"], "the table has no measure 'regret'"),
    ],
)
def test_what_a_table_has_not_is_named(
    folder: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["table", folder, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_sweep_has_a_row_for_each_setting_and_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    assert run(["sweep", "study.toml", "--no-figures"]) == 0
    capsys.readouterr()
    assert run(["table", "sweep", "--measure", "r_regret"]) == 0
    head, _, *rows = cells(capsys.readouterr().out)
    assert head == ["η", "policy", "promises", "r-regret"]
    assert [row[:3] for row in rows] == [
        ["1", "LFG_1", "kept"],
        ["1", "ucb1", "missed"],
        ["1000", "LFG_1", "missed"],
        ["1000", "ucb1", "missed"],
    ] or rows[2][2] == "undecided"
    assert run(["table", "sweep", "--show", "choices", "--format", "latex"]) == 0
    assert r"$\eta$" in capsys.readouterr().out
    assert run(["table", "sweep", "--show", "differences", "--measure", "reward", "--against", "ucb1"]) == 0
    assert " to " in cells(capsys.readouterr().out)[2][-1]
    assert run(["table", "sweep", "--format", "csv"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert {"setting", "eta", "policy", "measure", "mean", "stderr", "promises", "low", "high"} <= set(found)
    assert run(["table", "sweep", "--show", "shares"]) == 2
