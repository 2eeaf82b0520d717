"""How the claims of Wang et al. 2021 are measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE
from evenhand.inference.shares import share_interval
from evenhand.judgement.claims import (
    Finding,
    Interval,
    interval,
    judged,
    lanes_to_decide,
    ratio,
    smallest_level,
    widened,
)
from evenhand.papers.claims import in_some, named
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.verdicts import (
    NEARLY,
    above,
    at,
    count_lanes,
    linear,
    lower,
    sublinear,
)

REGRET = "composite_regret"
CHOICE = "ARS-UCB, k², α = 4"  # the paper's
ALPHAS = tuple(f"ARS-UCB, k², α = {alpha}" for alpha in (1, 2, 8))
SIZES = tuple(f"ARS-UCB, {size}, α = 4" for size in ("k", "k³", "2^k"))
OTHERS = (*ALPHAS, *SIZES)
UCB, UCB1 = "UCB, no rounds, α = 4", "UCB1 on the sums"
MEAN_GIVEN, BOUND_GIVEN, COMPOSITE = "ODAAF, mean delay", "ODAAF, mean and largest delay", "ODAAF, composite"
VARIANCE_GIVEN = "ODAAF, mean and variance"
RULES = (MEAN_GIVEN, BOUND_GIVEN, VARIANCE_GIVEN, COMPOSITE)

#: What a spread is called.
SPREADS = {
    "w2-10-30": "delay of 10 to 30",
    "w2-0-60": "delay of 0 to 60",
    "w3-bounded-30-40": "equal parts, 30 to 40",
    "w3-bounded-10-20": "equal parts, 10 to 20",
    "w3-decreasing-100": "decreasing over 100",
    "w3-decreasing-50": "decreasing over 50",
    "w3-increasing-100": "increasing over 100",
    "w3-increasing-50": "increasing over 50",
    "w4-discounted-08": "discounted, γ = 0.8",
    "w4-discounted-09": "discounted, γ = 0.9",
    "w4-polynomial-3": "polynomial, γ = 3",
    "w4-polynomial-2": "polynomial, γ = 2",
}
W2, W3, W4 = (tuple(part for part in SPREADS if part.startswith(figure)) for figure in ("w2", "w3", "w4"))

ARS, ARS_CLW, CLW, GAINS, EXP3 = "ARS-EXP3", "ARS-CLW", "CLW", "CLW, gains", "EXP3"
WRONG = ("CLW, d too small", "CLW, d too large")
#: What a case of W-5 is called.
CASES = {
    f"w5-{kind}-{arms}-{delay}": f"{words}, {arms} arms, d = {delay}"
    for arms in (7, 2)
    for kind, words in {"nonoblivious": "non-oblivious", "oblivious": "oblivious"}.items()
    for delay in (10, 20)
}
MADE_UP = {
    "w5-synthetic-nonoblivious-10": "non-oblivious, made-up log, d = 10",
    "w5-synthetic-oblivious-10": "oblivious, made-up log, d = 10",
}
#: The cases of W-6, and W-7.
GROWTHS = {
    f"w6-{kind}-7-{delay}": f"{words}, d = {delay}"
    for kind, words in {"nonoblivious": "non-oblivious", "oblivious": "oblivious"}.items()
    for delay in (10, 20)
}
LEARNS = {"w7-0-20": "delay of 0 to 20"}
ROOT, SLOWER, *FASTER = (f"ARS-EXP3, β = {power}" for power in ("1/2", "1/4", "1", "2"))
NAMES = SPREADS | CASES | MADE_UP | GROWTHS | LEARNS
KEPT_BACK, OBLIVIOUS = (tuple(part for part in CASES if kind in part) for kind in ("-nonoblivious", "-oblivious"))

SIGNIFICANT = 0.9  # "significantly outperforms": at least a tenth less
EXCESSIVE = 1.5  # "no excessive regret": less than half as much again
SLIGHT = 0.8  # "only slightly better": at most a fifth less
MOSTLY = 0.75  # most of the time: in three steps of four, where one in two is even
HARDLY = 0.1  # hardly any lanes: fewer than a tenth


def stuck_share(run: CompletedRun, label: str) -> Interval:
    """The share of lanes that are stuck in the end, and Clopper and Pearson's 95% interval."""
    stuck, lanes = int(at(run, label, "stuck").sum()), count_lanes(run)
    low, high = share_interval(stuck, lanes)
    return stuck / lanes, float(low), float(high)


