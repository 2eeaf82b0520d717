"""The report on a log: what the price and the evaluation say, and nothing that runs or is loaded."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.bandit.evaluation.evaluation import Evaluation, evaluate
from evenhand.bandit.evaluation.log import Log, read_log
from evenhand.bandit.evaluation.price import price
from evenhand.bandit.evaluation.report import report
from evenhand.cli import main as cli
from evenhand.core.numbers import ranged
from evenhand.judgement.differences import sentence
from evenhand.messages.prices import Price
from evenhand.messages.words import Words
from tests.bandit.audit.test_report import Page

EVIL = "<script>tea</script>"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A log of 600 sales."""
    draws, lines = random.Random(1), ["timestamp,item_id,reward,propensity_score"]
    for second in range(600):
        item, paid = draws.choice([(EVIL, 4.0), ("mate", 9.0)])
        lines.append(f"{second},{item},{paid * (draws.random() < 0.5)},0.5")
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    return tmp_path / "sales.csv"


@pytest.fixture
def log(file: Path) -> Log:
    return read_log(file, rewards=(0.0, 10.0), unit="€")


@pytest.fixture
def cost(log: Log) -> Price:
    return price(log, [0.1], rounds=50)


@pytest.fixture
def found(log: Log) -> Evaluation:
    return evaluate(log, {"even": "uniform", "mate only": {"mate": 1.0}})


def test_it_says_what_the_price_and_the_evaluation_say(cost: Price, found: Evaluation) -> None:
    page = Page(report("a <b> file", found, cost))
    assert not page.tags & {"script", "img", "link", "b"}
    assert not re.search(r"\bon\w+'|href|src|url\(", page.attributes)
    assert "Report on a <b> file" in page.text
    said = [sentence(one, Words("€")) for one in found.differences]
    for text in (*cost.sentences, *cost.unknown, *map(str, found.grades.values()), *said):
        assert text[1:].removesuffix(".") in page.text
    assert f"{found.estimates['mate only'].value:.3g}" in page.text
    assert "reward per round, €" in page.text
    assert "one point costs, €" in page.text
    assert "does the interval hold?" in page.text
    assert ranged(cost.curve[0].run_low, cost.curve[0].run_high, 2) in page.text
    assert cost.holds in page.text
    assert EVIL in page.text


def test_without_propensities_there_is_the_price_alone(cost: Price) -> None:
    text = report("sales.csv", None, replace(cost, claim="holds", premises=(), rounds=0))
    assert "earned" not in text
    assert "What promises would cost" in text


def test_the_command_reads_a_log(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.parent)
    call = ["report", "sales.csv", "--rewards", "0,10", "--promise", "0.1", "--shares", "uniform"]
    assert cli.run(call) == 0
    text = Path("report.html").read_text()
    assert "10%" in text
    assert "uniform" in text
    assert cli.run(["report", "sales.csv", "--rewards", "0,1", "--promise", "0.1"]) == 2
    assert "--rewards 0,9" in capsys.readouterr().err
