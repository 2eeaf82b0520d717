"""``evenhand figure``, and which figures ``evenhand simulate`` draws."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from evenhand.cli.main import run
from evenhand.simulation.figures.files import KINDS
from evenhand.simulation.kinds import FigureKind

CONFIG = """
horizon = 60
lanes = 3
[environment]
arms = ["tea", "coffee"]
rewards = { kind = "bernoulli", means = [0.8, 0.4] }
fractions = 0.2
[[policies]]
algorithm = "fucb"
[[policies]]
label = "UCB / 1"
algorithm = "ucb1"
[figures]
formats = ["svg"]
"""


def simulated(tmp_path: Path, figures: str = "", *options: str) -> Path:
    (tmp_path / "run.toml").write_text(CONFIG + figures)
    assert run(["simulate", str(tmp_path / "run.toml"), "--out", str(tmp_path / "out"), *options]) == 0
    return tmp_path / "out"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("run"), "", "--figures", "none")


def test_every_kind_that_can_be_asked_for_is_drawn() -> None:
    assert get_args(FigureKind) == tuple(KINDS)


def test_a_figure_of_a_kind_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    words = ["shares-over-time", "--policy", "UCB / 1", "--out", "shares.svg", "--width", "column"]
    assert run(["figure", str(folder), *words]) == 0
    assert capsys.readouterr().err == "wrote shares.svg\n"
    drawn = (tmp_path / "shares.svg").read_text(encoding="utf-8")
    assert "UCB / 1, mean of 3 lanes" in drawn
    assert "coffee" in drawn


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curves", "--measure", "regre", "--out", "a.png"], "no measure 'regre'; did you mean 'regret'?"),
        (["shares-over-time", "--policy", "ucb", "--out", "a.png"], "there is no policy 'ucb'"),
        (["curves", "--out", "a.jpg"], "--out must end with .png, .svg or .pdf, got 'a.jpg'"),
        (["pie", "--out", "a.png"], "'pie' is not one of"),
        (["curves"], "Missing option '--out'"),
    ],
)
def test_what_cannot_be_drawn_says_why_and_writes_nothing(
    folder: Path,
    tmp_path: Path,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert run(["figure", str(folder), *words]) != 0
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert run(["figure", str(tmp_path / "nothing"), "curves", "--out", "a.png"]) != 0
    assert "nothing" in capsys.readouterr().err


def test_the_configuration_chooses_the_kinds(tmp_path: Path) -> None:
    folder = simulated(tmp_path, 'kinds = ["frontier", "arms-over-time", "delays"]')
    drawn = {path.stem for path in folder.glob("*.svg")}
    assert drawn == {"frontier", "arms_over_time_fucb", "arms_over_time_UCB_1"}  # no delays in this world
    # Those of an earlier run are not left among the new ones.
    simulated(tmp_path, 'kinds = ["shares"]')
    assert {path.stem for path in folder.glob("*.svg")} == {"selection_fractions"}


def test_an_unknown_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.toml").write_text(CONFIG + 'kinds = ["curve"]')
    assert run(["simulate", str(tmp_path / "run.toml"), "--out", str(tmp_path / "out")]) != 0
    assert "figures.kinds" in capsys.readouterr().err
