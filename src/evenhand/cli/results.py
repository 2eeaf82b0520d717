"""What ``evenhand simulate`` prints: a verdict on every policy, the share of every arm, and details on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.rendering import console_for_tables, plus_minus, table_of
from evenhand.core.errors import number_of
from evenhand.judgement.sentences import listed, sentence
from evenhand.messages.words import in_segment
from evenhand.simulation.results import Results
from evenhand.simulation.verdicts import FAIR, Verdict, differences, verdicts

NARROW = 80  # columns of the compact table where the output is no terminal
NAME = 26  # columns for the name of an arm
FEW = 12  # arms that are all shown
FIRST = 4  # arms shown of each kind where there are more
MISSED, UNDECIDED = "✗", "?"


def show_results(results: Results, wide: bool = False, against: str | None = None) -> None:
    """Print which policy kept which promise and what that cost, and how often every arm played."""
    found = verdicts(results)
    compared = [] if against is None else differences(results, against)
    console = console_for_tables()
    if not console.is_terminal and not wide:
        console.width = NARROW
    size = results.information
    extent = f"{number_of(size['horizon'], 'round')}, {number_of(size['lanes'], 'lane')}"
    title = f"[bold]{extent}, seed {size['seed']}[/bold]"
    console.print(title + ("  mean ± standard error over lanes" if wide else ""), highlight=False)
    console.print()
    for verdict in found.values():
        doubt = "yellow" if verdict.undecided else "green" if verdict.cases else "default"
        colour = "red" if verdict.missed else doubt
        text = escape(verdict.text).replace(escape(verdict.label), f"[{colour}]{escape(verdict.label)}[/{colour}]", 1)
        console.print(text, highlight=False)
    if wide:
        _show_measures(console, results, list(results.measures))
        _show_shares_with_errors(console, results)
        _show_segments(console, results, found)
        _show_doubts(console, found)
    else:
        _show_shares(console, results, found)
        if results.own:
            _show_measures(console, results, [name for name in results.measures if name in results.own])
    _show_omitted(console, results)
    for label, rows in groupby(compared, key=lambda one: one.label):
        console.print(f"[bold]{escape(label)}[/bold] less {escape(str(against))}, lane by lane", highlight=False)
        ends = [(one, "" if np.isnan(one.low) else f"{one.low:,.4g} to {one.high:,.4g}") for one in rows]
        cells = [(one.measure, f"{one.mean:+,.4g}", interval) for one, interval in ends]
        console.print(table_of("measure", "mean difference", "95% interval", right=True, rows=cells))


def _show_measures(console: Console, results: Results, names: Sequence[str]) -> None:
    """Measures of every policy, with standard errors."""
    final = results.final()
    cells = {
        name: ["" if name not in measures else plus_minus(**measures[name]) for measures in final.values()]
        for name in names
    }
    console.print(_fitting(console, "measure", cells, list(final)))


def _show_omitted(console: Console, results: Results) -> None:
    """Which measures could not be computed, and why."""
    for label, reasons in results.omitted.items():
        for reason in dict.fromkeys(reasons.values()):
            omitted = ", ".join(name for name, why in reasons.items() if why == reason)
            console.print(f"{escape(label)}: no {omitted}: {escape(reason)}", highlight=False, soft_wrap=True)


def _show_shares_with_errors(console: Console, results: Results) -> None:
    """The share of every arm beside the promised one."""
    shares: dict[str, list[str]] = {name: [] for name in results.names}
    for label, measures in results.final().items():
        fractions = measures["selection_fractions"]
        promised = results.promised[label]
        for arm, name in enumerate(results.names):
            share = plus_minus(fractions["mean"][arm], fractions["stderr"][arm], 4)
            of = "" if promised is None else f" of {promised.reshape(-1, promised.shape[-1])[:, arm].mean():.3g}"
            shares[name].append(share + of)
    console.print("share of the rounds, and the promised share")
    console.print(_fitting(console, "arm", shares, list(results.policies)))


def _show_doubts(console: Console, found: Mapping[str, Verdict]) -> None:
    """What is said of each promise that is not kept, with its interval."""
    for label, verdict in found.items():
        for case in verdict.cases:
            if case.judgement.verdict != "kept":
                console.print(f"{escape(label)}: {escape(sentence(case))}", highlight=False)


def _show_shares(console: Console, results: Results, found: Mapping[str, Verdict]) -> None:
    """The share of every arm, or of the most interesting ones, under each policy; as many tables as the width needs."""
    shares = np.array([measures["selection_fractions"]["mean"] for measures in results.final().values()])
    same = {verdict.promised for verdict in found.values() if verdict.promised is not None}
    promised = same.pop() if len(same) == 1 else None
    shown, rest = _interesting(shares, list(found.values()))
    names = max(cell_len(name) for name in ("share of the rounds", *(results.names[arm] for arm in shown)))
    room = console.width - 2 - min(names, NAME) - (0 if promised is None else 11)
    for labels in _groups(room, list(found)):
        table = table_of("share of the rounds", *(["promised"] if promised is not None else []), *labels, right=True)
        table.columns[0].max_width, table.columns[0].overflow = NAME, "ellipsis"
        for column in table.columns[1:]:
            column.no_wrap, column.overflow = False, "fold"
        places = [list(found).index(label) for label in labels]
        for arm in shown:
            of = [] if promised is None else [f"{promised[arm]:.4f}" if promised[arm] > 0 else ""]
            cells = [_cell(results.names[arm], shares[at, arm], found[list(found)[at]]) for at in places]
            table.add_row(escape(results.names[arm]), *of, *cells)
        if rest.size:
            of = [] if promised is None else [_range(np.array(promised)[rest])]
            table.add_row(f"{rest.size:,} more", *of, *(_range(shares[at, rest]) for at in places), style="dim")
        console.print(table)
    _show_segments(console, results, found)
    for text in _notes(shares, found, results.information.get("changes", ())):
        console.print(f"[dim]{text}[/dim]", highlight=False)


def _show_segments(console: Console, results: Results, found: Mapping[str, Verdict]) -> None:
    """The share of the rounds of a segment, for each that is promised, under each policy."""
    table = results.segments()
    promised = table[(table["share"] > 0.0) & (table["since"] > 0.0)]
    if promised.empty:
        return
    keys = ["segment", "arm", "share"]
    parts = promised.assign(got=promised["made"] / promised["since"])
    got = parts.groupby([*keys, "policy"], observed=True)["got"].mean()
    cells = {
        f"{arm} in {segment}, promised {share:.4g}": [
            _cell(in_segment(arm, segment), float(got[segment, arm, share, label]), verdict)
            for label, verdict in found.items()
        ]
        for segment, arm, share in dict.fromkeys(one[:3] for one in got.index)
    }
    console.print(_fitting(console, "share of a segment", cells, list(found)))


def _notes(shares: np.ndarray, found: Mapping[str, Verdict], changes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the words and numbers above mean, as far as they occur."""
    if any(verdict.missed for verdict in found.values()):
        yield f"{MISSED} missed: more than 1% of what is due is missing, by the whole interval."
    if any(verdict.undecided for verdict in found.values()):
        yield f"{UNDECIDED} undecided, or behind by what a rule allows; --wide prints the intervals."
    if any(FAIR in verdict.text for verdict in found.values()):
        yield f"{FAIR}: the largest expected reward with all promises kept."
    overall = [change for change in changes if change.get("segment") is None]
    if overall:
        rounds = listed([f"{change['from']:,}" for change in overall])
        yield f"Promises change from round {rounds} on; a promised share is the mean over the rounds."
    most = float(shares.sum(axis=1).max())
    if most > 1.0 + 1e-9:
        yield f"Up to {np.ceil(most - 1e-9):.0f} arms play per round, so the shares add up to more than 1."
    yield "Numbers are means over the lanes, which are independent repetitions."
    yield "--wide: all measures with standard errors; --against LABEL: differences."


