"""Tables of single decisions, arms, events and webhooks of a service."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.markup import escape

from evenhand.cli.tables import console_for_tables, table_of
from evenhand.client import LeasedDecision
from evenhand.core.errors import number_of
from evenhand.messages.answers import (
    AlgorithmInfo,
    Arm,
    DecisionOutcome,
    Event,
    Lease,
    LeaseReport,
    Webhook,
    rfc3339,
)


def show_decision(one: DecisionOutcome) -> None:
    """Print a decision: one row per arm that played, and the arms that could play.

    Args:
        one: of the service.

    Example:
        >>> from evenhand.answers import ArmOutcome
        >>> from evenhand.messages.answers import moment
        >>> tea = ArmOutcome("tea", 0.75, 0.0, 1.0, "received")
        >>> show_decision(DecisionOutcome("7", 7, moment(0.0), (tea,), ("tea", "mate")))
        decision 7 of 1970-01-01T00:00:00.000000Z, available: tea, mate
         arm   propensity   reward   status
         ────────────────────────────────────
         tea   0.75         1        received
    """
    table = table_of("arm", "propensity", "reward", "status")
    for arm in one.arms:
        table.add_row(escape(arm.arm), _number(arm.propensity), _number(arm.reward), escape(arm.status))
    console = console_for_tables()
    available = escape(", ".join(one.available))
    console.print(f"decision {escape(one.id)} of {rfc3339(one.time)}, available: {available}", soft_wrap=True)
    console.print(table)


def show_arms(arms: Sequence[Arm]) -> None:
    """Print one row per arm: what it is promised, and whether it is retired.

    Args:
        arms: of an allocation.

    Example:
        >>> show_arms([Arm("tea", False, 0.25, None, None), Arm("mate", True, 0.0, None, None)])
         arm    promised   penalty   weight   state
         ────────────────────────────────────────────
         tea    0.25                          active
         mate   0                             retired
    """
    table = table_of("arm", "promised", "penalty", "weight", "state")
    for one in arms:
        numbers = map(_number, (one.fraction, one.penalty, one.weight))
        table.add_row(escape(one.arm), *numbers, "retired" if one.retired else "active")
    console_for_tables().print(table)


def show_events(events: Sequence[Event]) -> None:
    """Print one line per event: its sequence, time and kind, and what happened as JSON.

    Args:
        events: of an allocation.

    Example:
        >>> from evenhand.messages.answers import moment
        >>> show_events([Event(2, moment(0.0), "decide", 1, {"arms": ["tea"]}, None)])
        2 1970-01-01T00:00:00.000000Z decide {"arms": ["tea"]}
    """
    console = console_for_tables()
    for one in events:
        data = escape(json.dumps(one.data))
        console.print(f"{one.sequence} {rfc3339(one.time)} {escape(one.kind)} {data}", soft_wrap=True, highlight=False)


def show_webhooks(webhooks: Sequence[Webhook]) -> None:
    """Print one row per webhook.

    Args:
        webhooks: of an allocation.

    Example:
        >>> from evenhand.messages.answers import moment
        >>> show_webhooks([Webhook("6f", "https://example.org", None, 7, moment(0.0), None, None, None)])
         webhook   address               kinds   delivered   state   error
         ─────────────────────────────────────────────────────────────────
         6f        https://example.org   all     7           sends
    """
    table = table_of("webhook", "address", "kinds", "delivered", "state", "error")
    for one in webhooks:
        state = "disabled" if one.disabled else "fails" if one.failing else "sends"
        kinds = "all" if one.kinds is None else ", ".join(one.kinds)
        table.add_row(one.id, escape(one.url), kinds, f"{one.sequence:,}", state, escape(one.error or ""))
    console_for_tables().print(table)


def show_lease(lease: Lease, drawn: Sequence[LeasedDecision] = ()) -> None:
    """Print a lease: until when it is to be played and reported, one row per arm, and the decisions that were drawn.

    Args:
        lease: of the service.
        drawn: decisions of it.

    Example:
        >>> from evenhand import Bandit
        >>> lease = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.25}, seed=1).lease(8, now=0.0)
        >>> show_lease(lease, [LeasedDecision("1", 0, ("tea",))])
        lease 1: 8 decisions from round 1 on
        play them until 1970-01-01T00:01:00.000000Z, and report them until 1970-01-01T00:02:00.000000Z
         arm      decisions   propensity
         ───────────────────────────────
         tea      6           0.75
         coffee   2           0.25
         decision   position   arms
         ──────────────────────────
         1          0          tea
    """
    console = console_for_tables()
    times = f"play them until {rfc3339(lease.expires)}, and report them until {rfc3339(lease.report_by)}"
    console.print(
        f"lease {lease.id}: {number_of(lease.decisions, 'decision')} from round {lease.round:,} on\n{times}",
        soft_wrap=True,
    )
    table = table_of("arm", "decisions", "propensity")
    for arm in lease.arms:
        table.add_row(escape(arm.arm), f"{arm.count:,}", _number(arm.propensity))
    console.print(table)
    if drawn:
        table = table_of("decision", "position", "arms")
        for one in drawn:
            table.add_row(escape(one.id), f"{one.position}", escape(", ".join(one.names)))
        console.print(table)


def show_report(report: LeaseReport) -> None:
    """Print what the service took of a report of a lease.

    Args:
        report: its answer.

    Example:
        >>> show_report(LeaseReport("1", 600, True, 100, 2, 1, 0))
         lease   played   new   rest       accepted   duplicate   late
         ─────────────────────────────────────────────────────────────
         1       600      100   returned   2          1           0
    """
    table = table_of("lease", "played", "new", "rest", "accepted", "duplicate", "late")
    counts = (f"{count:,}" for count in (report.accepted, report.duplicate, report.late))
    rest = "returned" if report.returned else "open"
    table.add_row(escape(report.id), f"{report.played:,}", f"{report.added:,}", rest, *counts)
    console_for_tables().print(table)


def show_offered(algorithms: Sequence[AlgorithmInfo]) -> None:
    """Print one row per algorithm that a service has.

    Args:
        algorithms: of the service.

    Example:
        >>> show_offered([AlgorithmInfo("ucb1", "the largest upper bound plays", "none", "nothing", (), ())])
         algorithm   promises   description
         ────────────────────────────────────────────────────
         ucb1        none       the largest upper bound plays
    """
    table = table_of("algorithm", "promises", "description")
    for one in algorithms:
        table.add_row(escape(one.name), escape(one.promises), escape(one.summary))
    console_for_tables().print(table)


def show_parameters(algorithm: AlgorithmInfo) -> None:
    """Print an algorithm of a service: what it promises, and one row per parameter.

    Args:
        algorithm: of the service.

    Example:
        >>> from evenhand.messages.answers import AlgorithmParameter
        >>> tolerance = AlgorithmParameter("tolerance", "number", False, 0.0, "plays of arrears")
        >>> show_parameters(AlgorithmInfo("fucb", "FUCB: arrears first", "share", "shares", (), (tolerance,)))
        FUCB: arrears first
        promise: shares
         parameter   type     default   description
         ───────────────────────────────────────────────
         tolerance   number   0.0       plays of arrears
    """
    console = console_for_tables()
    console.print(escape(f"{algorithm.summary}\npromise: {algorithm.promise}"), highlight=False)
    table = table_of("parameter", "type", "default", "description")
    for one in algorithm.parameters:
        default = "required" if one.required else "" if one.default is None else json.dumps(one.default)
        table.add_row(escape(one.name), one.type, escape(default), escape(one.description))
    if algorithm.parameters:
        console.print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
