"""``evenhand evaluate`` as a user meets it: in euros, on a narrow terminal, with an algorithm that learns."""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path

import pytest

from evenhand.cli import main as cli

EUROS = ("evaluate", "euros.csv", "--column", "reward=euros")
LEARNER = ("--algorithm", "hard_threshold_ucb", "--set", "fractions=0.1", "--set", "penalties=1")


@pytest.fixture(autouse=True)
def euros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 customers, who buy tea for 12.5 euros or coffee for 40."""
    monkeypatch.chdir(tmp_path)
    draws = random.Random(1)
    lines = ["timestamp,item_id,euros,propensity_score"]
    for second in range(500):
        item, price = draws.choice([("tea", 12.5), ("coffee", 40.0)])
        lines.append(f"{second},{item},{price * (draws.random() < 0.4)},0.5")
    Path("euros.csv").write_text("\n".join(lines))


def test_a_learner_takes_a_log_in_euros_with_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*EUROS, *LEARNER]) == 2
    assert "not within 0 to 1: set --rewards 0,40\n" in capsys.readouterr().err
    assert cli.run([*EUROS, *LEARNER, "--rewards", "0,40", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shares"]["coffee"]["target"] > 0.9
    assert found["estimates"]["snips"]["value"] == pytest.approx(
        40 * 0.4, abs=4 * found["estimates"]["snips"]["stderr"]
    )
    [warning] = [one for one in found["warnings"] if "has learned from the plays of the log" in one]
    assert warning.endswith(f"The 500 plays of the log count as {found['effective_sample_size']:,.0f}")


def test_columns_of_other_names_come_with_the_options_that_name_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.csv").write_text("time,the item,click,propensity\n1,tea,1,0.5\n")
    assert cli.run(["evaluate", "other.csv", "--shares", "uniform"]) == 2
    options = "--column timestamp=time --column 'item_id=the item' --column propensity_score=propensity"
    assert capsys.readouterr().err.endswith(f"name what is missing with {options}\n")
    assert cli.run(["evaluate", "other.csv", "--shares", "uniform", *shlex.split(options)]) == 0


def test_rewards_that_are_missing_are_a_choice_between_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("blank.csv").write_text("timestamp,item_id,click,propensity_score\n1,tea,,0.5\n")
    assert cli.run(["evaluate", "blank.csv", "--shares", "uniform"]) == 2
    assert "as 0 (--missing zero) or leave them out (--missing drop)" in capsys.readouterr().err


def test_fixed_shares_do_not_learn(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*EUROS, "--shares", "uniform", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_a_narrow_terminal_cuts_no_number(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*EUROS, *LEARNER, "--rewards", "0,40"]
    assert cli.run([*words, "--json"]) == 0
    dr = json.loads(capsys.readouterr().out)["estimates"]["dr"]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "70")
    assert cli.run(words) == 0
    printed = re.sub("\x1b[^m]*m", "", capsys.readouterr().out)
    assert "…" not in printed
    assert f"{dr['low']:.3g} to {dr['high']:.3g}" in printed
    assert max(map(len, printed.splitlines())) <= 70
