"""Parts of the pages that are read off the package itself, as Markdown, so that they cannot go stale.

A page names one on a line of its own: ``<!-- generated: parts -->``, or ``<!-- generated: options simulate -->``.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import attrs

import algorithm_pages
import evenhand
import evenhand.algorithms
import faces
import formulas
from algorithm_pages import CLAIMS, GROUPS, claims, counted, group_of, legend, linked
from algorithm_pages import escaped as _text
from algorithm_pages import table as _table
from evenhand import Environment, Policy, simulate
from evenhand.algorithms.recommendation import of_parts, which
from evenhand.algorithms.registry import ALGORITHMS, Algorithm
from evenhand.contexts import Categories
from evenhand.core.glossary import terms
from evenhand.environment.rewards import Winners
from evenhand.feedback import Bounded
from evenhand.messages.answers import Recommendation
from evenhand.messages.questions import QUESTIONS
from evenhand.papers.experiment import experiments as known_experiments
from evenhand.policy.evidence import Evidence
from evenhand.policy.merit import Power
from evenhand.simulation.measures import MEASURES

#: A marker, and what stands there for those who read the file and not the page: up to ``<!-- end -->``.
MARKER = re.compile(r"^<!-- generated: (\w+)(?: (.+?))? -->$(?:\n(?:(?!<!--).+\n)+<!-- end -->$)?", flags=re.MULTILINE)
COLUMNS = {
    "policy": "label of the policy",
    "lane": "replication, counted from 0",
    "round": "the checkpoint: rounds played so far",
    "arm": "name of the arm",
    **{name: inspect.getdoc(type(metric)).rstrip(".") for name, metric in MEASURES.items()},
    "pulls": "plays so far",
    "fraction": "share of the rounds so far",
    "promised": "share that the policy promises, or else the environment's, or else the fair share by merit; "
    "missing where there is none",
    "estimate": "mean of the rewards that arrived, at the end, in the unit of the rewards; missing where none did",
    "score": "score of the arm for the round after the last",
    "segment": "of the rounds",
    "share": "of the rounds of the segment that the arm is promised; 0 for none",
    "rounds": "of the segment",
    "plays": "of the arm in these rounds",
    "since": "rounds of the segment since the promise began",
    "made": "plays of the arm in these",
    "missing": "plays that the arm is behind the promise; negative where it has more",
}  # of the result files; measures that do not apply are missing
#: Parameters that mean the same in many commands, each with one of these and in which it is.
COMMON = {
    "as_json": ("algorithms", "whatever prints data"),
    "own": ("algorithms", "whatever can name parts"),
    "url": ("client list", "`client …`"),
    "timeout": ("client list", "`client …`"),
    "wait": ("client list", "`client …`"),
    "again": ("client decide", "`client …`, where something is written"),
    "version": ("client change rename", "`client change …`"),
    "dry_run": ("client change rename", "`client change …`, `client create`"),
    "field_reason": ("client change rename", "`client change …`"),
    "database": ("verify", "`serve`, `keys …`, `db …`, `export`, `verify`"),
}
VARIANT = ("shape", "queue", "rest")  # fields that say which variant of a part it is, also where it is the default


def fill_in(page: str) -> str:
    """The page with every marker replaced by what it asks for."""
    return MARKER.sub(lambda match: MAKERS[match[1]](*filter(None, [match[2]])), page)


def parts() -> str:
    """Which algorithm is which choice of parts."""
    return _grouped(["algorithm", "index", "evidence", "fairness", "selection", "schedule", "hold"], _parts_of)


def _parts_of(entry: Algorithm) -> list[str]:
    policy = example_of(entry)
    evidence = ", ".join(f"`{name}`" for name in evidence_of(policy))
    others = [policy.fairness, policy.selection, policy.schedule, policy.hold]
    return [f"[`{entry.name}`]({link_to(entry)})", _shown(policy.index), evidence, *map(_shown, others)]


def evidence_of(policy: Policy) -> list[str]:
    """The kinds of evidence in the schedule, which decides alone where it has any, or else in the index."""
    return _evidence_in(policy.schedule) or _evidence_in(policy.index)


def _evidence_in(part: Any) -> list[str]:
    if not attrs.has(type(part)):
        return []
    own = [type(part).__name__] if isinstance(part, Evidence) else []
    inside = [name for field in attrs.fields(type(part)) for name in _evidence_in(getattr(part, field.name))]
    return list(dict.fromkeys(own + inside))


def example_of(entry: Algorithm) -> Policy:
    """A policy of the algorithm, with sample values for the parameters that have no default."""
    return entry.example()


def link_to(entry: Algorithm) -> str:
    """The place on the page of the algorithms, from a page one folder deep."""
    return f"../reference/algorithms/{entry.name}.md"


def _shown(part: Any) -> str:
    """A part's name, what makes it differ from the plain one, and the index that it works on."""
    remarks: list[str] = []
    inner: dict[str, None] = {}
    for field in attrs.fields(type(part)):
        value = getattr(part, field.name)
        if isinstance(value, str | bool) and (value != field.default or field.name in VARIANT):
            remarks.append(field.name if value is True else str(value))
        elif hasattr(value, "score"):
            inner[f" of `{type(value).__name__}`"] = None
    return f"`{type(part).__name__}`" + "".join(inner) + (f" ({', '.join(remarks)})" if remarks else "")


