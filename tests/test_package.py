"""The package as a whole: light to import, documented, and whole."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import evenhand

HEAVY = ("scipy", "pandas", "matplotlib", "pyarrow", "joblib", "pydantic")
MODULES = sorted(module.name for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."))


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("statement", ["import evenhand", "import evenhand.cli.main"])
def test_importing_loads_nothing_heavy(statement: str) -> None:
    assert not loaded_by(statement) & {*HEAVY, "numpy"}


def test_bandit_makes_few_of_the_classes_that_it_loads() -> None:
    """Those of the default policy, and of the few records that modules make."""
    code = """
import attr._next_gen, dataclasses, sys
made = {"parts": 0, "records": 0}
def counted(function, what):
    def call(*given, **named):
        made[what] += 1
        return function(*given, **named)
    return call
attr._next_gen.attrs = counted(attr._next_gen.attrs, "parts")
dataclasses._process_class = counted(dataclasses._process_class, "records")
import evenhand; evenhand.Bandit
print(*made.values(), len([one for one in sys.modules if one.startswith("evenhand.")]))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    parts, records, modules = map(int, shown.split())
    assert parts <= 6  # index, evidence, fairness, selection, schedule, hold
    assert records <= 5  # of 70
    assert modules <= 60


def test_every_public_name_can_be_loaded() -> None:
    assert {"Bandit", "Policy", "compare", "algorithms", "rewards"} <= set(dir(evenhand))
    for name in dir(evenhand):
        assert getattr(evenhand, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evenhand.__getattr__("nothing")


def test_every_public_object_has_a_docstring() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        assert module.__doc__, name
        for label, value in vars(module).items():
            if label.startswith("_") or getattr(value, "__module__", None) != name:
                continue
            if inspect.isfunction(value) or inspect.isclass(value):
                assert value.__doc__, f"{name}.{label} has no docstring"
                assert not value.__doc__.startswith(f"{label}("), f"{name}.{label} has only a generated docstring"
