"""``evenhand sweep``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evenhand.cli.main import run

STUDY = """
horizon = 60
lanes = 3
[environment]
rewards = { kind = "bernoulli", means = [0.8, 0.4] }
fractions = 0.2
[[policies]]
algorithm = "eta_fucb"
[[policies]]
label = "UCB"
algorithm = "ucb1"
[sweep]
axes = { "policies[0].eta" = ETAS }
"""

OWN_METRIC = """
from attrs import frozen
from evenhand import Metric

@frozen
class Half(Metric):
    name, label, unit = "half", "half", ""
    def value(self, memory, run):
        return run.pulls[:, 0] / 2
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("ETAS", "[1, 10]"))
    return path


def test_a_study_is_run_and_shown(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "study.toml"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[:4] == [
        "2 settings of η of eta_fucb (2), 60 rounds, 3 lanes, seed 0",
        "",
        "eta_fucb kept all promises in both settings; it has 2 variants.",
        "UCB may have kept all promises (undecided).",
    ]
    assert lines[4].startswith("Of those that surely kept all promises, ")
    assert "r-regret: mean ± standard error over the lanes" in lines
    assert [line.split()[:2] for line in lines[4:] if line.strip()[:1].isdigit()] == [
        ["0", "1"],
        ["1", "10"],
    ]
    names = ["r_regret_over_eta.png", "missing_plays_all_arms_over_eta.png", "frontier.png"]
    assert shown.err == f"wrote summary.parquet, lanes, index.html, {', '.join(names)} to sweep\n"
    assert all(Path("sweep", name).is_file() for name in names)
    assert run(["sweep", "status", "sweep"]) == 0
    assert capsys.readouterr().out == (
        "2 settings, 3 different units of work (a policy in a setting)\n3 finished, 0 failed, 0 to be run\n"
    )


def test_json_has_every_row(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "run", "study.toml", "--json", "--measure", "reward"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["settings"], found["axes"], len(found["results"])) == (2, ["eta"], 4)
    assert found["answer"][0] == "eta_fucb kept all promises in both settings; it has 2 variants."
    assert [one["settings"] for one in found["choices"]] == [1, 1, 1]
    assert set(found["results"][0]) == {"setting", "eta", "policy", "round", "measure", "n", "mean", "stderr"}
    assert run(["sweep", "status", "sweep", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] == 3


@pytest.mark.slow
def test_shards_are_merged(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "study.toml", "--shard", "1/2", "--out", "a"]) == 0
    assert run(["sweep", "study.toml", "--shard", "2/2", "--out", "b"]) == 0
    capsys.readouterr()
    assert run(["sweep", "merge", "all", "a", "b"]) == 0
    merged = capsys.readouterr().out
    assert run(["sweep", "study.toml", "--out", "whole"]) == 0
    assert capsys.readouterr().out == merged


@pytest.mark.parametrize("kind", ["lines", "frontier"])
def test_a_figure_is_written(study: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert run(["sweep", "study.toml"]) == 0
    assert run(["sweep", "figure", "sweep", kind, "--out", "figure.svg", "--title", "A study"]) == 0
    assert "A study" in Path("figure.svg").read_text(encoding="utf-8")


def test_a_failure_is_reported_after_the_rest(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("ETAS", "[1, -1]"))
    assert run(["sweep", "study.toml"]) == 2
    shown = capsys.readouterr()
    assert "wrote summary.parquet, lanes, " in shown.err
    assert "evenhand: 1 unit failed; the next run tries it again\n  eta_fucb, eta = -1: " in shown.err
    assert run(["sweep", "status", "sweep"]) == 0
    assert "failed: eta_fucb, eta = -1: " in capsys.readouterr().out


def test_faults_of_a_unit_stand_below_it(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(
        STUDY.replace("ETAS", "[1]").replace('"bernoulli"', '"bernouli"').replace('"ucb1"', '"nowhere:make"')
    )
    assert run(["sweep", "study.toml"]) == 2
    said = (
        "environment.rewards: unknown kind 'bernouli'; did you mean 'bernoulli'?\n    policies[0]: there is no module"
    )
    assert said in capsys.readouterr().err
    assert run(["sweep", "status", "sweep"]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "nowhere.toml"], "there is no file nowhere.toml"),
        (["sweep", "status", "."], ". is not the folder of a sweep: it has no study.json"),
        (["sweep", "figure", "."], "Missing argument"),
        (["sweep", "figure", ".", "lines", "--out", "x.gif"], "--out must end with .png, .svg or .pdf"),
        (["sweep", "study.toml", "--shard", "3"], "shard must have the form 3/10"),
        (["sweep", "study.toml", "--address", "x"], "an address belongs to a cluster"),
        (["sweep", "study.toml", "--measure", "regrets"], "there is no measure 'regrets'"),
    ],
)
def test_faults_are_one_line(study: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert run(words) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_an_unknown_measure_is_refused_before_the_run(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "study.toml", "--measure", "r_regrets"]) == 2
    assert capsys.readouterr().err == "evenhand: there is no measure 'r_regrets'; did you mean 'r_regret'?\n"
    assert not Path("sweep").exists()


