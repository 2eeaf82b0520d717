"""Faults of a configuration file: all at once, each with its place in the file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigurationError
from evenhand.studies.configuration import load
from evenhand.studies.positions import positions

ROOT = Path(__file__).parents[2]
FILES = [*ROOT.glob("examples/*.toml"), *ROOT.glob("src/evenhand/papers/*/*.toml")]

WRONG = '''\
horizon = 2000
lanes = "many"
sed = 3

[environment]
arms = ["コーヒー", "tea", "mate"]
rewards = { kind = "bernouli", means = [0.9, 0.8, 0.7] }
feedback.kind = "fixed"   # a comment with = and "quotes"
feedback.delay = -3

[[policies]]
algorithm = "fucb"
tolerence = 3

[[policies]]
label = """two
lines"""
index = "ucb"
fairness = { kind = "deficit_first", fractions = [
    0.1,
    2.0,   # too much
    0.3,
] }

[[policies]]
algorithm = "lfg"
fractions = 0.1
[policies.grid]
eta = [1, "x"]
'''


def test_all_faults_of_a_file_are_reported_at_once_in_its_order_each_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG, encoding="utf-8")
    with pytest.raises(ConfigurationError) as error:
        load(path)
    lines = str(error.value).split("\n")
    assert [line.partition("wrong.toml:")[2] for line in lines[::3]] == [
        "2:9: lanes must be a whole number, got 'many'",
        "3:1: unknown key 'sed'; did you mean 'seed'?",
        "7:20: environment.rewards: unknown kind 'bernouli'; did you mean 'bernoulli'?",
        "9:18: environment.feedback.delay must be numbers of rounds of at least 0 or inf, got -3",
        "13:1: policies[0]: unknown parameter 'tolerence' of fucb; did you mean 'tolerance'?",
        "21:5: policies[1].fairness.fractions[1] must be a number in [0, 1], got 2.0",
        "29:7: policies[2].eta must be a number, 'auto' or 'auto_sqrt', got 'x'",
    ]
    file = WRONG.split("\n")
    for fault, shown, caret in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        number, column = place(fault)
        assert shown == f"{number:5} | {file[number - 1]}"
        assert caret.index("^") == len(f"{number:5} | ") + column - 1


def place(fault: str) -> tuple[int, int]:
    """Line and column of a fault."""
    number, column = fault.partition("wrong.toml:")[2].split(":")[:2]
    return int(number), int(column)


def test_a_caret_stands_below_what_it_is_about_also_behind_wide_letters(tmp_path: Path) -> None:
    path = tmp_path / "wide.toml"
    path.write_text(
        'horizon = 5\nenvironment = { arms = ["コーヒー", "a"], rewards = 3 }\n[[policies]]\n', encoding="utf-8"
    )
    with pytest.raises(ConfigurationError) as error:
        load(path)
    fault = str(error.value).split("\n")
    assert fault[0].endswith("wide.toml:2:49: environment.rewards must be a table such as { kind = '…' }, got 3")
    assert fault[2].index("^") == len("    2 | ") + 48 + 4  # four letters of two columns each


def test_a_long_line_is_shown_around_its_fault(tmp_path: Path) -> None:
    means = ", ".join(["0.5"] * 200 + ["1.5"] + ["0.5"] * 200)
    path = tmp_path / "long.toml"
    path.write_text(
        f'horizon = 5\nenvironment.rewards = {{ kind = "bernoulli", means = [{means}] }}\n'
        '[[policies]]\nalgorithm = "ucb1"\n'
    )
    with pytest.raises(ConfigurationError) as error:
        load(path)
    fault, shown, caret = str(error.value).split("\n")
    assert "environment.rewards.means[200] must be" in fault
    assert len(shown) < 120
    assert shown[caret.index("^") :].startswith("1.5")


@pytest.mark.parametrize(
    ("text", "start", "line", "column"),
    [
        ("horizon = = 5", "1:11: not valid TOML: invalid value", "horizon = = 5", 10),
        ("a = [1,\n  2", "2:4: not valid TOML: ", "  2", 3),
    ],
)
def test_a_file_that_is_no_toml_shows_where(tmp_path: Path, text: str, start: str, line: str, column: int) -> None:
    path = tmp_path / "none.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        load(path)
    fault, shown, caret = str(error.value).split("\n")
    assert fault.startswith(f"{path}:{start}")
    assert shown.endswith(f"| {line}")
    assert caret.index("^") == 8 + column


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_value_of_a_file_has_its_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = positions(text)

    def check(value: Any, path: tuple[str | int, ...]) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                check(part, (*path, key))
        elif isinstance(value, list):
            for place, part in enumerate(value):
                check(part, (*path, place))
        else:
            assert tomllib.loads(f"value = {text[slice(*found[path].value)]}")["value"] == value

    check(tomllib.loads(text), ())