def by_chance(run: CompletedRun) -> bool:
    """Whether the arm that pays is drawn with fixed probabilities; otherwise a log is replayed."""
    return run.setup.environment.rewards.rows is None


def lost(run: CompletedRun) -> str:
    """The regret of an adversarial case: by expected rewards where these exist, else in hindsight."""
    return REGRET if by_chance(run) else "adversarial_regret"


def called(parts: Iterable[str]) -> dict[str, str]:
    """The configurations with what they are called."""
    return {part: NAMES[part] for part in parts}


# Figures 2 to 4: rewards that spread


@of_runs
def plays_worse_arms_less(runs: Runs, parts: Sequence[str], others: Sequence[str]) -> Iterator[Finding]:
    """In each of the spreads the choice plays the worse arms less than each of the others does."""

    def worse(run: CompletedRun, label: str) -> Array:
        return np.asarray(run.results.policies[label].pulls[-1][:, 1:].sum(axis=-1), dtype=float)

    for part, other in product(parts, others):
        more = worse(runs[part], other) - worse(runs[part], CHOICE)
        yield named(NAMES[part], above(f"plays of the worse arms: {other} minus {CHOICE}", more, 0.0))


@of_runs
def better_in_most(runs: Runs, parts: Sequence[str]) -> Iterator[Finding]:
    """In most spreads the choice has the least regret of all, and less than each of the others."""
    each = [(f"less regret than {other}", (other,)) for other in OTHERS]
    ways = [("the least regret of all ARS-UCB", OTHERS), *each]
    lanes = count_lanes(runs[parts[0]])
    for words, rivals in ways:
        tests = _differences(runs, parts, rivals, _regrets)
        yield in_most(f"spreads in which {CHOICE} has {words}", tests, len(rivals), lanes)


@of_runs
def good_choice(runs: Runs, parts: Sequence[str]) -> Iterator[Finding]:
    """In most spreads the choice has less regret, and less variance of it, than at least half of the others."""
    lanes, half = count_lanes(runs[parts[0]]), len(OTHERS) // 2
    for words, values in (("regret", _regrets), ("variance of the regret", _deviations)):
        text = f"spreads in which {CHOICE} has less {words} than at least {half} of the {len(OTHERS)} others"
        yield in_most(text, _differences(runs, parts, OTHERS, values), half, lanes)


def in_most(text: str, tests: Sequence[Sequence[Interval]], needed: int, lanes: int) -> Finding:
    """In more than half of the spreads at least ``needed`` differences are below 0."""
    half, number = len(tests) / 2, sum(map(len, tests))

    def counts(confidence: float) -> list[float]:
        wide = [[widened(test, lanes, confidence) for test in spread] for spread in tests]
        return [float(sum(sum(test[end] < 0.0 for test in spread) >= needed for spread in wide)) for end in (0, 2, 1)]

    mean, low, high = counts(CONFIDENCE)
    # All intervals together have an error of at most the level, if each has its part of it.
    p_value = smallest_level(lambda level: counts(1.0 - level / number)[2] <= half)
    expected = f"more than {half:g} of {len(tests)}"
    return Finding(text, mean, low, high, lanes, expected, (half, math.inf), touching=False, p_value=p_value)


def _differences(
    runs: Runs, parts: Sequence[str], others: Sequence[str], values: Callable[[CompletedRun, str], Array]
) -> list[list[Interval]]:
    """The choice's values less those of the others, spread by spread."""
    return [[interval(values(runs[part], CHOICE) - values(runs[part], other)) for other in others] for part in parts]


def _regrets(run: CompletedRun, label: str) -> Array:
    return at(run, label, REGRET)


def _deviations(run: CompletedRun, label: str) -> Array:
    """Squares whose mean is the variance over the lanes."""
    regret = at(run, label, REGRET)
    return np.asarray((regret - regret.mean()) ** 2)


