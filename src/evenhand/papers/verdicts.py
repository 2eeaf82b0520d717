"""Statistical tests of claims: numbers with confidence intervals over the lanes, and whether a claim holds for them.

Every policy of a run faces the same rewards, delays and availability in the same lane, so two policies are compared
lane by lane. Intervals are Student's, 95 %, for the mean over the lanes; a claim holds only if the whole interval
agrees with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.papers.experiment import CompletedRun, Finding, Runs
from evenhand.theory.growth import Exponent, growth_exponent

CONFIDENCE = 0.95

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
    mean, low, high = interval(values)
    return Finding(text, mean, low, high, np.size(values), f"below {_shown(bound)}{unit}", high < bound)


def above(text: str, values: Any, bound: float, unit: str = "") -> Finding:
    """The mean of ``values`` (lanes,) is above ``bound``."""
    mean, low, high = interval(values)
    return Finding(text, mean, low, high, np.size(values), f"above {_shown(bound)}{unit}", low > bound)


def within(text: str, values: Any, least: float, most: float) -> Finding:
    """The mean of ``values`` (lanes,) lies between two numbers, these included."""
    mean, low, high = interval(values)
    expected = f"from {_shown(least)} to {_shown(most)}"
    return Finding(text, mean, low, high, np.size(values), expected, least <= low and high <= most)


def ratio_below(text: str, over: Array, under: Array, bound: float) -> Finding:
    """The ratio of two means over the same lanes is below ``bound``."""
    mean, low, high = ratio(over, under)
    return Finding(text, mean, low, high, over.size, f"below {_shown(bound)}", high < bound)


def ratio_within(text: str, over: Array, under: Array, least: float, most: float) -> Finding:
    """The ratio of two means over the same lanes lies between two numbers, these included; −∞ is no lower end."""
    mean, low, high = ratio(over, under)
    expected = f"at most {_shown(most)}" if math.isinf(least) else f"from {_shown(least)} to {_shown(most)}"
    return Finding(text, mean, low, high, over.size, expected, least <= low and high <= most)


def lower(run: CompletedRun, measure: str, policy: str, other: str, round: float | None = None) -> Finding:
    """``policy`` has less of a measure than ``other``, lane by lane."""
    gap = at(run, policy, measure, round) - at(run, other, measure, round)
    when = "" if round is None else f" at round {round:,.0f}"
    return below(f"{_words(measure)}{when}: {policy} less {other}", gap, 0.0)


def alike(run: CompletedRun, measure: str, policy: str, other: str, margin: float) -> Finding:
    """Two policies have the same of a measure in the end, up to a part of ``other``'s mean."""
    reference = at(run, other, measure)
    gap = (at(run, policy, measure) - reference) / abs(reference.mean())
    return within(f"{_words(measure)}: {policy} less {other}, as a part of the latter", gap, -margin, margin)


def kept(run: CompletedRun, label: str, slack: float = 1.0) -> Finding:
    """The arm furthest behind its promised share misses less than ``slack`` plays in the end."""
    return below(f"plays missing to the arm furthest behind: {label}", at(run, label, "violation"), slack, " plays")


def sublinear(run: CompletedRun, label: str, measure: str, since: float = 0.1) -> Finding:
    """The measure grows like a power of time below 1, as `growth_exponent` fits it lane by lane."""
    found = exponent(run, label, measure, since)
    text = f"growth exponent of the {_words(measure)}: {label}"
    return Finding(text, found.mean, found.low, found.high, found.lanes, "below 1", found.high < 1.0)


def linear(run: CompletedRun, label: str, measure: str, since: float = 0.1) -> Finding:
    """The measure grows like time itself: an exponent of 1 or more is not excluded."""
    found = exponent(run, label, measure, since)
    text = f"growth exponent of the {_words(measure)}: {label}"
    return Finding(text, found.mean, found.low, found.high, found.lanes, "1", found.lanes > 0 and found.high >= 1.0)


def logarithmic(run: CompletedRun, label: str, measure: str) -> Finding:
    """The measure grows like ln t: no more over the last doubling of the rounds than over the one before.

    The ratio of the two growths is 1 for ln t, ``sqrt(2)`` for the square root and 2 for t. It holds if the interval
    lies below ``sqrt(2)`` and reaches down to 1.
    """
    end = float(run.results.rounds[-1])
    half, quarter = at(run, label, measure, end / 2), at(run, label, measure, end / 4)
    mean, low, high = ratio(at(run, label, measure) - half, half - quarter)
    text = f"growth of the {_words(measure)} over the last doubling of t, in times of that before: {label}"
    expected = "1 (square root: 1.41, linear: 2)"
    return Finding(text, mean, low, high, half.size, expected, low <= 1.0 and high < math.sqrt(2.0))


def interval(values: Any, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Mean, and the ends of its confidence interval.

    Example:
        >>> [round(number, 3) for number in interval([1.0, 2.0, 3.0])]
        [2.0, -0.484, 4.484]
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    half = _half_width(values, confidence)
    return mean, mean - half, mean + half


def ratio(over: Array, under: Array) -> tuple[float, float, float]:
    """The ratio of two means over the same lanes, and its confidence interval by linearisation.

    Example:
        >>> import numpy as np
        >>> ratio(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
        (2.0, 2.0, 2.0)
    """
    if under.mean() == 0.0:
        return math.nan, -math.inf, math.inf
    mean = float(over.mean() / under.mean())
    half = _half_width(over - mean * under) / abs(float(under.mean()))
    return mean, mean - half, mean + half


def exponent(run: CompletedRun, label: str, measure: str, since: float = 0.1) -> Exponent:
    """The growth exponent of a measure; none where that is not positive, with an interval that proves nothing."""
    try:
        return growth_exponent(run.results.rounds, run.results.policies[label].curves[measure], since)
    except EvenhandError:
        return Exponent(math.nan, -math.inf, math.inf, 0)


def _half_width(values: Array, confidence: float = CONFIDENCE) -> float:
    from scipy.stats import t

    lanes = values.size
    if lanes < 2:
        return math.inf  # a single lane proves nothing
    return float(t.ppf(0.5 + confidence / 2.0, lanes - 1) * values.std(ddof=1) / math.sqrt(lanes))


def _words(measure: str) -> str:
    return measure.replace("_", " ").replace("r regret", "r-regret").replace("time averaged", "time-averaged")


def _shown(number: float) -> str:
    return f"{number:,.6g}".replace("-", "−")
