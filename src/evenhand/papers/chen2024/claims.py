"""How the claims of Chen et al. 2024 are measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np

from evenhand.core.state import Array
from evenhand.judgement.claims import Finding
from evenhand.papers.claims import in_some
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.verdicts import (
    above,
    alike,
    at,
    at_most_power,
    below,
    lower,
    ratio_below,
    shares,
    sublinear,
    within,
)

REWARD, FAIRNESS = MEASURES = ("reward_regret", "fairness_regret")
POLICIES = ("FCUCB-D", "FCTS-D", "OP-FCUCB-D", "OP-FCTS-D", "CUCB-D", "MP-TS-D", "FGreedy-D")
UCB, TS, OP_UCB, OP_TS, _, _, GREEDY = POLICIES
#: How the labels of policies with the radius of the paper's code end.
CODE = ", code's radius"
FAIR = (UCB, TS)
WARY = (OP_UCB, OP_TS)
GREEDIEST = ("CUCB-D", "MP-TS-D")  # all for the reward
OTHERS = (*GREEDIEST, GREEDY)
FAIR_CODE = (UCB + CODE, TS)
WARY_CODE = (OP_UCB + CODE, OP_TS)

#: The configurations of C-2a.
DELAYS = tuple(f"c2a-{delay:03}" for delay in range(0, 301, 50))
EXPONENTS = (2, 4, 6, 8)

#: The configurations of C-10, and what their delays are called.
PRIOR = {"c10-geometric": "geometric delays", "c10-pareto": "Pareto delays", "c10-biased": "biased delays"}

CLOSE = 0.1  # "near", "quite close" and "comparable": within a tenth; "significantly": by more than that
MAINLY = 0.9  # "mainly": more than nine in ten plays
GOOD, BAD = (2, 3, 4), (0, 1, 5, 6)
LATE = 6000  # rounds until the first late reward of the biased delays


def exponent_parts(figure: int) -> tuple[str, ...]:
    """The configurations of one of figures 4 to 8, an exponent of the merit each."""
    return tuple(f"c{figure}-{exponent}" for exponent in EXPONENTS)


# What a test is made of


def closest(findings: Sequence[Finding]) -> Finding:
    """Of findings that must all lie below the same number, the one that comes closest to it or goes furthest beyond."""
    return _nearest(max(findings, key=lambda one: one.high), len(findings))


def widest(findings: Sequence[Finding]) -> Finding:
    """Of findings that must all lie around 0 within the same margin, the one that goes furthest."""
    return _nearest(max(findings, key=lambda one: max(-one.low, one.high)), len(findings))


def _nearest(one: Finding, of: int) -> Finding:
    return replace(one, text=f"{one.text} (worst of {of})")


@of_runs
def both_sublinear(runs: Runs, part: str, policies: Iterable[str]) -> list[Finding]:
    """Both regrets of each of the policies grow sublinearly."""
    order = [(label, measure) for measure in MEASURES for label in policies]
    return [sublinear(runs[part], label, measure) for label, measure in order]


@of_runs
def never_ends(runs: Runs, part: str) -> Iterator[Finding]:
    """Over the last half of the rounds the fairness regret of the others grows by what they lose for ever."""
    run = runs[part]
    half = run.setup.horizon / 2.0
    for label in OTHERS:
        growth = (at(run, label, FAIRNESS) - at(run, label, FAIRNESS, half)) / half
        text = "fairness regret per round over the last half, relative to the same algorithm with known means"
        yield above(f"{text}: {label}", growth / lost_for_ever(run, label), 1.0 - CLOSE)


def lost_for_ever(run: CompletedRun, label: str) -> float:
    """The fairness regret per round of a policy that knows the means."""
    fair, plays = _fair_shares(run), run.setup.policies[label].plays
    epsilon = getattr(run.setup.policies[label].index, "epsilon", None)
    if epsilon is not None:
        return float(epsilon * np.abs(fair - plays / len(fair)).sum())
    means = np.asarray(run.setup.environment.means)
    best = np.isin(np.arange(len(means)), np.argsort(-means)[:plays])
    return float(np.abs(fair - best).sum())


def part_of_plays(run: CompletedRun, label: str, arms: Sequence[int], until: float = np.inf) -> Array:
    """The part of all plays that some arms got up to the last checkpoint before a round, (lanes,)."""
    place = int(np.searchsorted(run.results.rounds, until, side="right")) - 1
    pulls = run.results.policies[label].pulls[place].astype(float)
    return np.asarray(pulls[:, list(arms)].sum(axis=1) / pulls.sum(axis=1))


def _fair_shares(run: CompletedRun) -> Array:
    return np.asarray(run.results.promised[TS])


# Figure 1


def unfair(runs: Runs) -> Iterator[Finding]:
    """The policies that are all for the reward play the three best arms more than nine times in ten."""
    for label in GREEDIEST:
        part = part_of_plays(runs["c1"], label, GOOD)
        yield above(f"fraction of the plays on arms 3, 4 and 5: {label}", part, MAINLY)


def uniform(runs: Runs) -> list[Finding]:
    """FGreedy-D's shares are nearer to uniform than to fair ones."""
    run = runs["c1"]
    played = shares(run, GREEDY)
    even = run.setup.policies[GREEDY].plays / played.shape[1]
    gap = np.abs(played - even).sum(axis=1) - np.abs(played - _fair_shares(run)).sum(axis=1)
    return [below("distance of FGreedy-D's shares from equal shares minus that from the fair shares", gap, 0.0)]


