"""How the claims of Fang et al. 2022 are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from evenhand.papers.claims import Test, above, below, count_lanes, within
from evenhand.papers.experiment import Finding, Runs
from evenhand.papers.fang2022 import gaps, paths
from evenhand.papers.fang2022.frontier import HARD, RIVALS, earns_more
from evenhand.papers.fang2022.horizons import SETTINGS, penalised_regret
from evenhand.papers.fang2022.paths import FINE, STEP, UNFAIR, fair_down_to, missing, worse
from evenhand.records import Array

STRAIGHT = 0.95  # part of the variance that a straight line explains
PROPORTIONAL = (0.9, 1.1)  # the power of the inverse gap that counts as the first
CONSTANT = 8.0  # between the upper and the lower bounds, Theorems 4.2 and 4.6


# F-1 and F-2


def lowest(rival: str) -> Test:
    """The hard threshold has less penalised regret than a rival in every setting and at every T."""

    def test(runs: Runs) -> list[Finding]:
        return [
            below(
                f"penalised regret, K = {arms}, τ = {tau}, T = {rounds:,}: {HARD} less {rival}",
                penalised_regret(runs[part], HARD, rounds) - penalised_regret(runs[part], rival, rounds),
                0.0,
            )
            for part, (arms, tau) in SETTINGS.items()
            for rounds in runs[part].results.rounds.tolist()
        ]

    return test


def one_by_one(runs: Runs) -> list[Finding]:
    """Of two arms next to each other the better one stays fair over more of η under the hard threshold."""
    findings = []
    for case, part in paths.CASES.items():
        run = runs[part]
        length = fair_down_to(run, HARD, FINE)
        order = np.argsort(-run.setup.environment.means, kind="stable")[1:]
        for nearer, farther in pairwise(order.tolist()):
            text = f"case {case}: length of η over which arm {nearer + 1} stays fair, less that of arm {farther + 1}"
            findings.append(above(text, length[:, nearer] - length[:, farther], 0.0))
    return findings


def all_at_once(name: str) -> Test:
    """With a policy no arm is unfair at η = 1, and all but the best are one step further down."""

    def test(runs: Runs) -> list[Finding]:
        findings = []
        for case, part in paths.CASES.items():
            path = missing(runs[part], name)
            at_one, next_to_one = path[1.0].max(axis=1), path[round(1.0 - STEP, 4)][:, worse(runs[part])].min(axis=1)
            text = f"case {case}: part of the promised plays missing to the arm with the"
            findings += [
                below(f"{text} most missing, at η = 1", at_one, UNFAIR),
                above(f"{text} least missing but the best, at η = {1.0 - STEP:g}", next_to_one, UNFAIR),
            ]
        return findings

    return test


def wider(runs: Runs) -> list[Finding]:
    """The hard threshold keeps every arm but the best fair over more of η than its rivals do."""
    findings = []
    for case, part in paths.CASES.items():
        mine = fair_down_to(runs[part], HARD, STEP)
        for rival in RIVALS:
            gain = (mine - fair_down_to(runs[part], rival, STEP))[:, worse(runs[part])].min(axis=1)
            text = f"length of η over which an arm stays fair, {HARD} less {rival}, arm with the least gain"
            findings.append(above(f"case {case}: {text}", gain, 0.0))
    return findings


# F-3 and F-5


def earns_most(parts: Mapping[str, str], rival: str) -> Test:
    """The hard threshold earns more than a rival at the same unfairness; parts are told by what they are about."""

    def test(runs: Runs) -> list[Finding]:
        each = [earns_more(runs[part], HARD, rival, where) for part, where in parts.items()]
        return [finding for findings in each for finding in findings]

    return test


# F-4


def on_lines(kind: str, measure: Callable[[Array, Array], Array], text: str, ends: tuple[float, float]) -> Test:
    """A measure of plays against inverse gaps lies between two ends where enough arms are off the fairness level."""

    def test(runs: Runs) -> list[Finding]:
        findings, most = [], 0
        for part, (of, case) in gaps.CASES.items():
            inverse, plays = gaps.off_the_level(part, runs[part])
            if of != kind:
                continue
            most = max(most, len(inverse))
            if len(inverse) >= gaps.LEAST:
                where = f"case {case}, {len(inverse)} {kind} arms: {text} {gaps.INVERSE[kind]}"
                findings.append(within(where, measure(inverse, plays), *ends))
        lanes = count_lanes(next(iter(runs.values())))
        few = f"{kind} arms off the fairness level in the case with the most"
        return findings or [Finding(few, most, most, most, lanes, f"at least {gaps.LEAST}", False)]

    return test


def at_the_level(runs: Runs) -> list[Finding]:
    """Non-critical arms do not get beyond the fairness level, and critical ones reach it."""
    findings = []
    for part, (kind, case) in gaps.CASES.items():
        places, _ = gaps.arms_of(part, runs[part])
        over = gaps.plays_of(runs[part], places) - gaps.level_of(runs[part], places)
        worst = (-over if kind == "critical" else over).max(axis=1)
        what = "missing to" if kind == "critical" else "beyond the fairness level of"
        findings.append(within(f"case {case}: most plays {what} any {kind} arm", np.maximum(worst, 0.0), 0.0, 1.0))
    return findings


def tight(runs: Runs) -> list[Finding]:
    """Plays lie between the lower and the upper bounds."""
    findings = []
    for part, (kind, case) in gaps.CASES.items():
        plays = gaps.plays_of(runs[part], gaps.arms_of(part, runs[part])[0])
        bounds = gaps.bounds_of(part, runs[part])
        where = f"case {case}, {kind} arms: plays in parts of their bound"
        findings += [
            within(f"{where}, the largest", ((plays - 1.0) / bounds).max(axis=1), 0.0, 1.0),
            above(f"{where}, the smallest", (plays / bounds).min(axis=1), 1.0 / CONSTANT),
        ]
    return findings
