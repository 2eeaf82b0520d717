"""Statistical tests of claims: numbers with confidence intervals over the lanes, and whether a claim holds for them.

Every policy of a run faces the same rewards, delays and availability in the same lane, so two policies are compared
lane by lane. Intervals are Student's, 95%, for the mean over the lanes; a number agrees with a claim only if its whole
interval does, and contradicts it only if the whole interval lies outside of what is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.judgement.claims import Finding, interval, judged, picked, ratio
from evenhand.judgement.judge import tolerated
from evenhand.papers.experiment import CompletedRun, Runs
from evenhand.theory.growth import Exponent, growth_exponent

NEARLY = 0.95  # what a power of time above it is like is a line; below it, less than a line
#: How claims of a logarithm are read.
AT_MOST_LOGARITHMIC = (
    "at most: over the last doubling of the rounds it grows by less than a square root would, relative to the doubling "
    "before"
)
#: How claims of another power of time are read.
NEARER = (
    "a power of the number of rounds, fitted over the last nine tenths of them, is nearer to the theorem's than to 1"
)
#: How claims that promises are kept are read.
KEPT = "kept: of what is due at the end no more is missing on average than Evenhand tolerates, 1% or a single play"

#: Measures a claim.
Test = Callable[[Runs], Iterable[Finding]]


def at(run: CompletedRun, label: str, measure: str, round: float | None = None) -> Array:
    """A measure of a policy at a round (between checkpoints on a straight line), or at the end, (lanes,)."""
    curve = run.results.policies[label].curves[measure]
    if round is None:
        return np.asarray(curve[-1])
    return np.array([np.interp(round, run.results.rounds, lane) for lane in curve.T])


def shares(run: CompletedRun, label: str) -> Array:
    """The share of the rounds that each arm got in the end, (lanes, arms)."""
    return np.asarray(run.results.policies[label].pulls[-1] / run.results.rounds[-1])


def count_lanes(run: CompletedRun) -> int:
    """How many lanes a run has."""
    return int(run.results.information["lanes"])


def below(text: str, values: Any, bound: float, unit: str = "") -> Finding:
    """The mean of ``values`` (lanes,) is below ``bound``."""
    expected = f"below {_shown(bound)}{unit}"
    return judged(text, interval(values), np.size(values), expected, (-math.inf, bound), touching=False)


def above(text: str, values: Any, bound: float, unit: str = "") -> Finding:
    """The mean of ``values`` (lanes,) is above ``bound``."""
    expected = f"above {_shown(bound)}{unit}"
    return judged(text, interval(values), np.size(values), expected, (bound, math.inf), touching=False)


def within(text: str, values: Any, least: float, most: float) -> Finding:
    """The mean of ``values`` (lanes,) lies between two numbers, these included."""
    expected = f"from {_shown(least)} to {_shown(most)}"
    return judged(text, interval(values), np.size(values), expected, (least, most))


def ratio_below(text: str, over: Array, under: Array, bound: float) -> Finding:
    """The ratio of two means over the same lanes is below ``bound``."""
    expected = f"below {_shown(bound)}"
    return judged(text, ratio(over, under), over.size, expected, (-math.inf, bound), touching=False)


def ratio_within(text: str, over: Array, under: Array, least: float, most: float) -> Finding:
    """The ratio of two means over the same lanes lies between two numbers, these included; −∞ is no lower end."""
    expected = f"at most {_shown(most)}" if math.isinf(least) else f"from {_shown(least)} to {_shown(most)}"
    return judged(text, ratio(over, under), over.size, expected, (least, most))


def lower(run: CompletedRun, measure: str, policy: str, other: str, round: float | None = None) -> Finding:
    """``policy`` has less of a measure than ``other``, lane by lane."""
    gap = at(run, policy, measure, round) - at(run, other, measure, round)
    return below(f"{_words(measure)}{_when(round)}: {policy} minus {other}", gap, 0.0)


def alike(
    run: CompletedRun, measure: str, policy: str, other: str, margin: float, round: float | None = None
) -> Finding:
    """Two policies have the same of a measure at a round, or in the end, up to a part of ``other``'s mean."""
    reference = at(run, other, measure, round)
    gap = (at(run, policy, measure, round) - reference) / abs(reference.mean())
    text = f"{_words(measure)}{_when(round)}: {policy} minus {other}, as a fraction of the latter"
    return within(text, gap, -margin, margin)


def kept(text: str, missing: Array, due: Array) -> Finding:
    """Every promise is kept on average: of what is due, (promises,), no more is missing than is tolerated."""
    worst = int((missing.mean(axis=0) - tolerated(due)).argmax())
    most, lanes = float(tolerated(due)[worst]), len(missing)
    found = judged(text, interval(missing[:, worst]), lanes, f"at most {_shown(most)} plays", (-math.inf, most))
    return picked(found, missing.shape[1])


