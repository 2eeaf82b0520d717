"""How commands print: cells, tables and consoles, and the tables of algorithms and promises."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from evenhand.algorithms.registry import Algorithm

WIDE = 200  # columns where the output is no terminal


def plus_minus(mean: float, stderr: float | None, digits: int | None = None) -> str:
    """Mean ± standard error, with two significant digits of the error."""
    if not math.isfinite(mean):
        return str(mean)
    known = stderr is not None and math.isfinite(stderr)
    error = stderr if stderr is not None and known else 0.0
    if digits is None:
        size = error if error > 1e-9 * abs(mean) else abs(mean) / 1000  # smaller errors are rounding
        digits = 4 if size == 0 else min(max(1 - math.floor(math.log10(size)), 0), 6)
    return f"{mean:,.{digits}f}" + (f" ± {error:.{digits}f}" if known else "")


def table_of(*columns: str, right: bool = False, rows: Iterable[Iterable[str]] = ()) -> Table:
    """A table of texts; with ``right`` all columns but the first hold numbers, aligned to the right and never cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        numbers = bool(right and place)
        table.add_column(escape(column), justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def show(table: Table) -> None:
    """Print a table."""
    console_for_tables().print(table)


def console_for_tables() -> Console:
    """A console as wide as the terminal, or wide enough for most tables where the output is no terminal."""
    console = _Console(emoji=False)  # a name such as ":tea:" stays as it is
    return console if console.is_terminal else _Console(width=WIDE, emoji=False)


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Every text in a table or line, as names of arms may come from strangers."""
        from evenhand.messages.audit_text import harmless

        return super().render_str(harmless(text), **options)

    def on_broken_pipe(self) -> None:
        """Leave the error to the command, which has an exit status for it."""
        raise


def number(value: float | None) -> str:
    """A number with four digits where it is small, as 0.1234 and 1,234; nothing for None."""
    from evenhand.core.numbers import amount

    return "" if value is None else amount(value, 4)


def interval(low: float | None, high: float | None) -> str:
    """The ends of an interval; nothing where there is none."""
    from evenhand.core.numbers import amount

    return "" if low is None or high is None or math.isnan(high - low) else f"{amount(low)} to {amount(high)}"


def date(time: datetime | float) -> str:
    """A time, or a number of seconds since the epoch, as text."""
    from evenhand.messages.answers import moment

    return (time if isinstance(time, datetime) else moment(time)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# --- algorithms -------------------------------------------------------------------------------------------------------


def show_algorithms(entries: Sequence[Algorithm], feedback: str | None = None) -> None:
    """Print one row per algorithm; for some feedback with the parameters that it needs."""
    from evenhand.algorithms.properties import PROMISES, feedback_of, needing, promise_of

    console = console_for_tables()
    for promise, heading in PROMISES.items():
        rows = [entry for entry in entries if promise_of(entry) == promise]
        if rows:
            table = table_of("algorithm", *(["with"] if feedback else []), "description")
            for entry in rows:
                needed = [needing(feedback_of(entry).get(feedback, {}))] if feedback else []
                table.add_row(f"[bold]{entry.name}[/bold]", *needed, escape(entry.summary))
            console.print(f"\n[bold]{heading}[/bold]")
            console.print(table)
    console.print("[dim]evenhand algorithms NAME shows equation, promise, parameters and citation[/dim]")


def show_algorithm(entry: Algorithm) -> None:
    """Print one algorithm in full."""
    console = console_for_tables()
    console.print(f"[bold]{entry.name}[/bold]  {escape(entry.summary)}\n", highlight=False)
    if entry.equation:
        console.print(Padding(escape(entry.equation), (0, 4)), highlight=False)
    properties = {"promise": entry.promise} if entry.promise else {}
    if entry.bound is not None:
        properties["bound"] = entry.bound.text
    for title, text in properties.items():
        console.print(f"\n[bold]{title}[/bold]  {escape(text)}", highlight=False)
    table, help_of = table_of("parameter", "default", "description"), entry.parameter_help()
    for name, parameter in entry.parameters.items():
        default = "required" if parameter.default is Parameter.empty else repr(parameter.default)
        table.add_row(name, default, escape(help_of.get(name, "").replace("``", "")))
    console.print()
    console.print(table)
    if entry.source:
        console.print(f"[bold]source[/bold]  {escape(entry.source)}", highlight=False)
    if entry.paper is not None:
        console.print(f"\n{escape(entry.paper.citation)}\n", highlight=False)
        console.print(escape(entry.paper.bibtex()), highlight=False, soft_wrap=True)


# --- simulations ------------------------------------------------------------------------------------------------------


def show_feasibility(names: Sequence[str], policies: Mapping[str, Mapping[str, Any]]) -> None:
    """Print which promises can be kept, and what they cost."""
    table = table_of("policy", "promised", "best reward per round", "best reward with promises kept")
    for label, facts in policies.items():
        if facts["feasible"]:
            fair = facts.get("best_fair_reward_per_round")
            best = ["" if value is None else f"{value:.4f}" for value in (facts["best_reward_per_round"], fair)]
            table.add_row(escape(label), escape(_promise_in_words(names, facts)), *best)
    console = console_for_tables()
    if table.row_count:
        console.print(table)
    for label, facts in policies.items():
        if facts.get("arrears"):
            console.print(f"{escape(label)}: {escape(facts['arrears'])}", highlight=False)
    if table.row_count == len(policies):
        console.print("the configuration is valid, and every promise can be kept")


def _promise_in_words(names: Sequence[str], facts: Mapping[str, Any]) -> str:
    promised, caps = facts["promised"] or [0.0] * len(names), facts.get("caps") or [1.0] * len(names)
    by_merit = "by merit" if facts["by_merit"] else ""
    bounds = [(name, floor, cap if cap < 1.0 else None) for name, floor, cap in zip(names, promised, caps, strict=True)]
    groups = [(one["name"], one["at_least"], one["at_most"]) for one in facts.get("groups", ())]
    if len(set(promised)) == 1 and any(promised) and "caps" not in facts:
        parts = [f"{promised[0]:.4g} to every arm"]
    else:
        parts = [_bound_in_words(*bound) for bound in bounds if bound[1] or bound[2] is not None]
    parts += ["group " + _bound_in_words(*group) for group in groups]
    within = facts.get("segments", {})
    parts += [f"{name} {share:.4g} in {segment}" for segment, row in within.items() for name, share in row.items()]
    if not parts:
        return by_merit or "nothing"
    words = ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
    return f"{by_merit}: {words}" if by_merit else words


def _bound_in_words(name: str, floor: float, cap: float | None) -> str:
    """A floor, a cap, or a fixed share."""
    if cap is None:
        return f"{name} {floor:.4g}"
    if floor == cap:
        return f"{name} exactly {cap:.4g}"
    return f"{name} {floor:.4g} to {cap:.4g}" if floor else f"{name} at most {cap:.4g}"
