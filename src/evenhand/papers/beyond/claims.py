"""How our claims about means that change are measured."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from evenhand.core.state import Array
from evenhand.papers.experiment import CompletedRun, Finding, Runs
from evenhand.papers.verdicts import Test, at, below, lower, within

CHANGE = 2000  # rounds before the change in X-D3
SHARES = (0.025, 0.05, 0.1)
GAP = 0.6  # Δ of the arm that changes


def follows(part: str, policies: tuple[str, ...], other: str, measure: str) -> Test:
    """Less of a measure in the end than another policy."""
    return lambda runs: [lower(runs[part], measure, policy, other) for policy in policies]


def never_behind(part: str) -> Test:
    """No arm is ever a whole play behind."""

    def test(runs: Runs) -> list[Finding]:
        run = runs[part]
        return [
            below(f"most plays that any arm was ever behind: {label}", at(run, label, "max_violation"), 1.0, " play")
            for label in run.results.policies
        ]

    return test


def delays(run: CompletedRun, label: str) -> Array:
    """Rounds from the change to the first checkpoint with most plays of the arm that became best, (lanes,)."""
    rounds = run.results.rounds
    plays = np.diff(run.results.policies[label].pulls[..., 1], axis=0, prepend=0)
    length = np.diff(rounds, prepend=0)
    most = (plays > 0.5 * length[:, np.newaxis]) & (rounds > CHANGE)[:, np.newaxis]
    found = np.where(most.any(axis=0), rounds[most.argmax(axis=0)], rounds[-1])
    return np.asarray(found - CHANGE, dtype=float)


def sooner_with_larger_shares(runs: Runs) -> list[Finding]:
    """Every step to a larger share shortens the delay."""
    run = runs["d3"]
    found = {share: delays(run, f"r = {share}") for share in SHARES}
    return [
        below(f"delay with r = {more} less that with r = {less}", found[more] - found[less], 0.0, " rounds")
        for less, more in pairwise(SHARES)
    ]


def as_the_theory_says(runs: Runs) -> list[Finding]:
    """The delay in units of ln T/(r Δ²)."""
    run = runs["d3"]
    return [
        within(
            f"delay with r = {share}, in units of ln T/(r Δ²)",
            delays(run, f"r = {share}") * share * GAP**2 / math.log(run.setup.horizon),
            0.5,
            2.0,
        )
        for share in SHARES
    ]