def arms_kept(run: CompletedRun, label: str) -> Finding:
    """Every arm gets what it is promised in the end."""
    text = f"missing plays of the arm furthest behind: {label}"
    return kept(text, plays_missing(run, label), plays_due(run, label))


def plays_due(run: CompletedRun, label: str) -> Array:
    """Plays that each arm is promised up to the end, on average over the lanes, (arms,)."""
    return np.asarray(np.atleast_2d(np.asarray(run.results.promised[label])).mean(axis=0) * run.results.rounds[-1])


def plays_missing(run: CompletedRun, label: str, round: float | None = None) -> Array:
    """Plays missing to each arm in the end, or at the first checkpoint from a round on, (lanes, arms)."""
    rounds = run.results.rounds
    place = -1 if round is None else int(np.searchsorted(rounds, round))
    owed = np.asarray(run.results.promised[label]) * rounds[place]
    return np.asarray(owed - run.results.policies[label].pulls[place])


def sublinear(run: CompletedRun, label: str, measure: str, since: float = 0.1, round: float | None = None) -> Finding:
    """The measure grows like a power of time below `NEARLY`, as `growth_exponent` fits it lane by lane."""
    return _power(run, label, measure, since, round, f"below {NEARLY:g}", (-math.inf, NEARLY))


def at_most_power(run: CompletedRun, label: str, measure: str, power: float, since: float = 0.1) -> Finding:
    """The measure grows no faster than this power of time, but for logarithms: its own is nearer to that than to 1."""
    half = (power + 1.0) / 2.0
    expected = f"below {half:.3g}, halfway between {power:.2g} and a line's 1"
    return _power(run, label, measure, since, None, expected, (-math.inf, half))


def linear(run: CompletedRun, label: str, measure: str, since: float = 0.1, round: float | None = None) -> Finding:
    """The measure grows like time itself: like a power of time above `NEARLY`."""
    return _power(run, label, measure, since, round, f"above {NEARLY:g}, where 1 is a line", (NEARLY, math.inf))


def _power(
    run: CompletedRun,
    label: str,
    measure: str,
    since: float,
    round: float | None,
    expected: str,
    claimed: tuple[float, float],
) -> Finding:
    found = exponent(run, label, measure, since, round)
    text = f"growth exponent of the {_words(measure)}{_until(round)}: {label}"
    measured = found.mean, found.low, found.high
    return judged(text, measured, found.lanes, expected, claimed, touching=False, limit=True)


def logarithmic(run: CompletedRun, label: str, measure: str, round: float | None = None) -> Finding:
    """The measure grows no faster than ln t: over the last doubling of the rounds less than a square root would.

    The growth over the last doubling, relative to the one before, is 1 for ln t, ``sqrt(2)`` for the square root and 2
    for t; less than 1 is slower than ln t.
    """
    end = float(run.results.rounds[-1]) if round is None else round
    half, quarter = at(run, label, measure, end / 2), at(run, label, measure, end / 4)
    measured = ratio(at(run, label, measure, end) - half, half - quarter)
    grown = f"growth of the {_words(measure)} over the last doubling of t{_until(round)}"
    text = f"{grown}, relative to the growth before: {label}"
    expected = "below 1.41, a square root's; ln t has 1, a line 2"
    return judged(text, measured, half.size, expected, (-math.inf, math.sqrt(2.0)), touching=False, limit=True)


def exponent(run: CompletedRun, label: str, measure: str, since: float = 0.1, round: float | None = None) -> Exponent:
    """The growth exponent of a measure; none where that is not positive, with an interval that proves nothing."""
    rounds = run.results.rounds
    until = slice(None if round is None else int(np.searchsorted(rounds, round, side="right")))
    try:
        return growth_exponent(rounds[until], run.results.policies[label].curves[measure][until], since)
    except EvenhandError:
        return Exponent(math.nan, -math.inf, math.inf, 0)


def _when(round: float | None) -> str:
    return "" if round is None else f" at round {round:,.0f}"


def _until(round: float | None) -> str:
    return "" if round is None else f" until round {round:,.0f}"


def _words(measure: str) -> str:
    return (
        measure.replace("_", " ")
        .replace("penalized", "penalised")
        .replace("r regret", "r-regret")
        .replace("pseudo regret", "pseudo-regret")
        .replace("time averaged", "time-averaged")
    )


def _shown(number: float) -> str:
    return f"{number:,.6g}".replace("-", "−")