def _interesting(shares: np.ndarray, found: Sequence[Verdict]) -> tuple[list[int], np.ndarray]:
    """Arms to show, and the others: those furthest behind their promises, and those that play most."""
    arms = shares.shape[-1]
    if arms <= FEW:
        return list(range(arms)), np.array([], dtype=int)
    missing = np.max([one.missing or (0.0,) * arms for one in found], axis=0)
    behind = [int(arm) for arm in np.argsort(-missing, kind="stable")[:FIRST] if missing[arm] > 0]
    often = np.argsort(-shares.mean(axis=0), kind="stable")
    most = [int(arm) for arm in often if arm not in behind][:FIRST]
    least = [int(arm) for arm in often[::-1] if arm not in (*behind, *most)][:1]
    shown = sorted([*behind, *most, *least], key=lambda arm: -float(shares[:, arm].mean()))
    return shown, np.setdiff1d(np.arange(arms), shown)


def _groups(room: int, labels: Sequence[str]) -> Iterator[list[str]]:
    """The policies in groups whose columns fit into so many columns of the terminal."""
    group: list[str] = []
    used = 0
    for label in labels:
        need = min(max(map(cell_len, (*label.split(), "0.0000 ✗"))), 16) + 3
        if group and used + need > room:
            yield group
            group, used = [], 0
        group, used = [*group, label], used + need
    yield group


def _cell(name: str, share: float, verdict: Verdict) -> str:
    if name in verdict.missed:
        return f"[red]{share:.4f} {MISSED}[/red]"
    return f"[yellow]{share:.4f} {UNDECIDED}[/yellow]" if name in verdict.undecided else f"{share:.4f}  "


def _range(shares: np.ndarray | Sequence[float]) -> str:
    low, high = np.min(shares), np.max(shares)
    return f"{low:.3f}–{high:.3f}"


def _fitting(console: Console, rows: str, cells: Mapping[str, Sequence[str]], labels: Sequence[str]) -> Table:
    """Rows by policies, or policies by rows, or one cell per line: the first of them that fits the console."""
    by_policy = table_of(rows, *labels, right=True, rows=((name, *row) for name, row in cells.items()))
    turned = ((label, *(row[place] for row in cells.values())) for place, label in enumerate(labels))
    by_row = table_of("policy", *cells, right=True, rows=turned)
    unbounded = console.options.update(max_width=100_000)
    for table in (by_policy, by_row):
        if console.measure(table, options=unbounded).maximum <= console.width:
            return table
    lines = table_of("policy", rows, "mean ± standard error", right=True)
    for place, label in enumerate(labels):
        for name, row in cells.items():
            lines.add_row(escape(label), escape(name), row[place])
    return lines
