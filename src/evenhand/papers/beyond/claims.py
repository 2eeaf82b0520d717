"""Tests of claims that several experiments share."""

from __future__ import annotations

from evenhand.papers.verdicts import Test, at, lower, ratio_below


def lower_than(part: str, policies: tuple[str, ...], other: str, measure: str) -> Test:
    """Less of a measure in the end than another policy."""
    return lambda runs: [lower(runs[part], measure, policy, other) for policy in policies]


def at_most_times(part: str, policy: str, other: str, measures: tuple[str, ...], bound: float) -> Test:
    """Less than a multiple of another policy's measures in the end."""
    return lambda runs: [
        ratio_below(
            f"{measure.replace('_', ' ')} of {policy}, relative to that of {other}",
            at(runs[part], policy, measure),
            at(runs[part], other, measure),
            bound,
        )
        for measure in measures
    ]


def together(*tests: Test) -> Test:
    """All that the tests find."""
    return lambda runs: [finding for test in tests for finding in test(runs)]
