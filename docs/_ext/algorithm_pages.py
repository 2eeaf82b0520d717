"""The generated parts of the pages of the algorithms: all of it is read off the registry and the kept measurements.

What no program knows, when to use an algorithm and when not, is written on its page in docs/reference/algorithms.
"""

from __future__ import annotations

import html
import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import docstrings
import evenhand.papers
import formulas
from evenhand.algorithms.properties import (
    ANY_DELAY,
    PROMISES,
    decides_by_numbers,
    feedback_of,
    plays_several,
    promise_of,
)
from evenhand.algorithms.registry import ALGORITHMS, SAMPLE, Algorithm
from evenhand.cli.reproduce import MARKS
from evenhand.papers.experiment import experiments as known_experiments
from evenhand.papers.report import kept_counts
from evenhand.policy.merit import Power
from evenhand.simulation.measures import MEASURES

CLAIMS = Path(__file__).parents[1] / "_static" / "claims.json"  # of the full run that `keep_report.py` has kept
KEPT = Path(__file__).parents[1] / "_static" / "figures" / "algorithms"
#: What the algorithms of a module promise, in the order of the page.
GROUPS = {
    "baselines": "No promise",
    "minimum": "Minimum shares",
    "identification": "Minimum shares, and the best arm known soon",
    "merit": "Shares by merit",
    "mature": "Shares by merit, by the age of plays",
    "promises": "Groups, caps, rewards and floors of chances",
    "anonymous": "Anonymous sums",
    "drift": "Means that change",
    "contextual": "No promise, by features",
    "contextual_fair": "Fair in every situation, by features",
}
KIND_HEAD = ["algorithm", "measured", "plays missing"]
#: Columns of the table of all algorithms; those with a list of values can be filtered.
HEAD = [
    "algorithm",
    "promise",
    "late rewards",
    "several plays, sleeping",
    "means change",
    "features",
    "propensities",
    "needs T",
    "step",
]


def group_of(entry: Algorithm) -> str:
    """The module that an algorithm is defined in."""
    return entry.build.__module__.rpartition(".")[2]


def title(entry: Algorithm) -> str:
    """The short name of an algorithm, as its summary begins."""
    name = re.split(r"[:,.]", entry.summary)[0]
    return name if len(name) < 30 else entry.name


def front(name: str) -> str:
    """What stands on a page between its plain sentence and the advice: rule, figure, promise and bound."""
    entry = ALGORITHMS[name]
    sections = (inspect.getdoc(entry.build) or "").split("\n\n")
    place = next(i for i, section in enumerate(sections) if section.startswith("Args:"))
    remarks = [" ".join(section.split()) for section in sections[2:place] if not section.startswith("Promise:")]
    rule = formulas.typeset(" ".join(sections[1].split()), every=True)
    return "\n\n".join(
        part
        for part in [
            f"*{escaped(sentence(entry))}*",
            f":::{{div}} rule\n{rule}\n:::",
            figure(entry),
            f"## Promise\n\n{escaped(entry.promise[:1].upper() + entry.promise[1:])}",
            bound(entry),
            *(escaped(remark) for remark in remarks),
        ]
        if part
    )


def sentence(entry: Algorithm) -> str:
    """The summary without the name that it begins with, if it does."""
    name, colon, rest = entry.summary.partition(": ")
    return f"{rest[0].upper()}{rest[1:]}" if colon and len(name) < 30 else entry.summary


def figure(entry: Algorithm) -> str:
    """The kept figure, with what it shows in words."""
    row = measured()[entry.name]
    measure = MEASURES[row["measure"]]
    shares = ", ".join(f"{share:.0%}" for share in row["shares"])
    others = "[others of its kind](#beside-others-of-its-kind)"
    words = f"Shares so far (dotted: promised), and {measure.label} (grey: {others})."
    alt = f"Shares of the arms at the end: {shares}; {measure.label}: {row['mean']:,.1f}"
    return f"```{{figure}} ../../_static/figures/algorithms/{entry.name}.svg\n:alt: {alt}\n\n{words}\n```"


