"""How the claims of Patil et al. 2019 are measured."""

from __future__ import annotations

from itertools import pairwise

from evenhand.papers.experiment import Finding, Runs
from evenhand.papers.verdicts import Test, alike, at, below, kept, logarithmic, lower, within

LIKE = 0.1  # "follows closely" and "similar": within a tenth
ETAS = ("0", "0.0001", "0.001", "0.01", "0.1", "1")


def near_ucb1(runs: Runs) -> list[Finding]:
    """Regrets within a tenth of UCB1's in the end, nothing promised."""
    run = runs["p2a"]
    return [alike(run, "regret", label, "UCB1", LIKE) for label in ("FUCB", "η-FUCB", "LFG")]


def ignored_near_ucb1(runs: Runs) -> list[Finding]:
    """The same of η-FUCB where surpluses are ignored."""
    return [alike(runs["p2a"], "regret", "η-FUCB, surplus ignored", "UCB1", LIKE)]


def r_regret_like_regret(runs: Runs) -> list[Finding]:
    """FUCB's r-regret is within a tenth of UCB1's regret in the end."""
    run = runs["p2b"]
    regret = at(run, "UCB1", "regret")
    gap = (at(run, "FUCB", "r_regret") - regret) / regret.mean()
    return [within("r-regret of FUCB less regret of UCB1, as a part of the latter", gap, -LIKE, LIKE)]


def lfg_lowest(runs: Runs) -> list[Finding]:
    """LFG has less r-regret in the end than each of the paper's policies."""
    return [lower(runs["p2b"], "r_regret", "LFG", other) for other in ("FUCB", "F-TS", "η-FUCB")]


def logarithmic_with_shares(runs: Runs) -> list[Finding]:
    """The r-regrets of FUCB and LFG grow like ln t."""
    return [logarithmic(runs["p2b"], label, "r_regret") for label in ("FUCB", "LFG")]


def never_behind(runs: Runs) -> list[Finding]:
    """No arm is ever a whole play behind."""
    run = runs["p2b"]
    return [
        below(f"most plays that any arm was ever behind: {label}", at(run, label, "max_violation"), 1.0, " play")
        for label in ("FUCB", "F-TS")
    ]


def rises_with_eta(surplus: str) -> Test:
    """More r-regret in the end with every step of η."""

    def test(runs: Runs) -> list[Finding]:
        run = runs["p2c"]
        return [lower(run, "r_regret", label_of(surplus, one), label_of(surplus, next)) for one, next in pairwise(ETAS)]

    return test


def satisfied(surplus: str) -> Test:
    """No arm is a whole play behind in the end, with the largest η."""
    return lambda runs: [kept(runs["p2c"], label_of(surplus, ETAS[-1]))]


def still_logarithmic(surplus: str) -> Test:
    """The r-regret with the largest η grows like ln t."""
    return lambda runs: [logarithmic(runs["p2c"], label_of(surplus, ETAS[-1]), "r_regret")]


def label_of(surplus: str, eta: str) -> str:
    """The label of η-FUCB in P-2c."""
    return f"η-FUCB surplus={surplus} eta={eta}"
