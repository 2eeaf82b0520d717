"""How the claims of Patil et al. 2019 are measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from evenhand.judgement.claims import Finding, judged, smallest_level
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.verdicts import at, count_lanes, logarithmic, lower, within
from evenhand.theory.bounds import fucb_alpha
from evenhand.theory.fairness import ExpectedFairness, expected_fairness

LIKE = 0.1  # "follows closely" and "similar": within a tenth
TOLERANCE = 50.0  # of the FUCB that may leave an arm behind
MOST = 2.0  # an α of this or more is shown as this; the mean deficit is then below 0.01 plays at round 100
KNOWING = ("NAIVE", "NAIVE, ε = 0.83", "T-FUCB")  # policies that know the horizon
ETAS = ("0", "0.0001", "0.001", "0.01", "0.1", "1")


@of_runs
def r_regret_like_regret(runs: Runs, part: str, rounds: int, measure: str = "regret") -> list[Finding]:
    """FUCB's r-regret is within a tenth of UCB1's regret at a round, or in the end of a shorter run."""
    run = runs[part]
    round = min(rounds, int(run.results.rounds[-1]))
    regret = at(run, "UCB1", measure, round)
    gap = (at(run, "FUCB", "r_regret", round) - regret) / abs(regret.mean())
    name = measure.replace("_", "-")
    text = f"r-regret of FUCB minus {name} of UCB1 at round {round:,}, as a fraction of the latter"
    return [within(text, gap, -LIKE, LIKE)]


@of_runs
def logarithmic_by(runs: Runs, rounds: int) -> list[Finding]:
    """FUCB's r-regret grows no faster than ln t before a round, or before the end of a shorter run."""
    return [logarithmic(runs["p2d"], "FUCB", "r_regret", min(rounds, int(runs["p2d"].results.rounds[-1])))]


def as_fair_as_its_tolerance(runs: Runs) -> Iterator[Finding]:
    """FUCB with a tolerance is α-fair with the α of `evenhand.theory.bounds.fucb_alpha`."""
    run = runs["p2b"]
    arms = len(run.results.names)
    share = float(np.asarray(run.results.promised["FUCB"])[0])
    for label, tolerance in (("FUCB", 0.0), (f"FUCB, tolerance {TOLERANCE:g}", TOLERANCE)):
        yield fair_with(run, label, fucb_alpha(share, arms, tolerance))


def fair_with(run: CompletedRun, label: str, alpha: float) -> Finding:
    """A policy is α-fair at all rounds that were looked at, its plays averaged over the lanes."""
    pulls, promised = run.results.policies[label].pulls, np.asarray(run.results.promised[label])

    def fairness(confidence: float) -> ExpectedFairness:
        return expected_fairness(run.results.rounds, pulls, promised, confidence)

    found = fairness(0.95)
    text = f"largest α for which the policy is α-fair, attained at round {found.round:,}: {label}"
    ends = (min(found.alpha, MOST), min(found.low, MOST), min(found.high, MOST))
    finding = judged(text, ends, count_lanes(run), f"at least {alpha:.3g}", (alpha, np.inf))
    level = smallest_level(lambda error: fairness(1.0 - min(error, 0.999)).holds(alpha) is False)
    return replace(finding, p_value=level if found.alpha < alpha else 1.0, lanes_needed=None)


@of_runs
def rises_with_eta(runs: Runs, surplus: str) -> list[Finding]:
    """More r-regret in the end with every step of η."""
    run = runs["p2c"]
    return [lower(run, "r_regret", label_of(surplus, one), label_of(surplus, next)) for one, next in pairwise(ETAS)]


def label_of(surplus: str, eta: str) -> str:
    """The label of η-FUCB in P-2c."""
    return f"η-FUCB surplus={surplus} eta={eta}"


#: η-FUCB with the largest η, as printed and with surpluses ignored.
MOST_COUNTED, MOST_IGNORED = ((label_of(surplus, ETAS[-1]),) for surplus in ("counted", "ignored"))
