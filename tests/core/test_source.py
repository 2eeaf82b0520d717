"""A digest of code follows what is computed, and not where it is written or how it is explained."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

import evenhand
from evenhand import Environment, Policy
from evenhand.algorithms import fucb, thompson
from evenhand.core.source import Root, Source, imports_in, roots_of
from evenhand.policy.index import UCB, EmpiricalMean
from evenhand.rewards import Bernoulli
from evenhand.simulation import code_version as code
from evenhand.simulation.simulate import run_block

PACKAGE = Path(evenhand.__file__).parent
#: What a run of each policy begins with.
RUNS = {
    name: frozenset({*roots_of([policy, Environment(Bernoulli([0.9, 0.5]))]), *code._rounds()})
    for name, policy in {"fucb": fucb([0.1, 0.1]), "thompson": thompson(), "mean": Policy(EmpiricalMean())}.items()
}
WITH_UCB = {"fucb"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the package, to be changed."""
    return Path(
        shutil.copytree(PACKAGE, tmp_path / "evenhand", ignore=shutil.ignore_patterns("__pycache__", "_static"))
    )


def digests(folder: Path) -> dict[str, str]:
    """Of every run."""
    source = Source(folder)
    return {name: source.digest(roots) for name, roots in RUNS.items()}


def change(folder: Path, file: str, old: str, new: str) -> None:
    """Put something in place of what stands there."""
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")


def test_a_formula_counts_where_it_is_used(folder: Path, before: dict[str, str]) -> None:
    file = PACKAGE / "policy" / "index.py"
    body = ast.parse(file.read_text()).body
    (definition,) = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "upper_bound"]
    change(folder, "policy/index.py", *(f"{start}def upper_bound(" for start in ("", "def later(): ...\n\n\n")))
    assert digests(folder) == before  # another definition beside it
    formula = ast.unparse(definition.body[-1])
    assert formula.startswith("return ")
    change(
        folder, "policy/index.py", formula.partition("return ")[2], "0.5 * (" + formula.partition("return ")[2] + ")"
    )
    after = digests(folder)
    assert {name for name in RUNS if after[name] != before[name]} == WITH_UCB


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    """The digests of the package as it is."""
    return digests(PACKAGE)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("core/streams.py", "STRAND = ", "STRAND = 1 + "),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                ("theory/oracle.py", "REDUCED_UP_TO = ", "REDUCED_UP_TO = 1 + "),
                ("simulation/held.py", "FEWEST = ", "FEWEST = 1 + "),
                ("simulation/measures.py", "LATE = ", "LATE = 0.0 * "),
                ("environment/world.py", "DRAWN_AHEAD = ", "DRAWN_AHEAD = 1 + "),
            )
        ),
        ("simulation/simulate.py", "    outside, inside = base.spawn(2)", "    inside, outside = base.spawn(2)"),
    ],
)
def test_what_every_run_uses_counts_for_all(
    file: str, old: str, new: str, folder: Path, before: dict[str, str]
) -> None:
    change(folder, file, old, new)
    after = digests(folder)
    assert not {name for name in RUNS if after[name] == before[name]}


#: What explains, and what is not run.
HARMLESS = [
    ("policy/index.py", '    """A ', '    """Some '),
    ("core/state.py", "\n\n\n", "\n\n\n# a comment\n'a string that stands alone'\n\n\n"),
    ("core/streams.py", "-> Streams", "-> Any"),
    ("simulation/simulate.py", "lanes: int,", "lanes: object,"),
    ("environment/world.py", "has not been observed", "is not observed"),
    ("simulation/compiled/engine.py", "PAYS = ", "PAYS = 2.0 * "),
    ("simulation/figures/lines.py", "def ", "def later_"),
    ("policy/kl.py", "def ", "def later_"),
    ("simulation/tables.py", "    def summary(", "    def later("),
    ("policy/fairness.py", 'arrears="', 'arrears="later_'),
    (
        "policy/index.py",
        "    def rules(self) -> IndexRules | None:\n",
        "    def rules(self) -> Any:\n        later()\n",
    ),
]


def test_what_explains_and_what_is_not_run_does_not(folder: Path, before: dict[str, str]) -> None:
    for file, old, new in HARMLESS:
        change(folder, file, old, new)
    assert digests(folder) == before


MOVES = {
    "evenhand.policy.index": "evenhand.policy.scores",
    "evenhand.core.streams": "evenhand.environment.chance",
    "evenhand.core.validate": "evenhand.core.checks",
}


class Moved(ast.NodeTransformer):
    """Imports from where modules have moved to."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.ImportFrom]:
        whole = {alias.name: MOVES.get(f"{node.module}.{alias.name}") for alias in node.names}
        others = [alias for alias in node.names if not whole[alias.name]]
        new = [ast.ImportFrom(MOVES.get(node.module or "", node.module), others, node.level)] if others else []
        for alias in node.names:
            if place := whole[alias.name]:
                room, _, name = place.rpartition(".")
                new.append(ast.ImportFrom(room, [ast.alias(name, alias.asname or alias.name)], 0))
        return new


@pytest.mark.slow
def test_a_definition_counts_the_same_wherever_it_stands(folder: Path, before: dict[str, str]) -> None:
    for old, new in MOVES.items():
        (folder.parent / f"{old.replace('.', '/')}.py").rename(folder.parent / f"{new.replace('.', '/')}.py")
    for path in folder.rglob("*.py"):
        path.write_text(ast.unparse(Moved().visit(ast.parse(path.read_bytes()))), encoding="utf-8")
    roots = [root._replace(module=MOVES.get(root.module, root.module)) for root in RUNS["fucb"]]
    assert Source(folder).digest(roots) == before["fucb"]


def test_the_values_of_fields_are_known_where_there_is_an_instance() -> None:
    source = Source()
    assert Root("evenhand.policy.index", "UCB") not in source.used(roots_of(Policy(EmpiricalMean())))
    assert Root("evenhand.policy.index", "UCB") in source.used(roots_of(Policy))
    assert Root("evenhand.policy.index", "UCB", fields=False) in source.used(roots_of([{"it": Policy(UCB())}]))


def test_a_part_of_one_s_own_counts_with_what_it_inherits() -> None:
    class Own(EmpiricalMean):
        """Of a user."""

    assert Root("evenhand.policy.index", "EmpiricalMean", fields=False) in set(roots_of(Own()))


def test_everything_that_is_imported_is_found() -> None:
    source = Source()
    roots = frozenset(roots_of(code.everything())) | code._rounds() | frozenset(roots_of(run_block))
    used = source.used(roots)
    assert len(used) > 500
    for module in sorted({root.module for root in used}):
        found = source.module(module)
        assert found is not None, module
        for name, (home, original) in found.imports.items():
            if home.startswith("evenhand") and not (name.startswith("__") or home == "evenhand"):
                assert source.imported(home, original) is not None, f"{module} imports {name}"


def test_imports_in_functions_are_seen() -> None:
    tree = ast.parse("def f():\n    from a.b import c as d\n    import e.f as g\n    return d, g")
    assert imports_in(ast.walk(tree)) == {"d": ("a.b", "c"), "g": ("e.f", "")}
