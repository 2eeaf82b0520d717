"""The tables of what a service answers; what does not fit the terminal changes its layout or leaves columns out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from rich.markup import escape

from evenhand.cli.rendering import console_for_tables, date, interval, number, plus_minus, show, table_of
from evenhand.core.errors import number_of
from evenhand.messages import answers
from evenhand.messages.changes import VALUES

if TYPE_CHECKING:
    from evenhand.client import LeasedDecision
    from evenhand.messages.audit import Audit
    from evenhand.messages.lines import Line
    from evenhand.service.store.api_keys import Key

COLOURS = {"accepted": "green", "duplicate": "green", "late": "yellow"}  # of statuses; the others are red
HEALTH = {"good": "green", "attention": "yellow", "bad": "red", "closed": "dim"}

# Columns that an audit leaves out on a narrow terminal, the first ones first; the space before one of the two intervals
# makes the names differ.
SPOKEN = 5  # differences up to which each is put in a sentence
LEDGER = 20  # promises that have ended, of an audit
DISPENSABLE = ("late", "lost", " 95% interval", "95% interval", "pending", "max deficit", "reward")


def show_decisions(decisions: Sequence[answers.Decision]) -> None:
    """Print one row per decision; where they are known, the propensities of all available arms, too."""
    known = [", ".join(f"{arm.propensity:.3g}" for arm in one.arms if arm.propensity is not None) for one in decisions]
    rows = [(one.id, f"{one.round}", ", ".join(one.names), text) for one, text in zip(decisions, known, strict=True)]
    show(table_of("decision", "round", "arms", "propensity", rows=rows))
    if any(one.propensities for one in decisions):
        arms = [
            ("" if place else one.id, arm, plus_minus(value, stderr) if stderr else f"{value:.4g}")
            for one in decisions
            for place, (arm, value, stderr) in enumerate(map(astuple, one.propensities or ()))
        ]
        show(table_of("decision", "available arm", "propensity", rows=arms))


def show_rewards(results: Sequence[answers.RewardResult]) -> None:
    """Print one row per reward: whether it was accepted, and why not."""
    table = table_of("decision", "arm", "status", "reason")
    for one in results:
        colour = COLOURS.get(one.status, "red")
        status = f"[{colour}]{escape(one.status)}[/{colour}]"
        table.add_row(escape(one.decision), escape(one.arm), status, escape(one.message))
    console_for_tables().print(table)


def show_allocations(allocations: Sequence[answers.AllocationSummary]) -> None:
    """Print one row per allocation; with its health where that is known."""
    table = table_of("allocation", "algorithm", "arms", "rounds", "state", "created")
    table.columns[4].no_wrap = any(one.health is None for one in allocations)
    for one in allocations:
        state = "[yellow]closed[/yellow]" if one.closed else "open"
        if one.health is not None:
            colour = HEALTH[one.health.status]
            state = f"[{colour}]{one.health.status}[/{colour}]: {escape(one.health.text)}"
        cells = (escape(one.algorithm), f"{one.arms:,}", f"{one.round:,}", state, date(one.created))
        table.add_row(f"[bold]{escape(one.name)}[/bold]", *cells)
    console = console_for_tables()
    console.print(table if allocations else "no allocations; [bold]evenhand client create[/bold] creates one")


def show_description(one: answers.Allocation) -> None:
    """Print the settings and the state of an allocation."""
    facts = {
        "algorithm": one.algorithm if isinstance(one.algorithm, str) else json.dumps(one.algorithm),
        **{f"  {name}": _parameter(one.arms, value) for name, value in one.parameters.items()},
        "arms": ", ".join(one.arms),
        "retired": ", ".join(one.retired),
        "plays per round": str(one.plays),
        "seed": str(one.seed),
        "window": "none" if one.window is None else f"{one.window:g} s",
        "missing rewards": {"lost": "unknown", "zero": "count as 0", "never": ""}[one.missing],
        "rewards": f"{one.rewards[0]:g} to {one.rewards[1]:g}",
        "rounds": f"{one.round:,}",
        "version": str(one.version),
        "state": "closed" if one.closed else "open",
        "created": date(one.created),
        "unit of rewards": one.words.unit,
        "rounds are called": one.words.round_name,
        "arms are called": one.words.arm_name,
        "features": json.dumps(one.features) if one.features else "",
        "features of arms": json.dumps(one.arm_features) if one.arm_features else "",
        "segments": one.segments if isinstance(one.segments, str) else json.dumps(one.segments) if one.segments else "",
    }
    show(table_of("", one.name, rows=((name, value) for name, value in facts.items() if value)))


def show_audit(audit: Audit) -> None:
    """Print what each arm was promised and received; on a narrow terminal without some columns."""
    from evenhand.messages.audit_text import bounds_rows, fitting, ledger_rows

    console = console_for_tables()
    rounds = audit.words.say(number_of(audit.rounds, "round"))
    size = f"{rounds}, version {audit.version}, {audit.algorithm}"
    console.print(f"[bold]{escape(audit.name or '')}[/bold]  {escape(size)}", highlight=False)
    console.print(escape(audit.verdict), highlight=False)
    cells = _audit_columns(audit.lines)
    names = fitting(cells, console.width - 2, 3, DISPENSABLE)  # a space at either end
    table = table_of(*(audit.words.head(column.strip()) for column in names), right=True)
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    for line, *row in zip(audit.lines, *(cells[column] for column in names), strict=True):
        table.add_row(*map(escape, row), style="dim" if line.retired else None)
    console.print(table)
    if len(audit.lines) < audit.arms:
        console.print(f"and {audit.arms - len(audit.lines):,} more", highlight=False)
    if audit.bounds:
        heads, *rows = bounds_rows(audit.bounds)
        table = table_of(*heads, right=True, rows=rows)
        table.columns[0].no_wrap = False
        console.print(table)
    if ended := [line for line in audit.ledger if line.until is not None][-LEDGER:]:
        heads, *rows = ledger_rows(ended)
        console.print(table_of(*heads, rows=rows))
    if len(names) < len(cells):
        console.print("[dim]a wider terminal shows more columns, and --json all of them[/dim]", highlight=False)
    for note in audit.notes():
        console.print(escape(note), highlight=False)
    if audit.fault:
        console.print(f"[red]cannot be kept:[/red] {escape(audit.fault)}", highlight=False)
    for warning in audit.warnings:
        console.print(f"[red]warning:[/red] {escape(warning)}", highlight=False)


def show_differences(answer: answers.Differences) -> None:
    """Print one row per difference, and what is claimed: few in sentences, many by their premises."""
    from evenhand.messages.audit_text import plain

    heads = ("compared", answer.words.head("difference"), "interval", "the first is", "claim")
    rows = []
    for one in answer.differences:
        ends, claim = interval(one.interval.low, one.interval.high), one.interval.claim.replace("_", " ")
        rows.append((f"{plain(one.first)} − {plain(one.second)}", number(one.value), ends, one.verdict, claim))
    console = console_for_tables()
    console.print(table_of(*heads, right=True, rows=rows))
    for text in answer.sentences if len(answer.differences) <= SPOKEN else _claims(answer):
        console.print(escape(text), highlight=False)


def _claims(answer: answers.Differences) -> list[str]:
    """What is claimed of many differences, and under which premises."""
    intervals = [one.interval for one in answer.differences]
    found = [f"All intervals hold at once ({100.0 * intervals[0].confidence:.4g}%), however often one looks."]
    for claim, says in (("holds_if", "It is a premise that"), ("not_claimed", "Nothing is claimed of some, since")):
        premises = dict.fromkeys(text for one in intervals if one.claim == claim for text in one.premises)
        found += [f"{says} {text}." for text in premises]
    remarks = dict.fromkeys(text for one in answer.differences for text in one.remarks)
    return [*found, *(answer.words.say(f"{text[:1].upper()}{text[1:]}.") for text in remarks)]


def show_keys(keys: Sequence[Key]) -> None:
    """Print one row per API key."""
    rows = []
    for key in keys:
        allocations = "all" if key.allocations is None else ", ".join(sorted(key.allocations))
        times = ["" if time is None else date(time) for time in (key.created, key.expires, key.revoked)]
        rows.append((key.id, key.name, ", ".join(sorted(key.scopes)), allocations, *times))
    table = table_of("id", "name", "scopes", "allocations", "created", "expires", "revoked", rows=rows)
    no_keys = "no keys; the service answers requests from this computer only"
    console_for_tables().print(table if keys else no_keys, highlight=False)


def _audit_columns(lines: Sequence[Line]) -> dict[str, list[str]]:
    """The cells of an audit by column; the interval of a reward has a space before its name."""
    from evenhand.messages.audit_text import plain

    return {
        "arm": [plain(line.arm) + (" (retired)" if line.retired else "") for line in lines],
        "promised": [number(line.promised) for line in lines],
        "plays": [f"{line.plays:,}" for line in lines],
        "share": [number(line.share) for line in lines],
        "95% interval": [interval(line.low_share, line.high_share) for line in lines],
        "deficit": [number(line.deficit) for line in lines],
        "max deficit": [number(line.worst) for line in lines],
        "reward": [number(line.estimate) for line in lines],
        " 95% interval": [interval(line.low, line.high) for line in lines],
        "pending": [f"{line.pending:,}" for line in lines],
        "lost": [f"{line.lost:,}" for line in lines],
        "late": [f"{line.late:,}" for line in lines],
    }


def _parameter(arms: Sequence[str], value: object) -> str:
    """A parameter; one that has one value per arm with their names."""
    if isinstance(value, list) and len(value) == len(arms):
        return ", ".join(f"{arm} {one}" for arm, one in zip(arms, value, strict=True))
    return str(value)


def show_decision(one: answers.DecisionOutcome) -> None:
    """Print a decision: one row per arm that played, and the arms that could play."""
    rows = ((arm.arm, number(arm.propensity), number(arm.reward), arm.status) for arm in one.arms)
    console = console_for_tables()
    available = escape(", ".join(one.available))
    console.print(f"decision {escape(one.id)} of {answers.rfc3339(one.time)}, available: {available}", soft_wrap=True)
    console.print(table_of("arm", "propensity", "reward", "status", rows=rows))


def show_arms(arms: Sequence[answers.Arm]) -> None:
    """Print one row per arm: what it is promised, and whether it is retired."""
    there = [name for name, _ in VALUES.values() if any(getattr(one, name) is not None for one in arms)]
    values = ([number(getattr(one, name)) for name in there] for one in arms)
    rows = ((one.arm, *own, "retired" if one.retired else "active") for one, own in zip(arms, values, strict=True))
    show(table_of("arm", *there, "state", rows=rows))


def show_events(events: Sequence[answers.Event]) -> None:
    """Print one line per event: its sequence, time and kind, and what happened as JSON."""
    console = console_for_tables()
    for one in events:
        text = escape(f"{one.kind} {json.dumps(one.data)}")
        console.print(f"{one.sequence} {answers.rfc3339(one.time)} {text}", soft_wrap=True, highlight=False)


def show_webhooks(webhooks: Sequence[answers.Webhook]) -> None:
    """Print one row per webhook."""
    rows = []
    for one in webhooks:
        state = "disabled" if one.disabled else "fails" if one.failing else "sends"
        kinds = "all" if one.kinds is None else ", ".join(one.kinds)
        rows.append((one.id, one.url, kinds, f"{one.sequence:,}", state, one.error or ""))
    show(table_of("webhook", "address", "kinds", "delivered", "state", "error", rows=rows))
    tries = []
    for hook in webhooks:
        for sent in hook.deliveries:
            times, status = (answers.rfc3339(sent.sent), f"{sent.seconds:.3f}"), str(sent.status or "")
            tries.append((hook.id, f"{sent.sequence:,}", str(sent.attempt), *times, status, sent.error or ""))
    if tries:
        show(table_of("webhook", "event", "attempt", "sent", "seconds", "status", "error", rows=tries))


def show_lease(lease: answers.Lease, drawn: Sequence[LeasedDecision] = ()) -> None:
    """Print a lease: until when it is to be played and reported, one row per arm, and the decisions that were drawn."""
    console = console_for_tables()
    console.print(
        f"lease {lease.id}: {number_of(lease.decisions, 'decision')} from round {lease.round:,} on\n"
        f"play them until {answers.rfc3339(lease.expires)}, and report them until {answers.rfc3339(lease.report_by)}",
        soft_wrap=True,
    )
    rows = ((arm.arm, f"{arm.count:,}", number(arm.propensity)) for arm in lease.arms)
    console.print(table_of("arm", "decisions", "propensity", rows=rows))
    if drawn:
        rows = ((one.id, f"{one.position}", ", ".join(one.names)) for one in drawn)
        console.print(table_of("decision", "position", "arms", rows=rows))


def show_report(report: answers.LeaseReport) -> None:
    """Print what the service took of a report of a lease."""
    counts = (f"{count:,}" for count in (report.accepted, report.duplicate, report.late))
    rest = "returned" if report.returned else "open"
    row = report.id, f"{report.played:,}", f"{report.added:,}", rest, *counts
    show(table_of("lease", "played", "new", "rest", "accepted", "duplicate", "late", rows=[row]))


def show_offered(algorithms: Sequence[answers.AlgorithmInfo]) -> None:
    """Print one row per algorithm that a service has."""
    rows = ((one.name, one.promises, one.summary) for one in algorithms)
    show(table_of("algorithm", "promises", "description", rows=rows))


def show_parameters(algorithm: answers.AlgorithmInfo) -> None:
    """Print an algorithm of a service: what it promises, and one row per parameter."""
    console = console_for_tables()
    console.print(escape(f"{algorithm.summary}\npromise: {algorithm.promise}"), highlight=False)
    rows = []
    for one in algorithm.parameters:
        default = "required" if one.required else "" if one.default is None else json.dumps(one.default)
        rows.append((one.name, one.type, default, one.description))
    if rows:
        console.print(table_of("parameter", "type", "default", "description", rows=rows))
