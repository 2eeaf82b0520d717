"""The tables that commands print; a table that does not fit the terminal changes its layout or leaves columns out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenhand.core.errors import number_of

if TYPE_CHECKING:
    from evenhand.algorithms.registry import Algorithm
    from evenhand.bandit.evaluation.estimators import Estimate, Evaluation
    from evenhand.messages.answers import Allocation, AllocationSummary, Decision, RewardResult
    from evenhand.messages.audit import Audit
    from evenhand.messages.lines import BoundLine, Line
    from evenhand.service.store.api_keys import Key

WIDE = 200  # columns where the output is no terminal
MOST = 50  # items in the table of an evaluation


# --- algorithms -------------------------------------------------------------------------------------------------------


def show_algorithms(entries: Sequence[Algorithm]) -> None:
    """Print one row per algorithm.

    Args:
        entries: of the registry.
    """
    from evenhand.algorithms.properties import PROMISES, promise_of

    console = console_for_tables()
    for promise, heading in PROMISES.items():
        rows = [entry for entry in entries if promise_of(entry) == promise]
        if rows:
            table = table_of("algorithm", "description")
            for entry in rows:
                table.add_row(f"[bold]{entry.name}[/bold]", escape(entry.summary))
            console.print(f"\n[bold]{heading}[/bold]")
            console.print(table)
    console.print("[dim]evenhand algorithms NAME shows equation, promise, parameters and citation[/dim]")


def show_algorithm(entry: Algorithm) -> None:
    """Print one algorithm in full.

    Args:
        entry: of the registry.
    """
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
    """Print which promises can be kept, and what they cost.

    Args:
        names: of the arms.
        policies: facts by label, as ``evenhand check --json`` prints them.

    Example:
        >>> facts = {"feasible": True, "promised": [0.5, 0.0], "by_merit": False, "best_reward_per_round": 0.75}
        >>> show_feasibility(["tea", "mate"], {"FUCB": facts})
         policy   promised   best reward per round   best reward with promises kept
         ──────────────────────────────────────────────────────────────────────────
         FUCB     tea 0.5    0.7500
        the configuration is valid, and every promise can be kept
    """
    table = table_of("policy", "promised", "best reward per round", "best reward with promises kept")
    for label, facts in policies.items():
        if facts["feasible"]:
            fair = facts.get("best_fair_reward_per_round")
            best = ["" if value is None else f"{value:.4f}" for value in (facts["best_reward_per_round"], fair)]
            table.add_row(escape(label), escape(_promise_in_words(names, facts)), *best)
    console = console_for_tables()
    if table.row_count:
        console.print(table)
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
    if not parts:
        return by_merit or "nothing"
    words = ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
    return f"{by_merit}: {words}" if by_merit else words


def _bound_in_words(name: str, floor: float, cap: float | None) -> str:
    """A floor, a cap, or a fixed share.

    Example:
        >>> _bound_in_words("tea", 0.1, None), _bound_in_words("tea", 0.1, 0.1), _bound_in_words("tea", 0.0, 0.5)
        ('tea 0.1', 'tea exactly 0.1', 'tea at most 0.5')
    """
    if cap is None:
        return f"{name} {floor:.4g}"
    if floor == cap:
        return f"{name} exactly {cap:.4g}"
    return f"{name} {floor:.4g} to {cap:.4g}" if floor else f"{name} at most {cap:.4g}"


# --- evaluations of logs ----------------------------------------------------------------------------------------------


def show_evaluation(title: str, one: Evaluation, with_shares: bool) -> None:
    """Print the estimates from a log, and how far they can be trusted.

    Args:
        title: of the tables.
        one: the estimates.
        with_shares: print how often each item would play, too.
    """
    from evenhand.bandit.evaluation.estimators import ESTIMATORS

    console = console_for_tables()
    size = number_of(one.rounds, "round") + (f", {one.rows:,} plays" if one.rows > one.rounds else "")
    console.print(f"[bold]{escape(title)}[/bold]  {size}, {number_of(len(one.items), 'item')}", highlight=False)
    table = table_of("reward per round", "estimate", "95% interval", "method", right=True)
    table.columns[3].justify = "left"
    table.add_row("the log's policy", *_estimate(one.logged), "mean of the log")
    for name, estimate in one.estimates.items():
        table.add_row(f"{escape(one.target)}, {name.upper()}", *_estimate(estimate), ESTIMATORS[name])
    console.print(table)
    if with_shares:
        console.print(_shares(one))
    console.print(
        f"effective sample size {one.effective:,.0f}, largest weight {one.largest:.3g}, "
        f"mean weight {one.mean_weight:.3g}",
        highlight=False,
    )
    for note in one.notes:
        console.print(f"[dim]{escape(note)}[/dim]", highlight=False)
    for warning in one.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}", highlight=False)


def _shares(one: Evaluation) -> Table:
    """How often each item plays; of very many items those that the target plays most."""
    table = table_of("item", one.target, "the log's policy", right=True)
    order = list(range(len(one.items)))
    if len(order) > MOST:
        order = sorted(order, key=lambda place: -one.shares[place])[:MOST]
    for place in order:
        table.add_row(escape(one.items[place]), f"{one.shares[place]:.4f}", f"{one.logged_shares[place]:.4f}")
    if len(order) < len(one.items):
        table.add_row(f"and {len(one.items) - len(order):,} more", "", "")
    return table


def _estimate(estimate: Estimate) -> tuple[str, str]:
    if not math.isfinite(estimate.value):
        return "unknown", ""
    interval = "" if math.isnan(estimate.stderr) else _interval(estimate.low, estimate.high)
    return plus_minus(estimate.value, estimate.stderr), interval


# --- answers of the service -------------------------------------------------------------------------------------------

COLOURS = {"accepted": "green", "duplicate": "green", "late": "yellow"}  # of statuses; the others are red
HEALTH = {"good": "green", "attention": "yellow", "bad": "red", "closed": "dim"}

# Columns that an audit leaves out on a narrow terminal, the first ones first; the space before one of the two intervals
# makes the names differ.
DISPENSABLE = ("late", "lost", " 95% interval", "95% interval", "pending", "max deficit", "reward")


def show_decisions(decisions: Sequence[Decision]) -> None:
    """Print one row per decision; where they are known, the propensities of all available arms, too.

    Args:
        decisions: of the service.

    Example:
        >>> from evenhand.answers import ArmPropensity, Decision
        >>> from evenhand.messages.answers import moment
        >>> arms = ArmPropensity("tea", 0.5, 0.0), ArmPropensity("mate", 0.25, 0.0)
        >>> show_decisions([Decision("7", 7, moment(0.0), arms, version=0, propensities=None)])
        <BLANKLINE>
         decision   round   arms        propensity
         ─────────────────────────────────────────
         7          7       tea, mate   0.5, 0.25
        <BLANKLINE>
    """
    table = table_of("decision", "round", "arms", "propensity")
    for one in decisions:
        propensity = ", ".join(f"{arm.propensity:.3g}" for arm in one.arms if arm.propensity is not None)
        table.add_row(escape(one.id), f"{one.round}", escape(", ".join(one.names)), propensity)
    console = console_for_tables()
    console.print(table)
    if any(one.propensities for one in decisions):
        arms = table_of("decision", "available arm", "propensity")
        for one in decisions:
            for place, (arm, value, stderr) in enumerate(map(astuple, one.propensities or ())):
                text = plus_minus(value, stderr) if stderr else f"{value:.4g}"
                arms.add_row("" if place else escape(one.id), escape(arm), text)
        console.print(arms)


def show_rewards(results: Sequence[RewardResult]) -> None:
    """Print one row per reward: whether it was accepted, and why not.

    Args:
        results: of the service.

    Example:
        >>> from evenhand.answers import RewardResult
        >>> tea = RewardResult(decision="7", arm="tea", status="accepted", message="")
        >>> mate = RewardResult(decision="7", arm="mate", status="conflict", message="received a reward of 0 before")
        >>> show_rewards([tea, mate])
         decision   arm    status     reason
         ──────────────────────────────────────────────────────────
         7          tea    accepted
         7          mate   conflict   received a reward of 0 before
    """
    table = table_of("decision", "arm", "status", "reason")
    for one in results:
        colour = COLOURS.get(one.status, "red")
        status = f"[{colour}]{escape(one.status)}[/{colour}]"
        table.add_row(escape(one.decision), escape(one.arm), status, escape(one.message))
    console_for_tables().print(table)


def show_allocations(allocations: Sequence[AllocationSummary]) -> None:
    """Print one row per allocation; with its health where that is known.

    Args:
        allocations: of the service.

    Example:
        >>> from evenhand.answers import AllocationSummary
        >>> from evenhand.messages.answers import moment
        >>> counts = {"arms": 2, "round": 1200, "created": moment(1_790_000_000.0)}
        >>> show_allocations([AllocationSummary(name="drinks", algorithm="fucb", closed=False, **counts)])
         allocation   algorithm   arms   rounds   state   created
         ────────────────────────────────────────────────────────────────────────
         drinks       fucb        2      1,200    open    2026-09-21 14:13:20 UTC
    """
    table = table_of("allocation", "algorithm", "arms", "rounds", "state", "created")
    table.columns[4].no_wrap = any(one.health is None for one in allocations)
    for one in allocations:
        state = "[yellow]closed[/yellow]" if one.closed else "open"
        if one.health is not None:
            colour = HEALTH[one.health.status]
            state = f"[{colour}]{one.health.status}[/{colour}]: {escape(one.health.text)}"
        cells = (escape(one.algorithm), f"{one.arms:,}", f"{one.round:,}", state, _date(one.created))
        table.add_row(f"[bold]{escape(one.name)}[/bold]", *cells)
    console = console_for_tables()
    console.print(table if allocations else "no allocations; [bold]evenhand client create[/bold] creates one")


def show_description(one: Allocation) -> None:
    """Print the settings and the state of an allocation.

    Args:
        one: the allocation.
    """
    facts = {
        "algorithm": one.algorithm if isinstance(one.algorithm, str) else json.dumps(one.algorithm),
        **{f"  {name}": _parameter(one.arms, value) for name, value in one.parameters.items()},
        "arms": ", ".join(one.arms),
        "retired": ", ".join(one.retired),
        "plays per round": str(one.plays),
        "seed": str(one.seed),
        "window": "none" if one.window is None else f"{one.window:g} s",
        "missing rewards": "unknown" if one.missing == "lost" else "count as 0",
        "rewards": f"{one.rewards[0]:g} to {one.rewards[1]:g}",
        "rounds": f"{one.round:,}",
        "version": str(one.version),
        "state": "closed" if one.closed else "open",
        "created": _date(one.created),
    }
    table = table_of("", one.name)
    for name, value in facts.items():
        if value:
            table.add_row(name, escape(value))
    console_for_tables().print(table)


def show_audit(name: str, audit: Audit) -> None:
    """Print what each arm was promised and received; on a narrow terminal without some columns.

    Args:
        name: of the allocation.
        audit: to print.
    """
    from evenhand.messages.audit_text import fitting

    console = console_for_tables()
    size = f"{number_of(audit.round, 'round')}, version {audit.version}, {audit.algorithm}"
    console.print(f"[bold]{escape(name)}[/bold]  {escape(size)}", highlight=False)
    console.print(escape(audit.verdict), highlight=False)
    cells = _audit_columns(audit.lines)
    names = fitting(cells, console.width - 2, 3, DISPENSABLE)  # a space at either end
    table = table_of(*(column.strip() for column in names), right=True)
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    for line, *row in zip(audit.lines, *(cells[column] for column in names), strict=True):
        table.add_row(*map(escape, row), style="dim" if line.retired else None)
    console.print(table)
    if len(audit.lines) < audit.arms:
        console.print(f"and {audit.arms - len(audit.lines):,} more", highlight=False)
    if audit.bounds:
        console.print(_bounds(audit.bounds))
    if len(names) < len(cells):
        console.print("[dim]a wider terminal shows more columns, and --json all of them[/dim]", highlight=False)
    for note in audit.notes():
        console.print(escape(note), highlight=False)
    if audit.fault:
        console.print(f"[red]cannot be kept:[/red] {escape(audit.fault)}", highlight=False)
    for warning in audit.warnings:
        console.print(f"[red]warning:[/red] {escape(warning)}", highlight=False)


def _bounds(bounds: Sequence[BoundLine]) -> Table:
    """What groups of arms, and arms with a cap, were promised and got."""
    table = table_of("group or arm", "at least", "at most", "share", "plays", "owed", "excess", right=True)
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    for line in bounds:
        owed = _number(line.owed) if line.at_least else ""
        shares = map(_number, (line.at_least or None, line.at_most, line.share))
        table.add_row(escape(line.name), *shares, f"{line.plays:,}", owed, _number(line.excess))
    return table


def show_keys(keys: Sequence[Key]) -> None:
    """Print one row per API key.

    Args:
        keys: of a database.
    """
    table = table_of("id", "name", "scopes", "allocations", "created", "expires", "revoked")
    for key in keys:
        allocations = "all" if key.allocations is None else ", ".join(sorted(key.allocations))
        times = ["" if time is None else _date(time) for time in (key.created, key.expires, key.revoked)]
        table.add_row(key.id, escape(key.name), ", ".join(sorted(key.scopes)), allocations, *times)
    no_keys = "no keys; the service answers requests from this computer only"
    console_for_tables().print(table if keys else no_keys, highlight=False)


def _audit_columns(lines: Sequence[Line]) -> dict[str, list[str]]:
    """The cells of an audit by column; the interval of a reward has a space before its name."""
    from evenhand.messages.audit_text import plain

    return {
        "arm": [plain(line.arm) + (" (retired)" if line.retired else "") for line in lines],
        "promised": [_number(line.promised) for line in lines],
        "plays": [f"{line.plays:,}" for line in lines],
        "share": [_number(line.share) for line in lines],
        "95% interval": [_interval(line.low_share, line.high_share) for line in lines],
        "deficit": [_number(line.deficit) for line in lines],
        "max deficit": [_number(line.worst) for line in lines],
        "reward": [_number(line.estimate) for line in lines],
        " 95% interval": [_interval(line.low, line.high) for line in lines],
        "pending": [f"{line.pending:,}" for line in lines],
        "lost": [f"{line.lost:,}" for line in lines],
        "late": [f"{line.late:,}" for line in lines],
    }


def _parameter(arms: Sequence[str], value: object) -> str:
    """A parameter; one that has one value per arm with their names."""
    if isinstance(value, list) and len(value) == len(arms):
        return ", ".join(f"{arm} {one}" for arm, one in zip(arms, value, strict=True))
    return str(value)


# --- cells, tables, console -------------------------------------------------------------------------------------------


def plus_minus(mean: float, stderr: float | None, digits: int | None = None) -> str:
    """Mean ± standard error, with two significant digits of the error.

    Args:
        mean: to print.
        stderr: its standard error; None, infinite or not a number if unknown.
        digits: after the decimal point; None for what the error justifies.

    Example:
        >>> plus_minus(1234.5678, 0.0123)
        '1,234.568 ± 0.012'
    """
    if not math.isfinite(mean):
        return str(mean)
    known = stderr is not None and math.isfinite(stderr)
    error = stderr if stderr is not None and known else 0.0
    if digits is None:
        size = error if error > 1e-9 * abs(mean) else abs(mean) / 1000  # smaller errors are rounding
        digits = 4 if size == 0 else min(max(1 - math.floor(math.log10(size)), 0), 6)
    return f"{mean:,.{digits}f}" + (f" ± {error:.{digits}f}" if known else "")


def table_of(*columns: str, right: bool = False) -> Table:
    """An empty table.

    Args:
        columns: their headings.
        right: all columns but the first hold numbers and are aligned to the right.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(escape(column), justify="right" if right and place else "left", no_wrap=right)
    return table


def console_for_tables() -> Console:
    """A console as wide as the terminal, or wide enough for most tables where the output is no terminal."""
    console = _Console()
    return console if console.is_terminal else _Console(width=WIDE)


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Every text in a table or line, as names of arms may come from strangers."""
        from evenhand.messages.audit_text import harmless

        return super().render_str(harmless(text), **options)

    def on_broken_pipe(self) -> None:
        """Leave the error to the command, which has an exit status for it."""
        raise


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _date(time: datetime | float) -> str:
    """A time, or a number of seconds since the epoch, as text."""
    from evenhand.messages.answers import moment

    return (time if isinstance(time, datetime) else moment(time)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
