"""The generated parts of the pages of the algorithms: all of it is read off the registry and the kept measurements.

What no program knows, when to use an algorithm and when not, is written on its page in docs/reference/algorithms.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import formulas
from evenhand import Observation
from evenhand.algorithms.registry import ALGORITHMS, SAMPLE, Algorithm
from evenhand.policy.merit import Power
from evenhand.simulation.measures import MEASURES

KEPT = Path(__file__).parents[1] / "_static" / "figures" / "algorithms"
#: What the algorithms of a module promise, in the order of the page.
GROUPS = {
    "baselines": "No promise",
    "minimum": "Minimum shares",
    "merit": "Shares by merit",
    "mature": "Shares by merit, by the age of plays",
    "promises": "Groups, caps, rewards and floors of chances",
    "anonymous": "Anonymous sums",
    "drift": "Means that change",
}
HEAD = ["algorithm", "measured", "plays missing", "needs T", "several plays", "late rewards", "propensities"]


def group_of(entry: Algorithm) -> str:
    """The module that an algorithm is defined in."""
    return entry.build.__module__.rpartition(".")[2]


def title(entry: Algorithm) -> str:
    """The short name of an algorithm, as its summary begins."""
    name = re.split(r"[:,.]", entry.summary)[0]
    return name if len(name) < 30 else entry.name


def front(name: str) -> str:
    """What stands on a page before the advice: title, rule, figure, promise and bound."""
    entry = ALGORITHMS[name]
    sections = (inspect.getdoc(entry.build) or "").split("\n\n")
    place = next(i for i, section in enumerate(sections) if section.startswith("Args:"))
    remarks = [" ".join(section.split()) for section in sections[2:place] if not section.startswith("Promise:")]
    rule = formulas.typeset(" ".join(sections[1].split()), every=True)
    return "\n\n".join(
        [
            f"# {title(entry)}",
            escaped(sentence(entry)),
            f":::{{div}} rule\n{rule}\n:::",
            figure(entry),
            f"## Promise\n\n{escaped(entry.promise[:1].upper() + entry.promise[1:])}",
            bound(entry),
            *(escaped(remark) for remark in remarks),
        ]
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
    words = (
        f"{title(entry)} in a world of {row['world']}, {row['rounds']:,} rounds, mean of {row['lanes']} lanes. "
        "Left: the share of the rounds so far of each arm; dotted is what it is promised. "
        f"Right: the {measure.label} beside that of the others of this kind, in grey."
    )
    alt = f"Shares of the arms at the end: {shares}; {measure.label}: {row['mean']:,.1f}"
    return f"```{{figure}} ../../_static/figures/algorithms/{entry.name}.svg\n:alt: {alt}\n\n{words}\n```"


def bound(entry: Algorithm) -> str:
    """The bound that is drawn for it, with the premises of its theorem."""
    if entry.bound is None:
        return "No bound is drawn for it; what theorems say is in the promise above."
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
    link = f"{{py:func}}`evenhand.algorithms.{entry.name} <{entry.build.__module__}.{entry.name}>`"
    pieces = [
        f"## Parameters\n\n{table(['parameter', 'default', 'what it is'], rows)}" if rows else "## Parameters\n\nNone.",
        f"In Python it is {link}, in a configuration{given}\n\n```{{code-block}} toml\n[[policies]]\n{toml}\n```",
        f"## Beside others of its kind\n\n{compared([entry], '')}\n\n"
        f"[All algorithms](../algorithms.md) has the rows of the others, and what the columns mean.",
        f"## Source\n\n{escaped(entry.source)}",
    ]
    if entry.paper is not None:
        pieces.append(f"```bibtex\n{entry.paper.bibtex()}\n```")
    return "\n\n".join(pieces)


def plain(value: object) -> str:
    """A sample value as TOML writes it."""
    return '{ kind = "power", beta = 2, exponent = 2 }' if isinstance(value, Power) else str(value)


def comparison() -> str:
    """Every algorithm in one row, by what it promises."""
    pieces = []
    for module, heading in GROUPS.items():
        entries = [entry for entry in ALGORITHMS.values() if group_of(entry) == module]
        row = measured()[entries[0].name]
        words = f"Measured: {MEASURES[row['measure']].label} after {row['rounds']:,} rounds; {row['world']}."
        pieces.append(f"## {heading}\n\n{words}\n\n{compared(entries, 'algorithms/')}")
    return "\n\n".join(pieces)


def compared(entries: Iterable[Algorithm], folder: str) -> str:
    """The rows of some algorithms."""
    return table(HEAD, [row_of(entry, folder) for entry in entries])


def row_of(entry: Algorithm, folder: str) -> list[str]:
    """What can be compared: measured, or read off what the policy takes and gives."""
    row, policy, takes = measured()[entry.name], entry.example(), entry.parameters
    decision = policy.choose(policy.start(2, 1), Observation(), generator())
    late = "by evidence" if "evidence" in takes else "named rewards" if policy.named else "received only"
    late = "both ends" if entry.name.startswith("op") else late
    if group_of(entry) == "anonymous":
        late = "sums"
    return [
        f"[`{entry.name}`]({folder}{entry.name}.md)",
        f"{row['mean']:,.1f} ± {1.96 * row['error']:,.1f}",
        f"{row['missing']:,.1f}" if "missing" in row else "",
        "yes" if "horizon" in takes else "",
        "yes" if "plays" in takes else "",
        late,
        "exact" if decision.propensities is not None else "",
    ]


def generator() -> Any:
    """A random stream; what is read off a decision does not depend on it."""
    import numpy as np

    return np.random.default_rng(0)


def measured() -> dict[str, Any]:
    """The rows that `algorithm_figures` has measured."""
    rows: dict[str, Any] = json.loads((KEPT / "measured.json").read_text(encoding="utf-8"))
    return rows


def papers() -> str:
    """The papers that the algorithms come from, with BibTeX entries."""
    used = {entry.paper.key: entry.paper for entry in ALGORITHMS.values() if entry.paper is not None}
    entries = [
        f"### {p.key}\n\n{escaped(p.citation)}.\n\n```bibtex\n{p.bibtex()}\n```" for _, p in sorted(used.items())
    ]
    return "\n\n".join(entries)


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