def bound(entry: Algorithm) -> str:
    """The bound that is drawn for it, with the premises of its theorem."""
    if entry.bound is None:
        return ""
    premises = "".join(f"\n- {premise.sentence}" for premise in entry.bound.holds_if)
    where = ", at the horizon only" if entry.bound.at_horizon else ""
    return (
        f"A theorem bounds its **{MEASURES[entry.bound.measure].label}**{where} ({escaped(entry.bound.source)}). "
        f"`bounds = true` under `[figures]` draws the bound where all premises hold:\n{premises}"
    )


def details(name: str) -> str:
    """What stands on a page after the advice: parameters, how to ask for it, comparison, source."""
    entry = ALGORITHMS[name]
    helped = entry.parameter_help()
    rows = [
        [f"`{name}`", "required" if p.default is p.empty else f"`{p.default!r}`", escaped(helped.get(name, ""))]
        for name, p in entry.parameters.items()
    ]
    needed = [name for name, p in entry.parameters.items() if p.default is p.empty and name != "horizon"]
    given = ", where `horizon` is that of the run," if "horizon" in entry.parameters else ""
    toml = "\n".join([f'algorithm = "{entry.name}"', *(f"{key} = {plain(SAMPLE[key])}" for key in needed)])
    arguments, _ = docstrings.signature("function", entry.build) or ("()", "")
    pieces = [
        f"## Parameters\n\n{table(['parameter', 'default', 'what it is'], rows)}" if rows else "## Parameters\n\nNone.",
        f"```{{eval-rst}}\n.. py:function:: {entry.name}{arguments}\n   :module: evenhand.algorithms\n```",
        f"In a configuration{given}\n\n```{{code-block}} toml\n[[policies]]\n{toml}\n```",
        of_its_kind(entry),
        experiments_with(entry),
        f"## Source\n\n{escaped(entry.source)}" + cited(entry),
    ]
    return "\n\n".join(filter(None, pieces))


def cited(entry: Algorithm) -> str:
    """The paper, with a link to its entry."""
    paper = entry.paper
    return f" {escaped(paper.citation)}. [BibTeX](../algorithms.md#{paper.key})" if paper is not None else ""


def papers() -> str:
    """BibTeX entries of the papers that the algorithms come from."""
    used = {entry.paper.key: entry.paper for entry in ALGORITHMS.values() if entry.paper is not None}
    return "\n\n".join(f"({key})=\n\n```bibtex\n{one.bibtex()}\n```" for key, one in sorted(used.items()))


def of_its_kind(entry: Algorithm) -> str:
    """All algorithms of the same kind, measured in the same world."""
    row = measured()[entry.name]
    kind = [one for one in ALGORITHMS.values() if group_of(one) == group_of(entry)]
    words = (
        f"{GROUPS[group_of(entry)]}: {row['world']}. *Measured*: {MEASURES[row['measure']].label} after "
        f"{row['rounds']:,} rounds, mean of {row['lanes']} lanes with a 95% interval."
        + (" *Plays missing*: the most that an arm was ever behind." if "missing" in row else "")
    )
    rows = [row_of(one, one is entry) for one in kind]
    columns = range(len(KIND_HEAD) if any(row[-1] for row in rows) else len(KIND_HEAD) - 1)
    shown = table([KIND_HEAD[at] for at in columns], [[row[at] for at in columns] for row in rows])
    return f"## Beside others of its kind\n\n{words}\n\n{shown}"


@cache
def configured() -> dict[str, set[str]]:
    """The algorithms in the configurations of each experiment."""
    folder = Path(evenhand.papers.__file__).parent
    found: dict[str, set[str]] = {}
    for name, experiment in known_experiments().items():
        texts = [
            path.read_text(encoding="utf-8") for part in experiment.parts for path in folder.glob(f"*/{part}.toml")
        ]
        found[name] = {one for text in texts for one in re.findall(r'\balgorithm = "(\w+)"', text)}
    return found


def experiments_with(entry: Algorithm) -> str:
    """The experiments with an algorithm, each with the verdicts on its claims, and those that are about it by name."""
    named = re.compile(rf"(?<![\w-]){re.escape(title(entry))}(?![\w-])")
    lines = []
    for one in claims():
        if entry.name in configured()[one["id"]]:
            about = sum(bool(named.search(verdict["sentence"])) for verdict in one["verdicts"])
            by_name = f"; {about} name it" if about else ""
            lines.append(f"- {linked(one, '../../')}: {counted(one)}{by_name}")
    return f"## Experiments\n\nClaims: {legend()}.\n\n" + "\n".join(lines) if lines else ""


