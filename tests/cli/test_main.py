"""The command line, as its users meet it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from evenhand import Results

CONFIG = """
horizon = 200
lanes = 6
seed = 3
[environment]
arms = ["tea", "coffee"]
rewards = { kind = "bernoulli", means = [0.8, 0.4] }
fractions = [0.1, 0.2]
[[policies]]
algorithm = "fucb"
[[policies]]
label = "UCB"
algorithm = "ucb1"
[figures]
bounds = true
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(evenhand: Run) -> Run:
    """Run ``evenhand`` in an empty folder."""
    return evenhand


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "tea.toml"
    path.write_text(CONFIG)
    return path


def test_help_has_examples_for_every_command(run: Run) -> None:
    overview = run("--help").stdout
    for command in ("algorithms", "check", "simulate", "reproduce"):
        assert command in overview
        shown = run(command, "--help")
        assert shown.returncode == 0
        assert f"evenhand {command}" in shown.stdout


def test_version(run: Run) -> None:
    from evenhand import __version__

    assert run("--version").stdout.strip() == f"evenhand {__version__}"


def test_algorithms_lists_and_tells(run: Run) -> None:
    table = run("algorithms").stdout
    assert "fucb" in table
    assert "explore_then_commit" in table
    one = run("algorithms", "tscsf_b").stdout
    for words in ("Q_i/η + w_i θ_i", "promise", "eta", "required", "Huang", "@misc{huang2020,"):
        assert words in one


def test_algorithms_as_json(run: Run) -> None:
    listed = json.loads(run("algorithms", "--json").stdout)
    assert {"name", "summary", "equation", "promise", "parameters", "source", "citation", "bibtex"} <= set(listed[0])
    one = json.loads(run("algorithms", "lfg", "--json").stdout)
    eta = next(parameter for parameter in one["parameters"] if parameter["name"] == "eta")
    assert eta["required"]


def test_simulate_prints_tables_and_writes_whole_files(run: Run, config: Path, tmp_path: Path) -> None:
    done = run("simulate", config, "--wide")
    assert done.returncode == 0, done.stderr
    for words in ("r_regret", "coffee", "±", "of 0.2", "UCB"):
        assert words in done.stdout
    names = {path.name for path in (tmp_path / "results").iterdir()}
    assert {"curves.parquet", "arms.parquet", "estimates.parquet"} <= names
    figures = {"r_regret.png", "r_regret.svg", "overview.png", "overview.svg", "index.html"}
    assert {name for name in names if not name.endswith(".parquet")} == figures
    assert run("simulate", config, "--figures", "all").returncode == 0
    names = {path.name for path in (tmp_path / "results").iterdir()}
    for figure in ("regret", "r_regret", "unfairness", "selection_fractions"):
        assert {f"{figure}.png", f"{figure}.svg"} <= names
    assert not [name for name in names if name.startswith(".")]


def test_json_on_standard_output_is_the_contract_and_nothing_else(run: Run, config: Path) -> None:
    done = run("simulate", config, "--json", "--figures", "none")
    output = json.loads(done.stdout)
    assert set(output["policies"]) == {"fucb", "UCB"}
    fucb = output["policies"]["fucb"]
    for measure in ("reward", "regret", "r_regret", "time_averaged_regret", "unfairness", "violation", "max_violation"):
        assert set(fucb[measure]) == {"mean", "stderr"}
    assert "penalized_regret" not in fucb
    assert len(fucb["selection_fractions"]["mean"]) == len(fucb["selection_fractions"]["stderr"]) == 2
    assert sum(fucb["selection_fractions"]["mean"]) == pytest.approx(1.0)
    assert "wrote" in done.stderr


def test_one_lane_has_no_standard_error(run: Run, config: Path) -> None:
    output = json.loads(run("simulate", config, "--json", "--lanes", 1, "--figures", "none").stdout)
    assert output["policies"]["fucb"]["reward"]["stderr"] is None