def by_promise() -> dict[str, list[Algorithm]]:
    """The registry, cut by what the algorithms promise."""
    groups: dict[str, list[Algorithm]] = {heading: [] for heading in GROUPS.values()}
    for entry in ALGORITHMS.values():
        groups[GROUPS[group_of(entry)]].append(entry)
    return groups


def _grouped(head: Iterable[str], row: Callable[[Algorithm], list[str]]) -> str:
    """A table for each kind of promise, one row per algorithm."""
    head = list(head)
    pieces = [f"**{heading}**\n\n{_table(head, map(row, entries))}" for heading, entries in by_promise().items()]
    return "\n\n".join(pieces)


def options(command: str) -> str:
    """The arguments and options of a command, without those of many commands."""
    rows = [option_row(parameter) for parameter in click_command(command).params if not is_common(parameter)]
    return _table(["argument or option", "default", "what it is"], rows) if rows else "No options of its own."


def common_options() -> str:
    """The options that many commands have, each with what it means there."""
    rows = []
    for name, (_, where) in COMMON.items():
        written, default, meaning = option_row(common(name))
        rows.append([written, where, default, meaning])
    return _table(["option", "of", "default", "what it is"], rows)


def is_common(parameter: Any) -> bool:
    """Whether an option is that of many commands."""
    return parameter.name in COMMON and option_row(parameter) == option_row(common(parameter.name))


def common(name: str) -> Any:
    """An option of many commands, as one of them has it."""
    return next(one for one in click_command(COMMON[name][0]).params if one.name == name)


def option_row(parameter: Any) -> list[str]:
    """How an argument or option is written, its default, and what it is."""
    names = spellings(parameter)
    if parameter.param_type_name == "argument":
        names = [str(parameter.metavar or parameter.name)]
    default = parameter.opts[0] if parameter.default is True else parameter.default
    shown = "" if default is None or default is False else f"`{default}`"
    return [", ".join(f"`{name}`" for name in names), shown, _text(parameter.help)]


def verdicts() -> str:
    """The experiments of the full run: what each is about, its configurations, and the verdicts on its claims."""
    rows = []
    for one in claims():
        experiment = known_experiments()[one["id"]]
        parts = ", ".join(f"`{part}`" for part in experiment.parts[:2]) + (", …" if len(experiment.parts) > 2 else "")
        rows.append([linked(one, ""), _text(experiment.title), parts, counted(one)])
    return _table(["experiment", "what it is about", "configurations", f"claims: {legend()}"], rows)


def finding(asked: str) -> str:
    """The verdict on one claim, ``P-2b | its first words``, with the experiment that it comes from."""
    name, words = asked.split(" | ")
    experiment = next(one for one in claims() if one["id"] == name)
    (verdict,) = (one for one in experiment["verdicts"] if one["sentence"].startswith(words))
    size = f"{experiment['lanes']} lanes of {experiment['horizon']:,} rounds"
    return f"- **{verdict['words']}**: {_text(verdict['sentence'])} ({linked(experiment, '')}, {size})"


#: Columns of the table of recommendations: what is said of rewards, and the answers that it stands for.
SITUATIONS = {
    "rewards at once, or late": {"rewards": "late", "means": "fixed"},
    "delays depend on rewards": {"rewards": "dependent", "means": "fixed"},
    "the same, unnamed": {"rewards": "unnamed", "means": "fixed"},
    "only sums": {"rewards": "sums", "means": "fixed"},
    "means jump": {"rewards": "late", "means": "jump"},
    "means drift": {"rewards": "late", "means": "drift"},
    "decisions have features": {"rewards": "late", "means": "fixed", "features": True},
}


def recommendations() -> str:
    """The table of `evenhand which`: what suits each promise, by what rewards are like."""
    promises = next(one.options for one in QUESTIONS if one.name == "promise")
    rows = [
        [words, *(", ".join(map(_recommended, which(promise, **answers))) for answers in SITUATIONS.values())]
        for promise, words in promises.items()
    ]
    return _table(["what do you promise?", *SITUATIONS], rows)


