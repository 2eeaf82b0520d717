"""Tests of claims that several papers share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from evenhand.papers.experiment import Finding, Runs, of_runs
from evenhand.papers.verdicts import Test, alike, at, below, lower, ratio_below


@of_runs
def less(
    runs: Runs,
    part: str,
    policies: Iterable[str],
    others: Iterable[str],
    measures: Iterable[str],
    rounds: Iterable[float | None] = (None,),
) -> list[Finding]:
    """Each of the policies has less of each measure than each of the others: in the end, or after rounds if run."""
    run = runs[part]
    return [
        lower(run, measure, one, other, None if round is None else min(round, run.setup.horizon))
        for round, measure, one, other in product(rounds, measures, policies, others)
    ]


@of_runs
def near(runs: Runs, part: str, policies: Iterable[str], other: str, measure: str, margin: float) -> list[Finding]:
    """Each of the policies has about as much of a measure in the end as another one."""
    return [alike(runs[part], measure, policy, other, margin) for policy in policies]


@of_runs
def never_behind(runs: Runs, part: str, policies: Iterable[str] = ()) -> list[Finding]:
    """No arm is ever a whole play behind with these policies, or with any."""
    return [
        below(f"largest deficit of any arm at any round: {label}", at(runs[part], label, "max_violation"), 1.0, " play")
        for label in policies or runs[part].results.policies
    ]


@of_runs
def at_most_times(
    runs: Runs, part: str, policy: str, other: str, measures: tuple[str, ...], bound: float
) -> list[Finding]:
    """Less than a multiple of another policy's measures in the end."""
    return [
        ratio_below(
            f"{measure.replace('_', ' ')} of {policy}, relative to that of {other}",
            at(runs[part], policy, measure),
            at(runs[part], other, measure),
            bound,
        )
        for measure in measures
    ]


@of_runs
def together(runs: Runs, *tests: Test) -> list[Finding]:
    """All that the tests find."""
    return [finding for test in tests for finding in test(runs)]
