"""The documentation tells of every module, name, command, option, algorithm and key, and its examples run."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from pydantic import BaseModel

import evenhand
import evenhand.algorithms  # fills the registry
from evenhand import InfeasiblePromise, cli, compare, config, sections
from evenhand.metrics import MEASURES
from evenhand.registry import ALGORITHMS, Algorithm

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def loaded(name: str) -> Any:
    """A module of the documentation; docs/ is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


EXAMPLES, TABLES = loaded("examples"), loaded("tables")
PAGES: list[str] = EXAMPLES.pages()


def page(path: str) -> str:
    """A page as Sphinx reads it, with what is generated filled in."""
    text: str = TABLES.fill_in((DOCS / path).read_text(encoding="utf-8"))
    return text


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


# The API


def modules() -> list[str]:
    """Every public module, by name."""
    return sorted(module.name for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."))


def public_things() -> list[Any]:
    """Functions and classes that are public, each from the module that it lives in."""
    things = []
    for name in modules():
        for key, thing in vars(importlib.import_module(name)).items():
            mine = (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__ == name
            if mine and not key.startswith("_"):
                things.append(thing)
    return things


def full_name(thing: Any) -> str:
    return f"{thing.__module__.removeprefix('evenhand.')}.{thing.__qualname__}"


# Modules for those who work on Evenhand itself: what they hold is shown by the commands and checks that use it.
INNER = (
    *("cli", "config", "engine", "listing", "replaying", "rerun", "sections", "validate", "checks"),
    *("papers", "reproduction"),
    *("online.clienting", "online.service"),
    *("online.store.events", "online.store.live", "online.store.writer"),
)
# Public, yet without an example of their own.
EXCUSED = {
    # Nothing to set, and seen in every example that leaves the part out.
    "availability.Always",
    "fairness.NoPromise",
    # Records that others fill; each is shown where it is used.
    "cadence.Commitment",
    "cadence.Contest",
    "environment.World",
    "fairness.Claim",
    "fairness.Queue",
    "growth.Exponent",
    "holds.Campaign",
    "holds.Coins",
    "holds.Hold",
    "index.Credit",
    "index.Trials",
    "index.Window",
    "metrics.Ledger",
    "metrics.Yardstick",
    "online.evaluate.Evaluation",
    "oracle.Optimum",
    "reach.Mixture",
    "online.audit.Line",
    "online.bandit.Choice",
    "online.book.Book",
    "online.book.Entry",
    "online.client.answers.Access",
    "online.client.answers.Allocations",
    "online.client.answers.Answers",
    "online.client.answers.Chance",
    "online.client.answers.Changed",
    "online.client.answers.Decided",
    "online.client.answers.Decisions",
    "online.client.answers.Description",
    "online.client.answers.Detail",
    "online.client.answers.Fault",
    "online.client.answers.Refusal",
    "online.client.answers.Reported",
    "online.client.answers.Summary",
    "online.client.answers.Totalled",
    "online.client.audits.Audited",
    "online.client.audits.Bins",
    "online.client.audits.Delays",
    "online.propensities.Propensities",
    "online.store.commands.Desk",
    "online.store.keys.Key",
    "online.store.store.Overview",
    "online.tallies.Tallies",
    "records.Begun",
    "records.Outcome",
    "registry.Algorithm",
    "results.Record",
    # Steps of something else that has an example.
    "algorithms.indices.beta_under",
    "algorithms.indices.ucb_under",
    "delays.Late",
    "describe.types_in",
    "online.client.showing.show_audit",
    "online.client.showing.show_description",
    "online.evaluating.as_plain",
    "online.evaluating.estimated",
    "online.evaluating.show",
    "oracle.merits_of",
    "reach.cutting_planes",
    "reach.played_by",
    "records.for_lanes",
    "records.rows",
    "registry.algorithm",
    "errors.nearest",
    "online.audit.audit",
    "online.given.by_arm",
    "online.given.limits",
    "online.given.named",
    "online.given.as_plain",
    "online.given.from_plain",
    "online.growing.grown",
    "online.growing.welcome",
    "online.picture.draw",
    "online.propensities.copied",
    "online.propensities.draws",
    "online.propensities.propensities",
    "online.store.export.as_csv",
    "online.store.export.write_csv",
    "online.store.export.write_parquet",
    "results.check_folder",
    "results.mean_and_error",
    "results.read_table",
    "results.run_information",
    "results.write_whole",
    "simulation.run_block",
    "spread.Sums",
    "tuning.mixing_of",
    # Nothing to run by themselves: what delay models, profiles, indexes, cadences and commands have in common.
    "cadence.ChooseAlways",
    "delays.Delay",
    "index.Memoryless",
    "online.store.commands.Command",
    "spread.Spread",
    # Read or write files; the pages of the documentation show them at work.
    "datasets.clicks.outbrain",
    "datasets.conversions.Conversions",
    "datasets.movielens.Ratings",
}


def needs_example(thing: Any) -> bool:
    """Protocols and errors cannot be run; inner modules are not for users."""
    if inspect.isclass(thing) and (getattr(thing, "_is_protocol", False) or issubclass(thing, Exception)):
        return False
    return not full_name(thing).startswith(tuple(f"{module}." for module in INNER))


def test_every_module_is_in_the_api_reference() -> None:
    named = [
        name
        for path in PAGES
        if path.startswith("reference/api/")
        for name in re.findall(r"automodule:: (\S+)\n   :members:", page(path))
    ]
    assert sorted(named) == modules()


def test_every_public_name_of_the_package_is_on_the_api_page() -> None:
    for name in set(evenhand.__all__) - {"__version__"}:
        assert f"`evenhand.{name} <" in page("reference/api/index.md"), name


@pytest.mark.parametrize("thing", public_things(), ids=full_name)
def test_docstring_begins_with_a_summary(thing: Any) -> None:
    text = thing.__doc__
    assert text, "no docstring"
    assert not text.startswith(f"{thing.__name__}("), "the docstring is the one that dataclasses makes up"
    assert text.split("\n\n")[0].rstrip().endswith((".", ":", "``.")), "the summary is no sentence"
    for name, member in vars(thing).items() if inspect.isclass(thing) else ():
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            assert member.__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("thing", [thing for thing in public_things() if needs_example(thing)], ids=full_name)
def test_docstring_has_an_example_or_an_excuse(thing: Any) -> None:
    has_example = ">>> " in (thing.__doc__ or "")
    assert has_example != (full_name(thing) in EXCUSED), "needs an example" if not has_example else "needs no excuse"


def test_excuses_are_for_what_is_there() -> None:
    assert {full_name(thing) for thing in public_things()} >= EXCUSED


# Algorithms


@pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
def test_algorithm_tells_all_that_is_asked(entry: Algorithm) -> None:
    assert "``" in (inspect.getdoc(entry.build) or "").split("\n\n")[1], "no equation after the summary"
    assert entry.promise
    assert entry.source
    assert set(entry.parameter_help()) == set(entry.parameters)


@pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
def test_algorithm_is_in_the_documentation(entry: Algorithm) -> None:
    told = section("reference/algorithms.md", f"### {entry.name}")
    assert {name for row in rows(told) for name in codes(row[0])} == set(entry.parameters)
    assert f"### {entry.paper.key}\n" in page("reference/algorithms.md")
    parts = [row for row in rows(page("concepts/parts.md")) if codes(row[0]) == {entry.name}]
    policy = TABLES.example_of(entry)
    chosen = (policy.index, policy.fairness, policy.selection, policy.cadence)
    for part, cell in zip(chosen, (parts[0][1], *parts[0][3:]), strict=True):
        assert type(part).__name__ in codes(cell)


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("fucb", {"Received"}),
        ("fgreedy_d", {"Received"}),  # inside `Exploring`
        ("fcucb_d", {"Received"}),  # at both ends of a box
        ("op_fcts_d", {"Optimistic", "Pessimistic"}),  # inside `Mean`
        ("opse", {"Optimistic", "Pessimistic"}),  # in the box of the cadence, which alone decides
    ],
)
def test_evidence_is_told_wherever_it_sits(name: str, evidence: set[str]) -> None:
    told = next(row for row in rows(page("concepts/parts.md")) if codes(row[0]) == {name})
    assert codes(told[2]) == evidence