def test_a_measure_can_be_of_ones_own_metric(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own_measure.py").write_text(OWN_METRIC)
    study.write_text('metrics = ["own_measure:Half"]\n' + study.read_text())
    assert run(["sweep", "study.toml", "--measure", "halves"]) == 2
    assert not Path("sweep").exists()
    assert "did you mean 'half'?" in capsys.readouterr().err
    assert run(["sweep", "study.toml", "--measure", "half"]) == 0
    assert "half: mean ± standard error" in capsys.readouterr().out


def test_a_study_without_a_sweep_says_what_is_missing(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.partition("[sweep]")[0])
    assert run(["sweep", "study.toml"]) == 2
    assert "sweep is missing: a study has a section [sweep] with axes" in capsys.readouterr().err


def test_a_study_is_checked_without_a_run(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "study.toml"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    work = "2 settings, 3 different units of work (a policy in a setting)"
    assert first == f"the study is valid in all of its {work}, and every promise can be kept"
    assert re.fullmatch(r"it will take about \d+ s of processor time, by a pilot of each policy", second)
    study.write_text(STUDY.replace("policies[0].eta", "environment.fractions").replace("ETAS", "[0.2, 0.7]"))
    assert run(["check", "study.toml", "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["settings"] == 2
    assert {one["setting"] for one in json.loads(shown.out)["faults"]} == {"fractions = 0.2", "fractions = 0.7"}
    assert "study.toml: 3 units of the study cannot be run" in shown.err
    assert "eta_fucb, fractions = 0.2: policies[0].eta is missing: eta_fucb needs it" in shown.err
    assert not Path("sweep").exists()


def test_a_dry_run_counts_what_is_there(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "study.toml", "--dry-run"]) == 0
    assert not Path("sweep").exists()
    assert run(["sweep", "study.toml", "--no-figures"]) == 0
    assert not list(Path("sweep").glob("*.png"))
    capsys.readouterr()
    assert run(["sweep", "study.toml", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "settings": 2,
        "units": 3,
        "kept": 3,
        "faults": [],
        "seconds": 0.0,
    }


def test_a_study_whose_promises_cannot_be_kept_in_a_setting(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    varied = STUDY.replace("policies[0].eta", "environment.fractions").replace("ETAS", "[0.2, 0.7]")
    study.write_text(varied.replace('"eta_fucb"', '"fucb"'))
    assert run(["check", "study.toml"]) == 2
    assert "fucb, fractions = 0.7: the promised shares of 'fucb' cannot be kept" in capsys.readouterr().err


def test_simulate_says_how_a_study_is_run(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "study.toml"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[:2] == [
        "evenhand: study.toml:12:1: sweep: this is a study of many settings; run it with `evenhand sweep`",
        "   12 | [sweep]",
    ]
