"""Answers of the service as tables, for the commands ``evenhand client …``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.markup import escape

from evenhand import listing
from evenhand.online.client.answers import Decided, Description, Reported, Summary

if TYPE_CHECKING:
    from evenhand.online.audit import Audit, Line

COLOURS = {"accepted": "green", "duplicate": "green", "late": "yellow"}  # of statuses; the others are red


def show_decisions(decisions: Sequence[Decided]) -> None:
    """Decisions, a row each; and where they were asked for, the chances of all available arms.

    Example:
        >>> show_decisions([Decided("7", 7, 0.0, ("tea", "mate"), 0, (0.5, 0.25), None)])
        <BLANKLINE>
         decision   round   arms        chance
         ────────────────────────────────────────
         7          7       tea, mate   0.5, 0.25
        <BLANKLINE>
    """
    table = listing.table_of("decision", "round", "arms", "chance")
    for one in decisions:
        chances = "" if one.propensities is None else ", ".join(f"{chance:.3g}" for chance in one.propensities)
        table.add_row(escape(one.id), f"{one.round}", escape(", ".join(one.arms)), chances)
    console = listing.console_for_tables()
    console.print(table)
    if any(one.chances for one in decisions):
        asked = listing.table_of("decision", "available arm", "chance to play")
        for one in decisions:
            for place, (arm, chance) in enumerate((one.chances or {}).items()):
                told = (
                    listing.plus_minus(chance.probability, chance.error)
                    if chance.error
                    else f"{chance.probability:.4g}"
                )
                asked.add_row("" if place else escape(one.id), escape(arm), told)
        console.print(asked)


def show_reports(reports: Sequence[Reported]) -> None:
    """What became of reports, a row each.

    Example:
        >>> show_reports([Reported("7", "tea", "accepted"), Reported("7", "mate", "conflict", "0 was reported before")])
         decision   arm    status     why
         ──────────────────────────────────────────────────
         7          tea    accepted
         7          mate   conflict   0 was reported before
    """
    table = listing.table_of("decision", "arm", "status", "why")
    for one in reports:
        colour = COLOURS.get(one.status, "red")
        status = f"[{colour}]{escape(one.status)}[/{colour}]"
        table.add_row(escape(one.decision), escape(one.arm), status, escape(one.message))
    listing.console_for_tables().print(table)


def show_allocations(allocations: Sequence[Summary]) -> None:
    """Allocations, a row each.

    Example:
        >>> show_allocations([Summary("drinks", "fucb", 2, 1200, False, 1_790_000_000.0)])
         allocation   algorithm   arms   rounds   state   created
         ────────────────────────────────────────────────────────────────────────
         drinks       fucb        2      1,200    open    2026-09-21 14:13:20 UTC
    """
    table = listing.table_of("allocation", "algorithm", "arms", "rounds", "state", "created")
    for one in allocations:
        state = "[yellow]closed[/yellow]" if one.closed else "open"
        cells = (escape(one.algorithm), f"{one.arms:,}", f"{one.round:,}", state, _date(one.created))
        table.add_row(f"[bold]{escape(one.name)}[/bold]", *cells)
    console = listing.console_for_tables()
    console.print(table if allocations else "no allocations; [bold]evenhand client create[/bold] makes one")


def show_description(one: Description) -> None:
    """How an allocation was made, and where it stands."""
    told = {
        "algorithm": one.algorithm,
        **{f"  {name}": _value(one, value) for name, value in one.parameters.items()},
        "arms": ", ".join(one.arms),
        "retired": ", ".join(one.retired),
        "plays a round": str(one.plays),
        "seed": str(one.seed),
        "window": "none" if one.window is None else f"{one.window:g} s",
        "missing reports": "are lost" if one.missing == "lost" else "count as a reward of 0",
        "rewards": "any" if one.rewards is None else f"{one.rewards[0]:g} to {one.rewards[1]:g}",
        "rounds": f"{one.round:,}",
        "version": str(one.version),
        "state": "closed" if one.closed else "open",
        "created": _date(one.created),
    }
    table = listing.table_of("", one.name)
    for name, value in told.items():
        if value:
            table.add_row(name, escape(value))
    listing.console_for_tables().print(table)


def show_audit(name: str, audit: Audit) -> None:
    """What each arm was promised and got; on a narrow terminal without some columns."""
    from evenhand.online.audit import fitting

    console = listing.console_for_tables()
    size = f"{audit.round:,} rounds, version {audit.version}, {audit.algorithm}"
    console.print(f"[bold]{escape(name)}[/bold]  {escape(size)}", highlight=False)
    cells = _columns(audit.lines)
    names = fitting(cells, console.width - 2, 3, DISPENSABLE)  # a space at either end
    table = listing.table_of(*(name.strip() for name in names), right=True)
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    for line, *row in zip(audit.lines, *(cells[name] for name in names), strict=True):
        table.add_row(*map(escape, row), style="dim" if line.retired else None)
    console.print(table)
    if len(audit.lines) < audit.arms:
        console.print(f"and {audit.arms - len(audit.lines):,} more", highlight=False)
    if len(names) < len(cells):
        console.print("[dim]a wider terminal shows more, and --json all[/dim]", highlight=False)
    if audit.fault:
        console.print(f"[red]cannot be kept:[/red] {escape(audit.fault)}", highlight=False)


# What an audit can do without on a narrow terminal, the first ones first; the space tells one interval from the other.
DISPENSABLE = ("late", "lost", " 95 % interval", "95 % interval", "pending", "at worst", "reward")


def _columns(lines: Sequence[Line]) -> dict[str, list[str]]:
    """The cells of an audit by column; the interval of a reward has a space before its name."""
    from evenhand.online.audit import plain

    return {
        "arm": [plain(line.arm) + (" (retired)" if line.retired else "") for line in lines],
        "promised": [_number(line.promised) for line in lines],
        "plays": [f"{line.plays:,}" for line in lines],
        "share": [_number(line.share) for line in lines],
        "95 % interval": [_interval(line.low_share, line.high_share) for line in lines],
        "behind by": [_number(line.deficit) for line in lines],
        "at worst": [_number(line.worst) for line in lines],
        "reward": [_number(line.estimate) for line in lines],
        " 95 % interval": [_interval(line.low, line.high) for line in lines],
        "pending": [f"{line.pending:,}" for line in lines],
        "lost": [f"{line.lost:,}" for line in lines],
        "late": [f"{line.late:,}" for line in lines],
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _value(one: Description, value: object) -> str:
    """A parameter; what has one value an arm goes by their names."""
    if isinstance(value, list) and len(value) == len(one.arms):
        return ", ".join(f"{arm} {part}" for arm, part in zip(one.arms, value, strict=True))
    return str(value)


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"{seconds:g}"