def stuck_below(run: CompletedRun, label: str, most: float) -> Finding:
    """Fewer than a share of the lanes are stuck in the end."""
    from scipy.stats import binomtest

    share, low, high = stuck_share(run, label)
    text = f"share of lanes stuck on a worse arm: {label}"
    lanes = count_lanes(run)
    p_value = min(1.0, 2.0 * float(binomtest(round(share * lanes), lanes, most, alternative="greater").pvalue))
    needed = lanes_to_decide((share, low, high), lanes, [most]) if low <= most <= high else None
    claimed = (-math.inf, most)
    return Finding(text, share, low, high, lanes, f"below {most:g}", claimed, False, False, p_value, needed)


def stuck_less(run: CompletedRun, other: str) -> Finding:
    """Fewer lanes are stuck in the end with the choice than with another policy.

    Where both are stuck in the same lanes, which includes none, their spread is 0 and Student's interval a point; then
    the interval is Clopper and Pearson's of how many lanes could differ.
    """
    gap = at(run, CHOICE, "stuck") - at(run, other, "stuck")
    lanes = gap.size
    reach = float(share_interval(0, lanes)[1])
    ends = interval(gap) if gap.any() else (0.0, -reach, reach)
    return judged(f"stuck: {CHOICE} minus {other}", ends, lanes, "below 0", (-math.inf, 0.0), touching=False)


# Figure 5: delays that an adversary chooses


def bend(run: CompletedRun, label: str, straight: bool) -> Finding:
    """Whether the regret is linear (``straight``) or sublinear.

    With fixed chances by the growth exponent. On a log, where a regret may be negative for a while, by the regret of
    the second half of the rounds less that of the first, held against that of ``t^NEARLY``.
    """
    measure = lost(run)
    if by_chance(run):
        return (linear if straight else sublinear)(run, label, measure)
    half = at(run, label, measure, run.results.rounds[-1] / 2)
    measured = interval(at(run, label, measure) - 2.0 * half)
    text = f"regret of the second half of the rounds minus that of the first: {label}"
    end = (2.0**NEARLY - 2.0) * abs(float(half.mean()))
    claimed = (end, math.inf) if straight else (-math.inf, end)
    expected = f"{'above' if straight else 'below'} {end:,.0f}, where 0 is a line".replace("-", "−")
    return judged(text, measured, half.size, expected, claimed, touching=False, limit=True)


@of_runs
def less(runs: Runs, parts: Sequence[str], policies: Sequence[str], others: Sequence[str]) -> list[Finding]:
    """In each of the cases each of the policies has less regret than each of the others in the end."""
    triples = product(parts, policies, others)
    return [named(NAMES[part], lower(runs[part], lost(runs[part]), policy, other)) for part, policy, other in triples]


def learns(runs: Runs) -> list[Finding]:
    """ARS-CLW plays the better arm most of the time in its last phase, and ever more."""
    (run,) = (runs[part] for part in LEARNS)
    plays = run.results.policies[ARS_CLW].pulls[:, :, 0]
    share = np.diff(plays, axis=0) / np.diff(run.results.rounds)[:, np.newaxis]  # of each phase but the first
    text = f"share of the steps in which {ARS_CLW} plays the better arm"
    more = share[-1] - share[len(share) // 2]
    return [above(f"{text}, last phase", share[-1], MOSTLY), above(f"{text}, last phase minus middle one", more, 0.0)]


@of_runs
def slightly_better(runs: Runs, parts: Sequence[str]) -> Iterator[Finding]:
    """In each of the cases CLW with the right d has less regret than ARS-EXP3, but not much less."""
    for part in parts:
        over, under = (at(runs[part], label, lost(runs[part])) for label in (CLW, ARS))
        text = f"regret of {CLW} with the right d, relative to that of {ARS}"
        finding = judged(
            text, ratio(over, under), over.size, f"from {SLIGHT:g} to below 1", (SLIGHT, 1.0), touching=False
        )
        yield named(NAMES[part], finding)


@of_runs
def can_be_worse(runs: Runs, parts: Sequence[str]) -> list[Finding]:
    """Some case in which CLW with a wrong d has more regret."""
    gaps = [
        at(runs[part], label, lost(runs[part])) - at(runs[part], ARS, lost(runs[part]))
        for part, label in product(parts, WRONG)
    ]
    return [in_some(f"cases in which CLW with a d that is 10% off has more regret than {ARS}", gaps)]