def test_every_measure_is_explained() -> None:
    told = {name for row in rows(page("concepts/measures.md")) for name in codes(row[0])}
    assert told >= set(MEASURES)


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
    told = {code for row in rows(section("reference/command-line.md", heading)) for code in codes(row[0])}
    for parameter in COMMANDS[path].params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            assert told >= {*parameter.opts, *parameter.secondary_opts}
    assert f"](#evenhand-{path.replace(' ', '-')})" in page("reference/command-line.md")


def test_options_of_all_commands_are_on_the_page() -> None:
    for parameter in COMMAND_LINE.params:
        assert all(f"[{option}]" in page("reference/command-line.md") for option in parameter.opts)


# The configuration

CONFIGURATION = "reference/configuration.md"
SECTIONS: dict[str, type[BaseModel]] = {
    "## The run": config.Config,
    "## `[environment]`": sections.EnvironmentSection,
    "## `[[policies]]`": config.PolicySection,
    "## `[figures]`": config.FiguresSection,
}
KINDS: dict[str, tuple[type[BaseModel], ...]] = {
    "### Rewards": (*get_args(sections.Rewards), sections.Drawn),
    "### Availability": get_args(sections.Availability),
    "### Feedback": get_args(sections.Feedback),
    "### Merit": get_args(sections.Merit),
    "### Penalties": (sections.HalfRange,),
    "### Datasets": get_args(sections.Dataset),
    "### Size": get_args(sections.Size),
}


