"""Tests of claims that several papers share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE
from evenhand.judgement.claims import Finding, interval, outside, widened
from evenhand.papers.experiment import Runs, of_runs
from evenhand.papers.verdicts import Test, alike, at, below, lower, ratio_below


def named(name: str, finding: Finding) -> Finding:
    """A finding with the name of its case before it."""
    return replace(finding, text=f"{name}: {finding.text}")


@of_runs
def each(
    runs: Runs, find: Callable[..., Finding], parts: Mapping[str, str] | str, labels: Iterable[str], *given: Any
) -> list[Finding]:
    """What is found of each of the policies in a configuration, or in each of several with their names before it."""
    if isinstance(parts, str):
        return [find(runs[parts], label, *given) for label in labels]
    return [named(parts[part], find(runs[part], label, *given)) for part, label in product(parts, labels)]


@of_runs
def less(
    runs: Runs,
    part: str,
    policies: Iterable[str],
    others: Iterable[str],
    measures: Iterable[str],
    rounds: Iterable[float | None] = (None,),
) -> Iterator[Finding]:
    """Each of the policies has less of each measure than each of the others: in the end, or after rounds if run."""
    run = runs[part]
    for round, measure, one, other in product(rounds, measures, policies, others):
        yield lower(run, measure, one, other, None if round is None else min(round, run.setup.horizon))


@of_runs
def near(runs: Runs, part: str, policies: Iterable[str], other: str, measure: str, margin: float) -> list[Finding]:
    """Each of the policies has about as much of a measure in the end as another one."""
    return [alike(runs[part], measure, policy, other, margin) for policy in policies]


@of_runs
def never_behind(runs: Runs, part: str, policies: Iterable[str] = ()) -> Iterator[Finding]:
    """No arm is ever a whole play behind with these policies, or with any."""
    for label in policies or runs[part].results.policies:
        largest = at(runs[part], label, "max_violation")
        yield below(f"largest deficit of any arm at any round: {label}", largest, 1.0, " play")


@of_runs
def at_most_times(
    runs: Runs, part: str, policy: str, other: str, measures: tuple[str, ...], bound: float
) -> Iterator[Finding]:
    """Less than a multiple of another policy's measures in the end."""
    for measure in measures:
        over, under = (at(runs[part], label, measure) for label in (policy, other))
        text = f"{measure.replace('_', ' ')} of {policy}, relative to that of {other}"
        yield ratio_below(text, over, under, bound)


def in_some(text: str, gaps: Sequence[Array]) -> Finding:
    """Some of the gaps (lanes,) is above 0 on average: how many surely are, their intervals sharing the 5% of error."""
    lanes, each = gaps[0].size, [interval(gap) for gap in gaps]
    sure = [widened(one, lanes, 1.0 - (1.0 - CONFIDENCE) / len(each)) for one in each]
    mean, low, high = (float(sum(one[end] > 0.0 for one in sure)) for end in range(3))
    # None is above 0 only if each on its own is not.
    p_value = max(outside(one, lanes, (0.0, math.inf)) for one in each)
    return Finding(f"{text}, of {len(gaps)}", mean, low, high, lanes, "at least 1", (1.0, math.inf), p_value=p_value)


@of_runs
def together(runs: Runs, *tests: Test) -> list[Finding]:
    """All that the tests find."""
    return [finding for test in tests for finding in test(runs)]