def more_uniform(runs: Runs) -> list[Finding]:
    """FGreedy-D's shares are nearer to uniform than those of the fair policies."""
    run = runs["c1"]
    away = {
        label: np.abs(shares(run, label) - run.setup.policies[label].plays / len(run.results.names)).sum(axis=1)
        for label in (GREEDY, *FAIR)
    }
    return [
        below(f"distance from equal shares: FGreedy-D minus {label}", away[GREEDY] - away[label], 0.0) for label in FAIR
    ]


@of_runs
def converged(runs: Runs, policies: Iterable[str]) -> Iterator[Finding]:
    """Every arm's share is close to its fair share in the end."""
    run = runs["c1"]
    for label in policies:
        off = np.abs(shares(run, label) / _fair_shares(run) - 1.0).max(axis=1)
        yield below(f"largest error of an arm's share, as a fraction of its fair share: {label}", off, CLOSE)


def consistently_greedy(runs: Runs) -> Iterator[Finding]:
    """Less reward and more fairness regret than the fair policies, after a tenth of the rounds and in the end."""
    run = runs["c1"]
    for round in (run.setup.horizon / 10, run.setup.horizon):
        for one in GREEDIEST:
            for other in FAIR:
                yield from [lower(run, REWARD, one, other, round), lower(run, FAIRNESS, other, one, round)]


# Figure 2


@of_runs
def insensitive(runs: Runs, policies: Iterable[str]) -> Iterator[Finding]:
    """The regret at every fixed delay is near that without delay."""
    for measure in MEASURES:
        for label in policies:
            yield widest([_changed(runs, part, measure, label) for part in DELAYS[1:]])


def _changed(runs: Runs, part: str, measure: str, label: str) -> Finding:
    change = _relative(at(runs[part], label, measure), at(runs[DELAYS[0]], label, measure))
    text = f"{measure.replace('_', ' ')} at a delay of {int(part[-3:])} minus that at 0, as a fraction of the latter"
    return within(f"{text}: {label}", change, -CLOSE, CLOSE)


@of_runs
def much_less(
    runs: Runs, part: str, policies: Iterable[str], others: Iterable[str], after: float = 1.0
) -> Iterator[Finding]:
    """After a part of the rounds each of the policies has less of both regrets than each of the others, not closely."""
    order = [(measure, one, other) for measure in MEASURES for one in policies for other in others]
    run = runs[part]
    round = after * run.setup.horizon
    for measure, one, other in order:
        gap = _relative(at(run, one, measure, round), at(run, other, measure, round))
        text = f"{measure.replace('_', ' ')} at round {round:,.0f}: {one} minus {other}, as a fraction of the latter"
        yield below(text, gap, -CLOSE)


def _relative(values: Array, reference: Array) -> Array:
    """By how much values (lanes,) exceed a reference, as a part of its mean."""
    return np.asarray((values - reference) / abs(reference.mean()))


@of_runs
def misled(runs: Runs, part: str) -> Iterator[Finding]:
    """While the late rewards are out, a bad arm is played more than a good one."""
    for label in FAIR:
        bad, good = (part_of_plays(runs[part], label, arms, LATE) / len(arms) for arms in (BAD, GOOD))
        text = f"fraction of the early plays on a bad arm minus that on a good one: {label}"
        yield above(text, bad - good, 0.0)


# Figure 3


@of_runs
def better_trade(runs: Runs, policies: Iterable[str]) -> Iterator[Finding]:
    """Less fairness regret than all others, and less reward regret than FGreedy-D."""
    run = runs["c3"]
    for label in policies:
        yield closest([lower(run, FAIRNESS, label, other) for other in OTHERS])
        yield lower(run, REWARD, label, GREEDY)


# Figures 4 to 8


@of_runs
def fair_and_cheap(runs: Runs, figure: int, policies: Sequence[str]) -> Iterator[Finding]:
    """At every exponent both regrets grow sublinearly, and reward is traded for fairness better than by the others."""
    every = [runs[part] for part in exponent_parts(figure)]
    for label in policies:
        for measure in MEASURES:
            yield closest([_with_exponent(run, sublinear(run, label, measure)) for run in every])
        yield closest([_with_exponent(run, lower(run, FAIRNESS, label, one)) for run in every for one in OTHERS])
        yield closest([_with_exponent(run, lower(run, REWARD, label, GREEDY)) for run in every])