def legend() -> str:
    """What the marks of verdicts mean."""
    return ", ".join(f"{mark} {status}" for status, mark in MARKS.items())


def linked(experiment: dict[str, Any], root: str) -> str:
    """A link to an experiment in the report, from a page below ``root``."""
    name, title = experiment["id"], html.escape(known_experiments()[experiment["id"]].title)
    return f'<a href="{root}_static/report/{experiment["paper"]}.html#{name}" title="{title}">{name}</a>'


def counted(experiment: dict[str, Any]) -> str:
    """How many of its claims have which verdict, with the marks of `evenhand reproduce`."""
    counts = kept_counts(experiment["id"])
    return ", ".join(f"{counts[status]} {mark}" for status, mark in MARKS.items() if counts[status])


@cache
def claims() -> list[dict[str, Any]]:
    """The experiments of the kept full run, with their verdicts."""
    found: list[dict[str, Any]] = json.loads(CLAIMS.read_text(encoding="utf-8"))["experiments"]
    return found


def plain(value: object) -> str:
    """A sample value as TOML writes it."""
    return '{ kind = "power", beta = 2, exponent = 2 }' if isinstance(value, Power) else str(value)


def comparison() -> str:
    """Every algorithm in one row of facts, as a table that a script can filter."""
    rows = [
        facts(entry)
        for _, entry in sorted(ALGORITHMS.items(), key=lambda item: list(PROMISES).index(promise_of(item[1])))
    ]
    return f":::{{div}} filtered\n{table(HEAD, rows)}\n:::"


def facts(entry: Algorithm) -> list[str]:
    """What the registry and the parts say of an algorithm, and what a step costs."""
    changing = "changing" in feedback_of(entry)
    return [
        f"[`{entry.name}`](algorithms/{entry.name}.md)",
        promise_of(entry),
        late(entry),
        "yes" if plays_several(entry) else "",
        "yes" if changing else "",
        "yes" if entry.example().contextual else "",
        "exact" if decides_by_numbers(entry.example()) else "",
        "yes" if "horizon" in entry.parameters else "",
        f"{steps()['times UCB1'][entry.name]:.1f}",
    ]


def late(entry: Algorithm) -> str:
    """How an algorithm takes rewards that are late."""
    if group_of(entry) == "anonymous":
        return "sums"
    if entry.name in ANY_DELAY:
        return "named" if entry.example().named else "any delay"
    return "by evidence" if "evidence" in entry.parameters else "received only"


def row_of(entry: Algorithm, here: bool) -> list[str]:
    """What was measured of an algorithm beside others of its kind, and what differs between them."""
    row = measured()[entry.name]
    return [
        f"**`{entry.name}`**" if here else f"[`{entry.name}`]({entry.name}.md)",
        f"{row['mean']:,.1f} ± {1.96 * row['error']:,.1f}",
        f"{row['missing']:,.1f}" if "missing" in row else "",
    ]


@cache
def steps() -> dict[str, Any]:
    """What `step_costs` has measured."""
    found: dict[str, Any] = json.loads((KEPT / "steps.json").read_text(encoding="utf-8"))
    return found


@cache
def measured() -> dict[str, Any]:
    """The rows that `algorithm_figures` has measured."""
    rows: dict[str, Any] = json.loads((KEPT / "measured.json").read_text(encoding="utf-8"))
    return rows


def escaped(text: str) -> str:
    """Plain text for Markdown: what would be read as a mark is escaped, except in code."""
    pieces = re.split(r"(`+[^`]*`+)", formulas.typeset_bare(text))
    return "".join(piece if piece.startswith("`") else re.sub(r"([*<|])", r"\\\1", piece) for piece in pieces)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


MAKERS: dict[str, Callable[..., str]] = {
    "algorithm": front,
    "algorithm_details": details,
    "comparison": comparison,
    "papers": papers,
}
