"""Statistical tests of claims: numbers with confidence intervals over the lanes, and whether a claim holds for them.

Every policy of a run faces the same rewards, delays and availability in the same lane, so two policies are compared
lane by lane. Intervals are Student's, 95%, for the mean over the lanes; a number agrees with a claim only if its whole
interval does, and contradicts it only if the whole interval lies outside of what is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.papers.experiment import CompletedRun, Finding, Runs
from evenhand.theory.growth import Exponent, growth_exponent

CONFIDENCE = 0.95
NEARLY = 0.95  # an exponent that counts as linear where 1 is not excluded

#: Measures a claim.
Test = Callable[[Runs], Sequence[Finding]]


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


def judged(
    text: str,
    measured: tuple[float, float, float],
    lanes: int,
    expected: str,
    claimed: tuple[float, float],
    *,
    enough: tuple[float, float] | None = None,
    touching: bool = True,
) -> Finding:
    """A number, its estimate and the ends of its interval, held against the range that is claimed for it.

    An interval that lies wholly outside contradicts the claim; one that lies within the range, or within a wider one
    that is ``enough``, agrees; ``touching`` says whether it may end on an end of the range.
    """
    mean, low, high = measured
    least, most = claimed if enough is None else enough
    inside = least <= low and high <= most
    if not touching and inside:
        inside = (low > least or math.isinf(least)) and (high < most or math.isinf(most))
    p_value = 0.0 if low == high and not inside else outside(measured, lanes, claimed)
    open_still = not inside and p_value > 1.0 - CONFIDENCE
    needed = lanes_to_decide(measured, lanes, (*claimed, least, most)) if open_still else None
    return Finding(text, mean, low, high, lanes, expected, inside, p_value, needed)


def outside(measured: tuple[float, float, float], lanes: int, claimed: tuple[float, float]) -> float:
    """The p-value of an estimate outside of what is claimed: Student's test, two-sided; 1 where it lies inside.

    It is at most 0.05 exactly where the whole 95% interval lies outside.
    """
    from scipy.stats import t

    mean, low, high = measured
    beyond = max(claimed[0] - mean, mean - claimed[1])
    half = (high - low) / 2.0
    if not beyond > 0.0 or not math.isfinite(half) or lanes < 2:
        return 1.0
    if half == 0.0:
        return 0.0
    return round(2.0 * float(t.sf(beyond * _reach(lanes, CONFIDENCE) / half, lanes - 1)), 12)


def picked(finding: Finding, number: int) -> Finding:
    """A finding that was picked as the worst of so many: its p-value is multiplied by their number (Bonferroni)."""
    return replace(finding, p_value=min(1.0, number * finding.p_value))


def smallest_level(contradicts: Callable[[float], bool]) -> float:
    """The p-value of what is decided by intervals: the smallest level at which they contradict a claim.

    Example:
        >>> round(smallest_level(lambda level: level >= 0.02), 6)
        0.02
    """
    low, high = 1e-12, 1.0
    if contradicts(low):
        return low
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if contradicts(middle) else (middle, high)
    return high


def widened(measured: tuple[float, float, float], lanes: int, confidence: float) -> tuple[float, float, float]:
    """A Student interval of 95% at another confidence."""
    mean, low, high = measured
    if lanes < 2:
        return measured
    part = _reach(lanes, confidence) / _reach(lanes, CONFIDENCE)
    return mean, mean - part * (mean - low), mean + part * (high - mean)


def lanes_to_decide(measured: tuple[float, float, float], lanes: int, limits: Sequence[float]) -> int | None:
    """About how many lanes make an interval so narrow that it reaches none of the limits, were the estimate the truth.

    ``n (h/δ)²`` for half its width h and the distance δ of the estimate from the nearest limit.

    Example:
        >>> lanes_to_decide((1.0, 0.0, 2.0), lanes=10, limits=[0.5])
        40
    """
    mean, low, high = measured
    half = (high - low) / 2.0
    distance = min(abs(mean - limit) for limit in limits)
    if not math.isfinite(half) or not 0.0 < distance < math.inf:
        return None
    return math.ceil(lanes * (half / distance) ** 2)


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


def kept(run: CompletedRun, label: str, slack: float = 1.0) -> Finding:
    """The arm furthest behind its promised share misses less than ``slack`` plays in the end."""
    return below(f"missing plays of the arm furthest behind: {label}", at(run, label, "violation"), slack, " plays")


def sublinear(run: CompletedRun, label: str, measure: str, since: float = 0.1, round: float | None = None) -> Finding:
    """The measure grows like a power of time below 1, as `growth_exponent` fits it lane by lane."""
    found = exponent(run, label, measure, since, round)
    text = f"growth exponent of the {_words(measure)}{_until(round)}: {label}"
    return judged(text, _ends(found), found.lanes, "below 1", (-math.inf, 1.0), touching=False)


def linear(run: CompletedRun, label: str, measure: str, since: float = 0.1, round: float | None = None) -> Finding:
    """The measure grows like time itself: an exponent of 1 is not excluded, and one below `NEARLY` is."""
    found = exponent(run, label, measure, since, round)
    text = f"growth exponent of the {_words(measure)}{_until(round)}: {label}"
    expected = f"an interval with 1 or more in it, above {NEARLY:g}"
    return judged(text, _ends(found), found.lanes, expected, (1.0, math.inf), enough=(NEARLY, math.inf))


def logarithmic(run: CompletedRun, label: str, measure: str, round: float | None = None) -> Finding:
    """The measure grows like ln t: no more over the last doubling of the rounds than over the one before.

    The ratio of the two growths is 1 for ln t, ``sqrt(2)`` for the square root and 2 for t. A ratio of 1 or less is not
    excluded, and that of the square root is.
    """
    end = float(run.results.rounds[-1]) if round is None else round
    half, quarter = at(run, label, measure, end / 2), at(run, label, measure, end / 4)
    measured = ratio(at(run, label, measure, end) - half, half - quarter)
    grown = f"growth of the {_words(measure)} over the last doubling of t{_until(round)}"
    text = f"{grown}, relative to the growth before: {label}"
    expected = "an interval with 1 or less in it, below 1.41 (a square root has 1.41, a line 2)"
    return judged(
        text, measured, half.size, expected, (-math.inf, 1.0), enough=(-math.inf, math.sqrt(2.0)), touching=False
    )


def interval(values: Any, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Mean, and the ends of its confidence interval."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    half = _half_width(values, confidence)
    return mean, mean - half, mean + half


def ratio(over: Array, under: Array) -> tuple[float, float, float]:
    """The ratio of two means over the same lanes, and its confidence interval by linearisation."""
    if under.mean() == 0.0:
        return math.nan, -math.inf, math.inf
    mean = float(over.mean() / under.mean())
    half = _half_width(over - mean * under) / abs(float(under.mean()))
    return mean, mean - half, mean + half


def exponent(run: CompletedRun, label: str, measure: str, since: float = 0.1, round: float | None = None) -> Exponent:
    """The growth exponent of a measure; none where that is not positive, with an interval that proves nothing."""
    rounds = run.results.rounds
    until = slice(None if round is None else int(np.searchsorted(rounds, round, side="right")))
    try:
        return growth_exponent(rounds[until], run.results.policies[label].curves[measure][until], since)
    except EvenhandError:
        return Exponent(math.nan, -math.inf, math.inf, 0)


def _ends(found: Exponent) -> tuple[float, float, float]:
    return found.mean, found.low, found.high


def _when(round: float | None) -> str:
    return "" if round is None else f" at round {round:,.0f}"


def _until(round: float | None) -> str:
    return "" if round is None else f" until round {round:,.0f}"


def _half_width(values: Array, confidence: float = CONFIDENCE) -> float:
    lanes = values.size
    if lanes < 2:
        return math.inf  # a single lane proves nothing
    return _reach(lanes, confidence) * float(values.std(ddof=1)) / math.sqrt(lanes)


@lru_cache(maxsize=1024)
def _reach(lanes: int, confidence: float) -> float:
    """Standard errors from the mean to either end of Student's interval."""
    from scipy.stats import t

    return float(t.ppf(0.5 + confidence / 2.0, lanes - 1))


def _words(measure: str) -> str:
    return (
        measure.replace("_", " ")
        .replace("penalized", "penalised")
        .replace("r regret", "r-regret")
        .replace("time averaged", "time-averaged")
    )


def _shown(number: float) -> str:
    return f"{number:,.6g}".replace("-", "−")