def _recommended(one: Recommendation) -> str:
    link = f"[`{one.algorithm}`](reference/algorithms/{one.algorithm}.md)"
    link = f"`{one.algorithm}`" if of_parts(one) else link
    return (f"*{link}*" if "yes" in one.when["explainable"] else link) + "†" * ("evidence" in one.parameters)


def full_run() -> str:
    """When, with what and on which machine the full run was made, and how many claims have which verdict."""
    from evenhand.papers.report import counted as totals
    from evenhand.papers.report import outdated
    from evenhand.papers.runner import Store

    about, counts = json.loads(CLAIMS.read_text(encoding="utf-8"))["about"], totals(claims())
    total = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    dates = sorted({one["date"] for one in claims()})
    stale = outdated(Store(CLAIMS.parent / "report"), known_experiments(), {one["id"]: one for one in claims()})
    return (
        f"Of {sum(counts.values())} claims: {total}. Run from {dates[0]} to {dates[-1]}, {about['machine']}, "
        f"Python {about['python']}, NumPy {about['numpy']}. Not run again since the code changed: "
        f"{len(stale)} of {len(claims())} experiments."
    )


def commands(group: str = "") -> str:
    """The commands, or those of a group of commands, a line each."""
    rows = []
    for name, command in click_command(group).commands.items():
        path = f"{group} {name}".strip()
        summary = " ".join(command.help.split("\n\n")[0].split())
        rows.append([f"[`{path}`](#evenhand-{path.replace(' ', '-')})", _text(summary)])
    return _table(["command", "what it does"], rows)


def click_command(path: str = "") -> Any:
    """A command of the command line, such as ``client decide``; without a path the whole of it."""
    import typer

    from evenhand.cli.main import app

    command: Any = typer.main.get_command(app)
    for name in path.split():
        command = command.commands[name]
    if hasattr(command, "explain"):
        command.explain()
    return command


def spellings(parameter: Any) -> list[str]:
    """Every way to write an option."""
    return [*parameter.opts, *parameter.secondary_opts]


def columns(table: str) -> str:
    """The columns of a table of `Results`."""
    spread = Bounded(start=0, stop=1)
    promised = {"fractions": [0.1, 0.1], "penalties": 0.1, "merit": Power()}
    known = {"contexts": Categories({"country": {"DE": 0.7, "FR": 0.3}}), "segments": "country"}
    world = Environment(Winners([0.6, 0.4]), feedback=spread, **promised, **(known if table == "segments" else {}))
    frame = getattr(simulate(Policy(), world, horizon=2, lanes=2, progress=False), table)()
    rows = [[f"`{name}`", f"`{frame[name].dtype}`", _text(COLUMNS[name])] for name in frame]
    return _table(["column", "type", "what it is"], rows)


def measures() -> str:
    """The measures with their formulas."""
    rows = [
        [f"`{name}`", _text(formulas.typeset(one.formula).replace("|", "\\|")), one.unit, one.source]
        for name, one in MEASURES.items()
    ]
    return _table(["measure", "at round t", "unit", "source"], rows)


def bounds() -> str:
    """The bounds that are drawn; their premises are on the pages of the algorithms."""
    rows = [
        [f"[`{name}`](../reference/algorithms/{name}.md#promise)", f"`{entry.bound.measure}`", entry.bound.source]
        for name, entry in ALGORITHMS.items()
        if entry.bound is not None
    ]
    return _table(["algorithm", "measure", "theorem"], rows)


def names() -> str:
    """The names that ``import evenhand`` gives."""
    rows = []
    for name, thing in faces.public().items():
        if name.count(".") == 1:
            summary = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()) if callable(thing) else ""
            rows.append([f"{{py:obj}}`{name}`", _text(summary.replace("``", "`"))])
    inside = [module for module in faces.modules() if module is not evenhand]
    rows += [[f"`{module.__name__}`", _text((inspect.getdoc(module) or "").split("\n\n")[0])] for module in inside]
    return _table(["name", "what it is"], rows)


def glossary() -> str:
    """Every word of the glossary, with links between them."""
    entries = ["\n".join([term.name, *term.forms, f"  {term.text}"]) for term in terms().values()]
    return "```{glossary}\n" + "\n\n".join(entries) + "\n```"


MAKERS: dict[str, Callable[..., str]] = {
    **algorithm_pages.MAKERS,
    "bounds": bounds,
    "columns": columns,
    "finding": finding,
    "full_run": full_run,
    "glossary": glossary,
    "commands": commands,
    "common_options": common_options,
    "measures": measures,
    "faces": faces.page,
    "names": names,
    "nothing": str,
    "options": options,
    "recommendations": recommendations,
    "parts": parts,
    "verdicts": verdicts,
}
