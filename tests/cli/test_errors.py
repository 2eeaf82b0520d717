"""Every error of the command line is one line on standard error and exit status 2, whatever the input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli import main as cli

CONFIG = """
horizon = 20
lanes = 2
[environment]
rewards = { kind = "bernoulli", means = [0.8, 0.4] }
[[policies]]
algorithm = "ucb1"
"""
Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """The one line that a command prints in a folder with odd files."""
    monkeypatch.chdir(tmp_path)
    for variable in ("EVENHAND_DATABASE", "EVENHAND_URL", "EVENHAND_KEY"):
        monkeypatch.delenv(variable, raising=False)
    Path("config.toml").write_text(CONFIG)
    Path("gaussian.toml").write_text(
        CONFIG.replace('"bernoulli", means', '"gaussian", sd = 15, means').replace('"ucb1"', '"f_ts"\nfractions = 0.1')
    )
    null = CONFIG.replace('"bernoulli", means = [0.8, 0.4]', r'"table", path = "a\u0000b"')
    Path("null.toml").write_text(null)
    Path("file").write_text("not a folder")
    for ending in ("toml", "csv", "json", "parquet"):
        Path(f"bytes.{ending}").write_bytes(b"\xff\xfe\x00")
        Path(f"empty.{ending}").touch()
        Path(f"folder.{ending}").mkdir()

    def call(*words: str) -> str:
        assert cli.run(words) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("evenhand: ")
        assert captured.err.count("\n") == 1, captured.err
        return captured.err

    return call


@pytest.mark.parametrize("command", ["check", "simulate"])
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("bytes.toml", "bytes.toml cannot be read"),
        ("folder.toml", "folder.toml cannot be read"),
        ("missing.toml", "there is no file missing.toml"),
        ("gaussian.toml", "give the environment reward_range = [low, high], with every reward that can occur"),
        ("empty.csv", "empty.csv is no configuration; `evenhand evaluate empty.csv` is for logs of decisions"),
        ("bytes.parquet", "bytes.parquet is damaged or not a Parquet file"),
        ("empty.parquet", "empty.parquet is damaged or not a Parquet file"),
        ("folder.parquet", "folder.parquet is a Parquet file, but not one that Evenhand wrote"),
        ("missing.parquet", "there is no file missing.parquet"),
        ("null.toml", "the name of a file has a null character in it"),
    ],
)
def test_configurations(refused: Refused, command: str, file: str, message: str) -> None:
    assert message in refused(command, file)


@pytest.mark.parametrize("file", ["/dev/null", "empty.toml"])
def test_every_fault_of_a_file_is_a_line(refused: Refused, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", file]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert all(line.startswith(f"evenhand: {file}") or ": is missing" in line for line in lines)
    assert all(line.startswith("evenhand: ") for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bytes.csv", "--shares", "uniform"), "bytes.csv cannot be read as a CSV file"),
        (("folder.csv", "--shares", "uniform"), "folder.csv cannot be read as a CSV file"),
        (("empty.csv", "--shares", "uniform"), "empty.csv"),
        (("/dev/null", "--shares", "uniform"), "/dev/null"),
        (("missing.csv", "--shares", "uniform"), "there is no file missing.csv"),
        (("bytes.parquet", "--shares", "uniform"), "bytes.parquet cannot be read as a Parquet file"),
        (("folder.parquet", "--shares", "uniform"), "folder.parquet cannot be read as a Parquet file"),
        (("empty.csv", "--shares", "bytes.json"), "bytes.json cannot be read as JSON"),
        (("empty.csv", "--shares", "folder.json"), "folder.json cannot be read as JSON"),
        (("empty.csv", "--shares", "empty.json"), "empty.json cannot be read as JSON"),
    ],
)
def test_logs_and_shares(refused: Refused, words: tuple[str, ...], message: str) -> None:
    assert message in refused("evaluate", *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "config.toml", "--out", "file"), "cannot write to the folder file"),
        (("simulate", "config.toml", "--out", "file/results"), "cannot write to the folder file/results"),
        (("simulate", "config.toml", "--out", "/proc/results"), "cannot write to the folder /proc/results"),
        (("verify", "--database", "/dev/null"), "the database /dev/null is empty"),
        (("keys", "list", "--database", "bytes.csv"), "the database bytes.csv cannot be used"),
        (("serve", "--no-keys", "--database", "file/evenhand.db"), "the database file/evenhand.db cannot be used"),
        (("client", "log", "drinks", "/dev/null", "--timeout", "0.001"), "must end in .csv or .parquet"),
    ],
)
def test_places_that_cannot_be_used(refused: Refused, words: tuple[str, ...], message: str) -> None:
    assert message in refused(*words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulat",), "No such command 'simulat'"),
        (("simulate",), "Missing argument 'CONFIG.toml' (see `evenhand simulate --help`)"),
        (("simulate", "config.toml", "--lanes", "many"), "--lanes"),
        (("simulate", "config.toml", "--lanes", "0"), "--lanes"),
        (("simulate", "config.toml", "--line", "2"), "No such option: --line"),
        (("client", "decide"), "(see `evenhand client decide --help`)"),
        (("algorithms", "fucbb"), "did you mean 'fucb'?"),
    ],
)
def test_command_lines(refused: Refused, words: tuple[str, ...], message: str) -> None:
    assert message in refused(*words)


@pytest.mark.parametrize("words", [(), ("client",), ("keys",), ("client", "change")])
def test_without_a_command_the_help_is_shown(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("Usage: evenhand ")
    assert captured.out == ""


# --- what is no error of the input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "evenhand: interrupted\n"),
        (MemoryError(), 2, "evenhand: not enough memory: the run is too large; use fewer lanes or checkpoints\n"),
        (PermissionError(13, "Permission denied", "log.csv"), 2, "evenhand: log.csv: Permission denied\n"),
        (
            ModuleNotFoundError(name="uvicorn"),
            2,
            "evenhand: uvicorn is not installed; the extra 'service' brings it: in a clone, pip install '.[service]'\n",
        ),
        (BrokenPipeError(), 141, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_the_system(
    error: BaseException,
    status: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(name: str) -> None:
        raise error

    monkeypatch.setattr("evenhand.algorithms.find", fail)
    assert cli.run(["algorithms", "fucb"]) == status
    assert capsys.readouterr() == ("", line)


def test_a_missing_module_of_ours_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evenhand.algorithms.properties", None)
    with pytest.raises(ModuleNotFoundError, match=r"evenhand\.algorithms\.properties"):
        cli.run(["algorithms", "fucb"])


# --- the streams ------------------------------------------------------------------------------------------------------


def shell(line: str) -> tuple[int, str]:
    """Exit status and standard error of a command line in which $EVENHAND stands for the command."""
    line = line.replace("$EVENHAND", f"{sys.executable} -m evenhand.cli.main")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_full_disk_is_one_line() -> None:
    assert shell("$EVENHAND --version > /dev/full") == (
        2,
        "evenhand: the output cannot be written: No space left on device\n",
    )
    assert shell("$EVENHAND algorithms > /dev/full") == (
        2,
        "evenhand: the output cannot be written: No space left on device\n",
    )


def test_closed_streams_are_no_error() -> None:
    assert shell("$EVENHAND algorithms --json >&-") == (0, "")
    assert shell("$EVENHAND algorithms nothing 2>&-") == (2, "")


def test_a_reader_that_stops_is_no_error() -> None:
    assert shell("$EVENHAND algorithms | true; exit ${PIPESTATUS[0]}") == (141, "")
    assert shell("$EVENHAND algorithms --json | true; exit ${PIPESTATUS[0]}") == (141, "")


def test_a_terminal_without_greek_letters_shows_a_table() -> None:
    assert shell("PYTHONIOENCODING=ascii $EVENHAND algorithms tscsf_b") == (0, "")


def test_a_file_in_place_of_a_table_is_said_to_be_none(refused: Refused) -> None:
    words = ("client", "create", "shop", "lin_ucb", "--arm", "tea", "--missing", "never", "--features", "features.toml")
    assert "features must be a table between braces, got 'features.toml'" in refused(*words)
