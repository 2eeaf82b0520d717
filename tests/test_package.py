"""The package as a whole: light to import, documented, and whole."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import evenhand
from evenhand.core.lazy import exported

ROOT = Path(__file__).parents[1]

HEAVY = ("scipy", "pandas", "matplotlib", "pyarrow", "joblib", "pydantic")
MODULES = sorted(module.name for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."))


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("statement", ["import evenhand", "import evenhand.cli.main"])
def test_importing_loads_nothing_heavy(statement: str) -> None:
    assert not loaded_by(statement) & {*HEAVY, "numpy"}


def test_bandit_makes_few_of_the_classes_that_it_loads() -> None:
    """Those of the few records that modules make."""
    code = """
import dataclasses, sys
made, process = [], dataclasses._process_class
def counted(*given, **named):
    made.append(given)
    return process(*given, **named)
dataclasses._process_class = counted
import evenhand; evenhand.Bandit
print(len(made), len([one for one in sys.modules if one.startswith("evenhand.")]))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    records, modules = map(int, shown.split())
    assert records <= 5  # of 70
    assert modules <= 60


def test_a_simple_bandit_loads_what_it_needs() -> None:
    loaded = loaded_by("from evenhand import Bandit; Bandit(['tea', 'coffee'], 'ucb1').decide()")
    assert "evenhand.policy.composition" in loaded
    assert not loaded & {*HEAVY, "attr", "typing_extensions", "importlib.metadata", "numpy.polynomial"}
    assert not {one for one in loaded if one.startswith(("evenhand.environment", "evenhand.simulation"))}


#: The face of the package: what can be made, done and met, and the modules that have the rest.
MADE = {
    "Bandit",
    "Environment",
    "Feedback",
    "Features",
    "Metric",
    "Observation",
    "PerLane",
    "Policy",
    "Results",
    "Round",
}
DONE = {
    "build",
    "check_environment",
    "check_policy",
    "compare",
    "dump",
    "part",
    "plain",
    "restore",
    "simulate",
    "sweep",
}
MET = {"EvenhandError", "InfeasiblePromise", "State", "which", "__version__"}
NAMESPACES = {
    *(
        "algorithms",
        "answers",
        "availability",
        "changes",
        "checks",
        "client",
        "contexts",
        "datasets",
        "delays",
        "errors",
    ),
    *("evaluation", "features", "feedback", "figures", "merit", "metrics", "policy", "rewards", "service", "studies"),
    *("theory", "typing"),
}


def test_the_face_is_short() -> None:
    assert len(MADE | DONE | MET) == 25
    assert sorted(dir(evenhand)) == sorted(MADE | DONE | MET | NAMESPACES)
    assert {name for name in dir(evenhand) if inspect.ismodule(getattr(evenhand, name))} == NAMESPACES


DEEPER = re.compile(r"(?:from|import) evenhand\.\w+(?:\.\w+)+")
PUBLIC = {f"evenhand.{name}" for name in NAMESPACES}
DOCUMENTED = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py"), ROOT / "README.md"]


def test_examples_import_from_the_face_alone() -> None:
    """What is deeper than the modules of the face can go at any time; its own modules can have public ones."""
    texts = {path: path.read_text(encoding="utf-8") for path in DOCUMENTED}
    lines = [line for text in texts.values() for line in text.splitlines() if DEEPER.search(line)]
    for module in map(importlib.import_module, MODULES):
        lines += [line for line in source_lines(module) if ">>>" in line and DEEPER.search(line)]
    deeper = {line for line in lines if not public(line)}
    assert not deeper


def source_lines(module: ModuleType) -> list[str]:
    return Path(str(module.__file__)).read_text(encoding="utf-8").splitlines()


def public(line: str) -> bool:
    """Whether what a line imports from is a module of the face, or one that such a module exports."""
    path = line.split("evenhand.", 1)[1].split()[0]
    parent, _, name = path.rpartition(".")
    return f"evenhand.{parent}" in PUBLIC and name in exported(f"evenhand.{parent}")


def test_every_public_name_can_be_loaded() -> None:
    for name in dir(evenhand):
        assert getattr(evenhand, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evenhand.__getattr__("nothing")


@pytest.mark.parametrize("name", ["evenhand", *sorted(PUBLIC)])
def test_help_shows_every_public_name_of_a_module(name: str) -> None:
    """And ``dir`` shows nothing else."""
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__) == sorted(exported(name)) != []
    shown = pydoc.plain(pydoc.render_doc(module))
    names = set(module.__all__) - {"__version__"}  # of which `help` has a section
    assert not {one for one in names if not re.search(rf"^    (?:class )?{one}\b", shown, re.MULTILINE)}


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
