"""The documentation lists every module, name, command, option, algorithm and key, and its examples run."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from evenhand import InfeasiblePromise, compare, sweep
from evenhand.algorithms.registry import ALGORITHMS, Algorithm
from evenhand.cli import main as cli
from evenhand.core.descriptions import described as described_arguments
from evenhand.core.descriptions import texts
from evenhand.core.parts import kinds, parameters_of
from evenhand.messages.answers import Answer
from evenhand.messages.changes import Promise, Stated
from evenhand.policy.composition import SLOTS
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.setup import FiguresSettings
from evenhand.studies import configuration as config
from evenhand.studies import sources
from evenhand.studies.study import Study
from tests.thinned import thinned

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def loaded(name: str) -> Any:
    """A module of the documentation; docs/_ext is not a package."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS / "_ext"))


EXAMPLES, TABLES, FORMULAS, FACES = loaded("examples"), loaded("tables"), loaded("formulas"), loaded("faces")
NOTEBOOKS, KEPT, VERSIONS = loaded("notebooks"), loaded("kept"), loaded("versions")
#: Pages as they are written, without what is generated.
WRITTEN: dict[str, str] = {path: (DOCS / path).read_text(encoding="utf-8") for path in EXAMPLES.pages()}
PAGES = list(WRITTEN)


@cache
def page(path: str) -> str:
    """A page as Sphinx reads it, with what is generated filled in."""
    text: str = TABLES.fill_in(WRITTEN[path])
    return text


def test_what_the_pages_ask_for_can_be_generated() -> None:
    asked = {name for text in WRITTEN.values() for name, _ in TABLES.MARKER.findall(text)}
    assert asked
    assert asked <= set(TABLES.MAKERS)


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_filled_in(path: str) -> None:
    assert not TABLES.MARKER.search(page(path))