def test_every_table_of_the_configuration_is_looked_at() -> None:
    named = [thing for module in (config, sections) for thing in vars(module).values()]
    models = {thing for thing in named if inspect.isclass(thing) and issubclass(thing, BaseModel)}
    known = {*SECTIONS.values(), *(model for group in KINDS.values() for model in group)}
    # Sections have a base class, which no file contains.
    assert {model for model in models if model.__module__.startswith("evenhand.")} == known | {sections.Section}


@pytest.mark.parametrize("heading", SECTIONS)
def test_keys_and_defaults_are_on_the_page(heading: str) -> None:
    text = section(CONFIGURATION, heading).split("\n### ")[0]
    told = {key: row[1] for row in rows(text) for key in codes(row[0])}
    fields = SECTIONS[heading].model_fields
    assert set(told) == set(fields)
    for key, field in fields.items():
        if field.is_required():
            assert told[key] == "required"
        elif isinstance(field.default, int | str):
            assert told[key] == f"`{json.dumps(field.default)}`"


@pytest.mark.parametrize("heading", KINDS)
def test_kinds_and_their_keys_are_on_the_page(heading: str) -> None:
    told: dict[str, set[str]] = {}
    for kind, keys, *_ in rows(section(CONFIGURATION, heading)):
        for name in codes(kind):
            told.setdefault(name, set()).update(codes(keys))
    kinds = {get_args(model.model_fields["kind"].annotation)[0]: model for model in KINDS[heading]}
    assert told == {kind: {*model.model_fields} - {"kind"} for kind, model in kinds.items()}


# The examples

REFUSED = {"greedy.toml"}  # shown for the message with which it is refused


@pytest.fixture
def workplace() -> Iterator[None]:
    with EXAMPLES.workplace():
        yield


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("path", [path for path in PAGES if EXAMPLES.blocks(page(path))])
def test_examples_run_and_print_what_is_shown(path: str) -> None:
    for output in EXAMPLES.run(page(path)):
        assert output.agrees, f"{output.source}\n{output.got}\n(`python docs/examples.py` brings the pages up to date)"


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("path", [path for path in PAGES if "toml\n:caption:" in page(path)])
def test_complete_configurations_run(path: str) -> None:
    """In a small size; also where the page runs no command on them."""
    for file in EXAMPLES.write_files(page(path)):
        if file.suffix == ".toml":
            with pytest.raises(InfeasiblePromise) if file.name in REFUSED else nullcontext():
                run_small(file)


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.name)
def test_example_configurations_run(file: Path) -> None:
    run_small(file)


def run_small(file: Path) -> None:
    setup = config.load(file, lanes=2, horizon=4)
    results = compare(setup.policies, setup.environment, setup.horizon, setup.lanes, setup.seed)
    assert set(results.final()) == set(setup.policies)


def test_output_with_another_number_or_word_does_not_agree() -> None:
    assert EXAMPLES.Output("", "a 1.0 ± 0.1\n…\n", "a   1.0 ± 0.1\nmore\n").agrees
    assert not EXAMPLES.Output("", "a 1.0 ± 0.1\n…\n", "a 1.1 ± 0.1\nmore\n").agrees
    assert not EXAMPLES.Output("", "a 1.0\n", "b 1.0\n").agrees
