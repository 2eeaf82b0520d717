"""Parts of one's own, as in the page about them, work wherever shipped parts do."""

from __future__ import annotations

import csv
import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evenhand import Environment, Policy, Results, check_environment, check_policy, compare
from evenhand.algorithms.registry import ALGORITHMS
from evenhand.bandit import Bandit
from evenhand.bandit.evaluation.log import read_log
from evenhand.bandit.evaluation.replay import replay
from evenhand.cli import main as cli
from evenhand.core.parts import plain
from evenhand.rewards import Bernoulli
from evenhand.simulation.setup import read_setup

PAGE = (Path(__file__).parents[1] / "docs/howto/checks.md").read_text(encoding="utf-8")
FRACTIONS = [0.1, 0.2, 0.2]
NAMES = ["tea", "coffee", "cocoa"]
SIZE: dict[str, Any] = {"horizon": 60, "lanes": 4, "seed": 3, "progress": False}
TABLE = {"index": "kl_ucb_mine", "fairness": {"kind": "debt_first", "fractions": FRACTIONS}}


def block(name: str) -> str:
    """A complete example of the page."""
    return PAGE.split(f":caption: {name}\n")[1].split("\n```")[0] + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    for name in ("mine.py", "mine.toml"):
        (folder / name).write_text(block(name), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def mine(folder: Path) -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("mine", folder / "mine.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mine"]
    ALGORITHMS.pop("kl_debt", None)


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["evenhand", *arguments])
    with suppress(SystemExit):
        cli.main()


def test_they_keep_the_rules(mine: Any) -> None:
    check_policy(Policy(mine.KLUCB(), mine.DebtFirst(FRACTIONS)), arms=3)
    check_environment(Environment(Bernoulli([0.9, 0.8, 0.7]), feedback=mine.Weekly(days=3)))


def test_in_compare_and_from_the_result_file(mine: Any, tmp_path: Path) -> None:
    world = Environment(Bernoulli([0.9, 0.8, 0.7]), feedback=mine.Weekly(days=3))
    policies = {"parts": Policy(mine.KLUCB(), mine.DebtFirst(FRACTIONS)), "algorithm": mine.kl_debt(FRACTIONS)}
    results = compare(policies, world, metrics=[mine.LongestWait()], **SIZE)
    final = results.final()
    assert final["parts"] == final["algorithm"]
    assert 3 < final["parts"]["longest_wait"]["mean"] < 30
    setup = read_setup(results.save(tmp_path) / "curves.parquet")
    assert plain(setup.policies["parts"]) == plain(policies["parts"])
    assert plain(setup.environment.feedback) == {"kind": "weekly", "days": 3, "named": False}
    again = compare(setup.policies, setup.environment, metrics=setup.metrics, **SIZE)
    assert again.final() == final


def test_the_debt_is_paid_first(mine: Any) -> None:
    results = compare(
        [mine.kl_debt([0.0, 0.0, 0.3])], Environment(Bernoulli([0.9, 0.8, 0.1])), **SIZE | {"horizon": 600}
    )
    (share,) = (record.pulls[-1] for record in results.policies.values())
    assert (share[:, 2] >= 0.3 * 600 - 2).all()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_in_a_configuration(
    mine: Any, folder: Path, jobs: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config, size = str(folder / "mine.toml"), ["--horizon", "40", "--lanes", "3", "--jobs", jobs]
    run(["check", config], monkeypatch)
    run(["simulate", config, *size, "--figures", "none", "--out", str(tmp_path)], monkeypatch)
    final = Results.load(tmp_path).final()
    assert set(final) == {"parts", "algorithm"}
    assert final["parts"] == final["algorithm"]
    assert "longest_wait" in final["parts"]


FLOORS = "fairness = { kind = 'mine:DebtFirst', fractions = { tea = 0.2, coffee = 0.2, cocoa = 0.2 } }"
EVALUATED = {
    "registered": ["--import", "mine.py", "--algorithm", "kl_debt", "--set", "fractions=0.2"],
    "function": ["--algorithm", "mine:kl_debt", "--set", "fractions=0.2"],
    "table": ["--algorithm", f"{{ label = 'own', index = 'mine:KLUCB', {FLOORS} }}"],
    "json": ["--algorithm", '{"algorithm": "mine:kl_debt", "fractions": 0.2}'],
    "file": ["--algorithm", "policy.toml"],
}


@pytest.mark.parametrize("own", EVALUATED.values(), ids=list(EVALUATED))
def test_in_the_evaluation_of_a_log(
    mine: Any,
    folder: Path,
    own: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    (folder / "policy.toml").write_text(f"index = 'mine:KLUCB'\n{FLOORS}\n", encoding="utf-8")
    customers, log = random.Random(1), tmp_path / "log.csv"
    with log.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["timestamp", "item_id", "reward", "propensity_score"])
        for second in range(60):
            rows.writerow([second, customers.choice(NAMES), float(customers.random() < 0.5), 1 / 3])
    run(["evaluate", str(log), *own, "--json"], monkeypatch)
    printed = json.loads(capsys.readouterr().out)
    assert printed["replay"]["policy"] in ("kl_debt", "mine:kl_debt", "own", "mine:KLUCB + mine:DebtFirst")
    found = replay(read_log(log), "kl_debt", {"fractions": 0.2}).to_json()
    assert {**printed["replay"], "policy": "kl_debt"} == found


def test_in_the_list_of_algorithms(
    mine: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    run(["algorithms", "kl_debt", "--import", "mine.py"], monkeypatch)
    printed = capsys.readouterr().out
    assert printed.startswith("kl_debt  KL-UCB that pays debts first.\n")
    assert "promise" not in printed


SCRIPT = """
if __name__ == "__main__":
    import other
    from evenhand import compare
    from evenhand.studies.configuration import load

    setup = load("mine.toml")
    assert type(setup.policies["parts"].index) is KLUCB
    results = compare(setup.policies, setup.environment, 30, 2, jobs=2, metrics=setup.metrics, progress=False)
    assert results.final()["parts"] == results.final()["algorithm"]
    print("done")
"""


def test_in_a_script_that_loads_a_configuration_of_its_own_parts(tmp_path: Path) -> None:
    """It is loaded as ``__main__``, and by another module as ``mine``."""
    (tmp_path / "mine.py").write_text(block("mine.py") + SCRIPT, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(block("mine.toml"), encoding="utf-8")
    (tmp_path / "other.py").write_text("import mine\n", encoding="utf-8")
    words = [sys.executable, "mine.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("form", ["table", "algorithm", "algorithm in a table"])
def test_in_a_bandit_that_is_saved_and_loaded(mine: Any, form: str, tmp_path: Path) -> None:
    whole = {"algorithm": "kl_debt", "fractions": FRACTIONS}
    bandits = {
        "table": lambda: Bandit(NAMES, TABLE),
        "algorithm": lambda: Bandit(NAMES, "kl_debt", fractions=FRACTIONS),
        "algorithm in a table": lambda: Bandit(NAMES, whole),
    }
    bandit = bandits[form]()
    for _ in range(25):
        choice = bandit.decide(now=0.0)
        bandit.observe(choice.id, dict.fromkeys(choice.names, 0.5), now=0.0)
    bandit.save(tmp_path / "bandit.json")
    again = Bandit.load(tmp_path / "bandit.json")
    assert again.dump() == bandit.dump()
    assert [again.decide(now=1.0).arms for _ in range(10)] == [bandit.decide(now=1.0).arms for _ in range(10)]
