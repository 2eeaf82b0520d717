"""What the command line shows: tables on standard output, and what goes into a results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from evenhand.metrics import MEASURES
from evenhand.registry import Algorithm

if TYPE_CHECKING:
    from evenhand.config import Setup
    from evenhand.results import Results

WIDE = 200  # columns where the output is no terminal


def as_plain(entry: Algorithm) -> dict[str, Any]:
    """An algorithm as plain JSON values."""
    help_of = entry.parameter_help()
    parameters = [
        {
            "name": name,
            "required": parameter.default is parameter.empty,
            "default": None if parameter.default is parameter.empty else parameter.default,
            "help": help_of.get(name, ""),
        }
        for name, parameter in entry.parameters.items()
    ]
    return {
        "name": entry.name,
        "summary": entry.summary,
        "equation": entry.equation,
        "promise": entry.promise,
        "parameters": parameters,
        "source": entry.source,
        "citation": entry.paper.citation,
        "bibtex": entry.paper.bibtex(),
    }


def print_all(entries: Sequence[Algorithm]) -> None:
    """The algorithms as a table."""
    table = table_of("algorithm", "what it is", "parameters", "source")
    for entry in entries:
        given = [_parameter(name, parameter.default, parameter.empty) for name, parameter in entry.parameters.items()]
        table.add_row(
            f"[bold]{entry.name}[/bold]",
            escape(entry.summary),
            escape(", ".join(given)),
            escape(entry.source),
        )
    console = console_for_tables()
    console.print(table)
    console.print("[dim]evenhand algorithms NAME shows equation, promise, parameters and citation[/dim]")


def print_one(entry: Algorithm) -> None:
    """One algorithm, in full."""
    console = console_for_tables()
    console.print(f"[bold]{entry.name}[/bold]  {escape(entry.summary)}\n", highlight=False)
    console.print(Padding(escape(entry.equation), (0, 4)), highlight=False)
    console.print(f"\n[bold]promise[/bold]  {escape(entry.promise)}\n", highlight=False)
    table = table_of("parameter", "default", "what it is")
    help_of = entry.parameter_help()
    for name, parameter in entry.parameters.items():
        default = "required" if parameter.default is parameter.empty else repr(parameter.default)
        table.add_row(name, default, escape(help_of.get(name, "").replace("``", "")))
    console.print(table)
    console.print(f"[bold]source[/bold]  {escape(entry.source)}\n\n{escape(entry.paper.citation)}\n", highlight=False)
    console.print(escape(entry.paper.bibtex()), highlight=False, soft_wrap=True)


def print_feasible(names: Sequence[str], told: Mapping[str, Mapping[str, Any]]) -> None:
    """Which promises can be kept, and what they cost."""
    table = table_of("policy", "promised", "best reward a round", "best when the promises are kept")
    console = console_for_tables()
    for label, facts in told.items():
        if not facts["feasible"]:
            continue
        fair = facts.get("best_fair_reward_a_round")
        table.add_row(
            escape(label),
            escape(_in_words(names, facts)),
            f"{facts['best_reward_a_round']:.4f}",
            "" if fair is None else f"{fair:.4f}",
        )
    if table.row_count:
        console.print(table)
    if all(facts["feasible"] for facts in told.values()):
        console.print("valid, and every promise can be kept")


def _in_words(names: Sequence[str], facts: Mapping[str, Any]) -> str:
    """What is promised, in a few words."""
    promised = facts["promised"]
    by_merit = "by merit" if facts["by_merit"] else ""
    if promised is None or not any(promised):
        return by_merit or "nothing"
    if len(set(promised)) == 1:
        parts = [f"{promised[0]:.4g} to every arm"]
    else:
        parts = [f"{name} {share:.4g}" for name, share in zip(names, promised, strict=True) if share > 0]
    words = ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
    return f"{by_merit}: {words}" if by_merit else words


def print_results(results: Results) -> None:
    """Every measure at the horizon, and the shares of the rounds, as mean ± standard error."""
    console, final, run = console_for_tables(), results.final(), results.information
    console.print(
        f"[bold]{run['horizon']:,} rounds, {run['lanes']:,} lanes, seed {run['seed']}[/bold]"
        "  mean ± standard error over lanes",
        highlight=False,
    )
    measured = {name for facts in final.values() for name in facts}
    names = [name for name in MEASURES if name in measured]
    cells = {
        name: ["" if name not in facts else plus_minus(**facts[name]) for facts in final.values()] for name in names
    }
    console.print(_fitting(console, "measure", cells, list(final)))
    shares: dict[str, list[str]] = {}
    for arm, name in enumerate(results.names):
        found = [facts["selection_fractions"] for facts in final.values()]
        shares[name] = [
            plus_minus(got["mean"][arm], got["stderr"][arm], 4) + _promise(results, label, arm)
            for label, got in zip(final, found, strict=True)
        ]
    console.print("share of the rounds, and the share promised")
    console.print(_fitting(console, "arm", shares, list(final)))


def _promise(results: Results, label: str, arm: int) -> str:
    shares = results.promised[label]
    return "" if shares is None else f" of {float(np.mean(np.atleast_2d(shares), axis=0)[arm]):.3g}"


def _fitting(console: Console, rows: str, cells: Mapping[str, Sequence[str]], labels: Sequence[str]) -> Table:
    """Rows by policies, or policies by rows, or one cell a line: the first of them that fits the console."""
    by_policy = table_of(rows, *labels, right=True)
    for name, row in cells.items():
        by_policy.add_row(escape(name), *row)
    by_row = table_of("policy", *cells, right=True)
    for place, label in enumerate(labels):
        by_row.add_row(escape(label), *(row[place] for row in cells.values()))
    unbounded = console.options.update(max_width=100_000)
    for table in (by_policy, by_row):
        if console.measure(table, options=unbounded).maximum <= console.width:
            return table
    lines = table_of("policy", rows, "mean ± standard error", right=True)
    for place, label in enumerate(labels):
        for name, row in cells.items():
            lines.add_row(escape(label), escape(name), row[place])
    return lines


def draw(results: Results, setup: Setup, folder: Path) -> list[str]:
    """Draw every figure into the folder; returns the names of the files."""
    from evenhand import figures
    from evenhand.bounds import bound_for
    from evenhand.metrics import yardstick

    bounds: dict[str, dict[str, Any]] = {}
    if setup.figures.bounds:
        for label, policy in setup.policies.items():
            found = bound_for(policy, yardstick(policy, setup.environment, label), results.rounds)
            if found is not None:
                bounds.setdefault(found[0], {})[label] = found[1]
    names = figures.draw_all(results, folder, bounds, setup.figures.log, setup.figures.title)
    return [f"{name}.png" for name in names] + ["and each as .svg"]


def _parameter(name: str, default: Any, empty: Any) -> str:
    return name if default is empty else f"{name}={default!r}"


def plus_minus(mean: float, stderr: float, digits: int | None = None) -> str:
    """Mean ± standard error, with as many digits as the error has sense for."""
    if digits is None:
        told = np.isfinite(stderr) and stderr > 1e-9 * abs(mean)  # below, it is rounding
        size = stderr if told else abs(mean) / 1000
        digits = 4 if size == 0 else int(np.clip(1 - np.floor(np.log10(size)), 0, 6))
    spread = f" ± {stderr:.{digits}f}" if np.isfinite(stderr) else ""
    return f"{mean:,.{digits}f}{spread}"


def table_of(*columns: str, right: bool = False) -> Table:
    """An empty table; with ``right`` all columns but the first hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(escape(column), justify="right" if right and place else "left", no_wrap=right)
    return table


def console_for_tables() -> Console:
    """A console as wide as the terminal, or wide enough for most tables where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDE)