def test_options_come_before_the_file(run: Run, config: Path, tmp_path: Path) -> None:
    options = ("--seed", 9, "--lanes", 4, "--horizon", 50, "--out", "elsewhere", "--figures", "none", "--json")
    output = json.loads(run("simulate", config, *options).stdout)
    assert (output["seed"], output["lanes"], output["horizon"]) == (9, 4, 50)
    results = Results.load(tmp_path / "elsewhere")
    assert results.policies["fucb"].pulls.shape == (50, 4, 2)


def test_a_result_file_runs_again_with_the_same_numbers(run: Run, config: Path) -> None:
    first = run("simulate", config, "--json", "--figures", "none").stdout
    again = run("simulate", "results/curves.parquet", "--json", "--figures", "none", "--out", "again").stdout
    assert json.loads(first) == json.loads(again)


def test_processes_do_not_change_the_numbers(run: Run, config: Path) -> None:
    one = run("simulate", config, "--json", "--figures", "none").stdout
    two = run("simulate", config, "--json", "--figures", "none", "--jobs", 2).stdout
    assert one == two


def test_check_lists_groups_caps_and_fixed_shares(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "groups.toml"
    config.write_text(
        """
        horizon = 10
        [environment]
        arms = ["tea", "coffee", "cocoa", "mate"]
        rewards = { kind = "bernoulli", means = [0.9, 0.8, 0.7, 0.6] }
        [[policies]]
        algorithm = "group_ucb"
        fractions = [0, 0.1, 0.2, 0]
        caps = [0.5, 1, 0.2, 1]
        groups = [{ name = "hot", arms = ["tea", "coffee"], at_least = 0.3, at_most = 0.6 }]
        """,
        encoding="utf-8",
    )
    words = " ".join(run("check", str(config)).stdout.replace("│", " ").split())
    for bound in ("tea at most 0.5", "coffee 0.1", "cocoa exactly 0.2", "group hot 0.3 to 0.6", "can be kept"):
        assert bound in words
    facts = json.loads(run("check", str(config), "--json").stdout)["policies"]["group_ucb"]
    assert facts["caps"] == [0.5, 1.0, 0.2, 1.0]
    assert facts["groups"] == [{"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.3, "at_most": 0.6}]


def test_check_says_what_is_feasible_without_running(run: Run, config: Path, tmp_path: Path) -> None:
    done = run("check", config)
    assert done.returncode == 0
    assert "every promise can be kept" in done.stdout
    output = json.loads(run("check", config, "--json").stdout)
    # 0.8 of the rounds at 0.8 and 0.2 at 0.4
    assert output["policies"]["fucb"]["best_fair_reward_per_round"] == pytest.approx(0.72)
    assert not (tmp_path / "results").exists()


def test_check_says_what_a_parameter_allows(run: Run, config: Path, tmp_path: Path) -> None:
    lagging = tmp_path / "lagging.toml"
    lagging.write_text(config.read_text().replace('"fucb"', '"lfg"\neta = 50'), encoding="utf-8")
    printed = " ".join(run("check", lagging).stdout.split())
    assert "plays may be missing after" in printed
    assert "as eta = 50 allows; from about round" in printed
    facts = json.loads(run("check", lagging, "--json").stdout)["policies"]["lfg"]
    assert facts["keeps"] == "count"
    assert facts["owed_at_most"] > 50.0


def test_promises_that_change_are_checked_and_judged_in_all_stages(run: Run, config: Path, tmp_path: Path) -> None:
    changing = tmp_path / "changing.toml"
    later = "[[promises]]\nfrom = 11\nfractions = [0.1, 0.5]\n"
    changing.write_text(config.read_text() + later, encoding="utf-8")
    facts = json.loads(run("check", changing, "--json").stdout)["policies"]
    assert facts["fucb from round 11"]["promised"] == [0.1, 0.5]
    assert facts["fucb"]["promised"] == [0.1, 0.2]
    done = run("simulate", changing, "--figures", "none")
    assert "fucb kept both promises" in done.stdout
    assert "Promises change from round 11 on; a promised share is the mean over the rounds." in done.stdout
    changing.write_text(config.read_text() + later.replace("0.1, 0.5", "0.6, 0.5"), encoding="utf-8")
    for command in ("check", "simulate"):
        done = run(command, changing)
        assert done.returncode != 0
        assert "from round 11 on ('fucb'): the promised shares of 'fucb' cannot be kept" in done.stderr


def test_an_infeasible_promise_is_refused_before_anything_runs(run: Run, config: Path, tmp_path: Path) -> None:
    config.write_text(CONFIG.replace("[0.1, 0.2]", "[0.7, 0.5]"))
    for command in ("check", "simulate"):
        done = run(command, config)
        assert done.returncode == 2
        assert "arms 'tea', 'coffee' together are promised 1.2" in done.stderr
        assert "0.2 too much" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("simulate", "none.toml"), "there is no file none.toml"),
        (("simulate", "none.parquet"), "there is no file none.parquet"),
        (("algorithms", "fucbb"), "did you mean 'fucb'"),
        (("reproduce", "P-2a", "--quick", "--jobs", "0"), "jobs must be at least 1, or -1 for every core, got 0"),
        (("simulate",), "Missing argument"),
        (("simulat",), "No such command"),
    ],
)
def test_mistakes_are_told_in_a_line(run: Run, words: tuple[str, ...], complaint: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert complaint in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_an_unwritable_folder_is_told_before_any_work(run: Run, config: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    done = run("simulate", config, "--out", "taken/results", "--horizon", 10**9)
    assert done.returncode == 2
    assert "cannot write to the folder taken/results" in done.stderr
    assert (tmp_path / "taken").read_text() == "a file, not a folder"


def test_an_interrupt_in_a_compiled_module_that_is_loaded_says_so_in_a_line(config: Path, tmp_path: Path) -> None:
    """It would come out of the module as another error."""
    own = tmp_path / "own.py"
    own.write_text("""
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
except BaseException:
    raise SystemError("the compiled module returned without an error set")
""")
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "from evenhand.cli.start import main; sys.argv[0] = 'evenhand'; main()"
    command = [sys.executable, "-c", start, "check", str(config), "--import", str(own)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "evenhand: interrupted\n")


def test_the_command_starts_where_signals_are_seen_to() -> None:
    (command,) = entry_points(group="console_scripts", name="evenhand")
    assert command.value == "evenhand.cli.start:main"
    loads = "import sys; before = set(sys.modules); import evenhand.cli.start; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout.split()
    slow = [name for name in loaded if not name.startswith(("evenhand", "importlib"))]
    assert not {"typing", "signal", "enum", "pathlib", "collections"} & set(slow)


INTERRUPTED = """
import os, signal
from attrs import frozen
from evenhand.policy import EmpiricalMean

@frozen
class Interrupted(EmpiricalMean):
    def score(self, state, observation, rng):
        if state.round == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return super().score(state, observation, rng)
"""


def test_interrupt_says_what_was_done_and_leaves_nothing(config: Path, tmp_path: Path) -> None:
    (tmp_path / "own_interrupted.py").write_text(INTERRUPTED)
    long = CONFIG.replace("horizon = 200", "horizon = 1_000_000_000")
    own = long.replace('algorithm = "fucb"', 'index = { kind = "own_interrupted:Interrupted" }')
    config.write_text("checkpoints = [50]\n" + own)
    command = [sys.executable, "-m", "evenhand.cli.main", "simulate", str(config)]
    (tmp_path / "tmp").mkdir()
    surroundings = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    # A shell lets its background jobs ignore interrupts, and they would hand that down to the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=surroundings)
    signal.signal(signal.SIGINT, before)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: 0 of 2 parts of the work were done (50 of 2,000,000,000 rounds); nothing was written" in errors
    assert "Traceback" not in errors
    assert list((tmp_path / "results").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []
