"""Claims of Wang et al. 2021 about figures 2 to 4 together, and what needs more than a mean over the lanes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from evenhand.core.state import Array
from evenhand.environment.feedback import Spread
from evenhand.environment.profiles import lateness, lateness_variance
from evenhand.inference.means import CONFIDENCE
from evenhand.judgement.claims import Finding, computed, judged, ratio
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.verdicts import at, lower, ratio_below
from evenhand.papers.wang2021.claims import ALPHAS, ARS, NAMES, REGRET, SIGNIFICANT, lost, stuck_share
from evenhand.theory.bounds import ars_ucb_constant

DOUBLED = "ARS-EXP3, T unknown"
LONG, SHORT = 25.0, 10.0  # "large" and "small" d1: at least and at most, in steps
EARLY = 3000.0  # "T is small"
RESAMPLES = 10_000


@of_runs
def outperforms(
    runs: Runs, parts: Sequence[str], labels: Sequence[str], others: Sequence[str], most: float = SIGNIFICANT
) -> list[Finding]:
    """In each of the spreads each of the policies has less than a multiple of the regret of each other that is run.

    Where lanes are stuck, a few of them make the mean: then the interval is a bootstrap's, and the share stands beside.
    """
    return [
        _compared(runs[part], part, label, other, most)
        for part, label, other in product(parts, labels, others)
        if other in runs[part].results.policies
    ]


def _compared(run: CompletedRun, part: str, label: str, other: str, most: float) -> Finding:
    over, under = (at(run, one, REGRET) for one in (label, other))
    text = f"{NAMES[part]}: composite regret of {label}, relative to that of {other}"
    stuck = stuck_share(run, label)[0], stuck_share(run, other)[0]
    if not any(stuck):
        return ratio_below(text, over, under, most)
    text += f" (lanes stuck: {stuck[0]:.0%} and {stuck[1]:.0%})"
    return bootstrapped_below(text, over, under, most)


def bootstrapped_below(text: str, over: Array, under: Array, bound: float) -> Finding:
    """The ratio of two means over the same lanes is below ``bound``, by the bootstrap's percentiles."""
    drawn = np.random.default_rng(0).integers(over.size, size=(RESAMPLES, over.size))
    tops, bottoms = over[drawn].mean(axis=1), under[drawn].mean(axis=1)
    if over.size < 2 or (bottoms <= 0.0).any():
        return ratio_below(text, over, under, bound)
    ratios = tops / bottoms
    ends = np.quantile(ratios, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    mean = ratio(over, under)[0]
    found = judged(
        text, (mean, float(ends[0]), float(ends[1])), over.size, f"below {bound:g}", (-math.inf, bound), touching=False
    )
    beyond = (1 + int((ratios < bound).sum())) / (1 + RESAMPLES)
    return replace(found, p_value=1.0 if mean <= bound else min(1.0, 2.0 * beyond))


def spread(run: CompletedRun) -> Spread:
    """How a run's rewards are spread over time."""
    found = run.setup.environment.feedback.spread
    assert found is not None
    return found


def late(run: CompletedRun) -> float:
    """d1 of a run's spread, in steps."""
    return lateness(spread(run), run.setup.environment.means)


@of_runs
def larger_alpha_first(runs: Runs, parts: Sequence[str]) -> list[Finding]:
    """Where rewards take long, the largest α has less regret early on than the smallest."""
    long = [part for part in parts if LONG <= late(runs[part]) < math.inf]
    early = min(EARLY, *(float(runs[part].results.rounds[-1]) for part in long))
    return [_named(part, runs[part], lower(runs[part], REGRET, ALPHAS[-1], ALPHAS[0], early)) for part in long]


@of_runs
def smaller_alpha_late(runs: Runs, parts: Sequence[str]) -> list[Finding]:
    """Where rewards come soon, the smallest α has less regret in the end than the largest."""
    short = [part for part in parts if late(runs[part]) <= SHORT]
    return [_named(part, runs[part], lower(runs[part], REGRET, ALPHAS[0], ALPHAS[-1])) for part in short]


@of_runs
def theorem_says_nothing(runs: Runs, parts: Sequence[str]) -> Iterator[Finding]:
    """The constant of Theorem 1 exceeds the steps, even for the largest α that is run."""
    for part in parts:
        run = runs[part]
        world, alpha = run.setup.environment, float(ALPHAS[-1].split()[-1])
        variance = lateness_variance(spread(run), world.means)
        constant = ars_ucb_constant(len(world.means), alpha, late(run), variance)
        steps = run.setup.horizon
        text = f"{NAMES[part]}: T/c* at α = {alpha:g} (d1 = {late(run):.3g}, d2 = {variance:.3g})"
        share = steps / constant
        yield computed(text, share, "below 1", (-math.inf, 1.0))


@of_runs
def no_more_than_doubling_costs(runs: Runs, parts: Sequence[str], most: float) -> Iterator[Finding]:
    """In each of the cases ARS-EXP3 without T has at most a multiple of the regret with it."""
    for part in parts:
        over, under = (at(runs[part], label, lost(runs[part])) for label in (DOUBLED, ARS))
        text = f"{NAMES[part]}: regret of {DOUBLED}, relative to that of {ARS}"
        yield ratio_below(text, over, under, most)


@of_runs
def faster_sizes(runs: Runs, parts: Sequence[str], labels: Sequence[str]) -> Iterator[Finding]:
    """In each of the spreads each policy has less regret in the end than the one before it."""
    for part in parts:
        for slower, faster in pairwise(labels):
            yield _named(part, runs[part], lower(runs[part], REGRET, faster, slower))


def _named(part: str, run: CompletedRun, finding: Finding) -> Finding:
    return replace(finding, text=f"{NAMES[part]} (d1 = {late(run):.3g}): {finding.text}")
