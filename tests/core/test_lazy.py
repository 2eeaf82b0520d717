"""Names that are loaded when they are asked for, and where the others are."""

from __future__ import annotations

import subprocess
import sys

import pytest

import evenhand
from evenhand.core.extras import NamesExtras
from evenhand.core.lazy import exported, lazy, places


@pytest.mark.parametrize(
    ("module", "name", "there"),
    [
        (evenhand, "UCB", "evenhand.policy.UCB"),
        (evenhand, "fucb", "evenhand.algorithms.fucb"),
        (evenhand, "FUCB", "evenhand.theory.bounds.FUCB"),
        (evenhand, "Linear", "evenhand.merit.Linear or evenhand.rewards.Linear"),
        (evenhand.algorithms, "UCB", "evenhand.policy.UCB"),
        (evenhand.client, "Bandit", "evenhand.Bandit"),
        (evenhand.delays, "Policy", "evenhand.Policy"),
    ],
)
def test_a_name_of_another_module_is_said_with_its_place(module: object, name: str, there: str) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value).endswith(f"has no attribute {name!r}: {name} is {there}")


@pytest.mark.parametrize("name", ["Polcy", "_policy", "__wrapped__"])
def test_a_name_that_is_nowhere_has_no_place(name: str) -> None:
    with pytest.raises(AttributeError, match=f"^module 'evenhand' has no attribute '{name}'$"):
        getattr(evenhand, name)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from evenhand import fucb", "evenhand has no fucb: fucb is evenhand.algorithms.fucb"),
        ("from evenhand.policy import Policy", "evenhand.policy has no Policy: Policy is evenhand.Policy"),
        ("import evenhand.UCB", "evenhand has no UCB: UCB is evenhand.policy.UCB"),
        ("import evenhand.Bandit", "No module named 'evenhand.Bandit'"),
    ],
)
def test_an_import_says_the_place_too(statement: str, message: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"^{message}$"):
        exec(statement)


@pytest.mark.parametrize("name", ["evenhand.algorithms", "evenhand.environment.delays", "evenhand.policy.Policy"])
def test_who_looks_for_modules_without_an_import_finds_none(name: str) -> None:
    assert NamesExtras.find_spec(name, []) is None


def test_python_suggests_no_other_name_of_the_module_then() -> None:
    run = subprocess.run([sys.executable, "-c", "import evenhand; evenhand.Store"], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].endswith("'Store': Store is evenhand.service.Store")


def test_to_look_loads_no_module() -> None:
    code = "import sys, evenhand; hasattr(evenhand, 'UCB')"
    code += "; print(*(one in sys.modules for one in ('evenhand.policy', 'numpy')))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_places_are_those_of_a_package_under_any_name() -> None:
    assert places("Softmax", "evenhand.merit") == ["evenhand.merit.Softmax"]
    assert places("Softmax", "evenhand.delays") == []


def test_a_module_lists_what_it_exports() -> None:
    load, names = lazy("evenhand.delays")
    assert load("__all__") == names() == list(exported("evenhand.delays"))
    assert load("Fixed") is evenhand.delays.Fixed