@of_runs
def wider(runs: Runs, figure: int) -> Iterator[Finding]:
    """The distance between the highest and the lowest regret grows with every step of the exponent."""
    for measure in MEASURES:
        for flat, steep in pairwise(exponent_parts(figure)):
            growth = spread(runs[steep], measure) - spread(runs[flat], measure)
            text = f"{measure.replace('_', ' ')}, highest minus lowest: at c = {steep[-1]} minus at c = {flat[-1]}"
            yield above(text, growth, 0.0)


@of_runs
def wider_between(runs: Runs, figure: int, policies: Sequence[str]) -> Iterator[Finding]:
    """Each fair policy is further from each of the others at the largest exponent than at the smallest."""
    flat, *_, steep = (runs[part] for part in exponent_parts(figure))
    for measure in MEASURES:
        for label in policies:
            for other in OTHERS:
                growth = distance(steep, measure, label, other) - distance(flat, measure, label, other)
                text = f"{measure.replace('_', ' ')}, gap between {label} and {other}: at c = 8 minus at c = 2"
                yield above(text, growth, 0.0)


def spread(run: CompletedRun, measure: str) -> Array:
    """The highest regret less the lowest, by their means, (lanes,)."""
    ends = sorted((at(run, label, measure) for label in run.results.policies), key=lambda lanes: float(lanes.mean()))
    return np.asarray(ends[-1] - ends[0])


def distance(run: CompletedRun, measure: str, one: str, other: str) -> Array:
    """How far two policies' mean regrets are apart, (lanes,)."""
    gap = at(run, one, measure) - at(run, other, measure)
    return np.asarray(gap * np.sign(gap.mean()))


def _with_exponent(run: CompletedRun, found: Finding) -> Finding:
    merit: Any = run.setup.environment.merit
    return replace(found, text=f"{found.text}, c = {merit.exponent:g}")


def wary_better(runs: Runs) -> Iterator[Finding]:
    """At every exponent the policies that wait for late rewards have less of both regrets than those that do not."""
    every = [runs[part] for part in exponent_parts(8)]
    for measure in MEASURES:
        for label in WARY:
            yield closest([_with_exponent(run, lower(run, measure, label, one)) for run in every for one in FAIR])


def comparable(runs: Runs) -> Iterator[Finding]:
    """At every exponent both regrets of FGreedy-D are close to those of the fair policies."""
    every = [runs[part] for part in exponent_parts(8)]
    for measure, label in product(MEASURES, FAIR):
        yield widest([_with_exponent(run, alike(run, measure, GREEDY, label, CLOSE)) for run in every])


def less_misled(runs: Runs) -> Iterator[Finding]:
    """At every exponent FGreedy-D plays the bad arms less than the fair policies do while the late rewards are out."""
    for label in FAIR:
        each = []
        for run in (runs[part] for part in exponent_parts(8)):
            gap = part_of_plays(run, GREEDY, BAD, LATE) - part_of_plays(run, label, BAD, LATE)
            text = f"fraction of the early plays on bad arms: FGreedy-D minus {label}"
            each.append(_with_exponent(run, below(text, gap, 0.0)))
        yield closest(each)


# Theorems 7 and 9


@of_runs
def like_a_root(runs: Runs, parts: Iterable[str], label: str) -> list[Finding]:
    """Both regrets of a policy grow no faster than a square root, where means are drawn from the prior."""
    found = [(part, at_most_power(runs[part], label, measure, 0.5)) for part in parts for measure in MEASURES]
    return [replace(one, text=f"{one.text}, {PRIOR[part]}") for part, one in found]


# Figure 9


@of_runs
def faster(runs: Runs, part: str) -> Iterator[Finding]:
    """The sampling versions take less processor time than the UCB versions."""
    for quick, slow in ((TS, UCB), (OP_TS, OP_UCB)):
        over, under = (np.array(runs[part].seconds[label]) for label in (quick, slow))
        text = f"processor time of {quick}, relative to that of {slow}, timed {len(over)} times"
        yield ratio_below(text, over, under, 1.0)


@of_runs
def may_cost(runs: Runs, part: str) -> list[Finding]:
    """Some regret of the policies that wait for late rewards is larger than that of those that do not."""
    run = runs[part]
    gaps = [
        at(run, wary, measure) - at(run, fair, measure)
        for wary, fair in zip(WARY, FAIR, strict=True)
        for measure in MEASURES
    ]
    return [in_some("larger regrets of OP-FCUCB-D and OP-FCTS-D", gaps)]
