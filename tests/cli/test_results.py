"""What `simulate` prints first, and the tables that `table` makes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.main import run
from evenhand.core.files import alone_in

CONFIG = """
horizon = 400
lanes = 6
[environment]
arms = {arms}
fractions = 0.1
[environment.rewards]
kind = "bernoulli"
means = {means}
[[policies]]
algorithm = "fucb"
[[policies]]
algorithm = "ucb1"
label = "UCB_1 & co"
"""


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    simulated(tmp_path, ["tea", "[red]milk", "x" * 60])
    capsys.readouterr()
    return tmp_path / "out"


def simulated(tmp_path: Path, arms: list[str], *options: str) -> None:
    config = tmp_path / "run.toml"
    means = [round(0.9 - 0.6 * place / len(arms), 3) for place in range(len(arms))]
    fractions = 0.1 if len(arms) < 10 else 0.004
    config.write_text(CONFIG.format(arms=json.dumps(arms), means=means).replace("= 0.1\n", f"= {fractions}\n"))
    assert run(["simulate", str(config), "--figures", "none", "--out", str(tmp_path / "out"), *options]) == 0


def test_the_verdicts_come_first_and_every_line_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(tmp_path, ["tea", "[red]milk", "x" * 60])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["400 rounds, 6 lanes, seed 0", "", lines[2]]
    assert lines[2].startswith("fucb kept all three promises, and earned ")
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "[red]milk" in text
    assert "UCB_1 & co left" in text
    assert "✗" in text


@pytest.mark.parametrize("seed", range(4))
def test_both_tables_round_a_share_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """With 20 lanes of 400 rounds every other share ends with a 5 that the tables leave out."""
    size = ("--lanes", "20", "--horizon", "400", "--seed", str(seed))
    shares = []
    for options in ((), ("--wide",)):
        simulated(tmp_path, ["tea", "milk", "mate"], *size, *options)
        rows = re.findall(r"^ (?:tea|milk|mate) .*", capsys.readouterr().out, re.MULTILINE)
        shares.append([re.findall(r"(?<!± )0\.\d{4}", row)[-2:] for row in rows])
    assert shares[0] == shares[1]
    assert len(shares[0]) == 3


def test_of_many_arms_the_most_interesting_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(tmp_path, [f"arm {place}" for place in range(200)])
    out = capsys.readouterr().out
    assert "191 more" in out
    assert len(out.splitlines()) < 30
    simulated(tmp_path, [f"arm {place}" for place in range(200)], "--wide")
    assert "arm 117 " in capsys.readouterr().out


def test_differences_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(tmp_path, ["tea", "milk"], "--against", "fucb")
    assert "UCB_1 & co less fucb, lane by lane" in capsys.readouterr().out
    simulated(tmp_path, ["tea", "milk"], "--against", "fucb", "--json")
    printed = json.loads(capsys.readouterr().out)
    assert printed["verdicts"]["fucb"]["promises_kept"] is True
    assert {row["label"] for row in printed["differences"]} == {"UCB_1 & co"}


def test_an_unknown_policy_is_refused_before_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "run.toml"
    config.write_text(CONFIG.format(arms='["a", "b"]', means="[0.9, 0.5]"))
    assert run(["simulate", str(config), "--out", str(tmp_path / "out"), "--against", "FUCB"]) == 2
    assert capsys.readouterr().err == "evenhand: --against: there is no policy 'FUCB'; did you mean 'fucb'?\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_figures_of_an_earlier_run_do_not_stay(tmp_path: Path) -> None:
    simulated(tmp_path, ["tea", "milk"], "--figures", "all")
    out = tmp_path / "out"
    assert (out / "unfairness.png").exists()
    (out / "notes.png").touch()
    simulated(tmp_path, ["tea", "milk"])
    tables = {"curves.parquet", "arms.parquet", "estimates.parquet"}
    assert {path.name for path in out.iterdir()} == {*tables, "index.html", "notes.png"}
    assert "unfairness.png" not in (out / "index.html").read_text(encoding="utf-8")


def test_two_runs_into_one_folder_do_not_mix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(tmp_path, ["tea", "milk"])
    with alone_in(tmp_path / "out"):
        assert run(["simulate", str(tmp_path / "run.toml"), "--out", str(tmp_path / "out")]) == 2
    assert "another run is writing to" in capsys.readouterr().err


@pytest.mark.parametrize("show", ["measures", "shares", "differences"])
def test_a_table_in_every_markup(folder: Path, show: str, capsys: pytest.CaptureFixture[str]) -> None:
    def table(markup: str) -> str:
        assert run(["table", str(folder), "--show", show, "--format", markup]) == 0
        return capsys.readouterr().out

    rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(table("csv"))))
    items = {row["arm" if show == "shares" else "measure"] for row in rows}
    policies = {row["policy"] for row in rows}
    markdown = table("markdown").splitlines()
    assert len(markdown) == 2 + len(items)
    assert all(line.count("|") == markdown[0].count("|") for line in markdown)
    assert all(policy in markdown[0] for policy in policies)
    latex = table("latex")
    assert r"\toprule" in latex
    assert r"UCB\_1 \& co" in latex
    assert "±" not in latex


def test_a_folder_without_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", str(tmp_path)]) == 2
    assert "curves.parquet" in capsys.readouterr().err


SEGMENTED = """
horizon = 60
lanes = 5
policies = [{ label = "fair", index = "lin_ucb", fairness = { kind = "deficit_first", fractions = 0.0 } }, "ucb1"]
[environment]
arms = ["tea", "mate"]
contexts = { kind = "categories", categories = { country = { DE = 0.5, FR = 0.5 } } }
rewards = { kind = "linear", coefficients = [[0.9, 0.0, 0.0], [0.1, 0.0, 0.0]] }
segments = "country"
[[promises]]
from = 1
fractions = { mate = 0.25 }
segment = "FR"
"""


def test_promises_by_segment_are_printed_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(SEGMENTED, encoding="utf-8")
    assert run(["simulate", str(path), "--out", str(tmp_path / "out"), "--figures", "none"]) == 0
    shown = capsys.readouterr()
    assert "mate in FR, promised 0.25" in shown.out
    assert "fair kept its promise" in shown.out
    assert "ucb1 left mate in the segment FR short" in shown.out
    assert "Promises change" not in shown.out
    assert "estimates.parquet, segments.parquet, index.html" in shown.err
    assert run(["simulate", str(tmp_path / "out" / "curves.parquet"), "--out", str(tmp_path / "again"), "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["verdicts"]["fair"]["promises"]
    assert (case["to"], case["segment"], case["verdict"]) == ("mate", "FR", "kept")
    assert run(["simulate", str(tmp_path / "out" / "curves.parquet"), "--out", str(tmp_path / "wide"), "--wide"]) == 0
    assert "mate in FR, promised 0.25" in capsys.readouterr().out
    assert run(["check", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["policies"]["fair"]
    assert facts["segments"] == {"FR": {"mate": 0.25}}
    assert facts["best_fair_reward_per_round"] == pytest.approx(0.9 - 0.5 * 0.25 * 0.8)
    assert run(["check", str(path)]) == 0
    assert "mate 0.25 in FR" in capsys.readouterr().out
