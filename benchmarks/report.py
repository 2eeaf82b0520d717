"""Tables of the benchmarks: shown on the terminal, given as JSON, and written into the README between their markers.

A table stands in ``README.md`` between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``, and nothing else does. Only
``--write`` puts it there, with the date, the commit, the machine and its load, the versions, and a digest of the code
that was measured. ``python benchmarks/report.py`` marks the tables whose code has changed since: an aim beside such
figures is neither met nor missed.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from evenhand.core.source import Root, digest_of

#: What plays simulations, as ``module:name``; with the policies that play.
SIMULATION = (
    "evenhand.simulation.simulate:run_block",
    "evenhand.simulation.compiled.engine:Engine",
    "evenhand.simulation.compiled.kernel:loop",
)
#: What decides in process.
BANDIT = ("evenhand.bandit.bandit:Bandit",)
#: What answers over HTTP.
SERVICE = ("evenhand.service.http.app:create_app",)
STALE = "**Measured before this code.**"
README = Path(__file__).with_name("README.md")
LOAD = os.getloadavg()[0]  # of the machine before anything is measured
AsJson = Annotated[bool, typer.Option("--json", help="Figures as JSON on standard output, all else on standard error.")]
Write = Annotated[bool, typer.Option("--write", help="Write the tables into benchmarks/README.md.")]


@dataclass(frozen=True)
class Table:
    """A table of text; the first column holds words, the others numbers."""

    name: str  # of its markers
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> RichTable:
        """For a terminal, with a rule between groups of rows that share the first cell."""
        table = RichTable(title=self.title, box=box.SIMPLE_HEAD, title_justify="left")
        for place, column in enumerate(self.columns):
            table.add_column(column, justify="right" if place else "left", no_wrap=True)
        groups = len({row[0] for row in self.rows}) < len(self.rows)
        for row, following in zip(self.rows, [*self.rows[1:], ("",)], strict=True):
            table.add_row(*row, end_section=groups and row[0] != following[0])
        return table

    def markdown(self) -> str:
        """For a page."""
        lines = [self.columns, ["---", *["---:"] * (len(self.columns) - 1)], *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Aim:
    """What was aimed at, and whether it was reached."""

    text: str
    measured: float
    met: bool


def aims_table(name: str, aims: Iterable[Aim]) -> Table:
    """The aims, met or missed."""
    rows = [(aim.text, f"{aim.measured:,.2f}", "met" if aim.met else "missed") for aim in aims]
    return Table(name, "aims", ("aim", "measured", "result"), rows)


def surroundings(packages: Iterable[str]) -> dict[str, Any]:
    """When, where and with what it was measured."""
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "cores": os.cpu_count(),
        "machine": processor(),
        "load": LOAD,
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in packages},
    }


def commit() -> str:
    """The commit that was measured, and whether files differed from it."""
    git = ("git", "-C", str(README.parent))
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    changes = subprocess.run(
        [*git, "status", "--porcelain", "../src"], capture_output=True, text=True, check=True
    ).stdout
    return name.strip() + (" with changes" if changes else "")


def processor() -> str:
    """The processor's name, or its architecture where the system does not give one."""
    try:
        names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def caption(about: Mapping[str, Any], method: str) -> str:
    """The line below a table."""
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"Measured on {about['date']} at commit {about['commit']}: {about['cores']} cores, {about['machine']}, load "
        f"{about['load']:.1f} before the run; {versions}; {method}."
    )


def publish(
    tables: Sequence[Table],
    figures: Mapping[str, Any],
    *,
    packages: Iterable[str],
    method: str,
    code: Iterable[str],
    as_json: bool = False,
    write: bool = False,
) -> None:
    """Show the tables, and give the figures as JSON or write the tables into the README where that is asked for.

    Args:
        tables: to show, each with a name of its own.
        figures: the numbers behind them, for JSON.
        packages: whose versions matter.
        method: how it was measured, for instance ``"medians of 3 turns"``.
        code: the definitions that were measured, each ``module:name``; what these use belongs to them.
        as_json: whether the figures go to standard output, and the tables to standard error.
        write: whether to write the tables into the README.
    """
    console = Console(stderr=as_json)
    if not console.is_terminal:
        console = Console(stderr=as_json, width=140)
    about = surroundings(packages)
    for table in tables:
        console.print(table.rich())
    if as_json:
        print(json.dumps(about | {"method": method} | dict(figures), indent=2))
    if write:
        text = README.read_text(encoding="utf-8")
        for table in tables:
            text = between(text, table.name, f"{table.markdown()}\n\n{caption(about, method)}\n\n{seal(code)}")
        README.write_text(text, encoding="utf-8")


def between(text: str, name: str, content: str) -> str:
    """The page with the content between the markers of a name, in place of what is there."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(
            f"{README.name} must contain {begin} and {end} once each: add the two lines where the table goes"
        )
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def names_of(*definitions: Any) -> tuple[str, ...]:
    """Functions and classes as ``module:name``."""
    return tuple(f"{one.__module__}:{one.__qualname__}" for one in definitions)


def seal(names: Iterable[str]) -> str:
    """What was measured, with a digest of its code, as a comment in the page."""
    listed = sorted(set(names))
    roots = frozenset(Root(module, name) for module, _, name in (one.partition(":") for one in listed))
    return f"<!-- code: {' '.join(listed)} = {digest_of(roots)} -->"


def marked(text: str) -> str:
    """The page with `STALE` below each table whose code is another, or unknown; its aims are not measured, and a
    comment keeps what they were, for code that comes back."""
    for name, content in re.findall(r"<!-- begin: ([\w-]+) -->\n(.*?)\n?<!-- end: \1 -->", text, re.DOTALL):
        fresh = re.sub(r"\| not measured <!-- (met|missed) --> \|$", r"| \1 |", content, flags=re.MULTILINE)
        lines = fresh.replace(f"\n\n{STALE}", "").split("\n")
        names = re.findall(r"^<!-- code: (.*) = \w+ -->$", lines[-1])
        if "|" in content and (not names or seal(names[0].split()) != lines[-1]):
            lines = [re.sub(r"\| (met|missed) \|$", r"| not measured <!-- \1 --> |", line) for line in lines]
            place = len(lines) - 2 * len(names)
            lines[place:place] = ["", STALE]
        text = between(text, name, "\n".join(lines))
    return text


if __name__ == "__main__":
    README.write_text(marked(README.read_text(encoding="utf-8")), encoding="utf-8")
