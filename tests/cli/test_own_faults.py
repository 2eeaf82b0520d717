"""A part of one's own that raises ends a command with a message that names it, not with a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evenhand.cli.main import run
from evenhand.core import parts

MINE = """
from attrs import frozen
from evenhand import Metric, part
from evenhand.delays import Delay
from evenhand.policy import Hold, Index

@frozen
class Broken(Index):
    def score(self, state, observation, rng):
        return state.tally.pulls["tea"]

@frozen
class Late(Delay):
    def quantile(self, level, arm, reward):
        return _by(level)

@frozen
class Alone(Hold):
    def continued(self, state, observation, rng):
        return state.tally.pulls < 0  # without what chance decided

def _by(level):
    raise KeyError(str(len(level) > 0))

from evenhand.availability import Availability

@part("availability", "own_odd")
@frozen
class Odd(Availability):
    def draw(self, rng, rows, lanes):
        return "nobody"
    def distribution(self, arms):
        return 5
"""
CONFIG = """
horizon = 30
lanes = 300
[environment]
rewards = { kind = "bernoulli", means = [0.8, 0.4] }
FEEDBACK
[[policies]]
label = "one"
INDEX
[[policies]]
algorithm = "ucb1"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "own_broken", None)
    monkeypatch.delitem(sys.modules, "own_broken")
    (tmp_path / "own_broken.py").write_text(MINE)
    return tmp_path


def written(**parts: str) -> str:
    text = CONFIG.replace("FEEDBACK", parts.get("feedback", "")).replace("INDEX", parts.get("index", 'index = "ucb"'))
    Path("config.toml").write_text(text)
    return "config.toml"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_index_that_raises_is_named(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = written(index='index = { kind = "own_broken:Broken" }')
    assert run(["simulate", config, "--jobs", jobs, "--figures", "none"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("evenhand: Broken.score (own_broken, line 10) raised IndexError: only integers")
    assert shown.err.count("\n") == 1


def test_the_member_that_was_asked_is_named_not_what_it_calls(capsys: pytest.CaptureFixture[str]) -> None:
    config = written(feedback='feedback = { kind = "own_broken:Late" }')
    assert run(["simulate", config, "--figures", "none"]) == 2
    assert capsys.readouterr().err == "evenhand: Late.quantile (own_broken, line 15) raised KeyError: 'True'\n"


def test_a_sweep_reports_the_member_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    config = written(index='index = { kind = "own_broken:Broken" }')
    with Path(config).open("a") as file:
        file.write("[sweep]\naxes = { horizon = [20] }\n")
    assert run(["sweep", config]) == 2
    assert "one, horizon = 20: Broken.score (own_broken, line 10) raised IndexError" in capsys.readouterr().err


def test_a_fault_of_evenhand_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("evenhand.simulation.simulate.run_setup")
    with pytest.raises(ImportError):
        run(["simulate", written(), "--figures", "none"])


@pytest.mark.parametrize("command", ["simulate", "evaluate"])
def test_one_that_gives_what_does_not_fit_is_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    hold = 'hold = { kind = "own_broken:Alone" }'
    Path("log.csv").write_text("time,item,reward,propensity\n" + "1,tea,1,0.5\n2,mate,0,0.5\n3,mate,1,0.5\n" * 9)
    words = {
        "simulate": [written(index=f'index = "ucb"\n{hold}')],
        "evaluate": ["log.csv", "--algorithm", f'{{ index = "ucb", {hold} }}'],
    }
    assert run([command, *words[command]]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("evenhand: Alone gives what is of another shape or kind than is asked for: ")


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_one_that_does_not_fit_before_the_first_round_is_named(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_KINDS", {slot: dict(known) for slot, known in parts._KINDS.items()})
    feedback = 'availability = { kind = "own_broken:Odd" }\nfractions = 0.1'
    assert run([command, written(feedback=feedback)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    named, _, fault = last.partition(" gives what is of another shape or kind than is asked for: ")
    assert "Odd" in named  # beside those of other tests
    assert fault.startswith("TypeError: ")