def section(path: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    level = heading.split()[0]
    _, found, rest = page(path).partition(f"\n{heading}\n")
    assert found, f"{path} has no heading {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of all tables."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def codes(cell: str) -> set[str]:
    """What is set as code in a cell."""
    return set(re.findall(r"`([^`]+)`", cell))


# Links and what raw pages show

LINKED = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + [DOCS / path for path in PAGES]
LINKS = re.compile(r"(?<!`)\]\(([^)\s]+)\)|\bhref=\"([^\"]+)\"")


def anchors(text: str) -> set[str]:
    """The anchors of a page: those of its headings, and those that are given."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"\{\w+\}", "", one)).strip().lower().replace(" ", "-") for one in headings]
    return {*plain, *re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)}


@pytest.mark.parametrize("file", LINKED, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_links_within_the_repository_lead_to_a_file_and_a_heading(file: Path) -> None:
    text = re.sub(r"^(```+|~~~+).*?^\1", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in ("".join(found) for found in LINKS.findall(text)):
        path, _, anchor = target.partition("#")
        if ":" not in target and not path.startswith("mailto"):
            to = (file.parent / path).resolve() if path else file
            assert to.exists(), f"{target}: no such file"
            if anchor and to.suffix == ".md":
                seen = page(to.relative_to(DOCS).as_posix()) if to.is_relative_to(DOCS) else to.read_text("utf-8")
                assert anchor in anchors(seen), f"{target}: no such heading"


def test_every_raw_page_has_a_title_and_a_sentence() -> None:
    lists = {"howto/index.md", "concepts/index.md", "reference/index.md"}
    for path in set(PAGES) - lists:
        lines = re.sub(
            r"\A---.*?^---$|<!--.*?-->|^```\{.*?^```$|:::.*", "", WRITTEN[path], flags=re.MULTILINE | re.DOTALL
        )
        title, *rest = [line for line in lines.splitlines() if line.strip()]
        assert title.startswith("# "), path
        assert any(line[0].isalpha() or line[0] in "*[`|" for line in rest), f"{path} is empty for who reads the file"


#: What the raw page replaces by one note, or by the page of a link.
NOTED = {"options", "commands", "common_options", "finding", "algorithm_details"}


def test_what_is_generated_leaves_no_hole_in_a_raw_page() -> None:
    for path, text in WRITTEN.items():
        filled = {found[1] for found in TABLES.MARKER.finditer(text) if "<!-- end -->" in found[0]}
        holes = {found[1] for found in TABLES.MARKER.finditer(text)} - filled - NOTED
        assert not holes, f"{path}: what does a reader of the file see in place of {holes}?"


def test_versions_stand_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    (tmp_path / "built/index.html").write_text("0.1.0", encoding="utf-8")
    for ref in ("v0.1.0", "latest", "v0.10.0", "v0.9.1"):
        names = VERSIONS.publish(tmp_path / "built", tmp_path / "site", ref)
    assert names == ["latest", "0.10.0", "0.9.1", "0.1.0"]
    assert json.loads((tmp_path / "site/versions.json").read_text("utf-8")) == names
    assert "url=0.10.0/" in (tmp_path / "site/index.html").read_text("utf-8")


# The API


PUBLIC: dict[str, Any] = FACES.public()


def described() -> dict[str, Any]:
    """Public classes and functions, by their public names."""
    return {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing) or inspect.isfunction(thing)}


@cache
def functions() -> dict[str, Any]:
    """Public functions, and the public methods of public classes that no base class describes."""
    found = {name: thing for name, thing in described().items() if inspect.isfunction(thing)}
    for name, thing in described().items():
        for key, member in vars(thing).items() if inspect.isclass(thing) else ():
            function = getattr(member, "__func__", member)
            inherited = any(key in vars(base) for base in thing.__mro__[1:])
            hidden = function.__name__.startswith(("_", "preview_")) if inspect.isfunction(function) else True
            if not inherited and not hidden:
                found[f"{name}.{key}"] = function
    return {name: function for name, function in found.items() if not name.rpartition(".")[2].startswith("_")}


FUNCTIONS = functions().values()


def test_every_public_module_is_in_the_api_reference() -> None:
    named = [
        name
        for path in PAGES
        if path.startswith("reference/api/")
        for name in re.findall(r"automodule:: (\S+)\n   :no-members:", page(path))
    ]
    assert sorted(named) == sorted(module.__name__ for module in FACES.modules())


def test_every_docstring_begins_with_a_summary() -> None:
    for name, thing in described().items():
        text = thing.__doc__
        assert text, f"{name} has no docstring"
        assert not text.startswith(f"{thing.__name__}("), f"{name}: the docstring is the one that dataclasses makes up"
        assert text.split("\n\n")[0].rstrip().endswith((".", ":", "``.")), f"{name}: the summary is not a sentence"
        for key, member in vars(thing).items() if inspect.isclass(thing) else ():
            if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                assert member.__doc__, f"{name}.{key} has no docstring"


def needs_example(thing: Any) -> bool:
    """Base classes and errors cannot be run; answers and records that others fill describe their fields."""
    if not inspect.isclass(thing):
        return True
    bases = {base for other in PUBLIC.values() if inspect.isclass(other) for base in other.__mro__[1:]}
    abstract = (
        thing in bases
        or issubclass(thing, Answer | Stated)
        or inspect.isabstract(thing)
        or getattr(thing, "_is_protocol", False)
    )
    returned = any(re.search(rf"\b{thing.__name__}\b", str(one.__annotations__.get("return"))) for one in FUNCTIONS)
    described = re.search("^    (Args|Attributes):$", thing.__doc__ or "", flags=re.MULTILINE) or texts(thing)
    return thing not in bases and not abstract and not issubclass(thing, Exception) and not returned and not described


def test_every_docstring_has_an_example() -> None:
    needing = {name: thing for name, thing in described().items() if needs_example(thing)}
    assert needing
    assert not [name for name, thing in needing.items() if ">>> " not in (thing.__doc__ or "")]


def test_all_arguments_are_described() -> None:
    """A change describes the arguments of its shortcut; ruff does not see those that are added from a table."""
    for name, function in functions().items():
        arguments = {one for one in inspect.signature(function).parameters if one not in ("self", "cls")}
        if "`evenhand.changes." not in (function.__doc__ or ""):
            assert not arguments - set(described_arguments(function)), name


#: Types that say nothing about shape, unit or range: numbers, arrays, tables, collections. Objects describe themselves.
BARE = re.compile(r"\b(float|int|Array|NDArray|Mask|DataFrame|Any|object|dict|list|tuple)\b")
SHAPE = re.compile(r"\((?:…|[a-z]+), ?[^)]*\)")  # such as (lanes, arms); in the summary it is enough


def test_all_that_is_returned_is_described() -> None:
    for name, function in functions().items():
        text, returned = inspect.getdoc(function) or "", str(function.__annotations__.get("return", ""))
        if BARE.search(returned):
            assert "\nReturns:\n" in text or "\nYields:\n" in text or SHAPE.search(text.split("\n\n")[0]), name


# Algorithms


@pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
def test_algorithm_documents_itself(entry: Algorithm) -> None:
    assert "``" in (inspect.getdoc(entry.build) or "").split("\n\n")[1], "no equation after the summary"
    assert entry.promise
    assert entry.source
    assert set(entry.parameter_help()) == set(entry.parameters)


@pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
def test_algorithm_has_a_page(entry: Algorithm) -> None:
    path = f"reference/algorithms/{entry.name}.md"
    shown = page(path)
    assert {name for row in rows(section(path, "## Parameters")) for name in codes(row[0])} == set(entry.parameters)
    assert "## When to use it\n" in shown
    assert "## When not to use it\n" in shown
    assert entry.paper is not None
    assert f"](../algorithms.md#{entry.paper.key})" in shown, "no BibTeX"
    assert f"({entry.paper.key})=\n\n```bibtex\n" in page("reference/algorithms.md")
    assert shown.startswith(f"# {TABLES.algorithm_pages.title(entry)}\n\n"), "no title"
    plain = shown.split("\n\n")[1]
    assert re.fullmatch(r"[^`=_]+\.", plain), "no sentence without formulas"
    assert (DOCS / f"_static/figures/algorithms/{entry.name}.svg").exists()
    compared = [row for row in rows(page("reference/algorithms.md")) if f"[`{entry.name}`]" in row[0]]
    assert len(compared) == 1
    kind = {one.name for one in ALGORITHMS.values() if TABLES.group_of(one) == TABLES.group_of(entry)}
    assert {name for row in rows(section(path, "## Beside others of its kind"))[1:] for name in codes(row[0])} == kind
    parts = [row for row in rows(page("concepts/parts.md")) if codes(row[0]) == {entry.name}]
    policy = TABLES.example_of(entry)
    chosen = (policy.index, policy.fairness, policy.selection, policy.schedule, policy.hold)
    for part, cell in zip(chosen, (parts[0][1], *parts[0][3:]), strict=True):
        assert type(part).__name__ in codes(cell)


def test_every_page_of_an_algorithm_is_about_one() -> None:
    assert {path.stem for path in (DOCS / "reference/algorithms").glob("*.md")} == set(ALGORITHMS)


@pytest.mark.parametrize(
    ("plain", "latex"),
    [
        ("S/N + sqrt(c ln t / N)", r"\frac{S}{N} + \sqrt{\frac{c \ln\,t}{N}}"),
        ("Σ f(x_i) x_i / Σ f(x_j)", r"\frac{\sum f( x_{i} ) x_{i}}{\sum f( x_{j} )}"),
        ("Σ 8 ln T/Δ", r"\sum \frac{8 \ln\,T}{\Delta}"),
        ("(r_i t − N_i)_+", r"( r_{i} t - N_{i} )_{+}"),
        ("p*_i(s)", r"p_{i}^{\ast }( s )"),
        ("2^(k−1) T_1", r"2^{k - 1} T_{1}"),
    ],
)
def test_formula_is_typeset(plain: str, latex: str) -> None:
    assert FORMULAS.latex(plain) == latex
    assert FORMULAS.is_formula(plain)


@pytest.mark.parametrize(
    "code", ["f_ts", "r_regret / t", "evidence", 'radius = "code"', "max_violation", "bandit.audit()"]
)
def test_code_is_no_formula(code: str) -> None:
    assert not FORMULAS.is_formula(code)


def test_all_formulas_of_the_algorithms_can_be_read() -> None:
    for entry in ALGORITHMS.values():
        for formula in re.findall(r"``([^`]+)``", entry._sections()[1]):
            assert FORMULAS.latex(" ".join(formula.split()))


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("fucb", {"Received"}),
        ("fgreedy_d", {"Received"}),  # inside `Exploring`
        ("fcucb_d", {"Received"}),  # at both ends of a box
        ("op_fcts_d", {"Optimistic", "Pessimistic"}),  # inside `Mean`
        ("opse", {"Optimistic", "Pessimistic"}),  # in the intervals of the schedule, which alone decides
    ],
)
def test_evidence_is_shown_where_it_is_nested(name: str, evidence: set[str]) -> None:
    shown = next(row for row in rows(page("concepts/parts.md")) if codes(row[0]) == {name})
    assert codes(shown[2]) == evidence


def test_every_measure_is_explained() -> None:
    shown = {name for row in rows(page("concepts/measures.md")) for name in codes(row[0])}
    assert shown >= set(MEASURES)


# The command line

COMMAND_LINE: Any = typer.main.get_command(cli.app)


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """The commands of a group, and those of the groups in it, each with its path."""
    for name, command in group.commands.items():
        yield " ".join([*path, name]), command
        yield from commands(command, *path, name) if hasattr(command, "commands") else ()


COMMANDS = dict(commands(COMMAND_LINE))


@pytest.mark.parametrize("path", COMMANDS)
def test_command_and_its_options_are_on_the_page(path: str) -> None:
    heading = f"{'#' * (2 + path.count(' '))} `evenhand {path}`"
    shown = {code for row in rows(section("reference/command-line.md", heading)) for code in codes(row[0])}
    for parameter in COMMANDS[path].params:
        if parameter.param_type_name == "option" and parameter.name != "help" and not TABLES.is_common(parameter):
            assert shown >= {*parameter.opts, *parameter.secondary_opts}
    assert f"](#evenhand-{path.replace(' ', '-')})" in page("reference/command-line.md")


def test_options_of_many_commands_are_on_the_page() -> None:
    shown = {code for row in rows(TABLES.common_options()) for code in codes(row[0])}
    for name in TABLES.COMMON:
        assert shown >= {*TABLES.common(name).opts, *TABLES.common(name).secondary_opts}
        assert (
            sum(TABLES.is_common(one) for command in COMMANDS.values() for one in command.params if one.name == name)
            > 5
        )
    assert TABLES.common_options() in page("reference/command-line.md")


def test_options_of_all_commands_are_on_the_page() -> None:
    for parameter in COMMAND_LINE.params:
        assert all(f"[{option}]" in page("reference/command-line.md") for option in parameter.opts)


# The configuration

CONFIGURATION = "reference/configuration.md"
#: The keys of each section, and its settings where pydantic has them.
RUN = {name: ... if one.is_required() else one.default for name, one in config.Config.model_fields.items()}
FIGURES = {one.name: one.default for one in fields(FiguresSettings)}
SECTIONS: dict[str, tuple[set[str], dict[str, Any]]] = {
    "## The run": (set(RUN), RUN),
    "## `[environment]`": (set(sources.KEYS), {}),
    "## `[[policies]]`": ({"label", "algorithm", "grid", *SLOTS}, {}),
    "## `[[promises]]`": ({"from", *(one.name for one in fields(Promise))} - {"change"}, {}),
    "## `[figures]`": (set(FIGURES), FIGURES),
}
SLOTS_OF = {
    "### Rewards": "rewards",
    "### Contexts": "contexts",
    "### Availability": "availability",
    "### Feedback": "feedback",
    "### Merit": "merit",
    "### Size": "size",
    "### Index": "index",
    "### Evidence": "evidence",
    "### Fairness": "fairness",
    "### Selection": "selection",
    "### Schedule": "schedule",
    "### Hold": "hold",
}
#: Keys that a configuration takes in place of an argument, or beside it: files are read before a part is built.
FROM_FILES = {
    ("rewards", "table"): "values",
    ("rewards", "varying"): "probabilities",
    ("contexts", "log"): "values",
    ("availability", "log"): "table",
    ("feedback", "empirical"): "samples",
}


def keys_of(slot: str, kind: str) -> set[str]:
    """The keys of a kind in a configuration file."""
    names = [name for name in kinds(slot) if name.partition("/")[0] == kind]
    keys = {key for name in names for key in parameters_of(kinds(slot)[name])}
    argument = FROM_FILES.get((slot, kind))
    return (keys - {argument}) | {"path"} if argument else keys | ({"profile"} if "/" in names[0] else set())


@pytest.mark.parametrize("heading", SECTIONS)
def test_keys_and_defaults_are_on_the_page(heading: str) -> None:
    text = section(CONFIGURATION, heading).split("\n### ")[0]
    shown = {key: row[1] for row in rows(text) for key in codes(row[0])}
    keys, defaults = SECTIONS[heading]
    assert set(shown) == keys
    for key, default in defaults.items():
        if default is ...:
            assert shown[key] == "required"
        elif isinstance(default, int | str):
            assert shown[key] == f"`{json.dumps(default)}`"


@pytest.mark.parametrize("heading", SLOTS_OF)
def test_kinds_and_their_keys_are_on_the_page(heading: str) -> None:
    shown: dict[str, set[str]] = {}
    for kind, keys, *_ in rows(section(CONFIGURATION, heading)):
        for name in codes(kind):
            shown.setdefault(name, set()).update(codes(keys))
    slot = SLOTS_OF[heading]
    if slot == "rewards":  # what can stand for means
        assert shown.pop("uniform") == {"arms", "low", "high"}
    own = [name for name, cls in kinds(slot).items() if cls.__module__.startswith("evenhand.")]
    assert shown == {kind: keys_of(slot, kind) for kind in {name.partition("/")[0] for name in own}}


def test_data_sets_and_their_keys_are_on_the_page() -> None:
    shown: dict[str, set[str]] = {}
    for kind, keys, *_ in rows(section(CONFIGURATION, "### Datasets")):
        for name in codes(kind):
            shown.setdefault(name, set()).update(codes(keys))
    assert shown == {name: set(inspect.signature(make).parameters) for name, make in sources.DATASETS.items()}


# The examples

REFUSED = {"greedy.toml"}  # shown for the message with which it is refused


@pytest.fixture
def workplace() -> Iterator[None]:
    with EXAMPLES.workplace():
        yield


def test_a_slow_machine_adds_no_notice_to_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.client.transport.NOTICE_AFTER", 0.0)
    got = EXAMPLES.run_command("evenhand client list --url http://127.0.0.1:9 --wait --timeout 0.2")
    assert "was not answered" in got
    assert "no answer from" not in got


def test_notebooks_have_the_examples_of_their_pages() -> None:
    pages = [path for path in PAGES if path.startswith("paths/") and path.count("/") == 2]
    assert {path.split("/")[1] for path in pages} == {"study", "log", "service", "policy"}
    for path in pages:
        made = NOTEBOOKS.notebook(WRITTEN[path])
        cells = "\n".join(one["source"] for one in made["cells"] if one["cell_type"] == "code")
        for block in EXAMPLES.blocks(WRITTEN[path]):
            if block.language == "pycon":
                lines = [line[4:] for line in block.content.splitlines() if line.startswith((">>> ", "... "))]
                assert all(line in cells for line in lines), path
            elif block.file:
                assert f"%%writefile {block.file}\n{block.content}".rstrip() in cells
            elif block.language == "console":
                assert all(f"!{line}" in cells for line, _ in EXAMPLES.commands_of(block.content))
        assert not any("{term}" in one["source"] for one in made["cells"])


def test_figures_of_the_paths_are_drawn_from_pages_that_are_watched() -> None:
    shown = [path for path in PAGES if "_static/figures/paths/" in WRITTEN[path]]
    assert {f"../{path}" for path in shown} == {one for one in KEPT.SETS["path_figures"] if one.endswith(".md")}


#: Pages whose examples take some seconds.
#: Sweeps, late rewards, contexts and prices are shown on others, too.
LONG = (
    *("concepts/late-rewards.md", "howto/checks.md", "howto/contexts.md", "howto/conversions.md", "howto/figures.md"),
    *("howto/late.md", "howto/merit.md", "howto/price.md", "howto/processes.md", "howto/spread.md", "howto/sweeps.md"),
    *("paths/log/4-price.md", "paths/policy/4-sweep.md", "paths/service/4-two-servers.md", "paths/study/3-sweep.md"),
    "reference/command-line.md",
)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(
    "path", thinned([path for path in PAGES if EXAMPLES.runs(WRITTEN[path])], lambda path: path not in LONG)
)
def test_examples_run_and_print_what_is_shown(path: str) -> None:
    for output in EXAMPLES.run(WRITTEN[path], EXAMPLES.earlier(path)):
        assert output.agrees, (
            f"{output.source}\n{output.got}\n(`python docs/_ext/examples.py` brings the pages up to date)"
        )


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("path", [path for path in PAGES if "toml\n:caption:" in WRITTEN[path]])
def test_complete_configurations_run(path: str) -> None:
    """In a small size; also where the page runs no command on them."""
    own = {block.file for block in EXAMPLES.blocks(WRITTEN[path])}
    for file in EXAMPLES.write_files(WRITTEN[path], EXAMPLES.earlier(path)):
        if file.name in own and file.suffix == ".toml":
            with pytest.raises(InfeasiblePromise) if file.name in REFUSED else nullcontext():
                run_small(file)


@pytest.mark.parametrize(
    "file",
    thinned(sorted((ROOT / "examples").glob("*.toml")), lambda file: file.name != "study.toml", lambda file: file.name),
)
def test_example_configurations_run(file: Path) -> None:
    run_small(file)


FRAGMENT = """
horizon = 4
lanes = 2
[environment]
rewards = { kind = "bernoulli", means = [0.6, 0.5] }
contexts = { kind = "normal", situation = 2 }
"""


@pytest.mark.parametrize(
    "path", [path for path in PAGES if re.search(r"\n\[\[policies\]\]\n|generated: algorithm ", WRITTEN[path])]
)
def test_policies_shown_by_themselves_can_be_loaded(path: str, tmp_path: Path) -> None:
    for block in EXAMPLES.blocks(page(path)):
        if block.language == "toml" and not block.file and block.content.startswith("[[policies]]"):
            (tmp_path / "shown.toml").write_text(FRAGMENT + block.content, encoding="utf-8")
            assert len(config.load(tmp_path / "shown.toml").policies) == block.content.count("[[policies]]")


SURROUNDINGS = """
horizon = 4
lanes = 2
[[policies]]
algorithm = "ucb1"
[environment]
arms = ["Ann", "Ben", "Cem"]
rewards = { kind = "bernoulli", means = [0.6, 0.5, 0.4] }
"""


STUDIED = """
horizon = 4
lanes = 2
[[policies]]
label = "one"
algorithm = "lfg"
fractions = 0.01
[[policies]]
label = "two"
algorithm = "lfg"
fractions = 0.01
[environment]
rewards = { kind = "bernoulli", means = { kind = "uniform", arms = 5 } }
"""


@pytest.mark.parametrize("path", [path for path in PAGES if "```toml\n" in WRITTEN[path]])
def test_lines_of_a_configuration_can_be_loaded(path: str, tmp_path: Path) -> None:
    """What is neither a whole file nor a policy are keys of the environment."""
    for block in EXAMPLES.blocks(WRITTEN[path]):
        if block.language == "toml" and not block.file and not block.content.startswith("[[policies]]"):
            if block.content.startswith("[sweep]"):
                (tmp_path / "study.toml").write_text(STUDIED + block.content, encoding="utf-8")
                assert all(config.parse(setting.config) for setting in Study.load(tmp_path / "study.toml").settings())
                continue
            (tmp_path / "shown.toml").write_text(SURROUNDINGS + block.content, encoding="utf-8")
            assert config.load(tmp_path / "shown.toml").environment.arms == 3


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_of_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """The first answer of the README, of a command, is compared in `.ci/run`."""
    blocks = EXAMPLES.blocks(README)
    (code,) = (block.content for block in blocks if block.language == "python")
    shown = [block.content for block in blocks if block.language == "text"][1]
    exec(compile(code, "README.md", "exec"), {})
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown.splitlines()


@pytest.mark.parametrize(
    ("file", "heading"), [("README.md", "Five papers, judged"), ("paper/paper.md", "What it found out")]
)
def test_the_verdicts_that_are_told_are_those_of_the_report(file: str, heading: str) -> None:
    """Four numbers: confirmed, in part, contradicted, open."""
    kept = json.loads((DOCS / "_static" / "claims.json").read_text(encoding="utf-8"))["experiments"]
    judged = [verdict["status"] for one in kept if one["paper"] != "beyond" for verdict in one["verdicts"]]
    counts = [judged.count(status) for status in ("confirmed", "holds in part", "contradicted")]
    _, _, rest = (ROOT / file).read_text(encoding="utf-8").partition(heading)
    told = [int(number) for number in re.findall(r"\b\d+\b", rest)[:5]]
    assert told == [len(judged), *counts, len(judged) - sum(counts)]


def test_links_of_the_readme_lead_somewhere() -> None:
    """To files of the repository and to headings in them."""
    for target in re.findall(r"(?:\]\(|srcset=\"|src=\")(?!https?:)([^)\" ]+)", README):
        file, _, heading = target.partition("#")
        assert (ROOT / file).exists(), target
        text = (ROOT / file).read_text(encoding="utf-8") if heading else ""
        assert not heading or heading in {slug(one) for one in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}, (
            target
        )


def slug(heading: str) -> str:
    """The anchor of a heading, as it is made where repositories are shown."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


SHELL = re.compile(r"(?:^|[;&|(] *|exec \S+ |-- )(?:\S*/bin/)?evenhand ((?:[^\n;&|<>#)\\]|\\\n)+)", flags=re.MULTILINE)


def test_commands_in_shell_blocks_exist_with_their_options() -> None:
    """What a console block shows is run; shell blocks change the machine, so that their commands are only read."""
    texts = [(DOCS / path).read_text(encoding="utf-8") for path in (*PAGES, "../README.md")]
    for block in [block for text in texts for block in EXAMPLES.blocks(text)]:
        for line in SHELL.findall(block.content) if block.language == "sh" else ():
            words = shlex.split(line.replace("\\\n", " "))
            command, rest = COMMAND_LINE, words
            while rest and hasattr(command, "commands") and rest[0] in command.commands:
                command, rest = command.commands[rest[0]], rest[1:]
            assert command is not COMMAND_LINE or rest[0].startswith("-"), f"no command: {line}"
            known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
            asked = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert asked <= known, line


def run_small(file: Path) -> None:
    if "[sweep" in file.read_text(encoding="utf-8"):
        study = Study.load(file)
        swept = sweep(replace(study, config={**study.config, "horizon": 4, "lanes": 2}))
        assert not swept.failures
        assert swept.by_key
        return
    setup = config.load(file, lanes=2, horizon=4)
    results = compare(setup.policies, setup.environment, setup.horizon, setup.lanes, setup.seed)
    assert set(results.final()) == set(setup.policies)


def test_output_with_another_number_or_word_does_not_agree() -> None:
    assert EXAMPLES.Output("", "a 1.0 ± 0.1\n…\n", "a   1.0 ± 0.1\nmore\n").agrees
    assert not EXAMPLES.Output("", "a 1.0 ± 0.1\n…\n", "a 1.1 ± 0.1\nmore\n").agrees
    assert not EXAMPLES.Output("", "a 1.0\n", "b 1.0\n").agrees
