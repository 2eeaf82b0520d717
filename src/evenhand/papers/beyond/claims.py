"""Tests of claims that several experiments share."""

from __future__ import annotations

from evenhand.papers.experiment import Finding, Runs, of_runs
from evenhand.papers.verdicts import Test, at, lower, ratio_below


@of_runs
def lower_than(runs: Runs, part: str, policies: tuple[str, ...], other: str, measure: str) -> list[Finding]:
    """Less of a measure in the end than another policy."""
    return [lower(runs[part], measure, policy, other) for policy in policies]


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
